//! Problems and invariants shared by the tests.

use super::super::*;

/// Counter-based random numbers: equal seeds, equal problems.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [low, high).
    pub(super) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    pub(super) fn unit<const D: usize>(&mut self) -> [f64; D] {
        loop {
            let x: [f64; D] = std::array::from_fn(|_| self.within(-1.0, 1.0));
            let length = x.iter().map(|a| a * a).sum::<f64>().sqrt();
            if (0.1..1.0).contains(&length) {
                return x.map(|a| a / length);
            }
        }
    }
}

/// A chain of balls on a line.
pub(super) fn cradle(masses: &[f64]) -> (MassMatrix, SparseRows) {
    let n = masses.len();
    let mut normals = SparseRows::new(n);
    for i in 0..n - 1 {
        normals.push(&[i, i + 1], &[-1.0, 1.0]).unwrap();
    }
    (MassMatrix::diagonal(masses).unwrap(), normals)
}

pub(super) fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0f64, |s, x| s.max(x.abs()))
}

pub(super) fn difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0f64, |s, (x, y)| s.max((x - y).abs()))
}

/// M (v' - v) - Nᵀ λ - Dᵀ b, relative to the largest term.
pub(super) fn momentum_gap(mass: &MassMatrix, normals: &SparseRows, before: &[f64], impact: &Impact, tangents: Option<&SparseRows>) -> f64 {
    let mut change: Vec<f64> = impact.velocity.iter().zip(before).map(|(a, b)| a - b).collect();
    let mut size = largest(before).max(largest(&impact.velocity));
    mass.momentum(&mut change);
    size *= mass.largest_entry();
    for (i, &l) in impact.impulses.iter().enumerate() {
        normals.add(i, -l, &mut change);
    }
    if let Some(tangents) = tangents {
        for (k, &b) in impact.friction_impulses.iter().enumerate() {
            tangents.add(k, -b, &mut change);
        }
    }
    largest(&change) / size.max(f64::MIN_POSITIVE)
}

/// A triangular rack of 15 balls struck by a cue ball on its axis; also the mirror image of each ball.
pub(super) fn pool_break() -> (MassMatrix, SparseRows, Vec<f64>, Vec<usize>) {
    let mut place = vec![[-1.0, 0.0]];
    let mut mirror = vec![0];
    for r in 0..5usize {
        let first = place.len();
        for k in 0..=r {
            place.push([r as f64 * 3f64.sqrt() / 2.0, k as f64 - r as f64 / 2.0]);
            mirror.push(first + r - k);
        }
    }
    let mut normals = SparseRows::new(32);
    for a in 0..place.len() {
        for b in a + 1..place.len() {
            let n = [place[b][0] - place[a][0], place[b][1] - place[a][1]];
            if n[0].hypot(n[1]) < 1.01 {
                normals.push(&[2 * a, 2 * a + 1, 2 * b, 2 * b + 1], &[-n[0], -n[1], n[0], n[1]]).unwrap();
            }
        }
    }
    let mut before = vec![0.0; 32];
    before[0] = 1.0;
    (MassMatrix::diagonal(&[0.17; 32]).unwrap(), normals, before, mirror)
}
