//! Measured sets from the user's folder: which files, which arrays, and whether their numbers can be what the layout says.

use crate::{Trouble, median};
use carom::math::{Space, Spatial, Vector};
use carom::record::Arrays;
use std::path::{Path, PathBuf};

/// A change over a frame and the measured rate agree within this factor.
const FACTOR: f64 = 2.0;
/// Rates below this part of the largest say nothing about units.
const FAST: f64 = 0.2;
/// Turns miss the measured rates by at most this part of them, in the middle.
const TURN: f64 = 0.5;

/// The files of a folder that belong to a set: `NAME.npz` and `NAME_*.npz`, in the order of their names.
pub fn files(data: Option<&Path>, set: &str) -> Result<Vec<PathBuf>, Trouble> {
    let Some(folder) = data else { return Err(Trouble::NoData("--data names the folder".to_string())) };
    let entries = std::fs::read_dir(folder).map_err(|error| Trouble::Failed(format!("{}: {error}", folder.display())))?;
    let of_the_set = |path: &PathBuf| {
        let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let rest = stem.strip_prefix(set);
        path.is_file() && path.extension().is_some_and(|e| e == "npz") && rest.is_some_and(|r| r.is_empty() || r.starts_with('_'))
    };
    let mut found: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).filter(of_the_set).collect();
    found.sort();
    if found.is_empty() {
        return Err(Trouble::NoData(format!("{set}.npz or {set}_*.npz in {}", folder.display())));
    }
    Ok(found)
}

/// A fault of a file.
pub fn fault(path: &Path, what: &str) -> Trouble {
    Trouble::Failed(format!("{}: {what}", path.display()))
}

/// An array of a file by name, with its shape checked: 0 stands for any length but none.
pub fn array(arrays: &Arrays, path: &Path, name: &str, shape: &[usize]) -> Result<(Vec<usize>, Vec<f64>), Trouble> {
    let Some((found, numbers)) = arrays.get(name) else {
        let there: Vec<&str> = arrays.keys().map(String::as_str).collect();
        return Err(fault(path, &format!("has no array \"{name}\"; it has {}", there.join(", "))));
    };
    let fits = found.len() == shape.len() && found.iter().zip(shape).all(|(f, s)| if *s == 0 { *f > 0 } else { f == s });
    if !fits {
        return Err(fault(path, &format!("\"{name}\" has shape {found:?}, needs {shape:?} (0 is any but none)")));
    }
    if let Some(at) = numbers.iter().position(|x| !x.is_finite()) {
        let width = found.last().copied().unwrap_or(1).max(1);
        let (row, column) = if found.len() > 1 { (at / width, at % width) } else { (at, 0) };
        return Err(fault(path, &format!("\"{name}\", row {row}, column {column}: is not a finite number")));
    }
    Ok((found.clone(), numbers.clone()))
}

/// Whole numbers of an array, none below the least.
pub fn whole(arrays: &Arrays, path: &Path, name: &str, shape: &[usize], least: f64) -> Result<Vec<i64>, Trouble> {
    let (_, numbers) = array(arrays, path, name, shape)?;
    let odd = numbers.iter().position(|x| x.fract() != 0.0 || *x < least || x.abs() > 1e15);
    if let Some(row) = odd {
        let wanted = if least.is_finite() { format!("a whole number from {least} on") } else { "a whole number".to_string() };
        return Err(fault(path, &format!("\"{name}\", row {row}: {} is not {wanted}", numbers[row])));
    }
    Ok(numbers.into_iter().map(|x| x as i64).collect())
}

/// A rotation from w, x, y, z that must be of length one within a thousandth.
pub fn rotation(q: &[f64]) -> Option<<Spatial as Space>::Rot> {
    const UNIT: f64 = 1e-3;
    let size = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    Spatial::read_rotation(q).filter(|_| (size - 1.0).abs() < UNIT)
}

/// Rows of one motion, a frame apart.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Numbers row by row.
    pub numbers: &'a [f64],
    /// Numbers of a row.
    pub width: usize,
    /// Frames per second.
    pub rate: f64,
}

/// Whether a column changes as fast as the one that is said to be its rate, over all motions; the fault names both.
pub fn rate_of(motions: &[Rows<'_>], path: &Path, [value, rate]: [usize; 2]) -> Result<(), Trouble> {
    let pairs = |rows: &Rows<'_>| -> Vec<[f64; 2]> {
        let all: Vec<&[f64]> = rows.numbers.chunks_exact(rows.width).collect();
        all.windows(2).map(|w| [(w[1][value] - w[0][value]) * rows.rate, 0.5 * (w[0][rate] + w[1][rate])]).collect()
    };
    let all: Vec<[f64; 2]> = motions.iter().flat_map(pairs).collect();
    let most = all.iter().map(|p| p[1].abs()).fold(0.0, f64::max);
    let ratios: Vec<f64> = all.iter().filter(|p| p[1].abs() > FAST * most).map(|p| p[0] / p[1]).collect();
    let ratio = median(&ratios);
    if ratio.is_nan() || (ratio > 1.0 / FACTOR && ratio < FACTOR) {
        return Ok(());
    }
    let guess = carom_fit::mixed_up(ratio).unwrap_or("other units, or another order of columns?");
    Err(fault(path, &format!("\"state\": column {value} changes {ratio:.4} times as fast as column {rate} says: {guess}")))
}

/// Whether orientations (w, x, y, z from a column on) turn as the rates in the frame of the body say that stand from another column on.
pub fn turns_of(motions: &[Rows<'_>], path: &Path, [turn, rate]: [usize; 2]) -> Result<(), Trouble> {
    let (mut misses, mut rates) = (Vec::new(), Vec::new());
    for rows in motions {
        let all: Vec<&[f64]> = rows.numbers.chunks_exact(rows.width).collect();
        for pair in all.windows(2) {
            let (Some(a), Some(b)) = (rotation(&pair[0][turn..turn + 4]), rotation(&pair[1][turn..turn + 4])) else { continue };
            let seen = Spatial::log(Spatial::compose(Spatial::inverse(a), b)) * rows.rate;
            let said = |row: &[f64]| <Spatial as Space>::Ang::from_slice(&row[rate..rate + 3]);
            let said = (said(pair[0]) + said(pair[1])) * 0.5;
            misses.push((seen - said).norm());
            rates.push(seen.norm());
        }
    }
    // Of the faster half: what rests says nothing.
    let fast = median(&rates);
    let ratios: Vec<f64> = misses.iter().zip(&rates).filter(|(_, r)| **r >= fast && **r > 0.0).map(|(m, r)| m / r).collect();
    let miss = median(&ratios);
    if miss.is_nan() || miss < TURN {
        return Ok(());
    }
    Err(fault(
        path,
        &format!(
            "\"state\": columns {turn} to {} turn otherwise than columns {rate} to {} say (off by {miss:.2} of the rate): quaternions are w, x, y, z, rates in \
             rad/s in the frame of the body",
            turn + 3,
            rate + 2
        ),
    ))
}

/// Whether the middle of some lengths lies where it must.
pub fn lies_within(values: &[f64], [least, most]: [f64; 2], path: &Path, what: &str) -> Result<(), Trouble> {
    let middle = median(values);
    if middle >= least && middle <= most {
        return Ok(());
    }
    Err(fault(path, &format!("{what} is {middle:.4}, wanted {least} to {most}: other units?")))
}
