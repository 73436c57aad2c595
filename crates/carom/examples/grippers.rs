//! What a step costs by the length of a chain of mimic grippers: each hangs by a hinge on the one before, and its two fingers slide alike, held by a coupling.
//!
//! Run: `cargo run --release -p carom --example grippers`. Prints the microseconds of processor time that a step takes for each gripper, the least of several runs.

use carom::prelude::*;
use carom::scene::{Scene, from_toml};
use std::fmt::Write;

const STEPS: usize = 40;
const RUNS: usize = 5;

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

fn chain(count: usize, coupled: bool) -> Result<String, std::fmt::Error> {
    let mut out = "dimension = 3\nstep = 0.001\n".to_string();
    for i in 0..count {
        let x = 0.3 * i as f64;
        let before = if i == 0 { "world".to_string() } else { format!("palm{}", i - 1) };
        writeln!(out, "[[body]]\nname = \"palm{i}\"\nmass = 1\ninertia = [0.01, 0.01, 0.01]\nposition = [{}, 0, 0]", x + 0.15)?;
        writeln!(
            out,
            "[[joint]]\nname = \"hinge{i}\"\nkind = \"hinge\"\nbetween = [\"palm{i}\", \"{before}\"]\nanchor = [{x}, 0, 0]\naxis = [0, 1, 0]"
        )?;
        for (side, y) in [("left", 0.05), ("right", -0.05)] {
            writeln!(
                out,
                "[[body]]\nname = \"{side}{i}\"\nmass = 0.2\ninertia = [0.001, 0.001, 0.001]\nposition = [{}, {y}, -0.1]",
                x + 0.15
            )?;
            let between = format!("[\"{side}{i}\", \"palm{i}\"]");
            writeln!(
                out,
                "[[joint]]\nname = \"{side}{i}\"\nkind = \"slider\"\nbetween = {between}\nanchor = [{}, {y}, 0]\naxis = [0, 1, 0]",
                x + 0.15
            )?;
        }
        if coupled {
            writeln!(out, "[[joint]]\nname = \"mimic{i}\"\nkind = \"coupling\"\njoints = {{ left{i} = 1, right{i} = 1 }}")?;
        }
    }
    Ok(out)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("| grippers | us a step and gripper | the same without couplings |\n|---|---|---|");
    for count in [8, 16, 32, 64, 128] {
        let mut least = [f64::INFINITY; 2];
        for _ in 0..RUNS {
            for (coupled, least) in [true, false].into_iter().zip(&mut least) {
                let Scene::Spatial(scene) = from_toml(&chain(count, coupled)?, "grippers")? else { return Err("a spatial scene".into()) };
                let mut world = World::new(scene.model, scene.state)?;
                world.step()?;
                let before = processor_time();
                for _ in 0..STEPS {
                    world.step()?;
                }
                *least = least.min((processor_time() - before) / (STEPS * count) as f64 * 1e6);
            }
        }
        println!("| {count} | {:.2} | {:.2} |", least[0], least[1]);
    }
    Ok(())
}
