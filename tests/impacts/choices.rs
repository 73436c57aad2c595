//! What a scene says of friction and tolerance of impacts is what its impacts do.

use crate::laws::{STEPS, ball, scene, velocities, wall};
use carom_dynamics::options::{ImpactFriction, ImpactLaw, Order};
use carom_kernels::impact::{ImpactOptions, impacts};
use carom_math::Planar;
use carom_solve::impact::{Law, MassMatrix, Order as Turn, SparseRows};
use carom_tests::Stage;
use carom_tests::scene::pose;

const RADIUS: f64 = 0.1;

/// A ball that spins falls on the floor beside a wall it touches: friction of the floor throws it against the wall, whose own friction lifts and turns it.
fn in_the_corner(friction: ImpactFriction) -> [f64; 3] {
    const SPIN: f64 = -60.0;
    const GRIP: f64 = 0.5;
    let mut scene = scene::<Planar>(ImpactLaw::Reflections, STEPS[1]);
    scene.model.options.impact_friction = friction;
    wall(&mut scene, [0.0, 1.0], [0.0, 0.0], GRIP, 0.0);
    wall(&mut scene, [-1.0, 0.0], [RADIUS, 0.0], GRIP, 0.0);
    let body = scene.body(Planar::ball(RADIUS), 1.0, pose(0.0, RADIUS, 0.0), GRIP, 0.0);
    scene.moving(body, Planar::at(0.0, -1.0), Planar::rate(SPIN));
    assert!((Planar::flat_inertia(scene.model.bodies[body].inertia) - 0.005).abs() < 1e-12);
    let mut world = scene.world();
    world.step().expect("a ball in a corner");
    let [x, up] = velocities(&world)[0];
    [x, up, Planar::flat_rate(world.state().twists[body].ang)]
}

#[test]
fn friction_in_turns_with_the_normal_impulses_is_a_choice_of_the_scene() {
    // Both slide, and what the wall's friction lifts the floor need not carry: p = 1 - g, f = p/2, g = f/2, so p = 0.8, f = 0.4, g = 0.2 N s, and the spin
    // gains r (f + g) / I = 12 rad/s.
    let near = |found: [f64; 3], wanted: [f64; 3]| found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-6);
    let together = in_the_corner(ImpactFriction::Staggered);
    assert!(near(together, [0.0, 0.0, -48.0]), "{together:?}");
    // One after the other: p = 1, f = 0.5, then the wall stops 0.5 m/s and lifts with g = 0.25 N s; 15 rad/s.
    let after = in_the_corner(ImpactFriction::OneWay);
    assert!(near(after, [0.0, 0.25, -45.0]), "{after:?}");
}

/// Reflections of a ball in a narrow wedge, through the step and on arrays.
fn reflections(tolerance: Option<f64>) -> (usize, usize) {
    const ANGLE: f64 = 0.1;
    let start = [-1.0, -0.003];
    let law = ImpactLaw::GaussSeidel(Order::Lexicographic);
    let mut scene = scene::<Planar>(law, STEPS[1]);
    scene.model.options.impact_tolerance = tolerance;
    wall(&mut scene, [0.0, 1.0], [0.0, 0.0], 0.0, 1.0);
    wall(&mut scene, [ANGLE.sin(), -ANGLE.cos()], [0.0, 0.0], 0.0, 1.0);
    let body = ball(&mut scene, RADIUS, 1.0, RADIUS * (1.0 + ANGLE.cos()) / ANGLE.sin(), RADIUS, 1.0);
    scene.moving(body, Planar::at(start[0], start[1]), Planar::rate(0.0));
    let mut world = scene.world();
    let report = world.step().expect("a ball in a wedge");
    let normals = SparseRows::from_dense(&[0.0, 1.0, ANGLE.sin(), -ANGLE.cos()], 2).expect("rows");
    let options = ImpactOptions {
        law: Law::GaussSeidel { order: Turn::Lexicographic, seed: 0 },
        tolerance: tolerance.unwrap_or(ImpactOptions::default().tolerance),
        ..ImpactOptions::default()
    };
    let alone = impacts(&MassMatrix::diagonal(&[1.0, 1.0]).expect("a mass"), &normals, &start, &options).expect("an impact");
    (report.impact_iterations, alone.iterations)
}

#[test]
fn the_tolerance_of_an_impact_is_a_choice_of_the_scene() {
    let ((fine, alone), (coarse, coarse_alone)) = (reflections(None), reflections(Some(0.15)));
    assert_eq!((fine, coarse), (alone, coarse_alone));
    assert!(coarse + 3 < fine, "{coarse} at 0.15, {fine} at the engine's own");
}
