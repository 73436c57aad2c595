//! Which bodies share an island: those joined, and those whose swept boxes meet, theory (2.1).

use crate::combine::Coefficient;
use crate::constraints::{Joint, JointKind};
use crate::contacts::Memory;
use crate::coupling::LocalTie;
use crate::curvature::Curvature;
use crate::impact::root;
use crate::island::parts::{Links, Motion, System};
use crate::island::{Island, LocalBody, LocalJoint, LocalPair};
use crate::joint_graph::JointGraphs;
use crate::model::{BodyKind, Model};
use crate::predict::pulls_slowly;
use crate::state::State;
use carom_geometry::{Aabb, Geometry};
use carom_math::Pose;

/// Bodies that fly in company at most: as many as the nearest memory of a core holds, so that what they share costs each of them little.
const COMPANY: usize = 128;

/// Marks a body without an island or without a place in it.
const NONE: usize = usize::MAX;

/// Whether and how two bodies collide, looked up by pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PairTable {
    /// Pairs that never collide because a joint holds them, sorted.
    joined: Vec<(usize, usize)>,
    /// Rules by pair, sorted: (pair, index of the rule).
    rules: Vec<((usize, usize), usize)>,
}

/// The size of a pair \[m\]: the largest extent of the smaller body.
pub(crate) fn pair_size(extents: &[f64], i: usize, j: usize) -> f64 {
    let size = extents[i].min(extents[j]);
    if size.is_finite() && size > 0.0 { size } else { 1.0 }
}

/// The length that the errors of a joint are measured against \[m\]: the larger extent of the joined bodies, 1 where they have no shapes.
fn joint_size<G: Geometry>(joint: &Joint<G>, extents: &[f64]) -> f64 {
    let size = joint.bodies.iter().flatten().map(|&body| extents[body]).filter(|x| x.is_finite()).fold(0.0, f64::max);
    if size > 0.0 { size } else { 1.0 }
}

/// Whether a joint is more than rows which hold.
fn acts<G: Geometry>(joint: &Joint<G>) -> bool {
    let moves = joint.motor.is_some() || joint.friction > 0.0 || joint.inequality_count() > 0;
    moves || matches!(joint.kind, JointKind::Spring | JointKind::Distance)
}

fn ordered(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

impl PairTable {
    /// Collects the rules of a model.
    pub fn new<G: Geometry>(model: &Model<G>) -> Self {
        let mut joined: Vec<_> = model
            .joints
            .iter()
            .filter(|j| !j.collide)
            .filter_map(|j| match j.bodies {
                [Some(a), Some(b)] => Some(ordered(a, b)),
                _ => None,
            })
            .collect();
        joined.sort_unstable();
        joined.dedup();
        let mut rules: Vec<_> = model.pairs.iter().enumerate().map(|(i, r)| (ordered(r.bodies[0], r.bodies[1]), i)).collect();
        rules.sort_unstable();
        PairTable { joined, rules }
    }
    /// Whether two bodies may touch.
    pub fn collide<G: Geometry>(&self, model: &Model<G>, i: usize, j: usize) -> bool {
        let (a, b) = (&model.bodies[i], &model.bodies[j]);
        if (a.kind != BodyKind::Dynamic && b.kind != BodyKind::Dynamic) || a.colliders.is_empty() || b.colliders.is_empty() {
            return false;
        }
        if let Some(collide) = self.rule(model, i, j).and_then(|r| r.collide) {
            return collide;
        }
        (a.group & b.mask) != 0 && (b.group & a.mask) != 0 && self.joined.binary_search(&ordered(i, j)).is_err()
    }
    /// The rule that two bodies obey, as an index into those of the model.
    pub fn rule_index(&self, i: usize, j: usize) -> Option<usize> {
        let pair = ordered(i, j);
        let found = self.rules.binary_search_by(|(p, _)| p.cmp(&pair)).ok()?;
        Some(self.rules[found].1)
    }
    fn rule<'a, G: Geometry>(&self, model: &'a Model<G>, i: usize, j: usize) -> Option<&'a crate::model::PairRule> {
        self.rule_index(i, j).map(|index| &model.pairs[index])
    }
    /// Friction, restitution, law and size of a pair.
    fn local<G: Geometry>(&self, model: &Model<G>, i: usize, j: usize, extents: &[f64]) -> LocalPair {
        let (a, b) = (&model.bodies[i], &model.bodies[j]);
        let rule = self.rule(model, i, j);
        let of = |which: Coefficient| rule.and_then(|r| r.coefficients.list()[which as usize]).unwrap_or_else(|| which.of_two(a, b));
        LocalPair {
            bodies: [NONE, NONE],
            friction: of(Coefficient::Friction),
            restitution: of(Coefficient::Restitution),
            // Nothing spins about a normal in the plane.
            arms: [of(Coefficient::Rolling), if G::ANG == 1 { 0.0 } else { of(Coefficient::Torsional) }],
            impact: rule.and_then(|r| r.impact).unwrap_or(model.options.impact),
            size: pair_size(extents, i, j),
        }
    }
}

/// Scratch for building islands.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    parent: Vec<usize>,
    /// Whether a body may meet another or is joined to one.
    bound: Vec<bool>,
    island_of: Vec<usize>,
    local: Vec<usize>,
    stamp: Vec<usize>,
    pairs_of: Vec<Vec<usize>>,
    /// Immovable bodies that joints hold on to, by island: (island, body, place in it or `NONE`), rising.
    anchors: Vec<(usize, usize, usize)>,
    graphs: JointGraphs,
}

impl Partition {
    /// Splits the bodies into islands, each with its pairs, joints, forces and memory; returns how many. Bodies that nobody may meet and no joint holds have
    /// nothing in common but time: unless they are wanted `apart`, they fly in company, many to an island, and each as if it were alone.
    #[allow(clippy::too_many_arguments)]
    pub fn build<G: Geometry>(
        &mut self,
        model: &Model<G>,
        state: &State<G>,
        table: &PairTable,
        extents: &[f64],
        pairs: &[(usize, usize)],
        memory: &[Memory<G>],
        curvature: &Curvature,
        apart: bool,
        islands: &mut Vec<Island<G>>,
    ) -> usize {
        let count = model.bodies.len();
        let dynamic = |i: usize| model.bodies[i].kind == BodyKind::Dynamic;
        self.parent.clear();
        self.parent.extend(0..count);
        self.bound.clear();
        self.bound.resize(count, apart);
        let mut join = |a: usize, b: usize| {
            (self.bound[a], self.bound[b]) = (true, true);
            if dynamic(a) && dynamic(b) {
                let (a, b) = (root(&mut self.parent, a), root(&mut self.parent, b));
                self.parent[a.max(b)] = a.min(b);
            }
        };
        pairs.iter().for_each(|&(a, b)| join(a, b));
        for joint in &model.joints {
            match joint.bodies {
                [Some(a), Some(b)] => join(a, b),
                [Some(a), None] | [None, Some(a)] => join(a, a),
                [None, None] => {}
            }
        }
        for coupling in &model.couplings {
            let mut bodies =
                coupling.terms.iter().flat_map(|&(joint, _)| model.joints[joint].bodies).flatten().filter(|&body| dynamic(body));
            if let Some(first) = bodies.next() {
                bodies.for_each(|body| join(first, body));
            }
        }

        // Islands are numbered by their first body.
        self.island_of.clear();
        self.island_of.resize(count, NONE);
        self.local.clear();
        self.local.resize(count, NONE);
        let mut islands_used = 0;
        let mut company = NONE;
        for body in 0..count {
            if !dynamic(body) {
                continue;
            }
            let first = root(&mut self.parent, body);
            let mut index = if self.bound[body] { self.island_of[first] } else { company };
            if index == NONE {
                index = islands_used;
                self.island_of[first] = index;
                if islands.len() == islands_used {
                    islands.push(Island::empty());
                }
                islands[islands_used].clear();
                add_body(&mut islands[islands_used], LocalBody::world(), None);
                islands_used += 1;
            }
            if !self.bound[body] {
                islands[index].members.company += 1;
                company = if islands[index].members.company < COMPANY { index } else { NONE };
            }
            self.island_of[body] = index;
            self.local[body] = islands[index].members.bodies.len();
            add_body(
                &mut islands[index],
                LocalBody::of(body, &model.bodies[body], false),
                Some((state, body, !model.bodies[body].colliders.is_empty())),
            );
        }

        // Pairs by island, then each island's immovable bodies on demand.
        while self.pairs_of.len() < islands_used {
            self.pairs_of.push(Vec::new());
        }
        self.pairs_of.iter_mut().for_each(Vec::clear);
        for (index, &(a, b)) in pairs.iter().enumerate() {
            let owner = if dynamic(a) { a } else { b };
            self.pairs_of[self.island_of[owner]].push(index);
        }
        self.stamp.clear();
        self.stamp.resize(count, NONE);
        self.find_anchors(model);
        let mut anchor = 0;
        for (index, island) in islands[..islands_used].iter_mut().enumerate() {
            for &pair in &self.pairs_of[index] {
                let (a, b) = pairs[pair];
                let mut local = table.local(model, a, b, extents);
                for (side, body) in [a, b].into_iter().enumerate() {
                    local.bodies[side] = place(&mut self.local, &mut self.stamp, index, island, model, state, body);
                }
                let from = memory.partition_point(|m| m.key.bodies < [a, b]);
                island.touch.memory.extend(memory[from..].iter().take_while(|m| m.key.bodies == [a, b]));
                island.links.pairs.push(local);
            }
            // Those that contacts brought here have their place already.
            while let Some((_, body, at)) = self.anchors.get_mut(anchor).filter(|(island, ..)| *island == index) {
                if self.stamp[*body] == index {
                    *at = self.local[*body];
                }
                anchor += 1;
            }
        }

        // Joints and forces.
        let (mut control, mut model_row) = (0, 0);
        for (index, joint) in model.joints.iter().enumerate() {
            let own_control = joint.is_controlled().then_some(control);
            control += usize::from(joint.is_controlled());
            let (first_of_all, rows) = (model_row, joint.step_row_count());
            model_row += rows;
            let Some(owner) = joint.bodies.iter().flatten().copied().find(|&b| dynamic(b)) else { continue };
            let number = self.island_of[owner];
            let island = &mut islands[number];
            let mut bodies = [0; 2];
            for side in 0..2 {
                if let Some(body) = joint.bodies[side] {
                    bodies[side] = if dynamic(body) { self.local[body] } else { self.place_anchor(number, island, model, state, body) };
                    island.members.bodies[bodies[side]].jointed = dynamic(body) && rows > 0 || island.members.bodies[bodies[side]].jointed;
                }
            }
            let first_row = island.links.joints.last().map_or(0, |j| j.first_row + j.rows);
            let size = joint_size(joint, extents);
            if acts(joint) {
                island.links.acting.push(island.links.joints.len());
            }
            let inv_armature = if joint.has_rotor() { 1.0 / joint.armature } else { 0.0 };
            let (model_row, control) = (first_of_all, own_control);
            let slow_pull = pulls_slowly(model, joint);
            island.links.joints.push(LocalJoint { index, bodies, first_row, rows, model_row, size, inv_armature, slow_pull, control });
        }
        for (index, coupling) in model.couplings.iter().enumerate() {
            let mut bodies = coupling.terms.iter().flat_map(|&(joint, _)| model.joints[joint].bodies).flatten();
            let Some(owner) = bodies.find(|&body| dynamic(body)) else { continue };
            let island = &mut islands[self.island_of[owner]];
            let local = |joint: usize| island.links.joints.iter().position(|local| local.index == joint);
            // A joint of immovable bodies is in no island: its coordinate stays what it is.
            let terms = coupling.terms.iter().filter_map(|&(joint, coefficient)| Some((local(joint)?, coefficient))).collect();
            let still = coupling.terms.iter().filter(|&&(joint, _)| local(joint).is_none());
            let pose = |body: Option<usize>| body.map_or_else(Pose::identity, |body| state.poses[body]);
            let held: f64 = still
                .map(|&(joint, coefficient)| {
                    let spec = &model.joints[joint];
                    coefficient * spec.coordinate(&pose(spec.bodies[0]), &pose(spec.bodies[1]))
                })
                .sum();
            let tie = LocalTie { index, stiff: coupling.is_stiff(model), near: Vec::new(), terms, offset: coupling.offset - held };
            if coupling.tendon.is_some() { island.links.tendons.push(tie) } else { island.links.ties.push(tie) }
        }
        for (index, force) in model.forces.iter().enumerate() {
            let own_control = force.control.then_some(control);
            control += usize::from(force.control);
            if dynamic(force.body) {
                let island = &mut islands[self.island_of[force.body]];
                island.loading.forces.push((index, self.local[force.body], own_control));
            }
        }
        for island in &mut islands[..islands_used] {
            let graph = self.graphs.of(&island.links.joints, &island.members.bodies, &island.links.ties, !model.options.whole_bodies);
            island.system.assembly.factor.prepare(graph, &island.links.joints, &island.members.bodies);
            island.system.assembly.equalities.lay_out(&island.links.joints, model);
            let Island {
                system: System { assembly, .. }, links: Links { ties, tendons, joints, .. }, motion: Motion { poses, .. }, ..
            } = island;
            assembly.equalities.lay_out_ties([ties, tendons], joints, model, &state.turns, poses);
            island.links.curvature.take(curvature, &island.links.joints);
            island.members.driven = island.members.bodies.iter().any(|body| body.kinematic);
            island.members.loose = island.members.driven || island.members.bodies.iter().any(|body| body.dynamic && !body.jointed);
        }
        islands_used
    }
}

impl Partition {
    /// Lists the immovable bodies that the joints of each island hold on to.
    fn find_anchors<G: Geometry>(&mut self, model: &Model<G>) {
        let dynamic = |i: usize| model.bodies[i].kind == BodyKind::Dynamic;
        self.anchors.clear();
        for joint in &model.joints {
            if let [Some(a), Some(b)] = joint.bodies
                && dynamic(a) != dynamic(b)
            {
                let (moving, fixed) = if dynamic(a) { (a, b) } else { (b, a) };
                self.anchors.push((self.island_of[moving], fixed, NONE));
            }
        }
        self.anchors.sort_unstable();
        self.anchors.dedup();
    }
    /// The local index of an immovable body that a joint holds on to; it is copied in when first seen.
    fn place_anchor<G: Geometry>(
        &mut self,
        number: usize,
        island: &mut Island<G>,
        model: &Model<G>,
        state: &State<G>,
        body: usize,
    ) -> usize {
        let found = self.anchors.partition_point(|&(island, other, _)| (island, other) < (number, body));
        let at = &mut self.anchors[found].2;
        if *at == NONE {
            *at = island.members.bodies.len();
            add_body(
                island,
                LocalBody::of(body, &model.bodies[body], false),
                Some((state, body, !model.bodies[body].colliders.is_empty())),
            );
        }
        *at
    }
}

/// The local index of a body in the island being built; immovable bodies are copied in when first seen.
fn place<G: Geometry>(
    local: &mut [usize],
    stamp: &mut [usize],
    number: usize,
    island: &mut Island<G>,
    model: &Model<G>,
    state: &State<G>,
    body: usize,
) -> usize {
    if model.bodies[body].kind == BodyKind::Dynamic {
        return local[body];
    }
    if stamp[body] != number {
        stamp[body] = number;
        local[body] = island.members.bodies.len();
        add_body(island, LocalBody::of(body, &model.bodies[body], false), Some((state, body, !model.bodies[body].colliders.is_empty())));
    }
    local[body]
}

/// Appends a body with its pose and velocity; a static body's velocity is zero whatever the state says. Whether it has shapes
/// comes with the state.
fn add_body<G: Geometry>(island: &mut Island<G>, body: LocalBody<G>, from: Option<(&State<G>, usize, bool)>) {
    let (pose, twist) = match from {
        Some((state, index, shaped)) => {
            if shaped {
                island.members.shaped.push(island.members.bodies.len());
                island.members.travelled.push(Aabb::of_point(state.poses[index].position));
            }
            let moves = body.dynamic || body.kinematic;
            (state.poses[index], if moves { state.twists[index] } else { carom_math::Twist::zero() })
        }
        None => (carom_math::Pose::identity(), carom_math::Twist::zero()),
    };
    island.members.bodies.push(body);
    island.motion.poses.push(pose);
    island.motion.twists.push(twist);
}
