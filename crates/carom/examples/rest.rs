//! A model on the ground until it rests: how fast, how exactly, and how high its roots then are. `tests/imports/rest.py` lays it beside MuJoCo.
//!
//! Run: `cargo run --release -p carom --example rest -- MODEL SECONDS [STEP] [fixed] [hold]`. Prints one line of JSON: the time simulated over the processor time of the
//! one thread that steps, steps that were `inaccurate` or `stepped` in all and in the second half, the largest speed at the end, and the height of the centre of mass of
//! every moving body at the start and at the end.

use carom::import::{Base, Options, load};
use carom::prelude::*;
use carom::scene::Scene;
use std::fmt::Write;

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("needs MODEL SECONDS")?;
    let seconds: f64 = words.next().ok_or("needs SECONDS")?.parse()?;
    let words: Vec<String> = words.collect();
    let said = |word: &str| words.iter().any(|w| w == word);
    let urdf = path.ends_with(".urdf");
    let base = if said("fixed") { Base::Fixed } else { Base::Auto };
    let options = Options { ground: urdf && base == Base::Auto, hold: said("hold"), controls: !urdf, base, ..Options::default() };
    let import = load(&path, &options)?;
    let Scene::Spatial(mut scene) = import.scene else { return Err("models are spatial".into()) };
    if let Some(step) = words.first().and_then(|word| word.parse().ok()) {
        scene.model.step = step;
    }
    let step = scene.model.step;
    let mut world = World::new(scene.model, scene.state)?;
    let start: Vec<f64> = world.state().poses.iter().map(|pose| pose.position[2]).collect();
    let idle = vec![0.0; world.model().control_count()];
    let steps = (seconds / step).round() as usize;
    let (mut spent, mut slowest) = (0.0, 0.0f64);
    let mut counts = [[0usize; 2]; 2];
    for count in 0..steps {
        let before = processor_time();
        let report = world.step_with(&idle)?;
        let took = processor_time() - before;
        (spent, slowest) = (spent + took, slowest.max(took));
        for half in 0..=usize::from(2 * count >= steps) {
            counts[half][0] += usize::from(report.inaccurate);
            counts[half][1] += usize::from(report.stepped > 0);
        }
    }
    let fastest = world.state().twists.iter().fold(0.0f64, |most, twist| most.max(twist.lin.norm()));
    let mut heights = String::new();
    let moving = world.model().bodies.iter().zip(&start).zip(&world.state().poses).filter(|((body, _), _)| body.kind == BodyKind::Dynamic);
    for ((body, start), end) in moving {
        let comma = if heights.is_empty() { "" } else { ", " };
        write!(heights, "{comma}{:?}: [{start}, {}]", body.name, end.position[2])?;
    }
    let [all, late] = counts;
    println!(
        "{{\"step\": {step}, \"rate\": {:.3}, \"slowest\": {slowest:.5}, \"inaccurate\": {all0}, \"stepped\": {all1}, \"inaccurate_late\": {late0}, \
         \"stepped_late\": {late1}, \"speed\": {fastest:e}, \"notes\": {}, \"heights\": {{{heights}}}}}",
        steps as f64 * step / spent,
        import.notes.len(),
        all0 = all[0],
        all1 = all[1],
        late0 = late[0],
        late1 = late[1],
    );
    Ok(())
}
