//! What says how a figure is drawn is refused with one line, or read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use queuewright_experiments::Figure;

fuzz_target!(|text: &str| {
    if let Err(e) = Figure::parse(text, "fuzz.figure.toml") {
        assert!(!e.to_string().contains('\n'), "{e}");
    }
});
