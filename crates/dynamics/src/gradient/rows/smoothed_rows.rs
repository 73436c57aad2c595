//! Rows with smoothed complementarity: which laws they obey, and the system they leave, theory (18.1)-(18.4).

use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::system::pivoted::Pivoted;
use crate::gradient::system::sparse::Sparse;
use crate::gradient::system::weak::Weak;
use crate::gradient::system::{Sides, SystemScratch, fill_dense};
use crate::gradient::tape::record::Pushed;
use carom_geometry::Geometry;
use carom_math::Twist;
use carom_solve::contact::dense::smoothing::{Rows, Smoothing, Solved};
use carom_solve::contact::problem::Block as Law;

/// What the law of smoothed rows is made of, as slots.
#[derive(Clone, Copy, Debug)]
enum Made {
    /// Of nothing that changes.
    Fixed,
    /// Of a coefficient of friction: slots and weights.
    Friction([Option<(Block, f64)>; 2]),
    /// Of bounds plus and minus max times the duration.
    Bound {
        /// Slot of max and the duration.
        max: Option<(Block, f64)>,
        /// Slot of the length of the move, where it is no unknown, and what it adds to the bound per second.
        time: (Option<Block>, f64),
    },
}

/// Rows of one law that is smoothed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmoothedRows {
    first: usize,
    law: Law,
    impulses: [f64; 3],
    speeds: [f64; 3],
    made: Made,
}

/// A one-sided row.
pub(crate) fn one_sided<G: Geometry>(row: usize, group: &Pushed<G>) -> SmoothedRows {
    let (impulses, speeds) = ([group.impulses[0].max(0.0), 0.0, 0.0], [group.slack.max(0.0), 0.0, 0.0]);
    SmoothedRows { first: row, law: Law::Unilateral, impulses, speeds, made: Made::Fixed }
}

/// A contact with friction whose normal row is `first` and which slips like this.
pub(crate) fn contact<G: Geometry>(
    first: usize,
    group: &Pushed<G>,
    friction: f64,
    slip: [f64; 2],
    coefficient: impl Iterator<Item = (Block, f64)>,
) -> SmoothedRows {
    let mut slots = [None; 2];
    slots.iter_mut().zip(coefficient).for_each(|(slot, part)| *slot = Some(part));
    let speeds = [group.slack.max(0.0), slip[0], slip[1]];
    let impulses = [group.impulses[0].max(0.0), group.impulses[1], group.impulses[2]];
    SmoothedRows { first, law: Law::Contact { friction }, impulses, speeds, made: Made::Friction(slots) }
}

/// A row with bounds plus and minus `bound`, off its target by `speed`; how the bound is made of its parameter and of the length of the move.
pub(crate) fn bounded(
    row: usize,
    bound: f64,
    impulse: f64,
    speed: f64,
    max: Option<(Block, f64)>,
    time: (Option<Block>, f64),
) -> SmoothedRows {
    let law = Law::Bounded { lower: -bound, upper: bound };
    let impulses = [impulse.clamp(-bound, bound), 0.0, 0.0];
    SmoothedRows { first: row, law, impulses, speeds: [speed, 0.0, 0.0], made: Made::Bound { max, time } }
}

/// Scratch of the smoothing, and what came of it in the present program.
#[derive(Debug, Default)]
pub(crate) struct SmoothingScratch {
    /// The product \[J\].
    pub kappa: f64,
    /// Rows smoothed so far.
    pub rows: usize,
    /// Systems whose smoothed problem was not solved; their rows are smoothed each alone.
    pub missed: usize,
    smoothing: Smoothing,
    blocks: Vec<Law>,
    impulses: Vec<f64>,
    speeds: Vec<f64>,
    mobility: Vec<f64>,
    weights: Vec<f64>,
}

impl SmoothingScratch {
    /// Begins a program.
    pub fn begin(&mut self, weak: Weak) {
        self.kappa = weak.kappa().unwrap_or(0.0);
        self.rows = 0;
        self.missed = 0;
    }
}

/// Covectors, entries and column of the time of rows with their weights.
type Weighed<G> = (Vec<Sides<G>>, Vec<(usize, usize, f64)>, Vec<f64>);

/// The rows of a system as the smoothing asks for them.
struct SystemRows<'a, G: Geometry> {
    felt: &'a [Sides<G>],
    answers: &'a [[(usize, Twist<G>); 2]],
    entries: &'a [(usize, usize, f64)],
    times: &'a [f64],
    mobility: &'a [f64],
    sparse: &'a mut Sparse<G>,
    twists: Vec<Twist<G>>,
    weights: Vec<f64>,
    scaled: Weighed<G>,
    dense: Pivoted,
    x: Vec<f64>,
    scratch: Vec<f64>,
}

/// Rows weighed down where their slope is steep, so that no entry dwarfs the others: a/(a + slope).
fn weigh(mobility: &[f64], slopes: &[(usize, usize, f64)], weights: &mut Vec<f64>) {
    weights.clear();
    weights.resize(mobility.len(), 1.0);
    for &(row, column, slope) in slopes {
        if row == column && mobility[row] > 0.0 {
            weights[row] = mobility[row] / (mobility[row] + slope);
        }
    }
}

impl<G: Geometry> Rows for SystemRows<'_, G> {
    fn speeds(&mut self, change: &[f64], out: &mut [f64]) {
        self.twists.fill(Twist::zero());
        for (answer, &l) in self.answers.iter().zip(change) {
            for (body, twist) in answer {
                self.twists[*body] = self.twists[*body].plus(l, *twist);
            }
        }
        for (out, sides) in out.iter_mut().zip(self.felt) {
            *out = sides.iter().map(|(body, row)| row.power(&self.twists[*body])).sum();
        }
        if let Some(longer) = change.get(self.answers.len()) {
            out.iter_mut().zip(self.times).for_each(|(out, time)| *out += time * longer);
        }
        for &(row, column, value) in self.entries {
            out[row] += value * change[column];
        }
    }

    fn solve(&mut self, slopes: &[(usize, usize, f64)], right: &mut [f64]) -> bool {
        weigh(self.mobility, slopes, &mut self.weights);
        scale_rows(self.felt, self.entries.iter().chain(slopes), self.times, &self.weights, &mut self.scaled);
        let (felt, entries, times) = &self.scaled;
        let n = right.len();
        right.iter_mut().zip(&self.weights).for_each(|(x, w)| *x *= w);
        if let Some((factor, _)) = self.sparse.factor(felt, self.answers, entries, times, None) {
            self.x.clear();
            self.x.extend(right.iter().map(|x| -x));
            self.x.resize(2 * n, 0.0);
            self.sparse.solve(factor, 0..n, n..2 * n, &mut self.x, &mut self.scratch);
            right.copy_from_slice(&self.x[n..]);
        } else {
            fill_dense(felt, self.answers, entries, times, self.dense.matrix(n));
            self.dense.factor();
            self.dense.solve(right);
        }
        true
    }
}

/// Rows times their weights.
fn scale_rows<'e, G: Geometry>(
    felt: &[Sides<G>],
    entries: impl Iterator<Item = &'e (usize, usize, f64)>,
    times: &[f64],
    weights: &[f64],
    (felt_out, entries_out, times_out): &mut Weighed<G>,
) {
    felt_out.clear();
    felt_out.extend(
        felt.iter()
            .zip(weights)
            .map(|(sides, &w)| sides.map(|(body, row)| (body, carom_math::Wrench { lin: row.lin * w, ang: row.ang * w }))),
    );
    entries_out.clear();
    entries_out.extend(entries.map(|&(row, column, value)| (row, column, weights[row] * value)));
    times_out.clear();
    times_out.extend(times.iter().zip(weights).map(|(t, w)| t * w));
}

/// Smooths the rows of a system that are to be: adds their slopes to its entries and what their laws are made of to its residuals, and weighs
/// them. Returns the slots of the weighed residuals.
pub(crate) fn relax<G: Geometry>(program: &mut Program<G>, residual: Block, lists: &mut SystemScratch<G>) -> Block {
    let SystemScratch { felt, answers, entries, times, smoothed, .. } = lists;
    let n = felt.len();
    let mut work = std::mem::take(&mut program.smoothing);
    let free = Law::Bounded { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
    work.blocks.clear();
    for list in [&mut work.impulses, &mut work.speeds, &mut work.mobility] {
        list.clear();
        list.resize(n, 0.0);
    }
    for (row, (sides, answer)) in felt.iter().zip(answers.iter()).enumerate() {
        let pairs = sides.iter().flat_map(|side| answer.iter().map(move |other| (side, other)));
        work.mobility[row] = pairs.filter(|((a, _), (b, _))| a == b).map(|((_, row), (_, twist))| row.power(twist)).sum();
    }
    smoothed.sort_by_key(|rows| rows.first);
    let mut row = 0;
    for rows in smoothed.iter() {
        work.blocks.extend((row..rows.first).map(|_| free));
        work.blocks.push(rows.law);
        let count = rows.law.rows(G::TANGENTS);
        work.impulses[rows.first..rows.first + count].copy_from_slice(&rows.impulses[..count]);
        work.speeds[rows.first..rows.first + count].copy_from_slice(&rows.speeds[..count]);
        row = rows.first + count;
        work.rows += count;
    }
    work.blocks.extend((row..n).map(|_| free));
    let bodies = answers.iter().flatten().map(|(body, _)| *body).chain(felt.iter().flatten().map(|(body, _)| *body)).max();
    let mut rows = SystemRows {
        felt,
        answers,
        entries,
        times,
        mobility: &work.mobility,
        sparse: &mut program.sparse,
        twists: vec![Twist::zero(); bodies.map_or(0, |last| last + 1)],
        weights: Vec::new(),
        scaled: (Vec::new(), Vec::new(), Vec::new()),
        dense: Pivoted::default(),
        x: Vec::new(),
        scratch: Vec::new(),
    };
    let solved =
        Solved { blocks: &work.blocks, tangents: G::TANGENTS, impulses: &work.impulses, speeds: &work.speeds, mobility: &work.mobility };
    let reached = work.smoothing.solve(&mut rows, &solved, work.kappa);
    let mut scaled = rows.scaled;
    work.missed += usize::from(!reached.solved);

    // What the laws are made of, theory (18.4).
    for rows in smoothed.iter() {
        let by = work.smoothing.by_parameters(rows.law, G::TANGENTS, rows.first);
        match rows.made {
            Made::Fixed => {}
            Made::Friction(slots) => {
                for (block, weight) in slots.into_iter().flatten() {
                    for k in 0..G::TANGENTS {
                        program.scaled(residual.part(rows.first + 1 + k, 1), block, weight * by.friction[k]);
                    }
                }
            }
            Made::Bound { max, time: (time, rate) } => {
                let slope = by.upper - by.lower;
                let out = residual.part(rows.first, 1);
                if let Some((block, duration)) = max {
                    program.scaled(out, block, slope * duration);
                }
                if let Some(block) = time {
                    program.scaled(out, block, slope * rate);
                }
                if let Some(entry) = times.get_mut(rows.first) {
                    *entry += slope * rate;
                }
            }
        }
    }
    weigh(&work.mobility, work.smoothing.slopes(), &mut work.weights);
    let weighed = program.fresh(n);
    for (row, &weight) in work.weights.iter().enumerate() {
        program.scaled(weighed.part(row, 1), residual.part(row, 1), weight);
    }
    let slopes = work.smoothing.slopes();
    scale_rows(felt, entries.iter().chain(slopes), times, &work.weights, &mut scaled);
    (*felt, *entries, *times) = scaled;
    program.smoothing = work;
    weighed
}
