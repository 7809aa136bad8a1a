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
/// What is as good: less than this behind in the score, with the whole of the 95 % interval. Of what is, the simplest is taken.
pub const MARGIN: f64 = 0.02;

/// Measures of a run by name.
pub type Measures = BTreeMap<String, f64>;

/// What uses get in a household with a discipline; NaN: nothing is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Got {
    /// Mean opinion score of the worse direction of a call, 1 to 4.41, as results have it.
    pub mos: f64,
    /// Quality of Outcome of a game, 0 to 100. An approximation: the 95th percentiles of both ways together stand for that of the round trip.
    /// Where few packets wait long, and not at the same time both ways, that is more than it says: percentiles do not add.
    pub game: f64,
    /// Mean bitrate of the players, bit/s, times the share of the time in which they play.
    pub video_bps: f64,
    /// Median page load time of pages that were complete, s.
    pub page_s: f64,
    /// Share of pages that were.
    pub pages_done: f64,
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
        let pages = |what: &str| of(&format!("group.pages.transfers.pages.{what}"));
        let round_trip = way("delay_ms.p95") + back("delay_ms.p95");
        let loss = both(way("loss"), back("loss"), f64::max);
        let game = GAME.as_ref().map_or(f64::NAN, |profile| {
            profile.qoo(Measured { delays_ms: &[round_trip], loss, capacity_bps: f64::INFINITY })
        });
        let stalled = of("group.video.video.stalled_s");
        let stands =
            if stalled.is_finite() { (stalled / players.max(1.0) / window_s).min(1.0) } else { f64::NAN };
        Got {
            mos: both(call("down"), call("up"), f64::min),
            game: if (round_trip + loss).is_finite() { game } else { f64::NAN },
            video_bps: of("group.video.video.bitrate_bps") * (1.0 - stands),
            page_s: pages("plt_s.p50"),
            pages_done: pages("completed") / pages("started"),
            down_bps: of("group.downloads.goodput_bps"),
            up_bps: of("group.uploads.goodput_bps"),
        }
    }
}

/// One of two; of one that is not known nothing is.
fn both(one: f64, other: f64, which: fn(f64, f64) -> f64) -> f64 {
    if one.is_nan() || other.is_nan() { f64::NAN } else { which(one, other) }
}

/// Of each discipline in a household, its score for each use: of calls the part of the range of opinions, of games the Quality of Outcome,
/// of the others what it is beside the best discipline's; of pages times the share that is complete. What nobody has a value of counts for
/// nobody; who has none where others have one has 0.
pub fn scores(got: &[Got], uses: &[Use]) -> Vec<Vec<f64>> {
    let known = |of: fn(&Got) -> f64| got.iter().map(of).filter(|v| v.is_finite());
    let best = |of: fn(&Got) -> f64| known(of).fold(f64::NAN, f64::max);
    let least = known(|g| g.page_s).fold(f64::NAN, f64::min);
    let part = |value: f64, whole: f64| match (value.is_finite(), whole.is_finite()) {
        (_, false) => f64::NAN,
        (false, true) => 0.0,
        // Nobody gets anything.
        _ if whole == 0.0 => 1.0,
        _ => (value / whole).clamp(0.0, 1.0),
    };
    // Of a scale of its own.
    let on_scale = |value: f64, of: fn(&Got) -> f64| match value.is_finite() {
        true => value,
        false if known(of).next().is_some() => 0.0,
        false => f64::NAN,
    };
    let heard = mos(r(0.0, G711_PLC, 0.0, 1.0, Echo::Cancelled)) - 1.0;
    let one = |g: &Got, of: Use| match of {
        Use::Calls => on_scale((g.mos - 1.0) / heard, |g| g.mos),
        Use::Games => on_scale(g.game / 100.0, |g| g.game),
        Use::Video => part(g.video_bps, best(|g| g.video_bps)),
        Use::Web if least.is_nan() => f64::NAN,
        Use::Web if g.page_s.is_nan() => 0.0,
        Use::Web => least / g.page_s * part(g.pages_done, best(|g| g.pages_done)),
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

/// How much one is ahead of another, household by household.
pub(crate) fn ahead(one: &[f64], other: &[f64]) -> Sure {
    Sure::of(&one.iter().zip(other).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// How one stands to the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is the best, or as good: the 95 % interval of the difference ends below [`MARGIN`].
    AsGood,
    /// It is behind: the interval is above 0, and not all of it below the margin.
    Behind,
    /// These households do not tell.
    Untold,
}

/// Who is taken, and how the others stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The one that is taken, by its place.
    pub chosen: usize,
    /// The one with the best mean.
    pub best: usize,
    /// Of each, how it stands to the best, and how much behind it is.
    pub places: Vec<(Place, Sure)>,
}

impl Choice {
    /// Can more households tell more?
    pub fn is_open(&self) -> bool {
        self.places.iter().any(|p| p.0 == Place::Untold)
    }

    /// Those that stand so, but for the one that is taken.
    pub fn others(&self, place: Place) -> impl Iterator<Item = usize> {
        let all = self.places.iter().enumerate();
        all.filter(move |(i, p)| p.0 == place && *i != self.chosen).map(|(i, _)| i)
    }
}

/// Who is taken, of disciplines with a score in each household (the simplest first): the simplest one of those that are as good as the best, if
/// it is not behind another.
pub fn choose(scores: &[Vec<f64>]) -> Choice {
    let total = |i: usize| mean(scores[i].iter().copied());
    let best = (0..scores.len()).fold(0, |b, i| if total(i) > total(b) { i } else { b });
    let place = |one: usize, other: usize| {
        let d = ahead(&scores[one], &scores[other]);
        match d.interval {
            _ if one == other => (Place::AsGood, d),
            [_, high] if high < MARGIN => (Place::AsGood, d),
            [low, _] if low > 0.0 => (Place::Behind, d),
            _ => (Place::Untold, d),
        }
    };
    let places: Vec<(Place, Sure)> = (0..scores.len()).map(|i| place(best, i)).collect();
    let behind = |i: usize| (0..scores.len()).any(|j| place(j, i).0 == Place::Behind);
    let may_be = |i: &usize| places[*i].0 == Place::AsGood && (*i == best || !behind(*i));
    Choice { chosen: (0..scores.len()).find(may_be).unwrap_or(best), best, places }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn got(mos: f64, page_s: f64, down: f64) -> Got {
        let none = f64::NAN;
        Got { mos, game: none, video_bps: none, page_s, pages_done: 1.0, down_bps: down, up_bps: none }
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

    /// Who has no opinion where others have one is scored with 0, and not on the other uses alone; and a way that is not known is not the better one.
    #[test]
    fn what_is_not_known_is_no_advantage() {
        let scored = scores(&[got_mos(4.0), got_mos(f64::NAN)], &[Use::Calls, Use::Games]);
        assert!(scored[1][0] == 0.0 && scored[1][1].is_nan(), "{scored:?}");
        let m = Measures::from([
            ("group.speech down.datagrams.calls.mos".to_string(), 4.1),
            ("group.game down.datagrams.delay_ms.p95".to_string(), 10.0),
            ("group.game up.datagrams.delay_ms.p95".to_string(), 10.0),
            ("group.game up.datagrams.loss".to_string(), 0.0),
        ]);
        let got = Got::of(&m, 10.0, 1.0);
        assert!(got.mos.is_nan() && got.game.is_nan(), "{got:?}");
    }

    /// The time is of pages that were complete: who completes half of them has half of the score.
    #[test]
    fn pages_that_never_come_count() {
        let pages = |completed: f64, plt: f64| {
            let path = |what: &str| format!("group.pages.transfers.pages.{what}");
            let of = [(path("started"), 8.0), (path("completed"), completed), (path("plt_s.p50"), plt)];
            Got::of(&Measures::from(of), 10.0, 1.0)
        };
        let scored = scores(&[pages(8.0, 2.0), pages(4.0, 1.0)], &[Use::Web]);
        assert_eq!(scored, [[0.5], [0.5]]);
    }

    #[test]
    fn the_simplest_of_equals_is_taken() {
        let same = |v: f64| vec![v; 16];
        let as_good = |c: &Choice| -> Vec<bool> { c.places.iter().map(|p| p.0 == Place::AsGood).collect() };
        let two = choose(&[same(0.5), same(0.8), same(0.805)]);
        assert_eq!((two.chosen, as_good(&two), two.is_open()), (1, vec![false, true, true], false));
        assert_eq!(choose(&[same(0.5), same(0.7), same(0.8)]).chosen, 2);
        // Its interval is of the bootstrap: of equal values a point.
        assert_eq!(Sure::of(&same(0.3)).interval.map(|v| (v * 1e9).round()), [3e8, 3e8]);
        assert!(Sure::of(&[0.0, 1.0, 0.0, 1.0]).interval == [0.0, 1.0]);
    }

    /// Noise is no equality: one that is 0.05 behind on average, in half of the households far ahead, may be as good or much worse.
    #[test]
    fn what_cannot_be_told_is_not_taken() {
        let varied: Vec<f64> = (0..16).map(|i| if i % 2 == 0 { 1.0 } else { 0.5 }).collect();
        let choice = choose(&[varied, vec![0.785; 16], vec![0.8; 16]]);
        assert_eq!((choice.chosen, choice.best, choice.places[0].0), (1, 2, Place::Untold));
        assert!(choice.is_open() && choice.others(Place::AsGood).eq([2]), "{choice:?}");
    }

    /// As good as the best, who varies, and surely behind another: then it is not taken.
    #[test]
    fn who_is_behind_another_is_not_taken() {
        let wave = |by: f64| (0..16).map(move |i| if i % 2 == 0 { by } else { -by });
        let best: Vec<f64> = wave(0.014).map(|d| 0.8 + d).collect();
        let simple: Vec<f64> = wave(0.014).map(|d| 0.789 + d * 0.9).collect();
        let other: Vec<f64> =
            simple.iter().zip(wave(0.03)).map(|(s, d)| s + 0.0105 + d.max(-0.009)).collect();
        let places = choose(&[simple.clone(), other.clone(), best.clone()]);
        let d = ahead(&other, &simple);
        assert!(d.interval[0] > 0.0 && d.interval[1] >= MARGIN, "{d:?}");
        assert!(places.chosen != 0, "{places:?}");
    }
}
