//! The linear system behind one solve: a residual per row that holds, an unknown per impulse, theory (17.11)-(17.13).

pub(crate) mod parts;
pub(crate) mod pivoted;
pub(crate) mod redundant;
pub(crate) mod sparse;
pub(crate) mod weak;

use super::motion::carrier;
use super::rows::smoothed_rows::{SmoothedRows, relax};
use super::schedule::program::{Block, Program};
use super::slots::put;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// A covector on the velocities (or poses) of two bodies.
pub(crate) type Sides<G> = [(usize, Wrench<G>); 2];

/// No covector.
pub(crate) fn nothing<G: Geometry>() -> Sides<G> {
    [(0, Wrench::zero()); 2]
}

/// One residual: how it answers to the velocities solved for, to the poses at the end of the move, and to the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Residual<G: Geometry> {
    /// By the velocities.
    pub velocity: Sides<G>,
    /// By the poses at the end of the move.
    pub pose: Sides<G>,
    /// By the length of the move.
    pub time: f64,
}

impl<G: Geometry> Residual<G> {
    /// Answers to nothing.
    pub fn zero() -> Self {
        Residual { velocity: nothing(), pose: nothing(), time: 0.0 }
    }

    /// Adds a part of another.
    pub fn add(&mut self, factor: f64, other: &Self) {
        for side in 0..2 {
            self.velocity[side] = (other.velocity[side].0, self.velocity[side].1.plus(factor, other.velocity[side].1));
            self.pose[side] = (other.pose[side].0, self.pose[side].1.plus(factor, other.pose[side].1));
        }
        self.time += factor * other.time;
    }
}

/// What a longer move does: the velocities gain `kicks` and the poses `twists` per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeColumn<'a, G: Geometry> {
    /// Velocity gained per second of the move.
    pub kicks: &'a [Twist<G>],
    /// Velocity of the move.
    pub twists: &'a [Twist<G>],
}

/// The lists of a system, kept from one to the next.
#[derive(Debug)]
pub(crate) struct SystemScratch<G: Geometry> {
    /// Residuals in order.
    pub rows: Vec<Residual<G>>,
    /// Wrench of a unit of each unknown.
    pub columns: Vec<Sides<G>>,
    /// Direct entries: (residual, unknown, value).
    pub entries: Vec<(usize, usize, f64)>,
    /// Rows whose complementarity is smoothed.
    pub smoothed: Vec<SmoothedRows>,
    /// Each residual as a covector on velocities.
    pub felt: Vec<Sides<G>>,
    /// Velocity of a unit of each unknown.
    pub answers: Vec<[(usize, Twist<G>); 2]>,
    /// Its column of the time.
    pub times: Vec<f64>,
    /// How each body carries a covector on its orientation over the move: three columns, once they are asked for.
    pub carriers: Vec<Option<[G::Ang; 3]>>,
}

/// Residuals and unknowns of one solve while it is being put together.
#[derive(Debug)]
pub(crate) struct System<G: Geometry> {
    /// Residual slots.
    pub residual: Block,
    /// Unknown slots.
    pub unknown: Block,
    /// Direct entries join rows of different pairs of bodies, which the sparse factor has no place for.
    pub scattered: bool,
    /// Lists.
    pub lists: SystemScratch<G>,
}

impl<G: Geometry> System<G> {
    /// A system of a size.
    pub fn new(program: &mut Program<G>, size: usize) -> Self {
        let mut lists = program.lists.take().unwrap_or_else(|| SystemScratch {
            rows: Vec::new(),
            columns: Vec::new(),
            entries: Vec::new(),
            smoothed: Vec::new(),
            felt: Vec::new(),
            answers: Vec::new(),
            times: Vec::new(),
            carriers: Vec::new(),
        });
        lists.rows.clear();
        lists.columns.clear();
        lists.entries.clear();
        lists.smoothed.clear();
        System { residual: program.fresh(size), unknown: program.fresh(size), scattered: false, lists }
    }

    /// Gives the lists back.
    pub fn close(self, program: &mut Program<G>) {
        program.lists = Some(self.lists);
    }

    /// How many residuals were pushed.
    pub fn count(&self) -> usize {
        self.lists.rows.len()
    }

    /// Slot of the next residual to be pushed.
    pub fn next(&self) -> Block {
        self.next_rows(1)
    }

    /// Slots of the next residuals to be pushed.
    pub fn next_rows(&self, count: usize) -> Block {
        self.residual.part(self.lists.rows.len(), count)
    }

    /// Adds a direct entry.
    pub fn entry(&mut self, row: usize, column: usize, value: f64) {
        self.lists.entries.push((row, column, value));
    }

    /// Smooths the law of rows that were pushed.
    pub fn smooth(&mut self, rows: SmoothedRows) {
        self.lists.smoothed.push(rows);
    }

    /// Adds a residual without an unknown of its own.
    pub fn push_guard(&mut self, row: Residual<G>) {
        self.lists.rows.push(row);
    }

    /// Adds a residual and an unknown of the same number.
    pub fn push(&mut self, row: Residual<G>, column: Sides<G>) {
        self.lists.rows.push(row);
        self.lists.columns.push(column);
    }

    /// Solves: unknown := -S^-1 residual with S = R M^-1 J' and the direct entries, theory (17.12). `respond` gives the velocity of a unit
    /// wrench, `over` the velocities and the length of the move over which pose residuals are felt; with `time` the length itself is the
    /// last unknown. Returns how many unknowns stay undetermined.
    pub fn solve(
        &mut self,
        program: &mut Program<G>,
        respond: impl Fn(usize, &Wrench<G>) -> Twist<G>,
        over: Option<(&[Twist<G>], f64)>,
        time: Option<TimeColumn<G>>,
    ) -> usize {
        let SystemScratch { rows, columns, felt, answers, times, carriers, .. } = &mut self.lists;
        let n = rows.len();
        debug_assert_eq!(n, self.unknown.len());
        debug_assert_eq!(n, columns.len() + usize::from(time.is_some()));
        if n == 0 {
            return 0;
        }
        // Each residual as a covector on velocities: that of the poses is carried over the move.
        carriers.clear();
        carriers.resize(over.map_or(0, |(twists, _)| twists.len()), None);
        felt.clear();
        felt.extend(rows.iter().map(|row| {
            let mut sides = row.velocity;
            if let Some((twists, t)) = over {
                for k in 0..2 {
                    let (body, covector) = row.pose[k];
                    if covector == Wrench::zero() {
                        continue;
                    }
                    debug_assert!(sides[k].0 == body || sides[k].1 == Wrench::zero(), "both name the same bodies");
                    let columns = carriers[body].get_or_insert_with(|| carrier::<G>(&twists[body], t));
                    let mut carried = Wrench { lin: covector.lin * t, ang: G::Ang::zero() };
                    for i in 0..G::ANG {
                        carried.ang += columns[i] * covector.ang[i];
                    }
                    sides[k] = (body, sides[k].1.plus(1.0, carried));
                }
            }
            sides
        }));
        answers.clear();
        answers.extend(columns.iter().map(|column| column.map(|(body, wrench)| (body, respond(body, &wrench)))));
        times.clear();
        if let Some(time) = &time {
            times.extend(rows.iter().zip(felt.iter()).map(|(row, sides)| {
                let kicked: f64 = sides.iter().map(|(body, row)| row.power(&time.kicks[*body])).sum();
                let moved: f64 = row.pose.iter().map(|(body, row)| row.power(&time.twists[*body])).sum();
                kicked + moved + row.time
            }));
        }
        let residual = if self.lists.smoothed.is_empty() { self.residual } else { relax(program, self.residual, &mut self.lists) };
        let SystemScratch { felt, answers, entries, times, .. } = &self.lists;
        if !self.scattered
            && let Some((factor, dropped)) = program.sparse.factor(felt, answers, entries, times, Some(&respond))
        {
            program.solve_sparse(self.unknown, residual, factor);
            return dropped;
        }
        // A redundant row that still reaches others: only a search of the whole matrix tells what is determined.
        program.solve(self.unknown, residual, |matrix| fill_dense(felt, answers, entries, times, matrix))
    }

    /// Impulses of the unknowns on the bodies: out\[body\] += J' z.
    pub fn impulses(&self, program: &mut Program<G>, out: &[Option<Block>]) {
        for (j, column) in self.lists.columns.iter().enumerate() {
            for (body, wrench) in column {
                if let Some(block) = out[*body] {
                    let mut values = [0.0; 6];
                    put::<G>(wrench.lin, wrench.ang, &mut values);
                    program.column(block, self.unknown.part(j, 1), &values[..G::DOF]);
                }
            }
        }
    }
}

/// Writes R M^-1 J' and the direct entries by rows, with the column of the time last where there is one.
pub(crate) fn fill_dense<G: Geometry>(
    felt: &[Sides<G>],
    answers: &[[(usize, Twist<G>); 2]],
    entries: &[(usize, usize, f64)],
    times: &[f64],
    matrix: &mut [f64],
) {
    let n = felt.len();
    for (i, sides) in felt.iter().enumerate() {
        for (j, answer) in answers.iter().enumerate() {
            let mut sum = 0.0;
            for (row_body, row) in sides {
                for (column_body, twist) in answer {
                    if row_body == column_body {
                        sum += row.power(twist);
                    }
                }
            }
            matrix[i * n + j] = sum;
        }
        if let Some(value) = times.get(i) {
            matrix[i * n + n - 1] = *value;
        }
    }
    for &(i, j, value) in entries {
        matrix[i * n + j] += value;
    }
}
