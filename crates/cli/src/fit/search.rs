//! What the two searches share: the problem, the bounds, how a search ended.

/// A sum of squares to be made small, cost = |r|^2 / 2; `None` where there is no such run.
pub trait LeastSquares {
    /// Residuals r.
    fn residuals(&mut self, x: &[f64]) -> Option<Vec<f64>>;
    /// Residuals and, per variable, the column of their Jacobian.
    fn jacobian(&mut self, x: &[f64]) -> Option<(Vec<f64>, Vec<Vec<f64>>)>;
    /// Cost and its gradient.
    fn gradient(&mut self, x: &[f64]) -> Option<(f64, Vec<f64>)>;
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The residuals stand square to every column: a minimum.
    Gradient,
    /// The last step changed no digit that counts.
    Step,
    /// The last step lowered the cost by no part that counts.
    Cost,
    /// It took all its iterations.
    Iterations,
    /// No step lowers the cost, yet the slope is not zero.
    Stuck,
    /// The residuals do not depend on this variable.
    Blind(usize),
    /// There is no run at the start.
    NoStart,
    /// The user stopped it.
    Stopped,
}

impl Status {
    /// Whether a minimum was found.
    pub fn converged(self) -> bool {
        matches!(self, Status::Gradient | Status::Step | Status::Cost)
    }
    /// In words.
    pub fn words(self, label: impl Fn(usize) -> String) -> String {
        match self {
            Status::Gradient => "converged: the misfit stands square to every parameter".to_string(),
            Status::Step => "converged: the last step changed no digit that counts".to_string(),
            Status::Cost => "converged: the misfit falls no further".to_string(),
            Status::Iterations => "not converged: all iterations taken".to_string(),
            Status::Stuck => "not converged: no step lowers the misfit; the run may change abruptly here".to_string(),
            Status::Blind(k) => format!("not converged: the data do not depend on {}", label(k)),
            Status::NoStart => "not converged: the scene does not run with the starting values".to_string(),
            Status::Stopped => "not converged: stopped".to_string(),
        }
    }
}

/// Where a search stands.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// Iterations done.
    pub iteration: usize,
    /// |r|^2 / 2.
    pub cost: f64,
    /// The variables.
    pub x: &'a [f64],
}

/// The end of a search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The variables.
    pub x: Vec<f64>,
    /// |r|^2 / 2.
    pub cost: f64,
    /// Iterations done.
    pub iterations: usize,
    /// How it ended.
    pub status: Status,
}

/// Limits of each variable.
#[derive(Clone, Debug)]
pub struct Bounds(pub Vec<[f64; 2]>);

impl Bounds {
    /// The nearest allowed point.
    pub fn clamp(&self, x: &mut [f64]) {
        x.iter_mut().zip(&self.0).for_each(|(x, [low, high])| *x = x.max(*low).min(*high));
    }
    /// Whether a variable sits at a bound and a slope would push it beyond.
    pub fn holds(&self, k: usize, x: f64, slope: f64) -> bool {
        let [low, high] = self.0[k];
        (x <= low && slope > 0.0) || (x >= high && slope < 0.0)
    }
}

/// Scalar product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// A step this small, as a part of the variable, changes no digit that counts.
pub const STEP: f64 = 1e-12;
/// A decrease this small, as a part of the cost, is none.
pub const COST: f64 = 1e-14;
/// Cosine between the residuals and a column below which they stand square.
pub const SQUARE: f64 = 1e-10;
