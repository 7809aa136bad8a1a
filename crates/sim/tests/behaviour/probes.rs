//! Probes against what must come of them: closed forms, other flows that measure the same, and the drafts' definitions.

use crate::bed::{close, one};
use queuewright_results::{Responsiveness, Run};

fn run(link: &str, flows: &str, discipline: &str, seconds: u32) -> Run {
    one(&format!(
        "[link]\n{link}\noverhead = \"18b\"\n{flows}\n[queue]\ndisciplines = [{discipline}]\n\
         [run]\nduration = \"{seconds}s\"\nwarmup = \"10s\"\nsample = \"1s\"\n"
    ))
}

fn probed(r: &Run) -> &Responsiveness {
    let [probed] = r.responsiveness.as_slice() else {
        panic!("one entry has probes: {:?}", r.responsiveness)
    };
    probed
}

const LOAD: &str = "[[flows]]\nname = \"load\"\ncount = 4\ncca = \"cubic\"\nrtt = \"20ms\"\nprobes = true\n";

/// Alone a round trip is the path's, a packet's time on the link, and what the host takes over it (a twentieth at most, 20 us): the
/// SYN has 60 bytes, a byte with its headers 53, the ACK of the SYN's answer that it stands behind 52, each 18 on top.
#[test]
fn alone_they_take_a_round_trip() {
    let r = run("rate = \"1mbit\"\nbuffer = \"50p\"", LOAD, "\"droptail\"", 40);
    let p = probed(&r);
    assert_eq!(p.load, "load");
    let on_link = (60.0 + 52.0 + 53.0 + 3.0 * 18.0) / 2.0 * 8.0 / 1e3;
    // They may meet.
    close("idle", p.idle_rtt_ms, 20.0 + on_link, 0.0, 0.05);
    close("idle", p.idle_rpm, 60_000.0 / (20.0 + on_link), 0.0, 10.0);
}

/// Through one queue all packets wait alike: probes as long as small datagrams at even times.
#[test]
fn a_common_queue_delays_them_as_datagrams() {
    let pings = "[[flows]]\nname = \"pings\"\ncbr = \"16kbit\"\npacket = \"60b\"\nrtt = \"20ms\"\n";
    let r = run("rate = \"20mbit\"\nbuffer = \"100p\"", &format!("{LOAD}{pings}"), "\"droptail\"", 310);
    let p = probed(&r);
    let pings =
        r.groups.iter().find(|g| g.name == "pings").and_then(|g| g.datagrams.as_ref()).expect("they ping");
    println!("{p:?}\n{:?}", pings.delay_ms);
    close("round trip", p.rtt_ms.mean, pings.delay_ms.mean + 10.0, 0.03, 0.0);
    close("its tail", p.rtt_ms.p95, pings.delay_ms.p95 + 10.0, 0.03, 0.0);
    assert!(p.rtt_ms.count > 2000, "{p:?}");
    // What stands behind others of its flow waits no less than what comes by itself.
    assert!(p.loaded_rpm < p.foreign_rpm && p.foreign_rpm < p.idle_rpm, "{p:?}");
    close("rpm", p.rpm, (p.foreign_rpm + p.loaded_rpm) / 2.0, 1e-12, 0.0);
    let added = p.rtt_ms.mean - p.idle_rtt_ms;
    assert_eq!(p.grade.as_deref(), Some(if added < 30.0 { "A" } else { "B" }), "{added}");
}

/// What a link loses they lose, within three standard deviations, and what is lost is no round trip.
#[test]
fn a_link_that_loses_loses_them() {
    let load = LOAD.replace("count = 4", "count = 1");
    let r = run("rate = \"100mbit\"\nbuffer = \"1000p\"\nloss = \"2%\"", &load, "\"droptail\"", 310);
    let p = probed(&r);
    println!("{p:?}");
    let packets = p.rtt_ms.count as f64;
    close("loss", p.loss, 0.02, 0.0, 3.0 * f64::sqrt(0.02 / packets));
    assert!(p.rtt_ms.max < 100.0, "a retransmission takes 200 ms at least: {p:?}");
    assert_eq!(p.qoo["video-call"], Some(0.0));
}

/// With fair queues a new connection waits for nobody, and the load's own queue is as long as its sender makes it.
#[test]
fn fair_queues_let_new_connections_pass() {
    let fair = run("rate = \"20mbit\"\nbuffer = \"1000p\"", LOAD, "\"fq-codel\"", 60);
    let (fair, one) = (probed(&fair), run("rate = \"20mbit\"\nbuffer = \"1000p\"", LOAD, "\"droptail\"", 60));
    let one = probed(&one);
    println!("{fair:?}\n{one:?}");
    assert_eq!((fair.grade.as_deref(), one.grade.as_deref()), (Some("A+"), Some("F")));
    assert!(fair.foreign_rpm > 0.8 * fair.idle_rpm && fair.loaded_rpm < 0.9 * fair.idle_rpm);
    let game = |p: &Responsiveness| p.qoo["game"].expect("it was measured");
    assert!(game(fair) > 80.0 && game(one) == 0.0, "{:?} {:?}", fair.qoo, one.qoo);
}

/// A send buffer smaller than the path holds leaves no queue: the answer waits until there is room for it, between no time and a round
/// trip, and is there half of one later.
#[test]
fn an_answer_stands_behind_what_was_written() {
    let load =
        "[[flows]]\nname = \"load\"\ncca = \"cubic\"\nrtt = \"100ms\"\nwmem = \"64kb\"\nprobes = true\n";
    let r = run("rate = \"100mbit\"\nbuffer = \"100p\"", load, "\"droptail\"", 60);
    let p = probed(&r);
    let took = 60_000.0 / p.loaded_rpm;
    println!("{took} {p:?}");
    assert!((100.0..=201.0).contains(&took), "{took}");
    assert_eq!(p.confidence, "high");
}

/// A queue on the way back counts as well: pings of both ways together.
#[test]
fn a_queue_on_the_way_back_delays_them_too() {
    let r = one("[[ports]]\nname = \"down\"\nrate = \"50mbit\"\nbuffer = \"1000p\"\n\
         [[ports]]\nname = \"up\"\nrate = \"10mbit\"\nbuffer = \"100p\"\n\
         [[flows]]\nname = \"up\"\ncca = \"cubic\"\nrtt = \"20ms\"\nports = \"up\"\ncount = 2\n\
         [[flows]]\nname = \"down\"\ncca = \"cubic\"\nrtt = \"20ms\"\nports = \"down\"\nreverse_ports = \"up\"\nprobes = true\n\
         [[flows]]\nname = \"ping-up\"\ncbr = \"16kbit\"\npacket = \"60b\"\nrtt = \"20ms\"\nports = \"up\"\n\
         [[flows]]\nname = \"ping-down\"\ncbr = \"16kbit\"\npacket = \"60b\"\nrtt = \"20ms\"\nports = \"down\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"160s\"\nwarmup = \"10s\"\nsample = \"1s\"\n");
    let ping = |name: &str| {
        let group = r.groups.iter().find(|g| g.name == name).expect("it is there");
        group.datagrams.as_ref().expect("it pings").delay_ms.mean
    };
    let p = probed(&r);
    println!("{} {} {p:?}", ping("ping-up"), ping("ping-down"));
    assert!(ping("ping-up") > 30.0 && ping("ping-down") > 100.0, "both queues are long");
    close("both ways", p.rtt_ms.mean, ping("ping-up") + ping("ping-down"), 0.05, 0.0);
    assert!(60_000.0 / p.loaded_rpm > ping("ping-up"), "a request meets the queue up");
    // A port's probes are no flows of the scenario.
    assert_eq!(r.groups.len(), 4);
    assert!(r.groups.iter().all(|g| g.transfers.is_none()) && r.detail.transfers.is_empty());
}

/// What is measured changes little by being measured.
#[test]
fn they_are_light() {
    let link = "rate = \"20mbit\"\nbuffer = \"100p\"";
    let with = run(link, LOAD, "\"codel\"", 110);
    let without = run(link, &LOAD.replace("probes = true\n", ""), "\"codel\"", 110);
    let (a, b) = (&with.ports[0], &without.ports[0]);
    close("sojourn", a.sojourn_ms.mean, b.sojourn_ms.mean, 0.05, 0.0);
    close("goodput", with.goodput_bps(), without.goodput_bps(), 0.01, 0.0);
    assert!(without.responsiveness.is_empty());
}

/// The link alternates between 50 and 2 Mbit/s: what is slow is there as long as what is quick, and so are probes. Pings see the same.
#[test]
fn slow_times_count_as_long_as_quick_ones() {
    let link = "schedule = [[\"0s\", \"50mbit\"], [\"5s\", \"2mbit\"]]\nperiod = \"10s\"\nbuffer = \"100p\"";
    let pings = "[[flows]]\nname = \"pings\"\ncbr = \"16kbit\"\npacket = \"60b\"\nrtt = \"20ms\"\n";
    let r = run(link, &format!("{LOAD}{pings}"), "\"droptail\"", 310);
    let p = probed(&r);
    let pings =
        r.groups.iter().find(|g| g.name == "pings").and_then(|g| g.datagrams.as_ref()).expect("they ping");
    println!("{p:?}\n{:?}", pings.delay_ms);
    close("round trip", p.rtt_ms.mean, pings.delay_ms.mean + 10.0, 0.08, 0.0);
}

/// A queue of 12 s: the answers take no less, and the last of them, which the end cuts off, make it no less.
#[test]
fn answers_that_take_long_are_waited_for() {
    let load = "[[flows]]\nname = \"load\"\ncca = \"cubic\"\nrtt = \"20ms\"\ncount = 4\nprobes = true\n";
    let r = run("rate = \"1mbit\"\nbuffer = \"1000p\"", load, "\"droptail\"", 120);
    let p = probed(&r);
    println!("{p:?} {:?}", r.ports[0].sojourn_ms);
    assert!(p.loaded_rpm < p.foreign_rpm && 60_000.0 / p.loaded_rpm > r.ports[0].sojourn_ms.p50, "{p:?}");
}

/// Before the load is there, and when it has gone, nobody probes.
#[test]
fn only_while_the_load_is_there() {
    let link = "rate = \"20mbit\"\nbuffer = \"100p\"";
    let of = |more: &str| probed(&run(link, &format!("{LOAD}{more}"), "\"droptail\"", 110)).clone();
    let (all, late, early) = (of(""), of("start = \"60s\"\n"), of("stop = \"60s\"\n"));
    for part in [&late, &early] {
        close("foreign", part.foreign_rpm, all.foreign_rpm, 0.05, 0.0);
        // Send buffers are smaller while windows grow.
        close("loaded", part.loaded_rpm, all.loaded_rpm, 0.3, 0.0);
        close("probes", part.rtt_ms.count as f64, all.rtt_ms.count as f64 / 2.0, 0.2, 0.0);
    }
}

/// Where the load marks and does not lose, its probes do not lose either, and what they lose is no loss event.
#[test]
fn they_use_ecn_as_the_load_does() {
    let load = LOAD.replace("probes", "ecn = true\nprobes");
    let r = run("rate = \"20mbit\"\nbuffer = \"1000p\"", &load, "{ name = \"codel\", ecn = true }", 60);
    let p = probed(&r);
    let events = r.ports[0].loss_events.expect("seen");
    println!("{p:?} {events:?} {:?}", r.ports[0].drops);
    // A SYN is never ECN-capable (RFC 3168 section 6.1.1).
    assert!(p.loss < 0.01 && events.count == 0);
}
