//! Cylinders and cones tested by closed forms, by prisms and pyramids that fill them, by motion and by slopes.

use super::tests::{Random, found, least, rounds};
use super::*;
use carom_math::{Space, Twist};
use std::f64::consts::{FRAC_PI_2, TAU};

type Place = Pose<Spatial>;

const GAPS: [f64; 9] = [0.0, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3];
pub(super) const KINDS: usize = 7;

fn turned(x: f64, y: f64, z: f64, turn: V) -> Place {
    Pose { position: V::new(x, y, z), rotation: Spatial::exp(turn) }
}

pub(super) fn round(random: &mut Random, kind: usize) -> Shape {
    let (h, r) = (random.within(0.2, 1.0), random.within(0.2, 1.0));
    if kind == 0 { Shape::cylinder(h, r).unwrap() } else { Shape::cone(h, r).unwrap() }
}

pub(super) fn partner(random: &mut Random, kind: usize) -> Shape {
    let mut size = || random.within(0.2, 1.0);
    match kind {
        0 => Shape::ball(size()).unwrap(),
        1 => Shape::cuboid(V::new(size(), size(), size())).unwrap(),
        2 => Shape::capsule(size(), size()).unwrap(),
        3 => Shape::convex(&(0..16).map(|_| random.vector(0.7)).collect::<Vec<_>>()).unwrap(),
        4 => Shape::segment(random.vector(0.7), random.vector(0.7)).unwrap(),
        k => round(random, k - 5),
    }
}

/// A prism or pyramid inscribed in a round shape, and how far it stays inside.
fn inscribed(shape: &Shape) -> (Shape, f64) {
    let sides = 128;
    let ring =
        |z: f64, r: f64| (0..sides).map(move |i| (TAU * i as f64 / sides as f64).sin_cos()).map(move |(s, c)| V::new(r * c, r * s, z));
    let sag = 1.0 - (0.5 * TAU / sides as f64).cos();
    match shape {
        Shape::Cylinder { half_height: h, radius: r } => {
            (Shape::convex(&ring(*h, *r).chain(ring(-h, *r)).collect::<Vec<_>>()).unwrap(), r * sag)
        }
        Shape::Cone { half_height: h, radius: r } => {
            (Shape::convex(&ring(-h, *r).chain([V::new(0.0, 0.0, *h)]).collect::<Vec<_>>()).unwrap(), r * sag)
        }
        other => (other.clone(), 0.0),
    }
}

fn check(c: &Contact<Spatial>, a: &Shape, pa: &Place, b: &Shape, pb: &Place) {
    assert!((c.normal.norm() - 1.0).abs() < 1e-12);
    let span = c.point_a - c.point_b;
    assert!((span - c.normal * c.gap).norm() < 1e-11, "{c:?} {span:?}");
    let again = Spatial::evaluate(c.feature, a, pa, b, pb);
    assert!((again.gap - c.gap).abs() < 1e-13 && (again.normal - c.normal).norm() < 1e-13, "{c:?} {again:?}");
    assert!((again.point_a - c.point_a).norm() < 1e-13);
}

#[test]
fn distance_lies_between_that_of_the_inscribed_prism_and_its_sag() {
    let mut random = Random(31);
    let mut counted = 0;
    for i in 0..rounds(400, 5000) {
        let (a, b) = (round(&mut random, i % 2), partner(&mut random, i / 2 % KINDS));
        let (pa, pb) = (random.pose(1.5), random.pose(1.5));
        let ((x, da), (y, db)) = (inscribed(&a), inscribed(&b));
        let s = Spatial::separation(&a, &pa, &b, &pb, f64::INFINITY);
        let outer = Spatial::separation(&x, &pa, &y, &pb, f64::INFINITY);
        if s < 1e-9 {
            continue;
        }
        assert!(s <= outer + 1e-10 && outer <= s + da + db + 1e-10, "{i} {s} {outer} {da} {a:?} {b:?}");
        let list = found(&a, &pa, &b, &pb, s + 1e-4);
        assert!((least(&list) - s).abs() < 1e-10, "{i} {s} {list:?}");
        for c in &list {
            check(c, &a, &pa, &b, &pb);
        }
        counted += 1;
    }
    assert!(counted > 100);
}

#[test]
fn moved_together_along_the_normal_the_gap_is_what_is_left() {
    let mut random = Random(32);
    let mut counted = 0;
    for i in 0..rounds(250, 10_000) {
        let (a, b) = (round(&mut random, i % 2), partner(&mut random, i / 2 % KINDS));
        let (pa, pb) = (random.pose(1.5), random.pose(1.5));
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
            assert!(!list.is_empty(), "{i} {gap} {a:?} {b:?}");
            for c in &list {
                check(c, &a, &near, &b, &pb);
            }
            if gap >= 0.0 {
                // Rim across rim settles slowest.
                assert!((g - gap).abs() < 1e-8, "{i} {gap} {g} {list:?} {a:?} {b:?}");
            } else {
                assert!(g <= -gap + 1e-8 && g >= 1.03 * gap - 1e-8, "{i} {gap} {g} {list:?}\n {a:?} {b:?}");
            }
            let turned = found(&b, &pb, &a, &near, 2e-3);
            assert!((least(&turned) - g).abs() < 2e-8 || gap < 0.0, "{i} {gap} {g} {turned:?} {list:?}");
            counted += 1;
        }
    }
    assert!(counted > 300);
}

#[test]
fn closed_forms_at_every_gap() {
    let mut random = Random(33);
    for gap in GAPS {
        for _ in 0..rounds(20, 200) {
            let motion = random.pose(3.0);
            let flat = motion.compose(&Pose::identity());
            let up = motion.direction(V::z());
            let spin = V::z() * random.within(-3.0, 3.0);
            let stand = |x: f64, y: f64, z: f64| motion.compose(&turned(x, y, z, spin));
            let lie = |x: f64, y: f64, z: f64| {
                motion.compose(&Pose { position: V::new(x, y, z), rotation: Spatial::exp(V::y() * FRAC_PI_2) * Spatial::exp(spin) })
            };
            let check = |a: &Shape, pa: &Place, b: &Shape, pb: &Place, count: usize| {
                for (list, sign) in [(found(a, pa, b, pb, 3e-3), 1.0), (found(b, pb, a, pa, 3e-3), -1.0)] {
                    assert_eq!(list.len(), count, "{gap} {pa:?} {list:?}");
                    assert!(
                        list.iter().all(|c| (c.gap - gap).abs() < 1e-10 && (c.normal - up * sign).norm() < 1e-6),
                        "{gap} {pa:?} {list:?}"
                    );
                }
                assert!((Spatial::separation(a, pa, b, pb, f64::INFINITY) - gap).abs() < 1e-10);
            };
            let (h, r) = (random.within(0.3, 1.0), random.within(0.2, 0.6));
            let (can, hat) = (Shape::cylinder(h, r).unwrap(), Shape::cone(h, r).unwrap());
            let ground = Shape::half_space(V::z()).unwrap();
            let table = Shape::cuboid(V::new(3.0, 3.0, 0.5)).unwrap();
            let field = Shape::heightfield(vec![0.0; 121], 11, 11, [0.7, 0.7]).unwrap();
            for (base, level) in [(&ground, 0.0), (&table, 0.5), (&field, 0.0)] {
                check(&can, &stand(0.3, 0.2, level + h + gap), base, &flat, 4);
                check(&can, &lie(0.3, 0.2, level + r + gap), base, &flat, 2);
                check(&hat, &stand(0.3, 0.2, level + h + gap), base, &flat, 4);
                // A cone on its side: the axis drops towards the apex by the half angle.
                let half_angle = (r / (2.0 * h)).atan();
                let lean = Spatial::exp(V::y() * (FRAC_PI_2 + half_angle)) * Spatial::exp(spin);
                let height = h * half_angle.sin();
                let side = motion.compose(&Pose { position: V::new(0.3, 0.2, level + height + gap), rotation: lean });
                check(&hat, &side, base, &flat, 2);
            }
            // Half over the edge of the table.
            check(&can, &lie(2.9, 0.2, 0.5 + r + gap), &table, &flat, 2);
            check(&can, &stand(3.0 - 0.3 * r, 0.2, 0.5 + h + gap), &table, &flat, 4);
            // Coins, side by side, crossed, on a ball, under a capsule.
            check(&can, &stand(0.0, 0.0, 2.0 * h + gap), &can, &flat, 4);
            check(&can, &stand(0.7 * r, 0.0, 2.0 * h + gap), &can, &flat, 4);
            check(&can, &lie(0.2 * h, 0.0, 2.0 * r + gap), &can, &lie(0.0, 0.0, 0.0), 2);
            let across = motion.compose(&Pose {
                position: V::new(0.1, 0.05, 2.0 * r + gap),
                rotation: Spatial::exp(V::x() * FRAC_PI_2) * Spatial::exp(spin),
            });
            check(&can, &across, &can, &lie(0.0, 0.0, 0.0), 1);
            let ball = Shape::ball(0.4).unwrap();
            check(&ball, &stand(0.3 * r, 0.0, h + 0.4 + gap), &can, &flat, 1);
            check(&ball, &stand(0.0, 0.0, r + 0.4 + gap), &can, &lie(0.0, 0.0, 0.0), 1);
            let rod = Shape::capsule(0.5, 0.1).unwrap();
            check(&rod, &lie(0.0, 0.0, r + 0.1 + gap), &can, &lie(0.0, 0.0, 0.0), 2);
            check(&rod, &lie(0.1 * r, 0.0, h + 0.1 + gap), &can, &flat, 2);
        }
    }
}

#[test]
fn the_slope_of_the_gap_is_the_contact_row() {
    let mut random = Random(34);
    let ground = Shape::half_space(V::z()).unwrap();
    let mut counted = 0;
    for i in 0..rounds(1500, 20_000) {
        let a = round(&mut random, i % 2);
        let b = if i % 5 == 0 { ground.clone() } else { partner(&mut random, i / 2 % KINDS) };
        let (pa, pb) = (random.pose(0.8), random.pose(0.8));
        let s = Spatial::separation(&a, &pa, &b, &pb, f64::INFINITY);
        if s < 5e-3 && i % 5 != 0 {
            continue;
        }
        for c in found(&a, &pa, &b, &pb, s + 1e-3) {
            // Cut points slide along their edge.
            let sliding = |x: Curve| matches!(x, Curve::Cut(..) | Curve::Generator | Curve::GeneratorCut(_) | Curve::EdgeCut(..));
            let Kind::Round { a: x, b: y } = c.feature.kind else { continue };
            if sliding(x) || sliding(y) {
                continue;
            }
            let mut twist = || Twist::<Spatial> { lin: random.vector(1.0), ang: random.vector(1.0) };
            let (ta, tb) = (twist(), twist());
            let row = c.normal.dot(&(ta.at(c.point_a - pa.position) - tb.at(c.point_b - pb.position)));
            let h = 1e-5;
            let gap = |t: f64| Spatial::evaluate(c.feature, &a, &pa.advanced(ta, t), &b, &pb.advanced(tb, t)).gap;
            let slope = (gap(h) - gap(-h)) / (2.0 * h);
            assert!(
                (slope - row).abs() < 1e-4,
                "{i} {slope} {row} {:?} {:?} {:?} {:?} {c:?} {a:?} {b:?}",
                pa.local_point(c.point_a),
                pa.local_direction(c.normal),
                pb.local_point(c.point_b),
                pb.local_direction(c.normal)
            );
            counted += 1;
        }
    }
    assert!(counted > 300);
}

#[test]
fn a_cylinder_rocks_on_its_rim_without_losing_it() {
    let can = Shape::cylinder(0.5, 0.3).unwrap();
    let ground = Shape::half_space(V::z()).unwrap();
    let mut random = Random(35);
    for tilt in [1e-14, 1e-13, 1e-12, 1e-11, 1e-9, 1e-6, 1e-3, 1e-2] {
        for _ in 0..50 {
            let axis = Spatial::exp(V::z() * random.within(-3.0, 3.0)) * V::x();
            let lift = 0.5 * f64::cos(tilt) + 0.3 * f64::sin(tilt);
            let pose = Pose { position: V::new(0.1, 0.2, lift), rotation: Spatial::exp(axis * tilt) };
            let list = found(&can, &pose, &ground, &Pose::identity(), 2.0 * 0.3 * tilt + 1e-4);
            assert_eq!(list.len(), 4, "{tilt} {list:?}");
            assert!(least(&list).abs() < 1e-12, "{tilt} {list:?}");
            // The lowest point lies where the rim goes down.
            let low = list.iter().min_by(|x, y| x.gap.total_cmp(&y.gap)).unwrap();
            let down = axis.cross(&(-V::z()));
            if tilt > 1e-9 {
                assert!((low.point_a - pose.position).normalize().dot(&down).abs() > 0.4);
            }
        }
    }
}

#[test]
fn deep_overlap_has_an_answer() {
    let mut random = Random(36);
    for i in 0..2 * KINDS {
        let (a, b) = (round(&mut random, i % 2), partner(&mut random, i / 2));
        let pose = random.pose(1.0);
        let other = random.pose(0.2);
        for list in [found(&a, &pose, &b, &pose, 1e-3), found(&a, &pose, &b, &other, 1e-3), found(&b, &pose, &a, &pose, 1e-3)] {
            assert!(list.iter().all(|c| c.gap.is_finite() && (c.normal.norm() - 1.0).abs() < 1e-9));
        }
        assert!(Spatial::separation(&a, &pose, &b, &pose, f64::INFINITY).is_finite());
    }
}
