//! OBJ files: vertices and faces, everything else is passed over.

use crate::tree::{Solid, Triple};
use std::path::Path;

/// Largest OBJ file \[bytes\].
const MAX_FILE: u64 = 256 << 20;
/// Most vertices and most triangles of a mesh.
const MAX_MESH: usize = 2_000_000;

/// Reads an OBJ file beside the scene.
pub(crate) fn load(folder: &Path, file: &str) -> Result<Solid, String> {
    let path = folder.join(file);
    let about = std::fs::metadata(&path).map_err(|e| format!("cannot be opened: {e}"))?;
    if !about.is_file() {
        return Err("is not a file".to_string());
    }
    if about.len() > MAX_FILE {
        return Err(format!("has {} bytes, and at most {MAX_FILE} are read", about.len()));
    }
    let text = std::fs::read_to_string(&path).map_err(|e| format!("cannot be read: {e}"))?;
    parse(&text)
}

/// Vertices (`v x y z`) and faces (`f a b c ...`, fanned into triangles; indices from 1, or from the end when negative).
pub(crate) fn parse(text: &str) -> Result<Solid, String> {
    let (mut points, mut faces) = (Vec::<Triple>::new(), Vec::<[usize; 3]>::new());
    for (i, line) in text.lines().enumerate() {
        let place = |message: &str| format!("line {}: {message}", i + 1);
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let mut point = [0.0; 3];
                for x in &mut point {
                    let word = words.next().ok_or_else(|| place("a vertex needs three numbers"))?;
                    *x = word.parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| place("a vertex needs three finite numbers"))?;
                }
                points.push(point);
            }
            Some("f") => {
                let corners: Result<Vec<usize>, String> =
                    words.map(|word| corner(word, points.len()).ok_or_else(|| place("a face names a vertex that is not there"))).collect();
                let corners = corners?;
                if corners.len() < 3 {
                    return Err(place("a face needs three vertices"));
                }
                for k in 1..corners.len() - 1 {
                    faces.push([corners[0], corners[k], corners[k + 1]]);
                }
            }
            _ => {}
        }
        if points.len() > MAX_MESH || faces.len() > MAX_MESH {
            return Err(format!("has more than {MAX_MESH} vertices or triangles"));
        }
    }
    if faces.is_empty() {
        return Err("has no faces".to_string());
    }
    Ok(Solid::Mesh(points, faces))
}

/// The vertex of `7`, `7/1`, `7//3` or `-1`.
fn corner(word: &str, count: usize) -> Option<usize> {
    let index: i64 = word.split('/').next()?.parse().ok()?;
    let from_zero = if index > 0 { index - 1 } else { i64::try_from(count).ok()?.checked_add(index)? };
    usize::try_from(from_zero).ok().filter(|i| *i < count && index != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_are_fanned_and_counted_from_one_or_from_the_end() {
        let text = "# a square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nf 1/1/1 2//1 3 -1\n";
        let Ok(Solid::Mesh(points, faces)) = parse(text) else { panic!("does not parse") };
        assert_eq!(points.len(), 4);
        assert_eq!(faces, [[0, 1, 2], [0, 2, 3]]);
    }

    #[test]
    fn broken_files_say_where() {
        for (text, wanted) in [
            ("v 0 0", "line 1: a vertex needs three numbers"),
            ("v 0 0 nan", "line 1: a vertex needs three finite numbers"),
            ("v 0 0 0\nf 1 2 3", "line 2: a face names a vertex that is not there"),
            ("v 0 0 0\nf 1 1 0", "line 2: a face names a vertex that is not there"),
            ("v 0 0 0\nf 1 1", "line 2: a face needs three vertices"),
            ("v 0 0 0", "has no faces"),
        ] {
            assert_eq!(parse(text).err().as_deref(), Some(wanted), "{text}");
        }
    }
}
