//! A picture as the page's script draws it, and what pictures share.

use crate::summary::{self, runs_of};
use queuewright_results::{Results, Run};
use serde_json::{Value, json};

/// Colours for disciplines in the style sheet (`--c0`...).
pub(super) const COLORS: usize = 8;
/// Colours for groups of flows (`--g0`...).
pub(super) const GROUP_COLORS: usize = 6;

/// Seeds whose curves are in the page; the CSV files have all.
pub(super) const MAX_SEEDS: usize = queuewright_scenario::limits::SHOWN_SEEDS;
/// Points of a curve in the page: about as many as a screen has pixels for it.
pub(super) const MAX_SAMPLES: usize = 1200;

/// A picture with its words.
pub(super) struct Figure {
    pub id: String,
    pub title: String,
    /// Explanation, HTML.
    pub words: String,
    /// Menus: label and options.
    pub controls: Vec<(&'static str, Vec<String>)>,
    /// `{"traces": [...], "layout": {...}}` for each combination of options, the last
    /// control's turning fastest.
    pub views: Vec<Value>,
}

/// Arrays of numbers, each in the page once however many views use it.
#[derive(Default)]
pub(super) struct Pool {
    pub arrays: Vec<String>,
}

impl Pool {
    /// Keeps an array with the given number of figures a value; returns what stands
    /// for it in a trace. A value that is not finite is a gap.
    pub(super) fn add(&mut self, values: impl IntoIterator<Item = f64>, figures: usize) -> Value {
        let digits = figures - 1;
        let texts: Vec<String> = values
            .into_iter()
            .map(|value| {
                let rounded = format!("{value:.digits$e}").parse().unwrap_or(f64::NAN);
                match rounded {
                    0.0 => "0".into(),
                    v if v.is_finite() => v.to_string(),
                    _ => "null".into(),
                }
            })
            .collect();
        self.keep(texts)
    }

    pub(super) fn add_texts(&mut self, texts: impl IntoIterator<Item = String>) -> Value {
        let texts = texts.into_iter().map(|text| Value::from(text).to_string()).collect();
        self.keep(texts)
    }

    fn keep(&mut self, texts: Vec<String>) -> Value {
        self.arrays.push(format!("[{}]", texts.join(",")));
        json!({"ref": self.arrays.len() - 1})
    }
}

/// Results with what every picture asks for.
pub(super) struct Comparison<'a> {
    pub results: &'a Results,
    pub labels: Vec<&'a str>,
    pub ports: Vec<&'a str>,
    /// Names of the groups of flows.
    pub groups: Vec<&'a str>,
    pub seeds: Vec<u64>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(results: &'a Results) -> Self {
        let mut groups: Vec<&str> = Vec::new();
        for group in results.runs.iter().flat_map(|run| &run.groups) {
            if !groups.contains(&group.name.as_str()) {
                groups.push(&group.name);
            }
        }
        Comparison {
            results,
            groups,
            labels: summary::labels(results),
            ports: summary::ports(results),
            seeds: summary::seeds(results),
        }
    }

    pub(super) fn shown_seeds(&self) -> &[u64] {
        &self.seeds[..self.seeds.len().min(MAX_SEEDS)]
    }

    /// The menu of seeds.
    pub(super) fn seed_control(&self) -> (&'static str, Vec<String>) {
        ("Seed", self.shown_seeds().iter().map(u64::to_string).collect())
    }

    pub(super) fn run(&self, label: &'a str, seed: u64) -> Option<&'a Run> {
        runs_of(self.results, label).find(|run| run.seed == seed)
    }

    /// Says which seeds a picture has, if not all.
    pub(super) fn seeds_note(&self) -> String {
        if self.seeds.len() > MAX_SEEDS {
            format!(
                "<p class=\"muted\">The first {MAX_SEEDS} of {} seeds; the CSV files have all.</p>",
                self.seeds.len()
            )
        } else {
            String::new()
        }
    }
}

pub(super) fn color(discipline: usize) -> String {
    format!("@c{}", discipline % COLORS)
}

pub(super) fn group_color(group: usize) -> String {
    format!("@g{}", group % GROUP_COLORS)
}

pub(super) fn title(text: &str) -> Value {
    json!({"text": text})
}

/// Text as HTML text or attribute value.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
