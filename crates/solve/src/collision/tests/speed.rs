//! Time and accuracy together; run with `--ignored --nocapture`, in a release build for the figures of the theory.

use super::Random;
use crate::collision::{Side, collide, collide_planar, collide_spatial};
use carom_math::{Planar, Space, Spatial};
use nalgebra::{Matrix1, Matrix3, Vector1, Vector2, Vector3};
use std::hint::black_box;
use std::time::Instant;

const CASES: usize = 2000;
const REPEATS: usize = 50;

/// Ascending.
fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn at(values: &[f64], fraction: f64) -> f64 {
    values[((values.len() - 1) as f64 * fraction) as usize]
}

/// Nanoseconds per call, per case.
fn times<T>(cases: &[T], run: impl Fn(&T)) -> Vec<f64> {
    let each = |case: &T| {
        run(case);
        let start = Instant::now();
        for _ in 0..REPEATS {
            run(case);
        }
        start.elapsed().as_nanos() as f64 / REPEATS as f64
    };
    sorted(cases.iter().map(each).collect())
}

fn print(name: &str, times: &[f64]) {
    println!("{name}: median {:.0} ns, 90 % {:.0} ns, longest {:.0} ns", at(times, 0.5), at(times, 0.9), at(times, 1.0));
}

pub fn spatial_case(random: &mut Random) -> (Matrix3<f64>, f64, f64, Vector3<f64>) {
    let k = random.definite3();
    let mut u = random.vector3();
    u.z = -u.z.abs();
    (k, random.between(0.0, 1.5), random.unit(), u)
}

#[test]
#[ignore = "prints figures"]
fn figures() {
    let mut random = Random::new(1);
    let planar: Vec<_> = (0..CASES)
        .map(|_| {
            let (k, mu, e, u) = spatial_case(&mut random);
            ([[k.m11, k.m13], [k.m13, k.m33]], mu, e, [u.x, u.z])
        })
        .collect();
    print("plane, contact space", &times(&planar, |c| _ = black_box(collide_planar(c.0, c.1, c.2, c.3))));

    let discs: Vec<_> = (0..CASES)
        .map(|_| {
            let mut side = |s: f64| {
                let v = random.vector3();
                let arm = Vector2::new(0.3 * random.between(-1.0, 1.0), -0.5 * s);
                Side::<Planar>::body(
                    random.decades(-1.0, 1.0),
                    Matrix1::new(random.decades(-2.0, 0.0)),
                    arm,
                    Vector2::new(v.x, v.y - s),
                    Vector1::new(v.z),
                )
            };
            (side(1.0), side(-1.0), random.unit(), random.between(0.0, 1.5))
        })
        .collect();
    let up = Vector2::new(0.0, 1.0);
    print("plane, bodies", &times(&discs, |c| _ = black_box(collide(&c.0, &c.1, up, c.2, c.3, 1e-10))));

    let spatial: Vec<_> = (0..CASES).map(|_| spatial_case(&mut random)).collect();
    for tolerance in [1e-6, 1e-8, 1e-10, 1e-12] {
        let mut errors = Vec::new();
        let mut steps = Vec::new();
        for (k, mu, e, u) in &spatial {
            let fine = collide_spatial(*k, *mu, *e, *u, 1e-13).expect("definite");
            let end = collide_spatial(*k, *mu, *e, *u, tolerance).expect("definite");
            errors.push((end.impulse - fine.impulse).norm() / fine.impulse.norm());
            steps.push(end.steps as f64);
        }
        let (errors, steps) = (sorted(errors), sorted(steps));
        print(
            &format!("space, contact space, tolerance {tolerance:.0e}"),
            &times(&spatial, |c| _ = black_box(collide_spatial(c.0, c.1, c.2, c.3, tolerance))),
        );
        println!(
            "    steps: median {}, 90 % {}, most {}; error of the impulse: median {:.1e}, 99 % {:.1e}, largest {:.1e}",
            at(&steps, 0.5),
            at(&steps, 0.9),
            at(&steps, 1.0),
            at(&errors, 0.5),
            at(&errors, 0.99),
            at(&errors, 1.0)
        );
    }

    let bodies: Vec<_> = (0..CASES)
        .map(|_| {
            let mut side = |s: f64| {
                let inertia =
                    Spatial::inertia_from_moments(&[random.decades(-2.0, 0.0), random.decades(-2.0, 0.0), random.decades(-2.0, 0.0)]);
                let inertia = Spatial::inertia_world(inertia, Spatial::exp(random.vector3()));
                let arm = random.vector3() * 0.5;
                Side::<Spatial>::body(random.decades(-1.0, 1.0), inertia, arm, random.vector3() - Vector3::z() * s, random.vector3())
            };
            (side(1.0), side(-1.0), random.unit(), random.between(0.0, 1.5))
        })
        .collect();
    print("space, bodies, tolerance 1e-10", &times(&bodies, |c| _ = black_box(collide(&c.0, &c.1, Vector3::z(), c.2, c.3, 1e-10))));
}
