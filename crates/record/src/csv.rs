//! Comma-separated values: one row per frame and body, numbers in the fewest digits that read back to the same bits.

use crate::columns::{coordinates, velocities};
use crate::error::RecordError;
use crate::replay::Log;
use std::io::Write;
use std::path::Path;

/// Writes a log as CSV.
pub(crate) fn write(log: &Log, out: &mut impl Write, path: &Path) -> Result<(), RecordError> {
    let io = |source| RecordError::Io { action: "write", path: path.to_path_buf(), source };
    let header = log.header();
    let (coords, dof) = (header.coords(), header.dof());
    let names: Vec<String> = header.bodies.iter().map(|name| field(name)).collect();
    let columns: Vec<&str> = coordinates(header.dimension).iter().chain(velocities(header.dimension)).copied().collect();
    writeln!(out, "time,body,{}", columns.join(",")).map_err(io)?;
    log.visit(|frame| {
        for (body, name) in names.iter().enumerate() {
            write!(out, "{},{name}", frame.time).map_err(io)?;
            for x in frame.q[body * coords..(body + 1) * coords].iter().chain(&frame.v[body * dof..(body + 1) * dof]) {
                write!(out, ",{x}").map_err(io)?;
            }
            writeln!(out).map_err(io)?;
        }
        Ok(())
    })
}

/// A text as a field: quoted where a reader would trip over it.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_only_where_needed() {
        assert_eq!(field("cue"), "cue");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("the \"8\""), "\"the \"\"8\"\"\"");
    }
}
