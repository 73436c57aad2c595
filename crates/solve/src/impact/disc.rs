//! The disc problem of one contact's friction: a quadratic over a disc, theory (5.15).

/// Cap on the Newton steps of the disc problem, which converges quadratically.
const MAX_SECULAR_STEPS: usize = 60;
/// Relative accuracy of the radius in the disc problem.
const SECULAR: f64 = 1e-15;

/// Scales an impulse back into its disc.
pub(super) fn shrink(impulse: &mut [f64], radius: f64) {
    let length = impulse.iter().map(|b| b * b).sum::<f64>().sqrt();
    if length > radius {
        let factor = if length > 0.0 { radius / length } else { 0.0 };
        impulse.iter_mut().for_each(|b| *b *= factor);
    }
}

/// The axes of a disc problem: K = [[k0, k1], \[k1, k2\]], positive semidefinite, has the larger eigenvalue along (c, s).
#[derive(Clone, Copy, Debug, Default)]
pub struct Axes {
    large: f64,
    small: f64,
    c: f64,
    s: f64,
}

/// Minimises ½ b·K b + q·b over ‖b‖ ≤ radius, K = [[k0, k1], \[k1, k2\]] positive semidefinite, theory (5.15).
pub fn disc_minimum(k: [f64; 3], q: [f64; 2], radius: f64) -> [f64; 2] {
    Axes::of(k).minimum(q, radius)
}

impl Axes {
    /// The axes of K.
    pub fn of(k: [f64; 3]) -> Self {
        let half_trace = (k[0] + k[2]) / 2.0;
        let half_gap = ((k[0] - k[2]) / 2.0).hypot(k[1]);
        let large = half_trace + half_gap;
        let small = if large > 0.0 { ((k[0] * k[2] - k[1] * k[1]) / large).max(0.0) } else { 0.0 };
        let angle = (2.0 * k[1]).atan2(k[0] - k[2]) / 2.0;
        let (s, c) = angle.sin_cos();
        Self { large, small, c, s }
    }

    /// Minimises ½ b·K b + q·b over ‖b‖ ≤ radius.
    ///
    /// Inside the disc b = -K⁻¹ q; on its edge (K + σ) b = -q with the σ > 0 at which the length fits, found in the axes of K.
    pub fn minimum(&self, q: [f64; 2], radius: f64) -> [f64; 2] {
        let Self { large, small, c, s } = *self;
        let p = [c * q[0] + s * q[1], c * q[1] - s * q[0]];
        let eigen = [large, small];
        let size = norm(p);
        if size == 0.0 || radius <= 0.0 {
            return [0.0, 0.0];
        }
        let at = |shift: f64| [-p[0] / (eigen[0] + shift), -p[1] / (eigen[1] + shift)];
        let divides = |e: f64, p: f64| e > 0.0 || p == 0.0;
        let back = |b: [f64; 2]| [c * b[0] - s * b[1], s * b[0] + c * b[1]];
        if divides(large, p[0]) && divides(small, p[1]) {
            let free = [if p[0] == 0.0 { 0.0 } else { -p[0] / large }, if p[1] == 0.0 { 0.0 } else { -p[1] / small }];
            if norm(free) <= radius {
                return back(free);
            }
        }
        // Newton on 1/|b(σ)| - 1/radius, nearly linear in σ, from a shift that is surely too small: it rises to the root monotonically.
        let mut shift = (size / radius - large).max(0.0);
        if shift == 0.0 && small <= 0.0 {
            shift = f64::MIN_POSITIVE.max(f64::EPSILON * size / radius);
        }
        for _ in 0..MAX_SECULAR_STEPS {
            let b = at(shift);
            let length = norm(b);
            if length.is_nan() || length <= radius * (1.0 + SECULAR) {
                break;
            }
            let slope = (b[0] * b[0] / (eigen[0] + shift) + b[1] * b[1] / (eigen[1] + shift)) / (length * length);
            shift += (length - radius) / (radius * slope);
        }
        let mut b = at(shift);
        shrink(&mut b, radius);
        back(b)
    }
}

/// Length of a vector; of one so short or long that its square is no number too.
fn norm(a: [f64; 2]) -> f64 {
    let square = a[0] * a[0] + a[1] * a[1];
    if square.is_normal() { square.sqrt() } else { a[0].hypot(a[1]) }
}
