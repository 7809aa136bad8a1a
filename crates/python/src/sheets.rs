//! Results as tables: the sheets that the command writes as CSV, with the same names, and null for what is not known.

use crate::table::Table;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, new_null_array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use queuewright_results::sheets::{Sheet, Values};
use queuewright_results::{Column, Results, Series};
use std::collections::HashMap;
use std::sync::Arc;

/// A count with a sign, as others count: the difference of two may be below 0. None comes near the largest.
fn count(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A sheet in Arrow's memory, its units and what its columns say in the fields' metadata; null for what is not known.
pub fn table(sheet: Sheet<'_>) -> Table {
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for c in sheet.columns {
        let (column, nullable): (ArrayRef, bool) = match c.values {
            Values::Text(v) => (Arc::new(StringArray::from_iter_values(v)), false),
            Values::Count(v) => (Arc::new(Int64Array::from_iter_values(v.into_iter().map(count))), false),
            Values::CountIf(v) => {
                (Arc::new(v.into_iter().map(|v| v.map(count)).collect::<Int64Array>()), true)
            }
            Values::Number(v) => {
                (Arc::new(v.into_iter().map(|v| v.is_finite().then_some(v)).collect::<Float64Array>()), true)
            }
        };
        let metadata = HashMap::from([
            ("unit".to_string(), c.unit.to_string()),
            ("about".to_string(), c.about.into_owned()),
        ]);
        fields.push(
            Field::new(c.name.into_owned(), column.data_type().clone(), nullable).with_metadata(metadata),
        );
        columns.push(column);
    }
    let schema = Arc::new(Schema::new(fields));
    // Each column has the rows that the others have.
    let batch = RecordBatch::try_new(schema.clone(), columns).expect("columns of one length");
    Table { schema, batches: vec![batch] }
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
        Arc::new(Field::new("seed", DataType::Int64, false)),
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
        columns[1] = Arc::new(Int64Array::from_value(count(run.seed), rows));
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
