//! Pictures of sampled quantities over time.

use super::figure::{Comparison, Figure, MAX_SAMPLES, Pool, color, escape, group_color, title};
use crate::thin;
use queuewright_results::{Column, Run};
use serde_json::{Value, json};

/// Points of a curve that shows a rate, each a mean: more would show single packets.
const RATE_SAMPLES: usize = 400;
/// Line styles of the quantities or flows that share a colour.
const DASHES: [&str; 6] = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];

/// Queue with threshold or drop probability, at one port.
pub(super) fn queue(results: &Comparison, pool: &mut Pool, i: usize, port: &str, of: &str) -> Option<Figure> {
    let words = "<p>Solid: bytes waiting in the queue. For the disciplines that have one, dashed: the threshold \
                 above which it drops; dotted, with the scale on the right: the probability with which it \
                 drops. A queue that never empties only adds delay; one that is empty for long leaves the \
                 link idle. Grey: the warm-up, which no number counts; the scales fit what comes after \
                 it.</p>";
    let quantities = ["backlog_bytes", "threshold_bytes", "drop_probability"];
    Picture {
        id: format!("queue{i}"),
        title: format!("Queue over time{of}"),
        words,
        of: Of::Port(port, &quantities),
        samples: MAX_SAMPLES,
        tick_unit: "B",
        unit: "B",
    }
    .figure(results, pool)
}

/// What one port's link carried.
pub(super) fn rate(results: &Comparison, pool: &mut Pool, i: usize, port: &str, of: &str) -> Option<Figure> {
    let words = "<p>What the link carried. Dips below its capacity are time in which there was nothing to \
                 send, or in which the link itself was slower. A long run is averaged to 400 points.</p>";
    Picture {
        id: format!("rate{i}"),
        title: format!("Link rate over time{of}"),
        words,
        of: Of::Port(port, &["rate_bps", "capacity_bps"]),
        samples: RATE_SAMPLES,
        tick_unit: "bit/s",
        unit: "bit/s",
    }
    .figure(results, pool)
}

/// Congestion windows of the sampled flows.
pub(super) fn windows(results: &Comparison, pool: &mut Pool) -> Option<Figure> {
    let words = "<p>How many packets a flow dares to have under way at once. Most congestion controls let it \
                 grow until the discipline signals by a drop or a mark, then shrink it: the saw-teeth of \
                 TCP. BBR follows its own measure of the link instead. The flows are those that the scenario \
                 samples; in rows, the colours are those of their groups.</p>";
    Picture {
        id: "cwnd".into(),
        title: "Congestion windows, packets".into(),
        words,
        of: Of::Flows("cwnd"),
        samples: MAX_SAMPLES,
        tick_unit: "",
        unit: " packets",
    }
    .figure(results, pool)
}

/// Goodput of the sampled flows.
pub(super) fn goodputs(results: &Comparison, pool: &mut Pool) -> Option<Figure> {
    let words = "<p>Data that arrived in order, per second, for the flows that the scenario samples. Flows of \
                 one discipline that stay at one height share the link alike; wide swings mean that they take \
                 turns. When a lost packet comes at last, all that waited behind it counts at once: a spike. \
                 A long run is averaged to 400 points.</p>";
    Picture {
        id: "goodput".into(),
        title: "Goodput over time".into(),
        words,
        of: Of::Flows("goodput_bps"),
        samples: RATE_SAMPLES,
        tick_unit: "bit/s",
        unit: "bit/s",
    }
    .figure(results, pool)
}

struct Picture<'a> {
    id: String,
    title: String,
    words: &'static str,
    of: Of<'a>,
    samples: usize,
    /// Unit at the scale, which repeats it, and in a pop-up.
    tick_unit: &'static str,
    unit: &'static str,
}

/// Whose quantities a picture shows: columns `<port>.<quantity>` or `flow<id>.<quantity>`.
#[derive(Clone, Copy)]
enum Of<'a> {
    Port(&'a str, &'a [&'a str]),
    Flows(&'a str),
}

/// What one line is: a quantity of a port or a flow.
#[derive(Clone, PartialEq)]
struct Kind {
    name: String,
    dash: &'static str,
    /// Colour and line style where the discipline is told by its row; none: as elsewhere.
    in_row: Option<(String, &'static str)>,
    probability: bool,
}

/// A line of one run.
struct Curve {
    discipline: usize,
    /// Index into the picture's kinds.
    kind: usize,
    time: Value,
    values: Value,
    /// Largest value after the warm-up.
    top: f64,
}

impl Picture<'_> {
    /// Views for each seed: disciplines one below another, and all in one. None if
    /// no run has such a quantity.
    fn figure(self, results: &Comparison, pool: &mut Pool) -> Option<Figure> {
        let mut kinds: Vec<Kind> = Vec::new();
        let mut views = Vec::new();
        for &seed in results.shown_seeds() {
            let curves = self.curves(results, seed, &mut kinds, pool);
            for stacked in [true, false] {
                views.push(self.view(results, &kinds, &curves, stacked));
            }
        }
        (!kinds.is_empty()).then(|| Figure {
            id: self.id,
            title: self.title,
            words: format!("{}{}", self.words, results.seeds_note()),
            controls: vec![
                results.seed_control(),
                ("Disciplines", vec!["one below another".into(), "all in one".into()]),
            ],
            views,
        })
    }

    fn curves(&self, results: &Comparison, seed: u64, kinds: &mut Vec<Kind>, pool: &mut Pool) -> Vec<Curve> {
        let mut curves = Vec::new();
        for (discipline, label) in results.labels.iter().enumerate() {
            let Some(run) = results.run(label, seed) else { continue };
            let mut series = run.detail.series.clone();
            series.columns.retain(|column| self.shows(column));
            if series.columns.is_empty() || series.time_s.is_empty() {
                continue;
            }
            thin::series(&mut series, self.samples);
            let time = pool.add(series.time_s.iter().copied(), 7);
            for column in series.columns {
                let kind = self.kind(results, run, &column, kinds);
                let counted = series.time_s.iter().zip(&column.values).filter(|(t, _)| **t >= run.warmup_s);
                let top = counted.map(|(_, value)| *value).filter(|v| v.is_finite()).fold(0.0, f64::max);
                let values = pool.add(column.values, 5);
                curves.push(Curve { discipline, kind, time: time.clone(), values, top });
            }
        }
        curves
    }

    fn shows(&self, column: &Column) -> bool {
        match (self.of, column.name.rsplit_once('.')) {
            (Of::Port(port, quantities), Some((owner, quantity))) => {
                owner == port && quantities.contains(&quantity)
            }
            (Of::Flows(shown), Some((owner, quantity))) => owner.starts_with("flow") && quantity == shown,
            (_, None) => false,
        }
    }

    /// Index of a shown column's kind.
    fn kind(&self, results: &Comparison, run: &Run, column: &Column, kinds: &mut Vec<Kind>) -> usize {
        let (owner, quantity) = column.name.rsplit_once('.').unwrap_or_default();
        let kind = match self.of {
            Of::Port(_, quantities) => {
                let dash = DASHES[quantities.iter().position(|q| *q == quantity).unwrap_or(0) % DASHES.len()];
                Kind {
                    name: words_of(quantity),
                    dash,
                    // A threshold hides in the queue's own colour.
                    in_row: (quantity != quantities[0]).then(|| ("@ink".into(), dash)),
                    probability: quantity == "drop_probability",
                }
            }
            Of::Flows(_) => {
                let id = owner.strip_prefix("flow").and_then(|id| id.parse::<u32>().ok());
                let flow = id.and_then(|id| run.flows.iter().find(|flow| flow.id == id));
                let group = flow.and_then(|flow| results.groups.iter().position(|g| *g == flow.group));
                let ink = group_color(group.unwrap_or(0));
                let name = flow.map_or(owner.into(), |flow| format!("flow {} ({})", flow.id, flow.cca));
                match kinds.iter().find(|kind| kind.name == name) {
                    Some(known) => known.clone(),
                    // A line style apart from the others of its colour.
                    None => {
                        let of_group = |kind: &&Kind| kind.in_row.as_ref().is_some_and(|(c, _)| *c == ink);
                        let dash = DASHES[kinds.iter().filter(of_group).count() % DASHES.len()];
                        Kind {
                            name,
                            dash: DASHES[kinds.len() % DASHES.len()],
                            in_row: Some((ink, dash)),
                            probability: false,
                        }
                    }
                }
            }
        };
        kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        })
    }

    fn view(&self, results: &Comparison, kinds: &[Kind], curves: &[Curve], stacked: bool) -> Value {
        let rows = if stacked { results.labels.len().max(1) } else { 1 };
        let row_of = |curve: &Curve| if stacked { curve.discipline } else { 0 };
        // Rows from the top; the lowest, which carries the time axis, is `y`.
        let axis = |row: usize| if row + 1 == rows { String::new() } else { (row + 2).to_string() };
        let warmup_s = results.results.runs.first().map_or(0.0, |run| run.warmup_s);
        let mut layout = json!({
            "height": if stacked { 140 + 150 * rows } else { 460 },
            "hovermode": "closest", "uirevision": if stacked { "rows" } else { "one" },
            "xaxis": {"title": title("time, s"), "anchor": "y"},
            "shapes": [{"type": "rect", "xref": "x", "yref": "paper", "x0": 0, "x1": warmup_s, "y0": 0,
                "y1": 1, "fillcolor": "@muted", "opacity": 0.12, "line": {"width": 0}, "layer": "below"}],
        });
        let mut names = Vec::new();
        for row in 0..rows {
            let share = 1.0 / rows as f64;
            let top = 1.0 - row as f64 * share;
            // Room above each row for its name, below it for the first tick's label.
            let domain = if stacked { [top - 0.94 * share, top - 0.2 * share] } else { [0.0, 1.0] };
            let in_row = |probability| {
                let tops =
                    curves.iter().filter(|c| row_of(c) == row && kinds[c.kind].probability == probability);
                tops.map(|curve| curve.top).reduce(f64::max)
            };
            layout[format!("yaxis{}", axis(row))] = json!({
                "domain": domain, "range": range(in_row(false)), "rangemode": "tozero",
                "tickformat": ".3~s", "ticksuffix": self.tick_unit, "nticks": 5,
            });
            if let Some(top) = in_row(true) {
                layout["right"] = true.into();
                layout[format!("yaxis{}", 100 + row)] = json!({
                    "overlaying": format!("y{}", axis(row)), "side": "right", "range": range(Some(top)),
                    "rangemode": "tozero", "showgrid": false, "tickformat": ".2~%", "nticks": 4,
                });
            }
            if stacked && let Some(label) = results.labels.get(row) {
                names.push(json!({
                    "text": format!("<b>{}</b>", escape(label)), "xref": "paper", "yref": "paper", "x": 0,
                    "y": domain[1], "xanchor": "left", "yanchor": "bottom", "showarrow": false,
                    "font": {"color": color(row)},
                }));
            }
        }
        layout["annotations"] = names.into();
        let (mut traces, mut groups) = (Vec::new(), Vec::new());
        for curve in curves {
            let kind = &kinds[curve.kind];
            let (label, name) = (escape(results.labels[curve.discipline]), escape(&kind.name));
            let row = row_of(curve);
            let axis = if kind.probability { (100 + row).to_string() } else { axis(row) };
            let unit = self.unit;
            let value = if kind.probability { "%{y:.3~%}".into() } else { format!("%{{y:.4~s}}{unit}") };
            // The legend toggles a quantity in all rows, or a discipline with all it has.
            let group = if stacked { curve.kind } else { curve.discipline };
            let first = !groups.contains(&group);
            groups.push(group);
            if stacked && first {
                // A sample for the legend: in the rows each discipline has its colour.
                let (ink, dash) = kind.in_row.clone().unwrap_or(("@ink".into(), kind.dash));
                traces.push(json!({
                    "type": "scatter", "mode": "lines", "x": [null], "y": [null], "name": name,
                    "legendgroup": group, "legendrank": group, "line": {"color": ink, "dash": dash},
                }));
            }
            let own = (color(curve.discipline), kind.dash);
            let (ink, dash) = kind.in_row.clone().filter(|_| stacked).unwrap_or(own);
            traces.push(json!({
                "type": "scatter", "mode": "lines", "x": curve.time, "y": curve.values,
                "yaxis": format!("y{axis}"), "name": label, "legendgroup": group,
                "showlegend": first && !stacked, "line": {"color": ink, "dash": dash, "width": 1.4},
                "hovertemplate": format!("{label}, {name}<br>%{{x:.5~f}} s: {value}<extra></extra>"),
            }));
        }
        json!({"traces": traces, "layout": layout})
    }
}

/// A scale from 0 to a little above the top; null (the whole data) without one.
fn range(top: Option<f64>) -> Value {
    match top {
        Some(top) if top > 0.0 && (top * 1.05).is_finite() => json!([0, top * 1.05]),
        _ => Value::Null,
    }
}

/// A sampled quantity in words.
fn words_of(quantity: &str) -> String {
    match quantity {
        "backlog_bytes" => "queue".into(),
        "rate_bps" => "rate".into(),
        "capacity_bps" => "capacity".into(),
        other => other.trim_end_matches("_bytes").replace('_', " "),
    }
}
