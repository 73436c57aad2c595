//! A step that is interrupted, wherever it is then, leaves its world as it was: the bits that follow are those of a run that was never stopped.

use carom_dynamics::error::Cause;
use carom_dynamics::{Interrupt, World};
use carom_geometry::Geometry;
use carom_scene::Scene;
use carom_tests::full;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Scenes whose steps meet every loop that looks: joints alone, contacts in the plane and in space, impacts, events, other integrators.
const SCENES: [&str; 8] =
    ["pool_break", "pile_in_bin", "ragdoll", "net", "chain_100", "newton_cradle", "double_pendulum", "bouncing_spheres_3d"];

/// A token raised at a look, and how many looks there were.
fn raised_at(look: usize) -> (Interrupt, Arc<AtomicUsize>) {
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = looks.clone();
    (Interrupt::asking(move || counted.fetch_add(1, Ordering::Relaxed) == look), looks)
}

/// Interrupts every `every`-th of so many steps at its first look, its second, its fourth and so on, and at last; returns how many interruptions there were.
fn torment<G: Geometry>(name: &str, mut world: World<G>, steps: usize, every: usize) -> usize {
    let mut untouched = world.copy();
    let mut stops = 0;
    for step in 0..steps {
        if step % every == every - 1 {
            let before = world.snapshot().to_bytes();
            let mut look = 0;
            loop {
                let (interrupt, looks) = raised_at(look);
                // Islands of a crowd look from many threads, and the copy stands in for what the step would have done to the world.
                world.heed(&interrupt);
                match world.step() {
                    Err(error) => assert_eq!(error.cause, Cause::Stopped, "{name}, step {step}, look {look}"),
                    Ok(_) => panic!("{name}, step {step}: look {look} of {} was not heeded", looks.load(Ordering::Relaxed)),
                }
                stops += 1;
                assert_eq!(world.snapshot().to_bytes(), before, "{name}, step {step}, look {look}: a trace is left");
                // The last look of a step is the world's own.
                let (never, all) = raised_at(usize::MAX);
                let mut tried = world.copy();
                tried.heed(&never);
                tried.step().unwrap_or_else(|error| panic!("{name}: {error}"));
                let last = all.load(Ordering::Relaxed) - 1;
                if look == last {
                    break;
                }
                look = (2 * look + 1).min(last);
            }
            world.heed(&Interrupt::NEVER);
        }
        world.step().unwrap_or_else(|error| panic!("{name}: {error}"));
        untouched.step().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(world.state().hash(), untouched.state().hash(), "{name}: step {step}");
    }
    assert_eq!(world.snapshot().to_bytes(), untouched.snapshot().to_bytes(), "{name}: memory or books differ");
    stops
}

#[test]
fn an_interrupted_step_leaves_no_trace() {
    let steps = if full() { 400 } else { 60 };
    for name in SCENES {
        let text = carom_scene::scene(name).unwrap_or_else(|| panic!("no scene {name}")).text;
        let stops = match carom_scene::from_toml(text, name).expect("a scene") {
            Scene::Planar(scene) => torment(name, World::new(scene.model, scene.state).expect("a model"), steps, 7),
            Scene::Spatial(scene) => torment(name, World::new(scene.model, scene.state).expect("a model"), steps, 7),
        };
        assert!(stops >= 2 * (steps / 7), "{name}: only {stops} stops");
    }
}
