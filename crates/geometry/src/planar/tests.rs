//! Contacts of the plane against closed forms, a second road to the distance, and finite differences.

mod shapes;

use super::*;
use carom_math::{Space, Twist};
use nalgebra::Vector1;

fn pose(x: f64, y: f64, angle: f64) -> Pose {
    Pose { position: Vector2::new(x, y), rotation: Planar::exp(Vector1::new(angle)) }
}
fn contacts(a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose, reach: f64) -> Vec<Contact<Planar>> {
    let mut out = Vec::new();
    Planar::contacts(a, pose_a, b, pose_b, reach, &mut out);
    out
}
fn separation(a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose) -> f64 {
    Planar::separation(a, pose_a, b, pose_b, f64::INFINITY)
}
fn count(few: usize, many: usize) -> usize {
    if std::env::var("CAROM_FULL").is_ok_and(|v| v == "1") { many } else { few }
}

struct Random(u64);
impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }
    fn point(&mut self, reach: f64) -> Vector2<f64> {
        Vector2::new(self.within(-reach, reach), self.within(-reach, reach))
    }
    fn pose(&mut self, reach: f64) -> Pose {
        let at = self.point(reach);
        pose(at.x, at.y, self.within(-4.0, 4.0))
    }
    fn bounded(&mut self) -> Shape {
        match (self.next() * 5.0) as usize {
            0 => Shape::ball(self.within(0.05, 1.0)).unwrap(),
            1 => Shape::cuboid(self.within(0.1, 2.0), self.within(0.1, 2.0)).unwrap(),
            2 => Shape::capsule(self.within(0.1, 2.0), self.within(0.05, 0.7)).unwrap(),
            3 => Shape::segment(self.point(1.0), self.point(1.0)).unwrap(),
            _ => {
                let corners = 3 + (self.next() * 12.0) as usize;
                Shape::convex(&(0..corners).map(|_| self.point(1.0)).collect::<Vec<_>>()).unwrap()
            }
        }
    }
    fn ground(&mut self) -> Shape {
        if self.next() < 0.5 {
            Shape::half_space(self.point(1.0)).unwrap()
        } else {
            let nodes = 2 + (self.next() * 12.0) as usize;
            let rough = self.next();
            Shape::heightfield(&(0..nodes).map(|_| self.within(-rough, rough)).collect::<Vec<_>>(), self.within(0.2, 1.0)).unwrap()
        }
    }
    fn any(&mut self) -> Shape {
        if self.next() < 0.25 { self.ground() } else { self.bounded() }
    }
}

/// Signed distance by another road: that of the origin from the hull of all differences of corners.
fn distance_by_differences(a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose) -> Option<f64> {
    let (mut store_a, mut store_b) = (Store::default(), Store::default());
    let (core_a, core_b) = (a.rounded(&mut store_a)?, b.rounded(&mut store_b)?);
    let mut points = Vec::new();
    for v in core_a.vertices {
        points.extend(core_b.vertices.iter().map(|w| pose_a.point(*v) - pose_b.point(*w)));
    }
    let radius = core_a.radius + core_b.radius;
    if points.len() <= 2 {
        let (p, q) = (points[0], *points.last()?);
        let e = q - p;
        let t = if points.len() == 2 { (-p.dot(&e) / e.norm_squared()).clamp(0.0, 1.0) } else { 0.0 };
        return Some((p + e * t).norm() - radius);
    }
    let hull = Polygon::hull(&points).ok()?;
    let n = hull.vertices().len();
    let inside = hull.vertices().iter().zip(hull.normals()).map(|(v, n)| -n.dot(v)).fold(f64::NEG_INFINITY, f64::max);
    if inside <= 0.0 {
        return Some(inside - radius);
    }
    let to_edge = |i: usize| {
        let (p, q) = (hull.vertices()[i], hull.vertices()[(i + 1) % n]);
        let e = q - p;
        (p + e * (-p.dot(&e) / e.norm_squared()).clamp(0.0, 1.0)).norm()
    };
    Some((0..n).map(to_edge).fold(f64::INFINITY, f64::min) - radius)
}

#[test]
fn separation_and_least_gap_agree_with_the_difference_polygon() {
    let mut random = Random(1);
    let (mut apart, mut deep) = (0, 0);
    for _ in 0..count(20_000, 400_000) {
        let (a, b) = (random.bounded(), random.bounded());
        let (pose_a, pose_b) = (random.pose(1.5), random.pose(1.5));
        let Some(expected) = distance_by_differences(&a, &pose_a, &b, &pose_b) else { continue };
        let found = separation(&a, &pose_a, &b, &pose_b);
        // The road of differences drops corners flatter than 1e-9.
        assert!((found - expected).abs() < 4e-9, "{a:?} {pose_a:?} {b:?} {pose_b:?}: {found} {expected}");
        let list = contacts(&a, &pose_a, &b, &pose_b, f64::INFINITY);
        let least = list.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
        assert!((least - found).abs() < 1e-10, "{a:?} {pose_a:?} {b:?} {pose_b:?}: {list:?} {found}");
        assert!(list.len() <= 2 && !list.is_empty());
        let cutoff = random.next();
        let early = Planar::separation(&a, &pose_a, &b, &pose_b, cutoff);
        assert!(early == found || (early > cutoff && early <= found + 1e-14));
        if found > 0.0 { apart += 1 } else { deep += 1 }
    }
    assert!(apart > 1000 && deep > 1000, "{apart} {deep}");
}

#[test]
fn contacts_are_consistent_symmetric_and_reproduced_by_evaluate() {
    let mut random = Random(2);
    let mut found = 0;
    for _ in 0..count(30_000, 300_000) {
        let (a, b) = (random.any(), random.any());
        let (pose_a, pose_b) = (random.pose(1.5), random.pose(1.5));
        let reach = random.within(0.0, 0.3);
        let list = contacts(&a, &pose_a, &b, &pose_b, reach);
        let mirrored = contacts(&b, &pose_b, &a, &pose_a, reach);
        assert_eq!(list.len(), mirrored.len());
        assert_eq!(separation(&a, &pose_a, &b, &pose_b).signum(), separation(&b, &pose_b, &a, &pose_a).signum());
        for (k, (c, m)) in list.iter().zip(&mirrored).enumerate() {
            found += 1;
            assert!(c.gap <= reach);
            assert!((c.normal.norm() - 1.0).abs() < 1e-14);
            assert!((c.normal.dot(&(c.point_a - c.point_b)) - c.gap).abs() < 1e-14);
            assert_eq!((c.gap, -c.normal, c.point_a, c.point_b), (m.gap, m.normal, m.point_b, m.point_a));
            assert_eq!(c.feature, m.feature.swapped());
            assert_eq!(*c, Planar::evaluate(c.feature, &a, &pose_a, &b, &pose_b));
            for other in &list[k + 1..] {
                // A corner in a valley touches both sides of it.
                let same = (c.point_a - other.point_a).norm() + (c.normal - other.normal).norm() < 1e-8;
                assert!(c.feature != other.feature && !same, "{a:?} {pose_a:?} {b:?} {pose_b:?} {list:?}");
            }
        }
    }
    assert!(found > 10_000);
}

#[test]
fn gap_follows_the_points_of_the_features() {
    // dgap = n.(du_a - du_b) at the contact points for all but cut edges; theory (7.7) adds the slide of the cut.
    let mut random = Random(3);
    let mut kinds = [0; 3];
    for _ in 0..count(3000, 50_000) {
        let (a, b) = (random.any(), random.any());
        let (pose_a, pose_b) = (random.pose(1.0), random.pose(1.0));
        let (va, vb) = (random.point(1.0), random.point(1.0));
        let (ta, tb) = (
            Twist::<Planar> { lin: va, ang: Vector1::new(random.within(-1.0, 1.0)) },
            Twist::<Planar> { lin: vb, ang: Vector1::new(random.within(-1.0, 1.0)) },
        );
        for c in contacts(&a, &pose_a, &b, &pose_b, 0.5) {
            let h = 1e-5;
            let at = |t: f64| Planar::evaluate(c.feature, &a, &pose_a.advanced(ta, t), &b, &pose_b.advanced(tb, t));
            let numeric = (at(h).gap - at(-h).gap) / (2.0 * h);
            let speed = ta.at(c.point_a - pose_a.position) - tb.at(c.point_b - pose_b.position);
            let normal_speed = c.normal.dot(&speed);
            match c.feature {
                Feature::EdgeFace { .. } | Feature::FaceEdge { .. } => {
                    // The cut slides with the tangential speed, on an edge tilted by a quarter of a radian at most (rates are below 1).
                    let slide = speed.norm() + 2.0 * (c.gap.abs() + a.radius() + b.radius());
                    assert!((numeric - normal_speed).abs() < 0.25_f64.tan() * slide + 1e-7, "{numeric} {normal_speed}");
                    kinds[2] += 1;
                }
                Feature::PointPoint { .. } => {
                    let radius = a.radius() + b.radius();
                    if c.gap + radius > 0.05 {
                        assert!((numeric - normal_speed).abs() < 1e-6, "{numeric} {normal_speed}");
                        kinds[0] += 1;
                    }
                }
                _ => {
                    assert!((numeric - normal_speed).abs() < 1e-7, "{numeric} {normal_speed}");
                    kinds[1] += 1;
                }
            }
        }
    }
    assert!(kinds.iter().all(|k| *k > 50), "{kinds:?}");
}

#[test]
fn cut_points_slide_along_a_tilted_edge() {
    // A plank tilted by d over a narrow box: the cut stays over the box's corner, so that moving the plank by x lifts it by x tan d.
    let (plank, narrow) = (Shape::cuboid(4.0, 0.2).unwrap(), Shape::cuboid(1.0, 1.0).unwrap());
    let tilt = 0.05_f64;
    let feature = Feature::EdgeFace { a: 0, b: 2, end: End::Start };
    let gap = |x: f64| Planar::evaluate(feature, &plank, &pose(x, 0.7, tilt), &narrow, &pose(0.0, 0.0, 0.0));
    // The lower side of the plank over x = 1/2: height 0.7 - 0.1/cos d + (1/2 - x) tan d, the box's top at 1/2.
    let expected = |x: f64| 0.2 - 0.1 / tilt.cos() + (0.5 - x) * tilt.tan();
    for x in [0.0, 0.3, -0.2] {
        assert!((gap(x).gap - expected(x)).abs() < 1e-15);
        assert!((gap(x).point_b - Vector2::new(0.5, 0.5)).norm() < 1e-15);
    }
}

#[test]
fn box_on_ground_has_two_points_however_it_rocks() {
    let cube = Shape::cuboid(1.0, 1.0).unwrap();
    let floor = Shape::half_space(Vector2::y()).unwrap();
    for exponent in 2..=16 {
        for sign in [-1.0, 0.0, 1.0] {
            let tilt: f64 = sign * 10_f64.powi(-exponent);
            let height = 0.5 * (tilt.cos() + tilt.sin().abs());
            let list = contacts(&cube, &pose(3.0, height, tilt), &floor, &pose(0.0, 0.0, 0.0), 0.02);
            assert_eq!(list.len(), 2, "tilt {tilt}");
            let lift = tilt.sin().abs();
            assert!(list[0].gap.abs() < 1e-15 && (list[1].gap - lift).abs() < 1e-15);
            assert!(
                contacts(&cube, &pose(3.0, height, tilt), &floor, &pose(0.0, 0.0, 0.0), lift * 0.5).len() <= 1 + usize::from(lift < 1e-15)
            );
        }
    }
    assert_eq!(contacts(&cube, &pose(0.0, 0.8, 0.8), &floor, &pose(0.0, 0.0, 0.0), 1e-1).len(), 1);
}

#[test]
fn box_on_box_keeps_both_points_while_it_rocks() {
    let mut random = Random(4);
    for (width, offset) in [(1.0, 0.0), (1.0, 0.3), (0.6, 0.1), (2.0, 0.2), (1.0, -1e-12), (1.0, 1e-16), (1.0, 1e-9), (0.6, 0.2)] {
        let (upper, lower) = (Shape::cuboid(width, 1.0).unwrap(), Shape::cuboid(1.0, 1.0).unwrap());
        for exponent in 2..=16 {
            for sign in [-1.0, 0.0, 1.0] {
                for gap in [0.0, 1e-6, -1e-6, 1e-12, -1e-12, 1e-15] {
                    let tilt: f64 = sign * 10_f64.powi(-exponent);
                    // Turned about the lower edge of the upper box's centre line, then lifted so that nothing sinks in deeper than the gap.
                    let place = |h: f64| pose(offset + 0.5 * tilt.sin(), 0.5 + h + 0.5 * (2.0 - tilt.cos()), tilt);
                    let ground = pose(0.0, 0.0, 0.0);
                    let height = (0..4).fold(0.0, |h, _| h + gap - separation(&upper, &place(h), &lower, &ground));
                    let world = random.pose(3.0);
                    let (high, low) = (world.compose(&place(height)), world.compose(&ground));
                    assert!((separation(&upper, &high, &lower, &low) - gap).abs() < 1e-14);
                    let list = contacts(&upper, &high, &lower, &low, 0.05);
                    assert_eq!(list.len(), 2, "width {width} offset {offset} tilt {tilt} gap {gap}: {list:?}");
                    let (least, most) = (list[0].gap.min(list[1].gap), list[0].gap.max(list[1].gap));
                    assert!((least - gap).abs() < 1e-11, "{least} {gap}");
                    let lift = tilt.abs() * (list[0].point_a - list[1].point_a).norm();
                    assert!((most - least - lift).abs() < 1e-11 + 2.0 * lift * tilt.abs() + gap.abs() * 1e-3, "{most} {least} {lift}");
                    let overlap = (0.5 * width + offset).min(0.5) - (offset - 0.5 * width).max(-0.5);
                    assert!(((list[0].point_a - list[1].point_a).norm() - overlap).abs() < 0.02);
                    let up = world.direction(Vector2::y());
                    assert!(list.iter().all(|c| (c.normal - up).norm() <= 1.01 * tilt.abs() + 1e-9), "{list:?}");
                }
            }
        }
    }
}

#[test]
fn real_corners_are_preferred_to_cuts() {
    let is_corner = |c: &Contact<Planar>| matches!(c.feature, Feature::PointFace { .. } | Feature::FacePoint { .. });
    let (wide, narrow) = (Shape::cuboid(2.0, 0.5).unwrap(), Shape::cuboid(1.0, 0.5).unwrap());
    let (low, high) = (pose(0.0, 0.0, 0.0), pose(0.1, 0.5, 0.0));
    for (lower, upper) in [(&wide, &narrow), (&narrow, &wide), (&narrow, &narrow)] {
        let list = contacts(upper, &high, lower, &low, 1e-3);
        assert_eq!(list.len(), 2);
        let corners = list.iter().filter(|c| is_corner(c)).count();
        assert_eq!(corners, if lower == upper { 1 } else { 2 });
    }
    let aligned = contacts(&narrow, &pose(1e-16, 0.5, 0.0), &narrow, &low, 1e-3);
    assert!(aligned.len() == 2 && aligned.iter().all(is_corner));
}

#[test]
fn a_corner_past_the_end_of_a_face_meets_its_corner() {
    let cube = Shape::cuboid(1.0, 1.0).unwrap();
    let list = contacts(&cube, &pose(1.03, 1.04, 0.0), &cube, &pose(0.0, 0.0, 0.0), 0.1);
    assert_eq!(list.len(), 1);
    assert_eq!(list[0].feature, Feature::PointPoint { a: 0, b: 2 });
    assert!((list[0].gap - 0.05).abs() < 1e-15 && (list[0].normal - Vector2::new(0.6, 0.8)).norm() < 1e-13);
}

#[test]
fn rounded_shapes_rest_on_two_points() {
    let capsule = Shape::capsule(1.0, 0.25).unwrap();
    let bench = Shape::cuboid(3.0, 1.0).unwrap();
    let floor = Shape::half_space(Vector2::y()).unwrap();
    for tilt in [0.0, 1e-12, 1e-6, -1e-3, 1e-2] {
        let height = 0.25 + 0.5 * f64::sin(tilt).abs();
        let lift = f64::sin(tilt).abs();
        for list in [
            contacts(&capsule, &pose(0.2, height, tilt), &floor, &pose(0.0, 0.0, 0.0), 0.02),
            contacts(&capsule, &pose(0.2, height + 0.5, tilt), &bench, &pose(0.0, 0.0, 0.0), 0.02),
            // Hanging over the end of the bench.
            contacts(&capsule, &pose(1.5, height + 0.5, tilt), &bench, &pose(0.0, 0.0, 0.0), 0.02),
        ] {
            assert_eq!(list.len(), 2, "{tilt}");
            let (least, most) = (list[0].gap.min(list[1].gap), list[0].gap.max(list[1].gap));
            assert!((-1e-15..0.006).contains(&least) && most <= lift * 1.01 + 1e-14, "{list:?}");
        }
        let lying = pose(0.0, 0.5, 0.0);
        assert_eq!(contacts(&capsule, &pose(0.3, 0.5 + height + 0.25, tilt), &capsule, &lying, 0.02).len(), 2);
    }
    // End to end and crossed.
    let ends = contacts(&capsule, &pose(1.6, 0.0, 0.0), &capsule, &pose(0.0, 0.0, 0.0), 0.2);
    assert!(ends.len() == 1 && (ends[0].gap - 0.1).abs() < 1e-15 && (ends[0].normal - Vector2::x()).norm() < 1e-15);
    let crossed = contacts(&capsule, &pose(0.0, 0.1, std::f64::consts::FRAC_PI_2), &capsule, &pose(0.0, 0.0, 0.0), 0.2);
    assert!(crossed.len() == 1 && (crossed[0].gap + 0.9).abs() < 1e-15, "{crossed:?}");
}

#[test]
fn ball_in_a_box_leaves_by_the_nearest_face() {
    let (ball, cube) = (Shape::ball(0.2).unwrap(), Shape::cuboid(2.0, 2.0).unwrap());
    let list = contacts(&ball, &pose(0.7, 0.1, 0.0), &cube, &pose(0.0, 0.0, 0.0), 0.0);
    assert_eq!(list.len(), 1);
    assert!((list[0].gap + 0.5).abs() < 1e-15 && list[0].normal == Vector2::x());
    assert!((list[0].point_b - Vector2::new(1.0, 0.1)).norm() < 1e-15 && (list[0].point_a - Vector2::new(0.5, 0.1)).norm() < 1e-15);
    let both = contacts(&ball, &pose(1.0, 1.0, 0.0), &ball, &pose(1.0, 1.0, 0.0), 0.0);
    assert!(both[0].normal == Vector2::y() && (both[0].gap + 0.4).abs() < 1e-15);
}

#[test]
fn walls_are_solid_from_both_sides() {
    let wall = Shape::segment(Vector2::new(-2.0, 0.0), Vector2::new(2.0, 0.0)).unwrap();
    let cube = Shape::cuboid(1.0, 1.0).unwrap();
    for side in [1.0, -1.0] {
        let list = contacts(&cube, &pose(0.3, side * 0.501, 0.0), &wall, &pose(0.0, 0.0, 0.0), 0.01);
        assert_eq!(list.len(), 2);
        assert!(list.iter().all(|c| (c.gap - 1e-3).abs() < 1e-15 && c.normal == Vector2::new(0.0, side)));
    }
    let other = Shape::segment(Vector2::new(2.5, 0.0), Vector2::new(3.0, 0.0)).unwrap();
    assert_eq!(separation(&wall, &pose(0.0, 0.0, 0.0), &other, &pose(0.0, 0.0, 0.0)), 0.5);
}

#[test]
fn level_ground_of_many_faces_is_as_smooth_as_one() {
    let field = Shape::heightfield(&[0.5; 11], 0.5).unwrap();
    let at = pose(0.0, -0.5, 0.0);
    let (ball, cube) = (Shape::ball(0.2).unwrap(), Shape::cuboid(1.0, 0.4).unwrap());
    for k in 0..1000 {
        let x = -1.5 + 0.003 * k as f64;
        // A little sunk in, where the corners between the faces would catch a careless box.
        let list = contacts(&ball, &pose(x, 0.2 - 1e-7, 0.0), &field, &at, 1e-3);
        assert!(list.len() == 1 && list[0].normal == Vector2::y() && (list[0].gap + 1e-7).abs() < 1e-15, "{list:?}");
        let list = contacts(&cube, &pose(x, 0.2 - 1e-7, 1e-9), &field, &at, 1e-3);
        assert!(list.len() == 2 && list.iter().all(|c| c.normal == Vector2::y() && (c.gap + 1e-7).abs() < 1e-9), "{x} {list:?}");
    }
}

#[test]
fn valleys_hold_twice_and_peaks_once() {
    let valley = Shape::heightfield(&[1.0, 0.0, 1.0], 1.0).unwrap();
    let ball = Shape::ball(0.2).unwrap();
    let at = pose(0.0, 0.0, 0.0);
    let list = contacts(&ball, &pose(0.0, 0.2 * 2_f64.sqrt(), 0.0), &valley, &at, 1e-3);
    assert!(list.len() == 2 && list.iter().all(|c| c.gap.abs() < 1e-15), "{list:?}");
    let peak = Shape::heightfield(&[0.0, 1.0, 0.0], 1.0).unwrap();
    let list = contacts(&ball, &pose(0.0, 1.2, 0.0), &peak, &at, 1e-3);
    assert!(list.len() == 1 && list[0].gap.abs() < 1e-15 && list[0].normal == Vector2::y(), "{list:?}");
    let board = Shape::cuboid(1.0, 0.1).unwrap();
    let list = contacts(&board, &pose(0.1, 1.05, 0.2), &peak, &at, 1e-2);
    assert!(list.len() == 1 && matches!(list[0].feature, Feature::FacePoint { a: 0, b: 1 }), "{list:?}");
}

#[test]
fn distance_from_rough_ground_is_that_of_its_columns() {
    let mut random = Random(6);
    let mut compared = 0;
    for _ in 0..count(5000, 100_000) {
        let nodes = 2 + (random.next() * 10.0) as usize;
        let rough = random.next();
        let heights: Vec<f64> = (0..nodes).map(|_| random.within(-rough, rough)).collect();
        let spacing = random.within(0.2, 1.0);
        let (field, body) = (Shape::heightfield(&heights, spacing).unwrap(), random.bounded());
        let (pose_field, pose_body) = (random.pose(1.0), random.pose(2.0));
        let width = spacing * (nodes - 1) as f64;
        let column = |k: usize| {
            let (l, r) = (field.vertex(k as u32), field.vertex(k as u32 + 1));
            let deep = -20.0;
            Shape::convex(&[l, r, Vector2::new(r.x, deep), Vector2::new(l.x, deep)]).unwrap()
        };
        let expected = (0..nodes - 1).map(|k| separation(&body, &pose_body, &column(k), &pose_field)).fold(f64::INFINITY, f64::min);
        let found = separation(&body, &pose_body, &field, &pose_field);
        // Beside the ground its side walls are nearer, and they are not part of it.
        let mut store = Store::default();
        let above =
            body.rounded(&mut store).unwrap().vertices.iter().all(|v| pose_field.local_point(pose_body.point(*v)).x.abs() < 0.5 * width);
        if expected > 0.0 && above {
            assert!((found - expected).abs() < 1e-10, "{found} {expected} {field:?} {body:?}");
            compared += 1;
        } else {
            assert!(found >= expected - 1e-9 || expected < 0.0);
            assert!(!(expected > 1e-9 && found < -1e-9));
        }
    }
    assert!(compared > 300, "{compared}");
}
