//! The embedded scenes: all load, say what they are, and survive being written and read back bit for bit.

use carom_geometry::{Contact, Geometry};
use carom_math::Planar;
use carom_scene::{Scene, from_toml, from_toml_all, scene, scenes, to_toml};

fn load(name: &str, text: &str) -> Scene {
    from_toml_all(text, &format!("{name}.toml")).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn every_embedded_scene_loads_and_has_a_summary() {
    assert!(scenes().len() >= 24, "{}", scenes().len());
    for embedded in scenes() {
        let loaded = load(embedded.name, embedded.text);
        assert_eq!(loaded.name(), embedded.name, "the file's name stands in for the scene's");
        assert_eq!(loaded.description(), embedded.summary, "{}", embedded.name);
        assert!(embedded.summary.len() > 20 && embedded.summary.len() < 100, "{}: {}", embedded.name, embedded.summary);
        let bodies = match &loaded {
            Scene::Planar(s) => s.model.bodies.len(),
            Scene::Spatial(s) => s.model.bodies.len(),
        };
        assert!((1..=10_000).contains(&bodies), "{}: {bodies} bodies", embedded.name);
    }
    assert!(scenes().windows(2).all(|w| w[0].name < w[1].name), "sorted by name, each once");
}

#[test]
fn every_embedded_scene_reads_back_from_its_own_text() {
    for embedded in scenes() {
        let first = load(embedded.name, embedded.text);
        let text = to_toml(&first);
        let second = load(embedded.name, &text);
        assert_eq!(first, second, "{}\n{text}", embedded.name);
        assert_eq!(text, to_toml(&second), "{}: the text is its own", embedded.name);
        let hashes = [&first, &second].map(|s| match s {
            Scene::Planar(s) => s.state.hash(),
            Scene::Spatial(s) => s.state.hash(),
        });
        assert_eq!(hashes[0], hashes[1], "{}: same bits", embedded.name);
    }
}

/// Deepest overlap and number of touching contacts at the start, as a fraction of the size of the smaller body.
fn overlaps<G: Geometry>(model: &carom_dynamics::Model<G>, state: &carom_dynamics::State<G>) -> (f64, usize) {
    let (mut deepest, mut touching) = (0.0_f64, 0);
    let mut found: Vec<Contact<G>> = Vec::new();
    for (i, a) in model.bodies.iter().enumerate() {
        for (j, b) in model.bodies.iter().enumerate().take(i) {
            let dynamic = [a, b].iter().any(|x| x.kind == carom_dynamics::BodyKind::Dynamic);
            if !dynamic || a.group & b.mask == 0 || b.group & a.mask == 0 {
                continue;
            }
            if model.joints.iter().any(|k| !k.collide && (k.bodies == [Some(i), Some(j)] || k.bodies == [Some(j), Some(i)])) {
                continue;
            }
            for (s, t) in a.colliders.iter().flat_map(|s| b.colliders.iter().map(move |t| (s, t))) {
                let (p, q) = (state.poses[i].compose(&s.local), state.poses[j].compose(&t.local));
                let size = G::extent(&s.shape).min(G::extent(&t.shape));
                found.clear();
                G::contacts(&s.shape, &p, &t.shape, &q, 1e-3 * size, &mut found);
                for contact in &found {
                    deepest = deepest.max(-contact.gap / size);
                    touching += usize::from(contact.gap <= 1e-9 * size);
                }
            }
        }
    }
    (deepest, touching)
}

#[test]
fn no_scene_starts_with_an_overlap() {
    for embedded in scenes() {
        let (deepest, touching) = match load(embedded.name, embedded.text) {
            Scene::Planar(s) => overlaps(&s.model, &s.state),
            Scene::Spatial(s) => overlaps(&s.model, &s.state),
        };
        assert!(deepest < 1e-9, "{}: overlap {deepest:e}", embedded.name);
        if let "stack_ten" | "pyramid" | "box_stack_3d" | "locked_plug" | "newton_cradle" | "pool_break" = embedded.name {
            assert!(touching >= 3, "{}: {touching} contacts", embedded.name);
        }
    }
}

#[test]
fn the_rack_touches_exactly_and_mirrors_exactly() {
    let Scene::Planar(scene) = load("pool_break", scene("pool_break").unwrap().text) else { panic!("a plane") };
    let radius = match scene.model.bodies[0].colliders[0].shape {
        carom_geometry::planar::Shape::Ball { radius } => radius,
        _ => panic!("a ball"),
    };
    let mut touching = 0;
    for i in 1..scene.state.poses.len() {
        for j in 1..i {
            let apart = scene.state.poses[i].position - scene.state.poses[j].position;
            let gap = apart.dot(&apart).sqrt() - 2.0 * radius;
            assert!(gap >= 0.0, "{i} {j} overlap by {gap:e}");
            touching += usize::from(gap == 0.0);
        }
    }
    assert_eq!(touching, 30, "every neighbour touches with gap 0");
    for pose in &scene.state.poses {
        let mirrored = scene.state.poses.iter().any(|p| p.position.x == pose.position.x && p.position.y == -pose.position.y);
        assert!(mirrored, "{:?}", pose.position);
    }
    let contact = |i: usize, j: usize| {
        let mut out = Vec::new();
        let shape = &scene.model.bodies[0].colliders[0].shape;
        Planar::contacts(shape, &scene.state.poses[i], shape, &scene.state.poses[j], 1e-6, &mut out);
        out[0].gap
    };
    assert_eq!((contact(1, 2), contact(2, 3), contact(14, 15)), (0.0, 0.0, 0.0), "the narrowphase sees exactly 0 too");
}

#[test]
fn a_scene_with_everything_survives_the_way_to_text_and_back() {
    let text = r##"
dimension = 3
name = "all \"of\" it"
description = "line\nline\ttab \u0001 ü"
gravity = [0.1, 0, -1.62]
step = 0.001
duration = 3
impact = { law = "gauss-seidel", order = "random", seed = 18446744073709551615 }
solver = "interior-point"
friction_cone = 8
integrator = "euler"
time_of_impact = "halving"
[tolerances]
touch = 2e-9
max_events = 7
[materials."odd name"]
restitution = 0.123456789012345678
[[body]]
kind = "kinematic"
shape = [
  { box = [1, 2, 3], at = [1e-3, 0.3, 0.7], rotation = [0.3, 0.1, 0.2, 0.9] },
  { convex = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]], at = [4, 5, 6] },
  { cylinder = [0.3, 0.1], at = [0.1, 0.1, 0.1] },
  { cone = [0.3, 0.1], at = [-0.1, 0.1, 0.7], rotation = [1, 2, 3, 4] },
  { capsule = [0.3, 0.1] },
  { ball = 0.1 },
]
position = [1, 2, 3]
velocity = [0.1, 0.2, -0.0]
spin = [1, 2, 3]
group = ["b", "a"]
mask = []
[[body]]
name = "d"
shape = [{ ball = 0.3, at = [0.1, 0.2, 0.3] }, { box = [0.2, 0.2, 0.2], at = [0.4, 0.1, 0] }]
density = 3
rotation = [0.1, 0.7, 0.2, 0.3]
material = "odd name"
friction = 0
damping = 0.1
spin_damping = 0.2
drag = 0.3
rolling = 0.01
torsional = 0.02
locked = ["z", "rotation"]
mask = ["c", "a"]
color = "#012345"
[[body]]
name = "point"
mass = 2
inertia = [[2, 0.1, 0], [0.1, 2, 0], [0, 0, 3]]
position = [0, 0, 5]
[[body]]
name = "ground"
kind = "static"
shape = [
  { half_space = [0.1, 0.2, 0.7] },
  { segment = [[0, 0, 0], [1, 1, 1]] },
  { mesh = { points = [[0, 0, 0], [1, 0, 0], [0, 1, 0.3]], faces = [[0, 1, 2]] } },
  { heightfield = { heights = [[0, 0.1, 0.2], [0.3, 0, 0]], spacing = [0.5, 0.25] } },
]
[[joint]]
kind = "hinge"
between = ["d", "world"]
anchor = [0, 0.1, 0]
axis = [0.3, 0.2, 0.9]
limits = [-1, 2]
motor = { position = 0.5, stiffness = 100, damping = 1, max = 10 }
friction = 0.01
collide = true
[[joint]]
kind = "universal"
between = ["point", "d"]
anchor = [0, 0, 4]
axes = [[1, 0, 0], [0, 2, 0]]
[[joint]]
kind = "slider"
between = ["point", "world"]
anchor = [0, 0, 4]
axis = [1, 0, 0]
motor = { control = true }
[[joint]]
kind = "spring"
between = ["point", "d"]
anchors = [[0, 0, 5], [0, 0, 0]]
stiffness = 3
damping = 0.1
[[joint]]
kind = "weld"
between = ["body0", "d"]
[[pair]]
between = ["d", "ground"]
restitution = 0.3
impact = "stronge"
[[pair]]
between = ["body0", "ground"]
collide = false
friction = 0.25
[[force]]
body = "d"
force = [1, 2, 3]
torque = [0, 0, 0.1]
at = [0.1, 0, 0]
from = 0.5
until = 2
[[force]]
body = "point"
torque = [0, 1, 0]
control = true
[[repeat]]
count = [2, 1, 2]
offset = [1, 2, 3]
body = { shape = { ball = 0.1 }, position = [0.1, 0.2, 10.3] }
joint = { kind = "rope", between = ["self", "next"], anchors = [[0.1, 0.2, 10.3], [0.1, 0.2, 13.3]], length = 4 }
"##;
    let first = load("everything", text);
    let again = to_toml(&first);
    let second = load("everything", &again);
    assert_eq!(first, second, "{again}");
    assert_eq!(again, to_toml(&second));
    let Scene::Spatial(s) = first else { panic!("space") };
    assert_eq!(s.groups, ["a", "b", "c"]);
    assert_eq!((s.model.bodies[0].group, s.model.bodies[0].mask, s.model.bodies[1].mask), (0b011, 0, 0b101));
    assert_eq!(s.model.bodies.len(), 8);
    assert_eq!(s.model.joints.len(), 7, "two ropes: a row of two has one next");
    assert_eq!(s.model.control_count(), 2);
    assert_eq!(s.model.bodies[5].name, "body5");
    assert_eq!(s.state.poses[5].position.z, 10.3 + 3.0);
    assert_eq!(s.state.poses[6].position.x, 0.1 + 1.0);
    assert_eq!(s.description, "line\nline\ttab \u{1} ü");
}

#[test]
fn the_default_name_is_the_file_without_its_ending() {
    assert_eq!(from_toml("dimension = 2", "some/where/drop.toml").unwrap().name(), "drop");
    assert_eq!(from_toml("dimension = 2", "").unwrap().name(), "scene");
}
