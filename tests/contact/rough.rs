//! Balls in a bin at 1e-3 m/s, as loose as game engines: sweeps alone, no factorisation; times are printed.

use super::*;

/// The miss of a law [m/s] at which a solve may stop.
const TOLERANCE: f64 = 1e-3;

#[test]
fn a_settled_pile_at_a_loose_tolerance_is_swept() {
    let (count, half, settle) = if full() { (1000, 1.35, 480) } else { (125, 0.8, 240) };
    let text = pile(Solids::Balls, count, half, STEP, 1);
    let text = text.replacen("[materials.m]", &format!("[tolerances]\nsolve = {TOLERANCE}\n[materials.m]"), 1);
    let Ok(Scene::Spatial(scene)) = carom_scene::from_toml(&text, "rough") else { panic!("not a spatial scene") };
    let mut world = World::new(scene.model, scene.state).expect("a world");
    let begun = Instant::now();
    for _ in 0..settle {
        world.step().expect("a step");
    }
    let settled = begun.elapsed().as_secs_f64() / settle as f64;
    world.capture_problems(true);
    let (mut problems, mut contacts, mut sweeps, mut slowest, mut total, mut worst) = (0, 0, 0, 0.0f64, 0.0, 0.0f64);
    for _ in 0..10 {
        world.step().expect("a step");
        for numbers in world.captured_problems() {
            if let Some(folder) = std::env::var_os("CAROM_SAVE") {
                let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
                let file = std::path::PathBuf::from(folder).join(format!("rough_{count}-{problems:06}.problem"));
                std::fs::write(file, bytes).expect("room for a problem");
            }
            let stored = Stored::<6>::read(&numbers).expect("a problem that was just written");
            let mut task = Task::new(&stored.laws, &stored.free, RESIDUAL_AIM);
            task.aim = TOLERANCE / task.scale;
            let mut impulses = vec![0.0; stored.free.len()];
            let mut solver = Solver::default();
            let mut least = f64::INFINITY;
            for _ in 0..5 {
                let mut rows = stored.bodies.clone();
                let begun = Instant::now();
                let answer = solver.solve(&mut rows, &task, Some(&stored.warm), true, &Interrupt::NEVER, &mut impulses);
                least = least.min(begun.elapsed().as_secs_f64());
                assert_eq!(answer.factors, 0, "{:?} to {:e}", answer.method, answer.residual * task.scale);
                worst = worst.max(answer.residual * task.scale);
                sweeps += answer.sweeps;
            }
            problems += 1;
            contacts = contacts.max(stored.laws.len());
            slowest = slowest.max(least);
            total += least;
        }
    }
    println!(
        "{count} balls at {TOLERANCE} m/s: {contacts} contacts, {problems} problems, {:.1} sweeps, {:.2} ms a solve, at most {:.2} ms, miss {worst:.0e} m/s; {:.1} ms a step while settling",
        sweeps as f64 / (5 * problems) as f64,
        total / problems as f64 * 1e3,
        slowest * 1e3,
        settled * 1e3,
    );
    assert!(problems > 0 && worst <= TOLERANCE, "{problems}, {worst:e}");
}
