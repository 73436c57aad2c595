//! How every block of a solved problem behaves, and which of them stand at a switch.

use crate::contact::problem::{Block, Cone, Problem};
use crate::status::{RESIDUAL_WANTED, side_frame, side_of, speed_scale};
use carom_math::dense::dot;

/// Relative size below which both sides of a complementarity count as zero, theory (16.2): far above the residual of a solve (1e-12), far
/// below any speed a difference quotient would use. Larger flags contacts whose derivative is sound, smaller misses switches.
pub const WEAK: f64 = 1e-6;

/// Relative size below which a side of a complementarity is what a solve may leave of zero (ten times the residual it must reach); where
/// both sides are this small, rounding must not decide.
const NOTHING: f64 = 10.0 * RESIDUAL_WANTED;

/// How a block of a solved [`Problem`] behaves; while this stands its impulses are smooth functions of the problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// A contact without impulse, l = 0.
    Open,
    /// A contact whose rows all stand still, w = 0.
    Stick,
    /// A contact that touches and slips: w_n = 0 and l_t = -mu l_n direction, plus what [`Across`] leaves open.
    Slide {
        /// Direction of slip: the unit vector of w_t for the round cone (and the plane, second component 0), minus a corner of the unit
        /// polygon or minus the middle of one of its sides for a pyramid. Zero only where neither slip nor impulse tells it.
        direction: [f64; 2],
        /// What happens across the direction of slip.
        across: Across,
    },
    /// A one-sided row that holds, w = 0.
    Active,
    /// A one-sided row without impulse, l = 0.
    Inactive,
    /// A bounded row within its bounds, w = 0.
    Free,
    /// A bounded row at its lower bound, l = lower.
    Lower,
    /// A bounded row at its upper bound, l = upper.
    Upper,
}

/// What the friction impulse of a sliding contact does across the direction of slip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Across {
    /// Nothing: the plane, or the corner of a pyramid.
    Fixed,
    /// The direction of slip turns with w_t, on the round cone.
    Turning {
        /// Speed of slip |w_t| [m/s].
        speed: f64,
    },
    /// The impulse moves freely along a side of the pyramid, so that w_t has no part across `direction`.
    Side,
}

/// How many blocks stand at a switch, so that derivatives there are one-sided.
#[must_use]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weak {
    /// Contacts and one-sided rows that neither push nor part.
    pub normal: usize,
    /// Touching contacts at the limit of their friction that do not slip (or, on a pyramid, between a corner and a side).
    pub friction: usize,
    /// Bounded rows at a bound that do not move.
    pub bound: usize,
}

impl Weak {
    /// All switches together.
    pub fn total(&self) -> usize {
        self.normal + self.friction + self.bound
    }
}

/// Reads off `impulses` (length n) how every block of a solved problem behaves, one mode per block; returns how many stand at a switch.
///
/// Of the two sides of a complementarity the larger decides, measured in speed, theory (16.2). Where both vanish the block counts as
/// active: it touches, it sticks, it is free within its bounds.
pub fn classify(problem: &Problem, impulses: &[f64], modes: &mut Vec<Mode>) -> Weak {
    let n = problem.rows();
    let unit = speed_scale(problem.free);
    let (small, nothing) = (WEAK * unit, NOTHING * unit);
    let diagonal = |row: usize| problem.matrix[row * n + row];
    let speed = |row: usize| dot(&problem.matrix[row * n..(row + 1) * n], impulses) + problem.free[row];
    let mut weak = Weak::default();
    modes.clear();
    let mut row = 0;
    for block in problem.blocks {
        let pushed = diagonal(row) * impulses[row];
        let parted = speed(row);
        let mode = match *block {
            Block::Unilateral => {
                weak.normal += usize::from(pushed.max(parted) < small);
                if pushed >= parted || parted < nothing { Mode::Active } else { Mode::Inactive }
            }
            Block::Bounded { lower, upper } => {
                // Distance to each bound as a speed; an infinite bound is never near.
                let (below, above) = (diagonal(row) * (impulses[row] - lower), diagonal(row) * (upper - impulses[row]));
                weak.bound += usize::from(below.min(above) < small && parted.abs() < small && lower < upper);
                if lower >= upper || (below <= above && below < parted && parted >= nothing) {
                    Mode::Lower
                } else if above < below && above < -parted && -parted >= nothing {
                    Mode::Upper
                } else {
                    Mode::Free
                }
            }
            Block::Contact { friction } => {
                let barely = pushed.max(parted) < small;
                weak.normal += usize::from(barely);
                if pushed < parted && parted >= nothing {
                    Mode::Open
                } else {
                    let second = |value: &dyn Fn(usize) -> f64| if problem.tangents == 2 { value(row + 2) } else { 0.0 };
                    let tangential = Tangential {
                        pull: [impulses[row + 1], second(&|r| impulses[r])],
                        slip: [speed(row + 1), second(&speed)],
                        reach: friction * impulses[row].max(0.0),
                        inertia: (diagonal(row + 1) + if problem.tangents == 2 { diagonal(row + 2) } else { diagonal(row + 1) }) / 2.0,
                        small,
                        nothing,
                    };
                    let polyhedral = match problem.cone {
                        Cone::Polyhedral(edges) if problem.tangents == 2 => Some(edges),
                        _ => None,
                    };
                    let (mode, at_switch) = match polyhedral {
                        _ if friction <= 0.0 => (tangential.smooth(), false),
                        Some(edges) => tangential.on_pyramid(edges),
                        None => tangential.on_round(problem.is_planar()),
                    };
                    weak.friction += usize::from(at_switch && !barely); // a block counts once
                    mode
                }
            }
        };
        modes.push(mode);
        row += block.rows(problem.tangents);
    }
    weak
}

/// The friction part of a touching contact.
struct Tangential {
    /// Friction impulse l_t.
    pull: [f64; 2],
    /// Speed w_t of the tangential rows.
    slip: [f64; 2],
    /// mu l_n.
    reach: f64,
    /// Mean diagonal of the tangential rows, by which impulses are weighed as speeds.
    inertia: f64,
    /// Speed below which a switch is near.
    small: f64,
    /// Speed that counts as zero.
    nothing: f64,
}

impl Tangential {
    /// Without friction a contact slips freely, also where it happens to stand still.
    fn smooth(&self) -> Mode {
        let slip = self.slip[0].hypot(self.slip[1]);
        let direction = if slip < self.nothing { [0.0; 2] } else { [self.slip[0] / slip, self.slip[1] / slip] };
        Mode::Slide { direction, across: Across::Fixed }
    }

    /// Mode on the disc (or the interval), and whether it is at a switch.
    fn on_round(&self, planar: bool) -> (Mode, bool) {
        let (pull, slip) = (self.pull[0].hypot(self.pull[1]), self.slip[0].hypot(self.slip[1]));
        let slack = self.inertia * (self.reach - pull);
        let at_switch = slack.max(slip) < self.small;
        if slip <= slack || slip < self.nothing {
            return (Mode::Stick, at_switch);
        }
        // Both point along one line; the larger tells it more sharply.
        let direction = if self.inertia * pull > slip {
            [-self.pull[0] / pull, -self.pull[1] / pull]
        } else {
            [self.slip[0] / slip, self.slip[1] / slip]
        };
        (Mode::Slide { direction, across: if planar { Across::Fixed } else { Across::Turning { speed: slip } } }, at_switch)
    }

    /// The same on the regular polygon of a pyramid.
    fn on_pyramid(&self, edges: usize) -> (Mode, bool) {
        let half_angle = std::f64::consts::PI / edges as f64;
        let (depth, half_side) = (half_angle.cos(), half_angle.sin());
        let slip = self.slip[0].hypot(self.slip[1]);
        let (outward, along) = side_frame(side_of(self.pull, edges), edges);
        let slack = self.inertia * (depth * self.reach - (outward[0] * self.pull[0] + outward[1] * self.pull[1]));
        if slip <= slack || slip < self.nothing {
            return (Mode::Stick, slack.max(slip) < self.small);
        }
        // On a side: away from both corners, with no slip along it. Otherwise the corner that works hardest against the slip.
        let foot = along[0] * self.pull[0] + along[1] * self.pull[1];
        let room = self.inertia * (half_side * self.reach - foot.abs());
        let drift = (along[0] * self.slip[0] + along[1] * self.slip[1]).abs();
        let at_switch = room.max(drift) < self.small;
        if self.reach > 0.0 && (drift <= room || drift < self.nothing) {
            return (Mode::Slide { direction: [-depth * outward[0], -depth * outward[1]], across: Across::Side }, at_switch);
        }
        let turn = 2.0 * half_angle;
        let (sin, cos) = (((-self.slip[1]).atan2(-self.slip[0]) / turn).round() * turn).sin_cos();
        (Mode::Slide { direction: [-cos, -sin], across: Across::Fixed }, at_switch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::chain::ContactSolver;
    use crate::contact::chain::samples::random_sample;
    use carom_math::dense::multiply_add;

    /// Relative error a solved block may show in the equations of its mode.
    const EXACT: f64 = 1e-8;

    #[test]
    fn every_mode_holds_the_equations_it_names() {
        let mut solver = ContactSolver::new();
        let mut modes = vec![];
        let mut seen = [0usize; 8];
        for seed in 0..300 {
            let mut sample = random_sample(seed, 1 + (seed % 2) as usize, 8);
            if seed % 4 == 1 {
                sample.cone = Cone::Polyhedral(8);
            }
            let problem = sample.problem();
            let n = problem.rows();
            let mut l = vec![0.0; n];
            if !solver.solve(&problem, None, &mut l).is_solved() {
                continue;
            }
            let mut w = vec![0.0; n];
            multiply_add(problem.matrix, &l, problem.free, &mut w);
            let weak = classify(&problem, &l, &mut modes);
            assert!(weak.total() <= modes.len());
            let unit = speed_scale(problem.free);
            let mut row = 0;
            for (block, mode) in problem.blocks.iter().zip(&modes) {
                let rows = block.rows(problem.tangents);
                let a = (row..row + rows).map(|r| problem.matrix[r * n + r]).fold(0.0f64, f64::max);
                let still = |r: usize| assert!(w[r].abs() < EXACT * unit, "seed {seed}, {mode:?}, w = {}", w[r]);
                let equal = |x: f64, y: f64| assert!(a * (x - y).abs() < EXACT * unit, "seed {seed}, {mode:?}: {x} against {y}");
                let kind = match (*block, *mode) {
                    (Block::Contact { .. }, Mode::Open) => (row..row + rows).map(|r| equal(l[r], 0.0)).fold(0, |_, ()| 0),
                    (Block::Contact { .. }, Mode::Stick) => (row..row + rows).map(still).fold(1, |_, ()| 1),
                    (Block::Contact { friction: 0.0 }, Mode::Slide { .. }) => {
                        still(row);
                        (row + 1..row + rows).map(|r| equal(l[r], 0.0)).fold(2, |_, ()| 2)
                    }
                    (Block::Contact { friction }, Mode::Slide { direction, across }) => {
                        still(row);
                        let pull = |k: usize| if k < rows { l[row + k] } else { 0.0 };
                        let slip = |k: usize| if k < rows { w[row + k] } else { 0.0 };
                        let length = direction[0].hypot(direction[1]);
                        let side = [-direction[1] / length, direction[0] / length];
                        let miss = [pull(1) + friction * l[row] * direction[0], pull(2) + friction * l[row] * direction[1]];
                        equal(miss[0] * direction[0] + miss[1] * direction[1], 0.0);
                        if across != Across::Side {
                            equal(miss[0] * side[0] + miss[1] * side[1], 0.0);
                        }
                        let drift = side[0] * slip(1) + side[1] * slip(2);
                        match across {
                            Across::Fixed if problem.tangents == 1 => assert_eq!(direction[1], 0.0),
                            Across::Fixed => assert!(matches!(problem.cone, Cone::Polyhedral(_))),
                            _ => assert!(drift.abs() < EXACT * unit, "seed {seed}: {drift}"),
                        }
                        assert!(direction[0] * slip(1) + direction[1] * slip(2) > 0.0, "slip goes forward");
                        if across == Across::Side { 3 } else { 2 }
                    }
                    (Block::Unilateral, Mode::Active) | (Block::Bounded { .. }, Mode::Free) => (row..row + 1).map(still).fold(4, |_, ()| 4),
                    (Block::Unilateral, Mode::Inactive) => (row..row + 1).map(|r| equal(l[r], 0.0)).fold(5, |_, ()| 5),
                    (Block::Bounded { lower, .. }, Mode::Lower) => (row..row + 1).map(|r| equal(l[r], lower)).fold(6, |_, ()| 6),
                    (Block::Bounded { upper, .. }, Mode::Upper) => (row..row + 1).map(|r| equal(l[r], upper)).fold(7, |_, ()| 7),
                    (block, mode) => panic!("{block:?} cannot be {mode:?}"),
                };
                seen[kind] += 1;
                row += rows;
            }
        }
        assert!(seen.iter().all(|&count| count > 5), "every mode occurs: {seen:?}");
    }

    /// A unit mass pressed on a plane by unit speed and pulled along it.
    fn block_on_plane(friction: f64, pull: f64) -> (Mode, Weak) {
        let blocks = [Block::Contact { friction }];
        let matrix = [1.0, 0.0, 0.0, 1.0];
        let free = [-1.0, pull];
        let problem = Problem { tangents: 1, blocks: &blocks, matrix: &matrix, free: &free, cone: Cone::Round };
        let mut l = [0.0; 2];
        assert!(ContactSolver::new().solve(&problem, None, &mut l).is_solved());
        let mut modes = vec![];
        let weak = classify(&problem, &l, &mut modes);
        (modes[0], weak)
    }

    #[test]
    fn switches_are_counted_where_they_are() {
        let slide = Mode::Slide { direction: [1.0, 0.0], across: Across::Fixed };
        assert_eq!(block_on_plane(0.5, 0.4), (Mode::Stick, Weak::default()));
        assert_eq!(block_on_plane(0.5, 0.6), (slide, Weak::default()));
        assert_eq!(block_on_plane(0.5, 0.5), (Mode::Stick, Weak { friction: 1, ..Weak::default() }), "exactly at the friction angle");
        assert_eq!(block_on_plane(0.5, 0.5 + 1e-8), (slide, Weak { friction: 1, ..Weak::default() }), "just past it");
        assert_eq!(block_on_plane(0.5, 0.5 - 1e-8), (Mode::Stick, Weak { friction: 1, ..Weak::default() }), "just before it");
        assert_eq!(block_on_plane(0.0, 0.5), (slide, Weak::default()), "without friction the slip tells the direction");
        let smooth = Mode::Slide { direction: [0.0; 2], across: Across::Fixed };
        assert_eq!(block_on_plane(0.0, 0.0), (smooth, Weak::default()), "and what stands still is not held");
    }
}
