//! The correction of joints along the secants of its last rounds, theory (2.20).
//!
//! Impulses act along the rows of the start of a move and errors are met at its end, so that a round leaves a part of the error that grows with the turn of the
//! bodies. What the rounds before did to the errors says how much, and the next one takes it out beforehand.

/// Rounds that are looked back upon: more see no further, since by then the errors are at their tolerance.
const DEPTH: usize = 4;

/// Part of a difference that must be new for it to count; below it there is rounding.
const NEW_PART: f64 = 1e-8;

/// Sums of a product of two vectors.
const LANES: usize = 8;

/// What rounds did to the errors: orthonormal changes of the residual, and the changes of the targets that brought them about.
#[derive(Debug, Default)]
pub(crate) struct Secants {
    pairs: [Pair; DEPTH],
    /// How many hold, and which was written last.
    known: usize,
    last: usize,
    /// The residual before the last round, and the change of the targets in it; without a change it was the residual.
    residual: Vec<f64>,
    change: Vec<f64>,
}

/// Two vectors of one number for each joint row.
#[derive(Debug, Default)]
struct Pair {
    residual: Vec<f64>,
    change: Vec<f64>,
}

impl Secants {
    /// Forgets all rounds and keeps the residual [m/s or rad/s] of the first, which is taken as it is.
    pub fn begin(&mut self, residual: &[f64]) {
        self.known = 0;
        // Space for all rounds at once: the first fast fold may come long after the first step.
        let pairs = self.pairs.iter_mut().flat_map(|pair| [&mut pair.residual, &mut pair.change]);
        for vector in pairs.chain([&mut self.residual, &mut self.change]) {
            vector.clear();
            vector.reserve(residual.len());
        }
        self.residual.extend_from_slice(residual);
    }

    /// Turns the residual [m/s or rad/s] of a later round into the change of the targets to try; `targets`, which moved by the residual already, move by the rest.
    pub fn bend(&mut self, residual: &mut [f64], targets: &mut [f64]) {
        self.learn(residual);
        self.residual.copy_from_slice(residual);
        self.change.clear();
        self.change.extend_from_slice(residual);
        for pair in &self.pairs[..self.known] {
            let along = dot(&pair.residual, residual);
            for ((left, change), (r, c)) in residual.iter_mut().zip(&mut self.change).zip(pair.residual.iter().zip(&pair.change)) {
                *left -= along * r;
                *change -= along * (r + c);
            }
        }
        for ((target, change), (out, before)) in targets.iter_mut().zip(&self.change).zip(residual.iter_mut().zip(&self.residual)) {
            *target += change - before;
            *out = *change;
        }
    }

    /// Takes in what the last round did.
    fn learn(&mut self, residual: &[f64]) {
        let next = if self.known < DEPTH { self.known } else { (self.last + 1) % DEPTH };
        let mut new = std::mem::take(&mut self.pairs[next]);
        let change = if self.change.is_empty() { &self.residual } else { &self.change };
        new.change.clear();
        new.change.extend_from_slice(change);
        new.residual.clear();
        new.residual.extend(residual.iter().zip(&self.residual).map(|(now, before)| now - before));
        let whole = dot(&new.residual, &new.residual);
        for pair in self.pairs[..self.known].iter().filter(|pair| !pair.residual.is_empty()) {
            let along = dot(&pair.residual, &new.residual);
            subtract(along, &pair.residual, &mut new.residual);
            subtract(along, &pair.change, &mut new.change);
        }
        let left = dot(&new.residual, &new.residual);
        if left > NEW_PART * NEW_PART * whole {
            let unit = 1.0 / left.sqrt();
            new.residual.iter_mut().chain(&mut new.change).for_each(|x| *x *= unit);
            self.known = (self.known + 1).min(DEPTH);
            self.last = next;
        } else {
            // Nothing new is nothing known: begin again with what comes.
            self.known = 0;
        }
        self.pairs[next] = new;
    }
}

/// a . b in as many sums as are added side by side, so that none waits for itself.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for k in 0..LANES {
            sums[k] += a[k] * b[k];
        }
    }
    sums.iter().sum::<f64>() + rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum::<f64>()
}

fn subtract(s: f64, a: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(a).for_each(|(out, a)| *out -= s * a);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the trial problem.
    const ROWS: usize = 37;

    /// What is left of a residual by three slow modes and a fast rest: r(b) = wanted - (1 - E) b.
    fn residual(b: &[f64], out: &mut Vec<f64>) {
        let mode = |k: usize, i: usize| ((1.3 + k as f64) * (i as f64 + 0.4)).sin();
        out.clear();
        out.extend((0..ROWS).map(|i| (0.7 * i as f64).cos() - b[i] + 1e-3 * b[(i + 1) % ROWS]));
        for (k, slow) in [0.5, -0.4, 0.3].into_iter().enumerate() {
            let along: f64 = (0..ROWS).map(|i| mode(k, i) * b[i]).sum::<f64>() * 2.0 / ROWS as f64;
            out.iter_mut().enumerate().for_each(|(i, r)| *r += slow * along * mode(k, i));
        }
    }

    fn rounds(bent: bool) -> usize {
        let (mut b, mut r, mut secants) = (vec![0.0; ROWS], Vec::new(), Secants::default());
        for round in 0..100 {
            residual(&b, &mut r);
            if r.iter().all(|x| x.abs() < 1e-12) {
                return round;
            }
            // Targets move by the residual first, as they do where errors are met.
            b.iter_mut().zip(&r).for_each(|(b, r)| *b += r);
            let taken = r.clone();
            if bent && round > 0 {
                let from = b.clone();
                secants.bend(&mut r, &mut b);
                for i in 0..ROWS {
                    assert!((b[i] - from[i] - (r[i] - taken[i])).abs() <= 1e-15, "targets and change agree");
                }
            } else {
                secants.begin(&r);
            }
        }
        usize::MAX
    }

    #[test]
    fn few_slow_modes_take_few_rounds() {
        let (plain, bent) = (rounds(false), rounds(true));
        assert!(plain > 30, "half of the slow mode is left by each round: {plain}");
        assert!(bent < 12, "the slow modes are seen and taken out: {bent}");
    }

    #[test]
    fn nothing_new_begins_again() {
        let mut secants = Secants::default();
        let (mut residual, mut targets) = (vec![1.0, 2.0], vec![0.0; 2]);
        secants.begin(&residual);
        secants.bend(&mut residual, &mut targets);
        assert_eq!((residual, targets), (vec![1.0, 2.0], vec![0.0; 2]), "a round that changed nothing says nothing");
    }
}
