//! Collisions one contact after another, theory (16.15).

use super::{ImpactChange, ImpactInput, Switches};
use crate::collision::{CollisionChange, CollisionDerivative, differentiate};
use carom_math::dense::{add_scaled, dot};

/// One collision of the chain.
#[derive(Clone, Debug)]
struct Link {
    contact: usize,
    collision: CollisionDerivative,
    /// 1 where the collision used the restitution of its contact, 0 where that had been dropped.
    follows: f64,
}

/// Everything the derivative of a chain of collisions needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    contacts: usize,
    tangents: usize,
    links: Vec<Link>,
    speeds: Vec<f64>,
}

impl Chain {
    /// Rows of a contact in the order of the collision: tangents, then the normal.
    fn rows(&self, contact: usize) -> [usize; 3] {
        let mut rows = [contact; 3];
        (0..self.tangents).for_each(|k| rows[k] = self.contacts + contact * self.tangents + k);
        rows
    }

    /// Repeats the collisions, each with its derivative; false when one of them is refused.
    pub fn prepare(&mut self, input: &ImpactInput, sequence: &[(usize, f64)], tolerance: f64, switches: &mut Switches) -> bool {
        let n = input.rows();
        (self.contacts, self.tangents) = (input.contacts, input.tangents());
        self.links.clear();
        self.speeds.clear();
        self.speeds.extend_from_slice(input.approach);
        let dimension = 1 + self.tangents;
        if dimension < 2 {
            return false; // the law needs a tangent
        }
        for &(contact, restitution) in sequence {
            if contact >= input.contacts {
                return false;
            }
            let rows = self.rows(contact);
            let mut matrix = [[0.0; 3]; 3];
            let mut u = [0.0; 3];
            for i in 0..dimension {
                u[i] = self.speeds[rows[i]];
                for j in 0..dimension {
                    matrix[i][j] = input.matrix[rows[i] * n + rows[j]];
                }
            }
            let Ok(collision) = differentiate(dimension, &matrix, input.friction_of(contact), restitution, u, tolerance) else {
                return false;
            };
            switches.collision += usize::from(collision.switches.any());
            for i in 0..dimension {
                add_scaled(&mut self.speeds, collision.impulse[i], &input.matrix[rows[i] * n..(rows[i] + 1) * n]);
            }
            let follows = if restitution == input.restitution[contact] { 1.0 } else { 0.0 };
            self.links.push(Link { contact, collision, follows });
        }
        true
    }

    /// Change of the impulses.
    pub fn tangent(&mut self, matrix: &[f64], change: &ImpactChange, impulses_dot: &mut [f64]) {
        let (n, dimension) = (impulses_dot.len(), 1 + self.tangents);
        self.speeds.clear();
        self.speeds.extend_from_slice(&change.approach);
        for index in 0..self.links.len() {
            let Link { contact, ref collision, follows } = self.links[index];
            let rows = self.rows(contact);
            let mut local = CollisionChange {
                friction: change.friction[contact],
                restitution: follows * change.restitution[contact],
                ..CollisionChange::default()
            };
            for i in 0..dimension {
                local.velocity[i] = self.speeds[rows[i]];
                for j in 0..dimension {
                    local.matrix[i][j] = change.matrix[rows[i] * n + rows[j]];
                }
            }
            let (p, dp) = (collision.impulse, collision.tangent(&local));
            for i in 0..dimension {
                let row = rows[i] * n..(rows[i] + 1) * n;
                impulses_dot[rows[i]] += dp[i];
                add_scaled(&mut self.speeds, p[i], &change.matrix[row.clone()]);
                add_scaled(&mut self.speeds, dp[i], &matrix[row]);
            }
        }
    }

    /// Cotangents of the impact; the matrix is not symmetrised.
    pub fn adjoint(&mut self, matrix: &[f64], impulses_bar: &[f64], bar: &mut ImpactChange) {
        let (n, dimension) = (impulses_bar.len(), 1 + self.tangents);
        self.speeds.clear();
        self.speeds.resize(n, 0.0);
        for index in (0..self.links.len()).rev() {
            let Link { contact, ref collision, follows } = self.links[index];
            let rows = self.rows(contact);
            let mut p_bar = [0.0; 3];
            for i in 0..dimension {
                let row = rows[i] * n..(rows[i] + 1) * n;
                p_bar[i] = impulses_bar[rows[i]] + dot(&matrix[row.clone()], &self.speeds);
                add_scaled(&mut bar.matrix[row], collision.impulse[i], &self.speeds);
            }
            let local = collision.adjoint(p_bar);
            bar.friction[contact] += local.friction;
            bar.restitution[contact] += follows * local.restitution;
            for i in 0..dimension {
                self.speeds[rows[i]] += local.velocity[i];
                for j in 0..dimension {
                    bar.matrix[rows[i] * n + rows[j]] += local.matrix[i][j];
                }
            }
        }
        add_scaled(&mut bar.approach, 1.0, &self.speeds);
    }
}
