//! Problems over bodies as files, so that what a scene met once can be solved again: plain numbers, all of eight bytes, little-endian.

use super::bodies::Bodies;
use super::law::{Bounded, Equality, Law, Pyramid, Rolling, Round, Unilateral};
use super::system::System;

/// A problem read back: rows over bodies, laws, free velocities and the impulses it was begun with.
#[derive(Clone, Debug, Default)]
pub struct Stored<const B: usize> {
    /// The rows.
    pub bodies: Bodies<B>,
    /// The laws.
    pub laws: Vec<Law>,
    /// Velocities without impulses.
    pub free: Vec<f64>,
    /// Impulses of the last solve.
    pub warm: Vec<f64>,
}

/// Degrees of freedom of the bodies of a stored problem: 3 or 6, whatever else a file holds is refused by [`Stored::read`].
pub fn freedoms(numbers: &[f64]) -> usize {
    numbers.first().map_or(0, |x| *x as usize)
}

impl<const B: usize> Stored<B> {
    /// The problem as numbers.
    pub fn write(bodies: &Bodies<B>, laws: &[Law], free: &[f64], warm: &[f64], out: &mut Vec<f64>) {
        out.extend([B as f64, bodies.count() as f64, laws.len() as f64]);
        for (block, law) in laws.iter().enumerate() {
            let (kind, a, b) = match *law {
                Law::Round(Round { friction, tangents }) => (0.0, friction, tangents as f64),
                Law::Pyramid(Pyramid { friction, edges }) => (1.0, friction, edges as f64),
                Law::Unilateral(Unilateral) => (2.0, 0.0, 0.0),
                Law::Bounded(Bounded { lower, upper }) => (3.0, lower, upper),
                Law::Equality(Equality { rows }) => (4.0, rows as f64, 0.0),
                Law::Rolling(law) => (5.0, law.friction, law.tangents as f64),
            };
            out.extend([kind, a, b, bodies.softness_of(block), bodies.sides(block).count() as f64]);
            if let Law::Rolling(law) = law {
                out.extend([law.edges as f64, law.rolling, law.torsional]);
            }
            for (body, rows) in bodies.sides(block) {
                out.push(body as f64);
                out.extend_from_slice(rows);
            }
        }
        out.extend_from_slice(free);
        out.extend_from_slice(warm);
    }

    /// Reads a problem; `None` where the numbers are not one.
    pub fn read(numbers: &[f64]) -> Option<Self> {
        let mut rest = numbers;
        let mut take = |count: usize| -> Option<&[f64]> {
            let (head, tail) = rest.split_at_checked(count)?;
            rest = tail;
            Some(head)
        };
        let head = take(3)?;
        if head[0] != B as f64 {
            return None;
        }
        let mut stored = Stored::default();
        stored.bodies.begin(head[1] as usize);
        for _ in 0..head[2] as usize {
            let about = take(5)?;
            let more = if about[0] == 5.0 { take(3)? } else { &[] };
            let law = match about[0] as usize {
                0 => Law::Round(Round { friction: about[1], tangents: about[2] as usize }),
                1 => Law::Pyramid(Pyramid { friction: about[1], edges: about[2] as usize }),
                2 => Law::Unilateral(Unilateral),
                3 => Law::Bounded(Bounded { lower: about[1], upper: about[2] }),
                4 => Law::Equality(Equality { rows: about[1] as usize }),
                5 if about[2] == 1.0 || about[2] == 2.0 => Law::Rolling(Rolling {
                    friction: about[1],
                    tangents: about[2] as usize,
                    edges: more[0] as usize,
                    rolling: more[1],
                    torsional: more[2],
                }),
                _ => return None,
            };
            let rows = law.rows();
            stored.bodies.add_block(rows, about[3]);
            for _ in 0..about[4] as usize {
                let body = *take(1)?.first()?;
                let (lines, _) = take(rows * B)?.as_chunks::<B>();
                if !(body >= 0.0 && body < head[1]) {
                    return None;
                }
                stored.bodies.add_side(body as usize, |k| lines[k]);
            }
            stored.laws.push(law);
        }
        stored.bodies.finish();
        let n = stored.bodies.layout().rows();
        stored.free.extend_from_slice(take(n)?);
        stored.warm.extend_from_slice(take(n)?);
        Some(stored)
    }
}
