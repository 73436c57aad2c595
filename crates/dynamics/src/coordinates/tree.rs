//! The spanning tree of a model and the names of its coordinates, theory (20.1).

use super::loops::couplings;
use crate::model::{BodyKind, Model};
use carom_geometry::Geometry;
use carom_math::Vector;

/// What carries a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// Nothing that a coordinate moves: static and kinematic bodies.
    Ground,
    /// Nothing else: a free root, with the components of its twist that are its coordinates.
    Free {
        /// Its first coordinate.
        first: usize,
        /// Components of the twist, rising; those that are locked are left out.
        axes: Vec<usize>,
    },
    /// A joint on another body or on the world.
    Joint {
        /// The joint.
        joint: usize,
        /// Which side of the joint the body is on.
        side: usize,
        /// The body on the other side; `None` is the world.
        parent: Option<usize>,
        /// Its first coordinate.
        first: usize,
    },
}

/// The spanning tree of the joint graph: the joints, in file order, that close no loop with those before them.
#[derive(Clone, Debug)]
pub struct Tree {
    /// What carries each body.
    pub(super) carriers: Vec<Carrier>,
    /// Bodies that move, each after what carries it.
    pub(super) order: Vec<usize>,
    /// Joints that close loops, rising; ropes and springs hold nothing and are none of them.
    pub(super) loops: Vec<usize>,
    /// Components of twists that are locked though no coordinate of their own stands for them: body and component.
    pub(super) locked: Vec<(usize, usize)>,
    /// The mechanism that each body belongs to: the least body of those that joints tie together; ground ties nothing.
    pub(super) mechanism: Vec<usize>,
    /// The joint, or the free root, of each coordinate, and its place there.
    pub(super) owners: Vec<Owner>,
}

/// Whose a coordinate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A component of the twist of a free root.
    Root { body: usize, axis: usize },
    /// One of the coordinates of a joint.
    Joint { joint: usize, place: usize },
}

/// Sets that grow together (union-find), the least member standing for each.
struct Sets(Vec<usize>);

impl Sets {
    fn find(&mut self, mut x: usize) -> usize {
        while self.0[x] != x {
            self.0[x] = self.0[self.0[x]];
            x = self.0[x];
        }
        x
    }
    /// Whether they were apart.
    fn join(&mut self, x: usize, y: usize) -> bool {
        let (x, y) = (self.find(x), self.find(y));
        self.0[x.max(y)] = x.min(y);
        x != y
    }
}

impl Tree {
    /// The tree of a model.
    pub fn new<G: Geometry>(model: &Model<G>) -> Self {
        let count = model.bodies.len();
        let grounded = |body: Option<usize>| body.is_none_or(|b| model.bodies[b].kind != BodyKind::Dynamic);
        // The last member of the first sets is the ground; the second leave it out.
        let (mut tied, mut alike) = (Sets((0..=count).collect()), Sets((0..count).collect()));
        for body in (0..count).filter(|&body| grounded(Some(body))) {
            tied.join(body, count);
        }
        let mut branches: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
        let mut loops = Vec::new();
        for (index, joint) in model.joints.iter().enumerate() {
            let [a, b] = joint.bodies;
            if joint.row_count() == 0 || (grounded(a) && grounded(b)) {
                continue;
            }
            if let (Some(a), Some(b), false, false) = (a, b, grounded(a), grounded(b)) {
                alike.join(a, b);
            }
            if joint.kind.freedoms::<G>().is_some() && tied.join(a.unwrap_or(count), b.unwrap_or(count)) {
                // What stands on the ground is reached from there, whichever of its bodies it is.
                for body in joint.bodies {
                    branches[if grounded(body) { count } else { body.unwrap_or(count) }].push(index);
                }
            } else {
                loops.push(index);
            }
        }
        // What is coupled moves together.
        for coupling in couplings(model) {
            let bodies = coupling.terms.iter().flat_map(|&(joint, _)| model.joints[joint].bodies).flatten();
            let mut moving = bodies.filter(|&body| !grounded(Some(body)));
            if let Some(first) = moving.next() {
                moving.for_each(|body| {
                    alike.join(first, body);
                });
            }
        }
        let mut tree = Tree {
            carriers: vec![Carrier::Ground; count],
            order: Vec::new(),
            loops,
            locked: Vec::new(),
            mechanism: (0..count).map(|body| alike.find(body)).collect(),
            owners: Vec::new(),
        };
        let ground = tied.find(count);
        let roots: Vec<usize> = (0..count).filter(|&b| !grounded(Some(b)) && tied.find(b) != ground && is_first(&mut tied, b)).collect();
        for &body in &roots {
            let axes: Vec<usize> = (0..G::DOF).filter(|&axis| !is_locked(model, body, axis)).collect();
            tree.carriers[body] = Carrier::Free { first: tree.owners.len(), axes: axes.clone() };
            tree.owners.extend(axes.into_iter().map(|axis| Owner::Root { body, axis }));
        }
        let mut first = vec![0; model.joints.len()];
        let mut used = vec![false; model.joints.len()];
        branches.iter().flatten().for_each(|&joint| used[joint] = true);
        for (index, joint) in model.joints.iter().enumerate().filter(|(index, _)| used[*index]) {
            first[index] = tree.owners.len();
            let width = joint.kind.freedoms::<G>().unwrap_or(0);
            tree.owners.extend((0..width).map(|place| Owner::Joint { joint: index, place }));
        }
        // From the ground, then from every root, outwards.
        let mut front: Vec<Option<usize>> = std::iter::once(None).chain(roots.iter().map(|&body| Some(body))).collect();
        let mut next = 0;
        while next < front.len() {
            let from = front[next];
            next += 1;
            tree.order.extend(from);
            for &index in &branches[from.unwrap_or(count)] {
                let bodies = model.joints[index].bodies;
                let side = usize::from(if grounded(from) { grounded(bodies[0]) } else { bodies[0] == from });
                if let (Some(body), true) = (bodies[side], std::mem::take(&mut used[index])) {
                    tree.carriers[body] = Carrier::Joint { joint: index, side, parent: bodies[1 - side], first: first[index] };
                    front.push(Some(body));
                }
            }
        }
        for &body in &tree.order {
            if let Carrier::Joint { .. } = tree.carriers[body] {
                tree.locked.extend((0..G::DOF).filter(|&axis| is_locked(model, body, axis)).map(|axis| (body, axis)));
            }
        }
        tree.locked.sort_unstable();
        tree
    }

    /// Number of coordinates.
    pub fn len(&self) -> usize {
        self.owners.len()
    }
    /// Whether nothing has a coordinate.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }
    /// The names of the coordinates: `torso.0`, ... of free roots, then `name`, or `name.0`, `name.1`, ... where a joint has several.
    pub fn names<G: Geometry>(&self, model: &Model<G>) -> Vec<String> {
        let name = |owner: &Owner| match *owner {
            Owner::Root { body, axis } => format!("{}.{axis}", model.bodies[body].name),
            Owner::Joint { joint, place } => {
                let joint = &model.joints[joint];
                let alone = joint.kind.freedoms::<G>() == Some(1);
                if alone { joint.name.clone() } else { format!("{}.{place}", joint.name) }
            }
        };
        self.owners.iter().map(name).collect()
    }
    /// Joints that close loops, rising: their rows are those of the loop Jacobian, in this order.
    pub fn loop_joints(&self) -> &[usize] {
        &self.loops
    }
    /// The first coordinate of a joint of the tree; `None` for one that closes a loop or holds nothing.
    pub fn joint_coordinate(&self, joint: usize) -> Option<usize> {
        self.owners.iter().position(|owner| matches!(owner, Owner::Joint { joint: index, place: 0 } if *index == joint))
    }
    /// The mechanism of a coordinate.
    pub(super) fn mechanism_of<G: Geometry>(&self, model: &Model<G>, coordinate: usize) -> usize {
        match self.owners[coordinate] {
            Owner::Root { body, .. } => self.mechanism[body],
            Owner::Joint { joint, .. } => self.joint_mechanism(model, joint),
        }
    }
    /// The mechanism of a joint.
    pub(super) fn joint_mechanism<G: Geometry>(&self, model: &Model<G>, joint: usize) -> usize {
        let moving = |body: &usize| model.bodies[*body].kind == BodyKind::Dynamic;
        model.joints[joint].bodies.into_iter().flatten().find(moving).map_or(usize::MAX, |body| self.mechanism[body])
    }
}

/// Whether a body is the least of those it is tied to.
fn is_first(tied: &mut Sets, body: usize) -> bool {
    tied.find(body) == body
}

/// Whether a component of the twist of a body is held.
fn is_locked<G: Geometry>(model: &Model<G>, body: usize, axis: usize) -> bool {
    let body = &model.bodies[body];
    if axis < G::DIM { body.locked.as_slice()[axis] != 0.0 } else { body.locked_rotation }
}
