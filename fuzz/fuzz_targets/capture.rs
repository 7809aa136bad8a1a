//! A capture is refused with one line, or read as flows that carried something.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match queuewright_scenario::capture::flow_sizes(bytes) {
    Err(e) => assert!(!e.contains('\n'), "{e}"),
    Ok(sizes) => assert!(!sizes.is_empty() && !sizes.contains(&0)),
});
