//! Algorithm 1 on a diagonal mass, as printed: nothing is reduced to contact space.

use crate::Failure;
use carom::kernels::impact::{Impact, ImpactOptions, impacts};
use carom::solve::impact::{Law, MassMatrix, Order, SparseRows};

/// An impact problem: masses per freedom and the normalised gradients n_i' M^-1 n_i = 1.
#[derive(Clone)]
pub struct Problem {
    pub mass: Vec<f64>,
    pub normals: Vec<Vec<f64>>,
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

impl Problem {
    pub fn new(mass: Vec<f64>, normals: Vec<Vec<f64>>) -> Self {
        let mut problem = Problem { mass, normals };
        for i in 0..problem.normals.len() {
            let length = problem.inverse_norm(&problem.normals[i]);
            problem.normals[i].iter_mut().for_each(|x| *x /= length);
        }
        problem
    }

    /// Balls in a row.
    pub fn cradle(mass: &[f64]) -> Self {
        let n = mass.len();
        let row = |i: usize| (0..n).map(|j| f64::from(u8::from(j == i + 1)) - f64::from(u8::from(j == i))).collect();
        Problem::new(mass.to_vec(), (0..n - 1).map(row).collect())
    }

    /// Norm of a gradient, √(n' M⁻¹ n).
    pub fn inverse_norm(&self, n: &[f64]) -> f64 {
        n.iter().zip(&self.mass).map(|(x, m)| x * x / m).sum::<f64>().sqrt()
    }

    /// Norm of a velocity, √(v' M v).
    pub fn norm(&self, v: &[f64]) -> f64 {
        v.iter().zip(&self.mass).map(|(x, m)| x * x * m).sum::<f64>().sqrt()
    }

    /// v + λ M⁻¹ n.
    pub fn push(&self, v: &mut [f64], i: usize, impulse: f64) {
        for j in 0..v.len() {
            v[j] += impulse * self.normals[i][j] / self.mass[j];
        }
    }

    /// The constraint of least index that is violated by more than the tolerance times the speed.
    pub fn violated(&self, v: &[f64], tolerance: f64) -> Option<usize> {
        let least = -tolerance * self.norm(v);
        (0..self.normals.len()).find(|&i| dot(&self.normals[i], v) < least)
    }

    /// Algorithm 1 with the lexicographic operator and restitution inside it; all velocities, the last one feasible unless the cap was reached.
    pub fn lexicographic(&self, start: &[f64], restitution: f64, tolerance: f64, cap: usize) -> Vec<Vec<f64>> {
        let mut all = vec![start.to_vec()];
        let mut v = start.to_vec();
        while let Some(i) = self.violated(&v, tolerance).filter(|_| all.len() <= cap) {
            let approach = dot(&self.normals[i], &v);
            self.push(&mut v, i, -(1.0 + restitution) * approach);
            all.push(v.clone());
        }
        all
    }

    /// The engine's answer.
    pub fn engine(&self, v: &[f64], options: &ImpactOptions<'_>) -> Result<Impact, Failure> {
        let mut rows = SparseRows::new(self.mass.len());
        for normal in &self.normals {
            let columns: Vec<usize> = (0..normal.len()).filter(|&j| normal[j] != 0.0).collect();
            let values: Vec<f64> = columns.iter().map(|&j| normal[j]).collect();
            rows.push(&columns, &values)?;
        }
        Ok(impacts(&MassMatrix::diagonal(&self.mass)?, &rows, v, options)?)
    }

    /// Least normal velocity over the speed: not negative when feasible.
    pub fn feasibility(&self, v: &[f64]) -> f64 {
        self.normals.iter().map(|n| dot(n, v)).fold(f64::INFINITY, f64::min) / self.norm(v)
    }
}

/// The laws of the engine that the source discusses.
pub const LAWS: [(&str, Law); 5] = [
    ("lexicographic", Law::GaussSeidel { order: Order::Lexicographic, seed: 0 }),
    ("cyclic", Law::GaussSeidel { order: Order::Cyclic, seed: 0 }),
    ("random", Law::GaussSeidel { order: Order::Random, seed: 1 }),
    ("worst", Law::GaussSeidel { order: Order::Worst, seed: 0 }),
    ("reflections", Law::Reflections),
];

/// Discs of one radius in the plane: every pair that touches is a contact, and so is every touch of a wall x = ± half.
pub fn discs(centres: &[[f64; 2]], radius: f64, half: Option<f64>) -> Problem {
    const TOUCH: f64 = 1e-9;
    let n = centres.len();
    let mut normals = Vec::new();
    for i in 0..n {
        for j in 0..i {
            let d = [centres[i][0] - centres[j][0], centres[i][1] - centres[j][1]];
            let length = d[0].hypot(d[1]);
            if length < 2.0 * radius + TOUCH {
                let mut row = vec![0.0; 2 * n];
                for k in 0..2 {
                    row[2 * i + k] = d[k] / length;
                    row[2 * j + k] = -d[k] / length;
                }
                normals.push(row);
            }
        }
        for side in [-1.0, 1.0] {
            if half.is_some_and(|half| half - side * centres[i][0] < radius + TOUCH) {
                let mut row = vec![0.0; 2 * n];
                row[2 * i] = -side;
                normals.push(row);
            }
        }
    }
    Problem::new(vec![1.0; 2 * n], normals)
}
