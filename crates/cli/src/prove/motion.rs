//! Promises about joints, free motion and determinism.

use super::Finding;
use super::lab::{body, embedded, planar, spatial, step, steps};
use carom::dynamics::{Snapshot, World};
use carom::geometry::Geometry;
use carom::math::{Planar, Space, Spatial, Vector};

/// Largest opening of a joint [m].
const CLOSED: f64 = 1e-9;
/// Largest drift of the energy, as a fraction of what was exchanged between kinetic and potential.
const KEPT: f64 = 1e-4;
/// Largest error of the time of the flip [s].
const ON_TIME: f64 = 1e-6;
/// Largest relative change of what `energy-momentum` keeps.
const EXACT: f64 = 1e-10;
/// Length of a link [m], links of the released chain and of the one adrift, step [s] and steps of their runs, gravity [m/s^2].
const LINK: f64 = 0.1;
const CHAIN_LINKS: usize = 10;
const ADRIFT_LINKS: usize = 5;
const CHAIN_STEP: f64 = 1.0 / 240.0;
const CHAIN_STEPS: usize = 2400;
const GRAVITY: f64 = 9.81;
/// Velocity [m/s] and spin [rad/s] of the chain adrift, and the swing of its first link [rad/s].
const DRIFT: [f64; 3] = [0.1, 0.3, -0.2];
const SPIN: [f64; 3] = [1.0, 2.0, 3.0];
const SWING: f64 = 5.0;
/// Least angle between two links adrift [rad] for their hinge to have been tested.
const LEAST_BEND: f64 = 0.01;
/// Least turn of the crank [rad] for the loop to have been tested.
const TURNED: f64 = 1.0;

/// The first flip of a top with inertia (1, 2, 3) kg m^2 set spinning at (0, 4, 0.01) rad/s: when the rate about its middle axis
/// crosses zero [s]. From Euler's equations in the body frame, Runge-Kutta of order 4 with steps of 0.25 ms; the rates it passes
/// through agree with an independent reference to 1e-11.
const FLIP: f64 = 2.956_794_951;
/// The rates of that top 3 s after the start, in its own axes [rad/s], from that reference.
const RATE_AFTER_3_S: [f64; 3] = [-3.980_170_677_002_581_8, -0.397_795_653_481_546_8, 2.297_974_370_184_256_5];
/// Step of the top [s], and the steps in 3 s.
const TOP_STEP: f64 = 0.000_5;
const TOP_STEPS: usize = 6000;
/// Largest error of those rates [rad/s].
const RATE: f64 = 1e-5;

/// The worst joint error over the run of the embedded linkage.
pub fn four_bar() -> Result<Finding, String> {
    let (mut world, count) = embedded("four_bar")?;
    let crank = body(&world, "crank")?;
    let start = world.state().poses[crank].rotation.angle;
    let mut worst: f64 = 0.0;
    for _ in 0..count {
        step(&mut world)?;
        worst = worst.max(world.joint_error());
    }
    let turned = (world.state().poses[crank].rotation.angle - start).abs();
    Ok(Finding::below("opening [m]", CLOSED, worst).with(format!("over {turned:.1} rad")).and(turned > TURNED, "the crank did not turn"))
}

/// The drift of the ledger, as a fraction of the energy exchanged, at its worst over the run.
pub fn pendulum() -> Result<Finding, String> {
    let (mut world, count) = embedded("double_pendulum")?;
    let (mut worst, mut exchanged): (f64, f64) = (0.0, 0.0);
    for _ in 0..count {
        step(&mut world)?;
        let ledger = world.ledger();
        worst = worst.max(ledger.drift.abs());
        exchanged = ledger.exchanged;
    }
    Ok(Finding::below("drift of the energy exchanged", KEPT, worst / exchanged)
        .with(format!("over {:.0} s", world.state().time))
        .and(exchanged > 0.0, "it did not swing"))
}

/// A text of links of 0.1 m and 0.1 kg, hinged in a row along x.
fn links(dimension: usize, count: usize, anchored: bool) -> String {
    let mut text = String::new();
    let rest = if dimension == 2 { "0" } else { "0, 0" };
    let (axis, inertia) = if dimension == 2 { ("", "8.333e-5") } else { ("axis = [0, 1, 0]", "[2e-5, 8.333e-5, 8.333e-5]") };
    for i in 0..count {
        let x = LINK * i as f64;
        text += &format!("[[body]]\nname = \"link{i}\"\nmass = 0.1\ninertia = {inertia}\nposition = [{}, {rest}]\n", x + 0.5 * LINK);
        let before = if i == 0 { "world".to_string() } else { format!("link{}", i - 1) };
        if i > 0 || anchored {
            text += &format!("[[joint]]\nkind = \"hinge\"\nbetween = [\"link{i}\", \"{before}\"]\nanchor = [{x}, {rest}]\n{axis}\n");
        }
    }
    text
}

/// Ten links released level for 10 s at 1/240 s: the largest change of energy, over the energy between the level and the hanging chain.
pub fn chain() -> Result<Finding, String> {
    let text = format!("dimension = 2\nstep = {CHAIN_STEP}\nintegrator = \"energy-momentum\"\n{}", links(2, CHAIN_LINKS, true));
    let mut world = planar(&text)?;
    let level: f64 = world.model().bodies.iter().zip(&world.state().poses).map(|(b, p)| b.mass * GRAVITY * p.position.x).sum();
    let (mut worst, mut gap, mut broken): (f64, f64, f64) = (0.0, 0.0, 0.0);
    for _ in 0..CHAIN_STEPS {
        step(&mut world)?;
        let (kinetic, potential, _) = world.energies();
        worst = worst.max((kinetic + potential).abs() / level);
        gap = gap.max(world.joint_error());
        broken = broken.max((kinetic - world.projected_kinetic()) / level);
    }
    Ok(Finding::below("energy changes by", EXACT, worst)
        .with(format!("over 10 s; joints open {gap:.0e} m; at most {broken:.0e} of it breaks the joints"))
        .and(gap <= CLOSED, "the joints opened"))
}

/// Five links in space without gravity, turning, the first of them swinging: the largest relative change of energy, momentum and angular momentum.
pub fn adrift() -> Result<Finding, String> {
    let head = format!("dimension = 3\ngravity = [0, 0, 0]\nstep = {CHAIN_STEP}\nintegrator = \"energy-momentum\"\n");
    let mut world = spatial(&format!("{head}{}", links(3, ADRIFT_LINKS, false)))?;
    // As one rigid body, but for the first link, which swings about its hinge as well.
    let mut state = world.state().clone();
    let vector = <Spatial as Space>::Lin::from_slice;
    let hinge = vector(&[LINK, 0.0, 0.0]);
    for (index, (pose, twist)) in state.poses.iter().zip(&mut state.twists).enumerate() {
        let swing = vector(&[0.0, if index == 0 { SWING } else { 0.0 }, 0.0]);
        let spin = vector(&SPIN);
        twist.lin = vector(&DRIFT) + Spatial::spin(spin, pose.position) + Spatial::spin(swing, pose.position - hinge);
        twist.ang = spin + swing;
    }
    world.set_state(state).map_err(|error| error.to_string())?;
    let start = world.ledger();
    let change = |now: &[f64], then: &[f64]| {
        let size = then.iter().map(|x| x * x).sum::<f64>().sqrt();
        now.iter().zip(then).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt() / size
    };
    let mut worst = [0.0f64; 3];
    for _ in 0..CHAIN_STEPS {
        step(&mut world)?;
        let now = world.ledger();
        let found = [
            (now.kinetic / start.kinetic - 1.0).abs(),
            change(&now.momentum, &start.momentum),
            change(&now.angular_momentum, &start.angular_momentum),
        ];
        worst.iter_mut().zip(found).for_each(|(w, f)| *w = w.max(f));
    }
    let [energy, momentum, angular] = worst;
    let largest = energy.max(momentum).max(angular);
    let turned = world.state().poses[0].rotation.angle_to(&world.state().poses[1].rotation);
    Ok(Finding::below("largest change", EXACT, largest)
        .with(format!("(energy {energy:.0e}, momentum {momentum:.0e}, angular momentum {angular:.0e})"))
        .and(turned > LEAST_BEND, "the mechanism did not bend"))
}

/// The time of the first flip and the rates after it.
pub fn top() -> Result<Finding, String> {
    let mut world = spatial(&format!(
        r#"
        dimension = 3
        gravity = [0, 0, 0]
        step = {TOP_STEP}
        [[body]]
        name = "top"
        mass = 1
        inertia = [1, 2, 3]
        spin = [0, 4, 0.01]
        "#
    ))?;
    let rate = |world: &World<carom::math::Spatial>| world.state().poses[0].rotation.inverse() * world.state().twists[0].ang;
    let (mut last, mut flip) = (rate(&world), None);
    for _ in 0..TOP_STEPS {
        step(&mut world)?;
        let now = rate(&world);
        if flip.is_none() && now.y <= 0.0 {
            // The rate runs almost straight through zero; the chord finds it to the square of the step.
            flip = Some(world.state().time - TOP_STEP * now.y / (now.y - last.y));
        }
        last = now;
    }
    let error = RATE_AFTER_3_S.iter().zip(last.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let flip = flip.ok_or("it never flipped")?;
    Ok(Finding::near("s", FLIP, flip, ON_TIME)
        .with(format!("s; rates after it off by {error:.0e}"))
        .and(error <= RATE, "the rates after it are off"))
}

fn end(name: &str) -> Result<World<Planar>, String> {
    let (mut world, count) = embedded(name)?;
    steps(&mut world, count)?;
    Ok(world)
}

/// Two runs of the break with friction and losses.
pub fn hash() -> Result<Finding, String> {
    let (first, second) = (end("pool_break_real")?, end("pool_break_real")?);
    let (first, second) = (first.state().hash(), second.state().hash());
    let (start, _) = embedded("pool_break_real")?;
    let moved = start.state().hash() != first;
    Ok(Finding { expected: first.clone(), pass: first == second, measured: second }.and(moved, "nothing moved"))
}

/// A wall that a ball on a rope knocks over, stopped halfway, written to bytes, read into another world and finished.
pub fn resume() -> Result<Finding, String> {
    const SCENE: &str = "wrecking_ball";
    let whole = end(SCENE)?.state().hash();
    let (mut first, count) = embedded(SCENE)?;
    let half = count / 2;
    steps(&mut first, half)?;
    let (mut second, _) = embedded(SCENE)?;
    carry(&first, &mut second)?;
    steps(&mut second, count - half)?;
    let resumed = second.state().hash();
    Ok(Finding { expected: whole.clone(), pass: whole == resumed, measured: resumed })
}

fn carry<G: Geometry>(from: &World<G>, to: &mut World<G>) -> Result<(), String> {
    let snapshot = Snapshot::<G>::from_bytes(&from.snapshot().to_bytes()).map_err(|error| error.to_string())?;
    to.restore(&snapshot).map_err(|error| error.to_string())
}
