//! A contact problem from plain arrays: checked, solved, and differentiated; theory (4.3)-(4.5), (16.26)-(16.30).

#[cfg(test)]
mod tests;

use carom_solve::contact::derivative::{Derivative, Fit, SHIFTS, matrix_bar};
use carom_solve::contact::given::Given;
use carom_solve::contact::law::{Law, LawChange, Round};
use carom_solve::contact::solver::{Answer, Solver};
use carom_solve::contact::task::Task;
use carom_solve::interrupt::Interrupt;
use carom_solve::status::{Outcome, Status};
use std::fmt;

/// Difference of two opposite entries of the matrix, over its largest entry, up to which it counts as symmetric.
pub const SYMMETRY: f64 = 1e-9;
/// Tolerances above this are sought by sweeps first, which need no factorisation.
const ROUGH: f64 = 1e-8;
/// Residual of the linear system of a derivative above which there is none.
const LINEAR: f64 = 1e-6;

/// A symmetric positive semidefinite matrix, n x n.
#[derive(Clone, Copy, Debug)]
pub enum Matrix<'a> {
    /// All entries by rows.
    Dense(&'a [f64]),
    /// Compressed rows: where each row starts (and the last ends), the columns of its entries in any order, their values.
    Compressed {
        /// n + 1 numbers.
        starts: &'a [usize],
        /// The column of every entry.
        columns: &'a [usize],
        /// Its value.
        values: &'a [f64],
    },
}

/// An argument that is no part of a contact problem.
#[derive(Clone, Debug, PartialEq)]
pub enum ContactError {
    /// The rows are neither two nor three for each contact.
    Rows {
        /// Rows found.
        rows: usize,
        /// Contacts found.
        contacts: usize,
    },
    /// An argument has a length that does not fit the others.
    Length {
        /// Name of the argument.
        argument: &'static str,
        /// Length found.
        found: usize,
        /// Length that fits.
        wanted: usize,
    },
    /// Compressed rows that point outside the matrix.
    Pattern {
        /// Where.
        row: usize,
    },
    /// A number that is not finite.
    NotFinite {
        /// Name of the argument.
        argument: &'static str,
        /// Where it stands.
        at: usize,
    },
    /// An entry of the matrix that is not finite.
    EntryNotFinite {
        /// Row.
        row: usize,
        /// Column.
        column: usize,
    },
    /// Two opposite entries differ.
    Asymmetric {
        /// Row.
        row: usize,
        /// Column.
        column: usize,
        /// The entry.
        value: f64,
        /// The opposite one.
        opposite: f64,
    },
    /// A diagonal entry below 0.
    Diagonal {
        /// Row.
        row: usize,
        /// The entry.
        value: f64,
    },
    /// A coefficient of friction below 0.
    Friction {
        /// Contact.
        contact: usize,
        /// The coefficient.
        value: f64,
    },
    /// A tolerance that is not between 0 and 1.
    Tolerance(f64),
    /// The solve failed, so there is nothing to differentiate.
    Unsolved {
        /// Relative residual of what it found.
        residual: f64,
    },
    /// The linear system of the derivative was not solved.
    Singular {
        /// Its relative residual.
        residual: f64,
    },
}

impl fmt::Display for ContactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContactError::Rows { rows, contacts } => write!(
                f,
                "free: has {rows} rows for the {contacts} contacts of friction, needs {} (two a contact, in the plane) or {} (three, in space)",
                2 * contacts,
                3 * contacts
            ),
            ContactError::Length { argument, found, wanted } => write!(f, "{argument}: has {found} numbers, needs {wanted}"),
            ContactError::Pattern { row } => write!(f, "matrix: row {row} of the compressed rows points outside the matrix"),
            ContactError::NotFinite { argument, at } => write!(f, "{argument}: number {at} is not finite"),
            ContactError::EntryNotFinite { row, column } => write!(f, "matrix: entry ({row}, {column}) is not finite"),
            ContactError::Asymmetric { row, column, value, opposite } => {
                write!(
                    f,
                    "matrix: entry ({row}, {column}) is {value:e} and entry ({column}, {row}) {opposite:e}, needs to be symmetric to {SYMMETRY:e}"
                )
            }
            ContactError::Diagonal { row, value } => write!(f, "matrix: diagonal entry ({row}, {row}) is {value:e}, needs to be 0 or more"),
            ContactError::Friction { contact, value } => write!(f, "friction: that of contact {contact} is {value}, needs to be 0 or more"),
            ContactError::Tolerance(value) => write!(f, "tolerance: found {value}, needs a number between 0 and 1"),
            ContactError::Unsolved { residual } => {
                write!(f, "impulses: the solve failed with a relative residual of {residual:.1e}, so they have no derivative")
            }
            ContactError::Singular { residual } => {
                write!(f, "impulses_bar: the linear system of the derivative was solved to {residual:.1e} only")
            }
        }
    }
}

impl std::error::Error for ContactError {}

/// Cotangents of the arguments of a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactBar {
    /// Of the entries of the matrix that are stored, in their order; as symmetric as they are.
    pub matrix: Vec<f64>,
    /// Of the free velocities.
    pub free: Vec<f64>,
    /// Of the coefficients of friction.
    pub friction: Vec<f64>,
    /// How the linear solve went.
    pub fit: Fit,
}

/// Which entries of the matrix were given.
#[derive(Clone, Debug)]
enum Pattern {
    Dense,
    Compressed { starts: Vec<usize>, columns: Vec<usize> },
}

/// A solved problem, with what its derivative needs.
#[derive(Clone, Debug)]
pub struct ContactKernel {
    system: Given,
    pattern: Pattern,
    laws: Vec<Law>,
    free: Vec<f64>,
    scale: f64,
    tolerance: f64,
    impulses: Vec<f64>,
    velocity: Vec<f64>,
    answer: Answer,
}

impl ContactKernel {
    /// Solves w = W l + u with Coulomb's law at every contact (the normal row first, then one tangent or two), to a residual of `tolerance` over the
    /// largest |u|; from `warm` impulses where they are given.
    pub fn solve(
        matrix: Matrix,
        free: Vec<f64>,
        friction: &[f64],
        tolerance: f64,
        warm: Option<&[f64]>,
        stop: &Interrupt,
    ) -> Result<Self, ContactError> {
        let (n, contacts) = (free.len(), friction.len());
        if n != 2 * contacts && n != 3 * contacts {
            return Err(ContactError::Rows { rows: n, contacts });
        }
        let tangents = n.checked_div(contacts).unwrap_or(2) - 1;
        if !(tolerance > 0.0 && tolerance < 1.0) {
            return Err(ContactError::Tolerance(tolerance));
        }
        finite("free", &free)?;
        finite("friction", friction)?;
        if let Some(contact) = friction.iter().position(|mu| *mu < 0.0) {
            return Err(ContactError::Friction { contact, value: friction[contact] });
        }
        if let Some(warm) = warm {
            length("warm", warm.len(), n)?;
            finite("warm", warm)?;
        }
        let mut system = Given::default();
        let rows = std::iter::repeat_n(1 + tangents, contacts);
        let pattern = match matrix {
            Matrix::Dense(values) => {
                check_dense(values, n)?;
                system.read_dense(rows, values);
                Pattern::Dense
            }
            Matrix::Compressed { starts, columns, values } => {
                check_compressed(starts, columns, values, n)?;
                system.read_compressed(rows, starts, columns, values);
                Pattern::Compressed { starts: starts.to_vec(), columns: columns.to_vec() }
            }
        };
        let largest = free.iter().fold(0.0f64, |most, u| most.max(u.abs()));
        let mut solved = ContactKernel {
            system,
            pattern,
            laws: friction.iter().map(|&friction| Law::Round(Round { friction, tangents })).collect(),
            free,
            scale: if largest > 0.0 { largest } else { 1.0 },
            tolerance,
            impulses: vec![0.0; n],
            velocity: vec![0.0; n],
            answer: Answer { residual: 0.0, method: carom_solve::status::Method::Trivial, factors: 0, sweeps: 0 },
        };
        // Whoever asks for a tolerance gets it: no method that stops short of it ends the search.
        let task = Task { scale: solved.scale, enough: tolerance, ..Task::new(&solved.laws, &solved.free, tolerance) };
        solved.answer = Solver::default().solve(&mut solved.system, &task, warm, tolerance > ROUGH, stop, &mut solved.impulses);
        solved.answer.residual = task.judge(&mut solved.system, &solved.impulses, &mut solved.velocity);
        Ok(solved)
    }

    /// The impulses found.
    pub fn impulses(&self) -> &[f64] {
        &self.impulses
    }

    /// The velocities they leave.
    pub fn velocity(&self) -> &[f64] {
        &self.velocity
    }

    /// Relative residual, method and work.
    pub fn answer(&self) -> Answer {
        self.answer
    }

    /// The same, judged by the tolerance.
    pub fn outcome(&self) -> Outcome {
        self.answer.outcome(self.tolerance)
    }

    /// Cotangents of the arguments from that of the impulses, theory (16.30).
    pub fn backward(&mut self, impulses_bar: &[f64]) -> Result<ContactBar, ContactError> {
        let n = self.free.len();
        length("impulses_bar", impulses_bar.len(), n)?;
        finite("impulses_bar", impulses_bar)?;
        if self.outcome().status == Status::Failed {
            return Err(ContactError::Unsolved { residual: self.answer.residual });
        }
        let task = Task { scale: self.scale, ..Task::new(&self.laws, &self.free, self.tolerance) };
        let mut derivative = Derivative::default();
        let mut free = vec![0.0; n];
        let mut laws = vec![LawChange::default(); self.laws.len()];
        let mut residual = f64::INFINITY;
        let mut fit = Fit::default();
        for shift in SHIFTS {
            if derivative.prepare(&mut self.system, &task, &self.impulses, shift) {
                fit = derivative.transpose(&mut self.system, impulses_bar, &mut free, &mut laws);
                residual = fit.residual;
            }
            if residual <= LINEAR {
                break;
            }
        }
        if residual.is_nan() || residual > LINEAR {
            return Err(ContactError::Singular { residual });
        }
        let at = |row: usize, column: usize| matrix_bar(&free, &self.impulses, row, column);
        let matrix: Vec<f64> = match &self.pattern {
            Pattern::Dense => (0..n * n).map(|k| at(k / n, k % n)).collect(),
            Pattern::Compressed { starts, columns } => {
                let entries = (0..n).flat_map(|row| columns[starts[row]..starts[row + 1]].iter().map(move |&column| (row, column)));
                entries.map(|(row, column)| at(row, column)).collect()
            }
        };
        let friction: Vec<f64> = laws.iter().map(|bar| bar.friction).collect();
        // Numbers near the largest there are may overflow; that is reported, not handed out.
        if [&matrix, &free, &friction].iter().any(|list| list.iter().any(|x| !x.is_finite())) {
            return Err(ContactError::Singular { residual: f64::INFINITY });
        }
        Ok(ContactBar { matrix, free, friction, fit })
    }
}

fn length(argument: &'static str, found: usize, wanted: usize) -> Result<(), ContactError> {
    if found == wanted { Ok(()) } else { Err(ContactError::Length { argument, found, wanted }) }
}

fn finite(argument: &'static str, values: &[f64]) -> Result<(), ContactError> {
    values.iter().position(|x| !x.is_finite()).map_or(Ok(()), |at| Err(ContactError::NotFinite { argument, at }))
}

/// Two opposite entries, and a diagonal one.
fn check_pair(row: usize, column: usize, value: f64, opposite: f64, largest: f64) -> Result<(), ContactError> {
    if row == column && value < 0.0 {
        return Err(ContactError::Diagonal { row, value });
    }
    if (value - opposite).abs() > SYMMETRY * largest {
        return Err(ContactError::Asymmetric { row, column, value, opposite });
    }
    Ok(())
}

fn check_dense(values: &[f64], n: usize) -> Result<(), ContactError> {
    length("matrix", values.len(), n * n)?;
    if let Some(at) = values.iter().position(|x| !x.is_finite()) {
        return Err(ContactError::EntryNotFinite { row: at / n, column: at % n });
    }
    let largest = values.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    for row in 0..n {
        for column in row..n {
            check_pair(row, column, values[row * n + column], values[column * n + row], largest)?;
        }
    }
    Ok(())
}

fn check_compressed(starts: &[usize], columns: &[usize], values: &[f64], n: usize) -> Result<(), ContactError> {
    length("matrix.indptr", starts.len(), n + 1)?;
    length("matrix.indices", columns.len(), values.len())?;
    if let Some(row) = (0..n).find(|&row| starts[row] > starts[row + 1]) {
        return Err(ContactError::Pattern { row });
    }
    if starts[0] != 0 || starts[n] != values.len() {
        return Err(ContactError::Pattern { row: if starts[0] != 0 { 0 } else { n.saturating_sub(1) } });
    }
    let mut largest = 0.0f64;
    let mut heights = vec![0usize; n + 1];
    for row in 0..n {
        for k in starts[row]..starts[row + 1] {
            if columns[k] >= n {
                return Err(ContactError::Pattern { row });
            }
            if !values[k].is_finite() {
                return Err(ContactError::EntryNotFinite { row, column: columns[k] });
            }
            largest = largest.max(values[k].abs());
            heights[columns[k] + 1] += 1;
        }
    }
    // The entries by columns, so that each row can be laid beside its own column; entries stored twice add up.
    for column in 0..n {
        heights[column + 1] += heights[column];
    }
    let mut next = heights.clone();
    let mut by_column = vec![(0usize, 0.0); values.len()];
    for row in 0..n {
        for k in starts[row]..starts[row + 1] {
            by_column[next[columns[k]]] = (row, values[k]);
            next[columns[k]] += 1;
        }
    }
    let mut sums = vec![[0.0f64; 2]; n];
    for row in 0..n {
        let along = || columns[starts[row]..starts[row + 1]].iter().zip(&values[starts[row]..starts[row + 1]]);
        let down = &by_column[heights[row]..heights[row + 1]];
        along().for_each(|(&column, value)| sums[column][0] += value);
        down.iter().for_each(|&(other, value)| sums[other][1] += value);
        for other in along().map(|(&column, _)| column).chain(down.iter().map(|&(other, _)| other)) {
            check_pair(row, other, sums[other][0], sums[other][1], largest)?;
        }
        along().for_each(|(&column, _)| sums[column] = [0.0; 2]);
        down.iter().for_each(|&(other, _)| sums[other] = [0.0; 2]);
    }
    Ok(())
}
