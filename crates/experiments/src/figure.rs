//! The figure file: what is varied, what is drawn, what was published, what is claimed.

use crate::Error;
use queuewright_results::measures;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `NAME.figure.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What the figure shows, in a line.
    pub title: String,
    /// The paper's figure or table: `Figure 1`.
    pub figure: String,
    /// The paper: authors, title, venue.
    pub source: String,
    /// What a reader must know: what the paper leaves open, what was chosen. Markdown.
    #[serde(default)]
    pub about: String,
    /// What is varied, the first the slowest. Every combination is a case.
    #[serde(default, rename = "sweep")]
    pub sweeps: Vec<Sweep>,
    /// What is different in some of the cases.
    #[serde(default, rename = "adjust")]
    pub adjusts: Vec<Adjust>,
    /// How many seeds.
    #[serde(default)]
    pub seeds: Seeds,
    /// What `--quick` changes.
    #[serde(default)]
    pub quick: Quick,
    /// Where flows sit if each congestion control is alone: for `displacement`.
    pub displacement: Option<Displacement>,
    /// Measures by which the disciplines of a case are put in order: for `rank.NAME` and `of_best.NAME`.
    #[serde(default, rename = "rank")]
    pub ranks: Vec<Rank>,
    /// Measures by the names that this file uses.
    #[serde(default)]
    pub measures: BTreeMap<String, Measure>,
    /// Panels of the figure, row by row.
    #[serde(rename = "panel")]
    pub panels: Vec<Panel>,
    /// Panels in a row.
    #[serde(default = "two")]
    pub columns: usize,
    /// Further pictures, of panels that name them: title, without the figure's. In this order, after the first
    /// picture, which has the panels that name none.
    #[serde(default, rename = "picture")]
    pub pictures: Vec<Picture>,
    /// Values that the paper has.
    #[serde(default)]
    pub published: Vec<Published>,
    /// Sentences of the paper that can be true or false of the runs.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

fn two() -> usize {
    2
}

/// A dimension of the cases.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Name in data, panels and claims.
    pub name: String,
    /// Title of its axis, with unit.
    pub title: Option<String>,
    /// Its values.
    pub values: Vec<SweepValue>,
}

/// A value of a dimension.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepValue {
    /// Name in data, legends and claims.
    pub name: String,
    /// Place on a numeric axis.
    pub x: Option<f64>,
    /// Keys of the scenario that it sets, as in the scenario file. A table goes into a table key by key,
    /// and into each table of a list (or that of a number: `flows.0.rtt`); everything else replaces.
    #[serde(default)]
    pub set: toml::Table,
}

/// What is set in some of the cases, after all else.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adjust {
    /// Values of sweeps that these cases have.
    pub at: Filter,
    /// As of a sweep's value.
    pub set: toml::Table,
}

/// Seeds of each case: those of the scenario file, and more until means are known well enough.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// They are all that there are (given queues, say) and no sample of more: how these differ is no chance.
    #[serde(default)]
    pub all: bool,
    /// Add seeds until the half-width of the 95 % confidence interval is below this share of the mean...
    pub half_width: Option<f64>,
    /// ...of these measures...
    #[serde(default)]
    pub of: Vec<String>,
    /// ...but no more than so many.
    pub most: Option<usize>,
}

/// Displacement: how far a flow is from where its congestion control sits alone, in the plane of delay
/// and throughput (Mishra et al., NSDI 2026, sections 2.1 and 6.1).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Displacement {
    /// Cases in which each congestion control is alone.
    pub alone: Filter,
}

/// A measure by which the disciplines of a case and seed are put in order.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rank {
    /// Name of the measure.
    pub of: String,
    /// Which value is the best.
    pub best: Best,
}

/// Which end of a measure is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Best {
    /// The largest value.
    Most,
    /// The smallest.
    Least,
}

/// What `--quick` changes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quick {
    /// Seeds, the scenario's first.
    pub seeds: usize,
    /// Length of a run, in the place of the scenario's.
    pub duration: Option<String>,
    /// Warm-up, in the place of the scenario's.
    pub warmup: Option<String>,
    /// Only cases with these values of sweeps.
    pub only: Filter,
}

impl Default for Quick {
    fn default() -> Quick {
        Quick { seeds: 1, duration: None, warmup: None, only: Filter::new() }
    }
}

/// A measure: something out of a run's results, in the unit wanted.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Its name in the data.
    pub of: String,
    /// What it is multiplied by.
    #[serde(default = "one")]
    pub scale: f64,
    /// Its title, without unit.
    pub title: String,
    /// Its unit after scaling; empty: none.
    #[serde(default)]
    pub unit: String,
}

fn one() -> f64 {
    1.0
}

/// A further picture of a figure whose panels are too many for one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Picture {
    /// Name, part of its file's: small letters, digits, hyphens.
    pub name: String,
    /// What it shows, after the figure's title.
    pub title: String,
    /// Panels in a row; the figure's if left out.
    pub columns: Option<usize>,
}

/// What a panel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A measure over a dimension's numbers, a line for each series.
    Lines,
    /// A measure, a group of bars for each value of a dimension, a bar for each series.
    Bars,
    /// A measure over another, a mark for each series.
    Scatter,
    /// Share of runs at or below a measure, a curve for each series; of `group.NAME.fct_s` the share of flows.
    Cdf,
    /// A quantity over time, a curve for each series.
    Time,
    /// Every flow in the plane of delay and throughput, a mark for each group of flows; published are
    /// pairs of `group.NAME.delay_ms` and `group.NAME.flow_mbps`.
    Flows,
    /// A measure in numbers and colours: a row for each value of a dimension, a column for each series.
    Table,
}

/// A panel.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Title, such as `(a) Average queue length`.
    pub title: String,
    /// What it is.
    pub kind: Kind,
    /// Lines and bars: the dimension along the axis. Scatter and cdf: the measure along it.
    #[serde(default)]
    pub x: String,
    /// The measure along the other axis (time: the column of the time series).
    #[serde(default)]
    pub y: String,
    /// Dimensions whose values make the series; `discipline` is one.
    #[serde(default)]
    pub series: Vec<String>,
    /// Scatter: dimensions whose values make marks of their own in a series.
    #[serde(default)]
    pub each: Vec<String>,
    /// Only cases with these values of dimensions.
    #[serde(default)]
    pub only: Filter,
    /// Ends of the axis along; the second left of the first turns it round.
    pub x_range: Option<[f64; 2]>,
    /// Ends of the other axis.
    pub y_range: Option<[f64; 2]>,
    /// The x axis is logarithmic.
    #[serde(default)]
    pub x_log: bool,
    /// The y axis is logarithmic.
    #[serde(default)]
    pub y_log: bool,
    /// Title of the axis along, in the place of the dimension's or measure's.
    pub x_title: Option<String>,
    /// Title of the other axis.
    pub y_title: Option<String>,
    /// What error bars span.
    #[serde(default)]
    pub spread: Spread,
    /// Time: multiplies the column's values.
    #[serde(default = "one")]
    pub scale: f64,
    /// Which end of the measure is the good one. Table: for the colours; bars of one series: the best first.
    pub best: Option<Best>,
    /// The picture that it is part of; none: the first.
    pub picture: Option<String>,
}

/// What error bars span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// 95 % confidence of the mean.
    #[default]
    Confidence,
    /// Smallest to largest run.
    Range,
    /// None are drawn.
    None,
}

/// Values of dimensions, each one or a list.
pub type Filter = BTreeMap<String, OneOrMany>;

/// A text or a list of texts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// A single one, written without brackets.
    One(String),
    /// Any of these.
    Many(Vec<String>),
}

impl OneOrMany {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

/// A number or the ends of a range.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// A number.
    One(f64),
    /// From, to.
    Range([f64; 2]),
}

impl Number {
    /// Both ends.
    pub fn ends(self) -> [f64; 2] {
        match self {
            Number::One(x) => [x, x],
            Number::Range([a, b]) => [a.min(b), a.max(b)],
        }
    }
}

/// A value that the paper has, drawn as a hollow mark.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Of which measure.
    pub measure: String,
    /// Of which case.
    pub at: Filter,
    /// The value, in the measure's unit.
    pub value: Number,
    /// Where in the paper.
    pub source: String,
}

/// How several values become one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// The mean over the seeds.
    #[default]
    Mean,
    /// The smallest of the seeds'.
    Min,
    /// The largest of the seeds'.
    Max,
    /// The median over the seeds.
    Median,
    /// Not at all: each must agree (cases only).
    Each,
}

/// What is done with a value and the one it is held against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// The value itself.
    #[default]
    Value,
    /// Value / other.
    Ratio,
    /// Value - other.
    Difference,
    /// (Value / other - 1) in per cent.
    Change,
    /// The values rise along a dimension.
    Rising,
    /// They fall along it.
    Falling,
}

impl Form {
    /// Is a value held against another?
    pub fn compares(self) -> bool {
        matches!(self, Form::Ratio | Form::Difference | Form::Change)
    }
}

/// A claim of the paper.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The sentence, short.
    pub text: String,
    /// The paper's statements that it judges (`crates/experiments/statements`); none: it is one of our own.
    #[serde(default)]
    pub statements: Vec<String>,
    /// Where in the paper.
    pub source: String,
    /// Name of the measure, as in `measures` or in the data.
    pub measure: String,
    /// Which cases; those not named are all taken.
    #[serde(default)]
    pub at: Filter,
    /// Over the seeds of a case.
    #[serde(default)]
    pub seeds: Aggregate,
    /// Over the cases.
    #[serde(default)]
    pub cases: Aggregate,
    /// What is compared.
    #[serde(default)]
    pub form: Form,
    /// The other's cases: `at` with these values instead.
    #[serde(default)]
    pub against: Filter,
    /// The other's measure, where it is another one: two groups of a run, say.
    pub against_measure: Option<String>,
    /// The comparison is made at each value of these dimensions, and each must agree.
    #[serde(default)]
    pub each: Vec<String>,
    /// Rising and falling: along which dimension.
    pub along: Option<String>,
    /// The published value, or the range it is said to be in.
    pub published: Option<Number>,
    /// Or: at most this.
    pub at_most: Option<f64>,
    /// Or: at least this.
    pub at_least: Option<f64>,
    /// How far off it may be, in the value's unit.
    #[serde(default)]
    pub tolerance: f64,
    /// What experiments say of a claim that does not hold.
    pub why: Option<String>,
    /// Why it does not hold, where a run or the paper's own numbers show it.
    pub cause: Option<Cause>,
}

/// Why a claim does not hold, in a form that is looked at again with each run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// Of which kind.
    pub kind: CauseKind,
    /// It in a sentence or two.
    pub text: String,
    /// The claim holds with these values in the place of its `at`; where it names none of them, beside it.
    #[serde(default)]
    pub at: Filter,
    /// And with these in the place of its `against`.
    #[serde(default)]
    pub against: Filter,
    /// A contradiction: numbers of the paper whose sum is not what it prints...
    #[serde(default)]
    pub sum: Vec<f64>,
    /// ...or whose product is not.
    #[serde(default)]
    pub product: Vec<f64>,
    /// What it prints.
    pub printed: Option<f64>,
    /// By how much it may be off, as its numbers are rounded.
    #[serde(default)]
    pub rounding: f64,
}

/// Where the cause lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CauseKind {
    /// In what their network simulator or testbed does.
    Simulator,
    /// In what their program does and the paper does not say.
    Accident,
    /// The paper's own numbers cannot be together.
    Contradiction,
    /// In a value that the paper leaves out.
    Unstated,
}

impl CauseKind {
    /// Is it shown by a run?
    pub(crate) fn is_run(self) -> bool {
        self != CauseKind::Contradiction
    }

    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            CauseKind::Simulator => "their simulator or testbed",
            CauseKind::Accident => "their program",
            CauseKind::Contradiction => "the paper's own numbers",
            CauseKind::Unstated => "not said in the paper",
        }
    }
}

impl Cause {
    /// Do the numbers contradict one another?
    pub(crate) fn contradicts(&self) -> bool {
        let made = match (self.sum.is_empty(), self.product.is_empty()) {
            (false, true) => self.sum.iter().sum(),
            (true, false) => self.product.iter().product(),
            _ => f64::NAN,
        };
        self.printed.is_some_and(|printed: f64| (printed - made).abs() > self.rounding)
    }

    fn check(&self) -> Result<(), String> {
        let by_numbers = self.kind == CauseKind::Contradiction;
        let numbers = self.printed.is_some() && self.sum.is_empty() != self.product.is_empty();
        let runs = !self.at.is_empty() || !self.against.is_empty();
        match (by_numbers, numbers, runs) {
            (true, true, false) | (false, false, true) => Ok(()),
            (true, ..) => Err("a contradiction needs printed, and sum or product".into()),
            _ => Err("this kind needs at or against, the cases in which the claim holds".into()),
        }
    }
}

/// Can it be part of a file's name: small letters, digits, hyphens?
pub(crate) fn names_a_file(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(plain)
}

/// A TOML file of this folder. `name` is for errors.
pub(crate) fn read<T: DeserializeOwned>(text: &str, name: &str) -> Result<T, Error> {
    if let Some((at, what)) = queuewright_scenario::too_many_items(text) {
        let line = 1 + text[..at].bytes().filter(|b| *b == b'\n').count();
        return Err(Error::Input(format!("{name}:{line}: {what}")));
    }
    toml::from_str(text).map_err(|e| {
        let line = e.span().map_or(0, |s| 1 + text[..s.start].bytes().filter(|b| *b == b'\n').count());
        let message = e.message().split_whitespace().collect::<Vec<_>>().join(" ");
        match line {
            0 => Error::Input(format!("{name}: {message}")),
            _ => Error::Input(format!("{name}:{line}: {message}")),
        }
    })
}

impl Figure {
    /// Reads a figure file. `name` is for errors.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub fn parse(text: &str, name: &str) -> Result<Figure, Error> {
        let figure: Figure = read(text, name)?;
        figure.check().map_err(|message| Error::Input(format!("{name}: {message}")))?;
        Ok(figure)
    }

    /// The measure of a name: this file's, or one of the data as it is.
    pub fn measure(&self, name: &str) -> Measure {
        self.measures.get(name).cloned().unwrap_or_else(|| plain(name))
    }

    /// Does it ask where flows are?
    pub(crate) fn wants_points(&self) -> bool {
        self.displacement.is_some() || self.panels.iter().any(|p| p.kind == Kind::Flows)
    }

    /// The sweep of a name.
    pub fn sweep(&self, name: &str) -> Option<&Sweep> {
        self.sweeps.iter().find(|s| s.name == name)
    }

    /// What one part of the file says of another.
    fn check(&self) -> Result<(), String> {
        let mut seen: Vec<&str> = vec!["discipline"];
        for s in &self.sweeps {
            if seen.contains(&s.name.as_str()) {
                return Err(format!("sweep \"{}\" is there twice", s.name));
            }
            seen.push(&s.name);
            if s.values.is_empty() {
                return Err(format!("sweep \"{}\" has no values", s.name));
            }
            for (i, v) in s.values.iter().enumerate() {
                if s.values[..i].iter().any(|w| w.name == v.name) {
                    return Err(format!("sweep \"{}\" has \"{}\" twice", s.name, v.name));
                }
            }
        }
        for a in &self.adjusts {
            if a.at.contains_key("discipline") {
                return Err("adjust: at: a case has all disciplines of its scenario; name a sweep".into());
            }
            self.filter(&a.at).map_err(|e| format!("adjust: at: {e}"))?;
        }
        if self.quick.only.contains_key("discipline") {
            return Err("quick: only: a case has all disciplines of its scenario; name a sweep".into());
        }
        self.filter(&self.quick.only).map_err(|e| format!("quick: only: {e}"))?;
        if let Some(d) = &self.displacement {
            self.filter(&d.alone).map_err(|e| format!("displacement: alone: {e}"))?;
        }
        if self.seeds.all && self.seeds.half_width.is_some() {
            return Err(
                "seeds: where they are all, no more can be added: all does not go with half_width".into()
            );
        }
        if self.panels.is_empty() || self.columns == 0 {
            return Err("a figure needs a panel, and a column to put it in".into());
        }
        self.check_pictures()?;
        for (i, p) in self.panels.iter().enumerate() {
            let here = format!("panel {} (\"{}\")", i + 1, p.title);
            for name in &p.series {
                self.known(name).map_err(|e| format!("{here}: series: {e}"))?;
            }
            for name in &p.each {
                self.known(name).map_err(|e| format!("{here}: each: {e}"))?;
            }
            if p.kind != Kind::Scatter && !p.each.is_empty() {
                return Err(format!("{here}: each is for scatter"));
            }
            self.filter(&p.only).map_err(|e| format!("{here}: only: {e}"))?;
            match p.kind {
                Kind::Lines | Kind::Bars | Kind::Table => {
                    self.known(&p.x).map_err(|e| format!("{here}: x: {e}"))?;
                }
                Kind::Scatter | Kind::Cdf | Kind::Time | Kind::Flows => {}
            }
            if p.kind == Kind::Lines
                && let Some(v) = self.sweep(&p.x).and_then(|s| s.values.iter().find(|v| v.x.is_none()))
            {
                return Err(format!("{here}: \"{}\" of sweep \"{}\" has no x to draw it at", v.name, p.x));
            }
            if p.y.is_empty() && !matches!(p.kind, Kind::Cdf | Kind::Flows) {
                return Err(format!("{here}: missing y, a measure"));
            }
        }
        for p in &self.published {
            self.filter(&p.at).map_err(|e| format!("published ({}): at: {e}", p.source))?;
        }
        for c in &self.claims {
            let here = format!("claim \"{}\"", c.text);
            self.filter(&c.at).map_err(|e| format!("{here}: at: {e}"))?;
            self.filter(&c.against).map_err(|e| format!("{here}: against: {e}"))?;
            let bounds = [c.published.is_some(), c.at_most.is_some(), c.at_least.is_some()];
            let needed = usize::from(!matches!(c.form, Form::Rising | Form::Falling));
            if bounds.iter().filter(|b| **b).count() != needed {
                return Err(format!(
                    "{here}: give one of published, at_most, at_least (none if rising, falling)"
                ));
            }
            if matches!(c.form, Form::Rising | Form::Falling) {
                match &c.along {
                    Some(name) if self.sweep(name).is_some() => {}
                    _ => return Err(format!("{here}: rising and falling need along, a sweep")),
                }
            }
            if c.form.compares() && c.against.is_empty() && c.against_measure.is_none() {
                return Err(format!("{here}: missing against, what it is compared with"));
            }
            if !c.form.compares() && c.against_measure.is_some() {
                return Err(format!("{here}: against_measure is for ratio, difference and change"));
            }
            for name in &c.each {
                self.known(name).map_err(|e| format!("{here}: each: {e}"))?;
                if !c.form.compares() || c.against.contains_key(name) {
                    let what = "for ratio, difference and change, of what against does not name";
                    return Err(format!("{here}: each = \"{name}\": {what}"));
                }
            }
            if let Some(cause) = &c.cause {
                cause.check().map_err(|e| format!("{here}: cause: {e}"))?;
                self.filter(&cause.at).map_err(|e| format!("{here}: cause: at: {e}"))?;
                self.filter(&cause.against).map_err(|e| format!("{here}: cause: against: {e}"))?;
            }
            if c.seeds == Aggregate::Each {
                return Err(format!("{here}: seeds = \"each\" is for cases"));
            }
        }
        Ok(())
    }

    /// Each picture has panels, and each panel a picture.
    fn check_pictures(&self) -> Result<(), String> {
        if self.panels.iter().all(|p| p.picture.is_some()) {
            return Err("each panel names a picture; the first picture is of those that name none".into());
        }
        for (i, p) in self.pictures.iter().enumerate() {
            if !names_a_file(&p.name) {
                return Err(format!("picture \"{}\": a name has small letters, digits, hyphens", p.name));
            }
            if self.pictures[..i].iter().any(|q| q.name == p.name) {
                return Err(format!("picture \"{}\" is there twice", p.name));
            }
            if p.columns == Some(0) || !self.panels.iter().any(|q| q.picture.as_ref() == Some(&p.name)) {
                return Err(format!("picture \"{}\" needs a panel, and a column to put it in", p.name));
            }
        }
        for (i, p) in self.panels.iter().enumerate() {
            if let Some(name) = &p.picture
                && !self.pictures.iter().any(|q| q.name == *name)
            {
                return Err(format!("panel {} (\"{}\"): no picture \"{name}\"", i + 1, p.title));
            }
        }
        Ok(())
    }

    fn known(&self, name: &str) -> Result<(), String> {
        if name == "discipline" || self.sweep(name).is_some() {
            return Ok(());
        }
        let names: Vec<&str> = self.sweeps.iter().map(|s| s.name.as_str()).chain(["discipline"]).collect();
        Err(format!("no sweep \"{name}\"; there are {}", names.join(", ")))
    }

    fn filter(&self, filter: &Filter) -> Result<(), String> {
        for (name, values) in filter {
            self.known(name)?;
            let Some(sweep) = self.sweep(name) else { continue };
            for value in values.all() {
                if !sweep.values.iter().any(|v| v.name == *value) {
                    let names: Vec<&str> = sweep.values.iter().map(|v| v.name.as_str()).collect();
                    return Err(format!("{name} has no \"{value}\"; it has {}", names.join(", ")));
                }
            }
        }
        Ok(())
    }
}

/// A measure as the data have it, with title and unit if it is a common one.
fn plain(name: &str) -> Measure {
    // Of a single flow of a group.
    if let Some((of, end @ ("min" | "max"))) = name.rsplit_once('.')
        && (of.ends_with(".delay_ms") || of.ends_with(".flow_mbps"))
        && of.split('.').count() == 3
    {
        let all = plain(of);
        return Measure { of: name.into(), title: format!("{}, {end}", all.title), ..all };
    }
    // Those that are made here, of several runs or of what a run says of its flows.
    let made = [
        ("displacement", 1.0, "displacement", ""),
        ("power", 1.0, "power: use of the link times RTT without over RTT with the queue", ""),
        ("least_share", 100.0, "goodput of the poorest flow, of the mean", "%"),
    ];
    let measured = measures::find(name).map(|m| (m.scale, m.title, m.unit));
    let made = made.iter().find(|c| c.0 == name).map(|c| (c.1, c.2, c.3));
    let (scale, title, unit) = match measured.or(made) {
        Some((scale, title, unit)) => (scale, title.to_string(), unit),
        None => match name.strip_prefix("group.").and_then(|n| n.rsplit_once('.')) {
            Some((group, "delay_ms")) => (1.0, format!("{group}: RTT with sojourn time"), "ms"),
            Some((group, "flow_mbps")) => (1.0, format!("{group}: goodput of a flow"), "Mbit/s"),
            Some((group, "displacement")) => (1.0, format!("{group}: displacement"), ""),
            _ => (1.0, name.to_string(), ""),
        },
    };
    Measure { of: name.into(), scale, title, unit: unit.into() }
}
