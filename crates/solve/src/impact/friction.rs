//! Dry friction of an impact: given the normal impulses, the tangential ones dissipate as much energy as their discs allow, theory (5.14).
//!
//! One-way by default: friction follows the normal phase and does not feed back, so the whole impact still ends; it may leave a contact
//! closing, which the next round or the contact solver takes up. Doing nothing is always allowed, so energy cannot rise.

use super::cone::ConeSolver;
use super::dissipation::Dissipation;
use super::{ContactSpace, Contacts, Friction};

/// Change of the impulses, relative to the largest, at which staggered rounds agree.
const STAGGER_SETTLED: f64 = 1e-8;
/// Cap on staggered rounds; the coupled problem has no guarantee.
const MAX_ROUNDS: usize = 100;
/// Growth of the largest impulse, over the one-way result, at which staggered rounds are given up.
const STAGGER_GROWTH: f64 = 1e3;
/// Energy, relative to the impact's, by which a staggered result may exceed the start before it is dropped for the one-way result.
const STAGGER_ENERGY: f64 = 1e-12;

/// Scratch of the friction phase.
#[derive(Clone, Debug, Default)]
pub struct FrictionWork {
    dissipation: Dissipation,
    everyone: Vec<usize>,
    target: Vec<f64>,
    linear: Vec<f64>,
    normalised: Vec<f64>,
    solver: ConeSolver,
    one_way_normal: Vec<f64>,
    one_way_tangent: Vec<f64>,
    before: Vec<f64>,
}

/// The friction phase of one impact.
pub(super) struct Phase<'a> {
    pub(super) space: &'a ContactSpace<'a>,
    pub(super) friction: Friction<'a>,
    pub(super) speed: f64,
}

/// What the friction phase did.
pub(super) struct After {
    pub(super) sweeps: usize,
    /// Energy change on top of the frictionless normal phase.
    pub(super) energy_change: f64,
    /// Whether its sweeps came to an end by themselves, and both phases to an agreement where they take turns.
    pub(super) settled: bool,
}

impl Phase<'_> {
    fn contacts(&self) -> usize {
        self.space.contacts
    }

    fn rows(&self) -> usize {
        self.space.approach.len()
    }

    /// Adds friction to normal impulses; with `staggered`, goes round until both agree. `normal` and `tangent` are the caller's impulses.
    pub(super) fn act(&self, contacts: &Contacts<'_>, normal: &mut [f64], tangent: &mut Vec<f64>, work: &mut FrictionWork) -> After {
        let m = self.contacts();
        tangent.clear();
        tangent.resize(self.rows() - m, 0.0);
        if m == 0 {
            return After { sweeps: 0, energy_change: 0.0, settled: true };
        }
        work.dissipation.load(&self.space.gram, m, self.rows(), self.space.rows);
        let frictionless = self.energy_change(normal, tangent);
        let mut sweeps = self.dissipate(normal, tangent, work);
        let mut agreed = true;
        if self.friction.staggered {
            let more;
            (more, agreed) = self.stagger(contacts, normal, tangent, work);
            sweeps += more;
        }
        let settled = agreed && work.dissipation.settled();
        After { sweeps, energy_change: self.energy_change(normal, tangent) - frictionless, settled }
    }

    /// Energy change (5.2) of all impulses together.
    fn energy_change(&self, normal: &[f64], tangent: &[f64]) -> f64 {
        let (m, n) = (self.contacts(), self.rows());
        let impulse = |j: usize| if j < m { normal[j] } else { tangent[j - m] };
        let mut energy = 0.0;
        for i in 0..n {
            let mut gained = 0.0;
            self.space.gram.for_row(n, i, |j, a| gained += a * impulse(j));
            energy += impulse(i) * (self.space.approach[i] + gained / 2.0);
        }
        energy
    }

    /// Friction for these normal impulses, starting from the tangential ones given.
    fn dissipate(&self, normal: &[f64], tangent: &mut [f64], work: &mut FrictionWork) -> usize {
        let (m, n) = (self.contacts(), self.rows());
        work.dissipation.slip.clear();
        for row in m..n {
            let mut slip = self.space.approach[row];
            self.space.gram.for_row(n, row, |j, a| {
                if j < m {
                    slip += a * normal[j];
                }
            });
            work.dissipation.slip.push(slip);
        }
        work.dissipation.radii.clear();
        work.dissipation.radii.extend((0..m).map(|k| self.friction.coefficients[k] * normal[k].max(0.0)));
        work.dissipation.dissipate(tangent, self.speed)
    }

    /// Alternates normal and friction phases, theory (5.16); keeps the one-way result when the rounds do not agree or create energy. Returns the sweeps, and
    /// whether they agreed.
    ///
    /// The normal phases after the first hold the speeds it reached at the contacts that pushed, and let no other contact close: bouncing
    /// again in every round would pump the impulses up without end.
    fn stagger(&self, contacts: &Contacts<'_>, normal: &mut [f64], tangent: &mut [f64], work: &mut FrictionWork) -> (usize, bool) {
        let (m, n) = (self.contacts(), self.rows());
        work.one_way_normal.clear();
        work.one_way_normal.extend_from_slice(normal);
        work.one_way_tangent.clear();
        work.one_way_tangent.extend_from_slice(tangent);
        work.everyone.clear();
        work.everyone.extend((0..m).filter(|&i| contacts.gram.takes_part(i)));
        work.target.clear();
        for i in 0..m {
            let mut reached = self.space.approach[i];
            self.space.gram.for_row(n, i, |j, a| reached += if j < m { a * normal[j] } else { 0.0 });
            work.target.push(if normal[i] > 0.0 { reached.max(0.0) } else { 0.0 });
        }
        let most = STAGGER_GROWTH * normal.iter().fold(0.0f64, |s, l| s.max(l.abs()));
        work.solver.begin(m);
        let mut sweeps = 0;
        for _ in 0..MAX_ROUNDS {
            work.before.clear();
            work.before.extend(normal.iter().chain(tangent.iter()));
            work.linear.clear();
            for i in 0..m {
                let mut speed = self.space.approach[i] - work.target[i];
                self.space.gram.for_row(n, i, |j, a| speed += if j >= m { a * tangent[j - m] } else { 0.0 });
                work.linear.push(speed * contacts.gram.inverse_scale(i));
            }
            work.normalised.clear();
            work.normalised.resize(m, 0.0);
            if !work.solver.solve(contacts.gram, &work.everyone, &work.linear, 0.0, &mut work.normalised) {
                break;
            }
            for i in 0..m {
                normal[i] = work.normalised[i] * contacts.gram.inverse_scale(i);
            }
            sweeps += self.dissipate(normal, tangent, work);
            let largest = normal.iter().chain(tangent.iter()).fold(0.0f64, |s, l| s.max(l.abs()));
            let change = normal.iter().chain(tangent.iter()).zip(&work.before).fold(0.0f64, |s, (a, b)| s.max((a - b).abs()));
            if change <= STAGGER_SETTLED * largest {
                if self.energy_change(normal, tangent) <= STAGGER_ENERGY * self.speed * self.speed {
                    return (sweeps, true);
                }
                break;
            }
            if largest > most {
                break;
            }
        }
        normal.copy_from_slice(&work.one_way_normal);
        tangent.copy_from_slice(&work.one_way_tangent);
        (sweeps, false)
    }
}
