//! Coefficients of two bodies become one by every rule, theory (3.13)-(3.15): the motion has the closed form, the gradient is its slope, kinks are told.

use carom_dynamics::gradient::{Cotangents, Tape};
use carom_dynamics::{Combine, World};
use carom_math::Planar;
use carom_scene::{Scene, from_toml};
use carom_tests::differences::check_text;

/// A block that slides on the ground and one that falls on it; frictions, restitutions and rules by body.
fn ground_and_bodies(dimension: usize, [(a, rule_a), (b, rule_b)]: [(f64, Combine); 2]) -> String {
    let (up, at, away) = if dimension == 2 { ("[0, 1]", "[0, 0.05]", "[3, 1]") } else { ("[0, 0, 1]", "[0, 0, 0.05]", "[3, 0.2, 1]") };
    let (slide, throw) = if dimension == 2 { ("[2, 0]", "[1.5, -1]") } else { ("[2, 0.5, 0]", "[1.5, 0.4, -1]") };
    let size = if dimension == 2 { "[0.4, 0.1]" } else { "[0.4, 0.3, 0.1]" };
    let rules = |rule: Combine| format!("combine = {{ friction = \"{0}\", restitution = \"{0}\" }}", rule.name());
    format!(
        "dimension = {dimension}\nstep = 0.005\n\
         [[body]]\nname = \"ground\"\nkind = \"static\"\nshape = {{ half_space = {up} }}\nfriction = {a}\nrestitution = {a}\n{}\n\
         [[body]]\nname = \"block\"\nshape = {{ box = {size} }}\nposition = {at}\nvelocity = {slide}\nfriction = {b}\nrestitution = {b}\n{}\n\
         [[body]]\nname = \"ball\"\nshape = {{ ball = 0.1 }}\nposition = {away}\nvelocity = {throw}\nfriction = {b}\nrestitution = {b}\n{}\n",
        rules(rule_a),
        rules(rule_b),
        rules(rule_b)
    )
}

fn world(text: &str) -> World<Planar> {
    let Ok(Scene::Planar(scene)) = from_toml(text, "combine.toml") else { panic!("{text}") };
    World::new(scene.model, scene.state).unwrap()
}

#[test]
fn a_block_is_slowed_by_the_combined_friction() {
    for rule in Combine::ALL {
        for other in Combine::ALL {
            let mut world = world(&ground_and_bodies(2, [(0.2, rule), (0.45, other)]));
            let steps = 40;
            for _ in 0..steps {
                world.step().unwrap();
            }
            let first = Combine::ALL.into_iter().find(|r| *r == rule || *r == other).unwrap();
            let slowed = 2.0 - first.value([0.2, 0.45]) * 9.81 * 0.005 * f64::from(steps);
            let found = world.state().twists[1].lin.x;
            assert!((found - slowed).abs() < 1e-9, "{rule:?} and {other:?}: {found}, not {slowed}");
        }
    }
}

/// Friction and restitution against central differences, to 1e-8 of the larger of the slope and 1; what else there is to differentiate is the same under every rule.
fn agree(text: &str) {
    let findings = check_text(text, 0, 90, 1);
    assert!(findings.transpose < 1e-11, "transpose {:.1e}", findings.transpose);
    for sort in ["friction", "restitution"] {
        let found = findings.agreements.iter().find(|a| a.sort == sort).expect("bodies have coefficients");
        // Errors come relative to the size, or to 1e-3 where that is smaller.
        let miss = found.error * found.size.max(1e-3) / found.size.max(1.0);
        assert!(miss < 1e-8 && found.size > 1e-3, "{sort}: off by {:.1e} of {:.1e}\n{text}", found.error, found.size);
    }
}

#[test]
fn every_rule_of_combination_has_its_gradient() {
    // The ball strikes after about 0.33 s; the block slides all the while.
    for rule in Combine::ALL {
        agree(&ground_and_bodies(2, [(0.2, rule), (0.45, rule)]));
        agree(&ground_and_bodies(3, [(0.45, rule), (0.2, rule)]));
    }
    // Two that differ: the root holds, and its slopes are not those of the mean.
    agree(&ground_and_bodies(2, [(0.2, Combine::Mean), (0.45, Combine::Geometric)]));
}

/// Steps that tell of a coefficient without a slope, and the gradient of the block's way by the two frictions.
fn told(text: &str) -> (usize, [f64; 2]) {
    let world = world(text);
    let rollout = world.rollout(20, &[], Tape::Full).unwrap();
    let size = world.model().bodies.len() * 3;
    let mut bar = Cotangents { poses: vec![0.0; size], twists: vec![0.0; size] };
    bar.poses[3] = 1.0;
    let gradient = rollout.backward(&bar).unwrap();
    assert!(gradient.parameters.iter().all(|x| x.is_finite()));
    let slots = &rollout.layout().bodies;
    let by = [0, 1].map(|body: usize| gradient.parameters[slots[body].surface.friction]);
    (gradient.switches.iter().filter(|s| s.combined > 0).count(), by)
}

#[test]
fn kinks_of_the_rules_are_told() {
    // Off them nothing is.
    for rule in Combine::ALL {
        assert_eq!(told(&ground_and_bodies(2, [(0.2, rule), (0.45, rule)])).0, 0, "{rule:?}");
    }
    for rule in [Combine::Max, Combine::Min] {
        let (steps, by) = told(&ground_and_bodies(2, [(0.3, rule), (0.3, rule)]));
        assert_eq!(steps, 20, "{rule:?}");
        // Half of what one of them alone would do.
        let (none, mean) = told(&ground_and_bodies(2, [(0.3, Combine::Mean), (0.3, Combine::Mean)]));
        assert_eq!(none, 0);
        assert!((by[0] - mean[0]).abs() < 1e-12 && (by[1] - mean[1]).abs() < 1e-12, "{by:?} {mean:?}");
    }
    let (steps, by) = told(&ground_and_bodies(2, [(0.0, Combine::Geometric), (0.3, Combine::Geometric)]));
    assert_eq!((steps, by), (20, [0.0, 0.0]), "the root has no slope at 0");
    assert_eq!(told(&ground_and_bodies(2, [(0.0, Combine::Product), (0.3, Combine::Product)])).0, 0);
}
