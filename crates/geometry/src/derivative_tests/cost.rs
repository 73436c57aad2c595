//! What derivatives of contacts cost.

use super::shapes::spatial_shapes;
use super::{class, numbers, unit};
use crate::{ContactAdjoint, ContactDerivative, ContactMotion, Geometry};
use carom_math::{Planar, Pose, Space, Spatial, Vector};

/// Time of a call \[ns\]: the best mean of some batches, since others use the machine as well.
fn time<T>(mut call: impl FnMut() -> T) -> f64 {
    const BATCHES: usize = 50;
    const CALLS: u32 = 2000;
    let mut batch = || {
        let start = std::time::Instant::now();
        for _ in 0..CALLS {
            call();
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

fn print_cost<G: Geometry>(a: &G::Shape, pose_a: &Pose<G>, b: &G::Shape, pose_b: &Pose<G>, reach: f64) {
    use std::hint::black_box;
    let mut found = Vec::new();
    G::contacts(a, pose_a, b, pose_b, reach, &mut found);
    let Some(contact) = found.first() else { return };
    let (f, bar) = (contact.feature, numbers(contact));
    let motion = ContactMotion::of_poses(unit(0), unit(1));
    let (mut sizes_a, mut sizes_b) = (G::shape_parameters(a), G::shape_parameters(b));
    let evaluate = time(|| black_box(G::evaluate(black_box(f), a, black_box(pose_a), b, pose_b)));
    let tangent = time(|| black_box(G::derivative(black_box(f), a, black_box(pose_a), b, pose_b).tangent(&motion)));
    let jacobian = time(|| black_box(G::derivative(black_box(f), a, black_box(pose_a), b, pose_b).jacobian()));
    let adjoint = time(|| {
        let mut out = ContactAdjoint { shape_a: Some(&mut sizes_a), shape_b: Some(&mut sizes_b), ..ContactAdjoint::of_poses() };
        G::derivative(black_box(f), a, black_box(pose_a), b, pose_b).adjoint(&bar, &mut out);
        black_box(&out.pose_a);
    });
    let pair = format!("{} on {}", G::shape_key(a), G::shape_key(b));
    println!(
        "{pair:24} {:44} evaluate {evaluate:6.0}  tangent {tangent:6.0}  jacobian {jacobian:6.0}  adjoint with sizes {adjoint:6.0} ns",
        class::<G>(&f)
    );
}

#[test]
#[ignore = "prints times"]
fn cost_of_derivatives() {
    use nalgebra::{Vector2, Vector3};
    {
        use crate::planar::Shape;
        let (ball, box_, ground) =
            (Shape::ball(0.5).unwrap(), Shape::cuboid(1.0, 1.0).unwrap(), Shape::half_space(Vector2::new(0.0, 1.0)).unwrap());
        let at = |x: f64, y: f64| Pose::<Planar> { position: Vector2::new(x, y), rotation: Planar::exp(Vector::from_slice(&[0.01])) };
        print_cost::<Planar>(&ball, &at(0.0, 1.0), &ball, &at(0.0, 0.0), 0.1);
        print_cost::<Planar>(&box_, &at(0.0, 0.5), &ground, &Pose::identity(), 0.1);
        print_cost::<Planar>(&box_, &at(0.3, 1.0), &box_, &at(0.0, 0.0), 0.1);
    }
    use crate::spatial::Shape;
    let cube = Shape::cuboid(Vector3::repeat(0.5)).unwrap();
    let at = |x: f64, z: f64, turn: f64| Pose::<Spatial> {
        position: Vector3::new(x, 0.1, z),
        rotation: Spatial::exp(Vector3::new(turn, 0.02, 0.3)),
    };
    let shapes = spatial_shapes();
    print_cost::<Spatial>(&shapes[0], &at(0.0, 0.8, 0.0), &shapes[0], &at(0.0, 0.0, 0.0), 0.1);
    print_cost::<Spatial>(&cube, &at(0.0, 0.5, 0.0), &Shape::half_space(Vector3::z()).unwrap(), &Pose::identity(), 0.1);
    print_cost::<Spatial>(&cube, &at(0.3, 1.0, 0.01), &cube, &at(0.0, 0.0, 0.0), 0.1);
    print_cost::<Spatial>(&cube, &at(0.3, 1.4, 0.8), &cube, &at(0.0, 0.0, -0.8), 0.2);
    print_cost::<Spatial>(&shapes[2], &at(0.0, 0.4, 1.2), &shapes[2], &at(0.0, 0.0, -1.2), 0.1);
    print_cost::<Spatial>(&shapes[3], &at(0.0, 0.6, 0.0), &Shape::half_space(Vector3::z()).unwrap(), &Pose::identity(), 0.1);
    print_cost::<Spatial>(&shapes[7], &at(0.0, 0.3, 1.57), &Shape::half_space(Vector3::z()).unwrap(), &Pose::identity(), 0.1);
    print_cost::<Spatial>(&shapes[7], &at(0.2, 0.7, 1.3), &cube, &at(0.0, -0.2, 0.0), 0.3);
    print_cost::<Spatial>(&shapes[9], &at(0.0, 0.65, 1.4), &shapes[9], &at(0.0, 0.0, -1.0), 0.3);
}
