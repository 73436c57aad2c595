//! Time, work and accuracy of scenes with many contacts, while they fall and at rest.
//!
//! Run: `cargo run --release -p carom --example piles`, or with the names of some of its scenes (`-- balls_27 wall_5x6`), or with scene files of your
//! own, each followed by its seconds (`-- pile.toml 2`): their second half counts as rest. Times are processor time of the one thread that steps, so
//! that a busy machine says the same.

use carom::prelude::*;
use carom::scene::{from_toml, scene};
use carom_tests::crowds::{Solids, pile, planar_pile, pyramid, stack, wall};

const STEP: f64 = 1.0 / 240.0;

/// A scene of the table: how long it falls before it counts as resting, how long it is looked at then, and what it is to reach.
struct Row {
    name: String,
    text: String,
    falling: f64,
    resting: f64,
    target: &'static str,
    /// It comes to rest as loosely as this says [m/s] and is measured from there on.
    settled: Option<f64>,
}

fn row(name: &str, text: String, falling: f64, resting: f64, target: &'static str) -> Row {
    Row { name: name.to_string(), text, falling, resting, target, settled: None }
}

fn embedded(name: &str) -> String {
    scene(name).map_or_else(String::new, |scene| scene.text.to_string())
}

/// The same scene with a tolerance of solves [m/s].
fn loose(text: &str, tolerance: f64) -> String {
    text.replacen("[materials.m]", &format!("[tolerances]\nsolve = {tolerance}\n[materials.m]"), 1)
}

fn table() -> Vec<Row> {
    let balls = pile(Solids::Balls, 1000, 1.35, STEP, 1);
    let thousand = |name: &str, text: String, target| Row { settled: Some(1e-3), ..row(name, text, 3.0, 0.125, target) };
    vec![
        row("balls_27", pile(Solids::Balls, 27, 0.5, STEP, 1), 2.0, 1.0, "5 x, no step above 100 ms"),
        row("boxes_27", pile(Solids::Boxes, 27, 0.5, STEP, 1), 2.0, 1.0, "3 x, no step above 100 ms"),
        row("mixed_32", pile(Solids::Mixed, 32, 0.55, STEP, 1), 2.0, 1.0, "2 x, no step above 100 ms"),
        row("balls_125", pile(Solids::Balls, 125, 0.8, STEP, 1), 2.0, 0.5, "0.5 x, then 2 x"),
        row("boxes_125", pile(Solids::Boxes, 125, 0.8, STEP, 1), 2.0, 0.5, "0.5 x, then 2 x"),
        row("wall_5x6", wall(5, 6, 0.0, STEP, true), 2.0, 1.0, "3 x"),
        row("wall_8x8", wall(8, 8, 0.01, 0.005, true), 2.0, 1.0, "1 x"),
        row("pyramid_55", pyramid(10, STEP), 0.1, 1.0, "900 us at rest"),
        row("stack_10", stack(10, STEP), 0.1, 1.0, "50 us at rest"),
        row("planar_30", planar_pile(30, 5, 0.005), 2.0, 1.0, "10 x"),
        row("planar_45", planar_pile(45, 6, 0.005), 2.0, 1.0, "5 x"),
        thousand("balls_1000", balls.clone(), "100 ms at rest"),
        thousand("loose_1000", loose(&balls, 1e-3), "12 ms at rest"),
        row("ragdoll", embedded("ragdoll"), 2.0, 1.0, "5 x"),
        row("grasp", embedded("grasp"), 2.0, 1.0, "5 x"),
    ]
}

/// Processor time of this thread \[s\].
#[cfg(unix)]
fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Time of the clock \[s\], where the thread's own is not to be had.
#[cfg(not(unix))]
fn processor_time() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Sums over the steps of one part of a run.
#[derive(Default)]
struct Part {
    steps: usize,
    seconds: f64,
    slowest: f64,
    total: StepReport,
    /// Solves of the island that had most, step by step.
    island_solves: usize,
    stepped: usize,
    inaccurate: usize,
}

impl Part {
    fn count(&mut self, seconds: f64, report: &StepReport) {
        self.steps += 1;
        self.seconds += seconds;
        self.slowest = self.slowest.max(seconds);
        self.island_solves += report.island_solves;
        self.stepped += usize::from(report.stepped > 0);
        self.inaccurate += usize::from(report.inaccurate);
        self.total.merge(report);
    }
}

/// The energy exchanged, at least what rounding leaves of the energy that is there: a pile at rest exchanges none.
fn exchanged(ledger: &Ledger) -> f64 {
    ledger.exchanged.max(1e-9 * (ledger.kinetic + ledger.potential.abs() + ledger.elastic)).max(f64::MIN_POSITIVE)
}

/// What is told of a whole run.
#[derive(Default)]
struct Accuracy {
    overlap: f64,
    gained: f64,
    least: Option<f64>,
    contacts: usize,
}

impl Accuracy {
    fn look<G: Geometry>(&mut self, world: &World<G>, report: &StepReport, size: f64) {
        self.overlap = self.overlap.max(-world.deepest() / size);
        self.contacts = self.contacts.max(report.contacts);
        let ledger = world.ledger();
        // What nothing put in.
        let energy = ledger.kinetic + ledger.potential + ledger.elastic - ledger.flow.work_in;
        let least = self.least.map_or(energy, |least| least.min(energy));
        self.gained = self.gained.max((energy - least) / exchanged(&ledger));
        self.least = Some(least);
    }
}

fn measure<G: Geometry>(mut scene: SceneOf<G>, row: &Row) -> Result<(), Box<dyn std::error::Error>> {
    let step = scene.model.step;
    let steps = |seconds: f64| (seconds / step).round() as usize;
    let mut falling = steps(row.falling);
    let dynamic = scene.model.bodies.iter().filter(|body| body.kind == BodyKind::Dynamic);
    let size = dynamic.map(|body| body.extent()).fold(f64::INFINITY, f64::min);
    if let Some(tolerance) = row.settled {
        let mut model = scene.model.clone();
        model.tolerances.solve = Some(tolerance);
        let mut world = World::new(model, scene.state.clone())?;
        for _ in 0..falling {
            world.step()?;
        }
        scene.state = world.state().clone();
        // The first steps find the modes.
        falling = 10;
    }
    let mut world = World::new(scene.model, scene.state)?;
    let mut parts = [Part::default(), Part::default()];
    let mut accuracy = Accuracy::default();
    for index in 0..falling + steps(row.resting) {
        let start = processor_time();
        let report = world.step()?;
        let time = processor_time() - start;
        parts[usize::from(index >= falling)].count(time, &report);
        accuracy.look(&world, &report, size);
    }
    let speed = world.state().twists.iter().fold(0.0f64, |most, twist| most.max(twist.lin.norm()));
    print(row, step, &parts, &accuracy, &world.ledger(), speed);
    Ok(())
}

fn print(row: &Row, step: f64, parts: &[Part; 2], accuracy: &Accuracy, ledger: &Ledger, speed: f64) {
    let each = |part: &Part, n: usize| n as f64 / part.steps.max(1) as f64;
    let rates = parts.each_ref().map(|part| part.steps as f64 * step / part.seconds);
    let seconds = parts[0].seconds + parts[1].seconds;
    let all = (parts[0].steps + parts[1].steps) as f64 * step / seconds;
    let solves = parts.each_ref().map(|part| each(part, part.total.solves));
    let island = parts.each_ref().map(|part| each(part, part.island_solves));
    let factors = parts.each_ref().map(|part| each(part, part.total.factorisations));
    let answers: usize = parts.iter().map(|part| part.total.solves + part.total.substitutions).sum();
    let rough: usize = parts.iter().map(|part| part.total.rough).sum();
    println!(
        "{:<11} {:>8.2} {:>8.2} {:>8.2} {:>9.0} {:>8.1} {:>5.1} {:>5.1} {:>5.1} {:>5.1} {:>6.1} {:>6.1} {:>7.3} {:>5} {:>8.0e} {:>8.0e} {:>8.0e} {:>6}/{:<6} {:>6} {:>7.0e}  {}",
        row.name,
        all,
        rates[0],
        rates[1],
        parts[1].seconds / parts[1].steps.max(1) as f64 * 1e6,
        parts[0].slowest.max(parts[1].slowest) * 1e3,
        solves[0],
        solves[1],
        island[0],
        island[1],
        factors[0],
        factors[1],
        rough as f64 / answers.max(1) as f64 * 100.0,
        parts[0].inaccurate + parts[1].inaccurate,
        accuracy.overlap,
        ledger.drift.abs() / exchanged(ledger),
        accuracy.gained,
        parts[0].stepped,
        parts[1].stepped,
        accuracy.contacts,
        speed,
        row.target
    );
}

/// The rows that were asked for: names of the table, or files, each with its seconds.
fn asked() -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_none() {
        return Ok(table());
    }
    let mut rows = Vec::new();
    while let Some(name) = arguments.next() {
        let seconds = arguments.next_if(|next| next.parse::<f64>().is_ok()).and_then(|text| text.parse::<f64>().ok());
        let known = table().into_iter().find(|row| row.name == name);
        let mut found = match known {
            Some(found) => found,
            None if name.ends_with(".toml") => {
                let short = name.rsplit('/').next().unwrap_or(&name).trim_end_matches(".toml");
                row(short, std::fs::read_to_string(&name)?, 0.5, 0.5, "")
            }
            None if scene(&name).is_some() => row(&name, embedded(&name), 0.5, 0.5, ""),
            None => {
                let names: Vec<String> = table().into_iter().map(|row| row.name).collect();
                return Err(format!("no scene {name}: take a file, an embedded scene, or one of {}", names.join(", ")).into());
            }
        };
        if let Some(seconds) = seconds {
            let ratio = seconds / (found.falling + found.resting);
            (found.falling, found.resting) = (found.falling * ratio, found.resting * ratio);
        }
        rows.push(found);
    }
    Ok(rows)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One thread for all, this one, so that its time is the whole.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let rows = asked()?;
    println!(
        "times real time: whole run, falling, at rest; microseconds of a step at rest; slowest step [ms]; of a step, falling and at rest: solves, those"
    );
    println!(
        "of the island that had most, factorisations; per cent of the solves above 1e-8 m/s; steps flagged inaccurate; overlap over size; ledger drift and energy gained over the energy"
    );
    println!("exchanged; stepped steps, falling/at rest; most contacts; fastest body at the end [m/s]");
    println!(
        "{:<11} {:>8} {:>8} {:>8} {:>9} {:>8} {:>11} {:>11} {:>13} {:>7} {:>5} {:>8} {:>8} {:>8} {:>13} {:>6} {:>7}  to reach",
        "scene",
        "whole",
        "falling",
        "rest",
        "us",
        "slowest",
        "solves",
        "island",
        "factors",
        "%",
        "flags",
        "overlap",
        "drift",
        "gained",
        "stepped",
        "most",
        "speed"
    );
    for row in rows {
        match from_toml(&row.text, &row.name)? {
            Scene::Planar(scene) => measure(scene, &row)?,
            Scene::Spatial(scene) => measure(scene, &row)?,
        }
    }
    Ok(())
}
