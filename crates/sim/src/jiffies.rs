//! Linux's timer wheel (`calc_wheel_index()` in kernel/time/timer.c of Linux 7.2), at 250 jiffies a second as Debian's kernels have it, if not told otherwise:
//! whole jiffies, rounded up, in a bucket of the wheel that is the later the coarser (one jiffy each for the first 63, 8
//! each for 8 times as many, and so on), and always the bucket after the one that a timer is due in.

use queuewright_aqm::{Discipline, Spec, Value};
use queuewright_cca::{Clock, HZ};
use queuewright_scenario::spec::Timers;

/// A jiffy, ns.
pub const TICK_NS: u64 = 1_000_000_000 / HZ;
/// The same, us.
pub const TICK_US: u64 = TICK_NS / 1000;
/// A timer that is due in fewer jiffies has a bucket of one.
pub const FINE_TICKS: u64 = 63;

/// The clock of TCP's timestamps at `now_ns`: whole milliseconds (`tcp_time_stamp_ms`).
#[inline]
pub fn timestamp(now_ns: u64) -> u32 {
    (now_ns / 1_000_000) as u32
}

/// When a timer that is set at `now` (ns) for so many us fires (ns).
pub fn fires_at(clock: Clock, now: u64, us: u64) -> u64 {
    let ticks = clock.ticks(us);
    bucket_end(now / clock.tick_ns() + ticks, ticks) * clock.tick_ns()
}

/// How far apart a timer fires that is set anew each time it does (ns). While timers run the wheel is a jiffy ahead.
fn period_ns(ns: u64) -> u64 {
    let jiffies = ns.div_ceil(TICK_NS).max(1);
    bucket_end(jiffies, jiffies - 1) * TICK_NS
}

/// The end of the bucket of a timer that is due at a jiffy, so many after the wheel's own.
pub fn bucket_end(due: u64, ahead: u64) -> u64 {
    let mut shift = 0;
    while ahead >= FINE_TICKS << shift && shift < 21 {
        shift += 3;
    }
    ((due >> shift) + 1) << shift
}

/// A discipline as a run begins. The kernel's `pie` and `fq_pie` have their ticks from a timer; of these a random number (of 32 bits) says
/// when the first is due, as the lab makes the qdisc a while before.
pub fn started(spec: &Spec, timers: Timers, random: u32) -> Discipline {
    match ticks(spec).filter(|_| timers == Timers::Jiffies) {
        None => Discipline::new(spec),
        Some((ticks, period)) => {
            let ago = (u128::from(period) * u128::from(random)) >> 32;
            Discipline::made_before(&ticks, ago as u64)
        }
    }
}

/// A discipline that has its ticks from a timer in the kernel, for who says when they come (`Discipline::tick`): by itself it ticks as
/// seldom as it can. None of those that have no timer.
pub fn by_hand(spec: &Spec) -> Option<Discipline> {
    let (mut ticks, _) = ticks(spec)?;
    let longest = spec.info.param("tupdate").map(|p| p.max)?;
    let set = ticks.set("tupdate", longest);
    debug_assert!(set.is_ok(), "{set:?}");
    Some(Discipline::new(&ticks))
}

/// What has its ticks from a timer of the kernel's, with how far apart they are there (ns).
fn ticks(spec: &Spec) -> Option<(Spec, u64)> {
    let has_timer = ["pie", "fq-pie"].contains(&spec.info.name);
    let Some(Value::Int(tupdate)) = spec.get("tupdate").filter(|_| has_timer) else { return None };
    let mut ticks = spec.clone();
    let longest = match spec.info.param("tupdate").map(|p| p.max) {
        Some(Value::Int(max)) => max,
        _ => u64::MAX,
    };
    let period = period_ns(tupdate).min(longest);
    let set = ticks.set("tupdate", Value::Int(period));
    debug_assert!(set.is_ok(), "{set:?}");
    Some((ticks, period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_the_bucket_after_the_one_they_are_due_in() {
        let ms = |n: u64| n * 1_000_000;
        // 4 jiffies: 5. 63: 64. From 64 on they are rounded to 8: 250 jiffies are 256.
        let known = [(15, 20), (16, 20), (17, 24), (1, 8), (252, 256), (256, 288), (1000, 1024)];
        for (told, fires) in known {
            assert_eq!(period_ns(ms(told)), ms(fires), "{told} ms");
        }
    }

    /// At 1000 jiffies a second 27 ms are 27 and one more, at 100 three and one; 200 ms are 25 eighths and one.
    #[test]
    fn a_finer_clock_fires_sooner() {
        let fires = |hz, us| fires_at(Clock::new(hz), 0, us) / 100_000;
        assert_eq!([100, 250, 1000].map(|hz| fires(hz, 27_000)), [400, 320, 280]);
        assert_eq!((fires(1000, 200_000), fires(300, 27_000)), (2080, 333));
    }
}
