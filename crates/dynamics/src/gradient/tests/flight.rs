//! Free bodies and bodies that contacts hold by their own maps and by the many small ones: two roads to one derivative.

use crate::body_load::Resistances;
use crate::gradient::Weak;
use crate::gradient::named::parameters::Parameters;
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::tape::step::{StepRecord, Wrt, differentiate};
use crate::model::{Body, BodyKind, Collider, Model};
use crate::options::Integrator;
use crate::state::State;
use crate::world::{StepReport, World};
use carom_geometry::Geometry;
use carom_geometry::planar::Shape;
use carom_math::{Planar, Pose, Space, Twist};
use nalgebra::{Vector1, Vector2};

/// Numbers in [-1, 1), always the same.
fn numbers(count: usize, mut state: u64) -> Vec<f64> {
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// A row of balls over a floor, near enough to each other to share an island: one rests, one lands within the step, the others fly, damped and
/// with a locked axis.
fn balls(integrator: Integrator) -> World<Planar> {
    let (radius, gap) = (0.1, 0.002);
    let mut model = Model::new("balls");
    model.options.integrator = integrator;
    let mut state = State::empty();
    let mut place = |body: Body<Planar>, x: f64, y: f64, (vx, vy, w): (f64, f64, f64)| {
        model.bodies.push(body);
        state.poses.push(Pose { position: Vector2::new(x, y), rotation: Planar::exp(Vector1::new(0.3 * x)) });
        state.twists.push(Twist { lin: Vector2::new(vx, vy), ang: Vector1::new(w) });
    };
    let mut floor = Body::<Planar>::new("floor", BodyKind::Static, 0.0, Planar::inertia_zero());
    floor.colliders.push(Collider { shape: Shape::half_space(Vector2::y()).expect("a sound shape"), local: Pose::identity() });
    place(floor, 0.0, 0.0, (0.0, 0.0, 0.0));
    let heights = [radius, radius + 0.002, 0.3, 0.25, 0.35];
    for (k, height) in heights.into_iter().enumerate() {
        let mut ball =
            Body::<Planar>::new(format!("ball {k}"), BodyKind::Dynamic, 1.0 + 0.3 * k as f64, Planar::inertia_from_moments(&[0.004]));
        ball.colliders.push(Collider { shape: Shape::ball(radius).expect("a sound shape"), local: Pose::identity() });
        (ball.surface.restitution, ball.surface.friction) = (0.6, 0.4);
        ball.resistances = Resistances::by_key(|key| if key == "damping" { 0.2 * k as f64 } else { 0.2 });
        ball.locked.x = if k == 3 { 1.0 } else { 0.0 };
        ball.locked_rotation = k == 4;
        let v = if k == 0 {
            (0.0, 0.0, 0.0)
        } else if k == 3 {
            (0.0, 0.4, 1.0)
        } else {
            (0.1 * k as f64, -0.6, if k == 4 { 0.0 } else { 2.0 })
        };
        place(ball, (2.0 * radius + gap) * k as f64, height, v);
    }
    model.gravity = Vector2::new(0.3, -9.81);
    World::new(model, state).expect("a sound world")
}

/// Balls that fall into a wedge and onto each other, so that strikes reach several contacts at once.
pub(super) fn heap() -> World<Planar> {
    let radius = 0.1;
    let mut model = Model::new("heap");
    let mut state = State::empty();
    let mut place = |body: Body<Planar>, at: Vector2<f64>, velocity: Vector2<f64>| {
        model.bodies.push(body);
        state.poses.push(Pose { position: at, rotation: Planar::identity() });
        state.twists.push(Twist { lin: velocity, ang: Vector1::new(0.0) });
    };
    for (k, tilt) in [-0.5, 0.6].into_iter().enumerate() {
        let mut wall = Body::<Planar>::new(format!("wall {k}"), BodyKind::Static, 0.0, Planar::inertia_zero());
        let shape = Shape::half_space(Vector2::new(tilt, 1.0)).expect("a sound shape");
        wall.colliders.push(Collider { shape, local: Pose::identity() });
        place(wall, Vector2::zeros(), Vector2::zeros());
    }
    for k in 0..4 {
        let mass = 1.0 + 0.3 * k as f64;
        let mut ball = Body::<Planar>::new(format!("ball {k}"), BodyKind::Dynamic, mass, Planar::inertia_from_moments(&[0.004 * mass]));
        ball.colliders.push(Collider { shape: Shape::ball(radius).expect("a sound shape"), local: Pose::identity() });
        (ball.surface.restitution, ball.surface.friction) = (0.3 + 0.1 * k as f64, 0.3);
        place(ball, Vector2::new(0.02 * k as f64, 0.15 + 0.21 * k as f64), Vector2::new(0.05, -1.0 - 0.2 * k as f64));
    }
    World::new(model, state).expect("a sound world")
}

/// Outputs of a program run forwards and gradients of its run backwards, and the difference of the two products they make.
fn run<G: Geometry>(world: &World<G>, record: &StepRecord<G>, general: bool) -> (Vec<f64>, Vec<f64>, f64, usize) {
    let (model, layout) = (world.model(), Parameters::of(world.model()));
    let mut program = Program::<G>::default();
    program.general = general;
    let (ends, _) = differentiate(&mut program, model, &layout, record, (Wrt::Everything, Weak::AsSolved));
    let (inputs, outputs) = ([ends.poses, ends.twists, ends.parameters], [ends.poses_after, ends.twists_after]);
    let gather = |x: &[f64], blocks: &[Block]| blocks.iter().flat_map(|b| x[b.range()].to_vec()).collect::<Vec<f64>>();
    let mut scratch = Vec::new();
    let mut forward = vec![0.0; program.slots()];
    for (k, block) in inputs.into_iter().enumerate() {
        forward[block.range()].copy_from_slice(&numbers(block.len(), 3 + k as u64));
    }
    let given = gather(&forward, &inputs);
    program.tangent(model, &mut forward, &mut scratch);
    let mut backward = vec![0.0; program.slots()];
    for (k, block) in outputs.into_iter().enumerate() {
        backward[block.range()].copy_from_slice(&numbers(block.len(), 13 + k as u64));
    }
    let asked = gather(&backward, &outputs);
    program.adjoint(model, &mut backward, &mut scratch);
    program.settle(model, &mut backward, &mut scratch);
    let (found, gradient) = (gather(&forward, &outputs), gather(&backward, &inputs));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let difference = dot(&found, &asked) - dot(&gradient, &given);
    (found, gradient, difference, program.patches())
}

/// Takes a step and compares both roads of its derivative, and their two products to within a rounding; returns its report and the patches it took.
pub(super) fn compare<G: Geometry>(world: &mut World<G>, rounding: f64) -> (StepReport, usize) {
    let (report, record) = world.step_recorded(&[]).expect("balls move");
    let (forward, backward, difference, patches) = run(world, &record, false);
    let (general_forward, general_backward, _, none) = run(world, &record, true);
    assert_eq!(none, 0);
    for (one, other) in [(&forward, &general_forward), (&backward, &general_backward)] {
        let size = other.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(size > 0.1);
        assert!(difference.abs() < rounding * size * size, "{difference} of {size}");
        for (a, b) in one.iter().zip(other.iter()) {
            assert!((a - b).abs() < 1e-11 * size, "{a} {b} of {size}");
        }
    }
    (report, patches)
}

#[test]
fn free_and_held_bodies_have_one_derivative_by_both_roads() {
    for integrator in [Integrator::Verlet, Integrator::Euler] {
        let mut world = balls(integrator);
        let (mut events, mut held, mut patches) = (0, 0, 0);
        for _ in 0..20 {
            let (report, found) = compare(&mut world, 1e-12);
            events += report.events;
            held += report.contacts;
            patches += found;
        }
        assert!(events > 0 && held > 0, "{events} {held}");
        assert!((patches > 0) == (integrator == Integrator::Verlet), "{patches}");
    }
}

#[test]
fn strikes_of_many_contacts_have_one_derivative_by_both_roads() {
    let mut world = heap();
    let (mut events, mut struck) = (0, 0);
    for _ in 0..120 {
        let (report, _) = compare(&mut world, 1e-12);
        events += report.events;
        struck += report.impact_iterations;
    }
    assert!(events > 0 && struck > 0, "{events} {struck}");
}
