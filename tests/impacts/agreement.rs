//! Where the laws must agree, where restitution acts and where it does not, and which law acts when pairs name their own.

use crate::laws::{ALL, ORDERS, STEPS, ball, during, kinetic, scene, until_impact, velocities, wall};
use carom_dynamics::options::{ImpactLaw, Integrator, TimeOfImpact};
use carom_dynamics::{BodyKind, Coefficients, PairRule, World};
use carom_math::{Planar, Pose, Spatial, Vector};
use carom_tests::in_both_spaces;
use carom_tests::scene::pose;
use carom_tests::{Random, Stage, holds};

/// One frictionless contact, bodies of any shape: every law removes the closing speed and returns e times it.
fn single_frictionless_contact<G: Stage>() {
    let mut good = true;
    for law in ALL {
        let mut random = Random::new(11);
        let mut worst = 0.0f64;
        for _ in 0..20 {
            let e = random.pick(&[0.0, 0.3, 0.7, 1.0]);
            let mut scene = scene::<G>(law, STEPS[1]);
            wall(&mut scene, [0.0, 1.0], [0.0, 0.0], 0.0, e);
            let angle = random.range(0.2, 1.3);
            let (half, thick) = (0.4, 0.05);
            let rod = scene.body(G::capsule(2.0 * half, thick), 1.7, pose(0.0, half * angle.sin() + thick + 0.01, angle), 0.0, e);
            let (start, spin) = ([random.range(-2.0, 2.0), random.range(-2.0, -1.0)], random.range(-0.5, 0.5));
            scene.moving(rod, G::at(start[0], start[1]), G::rate(spin));
            let inertia = G::flat_inertia(scene.model.bodies[rod].inertia);
            let mut world = scene.world();
            until_impact(&mut world, 0.2);
            // The rod turned while it fell: the arm is that of the instant it touched, found from where it is now.
            let (lin, rate) = (G::flat(world.state().twists[rod].lin), G::flat_rate(world.state().twists[rod].ang));
            // Along the wall nothing changed; across it the impulse and the turn it gave are one: I dw = x m dv.
            let arm = inertia * (rate - spin) / (1.7 * (lin[1] - start[1]));
            let closing = (start[1] + spin * arm, lin[1] + rate * arm);
            worst = worst.max((lin[0] - start[0]).abs()).max((closing.1 + e * closing.0).abs());
            assert!(arm < -0.05 && lin[1] > start[1], "it was struck at its lower end");
        }
        good &= holds(&format!("{} single frictionless contact, {law:?}: e of the closing speed [m/s]", G::NAME), worst, 1e-10);
    }
    assert!(good);
}
in_both_spaces!(single_frictionless_contact);

/// A ball thrown at the ground without gravity; its velocity a while later.
fn thrown<G: Stage>(law: ImpactLaw, way: TimeOfImpact, integrator: Integrator, e: f64, step: f64) -> [f64; 2] {
    let mut scene = scene::<G>(law, step);
    scene.model.options.time_of_impact = way;
    scene.model.options.integrator = integrator;
    wall(&mut scene, [0.0, 1.0], [0.0, 0.0], 0.0, e);
    let body = ball(&mut scene, 0.1, 1.0, 0.0, 0.15, e);
    scene.moving(body, G::at(0.3, -1.0), G::rate(0.0));
    let mut world = scene.world();
    during(&mut world, 0.2);
    velocities(&world)[0]
}

/// The speed after is e times the speed before, once, at every step size.
fn restitution_acts_once<G: Stage>() {
    for (e, law) in [0.0, 0.25, 0.5, 1.0].into_iter().flat_map(|e| ALL.map(|law| (e, law))) {
        for step in STEPS {
            let after = thrown::<G>(law, TimeOfImpact::Event, Integrator::Verlet, e, step);
            assert!((after[0] - 0.3).abs() < 1e-12 && (after[1] - e).abs() < 1e-12, "{law:?} e {e} step {step}: {after:?}");
        }
    }
}
in_both_spaces!(restitution_acts_once);

/// Without events `newton` has its restitution inside the complementarity problem: again once.
fn restitution_inside_the_problem<G: Stage>(way: TimeOfImpact, integrator: Integrator) {
    for (e, step) in [0.0, 0.25, 0.5, 1.0].into_iter().flat_map(|e| STEPS.map(|step| (e, step))) {
        let after = thrown::<G>(ImpactLaw::Newton, way, integrator, e, step);
        let good = (after[0] - 0.3).abs() < 1e-9 && (after[1] - e).abs() < 1e-9;
        assert!(good, "{} {way:?} {integrator:?} e {e} step {step}: {after:?}", G::NAME);
    }
}

/// The scheme of de Avila Belbute-Peres et al. (2018).
#[test]
fn restitution_inside_the_problem_of_the_source() {
    restitution_inside_the_problem::<Planar>(TimeOfImpact::Halving, Integrator::Euler);
    restitution_inside_the_problem::<Spatial>(TimeOfImpact::Halving, Integrator::Euler);
}

/// The other schemes without events.
#[test]
fn restitution_inside_the_problem_of_other_schemes() {
    for (way, integrator) in
        [(TimeOfImpact::Halving, Integrator::Verlet), (TimeOfImpact::Off, Integrator::Verlet), (TimeOfImpact::Off, Integrator::Euler)]
    {
        restitution_inside_the_problem::<Planar>(way, integrator);
        restitution_inside_the_problem::<Spatial>(way, integrator);
    }
}

/// A box that lands flat touches at all its lower corners and still rebounds with e once, upright.
fn flat_landing_rebounds_once<G: Stage>() {
    for law in [ImpactLaw::Auto, ImpactLaw::Reflections, ImpactLaw::Newton] {
        for (e, mu) in [(0.5, 0.0), (0.5, 0.4), (1.0, 0.4)] {
            let mut scene = scene::<G>(law, STEPS[0]);
            wall(&mut scene, [0.0, 1.0], [0.0, 0.0], mu, e);
            let body = scene.body(G::cuboid(0.4, 0.2), 1.0, pose(0.0, 0.2, 0.0), mu, e);
            scene.moving(body, G::at(0.0, -1.0), G::rate(0.0));
            let mut world = scene.world();
            until_impact(&mut world, 0.2);
            let twist = world.state().twists[body];
            assert!((G::flat(twist.lin)[1] - e).abs() < 1e-10 && twist.ang.norm() < 1e-10, "{law:?} e {e} mu {mu}: {twist:?}");
        }
    }
}
in_both_spaces!(flat_landing_rebounds_once);

/// Below the rest speed of 1 mm/s nothing bounces, above it everything does; what is lost is booked as a slow landing, not a strike.
fn slow_contacts_do_not_bounce<G: Stage>() {
    for law in ALL {
        for (speed, bounces) in [(0.5e-3, false), (0.9e-3, false), (1.1e-3, true), (5e-3, true)] {
            let mut scene = scene::<G>(law, STEPS[0]);
            wall(&mut scene, [0.0, 1.0], [0.0, 0.0], 0.0, 1.0);
            let body = ball(&mut scene, 0.1, 1.0, 0.0, 0.1 + 0.02 * speed, 1.0);
            scene.moving(body, G::at(0.0, -speed), G::rate(0.0));
            let mut world = scene.world();
            let report = during(&mut world, 0.1);
            let after = velocities(&world)[0][1];
            let flow = world.ledger().flow;
            let wanted = if bounces { speed } else { 0.0 };
            assert!((after - wanted).abs() < 1e-12, "{law:?} at {speed}: {after}");
            assert_eq!(report.impacts > 0, bounces, "{law:?} at {speed}");
            let lost = if bounces { 0.0 } else { 0.5 * speed * speed };
            assert!((flow.contact_loss - lost).abs() < 1e-15 && flow.impact_loss.abs() < 1e-15, "{law:?} at {speed}: {flow:?}");
        }
    }
}
in_both_spaces!(slow_contacts_do_not_bounce);

/// A moving wall is hit in its own frame: v' = v_w + e (v_w - v). What it gave is booked as work.
fn paddle_hits_in_its_own_frame<G: Stage>() {
    for law in ALL {
        for (paddle, speed, e) in [(2.0, -1.0, 1.0), (2.0, 0.5, 1.0), (-0.5, -3.0, 1.0), (1.5, -1.0, 0.4), (1.0, 0.0, 0.0)] {
            let mut scene = scene::<G>(law, STEPS[0]);
            let bat = wall(&mut scene, [1.0, 0.0], [0.0, 0.0], 0.0, e);
            scene.model.bodies[bat].kind = BodyKind::Kinematic;
            scene.moving(bat, G::at(paddle, 0.0), G::rate(0.0));
            let body = ball(&mut scene, 0.1, 2.0, 0.25, 0.0, e);
            scene.moving(body, G::at(speed, 0.7), G::rate(0.0));
            let mut world = scene.world();
            let before = kinetic(&world);
            until_impact(&mut world, 1.0);
            let after = G::flat(world.state().twists[body].lin);
            let wanted = paddle + e * (paddle - speed);
            assert!((after[0] - wanted).abs() < 1e-10 && (after[1] - 0.7).abs() < 1e-12, "{law:?} {paddle} {speed} {e}: {after:?}");
            let flow = world.ledger().flow;
            let given = 2.0 * (wanted - speed) * paddle;
            assert!((flow.work_in - given).abs() < 1e-9, "{law:?}: work {} of {given}", flow.work_in);
            assert!((kinetic(&world) - before - flow.work_in + flow.losses()).abs() < 1e-9, "{law:?}: the books balance");
        }
    }
}
in_both_spaces!(paddle_hits_in_its_own_frame);

/// Five balls that touch, with a law for the scene and one for each neighbouring pair.
fn cradle<G: Stage>(law: ImpactLaw, pairs: &[Option<ImpactLaw>]) -> World<G> {
    let mut scene = scene::<G>(law, STEPS[1]);
    for i in 0..5 {
        ball(&mut scene, 0.5, 1.0, i as f64, 0.0, 1.0);
    }
    for (i, &impact) in pairs.iter().enumerate() {
        if impact.is_some() {
            scene.model.pairs.push(PairRule { bodies: [i, i + 1], coefficients: Coefficients::default(), impact, collide: None });
        }
    }
    scene.moving(0, G::at(1.0, 0.0), G::rate(0.0));
    let mut world = scene.world();
    world.step().expect("a cradle");
    world
}

/// A pair may name its own law; where the pairs of one problem disagree `auto` acts.
fn pairs_may_name_their_law<G: Stage>() {
    let speeds = |world: World<G>| velocities(&world).iter().map(|v| v[0]).collect::<Vec<_>>();
    let near = |found: &[f64], wanted: [f64; 5]| found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-8);
    let (passed, shared) = ([0.0, 0.0, 0.0, 0.0, 1.0], [-0.6, 0.4, 0.4, 0.4, 0.4]);
    assert!(near(&speeds(cradle(ImpactLaw::Newton, &[])), shared));
    assert!(near(&speeds(cradle(ImpactLaw::Newton, &[Some(ImpactLaw::Reflections); 4])), passed), "all pairs override the scene");
    assert!(near(&speeds(cradle(ImpactLaw::Auto, &[Some(ImpactLaw::Newton); 4])), shared), "all pairs override the scene");
    let auto = speeds(cradle(ImpactLaw::Auto, &[]));
    for odd in 0..4 {
        let mut pairs = [Some(ImpactLaw::Newton); 4];
        pairs[odd] = Some(ImpactLaw::Stronge);
        assert_eq!(speeds(cradle(ImpactLaw::Newton, &pairs)), auto, "mixed laws fall back, bit for bit");
        let mut pairs = [None; 4];
        pairs[odd] = Some(ImpactLaw::Reflections);
        assert_eq!(speeds(cradle(ImpactLaw::Newton, &pairs)), auto, "one pair that disagrees with the scene is enough");
    }
}
in_both_spaces!(pairs_may_name_their_law);

/// A pair's law acts on that pair alone: two separate problems, one law each.
fn laws_of_separate_problems_do_not_mix<G: Stage>() {
    for law in ORDERS.map(ImpactLaw::GaussSeidel).into_iter().chain([ImpactLaw::Reflections]) {
        let mut scene = scene::<G>(law, STEPS[1]);
        // A rod dropped on one end under the energy law beside a cradle under another.
        let ground = wall(&mut scene, [0.0, 1.0], [0.0, 0.0], 0.5, 1.0);
        let rod = scene.body(G::capsule(1.0, 0.01), 1.0, pose(-5.0, 0.5 * 0.5 + 0.01, std::f64::consts::FRAC_PI_6), 0.5, 1.0);
        scene.moving(rod, G::at(-0.5, -1.0), G::rate(0.0));
        scene.model.pairs.push(PairRule {
            bodies: [ground, rod],
            coefficients: Coefficients::default(),
            impact: Some(ImpactLaw::Stronge),
            collide: None,
        });
        let first = scene.model.bodies.len();
        for i in 0..3 {
            scene.body(G::ball(0.5), 1.0, Pose { position: G::at(i as f64, 3.0), rotation: G::identity() }, 0.0, 1.0);
        }
        scene.moving(first, G::at(1.0, 0.0), G::rate(0.0));
        let mut world = scene.world();
        world.step().expect("two problems");
        let inertia = G::flat_inertia(world.model().bodies[rod].inertia);
        let arm = [-0.5 * std::f64::consts::FRAC_PI_6.cos(), -0.26];
        let start = crate::reference::Approach { mass: 1.0, inertia, arm, velocity: [-0.5, -1.0], spin: 0.0 };
        let wanted = start.collide(1.0, 0.5);
        let found = G::flat(world.state().twists[rod].lin);
        assert!((found[0] - wanted.velocity[0]).abs() + (found[1] - wanted.velocity[1]).abs() < 1e-9, "{law:?}: {found:?} {wanted:?}");
        let last = G::flat(world.state().twists[first + 2].lin);
        assert!((last[0] - 1.0).abs() < 1e-12, "{law:?}: {last:?}");
    }
}
in_both_spaces!(laws_of_separate_problems_do_not_mix);
