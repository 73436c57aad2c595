//! The path of a collision, point by point: what the figures of Baber 2011 draw.

use super::outcome::Mode;
use super::ray::Progress;

/// Turn of the sliding direction \[rad\], and change of ln |u_t|, between two points of a path at most: a curve of them looks smooth.
pub(super) const SPACING: f64 = 0.05;

/// One point of the path of a collision, components (tangents..., normal); in the plane the first two count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathPoint {
    /// Normal impulse so far \[N s\].
    pub impulse: f64,
    /// Separation velocity [m/s].
    pub velocity: [f64; 3],
    /// Work of the normal force over the compressions so far \[J\], <= 0.
    pub work_compression: f64,
    /// Work of the normal force over the restitutions so far \[J\], >= 0.
    pub work_restitution: f64,
    /// How the contact moves on the piece that ends here; at the first point, on the piece that starts.
    pub mode: Mode,
}

/// Points gathered while a collision runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Points(pub Vec<PathPoint>);

impl Points {
    /// Adds a point.
    pub fn push(&mut self, impulse: f64, tangential: [f64; 2], progress: &Progress<f64>, mode: Mode) {
        let [x, y] = tangential;
        self.0.push(PathPoint {
            impulse,
            velocity: [x, y, progress.normal_speed],
            work_compression: progress.work_compression,
            work_restitution: progress.work_restitution,
            mode,
        });
    }

    /// Adds a straight piece from `before` to `after` over the impulse `spent`, on which u_t grows by `rate` and u_n by `k` per impulse. Where
    /// u_n passes zero there is a point; u_n is linear, so there is at most one.
    pub fn piece(
        &mut self,
        start: f64,
        tangential: [f64; 2],
        rate: [f64; 2],
        k: f64,
        spent: f64,
        before: &Progress<f64>,
        after: &Progress<f64>,
        mode: Mode,
    ) {
        let at = |impulse: f64| [tangential[0] + rate[0] * impulse, tangential[1] + rate[1] * impulse];
        let zero = -before.normal_speed / k;
        if zero > 0.0 && zero < spent {
            let mut middle = *before;
            let work = 0.5 * before.normal_speed * zero;
            if before.restituting {
                middle.work_restitution += work;
            } else {
                middle.work_compression += work;
            }
            middle.normal_speed = 0.0;
            self.push(start + zero, at(zero), &middle, mode);
        }
        self.push(start + spent, at(spent), after, mode);
    }
}
