//! Random numbers that are the same on every run.

use nalgebra::{Matrix3, Vector3};

/// splitmix64.
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;
        const MULTIPLIERS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];
        self.0 = self.0.wrapping_add(STRIDE);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(MULTIPLIERS[0]);
        z = (z ^ (z >> 27)).wrapping_mul(MULTIPLIERS[1]);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Between two numbers.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// One of 0..n.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n - 1)
    }

    /// A vector with components between -1 and 1.
    pub fn vector3(&mut self) -> Vector3<f64> {
        Vector3::from_fn(|_, _| self.between(-1.0, 1.0))
    }

    /// A symmetric positive definite matrix B B' + s.
    pub fn definite3(&mut self) -> Matrix3<f64> {
        let b = Matrix3::from_fn(|_, _| self.between(-1.0, 1.0));
        b * b.transpose() + Matrix3::identity() * 0.05
    }
}
