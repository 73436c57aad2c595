//! Bodies that come and go between steps: the rest goes on to the same bits, and the books balance.

use carom_dynamics::{SnapshotError, World};
use carom_math::Planar;
use carom_scene::include::ScenesOnly;
use carom_scene::{Added, Scene, SceneErrors, addition, from_toml};

const BASE: &str = r#"
dimension = 2
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 1] }
[[body]]
name = "lower"
shape = { box = [1, 1] }
position = [0, 0.5]
[[body]]
name = "upper"
shape = { box = [1, 1] }
position = [0.1, 1.5]
[[body]]
name = "bob"
shape = { ball = 0.1 }
position = [20, 4]
velocity = [0, 1]
[[joint]]
name = "pivot"
kind = "hinge"
between = ["bob", "world"]
anchor = [21, 4]
"#;

const BALL: &str = r#"
dimension = 2
[[body]]
name = "ball"
shape = { ball = 0.2 }
position = [40, 3]
velocity = [1, 0]
"#;

fn base() -> (World<Planar>, Vec<String>) {
    let Scene::Planar(scene) = from_toml(BASE, "base").unwrap() else { panic!("a plane") };
    (World::new(scene.model, scene.state).unwrap(), scene.groups)
}

fn added(world: &World<Planar>, text: &str) -> Result<Added<Planar>, SceneErrors> {
    addition(world, &[], text, "text", None, &mut ScenesOnly)
}

fn run(world: &mut World<Planar>, steps: usize) {
    for _ in 0..steps {
        world.step().unwrap();
    }
}

#[test]
fn what_comes_and_goes_elsewhere_leaves_the_rest_alone_to_the_bit() {
    let (mut edited, _) = base();
    let (mut left, _) = base();
    run(&mut edited, 50);
    run(&mut left, 50);
    let extra = added(&edited, BALL).unwrap();
    edited.add(extra.addition).unwrap();
    run(&mut edited, 50);
    run(&mut left, 50);
    for body in 0..4 {
        assert_eq!(edited.state().poses[body], left.state().poses[body], "body {body} goes on");
        assert_eq!(edited.state().twists[body], left.state().twists[body], "body {body} goes on");
    }
    assert_eq!(edited.state().time, left.state().time);
    let flown = edited.state().poses[4].position;
    assert!((flown.x - 40.25).abs() < 1e-9 && (flown.y - (3.0 - 0.5 * 9.81 * 0.0625)).abs() < 1e-9, "{flown:?}");
    edited.remove("ball").unwrap();
    run(&mut edited, 50);
    run(&mut left, 50);
    assert_eq!(edited.state().poses, left.state().poses);
    assert_eq!(edited.hash_of(), left.hash_of());
}

/// The hash of the state.
trait HashOf {
    fn hash_of(&self) -> String;
}

impl HashOf for World<Planar> {
    fn hash_of(&self) -> String {
        self.state().hash()
    }
}

#[test]
fn energy_that_comes_and_goes_is_booked() {
    let (mut world, _) = base();
    run(&mut world, 20);
    let before = world.ledger();
    let extra = added(&world, BALL).unwrap();
    world.add(extra.addition).unwrap();
    let after = world.ledger();
    let mass = world.model().bodies[4].mass;
    let wanted = mass * (0.5 + 9.81 * 3.0);
    assert!((after.flow.work_in - before.flow.work_in - wanted).abs() < 1e-9 * wanted, "{} for {wanted}", after.flow.work_in);
    assert!((after.drift - before.drift).abs() < 1e-9, "{} {}", before.drift, after.drift);
    run(&mut world, 100);
    world.remove("upper").unwrap();
    run(&mut world, 100);
    // The pendulum's own error of the integrator; the upper box alone was 15 kJ above the ground.
    assert!(world.ledger().drift.abs() < 1e-2, "{}", world.ledger().drift);
    assert_eq!(world.model().bodies.len(), 4);
    let force = world.contact_force(1, None).lin.y;
    assert!((force - 1000.0 * 9.81).abs() < 1e-4, "the lower box stands alone: {force}");
}

#[test]
fn what_is_added_may_be_joined_to_what_moves() {
    let (mut world, _) = base();
    run(&mut world, 30);
    let at = world.state().poses[3].position;
    let text = format!(
        "dimension = 2\n[[body]]\nname = \"tail\"\nshape = {{ ball = 0.1 }}\nposition = [{0}, {1}]\nvelocity = [0, 0]\n\
         [[joint]]\nname = \"link\"\nkind = \"hinge\"\nbetween = [\"tail\", \"bob\"]\nanchor = [{2}, {1}]\n",
        at.x + 0.5,
        at.y,
        at.x
    );
    let extra = added(&world, &text).unwrap();
    world.add(extra.addition).unwrap();
    run(&mut world, 100);
    assert!(world.joint_error() < 1e-9, "{}", world.joint_error());
    let gap = (world.state().poses[4].position - world.state().poses[3].position).norm();
    assert!((gap - 0.5).abs() < 1e-6, "the tail hangs on: {gap}");
    world.remove("bob").unwrap();
    assert!(world.model().joints.is_empty(), "its joints go with it");
    run(&mut world, 10);
}

#[test]
fn snapshots_do_not_cross_an_edit_and_names_are_checked() {
    let (mut world, _) = base();
    let before = world.snapshot();
    let extra = added(&world, BALL).unwrap();
    world.add(extra.addition).unwrap();
    world.remove("upper").unwrap();
    assert_eq!(world.model().bodies.len(), 4, "as many as before, but others");
    assert_eq!(world.restore(&before), Err(SnapshotError::Edited));
    let now = world.snapshot();
    run(&mut world, 5);
    world.restore(&now).unwrap();
    let error = world.remove("lowr").unwrap_err().to_string();
    assert!(error.contains("did you mean \"lower\""), "{error}");
    let error = added(&world, "dimension = 2\n\n[[body]]\nname = \"lower\"\nshape = { ball = 1 }\n").unwrap_err();
    assert!(error.first().line == 4 && error.first().problem.contains("another body has this name"), "{error}");
    let error = added(&world, "dimension = 2\n[[joint]]\nkind = \"hinge\"\nbetween = [\"bobb\", \"world\"]\nanchor = [0, 0]").unwrap_err();
    assert_eq!((error.first().line, error.first().nearest.as_deref()), (4, Some("bob")));
    let error =
        added(&world, "dimension = 2\n[[joint]]\nname = \"pivot\"\nkind = \"hinge\"\nbetween = [\"bob\", \"world\"]\nanchor = [0, 0]")
            .unwrap_err();
    assert_eq!(error.first().line, 3);
    let error = added(&world, "dimension = 3\n").unwrap_err();
    assert_eq!(error.first().key, "dimension");
    world.remove("pivot").unwrap();
    assert!(world.model().joints.is_empty() && world.model().bodies.len() == 4);
    world.reset();
    assert_eq!(world.model().bodies.len(), 4);
}

#[test]
fn parts_of_one_name_go_together() {
    let (mut world, _) = base();
    let text = "dimension = 2\n[[body]]\nname = \"arm.a\"\nshape = { ball = 0.1 }\nposition = [60, 1]\n[[body]]\nname = \"arm.b\"\nshape = { ball = 0.1 }\n\
                position = [61, 1]\n[[body]]\nname = \"army\"\nshape = { ball = 0.1 }\nposition = [62, 1]\n";
    let extra = added(&world, text).unwrap();
    // The text that is noted adds the same once more.
    assert_eq!(added(&world, &extra.text).unwrap().addition, extra.addition);
    world.add(extra.addition).unwrap();
    world.remove("arm").unwrap();
    let names: Vec<&str> = world.model().bodies.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["ground", "lower", "upper", "bob", "army"]);
    assert!(world.state().poses[4].position.x == 62.0 && world.state().twists[4].lin.norm() == 0.0);
}
