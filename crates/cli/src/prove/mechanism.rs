//! Promises about mechanisms: loops, chains, hubs and a walk.

use super::Finding;
use super::lab::{body, embedded_at, step};
use carom::dynamics::World;
use carom::math::Planar;

/// Largest opening of a joint [m].
const CLOSED: f64 = 1e-10;
/// A large step [s]: sixty pictures a second.
const FRAME: f64 = 1.0 / 60.0;
/// How long the Strandbeest walks [s], and how far it must come [m].
const WALK: f64 = 60.0;
const FAR: f64 = 10.0;
/// Largest tilt of its frame [rad].
const UPRIGHT: f64 = 0.1;
/// The step of the loops and of one run of the chains [s], and how long they run [s].
const QUARTER_FRAME: f64 = 1.0 / 240.0;
const LOOPS: f64 = 10.0;
/// The fine step of the chains [s].
const FINE: f64 = 1e-3;
/// Largest change of a chain's energy, as a fraction of what it can fall through: half its weight times its length.
const CHAIN_ENERGY: f64 = 0.05;
/// Largest error of the energy of the ten legs at the end, less the work of the torque [J]; the torque does 149 J.
const LOOPS_ENERGY: f64 = 0.1;
/// How long the hub spins [s].
const SPIN: f64 = 1.0;
/// Largest error of its energy as a fraction of the energy exchanged.
const HUB_ENERGY: f64 = 1e-3;

/// What a run of a mechanism showed.
struct Seen {
    /// Worst joint error [m or rad].
    gap: f64,
    /// Worst error of the energy, less the work put in [J], and that at the end.
    worst: f64,
    end: f64,
    /// A step did not converge.
    unconverged: bool,
}

/// Runs a world for a time [s]; `look` sees it after every step.
fn watch(world: &mut World<Planar>, seconds: f64, mut look: impl FnMut(&World<Planar>)) -> Result<Seen, String> {
    let total = |world: &World<Planar>| {
        let (kinetic, potential, elastic) = world.energies();
        kinetic + potential + elastic
    };
    let start = total(world);
    let mut seen = Seen { gap: 0.0, worst: 0.0, end: 0.0, unconverged: false };
    for _ in 0..(seconds / world.model().step).round() as usize {
        seen.unconverged |= step(world)?.unconverged;
        seen.gap = seen.gap.max(world.joint_error());
        seen.end = (total(world) - start - world.ledger().flow.work_in).abs();
        seen.worst = seen.worst.max(seen.end);
        look(world);
    }
    Ok(seen)
}

/// A walk of a minute at sixty steps a second.
pub fn strandbeest() -> Result<Finding, String> {
    let mut world = embedded_at("strandbeest", FRAME)?;
    let frame = body(&world, "frame")?;
    let start = world.state().poses[frame].position.x;
    let mut tilt: f64 = 0.0;
    let seen = watch(&mut world, WALK, |world| tilt = tilt.max(world.state().poses[frame].rotation.angle.abs()))?;
    let walked = world.state().poses[frame].position.x - start;
    Ok(Finding::below(&format!("{FAR} m in {WALK} s; opening [m]"), CLOSED, seen.gap)
        .with(format!("over {walked:.1} m in {WALK} s"))
        .and(walked >= FAR, "it did not come far enough")
        .and(tilt < UPRIGHT, "it tipped over")
        .and(!seen.unconverged, "a step did not converge"))
}

/// Ten loops that share a crank.
pub fn loops() -> Result<Finding, String> {
    let mut world = embedded_at("ten_legs", QUARTER_FRAME)?;
    let seen = watch(&mut world, LOOPS, |_| {})?;
    let work = world.ledger().flow.work_in;
    Ok(Finding::below("opening [m]", CLOSED, seen.gap)
        .with(format!("energy off by {:.0e} J after {work:.0} J of work", seen.end))
        .and(seen.end < LOOPS_ENERGY, "the energy drifted")
        .and(!seen.unconverged, "a step did not converge"))
}

/// Chains of ten and of a hundred links at two steps.
pub fn chain() -> Result<Finding, String> {
    let (mut share, mut gap): (f64, f64) = (0.0, 0.0);
    let mut notes = Vec::new();
    for (name, links) in [("chain_10", "10"), ("chain_100", "100")] {
        for (h, word) in [(FINE, "1 ms"), (QUARTER_FRAME, "1/240 s")] {
            let mut world = embedded_at(name, h)?;
            let falls = 0.5 * weight(&world) * length(&world);
            let seen = watch(&mut world, LOOPS, |_| {})?;
            notes.push(format!("{links} at {word}: {:.0e}", seen.worst / falls));
            share = share.max(seen.worst / falls);
            gap = gap.max(seen.gap);
        }
    }
    Ok(Finding::below("energy error / (M g L/2)", CHAIN_ENERGY, share)
        .with(format!("({})", notes.join(", ")))
        .and(gap < CLOSED, "a joint opened"))
}

/// A body with two hundred and one joints.
pub fn hub() -> Result<Finding, String> {
    let mut world = embedded_at("hub_200", FRAME)?;
    let seen = watch(&mut world, SPIN, |_| {})?;
    let share = seen.worst / world.ledger().exchanged;
    Ok(Finding::below("opening [m]", CLOSED, seen.gap)
        .with(format!("energy off by {share:.0e}"))
        .and(share < HUB_ENERGY, "the energy drifted")
        .and(!seen.unconverged, "a step did not converge"))
}

/// Weight of all bodies [N].
fn weight(world: &World<Planar>) -> f64 {
    world.model().bodies.iter().map(|body| body.mass).sum::<f64>() * world.model().gravity.norm()
}

/// Length of a chain along x at the start [m]: its links lie end to end, so twice the mean distance of their centres from the hook.
fn length(world: &World<Planar>) -> f64 {
    let poses = &world.state().poses;
    2.0 * poses.iter().map(|pose| pose.position.x).sum::<f64>() / poses.len() as f64
}
