//! What a step costs and what a stepped move keeps: solves are few, restitution is not dropped, no energy comes of being late, and nothing that the closed
//! forms speak of is ever stepped.

use carom_dynamics::options::SolverChoice;
use carom_dynamics::{StepReport, World};
use carom_geometry::Geometry;
use carom_math::{Planar, Vector};
use carom_tests::crowds::{Solids, pile, pyramid, stack};
use carom_tests::in_both_spaces;
use carom_tests::scene::pose;
use carom_tests::{Random, Scene, Stage, figure, holds};

/// A cluster that flies into itself without weight: balls and boxes close together, each on its own way.
fn cluster<G: Stage>(random: &mut Random, restitution: f64, friction: f64) -> World<G> {
    let mut scene = Scene::<G>::weightless(0.005);
    for row in 0..4 {
        for column in 0..3 {
            let place = pose(0.23 * f64::from(column) + random.range(-0.01, 0.01), 0.23 * f64::from(row) + random.range(-0.01, 0.01), 0.0);
            let shape = if (row + column) % 2 == 0 { G::ball(0.1) } else { G::cuboid(0.15, 0.12) };
            let body = scene.body(shape, random.range(0.5, 2.0), place, friction, restitution);
            // Towards the middle, each with a spin of its own.
            let way =
                G::at(-4.0 * (f64::from(column) - 1.0) + random.range(-3.0, 3.0), -4.0 * (f64::from(row) - 1.5) + random.range(-3.0, 3.0));
            scene.moving(body, way, G::rate(random.range(-5.0, 5.0)));
        }
    }
    scene.model.tolerances.max_events = 1;
    scene.world()
}

/// Random clusters whose steps are nearly all stepped: energy never rises, momentum stays, the ledger balances.
fn stepped_clusters_gain_nothing<G: Stage>() {
    let mut random = Random::new(41);
    let (mut stepped, mut rise, mut slip, mut drift) = (0, 0.0f64, 0.0f64, 0.0f64);
    for round in 0..12 {
        let mut world = cluster::<G>(&mut random, 0.25 * f64::from(round % 5), if round % 2 == 0 { 0.4 } else { 0.0 });
        let start = world.ledger();
        let mut last = start.kinetic;
        for _ in 0..20 {
            let report = world.step().unwrap_or_else(|error| panic!("{error}"));
            stepped += report.stepped;
            let now = world.ledger();
            if report.stepped > 0 {
                // Elsewhere the energy of what rolls moves within the band of the integrator.
                rise = rise.max((now.kinetic - last) / start.kinetic);
            }
            last = now.kinetic;
            drift = drift.max(now.drift.abs() / now.exchanged);
        }
        let end = world.ledger();
        let scale = (2.0 * start.kinetic).sqrt();
        slip = end.momentum.iter().zip(&start.momentum).fold(slip, |m, (a, b)| m.max((a - b).abs() / scale));
    }
    figure(&format!("{} clusters: stepped moves", G::NAME), stepped as f64);
    assert!(stepped > 40, "{stepped} stepped moves are no test");
    let mut good = holds(&format!("{} clusters, stepped: rise of the energy, relative", G::NAME), rise, 1e-9);
    good &= holds(&format!("{} clusters, stepped: change of the momentum, relative", G::NAME), slip, 1e-10);
    good &= holds(&format!("{} clusters, stepped: ledger drift over exchanged", G::NAME), drift, 1e-3);
    assert!(good);
}
in_both_spaces!(stepped_clusters_gain_nothing);

/// Two balls side by side in one island land in the same step; the second landing is stepped, and bounces all the same.
fn two_landings<G: Stage>(restitution: f64) -> ([f64; 2], StepReport) {
    let mut scene = Scene::<G>::new(0.004);
    scene.ground(0.0, restitution);
    for (index, gap) in [0.001, 0.004].into_iter().enumerate() {
        let body = scene.body(G::ball(0.1), 1.0, pose(0.2005 * index as f64, 0.1 + gap, 0.0), 0.0, restitution);
        scene.moving(body, G::at(0.0, -2.4), G::rate(0.0));
    }
    scene.model.tolerances.max_events = 1;
    let mut world = scene.world();
    let report = world.step().unwrap_or_else(|error| panic!("{error}"));
    ([1, 2].map(|body| G::flat(world.state().twists[body].lin)[1]), report)
}

fn a_stepped_landing_bounces<G: Stage>() {
    for restitution in [0.3, 0.7, 1.0] {
        let ([first, second], report) = two_landings::<G>(restitution);
        assert_eq!((report.events, report.stepped), (1, 1), "{} e = {restitution}", G::NAME);
        // Late by at most a step: off by what gravity does in one.
        assert!((first - restitution * 2.4).abs() < 0.05, "{} e = {restitution}: {first}", G::NAME);
        assert!((second - restitution * 2.4).abs() < 0.05, "{} e = {restitution}: {second}", G::NAME);
        assert!(second <= restitution * (2.4f64 * 2.4 + 2.0 * 9.81 * 0.004).sqrt() + 1e-12, "{} gains: {second}", G::NAME);
    }
}
in_both_spaces!(a_stepped_landing_bounces);

/// In a stepped move a ball at 10 m/s passes another with 0.1 mm between them, and is not deflected.
fn a_near_miss_is_a_miss<G: Stage>() {
    let mut scene = Scene::<G>::weightless(0.005);
    scene.ground(0.0, 0.0);
    let landing = scene.body(G::ball(0.1), 1.0, pose(0.0, 0.1001, 0.0), 0.5, 0.0);
    scene.moving(landing, G::at(0.0, -1.0), G::rate(0.0));
    let other = scene.body(G::ball(0.1), 1.0, pose(0.2005, 0.1008, 0.0), 0.5, 0.0);
    scene.moving(other, G::at(0.0, -1.0), G::rate(0.0));
    let passing = scene.body(G::ball(0.1), 1.0, pose(-0.025, 0.3001, 0.0), 0.5, 0.0);
    scene.moving(passing, G::at(10.0, 0.0), G::rate(0.0));
    scene.model.tolerances.max_events = 1;
    let mut world = scene.world();
    let report = world.step().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((report.events, report.stepped), (1, 1), "{}", G::NAME);
    let velocity = G::flat(world.state().twists[passing].lin);
    assert!((velocity[0] - 10.0).abs() < 1e-9 && velocity[1].abs() < 1e-9, "{} {velocity:?}", G::NAME);
    assert!(world.deepest() > -1e-7, "{} {}", G::NAME, world.deepest());
}
in_both_spaces!(a_near_miss_is_a_miss);

/// Steps of a world: solves each on average, most in one, and the reports in one.
fn cost<G: Geometry>(world: &mut World<G>, steps: usize) -> (f64, usize, StepReport) {
    let (mut total, mut most) = (StepReport::default(), 0);
    for _ in 0..steps {
        let report = world.step().unwrap_or_else(|error| panic!("{error}"));
        most = most.max(report.solves);
        total.merge(&report);
    }
    (total.solves as f64 / steps as f64, most, total)
}

/// Thirty discs fall into a bin at 5 ms: at most twelve solves a step while they fall, four at rest, nothing gained and the ledger closed.
#[test]
fn a_pile_of_thirty_costs_few_solves() {
    let mut random = Random::new(30);
    let mut scene = Scene::<Planar>::new(0.005);
    scene.ground(0.5, 0.5);
    for side in [-1.0, 1.0] {
        scene.fixed(Planar::half_space(Planar::at(-side, 0.0)), pose(0.8 * side, 0.0, 0.0), 0.5, 0.5);
    }
    for index in 0..30 {
        let place = pose(-0.6 + 0.3 * f64::from(index % 5) + random.range(-0.03, 0.03), 0.2 + 0.3 * f64::from(index / 5), 0.0);
        scene.body(Planar::ball(0.1), 1.0, place, 0.5, 0.5);
    }
    let mut world = scene.world();
    let start = world.ledger();
    let (falling, most, _) = cost(&mut world, 600);
    let (resting, _, last) = cost(&mut world, 100);
    let end = world.ledger();
    let mut good = holds("thirty discs: solves a step while they fall", falling, 12.0);
    good &= holds("thirty discs: most solves in a step", most as f64, 250.0);
    good &= holds("thirty discs: solves a step at rest", resting, 4.0);
    good &= holds("thirty discs: ledger drift over exchanged", end.drift.abs() / end.exchanged, 1e-3);
    good &= holds("thirty discs: energy gained", end.kinetic + end.potential - start.potential, 1e-9);
    assert!(good);
    assert_eq!(last.stepped, 0, "a pile at rest has no events");
}

/// Crowds in space at reduced time: (name, scene, steps before it is counted, steps counted, solves and factorisations of a step at most, on average).
#[test]
fn crowds_in_space_cost_few_solves() {
    let step = 1.0 / 240.0;
    let dominoes = carom_scene::scene("domino_spiral").map_or_else(String::new, |scene| scene.text.to_string());
    let crowds = [
        ("stack of ten at rest", stack(10, step), 10, 40, 1.0, 1.0),
        ("pyramid of 55 at rest", pyramid(10, step), 10, 20, 1.0, 1.0),
        // They land in these steps; over the whole fall it is ten solves a step.
        ("27 boxes falling", pile(Solids::Boxes, 27, 0.5, step, 1), 0, 90, 20.0, 250.0),
        ("27 balls falling", pile(Solids::Balls, 27, 0.5, step, 1), 0, 110, 12.0, 100.0),
        // Each domino that stands is an island with two solves of its own; what costs factors are the dozen that lean on each other.
        ("dominoes that topple", dominoes, 80, 80, 400.0, 450.0),
    ];
    let mut good = true;
    for (name, text, before, steps, solves, factorisations) in crowds {
        let Ok(carom_scene::Scene::Spatial(scene)) = carom_scene::from_toml(&text, name) else { panic!("{name} is not a scene in space") };
        let mut world = World::new(scene.model, scene.state).unwrap_or_else(|error| panic!("{error}"));
        cost(&mut world, before);
        let (each, _, total) = cost(&mut world, steps);
        let rough = total.rough as f64 / (total.solves + total.substitutions).max(1) as f64;
        good &= holds(&format!("{name}: solves a step"), each, solves);
        good &= holds(&format!("{name}: factorisations a step"), total.factorisations as f64 / steps as f64, factorisations);
        good &= holds(&format!("{name}: share of solves above 1e-8 m/s"), rough, 1e-3);
    }
    assert!(good);
}

/// Two roads to the least displacement that removes overlap: over bodies, where rows are many, and by the dense matrix of all rows.
fn overlap_is_removed_alike_by_both_roads<G: Stage>() {
    let place = |choice: SolverChoice| {
        let mut scene = Scene::<G>::weightless(0.005);
        scene.model.options.solver = choice;
        scene.ground(0.5, 0.0);
        let mut random = Random::new(7);
        for row in 0..6 {
            for column in 0..6 {
                let squeeze = |k: i32, random: &mut Random| 0.2 * f64::from(k) * (1.0 - 1e-3) + random.range(-1e-4, 1e-4);
                let at = pose(squeeze(column, &mut random), 0.1 + squeeze(row, &mut random), 0.0);
                scene.body(if (row + column) % 2 == 0 { G::ball(0.1) } else { G::cuboid(0.2, 0.2) }, 1.0, at, 0.5, 0.0);
            }
        }
        let mut world = scene.world();
        assert!(world.deepest() < -1e-4, "they overlap");
        let report = world.step().unwrap_or_else(|error| panic!("{error}"));
        assert!(report.placed && world.deepest() >= -2e-7, "{} {:?}: {} m", G::NAME, choice, world.deepest());
        world
    };
    let [over_bodies, dense] = [SolverChoice::Auto, SolverChoice::InteriorPoint].map(place);
    let pairs = over_bodies.state().poses.iter().zip(&dense.state().poses);
    let apart = pairs.fold(0.0f64, |most, (one, other)| most.max((one.position - other.position).norm()));
    assert!(holds(&format!("{} overlap removed by two roads: difference [m]", G::NAME), apart, 1e-9));
}
in_both_spaces!(overlap_is_removed_alike_by_both_roads);

/// A step that takes over the contacts and rows which the last one ended with has the bits of one that finds them anew.
fn what_is_taken_over_is_what_would_be_found<G: Stage>() {
    let mut scene = Scene::<G>::new(1.0 / 240.0);
    scene.ground(0.3, 0.1);
    for level in 0..4 {
        scene.body(G::cuboid(0.4, 0.4), 1.0, pose(0.0, 0.2 + 0.4 * f64::from(level), 0.0), 0.3, 0.1);
    }
    let sliding = scene.body(G::cuboid(0.4, 0.2), 1.0, pose(1.0, 0.1, 0.0), 0.3, 0.1);
    scene.moving(sliding, G::at(-0.6, 0.0), G::rate(0.0));
    let rolling = scene.body(G::ball(0.1), 1.0, pose(1.6, 0.1, 0.0), 0.3, 0.1);
    scene.moving(rolling, G::at(0.3, 0.0), G::rate(-1.0));
    let falling = scene.body(G::cuboid(0.1, 0.1), 1.0, pose(0.05, 1.9, 0.3), 0.3, 0.1);
    scene.moving(falling, G::at(0.0, -0.5), G::rate(0.5));
    let mut world = scene.world();
    for step in 0..160 {
        let mut anew = world.copy();
        for world in [&mut world, &mut anew] {
            world.step().unwrap_or_else(|error| panic!("{error}"));
        }
        assert!(world.state() == anew.state(), "{} step {step}", G::NAME);
    }
    assert!(world.report().contacts > 3, "the bodies touch");
}
in_both_spaces!(what_is_taken_over_is_what_would_be_found);

/// The classics whose outcome is known are event-driven to the end.
#[test]
fn the_classics_are_never_stepped() {
    let names = [
        "ball_drop",
        "newton_cradle",
        "cradle_50",
        "cradle_unequal",
        "pool_break",
        "pool_break_real",
        "locked_plug",
        "wedge",
        "geyser",
        "superball",
        "bank_shot",
        "rod_strikes_table",
        "two_compressions",
        "corner",
        "inelastic_collapse",
        "granular_chain",
        "bouncing_spheres_3d",
        "stack_ten",
        "strandbeest",
        "slip_angle_above",
    ];
    for name in names {
        let scene = carom_scene::scene(name).unwrap_or_else(|| panic!("no scene {name}"));
        let stepped = match carom_scene::from_toml(scene.text, name) {
            Ok(carom_scene::Scene::Planar(scene)) => stepped(scene),
            Ok(carom_scene::Scene::Spatial(scene)) => stepped(scene),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(stepped, 0, "{name}");
    }
}

fn stepped<G: Geometry>(scene: carom_scene::SceneOf<G>) -> usize {
    let steps = (scene.duration.min(3.0) / scene.model.step).round() as usize;
    let mut world = World::new(scene.model, scene.state).unwrap_or_else(|error| panic!("{error}"));
    cost(&mut world, steps).2.stepped
}
