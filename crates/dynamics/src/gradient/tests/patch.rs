//! Bodies in space that contacts hold, by the maps of a patch and by the many small ones: two roads to one derivative.

use super::flight::compare;
use crate::body_load::Resistances;
use crate::model::{Body, BodyKind, Collider, Model};
use crate::state::State;
use crate::world::World;
use carom_geometry::spatial::Shape;
use carom_math::{Pose, Space, Spatial, Twist};
use nalgebra::{UnitQuaternion, Vector3};

/// A dynamic body: its shape, moments of 1 kg, place, turn, velocity and spin.
struct Placed(Shape, [f64; 3], Vector3<f64>, Vector3<f64>, Vector3<f64>, Vector3<f64>);

/// Bodies over a floor, damped, of different masses.
fn over_floor(friction: f64, placed: Vec<Placed>) -> World<Spatial> {
    let mut model = Model::new("over the floor");
    let mut state = State::empty();
    let mut floor = Body::<Spatial>::new("floor", BodyKind::Static, 0.0, Spatial::inertia_zero());
    floor.colliders.push(Collider { shape: Shape::half_space(Vector3::z()).expect("a sound shape"), local: Pose::identity() });
    floor.surface.friction = friction;
    model.bodies.push(floor);
    state.poses.push(Pose::identity());
    state.twists.push(Twist::zero());
    for (k, Placed(shape, moments, position, turn, lin, ang)) in placed.into_iter().enumerate() {
        let mass = 1.0 + 0.2 * k as f64;
        let inertia = Spatial::inertia_from_moments(&moments.map(|moment| moment * mass));
        let mut body = Body::<Spatial>::new(format!("body {k}"), BodyKind::Dynamic, mass, inertia);
        body.colliders.push(Collider { shape, local: Pose::identity() });
        (body.surface.friction, body.surface.restitution) = (friction, 0.2);
        body.resistances = Resistances::by_key(|key| match key {
            "damping" => 0.1 * k as f64,
            "spin_damping" => 0.2,
            _ => 0.3,
        });
        model.bodies.push(body);
        state.poses.push(Pose { position, rotation: UnitQuaternion::from_scaled_axis(turn) });
        state.twists.push(Twist { lin, ang });
    }
    model.gravity = Vector3::new(0.2, -0.1, -9.81);
    World::new(model, state).expect("a sound world")
}

fn cube(half: [f64; 3]) -> (Shape, [f64; 3]) {
    let square = half.map(|h| h * h / 3.0);
    let moments = [square[1] + square[2], square[0] + square[2], square[0] + square[1]];
    (Shape::cuboid(Vector3::from(half)).expect("a sound shape"), moments)
}

/// Steps of a world: contacts held, events and patches that were met.
fn walk(mut world: World<Spatial>, steps: usize) -> [usize; 3] {
    let mut met = [0; 3];
    for _ in 0..steps {
        let (report, patches) = compare(&mut world, 1e-11);
        met[0] += report.contacts;
        met[1] += report.events;
        met[2] += patches;
    }
    met
}

#[test]
fn a_stack_in_space_has_one_derivative_by_both_roads() {
    let boxes = (0..3).map(|k| {
        let (shape, moments) = cube([0.1, 0.12, 0.1]);
        let turn = Vector3::new(0.0, 0.0, 0.1 * k as f64);
        Placed(shape, moments, Vector3::new(0.01 * k as f64, 0.0, 0.1 + 0.2 * k as f64), turn, Vector3::zeros(), Vector3::zeros())
    });
    let [held, _, patches] = walk(over_floor(0.5, boxes.collect()), 10);
    assert!(held >= 100 && patches >= 8, "{held} {patches}");
}

#[test]
fn sliding_rolling_and_landing_bodies_have_one_derivative_by_both_roads() {
    for friction in [0.0, 0.15] {
        let (shape, moments) = cube([0.1, 0.15, 0.05]);
        let slider = Placed(
            shape,
            moments,
            Vector3::new(0.0, 0.0, 0.05),
            Vector3::new(0.0, 0.0, 0.4),
            Vector3::new(1.5, 0.4, 0.0),
            Vector3::new(0.0, 0.0, 2.0),
        );
        let ball = |x: f64, height: f64, lin: Vector3<f64>, ang: Vector3<f64>| {
            let shape = Shape::ball(0.1).expect("a sound shape");
            Placed(shape, [0.004, 0.005, 0.006], Vector3::new(x, 0.3, height), Vector3::new(0.2, 0.3, -0.1), lin, ang)
        };
        let rolling = ball(0.0, 0.1, Vector3::new(0.3, 0.2, 0.0), Vector3::new(-6.0, 1.0, 5.0));
        let landing = ball(0.205, 0.105, Vector3::new(0.1, 0.0, -0.4), Vector3::new(3.0, -2.0, 4.0));
        let flying = ball(-0.21, 0.16, Vector3::new(0.1, -0.2, 0.1), Vector3::new(3.0, 5.0, -4.0));
        let [held, events, patches] = walk(over_floor(friction, vec![slider, rolling, landing, flying]), 12);
        assert!(held >= 30 && events > 0 && patches > 8, "{held} {events} {patches}");
    }
}
