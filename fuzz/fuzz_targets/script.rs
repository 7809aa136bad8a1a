//! A packetdrill script is refused with one line, or planned for the lab's kernel.
#![no_main]

use libfuzzer_sys::fuzz_target;
use queuewright_packetdrill::{Options, parse, plan};
use std::path::Path;

fuzz_target!(|text: &str| match parse(text) {
    Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
    Ok(script) => {
        // What its commands call is not to be found.
        let _ = plan(&script, Path::new("/nonexistent"), &Options::default());
    }
});
