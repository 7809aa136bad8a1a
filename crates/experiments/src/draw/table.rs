//! A table in numbers and colours.

use super::series::{Curve, names_along};
use super::style::{Area, Drawn, FAINT, INK, font};
use crate::claims::figures;
use crate::figure::{Best, Panel};
use crate::rows::Rows;
use plotters::prelude::*;
use plotters::style::FontTransform;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A cell.
const CELL: (i32, i32) = (52, 22);
/// Above the cells: the title, and the names of the columns, which stand upright.
const TITLE: i32 = 32;
const COLUMNS: i32 = 118;
/// Pixels of a letter in the names.
const LETTER: i32 = 8;

/// Colours of a value that is the best of its row, half as good, and nothing beside it.
const GOOD: [f64; 3] = [0x9d as f64, 0xd9 as f64, 0xb4 as f64];
const MIDDLE: [f64; 3] = [0xfb as f64, 0xf0 as f64, 0xc4 as f64];
const BAD: [f64; 3] = [0xf2 as f64, 0xa4 as f64, 0x9c as f64];

/// Left of the cells: names of the rows.
fn names_width(panel: &Panel, rows: &Rows<'_>) -> i32 {
    let longest = names_along(panel, rows).iter().map(|n| n.chars().count()).max().unwrap_or(0);
    24 + LETTER * longest as i32
}

/// Rows that the table has, in order, by their places.
fn places(curves: &[Curve]) -> Vec<usize> {
    let mut all: Vec<usize> = curves.iter().flat_map(Curve::places).map(|p| p as usize).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn head(headed: bool) -> i32 {
    if headed { TITLE + COLUMNS } else { TITLE }
}

/// What the panel needs; `headed`: with the names of its columns.
pub fn size(panel: &Panel, curves: &[Curve], rows: &Rows<'_>, headed: bool) -> (u32, u32) {
    let width = names_width(panel, rows) + CELL.0 * curves.len() as i32 + 16;
    let height = head(headed) + CELL.1 * places(curves).len() as i32 + 20;
    (width as u32, height as u32)
}

pub fn draw(area: &Area<'_>, panel: &Panel, curves: &[Curve], rows: &Rows<'_>, headed: bool) -> Drawn {
    let head = head(headed);
    let names = names_along(panel, rows);
    let left = names_width(panel, rows);
    area.draw_text(&panel.title, &font(15, INK), (12, 6))?;
    let upright = font(13, INK).transform(FontTransform::Rotate270);
    for (i, curve) in curves.iter().enumerate().filter(|_| headed) {
        let x = left + CELL.0 * i as i32 + CELL.0 / 2;
        // Turned round, a text goes up from its place, which is its left upper corner.
        area.draw_text(&curve.name, &upright, (x - 8, head - 6))?;
    }
    for (line, place) in places(curves).into_iter().enumerate() {
        let y = head + CELL.1 * line as i32;
        let style = font(13, INK).pos(Pos::new(HPos::Right, VPos::Center));
        let name = names.get(place).map_or("", String::as_str);
        area.draw_text(name, &style, (left - 8, y + CELL.1 / 2))?;
        let of = |c: &Curve| c.points.iter().find(|p| p.x.round() as usize == place).map(|p| p.y);
        let values = curves.iter().filter_map(of);
        let best = match panel.best {
            Some(Best::Least) => values.fold(f64::INFINITY, f64::min),
            _ => values.fold(f64::NEG_INFINITY, f64::max),
        };
        for (i, curve) in curves.iter().enumerate() {
            let Some(value) = of(curve) else { continue };
            let x = left + CELL.0 * i as i32;
            let share = match panel.best {
                Some(Best::Most) => value / best,
                Some(Best::Least) => best / value,
                None => 0.5,
            };
            let cell = [(x + 1, y + 1), (x + CELL.0 - 1, y + CELL.1 - 1)];
            area.draw(&Rectangle::new(cell, shade(share).filled()))?;
            let middle = font(12, INK).pos(Pos::new(HPos::Center, VPos::Center));
            area.draw_text(&figures(value), &middle, (x + CELL.0 / 2, y + CELL.1 / 2))?;
        }
    }
    let foot = head + CELL.1 * places(curves).len() as i32 + 4;
    let note = match panel.best {
        Some(Best::Most) => "colour: value over the best of the row",
        Some(Best::Least) => "colour: the best of the row over the value",
        None => "",
    };
    area.draw_text(note, &font(11, FAINT), (left, foot))?;
    Ok(())
}

fn shade(share: f64) -> RGBColor {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 };
    let mix = |a: [f64; 3], b: [f64; 3], t: f64| [0, 1, 2].map(|i| (a[i] + (b[i] - a[i]) * t).round() as u8);
    let [r, g, b] = match share {
        s if s < 0.5 => mix(BAD, MIDDLE, s * 2.0),
        s => mix(MIDDLE, GOOD, s * 2.0 - 1.0),
    };
    RGBColor(r, g, b)
}
