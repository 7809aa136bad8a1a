//! Results as tables: the sheets that the command writes as CSV, with the same names, and null for what is not known.

use crate::table::Table;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array, new_null_array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use queuewright_results::{Column, Datagrams, Port, Queue, Results, Run, Series, Sojourn, Transfer, Video};
use std::collections::HashMap;
use std::sync::Arc;

/// A column of what a row may have: its name and value.
type Part<T> = (&'static str, fn(&T) -> f64);

/// Columns as they come.
#[derive(Default)]
struct Columns(Vec<(String, bool, ArrayRef)>);

impl Columns {
    fn text<'a>(&mut self, name: &str, values: impl Iterator<Item = &'a str>) {
        self.0.push((name.into(), false, Arc::new(StringArray::from_iter_values(values))));
    }

    fn count(&mut self, name: &str, values: impl Iterator<Item = u64>) {
        self.0.push((name.into(), false, Arc::new(UInt64Array::from_iter_values(values))));
    }

    fn count_or_none(&mut self, name: &str, values: impl Iterator<Item = Option<u64>>) {
        self.0.push((name.into(), true, Arc::new(UInt64Array::from_iter(values))));
    }

    /// Null for what is not finite.
    fn number(&mut self, name: &str, values: impl Iterator<Item = f64>) {
        let values = values.map(|v| v.is_finite().then_some(v));
        self.0.push((name.into(), true, Arc::new(Float64Array::from_iter(values))));
    }

    fn sojourn(&mut self, name: &str, of: &[Sojourn]) {
        let parts: [Part<Sojourn>; 9] = [
            ("mean", |s| s.mean),
            ("std", |s| s.std),
            ("p25", |s| s.p25),
            ("p50", |s| s.p50),
            ("p75", |s| s.p75),
            ("p95", |s| s.p95),
            ("p99", |s| s.p99),
            ("p99_9", |s| s.p99_9),
            ("max", |s| s.max),
        ];
        for (part, value) in parts {
            self.number(&format!("{name}_{part}"), of.iter().map(value));
        }
    }

    fn table(self) -> Table {
        let fields: Vec<Field> = (self.0.iter())
            .map(|(name, nullable, column)| Field::new(name, column.data_type().clone(), *nullable))
            .collect();
        let schema = Arc::new(Schema::new(fields));
        let columns = self.0.into_iter().map(|(_, _, column)| column).collect();
        // Each column has the rows that the others have.
        let batch = RecordBatch::try_new(schema.clone(), columns).expect("columns of one length");
        Table { schema, batches: vec![batch] }
    }
}

/// What every sheet begins with.
fn of_run<'a>(columns: &mut Columns, runs: impl Iterator<Item = &'a Run> + Clone) {
    columns.text("discipline", runs.clone().map(|r| r.discipline.as_str()));
    columns.count("seed", runs.map(|r| r.seed));
}

/// A row for each run and port.
pub fn runs(results: &Results) -> Table {
    let rows: Vec<(&Run, &Port)> =
        results.runs.iter().flat_map(|run| run.ports.iter().map(move |port| (run, port))).collect();
    let runs = || rows.iter().map(|(run, _)| *run);
    let ports = || rows.iter().map(|(_, port)| *port);
    let mut c = Columns::default();
    of_run(&mut c, runs());
    c.text("engine", runs().map(|r| r.engine.as_str()));
    c.text("port", ports().map(|p| p.name.as_str()));
    let own =
        |(run, port): &(&'_ Run, &'_ Port)| !port.discipline.is_empty() && run.discipline != port.discipline;
    c.text(
        "port_discipline",
        rows.iter().map(|row| if own(row) { row.1.discipline.as_str() } else { row.0.discipline.as_str() }),
    );
    c.number("duration_s", runs().map(|r| r.duration_s));
    c.number("warmup_s", runs().map(|r| r.warmup_s));
    c.number("utilization", ports().map(|p| p.utilization));
    c.count("packets", ports().map(|p| p.packets));
    c.sojourn("sojourn_ms", &ports().map(|p| p.sojourn_ms).collect::<Vec<_>>());
    c.number("backlog_packets_mean", ports().map(|p| p.backlog_packets.mean));
    c.number("backlog_packets_max", ports().map(|p| p.backlog_packets.max));
    c.number("backlog_bytes_mean", ports().map(|p| p.backlog_bytes.mean));
    c.number("backlog_bytes_max", ports().map(|p| p.backlog_bytes.max));
    c.number("drop_fraction", ports().map(|p| p.drop_fraction));
    c.number("mark_fraction", ports().map(|p| p.mark_fraction));
    // All of them, so that tables of several scenarios go together.
    for reason in REASONS {
        let of = |p: &Port| p.drops.get(reason).copied().unwrap_or_default();
        c.count(&format!("drops_{reason}"), ports().map(of));
    }
    for reason in REASONS {
        let of = |p: &Port| p.marks.get(reason).copied().unwrap_or_default();
        c.count(&format!("marks_{reason}"), ports().map(of));
    }
    c.count_or_none("lost", ports().map(|p| p.lost));
    c.number("goodput_bps", runs().map(|r| r.groups.iter().fold(0.0, |sum, g| sum + g.goodput_bps)));
    c.number("jain", runs().map(|r| r.jain));
    c.number("wall_s", runs().map(|r| r.wall_s));
    let parameters: Vec<String> = (rows.iter())
        .map(|(run, port)| if port.discipline.is_empty() { &run.parameters } else { &port.parameters })
        .map(|all| all.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
        .collect();
    c.text("parameters", parameters.iter().map(String::as_str));
    c.table()
}

/// Why packets are dropped or marked: `aqm/qw.h`.
const REASONS: [&str; 4] = ["limit", "threshold", "sojourn", "early"];

/// A row for each run and queue of disciplines with several.
pub fn queues(results: &Results) -> Table {
    let mut rows: Vec<(&Run, &Port, &Queue)> = Vec::new();
    for run in &results.runs {
        for port in &run.ports {
            rows.extend(port.queues.iter().map(|queue| (run, port, queue)));
        }
    }
    let queues = || rows.iter().map(|(_, _, queue)| *queue);
    let mut c = Columns::default();
    of_run(&mut c, rows.iter().map(|row| row.0));
    c.text("port", rows.iter().map(|row| row.1.name.as_str()));
    c.text("queue", queues().map(|q| q.name.as_str()));
    c.number("rate_bps", queues().map(|q| q.rate_bps));
    c.count("packets", queues().map(|q| q.packets));
    c.sojourn("sojourn_ms", &queues().map(|q| q.sojourn_ms).collect::<Vec<_>>());
    c.number("backlog_packets_mean", queues().map(|q| q.backlog_packets.mean));
    c.number("backlog_packets_max", queues().map(|q| q.backlog_packets.max));
    c.number("drop_fraction", queues().map(|q| q.drop_fraction));
    c.number("mark_fraction", queues().map(|q| q.mark_fraction));
    c.table()
}

/// A row for each run and group of flows.
pub fn groups(results: &Results) -> Table {
    let rows: Vec<_> = results.runs.iter().flat_map(|run| run.groups.iter().map(move |g| (run, g))).collect();
    let groups = || rows.iter().map(|(_, group)| *group);
    let mut c = Columns::default();
    of_run(&mut c, rows.iter().map(|row| row.0));
    c.text("group", groups().map(|g| g.name.as_str()));
    c.text("cca", groups().map(|g| g.cca.as_str()));
    c.count("flows", groups().map(|g| g.flows.into()));
    c.number("goodput_bps", groups().map(|g| g.goodput_bps));
    let of_datagrams: [Part<Datagrams>; 5] = [
        ("loss", |d| d.loss),
        ("delay_ms_mean", |d| d.delay_ms.mean),
        ("delay_ms_p50", |d| d.delay_ms.p50),
        ("delay_ms_p95", |d| d.delay_ms.p95),
        ("delay_ms_p99", |d| d.delay_ms.p99),
    ];
    for (name, value) in of_datagrams {
        c.number(name, groups().map(|g| g.datagrams.as_ref().map_or(f64::NAN, value)));
    }
    let transfers = || groups().map(|g| g.transfers.as_ref());
    c.count_or_none("started", transfers().map(|t| Some(t?.started)));
    c.count_or_none("completed", transfers().map(|t| Some(t?.completed)));
    let fct = || transfers().map(|t| t.and_then(|t| t.fct_s.get("all")));
    c.number("fct_s_mean", fct().map(|d| d.map_or(f64::NAN, |d| d.mean)));
    c.number("fct_s_p50", fct().map(|d| d.map_or(f64::NAN, |d| d.p50)));
    c.number("fct_s_p95", fct().map(|d| d.map_or(f64::NAN, |d| d.p95)));
    c.number("fct_s_p99", fct().map(|d| d.map_or(f64::NAN, |d| d.p99)));
    let of_video: [Part<Video>; 5] = [
        ("video_bitrate_bps", |v| v.bitrate_bps),
        ("video_switches", |v| v.switches as f64),
        ("video_stalls", |v| v.stalls as f64),
        ("video_stalled_s", |v| v.stalled_s),
        ("video_startup_s", |v| v.startup_s),
    ];
    for (name, value) in of_video {
        c.number(name, groups().map(|g| g.video.as_ref().map_or(f64::NAN, value)));
    }
    c.table()
}

/// A row for each run and flow.
pub fn flows(results: &Results) -> Table {
    let rows: Vec<_> = results.runs.iter().flat_map(|run| run.flows.iter().map(move |f| (run, f))).collect();
    let flows = || rows.iter().map(|(_, flow)| *flow);
    let mut c = Columns::default();
    of_run(&mut c, rows.iter().map(|row| row.0));
    c.count("flow", flows().map(|f| f.id.into()));
    c.text("group", flows().map(|f| f.group.as_str()));
    c.text("cca", flows().map(|f| f.cca.as_str()));
    c.number("base_rtt_ms", flows().map(|f| f.base_rtt_ms));
    c.number("goodput_bps", flows().map(|f| f.goodput_bps));
    c.number("sojourn_ms", flows().map(|f| f.sojourn_ms));
    c.number("srtt_ms", flows().map(|f| f.srtt_ms.unwrap_or(f64::NAN)));
    c.count("retransmits", flows().map(|f| f.retransmits));
    c.count("timeouts", flows().map(|f| f.timeouts));
    c.number("fct_s", flows().map(|f| f.fct_s.unwrap_or(f64::NAN)));
    c.table()
}

/// A row for each run, port and point of the distribution of the sojourn time.
pub fn cdf(results: &Results) -> Table {
    let mut rows: Vec<(&Run, &Port, (f64, f64))> = Vec::new();
    for run in &results.runs {
        for (port, points) in run.ports.iter().zip(&run.detail.sojourn_cdf) {
            rows.extend(points.iter().map(|point| (run, port, *point)));
        }
    }
    let mut c = Columns::default();
    of_run(&mut c, rows.iter().map(|row| row.0));
    c.text("port", rows.iter().map(|row| row.1.name.as_str()));
    c.number("sojourn_ms", rows.iter().map(|row| row.2.0));
    c.number("share", rows.iter().map(|row| row.2.1));
    c.table()
}

/// A row for each flow that had an end, or came and went.
pub fn transfers(results: &Results) -> Table {
    let rows: Vec<(&Run, &Transfer)> =
        results.runs.iter().flat_map(|run| run.detail.transfers.iter().map(move |t| (run, t))).collect();
    let transfers = || rows.iter().map(|(_, t)| *t);
    let mut c = Columns::default();
    of_run(&mut c, rows.iter().map(|row| row.0));
    let group = |(run, t): &(&'_ Run, &'_ Transfer)| run.groups.get(t.group as usize).map(|g| g.name.clone());
    let names: Vec<String> = rows.iter().map(|row| group(row).unwrap_or_default()).collect();
    c.text("group", names.iter().map(String::as_str));
    c.count_or_none("burst", transfers().map(|t| t.burst.map(u64::from)));
    c.count("bytes", transfers().map(|t| t.bytes));
    c.number("start_s", transfers().map(|t| t.start_s));
    c.number("fct_s", transfers().map(|t| t.fct_s.unwrap_or(f64::NAN)));
    c.count("drops", transfers().map(|t| t.drops));
    c.count("lost", transfers().map(|t| t.lost));
    c.count("retransmits", transfers().map(|t| t.retransmits));
    c.table()
}

/// Name, seed and time stand in front of the quantities of a time series.
const IN_FRONT: usize = 3;

/// A row for each run and sample time, a column for each quantity that any of the runs has, and a batch for each run.
/// Takes the series out of the runs: their values become Arrow's without a copy.
pub fn series(results: &mut Results) -> Table {
    // A quantity that only some runs have stands where they have it.
    let mut quantities: Vec<(String, String)> = Vec::new();
    for run in &results.runs {
        let mut next = 0;
        for column in &run.detail.series.columns {
            let known = quantities.iter().position(|(name, _)| *name == column.name);
            if known.is_none() {
                quantities.insert(next, (column.name.clone(), column.unit.clone()));
            }
            next = known.unwrap_or(next) + 1;
        }
    }
    let mut fields: Vec<FieldRef> = vec![
        Arc::new(Field::new("discipline", DataType::Utf8, false)),
        Arc::new(Field::new("seed", DataType::UInt64, false)),
        Arc::new(Field::new("time_s", DataType::Float64, false)),
    ];
    let mut places: HashMap<String, usize> = HashMap::new();
    for (name, unit) in quantities {
        let unit = HashMap::from([("unit".to_string(), unit)]);
        fields.push(Arc::new(Field::new(&name, DataType::Float64, true).with_metadata(unit)));
        places.insert(name, fields.len() - 1);
    }
    let schema = Arc::new(Schema::new(fields));
    let mut batches = Vec::with_capacity(results.runs.len());
    for run in &mut results.runs {
        let series = std::mem::take(&mut run.detail.series);
        let rows = series.time_s.len();
        let nothing = new_null_array(&DataType::Float64, rows);
        let mut columns: Vec<ArrayRef> = vec![nothing; schema.fields().len()];
        columns[0] = Arc::new(StringArray::from_iter_values((0..rows).map(|_| &run.discipline)));
        columns[1] = Arc::new(UInt64Array::from_value(run.seed, rows));
        columns[2] = Arc::new(Float64Array::from(series.time_s));
        for column in series.columns.into_iter().filter(|c| c.values.len() == rows) {
            let known = column.values.iter().all(|v| !v.is_nan());
            let nulls = (!known).then(|| NullBuffer::from_iter(column.values.iter().map(|v| !v.is_nan())));
            let values = ScalarBuffer::from(column.values);
            columns[places[&column.name]] = Arc::new(Float64Array::new(values, nulls));
        }
        // Each column has the rows that the others have.
        batches.push(RecordBatch::try_new(schema.clone(), columns).expect("columns of one length"));
    }
    Table { schema, batches }
}

/// The series of a run, as it was before [`series`] took it.
pub fn series_of(table: &Table, run: usize) -> Series {
    let Some(batch) = table.batches.get(run) else { return Series::default() };
    let values = |at: usize| batch.column(at).as_primitive::<Float64Type>();
    let mut columns = Vec::new();
    for (at, field) in table.schema.fields().iter().enumerate().skip(IN_FRONT) {
        let of = values(at);
        if arrow_array::Array::null_count(of) < of.len() || of.is_empty() {
            columns.push(Column {
                name: field.name().clone(),
                unit: field.metadata().get("unit").cloned().unwrap_or_default(),
                values: of.iter().map(|v| v.unwrap_or(f64::NAN)).collect(),
            });
        }
    }
    Series { time_s: values(IN_FRONT - 1).values().to_vec(), columns }
}
