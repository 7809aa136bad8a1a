//! Each measure against what it says it is, worked out by hand.

use crate::bed::{close, drops, one, runs, series};
use queuewright_results::{Datagrams, Run};

/// A scenario of one link, its flows and so many seconds, of which the first are not counted.
fn on(link: &str, flows: &str, seconds: &str, warmup: &str) -> Run {
    one(&format!(
        "[link]\n{link}\n{flows}\n[queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"{seconds}\"\nwarmup = \"{warmup}\"\nsample = \"1s\"\n"
    ))
}

fn datagrams(r: &Run, group: usize) -> &Datagrams {
    r.groups[group].datagrams.as_ref().expect("UDP flows have delay and loss")
}

/// Calls that come and go in the warm-up have lost nothing within the window.
#[test]
fn losses_of_the_warm_up_do_not_count() {
    let calls =
        "[[flows]]\ncbr = \"1mbit\"\narrivals = \"50/s\"\nduration = \"100ms..300ms\"\nrtt = \"10ms\"";
    // 10 flows at once, 83 packets a second each, for 10 s: four standard deviations of a share of 0.1.
    let lossy = on("rate = \"100mbit\"\nloss = \"10%\"", calls, "20s", "10s");
    let n = 10.0 * 1e6 / 12_000.0 * 10.0;
    close("loss", datagrams(&lossy, 0).loss, 0.1, 0.0, 4.0 * f64::sqrt(0.1 * 0.9 / n));
    // A link that is ten times too slow until the warm-up is nearly over.
    let link = "schedule = [[\"0s\", \"1mbit\"], [\"8s\", \"100mbit\"]]\nbuffer = \"20p\"";
    let r = on(link, calls, "20s", "10s");
    assert_eq!((drops(&r), datagrams(&r, 0).lost), (0, 0));
}

/// The access link sends a packet when it is through with the one before, whenever that will arrive. With jitter J and a gap g
/// between packets, none of which overtakes another, the extra delay is the largest of U(k) - k g, U uniform on 0..J:
/// its distribution is the product of min(1, (x + k g) / J), its mean J less the integral of that.
#[test]
fn jitter_does_not_hold_up_the_access_link() {
    let r = on(
        "rate = \"10gbit\"",
        "[[flows]]\ncbr = \"10mbit\"\naccess = \"20mbit\"\njitter = \"5ms\"\nrtt = \"20ms\"",
        "11s",
        "1s",
    );
    let (jitter, gap) = (5.0, 1.2);
    let below = |x: f64| (0..5).map(|k| f64::min(1.0, (x + f64::from(k) * gap) / jitter)).product::<f64>();
    let late = jitter - (0..5000).map(|i| below((f64::from(i) + 0.5) / 1000.0) / 1000.0).sum::<f64>();
    let d = datagrams(&r, 0);
    println!("{} received, delay {:?}", d.received, d.delay_ms);
    close("packets", d.received as f64, 10.0 * 1e7 / 12_000.0, 0.0, 6.0);
    // Half the round trip, the access link, the link. Of 8333 packets, five echo one another: four standard errors of
    // at most J / 4 each.
    let fixed = 10.0 + 1514.0 * 8.0 / 20e3 + 1514.0 * 8.0 / 10e6;
    close("delay", d.delay_ms.mean, fixed + late, 0.0, 4.0 * jitter / 4.0 * f64::sqrt(10.0 / 8333.0));
    assert!(d.delay_ms.max <= (fixed + jitter) * 1.001, "{:?}", d.delay_ms);
}

/// No flow has more goodput than its link, when it stops, either: what is left to send then takes its time.
#[test]
fn what_comes_after_the_stop_takes_its_time() {
    let payload = |header: f64| 1e6 * (1500.0 - header) / 1514.0;
    for (flow, most) in
        [("cca = \"cubic\"\nrtt = \"20ms\"", payload(52.0)), ("cbr = \"2mbit\"", payload(28.0))]
    {
        let flows = format!("[[flows]]\n{flow}\nstop = \"5s\"");
        let r = on("rate = \"1mbit\"\nbuffer = \"500p\"", &flows, "60s", "0s");
        let f = &r.flows[0];
        println!("{flow}: {:.0} bit/s of at most {most:.0}", f.goodput_bps);
        assert!(f.goodput_bps <= most && f.goodput_bps > 0.95 * most, "{flow}: {}", f.goodput_bps);
    }
}

/// What a flow's packets waited is their delay less what else takes time; those dropped on the way have no part in it.
#[test]
fn packets_that_are_dropped_later_have_not_waited() {
    let r = one("[[ports]]\nname = \"a\"\nrate = \"20mbit\"\nbuffer = \"100p\"\ndelay = \"2ms\"\n\
         [[ports]]\nname = \"b\"\nrate = \"10mbit\"\nbuffer = \"100p\"\ndelay = \"1ms\"\nloss = \"5%\"\n\
         [[ports]]\nname = \"c\"\nrate = \"9mbit\"\nbuffer = \"10p\"\ndelay = \"1ms\"\n\
         [[flows]]\npoisson = \"30mbit\"\nports = [\"a\", \"b\", \"c\"]\nrtt = \"20ms\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"40s\"\nwarmup = \"5s\"\nsample = \"1s\"\n");
    let delay = datagrams(&r, 0).delay_ms.mean;
    let fixed = 10.0 + 1514.0 * 8.0 * (1.0 / 20e3 + 1.0 / 10e3 + 1.0 / 9e3);
    println!("{} ms waited, {delay} ms on the way, {fixed} without queues", r.flows[0].sojourn_ms);
    close("sojourn", r.flows[0].sojourn_ms, delay - fixed, 0.0, 1e-4);
}

/// A video that was watched long enough does not stall.
#[test]
fn a_player_that_stops_does_not_stall() {
    let r = on(
        "rate = \"100mbit\"",
        "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nvideo = {}\nstop = \"10s\"",
        "60s",
        "0s",
    );
    let v = r.groups[0].video.expect("a player");
    assert_eq!((v.stalls, v.stalled_s), (0, 0.0), "{v:?}");
    assert!(v.chunks > 0);
}

/// A load is what the link carries: SYNs, headers of segments that are not full, of the last one.
#[test]
fn arrivals_load_the_link_as_they_say() {
    for size in [
        "\"100b\"",
        "\"1b..3000b\"",
        "{ distribution = \"pareto\", min = \"100b\", shape = 1.5, max = \"30kb\" }",
    ] {
        let flows = format!("[[flows]]\ncca = \"cubic\"\nrtt = \"5ms\"\nsize = {size}\narrivals = \"40%\"");
        let r = on("rate = \"20mbit\"\nbuffer = \"1000p\"", &flows, "100s", "0s");
        // A Poisson count, of transfers whose bytes have at most 1.5 times their mean as standard deviation.
        let n = r.groups[0].transfers.as_ref().expect("they end").started as f64;
        println!("{size}: {} of {n} transfers", r.ports[0].utilization);
        close(size, r.ports[0].utilization, 0.4, 4.0 * f64::sqrt((1.0 + 2.25) / n), 0.0);
    }
}

/// Gaps of a few ns have their mean: 64 bytes at 50 Gbit/s are 10.24 ns. A Poisson count, four standard deviations.
#[test]
fn short_gaps_have_their_mean() {
    let r = on(
        "rate = \"100gbit\"\nbuffer = \"10000p\"\noverhead = \"0b\"",
        "[[flows]]\npoisson = \"50gbit\"\npacket = \"64b\"",
        "5ms",
        "0ms",
    );
    let n = 0.005 * 50e9 / (64.0 * 8.0);
    close("packets", r.ports[0].packets as f64, n, 0.0, 4.0 * f64::sqrt(n));
}

/// A schedule's packets take their time, to no ns more: as many leave as on a link of that rate always.
#[test]
fn a_schedule_is_as_fast_as_it_says() {
    let packets = |rate: &str| {
        let flows = "[[flows]]\ncbr = \"500gbit\"";
        on(&format!("{rate}\nbuffer = \"100p\""), flows, "10ms", "0ms").ports[0].packets
    };
    let constant = packets("rate = \"400gbit\"");
    let n = 0.01 * 400e9 / (1514.0 * 8.0);
    close("constant", constant as f64, n, 0.0, 2.0);
    close("scheduled", packets("schedule = [[\"0s\", \"400gbit\"]]") as f64, n, 0.0, 2.0);
}

/// From the SYN to the last byte: a round trip and a half, a SYN and a packet on the link; and up to a twentieth of the
/// round trip, in which the sender's host gets to the SYN's answer.
#[test]
fn completion_counts_from_the_syn() {
    let rs = runs(
        "[link]\nrate = \"1gbit\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"1ms\"\nsize = \"1448b\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"1s\"\nwarmup = \"0s\"\nseeds = \"1..20\"\n",
    );
    for r in rs {
        let t = r.detail.transfers[0];
        let fct = t.fct_s.expect("it ends");
        let least = 0.0015 + (74.0 + 1514.0) * 8e-9;
        assert!(
            (least - 1e-9..=least + 0.05e-3).contains(&fct),
            "seed {}: {fct} s, at least {least}",
            r.seed
        );
        assert_eq!(r.flows[0].fct_s, Some(fct));
        close("goodput", r.flows[0].goodput_bps, 1448.0 * 8.0 / fct, 1e-9, 0.0);
    }
}

/// A page's flow of one packet sends one.
#[test]
fn a_packet_of_a_page_is_one() {
    let folder = std::env::temp_dir().join(format!("queuewright-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("pages.csv");
    std::fs::write(&file, "1,0,1\n1,1,3\n").expect("a file");
    let flows = format!(
        "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\npages = {{ file = \"{}\", at = \"0s\" }}",
        file.display()
    );
    let r = on("rate = \"20mbit\"", &flows, "2s", "0s");
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    // Four, and of both flows the SYN, two ACKs and the FIN.
    assert_eq!(r.ports[0].packets, 12);
}

/// A connection with an end sends segments without data as well: packets and bytes on the link are those of Linux 7.2, measured in the lab.
#[test]
fn a_transfer_sends_what_linux_sends() {
    for (size, packets, bytes) in [
        ("1kb", 5, 1362.0),
        ("5kb", 8, 5656.0),
        ("14480b", 14, 15412.0),
        ("15kb", 14, 16292.0),
        ("30kb", 25, 32378.0),
        ("300kb", 216, 321464.0),
    ] {
        let flows = format!("[[flows]]\ncca = \"newreno\"\nrtt = \"20ms\"\nsize = \"{size}\"");
        let r = on("rate = \"100mbit\"", &flows, "2s", "0s");
        let sent = r.ports[0].utilization * 100e6 * 2.0 / 8.0;
        assert!(
            r.ports[0].packets == packets && (sent - bytes).abs() < 1.0,
            "{size}: {}, {sent}",
            r.ports[0].packets
        );
    }
    // One without an end was open before; a client that goes on asking closes nothing.
    for (flow, bytes) in
        [("stop = \"1s\"", 1514.0), ("size = \"2896b\"\nrequests = \"2s\"", (74.0 + 2.0 * 1514.0) / 3.0)]
    {
        let flows = format!("[[flows]]\ncca = \"newreno\"\nrtt = \"20ms\"\n{flow}");
        let r = on("rate = \"100mbit\"", &flows, "1900ms", "0s");
        let sent = r.ports[0].utilization * 100e6 * 1.9 / 8.0;
        close(flow, sent / r.ports[0].packets as f64, bytes, 0.0, 1.0);
    }
}

/// The series has a datagram when it arrives.
#[test]
fn series_have_datagrams_when_they_arrive() {
    let r =
        one("[link]\nrate = \"10mbit\"\ndelay = \"1s\"\n[[flows]]\ncbr = \"5mbit\"\nrtt = \"2s\"\n[queue]\n\
         disciplines = [\"droptail\"]\n[run]\nduration = \"3s\"\nwarmup = \"0s\"\nsample = \"100ms\"\n");
    let goodput = series(&r, "flow0.goodput_bps");
    for (at, bps) in goodput.into_iter().skip(1) {
        // A packet takes 2.4 ms to come after another.
        let want = if at < 1.05 { 0.0 } else { 5e6 * 1472.0 / 1500.0 };
        close(&format!("at {at} s"), bps, want, 0.0, 1.5 * 1472.0 * 8.0 / 0.1);
    }
}

/// A queue twice as fast as its link: what comes at t waits t. A day and more is what it is.
#[test]
fn a_wait_of_a_day_is_one() {
    let r = on(
        "rate = \"1kbit\"\nbuffer = \"100000p\"\noverhead = \"0b\"",
        "[[flows]]\ncbr = \"2kbit\"",
        "200000s",
        "0s",
    );
    close("longest", r.ports[0].sojourn_ms.max, 100_000e3, 1.1e-3, 0.0);
    close("delay", datagrams(&r, 0).delay_ms.max, 100_012e3, 1.1e-3, 0.0);
}

/// A limiter with credit for a second passes more than its rate, and its use says so.
#[test]
fn use_counts_what_credit_lets_pass() {
    let r = on(
        "rate = \"10mbit\"\nburst = \"1250000b\"\nbuffer = \"10p\"",
        "[[flows]]\ncbr = \"30mbit\"",
        "2s",
        "0s",
    );
    close("use", r.ports[0].utilization, 1.5, 2e-3, 0.0);
}

/// As many ports in a row as there may be: each packet waits for each of them.
#[test]
fn a_long_way_is_walked() {
    let ports: String = (0..254)
        .map(|i| format!("[[ports]]\nname = \"p{i}\"\nrate = \"1gbit\"\nbuffer = \"10p\"\n"))
        .collect();
    let names: Vec<String> = (0..254).map(|i| format!("\"p{i}\"")).collect();
    let r = one(&format!(
        "{ports}[[flows]]\ncbr = \"1mbit\"\nports = [{}]\n[queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"1s\"\nwarmup = \"0s\"\n",
        names.join(", ")
    ));
    assert_eq!((datagrams(&r, 0).received, r.ports[253].packets, r.flows[0].sojourn_ms), (84, 84, 0.0));
    close("delay", datagrams(&r, 0).delay_ms.mean, 254.0 * 1514.0 * 8e-6, 1e-9, 0.0);
}

/// There and back over as many as there may be: a transfer ends.
#[test]
fn a_long_way_there_and_back_is_walked() {
    for (there, back) in [(127, 127), (253, 1), (1, 253)] {
        let ports: String = (0..254)
            .map(|i| format!("[[ports]]\nname = \"p{i}\"\nrate = \"1gbit\"\nbuffer = \"100p\"\n"))
            .collect();
        let names: Vec<String> = (0..254).map(|i| format!("\"p{i}\"")).collect();
        let r = one(&format!(
            "{ports}[[flows]]\ncca = \"cubic\"\nrtt = \"10ms\"\nsize = \"100kb\"\nports = [{}]\nreverse_ports = [{}]\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"5s\"\nwarmup = \"0s\"\n",
            names[..there].join(", "),
            names[254 - back..].join(", "),
        ));
        assert!(r.flows[0].fct_s.is_some(), "{there} there, {back} back");
    }
}

/// What arrives late of a flow that stopped before the window is no goodput, and no part of Jain's index.
#[test]
fn a_flow_that_stopped_before_the_window_has_no_goodput() {
    let flows = "[[flows]]\ncbr = \"1mbit\"\nrtt = \"16ms\"\n[[flows]]\ncbr = \"1mbit\"\nrtt = \"16ms\"\nstop = \"5s\"";
    let r = on("rate = \"100mbit\"\nbuffer = \"100p\"", flows, "10s", "5s");
    assert!(r.flows[1].goodput_bps.is_nan(), "{}", r.flows[1].goodput_bps);
    assert_eq!(r.jain, 1.0);
}

/// A link of 8 and 12 Mbit/s in turn, each for 100 ms, written as two steps that come again or as twenty.
#[test]
fn a_schedule_comes_again() {
    let step = |i: u32| format!("[\"{}ms\", \"{}mbit\"]", 100 * i, [8, 12][i as usize % 2]);
    let steps = |n: u32| (0..n).map(step).collect::<Vec<_>>().join(", ");
    let run = |link: &str| {
        on(&format!("{link}\nbuffer = \"100p\""), "[[flows]]\npoisson = \"11mbit\"", "2s", "300ms")
    };
    let twice = run(&format!("schedule = [{}]\nperiod = \"200ms\"", steps(2)));
    let long = run(&format!("schedule = [{}]", steps(20)));
    let text = |r: &Run| serde_json::to_string(&r.ports).expect("it is text");
    assert_eq!(text(&twice), text(&long));
    assert!(twice.ports[0].utilization > 0.95);
}

/// A FIN that finds no data to go with has a number of its own (`tcp_send_fin`): its SACK tells that the last segment was lost, and that goes
/// again after a reordering window of a quarter of the round trip. The ninth of nine finds 14 kB of queue full, but for the FIN.
#[test]
fn a_fin_behind_the_data_tells_of_their_loss() {
    let flows = "[[flows]]\ncca = \"newreno\"\nrtt = \"20ms\"\nsize = \"13032b\"";
    let r = on("rate = \"10mbit\"\nbuffer = \"13000b\"", flows, "2s", "0s");
    let t = r.detail.transfers[0];
    assert_eq!((t.drops, t.retransmits), (1, 1));
    // A handshake; eight segments and the FIN at 10 Mbit/s, which arrive half a round trip later; its SACK is there after another half; a
    // quarter of the round trip is up to a jiffy (4 ms) longer; the segment takes half a round trip.
    let (segment, fin) = (1514.0 * 8.0 / 10e6, 66.0 * 8.0 / 10e6);
    let least = 0.020 + 8.0 * segment + fin + 0.010 + 0.010 + 0.005 + segment + 0.010;
    let took = t.fct_s.expect("it ends");
    assert!((least..=least + 0.009).contains(&took), "{took} s, at least {least}");
}

/// A short segment takes the access link no longer than it is: 1 kB at 1 Mbit/s, the SYN and the handshake's last ACK before it.
#[test]
fn a_short_last_segment_is_short_on_the_access_link() {
    for (size, segments) in [("1kb", 1024.0), ("10kb", 10_240.0), ("1448b", 1448.0), ("1449b", 1449.0)] {
        let flows =
            format!("[[flows]]\ncca = \"newreno\"\nrtt = \"20ms\"\naccess = \"1mbit\"\nsize = \"{size}\"");
        let r = on("rate = \"1gbit\"\nbuffer = \"100p\"", &flows, "2s", "0s");
        let headers = (segments / 1448.0f64).ceil() * 66.0;
        let (slow, fast) = (8.0 / 1e6, 8.0 / 1e9);
        // A SYN, and half a round trip each way; the ACK; the data; half a round trip. On the link the last packet alone.
        let least = 74.0 * (slow + fast) + 0.020 + 66.0 * slow + (segments + headers) * slow + 0.010;
        let took = r.detail.transfers[0].fct_s.expect("it ends");
        assert!((least..=least + 0.0002).contains(&took), "{size}: {took} s, at least {least}");
    }
}

/// The peer acknowledges the data, and closes with a FIN of its own, over the ports of the way back: a SYN's answer, an ACK for each segment while
/// acknowledgements are quick, and one for two later. Where the FIN rides on a full segment the ACK goes before the peer's FIN; where it
/// is less than a segment that has not been acknowledged, the peer's FIN does both (`__tcp_ack_snd_check`).
#[test]
fn the_peer_closes_over_the_ports_back() {
    for (size, back) in [("1kb", 3), ("14480b", 12), ("15928b", 13)] {
        let r = one(&format!(
            "[[ports]]\nname = \"down\"\nrate = \"100mbit\"\n[[ports]]\nname = \"up\"\nrate = \"100mbit\"\n\
             [[flows]]\ncca = \"newreno\"\nrtt = \"20ms\"\nports = \"down\"\nreverse_ports = \"up\"\nsize = \"{size}\"\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"2s\"\nwarmup = \"0s\"\n"
        ));
        assert_eq!(r.ports[1].packets, back, "{size}");
    }
}
