//! A graze that no row could hold ended the search for a move, with the velocities and poses of the last length that the search had tried: a thousandth of
//! the move. Time went on by all of it, and the second kick by all of its loads: dominoes stood in the air for a step or three and fell faster for it.

use carom_math::Spatial;
use carom_scene::{Scene, from_toml};

/// Steps a second at which dominoes did so within the time looked at.
const RATES: [f64; 3] = [220.0, 250.0, 260.0];
/// How long they are looked at [s].
const SECONDS: f64 = 0.65;
/// Part of the way that its speed makes of a step, which a body must have gone: it lay at 5e-6, 4e-5 and 0.01.
const PART: f64 = 0.05;
/// Speed of those that are looked at [m/s], and the change of it over the step, above which they may have struck something.
const FAST: f64 = 0.1;
const CHANGE: f64 = 0.3;

#[test]
fn what_has_a_speed_moves() {
    let text = include_str!("../../crates/scene/scenes/domino_spiral.toml");
    let Ok(Scene::Spatial(scene)) = from_toml(text, "domino_spiral") else { panic!("space is meant") };
    let (mut looked, mut frozen) = (0, Vec::new());
    for rate in RATES {
        let (mut model, state) = (scene.model.clone(), scene.state.clone());
        model.step = 1.0 / rate;
        let mut world = carom_dynamics::World::<Spatial>::new(model, state).unwrap_or_else(|e| panic!("{e}"));
        for count in 0..(SECONDS * rate) as usize {
            let before = world.state().clone();
            world.step().unwrap_or_else(|e| panic!("{e}"));
            let after = world.state();
            for body in 0..before.poses.len() {
                let [v, w] = [before.twists[body].lin, after.twists[body].lin];
                let way = 0.5 * (v + w).norm() / rate;
                if way > FAST / rate && (w - v).norm() < CHANGE * way * rate {
                    looked += 1;
                    let moved = (after.poses[body].position - before.poses[body].position).norm();
                    if moved < PART * way {
                        frozen.push((rate, count, body, moved / way));
                    }
                }
            }
        }
    }
    assert!(looked > 1000, "{looked} bodies looked at");
    assert!(frozen.is_empty(), "steps a second, step, body and part of its way: {frozen:?}");
}
