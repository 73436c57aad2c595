//! Variables strictly inside the cone of a law, and the algebra of the cone x_0 > |x_t| in which the smoothed law is a product; theory (4.34)-(4.35).

/// A point of the cone: (x_0, x_t), the second tangent 0 in the plane.
pub type Point = [f64; 3];
/// A square over such points, by rows.
pub type Square = [[f64; 3]; 3];

/// What the right-hand side of a linearised smoothed law aims at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// The law itself: the product of impulse and velocity is 0.
    Predict,
    /// A product of this size, with the second-order part of the step predicted last.
    Correct(f64),
}

/// The smoothed form of one block: impulses s and velocities y inside the cone, and the step at hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interior {
    /// Impulses in the units of the cone.
    pub s: Point,
    /// Velocities in the cone.
    pub y: Point,
    /// Step of the impulses.
    pub ds: Point,
    /// Step of the velocities.
    pub dy: Point,
    /// Number of cones: 0 for rows without bounds, 2 for a row with two of them.
    pub cones: usize,
    /// By how much the velocities of the rows miss y.
    pub miss: Point,
    /// W^-1 and W with W s = W^-1 y, and that point.
    pub(super) down: Square,
    pub(super) up: Square,
    pub(super) middle: Point,
    /// W^-1 times what the velocities add.
    pub(super) back: Square,
    /// The right-hand side at hand.
    pub(super) aim: Point,
}

impl Interior {
    /// Sum of the products of impulses and velocities after a part `t` of the step.
    pub fn product(&self, t: f64) -> f64 {
        (0..3).map(|k| (self.s[k] + t * self.ds[k]) * (self.y[k] + t * self.dy[k])).sum()
    }

    /// Takes a part of the step.
    pub fn advance(&mut self, t: f64) {
        for k in 0..3 {
            self.s[k] += t * self.ds[k];
            self.y[k] += t * self.dy[k];
        }
    }
}

/// Product of the cone's algebra: (x.y, x_0 y_t + y_0 x_t).
#[inline]
pub fn product(a: Point, b: Point) -> Point {
    [a[0] * b[0] + a[1] * b[1] + a[2] * b[2], a[0] * b[1] + b[0] * a[1], a[0] * b[2] + b[0] * a[2]]
}

/// x_0^2 - |x_t|^2, positive inside.
#[inline]
pub fn determinant(a: Point) -> f64 {
    // Without the care of `hypot` for the ends of the range: it is asked for thousands of times in a solve.
    let t = (a[1] * a[1] + a[2] * a[2]).sqrt();
    (a[0] - t) * (a[0] + t)
}

/// The x whose product with `l` is `b`.
#[inline]
pub fn quotient(l: Point, b: Point) -> Point {
    let x = (l[0] * b[0] - l[1] * b[1] - l[2] * b[2]) / determinant(l);
    [x, (b[1] - x * l[1]) / l[0], (b[2] - x * l[2]) / l[0]]
}

/// Matrix times point.
#[inline]
pub fn times(m: &Square, x: Point) -> Point {
    let line = |row: &Point| row[0] * x[0] + row[1] * x[1] + row[2] * x[2];
    [line(&m[0]), line(&m[1]), line(&m[2])]
}

/// Product of two squares.
#[inline]
pub fn compose(a: &Square, b: &Square) -> Square {
    let mut out = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            out[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
        }
    }
    out
}

/// The scaling of Nesterov and Todd: W and W^-1 with W s = W^-1 y.
#[inline]
pub fn scaling(s: Point, y: Point) -> (Square, Square) {
    let (size_s, size_y) = (determinant(s).max(f64::MIN_POSITIVE).sqrt(), determinant(y).max(f64::MIN_POSITIVE).sqrt());
    let (s, y) = ([s[0] / size_s, s[1] / size_s, s[2] / size_s], [y[0] / size_y, y[1] / size_y, y[2] / size_y]);
    let half = ((1.0 + s[0] * y[0] + s[1] * y[1] + s[2] * y[2]) / 2.0).max(1.0).sqrt();
    let w = [(y[0] + s[0]) / (2.0 * half), (y[1] - s[1]) / (2.0 * half), (y[2] - s[2]) / (2.0 * half)];
    let size = (size_y / size_s).sqrt();
    let part = 1.0 / (1.0 + w[0]);
    let square = |sign: f64, size: f64| {
        let (a, b) = (sign * w[1], sign * w[2]);
        [
            [size * w[0], size * a, size * b],
            [size * a, size * (1.0 + a * a * part), size * a * b * part],
            [size * b, size * a * b * part, size * (1.0 + b * b * part)],
        ]
    };
    (square(1.0, size), square(-1.0, 1.0 / size))
}

/// Largest t for which x + t d stays in the cone; infinite where the ray never leaves it.
#[inline]
pub fn reach(x: Point, d: Point) -> f64 {
    let a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2];
    let b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2];
    let c = determinant(x).max(0.0);
    let mut t = f64::INFINITY;
    let discriminant = b * b - a * c;
    if discriminant >= 0.0 {
        // Roots of a t^2 + 2 b t + c without cancellation.
        let q = -(b + discriminant.sqrt().copysign(b));
        for root in [q / a, c / q] {
            if root > 0.0 && root < t {
                t = root;
            }
        }
    }
    if d[0] < 0.0 { t.min(-x[0] / d[0]) } else { t }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scaling_takes_both_to_one_point() {
        let (s, y) = ([2.0, 0.3, -1.1], [0.7, -0.5, 0.2]);
        let (up, down) = scaling(s, y);
        let (a, b) = (times(&up, s), times(&down, y));
        let one = compose(&up, &down);
        for k in 0..3 {
            assert!((a[k] - b[k]).abs() < 1e-14);
            for j in 0..3 {
                assert!((one[k][j] - f64::from(u8::from(k == j))).abs() < 1e-14);
            }
        }
        let back = quotient(a, product(a, s));
        assert!((0..3).all(|k| (back[k] - s[k]).abs() < 1e-14));
    }

    #[test]
    fn the_ray_ends_on_the_boundary() {
        for (x, d) in [([1.0, 0.0, 0.0], [-1.0, 0.5, 0.0]), ([1.0, 0.2, 0.1], [0.0, 1.0, 1.0]), ([2.0, 1.0, 0.0], [1.0, 2.0, -3.0])] {
            let t = reach(x, d);
            let end = [0, 1, 2].map(|k| x[k] + t * d[k]);
            assert!(determinant(end).abs() < 1e-13 && end[0] >= -1e-15, "{end:?}");
        }
        assert_eq!(reach([1.0, 0.0, 0.0], [1.0, 0.5, 0.0]), f64::INFINITY);
    }
}
