//! Promises about resting and sliding.

use super::Finding;
use super::lab::{body, embedded, planar, steps};
use carom::dynamics::World;
use carom::math::Planar;

/// Friction of the block and the incline.
const FRICTION: f64 = 0.5;
/// Distance from the friction angle [degrees].
const AWAY: f64 = 0.1;
/// Time the block is watched [s].
const WATCHED: f64 = 5.0;
/// Steps in that time.
const STEPS: usize = 1000;
/// Largest creep of a block that holds [m].
const CREEP: f64 = 1e-12;
/// Largest displacement of a box that stands [m]: the gap below which bodies of this size count as touching, 1e-9 of it.
const STANDS: f64 = 1e-9 * 0.25;
/// Largest relative error of the distance slid.
const SLID: f64 = 1e-12;
/// Largest speed of a box that stands [m/s].
const STILL: f64 = 1e-12;

/// A block of 0.4 m x 0.2 m that lies on an incline [rad], the incline turned and not the gravity.
fn block(angle: f64) -> Result<World<Planar>, String> {
    let (sin, cos) = angle.sin_cos();
    planar(&format!(
        r#"
        dimension = 2
        step = {}
        [[body]]
        kind = "static"
        shape = {{ half_space = [{}, {cos}] }}
        friction = {FRICTION}
        [[body]]
        name = "block"
        shape = {{ box = [0.4, 0.2] }}
        mass = 1
        position = [{}, {}]
        angle = {angle}
        friction = {FRICTION}
        "#,
        WATCHED / STEPS as f64,
        -sin,
        -0.1 * sin,
        0.1 * cos,
    ))
}

/// How far the block moves in the time [m].
fn slid(angle: f64) -> Result<f64, String> {
    let mut world = block(angle)?;
    let index = body(&world, "block")?;
    let start = world.state().poses[index].position;
    steps(&mut world, STEPS)?;
    Ok((world.state().poses[index].position - start).norm())
}

/// Just below the friction angle nothing moves.
pub fn hold() -> Result<Finding, String> {
    Ok(Finding::below(&format!("moved in {WATCHED} s [m]"), CREEP, slid(FRICTION.atan() - AWAY.to_radians())?))
}

/// Just above it the block slides by g (sin - mu cos) t^2 / 2.
pub fn slide() -> Result<Finding, String> {
    let angle = FRICTION.atan() + AWAY.to_radians();
    let gravity = block(angle)?.model().gravity.norm();
    let expected = 0.5 * gravity * (angle.sin() - FRICTION * angle.cos()) * WATCHED * WATCHED;
    let measured = slid(angle)?;
    Ok(Finding::below(&format!("{expected:.6} m, relative error"), SLID, (measured / expected - 1.0).abs())
        .with(format!("({measured:.6} m)")))
}

/// Ten boxes on each other after 5 s: displacement and speed.
pub fn stack() -> Result<Finding, String> {
    let (mut world, count) = embedded("stack_ten")?;
    let start = world.state().clone();
    steps(&mut world, count)?;
    let now = world.state();
    let moved = now.poses.iter().zip(&start.poses).map(|(a, b)| (a.position - b.position).norm()).fold(0.0, f64::max);
    let fastest = now.twists.iter().map(|t| t.lin.norm().max(t.ang.norm())).fold(0.0, f64::max);
    Ok(Finding::below(&format!("moved in {:.0} s [m]", now.time), STANDS, moved)
        .with(format!("at {fastest:.1e} m/s"))
        .and(fastest <= STILL, "it is not at rest"))
}
