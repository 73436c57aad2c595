//! Contacts as sensors feel them: forces at rest, strikes, what begins and ends, distances, rays against closed forms.

use carom_dynamics::{Happened, World};
use carom_geometry::Geometry;
use carom_math::{Planar, Spatial, Vector};
use carom_scene::{Scene, from_toml};

fn planar(text: &str) -> World<Planar> {
    let Scene::Planar(scene) = from_toml(text, "test").unwrap_or_else(|e| panic!("{e}")) else { panic!("a plane") };
    World::new(scene.model, scene.state).unwrap()
}

fn spatial(text: &str) -> World<Spatial> {
    let Scene::Spatial(scene) = from_toml(text, "test").unwrap_or_else(|e| panic!("{e}")) else { panic!("space") };
    World::new(scene.model, scene.state).unwrap()
}

fn body<G: Geometry>(world: &World<G>, name: &str) -> usize {
    world.model().bodies.iter().position(|b| b.name == name).unwrap()
}

const PILE: &str = r#"
dimension = 3
step = 0.004
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 0, 1] }
[[body]]
name = "lower"
shape = { box = [1, 0.8, 0.5] }
mass = 7
position = [0, 0, 0.25]
[[body]]
name = "upper"
shape = { box = [0.4, 0.4, 0.4] }
mass = 2
position = [0.1, 0.05, 0.7]
[[body]]
name = "slope"
kind = "static"
shape = { half_space = [0.2, 0, 1] }
position = [-50, 0, 0]
[[body]]
name = "sled"
shape = { ball = 0.3 }
mass = 3
position = [-50, 0, 0.305941]
locked = ["rotation"]
friction = 1
"#;

#[test]
fn the_force_of_a_body_at_rest_is_its_weight() {
    let mut world = spatial(PILE);
    for _ in 0..500 {
        world.step().unwrap();
    }
    let g = 9.81;
    let [ground, lower, upper] = ["ground", "lower", "upper"].map(|name| body(&world, name));
    let near =
        |found: f64, wanted: f64, what: &str| assert!((found - wanted).abs() < 1e-8 * (1.0 + wanted.abs()), "{what}: {found} for {wanted}");
    let all = world.contact_force(upper, None);
    near(all.lin.z, 2.0 * g, "upper");
    near(all.lin.x.abs() + all.lin.y.abs() + all.ang.norm(), 0.0, "upper is not turned");
    near(world.contact_force(lower, Some(ground)).lin.z, 9.0 * g, "lower on the ground");
    near(world.contact_force(lower, Some(upper)).lin.z, -2.0 * g, "lower under upper");
    near(world.contact_force(lower, None).lin.z, 7.0 * g, "lower in all");
    near(world.contact_force(lower, None).ang.norm(), 0.0, "lower is not turned");
    // The load of the upper box stands beside the middle: from the ground alone the torque is that of its weight, with the sign of the arm.
    let torque = world.contact_force(lower, Some(ground)).ang;
    near(torque.x, 0.05 * 2.0 * g, "torque about x");
    near(torque.y, -0.1 * 2.0 * g, "torque about y");
    near(world.contact_force(ground, Some(lower)).lin.z, -9.0 * g, "reaction");
    near(world.contact_force(upper, Some(ground)).lin.norm(), 0.0, "no touch, no force");
    let sled = world.contact_force(body(&world, "sled"), None);
    near(sled.lin.z, 3.0 * g, "weight on a slope, friction and normal together");
    near(sled.lin.x, 0.0, "nothing along");
    assert!(world.events().is_empty(), "nothing happens at rest: {:?}", world.events());
}

#[test]
fn a_ball_strikes_bounces_comes_to_rest_and_leaves() {
    let text = r#"
dimension = 2
step = 0.01
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 1] }
restitution = 0.5
[[body]]
name = "ball"
shape = { ball = 0.1 }
mass = 2
position = [0, 0.3]
restitution = 0.5
"#;
    let mut world = planar(text);
    let (mut strikes, mut began, mut ended) = (Vec::new(), 0, 0);
    for step in 0..200 {
        let before = world.state().twists[1].lin.y;
        world.step().unwrap();
        for event in world.events() {
            assert_eq!(event.bodies, [0, 1]);
            match event.kind {
                Happened::Began => began += 1,
                Happened::Ended => ended += 1,
                Happened::Struck => strikes.push((step, before, event)),
            }
        }
    }
    assert_eq!((began, ended), (1, 0), "it lies in the end, and each bounce is a strike");
    let (_, _, first) = strikes[0];
    // The fall by 0.2 m ends at sqrt(2 g 0.2); the impulse turns it into half as much upwards. It acts on a, the ground: down.
    let speed = (2.0 * 9.81 * 0.2f64).sqrt();
    assert!((first.impulse.y + 1.5 * 2.0 * speed).abs() < 1e-9, "{:?}", first.impulse);
    assert!(first.normal.y < -0.999 && first.point.y.abs() < 1e-2, "{first:?}");
    assert!(strikes.len() >= 2 && strikes[1].2.impulse.norm() < first.impulse.norm());
    // Lifted off, the contact ends once.
    let mut state = world.state().clone();
    state.twists[1].lin.y = 3.0;
    let snapshot = world.snapshot();
    let mut lifted = world.copy();
    lifted.set_state(state).unwrap();
    lifted.step().unwrap();
    assert!(lifted.events().is_empty(), "a state that is set has no before");
    world.restore(&snapshot).unwrap();
    world.push(1, carom_math::Wrench { lin: Vector::from_slice(&[0.0, 100.0]), ang: 0.0.into_rate() }).unwrap();
    let mut kinds = Vec::new();
    for _ in 0..5 {
        world.step().unwrap();
        kinds.extend(world.events().into_iter().map(|e| e.kind));
    }
    assert_eq!(kinds, [Happened::Ended]);
}

/// A rate of the plane.
trait IntoRate {
    fn into_rate(self) -> <Planar as carom_math::Space>::Ang;
}

impl IntoRate for f64 {
    fn into_rate(self) -> <Planar as carom_math::Space>::Ang {
        Vector::from_slice(&[self])
    }
}

#[test]
fn rays_meet_shapes_where_closed_forms_say() {
    let shapes = [
        ("{ ball = 0.5 }", [2.0, 0.3, 0.0], [-1.0, 0.0, 0.0], 2.0 - (0.25f64 - 0.09).sqrt()),
        ("{ box = [1, 2, 3] }", [2.0, 0.3, 0.1], [-2.0, 0.0, 0.0], 1.5),
        ("{ capsule = [1, 0.25] }", [0.1, 0.0, 3.0], [0.0, 0.0, -1.0], 3.0 - 0.5 - (0.0625f64 - 0.01).sqrt()),
        ("{ capsule = [1, 0.25] }", [3.0, 0.0, 0.4], [-1.0, 0.0, 0.0], 2.75),
        ("{ cylinder = [2, 0.5] }", [3.0, 0.3, 0.9], [-1.0, 0.0, 0.0], 3.0 - 0.4),
        ("{ cylinder = [2, 0.5] }", [0.2, 0.1, 4.0], [0.0, 0.0, -1.0], 3.0),
        ("{ convex = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]] }", [2.0, 2.0, 2.0], [-1.0, -1.0, -1.0], (5.0 / 3.0) * 3f64.sqrt()),
        ("{ mesh = { points = [[-1, -1, 0.5], [1, -1, 0.5], [0, 2, 0.5]], faces = [[0, 1, 2]] } }", [0.1, 0.1, 2.0], [0.0, 0.0, -1.0], 1.5),
        ("{ heightfield = { heights = [[0, 0, 0], [1, 1, 1]], spacing = 1 } }", [0.25, 0.0, 3.0], [0.0, 0.0, -1.0], 2.5),
    ];
    for (shape, origin, direction, wanted) in shapes {
        let text = format!("dimension = 3\n[[body]]\nkind = \"static\"\nshape = {shape}\ncentre = [0, 0, 0]\n");
        let world = spatial(&text);
        let (from, along) = (Vector::from_slice(&origin), Vector::from_slice(&direction));
        let hit = world.ray(from, along, &[]).unwrap_or_else(|| panic!("{shape} is missed"));
        assert!((hit.distance - wanted).abs() < 1e-12, "{shape}: {} for {wanted}", hit.distance);
        assert!((hit.normal.norm() - 1.0).abs() < 1e-12 && hit.normal.dot(along) < 0.0, "{shape}: {:?}", hit.normal);
        assert!(world.ray(from, -along, &[]).is_none(), "{shape} lies behind");
        assert!(world.ray(from, along, &[0]).is_none(), "{shape} is ignored");
    }
    // A cone from the side, from below and from within its opening: on its mantle r = R (h - z) / (2 h).
    let world = spatial("dimension = 3\n[[body]]\nkind = \"static\"\nshape = { cone = [2, 1] }\ncentre = [0, 0, 0]\n");
    let ray = |o: [f64; 3], d: [f64; 3]| world.ray(Vector::from_slice(&o), Vector::from_slice(&d), &[]);
    assert!((ray([3.0, 0.0, 0.2], [-1.0, 0.0, 0.0]).unwrap().distance - 2.6).abs() < 1e-12);
    assert!((ray([0.3, 0.0, -3.0], [0.0, 0.0, 1.0]).unwrap().distance - 2.0).abs() < 1e-12);
    assert!((ray([0.3, 0.0, 3.0], [0.0, 0.0, -1.0]).unwrap().distance - (3.0 - 0.4)).abs() < 1e-12);
    assert!(ray([0.3, 0.0, 1.5], [0.0, 0.0, 1.0]).is_none() && ray([1.2, 0.0, 0.0], [0.0, 0.0, -1.0]).is_none());
    assert_eq!(ray([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]).unwrap().distance, 0.0, "from within");
}

#[test]
fn a_ray_never_passes_what_the_distance_says_is_near() {
    // Two roads: along any ray the nearest point is not nearer than the distance of a tiny ball at its start.
    let mut text = String::from("dimension = 2\n[[body]]\nname = \"probe\"\nshape = { ball = 1e-9 }\nposition = [0, 0]\n");
    let shapes = [
        "{ ball = 0.4 }",
        "{ box = [1, 0.5] }",
        "{ capsule = [0.8, 0.2] }",
        "{ convex = [[0, 0], [1, 0.2], [0.3, 0.9]] }",
        "{ segment = [[-0.5, 0], [0.5, 0.3]] }",
    ];
    for (i, shape) in shapes.iter().enumerate() {
        let angle = i as f64 * 1.3;
        let (x, y) = (3.0 * angle.cos(), 3.0 * angle.sin());
        text += &format!("[[body]]\nname = \"b{i}\"\nkind = \"static\"\nshape = {shape}\nposition = [{x}, {y}]\nangle = {angle}\n");
    }
    let world = planar(&text);
    let mut least = f64::INFINITY;
    for k in 0..3600 {
        let (s, c) = (k as f64 * std::f64::consts::TAU / 3600.0).sin_cos();
        if let Some(hit) = world.ray(Vector::from_slice(&[0.0, 0.0]), Vector::from_slice(&[c, s]), &[0]) {
            let apart = world.distance(0, hit.body);
            assert!(hit.distance >= apart - 1e-8, "{}: {} below {apart}", world.model().bodies[hit.body].name, hit.distance);
            least = least.min(hit.distance - apart);
        }
    }
    assert!(least < 1e-3, "the nearest point is met: {least}");
}
