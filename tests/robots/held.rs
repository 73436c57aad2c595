//! What robots hold, and what holds them: a gripper with a mimic finger, a quadruped on servos.

use crate::machines::space;
use carom_dynamics::World;
use carom_math::{Spatial, Vector};
use std::time::Instant;

fn embedded(name: &str) -> World<Spatial> {
    space(carom_scene::scene(name).expect("an embedded scene").text)
}

/// Steps up to a time; nothing may be rough or put off.
fn run_to(world: &mut World<Spatial>, time: f64) {
    while world.state().time < time - 1e-9 {
        let report = world.step().unwrap_or_else(|e| panic!("{e}"));
        assert!(!report.inaccurate && report.stepped == 0, "at {} s: {report:?}", world.state().time);
    }
}

#[test]
fn a_mimic_gripper_holds_a_block_without_slip() {
    let mut world = embedded("mimic_gripper");
    let clock = Instant::now();
    let body = |world: &World<Spatial>, name: &str| world.model().bodies.iter().position(|body| body.name == name).expect("a body");
    let [block, palm, left, right] = ["block", "palm", "left", "right"].map(|name| body(&world, name));
    let hanging = |world: &World<Spatial>| {
        let poses = &world.state().poses;
        poses[palm].local_point(poses[block].position)
    };
    run_to(&mut world, 2.0);
    let (before, height) = (hanging(&world), world.state().poses[block].position[2]);
    run_to(&mut world, 12.0);
    let (after, wall) = (hanging(&world), clock.elapsed().as_secs_f64());
    println!("slip {:.1e} m in 10 s, {:.1} times real time by the clock", (after - before).norm(), 12.0 / wall);
    assert!(height > 0.2 && world.state().poses[block].position[2] > 0.32, "lifted to {}", world.state().poses[block].position[2]);
    assert!((after - before).norm() < 1e-9, "it slipped from {before:?} to {after:?}");
    assert!(wall < 12.0, "slower than real time: {wall} s");
    // Each finger presses with half of the motor's force, and they carry the block.
    let forces = [left, right].map(|finger| world.contact_force(block, Some(finger)));
    assert!((forces[0].lin[0] - 25.0).abs() < 1e-6 && (forces[1].lin[0] + 25.0).abs() < 1e-6, "{forces:?}");
    assert!((forces[0].lin[2] + forces[1].lin[2] - 9.81).abs() < 1e-3, "{forces:?}");
    let q = world.joint_q();
    let names = world.joint_names();
    let at = |name: &str| q[names.iter().position(|known| known == name).expect("a coordinate")];
    assert!((at("left_slide") - at("right_slide")).abs() < 1e-11, "{q:?}");
}

#[test]
fn a_held_quadruped_stands_is_pushed_and_stands_again() {
    let mut world = embedded("quadruped");
    let torso = world.model().bodies.iter().position(|body| body.name == "torso").expect("a torso");
    run_to(&mut world, 5.0);
    let standing = world.state().poses[torso];
    run_to(&mut world, 10.0);
    let still = (world.state().poses[torso].position - standing.position).norm();
    // The push bends its legs, and it comes back to where it stood.
    run_to(&mut world, 10.2);
    let pushed = (world.state().poses[torso].position - standing.position).norm();
    run_to(&mut world, 14.0);
    let back = (world.state().poses[torso].position - standing.position).norm();
    let speed = world.state().twists.iter().fold(0.0f64, |most, twist| most.max(twist.lin.norm()));
    println!("moved {still:.1e} m in 5 s, pushed by {pushed:.1e} m, {back:.1e} m off after 4 s at {speed:.1e} m/s");
    assert!(still < 1e-6 && pushed > 5e-3 && back < 1e-4 && speed < 1e-4, "{still} {pushed} {back} {speed}");
    let ground = world.model().bodies.iter().position(|body| body.name == "ground").expect("a ground");
    let carried = world.contact_force(ground, None).lin[2];
    assert!((carried + 12.8 * 9.81).abs() < 1e-3, "{carried}");
}
