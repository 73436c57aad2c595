//! Contacts tested by geometry: closed forms, all features by hand, exchange of the shapes, motion of both, slopes.

mod shapes;

use super::core::Core;
use super::*;
use carom_math::{Space, Twist};
use nalgebra::UnitQuaternion;

type Place = Pose<Spatial>;

/// Gaps \[m\] at which closed forms are checked.
const GAPS: [f64; 9] = [0.0, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3];

/// A small generator of repeatable numbers.
pub(super) struct Random(pub u64);

impl Random {
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
    pub fn vector(&mut self, size: f64) -> V {
        V::new(self.within(-size, size), self.within(-size, size), self.within(-size, size))
    }
    pub fn pose(&mut self, size: f64) -> Place {
        let turn = self.vector(3.0);
        Pose { position: self.vector(size), rotation: Spatial::exp(turn) }
    }
}

pub(super) fn rounds(few: usize, many: usize) -> usize {
    if std::env::var_os("CAROM_FULL").is_some_and(|v| v == "1") { many } else { few }
}

pub(super) fn at(x: f64, y: f64, z: f64) -> Place {
    Pose { position: V::new(x, y, z), rotation: UnitQuaternion::identity() }
}

pub(super) fn found(a: &Shape, pa: &Place, b: &Shape, pb: &Place, reach: f64) -> Vec<Contact<Spatial>> {
    let mut out = Vec::new();
    Spatial::contacts(a, pa, b, pb, reach, &mut out);
    out
}

pub(super) fn least(list: &[Contact<Spatial>]) -> f64 {
    list.iter().fold(f64::INFINITY, |m, c| m.min(c.gap))
}

fn rock(random: &mut Random, points: usize) -> Shape {
    let size = random.within(0.2, 1.0);
    loop {
        let list: Vec<V> = (0..points).map(|_| random.vector(size)).collect();
        let shape = Shape::convex(&list).unwrap_or(Shape::Ball { radius: 1.0 });
        // Needles and sheets are left out: their features lie within rounding of each other.
        if Spatial::mass_properties(&shape).unwrap().mass > 1e-2 * size.powi(3) && matches!(shape, Shape::Convex(_)) {
            return shape;
        }
    }
}

/// A bounded shape of the kinds with a core.
fn bounded(random: &mut Random, kind: usize) -> Shape {
    let mut size = || random.within(0.1, 1.0);
    match kind {
        0 => Shape::ball(size()).unwrap(),
        1 => Shape::cuboid(V::new(size(), size(), size())).unwrap(),
        2 => Shape::capsule(size(), size()).unwrap(),
        3 => rock(random, 12),
        4 => rock(random, 4),
        _ => Shape::segment(random.vector(0.5), random.vector(0.5)).unwrap(),
    }
}
const KINDS: usize = 6;

fn check_consistent(c: &Contact<Spatial>, a: &Shape, pa: &Place, b: &Shape, pb: &Place) {
    assert!((c.normal.norm() - 1.0).abs() < 1e-12);
    let span = c.point_a - c.point_b;
    assert!((c.normal.dot(&span) - c.gap).abs() < 1e-12, "gap {} span {}", c.gap, c.normal.dot(&span));
    assert!((span - c.normal * c.gap).norm() < 1e-11, "witnesses {:?} {span:?}", c);
    let again = Spatial::evaluate(c.feature, a, pa, b, pb);
    assert!((again.gap - c.gap).abs() < 1e-13 && (again.normal - c.normal).norm() < 1e-13, "{c:?} {again:?}");
    assert!((again.point_a - c.point_a).norm() < 1e-13 && (again.point_b - c.point_b).norm() < 1e-13);
}

#[test]
fn distance_agrees_with_all_features_by_hand() {
    let mut random = Random(1);
    let mut apart = 0;
    for i in 0..rounds(3000, 100_000) {
        let (a, b) = (bounded(&mut random, i % KINDS), bounded(&mut random, i / KINDS % KINDS));
        let (pa, pb) = (random.pose(2.0), random.pose(2.0));
        let s = Spatial::separation(&a, &pa, &b, &pb, f64::INFINITY);
        let (x, y) = (Core::of(&a, &pa, pb.position).unwrap(), Core::of(&b, &pb, pb.position).unwrap());
        let hand = polyhedra::by_hand(&x, &y).distance - x.radius - y.radius;
        if s > -x.radius - y.radius + 1e-9 {
            apart += 1;
            assert!((s - hand).abs() < 1e-12, "{i}: {s} {hand} {a:?} {b:?}");
            let list = found(&a, &pa, &b, &pb, s + 1e-3);
            assert!(!list.is_empty() && (least(&list) - s).abs() < 1e-11, "{i}: {} {s}", least(&list));
            assert!(found(&a, &pa, &b, &pb, s - 1e-6 * (1.0 + s.abs())).is_empty());
            for cutoff in [0.5 * s, s + 0.1] {
                let bounded = Spatial::separation(&a, &pa, &b, &pb, cutoff);
                assert!(bounded <= s + 1e-12 && (bounded >= cutoff - 1e-12 || (bounded - s).abs() < 1e-12));
            }
        }
    }
    assert!(apart > 1000);
}

#[test]
fn moved_together_along_the_normal_the_gap_is_what_is_left() {
    let mut random = Random(2);
    let mut counted = 0;
    for i in 0..rounds(2000, 50_000) {
        let (a, b) = (bounded(&mut random, i % KINDS), bounded(&mut random, i / KINDS % KINDS));
        let (pa, pb) = (random.pose(2.0), random.pose(2.0));
        let s = Spatial::separation(&a, &pa, &b, &pb, f64::INFINITY);
        if s < 1e-2 {
            continue;
        }
        let list = found(&a, &pa, &b, &pb, s + 1e-6);
        let normal = list.iter().min_by(|x, y| x.gap.total_cmp(&y.gap)).unwrap().normal;
        for gap in GAPS {
            let near = Pose { position: pa.position - normal * (s - gap), rotation: pa.rotation };
            let list = found(&a, &near, &b, &pb, 2e-3);
            let g = least(&list);
            let (x, y) = (Core::of(&a, &near, pb.position).unwrap(), Core::of(&b, &pb, pb.position).unwrap());
            assert!(!list.is_empty(), "{i} {gap} {:?} {:?} {a:?} {b:?}", polyhedra::iterate(&x, &y, 1.0), polyhedra::by_hand(&x, &y));
            for c in &list {
                check_consistent(c, &a, &near, &b, &pb);
            }
            if gap >= 0.0 {
                assert!((g - gap).abs() < 2e-10, "{i} {gap} {g} {list:?} {a:?} {b:?}");
                assert!((Spatial::separation(&a, &near, &b, &pb, f64::INFINITY) - gap).abs() < 2e-10);
            } else {
                // Past a bare corner or edge a thin shape may slip by: then another axis shows a smaller gap.
                assert!(g <= -gap + 2e-10 && g >= 1.03 * gap - 2e-10, "{i} {gap} {g} {list:?}\n {a:?} {b:?}");
            }
            counted += 1;
        }
    }
    assert!(counted > 1000);
}

#[test]
fn exchange_of_the_shapes_turns_the_normals() {
    let mut random = Random(3);
    let ground = Shape::half_space(V::new(0.2, -0.1, 1.0)).unwrap();
    let mut counted = 0;
    for i in 0..rounds(6000, 50_000) {
        let a = bounded(&mut random, i % KINDS);
        let b = if i % 7 == 0 { ground.clone() } else { bounded(&mut random, i / KINDS % KINDS) };
        let (pa, pb) = (random.pose(0.8), random.pose(0.8));
        let reach = 0.1;
        let (mut one, mut two) = (found(&a, &pa, &b, &pb, reach), found(&b, &pb, &a, &pa, reach));
        // Deep in each other several axes may serve as well.
        if least(&one) < -0.1 {
            continue;
        }
        assert_eq!(one.len(), two.len(), "{i} {one:?} {two:?} {a:?} {b:?}");
        let key = |x: &Contact<Spatial>, y: &Contact<Spatial>| x.gap.total_cmp(&y.gap);
        one.sort_by(key);
        two.sort_by(key);
        for (x, y) in one.iter().zip(&two) {
            assert!((x.gap - y.gap).abs() < 1e-10, "{i} {one:?}\n {two:?}\n {a:?} {b:?}");
            counted += 1;
        }
        if let (Some(x), Some(y)) = (one.first(), two.first()) {
            assert!((x.normal + y.normal).norm() < 1e-9 || one.len() > 1 && (one[1].gap - x.gap).abs() < 1e-9, "{i} {x:?} {y:?}");
        }
    }
    assert!(counted > 500, "{counted}");
}

#[test]
fn a_common_motion_carries_the_contacts_along() {
    let mut random = Random(4);
    let mut counted = 0;
    for i in 0..rounds(2000, 20_000) {
        let (a, b) = (bounded(&mut random, i % KINDS), bounded(&mut random, i / KINDS % KINDS));
        let (pa, pb) = (random.pose(0.8), random.pose(0.8));
        let motion = random.pose(5.0);
        let one = found(&a, &pa, &b, &pb, 0.05);
        let two = found(&a, &motion.compose(&pa), &b, &motion.compose(&pb), 0.05);
        assert_eq!(one.len(), two.len());
        for (x, y) in one.iter().zip(&two) {
            assert_eq!(x.feature, y.feature, "{i} {one:?}\n {two:?}\n {a:?} {b:?}");
            assert!((x.gap - y.gap).abs() < 1e-12);
            assert!((motion.direction(x.normal) - y.normal).norm() < 1e-9);
            assert!((motion.point(x.point_a) - y.point_a).norm() < 1e-9);
            counted += 1;
        }
    }
    assert!(counted > 500);
}

#[test]
fn the_slope_of_the_gap_is_the_contact_row() {
    let mut random = Random(5);
    let ground = Shape::half_space(V::z()).unwrap();
    let (mut counted, mut kinds) = (0, std::collections::BTreeSet::new());
    for i in 0..rounds(4000, 50_000) {
        let a = bounded(&mut random, i % KINDS);
        let b = if i % 9 == 0 { ground.clone() } else { bounded(&mut random, i / KINDS % KINDS) };
        let (pa, pb) = (random.pose(0.8), random.pose(0.8));
        for c in found(&a, &pa, &b, &pb, 0.05) {
            if matches!(c.feature.kind, Kind::EdgeFace { .. } | Kind::FaceEdge { .. }) {
                continue;
            }
            // The distance of bare points has a corner at zero.
            if c.gap.abs() < 1e-3 {
                continue;
            }
            let (ta, tb) = (
                Twist::<Spatial> { lin: random.vector(1.0), ang: random.vector(1.0) },
                Twist::<Spatial> { lin: random.vector(1.0), ang: random.vector(1.0) },
            );
            let row = c.normal.dot(&(ta.at(c.point_a - pa.position) - tb.at(c.point_b - pb.position)));
            let h = 1e-6;
            let gap = |t: f64| Spatial::evaluate(c.feature, &a, &pa.advanced(ta, t), &b, &pb.advanced(tb, t)).gap;
            let slope = (gap(h) - gap(-h)) / (2.0 * h);
            // Edges that are nearly parallel turn their normal fast.
            let (x, y) = (Core::of(&a, &pa, pb.position).unwrap(), Core::of(&b, &pb, pb.position).unwrap());
            if let Kind::EdgeEdge { a: e, b: f, .. } = c.feature.kind {
                let ((p0, p1), (q0, q1)) = (x.edge(e), y.edge(f));
                if (p1 - p0).normalize().cross(&(q1 - q0).normalize()).norm() < 0.1 {
                    continue;
                }
            }
            assert!((slope - row).abs() < 2e-6, "{i} {slope} {row} {c:?}");
            kinds.insert(std::mem::discriminant(&c.feature.kind).type_id_name(&c.feature.kind));
            counted += 1;
        }
    }
    assert!(counted > 1000);
    assert_eq!(kinds.len(), 6, "{kinds:?}");
}

/// A readable name of a kind for counting.
trait KindName {
    fn type_id_name(&self, kind: &Kind) -> &'static str;
}
impl<T> KindName for std::mem::Discriminant<T> {
    fn type_id_name(&self, kind: &Kind) -> &'static str {
        match kind {
            Kind::PointPoint { .. } => "point-point",
            Kind::PointEdge { .. } => "point-edge",
            Kind::EdgePoint { .. } => "edge-point",
            Kind::PointFace { .. } => "point-face",
            Kind::FacePoint { .. } => "face-point",
            Kind::EdgeEdge { .. } => "edge-edge",
            _ => "clipped",
        }
    }
}

#[test]
fn closed_forms_at_every_gap() {
    let mut random = Random(6);
    for gap in GAPS {
        for _ in 0..rounds(50, 300) {
            let motion = random.pose(3.0);
            let place = |x: f64, y: f64, z: f64, turn: V| motion.compose(&Pose { position: V::new(x, y, z), rotation: Spatial::exp(turn) });
            let up = motion.direction(V::z());
            let flat = motion.compose(&Pose::identity());
            let check = |a: &Shape, pa: &Place, b: &Shape, pb: &Place, normal: V, count: usize| {
                let list = found(a, pa, b, pb, 5e-3);
                assert_eq!(list.len(), count, "{gap} {list:?}");
                assert!((least(&list) - gap).abs() < 1e-13, "{gap} {list:?}");
                let c = list.iter().min_by(|x, y| x.gap.total_cmp(&y.gap)).unwrap();
                assert!((c.normal - normal).norm() < 1e-10, "{gap} {list:?} {normal:?}");
                let s = Spatial::separation(a, pa, b, pb, f64::INFINITY);
                assert!((s - gap).abs() < 1e-13, "{s} {gap} {a:?} {b:?} {list:?}");
            };
            let (r, s) = (random.within(0.1, 2.0), random.within(0.1, 2.0));
            let (ball, small) = (Shape::ball(r).unwrap(), Shape::ball(s).unwrap());
            check(&ball, &place(0.0, 0.0, r + s + gap, V::zeros()), &small, &flat, up, 1);
            let half = V::new(random.within(0.5, 2.0), random.within(0.5, 2.0), random.within(0.5, 2.0));
            let block = Shape::cuboid(half).unwrap();
            check(&ball, &place(0.1, 0.2, half.z + r + gap, random.vector(3.0)), &block, &flat, up, 1);
            // Ball at an edge and at a corner of a box.
            let d = (r + gap) / 2f64.sqrt();
            check(
                &ball,
                &place(half.x + d, 0.1, half.z + d, V::zeros()),
                &block,
                &flat,
                motion.direction(V::new(1.0, 0.0, 1.0).normalize()),
                1,
            );
            let d = (r + gap) / 3f64.sqrt();
            let corner = V::new(1.0, 1.0, 1.0).normalize();
            check(&ball, &place(half.x + d, half.y + d, half.z + d, V::zeros()), &block, &flat, motion.direction(corner), 1);
            // A corner of a box on a face of another, standing on its space diagonal.
            let cube = Shape::cuboid(V::repeat(0.4)).unwrap();
            let turn = UnitQuaternion::rotation_between(&corner, &(-V::z())).unwrap();
            let stand = Pose { position: V::new(0.05, 0.02, half.z + 0.4 * 3f64.sqrt() + gap), rotation: turn };
            check(&cube, &motion.compose(&stand), &block, &flat, up, 1);
            // Two boxes edge across edge.
            let beam = Shape::cuboid(V::new(0.4, 2.0, 0.4)).unwrap();
            let quarter = std::f64::consts::FRAC_PI_4;
            let lower = motion.compose(&Pose { position: V::zeros(), rotation: Spatial::exp(V::y() * quarter) });
            let turned = Spatial::exp(V::z() * random.within(0.5, 2.5)) * Spatial::exp(V::y() * quarter);
            let over = motion.compose(&Pose { position: V::new(0.1, 0.0, 0.8 * 2f64.sqrt() + gap), rotation: turned });
            check(&beam, &over, &beam, &lower, up, 1);
            // Capsules: skew, parallel, on a face.
            let rod = Shape::capsule(1.0, r).unwrap();
            let lie = V::y() * std::f64::consts::FRAC_PI_2;
            let skew = motion
                .compose(&Pose { position: V::new(0.1, 0.2, 2.0 * r + gap), rotation: Spatial::exp(V::z() * 1.0) * Spatial::exp(lie) });
            check(&rod, &skew, &rod, &place(0.0, 0.0, 0.0, lie), up, 1);
            check(&rod, &place(0.3, 0.0, 2.0 * r + gap, lie), &rod, &place(0.0, 0.0, 0.0, lie), up, 2);
            let table = Shape::cuboid(V::new(3.0, 3.0, 1.0)).unwrap();
            check(&rod, &place(0.3, 0.1, 1.0 + r + gap, lie), &table, &flat, up, 2);
            check(&rod, &place(2.7, 0.1, 1.0 + r + gap, lie), &table, &flat, up, 2);
            // Faces on faces.
            check(&cube, &place(0.1, 0.2, 1.4 + gap, V::z() * random.within(-3.0, 3.0)), &table, &flat, up, 4);
            check(&table, &place(0.0, 0.0, 2.0 + gap, V::zeros()), &table, &flat, up, 4);
            check(&table, &place(0.0, 0.0, 2.0 + gap, V::z() * 0.3), &table, &flat, up, 4);
            let ground = Shape::half_space(V::z()).unwrap();
            check(&cube, &place(10.0, 0.2, 0.4 + gap, V::z() * random.within(-3.0, 3.0)), &ground, &flat, up, 4);
            check(&rod, &place(10.0, 0.2, r + gap, lie), &ground, &flat, up, 2);
            check(&ball, &place(10.0, 0.2, r + gap, lie), &ground, &flat, up, 1);
            let rock =
                Shape::convex(&(0..8).map(|i| V::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64) * 0.8).collect::<Vec<_>>())
                    .unwrap();
            check(&rock, &place(10.0, 0.2, gap, V::z() * random.within(-3.0, 3.0)), &ground, &flat, up, 4);
            check(&rock, &place(0.1, 0.2, 1.0 + gap, V::z() * random.within(-3.0, 3.0)), &table, &flat, up, 4);
            check(&cube, &place(0.4, 0.4, 0.8 + 0.4 + gap, V::zeros()), &rock, &flat, up, 4);
        }
    }
}

#[test]
fn a_rocking_box_keeps_its_four_points() {
    let half = V::new(0.5, 0.4, 0.3);
    let cube = Shape::cuboid(half).unwrap();
    let same = Shape::cuboid(half).unwrap();
    let table = Shape::cuboid(V::new(2.0, 2.0, 0.3)).unwrap();
    let hull = Shape::convex(
        &(0..8)
            .map(|i| half.component_mul(&V::new((i & 1) as f64 * 2.0 - 1.0, (i >> 1 & 1) as f64 * 2.0 - 1.0, (i >> 2) as f64 * 2.0 - 1.0)))
            .collect::<Vec<_>>(),
    )
    .unwrap();
    let ground = Shape::half_space(V::z()).unwrap();
    let mut random = Random(8);
    for tilt in [0.0, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2] {
        for yaw in [0.0, 1e-9, 1e-6, 1e-3, 0.1, 0.7] {
            for _ in 0..rounds(20, 200) {
                let axis = V::new(random.within(-1.0, 1.0), random.within(-1.0, 1.0), 0.0).normalize();
                for shift in [V::zeros(), V::new(0.1, 0.05, 0.0), V::new(0.2, 0.0, 0.0)] {
                    for top in [&cube, &hull] {
                        for (below, height) in [(&ground, 0.0), (&table, 0.3), (&same, 0.3), (&hull, 0.3)] {
                            let lift = height + half.z;
                            let pose = Pose {
                                position: V::new(0.0, 0.0, lift) + shift,
                                rotation: Spatial::exp(axis * tilt) * Spatial::exp(V::z() * yaw),
                            };
                            // Two lowest heights differ by at most the tilt times the diagonal.
                            let reach = tilt * 1.4 + 1e-3;
                            let list = found(top, &pose, below, &Pose::identity(), reach);
                            assert_eq!(list.len(), 4, "tilt {tilt} yaw {yaw} {shift:?} {list:?}");
                            let depth = Spatial::separation(top, &pose, below, &Pose::identity(), f64::INFINITY);
                            assert!(
                                (least(&list) - depth).abs() < 1e-9 + 1e-3 * depth.abs(),
                                "tilt {tilt} yaw {yaw} {shift:?} {depth} {list:?}"
                            );
                            for c in &list {
                                assert!(c.normal.z > 1.0 - 2.0 * (tilt * 2.0).powi(2) - 1e-12, "{tilt} {yaw} {shift:?} {list:?}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_small_reach_keeps_only_the_lifted_edge() {
    let cube = Shape::cuboid(V::repeat(0.5)).unwrap();
    let table = Shape::cuboid(V::new(2.0, 2.0, 0.5)).unwrap();
    let tilt = 1e-2;
    let pose = Pose { position: V::new(0.0, 0.0, 1.0 + 0.5 * tilt), rotation: Spatial::exp(V::y() * tilt) };
    let list = found(&cube, &pose, &table, &Pose::identity(), 1e-3);
    assert_eq!(list.len(), 2);
    assert!(list.iter().all(|c| c.point_a.x > 0.4 && matches!(c.feature.kind, Kind::PointFace { .. })));
}

#[test]
fn deep_overlap_and_coinciding_centres_have_an_answer() {
    let mut random = Random(9);
    for i in 0..KINDS * KINDS {
        let (a, b) = (bounded(&mut random, i % KINDS), bounded(&mut random, i / KINDS));
        let pose = random.pose(1.0);
        for list in [found(&a, &pose, &b, &pose, 1e-3), found(&a, &pose, &b, &random.pose(0.1), 1e-3)] {
            assert!(list.iter().all(|c| c.gap.is_finite() && (c.normal.norm() - 1.0).abs() < 1e-9));
        }
        assert!(!Spatial::separation(&a, &pose, &b, &pose, f64::INFINITY).is_nan());
    }
}

#[test]
fn far_from_the_origin_the_gap_keeps_its_digits() {
    let far = V::new(1000.0, -2000.0, 500.0);
    let cube = Shape::cuboid(V::repeat(0.5)).unwrap();
    let one = found(&cube, &at(0.1, 0.2, 1.0 + 1e-9), &cube, &at(0.0, 0.0, 0.0), 1e-3);
    let shifted = |p: Place| Pose { position: p.position + far, rotation: p.rotation };
    let two = found(&cube, &shifted(at(0.1, 0.2, 1.0 + 1e-9)), &cube, &shifted(at(0.0, 0.0, 0.0)), 1e-3);
    assert_eq!(one.len(), two.len());
    assert!((least(&one) - least(&two)).abs() < 1e-12);
}
