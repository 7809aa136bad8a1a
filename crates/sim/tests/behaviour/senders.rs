//! H-TCP, BIC, Scalable, DCTCP and the fixed-rate sender in the loop, against what their authors say of them.

use crate::bed::{close, drops, marks, mean, one, series};

/// A lone flow over tail-drop: its window over time.
fn lone(cca: &str, rate: &str, rtt: &str, buffer: &str) -> Vec<(f64, f64)> {
    let r = one(&format!(
        "[link]\nrate = \"{rate}\"\nbuffer = \"{buffer}\"\n[[flows]]\ncca = \"{cca}\"\nrtt = \"{rtt}\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"60s\"\nwarmup = \"0s\"\nsample = \"10ms\"\n"
    ));
    series(&r, "flow0.cwnd")
}

/// Windows before and after each reduction from `from` seconds on: the peak, and the floor within half a second.
fn reductions(window: &[(f64, f64)], from: f64) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    let mut i = window.iter().position(|p| p.0 >= from).unwrap_or(window.len());
    while i + 50 < window.len() {
        if window[i + 1].1 < window[i].1 {
            let floor = window[i..i + 50].iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
            out.push((window[i].1, floor));
            i += 50;
        }
        i += 1;
    }
    out
}

/// Each control's decrease: 1/8 (Kelly 2003), 0.8 (Xu et al. 2004, as Linux has it), the ratio of the least
/// to the greatest round-trip time (Leith and Shorten 2004; here 1 BDP of buffer: a half, and a little more
/// as Linux remembers 95 % of the greatest, in ticks of 4 ms).
#[test]
fn each_yields_as_much_as_its_paper_says() {
    for (cca, left) in [("scalable", 0.875), ("bic", 0.8), ("htcp", 0.513)] {
        let all = reductions(&lone(cca, "50mbit", "60ms", "1bdp"), 15.0);
        assert!(all.len() >= 3, "{cca}: {} reductions", all.len());
        for (peak, floor) in all {
            close(&format!("{cca}: {peak} to {floor}"), floor / peak, left, 0.04, 0.0);
        }
    }
}

/// Kelly 2003, section 3: the time between losses does not depend on the window, Reno's grows with it.
#[test]
fn scalable_recovers_in_the_same_time_at_any_rate() {
    let between = |cca: &str, rate: &str| {
        let window = lone(cca, rate, "60ms", "1bdp");
        let n = reductions(&window, 20.0).len();
        40.0 / n as f64
    };
    let (slow, fast) = (between("scalable", "50mbit"), between("scalable", "100mbit"));
    close("Scalable, twice the rate", fast, slow, 0.25, 0.0);
    assert!(between("newreno", "50mbit") > 3.0 * slow);
}

/// Alizadeh et al. 2010, section 3.3: with marks from a step at K the queue of DCTCP flows stays near it,
/// and the link stays busy if K is beyond a seventh of the BDP. The step here is CoDel's ce_threshold.
#[test]
fn dctcp_holds_the_queue_at_a_step() {
    for (flows, rtt, step_ms) in [(2, "10ms", 2.0), (4, "20ms", 4.0), (1, "20ms", 5.0)] {
        let r = one(&format!(
            "[link]\nrate = \"100mbit\"\nbuffer = \"2000p\"\n[[flows]]\ncount = {flows}\ncca = \"dctcp\"\nrtt = \"{rtt}\"\n\
             [queue]\ndisciplines = [{{ name = \"codel\", target = \"1s\", interval = \"10s\", ecn = true, ce_threshold = \"{step_ms}ms\" }}]\n\
             [run]\nduration = \"20s\"\nwarmup = \"5s\"\n"
        ));
        let p = &r.ports[0];
        let what = format!("{flows} flows, step at {step_ms} ms");
        println!("{what}: {:.4}, {:?}", p.utilization, p.sojourn_ms);
        assert!(p.utilization > 0.99, "{what}: {}", p.utilization);
        assert!(
            p.sojourn_ms.p50 < 1.2 * step_ms && p.sojourn_ms.p50 > 0.3 * step_ms,
            "{what}: {:?}",
            p.sojourn_ms
        );
        assert!(p.sojourn_ms.p95 < 1.8 * step_ms, "{what}: {:?}", p.sojourn_ms);
        assert!(marks(&r) > 100 && drops(&r) == 0, "{what}");
    }
}

/// RFC 8257 section 3.5: what is lost halves the window, marks or not; without ECN in the queue DCTCP is Reno.
#[test]
fn dctcp_without_marks_is_reno() {
    let run = |cca: &str| {
        one(&format!(
            "[link]\nrate = \"20mbit\"\nbuffer = \"1bdp\"\n[[flows]]\ncount = 2\ncca = \"{cca}\"\nrtt = \"40ms\"\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"60s\"\nwarmup = \"10s\"\n"
        ))
    };
    let (dctcp, reno) = (run("dctcp"), run("newreno"));
    assert_eq!(marks(&dctcp), 0);
    close("utilisation", dctcp.ports[0].utilization, reno.ports[0].utilization, 0.01, 0.0);
    close("sojourn", dctcp.ports[0].sojourn_ms.mean, reno.ports[0].sojourn_ms.mean, 0.1, 0.5);
    close("drops", drops(&dctcp) as f64, drops(&reno) as f64, 0.3, 10.0);
}

/// The set rate arrives while about a tenth of the packets is lost, and no more than it.
#[test]
fn brutal_keeps_its_rate_under_loss() {
    let r = one(
        "[link]\nrate = \"100mbit\"\nbuffer = \"100p\"\n[[flows]]\ncca = \"brutal\"\nrate = \"20mbit\"\nrtt = \"40ms\"\n\
         [[flows]]\npoisson = \"89mbit\"\n[queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"40s\"\nwarmup = \"10s\"\n",
    );
    let lost = r.flows[0].retransmits as f64 / (20e6 * 30.0 / 8.0 / 1448.0);
    println!("{:.3} Mbit/s, {lost:.3} resent", r.groups[0].goodput_bps / 1e6);
    assert!((0.06..0.2).contains(&lost), "{lost}");
    close("goodput", r.groups[0].goodput_bps, 20e6, 0.03, 0.0);

    // Alone on a link with room it is a constant rate without a queue.
    let r = one(
        "[link]\nrate = \"50mbit\"\nbuffer = \"1bdp\"\n[[flows]]\ncca = \"brutal\"\nrate = \"20mbit\"\nrtt = \"40ms\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\n",
    );
    close("goodput alone", r.groups[0].goodput_bps, 20e6, 0.02, 0.0);
    assert_eq!(drops(&r), 0);
    // And it takes its rate from CUBIC, which yields.
    let r = one(
        "[link]\nrate = \"50mbit\"\nbuffer = \"1bdp\"\n[[flows]]\ncca = \"brutal\"\nrate = \"40mbit\"\nrtt = \"40ms\"\n\
         [[flows]]\ncca = \"cubic\"\ncount = 4\nrtt = \"40ms\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"40s\"\nwarmup = \"10s\"\n",
    );
    close("goodput beside CUBIC", r.groups[0].goodput_bps, 40e6, 0.06, 0.0);
    let window = series(&r, "flow0.cwnd");
    assert!(mean(&window, 10.0, 40.0) > 1.5 * 40e6 * 0.04 / 8.0 / 1448.0);
}
