//! `list` and `explain`: what there is to choose from.

use queuewright_aqm::registry;
use queuewright_cca::Kind;
use queuewright_scenario::units::quote;
use queuewright_scenario::{PRESETS, catalogue, nearest, unit_in_words as unit};
use std::fmt::Write;

/// Disciplines, their parameters and the congestion controls, as a table.
pub fn list() -> String {
    let mut out = String::from("DISCIPLINES\n");
    for info in registry() {
        let _ = writeln!(out, "\n{}: {}", info.name, info.about);
        let _ = writeln!(out, "  source: {}", info.source);
        let mut rows: Vec<[String; 5]> =
            vec![["parameter", "default", "allowed", "unit", "source"].map(String::from)];
        rows.extend(
            info.params
                .iter()
                .map(|p| [p.name.into(), p.display(p.default), p.allowed(), unit(p).into(), p.source.into()]),
        );
        if rows.len() > 1 {
            table(&mut out, &rows);
        }
    }
    out.push_str("\nCONGESTION CONTROLS\n\n");
    let rows: Vec<[String; 3]> = Kind::ALL
        .iter()
        .map(|k| {
            let info = k.info();
            [info.name, info.about, info.source].map(String::from)
        })
        .collect();
    table(&mut out, &rows);
    out.push_str("\nMIXES OF CONGESTION CONTROLS\n\n");
    let rows: Vec<[String; 3]> =
        PRESETS.iter().map(|p| [p.name, p.about, p.source].map(String::from)).collect();
    table(&mut out, &rows);
    out.push_str("\nMore on each: queuewright explain NAME\n");
    out
}

/// [`list`] for programs.
pub fn list_json() -> String {
    format!("{:#}\n", catalogue())
}

/// A page on one discipline or congestion control; the error names the nearest.
pub fn explain(name: &str) -> Result<String, String> {
    if queuewright_aqm::own::is_file(name) {
        return crate::own::explain(name);
    }
    if let Some(info) = queuewright_aqm::find(name) {
        return Ok(format!(
            "{}\n\nRanges, defaults and sources of the parameters: queuewright list\n",
            info.explain.trim_end()
        ));
    }
    if let Some(kind) = Kind::from_name(name) {
        let (about, source) = (kind.info().about, kind.info().source);
        if !kind.info().explain.is_empty() {
            return Ok(format!(
                "{}\n\nUse it as `--flows 10x{name}`, or in a scenario file as `cca = \"{name}\"`.\n",
                kind.info().explain.trim_end()
            ));
        }
        let (flag, key) = if kind.needs_rate() { (":20mbit", " with `rate = \"20mbit\"`") } else { ("", "") };
        return Ok(format!(
            "# {name}\n\nTCP congestion control: {about}.\n\nSource: {source}.\n\n\
             Use it as `--flows 10x{name}{flag}`, or in a scenario file as `cca = \"{name}\"`{key}.\n"
        ));
    }
    if let Some(preset) = PRESETS.iter().find(|p| p.name == name) {
        let (about, source) = (preset.about, preset.source);
        return Ok(format!(
            "# {name}\n\nA mix of congestion controls: {about}.\n\nSource: {source}.\n\n\
             Each flow draws its own; results are grouped by congestion control.\n\
             Use it as `--flows 100x{name}`, or in a scenario file as `cca = \"{name}\"`.\n"
        ));
    }
    let controls = Kind::ALL.iter().map(|k| k.name());
    let names: Vec<&str> = registry()
        .iter()
        .map(|info| info.name)
        .chain(controls)
        .chain(PRESETS.iter().map(|p| p.name))
        .collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("; did you mean \"{near}\"?"),
        None => ".".into(),
    };
    Err(format!("nothing is called \"{}\"{hint} There are: {}", quote(name), names.join(", ")))
}

/// Columns as wide as their widest cell, two spaces apart, the last as it is.
fn table<const N: usize>(out: &mut String, rows: &[[String; N]]) {
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in rows {
        let mut line = String::from("  ");
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
