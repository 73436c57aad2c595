//! A strike in the plane between bodies without joints: one map from the velocities before it to those after it, theory (17.36)-(17.37).

use super::movement::{turned, turned_adjoint};
use super::rows::speed_bar;
use crate::combine::Coefficient;
use crate::gradient::motion::add;
use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::rows::contact_rows::{Along, along};
use crate::gradient::rows::contact_site::Sites;
use crate::gradient::schedule::law::prepare;
use crate::gradient::schedule::patch::{PointBar, SOURCES};
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::{Running, Stage, Switches};
use crate::gradient::slots::{add_wrench, put, twist, wrench};
use crate::gradient::tape::record::{Strike, Substep};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};
use carom_solve::impact::derivative::{ImpactChange, ImpactDerivative};

/// A body that is struck, or that strikes without moving.
#[derive(Clone, Copy, Debug)]
struct StruckBody<G: Geometry> {
    pose: Block,
    /// Velocities before and after; none for a body that never moves.
    twists: Option<[Block; 2]>,
    /// Slots of mass and inertia, where they are asked about.
    slots: Option<[Block; 2]>,
    inv_mass: G::Lin,
    inv_inertia: G::Inertia,
    mass: f64,
    /// The velocity that the impulses give it.
    gained: Twist<G>,
}

/// A contact of the strike.
#[derive(Clone, Copy, Debug)]
struct StruckContact<G: Geometry> {
    bodies: [usize; 2],
    site: u32,
    arms: [G::Lin; 2],
    push: G::Lin,
    turning: [G::Lin; 3],
    /// Slots of friction and restitution with their weights.
    frictions: [Option<(Block, f64)>; SOURCES],
    restitutions: [Option<(Block, f64)>; SOURCES],
}

/// A row: its unit impulse and its speed.
#[derive(Clone, Copy, Debug)]
struct StruckRow<G: Geometry> {
    contact: usize,
    column: [Wrench<G>; 2],
    response: [Twist<G>; 2],
    direction: G::Lin,
    turning: [G::Lin; 3],
    /// The speed before by the contact and by the centres.
    own: PointBar<G>,
    centres: [G::Lin; 2],
}

/// A strike as a map between slots; keeps its room from one to the next.
#[derive(Debug)]
pub(crate) struct StrikePatch<G: Geometry> {
    derivative: ImpactDerivative,
    change: ImpactChange,
    bodies: Vec<StruckBody<G>>,
    contacts: Vec<StruckContact<G>>,
    rows: Vec<StruckRow<G>>,
    places: Vec<usize>,
    impulses: Vec<f64>,
    bars: Vec<PointBar<G>>,
    wrenches: Vec<Wrench<G>>,
    changes: Vec<Twist<G>>,
    forces: Vec<[Wrench<G>; 2]>,
}

impl<G: Geometry> Default for StrikePatch<G> {
    fn default() -> Self {
        StrikePatch {
            derivative: ImpactDerivative::new(),
            change: ImpactChange::default(),
            bodies: Vec::new(),
            contacts: Vec::new(),
            rows: Vec::new(),
            places: Vec::new(),
            impulses: Vec::new(),
            bars: Vec::new(),
            wrenches: Vec::new(),
            changes: Vec::new(),
            forces: Vec::new(),
        }
    }
}

/// No body of a strike.
const NOBODY: usize = usize::MAX;

/// Number of a row among those of a law of m contacts: normals first.
#[inline]
fn number_of(row: usize, m: usize) -> usize {
    if row.is_multiple_of(2) { row / 2 } else { m + row / 2 }
}

/// Whether a strike is one between bodies without joints in the plane.
pub(crate) fn applies<G: Geometry>(stage: &Stage<G>, strike: &Strike<G>) -> bool {
    let kinematic = |&(_, bodies): &(_, [usize; 2])| bodies.iter().any(|&body| stage.bodies[body].kinematic);
    let whole = strike.impulses.len() == strike.contacts.len() * (1 + G::TANGENTS);
    G::ANG == 1 && stage.joints.is_empty() && whole && !strike.locked.contains(&true) && !strike.contacts.iter().any(kinematic)
}

/// Adds the derivative of a strike to which this applies; the running velocities become those after it.
pub(crate) fn linearise<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    strike: &Strike<G>,
    running: &mut Running,
    switches: &mut Switches,
) {
    let mut patch = program.spare_strike();
    let prepared = prepare(&mut patch.derivative, strike, &stage.model.options);
    switches.impacts += prepared.unwrap_or_else(|| {
        // Decisions that cannot be followed have no derivative; the strike is reported as a switch.
        patch.derivative = ImpactDerivative::new();
        1
    });
    patch.gather(program, stage, substep, strike, running, switches);
    program.strike(patch);
}

impl<G: Geometry> StruckBody<G> {
    #[inline]
    fn response(&self, impulse: &Wrench<G>) -> Twist<G> {
        Twist { lin: impulse.lin.scale(self.inv_mass), ang: G::inertia_apply(self.inv_inertia, impulse.ang) }
    }
}

impl<G: Geometry> StrikePatch<G> {
    /// Takes over what a strike recorded.
    fn gather(
        &mut self,
        program: &mut Program<G>,
        stage: &Stage<G>,
        substep: &Substep<G>,
        strike: &Strike<G>,
        running: &mut Running,
        switches: &mut Switches,
    ) {
        let m = strike.contacts.len();
        self.bodies.clear();
        self.contacts.clear();
        self.rows.clear();
        self.places.clear();
        self.places.resize(stage.bodies.len(), NOBODY);
        self.forces.clear();
        for &(key, bodies) in &strike.contacts {
            for local in bodies {
                let (NOBODY, Some(pose)) = (self.places[local], running.poses[local]) else { continue };
                self.places[local] = self.bodies.len();
                let (body, twist) = (&stage.bodies[local], running.twists[local]);
                let twists = twist.map(|before| [before, program.fresh(G::DOF)]);
                let mass = twists.map(|_| stage.mass(local));
                let slots = mass.and_then(|mass| Some([program.free(mass.mass)?, program.free(mass.inertia)?]));
                if let Some([_, after]) = twists {
                    running.twists[local] = Some(after);
                }
                let (inv_mass, inv_inertia) = (body.inv_mass, body.inv_inertia);
                self.bodies.push(StruckBody { pose, twists, slots, inv_mass, inv_inertia, mass: body.mass, gained: Twist::zero() });
            }
            let index = self.contacts.len();
            let point = ContactPoint::bare(program, stage, key, bodies, &substep.poses, false);
            switches.irregular += usize::from(!point.regular);
            let mut values = [strike.impulses[index], 0.0, 0.0];
            values[1..=G::TANGENTS].copy_from_slice(&strike.impulses[m + index * G::TANGENTS..][..G::TANGENTS]);
            let push = point.impulse(&values);
            let places = bodies.map(|body| self.places[body]);
            for (place, (_, wrench)) in places.into_iter().zip(along(&point, push)) {
                let gained = self.bodies[place].response(&wrench);
                self.bodies[place].gained = self.bodies[place].gained.plus(1.0, gained);
            }
            let sources = |which: Coefficient, asked: bool| {
                let mut out = [None; SOURCES];
                if asked && program.free(stage.parameters.0).is_some() {
                    out.iter_mut().zip(stage.coefficient(key.bodies, which)).for_each(|(place, source)| *place = Some(source));
                }
                out
            };
            self.contacts.push(StruckContact {
                bodies: places,
                site: point.site(),
                arms: point.arms,
                push,
                turning: point.impulse_turning(&values),
                frictions: sources(Coefficient::Friction, true),
                restitutions: sources(Coefficient::Restitution, strike.elastic),
            });
            let slip = point.slip(&strike.before);
            for direction in [Along::normal(&point), Along::tangent(&point, 0)] {
                let column = along(&point, direction.value).map(|(_, wrench)| wrench);
                let speed = speed_bar(&point, &direction, (&strike.before, slip), 1.0);
                self.rows.push(StruckRow {
                    contact: index,
                    column,
                    response: [0, 1].map(|side| self.bodies[places[side]].response(&column[side])),
                    direction: direction.value,
                    turning: direction.own,
                    own: speed.0,
                    centres: speed.1,
                });
            }
        }
    }

    /// The tangent.
    pub fn tangent(&mut self, sites: &Sites<G>, x: &mut [f64]) {
        let (m, n) = (self.contacts.len(), self.rows.len());
        self.change.reset(m, n);
        let pose = |body: &StruckBody<G>, x: &[f64]| twist::<G>(&x[body.pose.range()]);
        let before = |body: &StruckBody<G>, x: &[f64]| body.twists.map_or_else(Twist::zero, |[before, _]| twist::<G>(&x[before.range()]));
        self.bars.clear();
        self.wrenches.clear();
        self.wrenches.resize(self.bodies.len(), Wrench::zero());
        for (index, contact) in self.contacts.iter().enumerate() {
            let poses = contact.bodies.map(|body| pose(&self.bodies[body], x));
            let change = sites.change(contact.site, &poses, x).0;
            let sides = turned(contact.arms, contact.push, &contact.turning, &change, poses.map(|pose| pose.lin));
            for (body, side) in contact.bodies.into_iter().zip(sides) {
                self.wrenches[body] = self.wrenches[body].plus(1.0, side);
            }
            let sum = |sources: &[Option<(Block, f64)>]| sources.iter().flatten().map(|(block, w)| w * x[block.range().start]).sum::<f64>();
            self.change.friction[index] = sum(&contact.frictions);
            self.change.restitution[index] = sum(&contact.restitutions);
            self.bars.push(change);
        }
        self.forces.clear();
        for (row, own) in self.rows.iter().enumerate() {
            let contact = &self.contacts[own.contact];
            let change = &self.bars[own.contact];
            let centres = contact.bodies.map(|body| pose(&self.bodies[body], x).lin);
            let mut sum = own.own.normal.dot(change.normal) + own.own.middle.dot(change.middle);
            for side in 0..2 {
                sum += own.centres[side].dot(centres[side]) + own.column[side].power(&before(&self.bodies[contact.bodies[side]], x));
            }
            self.change.approach[number_of(row, m)] = sum;
            self.forces.push(turned(contact.arms, own.direction, &own.turning, change, centres));
        }
        // dK_ij = X_i . dF_j + X_j . dF_i - X_i . dM X_j, theory (17.37).
        for i in 0..n {
            for j in 0..n {
                let mut sum = 0.0;
                for (a, body) in self.contacts[self.rows[i].contact].bodies.into_iter().enumerate() {
                    for (b, other) in self.contacts[self.rows[j].contact].bodies.into_iter().enumerate() {
                        if body == other {
                            let (first, second) = (&self.rows[i].response[a], &self.rows[j].response[b]);
                            sum += self.forces[j][b].power(first) + self.forces[i][a].power(second);
                            if let Some([mass, inertia]) = self.bodies[body].slots {
                                sum -= x[mass.range().start] * first.lin.dot(second.lin);
                                sum -= x[inertia.range().start] * first.ang.dot(second.ang);
                            }
                        }
                    }
                }
                let place = number_of(i, m) * n + number_of(j, m);
                self.change.matrix[place] = sum;
            }
        }
        self.impulses.clear();
        self.impulses.resize(n, 0.0);
        self.derivative.tangent(&self.change, &mut self.impulses);
        for (row, own) in self.rows.iter().enumerate() {
            let impulse = self.impulses[number_of(row, m)];
            for (side, body) in self.contacts[own.contact].bodies.into_iter().enumerate() {
                self.wrenches[body] = self.wrenches[body].plus(impulse, own.column[side]);
            }
        }
        for (body, impulse) in self.bodies.iter().zip(&self.wrenches) {
            let Some([before, after]) = body.twists else { continue };
            let mut value = twist::<G>(&x[before.range()]).plus(1.0, body.response(impulse));
            if let Some([mass, inertia]) = body.slots {
                value.lin -= body.gained.lin * (x[mass.range().start] / body.mass);
                value.ang -= G::inertia_apply(body.inv_inertia, body.gained.ang * x[inertia.range().start]);
            }
            put::<G>(value.lin, value.ang, &mut x[after.range()]);
        }
    }

    /// The adjoint.
    pub fn adjoint(&mut self, sites: &Sites<G>, x: &mut [f64]) {
        let (m, n) = (self.contacts.len(), self.rows.len());
        self.wrenches.clear();
        self.changes.clear();
        for body in &self.bodies {
            let after = body.twists.map_or_else(Wrench::zero, |[_, after]| wrench::<G>(&x[after.range()]));
            let impulse = body.response(&after);
            if let Some([mass, inertia]) = body.slots {
                x[mass.range().start] -= after.lin.dot(body.gained.lin) / body.mass;
                x[inertia.range().start] -= impulse.ang.dot(body.gained.ang);
            }
            self.wrenches.push(after);
            self.changes.push(impulse);
        }
        self.impulses.clear();
        self.impulses.resize(n, 0.0);
        for (row, own) in self.rows.iter().enumerate() {
            let [a, b] = self.contacts[own.contact].bodies;
            let number = number_of(row, m);
            self.impulses[number] = own.column[0].power(&self.changes[a]) + own.column[1].power(&self.changes[b]);
        }
        self.derivative.adjoint(&self.impulses, &mut self.change);
        self.bars.clear();
        self.bars.resize(m, PointBar::zero());
        for row in 0..n {
            let own = self.rows[row];
            let contact = &self.contacts[own.contact];
            let number = number_of(row, m);
            let speed = self.change.approach[number];
            // Y = sum over the rows i at a body of K_bar_i X_i; then F_bar = 2 Y and M_bar = -Y X'.
            let line = &self.change.matrix[number * n..(number + 1) * n];
            let mut sums = [Twist::<G>::zero(); 2];
            for (i, other) in self.rows.iter().enumerate() {
                let weight = line[number_of(i, m)];
                for (b, at) in self.contacts[other.contact].bodies.into_iter().enumerate() {
                    for side in 0..2 {
                        if contact.bodies[side] == at {
                            sums[side] = sums[side].plus(weight, other.response[b]);
                        }
                    }
                }
            }
            let twice = sums.map(|sum| Twist::zero().plus(2.0, sum));
            let bar = &mut self.bars[own.contact];
            bar.add(speed, &own.own);
            let by_centres = turned_adjoint(contact.arms, own.direction, &own.turning, [&twice[0], &twice[1]], bar);
            for (side, index) in contact.bodies.into_iter().enumerate() {
                let body = &self.bodies[index];
                if let Some([mass, inertia]) = body.slots {
                    x[mass.range().start] -= own.response[side].lin.dot(sums[side].lin);
                    x[inertia.range().start] -= own.response[side].ang.dot(sums[side].ang);
                }
                self.wrenches[index] = self.wrenches[index].plus(speed, own.column[side]);
                add(x, body.pose.part(0, G::DIM), (own.centres[side] * speed + by_centres[side]).as_slice());
            }
        }
        for (index, contact) in self.contacts.iter().enumerate() {
            let impulses = contact.bodies.map(|body| &self.changes[body]);
            let by_centres = turned_adjoint(contact.arms, contact.push, &contact.turning, impulses, &mut self.bars[index]);
            let sides = sites.poses_of_bar(contact.site, &self.bars[index], x);
            for (side, body) in contact.bodies.into_iter().enumerate() {
                let on_pose = Wrench { lin: sides[side].lin + by_centres[side], ang: sides[side].ang };
                add_wrench::<G>(&mut x[self.bodies[body].pose.range()], &on_pose);
            }
            for (sources, value) in
                [(&contact.frictions, self.change.friction[index]), (&contact.restitutions, self.change.restitution[index])]
            {
                for (block, weight) in sources.iter().flatten() {
                    x[block.range().start] += weight * value;
                }
            }
        }
        for (body, covector) in self.bodies.iter().zip(&self.wrenches) {
            if let Some([before, _]) = body.twists {
                add_wrench::<G>(&mut x[before.range()], covector);
            }
        }
    }
}
