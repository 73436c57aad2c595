//! What the queries of mixed solids cost, pair by pair. Run: `cargo test --release -p carom-geometry speed -- --ignored --nocapture`.

use super::tests::Random;
use super::*;
use carom_math::Space;
use std::time::Instant;

type Place = Pose<Spatial>;

/// Gaps \[m\] at which pairs are timed: nearly at rest on each other, a little overlapping, some way apart.
const GAPS: [f64; 3] = [1e-7, -1e-7, 3e-2];
/// Pairs of each kind and gap.
const PAIRS: usize = 40;
/// How often each query is repeated; the fastest counts.
const REPEATS: usize = 25;

fn solids() -> [(&'static str, Shape); 5] {
    [
        ("ball", Shape::ball(0.1).unwrap()),
        ("box", Shape::cuboid(V::new(0.1, 0.07, 0.05)).unwrap()),
        ("capsule", Shape::capsule(0.05, 0.06).unwrap()),
        ("cylinder", Shape::cylinder(0.08, 0.08).unwrap()),
        ("cone", Shape::cone(0.09, 0.09).unwrap()),
    ]
}

/// Poses of a over b at the origin with a given gap.
fn placed(a: &Shape, b: &Shape, gap: f64, random: &mut Random) -> Vec<Place> {
    let mut list = Vec::new();
    while list.len() < PAIRS {
        let pose = random.pose(0.5);
        let mut out = Vec::new();
        Spatial::contacts(a, &pose, b, &Pose::identity(), 1.0, &mut out);
        if let Some(c) = out.iter().min_by(|x, y| x.gap.total_cmp(&y.gap)).filter(|c| c.gap > GAPS[2]) {
            list.push(Pose { position: pose.position - c.normal * (c.gap - gap), ..pose });
        }
    }
    list
}

/// Poses of a lying or standing on b almost flat: what piles are made of.
fn resting(a: &Shape, b: &Shape, random: &mut Random) -> Vec<Place> {
    let tilts = [0.0, 1e-12, 1e-9, 1e-6, 1e-3];
    let lying = [V::zeros(), V::y() * std::f64::consts::FRAC_PI_2, V::y() * std::f64::consts::PI];
    let pose = |i: usize| {
        let turn = Spatial::exp(random.vector(1.0) * tilts[i % tilts.len()]) * Spatial::exp(V::z() * random.within(-3.0, 3.0));
        let at = V::new(random.within(-0.1, 0.1), random.within(-0.1, 0.1), 0.5);
        let above = Pose { position: at, rotation: turn * Spatial::exp(lying[i / tilts.len() % lying.len()]) };
        let mut out = Vec::new();
        Spatial::contacts(a, &above, b, &Pose::identity(), 1.0, &mut out);
        let height = out.iter().filter(|c| c.normal.z > 0.5).fold(0.35, |m: f64, c| m.min(c.gap));
        Pose { position: at - V::z() * (height - GAPS[0]), ..above }
    };
    (0..PAIRS).map(pose).collect()
}

/// Least time of one query \[us\] over the repeats.
fn time(poses: &[Place], mut query: impl FnMut(usize, &Place)) -> f64 {
    let once = |query: &mut dyn FnMut(usize, &Place)| {
        let clock = Instant::now();
        for (i, pose) in poses.iter().enumerate() {
            query(i, pose);
        }
        clock.elapsed().as_secs_f64() / poses.len() as f64 * 1e6
    };
    (0..REPEATS).map(|_| once(&mut query)).fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "prints times"]
fn speed_by_pair() {
    let origin = Pose::identity();
    println!("{:<20}{:>9}{:>12}{:>12}{:>12}{:>12} [us]", "pair", "gap", "separation", "cut off", "contacts", "evaluate");
    let solids = solids();
    for (i, (name_a, a)) in solids.iter().enumerate() {
        for (name_b, b) in &solids[i..] {
            for gap in [GAPS[0], GAPS[1], GAPS[2], 0.0] {
                let mut random = Random(1 + i as u64);
                let poses = if gap == 0.0 { resting(a, b, &mut random) } else { placed(a, b, gap, &mut random) };
                let mut sum = 0.0;
                let far = time(&poses, |_, pose| sum += Spatial::separation(a, pose, b, &origin, 0.5 * gap.abs()).min(1.0));
                let separation = time(&poses, |_, pose| sum += Spatial::separation(a, pose, b, &origin, f64::INFINITY));
                let mut out = Vec::new();
                let contacts = time(&poses, |_, pose| {
                    out.clear();
                    Spatial::contacts(a, pose, b, &origin, 1e-3, &mut out);
                    sum += out.len() as f64;
                });
                let features: Vec<_> = poses
                    .iter()
                    .map(|pose| {
                        out.clear();
                        Spatial::contacts(a, pose, b, &origin, 1.0, &mut out);
                        out[0].feature
                    })
                    .collect();
                let evaluate = time(&poses, |k, pose| sum += Spatial::evaluate(features[k], a, pose, b, &origin).gap);
                assert!(sum.is_finite());
                println!("{:<20}{gap:>9.0e}{separation:>12.2}{far:>12.2}{contacts:>12.2}{evaluate:>12.2}", format!("{name_a}-{name_b}"));
            }
        }
    }
}
