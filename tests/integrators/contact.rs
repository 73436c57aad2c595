//! Contacts, limits, motors and friction under `energy-momentum`.

use carom_dynamics::options::Integrator;
use carom_dynamics::{JointKind, Motor, World};
use carom_math::{Planar, Spatial, Vector};
use carom_tests::scene::{pose, run};
use carom_tests::{GRAVITY, Scene, Stage, full, holds, random_scene};

#[test]
fn scratch_ledger() {
    let count: u64 = std::env::var("COUNT").map_or(20, |s| s.parse().unwrap());
    go::<Planar>(count);
    go::<Spatial>(count);
}
fn go<G: Stage>(count: u64) {
    let (mut gained, mut when) = (0.0f64, 0);
    let (mut worst, mut at, mut errors, mut unconv) = (0.0f64, 0, 0, 0);
    for number in std::env::var("FIRST").map_or(50_000, |s| s.parse().unwrap())..std::env::var("FIRST").map_or(50_000, |s| s.parse::<u64>().unwrap()) + count {
        let hostile = std::env::var("HOSTILE").is_ok();
        let (mut scene, _) = if hostile { let (s, t, _) = carom_tests::hostile_scene::<G>(number, &[]); (s, t) } else { random_scene::<G>(number, &[]) };
        scene.model.step = 0.0025;
        scene.model.options.integrator = Integrator::EnergyMomentum;
        if std::env::var("VERLET").is_ok() { scene.model.options.integrator = Integrator::Verlet; }
        let Ok(mut world) = World::new(scene.model, scene.state) else { continue };
        let mut drift = 0.0f64;
        let start = std::time::Instant::now();
        let mut sub = 0;
        let (mut before, mut lost) = (0.0f64, 0.0f64);
        if count == 1 { println!("{:?}", random_scene::<G>(number, &[]).1); }
        for _ in 0..(1.0 / world.model().step) as usize {
            match world.step() { Err(e) => { println!("{number}: {e}"); errors += 1; break; } Ok(r) => { if r.unconverged { unconv += 1; } sub += r.substeps; } }
            let ledger = world.ledger();
            drift = drift.max(ledger.drift.abs() / ledger.exchanged);
            let f = ledger.flow;
            let gain = -(f.losses() - f.joint_work) / ledger.exchanged;
            if count == 1 && (f.losses() - f.joint_work - lost) < -1e-6 * ledger.exchanged { println!("{:.4} gain {gain:.3e} {f:?} {:?}", world.state().time, world.report()); }
            before = gain; lost = f.losses() - f.joint_work;
            if gain > gained { (gained, when) = (gain, number); }
        }
        let el = start.elapsed().as_secs_f64();
        if el > 0.5 { println!("slow {number}: {el} s, {sub} substeps"); }
        if drift > worst { (worst, at) = (drift, number); }
        if drift > 1e-6 { println!("{number}: {drift:e} {:?}", world.ledger().flow); }
    }
    println!("{} worst {worst:e} at {at}, errors {errors} unconverged steps {unconv}, gained {gained:e} at {when}", G::NAME);
}
