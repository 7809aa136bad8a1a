//! `stack = "quic"`: loss recovery, acknowledgements and bytes as RFC 9000 and RFC 9002 have them, seen from outside.

use crate::bed::{all_complete, close, drops, every_cca, marks, one};
use proptest::prelude::*;
use std::fmt::Write;

/// IP and link bytes of a full packet, and the stream data in it: 48 of IPv6 and UDP, 27 of QUIC's header and tag, 10 of a STREAM frame's.
const FULL: f64 = 1514.0;
const PAYLOAD: f64 = 1415.0;

fn alone(link: &str, flows: &str, run: &str) -> queuewright_results::Run {
    one(&format!(
        "[link]\n{link}\n[[flows]]\n{flows}\nstack = \"quic\"\n[queue]\ndisciplines = [\"droptail\"]\n[run]\n{run}\n"
    ))
}

#[test]
fn a_full_packet_has_so_much_stream_data() {
    let r = alone(
        "rate = \"20mbit\"\nbuffer = \"200p\"",
        "cca = \"newreno\"\nrtt = \"10ms\"",
        "duration = \"20s\"\nwarmup = \"5s\"",
    );
    close("goodput", r.flows[0].goodput_bps, 20e6 * PAYLOAD / FULL, 1e-3, 0.0);
}

/// Whole flows: 100 segments and 7 bytes.
#[test]
fn a_transfer_has_its_bytes() {
    let r = alone(
        "rate = \"20mbit\"\nbuffer = \"200p\"",
        "cca = \"cubic\"\nrtt = \"10ms\"\nsize = \"141507b\"",
        "duration = \"5s\"\nwarmup = \"0s\"",
    );
    let (flow, sent) = (&r.flows[0], r.ports[0].packets);
    let fct_s = flow.fct_s.expect("it ends");
    close("bytes", flow.goodput_bps * fct_s / 8.0, 141_507.0, 0.0, 0.5);
    // And the handshake.
    assert_eq!((sent, flow.retransmits), (102, 0));
}

/// RFC 9002 section 6.1.1: a packet that two others overtake is not lost, one that more overtake is. At 10 Mbit/s a packet takes 1.2 ms.
#[test]
fn reordering_below_the_threshold_costs_no_retransmission() {
    let reordered = |by: &str| {
        alone(
            &format!("rate = \"10mbit\"\nbuffer = \"3000p\"\nreorder = {{ share = \"5%\", by = \"{by}\" }}"),
            "cca = \"newreno\"\nrtt = \"40ms\"\nsize = \"3mb\"",
            "duration = \"20s\"\nwarmup = \"0s\"",
        )
    };
    let (few, many) = (reordered("2.3ms"), reordered("6ms"));
    assert_eq!((few.flows[0].retransmits, few.flows[0].timeouts, drops(&few)), (0, 0, 0));
    assert!(few.flows[0].fct_s.is_some());
    // Fewer than are late: after a loss that was none packets are farther apart, and fewer overtake.
    assert!(many.flows[0].retransmits > 0 && drops(&many) == 0, "{:?}", many.flows[0]);
    assert!(many.flows[0].fct_s > few.flows[0].fct_s);
}

/// RFC 9002 section 6.2: the last of ten packets finds a queue of eight full. Nothing that is sent later can tell of it, so the probe timeout does, of
/// the round-trip times that the others had. The estimator is stated here once more, by section 5.3.
#[test]
fn a_tail_loss_is_found_by_the_probe_timeout() {
    let r = alone(
        "rate = \"10mbit\"\nbuffer = \"8p\"",
        "cca = \"cubic\"\nrtt = \"100ms\"\nsize = \"14150b\"",
        "duration = \"5s\"\nwarmup = \"0s\"",
    );
    assert_eq!((drops(&r), r.flows[0].timeouts), (1, 1));
    let ms = |bytes: f64| bytes * 8.0 / 10e3;
    let (full, handshake) = (ms(FULL), 100.0 + ms(1248.0 + 14.0));
    let (mut srtt, mut var) = (handshake, handshake / 2.0);
    // Every second packet is acknowledged, the ninth after 25 ms, of which the ACK tells: then nothing counts but the path.
    for nth in [2.0, 4.0, 6.0, 8.0, 9.0] {
        let sample = 100.0 + nth * full;
        var = 0.75 * var + 0.25 * f64::abs(srtt - sample);
        srtt = 0.875 * srtt + 0.125 * sample;
    }
    let pto = srtt + 4.0 * var + 25.0;
    // From the last packet of the first ten, which went when the handshake was over, to the arrival of the probe.
    let fct = handshake + pto + 50.0 + full;
    println!("{:?} s, expected {fct} ms", r.flows[0].fct_s);
    close("fct", 1e3 * r.flows[0].fct_s.expect("it ends"), fct, 0.0, 0.5);
}

/// Beside TCP in one scenario: `stack` of an entry is that entry's, and both take part.
#[test]
fn runs_beside_tcp() {
    let r = one("[link]\nrate = \"50mbit\"\nbuffer = \"1bdp\"\n\
                 [[flows]]\nname = \"tcp\"\ncount = 2\ncca = \"cubic\"\nrtt = \"40ms\"\n\
                 [[flows]]\nname = \"quic\"\ncount = 2\ncca = \"cubic\"\nrtt = \"40ms\"\nstack = \"quic\"\n\
                 [queue]\ndisciplines = [\"fq-codel\"]\n[run]\nduration = \"30s\"\nwarmup = \"10s\"\n");
    for (flow, payload) in r.flows.iter().zip([1448.0, 1448.0, PAYLOAD, PAYLOAD]) {
        close(&flow.group, flow.goodput_bps, 12.5e6 * payload / FULL, 0.05, 0.0);
    }
}

/// `[run]` sets it for all entries that do not say otherwise.
#[test]
fn the_run_sets_it_for_all() {
    let of = |entry: &str, run: &str| {
        let r = one(&format!(
            "[link]\nrate = \"20mbit\"\nbuffer = \"1bdp\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"40ms\"\n{entry}\n\
             [queue]\ndisciplines = [\"codel\"]\n[run]\nduration = \"10s\"\n{run}\n"
        ));
        (r.ports[0].packets, r.flows[0].goodput_bps, r.flows[0].retransmits)
    };
    let quic = of("stack = \"quic\"", "");
    assert_eq!(of("", "stack = \"quic\""), quic);
    assert_ne!(of("", ""), quic);
    assert_eq!(of("stack = \"linux\"", "stack = \"quic\""), of("", ""));
}

/// Marks halve the window as losses do, and nothing is sent again.
#[test]
fn marks_are_answered_without_losses() {
    let r = one("[link]\nrate = \"20mbit\"\nbuffer = \"4bdp\"\n\
                 [[flows]]\ncount = 4\ncca = \"cubic\"\nrtt = \"40ms\"\necn = true\nstack = \"quic\"\n\
                 [queue]\ndisciplines = [{ name = \"codel\", ecn = true }]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\n");
    let resent: u64 = r.flows.iter().map(|f| f.retransmits).sum();
    assert!(marks(&r) > 20 && resent == 0 && drops(&r) == 0, "{} marks, {resent} resent", marks(&r));
    assert!(r.ports[0].utilization > 0.95 && r.ports[0].sojourn_ms.mean < 15.0);
}

/// After an outage of 3 s, which is longer than three probe timeouts, congestion is persistent: each flow begins again with two packets.
#[test]
fn goes_on_after_an_outage() {
    for cca in ["cubic", "newreno", "bbr", "bbr3"] {
        let r = alone(
            "schedule = [[\"0s\", \"20mbit\"], [\"5s\", \"0bit\"], [\"8s\", \"20mbit\"]]\nbuffer = \"50p\"",
            &format!("cca = \"{cca}\"\nrtt = \"40ms\""),
            "duration = \"20s\"\nwarmup = \"10s\"",
        );
        let used = r.ports[0].utilization;
        println!("{cca}: {:.1} % of the link", 100.0 * used);
        assert!(used > 0.8, "{cca}: {used}");
    }
}

/// Every congestion control uses a link alone, by the interface that Linux's TCP offers it.
#[test]
fn every_control_runs() {
    for cca in every_cca() {
        let r = one(&format!(
            "[link]\nrate = \"20mbit\"\nbuffer = \"1bdp\"\n[[flows]]\ncca = \"{cca}\"\nrtt = \"40ms\"\nstack = \"quic\"\n\
             [queue]\ndisciplines = [{{ name = \"codel\", ecn = true }}]\n[run]\nduration = \"30s\"\nwarmup = \"10s\"\n"
        ));
        let used = r.ports[0].utilization;
        println!("{cca}: {:.1} %, {:.2} ms", 100.0 * used, r.ports[0].sojourn_ms.mean);
        assert!(used > 0.7, "{cca}: {used}");
    }
}

/// HyStart++ sees the rise of the round-trip time with a window of about three BDP, and meets it with five rounds of a quarter of the growth: 1.25^5
/// make ten of it. A buffer of twelve never fills. NewReno over TCP, without it, doubles until it does.
#[test]
fn slow_start_ends_before_the_buffer_is_full() {
    let dropped = |cca: &str, stack: &str| {
        let r = one(&format!(
            "[link]\nrate = \"50mbit\"\nbuffer = \"12bdp\"\n[[flows]]\ncca = \"{cca}\"\nrtt = \"80ms\"\nstack = \"{stack}\"\nwmem = \"64mb\"\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"4s\"\nwarmup = \"0s\"\n"
        ).replace("stack = \"quic\"\nwmem = \"64mb\"\n", "stack = \"quic\"\n"));
        println!("{cca} {stack}: {} dropped, {:.3} of the link", drops(&r), r.ports[0].utilization);
        assert!(r.ports[0].utilization > 0.75, "{cca}: {}", r.ports[0].utilization);
        drops(&r)
    };
    assert_eq!([dropped("cubic", "quic"), dropped("newreno", "quic")], [0, 0]);
    assert!(dropped("newreno", "linux") > 500);
}

/// Acknowledgements over ports are as long as their frames: on a way back of 200 kbit/s their queue holds the flow up.
#[test]
fn acknowledgements_cross_ports() {
    let r = one("[[ports]]\nname = \"down\"\nrate = \"20mbit\"\nbuffer = \"100p\"\n\
                 [[ports]]\nname = \"up\"\nrate = \"1mbit\"\nbuffer = \"200p\"\ndiscipline = \"droptail\"\n\
                 [[flows]]\ncca = \"cubic\"\nrtt = \"40ms\"\nports = \"down\"\nreverse_ports = \"up\"\nstack = \"quic\"\n\
                 [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\n");
    let (down, up) = (&r.ports[0], &r.ports[1]);
    // One for two packets, but where losses open gaps; 85 bytes and Ethernet's 14.
    let acks = 0.5 * down.packets as f64;
    close("acks", up.packets as f64, acks, 0.05, 0.0);
    close("bytes", up.utilization * 1e6 / 8.0 * 15.0, up.packets as f64 * 99.0, 0.03, 0.0);
}

#[test]
fn golden() {
    const PATHS: [(&str, &str); 6] = [
        ("1 BDP", "rate = \"50mbit\"\nbuffer = \"1bdp\""),
        ("4 BDP", "rate = \"50mbit\"\nbuffer = \"4bdp\""),
        ("8 packets", "rate = \"50mbit\"\nbuffer = \"8p\""),
        ("1 mbit", "rate = \"1mbit\"\nbuffer = \"20p\""),
        ("1 % lost", "rate = \"20mbit\"\nbuffer = \"1bdp\"\nloss = 0.01"),
        (
            "outage",
            "schedule = [[\"0s\", \"40mbit\"], [\"6s\", \"0bit\"], [\"7s\", \"40mbit\"]]\nbuffer = \"100p\"",
        ),
    ];
    let mut table = String::from(
        "control, path, flows    | util %  sojourn mean    p95 ms | drops  marks | resent  probes |  jain\n",
    );
    for cca in ["newreno", "cubic", "bbr", "bbr3"] {
        for (what, link) in PATHS {
            for (n, ecn) in [(1, false), (3, true)] {
                let r = one(&format!(
                    "[link]\n{link}\n[[flows]]\ncount = {n}\ncca = \"{cca}\"\nrtt = \"40ms\"\nstack = \"quic\"\necn = {ecn}\n\
                     [queue]\ndisciplines = [{{ name = \"codel\", ecn = true }}]\n\
                     [run]\nduration = \"15s\"\nwarmup = \"3s\"\nsample = \"1s\"\n"
                ));
                let (p, resent) = (&r.ports[0], r.flows.iter().map(|f| f.retransmits).sum::<u64>());
                let probes: u64 = r.flows.iter().map(|f| f.timeouts).sum();
                let name = format!("{cca}, {what}, {n}{}", if ecn { " ecn" } else { "" });
                writeln!(
                    table,
                    "{name:<23} | {:>6.2} {:>13.2} {:>9.2} | {:>5} {:>6} | {resent:>6} {probes:>7} | {:>5.3}",
                    100.0 * p.utilization,
                    p.sojourn_ms.mean,
                    p.sojourn_ms.p95,
                    drops(&r),
                    marks(&r),
                    r.jain
                )
                .expect("a string");
            }
        }
    }
    insta::assert_snapshot!(table);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is lost, reordered or delayed, and over which ports: packets add up, and flows of both kinds complete.
    #[test]
    fn flows_complete_and_packets_add_up(
        kbit in 500u32..20_000,
        packets in 1u32..30,
        rtt_ms in 2u32..100,
        cca in prop::sample::select(every_cca()),
        discipline in prop_oneof![Just("droptail"), Just("codel"), Just("fq-codel"), Just("titrate")],
        count in 1u32..5,
        size in 1u32..300_000,
        jitter_us in prop_oneof![2 => Just(0u32), 1 => 1u32..5000],
        access in prop_oneof![Just(""), Just("access = \"8mbit\"\n")],
        back in prop_oneof![Just(""), Just("reverse_ports = \"up\"\n")],
        ill in prop_oneof![
            Just(""),
            Just("loss = 0.02\n"),
            Just("reorder = { share = \"10%\", by = \"4ms\" }\n"),
            Just("jitter = { uniform = \"3ms\", overtaking = true }\n"),
        ],
        ecn in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let toml = format!(
            "[[ports]]\nname = \"down\"\nrate = \"{kbit}kbit\"\nbuffer = \"{packets}p\"\n{ill}\
             [[ports]]\nname = \"up\"\nrate = \"2mbit\"\nbuffer = \"10p\"\ndiscipline = \"droptail\"\n{ill}\
             [[flows]]\ncca = \"{cca}\"\ncount = {count}\nrtt = \"{rtt_ms}ms\"\nsize = \"{size}b\"\njitter = \"{jitter_us}us\"\necn = {ecn}\n\
             stack = \"quic\"\nports = \"down\"\n{access}{back}\
             [[flows]]\ncca = \"cubic\"\nrtt = \"{rtt_ms}ms\"\nsize = \"{size}b\"\nports = \"down\"\n{back}\
             [queue]\ndisciplines = [\"{discipline}\"]\n\
             [run]\nduration = \"400s\"\nwarmup = \"0s\"\nseeds = {seed}\nsample = \"1s\"\n"
        );
        all_complete(&toml, rtt_ms, kbit, size)?;
    }
}
