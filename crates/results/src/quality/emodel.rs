//! How a telephone call is heard: the E-model (ITU-T G.107), with its default parameters but for delay and loss.

// The same bits on every machine, which the standard library does not promise.
use libm::{exp, exp10, log2, log10, pow};

/// A codec as loss impairs it (ITU-T G.113 Appendix I).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Codec {
    /// Equipment impairment without loss, Ie, points of R.
    pub ie: f64,
    /// Robustness against loss, Bpl, per cent.
    pub bpl: f64,
    /// What the coder looks ahead before it can code a packet, ms.
    pub lookahead_ms: f64,
}

/// G.711 without concealment of losses.
pub const G711: Codec = Codec { ie: 0.0, bpl: 4.3, lookahead_ms: 0.0 };
/// G.711 with packet loss concealment (its Appendix I).
pub const G711_PLC: Codec = Codec { ie: 0.0, bpl: 25.1, lookahead_ms: 0.0 };
/// G.729A with voice activity detection, the one G.729 of which G.113 has both figures.
pub const G729: Codec = Codec { ie: 11.0, bpl: 19.0, lookahead_ms: 5.0 };

/// Does the talker hear an echo of themselves?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// None: cancelled, as in every soft phone and gateway. Of the delay impairment Idd alone is left.
    Cancelled,
    /// As the default parameters have it (TELR 65 dB, WEPL 110 dB): Idte and Idle as well.
    Default,
}

// Default parameters, G.107 table 2.
/// Send and receive loudness ratings, dB, and what an end hears of both.
const SLR: f64 = 8.0;
const RLR: f64 = 2.0;
const OLR: f64 = SLR + RLR;
/// Sidetone masking rating; the D-factor of both ends, dB.
const STMR: f64 = 15.0;
const D: f64 = 3.0;
/// Talker echo loudness rating; weighted echo path loss, dB.
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;
/// Quantisation units.
const QDU: f64 = 1.0;
/// Noise: of the circuit and its floor, dBm0p; of the rooms, dB(A).
const NC: f64 = -70.0;
const NFOR: f64 = -64.0;
const P_ROOM: f64 = 35.0;

/// Transmission rating R, 0 to 93.4 at most with these parameters; below 0 where nothing is understood.
///
/// `delay_ms`: from mouth to ear, one way. `loss`: share of packets lost, 0 to 1. `burst_r`: mean length of a run of losses over
/// that of random loss, 1: random ([`super::loss::burst_r`]). G.107 section 7.1, without advantage factor.
pub fn r(delay_ms: f64, codec: Codec, loss: f64, burst_r: f64, echo: Echo) -> f64 {
    let echo = match echo {
        Echo::Cancelled => 0.0,
        Echo::Default => talker_echo(delay_ms) + listener_echo(delay_ms),
    };
    basic() - simultaneous(delay_ms) - echo - absolute_delay(delay_ms) - effective(codec, loss, burst_r)
}

/// Mean opinion score of a transmission rating, 1 (bad) to 4.5. G.107 Annex B.
pub fn mos(r: f64) -> f64 {
    match r {
        _ if r.is_nan() => f64::NAN,
        _ if r <= 0.0 => 1.0,
        _ if r >= 100.0 => 4.5,
        // The polynomial dips below 1 for R of 0 to 6.5.
        _ => (1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)).max(1.0),
    }
}

/// Ie,eff: what codec and loss take, points of R. G.107 section 7.5, of `loss` as a share.
///
/// `burst_r` below 1 (losses more even than random ones) counts as 1, as G.107 gives it no meaning there.
pub fn effective(codec: Codec, loss: f64, burst_r: f64) -> f64 {
    let (ppl, burst_r) = (loss * 100.0, burst_r.max(1.0));
    codec.ie + (95.0 - codec.ie) * ppl / (ppl / burst_r + codec.bpl)
}

/// The n-norm of 1 and x, of which the formulas make smooth corners.
fn norm(x: f64, n: f64) -> f64 {
    pow(1.0 + pow(x, n), 1.0 / n)
}

/// No: all noise at the 0 dBr point, dBm0p. Section 7.2.
fn noise() -> f64 {
    let sent = P_ROOM - SLR - D - 100.0 + 0.004 * (P_ROOM - OLR - D - 14.0).powi(2);
    let sidetone = STMR + D;
    let room = P_ROOM + 10.0 * log10(1.0 + exp10((10.0 - sidetone) / 10.0));
    let received = RLR - 121.0 + room + 0.008 * (room - 35.0).powi(2);
    let powers = [NC, sent, received, NFOR + RLR].map(|n| exp10(n / 10.0));
    10.0 * log10(powers.iter().sum::<f64>())
}

/// Ro: signal to noise. Section 7.2.
fn basic() -> f64 {
    15.0 - 1.5 * (SLR + noise())
}

/// Is: what comes with the voice: loudness, sidetone, quantisation. Section 7.3.
fn simultaneous(delay_ms: f64) -> f64 {
    let x = OLR + 0.2 * (64.0 + noise() - RLR);
    let loud = 20.0 * (norm(x / 8.0, 8.0) - x / 8.0);
    let s = -10.0 * log10(exp10(-STMR / 10.0) + exp(-delay_ms / 4.0) * exp10(-TELR / 10.0));
    // Even powers only where the base can be negative.
    let sidetone = 12.0 * norm(((s - 13.0) / 6.0).abs(), 8.0)
        - 28.0 * norm((s + 1.0) / 19.4, 35.0)
        - 13.0 * norm((s - 3.0) / 33.0, 13.0)
        + 29.0;
    let q = 37.0 - 15.0 * log10(QDU);
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let z = 46.0 / 30.0 - g / 40.0;
    let y = (basic() - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
    let quantised = 15.0 * log10(1.0 + exp10(y) + exp10(z));
    loud + sidetone + quantised
}

/// Idte: talker echo. Section 7.4.
fn talker_echo(t: f64) -> f64 {
    if t < 1.0 {
        return 0.0;
    }
    let terv = TELR - 40.0 * log10((1.0 + t / 10.0) / (1.0 + t / 150.0)) + 6.0 * exp(-0.3 * t * t);
    let re = 80.0 + 2.5 * (terv - 14.0);
    let half = (-1.5 * (noise() - RLR) - re) / 2.0;
    (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - exp(-t))
}

/// Idle: listener echo, with a round trip of twice the delay. Section 7.4.
fn listener_echo(delay_ms: f64) -> f64 {
    let rle = 10.5 * (WEPL + 7.0) * pow(2.0 * delay_ms + 1.0, -0.25);
    let half = (basic() - rle) / 2.0;
    half + (half * half + 169.0).sqrt()
}

/// Idd: a delay that is felt without any echo. Section 7.4.
fn absolute_delay(delay_ms: f64) -> f64 {
    if delay_ms <= 100.0 {
        return 0.0;
    }
    let x = log2(delay_ms / 100.0);
    25.0 * (norm(x, 6.0) - 3.0 * norm(x / 3.0, 6.0) + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cole and Rosenbluth's linear form, published with the same defaults; good to about 300 ms.
    fn simplified(d: f64) -> f64 {
        93.2 - 0.024 * d - 0.11 * (d - 177.3).max(0.0)
    }

    fn near(got: f64, want: f64, digits: i32) {
        assert!((got - want).abs() <= 0.5001 * 10f64.powi(-digits), "{got} is not {want}");
    }

    /// G.107 section 7.7: with every parameter at its default R is 93.2.
    #[test]
    fn defaults_give_the_published_rating() {
        near(r(0.0, G711, 0.0, 1.0, Echo::Default), 93.2, 1);
    }

    #[test]
    fn rating_and_score_over_delay() {
        // (ms, with echo, without, simplified): R and MOS.
        let table = [
            (0.0, (93.21, 4.409), (93.36, 4.412), (93.20, 4.409)),
            (50.0, (91.76, 4.380), (93.36, 4.412), (92.00, 4.385)),
            (100.0, (90.66, 4.355), (93.36, 4.412), (90.80, 4.358)),
            (150.0, (89.54, 4.328), (93.19, 4.409), (89.60, 4.329)),
            (200.0, (85.80, 4.223), (90.31, 4.347), (85.90, 4.226)),
            (250.0, (79.18, 3.993), (84.44, 4.180), (79.20, 3.994)),
            (300.0, (72.67, 3.719), (78.59, 3.970), (72.50, 3.712)),
            (400.0, (62.25, 3.216), (69.29, 3.563), (59.10, 3.053)),
            (500.0, (54.80, 2.828), (62.72, 3.240), (45.70, 2.351)),
        ];
        for (d, echo, none, simple) in table {
            let full = |echo| r(d, G711, 0.0, 1.0, echo);
            for (got, (rating, score)) in
                [(full(Echo::Default), echo), (full(Echo::Cancelled), none), (simplified(d), simple)]
            {
                near(got, rating, 2);
                near(mos(got), score, 3);
            }
            // The two published forms agree where the simple one is said to hold.
            assert!(d > 300.0 || (full(Echo::Default) - simplified(d)).abs() < 0.5, "{d}");
        }
    }

    #[test]
    fn loss_takes_by_codec() {
        // (share, of each codec: Ie,eff, R, MOS at 50 ms by the simplified form).
        let table = [
            (0.0, [(0.0, 92.0, 4.385), (0.0, 92.0, 4.385), (11.0, 81.0, 4.061)]),
            (0.005, [(9.896, 82.10, 4.101), (1.855, 90.14, 4.343), (13.154, 78.85, 3.980)]),
            (0.01, [(17.925, 74.08, 3.782), (3.640, 88.36, 4.297), (15.200, 76.80, 3.898)]),
            (0.02, [(30.159, 61.84, 3.195), (7.011, 84.99, 4.198), (19.000, 73.00, 3.734)]),
            (0.03, [(39.041, 52.96, 2.731), (10.142, 81.86, 4.092), (22.455, 69.55, 3.576)]),
            (0.05, [(51.075, 40.92, 2.110), (15.781, 76.22, 3.873), (28.500, 63.50, 3.279)]),
            (0.10, [(66.434, 25.57, 1.436), (27.066, 64.93, 3.351), (39.966, 52.03, 2.682)]),
        ];
        for (loss, codecs) in table {
            for (codec, (ie, rating, score)) in [G711, G711_PLC, G729].into_iter().zip(codecs) {
                let got = effective(codec, loss, 1.0);
                near(got, ie, 3);
                near(simplified(50.0) - got, rating, 2);
                near(mos(simplified(50.0) - got), score, 3);
            }
        }
        // Losses in runs are heard more than as many alone.
        assert!(effective(G711, 0.05, 2.0) > effective(G711, 0.05, 1.0));
    }

    #[test]
    fn scores_stay_within_their_scale() {
        assert_eq!([-5.0, 0.0, 100.0, 120.0].map(mos), [1.0, 1.0, 4.5, 4.5]);
        assert!((0..1000).all(|i| (1.0..=4.5).contains(&mos(f64::from(i) / 10.0))));
        assert!(mos(f64::NAN).is_nan());
    }
}
