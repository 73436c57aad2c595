//! A rollout of the plane or of space behind one face.

use crate::engine::{Fault, Jacobians, write_poses, write_twists};
use carom_dynamics::gradient::{
    Cotangents, Gradient, GradientError, Linearised, NameError, Names, Pair, Push, Quantity, Rollout, Weak, Wrt,
};
use carom_dynamics::{Interrupt, StepReport};
use carom_geometry::Geometry;
use carom_math::Vector;
use carom_render::mesh::{Mesh, meshes, room};
use carom_render::{Draw, Kind, Options as Picture, RenderError, Theme, film::Film, render_states};
use carom_web::{About, Recorder};
use std::io::Write;

/// A rollout.
pub trait Run: Send + Sync {
    /// Appends the poses of all states.
    fn write_q(&self, out: &mut Vec<f64>);
    /// Appends the velocities of all states.
    fn write_v(&self, out: &mut Vec<f64>);
    /// Times of all states [s].
    fn times(&self) -> Vec<f64>;
    /// How each step went.
    fn reports(&self) -> &[StepReport];
    /// What started wrong, in words.
    fn notes(&self) -> Vec<String>;
    /// Energy of all states [J].
    fn energy(&self) -> &[f64];
    /// A page that replays it.
    fn replay(&self) -> String;
    /// Draws it; `go_on` is asked before every frame.
    fn film(&self, kind: Kind, options: &Picture, out: &mut dyn Write, go_on: &mut dyn FnMut() -> bool) -> Result<(), RenderError>;
    /// The bodies as triangles, in order.
    fn meshes(&self, theme: Theme) -> Result<Vec<Mesh>, RenderError>;
    /// Forces of contacts of pairs in every step [N]: steps x pairs x dimension.
    fn forces(&self, pairs: &[Pair], interrupt: &Interrupt) -> Result<Vec<f64>, GradientError>;
    /// The adjoint, by all or by states and controls; of forces of contacts too, in the order of [`Run::forces`].
    fn backward(
        &self,
        cotangents: &Cotangents,
        forces: (&[Pair], &[f64]),
        wrt: Wrt,
        weak: Weak,
        interrupt: &Interrupt,
    ) -> Result<Gradient, GradientError>;
    /// The Jacobians of one of its steps.
    fn jacobian(&self, step: usize, wrt: &[String], weak: Weak, interrupt: &Interrupt) -> Result<Jacobians, Fault>;
    /// The derivative of one of its steps in joint coordinates.
    fn linearise(&self, step: usize, weak: Weak, interrupt: &Interrupt) -> Result<Linearised, Fault>;
    /// Names of the parameters.
    fn keys(&self) -> Vec<String>;
    /// The gradient with respect to a named parameter, from that by the flat ones.
    fn named(&self, key: &str, parameters: &[f64]) -> Result<(Vec<usize>, Vec<f64>), NameError>;
}

pub(crate) struct Ran<G: Geometry> {
    pub rollout: Rollout<G>,
    pub names: Names<G>,
    pub name: String,
}

/// The Jacobians of a step of a rollout by name.
pub(crate) fn jacobian_of<G: Geometry>(
    rollout: &Rollout<G>,
    step: usize,
    names: &Names<G>,
    wrt: &[String],
    weak: Weak,
    interrupt: &Interrupt,
) -> Result<Jacobians, Fault> {
    let (model, layout) = (rollout.end().model(), rollout.layout());
    let states = ["q", "v", "controls"];
    let quantities: Vec<Option<Quantity>> = wrt
        .iter()
        .map(|key| if states.contains(&key.as_str()) { Ok(None) } else { names.get(model, layout, key).map(Some) })
        .collect::<Result<_, _>>()
        .map_err(Fault::Name)?;
    let held = quantities.iter().all(Option::is_none);
    let chosen = if held { Wrt::StatesAndControls } else { Wrt::Everything };
    let all = rollout.jacobian(step, chosen, weak, interrupt).map_err(Fault::Gradient)?;
    let found = wrt.iter().zip(&quantities).map(|(key, quantity)| match (key.as_str(), quantity) {
        (_, Some(quantity)) => {
            let rows = all.parameters.chunks_exact(layout.len.max(1));
            (quantity.len(), rows.flat_map(|row| quantity.gradient(row)).collect())
        }
        ("controls", _) => (model.control_count(), all.controls.clone()),
        ("q", _) => (model.bodies.len() * G::DOF, all.poses.clone()),
        _ => (model.bodies.len() * G::DOF, all.twists.clone()),
    });
    Ok(Jacobians { found: found.collect(), switches: all.switches })
}

impl<G: Draw> Run for Ran<G> {
    fn write_q(&self, out: &mut Vec<f64>) {
        self.rollout.states.iter().for_each(|state| write_poses(state, out));
    }
    fn write_v(&self, out: &mut Vec<f64>) {
        self.rollout.states.iter().for_each(|state| write_twists(state, out));
    }
    fn times(&self) -> Vec<f64> {
        self.rollout.states.iter().map(|state| state.time).collect()
    }
    fn reports(&self) -> &[StepReport] {
        &self.rollout.reports
    }
    fn notes(&self) -> Vec<String> {
        self.rollout.end().notes()
    }
    fn energy(&self) -> &[f64] {
        &self.rollout.energy
    }
    fn replay(&self) -> String {
        let about = About { name: &self.name, ..About::default() };
        Recorder::of_states(self.rollout.end(), &about, &self.rollout.states, &self.rollout.energy).html()
    }
    fn film(&self, kind: Kind, options: &Picture, out: &mut dyn Write, go_on: &mut dyn FnMut() -> bool) -> Result<(), RenderError> {
        let run = (&self.rollout.states[..], self.name.as_str());
        render_states(run, self.rollout.end().model(), kind, options, out, &mut |_, _| go_on()).map(|_| ())
    }
    fn meshes(&self, theme: Theme) -> Result<Vec<Mesh>, RenderError> {
        let model = self.rollout.end().model();
        Ok(meshes(model, &room(&Film::of_states(&self.rollout.states, model)?)?, theme))
    }
    fn forces(&self, pairs: &[Pair], interrupt: &Interrupt) -> Result<Vec<f64>, GradientError> {
        let per_second = 1.0 / self.rollout.end().model().step;
        let found = self.rollout.contact_impulses(pairs, interrupt)?;
        Ok(found.iter().flatten().flat_map(|impulse| (*impulse * per_second).as_slice().to_vec()).collect())
    }
    fn backward(
        &self,
        cotangents: &Cotangents,
        (pairs, bar): (&[Pair], &[f64]),
        wrt: Wrt,
        weak: Weak,
        interrupt: &Interrupt,
    ) -> Result<Gradient, GradientError> {
        let step = self.rollout.end().model().step;
        let mut pushes = Vec::new();
        for (place, values) in bar.chunks_exact(G::DIM).enumerate().filter(|(_, values)| values.iter().any(|x| *x != 0.0)) {
            let mut push = Push { step: place / pairs.len(), pair: pairs[place % pairs.len()], bar: [0.0; 3] };
            push.bar.iter_mut().zip(values).for_each(|(bar, x)| *bar = x / step);
            pushes.push(push);
        }
        let mut gradient = self.rollout.backward_forces(cotangents, &pushes, (wrt, weak), interrupt)?;
        if !pushes.is_empty() && wrt == Wrt::Everything {
            // A force is an impulse over the step.
            let forces = self.forces(pairs, interrupt)?;
            let by_step: f64 = forces.iter().zip(bar).map(|(force, bar)| force * bar).sum();
            gradient.parameters[self.rollout.layout().step] -= by_step / step;
        }
        Ok(gradient)
    }
    fn jacobian(&self, step: usize, wrt: &[String], weak: Weak, interrupt: &Interrupt) -> Result<Jacobians, Fault> {
        jacobian_of(&self.rollout, step, &self.names, wrt, weak, interrupt)
    }
    fn linearise(&self, step: usize, weak: Weak, interrupt: &Interrupt) -> Result<Linearised, Fault> {
        self.rollout.linearise(step, weak, interrupt).map_err(Fault::Gradient)
    }
    fn keys(&self) -> Vec<String> {
        self.names.keys(self.rollout.end().model())
    }
    fn named(&self, key: &str, parameters: &[f64]) -> Result<(Vec<usize>, Vec<f64>), NameError> {
        let quantity = self.names.get(self.rollout.end().model(), self.rollout.layout(), key)?;
        let gradient = quantity.gradient(parameters);
        Ok((quantity.shape, gradient))
    }
}
