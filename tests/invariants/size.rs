//! What grows with the scene and no faster: reading it, opening its world, looking for overlap, steps of a crowd in flight over one huge body.

use carom_dynamics::World;
use carom_geometry::Geometry;
use carom_math::{Planar, Spatial};
use carom_scene::{Scene, SceneOf, from_toml};
use carom_tests::holds;
use std::fmt::Write;
use std::time::Instant;

/// Bodies of the small scene, and how many times as many the large one has.
const BODIES: usize = 4000;
const TIMES: usize = 8;
/// Work that grows as n^(5/3), as one sweep along one axis does in space, grows 32 times; what is linear 8 times, and caches may double it.
const MOST: f64 = 24.0;
/// Time worth measuring [s], and repeats after which it is taken as it is.
const ENOUGH: f64 = 0.2;
const REPEATS: u32 = 1000;

/// A crowd of balls in a square or a cube, 1 m apart, over a ground that reaches under all of them; every ball is written out.
fn crowd<G: Geometry>(count: usize) -> String {
    let side = (count as f64).powf(1.0 / G::DIM as f64).ceil() as usize;
    let ground = if G::DIM == 2 { "[1000, 1]" } else { "[1000, 1000, 1]" };
    let below = if G::DIM == 2 { "[0, -1000]" } else { "[0, 0, -1000]" };
    let mut text = format!(
        "dimension = {}\n[[body]]\nname = \"ground\"\nkind = \"static\"\nshape = {{ box = {ground} }}\nposition = {below}\n",
        G::DIM
    );
    for ball in 0..count {
        let place: Vec<f64> = (0..G::DIM).map(|k| (ball / side.pow(k as u32) % side) as f64 + 1e-3 * (ball % 7) as f64).collect();
        let _ = write!(text, "[[body]]\nname = \"ball_{ball}\"\nshape = {{ ball = 0.1 }}\nposition = {place:?}\nmass = 1\n");
    }
    text
}

/// The same crowd as one repeat.
fn repeated<G: Geometry>(count: usize) -> String {
    let offset = if G::DIM == 2 { "[1, 0.001]" } else { "[1, 0, 0.001]" };
    let place = if G::DIM == 2 { "[0, 0]" } else { "[0, 0, 0]" };
    format!(
        "dimension = {}\n[[repeat]]\ncount = {count}\noffset = {offset}\nbody = {{ name = \"ball\", shape = {{ ball = 0.1 }}, position = {place}, mass = 1 }}\n",
        G::DIM
    )
}

/// Time that this thread has worked [s]: what it waited for others is not counted, where the system tells.
fn worked(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds * 1e-9)
}

/// Mean time of some work [s], repeated until the clock of the system, which ticks every few milliseconds, can tell.
fn mean(mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    let (before, mut repeats) = (worked(start), 0);
    loop {
        work();
        repeats += 1;
        let spent = worked(start) - before;
        if spent >= ENOUGH || repeats >= REPEATS {
            return spent / f64::from(repeats);
        }
    }
}

fn planar(text: &str) -> SceneOf<Planar> {
    let Scene::Planar(scene) = from_toml(text, "crowd").expect("a sound scene") else { panic!("a plane") };
    scene
}

fn spatial(text: &str) -> SceneOf<Spatial> {
    let Scene::Spatial(scene) = from_toml(text, "crowd").expect("a sound scene") else { panic!("space") };
    scene
}

/// Times of reading, reading a repeat, opening, looking for overlap and stepping [s].
fn times<G: Geometry>(count: usize, read: fn(&str) -> SceneOf<G>) -> [f64; 5] {
    let (text, repeat) = (crowd::<G>(count), repeated::<G>(count));
    let reading = mean(|| drop(read(&text)));
    let repeating = mean(|| drop(read(&repeat)));
    let scene = read(&text);
    let open = || World::new(scene.model.clone(), scene.state.clone()).expect("a sound world");
    let opening = mean(|| drop(open()));
    let mut world = open();
    let overlap = mean(|| assert_eq!(world.deepest(), 0.0));
    world.step().expect("balls fall");
    let step = mean(|| drop(world.step().expect("balls fall")));
    assert_eq!(world.report().contacts, 0, "they are in flight");
    [reading, repeating, opening, overlap, step]
}

fn work_grows_with_the_bodies<G: Geometry>(space: &str, read: fn(&str) -> SceneOf<G>) {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let (few, many) = one.install(|| (times(BODIES, read), times(TIMES * BODIES, read)));
    for (what, (few, many)) in ["reading", "reading a repeat", "opening", "overlap", "step"].into_iter().zip(few.into_iter().zip(many)) {
        let told = format!("{space}, {what}: {BODIES} bodies {:.2} ms, {TIMES} times as many that many times", few * 1e3);
        assert!(holds(&told, many / few, MOST), "{space}, {what}: {few} s for {BODIES} bodies, {many} s for {TIMES} times as many");
    }
}

#[test]
fn work_grows_with_the_bodies_in_the_plane() {
    work_grows_with_the_bodies("plane", planar);
}

#[test]
fn work_grows_with_the_bodies_in_space() {
    work_grows_with_the_bodies("space", spatial);
}
