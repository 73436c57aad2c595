use super::*;
use carom_math::Planar;
use carom_scene::{Scene, from_toml};

fn start() -> Start<Planar> {
    let text = r#"
dimension = 2
[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0, 1] }
[[body]]
name = "ball"
shape = { ball = 0.1 }
mass = 2
position = [0.5, 1]
velocity = [1, 0]
[[joint]]
name = "motor"
kind = "hinge"
between = ["ball", "world"]
anchor = [0.5, 1]
motor = { control = true }
[[pair]]
between = ["ball", "floor"]
friction = 0.3
"#;
    let Ok(Scene::Planar(scene)) = from_toml(text, "t") else { panic!("a scene") };
    Start::new(scene.model, &scene.joints, scene.state).unwrap()
}

fn labels(text: &str) -> Vec<String> {
    start().resolve(text).unwrap().into_iter().map(|v| v.label).collect()
}

#[test]
fn names_stand_for_what_they_say() {
    assert_eq!(labels("mass"), ["mass[ball]"]);
    assert_eq!(labels("friction"), ["friction[floor]", "friction[ball]"]);
    assert_eq!(labels("gravity.y"), ["gravity.y"]);
    assert_eq!(labels("q[ball].x"), ["q[ball].x"]);
    assert_eq!(labels("v"), ["v[ball].x", "v[ball].y", "v[ball].spin"]);
    assert_eq!(labels("v[ball].vx"), ["v[ball].x"]);
    assert_eq!(labels("controls"), ["controls[motor]"]);
    assert_eq!(labels("joint_anchor[motor].x"), ["joint_anchor[motor].x"]);
    assert_eq!(labels("pair_friction[ball+floor]"), ["pair_friction[ball+floor]"]);
    assert_eq!(split("mass[a],pair_friction[a,b], gravity"), ["mass[a]", "pair_friction[a,b]", "gravity"]);
}

#[test]
fn a_pair_without_a_rule_has_coefficients_of_its_own() {
    let start = start();
    let before = start.world.model().bodies.iter().map(|b| b.surface.restitution).sum::<f64>() / 2.0;
    let start = start.with_pairs(["pair_restitution[floor, ball]", "pair_friction[ball, floor]", "mass"]).unwrap();
    assert_eq!(start.world.model().pairs.len(), 1, "the rule that is there is used");
    let found = start.resolve("pair_restitution[floor, ball]").unwrap();
    assert_eq!((found[0].label.as_str(), found[0].value), ("pair_restitution[ball+floor]", before));
    assert!(start.with_pairs(["pair_friction[ball, flor]"]).unwrap_err().help.contains("did you mean \"floor\"?"));
}

#[test]
fn what_is_set_is_what_is_read() {
    let start = start();
    let variables: Vec<Variable> =
        ["mass[ball]", "q[ball]", "v[ball].y", "friction", "controls"].iter().flat_map(|t| start.resolve(t).unwrap()).collect();
    let values: Vec<f64> = (1..=variables.len()).map(|k| 0.1 * k as f64).collect();
    let other = start.with(&variables, &values).unwrap();
    for (variable, value) in variables.iter().zip(&values) {
        let found = other.resolve(&variable.label).unwrap()[0].value;
        assert!((found - value).abs() < 1e-15, "{}: {found}", variable.label);
    }
    assert!(start.with(&variables[..1], &[-1.0]).is_err_and(|e| e.contains("mass[ball]")));
}

#[test]
fn nonsense_is_refused_with_the_nearest_name() {
    let start = start();
    for (text, words) in [
        ("masss", "did you mean \"mass\"?"),
        ("mass[bal]", "did you mean mass[ball]?"),
        ("mass[ball].x", "one number per row"),
        ("gravity.z", "it has x, y"),
        ("q[bll].x", "did you mean \"ball\"?"),
        ("q[ball].z", "it has x, y, angle"),
        ("mass[ball", "write mass"),
        ("mass[floor]", "static bodies"),
        ("controls[fan]", "controls: motor"),
    ] {
        let said = start.resolve(text).unwrap_err().help;
        assert!(said.contains(words), "{text}: {said}");
    }
}
