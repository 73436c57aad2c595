//! `carom fit`: parameters with which a scene repeats motions, and what the motions say about them.

use crate::args::FitArgs;
use crate::failure::{Failure, Fault};
use crate::grad::gradient_fault;
use crate::interrupt;
use crate::print::{self, digits, plural};
use crate::source::find;
use carom::Scene;
use carom::dynamics::gradient::{Cotangents, Tape, Weak, Wrt};
use carom::record::read;
use carom::scene::{SceneOf, SceneSpace};
use carom_fit::variable::split;
use carom_fit::{Ask, Complaint, Fit, Progress, Start, Table};
use serde_json::json;
use std::path::PathBuf;

/// Significant digits of fitted values.
const DIGITS: usize = 10;
/// Significant digits of intervals and misfits.
const ROUGH: usize = 3;
/// Warnings that are printed; programs get them all.
const WARNINGS: usize = 12;

impl From<Complaint> for Failure {
    fn from(complaint: Complaint) -> Self {
        Failure::bad_input(Fault::new(complaint.message).help(complaint.help))
    }
}

fn bad(message: String, help: impl Into<String>) -> Failure {
    Failure::bad_input(Fault::new(message).help(help))
}

/// Fits what the arguments ask for.
pub fn fit(args: &FitArgs) -> Result<(), Failure> {
    let source = find(&args.scene)?;
    match source.scene {
        Scene::Planar(scene) => go(args, &source.place, scene),
        Scene::Spatial(scene) => go(args, &source.place, scene),
    }
}

fn number(option: &str, text: &str) -> Result<f64, Failure> {
    let found = text.parse().ok().filter(|x: &f64| x.is_finite());
    found.ok_or_else(|| bad(format!("{option}: \"{text}\" is not a number"), "write it like 1, 0.5 or 1e-3"))
}

/// The parts of `NAME=...` lists.
fn assigned<'a>(option: &str, lists: &'a [String]) -> Result<Vec<(&'a str, &'a str)>, Failure> {
    let parts = lists.iter().flat_map(|list| split(list));
    parts
        .map(|text| {
            text.rsplit_once('=')
                .map(|(n, v)| (n.trim(), v.trim()))
                .ok_or_else(|| bad(format!("{option}: \"{text}\" has no ="), "write mass[ball]=..."))
        })
        .collect()
}

fn ask(args: &FitArgs) -> Result<Ask, Failure> {
    let numbers = |option: &str, lists: &[String]| -> Result<Vec<(String, f64)>, Failure> {
        assigned(option, lists)?.into_iter().map(|(name, value)| Ok((name.to_string(), number(option, value)?))).collect()
    };
    let mut bounds = Vec::new();
    for (name, range) in assigned("--bounds", &args.bounds)? {
        let (low, high) =
            range.split_once(':').ok_or_else(|| bad(format!("--bounds: \"{range}\" has no :"), "write LOW:HIGH, LOW: or :HIGH"))?;
        let side = |text: &str, open: f64| if text.is_empty() { Ok(open) } else { number("--bounds", text) };
        bounds.push((name.to_string(), [side(low, f64::NEG_INFINITY)?, side(high, f64::INFINITY)?]));
    }
    Ok(Ask {
        parameters: args.params.clone(),
        log: args.log.clone(),
        per_motion: args.per_motion.clone(),
        start: numbers("--start", &args.start)?,
        bounds,
        weights: numbers("--weights", &args.weights)?,
        initial: args.initial,
        starts: args.starts.max(1),
        only: None,
        shooting: args.shooting,
        robust: args.robust.clone(),
        rotations: args.rotations,
        velocities: args.velocities,
        until: args.time.unwrap_or(f64::INFINITY),
        iterations: args.iterations,
        weak: args.at_switches.weak(),
        path: args.keep.clone(),
    })
}

/// The files that are meant: folders stand for what is in them, by name.
fn files(args: &FitArgs) -> Result<Vec<PathBuf>, Failure> {
    let mut out = Vec::new();
    for path in &args.data {
        if !path.is_dir() {
            out.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).map_err(|e| bad(format!("{}: {e}", path.display()), "name a folder that can be read"))?;
        let mut found: Vec<PathBuf> =
            entries.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| carom::record::Format::of(p).is_ok()).collect();
        if found.is_empty() {
            return Err(bad(format!("{}: holds no motions", path.display()), ".csv, .npz, .parquet or .caromlog"));
        }
        found.sort();
        out.extend(found);
    }
    Ok(out)
}

fn tables(args: &FitArgs, dimension: usize) -> Result<Vec<Table>, Failure> {
    let files = files(args)?;
    files
        .iter()
        .map(|path| {
            let (place, table) = (path.display().to_string(), read(path)?);
            if table.header.dimension != dimension {
                // A table of the plane has no column that only space has, but x and y may be all that was seen.
                let found = table.header.dimension;
                return Err(bad(
                    format!("{place}: is of dimension {found}, the scene of {dimension}"),
                    "a column z or a quaternion makes a table spatial",
                ));
            }
            let given = |values: Vec<f64>| if values.iter().all(|x| x.is_nan()) { Vec::new() } else { values };
            Ok(Table {
                name: place,
                time: table.time,
                bodies: table.header.bodies,
                q: given(table.q),
                v: given(table.v),
                ..Table::default()
            })
        })
        .collect()
}

fn go<G: SceneSpace>(args: &FitArgs, place: &str, scene: SceneOf<G>) -> Result<(), Failure> {
    let start = Start::new(scene.model, &scene.joints, scene.state).map_err(|error| Failure::model(place, &error))?;
    let (ask, tables) = (ask(args)?, tables(args, G::DIM)?);
    // A scene whose choices have no derivative is refused before anything is computed.
    let none = start.world.rollout(0, &[], Tape::Full).map_err(|error| Failure::step(&error))?;
    none.backward_by(&Cotangents::default(), Wrt::Everything, ask.weak).map_err(|error| gradient_fault(&error))?;

    let interrupt = interrupt::listen();
    let (mut unheard, mut last) = (Ok(()), 0);
    let mut tell = |labels: &[String], numbers: usize, p: Progress<'_>| {
        if !args.quiet && !args.json && unheard.is_ok() {
            let values: Vec<String> = labels.iter().zip(p.values).map(|(l, x)| format!("{l} = {}", digits(*x, DIGITS))).collect();
            let misfit = (2.0 * p.cost / numbers as f64).sqrt();
            let head = if p.search == last { String::new() } else { "\n".to_string() };
            last = p.search;
            unheard = print::line(&format!("{head}{:4}  misfit {:<9}  {}", p.iteration, digits(misfit, ROUGH), values.join(", ")));
        }
    };
    let found = match carom_fit::fit(start, &tables, &ask, &interrupt, &mut tell) {
        // Stopped before there was anything to tell.
        Err(_) if interrupt.raised() => {
            if args.json {
                print::json(&json!({ "ok": false, "stopped": true, "scene": place }))?;
            }
            return Err(Failure::Interrupted);
        }
        found => found?,
    };
    unheard?;
    report(args, place, &found)?;
    match (found.stopped, found.converged) {
        (true, _) => Err(Failure::Interrupted),
        (false, true) => Ok(()),
        (false, false) => Err(Failure::Told),
    }
}

/// Half of an interval, where it has both ends.
fn half_width(row: &carom_fit::Row) -> Option<f64> {
    let [Some(low), Some(high)] = row.interval else { return None };
    Some((high - low) / 2.0)
}

fn report(args: &FitArgs, place: &str, found: &Fit) -> Result<(), Failure> {
    if args.json {
        let mut value = serde_json::to_value(found).unwrap_or_default();
        for (row, known) in value["parameters"].as_array_mut().into_iter().flatten().zip(&found.parameters) {
            row["half_width_95"] = json!(half_width(known));
        }
        value["ok"] = json!(found.converged);
        value["scene"] = json!(place);
        value["weak"] = json!(args.at_switches.weak().name());
        value["kappa"] = json!(args.at_switches.kappa);
        return Ok(print::json(&value)?);
    }
    let mut rows = vec![["parameter", "start", "fitted", "95 %", ""].map(print::head).to_vec()];
    for row in &found.parameters {
        let lopsided = |half: f64| {
            let [Some(low), Some(high)] = row.interval else { return false };
            // Of an interval that is rounding only the size counts.
            half > 1e-9 * row.value.abs()
                && ((((high - row.value) / half) - 1.0).abs() > 0.2 || ((row.value - low) / half - 1.0).abs() > 0.2)
        };
        let width = match (half_width(row), row.interval) {
            (Some(half), [Some(low), Some(high)]) if lopsided(half) => format!("{} to {}", digits(low, ROUGH), digits(high, ROUGH)),
            (Some(half), _) => format!("± {}", digits(half, ROUGH)),
            _ => "-".to_string(),
        };
        let note = if row.at_bound { "at its bound" } else { "" };
        rows.push(vec![row.parameter.clone(), digits(row.start, DIGITS), digits(row.value, DIGITS), width, note.to_string()]);
    }
    for (name, values) in &found.per_motion {
        let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
        rows.push(vec![
            format!("{name}, per motion"),
            String::new(),
            format!("{} to {}", digits(low, ROUGH), digits(high, ROUGH)),
            String::new(),
            String::new(),
        ]);
    }
    if !args.quiet {
        print::line("")?;
    }
    print::line(&print::columns(&rows))?;
    print::line("")?;
    for open in &found.undetermined {
        print::line(&format!("not determined: {}", open.words))?;
    }
    if found.minima.len() > 1 {
        for minimum in &found.minima {
            let values: Vec<String> =
                found.parameters.iter().zip(&minimum.values).map(|(r, x)| format!("{} = {}", r.parameter, digits(*x, 5))).collect();
            print::line(&format!(
                "minimum: misfit {} at {} ({})",
                digits(minimum.misfit, ROUGH),
                values.join(", "),
                plural(minimum.searches.len(), "ending")
            ))?;
        }
    }
    for warning in found.warnings.iter().take(WARNINGS) {
        print::line(&format!("note: {warning}"))?;
    }
    if found.warnings.len() > WARNINGS {
        print::line(&format!("note: and {} more (--json has them all)", found.warnings.len() - WARNINGS))?;
    }
    let noise = found.noise.filter(|n| *n > 1e-12).map_or_else(String::new, |n| format!(", noise {}", digits(n, ROUGH)));
    let rest = format!("misfit {} (root mean square of {}{noise})", digits(found.misfit, ROUGH), plural(found.numbers, "number"));
    print::line(&format!("{}\n{} in {} s, {rest}", found.status, plural(found.iterations, "iteration"), print::rough(found.seconds)))?;
    if args.at_switches.weak() != Weak::AsSolved {
        print::line(&format!("derivatives: {}", args.at_switches.weak()))?;
    }
    Ok(())
}
