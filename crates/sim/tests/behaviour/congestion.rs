//! The congestion controls in the loop, against the phases their authors describe.

use crate::bed::{close, every_cca, mean, one, series};

/// RFC 9438 section 4.2: after a loss the window follows W(t) = C (t - K)^3 + W_max, where
/// C = 0.4 and K = cbrt((W_max - cwnd) / C) for the window cwnd it fell to; Linux's beta is
/// 717/1024. Growth is steered to W one RTT ahead.
///
/// The first loss sets W_max to the window at the loss. The second comes at a smaller
/// window: fast convergence (section 4.7) then sets W_max below it, to (1 + beta) / 2 of it.
/// So the second curve shows all its parts before a loss: concave, plateau, convex.
#[test]
fn cubic_follows_its_curve_after_a_loss() {
    let r = one("[link]\nrate = \"100mbit\"\nbuffer = \"400p\"\n\
         [[flows]]\ncca = \"cubic\"\nrtt = \"60ms\"\n[queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"18s\"\nwarmup = \"0s\"\n");
    let cwnd = series(&r, "flow0.cwnd");
    let beta = 717.0 / 1024.0;
    // (peak, when it had fallen) of each loss.
    let mut losses: Vec<(f64, f64)> = Vec::new();
    for i in 1..cwnd.len() {
        if cwnd[i].1 < cwnd[i - 1].1 - 1.0 && losses.last().is_none_or(|l| cwnd[i].0 > l.1 + 1.0) {
            let peak = cwnd[i - 1].1;
            let soon = cwnd[i..].iter().take_while(|p| p.0 < cwnd[i].0 + 0.5);
            let fallen =
                soon.filter(|p| p.1 <= 1.01 * beta * peak).last().expect("the window falls to beta").0;
            losses.push((peak, fallen));
        }
    }
    println!("losses {losses:?}");
    assert!(losses.len() == 2 && losses[1].0 < losses[0].0, "{losses:?}");
    let curves =
        [(losses[0], losses[0].0, losses[1].1 - 0.5), (losses[1], losses[1].0 * (1.0 + beta) / 2.0, 18.0)];
    for ((peak, epoch), w_max, until) in curves {
        let k = ((w_max - beta * peak) / 0.4).cbrt();
        let curve = |t: f64| 0.4 * (t - k).powi(3) + w_max;
        println!("W_max {w_max:.0}, K {k:.2} s, from {epoch:.2} s to {until:.2} s");
        for &(t, w) in cwnd.iter().filter(|p| p.0 > epoch + 0.2 && p.0 < until) {
            let t = t - epoch;
            // An RTT is 60 to 110 ms: the window is steered one ahead, and gets there one later.
            let (low, high) = (curve(t - 0.1) - 4.0, curve(t + 0.1) + 4.0);
            assert!((low..=high).contains(&w), "{t:.2} s after the loss: cwnd {w}, curve {:.1}", curve(t));
        }
    }
    // The second curve lasts long enough for its plateau and its convex part.
    let ((peak, epoch), w_max, until) = curves[1];
    let k = ((w_max - beta * peak) / 0.4).cbrt();
    assert!(until - epoch > 1.5 * k, "K = {k}");
    let around = |t: f64| mean(&cwnd, epoch + t - 0.1, epoch + t + 0.1);
    close("plateau", around(k), w_max, 0.01, 0.0);
    assert!(around(k + 1.0) - around(k - 1.0) < 0.01 * w_max);
    assert!(around(1.5 * k) > w_max + 10.0);
}

/// In small windows CUBIC grows as Reno would (section 4.3), so that two share fairly.
#[test]
fn cubic_is_reno_friendly_on_short_paths() {
    let r = one("[link]\nrate = \"10mbit\"\nbuffer = \"10p\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"10ms\"\n\
         [[flows]]\ncca = \"newreno\"\nrtt = \"10ms\"\n[queue]\ndisciplines = [\"codel\"]\n\
         [run]\nduration = \"60s\"\nwarmup = \"5s\"\n");
    let share = r.groups[0].goodput_bps / (r.groups[0].goodput_bps + r.groups[1].goodput_bps);
    close("share of CUBIC", share, 0.5, 0.0, 0.08);
}

/// HyStart leaves slow start before the buffer overflows; NewReno, without it, overshoots.
#[test]
fn hystart_spares_the_buffer() {
    let r = |cca: &str| {
        let r = one(&format!(
            "[link]\nrate = \"50mbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncca = \"{cca}\"\nrtt = \"40ms\"\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"1s\"\nwarmup = \"0s\"\n"
        ));
        crate::bed::drops(&r)
    };
    let (cubic, newreno) = (r("cubic"), r("newreno"));
    // NewReno doubles to three BDP (501 packets), and that window overshoots by about as much.
    assert!(cubic == 0 && (250..700).contains(&newreno), "cubic {cubic}, newreno {newreno}");
}

/// BBRv1: startup (gain 2/ln 2) doubles every round, drain empties the queue,
/// then the rate is probed and every 10 s the window falls to 4 for 200 ms.
#[test]
fn bbr_goes_through_its_phases() {
    let r = one("[link]\nrate = \"50mbit\"\nbuffer = \"4bdp\"\n[[flows]]\ncca = \"bbr\"\nrtt = \"40ms\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"45s\"\nwarmup = \"5s\"\nsample = \"5ms\"\n");
    let cwnd = series(&r, "flow0.cwnd");
    let goodput = series(&r, "flow0.goodput_bps");
    let queue = series(&r, "bottleneck.backlog_bytes");
    let link = 50e6 * 1448.0 / 1514.0;
    let bdp = 50e6 * 0.040 / 8.0 / 1514.0;

    // Startup: the first round delivers 10 segments; each of the next ones about twice as many.
    let round = |n: f64| mean(&goodput, 0.062 + 0.040 * n, 0.062 + 0.040 * (n + 1.0));
    for n in 0..3 {
        let growth = round(f64::from(n) + 1.0) / round(f64::from(n));
        assert!((1.6..=2.5).contains(&growth), "round {n}: x {growth:.2}");
    }
    // It ends with the pipe full three rounds over (queue above a BDP), then drains.
    let peak = queue.iter().filter(|p| p.0 < 1.0).map(|p| p.1).fold(0.0, f64::max);
    assert!(peak > bdp * 1514.0, "startup fills the queue: {peak}");
    let drained =
        queue.iter().find(|p| p.0 > 0.5 && p.1 < 0.1 * bdp * 1514.0).expect("drain empties the queue").0;
    assert!(drained < 1.2, "drained at {drained} s");
    close("rate in probe_bw", mean(&goodput, 1.5, 9.5), link, 0.02, 0.0);
    // cwnd of 2 BDP, with what BBR adds for delayed and aggregated ACKs.
    let cruise = mean(&cwnd, 2.0, 9.0);
    assert!((2.0 * bdp..2.0 * bdp + 30.0).contains(&cruise), "{cruise} of {bdp}");

    // probe_rtt: cwnd 4.
    let mut probes: Vec<(f64, f64)> = Vec::new();
    for &(t, w) in &cwnd {
        if t > 1.0 && w <= 4.0 {
            match probes.last_mut() {
                Some(p) if t - p.1 < 0.02 => p.1 = t,
                _ => probes.push((t, t)),
            }
        }
    }
    println!("probe_rtt {probes:?}");
    assert_eq!(probes.len(), 4, "{probes:?}");
    for p in &probes {
        // 200 ms from when 4 are in flight (a round after the cut), to the end of a round.
        assert!((0.19..=0.36).contains(&(p.1 - p.0)), "{p:?}");
    }
    // 10 s after the last time that the smallest RTT was seen, which is in the probe or in the first of the cycles after it,
    // eight round trips each: they leave an empty queue, too. A later one of them may by chance see the very same microsecond, and put
    // the probe off; not twice in three times.
    let mut apart: Vec<f64> = probes.windows(2).map(|w| w[1].0 - w[0].0).collect();
    apart.sort_by(f64::total_cmp);
    assert!(apart[0] >= 9.9 && apart[1] <= 10.7 + 3.0 * 8.0 * 0.04 && apart[2] <= 15.0, "{probes:?}");
    let p = &r.ports[0];
    assert!(p.utilization > 0.95, "{}", p.utilization);
    assert!(p.sojourn_ms.mean < 8.0, "{}", p.sojourn_ms.mean);
}

/// probe_bw: a cycle of eight phases of one minimum RTT each, at 5/4, 3/4 and six times 1 of the rate:
/// the queue of a lone flow shows it, with a period of eight RTTs.
#[test]
fn bbr_probes_for_bandwidth_every_eight_rounds() {
    let r = one("[link]\nrate = \"50mbit\"\nbuffer = \"4bdp\"\n[[flows]]\ncca = \"bbr\"\nrtt = \"40ms\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"9s\"\nwarmup = \"0s\"\nsample = \"5ms\"\n");
    let queue = series(&r, "bottleneck.backlog_bytes");
    // A quarter more than the link for an RTT leaves a quarter of a BDP.
    let left = 0.25 * 50e6 * 0.040 / 8.0;
    // (when it begins, how long the queue gets)
    let mut probes: Vec<(f64, f64)> = Vec::new();
    let mut high = true;
    for &(t, q) in queue.iter().filter(|p| p.0 >= 2.0) {
        if !high && q > 0.6 * left {
            probes.push((t, q));
        }
        high = q > if high { 0.4 * left } else { 0.6 * left };
        if let (true, Some(probe)) = (high, probes.last_mut()) {
            probe.1 = probe.1.max(q);
        }
    }
    let peak = probes.iter().map(|p| p.1).sum::<f64>() / probes.len() as f64;
    // Or a little more: the phase lasts until that much is in flight, 46 to 50 ms on Linux.
    assert!((0.9..=1.5).contains(&(peak / left)), "a probe leaves {peak} bytes, not {left}");
    let period = (probes[probes.len() - 1].0 - probes[0].0) / (probes.len() - 1) as f64;
    println!("{} probes, one every {period:.3} s, {peak:.0} bytes", probes.len());
    // Phases last a minimum RTT or a little more, until the next ACK sees it.
    assert!((0.31..=0.36).contains(&period), "{period}: {probes:?}");
}

/// A sender keeps only a few milliseconds of data below TCP (TSQ): behind a slow access link
/// of its own, its round trip does not swell.
#[test]
fn a_slow_access_link_holds_no_long_queue() {
    for cca in every_cca() {
        let r = one(&format!(
            "[link]\nrate = \"100mbit\"\n[[flows]]\ncca = \"{cca}\"\nrtt = \"40ms\"\naccess = \"10mbit\"\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"10s\"\nwarmup = \"2s\"\n"
        ));
        let f = &r.flows[0];
        println!("{cca}: {:.2} Mbit/s, {:.1} ms", f.goodput_bps / 1e6, f.srtt_ms.unwrap_or(f64::NAN));
        close(cca, f.goodput_bps, 10e6 * 1448.0 / 1514.0, 0.05, 0.0);
        assert!(f.srtt_ms.is_some_and(|ms| (40.0..60.0).contains(&ms)), "{f:?}");
    }
}
