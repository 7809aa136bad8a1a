//! Pictures of a suite: the ranking, and every scenario in the plane of wait and goodput (RFC 7928, section 2.7).

use crate::page::{place, port_mean};
use crate::{Error, Plan, Scores};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use queuewright_experiments::draw::style::{Drawn, FAINT, GRID, INK, color, font};
use queuewright_experiments::draw::{Marks, fonts};
use queuewright_experiments::{Store, figures};
use queuewright_results::measures::median;
use queuewright_results::quality::ellipse::Ellipse;

/// Scenarios in a line of the picture, the size of each, and the height of a line of the legend.
const ACROSS: usize = 5;
const CELL: (u32, u32) = (270, 210);
const LINE: u32 = 22;
/// The ranking: width of the bars and of the numbers beside them, height of a row and of what is above.
const BARS: u32 = 730;
const NUMBERS: u32 = 80;
const ROW: u32 = 24;
const HEAD: u32 = 44;
/// About the width of a letter.
const LETTER: f64 = 6.9;
/// Sides of a drawn ellipse.
const SIDES: u32 = 48;

/// Pictures by their file names: `ranking.svg`, `scenarios.svg`.
///
/// # Errors
/// What cannot be drawn.
pub fn pictures(plan: &Plan, store: &Store, scores: &Scores) -> Result<Vec<(String, String)>, Error> {
    fonts();
    let (mut ranking, mut scenarios) = (String::new(), String::new());
    draw_ranking(&mut ranking, plan, scores).map_err(|e| Error(format!("ranking.svg: {e}")))?;
    draw_scenarios(&mut scenarios, plan, store, scores).map_err(|e| Error(format!("scenarios.svg: {e}")))?;
    Ok(vec![("ranking.svg".into(), ranking), ("scenarios.svg".into(), scenarios)])
}

/// A bar for each discipline's score, with its interval, from 0 to 1.
fn draw_ranking(out: &mut String, plan: &Plan, scores: &Scores) -> Drawn {
    let rows = scores.standings.len() as u32;
    let names = 24 + longest(scores);
    let width = names + BARS + NUMBERS;
    let root = SVGBackend::with_string(out, (width, HEAD + ROW * rows + LINE)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = ("sans-serif", 17, FontStyle::Bold).into_font().color(&INK);
    root.draw_text(&format!("{}: score and its 95 % interval", plan.suite.name), &title, (12, 12))?;
    let across = |score: f64| (f64::from(names) + score * f64::from(BARS)) as i32;
    let bottom = (HEAD + ROW * rows) as i32;
    for tick in 0..=5 {
        let x = across(f64::from(tick) / 5.0);
        root.draw(&PathElement::new([(x, HEAD as i32), (x, bottom)], GRID.stroke_width(1)))?;
        let style = font(12, FAINT).pos(Pos::new(HPos::Center, VPos::Top));
        root.draw_text(&format!("{:.1}", f64::from(tick) / 5.0), &style, (x, bottom + 4))?;
    }
    for (row, s) in scores.standings.iter().enumerate().filter(|(_, s)| s.scenarios > 0) {
        let (top, i) = ((HEAD + ROW * row as u32) as i32, place(plan, &s.discipline));
        let middle = top + ROW as i32 / 2;
        let name = font(13, INK).pos(Pos::new(HPos::Right, VPos::Center));
        root.draw_text(&s.discipline, &name, (names as i32 - 8, middle))?;
        root.draw(&Rectangle::new(
            [(across(0.0), top + 4), (across(s.score), top + ROW as i32 - 4)],
            color(i).mix(0.6).filled(),
        ))?;
        let [low, high] = s.interval.map(across);
        for line in [
            [(low, middle), (high, middle)],
            [(low, middle - 4), (low, middle + 4)],
            [(high, middle - 4), (high, middle + 4)],
        ] {
            root.draw(&PathElement::new(line, INK.stroke_width(1)))?;
        }
        let value = font(12, FAINT).pos(Pos::new(HPos::Left, VPos::Center));
        // Intervals may go a little beyond 1.
        root.draw_text(&format!("{:.3}", s.score), &value, (width as i32 - NUMBERS as i32 / 2, middle))?;
    }
    root.present()?;
    Ok(())
}

/// About the width of the longest name.
fn longest(scores: &Scores) -> u32 {
    let letters = scores.standings.iter().map(|s| s.discipline.chars().count()).max().unwrap_or(0);
    (LETTER * letters as f64) as u32
}

/// A panel for each scenario: goodput against wait.
fn draw_scenarios(out: &mut String, plan: &Plan, store: &Store, scores: &Scores) -> Drawn {
    let lines = plan.scenarios.len().div_ceil(ACROSS) as u32;
    let names: Vec<&str> = scores.standings.iter().map(|s| s.discipline.as_str()).collect();
    let width = CELL.0 * ACROSS.min(plan.scenarios.len()) as u32;
    let each = 40 + longest(scores);
    let per_line = (width / each).max(1) as usize;
    let legend = names.len().div_ceil(per_line) as u32 * LINE;
    let root = SVGBackend::with_string(out, (width, CELL.1 * lines + legend + 8)).into_drawing_area();
    root.fill(&WHITE)?;
    for (member, of) in plan.suite.members.iter().enumerate() {
        let at = ((member % ACROSS) as u32 * CELL.0, (member / ACROSS) as u32 * CELL.1);
        let area = root.clone().shrink(at, CELL);
        panel(&area, plan, store, member, &of.name)?;
    }
    for (i, name) in names.iter().enumerate() {
        let x = ((i % per_line) as u32 * each) as i32 + 14;
        let y = (CELL.1 * lines + (i / per_line) as u32 * LINE) as i32 + 12;
        let series = place(plan, name);
        Marks(series).draw_at(&root, (x, y), 4, color(series).filled())?;
        root.draw_text(name, &font(13, INK).pos(Pos::new(HPos::Left, VPos::Center)), (x + 10, y))?;
    }
    root.present()?;
    Ok(())
}

/// Wait (ms) and goodput (Mbit/s) of a discipline's runs in a scenario.
fn points(store: &Store, member: usize, label: &str) -> Vec<(f64, f64)> {
    let of = store.of(member, label).filter_map(|r| {
        let wait = port_mean(std::iter::once(r), "sojourn_ms.mean");
        Some((wait, r.measures.get("goodput_bps")? / 1e6)).filter(|p| p.0.is_finite() && p.1.is_finite())
    });
    of.collect()
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    plan: &Plan,
    store: &Store,
    member: usize,
    title: &str,
) -> Drawn {
    let clouds: Vec<(usize, Vec<(f64, f64)>)> = plan
        .disciplines
        .iter()
        .enumerate()
        .map(|(i, label)| (i, points(store, member, label)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let all = || clouds.iter().flat_map(|(_, points)| points);
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let (low, high) =
            all().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let room = ((high - low) * 0.12).max(high.abs() * 0.02).max(1e-6);
        (low - room, high + room)
    };
    if all().next().is_none() {
        return Ok(());
    }
    let (x, y) = (ends(|p| p.0), ends(|p| p.1));
    let mut chart = ChartBuilder::on(area)
        .margin(6)
        .caption(title, font(13, INK))
        .x_label_area_size(20)
        .y_label_area_size(44)
        .build_cartesian_2d(x.0.max(0.0)..x.1, y.0.max(0.0)..y.1)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(FAINT)
        .label_style(font(11, INK))
        .x_labels(4)
        .y_labels(4)
        .x_label_formatter(&|v| figures(*v))
        .y_label_formatter(&|v| figures(*v))
        .draw()?;
    for (i, points) in &clouds {
        let Some(e) = Ellipse::of(points) else { continue };
        let around = e.outline(SIDES);
        if !around.is_empty() {
            chart.draw_series(LineSeries::new(around, color(*i).mix(0.7).stroke_width(1)))?;
        }
        let (left, top) = area.get_base_pixel();
        // One run in three that is far off moves the ellipse and not the mark.
        let (px, py) =
            chart.backend_coord(&(median(points.iter().map(|p| p.0)), median(points.iter().map(|p| p.1))));
        Marks(*i).draw_at(area, (px - left, py - top), 4, color(*i).filled())?;
    }
    Ok(())
}
