//! The shapes whose contacts are differentiated.

use super::Random;
use carom_math::Vector;

/// One of each shape of the plane.
pub(super) fn planar_shapes() -> Vec<crate::planar::Shape> {
    use crate::planar::Shape;
    use nalgebra::Vector2;
    let points = [(-0.5, -0.3), (0.4, -0.4), (0.7, 0.1), (0.2, 0.5), (-0.4, 0.3)].map(|(x, y)| Vector2::new(x, y));
    vec![
        Shape::ball(0.4).unwrap(),
        Shape::cuboid(0.9, 0.6).unwrap(),
        Shape::capsule(0.7, 0.2).unwrap(),
        Shape::convex(&points).unwrap(),
        Shape::half_space(Vector2::new(0.3, 1.0)).unwrap(),
        Shape::segment(Vector2::new(-0.4, 0.1), Vector2::new(0.6, -0.2)).unwrap(),
        Shape::heightfield(&[0.4, 0.0, 0.1, -0.1, 0.5], 0.6).unwrap(),
    ]
}

/// One or two of each shape of space.
pub(super) fn spatial_shapes() -> Vec<crate::spatial::Shape> {
    use crate::spatial::Shape;
    use nalgebra::Vector3;
    let mut random = Random(11);
    let points: Vec<Vector3<f64>> = (0..12).map(|_| random.vector::<Vector3<f64>>(1.0).unit() * 0.6).collect();
    let prism: Vec<Vector3<f64>> = (0..10)
        .map(|i| {
            let (s, c) = (std::f64::consts::TAU * f64::from(i / 2) / 5.0).sin_cos();
            Vector3::new(0.5 * c, 0.4 * s, if i % 2 == 0 { -0.3 } else { 0.3 })
        })
        .collect();
    let pyramid = [(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0), (0.1, 0.0, 0.5)]
        .map(|(x, y, z)| Vector3::new(x, y, z))
        .to_vec();
    let heights = (0..16).map(|_| random.next() * 0.2).collect();
    vec![
        Shape::ball(0.4).unwrap(),
        Shape::cuboid(Vector3::new(0.5, 0.3, 0.4)).unwrap(),
        Shape::capsule(0.4, 0.2).unwrap(),
        Shape::convex(&points).unwrap(),
        Shape::convex(&prism).unwrap(),
        Shape::half_space(Vector3::new(0.3, 0.2, 1.0)).unwrap(),
        Shape::segment(Vector3::new(-0.4, 0.1, 0.3), Vector3::new(0.6, -0.2, 0.1)).unwrap(),
        Shape::cylinder(0.5, 0.3).unwrap(),
        Shape::cylinder(0.2, 0.5).unwrap(),
        Shape::cone(0.4, 0.35).unwrap(),
        Shape::heightfield(heights, 4, 4, [0.8, 0.9]).unwrap(),
        Shape::mesh(pyramid, vec![[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]).unwrap(),
    ]
}
