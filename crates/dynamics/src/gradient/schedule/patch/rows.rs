//! The rows of a patch: what holds at q' over the move and in stage 7, and what each of them looks at, theory (17.29) and (17.33).

use crate::combine::Coefficient;
use crate::contacts::Key;
use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::rows::contact_rows::{Along, along, transposed};
use crate::gradient::rows::contact_site::bar;
use crate::gradient::rows::friction_mode::{FrictionMode, NEAR_THE_BOUND};
use crate::gradient::schedule::patch::{Patch, PatchContact, PatchEvent, PatchLists, PatchRow, PointBar, SOURCES, Seen};
use crate::gradient::schedule::program::Program;
use crate::gradient::schedule::stage::{Stage, Switches};
use crate::gradient::tape::record::{Pushed, RowSource, Substep};
use crate::integrate::Length;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

impl<G: Geometry> Patch<G> {
    /// Adds a contact with its impulse to a solve; returns its number there.
    fn push(
        &mut self,
        solve: usize,
        stage: &Stage<G>,
        group: &Pushed<G>,
        (key, friction): (Key<G>, f64),
        point: &ContactPoint<G>,
        end: u32,
    ) -> usize {
        let push = point.impulse(&group.impulses);
        let bodies = point.bodies.map(|body| self.places[body]);
        let mut coefficient = [None; SOURCES];
        if self.asked && friction > 0.0 && group.friction == FrictionMode::Slides {
            for (place, source) in coefficient.iter_mut().zip(stage.coefficient(key.bodies, Coefficient::Friction)) {
                *place = Some(source);
            }
        }
        let turning = point.impulse_turning(&group.impulses);
        self.solves[solve].contacts.push(PatchContact { bodies, site: point.site(), end, arms: point.arms, push, turning, coefficient });
        self.solves[solve].contacts.len() - 1
    }

    /// Begins the rows of a solve.
    fn begin(&mut self, solve: usize) {
        self.solves[solve].contacts.clear();
        self.solves[solve].rows.clear();
        self.lists.entries.clear();
        self.lists.felt.clear();
        self.lists.answers.clear();
        self.lists.times.clear();
    }

    /// Adds the rows of a contact: its normal one, then friction, given by the slips along its tangents with their values.
    fn add_rows(
        &mut self,
        solve: usize,
        stage: &Stage<G>,
        group: &Pushed<G>,
        contact: usize,
        (point, friction): (&ContactPoint<G>, f64),
        normal: &Seen<G>,
        slips: &[(Seen<G>, f64)],
        switches: &mut Switches,
    ) {
        let first = self.solves[solve].rows.len();
        self.add_row(solve, point, contact, point.contact.normal, (Some(normal), 0.0));
        if friction <= 0.0 {
            return;
        }
        let slip = [0, 1].map(|k| slips.get(k).map_or(0.0, |slip| slip.1));
        let slow = NEAR_THE_BOUND * stage.model.tolerances.rest_speed;
        let cone = stage.model.options.friction_cone;
        switches.friction += usize::from(group.friction.near(&group.impulses, friction, slip, slow, cone));
        let long = |x: f64, y: f64| (x * x + y * y).sqrt();
        let (size, speed) = (long(group.impulses[1], group.impulses[2]), long(slip[0], slip[1]));
        let toward = |k: usize| if size > 0.0 { -group.impulses[1 + k] / size } else { 0.0 };
        let mut bent = Seen::nothing();
        for (k, own) in slips.iter().enumerate() {
            let row = if group.friction == FrictionMode::Slides {
                // l_k + mu l_n u_k/|u| = 0, where u/|u| = -l_t/|l_t|, theory (17.16).
                self.lists.entries.push((first + 1 + k, first + 1 + k, 1.0));
                self.lists.entries.push((first + 1 + k, first, toward(k) * friction));
                let turns = G::TANGENTS > 1 && speed > 0.0;
                if turns {
                    bent = Seen::nothing();
                    for (i, other) in slips.iter().enumerate() {
                        let turn = f64::from(u8::from(i == k)) - toward(k) * toward(i);
                        bent.add(friction * group.impulses[0] * turn / speed, &other.0);
                    }
                }
                (turns.then_some(&bent), toward(k) * group.impulses[0])
            } else {
                (Some(&own.0), 0.0)
            };
            self.add_row(solve, point, contact, point.tangents()[k], row);
        }
    }

    /// Adds a row along a direction at a contact.
    fn add_row(
        &mut self,
        solve: usize,
        point: &ContactPoint<G>,
        contact: usize,
        direction: G::Lin,
        (seen, by_coefficient): (Option<&Seen<G>>, f64),
    ) {
        let column = along(point, direction);
        let t = self.length;
        let bodies = point.bodies;
        let places = bodies.map(|body| self.places[body]);
        let covector = |side: usize| match seen {
            Some(seen) => seen.velocity[side].plus(t, self.bodies[places[side]].carried(&seen.pose[side])),
            None => Wrench::zero(),
        };
        self.lists.felt.push([(bodies[0], covector(0)), (bodies[1], covector(1))]);
        let answer = |side: usize| self.bodies[places[side]].response(solve, &column[side].1);
        self.lists.answers.push([(bodies[0], answer(0)), (bodies[1], answer(1))]);
        self.solves[solve].rows.push(PatchRow { contact, column: column.map(|(_, wrench)| wrench), seen: seen.copied(), by_coefficient });
    }

    /// Factors the rows of a solve.
    fn factor(&mut self, program: &mut Program<G>, solve: usize, extra: usize) -> bool {
        let count = self.solves[solve].rows.len() + extra;
        self.solves[solve].factor = None;
        self.solves[solve].residual = program.fresh(count);
        self.solves[solve].unknown = program.fresh(count);
        if count > 0 {
            let PatchLists { felt, answers, entries, times } = &self.lists;
            // So many rows repeat each other beyond their own pair: the matrix of the bodies is the smaller one.
            let by_bodies =
                (extra == 0 && program.sparse.outnumber(answers)).then(|| program.sparse.factor_by_bodies(felt, answers, entries));
            let found = by_bodies.flatten().or_else(|| program.sparse.factor(felt, answers, entries, times, None).map(|found| found.0));
            self.solves[solve].factor = found;
        }
        count == 0 || self.solves[solve].factor.is_some()
    }

    /// Stages 4 and 5: rows at q, what holds at q'.
    pub(crate) fn hold(&mut self, program: &mut Program<G>, stage: &Stage<G>, substep: &Substep<G>, switches: &mut Switches) -> bool {
        self.begin(0);
        self.ends.clear();
        let per_time = 1.0 / self.length;
        let gap_row = |program: &Program<G>, end: &ContactPoint<G>| {
            program.sites.at(end.site()).by_poses(&bar::<G>(G::Lin::zero(), G::Lin::zero(), per_time))
        };
        for group in &substep.hold.pushed {
            let RowSource::Contact { key, bodies, friction, .. } = group.source else { return false };
            let start = ContactPoint::bare(program, stage, key, bodies, &substep.poses, false);
            let end = ContactPoint::bare(program, stage, key, bodies, &substep.next, true);
            switches.irregular += usize::from(!start.regular) + usize::from(!end.regular);
            let contact = self.push(0, stage, group, (key, friction), &start, end.site());
            let normal = Seen { pose: gap_row(program, &end), end: (PointBar::zero(), per_time), ..Seen::nothing() };
            let mut slips = [(normal, 0.0); 2];
            let speeds = [start.slip(&substep.half), end.slip(&substep.half)];
            for k in 0..if friction > 0.0 { G::TANGENTS } else { 0 } {
                slips[k] = mean_slip(program, substep, (&start, &end), speeds, k);
            }
            self.add_rows(0, stage, group, contact, (&start, friction), &normal, &slips[..G::TANGENTS], switches);
            self.ends.push((key, end));
        }
        self.event = None;
        if let Length::Event(key, bodies) = substep.rule {
            let end = ContactPoint::bare(program, stage, key, bodies, &substep.next, true);
            switches.irregular += usize::from(!end.regular);
            // The gap closes as the move gets longer: counted downwards, its pivot is positive as the others are.
            let pose = gap_row(program, &end).map(|side| side.negated());
            let closing: f64 = (0..2).map(|side| pose[side].power(&substep.half[bodies[side]])).sum::<f64>() * self.length;
            switches.grazing += usize::from(closing.abs() < stage.model.tolerances.rest_speed);
            self.event = Some(PatchEvent { bodies: bodies.map(|body| self.places[body]), site: end.site(), pose });
            let felt = |side: usize| Wrench::zero().plus(self.length, self.bodies[self.places[bodies[side]]].carried(&pose[side]));
            self.lists.felt.push([(bodies[0], felt(0)), (bodies[1], felt(1))]);
            // What a longer move does to each residual.
            for (row, sides) in self.lists.felt.iter().enumerate() {
                let poses = match self.solves[0].rows.get(row) {
                    Some(row) => row.seen.map_or([Wrench::zero(); 2], |seen| seen.pose),
                    None => pose,
                };
                let mut sum = 0.0;
                for side in 0..2 {
                    let body = &self.bodies[self.places[sides[side].0]];
                    sum += sides[side].1.power(&self.kick(body)) + poses[side].power(&body.link.twists[1]);
                }
                self.lists.times.push(sum);
            }
        }
        self.factor(program, 0, usize::from(self.event.is_some()))
    }

    /// Stage 7: rows and speeds at q'.
    pub(crate) fn finish(&mut self, program: &mut Program<G>, stage: &Stage<G>, substep: &Substep<G>, switches: &mut Switches) -> bool {
        self.begin(1);
        let mut cursor = 0;
        for group in &substep.finish.pushed {
            let RowSource::Contact { key, bodies, friction, .. } = group.source else { return false };
            // Both lists follow the order of detection: the search goes on where the last one ended.
            let count = self.ends.len();
            let found = (0..count).map(|step| (cursor + step) % count).find(|&place| self.ends[place].0 == key);
            let point = match found {
                Some(place) => {
                    cursor = place;
                    self.ends[place].1
                }
                None => ContactPoint::bare(program, stage, key, bodies, &substep.next, true),
            };
            switches.irregular += usize::from(!point.regular);
            let contact = self.push(1, stage, group, (key, friction), &point, point.site());
            let slip = point.slip(&substep.end);
            let normal = speed(&point, &Along::normal(&point), (&substep.end, slip), 1.0);
            let mut slips = [(normal, 0.0); 2];
            for k in 0..if friction > 0.0 { G::TANGENTS } else { 0 } {
                slips[k] = (speed(&point, &Along::tangent(&point, k), (&substep.end, slip), 1.0), point.tangents()[k].dot(slip));
            }
            self.add_rows(1, stage, group, contact, (&point, friction), &normal, &slips[..G::TANGENTS], switches);
        }
        self.factor(program, 1, 0)
    }
}

/// The speed along a direction at a contact, by the contact and by the centres; with the velocity of a relative to b there.
pub(crate) fn speed_bar<G: Geometry>(
    point: &ContactPoint<G>,
    direction: &Along<G>,
    (twists, slip): (&[Twist<G>], G::Lin),
    weight: f64,
) -> (PointBar<G>, [G::Lin; 2]) {
    let centres = centres(point, twists, direction.value * weight);
    let normal = transposed::<G>(&direction.own, slip * weight);
    (PointBar { normal, middle: -(centres[0] + centres[1]) }, centres)
}

/// The same as a row that holds, at the poses whose rows push.
fn speed<G: Geometry>(point: &ContactPoint<G>, direction: &Along<G>, twists: (&[Twist<G>], G::Lin), weight: f64) -> Seen<G> {
    let velocity = along(point, direction.value * weight).map(|(_, wrench)| wrench);
    Seen { velocity, own: speed_bar(point, direction, twists, weight), ..Seen::nothing() }
}

/// How the speed along a direction changes with the centres: d . (w x m) = -m . (w x d).
fn centres<G: Geometry>(point: &ContactPoint<G>, twists: &[Twist<G>], d: G::Lin) -> [G::Lin; 2] {
    let [a, b] = point.bodies;
    [G::spin(twists[a].ang, d), -G::spin(twists[b].ang, d)]
}

/// The mean slip over a move along a tangent, theory (17.15), and its value.
fn mean_slip<G: Geometry>(
    program: &Program<G>,
    substep: &Substep<G>,
    (start, end): (&ContactPoint<G>, &ContactPoint<G>),
    speeds: [G::Lin; 2],
    k: usize,
) -> (Seen<G>, f64) {
    const MEAN: f64 = 0.5;
    let tangent = start.tangents()[k];
    let then = end.contact.normal;
    let across = tangent - then * then.dot(tangent);
    let (carried, length) = (across.unit(), across.norm());
    // How the carried tangent turns with the normal there and with the tangent here, transposed: across itself, then across the normal.
    let settled = |d: G::Lin| (d - carried * carried.dot(d)) * (1.0 / length);
    let turned_here = |d: G::Lin| {
        let settled = settled(d);
        transposed::<G>(&start.turning_of(k), settled - then * then.dot(settled))
    };
    let turned_there = |d: G::Lin| {
        let settled = settled(d);
        -(settled * then.dot(tangent) + tangent * then.dot(settled))
    };
    let d = carried * MEAN;
    let slip = speeds[1] * MEAN;
    let end_centres = centres(end, &substep.half, d);
    let at_end = PointBar { normal: turned_there(slip), middle: -(end_centres[0] + end_centres[1]) };
    let mut pose = program.sites.at(end.site()).by_poses(&bar::<G>(at_end.normal, at_end.middle, 0.0));
    let there = along(end, d);
    let mut seen = speed(start, &Along::tangent(start, k), (&substep.half, speeds[0]), MEAN);
    for side in 0..2 {
        seen.velocity[side] = seen.velocity[side].plus(1.0, there[side].1);
        pose[side].lin += end_centres[side];
    }
    (seen.pose, seen.end) = (pose, (at_end, 0.0));
    seen.own.0.normal += turned_here(slip);
    (seen, MEAN * (tangent.dot(speeds[0]) + carried.dot(speeds[1])))
}
