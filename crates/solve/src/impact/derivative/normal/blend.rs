//! How much of the elastic answer a blend takes, and how that changes, theory (16.12).

use super::{NormalPhase, Scratch};
use crate::impact::blend::LEAST_NORM_SHIFT;

/// Shifts and weights of (5.13): 2 w(δ) - w(2δ).
const EXTRAPOLATION: [(f64, f64); 2] = [(LEAST_NORM_SHIFT, 2.0), (2.0 * LEAST_NORM_SHIFT, -1.0)];

impl NormalPhase {
    /// Weights and coefficients of the blend, theory (5.12)-(5.13).
    pub(super) fn weigh(&mut self) {
        let r = self.reduction.rest.len();
        let scratch = &mut self.scratch;
        let mix = &mut self.mix;
        mix.weights.clear();
        mix.weights.resize(r, 0.0);
        for (k, (shift, factor)) in EXTRAPOLATION.into_iter().enumerate() {
            mix.shifted[k].clear();
            mix.shifted[k].resize(r, 0.0);
            self.solver.solve(&self.gram, &scratch.everyone, &scratch.normalised, shift, &mut mix.shifted[k]);
            mix.supports[k].clear();
            for i in 0..r {
                mix.weights[i] += factor * mix.shifted[k][i];
                if mix.shifted[k][i] > 0.0 {
                    mix.supports[k].push(i);
                }
            }
        }
        let groups = self.gram.groups();
        for list in [&mut mix.coefficients, &mut mix.sums] {
            list.clear();
            list.resize(groups, 0.0);
        }
        mix.mixed.clear();
        mix.mixed.resize(groups, false);
        let mut first = vec![f64::NAN; groups];
        for i in 0..r {
            mix.weights[i] = mix.weights[i].max(0.0);
            let group = self.gram.group(i);
            mix.sums[group] += mix.weights[i];
            mix.coefficients[group] += mix.weights[i] * mix.restitution[i];
            if first[group].is_nan() {
                first[group] = mix.restitution[i];
            }
            mix.mixed[group] |= mix.restitution[i] != first[group];
        }
        for group in 0..groups {
            let c = if mix.sums[group] > 0.0 { (mix.coefficients[group] / mix.sums[group]).clamp(0.0, 1.0) } else { 0.0 };
            mix.coefficients[group] = if mix.mixed[group] || mix.sums[group] <= 0.0 { c } else { first[group] };
        }
    }

    /// Change of the coefficient of every group into `coefficients`, theory (16.12).
    pub(super) fn coefficient_tangent(&mut self, scratch: &mut Scratch, restitution_dot: &[f64]) {
        let r = self.reduction.rest.len();
        let Scratch { matrix_dot, approach_dot, x, weights: weights_dot, scales: scale_dot, coefficients, .. } = scratch;
        weights_dot.clear();
        weights_dot.resize(r, 0.0);
        if self.mix.mixed.iter().any(|mixed| *mixed) {
            let (matrix, approach) = (&self.reduction.matrix, &self.reduction.approach);
            let scale = |i: usize| self.gram.inverse_scale(i);
            scale_dot.clear();
            scale_dot.extend((0..r).map(|i| -scale(i).powi(3) * matrix_dot[i * (r + 1)] / 2.0));
            for (k, (shift, factor)) in EXTRAPOLATION.into_iter().enumerate() {
                let (set, w) = (&self.mix.supports[k], &self.mix.shifted[k]);
                if set.is_empty() || !self.subset.factor_normalised(&self.gram, set, shift) {
                    continue;
                }
                x.clear();
                x.extend(set.iter().map(|&i| {
                    let mut right = scale(i) * approach_dot[i] + scale_dot[i] * approach[i];
                    for &j in set {
                        right += (scale(i) * scale(j) * matrix_dot[i * r + j]
                            + matrix[i * r + j] * (scale_dot[i] * scale(j) + scale(i) * scale_dot[j]))
                            * w[j];
                    }
                    -right
                }));
                self.subset.solve(x);
                set.iter().zip(x.iter()).for_each(|(&i, x)| weights_dot[i] += factor * x);
            }
        }
        coefficients.clear();
        coefficients.resize(self.gram.groups(), 0.0);
        for i in 0..r {
            let group = self.gram.group(i);
            if self.mix.sums[group] > 0.0 && self.mix.weights[i] > 0.0 {
                let mut part = self.mix.weights[i] * restitution_dot[self.reduction.rest[i]];
                if self.mix.mixed[group] {
                    part += (self.mix.restitution[i] - self.mix.coefficients[group]) * weights_dot[i];
                }
                coefficients[group] += part / self.mix.sums[group];
            }
        }
    }

    /// The transpose of [`NormalPhase::coefficient_tangent`], added to the cotangents.
    pub(super) fn coefficient_adjoint(&mut self, scratch: &mut Scratch, restitution_bar: &mut [f64]) {
        let r = self.reduction.rest.len();
        let Scratch {
            matrix_dot: matrix_bar, approach_dot: approach_bar, x, weights: weights_bar, scales: scale_bar, coefficients, ..
        } = scratch;
        weights_bar.clear();
        weights_bar.resize(r, 0.0);
        for i in 0..r {
            let group = self.gram.group(i);
            if self.mix.sums[group] > 0.0 && self.mix.weights[i] > 0.0 {
                let part = coefficients[group] / self.mix.sums[group];
                restitution_bar[self.reduction.rest[i]] += self.mix.weights[i] * part;
                if self.mix.mixed[group] {
                    weights_bar[i] = (self.mix.restitution[i] - self.mix.coefficients[group]) * part;
                }
            }
        }
        if !self.mix.mixed.iter().any(|mixed| *mixed) {
            return;
        }
        let (matrix, approach) = (&self.reduction.matrix, &self.reduction.approach);
        let scale = |i: usize| self.gram.inverse_scale(i);
        scale_bar.clear();
        scale_bar.resize(r, 0.0);
        for (k, (shift, factor)) in EXTRAPOLATION.into_iter().enumerate() {
            let (set, w) = (&self.mix.supports[k], &self.mix.shifted[k]);
            if set.is_empty() || !self.subset.factor_normalised(&self.gram, set, shift) {
                continue;
            }
            x.clear();
            x.extend(set.iter().map(|&i| -factor * weights_bar[i]));
            self.subset.solve_transpose(x);
            for (&i, &y) in set.iter().zip(x.iter()) {
                approach_bar[i] += scale(i) * y;
                scale_bar[i] += approach[i] * y;
                for &j in set {
                    let entry_bar = y * w[j];
                    matrix_bar[i * r + j] += scale(i) * scale(j) * entry_bar;
                    scale_bar[i] += matrix[i * r + j] * scale(j) * entry_bar;
                    scale_bar[j] += matrix[i * r + j] * scale(i) * entry_bar;
                }
            }
        }
        for i in 0..r {
            matrix_bar[i * (r + 1)] -= scale(i).powi(3) * scale_bar[i] / 2.0;
        }
    }
}
