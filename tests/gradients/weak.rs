//! Rows at a switch: both one-sided derivatives, their mean, least squares between them, and smoothed complementarity.

use carom_dynamics::World;
use carom_dynamics::gradient::{Cotangents, Direction, Gradient, GradientError, Names, Rollout, Tape, Weak, Wrt};
use carom_geometry::Geometry;
use carom_math::{Planar, Spatial};
use carom_scene::Scene;
use carom_tests::{Random, Stage, figure, full, holds, random_scene};

const ALL: [Weak; 6] = [Weak::AsSolved, Weak::Active, Weak::Inactive, Weak::Average, Weak::MinNorm, Weak::Smoothed { kappa: 1e-4 }];

fn world(text: &str) -> World<Planar> {
    match carom_scene::from_toml(text, "weak") {
        Ok(Scene::Planar(scene)) => World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}")),
        Ok(_) => panic!("the plane is meant"),
        Err(error) => panic!("{error}"),
    }
}

/// The gradient of component k of the last pose or velocity of a body.
fn gradient<G: Geometry>(rollout: &Rollout<G>, body: usize, k: usize, velocity: bool, weak: Weak) -> Gradient {
    let size = rollout.states[0].poses.len() * G::DOF;
    let mut bar = Cotangents { poses: vec![0.0; size], twists: vec![0.0; size] };
    (if velocity { &mut bar.twists } else { &mut bar.poses })[body * G::DOF + k] = 1.0;
    rollout.backward_by(&bar, Wrt::Everything, weak).unwrap_or_else(|e| panic!("{e}"))
}

/// Left and right differences of a component of the last state of body 1 by one of its first velocities.
fn sides(text: &str, steps: usize, by: usize, k: usize, velocity: bool) -> [f64; 2] {
    let h = 1e-6;
    let end = |way: f64| {
        let mut start = world(text);
        let mut state = start.state().clone();
        if by < 2 {
            state.twists[1].lin[by] += way;
        } else {
            state.twists[1].ang.x += way;
        }
        start = World::new(start.model().clone(), state).unwrap_or_else(|e| panic!("{e}"));
        for _ in 0..steps {
            start.step().unwrap_or_else(|e| panic!("{e}"));
        }
        let state = start.state();
        if velocity { state.twists[1].lin[k] } else { state.poses[1].position[k] }
    };
    let here = end(0.0);
    [(here - end(-h)) / h, (end(h) - here) / h]
}

/// A body that lies on the floor without weight: it can be lifted, but not pushed in.
const TOUCHING: &str = r#"
dimension = 2
gravity = [0, 0]
step = 0.01
[[body]]
kind = "static"
shape = { half_space = [0, 1] }
[[body]]
shape = { box = [0.2, 0.2] }
position = [0, 0.1]
"#;

#[test]
fn a_touch_without_load_has_both_sides() {
    let run = world(TOUCHING).rollout(5, &[], Tape::Full).unwrap();
    let [left, right] = sides(TOUCHING, 5, 1, 1, false);
    assert!((left).abs() < 1e-12 && (right - 0.05).abs() < 1e-9, "{left} {right}");
    let by_vy = |weak| gradient(&run, 1, 1, false, weak).twists[4];
    assert!(holds("touch: active is the left side", (by_vy(Weak::Active) - left).abs(), 1e-9));
    assert!(holds("touch: inactive is the right side", (by_vy(Weak::Inactive) - right).abs(), 1e-9));
    assert!(holds("touch: average is their mean", (by_vy(Weak::Average) - (left + right) / 2.0).abs(), 1e-9));
    assert!(holds("touch: as solved", (by_vy(Weak::AsSolved) - right).abs(), 1e-9));
    let first = world(TOUCHING).rollout(1, &[], Tape::Full).unwrap();
    let between = gradient(&first, 1, 1, true, Weak::MinNorm).twists[4];
    assert!(between > 0.0 && between < 1.0, "least squares lies between: {between}");
    for weak in ALL {
        let g = gradient(&run, 1, 1, false, weak);
        assert!(g.total().weak > 0 && !g.is_exact(), "{weak}: counted");
        assert_eq!(g.weak, weak, "labelled");
    }
}

/// One solve and one contact: least squares is the mean of both sides, and half of a contact is felt in the limit of smoothing.
#[test]
fn one_contact_alone_is_halved() {
    let text =
        format!("integrator = \"euler\"\n{}", TOUCHING.replace("shape = { box = [0.2, 0.2] }", "shape = { ball = 0.1 }\nfriction = 0"));
    let run = world(&text).rollout(1, &[], Tape::Full).unwrap();
    let by = |weak| gradient(&run, 1, 1, true, weak).twists[4];
    assert!(holds("one contact: active", by(Weak::Active).abs(), 1e-12));
    assert!(holds("one contact: inactive", (by(Weak::Inactive) - 1.0).abs(), 1e-12));
    assert!(holds("one contact: average", (by(Weak::Average) - 0.5).abs(), 1e-12));
    assert!(holds("one contact: least squares", (by(Weak::MinNorm) - 0.5).abs(), 1e-12));
    assert!(holds("one contact: smoothed", (by(Weak::Smoothed { kappa: 1e-6 }) - 0.5).abs(), 1e-9));
}

/// A box pulled along the floor with exactly what friction can hold.
const AT_THE_LIMIT: &str = r#"
dimension = 2
gravity = [0, -10]
step = 0.01
[[body]]
kind = "static"
shape = { half_space = [0, 1] }
friction = 0.25
[[body]]
shape = { box = [0.4, 0.1] }
mass = 2
position = [0, 0.05]
friction = 0.25
[[force]]
body = "body1"
force = [5, 0]
"#;

#[test]
fn friction_at_its_limit_has_both_sides() {
    let text = AT_THE_LIMIT;
    let steps = 4;
    let run = world(text).rollout(steps, &[], Tape::Full).unwrap();
    let [left, right] = sides(text, steps, 0, 0, true);
    assert!(left.abs() < 1e-6 && (right - 1.0).abs() < 1e-6, "pulled back it sticks, pushed on it slides: {left} {right}");
    let by_vx = |weak| gradient(&run, 1, 0, true, weak);
    for (weak, wanted) in [(Weak::Active, left), (Weak::Inactive, right), (Weak::Average, (left + right) / 2.0)] {
        let g = by_vx(weak);
        assert!(holds(&format!("friction limit, {weak}"), (g.twists[3] - wanted).abs(), 1e-6));
        assert!(g.total().friction > 0, "{weak}: counted");
    }
    let between = by_vx(Weak::MinNorm).twists[3];
    assert!(between > 0.0 && between < 1.0, "{between}");
    // More pull is felt on the sliding side alone, more friction as well, with the other sign.
    let names = Names::new(run.end().model(), &[], run.end().state());
    assert!(names.is_ok());
    let friction = run.layout().bodies[1].surface.friction;
    let slides = by_vx(Weak::Inactive).parameters[friction];
    assert!(holds("friction limit: by mu, sliding", (slides + 0.5 * 10.0 * 0.04).abs(), 1e-9));
    assert!(holds("friction limit: by mu, sticking", by_vx(Weak::Active).parameters[friction].abs(), 1e-9));
}

/// A box on level ground that gravity pulls along with `part` of what friction can hold, after a few steps.
fn pulled<G: Stage>(part: f64) -> World<G> {
    let mut scene = carom_tests::Scene::<G>::new(0.01);
    scene.model.gravity = G::at(part * 0.25 * 10.0, -10.0);
    scene.ground(0.25, 0.0);
    scene.body(G::cuboid(0.4, 0.1), 2.0, carom_tests::scene::pose(0.0, 0.05, 0.0), 0.25, 0.0);
    let mut world = scene.world();
    for _ in 0..3 {
        world.step().unwrap();
    }
    world
}

/// Four corners that repeat each other, at their limit together.
#[test]
fn friction_at_its_limit_in_space_has_both_sides() {
    let world = pulled::<Spatial>(1.0);
    let run = world.rollout(2, &[], Tape::Full).unwrap();
    let end = |way: f64| {
        let mut state = world.state().clone();
        state.twists[1].lin.x += way;
        let mut other = World::new(world.model().clone(), state).unwrap();
        other.step().unwrap();
        other.step().unwrap();
        other.state().twists[1].lin.x
    };
    let h = 1e-6;
    let [left, right] = [(end(0.0) - end(-h)) / h, (end(h) - end(0.0)) / h];
    assert!(left.abs() < 1e-6 && (right - 1.0).abs() < 1e-6, "{left} {right}");
    for (weak, wanted) in [(Weak::Active, left), (Weak::Inactive, right), (Weak::Average, (left + right) / 2.0)] {
        let g = gradient(&run, 1, 0, true, weak);
        assert!(holds(&format!("friction limit in space, {weak}"), (g.twists[6] - wanted).abs(), 1e-6));
        assert!(g.total().friction > 0, "{weak}: counted");
    }
    let between = gradient(&run, 1, 0, true, Weak::MinNorm).twists[6];
    assert!(between > 0.0 && between < 1.0, "{between}");
}

/// A lift whose motor holds its weight with all it has.
const MOTOR: &str = r#"
dimension = 2
gravity = [0, -10]
step = 0.01
[[body]]
kind = "static"
[[body]]
mass = 1
inertia = 1
[[joint]]
kind = "slider"
between = ["body0", "body1"]
anchor = [0, 0]
axis = [0, 1]
motor = { velocity = 0, max = 10 }
"#;

#[test]
fn a_motor_at_its_bound_has_both_sides() {
    let run = world(MOTOR).rollout(4, &[], Tape::Full).unwrap();
    let [left, right] = sides(MOTOR, 4, 1, 1, true);
    assert!((left - 1.0).abs() < 1e-6 && right.abs() < 1e-6, "downwards it slips, upwards it holds: {left} {right}");
    for (weak, wanted) in [(Weak::Active, right), (Weak::Inactive, left), (Weak::Average, (left + right) / 2.0)] {
        let g = gradient(&run, 1, 1, true, weak);
        assert!(holds(&format!("motor at its bound, {weak}"), (g.twists[4] - wanted).abs(), 1e-6));
        assert!(g.total().friction > 0, "{weak}: counted");
    }
}

/// A ball just above the floor: l w = kappa with w = u + a l, theory (18.5), and friction that slips, theory (18.2).
#[test]
fn a_ball_above_the_floor_feels_it() {
    let (radius, mass, mu, gap, h) = (0.1, 2.0, 0.3, 5e-5, 0.01);
    let (vx, vy, kappa) = (0.4, 2e-3, 1e-5);
    let text = format!(
        "dimension = 2\ngravity = [0, 0]\nintegrator = \"euler\"\nstep = {h}\n\
         [[body]]\nkind = \"static\"\nshape = {{ half_space = [0, 1] }}\nfriction = {mu}\n\
         [[body]]\nshape = {{ ball = {radius} }}\nmass = {mass}\nposition = [0, {}]\nvelocity = [{vx}, {vy}]\nfriction = {mu}\n",
        radius + gap
    );
    let run = world(&text).rollout(1, &[], Tape::Full).unwrap();
    assert!((run.states[1].twists[1].lin.x - vx).abs() < 1e-15, "the motion does not know of smoothing");
    // The other road: both pairs by bisection, differences of the result.
    let inertia = 0.5 * mass * radius * radius;
    // Impulses act at the arm of the start, slip is the mean over the move.
    let (arm, mean_arm) = (radius + gap / 2.0, radius + (gap + h * vy / 2.0) / 2.0);
    let after = |vx: f64, vy: f64, mu: f64| -> [f64; 2] {
        let u = vy + gap / h;
        let normal = (-u + (u * u + 4.0 * kappa / mass).sqrt()) * mass / 2.0;
        let mobility = 1.0 / mass + arm * mean_arm / inertia;
        let reach = mu * normal;
        let miss = |l: f64| vx + mobility * l + 2.0 * kappa * l / ((reach - l) * (reach + l));
        let (mut low, mut high) = (-reach, reach);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if miss(middle) > 0.0 { high = middle } else { low = middle }
        }
        [vx + low / mass, vy + normal / mass]
    };
    let slope = |k: usize, d: [f64; 3]| {
        let s = 1e-4;
        let (a, b) = (after(vx + s * d[0], vy + s * d[1], mu + s * d[2]), after(vx - s * d[0], vy - s * d[1], mu - s * d[2]));
        (a[k] - b[k]) / (2.0 * s)
    };
    let weak = Weak::Smoothed { kappa };
    let mut good = true;
    for k in 0..2 {
        let g = gradient(&run, 1, k, true, weak);
        let by_mu: f64 = [0, 1].iter().map(|b| g.parameters[run.layout().bodies[*b].surface.friction]).sum();
        for (name, found, d) in
            [("vx", g.twists[3], [1.0, 0.0, 0.0]), ("vy", g.twists[4], [0.0, 1e-2, 0.0]), ("mu", by_mu, [0.0, 0.0, 1.0])]
        {
            let scale = d.iter().sum::<f64>();
            good &= holds(&format!("ball above the floor: component {k} by {name}"), (found - slope(k, d) / scale).abs(), 1e-6);
        }
        assert_eq!(g.total().smoothed, 2, "one contact, a normal and a tangent, in one solve");
        assert!(!g.is_exact());
    }
    assert!(good);
    let felt = gradient(&run, 1, 1, true, weak).twists[4];
    assert!(felt < 0.95 && felt > 0.5, "the floor is felt: {felt}");
    assert_eq!(gradient(&run, 1, 1, true, Weak::AsSolved).twists[4], 1.0, "exactly, it is not");
}

/// Where every contact is strictly on one side the smoothed gradient tends to the exact one in proportion to kappa.
#[test]
fn smoothed_gradients_converge_in_proportion_to_kappa() {
    let slide = AT_THE_LIMIT.replace("force = [5, 0]", "force = [7, 0]");
    let stick = AT_THE_LIMIT.replace("force = [5, 0]", "force = [2, 0]");
    let mut good = true;
    for (name, text, k) in [("sliding", &slide, 0), ("sticking", &stick, 2), ("sliding, upwards", &slide, 1)] {
        let mut start = world(text);
        for _ in 0..3 {
            start.step().unwrap();
        }
        let run = start.rollout(3, &[], Tape::Full).unwrap();
        let exact = gradient(&run, 1, k, true, Weak::AsSolved);
        assert_eq!(exact.total().choices(), 0, "{name}: strictly on one side");
        let error = |kappa: f64| {
            let g = gradient(&run, 1, k, true, Weak::Smoothed { kappa });
            assert_eq!(g.total().unconverged, 0, "{name}");
            let lists = [(&g.poses, &exact.poses), (&g.twists, &exact.twists), (&g.parameters, &exact.parameters)];
            lists.iter().flat_map(|(a, b)| a.iter().zip(b.iter())).fold(0.0f64, |m, (a, b)| m.max((a - b).abs() / (1.0 + b.abs())))
        };
        good &= falls_in_proportion(name, error);
    }
    // In space, where four corners repeat each other: by the velocities, which are unique.
    for (name, part) in [("sliding in space", 1.4), ("sticking in space", 0.4)] {
        let run = pulled::<Spatial>(part).rollout(3, &[], Tape::Full).unwrap();
        let exact = gradient(&run, 1, 0, false, Weak::AsSolved);
        good &= falls_in_proportion(name, |kappa| {
            let g = gradient(&run, 1, 0, false, Weak::Smoothed { kappa });
            assert_eq!(g.total().unconverged, 0, "{name}");
            g.twists.iter().zip(&exact.twists).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()))
        });
    }
    assert!(good);
}

/// Whether an error falls like kappa.
fn falls_in_proportion(name: &str, error: impl Fn(f64) -> f64) -> bool {
    let errors = [1e-6, 1e-7, 1e-8].map(error);
    figure(&format!("{name}: smoothed against exact at kappa = 1e-8"), errors[2]);
    let order = (errors[0] / errors[2]).log10() / 2.0;
    holds(&format!("{name}: order in kappa minus one"), (order - 1.0).abs(), 0.05) && errors[2] < 1e-3
}

fn transposes<G: Geometry>(world: &World<G>, seed: u64, worst: &mut f64, missed: &mut [usize; 2]) {
    let run = match world.rollout(4, &[], Tape::Full) {
        Ok(run) => run,
        Err(_) => return,
    };
    let mut random = Random::new(seed);
    let size = world.model().bodies.len() * G::DOF;
    let mut some = |len: usize| (0..len).map(|_| random.range(-1.0, 1.0)).collect::<Vec<f64>>();
    let bar = Cotangents { poses: some(size), twists: some(size) };
    let direction = Direction { poses: some(size), twists: some(size), controls: vec![], parameters: some(run.layout().len) };
    for weak in ALL {
        let g = run.backward_by(&bar, Wrt::Everything, weak).unwrap_or_else(|e| panic!("{e}"));
        let (poses, twists) = run.forward_by(&direction, weak).unwrap_or_else(|e| panic!("{e}"));
        let terms = |a: &[f64], b: &[f64]| a.iter().zip(b).fold((0.0, 0.0), |s, (x, y)| (s.0 + x * y, s.1 + (x * y).abs()));
        let left = [terms(&poses, &bar.poses), terms(&twists, &bar.twists)];
        let right = [terms(&direction.poses, &g.poses), terms(&direction.twists, &g.twists), terms(&direction.parameters, &g.parameters)];
        let sum = |list: &[(f64, f64)]| list.iter().fold((0.0, 0.0), |s, t| (s.0 + t.0, s.1 + t.1));
        let (left, right) = (sum(&left), sum(&right));
        assert!(left.0.is_finite() && right.0.is_finite(), "seed {seed}, {weak}: not finite");
        *worst = worst.max((left.0 - right.0).abs() / (1.0 + left.1 + right.1));
        if weak.kappa().is_some() {
            missed[0] += g.total().unconverged;
            missed[1] += g.total().smoothed;
        }
    }
}

/// A random scene after a while, when things lie about.
fn settled<G: Stage>(seed: u64) -> World<G> {
    let mut world = random_scene::<G>(seed, &[]).0.world();
    for _ in 0..60 {
        let _ = world.step();
    }
    world
}

#[test]
fn every_choice_is_its_own_transpose_on_random_scenes() {
    let (mut worst, mut missed) = (0.0f64, [0usize; 2]);
    for seed in 0..if full() { 200 } else { 12 } {
        transposes(&settled::<Planar>(seed), seed, &mut worst, &mut missed);
        transposes(&settled::<Spatial>(seed), seed, &mut worst, &mut missed);
    }
    figure("random scenes: rows smoothed", missed[1] as f64);
    figure("random scenes: flags of solves not converged, smoothing included", missed[0] as f64);
    assert!(missed[1] > 100 && 100 * missed[0] <= missed[1], "contacts were smoothed, nearly all: {missed:?}");
    assert!(holds("random scenes, every choice: transpose", worst, 1e-9));
}

#[test]
fn a_product_that_is_none_is_refused() {
    let run = world(TOUCHING).rollout(1, &[], Tape::Full).unwrap();
    for kappa in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = run.backward_by(&Cotangents::default(), Wrt::Everything, Weak::Smoothed { kappa });
        assert!(matches!(refused, Err(GradientError::Kappa(_))), "{kappa}");
    }
    assert_eq!(Weak::named("minnorm"), Some(Weak::MinNorm));
    assert_eq!(Weak::named("either"), None);
    assert_eq!(Weak::Smoothed { kappa: 1e-6 }.to_string(), "smoothed, kappa = 1e-6 J");
}
