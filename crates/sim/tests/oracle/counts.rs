//! Every packet is counted once: at its flow's group, at each port, within the window or beside it.

use crate::bed::one;
use crate::{datagrams, drawn};
use proptest::prelude::*;
use queuewright_aqm::registry;
use queuewright_results::Run;

fn disciplines() -> Vec<&'static str> {
    // Those two divide a buffer that ports share.
    registry().iter().map(|info| info.name).filter(|name| !["dt", "abm"].contains(name)).collect()
}

/// A row of ports, with and without impairments.
fn ports() -> impl Strategy<Value = String> {
    let port = (2u32..60, 3u32..80, 0u32..3, prop::option::of((1u32..30, 0u32..4, any::<bool>())));
    prop::collection::vec(port, 1..4).prop_map(|ports| {
        let mut text = String::new();
        for (i, (mbit, buffer, ms, impairments)) in ports.into_iter().enumerate() {
            text += &format!(
                "[[ports]]\nname = \"p{i}\"\nrate = \"{mbit}mbit\"\nbuffer = \"{buffer}p\"\ndelay = \"{ms}ms\"\n"
            );
            if let Some((loss, jitter, overtaking)) = impairments {
                text += &format!("loss = 0.{loss:03}\njitter = {{ uniform = \"{jitter}ms\", overtaking = {overtaking} }}\n");
            }
        }
        text
    })
}

/// The ports of a text, as a flow names them.
fn names(ports: &str) -> String {
    let n = ports.matches("[[ports]]").count();
    (0..n).map(|i| format!("\"p{i}\"")).collect::<Vec<_>>().join(", ")
}

fn drops(r: &Run, port: usize) -> u64 {
    r.ports[port].drops.values().sum()
}

/// UDP flows that stop, transfers that end, and time for all to arrive. Of each group what was received and lost is what was sent:
/// at a constant rate, a packet at each whole gap before the stop. What leaves a port and is not lost behind it comes to the next.
/// The losses of all groups are those of all ports and links. Payload delivered is that of the transfers.
#[test]
fn what_was_sent_was_received_or_lost() {
    let udp = (100u32..8000, 60u32..1500, 500u32..2000, any::<bool>());
    let tcp = (prop::sample::select(crate::bed::every_cca()), 1u32..4, 1u32..150_000);
    let flows = (prop::collection::vec(udp, 1..3), prop::collection::vec(tcp, 0..3));
    drawn(100, (ports(), flows, prop::sample::select(disciplines())), |(ports, (udp, tcp), discipline)| {
        let way = names(&ports);
        let mut text = ports;
        for (kbit, bytes, stop_ms, calls) in &udp {
            text += &format!(
                "[[flows]]\ncbr = \"{kbit}kbit\"\npacket = \"{bytes}b\"\nstop = \"{stop_ms}ms\"\nrtt = \"20ms\"\nports = [{way}]\n"
            );
            if *calls {
                text += &format!(
                    "[[flows]]\nvoip = \"g729\"\narrivals = \"40/s\"\nduration = \"1ms..300ms\"\nstop = \"{stop_ms}ms\"\nrtt = \"20ms\"\nports = [{way}]\n"
                );
            }
        }
        for (cca, count, size) in &tcp {
            text += &format!(
                "[[flows]]\ncca = \"{cca}\"\ncount = {count}\nsize = \"{size}b\"\nrtt = \"20ms\"\nports = [{way}]\n"
            );
        }
        let r = one(&format!(
            "{text}[queue]\ndisciplines = [\"{discipline}\"]\n[run]\nduration = \"400s\"\nwarmup = \"0s\"\nsample = \"10s\"\n"
        ));
        let mut group = 0;
        for (kbit, bytes, stop_ms, calls) in &udp {
            // At 0, g, 2 g, ... before the stop.
            let bits = u64::from(*bytes) * 8;
            let sent = (u64::from(*stop_ms) * u64::from(*kbit)).div_ceil(bits);
            let d = datagrams(&r, group);
            assert_eq!(d.received + d.lost, sent, "{kbit} kbit/s of {bytes} bytes for {stop_ms} ms: {d:?}");
            group += if *calls { 2 } else { 1 };
        }
        let last = r.ports.len() - 1;
        let lost = |port: usize| r.ports[port].lost.unwrap_or(0);
        for port in 0..last {
            assert_eq!(
                r.ports[port + 1].packets + drops(&r, port + 1),
                r.ports[port].packets - lost(port),
                "{port}"
            );
        }
        let of_groups: u64 = r.groups.iter().filter_map(|g| g.datagrams.as_ref()).map(|d| d.lost).sum();
        let of_transfers: u64 = r.detail.transfers.iter().map(|t| t.drops + t.lost).sum();
        let of_ports: u64 = (0..=last).map(|port| drops(&r, port) + lost(port)).sum();
        assert_eq!(of_groups + of_transfers, of_ports);
        let received: u64 = r.groups.iter().filter_map(|g| g.datagrams.as_ref()).map(|d| d.received).sum();
        assert!(received <= r.ports[last].packets - lost(last));
        if tcp.is_empty() {
            assert_eq!(received, r.ports[last].packets - lost(last));
        }
        for g in r.groups.iter().filter(|g| g.transfers.is_some()) {
            let t = g.transfers.as_ref().expect("some");
            assert_eq!((t.started, t.completed), (u64::from(g.flows), u64::from(g.flows)), "{}", g.name);
        }
        let bytes: u64 = r.detail.transfers.iter().map(|t| t.bytes).sum();
        let delivered: f64 =
            r.groups.iter().filter(|g| g.transfers.is_some()).map(|g| g.goodput_bps * 400.0 / 8.0).sum();
        assert!((delivered - bytes as f64).abs() < 0.5, "{delivered} of {bytes} bytes");
    });
}

/// What is counted before a time and what is counted after it is what is counted in all: of a run until then, of one whose warm-up
/// lasts until then, of one without. Sums are exact, of times to rounding.
#[test]
fn windows_add_up() {
    let flow = prop_oneof![
        (100u32..9000, 60u32..1500)
            .prop_map(|(k, b)| format!("poisson = \"{k}kbit\"\npacket = \"{b}b\"\nrtt = \"30ms\"\n")),
        (100u32..9000, 0u32..9).prop_map(|(k, ms)| format!(
            "cbr = \"{k}kbit\"\nrtt = \"30ms\"\naccess = \"10mbit\"\njitter = \"{ms}ms\"\n"
        )),
        (5u32..80, 1u32..900).prop_map(|(n, ms)| format!(
            "voip = \"g711\"\narrivals = \"{n}/s\"\nduration = {{ exponential = \"{ms}ms\" }}\nrtt = \"30ms\"\n"
        )),
        (prop::sample::select(crate::bed::every_cca()), 1u32..4, prop::option::of(500u32..5000)).prop_map(
            |(cca, n, stop)| {
                let stop = stop.map_or(String::new(), |ms| format!("stop = \"{ms}ms\"\n"));
                format!("cca = \"{cca}\"\ncount = {n}\nrtt = \"20ms..60ms\"\n{stop}")
            }
        ),
        (prop::sample::select(crate::bed::every_cca()), 1u32..60).prop_map(|(cca, n)| format!(
            "cca = \"{cca}\"\nrtt = \"20ms..60ms\"\narrivals = \"{n}/s\"\nsize = \"1b..60kb\"\n"
        )),
        (200u32..1000).prop_map(|ms| format!(
            "cca = \"cubic\"\nrtt = \"20ms\"\nvideo = {{ chunk = \"{ms}ms\", buffer = \"3s\" }}\n"
        )),
    ];
    let flows = prop::collection::vec(flow, 1..4);
    let split = 100_000_000u64..4_900_000_000;
    drawn(
        40,
        (ports(), flows, prop::sample::select(disciplines()), split),
        |(ports, flows, discipline, split)| {
            let way = names(&ports);
            let flows: String = flows.iter().map(|f| format!("[[flows]]\n{f}ports = [{way}]\n")).collect();
            // No event falls on it: times of events are no such odd numbers.
            let split = split / 1000 * 1000 + 7;
            let run = |duration: u64, warmup: u64| {
                one(&format!(
                    "{ports}{flows}[queue]\ndisciplines = [\"{discipline}\"]\n\
                 [run]\nduration = \"{duration}ns\"\nwarmup = \"{warmup}ns\"\nsample = \"100ms\"\n"
                ))
            };
            let end = 5_000_000_000;
            let (before, after, all) = (run(split, 0), run(end, split), run(end, 0));
            let seconds = |r: &Run| r.duration_s - r.warmup_s;
            let adds = |what: &str, of: &dyn Fn(&Run) -> u64| {
                assert_eq!(of(&before) + of(&after), of(&all), "{what}: {} and {}", of(&before), of(&after));
            };
            let sums = |what: &str, of: &dyn Fn(&Run) -> f64| {
                let of = |r: &Run| Some(of(r)).filter(|x| x.is_finite()).unwrap_or(0.0);
                let (a, b, c) = (of(&before), of(&after), of(&all));
                assert!((a + b - c).abs() <= 1e-6 * c.abs() + 1e-6, "{what}: {a} and {b} for {c}");
            };
            for i in 0..all.ports.len() {
                adds("packets", &|r| r.ports[i].packets);
                adds("lost", &|r| r.ports[i].lost.unwrap_or(0));
                for reason in all.ports[i].drops.keys() {
                    adds(reason, &|r| r.ports[i].drops.get(reason).copied().unwrap_or(0));
                }
                for reason in all.ports[i].marks.keys() {
                    adds(reason, &|r| r.ports[i].marks.get(reason).copied().unwrap_or(0));
                }
                sums("waited", &|r| r.ports[i].sojourn_ms.mean * r.ports[i].packets as f64);
                sums("backlog", &|r| r.ports[i].backlog_packets.mean * seconds(r));
                sums("backlog", &|r| r.ports[i].backlog_bytes.mean * seconds(r));
                for q in 0..all.ports[i].queues.len() {
                    adds("packets of a queue", &|r| r.ports[i].queues[q].packets);
                    sums("bits of a queue", &|r| r.ports[i].queues[q].rate_bps * seconds(r));
                }
            }
            for g in 0..all.groups.len() {
                sums("goodput", &|r| r.groups[g].goodput_bps * seconds(r));
                if all.groups[g].datagrams.is_some() {
                    adds("received", &|r| datagrams(r, g).received);
                    adds("lost", &|r| datagrams(r, g).lost);
                    sums("delay", &|r| datagrams(r, g).delay_ms.mean * datagrams(r, g).received as f64);
                }
                if all.groups[g].video.is_some() {
                    let video = |r: &Run| r.groups[g].video.expect("a player");
                    adds("chunks", &|r| video(r).chunks);
                    adds("switches", &|r| video(r).switches);
                    adds("stalls", &|r| video(r).stalls);
                    sums("stalled", &|r| video(r).stalled_s);
                }
            }
            for f in 0..all.flows.len() {
                adds("retransmits", &|r| r.flows[f].retransmits);
                adds("timeouts", &|r| r.flows[f].timeouts);
            }
        },
    );
}
