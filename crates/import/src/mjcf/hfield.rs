//! `hfield`: heights over a grid, in the text or in MuJoCo's own binary file.

use super::compiler::Compiler;
use super::defaults::Item;
use crate::text::Fault;
use carom_scene::tree::Solid;
use std::path::Path;

/// Points of one field, at most.
const MAX_POINTS: usize = 4_000_000;
/// Bytes before the heights of a binary file: two counts.
const HEAD: usize = 8;

/// The field of an asset as a solid, or why there is none.
pub fn read(item: &Item<'_>, compiler: &Compiler, folder: Option<&Path>) -> Result<Result<Solid, String>, Fault> {
    let size = item.numbers("size", 4, 4)?.ok_or_else(|| item.fault("size", "missing"))?;
    if size.iter().take(3).any(|x| *x <= 0.0) {
        return Err(item.fault("size", "the radii and the height need numbers above 0"));
    }
    let (columns, rows, heights) = match item.value("file") {
        Some(file) => match binary(file, compiler, folder) {
            Ok(found) => found,
            Err(problem) => return Ok(Err(problem)),
        },
        None => {
            let [rows, columns] = ["nrow", "ncol"].map(|key| item.whole(key));
            let (rows, columns) = (rows?.unwrap_or(0) as usize, columns?.unwrap_or(0) as usize);
            let flat = || vec![0.0; rows.saturating_mul(columns).min(MAX_POINTS)];
            (columns, rows, item.numbers("elevation", 0, MAX_POINTS)?.filter(|x| !x.is_empty()).unwrap_or_else(flat))
        }
    };
    if rows < 2 || columns < 2 || rows.checked_mul(columns) != Some(heights.len()) {
        return Err(item
            .fault("nrow", format!("{rows} rows of {columns} heights, and {} heights", heights.len()))
            .allowed("at least 2 by 2"));
    }
    // The heights are stretched so that the lowest is 0 and the highest the third number of the size.
    let (low, high) = heights.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
    let scale = if high > low { size[2] / (high - low) } else { 0.0 };
    let rows_of: Vec<Vec<f64>> = heights.chunks(columns).map(|row| row.iter().map(|x| (x - low) * scale).collect()).collect();
    let spacing = [2.0 * size[0] / (columns - 1) as f64, 2.0 * size[1] / (rows - 1) as f64];
    Ok(Ok(Solid::Heightfield(rows_of, spacing)))
}

/// Rows and columns as whole numbers, then the heights by rows, all of four bytes.
fn binary(file: &str, compiler: &Compiler, folder: Option<&Path>) -> Result<(usize, usize, Vec<f64>), String> {
    let folder = folder.ok_or("a file, and the model was given as text")?;
    let path = folder.join(&compiler.meshdir).join(file);
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        return Err("a picture: heights are read from the text and from MuJoCo's binary files".to_string());
    }
    let bytes = std::fs::read(&path).map_err(|e| format!("cannot be read: {e}"))?;
    let word = |at: usize| bytes.get(at..at + 4).and_then(|b| <[u8; 4]>::try_from(b).ok());
    let count = |at: usize| word(at).map(i32::from_le_bytes).and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= MAX_POINTS);
    let (Some(rows), Some(columns)) = (count(0), count(HEAD / 2)) else { return Err("is no file of heights".to_string()) };
    if rows.checked_mul(columns).and_then(|n| n.checked_mul(4)).and_then(|n| n.checked_add(HEAD)) != Some(bytes.len()) {
        return Err("has not as many heights as it says".to_string());
    }
    let heights: Vec<f64> = (0..rows * columns).filter_map(|i| word(HEAD + 4 * i)).map(|b| f64::from(f32::from_le_bytes(b))).collect();
    if heights.iter().any(|x| !x.is_finite()) {
        return Err("holds a height that is not finite".to_string());
    }
    Ok((columns, rows, heights))
}
