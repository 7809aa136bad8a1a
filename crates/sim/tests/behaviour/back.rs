//! Acknowledgements that cross ports on their way back, with queues of their own.

use crate::bed::{close, one, runs};

/// Downloads over `down`, whose acknowledgements go over `up`.
fn toml(up: &str, flows: &str, run: &str) -> String {
    format!(
        "[[ports]]\nname = \"down\"\nrate = \"10mbit\"\nbuffer = \"400p\"\n\
         [[ports]]\nname = \"up\"\n{up}\n{flows}\n[queue]\ndisciplines = [\"droptail\"]\n[run]\nsample = \"1s\"\n{run}\n"
    )
}

const DOWN: &str =
    "[[flows]]\nname = \"download\"\nrtt = \"40ms\"\nports = [\"down\"]\nreverse_ports = [\"up\"]\n";

/// A sender is clocked by its acknowledgements: with one for every segment (ns-3) it cannot send more segments than
/// the way back carries acknowledgements, of 52 bytes and 2 of PPP.
#[test]
fn a_slow_way_back_clocks_the_sender() {
    let flows = format!("{DOWN}cca = \"newreno\"");
    let run = "duration = \"150s\"\nwarmup = \"80s\"\nstack = \"ns3\"";
    let r = one(&toml("rate = \"200kbit\"\nbuffer = \"20000p\"", &flows, run));
    let acks_per_s = 200_000.0 / (54.0 * 8.0);
    close("goodput", r.groups[0].goodput_bps, acks_per_s * 1448.0 * 8.0, 0.01, 0.0);
    close("the way back is full", r.ports[1].utilization, 1.0, 0.0, 0.01);
    assert!(r.ports[1].sojourn_ms.mean > 10.0 * r.ports[0].sojourn_ms.mean, "the queue is on the way back");
    // Linux acknowledges two segments at a time, and the end of a burst: of three segments, two acknowledgements; and each while its
    // window grows, once a round trip, which is seconds long here.
    let run = "duration = \"600s\"\nwarmup = \"300s\"";
    let r = one(&toml("rate = \"50kbit\"\nbuffer = \"20000p\"", &flows, run));
    let acks_per_s = 50_000.0 / (66.0 * 8.0);
    let per_ack = r.groups[0].goodput_bps / (acks_per_s * 1448.0 * 8.0);
    println!("Linux: {per_ack:.2} segments an acknowledgement");
    assert!((1.5..20.0).contains(&per_ack), "{per_ack}");
}

/// What an empty way back adds to the round trip is the transmission of an acknowledgement.
#[test]
fn an_idle_way_back_takes_its_transmission() {
    let flows = |back: &str| {
        format!("[[flows]]\ncca = \"brutal\"\nrate = \"1mbit\"\nrtt = \"40ms\"\nports = [\"down\"]\n{back}")
    };
    let srtt = |back: &str| {
        let up = "rate = \"500kbit\"\ndelay = \"3ms\"\nbuffer = \"100p\"";
        let r = one(&toml(up, &flows(back), "duration = \"60s\"\nwarmup = \"10s\""));
        r.flows[0].srtt_ms.expect("it has one")
    };
    close("round trip", srtt("reverse_ports = [\"up\"]") - srtt(""), 66.0 * 8.0 / 500.0, 0.0, 0.2);
}

/// An upload through tail drop holds up the acknowledgements of a download, whose window then takes most of a minute to fill the
/// link; a queue for each flow does not.
#[test]
fn an_upload_slows_a_download_down() {
    let upload = "[[flows]]\nname = \"upload\"\ncca = \"cubic\"\nrtt = \"40ms\"\nports = [\"up\"]\nreverse_ports = [\"down\"]\n";
    let goodput = |discipline: &str| {
        let up = format!("rate = \"500kbit\"\nbuffer = \"200p\"\ndiscipline = \"{discipline}\"");
        let flows = format!("{DOWN}cca = \"cubic\"\n{upload}");
        one(&toml(&up, &flows, "duration = \"40s\"\nwarmup = \"2s\"")).groups[0].goodput_bps / 1e6
    };
    let (bloated, apart) = (goodput("droptail"), goodput("fq-codel"));
    println!("download beside an upload: {bloated:.2} Mbit/s behind it, {apart:.2} apart from it");
    // Of ten seeds the least and most: 4.4 to 5.4 behind it, 9.5 apart.
    assert!(apart > 1.7 * bloated && apart > 9.0, "{bloated} {apart}");
}

/// Acknowledgements stand for one another: that some are lost costs little.
#[test]
fn lost_acknowledgements_cost_little() {
    let goodput = |loss: &str| {
        let up = format!("rate = \"10mbit\"\nbuffer = \"100p\"\n{loss}");
        one(&toml(&up, &format!("{DOWN}cca = \"cubic\""), "duration = \"60s\"\nwarmup = \"10s\"")).groups[0]
            .goodput_bps
    };
    assert!(goodput("loss = \"10%\"") > 0.9 * goodput(""));
}

/// Packets and acknowledgements add up (a run in which they do not is an error), whatever happens to them.
#[test]
fn nothing_is_lost_or_made_up_on_the_way_back() {
    let impairments = [
        "",
        "loss = \"5%\"",
        "jitter = { uniform = \"30ms\", overtaking = true }\nreorder = { share = \"10%\", by = \"50ms\" }",
        "loss = \"60%\"\njitter = \"9ms\"",
    ];
    for (i, flaw) in impairments.iter().enumerate() {
        for stack in ["linux", "ns3"] {
            let r = runs(&format!(
                "[[ports]]\nname = \"down\"\nrate = \"20mbit\"\nbuffer = \"30p\"\ndelay = \"1ms\"\n\
                 [[ports]]\nname = \"far\"\nrate = \"9mbit\"\nbuffer = \"30p\"\ndelay = \"1ms\"\n{flaw}\n\
                 [[ports]]\nname = \"up\"\nrate = \"300kbit\"\nbuffer = \"20p\"\n{flaw}\n\
                 [[ports]]\nname = \"last\"\nrate = \"1mbit\"\nbuffer = \"5p\"\ndelay = \"2ms\"\n\
                 [[flows]]\ncount = 3\ncca = {{ cubic = 1, bbr = 1, dctcp = 1 }}\nrtt = \"8ms..60ms\"\nports = [\"down\", \"far\"]\nreverse_ports = [\"up\", \"last\"]\n\
                 [[flows]]\ncount = 4\ncca = \"cubic\"\nsize = \"1b..50kb\"\nrepeat = \"0s..0.1s\"\nrtt = \"20ms\"\nports = [\"down\"]\nreverse_ports = [\"last\"]\n\
                 [[flows]]\ncca = \"newreno\"\nsize = \"9kb\"\narrivals = \"9/s\"\nrtt = \"20ms\"\nports = [\"last\"]\nreverse_ports = [\"far\"]\n\
                 [[flows]]\ncbr = \"100kbit\"\nports = [\"up\"]\n\
                 [queue]\ndisciplines = [\"droptail\", \"codel\", \"fq-codel\", \"santa\", \"duk\"]\n\
                 [run]\nduration = \"8s\"\nwarmup = \"1s\"\nstack = \"{stack}\"\nseeds = {i}\n"
            ));
            let completed = |r: &queuewright_results::Run| {
                r.groups.iter().filter_map(|g| g.transfers.as_ref()).map(|t| t.completed).sum::<u64>()
            };
            assert!(r.iter().all(|r| completed(r) > 0), "{flaw}");
        }
    }
}

/// What a flow's `drops` and `lost` count: its own packets, by queues and by links; not what comes back.
#[test]
fn transfers_count_their_packets_not_their_acknowledgements() {
    let flows = format!("{DOWN}cca = \"cubic\"\ncount = 20\nsize = \"1mb\"");
    let run = |down: &str, up: &str| {
        let text = toml(up, &flows, "duration = \"300s\"\nwarmup = \"0s\"");
        let r = one(&text.replace("buffer = \"400p\"", down));
        let t = r.groups[0].transfers.clone().expect("they end");
        assert_eq!((t.started, t.completed), (20, 20));
        let dropped = |port: usize| r.ports[port].drops.values().sum::<u64>();
        ([t.drops, t.lost], [dropped(0), dropped(1)], [0, 1].map(|p| r.ports[p].lost.unwrap_or(0)))
    };
    // The queue and the link of the way back drop and lose, those of the way there do not.
    let (of_flows, dropped, lost) =
        run("buffer = \"20000p\"", "rate = \"200kbit\"\nbuffer = \"4p\"\nloss = \"2%\"");
    assert!(dropped[1] > 100 && lost[1] > 20, "{dropped:?} {lost:?}");
    assert_eq!((of_flows, dropped[0], lost[0]), ([0, 0], 0, 0));
    // And the other way round: all of it is the flows'.
    let (of_flows, dropped, lost) =
        run("buffer = \"20p\"\nloss = \"1%\"", "rate = \"10mbit\"\nbuffer = \"20000p\"");
    assert!(dropped[0] > 100 && lost[0] > 20, "{dropped:?} {lost:?}");
    assert_eq!((of_flows, dropped[1], lost[1]), ([dropped[0], lost[0]], 0, 0));
}
