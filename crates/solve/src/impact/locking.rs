//! Implicit equalities in contact space: contacts that hold each other (a plug between walls) are locked before the law acts, (5.9).
//!
//! Locked contacts lose their speed once, which costs energy; the others feel their own rows less the part along the locked ones. In
//! contact space the first is λ_E = -A_EE⁻¹ g_E and the second the Schur complement A - A_:E A_EE⁻¹ A_E:.

use super::certificate::Certificate;
use super::lineality::Finder;
use super::nnls::{GramNnls, NnlsStatus};
use super::record::Renumbered;
use super::{Contacts, Gram, ImpactMap, Observer, Outcome, Restitution};

/// Distance from the origin to the hull of unit rows below which contacts are locked. The Gram matrix holds squares of lengths, so
/// rounding hides what is below 1e-8; and a wedge narrower than this would take more reflections than the driver is allowed.
pub const CONTACT_TOLERANCE: f64 = 2e-7;

/// Squared length left of a unit row in the factor of the Gram matrix that is only rounding.
const FACTOR_ROUNDING: f64 = 1e-14;

/// Wraps a map with the detection and removal of implicit equalities.
#[derive(Clone, Debug, Default)]
pub struct Locking<I> {
    /// Whether to look for implicit equalities.
    pub enabled: bool,
    /// The map that acts on what is left.
    pub map: I,
    certificate: Certificate,
    finder: Finder,
    local: Local,
    reduced: Gram,
    rest: Vec<usize>,
    approach: Vec<f64>,
    impulses: Vec<f64>,
    restitution: Vec<f64>,
    numbers: Vec<usize>,
    place: Vec<usize>,
    row: Vec<f64>,
    nonnegative: GramNnls,
    /// Whether every search for locked contacts was conclusive.
    conclusive: bool,
}

/// Scratch of one connected group and of the reduction.
#[derive(Clone, Debug, Default)]
struct Local {
    members: Vec<usize>,
    implicit: Vec<bool>,
    equalities: Vec<usize>,
    factor: Vec<f64>,
    rows: Vec<f64>,
    order: Vec<usize>,
    placed: Vec<bool>,
    coupling: Vec<f64>,
    speeds: Vec<f64>,
    dense: Vec<f64>,
    linear: Vec<f64>,
    solution: Vec<f64>,
}

impl<I: ImpactMap> ImpactMap for Locking<I> {
    fn resolve(&mut self, contacts: &Contacts<'_>, impulses: &mut Vec<f64>, observer: &mut dyn Observer) -> Outcome {
        // A velocity that closes nothing already has N_I v = 0.
        self.conclusive = true;
        let closes = contacts.approach.iter().any(|&g| g < -contacts.threshold);
        if !self.enabled || !closes || !self.find(contacts.gram) {
            let outcome = self.map.resolve(contacts, impulses, observer);
            return Outcome { accurate: outcome.accurate && self.conclusive, ..outcome };
        }
        self.reduce(contacts);
        let local = &mut self.local;
        local.members.clear();
        local.members.extend((0..local.implicit.len()).filter(|&i| local.implicit[i]));
        observer.locked(&local.members, &local.equalities);
        let rest = Contacts {
            gram: &self.reduced,
            approach: &self.approach,
            restitution: match contacts.restitution {
                Restitution::Uniform(c) => Restitution::Uniform(c),
                Restitution::PerContact(_) => Restitution::PerContact(&self.restitution),
            },
            ..*contacts
        };
        let mut renumbered = Renumbered { inner: observer, numbers: &self.rest, scratch: &mut self.numbers };
        let outcome = self.map.resolve(&rest, &mut self.impulses, &mut renumbered);
        let held = self.assemble(contacts, impulses);
        Outcome { locked: self.local.equalities.len(), accurate: outcome.accurate && held && self.conclusive, ..outcome }
    }
}

impl<I> Locking<I> {
    /// Finds the implicit equalities of every connected group; false if there is none.
    fn find(&mut self, gram: &Gram) -> bool {
        let m = gram.len();
        self.local.implicit.clear();
        self.local.implicit.resize(m, false);
        self.local.equalities.clear();
        self.conclusive = true;
        if self.certificate.covers(gram) {
            return false;
        }
        for group in 0..gram.groups() {
            self.local.members.clear();
            self.local.members.extend((0..m).filter(|&i| gram.group(i) == group && gram.takes_part(i)));
            let n = self.local.members.len();
            if n < 2 || self.certificate.covered()[group] {
                continue;
            }
            let rank = self.local.coordinates(gram);
            self.finder.find(&self.local.rows, n, rank, CONTACT_TOLERANCE);
            self.conclusive &= self.finder.conclusive;
            for &i in &self.finder.implicit {
                self.local.implicit[self.local.members[i]] = true;
            }
            self.local.equalities.extend(self.finder.independent.iter().map(|&i| self.local.members[i]));
        }
        !self.local.equalities.is_empty()
    }

    /// The problem that is left for the contacts that are not locked.
    fn reduce(&mut self, contacts: &Contacts<'_>) {
        let gram = contacts.gram;
        let m = gram.len();
        self.rest.clear();
        self.rest.extend((0..m).filter(|&i| gram.takes_part(i) && !self.local.implicit[i]));
        self.local.eliminate(gram, contacts.approach, &self.rest);
        let e = self.local.equalities.len();
        let (local, rest) = (&self.local, &self.rest);
        let coupled = |a: usize, b: usize| {
            let (a, b) = (&local.coupling[a * e..(a + 1) * e], &local.coupling[b * e..(b + 1) * e]);
            a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>()
        };
        // Row by row: the couplings there were, less those that run through the locked contacts.
        let n = rest.len();
        let (place, row) = (&mut self.place, &mut self.row);
        place.clear();
        place.resize(m, usize::MAX);
        rest.iter().enumerate().for_each(|(k, &i)| place[i] = k);
        row.clear();
        row.resize(n, 0.0);
        self.reduced.load_rows((0..n).map(|k| 1.0 - coupled(k, k)), |k, push| {
            row.fill(0.0);
            let (columns, values) = gram.row(rest[k]);
            for (&j, &a) in columns.iter().zip(values) {
                if place[j] != usize::MAX {
                    row[place[j]] = a;
                }
            }
            for j in 0..n {
                row[j] -= coupled(k, j);
                push(j, row[j]);
            }
        });
        self.approach.clear();
        for k in 0..n {
            let held: f64 = (0..e).map(|c| local.coupling[k * e + c] * local.speeds[c]).sum();
            self.approach.push((contacts.approach[rest[k]] - held) * self.reduced.inverse_scale(k));
        }
        self.restitution.clear();
        if let Restitution::PerContact(values) = contacts.restitution {
            self.restitution.extend(rest.iter().map(|&i| values[i]));
        }
    }

    /// Impulses of all contacts: those of the rest, and of the locked ones whatever leaves them no speed; then none negative. False where these
    /// were not found.
    fn assemble(&mut self, contacts: &Contacts<'_>, impulses: &mut Vec<f64>) -> bool {
        let gram = contacts.gram;
        let m = gram.len();
        impulses.clear();
        impulses.resize(m, 0.0);
        for (k, &i) in self.rest.iter().enumerate() {
            impulses[i] = self.impulses[k] * self.reduced.inverse_scale(k);
        }
        self.local.hold(gram, contacts.approach, impulses);

        // Locked rows have a positive combination that vanishes, so a nonnegative solution of the same A λ exists, theory (5.9).
        if impulses.iter().any(|&l| l < 0.0) {
            let local = &mut self.local;
            local.members.clear();
            local.members.extend((0..m).filter(|&i| local.implicit[i]));
            let n = local.members.len();
            local.dense.clear();
            local.dense.resize(n * n, 0.0);
            local.linear.clear();
            local.linear.resize(n, 0.0);
            for a in 0..n {
                let (columns, values) = gram.row(local.members[a]);
                for (&j, &value) in columns.iter().zip(values) {
                    if let Ok(b) = local.members.binary_search(&j) {
                        local.dense[a * n + b] = value;
                        local.linear[a] -= value * impulses[j];
                    }
                }
            }
            local.solution.clear();
            local.solution.resize(n, 0.0);
            let report = self.nonnegative.solve(&local.dense, &local.linear, &[], &mut local.solution);
            for a in 0..n {
                impulses[local.members[a]] = local.solution[a];
            }
            return report.status == NnlsStatus::Solved;
        }
        true
    }
}

impl Local {
    /// Coordinates of the group's unit rows: the pivoted Cholesky factor of its Gram matrix, n × rank in `rows`.
    fn coordinates(&mut self, gram: &Gram) -> usize {
        let n = self.members.len();
        self.dense.clear();
        self.dense.resize(n * n, 0.0);
        for a in 0..n {
            let (columns, values) = gram.row(self.members[a]);
            for (&j, &value) in columns.iter().zip(values) {
                if let Ok(b) = self.members.binary_search(&j) {
                    self.dense[a * n + b] = value;
                }
            }
        }
        self.order.clear();
        self.placed.clear();
        self.placed.resize(n, false);
        self.speeds.clear();
        self.speeds.resize(n, 1.0);
        self.factor.clear();
        self.factor.resize(n * n, 0.0);
        for rank in 0..n {
            let (pivot, left) = (0..n)
                .filter(|&i| !self.placed[i])
                .map(|i| (i, self.speeds[i]))
                .fold((0, 0.0), |best, now| if now.1 > best.1 { now } else { best });
            if left <= FACTOR_ROUNDING {
                break;
            }
            let length = left.sqrt();
            self.order.push(pivot);
            self.placed[pivot] = true;
            for i in 0..n {
                if i != pivot && self.placed[i] {
                    continue;
                }
                let mut entry = self.dense[i * n + pivot];
                for c in 0..rank {
                    entry -= self.factor[i * n + c] * self.factor[pivot * n + c];
                }
                let entry = if i == pivot { length } else { entry / length };
                self.factor[i * n + rank] = entry;
                self.speeds[i] -= entry * entry;
            }
        }
        let rank = self.order.len();
        self.rows.clear();
        for i in 0..n {
            self.rows.extend_from_slice(&self.factor[i * n..i * n + rank]);
        }
        rank
    }

    /// Factor of A_EE = L Lᵀ, the speeds L⁻¹ g_E and the couplings L⁻¹ A_Ej of the rest.
    fn eliminate(&mut self, gram: &Gram, approach: &[f64], rest: &[usize]) {
        let e = self.equalities.len();
        self.equalities.sort_unstable();
        self.factor.clear();
        self.factor.resize(e * e, 0.0);
        for a in 0..e {
            let (columns, values) = gram.row(self.equalities[a]);
            for (&j, &value) in columns.iter().zip(values) {
                if let Ok(b) = self.equalities.binary_search(&j)
                    && b <= a
                {
                    self.factor[a * e + b] = value;
                }
            }
        }
        for a in 0..e {
            for b in 0..=a {
                let mut entry = self.factor[a * e + b];
                for c in 0..b {
                    entry -= self.factor[a * e + c] * self.factor[b * e + c];
                }
                self.factor[a * e + b] = if a == b { entry.max(FACTOR_ROUNDING).sqrt() } else { entry / self.factor[b * e + b] };
            }
        }
        self.speeds.clear();
        self.speeds.extend(self.equalities.iter().map(|&i| approach[i]));
        forward(&self.factor, e, &mut self.speeds);
        self.coupling.clear();
        self.coupling.resize(rest.len() * e, 0.0);
        for (k, &i) in rest.iter().enumerate() {
            let column = &mut self.coupling[k * e..(k + 1) * e];
            let (columns, values) = gram.row(i);
            for (&j, &value) in columns.iter().zip(values) {
                if let Ok(b) = self.equalities.binary_search(&j) {
                    column[b] = value;
                }
            }
            forward(&self.factor, e, column);
        }
    }

    /// λ_E = -A_EE⁻¹ (g_E + A_E: λ): the impulses that leave the locked contacts no speed.
    fn hold(&mut self, gram: &Gram, approach: &[f64], impulses: &mut [f64]) {
        let e = self.equalities.len();
        self.solution.clear();
        self.solution.extend(self.equalities.iter().map(|&i| -approach[i] - gram.row_dot(i, impulses)));
        forward(&self.factor, e, &mut self.solution);
        for r in (0..e).rev() {
            self.solution[r] /= self.factor[r * e + r];
            let value = self.solution[r];
            for c in 0..r {
                self.solution[c] -= self.factor[r * e + c] * value;
            }
        }
        for (k, &i) in self.equalities.iter().enumerate() {
            impulses[i] = self.solution[k];
        }
    }
}

/// x ← L⁻¹ x for a lower triangle by rows.
fn forward(factor: &[f64], n: usize, x: &mut [f64]) {
    for r in 0..n {
        for c in 0..r {
            x[r] -= factor[r * n + c] * x[c];
        }
        x[r] /= factor[r * n + r];
    }
}
