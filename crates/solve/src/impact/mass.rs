//! Block-diagonal mass matrices, factored once: M = L Lᵀ, so that L⁻¹ n is a row in coordinates where the metric is Euclidean.

use super::ImpactError;

/// Asymmetry, relative to the diagonal, that a mass matrix may show.
const SYMMETRY: f64 = 1e-9;

/// A symmetric positive definite mass matrix (kg, kg m²) by diagonal blocks.
///
/// An entry of a diagonal mass may be infinite: that coordinate never changes and carries no energy.
#[derive(Clone, Debug)]
pub struct MassMatrix {
    dimension: usize,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
struct Block {
    start: usize,
    size: usize,
    matrix: Vec<f64>,
    factor: Vec<f64>,
}

impl MassMatrix {
    /// A diagonal mass (d); entries positive, possibly infinite.
    ///
    /// # Errors
    /// [`ImpactError::Mass`] for an entry that is not positive.
    pub fn diagonal(entries: &[f64]) -> Result<Self, ImpactError> {
        let mut mass = Self { dimension: entries.len(), blocks: Vec::with_capacity(entries.len()) };
        for (start, &entry) in entries.iter().enumerate() {
            if entry.is_nan() || entry <= 0.0 {
                return Err(ImpactError::Mass);
            }
            mass.blocks.push(Block { start, size: 1, matrix: vec![entry], factor: vec![entry.sqrt()] });
        }
        Ok(mass)
    }

    /// A full mass matrix, d × d by rows.
    ///
    /// # Errors
    /// [`ImpactError`] when it is not square, not finite, not symmetric or not positive definite.
    pub fn dense(entries: &[f64], dimension: usize) -> Result<Self, ImpactError> {
        if entries.len() != dimension * dimension {
            return Err(ImpactError::Shape { what: "mass", found: entries.len(), expected: dimension * dimension });
        }
        Self::blocks([(entries, dimension)])
    }

    /// Diagonal blocks in order, each (entries by rows, size).
    ///
    /// # Errors
    /// As [`MassMatrix::dense`], for any block.
    pub fn blocks<'a>(blocks: impl IntoIterator<Item = (&'a [f64], usize)>) -> Result<Self, ImpactError> {
        let mut mass = Self { dimension: 0, blocks: Vec::new() };
        for (entries, size) in blocks {
            if entries.len() != size * size {
                return Err(ImpactError::Shape { what: "mass block", found: entries.len(), expected: size * size });
            }
            if !entries.iter().all(|a| a.is_finite()) {
                return Err(ImpactError::NotFinite("mass"));
            }
            let factor = cholesky(entries, size).ok_or(ImpactError::Mass)?;
            mass.blocks.push(Block { start: mass.dimension, size, matrix: entries.to_vec(), factor });
            mass.dimension += size;
        }
        Ok(mass)
    }

    /// Number of velocity coordinates d.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Kinetic energy ½ vᵀ M v (J) of the coordinates with finite mass.
    pub fn energy(&self, velocity: &[f64]) -> f64 {
        let mut twice = 0.0;
        for block in self.blocks.iter().filter(|b| !b.immovable()) {
            let v = &velocity[block.start..block.start + block.size];
            for r in 0..block.size {
                for c in 0..block.size {
                    twice += v[r] * block.matrix[r * block.size + c] * v[c];
                }
            }
        }
        twice / 2.0
    }

    /// n ← L⁻¹ n.
    pub fn whiten(&self, row: &mut [f64]) {
        self.blocks.iter().for_each(|block| block.whiten(row));
    }

    /// n ← L⁻¹ n for a row whose nonzeros stand at `columns` (ascending).
    pub fn whiten_at(&self, columns: &[usize], row: &mut [f64]) {
        let mut next = 0;
        for &j in columns {
            let at = self.block_of(j);
            if at >= next {
                self.blocks[at].whiten(row);
                next = at + 1;
            }
        }
    }

    /// y ← L⁻ᵀ y: from Euclidean coordinates to a velocity.
    pub fn whiten_transposed(&self, row: &mut [f64]) {
        for block in &self.blocks {
            let x = &mut row[block.start..block.start + block.size];
            if block.immovable() {
                x.fill(0.0);
                continue;
            }
            for r in (0..block.size).rev() {
                for below in r + 1..block.size {
                    x[r] -= block.factor[below * block.size + r] * x[below];
                }
                x[r] /= block.factor[r * block.size + r];
            }
        }
    }

    /// v ← Lᵀ v: from a velocity to Euclidean coordinates, where its length is √(vᵀ M v); immovable coordinates become 0.
    pub fn colour_transposed(&self, velocity: &mut [f64]) {
        for block in &self.blocks {
            let x = &mut velocity[block.start..block.start + block.size];
            if block.immovable() {
                x.fill(0.0);
                continue;
            }
            for r in 0..block.size {
                x[r] = (r..block.size).map(|below| block.factor[below * block.size + r] * x[below]).sum();
            }
        }
    }

    /// y ← L y: from Euclidean coordinates to a row.
    pub fn colour(&self, row: &mut [f64]) {
        for block in &self.blocks {
            let x = &mut row[block.start..block.start + block.size];
            if block.immovable() {
                x.fill(0.0);
                continue;
            }
            for r in (0..block.size).rev() {
                x[r] = (0..=r).map(|c| block.factor[r * block.size + c] * x[c]).sum();
            }
        }
    }

    /// v ← M v, the momentum; immovable coordinates become 0.
    pub fn momentum(&self, velocity: &mut [f64]) {
        self.colour_transposed(velocity);
        self.colour(velocity);
    }

    /// Largest finite entry of the matrix, its scale.
    pub fn largest_entry(&self) -> f64 {
        self.blocks.iter().filter(|b| !b.immovable()).flat_map(|b| &b.matrix).fold(0.0f64, |s, a| s.max(a.abs()))
    }

    /// The coordinates that a nonzero at `i` spreads to under L⁻¹.
    pub fn spread(&self, i: usize) -> std::ops::Range<usize> {
        let block = &self.blocks[self.block_of(i)];
        block.start..block.start + block.size
    }

    /// Whether coordinate `i` has infinite mass.
    pub fn is_immovable(&self, i: usize) -> bool {
        self.blocks[self.block_of(i)].immovable()
    }

    fn block_of(&self, i: usize) -> usize {
        self.blocks.partition_point(|b| b.start + b.size <= i)
    }
}

impl Block {
    fn immovable(&self) -> bool {
        self.matrix.first().is_some_and(|a| a.is_infinite())
    }

    fn whiten(&self, row: &mut [f64]) {
        let x = &mut row[self.start..self.start + self.size];
        if self.immovable() {
            x.fill(0.0);
            return;
        }
        for r in 0..self.size {
            for c in 0..r {
                x[r] -= self.factor[r * self.size + c] * x[c];
            }
            x[r] /= self.factor[r * self.size + r];
        }
    }
}

/// Lower Cholesky factor by rows, or none if the matrix is not symmetric positive definite.
fn cholesky(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; n * n];
    for r in 0..n {
        for c in 0..=r {
            let scale = (matrix[r * n + r] * matrix[c * n + c]).abs().sqrt();
            if (matrix[r * n + c] - matrix[c * n + r]).abs() > SYMMETRY * scale {
                return None;
            }
            let mut entry = matrix[r * n + c];
            for k in 0..c {
                entry -= factor[r * n + k] * factor[c * n + k];
            }
            if r == c {
                if entry.is_nan() || entry <= 0.0 {
                    return None;
                }
                factor[r * n + r] = entry.sqrt();
            } else {
                factor[r * n + c] = entry / factor[c * n + c];
            }
        }
    }
    Some(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_of_unit_mass_and_back() {
        let block = [2.0, 0.3, 0.1, 0.3, 1.0, 0.2, 0.1, 0.2, 3.0];
        let mass = MassMatrix::blocks([(&[4.0][..], 1), (&block[..], 3)]).unwrap();
        let v = [1.0, -2.0, 0.5, 3.0];
        let mut momentum = v;
        mass.momentum(&mut momentum);
        assert!((momentum[0] - 4.0).abs() < 1e-14);
        for r in 0..3 {
            let direct: f64 = (0..3).map(|c| block[r * 3 + c] * v[c + 1]).sum();
            assert!((momentum[r + 1] - direct).abs() < 1e-14);
        }
        let energy = momentum.iter().zip(&v).map(|(p, v)| p * v).sum::<f64>() / 2.0;
        assert!((mass.energy(&v) - energy).abs() < 1e-13);
        // M⁻¹ M v = v by the two triangular solves.
        mass.whiten(&mut momentum);
        mass.whiten_transposed(&mut momentum);
        assert!(momentum.iter().zip(&v).all(|(a, b)| (a - b).abs() < 1e-13));
    }

    #[test]
    fn what_is_no_mass_is_refused() {
        assert!(MassMatrix::diagonal(&[0.0]).is_err());
        assert!(MassMatrix::diagonal(&[f64::NAN]).is_err());
        assert!(MassMatrix::dense(&[1.0, 0.5, 0.0, 1.0], 2).is_err(), "not symmetric");
        assert!(MassMatrix::dense(&[1.0, f64::INFINITY, f64::INFINITY, 1.0], 2).is_err());
        assert!(MassMatrix::dense(&[1.0; 3], 2).is_err());
    }
}
