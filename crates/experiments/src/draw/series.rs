//! What a panel shows: its curves and points, out of the runs.

use crate::figure::{Kind, Panel, Spread as Bars};
use crate::rows::{Rows, Spread};

/// A point with its error bars; without, an end is the point's own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub x_ends: [f64; 2],
    pub y_ends: [f64; 2],
    /// Runs that it is the mean of.
    pub count: usize,
}

/// A series of a panel.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    pub name: String,
    pub points: Vec<Point>,
    /// Published: x, both ends of y.
    pub published: Vec<(f64, [f64; 2])>,
}

/// The curves of a panel, in the order of the figure file.
pub fn of_panel(panel: &Panel, rows: &Rows<'_>) -> Vec<Curve> {
    let rows = rows.only(&panel.only);
    let groups = rows.groups(&panel.series);
    let mut curves: Vec<Curve> = groups
        .iter()
        .map(|(names, rows)| {
            let points = match panel.kind {
                Kind::Lines | Kind::Bars => along(panel, rows),
                Kind::Scatter => scatter(panel, rows),
                Kind::Cdf => cdf(panel, rows),
                Kind::Time => time(panel, rows),
            };
            Curve { name: names.join(", "), points, published: Vec::new() }
        })
        .collect();
    published(panel, &rows, &mut curves);
    curves
}

/// Numeric axis: the value's own number; bars: its place.
fn place(panel: &Panel, rows: &Rows<'_>, value: &str) -> f64 {
    let figure = &rows.plan.experiment.figure;
    if panel.x == "discipline" {
        let labels = rows.plan.cases.iter().flat_map(|c| &c.disciplines);
        let mut seen: Vec<&String> = Vec::new();
        for label in labels {
            if !seen.contains(&label) {
                seen.push(label);
            }
        }
        return seen.iter().position(|l| *l == value).unwrap_or(0) as f64;
    }
    let Some(sweep) = figure.sweep(&panel.x) else { return 0.0 };
    match sweep.values.iter().position(|v| v.name == value) {
        Some(i) if panel.kind == Kind::Lines => sweep.values[i].x.unwrap_or(i as f64),
        Some(i) => i as f64,
        None => 0.0,
    }
}

fn along(panel: &Panel, rows: &Rows<'_>) -> Vec<Point> {
    let groups = rows.groups(std::slice::from_ref(&panel.x));
    let points = groups.iter().filter_map(|(value, group)| {
        let x = place(panel, rows, value[0]);
        let (y, y_ends, count) = mean(panel, &group.values(&panel.y))?;
        Some(Point { x, y, x_ends: [x, x], y_ends, count })
    });
    points.collect()
}

fn mean(panel: &Panel, values: &[f64]) -> Option<(f64, [f64; 2], usize)> {
    if values.is_empty() {
        return None;
    }
    let s = Spread::of(values);
    let ends = match panel.spread {
        Bars::Confidence if s.half_width.is_finite() => [s.mean - s.half_width, s.mean + s.half_width],
        Bars::Range => [s.min, s.max],
        _ => [s.mean, s.mean],
    };
    Some((s.mean, ends, s.count))
}

fn scatter(panel: &Panel, rows: &Rows<'_>) -> Vec<Point> {
    let (Some((x, x_ends, count)), Some((y, y_ends, _))) =
        (mean(panel, &rows.values(&panel.x)), mean(panel, &rows.values(&panel.y)))
    else {
        return Vec::new();
    };
    vec![Point { x, y, x_ends, y_ends, count }]
}

fn cdf(panel: &Panel, rows: &Rows<'_>) -> Vec<Point> {
    let mut values = rows.values(&panel.x);
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let steps = values.iter().enumerate().flat_map(|(i, v)| {
        [i, i + 1].map(|k| {
            let y = k as f64 / n;
            Point { x: *v, y, x_ends: [*v, *v], y_ends: [y, y], count: 1 }
        })
    });
    steps.collect()
}

/// The first seed's curve.
fn time(panel: &Panel, rows: &Rows<'_>) -> Vec<Point> {
    let Some(curve) = rows.all.first().and_then(|r| r.record.curves.get(&panel.y)) else { return Vec::new() };
    let points = curve.iter().map(|(x, y)| {
        let y = y * panel.scale;
        Point { x: *x, y, x_ends: [*x, *x], y_ends: [y, y], count: 1 }
    });
    points.collect()
}

fn published(panel: &Panel, rows: &Rows<'_>, curves: &mut [Curve]) {
    let figure = &rows.plan.experiment.figure;
    for p in figure.published.iter().filter(|p| p.measure == panel.y) {
        for (names, group) in rows.only(&p.at).groups(&panel.series) {
            let name = names.join(", ");
            let Some(curve) = curves.iter_mut().find(|c| c.name == name) else { continue };
            match panel.kind {
                Kind::Lines | Kind::Bars => {
                    for (value, _) in group.groups(std::slice::from_ref(&panel.x)) {
                        curve.published.push((place(panel, rows, value[0]), p.value.ends()));
                    }
                }
                Kind::Scatter => {
                    let across = figure.published.iter().find(|q| q.measure == panel.x && q.at == p.at);
                    if let Some(q) = across {
                        let [a, b] = q.value.ends();
                        curve.published.push(((a + b) / 2.0, p.value.ends()));
                    }
                }
                Kind::Cdf | Kind::Time => {}
            }
        }
    }
}
