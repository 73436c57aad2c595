//! The reduced contact problem of one island: joints are eliminated, what remains are contacts, limits and motors.

/// One block of rows of a [`Problem`] and the law its impulse obeys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Block {
    /// A contact point: one normal row, then `tangents` rows of friction; theory (4.3)-(4.5).
    Contact {
        /// Coefficient of dry friction, at least 0.
        friction: f64,
    },
    /// One row that can push and not pull (a limit, a rope): 0 <= l _|_ w >= 0; theory (4.3).
    Unilateral,
    /// One row with an impulse between two bounds (a motor, joint friction): theory (4.6). Infinite bounds make it an equality.
    Bounded {
        /// Least impulse \[N s or N m s\].
        lower: f64,
        /// Greatest impulse \[N s or N m s\].
        upper: f64,
    },
}

impl Block {
    /// A contact point with this coefficient of friction.
    pub fn contact(friction: f64) -> Self {
        Block::Contact { friction }
    }
    /// The coefficient of a contact point; `None` of other blocks.
    pub fn friction(&self) -> Option<f64> {
        if let Block::Contact { friction } = *self { Some(friction) } else { None }
    }
    /// Takes the friction of a contact point away; whether there was any.
    pub fn smooth(&mut self) -> bool {
        let rough = self.friction().is_some_and(|friction| friction > 0.0);
        if rough {
            *self = Block::contact(0.0);
        }
        rough
    }
    /// Number of rows of the block, where a contact has `tangents` friction rows.
    pub fn rows(&self, tangents: usize) -> usize {
        match self {
            Block::Contact { .. } => 1 + tangents,
            Block::Unilateral | Block::Bounded { .. } => 1,
        }
    }
}

/// Shape of the set of friction impulses of a contact in space; in the plane both are the same interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cone {
    /// The round cone of Coulomb, |l_t| <= mu l_n.
    Round,
    /// A pyramid inscribed in it with this many edges (at least [`Cone::FEWEST_EDGES`]), the first along the first tangent.
    Polyhedral(usize),
}

impl Cone {
    /// Fewest edges of a friction pyramid: fewer do not surround the normal symmetrically.
    pub const FEWEST_EDGES: usize = 4;
}

/// The contact problem of theory (4.2)-(4.6): find l such that w = A l + u obeys the law of every block together with l.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Friction rows per contact: 1 in the plane, 2 in space.
    pub tangents: usize,
    /// The blocks, in the order of the rows.
    pub blocks: &'a [Block],
    /// A = J M~^-1 J' (plus the diagonal of soft rows) [1/kg and the like], n x n row-major, symmetric positive semidefinite.
    pub matrix: &'a [f64],
    /// u: velocity of each row with zero impulse, minus its target [m/s or rad/s], length n.
    pub free: &'a [f64],
    /// Shape of the friction cones.
    pub cone: Cone,
}

/// Why a [`Problem`] cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemError {
    /// `tangents` is neither 1 nor 2.
    Tangents,
    /// The rows of the blocks, the length of `free` and the side of `matrix` disagree.
    Shape,
    /// A coefficient of friction is negative or not finite, a lower bound exceeds its upper bound, a bound is NaN, a pyramid has too few edges.
    Block,
    /// `free` holds a number that is not finite.
    NotFinite,
}

impl std::fmt::Display for ProblemError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ProblemError::Tangents => "a contact has one friction row in the plane and two in space",
            ProblemError::Shape => "rows of the blocks, of the free velocity and of the matrix disagree in number",
            ProblemError::Block => "a coefficient of friction, a pair of bounds or a friction pyramid is not valid",
            ProblemError::NotFinite => "the free velocity is not finite",
        })
    }
}

impl std::error::Error for ProblemError {}

impl Problem<'_> {
    /// Number of rows n.
    pub fn rows(&self) -> usize {
        self.free.len()
    }

    /// Checks shapes and numbers. The matrix is not scanned: a number in it that is not finite shows in the residual of the solve.
    pub fn check(&self) -> Result<(), ProblemError> {
        if self.tangents != 1 && self.tangents != 2 {
            return Err(ProblemError::Tangents);
        }
        if let Cone::Polyhedral(edges) = self.cone
            && edges < Cone::FEWEST_EDGES
        {
            return Err(ProblemError::Block);
        }
        let mut rows = 0;
        for block in self.blocks {
            rows += block.rows(self.tangents);
            let valid = match *block {
                Block::Contact { friction } => friction >= 0.0 && friction.is_finite(),
                Block::Unilateral => true,
                Block::Bounded { lower, upper } => lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY,
            };
            if !valid {
                return Err(ProblemError::Block);
            }
        }
        if rows != self.free.len() || rows * rows != self.matrix.len() {
            return Err(ProblemError::Shape);
        }
        if self.free.iter().all(|u| u.is_finite()) { Ok(()) } else { Err(ProblemError::NotFinite) }
    }

    /// Whether the problem lies in the plane.
    pub fn is_planar(&self) -> bool {
        self.tangents == 1
    }

    /// Whether its friction cones are polyhedral, so that it is a linear complementarity problem exactly.
    pub fn is_polyhedral(&self) -> bool {
        self.tangents == 1 || self.cone != Cone::Round
    }
}
