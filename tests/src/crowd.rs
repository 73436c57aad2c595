//! Crowds that several tests run.

use crate::random::Random;
use crate::scene::Scene;
use crate::stage::Stage;
use carom_math::Pose;

/// Twenty-four mixed solids above a trough between walls.
pub fn pour<G: Stage>() -> Scene<G> {
    let mut random = Random::new(17);
    let mut scene = Scene::<G>::new(0.005);
    scene.ground(0.5, 0.2);
    for side in [-1.0, 1.0] {
        scene.fixed(G::half_space(G::at(-side, 0.0)), Pose { position: G::at(1.2 * side, 0.0), rotation: G::identity() }, 0.5, 0.2);
        if G::DIM > 2 {
            let place = Pose { position: G::deep(0.0, 0.8 * side, 0.0), rotation: G::identity() };
            scene.fixed(G::half_space(G::deep(0.0, -side, 0.0)), place, 0.5, 0.2);
        }
    }
    for level in 0..8 {
        for column in 0..3 {
            let shape = match (level + column) % 4 {
                0 => G::ball(0.25),
                1 => G::cuboid(0.5, 0.35),
                2 => G::capsule(0.3, 0.15),
                _ => G::rock(0.28, &mut || random.unit()),
            };
            let place = Pose {
                position: G::deep(
                    0.75 * (column as f64 - 1.0) + random.range(-0.03, 0.03),
                    random.range(-0.2, 0.2),
                    0.5 + 0.75 * level as f64,
                ),
                rotation: G::exp(G::rates(random.range(-1.0, 1.0), random.range(-1.0, 1.0), random.range(-1.0, 1.0))),
            };
            scene.body(shape, random.range(0.5, 2.0), place, 0.5, 0.2);
        }
    }
    scene
}
