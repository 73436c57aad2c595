//! The fixed steps of Baber 2011, section 4, for comparison: first order, and approximate where the slip stops.

use super::error::CollisionError;
use super::law::Terms;
use super::outcome::{Branch, Mode, Outcome, SpatialOutcome, Status};
use super::ray::Progress;
use super::spatial::Units;
use super::trace::{PathPoint, Points};
use nalgebra::{Matrix3, Vector3};

/// Steps allowed: far more than a comparison needs, and an end for a step that is far too short.
pub const EULER_STEPS_MAX: usize = 20_000_000;

/// Which end test the steps use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndTest {
    /// Of step 3(c) as printed: what is owed is paid. At e = 0 that holds after the first step, in compression.
    Printed,
    /// With u_n >= 0 as well.
    Corrected,
}

/// A collision by Euler's method with the fixed `step` of the normal impulse \[N s\], components (first tangent, second tangent, normal).
///
/// The slip counts as stopped when one step could carry it past zero; the rest then follows the closed forms, as printed. The points of the
/// path go to `points`, one a step, where they are wanted.
///
/// # Errors
/// As [`collide_spatial`](super::collide_spatial); a step that is not positive is named.
pub fn collide_euler(
    k: Matrix3<f64>,
    terms: &Terms,
    u: Vector3<f64>,
    step: f64,
    test: EndTest,
    mut points: Option<&mut Vec<PathPoint>>,
) -> Result<SpatialOutcome, CollisionError> {
    if step.is_nan() || step <= 0.0 || step.is_infinite() {
        return Err(CollisionError::Step { found: step });
    }
    if u.z >= 0.0 {
        return Ok(Outcome::separating(Vector3::zeros(), u));
    }
    let origin = Units { mobility: 1.0, speed: 1.0 }.origin(&k)?;
    let mu = terms.friction;
    // Most that one step changes the slip.
    let reach = step * (mu * (k.m11 + k.m22) + k.m13.hypot(k.m23));
    let mut progress = Progress::starting(u.z, terms.restitution, terms.law);
    let (mut velocity, mut impulse) = (u, Vector3::zeros());
    let mut note = |velocity: &Vector3<f64>, impulse: &Vector3<f64>, progress: &Progress<f64>, mode: Mode| {
        if let Some(points) = &mut points {
            let mut one = Points::default();
            one.push(impulse.z, [velocity.x, velocity.y], &Progress { normal_speed: velocity.z, ..*progress }, mode);
            points.extend(one.0);
        }
    };
    note(&velocity, &impulse, &progress, Mode::Slide);
    let started_still = u.x.hypot(u.y) <= reach;
    for steps in 0..EULER_STEPS_MAX {
        let slip = velocity.x.hypot(velocity.y);
        if slip <= reach {
            // Steps 4 to 6: along the ray that leaves zero.
            let restituting = velocity.z >= 0.0;
            let ray = origin.leave(mu);
            progress.normal_speed = velocity.z;
            enter(&mut progress, restituting);
            let (spent, _) = progress.advance(ray.normal, f64::INFINITY);
            impulse += Vector3::new(ray.impulse[0], ray.impulse[1], 1.0) * spent;
            let kept = if ray.stable { 0.0 } else { 1.0 };
            velocity.x = kept * velocity.x + ray.tangential[0] * spent;
            velocity.y = kept * velocity.y + ray.tangential[1] * spent;
            velocity.z = progress.normal_speed;
            let branch = if started_still && steps == 0 {
                Branch::Stick { stable: ray.stable }
            } else {
                Branch::Origin { restituting, stable: ray.stable }
            };
            note(&velocity, &impulse, &progress, branch.mode());
            return Ok(outcome(impulse, velocity, &progress, branch, steps, Status::Resolved));
        }
        // Step 3(b).
        let restituting = velocity.z >= 0.0;
        enter(&mut progress, restituting);
        if restituting {
            progress.work_restitution += velocity.z * step;
            progress.impulse_restitution += step;
        } else {
            progress.work_compression += velocity.z * step;
            progress.impulse_compression += step;
        }
        let push = Vector3::new(-mu * velocity.x / slip, -mu * velocity.y / slip, 1.0);
        velocity += k * push * step;
        impulse += push * step;
        progress.normal_speed = velocity.z;
        note(&velocity, &impulse, &progress, Mode::Slide);
        // Step 3(c).
        let parting = velocity.z >= 0.0 || test == EndTest::Printed;
        if parting && progress.owed() <= 0.0 {
            enter(&mut progress, velocity.z >= 0.0);
            return Ok(outcome(impulse, velocity, &progress, Branch::Slide, steps + 1, Status::Resolved));
        }
    }
    Ok(outcome(impulse, velocity, &progress, Branch::Slide, EULER_STEPS_MAX, Status::Capped))
}

/// Counts a phase when the normal velocity has changed its sign.
fn enter(progress: &mut Progress<f64>, restituting: bool) {
    if progress.restituting != restituting {
        progress.restituting = restituting;
        progress.phases += 1;
    }
}

fn outcome(
    impulse: Vector3<f64>,
    velocity: Vector3<f64>,
    progress: &Progress<f64>,
    branch: Branch,
    steps: usize,
    status: Status,
) -> SpatialOutcome {
    Outcome {
        impulse,
        velocity,
        work_compression: progress.work_compression,
        work_restitution: progress.work_restitution,
        phases: progress.phases,
        branch,
        mode: branch.mode(),
        steps,
        status,
    }
}
