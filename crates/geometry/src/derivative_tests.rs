//! Derivatives of contacts against central differences, for the features that random pairs of shapes really make.

use crate::{Contact, ContactAdjoint, ContactMotion, ContactTangent, Geometry};
use carom_math::{Planar, Pose, Spatial, Twist, Vector, Wrench};
use std::collections::BTreeMap;

/// Steps of the central differences, relative to sizes of one metre and one radian.
const STEPS: [f64; 5] = [1e-3, 3e-4, 1e-4, 3e-5, 1e-5];
/// Best relative error over the steps: closed forms, and nearest points found by iteration.
const CLOSED: f64 = 1e-8;
const ITERATED: f64 = 1e-5;
/// The transpose identity, relative.
const TRANSPOSE: f64 = 1e-12;
/// Gaps [m] at which pairs are looked at.
const GAPS: [f64; 4] = [0.15, 1e-3, 0.0, -0.02];

struct Random(u64);

impl Random {
    /// Between -1 and 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn vector<V: Vector>(&mut self, scale: f64) -> V {
        let mut v = V::zero();
        for k in 0..V::LEN {
            v[k] = self.next() * scale;
        }
        v
    }
    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[(((self.next() + 1.0) * 0.5 * list.len() as f64) as usize).min(list.len() - 1)]
    }
}

fn rounds(small: usize, full: usize) -> usize {
    if std::env::var_os("CAROM_FULL").is_some() { full } else { small }
}

/// The name of a feature without its numbers.
fn class<G: Geometry>(feature: &G::Feature) -> String {
    let text = format!("{feature:?}");
    let text = text.split("kind: ").last().unwrap_or(&text).trim_end_matches(" }");
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// A contact as a tangent, so that differences of two are one.
fn numbers<G: Geometry>(contact: &Contact<G>) -> ContactTangent<G> {
    ContactTangent { gap: contact.gap, normal: contact.normal, point_a: contact.point_a, point_b: contact.point_b, regular: true }
}

fn size<G: Geometry>(tangent: &ContactTangent<G>) -> f64 {
    tangent.gap.abs().max(tangent.normal.max_abs()).max(tangent.point_a.max_abs()).max(tangent.point_b.max_abs())
}

fn unit<G: Geometry>(k: usize) -> Twist<G> {
    crate::contact_tangent::unit_twist(k)
}

/// One contact of two placed shapes.
struct Case<'a, G: Geometry> {
    feature: G::Feature,
    a: &'a G::Shape,
    pose_a: Pose<G>,
    b: &'a G::Shape,
    pose_b: Pose<G>,
    tolerance: f64,
}

impl<G: Geometry> Case<'_, G> {
    fn tangent(&self, motion: &ContactMotion<G>) -> ContactTangent<G> {
        G::evaluate_tangent(self.feature, self.a, &self.pose_a, self.b, &self.pose_b, motion)
    }
    fn describe(&self) -> String {
        format!("{} of {} at {:?} on {} at {:?}", class::<G>(&self.feature), G::shape_key(self.a), self.pose_a, G::shape_key(self.b), self.pose_b)
    }
    /// The best relative error over the steps of the central differences of `moved`.
    fn compare(&self, what: &str, found: &ContactTangent<G>, moved: impl Fn(f64) -> Option<Contact<G>>) {
        let mut best = f64::INFINITY;
        let mut shown = None;
        for h in STEPS {
            let (Some(plus), Some(minus)) = (moved(h), moved(-h)) else { continue };
            let difference = ContactTangent::zero().plus(0.5 / h, &numbers(&plus)).plus(-0.5 / h, &numbers(&minus));
            let error = size(&difference.plus(-1.0, found)) / size(found).max(1.0);
            if error < best {
                (best, shown) = (error, Some(difference));
            }
        }
        assert!(best < self.tolerance, "{what} of {}: error {best:e}\nfound {found:?}\nwant  {shown:?}", self.describe());
    }
    /// Columns of the poses and sizes against central differences, the rows of the gap, and the transpose.
    fn check(&self, random: &mut Random) {
        let contact = G::evaluate(self.feature, self.a, &self.pose_a, self.b, &self.pose_b);
        let jacobian = G::evaluate_jacobian(self.feature, self.a, &self.pose_a, self.b, &self.pose_b);
        assert!(jacobian.regular, "{} is not regular", self.describe());
        for k in 0..G::DOF {
            let column = &jacobian.a.as_ref()[k];
            self.compare(&format!("column a {k}"), column, |h| {
                Some(G::evaluate(self.feature, self.a, &self.pose_a.advanced(unit(k), h), self.b, &self.pose_b))
            });
            let column = &jacobian.b.as_ref()[k];
            self.compare(&format!("column b {k}"), column, |h| {
                Some(G::evaluate(self.feature, self.a, &self.pose_a, self.b, &self.pose_b.advanced(unit(k), h)))
            });
        }
        // Sizes, all together in random directions and one by one.
        let (sizes_a, sizes_b) = (G::shape_parameters(self.a), G::shape_parameters(self.b));
        let moved = |sizes: &[f64], along: &[f64], h: f64| -> Vec<f64> { sizes.iter().zip(along).map(|(x, d)| x + h * d).collect() };
        let still = ContactMotion::of_poses(Twist::zero(), Twist::zero());
        for k in 0..sizes_a.len() {
            let mut along = vec![0.0; sizes_a.len()];
            along[k] = 1.0;
            let found = self.tangent(&ContactMotion { shape_a: Some(&along), ..still });
            self.compare(&format!("size a {k}"), &found, |h| {
                let shape = G::with_shape_parameters(self.a, &moved(&sizes_a, &along, h)).ok()?;
                Some(G::evaluate(self.feature, &shape, &self.pose_a, self.b, &self.pose_b))
            });
        }
        for k in 0..sizes_b.len() {
            let mut along = vec![0.0; sizes_b.len()];
            along[k] = 1.0;
            let found = self.tangent(&ContactMotion { shape_b: Some(&along), ..still });
            self.compare(&format!("size b {k}"), &found, |h| {
                let shape = G::with_shape_parameters(self.b, &moved(&sizes_b, &along, h)).ok()?;
                Some(G::evaluate(self.feature, self.a, &self.pose_a, &shape, &self.pose_b))
            });
        }
        // A random motion of everything: tangent, columns and transpose agree.
        let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| random.next()).collect() };
        let (along_a, along_b) = (draw(sizes_a.len()), draw(sizes_b.len()));
        let mut twist = || Twist::<G> { lin: random.vector(1.0), ang: random.vector(1.0) };
        let (twist_a, twist_b) = (twist(), twist());
        let poses = self.tangent(&ContactMotion::of_poses(twist_a, twist_b));
        let columns = jacobian.apply(&twist_a, &twist_b);
        let scale = jacobian.a.as_ref().iter().chain(jacobian.b.as_ref()).fold(1.0, |most: f64, c| most.max(size(c)));
        assert!(size(&columns.plus(-1.0, &poses)) < TRANSPOSE * scale, "columns of {}: {columns:?} {poses:?}", self.describe());
        let motion = ContactMotion { pose_a: twist_a, pose_b: twist_b, shape_a: Some(&along_a), shape_b: Some(&along_b) };
        let all = self.tangent(&motion);
        let bar = ContactTangent {
            gap: random.next(),
            normal: random.vector(1.0),
            point_a: random.vector(1.0),
            point_b: random.vector(1.0),
            regular: true,
        };
        let (mut bar_a, mut bar_b) = (vec![0.0; sizes_a.len()], vec![0.0; sizes_b.len()]);
        let mut out: ContactAdjoint<G> = ContactAdjoint {
            pose_a: Wrench::zero(),
            pose_b: Wrench::zero(),
            shape_a: Some(&mut bar_a),
            shape_b: Some(&mut bar_b),
            regular: true,
        };
        G::evaluate_adjoint(self.feature, self.a, &self.pose_a, self.b, &self.pose_b, &bar, &mut out);
        assert!(out.regular);
        let power = out.pose_a.power(&twist_a) + out.pose_b.power(&twist_b);
        let product = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(x, y)| x * y).sum() };
        let backward = power + product(&bar_a, &along_a) + product(&bar_b, &along_b);
        let forward = all.dot(&bar);
        assert!((forward - backward).abs() < TRANSPOSE * scale, "transpose of {}: {forward} {backward}", self.describe());
        // The gap follows the material points, theory (7.2), unless the point slides along a cut edge.
        let name = class::<G>(&self.feature);
        let slides = ["EdgeFace", "FaceEdge", "Wall", "Cut"].iter().any(|cut| name.contains(cut));
        let row = contact.normal.dot(twist_a.at(contact.point_a - self.pose_a.position) - twist_b.at(contact.point_b - self.pose_b.position));
        let slack = if self.tolerance > CLOSED { self.tolerance } else { TRANSPOSE } * scale;
        assert!(slides || (row - poses.gap).abs() < slack, "row of {}: {row} {}", self.describe(), poses.gap);
        // Both as one rigid body.
        let both = Twist { lin: twist_a.at(self.pose_b.position - self.pose_a.position), ang: twist_a.ang };
        let together = self.tangent(&ContactMotion::of_poses(twist_a, both));
        let turned = G::spin(twist_a.ang, contact.normal);
        assert!(together.gap.abs() < slack && (together.normal - turned).max_abs() < slack, "rigid motion of {}: {together:?}", self.describe());
    }
}

/// Moves a along a direction until the pair is a gap apart; `None` where that does not happen.
fn at_gap<G: Geometry>(a: &G::Shape, pose_a: Pose<G>, b: &G::Shape, pose_b: &Pose<G>, direction: G::Lin, gap: f64) -> Option<Pose<G>> {
    let place = |t: f64| Pose { position: pose_b.position + direction * t, ..pose_a };
    let separation = |t: f64| G::separation(a, &place(t), b, pose_b, f64::INFINITY);
    let (mut low, mut high) = (0.0, 8.0);
    if !(separation(low) < gap && separation(high) > gap) {
        return None;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if separation(middle) < gap { low = middle } else { high = middle }
    }
    Some(place(high))
}

/// Checks the contacts of random pairs of shapes; returns how many of each class were seen.
fn sweep<G: Geometry>(shapes: &[G::Shape], iterated: &str, count: usize, least: usize, seed: u64) -> BTreeMap<String, usize> {
    let mut random = Random(seed);
    let mut seen = BTreeMap::new();
    let mut found = Vec::new();
    for _ in 0..count {
        let (a, b) = (random.pick(shapes).clone(), random.pick(shapes).clone());
        // Half of the pairs stand nearly square to each other, so that faces lie on faces.
        let quarter = std::f64::consts::FRAC_PI_2;
        let mut turn = |nearly: bool| {
            let free = G::exp(random.vector(if nearly { 0.06 } else { 3.0 }));
            let mut square = G::Ang::zero();
            square[(random.next().abs() * G::Ang::LEN as f64) as usize % G::Ang::LEN] = quarter * (random.next() * 4.0).round();
            if nearly { G::compose(free, G::exp(square)) } else { free }
        };
        let (turn_b, nearly) = (turn(false), turn(true));
        let free = turn(false);
        let square = random.next() > 0.0;
        let pose_b = Pose { position: random.vector(2.0), rotation: turn_b };
        let pose_a = Pose { position: pose_b.position, rotation: if square { G::compose(nearly, turn_b) } else { free } };
        let direction: G::Lin = random.vector::<G::Lin>(1.0).unit();
        let gap = *random.pick(&GAPS);
        let Some(pose_a) = at_gap(&a, pose_a, &b, &pose_b, direction, gap) else { continue };
        found.clear();
        G::contacts(&a, &pose_a, &b, &pose_b, gap.max(0.0) + 0.05, &mut found);
        for contact in &found {
            let name = class::<G>(&contact.feature);
            let hits = seen.entry(name.clone()).or_insert(0);
            *hits += 1;
            // Bare corners that touch have no normal of their own.
            let apart = (contact.point_a - contact.point_b).norm() > 1e-6 || !name.contains("Point {") && !name.contains("PointPoint") && !name.contains("Edge {");
            if *hits > least || !apart {
                continue;
            }
            let tolerance = if !iterated.is_empty() && name.contains(iterated) { ITERATED } else { CLOSED };
            Case::<G> { feature: contact.feature, a: &a, pose_a, b: &b, pose_b, tolerance }.check(&mut random);
        }
    }
    seen
}

#[test]
fn contacts_of_the_plane_have_exact_derivatives() {
    use crate::planar::Shape;
    use nalgebra::Vector2;
    let points = [(-0.5, -0.3), (0.4, -0.4), (0.7, 0.1), (0.2, 0.5), (-0.4, 0.3)].map(|(x, y)| Vector2::new(x, y));
    let shapes = [
        Shape::ball(0.4).unwrap(),
        Shape::cuboid(0.9, 0.6).unwrap(),
        Shape::capsule(0.7, 0.2).unwrap(),
        Shape::convex(&points).unwrap(),
        Shape::half_space(Vector2::new(0.3, 1.0)).unwrap(),
        Shape::segment(Vector2::new(-0.4, 0.1), Vector2::new(0.6, -0.2)).unwrap(),
        Shape::heightfield(&[0.4, 0.0, 0.1, -0.1, 0.5], 0.6).unwrap(),
    ];
    let seen = sweep::<Planar>(&shapes, "", rounds(2000, 40_000), rounds(100, 5000), 1);
    println!("{seen:#?}");
    for class in ["PointPoint", "PointFace", "FacePoint", "EdgeFace", "FaceEdge"] {
        let count: usize = seen.iter().filter(|(name, _)| name.starts_with(class)).map(|(_, n)| n).sum();
        assert!(count > 20, "only {count} contacts of {class}");
    }
}
