//! The language on a fixed state: values, slopes against differences, faults at their columns.

use super::*;
use carom::dynamics::gradient::Parameters;
use carom::dynamics::{State, World};
use carom::math::{Space, Spatial, Twist, Vector};
use carom::scene::{Scene, from_toml};

const TEXT: &str = r#"
dimension = 3
[[body]]
name = "a"
shape = { box = [0.3, 0.2, 0.1] }
mass = 2
position = [0.7, -0.4, 1.2]
rotation = [0.8, 0.2, -0.3, 0.4]
velocity = [1, 2, -0.5]
spin = [0.3, -1, 2]
[[body]]
name = "ball 2"
shape = { ball = 0.2 }
position = [2, 0, 1]
velocity = [0, 1, 0]
[[joint]]
kind = "spring"
between = ["a", "ball 2"]
anchors = [[0.75, -0.4, 1.2], [2, 0, 1.1]]
stiffness = 40
rest = 1
[[body]]
name = "arm"
shape = { box = [0.5, 0.1, 0.1] }
position = [0.2, 0.6, 1.4]
rotation = [0.9, 0.1, 0.3, -0.2]
velocity = [0.4, -0.3, 0.2]
spin = [1, 0.5, -0.7]
[[joint]]
name = "elbow"
kind = "hinge"
between = ["a", "arm"]
anchor = [0.5, 0.1, 1.3]
axis = [0.3, 1, -0.2]
[[joint]]
name = "drawer"
kind = "slider"
between = ["world", "arm"]
anchor = [0.2, 0.6, 1.4]
axis = [1, 0.4, 0.3]
"#;

/// Bodies of the scene.
const BODIES: usize = 3;

fn world() -> World<Spatial> {
    let Ok(Scene::Spatial(scene)) = from_toml(TEXT, "test") else { panic!("a scene") };
    World::new(scene.model, scene.state).unwrap()
}

/// Two states a little apart.
fn states(world: &World<Spatial>) -> Vec<State<Spatial>> {
    let mut other = world.copy();
    other.step().unwrap();
    vec![world.state().clone(), other.state().clone()]
}

/// Names in any script need no quotes: vowel signs, joiners and marks behind a letter belong to them.
#[test]
fn names_of_any_script_are_words() {
    for name in ["गेंद", "мяч", "球1", "Kugel_ß", "e\u{301}cran", "كرة", "🎱", "ལྷ"] {
        let text = TEXT.replace("name = \"a\"", &format!("name = \"{name}\"")).replace("[\"a\",", &format!("[\"{name}\","));
        let Ok(Scene::Spatial(scene)) = from_toml(&text, "test") else { panic!("a scene with {name}") };
        let quoted = Loss::parse(&format!("(\"{name}\".x-1)^2"), &scene.model).unwrap();
        assert_eq!(Loss::parse(&format!("({name}.x-1)^2"), &scene.model).unwrap(), quoted, "{name}");
    }
    let Ok(Scene::Spatial(scene)) = from_toml(TEXT, "test") else { panic!("a scene") };
    assert_eq!(Loss::parse("a.x − 1", &scene.model).unwrap_err().span, 4..7, "a typographic minus is no name");
}

#[test]
fn values_are_those_of_arithmetic() {
    let world = world();
    let states = states(&world);
    for (text, wanted) in [
        ("1 + 2 * 3 ^ 2 ^ 0.5 - 4 / 8", 1.0 + 2.0 * 3.0f64.powf(2.0f64.sqrt()) - 0.5),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("(1 - 3)^3", -8.0),
        ("2 - 3 - 4", -5.0),
        ("sqrt(16) + abs(-2) + exp(log(3)) + cos(pi)", 8.0),
        ("1e-3 + .5", 0.501),
        ("a.x", states[1].poses[0].position.x),
        ("\"ball 2\".vy * 2", states[1].twists[1].lin.y * 2.0),
        ("sum(a.wx)", states[0].twists[0].ang.x + states[1].twists[0].ang.x),
        ("time", states[1].time),
        ("mean(time * a.x)", 0.5 * (states[0].time * states[0].poses[0].position.x + states[1].time * states[1].poses[0].position.x)),
        ("mean(a.z) - 1", 0.5 * (states[0].poses[0].position.z + states[1].poses[0].position.z) - 1.0),
    ] {
        let loss = Loss::parse(text, world.model()).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let found = loss.value(world.model(), &states, &Forces::default());
        assert!((found - wanted).abs() <= 1e-14 * wanted.abs().max(1.0), "{text}: {found}, not {wanted}");
    }
}

#[test]
fn slopes_are_those_of_central_differences() {
    const SIZE: f64 = 1e-5;
    let world = world();
    let base = states(&world);
    let layout = Parameters::of(world.model());
    for text in [
        "a.x^2 + a.vx * a.y / (1 + a.z^2)",
        "a.qw * a.qx + sin(a.qy) - a.qz^3",
        "energy",
        "kinetic^2 / (1 + elastic) - potential",
        "sum(sqrt(a.x^2 + a.y^2)) + mean(abs(a.vz) * exp(a.wz / 3))",
        "a.x ^ a.z + log(\"ball 2\".x)",
        "elbow.position^2 + elbow.rate * drawer.position - sin(drawer.rate)",
        "arm.at(0.2, -0.1, 0.05).x * arm.at(0.2, -0.1, 0.05).vy + a.at(0, 0.3, 0).z^2",
    ] {
        let loss = Loss::parse(text, world.model()).unwrap();
        let slope = loss.slope(world.model(), &layout, &base, &Forces::default());
        assert!(slope.is_finite());
        for at in 0..2 {
            for body in 0..BODIES {
                for k in 0..2 * Spatial::DOF {
                    let moved = |by: f64| {
                        let mut states = base.clone();
                        let mut x = [0.0; 6];
                        x[k % 6] = by;
                        let change = Twist::<Spatial> { lin: Vector::from_slice(&x), ang: Vector::from_slice(&x[3..]) };
                        if k < 6 {
                            states[at].poses[body] = states[at].poses[body].advanced(change, 1.0);
                        } else {
                            states[at].twists[body] = states[at].twists[body].plus(1.0, change);
                        }
                        loss.value(world.model(), &states, &Forces::default())
                    };
                    let difference = (moved(SIZE) - moved(-SIZE)) / (2.0 * SIZE);
                    let numbers = if k < 6 { &slope.states.poses } else { &slope.states.twists };
                    let exact = numbers[(at * BODIES + body) * 6 + k % 6];
                    assert!(
                        (exact - difference).abs() < 1e-7 * exact.abs().max(1.0),
                        "{text} {at} {body} {k}: {exact} against {difference}"
                    );
                }
            }
        }
        for slot in 0..layout.len {
            let moved = |by: f64| {
                let mut tangent = vec![0.0; layout.len];
                tangent[slot] = by;
                loss.value(&layout.perturbed(world.model(), &tangent).unwrap(), &base, &Forces::default())
            };
            let difference = (moved(SIZE) - moved(-SIZE)) / (2.0 * SIZE);
            assert!((slope.parameters[slot] - difference).abs() < 1e-6 * difference.abs().max(1.0), "{text} parameter {slot}");
        }
    }
}

#[test]
fn faults_stand_at_their_column_and_say_what_is_allowed() {
    let world = world();
    for (text, column, problem, help) in [
        ("", 1, "ends too early", "needs a number"),
        ("a.x +", 6, "ends too early", "needs a number"),
        ("a.x b.y", 5, "found \"b\"", "operator"),
        ("2 * (a.x - 1", 13, "ends too early", "needs )"),
        ("b.x", 1, "no body, joint or point \"b\"", "allowed"),
        ("elbo.rate", 1, "no body, joint or point", "did you mean \"elbow\"?"),
        ("elbow", 1, "is a joint, not a number", "elbow.rate"),
        ("elbow.x", 7, "unknown component \"x\"", "position, rate"),
        ("joint0.rate", 8, "has no coordinate", "hinges"),
        ("a.at(1, 2).x", 10, "found \")\"", "3 numbers"),
        ("a.at(1, 2, 3).qw", 15, "unknown component \"qw\" of a point", "vz"),
        ("a.speed", 3, "unknown component \"speed\"", "vx"),
        ("a.contact(\"ball 3\").fz", 11, "no body \"ball 3\"", "did you mean \"ball 2\"?"),
        ("a.contact(a).fz", 11, "does not touch itself", "another"),
        ("a.contact.x", 11, "unknown component \"x\" of a force", "fx, fy, fz"),
        ("a", 1, "is a body, not a number", "a.x"),
        ("enrgy", 1, "unknown name \"enrgy\"", "did you mean \"energy\"?"),
        ("sqr(2)", 1, "unknown function \"sqr\"", "did you mean \"sqrt\"?"),
        ("a.x # 2", 5, "'#' means nothing", "allowed"),
        ("sum(mean(a.x))", 5, "within another", "cannot be nested"),
        ("\"ball", 1, "without a closing quote", "end it"),
        ("é + 1", 1, "unknown name", "allowed"),
    ] {
        let error = Loss::parse(text, world.model()).unwrap_err();
        assert_eq!(error.column, column, "{text}: {error:?}");
        assert!(error.problem.contains(problem) && error.help.contains(help), "{text}: {error:?}");
    }
    let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
    assert!(Loss::parse(&deep, world.model()).unwrap_err().problem.contains("nested too deeply"));
}

#[test]
fn time_goes_with_the_step_and_points_with_their_bodies() {
    let world = world();
    let (states, layout) = (states(&world), Parameters::of(world.model()));
    // The second state is one step later.
    let loss = Loss::parse("sum(3 * time)", world.model()).unwrap();
    let slope = loss.slope(world.model(), &layout, &states, &Forces::default());
    assert_eq!((slope.parameters[layout.step], slope.states.poses.iter().all(|x| *x == 0.0)), (3.0, true));

    let text = format!("{TEXT}[[point]]\nname = \"tip\"\nbody = \"arm\"\nat = [0.2, -0.1, 0.05]\n");
    let Ok(Scene::Spatial(scene)) = from_toml(&text, "test") else { panic!("a scene") };
    for (named, plain) in [("tip.x", "arm.at(0.2, -0.1, 0.05).x"), ("tip.vz^2", "arm.at(0.2, -0.1, 0.05).vz^2")] {
        assert_eq!(Loss::parse_among(named, &scene.model, &scene.points), Loss::parse(plain, &scene.model));
    }
    let error = Loss::parse_among("tipp.x", &scene.model, &scene.points).unwrap_err();
    assert!(error.help.contains("did you mean \"tip\"?"), "{error:?}");
    let error = Loss::parse_among("tip.qw", &scene.model, &scene.points).unwrap_err();
    assert!(error.problem.contains("of a point"), "{error:?}");
}

#[test]
fn a_root_at_zero_has_no_slope() {
    let world = world();
    let layout = Parameters::of(world.model());
    let loss = Loss::parse("sqrt(\"ball 2\".y)", world.model()).unwrap();
    assert!(!loss.slope(world.model(), &layout, &[world.state().clone()], &Forces::default()).is_finite());
    let square = Loss::parse("\"ball 2\".y^2", world.model()).unwrap();
    assert!(square.slope(world.model(), &layout, &[world.state().clone()], &Forces::default()).is_finite());
}
