//! A mechanism with every kind of joint and a spring, adrift: its energy, momentum and angular momentum.

use carom_dynamics::options::Integrator;
use carom_dynamics::{JointKind, World};
use carom_math::{Planar, Pose, Space, Spatial, Vector};
use carom_tests::{Scene, Stage, holds};

/// A hub and one body at each kind of joint, turning and drifting as if rigid at the start; no gravity.
fn mechanism<G: Stage>(step: f64, integrator: Integrator) -> World<G> {
    let mut scene = Scene::<G>::weightless(step);
    scene.model.options.integrator = integrator;
    let hub = scene.particle(
        2.0,
        G::inertia_from_moments(&[0.2, 0.35, 0.5][..G::ANG]),
        Pose { position: G::at(0.3, -0.2), rotation: G::turned(0.4) },
    );
    let mut bodies = vec![hub];
    // What has no mean row is refused by this integrator.
    let kinds = JointKind::ALL.into_iter().filter(|kind| kind.exists_in::<G>() && kind.has_mean_rows());
    for (index, kind) in kinds.enumerate() {
        let angle = 0.7 * index as f64;
        let out = G::deep(angle.cos(), 0.4 * (2.0 * angle).sin(), angle.sin());
        let moments = [0.02, 0.05 + 0.003 * index as f64, 0.04];
        let place = scene.state.poses[hub].position + out;
        let body = scene.particle(
            0.5 + 0.1 * index as f64,
            G::inertia_from_moments(&moments[..G::ANG]),
            Pose { position: place, rotation: G::turned(angle) },
        );
        let anchor = scene.state.poses[hub].position + out * 0.5;
        scene.joint(kind, [Some(body), Some(hub)], |spec| {
            let has = |key: &str| kind.keys::<G>().contains(&key);
            spec.anchor = has("anchor").then_some(anchor);
            spec.anchors = has("anchors").then_some([anchor + out * 0.25, anchor]);
            spec.axis = has("axis").then_some(G::deep(0.3, 1.0, 0.2));
            if has("axes") {
                let x = G::deep(0.3, 1.0, 0.2).unit();
                spec.axes = Some([x, G::tangents(x)[1]]);
            }
            if kind == JointKind::Rope {
                // Never taut: a rope that is takes energy, and says so in the ledger.
                spec.measures.length = Some(20.0);
            }
            if kind == JointKind::Spring {
                (spec.measures.stiffness, spec.measures.rest) = (Some(40.0), Some(0.2));
            }
        });
        bodies.push(body);
    }
    let spin = G::rates(1.5, -2.0, 1.1);
    let pivot = scene.state.poses[hub].position;
    for body in bodies {
        let arm = scene.state.poses[body].position - pivot;
        scene.moving(body, G::deep(0.4, -0.3, 0.7) + G::spin(spin, arm), spin);
    }
    scene.world()
}

/// Largest relative change of energy, momentum and angular momentum over 4 s, the largest joint error, and the largest energy in
/// the spring over the energy.
fn changes<G: Stage>(step: f64, integrator: Integrator) -> [f64; 5] {
    let mut world = mechanism::<G>(step, integrator);
    let start = world.ledger();
    let energy = start.kinetic + start.elastic;
    let change = |now: &[f64], then: &[f64]| {
        let norm = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>().sqrt();
        now.iter().zip(then).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt() / norm(then)
    };
    let mut worst = [0.0f64; 5];
    for _ in 0..(4.0 / step).round() as usize {
        world.step().expect("a free mechanism");
        let now = world.ledger();
        let found = [
            (now.kinetic + now.elastic - energy).abs() / energy,
            change(&now.momentum, &start.momentum),
            change(&now.angular_momentum, &start.angular_momentum),
            world.joint_error(),
            now.elastic / energy,
        ];
        worst.iter_mut().zip(found).for_each(|(w, f)| *w = w.max(f));
    }
    worst
}

/// Exact at 1/60 and at 1/240 s, while the spring does exchange energy; `verlet` does not come near.
fn everything_is_kept<G: Stage>() {
    let mut good = true;
    for step in [1.0 / 60.0, 1.0 / 240.0] {
        let [energy, momentum, angular, gap, stored] = changes::<G>(step, Integrator::EnergyMomentum);
        let name = format!("{} free mechanism, energy-momentum at {step:.4} s", G::NAME);
        good &= holds(&format!("{name}: energy"), energy, 1e-10);
        good &= holds(&format!("{name}: momentum"), momentum, 1e-12);
        good &= holds(&format!("{name}: angular momentum"), angular, 1e-11);
        good &= holds(&format!("{name}: joint error"), gap, 1e-11);
        assert!(stored > 0.005, "the spring took part: {stored}");
    }
    let [energy, ..] = changes::<G>(1.0 / 60.0, Integrator::Verlet);
    carom_tests::figure(&format!("{} free mechanism, verlet at 1/60 s: energy", G::NAME), energy);
    assert!(energy > 1e-6, "a band that is not there was not measured");
    assert!(good);
}

#[test]
fn planar_mechanism_keeps_everything() {
    everything_is_kept::<Planar>();
}

#[test]
fn spatial_mechanism_keeps_everything() {
    everything_is_kept::<Spatial>();
}

/// A hub with so many spokes that its solver splits it, spun up adrift: splitting changes nothing of what is kept.
#[test]
fn a_split_hub_keeps_everything() {
    const SPOKES: usize = 60;
    let mut scene = Scene::<Planar>::weightless(1.0 / 240.0);
    scene.model.options.integrator = Integrator::EnergyMomentum;
    let hub = scene.particle(5.0, nalgebra::Matrix1::new(1.0), Pose::identity());
    for spoke in 0..SPOKES {
        let out = nalgebra::Rotation2::new(0.1 * spoke as f64) * Planar::at(1.0, 0.0);
        let tip = scene.particle(0.1, nalgebra::Matrix1::new(1e-3), Pose { position: out * 1.3, ..Pose::identity() });
        scene.hinge(tip, Some(hub), out);
        scene.moving(tip, Planar::spin(nalgebra::Vector1::new(4.0), out * 1.3), nalgebra::Vector1::new(4.0));
    }
    scene.moving(hub, Planar::at(0.0, 0.0), nalgebra::Vector1::new(4.0));
    // One spoke swings faster than the wheel.
    let (arm, swing) = (scene.state.poses[1].position - Planar::at(1.0, 0.0), nalgebra::Vector1::new(6.0));
    scene.state.twists[1].lin += Planar::spin(swing, arm);
    scene.state.twists[1].ang += swing;
    let mut world = scene.world();
    let start = world.ledger();
    for _ in 0..480 {
        world.step().expect("a wheel");
    }
    let now = world.ledger();
    let energy = holds("hub with 60 spokes: energy", (now.kinetic / start.kinetic - 1.0).abs(), 1e-11);
    let angular = holds("hub with 60 spokes: angular momentum", (now.angular_momentum[0] / start.angular_momentum[0] - 1.0).abs(), 1e-11);
    let gap = holds("hub with 60 spokes: gap", world.joint_error(), 1e-12);
    assert!(energy && angular && gap);
}
