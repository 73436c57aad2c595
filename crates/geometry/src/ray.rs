//! Where a ray first meets a solid: intervals of a line within convex sets, one text for both spaces.

use nalgebra::SVector;

/// Where a ray meets a surface: how far along, in lengths of its direction, and the outward unit normal there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit<V> {
    /// Distance along the ray, in lengths of its direction.
    pub distance: f64,
    /// Outward unit normal of the surface.
    pub normal: V,
}

/// Part of a line within a convex set, and the outward normal where it enters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval<const D: usize> {
    pub enter: f64,
    pub exit: f64,
    pub normal: SVector<f64, D>,
}

impl<const D: usize> Interval<D> {
    /// The whole line.
    pub fn all() -> Self {
        Interval { enter: f64::NEG_INFINITY, exit: f64::INFINITY, normal: SVector::zeros() }
    }
    /// What of it lies behind a plane: `normal . x <= offset`.
    pub fn behind(mut self, normal: SVector<f64, D>, offset: f64, ray: &Ray<D>) -> Option<Self> {
        let (slope, room) = (normal.dot(&ray.direction), offset - normal.dot(&ray.origin));
        if slope == 0.0 {
            return (room >= 0.0).then_some(self);
        }
        let at = room / slope;
        if slope > 0.0 {
            self.exit = self.exit.min(at);
        } else if at > self.enter {
            (self.enter, self.normal) = (at, normal);
        }
        (self.enter <= self.exit).then_some(self)
    }
    /// What a ray sees of it: nothing when it lies behind the start; a ray that starts within meets it at once, face to face.
    pub fn hit(self, ray: &Ray<D>) -> Option<RayHit<SVector<f64, D>>> {
        if self.exit < 0.0 {
            return None;
        }
        if self.enter >= 0.0 && self.enter.is_finite() {
            return Some(RayHit { distance: self.enter, normal: self.normal });
        }
        Some(RayHit { distance: 0.0, normal: -ray.direction.normalize() })
    }
}

/// A ray in the frame of a shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ray<const D: usize> {
    pub origin: SVector<f64, D>,
    pub direction: SVector<f64, D>,
}

impl<const D: usize> Ray<D> {
    /// The point so far along.
    pub fn at(&self, distance: f64) -> SVector<f64, D> {
        self.origin + self.direction * distance
    }
    /// The part within a ball.
    pub fn ball(&self, centre: SVector<f64, D>, radius: f64) -> Option<Interval<D>> {
        let from = self.origin - centre;
        let [enter, exit] = roots(self.direction.norm_squared(), from.dot(&self.direction), from.norm_squared() - radius * radius)?;
        Some(Interval { enter, exit, normal: (from + self.direction * enter) / radius })
    }
    /// The part within a box about the origin.
    pub fn cuboid(&self, half: SVector<f64, D>) -> Option<Interval<D>> {
        let mut inside = Interval::all();
        for k in 0..D {
            let mut normal = SVector::zeros();
            normal[k] = 1.0;
            inside = inside.behind(normal, half[k], self)?.behind(-normal, half[k], self)?;
        }
        Some(inside)
    }
}

/// The two numbers between which `a t^2 + 2 b t + c <= 0`, for a > 0; accurate where they nearly cancel.
pub(crate) fn roots(a: f64, b: f64, c: f64) -> Option<[f64; 2]> {
    let root = (b * b - a * c).sqrt();
    if a.is_nan() || a <= 0.0 || root.is_nan() {
        return None;
    }
    let sum = -b - root.copysign(b);
    let [x, y] = if sum == 0.0 { [0.0, 0.0] } else { [sum / a, c / sum] };
    Some([x.min(y), x.max(y)])
}

/// The nearer of two hits.
pub(crate) fn nearer<V>(a: Option<RayHit<V>>, b: Option<RayHit<V>>) -> Option<RayHit<V>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.distance < a.distance { b } else { a }),
        (a, b) => a.or(b),
    }
}
