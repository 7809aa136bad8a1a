//! The runs as a sheet: CSV and Parquet, a row for each run.

use crate::Error;
use crate::rows::Rows;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A column.
enum Column {
    Texts(Vec<String>),
    Whole(Vec<i64>),
    Numbers(Vec<Option<f64>>),
}

/// Dimensions, discipline, seed, then every measure that some run has, by name.
fn columns(rows: &Rows<'_>) -> Vec<(String, Column)> {
    let mut all = Vec::new();
    for sweep in &rows.plan.experiment.figure.sweeps {
        let values = rows.all.iter().map(|r| r.value(&sweep.name).to_string()).collect();
        all.push((sweep.name.clone(), Column::Texts(values)));
    }
    all.push((
        "discipline".into(),
        Column::Texts(rows.all.iter().map(|r| r.record.discipline.clone()).collect()),
    ));
    all.push(("seed".into(), Column::Whole(rows.all.iter().map(|r| r.record.seed as i64).collect())));
    let names: BTreeSet<&String> = rows.all.iter().flat_map(|r| r.record.measures.keys()).collect();
    for name in names {
        let values = rows.all.iter().map(|r| r.record.measures.get(name).copied()).collect();
        all.push((name.clone(), Column::Numbers(values)));
    }
    all
}

/// CSV (RFC 4180), a line for each run.
pub fn csv(rows: &Rows<'_>) -> Result<Vec<u8>, Error> {
    let columns = columns(rows);
    let fail = |e: csv::Error| Error::Output(format!("CSV: {e}"));
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(columns.iter().map(|(name, _)| name)).map_err(fail)?;
    for i in 0..rows.all.len() {
        let fields = columns.iter().map(|(_, column)| match column {
            Column::Texts(v) => v[i].clone(),
            Column::Whole(v) => v[i].to_string(),
            Column::Numbers(v) => v[i].map(|x| x.to_string()).unwrap_or_default(),
        });
        out.write_record(fields).map_err(fail)?;
    }
    out.into_inner().map_err(|e| Error::Output(format!("CSV: {e}")))
}

/// The same as Parquet, a value that is not there as null.
pub fn parquet(rows: &Rows<'_>) -> Result<Vec<u8>, Error> {
    write(columns(rows)).map_err(|e| Error::Output(format!("Parquet: {e}")))
}

fn write(columns: Vec<(String, Column)>) -> parquet::errors::Result<Vec<u8>> {
    let fields = columns.iter().map(|(name, column)| {
        let (physical, repetition) = match column {
            Column::Texts(_) => (Physical::BYTE_ARRAY, Repetition::REQUIRED),
            Column::Whole(_) => (Physical::INT64, Repetition::REQUIRED),
            Column::Numbers(_) => (Physical::DOUBLE, Repetition::OPTIONAL),
        };
        let logical = matches!(column, Column::Texts(_)).then_some(LogicalType::String);
        let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        builder.with_logical_type(logical).build().map(Arc::new)
    });
    let fields = fields.collect::<parquet::errors::Result<Vec<_>>>()?;
    let schema = Arc::new(Type::group_type_builder("runs").with_fields(fields).build()?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut out = Vec::new();
    let mut file = SerializedFileWriter::new(&mut out, schema, properties)?;
    let mut group = file.next_row_group()?;
    for (_, column) in &columns {
        let Some(mut writer) = group.next_column()? else { break };
        match column {
            Column::Texts(v) => {
                let v: Vec<ByteArray> = v.iter().map(|t| ByteArray::from(t.as_str())).collect();
                writer.typed::<ByteArrayType>().write_batch(&v, None, None)?;
            }
            Column::Whole(v) => {
                writer.typed::<Int64Type>().write_batch(v, None, None)?;
            }
            Column::Numbers(v) => {
                let there: Vec<i16> = v.iter().map(|x| i16::from(x.is_some())).collect();
                let v: Vec<f64> = v.iter().flatten().copied().collect();
                writer.typed::<DoubleType>().write_batch(&v, Some(&there), None)?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(out)
}
