//! When two moving shapes first meet: certified marching, then a bracketed root, theory (7.16)-(7.18).

use crate::contact::Geometry;
use carom_math::{Pose, Twist, Vector};

/// The march never steps less than this part of the time asked for. A pair that grazes (gap near zero while it slides) would
/// otherwise take ever smaller safe steps; with it the march ends after as many steps. Within one such step a dip below the
/// tolerance is found through its least sample, (7.18).
const LEAST_STEP: f64 = 1.0 / 64.0;
/// Evaluations of the separation before the answer is [`Touch::Capped`]: the march, and a minimum search at a few grazes.
const EVALUATION_CAP: usize = 512;
/// Golden section of an interval: (3 - sqrt 5)/2.
const GOLDEN: f64 = 0.381_966_011_250_105_1;
/// Golden sections of one dip: the bracket shrinks by 1e-6, the value at a smooth minimum is then exact to 1e-12 of the dip.
const DIP_CAP: usize = 30;
/// Iterations of the root search: bisection alone would need about as many bits as a number has.
const ROOT_CAP: usize = 100;
/// The bracket of the root is closed at this many units in the last place of the later end.
const ROOT_ULPS: f64 = 2.0;

/// A shape carried by a body in free motion: the body's pose is `start` advanced by `twist`, the shape sits at `local` in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion<G: Geometry> {
    /// Pose of the body at time 0.
    pub start: Pose<G>,
    /// Pose of the shape in the body.
    pub local: Pose<G>,
    /// Velocity of the body, constant over the move.
    pub twist: Twist<G>,
}

impl<G: Geometry> Motion<G> {
    /// Pose of the shape in the world at a time \[s\].
    #[inline]
    pub fn at(&self, time: f64) -> Pose<G> {
        self.start.advanced(self.twist, time).compose(&self.local)
    }
    /// Bound [m/s] on the speed that turning gives any point of the shape.
    fn turning(&self, shape: &G::Shape) -> f64 {
        let rate = self.twist.ang.norm();
        // A half-space reaches to infinity; at rest that must not become 0 times infinity.
        if rate == 0.0 { 0.0 } else { rate * G::reach(shape, self.local.inverse().position) }
    }
}

/// How the search for the first touch ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Touch {
    /// The separation never falls below minus the tolerance.
    Never,
    /// The separation reaches zero at this time \[s\] and then falls below minus the tolerance; 0 when already touching at the start.
    At(f64),
    /// The separation is below minus the tolerance at the start.
    Overlapping,
    /// The search was given up (evaluations used up, or a number that is not finite); nothing was found up to this time \[s\].
    Capped {
        /// Time \[s\] up to which there is no touch.
        time: f64,
    },
}

/// The first time in [0, `time`] at which the separation crosses zero on its way below `-tolerance` \[m\].
///
/// Touching at the start (within the tolerance) and parting is `Never`; touching and closing is `At` the earliest root, 0 if the
/// separation starts at or below zero. Crossings that open again within 1/64 of the time without leaving a lower sample on the
/// march are the only ones that can be missed; they need a turning shape.
pub fn time_of_impact<G: Geometry>(
    a: &G::Shape,
    motion_a: &Motion<G>,
    b: &G::Shape,
    motion_b: &Motion<G>,
    time: f64,
    tolerance: f64,
) -> Touch {
    let speed = (motion_a.twist.lin - motion_b.twist.lin).norm() + motion_a.turning(a) + motion_b.turning(b);
    Search { a, motion_a, b, motion_b, time, tolerance, speed, evaluations: 0 }.run()
}

/// A time and the separation there.
#[derive(Clone, Copy)]
struct Sample {
    time: f64,
    gap: f64,
}

struct Search<'a, G: Geometry> {
    a: &'a G::Shape,
    motion_a: &'a Motion<G>,
    b: &'a G::Shape,
    motion_b: &'a Motion<G>,
    time: f64,
    tolerance: f64,
    /// Bound [m/s] on the rate of the separation, theory (7.16).
    speed: f64,
    evaluations: usize,
}

impl<G: Geometry> Search<'_, G> {
    fn sample(&mut self, time: f64, cutoff: f64) -> Sample {
        self.evaluations += 1;
        Sample { time, gap: G::separation(self.a, &self.motion_a.at(time), self.b, &self.motion_b.at(time), cutoff) }
    }

    /// How far \[m\] the pair can close in a time; without a bound on the speed there is none on this either.
    fn travel(&self, time: f64) -> f64 {
        if self.speed.is_finite() { self.speed * time } else { f64::INFINITY }
    }

    /// How far the separation can have fallen between two samples: theory (7.17).
    fn floor(&self, left: Sample, right: Sample) -> f64 {
        0.5 * (left.gap + right.gap - self.speed * (right.time - left.time))
    }

    fn run(mut self) -> Touch {
        // Anything farther than the motion reaches needs no exact distance.
        let start = self.sample(0.0, self.travel(self.time));
        if start.gap < -self.tolerance {
            return Touch::Overlapping;
        }
        if !(self.time > 0.0 && start.gap.is_finite() || start.gap == f64::INFINITY) {
            return if self.time == 0.0 { Touch::Never } else { Touch::Capped { time: 0.0 } };
        }
        // Last sample above zero, and the first at or below since: they enclose the latest crossing.
        let mut above = (start.gap > 0.0).then_some(start);
        let mut below = (start.gap <= 0.0).then_some(start);
        let (mut before, mut here) = (start, start);
        while here.time < self.time {
            if self.evaluations >= EVALUATION_CAP {
                return Touch::Capped { time: here.time };
            }
            // Safe until the bound on the speed could carry the pair below the tolerance.
            let safe = (here.gap + self.tolerance) / self.speed;
            let remaining = self.time - here.time;
            // Not a number: neither gap nor motion, 0/0.
            if safe >= remaining || safe.is_nan() {
                return Touch::Never;
            }
            let step = safe.max(self.time * LEAST_STEP);
            let time = if step < remaining { here.time + step } else { self.time };
            let there = self.sample(time, self.travel(self.time - time));
            if there.gap.is_nan() {
                return Touch::Capped { time: here.time };
            }
            if there.gap >= -self.tolerance
                && here.gap < before.gap.min(there.gap)
                && self.floor(before, here).min(self.floor(here, there)) < -self.tolerance
                && let Some(dip) = self.dip(before, here, there)
            {
                let above = if before.gap > 0.0 { Some(before) } else { above };
                return self.crossing(above, if here.gap > 0.0 { dip } else { here });
            }
            if there.gap > 0.0 {
                (above, below) = (Some(there), None);
            } else if below.is_none() {
                below = Some(there);
            }
            if there.gap < -self.tolerance {
                return self.crossing(above, below.unwrap_or(there));
            }
            (before, here) = (here, there);
        }
        Touch::Never
    }

    /// A sample below the tolerance between three that are lowest in the middle, if golden section finds one: theory (7.18).
    fn dip(&mut self, left: Sample, middle: Sample, right: Sample) -> Option<Sample> {
        let (mut left, mut middle, mut right) = (left, middle, right);
        for _ in 0..DIP_CAP {
            let into_right = right.time - middle.time > middle.time - left.time;
            let end = if into_right { right } else { left };
            let probe = self.sample(middle.time + GOLDEN * (end.time - middle.time), f64::INFINITY);
            if probe.gap < -self.tolerance {
                return Some(probe);
            }
            if probe.gap < middle.gap {
                if into_right {
                    left = middle
                } else {
                    right = middle
                }
                middle = probe;
            } else if into_right {
                right = probe;
            } else {
                left = probe;
            }
            // Nothing to be found once even the fastest fall within the bracket stays above.
            if self.floor(left, middle).min(self.floor(middle, right)) >= -self.tolerance {
                break;
            }
        }
        None
    }

    /// The root between a sample above zero and one at or below: at the start if there is none above.
    fn crossing(&mut self, above: Option<Sample>, below: Sample) -> Touch {
        let Some(above) = above else { return Touch::At(0.0) };
        Touch::At(self.root(above, below))
    }

    /// The root of the separation in a bracket, by the ITP rule: as fast as the secant, never slower than bisection. Returns the end
    /// still above zero, so that the bodies do not overlap there.
    fn root(&mut self, above: Sample, below: Sample) -> f64 {
        let (mut above, mut below) = (above, below);
        let width = below.time - above.time;
        let close = |at: f64| ROOT_ULPS * f64::EPSILON * at;
        for k in 0..ROOT_CAP {
            let (l, r) = (above.time, below.time);
            if r - l <= close(r) || below.gap == 0.0 {
                break;
            }
            // Interpolate, truncate towards the middle, project into the bisection's schedule (one step of grace).
            let middle = 0.5 * (l + r);
            let secant = (l * below.gap - r * above.gap) / (below.gap - above.gap);
            let towards = (middle - secant).signum();
            let shift = TRUNCATION / width * (r - l) * (r - l);
            let shifted = if shift <= (middle - secant).abs() { secant + towards * shift } else { middle };
            let allowed = width * (0.5_f64).powi(k as i32) - 0.5 * (r - l);
            let guess = if (shifted - middle).abs() <= allowed.max(0.0) { shifted } else { middle - towards * allowed.max(0.0) };
            // Rounding must not put the guess on an end.
            let guess = if guess > l && guess < r { guess } else { middle };
            let probe = self.sample(guess, f64::INFINITY);
            if probe.gap > 0.0 { above = probe } else { below = probe }
        }
        if below.gap == 0.0 { below.time } else { above.time }
    }
}

/// Strength of the truncation in the ITP rule, as a part of the first bracket.
const TRUNCATION: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planar::Shape;
    use carom_math::{Planar, Space};
    use nalgebra::{Vector1, Vector2};

    const TOLERANCE: f64 = 1e-9;

    fn pose(x: f64, y: f64, angle: f64) -> Pose<Planar> {
        Pose { position: Vector2::new(x, y), rotation: Planar::exp(Vector1::new(angle)) }
    }
    fn motion(start: Pose<Planar>, vx: f64, vy: f64, w: f64) -> Motion<Planar> {
        Motion { start, local: Pose::identity(), twist: Twist { lin: Vector2::new(vx, vy), ang: Vector1::new(w) } }
    }
    fn ground() -> (Shape, Motion<Planar>) {
        (Shape::half_space(Vector2::y()).unwrap(), motion(pose(0.0, 0.0, 0.0), 0.0, 0.0, 0.0))
    }
    fn at(touch: Touch) -> f64 {
        match touch {
            Touch::At(t) => t,
            other => panic!("no touch: {other:?}"),
        }
    }

    #[test]
    fn ball_against_wall() {
        let ball = Shape::ball(0.25).unwrap();
        let (wall, still) = ground();
        for (vx, w) in [(0.0, 0.0), (3.0, 0.0), (0.0, 2.0), (-1.0, -7.0)] {
            let m = motion(pose(0.0, 1.0, 0.3), vx, -2.0, w);
            let t = at(time_of_impact::<Planar>(&ball, &m, &wall, &still, 1.0, TOLERANCE));
            assert!((t - 0.375).abs() < 1e-15, "{t}");
            let t = at(time_of_impact::<Planar>(&wall, &still, &ball, &m, 1.0, TOLERANCE));
            assert!((t - 0.375).abs() < 1e-15, "{t}");
            assert_eq!(time_of_impact::<Planar>(&ball, &m, &wall, &still, 0.37, TOLERANCE), Touch::Never);
        }
    }

    #[test]
    fn ball_against_ball() {
        let ball = Shape::ball(0.5).unwrap();
        for offset in [0.0, 0.3, -0.9, 0.999] {
            let (a, b) = (motion(pose(0.0, offset, 0.0), 3.0, 0.5, 0.0), motion(pose(4.0, 0.0, 0.0), -1.0, 0.5, 0.0));
            let expected = (4.0 - (1.0_f64 - offset * offset).sqrt()) / 4.0;
            let t = at(time_of_impact::<Planar>(&ball, &a, &ball, &b, 2.0, TOLERANCE));
            // Conditioned by the closing speed at the touch: glancing costs digits.
            let closing = 4.0 * (1.0_f64 - offset * offset).sqrt();
            assert!((t - expected).abs() < 2e-15 / closing + 4e-16, "{t} {expected}");
        }
        let (a, b) = (motion(pose(0.0, 1.0 + 1e-8, 0.0), 3.0, 0.0, 0.0), motion(pose(4.0, 0.0, 0.0), 0.0, 0.0, 0.0));
        assert_eq!(time_of_impact::<Planar>(&ball, &a, &ball, &b, 2.0, TOLERANCE), Touch::Never);
        // A graze just deeper than the tolerance is found through its least sample.
        let a = motion(pose(0.0, 1.0 - 3e-9, 0.0), 3.0, 0.0, 0.0);
        let t = at(time_of_impact::<Planar>(&ball, &a, &ball, &b, 2.0, TOLERANCE));
        assert!((t - (4.0 - (6e-9_f64).sqrt()) / 3.0).abs() < 1e-9, "{t}");
    }

    #[test]
    fn turning_box_against_ground() {
        // A square spinning in place above the ground: its corner comes down when R cos(phase) = height.
        let square = Shape::cuboid(1.0, 1.0).unwrap();
        let (floor, still) = ground();
        let radius = 0.5_f64.sqrt();
        for (height, w) in [(0.6, 1.0), (0.6, -1.0), (0.7, 3.0), (0.52, 0.3)] {
            let m = motion(pose(2.0, height, 0.0), 0.0, 0.0, w);
            let expected = (std::f64::consts::FRAC_PI_4 - (height / radius).acos()) / w.abs();
            let t = at(time_of_impact::<Planar>(&square, &m, &floor, &still, 2.0, TOLERANCE));
            assert!((t - expected).abs() < 2e-15, "{t} {expected}");
        }
        let m = motion(pose(2.0, radius + 1e-8, 0.0), 0.0, 0.0, 4.0);
        assert_eq!(time_of_impact::<Planar>(&square, &m, &floor, &still, 2.0, TOLERANCE), Touch::Never);
    }

    #[test]
    fn touching_at_the_start() {
        let ball = Shape::ball(0.5).unwrap();
        let (floor, still) = ground();
        for gap in [0.0, 5e-10, -5e-10] {
            let toi =
                |vx, vy, w| time_of_impact::<Planar>(&ball, &motion(pose(0.0, 0.5 + gap, 0.0), vx, vy, w), &floor, &still, 0.1, TOLERANCE);
            assert_eq!(toi(0.0, 1.0, 0.0), Touch::Never);
            assert_eq!(toi(0.0, 0.0, 0.0), Touch::Never);
            assert_eq!(toi(5.0, 0.0, -10.0), Touch::Never);
            assert_eq!(toi(5.0, -1e-10, -10.0), Touch::Never, "too slow to cross the tolerance");
            assert!(at(toi(0.0, -1.0, 0.0)) <= 5.1e-10);
        }
        let deep = motion(pose(0.0, 0.4, 0.0), 0.0, 1.0, 0.0);
        assert_eq!(time_of_impact::<Planar>(&ball, &deep, &floor, &still, 0.1, TOLERANCE), Touch::Overlapping);
        let lost = motion(pose(f64::NAN, 0.4, 0.0), 0.0, 1.0, 0.0);
        assert!(matches!(time_of_impact::<Planar>(&ball, &lost, &floor, &still, 0.1, TOLERANCE), Touch::Capped { .. }));
        let spun = Motion { twist: Twist { lin: Vector2::zeros(), ang: Vector1::new(1.0) }, ..still };
        let away = motion(pose(-1.0, 0.8, 0.0), 0.0, 0.0, 0.0);
        assert_eq!(time_of_impact::<Planar>(&ball, &away, &floor, &spun, 0.1, TOLERANCE), Touch::Never);
    }

    #[test]
    fn random_pairs_agree_with_dense_sampling() {
        let full = std::env::var("CAROM_FULL").is_ok_and(|v| v == "1");
        let mut state = 11_u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let (mut touched, mut free) = (0, 0);
        for _ in 0..if full { 20_000 } else { 1500 } {
            let mut shape = || match (next() * 4.0) as usize {
                0 => Shape::ball(0.1 + next()).unwrap(),
                1 => Shape::cuboid(0.2 + 2.0 * next(), 0.2 + next()).unwrap(),
                2 => Shape::capsule(0.2 + 2.0 * next(), 0.1 + next()).unwrap(),
                _ => Shape::convex(&(0..8).map(|_| Vector2::new(next() * 2.0, next())).collect::<Vec<_>>()).unwrap(),
            };
            let (a, b) = (shape(), shape());
            let mut moving = |x: f64| Motion {
                start: pose(x + next(), 3.0 * next(), 6.0 * next()),
                local: pose(next() - 0.5, next() - 0.5, 6.0 * next()),
                twist: Twist { lin: Vector2::new(-x * 2.0 * next(), 2.0 * next() - 1.0), ang: Vector1::new(6.0 * next() - 3.0) },
            };
            let (ma, mb) = (moving(-1.5), moving(1.5));
            let gap = |t: f64| Planar::separation(&a, &ma.at(t), &b, &mb.at(t), f64::INFINITY);
            let samples = 4000;
            let dense = (0..=samples).map(|k| k as f64 / samples as f64).find(|&t| gap(t) < -TOLERANCE);
            match time_of_impact::<Planar>(&a, &ma, &b, &mb, 1.0, TOLERANCE) {
                Touch::Overlapping => assert_eq!(dense, Some(0.0)),
                Touch::Never => {
                    assert_eq!(dense, None);
                    free += 1;
                }
                Touch::At(t) => {
                    assert!(dense.is_none_or(|d| d >= t), "late: {t} {dense:?}");
                    assert!(
                        dense.is_none() || dense.is_some_and(|d| d - t < 2.0 / samples as f64) || gap(t + 1e-6) < 1e-6,
                        "early: {t} {dense:?}"
                    );
                    assert!(gap(t).abs() < 1e-13, "not a root: {}", gap(t));
                    touched += 1;
                }
                Touch::Capped { .. } => panic!("capped"),
            }
        }
        assert!(touched > 300 && free > 100, "{touched} {free}");
    }

    #[test]
    fn bodies_falling_on_rough_ground_agree_with_dense_sampling() {
        let mut state = 13_u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut touched = 0;
        for _ in 0..300 {
            let body = match (next() * 3.0) as usize {
                0 => Shape::ball(0.1 + 0.3 * next()).unwrap(),
                1 => Shape::cuboid(0.2 + next(), 0.2 + 0.5 * next()).unwrap(),
                _ => Shape::capsule(0.2 + next(), 0.1 + 0.2 * next()).unwrap(),
            };
            let field = Shape::heightfield(&(0..20).map(|_| 0.5 * next()).collect::<Vec<_>>(), 0.3 + next()).unwrap();
            let still = motion(pose(0.0, 0.0, 0.2 * next() - 0.1), 0.0, 0.0, 0.0);
            let falling = motion(pose(next() - 0.5, 1.6 + next(), 6.0 * next()), 2.0 * next() - 1.0, -3.0 * next(), 4.0 * next() - 2.0);
            let gap = |t: f64| Planar::separation(&body, &falling.at(t), &field, &still.at(t), f64::INFINITY);
            let samples = 1000;
            let dense = (0..=samples).map(|k| k as f64 / samples as f64).find(|&t| gap(t) < -TOLERANCE);
            match time_of_impact::<Planar>(&body, &falling, &field, &still, 1.0, TOLERANCE) {
                Touch::Never => assert_eq!(dense, None),
                Touch::At(t) => {
                    assert!(dense.is_none_or(|d| d >= t), "late: {t} {dense:?}");
                    assert!(gap(t).abs() < 1e-13, "not a root: {}", gap(t));
                    touched += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(touched > 50, "{touched}");
    }

    #[test]
    #[ignore = "measures time"]
    fn cost_of_a_search() {
        let (ball, square) = (Shape::ball(0.5).unwrap(), Shape::cuboid(1.0, 1.0).unwrap());
        let still = motion(pose(0.0, 0.0, 0.0), 0.0, 0.0, 0.0);
        for (name, shape, m) in [
            ("balls, far", &ball, motion(pose(0.0, 9.0, 0.0), 1.0, -1.0, 1.0)),
            ("balls, touch", &ball, motion(pose(0.0, 1.01, 0.0), 1.0, -2.0, 1.0)),
            ("balls, pass", &ball, motion(pose(0.01, 1.0001, 0.0), 2.0, 0.01, 1.0)),
            ("boxes, far", &square, motion(pose(0.0, 9.0, 0.0), 1.0, -1.0, 1.0)),
            ("boxes, touch", &square, motion(pose(0.0, 1.01, 0.01), 1.0, -2.0, 1.0)),
            ("boxes, slide", &square, motion(pose(0.0, 1.0001, 0.0), 1.0, 0.0, 0.0)),
        ] {
            let round = |_| {
                let start = std::time::Instant::now();
                let touch = time_of_impact::<Planar>(shape, &m, shape, &still, 0.01, TOLERANCE);
                (start.elapsed().as_secs_f64() * 1e9, touch)
            };
            let best = (0..2000).map(round).fold((f64::INFINITY, Touch::Never), |a, b| if b.0 < a.0 { b } else { a });
            println!("{name:14} {:7.0} ns {:?}", best.0, best.1);
        }
    }
}
