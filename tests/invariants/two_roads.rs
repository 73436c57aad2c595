//! A planar scene and its twin in space, moving in the vertical plane, follow the same path.

use carom_dynamics::World;
use carom_dynamics::options::ImpactLaw;
use carom_math::{Planar, Spatial, Vector};
use carom_tests::scene::pose;
use carom_tests::{Random, Scene, Stage, holds};

/// A solid of the plane and its twin: the planar body takes the inertia of the spatial one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Solid {
    Ball,
    Box,
    Capsule,
}

fn solid<G: Stage>(solid: Solid) -> carom_dynamics::Collider<G> {
    match solid {
        Solid::Ball => G::ball(0.3),
        Solid::Box => G::cuboid(0.6, 0.4),
        Solid::Capsule => G::capsule(0.5, 0.15),
    }
}

/// What both scenes are made of.
struct Plan {
    name: &'static str,
    gravity: bool,
    step: f64,
    friction: f64,
    restitution: f64,
    ground: bool,
    /// Solid, x, up, angle, velocity along x and up, rate.
    bodies: Vec<(Solid, [f64; 3], [f64; 3])>,
    /// Hinges between a body and the one before it (or the world) at a point.
    hinges: Vec<(usize, Option<usize>, [f64; 2])>,
}

impl Plan {
    fn build<G: Stage>(&self) -> World<G> {
        let mut scene = if self.gravity { Scene::<G>::new(self.step) } else { Scene::weightless(self.step) };
        // An edge that lands is one contact in the plane and two in space: `auto` would take the energy law here and reflections there.
        if self.bodies.iter().any(|(kind, _, _)| *kind == Solid::Box) {
            scene.model.options.impact = ImpactLaw::Reflections;
        }
        if self.ground {
            scene.ground(self.friction, self.restitution);
        }
        let first = scene.model.bodies.len();
        for (kind, place, motion) in &self.bodies {
            let body = scene.body(solid::<G>(*kind), 1.5, pose(place[0], place[1], place[2]), self.friction, self.restitution);
            let mut twin = Scene::<Spatial>::new(self.step);
            let other = twin.body(solid::<Spatial>(*kind), 1.5, pose(0.0, 0.0, 0.0), 0.0, 0.0);
            let moment = Spatial::flat_inertia(twin.model.bodies[other].inertia);
            if G::DIM == 2 {
                scene.model.bodies[body].inertia = G::inertia_from_moments(&[moment]);
            }
            scene.moving(body, G::at(motion[0], motion[1]), G::rate(motion[2]));
        }
        for &(a, b, at) in &self.hinges {
            scene.hinge(first + a, b.map(|b| first + b), G::at(at[0], at[1]));
        }
        scene.world()
    }

    /// Runs both; the largest difference in position and the largest way out of the plane, and impacts met.
    fn compare(&self, seconds: f64, bound: f64) -> bool {
        let (mut flat, mut deep) = (self.build::<Planar>(), self.build::<Spatial>());
        let (mut apart, mut out, mut impacts, mut first) = (0.0f64, 0.0f64, [0; 2], None);
        for step in 0..(seconds / self.step).round() as usize {
            impacts[0] += flat.step().unwrap_or_else(|e| panic!("{}: {e}", self.name)).impacts;
            impacts[1] += deep.step().unwrap_or_else(|e| panic!("{}: {e}", self.name)).impacts;
            for body in 0..flat.state().poses.len() {
                let (a, b) = (flat.state().poses[body].position, deep.state().poses[body].position);
                apart = apart.max((Spatial::at(a.x, a.y) - Spatial::at(b.x, b.z)).norm());
                out = out.max(b.y.abs());
                let (a, b) = (flat.state().twists[body], deep.state().twists[body]);
                let error = (a.lin - Planar::at(b.lin.x, b.lin.z)).norm().max((a.ang.x - Spatial::flat_rate(b.ang)).abs());
                if error > bound && first.is_none() {
                    first = Some((step, body, error));
                }
            }
        }
        println!("{}: impacts {impacts:?}, first velocity difference above the bound {first:?}", self.name);
        let good = holds(&format!("two roads, {}: distance [m]", self.name), apart, bound);
        good & holds(&format!("two roads, {}: out of the plane [m]", self.name), out, bound)
    }
}

fn flight(random: &mut Random) -> [f64; 3] {
    [random.range(-2.0, 2.0), random.range(-2.0, 2.0), random.range(-4.0, 4.0)]
}

/// One solid thrown on the ground, for each solid and several materials.
#[test]
fn thrown_solids() {
    let mut good = true;
    for (friction, restitution) in [(0.0, 1.0), (0.3, 0.5), (0.8, 0.0)] {
        for kind in [Solid::Ball, Solid::Box, Solid::Capsule] {
            let name = match kind {
                Solid::Ball => "thrown ball",
                Solid::Box => "thrown box",
                Solid::Capsule => "thrown capsule",
            };
            let bodies = vec![(kind, [0.0, 1.0, 0.4], [1.5, 0.0, -2.0])];
            let plan = Plan { name, gravity: true, step: 0.005, friction, restitution, ground: true, bodies, hinges: Vec::new() };
            good &= plan.compare(1.0, 1e-6);
        }
    }
    assert!(good);
}

/// Six solids flying into each other without gravity.
#[test]
fn a_tangle() {
    let mut good = true;
    for (friction, restitution) in [(0.0, 1.0), (0.3, 0.5), (0.6, 0.0)] {
        let mut random = Random::new(3);
        let kinds = [Solid::Ball, Solid::Box, Solid::Capsule, Solid::Ball, Solid::Capsule, Solid::Ball];
        let bodies = kinds
            .into_iter()
            .enumerate()
            .map(|(k, kind)| {
                let angle = std::f64::consts::TAU * k as f64 / 6.0;
                let motion = flight(&mut random);
                (
                    kind,
                    [1.5 * angle.cos(), 1.5 * angle.sin(), 0.5 * k as f64],
                    [motion[0] - 2.0 * angle.cos(), motion[1] - 2.0 * angle.sin(), motion[2]],
                )
            })
            .collect();
        let plan = Plan { name: "tangle", gravity: false, step: 0.005, friction, restitution, ground: false, bodies, hinges: Vec::new() };
        good &= plan.compare(1.0, 1e-6);
    }
    assert!(good);
}

/// A hinged chain of capsules that swings and strikes the ground.
#[test]
fn a_chain_on_the_ground() {
    let mut good = true;
    for (friction, restitution) in [(0.0, 0.0), (0.5, 0.3)] {
        let bodies = (0..3).map(|k| (Solid::Capsule, [0.4 + 0.8 * f64::from(k), 1.2, 0.0], [0.0; 3])).collect();
        let hinges = vec![(0, None, [0.0, 1.2]), (1, Some(0), [0.8, 1.2]), (2, Some(1), [1.6, 1.2])];
        let plan = Plan { name: "chain on the ground", gravity: true, step: 0.002, friction, restitution, ground: true, bodies, hinges };
        good &= plan.compare(0.8, 1e-6);
    }
    assert!(good);
}

/// A small pile settles the same way.
#[test]
fn a_pile() {
    let bodies = vec![
        (Solid::Box, [0.0, 0.25, 0.0], [0.0; 3]),
        (Solid::Box, [0.1, 0.75, 0.0], [0.0; 3]),
        (Solid::Ball, [0.15, 1.35, 0.0], [0.0; 3]),
        (Solid::Capsule, [0.9, 0.3, 0.2], [-0.5, 0.0, 0.0]),
    ];
    let plan = Plan { name: "pile", gravity: true, step: 0.005, friction: 0.5, restitution: 0.2, ground: true, bodies, hinges: Vec::new() };
    assert!(plan.compare(1.0, 1e-6));
}
