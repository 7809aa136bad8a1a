//! The advice: who is taken, what is said of it, and how to put it on.

use super::commands::{BY_TC, PutOn, of_sqm, on_line, on_ports};
use super::household::{Line, Use};
use super::scores::{Choice, MARGIN, Place, Sure, ahead, choose};
use super::wanted::{Measures, Wanted, beside, value};
use queuewright_experiments::mean;
use queuewright_scenario::units::Unit;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What advice is asked for.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A household's line. A device shapes to a part of its rate, so that packets wait there.
    Line(Line),
    /// A scenario. Queues stay where they are, with the buffers that they have.
    File {
        /// How the file is called.
        name: String,
        /// What it wants, of [`Wanted::of_runs`].
        wanted: Vec<Wanted>,
        /// The first discipline that it names, by its label: the one that is there now.
        now: String,
        /// Its ports whose queue is in question.
        ports: Vec<PutOn>,
    },
}

impl Subject {
    /// What is wanted.
    fn wanted(&self) -> Vec<Wanted> {
        match self {
            Subject::Line(line) => {
                let uses = line.uses.iter().map(|one| Wanted::of_use(*one));
                uses.chain([Wanted::answers()]).collect()
            }
            Subject::File { wanted, .. } => wanted.clone(),
        }
    }

    /// How many draws the best are tried on at a time, and check the advice at a time.
    pub fn set(&self) -> u64 {
        match self {
            Subject::Line(line) => line.households(),
            Subject::File { .. } => 16,
        }
    }

    /// What its draws are.
    fn draws(&self) -> &'static str {
        match self {
            Subject::Line(_) => "households",
            Subject::File { .. } => "seeds",
        }
    }

    fn is_line(&self) -> bool {
        matches!(self, Subject::Line(_))
    }
}

/// What is there now, in the place of a discipline: the line as it is, or the first discipline of a file.
pub const NOW: &str = "as it is";
/// What disciplines got: by the draw's number and label, the measures of the run.
pub type Table = BTreeMap<u64, BTreeMap<String, Measures>>;

/// Of a household's score the part of [`Wanted::answers`]: that of each use where all are wanted.
const ANSWERS: f64 = 1.0 / (Use::ALL.len() + 1) as f64;

/// Of each label, its score (the mean over what is wanted) with each draw, and that of each thing that is wanted.
fn scored(table: &Table, subject: &Subject, labels: &[String]) -> (Vec<Vec<f64>>, Vec<Vec<Vec<f64>>>) {
    let wanted = subject.wanted();
    let (mut totals, mut of_each) =
        (vec![Vec::new(); labels.len()], vec![vec![Vec::new(); wanted.len()]; labels.len()]);
    for draw in table.values() {
        let got: Vec<&Measures> = labels.iter().filter_map(|l| draw.get(l)).collect();
        if got.len() != labels.len() {
            continue;
        }
        let scores = |w: &Wanted| match got.iter().all(|m| w.is_open(m)) {
            true => vec![f64::NAN; got.len()],
            false => w.scores(&got.iter().map(|m| w.got(m)).collect::<Vec<f64>>()),
        };
        let scores: Vec<Vec<f64>> = wanted.iter().map(scores).collect();
        for i in 0..labels.len() {
            totals[i].push(total(subject, scores.iter().map(|of| of[i]).collect()));
            for (w, of) in scores.iter().enumerate() {
                of_each[i][w].push(of[i]);
            }
        }
    }
    (totals, of_each)
}

/// The mean of scores that are known; of a line the last is how it answers, which has a part of its own. Where no use has a score, that alone says
/// nothing.
fn total(subject: &Subject, scores: Vec<f64>) -> f64 {
    let known = |of: &[f64]| mean(of.iter().copied());
    match (subject, scores.split_last()) {
        (Subject::Line(_), Some((answers, uses))) if answers.is_finite() => {
            (1.0 - ANSWERS) * known(uses) + ANSWERS * answers
        }
        (Subject::Line(_), Some((_, uses))) => known(uses),
        _ => known(&scores),
    }
}

/// What is there now, a plain queue and FQ-CoDel, which are at hand nearly everywhere, these, and so many of the best, in the order of labels.
pub fn best_of(
    table: &Table,
    subject: &Subject,
    labels: &[String],
    always: &[String],
    many: usize,
) -> Vec<String> {
    let (totals, _) = scored(table, subject, labels);
    if labels.len() <= many + 2 {
        return labels.to_vec();
    }
    let mut kept: Vec<usize> = order(&totals).into_iter().filter(|i| labels[*i] != NOW).take(many).collect();
    let stays =
        |label: &String| [NOW, "droptail", "fq-codel"].contains(&label.as_str()) || always.contains(label);
    kept.extend((0..labels.len()).filter(|i| stays(&labels[*i])));
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
pub fn judged(table: &Table, subject: &Subject, labels: &[String]) -> Choice {
    choose(&scored(table, subject, labels).0)
}

/// What came of a set of draws that was kept apart.
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

    /// Is the best one not surely ahead by that: does the 95 % interval of the difference reach below the margin?
    fn within_interval(&self) -> bool {
        self.behind.interval[0] < MARGIN
    }
}

/// What is said in the end.
pub struct Advice<'a> {
    /// What it is for.
    pub subject: &'a Subject,
    /// What was tried with all draws, the simplest first.
    pub labels: &'a [String],
    /// What each got.
    pub table: &'a Table,
    /// The same in sets of draws that were kept apart.
    pub apart: &'a [Table],
    /// Who is taken, by its place among the labels, and how the others stand.
    pub choice: Choice,
    /// Everything was tried with the draws that were kept apart, and not only what was kept.
    pub all_apart: bool,
    /// The one that is taken as `--aqm` has it, with its parameters.
    pub written: &'a str,
    /// The device in the commands.
    pub dev: &'a str,
    /// What a kernel needs for the one that is taken, before the commands; empty: nothing.
    pub needs: &'a str,
}

impl Advice<'_> {
    /// What a label gets: a value over all draws.
    fn sure(&self, label: usize, of: impl Fn(&Measures) -> f64) -> Sure {
        let values: Vec<f64> =
            self.table.values().filter_map(|h| h.get(&self.labels[label])).map(of).collect();
        Sure::of(&values)
    }

    /// Of each set of draws that was kept apart: who is the best there, and how much behind is the one that was taken?
    fn held_out(&self) -> Vec<HeldOut> {
        let of_set = |table: &Table| {
            let labels: Vec<String> =
                table.values().next().map_or(Vec::new(), |h| h.keys().cloned().collect());
            let (totals, _) = scored(table, self.subject, &labels);
            let chosen = labels.iter().position(|l| *l == self.labels[self.choice.chosen]).unwrap_or(0);
            let all = |i: usize| mean(totals[i].iter().copied());
            // Of equals it is the best itself.
            let first = order(&totals)[0];
            let best = if all(first) > all(chosen) { first } else { chosen };
            HeldOut { best: labels[best].clone(), behind: ahead(&totals[best], &totals[chosen]) }
        };
        self.apart.iter().map(of_set).collect()
    }

    /// The advice in words, with the commands.
    pub fn words(&self) -> String {
        let (totals, of_each) = scored(self.table, self.subject, self.labels);
        let mut out = self.taken();
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
        out += &self.unknown(&of_each);
        let wanted = self.subject.wanted();
        for i in (0..self.labels.len()).filter(|i| *i != self.choice.chosen) {
            let better: Vec<&str> = (0..wanted.len())
                .filter(|w| ahead(&of_each[i][*w], &of_each[self.choice.chosen][*w]).interval[0] > MARGIN)
                .map(|w| wanted[w].name.as_str())
                .collect();
            if !better.is_empty() {
                let who = if self.labels[i] == NOW { "What is there now" } else { &self.labels[i] };
                let _ = writeln!(out, "{who} would be better for {}.", better.join(", "));
            }
        }
        let sqm = self.sqm().map_or(String::new(), |section| {
            format!(
                "Or on OpenWrt with the package sqm-scripts, which puts it on again after a restart: write this to /etc/config/sqm, in the place of what is there, then /etc/init.d/sqm enable and /etc/init.d/sqm restart.\n\n{}\n",
                section.lines().map(|line| format!("  {line}\n")).collect::<String>()
            )
        });
        out + self.needs + &self.commands() + &sqm
    }

    /// What is wanted and had no value, or no difference that a score knows, with all draws.
    fn unknown(&self, of_each: &[Vec<Vec<f64>>]) -> String {
        let wanted = self.subject.wanted();
        // With so many draws nobody has a value of it.
        let nobody = |w: usize| {
            let draws = of_each[0][w].len();
            let without = (0..draws).filter(|d| of_each.iter().all(|of| of[w][*d].is_nan())).count();
            (without, draws)
        };
        let names = |which: fn((usize, usize)) -> bool| -> String {
            let names = (0..wanted.len()).filter(|w| which(nobody(*w))).map(|w| wanted[w].name.as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        let mut out = String::new();
        let all = names(|(without, draws)| without == draws);
        if !all.is_empty() {
            let _ = write!(out, "Not in the score, as nothing that was tried gets anything: {all}.\n\n");
        }
        let most = names(|(without, draws)| without < draws && 2 * without > draws);
        if !most.is_empty() {
            let _ = write!(
                out,
                "Not in the score of most {}, as nothing that was tried gets anything there, or all is still to come at the end: {most}.\n\n",
                self.subject.draws()
            );
        }
        out
    }

    /// Is there anything to go by?
    pub fn is_measured(&self) -> bool {
        self.choice.places[self.choice.best].1.mean.is_finite()
    }

    /// Who is taken, in a sentence.
    fn taken(&self) -> String {
        let chosen = self.labels[self.choice.chosen].as_str();
        let nothing = format!("nothing that was tried is better by as much as {MARGIN} of the score.");
        match (self.subject, chosen) {
            (Subject::Line(_), NOW) => format!("Leave the line as it is: {nothing}\n"),
            (Subject::File { name, now, .. }, NOW) => {
                format!("Leave {name} as it is, with {now}: {nothing}\n")
            }
            (Subject::File { .. }, _) => format!("Take {}.\n", self.written),
            (Subject::Line(line), chosen) => {
                let (down, up) = line.shaped();
                let rates = format!("{} down and {} up", Unit::Rate.show(down), Unit::Rate.show(up));
                match chosen {
                    "droptail" => format!("Shape to {rates}, with a plain queue: {nothing}\n"),
                    _ => format!(
                        "Take {}, shaped to {rates}: {} % and 95 % of the line, so that packets wait in your queue rather than in the modem's or the provider's.\n",
                        self.written, line.down_percent
                    ),
                }
            }
        }
    }

    /// How to put it on.
    fn commands(&self) -> String {
        match self.subject {
            _ if self.labels[self.choice.chosen] == NOW => String::new(),
            Subject::Line(line) => on_line(self.written, self.dev, line.shaped()),
            Subject::File { ports, .. } => {
                on_ports(self.written, self.dev, &self.waits(ports), ports.len() > 1)
            }
        }
    }

    /// The same for SQM, on a household's line.
    fn sqm(&self) -> Option<String> {
        match self.subject {
            Subject::Line(line) if self.labels[self.choice.chosen] != NOW => {
                of_sqm(self.written, self.dev, line.shaped())
            }
            _ => None,
        }
    }

    /// Of these ports those where packets wait as things are: at least a twentieth of the longest mean wait at any.
    fn waits<'p>(&self, ports: &'p [PutOn]) -> Vec<&'p PutOn> {
        let now = self.labels.iter().position(|l| l == NOW).unwrap_or(0);
        let wait = |port: &PutOn| {
            let path = format!("port.{}.sojourn_ms.mean", port.port);
            self.sure(now, |m| value(m, &path)).mean
        };
        let is_wait = |path: &str| path.starts_with("port.") && path.ends_with(".sojourn_ms.mean");
        let longest = self.sure(now, |m| {
            m.iter().filter(|(path, _)| is_wait(path)).map(|(_, wait)| *wait).fold(f64::NAN, f64::max)
        });
        let (waits, longest) = (ports.iter().map(wait), longest.mean);
        // Of a single port measures have no name.
        ports
            .iter()
            .zip(waits)
            .filter(|(_, wait)| wait.is_nan() || *wait >= longest / 20.0)
            .map(|p| p.0)
            .collect()
    }

    /// Who is as good, who cannot be told from the best, and whether what is at hand everywhere is worse.
    fn others(&self, totals: &[Vec<f64>]) -> String {
        let mut out = String::new();
        let chosen = self.labels[self.choice.chosen].as_str();
        let as_good: Vec<&str> = self.choice.others(Place::AsGood).map(|i| self.labels[i].as_str()).collect();
        if !as_good.is_empty() {
            let _ = writeln!(
                out,
                "As good, with the best of them less than {MARGIN} ahead of each by 95 % intervals: {}.",
                as_good.join(", ")
            );
            let first = self.choice.others(Place::AsGood).next().is_some_and(|i| i > self.choice.chosen);
            if chosen != NOW && first && BY_TC.iter().any(|d| d.name == chosen) {
                out.truncate(out.trim_end().len());
                let _ = writeln!(out, " {chosen} is the simplest of them to have.");
            }
        }
        let untold: Vec<String> = self
            .choice
            .others(Place::Untold)
            .map(|i| format!("{} ({})", self.labels[i], interval(self.choice.places[i].1)))
            .collect();
        if !untold.is_empty() {
            let _ = writeln!(
                out,
                "{} {} do not tell whether these are as good, so much behind the best: {}.",
                self.table.len(),
                self.subject.draws(),
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

    /// What the draws that were kept apart say.
    fn checked(&self) -> String {
        let (draws, on) = (self.subject.draws(), if self.subject.is_line() { " on this line" } else { "" });
        let set = self.subject.set();
        let of = match self.all_apart {
            true => "all that were tried".to_string(),
            false => format!("the {} that were kept", self.labels.len()),
        };
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
                format!("With {set} other {draws}{on}, kept apart, {what}\n\n")
            }
            sets => {
                let of_sets = |of: fn(&HeldOut) -> bool| sets.iter().filter(|s| of(s)).count();
                format!(
                    "With {} of {} sets of {set} other {draws}, kept apart, it is the best of {of}, or less than {MARGIN} behind; with {} the best is not ahead by that with the whole of the 95 % interval.\n\n",
                    of_sets(HeldOut::within),
                    sets.len(),
                    of_sets(HeldOut::within_interval)
                )
            }
        }
    }

    /// A row for each of these: the score, and what each gets.
    fn effects(&self, shown: &[usize], totals: &[Vec<f64>]) -> String {
        let of_line = self.subject.is_line();
        let mut rows = vec![vec![String::new(), "score".to_string()]];
        let cell = |s: Sure, factor: f64, digits: usize| {
            let n = |v: f64| if v.is_finite() { format!("{:.digits$}", v * factor) } else { "-".into() };
            format!("{} ({} to {})", n(s.mean), n(s.interval[0]), n(s.interval[1]))
        };
        for i in shown {
            rows.push(vec![self.labels[*i].clone(), cell(Sure::of(&totals[*i]), 1.0, 2)]);
        }
        // A heading, and what each has.
        let mut column = |heading: String, of: &dyn Fn(&Measures) -> f64, factor: f64, digits: usize| {
            let all: Vec<Sure> = shown.iter().map(|i| self.sure(*i, of)).collect();
            if all.iter().all(|s| s.mean.is_nan()) {
                return;
            }
            rows[0].push(heading);
            for (row, sure) in rows[1..].iter_mut().zip(all) {
                row.push(cell(sure, factor, digits));
            }
        };
        for wanted in self.subject.wanted() {
            for (heading, of, factor, digits) in wanted.columns(of_line) {
                column(heading, &of, factor, digits);
            }
        }
        if of_line {
            for (heading, of, factor, digits) in beside() {
                column(heading, &of, factor, digits);
            }
        }
        let mut out = String::new();
        let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
        for row in &rows {
            let cells: Vec<String> =
                row.iter().enumerate().map(|(c, cell)| format!("{cell:<0$}", width(c))).collect();
            let _ = writeln!(out, "{}", cells.join("  ").trim_end());
        }
        let _ = writeln!(
            out,
            "Means over the {}, with 95 % intervals. MOS: 1 to 4.4, above 4 is good; QoO: 0 to 100; RPM: round trips a minute under load; complete: pages, or flows, that came whole.{}\n",
            self.subject.draws(),
            if of_line {
                " A page that has not come by the end has taken until then. Beside the score: lost, of the packets of the worse direction; least share, of the slowest download beside the fastest, or the slowest upload if that is less."
            } else {
                ""
            }
        );
        out
    }

    /// The page: the words, and all that was tried.
    pub fn page(&self, words: &str) -> String {
        let (totals, _) = scored(self.table, self.subject, self.labels);
        let all: Vec<usize> = (0..self.labels.len()).collect();
        let draws = self.subject.draws();
        let kept = match self.subject {
            Subject::Line(_) => {
                "The households are in `households/`: each is a scenario that `queuewright run` takes."
            }
            Subject::File { .. } => "The scenario is `scenario.toml`.",
        };
        format!(
            "# Advice\n\n{words}\n## All that were tried with all {draws}\n\n```\n{}```\n\n{kept}\n",
            self.effects(&all, &totals)
        )
    }

    /// The advice for programs.
    pub fn json(&self) -> serde_json::Value {
        let (totals, _) = scored(self.table, self.subject, self.labels);
        let apart: Vec<_> = self
            .held_out()
            .into_iter()
            .map(|set| {
                json!({
                    "within": set.within(), "within_interval": set.within_interval(),
                    "best": set.best, "behind": set.behind,
                })
            })
            .collect();
        let each: Vec<_> = self
            .labels
            .iter()
            .zip(&totals)
            .zip(&self.choice.places)
            .map(|((label, t), (_, behind))| json!({"discipline": label, "score": Sure::of(t), "behind": behind}))
            .collect();
        let those = |place| -> Vec<&String> { self.choice.others(place).map(|i| &self.labels[i]).collect() };
        let mut all = json!({
            "take": self.labels[self.choice.chosen], "as_good": those(Place::AsGood), "untold": those(Place::Untold),
            self.subject.draws(): self.table.len(), "scores": each, "held_out": apart,
        });
        all["written"] = json!(self.written);
        let commands = self.commands();
        let lines = commands.lines().filter_map(|line| line.strip_prefix("  "));
        all["commands"] = json!(
            lines.filter(|l| !l.starts_with('#')).map(|l| l.trim_end_matches(" &&")).collect::<Vec<_>>()
        );
        if let Some(section) = self.sqm() {
            all["sqm"] = json!(section);
        }
        if let Subject::Line(line) = self.subject
            && all["take"] != NOW
        {
            all["shape"] = json!({"down_bps": line.shaped().0, "up_bps": line.shaped().1});
        }
        all
    }
}

/// A difference of scores with its interval.
fn interval(of: Sure) -> String {
    format!("{:.3} ({:.3} to {:.3})", of.mean, of.interval[0], of.interval[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::{Access, Use};

    fn got(down_bps: f64) -> Measures {
        let mut all = Measures::from([("group.downloads.goodput_bps".to_string(), down_bps)]);
        for (port, wait) in [("down", 20.0), ("air", 5.0), ("lan", 0.01)] {
            all.insert(format!("port.{port}.sojourn_ms.mean"), wait);
        }
        all
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
        let subject = Subject::Line(line);
        let labels: Vec<String> = of.iter().map(|(label, _)| label.to_string()).collect();
        let table = table(of, 5..21);
        let choice = judged(&table, &subject, &labels);
        let apart = [self::table(apart, 1001..1017)];
        let advice = Advice {
            subject: &subject,
            labels: &labels,
            table: &table,
            apart: &apart,
            written: &labels[choice.chosen],
            choice,
            all_apart: false,
            dev: "eth0",
            needs: "",
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
            said.contains("kept apart, it is 0.010 (0.010 to 0.010) behind titrate, the best of the 3 that were kept: less than 0.02, as good."),
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

    /// What nobody has anything of is named; where nothing is known there is no advice.
    #[test]
    fn what_is_not_measured_is_said() {
        let access = Access::read("dsl").unwrap();
        let subject =
            Subject::Line(Line::new("20mbit", "20ms", access, vec![Use::Downloads, Use::Web]).unwrap());
        let labels = [NOW, "fq-codel"].map(String::from);
        let of = |got: fn(f64) -> Measures| -> Table {
            (5..21).map(|n| (n, labels.iter().map(|l| (l.clone(), got(n as f64))).collect())).collect()
        };
        let said = |table: &Table| {
            let choice = judged(table, &subject, &labels);
            let advice = Advice {
                subject: &subject,
                labels: &labels,
                table,
                apart: &[],
                written: &labels[choice.chosen],
                choice,
                all_apart: true,
                dev: "eth0",
                needs: "",
            };
            (advice.is_measured(), advice.words())
        };
        let (is, words) = said(&of(got));
        assert!(is && words.contains("gets anything: web, answers."), "{words}");
        assert!(!said(&of(|_| Measures::new())).0);
    }

    /// With one use wanted, how the line answers is a seventh of the score, as with all.
    #[test]
    fn what_nobody_asked_for_weighs_little() {
        let access = Access::read("dsl").unwrap();
        for uses in ["web", "calls,games,video,web,downloads,uploads"] {
            let line = Line::new("20mbit", "20ms", access, Use::list(uses).unwrap()).unwrap();
            let n = line.uses.len();
            let subject = Subject::Line(line);
            let scores = |answers: f64| std::iter::repeat_n(0.7, n).chain([answers]).collect();
            assert!((total(&subject, scores(0.0)) - 0.6).abs() < 1e-9);
            assert!((total(&subject, scores(f64::NAN)) - 0.7).abs() < 1e-9);
            // Where nobody gets anything of what is wanted, that the line answers is no score.
            assert!(total(&subject, std::iter::repeat_n(f64::NAN, n).chain([1.0]).collect()).is_nan());
        }
    }

    #[test]
    fn what_is_not_sure_is_said() {
        let as_it_is = |n: u64| if n.is_multiple_of(2) { 10.2 } else { 9.0 };
        let of: [Named; 3] = [(NOW, as_it_is), ("fq-codel", |_| 8.0), ("titrate", |_| 9.8)];
        let apart: [Named; 3] = [(NOW, |_| 5.0), ("fq-codel", |_| 10.0), ("titrate", |_| 9.0)];
        let said = words(&of, &apart);
        assert!(said.starts_with("Take titrate"), "{said}");
        assert!(said.contains("16 households do not tell whether these are as good, so much behind the best: as it is (0.021 ("), "{said}");
        assert!(said.contains("The kernel's own fq_codel is worse here, by 0.1"), "{said}");
        assert!(
            said.contains("it is 0.100 (0.100 to 0.100) behind fq-codel, the best of the 3 that were kept: the choice is not sure."),
            "{said}"
        );
    }

    /// Of a scenario: what is there now is its first discipline, there is no shaping, and a port without one rate has none in the command.
    #[test]
    fn a_scenario_is_advised_on_as_it_stands() {
        let all = |of: &[Named]| {
            let table = table(of, 5..21);
            let wanted = Wanted::of_runs(&["downloads".to_string()], [&got(1e6)]);
            let port =
                |name: &str, packets: u32, bytes: Option<u64>| PutOn { port: name.into(), packets, bytes };
            let ports = vec![port("down", 300, None), port("air", 50, Some(76_800)), port("lan", 10, None)];
            let subject = Subject::File { name: "my.toml".into(), wanted, now: "red".into(), ports };
            let labels: Vec<String> = of.iter().map(|(label, _)| label.to_string()).collect();
            let choice = judged(&table, &subject, &labels);
            let advice = Advice {
                subject: &subject,
                labels: &labels,
                table: &table,
                apart: &[],
                written: &labels[choice.chosen],
                choice,
                all_apart: false,
                dev: "eth0",
                needs: "",
            };
            assert_eq!(advice.json()["seeds"], 16);
            assert!(advice.json().get("shape").is_none() && advice.page("").contains("`scenario.toml`"));
            advice.words()
        };
        let said = all(&[(NOW, |_| 5.0), ("fq-codel", |_| 8.0), ("titrate", |_| 9.8)]);
        assert!(said.starts_with("Take titrate.\n"), "{said}");
        assert!(said.contains("downloads (Mbit/s)") && !said.contains("link (power)"), "{said}");
        let commands = "  # on the device of down\n  queuewright attach DEV titrate --limit 300p\n  # on the device of air\n  queuewright attach DEV titrate --limit 75kb\n";
        assert!(said.ends_with(commands), "{said}");
        let said = all(&[(NOW, |_| 9.8), ("fq-codel", |_| 9.0)]);
        assert!(said.starts_with("Leave my.toml as it is, with red: nothing"), "{said}");
    }
}
