//! The same scene gives the same bits, on any number of threads.

use carom_tests::in_both_spaces;
use carom_tests::scene::pose;
use carom_tests::{Random, Scene, Stage};

/// Thirty heaps apart from each other, each an island of a few bodies falling on the ground.
fn heaps<G: Stage>() -> Scene<G> {
    let mut random = Random::new(11);
    let mut scene = Scene::<G>::new(0.005);
    scene.ground(0.4, 0.3);
    for heap in 0..30 {
        for level in 0..4 {
            let (x, up) = (4.0 * f64::from(heap) + random.range(-0.1, 0.1), 0.6 + 1.1 * f64::from(level));
            let shape = match level % 3 {
                0 => G::cuboid(0.8, 0.7),
                1 => G::ball(0.4),
                _ => G::capsule(0.5, 0.2),
            };
            let body = scene.body(shape, 1.0, pose(x, up, random.range(-0.3, 0.3)), 0.4, 0.3);
            scene.moving(body, G::deep(random.range(-1.0, 1.0), random.range(-0.2, 0.2), -1.0), G::rate(random.range(-1.0, 1.0)));
        }
    }
    scene
}

fn hash<G: Stage>(scene: Scene<G>) -> (String, usize) {
    let mut world = scene.world();
    let mut impacts = 0;
    for _ in 0..120 {
        impacts += world.step().expect("falling heaps").impacts;
    }
    (world.state().hash(), impacts)
}

fn same_bits_twice<G: Stage>() {
    let (first, impacts) = hash(heaps::<G>());
    assert!(impacts > 50, "the heaps do collide: {impacts}");
    assert_eq!(first, hash(heaps::<G>()).0);
    println!("{} heaps: hash {first}, {impacts} impacts", G::NAME);
}
in_both_spaces!(same_bits_twice);

fn same_bits_on_any_number_of_threads<G: Stage>() {
    let hashes = [1, 2, 4].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| hash(heaps::<G>()).0)
    });
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes[0], hashes[2]);
}
in_both_spaces!(same_bits_on_any_number_of_threads);

/// Going back to the start and running again is the same run.
fn reset_forgets_everything<G: Stage>() {
    let mut world = heaps::<G>().world();
    let mut hashes = Vec::new();
    for _ in 0..2 {
        for _ in 0..60 {
            world.step().expect("falling heaps");
        }
        hashes.push(world.state().hash());
        world.reset();
    }
    assert_eq!(hashes[0], hashes[1]);
}
in_both_spaces!(reset_forgets_everything);
