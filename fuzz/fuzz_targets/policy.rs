//! A policy file is refused with one line, or read, written and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use queuewright_scenario::Policy;

fuzz_target!(|bytes: &[u8]| match Policy::parse(bytes, "fuzz.json") {
    Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
    Ok(policy) => {
        let again =
            Policy::parse(policy.to_json().as_bytes(), "again.json").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(policy, again);
    }
});
