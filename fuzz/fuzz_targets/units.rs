//! A quantity is refused, or read, written and read again as the same number.
#![no_main]

use libfuzzer_sys::fuzz_target;
use queuewright_scenario::units::{Range, Size, Unit, parse_millionths, show_millionths};

fuzz_target!(|text: &str| {
    for unit in [Unit::Rate, Unit::Time, Unit::Bytes] {
        if let Ok(n) = unit.parse(text) {
            assert_eq!(unit.parse(&unit.show(n)), Ok(n));
        }
        if let Ok(range) = unit.parse_range(text) {
            assert!(range.min <= range.max);
            assert_eq!(unit.parse_range(&unit.show_range(range)), Ok(range));
        }
    }
    if let Ok(size) = Size::parse(text) {
        assert_eq!(Size::parse(&size.show()), Ok(size));
    }
    if let Ok(range) = Range::parse_whole(text) {
        assert!(range.min <= range.max);
    }
    if let Ok(m) = parse_millionths(text) {
        assert_eq!(parse_millionths(&show_millionths(m)), Ok(m));
    }
});
