//! Both matrices of a linkage by blocks, theory (17.12), (17.20), (17.25)-(17.26) and (9.21).

use super::body::{LinkBody, Turned};
use super::crowd::Crowd;
use super::graph::{Graphs, LinkGraph};
use super::rows::{LinkJoint, LinkRows};
use carom_geometry::Geometry;
use carom_math::block_ldl::WIDEST;
use carom_math::block_lu::BlockLu;
use carom_math::{Vector, Wrench};
use std::sync::Arc;

/// The factors of a linkage, and what they are made of.
#[derive(Debug)]
pub(crate) struct LinkFactor<G: Geometry> {
    found: Option<(Arc<LinkGraph>, [BlockLu; 2])>,
    /// A pivot was not sound: these joints repeat each other, and whoever searches for pivots is asked at once.
    repeats: bool,
    /// Covectors on angular velocities and the angular velocities that rows give, by side and row; where the body is a node, the torques of the rows.
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
    /// Factors both matrices from the rows at q and at q', `duration` being how long the gyroscopic torque acts at q'; `false` where pivots have to be
    /// searched.
    pub fn factor(
        &mut self,
        graphs: &mut Graphs,
        joints: &[LinkJoint],
        rows: &[LinkRows<G>; 2],
        bodies: &[LinkBody<G>],
        turned: &[Vec<Turned<G>>; 2],
        duration: f64,
    ) -> bool {
        let answers = |body: usize| bodies[body].answers(&turned[0][body]);
        if !self.found.as_ref().is_some_and(|(graph, _)| graph.is_of(joints, answers)) {
            self.repeats = false;
            self.found = graphs.find::<G>(joints, bodies.len(), answers).and_then(|graph| {
                let room = || Some(BlockLu::new(Arc::clone(&graph.symbolic))?.with_least_pivot(graph.least_pivot()));
                Some((Arc::clone(&graph), [room()?, room()?]))
            });
        }
        let Some((graph, factors)) = self.found.as_mut().filter(|_| !self.repeats) else { return false };
        let count = joints.last().map_or(0, |joint| joint.first + joint.rows);
        for list in self.felt.iter_mut().chain(&mut self.answers) {
            list.resize(count, G::Ang::zero());
        }
        for (room, factor) in factors.iter_mut().enumerate() {
            for (joint, own) in joints.iter().zip(&graph.own) {
                for side in (0..2).filter(|&side| joint.dynamic[side]) {
                    let body = joint.bodies[side];
                    let (felt, answers) = (&mut self.felt[side][joint.range()], &mut self.answers[side][joint.range()]);
                    let inverse = turned[room][body].inv_inertia;
                    let body = &bodies[body];
                    let node = !own.counted[side];
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
                            _ if node => torques::<G>(now.arms[side]),
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
                            *answer = answer_of(node, room, body, given, inverse);
                        }
                        continue;
                    }
                    for k in 0..joint.rows {
                        let torque = rows[1].whole_torque(joint, side, k);
                        let given = rows[room].whole_torque(joint, side, k);
                        felt[k] = if room == 0 { body.carried_torque(torque) } else { torque };
                        answers[k] = answer_of(node, room, body, given, inverse);
                    }
                }
            }
            let parts = |body: usize| graph.parts.get(body).copied().unwrap_or(1.0);
            if !graph.parts.is_empty() {
                for joint in joints {
                    for side in (0..2).filter(|&side| joint.dynamic[side]) {
                        let parts = parts(joint.bodies[side]);
                        self.answers[side][joint.range()].iter_mut().for_each(|answer| *answer = *answer * parts);
                    }
                }
            }
            let (felt, answers) = (&self.felt, &self.answers);
            let sound = factor.factor_with(|lower, upper| {
                for (joint, own) in joints.iter().zip(&graph.own) {
                    let block = &mut lower[own.at..][..joint.rows * joint.rows];
                    for side in (0..2).filter(|&side| own.counted[side]) {
                        let inv_mass = bodies[joint.bodies[side]].inv_mass * parts(joint.bodies[side]);
                        add_products::<G>(&felt[side][joint.range()], &answers[side][joint.range()], block);
                        add_forces::<G>([(joint, &rows[1]), (joint, &rows[room])], 1.0, inv_mass, block);
                    }
                }
                for meeting in &graph.meetings {
                    let [late, early] = [meeting.late, meeting.early].map(|node| &joints[node as usize]);
                    let (side, other) = (usize::from(meeting.late_side), usize::from(meeting.early_side));
                    let sign = if side == other { 1.0 } else { -1.0 };
                    let at = meeting.at as usize..meeting.at as usize + late.rows * early.rows;
                    let inv_mass = bodies[late.bodies[side]].inv_mass * parts(late.bodies[side]);
                    add_products::<G>(&felt[side][late.range()], &answers[other][early.range()], &mut lower[at.clone()]);
                    add_forces::<G>([(late, &rows[1]), (early, &rows[room])], sign, inv_mass, &mut lower[at.clone()]);
                    add_products::<G>(&answers[side][late.range()], &felt[other][early.range()], &mut upper[at.clone()]);
                    add_forces::<G>([(late, &rows[room]), (early, &rows[1])], sign, inv_mass, &mut upper[at]);
                }
                let crowd = Crowd { joints, rows: [&rows[1], &rows[room]], felt, answers };
                if !graph.nodes.is_empty() {
                    let mass = |body: usize| bodies[body].mass_matrix(room, &turned[room][body], duration);
                    crowd.fill_nodes(graph, mass, lower, upper);
                }
                if !graph.welds.is_empty() {
                    let respond = |body: usize, wrench: &Wrench<G>| bodies[body].response(room, &turned[room][body], wrench);
                    crowd.fill_welds(graph, respond, |body| bodies[body].inv_mass, lower, upper);
                }
            });
            if !sound {
                self.repeats = true;
                return false;
            }
        }
        true
    }

    /// Multiply-adds of one factor and of a solve with it, those of the symmetric half.
    #[cfg(test)]
    pub fn operations(&self) -> u64 {
        self.found.as_ref().map_or(0, |(graph, _)| graph.symbolic.factor_operations() + graph.symbolic.solve_operations())
    }

    /// x := S^-1 x of a room; crowded bodies have no place in x before or after.
    pub fn solve(&self, room: usize, x: &mut Vec<f64>) {
        self.solve_with(room, x, BlockLu::solve);
    }
    /// x := S^-T x of a room.
    #[inline]
    pub fn solve_transpose(&self, room: usize, x: &mut Vec<f64>) {
        self.solve_with(room, x, BlockLu::solve_transpose);
    }
    #[inline]
    fn solve_with(&self, room: usize, x: &mut Vec<f64>, solve: impl Fn(&BlockLu, &mut [f64])) {
        if let Some((graph, factors)) = &self.found {
            let rows = x.len();
            x.resize(graph.symbolic.pattern().rows(), 0.0);
            solve(&factors[room], x);
            x.truncate(rows);
        }
    }
}

/// The angular velocity that a torque gives a body, or the torque itself where the body is a node.
#[inline(always)]
fn answer_of<G: Geometry>(node: bool, room: usize, body: &LinkBody<G>, torque: G::Ang, inverse: G::Inertia) -> G::Ang {
    match room {
        _ if node => torque,
        0 => G::inertia_apply(inverse, torque),
        _ => body.end_rate(torque, inverse),
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
