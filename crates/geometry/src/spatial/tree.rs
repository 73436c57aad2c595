//! A binary tree of boxes over the triangles of a surface, built once.

use crate::bounds::Aabb;
use carom_math::Spatial;
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Triangles kept in one leaf.
const LEAF: usize = 4;
/// Depth a traversal can hold; halving by count needs at most 32 levels for 2^32 triangles.
const DEPTH: usize = 64;

/// A node: a box, and either two children (the left follows directly) or a run of triangles.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    bounds: Aabb<Spatial>,
    /// Right child, or first entry of `order`.
    link: u32,
    /// Triangles of a leaf; 0 for an inner node.
    count: u32,
}

/// A tree of boxes; triangles are visited in a fixed order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    order: Vec<u32>,
}

impl Tree {
    /// Halves the triangles by the centres of their boxes along the longest side.
    pub fn new(boxes: &[Aabb<Spatial>]) -> Tree {
        let mut tree = Tree { nodes: Vec::new(), order: (0..boxes.len() as u32).collect() };
        tree.build(boxes, 0, boxes.len());
        tree
    }
    fn build(&mut self, boxes: &[Aabb<Spatial>], from: usize, to: usize) {
        let bounds = self.order[from + 1..to].iter().fold(boxes[self.order[from] as usize], |sum, i| sum.union(&boxes[*i as usize]));
        let node = self.nodes.len();
        self.nodes.push(Node { bounds, link: from as u32, count: (to - from) as u32 });
        if to - from <= LEAF {
            return;
        }
        let axis = (bounds.max - bounds.min).imax();
        let centre = |i: &u32| boxes[*i as usize].min[axis] + boxes[*i as usize].max[axis];
        self.order[from..to].sort_by(|i, j| centre(i).total_cmp(&centre(j)).then(i.cmp(j)));
        let middle = from + (to - from) / 2;
        self.build(boxes, from, middle);
        self.nodes[node].link = self.nodes.len() as u32;
        self.nodes[node].count = 0;
        self.build(boxes, middle, to);
    }
    /// Calls `each` for the triangles of every leaf whose box meets the given one.
    pub fn visit(&self, bounds: &Aabb<Spatial>, mut each: impl FnMut(u32)) {
        let (mut stack, mut len) = ([0u32; DEPTH], 1);
        while len > 0 {
            len -= 1;
            let index = stack[len];
            let node = &self.nodes[index as usize];
            if !node.bounds.overlaps(bounds) {
                continue;
            }
            if node.count > 0 {
                self.order[node.link as usize..(node.link + node.count) as usize].iter().for_each(|i| each(*i));
            } else if len + 2 <= DEPTH {
                stack[len] = node.link;
                stack[len + 1] = index + 1;
                len += 2;
            }
        }
    }
    /// The least of `measure` over all triangles, where distances of boxes bound it from below; a bound above `cutoff` is enough.
    /// `measure` is told the least so far, above which it may answer with any bound.
    pub fn least(&self, bounds: &Aabb<Spatial>, cutoff: f64, mut measure: impl FnMut(u32, f64) -> f64) -> f64 {
        let (mut stack, mut len) = ([(0u32, 0.0); DEPTH], 1);
        let mut least = f64::INFINITY;
        stack[0] = (0, distance(&self.nodes[0].bounds, bounds));
        if stack[0].1 >= cutoff {
            return stack[0].1;
        }
        while len > 0 {
            len -= 1;
            let (index, bound) = stack[len];
            // Boxes that meet bound nothing: overlaps inside may be of any depth.
            if bound > 0.0 && bound >= least {
                continue;
            }
            let node = &self.nodes[index as usize];
            if node.count > 0 {
                for i in &self.order[node.link as usize..(node.link + node.count) as usize] {
                    least = least.min(measure(*i, least.max(0.0)));
                }
            } else if len + 2 <= DEPTH {
                let (left, right) = (index + 1, node.link);
                let near = distance(&self.nodes[left as usize].bounds, bounds);
                let far = distance(&self.nodes[right as usize].bounds, bounds);
                // The nearer child is taken next.
                let (first, second) = if near <= far { ((left, near), (right, far)) } else { ((right, far), (left, near)) };
                stack[len] = second;
                stack[len + 1] = first;
                len += 2;
            }
        }
        least
    }
}

/// Distance of two boxes, 0 where they meet.
fn distance(a: &Aabb<Spatial>, b: &Aabb<Spatial>) -> f64 {
    let gap = (a.min - b.max).sup(&(b.min - a.max)).sup(&V::zeros());
    gap.norm()
}
