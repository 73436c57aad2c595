//! Both matrices of a linkage by blocks, one node a joint, theory (17.12), (17.20) and (9.19).

use super::linkage_body::{LinkBody, Turned};
use super::linkage_rows::{LinkJoint, LinkRows};
use carom_geometry::Geometry;
use carom_math::Vector;
use carom_math::block_ldl::WIDEST;
use carom_math::block_lu::BlockLu;
use carom_math::block_sparse::Pattern;
use carom_math::ldl::{Order, Symbolic};
use std::sync::Arc;

/// Graphs kept; past it the oldest goes.
const KEPT: usize = 64;

/// Stands for a body that impulses do not move.
const FIXED: usize = usize::MAX;

/// Two joints at a body they share, named by when they are eliminated, with their sides there.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    at: u32,
    late: u32,
    early: u32,
    late_side: u8,
    early_side: u8,
}

/// Who couples with whom, and where the blocks stand.
#[derive(Debug)]
struct Graph {
    /// Bodies, `FIXED` where impulses do not move them, and rows of every joint.
    name: Vec<([usize; 2], usize)>,
    symbolic: Arc<Symbolic>,
    /// Where the diagonal block of each joint begins.
    own: Vec<usize>,
    meetings: Vec<Meeting>,
}

/// The graphs of past linkages.
#[derive(Debug, Default)]
pub(crate) struct Graphs(Vec<Arc<Graph>>);

fn name(joint: &LinkJoint) -> ([usize; 2], usize) {
    ([0, 1].map(|side| if joint.dynamic[side] { joint.bodies[side] } else { FIXED }), joint.rows)
}

impl Graphs {
    /// The graph of these joints; `None` where there is none.
    fn find(&mut self, joints: &[LinkJoint]) -> Option<Arc<Graph>> {
        if let Some(found) = self.0.iter().find(|graph| graph.is_of(joints)) {
            return Some(Arc::clone(found));
        }
        let graph = Arc::new(Graph::new(joints)?);
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push(Arc::clone(&graph));
        Some(graph)
    }
}

impl Graph {
    fn is_of(&self, joints: &[LinkJoint]) -> bool {
        self.name.len() == joints.len() && self.name.iter().zip(joints).all(|(own, joint)| *own == name(joint))
    }

    fn new(joints: &[LinkJoint]) -> Option<Self> {
        // Ends by body: (body, joint, side).
        let mut ends: Vec<(usize, usize, usize)> = Vec::new();
        for (node, joint) in joints.iter().enumerate() {
            ends.extend((0..2).filter(|&side| joint.dynamic[side]).map(|side| (joint.bodies[side], node, side)));
        }
        ends.sort_unstable();
        let mut shared = Vec::new();
        for at_body in ends.chunk_by(|a, b| a.0 == b.0) {
            for (k, &(_, i, side)) in at_body.iter().enumerate() {
                shared.extend(at_body[k + 1..].iter().map(|&(_, j, other)| ((i, side), (j, other))));
            }
        }
        let mut edges: Vec<(usize, usize)> = shared.iter().map(|&((i, _), (j, _))| (i, j)).filter(|(i, j)| i != j).collect();
        edges.sort_unstable();
        edges.dedup();
        let sizes: Vec<usize> = joints.iter().map(|joint| joint.rows).collect();
        let pattern = Arc::new(Pattern::new(&sizes, &edges).ok()?);
        let symbolic = Arc::new(Symbolic::analyse(&pattern, Order::TwoEnded).ok()?);
        let own = (0..joints.len()).map(|node| symbolic.place(node, node).map(|place| place.at)).collect::<Option<Vec<_>>>()?;
        let mut meetings = Vec::with_capacity(shared.len());
        for (one, other) in shared {
            let place = symbolic.place(one.0, other.0)?;
            let (late, early) = if place.transposed { (other, one) } else { (one, other) };
            let [at, first, second] = [place.at, late.0, early.0].map(|x| x as u32);
            meetings.push(Meeting { at, late: first, early: second, late_side: late.1 as u8, early_side: early.1 as u8 });
        }
        meetings.sort_unstable_by_key(|meeting| meeting.at);
        Some(Graph { name: joints.iter().map(name).collect(), symbolic, own, meetings })
    }
}

/// The factors of a linkage, and what they are made of.
#[derive(Debug)]
pub(crate) struct LinkFactor<G: Geometry> {
    found: Option<(Arc<Graph>, [BlockLu; 2])>,
    /// A pivot was not sound: these joints repeat each other, and whoever searches for pivots is asked at once.
    repeats: bool,
    /// Covectors on angular velocities and the angular velocities that rows give, by side and row.
    felt: [Vec<G::Ang>; 2],
    answers: [Vec<G::Ang>; 2],
}

impl<G: Geometry> Default for LinkFactor<G> {
    fn default() -> Self {
        let none = || [Vec::new(), Vec::new()];
        LinkFactor { found: None, repeats: false, felt: none(), answers: none() }
    }
}

impl<G: Geometry> LinkFactor<G> {
    /// Factors both matrices from the rows at q and at q'; `false` where pivots have to be searched.
    pub fn factor(
        &mut self,
        graphs: &mut Graphs,
        joints: &[LinkJoint],
        rows: &[LinkRows<G>; 2],
        bodies: &[LinkBody<G>],
        turned: &[Vec<Turned<G>>; 2],
    ) -> bool {
        if !self.found.as_ref().is_some_and(|(graph, _)| graph.is_of(joints)) {
            self.repeats = false;
            self.found = graphs.find(joints).and_then(|graph| {
                let room = || BlockLu::new(Arc::clone(&graph.symbolic));
                Some((Arc::clone(&graph), [room()?, room()?]))
            });
        }
        let Some((graph, factors)) = self.found.as_mut().filter(|_| !self.repeats) else { return false };
        let count = joints.last().map_or(0, |joint| joint.first + joint.rows);
        for list in self.felt.iter_mut().chain(&mut self.answers) {
            list.resize(count, G::Ang::zero());
        }
        for (room, factor) in factors.iter_mut().enumerate() {
            for joint in joints {
                for side in (0..2).filter(|&side| joint.dynamic[side]) {
                    let body = joint.bodies[side];
                    let (felt, answers) = (&mut self.felt[side][joint.range()], &mut self.answers[side][joint.range()]);
                    let inverse = turned[room][body].inv_inertia;
                    let body = &bodies[body];
                    // phi(q')/t by the velocity of the move, then J v by that at q'.
                    if joint.pinned {
                        let sign = if side == 0 { 1.0 } else { -1.0 };
                        let (now, then) = (rows[room].pin(joint), rows[1].pin(joint));
                        let felt_arms = if room == 0 && G::ANG > 1 {
                            arm_of::<G>(&body.carrier, then.arms[side])
                        } else {
                            torques::<G>(then.arms[side])
                        };
                        let answer_arms = match &body.unfolded {
                            Some(columns) if room == 1 => arm_of::<G>(columns, now.arms[side]),
                            _ => G::inertia_arm(inverse, now.arms[side]),
                        };
                        let (felt, felt_turns) = felt.split_at_mut(G::DIM);
                        let (answers, answer_turns) = answers.split_at_mut(G::DIM);
                        for k in 0..G::DIM {
                            felt[k] = felt_arms[k] * sign;
                            answers[k] = answer_arms[k] * sign;
                        }
                        for (k, (felt, answer)) in felt_turns.iter_mut().zip(answer_turns).enumerate() {
                            let torque = then.turns[k] * sign;
                            *felt = if room == 0 { body.carried_torque(torque) } else { torque };
                            let given = now.turns[k] * sign;
                            *answer = if room == 0 { G::inertia_apply(inverse, given) } else { body.end_rate(given, inverse) };
                        }
                        continue;
                    }
                    for k in 0..joint.rows {
                        let torque = rows[1].whole_torque(joint, side, k);
                        let given = rows[room].whole_torque(joint, side, k);
                        felt[k] = if room == 0 { body.carried_torque(torque) } else { torque };
                        answers[k] = if room == 0 { G::inertia_apply(inverse, given) } else { body.end_rate(given, inverse) };
                    }
                }
            }
            let (felt, answers) = (&self.felt, &self.answers);
            let sound = factor.factor_with(|lower, upper| {
                for (joint, &at) in joints.iter().zip(&graph.own) {
                    let block = &mut lower[at..][..joint.rows * joint.rows];
                    for side in (0..2).filter(|&side| joint.dynamic[side]) {
                        add_products::<G>(&felt[side][joint.range()], &answers[side][joint.range()], block);
                        add_forces::<G>([(joint, &rows[1]), (joint, &rows[room])], 1.0, bodies[joint.bodies[side]].inv_mass, block);
                    }
                }
                for meeting in &graph.meetings {
                    let [late, early] = [meeting.late, meeting.early].map(|node| &joints[node as usize]);
                    let (side, other) = (usize::from(meeting.late_side), usize::from(meeting.early_side));
                    let sign = if side == other { 1.0 } else { -1.0 };
                    let at = meeting.at as usize..meeting.at as usize + late.rows * early.rows;
                    let inv_mass = bodies[late.bodies[side]].inv_mass;
                    add_products::<G>(&felt[side][late.range()], &answers[other][early.range()], &mut lower[at.clone()]);
                    add_forces::<G>([(late, &rows[1]), (early, &rows[room])], sign, inv_mass, &mut lower[at.clone()]);
                    add_products::<G>(&answers[side][late.range()], &felt[other][early.range()], &mut upper[at.clone()]);
                    add_forces::<G>([(late, &rows[room]), (early, &rows[1])], sign, inv_mass, &mut upper[at]);
                }
            });
            if !sound {
                self.repeats = true;
                return false;
            }
        }
        true
    }

    /// x := S^-1 x of a room.
    pub fn solve(&self, room: usize, x: &mut [f64]) {
        if let Some((_, factors)) = &self.found {
            factors[room].solve(x);
        }
    }
    /// x := S^-T x of a room.
    #[inline]
    pub fn solve_transpose(&self, room: usize, x: &mut [f64]) {
        if let Some((_, factors)) = &self.found {
            factors[room].solve_transpose(x);
        }
    }
}

/// block += rows columns', with the number of columns known where a joint has so many.
#[inline(always)]
fn add_products<G: Geometry>(rows: &[G::Ang], columns: &[G::Ang], block: &mut [f64]) {
    const { assert!(WIDEST == 6) };
    match columns.len() {
        1 => add_wide_products::<G, 1>(rows, columns, block),
        2 => add_wide_products::<G, 2>(rows, columns, block),
        3 => add_wide_products::<G, 3>(rows, columns, block),
        4 => add_wide_products::<G, 4>(rows, columns, block),
        5 => add_wide_products::<G, 5>(rows, columns, block),
        6 => add_wide_products::<G, 6>(rows, columns, block),
        _ => {}
    }
}

#[inline(always)]
fn add_wide_products<G: Geometry, const N: usize>(rows: &[G::Ang], columns: &[G::Ang], block: &mut [f64]) {
    // By components, so that the columns go side by side.
    let mut apart = [[0.0; N]; 3];
    for c in 0..N {
        for k in 0..G::ANG {
            apart[k][c] = columns[c][k];
        }
    }
    for (out, row) in block.as_chunks_mut::<N>().0.iter_mut().zip(rows) {
        for k in 0..G::ANG {
            for c in 0..N {
                out[c] += row[k] * apart[k][c];
            }
        }
    }
}

/// block += sign times what forces along the rows of one joint do to those of another at a body.
#[inline(always)]
fn add_forces<G: Geometry>(joints: [(&LinkJoint, &LinkRows<G>); 2], sign: f64, inv_mass: G::Lin, block: &mut [f64]) {
    let [(one, one_rows), (other, other_rows)] = joints;
    let width = other.rows;
    if one.pinned && other.pinned {
        for k in 0..G::DIM {
            block[k * width + k] += sign * inv_mass[k];
        }
        return;
    }
    for r in 0..one.rows {
        let along = one_rows.row(one, r).a.lin.scale(inv_mass) * sign;
        for c in 0..width {
            block[r * width + c] += along.dot(other_rows.row(other, c).a.lin);
        }
    }
}

/// r x e_k for each axis of the world, the first DIM entries counting.
#[inline(always)]
fn torques<G: Geometry>(arm: G::Lin) -> [G::Ang; 3] {
    let mut out = [G::Ang::zero(); 3];
    if G::ANG == 1 {
        (out[0][0], out[1][0]) = (-arm[1], arm[0]);
        return out;
    }
    let (x, y, z) = (arm[0], arm[1], arm[2]);
    (out[0][1], out[0][2]) = (z, -y);
    (out[1][0], out[1][2]) = (-z, x);
    (out[2][0], out[2][1]) = (y, -x);
    out
}

/// A (r x e_k) of a matrix given by columns.
#[inline(always)]
fn arm_of<G: Geometry>(columns: &[G::Ang; 3], arm: G::Lin) -> [G::Ang; 3] {
    let [x, y, z] = *columns;
    [y * arm[2] - z * arm[1], z * arm[0] - x * arm[2], x * arm[1] - y * arm[0]]
}
