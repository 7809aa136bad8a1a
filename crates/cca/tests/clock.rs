//! The coarse clock's products are what divisions would be.

use proptest::prelude::*;
use queuewright_cca::Clock;

proptest! {
    #[test]
    fn ticks_are_whole_divisions(hz in 1u32..=1_000_000, now in 0u64..1 << 63, us in 0u64..1 << 40) {
        for hz in [hz, 100, 250, 300, 1000, 1024, 1953, 999_999] {
            let clock = Clock::new(hz);
            let edge = now / clock.tick_ns() * clock.tick_ns();
            for now in [now, edge, edge.saturating_sub(1)] {
                prop_assert_eq!(clock.jiffies(now), (now / clock.tick_ns()) as u32);
            }
            prop_assert_eq!(clock.ticks(us), (us * u64::from(hz)).div_ceil(1_000_000));
            let ticks = us >> 10;
            prop_assert_eq!(clock.us(ticks), ticks * 1_000_000 / u64::from(hz));
        }
    }
}
