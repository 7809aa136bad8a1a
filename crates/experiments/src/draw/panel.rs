//! One panel: axes, curves, marks.

use super::axis::Axis;
use super::series::{Curve, Point, names_along};
use super::style::{Area, Drawn, FAINT, GRID, INK, LIGHT, color, font};
use crate::figure::{Kind, Panel};
use crate::rows::Rows;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;
use plotters::style::FontTransform;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Places, Places>>;

/// An axis as the chart has it: where it begins and ends, and its ticks.
struct Places {
    ends: Range<f64>,
    ticks: Vec<f64>,
}

impl Ranged for Places {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, limit: (i32, i32)) -> i32 {
        let share = (place - self.ends.start) / (self.ends.end - self.ends.start);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.ends.clone()
    }
}

pub fn draw(area: &Area<'_>, panel: &Panel, curves: &[Curve], names: &[String], rows: &Rows<'_>) -> Drawn {
    let figure = &rows.plan.experiment.figure;
    let (x, x_title, categories) = across(panel, curves, rows);
    let m = figure.measure(&panel.y);
    let y_values = curves.iter().flat_map(|c| {
        let own = c.points.iter().flat_map(|p| [p.y, p.y_ends[0], p.y_ends[1]]);
        own.chain(c.published.iter().flat_map(|(_, ends)| *ends)).chain(c.alone.iter().map(|a| a.1))
    });
    let from_zero = matches!(panel.kind, Kind::Bars | Kind::Cdf | Kind::Time | Kind::Flows);
    let y = Axis::new(panel.y_range, panel.y_log, y_values, from_zero);
    let y_title = match (&panel.y_title, panel.kind) {
        (Some(title), _) => title.clone(),
        (None, Kind::Cdf) => "share of runs".into(),
        (None, Kind::Flows) => "Goodput of a flow (Mbit/s)".into(),
        (None, _) => titled(&m.title, &m.unit),
    };

    let ticks = match &categories {
        Some(names) => (0..names.len()).map(|i| i as f64).collect(),
        None => x.ticks(7),
    };
    let label = |place: &f64| match &categories {
        Some(names) => names.get(place.round() as usize).cloned().unwrap_or_default(),
        None => x.label(*place),
    };
    let upright = categories.as_deref().and_then(|names| upright(names, area.dim_in_pixel().0));
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(22)
        .caption(&panel.title, font(15, INK))
        .x_label_area_size(match upright {
            Some(height) if x_title.is_empty() => height + 16,
            height => height.unwrap_or(0) + LABELS,
        })
        .y_label_area_size(NUMBERS)
        .build_cartesian_2d(
            Places { ends: x.places(), ticks },
            Places { ends: y.places(), ticks: y.ticks(6) },
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(FAINT)
        .label_style(font(13, INK))
        .axis_desc_style(font(14, INK))
        .x_desc(x_title)
        .y_desc(y_title)
        .x_label_formatter(&|place| if upright.is_some() { String::new() } else { label(place) })
        .y_label_formatter(&|place| y.label(*place))
        .draw()?;
    if upright.is_some() {
        let style =
            font(13, INK).transform(FontTransform::Rotate270).pos(Pos::new(HPos::Right, VPos::Center));
        let (left, top) = area.get_base_pixel();
        for (i, name) in categories.iter().flatten().enumerate() {
            let (x, y) = chart.backend_coord(&(i as f64, y.places().start));
            area.draw_text(name, &style, (x - left, y - top + 8))?;
        }
    }

    let mut marked = Vec::new();
    for (j, curve) in curves.iter().enumerate() {
        let i = names.iter().position(|n| *n == curve.name).unwrap_or(0);
        let places = |p: &Point| (x.at(p.x), y.at(p.y));
        match panel.kind {
            Kind::Bars => {
                bars(&mut chart, curve, i, &Slots::of(panel, curves, j), y)?;
                continue;
            }
            Kind::Lines | Kind::Cdf | Kind::Time => {
                let points = curve.points.iter().map(places).map(|(a, b)| (x.clamp(a), y.clamp(b)));
                chart.draw_series(LineSeries::new(points, color(i).stroke_width(2)))?;
            }
            Kind::Scatter | Kind::Flows | Kind::Table => {}
        }
        for (a, b) in &curve.alone {
            Marks(i).draw_in(&chart, area, (x.clamp(x.at(*a)), y.clamp(y.at(*b))), 8, LIGHT.filled())?;
        }
        if matches!(panel.kind, Kind::Lines | Kind::Scatter | Kind::Flows) {
            for p in &curve.points {
                error_bars(&mut chart, p, x, y, i)?;
            }
            let size = match panel.kind {
                Kind::Scatter => 7,
                Kind::Flows => 5,
                _ => 4,
            };
            for p in &curve.points {
                let (a, b) = places(p);
                let place = (x.clamp(a), y.clamp(b));
                Marks(i).draw_in(&chart, area, place, size, color(i).filled())?;
                let ((x, y), (left, top)) = (chart.backend_coord(&place), area.get_base_pixel());
                marked.push(((x - left, y - top), curve.name.as_str()));
            }
        }
        for (at, ends) in &curve.published {
            hollow(&mut chart, area, x.at(*at), ends.map(|e| y.clamp(y.at(e))), i)?;
        }
    }
    if names_marks(panel, curves) {
        let (x, y) = chart.plotting_area().get_pixel_range();
        let (left, top) = area.get_base_pixel();
        names_beside(area, &marked, [x.start - left, y.start - top, x.end - left, y.end - top])?;
    }
    Ok(())
}

/// Below a panel: labels and title. Left of it: numbers and title.
const LABELS: u32 = 46;
const NUMBERS: u32 = 62;
/// Pixels of a letter in the labels.
const LETTER: usize = 7;

/// The height of names along an axis if they must stand upright, as they do not fit side by side.
fn upright(names: &[String], width: u32) -> Option<u32> {
    let longest = LETTER * names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
    let each = (width - NUMBERS) as usize / names.len().max(1);
    (longest > each).then_some(longest as u32)
}

/// The axis along, its title, and the names of its places if it has no numbers.
fn across(panel: &Panel, curves: &[Curve], rows: &Rows<'_>) -> (Axis, String, Option<Vec<String>>) {
    let figure = &rows.plan.experiment.figure;
    let values = curves.iter().flat_map(|c| {
        let own = c.points.iter().flat_map(|p| [p.x, p.x_ends[0], p.x_ends[1]]);
        own.chain(c.published.iter().map(|(x, _)| *x)).chain(c.alone.iter().map(|a| a.0))
    });
    let title = |otherwise: String| panel.x_title.clone().unwrap_or(otherwise);
    match panel.kind {
        Kind::Bars | Kind::Table => {
            let names = names_along(panel, rows);
            let ends = [-0.5, names.len() as f64 - 0.5];
            let sweep = figure.sweep(&panel.x).and_then(|s| s.title.clone()).unwrap_or_default();
            (Axis::new(Some(ends), false, values, false), title(sweep), Some(names))
        }
        Kind::Lines => {
            let sweep = figure.sweep(&panel.x).and_then(|s| s.title.clone()).unwrap_or(panel.x.clone());
            (Axis::new(panel.x_range, panel.x_log, values, false), title(sweep), None)
        }
        Kind::Scatter | Kind::Cdf => {
            let m = figure.measure(&panel.x);
            (Axis::new(panel.x_range, panel.x_log, values, false), title(titled(&m.title, &m.unit)), None)
        }
        Kind::Time => (Axis::new(panel.x_range, false, values, true), title("time (s)".into()), None),
        Kind::Flows => (
            Axis::new(panel.x_range, panel.x_log, values, true),
            title("RTT with sojourn time (ms)".into()),
            None,
        ),
    }
}

fn titled(title: &str, unit: &str) -> String {
    let mut letters = title.chars();
    let first = letters.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    let title = first + letters.as_str();
    if unit.is_empty() { title } else { format!("{title} ({unit})") }
}

/// Do names stand beside the marks? They do where a legend would have too many.
pub fn names_marks(panel: &Panel, curves: &[Curve]) -> bool {
    panel.kind == Kind::Scatter && curves.len() > 8
}

/// Left, top, right, bottom.
type Frame = [i32; 4];

/// Pixels that two have in common.
fn common(a: Frame, b: Frame) -> i32 {
    let side = |i: usize| (a[i + 2].min(b[i + 2]) - a[i].max(b[i])).max(0);
    side(0) * side(1)
}

/// Names beside marks, each where it covers least of marks and of other names, with a line to a mark that is not near.
fn names_beside(area: &Area<'_>, marked: &[((i32, i32), &str)], inside: Frame) -> Drawn {
    const HEIGHT: i32 = 13;
    let mut taken: Vec<Frame> = marked.iter().map(|((x, y), _)| [x - 8, y - 8, x + 8, y + 8]).collect();
    for (i, ((x, y), name)) in marked.iter().enumerate() {
        let width = area.estimate_text_size(name, &font(11, INK))?.0 as i32 + 4;
        let places = (0..5).flat_map(|ring| {
            let (far, high) = (9 + 8 * ring, HEIGHT * ring);
            // Right and left of the mark, then above and below, then between.
            [
                (far, -HEIGHT / 2),
                (-far - width, -HEIGHT / 2),
                (-width / 2, -far - HEIGHT),
                (-width / 2, far),
                (far, -high - HEIGHT),
                (far, high),
                (-far - width, -high - HEIGHT),
                (-far - width, high),
            ]
            .map(|(dx, dy)| (ring, [x + dx, y + dy, x + dx + width, y + dy + HEIGHT]))
        });
        let covers = |f: &Frame| {
            let others = taken.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, t)| common(*t, *f));
            others.sum::<i32>() + width * HEIGHT - common(*f, inside)
        };
        let Some((ring, [left, top, right, bottom])) = places.min_by_key(|(_, f)| covers(f)) else {
            continue;
        };
        if ring > 1 {
            let end = ((*x).clamp(left, right), (*y).clamp(top, bottom));
            area.draw(&PathElement::new([(*x, *y), end], FAINT.stroke_width(1)))?;
        }
        area.draw_text(name, &font(11, INK), (left + 2, top + 1))?;
        taken.push([left, top, right, bottom]);
    }
    Ok(())
}

/// Width of all bars of a group, of the distance of two groups.
const GROUP: f64 = 0.8;

/// Where the bars of a series stand in their groups.
struct Slots {
    /// Of the group at each place along the axis: which of its bars, from 0, and how many it has.
    groups: BTreeMap<i64, (usize, usize)>,
    /// Bars in the largest group.
    most: usize,
}

impl Slots {
    /// Of the j-th series. Every group has a place for every series, unless the dimension along the axis is one of
    /// those that make the series: then a group has only its own.
    fn of(panel: &Panel, curves: &[Curve], j: usize) -> Slots {
        let stands = |c: &Curve, x: i64| c.places().any(|p| p == x);
        let apart = panel.series.contains(&panel.x);
        let here = |c: &&Curve, x: i64| if apart { stands(c, x) } else { c.places().next().is_some() };
        let places: BTreeSet<i64> = curves.iter().flat_map(Curve::places).collect();
        let count = |x: &i64| curves.iter().filter(|c| here(c, *x)).count();
        let most = places.iter().map(count).max().unwrap_or(1);
        let own = places.iter().filter(|x| stands(&curves[j], **x));
        let groups = own.map(|x| (*x, (curves[..j].iter().filter(|c| here(c, *x)).count(), count(x))));
        Slots { groups: groups.collect(), most }
    }

    fn width(&self) -> f64 {
        GROUP / self.most.max(1) as f64
    }

    fn centre(&self, x: f64) -> f64 {
        let (place, count) = self.groups.get(&(x.round() as i64)).copied().unwrap_or((0, 1));
        x + self.width() * (place as f64 + 0.5 - count as f64 / 2.0)
    }
}

fn bars(chart: &mut Chart<'_, '_>, curve: &Curve, i: usize, slots: &Slots, y: Axis) -> Drawn {
    let width = slots.width();
    let centre = |x: f64| slots.centre(x);
    for p in &curve.points {
        let (left, right) = (centre(p.x) - width * 0.45, centre(p.x) + width * 0.45);
        let corners = [(left, y.places().start), (right, y.clamp(y.at(p.y)))];
        chart.draw_series([Rectangle::new(corners, color(i).filled())])?;
        if p.y_ends[0] != p.y_ends[1] {
            let [lo, hi] = p.y_ends.map(|e| y.clamp(y.at(e)));
            chart.draw_series([PathElement::new(
                [(centre(p.x), lo), (centre(p.x), hi)],
                INK.stroke_width(1),
            )])?;
        }
    }
    for (x, ends) in &curve.published {
        let [lo, hi] = ends.map(|e| y.clamp(y.at(e)));
        let (left, right) = (centre(*x) - width * 0.45, centre(*x) + width * 0.45);
        for level in [lo, hi] {
            chart.draw_series([PathElement::new([(left, level), (right, level)], INK.stroke_width(2))])?;
        }
        chart.draw_series([Circle::new((centre(*x), (lo + hi) / 2.0), 4, INK.stroke_width(2))])?;
    }
    Ok(())
}

fn error_bars(chart: &mut Chart<'_, '_>, p: &Point, x: Axis, y: Axis, i: usize) -> Drawn {
    let ([left, right], [lo, hi]) = (p.x_ends.map(|e| x.clamp(x.at(e))), p.y_ends.map(|e| y.clamp(y.at(e))));
    let (at_x, at_y) = (x.clamp(x.at(p.x)), y.clamp(y.at(p.y)));
    for line in [[(left, at_y), (right, at_y)], [(at_x, lo), (at_x, hi)]] {
        if line[0] != line[1] {
            chart.draw_series([PathElement::new(line, color(i).stroke_width(1))])?;
        }
    }
    Ok(())
}

/// A published value: a hollow mark, at both ends of a range with a dash between.
fn hollow(chart: &mut Chart<'_, '_>, area: &Area<'_>, x: f64, ends: [f64; 2], i: usize) -> Drawn {
    if ends[0] != ends[1] {
        chart.draw_series([PathElement::new(ends.map(|e| (x, e)), color(i).mix(0.5).stroke_width(3))])?;
    }
    let levels = if ends[0] == ends[1] { &ends[..1] } else { &ends[..] };
    for level in levels {
        Marks(i).draw_in(chart, area, (x, *level), 7, color(i).stroke_width(2))?;
    }
    Ok(())
}

/// The mark of the i-th series.
pub struct Marks(pub usize);

impl Marks {
    /// Corners in units of its size; none: a circle.
    fn corners(&self) -> Option<&'static [(f64, f64)]> {
        match self.0 % 5 {
            0 => None,
            1 => Some(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            2 => Some(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]),
            3 => Some(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
            _ => Some(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)]),
        }
    }

    /// Draws it around a pixel.
    pub fn draw_at(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        (x, y): (i32, i32),
        size: i32,
        style: ShapeStyle,
    ) -> Drawn {
        match self.corners() {
            None => area.draw(&Circle::new((x, y), size, style))?,
            Some(corners) => {
                let mut points: Vec<(i32, i32)> = corners
                    .iter()
                    .map(|(a, b)| {
                        let of = |c: f64| (c * f64::from(size)).round() as i32;
                        (x + of(*a), y + of(*b))
                    })
                    .collect();
                if style.filled {
                    area.draw(&Polygon::new(points, style))?;
                } else {
                    points.extend([points[0], points[1]]);
                    area.draw(&PathElement::new(points, style))?;
                }
            }
        }
        Ok(())
    }

    /// Draws it at a place of a chart in an area.
    fn draw_in(
        &self,
        chart: &Chart<'_, '_>,
        area: &Area<'_>,
        place: (f64, f64),
        size: i32,
        style: ShapeStyle,
    ) -> Drawn {
        let (x, y) = chart.backend_coord(&place);
        let (left, top) = area.get_base_pixel();
        self.draw_at(area, (x - left, y - top), size, style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(places: &[f64]) -> Curve {
        let point = |x: &f64| Point { x: *x, y: 1.0, x_ends: [*x, *x], y_ends: [1.0, 1.0], count: 1 };
        Curve { points: places.iter().map(point).collect(), ..Curve::default() }
    }

    fn panel(series: &[&str]) -> Panel {
        let text = format!("title = 't'\nkind = 'bars'\nx = 'discipline'\ny = 'jain'\nseries = {series:?}");
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn bars_stand_over_their_labels() {
        // A series for each place: each bar is in the middle of its own.
        let curves = [curve(&[0.0]), curve(&[1.0]), curve(&[2.0])];
        for j in 0..3 {
            assert_eq!(Slots::of(&panel(&["discipline"]), &curves, j).centre(j as f64), j as f64);
        }
        // Two series at each place: left and right of it, also where one of them is missing.
        let curves = [curve(&[0.0, 1.0]), curve(&[1.0])];
        let slots = [0, 1].map(|j| Slots::of(&panel(&["other"]), &curves, j));
        assert_eq!((slots[0].centre(0.0), slots[0].centre(1.0), slots[1].centre(1.0)), (-0.2, 0.8, 1.2));
    }
}
