//! `carom fit`: parameters with which a scene repeats a motion, by least squares with exact derivatives.

mod data;
mod interval;
mod lbfgs;
mod levenberg;
mod misfit;
mod search;
#[cfg(test)]
mod tests;

use crate::args::{FitArgs, Method};
use crate::failure::{Failure, Fault};
use crate::grad::gradient_fault;
use crate::interrupt;
use crate::print::{self, digits, plural};
use crate::source::find;
use crate::variable::{Start, Variable, split};
use carom::Scene;
use carom::dynamics::gradient::{Cotangents, Tape, Weak, Wrt};
use carom::geometry::Geometry;
use carom::scene::{SceneOf, SceneSpace};
use data::Measured;
use interval::half_widths;
use misfit::Misfit;
use search::{Bounds, Found, LeastSquares, Progress, Status};
use serde_json::{Value, json};
use std::time::Instant;

/// Significant digits of fitted values.
const DIGITS: usize = 10;
/// Significant digits of intervals and misfits.
const ROUGH: usize = 3;

/// Fits what the arguments ask for.
pub fn fit(args: &FitArgs) -> Result<(), Failure> {
    let source = find(&args.scene)?;
    match source.scene {
        Scene::Planar(scene) => go(args, &source.place, scene),
        Scene::Spatial(scene) => go(args, &source.place, scene),
    }
}

fn bad(message: String, help: impl Into<String>) -> Failure {
    Failure::bad_input(Fault::new(message).help(help))
}

/// The variables that may change.
fn variables<G: Geometry>(args: &FitArgs, start: &Start<G>) -> Result<Vec<Variable>, Failure> {
    let mut out: Vec<Variable> = Vec::new();
    for text in args.params.iter().flat_map(|list| split(list)) {
        for variable in start.resolve(text)? {
            if variable.label == "step" {
                return Err(bad("the step cannot be fitted".to_string(), "the measured times are counted in steps"));
            }
            if variable.is_turn::<G>() {
                return Err(bad(
                    format!("{}: a turn in space cannot be fitted", variable.label),
                    "fit positions, velocities or parameters",
                ));
            }
            if out.iter().any(|v| v.label == variable.label) {
                return Err(bad(format!("{} is named twice", variable.label), "name it once"));
            }
            out.push(variable);
        }
    }
    Ok(out)
}

/// The variables that `PARAM=...` means, and what stands behind the sign.
fn assigned<'a, G: Geometry>(
    option: &str,
    text: &'a str,
    start: &Start<G>,
    variables: &[Variable],
) -> Result<(Vec<usize>, &'a str), Failure> {
    let (name, value) = text.rsplit_once('=').ok_or_else(|| bad(format!("{option}: \"{text}\" has no ="), "write mass[ball]=..."))?;
    let meant = start.resolve(name.trim())?;
    let found: Vec<usize> = (0..variables.len()).filter(|k| meant.iter().any(|m| m.label == variables[*k].label)).collect();
    if found.is_empty() {
        let known: Vec<&str> = variables.iter().map(|v| v.label.as_str()).collect();
        return Err(bad(format!("{option}: \"{name}\" is not among --params"), format!("they are {}", known.join(", "))));
    }
    Ok((found, value.trim()))
}

fn number(option: &str, text: &str) -> Result<f64, Failure> {
    text.parse()
        .ok()
        .filter(|x: &f64| x.is_finite())
        .ok_or_else(|| bad(format!("{option}: \"{text}\" is not a number"), "write it like 1, 0.5 or 1e-3"))
}

fn bounds<G: Geometry>(args: &FitArgs, start: &Start<G>, variables: &[Variable]) -> Result<Bounds, Failure> {
    let mut out: Vec<[f64; 2]> = variables.iter().map(Variable::range).collect();
    for text in args.bounds.iter().flat_map(|list| split(list)) {
        let (which, range) = assigned("--bounds", text, start, variables)?;
        let (low, high) =
            range.split_once(':').ok_or_else(|| bad(format!("--bounds: \"{range}\" has no :"), "write LOW:HIGH, LOW: or :HIGH"))?;
        for k in which {
            let [least, most] = &mut out[k];
            if !low.is_empty() {
                *least = number("--bounds", low)?;
            }
            if !high.is_empty() {
                *most = number("--bounds", high)?;
            }
            if *least >= *most {
                return Err(bad(
                    format!("--bounds: {} would lie between {least} and {most}", variables[k].label),
                    "the lower one comes first",
                ));
            }
        }
    }
    Ok(Bounds(out))
}

fn go<G: SceneSpace>(args: &FitArgs, place: &str, scene: SceneOf<G>) -> Result<(), Failure> {
    let start = Start::new(place, scene)?;
    let variables = variables(args, &start)?;
    let bounds = bounds(args, &start, &variables)?;
    let mut first: Vec<f64> = variables.iter().map(|v| v.value).collect();
    for text in args.start.iter().flat_map(|list| split(list)) {
        let (which, value) = assigned("--start", text, &start, &variables)?;
        let value = number("--start", value)?;
        which.into_iter().for_each(|k| first[k] = value);
    }
    let measured = Measured::read(args, start.world.model())?;
    if measured.count < variables.len() {
        let message = format!("{} for {}", plural(measured.count, "measured number"), plural(variables.len(), "parameter"));
        return Err(bad(message, "give at least as many as parameters"));
    }
    bounds.clamp(&mut first);
    start
        .with(&variables, &first)
        .map_err(|error| bad(format!("the starting values make no scene: {error}"), "change --start or --bounds"))?;

    // A scene whose choices have no derivative is refused before anything is computed.
    let none = start.world.rollout(0, &[], Tape::Full).map_err(|error| Failure::step(&error))?;
    let weak = args.at_switches.weak();
    none.backward_by(&Cotangents::default(), Wrt::Everything, weak).map_err(|error| gradient_fault(&error))?;

    let interrupt = interrupt::listen();
    let mut misfit = Misfit { start: &start, variables: &variables, measured: &measured, weak, interrupt: &interrupt };
    let rms = |cost: f64| (2.0 * cost / measured.count as f64).sqrt();
    let clock = Instant::now();
    let mut unheard = Ok(());
    let mut tell = |p: Progress<'_>| {
        if !args.quiet && !args.json && unheard.is_ok() {
            let values: Vec<String> = variables.iter().zip(p.x).map(|(v, x)| format!("{} = {}", v.label, digits(*x, DIGITS))).collect();
            unheard = print::line(&format!("{:4}  misfit {:<9}  {}", p.iteration, digits(rms(p.cost), ROUGH), values.join(", ")));
        }
    };
    let mut found = match args.method {
        Method::Lm => levenberg::levenberg(&mut misfit, first.clone(), &bounds, args.iterations, &mut tell),
        Method::Lbfgs => lbfgs::lbfgs(&mut misfit, first.clone(), &bounds, args.iterations, &mut tell),
    };
    unheard?;
    // Without runs a search ends in any of its ways; none of them is its own.
    if interrupt.raised() {
        found.status = Status::Stopped;
    }
    let widths = misfit.jacobian(&found.x).and_then(|(residuals, columns)| half_widths(&residuals, &columns));
    let seconds = clock.elapsed().as_secs_f64();
    let report = Report {
        args,
        place,
        variables: &variables,
        first: &first,
        bounds: &bounds,
        found: &found,
        widths,
        rms: rms(found.cost),
        seconds,
        count: measured.count,
    };
    report.print()?;
    match found.status {
        Status::Stopped => Err(Failure::Interrupted),
        status if status.converged() => Ok(()),
        _ => Err(Failure::Told),
    }
}

/// What a fit has to say.
struct Report<'a> {
    args: &'a FitArgs,
    place: &'a str,
    variables: &'a [Variable],
    first: &'a [f64],
    bounds: &'a Bounds,
    found: &'a Found,
    widths: Option<Vec<f64>>,
    rms: f64,
    seconds: f64,
    count: usize,
}

impl Report<'_> {
    fn at_bound(&self, k: usize) -> bool {
        let [low, high] = self.bounds.0[k];
        self.found.x[k] <= low || self.found.x[k] >= high
    }

    fn print(&self) -> Result<(), Failure> {
        let words = self.found.status.words(|k| self.variables[k].label.clone());
        if self.args.json {
            let rows: Vec<Value> = (0..self.variables.len())
                .map(|k| {
                    json!({
                        "parameter": self.variables[k].label, "start": self.first[k], "value": self.found.x[k],
                        "half_width_95": self.widths.as_ref().map(|w| w[k]), "at_bound": self.at_bound(k),
                    })
                })
                .collect();
            print::json(&json!({
                "ok": self.found.status.converged(), "scene": self.place, "status": words, "iterations": self.found.iterations,
                "misfit": self.rms, "numbers": self.count, "seconds": self.seconds, "parameters": rows,
                "weak": self.args.at_switches.weak().name(), "kappa": self.args.at_switches.kappa,
            }))?;
            return Ok(());
        }
        let mut rows = vec![["parameter", "start", "fitted", "95 %", ""].map(print::head).to_vec()];
        for (k, variable) in self.variables.iter().enumerate() {
            let width = self.widths.as_ref().map_or_else(|| "-".to_string(), |w| format!("± {}", digits(w[k], ROUGH)));
            let note = if self.at_bound(k) { "at its bound" } else { "" };
            rows.push(vec![
                variable.label.clone(),
                digits(self.first[k], DIGITS),
                digits(self.found.x[k], DIGITS),
                width,
                note.to_string(),
            ]);
        }
        if !self.args.quiet {
            print::line("")?;
        }
        print::line(&print::columns(&rows))?;
        print::line("")?;
        let rest = format!("misfit {} (root mean square of {})", digits(self.rms, ROUGH), plural(self.count, "number"));
        print::line(&format!("{words}\n{} in {} s, {rest}", plural(self.found.iterations, "iteration"), print::rough(self.seconds)))?;
        if self.args.at_switches.weak() != Weak::AsSolved {
            print::line(&format!("derivatives: {}", self.args.at_switches.weak()))?;
        }
        if let Status::Blind(_) = self.found.status {
            print::line("a parameter that moves nothing in the data cannot be found from them")?;
        }
        Ok(())
    }
}
