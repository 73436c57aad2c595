//! A second road to the spatial collision: small Runge-Kutta steps in Cartesian velocities, bisected events, Baber's closing formulas
//! with K^-1 and the quartic for the rays. Slow and plain.

use super::{Random, count};
use crate::collision::ray::Origin;
use crate::collision::{Mode, collide_spatial};
use nalgebra::{Complex, Matrix3, Vector3};

type Velocity = Vector3<f64>;

/// Fraction of the way to u_t = 0 that a step may cover.
const STEP: f64 = 4e-3;

struct Reference {
    k: Matrix3<f64>,
    mu: f64,
}

impl Reference {
    fn rate(&self, u: &Velocity) -> Velocity {
        let r = u.x.hypot(u.y);
        self.k * Vector3::new(-self.mu * u.x / r, -self.mu * u.y / r, 1.0)
    }

    /// Velocity and work after the impulse dp.
    fn step(&self, u: &Velocity, dp: f64) -> (Velocity, f64) {
        let k1 = self.rate(u);
        let u2 = u + k1 * (0.5 * dp);
        let k2 = self.rate(&u2);
        let u3 = u + k2 * (0.5 * dp);
        let k3 = self.rate(&u3);
        let u4 = u + k3 * dp;
        let k4 = self.rate(&u4);
        (u + (k1 + (k2 + k3) * 2.0 + k4) * (dp / 6.0), (u.z + 2.0 * (u2.z + u3.z) + u4.z) * (dp / 6.0))
    }

    /// Longest dp for which the condition on the result still fails.
    fn before(&self, u: &Velocity, dp: f64, holds: impl Fn(&Velocity, f64) -> bool) -> f64 {
        let (mut low, mut high) = (0.0, dp);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            let (end, work) = self.step(u, middle);
            if holds(&end, work) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    /// Velocity at the end, works, phases.
    fn collide(&self, e: f64, start: Velocity) -> (Velocity, f64, f64, usize) {
        let (mut u, mut wc, mut wd, mut phases, mut restituting) = (start, 0.0f64, 0.0f64, 1, false);
        let inverse = self.k.try_inverse().expect("definite");
        let speed = start.norm();
        loop {
            let r = u.x.hypot(u.y);
            if r <= 1e-9 * speed {
                break;
            }
            let dp = STEP * r / self.k.norm() / (1.0 + self.mu);
            let dp = dp.min(STEP * speed / self.k.norm());
            let (mut end, mut work) = self.step(&u, dp);
            if !restituting && end.z >= 0.0 {
                (end, work) = self.step(&u, self.before(&u, dp, |v, _| v.z >= 0.0));
                wc += work;
                restituting = true;
                phases += 1;
                if e == 0.0 {
                    return (end, wc, wd, phases);
                }
            } else if restituting && wd + work >= -e * e * wc {
                (end, work) = self.step(&u, self.before(&u, dp, |_, w| wd + w >= -e * e * wc));
                return (end, wc, wd + work, phases);
            } else if restituting && end.z < 0.0 {
                (end, work) = self.step(&u, self.before(&u, dp, |v, _| v.z < 0.0));
                wd += work;
                restituting = false;
                phases += 1;
            } else if restituting {
                wd += work;
            } else {
                wc += work;
            }
            u = end;
        }
        // Steps 4-6 of the published algorithm.
        let stable = inverse.m13.hypot(inverse.m23) <= self.mu * inverse.m33;
        let k = if stable {
            Vector3::new(0.0, 0.0, 1.0 / inverse.m33)
        } else {
            let angle = diverging(&self.k, self.mu);
            self.k * Vector3::new(-self.mu * angle.cos(), -self.mu * angle.sin(), 1.0)
        };
        let old = u.z;
        if !restituting {
            wc -= u.z * u.z / (2.0 * k.z);
            u.z = 0.0;
            phases += 1;
        }
        let new = (2.0 * k.z * (-e * e * wc - wd) + u.z * u.z).max(0.0).sqrt();
        (Vector3::new(k.x / k.z * (new - old), k.y / k.z * (new - old), new), wc, -e * e * wc, phases)
    }
}

/// Coefficients of the quartic in tan(angle/2) whose roots are the rays of constant sliding, constant term first.
pub fn quartic(k: &Matrix3<f64>, mu: f64) -> [f64; 5] {
    [
        mu * k.m12 - k.m23,
        2.0 * k.m13 + 2.0 * mu * (k.m22 - k.m11),
        -6.0 * mu * k.m12,
        2.0 * k.m13 + 2.0 * mu * (k.m11 - k.m22),
        mu * k.m12 + k.m23,
    ]
}

/// Angles of all rays of constant sliding, ascending in 0..2 pi: Durand and Kerner's iteration on the quartic.
pub fn rays(k: &Matrix3<f64>, mu: f64) -> Vec<f64> {
    let a = quartic(k, mu);
    let value = |z: Complex<f64>| a.iter().rev().fold(Complex::new(0.0, 0.0), |sum, c| sum * z + c);
    let mut roots: Vec<Complex<f64>> = (0..4).map(|i| Complex::new(0.4, 0.9).powu(i)).collect();
    for _ in 0..500 {
        for i in 0..4 {
            let others = (0..4).filter(|j| *j != i).fold(Complex::new(a[4], 0.0), |product, j| product * (roots[i] - roots[j]));
            let change = value(roots[i]) / others;
            roots[i] -= change;
        }
    }
    let mut angles: Vec<f64> = roots
        .iter()
        .filter(|z| z.im.abs() <= 1e-6 * (1.0 + z.norm()))
        .map(|z| (2.0 * z.re.atan()).rem_euclid(std::f64::consts::TAU))
        .collect();
    angles.sort_by(f64::total_cmp);
    angles
}

/// Rate at which |u_t| grows along a direction.
pub fn growth(k: &Matrix3<f64>, mu: f64, angle: f64) -> f64 {
    let (sin, cos) = angle.sin_cos();
    -mu * (k.m11 * cos * cos + k.m22 * sin * sin + 2.0 * k.m12 * sin * cos) + k.m13 * cos + k.m23 * sin
}

/// The one diverging ray.
pub fn diverging(k: &Matrix3<f64>, mu: f64) -> f64 {
    let found: Vec<f64> = rays(k, mu).into_iter().filter(|angle| growth(k, mu, *angle) > 0.0).collect();
    assert_eq!(found.len(), 1, "one diverging ray, found {found:?} for {k} and {mu}");
    found[0]
}

#[test]
fn integration_agrees_with_small_steps() {
    let mut random = Random::new(11);
    let mut modes = [0; 3];
    for case in 0..count(60, 1000) {
        let k = random.definite3();
        let (mu, e) = (random.between(0.05, 1.5), if case % 10 == 0 { 0.0 } else { random.unit() });
        let mut u = random.vector3();
        u.z = -u.z.abs();
        let end = collide_spatial(k, mu, e, u, 1e-10).expect("definite");
        let (velocity, wc, wd, phases) = Reference { k, mu }.collide(e, u);
        let error = (end.velocity - velocity).norm() / u.norm();
        assert!(error < 2e-6, "case {case}: velocity off by {error:e}: {end:?} against {velocity:?}");
        assert!((end.work_compression - wc).abs() <= 1e-6 * wc.abs(), "case {case}: {} against {wc}", end.work_compression);
        assert!((end.work_restitution - wd).abs() <= 2e-6 * wc.abs(), "case {case}: {} against {wd}", end.work_restitution);
        assert_eq!(end.phases, phases, "case {case}");
        modes[match end.mode {
            Mode::Slide => 0,
            Mode::Stick => 1,
            _ => 2,
        }] += 1;
    }
    assert!(modes[0] > 0 && modes[1] > 0, "slides and sticks must both occur: {modes:?}");
}

#[test]
fn turning_points_are_not_stepped_over() {
    // Found by search: u_n rises and falls inside one long step, or inside the last approach to u_t = 0.
    let cases = [
        ([9.0, -1.0, 26.0, 4.0, -7.0, 6.0], 1.1, 0.2, [14.0, 2.0, -1.0]),
        ([23.0, -4.0, 23.0, 5.0, -8.0, 9.0], 1.9, 0.2, [-13.0, -19.0, -0.3]),
        ([27.0, -5.0, 14.0, 2.0, -7.0, 9.0], 1.4, 0.4, [-10.0, -18.0, -0.7]),
        ([28.0, -1.0, 18.0, -9.0, -6.0, 11.0], 1.2, 0.8, [2.0, -20.0, -2.1]),
        ([23.0, 7.0, 28.0, 3.0, -3.0, 2.0], 1.3, 0.1, [15.0, 10.0, -0.1]),
    ];
    for ([m11, m12, m22, c1, c2, d], mu, e, u) in cases {
        let k = Matrix3::new(m11, m12, c1, m12, m22, c2, c1, c2, d);
        let u = Vector3::from(u);
        let (velocity, wc, _, phases) = Reference { k, mu }.collide(e, u);
        for (tolerance, allowed) in [(1e-5, 1e-3), (1e-10, 2e-6)] {
            let end = collide_spatial(k, mu, e, u, tolerance).expect("definite");
            let error = (end.velocity - velocity).norm() / u.norm();
            assert!(error < allowed, "{k}{u}: off by {error:e} at tolerance {tolerance:e}");
            assert!((end.work_compression - wc).abs() < allowed * wc.abs(), "{k}{u}: {} against {wc}", end.work_compression);
            assert_eq!(end.phases, phases, "{k}{u}");
        }
    }
}

#[test]
fn diverging_ray_agrees_with_the_quartic() {
    let mut random = Random::new(12);
    let mut unstable = 0;
    for case in 0..count(2000, 100_000) {
        let k = random.definite3();
        let mu = random.between(0.01, 0.8);
        let ray = Origin::new(&k).leave(mu);
        if ray.stable {
            continue;
        }
        unstable += 1;
        let angle = diverging(&k, mu);
        let direction = [-ray.impulse[0] / mu, -ray.impulse[1] / mu];
        let error = (direction[0] - angle.cos()).hypot(direction[1] - angle.sin());
        assert!(error < 1e-7, "case {case}: {direction:?} against angle {angle}: {error:e}");
        // The ray solves its own equation far more closely than the quartic does.
        let along = k * Vector3::new(ray.impulse[0], ray.impulse[1], 1.0);
        let residual = (along.x - ray.tangential[0]).hypot(along.y - ray.tangential[1]) / k.norm();
        assert!(residual < 1e-13, "case {case}: residual {residual:e}");
        assert!(ray.normal > 0.0 && (along.z - ray.normal).abs() < 1e-13 * k.norm(), "case {case}");
    }
    assert!(unstable > 100, "only {unstable} unstable cases");
}
