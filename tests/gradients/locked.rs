//! Directions in which nothing can move: their velocity is taken out, and with it every slope along them.

use carom_dynamics::World;
use carom_dynamics::gradient::{Direction, Tape};
use carom_dynamics::options::ImpactLaw;
use carom_scene::{Scene, from_toml, scene};

/// Restitution towards both walls has no answer; laws that drop it are differentiated without it.
#[test]
fn a_law_that_drops_restitution_has_no_slope_by_it() {
    for law in [ImpactLaw::Reflections, ImpactLaw::Newton, ImpactLaw::Stronge] {
        let Ok(Scene::Planar(mut scene)) = from_toml(scene("ball_between_walls").expect("embedded").text, "walls") else {
            panic!("a plane")
        };
        scene.model.options.impact = law;
        scene.model.bodies.iter_mut().for_each(|body| body.surface.restitution = 0.5);
        let world = World::new(scene.model, scene.state).unwrap();
        let run = world.rollout(1, &[], Tape::Full).unwrap();
        assert!(run.end().state().twists[1].lin.x.abs() < 1e-9, "{law:?}: {:?}", run.end().state().twists[1]);
        for part in 0..2 {
            let mut direction = Direction { twists: vec![0.0; 6], parameters: vec![0.0; run.layout().len], ..Direction::default() };
            match part {
                0 => direction.twists[3] = 1.0,
                _ => (0..2).for_each(|body| direction.parameters[run.layout().bodies[body].surface.restitution] = 1.0),
            }
            let (_, twists) = run.forward(&direction).unwrap();
            assert!(twists[3].abs() < 1e-9, "{law:?}, part {part}: the slope of a speed that is always 0 is {}", twists[3]);
        }
    }
}

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
