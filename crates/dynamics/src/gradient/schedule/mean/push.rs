//! What pushes bodies over a move under the midpoint rule: joint impulses along mean rows, springs and controls, as functions of both ends
//! of the move, theory (19.10)-(19.11) and (19.13).

use super::balance::Square;
use super::loads::{push_forces, push_gravity};
use super::motion::MeanMove;
use crate::constraints::{JointFunction, JointKind, JointParameter, MAX_PARAMETERS, MAX_POSE_COLUMNS, MAX_ROWS, Row, Span};
use crate::gradient::rows::joint_rows::JointAt;
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::Stage;
use crate::gradient::slots::{put, twist, wrench};
use crate::gradient::system::Sides;
use crate::gradient::tape::record::Substep;
use crate::island::LocalJoint;
use crate::predict::{effective_mass, soft_spring};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// A matrix over the freedoms of two bodies.
type Pair = [[f64; MAX_POSE_COLUMNS]; MAX_POSE_COLUMNS];

/// Slots that a move depends on, by local body.
pub(crate) struct MoveSlots<'a> {
    /// Poses at its start.
    pub starts: &'a [Option<Block>],
    /// Poses at its end with the mean twists held.
    pub ends: &'a [Option<Block>],
    /// Mean twists of bodies that no impulse moves.
    pub driven: &'a [Option<Block>],
    /// Its length, unless that is an unknown.
    pub time: Option<Block>,
}

/// What pushes the bodies: half impulses over the move.
pub(crate) struct Pushes<G: Geometry> {
    /// Their sums on each body.
    pub total: Vec<Wrench<G>>,
    /// How they change with the length, mean twists held.
    pub by_length: Vec<Wrench<G>>,
    /// How they change with the mean twist of the body itself, where no other body matters.
    pub stiffness: Vec<Square>,
    /// How the rest changes with the mean twists of two bodies.
    pub coupled: Vec<Coupled<G>>,
    /// Mean rows of the joint equalities.
    pub rows: Vec<Sides<G>>,
}

/// A part of a half impulse that answers to the mean twists of two bodies: an unknown z along a wrench, with z = covector . twists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coupled<G: Geometry> {
    /// Wrench of a unit of it.
    pub column: Sides<G>,
    /// Covector on the mean twists.
    pub row: Sides<G>,
}

/// How mean twists of bodies that no impulse moves change with the length, and how ends of moves do.
pub(crate) struct Lengthened<'a, G: Geometry> {
    /// Ends.
    pub ends: &'a [Twist<G>],
    /// Mean twists.
    pub driven: &'a [Twist<G>],
}

/// The half impulse of a joint on its two bodies around a move.
struct JointPush<'a, G: Geometry> {
    at: JointAt<'a, G>,
    spans: [Span<'a, G>; 2],
    value: [Wrench<G>; 2],
    /// By the poses at both ends, by mean twists and by parameters.
    start: Pair,
    end: Pair,
    velocity: Pair,
    parameters: [[f64; MAX_PARAMETERS]; MAX_POSE_COLUMNS],
    /// By the length, both ends held.
    by_length: [Wrench<G>; 2],
    /// By single slots.
    scalars: Vec<(Block, [Wrench<G>; 2])>,
}

impl<'a, G: Geometry> JointPush<'a, G> {
    fn new(at: JointAt<'a, G>, spans: [Span<'a, G>; 2]) -> Self {
        let zero = [[0.0; MAX_POSE_COLUMNS]; MAX_POSE_COLUMNS];
        JointPush {
            at,
            spans,
            value: [Wrench::zero(); 2],
            start: zero,
            end: zero,
            velocity: zero,
            parameters: [[0.0; MAX_PARAMETERS]; MAX_POSE_COLUMNS],
            by_length: [Wrench::zero(); 2],
            scalars: Vec::new(),
        }
    }

    /// Adds half impulses y along mean rows.
    fn add_rows(&mut self, function: JointFunction, y: &[f64], rows: &[Row<G>]) {
        for (row, &y) in rows.iter().zip(y) {
            self.value = [self.value[0].plus(y, row.a), self.value[1].plus(y, row.b)];
        }
        for i in 0..2 * G::DOF {
            let mut unit = [0.0; 6];
            unit[i % G::DOF] = 1.0;
            let mut twists = [Twist::zero(); 2];
            twists[i / G::DOF] = twist::<G>(&unit);
            let [start, end] = self.at.joint.mean_power_gradient(function, &self.spans[0], &self.spans[1], y, &twists);
            for (gradient, matrix) in [(start, &mut self.start), (end, &mut self.end)] {
                let (mut poses, mut parameters) = ([0.0; MAX_POSE_COLUMNS], [0.0; MAX_PARAMETERS]);
                gradient.write_poses(&mut poses[..2 * G::DOF]);
                gradient.write_parameters(self.at.joint, &mut parameters);
                matrix[i].iter_mut().zip(poses).for_each(|(m, g)| *m += g);
                self.parameters[i].iter_mut().zip(parameters).for_each(|(m, g)| *m += g);
            }
        }
    }

    /// Adds a load of so much along a mean row over half the move.
    fn add_load(&mut self, function: JointFunction, load: f64, row: &Row<G>, half: f64) {
        self.add_rows(function, &[half * load], std::slice::from_ref(row));
        // Half impulses grow with half the length.
        self.by_length = [self.by_length[0].plus(0.5 * load, row.a), self.by_length[1].plus(0.5 * load, row.b)];
    }

    /// Adds a slot that the half impulse along a row follows.
    fn add_scalar(&mut self, slot: Option<Block>, factor: f64, row: &Row<G>) {
        if let Some(slot) = slot {
            self.scalars.push((slot, [Wrench::zero().plus(factor, row.a), Wrench::zero().plus(factor, row.b)]));
        }
    }

    /// A spring that is no soft row, theory (19.11).
    fn add_spring(&mut self, means: &[Twist<G>; 2], half: f64) {
        let [a, b] = self.spans;
        let joint = self.at.joint;
        let Some(spring) = joint.mean_spring(&a, &b) else { return };
        let row = spring.row;
        let rate = row.speed(&means[0], &means[1]);
        let function = JointFunction::SpringLength;
        self.add_load(function, spring.force(rate), &row, half);
        self.add_scalar(self.at.parameter(JointParameter::Rest), half * spring.stiffness, &row);
        self.add_scalar(self.at.parameter(JointParameter::Stiffness), half * (spring.rest - spring.length), &row);
        self.add_scalar(self.at.parameter(JointParameter::Damping), -half * rate, &row);
        // The force follows the mean of the lengths, and the damper the mean row.
        let dampers = joint.mean_power_gradient(function, &a, &b, &[-half * spring.damping], means);
        let lengths =
            [[a.start, b.start], [a.end, b.end]].map(|[a, b]| joint.value_gradient(function, a, b, &[-0.5 * half * spring.stiffness]));
        let along = flat::<G>(&[row.a, row.b]);
        if joint.pulls_evenly() && joint.ends_meet(a.start, b.start) && joint.ends_meet(a.end, b.end) {
            self.add_across(half * spring.stiffness, &row);
        }
        for (end, matrix) in [&mut self.start, &mut self.end].into_iter().enumerate() {
            for gradient in [&dampers[end], &lengths[end]] {
                let (mut poses, mut parameters) = ([0.0; MAX_POSE_COLUMNS], [0.0; MAX_PARAMETERS]);
                gradient.write_poses(&mut poses[..2 * G::DOF]);
                gradient.write_parameters(joint, &mut parameters);
                for i in 0..2 * G::DOF {
                    matrix[i].iter_mut().zip(poses).for_each(|(m, g)| *m += along[i] * g);
                    self.parameters[i].iter_mut().zip(parameters).for_each(|(m, g)| *m += along[i] * g);
                }
            }
        }
        for i in 0..2 * G::DOF {
            for j in 0..2 * G::DOF {
                self.velocity[i][j] -= half * spring.damping * along[i] * along[j];
            }
        }
    }

    /// Where the ends of a spring without rest length meet it pulls across its row as well, theory (17.41), half of it at each end of the move.
    fn add_across(&mut self, pull: f64, row: &Row<G>) {
        let at = self.at;
        let kept = row.a.lin;
        let points = at.joint.points(at.poses[0], at.poses[1]);
        let arms = [0, 1].map(|side| points[side] - at.poses[side].position);
        let mut add = |parameter: Option<usize>, column: usize, side: usize, shift: G::Lin| {
            let force = (shift - kept * kept.dot(shift)) * (-0.5 * pull * if side == 0 { 1.0 } else { -1.0 });
            let wrenches = [Wrench::along(force, arms[0]), Wrench::along(force, arms[1]).negated()];
            for (i, x) in flat::<G>(&wrenches).into_iter().enumerate().take(2 * G::DOF) {
                match parameter {
                    Some(index) => self.parameters[i][index] += 2.0 * x,
                    None => [&mut self.start, &mut self.end].into_iter().for_each(|matrix| matrix[i][column] += x),
                }
            }
        };
        for side in 0..2 {
            for k in 0..G::DOF {
                let mut unit = [0.0; 6];
                unit[k] = 1.0;
                add(None, side * G::DOF + k, side, twist::<G>(&unit).at(arms[side]));
            }
            for component in 0..G::DIM {
                if let Some(index) = at.joint.parameter_index(JointParameter::Anchor { side, component }) {
                    let mut unit = G::Lin::zero();
                    unit[component] = 1.0;
                    add(Some(index), 0, side, at.poses[side].direction(unit));
                }
            }
        }
    }

    /// How the half impulse answers to the mean twists of its bodies: `moves` are those that impulses move.
    fn by_mean(&self, moves: [Option<&MeanMove<G>>; 2]) -> Pair {
        let mut out = [[0.0; MAX_POSE_COLUMNS]; MAX_POSE_COLUMNS];
        for (side, of) in moves.into_iter().enumerate() {
            let Some(of) = of else { continue };
            for j in 0..G::DOF {
                let mut unit = [0.0; 6];
                unit[j] = 1.0;
                let moved = of.displaced(twist::<G>(&unit));
                let mut shift = [0.0; 6];
                put::<G>(moved.lin, moved.ang, &mut shift);
                let column = side * G::DOF + j;
                for i in (0..2 * G::DOF).filter(|i| moves[i / G::DOF].is_some()) {
                    let carried: f64 = (0..G::DOF).map(|k| self.end[i][side * G::DOF + k] * shift[k]).sum();
                    out[i][column] = carried + self.velocity[i][column];
                }
            }
        }
        out
    }

    /// Adds the half impulse to slots and sums.
    fn emit(&self, program: &mut Program<G>, slots: &MoveSlots, out: &[Option<Block>], longer: &Lengthened<G>, pushes: &mut Pushes<G>) {
        let bodies = self.at.bodies;
        let parameters = self.at.joint.parameter_count();
        let mut block = [0.0; 36];
        for (side, &body) in bodies.iter().enumerate() {
            pushes.total[body] = pushes.total[body].plus(1.0, self.value[side]);
            pushes.by_length[body] = pushes.by_length[body].plus(1.0, self.by_length[side]);
            let mut by_length = [0.0; 6];
            for (other, &by) in bodies.iter().enumerate() {
                let (mut end, mut mean) = ([0.0; 6], [0.0; 6]);
                put::<G>(longer.ends[by].lin, longer.ends[by].ang, &mut end);
                put::<G>(longer.driven[by].lin, longer.driven[by].ang, &mut mean);
                for i in 0..G::DOF {
                    let row = side * G::DOF + i;
                    for k in 0..G::DOF {
                        let column = other * G::DOF + k;
                        by_length[i] += self.end[row][column] * end[k] + self.velocity[row][column] * mean[k];
                    }
                }
            }
            pushes.by_length[body] = pushes.by_length[body].plus(1.0, wrench::<G>(&by_length));
            let Some(out) = out[body] else { continue };
            for (matrix, inputs) in [(&self.start, slots.starts), (&self.end, slots.ends), (&self.velocity, slots.driven)] {
                for (other, &by) in bodies.iter().enumerate() {
                    let Some(input) = inputs[by] else { continue };
                    for i in 0..G::DOF {
                        for k in 0..G::DOF {
                            block[i * G::DOF + k] = matrix[side * G::DOF + i][other * G::DOF + k];
                        }
                    }
                    program.matrix(out, input, &block[..G::DOF * G::DOF]);
                }
            }
            let mut rows = [0.0; 6 * MAX_PARAMETERS];
            for i in 0..G::DOF {
                rows[i * parameters..(i + 1) * parameters].copy_from_slice(&self.parameters[side * G::DOF + i][..parameters]);
            }
            program.matrix(out, self.at.parameters, &rows[..G::DOF * parameters]);
            for (slot, wrenches) in &self.scalars {
                program.stacked(out, *slot, &wrenches[side]);
            }
            if let Some(time) = slots.time {
                program.stacked(out, time, &self.by_length[side]);
            }
        }
    }
}

/// Wrenches on two bodies as numbers.
fn flat<G: Geometry>(sides: &[Wrench<G>; 2]) -> [f64; MAX_POSE_COLUMNS] {
    let mut out = [0.0; MAX_POSE_COLUMNS];
    for (side, part) in sides.iter().zip(out.chunks_exact_mut(G::DOF)) {
        put::<G>(side.lin, side.ang, part);
    }
    out
}

/// Adds what pushes the bodies over a move to slots `out`.
pub(crate) fn pushes<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    moves: &[Option<MeanMove<G>>],
    slots: &MoveSlots,
    longer: &Lengthened<G>,
    out: &[Option<Block>],
) -> Pushes<G> {
    let count = stage.bodies.len();
    let mut pushes = Pushes {
        total: vec![Wrench::zero(); count],
        by_length: vec![Wrench::zero(); count],
        stiffness: vec![[[0.0; 6]; 6]; count],
        coupled: Vec::new(),
        rows: Vec::new(),
    };
    for joint in stage.joints {
        push_joint(program, stage, substep, joint, moves, slots, longer, out, &mut pushes);
    }
    push_gravity(program, stage, substep.length, slots, out, &mut pushes);
    push_forces(program, stage, substep, moves, slots, longer, out, &mut pushes);
    pushes
}

fn push_joint<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    joint: &LocalJoint,
    moves: &[Option<MeanMove<G>>],
    slots: &MoveSlots,
    longer: &Lengthened<G>,
    out: &[Option<Block>],
    pushes: &mut Pushes<G>,
) {
    let half = 0.5 * substep.length;
    let bodies = joint.bodies;
    let spans = bodies.map(|body| Span { start: &substep.poses[body], end: &substep.next[body] });
    let mut push = JointPush::new(stage.joint(joint, &substep.poses, slots.starts), spans);
    let spec = push.at.joint;
    let mut any = false;
    if joint.rows > 0 {
        let mut rows = [Row::zero(); MAX_ROWS];
        spec.mean_rows(&spans[0], &spans[1], &mut rows);
        push.add_rows(
            JointFunction::Equalities,
            &substep.hold.reaction[joint.first_row..joint.first_row + joint.rows],
            &rows[..joint.rows],
        );
        debug_assert_eq!(pushes.rows.len(), joint.first_row, "rows stand in the order of the joints");
        pushes.rows.extend(rows[..joint.rows].iter().map(|row| [(bodies[0], row.a), (bodies[1], row.b)]));
        any = true;
    }
    if spec.kind == JointKind::Spring
        && !soft_spring(stage.model.step, [spec.measures.stiffness, spec.measures.damping], effective_mass(&stage.bodies, bodies))
    {
        push.add_spring(&bodies.map(|body| substep.midpoint.mean[body]), half);
        any = true;
    }
    if let (Some(max), Some(control)) = (spec.motor.and_then(|motor| motor.control()), joint.control) {
        let asked = stage.controls.get(control).copied().unwrap_or(0.0);
        let row = spec.mean_coordinate_row(&spans[0], &spans[1]);
        push.add_load(JointFunction::Coordinate, asked.clamp(-max, max), &row, half);
        if asked.abs() < max {
            push.add_scalar(Some(stage.control_block.part(control, 1)), half, &row);
        } else {
            push.add_scalar(push.at.parameter(JointParameter::MotorMax), half * asked.signum(), &row);
        }
        any = true;
    }
    if !any {
        return;
    }
    push.emit(program, slots, out, longer, pushes);
    let answers = push.by_mean(bodies.map(|body| moves[body].as_ref()));
    couple(bodies, &answers, pushes);
}

/// Takes down how a half impulse answers to mean twists: with each body alone, or, where both matter to one of them, as unknowns of its own.
fn couple<G: Geometry>(bodies: [usize; 2], answers: &Pair, pushes: &mut Pushes<G>) {
    let n = G::DOF;
    let across = |i: usize, j: usize| answers[i][n + j] != 0.0 || answers[n + i][j] != 0.0;
    if !(0..n).any(|i| (0..n).any(|j| across(i, j))) {
        for (side, &body) in bodies.iter().enumerate() {
            for i in 0..n {
                for j in 0..n {
                    pushes.stiffness[body][i][j] += answers[side * n + i][side * n + j];
                }
            }
        }
        return;
    }
    let sides = |numbers: &[f64]| [(bodies[0], wrench::<G>(numbers)), (bodies[1], wrench::<G>(&numbers[n..]))];
    let mut unit = [0.0; MAX_POSE_COLUMNS];
    for k in 0..n {
        let (here, there) = (&answers[k], &answers[n + k]);
        let opposite = here.iter().zip(there).all(|(a, b)| *a == -*b);
        for (side, row) in [here, there].into_iter().enumerate() {
            if row.iter().all(|x| *x == 0.0) || (opposite && side == 1) {
                continue;
            }
            unit[side * n + k] = 1.0;
            if opposite {
                unit[n + k] = -1.0;
            }
            pushes.coupled.push(Coupled { column: sides(&unit), row: sides(row) });
            (unit[k], unit[n + k]) = (0.0, 0.0);
        }
    }
}
