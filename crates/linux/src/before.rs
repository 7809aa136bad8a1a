//! The root qdisc that a device had before: read from the kernel whole, and made again as it was.
//!
//! What `tc` prints is rounded, and lacks some of what it reads. What the kernel tells over netlink is what it takes, but for a few
//! parameters, which are looked at here; what it does not tell cannot be put back, and is refused.

use crate::netlink::{self, Entry, HANDLE, attribute, attributes, number, put};
use crate::{Error, names, system};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt;
use std::ops::RangeBounds;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The root qdisc that a device had.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Before {
    /// It in tc's words, rounded as tc has it.
    words: String,
    kind: String,
    handle: u32,
    /// What it is made of, as the kernel takes it (`TCA_OPTIONS`).
    options: Vec<u8>,
}

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// The same, but for what moves by itself.
impl PartialEq for Before {
    fn eq(&self, other: &Before) -> bool {
        let all = |one: &Before| (one.kind.clone(), one.handle, steady(&one.kind, &one.options));
        all(self) == all(other)
    }
}

impl Eq for Before {}

impl Before {
    /// Makes it the root of a device again. Is it what it was?
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn put_back(&self, index: u32) -> Result<bool, Error> {
        // Somebody may have put a qdisc with its number below ours: that would be made the root, as it is (`tc_modify_qdisc`).
        for other in netlink::qdiscs(index)? {
            if other.handle == self.handle && !other.is_root() && !other.is_ingress() {
                netlink::remove(index, &other)?;
            }
        }
        netlink::replace_root(index, self.handle, &self.kind, &self.options)?;
        let is_it = |q: &Entry| (q.handle, &q.kind) == (self.handle, &self.kind);
        let same = |now: Vec<u8>| steady(&self.kind, &now) == steady(&self.kind, &self.options);
        let root = netlink::qdiscs(index)?.into_iter().find(Entry::is_root);
        Ok(root.is_some_and(|root| is_it(&root) && options(&root).is_ok_and(same)))
    }
}

// Attributes of linux/pkt_sched.h.
const TCA_HTB_INIT: u16 = 2;
const TCA_CODEL_TIMES: [u16; 3] = [1, 3, 5];
const TCA_FQ_CODEL_TIMES: [u16; 3] = [1, 3, 7];
const TCA_FQ_QUANTUM: u16 = 3;
const TCA_FQ_INITIAL_QUANTUM: u16 = 4;
const TCA_FQ_CODEL_QUANTUM: u16 = 6;
const TCA_PIE_TARGET: u16 = 1;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_PRATE64: u16 = 5;
const TCA_TBF_BURST: u16 = 6;
const TCA_TBF_PBURST: u16 = 7;
const TCA_CAKE_BASE_RATE64: u16 = 2;
const TCA_CAKE_AUTORATE: u16 = 9;

/// The root qdisc of a device; None: the kernel put it there itself.
///
/// # Errors
/// If it is more than can be put back.
pub(crate) fn before(dev: &OsStr, index: u32) -> Result<Option<Before>, Error> {
    let all = netlink::qdiscs(index)?;
    let refused = |what: String| {
        let dev = names::shown(dev);
        Error::Input(format!(
            "{dev} has {what}, which detach could not put back: remove it first (tc qdisc del dev {dev} root)"
        ))
    };
    let has_filters = !netlink::filters(index, 0)?.is_empty();
    // The kernel's own has no number, 0.
    let Some(root) = all.iter().find(|q| q.is_root() && q.handle != 0) else {
        if has_filters {
            // What others have put at that.
            let dev = names::shown(dev);
            return Err(Error::Input(format!(
                "{dev} has filters at its root, which detach could not put back: remove them first (tc filter del dev {dev})"
            )));
        }
        return Ok(None);
    };
    let kind = root.kind.clone();
    // It would be changed, and not made anew.
    if root.handle == number(HANDLE) {
        return Err(refused(format!("a root with a number of ours, {HANDLE}:")));
    }
    let options =
        options(root).map_err(|why| refused(format!("{} at its root, {why}", names::quoted(&kind))))?;
    let below = if all.iter().any(|q| !q.is_root() && !q.is_ingress() && q.handle != 0) {
        "qdiscs"
    } else if has_own_classes(&netlink::classes(index)?) {
        "classes"
    } else if has_filters {
        "filters"
    } else {
        let shown = system::tc(dev, "qdisc show dev {dev}").unwrap_or_default();
        let line = shown.lines().find(|l| l.contains(" root ")).unwrap_or_default();
        let words = words_of(line).unwrap_or_else(|| kind.clone());
        return Ok(Some(Before { words, kind, handle: root.handle, options }));
    };
    Err(refused(format!("{below} below its root, {}", names::quoted(&kind))))
}

/// Has somebody made classes? The flows of fq_codel and the bands of prio are classes too, and come
/// with their qdisc; so do the leaves that the kernel itself gives to classes, which no list of qdiscs has.
fn has_own_classes(all: &[Entry]) -> bool {
    let own = ["htb", "hfsc", "drr", "qfq", "cbq"];
    all.iter().any(|class| own.contains(&class.kind.as_str()))
}

/// What makes a qdisc again, or why that is not known.
fn options(root: &Entry) -> Result<Vec<u8>, String> {
    if root.has_sizes() {
        return Err("with a table of sizes (stab)".into());
    }
    if root.is_estimated() {
        return Err("with an estimator of its rate".into());
    }
    let told = root.options();
    match root.kind.as_str() {
        // They have none, or read none.
        "pfifo_fast" | "drr" | "mq" => Ok(Vec::new()),
        // They take what they tell.
        "pfifo" | "bfifo" | "pfifo_head_drop" | "prio" | "ets" | "hhf" | "cake" => Ok(told.into()),
        "htb" => htb(told),
        "codel" => with_times(told, TCA_CODEL_TIMES),
        // Of the smallest frames the quantum is smaller than what it takes; then it is its default.
        "fq_codel" => with_times(&within(told, TCA_FQ_CODEL_QUANTUM, 256..), TCA_FQ_CODEL_TIMES),
        // The same of the largest.
        "fq" => {
            Ok(within(&within(told, TCA_FQ_QUANTUM, 1..=1 << 20), TCA_FQ_INITIAL_QUANTUM, ..=i32::MAX as u32))
        }
        "pie" => pie(told),
        "sfq" => sfq(told),
        "tbf" => tbf(told),
        _ => Err("of which it is not known that the kernel tells all that makes it".into()),
    }
}

/// What of a qdisc's options does not move by itself: cake's rate does, where it follows what comes in (autorate-ingress).
fn steady(kind: &str, options: &[u8]) -> Vec<u8> {
    let follows = kind == "cake" && word(options, TCA_CAKE_AUTORATE).is_some_and(|on| on != 0);
    changed(options, |kind, value| (!follows || kind != TCA_CAKE_BASE_RATE64).then(|| value.into()))
}

/// The attributes, each with another value, or without it.
fn changed(options: &[u8], to: impl Fn(u16, &[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, value) in attributes(options) {
        if let Some(value) = to(kind, value) {
            put(&mut out, kind, &value);
        }
    }
    // What is no attributes (a structure, as older kinds have) is as it is.
    if out.is_empty() { options.into() } else { out }
}

fn word(options: &[u8], kind: u16) -> Option<u32> {
    Some(u32::read_from_prefix(attribute(options, kind)?).ok()?.0)
}

fn wide(options: &[u8], kind: u16) -> Option<u64> {
    Some(u64::read_from_prefix(attribute(options, kind)?).ok()?.0)
}

/// `struct tc_htb_glob`: of the version in it, 3.17, only the first part is read; the last is a counter.
fn htb(told: &[u8]) -> Result<Vec<u8>, String> {
    let init = attribute(told, TCA_HTB_INIT).ok_or("without its parameters")?;
    let Ok(([version, r2q, default, debug, _], _)) = <[u32; 5]>::read_from_prefix(init) else {
        return Err("with parameters of another length".into());
    };
    let init = [version >> 16, r2q, default, debug, 0].as_bytes().to_vec();
    Ok(changed(told, |kind, value| Some(if kind == TCA_HTB_INIT { init.clone() } else { value.into() })))
}

/// The microseconds of which CoDel makes what it shows as `shown`: it has units of 1024 ns (include/net/codel.h).
fn codel_time(shown: u32) -> Option<u32> {
    let units = (u64::from(shown) * 1000).div_ceil(1024);
    let given = (units * 1024).div_ceil(1000);
    (units * 1024 / 1000 == u64::from(shown)).then(|| u32::try_from(given).ok())?
}

fn with_times(told: &[u8], times: [u16; 3]) -> Result<Vec<u8>, String> {
    let names = ["target", "interval", "ce_threshold"];
    for (kind, name) in times.into_iter().zip(names) {
        if word(told, kind).is_some_and(|shown| codel_time(shown).is_none()) {
            return Err(format!("with a {name} that the kernel does not show as it is"));
        }
    }
    let time = |value: &[u8]| {
        let shown = u32::read_from_prefix(value).ok()?.0;
        Some(codel_time(shown)?.to_ne_bytes().to_vec())
    };
    Ok(changed(told, |kind, value| if times.contains(&kind) { time(value) } else { Some(value.into()) }))
}

/// The options without a number that is not in the range that the kernel takes.
fn within(told: &[u8], number: u16, range: impl RangeBounds<u32>) -> Vec<u8> {
    let taken = word(told, number).is_none_or(|number| range.contains(&number));
    changed(told, |kind, value| (taken || kind != number).then(|| value.into()))
}

/// PIE has its target in units of 64 ns, and shows 32 bits of that in nanoseconds: 8 and 9 us alike, and 4295 ms as 32 us. What seems to be whole
/// milliseconds is that, for whoever has not chosen 15.001 ms or 57 minutes.
fn pie(told: &[u8]) -> Result<Vec<u8>, String> {
    let shown = word(told, TCA_PIE_TARGET).ok_or("without its target")?;
    match shown % 1000 {
        0 => Ok(told.into()),
        _ => Err(format!(
            "with a target that the kernel shows as {shown} us, and others too: only whole milliseconds below 4295 ms are known"
        )),
    }
}

/// `struct tc_sfq_qopt_v1`; with RED within it there is more.
fn sfq(told: &[u8]) -> Result<Vec<u8>, String> {
    // quantum, perturb_period, limit, divisor, flows; depth, headdrop; then limit and the thresholds of RED.
    match <[u32; 10]>::read_from_prefix(told) {
        Ok((all, _)) if all[8] == 0 && all[9] == 0 => Ok(told.into()),
        Ok(_) => Err("with parameters of RED (min, max)".into()),
        Err(_) => Err("with parameters of another length".into()),
    }
}

/// `struct tc_ratespec`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct RateSpec {
    cell_log: u8,
    linklayer: u8,
    overhead: u16,
    cell_align: i16,
    mpu: u16,
    rate: u32,
}

/// `struct tc_tbf_qopt`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Tbf {
    rate: RateSpec,
    peakrate: RateSpec,
    limit: u32,
    /// Bursts at rate and peak rate as times, 64 ns.
    buffer: u32,
    mtu: u32,
}

/// `TC_LINKLAYER_ATM`: cells of 48 bytes in 53.
const ATM: u8 = 2;

impl RateSpec {
    /// What a packet of this length takes, ns, as the kernel computes it (`psched_l2t_ns`).
    fn time(&self, rate: u64, length: u64) -> u64 {
        // The quotient with as many bits as fit (`psched_ratecfg_precompute`).
        let (mut factor, mut shift) = (1_000_000_000u64, 0);
        let mut mult = factor / rate.max(1);
        while mult & 1 << 31 == 0 && factor & 1 << 63 == 0 {
            factor <<= 1;
            shift += 1;
            mult = factor / rate.max(1);
        }
        let length = (length + u64::from(self.overhead)).max(u64::from(self.mpu));
        let length = if self.linklayer & 0xf == ATM { length.div_ceil(48) * 53 } else { length };
        ((u128::from(length) * u128::from(mult as u32)) >> shift) as u64
    }

    /// The burst that takes so long: the largest, where the kernel's units do not tell it from others. What is longer than it is dropped, so
    /// that a smaller one might drop all full frames: 1 Gbit/s tells 1,512 to 1,519 bytes alike.
    fn burst(&self, rate: u64, ticks: u32) -> Option<u32> {
        let at = |length: u32| self.time(rate, length.into()) >> 6;
        let first = |ticks: u64| {
            let (mut low, mut high) = (0u64, 1 << 32);
            while low < high {
                let middle = (low + high) / 2;
                if middle <= u32::MAX.into() && at(middle as u32) < ticks {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        };
        let (from, to) = (first(ticks.into()).max(1), first(u64::from(ticks) + 1));
        // One that none takes, or none that is a number of bytes.
        u32::try_from(to - 1).ok().filter(|most| u64::from(*most) >= from)
    }
}

/// tbf takes bursts as bytes, and tells of them as times.
fn tbf(told: &[u8]) -> Result<Vec<u8>, String> {
    let parms = attribute(told, TCA_TBF_PARMS).and_then(|parms| Tbf::read_from_prefix(parms).ok());
    let (parms, _) = parms.ok_or("with parameters of another length")?;
    let mut out = told.to_vec();
    for (name, spec, ticks, wide_rate, burst) in [
        ("burst", parms.rate, parms.buffer, TCA_TBF_RATE64, TCA_TBF_BURST),
        ("mtu", parms.peakrate, parms.mtu, TCA_TBF_PRATE64, TCA_TBF_PBURST),
    ] {
        let rate = wide(told, wide_rate).unwrap_or_else(|| spec.rate.into());
        if rate == 0 {
            continue;
        }
        let bytes = spec.burst(rate, ticks);
        let bytes = bytes.ok_or_else(|| format!("with a {name} that the kernel does not show as it is"))?;
        put(&mut out, burst, &bytes.to_ne_bytes());
    }
    Ok(out)
}

/// A line of `tc qdisc show` without what is no parameter; None: it is no qdisc's.
fn words_of(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().skip(1);
    let (kind, handle) = (words.next()?, words.next()?);
    let mut out = format!("handle {handle} {kind}");
    let mut rest = words.skip_while(|w| *w == "root");
    while let Some(word) = rest.next() {
        match word {
            // Counters.
            "refcnt" | "direct_packets_stat" => drop(rest.next()),
            // It says so of hardware.
            "offloaded" => {}
            _ => {
                out.push(' ');
                out += word;
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_come_with_their_qdisc_are_nobodys() {
        let class = |kind: &str| {
            let mut entry = Entry::default();
            entry.kind = kind.into();
            entry
        };
        assert!(has_own_classes(&[class("fq_codel"), class("htb")]));
        assert!(!has_own_classes(&["fq_codel", "mq", "prio"].map(class)));
    }

    #[test]
    fn what_tc_shows_is_said_without_its_counters() {
        assert_eq!(words_of(""), None);
        for (shown, words) in [
            (
                "qdisc codel 8001: root refcnt 2 limit 1000p target 5ms interval 100ms ecn ",
                "handle 8001: codel limit 1000p target 5ms interval 100ms ecn",
            ),
            (
                "qdisc htb 5: root refcnt 3 r2q 10 default 0x10 direct_packets_stat 7 direct_qlen 1000",
                "handle 5: htb r2q 10 default 0x10 direct_qlen 1000",
            ),
            ("qdisc pfifo 8001: root offloaded refcnt 2 limit 77p", "handle 8001: pfifo limit 77p"),
        ] {
            assert_eq!(words_of(shown).as_deref(), Some(words));
        }
    }

    /// Numbers of all sizes.
    fn numbers() -> impl Iterator<Item = u32> {
        let mut random = 0x9e37_79b9_u32;
        let next = move || {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            random >> (random & 31)
        };
        (0..5000).chain([u32::MAX / 1024 * 1000, 1_000_000]).chain(std::iter::repeat_with(next).take(100_000))
    }

    #[test]
    fn codels_times_are_those_of_which_it_makes_what_it_shows() {
        // As net/sched/sch_codel.c has them.
        let stored = |given: u32| ((u64::from(given) * 1000) >> 10) as u32;
        let shows = |stored: u32| ((u64::from(stored) << 10) / 1000) as u32;
        for given in numbers() {
            let again = codel_time(shows(stored(given))).expect("it was shown");
            assert_eq!(stored(again), stored(given), "{given} us");
        }
        assert_eq!(codel_time(42), None);
    }

    #[test]
    fn pies_target_is_known_or_refused() {
        let stored = |given: u32| (u64::from(given) * 1000) >> 6;
        let shows = |stored: u64| ((stored as u32) << 6) / 1000;
        let told = |target: u32| {
            let mut out = Vec::new();
            put(&mut out, TCA_PIE_TARGET, &target.to_ne_bytes());
            out
        };
        let again = |given: u32| word(&pie(&told(shows(stored(given)))).ok()?, TCA_PIE_TARGET);
        // What is longer by far than a connection lasts may be taken for another.
        for given in numbers().filter(|given| given % 1000 == 0 && *given < 600_000_000 || *given < 4_294_967)
        {
            let found = again(given).is_none_or(|found| stored(found) == stored(given));
            // Of the two that are shown alike the whole millisecond is taken.
            assert!(found || given % 1000 == 1, "{given} us");
        }
        for given in [1000, 15_000, 20_000, 1_000_000, 4_294_000] {
            assert_eq!(again(given), Some(given));
        }
        for given in [8, 9, 1600, 5_000_000, 10_000_000, 4_295_000] {
            assert_eq!(again(given), None, "{given} us");
        }
        assert!(pie(&told(8)).is_err_and(|why| why.contains("target")));
    }

    #[test]
    fn numbers_that_the_kernel_does_not_take_are_its_defaults() {
        let mut told = Vec::new();
        put(&mut told, TCA_FQ_QUANTUM, &(2u32 << 20).to_ne_bytes());
        put(&mut told, TCA_FQ_INITIAL_QUANTUM, &9u32.to_ne_bytes());
        let left = within(&told, TCA_FQ_QUANTUM, 1..=1 << 20);
        assert_eq!((word(&left, TCA_FQ_QUANTUM), word(&left, TCA_FQ_INITIAL_QUANTUM)), (None, Some(9)));
        assert_eq!(within(&told, TCA_FQ_INITIAL_QUANTUM, ..=9), told);
        assert_eq!(within(&told, TCA_FQ_CODEL_QUANTUM, 256..), told);
    }

    #[test]
    fn bursts_are_found_by_their_time() {
        let spec = RateSpec { cell_log: 0, linklayer: 1, overhead: 0, cell_align: 0, mpu: 0, rate: 0 };
        for rate in [1000, 125_000, 3_000_000, 12_500_000, 125_000_000, 12_500_000_000, 50_000_000_000] {
            for (spec, given) in [(spec, 5120), (spec, 1540), (RateSpec { overhead: 22, ..spec }, 64_000)] {
                let ticks = (spec.time(rate, given) >> 6) as u32;
                let found = spec.burst(rate, ticks).expect("it is there");
                assert_eq!((spec.time(rate, found.into()) >> 6) as u32, ticks, "{rate}: {given} {found}");
                // What passed before passes again.
                assert!(u64::from(found) >= given, "{rate}: {given} {found}");
                // What a unit tells apart is exact.
                assert!(rate > 15_000_000 || u64::from(found) == given, "{rate}: {given} {found}");
            }
            // One longer than all that can be asked for.
            assert_eq!(spec.burst(u64::MAX, u32::MAX), None);
        }
        let atm = RateSpec { linklayer: ATM, ..spec };
        assert_eq!(atm.time(1_000_000, 49), 2 * 53 * 1000);
    }

    #[test]
    fn a_rate_that_follows_what_comes_in_is_no_change() {
        let cake = |rate: u64, autorate: u32, rtt: u32| {
            let mut options = Vec::new();
            put(&mut options, TCA_CAKE_BASE_RATE64, &rate.to_ne_bytes());
            put(&mut options, TCA_CAKE_AUTORATE, &autorate.to_ne_bytes());
            put(&mut options, 7, &rtt.to_ne_bytes());
            Before { words: rate.to_string(), kind: "cake".into(), handle: 1 << 16, options }
        };
        assert_eq!(cake(1000, 1, 5), cake(2000, 1, 5));
        assert_ne!(cake(1000, 0, 5), cake(2000, 0, 5));
        assert_ne!(cake(1000, 1, 5), cake(1000, 1, 6));
    }
}
