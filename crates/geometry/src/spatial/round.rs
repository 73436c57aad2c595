//! Cylinder and cone as solids of revolution: their rims, sides and flat ends, and the contacts these features make, theory (8.14)-(8.16).

use super::core::Core;
use super::feature::{Curve, Kind, Raw, line_line, point_line, point_plane};
use super::nearest::whole;
use super::shape::Shape;
use carom_math::{Pose, Spatial};
use nalgebra::{Matrix3, Vector3};

type V = Vector3<f64>;

/// Below this sine the axis of a solid is upright on a plane and no point of the rim is lowest.
const UPRIGHT: f64 = 1e-12;

/// A cylinder or cone placed in the world, measured from the same origin as the cores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub rot: Matrix3<f64>,
    pub pos: V,
    pub half: f64,
    /// Radii of the lower and the upper rim [m]; an apex has none.
    pub radii: [f64; 2],
}

/// One of the two shapes of a pair in which a cylinder or cone takes part.
#[derive(Clone, Copy, Debug)]
pub(super) enum Solid<'a> {
    Core(Core<'a>),
    Round(Round),
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
    /// Axis of revolution, towards the upper rim.
    pub fn axis(&self) -> V {
        self.rot.column(2).into()
    }
    /// Centre of a rim (0 lower, 1 upper).
    pub fn centre(&self, rim: u8) -> V {
        self.pos + self.axis() * if rim == 0 { -self.half } else { self.half }
    }
    pub fn radius(&self, rim: u8) -> f64 {
        self.radii[usize::from(rim.min(1))]
    }
    pub fn is_cylinder(&self) -> bool {
        self.radii[1] > 0.0
    }
    /// Outward normal of a flat end.
    pub fn cap_normal(&self, cap: u32) -> V {
        if cap == 0 { -self.axis() } else { self.axis() }
    }
    /// Direction in the plane of the rims that goes down most against `up`, and the sine of the tilt; x where the axis is upright.
    pub fn downhill(&self, up: V) -> (V, f64) {
        let axis = self.axis();
        let across = up - axis * axis.dot(&up);
        let tilt = across.norm();
        if tilt <= UPRIGHT {
            return (self.rot.column(0).into(), 0.0);
        }
        // Once more square to the axis: a small tilt leaves no digits for the first time.
        let down = -across / tilt;
        ((down - axis * axis.dot(&down)).normalize(), tilt)
    }
    /// The point of a rim lowest against `up`, theory (8.14).
    pub fn lowest(&self, rim: u8, up: V) -> V {
        self.centre(rim) + self.downhill(up).0 * self.radius(rim)
    }
    /// Outward direction of a mark: quarter turns from x, fixed in the body.
    pub fn mark_direction(&self, quarter: u8) -> V {
        let (x, y): (V, V) = (self.rot.column(0).into(), self.rot.column(1).into());
        match quarter % 4 {
            0 => x,
            1 => y,
            2 => -x,
            _ => -y,
        }
    }
    pub fn mark(&self, rim: u8, quarter: u8) -> V {
        self.centre(rim) + self.mark_direction(quarter) * self.radius(rim)
    }
    fn support(&self, direction: V) -> V {
        let d = self.rot.tr_mul(&direction);
        let across = d.x.hypot(d.y);
        let flat = if across > 0.0 { V::new(d.x / across, d.y / across, 0.0) } else { V::x() };
        let low = flat * self.radii[0] - V::z() * self.half;
        let high = flat * self.radii[1] + V::z() * self.half;
        self.rot * (if high.dot(&d) >= low.dot(&d) { high } else { low }) + self.pos
    }
    /// Nearest surface point to a point: signed distance and outward normal, in the half-plane through the axis, theory (8.15).
    fn nearest(&self, p: V) -> (f64, V) {
        let x = self.rot.tr_mul(&(p - self.pos));
        let rho = x.x.hypot(x.y);
        let radial = if rho > 0.0 { V::new(x.x / rho, x.y / rho, 0.0) } else { V::x() };
        // The profile: base end, side from the lower rim to the upper, upper end.
        let (low, high) = (self.radii[0], self.radii[1]);
        let (run, rise) = (high - low, 2.0 * self.half);
        let length = run.hypot(rise);
        let side = (rise / length, -run / length);
        let flat = |(a, b): (f64, f64)| radial * a + V::z() * b;
        let plane_side = (rho - low) * side.0 + (x.z + self.half) * side.1;
        let along = ((rho - low) * run + (x.z + self.half) * rise) / (length * length);
        let (below, above) = (-self.half - x.z, x.z - self.half);
        let point = |a: f64, b: f64| {
            let (u, v) = (rho - a, x.z - b);
            let d = u.hypot(v);
            if d > 0.0 { (d, (u / d, v / d)) } else { (0.0, side) }
        };
        let (distance, normal) = if below <= 0.0 && above <= 0.0 && plane_side <= 0.0 {
            // Inside: the nearest of the three.
            if plane_side >= below && (plane_side >= above || high == 0.0) {
                (plane_side, side)
            } else if below >= above || high == 0.0 {
                (below, (0.0, -1.0))
            } else {
                (above, (0.0, 1.0))
            }
        } else if below > 0.0 && rho <= low {
            (below, (0.0, -1.0))
        } else if above > 0.0 && rho <= high {
            (above, (0.0, 1.0))
        } else if plane_side > 0.0 && (0.0..=1.0).contains(&along) {
            (plane_side, side)
        } else if along < 0.5 {
            point(low, -self.half)
        } else {
            point(high, self.half)
        };
        (distance, self.rot * flat(normal))
    }
    /// Where a rim crosses a plane, theory (8.16): the root on one side or the other of the steepest direction.
    fn cut(&self, rim: u8, root: u8, outward: V, on_plane: V) -> Option<V> {
        let centre = self.centre(rim);
        let axis = self.axis();
        let steep = outward - axis * axis.dot(&outward);
        let slope = steep.norm();
        let cosine = outward.dot(&(on_plane - centre)) / (self.radius(rim) * slope);
        // A plane along the rim gives NaN.
        if cosine.is_nan() || cosine.abs() >= 1.0 {
            return None;
        }
        let steep = steep / slope;
        let beside = axis.cross(&steep) * if root == 0 { 1.0 } else { -1.0 };
        Some(centre + (steep * cosine + beside * (1.0 - cosine * cosine).sqrt()) * self.radius(rim))
    }
    /// Where the rim crosses the wall above another solid's rim, exact for parallel axes, theory (8.16).
    pub fn lens(&self, rim: u8, root: u8, other: &Round, other_rim: u8) -> Option<V> {
        let (c, axis) = (self.centre(rim), other.axis());
        let d = other.centre(other_rim) - c;
        let d = d - axis * axis.dot(&d);
        let distance = d.norm();
        let (r, s) = (self.radius(rim), other.radius(other_rim));
        let along = (distance * distance + r * r - s * s) / (2.0 * distance);
        self.cut(rim, root, d / distance, c + d * (along / distance))
    }
}

/// Parameters where a segment crosses the wall over a rim: the root first or second along it.
pub(super) fn wall_crossing(p: V, q: V, round: &Round, rim: u8, root: u8) -> Option<f64> {
    let axis = round.axis();
    let (e, d) = (q - p, p - round.centre(rim));
    let (e, d) = (e - axis * axis.dot(&e), d - axis * axis.dot(&d));
    let (a, b, c) = (e.norm_squared(), e.dot(&d), d.norm_squared() - round.radius(rim).powi(2));
    let discriminant = b * b - a * c;
    if discriminant.is_nan() || discriminant <= 0.0 || a <= 0.0 {
        return None;
    }
    let sign = if root == 0 { -1.0 } else { 1.0 };
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
    /// Distance about the solid that belongs to the shape [m].
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
    /// Length scale [m].
    pub fn scale(&self) -> f64 {
        match self {
            Solid::Core(core) => core.scale(),
            Solid::Round(round) => 2.0 * round.half.max(round.radii[0]),
        }
    }
    /// A flat feature as a plane: outward normal and a point.
    fn plane(&self, face: u32) -> (V, V) {
        match self {
            Solid::Core(core) => (core.normal(face), core.face_point(face)),
            Solid::Round(round) => (round.cap_normal(face), round.centre(face.min(1) as u8)),
        }
    }
    /// A point feature with the distance about it; `None` for what is no point. Rims look down along `up`.
    fn point(&self, curve: Curve, up: V) -> Option<(V, f64)> {
        match (self, curve) {
            (Solid::Core(core), Curve::Vertex(v)) => Some((core.vertex(v), core.radius)),
            (Solid::Round(round), Curve::Vertex(_)) => Some((round.centre(1), 0.0)),
            (Solid::Round(round), Curve::Rim(rim)) => Some((round.lowest(rim, up), 0.0)),
            (Solid::Round(round), Curve::Mark(rim, quarter)) => Some((round.mark(rim, quarter), 0.0)),
            (Solid::Round(round), Curve::Centre(rim)) => Some((round.centre(rim), round.radius(rim))),
            _ => None,
        }
    }
    /// A straight feature with the distance about it: an edge, or the axis of a cylinder under its side.
    fn line(&self, curve: Curve) -> Option<((V, V), f64)> {
        match (self, curve) {
            (Solid::Core(core), Curve::Edge(e)) => Some((core.edge(e), core.radius)),
            (Solid::Round(round), Curve::Side) => Some(((round.centre(0), round.centre(1)), round.radii[0])),
            _ => None,
        }
    }
    /// The lowest straight line of the side against `up`, from the lower to the upper end.
    fn generator(&self, up: V) -> Option<(V, V)> {
        match self {
            Solid::Round(round) => Some((round.lowest(0, up), round.lowest(1, up))),
            Solid::Core(_) => None,
        }
    }
}

/// The contact of a pair of curved features at given poses; a pair that no longer has its point falls back to the nearest points.
pub(super) fn evaluate(kind: Kind, a: &Solid, b: &Solid) -> Raw {
    let Kind::Round { a: ca, b: cb } = kind else {
        return match (a, b) {
            (Solid::Core(x), Solid::Core(y)) => super::feature::evaluate(kind, x, y),
            _ => whole(a, b, None).raw,
        };
    };
    closed_form(ca, a, cb, b).or_else(|| closed_form(cb, b, ca, a).map(Raw::swapped)).unwrap_or_else(|| whole(a, b, None).raw)
}

/// The closed forms, with the flat or enclosing feature on b.
fn closed_form(ca: Curve, a: &Solid, cb: Curve, b: &Solid) -> Option<Raw> {
    match cb {
        Curve::Face(face) => {
            let (n, o) = b.plane(face);
            let (p, radius) = match (ca, b) {
                (Curve::EdgeCut(e, root), Solid::Round(round)) => {
                    let ((p, q), radius) = a.line(Curve::Edge(e))?;
                    (p + (q - p) * wall_crossing(p, q, round, face.min(1) as u8, root)?, radius)
                }
                (Curve::GeneratorCut(root), Solid::Round(round)) => {
                    let (p, q) = a.generator(n)?;
                    (p + (q - p) * wall_crossing(p, q, round, face.min(1) as u8, root)?, 0.0)
                }
                _ => a.point(ca, n)?,
            };
            Some(point_plane(p, n, o, radius))
        }
        Curve::Wall(face, side) => {
            let Solid::Core(core) = b else { return None };
            let n = core.normal(face);
            let (corner, next) =
                (core.vertex(core.face_vertex(face, side as usize)), core.vertex(core.face_vertex(face, side as usize + 1)));
            let outward = (next - corner).cross(&n);
            let p = match (ca, a) {
                (Curve::Cut(rim, root), Solid::Round(round)) => round.cut(rim, root, outward, corner)?,
                (Curve::Generator, _) => {
                    let (p, q) = a.generator(n)?;
                    let slope = outward.dot(&(q - p));
                    if slope == 0.0 {
                        return None;
                    }
                    p + (q - p) * (outward.dot(&(corner - p)) / slope)
                }
                _ => return None,
            };
            Some(point_plane(p, n, corner, 0.0))
        }
        Curve::Rim(other) => match (ca, a, b) {
            (Curve::Cut(rim, root), Solid::Round(x), Solid::Round(y)) => {
                Some(point_plane(x.lens(rim, root, y, other)?, y.cap_normal(u32::from(other)), y.centre(other), 0.0))
            }
            _ => None,
        },
        Curve::Whole => match (ca, b) {
            (Curve::Vertex(_), Solid::Round(round)) => {
                let (p, radius) = a.point(ca, V::zeros())?;
                let (distance, normal) = round.nearest(p);
                let gap = distance - radius;
                Some(Raw { gap, normal, point_a: p - normal * radius, point_b: p - normal * distance })
            }
            _ => None,
        },
        Curve::Edge(_) | Curve::Side => {
            let (line, radius) = b.line(cb)?;
            if let Some((own, about)) = a.line(ca) {
                // The axis of a cylinder keeps its radius away, which tells the side.
                let flip = (own.1 - own.0).cross(&(line.1 - line.0)).dot(&(own.0 - line.0)) < 0.0;
                return Some(line_line(own, line, flip, about, radius));
            }
            let (p, own) = a.point(ca, V::zeros())?;
            Some(point_line(p, line, own, radius))
        }
        _ => None,
    }
}
