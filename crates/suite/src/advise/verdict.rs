//! The advice: who is taken, what is said of it, and how to put it on.

use super::household::{Line, Use};
use super::scores::{Got, Sure, UNNOTICED, choose, scores};
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

/// Who is taken, by its place among the labels, and all that may be as good.
pub fn judged(table: &Table, line: &Line, labels: &[String]) -> (usize, Vec<usize>) {
    choose(&scored(table, line, labels).0)
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
    /// Who is taken, by its place among the labels.
    pub chosen: usize,
    /// All that may be as good.
    pub equals: Vec<usize>,
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

    /// Of each set of households that was kept apart: may the chosen one be as good as the best there, and how much behind it is it?
    fn held_out(&self) -> Vec<(bool, Sure)> {
        let of_set = |table: &Table| {
            let labels: Vec<String> =
                table.values().next().map_or(Vec::new(), |h| h.keys().cloned().collect());
            let (totals, _) = scored(table, self.line, &labels);
            let chosen = labels.iter().position(|l| *l == self.labels[self.chosen]).unwrap_or(0);
            let best = &totals[order(&totals)[0]];
            let behind: Vec<f64> = best.iter().zip(&totals[chosen]).map(|(a, b)| a - b).collect();
            (choose(&totals).1.contains(&chosen), Sure::of(&behind))
        };
        self.apart.iter().map(of_set).collect()
    }

    /// The advice in words, with the commands.
    pub fn words(&self) -> String {
        let mut out = String::new();
        let chosen = self.labels[self.chosen].as_str();
        let (totals, of_use) = scored(self.table, self.line, self.labels);
        let (down, up) = self.line.shaped();
        let rates = format!("{} down and {} up", Unit::Rate.show(down), Unit::Rate.show(up));
        let _ = match chosen {
            NOW => writeln!(
                out,
                "Leave the line as it is: nothing that was tried is better by more than chance."
            ),
            "droptail" => writeln!(
                out,
                "Shape to {rates}, with a plain queue: none that was tried is better by more than chance."
            ),
            name => writeln!(
                out,
                "Take {name}, shaped to {rates}: 95 % of the line, so that packets wait in your queue and not in the modem's."
            ),
        };
        let others: Vec<&str> =
            self.equals.iter().filter(|i| **i != self.chosen).map(|i| self.labels[*i].as_str()).collect();
        if !others.is_empty() {
            let _ = writeln!(
                out,
                "As good by these households: {}. {chosen} is the simplest of them to have.",
                others.join(", ")
            );
        }
        if chosen != "fq-codel"
            && !others.contains(&"fq-codel")
            && self.labels.iter().any(|l| l == "fq-codel")
        {
            let _ = writeln!(out, "The kernel's own fq_codel is worse here.");
        }
        let apart = self.held_out();
        let good = apart.iter().filter(|s| s.0).count();
        let _ = match apart.as_slice() {
            [] => writeln!(out),
            [(true, _)] => writeln!(
                out,
                "On {SET} other households on this line, kept apart, it is again as good as the best.\n"
            ),
            [(false, behind)] => writeln!(
                out,
                "On {SET} other households on this line, kept apart, it is {:.2} ({:.2} to {:.2}) behind the best: the choice is not sure.\n",
                behind.mean, behind.interval[0], behind.interval[1]
            ),
            all => writeln!(
                out,
                "On {good} of {} sets of {SET} other households, kept apart, it is as good as the best.\n",
                all.len()
            ),
        };
        // Against what is there now, and the two next.
        let next: Vec<usize> = order(&totals)
            .into_iter()
            .filter(|i| *i != self.chosen && self.labels[*i] != NOW)
            .take(2)
            .collect();
        let mut shown = vec![0];
        shown.extend((self.chosen != 0).then_some(self.chosen));
        shown.extend(&next);
        out += &self.effects(&shown, &totals);
        for i in next {
            let better: Vec<&str> = (0..self.line.uses.len())
                .filter(|u| {
                    let d: Vec<f64> =
                        of_use[i][*u].iter().zip(&of_use[self.chosen][*u]).map(|(a, b)| a - b).collect();
                    Sure::of(&d).interval[0] > UNNOTICED
                })
                .map(|u| self.line.uses[u].name())
                .collect();
            if !better.is_empty() {
                let _ = writeln!(out, "{} would be better for {}.", self.labels[i], better.join(", "));
            }
        }
        out.push_str(&commands(chosen, self.dev, down, up));
        out
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
                Use::Web => columns.push(("page (s)", |g| g.page_s, 1.0, 2)),
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
            .map(|(good, behind)| json!({"as_good": good, "behind": behind}))
            .collect();
        let each: Vec<_> = self
            .labels
            .iter()
            .zip(&totals)
            .map(|(label, t)| json!({"discipline": label, "score": Sure::of(t)}))
            .collect();
        let equals: Vec<&String> = self.equals.iter().map(|i| &self.labels[*i]).collect();
        json!({
            "take": self.labels[self.chosen], "as_good": equals, "scores": each,
            "held_out": apart,
            "shape": {"down_bps": self.line.shaped().0, "up_bps": self.line.shaped().1},
        })
    }
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
