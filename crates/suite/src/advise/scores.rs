//! Which queue manager for a line: what each use of it gets, who is best, and how sure that is.
//!
//! Each use has a score from 0 to 1 in each household ([`scores`]); a discipline's is the mean over the uses. Households are drawn, every
//! discipline is tried on a few, the best on more; intervals are of the bootstrap over the households, the same for all.

use super::household::Use;
use crate::score::{DRAWS, below, interval};
use queuewright_experiments::mean;
use queuewright_results::quality::emodel::{Echo, G711_PLC, mos, r};
use queuewright_results::quality::qoo::{Measured, Profile, named};
use rand_pcg::Pcg32;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What a game asks of the network; read once.
static GAME: LazyLock<Option<Profile>> = LazyLock::new(|| named().into_iter().find(|p| p.name == "game"));
/// What nobody notices: of two that differ by less, the simpler one is taken.
pub const UNNOTICED: f64 = 0.01;

/// Measures of a run by name.
pub type Measures = BTreeMap<String, f64>;

/// What uses get in a household with a discipline; NaN: nothing is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Got {
    /// Mean opinion score of the worse direction of a call, 1 to 4.41, as results have it.
    pub mos: f64,
    /// Quality of Outcome of a game, 0 to 100: the 95th percentiles of both ways together are taken for that of the round trip, which is no
    /// longer.
    pub game: f64,
    /// Mean bitrate of the players, bit/s, times the share of the time in which they play.
    pub video_bps: f64,
    /// Median page load time, s.
    pub page_s: f64,
    /// Goodput of downloads and uploads, bit/s.
    pub down_bps: f64,
    /// Of uploads.
    pub up_bps: f64,
}

impl Got {
    /// Out of a run's measures. `window_s`: for how long it was measured; `players`: how many play.
    pub fn of(m: &Measures, window_s: f64, players: f64) -> Got {
        let of = |path: &str| m.get(path).copied().unwrap_or(f64::NAN);
        let call = |way: &str| of(&format!("group.speech {way}.datagrams.calls.mos"));
        let way = |what: &str| of(&format!("group.game down.datagrams.{what}"));
        let back = |what: &str| of(&format!("group.game up.datagrams.{what}"));
        let round_trip = way("delay_ms.p95") + back("delay_ms.p95");
        let game = GAME.as_ref().map_or(f64::NAN, |profile| {
            profile.qoo(Measured {
                delays_ms: &[round_trip],
                loss: way("loss").max(back("loss")),
                capacity_bps: f64::INFINITY,
            })
        });
        let stalled = of("group.video.video.stalled_s");
        let stands =
            if stalled.is_finite() { (stalled / players.max(1.0) / window_s).min(1.0) } else { f64::NAN };
        Got {
            mos: call("down").min(call("up")),
            game: if round_trip.is_finite() { game } else { f64::NAN },
            video_bps: of("group.video.video.bitrate_bps") * (1.0 - stands),
            page_s: of("group.pages.transfers.pages.plt_s.p50"),
            down_bps: of("group.downloads.goodput_bps"),
            up_bps: of("group.uploads.goodput_bps"),
        }
    }
}

/// Of each discipline in a household, its score for each use: of calls the part of the range of opinions, of games the Quality of Outcome,
/// of the others what it is beside the best discipline's. What nobody has a value of counts for nobody; who alone has none has 0.
pub fn scores(got: &[Got], uses: &[Use]) -> Vec<Vec<f64>> {
    let best = |of: fn(&Got) -> f64| got.iter().map(of).filter(|v| v.is_finite()).fold(f64::NAN, f64::max);
    let least = got.iter().map(|g| g.page_s).filter(|v| v.is_finite()).fold(f64::NAN, f64::min);
    let part = |value: f64, whole: f64| match (value.is_finite(), whole.is_finite()) {
        (_, false) => f64::NAN,
        (false, true) => 0.0,
        // Nobody gets anything.
        _ if whole == 0.0 => 1.0,
        _ => (value / whole).clamp(0.0, 1.0),
    };
    let one = |g: &Got, of: Use| match of {
        Use::Calls => (g.mos - 1.0) / (mos(r(0.0, G711_PLC, 0.0, 1.0, Echo::Cancelled)) - 1.0),
        Use::Games => g.game / 100.0,
        Use::Video => part(g.video_bps, best(|g| g.video_bps)),
        Use::Web => {
            if least.is_finite() && !g.page_s.is_finite() {
                0.0
            } else {
                least / g.page_s
            }
        }
        Use::Downloads => part(g.down_bps, best(|g| g.down_bps)),
        Use::Uploads => part(g.up_bps, best(|g| g.up_bps)),
    };
    got.iter().map(|g| uses.iter().map(|u| one(g, *u)).collect()).collect()
}

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Sure {
    /// The mean.
    pub mean: f64,
    /// The interval.
    pub interval: [f64; 2],
}

impl Sure {
    /// Of values, one a household, by the bootstrap.
    pub fn of(values: &[f64]) -> Sure {
        let known: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let mut random = Pcg32::new(0xad1ce, 1);
        let drawn =
            (0..DRAWS).map(|_| mean((0..known.len()).map(|_| known[below(&mut random, known.len())])));
        Sure { mean: mean(known.iter().copied()), interval: interval(drawn.collect()) }
    }
}

/// Who is taken, of disciplines with a score in each household (the simplest first): the simplest one of those that may be as good as the
/// best, and all that may be. One may be as good if it is less than [`UNNOTICED`] behind, or the interval of the difference reaches 0.
pub fn choose(scores: &[Vec<f64>]) -> (usize, Vec<usize>) {
    let total = |i: usize| mean(scores[i].iter().copied());
    let best = (0..scores.len()).fold(0, |b, i| if total(i) > total(b) { i } else { b });
    let behind = |i: usize| {
        let differences: Vec<f64> = scores[best].iter().zip(&scores[i]).map(|(a, b)| a - b).collect();
        Sure::of(&differences)
    };
    let equals: Vec<usize> = (0..scores.len())
        .filter(|i| {
            let d = behind(*i);
            *i == best || d.mean < UNNOTICED || d.interval[0] <= 0.0
        })
        .collect();
    (equals[0], equals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn got(mos: f64, page_s: f64, down: f64) -> Got {
        Got { mos, game: f64::NAN, video_bps: f64::NAN, page_s, down_bps: down, up_bps: f64::NAN }
    }

    #[test]
    fn uses_are_scored_as_said() {
        let all = [got(1.0, 2.0, 10.0), got(4.0, 1.0, 8.0), got(f64::NAN, f64::NAN, 0.0)];
        let s = scores(&all, &[Use::Calls, Use::Web, Use::Downloads]);
        assert_eq!((s[0][0], s[0][1], s[0][2]), (0.0, 0.5, 1.0));
        assert!((s[1][0] - 3.0 / 3.41).abs() < 1e-2 && s[1][1] == 1.0 && s[1][2] == 0.8, "{s:?}");
        // No page came: that is the worst, and no unknown.
        assert_eq!((s[2][1], s[2][2]), (0.0, 0.0));
    }

    #[test]
    fn a_call_is_as_good_as_its_worse_direction() {
        let got = |down: f64, up: f64| {
            let path = |way: &str| format!("group.speech {way}.datagrams.calls.mos");
            Got::of(&Measures::from([(path("down"), down), (path("up"), up)]), 10.0, 1.0).mos
        };
        assert_eq!((got(4.3, 1.2), got(2.0, 4.1)), (1.2, 2.0));
        // By G.107 nobody hears better than 4.41 without echo: the best score is 1, none at all is 0.
        let scored = scores(&[got_mos(4.41), got_mos(1.0)], &[Use::Calls]);
        assert!((scored[0][0] - 1.0).abs() < 2e-3 && scored[1][0] == 0.0, "{scored:?}");
    }

    fn got_mos(mos: f64) -> Got {
        got(mos, f64::NAN, f64::NAN)
    }

    #[test]
    fn the_simplest_of_equals_is_taken() {
        let same = |v: f64| vec![v; 6];
        assert_eq!(choose(&[same(0.5), same(0.8), same(0.805)]), (1, vec![1, 2]));
        assert_eq!(choose(&[same(0.5), same(0.7), same(0.8)]), (2, vec![2]));
        // A mean that is lower, but not for certain.
        let varied = vec![0.9, 0.2, 0.95, 0.85, 0.9, 0.92];
        assert_eq!(choose(&[varied, same(0.8)]), (0, vec![0, 1]));
        // Its interval is of the bootstrap: of equal values a point.
        assert_eq!(Sure::of(&same(0.3)).interval.map(|v| (v * 1e9).round()), [3e8, 3e8]);
        assert!(Sure::of(&[0.0, 1.0, 0.0, 1.0]).interval == [0.0, 1.0]);
    }
}
