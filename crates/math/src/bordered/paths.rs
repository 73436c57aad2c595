//! Many rows inserted into one factor at once, each kept along its path in the elimination tree only, theory (17.46)-(17.48).
//!
//! [`super::Border`] holds one contact and a vector of the whole length for each of its rows; sweeps over hundreds of contacts need them all,
//! again and again. Here an inserted row is G^-1 B, A = G G', on the scalar rows that it reaches.

use super::BorderError;
use crate::ldl::{Factor, Reach};

/// Inserted rows that share a path: those of one contact.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Scalar rows of the path: a range of `touched`.
    begin: usize,
    end: usize,
    /// Place of its first row's values; each further row follows.
    at: usize,
}

/// Rows inserted into a factor, one group after another; scratch is kept.
#[derive(Clone, Debug, Default)]
pub struct PathRows {
    groups: Vec<Group>,
    touched: Vec<u32>,
    values: Vec<f64>,
    dense: Vec<f64>,
    reach: Reach,
}

impl PathRows {
    /// Forgets the rows.
    pub fn clear(&mut self) {
        self.groups.clear();
        self.touched.clear();
        self.values.clear();
    }
    /// Number of groups inserted.
    pub fn len(&self) -> usize {
        self.groups.len()
    }
    /// Whether no group was inserted.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
    /// Scalar rows of the matrix that a group reaches.
    pub fn touched(&self, group: usize) -> usize {
        self.groups[group].end - self.groups[group].begin
    }

    /// Inserts `count` rows that are zero outside `nodes`: `packed` holds their entries at the scalar rows of `nodes`, in that order, row after
    /// row. Costs the paths from `nodes` to their roots.
    pub fn insert(&mut self, factor: &Factor, nodes: &[usize], packed: &[f64], count: usize) -> Result<(), BorderError> {
        let symbolic = factor.symbolic();
        let pattern = symbolic.pattern();
        if let Some(&node) = nodes.iter().find(|&&node| node >= pattern.nodes()) {
            return Err(BorderError::NoSuchNode { node });
        }
        let length: usize = nodes.iter().map(|&node| pattern.size(node)).sum();
        super::wanted(packed.len(), length * count)?;
        self.dense.resize(pattern.rows(), 0.0);
        let (begin, at) = (self.touched.len(), self.values.len());
        for row in 0..count {
            let mut entries = packed[row * length..(row + 1) * length].iter();
            for &node in nodes {
                for (place, value) in (pattern.start(node)..pattern.start(node) + pattern.size(node)).zip(&mut entries) {
                    self.dense[place] += value;
                }
            }
            factor.forward_sparse(nodes, &mut self.dense, &mut self.reach);
            for node in self.reach.nodes(symbolic) {
                for r in 0..pattern.size(node) {
                    let place = pattern.start(node) + r;
                    if row == 0 {
                        self.touched.push(place as u32);
                    }
                    self.values.push(self.dense[place] * factor.inverse_root(node, r));
                }
            }
            factor.clear_sparse(&self.reach, &mut self.dense);
        }
        self.groups.push(Group { begin, end: self.touched.len(), at });
        Ok(())
    }

    /// One inserted row on its path.
    #[inline]
    fn row(&self, group: usize, row: usize) -> (&[u32], &[f64]) {
        let Group { begin, end, at } = self.groups[group];
        (&self.touched[begin..end], &self.values[at + row * (end - begin)..][..end - begin])
    }

    /// (G^-1 B)' z: what holding the matrix's rows takes from the velocity of an inserted one.
    #[inline]
    pub fn dot(&self, group: usize, row: usize, z: &[f64]) -> f64 {
        let (places, values) = self.row(group, row);
        let mut sum = 0.0;
        for (&place, value) in places.iter().zip(values) {
            sum += value * z[place as usize];
        }
        sum
    }
    /// z += s G^-1 B.
    #[inline]
    pub fn add(&self, group: usize, row: usize, s: f64, z: &mut [f64]) {
        let (places, values) = self.row(group, row);
        for (&place, value) in places.iter().zip(values) {
            z[place as usize] += s * value;
        }
    }
    /// B_i' A^-1 B_j of two rows of one group, theory (12.14).
    pub fn product(&self, group: usize, i: usize, j: usize) -> f64 {
        let (_, a) = self.row(group, i);
        let (_, b) = self.row(group, j);
        a.iter().zip(b).map(|(x, y)| x * y).sum()
    }
}
