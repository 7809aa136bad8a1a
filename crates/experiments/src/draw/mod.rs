//! A figure as SVG, and the SVG as PNG.

mod axis;
mod panel;
mod series;
pub mod style;
mod table;

use crate::Error;
use crate::figure::{Kind, Panel, Picture, Spread as Bars};
use crate::rows::Rows;
pub use panel::Marks;
use plotters::prelude::*;
use resvg::{tiny_skia, usvg};
use series::{Curve, of_panel};
use std::sync::{Arc, Once};
use style::{Area, Drawn, FAINT, INK, LIGHT, WARNING, color, font};

/// Size of a panel, with its axes.
const PANEL: (u32, u32) = (600, 410);
/// Size of the only panel.
const ALONE: (u32, u32) = (860, 500);
/// Height of the title, and of the line at the foot.
const HEAD: u32 = 52;
const FOOT: u32 = 30;
/// Height of a line of the legend.
const LEGEND: u32 = 24;
/// Pixels of the PNG for one of the SVG's.
const DENSITY: f32 = 2.0;

/// A figure's first picture, or one of the others, of some runs. `warning` is written across the head, as of
/// quick runs.
pub fn svg(rows: &Rows<'_>, picture: Option<&Picture>, warning: Option<&str>) -> Result<String, Error> {
    fonts();
    let mut out = String::new();
    draw(&mut out, rows, picture, warning)
        .map_err(|e| Error::Output(format!("{}: {e}", rows.plan.experiment.id())))?;
    Ok(out)
}

/// The letters of pictures, by which the widths of texts are measured.
pub fn fonts() {
    static FONT: Once = Once::new();
    FONT.call_once(|| {
        let _ = plotters::style::register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular());
        let _ = plotters::style::register_font("sans-serif", FontStyle::Bold, dejavu::sans::bold());
    });
}

fn draw(out: &mut String, rows: &Rows<'_>, picture: Option<&Picture>, warning: Option<&str>) -> Drawn {
    let figure = &rows.plan.experiment.figure;
    let name = picture.map(|p| p.name.as_str());
    let shown = figure.panels.iter().filter(|p| p.picture.as_deref() == name);
    let panels: Vec<_> = shown.map(|p| (p, of_panel(p, rows))).collect();
    let mut names: Vec<String> = Vec::new();
    for curve in panels.iter().filter(|(p, _)| p.kind != Kind::Table).flat_map(|(_, curves)| curves) {
        if !names.contains(&curve.name) && !curve.name.is_empty() {
            names.push(curve.name.clone());
        }
    }
    let columns = picture.and_then(|p| p.columns).unwrap_or(figure.columns).min(panels.len());
    let usual = if panels.len() == 1 { ALONE } else { PANEL };
    // A table under one with the same columns does not name them again.
    let heads = |(p, curves): &(&Panel, Vec<Curve>)| {
        (p.kind == Kind::Table).then(|| curves.iter().map(|c| c.name.clone()).collect::<Vec<_>>())
    };
    let headed = |i: usize| i < columns || heads(&panels[i - columns]) != heads(&panels[i]);
    // Tables take what they need.
    let sizes: Vec<(u32, u32)> = panels
        .iter()
        .enumerate()
        .map(|(i, (p, curves))| match p.kind {
            Kind::Table => table::size(p, curves, rows, headed(i)),
            _ => usual,
        })
        .collect();
    let each = sizes.iter().map(|s| s.0).max().unwrap_or(usual.0);
    let width = each * columns as u32;
    let heights: Vec<u32> =
        sizes.chunks(columns).map(|line| line.iter().map(|s| s.1).max().unwrap_or(usual.1)).collect();
    let body: u32 = heights.iter().sum();
    let published = panels.iter().flat_map(|(_, curves)| curves).any(|c| !c.published.is_empty());
    let alone = panels.iter().flat_map(|(_, curves)| curves).any(|c| !c.alone.is_empty());
    // What only stands where its name is beside it needs no legend.
    let told = |(p, curves): &&(&Panel, Vec<Curve>)| p.kind != Kind::Table && !panel::names_marks(p, curves);
    let listed = |n: &&String| panels.iter().filter(told).flat_map(|(_, c)| c).any(|c| c.name == **n);
    let series: Vec<_> =
        names.iter().enumerate().filter(|(_, n)| listed(n)).map(|(i, n)| (i, n.as_str())).collect();
    let legend = legend_lines(&series, published, alone, width);
    let height = HEAD + body + LEGEND * legend.len() as u32 + FOOT;
    let root = SVGBackend::with_string(out, (width, height)).into_drawing_area();
    root.fill(&WHITE)?;
    head(&root, rows, picture, warning, width)?;
    let mut top = HEAD;
    for (line, (of_line, height)) in panels.chunks(columns).zip(&heights).enumerate() {
        for (i, (panel, curves)) in of_line.iter().enumerate() {
            let area = root.clone().shrink((each * i as u32, top), (each, *height));
            match panel.kind {
                Kind::Table => table::draw(&area, panel, curves, rows, headed(line * columns + i))?,
                _ => panel::draw(&area, panel, curves, &names, rows)?,
            }
        }
        top += height;
    }
    let mut y = top as i32 + 4;
    for line in &legend {
        let whole: i32 = line.iter().map(|(_, _, w)| w).sum();
        let mut x = (width as i32 - whole) / 2;
        for (i, name, w) in line {
            let at = (x + 10, y + 8);
            match i {
                Some(i) => {
                    let color = color(*i);
                    root.draw(&PathElement::new([(x, at.1), (x + 20, at.1)], color.stroke_width(2)))?;
                    Marks(*i).draw_at(&root, at, 4, color.filled())?;
                }
                None if name.starts_with("grey") => Marks(0).draw_at(&root, at, 6, LIGHT.filled())?,
                None => Marks(0).draw_at(&root, at, 5, FAINT.stroke_width(2))?,
            }
            root.draw_text(name, &font(14, INK), (x + 26, y + 1))?;
            x += w;
        }
        y += LEGEND as i32;
    }
    root.draw_text(&foot(rows, &panels), &font(11, FAINT), (12, height as i32 - 20))?;
    root.present()?;
    Ok(())
}

fn head(
    root: &Area<'_>,
    rows: &Rows<'_>,
    picture: Option<&Picture>,
    warning: Option<&str>,
    width: u32,
) -> Drawn {
    let e = &rows.plan.experiment;
    let title = picture.map_or(e.figure.title.clone(), |p| format!("{}: {}", e.figure.title, p.title));
    root.draw_text(&title, &("sans-serif", 18, FontStyle::Bold).into_font().color(&INK), (12, 10))?;
    root.draw_text(&format!("{}: {}", e.figure.figure, e.figure.source), &font(12, FAINT), (12, 34))?;
    if let Some(warning) = warning {
        let style = ("sans-serif", 13, FontStyle::Bold).into_font().color(&WARNING);
        let length = root.estimate_text_size(warning, &style)?.0 as i32;
        root.draw_text(warning, &style, ((width as i32 - length - 12).max(12), 33))?;
    }
    Ok(())
}

/// The legend's lines: which series (none: what was published), its name, its width.
fn legend_lines(
    series: &[(usize, &str)],
    published: bool,
    alone: bool,
    width: u32,
) -> Vec<Vec<(Option<usize>, String, i32)>> {
    let mut lines: Vec<Vec<(Option<usize>, String, i32)>> = Vec::new();
    let mut items: Vec<_> = series.iter().map(|(i, n)| (Some(*i), n.to_string())).collect();
    if published {
        items.push((None, "hollow: published".into()));
    }
    if alone {
        items.push((None, "grey: alone".into()));
    }
    let mut used = 0;
    for (i, name) in items {
        let w = 26 + 18 + (name.chars().count() as f64 * 8.2) as i32;
        if lines.is_empty() || used + w > width as i32 - 24 {
            lines.push(Vec::new());
            used = 0;
        }
        used += w;
        if let Some(line) = lines.last_mut() {
            line.push((i, name, w));
        }
    }
    lines
}

/// What marks and bars are.
fn foot(rows: &Rows<'_>, panels: &[(&Panel, Vec<Curve>)]) -> String {
    let counts = || panels.iter().flat_map(|(_, c)| c).flat_map(|c| &c.points).map(|p| p.count);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let runs = match (least, most) {
        (1, 1) => "one run each".into(),
        (a, b) if a == b => format!("means of {a} runs"),
        (a, b) => format!("means of {a} to {b} runs"),
    };
    if panels.iter().all(|(p, _)| p.kind == Kind::Flows) {
        return format!(
            "queuewright {}, {}: every flow of every run",
            env!("CARGO_PKG_VERSION"),
            rows.plan.experiment.id()
        );
    }
    let spreads: Vec<Bars> = panels.iter().map(|(p, _)| p.spread).collect();
    let bars = match () {
        () if most < 2 => "",
        () if spreads.iter().all(|s| *s == Bars::Confidence) => ", bars: 95 % confidence",
        () if spreads.iter().all(|s| *s == Bars::Range) => ", bars: smallest to largest",
        () => "",
    };
    format!("queuewright {}, {}: {runs}{bars}", env!("CARGO_PKG_VERSION"), rows.plan.experiment.id())
}

/// The PNG of an SVG, for where SVG is not shown.
pub fn png(svg: &str) -> Result<Vec<u8>, Error> {
    let fail = |e: String| Error::Output(format!("PNG: {e}"));
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let options = usvg::Options { fontdb: Arc::new(fonts), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| fail(e.to_string()))?;
    let size = tree.size().to_int_size().scale_by(DENSITY).ok_or_else(|| fail("too large".into()))?;
    let mut pixels =
        tiny_skia::Pixmap::new(size.width(), size.height()).ok_or_else(|| fail("too large".into()))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(DENSITY, DENSITY), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| fail(e.to_string()))
}
