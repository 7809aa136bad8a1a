//! The comparison as a table for the terminal.

use crate::summary::{self, Column, GroupTable, QUEUE_MEASURES, QueueTable};
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, Table};
use queuewright_results::{Results, measures};

/// How [`table`] may draw.
#[derive(Debug, Clone, Copy, Default)]
pub struct TableStyle {
    /// Best values in bold besides their asterisk. The caller decides: true on a
    /// terminal unless `NO_COLOR` is set.
    pub color: bool,
    /// Columns of the terminal; none: as wide as it gets. A table that is too wide
    /// with the ranges over the seeds is drawn without them.
    pub width: Option<usize>,
}

/// The comparison as a table: disciplines as rows, each value the mean over the
/// seeds ± half their range, an asterisk at the best of a column. One table per
/// port. Ends with a newline.
pub fn table(results: &Results, style: TableStyle) -> String {
    let ports = summary::ports(results);
    let mut text = String::new();
    let mut ranges = summary::seeds(results).len() > 1;
    for port in &ports {
        if ports.len() > 1 {
            text += &format!("port {}", printable(port));
            if let Some(own) = summary::own_discipline(results, port) {
                text += &format!(", always {}", printable(own));
            }
            text.push('\n');
        }
        let columns = summary::columns(results, port);
        let labels = summary::labels(results);
        let mut drawn = draw(&labels, &columns, ranges, style.color);
        if ranges && style.width.is_some_and(|width| line_width(&drawn) > width) {
            ranges = false;
            drawn = draw(&labels, &columns, ranges, style.color);
        }
        text += &drawn;
        text.push('\n');
        let queues = summary::queues(results, port);
        if !queues.rows.is_empty() {
            text += &draw_queues(&queues, style.color);
            text.push('\n');
        }
    }
    for of_groups in summary::group_tables(results) {
        text += &draw_groups(&of_groups, style.color);
        text.push('\n');
    }
    let below = conditions(results, ranges, &text);
    text + &below
}

/// What the numbers above are.
fn conditions(results: &Results, ranges: bool, above: &str) -> String {
    let mut text = summary::conditions(results);
    if ranges {
        text += "; mean ± half the range over the seeds";
    } else if summary::seeds(results).len() > 1 {
        text += "; mean over the seeds";
    }
    if above.contains('*') {
        text += "; * best of its column";
    }
    text.push('\n');
    text
}

/// A table of these measures alone, by their paths in the result object (`sojourn_ms.p99`), with one `*` for any text
/// (`group.*.datagrams.calls.mos`), and which of these no run has. Ends with a newline.
pub fn table_of(results: &Results, paths: &[String], style: TableStyle) -> (String, Vec<String>) {
    let mut unmeasured = Vec::new();
    let chosen = summary::chosen(results, |all| {
        let mut out = Vec::new();
        for path in paths {
            let found: Vec<String> = all.iter().filter(|of| measures::is(path, of)).cloned().collect();
            if found.is_empty() {
                unmeasured.push(path.clone());
                out.push(path.clone());
            }
            out.extend(found);
        }
        out
    });
    let drawn = |ranges| {
        let mut table = bare(style.color);
        let mut header = vec![Cell::new("discipline")];
        header.extend(chosen.paths.iter().map(|path| {
            // A long path in lines, so that columns stay narrow.
            Cell::new(printable(path).replace('.', ".\n")).set_alignment(CellAlignment::Right)
        }));
        table.set_header(header);
        for (label, cells) in summary::labels(results).iter().zip(&chosen.rows) {
            let mut row = vec![Cell::new(printable(label))];
            row.extend(cells.iter().map(|cell| drawn_cell(cell, ranges, style.color)));
            table.add_row(row);
        }
        lines(&table)
    };
    let mut ranges = summary::seeds(results).len() > 1;
    let mut text = drawn(ranges);
    if ranges && style.width.is_some_and(|width| line_width(&text) > width) {
        ranges = false;
        text = drawn(ranges);
    }
    text.push('\n');
    let below = conditions(results, ranges, &text);
    (text + &below, unmeasured)
}

/// Lines above, below and under the header.
const LINES: comfy_table::TableStyle = comfy_table::TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

fn bare(color: bool) -> Table {
    let mut table = Table::new();
    table.load_style(LINES).set_content_arrangement(ContentArrangement::Disabled);
    // Never ask the process's own terminal: the caller has decided.
    if color {
        table.enforce_styling().style_text_only();
    } else {
        table.force_no_tty();
    }
    table
}

/// A table of words, whose columns are as wide as `width` lets them: its first row is the header.
pub fn words(rows: Vec<Vec<String>>, width: u16) -> String {
    let mut table = bare(false);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    let mut rows = rows.into_iter();
    table.set_header(rows.next().unwrap_or_default()).add_rows(rows);
    lines(&table)
}

fn lines(table: &Table) -> String {
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().into()).collect();
    lines.join("\n")
}

/// A heading of two lines: what, and which part of it in which unit.
fn heading(name: &str, part: &str, unit: &str) -> Cell {
    let second = [part, unit].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ");
    Cell::new(format!("{name}\n{second}")).set_alignment(CellAlignment::Right)
}

fn draw_queues(queues: &QueueTable<'_>, color: bool) -> String {
    let mut table = bare(color);
    let mut header = vec![Cell::new("discipline"), Cell::new("queue")];
    header.extend(QUEUE_MEASURES.iter().zip(&queues.units).map(|(m, unit)| heading(m.name, m.part, unit)));
    table.set_header(header);
    for (label, queue, values) in &queues.rows {
        let mut row = vec![Cell::new(printable(label)), Cell::new(printable(queue))];
        row.extend(values.iter().map(|v| Cell::new(v).set_alignment(CellAlignment::Right)));
        table.add_row(row);
    }
    lines(&table)
}

fn draw_groups(of_groups: &GroupTable<'_>, color: bool) -> String {
    let mut table = bare(color);
    let mut header: Vec<Cell> = of_groups.keys.iter().map(Cell::new).collect();
    header.extend(of_groups.headings.iter().map(|(name, part, unit)| heading(name, &printable(part), unit)));
    table.set_header(header);
    for (names, values) in &of_groups.rows {
        let mut row: Vec<Cell> = names.iter().map(|name| Cell::new(printable(name))).collect();
        row.extend(values.iter().map(|v| Cell::new(v).set_alignment(CellAlignment::Right)));
        table.add_row(row);
    }
    lines(&table)
}

fn draw(labels: &[&str], columns: &[Column], ranges: bool, color: bool) -> String {
    let mut table = bare(color);
    let mut header = vec![Cell::new("discipline")];
    header.extend(columns.iter().map(|c| heading(c.measure.name, c.measure.part, c.unit)));
    table.set_header(header);
    for (i, label) in labels.iter().enumerate() {
        let mut row = vec![Cell::new(printable(label))];
        row.extend(columns.iter().map(|column| drawn_cell(&column.cells[i], ranges, color)));
        table.add_row(row);
    }
    lines(&table)
}

fn drawn_cell(cell: &summary::Cell, ranges: bool, color: bool) -> Cell {
    let mut text = cell.mean.clone();
    if ranges && !cell.plus_minus.is_empty() {
        text += &format!(" ±{}", cell.plus_minus);
    }
    // A blank where others have an asterisk keeps the digits under each other.
    text.push(if cell.best { '*' } else { ' ' });
    let drawn = Cell::new(text).set_alignment(CellAlignment::Right);
    if cell.best && color { drawn.add_attribute(Attribute::Bold) } else { drawn }
}

/// A label as it may go to a terminal: without control characters.
fn printable(label: &str) -> String {
    label.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Columns that the first line (the frame, unstyled) takes.
fn line_width(drawn: &str) -> usize {
    drawn.lines().next().map_or(0, |line| line.chars().count())
}
