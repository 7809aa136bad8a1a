//! Who is best by scores, and how sure that is.
//!
//! Each thing that is wanted has a score from 0 to 1 with each draw; a discipline's is the mean over them. Every discipline is tried on a few
//! draws, the best on more; intervals are Student's t over the draws, of differences draw by draw.

use queuewright_experiments::mean;
use queuewright_results::quality::student;

/// What is as good: less than this behind in the score, with the whole of the 95 % interval. Of what is, the simplest is taken.
pub const MARGIN: f64 = 0.02;

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Sure {
    /// The mean.
    pub mean: f64,
    /// The interval.
    pub interval: [f64; 2],
}

impl Sure {
    /// Of values, one a draw.
    pub fn of(values: &[f64]) -> Sure {
        let known: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        Sure { mean: mean(known.iter().copied()), interval: student::interval(&known) }
    }
}

/// How much one is ahead of another, draw by draw.
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
    /// These draws do not tell.
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

/// Who is taken, of disciplines with a score for each draw (the simplest first): the simplest one of those that are as good as the best, or that
/// nothing shows to be worse and whose mean is less than [`MARGIN`] below the best one's; it is not behind another. In doubt nobody should have to
/// put on more than needed.
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
    let may_be = |i: &usize| {
        let (place, by) = &places[*i];
        *i == best || *place != Place::Behind && by.mean < MARGIN && !behind(*i)
    };
    Choice { chosen: (0..scores.len()).find(may_be).unwrap_or(best), best, places }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simplest_of_equals_is_taken() {
        let same = |v: f64| vec![v; 16];
        let as_good = |c: &Choice| -> Vec<bool> { c.places.iter().map(|p| p.0 == Place::AsGood).collect() };
        let two = choose(&[same(0.5), same(0.8), same(0.805)]);
        assert_eq!((two.chosen, as_good(&two), two.is_open()), (1, vec![false, true, true], false));
        assert_eq!(choose(&[same(0.5), same(0.7), same(0.8)]).chosen, 2);
        // Of equal values the interval is a point; of 0, 1, 0, 1 it is 0.5 and 3.182 times the deviation 0.577 over the root of 4.
        assert_eq!(Sure::of(&same(0.3)).interval.map(|v| (v * 1e9).round()), [3e8, 3e8]);
        assert!((Sure::of(&[0.0, 1.0, 0.0, 1.0]).interval[1] - 1.4186).abs() < 1e-3);
    }

    /// Noise is no equality: one that is 0.05 behind on average, with half of the draws far ahead, may be as good or much worse.
    #[test]
    fn what_cannot_be_told_is_not_taken() {
        let varied: Vec<f64> = (0..16).map(|i| if i % 2 == 0 { 1.0 } else { 0.5 }).collect();
        // By the mean it is no worse: nothing speaks for another.
        let choice = choose(&[varied.clone(), vec![0.755; 16]]);
        assert_eq!((choice.chosen, choice.best, choice.places[0].0), (0, 1, Place::Untold));
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
