//! Distance of two convex sets by the nearest point of their difference to the origin (Gilbert, Johnson and Keerthi), theory (8.10).

use nalgebra::Vector3;

type V = Vector3<f64>;

/// Rounds of refinement; polyhedra end in about as many rounds as the path of vertices is long, mostly below ten.
const ROUNDS: usize = 64;
/// The nearest point is accepted when upper and lower bound agree to this part of the distance.
const RELATIVE: f64 = 1e-14;
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
    /// Length of `x`: an upper bound of the distance [m].
    pub distance: f64,
    /// A lower bound of the distance [m] from a separating plane; 0 when the sets meet.
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

/// Nearest points of two convex sets given by the vertex of their difference least along a direction. Returns as soon as the lower
/// bound exceeds `enough`, or when the distance is below `touch`.
pub(super) fn nearest(support: impl Fn(V) -> Vertex, first: V, touch: f64, enough: f64) -> Nearest {
    let start = support(first);
    let mut best = Nearest {
        simplex: [start; 4],
        weights: [1.0, 0.0, 0.0, 0.0],
        len: 1,
        x: start.w,
        distance: start.w.norm(),
        lower: 0.0,
        axis: V::zeros(),
    };
    for _ in 0..ROUNDS {
        if best.distance <= touch {
            break;
        }
        let new = support(best.x);
        let axis = best.x / best.distance;
        let lower = axis.dot(&new.w);
        if lower > best.lower {
            (best.lower, best.axis) = (lower, axis);
        }
        let repeated = best.simplex[..best.len].iter().any(|v| v.w == new.w);
        if repeated || best.lower > enough || best.distance - best.lower <= RELATIVE * best.distance {
            break;
        }
        let mut trial = best;
        trial.simplex[trial.len] = new;
        trial.len += 1;
        if !reduce(&mut trial) {
            // The origin lies inside: the sets meet.
            trial.distance = 0.0;
            trial.lower = 0.0;
            return trial;
        }
        // Rounding: no progress means the last simplex was as good as it gets.
        if trial.distance >= best.distance {
            break;
        }
        best = trial;
    }
    best
}

/// Reduces a simplex to the part that carries its point nearest to the origin; false when the origin lies inside a tetrahedron.
fn reduce(s: &mut Nearest) -> bool {
    match s.len {
        1 => keep(s, &[0], &[1.0]),
        2 => {
            let (w, n) = segment(s.simplex[0].w, s.simplex[1].w);
            keep_weights(s, &[0, 1], &w[..2], n);
        }
        3 => {
            let w = triangle(s.simplex[0].w, s.simplex[1].w, s.simplex[2].w);
            keep_weights(s, &[0, 1, 2], &w, 3);
        }
        _ => {
            // The newest vertex is the last; every face is tried whose outer side holds the origin.
            const FACES: [[usize; 4]; 4] = [[0, 1, 2, 3], [0, 3, 1, 2], [0, 2, 3, 1], [1, 3, 2, 0]];
            let mut best: Option<([usize; 3], [f64; 3], f64)> = None;
            for [i, j, k, o] in FACES {
                let [a, b, c, d] = [s.simplex[i].w, s.simplex[j].w, s.simplex[k].w, s.simplex[o].w];
                let n = (b - a).cross(&(c - a));
                let (origin, inner) = (-n.dot(&a), n.dot(&(d - a)));
                if origin * inner < 0.0 || inner == 0.0 {
                    let w = triangle(a, b, c);
                    let x = (a * w[0] + b * w[1] + c * w[2]).norm_squared();
                    if best.is_none_or(|(_, _, least)| x < least) {
                        best = Some(([i, j, k], w, x));
                    }
                }
            }
            match best {
                Some((list, w, _)) => keep_weights(s, &list, &w, 3),
                None => return false,
            }
        }
    }
    true
}

/// Keeps the vertices of positive weight.
fn keep_weights(s: &mut Nearest, list: &[usize], weights: &[f64], n: usize) {
    let (mut kept, mut share, mut len) = ([0; 4], [0.0; 4], 0);
    for k in 0..n {
        if weights[k] > 0.0 {
            kept[len] = list[k];
            share[len] = weights[k];
            len += 1;
        }
    }
    keep(s, &kept[..len], &share[..len]);
}

fn keep(s: &mut Nearest, list: &[usize], weights: &[f64]) {
    let old = s.simplex;
    s.x = V::zeros();
    s.len = list.len();
    for (k, i) in list.iter().enumerate() {
        s.simplex[k] = old[*i];
        s.weights[k] = weights[k];
        s.x += old[*i].w * weights[k];
    }
    s.distance = s.x.norm();
}

/// Weights of the point of a segment nearest to the origin.
fn segment(a: V, b: V) -> ([f64; 3], usize) {
    let e = b - a;
    let length = e.norm_squared();
    let t = if length > 0.0 { (-a.dot(&e) / length).clamp(0.0, 1.0) } else { 0.0 };
    ([1.0 - t, t, 0.0], 2)
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
    let sides = [(segment(a, b).0, [0, 1]), (segment(a, c).0, [0, 2]), (segment(b, c).0, [1, 2])];
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
