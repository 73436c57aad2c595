//! A body with many joints cut into welded parts, so that its joints form a chain of small cliques, theory (12.1)-(12.10).
//!
//! A hub with n constraint rows couples all of them: n(n - 1) entries off the diagonal of J M^-1 J'. Parts that share its pose, each
//! carrying some of the rows and welded to the next, have the same motion and a matrix whose size grows like n.

use std::fmt;

#[cfg(test)]
mod tests;

/// Rows of a weld between two parts in space: three of force, three of torque.
pub const SPATIAL_WELD: usize = 6;
/// Rows of a weld between two parts in the plane: two of force, one of torque.
pub const PLANAR_WELD: usize = 3;
/// Most rows that [`split`] takes; the list of parts would not fit in memory much above it.
pub const ROWS_MAX: usize = 1_000_000_000;

/// From this many rows a spatial body is cut in two: below it the weld costs more than it saves.
const SPATIAL_CUT: usize = 27;
/// From this many rows a spatial body has inner parts.
const SPATIAL_INNER: usize = 37;
/// From this many rows all spatial parts stand at the best size, up to one row, and (12.8) proves the choice; below, the
/// continuous minimum (12.5) is rounded, which the search confirms for each n.
const SPATIAL_LONG: usize = 219;
/// Rows by which the two end parts together exceed two inner ones at the optimum, theory (12.4): twice the rows of a weld.
const SPATIAL_SHIFT: usize = 12;
/// Entries one more inner part costs: 30 in its weld, 72 between the two welds it carries.
const SPATIAL_PART: f64 = 102.0;
/// Best rows of an inner part in space, the integer nearest to sqrt(102).
const SPATIAL_ROWS: usize = 10;
/// Best rows of the two end parts together in space: 2 (10 + 6).
const SPATIAL_ENDS: usize = 32;

/// From this many rows a planar body is cut: at 13 both choices cost 156.
const PLANAR_CUT: usize = 14;
/// Best rows of an inner part in the plane, the integer nearest to sqrt(24).
const PLANAR_ROWS: usize = 5;

/// A body of n rows that was to be split has more than [`ROWS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyRows {
    /// Rows given.
    pub rows: usize,
}

impl fmt::Display for TooManyRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a body of {} rows cannot be split: at most {ROWS_MAX}", self.rows)
    }
}

impl std::error::Error for TooManyRows {}

/// How the rows of one body are spread over welded parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Parts between the two end parts, p; -1 when the body is not split, 0 when it is cut in two.
    pub inner_parts: i64,
    /// Rows on those inner parts, m.
    pub inner_constraints: usize,
    /// Rows of each part, from one end to the other; their sum is n.
    pub parts: Vec<usize>,
    /// Entries off the diagonal of the matrix, n_M of theory (12.3).
    pub entries: u64,
}

impl Split {
    /// Part of the body's mass and inertia that each part takes: equal weights keep the weld block best conditioned, theory (12.2).
    pub fn weight(&self) -> f64 {
        1.0 / self.parts.len() as f64
    }

    fn whole(n: usize) -> Self {
        Split { inner_parts: -1, inner_constraints: 0, parts: vec![n], entries: entries(&[n], SPATIAL_WELD) }
    }

    /// p inner parts with m rows, as equal as integers allow, between two halves of the rest; the larger ones last.
    fn balanced(n: usize, p: usize, m: usize, weld: usize) -> Self {
        let mut parts = Vec::with_capacity(p + 2);
        let ends = n - m;
        parts.push(ends / 2);
        if let Some(lower) = m.checked_div(p) {
            parts.resize(1 + p - m % p, lower);
            parts.resize(1 + p, lower + 1);
        }
        parts.push(ends - ends / 2);
        let entries = entries(&parts, weld);
        Split { inner_parts: p as i64, inner_constraints: m, parts, entries }
    }
}

/// Splits a body in space with n constraint rows: least n_M for every n, theory (12.5)-(12.8).
///
/// ```
/// # use carom_math::splitting::split;
/// let hub = split(37).unwrap();
/// assert_eq!((hub.parts, hub.entries), (vec![14, 8, 15], 1120));
/// ```
pub fn split(n: usize) -> Result<Split, TooManyRows> {
    check(n)?;
    Ok(if n < SPATIAL_CUT {
        Split::whole(n)
    } else if n < SPATIAL_INNER {
        Split::balanced(n, 0, 0, SPATIAL_WELD)
    } else if n < SPATIAL_LONG {
        let best = ((n - SPATIAL_SHIFT) as f64 / SPATIAL_PART.sqrt() - 2.0).round();
        // At 37 rows (12.5) rounds to none, but one inner part is cheaper by two entries.
        let p = if n == SPATIAL_INNER { 1 } else { best as usize };
        Split::balanced(n, p, (n - SPATIAL_SHIFT) * p / (p + 2), SPATIAL_WELD)
    } else {
        let m = n - SPATIAL_ENDS;
        let p = m / SPATIAL_ROWS;
        // One part more when that leaves fewer parts off the best size.
        let p = if p + 1 - m % (p + 1) < m % p { p + 1 } else { p };
        Split::balanced(n, p, m, SPATIAL_WELD)
    })
}

/// Splits a body in the plane with n constraint rows: least n_M for every n, theory (12.9).
///
/// ```
/// # use carom_math::splitting::split_planar;
/// let hub = split_planar(21).unwrap();
/// assert_eq!((hub.parts, hub.entries), (vec![8, 5, 8], 318));
/// ```
pub fn split_planar(n: usize) -> Result<Split, TooManyRows> {
    check(n)?;
    if n < PLANAR_CUT {
        return Ok(Split::whole(n));
    }
    let p = (n - PLANAR_CUT) / PLANAR_ROWS;
    Ok(Split::balanced(n, p, PLANAR_ROWS * p, PLANAR_WELD))
}

/// Entries off the diagonal of J M^-1 J' for parts with these rows, welded in a chain by welds of `weld` rows: n_M of theory (12.3).
pub fn entries(parts: &[usize], weld: usize) -> u64 {
    let w = weld as u64;
    match parts {
        [] => 0,
        [n] => own(*n as u64),
        [first, inner @ .., last] => {
            let (first, last, count) = (*first as u64, *last as u64, inner.len() as u64);
            let mut sum = own(first) + own(last) + 2 * w * (first + last) + own(w) * (count + 1) + 2 * w * w * count;
            for &rows in inner {
                sum += own(rows as u64) + 4 * w * rows as u64;
            }
            sum
        }
    }
}

/// Which joints of a hub go to which part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Part k has joints `starts[k]..starts[k + 1]`; one part, (0, joints), when splitting does not pay.
    pub starts: Vec<usize>,
    /// Entries off the diagonal of the matrix, n_M of theory (12.3).
    pub entries: u64,
}

impl Assignment {
    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.starts.len() - 1
    }
    /// The joints of a part, as positions in the list given.
    pub fn joints(&self, part: usize) -> std::ops::Range<usize> {
        self.starts[part]..self.starts[part + 1]
    }
}

/// Spreads whole joints, `rows[i]` rows each, over parts in the order given: least n_M of all such assignments, theory (12.10).
///
/// Joints are not cut, unlike the rows of [`split`]: a joint on two parts would be two nodes of the joint graph. Time and memory are
/// linear in the number of joints that have rows, since no part of several joints above `4 weld + max(rows)` rows can be best.
///
/// ```
/// # use carom_math::splitting::{assign, PLANAR_WELD};
/// let spokes = assign(&[2; 10], PLANAR_WELD);           // ten hinges on a planar hub
/// assert_eq!((spokes.parts(), spokes.joints(0)), (3, 0..4));
/// ```
pub fn assign(rows: &[usize], weld: usize) -> Assignment {
    let joints = rows.len();
    let mut upto = Vec::with_capacity(joints + 1);
    let (mut total, mut largest) = (0u64, 0);
    upto.push(total);
    for &count in rows {
        total += count as u64;
        largest = largest.max(count as u64);
        upto.push(total);
    }
    let w = weld as u64;
    let limit = 4 * w + largest;
    let end = |z: u64| own(z) + 2 * w * z;
    let inner = |z: u64| own(z) + 4 * w * z + own(w) + 2 * w * w;

    // best[j]: least cost of joints 0..j as a first part and inner ones; from[j]: where the last of those parts begins.
    let mut best = vec![0; joints + 1];
    let mut from = vec![0; joints + 1];
    let mut whole = Assignment { starts: vec![0, joints], entries: own(total) };
    let mut cut = None;
    for j in 1..=joints {
        best[j] = end(upto[j]);
        for i in (1..j).rev() {
            let z = upto[j] - upto[i];
            if z > limit && i + 1 < j {
                break;
            }
            let cost = best[i] + inner(z);
            if cost < best[j] {
                (best[j], from[j]) = (cost, i);
            }
        }
    }
    for i in (1..joints).rev() {
        let z = total - upto[i];
        if z > limit && i + 1 < joints {
            break;
        }
        let cost = best[i] + end(z) + own(w);
        if cost < whole.entries {
            (whole.entries, cut) = (cost, Some(i));
        }
    }
    if let Some(mut place) = cut {
        whole.starts = vec![joints];
        while place > 0 {
            whole.starts.push(place);
            place = from[place];
        }
        whole.starts.push(0);
        whole.starts.reverse();
    }
    whole
}

fn check(n: usize) -> Result<(), TooManyRows> {
    if n > ROWS_MAX { Err(TooManyRows { rows: n }) } else { Ok(()) }
}

/// Entries off the diagonal of a full block: z (z - 1).
fn own(z: u64) -> u64 {
    z * z.saturating_sub(1)
}
