use super::super::*;
use super::support::*;
#[test]
#[ignore]
fn probe() {
    for seed in 0..60 {
        let scene = Scene::random(seed, seed % 10 == 0);
        let mut random = Random(seed + 77);
        let m = scene.normals.len();
        let coefficients: Vec<f64> = (0..m).map(|_| random.within(0.0, 1.5)).collect();
        let restitution = Restitution::Uniform(random.within(0.0, 1.0));
        for staggered in [false, true] {
            let options = ImpactOptions { restitution, friction: Some(&coefficients), tangents: Some(&scene.tangents), staggered, ..ImpactOptions::default() };
            let t = std::time::Instant::now();
            let impact = impacts(&scene.mass, &scene.normals, &scene.velocity, &options).unwrap();
            println!("{seed} {m} {staggered} {:?} it {} locked {} sweeps {}", t.elapsed(), impact.iterations, impact.locked, crate::impact::friction::SWEEPS.swap(0, std::sync::atomic::Ordering::Relaxed));
        }
    }
}
