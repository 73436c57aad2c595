//! The gradient through one large impact: a rack of touching balls with friction, struck a little off its axis.

use carom_dynamics::World;
use carom_dynamics::gradient::{Cotangents, Direction, Gradient, Rollout, Tape};
use carom_dynamics::options::ImpactLaw;
use carom_math::{Planar, Spatial};
use carom_tests::scene::{Scene, pose};
use carom_tests::{Random, Stage, figure, holds};
use std::time::Instant;

/// Rows of the large rack: 91 balls and the cue ball, 234 contacts.
const LARGE: usize = 13;
/// Memory that the process may have used at most [kB]. An explicit derivative by the matrix of the rows takes 2.1 GB.
const PEAK: f64 = 1e6;
/// Digests are sums of numbers up to this large; they agree to 1e-12 of it.
const DIGEST_SIZE: f64 = 16.0;

/// A triangle of touching balls and a cue ball that hits its tip within the first step.
fn rack<G: Stage>(rows: usize, law: ImpactLaw) -> World<G> {
    let mut scene = Scene::<G>::weightless(0.01);
    scene.model.options.impact = law;
    let radius = 0.5;
    scene.body(G::ball(radius), 1.0, pose(-1.001, 0.03, 0.0), 0.2, 0.9);
    for row in 0..rows {
        for place in 0..=row {
            let across = (2.0 * place as f64 - row as f64) * radius;
            scene.body(G::ball(radius), 1.0 + 0.01 * place as f64, pose(row as f64 * radius * 3f64.sqrt(), across, 0.0), 0.2, 0.9);
        }
    }
    scene.moving(0, G::at(1.0, 0.0), G::rate(0.3));
    scene.world()
}

/// A random cotangent of the velocities after one step, and what it comes back as.
fn backward<G: Stage>(rollout: &Rollout<G>) -> (Cotangents, Gradient) {
    let mut random = Random::new(7);
    let size = rollout.states[0].poses.len() * G::DOF;
    let bar = Cotangents { poses: vec![], twists: (0..size).map(|_| random.range(-1.0, 1.0)).collect() };
    let gradient = rollout.backward(&bar).unwrap();
    (bar, gradient)
}

/// A list as one number: its product with a random list.
fn digest(list: &[f64]) -> f64 {
    let mut random = Random::new(3);
    list.iter().map(|x| x * random.range(-1.0, 1.0)).sum()
}

/// Digests of the gradient by poses, velocities and parameters, from the explicit Jacobian of the law (n x n x n numbers), laws in order.
const PLANAR: [[f64; 3]; 3] = [
    [-7.747_023_761_888_908, 8.128_006_130_336_578e-1, 1.410_122_893_419_328e1],
    [2.895_370_206_096_192, 1.405_022_286_788_753_6, 8.673_093_549_582_397e-1],
    [3.413_244_064_872_796_6, 4.941_667_378_402_513, -3.219_425_473_271_629e-1],
];
const SPATIAL: [[f64; 3]; 3] = [
    [7.747_465_795_219_36e-1, 6.631_982_149_598_236, 2.350_874_526_119_936],
    [-1.782_419_847_306_789_2, 1.397_403_722_602_524_7, -2.330_478_279_089_396_7],
    [-1.292_137_887_172_096, 9.428_877_740_084_44e-4, -1.738_279_480_296_991_2],
];

fn agrees_with_the_explicit_jacobian<G: Stage>(explicit: &[[f64; 3]; 3]) {
    let mut good = true;
    for (law, wanted) in [ImpactLaw::Reflections, ImpactLaw::Newton, ImpactLaw::Stronge].into_iter().zip(explicit) {
        let rollout = rack::<G>(5, law).rollout(1, &[], Tape::Full).unwrap();
        let (_, gradient) = backward(&rollout);
        // The digests are of the parameters there were then: the first two of each kind.
        let bodies = &rollout.layout().bodies;
        let later: Vec<usize> =
            bodies.iter().flat_map(|slots| [&slots.surface.list()[2..], &slots.resistances.list()[2..]].concat()).collect();
        let parameters = gradient.parameters.iter().enumerate().filter(|(slot, _)| !later.contains(slot)).map(|(_, x)| *x).collect();
        for (list, wanted) in [&gradient.poses, &gradient.twists, &parameters].into_iter().zip(wanted) {
            good &= holds(&format!("{} rack, {law:?}: lazy against explicit", G::NAME), (digest(list) - wanted).abs(), 1e-12 * DIGEST_SIZE);
        }
    }
    assert!(good);
}

#[test]
fn a_struck_rack_has_the_gradient_of_the_explicit_jacobian() {
    agrees_with_the_explicit_jacobian::<Planar>(&PLANAR);
    agrees_with_the_explicit_jacobian::<Spatial>(&SPATIAL);
}

#[test]
fn a_large_impact_is_differentiated_in_little_memory() {
    let world = rack::<Planar>(LARGE, ImpactLaw::Reflections);
    let rollout = world.rollout(1, &[], Tape::Full).unwrap();
    let clock = Instant::now();
    let (bar, gradient) = backward(&rollout);
    figure("rack of 91 balls: backward through the strike [s]", clock.elapsed().as_secs_f64());
    figure("rack of 91 balls: tape [bytes]", rollout.tape_bytes() as f64);
    assert!(rollout.reports[0].impact_iterations > 2 && gradient.twists[0] != 0.0, "the rack was struck");
    // <J u, w> = <u, J' w> through the whole strike.
    let mut random = Random::new(11);
    let size = bar.twists.len();
    let mut some = |len: usize| (0..len).map(|_| random.range(-1.0, 1.0)).collect::<Vec<f64>>();
    let direction = Direction { poses: some(size), twists: some(size), controls: vec![], parameters: some(gradient.parameters.len()) };
    let (_, twists) = rollout.forward(&direction).unwrap();
    let terms = |a: &[f64], b: &[f64]| a.iter().zip(b).fold((0.0, 0.0), |s, (x, y)| (s.0 + x * y, s.1 + (x * y).abs()));
    let left = terms(&twists, &bar.twists);
    let right = [
        terms(&direction.poses, &gradient.poses),
        terms(&direction.twists, &gradient.twists),
        terms(&direction.parameters, &gradient.parameters),
    ];
    let sum: f64 = right.iter().map(|r| r.0).sum();
    let size: f64 = left.1 + right.iter().map(|r| r.1).sum::<f64>();
    // The contacts of a rack outnumber its freedoms.
    assert!(holds("rack of 91 balls: transpose", (left.0 - sum).abs() / size, 1e-9));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<f64>().ok()) {
        assert!(holds("rack of 91 balls: peak memory of the process [kB]", peak, PEAK));
    }
}
