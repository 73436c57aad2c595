//! Promises about derivatives.

use super::Finding;
use super::lab::{body, embedded, planar};
use carom::dynamics::World;
use carom::dynamics::gradient::{Cotangents, Gradient, Names, Parameters, Tape};
use carom::math::{Planar, Space};
use carom_fit::variable::{Start, Variable};

/// Largest error of a derivative with a closed form.
const EXACT: f64 = 1e-9;
/// Largest error of the gradient of the two balls: two moves and one exchange.
const SWAPPED: f64 = 1e-12;

/// Gradient of weights of one body's (x, y, angle) and (vx, vy, spin) at the end of a run.
fn gradient(world: &World<Planar>, steps: usize, of: usize, pose: [f64; 3], twist: impl Fn(f64) -> [f64; 3]) -> Result<Gradient, String> {
    let rollout = world.rollout(steps, &[], Tape::Full).map_err(|error| error.to_string())?;
    let speed = rollout.end().state().twists[of].lin.y;
    let size = world.model().bodies.len() * Planar::DOF;
    let mut bar = Cotangents { poses: vec![0.0; size], twists: vec![0.0; size] };
    bar.poses[of * Planar::DOF..(of + 1) * Planar::DOF].copy_from_slice(&pose);
    bar.twists[of * Planar::DOF..(of + 1) * Planar::DOF].copy_from_slice(&twist(speed));
    rollout.backward(&bar).map_err(|error| error.to_string())
}

/// Ball 1 goes on along the line of ball 0, a diameter ahead: its place depends on ball 0 alone.
pub fn two_balls() -> Result<Finding, String> {
    let world = planar(
        r#"
        dimension = 2
        gravity = [0, 0]
        step = 0.01
        [[body]]
        shape = { ball = 0.1 }
        mass = 1
        velocity = [1, 0]
        restitution = 1
        friction = 0
        [[body]]
        shape = { ball = 0.1 }
        mass = 1
        position = [0.7031, 0]
        restitution = 1
        friction = 0
        "#,
    )?;
    let found = gradient(&world, 100, 1, [1.0, 0.0, 0.0], |_| [0.0; 3])?;
    let found = [found.poses[0], found.poses[3], found.twists[0], found.twists[3]];
    let worst = found.iter().zip([1.0, 0.0, 1.0, 0.0]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let shown: Vec<String> = found.iter().map(|x| crate::print::digits(*x, 6)).collect();
    Ok(Finding {
        expected: format!("(1, 0, 1, 0) to {SWAPPED:.0e}"),
        measured: format!("({}), off by {worst:.0e}", shown.join(", ")),
        pass: worst <= SWAPPED,
    })
}

/// A ball that falls from heights around a step's end: the height it rises to has the slope e^2 wherever the bounce falls within a step.
pub fn bounce_height() -> Result<Finding, String> {
    /// Heights tried [m]: the bounce moves through a whole step.
    const HEIGHTS: usize = 21;
    /// From one to the next [m]: over all of them the ball falls a step longer.
    const APART: f64 = 1.2e-3;
    let (world, _) = embedded("ball_drop")?;
    let ball = body(&world, "ball")?;
    let names = Names::new(world.model(), &[], world.state()).map_err(|error| error.to_string())?;
    let controls = Vec::new();
    let start = Start { layout: Parameters::of(world.model()), world, names, controls };
    let height: Vec<Variable> = start.resolve("q[ball].y").map_err(|_| "no height".to_string())?;
    let gravity = -start.world.model().gravity.y;
    let (mut worst, mut measured) = (0.0f64, 0.0);
    for k in 0..HEIGHTS {
        let other = start.with(&height, &[height[0].value + APART * k as f64])?;
        // Long enough for one bounce: it falls for 0.45 s and is up again for 0.63 s.
        let found = gradient(&other.world, 120, ball, [0.0, 1.0, 0.0], |speed| [0.0, speed / gravity, 0.0])?;
        let slope = found.poses[ball * Planar::DOF + 1];
        if (slope - 0.49).abs() >= worst {
            (worst, measured) = ((slope - 0.49).abs(), slope);
        }
    }
    Ok(Finding::near("", 0.49, measured, EXACT).with(format!("at worst over {HEIGHTS} heights")))
}
