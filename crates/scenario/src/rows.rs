//! Flows of a file: a flow for each line of a table.

use crate::arrivals::ArrivalPattern;
use crate::data::{Files, Sheet};
use crate::datagrams::Datagrams;
use crate::error::{Error, Place, suggest};
use crate::keys::MAX_FLOWS;
use crate::limits::FLOWS;
use crate::model::{Flows, Rows, TrafficModel};
use crate::node::{Node, Table, Value};
use crate::preset::in_order;
use crate::units::Range;
use queuewright_cca::Kind;
use std::sync::Arc;

/// What a file may say of each flow.
const COLUMNS: &[&str] =
    &["rtt", "cca", "start", "stop", "size", "ecn", "access", "jitter", "rate", "initial_window"];

/// The entry `t` that the file `named` by it fills; `line` reads an entry that stands for one flow.
pub(crate) fn entry(
    t: &Table<'_>,
    named: &Node,
    files: &Files,
    line: &impl Fn(&Node) -> Result<Flows, Error>,
) -> Result<Flows, Error> {
    let alone: Vec<&str> =
        ["count", "repeat", "arrivals", "pages"].into_iter().chain(Datagrams::names()).collect();
    t.not_with(&alone, "does not go with a file of flows: each of its lines is a TCP flow, once")?;
    let (file, sheet) = Sheet::read(named, files, "a file of flows", &FLOWS)?;
    let none = || {
        let form = format!("no flow; the first line names the columns, out of {}", COLUMNS.join(", "));
        sheet.error(0, None, form)
    };
    let mut lines = sheet.lines();
    let (head, names) = lines.next().ok_or_else(none)?;
    let columns = columns(t, &sheet, head, names)?;
    let mut flows: Vec<Flows> = Vec::new();
    for (number, cells) in lines {
        if cells.len() != columns.len() {
            let or_more = if cells.len() == Sheet::MOST_FIELDS { " or more" } else { "" };
            let message = format!("{}{or_more} values for {} columns", cells.len(), columns.len());
            return Err(sheet.error(number, None, message));
        }
        if flows.len() as u64 >= MAX_FLOWS {
            return Err(sheet.error(number, None, format!("more than {MAX_FLOWS} flows")));
        }
        let place = Place::File { name: sheet.given.clone(), line: number };
        let mut entries: Vec<(String, Node)> =
            t.entries.iter().filter(|(key, _)| key != "file").cloned().collect();
        // An empty cell leaves the key to its default.
        for (column, cell) in columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
            let value = match cell {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                text => Value::Text(text.into()),
            };
            entries.push((column.to_string(), Node::new(*column, place.clone(), value)));
        }
        flows.push(line(&Node::new(t.node.key.clone(), place, Value::Table(entries)))?);
    }
    let mut all = flows.first().ok_or_else(none)?.clone();
    all.count = Range::one(flows.len() as u64);
    all.arrival = ArrivalPattern::Once;
    all.rtt_ns = hull(&flows, |f| f.rtt_ns);
    all.start_ns = hull(&flows, |f| f.start_ns);
    if let TrafficModel::Tcp { ccas, .. } = &mut all.traffic {
        *ccas = controls(&flows);
    }
    all.control_files = Vec::new();
    for (kind, file) in flows.iter().flat_map(|flow| &flow.control_files) {
        if !all.control_files.iter().any(|(known, _)| known == kind) {
            all.control_files.push((*kind, file.clone()));
        }
    }
    all.rows = Some(Rows { file, columns, flows: Arc::new(flows) });
    Ok(all)
}

/// The columns that the first line names.
fn columns(t: &Table<'_>, sheet: &Sheet, line: usize, names: Vec<&str>) -> Result<Vec<&'static str>, Error> {
    let mut columns: Vec<&'static str> = Vec::with_capacity(names.len());
    for name in names {
        let Some(known) = COLUMNS.iter().find(|c| **c == name) else {
            let hint = suggest(name, COLUMNS.iter().copied());
            return Err(sheet.error(line, Some(name), format!("not a column of a file of flows{hint}")));
        };
        if columns.contains(known) {
            return Err(sheet.error(line, Some(name), "this column is there twice"));
        }
        if let Some(n) = t.get(known) {
            return Err(n.key_error(format!("{} says this of each flow; leave it out here", sheet.given)));
        }
        columns.push(known);
    }
    Ok(columns)
}

/// From the least to the most that some flow has.
fn hull(flows: &[Flows], of: impl Fn(&Flows) -> Range) -> Range {
    let (min, max) = (flows.iter().map(|f| of(f).min).min(), flows.iter().map(|f| of(f).max).max());
    Range { min: min.unwrap_or(0), max: max.unwrap_or(0) }
}

/// The congestion controls that occur: a group of results for each.
fn controls(flows: &[Flows]) -> Vec<(Kind, u32)> {
    let mut all: Vec<(Kind, u32)> = Vec::new();
    for flow in flows {
        let TrafficModel::Tcp { ccas, .. } = &flow.traffic else { continue };
        for (kind, weight) in ccas {
            match all.iter_mut().find(|(k, _)| k == kind) {
                Some((_, sum)) => *sum = sum.saturating_add(*weight),
                None => all.push((*kind, *weight)),
            }
        }
    }
    in_order(all)
}
