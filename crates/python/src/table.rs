//! A table of results in Arrow's memory format, handed to others by its C stream interface in PyCapsules
//! (arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html): what is behind the columns is shared, not copied.

use crate::input;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, new_null_array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use pyo3::exceptions::{PyImportError, PyIndexError, PyKeyError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PySlice};
use serde_json::Value as Json;
use std::sync::Arc;

/// Rows and named columns in Arrow's memory format.
///
/// Libraries that know Arrow read it without a copy: `polars.DataFrame(table)`, `pyarrow.table(table)`, and duckdb by a variable's name.
/// None of them is needed to look at it: `table["seed"]` is a column, `table[0]` a row, `"seed" in table` asks for a column, and who goes
/// through it gets its rows.
#[pyclass(frozen, module = "queuewright._native")]
#[derive(Clone)]
pub struct Table {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

/// A bug: columns that do not fit one another.
fn bug(e: ArrowError) -> PyErr {
    PyRuntimeError::new_err(e.to_string())
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|f| f.name().as_str()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The values of a column by its name; a row by its number; rows by a slice.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = key.extract::<String>() {
            return Ok(self.column(py, &name)?.into_any());
        }
        let rows = self.__len__();
        if let Ok(slice) = key.cast::<PySlice>() {
            let of = slice.indices(rows as isize)?;
            let out = PyList::empty(py);
            for i in 0..of.slicelength as isize {
                out.append(self.row(py, (of.start + i * of.step) as usize)?)?;
            }
            return Ok(out.into_any());
        }
        let Ok(at) = key.extract::<isize>() else {
            let kind = key.get_type().name()?;
            let text = format!(
                "a table's key is a column's name, a row's number or a slice, not {kind}; there are: {}",
                self.columns().join(", ")
            );
            return Err(PyTypeError::new_err(text));
        };
        let from_begin = if at < 0 { at.checked_add_unsigned(rows) } else { Some(at) };
        match from_begin.and_then(|at| usize::try_from(at).ok()).filter(|at| *at < rows) {
            Some(at) => Ok(self.row(py, at)?.into_any()),
            None => Err(PyIndexError::new_err(format!("row {at}: the table has {rows}"))),
        }
    }

    /// Its rows, each a dict.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Rows>> {
        Bound::new(slf.py(), Rows { table: slf.clone().unbind(), batch: 0, row: 0 })
    }

    /// Is there such a column?
    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<String>().is_ok_and(|name| self.schema.index_of(&name).is_ok())
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = (self.__len__(), self.schema.fields().len());
        let mut lines = vec![String::new(); 1 + rows.min(SHOWN_ROWS)];
        let mut left_out = 0;
        for (at, name) in self.columns().into_iter().enumerate() {
            let cells: Vec<String> = std::iter::once(name.to_string()).chain(self.cells(at)).collect();
            let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
            if left_out > 0 || lines[0].chars().count() + width > SHOWN_WIDTH {
                left_out += 1;
                continue;
            }
            for (line, cell) in lines.iter_mut().zip(cells) {
                let between = if line.is_empty() { "" } else { "  " };
                line.push_str(&format!("{between}{cell:width$}"));
            }
        }
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        let more_rows = rows.saturating_sub(SHOWN_ROWS);
        let more = match (more_rows, left_out) {
            (0, 0) => String::new(),
            (rows, 0) => format!("\n... {rows} rows more"),
            (0, columns) => format!("\n... {columns} columns more"),
            (rows, columns) => format!("\n... {rows} rows and {columns} columns more"),
        };
        format!("<queuewright.Table of {rows} rows, {columns} columns\n{}{more}>", lines.join("\n"))
    }

    fn _repr_html_(&self) -> String {
        let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let cells: Vec<Vec<String>> =
            (0..self.schema.fields().len()).map(|at| self.cells(at).collect()).collect();
        let mut html = String::from("<table><thead><tr>");
        for name in self.columns() {
            html.push_str(&format!("<th>{}</th>", escaped(name)));
        }
        html.push_str("</tr></thead><tbody>");
        for row in 0..self.__len__().min(SHOWN_ROWS) {
            html.push_str("<tr>");
            for column in &cells {
                html.push_str(&format!("<td>{}</td>", escaped(&column[row])));
            }
            html.push_str("</tr>");
        }
        html + &format!("</tbody></table><p>{} rows</p>", self.__len__())
    }

    /// As a polars DataFrame.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        needed(slf.py(), "polars", "polars")?.call_method1("DataFrame", (slf,))
    }

    /// As a pandas DataFrame, whose whole numbers are pandas' own with a place for what is not known.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let pandas = needed(py, "pandas", "'queuewright[pandas]'")?;
        let arrow = needed(py, "pyarrow", "'queuewright[pandas]'")?;
        let types = PyDict::new(py);
        types.set_item(arrow.call_method0("int64")?, pandas.call_method0("Int64Dtype")?)?;
        let options = PyDict::new(py);
        options.set_item("types_mapper", types.getattr("get")?)?;
        arrow.call_method1("table", (slf,))?.call_method("to_pandas", (), Some(&options))
    }

    /// Its rows, each a dict.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let out = PyList::empty(py);
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                out.append(self.row_of(py, batch, row)?)?;
            }
        }
        Ok(out)
    }

    /// Arrow's PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may leave a request for other types to the consumer.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// As a stream of Arrow's IPC format.
    fn to_ipc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut out = StreamWriter::try_new(Vec::new(), &self.schema).map_err(bug)?;
        self.batches.iter().try_for_each(|batch| out.write(batch)).map_err(bug)?;
        Ok(PyBytes::new(py, &out.into_inner().map_err(bug)?))
    }

    /// Out of such a stream.
    #[staticmethod]
    fn from_ipc(bytes: &[u8]) -> PyResult<Table> {
        let reader = StreamReader::try_new(bytes, None).map_err(input)?;
        let schema = reader.schema();
        Ok(Table { schema, batches: reader.collect::<Result<_, _>>().map_err(input)? })
    }

    /// Arrow's PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(bug)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

impl Table {
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Ok(at) = self.schema.index_of(name) else {
            let text = format!("no column {name:?}; there are: {}", self.columns().join(", "));
            return Err(PyKeyError::new_err(text));
        };
        let out = PyList::empty(py);
        for batch in &self.batches {
            let column = batch.column(at);
            for row in 0..column.len() {
                out.append(value(py, column, row)?)?;
            }
        }
        Ok(out)
    }

    /// A row that is there.
    fn row<'py>(&self, py: Python<'py>, mut row: usize) -> PyResult<Bound<'py, PyDict>> {
        for batch in &self.batches {
            if row < batch.num_rows() {
                return self.row_of(py, batch, row);
            }
            row -= batch.num_rows();
        }
        Ok(PyDict::new(py))
    }

    fn row_of<'py>(&self, py: Python<'py>, batch: &RecordBatch, row: usize) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            dict.set_item(field.name(), value(py, column, row)?)?;
        }
        Ok(dict)
    }

    /// What of a column is shown.
    fn cells(&self, at: usize) -> impl Iterator<Item = String> {
        let columns = self.batches.iter().map(move |batch| batch.column(at));
        columns.flat_map(|column| (0..column.len()).map(move |row| cell(column, row))).take(SHOWN_ROWS)
    }
}

/// The rows of a table, one after the other.
#[pyclass]
pub struct Rows {
    table: Py<Table>,
    /// The next one: of which batch, which.
    batch: usize,
    row: usize,
}

#[pymethods]
impl Rows {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let table = self.table.get();
        while let Some(batch) = table.batches.get(self.batch) {
            if self.row < batch.num_rows() {
                self.row += 1;
                return table.row_of(py, batch, self.row - 1).map(Some);
            }
            (self.batch, self.row) = (self.batch + 1, 0);
        }
        Ok(None)
    }
}

/// Rows that are shown, and characters of a line.
const SHOWN_ROWS: usize = 10;
const SHOWN_WIDTH: usize = 100;

/// A value in a few characters: numbers with six digits.
fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return "-".into();
    }
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).into(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            format!("{value:.5e}").parse::<f64>().unwrap_or(value).to_string()
        }
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        _ => String::new(),
    }
}

/// A library that is asked for.
fn needed<'py>(py: Python<'py>, name: &str, install: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|e| {
        let text = format!("this needs {name}: pip install {install}");
        let said = PyImportError::new_err(text);
        said.set_cause(py, Some(e));
        said
    })
}

/// A value of a column as Python has it.
fn value<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    if column.is_null(row) {
        return Ok(None);
    }
    Ok(Some(match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Boolean => column.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        other => return Err(PyRuntimeError::new_err(format!("no Python type for {other}"))),
    }))
}

/// Tables one below the other, each with columns in front that are the same in all of its rows: of each table a
/// JSON list of their names and values. One that the tables have a column of is called `over.` and that. What one of the tables lacks is null there.
#[pyfunction]
pub fn concat(tables: Vec<Bound<'_, Table>>, points: &str) -> PyResult<Table> {
    let mut points: Vec<Vec<(String, Json)>> = serde_json::from_str(points).map_err(input)?;
    let has = |name: &str| tables.iter().any(|t| t.get().schema.index_of(name).is_ok());
    for (name, _) in points.iter_mut().flatten().filter(|(name, _)| has(name)) {
        name.insert_str(0, "over.");
    }
    let mut fields: Vec<FieldRef> = Vec::new();
    for (name, _) in points.iter().flatten() {
        if !fields.iter().any(|f| f.name() == name) {
            let values = points.iter().filter_map(|point| of(point, name));
            fields.push(Arc::new(Field::new(name, type_of(values), true)));
        }
    }
    let in_front = fields.len();
    for field in tables.iter().flat_map(|t| t.get().schema.fields().iter()) {
        match fields.iter_mut().find(|f| f.name() == field.name()) {
            None => fields.push(field.clone()),
            Some(known) if field.is_nullable() && !known.is_nullable() => *known = field.clone(),
            Some(_) => {}
        }
    }
    let has_all = |field: &FieldRef| tables.iter().all(|t| t.get().schema.index_of(field.name()).is_ok());
    for field in fields.iter_mut().skip(in_front) {
        if !has_all(field) {
            *field = Arc::new(field.as_ref().clone().with_nullable(true));
        }
    }
    let schema = Arc::new(Schema::new(fields));
    let mut batches = Vec::new();
    for (table, point) in tables.iter().zip(&points) {
        for batch in &table.get().batches {
            let column = |(i, field): (usize, &FieldRef)| match batch.column_by_name(field.name()) {
                Some(column) if i >= in_front => column.clone(),
                _ => match of(point, field.name()) {
                    Some(value) if i < in_front => same(value, field.data_type(), batch.num_rows()),
                    _ => new_null_array(field.data_type(), batch.num_rows()),
                },
            };
            let columns = schema.fields().iter().enumerate().map(column).collect();
            batches.push(RecordBatch::try_new(schema.clone(), columns).map_err(bug)?);
        }
    }
    Ok(Table { schema, batches })
}

/// The value of a name.
fn of<'p>(point: &'p [(String, Json)], name: &str) -> Option<&'p Json> {
    point.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// The type that has all of these values.
fn type_of<'a>(values: impl Iterator<Item = &'a Json>) -> DataType {
    let each = values.filter(|v| !v.is_null()).map(|v| match v {
        Json::Bool(_) => DataType::Boolean,
        Json::Number(n) if n.is_i64() => DataType::Int64,
        Json::Number(_) => DataType::Float64,
        _ => DataType::Utf8,
    });
    let both = |a, b| match (a, b) {
        (a, b) if a == b => a,
        (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64) => DataType::Float64,
        _ => DataType::Utf8,
    };
    each.reduce(both).unwrap_or(DataType::Utf8)
}

/// A column with one value in all of its rows.
fn same(value: &Json, as_type: &DataType, rows: usize) -> ArrayRef {
    match as_type {
        DataType::Boolean => {
            let mut b = BooleanBuilder::new();
            b.append_n(rows, value.as_bool().unwrap_or_default());
            Arc::new(b.finish())
        }
        DataType::Int64 => {
            let mut b = Int64Builder::new();
            b.append_value_n(value.as_i64().unwrap_or_default(), rows);
            Arc::new(b.finish())
        }
        DataType::Float64 => {
            let mut b = Float64Builder::new();
            b.append_value_n(value.as_f64().unwrap_or(f64::NAN), rows);
            Arc::new(b.finish())
        }
        _ => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            let mut b = StringBuilder::new();
            (0..rows).for_each(|_| b.append_value(&text));
            Arc::new(b.finish())
        }
    }
}
