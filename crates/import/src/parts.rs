//! What a mesh touches with: its convex hull, or several convex parts between planes across its axes, kept in a folder.
//!
//! A part is the hull of the surface within a box. What a box holds of the solid is measured along columns of lines, so no cut has to be closed. The part whose hull
//! holds the most air is cut in two, where the two hulls hold the least, until little is left or there are enough.

use crate::mass::{self, Volume};
use crate::mesh::{self, Mesh};
use nalgebra::Vector3;
use std::fmt::Write;
use std::path::Path;

/// What the meshes of a model touch with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meshes {
    /// Their convex hulls, as in Bullet and MuJoCo.
    #[default]
    Hull,
    /// Convex parts, where the hull is larger than the mesh.
    Parts,
}

/// Volume of a hull over that of its mesh, less one, from which parts are sought.
const HOLLOW: f64 = 0.05;
/// Lines across each side of the mesh along which its volume is measured.
const LINES: usize = 48;
/// Planes across each axis of a part that are tried.
const CUTS: usize = 7;
/// Most parts of a mesh: detection is quadratic in them.
const MOST: usize = 16;
/// Air in the hulls of all parts, over the volume of the mesh, at which no more is cut.
const AIR: f64 = 0.02;
/// Triangles above which a mesh is not cut: every plane that is tried sees them.
const MAX_FACES: usize = 50_000;
/// The first line of a file of parts; another way of making them has another one.
const HEAD: &str = "carom parts 2";

/// Convex solids by their points, and what is to be told of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Touching {
    /// The solids.
    pub solids: Vec<Vec<[f64; 3]>>,
    /// How they differ from the mesh.
    pub note: Option<String>,
}

fn plain(points: &[Vector3<f64>]) -> Vec<[f64; 3]> {
    points.iter().map(|p| [p.x, p.y, p.z]).collect()
}

fn volume(points: &[Vector3<f64>]) -> f64 {
    mesh::hull(points).map_or(0.0, |hull| mass::mesh(&hull.mesh.points, &hull.mesh.faces, Volume::Signed).mass)
}

/// What a mesh touches with; parts are looked for in the folder first and kept there.
///
/// # Errors
/// A mesh without a hull.
pub fn touching(mesh: &Mesh, how: Meshes, folder: Option<&Path>) -> Result<Touching, String> {
    let hull = mesh.hull()?;
    let note = hull.thinned.then(|| "its hull has too many vertices: the outermost in many directions are taken".to_string());
    let whole = Touching { solids: vec![plain(&hull.points)], note };
    if how == Meshes::Hull {
        return Ok(whole);
    }
    let own = mass::mesh(&mesh.points, &mesh.faces, Volume::Signed).mass;
    let around = mass::mesh(&hull.mesh.points, &hull.mesh.faces, Volume::Signed).mass;
    if own <= 0.0 || mesh.faces.len() > MAX_FACES {
        let problem = if own <= 0.0 { "it is open, or its faces look inward" } else { "it has too many triangles" };
        return Ok(Touching { note: Some(format!("touches as its convex hull: {problem}, so it has no parts")), ..whole });
    }
    if around <= (1.0 + HOLLOW) * own {
        return Ok(whole);
    }
    let path = folder.map(|folder| folder.join(format!("{:016x}.parts", hash(mesh))));
    let kept = path.as_deref().and_then(|path| read(&std::fs::read_to_string(path).ok()?));
    let parts = match kept {
        Some(parts) => parts,
        None => {
            let parts = decomposed(mesh);
            // What cannot be kept is found again the next time.
            path.map(|path| std::fs::write(path, written(&parts)));
            parts
        }
    };
    if parts.is_empty() {
        return Ok(Touching { note: Some("touches as its convex hull: no parts were found".to_string()), ..whole });
    }
    let more = |volume: f64| 100.0 * (volume / own - 1.0);
    let sum = parts.iter().map(|part| volume(part)).sum();
    let note = format!(
        "touches as {} convex parts, {:+.1} % of its volume in all; its convex hull has {:+.1} %",
        parts.len(),
        more(sum),
        more(around)
    );
    Ok(Touching { solids: parts.iter().map(|part| plain(part)).collect(), note: Some(note) })
}

/// A box and what of the surface is within it.
struct Piece {
    low: Vector3<f64>,
    high: Vector3<f64>,
    triangles: Vec<[Vector3<f64>; 3]>,
    hull: Vec<Vector3<f64>>,
    /// Volume of its hull beyond that of the solid in its box.
    air: f64,
}

/// Where lines along z are within the solid: their area, x, y and the heights at which each enters and leaves it.
struct Columns {
    area: f64,
    lines: Vec<(f64, f64, Vec<f64>)>,
}

/// Whether a point lies to the left of an edge, seen along z. What lies on the edge is to the left of one of its two directions only, to the bit, so that a
/// line through an edge meets one of its two faces.
fn left_of([from, to]: [Vector3<f64>; 2], [x, y]: [f64; 2]) -> bool {
    let turned = (to.x, to.y) < (from.x, from.y);
    let (p, q) = if turned { (to, from) } else { (from, to) };
    ((q.x - p.x) * (y - p.y) - (q.y - p.y) * (x - p.x) >= 0.0) != turned
}

impl Columns {
    fn of(triangles: &[[Vector3<f64>; 3]], low: Vector3<f64>, high: Vector3<f64>) -> Self {
        let step = (high - low) / LINES as f64;
        let at = |axis: usize, k: usize| low[axis] + (k as f64 + 0.5) * step[axis];
        let mut lines: Vec<(f64, f64, Vec<f64>)> = (0..LINES * LINES).map(|k| (at(0, k % LINES), at(1, k / LINES), Vec::new())).collect();
        let index = |axis: usize, x: f64| (((x - low[axis]) / step[axis] - 0.5).ceil().max(0.0) as usize).min(LINES);
        for [a, b, c] in triangles {
            let (u, v) = (b - a, c - a);
            let across = u.x * v.y - u.y * v.x;
            if across == 0.0 {
                continue;
            }
            let ahead = across > 0.0;
            let span = |axis: usize| {
                let least = a[axis].min(b[axis]).min(c[axis]);
                let most = a[axis].max(b[axis]).max(c[axis]);
                index(axis, least).saturating_sub(1)..(index(axis, most) + 1).min(LINES)
            };
            for j in span(1) {
                for i in span(0) {
                    let line = &mut lines[j * LINES + i];
                    let at = [line.0, line.1];
                    if left_of([*a, *b], at) == ahead && left_of([*b, *c], at) == ahead && left_of([*c, *a], at) == ahead {
                        let (x, y) = (line.0 - a.x, line.1 - a.y);
                        let (s, t) = ((x * v.y - y * v.x) / across, (u.x * y - u.y * x) / across);
                        line.2.push(a.z + s * u.z + t * v.z);
                    }
                }
            }
        }
        lines.iter_mut().for_each(|line| line.2.sort_by(f64::total_cmp));
        Columns { area: step.x * step.y, lines }
    }

    /// Volume of the solid in a box.
    fn volume(&self, low: &Vector3<f64>, high: &Vector3<f64>) -> f64 {
        let within = self.lines.iter().filter(|(x, y, _)| *x >= low.x && *x < high.x && *y >= low.y && *y < high.y);
        let inside = |(_, _, heights): &(f64, f64, Vec<f64>)| -> f64 {
            heights.chunks_exact(2).map(|pair| (pair[1].min(high.z) - pair[0].max(low.z)).max(0.0)).sum()
        };
        self.area * within.map(inside).sum::<f64>()
    }
}

/// The parts of triangles on both sides of a plane across an axis. A face that lies in the plane bounds the solid on one side only, where its neighbours reach
/// its corners too; on the other side it would be a wall of air.
fn split(triangles: &[[Vector3<f64>; 3]], axis: usize, at: f64) -> [Vec<[Vector3<f64>; 3]>; 2] {
    let mut out = [Vec::new(), Vec::new()];
    for triangle in triangles.iter().filter(|triangle| triangle.iter().any(|p| p[axis] != at)) {
        for (side, sign) in [(0, 1.0), (1, -1.0)] {
            let mut corners: Vec<Vector3<f64>> = Vec::with_capacity(4);
            for k in 0..3 {
                let (p, q) = (triangle[k], triangle[(k + 1) % 3]);
                let (inside, next) = (sign * (at - p[axis]), sign * (at - q[axis]));
                if inside >= 0.0 {
                    corners.push(p);
                }
                if (inside > 0.0 && next < 0.0) || (inside < 0.0 && next > 0.0) {
                    let mut cut = p + (q - p) * (inside / (inside - next));
                    cut[axis] = at;
                    corners.push(cut);
                }
            }
            for k in 2..corners.len() {
                out[side].push([corners[0], corners[k - 1], corners[k]]);
            }
        }
    }
    out
}

impl Piece {
    /// `None` for what has no volume.
    fn new(low: Vector3<f64>, high: Vector3<f64>, triangles: Vec<[Vector3<f64>; 3]>, columns: &Columns) -> Option<Self> {
        let points: Vec<Vector3<f64>> = triangles.iter().flatten().copied().collect();
        let hull = mesh::hull(&points).ok()?.points;
        let around = volume(&hull);
        let air = around - columns.volume(&low, &high);
        (around > 0.0).then_some(Piece { low, high, triangles, hull, air })
    }

    /// The two parts, of those that are tried, whose hulls hold the least air.
    fn cut(&self, columns: &Columns) -> Option<[Option<Piece>; 2]> {
        let air = |pieces: &[Option<Piece>; 2]| pieces.iter().flatten().map(|piece| piece.air).sum::<f64>();
        let mut best: Option<[Option<Piece>; 2]> = None;
        for axis in 0..3 {
            for k in 1..=CUTS {
                let at = self.low[axis] + (self.high[axis] - self.low[axis]) * k as f64 / (CUTS + 1) as f64;
                let [below, above] = split(&self.triangles, axis, at);
                let (mut high, mut low) = (self.high, self.low);
                (high[axis], low[axis]) = (at, at);
                let pieces = [Piece::new(self.low, high, below, columns), Piece::new(low, self.high, above, columns)];
                if best.as_ref().is_none_or(|best| air(&pieces) < air(best)) {
                    best = Some(pieces);
                }
            }
        }
        best
    }
}

/// The convex parts of a closed mesh, each by the corners of its hull.
fn decomposed(mesh: &Mesh) -> Vec<Vec<Vector3<f64>>> {
    let triangles: Vec<[Vector3<f64>; 3]> = mesh.faces.iter().map(|face| face.map(|i| mesh.points[i])).collect();
    let mut corners = triangles.iter().flatten().copied();
    let Some(first) = corners.next() else { return Vec::new() };
    let (low, high) = corners.fold((first, first), |(low, high), p| (low.inf(&p), high.sup(&p)));
    let columns = Columns::of(&triangles, low, high);
    let whole = columns.volume(&low, &high);
    let mut pieces: Vec<Piece> = Piece::new(low, high, triangles, &columns).into_iter().collect();
    while pieces.len() < MOST && pieces.iter().map(|piece| piece.air).sum::<f64>() > AIR * whole {
        let worst = (0..pieces.len()).max_by(|&i, &j| pieces[i].air.total_cmp(&pieces[j].air)).unwrap_or(0);
        let Some(cut) = pieces[worst].cut(&columns) else { break };
        let left: f64 = cut.iter().flatten().map(|piece| piece.air).sum();
        if left >= pieces[worst].air {
            break;
        }
        pieces.remove(worst);
        pieces.extend(cut.into_iter().flatten());
    }
    pieces.into_iter().map(|piece| piece.hull).collect()
}

/// A number of a mesh and of how it is cut (FNV-1a).
fn hash(mesh: &Mesh) -> u64 {
    let numbers = mesh.points.iter().flat_map(|p| p.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    let indices = mesh.faces.iter().flatten().map(|i| *i as u64);
    let choices = [LINES as u64, CUTS as u64, MOST as u64, AIR.to_bits()];
    let bytes = numbers.chain(indices).chain(choices).flat_map(u64::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Parts as text: a line of the count of points, then one for each.
fn written(parts: &[Vec<Vector3<f64>>]) -> String {
    let mut out = format!("{HEAD}\n");
    for part in parts {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", part.len());
        part.iter().for_each(|p| {
            let _ = writeln!(out, "{:?} {:?} {:?}", p.x, p.y, p.z);
        });
    }
    out
}

/// What was written, to the bit; `None` for anything else.
fn read(text: &str) -> Option<Vec<Vec<Vector3<f64>>>> {
    let mut lines = text.lines();
    if lines.next()? != HEAD {
        return None;
    }
    let mut out = Vec::new();
    while let Some(line) = lines.next() {
        let count: usize = line.parse().ok()?;
        let point = |line: &str| {
            let mut words = line.split(' ').map(|word| word.parse::<f64>().ok().filter(|x| x.is_finite()));
            Some(Vector3::new(words.next()??, words.next()??, words.next()??))
        };
        let part: Vec<Vector3<f64>> = lines.by_ref().take(count).map(point).collect::<Option<_>>()?;
        if part.len() != count || part.len() < 4 || out.len() > MOST {
            return None;
        }
        out.push(part);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two boxes in an L: 2 x 1 x 1 and, on its end, 1 x 1 x 1.
    fn ell() -> Mesh {
        let outline = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0]];
        let points = [0.0, 1.0].iter().flat_map(|z| outline.iter().map(|[x, y]| Vector3::new(*x, *y, *z))).collect();
        let mut faces = Vec::new();
        for cap in [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]] {
            faces.push([cap[0], cap[2], cap[1]]);
            faces.push(cap.map(|i| i + 6));
        }
        for i in 0..6 {
            let j = (i + 1) % 6;
            faces.extend([[i, j, j + 6], [i, j + 6, i + 6]]);
        }
        Mesh { points, faces }
    }

    #[test]
    fn an_ell_becomes_parts_of_its_volume_and_the_notch_stays_free() {
        let mesh = ell();
        assert!((mass::mesh(&mesh.points, &mesh.faces, Volume::Signed).mass - 3.0).abs() < 1e-12);
        let hull = touching(&mesh, Meshes::Hull, None).unwrap();
        assert!(hull.solids.len() == 1 && hull.note.is_none());
        let parts = touching(&mesh, Meshes::Parts, None).unwrap();
        assert!(parts.solids.len() > 1, "{parts:?}");
        let hulls: Vec<Vec<Vector3<f64>>> = parts.solids.iter().map(|part| part.iter().map(|p| Vector3::from(*p)).collect()).collect();
        let sum: f64 = hulls.iter().map(|part| volume(part)).sum();
        assert!((sum - 3.0).abs() < 1e-9, "{sum}: {:?}", parts.note);
        // The middle of the notch lies outside of all of them.
        for part in &hulls {
            let mut with = part.clone();
            with.push(Vector3::new(1.5, 1.5, 0.5));
            assert!(volume(&with) > volume(part) + 0.01);
        }
        assert_eq!(parts, touching(&mesh, Meshes::Parts, None).unwrap(), "the same every time");
    }

    /// Lines through the diagonals of its faces meet one of the two triangles there: the volume along lines is that of the mesh, however it lies.
    #[test]
    fn lines_through_edges_count_once() {
        let mesh = ell();
        for turn in 0..4 {
            let turned = |p: &Vector3<f64>| (0..turn).fold(*p, |p, _| Vector3::new(-p.y, p.x, p.z));
            let points: Vec<Vector3<f64>> = mesh.points.iter().map(turned).collect();
            let triangles: Vec<[Vector3<f64>; 3]> = mesh.faces.iter().map(|face| face.map(|i| points[i])).collect();
            let (low, high) = points.iter().fold((points[0], points[0]), |(low, high), p| (low.inf(p), high.sup(p)));
            let measured = Columns::of(&triangles, low, high).volume(&low, &high);
            assert!((measured - 3.0).abs() < 1e-12, "turned {turn} times: {measured}");
        }
    }

    #[test]
    fn parts_are_kept_to_the_bit_and_other_files_are_not_read() {
        let parts = decomposed(&ell());
        assert_eq!(read(&written(&parts)).as_ref(), Some(&parts));
        let good = written(&parts);
        for text in ["", "carom parts 0\n", &good[..good.len() / 2], &good.replace('.', "x"), "carom parts 2\n99999999999\n"] {
            assert_ne!(read(text).as_ref(), Some(&parts), "{text:?}");
        }
        let folder = std::env::temp_dir().join(format!("carom-parts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let first = touching(&ell(), Meshes::Parts, Some(&folder)).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        assert_eq!(touching(&ell(), Meshes::Parts, Some(&folder)).unwrap(), first);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_convex_or_open_keeps_its_hull() {
        let corners: Vec<Vector3<f64>> = (0..8).map(|i| Vector3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2))).collect();
        let hull = mesh::hull(&corners).unwrap();
        assert_eq!(touching(&hull.mesh, Meshes::Parts, None).unwrap().solids.len(), 1);
        let open = Mesh { faces: hull.mesh.faces[..1].to_vec(), ..hull.mesh };
        let kept = touching(&open, Meshes::Parts, None).unwrap();
        assert!(kept.solids.len() == 1 && kept.note.is_some());
    }
}
