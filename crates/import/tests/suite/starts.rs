//! Models whose joints are beyond their limits as they are written, as those of the usual collections are: they are put right before they move.

use carom_dynamics::{Fault, World};
use carom_import::{Options, from_mjcf};
use carom_math::{Pose, Spatial};
use carom_scene::Scene;

/// Largest distance beyond a limit after the first step \[rad\].
const HELD: f64 = 1e-9;

/// An ant on straight legs, whose knees bend by 30 to 70 degrees; its height, and the ranges of its left and right knees.
fn ant(height: f64) -> String {
    let mut legs = String::new();
    for (name, x, y) in [("fl", 1.0, 1.0), ("fr", 1.0, -1.0), ("bl", -1.0, 1.0), ("br", -1.0, -1.0)] {
        let at = |s: f64| format!("{} {} 0", s * x, s * y);
        // Turned about this axis by a positive angle a shank points down.
        let axis = format!("{} {} 0", -y, x);
        legs += &format!(
            "<body><geom type=\"capsule\" size=\"0.08\" fromto=\"0 0 0 {0}\"/><body pos=\"{0}\">\
             <joint name=\"hip_{name}\" axis=\"0 0 1\" range=\"-30 30\"/><geom type=\"capsule\" size=\"0.08\" fromto=\"0 0 0 {0}\"/>\
             <body pos=\"{0}\"><joint name=\"knee_{name}\" axis=\"{axis}\" range=\"30 70\"/>\
             <geom type=\"capsule\" size=\"0.08\" fromto=\"0 0 0 {1}\"/></body></body></body>\n",
            at(0.2),
            at(0.4)
        );
    }
    format!(
        "<mujoco><default><joint limited=\"true\"/><geom density=\"5\"/></default><worldbody>\n<geom type=\"plane\" size=\"9 9 1\"/>\n\
         <body name=\"trunk\" pos=\"0 0 {height}\"><freejoint/><geom type=\"sphere\" size=\"0.25\"/>\n{legs}</body></worldbody></mujoco>"
    )
}

/// Legs of two links that stand in the floor, knees stretched where they bend by 0.6 to 2.4 rad, under a trunk.
fn walker() -> String {
    let mut legs = String::new();
    for (name, y) in [("left", 0.12), ("right", -0.12)] {
        legs += &format!(
            "<body pos=\"0 {y} -0.1\"><joint name=\"hip_{name}\" axis=\"0 1 0\" range=\"-1 1\"/>\
             <geom type=\"capsule\" size=\"0.06\" fromto=\"0 0 0 0 0 -0.4\"/>\
             <body pos=\"0 0 -0.4\"><joint name=\"knee_{name}\" axis=\"0 1 0\" range=\"0.6 2.4\"/>\
             <geom type=\"capsule\" size=\"0.05\" fromto=\"0 0 0 0 0 -0.4\"/></body></body>\n"
        );
    }
    format!(
        "<mujoco><compiler angle=\"radian\"/><default><joint limited=\"true\"/></default><worldbody>\n<geom type=\"plane\" size=\"9 9 1\"/>\n\
         <body name=\"trunk\" pos=\"0 0 0.85\"><freejoint/><geom type=\"box\" size=\"0.1 0.15 0.1\"/>\n{legs}</body></worldbody></mujoco>"
    )
}

fn world(text: &str) -> World<Spatial> {
    let import = from_mjcf(text, "model.xml", &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let Scene::Spatial(scene) = import.scene else { panic!("models are spatial") };
    World::new(scene.model, scene.state).unwrap()
}

/// Largest distance beyond a limit.
fn passed(world: &World<Spatial>) -> f64 {
    let mut worst = 0.0f64;
    for joint in &world.model().joints {
        let [a, b] = joint.bodies.map(|body| body.map_or_else(Pose::identity, |b| world.state().poses[b]));
        worst = (0..joint.inequality_count()).fold(worst, |m, index| m.max(-joint.inequality(index, &a, &b).0));
    }
    worst
}

/// Half a second of a model that starts wrong: nothing jumps, nothing stays beyond its limits.
fn settles(name: &str, mut world: World<Spatial>, knees: usize, highest: f64) {
    let limits = world.foreseen_placement().unwrap().faults.iter().filter(|fault| matches!(fault, Fault::Limit { .. })).count();
    assert_eq!(limits, knees, "{name}: {:?}", world.notes());
    let mut top = world.state().poses[0].position.z;
    for step in 0..100 {
        let report = world.step().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(report.placed, step == 0, "{name}");
        assert!(passed(&world) <= HELD, "{name}, step {step}: {:e} rad beyond", passed(&world));
        top = world.state().poses.iter().fold(top, |m, pose| m.max(pose.position.z));
        let ledger = world.ledger();
        // What rests exchanges nothing; its books are rounding beside the energy that is there.
        let rounding = 16.0 * f64::EPSILON * (ledger.kinetic + ledger.potential.abs() + ledger.flow.projection.abs());
        assert!(ledger.drift.abs() <= 1e-3 * ledger.exchanged + rounding, "{name}, step {step}: {ledger:?}");
    }
    assert!(-world.deepest() < 1e-5, "{name}: {}", world.deepest());
    assert!(top < highest, "{name} was thrown up to {top} m");
}

#[test]
fn an_ant_on_straight_legs_bends_its_knees_before_it_falls() {
    settles("ant in the air", world(&ant(0.75)), 4, 0.85);
    // Legs of 0.08 m radius at 0.03 m: it lies in the floor.
    settles("ant in the floor", world(&ant(0.03)), 4, 0.6);
}

#[test]
fn a_walker_with_stretched_knees_is_lifted_onto_its_feet() {
    settles("walker", world(&walker()), 2, 1.1);
}
