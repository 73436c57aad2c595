//! How the coefficients of two bodies become that of their pair, with its slope: the one place that says so, theory (3.13)-(3.15).

use crate::keyed::{keyed, worded};
use crate::model::Body;
use carom_geometry::Geometry;

worded! {
    /// The rule for one coefficient, in the order in which rules win: where two bodies ask for different ones, the first of the two holds.
    #[derive(Default, PartialOrd, Ord)]
    Combine {
        /// The larger of the two.
        Max = "max",
        /// Their product.
        Product = "product",
        /// The root of their product.
        Geometric = "geometric",
        /// The smaller of the two.
        Min = "min",
        /// Half their sum.
        #[default]
        Mean = "mean",
    }
}

/// The slope of a pair's coefficient by those of its two bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// By the first and by the second.
    pub weights: [f64; 2],
    /// It is the slope on both sides. A tie under `max` or `min` has two of them, and the mean stands here; the root at 0 has an infinite one,
    /// and 0 stands here.
    pub smooth: bool,
}

impl Combine {
    /// The rule of two bodies that ask for these, theory (3.15).
    pub fn of_two(self, other: Self) -> Self {
        self.min(other)
    }

    /// The pair's coefficient, theory (3.13).
    pub fn value(self, [a, b]: [f64; 2]) -> f64 {
        match self {
            Combine::Max => a.max(b),
            Combine::Product => a * b,
            Combine::Geometric => a.sqrt() * b.sqrt(),
            Combine::Min => a.min(b),
            Combine::Mean => 0.5 * (a + b),
        }
    }

    /// Its slope, theory (3.14).
    pub fn slope(self, [a, b]: [f64; 2]) -> Slope {
        let all = |weights| Slope { weights, smooth: true };
        match self {
            Combine::Max | Combine::Min if a == b => Slope { weights: [0.5, 0.5], smooth: false },
            Combine::Max => all(if a > b { [1.0, 0.0] } else { [0.0, 1.0] }),
            Combine::Min => all(if a < b { [1.0, 0.0] } else { [0.0, 1.0] }),
            Combine::Product => all([b, a]),
            Combine::Geometric => {
                let by = |x: f64, other: f64| if x > 0.0 { 0.5 * (other / x).sqrt() } else { 0.0 };
                Slope { weights: [by(a, b), by(b, a)], smooth: a > 0.0 && b > 0.0 }
            }
            Combine::Mean => all([0.5, 0.5]),
        }
    }
}

/// The rules of a body or of a scene, one for each coefficient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Combination {
    /// For friction.
    pub friction: Combine,
    /// For restitution.
    pub restitution: Combine,
}

keyed! {
    /// The coefficients of contact: of a body, of a pair of bodies.
    Coefficients of f64 {
        /// Of dry friction.
        friction,
        /// Of restitution, 0 to 1.
        restitution,
        /// Arm of rolling friction \[m\]; a pair takes the mean.
        rolling,
        /// Arm of torsional friction \[m\]; a pair takes the mean.
        torsional,
    }
}

/// A coefficient of two bodies that touch, in the order of [`Coefficients`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coefficient {
    /// Of dry friction.
    Friction,
    /// Of restitution.
    Restitution,
    /// The arm of rolling friction.
    Rolling,
    /// The arm of torsional friction.
    Torsional,
}

impl Coefficient {
    /// The rule of two bodies and what each brings.
    fn brought<G: Geometry>(self, a: &Body<G>, b: &Body<G>) -> (Combine, [f64; 2]) {
        let rule = match self {
            Coefficient::Friction => a.combine.friction.of_two(b.combine.friction),
            Coefficient::Restitution => a.combine.restitution.of_two(b.combine.restitution),
            // Arms take the mean.
            Coefficient::Rolling | Coefficient::Torsional => Combine::Mean,
        };
        (rule, [a, b].map(|body| body.surface.list()[self as usize]))
    }
    /// That of two bodies without a rule of their own.
    pub(crate) fn of_two<G: Geometry>(self, a: &Body<G>, b: &Body<G>) -> f64 {
        let (rule, values) = self.brought(a, b);
        rule.value(values)
    }
    /// Its slope with respect to those of the two bodies.
    pub(crate) fn slope<G: Geometry>(self, a: &Body<G>, b: &Body<G>) -> Slope {
        let (rule, values) = self.brought(a, b);
        rule.slope(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_is_its_formula() {
        let value = |rule: Combine| rule.value([0.2, 0.8]);
        assert_eq!(Combine::ALL.map(value), [0.8, 0.2 * 0.8, 0.2f64.sqrt() * 0.8f64.sqrt(), 0.2, 0.5]);
        assert!((value(Combine::Geometric) - 0.4).abs() < 1e-15);
    }

    #[test]
    fn slopes_are_differences() {
        let step = 1e-6;
        for rule in Combine::ALL {
            for [a, b] in [[0.2, 0.8], [0.8, 0.2], [1.5, 0.03]] {
                let Slope { weights, smooth } = rule.slope([a, b]);
                assert!(smooth, "{rule:?}");
                let by_a = (rule.value([a + step, b]) - rule.value([a - step, b])) / (2.0 * step);
                let by_b = (rule.value([a, b + step]) - rule.value([a, b - step])) / (2.0 * step);
                assert!((weights[0] - by_a).abs() < 1e-8 && (weights[1] - by_b).abs() < 1e-8, "{rule:?} {weights:?} {by_a} {by_b}");
            }
        }
    }

    #[test]
    fn ties_and_the_root_at_nought_are_told() {
        for rule in Combine::ALL {
            let tied = matches!(rule, Combine::Max | Combine::Min);
            assert_eq!(
                rule.slope([0.3, 0.3]),
                Slope { weights: if rule == Combine::Product { [0.3, 0.3] } else { [0.5; 2] }, smooth: !tied }
            );
        }
        for pair in [[0.0, 0.5], [0.5, 0.0], [0.0, 0.0]] {
            let Slope { weights, smooth } = Combine::Geometric.slope(pair);
            assert!(!smooth && weights == [0.0, 0.0], "{pair:?}: {weights:?}");
            assert!(Combine::Product.slope(pair).smooth);
        }
    }

    #[test]
    fn the_first_in_the_list_wins() {
        for (i, a) in Combine::ALL.into_iter().enumerate() {
            for (j, b) in Combine::ALL.into_iter().enumerate() {
                assert_eq!(a.of_two(b), Combine::ALL[i.min(j)]);
            }
            assert_eq!(Combine::named(a.name()), Some(a));
        }
    }
}
