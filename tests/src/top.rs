//! A top of three unequal moments, and where it is after a time.

use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

/// Principal moments [kg m^2].
pub const MOMENTS: [f64; 3] = [1.0, 2.0, 3.5];
/// Rates at the start [rad/s], near the middle axis.
pub const START: [f64; 3] = [0.3, 2.0, 0.4];
/// Steps of the reference.
const STEPS: usize = 40_000;

/// Orientation after a time by the classical fourth-order rule at a step so small that its error is rounding; torque in world axes.
pub fn reference(torque: Vector3<f64>, time: f64) -> UnitQuaternion<f64> {
    let inertia = Matrix3::from_diagonal(&Vector3::from(MOMENTS));
    let inverse = inertia.try_inverse().expect("positive moments");
    let rate = |q: Quaternion<f64>, w: Vector3<f64>| {
        let turn = UnitQuaternion::new_normalize(q);
        let body_torque = turn.inverse_transform_vector(&torque);
        (q * Quaternion::from_imag(w) * 0.5, inverse * (body_torque - w.cross(&(inertia * w))))
    };
    let (mut q, mut w) = (Quaternion::identity(), Vector3::from(START));
    let h = time / STEPS as f64;
    for _ in 0..STEPS {
        let a = rate(q, w);
        let b = rate(q + a.0 * (0.5 * h), w + a.1 * (0.5 * h));
        let c = rate(q + b.0 * (0.5 * h), w + b.1 * (0.5 * h));
        let d = rate(q + c.0 * h, w + c.1 * h);
        q += (a.0 + (b.0 + c.0) * 2.0 + d.0) * (h / 6.0);
        w += (a.1 + (b.1 + c.1) * 2.0 + d.1) * (h / 6.0);
    }
    UnitQuaternion::new_normalize(q)
}
