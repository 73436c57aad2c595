//! Volume, centroid and inertia at unit density, theory (8.2)-(8.3).

use super::hull::Hull;
use super::shape::Shape;
use crate::mass::MassProperties;
use carom_math::{Space, Spatial};
use nalgebra::{Matrix3, Vector3};
use std::f64::consts::PI;

type V = Vector3<f64>;

/// Mass properties of a solid at unit density; `None` for half-space, segment, mesh and heightfield.
pub(super) fn mass_properties(shape: &Shape) -> Option<MassProperties<Spatial>> {
    let about = |mass: f64, moments: V| MassProperties { mass, centre: V::zeros(), inertia: Matrix3::from_diagonal(&moments) };
    match shape {
        Shape::Ball { radius } => {
            let mass = 4.0 / 3.0 * PI * radius.powi(3);
            Some(about(mass, V::repeat(2.0 / 5.0 * mass * radius * radius)))
        }
        Shape::Cuboid { half } => {
            let mass = 8.0 * half.x * half.y * half.z;
            let s = half.component_mul(half);
            Some(about(mass, V::new(s.y + s.z, s.z + s.x, s.x + s.y) * (mass / 3.0)))
        }
        Shape::Capsule { half_length, radius } => Some(capsule(*half_length, *radius)),
        Shape::Convex(hull) => Some(convex(hull)),
        Shape::Cylinder { half_height, radius } => {
            let mass = 2.0 * PI * radius * radius * half_height;
            let across = mass * (radius * radius / 4.0 + half_height * half_height / 3.0);
            Some(about(mass, V::new(across, across, mass * radius * radius / 2.0)))
        }
        Shape::Cone { half_height, radius } => {
            let height = 2.0 * half_height;
            let mass = PI * radius * radius * height / 3.0;
            let across = mass * (3.0 / 20.0 * radius * radius + 3.0 / 80.0 * height * height);
            let mut cone = about(mass, V::new(across, across, 3.0 / 10.0 * mass * radius * radius));
            // The centroid lies a quarter of the height above the base.
            cone.centre = V::new(0.0, 0.0, height / 4.0 - half_height);
            Some(cone)
        }
        Shape::HalfSpace { .. } | Shape::Segment { .. } | Shape::Mesh(_) | Shape::Heightfield(_) => None,
    }
}

/// A cylinder between two half balls: each half ball's centroid is 3/8 of the radius from its flat side.
fn capsule(half_length: f64, radius: f64) -> MassProperties<Spatial> {
    let r2 = radius * radius;
    let tube = 2.0 * PI * r2 * half_length;
    let caps = 4.0 / 3.0 * PI * r2 * radius;
    let along = tube * r2 / 2.0 + caps * 2.0 / 5.0 * r2;
    let across = tube * (r2 / 4.0 + half_length * half_length / 3.0)
        + caps * (2.0 / 5.0 * r2 + half_length * half_length + 3.0 / 4.0 * half_length * radius);
    MassProperties { mass: tube + caps, centre: V::zeros(), inertia: Matrix3::from_diagonal(&V::new(across, across, along)) }
}

/// Signed tetrahedra from a vertex to the triangles of every face, then moved to the centroid.
fn convex(hull: &Hull) -> MassProperties<Spatial> {
    // Measured from a vertex of the hull, so that a hull far from its origin loses no digits.
    let base = hull.vertices()[0];
    let (mut volume, mut first, mut second) = (0.0, V::zeros(), Matrix3::zeros());
    for f in 0..hull.normals().len() {
        let face = hull.face(f);
        let corner = |k: usize| hull.vertices()[face[k] as usize] - base;
        for k in 1..face.len() - 1 {
            let (p, q, r) = (corner(0), corner(k), corner(k + 1));
            let det = p.dot(&q.cross(&r));
            let sum = p + q + r;
            volume += det / 6.0;
            first += sum * (det / 24.0);
            second += (p * p.transpose() + q * q.transpose() + r * r.transpose() + sum * sum.transpose()) * (det / 120.0);
        }
    }
    let centre = first / volume;
    let about = second - centre * centre.transpose() * volume;
    let inertia = Matrix3::identity() * about.trace() - about;
    MassProperties { mass: volume, centre: centre + base, inertia: Spatial::inertia_from_rows(&Spatial::inertia_rows(inertia)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Integrates over the box of the shape on a grid refined along z: a second road to volume, centre and moments.
    fn by_rings(shape: &Shape, profile: impl Fn(f64) -> f64, low: f64, high: f64) {
        let n = 20000;
        let (mut m, mut z1, mut along, mut across) = (0.0, 0.0, 0.0, 0.0);
        for i in 0..n {
            let z = low + (high - low) * (i as f64 + 0.5) / n as f64;
            let r2 = profile(z).powi(2);
            let dm = PI * r2 * (high - low) / n as f64;
            m += dm;
            z1 += dm * z;
            along += dm * r2 / 2.0;
            across += dm * (r2 / 4.0 + z * z);
        }
        let p = mass_properties(shape).unwrap();
        let c = z1 / m;
        assert!((p.mass - m).abs() < 1e-7 * m);
        assert!((p.centre.z - c).abs() < 1e-7 * (high - low));
        assert!((p.inertia[(2, 2)] - along).abs() < 1e-7 * along);
        assert!((p.inertia[(0, 0)] - (across - m * c * c)).abs() < 1e-7 * across);
    }

    #[test]
    fn solids_of_revolution_against_rings() {
        let (h, r) = (0.7, 0.3);
        by_rings(&Shape::ball(r).unwrap(), |z| (r * r - z * z).max(0.0).sqrt(), -r, r);
        by_rings(&Shape::cylinder(h, r).unwrap(), |_| r, -h, h);
        by_rings(&Shape::cone(h, r).unwrap(), |z| r * (h - z) / (2.0 * h), -h, h);
        let cap = |z: f64| (r * r - (z.abs() - h).max(0.0).powi(2)).max(0.0).sqrt();
        by_rings(&Shape::capsule(h, r).unwrap(), cap, -h - r, h + r);
    }

    #[test]
    fn a_convex_box_equals_the_box_wherever_it_lies() {
        let half = V::new(0.3, 0.5, 0.2);
        let expected = mass_properties(&Shape::cuboid(half).unwrap()).unwrap();
        let mut state = 3;
        for _ in 0..20 {
            let turn = nalgebra::UnitQuaternion::from_scaled_axis(V::from_fn(|_, _| TAU * (random(&mut state) - 0.5)));
            let shift = V::from_fn(|_, _| 4.0 * (random(&mut state) - 0.5));
            let points: Vec<V> =
                (0..8).map(|i: i32| turn * V::from_fn(|k, _| if i >> k & 1 == 0 { -half[k] } else { half[k] }) + shift).collect();
            let p = mass_properties(&Shape::convex(&points).unwrap()).unwrap();
            let inertia = Spatial::inertia_world(expected.inertia, turn);
            assert!((p.mass - expected.mass).abs() < 1e-13);
            assert!((p.centre - shift).norm() < 1e-13);
            assert!((p.inertia - inertia).norm() < 1e-13);
        }
    }
}
