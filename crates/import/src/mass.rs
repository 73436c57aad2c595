//! Mass, centre and inertia: of solids, moved, added, taken away.

use nalgebra::{Isometry3, Matrix3, Vector3};
use std::f64::consts::PI;

/// Mass \[kg\], its centre \[m\] and the inertia about that centre [kg m^2], in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mass {
    /// Mass \[kg\].
    pub mass: f64,
    /// Centre of mass \[m\].
    pub centre: Vector3<f64>,
    /// Inertia about the centre of mass [kg m^2].
    pub inertia: Matrix3<f64>,
}

/// The inertia of a unit point mass at an arm.
pub fn point(arm: Vector3<f64>) -> Matrix3<f64> {
    Matrix3::identity() * arm.norm_squared() - arm * arm.transpose()
}

impl Mass {
    /// Nothing.
    pub fn zero() -> Self {
        Mass { mass: 0.0, centre: Vector3::zeros(), inertia: Matrix3::zeros() }
    }
    /// Seen from another frame: `frame` places this one in it.
    pub fn moved(&self, frame: &Isometry3<f64>) -> Self {
        let turn = frame.rotation.to_rotation_matrix();
        let turn = turn.matrix();
        Mass {
            mass: self.mass,
            centre: frame * nalgebra::Point3::from(self.centre) - nalgebra::Point3::origin(),
            inertia: turn * self.inertia * turn.transpose(),
        }
    }
    /// Scaled to another density.
    pub fn scaled(&self, factor: f64) -> Self {
        Mass { mass: self.mass * factor, centre: self.centre, inertia: self.inertia * factor }
    }
    /// Both together.
    pub fn plus(&self, other: &Mass) -> Self {
        let mass = self.mass + other.mass;
        if mass <= 0.0 {
            return Mass { mass: 0.0, centre: self.centre, inertia: self.inertia + other.inertia };
        }
        let centre = (self.centre * self.mass + other.centre * other.mass) / mass;
        let inertia = self.inertia + other.inertia + point(self.centre - centre) * self.mass + point(other.centre - centre) * other.mass;
        Mass { mass, centre, inertia }
    }
    /// What is left when `other` is taken away; it must weigh less.
    pub fn minus(&self, other: &Mass) -> Self {
        let mass = self.mass - other.mass;
        let centre = (self.centre * self.mass - other.centre * other.mass) / mass;
        let inertia = self.inertia + point(self.centre - centre) * self.mass - other.inertia - point(other.centre - centre) * other.mass;
        Mass { mass, centre, inertia }
    }
    /// Least and greatest principal moment [kg m^2].
    pub fn moments(&self) -> [f64; 2] {
        let moments = self.inertia.symmetric_eigenvalues();
        [moments.min(), moments.max()]
    }
    /// Whether a body can move with it.
    pub fn is_solid(&self) -> bool {
        self.mass > 0.0 && self.moments()[0] > 0.0 && self.inertia.iter().chain(&self.centre).all(|x| x.is_finite())
    }
}

fn diagonal(mass: f64, x: f64, y: f64, z: f64) -> Mass {
    Mass { mass, centre: Vector3::zeros(), inertia: Matrix3::from_diagonal(&Vector3::new(x, y, z)) }
}

/// A ball of unit density.
pub fn ball(radius: f64) -> Mass {
    let mass = 4.0 / 3.0 * PI * radius.powi(3);
    let moment = 2.0 / 5.0 * mass * radius * radius;
    diagonal(mass, moment, moment, moment)
}

/// A box of unit density, by half extents.
pub fn cuboid(half: Vector3<f64>) -> Mass {
    let mass = 8.0 * half.x * half.y * half.z;
    let square = half.component_mul(&half) / 3.0;
    diagonal(mass, mass * (square.y + square.z), mass * (square.x + square.z), mass * (square.x + square.y))
}

/// An ellipsoid of unit density, by half axes.
pub fn ellipsoid(half: Vector3<f64>) -> Mass {
    let mass = 4.0 / 3.0 * PI * half.x * half.y * half.z;
    let square = half.component_mul(&half) / 5.0;
    diagonal(mass, mass * (square.y + square.z), mass * (square.x + square.z), mass * (square.x + square.y))
}

/// A cylinder of unit density along z, by half height.
pub fn cylinder(radius: f64, half: f64) -> Mass {
    let mass = PI * radius * radius * 2.0 * half;
    let across = mass * (radius * radius / 4.0 + half * half / 3.0);
    diagonal(mass, across, across, mass * radius * radius / 2.0)
}

/// A capsule of unit density along z, by half the distance of its cap centres.
pub fn capsule(radius: f64, half: f64) -> Mass {
    let tube = cylinder(radius, half);
    let caps = ball(radius).mass;
    // Each half ball: its own moment about the cap's centre, then moved out by half and by 3/8 of the radius.
    let axial = 2.0 / 5.0 * caps * radius * radius;
    let across = caps * (2.0 / 5.0 * radius * radius + half * half + 3.0 / 4.0 * half * radius);
    let inertia = tube.inertia + Matrix3::from_diagonal(&Vector3::new(across, across, axial));
    Mass { mass: tube.mass + caps, centre: Vector3::zeros(), inertia }
}

/// How the volumes of a mesh add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volume {
    /// Faces that look inward count as holes: exact for a closed mesh.
    Signed,
    /// All count alike, about the centre of the surface: what MuJoCo calls legacy. For a convex mesh the same, whichever way its faces look.
    Absolute,
}

/// A mesh of unit density: sums over the tetrahedra between an inner point and the faces.
pub fn mesh(points: &[Vector3<f64>], faces: &[[usize; 3]], volume: Volume) -> Mass {
    // About a point within: sums about a far origin would cancel.
    let middle = match volume {
        Volume::Signed => points.iter().sum::<Vector3<f64>>() / points.len().max(1) as f64,
        Volume::Absolute => surface_centre(points, faces),
    };
    let (mut sum_volume, mut first, mut second) = (0.0, Vector3::zeros(), Matrix3::zeros());
    for face in faces {
        let [a, b, c] = face.map(|i| points[i] - middle);
        let v = a.dot(&b.cross(&c)) / 6.0;
        let v = if volume == Volume::Absolute { v.abs() } else { v };
        let sum = a + b + c;
        sum_volume += v;
        first += sum * (v / 4.0);
        // The integral of x x' over a tetrahedron with one corner at the origin.
        second += (a * a.transpose() + b * b.transpose() + c * c.transpose() + sum * sum.transpose()) * (v / 20.0);
    }
    if sum_volume <= 0.0 {
        return Mass { mass: sum_volume, centre: middle, inertia: Matrix3::zeros() };
    }
    let centre = first / sum_volume;
    let second = second - centre * centre.transpose() * sum_volume;
    Mass { mass: sum_volume, centre: middle + centre, inertia: Matrix3::identity() * second.trace() - second }
}

/// The centre of the faces as a surface of even thickness; the origin for a mesh without area.
fn surface_centre(points: &[Vector3<f64>], faces: &[[usize; 3]]) -> Vector3<f64> {
    let (mut area, mut sum) = (0.0, Vector3::zeros());
    for face in faces {
        let [a, b, c] = face.map(|i| points[i]);
        let part = (b - a).cross(&(c - a)).norm();
        area += part;
        sum += (a + b + c) * (part / 3.0);
    }
    if area > 0.0 { sum / area } else { Vector3::zeros() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mesh_of_a_box_weighs_what_the_box_does() {
        let half = Vector3::new(0.1, 0.2, 0.3);
        let corner = |i: usize| {
            let sign = |bit: usize| if i >> bit & 1 == 1 { 1.0 } else { -1.0 };
            Vector3::new(sign(0) * half.x + 5.0, sign(1) * half.y, sign(2) * half.z)
        };
        let points: Vec<_> = (0..8).map(corner).collect();
        let faces = [
            [0, 2, 1],
            [1, 2, 3],
            [4, 5, 6],
            [5, 7, 6],
            [0, 1, 4],
            [1, 5, 4],
            [2, 6, 3],
            [3, 6, 7],
            [0, 4, 2],
            [2, 4, 6],
            [1, 3, 5],
            [3, 7, 5],
        ];
        let (by_faces, exact) = (mesh(&points, &faces, Volume::Signed), cuboid(half));
        let inward: Vec<[usize; 3]> = faces.iter().map(|f| [f[0], f[2], f[1]]).collect();
        assert!(mesh(&points, &inward, Volume::Signed).mass < 0.0);
        let legacy = mesh(&points, &inward, Volume::Absolute);
        assert!((legacy.mass - exact.mass).abs() < 1e-14 && (legacy.inertia - exact.inertia).norm() < 1e-15);
        assert!((by_faces.mass - exact.mass).abs() < 1e-14);
        assert!((by_faces.centre - Vector3::new(5.0, 0.0, 0.0)).norm() < 1e-14);
        assert!((by_faces.inertia - exact.inertia).norm() < 1e-15);
    }

    #[test]
    fn taking_away_undoes_adding() {
        let a = capsule(0.1, 0.3);
        let b = cuboid(Vector3::new(0.05, 0.02, 0.04)).moved(&Isometry3::new(Vector3::new(0.2, 0.1, 0.0), Vector3::new(0.3, 0.0, 1.0)));
        let back = a.plus(&b).minus(&b);
        assert!((back.mass - a.mass).abs() < 1e-16 && (back.centre - a.centre).norm() < 1e-15);
        assert!((back.inertia - a.inertia).norm() < 1e-16);
    }
}
