//! Today's senders (`cca/*.h`) over the simulator's TCP: what their sources promise, beside a sender that does not.

use crate::bed::runs;
use queuewright_results::Run;

fn over(link: &str, flows: &[&str], discipline: &str) -> Vec<Run> {
    lasting(40, 10, link, flows, discipline)
}

fn lasting(seconds: u32, warmup: u32, link: &str, flows: &[&str], discipline: &str) -> Vec<Run> {
    let flows: String = flows.iter().map(|flow| format!("[[flows]]\n{flow}\n")).collect();
    runs(&format!(
        "[link]\n{link}\n{flows}[queue]\ndisciplines = [{discipline}]\n\
         [run]\nduration = \"{seconds}s\"\nwarmup = \"{warmup}s\"\nseeds = \"1..3\"\n"
    ))
}

/// What a flow gets, Mbit/s: the mean over the seeds.
fn mbps(runs: &[Run], flow: usize) -> f64 {
    runs.iter().map(|r| r.flows[flow].goodput_bps).sum::<f64>() / runs.len() as f64 / 1e6
}

fn wait_ms(runs: &[Run]) -> f64 {
    runs.iter().map(|r| r.ports[0].sojourn_ms.mean).sum::<f64>() / runs.len() as f64
}

/// It keeps no standing queue in a deep buffer, where CUBIC fills it; and 1 % of random loss, below the 2 % that it bears (draft, "Core
/// Algorithm Design Parameters"), leaves it most of a link of which a Reno-like sender has 1.22 / sqrt(0.01) packets a round trip (Mathis et
/// al. 1997), 7 %.
#[test]
fn bbr3_keeps_the_queue_short_and_bears_random_loss() {
    let link = "rate = \"50mbit\"\nbuffer = \"4bdp\"";
    let [bbr3, cubic] = ["bbr3", "cubic"]
        .map(|cca| over(link, &[&format!("cca = \"{cca}\"\nrtt = \"40ms\"")], "\"droptail\""));
    assert!(mbps(&bbr3, 0) > 0.9 * 50.0, "{}", mbps(&bbr3, 0));
    // A quarter of the round trip at most: 1.25 times its rate for the length of a probe.
    assert!(wait_ms(&bbr3) < 10.0 && wait_ms(&cubic) > 80.0, "{} and {}", wait_ms(&bbr3), wait_ms(&cubic));
    let lossy = "rate = \"50mbit\"\nbuffer = \"4bdp\"\nloss = \"1%\"";
    let [bbr3, cubic] = ["bbr3", "cubic"]
        .map(|cca| over(lossy, &[&format!("cca = \"{cca}\"\nrtt = \"40ms\"")], "\"droptail\""));
    assert!(
        mbps(&bbr3, 0) > 0.6 * 50.0 && mbps(&cubic, 0) < 0.15 * 50.0,
        "{} {}",
        mbps(&bbr3, 0),
        mbps(&cubic, 0)
    );
}

/// Through DualPI2 its packets wait well below a millisecond beside a CUBIC that waits 15 ms, and neither starves (RFC 9332 section 1). On a
/// real network Prague had 1.7 to 2.7 times what CUBIC had, at equal round-trip times from 10 to 80 ms (heistp/l4s-tests, finding 3).
#[test]
fn prague_and_cubic_share_a_dual_queue() {
    for rtt_ms in [10, 20, 80] {
        let flows = [
            &*format!("cca = \"prague\"\nrtt = \"{rtt_ms}ms\""),
            &format!("cca = \"cubic\"\necn = true\nrtt = \"{rtt_ms}ms\""),
        ];
        // As long as there: the last minute of 178 s.
        let all = lasting(178, 118, "rate = \"50mbit\"\nbuffer = \"1000p\"", &flows, "\"dualpi2\"");
        for run in &all {
            let [classic, l4s] = &run.ports[0].queues[..] else { panic!("two queues") };
            assert!(l4s.sojourn_ms.mean < 1.0 && l4s.sojourn_ms.p99 < 3.0, "{:?}", l4s.sojourn_ms);
            assert!(classic.sojourn_ms.mean > 5.0, "{:?}", classic.sojourn_ms);
            assert!(l4s.packets > 60_000 && run.ports[0].utilization > 0.97, "{}", run.ports[0].utilization);
        }
        let ratio = mbps(&all, 0) / mbps(&all, 1);
        println!("{rtt_ms} ms: {ratio:.2}");
        assert!((0.8 * 1.7..2.7 / 0.8).contains(&ratio), "{rtt_ms} ms: {ratio}");
    }
}

/// Round trips below 25 ms get rates as if they were 25 ms long ("reduced RTT-dependence"), which DCTCP's do not.
#[test]
fn prague_gives_short_paths_no_more() {
    let ratio = |cca: &str| {
        let flows = [5, 25].map(|ms| format!("cca = \"{cca}\"\necn = \"l4s\"\nrtt = \"{ms}ms\""));
        let step = "{ name = \"codel\", ecn = true, target = \"100ms\", ce_threshold = \"1ms\" }";
        let all = over("rate = \"50mbit\"\nbuffer = \"1000p\"", &flows.each_ref().map(String::as_str), step);
        mbps(&all, 0) / mbps(&all, 1)
    };
    let [prague, dctcp] = ["prague", "dctcp"].map(ratio);
    assert!((0.6..1.67).contains(&prague), "{prague}");
    assert!(dctcp > 1.5 * prague, "{dctcp} and {prague}");
}

/// A loss takes it to what the path delivered, not to half: more than Reno's where losses are random.
#[test]
fn westwood_bears_random_loss_better_than_reno() {
    let link = "rate = \"20mbit\"\nbuffer = \"1bdp\"\nloss = \"0.2%\"";
    let [westwood, reno] = ["westwood", "newreno"]
        .map(|cca| mbps(&over(link, &[&format!("cca = \"{cca}\"\nrtt = \"80ms\"")], "\"droptail\""), 0));
    assert!(westwood > 1.3 * reno, "{westwood} and {reno}");
}

/// It uses what is idle and gives way to others: less than a tenth beside CUBIC in a deep buffer, as its target is 60 ms of queue (draft, section 4).
#[test]
fn ledbat_pp_yields() {
    let link = "rate = \"20mbit\"\nbuffer = \"4bdp\"";
    let mine = "cca = \"ledbat-pp\"\nrtt = \"40ms\"";
    let alone = over(link, &[mine], "\"droptail\"");
    assert!(
        mbps(&alone, 0) > 0.8 * 20.0 && wait_ms(&alone) < 60.0,
        "{} {}",
        mbps(&alone, 0),
        wait_ms(&alone)
    );
    let beside = over(link, &[mine, "cca = \"cubic\"\nrtt = \"40ms\""], "\"droptail\"");
    assert!(mbps(&beside, 0) < 0.1 * 20.0, "{}", mbps(&beside, 0));
}

/// A few packets of each flow wait (1 / delta, 2 by default), whatever the buffer, and equal flows get equal shares (section 3).
#[test]
fn copa_keeps_a_few_packets_waiting() {
    let flow = "cca = \"copa\"\nrtt = \"40ms\"";
    for n in [1, 2, 4] {
        let all = over("rate = \"50mbit\"\nbuffer = \"4bdp\"", &vec![flow; n], "\"droptail\"");
        let packets = wait_ms(&all) * 50e6 / 8.0 / 1514.0 / 1e3;
        let each: Vec<f64> = (0..n).map(|i| mbps(&all, i)).collect();
        println!("{n} flows: {packets:.1} packets wait, {each:.1?} Mbit/s");
        assert!(each.iter().sum::<f64>() > 0.9 * 50.0, "{each:?}");
        // Linux sends two packets at once: as many again in the sawtooth.
        assert!(packets < 4.0 * 2.0 * n as f64, "{n} flows: {packets} packets");
        let [least, most] = [f64::min, f64::max].map(|of| each.iter().copied().reduce(of).expect("one"));
        assert!(most < 2.0 * least, "{each:?}");
    }
}
