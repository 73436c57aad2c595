//! Stage 5 of large islands: the selected rows over bodies, joints among them, for the sparse contact solver; theory (4.32).
//!
//! Rows are scaled by the root of the inverse mass, so that the solver needs no masses. Joints are rows that hold; their impulses serve the solve alone,
//! since the joint factor answers the contact impulses exactly afterwards.

use crate::assembly::Assembly;
use crate::constraints::MAX_ROWS;
use crate::island::LocalBody;
use crate::line::Line;
use crate::moments::{self, Arms};
use crate::solve::Solve;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};
use carom_solve::contact::bodies::Bodies;
use carom_solve::contact::chain::ContactSolver;
use carom_solve::contact::law::{Equality, Law};
use carom_solve::contact::problem::{Block, Cone};
use carom_solve::contact::problem_file::Stored;
use carom_solve::contact::system::System;
use carom_solve::contact::task::Task;
use carom_solve::status::{Outcome, RESIDUAL_AIM, RESIDUAL_WANTED};

/// Rows up to which the dense matrix of all rows is solved by its modes first: exact to rounding, and cheap while modes are known.
const DENSE_ROWS: usize = 150;

/// Bodies without joints of which one has more contacts than this are a heap, not a row.
pub(crate) const ROW: usize = 2;

/// Bodies of a heap from which on modes change all over from one step to the next.
pub(crate) const HEAP: usize = 20;

/// The same of bodies without joints of which one has more contacts than those of a row: as these lean on each other few modes are known, and every search
/// of them factors the whole matrix anew.
const GROUP_ROWS: usize = 90;

/// The same where rows outnumber freedoms by far, so that many of them say the same, and in a heap: a dense matrix has nothing to offer there.
const CROWDED_ROWS: usize = 36;

/// Miss of a law [m/s] above which a solve is called inaccurate, where its relative residual is not as small as is wanted either.
pub(crate) const SPEED_WANTED: f64 = 1e-8;

/// Bodies that move from which on a heap does so: smaller ones can afford to ask every method.
const CROWD: usize = 30;

/// Miss [m/s] at which a large heap looks no further once the interior point and Newton's method ended there: it is flagged, and further starts seldom end nearer.
const SPEED_PASSABLE: f64 = 1e-5;

/// Relative residual of the warm impulses above which those of the other solve are looked at.
const OTHER_WORTH: f64 = 1e-6;

/// By how much they do then.
const CROWDED: f64 = 1.4;

/// Whether rows outnumber the freedoms of so many bodies by far.
fn crowded<G: Geometry>(rows: usize, bodies: usize) -> bool {
    rows > CROWDED_ROWS && rows as f64 > CROWDED * (bodies * G::DOF) as f64
}

/// Whether so many rows of so many bodies are solved over bodies, the busiest of which has so many contacts; `None` where joints hold them.
pub(crate) fn many<G: Geometry>(rows: usize, bodies: usize, busiest: Option<usize>) -> bool {
    // A group is solved to the last digit all the same, as long as it is no heap.
    let least = if bodies >= HEAP { CROWDED_ROWS } else { GROUP_ROWS };
    let group = rows > least && busiest.is_some_and(|contacts| contacts > ROW);
    rows > DENSE_ROWS || group || crowded::<G>(rows, bodies)
}

/// Whether rows that are solved over bodies are those of a heap, which needs them as exactly as it matters and no more.
pub(crate) fn is_heap<G: Geometry>(assembly: &Assembly<G>) -> bool {
    assembly.equalities.is_empty() && assembly.roots.len() >= HEAP
}

/// A root L of the inverse mass of a body, L L' = M^-1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Root {
    lin: [f64; 3],
    /// Lower triangle, by rows.
    ang: [[f64; 3]; 3],
}

impl Root {
    /// The root of a body's inverse mass at its present pose; zero where it does not answer.
    pub fn of<G: Geometry>(body: &LocalBody<G>) -> Self {
        let mut root = Root::default();
        if !body.dynamic {
            return root;
        }
        for axis in 0..G::DIM {
            root.lin[axis] = body.inv_mass[axis].sqrt();
        }
        let n = G::Ang::LEN;
        let mut inverse = [[0.0; 3]; 3];
        for column in 0..n {
            let mut unit = G::Ang::zero();
            unit[column] = 1.0;
            let answer = G::inertia_apply(body.inv_inertia, unit);
            for row in 0..n {
                inverse[row][column] = answer[row];
            }
        }
        // Cholesky; an axis that cannot turn has a zero column.
        for k in 0..n {
            let mut pivot = inverse[k][k];
            for j in 0..k {
                pivot -= root.ang[k][j] * root.ang[k][j];
            }
            if pivot <= f64::EPSILON * inverse[k][k] {
                continue;
            }
            root.ang[k][k] = pivot.sqrt();
            for i in k + 1..n {
                let mut sum = inverse[i][k];
                for j in 0..k {
                    sum -= root.ang[i][j] * root.ang[k][j];
                }
                root.ang[i][k] = sum / root.ang[k][k];
            }
        }
        root
    }

    /// L' J' of a row.
    #[inline]
    pub(crate) fn scale<G: Geometry, const B: usize>(&self, wrench: &Wrench<G>) -> [f64; B] {
        let mut out = [0.0; B];
        for axis in 0..G::DIM {
            out[axis] = self.lin[axis] * wrench.lin[axis];
        }
        for k in 0..G::Ang::LEN {
            let mut sum = 0.0;
            for i in k..G::Ang::LEN {
                sum += self.ang[i][k] * wrench.ang[i];
            }
            out[G::DIM + k] = sum;
        }
        out
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.lin == [0.0; 3] && self.ang == [[0.0; 3]; 3]
    }
}

/// The sparse problem of the selected rows, with what is kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct SparseRows {
    plane: Bodies<3>,
    space: Bodies<6>,
    /// The problem that is being built; it takes the place of the last one where it differs.
    next_plane: Bodies<3>,
    next_space: Bodies<6>,
    /// Version of the assembly, rows and softness that were built last.
    version: u64,
    lines: Vec<usize>,
    softness: Vec<(usize, f64)>,
    laws: Vec<Law>,
    free: Vec<f64>,
    warm: Vec<f64>,
    impulses: Vec<f64>,
    /// The selected rows are those that were built.
    pub ready: bool,
    /// Whether problems are kept, and those that were.
    pub capture: bool,
    pub captured: Vec<Vec<f64>>,
    /// Factorisations of this step, which began without a factor: the same for a step that goes on and for one that is resumed.
    pub factors: usize,
}

/// What the selected rows are solved for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Purpose {
    /// Velocities, as exactly as it matters.
    Speeds,
    /// Velocities to a miss of a law [m/s] that the user gave.
    Rough(f64),
    /// Displacements.
    Places,
}

impl Purpose {
    fn tolerance(self) -> Option<f64> {
        if let Purpose::Rough(tolerance) = self { Some(tolerance) } else { None }
    }
}

/// Solves the selected rows for the free velocities in `solve`, from its warm impulses.
pub(crate) fn solve_sparse<G: Geometry>(
    assembly: &Assembly<G>,
    solve: &mut Solve,
    solver: &mut ContactSolver,
    cone: Cone,
    purpose: Purpose,
) -> Outcome {
    pose(assembly, solve, cone);
    let contact_rows = solve.lines.len();
    let Solve { sparse: SparseRows { plane, space, laws, free, warm, impulses, .. }, other, .. } = solve;
    impulses.clear();
    impulses.resize(free.len(), 0.0);
    let mut task = Task::new(laws, free, RESIDUAL_AIM);
    // So many rows are solved as far as it matters: 1e-8 m/s, whatever the speeds.
    let mut wanted = RESIDUAL_WANTED.max(SPEED_WANTED / task.scale);
    let rough = purpose.tolerance().is_some();
    // A few bodies cost little to the last digit, and a stack that stands for seconds adds up what is missed.
    if purpose != Purpose::Places && is_heap(assembly) {
        (task.enough, task.serves) = (wanted, wanted);
        if assembly.roots.iter().filter(|root| !root.is_zero()).count() >= CROWD {
            task.passable = SPEED_PASSABLE / task.scale;
        }
    }
    if let Some(tolerance) = purpose.tolerance() {
        wanted = tolerance / task.scale;
        task = Task::new(laws, free, wanted);
    }
    if purpose != Purpose::Places && !other.is_empty() {
        // The same solve of the last substep had these targets, the other solve came later: where modes change, whichever misses its laws by less.
        let mut residual =
            |start: &[f64]| if G::DIM == 2 { task.judge(plane, start, impulses) } else { task.judge(space, start, impulses) };
        let first = residual(warm);
        if first > OTHER_WORTH && residual(other) < first {
            warm.copy_from_slice(other);
        }
    }
    let answer = if G::DIM == 2 {
        solver.solve_sparse(plane, &task, warm, wanted, rough, impulses)
    } else {
        solver.solve_sparse(space, &task, warm, wanted, rough, impulses)
    };
    solve.impulses.copy_from_slice(&impulses[..contact_rows]);
    answer
}

/// Keeps the selected problem as numbers, whichever method will solve it.
pub(crate) fn capture<G: Geometry>(assembly: &Assembly<G>, solve: &mut Solve, cone: Cone) {
    pose(assembly, solve, cone);
    let rows = &mut solve.sparse;
    let mut numbers = Vec::new();
    if G::DIM == 2 {
        Stored::write(&rows.plane, &rows.laws, &rows.free, &rows.warm, &mut numbers);
    } else {
        Stored::write(&rows.space, &rows.laws, &rows.free, &rows.warm, &mut numbers);
    }
    rows.captured.push(numbers);
}

/// Poses the selected problem: rows, laws, free velocities and warm impulses, those of the joints last.
fn pose<G: Geometry>(assembly: &Assembly<G>, solve: &mut Solve, cone: Cone) {
    let Solve { sparse: rows, blocks, arms, first, lines, softness, free, warm, scratch, .. } = solve;
    rows.set_laws(assembly, blocks, arms, cone);
    rows.ready |= rows.version == assembly.version && rows.lines == *lines && rows.softness == *softness;
    if !rows.ready {
        rows.version = assembly.version;
        rows.lines.clone_from(lines);
        rows.softness.clone_from(softness);
        rows.build(assembly, first);
    }
    let joint_rows = assembly.equalities.len();
    rows.free.clear();
    rows.free.extend_from_slice(free);
    rows.free.resize(lines.len() + joint_rows, 0.0);
    rows.warm.clear();
    rows.warm.extend_from_slice(warm);
    if joint_rows > 0 {
        assembly.answer_joints(lines, warm, scratch);
        rows.warm.extend_from_slice(scratch);
    }
}

impl SparseRows {
    /// Forgets the factors of earlier problems, so that no bit of the next depends on them.
    pub fn forget(&mut self) {
        self.plane.forget();
        self.space.forget();
        self.factors = 0;
    }

    fn set_laws<G: Geometry>(&mut self, assembly: &Assembly<G>, blocks: &[Block], arms: &[Option<Arms>], cone: Cone) {
        self.laws.clear();
        // A projection has no arms at all.
        let arms = arms.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        self.laws.extend(blocks.iter().zip(arms).map(|(block, arms)| moments::law(block, arms, cone, G::TANGENTS)));
        for (node, (_, rows)) in assembly.equalities.meetings().enumerate() {
            // The row of a rotor gives way, those before it do not.
            let rotor = usize::from(assembly.equalities.rotor_of(node).is_some());
            self.laws.push(Law::Equality(Equality { rows: rows - rotor }));
            self.laws.extend((0..rotor).map(|rows| Law::Equality(Equality { rows: rows + 1 })));
        }
    }

    fn build<G: Geometry>(&mut self, assembly: &Assembly<G>, first: &[usize]) {
        let selected = Selection { first, lines: &self.lines, softness: &self.softness };
        if G::DIM == 2 {
            fill(&mut self.next_plane, assembly, &selected);
            if !self.plane.same_rows(&self.next_plane) {
                std::mem::swap(&mut self.plane, &mut self.next_plane);
                self.plane.take_analysis(&mut self.next_plane);
            }
        } else {
            fill(&mut self.next_space, assembly, &selected);
            if !self.space.same_rows(&self.next_space) {
                std::mem::swap(&mut self.space, &mut self.next_space);
                self.space.take_analysis(&mut self.next_space);
            }
        }
        self.ready = true;
    }
}

/// The rows that take part, as [`Solve`] selected them.
struct Selection<'a> {
    first: &'a [usize],
    lines: &'a [usize],
    softness: &'a [(usize, f64)],
}

/// Writes the selected rows, then those of the joints.
fn fill<G: Geometry, const B: usize>(rows: &mut Bodies<B>, assembly: &Assembly<G>, selected: &Selection) {
    let Assembly { lines, roots, locked_rows, equalities, .. } = assembly;
    rows.begin(roots.len());
    let mut soft = selected.softness.iter().peekable();
    for (position, &first) in selected.first.iter().enumerate() {
        let count = selected.first.get(position + 1).copied().unwrap_or(selected.lines.len()) - first;
        let mut softness = 0.0;
        while let Some(&&(row, value)) = soft.peek()
            && row <= first
        {
            if row == first {
                softness = value;
            }
            soft.next();
        }
        rows.add_block(count, softness);
        let own = &selected.lines[first..first + count];
        for side in 0..2 {
            let body = lines[own[0]].bodies[side];
            if roots[body].is_zero() {
                continue;
            }
            rows.add_side(body, |k| {
                // A direction that the joints lock has nothing to answer with.
                if locked_rows[own[k]] {
                    return [0.0; B];
                }
                let line: &Line<G> = &lines[own[k]];
                roots[body].scale(if side == 0 { &line.row.a } else { &line.row.b })
            });
        }
    }
    for (joint, (bodies, count)) in equalities.meetings().enumerate() {
        // Row k by what unit twists do to it.
        let mut wrenches = [[Wrench::<G>::zero(); MAX_ROWS]; 2];
        for side in 0..2 {
            let wrenches = &mut wrenches[side];
            for axis in 0..G::DIM {
                let mut unit = Twist::<G>::zero();
                unit.lin[axis] = 1.0;
                equalities.speeds_at(joint, side, &unit, |r, speed| wrenches[r].lin[axis] = speed);
            }
            for axis in 0..G::Ang::LEN {
                let mut unit = Twist::<G>::zero();
                unit.ang[axis] = 1.0;
                equalities.speeds_at(joint, side, &unit, |r, speed| wrenches[r].ang[axis] = speed);
            }
        }
        let rotor = equalities.rotor_of(joint);
        let held = count - usize::from(rotor.is_some());
        let parts = [Some((0, held, 0.0)), rotor.map(|rotor| (held, 1, rotor.inverse))];
        for (first, count, softness) in parts.into_iter().flatten() {
            rows.add_block(count, softness);
            for (side, &body) in bodies.iter().enumerate() {
                if !roots[body].is_zero() {
                    rows.add_side(body, |k| roots[body].scale(&wrenches[side][first + k]));
                }
            }
        }
    }
    rows.finish();
    debug_assert_eq!(rows.layout().rows(), selected.lines.len() + equalities.len());
}
