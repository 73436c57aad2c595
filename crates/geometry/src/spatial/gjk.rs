//! Distance of two convex sets by the nearest point of their difference to the origin (Gilbert, Johnson and Keerthi), theory (8.10).

use nalgebra::Vector3;

type V = Vector3<f64>;

/// Rounds of refinement; polyhedra end in about as many rounds as the path of vertices is long, mostly below ten.
const ROUNDS: usize = 64;
/// The nearest point is accepted when upper and lower bound agree to this part of the distance.
pub(super) const RELATIVE: f64 = 1e-14;
/// Weights below this do not carry the nearest point: the vertex is not part of the feature.
const WEIGHT: f64 = 1e-11;

/// A vertex of the difference a - b.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Vertex {
    pub w: V,
    pub b: V,
    pub ia: u32,
    pub ib: u32,
}

/// The simplex that carries the nearest point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nearest {
    pub simplex: [Vertex; 4],
    pub weights: [f64; 4],
    pub len: usize,
    /// Nearest point of a minus nearest point of b.
    pub x: V,
    /// Length of `x`: an upper bound of the distance \[m\].
    pub distance: f64,
    /// A lower bound of the distance \[m\] from a separating plane; 0 when the sets meet.
    pub lower: f64,
    /// Unit normal of that plane, from b to a; better than `x`, whose direction knows only the square root of its error.
    pub axis: V,
}

impl Nearest {
    /// Vertices of one set that carry the nearest point.
    pub fn features(&self, side: impl Fn(&Vertex) -> u32) -> ([u32; 4], usize) {
        let (mut list, mut len) = ([0; 4], 0);
        for k in 0..self.len {
            let i = side(&self.simplex[k]);
            if self.weights[k] > WEIGHT && !list[..len].contains(&i) {
                list[len] = i;
                len += 1;
            }
        }
        (list, len)
    }
    /// Nearest point of b.
    pub fn point_b(&self) -> V {
        (0..self.len).fold(V::zeros(), |s, k| s + self.simplex[k].b * self.weights[k])
    }
}

/// When the iteration may end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// Distances below this \[m\] count as touching.
    pub touch: f64,
    /// A lower bound above this \[m\] is all that is asked for.
    pub enough: f64,
    /// Part of the distance by which upper and lower bound may differ.
    pub relative: f64,
}

/// Nearest points of two convex sets given by the vertex of their difference least along a direction.
pub(super) fn nearest(support: impl Fn(V) -> Vertex, first: V, until: Until) -> Nearest {
    let start = support(first);
    let mut best = Nearest {
        simplex: [start; 4],
        weights: [1.0, 0.0, 0.0, 0.0],
        len: 1,
        x: start.w,
        distance: length(start.w),
        lower: 0.0,
        axis: V::zeros(),
    };
    // Any direction bounds the distance from below.
    let along = first.dot(&start.w);
    if along > 0.0 {
        let size = length(first);
        (best.lower, best.axis) = (along / size, first / size);
    }
    for _ in 0..ROUNDS {
        if best.lower > until.enough || best.distance <= until.touch {
            break;
        }
        let new = support(best.x);
        let axis = best.x / best.distance;
        let lower = axis.dot(&new.w);
        if lower > best.lower {
            (best.lower, best.axis) = (lower, axis);
        }
        let repeated = best.simplex[..best.len].iter().any(|v| v.w == new.w);
        if repeated || best.lower > until.enough || best.distance - best.lower <= until.relative * best.distance {
            break;
        }
        let grown = best.len;
        best.simplex[grown] = new;
        let Some(part) = reduce(&best.simplex, grown + 1) else {
            // The origin lies inside: the sets meet.
            (best.distance, best.lower) = (0.0, 0.0);
            break;
        };
        let x = part.point(&best.simplex);
        let distance = length(x);
        // Rounding: no progress means the last simplex was as good as it gets.
        if distance.is_nan() || distance >= best.distance {
            break;
        }
        (best.x, best.distance, best.len, best.weights) = (x, distance, part.len, part.weights);
        // The list rises, so that no vertex is overwritten before it is read.
        for k in 0..part.len {
            best.simplex[k] = best.simplex[part.list[k]];
        }
    }
    best
}

/// Length of a vector; shapes are far from the ends of the range of numbers.
#[inline(always)]
fn length(v: V) -> f64 {
    v.norm_squared().sqrt()
}

/// Vertices of a simplex, in rising order, with positive weights.
#[derive(Clone, Copy)]
struct Part {
    list: [usize; 4],
    weights: [f64; 4],
    len: usize,
}

impl Part {
    /// Those of some vertices that have a positive weight.
    #[inline(always)]
    fn of(list: [usize; 3], weights: [f64; 3]) -> Part {
        let mut part = Part { list: [0; 4], weights: [0.0; 4], len: 0 };
        for k in 0..list.len() {
            if weights[k] > 0.0 {
                part.list[part.len] = list[k];
                part.weights[part.len] = weights[k];
                part.len += 1;
            }
        }
        part
    }
    #[inline(always)]
    fn point(&self, simplex: &[Vertex; 4]) -> V {
        (0..self.len).fold(V::zeros(), |x, k| x + simplex[self.list[k]].w * self.weights[k])
    }
}

/// The part of a simplex that carries its point nearest to the origin; `None` when the origin lies inside a tetrahedron.
fn reduce(simplex: &[Vertex; 4], len: usize) -> Option<Part> {
    let [a, b, c, d] = [simplex[0].w, simplex[1].w, simplex[2].w, simplex[3].w];
    match len {
        1 => Some(Part::of([0, 1, 2], [1.0, 0.0, 0.0])),
        2 => Some(Part::of([0, 1, 2], segment(a, b))),
        3 => Some(Part::of([0, 1, 2], triangle(a, b, c))),
        _ => {
            // Every face is tried whose outer side holds the origin: corners in rising order, then the opposite vertex.
            const FACES: [[usize; 4]; 4] = [[0, 1, 2, 3], [0, 1, 3, 2], [0, 2, 3, 1], [1, 2, 3, 0]];
            let points = [a, b, c, d];
            let mut best: Option<([usize; 3], [f64; 3])> = None;
            let mut least = f64::INFINITY;
            for [i, j, k, o] in FACES {
                let [a, b, c, d] = [points[i], points[j], points[k], points[o]];
                let n = (b - a).cross(&(c - a));
                let (origin, inner) = (-n.dot(&a), n.dot(&(d - a)));
                if origin * inner < 0.0 || inner == 0.0 {
                    let w = triangle(a, b, c);
                    let x = (a * w[0] + b * w[1] + c * w[2]).norm_squared();
                    if best.is_none() || x < least {
                        (best, least) = (Some(([i, j, k], w)), x);
                    }
                }
            }
            best.map(|(list, weights)| Part::of(list, weights))
        }
    }
}

/// Weights of the point of a segment nearest to the origin; the third is none.
#[inline(always)]
fn segment(a: V, b: V) -> [f64; 3] {
    let e = b - a;
    let length = e.norm_squared();
    let t = if length > 0.0 { (-a.dot(&e) / length).clamp(0.0, 1.0) } else { 0.0 };
    [1.0 - t, t, 0.0]
}

/// Weights of the point of a triangle nearest to the origin: its plane where the foot lies inside, otherwise the best side.
fn triangle(a: V, b: V, c: V) -> [f64; 3] {
    let (ab, ac) = (b - a, c - a);
    let n = ab.cross(&ac);
    let n2 = n.norm_squared();
    if n2 > 0.0 {
        // Only short sides and one long arm enter each product, so that slivers far from the origin keep their digits.
        let v = n.dot(&ac.cross(&a)) / n2;
        let w = n.dot(&a.cross(&ab)) / n2;
        let u = 1.0 - v - w;
        if u > 0.0 && v > 0.0 && w > 0.0 {
            return [u, v, w];
        }
    }
    let sides = [(segment(a, b), [0, 1]), (segment(a, c), [0, 2]), (segment(b, c), [1, 2])];
    let points = [a, b, c];
    let (mut best, mut least) = ([1.0, 0.0, 0.0], f64::INFINITY);
    for (w, [i, j]) in sides {
        let x = (points[i] * w[0] + points[j] * w[1]).norm_squared();
        if x < least {
            least = x;
            best = [0.0; 3];
            best[i] = w[0];
            best[j] = w[1];
        }
    }
    best
}
