//! A world whose islands may sleep beside one whose islands may not: the same bits, whatever happens to both.

use crate::constraints::{Joint, JointKind, JointSpec, Motor};
use crate::model::{Body, BodyKind, Collider, Model};
use crate::state::State;
use crate::world::World;
use carom_geometry::planar::Shape;
use carom_math::{Planar, Pose, Space, Twist, Vector, Wrench};

/// A ground; boxes that stand on it alone and on each other; a door on a hinge in its frame that a motor may turn; a ball on its way to one of the boxes; a
/// stone that touches nothing.
fn yard(gravity: f64) -> World<Planar> {
    let (mut model, mut state) = (Model::<Planar>::new("yard"), State::empty());
    model.gravity = Vector::from_slice(&[0.0, -gravity]);
    model.step = 0.005;
    let mut put = |kind: BodyKind, shape: Option<Shape>, place: [f64; 3], speed: f64| {
        let moments = Planar::inertia_from_moments(&[0.01]);
        let mut body = Body::new(format!("body{}", model.bodies.len()), kind, 1.0, moments);
        body.surface.friction = 0.5;
        body.surface.restitution = 0.0;
        body.colliders.extend(shape.map(|shape| Collider { shape, local: Pose::identity() }));
        model.bodies.push(body);
        let pose = Pose { position: Vector::from_slice(&place), rotation: Planar::exp(Vector::from_slice(&place[2..])) };
        state.push(pose, Twist { lin: Vector::from_slice(&[speed, 0.0]), ang: Vector::zero() });
    };
    let block = || Some(Shape::cuboid(0.25, 0.25).unwrap());
    put(BodyKind::Static, Some(Shape::half_space(Vector::from_slice(&[0.0, 1.0])).unwrap()), [0.0; 3], 0.0);
    put(BodyKind::Dynamic, block(), [0.0, 0.125, 0.0], 0.0);
    put(BodyKind::Dynamic, block(), [2.0, 0.125, 0.0], 0.0);
    put(BodyKind::Dynamic, block(), [2.0, 0.375, 0.0], 0.0);
    put(BodyKind::Dynamic, Some(Shape::ball(0.1).unwrap()), [-3.0, 0.1, 0.0], if gravity > 0.0 { 2.0 } else { 1.0 });
    put(BodyKind::Dynamic, None, [5.0, 1.0, 0.3], 0.0);
    put(BodyKind::Dynamic, None, [9.0, 9.0, 0.0], 0.0);
    let mut spec = JointSpec::new("door", JointKind::Hinge, [Some(5), None]);
    spec.anchor = Some(Vector::from_slice(&[5.0, 1.0]));
    spec.motor = Some(Motor::Control { max: 10.0 });
    model.joints.push(Joint::new(spec, &state.poses[5], &Pose::identity()).unwrap());
    World::new(model, state).unwrap()
}

/// How many islands sleep.
fn sleepers(world: &World<Planar>) -> usize {
    world.islands.list[..world.islands.used].iter().filter(|island| island.rest.sleeps()).count()
}

#[test]
fn a_world_that_sleeps_ends_in_the_same_bits() {
    let mut most = [0; 2];
    for (gravity, most) in [0.0, 9.81].into_iter().zip(&mut most) {
        let (mut sleepy, mut awake) = (yard(gravity), yard(gravity));
        awake.outside.awake = true;
        for step in 0..1200 {
            let control = if (300..340).contains(&step) { 0.3 } else { 0.0 };
            for world in [&mut sleepy, &mut awake] {
                match step {
                    500 => world.push(1, Wrench { lin: Vector::from_slice(&[3.0, 0.0]), ang: Vector::zero() }).unwrap(),
                    520 => world.release(),
                    700 => {
                        let mut state = world.state().clone();
                        state.twists[3].lin = Vector::from_slice(&[0.3, 0.0]);
                        world.set_state(state).unwrap();
                    }
                    _ => {}
                }
                world.step_with(&[control]).unwrap();
            }
            assert_eq!(sleepy.snapshot().to_bytes(), awake.snapshot().to_bytes(), "step {step}");
            assert_eq!(sleepy.report(), awake.report());
            assert_eq!(format!("{:?}", sleepy.contacts()), format!("{:?}", awake.contacts()));
            assert_eq!(sleepers(&awake), 0);
            *most = sleepers(&sleepy).max(*most);
        }
    }
    println!("at most {most:?} islands sleep");
    assert!(most.iter().all(|most| *most > 0), "{most:?}");
}

#[test]
fn what_acts_on_an_island_wakes_it() {
    let mut world = yard(0.0);
    let steps = |world: &mut World<Planar>, count: usize, control: f64| {
        for _ in 0..count {
            world.step_with(&[control]).unwrap();
        }
    };
    steps(&mut world, 10, 0.0);
    let resting = sleepers(&world);
    assert!(resting >= 2, "{resting}");
    steps(&mut world, 1, 0.2);
    assert_eq!(sleepers(&world), resting - 1, "the door turns");
    world.push(1, Wrench { lin: Vector::from_slice(&[1.0, 0.0]), ang: Vector::zero() }).unwrap();
    steps(&mut world, 1, 0.0);
    assert_eq!(sleepers(&world), resting - 2, "and the box is pushed");
    assert!(world.state().twists[1].lin[0] > 0.0 && world.state().twists[5].ang[0] > 0.0);
    world.set_state(world.state().clone()).unwrap();
    steps(&mut world, 1, 0.0);
    assert_eq!(sleepers(&world), 0, "a state that is set wakes all");
}
