//! Start-up times, jitter, patterns of loss, calls as they are heard, and loss events, against closed forms.

use crate::bed::{close, one};
use queuewright_results::{Datagrams, Run};

fn run(link: &str, flows: &str, seconds: u32, warmup: u32) -> Run {
    one(&format!(
        "[link]\n{link}\noverhead = \"18b\"\n{flows}\n[queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"{seconds}s\"\nwarmup = \"{warmup}s\"\nsample = \"1s\"\n"
    ))
}

fn datagrams(r: &Run) -> &Datagrams {
    r.groups[0].datagrams.as_ref().expect("datagrams")
}

/// The SYN's round trip and half of another, and the first packet's time on the link; of a request that finds the connection open a
/// round trip. The receiving host takes up to a twentieth of a round trip over what it gets.
#[test]
fn the_first_byte_comes_after_its_round_trips() {
    let link = "rate = \"10mbit\"\nbuffer = \"1000p\"";
    let flow = "[[flows]]\ncca = \"cubic\"\nrtt = \"40ms\"\nsize = \"100kb\"\n";
    let startup = |more: &str| {
        let r = run(link, &format!("{flow}{more}"), 20, 0);
        let transfers = r.groups[0].transfers.as_ref().expect("transfers");
        assert!(r.detail.transfers.iter().all(|t| t.startup_s <= t.fct_s || t.fct_s.is_none()));
        transfers.startup_s
    };
    close("SYN", startup("").p50, 0.060 + 1518.0 * 8.0 / 1e7, 0.0, 0.002);
    let asked = startup("requests = \"1s\"");
    assert!(asked.count > 10, "{asked:?}");
    close("request", asked.p50, 0.040 + 1518.0 * 8.0 / 1e7, 0.0, 0.002);
}

/// A call alone: all packets take the same time, and R is what G.107 gives for 130 ms: between those for 100 and for 150.
#[test]
fn a_call_alone_is_heard_well() {
    let link = "rate = \"5mbit\"\nbuffer = \"50p\"";
    let r = run(link, "[[flows]]\nvoip = \"g711\"\nrtt = \"100ms\"\n", 60, 10);
    let d = datagrams(&r);
    let calls = d.calls.expect("it is a call");
    assert!((93.19..93.36).contains(&calls.r) && calls.r == calls.r_worst, "{calls:?}");
    close("MOS", calls.mos, 4.411, 0.0, 0.002);
    assert!(d.jitter_ms.max < 1e-3, "{:?}", d.jitter_ms);
    let pattern = d.loss_pattern.expect("the simulator sees it");
    assert!(pattern.noticeable_rate.is_nan());
    assert_eq!((pattern.periods, pattern.burst_r), (0, 1.0));
    // Another kind of datagrams is no call.
    let r = run(link, "[[flows]]\ncbr = \"1mbit\"\n", 20, 10);
    assert!(datagrams(&r).calls.is_none());
}

/// Random loss of 2 %: runs of 1 / 0.98 packets, another loss within the 99 before with 1 - 0.98^99, and Ie,eff of 7.01 (G.711 with
/// concealment). 30,000 packets, three standard deviations.
#[test]
fn random_loss_is_heard_as_published() {
    let link = "rate = \"5mbit\"\nbuffer = \"50p\"\nloss = \"2%\"";
    let r = run(link, "[[flows]]\nvoip = \"g711\"\nrtt = \"100ms\"\n", 610, 10);
    let d = datagrams(&r);
    let pattern = d.loss_pattern.expect("the simulator sees it");
    let losses = 30_000.0 * 0.02;
    close("losses", d.lost as f64, losses, 0.0, 3.0 * f64::sqrt(losses));
    close("BurstR", pattern.burst_r, 1.0, 0.0, 3.0 * f64::sqrt(0.02 / losses));
    close(
        "noticeable",
        pattern.noticeable_rate,
        1.0 - 0.98f64.powi(99),
        0.0,
        3.0 * f64::sqrt(0.865 * 0.135 / losses),
    );
    close("run", pattern.period_packets * pattern.periods as f64, d.lost as f64, 1e-9, 0.0);
    close("R", d.calls.expect("a call").r, 93.3 - 7.011, 0.0, 1.0);
}

/// A second of 500 kbit/s for what needs 896.8 (with headers and overhead), then one of 2 Mbit/s. What arrives after a time t of the slow second waits
/// 0.7936 t if it still leaves in that second: the most is 442.4 ms, and a packet's time of 24.3 ms at either end. Nothing is lost, but more
/// than half comes over 60 ms later than the quickest: nobody would understand a word.
#[test]
fn what_comes_late_is_lost_to_a_telephone() {
    let link = "schedule = [[\"0s\", \"500kbit\"], [\"1s\", \"2mbit\"]]\nperiod = \"2s\"\nbuffer = \"200p\"";
    let flows = "[[flows]]\nvoip = \"g711\"\nrtt = \"20ms\"\n[[flows]]\ncbr = \"800kbit\"\n";
    let r = run(link, flows, 110, 10);
    let d = datagrams(&r);
    close("jitter", d.jitter_ms.max, 442.4, 0.0, 24.3);
    assert_eq!((d.lost, d.loss_pattern.expect("seen").periods), (0, 0));
    let calls = d.calls.expect("a call");
    assert_eq!((calls.mos, calls.mos_worst), (1.0, 1.0));
}

/// Each time that the link is too slow both flows that are there lose packets, some 80 in all, in one event. One that has stopped is not
/// there. An event lasts a round trip: what is always too slow has one after the other. (Even gaps would march in step, and one of two flows alone meet a full queue.)
#[test]
fn flows_lose_together_in_an_overload() {
    let link = "schedule = [[\"0s\", \"4mbit\"], [\"1s\", \"1mbit\"]]\nperiod = \"2s\"\nbuffer = \"20p\"";
    let both = "[[flows]]\npoisson = \"1mbit\"\ncount = 2\nrtt = \"1500ms\"\n";
    let stopped = "[[flows]]\nname = \"stopped\"\ncbr = \"100kbit\"\nstop = \"2s\"\nrtt = \"1500ms\"\n";
    let r = run(link, &format!("{both}{stopped}"), 27, 7);
    let events = r.ports[0].loss_events.expect("the simulator sees them");
    assert_eq!((events.count, events.synchronisation, events.synchronisation_p50), (10, 1.0, 1.0));
    let always = run("rate = \"1mbit\"\nbuffer = \"20p\"", &both.replace("1500ms", "100ms"), 30, 10);
    let events = always.ports[0].loss_events.expect("the simulator sees them");
    // A round trip, and until the next drop.
    let drops = always.ports[0].drops.values().sum::<u64>() as f64;
    close("events", events.count as f64, 20.0 / (0.1 + 20.0 / drops), 0.05, 0.0);
    let none = run("rate = \"4mbit\"\nbuffer = \"200p\"", both, 20, 5).ports[0].loss_events.expect("seen");
    assert!(none.count == 0 && none.synchronisation.is_nan());
}

/// A call that nothing gets through to is heard badly, too: one of two meets a link that loses all but one packet in 100,000.
#[test]
fn a_dead_call_is_heard_badly() {
    let r = one("[[ports]]\nname = \"good\"\nrate = \"5mbit\"\nbuffer = \"50p\"\n\
         [[ports]]\nname = \"dead\"\nrate = \"5mbit\"\nbuffer = \"50p\"\nloss = \"99.999%\"\n\
         [[flows]]\nvoip = \"g711\"\nrtt = \"100ms\"\nports = \"good\"\n\
         [[flows]]\nvoip = \"g711\"\nrtt = \"100ms\"\nports = \"dead\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"30s\"\nwarmup = \"10s\"\n");
    let mos = |i: usize| r.groups[i].datagrams.as_ref().and_then(|d| d.calls).expect("a call");
    close("the other", mos(0).mos, 4.411, 0.0, 0.002);
    assert_eq!((mos(1).mos, mos(1).r), (1.0, 0.0));
}
