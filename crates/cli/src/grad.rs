//! `carom grad`: the exact gradient of a loss beside central differences, and what the steps say about it.

use crate::args::GradArgs;
use crate::failure::{Failure, Fault};
use crate::interrupt;
use crate::print::{self, digits, plural};
use crate::progress;
use crate::run::steps_until;
use crate::source::find;
use carom::Scene;
use carom::dynamics::Interrupt;
use carom::dynamics::error::Cause;
use carom::dynamics::gradient::{Gradient, GradientError, Switches, Tape, Weak, Wrt};
use carom::dynamics::options::TimeOfImpact;
use carom::geometry::Geometry;
use carom::scene::{SceneOf, SceneSpace};
use carom_fit::variable::{Start, Variable, split};
use carom_loss::{Loss, LossError};
use serde_json::{Value, json};

/// Sizes of the central differences, relative to the value they move; the one that agrees best with its neighbour counts.
const SIZES: [f64; 6] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8];
/// Values smaller than this are moved as if they were this large.
const LEAST: f64 = 1e-2;
/// Steps beyond which the rollout keeps checkpoints instead of every step.
const FULL_TAPE: usize = 4000;
/// Significant digits of derivatives and values.
const DIGITS: usize = 9;
/// Left and right differences that differ by more than this part are reported: a kink.
const KINK: f64 = 1e-2;
/// Roundings that a run adds up to in its loss, as a rule.
const ROUNDINGS: f64 = 64.0;
/// Left and right differences of a bend close up with the size, tenfold from one to the next; those of a kink by less than this.
const CLOSING: f64 = 3.0;
/// Moments of one kind of switch that are listed.
const MAX_LISTED: usize = 3;

/// Takes the gradient that the arguments ask for.
pub fn grad(args: &GradArgs) -> Result<(), Failure> {
    let source = find(&args.scene)?;
    match source.scene {
        Scene::Planar(scene) => go(args, &source.place, scene),
        Scene::Spatial(scene) => go(args, &source.place, scene),
    }
}

/// A loss that makes no sense, underlined.
pub fn loss_fault(text: &str, error: LossError) -> Failure {
    let message = format!("loss, column {}: {}", error.column, error.problem);
    Failure::bad_input(Fault::new(message).help(error.help).at("--loss", text, error.span, error.problem))
}

/// A rollout without a derivative.
pub fn gradient_fault(error: &GradientError) -> Failure {
    let fault = Fault::new(error.to_string());
    match error {
        GradientError::Choice { .. } | GradientError::Kappa(_) => Failure::bad_input(fault),
        _ => Failure::Failed(vec![fault]),
    }
}

/// What is kept for the derivative of so many steps: all of them, or the square root.
pub fn tape(steps: usize) -> Tape {
    if steps <= FULL_TAPE { Tape::Full } else { Tape::Every((steps as f64).sqrt().ceil() as usize) }
}

/// Differences around one variable.
struct Differences {
    /// Best central difference; one-sided where only one side exists.
    best: f64,
    /// Distance it was taken over.
    size: f64,
    /// What rounding of the loss makes of it.
    rounding: f64,
    /// One-sided differences over it.
    left: Option<f64>,
    right: Option<f64>,
    /// They disagree however near they are taken.
    kink: bool,
}

fn go<G: SceneSpace>(args: &GradArgs, place: &str, scene: SceneOf<G>) -> Result<(), Failure> {
    let interrupt = interrupt::listen();
    let duration = scene.duration;
    let start = Start::new(scene.model, &scene.joints, scene.state).map_err(|error| Failure::model(place, &error))?;
    let start = start.with_pairs(args.wrt.iter().flat_map(|list| split(list)))?;
    let loss = Loss::parse_among(&args.loss, start.world.model(), &scene.points).map_err(|error| loss_fault(&args.loss, error))?;
    let mut variables = Vec::new();
    for text in args.wrt.iter().flat_map(|list| split(list)) {
        variables.extend(start.resolve(text)?);
    }
    let step = start.world.model().step;
    let steps = args.steps.unwrap_or_else(|| steps_until(args.time.unwrap_or(duration), step)) as usize;
    // Stopped before there is a gradient, there is nothing to tell but that.
    let nothing = || -> Result<(), Failure> {
        if args.json {
            print::json(&json!({ "ok": false, "complete": false, "scene": place, "loss": args.loss, "steps": steps, "gradients": [] }))?;
        }
        Err(Failure::Interrupted)
    };
    let rollout = match start.world.rollout_unless(steps, &start.control_run(steps), tape(steps), &interrupt) {
        Err(error) if error.cause == Cause::Stopped => return nothing(),
        run => run.map_err(|error| Failure::step(&error))?,
    };
    let model = start.world.model();
    let forces = match loss.forces(&rollout, &interrupt) {
        Err(GradientError::Stopped) => return nothing(),
        found => found.map_err(|error| gradient_fault(&error))?,
    };
    let value = loss.value(model, &rollout.states, &forces);
    let slope = loss.slope(model, &start.layout, &rollout.states, &forces);
    if !slope.is_finite() || !value.is_finite() {
        let help = "a root, a logarithm or a quotient has no slope where it stands; add a small number inside it";
        return Err(Failure::Failed(vec![Fault::new(format!("the loss is {value} and has no finite slope at this run")).help(help)]));
    }
    let weak = args.at_switches.weak();
    let mut gradient = match rollout.backward_forces(&slope.states, &slope.pushes, (Wrt::Everything, weak), &interrupt) {
        Err(GradientError::Stopped) => return nothing(),
        walked => walked.map_err(|error| gradient_fault(&error))?,
    };
    gradient.parameters.iter_mut().zip(&slope.parameters).for_each(|(g, s)| *g += s);
    let bar = progress::bar(args.quiet || args.no_differences, "differences", variables.len() as u64, "parameters");
    let differences: Vec<Option<Differences>> = variables
        .iter()
        .map(|variable| {
            bar.inc(1);
            if args.no_differences || interrupt.raised() { None } else { differences(&start, &loss, variable, steps, value, &interrupt) }
        })
        .collect();
    bar.finish_and_clear();
    // The gradients stand; only differences may be missing.
    let stopped = interrupt.raised();
    let frozen = model.options.time_of_impact == TimeOfImpact::Halving;
    let sided = variables.iter().any(|v| MOVE_GAPS.iter().any(|name| v.label.starts_with(name)));
    let switches = Told::new(&gradient, step, start.world.state().time, frozen, sided);
    if args.json {
        let rows: Vec<Value> = variables.iter().zip(&differences).map(|(v, d)| row_json(&start, v, &gradient, d)).collect();
        print::json(&json!({
            "ok": !stopped, "complete": !stopped, "scene": place, "loss": args.loss, "value": value, "steps": steps, "time": steps as f64 * step,
            "exact": gradient.is_exact() && !switches.frozen, "frozen_step": switches.frozen, "switches": switches.json(), "touching": switches.touching,
            "gradients": rows,
            "weak": weak.name(), "kappa": weak.kappa(),
        }))?;
        return if stopped { Err(Failure::Interrupted) } else { Ok(()) };
    }
    print::line(&format!(
        "{} = {} after {} s ({})",
        args.loss,
        digits(value, DIGITS),
        digits(steps as f64 * step, DIGITS),
        plural(steps, "step")
    ))?;
    print::line("")?;
    let mut rows = vec![["parameter", "value", "gradient", "central difference", "relative error", ""].map(print::head).to_vec()];
    rows.extend(variables.iter().zip(&differences).map(|(v, d)| row(&start, v, &gradient, d)));
    print::line(&print::columns(&rows))?;
    print::line("")?;
    if weak != Weak::AsSolved {
        print::line(&format!("{weak}{}", label_words(&gradient)))?;
    }
    print::line(&switches.words())?;
    if stopped { Err(Failure::Interrupted) } else { Ok(()) }
}

/// What the label of a gradient means here.
fn label_words(gradient: &Gradient) -> String {
    let total = gradient.total();
    if gradient.weak.kappa().is_some() {
        return format!(
            ": {} smoothed, gradients biased in proportion to kappa; differences are those of the run itself",
            plural(total.smoothed, "row")
        );
    }
    format!(": {} at a switch", plural(total.choices(), "row"))
}

/// The loss with one variable elsewhere; `None` where there is no such run.
fn elsewhere<G: Geometry>(
    start: &Start<G>,
    loss: &Loss,
    variable: &Variable,
    value: f64,
    steps: usize,
    interrupt: &Interrupt,
) -> Option<f64> {
    let other = start.with(std::slice::from_ref(variable), &[value]).ok()?;
    let kept = if loss.pairs().is_empty() { Tape::Off } else { tape(steps) };
    let rollout = other.world.rollout_unless(steps, &other.control_run(steps), kept, interrupt).ok()?;
    let forces = loss.forces(&rollout, interrupt).ok()?;
    Some(loss.value(other.world.model(), &rollout.states, &forces)).filter(|x| x.is_finite())
}

fn differences<G: Geometry>(
    start: &Start<G>,
    loss: &Loss,
    variable: &Variable,
    steps: usize,
    here: f64,
    interrupt: &Interrupt,
) -> Option<Differences> {
    let x = variable.value;
    let scale = x.abs().max(LEAST);
    let tried: Vec<Differences> = SIZES
        .iter()
        .filter_map(|part| {
            if interrupt.raised() {
                return None;
            }
            let size = part * scale;
            // The distances that the numbers really lie apart.
            let (above, below) = (x + size, x - size);
            let right = elsewhere(start, loss, variable, above, steps, interrupt);
            let left = elsewhere(start, loss, variable, below, steps, interrupt);
            let best = match (left, right) {
                (Some(left), Some(right)) => (right - left) / (above - below),
                (Some(left), None) => (here - left) / (x - below),
                (None, Some(right)) => (right - here) / (above - x),
                (None, None) => return None,
            };
            Some(Differences {
                best,
                size,
                rounding: ROUNDINGS * f64::EPSILON * here.abs() / size,
                left: left.map(|l| (here - l) / (x - below)),
                right: right.map(|r| (r - here) / (above - x)),
                kink: false,
            })
        })
        .collect();
    // Truncation falls and rounding grows with shrinking size: where two neighbours agree best both are small.
    let gap = |k: usize| (tried[k].best - tried[k + 1].best).abs();
    let best = (0..tried.len().saturating_sub(1)).fold(0, |best, k| if gap(k) < gap(best) { k } else { best });
    // Of the two the smaller.
    let chosen = if tried.len() > 1 { best + 1 } else { 0 };
    let wider = chosen.checked_sub(1).map(|k| tried[k].apart());
    let mut chosen = tried.into_iter().nth(chosen)?;
    let apart = chosen.apart();
    let slope = chosen.left.unwrap_or(0.0).abs().max(chosen.right.unwrap_or(0.0).abs());
    chosen.kink = apart > KINK * slope && apart > chosen.rounding && wider.is_none_or(|wider| wider < CLOSING * apart);
    Some(chosen)
}

/// Difference of two derivatives as a part of the larger, or of what rounding of the loss over the distance could feign.
fn relative_error(exact: f64, d: &Differences) -> f64 {
    let larger = exact.abs().max(d.best.abs()).max(d.rounding);
    if larger == 0.0 { 0.0 } else { (exact - d.best).abs() / larger }
}

impl Differences {
    /// Distance of left and right difference; 0 where one is missing.
    fn apart(&self) -> f64 {
        self.left.zip(self.right).map_or(0.0, |(left, right)| (left - right).abs())
    }
}

fn row<G: Geometry>(start: &Start<G>, variable: &Variable, gradient: &Gradient, differences: &Option<Differences>) -> Vec<String> {
    let exact = start.derivative(variable, gradient);
    let mut cells = vec![variable.label.clone(), digits(variable.value, DIGITS), digits(exact, DIGITS)];
    match differences {
        None => cells.extend(["-", "-", ""].map(str::to_string)),
        Some(d) => {
            cells.push(digits(d.best, DIGITS));
            cells.push(format!("{:.1e}", relative_error(exact, d)));
            cells.push(match (d.left, d.right) {
                (Some(left), Some(right)) if d.kink => {
                    format!("left {}, right {}", digits(left, DIGITS / 2), digits(right, DIGITS / 2))
                }
                (None, Some(_)) => "only larger values exist".to_string(),
                (Some(_), None) => "only smaller values exist".to_string(),
                _ => String::new(),
            });
        }
    }
    cells
}

fn row_json<G: Geometry>(start: &Start<G>, variable: &Variable, gradient: &Gradient, differences: &Option<Differences>) -> Value {
    let exact = start.derivative(variable, gradient);
    let mut out = json!({ "parameter": variable.label, "value": variable.value, "gradient": exact });
    if let Some(d) = differences {
        out["difference"] = json!(d.best);
        out["relative_error"] = json!(relative_error(exact, d));
        out["difference_size"] = json!(d.size);
        out["left_difference"] = json!(d.left);
        out["right_difference"] = json!(d.right);
    }
    out
}

/// What the flags of the steps add up to.
struct Told {
    /// Kind, words, count, steps, first moments [s].
    kinds: Vec<(&'static str, &'static str, usize, usize, Vec<f64>)>,
    steps: usize,
    /// Steps are halved where bodies meet, and the gradient holds their lengths.
    frozen: bool,
    /// Complementarity was smoothed somewhere.
    smoothed: bool,
    /// Contacts, limits and ropes that touch and push where the run starts, where a variable moves their gaps.
    touching: usize,
}

/// How the names of variables begin that move gaps.
const MOVE_GAPS: [&str; 4] = ["q[", "centre", "shape_", "joint_"];

/// The kinds of switches, with words for people.
const KINDS: [(&str, &str); 9] = [
    ("weak", "contact with neither load nor gap: it may close or open"),
    ("friction", "contact between sticking and sliding"),
    ("grazing", "impact with hardly any closing speed"),
    ("irregular", "contact whose features have no derivative there"),
    ("impacts", "impact between two branches or sequences of its law"),
    ("projected", "position projected, which the derivative leaves out"),
    ("unconverged", "solve that did not converge, or length that was held"),
    ("stepped", "move that was stepped: nothing is said of the times of its impacts"),
    ("combined", "contact whose coefficient has no slope with respect to those of its bodies"),
];

impl Told {
    fn new(gradient: &Gradient, step: f64, from: f64, frozen: bool, sided: bool) -> Self {
        let mut kinds = Vec::new();
        for (name, words) in KINDS {
            let count = |switches: &Switches| Switches::place(name).map_or(0, |place| switches.list()[place]);
            let steps: Vec<usize> = (0..gradient.switches.len()).filter(|k| count(&gradient.switches[*k]) > 0).collect();
            if !steps.is_empty() {
                let total = steps.iter().map(|k| count(&gradient.switches[*k])).sum();
                let first = steps.iter().take(MAX_LISTED).map(|k| from + *k as f64 * step).collect();
                kinds.push((name, words, total, steps.len(), first));
            }
        }
        Told {
            kinds,
            steps: gradient.switches.len(),
            frozen,
            smoothed: gradient.total().smoothed > 0,
            touching: if sided { gradient.touching } else { 0 },
        }
    }

    fn words(&self) -> String {
        let frozen =
            "\nsubsteps are halved without regard to where bodies meet: the gradient is that of the lengths taken, biased at impacts";
        let mut told = String::from(if self.frozen { frozen } else { "" });
        if self.touching > 0 {
            let side = "by poses, sizes and placements the gradient is that of the side on which they open";
            told += &format!("\ntouching at the start: {} ({side})", self.touching);
        }
        if self.kinds.is_empty() {
            let exact = if self.smoothed { "" } else { "exact: " };
            return format!("{exact}none of the {} is at a switch{told}", plural(self.steps, "step"));
        }
        let mut out = String::from("one-sided or incomplete where steps are at a switch:");
        for (name, words, count, steps, first) in &self.kinds {
            let times: Vec<String> = first.iter().map(|t| digits(*t, DIGITS / 2)).collect();
            let more = if *steps > first.len() { ", ..." } else { "" };
            out +=
                &format!("\n  {name}: {count} in {}, in the steps from t = {}{more} s ({words})", plural(*steps, "step"), times.join(", "));
        }
        out + &told
    }

    fn json(&self) -> Value {
        let kinds = self.kinds.iter().map(|(name, _, count, steps, first)| {
            (name.to_string(), json!({ "count": count, "steps": steps, "first_time": first.first() }))
        });
        Value::Object(kinds.collect())
    }
}
