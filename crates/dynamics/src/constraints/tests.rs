//! Rows against differences of what they differentiate, for every kind in the plane and in space.

use super::*;
use carom_math::{Planar, Pose, Space, Spatial, Twist, Vector, Wrench};
use nalgebra::{DMatrix, Vector1, Vector2};

mod derivative;
mod description;
mod map;
mod mean;
mod motion;

/// Splitmix64: equal numbers on every run.
struct Random(u64);

impl Random {
    /// Uniform in [-1, 1].
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn vector<V: Vector>(&mut self, size: f64) -> V {
        let values = [self.number() * size, self.number() * size, self.number() * size];
        V::from_slice(&values)
    }
    fn twist<S: Space>(&mut self, size: f64) -> Twist<S> {
        Twist { lin: self.vector(size), ang: self.vector(size) }
    }
    fn pose<S: Space>(&mut self) -> Pose<S> {
        Pose { position: self.vector(2.0), rotation: S::exp(self.vector(3.0)) }
    }
}

fn runs() -> usize {
    if std::env::var("CAROM_FULL").is_ok_and(|v| v == "1") { 5000 } else { 100 }
}

fn kinds<S: Space>() -> impl Iterator<Item = JointKind> {
    JointKind::ALL.into_iter().filter(|k| k.exists_in::<S>())
}

/// A description with everything the kind needs, at random places.
fn random_spec<S: Space>(kind: JointKind, random: &mut Random) -> JointSpec<S> {
    let mut spec = JointSpec::new("j", kind, [Some(0), Some(1)]);
    let has = |key: &str| kind.keys::<S>().contains(&key);
    spec.anchor = has("anchor").then(|| random.vector(2.0));
    spec.anchors = has("anchors").then(|| [random.vector(2.0), random.vector(2.0)]);
    spec.axis = has("axis").then(|| random.vector(3.0));
    if has("axes") {
        let x = random.vector::<S::Lin>(1.0).unit();
        spec.axes = Some([x * 2.0, S::tangents(x)[1] * 3.0]);
    }
    spec.measures.lead = has("lead").then(|| 1.5 + random.number());
    if kind == JointKind::Spring {
        (spec.measures.stiffness, spec.measures.damping) = (Some(30.0), Some(2.0));
    }
    spec
}

/// The start poses and the joint made there.
fn random_joint<S: Space>(kind: JointKind, random: &mut Random) -> (Joint<S>, Pose<S>, Pose<S>) {
    let (a, b) = (random.pose::<S>(), random.pose::<S>());
    let joint = Joint::new(random_spec(kind, random), &a, &b).unwrap();
    (joint, a, b)
}

/// Fourth-order central difference of a function of the poses along two twists.
fn difference<S: Space>(f: impl Fn(&Pose<S>, &Pose<S>) -> f64, a: &Pose<S>, b: &Pose<S>, va: Twist<S>, vb: Twist<S>) -> f64 {
    let h = 2e-4;
    let at = |t: f64| f(&a.advanced(va, t), &b.advanced(vb, t));
    (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
}

fn errors<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> Vec<f64> {
    let mut out = [0.0; MAX_ROWS];
    joint.error(a, b, &mut out);
    out[..joint.row_count()].to_vec()
}

fn rows<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> Vec<Row<S>> {
    let mut out = [Row::zero(); MAX_ROWS];
    joint.rows(a, b, &mut out);
    out[..joint.row_count()].to_vec()
}

/// Worst relative error of rows over kinds and poses, with the violation of the given size.
fn worst_jacobian<S: Space>(violation: f64, random: &mut Random) -> f64 {
    let mut worst = 0.0f64;
    let mut compare = |found: f64, expected: f64| worst = worst.max((found - expected).abs() / expected.abs().max(1.0));
    for kind in kinds::<S>() {
        for _ in 0..runs() {
            let (mut joint, a, b) = random_joint::<S>(kind, random);
            if joint.has_coordinate() {
                joint.limits = Some([-1.0, 1.0]);
            }
            let (a, b) = (a.advanced(random.twist(violation), 1.0), b.advanced(random.twist(violation), 1.0));
            let (va, vb) = (random.twist::<S>(1.0), random.twist::<S>(1.0));
            if joint.kind.keys::<S>().contains(&"anchors") && joint.spring_length(&a, &b) < 0.2 {
                continue; // The curvature of the distance is 1/length: too near, it is the difference that is wrong.
            }
            for (i, row) in rows(&joint, &a, &b).iter().enumerate() {
                compare(row.speed(&va, &vb), difference(|a, b| errors(&joint, a, b)[i], &a, &b, va, vb));
            }
            if joint.has_coordinate() {
                let row = joint.coordinate_row(&a, &b);
                let c = joint.coordinate(&a, &b);
                compare(row.speed(&va, &vb), difference(|a, b| joint.coordinate_near(c, a, b), &a, &b, va, vb));
            }
            for i in 0..joint.inequality_count() {
                let (_, row) = joint.inequality(i, &a, &b);
                compare(row.speed(&va, &vb), difference(|a, b| joint.inequality(i, a, b).0, &a, &b, va, vb));
            }
            if let Some(spring) = joint.spring(&a, &b) {
                let power = difference(|a, b| joint.spring(a, b).unwrap().energy(), &a, &b, va, vb);
                let rate = spring.row.speed(&va, &vb);
                compare(-(spring.force(rate) + spring.damping * rate) * rate, power);
            }
        }
    }
    worst
}

impl<S: Space> Joint<S> {
    fn spring_length(&self, a: &Pose<S>, b: &Pose<S>) -> f64 {
        let [p, q] = self.points(a, b);
        (p - q).norm()
    }
}

#[test]
fn rows_are_derivatives_of_errors() {
    let random = &mut Random(1);
    for violation in [0.0, 1e-3, 0.3] {
        let plane = worst_jacobian::<Planar>(violation, random);
        let space = worst_jacobian::<Spatial>(violation, random);
        println!("violation {violation}: worst relative error {plane:.1e} in the plane, {space:.1e} in space");
        assert!(plane < 1e-8 && space < 1e-8, "{plane} {space}");
    }
}

fn start_is_exact<S: Space>(random: &mut Random) {
    for kind in kinds::<S>() {
        for _ in 0..runs() {
            let (joint, a, b) = random_joint::<S>(kind, random);
            let start = errors(&joint, &a, &b);
            assert!(start.iter().all(|e| e.abs() < 2e-14), "{kind:?}: {start:?}");
            let coordinate = joint.coordinate(&a, &b);
            assert!(coordinate.abs() < 2e-14, "{kind:?}: {coordinate:e}");
            // A violation shows.
            let away = a.advanced(Twist { lin: random.vector(0.1), ang: random.vector(0.1) }, 1.0);
            assert!(joint.row_count() == 0 || errors(&joint, &away, &b).iter().any(|e| e.abs() > 1e-7), "{kind:?}");
        }
    }
}

#[test]
fn error_vanishes_at_the_start_only() {
    start_is_exact::<Planar>(&mut Random(2));
    start_is_exact::<Spatial>(&mut Random(2));
}

fn common_motion_is_free<S: Space>(random: &mut Random) {
    for kind in kinds::<S>() {
        for _ in 0..runs() {
            let (mut joint, a, b) = random_joint::<S>(kind, random);
            if joint.has_coordinate() {
                joint.limits = Some([-1.0, 1.0]);
            }
            let all = |a: &Pose<S>, b: &Pose<S>| {
                let mut all = rows(&joint, a, b);
                all.push(joint.coordinate_row(a, b));
                all.extend((0..joint.inequality_count()).map(|i| joint.inequality(i, a, b).1));
                all.extend(joint.spring(a, b).map(|s| s.row));
                all
            };
            // One rigid motion of both bodies about the origin, where the joint holds.
            let common = random.twist::<S>(1.0);
            let of = |pose: &Pose<S>| Twist { lin: common.at(pose.position), ang: common.ang };
            for row in all(&a, &b) {
                assert!(row.speed(&of(&a), &of(&b)).abs() < 1e-13, "{kind:?}");
            }
            // One translation of both, at any error.
            let away = a.advanced(random.twist(0.5), 1.0);
            let shift = Twist { lin: common.lin, ang: S::Ang::zero() };
            for row in all(&away, &b) {
                assert!(row.speed(&shift, &shift).abs() < 1e-15, "{kind:?}");
            }
        }
    }
}

#[test]
fn common_motion_has_no_relative_velocity() {
    common_motion_is_free::<Planar>(&mut Random(3));
    common_motion_is_free::<Spatial>(&mut Random(3));
}

/// Rank of the rows, with the free coordinate's row appended where there is one.
fn ranks<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> (usize, usize) {
    let rank = |rows: &[Row<S>]| {
        let values = |row: &Row<S>| -> Vec<f64> {
            [row.a.lin.as_slice(), row.a.ang.as_slice(), row.b.lin.as_slice(), row.b.ang.as_slice()].concat()
        };
        let entries: Vec<f64> = rows.iter().flat_map(values).collect();
        if rows.is_empty() { 0 } else { DMatrix::from_row_slice(rows.len(), 2 * S::DOF, &entries).rank(1e-9) }
    };
    let mut all = rows(joint, a, b);
    let equalities = rank(&all);
    all.push(joint.coordinate_row(a, b));
    (equalities, rank(&all))
}

#[test]
fn freedom_is_what_the_kind_says() {
    // Relative degrees of freedom left by each kind, in the order of the names.
    let plane = [1, 1, 1, 0, 9, 2, 3, 9, 9, 3, 9];
    let space = [1, 3, 1, 0, 2, 5, 6, 2, 3, 6, 1];
    fn check<S: Space>(free: &[usize], random: &mut Random) {
        for kind in kinds::<S>() {
            let (joint, a, b) = random_joint::<S>(kind, random);
            let (equalities, all) = ranks(&joint, &a, &b);
            assert_eq!(equalities, joint.row_count(), "{kind:?}");
            assert!(joint.row_count() <= MAX_ROWS);
            assert_eq!(S::DOF - equalities, free[kind as usize], "{kind:?}");
            assert_eq!(all, equalities + usize::from(joint.has_coordinate()), "{kind:?}: the coordinate is free");
        }
    }
    check::<Planar>(&plane, &mut Random(4));
    check::<Spatial>(&space, &mut Random(4));
}

#[test]
fn planar_hinge_has_the_matrices_of_the_source() {
    // Arms in world axes; both bodies turned, so that a mix-up of frames would show.
    let (ra, rb) = (Vector2::new(0.3, -0.7), Vector2::new(-1.1, 0.4));
    let anchor = Vector2::new(2.0, 5.0);
    let a = Pose::<Planar> { position: anchor - ra, rotation: Planar::exp(Vector1::new(0.9)) };
    let b = Pose::<Planar> { position: anchor - rb, rotation: Planar::exp(Vector1::new(-2.0)) };
    let mut spec = JointSpec::new("hinge", JointKind::Hinge, [Some(0), Some(1)]);
    spec.anchor = Some(anchor);
    let joint = Joint::new(spec, &a, &b).unwrap();
    // Angular first, as printed: [[-ray, 1, 0], [rax, 0, 1]] and [[rby, -1, 0], [-rbx, 0, -1]].
    let expected = [[-ra.y, 1.0, 0.0, rb.y, -1.0, 0.0], [ra.x, 0.0, 1.0, -rb.x, 0.0, -1.0]];
    for (row, expected) in rows(&joint, &a, &b).iter().zip(expected) {
        let found = [row.a.ang.x, row.a.lin.x, row.a.lin.y, row.b.ang.x, row.b.lin.x, row.b.lin.y];
        for (x, y) in found.iter().zip(expected) {
            assert!((x - y).abs() < 1e-15);
        }
    }
}

#[test]
fn planar_slider_has_the_row_of_the_theory_off_its_axis() {
    // Row (3.4) as printed for the plane: [cross(ra + d, n), n | -cross(rb, n), -n] with d = c_b - c_a.
    let random = &mut Random(5);
    let (joint, a, b) = random_joint::<Planar>(JointKind::Slider, random);
    let a = a.advanced(random.twist(0.4), 1.0);
    let [ca, cb] = joint.points(&a, &b);
    let n = a.direction(Planar::tangents(joint.axes[0])[0]);
    let (ra, rb) = (ca - a.position, cb - b.position);
    let row = rows(&joint, &a, &b)[0];
    assert!((row.a.ang - Planar::torque(ra + (cb - ca), n)).norm() < 1e-14);
    assert!((row.b.ang + Planar::torque(rb, n)).norm() < 1e-14);
    assert!((row.a.lin - n).norm() < 1e-15 && (row.b.lin + n).norm() < 1e-15);
}
