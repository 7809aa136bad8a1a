//! The timers of the kernel's own queue managers: Linux's timer wheel, at 250 jiffies a second as Debian's kernels have it.

use queuewright_aqm::{Discipline, Spec, Value};
use queuewright_scenario::spec::Timers;

const JIFFY_NS: u64 = 4_000_000;

/// How far apart a timer fires that is set anew each time it does (`calc_wheel_index()` in kernel/time/timer.c of Linux 7.2):
/// whole jiffies, rounded up, in a bucket of the wheel that is the later the coarser: the first 63 jiffies have one each,
/// 8 times as many 8 jiffies each, and so on; and always the bucket after the one that it is due in.
fn period_ns(ns: u64) -> u64 {
    let jiffies = ns.div_ceil(JIFFY_NS).max(1);
    let (mut shift, mut reach) = (0, 63);
    while jiffies > reach {
        shift += 3;
        reach <<= 3;
    }
    (((jiffies >> shift) + 1) << shift) * JIFFY_NS
}

/// A discipline as a run begins. The kernel's `pie` has its ticks from a timer; of these a random number (of 32 bits) says
/// when the first is due, as the lab makes the qdisc a while before.
pub fn started(spec: &Spec, timers: Timers, random: u32) -> Discipline {
    let Some(Value::Int(tupdate)) =
        spec.get("tupdate").filter(|_| timers == Timers::Jiffies && spec.info.name == "pie")
    else {
        return Discipline::new(spec);
    };
    let mut ticks = spec.clone();
    let longest = match spec.info.param("tupdate").map(|p| p.max) {
        Some(Value::Int(max)) => max,
        _ => u64::MAX,
    };
    let period = period_ns(tupdate).min(longest);
    let set = ticks.set("tupdate", Value::Int(period));
    debug_assert!(set.is_ok(), "{set:?}");
    let ago = (u128::from(period) * u128::from(random)) >> 32;
    Discipline::made_before(&ticks, ago as u64)
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
}
