//! Scenes with round numbers and symmetry, as people write them first: everything meets, touches, stops and aligns exactly. Gradients are exact on both
//! sides or say that they are not, and then agree with one side wherever there are two.

use carom_dynamics::World;
use carom_dynamics::gradient::{Cotangents, Switches, Tape};
use carom_geometry::Geometry;
use carom_scene::{Scene, SceneOf};
use carom_tests::differences::{Agreement, check_text};

/// Relative error allowed of differences.
const ERROR: f64 = 1e-4;

/// Violation of <J u, w> = <u, J' w> allowed.
const TRANSPOSED: f64 = 1e-9;

/// What moves the gap of bodies that touch where a run starts: an overlap there is left as it is, so that these have sides.
const GAPS: [&str; 4] = ["pose", "placement", "shape", "joints"];

/// What is expected of a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Worth {
    /// Exact on both sides by everything, and not flagged.
    Exact,
    /// Exact on both sides by everything but what opens or closes gaps, not flagged, and counted as touching at the start.
    Touching,
    /// Flagged; by everything but the sorts named it agrees with one side at least.
    Flagged(&'static [&'static str]),
}
use Worth::{Exact, Flagged, Touching};

/// A scene of the plane as one of space: `<x, y>` is a vector in the plane that both share (x and z in space), `#<w, h>` the extents of a box, `@s` a
/// rate of turning in that plane, `AXIS` the axis of a hinge.
fn in_space(text: &str, space: bool) -> String {
    let mut out = format!("dimension = {}\nstep = 0.01\n", if space { 3 } else { 2 });
    let mut rest = text;
    while let Some(start) = rest.find(['<', '@', '#']) {
        out.push_str(&rest[..start]);
        let end = start + rest[start..].find(['>', ';']).unwrap_or(0);
        let inside = rest[start + 1..end].trim_start_matches('<');
        match (&rest[start..=start], space) {
            ("@", false) => out.push_str(inside),
            ("@", true) => out.push_str(&format!("[0, -{inside}, 0]").replace("--", "")),
            (_, false) => out.push_str(&format!("[{inside}]")),
            (sign, true) => {
                let (x, y) = inside.split_once(',').unwrap_or((inside, "0"));
                out.push_str(&format!("[{x}, {}, {y}]", if sign == "#" { x } else { "0" }));
            }
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out.replace("AXIS", if space { "axis = [0, -1, 0]" } else { "" })
}

const FLOOR: &str = "[[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { half_space = <0, 1> }\nmaterial = \"m\"\n";
const WALL: &str = "[[body]]\nname = \"wall\"\nkind = \"static\"\nshape = { half_space = <1, 0> }\nmaterial = \"m\"\n";

fn material(friction: f64, restitution: f64) -> String {
    format!("[materials.m]\nfriction = {friction}\nrestitution = {restitution}\n")
}

fn ball(name: &str, [x, y]: [f64; 2], [vx, vy]: [f64; 2], spin: f64) -> String {
    format!(
        "[[body]]\nname = \"{name}\"\nshape = {{ ball = 0.1 }}\nmass = 1\nposition = <{x}, {y}>\nvelocity = <{vx}, {vy}>\nspin = @{spin:?};\nmaterial = \"m\"\n"
    )
}

fn block(name: &str, [w, h]: [f64; 2], [x, y]: [f64; 2], [vx, vy]: [f64; 2]) -> String {
    format!(
        "[[body]]\nname = \"{name}\"\nshape = {{ box = #<{w}, {h}> }}\nmass = 1\nposition = <{x}, {y}>\nvelocity = <{vx}, {vy}>\nmaterial = \"m\"\n"
    )
}

const STILL: [f64; 2] = [0.0; 2];
const WEIGHTLESS: &str = "gravity = <0, 0>\n";

/// Flags and the count of touching contacts of a run.
fn told<G: Geometry>(scene: SceneOf<G>, steps: usize) -> (Switches, usize) {
    let world = World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}"));
    let run = world.rollout(steps, &[], Tape::Full).unwrap_or_else(|e| panic!("{e}"));
    let untaped = world.rollout(steps, &[], Tape::Off).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(run.states.last(), untaped.states.last(), "a tape changes no bit");
    let gradient = run.backward(&Cotangents::default()).unwrap_or_else(|e| panic!("{e}"));
    (gradient.total(), gradient.touching)
}

/// Checks a scene in the plane and in space.
fn expect(name: &str, text: &str, steps: usize, worth: Worth) {
    for space in [false, true] {
        expect_in(space, name, text, steps, worth);
    }
}

fn expect_in(space: bool, name: &str, text: &str, steps: usize, worth: Worth) {
    let text = in_space(text, space);
    let findings = check_text(&text, 0, steps, 1);
    let (switches, touching) = match carom_scene::from_toml(&text, name) {
        Ok(Scene::Planar(scene)) => told(scene, steps),
        Ok(Scene::Spatial(scene)) => told(scene, steps),
        Err(error) => panic!("{error}"),
    };
    let mut report = format!("{name}, space {space}: {switches:?}, touching {touching}\n");
    for a in &findings.agreements {
        report.push_str(&format!("{:12} {:9.2e} ({:9.2e} one-sided) of {:9.2e}\n", a.sort, a.error, a.one_sided, a.size));
    }
    println!("{report}");
    let both = |a: &Agreement| a.error < ERROR;
    let one = |a: &Agreement| both(a) || a.one_sided < ERROR;
    assert!(findings.transpose < TRANSPOSED, "transpose {:.1e}\n{report}", findings.transpose);
    assert_eq!(switches.is_exact(), !matches!(worth, Flagged(_)), "flags\n{report}");
    let holds = |a: &&Agreement| match worth {
        Exact => both(a),
        Touching => both(a) || GAPS.contains(&a.sort),
        Flagged(undefined) => one(a) || undefined.contains(&a.sort),
    };
    assert!(findings.agreements.iter().all(|a| holds(&a)), "{report}");
    if worth == Touching {
        assert!(touching > 0, "{report}");
    }
}

#[test]
fn a_ball_and_a_floor() {
    for friction in [0.0, 0.5] {
        for restitution in [0.0, 0.5, 1.0] {
            let m = material(friction, restitution);
            let name = |what: &str| format!("{what}, friction {friction}, restitution {restitution}");
            expect(&name("at rest"), &format!("{m}{FLOOR}{}", ball("a", [0.0, 0.1], STILL, 0.0)), 10, Touching);
            expect(&name("rolling"), &format!("{m}{FLOOR}{}", ball("a", [0.0, 0.1], [1.0, 0.0], -10.0)), 10, Touching);
            if restitution == 0.0 {
                continue;
            }
            let free = format!("{WEIGHTLESS}{m}{FLOOR}");
            expect(&name("lands at a step"), &format!("{free}{}", ball("a", [0.0, 0.2], [0.0, -1.0], 0.0)), 20, Exact);
            expect(&name("lands without slip"), &format!("{free}{}", ball("a", [0.0, 0.205], [1.0, -1.0], -10.0)), 20, Exact);
            expect(&name("touches and closes"), &format!("{free}{}", ball("a", [0.0, 0.1], [0.0, -1.0], 0.0)), 10, Touching);
        }
    }
}

#[test]
fn contacts_that_do_not_push_each_other_strike_at_once() {
    // A ball without friction reaches both walls of a corner together: each strike moves in time by itself, theory (17.40).
    for (restitution, x) in [(0.5, 0.2), (1.0, 0.2), (0.5, 0.205), (1.0, 0.205)] {
        let m = material(0.0, restitution);
        let text = format!("{WEIGHTLESS}{m}{FLOOR}{WALL}{}", ball("a", [x, x], [-1.0, -1.0], 0.0));
        expect("a corner", &text, 20, Exact);
        for law in ["reflections", "gauss-seidel", "stronge", "newton"] {
            expect_in(false, law, &format!("impact = \"{law}\"\n{text}"), 20, Exact);
        }
        for integrator in ["euler", "energy-momentum"] {
            expect_in(false, integrator, &format!("integrator = \"{integrator}\"\n{text}"), 20, Exact);
        }
    }
}

#[test]
fn contacts_that_push_each_other_strike_at_once() {
    // Had they come one after another, something else would have come of it: told, whatever the law.
    const EVERYTHING: &[&str] =
        &["velocity", "pose", "mass", "friction", "restitution", "gravity", "step", "placement", "shape", "inertia"];
    for (friction, restitution) in [(0.0, 0.5), (0.5, 0.5), (0.0, 1.0)] {
        let m = material(friction, restitution);
        let vee =
            [ball("a", [-0.4, 0.0], [1.0, 0.0], 0.0), ball("b", [0.0, 0.15], STILL, 0.0), ball("c", [0.0, -0.15], STILL, 0.0)].concat();
        for law in ["auto", "reflections", "gauss-seidel", "stronge", "newton"] {
            let text = format!("impact = \"{law}\"\n{WEIGHTLESS}{m}{vee}");
            expect_in(law == "auto", &format!("two at once, {law}"), &text, 40, Flagged(EVERYTHING));
        }
        let flat = block("a", [0.2, 0.2], [0.0, 0.205], [0.0, -1.0]);
        expect("a box lands flat", &format!("{WEIGHTLESS}{m}{FLOOR}{flat}"), 20, Flagged(EVERYTHING));
    }
}

#[test]
fn springs_whose_ends_meet() {
    for integrator in ["verlet", "euler", "energy-momentum"] {
        let spring = |more: &str| {
            format!(
                "integrator = \"{integrator}\"\n{WEIGHTLESS}{}[[joint]]\nkind = \"spring\"\nbetween = [\"a\", \"world\"]\nanchors = [<0, 0>, <0, 0>]\n{more}\n{}",
                ball("a", STILL, [1.0, 0.0], 0.0),
                material(0.5, 0.0)
            )
        };
        // Without a rest length the pull is a linear function of the ends, also where they meet; a rest length of 0 is a border of its own.
        let found = |text: &str| check_text(&in_space(text, false), 0, 20, 1);
        for space in [false, true] {
            let even = check_text(&in_space(&spring("stiffness = 100\nrest = 0"), space), 0, 20, 1);
            assert!(even.agreements.iter().filter(|a| a.sort != "joints").all(|a| a.error < ERROR), "{integrator}: {even:?}");
            assert_eq!(even.flagged, 0);
        }
        assert!(found(&spring("stiffness = 100\nrest = 0.1")).flagged > 0, "it pushes one way of two");
        assert!(found(&spring("stiffness = 100\nrest = 0\ndamping = 1")).flagged > 0, "it damps one way of two");
        assert!(found(&spring("stiffness = 1e6\nrest = 0")).flagged > 0, "its row has one direction of two");
    }
}

#[test]
fn limits_and_ropes_reached_at_a_step() {
    let slider = |limit: f64| {
        format!("[[joint]]\nkind = \"slider\"\nbetween = [\"a\", \"world\"]\nanchor = <0, 0>\naxis = <1, 0>\nlimits = [-1, {limit}]\n")
    };
    let rope = |more: f64| {
        format!("[[joint]]\nkind = \"rope\"\nbetween = [\"a\", \"world\"]\nanchors = [<0, 0>, <-0.5, 0>]\nlength = {}\n", 0.5 + more)
    };
    for integrator in ["verlet", "energy-momentum"] {
        // At a step's end, within a step, at the start. Afterwards it stands there without load: by gravity it has sides of its own.
        for reach in [0.1, 0.105, 0.0] {
            for joint in [slider(reach), rope(reach)] {
                let moving = ball("a", STILL, [1.0, 0.0], 0.0);
                let text = format!("integrator = \"{integrator}\"\n{WEIGHTLESS}{moving}{joint}{}", material(0.5, 0.0));
                expect("reached", &text, 20, Flagged(&["gravity"]));
            }
        }
    }
}

#[test]
fn boxes_that_stand() {
    for friction in [0.0, 0.5] {
        let m = material(friction, 0.0);
        let lower = block("a", [0.2, 0.2], [0.0, 0.1], STILL);
        expect("a box", &format!("{m}{FLOOR}{lower}"), 5, Touching);
        expect_in(false, "two boxes", &format!("{m}{FLOOR}{lower}{}", block("b", [0.2, 0.2], [0.0, 0.3], STILL)), 5, Touching);
    }
}

#[test]
fn mechanisms_in_line() {
    let rod = |name: &str, x: f64| block(name, [1.0, 0.1], [x, 0.0], STILL);
    let hinge = |a: &str, b: &str, x: f64| format!("[[joint]]\nkind = \"hinge\"\nbetween = [\"{a}\", \"{b}\"]\nanchor = <{x}, 0>\nAXIS\n");
    let m = material(0.5, 0.0);
    for integrator in ["verlet", "euler", "energy-momentum"] {
        let start = format!("integrator = \"{integrator}\"\n");
        let chain = [rod("a", 0.5), rod("b", 1.5), hinge("a", "world", 0.0), hinge("b", "a", 1.0)].concat();
        expect("a straight chain", &format!("{start}{chain}{m}"), 10, Exact);
        let upright = format!("{}{}", block("a", [0.1, 1.0], [0.0, 0.5], STILL), hinge("a", "world", 0.0));
        expect("upright", &format!("{start}{upright}{m}"), 10, Exact);
        let limited = format!("{}{}limits = [0, 1]\n", rod("a", 0.5), hinge("a", "world", 0.0));
        expect("on its limit", &format!("{start}{limited}{m}"), 5, Touching);
    }
}
