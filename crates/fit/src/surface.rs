//! A parabola through the costs of many runs about a point: where runs part, the cost is rough, and its least value is that of the valley, not of a pit in it
//! (theory 22.8). Motions drawn anew give the spread of its bottom from the same runs (22.5).

use crate::finite::nearer;
use crate::problem::{Point, Problem};
use crate::search::{Loss, blocks};
use carom_geometry::Geometry;
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// Most parameters: the corners are as many as twice the square of their number.
pub const MOST: usize = 6;
/// Corners lie at this part of the distances along the axes.
const CORNER: f64 = 0.7;
/// Points this far from the middle, in those distances, still count.
const NEAR: f64 = 2.0;
/// The middle moves by no more than this at once...
const STRIDE: f64 = 1.5;
/// ...and once it moves less than this, the parabola stands.
const STANDS: f64 = 0.35;
/// Most moves of the middle.
const MOVES: usize = 8;
/// How far points reach at first and at last, of the sizes of the coordinates.
const REACH: [f64; 2] = [0.25, 0.005];
/// Draws.
const DRAWS: usize = 500;
/// Curvatures below this part of the largest lead nowhere.
const FLAT: f64 = 1e-6;

/// The costs of the motions about a point.
#[derive(Clone, Debug)]
pub struct Surface {
    /// The middle, shared coordinates.
    middle: Vec<f64>,
    /// Distances along the axes.
    sizes: Vec<f64>,
    /// Where it was looked, and the costs of the motions there.
    seen: Vec<(Vec<f64>, Vec<f64>)>,
    bounds: Vec<[f64; 2]>,
}

/// Numbers of a parabola: 1, u, and the products of u.
fn terms(u: &[f64]) -> Vec<f64> {
    let mut out = vec![1.0];
    out.extend(u);
    for i in 0..u.len() {
        for j in 0..=i {
            out.push(if i == j { 0.5 * u[i] * u[i] } else { u[i] * u[j] });
        }
    }
    out
}

impl Surface {
    /// Looks about a point until the bottom of the parabola lies inside what was seen; the point is moved there. Nothing where runs fail.
    pub fn find<G: Geometry>(
        problem: &Problem<'_, G>,
        point: &mut Point<G>,
        loss: Loss,
        tell: &mut dyn FnMut(usize, f64, &Point<G>),
    ) -> Option<Self> {
        let n = problem.shared;
        let scales: Vec<f64> = (0..n).map(|k| problem.coordinates.scale(k, point.shared[k])).collect();
        let mut reach = vec![REACH[0]; n + 1];
        let mut out = Surface { middle: point.shared.clone(), sizes: Vec::new(), seen: Vec::new(), bounds: problem.bounds[..n].to_vec() };
        // Distances at which the cost rises enough to be told from its roughness.
        loop {
            out.sizes = (0..n).map(|k| reach[k] * scales[k]).collect();
            let middle = out.middle.clone();
            let now: f64 = out.look(problem, point, loss, middle)?.iter().sum();
            let mut bend = vec![0.0; n];
            for k in 0..n {
                let [low, high] = [-1.0, 1.0].map(|sign| out.place(&[(k, sign)]));
                let width = high[k] - low[k];
                let below: f64 = out.look(problem, point, loss, low)?.iter().sum();
                let above: f64 = out.look(problem, point, loss, high)?.iter().sum();
                if width > 0.0 {
                    bend[k] = (below + above - 2.0 * now) / (width / 2.0).powi(2);
                }
            }
            if !nearer(&mut reach, REACH[1], &bend, &scales, now, false) {
                break;
            }
        }
        for round in 1..=MOVES {
            for i in 0..n {
                for j in 0..i {
                    for (a, b) in [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)] {
                        let corner = out.place(&[(i, CORNER * a), (j, CORNER * b)]);
                        out.look(problem, point, loss, corner)?;
                    }
                }
            }
            let step = out.bottom(&out.sums(None))?;
            let longest = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
            for k in 0..n {
                let [low, high] = out.bounds[k];
                point.shared[k] = (out.middle[k] + out.sizes[k] * step[k]).clamp(low, high);
            }
            let now: f64 = out.look(problem, point, loss, point.shared.clone())?.iter().sum();
            tell(round, now, point);
            if longest < STANDS || round == MOVES {
                return Some(out);
            }
            out.middle.clone_from(&point.shared);
            for k in 0..n {
                for sign in [-1.0, 1.0] {
                    let there = out.place(&[(k, sign)]);
                    out.look(problem, point, loss, there)?;
                }
            }
        }
        Some(out)
    }

    fn place(&self, moves: &[(usize, f64)]) -> Vec<f64> {
        let mut there = self.middle.clone();
        for (k, u) in moves {
            there[*k] = (there[*k] + u * self.sizes[*k]).clamp(self.bounds[*k][0], self.bounds[*k][1]);
        }
        there
    }

    /// The costs of the motions at a place, once.
    fn look<G: Geometry>(&mut self, problem: &Problem<'_, G>, point: &Point<G>, loss: Loss, there: Vec<f64>) -> Option<Vec<f64>> {
        if let Some(known) = self.seen.iter().find(|s| s.0 == there) {
            return Some(known.1.clone());
        }
        let here = Point { shared: there.clone(), ..point.clone() };
        let costs: Vec<f64> = blocks(problem, &here, false)?.iter().map(|b| loss.of(b)).collect();
        self.seen.push((there, costs.clone()));
        Some(costs)
    }

    /// Places near the middle, in units of the distances, and the cost at each; of motions so many times each, or of all once.
    fn sums(&self, drawn: Option<&[f64]>) -> Vec<(Vec<f64>, f64)> {
        let units = |there: &[f64]| -> Vec<f64> { (0..there.len()).map(|k| (there[k] - self.middle[k]) / self.sizes[k]).collect() };
        let sum = |costs: &[f64]| match drawn {
            Some(times) => costs.iter().zip(times).map(|(c, n)| c * n).sum(),
            None => costs.iter().sum(),
        };
        let all = self.seen.iter().map(|(there, costs)| (units(there), costs));
        all.filter(|(u, _)| u.iter().all(|x| x.abs() <= NEAR)).map(|(u, costs)| (u, sum(costs))).collect()
    }

    /// Slope and curvature of the parabola.
    fn parabola(&self, sums: &[(Vec<f64>, f64)]) -> Option<(DVector<f64>, DMatrix<f64>)> {
        let n = self.middle.len();
        let rows: Vec<Vec<f64>> = sums.iter().map(|(u, _)| terms(u)).collect();
        let matrix = DMatrix::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j]);
        let right = DVector::from_iterator(rows.len(), sums.iter().map(|s| s.1));
        let found = matrix.svd(true, true).solve(&right, 1e-10).ok()?;
        let mut curvature = DMatrix::zeros(n, n);
        let mut at = 1 + n;
        for i in 0..n {
            for j in 0..=i {
                curvature[(i, j)] = found[at];
                curvature[(j, i)] = found[at];
                at += 1;
            }
        }
        Some((found.rows(1, n).into_owned(), curvature))
    }

    /// From the middle to the bottom, in units of the distances.
    fn bottom(&self, sums: &[(Vec<f64>, f64)]) -> Option<Vec<f64>> {
        let (slope, curvature) = self.parabola(sums)?;
        let eigen = SymmetricEigen::new(curvature);
        let most = eigen.eigenvalues.amax().max(f64::MIN_POSITIVE);
        let mut step = DVector::zeros(slope.len());
        for (value, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
            step -= vector * (vector.dot(&slope) / value.abs().max(FLAT * most));
        }
        let longest = step.amax();
        if longest > STRIDE {
            step *= STRIDE / longest;
        }
        Some(step.as_slice().to_vec())
    }

    /// Curvature of the cost by the coordinates.
    pub fn curvature(&self) -> Option<DMatrix<f64>> {
        let (_, c) = self.parabola(&self.sums(None))?;
        Some(DMatrix::from_fn(c.nrows(), c.ncols(), |i, j| c[(i, j)] / (self.sizes[i] * self.sizes[j])))
    }

    /// Where the bottom lies for motions drawn anew from those there are, draw by draw.
    pub fn drawn(&self) -> Vec<Vec<f64>> {
        let motions = self.seen.first().map_or(0, |s| s.1.len());
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let draw = |_| {
            let mut times = vec![0.0; motions];
            for _ in 0..motions {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                times[((random >> 33) as usize) % motions] += 1.0;
            }
            times
        };
        let draws: Vec<Vec<f64>> = (0..DRAWS).map(draw).collect();
        let place = |times: &Vec<f64>| {
            let step = self.bottom(&self.sums(Some(times)))?;
            let at = |k: usize| (self.middle[k] + self.sizes[k] * step[k]).clamp(self.bounds[k][0], self.bounds[k][1]);
            Some((0..step.len()).map(at).collect())
        };
        draws.iter().filter_map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bottom_of_a_rough_parabola_is_that_of_the_parabola() {
        let bowl = |x: &[f64]| {
            let (a, b) = (x[0] - 0.3, x[1] + 0.2);
            // Slanted, and with pits of a thousandth.
            1.0 + a * a + 0.8 * a * b + 0.5 * b * b + 1e-3 * (1e4 * x[0]).sin()
        };
        let mut surface = Surface { middle: vec![0.1, 0.1], sizes: vec![0.3, 0.3], seen: Vec::new(), bounds: vec![[-9.0, 9.0]; 2] };
        for u in [[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.7, 0.7], [0.7, -0.7], [-0.7, 0.7], [-0.7, -0.7]] {
            let there = surface.place(&[(0, u[0]), (1, u[1])]);
            let cost = bowl(&there);
            surface.seen.push((there, vec![cost]));
        }
        let step = surface.bottom(&surface.sums(None)).unwrap();
        let found = [0, 1].map(|k| surface.middle[k] + surface.sizes[k] * step[k]);
        assert!((found[0] - 0.3).abs() < 0.01 && (found[1] + 0.2).abs() < 0.02, "{found:?}");
        let c = surface.curvature().unwrap();
        assert!((c[(0, 0)] - 2.0).abs() < 0.1 && (c[(0, 1)] - 0.8).abs() < 0.05 && (c[(1, 1)] - 1.0).abs() < 0.1, "{c}");
    }
}
