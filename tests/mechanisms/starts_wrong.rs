//! States that start wrong: joints and ropes beyond their limits, bodies that overlap. They are put right before anything moves, theory (2.36).

use crate::lab::FRAME;
use carom_dynamics::error::Cause;
use carom_dynamics::gradient::{Cotangents, Tape};
use carom_dynamics::options::Integrator;
use carom_dynamics::{BodyKind, Fault, World};
use carom_geometry::Geometry;
use carom_math::{Planar, Space, Spatial};
use carom_scene::{Scene, from_toml};
use carom_tests::holds;

/// How far a limit may be passed after the first step [rad or m].
const HELD: f64 = 1e-9;

fn planar(text: &str) -> World<Planar> {
    match from_toml(text, "wrong") {
        Ok(Scene::Planar(scene)) => World::new(scene.model, scene.state).unwrap(),
        Ok(_) => panic!("a planar scene"),
        Err(error) => panic!("{error}"),
    }
}

fn spatial(text: &str) -> World<Spatial> {
    match from_toml(text, "wrong") {
        Ok(Scene::Spatial(scene)) => World::new(scene.model, scene.state).unwrap(),
        Ok(_) => panic!("a spatial scene"),
        Err(error) => panic!("{error}"),
    }
}

/// How far any limit or rope is passed [rad or m].
fn passed<G: Geometry>(world: &World<G>) -> f64 {
    let mut worst = 0.0f64;
    for joint in &world.model().joints {
        let pose = |side: usize| joint.bodies[side].map_or_else(carom_math::Pose::identity, |b| world.state().poses[b]);
        for index in 0..joint.inequality_count() {
            worst = worst.max(-joint.inequality(index, &pose(0), &pose(1)).0);
        }
    }
    worst
}

/// Total linear momentum.
fn momentum<G: Geometry>(world: &World<G>) -> Vec<f64> {
    world.ledger().momentum
}

/// Takes a first step of a state that starts wrong and says what came of it: the rows hold, the books balance, the report and the derivative say so.
fn put_right<G: Geometry>(name: &str, world: &mut World<G>, faults: usize) {
    let start = world.ledger();
    let energy = start.kinetic + start.potential + start.elastic;
    let foreseen = world.foreseen_placement().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(foreseen.faults.len(), faults, "{name}: {:?}", world.notes());
    assert_eq!(world.notes().len(), faults + 1, "{name}: {:?}", world.notes());
    let rollout = world.rollout(1, &[], Tape::Full).unwrap();
    assert!(rollout.backward(&Cotangents::default()).unwrap().switches[0].projected > 0, "{name}: the derivative says so");
    let before = momentum(world);
    let gravity = world.model().gravity;
    let report = world.step().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(report.placed, "{name}: the report says so");
    assert_eq!(world.placement(), &foreseen, "{name}: what was foreseen was done");
    let mut good = holds(&format!("{name}: limits passed after the first step"), passed(world), HELD);
    good &= holds(&format!("{name}: joint error after it"), world.joint_error(), 1e-9);
    good &= holds(&format!("{name}: overlap after it [m]"), -world.deepest(), 1.1e-6);
    let ledger = world.ledger();
    let gained = ledger.kinetic + ledger.potential + ledger.elastic - energy;
    good &= holds(&format!("{name}: drift of the books [J]"), ledger.drift.abs(), 1e-3 * (1e-3 + ledger.exchanged));
    // All energy that came in is on the line of the projection.
    good &= holds(&format!("{name}: energy beyond what is booked [J]"), gained - ledger.flow.projection, 1e-3 * (1e-3 + ledger.exchanged));
    // What hangs and stands nowhere keeps its momentum but for its weight.
    let bodies = &world.model().bodies;
    if bodies.iter().all(|body| body.kind == BodyKind::Dynamic) {
        let mass: f64 = bodies.iter().map(|body| body.mass).sum();
        for axis in 0..G::DIM {
            let fell = before[axis] + mass * gravity[axis] * world.model().step;
            let off = (momentum(world)[axis] - fell).abs();
            good &= holds(&format!("{name}: momentum along {axis}"), off, 1e-9 * (1.0 + fell.abs()));
        }
    }
    assert!(good, "{name}");
    // It is the start that was wrong; what follows is a motion like any other.
    let report = world.step().unwrap();
    assert!(!report.placed && !report.projected, "{name}: {report:?}");
    assert_eq!(world.notes().len(), faults + 1, "{name} remembers what was put right");
}

/// Two links, the second joined to the first; what follows the joint's name is the joint.
fn links(dimension: usize, joint: &str, velocity: &str) -> String {
    let (at, size, axis) = match dimension {
        2 => (["[0, 1]", "[1, 1]"], "[1, 0.1]", ""),
        _ => (["[0, 0, 1]", "[1, 0, 1]"], "[1, 0.1, 0.16]", "axis = [0, 1, 0]"),
    };
    let axis = if joint.contains("hinge") { axis } else { "" };
    format!(
        "dimension = {dimension}\nstep = 0.004\n[[body]]\nname = \"thigh\"\nshape = {{ box = {size} }}\nposition = {}\n{velocity}\n\
         [[body]]\nname = \"shin\"\nshape = {{ box = {size} }}\nposition = {}\n{velocity}\n[[joint]]\nname = \"knee\"\n\
         between = [\"thigh\", \"shin\"]\n{joint}\n{axis}\n",
        at[0], at[1]
    )
}

#[test]
fn a_hinge_beyond_its_limits_is_turned_within_them() {
    for [limits, low, high] in [["[0.5, 1.2]", "0.5", "1.2"], ["[-1.2, -0.5]", "-1.2", "-0.5"], ["[2.0, 2.5]", "2", "2.5"]] {
        let mut world = planar(&links(2, &format!("kind = \"hinge\"\nanchor = [0.5, 1]\nlimits = {limits}"), "velocity = [1, 0.5]"));
        let notes = world.notes();
        assert!(notes[0].contains("\"knee\" at 0 rad") && notes[0].contains(&format!("[{low}, {high}]")), "{notes:?}");
        put_right(&format!("planar hinge at 0, {limits}"), &mut world, 1);
        let hinge = format!("kind = \"hinge\"\nanchor = [0.5, 0, 1]\nlimits = {limits}");
        let mut world = spatial(&links(3, &hinge, "velocity = [1, 0.5, 0]"));
        put_right(&format!("spatial hinge at 0, {limits}"), &mut world, 1);
    }
}

#[test]
fn a_slider_beyond_its_limits_slides_within_them() {
    for limits in ["[0.3, 0.6]", "[-0.6, -0.2]"] {
        let slider = format!("kind = \"slider\"\nanchor = [0.5, 1]\naxis = [1, 0]\nlimits = {limits}");
        put_right(&format!("planar slider at 0, {limits}"), &mut planar(&links(2, &slider, "")), 1);
        let slider = format!("kind = \"slider\"\nanchor = [0.5, 0, 1]\naxis = [1, 0.2, 0.1]\nlimits = {limits}");
        put_right(&format!("spatial slider at 0, {limits}"), &mut spatial(&links(3, &slider, "spin = [0.1, 0, 0.3]")), 1);
    }
}

#[test]
fn a_stretched_rope_and_a_long_rod_are_drawn_together() {
    let ends = ["anchors = [[-0.5, 1], [1.5, 1]]", "anchors = [[-0.5, 0, 1], [1.5, 0, 1.05]]"];
    for (kind, faults) in [("rope", 1), ("distance", 1)] {
        let joint = |place: &str| format!("kind = \"{kind}\"\n{place}\nlength = 1.7\ncollide = false");
        put_right(&format!("planar {kind} of 2 m, 1.7 m long"), &mut planar(&links(2, &joint(ends[0]), "")), faults);
        put_right(&format!("spatial {kind} of 2 m, 1.7 m long"), &mut spatial(&links(3, &joint(ends[1]), "spin = [0, 0.2, 0]")), faults);
    }
}

#[test]
fn near_half_a_turn_the_other_way_is_named() {
    let near = spatial(&links(3, "kind = \"hinge\"\nanchor = [0.5, 0, 1]\nlimits = [3.0, 3.2]", ""));
    let Fault::Limit { either, .. } = near.foreseen_placement().unwrap().faults[0] else { panic!("a limit") };
    assert!(either && near.notes()[0].contains("other way round"), "{:?}", near.notes());
    let far = spatial(&links(3, "kind = \"hinge\"\nanchor = [0.5, 0, 1]\nlimits = [0.5, 1.2]", ""));
    let Fault::Limit { either, .. } = far.foreseen_placement().unwrap().faults[0] else { panic!("a limit") };
    assert!(!either);
}

#[test]
fn a_limit_that_cannot_be_met_is_an_error_with_its_name() {
    // Welded besides: no motion of the links brings the hinge anywhere.
    let text = links(2, "kind = \"hinge\"\nanchor = [0.5, 1]\nlimits = [0.5, 1.2]", "")
        + "[[joint]]\nname = \"splint\"\nkind = \"weld\"\nbetween = [\"thigh\", \"shin\"]\n";
    let mut world = planar(&text);
    let error = world.step().expect_err("nothing bends the knee");
    assert!(matches!(&error.cause, Cause::LimitPassed { joint, beyond } if joint == "knee" && *beyond > 0.4), "{error}");
    assert!(world.foreseen_placement().is_err() && world.notes()[0].contains("knee"));
}

/// Bodies in a bin, each overlapping the next by a tenth.
fn bin(dimension: usize, shape: &str, gap: f64, count: usize) -> String {
    let mut text = format!("dimension = {dimension}\nstep = 0.004\n");
    let walls: &[(&str, &str)] = match dimension {
        2 => &[("[0, -0.5]", "[2, 1]"), ("[-0.6, 1]", "[0.2, 2]"), ("[0.6, 1]", "[0.2, 2]")],
        _ => &[("[0, 0, -0.5]", "[2, 2, 1]"), ("[-0.6, 0, 1]", "[0.2, 2, 2]"), ("[0.6, 0, 1]", "[0.2, 2, 2]")],
    };
    for (index, (position, size)) in walls.iter().enumerate() {
        text += &format!("[[body]]\nname = \"wall {index}\"\nkind = \"static\"\nshape = {{ box = {size} }}\nposition = {position}\n");
    }
    for index in 0..count {
        let (x, up) = (0.03 * (index % 3) as f64, gap * (index as f64 + 0.5));
        let position = if dimension == 2 { format!("[{x}, {up}]") } else { format!("[{x}, 0, {up}]") };
        text += &format!("[[body]]\nname = \"part {index}\"\nshape = {shape}\nposition = {position}\nrestitution = 0\n");
    }
    text
}

#[test]
fn overlapping_bodies_are_moved_apart() {
    // The lowest overlaps the floor as well: half as much as two bodies do.
    put_right("planar balls", &mut planar(&bin(2, "{ ball = 0.1 }", 0.18, 6)), 6);
    put_right("planar boxes", &mut planar(&bin(2, "{ box = [0.2, 0.2] }", 0.18, 6)), 6);
    put_right("spatial balls", &mut spatial(&bin(3, "{ ball = 0.1 }", 0.18, 6)), 6);
    put_right("spatial boxes", &mut spatial(&bin(3, "{ box = [0.2, 0.2, 0.2] }", 0.18, 6)), 6);
}

/// Two thousand boxes of a wall, each a little in the next: their rows are solved over bodies (a matrix of all of them would take gigabytes), and only the
/// first faults are named.
#[test]
fn a_wall_of_overlapping_boxes_is_moved_apart() {
    let text = "dimension = 2\ngravity = [0, 0]\n[[repeat]]\ncount = [40, 50]\noffset = [[0.199, 0.003], [0.1, 0.2]]\n\
                body = { name = \"b\", shape = { box = [0.2, 0.2] }, velocity = [1, 0.5], restitution = 0 }\n";
    let mut world = planar(text);
    let before = momentum(&world);
    let report = world.step().unwrap_or_else(|error| panic!("{error}"));
    assert!(report.placed);
    let faults = world.placement().faults.len();
    assert!(faults > 2000, "{faults} faults");
    let notes = world.notes();
    assert!(notes.len() < 30 && notes.iter().any(|note| note.starts_with(&format!("{} more", faults - 20))), "{notes:?}");
    assert!(holds("wall of 2000: overlap after the first step [m]", -world.deepest(), 2.1e-7));
    // 80 tonnes that fly with one velocity keep it.
    let changed = momentum(&world).iter().zip(&before).fold(0.0f64, |m, (after, before)| m.max((after - before).abs()));
    assert!(before[0] > 7e4 && holds("wall of 2000: change of the momentum, relative", changed / before[0], 1e-9));
}

#[test]
fn a_pair_in_the_void_keeps_its_momentum() {
    let text = "dimension = 2\ngravity = [0, 0]\n[[body]]\nname = \"a\"\nshape = { ball = 0.1 }\nvelocity = [1, 2]\n\
                [[body]]\nname = \"b\"\nshape = { box = [0.2, 0.1] }\nposition = [0.15, 0.05]\nspin = 3\nvelocity = [1, 2]\n";
    put_right("a circle in a box", &mut planar(text), 1);
}

#[test]
fn a_state_set_in_mid_run_is_put_right_as_well() {
    for integrator in [Integrator::Verlet, Integrator::Euler, Integrator::EnergyMomentum] {
        let text = links(3, "kind = \"hinge\"\nanchor = [0.5, 0, 1]\nlimits = [-0.4, 0.4]", "spin = [0, 0.1, 0]");
        let mut world = spatial(&text);
        let mut model = world.model().clone();
        (model.step, model.options.integrator) = (FRAME, integrator);
        world = World::new(model, world.state().clone()).unwrap();
        assert!(world.notes().is_empty());
        for _ in 0..5 {
            world.step().unwrap();
        }
        let mut state = world.state().clone();
        let (pivot, shin) = (state.poses[0].point([0.5, 0.0, 0.0].into()), &mut state.poses[1]);
        let turn = carom_math::Pose::<Spatial> { position: pivot, rotation: Spatial::exp([0.0, 1.1, 0.0].into()) };
        let out = shin.position - pivot;
        *shin = carom_math::Pose { position: pivot + turn.direction(out), rotation: turn.rotation * shin.rotation };
        world.set_state(state).unwrap();
        let booked = world.ledger().flow.projection;
        let report = world.step().unwrap();
        assert!(report.placed, "{integrator:?}: {report:?}");
        assert!(matches!(world.placement().faults[..], [Fault::Limit { joint: 0, beyond, .. }] if beyond > 0.6), "{:?}", world.notes());
        assert!((world.ledger().flow.projection - booked - world.placement().energy).abs() < 1e-6);
        assert!(holds(&format!("a knee set beyond its limit under {integrator:?}"), passed(&world), HELD));
    }
}

#[test]
fn a_run_resumed_before_its_first_step_is_put_right_all_the_same() {
    let text = bin(2, "{ box = [0.2, 0.2] }", 0.18, 6);
    let mut world = planar(&text);
    let snapshot = world.snapshot();
    let bytes = snapshot.to_bytes();
    let mut other = planar(&text);
    other.step().unwrap();
    other.restore(&carom_dynamics::Snapshot::from_bytes(&bytes).unwrap()).unwrap();
    for _ in 0..20 {
        world.step().unwrap();
        other.step().unwrap();
    }
    assert_eq!(world.state().hash(), other.state().hash());
    let (start, mut third) = (world.snapshot(), planar(&text));
    third.restore(&start).unwrap();
    assert!(!third.step().unwrap().placed, "what has moved is not fresh");
}
