//! Baber's example with two compressions, his rays, and cases with known answers.

use super::reference::{diverging, growth, quartic, rays};
use crate::collision::Terms;
use crate::collision::dormand_prince::{State, Step};
use crate::collision::ray::Origin;
use crate::collision::sliding::{IMPULSE, NORMAL, Sliding, WORK};
use crate::collision::spatial::collide_within;
use crate::collision::{
    Branch, CollisionError, Mode, Side, Status, collide, collide_contact, collide_planar, collide_spatial, contact_matrix,
};
use carom_math::{Planar, Space, Spatial};
use nalgebra::{Matrix1, Matrix3, Vector1, Vector2, Vector3};

const MU: f64 = 0.5;

fn baber() -> Matrix3<f64> {
    Matrix3::new(20.0, -23.0, 4.0, -23.0, 31.0, -7.0, 4.0, -7.0, 4.0)
}

fn baber_start() -> Vector3<f64> {
    Vector3::new(630.0, -780.0, -0.22)
}

fn baber_body() -> (Side<Spatial>, Side<Spatial>) {
    let inverse = Matrix3::new(9.0, 6.0, -6.0, 6.0, 6.0, -2.0, -6.0, -2.0, 9.0);
    let inertia = inverse.try_inverse().expect("definite");
    let inertia = (inertia + inertia.transpose()) * 0.5;
    let body = Side::body(1.0, inertia, Vector3::new(1.0, 1.0, 1.0), baber_start(), Vector3::zeros());
    (body, Side::immovable(Vector3::zeros(), Vector3::zeros(), Vector3::zeros()))
}

fn close(found: f64, wanted: f64, error: f64) {
    assert!((found - wanted).abs() <= error, "found {found}, wanted {wanted} +- {error}");
}

fn close3(found: Vector3<f64>, wanted: [f64; 3], error: [f64; 3]) {
    for i in 0..3 {
        close(found[i], wanted[i], error[i]);
    }
}

#[test]
fn matrix_of_the_example() {
    let (a, b) = baber_body();
    let k = contact_matrix(&a, &b, Vector3::z()).expect("definite");
    // The tangents of z are (x, y): the matrix is the published one entry by entry.
    let [t1, t2] = Spatial::tangents(Vector3::z());
    let axes = Matrix3::from_columns(&[t1, t2, Vector3::z()]);
    let found = axes * Matrix3::from_fn(|i, j| k[i][j]) * axes.transpose();
    assert!((found - baber()).amax() < 1e-11, "{found}");
}

#[test]
fn path_of_the_example() {
    // Zeros of u_n and of its slope along the path, by short steps and the dense output.
    let sliding = Sliding::new(&baber().into(), MU);
    let u = baber_start();
    let r = u.x.hypot(u.y);
    let mut y: State = [u.x / r, u.y / r, r.ln(), 0.0, 0.0, 0.0, u.z, 0.0];
    let mobility = |y: &State| sliding.coefficients(y[0], y[1]).2;
    let at = |step: &Step, function: &dyn Fn(&State) -> f64| {
        let length = step.length * step.zero_of(function);
        Step::take(|y| sliding.rates(y), &step.start, &step.start_rates(), length).end
    };
    let (mut roots, mut works, mut turning) = (vec![], vec![], vec![]);
    while y[IMPULSE] < 58.0 {
        let step = Step::take(|y| sliding.rates(y), &y, &sliding.rates(&y), 2e-4);
        if step.start[NORMAL].signum() != step.end[NORMAL].signum() {
            let zero = at(&step, &|y| y[NORMAL]);
            roots.push(zero[IMPULSE]);
            works.push(zero[WORK]);
        }
        if mobility(&step.start).signum() != mobility(&step.end).signum() {
            turning.push(at(&step, &mobility));
        }
        y = step.end;
    }
    assert_eq!((roots.len(), turning.len()), (3, 2));
    for (found, wanted) in roots.iter().zip([14.596, 29.831, 55.981]) {
        close(*found, wanted, 6e-4);
    }
    // The maximum is flat: u_n there is known far better than its place, which the paper gives as 22.5.
    close(turning[0][IMPULSE], 22.51049, 1e-5);
    close(turning[0][NORMAL], 0.0362952, 1e-7);
    close(turning[1][IMPULSE], 50.68664, 1e-5);
    close(turning[1][NORMAL], -0.4635863, 1e-7);
    for (found, wanted) in [works[0], works[1] - works[0], works[2] - works[1]].iter().zip([-1.3983, 0.3683, -6.2766]) {
        close(*found, wanted, 6e-5);
    }
}

#[test]
fn results_of_the_example() {
    let run = |e: f64| collide_spatial(baber(), MU, e, baber_start(), 1e-10).expect("definite");
    let end = run(0.9);
    close3(end.velocity, [-18.3050, -63.7566, 3.1913], [1e-4; 3]);
    close(end.work_compression, -7.67488, 1e-5);
    close(end.work_restitution, 6.21665, 1e-5);
    close(end.impulse.z, 60.8115, 1e-4);
    close(0.5 * (baber_start() + end.velocity).dot(&end.impulse), -15342.0, 0.1);
    assert_eq!((end.phases, end.branch, end.mode), (4, Branch::Slide, Mode::Slide));
    let end = run(0.5);
    close3(end.velocity, [318.079, -438.017, 0.017615], [1e-3, 1e-3, 1e-6]);
    close(end.impulse.z, 27.817, 1e-3);
    assert_eq!(end.phases, 2);
    let end = run(0.0);
    close3(end.velocity, [466.174, -600.616, 0.0], [1e-3, 1e-3, 1e-12]);
    close(end.impulse.z, 14.596, 1e-3);
    assert_eq!((end.phases, end.work_restitution), (2, 0.0));
}

#[test]
fn result_jumps_at_the_critical_restitution() {
    let run = |e: f64| collide_spatial(baber(), MU, e, baber_start(), 1e-12).expect("definite");
    let (mut low, mut high) = (0.4, 0.6);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if run(middle).phases == 2 {
            low = middle;
        } else {
            high = middle;
        }
    }
    close(low, 0.51325, 1e-5);
    close(low, (0.36835f64 / 1.39832).sqrt(), 1e-5);
    // From below the end moves to the second zero of u_n, with a vertical tangent: u_n ~ sqrt(e_crit - e).
    close3(run(low - 1e-4).velocity, [297.444, -415.312, 0.0017], [1e-2, 1e-2, 1e-5]);
    close3(run(low).velocity, [295.5702, -413.2486, 0.0], [1e-4, 1e-4, 1e-6]);
    close3(run(high).velocity, [-8.1916, -75.0613, 1.3656], [1e-4; 3]);
    close3(run(high + 1e-4).velocity, [-8.195, -75.057, 1.366], [1e-3; 3]);
}

#[test]
fn bodies_of_the_example() {
    let (a, b) = baber_body();
    let end = collide(&a, &b, Vector3::z(), 0.9, MU, 1e-10).expect("definite");
    close3(end.velocity_a + end.spin_a.cross(&a.arm), [-18.3050, -63.7566, 3.1913], [1e-4; 3]);
    assert_eq!(end.velocity_b, b.velocity);
    assert_eq!(end.spin_b, b.spin);
}

#[test]
fn rays_of_the_example() {
    let k = Matrix3::new(20.0, 0.0, 1.0, 0.0, 4.0, 6.0, 1.0, 6.0, 10.0);
    let mu = 0.7;
    let found = rays(&k, mu);
    assert_eq!(found.len(), 4);
    for (angle, wanted) in found.iter().zip([86.67, 209.08, 281.35, 322.90]) {
        close(angle.to_degrees(), wanted, 6e-3);
        assert_eq!(growth(&k, mu, *angle) > 0.0, wanted < 90.0);
    }
    let ray = Origin::new(&k).leave(mu);
    assert!(!ray.stable);
    let angle = (-ray.impulse[1]).atan2(-ray.impulse[0]);
    close(angle.to_degrees(), 86.67, 6e-3);
    close(angle, diverging(&k, mu), 1e-12);
    // Of sixteen starts around the circle those from 10 to 14 reach the origin, the others tend to the diverging ray.
    for i in 0..16 {
        let (sin, cos) = (std::f64::consts::TAU * f64::from(i) / 16.0).sin_cos();
        let end = collide_spatial(k, mu, 1.0, Vector3::new(cos, sin, -1e3), 1e-10).expect("definite");
        assert_eq!(end.branch == Branch::Slide, !(10..=14).contains(&i), "start {i}: {}", end.branch);
        close(end.velocity.y.atan2(end.velocity.x), angle, 0.02);
    }
}

#[test]
fn quartic_loses_the_ray_that_the_monotone_equation_keeps() {
    // K_23 = -mu K_12 makes the leading coefficient vanish: the ray at 180 degrees is at infinity in tan(angle/2).
    let mu = 0.5;
    let k = Matrix3::new(1.0, 0.2, -2.0, 0.2, 3.0, -0.1, -2.0, -0.1, 6.0);
    assert!(quartic(&k, mu)[4].abs() < 1e-16);
    let ray = Origin::new(&k).leave(mu);
    close((-ray.impulse[1]).atan2(-ray.impulse[0]).abs(), std::f64::consts::PI, 1e-12);
}

#[test]
fn disc_on_a_floor() {
    // A rolling-friction-free disc with backspin: it grips when mu (1 + e) u_n > slip/3, else it slides; textbook formulas.
    let (mass, radius, e) = (2.0, 0.3, 0.6);
    let inertia = 0.5 * mass * radius * radius;
    let (speed, fall, spin) = (1.2, 3.0, 2.0);
    let disc =
        Side::<Planar>::body(mass, Matrix1::new(inertia), Vector2::new(0.0, -radius), Vector2::new(speed, -fall), Vector1::new(spin));
    let floor = Side::immovable(Vector2::zeros(), Vector2::zeros(), Vector1::zeros());
    let run = |mu: f64| collide(&disc, &floor, Vector2::new(0.0, 1.0), e, mu, 1e-10).expect("definite");
    let slip = speed + spin * radius;
    let grip = slip / 3.0 / ((1.0 + e) * fall);
    let slides = run(0.5 * grip);
    close(slides.velocity_a.x, speed - 0.5 * grip * (1.0 + e) * fall, 1e-14);
    close(slides.velocity_a.y, e * fall, 1e-14);
    assert_eq!((slides.branch.label(), slides.mode.label()), ("converging_never", "slide"));
    let grips = run(2.0 * grip);
    close(grips.velocity_a.x + grips.spin_a.x * radius, 0.0, 1e-14);
    close(grips.velocity_a.x, speed - slip / 3.0, 1e-14);
    assert_eq!((grips.branch.label(), grips.mode.label()), ("converging_compression_stable", "stick"));
    let later = run(1.2 * grip);
    assert_eq!(later.branch.label(), "converging_restitution_stable");
}

#[test]
fn frictionless_is_newton() {
    let (k, u) = (baber(), baber_start());
    for e in [0.0, 0.3, 1.0] {
        let end = collide_spatial(k, 0.0, e, u, 1e-10).expect("definite");
        let p = (1.0 + e) * 0.22 / 4.0;
        close3(end.impulse, [0.0, 0.0, p], [0.0, 0.0, 1e-16]);
        close(end.velocity.z, 0.22 * e, 1e-15);
        assert_eq!(end.steps, 0);
        let planar = collide_planar([[20.0, 4.0], [4.0, 4.0]], 0.0, e, [3.0, -0.22]);
        close(planar.impulse[1], p, 1e-15);
        assert_eq!(planar.impulse[0], 0.0);
    }
    // Straight through zero: the path is named for it, the numbers do not notice.
    let end = collide_spatial(k, 0.0, 0.5, Vector3::new(-4.0 * 0.04, 7.0 * 0.04, -0.22), 1e-10).expect("definite");
    assert_eq!(end.branch.label(), "origin_compression_unstable");
    close3(end.impulse, [0.0, 0.0, 1.5 * 0.22 / 4.0], [0.0, 0.0, 1e-15]);
}

#[test]
fn separating_changes_nothing() {
    for u in [0.0, 2.0] {
        let end = collide_spatial(baber(), 0.4, 0.5, Vector3::new(1.0, 2.0, u), 1e-10).expect("definite");
        assert_eq!((end.impulse, end.phases, end.mode.label(), end.branch.label()), (Vector3::zeros(), 0, "none", "separating"));
        assert_eq!(collide_planar([[2.0, 0.5], [0.5, 1.0]], 0.4, 0.5, [1.0, u]).velocity, [1.0, u]);
    }
}

#[test]
fn small_restitution_joins_zero() {
    // The restored work is e^2: the end must be located where it is twelve orders below the work of compression.
    let zero = collide_spatial(baber(), MU, 0.0, baber_start(), 1e-11).expect("definite");
    for e in [1e-3, 1e-6, 1e-9] {
        let end = collide_spatial(baber(), MU, e, baber_start(), 1e-11).expect("definite");
        close(end.work_restitution, -e * e * end.work_compression, 1e-12 * e * e);
        // u_n = e sqrt(2 k Wc), with k the normal mobility at the end of compression.
        let (sin, cos) = zero.velocity.y.atan2(zero.velocity.x).sin_cos();
        let k = Sliding::new(&baber().into(), MU).coefficients(cos, sin).2;
        let wanted = e * (-2.0 * k * end.work_compression).sqrt();
        close(end.velocity.z, wanted, 30.0 * e * wanted + 1e-9 * wanted);
        close(end.impulse.z, zero.impulse.z, 200.0 * e);
    }
}

#[test]
fn scaling_by_powers_of_two_is_exact() {
    let end = collide_spatial(baber(), MU, 0.9, baber_start(), 1e-10).expect("definite");
    let (mobility, speed) = (2f64.powi(-30), 2f64.powi(17));
    let scaled = collide_spatial(baber() * mobility, MU, 0.9, baber_start() * speed, 1e-10).expect("definite");
    assert_eq!(scaled.velocity, end.velocity * speed);
    assert_eq!(scaled.impulse, end.impulse * (speed / mobility));
}

#[test]
fn budget_of_steps_closes_and_says_so() {
    for budget in [1, 5, 20] {
        let end = collide_within(baber(), &Terms::new(MU, 0.9), baber_start(), budget, None).expect("definite");
        assert_eq!(end.status, Status::Capped);
        assert!(end.velocity.iter().all(|x| x.is_finite()) && end.velocity.z >= 0.0);
        close(end.work_restitution, -0.81 * end.work_compression, 1e-9 * end.work_compression.abs());
    }
    assert_eq!(collide_spatial(baber(), MU, 0.9, baber_start(), 1e-10).expect("definite").status, Status::Resolved);
}

#[test]
fn contact_space_takes_joints() {
    // A tangent that a joint locks: its row and column vanish, and the law acts in the plane of the others.
    let (a, b, d) = (2.0, 0.7, 1.5);
    let locked = [[a, 0.0, b], [0.0, 0.0, 0.0], [b, 0.0, d]];
    for (mu, u) in [(0.2, [1.0, 0.0, -2.0]), (0.5, [-1.0, 0.0, -2.0]), (0.1, [0.0, 0.0, -1.0])] {
        let spatial = collide_contact::<Spatial>(&locked, mu, 0.5, Vector3::from(u), 1e-10).expect("mobile");
        let planar = collide_planar([[a, b], [b, d]], mu, 0.5, [u[0], u[2]]);
        close3(spatial.impulse, [planar.impulse[0], 0.0, planar.impulse[1]], [1e-13; 3]);
    }
    // In the plane the locked tangent leaves a frictionless normal.
    let end = collide_contact::<Planar>(&[[0.0, 0.0, 0.0], [0.0, d, 0.0], [0.0; 3]], 0.3, 0.5, Vector2::new(1.0, -2.0), 1e-10);
    close(end.expect("mobile").impulse[1], 1.5 * 2.0 / d, 1e-14);
    // Only just definite: the normal yields hardly at all while the tangent is held, and the energy law still holds.
    let b = (2.0f64 * 1.5).sqrt() * (1.0 - 1e-9);
    let end = collide_contact::<Planar>(&[[2.0, b, 0.0], [b, 1.5, 0.0], [0.0; 3]], 2.0, 0.5, Vector2::new(0.0, -1.0), 1e-10);
    let end = end.expect("mobile");
    assert_eq!(end.mode, Mode::Stick);
    close(end.velocity[1], 0.5, 1e-9);
    // Singular across tangent and normal: no impulse without slip changes the normal velocity.
    let singular = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0; 3]];
    let refused = collide_contact::<Planar>(&singular, 2.0, 0.5, Vector2::new(0.0, -1.0), 1e-10);
    assert!(matches!(refused, Err(CollisionError::Locked { .. })));
    let singular = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]];
    let refused = collide_contact::<Spatial>(&singular, 2.0, 0.5, Vector3::new(0.0, 0.0, -1.0), 1e-10);
    assert!(matches!(refused, Err(CollisionError::Locked { .. })));
}

#[test]
fn wrong_arguments_are_named() {
    let (a, b) = baber_body();
    let z = Vector3::z();
    let says = |result: Result<_, CollisionError>, word: &str| {
        let error: CollisionError = result.map(|_: crate::collision::Collision<Spatial>| ()).expect_err("must be refused");
        assert!(error.to_string().contains(word), "{error} does not name {word}");
    };
    says(collide(&a, &b, z, 1.1, 0.3, 1e-10), "restitution");
    says(collide(&a, &b, z, -0.1, 0.3, 1e-10), "restitution");
    says(collide(&a, &b, z, f64::NAN, 0.3, 1e-10), "restitution");
    says(collide(&a, &b, z, 0.5, -0.3, 1e-10), "friction");
    says(collide(&a, &b, z, 0.5, f64::INFINITY, 1e-10), "friction");
    says(collide(&a, &b, z, 0.5, 0.3, 0.0), "tolerance");
    says(collide(&a, &b, z, 0.5, 0.3, f64::NAN), "tolerance");
    says(collide(&a, &b, z * 1.1, 0.5, 0.3, 1e-10), "normal");
    says(collide(&a, &b, z * 0.0, 0.5, 0.3, 1e-10), "normal");
    says(collide(&a, &b, z * f64::NAN, 0.5, 0.3, 1e-10), "normal");
    says(collide(&b, &b, z, 0.5, 0.3, 1e-10), "immovable");
    says(collide(&Side { mass: Some(f64::INFINITY), ..a }, &b, z, 0.5, 0.3, 1e-10), "immovable");
    says(collide(&Side { mass: Some(0.0), ..a }, &b, z, 0.5, 0.3, 1e-10), "mass of side a");
    says(collide(&b, &Side { mass: Some(f64::NAN), ..a }, z, 0.5, 0.3, 1e-10), "mass of side b");
    says(collide(&Side { inertia: Matrix3::zeros(), ..a }, &b, z, 0.5, 0.3, 1e-10), "inertia of side a");
    says(collide(&Side { inertia: Matrix3::new(1.0, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), ..a }, &b, z, 0.5, 0.3, 1e-10), "inertia");
    says(collide(&Side { inertia: a.inertia * f64::NAN, ..a }, &b, z, 0.5, 0.3, 1e-10), "inertia");
    says(collide(&Side { velocity: z * f64::NAN, ..a }, &b, z, 0.5, 0.3, 1e-10), "velocity of side a");
    says(collide(&a, &Side { spin: z * f64::INFINITY, ..b }, z, 0.5, 0.3, 1e-10), "spin of side b");
    // A needle of next to no inertia: K is singular to rounding.
    says(collide(&Side { inertia: Matrix3::identity() * 1e-14, ..a }, &b, z, 0.5, 0.3, 1e-10), "collision matrix");
}
