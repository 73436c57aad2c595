//! Joint coordinates and the algorithms on them, as arrays; `python/carom` gives them their names.

use crate::arrays::{Flat, array, fixed, flat};
use crate::engine::Held;
use crate::error::{ModelError as Refused, Raise};
use crate::worlds::Worlds;
use carom_dynamics::coordinates::{Contacts, Goal, ReachOptions};
use carom_dynamics::gradient::{NameError, Parameters};
use carom_dynamics::{ModelError, Motor};
use carom_geometry::Geometry;
use carom_math::{Pose, Vector, Wrench};
use nalgebra::DMatrix;
use pyo3::prelude::*;

/// Rows, columns and numbers by rows.
pub type Matrix = (usize, usize, Vec<f64>);

/// A joint in plain words and numbers.
pub struct JointFacts {
    /// The word of its kind.
    pub kind: &'static str,
    /// Names of its bodies; empty is the world.
    pub bodies: [String; 2],
    /// Its first coordinate in the tree and how many it has; `None` where it closes a loop or holds nothing.
    pub first: Option<usize>,
    /// The free coordinate of a joint that is none of the tree's, and its rate.
    pub alone: Option<[f64; 2]>,
    /// Limits.
    pub limits: Option<[f64; 2]>,
    /// Position or rate that a motor aims at.
    pub target: Option<f64>,
}

/// A target: body, point of it, and where and how it is wanted, empty for anywhere and anyhow.
pub type RawGoal = (usize, Vec<f64>, Vec<f64>, Vec<f64>);

/// A reach: coordinates, poses, miss, whether it converged, rounds.
pub type RawReach = (Vec<f64>, Vec<f64>, f64, bool, usize);

/// What a world knows of its joint coordinates.
pub trait Words {
    /// Names of the coordinates.
    fn joint_names(&self) -> Vec<String>;
    /// Coordinates and rates.
    fn joint_state(&self) -> [Vec<f64>; 2];
    /// Sets coordinates and rates by name.
    fn set_joints(&mut self, values: &[(String, f64)], rates: &[(String, f64)]) -> Result<(), ModelError>;
    /// A joint by number.
    fn joint_facts(&self, joint: usize) -> JointFacts;
    /// A matrix by name: `mass`, `loop`, `tangent`.
    fn matrix(&self, name: &str) -> Matrix;
    /// Velocity of a point of a body by rates.
    fn point_jacobian(&self, body: usize, point: &[f64]) -> Result<Matrix, ModelError>;
    /// Forces that keep rates.
    fn bias(&self) -> Result<Vec<f64>, ModelError>;
    /// Accelerations.
    fn forward_dynamics(&self, controls: &[f64], force: &[f64], hold: bool) -> Result<Vec<f64>, ModelError>;
    /// Forces.
    fn inverse_dynamics(&self, acceleration: &[f64], hold: bool) -> Result<Vec<f64>, ModelError>;
    /// Coordinates that bring bodies to targets.
    fn inverse_kinematics(&self, goals: &[RawGoal], options: &ReachOptions) -> Result<RawReach, ModelError>;
    /// What a joint did in the last step: motor, limit, friction, and the reaction on its second body; `None` where the integrator keeps none of it.
    fn joint_effort(&self, joint: usize) -> Option<([f64; 3], Vec<f64>)>;
    /// What motors did in the last step, by coordinate; likewise.
    fn joint_force(&self) -> Option<Vec<f64>>;
    /// The common centre of mass.
    fn centre_of_mass(&self) -> Vec<f64>;
    /// The rows of a parameter that a word means, and the names of all its rows.
    fn rows_called(&self, key: &str, word: &str) -> Result<(Vec<usize>, Vec<String>), NameError>;
    /// Pushes a body over the next step, on top of what pushes it already: force, torque, and a point of the body if not its centre of mass.
    fn apply(&mut self, body: usize, force: &[f64], torque: &[f64], at: Option<&[f64]>) -> Result<(), ModelError>;
}

fn by_rows(matrix: &DMatrix<f64>) -> Matrix {
    (matrix.nrows(), matrix.ncols(), matrix.transpose().as_slice().to_vec())
}

impl<G: Geometry> Words for Held<G> {
    fn joint_names(&self) -> Vec<String> {
        self.world.joint_names()
    }
    fn joint_state(&self) -> [Vec<f64>; 2] {
        [self.world.joint_q(), self.world.joint_v()]
    }
    fn set_joints(&mut self, values: &[(String, f64)], rates: &[(String, f64)]) -> Result<(), ModelError> {
        let values: Vec<(&str, f64)> = values.iter().map(|(name, x)| (&**name, *x)).collect();
        let rates: Vec<(&str, f64)> = rates.iter().map(|(name, x)| (&**name, *x)).collect();
        self.world.set_joints(&values, &rates)
    }
    fn joint_facts(&self, joint: usize) -> JointFacts {
        let (model, state) = (self.world.model(), self.world.state());
        let first = self.world.tree().joint_coordinate(joint);
        let joint = &model.joints[joint];
        let pose = |side: usize| joint.bodies[side].map_or_else(Pose::identity, |body| state.poses[body]);
        let twist = |side: usize| joint.bodies[side].map_or_else(carom_math::Twist::zero, |body| state.twists[body]);
        let alone = (first.is_none() && joint.has_coordinate()).then(|| {
            let (a, b) = (pose(0), pose(1));
            [joint.coordinate(&a, &b), joint.coordinate_row(&a, &b).speed(&twist(0), &twist(1))]
        });
        let target = match joint.motor {
            Some(Motor::Velocity { velocity, .. }) => Some(velocity),
            Some(Motor::Position { position, .. } | Motor::Sprung { position, .. }) => Some(position),
            Some(Motor::Servo { target, control: false, .. }) => Some(target),
            Some(Motor::Control { .. } | Motor::Servo { .. }) | None => None,
        };
        let bodies = joint.bodies.map(|body| body.map_or_else(String::new, |body| model.bodies[body].name.clone()));
        JointFacts { kind: joint.kind.name(), bodies, first, alone, limits: joint.limits, target }
    }
    fn matrix(&self, name: &str) -> Matrix {
        match name {
            "mass" => by_rows(&self.world.mass_matrix()),
            "loop" => by_rows(&self.world.loop_jacobian()),
            _ => by_rows(&self.world.tangent_map().dense()),
        }
    }
    fn point_jacobian(&self, body: usize, point: &[f64]) -> Result<Matrix, ModelError> {
        self.world.point_jacobian(body, G::Lin::from_slice(point)).map(|matrix| by_rows(&matrix))
    }
    fn bias(&self) -> Result<Vec<f64>, ModelError> {
        self.world.bias()
    }
    fn forward_dynamics(&self, controls: &[f64], force: &[f64], hold: bool) -> Result<Vec<f64>, ModelError> {
        self.world.forward_dynamics(controls, force, if hold { Contacts::Hold } else { Contacts::Ignore })
    }
    fn inverse_dynamics(&self, acceleration: &[f64], hold: bool) -> Result<Vec<f64>, ModelError> {
        self.world.inverse_dynamics(acceleration, if hold { Contacts::Hold } else { Contacts::Ignore })
    }
    fn inverse_kinematics(&self, goals: &[RawGoal], options: &ReachOptions) -> Result<RawReach, ModelError> {
        let goal = |(body, point, position, rotation): &RawGoal| {
            let turned = if rotation.is_empty() { None } else { G::read_rotation(rotation) };
            if turned.is_none() && !rotation.is_empty() {
                return Err(ModelError::new("targets", "rotation", "needs a quaternion of length above 0"));
            }
            let position = (!position.is_empty()).then(|| G::Lin::from_slice(position));
            Ok(Goal { body: *body, point: G::Lin::from_slice(point), position, rotation: turned })
        };
        let goals = goals.iter().map(goal).collect::<Result<Vec<_>, _>>()?;
        let reach = self.world.inverse_kinematics(&goals, options)?;
        let mut poses = vec![0.0; reach.poses.len() * G::COORDS];
        for (pose, row) in reach.poses.iter().zip(poses.chunks_exact_mut(G::COORDS)) {
            row[..G::DIM].copy_from_slice(pose.position.as_slice());
            G::write_rotation(pose.rotation, &mut row[G::DIM..]);
        }
        Ok((reach.q, poses, reach.miss, reach.converged, reach.rounds))
    }
    fn joint_effort(&self, joint: usize) -> Option<([f64; 3], Vec<f64>)> {
        let effort = *self.world.joint_efforts()?.get(joint)?;
        let reaction = [effort.reaction.lin.as_slice(), effort.reaction.ang.as_slice()].concat();
        Some(([effort.motor, effort.limit, effort.friction], reaction))
    }
    fn joint_force(&self) -> Option<Vec<f64>> {
        self.world.joint_force()
    }
    fn centre_of_mass(&self) -> Vec<f64> {
        self.world.centre_of_mass().as_slice().to_vec()
    }
    fn rows_called(&self, key: &str, word: &str) -> Result<(Vec<usize>, Vec<String>), NameError> {
        let model = self.world.model();
        let rows = self.names.get(model, &Parameters::of(model), key)?.rows;
        let called = rows.iter().enumerate().filter(|(_, row)| row.is_called(model, word)).map(|(i, _)| i);
        Ok((called.collect(), rows.iter().map(|row| row.label(model)).collect()))
    }
    fn apply(&mut self, body: usize, force: &[f64], torque: &[f64], at: Option<&[f64]>) -> Result<(), ModelError> {
        let (force, torque) = (G::Lin::from_slice(force), G::Ang::from_slice(torque));
        let arm = at.map_or_else(G::Lin::zero, |at| self.world.state().poses[body].direction(G::Lin::from_slice(at)));
        let more = Wrench { lin: force, ang: torque + G::torque(arm, force) };
        self.world.push(body, self.world.pushed(body).plus(1.0, more))
    }
}

fn matrix<'py>(py: Python<'py>, (rows, columns, values): Matrix) -> PyResult<Bound<'py, PyAny>> {
    Ok(array(py, values, &[rows, columns])?.into_any())
}

fn vector<'py>(py: Python<'py>, values: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
    let count = values.len();
    Ok(array(py, values, &[count])?.into_any())
}

/// Names of the coordinates of the first world.
#[pyfunction]
pub fn joint_names(py: Python<'_>, worlds: &Worlds) -> Vec<String> {
    worlds.lock(py)[0].joint_names()
}

/// Its coordinates and their rates, read-only.
#[pyfunction]
pub fn joint_state<'py>(py: Python<'py>, worlds: &Worlds) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let [q, v] = worlds.lock(py)[0].joint_state();
    let shape = [q.len()];
    Ok((fixed(py, q, &shape)?.into_any(), fixed(py, v, &shape)?.into_any()))
}

/// Sets coordinates and rates by name.
#[pyfunction]
pub fn set_joints(py: Python<'_>, worlds: &Worlds, values: Vec<(String, f64)>, rates: Vec<(String, f64)>) -> PyResult<()> {
    py.detach(|| worlds.locked()[0].set_joints(&values, &rates)).map_err(Raise::raise)
}

/// A joint by number: kind, bodies, first coordinate, coordinate and rate of one outside the tree, limits, target.
#[pyfunction]
#[allow(clippy::type_complexity)] // a tuple for Python
pub fn joint_facts(
    py: Python<'_>,
    worlds: &Worlds,
    joint: usize,
) -> (&'static str, [String; 2], Option<usize>, Option<[f64; 2]>, Option<[f64; 2]>, Option<f64>) {
    let JointFacts { kind, bodies, first, alone, limits, target } = worlds.lock(py)[0].joint_facts(joint);
    (kind, bodies, first, alone, limits, target)
}

/// What a joint did in the last step: motor, limit, friction, and the reaction on its second body.
#[pyfunction]
pub fn joint_effort<'py>(py: Python<'py>, worlds: &Worlds, joint: usize) -> PyResult<([f64; 3], Bound<'py, PyAny>)> {
    let found = worlds.lock(py)[0].joint_effort(joint);
    let (forces, reaction) = found.ok_or_else(unkept)?;
    Ok((forces, vector(py, reaction)?))
}

/// What motors did in the last step, by coordinate.
#[pyfunction]
pub fn joint_force<'py>(py: Python<'py>, worlds: &Worlds) -> PyResult<Bound<'py, PyAny>> {
    let found = worlds.lock(py)[0].joint_force();
    vector(py, found.ok_or_else(unkept)?)
}

fn unkept() -> PyErr {
    Refused::new_err("joints: integrator \"energy-momentum\" does not keep the forces of joints")
}

/// `mass`, `loop` or `tangent`.
#[pyfunction]
pub fn joint_matrix<'py>(py: Python<'py>, worlds: &Worlds, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let found = py.detach(|| worlds.locked()[0].matrix(name));
    matrix(py, found)
}

/// The Jacobian of a point of a body.
#[pyfunction]
pub fn point_jacobian<'py>(py: Python<'py>, worlds: &Worlds, body: usize, point: Flat<'_>) -> PyResult<Bound<'py, PyAny>> {
    let found = worlds.lock(py)[0].point_jacobian(body, point.as_slice()?).map_err(Raise::raise)?;
    matrix(py, found)
}

/// The bias of the coordinates.
#[pyfunction]
pub fn joint_bias<'py>(py: Python<'py>, worlds: &Worlds) -> PyResult<Bound<'py, PyAny>> {
    let found = py.detach(|| worlds.locked()[0].bias()).map_err(Raise::raise)?;
    vector(py, found)
}

/// Accelerations under controls and forces.
#[pyfunction]
pub fn forward_dynamics<'py>(
    py: Python<'py>,
    worlds: &Worlds,
    controls: Flat<'_>,
    force: Flat<'_>,
    hold: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (controls, force) = (flat(&controls)?, flat(&force)?);
    let found = py.detach(|| worlds.locked()[0].forward_dynamics(&controls, &force, hold)).map_err(Raise::raise)?;
    vector(py, found)
}

/// Forces that give accelerations.
#[pyfunction]
pub fn inverse_dynamics<'py>(py: Python<'py>, worlds: &Worlds, acceleration: Flat<'_>, hold: bool) -> PyResult<Bound<'py, PyAny>> {
    let acceleration = flat(&acceleration)?;
    let found = py.detach(|| worlds.locked()[0].inverse_dynamics(&acceleration, hold)).map_err(Raise::raise)?;
    vector(py, found)
}

/// Coordinates that bring bodies to targets: coordinates, poses, miss, whether they were reached, rounds.
#[pyfunction]
#[allow(clippy::type_complexity)] // a tuple for Python
pub fn inverse_kinematics<'py>(
    py: Python<'py>,
    worlds: &Worlds,
    goals: Vec<RawGoal>,
    fixed: Vec<usize>,
    limits: bool,
    tolerance: f64,
    rounds: usize,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, f64, bool, usize)> {
    let options = ReachOptions { fixed, limits, tolerance, rounds };
    let (found, shape) = py.detach(|| {
        let worlds = worlds.locked();
        (worlds[0].inverse_kinematics(&goals, &options), [worlds[0].sizes()[0], worlds[0].widths()[0]])
    });
    let (q, poses, miss, converged, rounds) = found.map_err(Raise::raise)?;
    Ok((vector(py, q)?, array(py, poses, &shape)?.into_any(), miss, converged, rounds))
}

/// The rows of a parameter that a word means, and the names of all its rows.
#[pyfunction]
pub fn rows_called(py: Python<'_>, worlds: &Worlds, key: &str, word: &str) -> PyResult<(Vec<usize>, Vec<String>)> {
    worlds.lock(py)[0].rows_called(key, word).map_err(Raise::raise)
}

/// The common centre of mass.
#[pyfunction]
pub fn centre_of_mass<'py>(py: Python<'py>, worlds: &Worlds) -> PyResult<Bound<'py, PyAny>> {
    let found = worlds.lock(py)[0].centre_of_mass();
    vector(py, found)
}

/// Pushes a body over the next step.
#[pyfunction]
#[pyo3(signature = (worlds, body, force, torque, at=None))]
pub fn apply(py: Python<'_>, worlds: &Worlds, body: usize, force: Flat<'_>, torque: Flat<'_>, at: Option<Flat<'_>>) -> PyResult<()> {
    let at = at.as_ref().map(flat).transpose()?;
    let mut worlds = worlds.lock(py);
    if body >= worlds[0].sizes()[0] {
        return Err(Refused::new_err(format!("body: found {body} of {} bodies", worlds[0].sizes()[0])));
    }
    worlds[0].apply(body, force.as_slice()?, torque.as_slice()?, at.as_deref()).map_err(Raise::raise)
}
