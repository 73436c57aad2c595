//! Bodies with many joints are cut into welded parts inside the joint matrix, or are nodes of it where the joints close no loop: nothing that can be seen
//! changes.

use crate::{apart, travelled};
use carom_math::Vector;
use carom_tests::in_both_spaces;
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage, holds};
use std::f64::consts::TAU;

/// A spoke outwards at an angle from a rim around a point.
fn spoke<G: Stage>(scene: &mut Scene<G>, on: usize, (x, y): (f64, f64), rim: f64, angle: f64) -> usize {
    let (sin, cos) = angle.sin_cos();
    let at = |r: f64| (x + r * cos, y + r * sin);
    let centre = at(rim + 0.2);
    let spoke = scene.particle(0.2, G::inertia_from_moments(&[2e-3, 3e-3, 4e-3]), pose(centre.0, centre.1, 0.0));
    let anchor = at(rim);
    scene.hinge(spoke, Some(on), G::at(anchor.0, anchor.1));
    spoke
}

/// A hub on a pivot beside its centre, with swinging spokes around its rim; their ends at two of them tied by a bar, which closes a loop, where `tied`.
fn hub<G: Stage>(spokes: usize, tied: bool, scene: &mut Scene<G>) {
    let hub = scene.particle(5.0, G::inertia_from_moments(&[2.0, 2.5, 3.0]), pose(0.0, 0.0, 0.0));
    scene.hinge(hub, None, G::at(0.1, 0.3));
    let all: Vec<usize> = (0..spokes).map(|k| spoke(scene, hub, (0.0, 0.0), 1.0, TAU * k as f64 / spokes as f64)).collect();
    if tied {
        let ends = [0, 1].map(|k| (TAU * k as f64 / spokes as f64).sin_cos()).map(|(sin, cos)| (1.4 * cos, 1.4 * sin));
        let middle = (0.5 * (ends[0].0 + ends[1].0), 0.5 * (ends[0].1 + ends[1].1));
        let bar = scene.particle(0.1, G::inertia_from_moments(&[1e-3, 1e-3, 1e-3]), pose(middle.0, middle.1, 0.0));
        for k in 0..2 {
            scene.hinge(bar, Some(all[k]), G::at(ends[k].0, ends[k].1));
        }
    }
}

/// A hub in free fall, each of its arms a hub again, and one arm whose turn is held where `held`.
fn hubs<G: Stage>(arms: usize, held: bool, scene: &mut Scene<G>) {
    let hub = scene.particle(5.0, G::inertia_from_moments(&[2.0, 2.5, 3.0]), pose(0.0, 0.0, 0.0));
    scene.moving(hub, G::at(0.3, 0.1), G::Ang::zero());
    for k in 0..arms {
        let angle = TAU * k as f64 / arms as f64;
        let arm = spoke(scene, hub, (0.0, 0.0), 1.0, angle);
        scene.model.bodies[arm].locked_rotation = held && k == 0;
        for m in 0..arms {
            let tip = spoke(scene, arm, (1.2 * angle.cos(), 1.2 * angle.sin()), 0.1, TAU * m as f64 / arms as f64);
            scene.moving(tip, G::at(0.1 * m as f64, 0.2), G::Ang::zero());
        }
    }
}

fn move_alike<G: Stage>(name: &str, steps: usize, build: impl Fn(&mut Scene<G>)) {
    let [mut split, mut whole] = [false, true].map(|whole| {
        let mut scene = Scene::<G>::new(0.002);
        scene.model.options.whole_bodies = whole;
        build(&mut scene);
        scene.world()
    });
    let start = split.state().clone();
    let mut worst = 0.0f64;
    for _ in 0..steps {
        let (a, b) = (split.step().expect("a step"), whole.step().expect("a step"));
        assert_eq!((a.substeps, a.redundant), (b.substeps, b.redundant));
        let (place, _) = apart(&split, &whole);
        worst = worst.max(place);
    }
    assert!(travelled(&split, &start) > 0.3, "{name} swings");
    assert!(split.state() != whole.state(), "{name}: the two roads are two");
    let mut good = holds(&format!("{}: split and whole {name} [m]", G::NAME), worst, 1e-9);
    good &= holds(&format!("{}: joint gap of the split {name} [m]", G::NAME), split.joint_error(), 1e-11);
    assert!(good);
}

fn split_and_whole_hubs_move_alike<G: Stage>() {
    // Enough rows for several parts: 2 a hinge in the plane, 5 in space.
    move_alike::<G>("hub after 1 s", 500, |scene| hub(40, false, scene));
}
in_both_spaces!(split_and_whole_hubs_move_alike);

fn hubs_in_loops_move_alike<G: Stage>() {
    move_alike::<G>("tied hub after 0.6 s", 300, |scene| hub(16, true, scene));
}
in_both_spaces!(hubs_in_loops_move_alike);

fn hubs_on_hubs_move_alike<G: Stage>() {
    move_alike::<G>("hub of hubs after 0.6 s", 300, |scene| hubs(8, false, scene));
    // A body that does not turn answers no torque: the crowded ones are cut then.
    move_alike::<G>("hub of hubs one of which is held after 0.6 s", 300, |scene| hubs(8, true, scene));
}
in_both_spaces!(hubs_on_hubs_move_alike);
