//! The active-set method: guess how every block behaves, solve the linear system that follows, correct the guess.
//!
//! A contact is open, sticking or sliding, a limit open or active, a motor free or at a bound. Given these modes the problem is linear
//! but for the directions of sliding in space, which Newton's method finds; theory (4.9)-(4.12). The modes of the last step are nearly
//! always right, so a settled or sliding scene costs one small factorisation a step.

mod system;

use crate::contact::problem::{Block, Cone, Problem};
use crate::interrupt::Interrupt;
use crate::status::{RESIDUAL_AIM, natural_residual, project_friction, side_frame, side_of, speed_scale, within};
use carom_math::dense::{Cholesky, Lu, multiply_add};
use system::{FactoredOf, Unknown, across_of};

pub(crate) use system::same;
pub use system::{REGULARISATION, REGULARISATION_RETRY};

/// Relative violation below which a mode is kept: half the residual aimed at, so that what is accepted is never flipped.
const FLIP: f64 = RESIDUAL_AIM / 2.0;
/// Share of the friction limit above which a warm impulse counts as sliding.
const SLIDING_SHARE: f64 = 1.0 - 1e-9;
/// Relative slip below which a contact at its friction limit is taken to stick.
const STILL_SLIP: f64 = 1e-9;
/// Rounds without a flip and without progress after which the iteration gives up.
const PATIENCE: usize = 3;
/// Least factor of progress of a round.
const PROGRESS: f64 = 0.5;

/// How a block behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    /// No impulse.
    Open,
    /// Every row of the block at w = 0: sticking, an active limit, a motor within its bounds.
    Held,
    /// l_t = -mu l_n e with e the `direction` of slip; in space also one row across it.
    Slide {
        /// e: unit vector of slip for the round cone, minus a corner or the middle of a side for a pyramid.
        direction: [f64; 2],
        /// Whether the impulse may also move across e, so that w_t has no part across it.
        across: bool,
        /// Slip speed over friction impulse, the curvature of the round cone in (4.10) [1/kg].
        stiffness: f64,
    },
    /// At the lower bound.
    Lower,
    /// At the upper bound.
    Upper,
}

/// Where the linear solves of redundant contacts start: it decides which of many equivalent impulses they find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// From nothing: the smallest impulses, always the same ones.
    Zero,
    /// From the impulses given: those nearest to them, inside their cones where the smallest are not. What lies in the null space stays,
    /// so that rounding gathers there from step to step.
    Given,
}

/// The active-set method with its scratch.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActiveSet {
    modes: Vec<Mode>,
    unknowns: Vec<Unknown>,
    cholesky: Cholesky,
    lu: Lu,
    factored: FactoredOf,
    scaling: Vec<f64>,
    right: Vec<f64>,
    functional: Vec<f64>,
    impulses: Vec<f64>,
    velocity: Vec<f64>,
    best: Vec<f64>,
    /// Whether the last solve started from the impulses at hand, and so does one with other free velocities.
    keep: bool,
    factorisations: u64,
}

impl ActiveSet {
    /// Factorisations so far.
    pub fn factorisations(&self) -> u64 {
        self.factorisations
    }

    /// Impulses of the last linear solve.
    pub fn impulses(&self) -> &[f64] {
        &self.impulses
    }

    /// Solves a problem with the matrix, the modes and the factor at hand; its relative residual, or nothing where they are not those of this problem.
    pub fn again(&mut self, problem: &Problem) -> Option<f64> {
        if self.modes.len() != problem.blocks.len() || self.impulses.len() != problem.rows() || !self.solve_known(problem, self.keep) {
            return None;
        }
        Some(natural_residual(problem, &self.impulses, &self.velocity))
    }

    /// Reads the modes off impulses of a similar problem.
    pub fn guess(&mut self, problem: &Problem, impulses: &[f64], start: Start) {
        let n = problem.rows();
        self.velocity.resize(n, 0.0);
        self.impulses.clear();
        self.impulses.extend_from_slice(impulses);
        multiply_add(problem.matrix, impulses, problem.free, &mut self.velocity);
        // From nothing, redundant friction that reached its limit without any slip sticks again; from where it is, it stays there.
        let still = if start == Start::Zero { STILL_SLIP * speed_scale(problem.free) } else { -1.0 };
        self.modes.clear();
        let mut row = 0;
        for block in problem.blocks {
            let normal = impulses[row];
            let mode = match *block {
                Block::Contact { friction } if normal > 0.0 => {
                    let pull = tangential(problem, impulses, row);
                    let slip = tangential(problem, &self.velocity, row);
                    let at_limit = nearest_friction(problem, pull, SLIDING_SHARE * friction * normal) != pull;
                    if friction <= 0.0 || (at_limit && slip[0].hypot(slip[1]) > still) {
                        self.slide(problem, friction, normal, pull, slip)
                    } else {
                        Mode::Held
                    }
                }
                Block::Unilateral if normal > 0.0 => Mode::Held,
                Block::Contact { .. } | Block::Unilateral => Mode::Open,
                Block::Bounded { lower, upper } => {
                    if normal <= lower {
                        Mode::Lower
                    } else if normal >= upper {
                        Mode::Upper
                    } else {
                        Mode::Held
                    }
                }
            };
            self.modes.push(mode);
            row += block.rows(problem.tangents);
        }
    }

    /// The sliding mode whose friction impulse points along `pull`, for a slip velocity `slip`.
    fn slide(&self, problem: &Problem, friction: f64, normal: f64, pull: [f64; 2], slip: [f64; 2]) -> Mode {
        let length = pull[0].hypot(pull[1]);
        if friction <= 0.0 || length <= 0.0 {
            return Mode::Slide { direction: [0.0, 0.0], across: false, stiffness: 0.0 };
        }
        if problem.tangents == 1 {
            return Mode::Slide { direction: [-pull[0] / length, 0.0], across: false, stiffness: 0.0 };
        }
        match problem.cone {
            Cone::Round => {
                let direction = [-pull[0] / length, -pull[1] / length];
                let speed = direction[0] * slip[0] + direction[1] * slip[1];
                let stiffness = if normal > 0.0 { speed.max(0.0) / (friction * normal) } else { 0.0 };
                Mode::Slide { direction, across: true, stiffness }
            }
            Cone::Polyhedral(edges) => {
                let side = side_of(pull, edges);
                let (outward, along) = side_frame(side, edges);
                let half_angle = std::f64::consts::PI / edges as f64;
                let (depth, half_side) = (half_angle.cos(), half_angle.sin());
                // Foot of the pull on the side it leaves through, for a pyramid of unit reach; beyond an end it is the corner.
                let reach = friction * normal.max(0.0);
                let foot = pull[0] * along[0] + pull[1] * along[1];
                if foot.abs() >= SLIDING_SHARE * half_side * reach {
                    let corner = half_side * foot.signum();
                    let direction = [-(depth * outward[0] + corner * along[0]), -(depth * outward[1] + corner * along[1])];
                    Mode::Slide { direction, across: false, stiffness: 0.0 }
                } else {
                    Mode::Slide { direction: [-depth * outward[0], -depth * outward[1]], across: true, stiffness: 0.0 }
                }
            }
        }
    }

    /// Iterates from the guessed modes, at most `rounds` times; returns the relative residual of the best impulses and the rounds used.
    ///
    /// All violated modes are flipped together in the first half of the rounds, only the worst one in the second: the former is fast,
    /// the latter does not cycle where the active matrices are positive.
    pub fn iterate(&mut self, problem: &Problem, rounds: usize, start: Start, interrupt: &Interrupt) -> (f64, usize) {
        let n = problem.rows();
        self.velocity.resize(n, 0.0);
        self.best.clear();
        self.best.resize(n, 0.0);
        let mut best = f64::INFINITY;
        let mut idle = 0;
        let mut keep = start == Start::Given;
        for round in 0..rounds {
            if interrupt.raised() || !self.solve_active(problem, keep) {
                return (best, round + 1);
            }
            self.keep = keep;
            let residual = natural_residual(problem, &self.impulses, &self.velocity);
            let progress = residual < PROGRESS * best;
            if residual < best {
                best = residual;
                self.best.copy_from_slice(&self.impulses);
            }
            if best <= RESIDUAL_AIM {
                return (best, round + 1);
            }
            let flipped = self.correct(problem, 2 * round >= rounds);
            keep &= !flipped;
            idle = if flipped || progress { 0 } else { idle + 1 };
            if idle >= PATIENCE {
                return (best, round + 1);
            }
        }
        (best, rounds)
    }

    /// Impulses of the least residual met by the last call of [`ActiveSet::iterate`].
    pub fn best(&self) -> &[f64] {
        &self.best
    }

    /// Corrects the modes by (4.12) and turns the directions of slip; true if a mode changed its kind.
    fn correct(&mut self, problem: &Problem, worst_only: bool) -> bool {
        let n = problem.rows();
        let tolerance = FLIP * speed_scale(problem.free);
        let mut worst = (0.0f64, usize::MAX, Mode::Open);
        let mut flipped = false;
        let mut row = 0;
        for index in 0..problem.blocks.len() {
            let block = problem.blocks[index];
            let diagonal = problem.matrix[row * n + row];
            let (l, w) = (self.impulses[row], self.velocity[row]);
            // Each violation in units of velocity, and the mode that would answer it.
            let (violation, next) = match (block, self.modes[index]) {
                (Block::Contact { friction }, Mode::Open) => (-w, self.landed(problem, friction, row)),
                (Block::Unilateral, Mode::Open) => (-w, Mode::Held),
                (Block::Unilateral, _) => (-l * diagonal, Mode::Open),
                (Block::Contact { friction }, mode) => {
                    if -l * diagonal > tolerance {
                        (-l * diagonal, Mode::Open)
                    } else {
                        self.slipped(problem, friction, row, mode)
                    }
                }
                (Block::Bounded { .. }, Mode::Lower) => (-w, Mode::Held),
                (Block::Bounded { .. }, Mode::Upper) => (w, Mode::Held),
                (Block::Bounded { lower, upper }, _) => {
                    if l < lower {
                        ((lower - l) * diagonal, Mode::Lower)
                    } else {
                        ((l - upper) * diagonal, Mode::Upper)
                    }
                }
            };
            let turned = matches!((self.modes[index], next), (Mode::Slide { across: true, .. }, Mode::Slide { across: true, .. }));
            if turned && problem.cone == Cone::Round {
                self.modes[index] = next; // Newton's step in the direction of slip; not a change of kind
            } else if violation > tolerance {
                if worst_only {
                    if violation > worst.0 {
                        worst = (violation, index, next);
                    }
                } else {
                    self.modes[index] = next;
                    flipped = true;
                }
            }
            row += block.rows(problem.tangents);
        }
        if worst.1 < self.modes.len() {
            self.modes[worst.1] = worst.2;
            flipped = true;
        }
        flipped
    }

    /// The mode of a contact that was open and closes: sliding if it slips faster than its cone could stop, else sticking.
    fn landed(&self, problem: &Problem, friction: f64, row: usize) -> Mode {
        let slip = tangential(problem, &self.velocity, row);
        let n = problem.rows();
        let (normal, lateral) = (problem.matrix[row * n + row], problem.matrix[(row + 1) * n + row + 1]);
        let impulse = -self.velocity[row] / if normal > 0.0 { normal } else { 1.0 };
        if slip[0].hypot(slip[1]) > lateral * friction * impulse {
            self.slide(problem, friction, impulse, [-slip[0], -slip[1]], slip)
        } else {
            Mode::Held
        }
    }

    /// Violation and answer of a contact that touches: out of its cone when sticking, against its slip when sliding.
    fn slipped(&self, problem: &Problem, friction: f64, row: usize, mode: Mode) -> (f64, Mode) {
        let n = problem.rows();
        let lateral = problem.matrix[(row + 1) * n + row + 1];
        let normal = self.impulses[row].max(0.0);
        let pull = tangential(problem, &self.impulses, row);
        let slip = tangential(problem, &self.velocity, row);
        let Mode::Slide { direction, across, .. } = mode else {
            let nearest = nearest_friction(problem, pull, friction * normal);
            let excess = (pull[0] - nearest[0]).hypot(pull[1] - nearest[1]);
            return (excess * lateral, self.slide(problem, friction, normal, pull, slip));
        };
        if friction <= 0.0 {
            return (0.0, mode);
        }
        let along = direction[0] * slip[0] + direction[1] * slip[1];
        match problem.cone {
            Cone::Polyhedral(edges) if problem.tangents == 2 => {
                if along < 0.0 {
                    return (-along, Mode::Held);
                }
                if across {
                    // Past the end of its side the impulse moves to the corner.
                    let side = across_of(direction);
                    let foot = pull[0] * side[0] + pull[1] * side[1];
                    let half_side = (std::f64::consts::PI / edges as f64).sin() * friction * normal;
                    return ((foot.abs() - half_side) * lateral, self.slide(problem, friction, normal, pull, slip));
                }
                // A corner serves while the slip lies within the two neighbouring sides' normals; else the impulse moves along one side.
                let most = Self::steepest(slip, edges);
                let miss = (most[0] + direction[0]) * -slip[0] + (most[1] + direction[1]) * -slip[1];
                let middle = [most[0] - direction[0], most[1] - direction[1]];
                (miss, self.slide(problem, friction, 1.0, [middle[0] * friction, middle[1] * friction], slip))
            }
            _ if across && self.impulses[row] > 0.0 && along >= 0.0 => (0.0, self.slide(problem, friction, normal, pull, slip)),
            _ => (-along, Mode::Held),
        }
    }

    /// Corner of the unit pyramid that works hardest against `slip`.
    fn steepest(slip: [f64; 2], edges: usize) -> [f64; 2] {
        let turn = std::f64::consts::TAU / edges as f64;
        let corner = ((-slip[1]).atan2(-slip[0]) / turn).round() * turn;
        let (sin, cos) = corner.sin_cos();
        [cos, sin]
    }
}

/// The friction part of the rows of the contact that starts at `row`; the second component is 0 in the plane.
fn tangential(problem: &Problem, rows: &[f64], row: usize) -> [f64; 2] {
    [rows[row + 1], if problem.tangents == 2 { rows[row + 2] } else { 0.0 }]
}

/// Nearest admissible friction impulse.
fn nearest_friction(problem: &Problem, pull: [f64; 2], reach: f64) -> [f64; 2] {
    if problem.tangents == 1 { [within(pull[0], reach), 0.0] } else { project_friction(pull, reach, problem.cone) }
}
