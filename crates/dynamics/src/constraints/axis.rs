//! How the tangents of an axis follow the axis, theory (15.3).

use carom_math::{Space, Vector};

/// From the gradients of the two tangents (1.8) of a unit axis to that of the axis, theory (15.3). Where two components of the axis
/// tie, the tangents jump and this is the slope of the side they are on.
pub(super) fn tangents_gradient<S: Space>(axis: S::Lin, tangents: [S::Lin; 2], g: [S::Lin; 2]) -> S::Lin {
    let mut out = S::Lin::zero();
    if S::DIM == 2 {
        // t = (-n_y, n_x).
        out[0] = g[0][1];
        out[1] = -g[0][0];
        return out;
    }
    let [t1, _] = tangents;
    let cross = |x: S::Lin, y: S::Lin| S::Lin::from_slice(S::torque(x, y).as_slice());
    // t2 = n x t1.
    let g1 = g[0] + cross(g[1], axis);
    // t1 = p/|p| with p = e - (e . n) n, e the axis least aligned with n, and |p|^2 = 1 - (e . n)^2.
    let least = least_aligned(axis);
    let cosine = axis[least];
    let g_p = (g1 - t1 * t1.dot(g1)) * (1.0 / (1.0 - cosine * cosine).sqrt());
    out = cross(t1, g[1]) - g_p * cosine;
    out[least] -= axis.dot(g_p);
    out
}

/// The component of least size, the first of equals, as in (1.8).
fn least_aligned<V: Vector>(axis: V) -> usize {
    (1..V::LEN).fold(0, |least, i| if axis[i].abs() < axis[least].abs() { i } else { least })
}
