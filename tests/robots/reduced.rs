//! The reduced equations of a mechanism by RK4: (M + diag I) q'' = force - bias, with M and the bias of a world without rotors, and I added by hand.

use carom_dynamics::World;
use carom_geometry::Geometry;
use nalgebra::{DMatrix, DVector};

/// Coordinates and rates of the joints.
pub type Motion = (Vec<f64>, Vec<f64>);

/// A mechanism without rotors, what turns with its coordinates and what drives them.
pub struct Reduced<G: Geometry> {
    /// The mechanism.
    pub world: World<G>,
    /// Inertia of the rotor of each coordinate.
    pub rotors: Vec<f64>,
    /// Force on each coordinate at a time and in a motion.
    pub force: fn(f64, &Motion) -> Vec<f64>,
}

impl<G: Geometry> Reduced<G> {
    fn acceleration(&mut self, time: f64, motion: &Motion) -> Vec<f64> {
        let (q, v) = motion;
        let names = self.world.joint_names();
        let named = |values: &[f64]| names.iter().map(String::as_str).zip(values.iter().copied()).collect::<Vec<_>>();
        self.world.set_joints(&named(q), &named(v)).expect("coordinates and rates");
        let mass = self.world.mass_matrix() + DMatrix::from_diagonal(&DVector::from_column_slice(&self.rotors));
        let bias = DVector::from_vec(self.world.bias().expect("loads"));
        let force = DVector::from_vec((self.force)(time, motion));
        mass.lu().solve(&(force - bias)).expect("a regular mass matrix").as_slice().to_vec()
    }

    /// The motion after a time, in so many steps.
    pub fn run(&mut self, mut motion: Motion, time: f64, steps: usize) -> Motion {
        let h = time / steps as f64;
        let shifted = |x: &[f64], s: f64, y: &[f64]| -> Vec<f64> { x.iter().zip(y).map(|(x, y)| x + s * y).collect() };
        for step in 0..steps {
            let t = step as f64 * h;
            let a1 = self.acceleration(t, &motion);
            let m2 = (shifted(&motion.0, 0.5 * h, &motion.1), shifted(&motion.1, 0.5 * h, &a1));
            let a2 = self.acceleration(t + 0.5 * h, &m2);
            let m3 = (shifted(&motion.0, 0.5 * h, &m2.1), shifted(&motion.1, 0.5 * h, &a2));
            let a3 = self.acceleration(t + 0.5 * h, &m3);
            let m4 = (shifted(&motion.0, h, &m3.1), shifted(&motion.1, h, &a3));
            let a4 = self.acceleration(t + h, &m4);
            for i in 0..motion.0.len() {
                motion.0[i] += h / 6.0 * (motion.1[i] + 2.0 * m2.1[i] + 2.0 * m3.1[i] + m4.1[i]);
                motion.1[i] += h / 6.0 * (a1[i] + 2.0 * a2[i] + 2.0 * a3[i] + a4[i]);
            }
        }
        motion
    }
}
