//! Block Gauss-Seidel with momentum: every law in turn is solved exactly while the others hold still; theory (4.18), (4.36). Cheap where a rough answer will do.

use super::law::WIDEST;
use super::system::System;
use super::task::{Budget, Task};

/// Sweeps between two looks at the residual.
const LOOK: usize = 4;
/// A residual that rises above the best by this factor ends the momentum.
const RISE: f64 = 4.0;

/// The method with its scratch.
#[derive(Clone, Debug, Default)]
pub struct Sweeps {
    velocity: Vec<f64>,
    best: Vec<f64>,
    /// Impulses before a sweep, and after the one before it.
    before: Vec<f64>,
    last: Vec<f64>,
}

impl Sweeps {
    /// Sweeps at most `count` times; `impulses` take the best found. Returns their relative residual.
    pub fn solve<S: System>(&mut self, system: &mut S, task: &Task, count: usize, budget: &mut Budget, impulses: &mut [f64]) -> f64 {
        self.velocity.resize(impulses.len(), 0.0);
        let mut best = task.judge(system, impulses, &mut self.velocity);
        for list in [&mut self.best, &mut self.before, &mut self.last] {
            list.clear();
            list.extend_from_slice(impulses);
        }
        if best <= task.aim {
            return best;
        }
        let mut speed = 1.0f64;
        for sweep in 1..=count {
            if !budget.sweep() {
                break;
            }
            system.begin_sweeps(impulses);
            let mut worst = 0.0f64;
            for block in 0..task.laws.len() {
                worst = worst.max(solve_block(system, task, block, impulses));
            }
            // Where no velocity was moved by more than the aim, all laws may hold.
            if sweep % LOOK == 0 || sweep == count || worst <= task.aim * task.scale {
                let residual = task.judge(system, impulses, &mut self.velocity);
                if residual < best {
                    best = residual;
                    self.best.copy_from_slice(impulses);
                }
                if best <= task.aim || !residual.is_finite() {
                    break;
                }
                if residual > RISE * best {
                    speed = 1.0;
                }
            }
            speed = self.hurry(speed, impulses);
        }
        impulses.copy_from_slice(&self.best);
        best
    }

    /// Goes on along the way from the last sweep to this one, theory (4.36), unless this one turned back. Returns the next speed.
    fn hurry(&mut self, speed: f64, impulses: &mut [f64]) -> f64 {
        let mut turned = 0.0;
        for ((l, before), last) in impulses.iter().zip(&self.before).zip(&self.last) {
            turned += (before - l) * (l - last);
        }
        let next = if turned > 0.0 { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * speed * speed).sqrt()) };
        let part = if turned > 0.0 { 0.0 } else { (speed - 1.0) / next };
        for ((l, before), last) in impulses.iter_mut().zip(&mut self.before).zip(&mut self.last) {
            let swept = *l;
            *l += part * (swept - *last);
            (*last, *before) = (swept, *l);
        }
        next
    }
}

/// Solves one block with the others held still; returns by how much that moved its velocity.
#[inline]
fn solve_block<S: System>(system: &mut S, task: &Task, block: usize, impulses: &mut [f64]) -> f64 {
    let rows = system.layout().rows_of(block);
    if rows.len() == 3 { solve_rows(3, system, task, block, impulses) } else { solve_rows(rows.len(), system, task, block, impulses) }
}

#[inline(always)]
fn solve_rows<S: System>(d: usize, system: &mut S, task: &Task, block: usize, impulses: &mut [f64]) -> f64 {
    let rows = system.layout().rows_of(block);
    let (mut free, mut next, mut change) = ([0.0; WIDEST], [0.0; WIDEST], [0.0; WIDEST]);
    system.speeds(block, impulses, &mut free[..d]);
    let (given, l) = (&task.free[rows.clone()][..d], &mut impulses[rows][..d]);
    let own = &system.own()[system.layout().square_of(block)][..d * d];
    if (0..d).all(|i| own[i * (d + 1)] <= 0.0) {
        return 0.0;
    }
    for i in 0..d {
        free[i] += given[i];
        for j in 0..d {
            free[i] -= own[i * d + j] * l[j];
        }
        next[i] = l[i];
    }
    task.laws[block].solve_alone(own, &free[..d], &mut next[..d]);
    let mut moved = 0.0f64;
    for i in 0..d {
        change[i] = next[i] - l[i];
        moved = moved.max((own[i * (d + 1)] * change[i]).abs());
        l[i] = next[i];
    }
    if moved > 0.0 {
        system.push(block, &change[..d]);
    }
    moved
}
