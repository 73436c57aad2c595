//! The equality rows of joints in the least memory: velocities and impulses pass over them several times in every substep, and a long chain is
//! bound by what it has to read. Responses M^-1 J' are not kept: a joint's impulses are summed to one wrench on each side first.

use crate::constraints::Row;
use crate::island::LocalBody;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// A row: equal and opposite along a direction, with its torque on either side.
#[derive(Clone, Copy, Debug)]
struct CompactRow<G: Geometry> {
    lin: G::Lin,
    ang: [G::Ang; 2],
}

/// Consecutive rows between the same two bodies.
#[derive(Clone, Copy, Debug)]
struct Span {
    bodies: [usize; 2],
    rows: usize,
}

/// The equality rows of an island and the inverse masses of its bodies.
#[derive(Debug)]
pub(crate) struct CompactRows<G: Geometry> {
    rows: Vec<CompactRow<G>>,
    spans: Vec<Span>,
    /// Inverse mass per world axis and inverse inertia in world axes, body by body.
    inverse: Vec<(G::Lin, G::Inertia)>,
}

impl<G: Geometry> Default for CompactRows<G> {
    fn default() -> Self {
        CompactRows { rows: Vec::new(), spans: Vec::new(), inverse: Vec::new() }
    }
}

impl<G: Geometry> CompactRows<G> {
    /// No rows, and the inverse masses of these bodies.
    pub fn clear(&mut self, bodies: &[LocalBody<G>]) {
        self.rows.clear();
        self.spans.clear();
        self.inverse.clear();
        self.inverse.extend(bodies.iter().map(|body| (body.inv_mass, body.inv_inertia)));
    }
    /// The rows of one joint; every kind of row pulls the second body by what it pushes the first.
    pub fn add(&mut self, bodies: [usize; 2], rows: &[Row<G>]) {
        debug_assert!(rows.iter().all(|row| row.b.lin == -row.a.lin), "a row is a difference");
        self.rows.extend(rows.iter().map(|row| CompactRow { lin: row.a.lin, ang: [row.a.ang, row.b.ang] }));
        self.spans.push(Span { bodies, rows: rows.len() });
    }
    /// Appends target - J v of every row.
    pub fn lacking(&self, target: &[f64], twists: &[Twist<G>], out: &mut Vec<f64>) {
        let mut first = 0;
        for &Span { bodies: [a, b], rows } in &self.spans {
            let (at_a, at_b) = (twists[a], twists[b]);
            let apart = at_a.lin - at_b.lin;
            let own = self.rows[first..first + rows].iter().zip(&target[first..]);
            out.extend(own.map(|(row, target)| target - row.lin.dot(apart) - row.ang[0].dot(at_a.ang) - row.ang[1].dot(at_b.ang)));
            first += rows;
        }
    }
    /// v += M^-1 J' l.
    pub fn push(&self, impulses: &[f64], twists: &mut [Twist<G>]) {
        let mut first = 0;
        for &Span { bodies: [a, b], rows } in &self.spans {
            let mut on_a: Wrench<G> = Wrench::zero();
            let mut torque_b = G::Ang::zero();
            for (row, &impulse) in self.rows[first..first + rows].iter().zip(&impulses[first..]) {
                on_a.lin += row.lin * impulse;
                on_a.ang += row.ang[0] * impulse;
                torque_b += row.ang[1] * impulse;
            }
            for (body, force, torque) in [(a, on_a.lin, on_a.ang), (b, -on_a.lin, torque_b)] {
                let (inv_mass, inv_inertia) = self.inverse[body];
                twists[body].lin += force.scale(inv_mass);
                twists[body].ang += G::inertia_apply(inv_inertia, torque);
            }
            first += rows;
        }
    }
}
