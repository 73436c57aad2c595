//! What a run came to: counts, worst cases, the ledger; as a table and as JSON.

use crate::print::{columns, count, digits, measure, plural, rough};
use crate::simulate::{Stop, Tally};
use carom::dynamics::World;
use carom::geometry::Geometry;
use serde::Serialize;
use std::time::Duration;

/// A drift, or a line of the ledger, below this fraction of the energies it is made of is their rounding.
const ROUNDING: f64 = 1e-13;

/// The closing summary of a run.
#[derive(Debug, Serialize)]
pub struct Summary {
    ok: bool,
    scene: String,
    dimension: usize,
    bodies: usize,
    joints: usize,
    step: f64,
    /// `finished`, `stopped` or `failed`.
    ending: &'static str,
    error: Option<String>,
    /// Steps taken now, and since the start.
    steps: u64,
    total_steps: u64,
    time: f64,
    wall_time: f64,
    engine_time: f64,
    steps_per_second: f64,
    realtime_factor: f64,
    contacts: Contacts,
    substeps: usize,
    events: usize,
    impacts: usize,
    impact_iterations: usize,
    /// Steps of which a part was stepped.
    stepped_steps: usize,
    solves: usize,
    substitutions: usize,
    factorisations: usize,
    solver_iterations: usize,
    corrections: usize,
    worst_residual: f64,
    worst_joint_error: f64,
    deepest_overlap: f64,
    flags: Vec<&'static str>,
    /// What started wrong, by name, and what putting it right came to.
    start_notes: Vec<String>,
    /// Joints that hold nothing others do not hold already, at the end of the run.
    redundant_joints: Vec<String>,
    ledger: LedgerLines,
    hash: String,
    files: Vec<String>,
    /// The log that a stopped run goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
}

#[derive(Debug, Serialize)]
struct Contacts {
    now: usize,
    most: usize,
}

/// Energy in joule, cumulative since the start of the scene.
#[derive(Debug, Serialize)]
struct LedgerLines {
    kinetic: f64,
    /// Of the velocities that the joints allow; only under `energy-momentum`, whose own break them.
    #[serde(skip_serializing_if = "Option::is_none")]
    projected_kinetic: Option<f64>,
    potential: f64,
    elastic: f64,
    work_in: f64,
    friction_loss: f64,
    impact_loss: f64,
    contact_loss: f64,
    damping_loss: f64,
    joint_work: f64,
    projection: f64,
    drift: f64,
    exchanged: f64,
    drift_fraction: f64,
    momentum: Vec<f64>,
    angular_momentum: Vec<f64>,
}

/// Digits of a step that are printed.
const STEP_DIGITS: usize = 6;

/// A number, or 0 where it is the rounding of numbers of this scale.
fn measured(x: f64, scale: f64) -> String {
    measure(if x.abs() <= ROUNDING * scale { 0.0 } else { x })
}

impl Summary {
    /// Of a run that took `total_steps` in all, `tally` of them now, in so much wall time.
    pub fn new<G: Geometry>(scene: &str, world: &World<G>, tally: &Tally, stop: &Stop, total_steps: u64, wall: Duration) -> Self {
        let (model, total, ledger) = (world.model(), &tally.total, world.ledger());
        let engine = tally.engine.as_secs_f64();
        let rate = |x: f64| if engine > 0.0 { x / engine } else { 0.0 };
        let flow = ledger.flow;
        // Nothing moved: then what drifts is rounding, and a fraction of nothing says nothing.
        let sizes = ledger.kinetic + ledger.potential.abs() + ledger.elastic + flow.work_in.abs() + flow.losses();
        let flags = [
            (total.stepped > 0, "stepped: impacts of the rest of a step were put at its end"),
            (total.impact_capped, "an impact problem reached its cap"),
            (total.inaccurate, "a solve ended above its tolerance"),
            (total.unconverged, "a joint correction did not converge"),
            (total.gyroscopic, "the gyroscopic torque at the end of a move was not found"),
            (total.soft_spring, "a stiff spring became a soft row"),
            (total.projected, "positions were projected"),
            (total.placed, "the start was put right"),
        ];
        Summary {
            ok: !matches!(stop, Stop::Failed(_)),
            scene: scene.to_string(),
            dimension: G::DIM,
            bodies: model.bodies.len(),
            joints: model.joints.len(),
            step: model.step,
            ending: match stop {
                Stop::Finished => "finished",
                Stop::Interrupted => "stopped",
                Stop::Failed(_) => "failed",
            },
            error: if let Stop::Failed(error) = stop { Some(error.to_string()) } else { None },
            steps: tally.steps,
            total_steps,
            time: world.state().time,
            wall_time: wall.as_secs_f64(),
            engine_time: engine,
            steps_per_second: rate(tally.steps as f64),
            realtime_factor: rate(tally.steps as f64 * model.step),
            contacts: Contacts { now: world.report().contacts, most: tally.most_contacts },
            substeps: total.substeps,
            events: total.events,
            impacts: total.impacts,
            impact_iterations: total.impact_iterations,
            stepped_steps: tally.stepped,
            solves: total.solves,
            substitutions: total.substitutions,
            factorisations: total.factorisations,
            solver_iterations: total.iterations,
            corrections: total.corrections,
            worst_residual: total.residual,
            worst_joint_error: total.joint_error.max(world.joint_error()),
            deepest_overlap: (-tally.deepest).max(0.0),
            flags: flags.into_iter().filter(|(set, _)| *set).map(|(_, words)| words).collect(),
            start_notes: world.notes(),
            redundant_joints: world.redundant_joints().into_iter().map(|joint| model.joints[joint].name.clone()).collect(),
            ledger: LedgerLines {
                kinetic: ledger.kinetic,
                projected_kinetic: model.options.integrator.by_means().then(|| world.projected_kinetic()),
                potential: ledger.potential,
                elastic: ledger.elastic,
                work_in: flow.work_in,
                friction_loss: flow.friction_loss,
                impact_loss: flow.impact_loss,
                contact_loss: flow.contact_loss,
                damping_loss: flow.damping_loss,
                joint_work: flow.joint_work,
                projection: flow.projection,
                drift: ledger.drift,
                exchanged: ledger.exchanged,
                drift_fraction: if ledger.drift.abs() > ROUNDING * sizes { ledger.drift / ledger.exchanged } else { 0.0 },
                momentum: ledger.momentum,
                angular_momentum: ledger.angular_momentum,
            },
            hash: world.state().hash(),
            files: Vec::new(),
            resume: None,
        }
    }
    /// Names the log that the run can go on from.
    pub fn can_go_on_from(&mut self, log: String) {
        self.resume = Some(log);
    }
    /// Names the files written.
    pub fn wrote(&mut self, files: Vec<String>) {
        self.files = files;
    }
    /// For people.
    pub fn text(&self) -> String {
        let n = |x: usize| count(x as u64);
        let list = |v: &[f64]| {
            let scale = v.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            v.iter().map(|x| measured(*x, scale)).collect::<Vec<_>>().join(", ")
        };
        let speed = format!("{} steps/s, {} x real time", rough(self.steps_per_second), rough(self.realtime_factor));
        let already =
            if self.steps < self.total_steps { format!(" (of {} since the start)", count(self.total_steps)) } else { String::new() };
        let facts = [
            ("steps", format!("{}{already} of {} s", count(self.steps), digits(self.step, STEP_DIGITS))),
            ("wall time", format!("{} s, {} s in the engine: {speed}", rough(self.wall_time), rough(self.engine_time))),
            ("contacts", format!("{} now, {} at most", n(self.contacts.now), n(self.contacts.most))),
            ("substeps", {
                let stepped =
                    if self.stepped_steps > 0 { format!(", {} stepped", plural(self.stepped_steps, "step")) } else { String::new() };
                format!("{}, cut at {}{stepped}", n(self.substeps), plural(self.events, "event"))
            }),
            ("impacts", format!("{}, {}", n(self.impacts), plural(self.impact_iterations, "iteration"))),
            (
                "solves",
                format!(
                    "{}, {}, {}, {}, {}",
                    n(self.solves),
                    plural(self.substitutions, "back-substitution"),
                    plural(self.factorisations, "factorisation"),
                    plural(self.solver_iterations, "iteration"),
                    plural(self.corrections, "correction")
                ),
            ),
            ("worst residual", format!("{} m/s", measure(self.worst_residual))),
            ("worst joint error", format!("{} m or rad", measure(self.worst_joint_error))),
            ("deepest overlap", format!("{} m", measure(self.deepest_overlap))),
            ("flags", if self.flags.is_empty() { "none".to_string() } else { self.flags.join("; ") }),
        ];
        let redundant = ("redundant joints", self.redundant_joints.join(", "));
        let start = ("start", self.start_notes.join("; "));
        let l = &self.ledger;
        let energy = [
            ("kinetic", l.kinetic),
            ("potential", l.potential),
            ("elastic", l.elastic),
            ("work in", l.work_in),
            ("friction loss", l.friction_loss),
            ("impact loss", l.impact_loss),
            ("contact loss", l.contact_loss),
            ("damping loss", l.damping_loss),
            ("joint work", l.joint_work),
            ("projection", l.projection),
            ("drift", l.drift),
        ];
        let size = energy.iter().fold(0.0f64, |most, (_, value)| most.max(value.abs()));
        let mut rows: Vec<Vec<String>> = facts
            .into_iter()
            .chain((!self.start_notes.is_empty()).then_some(start))
            .chain((!self.redundant_joints.is_empty()).then_some(redundant))
            .map(|(name, value)| vec![format!("  {name}"), value])
            .collect();
        rows.push(vec!["ledger [J]".to_string()]);
        rows.extend(energy.into_iter().map(|(name, value)| {
            let note = match name {
                "drift" if l.drift != 0.0 && l.drift_fraction == 0.0 => ", the rounding of the lines above".to_string(),
                "drift" => format!(", {} of the {} J exchanged", measure(l.drift_fraction), measure(l.exchanged)),
                "kinetic" => {
                    l.projected_kinetic.map_or_else(String::new, |x| format!(", {} of it in velocities that the joints allow", measure(x)))
                }
                _ => String::new(),
            };
            let value = if name == "drift" { measure(value) } else { measured(value, size) };
            vec![format!("  {name}"), value + &note]
        }));
        rows.push(vec!["  momentum".to_string(), format!("{} kg m/s", list(&l.momentum))]);
        rows.push(vec!["  angular momentum".to_string(), format!("{} kg m^2/s", list(&l.angular_momentum))]);
        rows.push(vec!["state hash".to_string(), self.hash.clone()]);
        rows.extend(self.files.iter().map(|file| vec!["saved".to_string(), file.clone()]));
        rows.extend(self.resume.iter().map(|log| vec!["to go on".to_string(), format!("carom run --resume {log}")]));
        format!("{}: {} at t = {} s\n{}", self.scene, self.ending, measure(self.time), columns(&rows))
    }
}
