//! The normal equations of many motions: what all share, and what each has of its own, which is eliminated motion by motion.

use crate::problem::Block;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// J'J and J'r of one motion, in parts.
#[derive(Clone, Debug)]
pub struct Part {
    /// Shared by shared.
    pub shared: DMatrix<f64>,
    /// Own by shared.
    mixed: DMatrix<f64>,
    /// Own by own.
    own: DMatrix<f64>,
    /// J'r, shared.
    pub slope: DVector<f64>,
    /// J'r, own.
    own_slope: DVector<f64>,
    /// How the cost bends along each shared coordinate, where that was seen over finite steps; otherwise empty.
    pub bend: Vec<f64>,
}

impl Part {
    /// Of a block, its rows weighted.
    pub fn new(block: &Block, weights: &[f64], shared: usize) -> Self {
        let rows = block.residuals.len();
        let root: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let matrix = |columns: &[Vec<f64>]| DMatrix::from_fn(rows, columns.len(), |i, j| root[i] * columns[j][i]);
        let (s, l) = (matrix(&block.columns[..shared]), matrix(&block.columns[shared..]));
        let r = DVector::from_fn(rows, |i, _| root[i] * block.residuals[i]);
        Part {
            shared: s.tr_mul(&s),
            mixed: l.tr_mul(&s),
            own: l.tr_mul(&l),
            slope: s.tr_mul(&r),
            own_slope: l.tr_mul(&r),
            bend: Vec::new(),
        }
    }

    /// The same with the slopes of the cost itself, and how it bends along the shared coordinates, as seen over finite steps.
    pub fn seen(mut self, slopes: &[f64], bend: Vec<f64>) -> Self {
        let (shared, own) = slopes.split_at(self.slope.len());
        self.slope.as_mut_slice().copy_from_slice(shared);
        self.own_slope.as_mut_slice().copy_from_slice(own);
        self.bend = bend;
        self
    }

    /// Whether the motion has coordinates of its own.
    pub fn owns(&self) -> bool {
        self.own.nrows() > 0
    }

    /// The same, counted so many times.
    pub fn scaled(mut self, by: f64) -> Self {
        self.shared *= by;
        self.mixed *= by;
        self.own *= by;
        self.slope *= by;
        self.own_slope *= by;
        self.bend.iter_mut().for_each(|x| *x *= by);
        self
    }

    /// What is left of it for the shared coordinates once its own follow them: the matrix, the slope, and how its own follow.
    pub fn eliminated(&self, damping: f64) -> Option<Reduced> {
        if self.own.nrows() == 0 {
            return Some(Reduced { matrix: self.shared.clone(), slope: self.slope.clone(), follow: None });
        }
        let mut own = self.own.clone();
        // A coordinate that moves nothing stays where it is.
        let largest = own.diagonal().amax().max(f64::MIN_POSITIVE);
        for k in 0..own.nrows() {
            own[(k, k)] += damping * own[(k, k)] + FLOOR * largest;
        }
        let factor = Cholesky::new(own)?;
        let (follow, rest) = (factor.solve(&self.mixed), factor.solve(&self.own_slope));
        Some(Reduced {
            matrix: &self.shared - self.mixed.tr_mul(&follow),
            slope: &self.slope - self.mixed.tr_mul(&rest),
            follow: Some((factor, follow, rest)),
        })
    }
}

/// Least diagonal of the matrix of a motion's own coordinates, as a part of its largest.
const FLOOR: f64 = 1e-14;

/// The factor of the own coordinates, how they follow the shared ones, and what is left of their own descent.
type Follow = (Cholesky<f64, Dyn>, DMatrix<f64>, DVector<f64>);

/// A motion seen from the shared coordinates.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// Its part of the matrix.
    pub matrix: DMatrix<f64>,
    /// Its part of the slope.
    pub slope: DVector<f64>,
    follow: Option<Follow>,
}

impl Reduced {
    /// What its own coordinates do when the shared ones change; with their own descent besides.
    pub fn own(&self, shared: &DVector<f64>, descend: bool) -> Vec<f64> {
        let Some((_, follow, rest)) = &self.follow else { return Vec::new() };
        let mut out = -(follow * shared);
        if descend {
            out -= rest;
        }
        out.as_slice().to_vec()
    }
}
