//! Santa (NSDI 2026) with whole congestion controls, against what its paper says of it.

use crate::bed::{close, one, runs};
use queuewright_results::Run;

/// Section 6.1: three CUBIC, three BBR and three Vegas flows, 450 Mbit/s, 20 ms, ten BDP of buffer.
fn figure_11(disciplines: &str, seeds: u32) -> Vec<Run> {
    let flows: String = ["cubic", "bbr", "vegas"]
        .map(|cca| format!("[[flows]]\ncca = \"{cca}\"\ncount = 3\nrtt = \"20ms\"\n"))
        .concat();
    runs(&format!(
        "[link]\nrate = \"450mbit\"\ndelay = \"1ms\"\nbuffer = \"10bdp\"\n{flows}\
         [queue]\ndisciplines = [{disciplines}]\n\
         [run]\nduration = \"60s\"\nwarmup = \"30s\"\nseeds = \"1..{seeds}\"\n"
    ))
}

/// Mean goodput (Mbit/s) and mean smoothed RTT (ms) of a congestion control's flows.
fn mean_of(runs: &[Run], cca: &str) -> (f64, f64) {
    let flows: Vec<_> = runs.iter().flat_map(|r| &r.flows).filter(|f| f.cca == cca).collect();
    let mean = |v: Vec<f64>| v.iter().sum::<f64>() / v.len() as f64;
    (
        mean(flows.iter().map(|f| f.goodput_bps / 1e6).collect()),
        mean(flows.iter().map(|f| f.srtt_ms.expect("it was measured")).collect()),
    )
}

/// Tail drop starves Vegas at the delay that CUBIC makes. After three rounds of Santa it has its delay
/// back, by the paper's rule and by the artifact's, and a good part of its rate; with a queue for each
/// flow it has both, as under fair queueing. A good part: a quarter of its ninth of the link and more on average, where tail drop leaves
/// it a thirtieth. Runs differ much (of 24 seeds 3 to 42 Mbit/s, a mean of 20 and a standard deviation of 10, by either rule), so many
/// are asked.
#[test]
fn flows_come_among_their_like_within_three_rounds() {
    let mut all = figure_11("\"droptail\", { name = \"santa\", label = \"nine\", queues = 9 }", 4);
    all.extend(figure_11("\"santa\", { name = \"santa\", label = \"artifact\", rule = \"artifact\" }", 16));
    let by = |name: &str| -> Vec<Run> { all.iter().filter(|r| r.discipline == name).cloned().collect() };
    let (rate, rtt) = mean_of(&by("droptail"), "vegas");
    assert!(rate < 2.0 && rtt > 150.0, "droptail: {rate} Mbit/s, {rtt} ms");
    for label in ["santa", "artifact"] {
        let santa = by(label);
        let (rate, rtt) = mean_of(&santa, "vegas");
        assert!(rate > 12.5 && rtt < 35.0, "{label}: {rate} Mbit/s, {rtt} ms");
        let (_, cubic) = mean_of(&santa, "cubic");
        assert!(cubic > 2.0 * rtt, "{label}: CUBIC's RTT is {cubic} ms, Vegas' {rtt} ms");
        assert!(santa.iter().all(|r| r.ports[0].utilization > 0.99));
    }
    let nine = by("nine");
    for cca in ["cubic", "bbr", "vegas"] {
        // A ninth of the link, of whose packets 1448 of 1514 bytes are TCP's.
        close(cca, mean_of(&nine, cca).0, 50.0 * 1448.0 / 1514.0, 0.03, 0.0);
    }
    assert!(mean_of(&nine, "vegas").1 < 24.0 && mean_of(&nine, "cubic").1 > 150.0);
}

/// With one queue and no mice it is what it has inside (Santa-1 of Figure 13 is FIFO).
#[test]
fn santa_of_one_queue_is_its_inner_discipline() {
    for inner in ["droptail", "titrate", "codel"] {
        let run = |discipline: &str| {
            one(&format!(
                "[link]\nrate = \"20mbit\"\nbuffer = \"2bdp\"\n\
                 [[flows]]\ncca = \"cubic\"\ncount = 3\nrtt = \"40ms\"\n[[flows]]\ncca = \"bbr\"\nrtt = \"20ms\"\n\
                 [queue]\ndisciplines = [{discipline}]\n[run]\nduration = \"15s\"\nwarmup = \"0s\"\n"
            ))
        };
        let one = format!("{{ name = \"santa\", queues = 1, mice_packets = 0, inner = \"{inner}\" }}");
        let (a, b) = (run(&one), run(&format!("\"{inner}\"")));
        assert_eq!(a.ports[0].sojourn_ms.mean, b.ports[0].sojourn_ms.mean, "{inner}");
        assert_eq!(a.ports[0].drops, b.ports[0].drops, "{inner}");
    }
}

/// Section 8: a sender at a fixed rate is in the hell queue after three rounds and has one flow's share
/// there; CUBIC and BBR, which lose packets too, are not. Without it, and with one queue, it takes what it sends. It sends as much as the
/// link does, so that it loses a fifth and more whatever the draws (forty of forty seeds; at 40 Mbit/s nine).
#[test]
fn hell_holds_the_fixed_rate_sender_and_nobody_else() {
    let run = |hell: bool| {
        runs(&format!(
            "[link]\nrate = \"50mbit\"\nbuffer = \"1bdp\"\n\
             [[flows]]\ncca = \"cubic\"\ncount = 2\nrtt = \"20ms\"\n[[flows]]\ncca = \"bbr\"\nrtt = \"20ms\"\n\
             [[flows]]\ncca = \"brutal\"\nrate = \"50mbit\"\nrtt = \"20ms\"\n\
             [queue]\ndisciplines = [{{ name = \"santa\", queues = 1, round = \"2s\", hell = {hell} }}]\n\
             [run]\nduration = \"30s\"\nwarmup = \"10s\"\nseeds = \"1..5\"\n"
        ))
    };
    let share = 50e6 / 4.0;
    for without in run(false) {
        assert!(without.flows[3].goodput_bps > 30e6, "{}", without.flows[3].goodput_bps);
    }
    for with in run(true) {
        close("in hell", with.flows[3].goodput_bps, share * 1448.0 / 1514.0, 0.15, 0.0);
        let hell = with.ports[0].queues.last().expect("there is a hell queue");
        assert_eq!(hell.name, "hell");
        close("hell's rate", hell.rate_bps, share, 0.15, 0.0);
    }
}
