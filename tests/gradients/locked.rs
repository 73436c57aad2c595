//! Directions in which nothing can move: their velocity is taken out, and with it every slope along them.

use carom_dynamics::World;
use carom_dynamics::gradient::{Direction, Tape};
use carom_scene::{Scene, from_toml, scene};

#[test]
fn a_ball_between_walls_keeps_only_its_way_along_them() {
    let Ok(Scene::Planar(scene)) = from_toml(scene("ball_between_walls").expect("embedded").text, "walls") else { panic!("a plane") };
    let world = World::new(scene.model, scene.state).unwrap();
    let steps = 20;
    let time = steps as f64 * world.model().step;
    let run = world.rollout(steps, &[], Tape::Full).unwrap();
    assert!(run.end().state().twists[1].lin.x.abs() < 1e-12 && (run.end().state().twists[1].lin.y - 1.0).abs() < 1e-12);
    // The ball is the second body: d(x, y, vx, vy) along dvx and dvy.
    for (k, wanted) in [(3, [0.0, 0.0, 0.0, 0.0]), (4, [0.0, time, 0.0, 1.0])] {
        let mut twists = vec![0.0; 6];
        twists[k] = 1.0;
        let (poses, twists) = run.forward(&Direction { twists, ..Direction::default() }).unwrap();
        for (found, wanted) in [poses[3], poses[4], twists[3], twists[4]].into_iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-12, "{k}: {found}, not {wanted}");
        }
    }
}
