//! Contacts, limits, motors and friction under `energy-momentum`.

use carom_dynamics::options::{Gyroscopic, ImpactLaw, Integrator, TimeOfImpact};
use carom_dynamics::{JointKind, Motor, World};
use carom_math::{Planar, Spatial, Vector};
use carom_tests::scene::{pose, run};
use carom_tests::{GRAVITY, Scene, Stage, full, holds, hostile_scene, random_scene};

fn scene<G: Stage>(step: f64) -> Scene<G> {
    let mut scene = Scene::<G>::new(step);
    scene.model.options.integrator = Integrator::EnergyMomentum;
    scene
}

/// A ball that lands slower than its rest speed stays where it landed; one that lands fast rebounds to e^2 of its height.
fn landings<G: Stage>() {
    let mut slow = scene::<G>(0.005);
    slow.ground(0.5, 0.9);
    let ball = slow.body(G::ball(0.1), 1.0, pose(0.0, 0.1 + 1e-4, 0.0), 0.5, 0.9);
    let mut world = slow.world();
    run(&mut world, 0.5);
    let rise = G::flat(world.state().poses[ball].position)[1] - 0.1;
    let stays = holds(&format!("{} slow landing: height", G::NAME), rise.abs(), 1e-12);
    let rests = holds(&format!("{} slow landing: speed", G::NAME), world.state().twists[ball].lin.norm(), 1e-12);
    let lost = GRAVITY * 1e-4;
    let booked = holds(&format!("{} slow landing: loss", G::NAME), (world.ledger().flow.losses() - lost).abs() / lost, 1e-9);

    let mut fast = scene::<G>(0.005);
    fast.ground(0.5, 0.7);
    fast.body(G::ball(0.1), 1.0, pose(0.0, 1.1, 0.0), 0.5, 0.7);
    let mut world = fast.world();
    let mut apex = 0.0f64;
    for _ in 0..200 {
        world.step().expect("a ball");
        let (kinetic, potential, _) = world.energies();
        if world.ledger().flow.impact_loss > 0.0 {
            apex = apex.max((kinetic + potential) / GRAVITY - 0.1);
        }
    }
    let bounces = holds(&format!("{} rebound: height over e^2 of the drop", G::NAME), (apex / 0.49 - 1.0).abs(), 1e-9);
    assert!(stays && rests && booked && bounces);
}

#[test]
fn planar_landings() {
    landings::<Planar>();
}

#[test]
fn spatial_landings() {
    landings::<Spatial>();
}

/// A motor ends every step at its rate instead of swinging about it, and its work is the energy gained.
#[test]
fn a_motor_ends_at_its_rate() {
    let mut lift = scene::<Planar>(0.005);
    let body = lift.particle(2.0, nalgebra::Matrix1::new(0.1), pose(0.0, 0.0, 0.0));
    lift.joint(JointKind::Slider, [Some(body), None], |spec| {
        spec.anchor = Some(Planar::at(0.0, 0.0));
        spec.axis = Some(Planar::at(0.0, 1.0));
        spec.motor = Some(Motor::Velocity { velocity: 0.5, max: 100.0 });
    });
    let mut world = lift.world();
    run(&mut world, 0.1);
    for _ in 0..100 {
        world.step().expect("a lift");
        assert!((world.state().twists[body].lin.y - 0.5).abs() < 1e-12);
    }
    let ledger = world.ledger();
    let gained = ledger.kinetic + ledger.potential;
    assert!(holds("lift: work over energy gained", (ledger.flow.work_in / gained - 1.0).abs(), 1e-9));
}

/// Random scenes of a second, gentle and hostile: the books balance to rounding, and contacts never feed energy in.
fn books<G: Stage>(count: u64) {
    let (mut drift, mut gain) = (0.0f64, 0.0f64);
    for number in 0..count {
        let mut scene =
            if number % 2 == 0 { random_scene::<G>(50_000 + number, &[]).0 } else { hostile_scene::<G>(50_000 + number, &[]).0 };
        scene.model.step = 0.0025;
        scene.model.options.integrator = Integrator::EnergyMomentum;
        let Ok(mut world) = World::new(scene.model, scene.state) else { continue };
        for _ in 0..400 {
            let Ok(report) = world.step() else { break };
            // A soft spring damps on its own account, and a projection may stretch a spring: neither is in the books.
            if report.soft_spring || report.projected {
                break;
            }
            let ledger = world.ledger();
            drift = drift.max(ledger.drift.abs() / ledger.exchanged);
            gain = gain.max((ledger.flow.joint_work - ledger.flow.losses()) / ledger.exchanged);
        }
    }
    let balances = holds(&format!("{} {count} random scenes: drift over exchanged", G::NAME), drift, 1e-8);
    let passive = holds(&format!("{} {count} random scenes: energy gained by rows over exchanged", G::NAME), gain, 1e-4);
    assert!(balances && passive);
}

#[test]
fn planar_books() {
    books::<Planar>(if full() { 2000 } else { 100 });
}

#[test]
fn spatial_books() {
    books::<Spatial>(if full() { 2000 } else { 60 });
}

/// What does not mix is refused, and the key is named.
#[test]
fn refusals() {
    let mut inside = scene::<Planar>(0.005);
    inside.model.options.impact = ImpactLaw::Newton;
    inside.model.options.time_of_impact = TimeOfImpact::Halving;
    assert_eq!(World::new(inside.model, inside.state).expect_err("no rebound of a mean velocity").key, "integrator");
    let mut forward = scene::<Spatial>(0.005);
    forward.model.options.gyroscopic = Gyroscopic::Forward;
    assert_eq!(World::new(forward.model, forward.state).expect_err("a choice of verlet").key, "gyroscopic");
}

/// A run stopped, carried over and resumed ends in the same bits: nothing of a move is kept but the state and what contacts remember.
#[test]
fn resumes_in_the_same_bits() {
    for number in 50_000..50_010 {
        let build = || {
            let mut scene = random_scene::<Spatial>(number, &[]).0;
            scene.model.options.integrator = Integrator::EnergyMomentum;
            World::new(scene.model, scene.state).ok()
        };
        let (Some(mut whole), Some(mut first), Some(mut second)) = (build(), build(), build()) else { continue };
        let take = |world: &mut World<Spatial>, steps: usize| (0..steps).for_each(|_| assert!(world.step().is_ok(), "a scene"));
        take(&mut whole, 80);
        take(&mut first, 37);
        second.restore(&first.snapshot()).expect("the same scene");
        take(&mut second, 43);
        assert_eq!(whole.state().hash(), second.state().hash(), "scene {number}");
    }
}
