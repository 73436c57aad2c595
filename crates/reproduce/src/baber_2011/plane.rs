//! The planar algorithm of section 5.2, as printed, beside the engine's closed form and the integration in space.

use super::rows;
use crate::random::Random;
use crate::{Chart, Failure, Report, Style};
use carom::math::{Planar, Spatial};
use carom::solve::collision::{Terms, collide_contact_under, collide_planar};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};
use std::collections::BTreeMap;

/// Steps 3 to 9 as printed; the final velocity and the step that decided.
fn printed(k: &Matrix2<f64>, mu: f64, e: f64, start: Vector2<f64>) -> Option<(Vector2<f64>, &'static str)> {
    let (mut u, mut wc, mut wd) = (start, 0.0, 0.0);
    let stick = |u: &Vector2<f64>| if u.y < 0.0 { "compression" } else { "restitution" };
    let mut place = "at rest";
    if u.x != 0.0 {
        let sign = u.x.signum();
        let ray = k * Vector2::new(-mu * sign, 1.0);
        if ray.x * sign >= 0.0 {
            return Some((finish(u, ray, e, wc, wd), "8, diverging"));
        }
        let origin = u.y - ray.y / ray.x * u.x;
        if origin <= 0.0 {
            wc = -u.x * u.y / ray.x + ray.y * u.x * u.x / (2.0 * ray.x * ray.x);
        } else if origin < -e * u.y {
            wc = -u.y * u.y / (2.0 * ray.y);
            wd = origin * origin / (2.0 * ray.y);
        } else {
            return Some((Vector2::new(u.x - (1.0 + e) * ray.x / ray.y * u.y, -e * u.y), "4(d), converging"));
        }
        u = Vector2::new(0.0, origin);
        place = stick(&u);
    }
    if k.m12.abs() <= mu * k.m11 {
        let held = k.try_inverse()?.m22;
        let name = match place {
            "compression" => "6 after 4(b), stable",
            "restitution" => "6 after 4(c), stable",
            _ => "6, stable",
        };
        return Some((finish(u, Vector2::new(0.0, 1.0 / held), e, wc, wd), name));
    }
    let mut ray = k * Vector2::new(-mu, 1.0);
    if ray.x <= 0.0 {
        ray = k * Vector2::new(mu, 1.0);
    }
    let name = match place {
        "compression" => "7 after 4(b), unstable",
        "restitution" => "7 after 4(c), unstable",
        _ => "7, unstable",
    };
    Some((finish(u, ray, e, wc, wd), name))
}

/// Step 8.
fn finish(u: Vector2<f64>, ray: Vector2<f64>, e: f64, wc: f64, wd: f64) -> Vector2<f64> {
    let (mut y, mut wc) = (u.y, wc);
    if y < 0.0 {
        wc -= y * y / (2.0 * ray.y);
        y = 0.0;
    }
    let end = (2.0 * ray.y * (-e * e * wc - wd) + y * y).max(0.0).sqrt();
    Vector2::new(ray.x / ray.y * (end - u.y) + u.x, end)
}

pub fn section_5_2(report: &mut Report) -> Result<(), Failure> {
    let mut random = Random::new(52);
    let mut branches: BTreeMap<&'static str, usize> = BTreeMap::new();
    let (mut apart, mut integrated): (f64, f64) = (0.0, 0.0);
    const CASES: usize = 4000;
    for number in 0..CASES {
        let b = Matrix2::from_fn(|_, _| random.between(-1.0, 1.0));
        let k = b * b.transpose() + Matrix2::identity() * 0.02;
        let (mu, e) = (random.between(0.0, 1.5), random.unit());
        let still = number % 20 == 0;
        let u = Vector2::new(if still { 0.0 } else { random.between(-1.0, 1.0) }, random.between(-1.5, -0.1));
        let (end, branch) = printed(&k, mu, e, u).ok_or("singular")?;
        *branches.entry(branch).or_default() += 1;
        let ours = collide_planar([[k.m11, k.m12], [k.m12, k.m22]], mu, e, [u.x, u.y]);
        let scale = 1.0 + end.norm();
        apart = apart.max((end - Vector2::new(ours.velocity[0], ours.velocity[1])).norm() / scale);
        if number % 20 == 1 {
            // In space, with a second tangent that is not coupled.
            let space = Matrix3::new(k.m11, 0.0, k.m12, 0.0, 1.0, 0.0, k.m12, 0.0, k.m22);
            let found = collide_contact_under::<Spatial>(&rows(&space), &Terms::new(mu, e), Vector3::new(u.x, 0.0, u.y))?;
            integrated = integrated.max((end - Vector2::new(found.velocity.x, found.velocity.z)).norm() / scale);
        }
    }
    let seen = branches.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join("; ");
    report.words(
        "steps 3 to 8 as printed",
        "closed forms for every ray",
        format!("equal to the engine's to 1e-10 in {CASES} collisions: {}", apart < 1e-10),
        apart < 1e-10,
    );
    report.words(
        "the planar case is a special case of the spatial one",
        "yes",
        format!("equal to the integration in space to 1e-8 in {}: {}", CASES / 20, integrated < 1e-8),
        integrated < 1e-8,
    );
    report.words("branches met", "", seen, branches.len() >= 8);
    // The branch map: which way a given K takes for every direction of approach and every friction.
    let k = Matrix2::new(1.0, 0.55, 0.55, 0.6);
    let mut map: BTreeMap<&'static str, Vec<(f64, f64)>> = BTreeMap::new();
    for i in 0..=40 {
        for j in 0..=20 {
            let (angle, mu) = (-88.0 + 176.0 * i as f64 / 40.0, 1.2 * j as f64 / 20.0);
            let (sin, cos) = f64::to_radians(angle).sin_cos();
            let rows = [[k.m11, k.m12, 0.0], [k.m12, k.m22, 0.0], [0.0; 3]];
            let end = collide_contact_under::<Planar>(&rows, &Terms::new(mu, 0.6), Vector2::new(sin, -cos))?;
            map.entry(end.branch.label()).or_default().push((angle, mu));
        }
    }
    let mut chart = Chart::new(
        "Branches of the planar collision, K = [[1, 0.55], [0.55, 0.6]], e = 0.6",
        "direction of approach from the normal [°]",
        "coefficient of friction",
    );
    for (label, points) in map {
        chart = chart.with(&label.replace('_', " "), Style::Dots, points);
    }
    report.chart = chart;
    Ok(())
}
