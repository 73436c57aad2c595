//! Random instants with many contacts: no law but Newton's gains energy, whatever the masses, coefficients and velocities.

use crate::laws::ALL;
use carom_dynamics::World;
use carom_dynamics::options::ImpactLaw;
use carom_math::{Planar, Pose, Spatial, Vector};
use carom_tests::scene::pose;
use carom_tests::{Random, Scene, Stage, figure, full, holds};

/// So short that nothing moves: the instant alone is seen [s].
const INSTANT: f64 = 1e-7;
/// Energy that rounding may add, relative.
const ROUNDING: f64 = 1e-10;

/// Balls in a rack, balls in a random touching tree, or a column of boxes, on the ground; masses, coefficients and velocities at random.
fn cluster<G: Stage>(seed: u64, law: ImpactLaw, frictionless: bool) -> Scene<G> {
    let mut random = Random::new(seed);
    let mut scene = crate::laws::scene::<G>(law, INSTANT);
    let mu = |random: &mut Random| if frictionless { 0.0 } else { random.range(0.0, 1.0) };
    // A third of the clusters is elastic throughout: there nothing hides a gain.
    let elastic = random.below(3) == 0;
    let bounce = |random: &mut Random| if elastic { 1.0 } else { random.unit() };
    let (ground_mu, ground_e) = (mu(&mut random), bounce(&mut random));
    scene.ground(ground_mu, ground_e);
    let mut places = Vec::new();
    let boxes = match random.below(3) {
        0 => {
            for row in 0..2 + random.below(3) {
                for place in 0..=row {
                    places.push(G::at((2.0 * place as f64 - row as f64) * 0.5, 0.5 + row as f64 * 0.75f64.sqrt()));
                }
            }
            false
        }
        1 => {
            places.push(G::at(0.0, 0.5));
            for _ in 0..200 {
                let from = places[random.below(places.len())];
                let way = G::deep(random.range(-1.0, 1.0), random.range(-1.0, 1.0), random.range(-1.0, 1.0));
                let next: G::Lin = from + way * (1.0 / way.norm());
                let clear = places.iter().all(|p| (*p - next).norm() > 1.0 - 1e-12) && G::flat(next)[1] > 0.5;
                if clear && places.len() < 8 {
                    places.push(next);
                }
            }
            false
        }
        _ => {
            (0..2 + random.below(2)).for_each(|level| places.push(G::at(0.1 * level as f64, 0.25 + 0.5 * level as f64)));
            true
        }
    };
    for place in places {
        let mass = 10f64.powf(random.range(-1.0, 1.0));
        let (friction, e) = (mu(&mut random), bounce(&mut random));
        let shape = if boxes { G::cuboid(1.0, 0.5) } else { G::ball(0.5) };
        let flat = G::flat(place);
        let body = scene.body(shape, mass, pose(flat[0], flat[1], 0.0), friction, e);
        scene.state.poses[body] = Pose { position: place, ..scene.state.poses[body] };
        let lin = G::deep(random.range(-1.0, 1.0), random.range(-1.0, 1.0), random.range(-2.0, 1.0));
        scene.moving(body, lin, G::rates(random.range(-2.0, 2.0), random.range(-2.0, 2.0), random.range(-2.0, 2.0)));
    }
    scene
}

/// Most energy gained relative to what was there, and how many instants struck more than one contact.
fn gained<G: Stage>(law: ImpactLaw, frictionless: bool) -> (f64, usize, usize) {
    let (mut most, mut many, mut capped) = (f64::NEG_INFINITY, 0, 0);
    for seed in 0..if full() { 3000 } else { 150 } {
        let scene = cluster::<G>(seed, law, frictionless);
        let mut world = World::new(scene.model, scene.state).expect("a cluster");
        let before = world.energies().0;
        let report = world.step().unwrap_or_else(|error| panic!("{law:?}, seed {seed}: {error}"));
        most = most.max(world.energies().0 / before - 1.0);
        many += usize::from(report.impacts > 0 && report.contacts + report.impact_iterations > 1);
        capped += usize::from(report.impact_capped);
    }
    (most, many, capped)
}

fn never_rises<G: Stage>(laws: &[ImpactLaw], frictionless: bool) {
    let mut good = true;
    for &law in laws {
        let (most, many, capped) = gained::<G>(law, frictionless);
        let name = format!("{} clusters, {law:?}{}", G::NAME, if frictionless { ", no friction" } else { "" });
        figure(&format!("{name}: capped problems"), capped as f64);
        good &= holds(&format!("{name}: energy gained, relative"), most, ROUNDING);
        assert!(many > 50, "{name}: only {many} instants strike");
    }
    assert!(good);
}

/// Every law but `newton`, with friction and mixed restitution.
#[test]
fn never_rises_planar() {
    never_rises::<Planar>(&ALL[..7], false);
}

/// The same in space.
#[test]
fn never_rises_spatial() {
    never_rises::<Spatial>(&ALL[..7], false);
}

/// Without friction.
#[test]
fn never_rises_without_friction() {
    never_rises::<Planar>(&ALL[..7], true);
    never_rises::<Spatial>(&ALL[..7], true);
}

/// `newton` on the same clusters, measured: it gains by friction, and without it where a touching contact parts during the strike.
#[test]
fn newton_gains_on_clusters() {
    for frictionless in [true, false] {
        let (planar, spatial) = (gained::<Planar>(ImpactLaw::Newton, frictionless), gained::<Spatial>(ImpactLaw::Newton, frictionless));
        figure(&format!("clusters, Newton, frictionless {frictionless}: energy gained in the plane, relative"), planar.0);
        figure(&format!("clusters, Newton, frictionless {frictionless}: energy gained in space, relative"), spatial.0);
        assert!(planar.0 > 0.1 && spatial.0 > 0.1, "gains expected: {planar:?} {spatial:?}");
    }
}

/// The smallest case: three touching balls with velocities (1, 0, 0.3), e = 1. The second contact parts, so its target is 0; the push
/// through it does work that nothing takes back. On paper v' = (-0.7, 2.3, 2.3) / 3.
#[test]
fn newton_gains_when_a_touching_contact_parts() {
    for law in ALL {
        let mut scene = crate::laws::scene::<Planar>(law, INSTANT);
        for (i, v) in [1.0, 0.0, 0.3].into_iter().enumerate() {
            let body = crate::laws::ball(&mut scene, 0.5, 1.0, i as f64, 0.0, 1.0);
            scene.moving(body, Planar::at(v, 0.0), Planar::rate(0.0));
        }
        let mut world = scene.world();
        let before = world.energies().0;
        world.step().expect("three balls");
        let after: Vec<f64> = crate::laws::velocities(&world).iter().map(|v| v[0]).collect();
        if law == ImpactLaw::Newton {
            assert!(after.iter().zip([-0.7, 2.3, 2.3]).all(|(v, w)| (v - w / 3.0).abs() < 1e-8), "{after:?}");
            assert!(world.energies().0 > 1.12 * before, "12.8 % are gained");
        } else {
            assert!(after.iter().zip([0.0, 0.3, 1.0]).all(|(v, w)| (v - w).abs() < 1e-12), "{law:?}: {after:?}");
        }
    }
}
