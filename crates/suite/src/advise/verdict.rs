//! The advice: who is taken, what is said of it, and how to put it on.

use super::household::{Line, Use};
use super::scores::{Choice, Got, MARGIN, Place, Sure, ahead, choose, scores};
use queuewright_experiments::mean;
use queuewright_scenario::units::Unit;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What one can put on by tc alone, the simplest first, and how tc calls it.
pub const BY_TC: [(&str, &str); 6] = [
    ("droptail", "pfifo limit 1000"),
    ("fq-codel", "fq_codel"),
    ("codel", "codel"),
    ("pie", "pie"),
    ("sfq", "sfq"),
    ("fq", "fq"),
];

/// In the order in which one would rather have them: what tc has by itself, the simplest first, then the others as the registry has them.
pub fn simplest_first(names: &mut [String]) {
    let by_tc = |name: &str| BY_TC.iter().position(|d| d.0 == name).unwrap_or(BY_TC.len());
    names.sort_by_key(|name| (by_tc(name), queuewright_aqm::alone().position(|known| known == name)));
}

/// The line as it is, in the place of a discipline.
pub const NOW: &str = "as it is";
/// So many of the best are tried on more households.
const KEPT: usize = 5;
/// Households of a set that is kept apart.
pub const SET: u64 = 16;

/// What disciplines got in households: by household's number and label.
pub type Table = BTreeMap<u64, BTreeMap<String, Got>>;

/// Of each label, its score (the mean over the uses) in each household, and that of each use.
fn scored(table: &Table, line: &Line, labels: &[String]) -> (Vec<Vec<f64>>, Vec<Vec<Vec<f64>>>) {
    let (mut totals, mut of_use) =
        (vec![Vec::new(); labels.len()], vec![vec![Vec::new(); line.uses.len()]; labels.len()]);
    for household in table.values() {
        let got: Vec<Got> = labels.iter().filter_map(|l| household.get(l)).copied().collect();
        if got.len() != labels.len() {
            continue;
        }
        for (i, each) in scores(&got, &line.uses).into_iter().enumerate() {
            totals[i].push(mean(each.iter().copied()));
            for (u, value) in each.into_iter().enumerate() {
                of_use[i][u].push(value);
            }
        }
    }
    (totals, of_use)
}

/// The line as it is, FQ-CoDel, which is at hand nearly everywhere, and the best of the others, the simplest first.
pub fn best_of(table: &Table, line: &Line, labels: &[String]) -> Vec<String> {
    let (totals, _) = scored(table, line, labels);
    if labels.len() <= KEPT + 2 {
        return labels.to_vec();
    }
    let mut kept: Vec<usize> = order(&totals).into_iter().filter(|i| labels[*i] != NOW).take(KEPT).collect();
    kept.extend((0..labels.len()).filter(|i| [NOW, "droptail", "fq-codel"].contains(&labels[*i].as_str())));
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|i| labels[i].clone()).collect()
}

/// Places of labels, the best mean first.
fn order(totals: &[Vec<f64>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..totals.len()).collect();
    let of = |i: &usize| mean(totals[*i].iter().copied());
    order.sort_by(|a, b| of(b).total_cmp(&of(a)));
    order
}

/// Who is taken, and how the others stand, by their places among the labels.
pub fn judged(table: &Table, line: &Line, labels: &[String]) -> Choice {
    choose(&scored(table, line, labels).0)
}

/// What came of a set of households that was kept apart.
struct HeldOut {
    /// The best one there.
    best: String,
    /// How much behind it the one is that was taken.
    behind: Sure,
}

impl HeldOut {
    /// Is that one the best, or less than the margin behind?
    fn within(&self) -> bool {
        self.behind.mean < MARGIN
    }
}

/// What is said in the end.
pub struct Advice<'a> {
    /// The line.
    pub line: &'a Line,
    /// What was tried on all households, the simplest first.
    pub labels: &'a [String],
    /// What each got.
    pub table: &'a Table,
    /// The same in sets of households that were kept apart.
    pub apart: &'a [Table],
    /// Who is taken, by its place among the labels, and how the others stand.
    pub choice: Choice,
    /// Everything was tried on the households that were kept apart, and not only what was kept.
    pub all_apart: bool,
    /// The device in the commands.
    pub dev: &'a str,
}

impl Advice<'_> {
    /// What a label gets: the value of one measure over all households.
    fn sure(&self, label: usize, of: fn(&Got) -> f64) -> Sure {
        let values: Vec<f64> =
            self.table.values().filter_map(|h| h.get(&self.labels[label])).map(of).collect();
        Sure::of(&values)
    }

    /// Of each set of households that was kept apart: who is the best there, and how much behind is the one that was taken?
    fn held_out(&self) -> Vec<HeldOut> {
        let of_set = |table: &Table| {
            let labels: Vec<String> =
                table.values().next().map_or(Vec::new(), |h| h.keys().cloned().collect());
            let (totals, _) = scored(table, self.line, &labels);
            let chosen = labels.iter().position(|l| *l == self.labels[self.choice.chosen]).unwrap_or(0);
            let best = order(&totals)[0];
            HeldOut { best: labels[best].clone(), behind: ahead(&totals[best], &totals[chosen]) }
        };
        self.apart.iter().map(of_set).collect()
    }

    /// The advice in words, with the commands.
    pub fn words(&self) -> String {
        let mut out = String::new();
        let chosen = self.labels[self.choice.chosen].as_str();
        let (totals, of_use) = scored(self.table, self.line, self.labels);
        let (down, up) = self.line.shaped();
        let rates = format!("{} down and {} up", Unit::Rate.show(down), Unit::Rate.show(up));
        let nothing = format!("nothing that was tried is better by as much as {MARGIN} of the score.");
        let _ = match chosen {
            NOW => writeln!(out, "Leave the line as it is: {nothing}"),
            "droptail" => writeln!(out, "Shape to {rates}, with a plain queue: {nothing}"),
            name => writeln!(
                out,
                "Take {name}, shaped to {rates}: 95 % of the line, so that packets wait in your queue and not in the modem's."
            ),
        };
        out += &self.others(&totals);
        out += &self.checked();
        // Against what is there now, and the two next.
        let next: Vec<usize> = order(&totals)
            .into_iter()
            .filter(|i| *i != self.choice.chosen && self.labels[*i] != NOW)
            .take(2)
            .collect();
        let mut shown = vec![0];
        shown.extend((self.choice.chosen != 0).then_some(self.choice.chosen));
        shown.extend(&next);
        out += &self.effects(&shown, &totals);
        for i in next {
            let better: Vec<&str> = (0..self.line.uses.len())
                .filter(|u| ahead(&of_use[i][*u], &of_use[self.choice.chosen][*u]).interval[0] > MARGIN)
                .map(|u| self.line.uses[u].name())
                .collect();
            if !better.is_empty() {
                let _ = writeln!(out, "{} would be better for {}.", self.labels[i], better.join(", "));
            }
        }
        out.push_str(&commands(chosen, self.dev, down, up));
        out
    }

    /// Who is as good, who cannot be told from the best, and whether what is at hand everywhere is worse.
    fn others(&self, totals: &[Vec<f64>]) -> String {
        let mut out = String::new();
        let chosen = self.labels[self.choice.chosen].as_str();
        let as_good: Vec<&str> = self.choice.others(Place::AsGood).map(|i| self.labels[i].as_str()).collect();
        if !as_good.is_empty() {
            let _ = writeln!(
                out,
                "As good, with the best of them less than {MARGIN} ahead of each by 95 % intervals: {}. {chosen} is the simplest of them to have.",
                as_good.join(", ")
            );
        }
        let untold: Vec<String> = self
            .choice
            .others(Place::Untold)
            .map(|i| format!("{} ({})", self.labels[i], interval(self.choice.places[i].1)))
            .collect();
        if !untold.is_empty() {
            let _ = writeln!(
                out,
                "{} households do not tell whether these are as good, so much behind the best: {}.",
                self.table.len(),
                untold.join(", ")
            );
        }
        if let Some(usual) = self.labels.iter().position(|l| l == "fq-codel" && l != chosen) {
            let behind = ahead(&totals[self.choice.chosen], &totals[usual]);
            if behind.interval[0] > 0.0 && behind.interval[1] >= MARGIN {
                let _ = writeln!(out, "The kernel's own fq_codel is worse here, by {}.", interval(behind));
            }
        }
        out
    }

    /// What the households that were kept apart say.
    fn checked(&self) -> String {
        let of = if self.all_apart { "all that were tried" } else { "those that were kept" };
        match self.held_out().as_slice() {
            [] => "\n".into(),
            [one] => {
                let what = match (one.within(), one.best == self.labels[self.choice.chosen]) {
                    (_, true) => format!("it is again the best of {of}."),
                    (true, false) => format!(
                        "it is {} behind {}, the best of {of}: less than {MARGIN}, as good.",
                        interval(one.behind),
                        one.best
                    ),
                    (false, false) => format!(
                        "it is {} behind {}, the best of {of}: the choice is not sure.",
                        interval(one.behind),
                        one.best
                    ),
                };
                format!("On {SET} other households on this line, kept apart, {what}\n\n")
            }
            sets => format!(
                "On {} of {} sets of {SET} other households, kept apart, it is the best of {of}, or less than {MARGIN} behind.\n\n",
                sets.iter().filter(|s| s.within()).count(),
                sets.len()
            ),
        }
    }

    /// A row for each of these: the score, and what its uses get.
    fn effects(&self, shown: &[usize], totals: &[Vec<f64>]) -> String {
        // Heading, value, factor, digits.
        type Column = (&'static str, fn(&Got) -> f64, f64, usize);
        let mut columns: Vec<Column> = Vec::new();
        for one in &self.line.uses {
            match one {
                Use::Calls => columns.push(("call (MOS)", |g| g.mos, 1.0, 2)),
                Use::Games => columns.push(("game (QoO)", |g| g.game, 1.0, 0)),
                Use::Video => columns.push(("video (Mbit/s)", |g| g.video_bps, 1e-6, 2)),
                Use::Web => {
                    columns.push(("page (s)", |g| g.page_s, 1.0, 2));
                    columns.push(("complete (%)", |g| g.pages_done, 100.0, 0));
                }
                Use::Downloads => columns.push(("down (Mbit/s)", |g| g.down_bps, 1e-6, 1)),
                Use::Uploads => columns.push(("up (Mbit/s)", |g| g.up_bps, 1e-6, 1)),
            }
        }
        let mut rows = vec![vec![String::new(), "score".to_string()]];
        rows[0].extend(columns.iter().map(|c| c.0.to_string()));
        let cell = |s: Sure, factor: f64, digits: usize| {
            let n = |v: f64| if v.is_finite() { format!("{:.digits$}", v * factor) } else { "-".into() };
            format!("{} ({} to {})", n(s.mean), n(s.interval[0]), n(s.interval[1]))
        };
        for i in shown {
            let mut row = vec![self.labels[*i].clone(), cell(Sure::of(&totals[*i]), 1.0, 2)];
            row.extend(
                columns.iter().map(|(_, of, factor, digits)| cell(self.sure(*i, *of), *factor, *digits)),
            );
            rows.push(row);
        }
        let mut out = String::new();
        let width = |c: usize| rows.iter().map(|r| r[c].len()).max().unwrap_or(0);
        for row in &rows {
            let cells: Vec<String> =
                row.iter().enumerate().map(|(c, cell)| format!("{cell:<0$}", width(c))).collect();
            let _ = writeln!(out, "{}", cells.join("  ").trim_end());
        }
        out + "Means over the households, with 95 % intervals. MOS: 1 to 4.4, above 4 is good; QoO: 0 to 100.\n\n"
    }

    /// The page: the words, and all that was tried.
    pub fn page(&self, words: &str) -> String {
        let (totals, _) = scored(self.table, self.line, self.labels);
        let all: Vec<usize> = (0..self.labels.len()).collect();
        format!(
            "# Advice\n\n{words}\n## All that were tried on all households\n\n```\n{}```\n\nThe households are in `households/`: each is a scenario that `queuewright run` takes.\n",
            self.effects(&all, &totals)
        )
    }

    /// The advice for programs.
    pub fn json(&self) -> serde_json::Value {
        let (totals, _) = scored(self.table, self.line, self.labels);
        let apart: Vec<_> = self
            .held_out()
            .into_iter()
            .map(|set| json!({"within": set.within(), "best": set.best, "behind": set.behind}))
            .collect();
        let each: Vec<_> = self
            .labels
            .iter()
            .zip(&totals)
            .zip(&self.choice.places)
            .map(|((label, t), (_, behind))| json!({"discipline": label, "score": Sure::of(t), "behind": behind}))
            .collect();
        let those = |place| -> Vec<&String> { self.choice.others(place).map(|i| &self.labels[i]).collect() };
        json!({
            "take": self.labels[self.choice.chosen], "as_good": those(Place::AsGood), "untold": those(Place::Untold),
            "households": self.table.len(), "scores": each, "held_out": apart,
            "shape": {"down_bps": self.line.shaped().0, "up_bps": self.line.shaped().1},
        })
    }
}

/// A difference of scores with its interval.
fn interval(of: Sure) -> String {
    format!("{:.3} ({:.3} to {:.3})", of.mean, of.interval[0], of.interval[1])
}

/// How to put it on, both ways: what comes in is managed on an IFB device that it is sent through.
fn commands(name: &str, dev: &str, down: u64, up: u64) -> String {
    if name == NOW {
        return String::new();
    }
    let mut out = String::from("To put it on (as root; the second part is for what comes in):\n\n");
    let one = |dev: &str, bps: u64| match BY_TC.iter().find(|d| d.0 == name) {
        Some((_, tc)) => format!(
            "  tc qdisc replace dev {dev} root handle 1: htb default 1\n  tc class add dev {dev} parent 1: classid 1:1 htb rate {0} ceil {0} quantum 1514\n  tc qdisc add dev {dev} parent 1:1 {tc}\n",
            Unit::Rate.show(bps)
        ),
        None => format!("  queuewright attach {dev} {name} --rate {}\n", Unit::Rate.show(bps)),
    };
    out += &one(dev, up);
    let ifb = format!("ifb-{dev}").chars().take(15).collect::<String>();
    let _ = write!(
        out,
        "\n  ip link add {ifb} type ifb && ip link set {ifb} up\n  tc qdisc add dev {dev} handle ffff: ingress\n  tc filter add dev {dev} parent ffff: matchall action mirred egress redirect dev {ifb}\n"
    );
    out + &one(&ifb, down)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::Access;

    fn got(down_bps: f64) -> Got {
        let none = f64::NAN;
        Got { mos: none, game: none, video_bps: none, page_s: none, pages_done: none, down_bps, up_bps: none }
    }

    /// A discipline, and its goodput in a household by its number.
    type Named = (&'static str, fn(u64) -> f64);

    fn table(of: &[Named], numbers: std::ops::Range<u64>) -> Table {
        let household =
            |n: u64| of.iter().map(|(label, value)| (label.to_string(), got(value(n) * 1e6))).collect();
        numbers.map(|n| (n, household(n))).collect()
    }

    fn words(of: &[Named], apart: &[Named]) -> String {
        let access = Access::read("dsl").unwrap();
        let line = Line::new("20mbit", "20ms", access, vec![Use::Downloads]).unwrap();
        let labels: Vec<String> = of.iter().map(|(label, _)| label.to_string()).collect();
        let table = table(of, 5..21);
        let choice = judged(&table, &line, &labels);
        let apart = [self::table(apart, 1001..1017)];
        let advice = Advice {
            line: &line,
            labels: &labels,
            table: &table,
            apart: &apart,
            choice,
            all_apart: false,
            dev: "eth0",
        };
        assert_eq!(advice.json()["households"], 16);
        advice.words()
    }

    /// What was said of the best was told of the one that was taken: FQ-CoDel, with more than the line as it is, "is worse here".
    #[test]
    fn sentences_are_of_the_one_that_is_taken() {
        let as_it_is = |n: u64| if n.is_multiple_of(2) { 10.0 } else { 5.0 };
        let of: [Named; 3] = [(NOW, as_it_is), ("fq-codel", |_| 9.9), ("titrate", |_| 10.0)];
        let said = words(&of, &of);
        assert!(said.starts_with("Take fq-codel, shaped to 19mbit down and 19mbit up"), "{said}");
        assert!(
            said.contains(
                "ahead of each by 95 % intervals: titrate. fq-codel is the simplest of them to have."
            ),
            "{said}"
        );
        assert!(!said.contains("is worse here"), "{said}");
        assert!(
            said.contains("kept apart, it is 0.010 (0.010 to 0.010) behind titrate, the best of those that were kept: less than 0.02, as good."),
            "{said}"
        );
        // Nobody is better by as much as the margin.
        let alike: [Named; 2] = [(NOW, |_| 9.9), ("fq-codel", |_| 10.0)];
        let said = words(&alike, &alike);
        assert!(
            said.starts_with("Leave the line as it is: nothing that was tried is better by as much as 0.02 of the score.\nAs good,"),
            "{said}"
        );
    }

    #[test]
    fn what_is_not_sure_is_said() {
        let as_it_is = |n: u64| if n.is_multiple_of(2) { 10.0 } else { 9.4 };
        let of: [Named; 3] = [(NOW, as_it_is), ("fq-codel", |_| 8.0), ("titrate", |_| 9.8)];
        let apart: [Named; 3] = [(NOW, |_| 5.0), ("fq-codel", |_| 10.0), ("titrate", |_| 9.0)];
        let said = words(&of, &apart);
        assert!(said.starts_with("Take titrate"), "{said}");
        assert!(said.contains("16 households do not tell whether these are as good, so much behind the best: as it is (0.010 ("), "{said}");
        assert!(said.contains("The kernel's own fq_codel is worse here, by 0.1"), "{said}");
        assert!(
            said.contains("it is 0.100 (0.100 to 0.100) behind fq-codel, the best of those that were kept: the choice is not sure."),
            "{said}"
        );
    }

    #[test]
    fn a_list_is_put_in_order() {
        let mut names = ["titrate", "fq-codel", "red", "droptail"].map(String::from);
        simplest_first(&mut names);
        assert_eq!(names, ["droptail", "fq-codel", "titrate", "red"]);
    }
}
