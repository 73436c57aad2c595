//! Tosses of two blocks on a hinge (Pfrommer, Halm and Posa 2020), nothing fitted.

use crate::reading::{self, Rows, array, fault, whole};
use crate::section::{Picture, Section, Table};
use crate::toss::RATE;
use crate::{Trouble, spread};
use carom::dynamics::{Interrupt, State, World};
use carom::math::{Pose, Space, Spatial, Twist, Vector};
use carom::record::read_arrays;
use carom::scene::{Scene, from_toml};
use carom_reproduce::{Chart, Style};
use rayon::prelude::*;
use std::path::Path;
use std::time::{Duration, Instant};

/// Numbers of a row: quaternion and position of the first block, hinge angle, rate (body frame), velocity, hinge rate.
const ROW: usize = 15;
/// Extents of a block \[m\] and its mass \[kg\].
const BLOCK: [f64; 3] = [0.1, 0.05, 0.05];
const MASS: f64 = 0.37;
/// The hinge in the frame of the first block, and the centre of the second from there at angle 0 \[m\].
const HINGE: [f64; 3] = [-0.035, 0.06, 0.0];
const CENTRE: [f64; 3] = [0.035, 0.0, 0.0];
/// Friction and restitution: nominal, not fitted.
const FRICTION: f64 = 0.2;
const RESTITUTION: f64 = 0.125;
/// At rest the centre of the first block lies so high over the table, in halves of its thickness.
const REST: [f64; 2] = [0.7, 3.0];
/// Frames of the short horizon: 169 ms.
const SHORT: usize = 25;
/// Places of the blocks among the bodies.
const FIRST: usize = 1;
const SECOND: usize = 2;
/// The blocks by name, with those places.
pub const BLOCKS: [(&str, usize); 2] = [("first", FIRST), ("second", SECOND)];

/// The scene; `hinge`: further lines of the hinge.
pub fn scene(hinge: &str) -> String {
    let [x, y, z] = BLOCK;
    let at = [HINGE[0] + CENTRE[0], HINGE[1] + CENTRE[1], HINGE[2] + CENTRE[2] + 1.0];
    let block = |name: &str, [a, b, c]: [f64; 3]| {
        format!(
            "[[body]]\nname = \"{name}\"\nshape = {{ box = [{x}, {y}, {z}] }}\nmass = {MASS}\nposition = [{a}, {b}, {c}]\n\
             friction = {FRICTION}\nrestitution = {RESTITUTION}\n"
        )
    };
    format!(
        "dimension = 3\nstep = {}\n\
         [[body]]\nname = \"table\"\nkind = \"static\"\nshape = {{ half_space = [0, 0, 1] }}\nfriction = {FRICTION}\nrestitution = {RESTITUTION}\n{}{}\
         [[joint]]\nname = \"elbow\"\nkind = \"hinge\"\nbetween = [\"first\", \"second\"]\nanchor = [{}, {}, {}]\naxis = [0, 1, 0]\n{hinge}",
        1.0 / RATE,
        block("first", [0.0, 0.0, 1.0]),
        block("second", at),
        HINGE[0],
        HINGE[1],
        HINGE[2] + 1.0,
    )
}

/// Both blocks from a row.
fn state(world: &World<Spatial>, row: &[f64]) -> Option<State<Spatial>> {
    let rotation = reading::rotation(&row[..4])?;
    let position = Vector::from_slice(&row[4..7]);
    let (hinge, centre) = (Vector::from_slice(&HINGE), Vector::from_slice(&CENTRE));
    let axis: <Spatial as Space>::Ang = Vector::from_slice(&[0.0, 1.0, 0.0]);
    let second = Spatial::compose(rotation, Spatial::exp(axis * row[7]));
    let (arm, far) = (Spatial::rotate(rotation, hinge), Spatial::rotate(second, centre));
    let rate = Spatial::rotate_rate(rotation, Vector::from_slice(&row[8..11]));
    let velocity: <Spatial as Space>::Lin = Vector::from_slice(&row[11..14]);
    let other = rate + Spatial::rotate_rate(rotation, axis * row[14]);
    let mut state = world.state().clone();
    state.poses[FIRST] = Pose { position, rotation };
    state.twists[FIRST] = Twist { lin: velocity, ang: rate };
    state.poses[SECOND] = Pose { position: position + arm + far, rotation: second };
    state.twists[SECOND] = Twist { lin: velocity + Spatial::spin(rate, arm) + Spatial::spin(other, far), ang: other };
    Some(state)
}

/// Angle of the hinge \[rad\].
fn angle(state: &State<Spatial>) -> f64 {
    let between = Spatial::compose(Spatial::inverse(state.poses[FIRST].rotation), state.poses[SECOND].rotation);
    Spatial::log(between)[1]
}

/// What one toss gave: misses frame by frame, steps out of the ordinary, the longest step and all of them.
struct Run {
    misses: Vec<[f64; 3]>,
    odd: usize,
    longest: Duration,
    all: Duration,
}

fn toss(world: &World<Spatial>, id: i64, rows: &[f64], interrupt: &Interrupt) -> Result<Run, Trouble> {
    let failed = |what: String| Trouble::Failed(format!("elbow toss {id}: {what}"));
    let measured: Vec<State<Spatial>> = rows
        .chunks_exact(ROW)
        .enumerate()
        .map(|(frame, row)| state(world, row).ok_or_else(|| failed(format!("frame {frame}: no rotation"))))
        .collect::<Result<_, _>>()?;
    let mut world = world.copy();
    world.set_state(measured[0].clone()).map_err(|e| failed(e.to_string()))?;
    world.heed(interrupt);
    let mut out = Run { misses: Vec::new(), odd: 0, longest: Duration::ZERO, all: Duration::ZERO };
    for (frame, wanted) in measured.iter().enumerate() {
        if frame > 0 {
            let clock = Instant::now();
            let taken = world.step();
            if interrupt.raised() {
                return Err(Trouble::Stopped);
            }
            let report = taken.map_err(|e| failed(e.to_string()))?;
            let took = clock.elapsed();
            out.longest = out.longest.max(took);
            out.all += took;
            out.odd += usize::from(report.inaccurate || report.impact_capped || report.unconverged || report.stepped > 0);
        }
        let now = world.state();
        let away = (now.poses[FIRST].position - wanted.poses[FIRST].position).norm();
        let turn = Spatial::compose(now.poses[FIRST].rotation, Spatial::inverse(wanted.poses[FIRST].rotation));
        let bent = Spatial::log(Spatial::exp(Vector::from_slice(&[0.0, angle(now) - angle(wanted), 0.0]))).norm();
        out.misses.push([100.0 * away / BLOCK[0], Spatial::log(turn).norm().to_degrees(), bent.to_degrees()]);
    }
    Ok(out)
}

/// Tosses of a file.
struct Set {
    ids: Vec<i64>,
    /// Numbers of a toss.
    size: usize,
    states: Vec<f64>,
}

impl Set {
    fn tosses(&self) -> impl Iterator<Item = (i64, &[f64])> {
        self.ids.iter().copied().zip(self.states.chunks_exact(self.size))
    }
}

fn read(path: &Path) -> Result<Set, Trouble> {
    let arrays = read_arrays(path).map_err(|error| Trouble::Failed(error.to_string()))?;
    let ids = whole(&arrays, path, "id", &[0], f64::NEG_INFINITY)?;
    let (shape, states) = array(&arrays, path, "state", &[ids.len(), 0, ROW])?;
    if shape[1] < 2 {
        return Err(fault(path, "\"state\": a toss needs two frames"));
    }
    let size = shape[1] * ROW;
    for (id, rows) in ids.iter().zip(states.chunks_exact(size)) {
        let odd = rows.chunks_exact(ROW).position(|row| reading::rotation(&row[..4]).is_none());
        if let Some(frame) = odd {
            return Err(fault(path, &format!("\"state\", toss {id}, frame {frame}, columns 0 to 3: no unit quaternion")));
        }
    }
    let parts: Vec<Rows<'_>> = states.chunks_exact(size).map(|numbers| Rows { numbers, width: ROW, rate: RATE }).collect();
    [[4, 11], [5, 12], [6, 13], [7, 14]].into_iter().try_for_each(|pair| reading::rate_of(&parts, path, pair))?;
    reading::turns_of(&parts, path, [0, 8])?;
    let rest: Vec<f64> = states.chunks_exact(size).map(|rows| rows[size - ROW + 6] / (BLOCK[2] / 2.0)).collect();
    reading::lies_within(&rest, REST, path, "\"state\", column 6: height of the first block at the end, in halves of its thickness,")?;
    Ok(Set { ids, size, states })
}

fn world() -> Result<World<Spatial>, Trouble> {
    let failed = |error: String| Trouble::Failed(error);
    let Scene::Spatial(scene) = from_toml(&scene(""), "elbow").map_err(|e| failed(e.to_string()))? else {
        return Err(failed("the scene of the elbow is not spatial".to_string()));
    };
    World::new(scene.model, scene.state).map_err(|e| failed(e.to_string()))
}

/// Number of a toss and its frames as states of the scene.
pub type Toss = (i64, Vec<State<Spatial>>);

/// What was measured.
pub fn motions(data: Option<&Path>) -> Result<Vec<Toss>, Trouble> {
    let world = world()?;
    let mut out = Vec::new();
    for path in reading::files(data, "elbow")? {
        for (id, rows) in read(&path)?.tosses() {
            let states: Option<Vec<_>> = rows.chunks_exact(ROW).map(|row| state(&world, row)).collect();
            out.push((id, states.ok_or_else(|| fault(&path, &format!("\"state\", toss {id}: no rotation")))?));
        }
    }
    Ok(out)
}

/// Runs the set.
pub fn run(data: Option<&Path>, interrupt: &Interrupt) -> Result<Section, Trouble> {
    let sets = reading::files(data, "elbow")?.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let world = world()?;
    let tosses: Vec<(i64, &[f64])> = sets.iter().flat_map(Set::tosses).collect();
    let runs: Vec<Run> = tosses.par_iter().map(|(id, rows)| toss(&world, *id, rows, interrupt)).collect::<Result<_, _>>()?;

    let mut out = Section::new("elbow", "Tosses of two hinged blocks");
    out.about.push(format!(
        "{} tosses of two blocks (0.1 x 0.05 x 0.05 m, 0.37 kg each) on a hinge, by motion capture at {RATE} Hz; `DAIRLab/dair_pll`, BSD-3-Clause. Nothing is fitted: \
         nominal inertias, friction {FRICTION}, restitution {RESTITUTION}, start at the first frame. Position of the first block in % of its length, its rotation, and \
         the hinge angle; mean and standard deviation over tosses of the mean over frames.",
        runs.len()
    ));
    let mut table = Table::new(&["horizon", "position [% of length]", "rotation [degrees]", "hinge [degrees]"]);
    let columns = |most: usize| {
        [0, 1, 2].map(|k| {
            let mean = |run: &Run| run.misses.iter().take(most).map(|m| m[k]).sum::<f64>() / run.misses.len().min(most) as f64;
            spread(&runs.iter().map(mean).collect::<Vec<_>>())
        })
    };
    for (name, most) in [("the first 169 ms", SHORT), ("whole tosses", usize::MAX)] {
        let cells = columns(most).map(|[mean, deviation]| format!("{mean:.1} ± {deviation:.1}"));
        table.row(std::iter::once(name.to_string()).chain(cells).collect());
    }
    out.tables.push((String::new(), table));
    let frames = runs.iter().map(|r| r.misses.len()).min().unwrap_or(0);
    let over = |k: usize| -> Vec<(f64, f64)> {
        (0..frames).map(|f| (f as f64 / RATE, runs.iter().map(|r| r.misses[f][k]).sum::<f64>() / runs.len() as f64)).collect()
    };
    let chart = Chart::new("Error over time, mean over tosses", "time [s]", "error")
        .with("position [% of length]", Style::Line, over(0))
        .with("rotation [degrees]", Style::Dashed, over(1))
        .with("hinge [degrees]", Style::Line, over(2));
    out.pictures.push(Picture::chart("elbow-error-over-time", &chart));
    let steps = runs.iter().map(|r| r.misses.len() - 1).sum::<usize>();
    let (odd, all) = (runs.iter().map(|r| r.odd).sum::<usize>(), runs.iter().map(|r| r.all).sum::<Duration>());
    let longest = runs.iter().map(|r| r.longest).max().unwrap_or_default();
    out.timings.push(format!(
        "{steps} steps, {:.1} us each, the longest {:.2} ms, {odd} odd",
        1e6 * all.as_secs_f64() / steps.max(1) as f64,
        1e3 * longest.as_secs_f64()
    ));
    Ok(out)
}
