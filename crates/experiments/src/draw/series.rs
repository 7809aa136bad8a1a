//! What a panel shows: its curves and points, out of the runs.

use crate::figure::{Best, Kind, OneOrMany, Panel, Published, Spread as Bars};
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
    /// Flows: where they sit alone.
    pub alone: Vec<(f64, f64)>,
}

impl Curve {
    /// Bars: the groups in which it has one.
    pub fn places(&self) -> impl Iterator<Item = i64> {
        self.points.iter().map(|p| p.x).chain(self.published.iter().map(|p| p.0)).map(|x| x.round() as i64)
    }
}

/// The curves of a panel, in the order of the figure file.
pub fn of_panel(panel: &Panel, all: &Rows<'_>) -> Vec<Curve> {
    let rows = all.only(&panel.only);
    if panel.kind == Kind::Flows {
        return flows(&rows, all);
    }
    let groups = rows.groups(&panel.series);
    let mut curves: Vec<Curve> = groups
        .iter()
        .map(|(names, rows)| {
            let points = match panel.kind {
                Kind::Lines | Kind::Bars | Kind::Table => along(panel, rows),
                Kind::Flows => Vec::new(),
                Kind::Scatter => {
                    rows.groups(&panel.each).iter().flat_map(|(_, rows)| scatter(panel, rows)).collect()
                }
                Kind::Cdf => cdf(panel, rows),
                Kind::Time => time(panel, rows),
            };
            Curve { name: names.join(", "), points, ..Curve::default() }
        })
        .collect();
    published(panel, &rows, &mut curves);
    curves
}

/// Numeric axis: the value's own number; bars: its place among those that are shown.
fn place(panel: &Panel, rows: &Rows<'_>, value: &str) -> f64 {
    let sweep = rows.plan.experiment.figure.sweep(&panel.x);
    let Some(sweep) = sweep.filter(|_| panel.kind == Kind::Lines) else {
        return names_along(panel, rows).iter().position(|l| *l == value).unwrap_or(0) as f64;
    };
    match sweep.values.iter().position(|v| v.name == value) {
        Some(i) => sweep.values[i].x.unwrap_or(i as f64),
        None => 0.0,
    }
}

/// Names along a panel's dimension; of bars of one series of which one end is the good
/// one, the best first.
pub fn names_along(panel: &Panel, rows: &Rows<'_>) -> Vec<String> {
    let mut names = names_shown(panel, rows);
    let sign = match panel.best {
        Some(Best::Most) => -1.0,
        Some(Best::Least) => 1.0,
        None => return names,
    };
    if panel.kind == Kind::Bars && panel.series.is_empty() {
        let groups = rows.only(&panel.only).groups(std::slice::from_ref(&panel.x));
        let mean = |name: &String| {
            let of = groups.iter().find(|(n, _)| n[0] == *name).map(|(_, rows)| rows.values(&panel.y));
            sign * Spread::of(&of.unwrap_or_default()).mean
        };
        let mut placed: Vec<(f64, String)> = names.into_iter().map(|n| (mean(&n), n)).collect();
        placed.sort_by(|a, b| a.0.total_cmp(&b.0));
        names = placed.into_iter().map(|(_, n)| n).collect();
    }
    names
}

/// Those of a sweep that the panel shows, or the disciplines of the cases that it shows.
fn names_shown(panel: &Panel, rows: &Rows<'_>) -> Vec<String> {
    let figure = &rows.plan.experiment.figure;
    if let Some(sweep) = figure.sweep(&panel.x) {
        let shown = |name: &&String| panel.only.get(&panel.x).is_none_or(|of| of.all().contains(name));
        return sweep.values.iter().map(|v| &v.name).filter(shown).cloned().collect();
    }
    let of_sweep = |name: &str| figure.sweeps.iter().position(|s| s.name == name);
    let mut labels: Vec<String> = Vec::new();
    for case in &rows.plan.cases {
        let fits = |(name, values): (&String, &OneOrMany)| {
            of_sweep(name).is_none_or(|i| values.all().contains(&case.values[i]))
        };
        let wanted = |l: &&String| panel.only.get("discipline").is_none_or(|of| of.all().contains(l));
        if panel.only.iter().all(fits) {
            for label in case.disciplines.iter().filter(wanted) {
                if !labels.contains(label) {
                    labels.push(label.clone());
                }
            }
        }
    }
    labels
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

/// Of runs; or of each run's flows, at each share the mean over the runs.
fn cdf(panel: &Panel, rows: &Rows<'_>) -> Vec<Point> {
    let measure = rows.plan.experiment.figure.measure(&panel.x);
    let curves: Vec<_> = rows.all.iter().filter_map(|r| r.record.curves.get(&measure.of)).collect();
    if let Some(first) = curves.first() {
        let at = |i: usize| curves.iter().filter_map(|c| c.get(i)).map(|p| p.0).sum::<f64>();
        let point = |(i, (_, y)): (usize, &(f64, f64))| {
            let x = at(i) / curves.len() as f64 * measure.scale;
            Point { x, y: *y, x_ends: [x, x], y_ends: [*y, *y], count: 1 }
        };
        return first.iter().enumerate().map(point).collect();
    }
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

/// Every flow of some runs, a curve for each group; and where its congestion control sits alone.
fn flows(rows: &Rows<'_>, all: &Rows<'_>) -> Vec<Curve> {
    let figure = &rows.plan.experiment.figure;
    let mut curves: Vec<(String, Curve)> = Vec::new();
    for flow in rows.all.iter().flat_map(|r| &r.record.flows) {
        let at = curves.iter().position(|(_, c)| c.name == flow.group).unwrap_or_else(|| {
            curves.push((flow.cca.clone(), Curve { name: flow.group.clone(), ..Curve::default() }));
            curves.len() - 1
        });
        let (x, y) = (flow.delay_ms, flow.mbps);
        let point = Point { x, y, x_ends: [x, x], y_ends: [y, y], count: 1 };
        curves[at].1.points.push(point);
    }
    // What was published of the runs that are shown.
    let shown = |p: &Published| !rows.only(&p.at).all.is_empty();
    for (cca, curve) in &mut curves {
        let [delay, rate] = ["delay_ms", "flow_mbps"].map(|m| format!("group.{}.{m}", curve.name));
        for p in figure.published.iter().filter(|p| p.measure == rate && shown(p)) {
            let across = figure.published.iter().find(|q| q.measure == delay && q.at == p.at);
            if let Some([a, b]) = across.map(|q| q.value.ends()) {
                curve.published.push(((a + b) / 2.0, p.value.ends()));
            }
        }
        if let Some(rule) = &figure.displacement {
            let alone = all.only(&rule.alone);
            let of: Vec<_> =
                alone.all.iter().flat_map(|r| &r.record.flows).filter(|f| f.cca == *cca).collect();
            let n = of.len() as f64;
            if n > 0.0 {
                let sum = of.iter().fold((0.0, 0.0), |s, f| (s.0 + f.delay_ms, s.1 + f.mbps));
                curve.alone.push((sum.0 / n, sum.1 / n));
            }
        }
    }
    curves.into_iter().map(|(_, curve)| curve).collect()
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
                Kind::Cdf | Kind::Time | Kind::Flows | Kind::Table => {}
            }
        }
    }
}
