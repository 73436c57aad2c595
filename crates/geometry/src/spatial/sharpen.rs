//! The last digits of a roughly known axis between two solids: a flat feature, or Newton's steps on the conditions of nearest points,
//! each with the proof that the result is the axis sought, theory (8.18)-(8.19).

use super::core::{Body, Core};
use super::patch::{Patch, patch};
use super::round::{Round, Solid};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Largest number of unknowns: two parameters on each surface, the normal, the distance.
const UNKNOWNS: usize = 8;
/// What a proof may be off by, as part of the size.
const PROVEN: f64 = 1e-13;
/// A rough axis this close (cosine) to the normal of a flat feature may be that normal.
const NEAR_FACE: f64 = 0.98;
/// Rough points within this part of the size of a vertex, edge or rim are first taken to lie on it; then only the much nearer ones.
const SLACKS: [f64; 2] = [1e-2, 1e-4];
/// Newton's steps; a start on the right features needs four.
const STEPS: usize = 8;
/// A step of this part of the size is the last: the next would be its square.
const LAST_STEP: f64 = 1e-9;
/// Steps larger than this part of the size leave the features.
const LARGEST_STEP: f64 = 1.0;
/// Pivots below this are none: the points share a line, and stay where they are along it.
const LEAST_PIVOT: f64 = 1e-9;
/// Sine above which two directions cross.
const CROSSED: f64 = 1e-6;

/// An axis from b to a with the point of b on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub n: V,
    pub point_b: V,
}

/// Where Newton's steps end.
struct Root {
    n: V,
    p: V,
    q: V,
    /// Whether the features reach along two directions across the normal.
    held: bool,
}

/// Roughly nearest points of two solids.
#[derive(Clone, Copy)]
pub(super) struct Rough<'p, 'a> {
    pub a: &'p Solid<'a>,
    pub b: &'p Solid<'a>,
    pub n: V,
    pub point_a: V,
    pub point_b: V,
    pub size: f64,
}

impl Rough<'_, '_> {
    /// The axis near the rough one, or `None` where nothing near it can be proven.
    pub fn sharpened(&self) -> Option<Axis> {
        self.flat().or_else(|| self.curved())
    }

    /// Separation along an axis.
    fn separation(&self, n: V) -> f64 {
        n.dot(&(self.a.support(-n) - self.b.support(n)))
    }

    /// Proof of an axis, theory (8.18): its points belong to the solids and nothing of either lies farther along it. Apart this is enough; where
    /// the solids meet the axis must also be no worse than the rough one, and `held` by the features in both directions across it: between two
    /// corners (or a corner and a rim) inside each other it is the least separation in one of them.
    fn proven(&self, n: V, p: V, q: V, held: bool) -> bool {
        let apart = p - q;
        let distance = n.dot(&apart);
        let tolerance = PROVEN * self.size.max(distance);
        let separation = self.separation(n);
        (separation - distance).abs() <= tolerance
            && (apart - n * distance).norm_squared() <= tolerance * tolerance
            && contains(self.a, p, tolerance)
            && contains(self.b, q, tolerance)
            && (separation >= -tolerance || held && separation >= self.separation(self.n) - tolerance)
    }

    /// The normal of a face or flat end near the axis, with a point of the other solid above it.
    fn flat(&self) -> Option<Axis> {
        let over = |base: &Solid, other: &Solid, n: V, rough: V| {
            let (m, o) = flat_along(base, n)?;
            let foot = |p: V| p - m * m.dot(&(p - o));
            let lowest = other.support(-m);
            // Where a line or a face of the other lies flat its support is only one end of it.
            let low = [lowest, rough]
                .into_iter()
                .find(|p| m.dot(&(p - lowest)) <= PROVEN * self.size && contains(base, foot(*p), PROVEN * self.size))?;
            Some((m, low, foot(low)))
        };
        if let Some((m, p, q)) = over(self.b, self.a, self.n, self.point_a)
            && self.proven(m, p, q, true)
        {
            return Some(Axis { n: m, point_b: q });
        }
        let (m, q, p) = over(self.a, self.b, -self.n, self.point_b)?;
        self.proven(-m, p, q, true).then_some(Axis { n: -m, point_b: q })
    }

    /// Newton's steps on the features that carry the rough points.
    fn curved(&self) -> Option<Axis> {
        let mut last = None;
        for slack in SLACKS {
            let on_a = patch(self.a, self.a, self.point_a, -self.n, slack * self.size);
            let on_b = patch(self.b, self.b, self.point_b, self.n, slack * self.size);
            let kinds = (std::mem::discriminant(&on_a), std::mem::discriminant(&on_b));
            if last == Some(kinds) {
                continue;
            }
            last = Some(kinds);
            if let Some(root) = self.newton(&on_a, &on_b)
                && self.proven(root.n, root.p, root.q, root.held)
            {
                return Some(Axis { n: root.n, point_b: root.q });
            }
        }
        None
    }

    /// The conditions of nearest points (14.7) solved on two features, in lengths of the size.
    fn newton(&self, on_a: &Patch<f64>, on_b: &Patch<f64>) -> Option<Root> {
        let size = self.size;
        let (mut s, mut t) = (on_a.parameters(self.point_a), on_b.parameters(self.point_b));
        let (count_a, count_b) = (on_a.dimension(), on_b.dimension());
        let (normal, distance) = (count_a + count_b, count_a + count_b + V::zeros().len());
        let mut n = self.n;
        let mut d = n.dot(&(self.point_a - self.point_b));
        for _ in 0..STEPS {
            let ((p, along_p), (q, along_q)) = (on_a.at(s), on_b.at(t));
            let mut system = [[0.0; UNKNOWNS + 1]; UNKNOWNS];
            // Each parameter is measured by the length it moves its point, so that all entries are of order one.
            let mut unit = [1.0; UNKNOWNS];
            for (on, parameters, along, count, first, sign) in
                [(on_a, s, along_p, count_a, 0, 1.0), (on_b, t, along_q, count_b, count_a, -1.0)]
            {
                let bend = on.bend(parameters);
                for k in 0..count {
                    unit[first + k] = size / along[k].norm_squared().sqrt();
                }
                for k in 0..count {
                    let (row, scale) = (first + k, unit[first + k] / size);
                    for j in 0..count {
                        system[row][first + j] = n.dot(&bend[k + j]) * scale * unit[first + j];
                    }
                    for i in 0..V::zeros().len() {
                        system[row][normal + i] = along[k][i] * scale;
                        system[normal + i][row] = sign * along[k][i] * scale;
                    }
                    system[row][distance + 1] = -n.dot(&along[k]) * scale;
                }
            }
            let apart = (p - q - n * d) / size;
            for i in 0..V::zeros().len() {
                system[normal + i][normal + i] = -d / size;
                system[normal + i][distance] = -n[i];
                system[normal + i][distance + 1] = -apart[i];
                system[distance][normal + i] = n[i];
            }
            system[distance][distance + 1] = 0.5 * (1.0 - n.norm_squared());
            let change = eliminate(&mut system, distance + 1);
            let largest = change.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            // What is not a number passes here and is never proven.
            if largest > LARGEST_STEP {
                return None;
            }
            for k in 0..count_a {
                s[k] += change[k] * unit[k];
            }
            for k in 0..count_b {
                t[k] += change[count_a + k] * unit[count_a + k];
            }
            n += V::new(change[normal], change[normal + 1], change[normal + 2]);
            d += change[distance] * size;
            if largest <= LAST_STEP {
                let ((p, along_p), (q, along_q)) = (on_a.at(s), on_b.at(t));
                let along = [along_p[0], along_p[1], along_q[0], along_q[1]].map(|u| u.try_normalize(0.0).unwrap_or_default());
                let crossed = |u: &V| along.iter().any(|v| u.cross(v).norm_squared() > CROSSED * CROSSED);
                return Some(Root { n: n / n.norm_squared().sqrt(), p, q, held: along.iter().any(crossed) });
            }
        }
        None
    }
}

/// Solution of `m` equations, each with its right side after the coefficients, by elimination with full pivoting; unknowns that the equations
/// leave open stay zero.
fn eliminate(system: &mut [[f64; UNKNOWNS + 1]; UNKNOWNS], m: usize) -> [f64; UNKNOWNS] {
    let mut order: [usize; UNKNOWNS] = std::array::from_fn(|i| i);
    let mut rank = 0;
    while rank < m {
        let (mut row, mut column, mut most) = (rank, rank, 0.0);
        for i in rank..m {
            for j in rank..m {
                let entry = system[i][order[j]].abs();
                if entry > most {
                    (row, column, most) = (i, j, entry);
                }
            }
        }
        if most <= LEAST_PIVOT {
            break;
        }
        system.swap(rank, row);
        order.swap(rank, column);
        let top = system[rank];
        for i in rank + 1..m {
            let factor = system[i][order[rank]] / top[order[rank]];
            if factor != 0.0 {
                for j in 0..=m {
                    system[i][j] -= factor * top[j];
                }
            }
        }
        rank += 1;
    }
    let mut x = [0.0; UNKNOWNS];
    for i in (0..rank).rev() {
        let known: f64 = (i + 1..rank).map(|j| system[i][order[j]] * x[order[j]]).sum();
        x[order[i]] = (system[i][m] - known) / system[i][order[i]];
    }
    x
}

/// The flat feature of a solid that looks along `n` closely: outward normal and a point.
fn flat_along(solid: &Solid, n: V) -> Option<(V, V)> {
    let (m, o) = match solid {
        Solid::Core(core) => {
            let face = core.face_at(core.support(n), n)?;
            (core.normal(face), core.face_point(face))
        }
        Solid::Round(round) => {
            let cap = u8::from(round.axis().dot(&n) > 0.0);
            if round.radius(cap) == 0.0 {
                return None;
            }
            (round.cap_normal(u32::from(cap)), round.centre(cap))
        }
    };
    (m.dot(&n) >= NEAR_FACE).then_some((m, o))
}

/// Whether a point belongs to a solid, up to a tolerance \[m\].
fn contains(solid: &Solid, p: V, tolerance: f64) -> bool {
    match solid {
        Solid::Core(core) => core_contains(core, p, tolerance),
        Solid::Round(round) => round_contains(round, p, tolerance),
    }
}

fn round_contains(round: &Round, p: V, tolerance: f64) -> bool {
    let x = round.rot.tr_mul(&(p - round.pos));
    let part = (0.5 * (x.z / round.half + 1.0)).clamp(0.0, 1.0);
    let radius = round.radii[0] + (round.radii[1] - round.radii[0]) * part + tolerance;
    x.z.abs() <= round.half + tolerance && x.x * x.x + x.y * x.y <= radius * radius
}

fn core_contains(core: &Core, p: V, tolerance: f64) -> bool {
    let x = core.local(p - core.pos);
    let near = |x: V| x.norm_squared() <= tolerance * tolerance;
    match &core.body {
        Body::Point(q) => near(x - q),
        Body::Segment([p, q]) => {
            let e = q - p;
            near(x - p - e * (e.dot(&(x - p)) / e.norm_squared()).clamp(0.0, 1.0))
        }
        Body::Triangle(t) => {
            let arm = |k: usize| x - t.corners[k];
            t.normal.dot(&arm(0)).abs() <= tolerance && (0..t.corners.len()).all(|k| t.outward[k].dot(&arm(k)) <= tolerance)
        }
        Body::Cuboid(half) => (0..half.len()).all(|k| x[k].abs() <= half[k] + tolerance),
        Body::Hull(hull) => {
            (0..hull.normals().len()).all(|f| hull.normals()[f].dot(&(x - hull.vertices()[hull.face(f)[0] as usize])) <= tolerance)
        }
        Body::Plane(m) => m.dot(&x) <= tolerance,
    }
}
