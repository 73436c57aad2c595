//! One-way friction after the normal phase, theory (16.14).

use super::{ImpactChange, ImpactInput};
use crate::contact::dense::contact_derivative::system::{ModeSystem, Unknown};
use crate::contact::dense::contact_derivative::{Across, WEAK, turning};
use crate::status::RESIDUAL_WANTED;
use carom_math::dense::{add_scaled, dot};

/// Slip and room below this fraction of the speeds are what the forward solve leaves of zero.
const NOTHING: f64 = 10.0 * RESIDUAL_WANTED;

/// How friction acts at a contact.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Behaviour {
    /// No normal impulse or no friction, and so no impulse.
    Idle,
    /// Held within its disc.
    Stick,
    /// On the edge of its disc, against this direction of slip.
    Slide([f64; 2]),
}

/// Everything the derivative of the friction impulses needs.
#[derive(Clone, Debug, Default)]
pub(super) struct FrictionPhase {
    behaviours: Vec<Behaviour>,
    coefficients: Vec<f64>,
    /// Impulses of all rows, normals first.
    impulses: Vec<f64>,
    /// K_tt.
    matrix: Vec<f64>,
    system: ModeSystem,
    drive: Vec<f64>,
    cotangent: Vec<f64>,
}

impl FrictionPhase {
    /// The behaviour of every contact as a number, for tests.
    #[cfg(test)]
    pub fn kinds(&self) -> impl Iterator<Item = usize> + '_ {
        self.behaviours.iter().map(|b| match b {
            Behaviour::Idle => 0,
            Behaviour::Stick => 1,
            Behaviour::Slide(_) => 2,
        })
    }

    /// Reads off who sticks and who slides; the number of contacts in between, or nothing when the system cannot be factored.
    pub fn prepare(&mut self, input: &ImpactInput, normal: &[f64], tangential: &[f64]) -> Option<usize> {
        let (m, n, t) = (input.contacts, input.rows(), input.tangents());
        self.impulses.clear();
        self.impulses.extend_from_slice(normal);
        self.impulses.extend_from_slice(tangential);
        self.impulses.resize(n, 0.0);
        self.coefficients.clear();
        self.coefficients.extend((0..m).map(|i| input.friction_of(i)));
        self.matrix.clear();
        (m..n).for_each(|i| self.matrix.extend_from_slice(&input.matrix[i * n + m..(i + 1) * n]));
        self.behaviours.clear();
        self.system.unknowns.clear();
        let unit = input.approach.iter().fold(0.0f64, |s, u| s.max(u.abs()));
        let mut weak = 0;
        for k in 0..m {
            let at = |c: usize| if c < t { m + k * t + c } else { usize::MAX };
            let value = |c: usize, x: &dyn Fn(usize) -> f64| if c < t { x(at(c)) } else { 0.0 };
            let slip = [0, 1].map(|c| value(c, &|r| input.approach[r] + dot(&input.matrix[r * n..(r + 1) * n], &self.impulses)));
            let pull = [0, 1].map(|c| value(c, &|r| self.impulses[r]));
            let inertia = (0..t).map(|c| input.matrix[at(c) * (n + 1)]).fold(0.0f64, f64::max);
            let (speed, length) = (slip[0].hypot(slip[1]), pull[0].hypot(pull[1]));
            let reach = self.coefficients[k] * normal[k].max(0.0);
            let room = inertia * (reach - length);
            // Without friction a contact that does not slip is not held either, and no way of slipping is reported.
            let smooth = self.coefficients[k] <= 0.0;
            let behaviour = if normal[k] <= 0.0 || inertia <= 0.0 || (smooth && speed < NOTHING * unit) {
                Behaviour::Idle
            } else if speed <= room || speed < NOTHING * unit {
                Behaviour::Stick
            } else if inertia * length > speed {
                Behaviour::Slide([-pull[0] / length, -pull[1] / length])
            } else {
                Behaviour::Slide([slip[0] / speed, slip[1] / speed])
            };
            weak += usize::from(behaviour != Behaviour::Idle && !smooth && room.max(speed) < WEAK * unit);
            match behaviour {
                Behaviour::Idle => {}
                // A tangent that nothing moves stays out.
                Behaviour::Stick => {
                    let movable = (0..t).filter(|&c| input.matrix[at(c) * (n + 1)] > 0.0);
                    self.system.unknowns.extend(movable.map(|c| Unknown::held(k * t + c)));
                }
                Behaviour::Slide(direction) => {
                    let across = if t == 2 { Across::Turning { speed } } else { Across::Fixed };
                    self.system.unknowns.extend(turning(k * t, direction, across, reach, inertia));
                }
            }
            self.behaviours.push(behaviour);
        }
        self.system.factor(&self.matrix, n - m).then_some(weak)
    }

    /// Completes the change of the impulses: those of the normals are given.
    pub fn tangent(&mut self, matrix: &[f64], change: &ImpactChange, impulses_dot: &mut [f64]) {
        let (m, n) = (self.behaviours.len(), impulses_dot.len());
        let t = (n - m) / m.max(1);
        self.drive.clear();
        self.drive.extend((m..n).map(|r| {
            change.approach[r]
                + dot(&change.matrix[r * n..(r + 1) * n], &self.impulses)
                + dot(&matrix[r * n..r * n + m], &impulses_dot[..m])
        }));
        let (normal_dot, tangential_dot) = impulses_dot.split_at_mut(m);
        for k in 0..m {
            if let Behaviour::Slide(direction) = self.behaviours[k] {
                let reach_dot = change.friction[k] * self.impulses[k] + self.coefficients[k] * normal_dot[k];
                (0..t).for_each(|c| tangential_dot[k * t + c] = -direction[c] * reach_dot);
            }
        }
        self.system.tangent(&self.matrix, &self.drive, tangential_dot);
    }

    /// Adds to the cotangents of the impact and of the normal impulses for those of the friction impulses.
    pub fn adjoint(&mut self, matrix: &[f64], tangential_bar: &[f64], normal_bar: &mut [f64], bar: &mut ImpactChange) {
        let m = self.behaviours.len();
        let n = m + tangential_bar.len();
        let t = (n - m) / m.max(1);
        self.cotangent.clear();
        self.cotangent.extend_from_slice(tangential_bar);
        self.drive.resize(n - m, 0.0);
        self.system.adjoint(&self.matrix, &mut self.cotangent, &mut self.drive);
        for k in 0..m {
            if let Behaviour::Slide(direction) = self.behaviours[k] {
                let reach_bar: f64 = (0..t).map(|c| -direction[c] * self.cotangent[k * t + c]).sum();
                bar.friction[k] += reach_bar * self.impulses[k];
                normal_bar[k] += reach_bar * self.coefficients[k];
            }
        }
        for r in m..n {
            let y = self.drive[r - m];
            bar.approach[r] += y;
            add_scaled(&mut bar.matrix[r * n..(r + 1) * n], y, &self.impulses);
            add_scaled(normal_bar, y, &matrix[r * n..r * n + m]);
        }
    }
}
