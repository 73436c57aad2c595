//! A program run over its slots: forwards the tangent of the step, backwards its adjoint, theory (17.3)-(17.4).

use super::maps::{Numbers, small};
use super::{Element, Program};
use crate::model::Model;
use carom_geometry::Geometry;

impl<G: Geometry> Program<G> {
    /// The tangent: from the values of the input slots to all others.
    pub fn tangent(&mut self, model: &Model<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        for element in &self.elements {
            match *element {
                Element::Scaled { out, input, factor } => {
                    for (o, i) in out.range().zip(input.range()) {
                        x[o] += factor * x[i];
                    }
                }
                Element::Matrix { out, input, first } => {
                    let mut entry = first as usize;
                    for o in out.range() {
                        let mut sum = 0.0;
                        for i in input.range() {
                            sum += self.numbers.values[entry] * x[i];
                            entry += 1;
                        }
                        x[o] += sum;
                    }
                }
                Element::Column { out, input, first } => {
                    let value = x[input as usize];
                    let column = &self.numbers.values[first as usize..][..out.len()];
                    x[out.range()].iter_mut().zip(column).for_each(|(o, c)| *o += c * value);
                }
                Element::Dense { out, input, factor } => {
                    scratch.clear();
                    scratch.extend_from_slice(&x[input.range()]);
                    self.numbers.dense[factor as usize].solve(scratch);
                    for (o, s) in out.range().zip(scratch.iter()) {
                        x[o] -= s;
                    }
                }
                Element::Sparse { out, input, factor } => self.sparse.solve(factor, input.range(), out.range(), x, scratch),
                Element::Joint(k) => self.maps.joints[k as usize].tangent(model, x),
                Element::Shaped(k) => self.sites.tangent(k, model, x),
                Element::Point(k) => self.maps.points[k as usize].tangent(&self.sites, x),
                Element::Law(k) => self.large.laws.used[k as usize].tangent(x),
                Element::LinkageMove(k) => self.large.linkages[k as usize].move_tangent(model, &mut self.sparse, x, scratch),
                Element::LinkageFinish(k) => self.large.linkages[k as usize].finish_tangent(model, &mut self.sparse, x, scratch),
                Element::Strike(k) => self.large.strikes.used[k as usize].tangent(&self.sites, x),
                Element::PatchMove(k) => self.large.patches.used[k as usize].move_tangent(&self.sites, &mut self.sparse, x, scratch),
                Element::PatchFinish(k) => self.large.patches.used[k as usize].finish_tangent(&self.sites, &mut self.sparse, x, scratch),
                _ => small!(self.maps, *element, map => map.tangent(x)),
            }
        }
    }

    /// The adjoint: from the cotangents of the output slots to all others. What it leaves to the program before this step is asked for
    /// by `settle`.
    pub fn adjoint(&mut self, model: &Model<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        for element in self.elements.iter().rev() {
            match *element {
                Element::Scaled { out, input, factor } => {
                    for (o, i) in out.range().zip(input.range()) {
                        x[i] += factor * x[o];
                    }
                }
                Element::Matrix { out, input, first } => {
                    let mut entry = first as usize;
                    for o in out.range() {
                        let cotangent = x[o];
                        if cotangent == 0.0 {
                            entry += input.len();
                            continue;
                        }
                        for i in input.range() {
                            x[i] += self.numbers.values[entry] * cotangent;
                            entry += 1;
                        }
                    }
                }
                Element::Column { out, input, first } => {
                    let column = &self.numbers.values[first as usize..][..out.len()];
                    let sum: f64 = x[out.range()].iter().zip(column).map(|(o, c)| c * o).sum();
                    x[input as usize] += sum;
                }
                Element::Dense { out, input, factor } => {
                    scratch.clear();
                    scratch.extend_from_slice(&x[out.range()]);
                    let Numbers { dense, alone, .. } = &mut self.numbers;
                    dense[factor as usize].solve_transposed(scratch.as_chunks_mut::<1>().0, alone);
                    for (i, s) in input.range().zip(scratch.iter()) {
                        x[i] -= s;
                    }
                }
                Element::Sparse { out, input, factor } => self.sparse.solve_transposed(factor, input.range(), out.range(), x, scratch),
                Element::Joint(k) => self.maps.joints[k as usize].adjoint(model, x),
                Element::Shaped(k) => self.sites.adjoint(k, model, x, scratch),
                Element::Point(k) => self.maps.points[k as usize].adjoint(&self.sites, x),
                Element::Law(k) => self.large.laws.used[k as usize].adjoint(x),
                Element::LinkageMove(k) => {
                    self.large.linkages[k as usize].move_adjoint(model, &mut self.sparse, &mut self.large.joint_sums, x, scratch)
                }
                Element::LinkageFinish(k) => self.large.linkages[k as usize].finish_adjoint(model, &mut self.sparse, x, scratch),
                Element::Strike(k) => self.large.strikes.used[k as usize].adjoint(&self.sites, x),
                Element::PatchMove(k) => self.large.patches.used[k as usize].move_adjoint(&self.sites, &mut self.sparse, x, scratch),
                Element::PatchFinish(k) => self.large.patches.used[k as usize].finish_adjoint(&self.sites, &mut self.sparse, x, scratch),
                _ => small!(self.maps, *element, map => map.adjoint(x)),
            }
        }
        self.sites.settle(model, x, scratch);
    }

    /// Adds what the last adjoint left waiting, without an end: the same program is run again.
    pub fn settle_here(&mut self, model: &Model<G>, parameters: &mut [f64], scratch: &mut Vec<f64>) {
        self.sites.settle_here(model, parameters, scratch);
        self.large.joint_sums.settle(model, parameters);
    }

    /// Adds what the last adjoint left waiting to the gradient with respect to the parameters, whose slots are the first.
    pub fn settle(&mut self, model: &Model<G>, parameters: &mut [f64], scratch: &mut Vec<f64>) {
        self.sites.turn_over();
        self.sites.settle(model, parameters, scratch);
        self.large.joint_sums.settle(model, parameters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradient::schedule::program::Block;
    use carom_math::Planar;

    /// y = A x, z = -S^-1 (B y + x), w = z + 2 y.
    fn sample(program: &mut Program<Planar>) -> (Block, Block) {
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
        let mut program = Program::<Planar>::default();
        let model = Model::new("");
        let (input, output) = sample(&mut program);
        let mut scratch = Vec::new();
        let (u, c) = ([0.3, -1.2, 0.7], [1.1, -0.4]);
        let mut forward = vec![0.0; program.slots()];
        forward[input.range()].copy_from_slice(&u);
        program.tangent(&model, &mut forward, &mut scratch);
        let mut backward = vec![0.0; program.slots()];
        backward[output.range()].copy_from_slice(&c);
        program.adjoint(&model, &mut backward, &mut scratch);
        let left: f64 = forward[output.range()].iter().zip(&c).map(|(a, b)| a * b).sum();
        let right: f64 = backward[input.range()].iter().zip(&u).map(|(a, b)| a * b).sum();
        assert!((left - right).abs() < 1e-14, "{left} {right}");
        assert!(left.abs() > 0.1);
    }
}
