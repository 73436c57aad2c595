//! Pieces of surface by parameters (a vertex, an edge, a rim, a face, a side) and the choice of the piece on which a point lies.

use super::core::Core;
use super::placed::Elements;
use super::round::{Round, Side, Solid};
use crate::scalar::{Real, constant};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// A piece of surface by up to two parameters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Patch<T: Real> {
    Point(Vector3<T>),
    /// Through a point along a direction.
    Line(Vector3<T>, Vector3<T>),
    /// Through a point along two directions.
    Plane(Vector3<T>, Vector3<T>, Vector3<T>),
    /// By the angle from x.
    Circle {
        centre: Vector3<T>,
        x: Vector3<T>,
        y: Vector3<T>,
        radius: T,
    },
    /// By the angle from x and the part of the way from the lower centre along the rise to the upper one.
    Band {
        foot: Vector3<T>,
        rise: Vector3<T>,
        x: Vector3<T>,
        y: Vector3<T>,
        radii: [T; 2],
    },
}

impl<T: Real> Patch<T> {
    /// Number of parameters.
    pub fn dimension(&self) -> usize {
        match self {
            Patch::Point(_) => 0,
            Patch::Line(..) | Patch::Circle { .. } => 1,
            Patch::Plane(..) | Patch::Band { .. } => 2,
        }
    }
    /// The point of two parameters and the tangents along them.
    pub fn at(&self, s: [T; 2]) -> (Vector3<T>, [Vector3<T>; 2]) {
        let none = constant(V::zeros());
        match *self {
            Patch::Point(p) => (p, [none, none]),
            Patch::Line(p, e) => (p + e * s[0], [e, none]),
            Patch::Plane(p, u, v) => (p + u * s[0] + v * s[1], [u, v]),
            Patch::Circle { centre, x, y, radius } => {
                let (sin, cos) = s[0].sin_cos();
                (centre + (x * cos + y * sin) * radius, [(y * cos - x * sin) * radius, none])
            }
            Patch::Band { foot, rise, x, y, radii } => {
                let (sin, cos) = s[0].sin_cos();
                let (out, run) = (x * cos + y * sin, radii[1] - radii[0]);
                let radius = radii[0] + run * s[1];
                (foot + rise * s[1] + out * radius, [(y * cos - x * sin) * radius, rise + out * run])
            }
        }
    }
    /// The patch where it is, in other numbers.
    pub fn still<U: Real>(&self) -> Patch<U> {
        let number = |t: T| U::of(t.value());
        let vector = |v: Vector3<T>| v.map(number);
        match *self {
            Patch::Point(p) => Patch::Point(vector(p)),
            Patch::Line(p, e) => Patch::Line(vector(p), vector(e)),
            Patch::Plane(p, u, v) => Patch::Plane(vector(p), vector(u), vector(v)),
            Patch::Circle { centre, x, y, radius } => {
                Patch::Circle { centre: vector(centre), x: vector(x), y: vector(y), radius: number(radius) }
            }
            Patch::Band { foot, rise, x, y, radii } => {
                Patch::Band { foot: vector(foot), rise: vector(rise), x: vector(x), y: vector(y), radii: radii.map(number) }
            }
        }
    }
    /// Parameters of a point near the patch.
    pub fn parameters(&self, p: V) -> [f64; 2] {
        let number = |v: Vector3<T>| v.map(Real::value);
        let angle = |c: Vector3<T>, x: Vector3<T>, y: Vector3<T>| {
            let d = p - number(c);
            number(y).dot(&d).atan2(number(x).dot(&d))
        };
        let along = |e: V, d: V| e.dot(&d) / e.norm_squared();
        match *self {
            Patch::Point(_) => [0.0, 0.0],
            Patch::Line(q, e) => [along(number(e), p - number(q)), 0.0],
            Patch::Plane(q, u, v) => [along(number(u), p - number(q)), along(number(v), p - number(q))],
            Patch::Circle { centre, x, y, .. } => [angle(centre, x, y), 0.0],
            Patch::Band { foot, rise, x, y, .. } => [angle(foot, x, y), along(number(rise), p - number(foot))],
        }
    }
}

impl Patch<f64> {
    /// Second derivatives with respect to the parameters: twice by the first, by both, twice by the second.
    pub fn bend(&self, s: [f64; 2]) -> [V; 3] {
        match *self {
            Patch::Point(_) | Patch::Line(..) | Patch::Plane(..) => [V::zeros(); 3],
            Patch::Circle { x, y, radius, .. } => {
                let (sin, cos) = s[0].sin_cos();
                [-(x * cos + y * sin) * radius, V::zeros(), V::zeros()]
            }
            Patch::Band { x, y, radii, .. } => {
                let (sin, cos) = s[0].sin_cos();
                let run = radii[1] - radii[0];
                [-(x * cos + y * sin) * (radii[0] + run * s[1]), (y * cos - x * sin) * run, V::zeros()]
            }
        }
    }
}

/// The piece of a core on which a point lies that looks along `out`.
fn core_patch<E: Elements>(core: &Core, moving: &E, p: V, out: V, slack: f64) -> Patch<E::T> {
    let near_vertex = (0..core.vertex_count() as u32).find(|v| (core.vertex(*v) - p).norm() <= slack);
    if let Some(v) = near_vertex {
        return Patch::Point(moving.vertex(v));
    }
    let near_edge = (0..core.edge_count() as u32).find(|e| {
        let (q0, q1) = core.edge(*e);
        (q1 - q0).cross(&(p - q0)).norm() <= slack * (q1 - q0).norm()
    });
    if let Some(e) = near_edge {
        let (q0, q1) = moving.edge(e);
        return Patch::Line(q0, q1 - q0);
    }
    let facing = |f: &u32| core.normal(*f).dot(&out);
    let face = (0..core.face_count() as u32).max_by(|f, g| facing(f).total_cmp(&facing(g))).unwrap_or(0);
    plane(moving.face_point(face), moving.normal(face))
}

/// The plane through a point with a normal.
fn plane<T: Real>(p: Vector3<T>, normal: Vector3<T>) -> Patch<T> {
    let n = normal.map(Real::value);
    let mut across = V::zeros();
    across[n.iamin()] = 1.0;
    let u = constant::<T, 3>(across).cross(&normal);
    Patch::Plane(p, u, normal.cross(&u))
}

/// The piece of a cylinder or cone on which a point lies.
fn round_patch<T: Real>(round: &Round, moving: &Round<T>, p: V, slack: f64) -> Patch<T> {
    let x = round.rot.tr_mul(&(p - round.pos));
    let rho = x.x.hypot(x.y);
    let column = |k: usize| -> Vector3<T> { moving.rot.column(k).into() };
    for rim in 0..2_u8 {
        let z = if rim == 0 { -round.half } else { round.half };
        if (rho - round.radius(rim)).hypot(x.z - z) <= slack {
            return if round.radius(rim) > 0.0 {
                Patch::Circle { centre: moving.centre(rim), x: column(0), y: column(1), radius: moving.radius(rim) }
            } else {
                Patch::Point(moving.centre(rim))
            };
        }
        if (x.z - z).abs() <= slack {
            return plane(moving.centre(rim), moving.cap_normal(u32::from(rim)));
        }
    }
    Patch::Band { foot: moving.centre(0), rise: moving.centre(1) - moving.centre(0), x: column(0), y: column(1), radii: moving.radii }
}

/// The piece of a solid, at rest or with its motion, on which a point lies (within `slack`) that looks along `out`.
pub(super) fn patch<E: Elements>(solid: &Solid, moving: &Side<E, E::T>, p: V, out: V, slack: f64) -> Patch<E::T> {
    match (solid, moving) {
        (Side::Core(core), Side::Core(moving)) => core_patch(core, moving, p, out, slack),
        (Side::Round(round), Side::Round(moving)) => round_patch(round, moving, p, slack),
        // A solid and its motion are of one kind.
        _ => Patch::Point(constant(p)),
    }
}
