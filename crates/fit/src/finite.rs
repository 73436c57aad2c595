//! Slopes over finite steps. Where runs part after impacts, or a body sticks for one step of its way, the tangent of a run says little about runs nearby;
//! what the cost does over a distance that matters does (theory 22.7).

use crate::arrow::Part;
use crate::problem::{Block, Point, Problem};
use crate::search::Loss;
use carom_geometry::Geometry;
use rayon::prelude::*;

/// A rise of the cost by this part of it can be told from its roughness.
const PLAIN_RISE: f64 = 0.04;

/// Shortens the reaches along which the cost rises by more than it need to be told from its roughness; whether there were any. `bend` is its curvature
/// along each shared coordinate.
pub fn nearer(reach: &mut [f64], least: f64, bend: &[f64], scales: &[f64], now: f64, owns: bool) -> bool {
    let shared = scales.len();
    let mut any = false;
    for k in 0..shared {
        let rise = 0.5 * bend[k] * (reach[k] * scales[k]).powi(2) / (PLAIN_RISE * now).max(f64::MIN_POSITIVE);
        if rise > 1.2 && reach[k] > least {
            reach[k] = (reach[k] * (1.0 / rise.sqrt()).clamp(0.125, 0.7)).max(least);
            any = true;
        }
    }
    if owns && reach[shared] > least {
        reach[shared] = (reach[shared] / 4.0).max(least);
        any = true;
    }
    any
}

/// The cost at a point, and the parts of the normal equations with slopes over `reach` times the size of every shared coordinate to both sides; its last
/// entry is for what motions have of their own, of size one.
pub fn parts<G: Geometry>(problem: &Problem<'_, G>, point: &Point<G>, loss: Loss, reach: &[f64]) -> Option<(f64, Vec<Part>)> {
    let each: Option<Vec<(f64, Part)>> = (0..problem.motions.len()).into_par_iter().map(|m| part(problem, m, point, loss, reach)).collect();
    let each = each?;
    Some((each.iter().map(|e| e.0).sum(), each.into_iter().map(|e| e.1).collect()))
}

fn part<G: Geometry>(problem: &Problem<'_, G>, m: usize, point: &Point<G>, loss: Loss, reach: &[f64]) -> Option<(f64, Part)> {
    let alone = Problem { motions: &problem.motions[m..=m], ..problem.clone() };
    let here = Point { shared: point.shared.clone(), own: vec![point.own[m].clone()], states: vec![point.states[m].clone()] };
    let mut block = alone.block(0, &here, false)?;
    let now = loss.of(&block);
    let (shared, rows) = (problem.shared, block.residuals.len());
    let (mut slopes, mut bend) = (Vec::new(), vec![0.0; shared]);
    for k in 0..shared + alone.locals(0) {
        let size = if k < shared { reach[k] * problem.coordinates.scale(k, point.shared[k]) } else { reach[shared] };
        let side = |sign: f64| -> Option<(f64, Block)> {
            let (mut change, mut own) = (vec![0.0; shared], vec![0.0; alone.locals(0)]);
            if k < shared {
                change[k] = sign * size;
            } else {
                own[k - shared] = sign * size;
            }
            let there = alone.moved(&here, &change, &[own], problem.bounds)?;
            let moved = if k < shared {
                there.shared[k] - here.shared[k]
            } else if k - shared < here.own[0].len() {
                there.own[0][k - shared] - here.own[0][k - shared]
            } else {
                sign * size
            };
            let block = alone.block(0, &there, false).filter(|b| b.residuals.len() == rows)?;
            (moved != 0.0).then_some((moved, block))
        };
        // At a bound, or where a run fails, one side has to do.
        let none = (0.0, block.clone());
        let ((a, low), (b, high)) = match (side(-1.0), side(1.0)) {
            (Some(low), Some(high)) => (low, high),
            (Some(low), None) => (low, none),
            (None, Some(high)) => (none, high),
            (None, None) => {
                block.columns.push(vec![0.0; rows]);
                slopes.push(0.0);
                continue;
            }
        };
        let (below, above) = (loss.of(&low), loss.of(&high));
        slopes.push((above - below) / (b - a));
        if k < shared && a < 0.0 && b > 0.0 {
            bend[k] = 2.0 * (below / (a * (a - b)) + now / (a * b) + above / (b * (b - a)));
        }
        block.columns.push(high.residuals.iter().zip(&low.residuals).map(|(h, l)| (h - l) / (b - a)).collect());
    }
    let part = Part::new(&block, &loss.weights(&block), shared);
    Some((now, part.seen(&slopes, bend)))
}
