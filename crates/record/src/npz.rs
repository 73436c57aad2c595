//! NumPy archives: `time` (T), `energy` (T), `contacts` (T), `q` (T, n, 3 or 7), `v` (T, n, 3 or 6), `bodies` (n) names.

use crate::error::RecordError;
use crate::read::header;
use crate::replay::{Log, Trajectory};
use crate::trajectory::{Frame, NUMBER};
use crate::zip::{Archive, unpacked};
use carom_math::{Planar, Space, Spatial};
use std::collections::BTreeMap;
use std::io::{Seek, Write};
use std::path::Path;

/// First bytes of an array file, with version 1.0.
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
/// Array data starts at a multiple of this many bytes.
const ALIGN: usize = 64;
/// Bytes of a letter: NumPy texts are UTF-32.
const LETTER: usize = 4;
/// Bytes of the length of the description.
const LENGTH: usize = 2;

/// The head of an array file: kind of its entries and shape.
fn head(kind: &str, shape: &[u64]) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n},")).collect();
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    let end = (MAGIC.len() + LENGTH + text.len() + 1).next_multiple_of(ALIGN);
    text.extend(std::iter::repeat_n(' ', end - 1 - MAGIC.len() - LENGTH - text.len()));
    text.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    out
}

/// Writes a log as a NumPy archive, one pass over the log per array.
pub(crate) fn write(log: &Log, out: &mut (impl Write + Seek), path: &Path) -> Result<(), RecordError> {
    let io = |source| RecordError::Io { action: "write", path: path.to_path_buf(), source };
    let header = log.header();
    let (frames, bodies) = (log.len(), header.bodies.len() as u64);
    let mut archive = Archive::new(out);

    type Numbers = fn(&Frame, &mut Vec<u8>);
    let arrays: [(&str, &str, Vec<u64>, Numbers); 5] = [
        ("time.npy", "<f8", vec![frames], |f, out| out.extend_from_slice(&f.time.to_le_bytes())),
        ("energy.npy", "<f8", vec![frames], |f, out| out.extend_from_slice(&f.total_energy().to_le_bytes())),
        ("contacts.npy", "<u8", vec![frames], |f, out| out.extend_from_slice(&f.contacts.to_le_bytes())),
        ("q.npy", "<f8", vec![frames, bodies, header.coords() as u64], |f, out| {
            f.q.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()))
        }),
        ("v.npy", "<f8", vec![frames, bodies, header.dof() as u64], |f, out| {
            f.v.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()))
        }),
    ];
    let mut piece = Vec::new();
    for (name, kind, shape, numbers) in arrays {
        let head = head(kind, &shape);
        archive.entry(name, head.len() as u64 + NUMBER as u64 * shape.iter().product::<u64>()).map_err(io)?;
        archive.bytes(&head).map_err(io)?;
        log.visit(|frame| {
            piece.clear();
            numbers(frame, &mut piece);
            archive.bytes(&piece).map_err(io)
        })?;
        archive.end_entry().map_err(io)?;
    }

    // Texts are padded with zeros to the longest.
    let letters = header.bodies.iter().map(|n| n.chars().count()).max().unwrap_or(0).max(1);
    let head = head(&format!("<U{letters}"), &[bodies]);
    archive.entry("bodies.npy", head.len() as u64 + LETTER as u64 * letters as u64 * bodies).map_err(io)?;
    archive.bytes(&head).map_err(io)?;
    for name in &header.bodies {
        piece.clear();
        name.chars().for_each(|c| piece.extend_from_slice(&u32::from(c).to_le_bytes()));
        piece.resize(LETTER * letters, 0);
        archive.bytes(&piece).map_err(io)?;
    }
    archive.end_entry().map_err(io)?;
    archive.finish().map_err(io)
}

/// An array of an archive.
struct Array<'a> {
    kind: String,
    shape: Vec<usize>,
    data: &'a [u8],
}

/// Takes an array file apart; `None` where it is none.
fn array(bytes: &[u8]) -> Option<Array<'_>> {
    // Version 1 has a length of two bytes, later ones of four.
    let rest = bytes.strip_prefix(&MAGIC[..MAGIC.len() - 2])?;
    let (version, rest) = rest.split_at_checked(2)?;
    let size = if version[0] == 1 { LENGTH } else { 2 * LENGTH };
    let (length, rest) = rest.split_at_checked(size)?;
    let length = length.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte));
    let (text, data) = rest.split_at_checked(length)?;
    let text = std::str::from_utf8(text).ok()?;
    let after = |key: &str| text.split_once(key).map(|(_, rest)| rest.trim_start_matches([' ', ':']));
    if after("'fortran_order'")?.starts_with("True") {
        return None;
    }
    let kind = after("'descr'")?.strip_prefix('\'')?.split('\'').next()?.to_string();
    let shape = after("'shape'")?.strip_prefix('(')?.split(')').next()?;
    let shape: Vec<usize> = shape.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect::<Option<_>>()?;
    Some(Array { kind, shape, data })
}

impl Array<'_> {
    /// Its real numbers; `None` where they are of another kind or not as many as its shape says.
    fn numbers(&self) -> Option<Vec<f64>> {
        let numbers: Vec<f64> = match self.kind.as_str() {
            "<f8" => self.data.chunks_exact(NUMBER).filter_map(|b| b.try_into().ok().map(f64::from_le_bytes)).collect(),
            "<f4" => self.data.chunks_exact(LETTER).filter_map(|b| b.try_into().ok().map(|b| f64::from(f32::from_le_bytes(b)))).collect(),
            kind => {
                let (signed, width) = (kind.starts_with("<i") || kind.starts_with("|i"), kind.get(2..)?.parse::<usize>().ok()?);
                let whole = signed || kind.starts_with("<u") || kind.starts_with("|u");
                if !whole || !(1..=NUMBER).contains(&width) {
                    return None;
                }
                let number = |bytes: &[u8]| {
                    let last = bytes.last().is_some_and(|b| signed && *b > i8::MAX as u8);
                    let mut all = [if last { u8::MAX } else { 0 }; NUMBER];
                    all[..width].copy_from_slice(bytes);
                    if signed { i64::from_le_bytes(all) as f64 } else { u64::from_le_bytes(all) as f64 }
                };
                self.data.chunks_exact(width).map(number).collect()
            }
        };
        (Some(numbers.len()) == self.shape.iter().try_fold(1usize, |n, m| n.checked_mul(*m))).then_some(numbers)
    }
    /// Its texts.
    fn texts(&self) -> Option<Vec<String>> {
        let letters: usize = self.kind.strip_prefix("<U")?.parse().ok()?;
        let text = |bytes: &[u8]| {
            let letter = |b: &[u8]| b.try_into().ok().map(u32::from_le_bytes).and_then(char::from_u32);
            bytes.chunks_exact(LETTER).filter_map(letter).filter(|c| *c != '\0').collect()
        };
        Some(self.data.chunks_exact((LETTER * letters).max(1)).map(text).collect())
    }
}

/// Arrays of a NumPy archive by name: their shapes and numbers, row by row. Arrays of anything but numbers are left out.
pub type Arrays = BTreeMap<String, (Vec<usize>, Vec<f64>)>;

/// Reads every array of numbers of a NumPy archive (`numpy.savez`, also compressed).
///
/// # Errors
/// The file cannot be read, or is no archive.
pub fn read_arrays(path: &Path) -> Result<Arrays, RecordError> {
    let bytes = std::fs::read(path).map_err(RecordError::io("read", path))?;
    arrays_of(&bytes).map_err(|what| RecordError::Corrupt { path: path.to_path_buf(), offset: 0, what: what.to_string() })
}

/// The same of an archive that is in memory.
///
/// # Errors
/// What keeps it from being an archive.
pub fn arrays_of(bytes: &[u8]) -> Result<Arrays, &'static str> {
    let mut out = Arrays::new();
    for (name, data) in unpacked(bytes)? {
        let Some(found) = array(&data) else { continue };
        if let Some(numbers) = found.numbers() {
            out.insert(name.trim_end_matches(".npy").to_string(), (found.shape, numbers));
        }
    }
    Ok(out)
}

/// Reads an archive with at least `time`, `bodies` and one of `q` and `v`.
pub(crate) fn read(path: &Path) -> Result<Trajectory, RecordError> {
    let bytes = std::fs::read(path).map_err(RecordError::io("read", path))?;
    let fault = |what: &str| RecordError::Corrupt { path: path.to_path_buf(), offset: 0, what: what.to_string() };
    let entries = unpacked(&bytes).map_err(fault)?;
    let find = |name: &str| entries.iter().find(|(n, _)| n == name).and_then(|(_, data)| array(data));
    let time = find("time.npy").and_then(|a| a.numbers()).ok_or_else(|| fault("needs an array \"time\" of numbers"))?;
    let bodies = find("bodies.npy").and_then(|a| a.texts()).ok_or_else(|| fault("needs an array \"bodies\" of names"))?;
    let (q, v) = (find("q.npy"), find("v.npy"));
    let width = |a: &Option<Array<'_>>| a.as_ref().and_then(|a| a.shape.get(2).copied());
    let dimension = match (width(&q), width(&v)) {
        (Some(Planar::COORDS), None | Some(Planar::DOF)) | (None, Some(Planar::DOF)) => Planar::DIM,
        (Some(Spatial::COORDS), None | Some(Spatial::DOF)) | (None, Some(Spatial::DOF)) => Spatial::DIM,
        _ => return Err(fault("needs \"q\" (T, n, 3 or 7) or \"v\" (T, n, 3 or 6)")),
    };
    let header = header(dimension, bodies);
    let rows = time.len() * header.bodies.len();
    let numbers = |a: Option<Array<'_>>, each: usize, name: &str| match a {
        None => Ok(vec![f64::NAN; rows * each]),
        Some(a) => match a.numbers() {
            Some(numbers) if numbers.len() == rows * each => Ok(numbers),
            _ => Err(fault(&format!("\"{name}\" is no array of numbers of shape (T, n, {each})"))),
        },
    };
    let (q, v) = (numbers(q, header.coords(), "q")?, numbers(v, header.dof(), "v")?);
    let frames = time.len();
    Ok(Trajectory { header, time, energy: vec![f64::NAN; frames], contacts: vec![0; frames], q, v })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_aligned_and_says_its_own_length() {
        for shape in [&[0][..], &[7], &[401, 16, 7], &[u64::MAX, u64::MAX, u64::MAX]] {
            let head = head("<f8", shape);
            assert_eq!(head.len() % ALIGN, 0);
            assert_eq!(usize::from(u16::from_le_bytes([head[8], head[9]])), head.len() - 10);
            assert_eq!(head.last(), Some(&b'\n'));
        }
        assert!(String::from_utf8_lossy(&head("<f8", &[7])).contains("'shape': (7,), }"));
    }
}
