//! Losing packets and getting over it: fast recovery, tail loss probes, timeouts, outages.

use crate::bed::{all_complete, drops, every_cca, mean, one, series};
use proptest::prelude::*;

/// An outage from 3 s on; one flow.
fn outage(cca: &str, stack: &str, down_ms: u32) -> queuewright_results::Run {
    one(&format!(
        "[link]\nschedule = [[\"0s\", \"20mbit\"], [\"3s\", \"0bit\"], [\"{}ms\", \"20mbit\"]]\nbuffer = \"67p\"\n\
         [[flows]]\ncca = \"{cca}\"\nrtt = \"40ms\"\n[queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"40s\"\nwarmup = \"2.9s\"\nstack = \"{stack}\"\n",
        3_000 + down_ms
    ))
}

/// RFC 6298 section 5.5: every timeout doubles the next. With a first RTO of 200 ms and
/// the path's RTT, 3 s hold four or five, 10 s six or seven.
#[test]
fn timeouts_back_off() {
    for cca in every_cca() {
        for (down, least, most) in [(3_000, 3, 5), (10_000, 5, 7)] {
            let r = outage(cca, "linux", down);
            let n = r.flows[0].timeouts;
            println!("{cca}: {n} timeouts in {down} ms");
            assert!((least..=most).contains(&n), "{cca}: {n} timeouts in {down} ms");
        }
    }
}

/// What waited in the queue is delivered when the link is back; its ACKs set the flow going
/// again at once, and within a few round trips it fills the link.
#[test]
fn flows_resume_after_an_outage() {
    for cca in every_cca() {
        for stack in ["linux", "ns3"] {
            let r = outage(cca, stack, 3_000);
            let goodput = series(&r, "flow0.goodput_bps");
            assert!(mean(&goodput, 3.1, 5.99) == 0.0, "nothing crosses a dead link");
            let first = goodput.iter().find(|p| p.0 > 6.0 && p.1 > 0.0).expect("it resumes").0;
            assert!(first < 6.1, "{cca}, {stack}: first byte at {first}");
            let after = mean(&goodput, 9.0, 40.0) / (20e6 * 1448.0 / 1514.0);
            println!("{cca}, {stack}: {after:.3} of the link from 3 s after the outage");
            if (cca, stack) == ("bbr", "ns3") {
                // Nor does it in ns-3.37: 0.1 % of the link in the 35 s after ten at 12 kbit/s.
                assert!(after < 0.01, "{cca}, {stack}: {after}");
                continue;
            }
            assert!(after > 0.85, "{cca}, {stack}: {after}");
        }
    }
}

/// A delay spike without loss (the access link keeps the window from filling the queue): the timeout is spurious. F-RTO (RFC 5682) or the timestamps
/// (RFC 3522) show it, the reduction is undone, hardly anything was sent twice.
#[test]
fn a_spurious_timeout_is_undone() {
    for cca in ["newreno", "cubic"] {
        let r = one(&format!(
            "[link]\nschedule = [[\"0s\", \"20mbit\"], [\"5s\", \"0bit\"], [\"5.6s\", \"20mbit\"]]\nbuffer = \"500p\"\n\
             [[flows]]\ncca = \"{cca}\"\nrtt = \"40ms\"\naccess = \"10mbit\"\n[queue]\ndisciplines = [\"droptail\"]\n\
             [run]\nduration = \"8s\"\nwarmup = \"4.9s\"\n"
        ));
        let cwnd = series(&r, "flow0.cwnd");
        let (before, after) = (mean(&cwnd, 4.9, 5.0), mean(&cwnd, 5.8, 6.0));
        let f = &r.flows[0];
        println!(
            "{cca}: cwnd {before:.0} before, {after:.0} after; {} timeouts, {} retransmits",
            f.timeouts, f.retransmits
        );
        assert_eq!(drops(&r), 0);
        assert!(f.timeouts >= 1, "{cca}: the outage is longer than the RTO");
        assert!(after >= before, "{cca}: cwnd {before} before, {after} after");
        assert!(f.retransmits <= 4, "{cca}: {} retransmits", f.retransmits);
    }
}

/// The initial window of 10 overflows a queue of 5: the tail is lost, no later segment tells.
/// Linux probes after two round trips (RFC 8985 section 7); without, only a timeout of 1 s helps.
#[test]
fn a_lost_tail_is_probed() {
    let fct = |stack: &str| {
        let r = one(&format!(
            "[link]\nrate = \"2mbit\"\nbuffer = \"5p\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"40ms\"\nsize = \"14480b\"\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"20s\"\nwarmup = \"0s\"\nstack = \"{stack}\"\n"
        ));
        assert!(drops(&r) >= 3, "{stack}: the burst does not fit");
        (r.flows[0].fct_s.expect("it completes"), r.flows[0].timeouts)
    };
    let (probed, timeouts) = fct("linux");
    assert_eq!(timeouts, 0, "the probe repairs it");
    assert!(probed < 0.45, "{probed} s");
    let (waited, timeouts) = fct("ns3");
    assert!(timeouts >= 1 && waited > 1.0, "{waited} s, {timeouts} timeouts");
}

/// Recovery sends again what was lost, and little else.
#[test]
fn retransmits_match_drops() {
    for cca in every_cca() {
        for buffer in ["8p", "40p", "160p"] {
            let r = one(&format!(
                "[link]\nrate = \"20mbit\"\nbuffer = \"{buffer}\"\n[[flows]]\ncount = 3\ncca = \"{cca}\"\nrtt = \"30ms..50ms\"\n\
                 [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"30s\"\nwarmup = \"5s\"\n"
            ));
            let resent: u64 = r.flows.iter().map(|f| f.retransmits).sum();
            let timeouts: u64 = r.flows.iter().map(|f| f.timeouts).sum();
            println!("{cca}, {buffer}: {} drops, {resent} retransmits, {timeouts} timeouts", drops(&r));
            let most = drops(&r) as f64 * 1.03 + 10.0;
            assert!(
                resent as f64 <= most && resent as f64 >= drops(&r) as f64 * 0.97 - 10.0,
                "{cca}, {buffer}: {} drops, {resent} retransmits",
                drops(&r)
            );
        }
    }
}

/// SACK recovery takes about a round trip, not one a hole: the slow-start overshoot of NewReno
/// (hundreds of holes) is mended without a timeout.
#[test]
fn hundreds_of_holes_are_mended_without_a_timeout() {
    let r =
        one("[link]\nrate = \"50mbit\"\nbuffer = \"1bdp\"\n[[flows]]\ncca = \"newreno\"\nrtt = \"40ms\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"2s\"\nwarmup = \"0s\"\n");
    let f = &r.flows[0];
    println!("{} drops, {} retransmits, {} timeouts", drops(&r), f.retransmits, f.timeouts);
    // Measured on Linux 7.2: 333 drops, mended within 70 ms.
    assert!((250..450).contains(&drops(&r)) && f.timeouts == 0, "{} drops, {f:?}", drops(&r));
    let goodput = series(&r, "flow0.goodput_bps");
    assert!(mean(&goodput, 0.6, 2.0) > 0.9 * 50e6 * 1448.0 / 1514.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is lost, a finite flow completes, and not sooner than the path allows.
    #[test]
    fn finite_flows_complete(
        kbit in 500u32..20_000,
        packets in 1u32..30,
        rtt_ms in 1u32..100,
        cca in prop::sample::select(every_cca()),
        stack in prop_oneof![3 => Just("linux"), 1 => Just("ns3"), 1 => Just("quic")],
        discipline in prop_oneof![Just("droptail"), Just("codel"), Just("pie"), Just("titrate")],
        count in 1u32..6,
        size in 1u32..400_000,
        jitter_us in prop_oneof![2 => Just(0u32), 1 => 1u32..5000],
        ecn in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let toml = format!(
            "[link]\nrate = \"{kbit}kbit\"\noverhead = \"0b\"\nbuffer = \"{packets}p\"\n\
             [[flows]]\ncca = \"{cca}\"\ncount = {count}\nrtt = \"{rtt_ms}ms\"\nsize = \"{size}b\"\njitter = \"{jitter_us}us\"\necn = {ecn}\n\
             [queue]\ndisciplines = [\"{discipline}\"]\n\
             [run]\nduration = \"400s\"\nwarmup = \"0s\"\nseeds = {seed}\nstack = \"{stack}\"\nsample = \"1s\"\n"
        );
        all_complete(&toml, rtt_ms, kbit, size)?;
    }
}
