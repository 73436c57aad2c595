//! What a step of two hinged blocks costs beside one of a cube, by processor time over measured tosses: `jointed DIR`, the folder with `elbow.npz`. Ends with 1
//! where a body of the two costs more than twice a cube.

use carom::dynamics::{State, StepReport, World};
use carom::math::Spatial;
use carom::scene::{Scene, from_toml};
use carom_validate::{Tosses, Trouble, cube, elbow};
use std::path::Path;
use std::process::ExitCode;

/// Most that a body of the two may cost, in cubes.
const MOST: f64 = 2.0;

/// Processor time of this thread \[s\].
#[cfg(unix)]
fn seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// Time of the clock \[s\], where the thread's own is not to be had.
#[cfg(not(unix))]
fn seconds() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// What a toss starts from, with as many states as it has frames.
struct Begin {
    id: i64,
    state: State<Spatial>,
    frames: usize,
}

/// Words for what was out of the ordinary.
fn odd(report: &StepReport) -> Vec<&'static str> {
    let flags = [
        (report.inaccurate, "inaccurate"),
        (report.impact_capped, "impact capped"),
        (report.unconverged, "unconverged"),
        (report.stepped > 0, "stepped"),
    ];
    flags.iter().filter(|f| f.0).map(|f| f.1).collect()
}

/// Microseconds a step, over all tosses.
fn cost(name: &str, world: &World<Spatial>, begins: &[Begin]) -> Result<f64, Trouble> {
    let failed = |e: String| Trouble::Failed(format!("{name}: {e}"));
    let (mut all, mut steps, mut longest) = (0.0, 0usize, (0.0, 0, 0));
    let mut flagged: Vec<(i64, usize, Vec<&'static str>, f64)> = Vec::new();
    for begin in begins {
        let mut world = world.copy();
        world.set_state(begin.state.clone()).map_err(|e| failed(e.to_string()))?;
        for step in 1..begin.frames {
            let clock = seconds();
            let report = world.step().map_err(|e| failed(e.to_string()))?;
            let took = seconds() - clock;
            (all, steps) = (all + took, steps + 1);
            if took > longest.0 {
                longest = (took, begin.id, step);
            }
            let words = odd(&report);
            if !words.is_empty() {
                flagged.push((begin.id, step, words, report.residual));
            }
        }
    }
    let each = 1e6 * all / steps as f64;
    println!(
        "{name}: {each:.1} us a step over {steps} steps; the longest {:.2} ms (toss {}, step {})",
        1e3 * longest.0,
        longest.1,
        longest.2
    );
    println!("{name}: {} steps flagged", flagged.len());
    for (id, step, words, residual) in &flagged {
        println!("    toss {id}, step {step}: {} (residual {residual:.1e} m/s)", words.join(", "));
    }
    Ok(each)
}

fn world(text: &str) -> Result<World<Spatial>, Trouble> {
    let failed = |e: String| Trouble::Failed(e);
    match from_toml(text, "scene").map_err(|e| failed(e.to_string()))? {
        Scene::Spatial(scene) => World::new(scene.model, scene.state).map_err(|e| failed(e.to_string())),
        Scene::Planar(_) => Err(failed("the scene is planar".to_string())),
    }
}

fn run() -> Result<bool, Trouble> {
    let folder = std::env::args().nth(1).ok_or_else(|| Trouble::Failed("name the folder with elbow.npz".to_string()))?;
    let table = world(&cube::fitted().scene())?;
    let begin = |id: i64, state: State<Spatial>, frames: usize| Begin { id, state, frames };
    let cubes = Tosses::shipped()?.all;
    let cubes: Vec<Begin> = cubes
        .iter()
        .map(|toss| {
            let (first, pose, twist) = toss.start(carom_validate::Start::Paper);
            let mut state = table.state().clone();
            (state.poses[1], state.twists[1]) = (pose, twist);
            begin(toss.id, state, toss.poses.len() - first)
        })
        .collect();
    let pairs: Vec<Begin> = elbow::motions(Some(Path::new(&folder)))?.into_iter().map(|(id, m)| begin(id, m[0].clone(), m.len())).collect();
    let one = cost("cube", &table, &cubes)?;
    let two = cost("two hinged blocks", &world(&elbow::scene(""))?, &pairs)?;
    let ratio = two / 2.0 / one;
    println!("a body of the two costs {ratio:.2} cubes, at most {MOST} wanted");
    Ok(ratio <= MOST)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("jointed: {error}");
            ExitCode::FAILURE
        }
    }
}
