//! Rows inserted into the factor of the joints give the motion that the reduced problem gives.

use crate::{apart, travelled};
use carom_dynamics::options::SolverChoice;
use carom_dynamics::{JointKind, Motor};
use carom_math::Spatial;
use carom_tests::in_both_spaces;
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage, holds};

/// The largest distance [m] over one second between `articulated` and `interior-point`; sees to it that sweeps were made and something moved.
fn compare<G: Stage>(name: &str, scene: Scene<G>, moves: f64) {
    let mut twin = scene.clone();
    let mut scene = scene;
    scene.model.options.solver = SolverChoice::Articulated;
    twin.model.options.solver = SolverChoice::InteriorPoint;
    let (mut inserted, mut reduced) = (scene.world(), twin.world());
    let start = inserted.state().clone();
    let steps = (1.0 / inserted.model().step).round() as usize;
    let (mut worst, mut swept, mut solves) = (0.0f64, 0, 0);
    for _ in 0..steps {
        let report = inserted.step().unwrap_or_else(|error| panic!("{name}: {error}"));
        reduced.step().unwrap_or_else(|error| panic!("{name}: {error}"));
        swept += report.swept;
        solves += report.solves;
        worst = worst.max(apart(&inserted, &reduced).0);
    }
    assert!(travelled(&inserted, &start) >= moves, "{name}: moves");
    assert!(2 * swept > solves, "{name}: {swept} of {solves} solves by sweeps");
    let mut good = holds(&format!("{} {name}: articulated and interior point after 1 s [m]", G::NAME), worst, 1e-8);
    good &= holds(&format!("{} {name}: joint gap [m]", G::NAME), inserted.joint_error(), 1e-10);
    assert!(good);
}

/// Balls joined in a row above the ground.
fn row<G: Stage>(links: usize, friction: f64, kind: JointKind) -> Scene<G> {
    let mut scene = Scene::<G>::new(0.005);
    scene.ground(friction, 0.0);
    let mut last = None;
    for link in 0..links {
        let x = 0.2 * link as f64;
        let body = scene.body(G::ball(0.05), 0.1, pose(x, 0.05, 0.0), friction, 0.0);
        if let Some(last) = last {
            scene.joint(kind, [Some(body), Some(last)], |spec| {
                spec.anchor = Some(G::at(x - 0.1, 0.05));
                if kind == JointKind::Hinge && G::DIM > 2 {
                    spec.axis = Some(G::deep(0.0, 1.0, 0.0));
                }
            });
        }
        last = Some(body);
    }
    scene
}

fn a_row_at_rest<G: Stage>() {
    compare("welded row at rest", row::<G>(8, 0.5, JointKind::Weld), 0.0);
}
in_both_spaces!(a_row_at_rest);

fn a_row_that_slides_and_stops<G: Stage>() {
    let mut scene = row::<G>(8, 0.3, JointKind::Weld);
    for body in 1..9 {
        // Along the row: what each ball carries is undetermined, and across it the friction would turn the row by that.
        scene.moving(body, G::at(1.0, 0.0), G::rate(0.0));
    }
    compare("welded row that slides and stops", scene, 0.1);
}
in_both_spaces!(a_row_that_slides_and_stops);

fn a_row_that_is_dropped<G: Stage>() {
    let mut scene = row::<G>(5, 0.4, JointKind::Weld);
    for body in 1..6 {
        scene.state.poses[body].position += G::at(0.0, 0.1);
    }
    compare("welded row that is dropped", scene, 0.09);
}
in_both_spaces!(a_row_that_is_dropped);

/// Hinged links that fold onto the ground.
fn an_arch_that_sags<G: Stage>() {
    let mut scene = Scene::<G>::new(0.005);
    scene.ground(0.8, 0.0);
    // Two legs that stand and a bar between them, limits at their knees.
    let bodies = [
        scene.body(G::ball(0.05), 0.5, pose(0.0, 0.05, 0.0), 0.8, 0.0),
        scene.particle(0.5, G::inertia_from_moments(&[1e-2; 3]), pose(0.2, 0.4, 0.3)),
        scene.particle(0.5, G::inertia_from_moments(&[1e-2; 3]), pose(0.8, 0.4, -0.3)),
        scene.body(G::ball(0.05), 0.5, pose(1.0, 0.05, 0.0), 0.8, 0.0),
    ];
    for (pair, anchor, limits) in
        [([0, 1], [0.1, 0.2], [-0.5, 0.5]), ([1, 2], [0.5, 0.5], [-0.05, 0.05]), ([2, 3], [0.9, 0.2], [-0.5, 0.5])]
    {
        let joint = scene.hinge(bodies[pair[0]], Some(bodies[pair[1]]), G::at(anchor[0], anchor[1]));
        scene.model.joints[joint].limits = Some(limits);
    }
    compare("arch that sags onto its limits", scene, 1e-3);
}
in_both_spaces!(an_arch_that_sags);

/// A driven arm: a motor with a largest torque, a position motor, dry friction in the last joint.
fn a_driven_arm<G: Stage>() {
    let mut scene = Scene::<G>::new(0.005);
    let mut last = None;
    for link in 0..3 {
        let x = 0.3 * f64::from(link);
        let body = scene.particle(0.3, G::inertia_from_moments(&[2e-3, 3e-3, 3e-3]), pose(x + 0.15, 0.0, 0.0));
        let joint = scene.hinge(body, last, G::at(x, 0.0));
        match link {
            0 => scene.model.joints[joint].motor = Some(Motor::Velocity { velocity: 2.0, max: 3.0 }),
            1 => scene.model.joints[joint].motor = Some(Motor::Position { position: 0.5, stiffness: 40.0, damping: 2.0, max: 10.0 }),
            _ => scene.model.joints[joint].friction = 0.05,
        }
        last = Some(body);
    }
    compare("driven arm", scene, 0.3);
}
in_both_spaces!(a_driven_arm);

/// Balls on ball joints that roll and slide apart in all directions.
#[test]
fn a_spatial_string_that_slides() {
    let mut scene = row::<Spatial>(5, 0.2, JointKind::Ball);
    for body in 1..6 {
        let side = if body % 2 == 0 { 0.2 } else { -0.1 };
        scene.moving(body, Spatial::deep(0.8, side, 0.0), Spatial::rates(0.0, 0.0, 0.0));
    }
    compare("string of balls that slides", scene, 0.1);
}
