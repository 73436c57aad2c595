//! Physics tested by physics: reference data, the published example, invariants on random collisions, and speed.

mod derivative;
mod examples;
mod laws;
mod oracles;
mod properties;
mod reference;
mod speed;

/// A small deterministic generator (splitmix64), so that a failing case has a number.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
    /// 10^x with x uniform.
    pub fn decades(&mut self, low: f64, high: f64) -> f64 {
        10f64.powf(self.between(low, high))
    }
    pub fn vector3(&mut self) -> nalgebra::Vector3<f64> {
        nalgebra::Vector3::new(self.between(-1.0, 1.0), self.between(-1.0, 1.0), self.between(-1.0, 1.0))
    }
    /// A random symmetric positive definite matrix with eigenvalues over a few decades.
    pub fn definite3(&mut self) -> nalgebra::Matrix3<f64> {
        let turn = carom_math::rotation::quaternion_exp(self.vector3() * 3.0).to_rotation_matrix();
        let d = nalgebra::Vector3::new(self.decades(-1.5, 1.5), self.decades(-1.5, 1.5), self.decades(-1.5, 1.5));
        let m = turn.matrix() * nalgebra::Matrix3::from_diagonal(&d) * turn.matrix().transpose();
        (m + m.transpose()) * 0.5
    }
}

/// Number of random cases: small by default, the full number with CAROM_FULL=1.
pub fn count(default: usize, full: usize) -> usize {
    if std::env::var("CAROM_FULL").is_ok_and(|v| v == "1") { full } else { default }
}
