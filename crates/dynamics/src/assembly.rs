//! Stage 4: rows at one pose, the joint factor, and the matrix of the reduced problem, theory (2.11)-(2.14).
//!
//! Made once per pose: stage 7 builds it at q', and the next substep's stages 2, 4 and 5 select from it.

use crate::articulated::{Inserted, articulates};
use crate::constraints::{JointKind, Motor};
use crate::contacts::NO_GROUP;
use crate::island::parts::{Books, Links, Members, Motion, System, Touch};
use crate::island::{Context, Island, LocalBody, LocalJoint};
use crate::joint_factor::JointFactor;
use crate::joint_rows::{JointRows, Numbers, Placed};
use crate::line::Line;
use crate::moments;
use crate::options::SolverChoice;
use crate::predict::{effective_mass, soft_spring};
use crate::reduced::{Columns, reduce};
use crate::sparse_rows::{Root, many};
use crate::tendon::{AlongTendon, room};
use carom_geometry::Geometry;
use carom_math::Twist;

/// Limits farther than this \[rad or m\] and than two steps of their present rate get no row.
const LIMIT_REACH: f64 = 0.05;

/// Where a group of rows comes from; joints are numbered within the island.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source {
    /// A contact: normal, then tangents.
    Contact(usize),
    /// A limit or a rope.
    Limit {
        /// Joint of the island.
        joint: usize,
        /// Which of its inequalities.
        index: usize,
        /// Its gap at this pose.
        gap: f64,
    },
    /// A velocity or position motor; the coordinate at this pose.
    Motor {
        /// Joint of the island.
        joint: usize,
        /// Its coordinate.
        coordinate: f64,
    },
    /// A limit of a tendon of the island.
    TendonLimit {
        /// Which tendon.
        tendon: usize,
        /// Whether it is the upper one.
        upper: bool,
        /// Its gap at this pose.
        gap: f64,
    },
    /// The spring and the damper of a tendon that are too strong for a load; how far it is stretched at this pose.
    Tendon {
        /// Which tendon of the island.
        tendon: usize,
        /// By how much.
        stretch: f64,
    },
    /// Dry friction in a joint.
    Friction {
        /// Joint of the island.
        joint: usize,
    },
    /// A spring too stiff to be explicit; its length at this pose.
    Spring {
        /// Joint of the island.
        joint: usize,
        /// Its length.
        length: f64,
    },
}

/// Consecutive rows that belong together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// Where they come from.
    pub source: Source,
    /// First row.
    pub first: usize,
    /// Number of rows.
    pub rows: usize,
    /// The joints leave no freedom along the first row: it is dropped.
    pub locked: bool,
}

/// An inequality of a joint at a pose.
#[derive(Clone, Copy, Debug)]
struct Judged<G: Geometry> {
    gap: f64,
    line: Line<G>,
    /// It has a row.
    counts: bool,
}

impl<G: Geometry> Judged<G> {
    fn of(gap: f64, line: Line<G>, step: f64, twists: &[Twist<G>]) -> Self {
        Judged { gap, line, counts: gap <= LIMIT_REACH + 2.0 * step * line.speed(twists).abs() }
    }
}

/// Everything about the rows of an island at one pose.
#[derive(Debug)]
pub(crate) struct Assembly<G: Geometry> {
    /// Equality rows of the joints.
    pub equalities: JointRows<G>,
    /// The same at the end of the move at hand, as its correction last found them.
    pub ahead: Placed<G>,
    /// The rows stand at the present poses already.
    placed: bool,
    /// Their factor.
    pub factor: JointFactor,
    /// Counts the poses that rows were built at: rows of the same number are the same.
    pub number: u64,
    /// Redundant equality rows.
    pub redundant: usize,
    /// Groups of inequality, motor and friction rows.
    pub groups: Vec<Group>,
    /// Their rows.
    pub lines: Vec<Line<G>>,
    /// J M~^-1 J' of all rows, by rows: at hand once [`Assembly::reduce`] was called.
    pub matrix: Vec<f64>,
    /// Whether it is.
    pub(crate) reduced: bool,
    /// Rows are inserted into the joint factor one group at a time, theory (17.46); the reduced matrix is made only if that fails.
    pub articulated: bool,
    /// The inserted rows.
    pub inserted: Inserted<G>,
    /// Whether a row has no freedom left.
    pub locked_rows: Vec<bool>,
    /// There are so many rows that they are solved over bodies; the matrix of all rows with each other is made only if somebody asks for it.
    pub sparse: bool,
    /// Contact rows outnumber the freedoms: gaps within touching would contradict each other and count as closed, theory (2.19).
    pub crowded: bool,
    /// How often rows were made: who kept something of them sees whether it is of these.
    pub version: u64,
    /// Roots of the inverse masses, body by body, where rows are solved over bodies.
    pub roots: Vec<Root>,
    /// (J_e M^-1 J_e')^-1 J_e M^-1 J' of the row at hand.
    pub(crate) column: Vec<f64>,
    /// What the factor was made of.
    factored: Numbers<G>,
    /// What rows do with the joints held, where there are few.
    pub(crate) columns: Columns<G>,
    /// The last row so far at each body, and before each row the one before it at its own bodies.
    pub(crate) last_at: Vec<usize>,
    /// Every inequality of a joint, whether it got a row or not.
    judged: Vec<Judged<G>>,
    /// Most contacts, and other groups of rows, at one body that moves.
    pub busiest: usize,
    pub(crate) previous: Vec<[usize; 2]>,
}

impl<G: Geometry> Assembly<G> {
    /// No rows.
    pub fn empty() -> Self {
        Assembly {
            equalities: JointRows::default(),
            ahead: Placed::default(),
            placed: false,
            factor: JointFactor::default(),
            number: 0,
            redundant: 0,
            groups: Vec::new(),
            lines: Vec::new(),
            matrix: Vec::new(),
            reduced: false,
            articulated: false,
            inserted: Inserted::default(),
            locked_rows: Vec::new(),
            sparse: false,
            crowded: false,
            version: 0,
            roots: Vec::new(),
            column: Vec::new(),
            factored: Numbers::default(),
            columns: Columns::default(),
            last_at: Vec::new(),
            judged: Vec::new(),
            busiest: 0,
            previous: Vec::new(),
        }
    }

    /// Whether the rows are those of these velocities and controls too: which limits have some depends on the ones, where a servo in space counts its turns
    /// from on the others.
    pub fn serves(&self, joints: &[LocalJoint], ctx: &Context<G>, twists: &[Twist<G>]) -> bool {
        let model = ctx.model;
        let asked = |joint: &LocalJoint| joint.control.is_some() && matches!(model.joints[joint.index].motor, Some(Motor::Servo { .. }));
        model.options.scheme().kicks_again()
            && self.equalities.ties.is_empty()
            && self.equalities.tendons.is_empty()
            && !joints.iter().any(asked)
            && self.judged.iter().all(|judged| Judged::of(judged.gap, judged.line, model.step, twists).counts == judged.counts)
    }

    /// Takes over the joint rows at the end of the move, where the island now is.
    pub fn arrive(&mut self) {
        // What a rotor missed of its move is no error of a pose.
        self.equalities.rotors.iter().for_each(|rotor| self.ahead.errors[rotor.row] = 0.0);
        std::mem::swap(&mut self.equalities.now, &mut self.ahead);
        self.placed = true;
    }
}

/// Builds the rows of the island at its present poses, for the contacts that may act and the joints.
pub(crate) fn assemble<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) {
    let model = ctx.model;
    let Island {
        members: Members { bodies, .. },
        motion: Motion { poses, twists, .. },
        links: Links { joints, acting, tendons, pairs, .. },
        touch: Touch { near, .. },
        system: System { assembly, .. },
        books: Books { report, .. },
        ..
    } = island;
    let Assembly { equalities, placed, factor, factored, redundant, groups, lines, judged, columns, .. } = assembly;
    judged.clear();

    // Joints.
    equalities.weigh(bodies);
    if !std::mem::take(placed) {
        equalities.place(joints, model, poses);
    }
    equalities.place_ties(model, poses);

    // Contacts that touch, were active, or will be crossed slowly.
    groups.clear();
    lines.clear();
    let mut rolls = false;
    for (index, contact) in near.iter_mut().enumerate() {
        contact.group = NO_GROUP;
        if !(contact.touching || contact.active || contact.extra) {
            continue;
        }
        contact.group = groups.len();
        let first = lines.len();
        let moments = moments::rows::<G>(pairs[contact.pair].arms);
        groups.push(Group { source: Source::Contact(index), first, rows: 1 + G::TANGENTS + moments, locked: false });
        let arms = contact.arms(poses);
        let normal = contact.contact.normal;
        lines.push(Line::along(contact.bodies, normal, arms, bodies));
        let tangents = G::tangents(normal);
        for tangent in &tangents[..G::TANGENTS] {
            lines.push(Line::along(contact.bodies, *tangent, arms, bodies));
        }
        if moments > 0 {
            rolls = true;
            moments::push_lines(lines[first], normal, bodies, lines);
        }
    }

    // Limits, ropes, motors, joint friction, stiff springs.
    for &index in acting.iter() {
        let joint = &joints[index];
        let spec = &model.joints[joint.index];
        let [a, b] = joint.bodies;
        let driven = spec.motor.is_some_and(|motor| motor.row_max().is_some());
        // Limits, motor and friction stand on one coordinate.
        let free = (driven || spec.friction > 0.0 || spec.limits.is_some()).then(|| spec.coordinate_and_row(&poses[a], &poses[b]));
        for inequality in 0..spec.inequality_count() {
            let (gap, row) = match (spec.limits, free) {
                (Some(limits), Some(free)) if spec.kind != JointKind::Rope => spec.limit(limits, inequality, free),
                _ => spec.inequality(inequality, &poses[a], &poses[b]),
            };
            let line = Line::new(joint.bodies, row, bodies);
            let found = Judged::of(gap, line, model.step, twists);
            judged.push(found);
            if found.counts {
                groups.push(Group {
                    source: Source::Limit { joint: index, index: inequality, gap },
                    first: lines.len(),
                    rows: 1,
                    locked: false,
                });
                lines.push(line);
            }
        }
        if let (true, Some((coordinate, row))) = (driven || spec.friction > 0.0, free) {
            let pull = spec.motor.and_then(|motor| motor.pull(ctx.asked(joint)));
            let coordinate = pull.map_or(0.0, |pull| spec.as_motor_measures(&pull, coordinate));
            let line = Line::new(joint.bodies, row, bodies);
            if driven {
                groups.push(Group { source: Source::Motor { joint: index, coordinate }, first: lines.len(), rows: 1, locked: false });
                lines.push(line);
            }
            if spec.friction > 0.0 {
                groups.push(Group { source: Source::Friction { joint: index }, first: lines.len(), rows: 1, locked: false });
                lines.push(line);
            }
        }
        if let Some(spring) = spec.spring(&poses[a], &poses[b]) {
            let soft = soft_spring(model.step, [spring.stiffness, spring.damping], effective_mass(bodies, joint.bodies));
            if soft {
                report.soft_spring = true;
                let source = Source::Spring { joint: index, length: spring.length };
                groups.push(Group { source, first: lines.len(), rows: 1, locked: false });
                lines.push(Line::new(joint.bodies, spring.row, bodies));
            }
        }
    }

    // Tendons.
    for (index, local) in tendons.iter().enumerate() {
        let (tendon, stretch) = (index as u32, equalities.tendons.error(index, model, poses));
        for upper in [false, true] {
            let (gap, line) = (room(model, local, stretch, upper), Line::of_tendon(AlongTendon { tendon, against: upper }));
            if gap <= LIMIT_REACH + 2.0 * model.step * equalities.line_speed(&line, twists).abs() {
                groups.push(Group {
                    source: Source::TendonLimit { tendon: index, upper, gap },
                    first: lines.len(),
                    rows: 1,
                    locked: false,
                });
                lines.push(line);
            }
        }
        let damped = model.couplings[local.index].tendon.is_some_and(|tendon| tendon.damping > 0.0);
        if local.stiff || (damped && model.options.scheme().kicks_again()) {
            groups.push(Group { source: Source::Tendon { tendon: index, stretch }, first: lines.len(), rows: 1, locked: false });
            lines.push(Line::of_tendon(AlongTendon { tendon, against: false }));
        }
    }

    // Rows are inserted by the law of a plain contact.
    let articulated = !rolls && !equalities.tied() && articulates::<G>(&model.options, lines.len(), equalities.len());
    // The end of a step is the start of the next, and rows are added at the pose where others were: the same numbers have the same factor.
    let Columns { basis, by_basis, .. } = columns;
    // Whoever keeps problems keeps them with the factor.
    let along = !articulated && !ctx.capture && !model.options.whole_bodies && basis.suits(equalities, bodies, lines.len());
    let stands = along == *by_basis && if along { basis.stands() } else { factor.stands(articulated) };
    let kept = stands && !equalities.tied() && equalities.are(factored);
    if !kept {
        *by_basis = along && basis.find(equalities, bodies);
        // Rows that a tree tells apart are none too many.
        *redundant = if *by_basis { 0 } else { factor.refactor(equalities, articulated) };
        // Without rows the next step starts from here anyway.
        if near.is_empty() && acting.is_empty() && tendons.is_empty() {
            factored.forget();
        } else {
            equalities.note(factored);
        }
    }
    report.redundant = report.redundant.max(*redundant);
    assembly.articulated = articulated;
    assembly.number += 1;
    assembly.reduced = false;
    if assembly.articulated {
        let Assembly { equalities, factor, groups, lines, locked_rows, inserted, .. } = assembly;
        // Rows that cannot be inserted are left to the reduced matrix.
        assembly.articulated = inserted.insert(factor, equalities, groups, lines, model.tolerances.locked, locked_rows, bodies.len());
    }
    assembly.version += 1;
    let jointed = !assembly.equalities.is_empty();
    // The mean rows of energy-momentum are not those of the joint factor alone.
    let exact = !jointed || (assembly.articulated && !model.options.scheme().by_means());
    let dynamic = bodies.iter().filter(|body| body.dynamic).count();
    assembly.busiest = busiest(assembly, bodies);
    let chosen = match model.options.solver {
        SolverChoice::Auto => true,
        SolverChoice::Articulated => !jointed,
        SolverChoice::InteriorPoint => false,
    };
    assembly.sparse = chosen && exact && many::<G>(assembly.lines.len(), dynamic, (!jointed).then_some(assembly.busiest));
    let contacts = assembly.groups.iter().filter(|group| matches!(group.source, Source::Contact(_))).count();
    let freedoms = (dynamic * G::DOF).saturating_sub(assembly.equalities.len());
    assembly.crowded = assembly.sparse || (jointed && contacts * G::DIM > freedoms);
    if assembly.sparse || ctx.capture {
        assembly.roots.clear();
        assembly.roots.extend(bodies.iter().map(Root::of));
    }
    if !jointed {
        let Assembly { lines, locked_rows, .. } = assembly;
        locked_rows.clear();
        locked_rows.extend(lines.iter().map(|line| line.couple(line) <= 0.0));
    }
    if !assembly.articulated && !assembly.sparse {
        reduce(assembly, bodies, model.tolerances.locked, kept);
    } else {
        assembly.columns.forget_rows();
    }
    let Assembly { groups, locked_rows, .. } = assembly;
    for group in groups.iter_mut() {
        group.locked = locked_rows[group.first];
    }
}

/// Counts them.
fn busiest<G: Geometry>(assembly: &mut Assembly<G>, bodies: &[LocalBody<G>]) -> usize {
    let Assembly { groups, lines, last_at, .. } = assembly;
    last_at.clear();
    last_at.resize(bodies.len(), 0);
    let mut most = 0;
    for group in groups.iter() {
        for body in lines[group.first].bodies.into_iter().filter(|&body| bodies[body].dynamic) {
            last_at[body] += 1;
            most = most.max(last_at[body]);
        }
    }
    most
}
