//! Clients that ask over one connection: requests and responses, and players of video.

use crate::bed::{close, one};
use queuewright_results::{Run, Video};

fn run(link: &str, flows: &str, discipline: &str, seconds: u32, warmup: u32) -> Run {
    one(&format!(
        "[link]\n{link}\n{flows}\n[queue]\ndisciplines = [\"{discipline}\"]\n\
         [run]\nduration = \"{seconds}s\"\nwarmup = \"{warmup}s\"\nsample = \"1s\"\n"
    ))
}

fn client(what: &str) -> String {
    format!("[[flows]]\ncca = \"cubic\"\nrtt = \"40ms\"\n{what}\n")
}

/// A response of one packet takes a round trip and its time on the link; the next is asked for a pause later.
#[test]
fn a_small_response_takes_a_round_trip() {
    let r = run("rate = \"10mbit\"", &client("size = \"1448b\"\nrequests = \"60ms\""), "droptail", 101, 1);
    let t = r.groups[0].transfers.as_ref().expect("responses are transfers");
    // And up to 0.2 ms, in which the server's host gets to it.
    close("response", t.fct_s["all"].mean, 0.0413, 0.0, 0.0002);
    close("how many", t.completed as f64, 100.0 / 0.1013, 0.01, 0.0);
    assert_eq!((t.started - t.completed, t.drops, t.retransmits), (0, 0, 0));
    assert_eq!(r.groups[0].flows, 1);
    close("goodput", r.groups[0].goodput_bps, 1448.0 * 8.0 * t.completed as f64 / 100.0, 0.01, 0.0);
}

/// The next request, 5 ms after a response of one packet, carries the acknowledgement of it, which else would wait for 40 ms (`tcp_send_ack`
/// of a connection that answers, `inet_csk_in_pingpong_mode`): the server measures 20 + 5 ms.
#[test]
fn a_request_carries_the_acknowledgement_that_waits() {
    let what = "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nsize = \"1448b\"\nrequests = \"5ms\"\n";
    let r = run("rate = \"100mbit\"", what, "droptail", 60, 10);
    let srtt = r.flows[0].srtt_ms.expect("TCP has one");
    close("smoothed round trip", srtt, 25.12, 0.0, 0.5);
}

/// 100 packets: a round trip where the window has room for all, as after many of them, and four (10, 20, 40, the rest)
/// after a pause of many timeouts, which takes the window back to ten packets (RFC 2861).
#[test]
fn a_window_that_was_not_used_starts_again() {
    let fct = |pause: &str| {
        let what = client(&format!("size = \"144800b\"\nrequests = \"{pause}\""));
        let r = run("rate = \"1gbit\"\nbuffer = \"1000p\"", &what, "droptail", 100, 20);
        r.groups[0].transfers.as_ref().expect("responses").fct_s["all"].p50
    };
    close("at once", fct("0s"), 0.0412, 0.0, 0.0005);
    close("after 10 s", fct("10s"), 4.0 * 0.04, 0.0, 0.004);
}

/// Many clients in a queue too small for them: whatever is lost, responses come whole and one after another,
/// and what was delivered is what was asked for.
#[test]
fn responses_come_whole_whatever_is_lost() {
    for discipline in ["droptail", "codel", "fq-codel", "santa"] {
        let flows = "[[flows]]\ncca = { cubic = 1, bbr = 1, newreno = 1 }\ncount = 40\nrtt = \"10ms..80ms\"\n\
                     size = \"1kb..200kb\"\nrequests = { exponential = \"100ms\" }\nname = \"clients\"\n";
        let r = run("rate = \"20mbit\"\nbuffer = \"20p\"", flows, discipline, 60, 0);
        let (mut bytes, mut drops, mut retransmits) = (0, 0, 0);
        for t in &r.detail.transfers {
            bytes += if t.fct_s.is_some() { t.bytes } else { 0 };
            (drops, retransmits) = (drops + t.drops, retransmits + t.retransmits);
        }
        let delivered: f64 = r.groups.iter().map(|g| g.goodput_bps).sum::<f64>() * 60.0 / 8.0;
        let under_way = 40.0 * 200.0 * 1024.0;
        assert!(
            delivered >= bytes as f64 && delivered <= bytes as f64 + under_way,
            "{discipline}: {delivered} {bytes}"
        );
        let of_port: u64 = r.ports[0].drops.values().sum();
        assert!(drops <= of_port && drops + 200 >= of_port, "{discipline}: {drops} of {of_port}");
        let of_flows: u64 = r.flows.iter().map(|f| f.retransmits).sum();
        assert!(
            retransmits <= of_flows && retransmits + 200 >= of_flows,
            "{discipline}: {retransmits} {of_flows}"
        );
        assert!(r.ports[0].utilization > 0.6, "{discipline}: {}", r.ports[0].utilization);
    }
}

/// One request of ten is lost on its way, and sent again after the timeout, once more after as long, then after twice as long each time. With
/// that of 40 + 200 ms, a response takes 41.3 ms and on the mean 0.9 (0.1 * 240 + 0.01 * 480 + 0.001 * 960 + ...) = 27 more.
#[test]
fn a_request_that_is_lost_is_sent_again() {
    let r = one("[[ports]]\nname = \"down\"\nrate = \"10mbit\"\ndelay = \"20ms\"\n\
         [[ports]]\nname = \"up\"\nrate = \"10mbit\"\ndelay = \"20ms\"\nloss = \"10%\"\n\
         [[flows]]\ncca = \"cubic\"\nrtt = \"40ms\"\nsize = \"1448b\"\nrequests = \"10ms\"\nports = [\"down\"]\n\
         reverse_ports = [\"up\"]\n[queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"2000s\"\nwarmup = \"1s\"\nsample = \"1s\"\n");
    let t = r.groups[0].transfers.as_ref().expect("responses are transfers");
    close("half of them", t.fct_s["all"].p50, 0.0413, 0.0, 0.0005);
    // Of 25,000 its standard error is 0.6 ms.
    close("mean", t.fct_s["all"].mean, 0.0684, 0.0, 0.0025);
    let late = |s: f64| {
        let late = r.detail.transfers.iter().filter(|t| t.fct_s.is_some_and(|took| took > s)).count();
        late as f64 / t.completed as f64
    };
    close("sent again", late(0.2), 0.1, 0.0, 0.01);
    close("twice", late(0.4), 0.01, 0.0, 0.003);
    assert!(t.started - t.completed <= 1, "{t:?}");
}

/// Uploads that fill the queue which a player's requests and acknowledgements cross cost it a part of what it had without them.
#[test]
fn a_full_queue_on_the_way_back_slows_a_player() {
    let play = |discipline: &str| {
        let r = one(&format!(
            "[[ports]]\nname = \"down\"\nrate = \"20mbit\"\nbuffer = \"200p\"\n\
             [[ports]]\nname = \"up\"\nrate = \"1mbit\"\nbuffer = \"100p\"\n\
             [[flows]]\nname = \"player\"\ncca = \"cubic\"\nrtt = \"20ms\"\nvideo = {{}}\nports = [\"down\"]\nreverse_ports = [\"up\"]\n\
             [[flows]]\nname = \"uploads\"\ncca = \"cubic\"\ncount = 8\nrtt = \"20ms\"\nports = [\"up\"]\n\
             [queue]\ndisciplines = [\"{discipline}\"]\n[run]\nduration = \"300s\"\nwarmup = \"60s\"\nsample = \"1s\"\n"
        ));
        let player = video(&r);
        assert!(player.chunks > 20, "{discipline}: {player:?}");
        player.bitrate_bps
    };
    let (full, fair) = (play("droptail"), play("fq-codel"));
    assert!(fair > 1.5 * full, "{full} {fair}");
}

fn video(r: &Run) -> Video {
    r.groups[0].video.expect("a player")
}

/// A link of many times the highest bitrate plays that, without a stall; one below the lowest stalls for the share that
/// does not come.
#[test]
fn a_player_takes_what_the_link_has() {
    let play = |rate: &str| {
        video(&run(
            &format!("rate = \"{rate}\"\nbuffer = \"100p\""),
            &client("video = {}"),
            "droptail",
            400,
            100,
        ))
    };
    let fast = play("100mbit");
    assert_eq!((fast.bitrate_bps, fast.stalls, fast.switches), (14_931_538.0, 0, 0));
    close("chunks", fast.chunks as f64, 75.0, 0.0, 1.0);
    close("quality", fast.linear_qoe, 14.931538, 1e-9, 0.0);
    assert_eq!(fast.stalling_index, 1.0);
    let middle = play("3mbit");
    assert!((1.2e6..2.9e6).contains(&middle.bitrate_bps) && middle.stalls == 0, "{middle:?}");
    let slow = play("200kbit");
    assert_eq!(slow.bitrate_bps, 254_320.0);
    let lost = 4.3 * slow.stalled_s / slow.chunks as f64;
    close("quality of what stalls", slow.linear_qoe, 0.25432 - lost, 1e-9, 0.0);
    assert!(slow.stalling_index < 0.5, "{slow:?}");
    // Payload is 1448 of 1514 bytes.
    close("stalled", slow.stalled_s, 300.0 * (1.0 - 200.0 * 1448.0 / 1514.0 / 254.32), 0.1, 0.0);
}

/// An outage of a minute with up to half a minute ahead: the player stands still for the other half.
#[test]
fn a_player_bridges_an_outage_with_its_buffer() {
    let link =
        "schedule = [[\"0s\", \"50mbit\"], [\"100s\", \"0bit\"], [\"160s\", \"50mbit\"]]\nbuffer = \"100p\"";
    let v = video(&run(link, &client("video = { ladder = [\"1mbit\", \"4mbit\"] }"), "droptail", 300, 0));
    assert_eq!(v.stalls, 1, "{v:?}");
    // 26 to 30 s were ahead; the connection notices the link's return with its next timeout, a minute later at most.
    assert!((30.0..100.0).contains(&v.stalled_s), "{v:?}");
    assert!(v.startup_s < 1.0, "{v:?}");
}

/// What a client stops asking for does not come.
#[test]
fn a_client_stops() {
    let r = run(
        "rate = \"10mbit\"",
        &client("size = \"1448b\"\nrequests = \"60ms\"\nstop = \"10s\""),
        "droptail",
        20,
        0,
    );
    let t = r.groups[0].transfers.as_ref().expect("responses");
    close("responses", t.completed as f64, 99.0, 0.0, 2.0);
    assert_eq!(t.started, t.completed);
    let r = run("rate = \"10mbit\"", &client("video = {}\nstop = \"10s\""), "droptail", 100, 0);
    assert!(video(&r).chunks < 12, "{:?}", video(&r));
}
