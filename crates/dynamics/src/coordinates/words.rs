//! The words of robotics on a world: coordinates by name, and the algorithms on them.

use super::closing::{Closing, Course};
use super::dynamics::{Contacts, Moment};
use super::reach::{Goal, Reach, ReachOptions, Reaching};
use super::tangent::TangentMap;
use super::tree::Tree;
use crate::error::ModelError;
use crate::model::BodyKind;
use crate::spelling::nearest;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::Vector;
use nalgebra::DMatrix;

impl<G: Geometry> World<G> {
    /// The spanning tree of the joints, theory (20.1).
    pub fn tree(&self) -> Tree {
        Tree::new(self.model())
    }

    /// The names of the joint coordinates: `torso.0`, ... of free roots under the name of the body, then those of joints in file order, `name`, or `name.0`,
    /// `name.1`, ... where a joint has several.
    pub fn joint_names(&self) -> Vec<String> {
        self.tree().names(self.model())
    }

    /// The joint coordinates: of a free root position \[m\] and rotation vector \[rad\], of a joint its angle \[rad\] or length \[m\].
    pub fn joint_q(&self) -> Vec<f64> {
        let tree = self.tree();
        let mut out = tree.coordinates(self.model(), &self.state().poses);
        for (joint, turns) in self.state().turns.iter().enumerate().filter(|(_, turns)| **turns != 0) {
            tree.joint_coordinate(joint).into_iter().for_each(|at| out[at] += std::f64::consts::TAU * f64::from(*turns));
        }
        out
    }

    /// Their rates: of a free root its velocity and rate in world axes, of a ball joint the rate of a relative to b in the axes of b.
    pub fn joint_v(&self) -> Vec<f64> {
        self.tree().rates(self.model(), &self.state().poses, &self.state().twists)
    }

    /// The number of a coordinate by name.
    ///
    /// # Errors
    /// A name that no coordinate has; the nearest one is named.
    pub fn joint_index(&self, tree: &Tree, name: &str) -> Result<usize, ModelError> {
        let names = tree.names(self.model());
        if let Some(found) = names.iter().position(|known| known == name) {
            return Ok(found);
        }
        let loops = tree.loop_joints().iter().map(|&joint| &self.model().joints[joint]);
        let several: Vec<&str> =
            names.iter().filter(|known| known.rsplit_once('.').is_some_and(|(stem, _)| stem == name)).map(|x| &**x).collect();
        let message = if !several.is_empty() {
            format!("has several coordinates: {}", several.join(", "))
        } else if loops.into_iter().any(|joint| joint.name == name) {
            "closes a loop: it follows the coordinates of the tree".to_string()
        } else if let Some(near) = nearest(name, &names) {
            format!("no such coordinate; did you mean \"{near}\"?")
        } else {
            let known: Vec<&str> = names.iter().take(12).map(|x| &**x).collect();
            format!("no such coordinate; there are {}{}", known.join(", "), if names.len() > 12 { ", ..." } else { "" })
        };
        Err(ModelError::new("joints", name, message))
    }

    /// Moves joints to coordinates and gives them rates, by name; nothing else is forgotten but what was remembered of contacts.
    ///
    /// Coordinates that are not named stay where they are, unless loops have to be closed: then those of the same mechanism follow by the least change, on
    /// the branch that the mechanism is on. Rates that are not named stay likewise.
    ///
    /// # Errors
    /// An unknown name, a number that is not finite, a loop that cannot be closed or kept closed: the joint and its gap are named, and the world is as it was.
    #[inline(never)]
    pub fn set_joints(&mut self, values: &[(&str, f64)], rates: &[(&str, f64)]) -> Result<(), ModelError> {
        let tree = self.tree();
        let find = |given: &[(&str, f64)]| -> Result<Vec<(usize, f64)>, ModelError> {
            let one = |(name, value): &(&str, f64)| {
                let index = self.joint_index(&tree, name)?;
                if value.is_finite() { Ok((index, *value)) } else { Err(ModelError::new("joints", *name, "needs a finite number")) }
            };
            given.iter().map(one).collect()
        };
        let (values, speeds) = (find(values)?, find(rates)?);
        let mut state = self.state().clone();
        let mut which = vec![false; self.model().bodies.len()];
        values.iter().chain(&speeds).for_each(|(i, _)| which[tree.mechanism_of(self.model(), *i)] = true);
        let mut closing =
            Closing { tree: &tree, model: self.model(), from: &self.state().poses, which: &which, free: vec![true; tree.len()] };
        let mut wanted = tree.rates(self.model(), &state.poses, &state.twists);
        if !values.is_empty() {
            values.iter().for_each(|(i, _)| closing.free[*i] = false);
            let mut course = Course { q: tree.coordinates(self.model(), &state.poses), poses: state.poses.clone() };
            closing.bring(&mut course, &values).map_err(|(row, gap)| {
                let name = tree.loop_name(self.model(), row);
                ModelError::new("joints", "", format!("{name} stays open by {gap:.3e}: no coordinates close the loop with these held"))
            })?;
            state.poses = course.poses;
        }
        closing.free.fill(true);
        for (i, rate) in &speeds {
            wanted[*i] = *rate;
            closing.free[*i] = false;
        }
        closing.keep_closed(&state.poses, &mut wanted, &mut state.twists).map_err(|(row, speed)| {
            let name = tree.loop_name(self.model(), row);
            ModelError::new(
                "rates",
                "",
                format!("{name} would open at {speed:.3e} per second: no rates keep the loop closed with these held"),
            )
        })?;
        self.set_state(state)
    }

    /// The tangent map T from rates of coordinates to twists of bodies, theory (20.4): `dense()` is (bodies DOF, coordinates).
    pub fn tangent_map(&self) -> TangentMap<G> {
        TangentMap::new(&self.tree(), self.model(), &self.state().poses)
    }

    /// The mass matrix of the coordinates, T' M T, theory (20.9).
    #[inline(never)]
    pub fn mass_matrix(&self) -> DMatrix<f64> {
        Moment::new(self).mass_matrix()
    }

    /// What the coordinates need of force to keep their rates: centrifugal, Coriolis and gyroscopic forces less gravity, springs, damping and forces of the
    /// scene, theory (20.9). Motors and controls are not part of it.
    ///
    /// # Errors
    /// None that a checked world has.
    #[inline(never)]
    pub fn bias(&self) -> Result<Vec<f64>, ModelError> {
        Moment::new(self).bias(&vec![0.0; self.model().control_count()])
    }

    /// The accelerations of the coordinates under loads, controls, motors that aim at positions and forces on the coordinates, with loops closed, theory
    /// (20.11). Contacts that hold push, within the cones of friction, (20.19). Limits, dry friction in joints, motors that hold a rate and what is about to
    /// touch are decided by a step and are not part of it.
    ///
    /// # Errors
    /// Controls or forces of another length; a mass matrix that is singular; contacts that no forces hold.
    #[inline(never)]
    pub fn forward_dynamics(&self, controls: &[f64], force: &[f64], contacts: Contacts) -> Result<Vec<f64>, ModelError> {
        let moment = Moment::new(self);
        let check = |what: &str, found: usize, wanted: usize| {
            let message = format!("found {found} numbers, needs {wanted}");
            if found == wanted { Ok(()) } else { Err(ModelError::new(what, "", message)) }
        };
        check("controls", controls.len(), self.model().control_count())?;
        check("force", force.len(), moment.tree.len())?;
        moment.forward(controls, force, contacts)
    }

    /// The forces on the coordinates, beside those of motors that aim at positions, that give them accelerations, theory (20.12): what
    /// [`World::forward_dynamics`] undoes with the same contacts, where they can hold. With contacts that hold, what they can carry of free roots is taken off.
    ///
    /// # Errors
    /// Accelerations of another length.
    #[inline(never)]
    pub fn inverse_dynamics(&self, acceleration: &[f64], contacts: Contacts) -> Result<Vec<f64>, ModelError> {
        let moment = Moment::new(self);
        if acceleration.len() != moment.tree.len() {
            let message = format!("found {} numbers, needs {}", acceleration.len(), moment.tree.len());
            return Err(ModelError::new("acceleration", "", message));
        }
        moment.inverse(acceleration, contacts)
    }

    /// How the rates of the coordinates move a point of a body, body frame, from the centre of mass: (DIM, coordinates).
    ///
    /// # Errors
    /// A body that the model does not have.
    pub fn point_jacobian(&self, body: usize, point: G::Lin) -> Result<DMatrix<f64>, ModelError> {
        let count = self.model().bodies.len();
        if body >= count {
            return Err(ModelError::new("point_jacobian", "body", format!("found {body}, needs one of {count} bodies")));
        }
        let arm = self.state().poses[body].direction(point);
        let map = self.tangent_map();
        let mut out = DMatrix::zeros(G::DIM, map.coordinates);
        for (coordinate, twist) in map.columns(body) {
            out.column_mut(*coordinate).copy_from_slice(twist.at(arm).as_slice());
        }
        Ok(out)
    }

    /// The rows that joints outside the tree, locked axes of bodies that joints carry, and couplings put on the rates: L rates = 0, theory (20.5).
    pub fn loop_jacobian(&self) -> DMatrix<f64> {
        let tree = self.tree();
        let map = TangentMap::new(&tree, self.model(), &self.state().poses);
        tree.loop_jacobian(self.model(), &self.state().poses, &map)
    }

    /// The common centre of mass of all dynamic bodies \[m\]; the origin where there are none.
    pub fn centre_of_mass(&self) -> G::Lin {
        let (mut sum, mut mass) = (G::Lin::zero(), 0.0);
        for (body, pose) in self.model().bodies.iter().zip(&self.state().poses).filter(|(body, _)| body.kind == BodyKind::Dynamic) {
            sum += pose.position * body.mass;
            mass += body.mass;
        }
        if mass > 0.0 { sum * (1.0 / mass) } else { sum }
    }

    /// Coordinates that bring bodies to targets from where they are, within limits and with loops closed, theory (20.13). The world does not move; where the
    /// targets cannot be reached the nearest place that was found is returned, and says so.
    ///
    /// # Errors
    /// A body that no coordinate moves, a target that is not finite, a coordinate that does not exist.
    #[inline(never)]
    pub fn inverse_kinematics(&self, goals: &[Goal<G>], options: &ReachOptions) -> Result<Reach<G>, ModelError> {
        let tree = self.tree();
        let mut which = vec![false; self.model().bodies.len()];
        for goal in goals {
            let Some(body) = self.model().bodies.get(goal.body) else {
                return Err(ModelError::new(
                    "targets",
                    "",
                    format!("found body {}, needs one of {}", goal.body, self.model().bodies.len()),
                ));
            };
            if body.kind != BodyKind::Dynamic {
                return Err(ModelError::new("targets", body.name.clone(), "no coordinate moves this body"));
            }
            if !(goal.point.is_finite() && goal.position.is_none_or(|x| x.is_finite())) {
                return Err(ModelError::new("targets", body.name.clone(), "needs finite numbers"));
            }
            which[tree.mechanism[goal.body]] = true;
        }
        if let Some(out) = options.fixed.iter().find(|&&i| i >= tree.len()) {
            return Err(ModelError::new("fixed", "", format!("found coordinate {out} of {}", tree.len())));
        }
        Ok(Reaching { tree: &tree, model: self.model(), from: &self.state().poses, goals, options }.run(&which))
    }
}
