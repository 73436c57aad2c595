//! The rows of an impact problem and their matrix J M~^-1 J', by its nonzeros.

use crate::impact::{ImpactScratch, row_of};
use crate::island::Island;
use crate::sparse_rows::Root;
use carom_geometry::Geometry;

/// Rows of the problem: all normals, then all tangents contact by contact, with their matrix and coefficients.
pub(crate) fn gather<G: Geometry>(island: &mut Island<G>, work: &mut ImpactScratch) {
    let ImpactScratch { members, lines, friction, restitution, .. } = work;
    lines.clear();
    friction.clear();
    restitution.clear();
    for &member in members.iter() {
        let near = &island.touch.near[member];
        lines.push(row_of(island, near));
        friction.push(island.links.pairs[near.pair].friction);
        restitution.push(island.links.pairs[near.pair].restitution);
    }
    for &member in members.iter() {
        let first = row_of(island, &island.touch.near[member]);
        lines.extend(first + 1..first + 1 + G::TANGENTS);
    }
    work.rows.begin(0);
    if island.system.assembly.equalities.is_empty() {
        couple(island, work);
        if work.members.len() > MANY {
            // Three numbers a body in the plane, six in space.
            if G::DIM == 2 { whiten::<G, 3>(island, work) } else { whiten::<G, 6>(island, work) }
        }
        return;
    }
    // Joints may couple every row with every other.
    island.system.assembly.reduce();
    let ImpactScratch { lines, gram, .. } = work;
    let all = island.system.assembly.lines.len();
    gram.begin();
    for &i in lines.iter() {
        lines.iter().enumerate().for_each(|(column, &j)| gram.push(column, island.system.assembly.matrix[i * all + j]));
        gram.end_row();
    }
}

/// Contacts above which an impact is solved over bodies.
const MANY: usize = 30;

/// The rows themselves, J M^-1/2.
fn whiten<G: Geometry, const B: usize>(island: &Island<G>, work: &mut ImpactScratch) {
    let ImpactScratch { lines, rows, roots, .. } = work;
    roots.clear();
    roots.extend(island.members.bodies.iter().map(Root::of));
    rows.begin(B * roots.len());
    for &line in lines.iter() {
        let line = &island.system.assembly.lines[line];
        let swapped = usize::from(line.bodies[0] > line.bodies[1]);
        for side in [swapped, 1 - swapped] {
            let body = line.bodies[side];
            if roots[body].is_zero() {
                continue;
            }
            let row: [f64; B] = roots[body].scale(if side == 0 { &line.row.a } else { &line.row.b });
            row.iter().enumerate().for_each(|(k, &value)| rows.push_entry(B * body + k, value));
        }
        rows.end_row();
    }
}

/// The matrix of rows that couple through shared bodies alone, contact by contact.
fn couple<G: Geometry>(island: &Island<G>, work: &mut ImpactScratch) {
    let ImpactScratch { members, lines, gram, at_body, begins, met, .. } = work;
    let m = members.len();
    let moving =
        |contact: usize| island.touch.near[members[contact]].bodies.into_iter().filter(|&body| island.members.bodies[body].dynamic);
    // Counted, then placed: what belongs to a body ends where the next begins.
    begins.clear();
    begins.resize(island.members.bodies.len() + 1, 0);
    (0..m).flat_map(moving).for_each(|body| begins[body + 1] += 1);
    for body in 0..island.members.bodies.len() {
        begins[body + 1] += begins[body];
    }
    at_body.clear();
    at_body.resize(begins[island.members.bodies.len()], 0);
    for contact in (0..m).rev() {
        for body in moving(contact) {
            begins[body + 1] -= 1;
            at_body[begins[body + 1]] = contact;
        }
    }
    // The starts have moved up by one body.
    let of_body = |body: usize| {
        let end = begins.get(body + 2).copied().unwrap_or(at_body.len());
        &at_body[begins[body + 1]..end]
    };
    let value = |i: usize, j: usize| {
        // The later row couples with the earlier one, whichever is asked for: the matrix is symmetric to the last bit.
        let (later, earlier) = (lines[i].max(lines[j]), lines[i].min(lines[j]));
        island.system.assembly.lines[later].couple(&island.system.assembly.lines[earlier])
    };
    gram.begin();
    for row in 0..lines.len() {
        let contact = if row < m { row } else { (row - m) / G::TANGENTS };
        if row < m || (row - m).is_multiple_of(G::TANGENTS) {
            met.clear();
            met.push(contact);
            moving(contact).for_each(|body| met.extend_from_slice(of_body(body)));
            met.sort_unstable();
            met.dedup();
        }
        met.iter().for_each(|&other| gram.push(other, value(row, other)));
        for &other in met.iter() {
            (m + other * G::TANGENTS..m + (other + 1) * G::TANGENTS).for_each(|column| gram.push(column, value(row, column)));
        }
        gram.end_row();
    }
}
