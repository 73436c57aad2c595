//! What was measured, laid onto the steps of a run.

use crate::check;
use crate::complaint::{Complaint, bad, unknown};
use crate::variable::Start;
use carom_dynamics::{BodyKind, State, World};
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector};

/// A measured time this close to the end of a step, as a part of the step, is that end.
const ON_STEP: f64 = 1e-6;

/// Quantities with a weight of their own.
pub const QUANTITIES: [&str; 6] = ["position", "rotation", "velocity", "spin", "joint", "joint_rate"];

/// A measured motion as plain arrays; what is not there is NaN, an array that is missing is empty.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its name in messages.
    pub name: String,
    /// Times \[s\], one per row.
    pub time: Vec<f64>,
    /// Bodies, one per column of `q` and `v`.
    pub bodies: Vec<String>,
    /// Poses: rows x bodies x (3 or 7).
    pub q: Vec<f64>,
    /// Velocities in world axes: rows x bodies x (3 or 6).
    pub v: Vec<f64>,
    /// Joint coordinates, one per column of `joint_q` and `joint_v`.
    pub joints: Vec<String>,
    /// Joint coordinates: rows x joints.
    pub joint_q: Vec<f64>,
    /// Their rates.
    pub joint_v: Vec<f64>,
}

/// Which columns of a table count.
#[derive(Clone, Copy, Debug)]
pub struct Compare {
    /// Rotations of bodies.
    pub rotations: bool,
    /// Velocities of bodies and joints.
    pub velocities: bool,
    /// Rows up to this time only \[s\].
    pub until: f64,
    /// Runs start where the scene starts, whatever was measured: poses or velocities of the start are among the parameters.
    pub scene_start: bool,
    /// Measured starts are fitted: then their velocities are compared like any other.
    pub initial: bool,
    /// Motions are cut into windows: the states that were seen are kept, for windows to start from.
    pub windows: bool,
}

/// One thing that was measured.
#[derive(Clone, Copy, Debug)]
pub enum Sample<G: Geometry> {
    /// A coordinate of a body \[m\].
    Position(usize, usize, f64),
    /// The orientation of a body.
    Rotation(usize, G::Rot),
    /// A velocity component of a body [m/s or rad/s].
    Velocity(usize, usize, f64),
    /// A joint coordinate.
    Joint(usize, f64),
    /// The rate of a joint coordinate.
    JointRate(usize, f64),
}

impl<G: Geometry> Sample<G> {
    /// Numbers it is compared by.
    pub fn count(&self) -> usize {
        if matches!(self, Sample::Rotation(..)) { G::ANG } else { 1 }
    }
    /// The vector it is a number of: quantity, and body or joint.
    pub fn vector(&self) -> (usize, usize) {
        match *self {
            Sample::Position(at, ..)
            | Sample::Rotation(at, _)
            | Sample::Velocity(at, ..)
            | Sample::Joint(at, _)
            | Sample::JointRate(at, _) => (self.quantity(), at),
        }
    }
    /// Which of the quantities it is.
    pub fn quantity(&self) -> usize {
        match self {
            Sample::Position(..) => 0,
            Sample::Rotation(..) => 1,
            Sample::Velocity(_, k, _) => 2 + usize::from(*k >= G::DIM),
            Sample::Joint(..) => 4,
            Sample::JointRate(..) => 5,
        }
    }
}

/// What was measured after so many steps.
#[derive(Clone, Debug)]
pub struct Moment<G: Geometry> {
    /// Steps since the start.
    pub step: usize,
    /// What was seen.
    pub samples: Vec<Sample<G>>,
}

/// A motion, in the order of time.
#[derive(Clone, Debug)]
pub struct Motion<G: Geometry> {
    /// Its name in messages.
    pub name: String,
    /// The state its run starts from.
    pub start: State<G>,
    /// Whether that is the measured one.
    pub measured_start: bool,
    /// Moments with at least one sample.
    pub moments: Vec<Moment<G>>,
    /// Steps until the last moment.
    pub steps: usize,
    /// States that rows have whole, by step; where windows were asked for.
    pub seen: Vec<(usize, State<G>)>,
}

impl<G: Geometry> Motion<G> {
    /// Numbers in all.
    pub fn count(&self) -> usize {
        self.moments.iter().flat_map(|m| &m.samples).map(Sample::count).sum()
    }

    /// Numbers of the row that a run starts from: they are met whatever is tried.
    pub fn met(&self) -> usize {
        let first = self.moments.iter().take_while(|m| m.step == 0 && self.measured_start);
        first.flat_map(|m| &m.samples).map(Sample::count).sum()
    }

    /// Lays a table onto the steps of a scene; says what looks wrong about it besides.
    ///
    /// # Errors
    /// Names that the scene does not have, times that are no ends of steps or run backwards, infinite numbers, quaternions that are none, nothing to compare.
    pub fn read(table: &Table, start: &Start<G>, compare: &Compare) -> Result<(Self, Vec<String>), Complaint> {
        let (name, model) = (&table.name, start.world.model());
        check::shapes::<G>(table)?;
        let mut bodies = Vec::new();
        for body in &table.bodies {
            let names = model.bodies.iter().map(|b| b.name.as_str());
            let found = model.body(body);
            bodies.push(
                found.ok_or_else(|| {
                    unknown(format!("{name}: no body \"{body}\" in the scene"), body, names, "bodies are matched by name")
                })?,
            );
        }
        let known = start.world.joint_names();
        let mut joints = Vec::new();
        for joint in &table.joints {
            let found = known.iter().position(|k| k == joint);
            let words =
                || unknown(format!("{name}: no joint coordinate \"{joint}\""), joint, known.iter().map(String::as_str), "see joint_names");
            joints.push(found.ok_or_else(words)?);
        }
        let mut warnings = check::numbers::<G>(table, &bodies)?;
        let first = if compare.scene_start { None } else { seen_in(table, 0, start, &bodies, &joints) };
        let origin = if first.is_some() { table.time[0] } else { 0.0 };
        let (mut moments, mut seen) = (Vec::new(), Vec::new());
        for (row, time) in table.time.iter().enumerate().filter(|(_, t)| **t - origin <= compare.until * (1.0 + ON_STEP)) {
            let steps = (time - origin) / model.step;
            if steps < -ON_STEP || (steps - steps.round()).abs() > ON_STEP * steps.abs().max(1.0) {
                let help = format!("the scene's step is {} s; give it one that divides the times", model.step);
                return Err(bad(format!("{name}: time {time} s is not the end of a step (row {row})"), help));
            }
            let mut samples = samples(table, row, &bodies, &joints, start, compare);
            if first.is_some() && !compare.initial && steps.abs() < ON_STEP {
                // The velocities that a run starts with are met whatever is tried.
                samples.retain(|s| !matches!(s, Sample::Velocity(..) | Sample::JointRate(..)));
            }
            if compare.windows {
                seen.extend(seen_in(table, row, start, &bodies, &joints).map(|state| (steps.round() as usize, state)));
            }
            if !samples.is_empty() {
                moments.push(Moment { step: steps.round() as usize, samples });
            }
        }
        if moments.is_empty() {
            return Err(bad(
                format!("{name}: holds nothing to compare"),
                "positions of dynamic bodies are compared; velocities and rotations add to them",
            ));
        }
        let steps = moments.iter().map(|m| m.step).max().unwrap_or(0);
        let measured_start = first.is_some();
        let state = first.unwrap_or_else(|| start.world.state().clone());
        if !measured_start {
            warnings.extend(check::far_from_the_scene(&moments[0], &state, start, name));
        }
        Ok((Motion { name: name.clone(), start: state, measured_start, moments, steps, seen }, warnings))
    }
}

fn samples<G: Geometry>(
    table: &Table,
    row: usize,
    bodies: &[usize],
    joints: &[usize],
    start: &Start<G>,
    compare: &Compare,
) -> Vec<Sample<G>> {
    let mut out = Vec::new();
    let there = |x: &(usize, &f64)| x.1.is_finite();
    for (column, &body) in bodies.iter().enumerate() {
        if start.world.model().bodies[body].kind == BodyKind::Static {
            continue;
        }
        if let Some(q) = part(&table.q, row * bodies.len() + column, G::COORDS) {
            let (position, rotation) = q.split_at(G::DIM);
            out.extend(position.iter().enumerate().filter(there).map(|(k, x)| Sample::Position(body, k, *x)));
            let whole = compare.rotations && rotation.iter().all(|x| x.is_finite());
            out.extend(whole.then(|| G::read_rotation(rotation)).flatten().map(|rotation| Sample::Rotation(body, rotation)));
        }
        if let Some(v) = part(&table.v, row * bodies.len() + column, G::DOF).filter(|_| compare.velocities) {
            out.extend(v.iter().enumerate().filter(there).map(|(k, x)| Sample::Velocity(body, k, *x)));
        }
    }
    for (column, &joint) in joints.iter().enumerate() {
        let one = |x: &[f64]| part(x, row * joints.len() + column, 1).map(|x| x[0]).filter(|x| x.is_finite());
        out.extend(one(&table.joint_q).map(|x| Sample::Joint(joint, x)));
        out.extend(one(&table.joint_v).filter(|_| compare.velocities).map(|x| Sample::JointRate(joint, x)));
    }
    out
}

/// A row of an array, where there is one.
pub fn part(values: &[f64], row: usize, width: usize) -> Option<&[f64]> {
    values.get(row * width..(row + 1) * width)
}

/// The state that a row measured, where it has the pose of every body that moves; velocities that were not measured are those between the rows about it.
/// In a mechanism the joint coordinates count, so that joints hold.
fn seen_in<G: Geometry>(table: &Table, row: usize, start: &Start<G>, bodies: &[usize], joints: &[usize]) -> Option<State<G>> {
    let model = start.world.model();
    let moves: Vec<usize> = (0..model.bodies.len()).filter(|b| model.bodies[*b].kind == BodyKind::Dynamic).collect();
    if table.q.is_empty() && !joints.is_empty() {
        return from_joints(table, row, start, joints);
    }
    let whole = |row: usize, body: usize| {
        let column = bodies.iter().position(|b| *b == body)?;
        let q = part(&table.q, row * bodies.len() + column, G::COORDS).filter(|q| q.iter().all(|x| x.is_finite()))?;
        Some(Pose::<G> { position: G::Lin::from_slice(q), rotation: G::read_rotation(&q[G::DIM..])? })
    };
    let mut state = start.world.state().clone();
    for &body in &moves {
        let pose = whole(row, body)?;
        let column = bodies.iter().position(|b| *b == body)?;
        let seen = part(&table.v, row * bodies.len() + column, G::DOF).filter(|v| v.iter().all(|x| x.is_finite()));
        let (before, after) = (row.saturating_sub(1), row + 1);
        state.twists[body] = match (seen, whole(before, body), whole(after, body)) {
            (Some(v), ..) => Twist { lin: G::Lin::from_slice(v), ang: G::Ang::from_slice(&v[G::DIM..]) },
            (None, Some(last), Some(next)) => {
                let time = table.time[after] - table.time[before];
                let turn = G::log(G::compose(next.rotation, G::inverse(last.rotation)));
                // The mean velocity of an interval is that at its middle.
                let late = 0.5 * (table.time[after] + table.time[before]) - table.time[row];
                let lin = (next.position - last.position) * (1.0 / time) - model.gravity * late;
                Twist { lin, ang: turn * (1.0 / time) }
            }
            _ if row == 0 => state.twists[body],
            _ => return None,
        };
        state.poses[body] = pose;
    }
    if moves.is_empty() {
        return None;
    }
    state.time = start.world.state().time;
    if model.joints.is_empty() {
        return Some(state);
    }
    let mut world = start.world.copy();
    world.set_state(state.clone()).ok()?;
    let names = world.joint_names();
    let (q, v) = (world.joint_q(), world.joint_v());
    let named = |x: &[f64]| names.iter().map(String::as_str).zip(x.iter().copied()).collect::<Vec<_>>();
    let mut placed: World<G> = start.world.copy();
    placed.set_joints(&named(&q), &named(&v)).ok()?;
    Some(placed.state().clone())
}

fn from_joints<G: Geometry>(table: &Table, row: usize, start: &Start<G>, joints: &[usize]) -> Option<State<G>> {
    let names = start.world.joint_names();
    if joints.len() < names.len() {
        return None;
    }
    let read = |x: &[f64], row: usize| part(x, row, joints.len()).filter(|x| x.iter().all(|x| x.is_finite())).map(<[f64]>::to_vec);
    let q = read(&table.joint_q, row)?;
    let v = read(&table.joint_v, row).or_else(|| {
        let (before, after) = (row.saturating_sub(1), row + 1);
        let (last, next) = (read(&table.joint_q, before)?, read(&table.joint_q, after)?);
        let time = table.time[after] - table.time[before];
        Some(next.iter().zip(&last).map(|(b, a)| (b - a) / time).collect())
    })?;
    let named = |x: &[f64]| joints.iter().zip(x).map(|(j, x)| (names[*j].as_str(), *x)).collect::<Vec<_>>();
    let mut world = start.world.copy();
    world.set_joints(&named(&q), &named(&v)).ok()?;
    Some(world.state().clone())
}
