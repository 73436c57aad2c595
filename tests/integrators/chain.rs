//! The chain of hinged rods, one end held, released level, without damping.

use carom_dynamics::options::Integrator;
use carom_dynamics::{JointKind, World};
use carom_math::{Planar, Spatial, Vector};
use carom_tests::scene::pose;
use carom_tests::{GRAVITY, Scene, Stage, figure};

/// Length of a link [m], and its mass [kg].
const LENGTH: f64 = 0.1;
const MASS: f64 = 0.1;

/// n links along x.
pub fn chain<G: Stage>(n: usize, step: f64, integrator: Integrator) -> World<G> {
    let mut scene = Scene::<G>::new(step);
    scene.model.options.integrator = integrator;
    if let Ok(turn) = std::env::var("TURN") { scene.model.tolerances.turn = turn.parse().unwrap(); }
    let inertia = MASS * LENGTH * LENGTH / 12.0;
    let moments = [inertia; 3];
    let mut last = None;
    for i in 0..n {
        let x = LENGTH * (i as f64 + 0.5);
        let link = scene.particle(MASS, G::inertia_from_moments(&moments[..G::ANG]), pose(x, 0.0, 0.0));
        scene.hinge(link, last, G::at(x - 0.5 * LENGTH, 0.0));
        last = Some(link);
    }
    scene.world()
}

#[test]
fn scratch() {
    let n: usize = std::env::var("N").map_or(10, |s| s.parse().unwrap());
    let h: f64 = std::env::var("H").map_or(1000.0, |s| s.parse().unwrap());
    let time: f64 = std::env::var("T").map_or(10.0, |s| s.parse().unwrap());
    if std::env::var("S").is_ok() { measure::<Spatial>(n, 1.0/h, time) } else { measure::<Planar>(n, 1.0/h, time) }
}
fn measure<G: Stage>(n: usize, h: f64, time: f64) {
    for integrator in [Integrator::EnergyMomentum, Integrator::Verlet] {
        let mut world = chain::<G>(n, h, integrator);
        let scale = MASS * n as f64 * GRAVITY * LENGTH * n as f64 / 2.0;
        let t = std::time::Instant::now();
        let (mut worst, mut gap, mut sub, mut corr, mut viol) = (0.0f64, 0.0f64, 0, 0, 0.0f64);
        let steps = (time / h).round() as usize;
        for k in 0..steps {
            let r = match world.step() { Ok(r) => r, Err(e) => { println!("{k}: {e}"); break } };
            sub += r.substeps; corr += r.corrections;
            let l = world.ledger();
            worst = worst.max((l.kinetic + l.potential).abs() / scale);
            gap = gap.max(world.joint_error());
            if k % 50 == 0 { viol = viol.max((l.kinetic - world.projected_kinetic()) / scale); }
            if r.unconverged { println!("unconverged at {k}"); break; }
        }
        let l = world.ledger();
        println!("{integrator:?} {} n={n} h={h}: worst {worst:.2e} end {:.2e} gap {gap:.1e} substeps {:.2} rounds {:.2}/step viol {viol:.1e} drift {:.1e} jw {:.1e}, {:.1} us/step", G::NAME,
            (l.kinetic + l.potential) / scale, sub as f64 / steps as f64, corr as f64 / steps as f64, l.drift, l.flow.joint_work, t.elapsed().as_secs_f64() * 1e6 / steps as f64);
    }
}
