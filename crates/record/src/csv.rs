//! Comma-separated values: one row per frame and body, numbers in the fewest digits that read back to the same bits; times as multiples of the step.

use crate::columns::{coordinates, velocities};
use crate::error::RecordError;
use crate::read::{Cell, Rows};
use crate::replay::{Log, Trajectory};
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
        let time = multiple(frame.time, header.step);
        for (body, name) in names.iter().enumerate() {
            write!(out, "{time},{name}").map_err(io)?;
            for x in frame.q[body * coords..(body + 1) * coords].iter().chain(&frame.v[body * dof..(body + 1) * dof]) {
                write!(out, ",{x}").map_err(io)?;
            }
            writeln!(out).map_err(io)?;
        }
        Ok(())
    })
}

/// Digits after the point of a step that is written in decimals.
const DECIMALS: usize = 12;
/// How far, in steps, a sum of steps may be from their multiple by rounding.
const OFF: f64 = 1e-3;

/// A time as people write it: the clock adds step to step and its roundings with them, 0.30000000000000004; the multiple of the step's own digits has
/// none. What is no multiple, and multiples of a step that is no short decimal, are written as they are.
fn multiple(time: f64, step: f64) -> String {
    let (text, count) = (step.to_string(), (time / step).round());
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let digits: Option<u64> = text.replace('.', "").parse().ok();
    let whole = digits.filter(|_| decimals <= DECIMALS && count >= 0.0 && (time / step - count).abs() < OFF);
    let Some(number) = whole.and_then(|digits| (count as u64).checked_mul(digits)) else { return time.to_string() };
    let padded = format!("{number:0>width$}", width = decimals + 1);
    let (whole, part) = padded.split_at(padded.len() - decimals);
    match part.trim_end_matches('0') {
        "" => whole.to_string(),
        part => format!("{whole}.{part}"),
    }
}

/// A text as a field: quoted where a reader would trip over it.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}

/// Reads a table; a line that makes no sense is named.
pub(crate) fn read(path: &Path) -> Result<Trajectory, RecordError> {
    let text = std::fs::read_to_string(path).map_err(RecordError::io("read", path))?;
    let fault = |line: usize, what: String| RecordError::Content { path: path.to_path_buf(), line, what };
    // Lines count from 1, and a byte order mark is no part of a name.
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate().map(|(i, line)| (i + 1, line));
    let (first, names) = lines.by_ref().find(|(_, l)| !l.trim().is_empty()).ok_or_else(|| fault(1, "the file is empty".to_string()))?;
    let names: Vec<String> = fields(names).into_iter().map(|name| name.trim().to_string()).collect();
    let mut rows = Rows::new(names.iter().map(String::as_str)).map_err(|what| fault(first, what))?;
    for (line, text) in lines.filter(|(_, l)| !l.trim().is_empty()) {
        let cells: Vec<Cell> = fields(text).into_iter().map(cell).collect();
        if cells.len() != names.len() {
            return Err(fault(line, format!("found {} fields under {} columns", cells.len(), names.len())));
        }
        rows.push(&cells).map_err(|what| fault(line, what))?;
    }
    Ok(rows.finish())
}

/// The fields of a line, quotes taken off.
fn fields(line: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let Some(field) = out.last_mut() else { break };
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(String::new()),
            letter => field.push(letter),
        }
    }
    out
}

fn cell(text: String) -> Cell {
    match text.trim() {
        "" => Cell::Empty,
        trimmed => trimmed.parse().map_or_else(|_| Cell::Text(text.clone()), Cell::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_multiples_of_the_step() {
        let mut time = 0.0;
        for k in 0..=3000u64 {
            assert_eq!(multiple(time, 0.005).parse::<f64>().unwrap(), format!("{}.{:03}", 5 * k / 1000, 5 * k % 1000).parse().unwrap());
            time += 0.005;
        }
        let shown = [(0.1 + 0.2, 0.1), (0.0, 0.1), (2.0, 0.5), (1.0, 1.0 / 60.0), (0.123, 0.05), (-0.1, 0.1)].map(|(t, h)| multiple(t, h));
        assert_eq!(shown, ["0.3", "0", "2", "1", "0.123", "-0.1"]);
        // Sixty steps of a sixtieth: no decimals to multiply.
        let sum = (0..60).fold(0.0, |t, _| t + 1.0 / 60.0);
        assert_eq!(multiple(sum, 1.0 / 60.0), sum.to_string());
    }

    #[test]
    fn fields_are_quoted_only_where_needed() {
        assert_eq!(field("cue"), "cue");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("the \"8\""), "\"the \"\"8\"\"\"");
    }

    #[test]
    fn fields_come_back_without_their_quotes() {
        for text in ["cue", "a,b", "the \"8\"", ""] {
            assert_eq!(fields(&format!("1,{},2", field(text))), ["1", text, "2"]);
        }
    }
}
