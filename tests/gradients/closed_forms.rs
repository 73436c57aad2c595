//! Derivatives that mechanics gives on paper.

use carom_dynamics::World;
use carom_dynamics::gradient::{Cotangents, Direction, Gradient, Rollout, Tape};
use carom_math::Planar;
use carom_scene::Scene;
use carom_tests::holds;

fn world(text: &str) -> World<Planar> {
    match carom_scene::from_toml(text, "form") {
        Ok(Scene::Planar(scene)) => World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}")),
        Ok(_) => panic!("the plane is meant"),
        Err(error) => panic!("{error}"),
    }
}

/// The gradient of one number of the last state: component `k` (x, y, angle) of a body's pose or velocity.
fn gradient(rollout: &Rollout<Planar>, body: usize, k: usize, velocity: bool) -> Gradient {
    let size = rollout.states[0].poses.len() * 3;
    let mut bar = Cotangents { poses: vec![0.0; size], twists: vec![0.0; size] };
    if velocity {
        bar.twists[body * 3 + k] = 1.0;
    } else {
        bar.poses[body * 3 + k] = 1.0;
    }
    rollout.backward(&bar).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn two_equal_elastic_balls_swap_their_paths() {
    // Ball 1 follows the straight line of ball 0, a diameter ahead: d x1(1 s) = (1, 0, 1, 0) . (dx0, dx1, dv0, dv1).
    let text = r#"
dimension = 2
gravity = [0, 0]
step = 0.01
[materials.ivory]
restitution = 1
friction = 0
[[body]]
shape = { ball = 0.1 }
mass = 1
position = [0, 0]
velocity = [1, 0]
material = "ivory"
[[body]]
shape = { ball = 0.1 }
mass = 1
position = [0.7031, 0]
material = "ivory"
"#;
    for law in ["auto", "reflections", "gauss-seidel", "stronge", "newton"] {
        let run = world(&format!("impact = \"{law}\"\n{text}")).rollout(100, &[], Tape::Full).unwrap();
        let g = gradient(&run, 1, 0, false);
        for (found, exact) in [g.poses[0], g.poses[3], g.twists[0], g.twists[3]].into_iter().zip([1.0, 0.0, 1.0, 0.0]) {
            assert!(holds(&format!("two balls, {law}"), (found - exact).abs(), 1e-12));
        }
    }
}

#[test]
fn bouncing_ball_has_the_saltation_term() {
    // q0 = 1, v0 = -1/2, e = 4/5, T = 7/10: the paper gives 0.37351 for g = 9.8.
    let text = r#"
dimension = 2
gravity = [0, -9.8]
step = 0.007
[[body]]
kind = "static"
shape = { half_space = [0, 1] }
position = [0, -0.1]
restitution = 0.8
[[body]]
shape = { ball = 0.1 }
position = [0, 1]
velocity = [0, -0.5]
restitution = 0.8
"#;
    let g = gradient(&world(text).rollout(100, &[], Tape::Full).unwrap(), 1, 1, false);
    // The closed form: impact at t1 with speed u, then q_T = e u s - g s^2/2 with s = T - t1.
    let (q, v, e, t, gravity) = (1.0f64, -0.5f64, 0.8, 0.7, 9.8);
    let u = (v * v + 2.0 * gravity * q).sqrt();
    let s = t - (u + v) / gravity;
    let exact = e * gravity / u * s + (e * u - gravity * s) * (-1.0 / u);
    assert!((exact - 0.37351).abs() < 5e-6, "{exact}");
    assert!(holds("bouncing ball dq/dq0", (g.poses[4] - exact).abs(), 1e-9));
}

#[test]
fn bounce_height_over_drop_height_is_the_square_of_restitution() {
    let text = |height: f64, step: f64| {
        format!(
            r#"
dimension = 2
step = {step}
[[body]]
kind = "static"
shape = {{ half_space = [0, 1] }}
restitution = 0.7
[[body]]
shape = {{ ball = 0.1 }}
position = [0, {}]
restitution = 0.7
"#,
            0.1 + height
        )
    };
    // The height after the bounce is y + vy^2/(2 g) at any moment of the flight: its derivative must not depend on where steps fall.
    for (height, step) in [(1.0, 0.005), (0.9991, 0.005), (1.0, 0.0037), (0.5, 0.01)] {
        let steps = (0.6 / step) as usize;
        let run = world(&text(height, step)).rollout(steps, &[], Tape::Full).unwrap();
        let end = run.states.last().unwrap();
        let speed = end.twists[1].lin.y;
        let bar = Cotangents { poses: vec![0.0, 0.0, 0.0, 0.0, 1.0, 0.0], twists: vec![0.0, 0.0, 0.0, 0.0, speed / 9.81, 0.0] };
        let g = run.backward(&bar).unwrap();
        assert!(holds("bounce height over drop height", (g.poses[4] - 0.49).abs(), 1e-9));
        // Rebound over e: d(height)/de = 2 e h, half of it through each body.
        let layout = run.layout();
        let by_e = g.parameters[layout.bodies[0].surface.restitution] + g.parameters[layout.bodies[1].surface.restitution];
        assert!(holds("bounce height over restitution", (by_e - 2.0 * 0.7 * height).abs(), 1e-9));
    }
}

#[test]
fn a_slide_ends_where_friction_says() {
    // s = v^2/(2 mu g): ds/dmu = -s/mu, ds/dv = 2 s/v.
    let (mu, v, gravity) = (0.3, 1.3, 9.81);
    let text = format!(
        r#"
dimension = 2
step = 0.001
[[body]]
kind = "static"
shape = {{ half_space = [0, 1] }}
friction = {mu}
[[body]]
shape = {{ box = [0.4, 0.2] }}
position = [0, 0.1]
velocity = [{v}, 0]
friction = {mu}
"#
    );
    let run = world(&text).rollout(500, &[], Tape::Full).unwrap();
    assert!(run.states.last().unwrap().twists[1].lin.norm() < 1e-12, "it has stopped");
    let g = gradient(&run, 1, 0, false);
    let way = v * v / (2.0 * mu * gravity);
    let by_mu = g.parameters[run.layout().bodies[0].surface.friction] + g.parameters[run.layout().bodies[1].surface.friction];
    assert!(holds("slide distance over friction, relative", (by_mu * mu / way + 1.0).abs(), 2e-3));
    assert!(holds("slide distance over speed, relative", (g.twists[3] * v / way - 2.0).abs(), 2e-3));
}

#[test]
fn a_pendulum_slows_with_its_length() {
    // a(t) = a0 cos(t sqrt(g/l)): da/dl = a0 t/2 sqrt(g/l^3) sin(t sqrt(g/l)), seen as the sideways place l a.
    let (amplitude, length, gravity) = (1e-3f64, 0.8f64, 9.81f64);
    let text = format!(
        r#"
dimension = 2
step = 0.002
[[body]]
name = "bob"
mass = 1
inertia = 1
position = [{}, {}]
[[joint]]
kind = "distance"
between = ["bob", "world"]
anchors = [[{}, {}], [0, 0]]
"#,
        length * amplitude.sin(),
        -length * amplitude.cos(),
        length * amplitude.sin(),
        -length * amplitude.cos()
    );
    let world = world(&text);
    let steps = 500;
    let run = world.rollout(steps, &[], Tape::Full).unwrap();
    let joint = &world.model().joints[0];
    let slot = run.layout().joints[0].start
        + joint.parameter_index(carom_dynamics::constraints::JointParameter::Length).expect("a distance has a length");
    let mut parameters = vec![0.0; run.layout().len];
    parameters[slot] = 1.0;
    // The bob starts at the same angle on the longer rod.
    let poses = vec![amplitude.sin(), -amplitude.cos(), 0.0];
    let (tangent, _) = run.forward(&Direction { poses, parameters, ..Direction::default() }).unwrap();
    let (t, w) = (0.002 * steps as f64, (gravity / length).sqrt());
    let exact = amplitude * ((w * t).cos() + 0.5 * w * t * (w * t).sin());
    assert!(holds("pendulum place over length, relative", (tangent[0] / exact - 1.0).abs(), 1e-4));
}

/// A force drives one ball out of the box its velocity sweeps and into another within a step, so that the step is taken again with fewer
/// islands. A third ball flies freely all the while: d x/d v = t, counted once.
#[test]
fn a_step_taken_again_counts_every_body_once() {
    let text = r#"
dimension = 2
gravity = [0, 0]
step = 0.01
[[body]]
name = "pushed"
shape = { ball = 0.1 }
mass = 1
position = [0, 0]
[[body]]
shape = { ball = 0.1 }
mass = 1
position = [0.3, 0]
[[body]]
shape = { ball = 0.1 }
mass = 1
position = [0, 5]
velocity = [1, 0]
[[force]]
body = "pushed"
force = [5000, 0]
"#;
    let run = world(text).rollout(1, &[], Tape::Full).unwrap();
    assert!(run.states[1].twists[1].lin[0] > 1.0, "the second ball was struck");
    let g = gradient(&run, 2, 0, false);
    assert!(holds("free flight beside a repeated step: d x/d v, error [s]", (g.twists[2 * 3] - 0.01).abs(), 1e-15));
}
