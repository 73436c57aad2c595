//! Stage 2: which contacts strike, which touching contacts share their impact, and under which law velocities jump, theory (2.4)-(2.5).

use crate::contacts::{NO_GROUP, Near, account_strike};
use crate::energy_momentum;
use crate::error::{Cause, Stage, StepError};
use crate::impact_coupled::{self, Coupled};
use crate::impact_rows::gather;
use crate::island::{Context, Island};
use crate::observe::report;
use crate::options::{FrictionCone, ImpactFriction, ImpactLaw, Order};
use crate::sparse_rows::Root;
use carom_geometry::Geometry;
use carom_math::Vector;
use carom_solve::collision::{self, collide_contact};
use carom_solve::contact::problem::{Block, Cone, Problem};
use carom_solve::impact::{self, ContactSpace, Friction, Law, Restitution, Settings, SparseGram, SparseRows};
use carom_solve::interrupt::Interrupt;

/// Tolerance handed to the collision at one point, relative.
pub(crate) const COLLISION_TOLERANCE: f64 = 1e-10;

/// Collisions one at a time (`stronge`) per contact of the problem, after which restitution is dropped.
const SEQUENCE_FACTOR: usize = 1000;

/// Scratch of the impact problems of an island.
#[derive(Debug, Default)]
pub(crate) struct ImpactScratch {
    parent: Vec<usize>,
    /// Touching contacts by component, components in the order of their first contact: (component, contact).
    grouped: Vec<(usize, usize)>,
    /// The number of the component of a body that stands for it.
    number: Vec<usize>,
    pub members: Vec<usize>,
    pub lines: Vec<usize>,
    pub gram: SparseGram,
    /// The rows themselves in coordinates in which the mass is one, where there are many; none otherwise.
    pub rows: SparseRows,
    pub roots: Vec<Root>,
    /// Contacts of the problem at each body that moves, by their numbers in it, and where those of a body begin; those that one meets.
    pub at_body: Vec<usize>,
    pub begins: Vec<usize>,
    pub met: Vec<usize>,
    pub approach: Vec<f64>,
    pub friction: Vec<f64>,
    pub restitution: Vec<f64>,
    pub impulses: Vec<f64>,
    pub reaction: Vec<f64>,
    pub scratch: Vec<f64>,
    blocks: Vec<Block>,
    /// The same problem with each contact's rows together, as the contact solver wants them.
    packed_matrix: Vec<f64>,
    packed_free: Vec<f64>,
    packed: Vec<f64>,
    work: impact::Workspace,
    /// The same over bodies where nothing rebounds any more.
    pub coupled: Coupled,
    /// Collisions one at a time, in order, with the restitution each used.
    pub sequence: Vec<(usize, f64)>,
    /// What the last law of all contacts at once decided, where a tape asks for it, and whether it ended without restitution.
    pub active: impact::Record,
    pub capped: bool,
}

impl ImpactScratch {
    /// Impacts end where they stand when the token is raised.
    pub fn heed(&mut self, interrupt: &Interrupt) {
        self.work.heed(interrupt);
    }
}

/// The closing speed below which a contact does not bounce: max(least, k h (|n.a_a| + |n.a_b|)), theory (2.4).
pub(crate) fn rest_speed<G: Geometry>(island: &Island<G>, ctx: &Context<G>, near: &Near<G>) -> f64 {
    rest_speed_at(island, ctx, near.bodies, near.contact.normal, near.arms(&island.motion.poses))
}

/// The same for a contact anywhere along the move.
pub(crate) fn rest_speed_at<G: Geometry>(
    island: &Island<G>,
    ctx: &Context<G>,
    bodies: [usize; 2],
    normal: G::Lin,
    arms: [G::Lin; 2],
) -> f64 {
    let tolerances = &ctx.model.tolerances;
    let load: f64 = (0..2).map(|side| normal.dot(island.motion.held[bodies[side]].at(arms[side])).abs()).sum();
    tolerances.rest_speed.max(tolerances.rest_steps * ctx.model.step * load)
}

/// Lets every impact problem of this instant jump. Returns whether anything struck.
pub(crate) fn impact<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, inelastic: bool) -> Result<bool, StepError> {
    if !(0..island.touch.near.len()).any(|index| striking(island, ctx, index).is_some()) {
        return Ok(false);
    }
    report(island, |observer, island| observer.arriving(island, ctx));
    if ctx.model.options.scheme().by_means() {
        energy_momentum::obey_joints(island);
        report(island, |observer, island| observer.obeyed(island));
    }
    let mut work = std::mem::take(&mut island.impact);
    components(island, &mut work.parent);
    // Every connected component of touching contacts and joints is a problem of its own, in the order of its first contact.
    let mut outcome = Ok(());
    group(island, &mut work);
    let mut first = 0;
    while first < work.grouped.len() && outcome.is_ok() {
        let end = first + work.grouped[first..].partition_point(|(of, _)| *of == work.grouped[first].0);
        work.members.clear();
        // The first problem may have found that joints lock a contact.
        work.members.extend(work.grouped[first..end].iter().map(|(_, contact)| *contact).filter(|&k| live(island, &island.touch.near[k])));
        first = end;
        if !work.members.is_empty() {
            outcome = resolve(island, ctx, &mut work, inelastic);
        }
    }
    island.impact = work;
    outcome.map(|()| true)
}

/// The speed of a contact that touches and strikes [m/s], theory (2.4).
pub(crate) fn striking<G: Geometry>(island: &Island<G>, ctx: &Context<G>, index: usize) -> Option<f64> {
    let near = &island.touch.near[index];
    if !(near.touching && live(island, near)) {
        return None;
    }
    let speed = island.system.assembly.lines[row_of(island, near)].speed(&island.motion.twists);
    (speed < -rest_speed(island, ctx, near)).then_some(speed)
}

/// Whether a contact has rows and the joints leave it free to move.
pub(crate) fn live<G: Geometry>(island: &Island<G>, near: &Near<G>) -> bool {
    near.group != NO_GROUP && !island.system.assembly.groups[near.group].locked
}

/// The normal row of a contact in the assembly.
pub(crate) fn row_of<G: Geometry>(island: &Island<G>, near: &Near<G>) -> usize {
    island.system.assembly.groups[near.group].first
}

/// Joins bodies that touch or are joined; immovable bodies join nothing.
fn components<G: Geometry>(island: &Island<G>, parent: &mut Vec<usize>) {
    parent.clear();
    parent.extend(0..island.members.bodies.len());
    let mut join = |pair: [usize; 2]| {
        if island.members.bodies[pair[0]].dynamic && island.members.bodies[pair[1]].dynamic {
            let (a, b) = (root(parent, pair[0]), root(parent, pair[1]));
            parent[a.max(b)] = a.min(b);
        }
    };
    island.touch.near.iter().filter(|n| n.touching).for_each(|n| join(n.bodies));
    island.links.joints.iter().for_each(|j| join(j.bodies));
    for tie in island.links.ties.iter().chain(&island.links.tendons) {
        let mut moving =
            tie.terms.iter().flat_map(|&(joint, _)| island.links.joints[joint].bodies).filter(|&body| island.members.bodies[body].dynamic);
        if let Some(first) = moving.next() {
            moving.for_each(|body| join([first, body]));
        }
    }
}

/// The representative of a body, with path halving.
pub(crate) fn root(parent: &mut [usize], mut body: usize) -> usize {
    while parent[body] != body {
        parent[body] = parent[parent[body]];
        body = parent[body];
    }
    body
}

fn component<G: Geometry>(island: &Island<G>, parent: &mut [usize], near: &Near<G>) -> usize {
    let [a, b] = near.bodies;
    root(parent, if island.members.bodies[a].dynamic { a } else { b })
}

/// Sorts the touching contacts by component.
fn group<G: Geometry>(island: &Island<G>, work: &mut ImpactScratch) {
    let ImpactScratch { parent, grouped, number, .. } = work;
    grouped.clear();
    number.clear();
    number.resize(island.members.bodies.len(), usize::MAX);
    let mut components = 0;
    for (contact, near) in island.touch.near.iter().enumerate().filter(|(_, near)| near.touching && live(island, near)) {
        let number = &mut number[component(island, parent, near)];
        if *number == usize::MAX {
            *number = components;
            components += 1;
        }
        grouped.push((*number, contact));
    }
    grouped.sort_unstable();
}

/// Resolves one impact problem: a first round with restitution, later ones without, until nothing strikes.
pub(crate) fn resolve<G: Geometry>(
    island: &mut Island<G>,
    ctx: &Context<G>,
    work: &mut ImpactScratch,
    inelastic: bool,
) -> Result<(), StepError> {
    gather(island, work);
    let m = work.members.len();
    let law = law_of(island, &work.members);
    for round in 0..ctx.model.tolerances.max_rounds {
        if ctx.interrupt.raised() {
            break;
        }
        take_speeds(island, work);
        let striking = (0..m).any(|i| work.approach[i] < -rest_speed(island, ctx, &island.touch.near[work.members[i]]));
        if !striking {
            break;
        }
        if round > 0 || inelastic {
            work.restitution.fill(0.0);
        }
        // Friction that follows the normals makes others close, round after round; where many may, one problem answers both.
        let together = matches!(law, ImpactLaw::Auto | ImpactLaw::Reflections) && island.system.assembly.equalities.is_empty();
        let law = if round > 0 && m > impact_coupled::MANY && together { ImpactLaw::Newton } else { law };
        let before = island.kinetic(&island.motion.twists);
        report(island, |observer, island| observer.strike_opens(island, work, law, round == 0 && !inelastic));
        strike(island, ctx, work, law)?;
        report(island, |observer, island| observer.strike_closes(island, ctx, work, law, round == 0));
        island.books.report.impacts += 1;

        let ImpactScratch { lines, impulses, reaction, scratch, .. } = &mut *work;
        reaction.clear();
        reaction.resize(island.system.assembly.equalities.len(), 0.0);
        island.system.assembly.push(lines, impulses, reaction, scratch, &mut island.motion.twists);

        // Ledger: what kinematic bodies fed in, and what the strike lost, theory (10.4).
        let fed = -kinematic_work(island, work);
        island.books.flow.work_in += fed;
        island.books.flow.impact_loss += fed - (island.kinetic(&island.motion.twists) - before);
        for (i, &member) in work.members.iter().enumerate() {
            let near = island.touch.near[member];
            let mut impulse = near.contact.normal * work.impulses[i];
            for (k, tangent) in G::tangents(near.contact.normal)[..G::TANGENTS].iter().enumerate() {
                impulse += *tangent * work.impulses[m + i * G::TANGENTS + k];
            }
            account_strike(&mut island.touch.reports, &near, impulse);
        }
    }
    Ok(())
}

/// Power of the impulses against kinematic bodies, times time: sum of l J_k v_k.
fn kinematic_work<G: Geometry>(island: &Island<G>, work: &ImpactScratch) -> f64 {
    let mut sum = 0.0;
    for (&line, &impulse) in work.lines.iter().zip(&work.impulses) {
        sum += impulse * island.system.assembly.lines[line].driven_speed(&island.members.bodies, &island.motion.twists);
    }
    let (_, twice) = island.system.assembly.equalities.work(
        &work.reaction,
        [&island.motion.twists, &island.motion.twists],
        |body| island.members.bodies[body].kinematic,
        &mut [],
    );
    sum + 0.5 * twice
}

/// Speeds of the rows; none of those that the joints lock.
pub(crate) fn take_speeds<G: Geometry>(island: &Island<G>, work: &mut ImpactScratch) {
    let assembly = &island.system.assembly;
    let speed = |&line: &usize| if assembly.locked_rows[line] { 0.0 } else { assembly.lines[line].speed(&island.motion.twists) };
    work.approach.clear();
    work.approach.extend(work.lines.iter().map(speed));
}

/// The law of a problem: that of its pairs, or `auto` where they disagree.
fn law_of<G: Geometry>(island: &Island<G>, members: &[usize]) -> ImpactLaw {
    let law = island.links.pairs[island.touch.near[members[0]].pair].impact;
    if members.iter().all(|&k| island.links.pairs[island.touch.near[k].pair].impact == law) { law } else { ImpactLaw::Auto }
}

/// One application of the law: impulses of all rows, normals first.
pub(crate) fn strike<G: Geometry>(
    island: &mut Island<G>,
    ctx: &Context<G>,
    work: &mut ImpactScratch,
    law: ImpactLaw,
) -> Result<(), StepError> {
    let m = work.members.len();
    work.impulses.clear();
    work.impulses.resize(work.lines.len(), 0.0);
    work.sequence.clear();
    work.active.clear();
    work.capped = false;
    match law {
        ImpactLaw::Auto if m == 1 => {
            if !single::<G>(island, work, 0, m) {
                reflect(island, ctx, work, Law::Reflections)?;
            }
        }
        ImpactLaw::Auto | ImpactLaw::Reflections => reflect(island, ctx, work, Law::Reflections)?,
        ImpactLaw::GaussSeidel(order) => {
            reflect(island, ctx, work, gauss_seidel_order(order))?;
        }
        ImpactLaw::Stronge => sequence::<G>(island, ctx, work),
        ImpactLaw::Newton => newton(island, ctx, work),
    }
    Ok(())
}

/// Pairwise reflections in an order.
pub(crate) fn gauss_seidel_order(order: Order) -> Law {
    let (order, seed) = match order {
        Order::Lexicographic => (impact::Order::Lexicographic, 0),
        Order::Cyclic => (impact::Order::Cyclic, 0),
        Order::Random(seed) => (impact::Order::Random, seed),
        Order::Worst => (impact::Order::Worst, 0),
    };
    Law::GaussSeidel { order, seed }
}

/// The energy law at one contact; adds its impulses, updates the approach speeds, notes a cap. False when the contact is locked.
fn single<G: Geometry>(island: &mut Island<G>, work: &mut ImpactScratch, contact: usize, m: usize) -> bool {
    let tangent = m + contact * G::TANGENTS;
    let mut rows = [contact; 3];
    for k in 0..G::TANGENTS {
        rows[k] = tangent + k;
    }
    rows[G::TANGENTS] = contact;
    let mut matrix = [[0.0; 3]; 3];
    let mut u = G::Lin::zero();
    for i in 0..G::DIM {
        u[i] = work.approach[rows[i]];
        for j in 0..G::DIM {
            matrix[i][j] = work.gram.entry(rows[i], rows[j]);
        }
    }
    let Ok(outcome) = collide_contact::<G>(&matrix, work.friction[contact], work.restitution[contact], u, COLLISION_TOLERANCE) else {
        return false;
    };
    island.books.report.impact_capped |= outcome.status == collision::Status::Capped;
    work.sequence.push((contact, work.restitution[contact]));
    for i in 0..G::DIM {
        work.impulses[rows[i]] += outcome.impulse[i];
        // The matrix is symmetric: its row is its column.
        let (columns, values) = work.gram.row(rows[i]);
        columns.iter().zip(values).for_each(|(&row, a)| work.approach[row] += a * outcome.impulse[i]);
    }
    true
}

/// Many contacts at once: reflections, blended restitution, friction.
fn reflect<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, work: &mut ImpactScratch, law: Law) -> Result<(), StepError> {
    let m = work.members.len();
    let speed = (2.0 * island.kinetic(&island.motion.twists)).sqrt();
    let rows = (!work.rows.is_empty()).then_some(&work.rows);
    let space = ContactSpace { contacts: m, gram: work.gram.view(), rows, approach: &work.approach, speed };
    let friction = work
        .friction
        .iter()
        .any(|&mu| mu > 0.0)
        .then_some(Friction { coefficients: &work.friction, staggered: ctx.model.options.impact_friction == ImpactFriction::Staggered });
    let tolerance = ctx.model.options.impact_tolerance.unwrap_or(impact::FEASIBILITY);
    let settings = Settings { law, tolerance, ..Settings::default() };
    let restitution = Restitution::PerContact(&work.restitution);
    // The derivative follows the sequence of active sets, so a tape keeps it: rows times iterations numbers.
    let mut nobody = ();
    let observer: &mut dyn impact::Observer = if ctx.watch.is_some() { &mut work.active } else { &mut nobody };
    let report = impact::resolve_observed(&space, restitution, friction, &settings, &mut work.work, observer).map_err(|_| {
        let body = island.members.bodies[island.touch.near[work.members[0]].bodies[0]].index;
        StepError { stage: Stage::Impact, time: ctx.time, cause: Cause::NotFinite { body: ctx.model.bodies[body].name.clone() } }
    })?;
    island.books.report.impact_iterations += report.iterations;
    work.capped = report.status == impact::Status::Capped;
    island.books.report.impact_capped |= work.capped;
    island.books.report.inaccurate |= !report.accurate;
    if work.capped {
        // The inelastic answer took its place.
        work.active.forget_sequence();
    }
    work.impulses[..m].copy_from_slice(work.work.impulses());
    let tangential = work.work.friction_impulses();
    work.impulses[m..m + tangential.len()].copy_from_slice(tangential);
    Ok(())
}

/// The energy law at one contact after another, the fastest closing first (Mirtich's way): energy never rises, but nothing proves
/// that it ends, so after a cap restitution is dropped.
fn sequence<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, work: &mut ImpactScratch) {
    let m = work.members.len();
    let cap = SEQUENCE_FACTOR * m;
    let tolerance = ctx.model.options.impact_tolerance.unwrap_or(impact::FEASIBILITY);
    let slowest = tolerance * work.approach.iter().fold(0.0f64, |s, u| s.max(u.abs()));
    for count in 0..2 * cap {
        if count == cap {
            island.books.report.impact_capped = true;
            work.restitution.fill(0.0);
        }
        let (mut worst, mut speed) = (usize::MAX, -slowest);
        for i in 0..m {
            if work.approach[i] < speed {
                (worst, speed) = (i, work.approach[i]);
            }
        }
        if worst == usize::MAX || ctx.interrupt.raised() || !single::<G>(island, work, worst, m) {
            return;
        }
        island.books.report.impact_iterations += 1;
    }
}

/// Newton restitution with impulses only: the dynamics problem without loads, c = k min(0, J v).
fn newton<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, work: &mut ImpactScratch) {
    let m = work.members.len();
    let width = 1 + G::TANGENTS;
    let n = work.lines.len();
    let cone = match ctx.model.options.friction_cone {
        FrictionCone::Round => Cone::Round,
        FrictionCone::Polyhedral(edges) => Cone::Polyhedral(edges),
    };
    let rebounds = work.restitution.iter().any(|c| *c > 0.0);
    if !rebounds && m > impact_coupled::MANY && island.system.assembly.equalities.is_empty() && impact_coupled::settle(island, work, cone) {
        return;
    }
    // The contact problem wants each contact's rows together.
    let place = |row: usize| if row < m { row * width } else { ((row - m) / G::TANGENTS) * width + 1 + (row - m) % G::TANGENTS };
    let ImpactScratch {
        gram,
        approach,
        friction,
        restitution,
        impulses,
        blocks,
        packed_matrix: matrix,
        packed_free: free,
        packed,
        capped,
        ..
    } = work;
    matrix.clear();
    matrix.resize(n * n, 0.0);
    free.clear();
    free.resize(n, 0.0);
    packed.clear();
    packed.resize(n, 0.0);
    for i in 0..n {
        free[place(i)] = approach[i];
        let (columns, values) = gram.row(i);
        columns.iter().zip(values).for_each(|(&j, a)| matrix[place(i) * n + place(j)] = *a);
    }
    blocks.clear();
    for i in 0..m {
        blocks.push(Block::contact(friction[i]));
        free[i * width] += restitution[i] * approach[i].min(0.0);
    }
    let mut outcome = island.system.solver.solve(&Problem { tangents: G::TANGENTS, blocks, matrix, free, cone }, None, packed);
    if !outcome.is_solved() {
        // Opposing contacts with restitution have no solution: drop it.
        *capped = true;
        island.books.report.impact_capped = true;
        for i in 0..m {
            free[i * width] = approach[i];
        }
        outcome = island.system.solver.solve(&Problem { tangents: G::TANGENTS, blocks, matrix, free, cone }, None, packed);
        island.books.report.inaccurate |= !outcome.is_solved();
    }
    island.books.report.impact_iterations += outcome.iterations;
    for i in 0..n {
        impulses[i] = packed[place(i)];
    }
}
