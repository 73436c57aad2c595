//! Stage 5 of islands with joints and many rows: every contact, limit and motor is inserted into the factor of the joints and solved with
//! them exact, one after another in sweeps, theory (17.46)-(17.49). The matrix of all rows with each other is never made.

use crate::assembly::{Assembly, Group};
use crate::joint_factor::JointFactor;
use crate::joint_rows::JointRows;
use crate::line::Line;
use crate::options::{FrictionCone, Options, SolverChoice};
use crate::solve::Solve;
use carom_geometry::Geometry;
use carom_math::Twist;
use carom_math::bordered::paths::PathRows;
use carom_solve::contact::one_contact::solve_contact;
use carom_solve::contact::problem::{Block, Cone};
use carom_solve::status::{Method, Outcome, RESIDUAL_AIM, RESIDUAL_WANTED, block_miss, speed_scale};

/// From this many rows on, sweeps along the joints or a solve over bodies are faster than the matrix of all rows with each other.
const ARTICULATED_ROWS: usize = 151;

/// Whether the rows of an island are to be inserted into the factor of its joints.
pub(crate) fn articulates<G: Geometry>(options: &Options, rows: usize, equalities: usize) -> bool {
    // The pyramid is no shape a single contact is solved for, and is refused where `articulated` is asked for; in the plane both cones are the same.
    let round = G::TANGENTS == 1 || options.friction_cone == FrictionCone::Round;
    let wanted = match options.solver {
        SolverChoice::Articulated => rows > 0,
        SolverChoice::Auto => rows >= ARTICULATED_ROWS,
        SolverChoice::InteriorPoint => false,
    };
    wanted && round && equalities > 0
}

/// Most rows of a group: a contact in space.
const WIDTH: usize = 3;

/// Sweeps before the reduced problem is tried instead.
const SWEEP_CAP: usize = 400;

/// Sweeps between two looks at how far the residual has come, where few rows make the reduced problem cheap and where many do not.
const PATIENCE: [usize; 2] = [10, 40];

/// Rows up to which there are few.
const FEW_ROWS: usize = 150;

/// Part that the residual must fall to from one look to the next: slower, and the reduced problem is cheaper.
const PROGRESS: f64 = 0.3;

/// A residual that falls to no less than this part from one sweep to the next in the same direction stands still.
const STANDSTILL: f64 = 0.9;

/// Relative residual at which one that stands still is accepted: targets of rows that the joints lock together (the contacts of a straight chain,
/// along it) contradict each other by the rounding of positions over the step, and no impulse can help.
const ENOUGH: f64 = 1e-9;

/// The rows of an island inserted into the factor of its joints.
#[derive(Debug)]
pub(crate) struct Inserted<G: Geometry> {
    /// G^-1 B of each row, group by group.
    pub paths: PathRows,
    /// How a group answers its own impulses with the joints held: WIDTH x WIDTH for each, by rows, theory (12.14).
    answers: Vec<f64>,
    /// Its diagonal without the joints: WIDTH for each.
    unheld: Vec<f64>,
    /// Sum of G^-1 B l over all rows, and M^-1 J' l: what their impulses do through the joints and at once.
    through: Vec<f64>,
    direct: Vec<Twist<G>>,
    nodes: Vec<usize>,
    packed: Vec<f64>,
}

impl<G: Geometry> Default for Inserted<G> {
    fn default() -> Self {
        Inserted {
            paths: PathRows::default(),
            answers: Vec::new(),
            unheld: Vec::new(),
            through: Vec::new(),
            direct: Vec::new(),
            nodes: Vec::new(),
            packed: Vec::new(),
        }
    }
}

impl<G: Geometry> Inserted<G> {
    /// Inserts all rows and finds those that the joints lock; false where that cannot be done.
    pub fn insert(
        &mut self,
        factor: &JointFactor,
        equalities: &JointRows<G>,
        groups: &[Group],
        lines: &[Line<G>],
        locked: f64,
        locked_rows: &mut Vec<bool>,
        bodies: usize,
    ) -> bool {
        let Some(joints) = factor.factor() else { return false };
        let Inserted { paths, answers, unheld, through, direct, nodes, packed } = self;
        paths.clear();
        answers.clear();
        unheld.clear();
        locked_rows.clear();
        through.clear();
        through.resize(joints.symbolic().pattern().rows(), 0.0);
        direct.clear();
        direct.resize(bodies, Twist::zero());
        for (index, group) in groups.iter().enumerate() {
            let rows = &lines[group.first..group.first + group.rows];
            nodes.clear();
            packed.clear();
            // A joint between the two bodies of a row is met from both; its entries then add up.
            for side in 0..2 {
                nodes.extend(factor.attached(rows[0].bodies[side]).iter().map(|joint| joint.node));
            }
            for line in rows {
                for side in 0..2 {
                    for joint in factor.attached(line.bodies[side]) {
                        equalities.speeds_at(joint.node, joint.side, &line.response[side], |_, speed| packed.push(speed));
                    }
                }
            }
            if paths.insert(joints, nodes, packed, group.rows).is_err() {
                return false;
            }
            for i in 0..WIDTH {
                for j in 0..WIDTH {
                    let here = i < group.rows && j < group.rows;
                    answers.push(if here { rows[i].couple(&rows[j]) - paths.product(index, i, j) } else { 0.0 });
                }
                unheld.push(if i < group.rows { rows[i].couple(&rows[i]) } else { 0.0 });
            }
            for i in 0..group.rows {
                let (held, free) = (answers[(index * WIDTH + i) * WIDTH + i], unheld[index * WIDTH + i]);
                locked_rows.push(free <= 0.0 || held <= locked * free);
            }
        }
        true
    }
}

/// Takes impulse changes of a group to what they do at once and through the joints.
#[inline]
fn apply<G: Geometry>(
    paths: &PathRows,
    lines: &[Line<G>],
    index: usize,
    group: &Group,
    change: &[f64],
    through: &mut [f64],
    direct: &mut [Twist<G>],
) {
    for (k, &s) in change.iter().enumerate() {
        if s != 0.0 {
            lines[group.first + k].push(s, direct);
            paths.add(index, k, s, through);
        }
    }
}

/// Sweeps over the selected groups from the warm impulses until every law holds; impulses are left in `solve`.
pub(crate) fn sweep<G: Geometry>(assembly: &mut Assembly<G>, solve: &mut Solve) -> Outcome {
    let Assembly { groups, lines, locked_rows, inserted, .. } = assembly;
    let Inserted { paths, answers, unheld, through, direct, .. } = inserted;
    let Solve { groups: selected, first, blocks, free, warm, impulses, softness, .. } = solve;
    let scale = speed_scale(free);
    impulses.copy_from_slice(warm);
    if !impulses.iter().all(|l| l.is_finite()) {
        impulses.fill(0.0);
    }
    through.fill(0.0);
    direct.fill(Twist::zero());
    for (position, &index) in selected.iter().enumerate() {
        let group = &groups[index];
        for k in 0..group.rows {
            // A locked direction answers nothing.
            if locked_rows[group.first + k] {
                impulses[first[position] + k] = 0.0;
            }
        }
        apply(paths, lines, index, group, &impulses[first[position]..][..group.rows], through, direct);
    }

    let patience = PATIENCE[usize::from(impulses.len() > FEW_ROWS)];
    let mut residual = f64::INFINITY;
    let mut last_look = f64::INFINITY;
    let mut earlier = [f64::INFINITY; 2];
    for sweep in 0..SWEEP_CAP {
        // Every law is judged when its group is met, before it is solved: when all held then, all hold.
        let mut worst = 0.0f64;
        let forward = sweep % 2 == 0;
        for step in 0..selected.len() {
            let position = if forward { step } else { selected.len() - 1 - step };
            let (index, row) = (selected[position], first[position]);
            let group = &groups[index];
            let d = group.rows;
            let answer = &answers[index * WIDTH * WIDTH..][..WIDTH * WIDTH];
            let softness = softness_of(softness, row);
            let mut u = [0.0; WIDTH];
            let mut diagonal = [0.0; WIDTH];
            for k in 0..d {
                if !locked_rows[group.first + k] {
                    u[k] =
                        free[row + k] + lines[group.first + k].speed(direct) - paths.dot(index, k, through) + softness * impulses[row + k];
                    diagonal[k] = answer[k * WIDTH + k] + softness;
                }
            }
            let miss = block_miss(&blocks[position], Cone::Round, &diagonal[..d], &impulses[row..row + d], &u[..d]);
            if miss.is_nan() {
                return Outcome::failed(sweep, Method::Sweep);
            }
            worst = worst.max(miss);
            let mut change = [0.0; WIDTH];
            match (blocks[position].friction(), blocks[position]) {
                (Some(friction), _) => {
                    // Velocities without the group's own impulses.
                    let (mut k_block, mut own) = ([0.0; WIDTH * WIDTH], [0.0; WIDTH]);
                    for i in 0..d {
                        own[i] = u[i];
                        for j in 0..d {
                            k_block[i * d + j] = answer[i * WIDTH + j];
                            if !locked_rows[group.first + i] {
                                own[i] -= answer[i * WIDTH + j] * impulses[row + j];
                            }
                        }
                    }
                    let Ok(found) = solve_contact(&k_block[..d * d], &unheld[index * WIDTH..][..d], &own[..d], 0.0, friction) else {
                        return Outcome::failed(sweep, Method::Sweep);
                    };
                    for k in 0..d {
                        change[k] = found.impulse[k] - impulses[row + k];
                    }
                }
                (None, Block::Bounded { lower, upper }) => {
                    change[0] = (impulses[row] - u[0] / diagonal[0]).clamp(lower, upper) - impulses[row];
                }
                _ => change[0] = (impulses[row] - u[0] / diagonal[0]).max(0.0) - impulses[row],
            }
            for k in 0..d {
                impulses[row + k] += change[k];
            }
            apply(paths, lines, index, group, &change[..d], through, direct);
        }
        residual = worst / scale;
        if residual <= RESIDUAL_AIM {
            return Outcome::judge(residual, RESIDUAL_WANTED, sweep + 1, Method::Sweep);
        }
        if residual <= ENOUGH && residual > STANDSTILL * earlier[sweep % 2] {
            return Outcome::judge(residual, ENOUGH, sweep + 1, Method::Sweep);
        }
        earlier[sweep % 2] = residual;
        if sweep % patience == patience - 1 {
            if residual > PROGRESS * last_look {
                return Outcome::judge(residual, RESIDUAL_WANTED, sweep + 1, Method::Sweep);
            }
            last_look = residual;
        }
    }
    Outcome::judge(residual, RESIDUAL_WANTED, SWEEP_CAP, Method::Sweep)
}

/// The softness of a row, 0 where it has none; soft rows are listed by rising row.
fn softness_of(softness: &[(usize, f64)], row: usize) -> f64 {
    if softness.is_empty() {
        return 0.0;
    }
    softness.binary_search_by_key(&row, |&(r, _)| r).map_or(0.0, |found| softness[found].1)
}
