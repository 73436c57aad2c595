//! Shapes alone: mass, boxes, bad numbers; and what contacts cost.

use super::*;

#[test]
fn mass_boxes_and_reach_agree_with_sums_over_a_grid() {
    let mut random = Random(7);
    for _ in 0..count(30, 300) {
        let shape = random.bounded();
        let Some(mass) = Planar::mass_properties(&shape) else { continue };
        let place = random.pose(2.0);
        let bounds = Planar::bounds(&shape, &place);
        let point = Shape::ball(1e-300).unwrap();
        let cells = 300;
        let step = (bounds.max - bounds.min) / cells as f64;
        let (mut area, mut first, mut second) = (0.0, Vector2::zeros(), 0.0);
        let about = random.point(1.0);
        let mut farthest: f64 = 0.0;
        for i in 0..cells {
            for j in 0..cells {
                let x = bounds.min + Vector2::new((i as f64 + 0.5) * step.x, (j as f64 + 0.5) * step.y);
                if separation(&point, &Pose { position: x, rotation: place.rotation }, &shape, &place) <= 0.0 {
                    area += step.x * step.y;
                    first += x * step.x * step.y;
                    second += x.norm_squared() * step.x * step.y;
                    farthest = farthest.max((place.local_point(x) - about).norm());
                }
            }
        }
        let placed = mass.placed(&place);
        let centre = first / area;
        let inertia = second - area * centre.norm_squared();
        // Cells on the rim are counted whole or not at all.
        let rim = step.norm() * Planar::extent(&shape);
        assert!((area - mass.mass).abs() < rim, "{shape:?} {area} {mass:?}");
        assert!((centre - placed.centre).norm() < rim * Planar::extent(&shape) / area);
        assert!((inertia - mass.inertia.x).abs() < rim * Planar::extent(&shape).powi(2), "{shape:?} {inertia} {mass:?}");
        let reach = Planar::reach(&shape, about);
        assert!(reach >= farthest - 1e-12 && reach < farthest + 3.0 * step.norm(), "{reach} {farthest}");
    }
    let (slab, offset) = (Planar::mass_properties(&Shape::cuboid(2.0, 0.6).unwrap()).unwrap(), Vector2::new(30.0, -7.0));
    let corners = [(-1.0, -0.3), (1.0, -0.3), (1.0, 0.3), (-1.0, 0.3)].map(|(x, y)| Vector2::new(x, y) + offset);
    let far = Planar::mass_properties(&Shape::convex(&corners).unwrap()).unwrap();
    assert!((slab.mass - 1.2).abs() < 1e-15 && (slab.inertia.x - 1.2 * (4.0 + 0.36) / 12.0).abs() < 1e-15);
    assert!((far.mass - slab.mass).abs() < 1e-14 && (far.inertia.x - slab.inertia.x).abs() < 1e-13 && (far.centre - offset).norm() < 1e-14);
    let (capsule, r, h) = (Planar::mass_properties(&Shape::capsule(1.0, 0.3).unwrap()).unwrap(), 0.3_f64, 0.5_f64);
    let stadium: Vec<_> = (0..20_000)
        .map(|k| std::f64::consts::TAU * k as f64 / 20_000.0)
        .map(|t| Vector2::new(r * t.cos() + h * t.cos().signum(), r * t.sin()))
        .collect();
    let polygon = Planar::mass_properties(&Shape::convex(&stadium).unwrap()).unwrap();
    assert!((polygon.mass - capsule.mass).abs() < 1e-6 && (polygon.inertia.x - capsule.inertia.x).abs() < 1e-6);
}

#[test]
fn boxes_are_tight() {
    let mut random = Random(8);
    for _ in 0..500 {
        let (shape, place) = (random.bounded(), random.pose(2.0));
        let bounds = Planar::bounds(&shape, &place);
        for (normal, offset) in
            [(Vector2::x(), -bounds.max.x), (-Vector2::x(), bounds.min.x), (Vector2::y(), -bounds.max.y), (-Vector2::y(), bounds.min.y)]
        {
            // A half-space closing in from outside touches exactly at the side of the box.
            let wall = Shape::half_space(-normal).unwrap();
            assert!(separation(&shape, &place, &wall, &Pose { position: normal * -offset, ..Pose::identity() }).abs() < 1e-14);
        }
    }
    let floor = Shape::half_space(Vector2::y()).unwrap();
    let level = Planar::bounds(&floor, &pose(1.0, 2.0, 0.0));
    assert!(level.max.y == 2.0 && level.min.y == f64::NEG_INFINITY && level.max.x == f64::INFINITY);
    assert_eq!(Planar::bounds(&floor, &pose(1.0, 2.0, 0.1)), Aabb::everything());
}

#[test]
fn bad_numbers_are_refused() {
    use crate::shape_error::ShapeError;
    assert!(matches!(Shape::ball(-1.0), Err(ShapeError::NotPositive { what: "radius", .. })));
    assert!(matches!(Shape::ball(f64::NAN), Err(ShapeError::NotFinite { .. })));
    assert!(Shape::cuboid(1.0, 0.0).is_err() && Shape::capsule(0.0, 1.0).is_err() && Shape::capsule(1.0, f64::INFINITY).is_err());
    assert!(matches!(Shape::half_space(Vector2::zeros()), Err(ShapeError::Degenerate { .. })));
    assert!(matches!(Shape::segment(Vector2::x(), Vector2::x()), Err(ShapeError::Degenerate { .. })));
    assert!(matches!(Shape::heightfield(&[1.0], 1.0), Err(ShapeError::TooFewPoints { .. })));
    assert!(Shape::heightfield(&[1.0, f64::NAN], 1.0).is_err() && Shape::heightfield(&[1.0, 2.0], 0.0).is_err());
}

#[test]
fn foreign_features_do_not_panic() {
    let mut random = Random(9);
    for _ in 0..2000 {
        let (a, b) = (random.any(), random.any());
        let (i, j) = ((random.next() * 40.0) as u32, if random.next() < 0.1 { u32::MAX } else { (random.next() * 40.0) as u32 });
        for feature in [
            Feature::PointPoint { a: i, b: j },
            Feature::PointFace { a: i, b: j },
            Feature::FacePoint { a: i, b: j },
            Feature::EdgeFace { a: i, b: j, end: End::Stop },
            Feature::FaceEdge { a: i, b: j, end: End::Start },
        ] {
            let _ = Planar::evaluate(feature, &a, &random.pose(1.0), &b, &random.pose(1.0));
        }
    }
}

#[test]
#[ignore = "measures time"]
fn cost_of_contacts() {
    let (ball, cube) = (Shape::ball(0.5).unwrap(), Shape::cuboid(1.0, 1.0).unwrap());
    let (capsule, floor) = (Shape::capsule(1.0, 0.2).unwrap(), Shape::half_space(Vector2::y()).unwrap());
    let hull = Shape::convex(&(0..32).map(|k| k as f64 * 0.196).map(|t| Vector2::new(t.cos(), t.sin()) * 0.5).collect::<Vec<_>>()).unwrap();
    let mut random = Random(10);
    for (name, a, b) in [
        ("ball-ball", &ball, &ball),
        ("ball-box", &ball, &cube),
        ("box-box", &cube, &cube),
        ("box-floor", &cube, &floor),
        ("capsule-box", &capsule, &cube),
        ("hull-hull", &hull, &hull),
    ] {
        let rest = if b == &floor {
            0.5
        } else if a == &capsule {
            0.7
        } else {
            1.0
        };
        for (kind, tilt, high) in [("resting", 1e-3, rest), ("tilted", 0.6, rest), ("far", 0.6, 3.0)] {
            let poses: Vec<_> =
                (0..1024).map(|_| (pose(random.within(-0.4, 0.4), high, random.within(-tilt, tilt)), pose(0.0, 0.0, 0.0))).collect();
            let mut out = Vec::with_capacity(4);
            let (mut total, mut gaps) = (0, 0.0);
            // The best of many rounds: the machine has other work.
            let best = |work: &mut dyn FnMut(&Pose, &Pose)| {
                let round = |_| {
                    let start = std::time::Instant::now();
                    poses.iter().for_each(|(p, q)| work(p, q));
                    start.elapsed().as_secs_f64() * 1e9 / poses.len() as f64
                };
                (0..300).map(round).fold(f64::INFINITY, f64::min)
            };
            let one = best(&mut |p, q| {
                out.clear();
                Planar::contacts(a, p, b, q, 0.1, &mut out);
                total += out.len();
            });
            let two = best(&mut |p, q| gaps += Planar::separation(a, p, b, q, f64::INFINITY));
            let points = total as f64 / (300 * poses.len()) as f64;
            println!("{name:12} {kind:8} contacts {one:6.1} ns ({points:.2} points) separation {two:6.1} ns");
            assert!(gaps.is_finite());
        }
    }
}
