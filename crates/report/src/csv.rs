//! CSV sheets (RFC 4180, UTF-8, a header line, a point as decimal sign). A value
//! that is not known is an empty field. What differs from machine to machine (wall
//! clock) is left out: the same scenario and seeds give the same bytes.

use queuewright_results::sheets::{self, Kind, Sheet, Values};
use queuewright_results::{Results, Run};

/// One line per run and port.
pub fn runs(results: &Results) -> String {
    of(&sheets::runs(results), &[Kind::Run, Kind::Plain])
}

/// One line per run and queue, of disciplines with several queues that are measured apart.
pub fn queues(results: &Results) -> String {
    of(&sheets::queues(results), &[Kind::Run, Kind::Plain])
}

/// One line per run and flow group.
pub fn groups(results: &Results) -> String {
    of(&sheets::groups(results), &[Kind::Run, Kind::Plain])
}

/// One line per run and flow.
pub fn flows(results: &Results) -> String {
    of(&sheets::flows(results), &[Kind::Run, Kind::Plain])
}

/// One line per run and entry of flows with probes.
pub fn responsiveness(results: &Results) -> String {
    of(&sheets::responsiveness(results), &[Kind::Run, Kind::Plain])
}

/// The distribution of the sojourn time: one line per run, port and point.
pub fn cdf(results: &Results) -> String {
    of(&sheets::cdf(results), &[Kind::Run, Kind::Plain])
}

/// Every flow of a run that had an end, or came and went: one line each, by their starts, the warm-up's included.
pub fn transfers(run: &Run) -> String {
    of(&sheets::transfers(std::slice::from_ref(run)), &[Kind::Plain])
}

/// A sheet's columns of these kinds.
fn of(sheet: &Sheet<'_>, kinds: &[Kind]) -> String {
    let columns: Vec<_> = sheet.columns.iter().filter(|c| kinds.contains(&c.kind)).collect();
    let header: Vec<&str> = columns.iter().map(|c| c.name.as_ref()).collect();
    let field = |values: &Values<'_>, row: usize| match values {
        Values::Text(v) => v[row].to_string(),
        Values::Count(v) => v[row].to_string(),
        Values::CountIf(v) => v[row].map(|n| n.to_string()).unwrap_or_default(),
        Values::Number(v) => number(v[row]),
    };
    let line = |row| columns.iter().map(|c| field(&c.values, row)).collect();
    written(&header, (0..sheet.rows()).map(line))
}

/// The time series of a run: one line per sample time, one column per quantity.
pub fn series(run: &Run) -> String {
    let series = &run.detail.series;
    let mut header = vec!["time_s"];
    header.extend(series.columns.iter().map(|column| column.name.as_str()));
    let lines = series.time_s.iter().enumerate().map(|(i, &time)| {
        let mut line = vec![number(time)];
        line.extend(
            series.columns.iter().map(|column| column.values.get(i).copied().map(number).unwrap_or_default()),
        );
        line
    });
    written(&header, lines)
}

fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// The text of a sheet: its header, and lines of as many cells.
pub fn written<H: AsRef<[u8]>>(header: &[H], lines: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    // Memory does not fail and every line has the header's length.
    writer.write_record(header).expect("in memory");
    for line in lines {
        writer.write_record(&line).expect("in memory");
    }
    let bytes = writer.into_inner().expect("in memory");
    String::from_utf8(bytes).expect("made of strings")
}
