//! One flow's cycle in closed form.

use crate::bed::{close, one};
use crate::drawn;
use queuewright_results::Run;

fn alone(cca: &str, bdp: u32, buffer: u32, rtt_us: u32, seconds: u32, warmup: u32) -> Run {
    let bps = (f64::from(bdp) * 1514.0 * 8e6 / f64::from(rtt_us)).round();
    one(&format!(
        "[link]\nrate = \"{bps}bit\"\nbuffer = \"{buffer}p\"\n[[flows]]\ncca = \"{cca}\"\nrtt = \"{rtt_us}us\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"{seconds}s\"\nwarmup = \"{warmup}s\"\nstack = \"ns3\"\nsample = \"1s\"\n"
    ))
}

/// Reno's sawtooth, as `behaviour/theory.rs` derives it: with u = 1 + b, b the buffer in products, use is
/// min(1, 3 u^2 / (4 (u^2 - u + 1))). The window grows by a packet a round trip and is halved from one packet above u: two packets
/// of P, over which use changes by less than its share of them; recovery takes a round trip of the P u / 2 of a
/// cycle. The run has twenty cycles and a part of one, whose lack is at most a cycle's.
#[test]
fn reno_draws_its_sawtooth() {
    drawn(6, (80u32..300, 0.1..1.2f64, 5000u32..40_000), |(bdp, b, rtt_us)| {
        let buffer = (f64::from(bdp) * b).round() as u32;
        let u = 1.0 + f64::from(buffer) / f64::from(bdp);
        // Some twenty cycles of P u / 2 round trips of u / 1 at most.
        let cycle_s = f64::from(bdp) * u / 2.0 * u * f64::from(rtt_us) / 1e6;
        let seconds = (22.0 * cycle_s).ceil() as u32 + 5;
        let r = alone("newreno", bdp, buffer, rtt_us, seconds, (2.0 * cycle_s).ceil() as u32 + 5);
        let want = (3.0 * u * u / (4.0 * (u * u - u + 1.0))).min(1.0);
        let slack = 2.0 / f64::from(bdp) + 2.0 / (f64::from(bdp) * u) + (1.0 - want) / 20.0;
        close(&format!("{bdp} packets, {b:.2} of them to wait"), r.ports[0].utilization, want, 0.0, slack);
    });
}

/// CUBIC alone (RFC 9438): from a loss at W the window is W - C (K - t)^3 with C = 0.4 and K = cbrt(0.3 W / 0.4) s, back at W after
/// K. While it is below the product P the link is used for w / P. As W = P + B, use over a cycle is
/// 1 - (1 / K) integral of (1 - w / P) while w < P: with x = K - t, and w < P for x > X = cbrt(B / 0.4),
/// 1 - (1 / (K P)) (0.1 (K^4 - X^4) - B (K - X)). The loss is noticed a round trip after W is reached, and made good in another: two
/// round trips of K, by which the loss is off too, as the window goes on above W by less than a packet a round trip. The run has twelve cycles and a part of one, whose lack is at
/// most a cycle's. Products are so large that the Reno-friendly window stays below.
#[test]
fn cubic_draws_its_curve() {
    drawn(4, (400u32..900, 0.02..0.6f64, 60_000u32..100_000), |(bdp, b, rtt_us)| {
        let buffer = (f64::from(bdp) * b).round().max(2.0);
        let (p, w) = (f64::from(bdp), f64::from(bdp) + buffer);
        let k = (0.3 * w / 0.4).cbrt();
        let x = (buffer / 0.4).cbrt().min(k);
        let want = 1.0 - (0.1 * (k.powi(4) - x.powi(4)) - buffer * (k - x)) / (k * p);
        let warmup = (6.0 * k).ceil() as u32;
        let r = alone("cubic", bdp, buffer as u32, rtt_us, warmup + (12.0 * k).ceil() as u32, warmup);
        let slack = 2.0 * f64::from(rtt_us) / 1e6 / k + (1.0 - want) / 12.0;
        close(&format!("{bdp} packets, {b:.2} of them to wait"), r.ports[0].utilization, want, 0.0, slack);
    });
}
