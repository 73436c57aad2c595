//! Twice the links cost twice the time. Timing is not for crowded machines: `./check --full` runs it, by itself.

use carom_dynamics::World;
use carom_math::Planar;
use carom_math::Space;
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage, holds};
use std::time::Instant;

/// Largest ratio.
const BOUND: f64 = 2.2;

fn chain(links: usize) -> World<Planar> {
    let mut scene = Scene::<Planar>::new(0.001);
    let mut last = None;
    for link in 0..links {
        let x = 0.1 * link as f64;
        let body = scene.particle(0.1, Planar::inertia_from_moments(&[1e-4]), pose(x + 0.05, 0.0, 0.0));
        scene.hinge(body, last, Planar::at(x, 0.0));
        last = Some(body);
    }
    scene.world()
}

fn ladder(cells: usize) -> World<Planar> {
    let mut scene = Scene::<Planar>::new(0.001);
    let mut last = [None, None];
    for cell in 0..cells {
        let x = 0.1 * cell as f64;
        let rung = scene.particle(0.1, Planar::inertia_from_moments(&[1e-4]), pose(x + 0.1, 0.05, 0.0));
        for (rail, up) in [0.0, 0.1].into_iter().enumerate() {
            let body = scene.particle(0.1, Planar::inertia_from_moments(&[1e-4]), pose(x + 0.05, up, 0.0));
            scene.hinge(body, last[rail], Planar::at(x, up));
            scene.hinge(rung, Some(body), Planar::at(x + 0.1, up));
            last[rail] = Some(body);
        }
    }
    scene.world()
}

/// Least time of a step over a few blocks [s].
fn time(mut world: World<Planar>, steps: usize) -> f64 {
    for _ in 0..5 {
        world.step().expect("a step");
    }
    let block = |world: &mut World<Planar>| {
        let start = Instant::now();
        for _ in 0..steps {
            world.step().expect("a step");
        }
        start.elapsed().as_secs_f64() / steps as f64
    };
    (0..5).map(|_| block(&mut world)).fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "times; ./check --full runs it"]
fn twice_the_links_cost_twice_the_time() {
    let mut good = true;
    for links in [100, 1000, 5000] {
        let steps = 20_000 / links;
        good &= holds(
            &format!("chain of {links}: time of twice the links over time"),
            time(chain(2 * links), steps) / time(chain(links), steps),
            BOUND,
        );
        let cells = links / 3;
        good &= holds(
            &format!("ladder of {cells}: time of twice the cells over time"),
            time(ladder(2 * cells), steps) / time(ladder(cells), steps),
            BOUND,
        );
    }
    assert!(good);
}
