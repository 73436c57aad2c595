//! Derivatives of contacts against central differences, for the features that random pairs of shapes really make.

use crate::{Contact, ContactAdjoint, ContactDerivative, ContactMotion, ContactTangent, Geometry};
use carom_math::{Planar, Pose, Spatial, Twist, Vector, Wrench};
use shapes::{planar_shapes, spatial_shapes};
use std::collections::BTreeMap;

mod cost;
mod shapes;

/// Steps of the central differences, relative to sizes of one metre and one radian.
const STEPS: [f64; 5] = [1e-3, 3e-4, 1e-4, 3e-5, 1e-5];
/// Weights of the central difference of fourth order.
const INNER: f64 = 2.0 / 3.0;
const OUTER: f64 = 1.0 / 12.0;
/// Best relative error over the steps.
const ACCURACY: f64 = 1e-8;
/// What iterated nearest points leave of the row of the gap, relative, and how far they may be off in gap \[m\] and normal \[rad\].
const ITERATED: f64 = 1e-9;
const ITERATED_GAP: f64 = 1e-8;
const ITERATED_NORMAL: f64 = 1e-4;
/// Contacts whose normal turns faster than this [rad/m] are bare corners that touch.
const STIFF: f64 = 1e4;
/// The transpose identity, relative.
const TRANSPOSE: f64 = 1e-12;
/// Halvings of the distance at which a gap is looked for: to a micrometre.
const BISECTIONS: usize = 23;
/// Gaps \[m\] at which pairs are looked at.
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

/// The contact of a feature without errors of an iteration, and whether it has a closed form.
type Exact<G> = fn(<G as Geometry>::Feature, &<G as Geometry>::Shape, &Pose<G>, &<G as Geometry>::Shape, &Pose<G>) -> (Contact<G>, bool);

/// One contact of two placed shapes.
struct Case<'a, G: Geometry> {
    exact: Exact<G>,
    feature: G::Feature,
    a: &'a G::Shape,
    pose_a: Pose<G>,
    b: &'a G::Shape,
    pose_b: Pose<G>,
    /// Largest entry of the Jacobian, at least one.
    scale: f64,
}

impl<G: Geometry> Case<'_, G> {
    fn tangent(&self, motion: &ContactMotion<G>) -> ContactTangent<G> {
        G::derivative(self.feature, self.a, &self.pose_a, self.b, &self.pose_b).tangent(motion)
    }
    fn describe(&self) -> String {
        format!(
            "{} of {} at {:?} on {} at {:?}",
            class::<G>(&self.feature),
            G::shape_key(self.a),
            self.pose_a,
            G::shape_key(self.b),
            self.pose_b
        )
    }
    /// The best relative error over the steps of the central differences of `moved`.
    fn compare(&self, what: &str, found: &ContactTangent<G>, moved: impl Fn(f64) -> Option<Contact<G>>) {
        let mut best = f64::INFINITY;
        let mut shown = None;
        // A small distance between bare corners turns the normal fast, and a cut near the edge of its rim moves like a square root: the
        // steps shrink as the distance to such a place does.
        for h in STEPS.map(|h| h / self.scale.powf(1.5)) {
            let [Some(plus), Some(minus), Some(far), Some(back)] = [h, -h, 2.0 * h, -2.0 * h].map(&moved) else { continue };
            let difference = ContactTangent::zero()
                .plus(INNER / h, &numbers(&plus))
                .plus(-INNER / h, &numbers(&minus))
                .plus(-OUTER / h, &numbers(&far))
                .plus(OUTER / h, &numbers(&back));
            let error = size(&difference.plus(-1.0, found)) / self.scale;
            if error < best {
                (best, shown) = (error, Some(difference));
            }
        }
        assert!(best < ACCURACY, "{what} of {}: error {best:e}\nfound {found:?}\nwant  {shown:?}", self.describe());
    }
    /// Columns of the poses and sizes against central differences, the rows of the gap, and the transpose.
    fn check(&self, random: &mut Random) {
        let evaluate = |a: &G::Shape, pose_a: &Pose<G>, b: &G::Shape, pose_b: &Pose<G>| (self.exact)(self.feature, a, pose_a, b, pose_b).0;
        let (contact, closed) = (self.exact)(self.feature, self.a, &self.pose_a, self.b, &self.pose_b);
        let off = numbers(&G::evaluate(self.feature, self.a, &self.pose_a, self.b, &self.pose_b)).plus(-1.0, &numbers(&contact));
        assert!(
            if closed { size(&off) == 0.0 } else { off.gap.abs() < ITERATED_GAP && off.normal.max_abs() < ITERATED_NORMAL },
            "{} is off by {off:?}",
            self.describe()
        );
        let jacobian = G::derivative(self.feature, self.a, &self.pose_a, self.b, &self.pose_b).jacobian();
        assert!(jacobian.regular, "{} is not regular", self.describe());
        let [columns_a, columns_b] = jacobian.columns();
        for k in 0..G::DOF {
            let column = &columns_a[k];
            self.compare(&format!("column a {k}"), column, |h| {
                Some(evaluate(self.a, &self.pose_a.advanced(unit(k), h), self.b, &self.pose_b))
            });
            let column = &columns_b[k];
            self.compare(&format!("column b {k}"), column, |h| {
                Some(evaluate(self.a, &self.pose_a, self.b, &self.pose_b.advanced(unit(k), h)))
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
                Some(evaluate(&shape, &self.pose_a, self.b, &self.pose_b))
            });
        }
        for k in 0..sizes_b.len() {
            let mut along = vec![0.0; sizes_b.len()];
            along[k] = 1.0;
            let found = self.tangent(&ContactMotion { shape_b: Some(&along), ..still });
            self.compare(&format!("size b {k}"), &found, |h| {
                let shape = G::with_shape_parameters(self.b, &moved(&sizes_b, &along, h)).ok()?;
                Some(evaluate(self.a, &self.pose_a, &shape, &self.pose_b))
            });
        }
        // A random motion of everything: tangent, columns and transpose agree.
        let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| random.next()).collect() };
        let (along_a, along_b) = (draw(sizes_a.len()), draw(sizes_b.len()));
        let mut twist = || Twist::<G> { lin: random.vector(1.0), ang: random.vector(1.0) };
        let (twist_a, twist_b) = (twist(), twist());
        let poses = self.tangent(&ContactMotion::of_poses(twist_a, twist_b));
        let columns = jacobian.apply(&twist_a, &twist_b);
        let scale = self.scale;
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
        G::derivative(self.feature, self.a, &self.pose_a, self.b, &self.pose_b).adjoint(&bar, &mut out);
        assert!(out.regular);
        let power = out.pose_a.power(&twist_a) + out.pose_b.power(&twist_b);
        let product = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(x, y)| x * y).sum() };
        let backward = power + product(&bar_a, &along_a) + product(&bar_b, &along_b);
        let forward = all.dot(&bar);
        assert!((forward - backward).abs() < TRANSPOSE * scale, "transpose of {}: {forward} {backward}", self.describe());
        // The gap follows the material points, theory (7.2), unless the point slides along a cut edge.
        let name = class::<G>(&self.feature);
        let slides = ["EdgeFace", "FaceEdge", "Wall", "Cut"].iter().any(|cut| name.contains(cut));
        let row =
            contact.normal.dot(twist_a.at(contact.point_a - self.pose_a.position) - twist_b.at(contact.point_b - self.pose_b.position));
        let slack = if closed { TRANSPOSE } else { ITERATED } * scale;
        assert!(slides || (row - poses.gap).abs() < slack, "row of {}: {row} {}", self.describe(), poses.gap);
        // Both as one rigid body.
        let both = Twist { lin: twist_a.at(self.pose_b.position - self.pose_a.position), ang: twist_a.ang };
        let together = self.tangent(&ContactMotion::of_poses(twist_a, both));
        let turned = G::spin(twist_a.ang, contact.normal);
        assert!(
            together.gap.abs() < slack && (together.normal - turned).max_abs() < slack,
            "rigid motion of {}: {together:?}",
            self.describe()
        );
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
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if separation(middle) < gap { low = middle } else { high = middle }
    }
    Some(place(high))
}

/// Checks the contacts of random pairs of shapes; returns how many of each class were seen.
fn sweep<G: Geometry>(shapes: &[G::Shape], exact: Exact<G>, count: usize, least: usize, seed: u64) -> BTreeMap<String, usize> {
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
            let jacobian = G::derivative(contact.feature, &a, &pose_a, &b, &pose_b).jacobian();
            let scale = jacobian.columns().iter().flatten().fold(1.0, |most: f64, c| most.max(size(c)));
            // Bare corners that touch have no normal of their own.
            // Iterated contacts take a thousand times as long.
            let most = if exact(contact.feature, &a, &pose_a, &b, &pose_b).1 { least } else { least / 4 };
            if *hits > most || scale > STIFF {
                continue;
            }
            Case::<G> { exact, feature: contact.feature, a: &a, pose_a, b: &b, pose_b, scale }.check(&mut random);
        }
    }
    seen
}

#[test]
fn contacts_of_the_plane_have_exact_derivatives() {
    let shapes = planar_shapes();
    let seen =
        sweep::<Planar>(&shapes, |f, a, x, b, y| (Planar::evaluate(f, a, x, b, y), true), rounds(2000, 40_000), rounds(100, 5000), 1);
    println!("{seen:#?}");
    for class in ["PointPoint", "PointFace", "FacePoint", "EdgeFace", "FaceEdge"] {
        let count: usize = seen.iter().filter(|(name, _)| name.starts_with(class)).map(|(_, n)| n).sum();
        assert!(count > 20, "only {count} contacts of {class}");
    }
}

#[test]
fn contacts_in_space_have_exact_derivatives() {
    use crate::spatial::derivative::Pair;
    let shapes = spatial_shapes();
    let seen =
        sweep::<Spatial>(&shapes, |f, a, x, b, y| Pair::new(f, a, x, b, y).exact().unwrap(), rounds(2000, 20_000), rounds(15, 200), 2);
    println!("{seen:#?}");
    for class in ["PointPoint", "PointEdge", "EdgePoint", "PointFace", "FacePoint", "EdgeEdge", "EdgeFace", "FaceEdge"] {
        let count: usize = seen.iter().filter(|(name, _)| name.starts_with(class)).map(|(_, n)| n).sum();
        assert!(count > 10, "only {count} contacts of {class}");
    }
    for curve in
        ["Vertex", "Edge(", "EdgeCut", "Face", "Wall", "Rim", "Mark", ": Cut", "Centre", "Side", "Generator", "GeneratorCut", "Whole"]
    {
        let count: usize = seen.iter().filter(|(name, _)| name.contains("Round") && name.contains(curve)).map(|(_, n)| n).sum();
        assert!(count > 5, "only {count} contacts of {curve}");
    }
}

#[test]
fn degenerate_contacts_are_finite_and_marked() {
    use crate::{planar, spatial};
    use nalgebra::{Vector2, Vector3};
    fn check<G: Geometry>(feature: G::Feature, a: &G::Shape, pose_a: &Pose<G>, b: &G::Shape, pose_b: &Pose<G>) {
        let sizes = vec![1.0; G::shape_parameters(a).len()];
        let motion = ContactMotion { shape_a: Some(&sizes), ..ContactMotion::of_poses(unit(0), unit(G::DIM)) };
        let tangent = G::derivative(feature, a, pose_a, b, pose_b).tangent(&motion);
        assert!(tangent.is_finite() && !tangent.regular, "{feature:?}: {tangent:?}");
        let jacobian = G::derivative(feature, a, pose_a, b, pose_b).jacobian();
        assert!(jacobian.is_finite() && !jacobian.regular, "{feature:?}: {jacobian:?}");
        let mut bars = vec![0.0; sizes.len()];
        let mut out = ContactAdjoint { shape_a: Some(&mut bars), ..ContactAdjoint::of_poses() };
        G::derivative(feature, a, pose_a, b, pose_b).adjoint(&tangent, &mut out);
        assert!(!out.regular && out.pose_a.lin.is_finite() && out.pose_b.ang.is_finite());
        assert!(bars.iter().all(|x| x.is_finite()));
    }
    // Coincident centres, and an edge square to the face that should cut it.
    let here = Pose::<Planar>::identity();
    let (disc, square) = (planar::Shape::ball(0.5).unwrap(), planar::Shape::cuboid(1.0, 1.0).unwrap());
    check::<Planar>(planar::Feature::PointPoint { a: 0, b: 0 }, &disc, &here, &disc, &here);
    check::<Planar>(planar::Feature::EdgeFace { a: 1, b: 2, end: planar::End::Start }, &square, &here, &square, &here);
    // The same in space; parallel edges; an upright cylinder over its lowest point; a rim along the wall that should cut it; a ball on
    // the axis of a cone; two surfaces, which make no contacts; and a feature of other shapes.
    let here = Pose::<Spatial>::identity();
    let up = |z: f64| Pose::<Spatial> { position: Vector3::new(0.0, 0.0, z), ..Pose::identity() };
    use spatial::{Curve, Feature, Kind, Shape};
    let round = |a: Curve, b: Curve| Feature { part: 0, kind: Kind::Round { a, b } };
    let named = |kind: Kind| Feature { part: 0, kind };
    let (ball, cube) = (Shape::ball(0.5).unwrap(), Shape::cuboid(Vector3::repeat(0.5)).unwrap());
    let (cylinder, cone) = (Shape::cylinder(0.5, 0.3).unwrap(), Shape::cone(0.5, 0.3).unwrap());
    let ground = Shape::half_space(Vector3::z()).unwrap();
    check::<Spatial>(named(Kind::PointPoint { a: 0, b: 0 }), &ball, &here, &ball, &here);
    check::<Spatial>(named(Kind::EdgeEdge { a: 0, b: 1, flip: false }), &cube, &up(1.0), &cube, &here);
    check::<Spatial>(named(Kind::EdgeFace { a: 8, b: 4, side: 0 }), &cube, &up(1.0), &cube, &here);
    check::<Spatial>(round(Curve::Rim(0), Curve::Face(0)), &cylinder, &up(0.5), &ground, &here);
    check::<Spatial>(round(Curve::Vertex(0), Curve::Whole), &ball, &up(1.2), &cone, &here);
    check::<Spatial>(round(Curve::Face(1), Curve::Face(0)), &cylinder, &up(1.0), &cylinder, &here);
    check::<Spatial>(named(Kind::PointFace { a: 0, b: 0 }), &ground, &here, &ground, &here);
    check::<Spatial>(round(Curve::Rim(0), Curve::Face(0)), &cube, &up(1.0), &cube, &here);
    // Nothing overflows where the distance is the least number there is.
    let tiny = planar::Feature::PointPoint { a: 0, b: 0 };
    let beside = Pose::<Planar> { position: Vector2::new(f64::MIN_POSITIVE, 0.0), ..Pose::identity() };
    assert!(
        Planar::derivative(tiny, &disc, &beside, &disc, &Pose::identity()).tangent(&ContactMotion::of_poses(unit(1), unit(2))).is_finite()
    );
}

#[test]
fn sizes_come_back_as_they_went() {
    use nalgebra::Vector2;
    fn check<G: Geometry>(shape: &G::Shape) {
        let sizes = G::shape_parameters(shape);
        let again = G::with_shape_parameters(shape, &sizes).unwrap();
        let near = G::shape_parameters(&again).iter().zip(&sizes).all(|(x, y)| (x - y).abs() < 1e-15);
        assert!(near && G::shape_key(&again) == G::shape_key(shape), "{shape:?} came back as {again:?}");
        let mut more = sizes.clone();
        more.push(1.0);
        assert!(G::with_shape_parameters(shape, &more).is_err());
        if !sizes.is_empty() {
            assert!(G::with_shape_parameters(shape, &sizes[1..]).is_err());
            assert!(G::with_shape_parameters(shape, &vec![f64::NAN; sizes.len()]).is_err());
            assert!(G::with_shape_parameters(shape, &vec![0.0; sizes.len()]).is_err());
            // Twice as large is as well formed; turned inside out is not, but for directions and segments.
            assert!(G::with_shape_parameters(shape, &sizes.iter().map(|x| 2.0 * x).collect::<Vec<_>>()).is_ok());
        }
    }
    for shape in spatial_shapes() {
        check::<Spatial>(&shape);
    }
    for shape in planar_shapes() {
        check::<Planar>(&shape);
    }
    // A corner pushed through the opposite side.
    let triangle = crate::planar::Shape::convex(&[Vector2::new(0.0, 0.0), Vector2::new(1.0, 0.0), Vector2::new(0.0, 1.0)]).unwrap();
    let mut sizes = Planar::shape_parameters(&triangle);
    sizes[0] += 2.0;
    sizes[1] += 2.0;
    assert!(Planar::with_shape_parameters(&triangle, &sizes).is_err());
    let hull = &spatial_shapes()[3];
    let mut sizes = Spatial::shape_parameters(hull);
    for x in &mut sizes[..3] {
        *x *= -1.5;
    }
    assert!(Spatial::with_shape_parameters(hull, &sizes).is_err());
    assert!(Spatial::shape_parameters(hull).len() == 36);
}
