//! Block Gauss-Seidel: every law in turn is solved exactly while the others hold still; theory (4.18). Cheap where a rough answer will do, and hard to upset.

use super::law::WIDEST;
use super::system::System;
use super::task::{Budget, Task};

/// Sweeps between two looks at the residual.
const LOOK: usize = 4;

/// The method with its scratch.
#[derive(Clone, Debug, Default)]
pub struct Sweeps {
    velocity: Vec<f64>,
    best: Vec<f64>,
}

impl Sweeps {
    /// Sweeps at most `count` times, to and fro; `impulses` take the best found. Returns their relative residual.
    pub fn solve<S: System>(&mut self, system: &mut S, task: &Task, count: usize, budget: &mut Budget, impulses: &mut [f64]) -> f64 {
        self.velocity.resize(impulses.len(), 0.0);
        self.best.resize(impulses.len(), 0.0);
        let mut best = task.judge(system, impulses, &mut self.velocity);
        self.best.copy_from_slice(impulses);
        if best <= task.aim {
            return best;
        }
        system.begin_sweeps(impulses);
        for sweep in 1..=count {
            if !budget.sweep() {
                break;
            }
            let blocks = task.laws.len();
            let mut worst = 0.0f64;
            for k in 0..blocks {
                let block = if sweep % 2 == 1 { k } else { blocks - 1 - k };
                worst = worst.max(solve_block(system, task, block, impulses));
            }
            // Every law was judged before it was solved: when all held then, all hold.
            if sweep % LOOK == 0 || sweep == count || worst <= task.aim * task.scale {
                let residual = task.judge(system, impulses, &mut self.velocity);
                if residual < best {
                    best = residual;
                    self.best.copy_from_slice(impulses);
                }
                if best <= task.aim || !residual.is_finite() {
                    break;
                }
            }
        }
        impulses.copy_from_slice(&self.best);
        best
    }
}

/// Solves one block with the others held still; returns by how much it missed its law before.
#[inline]
fn solve_block<S: System>(system: &mut S, task: &Task, block: usize, impulses: &mut [f64]) -> f64 {
    let rows = system.layout().rows_of(block);
    let d = rows.len();
    let (mut free, mut diagonal, mut next, mut change) = ([0.0; WIDEST], [0.0; WIDEST], [0.0; WIDEST], [0.0; WIDEST]);
    system.speeds(block, impulses, &mut free[..d]);
    let law = &task.laws[block];
    let own = &system.own()[system.layout().square_of(block)];
    for i in 0..d {
        free[i] += task.free[rows.start + i];
        diagonal[i] = own[i * (d + 1)];
    }
    let miss = law.miss(&diagonal[..d], &impulses[rows.clone()], &free[..d]);
    if diagonal[..d].iter().all(|a| *a <= 0.0) {
        return miss;
    }
    for i in 0..d {
        for j in 0..d {
            free[i] -= own[i * d + j] * impulses[rows.start + j];
        }
        next[i] = impulses[rows.start + i];
    }
    law.solve_alone(own, &free[..d], &mut next[..d]);
    let mut moved = false;
    for i in 0..d {
        change[i] = next[i] - impulses[rows.start + i];
        moved |= change[i] != 0.0;
        impulses[rows.start + i] = next[i];
    }
    if moved {
        system.push(block, &change[..d]);
    }
    miss
}
