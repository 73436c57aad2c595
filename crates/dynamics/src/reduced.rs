//! The reduced matrix J M~^-1 J' of the rows at one pose, theory (2.13): what impulses along rows do to each other while the joints hold.

use crate::assembly::Assembly;
use crate::island::LocalBody;
use crate::joint_factor::JointFactor;
use crate::joint_rows::{Basis, JointRows};
use crate::line::Line;
use carom_geometry::Geometry;
use carom_math::block_ldl::LANES;
use carom_math::{Twist, Vector, Wrench, widened};

/// Marks the end of a body's rows.
const NO_LINE: usize = usize::MAX;

/// Most freedoms of a body.
const FREEDOMS: usize = 6;

/// Numbers of several rows side by side.
type Lanes = [f64; LANES];

/// Sums of a product of two rows that go side by side, and products at once.
const SIDE_BY_SIDE: usize = 4;

/// What unit impulses along rows do with the joints held: P = M~^-1 J' and M P, row by row: DOF numbers for every body that moves, then one for every rotor,
/// then nought up to a multiple of [`SIDE_BY_SIDE`].
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
    lanes: Vec<Lanes>,
    wrenches: Vec<[Lanes; FREEDOMS]>,
    /// M^-1 of the bodies that move.
    inverse: Vec<Answer<G>>,
    /// What the joints of a tree let the bodies do. Where it serves, nothing goes through their factor, and a row stands for itself by its parts along the
    /// freedoms, in `held`.
    pub basis: Basis<G>,
    pub by_basis: bool,
}

/// What a body that moves answers: its inverse mass by axis and its inverse inertia by columns.
#[derive(Clone, Copy, Debug)]
struct Answer<G: Geometry> {
    mass: G::Lin,
    inertia: [G::Ang; 3],
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
            inverse: Vec::new(),
            basis: Basis::default(),
            by_basis: false,
        }
    }
}

impl<G: Geometry> Columns<G> {
    /// Forgets the rows.
    pub fn forget_rows(&mut self) {
        self.of.clear();
    }

    /// Takes rows along the freedoms of a tree.
    fn take_parts(&mut self, equalities: &JointRows<G>, lines: &[Line<G>]) {
        let stride = self.basis.freedoms().next_multiple_of(SIDE_BY_SIDE);
        self.of.clear();
        self.of.extend_from_slice(lines);
        self.held.resize(lines.len() * stride, 0.0);
        self.basis.write_parts(equalities, lines, stride, &mut self.held);
    }

    /// Whether these are the columns of so many rows.
    pub fn are_of(&self, rows: usize) -> bool {
        rows > 0 && self.of.len() == rows
    }

    /// What impulses along selected rows do: v += P l, and the joint impulses that answer are added to `reaction`.
    pub fn push(&mut self, equalities: &JointRows<G>, selected: &[usize], impulses: &[f64], reaction: &mut [f64], twists: &mut [Twist<G>]) {
        if self.by_basis {
            self.push_along(equalities, selected, impulses, twists);
            return self.basis.answer_push(equalities, &self.of, (selected, impulses), reaction);
        }
        let (stride, rows) = (self.stride(), reaction.len());
        let Columns { held, answers, moving, change, .. } = self;
        change.clear();
        change.resize(stride, 0.0);
        add_columns(selected, impulses, held, change);
        if rows > 0 {
            add_columns(selected, impulses, answers, reaction);
        }
        for (&body, change) in moving.iter().zip(change.chunks_exact(G::DOF)) {
            let twist = &mut twists[body];
            twist.lin += G::Lin::from_slice(change);
            twist.ang += G::Ang::from_slice(&change[G::DIM..]);
        }
    }

    /// The same along the freedoms of a tree, the joints not asked for theirs.
    pub fn push_along(&mut self, equalities: &JointRows<G>, selected: &[usize], impulses: &[f64], twists: &mut [Twist<G>]) {
        let stride = self.stride();
        self.basis.push(equalities, (&self.held, stride), (selected, impulses), twists);
    }

    /// Numbers of a row.
    fn stride(&self) -> usize {
        if self.of.is_empty() { 0 } else { self.held.len() / self.of.len() }
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
            // What stands behind the numbers of a row is nought, whatever stood there when rows were longer.
            list.clear();
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
        assembly.columns.forget_rows();
        return reduce_free(assembly);
    }
    let Assembly { equalities, factor, lines, matrix, locked_rows, columns, column, .. } = assembly;
    if !kept {
        columns.forget_rows();
    } else if !lines.is_empty() && columns.of == *lines {
        assembly.reduced = true;
        return;
    }
    let n = lines.len();
    if columns.by_basis {
        columns.take_parts(equalities, lines);
        matrix.clear();
        matrix.resize(n * n, 0.0);
        multiply_rows(n, &columns.held, &columns.held, matrix);
        find_locked(equalities, lines, locked, matrix, locked_rows);
        assembly.reduced = true;
        return;
    }
    columns.moving.clear();
    columns.moving.extend((0..bodies.len()).filter(|&body| bodies[body].dynamic));
    columns.inverse.clear();
    columns.inverse.extend(columns.moving.iter().map(|&body| Answer::of(&bodies[body])));
    let (width, rows) = (columns.moving.len() * G::DOF, equalities.len());
    let stride = (width + equalities.rotors.len()).next_multiple_of(SIDE_BY_SIDE);
    columns.take_over(lines, [stride, stride, rows]);
    let Columns { held, momenta, answers, moving, wanted, lanes, wrenches, inverse, .. } = columns;
    for few in wanted.chunks(LANES) {
        lanes.clear();
        lanes.resize(rows, [0.0; LANES]);
        wrenches.clear();
        wrenches.resize(bodies.len(), [[0.0; LANES]; FREEDOMS]);
        for (lane, &row) in few.iter().enumerate() {
            let line = &lines[row];
            couple_joints(factor, equalities, line, -1.0, |r, x| lanes[r][lane] += x);
            let mut side = |body: usize, own: &Wrench<G>| {
                let parts = own.lin.as_slice().iter().chain(own.ang.as_slice());
                wrenches[body].iter_mut().zip(parts).for_each(|(sum, x)| sum[lane] += x);
            };
            line.bodies.into_iter().zip([&line.row.a, &line.row.b]).for_each(|(body, own)| side(body, own));
            equalities.tendon_sides(line, |body, wrench| side(body, &wrench));
        }
        factor.solve_lanes(lanes, column);
        equalities.add_wrenches(lanes, wrenches);
        for (lane, &row) in few.iter().enumerate() {
            answers[row * rows..][..rows].iter_mut().zip(lanes.iter()).for_each(|(answer, x)| *answer = x[lane]);
            let own = row * stride..(row + 1) * stride;
            let numbers = held[own.clone()].iter_mut().zip(&mut momenta[own]).skip(width);
            for (rotor, (held, momentum)) in equalities.rotors.iter().zip(numbers) {
                *momentum = lanes[rotor.row][lane];
                *held = rotor.inverse * lanes[rotor.row][lane];
            }
        }
        write_answers(few, stride, (moving, inverse), wrenches, held, momenta);
    }
    matrix.clear();
    matrix.resize(n * n, 0.0);
    multiply_rows(n, momenta, held, matrix);
    find_locked(equalities, lines, locked, matrix, locked_rows);
    assembly.reduced = true;
}

/// Finds the rows that the joints leave no freedom, leaves them out of the lower triangle of a matrix, and fills the upper one.
fn find_locked<G: Geometry>(equalities: &JointRows<G>, lines: &[Line<G>], locked: f64, matrix: &mut [f64], locked_rows: &mut Vec<bool>) {
    let n = lines.len();
    locked_rows.clear();
    for i in 0..n {
        let unheld = equalities.line_answer(&lines[i]);
        locked_rows.push(unheld <= 0.0 || matrix[i * n + i] <= locked * unheld);
    }
    close(matrix, locked_rows);
}

impl<G: Geometry> Answer<G> {
    fn of(body: &LocalBody<G>) -> Self {
        let mut inertia = [G::Ang::zero(); 3];
        for (k, column) in inertia[..G::ANG].iter_mut().enumerate() {
            let mut unit = G::Ang::zero();
            unit[k] = 1.0;
            *column = G::inertia_apply(body.inv_inertia, unit);
        }
        Answer { mass: body.inv_mass, inertia }
    }

    /// M^-1 applied to wrenches.
    #[inline(always)]
    fn apply(&self, wrench: &[Lanes; FREEDOMS]) -> [Lanes; FREEDOMS] {
        let mut out = [[0.0; LANES]; FREEDOMS];
        for c in 0..G::DIM {
            for lane in 0..LANES {
                out[c][lane] = self.mass[c] * wrench[c][lane];
            }
        }
        for k in 0..G::ANG {
            for c in 0..G::ANG {
                for lane in 0..LANES {
                    out[G::DIM + c][lane] += self.inertia[k][c] * wrench[G::DIM + k][lane];
                }
            }
        }
        out
    }
}

widened! {
    /// sum += the columns of selected rows times their impulses.
    fn add_columns = add_columns_wide / add_columns_plain (selected: &[usize], impulses: &[f64], columns: &[f64], sum: &mut [f64]);
    /// Writes what wrenches do to the bodies that move into the rows they are of, and the wrenches themselves.
    fn write_answers = write_answers_wide / write_answers_plain [G: Geometry] (
        few: &[usize], stride: usize, bodies: (&[usize], &[Answer<G>]), wrenches: &[[Lanes; FREEDOMS]], held: &mut [f64], momenta: &mut [f64]
    );
    /// The lower triangle of the products of each row of one list with each of another.
    fn multiply_rows = multiply_rows_wide / multiply_rows_plain (n: usize, left: &[f64], right: &[f64], out: &mut [f64]);
}

#[inline(always)]
fn add_columns_plain(selected: &[usize], impulses: &[f64], columns: &[f64], sum: &mut [f64]) {
    let width = sum.len();
    for (&line, &impulse) in selected.iter().zip(impulses).filter(|(_, impulse)| **impulse != 0.0) {
        sum.iter_mut().zip(&columns[line * width..][..width]).for_each(|(sum, x)| *sum += impulse * x);
    }
}

#[inline(always)]
fn write_answers_plain<G: Geometry>(
    few: &[usize],
    stride: usize,
    (moving, inverse): (&[usize], &[Answer<G>]),
    wrenches: &[[Lanes; FREEDOMS]],
    held: &mut [f64],
    momenta: &mut [f64],
) {
    for (place, (&body, inverse)) in moving.iter().zip(inverse).enumerate() {
        let wrench = &wrenches[body];
        let twist = inverse.apply(wrench);
        for (lane, &row) in few.iter().enumerate() {
            let own = row * stride + place * G::DOF..row * stride + (place + 1) * G::DOF;
            let (held, momenta) = (&mut held[own.clone()], &mut momenta[own]);
            for k in 0..G::DOF {
                held[k] = twist[k][lane];
                momenta[k] = wrench[k][lane];
            }
        }
    }
}

#[inline(always)]
fn multiply_rows_plain(n: usize, left: &[f64], right: &[f64], out: &mut [f64]) {
    let Some(stride) = left.len().checked_div(n) else { return };
    let own = |row: usize| row * stride..(row + 1) * stride;
    for i in 0..n {
        let (a, _) = left[own(i)].as_chunks::<SIDE_BY_SIDE>();
        let mut j = 0;
        while j <= i {
            // Past the triangle the last row is taken once more.
            let [b, c, d, e] = [0, 1, 2, 3].map(|k| right[own((j + k).min(i))].as_chunks::<SIDE_BY_SIDE>().0);
            let mut sums = [[0.0; SIDE_BY_SIDE]; 4];
            for ((((a, b), c), d), e) in a.iter().zip(b).zip(c).zip(d).zip(e) {
                for k in 0..SIDE_BY_SIDE {
                    sums[0][k] += a[k] * b[k];
                    sums[1][k] += a[k] * c[k];
                    sums[2][k] += a[k] * d[k];
                    sums[3][k] += a[k] * e[k];
                }
            }
            for (sum, out) in sums.iter().zip(&mut out[i * n + j..=i * n + i]) {
                *out = (sum[0] + sum[1]) + (sum[2] + sum[3]);
            }
            j += 4;
        }
    }
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

/// s J_e M^-1 J' for one row, its couplings with the joints at its bodies: `out(r, x)` is told what to add to row r.
#[inline]
pub(crate) fn couple_joints<G: Geometry>(
    factor: &JointFactor,
    equalities: &JointRows<G>,
    line: &Line<G>,
    s: f64,
    mut out: impl FnMut(usize, f64),
) {
    for side in 0..2 {
        for joint in factor.attached(line.bodies[side]) {
            equalities.speeds_at(joint.node, joint.side, &line.response[side], |r, speed| out(joint.first + r, s * speed));
        }
    }
    equalities.ties.sides(|row, body, wrench| {
        for side in (0..2).filter(|&side| line.bodies[side] == body) {
            out(row, s * wrench.power(&line.response[side]));
        }
    });
    equalities.tendon_sides(line, |body, wrench| {
        let answer = equalities.answer(body, &wrench);
        for joint in factor.attached(body) {
            equalities.speeds_at(joint.node, joint.side, &answer, |r, speed| out(joint.first + r, s * speed));
        }
        equalities.ties.sides(|row, other, covector| {
            if other == body {
                out(row, s * covector.power(&answer));
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tendon::AlongTendon;
    use carom_math::Planar;

    /// Products of rows go over what stands behind their numbers: the answers of other islands may not be left there.
    #[test]
    fn nothing_is_left_behind_the_numbers_of_a_row() {
        let longer = || vec![7.0; 12];
        let mut columns = Columns::<Planar> { held: longer(), momenta: longer(), answers: longer(), ..Columns::default() };
        columns.before = [longer(), longer(), longer()];
        let line = Line::of_tendon(AlongTendon { tendon: 0, against: false });
        for _ in 0..2 {
            columns.take_over(&[line], [4, 4, 2]);
            let Columns { held, momenta, answers, .. } = &columns;
            assert_eq!((&held[..], &momenta[..], &answers[..]), (&[0.0; 4][..], &[0.0; 4][..], &[0.0; 2][..]));
            columns.forget_rows();
        }
    }
}
