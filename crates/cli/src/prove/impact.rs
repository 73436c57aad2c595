//! Promises about impacts.

use super::Finding;
use super::lab::{body, embedded, embedded_spatial, planar, step, steps};
use crate::print::plural;

/// Largest deviation of the rebound height, as a fraction of the drop.
const REBOUND: f64 = 1e-12;
/// Largest deviation of a velocity passed on [m/s], of 1.
const PASSED_ON: f64 = 1e-12;
/// Largest difference between a ball and its mirror image [m, m/s].
const SYMMETRIC: f64 = 1e-12;
/// Largest energy a plug may gain, as a fraction.
const GAINED: f64 = 1e-12;
/// Half of the last digit of the example's normal impulse [N s].
const DIGITS: f64 = 5e-5;
/// Steps in which the first bounce of the dropped ball must come: it falls for 0.45 s.
const FALL: usize = 200;
/// Steps in which every cradle is through: the striker meets the row within one step of 10 ms and the last ball leaves at once.
const CRADLE: usize = 20;

/// A ball dropped from 1 m: the height its energy reaches after the first bounce.
pub fn rebound() -> Result<Finding, String> {
    let (mut world, _) = embedded("ball_drop")?;
    let ball = body(&world, "ball")?;
    let ground = world.state().poses[ball].position.y - 1.0;
    for _ in 0..FALL {
        step(&mut world)?;
        if world.state().twists[ball].lin.y > 0.0 {
            break;
        }
    }
    let (y, speed) = (world.state().poses[ball].position.y, world.state().twists[ball].lin.y);
    let height = y - ground + speed * speed / (2.0 * world.model().gravity.norm());
    Ok(Finding::near("", 0.49, height, REBOUND).and(speed > 0.0, "it never bounced"))
}

/// A ball at 1 m/s strikes a row of touching balls: only the last may leave, at 1 m/s.
pub fn cradle() -> Result<Finding, String> {
    let mut worst: f64 = 0.0;
    for balls in 3..=20 {
        let mut world = planar(&format!(
            r#"
            dimension = 2
            gravity = [0, 0]
            step = 0.01
            [materials.steel]
            restitution = 1
            friction = 0
            [[body]]
            name = "striker"
            shape = {{ ball = 0.125 }}
            mass = 1
            position = [-0.255, 0]
            velocity = [1, 0]
            material = "steel"
            [[repeat]]
            count = {}
            offset = [0.25, 0]
            body = {{ name = "ball", shape = {{ ball = 0.125 }}, mass = 1, material = "steel" }}
            "#,
            balls - 1
        ))?;
        steps(&mut world, CRADLE)?;
        for (index, twist) in world.state().twists.iter().enumerate() {
            let expected = if index == balls - 1 { 1.0 } else { 0.0 };
            worst = worst.max((twist.lin.x - expected).abs()).max(twist.lin.y.abs());
        }
    }
    Ok(Finding::below("velocity error [m/s]", PASSED_ON, worst))
}

/// Every ball of the break has a mirror image across the line of the cue.
pub fn pool_break() -> Result<Finding, String> {
    let (mut world, count) = embedded("pool_break")?;
    let total = steps(&mut world, count)?;
    let state = world.state();
    let image = |i: usize| {
        let (p, v) = (state.poses[i].position, state.twists[i].lin);
        ([p.x, p.y, v.x, v.y], [p.x, -p.y, v.x, -v.y])
    };
    let mut worst: f64 = 0.0;
    for i in 0..state.poses.len() {
        let (_, mirrored) = image(i);
        let nearest = (0..state.poses.len())
            .map(|j| image(j).0.iter().zip(&mirrored).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs())))
            .fold(f64::INFINITY, f64::min);
        worst = worst.max(nearest);
    }
    Ok(Finding::below("asymmetry", SYMMETRIC, worst)
        .with(format!("after {}", plural(total.impacts, "impact")))
        .and(total.impacts > 0, "nothing was struck"))
}

/// Balls wedged between walls are struck: the run ends, no cap is reached and no energy is gained.
pub fn plug() -> Result<Finding, String> {
    let (mut world, count) = embedded("locked_plug")?;
    let before = world.energies().0;
    let total = steps(&mut world, count)?;
    let gained = world.energies().0 / before - 1.0;
    let capped = total.impact_capped || total.stepped > 0;
    Ok(Finding::below("ends; energy gained", GAINED, gained.max(0.0))
        .with(format!("after {}, {}", plural(total.impacts, "impact"), plural(total.impact_iterations, "iteration")))
        .and(!capped, "an iteration cap was reached")
        .and(total.impacts > 0, "nothing was struck"))
}

/// A disc skids through its bounce: the tangent loses mu (1 + e) of the closing speed and the spin gains the same at the rim.
pub fn oblique() -> Result<Finding, String> {
    let (e, mu, radius) = (0.5, 0.1, 0.1);
    let mut world = planar(&format!(
        r#"
        dimension = 2
        gravity = [0, 0]
        [materials.rubber]
        restitution = {e}
        friction = {mu}
        [[body]]
        kind = "static"
        shape = {{ half_space = [0, 1] }}
        material = "rubber"
        [[body]]
        name = "disc"
        shape = {{ ball = {radius} }}
        mass = 1
        position = [0, 0.2]
        velocity = [2, -1]
        material = "rubber"
        "#
    ))?;
    let disc = body(&world, "disc")?;
    let total = steps(&mut world, 100)?;
    let twist = world.state().twists[disc];
    let lost = mu * (1.0 + e);
    let spin = -lost * radius / (0.5 * radius * radius);
    let worst = (twist.lin.x - (2.0 - lost)).abs().max((twist.lin.y - e).abs()).max((twist.ang.x - spin).abs() * radius);
    Ok(Finding::below("velocity error [m/s]", PASSED_ON, worst).and(total.impacts == 1, "it did not strike exactly once"))
}

/// The collision of Baber 2011, section 1.2, pressed together twice: the normal impulse on the foot.
pub fn two_compressions() -> Result<Finding, String> {
    let mut world = embedded_spatial("two_compressions")?;
    let total = steps(&mut world, 1)?;
    let impulse = world.contacts().iter().fold(0.0f64, |m, contact| m + contact.impulse.z.abs());
    Ok(Finding::near("N s", 60.8115, impulse, DIGITS).and(total.impacts == 1, "it did not strike exactly once"))
}

/// A ball in a wedge of 0.1 rad: reflected at most ceil(pi / 0.1) = 32 times on its way in and out, with all its energy.
pub fn wedge() -> Result<Finding, String> {
    let (mut world, count) = embedded("wedge")?;
    let before = world.energies().0;
    let total = steps(&mut world, count)?;
    let gained = (world.energies().0 / before - 1.0).abs();
    Ok(Finding::below("energy error, in at most 32 bounces", GAINED, gained)
        .with(format!("in {}", plural(total.impacts, "bounce")))
        .and((2..=32).contains(&total.impacts), "the count is wrong"))
}

/// A ball fired at a plug of balls between walls: the impact ends, and the plug moves.
pub fn geyser() -> Result<Finding, String> {
    let (mut world, count) = embedded("geyser")?;
    let before = world.energies().0;
    let total = steps(&mut world, count)?;
    let gained = world.energies().0 / before - 1.0;
    let moved = world.state().twists.iter().filter(|t| t.lin.norm() > 0.01).count();
    Ok(Finding::below("ends; energy gained", GAINED, gained.max(0.0))
        .with(format!("after {}; {moved} balls move", plural(total.impacts, "impact")))
        .and(total.impacts > 0 && !total.impact_capped, "an impact was cut off")
        .and(moved > 1, "nothing moved"))
}
