//! The linear system behind one solve: a residual per row that holds, an unknown per impulse, theory (17.11)-(17.13).

use super::motion::carried;
use super::program::{Block, Program};
use super::slots::put;
use carom_geometry::Geometry;
use carom_math::{Twist, Wrench};

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
}

/// Residuals and unknowns of one solve while it is being put together.
#[derive(Debug)]
pub(crate) struct System<G: Geometry> {
    /// Residual slots.
    pub residual: Block,
    /// Unknown slots.
    pub unknown: Block,
    /// Residuals in order.
    pub rows: Vec<Residual<G>>,
    /// Wrench of a unit of each unknown.
    pub columns: Vec<Sides<G>>,
    /// Direct entries: (residual, unknown, value).
    pub entries: Vec<(usize, usize, f64)>,
}

impl<G: Geometry> System<G> {
    /// A system of a size.
    pub fn new(program: &mut Program, size: usize) -> Self {
        System {
            residual: program.fresh(size),
            unknown: program.fresh(size),
            rows: Vec::with_capacity(size),
            columns: Vec::with_capacity(size),
            entries: Vec::new(),
        }
    }

    /// Slot of the next residual to be pushed.
    pub fn next(&self) -> Block {
        self.residual.part(self.rows.len(), 1)
    }

    /// Adds a residual and an unknown of the same number.
    pub fn push(&mut self, row: Residual<G>, column: Sides<G>) {
        self.rows.push(row);
        self.columns.push(column);
    }

    /// Solves: unknown := -S^-1 residual with S = R M^-1 J' and the direct entries. `respond` gives the velocity of a unit wrench,
    /// `twists` the velocities of the move of length t over which pose residuals are felt. Returns undetermined unknowns.
    pub fn solve(
        &self,
        program: &mut Program,
        respond: impl Fn(usize, &Wrench<G>) -> Twist<G>,
        over: Option<(&[Twist<G>], f64)>,
        bodies: usize,
        time: Option<&dyn Fn(&Residual<G>) -> f64>,
    ) -> usize {
        let n = self.rows.len() + usize::from(time.is_some());
        let _ = bodies;
        debug_assert_eq!(n, self.unknown.len());
        // The effect of each residual on velocities, with poses carried over the move.
        let felt: Vec<Sides<G>> = self
            .rows
            .iter()
            .map(|row| {
                let mut sides = row.velocity;
                if let Some((twists, t)) = over {
                    for k in 0..2 {
                        let (body, covector) = row.pose[k];
                        let more = carried::<G>(covector, &twists[body], t);
                        if sides[k].0 == body {
                            sides[k].1 = sides[k].1.plus(1.0, more);
                        } else {
                            debug_assert!(row.velocity[k].1.lin == Wrench::<G>::zero().lin, "sides name the same bodies");
                            sides[k] = (body, more);
                        }
                    }
                }
                sides
            })
            .collect();
        let answers: Vec<[(usize, Twist<G>); 2]> =
            self.columns.iter().map(|column| column.map(|(body, wrench)| (body, respond(body, &wrench)))).collect();
        program.solve(self.unknown, self.residual, |matrix| {
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
                if let Some(by_time) = time {
                    matrix[i * n + n - 1] = by_time(&self.rows[i]);
                }
            }
            for &(i, j, value) in &self.entries {
                matrix[i * n + j] += value;
            }
        })
    }

    /// Impulses of the unknowns on the bodies: out[body] += J' z.
    pub fn impulses(&self, program: &mut Program, out: &[Option<Block>]) {
        for (j, column) in self.columns.iter().enumerate() {
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
