//! `carom bench`: time and accuracy of the steps of scenes, in one table.

use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::print::{self, plural};
use crate::progress;
use crate::source::{Source, find};
use carom::Scene;
use carom::dynamics::{BodyKind, Interrupt, StepReport, World};
use carom::geometry::Geometry;
use carom::scene::{SceneOf, scenes};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Blocks of equal length into which the timed steps fall; the fastest is quoted because other work only ever adds.
const BLOCKS: usize = 9;
/// Part of the time that goes to warming up: caches, first contacts, first factors.
const WARM_UP: f64 = 0.2;
/// Energies exchanged [J] below which a drift is rounding.
const EXCHANGED: f64 = 1e-9;

/// What was measured on a scene.
#[derive(Debug, Serialize)]
struct Line {
    scene: String,
    dimension: usize,
    bodies: usize,
    joints: usize,
    /// Most contacts at the end of a timed step.
    contacts: usize,
    /// Steps timed, after `warm_up_steps` that were not.
    steps: usize,
    warm_up_steps: usize,
    /// Microseconds of a step: in the fastest block, in the middle one.
    us_least: f64,
    us_middle: f64,
    realtime_factor: f64,
    solves_per_step: f64,
    /// Worst residual [m/s], joint error [m or rad], overlap [m].
    residual: f64,
    joint_error: f64,
    overlap: Option<f64>,
    /// Energy that the ledger cannot account for, as a part of what was exchanged; none where nothing was.
    drift: Option<f64>,
    /// Why it ended early.
    error: Option<String>,
}

/// Measures the scenes named, or all embedded ones.
pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let interrupt = interrupt::listen();
    let names: Vec<String> =
        if args.scenes.is_empty() { scenes().iter().map(|s| s.name.to_string()).collect() } else { args.scenes.clone() };
    // Every name is looked up before anything is timed.
    let sources = names.iter().map(|name| find(name)).collect::<Result<Vec<Source>, _>>()?;
    let bar = progress::bar(args.quiet, "bench", sources.len() as u64, "scenes");
    let mut lines = Vec::new();
    for source in sources {
        if interrupt.raised() {
            break;
        }
        lines.push(match source.scene {
            Scene::Planar(scene) => measure(&source.stem, &source.place, scene, args.seconds, &interrupt)?,
            Scene::Spatial(scene) => measure(&source.stem, &source.place, scene, args.seconds, &interrupt)?,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let failed = lines.iter().any(|l| l.error.is_some());
    if args.json {
        let ok = !failed && !interrupt.raised();
        print::json(
            &serde_json::json!({ "ok": ok, "complete": lines.len() == names.len(), "seconds_per_scene": args.seconds, "scenes": lines }),
        )?;
    } else {
        print::line(&table(&lines))?;
    }
    if interrupt.raised() {
        Err(Failure::Interrupted)
    } else if failed {
        Err(Failure::Told)
    } else {
        Ok(())
    }
}

fn measure<G: Geometry>(name: &str, place: &str, scene: SceneOf<G>, seconds: f64, interrupt: &Interrupt) -> Result<Line, Failure> {
    let steps_of_run = (scene.duration / scene.model.step).ceil().max(1.0) as usize;
    let mut world = World::new(scene.model, scene.state).map_err(|error| Failure::model(place, &error))?;
    world.heed(interrupt);
    let model = world.model();
    let mut line = Line {
        scene: name.to_string(),
        dimension: G::DIM,
        bodies: model.bodies.iter().filter(|b| b.kind == BodyKind::Dynamic).count(),
        joints: model.joints.len(),
        contacts: 0,
        steps: 0,
        warm_up_steps: 0,
        us_least: 0.0,
        us_middle: 0.0,
        realtime_factor: 0.0,
        solves_per_step: 0.0,
        residual: 0.0,
        joint_error: 0.0,
        overlap: None,
        drift: None,
        error: None,
    };
    let mut total = StepReport::default();
    let warm = Instant::now();
    let budget = Duration::from_secs_f64(seconds);
    // One step at least, and not beyond a tenth of the scene: what is timed should still be the scene.
    while line.warm_up_steps == 0 || (warm.elapsed() < budget.mul_f64(WARM_UP) && line.warm_up_steps < steps_of_run / 10) {
        if let Err(error) = take(&mut world, &mut total, &mut line.contacts) {
            line.error = (!interrupt.raised()).then_some(error);
            return Ok(line);
        }
        line.warm_up_steps += 1;
    }
    let each = warm.elapsed().as_secs_f64() / line.warm_up_steps as f64;
    let left = (seconds - warm.elapsed().as_secs_f64()).max(0.0);
    // The scene goes on to its end and no further, so that every figure is one of the scene.
    let most = steps_of_run.saturating_sub(line.warm_up_steps).max(1);
    let block = ((left / each / BLOCKS as f64) as usize).clamp(1, most.div_ceil(BLOCKS));
    let mut times = Vec::with_capacity(BLOCKS);
    let clock = Instant::now();
    'blocks: for _ in 0..BLOCKS {
        let start = Instant::now();
        for _ in 0..block {
            if let Err(error) = take(&mut world, &mut total, &mut line.contacts) {
                line.error = (!interrupt.raised()).then_some(error);
                break 'blocks;
            }
            line.steps += 1;
        }
        times.push(start.elapsed().as_secs_f64() / block as f64);
        if clock.elapsed() > 2 * budget || line.steps >= most {
            break;
        }
    }
    times.sort_by(f64::total_cmp);
    const MICRO: f64 = 1e6;
    line.us_least = times.first().map_or(f64::NAN, |t| t * MICRO);
    line.us_middle = times.get(times.len() / 2).map_or(f64::NAN, |t| t * MICRO);
    line.realtime_factor = world.model().step * MICRO / line.us_least;
    line.solves_per_step = total.solves as f64 / (line.steps + line.warm_up_steps).max(1) as f64;
    (line.residual, line.joint_error) = (total.residual, total.joint_error.max(world.joint_error()));
    line.overlap = Some((-world.deepest()).max(0.0));
    let ledger = world.ledger();
    line.drift = (ledger.exchanged > EXCHANGED).then(|| (ledger.drift / ledger.exchanged).abs());
    Ok(line)
}

fn take<G: Geometry>(world: &mut World<G>, total: &mut StepReport, contacts: &mut usize) -> Result<(), String> {
    let report = world.step().map_err(|error| error.to_string())?;
    *contacts = (*contacts).max(report.contacts);
    total.merge(&report);
    Ok(())
}

fn table(lines: &[Line]) -> String {
    let heads = [
        "scene",
        "bodies",
        "joints",
        "contacts",
        "us/step",
        "middle",
        "x real time",
        "solves",
        "residual",
        "joint gap",
        "overlap",
        "drift",
    ];
    let mut rows = vec![heads.map(print::head).to_vec()];
    let small = |x: f64| if x == 0.0 { "0".to_string() } else { format!("{x:.0e}") };
    let maybe = |x: Option<f64>| x.map_or_else(|| "-".to_string(), small);
    for line in lines {
        if let Some(error) = &line.error {
            rows.push(vec![line.scene.clone(), print::bad(error)]);
            continue;
        }
        rows.push(vec![
            line.scene.clone(),
            line.bodies.to_string(),
            line.joints.to_string(),
            line.contacts.to_string(),
            print::rough(line.us_least),
            print::rough(line.us_middle),
            print::rough(line.realtime_factor),
            format!("{:.1}", line.solves_per_step),
            small(line.residual),
            small(line.joint_error),
            maybe(line.overlap),
            maybe(line.drift),
        ]);
    }
    let note = "us/step: microseconds of a step in the fastest and in the middle of the timed blocks, on this machine as it was. residual \
                [m/s], joint gap [m or rad], overlap [m]: the worst seen. drift: energy the ledger cannot account for, of what was exchanged.";
    format!("{}\n\n{}", print::columns(&rows), print::faint(&format!("{}. {note}", plural(lines.len(), "scene"))))
}
