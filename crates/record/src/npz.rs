//! NumPy archives: `time` (T), `energy` (T), `contacts` (T), `q` (T, n, 3 or 7), `v` (T, n, 3 or 6), `bodies` (n) names.

use crate::error::RecordError;
use crate::replay::Log;
use crate::trajectory::{Frame, NUMBER};
use crate::zip::Archive;
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
