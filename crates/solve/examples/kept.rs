//! Solves problems that were kept as files (`CAROM_SAVE=DIR cargo test --release -p carom-tests --test contact`), warm and from nothing, as a step does
//! that needs 1e-8 m/s and no more.
//!
//! Run: `cargo run --release -p carom-solve --example kept -- DIR...`; `--each` prints every problem that is missed or dear.

use carom_solve::contact::bodies::Bodies;
use carom_solve::contact::problem_file::{Stored, freedoms};
use carom_solve::contact::solver::{Answer, Solver};
use carom_solve::contact::task::Task;
use carom_solve::interrupt::Interrupt;
use carom_solve::status::{Method, RESIDUAL_AIM, RESIDUAL_WANTED};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Miss of a law that serves [m/s].
const SPEED: f64 = 1e-8;
/// Miss at which a step of a heap looks no further, though it counts as missed [m/s].
const PASSABLE: f64 = 1e-5;
/// Factorisations from which on a problem counts as dear.
const DEAR: usize = 100;

/// What became of the problems so far.
#[derive(Default)]
struct Tally {
    problems: usize,
    missed: usize,
    worst: f64,
    factors: usize,
    most: usize,
    seconds: f64,
    methods: [usize; Method::COUNT],
}

fn solve<const B: usize>(name: &str, numbers: &[f64], tallies: &mut [Tally; 2], each: bool) {
    let Some(stored) = Stored::<B>::read(numbers) else {
        println!("{name}: not a problem");
        return;
    };
    for (tally, warm) in tallies.iter_mut().zip([false, true]) {
        let mut rows: Bodies<B> = stored.bodies.clone();
        let mut task = Task::new(&stored.laws, &stored.free, RESIDUAL_AIM);
        let wanted = RESIDUAL_WANTED.max(SPEED / task.scale);
        (task.enough, task.serves, task.passable) = (wanted, wanted, PASSABLE / task.scale);
        let mut impulses = vec![0.0; stored.free.len()];
        let begun = Instant::now();
        let answer: Answer =
            Solver::default().solve(&mut rows, &task, warm.then_some(&stored.warm[..]), false, &Interrupt::NEVER, &mut impulses);
        let seconds = begun.elapsed().as_secs_f64();
        let missed = answer.residual > wanted;
        tally.problems += 1;
        tally.missed += usize::from(missed);
        tally.worst = tally.worst.max(answer.residual * task.scale);
        tally.factors += answer.factors;
        tally.most = tally.most.max(answer.factors);
        tally.seconds += seconds;
        tally.methods[answer.method as usize] += 1;
        if each && (missed || answer.factors >= DEAR) {
            println!(
                "{name} {} {} bodies {} blocks {} rows, scale {:.1e} m/s: {:.1e} m/s by {:?}, {} factorisations, {:.1} ms",
                if warm { "warm" } else { "cold" },
                rows.count(),
                stored.laws.len(),
                stored.free.len(),
                task.scale,
                answer.residual * task.scale,
                answer.method,
                answer.factors,
                seconds * 1e3
            );
        }
    }
}

fn main() -> std::io::Result<()> {
    let each = std::env::args().any(|argument| argument == "--each");
    for folder in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        let folder = Path::new(&folder);
        let mut files: Vec<PathBuf> = if folder.is_dir() {
            std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?
        } else {
            vec![folder.to_path_buf()]
        };
        files.retain(|file| file.extension().is_some_and(|end| end == "problem"));
        files.sort();
        let mut tallies = [Tally::default(), Tally::default()];
        for file in &files {
            let bytes = std::fs::read(file)?;
            let numbers: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|number| f64::from_le_bytes(*number)).collect();
            let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if freedoms(&numbers) == 6 {
                solve::<6>(&name, &numbers, &mut tallies, each)
            } else {
                solve::<3>(&name, &numbers, &mut tallies, each)
            }
        }
        for (tally, how) in tallies.iter().zip(["cold", "warm"]) {
            let n = tally.problems.max(1) as f64;
            println!(
                "{} {how}: {} problems, {} missed, worst {:.1e} m/s, factorisations {:.2} (most {}), {:.3} ms; trivial, modes, interior point, Lemke, Newton, sweeps, path: {:?}",
                folder.display(),
                tally.problems,
                tally.missed,
                tally.worst,
                tally.factors as f64 / n,
                tally.most,
                tally.seconds / n * 1e3,
                tally.methods
            );
        }
    }
    Ok(())
}
