//! Complementarity relaxed to a product: the smoothed contact problem around a solved one, theory (18.1)-(18.5).
//!
//! Every pair of a complementarity keeps the product kappa instead of 0, so that no contact is ever just on or off and the impulses are
//! smooth functions of the problem. The rows may stand in any matrix: [`Rows`] is all that is asked of them, a dense problem and the sparse
//! system of a step alike.

use crate::contact::problem::Block;

/// Newton steps at most, restarts included. From the exact solution 4 to 10 suffice, along the path 20 to 40.
const STEP_CAP: usize = 120;
/// Steps of the direct attempt, after which the path is followed from a large product.
const DIRECT_CAP: usize = 40;
/// Part of the way to the boundary that a step may go.
const TO_THE_BOUNDARY: f64 = 0.995;
/// Factor by which a step that leaves the interior is shortened.
const SHORTENED: f64 = 0.7;
/// Shortenings at most: 0.7^80 is below rounding.
const SHORTENING_CAP: usize = 80;
/// Factor of the product from one point of the path to the next.
const PATH: f64 = 0.2;
/// Residual, relative to the speeds and to the product, at which a point of the path counts as reached.
const REACHED: f64 = 0.3;
/// Residual at which the problem is solved: derivatives are taken at this point, and their error is of its size.
const SOLVED: f64 = 1e-11;
/// Rows of a block at most.
const BLOCK_ROWS: usize = 3;

/// Rows whose speeds answer linearly to their impulses: w = w0 + S (l - l0).
pub trait Rows {
    /// Writes S `change`.
    fn speeds(&mut self, change: &[f64], out: &mut [f64]);
    /// Solves (S + slopes) x = right in place; `slopes` are (row, column, value) within blocks. False when that cannot be done.
    fn solve(&mut self, slopes: &[(usize, usize, f64)], right: &mut [f64]) -> bool;
}

/// A solved problem that is to be smoothed.
#[derive(Clone, Copy, Debug)]
pub struct Solved<'a> {
    /// Laws of the rows, in order. Bounds without room between them are not smoothed: such a row must be held by the caller.
    pub blocks: &'a [Block],
    /// Friction rows per contact.
    pub tangents: usize,
    /// Impulses l0 of the rows.
    pub impulses: &'a [f64],
    /// Speeds w0 of the rows, minus their targets.
    pub speeds: &'a [f64],
    /// Own mobility of each row, the diagonal of S.
    pub mobility: &'a [f64],
}

/// How a smoothed problem was solved.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// Whether the residual is small enough for derivatives.
    pub solved: bool,
    /// Largest miss: of speeds relative to the fastest, of products relative to kappa.
    pub residual: f64,
    /// Newton steps.
    pub steps: usize,
}

/// How the pull of a block changes with what it is made of, beside its impulses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parameters {
    /// By the coefficient of friction, for each tangential row.
    pub friction: [f64; 2],
    /// By the lower bound.
    pub lower: f64,
    /// By the upper bound.
    pub upper: f64,
}

/// The smoothed problem; keeps its scratch.
#[derive(Clone, Debug, Default)]
pub struct Smoothing {
    kappa: f64,
    impulses: Vec<f64>,
    speeds: Vec<f64>,
    change: Vec<f64>,
    right: Vec<f64>,
    moved: Vec<f64>,
    /// Dual of each row: of a normal s, of the first friction row theta, of a bounded row z1; second ones in `upper`.
    dual: Vec<f64>,
    upper: Vec<f64>,
    slopes: Vec<(usize, usize, f64)>,
}

impl Smoothing {
    /// Solves the smoothed problem next to a solved one for a product kappa > 0 \[J\]; where that fails, the point is that of each row alone.
    pub fn solve(&mut self, rows: &mut impl Rows, solved: &Solved, kappa: f64) -> Reached {
        // The fastest of the speeds, the impulses as speeds, and what the product makes of a row alone.
        let scale = solved
            .speeds
            .iter()
            .zip(solved.impulses)
            .zip(solved.mobility)
            .fold(0.0f64, |m, ((w, l), a)| m.max(w.abs()).max(a.abs() * l.abs()).max((a.abs() * kappa).sqrt()));
        let mut steps = 0;
        let mut reached = self.follow(rows, solved, (kappa, kappa), scale, DIRECT_CAP, &mut steps);
        if !reached.solved {
            // A product as large as the largest of any pair: there every contact pushes a little and the path begins.
            let large = solved.mobility.iter().filter(|a| **a > 0.0).fold(kappa, |m, a| m.max(scale * scale / a));
            reached = self.follow(rows, solved, (large, kappa), scale, STEP_CAP, &mut steps);
        }
        if !reached.solved {
            // Each row alone: no solution, but smooth and of the right size.
            self.start(solved, kappa);
            self.assemble(solved, kappa, scale);
        }
        reached
    }

    /// Smoothed impulses.
    pub fn impulses(&self) -> &[f64] {
        &self.impulses
    }

    /// Slopes (row, column, value) of the pulls at the solution, theory (18.4): dw + slopes dl + (parameters) = 0.
    pub fn slopes(&self) -> &[(usize, usize, f64)] {
        &self.slopes
    }

    /// Slopes of the pull of a block whose first row is `row` by what it is made of.
    pub fn by_parameters(&self, block: Block, tangents: usize, row: usize) -> Parameters {
        let l = &self.impulses[row..];
        let mut out = Parameters::default();
        match block {
            Block::Contact { friction } if friction > 0.0 => {
                let reach = friction * l[0];
                let room = room(friction, tangents, l);
                for k in 0..tangents {
                    out.friction[k] = -2.0 * self.kappa * l[1 + k] * 2.0 * reach * l[0] / (room * room);
                }
            }
            Block::Bounded { lower, upper } => {
                out.lower = -self.kappa / ((l[0] - lower) * (l[0] - lower));
                out.upper = -self.kappa / ((upper - l[0]) * (upper - l[0]));
            }
            _ => {}
        }
        out
    }

    /// Newton's method from the local guesses at the first product to the last one.
    fn follow(
        &mut self,
        rows: &mut impl Rows,
        solved: &Solved,
        (first, last): (f64, f64),
        scale: f64,
        cap: usize,
        steps: &mut usize,
    ) -> Reached {
        let n = solved.impulses.len();
        let mut kappa = first;
        self.kappa = last;
        self.start(solved, first);
        let mut best = f64::INFINITY;
        for _ in 0..cap {
            // Speeds at the present impulses.
            self.change.clear();
            self.change.extend(self.impulses.iter().zip(solved.impulses).map(|(l, l0)| l - l0));
            self.speeds.resize(n, 0.0);
            rows.speeds(&self.change, &mut self.speeds);
            self.speeds.iter_mut().zip(solved.speeds).for_each(|(w, w0)| *w += w0);
            let residual = self.assemble(solved, kappa, scale);
            if !residual.is_finite() {
                break;
            }
            if kappa > last && residual < REACHED {
                kappa = (PATH * kappa).max(last);
                self.assemble(solved, kappa, scale);
            } else if kappa == last {
                best = best.min(residual);
                if residual <= SOLVED {
                    return Reached { solved: true, residual, steps: *steps };
                }
            }
            *steps += 1;
            self.change.clone_from(&self.right);
            if !rows.solve(&self.slopes, &mut self.change) || !self.advance(solved, kappa) {
                break;
            }
        }
        Reached { solved: false, residual: best, steps: *steps }
    }

    /// The point that each block would take were it alone: exact without coupling.
    fn start(&mut self, solved: &Solved, kappa: f64) {
        self.impulses.clear();
        self.impulses.extend_from_slice(solved.impulses);
        self.dual.clear();
        self.dual.resize(solved.impulses.len(), 0.0);
        self.upper.clone_from(&self.dual);
        let mut row = 0;
        for block in solved.blocks {
            let rows = block.rows(solved.tangents);
            let mobility = solved.mobility[row].max(f64::MIN_POSITIVE);
            let (l, w) = (&mut self.impulses[row..row + rows], &solved.speeds[row..row + rows]);
            match *block {
                Block::Unilateral | Block::Contact { .. } => {
                    let normal = alone(mobility, l[0], w[0], kappa);
                    self.dual[row] = kappa / normal;
                    if let Block::Contact { friction } = *block
                        && friction > 0.0
                    {
                        let pull = l[1..].iter().map(|x| x * x).sum::<f64>().sqrt();
                        let slip = w[1..].iter().map(|x| x * x).sum::<f64>().sqrt();
                        let (reach, before) = (friction * normal, friction * l[0]);
                        let side = solved.mobility[row + 1].max(f64::MIN_POSITIVE);
                        // Inside the cone by what a slip this fast leaves, and by what a contact at its limit would keep.
                        let mut part = if before > 0.0 { (pull / before).min(1.0) } else { f64::from(u8::from(slip > 0.0)) };
                        let work = slip * reach;
                        if work > 0.0 {
                            part = part.min(work / (kappa + kappa.hypot(work)));
                        }
                        part = part.min(reach / (reach + (kappa / side).sqrt()));
                        for k in 1..rows {
                            let along = if pull > 0.0 {
                                l[k] / pull
                            } else if slip > 0.0 {
                                -w[k] / slip
                            } else {
                                0.0
                            };
                            l[k] = part * reach * along;
                        }
                        self.dual[row + 1] = 2.0 * kappa / (reach * reach * (1.0 - part * part));
                    } else {
                        l[1..].fill(0.0);
                    }
                    l[0] = normal;
                }
                Block::Bounded { lower, upper } => {
                    let (below, above) = (l[0] - lower, upper - l[0]);
                    let width = upper - lower;
                    if below <= above && below.is_finite() {
                        l[0] = lower + alone(mobility, below, w[0], kappa).min(width / 2.0);
                    } else if above.is_finite() {
                        l[0] = upper - alone(mobility, above, -w[0], kappa).min(width / 2.0);
                    }
                    self.dual[row] = kappa / (l[0] - lower);
                    self.upper[row] = kappa / (upper - l[0]);
                }
            }
            row += rows;
        }
    }

    /// Writes slopes and right sides of Newton's step, theory (18.3); returns the residual.
    fn assemble(&mut self, solved: &Solved, kappa: f64, scale: f64) -> f64 {
        let unit = scale.max(f64::MIN_POSITIVE);
        self.slopes.clear();
        self.right.clear();
        self.right.resize(self.impulses.len(), 0.0);
        let mut worst = 0.0f64;
        let mut row = 0;
        for block in solved.blocks {
            let rows = block.rows(solved.tangents);
            let (l, w) = (&self.impulses[row..row + rows], &self.speeds[row..row + rows]);
            let mut miss = |speed: f64, product: f64| worst = worst.max(speed.abs() / unit).max(product.abs() / kappa);
            match *block {
                Block::Unilateral | Block::Contact { .. } => {
                    let s = self.dual[row];
                    self.slopes.push((row, row, s / l[0]));
                    self.right[row] = kappa / l[0] - w[0];
                    miss(w[0] - s, l[0] * s - kappa);
                    if let Block::Contact { friction } = *block
                        && friction > 0.0
                    {
                        let theta = self.dual[row + 1];
                        let reach = friction * l[0];
                        let room = room(friction, solved.tangents, l);
                        for k in 1..rows {
                            self.slopes.push((row + k, row, -2.0 * theta * reach * friction * l[k] / room));
                            for j in 1..rows {
                                let own = if j == k { theta } else { 0.0 };
                                self.slopes.push((row + k, row + j, own + 2.0 * theta * l[k] * l[j] / room));
                            }
                            self.right[row + k] = -w[k] - 2.0 * kappa * l[k] / room;
                            miss(w[k] + theta * l[k], theta * room / 2.0 - kappa);
                        }
                    }
                }
                Block::Bounded { lower, upper } => {
                    let (p, q) = (l[0] - lower, upper - l[0]);
                    let (z1, z2) = (self.dual[row], self.upper[row]);
                    let slope = z1 / p + z2 / q;
                    if slope > 0.0 {
                        self.slopes.push((row, row, slope));
                    }
                    self.right[row] = kappa / p - kappa / q - w[0];
                    miss(w[0] - z1 + z2, 0.0);
                    for (room, z) in [(p, z1), (q, z2)] {
                        if room.is_finite() {
                            miss(0.0, room * z - kappa);
                        }
                    }
                }
            }
            row += rows;
        }
        worst
    }

    /// Goes along the change as far as the interior reaches, duals with it; false when there is no way left.
    fn advance(&mut self, solved: &Solved, kappa: f64) -> bool {
        if self.change.iter().any(|x| !x.is_finite()) {
            return false;
        }
        let mut length = 1.0;
        for _ in 0..SHORTENING_CAP {
            if self.fits(solved, kappa, length) {
                self.step(solved, kappa, length);
                return true;
            }
            length *= SHORTENED;
        }
        false
    }

    /// Change of the duals of a block that goes with the change of its impulses.
    fn dual_change(&self, block: Block, tangents: usize, row: usize, kappa: f64) -> [f64; 2] {
        let (l, d) = (&self.impulses[row..], &self.change[row..]);
        match block {
            Block::Unilateral | Block::Contact { .. } => {
                let s = self.dual[row];
                let normal = kappa / l[0] - s - s / l[0] * d[0];
                let mut out = [normal, 0.0];
                if let Block::Contact { friction } = block
                    && friction > 0.0
                {
                    let theta = self.dual[row + 1];
                    let room = room(friction, tangents, l);
                    let pulled: f64 = (1..=tangents).map(|k| l[k] * d[k]).sum();
                    let opened = 2.0 * friction * friction * l[0] * d[0] - 2.0 * pulled;
                    out[1] = 2.0 * kappa / room - theta - theta / room * opened;
                }
                out
            }
            Block::Bounded { lower, upper } => {
                let (p, q) = (l[0] - lower, upper - l[0]);
                let (z1, z2) = (self.dual[row], self.upper[row]);
                [kappa / p - z1 - z1 / p * d[0], kappa / q - z2 + z2 / q * d[0]]
            }
        }
    }

    /// Whether a step of this length keeps a part of every room.
    fn fits(&mut self, solved: &Solved, kappa: f64, length: f64) -> bool {
        let left = 1.0 - TO_THE_BOUNDARY;
        self.moved.clear();
        self.moved.extend(self.impulses.iter().zip(&self.change).map(|(l, d)| l + length * d));
        let mut row = 0;
        for block in solved.blocks {
            let rows = block.rows(solved.tangents);
            let (l, next) = (&self.impulses[row..row + rows], &self.moved[row..row + rows]);
            let [first, second] = self.dual_change(*block, solved.tangents, row, kappa);
            let keeps = |before: f64, after: f64| !before.is_finite() || after >= left * before;
            let dual = |before: f64, change: f64| before == 0.0 || before + length * change >= left * before;
            let inside = match *block {
                Block::Unilateral => keeps(l[0], next[0]) && dual(self.dual[row], first),
                Block::Contact { friction } => {
                    let normal = keeps(l[0], next[0]) && dual(self.dual[row], first);
                    let free = friction <= 0.0
                        || (keeps(room(friction, solved.tangents, l), room(friction, solved.tangents, next))
                            && dual(self.dual[row + 1], second));
                    normal && free
                }
                Block::Bounded { lower, upper } => {
                    keeps(l[0] - lower, next[0] - lower)
                        && keeps(upper - l[0], upper - next[0])
                        && dual(self.dual[row], first)
                        && dual(self.upper[row], second)
                }
            };
            if !inside {
                return false;
            }
            row += rows;
        }
        true
    }

    fn step(&mut self, solved: &Solved, kappa: f64, length: f64) {
        let mut row = 0;
        for block in solved.blocks {
            let [first, second] = self.dual_change(*block, solved.tangents, row, kappa);
            match *block {
                Block::Bounded { .. } => {
                    // An infinite bound has no multiplier.
                    self.dual[row] += if self.dual[row] > 0.0 { length * first } else { 0.0 };
                    self.upper[row] += if self.upper[row] > 0.0 { length * second } else { 0.0 };
                }
                Block::Unilateral => self.dual[row] += length * first,
                Block::Contact { friction } => {
                    self.dual[row] += length * first;
                    if friction > 0.0 {
                        self.dual[row + 1] += length * second;
                    }
                }
            }
            row += block.rows(solved.tangents);
        }
        self.impulses.clone_from(&self.moved);
    }
}

/// The impulse l of a row alone, a l + u = w, with l w = kappa, from a solved pair: theory (18.5).
fn alone(mobility: f64, impulse: f64, speed: f64, kappa: f64) -> f64 {
    let pushed = mobility * impulse - speed;
    let root = pushed.hypot(2.0 * (mobility * kappa).sqrt());
    // Of the two forms of the root the one without cancellation.
    if pushed >= 0.0 { (pushed + root) / (2.0 * mobility) } else { 2.0 * kappa / (root - pushed) }
}

/// What friction leaves of the cone, (mu l_n)^2 - |l_t|^2.
fn room(friction: f64, tangents: usize, l: &[f64]) -> f64 {
    let reach = friction * l[0];
    let pull = l[1..=tangents.min(BLOCK_ROWS - 1)].iter().map(|x| x * x).sum::<f64>().sqrt();
    (reach - pull) * (reach + pull)
}

#[cfg(test)]
mod tests;
