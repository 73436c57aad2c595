//! Shapes and directions of the vertical plane in either space.

use carom_dynamics::Collider;
use carom_geometry::{Geometry, planar, spatial};
use carom_math::rotation::Turn;
use carom_math::{Planar, Pose, Spatial};
use nalgebra::{UnitQuaternion, Vector1, Vector2, Vector3};
use std::f64::consts::FRAC_PI_2;

/// A space that can be furnished: every method speaks of the vertical plane x-up.
pub trait Stage: Geometry {
    /// For messages.
    const NAME: &'static str;
    /// A point or direction.
    fn at(x: f64, up: f64) -> Self::Lin;
    /// A direction out of the vertical plane as well; the plane ignores it.
    fn deep(x: f64, depth: f64, up: f64) -> Self::Lin;
    /// A rate of turning from x towards up [rad/s].
    fn rate(rate: f64) -> Self::Ang;
    /// A rate about all axes, of which the plane keeps the first.
    fn rates(rate: f64, second: f64, third: f64) -> Self::Ang;
    /// The turn from x towards up by an angle \[rad\].
    fn turned(angle: f64) -> Self::Rot;
    /// The x-up part of a vector.
    fn flat(vector: Self::Lin) -> [f64; 2];
    /// The rate of turning from x towards up.
    fn flat_rate(rate: Self::Ang) -> f64;
    /// A ball.
    fn ball(radius: f64) -> Collider<Self>;
    /// A box of width along x (and depth) and height up.
    fn cuboid(width: f64, height: f64) -> Collider<Self>;
    /// A capsule along x.
    fn capsule(length: f64, radius: f64) -> Collider<Self>;
    /// A convex solid of about this radius, with corners drawn by `draw` in [0, 1).
    fn rock(radius: f64, draw: &mut dyn FnMut() -> f64) -> Collider<Self>;
    /// The half-space behind a normal.
    fn half_space(normal: Self::Lin) -> Collider<Self>;
    /// Inertia of a shape about its centroid, for a mass \[kg\], about the axis out of the vertical plane [kg m^2].
    fn flat_inertia(inertia: Self::Inertia) -> f64;
}

fn bare<G: Geometry>(shape: G::Shape) -> Collider<G> {
    Collider { shape, local: Pose::identity() }
}

impl Stage for Planar {
    const NAME: &'static str = "planar";
    fn at(x: f64, up: f64) -> Vector2<f64> {
        Vector2::new(x, up)
    }
    fn deep(x: f64, _: f64, up: f64) -> Vector2<f64> {
        Vector2::new(x, up)
    }
    fn rate(rate: f64) -> Vector1<f64> {
        Vector1::new(rate)
    }
    fn rates(rate: f64, _: f64, _: f64) -> Vector1<f64> {
        Vector1::new(rate)
    }
    fn turned(angle: f64) -> Turn {
        Turn::by(angle)
    }
    fn flat(vector: Vector2<f64>) -> [f64; 2] {
        [vector.x, vector.y]
    }
    fn flat_rate(rate: Vector1<f64>) -> f64 {
        rate.x
    }
    fn ball(radius: f64) -> Collider<Self> {
        bare(planar::Shape::ball(radius).expect("radius"))
    }
    fn cuboid(width: f64, height: f64) -> Collider<Self> {
        bare(planar::Shape::cuboid(width, height).expect("extents"))
    }
    fn capsule(length: f64, radius: f64) -> Collider<Self> {
        bare(planar::Shape::capsule(length, radius).expect("capsule"))
    }
    fn rock(radius: f64, draw: &mut dyn FnMut() -> f64) -> Collider<Self> {
        let corners = 3 + (draw() * 5.0) as usize;
        let points: Vec<_> = (0..corners)
            .map(|k| {
                let angle = std::f64::consts::TAU * (k as f64 + 0.5 * draw()) / corners as f64;
                let reach = radius * (0.7 + 0.3 * draw());
                Vector2::new(reach * angle.cos(), reach * angle.sin())
            })
            .collect();
        bare(planar::Shape::convex(&points).expect("corners around the origin"))
    }
    fn half_space(normal: Vector2<f64>) -> Collider<Self> {
        bare(planar::Shape::half_space(normal).expect("normal"))
    }
    fn flat_inertia(inertia: Self::Inertia) -> f64 {
        inertia.x
    }
}

impl Stage for Spatial {
    const NAME: &'static str = "spatial";
    fn at(x: f64, up: f64) -> Vector3<f64> {
        Vector3::new(x, 0.0, up)
    }
    fn deep(x: f64, depth: f64, up: f64) -> Vector3<f64> {
        Vector3::new(x, depth, up)
    }
    fn rate(rate: f64) -> Vector3<f64> {
        // From x towards z is the negative turn about y.
        Vector3::new(0.0, -rate, 0.0)
    }
    fn rates(rate: f64, second: f64, third: f64) -> Vector3<f64> {
        Vector3::new(second, -rate, third)
    }
    fn turned(angle: f64) -> UnitQuaternion<f64> {
        UnitQuaternion::from_axis_angle(&-Vector3::y_axis(), angle)
    }
    fn flat(vector: Vector3<f64>) -> [f64; 2] {
        [vector.x, vector.z]
    }
    fn flat_rate(rate: Vector3<f64>) -> f64 {
        -rate.y
    }
    fn ball(radius: f64) -> Collider<Self> {
        bare(spatial::Shape::ball(radius).expect("radius"))
    }
    fn cuboid(width: f64, height: f64) -> Collider<Self> {
        bare(spatial::Shape::cuboid(Vector3::new(0.5 * width, 0.5 * width, 0.5 * height)).expect("extents"))
    }
    fn capsule(length: f64, radius: f64) -> Collider<Self> {
        let shape = spatial::Shape::capsule(0.5 * length, radius).expect("capsule");
        // The shape lies along z.
        Collider {
            shape,
            local: Pose { position: Vector3::zeros(), rotation: UnitQuaternion::from_axis_angle(&Vector3::y_axis(), FRAC_PI_2) },
        }
    }
    fn rock(radius: f64, draw: &mut dyn FnMut() -> f64) -> Collider<Self> {
        // A tetrahedron keeps it solid; further points make it a rock.
        let mut points: Vec<_> = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
            .map(|p| Vector3::from(p).normalize() * radius * (0.8 + 0.2 * draw()))
            .to_vec();
        for _ in 0..(draw() * 6.0) as usize {
            let p = Vector3::new(draw() - 0.5, draw() - 0.5, draw() - 0.5);
            if p.norm() > 0.1 {
                points.push(p.normalize() * radius * (0.8 + 0.2 * draw()));
            }
        }
        bare(spatial::Shape::convex(&points).expect("corners around the origin"))
    }
    fn half_space(normal: Vector3<f64>) -> Collider<Self> {
        bare(spatial::Shape::half_space(normal).expect("normal"))
    }
    fn flat_inertia(inertia: Self::Inertia) -> f64 {
        inertia[(1, 1)]
    }
}
