//! Implicit equalities of a cone {v : n_i·v ≥ 0}: the rows that no feasible v can leave, n_i·v = 0, theory (5.18).
//!
//! They exist exactly when some nonnegative combination of rows vanishes, that is when the hull of the unit rows touches the origin. The
//! distance from the origin to that hull is also the largest margin t with n_i·v ≥ t for a unit v, so one number decides both sides:
//! above the tolerance its nearest point certifies that there is no implicit equality; at or below it the rows that carry the nearest
//! point are implicit equalities, their span is divided out, and the question is asked again of what is left (theory (5.20)).
//! [`super::linear_program`] is the second road: one linear program for all rows at once.

use super::linear_program;
use super::nnls::NnlsStatus;
use super::nnls::column::ColumnNnls;
use crate::impact::ImpactError;
use crate::impact::mass::MassMatrix;

/// Default angular tolerance: hulls nearer to the origin than this are taken to touch it.
pub const TOLERANCE: f64 = 1e-9;

/// Length left of a unit row, in tolerances, below which it lies in the span of the implicit equalities.
const IN_SPAN: f64 = 10.0;

/// Weight, relative to the largest, below which a row only seems to carry the nearest point.
const CARRIES: f64 = 1e-9;

/// Least length left of a unit row that is not rounding.
const ROUNDING: f64 = 1e-12;

/// Rounding of the residual of unit rows, which a certificate must exceed to mean anything.
const RESIDUAL_ROUNDING: f64 = 2e-15;

/// The implicit equalities of a cone.
#[derive(Clone, Debug, PartialEq)]
pub struct Lineality {
    /// Dimension k of their span.
    pub dimension: usize,
    /// Basis of their span, d × k by rows: orthonormal, in the inverse-mass metric if a mass was given.
    pub basis: Vec<f64>,
    /// Projector onto their span, d × d by rows, orthogonal in the same metric; it acts on rows n as columns, P n.
    pub projector: Vec<f64>,
    /// Indices of the implicit equalities, ascending.
    pub implicit: Vec<usize>,
    /// Distance from the origin to the hull of the remaining unit rows, off the span: how far the answer is from another one.
    pub margin: f64,
}

/// Implicit equalities of the rows `normals` (m × d) in the metric of `mass` (Euclidean if none), with an angular tolerance.
///
/// ```
/// use carom_solve::impact::lineality::{TOLERANCE, lineality};
/// let walls = lineality(&[1.0, 0.0, -1.0, 0.0, 0.0, 1.0], 2, None, TOLERANCE).unwrap();
/// assert_eq!((walls.dimension, walls.implicit), (1, vec![0, 1]));
/// ```
///
/// # Errors
/// [`ImpactError`] when shapes disagree, a value is not finite, the mass is not positive definite or the tolerance is not in (0, 1).
pub fn lineality(normals: &[f64], dimension: usize, mass: Option<&MassMatrix>, tolerance: f64) -> Result<Lineality, ImpactError> {
    let d = dimension;
    let m = normals.len().checked_div(d).unwrap_or(0);
    if normals.len() != m * d {
        return Err(ImpactError::Shape { what: "normals", found: normals.len(), expected: m * d });
    }
    if !normals.iter().all(|n| n.is_finite()) {
        return Err(ImpactError::NotFinite("normals"));
    }
    if !(tolerance > 0.0 && tolerance < 1.0) {
        return Err(ImpactError::Range("tolerance"));
    }
    if let Some(mass) = mass
        && mass.dimension() != d
    {
        return Err(ImpactError::Shape { what: "mass", found: mass.dimension(), expected: d });
    }
    let mut rows = normals.to_vec();
    if let Some(mass) = mass {
        for row in rows.chunks_exact_mut(d.max(1)) {
            mass.whiten(row);
        }
    }
    let mut finder = Finder::default();
    finder.find(&rows, m, d, tolerance);
    let k = finder.dimension;
    let whitened = &finder.basis[..k * d];
    let mut basis = vec![0.0; d * k];
    let mut projector = vec![0.0; d * d];
    let mut covector = vec![0.0; d];
    let mut vector = vec![0.0; d];
    for c in 0..k {
        covector.copy_from_slice(&whitened[c * d..(c + 1) * d]);
        vector.copy_from_slice(&covector);
        if let Some(mass) = mass {
            mass.colour(&mut covector);
            mass.whiten_transposed(&mut vector);
        }
        for r in 0..d {
            basis[r * k + c] = covector[r];
            for s in 0..d {
                projector[r * d + s] += covector[r] * vector[s];
            }
        }
    }
    Ok(Lineality { dimension: k, basis, projector, implicit: finder.implicit.clone(), margin: finder.margin })
}

/// The search itself, on rows in Euclidean coordinates, with its scratch.
#[derive(Clone, Debug, Default)]
pub struct Finder {
    /// Dimension of the span found.
    pub dimension: usize,
    /// Orthonormal basis of the span, one vector after the other.
    pub basis: Vec<f64>,
    /// Implicit equalities, ascending.
    pub implicit: Vec<usize>,
    /// Linearly independent implicit equalities that span it all: one per dimension.
    pub independent: Vec<usize>,
    /// Distance from the origin to the hull of what is left (1 if nothing is).
    pub margin: f64,
    /// Whether every question was answered: least squares came to its end, or the linear program did and its answer was verified.
    pub conclusive: bool,
    rows: Vec<f64>,
    numbers: Vec<usize>,
    augmented: Vec<f64>,
    target: Vec<f64>,
    weights: Vec<f64>,
    carriers: Vec<usize>,
    directions: Vec<f64>,
    nearest: Vec<f64>,
    solver: ColumnNnls,
}

impl Finder {
    /// Finds the implicit equalities of `rows` (m × d); zero rows are left out.
    pub fn find(&mut self, rows: &[f64], m: usize, d: usize, tolerance: f64) {
        self.dimension = 0;
        self.basis.clear();
        self.implicit.clear();
        self.independent.clear();
        self.margin = 1.0;
        self.conclusive = true;
        self.rows.clear();
        self.numbers.clear();
        for i in 0..m {
            let row = &rows[i * d..(i + 1) * d];
            // A common factor first: the square of a tiny row must not vanish.
            let largest = row.iter().fold(0.0f64, |s, a| s.max(a.abs()));
            if largest > 0.0 {
                let length = largest * row.iter().map(|a| (a / largest) * (a / largest)).sum::<f64>().sqrt();
                self.rows.extend(row.iter().map(|a| a / length));
                self.numbers.push(i);
            }
        }
        // Every round but the last adds a dimension, so d + 1 rounds are enough.
        for _ in 0..=d {
            if self.numbers.is_empty() {
                break;
            }
            let distance = self.approach_origin(d, tolerance);
            if distance > tolerance {
                self.margin = distance;
                break;
            }
            self.divide_out(d, tolerance);
        }
        self.implicit.sort_unstable();
    }

    /// Distance from the origin to the hull of the remaining rows (or a lower bound above the tolerance); weights of the nearest point.
    fn approach_origin(&mut self, d: usize, tolerance: f64) -> f64 {
        let n = self.numbers.len();
        // min ‖Σ x_i n_i‖² + (1 - Σ x_i)²: its minimiser, scaled to sum 1, is the nearest point of the hull, theory (5.19).
        self.augmented.clear();
        for i in 0..n {
            self.augmented.extend_from_slice(&self.rows[i * d..(i + 1) * d]);
            self.augmented.push(1.0);
        }
        self.target.clear();
        self.target.resize(d, 0.0);
        self.target.push(1.0);
        self.weights.clear();
        self.weights.resize(n, 0.0);
        let mut certified = 0.0;
        let report = self.solver.solve(&self.augmented, &self.target, &mut self.weights, |residual, steepest| {
            let length = residual[..d].iter().map(|r| r * r).sum::<f64>().sqrt();
            // n_i·x ≥ (1 - s) - steepest for every row: x, made a unit vector, certifies this margin.
            let margin = if length > ROUNDING { (residual[d] - steepest - RESIDUAL_ROUNDING) / length } else { 0.0 };
            if margin > CERTAIN * tolerance {
                certified = margin;
            }
            certified > 0.0
        });
        if certified > 0.0 {
            return certified;
        }
        let sum: f64 = self.weights.iter().sum();
        if sum <= 0.0 {
            return 1.0;
        }
        self.weights.iter_mut().for_each(|w| *w /= sum);
        self.nearest.clear();
        self.nearest.resize(d, 0.0);
        for &i in self.solver.passive() {
            for c in 0..d {
                self.nearest[c] += self.weights[i] * self.rows[i * d + c];
            }
        }
        let distance = self.nearest.iter().map(|x| x * x).sum::<f64>().sqrt();
        if report.status == NnlsStatus::Capped {
            // Least squares did not end: the linear program decides who is held; its answer is turned into weights of a point.
            return self.ask_linear_program(d, tolerance, distance);
        }
        distance
    }

    /// The second road, used when the first was capped: the linear program (5.22), verified, at the tolerance and once more at a tenth of it.
    fn ask_linear_program(&mut self, d: usize, tolerance: f64, distance: f64) -> f64 {
        for tolerance in [tolerance, tolerance / IN_SPAN] {
            match linear_program::implicit_rows(&self.rows, self.numbers.len(), d, tolerance) {
                Some(held) if held.is_empty() => return distance.max(IN_SPAN * tolerance),
                Some(held) if self.verify(&held, d, tolerance) => return 0.0,
                _ => {}
            }
        }
        self.conclusive = false;
        distance
    }

    /// Whether some weights of the rows held, of sum 1, bring them within ten tolerances of the origin, theory (5.26); they become the weights of the point.
    fn verify(&mut self, held: &[usize], d: usize, tolerance: f64) -> bool {
        self.augmented.clear();
        for &i in held {
            self.augmented.extend_from_slice(&self.rows[i * d..(i + 1) * d]);
            self.augmented.push(1.0);
        }
        self.target.clear();
        self.target.resize(d, 0.0);
        self.target.push(1.0);
        let mut shares = vec![0.0; held.len()];
        let report = self.solver.solve(&self.augmented, &self.target, &mut shares, |_, _| false);
        let sum: f64 = shares.iter().sum();
        if report.status == NnlsStatus::Capped || sum <= 0.0 {
            return false;
        }
        self.weights.clear();
        self.weights.resize(self.numbers.len(), 0.0);
        self.nearest.clear();
        self.nearest.resize(d, 0.0);
        for (&i, share) in held.iter().zip(&shares) {
            self.weights[i] = share / sum;
            for c in 0..d {
                self.nearest[c] += self.weights[i] * self.rows[i * d + c];
            }
        }
        length(&self.nearest) <= IN_SPAN * tolerance
    }

    /// The rows that carry the nearest point span a part of the lineality space; it is divided out of the others.
    fn divide_out(&mut self, d: usize, tolerance: f64) {
        let n = self.numbers.len();
        let largest = self.weights.iter().fold(0.0f64, |s, w| s.max(*w));
        self.carriers.clear();
        self.carriers.extend((0..n).filter(|&i| self.weights[i] > CARRIES * largest));
        // Differences from the nearest point: exactly positively dependent, and one dimension fewer than carriers.
        self.directions.clear();
        for &i in &self.carriers {
            self.directions.extend((0..d).map(|c| self.rows[i * d + c] - self.nearest[c]));
        }
        let before = self.dimension;
        for _ in 1..self.carriers.len() {
            // Largest first, as in pivoted QR.
            let longest = (0..self.carriers.len())
                .map(|k| (k, length(&self.directions[k * d..(k + 1) * d])))
                .fold((0, 0.0), |best, now| if now.1 > best.1 { now } else { best });
            if longest.1 <= ROUNDING {
                break;
            }
            let start = self.basis.len();
            self.basis.extend(self.directions[longest.0 * d..(longest.0 + 1) * d].iter().map(|a| a / longest.1));
            // Off what is already in the basis once more, to rounding.
            let (done, fresh) = self.basis.split_at_mut(start);
            clear_of(fresh, done, d);
            normalise(fresh);
            self.independent.push(self.numbers[self.carriers[longest.0]]);
            self.dimension += 1;
            for k in 0..self.carriers.len() {
                clear_of(&mut self.directions[k * d..(k + 1) * d], &self.basis[start..], d);
            }
        }
        if self.dimension == before {
            // Nothing but rounding: a single row cannot oppose itself. Take the carriers out so that the search goes on.
            debug_assert!(self.carriers.len() <= 1, "carriers of a point at the origin span something");
        }
        // What is left of the others; those that vanish were implicit all along.
        let in_span = (IN_SPAN * tolerance).clamp(ROUNDING, 1.0 / 2.0);
        let mut kept = 0;
        let mut carrier = self.carriers.iter().copied().peekable();
        for i in 0..n {
            let carries = carrier.next_if_eq(&i).is_some();
            let row = &mut self.rows[i * d..(i + 1) * d];
            clear_of(row, &self.basis[before * d..], d);
            clear_of(row, &self.basis, d);
            let left = length(row);
            if carries || left <= in_span {
                self.implicit.push(self.numbers[i]);
            } else {
                row.iter_mut().for_each(|a| *a /= left);
                self.rows.copy_within(i * d..(i + 1) * d, kept * d);
                self.numbers[kept] = self.numbers[i];
                kept += 1;
            }
        }
        self.rows.truncate(kept * d);
        self.numbers.truncate(kept);
    }
}

/// Certificates are accepted this many tolerances away, so that the search and the certificate cannot disagree by rounding.
const CERTAIN: f64 = 2.0;

fn length(a: &[f64]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn normalise(a: &mut [f64]) {
    let length = length(a);
    if length > 0.0 {
        a.iter_mut().for_each(|x| *x /= length);
    }
}

/// Removes from `row` its components along orthonormal vectors.
fn clear_of(row: &mut [f64], basis: &[f64], d: usize) {
    for vector in basis.chunks_exact(d.max(1)) {
        let overlap: f64 = row.iter().zip(vector).map(|(a, b)| a * b).sum();
        row.iter_mut().zip(vector).for_each(|(a, b)| *a -= overlap * b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    }

    fn rows(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().flat_map(numbers).collect()
    }

    fn cases() -> Vec<Value> {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/lineality.json")).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        file["cases"].as_array().unwrap().clone()
    }

    fn difference(a: &[f64], b: &[f64]) -> f64 {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).fold(0.0f64, |s, (x, y)| s.max((x - y).abs()))
    }

    #[test]
    fn every_case_of_the_reference_file() {
        let mut near = 0;
        for case in cases() {
            let name = case["name"].as_str().unwrap();
            let d = case["input"]["d"].as_u64().unwrap() as usize;
            let normals = rows(&case["input"]["N"]);
            let expected = &case["expected"];
            let margin = expected["margin"].as_f64();
            let tolerance = case["tol"].as_f64().unwrap();
            let dimension = expected["dim"].as_u64().unwrap() as usize;
            let implicit: Vec<usize> = expected["implicit"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap() as usize).collect();
            // Well below the margin of the rest (or at the default): the mathematical answer.
            for angle in [1e-12, 1e-11, 1e-10, TOLERANCE, 1e-7, 1e-5, 1e-3] {
                if margin.is_some_and(|margin| angle >= margin / 3.0) || (!case["input"]["exact"].as_bool().unwrap() && angle < 1e-11) {
                    continue;
                }
                let found = lineality(&normals, d, None, angle).unwrap();
                assert_eq!(found.dimension, dimension, "{name} at {angle:e}");
                assert_eq!(found.implicit, implicit, "{name} at {angle:e}");
                let error = difference(&found.projector, &rows(&expected["P"]));
                assert!(error <= tolerance, "{name} at {angle:e}: projector {error:e}");
            }
            // Well above it: the near answer, whose span is only known to the margin.
            if let Some(expected) = expected.get("near").filter(|n| !n.is_null()) {
                let margin = margin.unwrap();
                for factor in [3.0, 10.0, 30.0] {
                    let found = lineality(&normals, d, None, factor * margin).unwrap();
                    assert_eq!(
                        found.dimension as u64,
                        expected["dim_when_tolerance_exceeds_margin"].as_u64().unwrap(),
                        "{name} at {factor} margins"
                    );
                    let error = difference(&found.projector, &rows(&expected["P"]));
                    assert!(error <= 2.0 * margin + tolerance, "{name} at {factor} margins: projector {error:e}");
                    near += 1;
                }
            }
        }
        assert!(near > 60);
    }

    #[test]
    fn both_roads_agree() {
        for case in cases() {
            let name = case["name"].as_str().unwrap();
            let d = case["input"]["d"].as_u64().unwrap() as usize;
            let mut normals = rows(&case["input"]["N"]);
            let m = normals.len() / d;
            normals.chunks_exact_mut(d).for_each(normalise);
            let margin = case["expected"]["margin"].as_f64().unwrap_or(1.0);
            let angle = (margin / 100.0).min(1e-6);
            if angle < 1e-8 {
                continue; // the program holds numbers up to 1/angle, whose rounding then reaches its own tolerance
            }
            let mut finder = Finder::default();
            finder.find(&normals, m, d, angle);
            let program = linear_program::implicit_rows(&normals, m, d, angle).expect(name);
            assert_eq!(finder.implicit, program, "{name}");
        }
    }

    #[test]
    fn masses_change_the_metric_but_not_the_rows() {
        // Two balls between walls: all three contacts, whatever the masses.
        let normals = [1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0];
        let mass = MassMatrix::diagonal(&[0.01, 0.01, 10.0, 10.0]).unwrap();
        let found = lineality(&normals, 4, Some(&mass), TOLERANCE).unwrap();
        assert_eq!((found.dimension, found.implicit), (2, vec![0, 1, 2]));
        // Orthonormal in the inverse-mass metric, and the projector leaves the rows alone.
        for a in 0..2 {
            for b in 0..2 {
                let product: f64 = (0..4).map(|r| found.basis[r * 2 + a] * found.basis[r * 2 + b] / [0.01, 0.01, 10.0, 10.0][r]).sum();
                assert!((product - f64::from(u8::from(a == b))).abs() < 1e-12);
            }
        }
        for row in normals.chunks_exact(4) {
            let image: Vec<f64> = (0..4).map(|r| (0..4).map(|c| found.projector[r * 4 + c] * row[c]).sum()).collect();
            assert!(difference(&image, row) < 1e-12);
        }
    }

    #[test]
    fn a_wedge_is_locked_by_its_angle() {
        let wedge = |angle: f64| [0.0, 1.0, angle.sin(), -angle.cos()];
        assert_eq!(lineality(&wedge(1e-4), 2, None, 1e-5).unwrap().dimension, 0);
        assert_eq!(lineality(&wedge(1e-6), 2, None, 1e-5).unwrap().dimension, 1);
        assert_eq!(lineality(&[1.0, 1.0, -1.0, 1.0, 0.0, 1.0], 2, None, TOLERANCE).unwrap().dimension, 0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(lineality(&[1.0, 0.0, f64::NAN, 0.0], 2, None, TOLERANCE).is_err());
        assert!(lineality(&[1.0, 0.0, 1.0], 2, None, TOLERANCE).is_err());
        assert!(lineality(&[1.0, 0.0], 2, None, 0.0).is_err());
        assert_eq!(lineality(&[], 0, None, TOLERANCE).unwrap().dimension, 0);
        assert_eq!(lineality(&[0.0, 0.0], 2, None, TOLERANCE).unwrap().dimension, 0);
    }

    #[test]
    fn the_linear_program_is_asked_and_verified_where_least_squares_does_not_end() {
        let root = 0.5f64.sqrt();
        let load = |rows: &[f64]| {
            let mut finder = Finder::default();
            finder.find(&[], 0, 2, TOLERANCE);
            finder.rows.extend_from_slice(rows);
            finder.numbers.extend(0..rows.len() / 2);
            finder
        };
        // A ball between walls on a floor: the walls hold each other, and their mean is the origin.
        let mut finder = load(&[1.0, 0.0, -1.0, 0.0, 0.0, 1.0]);
        assert_eq!(finder.ask_linear_program(2, 1e-6, 1.0), 0.0);
        assert!(finder.conclusive && finder.weights[2] == 0.0, "{:?}", finder.weights);
        assert!((finder.weights[0] - 0.5).abs() < 1e-12 && length(&finder.nearest) < 1e-12);
        // A trough holds nothing; a claim that it does is refused by the verification.
        let mut finder = load(&[root, root, -root, root, 0.0, 1.0]);
        assert!(finder.ask_linear_program(2, 1e-6, 0.3) >= 0.3 && finder.conclusive);
        assert!(!finder.verify(&[0, 1], 2, 1e-6));
    }
}
