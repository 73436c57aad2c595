//! A linear program of small maps: the derivative of a step as a list of local Jacobians, theory (17.1)-(17.4).
//!
//! Every quantity of the step owns a block of slots, written once. An element adds a matrix times one block to another; a solve answers a
//! square system. Run forwards over the slots this is the tangent of the step, run backwards with every matrix transposed it is the
//! adjoint: both from one text, so that <J u, w> = <u, J' w> holds to rounding.

use super::pivoted::Pivoted;

/// Consecutive slots of one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    at: u32,
    len: u32,
}

impl Block {
    /// Number of slots.
    pub fn len(self) -> usize {
        self.len as usize
    }
    /// Slots from `first` on, `len` of them.
    pub fn part(self, first: usize, len: usize) -> Block {
        debug_assert!(first + len <= self.len(), "a part lies inside its block");
        Block { at: self.at + first as u32, len: len as u32 }
    }
    /// Where the slots stand.
    pub fn range(self) -> std::ops::Range<usize> {
        self.at as usize..(self.at + self.len) as usize
    }
}

/// What an element does.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// out += s in.
    Scaled(f64),
    /// out += M in, M by rows from this place on.
    Matrix(u32),
    /// out := -S^-1 in, with this factor.
    Solve(u32),
}

#[derive(Clone, Copy, Debug)]
struct Element {
    out: Block,
    input: Block,
    kind: Kind,
}

/// The maps of one step in their order.
#[derive(Debug, Default)]
pub(crate) struct Program {
    slots: u32,
    elements: Vec<Element>,
    values: Vec<f64>,
    factors: Vec<Pivoted>,
    used: usize,
    column: Vec<f64>,
    basis: Vec<f64>,
}

impl Program {
    /// Forgets everything but keeps the room.
    pub fn clear(&mut self) {
        self.slots = 0;
        self.used = 0;
        self.elements.clear();
        self.values.clear();
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// New slots, zero until something is added to them.
    pub fn fresh(&mut self, len: usize) -> Block {
        let block = Block { at: self.slots, len: len as u32 };
        self.slots += len as u32;
        block
    }

    /// out += s in.
    pub fn scaled(&mut self, out: Block, input: Block, factor: f64) {
        debug_assert_eq!(out.len, input.len);
        if factor != 0.0 && out.len > 0 {
            self.elements.push(Element { out, input, kind: Kind::Scaled(factor) });
        }
    }

    /// out += in.
    pub fn copy(&mut self, out: Block, input: Block) {
        self.scaled(out, input, 1.0);
    }

    /// out += L in, with L given by what it does to a tangent: `map(x, y)` writes L x into y, which starts at zero.
    pub fn linear(&mut self, out: Block, input: Block, mut map: impl FnMut(&[f64], &mut [f64])) {
        let (rows, columns) = (out.len(), input.len());
        if rows == 0 || columns == 0 {
            return;
        }
        let first = self.values.len();
        self.values.resize(first + rows * columns, 0.0);
        self.basis.clear();
        self.basis.resize(columns, 0.0);
        self.column.resize(rows, 0.0);
        let mut any = false;
        for j in 0..columns {
            self.basis[j] = 1.0;
            self.column[..rows].fill(0.0);
            map(&self.basis, &mut self.column[..rows]);
            self.basis[j] = 0.0;
            for i in 0..rows {
                self.values[first + i * columns + j] = self.column[i];
                any |= self.column[i] != 0.0;
            }
        }
        if any {
            self.elements.push(Element { out, input, kind: Kind::Matrix(first as u32) });
        } else {
            self.values.truncate(first);
        }
    }

    /// out += M in, M by rows.
    pub fn matrix(&mut self, out: Block, input: Block, rows: &[f64]) {
        debug_assert_eq!(rows.len(), out.len() * input.len());
        if rows.iter().all(|&m| m == 0.0) {
            return;
        }
        let first = self.values.len();
        self.values.extend_from_slice(rows);
        self.elements.push(Element { out, input, kind: Kind::Matrix(first as u32) });
    }

    /// out += c in for a single input slot.
    pub fn column(&mut self, out: Block, input: Block, values: &[f64]) {
        debug_assert_eq!(input.len(), 1);
        self.matrix(out, input, values);
    }

    /// out := -S^-1 in; `fill` writes S by rows. Returns how many unknowns S left undetermined.
    pub fn solve(&mut self, out: Block, input: Block, fill: impl FnOnce(&mut [f64])) -> usize {
        debug_assert_eq!(out.len, input.len);
        if self.used == self.factors.len() {
            self.factors.push(Pivoted::default());
        }
        let factor = &mut self.factors[self.used];
        fill(factor.matrix(out.len()));
        let undetermined = out.len() - factor.factor();
        self.elements.push(Element { out, input, kind: Kind::Solve(self.used as u32) });
        self.used += 1;
        undetermined
    }

    /// The tangent: from the values of the input slots to all others.
    pub fn tangent(&self, x: &mut [f64], scratch: &mut Vec<f64>) {
        for element in &self.elements {
            let (out, input) = (element.out.range(), element.input.range());
            match element.kind {
                Kind::Scaled(factor) => {
                    for (o, i) in out.zip(input) {
                        x[o] += factor * x[i];
                    }
                }
                Kind::Matrix(first) => {
                    let mut entry = first as usize;
                    for o in out {
                        let mut sum = 0.0;
                        for i in input.clone() {
                            sum += self.values[entry] * x[i];
                            entry += 1;
                        }
                        x[o] += sum;
                    }
                }
                Kind::Solve(factor) => {
                    scratch.clear();
                    scratch.extend_from_slice(&x[input]);
                    self.factors[factor as usize].solve(scratch);
                    for (o, s) in out.zip(scratch.iter()) {
                        x[o] -= s;
                    }
                }
            }
        }
    }

    /// The adjoint: from the cotangents of the output slots to all others.
    pub fn adjoint(&self, x: &mut [f64], scratch: &mut Vec<f64>) {
        for element in self.elements.iter().rev() {
            let (out, input) = (element.out.range(), element.input.range());
            match element.kind {
                Kind::Scaled(factor) => {
                    for (o, i) in out.zip(input) {
                        x[i] += factor * x[o];
                    }
                }
                Kind::Matrix(first) => {
                    let mut entry = first as usize;
                    for o in out {
                        let cotangent = x[o];
                        if cotangent == 0.0 {
                            entry += input.len();
                            continue;
                        }
                        for i in input.clone() {
                            x[i] += self.values[entry] * cotangent;
                            entry += 1;
                        }
                    }
                }
                Kind::Solve(factor) => {
                    scratch.clear();
                    scratch.extend_from_slice(&x[out]);
                    self.factors[factor as usize].solve_transposed(scratch);
                    for (i, s) in input.zip(scratch.iter()) {
                        x[i] -= s;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y = A x, z = -S^-1 (B y + x), w = z + 2 y.
    fn sample(program: &mut Program) -> (Block, Block) {
        let x = program.fresh(3);
        let y = program.fresh(2);
        let r = program.fresh(2);
        let z = program.fresh(2);
        let w = program.fresh(2);
        program.matrix(y, x, &[1.0, 2.0, -1.0, 0.5, 0.0, 3.0]);
        program.linear(r, y, |a, b| {
            b[0] = a[0] - a[1];
            b[1] = 4.0 * a[1];
        });
        program.copy(r, x.part(1, 2));
        assert_eq!(program.solve(z, r, |s| s.copy_from_slice(&[2.0, 1.0, -1.0, 3.0])), 0);
        program.copy(w, z);
        program.scaled(w, y, 2.0);
        (x, w)
    }

    #[test]
    fn adjoint_is_the_transpose_of_the_tangent() {
        let mut program = Program::default();
        let (input, output) = sample(&mut program);
        let mut scratch = Vec::new();
        let (u, c) = ([0.3, -1.2, 0.7], [1.1, -0.4]);
        let mut forward = vec![0.0; program.slots()];
        forward[input.range()].copy_from_slice(&u);
        program.tangent(&mut forward, &mut scratch);
        let mut backward = vec![0.0; program.slots()];
        backward[output.range()].copy_from_slice(&c);
        program.adjoint(&mut backward, &mut scratch);
        let left: f64 = forward[output.range()].iter().zip(&c).map(|(a, b)| a * b).sum();
        let right: f64 = backward[input.range()].iter().zip(&u).map(|(a, b)| a * b).sum();
        assert!((left - right).abs() < 1e-14, "{left} {right}");
        assert!(left.abs() > 0.1);
    }
}
