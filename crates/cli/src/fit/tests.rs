//! The searches on problems with known answers.

use super::lbfgs::lbfgs;
use super::levenberg::levenberg;
use super::search::{Bounds, LeastSquares, Status, dot};

/// Rosenbrock's valley as a sum of squares, whose minimum is at (1, 1).
struct Valley;

impl LeastSquares for Valley {
    fn residuals(&mut self, x: &[f64]) -> Option<Vec<f64>> {
        Some(vec![10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0]])
    }
    fn jacobian(&mut self, x: &[f64]) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
        Some((self.residuals(x)?, vec![vec![-20.0 * x[0], -1.0], vec![10.0, 0.0]]))
    }
    fn gradient(&mut self, x: &[f64]) -> Option<(f64, Vec<f64>)> {
        let (r, columns) = self.jacobian(x)?;
        Some((0.5 * dot(&r, &r), columns.iter().map(|c| dot(c, &r)).collect()))
    }
}

const FREE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

#[test]
fn both_searches_walk_the_valley() {
    let bounds = Bounds(vec![FREE; 2]);
    let found = levenberg(&mut Valley, vec![-1.2, 1.0], &bounds, 100, &mut |_| {});
    assert!(found.status.converged() && found.iterations < 40, "{found:?}");
    assert!(found.x.iter().all(|x| (x - 1.0).abs() < 1e-10), "{found:?}");
    let found = lbfgs(&mut Valley, vec![-1.2, 1.0], &bounds, 200, &mut |_| {});
    assert!(found.status.converged(), "{found:?}");
    assert!(found.x.iter().all(|x| (x - 1.0).abs() < 1e-5), "{found:?}");
}

#[test]
fn bounds_hold_and_the_best_within_them_is_found() {
    let bounds = Bounds(vec![[f64::NEG_INFINITY, 0.5], FREE]);
    for found in
        [levenberg(&mut Valley, vec![-1.2, 1.0], &bounds, 100, &mut |_| {}), lbfgs(&mut Valley, vec![-1.2, 1.0], &bounds, 300, &mut |_| {})]
    {
        assert!(found.status.converged(), "{found:?}");
        assert!(found.x[0] <= 0.5 && (found.x[0] - 0.5).abs() < 1e-6 && (found.x[1] - 0.25).abs() < 1e-5, "{found:?}");
    }
}

#[test]
fn what_cannot_be_found_is_said() {
    struct Deaf;
    impl LeastSquares for Deaf {
        fn residuals(&mut self, x: &[f64]) -> Option<Vec<f64>> {
            Some(vec![x[0] - 1.0, 2.0])
        }
        fn jacobian(&mut self, x: &[f64]) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
            Some((self.residuals(x)?, vec![vec![1.0, 0.0], vec![0.0, 0.0]]))
        }
        fn gradient(&mut self, _: &[f64]) -> Option<(f64, Vec<f64>)> {
            None
        }
    }
    let bounds = Bounds(vec![FREE; 2]);
    let found = levenberg(&mut Deaf, vec![0.0, 0.0], &bounds, 10, &mut |_| {});
    assert_eq!(found.status, Status::Blind(1));
    assert!(found.status.words(|k| format!("p{k}")).contains("do not depend on p1"));
    assert_eq!(lbfgs(&mut Deaf, vec![0.0, 0.0], &bounds, 10, &mut |_| {}).status, Status::NoStart);
    assert_eq!(levenberg(&mut Valley, vec![-1.2, 1.0], &bounds, 2, &mut |_| {}).status, Status::Iterations);
}
