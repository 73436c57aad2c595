//! The laws under test, and scenes that several files share.

use carom_dynamics::options::{ImpactLaw, Order};
use carom_dynamics::{BodyKind, StepReport, World};
use carom_math::{Pose, Vector};
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage};

/// The orders in which pairwise reflections may be taken.
pub const ORDERS: [Order; 4] = [Order::Lexicographic, Order::Cyclic, Order::Random(7), Order::Worst];

/// Every law, with every order.
pub const ALL: [ImpactLaw; 8] = [
    ImpactLaw::Auto,
    ImpactLaw::Reflections,
    ImpactLaw::GaussSeidel(Order::Lexicographic),
    ImpactLaw::GaussSeidel(Order::Cyclic),
    ImpactLaw::GaussSeidel(Order::Random(7)),
    ImpactLaw::GaussSeidel(Order::Worst),
    ImpactLaw::Stronge,
    ImpactLaw::Newton,
];

/// The steps of the comparison with other engines [s].
pub const STEPS: [f64; 3] = [1.0 / 240.0, 1e-3, 1e-4];

/// A weightless scene under a law.
pub fn scene<G: Stage>(law: ImpactLaw, step: f64) -> Scene<G> {
    let mut scene = Scene::weightless(step);
    scene.model.options.impact = law;
    scene
}

/// A frictionless ball at rest.
pub fn ball<G: Stage>(scene: &mut Scene<G>, radius: f64, mass: f64, x: f64, up: f64, restitution: f64) -> usize {
    scene.body(G::ball(radius), mass, pose(x, up, 0.0), 0.0, restitution)
}

/// A static wall through a point, with an outward normal that need not be a unit.
pub fn wall<G: Stage>(scene: &mut Scene<G>, normal: [f64; 2], point: [f64; 2], friction: f64, restitution: f64) -> usize {
    let position = G::at(point[0], point[1]);
    scene.fixed(G::half_space(G::at(normal[0], normal[1])), Pose { position, rotation: G::identity() }, friction, restitution)
}

/// Steps until something strikes, and once more round; the report of that step.
pub fn until_impact<G: Stage>(world: &mut World<G>, seconds: f64) -> StepReport {
    for _ in 0..(seconds / world.model().step).ceil() as usize {
        let report = world.step().unwrap_or_else(|error| panic!("{error}"));
        if report.impacts > 0 {
            return report;
        }
    }
    panic!("nothing strikes within {seconds} s");
}

/// Runs for a time; every count summed, every flag raised that was raised once.
pub fn during<G: Stage>(world: &mut World<G>, seconds: f64) -> StepReport {
    let mut total = StepReport::default();
    for _ in 0..(seconds / world.model().step).round() as usize {
        total.merge(&world.step().unwrap_or_else(|error| panic!("{error}")));
    }
    total
}

/// Velocities of the dynamic bodies along x and up, in order [m/s].
pub fn velocities<G: Stage>(world: &World<G>) -> Vec<[f64; 2]> {
    let moving = world.model().bodies.iter().zip(&world.state().twists).filter(|(body, _)| body.kind == BodyKind::Dynamic);
    moving.map(|(_, twist)| G::flat(twist.lin)).collect()
}

/// Largest component of all velocities and spins [m/s, rad/s].
pub fn fastest<G: Stage>(world: &World<G>) -> f64 {
    world.state().twists.iter().fold(0.0, |m: f64, t| m.max(t.lin.norm()).max(t.ang.norm()))
}

/// Kinetic energy [J].
pub fn kinetic<G: Stage>(world: &World<G>) -> f64 {
    world.energies().0
}
