//! Crowds at rest with known modes: what a solve may cost, counted in factorisations; times are printed.

use super::*;

/// Solves the last problem of a scene at rest again and again, its velocities moved a little each time so that no answer is given back as it was; returns the
/// factorisations, the least time of a solve and the contacts.
fn at_rest(text: &str, settle: usize) -> (usize, f64, usize) {
    let mut world = spatial(text);
    for _ in 0..settle {
        world.step().expect("a step");
    }
    known_modes(&mut world, 1e-10)
}

fn spatial(text: &str) -> World<carom_math::Spatial> {
    let Ok(Scene::Spatial(scene)) = carom_scene::from_toml(text, "rest") else { panic!("not a spatial scene") };
    World::new(scene.model, scene.state).expect("a world")
}

fn known_modes(world: &mut World<carom_math::Spatial>, bound: f64) -> (usize, f64, usize) {
    world.capture_problems(true);
    world.step().expect("a step");
    let numbers = world.captured_problems().into_iter().max_by_key(Vec::len).expect("a problem");
    let mut stored = Stored::<6>::read(&numbers).expect("a problem that was just written");
    let mut solver = Solver::default();
    let mut impulses = vec![0.0; stored.free.len()];
    let (mut most, mut least) = (0, f64::INFINITY);
    let free = stored.free.clone();
    let mut change = vec![0.0; free.len()];
    let mut last = Bodies::default();
    for round in 0..200 {
        // A motion of the bodies, so that redundant rows still agree with each other.
        let push: Vec<f64> = stored.warm.iter().enumerate().map(|(k, l)| 1e-7 * l * f64::from(((k * 5 + round) % 7) as u32)).collect();
        stored.bodies.apply(&push, &mut change);
        for (k, u) in stored.free.iter_mut().enumerate() {
            *u = free[k] + change[k];
        }
        // A pose that moved has other rows but the same graph: its analysis is kept, its factor is not.
        let mut rows = stored.bodies.clone();
        rows.take_analysis(&mut last);
        let begun = Instant::now();
        let task = Task::new(&stored.laws, &stored.free, RESIDUAL_AIM);
        let answer = solver.solve(&mut rows, &task, Some(&stored.warm), false, &Interrupt::NEVER, &mut impulses);
        least = least.min(begun.elapsed().as_secs_f64());
        assert!(answer.residual <= bound, "{:e} by {:?}", answer.residual, answer.method);
        most = most.max(answer.factors);
        last = rows;
    }
    (most, least, stored.laws.len())
}

#[test]
fn known_modes_cost_one_factorisation() {
    for (name, text) in [("stack 10", stack(10, STEP)), ("pyramid 55", pyramid(10, STEP)), ("wall 10 x 10", wall(10, 10, 0.0, STEP, false))]
    {
        let (factors, seconds, contacts) = at_rest(&text, 4);
        println!("{name}: {contacts} contacts, {factors} factorisations, {:.1} us", seconds * 1e6);
        assert!(factors <= 2, "{name}: {factors}");
    }
}

/// Balls come to rest in a bin as loosely as game engines solve, and are solved exactly from there on. The time is printed; with `CAROM_FULL=1` there are five
/// hundred contacts.
#[test]
fn a_settled_pile_with_known_modes_is_solved_exactly() {
    let (count, half, settle) = if full() { (225, 0.85, 720) } else { (60, 0.5, 480) };
    let text = pile(Solids::Balls, count, half, STEP, 1);
    let mut world = spatial(&text.replacen("[materials.m]", "[tolerances]\nsolve = 1e-3\n[materials.m]", 1));
    for _ in 0..settle {
        world.step().expect("a step");
    }
    let mut exact = spatial(&text);
    exact.set_state(world.state().clone()).expect("a state of the same bodies");
    for _ in 0..4 {
        exact.step().expect("a step");
    }
    // Some of these balls are on the verge of slipping and change their mode under the pushes: the answer is bounded, the work is printed.
    let (factors, seconds, contacts) = known_modes(&mut exact, 1e-8);
    println!("pile of {count} balls: {contacts} contacts, at most {factors} factorisations, {:.1} us", seconds * 1e6);
    assert!(contacts >= if full() { 500 } else { 120 }, "{contacts} contacts");
}
