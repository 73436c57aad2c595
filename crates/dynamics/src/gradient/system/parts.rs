//! Bodies of many rows cut into welded parts, so that their rows make a chain of small cliques, theory (17.26) and (12.10).

use super::sparse::{NONE, Node};
use carom_geometry::Geometry;
use carom_math::splitting::assign;
use carom_math::{Twist, Wrench};

/// Rows per freedom from which a body is cut; a smaller clique costs little, and fewer nodes leave the search for pivots more to choose from.
const CROWDED: usize = 16;

/// How a body answers a wrench.
pub(crate) type Respond<'a, G> = &'a dyn Fn(usize, &Wrench<G>) -> Twist<G>;

/// A body in parts.
#[derive(Clone, Copy, Debug)]
struct Cut {
    body: u32,
    /// What its first part is called; the others follow.
    first: u32,
    parts: u32,
}

/// The parts of all bodies that are cut.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    cuts: Vec<Cut>,
    /// By node: parts of the bodies on its two sides; empty where nothing is cut.
    pub counts: Vec<[f64; 2]>,
    /// Rows of all welds.
    pub rows: usize,
}

impl Parts {
    /// Cuts the crowded ones of so many bodies: nodes get parts in place of them, and welds follow as nodes.
    pub fn cut<G: Geometry>(nodes: &mut Vec<Node>, bodies: usize) -> Self {
        let mut ends: Vec<Vec<(usize, usize)>> = vec![Vec::new(); bodies];
        for (number, node) in nodes.iter().enumerate() {
            for side in (0..2).filter(|&side| node.bodies[side] != NONE) {
                ends[node.bodies[side] as usize].push((number, side));
            }
        }
        let mut found = Parts::default();
        let (own, mut next) = (nodes.len(), bodies as u32);
        for (body, ends) in ends.iter().enumerate() {
            let sizes: Vec<usize> = ends.iter().map(|&(node, _)| nodes[node].size as usize).collect();
            if sizes.iter().sum::<usize>() < CROWDED * G::DOF {
                continue;
            }
            let starts = assign(&sizes, G::DOF).starts;
            let parts = starts.len() as u32 - 1;
            if parts < 2 {
                continue;
            }
            found.counts.resize(own, [1.0; 2]);
            found.cuts.push(Cut { body: body as u32, first: next, parts });
            for (part, range) in (next..).zip(starts.windows(2)) {
                for &(node, side) in &ends[range[0]..range[1]] {
                    nodes[node].bodies[side] = part;
                    found.counts[node][side] = f64::from(parts);
                }
                if part + 1 < next + parts {
                    nodes.push(Node { bodies: [part, part + 1], size: G::DOF as u32, next: NONE });
                    found.rows += G::DOF;
                }
            }
            next += parts;
        }
        found
    }

    /// What stands for a body: itself, or its first part.
    pub fn of(&self, body: usize) -> usize {
        self.cuts.iter().find(|cut| cut.body as usize == body).map_or(body, |cut| cut.first as usize)
    }

    /// Adds the rows of the welds behind those sorted.
    pub fn weld<G: Geometry>(
        &self,
        respond: impl Fn(usize, &Wrench<G>) -> Twist<G>,
        felt: &mut [Vec<Wrench<G>>; 2],
        answers: &mut [Vec<Twist<G>>; 2],
    ) {
        for cut in &self.cuts {
            for _ in 1..cut.parts {
                for k in 0..G::DOF {
                    let unit = unit::<G>(k);
                    let answer = respond(cut.body as usize, &unit);
                    for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
                        felt[side].push(Wrench::zero().plus(sign, unit));
                        answers[side].push(Twist::zero().plus(sign * f64::from(cut.parts), answer));
                    }
                }
            }
        }
    }
}

/// The wrench with one component 1, linear first.
pub(crate) fn unit<G: Geometry>(index: usize) -> Wrench<G> {
    let mut wrench: Wrench<G> = Wrench::zero();
    if index < G::DIM {
        wrench.lin[index] = 1.0;
    } else {
        wrench.ang[index - G::DIM] = 1.0;
    }
    wrench
}
