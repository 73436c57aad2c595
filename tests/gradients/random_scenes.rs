//! Random scenes with contacts, joints and impacts: no gradient is ever NaN, and where the differences cross no switch they agree.

use carom_dynamics::BodyKind;
use carom_dynamics::gradient::{Cotangents, Direction, Switches, Tape};
use carom_dynamics::options::{FrictionCone, Gyroscopic, Integrator, Options, TimeOfImpact};
use carom_math::{Planar, Spatial};
use carom_tests::differences::altered;
use carom_tests::{Random, Stage, figure, full, hostile_scene, random_scene};

/// Steps of a rollout.
const STEPS: usize = 100;

/// Relative error allowed where no switch is crossed.
const AGREE: f64 = 1e-5;

/// Sets choices of a scene.
type Choose = fn(&mut Options);

/// What became of the scenes.
#[derive(Default, Debug)]
struct Tally {
    compared: usize,
    crossed: usize,
    flagged: usize,
    not_run: usize,
    worst: f64,
}

/// Directional derivative of a random loss of the last state along a random direction of state and parameters.
fn one<G: Stage>(number: u64, choose: Choose, tally: &mut Tally) {
    let (mut scene, story) = random_scene::<G>(number, &[]);
    choose(&mut scene.model.options);
    let world = scene.world();
    let Ok(rollout) = world.rollout(STEPS, &[], Tape::Full) else {
        tally.not_run += 1;
        return;
    };
    let mut random = Random::new(number ^ 0x5eed);
    let model = world.model();
    let size = model.bodies.len() * G::DOF;
    let dynamic = |k: usize| model.bodies[k / G::DOF].kind == BodyKind::Dynamic;
    let mut draw = |k: usize| if dynamic(k) { random.range(-1.0, 1.0) } else { 0.0 };
    let bar = Cotangents { poses: (0..size).map(&mut draw).collect(), twists: (0..size).map(&mut draw).collect() };
    let mut direction =
        Direction { poses: (0..size).map(&mut draw).collect(), twists: (0..size).map(&mut draw).collect(), ..Direction::default() };
    let layout = rollout.layout();
    direction.parameters = vec![0.0; layout.len];
    for slots in &layout.bodies {
        direction.parameters[slots.mass] = random.range(-0.1, 0.1);
    }
    for slot in layout.gravity.clone() {
        direction.parameters[slot] = random.range(-1.0, 1.0);
    }
    let gradient = rollout.backward(&bar).unwrap_or_else(|e| panic!("{} {number}: {e}", G::NAME));
    let all = gradient.poses.iter().chain(&gradient.twists).chain(&gradient.parameters);
    assert!(all.clone().all(|x| x.is_finite()), "{} {number}: a gradient is not finite\n{}", G::NAME, story.join("\n"));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let exact = dot(&gradient.poses, &direction.poses)
        + dot(&gradient.twists, &direction.twists)
        + dot(&gradient.parameters, &direction.parameters);

    // Differences count only between runs that took the same decisions.
    let mut best: Option<f64> = None;
    let mut longer: Option<(f64, f64)> = None;
    for h in [1e-5, 1e-6, 1e-7, 2e-8] {
        let ends: Vec<_> = [h, -h]
            .into_iter()
            .filter_map(|s| altered(&world, layout, &direction, s)?.rollout(STEPS, &[], Tape::Full).ok())
            .filter(|run| run.same_decisions(&rollout))
            .collect();
        if let [plus, minus] = &ends[..] {
            let loss = |run: &carom_dynamics::gradient::Rollout<G>| {
                let (poses, twists) = carom_tests::differences::relative(run.states.last().unwrap(), rollout.states.last().unwrap());
                dot(&poses, &bar.poses) + dot(&twists, &bar.twists)
            };
            let difference = (loss(plus) - loss(minus)) / (2.0 * h);
            // With the difference over a longer step the term in h^2 goes out: scenes that snap through need steps too short for their rounding.
            let fourth = longer.map(|(step, value)| difference + (difference - value) / ((step / h).powi(2) - 1.0));
            longer = Some((h, difference));
            for difference in [Some(difference), fourth].into_iter().flatten() {
                let error = (difference - exact).abs() / difference.abs().max(exact.abs()).max(1e-2);
                best = Some(best.map_or(error, |b| b.min(error)));
            }
        }
    }
    match best {
        None => tally.crossed += 1,
        Some(error) => {
            let mut flags = Switches::default();
            gradient.switches.iter().for_each(|s| flags.merge(s));
            if error >= AGREE && !flags.is_exact() {
                // The steps said so themselves.
                tally.flagged += 1;
                return;
            }
            tally.compared += 1;
            tally.worst = tally.worst.max(error);
            assert!(error < AGREE, "{} {number}: {error:.1e}, derivative {exact:e}\n{}", G::NAME, story.join("\n"));
        }
    }
}

fn many<G: Stage>(count: u64, what: &str, choose: Choose) {
    let mut tally = Tally::default();
    for number in 0..count {
        one::<G>(number, choose, &mut tally);
    }
    println!("{} {what} {tally:?}", G::NAME);
    figure(&format!("gradients of random scenes{what}, {}: worst", G::NAME), tally.worst);
    figure(&format!("gradients of random scenes{what}, {}: differences cross a switch", G::NAME), tally.crossed as f64);
    assert!(tally.compared * 2 > count as usize, "{tally:?}");
}

#[test]
fn gradients_of_random_scenes_in_the_plane() {
    many::<Planar>(if full() { 250 } else { 40 }, "", |_| ());
}

#[test]
fn gradients_of_random_scenes_in_space() {
    many::<Spatial>(if full() { 250 } else { 20 }, "", |_| ());
}

#[test]
fn random_scenes_with_energy_momentum() {
    let choose: Choose = |options| options.integrator = Integrator::EnergyMomentum;
    many::<Planar>(if full() { 100 } else { 10 }, " with energy-momentum", choose);
    many::<Spatial>(if full() { 100 } else { 6 }, " with energy-momentum", choose);
}

#[test]
fn random_scenes_with_pyramids_and_the_torque_taken_forward() {
    let choose: Choose = |options| {
        options.friction_cone = FrictionCone::Polyhedral(6);
        options.gyroscopic = Gyroscopic::Forward;
    };
    many::<Spatial>(if full() { 100 } else { 6 }, " with pyramids", choose);
}

/// Belts, motors, limits, joint friction and unequal masses: whatever happens, a gradient is finite.
fn hostile<G: Stage>(count: u64, choose: Choose) {
    let mut ran = 0;
    for number in 0..count {
        let (mut scene, story, _) = hostile_scene::<G>(number, &[]);
        choose(&mut scene.model.options);
        let size = scene.model.bodies.len() * G::DOF;
        let Ok(rollout) = scene.world().rollout(STEPS, &[], Tape::Full) else { continue };
        let gradient = rollout.backward(&Cotangents { poses: vec![1.0; size], twists: vec![1.0; size] });
        let gradient = gradient.unwrap_or_else(|e| panic!("{} {number}: {e}", G::NAME));
        let mut all = gradient.poses.iter().chain(&gradient.twists).chain(&gradient.parameters);
        assert!(all.all(|x| x.is_finite()), "{} {number}: a gradient is not finite\n{}", G::NAME, story.join("\n"));
        ran += 1;
    }
    assert!(ran * 2 > count, "{ran} of {count} ran");
}

#[test]
fn hostile_scenes_have_finite_gradients() {
    let midpoint: Choose = |options| {
        options.integrator = Integrator::EnergyMomentum;
        options.time_of_impact = TimeOfImpact::Event;
    };
    let forward: Choose = |options| {
        options.integrator = Integrator::Verlet;
        options.gyroscopic = Gyroscopic::Forward;
        options.friction_cone = FrictionCone::Polyhedral(4);
    };
    hostile::<Planar>(if full() { 200 } else { 12 }, midpoint);
    hostile::<Spatial>(if full() { 200 } else { 8 }, midpoint);
    hostile::<Spatial>(if full() { 200 } else { 8 }, forward);
}
