//! Mass matrix, bias, forward and inverse dynamics in joint coordinates, theory (20.9)-(20.12); contacts are in `holding`.

use super::kinematics::joint_poses;
use super::tangent::TangentMap;
use super::tree::Tree;
use crate::constraints::JointKind;
use crate::error::{ModelError, StepError};
use crate::island::{Context, Island};
use crate::model::BodyKind;
use crate::predict::{Instant, loads, soft_spring};
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Twist, Wrench};
use nalgebra::{Cholesky, DMatrix, DVector, Dyn, SymmetricEigen};

/// Eigenvalues of the rows' own matrix below this part of the largest are those of redundant rows.
const REDUNDANT: f64 = 1e-11;

/// What contacts do in forward and inverse dynamics: those that pushed in the last step and do not part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contacts {
    /// They push as far as they have to, within the cones of friction.
    #[default]
    Hold,
    /// They do nothing.
    Ignore,
}

/// A mechanism at a state: what all the algorithms need.
pub(super) struct Moment<'w, G: Geometry> {
    pub world: &'w World<G>,
    pub tree: Tree,
    pub map: TangentMap<G>,
    pub rates: Vec<f64>,
    /// Twists of the rates.
    pub twists: Vec<Twist<G>>,
}

/// Loads at the present state and nothing else; the rows of joints and contacts are not asked for.
fn load_alone<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    island.refresh_inertia();
    // Motors are counted apart.
    island.links.joints.iter_mut().for_each(|joint| joint.slow_pull = false);
    island.links.tendons.iter_mut().for_each(|tendon| tendon.stiff = false);
    loads(island, ctx, Instant::Start, ctx.time);
    Ok(())
}

impl<'w, G: Geometry> Moment<'w, G> {
    pub fn new(world: &'w World<G>) -> Self {
        let (model, state) = (world.model(), world.state());
        let tree = Tree::new(model);
        let map = TangentMap::new(&tree, model, &state.poses);
        let rates = tree.rates(model, &state.poses, &state.twists);
        let mut twists = state.twists.clone();
        tree.drive(model, &state.poses, &rates, &vec![true; model.bodies.len()], &mut twists);
        Moment { world, tree, map, rates, twists }
    }

    /// T' M T, theory (20.9).
    pub fn mass_matrix(&self) -> DMatrix<f64> {
        let (model, poses) = (self.world.model(), &self.world.state().poses);
        let mut out = DMatrix::zeros(self.tree.len(), self.tree.len());
        for &body in &self.tree.order {
            let (inertia, mass) = (G::inertia_world(model.bodies[body].inertia, poses[body].rotation), model.bodies[body].mass);
            let columns = self.map.columns(body);
            for (k, (i, twist)) in columns.iter().enumerate() {
                let momentum = Wrench { lin: twist.lin * mass, ang: G::inertia_apply(inertia, twist.ang) };
                for (j, other) in &columns[..=k] {
                    let entry = momentum.power(other);
                    out[(*i, *j)] += entry;
                    if i != j {
                        out[(*j, *i)] += entry;
                    }
                }
            }
        }
        // A rotor turns with its coordinate, or with what the coordinates make of it in a joint that closes a loop, theory (21.1).
        for (index, joint) in model.joints.iter().enumerate().filter(|(_, joint)| joint.has_rotor()) {
            if let Some(first) = self.tree.joint_coordinate(index) {
                out[(first, first)] += joint.armature;
                continue;
            }
            let row = DVector::from_vec(self.coordinate_row(index));
            out += &row * row.transpose() * joint.armature;
        }
        out
    }

    /// How the free coordinate of a joint changes with the coordinates of the tree.
    fn coordinate_row(&self, index: usize) -> Vec<f64> {
        let (model, poses) = (self.world.model(), &self.world.state().poses);
        let [a, b] = joint_poses(model, index, poses);
        let row = model.joints[index].coordinate_row(&a, &b);
        let mut out = vec![0.0; self.tree.len()];
        for (body, block) in model.joints[index].bodies.into_iter().zip([row.a, row.b]) {
            body.iter().for_each(|&body| self.map.pull_back(body, &block, 1.0, &mut out));
        }
        out
    }

    /// The forces of loads on bodies: gravity, springs, dampers, forces of the scene and from outside, controls.
    fn loads(&self, controls: &[f64]) -> Result<Vec<Wrench<G>>, StepError> {
        let (model, state) = (self.world.model(), self.world.state());
        let mut copy = self.world.copy();
        copy.outside.pushes.clone_from(&self.world.outside.pushes);
        copy.sweep();
        let used = copy.advance_islands(controls, load_alone)?;
        let mut out = vec![Wrench::zero(); model.bodies.len()];
        for island in &copy.islands.list[..used] {
            for (body, load) in island.members.bodies.iter().zip(&island.loading.loads).filter(|(body, _)| body.dynamic) {
                out[body.index] = load.total;
            }
        }
        // Springs that a step takes as rows are forces all the same.
        let mass = |body: Option<usize>| {
            body.filter(|&body| model.bodies[body].kind == BodyKind::Dynamic).map_or(f64::INFINITY, |body| model.bodies[body].mass)
        };
        for (index, joint) in model.joints.iter().enumerate().filter(|(_, joint)| joint.kind == JointKind::Spring) {
            let least = mass(joint.bodies[0]).min(mass(joint.bodies[1]));
            let [a, b] = joint_poses(model, index, &state.poses);
            let Some(spring) = joint.spring(&a, &b).filter(|spring| soft_spring(model.step, [spring.stiffness, spring.damping], least))
            else {
                continue;
            };
            let [twist_a, twist_b] = super::kinematics::joint_twists(model, index, &self.twists);
            let force = spring.force(spring.row.speed(&twist_a, &twist_b));
            for (body, block) in joint.bodies.into_iter().zip([spring.row.a, spring.row.b]) {
                if let Some(body) = body {
                    out[body] = out[body].plus(force, block);
                }
            }
        }
        Ok(out)
    }

    /// Adds what motors that aim at positions do, T' of their forces, theory (20.10).
    fn add_servos(&self, controls: &[f64], out: &mut [f64]) {
        let (model, poses) = (self.world.model(), &self.world.state().poses);
        let mut control = 0;
        for (index, joint) in model.joints.iter().enumerate() {
            // A motor without a spring holds a rate as rows do, or is a load.
            let asked = if joint.is_controlled() { controls.get(control).copied().unwrap_or(0.0) } else { 0.0 };
            control += usize::from(joint.is_controlled());
            let Some((motor, pull)) = joint.motor.and_then(|motor| Some((motor, motor.pull(asked)?))) else { continue };
            let max = motor.row_max().unwrap_or(f64::INFINITY);
            let [a, b] = joint_poses(model, index, poses);
            let [twist_a, twist_b] = super::kinematics::joint_twists(model, index, &self.twists);
            let row = joint.coordinate_row(&a, &b);
            let rate = row.speed(&twist_a, &twist_b);
            let way = pull.position - joint.coordinate_near(pull.position, &a, &b);
            let force = (pull.stiffness * way + pull.damping * (pull.rate - rate)).clamp(-max, max);
            for (body, block) in joint.bodies.into_iter().zip([row.a, row.b]) {
                body.iter().for_each(|&body| self.map.pull_back(body, &block, force, out));
            }
        }
    }

    /// T'(M dT/dt rates + gyroscopic - loads), theory (20.9).
    pub fn bias(&self, controls: &[f64]) -> Result<Vec<f64>, ModelError> {
        let (model, poses) = (self.world.model(), &self.world.state().poses);
        let loads = self.loads(controls).map_err(refused)?;
        let curved = self.curved();
        let mut out = vec![0.0; self.tree.len()];
        for &body in &self.tree.order {
            let inertia = G::inertia_world(model.bodies[body].inertia, poses[body].rotation);
            let needed = Wrench {
                lin: curved[body].lin * model.bodies[body].mass - loads[body].lin,
                ang: G::inertia_apply(inertia, curved[body].ang) + G::gyroscopic(inertia, self.twists[body].ang) - loads[body].ang,
            };
            self.map.pull_back(body, &needed, 1.0, &mut out);
        }
        Ok(out)
    }

    pub(super) fn curved(&self) -> Vec<Twist<G>> {
        self.tree.curved(self.world.model(), &self.world.state().poses, &self.twists, &self.rates)
    }

    /// Accelerations under loads, motors that aim at positions and forces on the coordinates, with loops closed, theory (20.11), and contacts that hold, (20.19).
    pub fn forward(&self, controls: &[f64], force: &[f64], contacts: Contacts) -> Result<Vec<f64>, ModelError> {
        let mut free: Vec<f64> = self.bias(controls)?.into_iter().zip(force).map(|(bias, force)| force - bias).collect();
        self.add_servos(controls, &mut free);
        let loops = Loops::new(self)?;
        let mut acceleration = loops.mass.solve(&DVector::from_vec(free));
        loops.close(&mut acceleration, true);
        if contacts == Contacts::Hold {
            self.push_off(&loops, &mut acceleration)?;
        }
        Ok(acceleration.as_slice().to_vec())
    }

    /// The forces on the coordinates that make accelerations, theory (20.12).
    pub fn inverse(&self, acceleration: &[f64], contacts: Contacts) -> Result<Vec<f64>, ModelError> {
        let idle = vec![0.0; self.world.model().control_count()];
        let mut servos = vec![0.0; self.tree.len()];
        self.add_servos(&idle, &mut servos);
        let product = self.mass_matrix() * DVector::from_column_slice(acceleration);
        let bias = self.bias(&idle)?;
        let mut out: Vec<f64> = (0..self.tree.len()).map(|i| product[i] + bias[i] - servos[i]).collect();
        if contacts == Contacts::Hold {
            self.lean_on_contacts(&mut out);
        }
        Ok(out)
    }
}

/// The factored mass matrix, and what closes loops.
pub(super) struct Loops {
    /// The mass matrix.
    pub mass: Cholesky<f64, Dyn>,
    matrix: DMatrix<f64>,
    /// What loops open by while the rates stay.
    opening: DVector<f64>,
    answers: DMatrix<f64>,
    scale: DVector<f64>,
    eigen: Option<SymmetricEigen<f64, Dyn>>,
}

impl Loops {
    fn new<G: Geometry>(moment: &Moment<G>) -> Result<Self, ModelError> {
        let (model, poses) = (moment.world.model(), &moment.world.state().poses);
        let Some(mass) = Cholesky::new(moment.mass_matrix()) else {
            return Err(ModelError::new("mass matrix", "", "is not positive definite: a body that may turn has no inertia"));
        };
        let matrix = moment.tree.loop_jacobian(model, poses, &moment.map);
        let opening = DVector::from_vec(moment.tree.loop_curved(model, poses, &moment.twists, &moment.curved()));
        let answers = mass.solve(&matrix.transpose());
        let mut gram = &matrix * &answers;
        // Rows of lengths and of angles are made alike before any is called redundant.
        let scale: DVector<f64> = gram.diagonal().map(|d| if d > 0.0 { 1.0 / d.sqrt() } else { 0.0 });
        for i in 0..gram.nrows() {
            for j in 0..gram.ncols() {
                gram[(i, j)] *= scale[i] * scale[j];
            }
        }
        let eigen = (gram.nrows() > 0).then(|| SymmetricEigen::new(gram));
        Ok(Loops { mass, matrix, opening, answers, scale, eigen })
    }

    /// Takes from accelerations what would open loops; `moving` counts what the rates open them by.
    pub fn close(&self, acceleration: &mut DVector<f64>, moving: bool) {
        let Some(eigen) = &self.eigen else { return };
        let largest = eigen.eigenvalues.max();
        // Once for the answer, once for its rounding.
        for _ in 0..2 {
            let mut open = &self.matrix * &*acceleration;
            if moving {
                open += &self.opening;
            }
            let mut impulse = eigen.eigenvectors.tr_mul(&open.component_mul(&self.scale));
            for (x, value) in impulse.iter_mut().zip(eigen.eigenvalues.iter()) {
                *x = if *value > REDUNDANT * largest { *x / value } else { 0.0 };
            }
            *acceleration -= &self.answers * (&eigen.eigenvectors * impulse).component_mul(&self.scale);
        }
    }
}

/// Loads cannot fail but by controls.
fn refused(error: StepError) -> ModelError {
    ModelError::new("controls", "", error.to_string())
}
