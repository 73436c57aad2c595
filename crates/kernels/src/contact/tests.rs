//! Contact problems from arrays: both storages alike, gradients as differences, what is wrong named.

use super::*;
use crate::impact::tests::support::Random;
use carom_math::dense::dot;

/// Compressed rows of what is not zero, each row from its end to its beginning: the order is free.
fn compressed(matrix: &[f64], n: usize) -> (Vec<usize>, Vec<usize>, Vec<f64>) {
    let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in 0..n {
        for column in (0..n).rev().filter(|column| matrix[row * n + column] != 0.0) {
            columns.push(column);
            values.push(matrix[row * n + column]);
        }
        starts.push(values.len());
    }
    (starts, columns, values)
}

fn solve(matrix: Matrix, free: &[f64], friction: &[f64]) -> Result<ContactKernel, ContactError> {
    ContactKernel::solve(matrix, free.to_vec(), friction, 1e-11, None, &Interrupt::NEVER)
}

/// Three unit cubes in the plane, one on the other, each touching what is below at its lower corners; they fall for 5 ms and are dragged along, so that
/// some of it slides. Velocities are (w, vx, vy).
fn dragged() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let inv_mass = [6.0, 1.0, 1.0].repeat(3);
    let velocity = [0.0, 0.5, -0.04905, 0.0, 0.1, -0.04905, 0.0, 0.05, -0.04905];
    let mut rows: Vec<[f64; 9]> = vec![];
    for k in 0..3 {
        for x in [-0.5, 0.5] {
            // Along the normal (0, 1), then along the tangent (-1, 0).
            for [turn, along, up] in [[x, 0.0, 1.0], [-0.5, -1.0, 0.0]] {
                let mut row = [0.0; 9];
                row[3 * k..3 * k + 3].copy_from_slice(&[turn, along, up]);
                if k > 0 {
                    // Seen from below the tangent passes over the centre.
                    let turn = if up == 1.0 { -x } else { -0.5 };
                    row[3 * k - 3..3 * k].copy_from_slice(&[turn, -along, -up]);
                }
                rows.push(row);
            }
        }
    }
    let product = |a: &[f64; 9], b: &[f64; 9]| (0..9).map(|i| a[i] * inv_mass[i] * b[i]).sum::<f64>();
    let matrix = rows.iter().flat_map(|a| rows.iter().map(move |b| (a, b))).map(|(a, b)| product(a, b)).collect();
    (matrix, rows.iter().map(|row| dot(row, &velocity)).collect(), vec![0.4; 6])
}

#[test]
fn both_storages_give_the_same_bits() {
    let (matrix, free, friction) = dragged();
    let n = free.len();
    let (starts, columns, values) = compressed(&matrix, n);
    let mut dense = solve(Matrix::Dense(&matrix), &free, &friction).unwrap();
    let mut sparse = solve(Matrix::Compressed { starts: &starts, columns: &columns, values: &values }, &free, &friction).unwrap();
    assert_eq!(dense.impulses(), sparse.impulses());
    assert_eq!(dense.outcome().status, Status::Solved);
    assert!(dense.impulses().iter().any(|l| *l > 0.0));
    let bar: Vec<f64> = (0..n).map(|i| matrix[i * n] - 0.5 * matrix[i * n + 3]).collect();
    let (one, two) = (dense.backward(&bar).unwrap(), sparse.backward(&bar).unwrap());
    assert_eq!((&one.free, &one.friction), (&two.free, &two.friction));
    for row in 0..n {
        for k in starts[row]..starts[row + 1] {
            assert_eq!(two.matrix[k], one.matrix[row * n + columns[k]]);
        }
    }
}

#[test]
fn the_gradient_is_that_of_differences() {
    // Three contacts of their own freedoms, one of each mode: open, held, sliding.
    let n = 9;
    let mut random = Random(7);
    let rows: Vec<f64> = (0..n * n).map(|k| random.within(-0.3, 0.3) + if k % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
    let matrix: Vec<f64> = (0..n * n).map(|k| dot(&rows[k / n * n..(k / n + 1) * n], &rows[k % n * n..(k % n + 1) * n])).collect();
    let (free, friction) = (vec![3.0, 0.2, -0.1, -1.0, 0.01, 0.02, -1.0, 1.5, 0.7], vec![0.3, 0.9, 0.2]);
    let bar: Vec<f64> = (0..n).map(|_| random.within(-1.0, 1.0)).collect();
    let mut solved = solve(Matrix::Dense(&matrix), &free, &friction).unwrap();
    assert_eq!(solved.outcome().status, Status::Solved);
    let gradient = solved.backward(&bar).unwrap();
    assert!(gradient.fit.residual < 1e-10 && gradient.fit.lost < 1e-10, "{:?}", gradient.fit);
    assert!(gradient.friction[0] == 0.0 && gradient.friction[1] == 0.0 && gradient.friction[2].abs() > 1e-2, "{:?}", gradient.friction);
    let loss = |m: &[f64], u: &[f64], mu: &[f64]| dot(solve(Matrix::Dense(m), u, mu).unwrap().impulses(), &bar);
    let h = 1e-6;
    let bumped = |list: &[f64], at: &[usize], h: f64| {
        let mut list = list.to_vec();
        at.iter().for_each(|&k| list[k] += h);
        list
    };
    let close = |found: f64, plus: f64, minus: f64| {
        let wanted = (plus - minus) / (2.0 * h);
        assert!((found - wanted).abs() < 1e-7 * (1.0 + wanted.abs()), "{found} against {wanted}");
    };
    for i in 0..n {
        close(gradient.free[i], loss(&matrix, &bumped(&free, &[i], h), &friction), loss(&matrix, &bumped(&free, &[i], -h), &friction));
        for j in 0..i {
            let both = [i * n + j, j * n + i];
            close(
                2.0 * gradient.matrix[i * n + j],
                loss(&bumped(&matrix, &both, h), &free, &friction),
                loss(&bumped(&matrix, &both, -h), &free, &friction),
            );
        }
    }
    close(gradient.friction[2], loss(&matrix, &free, &bumped(&friction, &[2], h)), loss(&matrix, &free, &bumped(&friction, &[2], -h)));
}

#[test]
fn what_is_wrong_is_named() {
    let good = [1.0, 0.0, 0.0, 1.0];
    let wrong = |matrix: [f64; 4]| {
        let (starts, columns, values) = compressed(&matrix, 2);
        let dense = solve(Matrix::Dense(&matrix), &[-1.0, 0.0], &[0.5]).unwrap_err();
        let sparse = solve(Matrix::Compressed { starts: &starts, columns: &columns, values: &values }, &[-1.0, 0.0], &[0.5]).unwrap_err();
        assert_eq!(dense.to_string(), sparse.to_string());
        dense
    };
    assert_eq!(wrong([1.0, 1e-8, 0.0, 1.0]), ContactError::Asymmetric { row: 0, column: 1, value: 1e-8, opposite: 0.0 });
    assert_eq!(wrong([1.0, 0.0, 0.0, -1e-12]), ContactError::Diagonal { row: 1, value: -1e-12 });
    assert_eq!(wrong([1.0, 0.0, f64::NAN, 1.0]), ContactError::EntryNotFinite { row: 1, column: 0 });
    let dense = |free: &[f64], friction: &[f64]| solve(Matrix::Dense(&good), free, friction).unwrap_err();
    assert_eq!(dense(&[-1.0, 0.0], &[-0.5]), ContactError::Friction { contact: 0, value: -0.5 });
    assert_eq!(dense(&[-1.0, f64::NAN], &[0.5]), ContactError::NotFinite { argument: "free", at: 1 });
    assert_eq!(dense(&[-1.0, 0.0], &[0.5, 0.5]), ContactError::Rows { rows: 2, contacts: 2 });
    assert_eq!(dense(&[-1.0, 0.0, 0.0], &[0.5]), ContactError::Length { argument: "matrix", found: 4, wanted: 9 });
    let outside = Matrix::Compressed { starts: &[0, 1, 2], columns: &[0, 5], values: &[1.0, 1.0] };
    assert_eq!(solve(outside, &[-1.0, 0.0], &[0.5]).unwrap_err(), ContactError::Pattern { row: 1 });
    let short = Matrix::Compressed { starts: &[0, 1, 1], columns: &[0, 1], values: &[1.0, 1.0] };
    assert_eq!(solve(short, &[-1.0, 0.0], &[0.5]).unwrap_err(), ContactError::Pattern { row: 1 });
    let stop = Interrupt::NEVER;
    let loose = ContactKernel::solve(Matrix::Dense(&good), vec![-1.0, 0.0], &[0.5], 1.0, None, &stop);
    assert_eq!(loose.unwrap_err(), ContactError::Tolerance(1.0));
    let warm = ContactKernel::solve(Matrix::Dense(&good), vec![-1.0, 0.0], &[0.5], 1e-8, Some(&[1.0]), &stop);
    assert_eq!(warm.unwrap_err(), ContactError::Length { argument: "warm", found: 1, wanted: 2 });
}
