//! Blocks and the whole matrix: two roads to one answer.

use super::*;
use crate::gradient::system::pivoted::Pivoted;
use carom_math::Spatial;
use nalgebra::Vector3;

/// Numbers in [-1, 1), always the same.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn vector(&mut self) -> Vector3<f64> {
        Vector3::new(self.next(), self.next(), self.next())
    }
}

type Row = [(usize, Wrench<Spatial>); 2];
type Column = [(usize, Twist<Spatial>); 2];
type Rows = (Vec<Row>, Vec<Column>, Vec<(usize, usize, f64)>);

/// A stack whose neighbours meet at four corners with friction, the first on an immovable floor, and one hinge-like pair on top.
fn stack(numbers: &mut Numbers, bodies: usize, slides: bool) -> Rows {
    let pairs: Vec<[usize; 2]> = (1..=bodies).map(|upper| [upper, upper - 1]).collect();
    meeting(numbers, bodies, &pairs, slides)
}

/// Bodies of which these meet at four corners with friction.
fn meeting(numbers: &mut Numbers, bodies: usize, pairs: &[[usize; 2]], slides: bool) -> Rows {
    let (mut rows, mut columns, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    let masses: Vec<f64> = (0..=bodies).map(|b| if b == 0 { 0.0 } else { 1.5 + numbers.next() }).collect();
    let centres: Vec<Vector3<f64>> = (0..=bodies).map(|b| Vector3::new(0.0, 0.0, b as f64) + numbers.vector() * 0.1).collect();
    for &[upper, lower] in pairs {
        for corner in [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] {
            let at = Vector3::new(corner[0], corner[1], 0.5 * (upper + lower) as f64);
            let first = rows.len();
            for (k, direction) in [Vector3::z(), Vector3::x(), Vector3::y()].into_iter().enumerate() {
                let side = |body: usize, sign: f64| Wrench::<Spatial> {
                    lin: direction * sign,
                    ang: (at - centres[body]).cross(&direction) * sign,
                };
                let column = [(upper, side(upper, 1.0)), (lower, side(lower, -1.0))];
                let answer = column.map(|(body, wrench)| {
                    let inverse = if body == 0 { 0.0 } else { 1.0 / masses[body] };
                    (body, Twist { lin: wrench.lin * inverse, ang: wrench.ang * (2.0 * inverse) })
                });
                if slides && upper == 2 && k > 0 {
                    // Friction at its bound: l_k + mu l_n = 0.
                    rows.push(column.map(|(body, _)| (body, Wrench::zero())));
                    entries.push((first + k, first + k, 1.0));
                    entries.push((first + k, first, 0.3));
                } else {
                    rows.push(column);
                }
                columns.push(answer);
            }
        }
    }
    (rows, columns, entries)
}

/// S by rows.
fn whole(rows: &[Row], columns: &[Column], entries: &[(usize, usize, f64)], times: &[f64]) -> Vec<f64> {
    let n = rows.len();
    let mut matrix = vec![0.0; n * n];
    for (i, row) in rows.iter().enumerate() {
        for (j, column) in columns.iter().enumerate() {
            for (a, covector) in row {
                for (b, twist) in column {
                    matrix[i * n + j] += if a == b { covector.power(twist) } else { 0.0 };
                }
            }
        }
        if let Some(time) = times.get(i) {
            matrix[i * n + n - 1] = *time;
        }
    }
    entries.iter().for_each(|&(i, j, value)| matrix[i * n + j] += value);
    matrix
}

/// Velocities of the bodies.
fn velocities(columns: &[Column], z: &[f64], bodies: usize) -> Vec<f64> {
    let mut out = vec![0.0; 6 * (bodies + 1)];
    for (column, z) in columns.iter().zip(z) {
        for (body, twist) in column {
            for (k, value) in twist.lin.iter().chain(twist.ang.iter()).enumerate() {
                out[6 * body + k] += value * z;
            }
        }
    }
    out
}

#[test]
fn blocks_and_the_whole_matrix_answer_alike() {
    let mut numbers = Numbers(7);
    for (slides, timed) in [(false, false), (true, false), (false, true), (true, true)] {
        let bodies = 4;
        let (mut rows, columns, entries) = stack(&mut numbers, bodies, slides);
        let mut times = Vec::new();
        if timed {
            // A guard on the top body; the time moves every row as a velocity of the bodies would.
            let guard = Wrench { lin: Vector3::z(), ang: numbers.vector() };
            rows.push([(bodies, guard), (0, Wrench::zero())]);
            let kicks: Vec<Twist<Spatial>> = (0..=bodies).map(|_| Twist { lin: numbers.vector(), ang: numbers.vector() }).collect();
            times.extend(rows.iter().map(|row| row.iter().map(|(b, w)| w.power(&kicks[*b])).sum::<f64>()));
        }
        let n = rows.len();
        let matrix = whole(&rows, &columns, &entries, &times);
        let mut dense = Pivoted::default();
        dense.matrix(n).copy_from_slice(&matrix);
        let rank = dense.factor();
        let mut sparse = Sparse::<Spatial>::default();
        let (factor, dropped) = sparse.factor(&rows, &columns, &entries, &times, None).expect("redundant rows repeat those of their pair");
        assert_eq!(n - dropped, rank, "slides {slides} timed {timed}");
        assert!(dropped >= 6, "{dropped}");

        // Residuals that some motion makes, and cotangents that velocities make.
        let motion: Vec<f64> = (0..n).map(|_| numbers.next()).collect();
        let product = |transposed: bool| -> Vec<f64> {
            let at = |i: usize, j: usize| if transposed { matrix[j * n + i] } else { matrix[i * n + j] };
            (0..n).map(|i| (0..n).map(|j| at(i, j) * motion[j]).sum()).collect()
        };
        let mut scratch = Vec::new();
        let right = product(false);
        let mut z = right.clone();
        dense.solve(&mut z);
        let mut x = [right, vec![0.0; n]].concat();
        sparse.solve(factor, 0..n, n..2 * n, &mut x, &mut scratch);
        let (one, other) = (velocities(&columns, &z, bodies), velocities(&columns, &x[n..], bodies));
        for (a, b) in one.iter().zip(&other) {
            assert!((a + b).abs() < 1e-10, "slides {slides} timed {timed}: {a} {b}");
        }
        assert!(one.iter().any(|v| v.abs() > 0.1));

        // <S^-1 r, w> = <r, S^-T w>, on the consistent ones.
        let w = product(true);
        let mut y = [vec![0.0; n], w.clone()].concat();
        sparse.solve_transposed(factor, 0..n, n..2 * n, &mut y, &mut scratch);
        let left: f64 = x[n..].iter().zip(&w).map(|(a, b)| a * b).sum();
        let right: f64 = y[..n].iter().zip(&x[..n]).map(|(a, b)| a * b).sum();
        assert!((left - right).abs() < 1e-10 * left.abs().max(1.0), "{left} {right}");
    }
}

/// Rows of different pairs repeat each other: what the bodies feel is what the whole matrix says, forwards and backwards.
#[test]
fn bodies_and_the_whole_matrix_answer_alike() {
    let mut numbers = Numbers(11);
    for slides in [false, true] {
        let bodies = 4;
        let (rows, columns, entries) = meeting(&mut numbers, bodies, &[[1, 0], [2, 1], [3, 2], [4, 3], [3, 1], [4, 2]], slides);
        let n = rows.len();
        let matrix = whole(&rows, &columns, &entries, &[]);
        let mut dense = Pivoted::default();
        dense.matrix(n).copy_from_slice(&matrix);
        let dropped = n - dense.factor();
        assert!(dropped > 6 * 6, "{dropped}: rows repeat others beyond their own pair");
        let mut sparse = Sparse::<Spatial>::default();
        let factor = sparse.factor_by_bodies(&rows, &columns, &entries).expect("a sound factor");
        let motion: Vec<f64> = (0..n).map(|_| numbers.next()).collect();
        let product = |transposed: bool| -> Vec<f64> {
            let at = |i: usize, j: usize| if transposed { matrix[j * n + i] } else { matrix[i * n + j] };
            (0..n).map(|i| (0..n).map(|j| at(i, j) * motion[j]).sum()).collect()
        };
        let right = product(false);
        let mut z = right.clone();
        dense.solve(&mut z);
        let mut x = [right, vec![0.0; n]].concat();
        sparse.solve(factor, 0..n, n..2 * n, &mut x, &mut Vec::new());
        let (one, other) = (velocities(&columns, &z, bodies), velocities(&columns, &x[n..], bodies));
        for (a, b) in one.iter().zip(&other) {
            assert!((a + b).abs() < 1e-9, "slides {slides}: {a} {b}");
        }
        assert!(one.iter().any(|v| v.abs() > 0.1));
        let w = product(true);
        let mut y = [vec![0.0; n], w.clone()].concat();
        sparse.solve_transposed(factor, 0..n, n..2 * n, &mut y, &mut Vec::new());
        let left: f64 = x[n..].iter().zip(&w).map(|(a, b)| a * b).sum();
        let back: f64 = y[..n].iter().zip(&x[..n]).map(|(a, b)| a * b).sum();
        assert!((left - back).abs() < 1e-10 * left.abs().max(1.0), "{left} {back}");
        // Side by side the same.
        let mut lanes: Vec<[f64; 2]> = [vec![0.0; n], w].concat().into_iter().map(|x| [x, 0.0]).collect();
        sparse.solve_transposed_lanes(factor, 0..n, n..2 * n, &mut lanes, &mut Vec::new());
        assert!(lanes.iter().zip(&y).take(n).all(|(lane, y)| lane[0] == *y && lane[1] == 0.0));
    }
}
