//! A scenario in JSON, as programs give it, and a packed one, as pickles have it, are refused with one line or read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use queuewright_scenario::Draft;

fuzz_target!(|text: &str| {
    for draft in [Draft::from_json(text), Draft::unpack(text, [])] {
        if let Err(e) = draft.and_then(|draft| draft.scenario()) {
            assert!(!e.to_string().contains('\n'), "{e}");
        }
    }
});
