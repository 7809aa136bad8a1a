//! A trace is refused with one line, or read as times that do not fall.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match queuewright_scenario::trace::parse(bytes, "fuzz.down") {
    Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
    Ok(trace) => {
        assert!(trace.opportunities_ns.is_sorted());
        assert!(trace.period_ns > 0);
        assert_eq!(trace.opportunities_ns.last(), Some(&trace.period_ns));
    }
});
