//! `carom run`: a scene from its start, or a stopped run from where it stopped.

use crate::args::RunArgs;
use crate::failure::{Failure, Fault};
use crate::interrupt;
use crate::outputs::Outputs;
use crate::page;
use crate::print;
use crate::simulate::{Stop, simulate};
use crate::source::find_with;
use crate::summary::Summary;
use crate::watch::Watch;
use carom::Scene;
use carom::dynamics::{Model, World};
use carom::geometry::Geometry;
use carom::record::{Ending, Header, Log, LogWriter, RecordError};
use carom::scene::{SceneOf, from_toml_all, to_toml};
use carom_render::Draw;
use carom_web::About;
use std::path::PathBuf;
use std::time::Instant;

/// The scene of a plain `carom`.
const DEFAULT_SCENE: &str = "pool_break";
/// A time this close to a whole number of steps, as a fraction of a step, is that number.
const WHOLE: f64 = 1e-6;

/// A run about to start.
struct Job<'a> {
    args: &'a RunArgs,
    /// Name for people and for the result file.
    name: String,
    /// The complete text of what is run.
    text: String,
    /// The log it goes on from.
    resumed: Option<Log>,
}

/// Runs what the arguments say.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let (name, scene, resumed) = match &args.resume {
        Some(path) => {
            let log = Log::open(path)?;
            let header = log.header();
            if header.scene.is_empty() {
                return Err(Failure::bad_input(Fault::new(format!("{}: holds no scene, so it cannot be resumed here", path.display()))));
            }
            let scene = from_toml_all(&header.scene, &header.name).map_err(|errors| Failure::scene(&errors, &header.scene))?;
            (header.name.clone(), scene, Some(log))
        }
        None => {
            let source = find_with(args.scene.as_deref().unwrap_or(DEFAULT_SCENE), &args.import)?;
            let mut scene = source.scene;
            match &mut scene {
                Scene::Planar(scene) => change(&mut scene.model, args),
                Scene::Spatial(scene) => change(&mut scene.model, args),
            }
            (source.stem, scene, None)
        }
    };
    // What is run is what the log's own text says, changes included: so a log resumes to the same bits wherever it is taken.
    let text = to_toml(&scene);
    let scene = from_toml_all(&text, &name).map_err(|errors| Failure::scene(&errors, &text))?;
    let job = Job { args, name, text, resumed };
    match scene {
        Scene::Planar(scene) => go(&job, scene),
        Scene::Spatial(scene) => go(&job, scene),
    }
}

/// Applies `--impact` and `--step`.
fn change<G: Geometry>(model: &mut Model<G>, args: &RunArgs) {
    if let Some(law) = args.impact {
        model.options.impact = law;
    }
    if let Some(step) = args.step {
        model.step = step;
    }
}

/// Steps until a time is reached.
pub fn steps_until(time: f64, step: f64) -> u64 {
    let steps = time / step;
    let near = steps.round();
    // Saturates at the largest count, which no run reaches.
    if (steps - near).abs() <= WHOLE { near as u64 } else { steps.ceil() as u64 }
}

impl Job<'_> {
    /// Steps since the start at which the run ends.
    fn target(&self, duration: f64, step: f64) -> u64 {
        let wanted = self.resumed.as_ref().map(|log| log.header().steps_wanted);
        match (self.args.steps, self.args.time, wanted) {
            (Some(steps), _, _) => steps,
            (_, Some(time), _) => steps_until(time, step),
            (_, _, Some(wanted)) => wanted,
            _ => steps_until(duration, step),
        }
    }
    /// Files to write; none with `--no-out`.
    fn paths(&self) -> Vec<PathBuf> {
        if self.args.no_out {
            return Vec::new();
        }
        match (&self.args.out[..], &self.resumed) {
            // A part is finished under its own name.
            ([], Some(log)) if log.path().extension().is_some_and(|e| e == "part") => vec![log.path().with_extension("")],
            ([], Some(log)) => vec![log.path().to_path_buf()],
            ([], None) => vec![PathBuf::from(format!("{}.caromlog", self.name))],
            (out, _) => out.to_vec(),
        }
    }
    /// The log of this run, opened, with the start in it.
    fn writer<G: Geometry>(&self, outputs: &Outputs, world: &World<G>, target: u64) -> Result<LogWriter, RecordError> {
        if let Some(log) = &self.resumed {
            return log.continue_into(&outputs.log, target);
        }
        let header = Header { steps_wanted: target, ..Header::of(world.model(), self.name.clone(), self.text.clone()) };
        let mut writer = LogWriter::create(&outputs.log, &header)?;
        writer.record(world)?;
        Ok(writer)
    }
}

fn go<G: Draw>(job: &Job<'_>, scene: SceneOf<G>) -> Result<(), Failure> {
    let (duration, description) = (scene.duration, scene.description);
    let mut world = World::new(scene.model, scene.state).map_err(|error| Failure::model(&job.name, &error))?;
    let start = (job.args.out.iter().any(|path| page::is_page(path)) && job.resumed.is_some()).then(|| world.copy());
    let from = match &job.resumed {
        Some(log) => log.restore(&mut world)?,
        None => 0,
    };
    let target = job.target(duration, world.model().step);
    // From the first file on a wish to stop leaves everything in order.
    let interrupt = interrupt::listen();
    let paths = job.paths();
    let mut outputs = if paths.is_empty() { None } else { Some(Outputs::open(&paths, &job.args.picture)?) };
    let mut writer = outputs.as_ref().map(|outputs| job.writer(outputs, &world, target)).transpose()?;

    let about = About { name: &job.name, description: &description, duration };
    let watched = outputs.as_ref().is_some_and(Outputs::wants_page);
    let recorder = watched.then(|| page::recorder(start.as_ref().unwrap_or(&world), &about, from, target));
    let mut recorder = recorder.transpose()?;

    let progress = Watch::new(job.args.quiet, &job.name, from, target);
    let start = Instant::now();
    let watch = |world: &World<G>| {
        if let Some(recorder) = &mut recorder {
            recorder.record(world);
        }
    };
    let ran = simulate(&mut world, writer.as_mut(), watch, from, target, &interrupt, &progress);
    let wall = start.elapsed();
    drop(progress);
    let (tally, stop) = ran.map_err(|error| {
        let part = outputs.as_ref().map_or_else(String::new, |o| o.part().display().to_string());
        Failure::Failed(vec![Fault::new(error.to_string()).help(format!("what was written before is in {part}; it can be resumed"))])
    })?;

    let mut undrawn = false;
    let mut summary = Summary::new(&job.name, &world, &tally, &stop, from + tally.steps, wall);
    if let Some((outputs, writer)) = outputs.take().zip(writer) {
        let ending = match &stop {
            Stop::Finished => Ending::Finished,
            Stop::Interrupted => Ending::Stopped,
            Stop::Failed(error) => Ending::Failed(error.to_string()),
        };
        writer.finish(&world, ending)?;
        let log = outputs.log.clone();
        let unfinished = matches!(stop, Stop::Interrupted);
        if unfinished {
            summary.can_go_on_from(log.display().to_string());
        }
        match outputs.finish(world.model(), recorder.as_ref(), &interrupt, unfinished, job.args.quiet) {
            Ok(files) => summary.wrote(files.iter().map(|p| p.display().to_string()).collect()),
            Err(Failure::Interrupted) => {
                print::note(&format!("stopped while drawing; the run itself is safe in {0}: `carom convert {0} FILE`", log.display()));
                summary.wrote(vec![log.display().to_string()]);
                undrawn = true;
            }
            Err(failure) => return Err(failure),
        }
    }
    if job.args.json {
        print::json(&summary)?;
    } else if !job.args.quiet {
        print::line(&summary.text())?;
    }
    match stop {
        // The summary on standard output already carries the error for programs.
        Stop::Failed(error) => {
            Failure::step(&error).explain();
            Err(Failure::Told)
        }
        Stop::Finished | Stop::Interrupted if undrawn => Err(Failure::Interrupted),
        Stop::Finished | Stop::Interrupted => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_rounded_up_to_whole_steps_but_not_by_rounding_errors() {
        assert_eq!(steps_until(10.0, 0.005), 2000);
        assert_eq!(steps_until(0.3, 0.1), 3);
        assert_eq!(steps_until(0.31, 0.1), 4);
        assert_eq!(steps_until(0.0, 0.1), 0);
        assert_eq!(steps_until(f64::MAX, 1e-9), u64::MAX);
    }
}
