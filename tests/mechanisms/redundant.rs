//! Joints that others make superfluous are named, and nothing breaks.

use carom_dynamics::{JointKind, World};
use carom_math::{Space, Spatial};
use carom_tests::in_both_spaces;
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage};

/// Steps for a while; everything stays finite and closed.
fn swings<G: Stage>(world: &mut World<G>) {
    for _ in 0..200 {
        world.step().expect("a step");
        assert!(world.state().twists.iter().all(|t| t.is_finite()));
        assert!(world.joint_error() < 1e-9);
    }
}

fn names<G: Stage>(world: &World<G>) -> Vec<String> {
    world.redundant_joints().into_iter().map(|joint| world.model().joints[joint].name.clone()).collect()
}

/// A pendulum of two bodies that two welds hold together.
fn a_doubled_weld<G: Stage>() {
    let mut scene = Scene::<G>::new(0.005);
    let inertia = G::inertia_from_moments(&[0.1, 0.2, 0.3]);
    let bodies = [scene.particle(1.0, inertia, pose(0.5, 0.0, 0.0)), scene.particle(1.0, inertia, pose(1.5, 0.0, 0.0))];
    scene.hinge(bodies[0], None, G::at(0.0, 0.0));
    for x in [1.0, 1.2] {
        scene.joint(JointKind::Weld, [Some(bodies[1]), Some(bodies[0])], |spec| spec.anchor = Some(G::at(x, 0.0)));
    }
    let mut world = scene.world();
    assert_eq!(names(&world), ["joint 2"]);
    let report = world.step().expect("a step");
    assert_eq!(report.redundant, G::DOF);
    swings(&mut world);
    assert_eq!(names(&world), ["joint 2"]);
}
in_both_spaces!(a_doubled_weld);

/// A door on two hinges: the second holds five rows that the first holds already.
#[test]
fn a_door_on_two_hinges() {
    let mut scene = Scene::<Spatial>::new(0.005);
    let inertia = Spatial::inertia_from_moments(&[0.3, 0.2, 0.1]);
    let door = scene.particle(10.0, inertia, pose(0.5, 0.0, 0.0));
    for up in [-0.8, 0.8] {
        // A tilted axis, so that the door swings.
        scene.joint(JointKind::Hinge, [Some(door), None], |spec| {
            spec.anchor = Some(Spatial::deep(0.0, 0.1 * up, up));
            spec.axis = Some(Spatial::deep(0.0, 0.1, 1.0));
        });
    }
    let mut world = scene.world();
    assert_eq!(names(&world), ["joint 1"]);
    let start = world.state().clone();
    swings(&mut world);
    assert!(crate::travelled(&world, &start) > 0.05, "the door swings");
}

/// The loop of a four-bar in space has three rows too many, at the joint that closes it.
#[test]
fn a_flat_loop_in_space() {
    let mut scene = Scene::<Spatial>::new(0.002);
    let inertia = Spatial::inertia_from_moments(&[0.01, 0.1, 0.1]);
    let up = std::f64::consts::FRAC_PI_2;
    let crank = scene.particle(1.0, inertia, pose(0.0, 0.5, up));
    let coupler = scene.particle(1.0, inertia, pose(1.0, 1.0, 0.0));
    let rocker = scene.particle(1.0, inertia, pose(2.0, 0.5, up));
    scene.hinge(crank, None, Spatial::at(0.0, 0.0));
    scene.hinge(coupler, Some(crank), Spatial::at(0.0, 1.0));
    scene.hinge(rocker, None, Spatial::at(2.0, 0.0));
    scene.hinge(rocker, Some(coupler), Spatial::at(2.0, 1.0));
    let mut world = scene.world();
    let report = world.step().expect("a step");
    assert_eq!(report.redundant, 3);
    assert_eq!(names(&world), ["joint 3"]);
    swings(&mut world);
}

/// An honest chain has none.
#[test]
fn a_chain_has_none() {
    let mut scene = Scene::<Spatial>::new(0.005);
    let mut last = None;
    for link in 0..5 {
        let x = f64::from(link);
        let body = scene.particle(1.0, Spatial::inertia_from_moments(&[0.1, 0.1, 0.1]), pose(x + 0.5, 0.0, 0.0));
        scene.hinge(body, last, Spatial::at(x, 0.0));
        last = Some(body);
    }
    let mut world = scene.world();
    assert!(world.redundant_joints().is_empty());
    assert_eq!(world.step().expect("a step").redundant, 0);
}
