//! A run of steps that can be differentiated: states, and a tape of what each step decided, or checkpoints to record it again, theory (17.43).

mod error;
mod forces;

pub use error::GradientError;
pub use forces::Push;

use super::step::{StepRecord, Wrt, differentiate};
use super::workbench::Workbench;
use crate::error::{Cause, StepError};
use crate::gradient::named::parameters::Parameters;
use crate::gradient::schedule::stage::Switches;
use crate::gradient::system::weak::Weak;
use crate::options::{FrictionCone, Stabilisation, TimeOfImpact};
use crate::state::State;
use crate::world::{Remembered, StepReport, World};
use carom_geometry::Geometry;
use carom_solve::interrupt::Interrupt;

/// What a rollout keeps for its derivative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tape {
    /// Nothing: the rollout has no derivative.
    Off,
    /// Every step: fastest backwards.
    #[default]
    Full,
    /// The whole state every so many steps; what lies between is stepped again, one segment at a time. The gradient is the same to the bit.
    Every(usize),
    /// The same with segments as long as there are many of them: memory grows with the root of the number of steps.
    Sparse,
}

impl Tape {
    /// Steps between checkpoints of a run, if it keeps any.
    fn interval(self, steps: usize) -> Option<usize> {
        match self {
            Tape::Off | Tape::Full => None,
            Tape::Every(interval) => Some(interval.max(1)),
            Tape::Sparse => Some((steps as f64).sqrt().ceil().max(1.0) as usize),
        }
    }
}

/// States of a run and what its derivative needs.
#[derive(Debug)]
pub struct Rollout<G: Geometry> {
    /// States 0 to T.
    pub states: Vec<State<G>>,
    /// Kinetic, potential and elastic energy at each of them, summed \[J\].
    pub energy: Vec<f64>,
    /// How each of the T steps went.
    pub reports: Vec<StepReport>,
    controls: Vec<f64>,
    control_count: usize,
    tape: Tape,
    records: Vec<StepRecord<G>>,
    checkpoints: Vec<Remembered<G>>,
    layout: Parameters,
    world: World<G>,
}

/// Cotangents of the states of a rollout, or of its last state alone.
#[derive(Clone, Debug, Default)]
pub struct Cotangents {
    /// Of the poses, as tangents in the order of velocities: (T + 1) n DOF numbers, or n DOF of the last state; empty is zero.
    pub poses: Vec<f64>,
    /// Of the velocities, likewise.
    pub twists: Vec<f64>,
}

/// The gradient of a loss with respect to everything a rollout depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// By the initial poses, as tangents in the order of velocities: n DOF.
    pub poses: Vec<f64>,
    /// By the initial velocities: n DOF.
    pub twists: Vec<f64>,
    /// By the controls: T x controls.
    pub controls: Vec<f64>,
    /// By the parameters, in the order of [`Parameters`].
    pub parameters: Vec<f64>,
    /// What each step's derivative is worth.
    pub switches: Vec<Switches>,
    /// What it is at rows that stand at a switch.
    pub weak: Weak,
    /// Contacts, limits and ropes that touch where the run starts and push: by what moves their gaps (poses, sizes, placements, lengths) the gradient is
    /// that of the side on which they open, since an overlap at the start is left as it is; by all else it is not touched by this.
    pub touching: usize,
}

impl Gradient {
    /// Whether it is the derivative of the run itself, exact on both sides.
    pub fn is_exact(&self) -> bool {
        self.switches.iter().all(Switches::is_exact)
    }

    /// All flags of all steps together.
    pub fn total(&self) -> Switches {
        let mut total = Switches::default();
        self.switches.iter().for_each(|step| total.merge(step));
        total
    }
}

/// A direction in which a rollout is differentiated; empty parts are zero.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// Of the initial poses, as tangents in the order of velocities: n DOF.
    pub poses: Vec<f64>,
    /// Of the initial velocities: n DOF.
    pub twists: Vec<f64>,
    /// Of the controls: T x controls.
    pub controls: Vec<f64>,
    /// Of the parameters.
    pub parameters: Vec<f64>,
}

/// Numbers of a run above which the memory is asked first whether they fit: below, asking would cost more than it saves.
const MANY_NUMBERS: usize = 1 << 20;

impl<G: Geometry> World<G> {
    /// Takes steps from the present state without moving this world; `controls` holds steps x controls numbers, or none.
    pub fn rollout(&self, steps: usize, controls: &[f64], tape: Tape) -> Result<Rollout<G>, StepError> {
        self.rollout_unless(steps, controls, tape, &Interrupt::NEVER)
    }

    /// The same, given up with [`Cause::Stopped`] as soon as the token is raised.
    #[inline(never)]
    pub fn rollout_unless(&self, steps: usize, controls: &[f64], tape: Tape, interrupt: &Interrupt) -> Result<Rollout<G>, StepError> {
        let ended = |cause| StepError::unfinished(cause, self.state().time);
        let count = self.model().control_count();
        let numbers = steps.saturating_add(1).saturating_mul(self.model().bodies.len() * (G::COORDS + G::DOF) + count + 1);
        if numbers > MANY_NUMBERS && Vec::<f64>::new().try_reserve_exact(numbers).is_err() {
            return Err(ended(Cause::TooManySteps { steps }));
        }
        let idle = vec![0.0; if controls.is_empty() { steps * count } else { 0 }];
        let controls = if controls.is_empty() { &idle[..] } else { controls };
        if controls.len() != steps * count {
            return Err(StepError::wrong_length("controls", controls.len(), steps * count, self.state().time));
        }
        let mut world = self.copy();
        world.exchange_islands(self.scratch_pool.take());
        world.heed(interrupt);
        let (mut states, mut energy) = (Vec::with_capacity(steps + 1), Vec::with_capacity(steps + 1));
        let (mut reports, mut checkpoints) = (Vec::with_capacity(steps), Vec::new());
        let mut records = Vec::with_capacity(if tape == Tape::Full { steps } else { 0 });
        states.push(world.state().clone());
        energy.push(total_energy(&world));
        let interval = tape.interval(steps);
        for step in 0..steps {
            let now = &controls[step * count..(step + 1) * count];
            if interval.is_some_and(|interval| step % interval == 0) {
                checkpoints.push(world.remembered());
            }
            let report = if tape == Tape::Full {
                let (report, record) = world.step_recorded(now)?;
                records.push(record);
                report
            } else {
                world.step_with(now)?
            };
            reports.push(report);
            states.push(world.state().clone());
            energy.push(total_energy(&world));
        }
        self.scratch_pool.put(world.exchange_islands(Vec::new()));
        world.heed(&Interrupt::NEVER);
        let (controls, layout) = (controls.to_vec(), Parameters::of(self.model()));
        Ok(Rollout { states, energy, reports, controls, control_count: count, tape, records, checkpoints, layout, world })
    }
}

fn total_energy<G: Geometry>(world: &World<G>) -> f64 {
    let (kinetic, potential, elastic) = world.energies();
    kinetic + potential + elastic
}

/// The mean of two lists.
pub(crate) fn mean(list: &mut [f64], other: &[f64]) {
    list.iter_mut().zip(other).for_each(|(a, b)| *a = (*a + b) / 2.0);
}

/// Checks an array that may be empty.
fn check(what: &'static str, values: &[f64], allowed: &[usize]) -> Result<(), GradientError> {
    if !values.is_empty() && !allowed.contains(&values.len()) {
        return Err(GradientError::Length { what, found: values.len(), wanted: allowed[0] });
    }
    if values.iter().all(|x| x.is_finite()) { Ok(()) } else { Err(GradientError::NotFinite { what }) }
}

impl<G: Geometry> Rollout<G> {
    /// Number of steps T.
    pub fn steps(&self) -> usize {
        self.reports.len()
    }

    /// The layout of the parameters.
    pub fn layout(&self) -> &Parameters {
        &self.layout
    }

    /// The world after the last step.
    pub fn end(&self) -> &World<G> {
        &self.world
    }

    /// Whether another rollout with a full tape took the same decisions in every step.
    pub fn same_decisions(&self, other: &Self) -> bool {
        self.records.len() == other.records.len() && self.records.iter().zip(&other.records).all(|(a, b)| a.same_decisions(b))
    }

    /// Bytes that the tape holds.
    pub fn tape_bytes(&self) -> usize {
        let checkpoints: usize = self.checkpoints.iter().map(Remembered::bytes).sum();
        checkpoints + self.records.iter().map(StepRecord::bytes).sum::<usize>()
    }

    /// What a step left behind, on a full tape.
    pub(crate) fn record(&self, step: usize) -> Option<&StepRecord<G>> {
        self.records.get(step)
    }

    fn size(&self) -> usize {
        self.world.model().bodies.len() * G::DOF
    }

    /// Whether a choice at switches makes sense for this run.
    pub(crate) fn check_weak(&self, weak: Weak) -> Result<(), GradientError> {
        let options = &self.world.model().options;
        if options.stabilisation != Stabilisation::Position {
            let value = options.stabilisation.name();
            return Err(GradientError::Choice { key: "stabilisation", value, instead: "\"position\"" });
        }
        if options.time_of_impact == TimeOfImpact::HalvingLiteral {
            return Err(GradientError::Choice { key: "time_of_impact", value: "halving-literal", instead: "\"halving\" or \"event\"" });
        }
        if let Weak::Smoothed { kappa } = weak
            && !(kappa > 0.0 && kappa.is_finite())
        {
            return Err(GradientError::Kappa(kappa));
        }
        if weak != Weak::AsSolved && options.scheme().by_means() {
            let instead = "\"verlet\" or \"euler\" for a choice at switches";
            return Err(GradientError::Choice { key: "integrator", value: "energy-momentum", instead });
        }
        if weak != Weak::AsSolved && matches!(options.friction_cone, FrictionCone::Polyhedral(_)) && G::TANGENTS > 1 {
            let instead = "\"cone\" for a choice at switches";
            return Err(GradientError::Choice { key: "friction_cone", value: "a number of directions", instead });
        }
        Ok(())
    }

    /// Walks the steps backwards, each with its record; segments between checkpoints are recorded again.
    fn backwards(&self, interrupt: &Interrupt, mut visit: impl FnMut(usize, &StepRecord<G>)) -> Result<(), GradientError> {
        let go_on = || if interrupt.raised() { Err(GradientError::Stopped) } else { Ok(()) };
        match self.tape {
            Tape::Off => return Err(GradientError::NoTape),
            Tape::Full => {
                for (step, record) in self.records.iter().enumerate().rev() {
                    go_on()?;
                    visit(step, record);
                }
            }
            Tape::Every(_) | Tape::Sparse => {
                let interval = self.tape.interval(self.steps()).unwrap_or(1);
                let count = self.control_count;
                let mut world = self.world.copy();
                world.heed(interrupt);
                let mut records = Vec::with_capacity(interval);
                for (segment, start) in self.checkpoints.iter().enumerate().rev() {
                    let first = segment * interval;
                    let last = (first + interval).min(self.steps());
                    world.return_to(&self.states[first], start);
                    records.clear();
                    for step in first..last {
                        go_on()?;
                        let now = &self.controls[step * count..(step + 1) * count];
                        records.push(world.step_recorded(now).map_err(GradientError::of_step)?.1);
                    }
                    for (offset, record) in records.iter().enumerate().rev() {
                        go_on()?;
                        visit(first + offset, record);
                    }
                }
            }
        }
        Ok(())
    }

    /// The adjoint: from cotangents of the states to the gradient.
    pub fn backward(&self, cotangents: &Cotangents) -> Result<Gradient, GradientError> {
        self.backward_by(cotangents, Wrt::Everything, Weak::AsSolved)
    }

    /// The adjoint with respect to a choice; what is held has gradient zero.
    pub fn backward_wrt(&self, cotangents: &Cotangents, wrt: Wrt) -> Result<Gradient, GradientError> {
        self.backward_by(cotangents, wrt, Weak::AsSolved)
    }

    /// The adjoint with respect to a choice, with another choice of what it is at rows that stand at a switch, theory (18.6)-(18.8).
    pub fn backward_by(&self, cotangents: &Cotangents, wrt: Wrt, weak: Weak) -> Result<Gradient, GradientError> {
        self.backward_unless(cotangents, wrt, weak, &Interrupt::NEVER)
    }

    /// The same, given up with [`GradientError::Stopped`] as soon as the token is raised.
    #[inline(never)]
    pub fn backward_unless(&self, cotangents: &Cotangents, wrt: Wrt, weak: Weak, interrupt: &Interrupt) -> Result<Gradient, GradientError> {
        self.backward_sensed(cotangents, &[], wrt, weak, interrupt)
    }

    fn backward_sensed(
        &self,
        cotangents: &Cotangents,
        pushes: &[Push],
        wrt: Wrt,
        weak: Weak,
        interrupt: &Interrupt,
    ) -> Result<Gradient, GradientError> {
        if weak != Weak::Average {
            return self.backward_one(cotangents, pushes, wrt, weak, interrupt);
        }
        let mut gradient = self.backward_one(cotangents, pushes, wrt, Weak::Active, interrupt)?;
        gradient.weak = weak;
        if gradient.total().choices() > 0 {
            let other = self.backward_one(cotangents, pushes, wrt, Weak::Inactive, interrupt)?;
            mean(&mut gradient.poses, &other.poses);
            mean(&mut gradient.twists, &other.twists);
            mean(&mut gradient.controls, &other.controls);
            mean(&mut gradient.parameters, &other.parameters);
        }
        Ok(gradient)
    }

    fn backward_one(
        &self,
        cotangents: &Cotangents,
        pushes: &[Push],
        wrt: Wrt,
        weak: Weak,
        interrupt: &Interrupt,
    ) -> Result<Gradient, GradientError> {
        self.check_weak(weak)?;
        let (size, steps) = (self.size(), self.steps());
        let all = (steps + 1) * size;
        check("cotangents of the poses", &cotangents.poses, &[all, size])?;
        check("cotangents of the velocities", &cotangents.twists, &[all, size])?;
        let mut gradient = Gradient {
            poses: vec![0.0; size],
            twists: vec![0.0; size],
            controls: vec![0.0; steps * self.control_count],
            parameters: vec![0.0; self.layout.len],
            switches: vec![Switches::default(); steps],
            weak,
            touching: 0,
        };
        // Cotangents of a state are added when the walk arrives there.
        let add = |out: &mut [f64], from: &[f64], state: usize| {
            let part = if from.len() == all {
                &from[state * size..(state + 1) * size]
            } else if state == steps {
                from
            } else {
                &[]
            };
            out.iter_mut().zip(part).for_each(|(o, p)| *o += p);
        };
        add(&mut gradient.poses, &cotangents.poses, steps);
        add(&mut gradient.twists, &cotangents.twists, steps);
        let Workbench { mut program, mut x, mut scratch } = Workbench::of(&self.world.scratch_pool);
        // The parameters have the first slots of every program: what the steps add to them stays there.
        x.clear();
        x.resize(self.layout.len, 0.0);
        let walked = self.backwards(interrupt, |step, record| {
            let model = self.world.model();
            forces::ask(&mut program, pushes, step);
            let (ends, switches) = differentiate(&mut program, model, &self.layout, record, (wrt, weak));
            debug_assert_eq!(ends.parameters.range(), 0..self.layout.len, "parameters come first");
            x.truncate(self.layout.len);
            x.resize(program.slots(), 0.0);
            x[ends.poses_after.range()].copy_from_slice(&gradient.poses);
            x[ends.twists_after.range()].copy_from_slice(&gradient.twists);
            program.sensor.iter().for_each(|sensor| x[sensor.out.range()].fill(1.0));
            program.adjoint(model, &mut x, &mut scratch);
            gradient.switches[step] = switches;
            if step == 0 {
                gradient.touching = record.touching();
            }
            gradient.poses.copy_from_slice(&x[ends.poses.range()]);
            gradient.twists.copy_from_slice(&x[ends.twists.range()]);
            let controls = &mut gradient.controls[step * self.control_count..(step + 1) * self.control_count];
            controls.copy_from_slice(&x[ends.controls.range()]);
            add(&mut gradient.poses, &cotangents.poses, step);
            add(&mut gradient.twists, &cotangents.twists, step);
        });
        forces::ask(&mut program, &[], 0);
        program.settle(self.world.model(), &mut x, &mut scratch);
        gradient.parameters.copy_from_slice(&x[..self.layout.len]);
        self.world.scratch_pool.put(Workbench { program, x, scratch });
        walked.map(|()| gradient)
    }

    /// The tangent: from a direction to the tangents of the last state, poses (as tangents) and velocities.
    pub fn forward(&self, direction: &Direction) -> Result<(Vec<f64>, Vec<f64>), GradientError> {
        self.forward_by(direction, Weak::AsSolved)
    }

    /// The tangent with a choice of what it is at rows that stand at a switch.
    #[inline(never)]
    pub fn forward_by(&self, direction: &Direction, weak: Weak) -> Result<(Vec<f64>, Vec<f64>), GradientError> {
        if weak != Weak::Average {
            return self.forward_one(direction, weak);
        }
        let (mut poses, mut twists) = self.forward_one(direction, Weak::Active)?;
        let other = self.forward_one(direction, Weak::Inactive)?;
        mean(&mut poses, &other.0);
        mean(&mut twists, &other.1);
        Ok((poses, twists))
    }

    fn forward_one(&self, direction: &Direction, weak: Weak) -> Result<(Vec<f64>, Vec<f64>), GradientError> {
        self.check_weak(weak)?;
        let size = self.size();
        check("direction of the poses", &direction.poses, &[size])?;
        check("direction of the velocities", &direction.twists, &[size])?;
        check("direction of the controls", &direction.controls, &[self.steps() * self.control_count])?;
        check("direction of the parameters", &direction.parameters, &[self.layout.len])?;
        if self.tape == Tape::Off {
            return Err(GradientError::NoTape);
        }
        let mut poses = vec![0.0; size];
        let mut twists = vec![0.0; size];
        poses.iter_mut().zip(&direction.poses).for_each(|(p, d)| *p = *d);
        twists.iter_mut().zip(&direction.twists).for_each(|(t, d)| *t = *d);
        let Workbench { mut program, mut x, mut scratch } = Workbench::of(&self.world.scratch_pool);
        let count = self.control_count;
        let mut advance = |step: usize, record: &StepRecord<G>| {
            let model = self.world.model();
            let (ends, _) = differentiate(&mut program, model, &self.layout, record, (Wrt::Everything, weak));
            x.clear();
            x.resize(program.slots(), 0.0);
            x[ends.poses.range()].copy_from_slice(&poses);
            x[ends.twists.range()].copy_from_slice(&twists);
            if !direction.controls.is_empty() {
                x[ends.controls.range()].copy_from_slice(&direction.controls[step * count..(step + 1) * count]);
            }
            if !direction.parameters.is_empty() {
                x[ends.parameters.range()].copy_from_slice(&direction.parameters);
            }
            program.tangent(model, &mut x, &mut scratch);
            poses.copy_from_slice(&x[ends.poses_after.range()]);
            twists.copy_from_slice(&x[ends.twists_after.range()]);
        };
        if self.tape == Tape::Full {
            self.records.iter().enumerate().for_each(|(step, record)| advance(step, record));
        } else if let Some(first) = self.checkpoints.first() {
            let mut world = self.world.copy();
            world.return_to(&self.states[0], first);
            for step in 0..self.steps() {
                let now = &self.controls[step * count..(step + 1) * count];
                let (_, record) = world.step_recorded(now).map_err(GradientError::Step)?;
                advance(step, &record);
            }
        }
        self.world.scratch_pool.put(Workbench { program, x, scratch });
        Ok((poses, twists))
    }
}
