//! The contact solver on problems that scenes meet: falling, settling and resting crowds, captured before they are solved and solved again, warm and from nothing.
//!
//! `cargo test --release -p carom-tests --test contact -- --nocapture` prints the table; `CAROM_FULL=1` runs every family for longer,
//! `CAROM_SAVE=DIR` keeps the problems as files.

use carom_dynamics::world::World;
use carom_scene::Scene;
use carom_solve::contact::bodies::Bodies;
use carom_solve::contact::problem_file::{Stored, freedoms};
use carom_solve::contact::solver::{Answer, Solver};
use carom_solve::contact::system::System;
use carom_solve::contact::task::Task;
use carom_solve::interrupt::Interrupt;
use carom_solve::status::{Method, RESIDUAL_AIM};
use carom_tests::crowds::{Solids, arch, grasp, pile, pyramid, ropes, stack, wall, wedged};
use carom_tests::full;
use std::time::Instant;

mod edits;
mod rest;
mod rough;
mod sensors;

const STEP: f64 = 1.0 / 240.0;

/// One family: a scene, how long it runs, and every how manyth problem is kept.
struct Family {
    name: &'static str,
    text: String,
    steps: usize,
    every: usize,
}

/// What became of the problems of a family.
#[derive(Default)]
struct Tally {
    problems: usize,
    exact: usize,
    /// Above 1e-8 but below 1e-6 m/s.
    close: usize,
    worst: f64,
    factors: usize,
    most: usize,
    seconds: f64,
    methods: [usize; Method::COUNT],
}

impl Tally {
    fn count(&mut self, answer: Answer, scale: f64, seconds: f64) {
        self.problems += 1;
        self.exact += usize::from(answer.residual <= 1e-8);
        self.close += usize::from(answer.residual > 1e-8 && answer.residual * scale <= 1e-6);
        self.worst = self.worst.max(answer.residual);
        self.factors += answer.factors;
        self.most = self.most.max(answer.factors);
        self.seconds += seconds;
        self.methods[answer.method as usize] += 1;
    }

    fn print(&self, name: &str, how: &str) {
        let n = self.problems.max(1) as f64;
        println!(
            "{name:<12} {how} {:>5} problems, {:>5} at 1e-8, {:>2} more at 1e-6 m/s, worst {:.0e}, factors {:>5.1} (most {:>4}), {:>8.3} ms; trivial, modes, interior point, Lemke, Newton, \
             sweeps, path: {:?}",
            self.problems,
            self.exact,
            self.close,
            self.worst,
            self.factors as f64 / n,
            self.most,
            self.seconds / n * 1e3,
            self.methods
        );
    }
}

/// Runs a scene and keeps some of its problems.
fn captured(family: &Family) -> Vec<Vec<f64>> {
    let mut kept = Vec::new();
    match carom_scene::from_toml(&family.text, family.name) {
        Ok(Scene::Spatial(scene)) => keep(World::new(scene.model, scene.state), family, &mut kept),
        Ok(Scene::Planar(scene)) => keep(World::new(scene.model, scene.state), family, &mut kept),
        Err(error) => panic!("{}: {error}", family.name),
    }
    kept
}

fn keep<G: carom_geometry::Geometry, E: std::fmt::Debug>(world: Result<World<G>, E>, family: &Family, kept: &mut Vec<Vec<f64>>) {
    let mut world = world.unwrap_or_else(|error| panic!("{}: {error:?}", family.name));
    world.capture_problems(true);
    let mut met = 0;
    let folder = std::env::var_os("CAROM_SAVE").map(std::path::PathBuf::from);
    for _ in 0..family.steps {
        world.step().unwrap_or_else(|error| panic!("{}: {error}", family.name));
        for problem in world.captured_problems() {
            if met % family.every == 0 {
                if let Some(folder) = &folder {
                    let bytes: Vec<u8> = problem.iter().flat_map(|x| x.to_le_bytes()).collect();
                    let file = folder.join(format!("{}-{met:06}.problem", family.name.replace(' ', "_")));
                    std::fs::write(file, bytes).expect("room for a problem");
                }
                kept.push(problem);
            }
            met += 1;
        }
    }
}

fn solve<const B: usize>(numbers: &[f64], tallies: &mut [Tally; 2]) {
    let stored = Stored::<B>::read(numbers).expect("a problem that was just written");
    for (tally, warm) in tallies.iter_mut().zip([false, true]) {
        let mut rows: Bodies<B> = stored.bodies.clone();
        let task = Task::new(&stored.laws, &stored.free, RESIDUAL_AIM);
        let mut impulses = vec![0.0; stored.free.len()];
        let begun = Instant::now();
        let answer = Solver::default().solve(&mut rows, &task, warm.then_some(&stored.warm[..]), false, &Interrupt::NEVER, &mut impulses);
        tally.count(answer, task.scale, begun.elapsed().as_secs_f64());
        // What it says of its residual is true.
        let mut velocity = vec![0.0; stored.free.len()];
        let again = task.judge(&mut rows, &impulses, &mut velocity);
        assert!((again - answer.residual).abs() <= 1e-9 * again + 1e-15, "said {:e}, is {again:e}", answer.residual);
        let _ = rows.layout();
    }
}

fn run(family: &Family) -> [Tally; 2] {
    let mut tallies = [Tally::default(), Tally::default()];
    for numbers in captured(family) {
        if freedoms(&numbers) == 6 { solve::<6>(&numbers, &mut tallies) } else { solve::<3>(&numbers, &mut tallies) }
    }
    for (tally, how) in tallies.iter().zip(["cold", "warm"]) {
        tally.print(family.name, how);
    }
    tallies
}

fn ragdoll() -> String {
    carom_scene::scene("ragdoll").map_or_else(String::new, |scene| scene.text.to_string())
}

/// At least 99.9 % of the problems of a family are solved to 1e-8; of the `hard` ones, large ball piles and taut ropes, 95 %, the rest to 1e-6 m/s.
fn check(family: Family, least: usize, hard: bool) {
    for tally in run(&family) {
        assert!(tally.problems >= least, "{}: only {} problems", family.name, tally.problems);
        let missed = tally.problems - tally.exact;
        if hard {
            assert!(missed * 20 <= tally.problems && missed == tally.close, "{}: {missed} missed", family.name);
        } else {
            assert!(missed * 1000 <= tally.problems, "{}: {missed} of {} missed, worst {:e}", family.name, tally.problems, tally.worst);
        }
    }
}

/// Few steps in the ordinary tests, the whole fall in the full ones.
fn steps(few: usize, many: usize) -> usize {
    if full() { many } else { few }
}

#[test]
fn balls() {
    check(Family { name: "balls 27", text: pile(Solids::Balls, 27, 0.5, STEP, 1), steps: steps(110, 480), every: 3 }, 50, false);
    if full() {
        check(Family { name: "balls 64", text: pile(Solids::Balls, 64, 0.65, STEP, 1), steps: 360, every: 3 }, 50, false);
        check(Family { name: "balls 125", text: pile(Solids::Balls, 125, 0.8, STEP, 1), steps: 300, every: 23 }, 50, true);
    }
}

#[test]
fn boxes() {
    check(
        Family { name: "boxes 27", text: pile(Solids::Boxes, 27, 0.5, STEP, 1), steps: steps(60, 300), every: if full() { 1 } else { 5 } },
        50,
        false,
    );
    if full() {
        check(Family { name: "boxes 64", text: pile(Solids::Boxes, 64, 0.65, STEP, 1), steps: 200, every: 7 }, 50, false);
    }
}

#[test]
fn mixed_solids() {
    check(Family { name: "mixed 32", text: pile(Solids::Mixed, 32, 0.55, STEP, 1), steps: steps(60, 300), every: 5 }, 50, false);
}

#[test]
fn walls() {
    check(Family { name: "wall 5 x 6", text: wall(5, 6, 0.0, STEP, false), steps: steps(30, 100), every: 1 }, 50, false);
    if full() {
        check(Family { name: "wall struck", text: wall(5, 6, 0.0, STEP, true), steps: 240, every: 4 }, 50, false);
    }
}

#[test]
fn pyramids_stacks_and_arches() {
    check(Family { name: "pyramid 55", text: pyramid(10, STEP), steps: steps(30, 60), every: 1 }, 50, false);
    check(Family { name: "stack 10", text: stack(10, STEP), steps: steps(30, 60), every: 1 }, 50, false);
    check(Family { name: "arch 12", text: arch(12, STEP), steps: steps(30, 60), every: 1 }, 50, false);
}

#[test]
fn balls_between_tilted_walls() {
    check(Family { name: "wedged 20", text: wedged(20, STEP), steps: steps(60, 240), every: 5 }, 50, false);
}

#[test]
fn mechanisms() {
    // A taut rope all but locks the contacts along it.
    check(Family { name: "ropes 4 x 6", text: ropes(4, 6, STEP), steps: steps(40, 200), every: 2 }, 50, true);
    check(Family { name: "ragdoll", text: ragdoll(), steps: steps(200, 600), every: 1 }, 50, false);
    check(Family { name: "grasp", text: grasp(STEP), steps: steps(60, 240), every: 1 }, 50, false);
}

/// Problems that scenes met and that once stopped short of 1e-8: rows that contradict each other by rounding, and paths that fold.
#[test]
fn problems_that_were_hard_once_are_solved() {
    for (name, bytes) in [
        ("balls 64", &include_bytes!("hard/balls_64-003465.problem")[..]),
        ("boxes 27", &include_bytes!("hard/boxes_27-003770.problem")[..]),
        ("mixed 32", &include_bytes!("hard/mixed_32-007090.problem")[..]),
        ("ragdoll", &include_bytes!("hard/ragdoll-004394.problem")[..]),
    ] {
        let numbers: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|number| f64::from_le_bytes(*number)).collect();
        let mut tallies = [Tally::default(), Tally::default()];
        solve::<6>(&numbers, &mut tallies);
        for tally in tallies {
            assert_eq!(tally.exact, 1, "{name}: {:e} after {} factorisations", tally.worst, tally.factors);
        }
    }
}
