//! Strikes that fall on the end of a step, which no event foretells: their derivative moves in time like any other, theory (17.39).

use super::situations::agree_within;
use carom_dynamics::World;
use carom_dynamics::gradient::{Direction, Tape};
use carom_geometry::Geometry;
use carom_scene::{Scene, SceneOf};
use carom_tests::differences::{altered, check_text, relative};
use carom_tests::holds;

/// Steps until the strike, and after it.
const HALF: usize = 30;

/// Relative error allowed of differences across the end of a step.
const ACROSS: f64 = 1e-5;

/// What a test can move. Where the acceleration changes along the way, a step that is cut there and one that is not differ by the error of the
/// integrator, which bends the motion a little: such differences are taken to one side.
const EVERYTHING: [&str; 9] = ["velocity", "pose", "mass", "inertia", "gravity", "step", "placement", "shape", "joints"];

/// Where the last body of a scene is along x after the steps until the strike.
fn furthest<G: Geometry>(scene: SceneOf<G>) -> f64 {
    let mut world = World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}"));
    for _ in 0..HALF {
        world.step().unwrap_or_else(|e| panic!("{e}"));
    }
    world.state().poses.last().map_or(0.0, |pose| pose.position[0])
}

/// A scene whose last body touches a wall (`WALL` in its text is the wall's place along x) exactly at the end of a step: how far the body's
/// furthest point lies ahead of its centre is `reach`.
fn meets_at_a_step(text: &str, reach: f64) -> String {
    let far = text.replace("WALL", "1000");
    let place = match carom_scene::from_toml(&far, "boundary") {
        Ok(Scene::Planar(scene)) => furthest(scene),
        Ok(Scene::Spatial(scene)) => furthest(scene),
        Err(error) => panic!("{error}"),
    };
    text.replace("WALL", &format!("{:?}", place + reach))
}

/// Gradients of all sorts agree with differences where the strike meets the end of a step, and nothing is flagged.
fn agree(text: &str, reach: f64, bent: &[&str]) {
    let text = meets_at_a_step(text, reach);
    agree_within(&text, 0, 2 * HALF, (ACROSS, 1e-12), bent);
    assert_eq!(check_text(&text, 0, 2 * HALF, 1).flagged, 0, "a strike at the end of a step is no switch");
}

const WALL: &str = r#"
step = 0.01
[[body]]
name = "wall"
kind = "static"
shape = { half_space = [-1, 0] }
position = [WALL, 0]
restitution = 0.6
friction = 0.2
"#;

#[test]
fn a_thrown_ball() {
    let ball = r#"
[[body]]
shape = { ball = 0.1 }
position = [0, 0]
velocity = [1.3, 0.4]
spin = 2
restitution = 0.6
friction = 0.2
"#;
    for law in ["auto", "reflections", "stronge", "newton"] {
        for integrator in ["verlet", "energy-momentum"] {
            agree(&format!("dimension = 2\nimpact = \"{law}\"\nintegrator = \"{integrator}\"\n{WALL}{ball}"), 0.1, &[]);
        }
    }
    agree(&format!("dimension = 2\ngravity = [3, -1]\n{WALL}{ball}"), 0.1, &[]);
}

#[test]
fn a_thrown_ball_in_space() {
    let text = WALL.replace("[-1, 0]", "[-1, 0, 0]").replace("[WALL, 0]", "[WALL, 0, 0]");
    let ball = r#"
[[body]]
shape = { ball = 0.1 }
position = [0, 0, 0]
velocity = [1.3, 0.4, 0.2]
spin = [1, 2, 3]
restitution = 0.6
friction = 0.2
"#;
    agree(&format!("dimension = 3\n{text}{ball}"), 0.1, &[]);
}

#[test]
fn a_pendulum() {
    let bob = r#"
[[body]]
shape = { ball = 0.1 }
mass = 1
position = [-0.4, -0.6]
restitution = 0.6
friction = 0.2
[[joint]]
kind = "hinge"
between = ["body1", "world"]
anchor = [0, 0]
"#;
    agree(&format!("dimension = 2\n{WALL}{bob}"), 0.1, &EVERYTHING);
}

#[test]
fn a_block_that_slides_on_a_floor() {
    // Until the strike the floor carries the block and drags it: so does the acceleration with which the strike moves in time.
    let block = r#"
[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0, 1] }
friction = 0.2
[[body]]
shape = { ball = 0.1 }
locked = ["rotation"]
position = [0, 0.1]
velocity = [2, 0]
restitution = 0
friction = 0.2
"#;
    let wall = WALL.replace("friction = 0.2", "friction = 0");
    let pair = "[[pair]]\nbetween = [\"wall\", \"body2\"]\nfriction = 0\nrestitution = 0.6\n";
    let text = meets_at_a_step(&format!("dimension = 2\n{wall}{block}{pair}"), 0.1);
    let Ok(Scene::Planar(scene)) = carom_scene::from_toml(&text, "slide") else { panic!("the plane is meant") };
    let world = World::new(scene.model, scene.state).unwrap();
    let run = world.rollout(2 * HALF, &[], Tape::Full).unwrap();
    let untaped = world.rollout(2 * HALF, &[], Tape::Off).unwrap();
    assert_eq!(run.states.last(), untaped.states.last(), "a tape that notes the arrival changes no bit");
    // Along the floor alone; any other way it would leave the floor or press into it.
    let mut along = vec![0.0; 9];
    along[6] = 1.0;
    for direction in [Direction { twists: along.clone(), ..Direction::default() }, Direction { poses: along, ..Direction::default() }] {
        let (poses, twists) = run.forward(&direction).unwrap();
        let [ahead, behind] = [1e-6, -1e-6].map(|way| {
            let other = altered(&world, run.layout(), &direction, way).unwrap().rollout(2 * HALF, &[], Tape::Off).unwrap();
            relative(other.states.last().unwrap(), run.states.last().unwrap())
        });
        for (found, (a, b)) in poses.iter().zip(ahead.0.iter().zip(&behind.0)).chain(twists.iter().zip(ahead.1.iter().zip(&behind.1))) {
            assert!(holds("a sliding block at a wall", (found - (a - b) / 2e-6).abs(), ACROSS));
        }
    }
}

#[test]
fn two_balls_with_round_numbers() {
    for (law, friction) in ["auto", "reflections", "gauss-seidel", "stronge", "newton"].into_iter().flat_map(|law| [(law, 0.0), (law, 0.3)])
    {
        println!("{law}, friction {friction}");
        let text = format!(
            r#"
dimension = 2
gravity = [0, 0]
step = 0.001
impact = "{law}"
[materials.ivory]
restitution = 1
friction = {friction}
[[body]]
shape = {{ ball = 0.1 }}
mass = 1
position = [-0.5, 0]
velocity = [1, 0]
material = "ivory"
[[body]]
shape = {{ ball = 0.1 }}
mass = 1
position = [0, 0]
material = "ivory"
"#
        );
        agree_within(&text, 0, 600, (ACROSS, 1e-12), &[]);
    }
}
