//! Parquet tables: one row per frame and body, and beside it a table of energies with one row per frame.

use crate::columns::{coordinates, velocities};
use crate::error::RecordError;
use crate::read::{Cell, Rows};
use crate::replay::{Log, Trajectory};
use crate::trajectory::Frame;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::Type;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group: large enough to compress, small enough to hold in memory.
const GROUP_ROWS: usize = 1 << 17;

/// A column and its gathered values.
enum Column {
    Number(Vec<f64>),
    Count(Vec<i64>),
    Text(Vec<ByteArray>),
}

fn schema(columns: &[(&str, Column)]) -> Result<Arc<Type>, ParquetError> {
    let mut fields = Vec::new();
    for (name, column) in columns {
        let (kind, logical) = match column {
            Column::Number(_) => (Physical::DOUBLE, None),
            Column::Count(_) => (Physical::INT64, None),
            Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED).with_logical_type(logical).build()?;
        fields.push(Arc::new(field));
    }
    Type::group_type_builder("carom").with_fields(fields).build().map(Arc::new)
}

/// Gathers rows and writes them group by group.
struct Table<'a, W: Write + Send> {
    writer: SerializedFileWriter<&'a mut W>,
    columns: Vec<(&'static str, Column)>,
    rows: usize,
}

impl<'a, W: Write + Send> Table<'a, W> {
    fn new(out: &'a mut W, columns: Vec<(&'static str, Column)>, log: &Log) -> Result<Self, ParquetError> {
        let header = log.header();
        let about = [("carom.scene", header.scene.clone()), ("carom.name", header.name.clone()), ("carom.step", header.step.to_string())];
        let about = about.into_iter().map(|(key, value)| KeyValue::new(key.to_string(), value)).collect();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).set_key_value_metadata(Some(about)).build();
        let writer = SerializedFileWriter::new(out, schema(&columns)?, Arc::new(properties))?;
        Ok(Table { writer, columns, rows: 0 })
    }
    /// One row was pushed to every column.
    fn row(&mut self) -> Result<(), ParquetError> {
        self.rows += 1;
        if self.rows >= GROUP_ROWS { self.group() } else { Ok(()) }
    }
    fn group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for (_, column) in &mut self.columns {
            let Some(mut writer) = group.next_column()? else { break };
            match column {
                Column::Number(values) => writer.typed::<DoubleType>().write_batch(values, None, None).map(|_| values.clear())?,
                Column::Count(values) => writer.typed::<Int64Type>().write_batch(values, None, None).map(|_| values.clear())?,
                Column::Text(values) => writer.typed::<ByteArrayType>().write_batch(values, None, None).map(|_| values.clear())?,
            }
            writer.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
    fn finish(mut self) -> Result<(), ParquetError> {
        self.group()?;
        self.writer.close().map(|_| ())
    }
    fn push(&mut self, column: usize, value: f64) {
        if let Column::Number(values) = &mut self.columns[column].1 {
            values.push(value);
        }
    }
}

/// A table of a log: what its columns are and how a frame becomes rows.
fn write<W: Write + Send>(
    log: &Log,
    out: &mut W,
    path: &Path,
    columns: Vec<(&'static str, Column)>,
    mut rows: impl FnMut(&Frame, &mut Table<'_, W>) -> Result<(), ParquetError>,
) -> Result<(), RecordError> {
    let library = |error: ParquetError| RecordError::Export { path: path.to_path_buf(), what: error.to_string() };
    let mut table = Table::new(out, columns, log).map_err(library)?;
    log.visit(|frame| rows(frame, &mut table).map_err(library))?;
    table.finish().map_err(library)
}

/// Writes the motion: `time`, `body`, coordinates, velocities.
pub(crate) fn write_motion<W: Write + Send>(log: &Log, out: &mut W, path: &Path) -> Result<(), RecordError> {
    let header = log.header();
    let (coords, dof) = (header.coords(), header.dof());
    let mut columns = vec![("time", Column::Number(Vec::new())), ("body", Column::Text(Vec::new()))];
    columns
        .extend(coordinates(header.dimension).iter().chain(velocities(header.dimension)).map(|name| (*name, Column::Number(Vec::new()))));
    let names: Vec<ByteArray> = header.bodies.iter().map(|n| ByteArray::from(n.as_str())).collect();
    write(log, out, path, columns, |frame, table| {
        for (body, name) in names.iter().enumerate() {
            table.push(0, frame.time);
            if let Column::Text(values) = &mut table.columns[1].1 {
                values.push(name.clone());
            }
            let numbers = frame.q[body * coords..(body + 1) * coords].iter().chain(&frame.v[body * dof..(body + 1) * dof]);
            for (column, x) in numbers.enumerate() {
                table.push(column + 2, *x);
            }
            table.row()?;
        }
        Ok(())
    })
}

/// Writes the energies: `time`, `kinetic`, `potential`, `elastic`, `contacts`.
pub(crate) fn write_energy<W: Write + Send>(log: &Log, out: &mut W, path: &Path) -> Result<(), RecordError> {
    let mut columns: Vec<(&str, Column)> =
        ["time", "kinetic", "potential", "elastic"].into_iter().map(|name| (name, Column::Number(Vec::new()))).collect();
    columns.push(("contacts", Column::Count(Vec::new())));
    write(log, out, path, columns, |frame, table| {
        table.push(0, frame.time);
        for (column, e) in frame.energy.iter().enumerate() {
            table.push(column + 1, *e);
        }
        if let Some((_, Column::Count(values))) = table.columns.last_mut() {
            values.push(i64::try_from(frame.contacts).unwrap_or(i64::MAX));
        }
        table.row()
    })
}

/// Reads a table of the motion.
pub(crate) fn read(path: &Path) -> Result<Trajectory, RecordError> {
    let file = std::fs::File::open(path).map_err(RecordError::io("read", path))?;
    let broken = |error: ParquetError| RecordError::Corrupt { path: path.to_path_buf(), offset: 0, what: error.to_string() };
    let fault = |line: usize, what: String| RecordError::Content { path: path.to_path_buf(), line, what };
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let schema = reader.metadata().file_metadata().schema().clone();
    let mut rows = Rows::new(schema.get_fields().iter().map(|f| f.name())).map_err(|what| fault(0, what))?;
    let mut cells = Vec::new();
    for (line, row) in reader.get_row_iter(None).map_err(broken)?.enumerate() {
        let row = row.map_err(broken)?;
        cells.clear();
        cells.extend(row.get_column_iter().map(|(_, field)| match field {
            Field::Double(x) => Cell::Number(*x),
            Field::Float(x) => Cell::Number(f64::from(*x)),
            Field::Str(text) => Cell::Text(text.clone()),
            _ => Cell::Empty,
        }));
        rows.push(&cells).map_err(|what| fault(line + 1, what))?;
    }
    Ok(rows.finish())
}
