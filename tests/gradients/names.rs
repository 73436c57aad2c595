//! Parameters by name: what is set is what is read, and the gradient of every name is that of central differences through `set`.

use carom_dynamics::gradient::{Cotangents, Direction, NameError, Names, Parameters, Tape};
use carom_dynamics::{Coefficients, Resistances, World};
use carom_geometry::Geometry;
use carom_scene::{Scene, SceneOf, from_toml};
use carom_tests::random::Random;

/// A plane with a joint of every kind, every shape with sizes, a pair rule and a force; nothing bounces within the few steps taken.
const PLANE: &str = r#"
dimension = 2
gravity = [0.3, -9.81]
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0.05, 1] }
friction = 0.3
[[body]]
name = "sled"
shape = { convex = [[-0.2, -0.1], [0.2, -0.1], [0.15, 0.1], [-0.15, 0.1]] }
position = [-1, 0.15]
angle = -0.05
velocity = [2, 0]
friction = 0.2
[[body]]
name = "rod"
shape = { capsule = [0.4, 0.05] }
position = [2.2, 2]
damping = 0.2
spin_damping = 0.1
[[body]]
name = "bob"
shape = [{ ball = 0.1, at = [0.02, 0] }, { box = [0.2, 0.3], at = [0.1, 0.05], angle = 0.3 }]
position = [3, 2.2]
spin = 1
[[body]]
name = "cart"
shape = { box = [0.2, 0.1] }
position = [5, 2]
[[body]]
name = "wheel"
shape = { ball = 0.2 }
position = [7, 2]
[[body]]
name = "kite"
shape = { segment = [[-0.1, 0], [0.2, 0.1]] }
mass = 0.5
inertia = 0.02
position = [9, 2]
[[joint]]
name = "pin"
kind = "hinge"
between = ["rod", "world"]
anchor = [2, 2]
friction = 0.01
motor = { velocity = 30, max = 0.5 }
[[joint]]
name = "stay"
kind = "distance"
between = ["bob", "rod"]
anchors = [[3, 2.3], [2.4, 2]]
length = 0.67
[[joint]]
name = "spring"
kind = "spring"
between = ["bob", "world"]
anchors = [[3.1, 2.1], [3.5, 3]]
stiffness = 30
damping = 0.5
rest = 0.7
[[joint]]
name = "rail"
kind = "slider"
between = ["cart", "world"]
anchor = [5, 2]
axis = [2, 0.4]
limits = [-1, 2]
motor = { velocity = 1, max = 4000 }
[[joint]]
name = "axle"
kind = "hinge"
between = ["wheel", "world"]
anchor = [7.05, 2]
motor = { position = 0.5, stiffness = 3, damping = 0.2, max = 50 }
[[joint]]
name = "line"
kind = "rope"
between = ["kite", "world"]
anchors = [[9.1, 2], [9, 4]]
length = 5
[[pair]]
between = ["sled", "ground"]
friction = 0.25
restitution = 0.4
[[force]]
body = "kite"
force = [1, 6]
torque = 0.02
at = [0.05, 0.1]
"#;

/// The same in space.
const SPACE: &str = r#"
dimension = 3
gravity = [0.3, 0.1, -9.81]
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0.05, 0.02, 1] }
[[body]]
name = "puck"
shape = { ball = 0.2 }
position = [-1, 0, 0.2513]
velocity = [2, 0.3, 0]
friction = 0.2
[[body]]
name = "rod"
shape = { capsule = [0.4, 0.05] }
position = [2.2, 0, 2]
rotation = [0.9, 0.1, 0.3, 0.2]
[[body]]
name = "bob"
shape = [{ ball = 0.1, at = [0.02, 0, 0] }, { box = [0.2, 0.3, 0.1], at = [0.1, 0.05, 0], rotation = [0.9, 0.2, 0.1, 0.3] }]
position = [3, 0.2, 2.2]
spin = [1, 0.3, -0.5]
[[body]]
name = "cart"
shape = { cylinder = [0.2, 0.1] }
position = [5, 0, 2]
[[body]]
name = "wheel"
shape = { cone = [0.3, 0.2] }
position = [7, 0, 2]
[[body]]
name = "shaft"
mass = 0.5
inertia = [[0.02, 0.003, 0.001], [0.003, 0.03, 0.002], [0.001, 0.002, 0.04]]
position = [9, 0, 2]
spin = [1, 2, 3]
[[body]]
name = "tail"
mass = 0.4
inertia = [0.02, 0.03, 0.015]
position = [9, 0.5, 2]
[[joint]]
name = "pin"
kind = "hinge"
between = ["rod", "world"]
anchor = [2, 0, 2]
axis = [0.2, 2, 0.3]
friction = 0.01
[[joint]]
name = "stay"
kind = "distance"
between = ["bob", "rod"]
anchors = [[3, 0.2, 2.3], [2.4, 0, 2]]
[[joint]]
name = "rail"
kind = "slider"
between = ["cart", "world"]
anchor = [5, 0, 2]
axis = [2, 0.4, 0.1]
limits = [-1, 2]
motor = { velocity = 1, max = 4 }
[[joint]]
name = "cross"
kind = "universal"
between = ["shaft", "tail"]
anchor = [9, 0.25, 2]
axes = [[1, 0, 0], [0, 0, 2]]
[[force]]
body = "tail"
force = [1, 2, 6]
torque = [0.02, 0.01, 0]
at = [0.05, 0.1, 0]
"#;

/// Steps taken.
const STEPS: usize = 12;
/// Step sizes of the differences; the best counts.
const SIZES: [f64; 4] = [1e-4, 1e-5, 1e-6, 1e-7];
/// Relative error allowed: rows hold by iteration.
const BOUND: f64 = 1e-6;

fn parts<G: Geometry>(scene: &SceneOf<G>) -> (World<G>, Names<G>) {
    let world = World::new(scene.model.clone(), scene.state.clone()).unwrap();
    let names = Names::new(&scene.model, &scene.joints, &scene.state).unwrap();
    (world, names)
}

/// Poses as positions and turns since a reference, then velocities.
fn numbers<G: Geometry>(world: &World<G>, from: &World<G>) -> Vec<f64> {
    let mut out = Vec::new();
    for (a, b) in world.state().poses.iter().zip(&from.state().poses) {
        out.extend_from_slice(carom_math::Vector::as_slice(&(a.position - b.position)));
        out.extend_from_slice(carom_math::Vector::as_slice(&G::log(G::compose(a.rotation, G::inverse(b.rotation)))));
    }
    for twist in &world.state().twists {
        out.extend_from_slice(carom_math::Vector::as_slice(&twist.lin));
        out.extend_from_slice(carom_math::Vector::as_slice(&twist.ang));
    }
    out
}

fn every_name_is_read_set_and_differentiated<G: Geometry>(scene: SceneOf<G>) {
    let (world, names) = parts(&scene);
    let layout = Parameters::of(world.model());
    let mut random = Random::new(3);
    let rollout = world.rollout(STEPS, &[], Tape::Full).unwrap();
    let size = world.model().bodies.len() * G::DOF;
    let bar: Vec<f64> = (0..2 * size).map(|_| random.range(-1.0, 1.0)).collect();
    let gradient = rollout.backward(&Cotangents { poses: bar[..size].to_vec(), twists: bar[size..].to_vec() }).unwrap();
    for key in names.keys(world.model()) {
        let quantity = names.get(world.model(), &layout, &key).unwrap();
        assert_eq!(quantity.shape.iter().product::<usize>(), quantity.len(), "{key}");
        // Setting what is there changes nothing, to the bit.
        let mut other = names.clone();
        let same = other.set(world.model(), &key, &quantity.values).unwrap();
        assert_eq!(&same, world.model(), "{key}");
        // The directional derivative of a loss along a random change of the whole array.
        let free = |k: usize| {
            let key = key.as_str();
            let at_border = [Coefficients::KEYS, Resistances::KEYS, &["joint_friction", "joint_damping"]].concat().contains(&key);
            quantity.values[k].is_finite() && !(at_border && quantity.values[k] == 0.0) && !quantity.terms(k).is_empty()
        };
        let along: Vec<f64> = (0..quantity.len()).map(|k| if free(k) { random.range(-1.0, 1.0) } else { 0.0 }).collect();
        let exact: f64 = quantity.gradient(&gradient.parameters).iter().zip(&along).map(|(g, d)| g * d).sum();
        let mut parameters = vec![0.0; layout.len];
        quantity.direction(&along, &mut parameters);
        let (poses, twists) = rollout.forward(&Direction { parameters, ..Direction::default() }).unwrap();
        let tangent: f64 = poses.iter().chain(&twists).zip(&bar).map(|(x, b)| x * b).sum();
        let loss = |h: f64| {
            let values: Vec<f64> = quantity.values.iter().zip(&along).map(|(x, d)| if *d == 0.0 { *x } else { x + h * d }).collect();
            // The axes of a universal joint must stay perpendicular to the digits people write, which refuses the larger steps.
            let model = names.clone().set(world.model(), &key, &values).ok()?;
            let run = world.altered(model, world.state().clone()).unwrap().rollout(STEPS, &[], Tape::Off).unwrap();
            Some(numbers(run.end(), rollout.end()).iter().zip(&bar).map(|(x, b)| x * b).sum::<f64>())
        };
        let scale = exact.abs().max(1e-2);
        let error = |h: &f64| Some(((loss(*h)? - loss(-h)?) / (2.0 * h) - exact).abs() / scale);
        let best = SIZES.iter().filter_map(error).fold(f64::INFINITY, f64::min);
        println!("{key:18} {:?} derivative {exact:.6e}, differences {best:.1e}", quantity.shape);
        assert!((tangent - exact).abs() < 1e-10 * scale, "{key}: tangent {tangent}, adjoint {exact}");
        assert!(best < BOUND, "{key}: off by {best:.1e} of {exact}");
    }
}

#[test]
fn every_name_in_the_plane() {
    let Ok(Scene::Planar(scene)) = from_toml(PLANE, "plane") else { panic!("{:?}", from_toml(PLANE, "plane")) };
    let (world, names) = parts(&scene);
    let keys = names.keys(world.model());
    for key in
        ["mass", "inertia", "centre", "gravity", "step", "pair_friction", "joint_anchor", "joint_anchors", "joint_rest", "shape_convex"]
    {
        assert!(keys.iter().any(|k| k == key), "{key}");
    }
    assert_eq!(names.get(world.model(), &Parameters::of(world.model()), "shape_convex").unwrap().shape, [1, 4, 2]);
    every_name_is_read_set_and_differentiated(scene);
}

#[test]
fn every_name_in_space() {
    let Ok(Scene::Spatial(scene)) = from_toml(SPACE, "space") else { panic!("{:?}", from_toml(SPACE, "space")) };
    every_name_is_read_set_and_differentiated(scene);
}

#[test]
fn a_set_array_is_the_one_that_is_read() {
    let Ok(Scene::Spatial(scene)) = from_toml(SPACE, "space") else { panic!() };
    let (world, mut names) = parts(&scene);
    let layout = Parameters::of(world.model());
    for key in ["mass", "inertia", "centre", "joint_anchor", "joint_axes", "shape_box", "shape_rotation", "gravity", "step"] {
        let now = names.get(world.model(), &layout, key).unwrap();
        let turned = matches!(key, "joint_axes" | "shape_rotation");
        let wanted: Vec<f64> = now.values.iter().map(|x| if turned || x.is_infinite() { *x } else { x * 1.5 + 0.01 }).collect();
        // Only dynamic bodies have mass, inertia and a centre.
        let dynamic = |k: usize| !matches!(now.place(k).0, carom_dynamics::gradient::Row::Body(0));
        let wanted: Vec<f64> = wanted.iter().enumerate().map(|(k, x)| if dynamic(k) { *x } else { now.values[k] }).collect();
        let model = names.set(world.model(), key, &wanted).unwrap();
        let read = names.get(&model, &layout, key).unwrap();
        for (a, b) in read.values.iter().zip(&wanted) {
            assert!(a == b || (a - b).abs() < 1e-15 + 1e-14 * b.abs(), "{key}: {a} for {b}");
        }
        names.set(&model, key, &now.values).unwrap();
    }
}

#[test]
fn errors_name_the_parameter_and_the_nearest_one() {
    let Ok(Scene::Planar(scene)) = from_toml(PLANE, "plane") else { panic!() };
    let (world, mut names) = parts(&scene);
    let error = names.set(world.model(), "joint_ancor", &[]).unwrap_err();
    assert!(matches!(&error, NameError::Unknown { nearest: Some(n), .. } if n == "joint_anchor"), "{error}");
    let error = names.set(world.model(), "mass", &[1.0]).unwrap_err();
    assert_eq!(error.to_string(), "mass: found 1 numbers, needs shape (7)");
    let mass = names.get(world.model(), &Parameters::of(world.model()), "mass").unwrap().values;
    for (value, words) in
        [(-1.0, "mass[sled]: found -1, needs a number above 0"), (f64::NAN, "mass[sled]: found NaN, needs a finite number")]
    {
        let mut mass = mass.clone();
        mass[1] = value;
        assert_eq!(names.set(world.model(), "mass", &mass).unwrap_err().to_string(), words);
    }
    let mut fixed = mass;
    fixed[0] = 3.0;
    assert!(names.set(world.model(), "mass", &fixed).unwrap_err().to_string().contains("only dynamic bodies"));
    assert!(names.set(world.model(), "joint_length", &[-1.0, 5.0]).unwrap_err().to_string().starts_with("joint_length[stay]: "));
    assert!(names.set(world.model(), "xyzzy", &[]).unwrap_err().to_string().contains("it has mass, inertia"));
}
