//! Friction of impacts: it dissipates, stays in its disc and opposes slip.

use super::support::*;
use crate::impact::*;
use carom_solve::impact::disc::disc_minimum;

#[test]
fn a_disc_problem_is_solved_to_its_optimality_conditions() {
    let mut random = Random(3);
    let mut edges = 0;
    for case in 0..20_000 {
        let (c, s) = (random.within(-1.0, 1.0), random.within(-1.0, 1.0));
        let eigen = [random.within(-6.0, 3.0).exp(), if case % 5 == 0 { 0.0 } else { random.within(-6.0, 3.0).exp() }];
        let length = c.hypot(s);
        let (c, s) = (c / length, s / length);
        let k = [eigen[0] * c * c + eigen[1] * s * s, (eigen[0] - eigen[1]) * c * s, eigen[0] * s * s + eigen[1] * c * c];
        let q = [random.within(-1.0, 1.0), random.within(-1.0, 1.0)];
        let radius = random.within(-6.0, 2.0).exp();
        let b = disc_minimum(k, q, radius);
        let gradient = [k[0] * b[0] + k[1] * b[1] + q[0], k[1] * b[0] + k[2] * b[1] + q[1]];
        let size = q[0].hypot(q[1]) + k[0].max(k[2]) * radius;
        assert!(b[0].hypot(b[1]) <= radius * (1.0 + 1e-14));
        if b[0].hypot(b[1]) < radius * (1.0 - 1e-12) {
            assert!(gradient[0].hypot(gradient[1]) <= 1e-10 * size, "{case}: inside, the gradient vanishes");
        } else {
            // On the edge the gradient points inwards along b.
            edges += 1;
            let across = gradient[0] * b[1] - gradient[1] * b[0];
            assert!(across.abs() <= 1e-10 * size * radius && gradient[0] * b[0] + gradient[1] * b[1] <= 1e-10 * size * radius, "{case}");
        }
    }
    assert!(edges > 1000);
}

#[test]
fn a_ball_on_a_floor_slides_or_sticks() {
    // A solid disc of mass 1, radius 1 (inertia 1/2) hits the floor at speed 1, elastically, with slip 3: normal impulse 2.
    let mass = MassMatrix::diagonal(&[1.0, 1.0, 0.5]).unwrap();
    let mut normals = SparseRows::new(3);
    normals.push(&[1], &[1.0]).unwrap();
    let mut tangents = SparseRows::new(3);
    tangents.push(&[0, 2], &[1.0, 1.0]).unwrap();
    // Sticking needs an impulse of 3/(1 + 2) = 1.
    for (mu, impulse) in [(0.0, 0.0), (0.25, -0.5), (0.5, -1.0), (2.0, -1.0)] {
        for staggered in [false, true] {
            let coefficients = [mu];
            let options = ImpactOptions { friction: Some(&coefficients), tangents: Some(&tangents), staggered, ..ImpactOptions::default() };
            let impact = impacts(&mass, &normals, &[3.0, -1.0, 0.0], &options).unwrap();
            assert!((impact.friction_impulses[0] - impulse).abs() < 1e-12, "{mu}: {:?}", impact.friction_impulses);
            assert!((impact.velocity[1] - 1.0).abs() < 1e-12);
            assert!((impact.velocity[0] - (3.0 + impulse)).abs() < 1e-12 && (impact.velocity[2] - 2.0 * impulse).abs() < 1e-12);
        }
    }
}

#[test]
fn friction_never_creates_energy_and_stays_in_its_disc() {
    let full = std::env::var("CAROM_FULL").is_ok_and(|v| v == "1");
    let mut sliding = 0;
    let mut sticking = 0;
    let mut slow = 0;
    for seed in 0..if full { 20_000 } else { 150 } {
        let scene = Scene::random(seed, seed % 10 == 0);
        let mut random = Random(seed + 77);
        let m = scene.normals.len();
        let t = scene.tangents.len() / m;
        let coefficients: Vec<f64> = (0..m).map(|_| random.within(0.0, 1.5)).collect();
        let restitution = Restitution::Uniform(random.within(0.0, 1.0));
        let plain =
            impacts(&scene.mass, &scene.normals, &scene.velocity, &ImpactOptions { restitution, ..ImpactOptions::default() }).unwrap();
        for staggered in [false, true] {
            let options = ImpactOptions {
                restitution,
                friction: Some(&coefficients),
                tangents: Some(&scene.tangents),
                staggered,
                ..ImpactOptions::default()
            };
            let impact = impacts(&scene.mass, &scene.normals, &scene.velocity, &options).unwrap();
            assert!(impact.energy_after <= impact.energy_before * (1.0 + 1e-10), "{seed}: energy rises");
            if !staggered {
                assert!(impact.energy_after <= plain.energy_after * (1.0 + 1e-10), "{seed}: friction creates energy");
                assert_eq!(impact.impulses, plain.impulses, "{seed}: one-way friction leaves the normal phase alone");
            }
            let gap = momentum_gap(&scene.mass, &scene.normals, &scene.velocity, &impact, Some(&scene.tangents));
            assert!(gap < 1e-9, "{seed}: momentum {gap:e}");
            for k in 0..m {
                let b = &impact.friction_impulses[k * t..(k + 1) * t];
                let (length, radius) = (dot(b, b).sqrt(), coefficients[k] * impact.impulses[k]);
                assert!(length <= radius * (1.0 + 1e-12) + 1e-15, "{seed}: outside the disc");
                if radius > 1e-6 && !staggered {
                    let slip: Vec<f64> = (0..t).map(|c| scene.tangents.dot(k * t + c, &impact.velocity)).collect();
                    if length < radius * (1.0 - 1e-9) {
                        sticking += 1;
                        slow += usize::from(dot(&slip, &slip).sqrt() > 1e-7);
                    } else {
                        sliding += 1;
                        assert!(dot(&slip, b) <= 1e-7 * radius, "{seed}: friction drives the slip");
                    }
                }
            }
        }
    }
    assert!(sliding > 100 && sticking > 100, "{sliding} {sticking}");
    assert!(slow * 1000 < sticking, "sticking contacts slip: {slow} of {sticking}");
}

#[test]
fn staggered_friction_leaves_nothing_closing_when_it_settles() {
    // A block pushed into a corner by friction: the one-way answer may close a contact; the staggered one, once settled, does not.
    let (mut better, mut settled) = (0, 0);
    for seed in 0..100 {
        let scene = Scene::random(seed, false);
        let m = scene.normals.len();
        let coefficients = vec![0.3; m];
        let run = |staggered| {
            let options = ImpactOptions {
                restitution: Restitution::Uniform(0.0),
                friction: Some(&coefficients),
                tangents: Some(&scene.tangents),
                staggered,
                ..ImpactOptions::default()
            };
            impacts(&scene.mass, &scene.normals, &scene.velocity, &options).unwrap()
        };
        let (one_way, staggered) = (run(false), run(true));
        better += usize::from(scene.closing(&staggered.velocity) < 1e-6 && scene.closing(&one_way.velocity) > 1e-3);
        // Phases that come to no agreement say so.
        assert!(!staggered.accurate || scene.closing(&staggered.velocity) < 1e-6, "{seed}: {}", scene.closing(&staggered.velocity));
        settled += usize::from(staggered.accurate);
    }
    assert!(better > 25 && settled > 50 && settled < 100, "{better} {settled}");
}
