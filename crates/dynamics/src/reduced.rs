//! The reduced matrix J M~^-1 J' of the rows at one pose, theory (2.12): what impulses along rows do to each other while the joints hold.

use crate::assembly::{Assembly, couple_joints};
use crate::island::LocalBody;
use crate::line::Line;
use crate::secants::dot;
use carom_geometry::Geometry;
use carom_math::block_ldl::LANES;
use carom_math::{Twist, Vector, Wrench};

/// Marks the end of a body's rows.
const NO_LINE: usize = usize::MAX;

/// What unit impulses along rows do with the joints held: P = M~^-1 J' and M P, row by row, DOF numbers for every body that moves.
#[derive(Debug)]
pub(crate) struct Columns<G: Geometry> {
    /// The rows they are of; none where nothing is known.
    of: Vec<Line<G>>,
    held: Vec<f64>,
    momenta: Vec<f64>,
    /// The joint impulses that answer, one for each joint row.
    answers: Vec<f64>,
    /// The same of the rows before.
    of_before: Vec<Line<G>>,
    before: [Vec<f64>; 3],
    /// Bodies that move, and their change of velocity.
    moving: Vec<usize>,
    change: Vec<f64>,
    /// Rows to be solved for, and several of them at once.
    wanted: Vec<usize>,
    lanes: Vec<[f64; LANES]>,
    wrenches: Vec<Wrench<G>>,
}

impl<G: Geometry> Default for Columns<G> {
    fn default() -> Self {
        Columns {
            of: Vec::new(),
            held: Vec::new(),
            momenta: Vec::new(),
            answers: Vec::new(),
            of_before: Vec::new(),
            before: [Vec::new(), Vec::new(), Vec::new()],
            moving: Vec::new(),
            change: Vec::new(),
            wanted: Vec::new(),
            lanes: Vec::new(),
            wrenches: Vec::new(),
        }
    }
}

impl<G: Geometry> Columns<G> {
    /// Forgets the rows.
    pub fn forget(&mut self) {
        self.of.clear();
    }

    /// Whether these are the columns of so many rows.
    pub fn are_of(&self, rows: usize) -> bool {
        rows > 0 && self.of.len() == rows
    }

    /// What impulses along selected rows do: v += P l, and the joint impulses that answer are added to `reaction`.
    pub fn push(&mut self, selected: &[usize], impulses: &[f64], reaction: &mut [f64], twists: &mut [Twist<G>]) {
        let Columns { held, answers, moving, change, .. } = self;
        let (width, rows) = (moving.len() * G::DOF, reaction.len());
        change.clear();
        change.resize(width, 0.0);
        for (&line, &impulse) in selected.iter().zip(impulses).filter(|(_, impulse)| **impulse != 0.0) {
            change.iter_mut().zip(&held[line * width..][..width]).for_each(|(sum, x)| *sum += impulse * x);
            reaction.iter_mut().zip(&answers[line * rows..][..rows]).for_each(|(sum, x)| *sum += impulse * x);
        }
        for (&body, change) in moving.iter().zip(change.chunks_exact(G::DOF)) {
            let twist = &mut twists[body];
            twist.lin += G::Lin::from_slice(change);
            twist.ang += G::Ang::from_slice(&change[G::DIM..]);
        }
    }

    /// Takes over the columns of rows that were there before, which come in the same order; the others are wanted.
    fn take_over(&mut self, lines: &[Line<G>], widths: [usize; 3]) {
        let Columns { of, held, momenta, answers, of_before, before, wanted, .. } = self;
        std::mem::swap(of, of_before);
        of.clear();
        of.extend_from_slice(lines);
        wanted.clear();
        let mut lists = [held, momenta, answers];
        for ((list, before), width) in lists.iter_mut().zip(before.iter_mut()).zip(widths) {
            std::mem::swap(*list, before);
            list.resize(lines.len() * width, 0.0);
        }
        let mut next = 0;
        for (row, line) in lines.iter().enumerate() {
            let Some(found) = of_before[next..].iter().position(|other| other == line) else {
                wanted.push(row);
                continue;
            };
            let old = next + found;
            next = old + 1;
            for ((list, before), width) in lists.iter_mut().zip(before.iter()).zip(widths) {
                list[row * width..][..width].copy_from_slice(&before[old * width..][..width]);
            }
        }
    }
}

/// Makes the reduced matrix of few rows; `kept` where the joints are factored as they were when it was made last.
///
/// It is the Gram matrix of the held responses P = M~^-1 J' in the metric M: positive semidefinite by construction, and an error of the joint impulses enters only
/// squared. The difference A - B' X would lose the rows that the joints nearly lock.
pub(crate) fn reduce<G: Geometry>(assembly: &mut Assembly<G>, bodies: &[LocalBody<G>], locked: f64, kept: bool) {
    if assembly.equalities.is_empty() {
        assembly.columns.forget();
        return reduce_free(assembly);
    }
    let Assembly { equalities, factor, lines, matrix, locked_rows, columns, column, .. } = assembly;
    if !kept {
        columns.forget();
    } else if !lines.is_empty() && columns.of == *lines {
        assembly.reduced = true;
        return;
    }
    let n = lines.len();
    columns.moving.clear();
    columns.moving.extend((0..bodies.len()).filter(|&body| bodies[body].dynamic));
    let (width, rows) = (columns.moving.len() * G::DOF, equalities.len());
    columns.take_over(lines, [width, width, rows]);
    let Columns { held, momenta, answers, moving, wanted, lanes, wrenches, .. } = columns;
    for few in wanted.chunks(LANES) {
        lanes.clear();
        lanes.resize(equalities.len(), [0.0; LANES]);
        for (lane, &row) in few.iter().enumerate() {
            couple_joints(factor, equalities, &lines[row], -1.0, |r, x| lanes[r][lane] += x);
        }
        factor.solve_lanes(lanes, column);
        for (lane, &row) in few.iter().enumerate() {
            wrenches.clear();
            wrenches.resize(bodies.len(), Wrench::zero());
            answers[row * rows..][..rows].iter_mut().zip(lanes.iter()).for_each(|(answer, x)| *answer = x[lane]);
            equalities.add_wrenches(lanes, lane, wrenches);
            let line = &lines[row];
            for (body, wrench) in line.bodies.into_iter().zip([line.row.a, line.row.b]) {
                wrenches[body] = wrenches[body].plus(1.0, wrench);
            }
            let own = row * width..(row + 1) * width;
            let places = held[own.clone()].chunks_exact_mut(G::DOF).zip(momenta[own].chunks_exact_mut(G::DOF));
            for (&body, (held, momentum)) in moving.iter().zip(places) {
                let wrench = &wrenches[body];
                let Twist { lin, ang } = bodies[body].response(wrench);
                held[..G::DIM].copy_from_slice(lin.as_slice());
                held[G::DIM..].copy_from_slice(ang.as_slice());
                momentum[..G::DIM].copy_from_slice(wrench.lin.as_slice());
                momentum[G::DIM..].copy_from_slice(wrench.ang.as_slice());
            }
        }
    }
    matrix.clear();
    matrix.resize(n * n, 0.0);
    locked_rows.clear();
    for i in 0..n {
        let momentum = &momenta[i * width..][..width];
        for j in 0..=i {
            matrix[i * n + j] = dot(momentum, &held[j * width..][..width]);
            // Rotors answer as well.
            for rotor in &equalities.rotors {
                matrix[i * n + j] += rotor.inverse * answers[i * rows + rotor.row] * answers[j * rows + rotor.row];
            }
        }
        let unheld = lines[i].couple(&lines[i]);
        locked_rows.push(unheld <= 0.0 || matrix[i * n + i] <= locked * unheld);
    }
    close(matrix, locked_rows);
    assembly.reduced = true;
}

/// The same where there are no joints.
fn reduce_free<G: Geometry>(assembly: &mut Assembly<G>) {
    reduce_unjointed(assembly);
    let Assembly { lines, matrix, locked_rows, .. } = assembly;
    let n = lines.len();
    locked_rows.clear();
    locked_rows.extend((0..n).map(|i| matrix[i * n + i] <= 0.0));
    close(matrix, locked_rows);
}

/// Leaves rows that nothing can move out, and fills the upper triangle.
fn close(matrix: &mut [f64], locked_rows: &[bool]) {
    let n = locked_rows.len();
    for i in 0..n {
        for j in 0..i {
            if locked_rows[i] || locked_rows[j] {
                matrix[i * n + j] = 0.0;
            }
            matrix[j * n + i] = matrix[i * n + j];
        }
        if locked_rows[i] {
            matrix[i * n + i] = 0.0;
        }
    }
}

impl<G: Geometry> Assembly<G> {
    /// Makes the reduced matrix of inserted rows, J M~^-1 J' = J M^-1 J' - B' A^-1 B along their paths, where it is not at hand yet.
    pub fn reduce(&mut self) {
        if self.reduced {
            return;
        }
        if self.equalities.is_empty() {
            reduce_unjointed(self);
            return;
        }
        let Assembly { lines, matrix, locked_rows, inserted, groups, column, factor, .. } = self;
        let n = lines.len();
        matrix.clear();
        matrix.resize(n * n, 0.0);
        column.clear();
        column.resize(factor.factor().map_or(0, |f| f.symbolic().pattern().rows()), 0.0);
        for (g, group) in groups.iter().enumerate() {
            for k in 0..group.rows {
                let i = group.first + k;
                inserted.paths.add(g, k, 1.0, column);
                for (h, other) in groups.iter().enumerate() {
                    for m in 0..other.rows {
                        let j = other.first + m;
                        if !locked_rows[i] && !locked_rows[j] {
                            matrix[i * n + j] = lines[i].couple(&lines[j]) - inserted.paths.dot(h, m, column);
                        }
                    }
                }
                inserted.paths.add(g, k, -1.0, column);
            }
        }
        // Rounding leaves the two triangles a little apart, and what joints lock a little below zero.
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (matrix[i * n + j] + matrix[j * n + i]);
                (matrix[i * n + j], matrix[j * n + i]) = (mean, mean);
            }
        }
        self.reduced = true;
    }
}

/// The matrix J M^-1 J' of rows that no joint holds.
fn reduce_unjointed<G: Geometry>(assembly: &mut Assembly<G>) {
    let Assembly { lines, matrix, last_at, previous, .. } = assembly;
    let n = lines.len();
    matrix.clear();
    matrix.resize(n * n, 0.0);
    // Rows couple only through bodies that answer: each row looks up those before it at its own two bodies.
    let count = lines.iter().flat_map(|line| line.bodies).max().map_or(0, |most| most + 1);
    last_at.clear();
    last_at.resize(count, NO_LINE);
    previous.clear();
    for i in 0..n {
        let mut links = [NO_LINE; 2];
        for side in 0..2 {
            let body = lines[i].bodies[side];
            if lines[i].response[side] != Twist::zero() {
                links[side] = last_at[body];
                last_at[body] = i;
            }
        }
        previous.push(links);
        matrix[i * n + i] = lines[i].couple(&lines[i]);
        for side in 0..2 {
            let body = lines[i].bodies[side];
            let mut j = links[side];
            while j != NO_LINE {
                let coupling = lines[i].couple(&lines[j]);
                (matrix[i * n + j], matrix[j * n + i]) = (coupling, coupling);
                j = previous[j][usize::from(lines[j].bodies[1] == body)];
            }
        }
    }
    assembly.reduced = true;
}
