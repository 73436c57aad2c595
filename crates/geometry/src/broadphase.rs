//! Pairs of boxes that overlap: sort and sweep along the axis of largest spread, theory (7.15).

use crate::bounds::Aabb;
use carom_math::{Space, Vector};

/// Insertion sort gives up for a full sort after this many moves per box: then the boxes are not nearly in order.
const MOVES_PER_BOX: usize = 16;

/// A box on its way through the sweep.
#[derive(Clone, Copy, Debug)]
struct Entry<S: Space> {
    bounds: Aabb<S>,
    index: usize,
}

/// Finds overlapping pairs; keeps the order of the last call, so that a scene that moved little is sorted in linear time.
#[derive(Clone, Debug)]
pub struct Broadphase<S: Space> {
    /// Bounded boxes, ascending along the axis as of the last call.
    entries: Vec<Entry<S>>,
    /// Boxes that reach to infinity somewhere (or are not numbers): tested against all.
    unbounded: Vec<usize>,
    axis: usize,
}

impl<S: Space> Default for Broadphase<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Space> Broadphase<S> {
    /// Without a past.
    pub fn new() -> Self {
        Broadphase { entries: Vec::new(), unbounded: Vec::new(), axis: 0 }
    }

    /// Fills `out` (cleared first) with every pair i < j of boxes that share a point and pass the filter, ascending by (i, j)
    /// whatever the calls before. The filter is a predicate: it is asked once per overlapping pair, in no particular order.
    pub fn pairs(&mut self, boxes: &[Aabb<S>], mut filter: impl FnMut(usize, usize) -> bool, out: &mut Vec<(usize, usize)>) {
        out.clear();
        let mut take = |i: usize, j: usize| {
            let pair = (i.min(j), i.max(j));
            if filter(pair.0, pair.1) {
                out.push(pair);
            }
        };
        self.refresh(boxes);
        self.sort();

        let axis = self.axis;
        for (k, low) in self.entries.iter().enumerate() {
            let end = low.bounds.max[axis];
            for high in &self.entries[k + 1..] {
                if high.bounds.min[axis] > end {
                    break;
                }
                if low.bounds.overlaps(&high.bounds) {
                    take(low.index, high.index);
                }
            }
        }
        for (k, &i) in self.unbounded.iter().enumerate() {
            for &j in &self.unbounded[k + 1..] {
                if boxes[i].overlaps(&boxes[j]) {
                    take(i, j);
                }
            }
            for entry in &self.entries {
                if boxes[i].overlaps(&entry.bounds) {
                    take(i, entry.index);
                }
            }
        }
        out.sort_unstable();
    }

    /// Takes the new boxes in the old order (or in theirs, when not the same boxes are bounded) and chooses the axis.
    fn refresh(&mut self, boxes: &[Aabb<S>]) {
        let is_bounded = |b: &Aabb<S>| b.min.is_finite() && b.max.is_finite();
        self.unbounded.clear();
        self.unbounded.extend((0..boxes.len()).filter(|&i| !is_bounded(&boxes[i])));
        let count = boxes.len() - self.unbounded.len();
        let same = self.entries.len() == count && self.entries.iter().all(|e| boxes.get(e.index).is_some_and(is_bounded));
        if same {
            for entry in &mut self.entries {
                entry.bounds = boxes[entry.index];
            }
        } else {
            self.entries.clear();
            self.entries.extend((0..boxes.len()).filter(|&i| is_bounded(&boxes[i])).map(|index| Entry { bounds: boxes[index], index }));
        }
        // Summed in the order of the boxes, not of the sweep, so that the axis does not depend on the past. Ties: the first axis.
        let middle = |b: &Aabb<S>| (b.min + b.max) * 0.5;
        let bounded = || boxes.iter().filter(|b| is_bounded(b)).map(middle);
        let weight = 1.0 / (count.max(1) as f64);
        let mean = bounded().fold(S::Lin::zero(), |sum, m| sum + m * weight);
        let spread = bounded().map(|m| m - mean).fold(S::Lin::zero(), |sum, d| sum + d.scale(d));
        self.axis = (1..S::DIM).fold(0, |best, k| if spread[k] > spread[best] { k } else { best });
    }

    /// Ascending by lower end, then by index.
    fn sort(&mut self) {
        let axis = self.axis;
        let before = |a: &Entry<S>, b: &Entry<S>| {
            let (x, y) = (a.bounds.min[axis], b.bounds.min[axis]);
            x < y || (x == y && a.index < b.index)
        };
        let mut budget = MOVES_PER_BOX * self.entries.len();
        for k in 1..self.entries.len() {
            let entry = self.entries[k];
            let mut hole = k;
            while hole > 0 && before(&entry, &self.entries[hole - 1]) {
                self.entries[hole] = self.entries[hole - 1];
                hole -= 1;
            }
            self.entries[hole] = entry;
            if k - hole > budget {
                self.entries.sort_unstable_by(|a, b| a.bounds.min[axis].total_cmp(&b.bounds.min[axis]).then(a.index.cmp(&b.index)));
                return;
            }
            budget -= k - hole;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_math::{Planar, Spatial};

    struct Random(u64);
    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    fn naive<S: Space>(boxes: &[Aabb<S>]) -> Vec<(usize, usize)> {
        let all = (0..boxes.len()).flat_map(|i| (i + 1..boxes.len()).map(move |j| (i, j)));
        all.filter(|&(i, j)| boxes[i].overlaps(&boxes[j])).collect()
    }

    fn agrees_with_naive<S: Space>() {
        let mut random = Random(3);
        let mut kept = Broadphase::<S>::new();
        let mut out = Vec::new();
        let mut found = 0;
        for round in 0..200 {
            let count = (random.next() * 60.0) as usize;
            let squeeze = random.next();
            let mut boxes: Vec<Aabb<S>> = (0..count)
                .map(|_| {
                    let mut b = Aabb::<S>::of_point(S::Lin::zero());
                    for k in 0..S::DIM {
                        // Coarse numbers make touching and equal boxes common.
                        b.min[k] = (random.next() * 20.0 * if k == round % S::DIM { 1.0 } else { squeeze }).round() * 0.5;
                        b.max[k] = b.min[k] + (random.next() * 4.0).round() * 0.5;
                    }
                    b
                })
                .collect();
            if count > 4 {
                boxes[1] = Aabb::everything();
                boxes[3].max[0] = f64::INFINITY;
                boxes[4].min[S::DIM - 1] = f64::NAN;
            }
            for _ in 0..3 {
                kept.pairs(&boxes, |_, _| true, &mut out);
                assert_eq!(out, naive(&boxes));
                found += out.len();
                kept.pairs(&boxes, |i, j| (i + j) % 2 == 0, &mut out);
                assert_eq!(out, naive(&boxes).into_iter().filter(|(i, j)| (i + j) % 2 == 0).collect::<Vec<_>>());
                for b in &mut boxes {
                    for k in 0..S::DIM {
                        let shift = (random.next() - 0.5).round() * 0.5;
                        b.min[k] += shift;
                        b.max[k] += shift;
                    }
                }
            }
        }
        assert!(found > 1000, "the boxes must meet: {found}");
    }

    #[test]
    fn planar_pairs_agree_with_naive() {
        agrees_with_naive::<Planar>();
    }

    #[test]
    fn spatial_pairs_agree_with_naive() {
        agrees_with_naive::<Spatial>();
    }

    #[test]
    #[ignore = "measures time"]
    fn cost_of_a_thousand() {
        let mut random = Random(5);
        let mut boxes: Vec<Aabb<Planar>> =
            (0..1000).map(|_| Aabb::of_point(nalgebra::Vector2::new(random.next() * 100.0, random.next() * 30.0)).grown(0.5)).collect();
        let mut sweep = Broadphase::new();
        let mut out = Vec::new();
        let rounds = 1000;
        let mut best = f64::INFINITY;
        for _ in 0..rounds {
            for b in &mut boxes {
                *b = b.grown(1e-4 * (random.next() - 0.5));
            }
            let start = std::time::Instant::now();
            sweep.pairs(&boxes, |_, _| true, &mut out);
            best = best.min(start.elapsed().as_secs_f64() * 1e6);
        }
        println!("{best:.1} us per call, {} pairs", out.len());
    }
}
