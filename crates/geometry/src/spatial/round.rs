//! Cylinder and cone as solids of revolution: their rims, sides and flat ends, and the contacts these features make, theory (8.14)-(8.16).

use super::core::Core;
use super::feature::{Curve, Kind, Raw, line_line, point_line, point_plane};
use super::nearest::whole;
use super::placed::Elements;
use super::shape::Shape;
use crate::scalar::{Real, constant, dot, norm};
use carom_math::{Pose, Spatial};
use nalgebra::{Matrix3, Vector3};

type V = Vector3<f64>;

/// Below this sine the axis of a solid is upright on a plane and no point of the rim is lowest.
const UPRIGHT: f64 = 1e-12;

/// A cylinder or cone placed in the world, measured from the same origin as the cores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round<T: Real = f64> {
    pub rot: Matrix3<T>,
    pub pos: Vector3<T>,
    pub half: T,
    /// Radii of the lower and the upper rim \[m\]; an apex has none.
    pub radii: [T; 2],
}

/// One of the two shapes of a pair in which a cylinder or cone takes part: a core, or a solid of revolution.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side<E, T: Real> {
    Core(E),
    Round(Round<T>),
}

/// The same at rest.
pub(super) type Solid<'a> = Side<Core<'a>, f64>;

/// A point feature.
struct Spot<T: Real> {
    at: Vector3<T>,
    /// Distance about it that belongs to the shape \[m\].
    about: T,
    /// Whether it moves smoothly with the poses.
    regular: bool,
}

/// A straight feature.
struct Line<T: Real> {
    ends: (Vector3<T>, Vector3<T>),
    /// Distance about it that belongs to the shape \[m\].
    about: T,
    /// Whether it moves smoothly with the poses.
    regular: bool,
}

impl Round {
    pub fn of(shape: &Shape, pose: &Pose<Spatial>, origin: V) -> Option<Round> {
        let (half, radii) = match shape {
            Shape::Cylinder { half_height, radius } => (*half_height, [*radius, *radius]),
            Shape::Cone { half_height, radius } => (*half_height, [*radius, 0.0]),
            _ => return None,
        };
        Some(Round { rot: *pose.rotation.to_rotation_matrix().matrix(), pos: pose.position - origin, half, radii })
    }
    fn support(&self, direction: V) -> V {
        let d = self.rot.tr_mul(&direction);
        let across = (d.x * d.x + d.y * d.y).sqrt();
        let flat = if across > 0.0 { V::new(d.x / across, d.y / across, 0.0) } else { V::x() };
        let low = flat * self.radii[0] - V::z() * self.half;
        let high = flat * self.radii[1] + V::z() * self.half;
        self.rot * (if high.dot(&d) >= low.dot(&d) { high } else { low }) + self.pos
    }
}

impl<T: Real> Round<T> {
    /// Axis of the frame by number.
    fn column(&self, k: usize) -> Vector3<T> {
        self.rot.column(k).into()
    }
    /// Axis of revolution, towards the upper rim.
    pub fn axis(&self) -> Vector3<T> {
        self.column(2)
    }
    /// Centre of a rim (0 lower, 1 upper).
    pub fn centre(&self, rim: u8) -> Vector3<T> {
        self.pos + self.axis() * if rim == 0 { -self.half } else { self.half }
    }
    pub fn radius(&self, rim: u8) -> T {
        self.radii[usize::from(rim.min(1))]
    }
    pub fn is_cylinder(&self) -> bool {
        self.radii[1].value() > 0.0
    }
    /// Outward normal of a flat end.
    pub fn cap_normal(&self, cap: u32) -> Vector3<T> {
        if cap == 0 { -self.axis() } else { self.axis() }
    }
    /// Direction in the plane of the rims that goes down most against `up`, and the sine of the tilt; x and zero where the axis is upright.
    pub fn downhill(&self, up: Vector3<T>) -> (Vector3<T>, T) {
        let axis = self.axis();
        let across = up - axis * dot(axis, up);
        let tilt = norm(across);
        if tilt.value() <= UPRIGHT {
            return (self.column(0), T::of(0.0));
        }
        // Once more square to the axis: a small tilt leaves no digits for the first time.
        let down = -across / tilt;
        let down = down - axis * dot(axis, down);
        (down / norm(down), tilt)
    }
    /// The point of a rim lowest against `up`, theory (8.14).
    pub fn lowest(&self, rim: u8, up: Vector3<T>) -> Vector3<T> {
        self.centre(rim) + self.downhill(up).0 * self.radius(rim)
    }
    /// Outward direction of a mark: quarter turns from x, fixed in the body.
    pub fn mark_direction(&self, quarter: u8) -> Vector3<T> {
        let (x, y) = (self.column(0), self.column(1));
        match quarter % 4 {
            0 => x,
            1 => y,
            2 => -x,
            _ => -y,
        }
    }
    pub fn mark(&self, rim: u8, quarter: u8) -> Vector3<T> {
        self.centre(rim) + self.mark_direction(quarter) * self.radius(rim)
    }
    /// Nearest surface point to a point: signed distance, outward normal and whether both move smoothly with the point, in the half-plane
    /// through the axis, theory (8.15).
    fn nearest(&self, p: Vector3<T>) -> (T, Vector3<T>, bool) {
        let (zero, one) = (T::of(0.0), T::of(1.0));
        let arm = p - self.pos;
        let (x, y, z) = (dot(self.column(0), arm), dot(self.column(1), arm), dot(self.axis(), arm));
        let rho = x.hypot(y);
        let off_axis = rho.value() > 0.0;
        let radial = if off_axis { (x / rho, y / rho) } else { (one, zero) };
        // The profile: base end, side from the lower rim to the upper, upper end.
        let (low, high) = (self.radii[0], self.radii[1]);
        let (run, rise) = (high - low, T::of(2.0) * self.half);
        let length = run.hypot(rise);
        let side = (rise / length, -run / length);
        let plane_side = (rho - low) * side.0 + (z + self.half) * side.1;
        let along = ((rho - low) * run + (z + self.half) * rise) / (length * length);
        let (below, above) = (-self.half - z, z - self.half);
        let point = |a: T, b: T| {
            let (u, v) = (rho - a, z - b);
            let d = u.hypot(v);
            if d.value() > 0.0 { (d, (u / d, v / d), off_axis) } else { (zero, side, false) }
        };
        let (down, up) = ((zero, -one), (zero, one));
        let (below_value, above_value, side_value, flat_top) = (below.value(), above.value(), plane_side.value(), high.value() == 0.0);
        let (distance, normal, regular) = if below_value <= 0.0 && above_value <= 0.0 && side_value <= 0.0 {
            // Inside: the nearest of the three.
            if side_value >= below_value && (side_value >= above_value || flat_top) {
                (plane_side, side, off_axis)
            } else if below_value >= above_value || flat_top {
                (below, down, true)
            } else {
                (above, up, true)
            }
        } else if below_value > 0.0 && rho.value() <= low.value() {
            (below, down, true)
        } else if above_value > 0.0 && rho.value() <= high.value() {
            (above, up, !flat_top)
        } else if side_value > 0.0 && (0.0..=1.0).contains(&along.value()) {
            (plane_side, side, off_axis)
        } else if along.value() < 0.5 {
            point(low, -self.half)
        } else {
            point(high, self.half)
        };
        let (flat, axial) = normal;
        (distance, self.column(0) * (radial.0 * flat) + self.column(1) * (radial.1 * flat) + self.axis() * axial, regular)
    }
    /// Where a rim crosses a plane, theory (8.16): the root on one side or the other of the steepest direction.
    fn cut(&self, rim: u8, root: u8, outward: Vector3<T>, on_plane: Vector3<T>) -> Option<Vector3<T>> {
        let centre = self.centre(rim);
        let axis = self.axis();
        let steep = outward - axis * dot(axis, outward);
        let slope = norm(steep);
        let cosine = dot(outward, on_plane - centre) / (self.radius(rim) * slope);
        // A plane along the rim gives NaN.
        if cosine.value().is_nan() || cosine.value().abs() >= 1.0 {
            return None;
        }
        let steep = steep / slope;
        let beside = axis.cross(&steep) * T::of(if root == 0 { 1.0 } else { -1.0 });
        Some(centre + (steep * cosine + beside * (T::of(1.0) - cosine * cosine).sqrt()) * self.radius(rim))
    }
    /// Where the rim crosses the wall above another solid's rim, exact for parallel axes, theory (8.16).
    pub fn lens(&self, rim: u8, root: u8, other: &Round<T>, other_rim: u8) -> Option<Vector3<T>> {
        let (c, axis) = (self.centre(rim), other.axis());
        let d = other.centre(other_rim) - c;
        let d = d - axis * dot(axis, d);
        let distance = norm(d);
        let (r, s) = (self.radius(rim), other.radius(other_rim));
        let along = (distance * distance + r * r - s * s) / (T::of(2.0) * distance);
        self.cut(rim, root, d / distance, c + d * (along / distance))
    }
}

/// Parameters where a segment crosses the wall over a rim: the root first or second along it.
pub(super) fn wall_crossing<T: Real>(p: Vector3<T>, q: Vector3<T>, round: &Round<T>, rim: u8, root: u8) -> Option<T> {
    let axis = round.axis();
    let (e, d) = (q - p, p - round.centre(rim));
    let (e, d) = (e - axis * dot(axis, e), d - axis * dot(axis, d));
    let (a, b, c) = (dot(e, e), dot(e, d), dot(d, d) - round.radius(rim) * round.radius(rim));
    let discriminant = b * b - a * c;
    if discriminant.value().is_nan() || discriminant.value() <= 0.0 || a.value() <= 0.0 {
        return None;
    }
    let sign = T::of(if root == 0 { -1.0 } else { 1.0 });
    Some((-b + sign * discriminant.sqrt()) / a)
}

impl<'a> Solid<'a> {
    pub fn of(shape: &'a Shape, pose: &Pose<Spatial>, origin: V) -> Option<Solid<'a>> {
        Round::of(shape, pose, origin).map(Solid::Round).or_else(|| Core::of(shape, pose, origin).map(Solid::Core))
    }
    /// A point within.
    pub fn middle(&self) -> V {
        match self {
            Solid::Core(core) => {
                let n = core.vertex_count() as u32;
                (0..n).fold(V::zeros(), |sum, v| sum + core.vertex(v)) / f64::from(n.max(1))
            }
            Solid::Round(round) => round.pos,
        }
    }
    /// Distance about the solid that belongs to the shape \[m\].
    pub fn margin(&self) -> f64 {
        match self {
            Solid::Core(core) => core.radius,
            Solid::Round(_) => 0.0,
        }
    }
    pub fn support(&self, direction: V) -> V {
        match self {
            Solid::Core(core) => core.vertex(core.support(direction)),
            Solid::Round(round) => round.support(direction),
        }
    }
    /// Length scale \[m\].
    pub fn scale(&self) -> f64 {
        match self {
            Solid::Core(core) => core.scale(),
            Solid::Round(round) => 2.0 * round.half.max(round.radii[0]),
        }
    }
}

impl<E: Elements> Side<E, E::T> {
    /// A flat feature as a plane: outward normal and a point.
    fn plane(&self, face: u32) -> (Vector3<E::T>, Vector3<E::T>) {
        match self {
            Side::Core(core) => (core.normal(face), core.face_point(face)),
            Side::Round(round) => (round.cap_normal(face), round.centre(face.min(1) as u8)),
        }
    }
    /// A point feature; `None` for what is no point. Rims look down along `up`.
    fn point(&self, curve: Curve, up: Vector3<E::T>) -> Option<Spot<E::T>> {
        let bare = |at: Vector3<E::T>| Some(Spot { at, about: Real::of(0.0), regular: true });
        match (self, curve) {
            (Side::Core(core), Curve::Vertex(v)) => Some(Spot { at: core.vertex(v), about: core.radius(), regular: true }),
            (Side::Round(round), Curve::Vertex(_)) => bare(round.centre(1)),
            (Side::Round(round), Curve::Rim(rim)) => {
                let (down, tilt) = round.downhill(up);
                Some(Spot { at: round.centre(rim) + down * round.radius(rim), about: Real::of(0.0), regular: tilt.value() > 0.0 })
            }
            (Side::Round(round), Curve::Mark(rim, quarter)) => bare(round.mark(rim, quarter)),
            (Side::Round(round), Curve::Centre(rim)) => Some(Spot { at: round.centre(rim), about: round.radius(rim), regular: true }),
            _ => None,
        }
    }
    /// A straight feature: an edge, or the axis of a cylinder under its side.
    fn line(&self, curve: Curve) -> Option<Line<E::T>> {
        match (self, curve) {
            (Side::Core(core), Curve::Edge(e)) => Some(Line { ends: core.edge(e), about: core.radius(), regular: true }),
            (Side::Round(round), Curve::Side) => {
                Some(Line { ends: (round.centre(0), round.centre(1)), about: round.radii[0], regular: true })
            }
            _ => None,
        }
    }
    /// The lowest straight line of the side against `up`, from the lower to the upper end.
    fn generator(&self, up: Vector3<E::T>) -> Option<Line<E::T>> {
        match self {
            Side::Round(round) => {
                let (down, tilt) = round.downhill(up);
                let end = |rim: u8| round.centre(rim) + down * round.radius(rim);
                Some(Line { ends: (end(0), end(1)), about: Real::of(0.0), regular: tilt.value() > 0.0 })
            }
            Side::Core(_) => None,
        }
    }
}

/// The contact of a pair of curved features at given poses; a pair that no longer has its point falls back to the nearest points.
pub(super) fn evaluate(kind: Kind, a: &Solid, b: &Solid) -> Raw {
    closed_form(kind, a, b).unwrap_or_else(|| whole(a, b, None, f64::INFINITY).raw)
}

/// The contact of a pair of features that have a closed form here.
pub(super) fn closed_form<E: Elements>(kind: Kind, a: &Side<E, E::T>, b: &Side<E, E::T>) -> Option<Raw<E::T>> {
    match (kind, a, b) {
        (_, Side::Core(x), Side::Core(y)) => Some(super::feature::evaluate(kind, x, y)),
        (Kind::Round { a: ca, b: cb }, ..) => on_flat(ca, a, cb, b).or_else(|| on_flat(cb, b, ca, a).map(Raw::swapped)),
        _ => None,
    }
}

/// The closed forms, with the flat or enclosing feature on b.
fn on_flat<E: Elements>(ca: Curve, a: &Side<E, E::T>, cb: Curve, b: &Side<E, E::T>) -> Option<Raw<E::T>> {
    let zero = || <E::T as Real>::of(0.0);
    let cut = |line: Line<E::T>, t: E::T| {
        let (p, q) = line.ends;
        Spot { at: p + (q - p) * t, about: line.about, regular: line.regular }
    };
    match cb {
        Curve::Face(face) => {
            let (n, o) = b.plane(face);
            let spot = match (ca, b) {
                (Curve::EdgeCut(..) | Curve::GeneratorCut(_), Side::Round(round)) => {
                    let (line, root) = match ca {
                        Curve::EdgeCut(e, root) => (a.line(Curve::Edge(e))?, root),
                        Curve::GeneratorCut(root) => (a.generator(n)?, root),
                        _ => return None,
                    };
                    let t = wall_crossing(line.ends.0, line.ends.1, round, face.min(1) as u8, root)?;
                    cut(line, t)
                }
                _ => a.point(ca, n)?,
            };
            Some(Raw { regular: spot.regular, ..point_plane(spot.at, n, o, spot.about) })
        }
        Curve::Wall(face, side) => {
            let Side::Core(core) = b else { return None };
            let n = core.normal(face);
            let (corner, next) = core.side(face, side);
            let outward = (next - corner).cross(&n);
            let spot = match (ca, a) {
                (Curve::Cut(rim, root), Side::Round(round)) => {
                    Spot { at: round.cut(rim, root, outward, corner)?, about: zero(), regular: true }
                }
                (Curve::Generator, _) => {
                    let line = a.generator(n)?;
                    let (p, q) = line.ends;
                    let slope = dot(outward, q - p);
                    if slope.value() == 0.0 {
                        return None;
                    }
                    cut(line, dot(outward, corner - p) / slope)
                }
                _ => return None,
            };
            Some(Raw { regular: spot.regular, ..point_plane(spot.at, n, corner, zero()) })
        }
        Curve::Rim(other) => match (ca, a, b) {
            (Curve::Cut(rim, root), Side::Round(x), Side::Round(y)) => {
                Some(point_plane(x.lens(rim, root, y, other)?, y.cap_normal(u32::from(other)), y.centre(other), zero()))
            }
            _ => None,
        },
        Curve::Whole => match (ca, b) {
            (Curve::Vertex(_), Side::Round(round)) => {
                let spot = a.point(ca, constant(V::zeros()))?;
                let (distance, normal, regular) = round.nearest(spot.at);
                let gap = distance - spot.about;
                Some(Raw { gap, normal, point_a: spot.at - normal * spot.about, point_b: spot.at - normal * distance, regular })
            }
            _ => None,
        },
        Curve::Edge(_) | Curve::Side => {
            let line = b.line(cb)?;
            if let Some(own) = a.line(ca) {
                // The axis of a cylinder keeps its radius away, which tells the side.
                let across = (own.ends.1 - own.ends.0).cross(&(line.ends.1 - line.ends.0));
                let flip = dot(across, own.ends.0 - line.ends.0).value() < 0.0;
                return Some(line_line(own.ends, line.ends, flip, own.about, line.about));
            }
            let spot = a.point(ca, constant(V::zeros()))?;
            Some(point_line(spot.at, line.ends, spot.about, line.about))
        }
        _ => None,
    }
}
