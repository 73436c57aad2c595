//! A contact that the curvature of a move pressed in by between one and two tolerances was asked back by the rounds of the correction, which
//! their own slack never let answer: moves were halved down to a microsecond, and a pile of thirty bodies took 33 000 substeps for 0.6 s.

use carom_math::Planar;
use carom_scene::{Scene, from_toml};

#[test]
fn a_pile_falls_in_few_substeps() {
    let text = include_str!("../../crates/scene/scenes/pile_in_bin.toml");
    let Ok(Scene::Planar(scene)) = from_toml(text, "pile_in_bin") else { panic!("the plane is meant") };
    let mut world = carom_dynamics::World::<Planar>::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}"));
    let (mut substeps, mut corrections) = (0, 0);
    for _ in 0..120 {
        let report = world.step().unwrap_or_else(|e| panic!("{e}"));
        substeps += report.substeps;
        corrections += report.corrections;
    }
    println!("{substeps} substeps, {corrections} corrections");
    // Of all islands together; 35 000 and 1.3 million before.
    assert!(substeps < 5_000, "{substeps} substeps");
    assert!(corrections < 30_000, "{corrections} corrections");
}
