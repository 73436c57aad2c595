//! Scenes by calls say what files say, and blame the call.

use carom_scene::builder::Part;
use carom_scene::{Placement, Scene, SceneBuilder, Value, from_toml, to_toml};

fn pendulum() -> SceneBuilder {
    let mut scene = SceneBuilder::new(2);
    scene.top("step", 0.01).unwrap().top("step", 0.02).unwrap();
    scene.material("steel", [("restitution", 0.5.into())]).unwrap();
    scene.body([("name", "bob".into()), ("shape", Value::table([("ball", 0.1.into())])), ("material", "steel".into())]).unwrap();
    let pair: Value = ["bob", "world"].into();
    scene.joint([("name", "pin".into()), ("kind", "hinge".into()), ("between", pair), ("anchor", [0.0, 1.0].into())]).unwrap();
    scene.force([("body", "bob".into()), ("force", [1.0, 0.0].into()), ("until", f64::INFINITY.into())]).unwrap();
    scene
}

#[test]
fn calls_make_the_scene_of_their_text() {
    let scene = pendulum();
    let built = scene.build().unwrap();
    assert_eq!(built, from_toml(&scene.to_toml(), "scene").unwrap());
    let Scene::Planar(planar) = &built else { panic!("a plane") };
    assert_eq!((planar.model.step, planar.model.bodies[0].surface.restitution, planar.model.joints.len()), (0.02, 0.5, 1));
    // Written, read and built again it is the same.
    assert_eq!(from_toml(&to_toml(&built), "scene").unwrap(), built);
}

#[test]
fn a_fault_names_the_line_of_the_call() {
    let mut scene = pendulum();
    let before = scene.clone();
    let error = scene.body([("mas", 1.0.into())]).unwrap_err();
    let line = line!() as usize - 1;
    assert_eq!((error.line, error.nearest.as_deref()), (line, Some("mass")));
    assert!(error.file.ends_with("builder.rs"), "{}", error.file);
    assert!(scene.top("dimension", 3).is_err() && scene.material("steel", []).is_err());
    assert_eq!(scene, before, "a call that is refused leaves nothing behind");
    let nobody: Value = ["bob", "bop"].into();
    scene.joint([("kind", "weld".into()), ("between", nobody)]).unwrap();
    let line = line!() as usize - 1;
    let error = scene.build().unwrap_err();
    assert_eq!((error.line, error.key.as_str()), (line, "between"), "{error}");
}

#[test]
fn a_scene_is_placed_in_another() {
    let inner = pendulum().build().unwrap();
    let mut scene = SceneBuilder::new(2);
    let placement = Placement { position: vec![3.0, 0.0], rotation: vec![std::f64::consts::FRAC_PI_2] };
    scene.add(&inner, Some("left"), &placement).unwrap().add(&inner, None, &Placement::default()).unwrap();
    let Scene::Planar(both) = scene.build().unwrap() else { panic!("a plane") };
    assert_eq!([&*both.model.bodies[0].name, &*both.model.bodies[1].name], ["left.bob", "bob"]);
    let anchor = both.joints[0].anchor.unwrap();
    assert!((anchor[0] - 2.0).abs() < 1e-15 && anchor[1].abs() < 1e-15, "{anchor:?}");
    assert!((both.model.forces[0].force[1] - 1.0).abs() < 1e-15, "forces turn with their scene");
    assert!(SceneBuilder::new(3).add(&inner, None, &Placement::default()).is_err());
    assert!(scene.add(&inner, None, &Placement { position: vec![1.0], rotation: Vec::new() }).is_err());
}

#[test]
fn odd_words_are_quoted_and_odd_values_refused() {
    let mut scene = SceneBuilder::new(2);
    scene.material("cold \"rolled\"\nsteel", []).unwrap();
    scene.material("cold rolled", [("friction", 1.into())]).unwrap();
    scene.body([("material", "cold rolled".into()), ("mass", 1.0.into()), ("inertia", 1.0.into())]).unwrap();
    scene.build().unwrap();
    let place = carom_scene::builder::Place { file: "here".to_string(), line: 7, column: 2 };
    for value in [f64::NAN.into(), Value::List(vec![]), Value::table([("a b", Value::Flag(true))]), "x".into()] {
        let error = scene.part_at(Part::Body, &[("mass", value)], place.clone()).unwrap_err();
        assert!(error.to_string().starts_with("here:7:2: body"), "{error}");
    }
}
