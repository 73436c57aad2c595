//! The linear side of a contact problem: how velocities answer impulses, w = W l + u, whatever W is made of.

/// Rows and squares of the blocks of a problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// First row of each block, and the number of rows.
    first: Vec<usize>,
    /// Where the square of each block begins in a list of squares, and their length.
    square: Vec<usize>,
}

impl Layout {
    /// Begins anew.
    pub fn clear(&mut self) {
        self.first.clear();
        self.square.clear();
        self.first.push(0);
        self.square.push(0);
    }

    /// Adds a block.
    pub fn push(&mut self, rows: usize) {
        if self.first.is_empty() {
            self.clear();
        }
        self.first.push(self.rows() + rows);
        self.square.push(self.squares() + rows * rows);
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.first.last().copied().unwrap_or(0)
    }

    /// Entries of all squares.
    pub fn squares(&self) -> usize {
        self.square.last().copied().unwrap_or(0)
    }

    /// The rows of a block.
    #[inline]
    pub fn rows_of(&self, block: usize) -> std::ops::Range<usize> {
        self.first[block]..self.first[block + 1]
    }

    /// The entries of its square.
    #[inline]
    pub fn square_of(&self, block: usize) -> std::ops::Range<usize> {
        self.square[block]..self.square[block + 1]
    }
}

/// A symmetric positive semidefinite W over the rows of a problem, theory (4.31).
pub trait System {
    /// The rows of the blocks.
    fn layout(&self) -> &Layout;

    /// W x.
    fn apply(&mut self, x: &[f64], out: &mut [f64]);

    /// x' W x.
    fn energy(&mut self, x: &[f64]) -> f64;

    /// The square W_ii of every block, by rows.
    fn own(&self) -> &[f64];

    /// Factors I + D W, with D the squares `slopes` of the blocks; false where it cannot be done. `symmetric` promises that every square is.
    /// Nothing is done where the last factor serves.
    fn factor(&mut self, slopes: &[f64], symmetric: bool) -> bool;

    /// Whether a factor is at hand, whatever the slopes it was made with, be it of these rows or of earlier ones near them: [`System::solve`] with it is a
    /// step in the right direction.
    fn is_factored(&self) -> bool;

    /// Solves (I + D W) x = b in place; W x goes into `response`.
    fn solve(&mut self, x: &mut [f64], response: &mut [f64]);

    /// Solves (I + D W)' x = b in place.
    fn solve_transpose(&mut self, x: &mut [f64]);

    /// Products of one factorisation.
    fn operations(&mut self) -> f64;

    /// Factorisations made since the system was built.
    fn factors(&self) -> usize;

    /// Begins sweeps from impulses.
    fn begin_sweeps(&mut self, impulses: &[f64]);

    /// The rows of W l of one block, for the impulses swept so far.
    fn speeds(&self, block: usize, impulses: &[f64], out: &mut [f64]);

    /// Takes a change of one block's impulses into account.
    fn push(&mut self, block: usize, change: &[f64]);
}
