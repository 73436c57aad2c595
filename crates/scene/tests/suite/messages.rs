//! Broken scenes and what is said about them, word for word. `CAROM_BLESS=1` writes the messages anew.

use carom_scene::from_toml_all;
use std::path::PathBuf;

const HEAD: &str = "dimension = 2\n[[body]]\nname = \"cue\"\nshape = { ball = 0.1 }\n";
const HEAD3: &str = "dimension = 3\n[[body]]\nname = \"rod\"\nshape = { box = [1, 1, 1] }\n";

/// Name of the case and its text.
fn cases() -> Vec<(&'static str, String)> {
    let plane = |rest: &str| format!("{HEAD}{rest}");
    let space = |rest: &str| format!("{HEAD3}{rest}");
    vec![
        ("unknown key", plane("mas = 1\n")),
        ("word of another engine", plane("type = \"static\"\n")),
        ("unknown top key", "dimension = 2\ngravty = [0, 0]\n".into()),
        ("no dimension", "step = 0.1\n".into()),
        ("bad dimension", "dimension = 4\n".into()),
        ("not TOML", "dimension = 2\n[[body]\n".into()),
        ("duplicate key", "dimension = 2\ndimension = 3\n".into()),
        ("wrong type", plane("mass = \"heavy\"\n")),
        ("out of range", plane("mass = -1\n")),
        ("not a number", plane("velocity = [nan, 0]\n")),
        ("infinite", plane("position = [inf, 0]\n")),
        ("wrong length", plane("position = [1, 2, 3]\n")),
        ("space key in the plane", plane("rotation = [1, 0, 0, 0]\n")),
        ("plane key in space", space("angle = 1\n")),
        ("restitution above 1", plane("restitution = 1.5\n")),
        ("mass and density", plane("mass = 1\ndensity = 2\n")),
        ("two bodies of one name", plane("[[body]]\nname = \"cue\"\nshape = { ball = 1 }\n")),
        ("name of the world", "dimension = 2\n[[body]]\nname = \"world\"\nshape = { ball = 1 }\n".into()),
        ("unknown material", "dimension = 2\n[materials.ivory]\n[[body]]\nshape = { ball = 1 }\nmaterial = \"ivry\"\n".into()),
        ("no material at all", plane("material = \"ivory\"\n")),
        ("two shapes in one", "dimension = 2\n[[body]]\nshape = { ball = 1, box = [1, 1] }\n".into()),
        ("no shape", "dimension = 2\n[[body]]\nshape = { at = [1, 1] }\n".into()),
        ("unknown shape", "dimension = 2\n[[body]]\nshape = { circle = 1 }\n".into()),
        ("shape of space", "dimension = 2\n[[body]]\nshape = { cylinder = [1, 1] }\n".into()),
        ("flat hull", "dimension = 2\n[[body]]\nshape = { convex = [[0, 0], [1, 1], [2, 2]] }\n".into()),
        ("dynamic half-space", "dimension = 2\n[[body]]\nshape = { half_space = [0, 1] }\n".into()),
        ("normal of zeros", "dimension = 2\n[[body]]\nkind = \"static\"\nshape = { half_space = [0, 0] }\n".into()),
        ("mesh file in a text", "dimension = 3\n[[body]]\nkind = \"static\"\nshape = { mesh = \"hill.obj\" }\n".into()),
        (
            "mesh index",
            "dimension = 3\n[[body]]\nkind = \"static\"\nshape = { mesh = { points = [[0, 0, 0]], faces = [[0, 1, 2]] } }\n".into(),
        ),
        (
            "mesh that is not convex",
            format!(
                "dimension = 3\n[[body]]\nshape = {{ mesh = {{ points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 1], [0.2, 0.2, 0.1]], faces = {} }} }}\n",
                "[[0, 2, 1], [0, 1, 4], [1, 2, 4], [2, 0, 4], [0, 1, 3]]"
            ),
        ),
        ("placed shape", "dimension = 2\n[[body]]\nshape = [{ ball = 1 }, { ball = 0.1, at = [1] }]\n".into()),
        ("point without mass", "dimension = 2\n[[body]]\nposition = [0, 1]\n".into()),
        ("point without inertia", "dimension = 2\n[[body]]\nmass = 1\n".into()),
        ("inertia not definite", "dimension = 3\n[[body]]\nmass = 1\ninertia = [[1, 2, 0], [2, 1, 0], [0, 0, 1]]\n".into()),
        ("inertia not symmetric", "dimension = 3\n[[body]]\nmass = 1\ninertia = [[1, 2, 0], [0, 1, 0], [0, 0, 1]]\n".into()),
        ("moving static", plane("kind = \"static\"\nvelocity = [1, 0]\n")),
        ("axis of space", plane("locked = [\"x\", \"z\"]\n")),
        ("colour", plane("color = \"red\"\n")),
        ("one bracket", "dimension = 2\n[body]\nshape = { ball = 1 }\n".into()),
        ("unknown law", "dimension = 2\nimpact = \"reflection\"\n".into()),
        ("order without gauss-seidel", "dimension = 2\nimpact = { law = \"stronge\", order = \"cyclic\" }\n".into()),
        ("seed without random", "dimension = 2\nimpact = { law = \"gauss-seidel\", seed = 1 }\n".into()),
        ("unknown solver", "dimension = 2\nsolver = \"articulate\"\n".into()),
        ("unknown integrator", "dimension = 2\nintegrator = \"energy\"\n".into()),
        ("forward without verlet", "dimension = 3\nintegrator = \"euler\"\ngyroscopic = \"forward\"\n".into()),
        (
            "rebound of a mean velocity",
            "dimension = 2\nintegrator = \"energy-momentum\"\nimpact = \"newton\"\ntime_of_impact = \"halving\"\n".into(),
        ),
        ("stabilisation of verlet", "dimension = 2\nstabilisation = \"velocity\"\n".into()),
        ("literal halving of verlet", "dimension = 2\ntime_of_impact = \"halving-literal\"\n".into()),
        ("unknown rule", "dimension = 2\ncombine = { friction = \"geometrc\" }\n".into()),
        ("inserted pyramids", "dimension = 3\nsolver = \"articulated\"\nfriction_cone = 8\n".into()),
        ("odd pyramid", "dimension = 3\nfriction_cone = 5\n".into()),
        ("tolerances out of order", "dimension = 2\n[tolerances]\nslop = 0.1\n".into()),
        ("unknown tolerance", "dimension = 2\n[tolerances]\nslopp = 0.1\n".into()),
        ("unknown body in a joint", plane("[[joint]]\nkind = \"hinge\"\nbetween = [\"cu\", \"world\"]\nanchor = [0, 0]\n")),
        ("joint without anchor", plane("[[joint]]\nname = \"hip\"\nkind = \"hinge\"\nbetween = [\"cue\", \"world\"]\n")),
        ("joint with too much", plane("[[joint]]\nkind = \"hinge\"\nbetween = [\"cue\", \"world\"]\nanchor = [0, 0]\naxis = [1, 0]\n")),
        ("joint of space", plane("[[joint]]\nkind = \"universal\"\nbetween = [\"cue\", \"world\"]\nanchor = [0, 0]\n")),
        ("joint to itself", plane("[[joint]]\nkind = \"hinge\"\nbetween = [\"cue\", \"cue\"]\nanchor = [0, 0]\n")),
        (
            "joint of the immovable",
            plane("kind = \"static\"\n[[joint]]\nkind = \"hinge\"\nbetween = [\"cue\", \"world\"]\nanchor = [0, 0]\n"),
        ),
        (
            "axes not perpendicular",
            space("[[joint]]\nkind = \"universal\"\nbetween = [\"rod\", \"world\"]\nanchor = [0, 0, 0]\naxes = [[1, 0, 0], [1, 1, 0]]\n"),
        ),
        ("limits upside down", plane("[[joint]]\nkind = \"hinge\"\nbetween = [\"cue\", \"world\"]\nanchor = [0, 0]\nlimits = [1, -1]\n")),
        (
            "two motors",
            plane(
                "[[joint]]\nkind = \"hinge\"\nbetween = [\"cue\", \"world\"]\nanchor = [0, 0]\nmotor = { velocity = 1, position = 1, max = 1 }\n",
            ),
        ),
        (
            "motor without limit",
            plane("[[joint]]\nkind = \"hinge\"\nbetween = [\"cue\", \"world\"]\nanchor = [0, 0]\nmotor = { velocity = 1 }\n"),
        ),
        ("motor without aim", plane("[[joint]]\nkind = \"hinge\"\nbetween = [\"cue\", \"world\"]\nanchor = [0, 0]\nmotor = { max = 1 }\n")),
        ("self outside a repeat", plane("[[joint]]\nkind = \"hinge\"\nbetween = [\"self\", \"world\"]\nanchor = [0, 0]\n")),
        (
            "pair twice",
            plane(
                "[[body]]\nname = \"b\"\nshape = { ball = 1 }\n[[pair]]\nbetween = [\"b\", \"cue\"]\nfriction = 0\n[[pair]]\nbetween = [\"cue\", \"b\"]\nfriction = 1\n",
            ),
        ),
        ("silent pair", plane("[[pair]]\nbetween = [\"cue\", \"cue\"]\n")),
        ("force on the immovable", plane("kind = \"static\"\n[[force]]\nbody = \"cue\"\nforce = [1, 0]\n")),
        ("force that ends first", plane("[[force]]\nbody = \"cue\"\nforce = [1, 0]\nfrom = 2\nuntil = 1\n")),
        ("force of nothing", plane("[[force]]\nbody = \"cue\"\n")),
        ("too many", "dimension = 2\n[[repeat]]\ncount = [100000, 100000]\noffset = [1, 1]\nbody = { shape = { ball = 1 } }\n".into()),
        (
            "rack without rows",
            "dimension = 2\n[[repeat]]\ncount = 5\npattern = \"triangle\"\noffset = [1, 1]\nbody = { shape = { ball = 1 } }\n".into(),
        ),
        (
            "fault in a repeat",
            "dimension = 2\n[[repeat]]\ncount = 5\noffset = [1, 1]\nbody = { name = \"b\", shape = { ball = 0 } }\n".into(),
        ),
        (
            "across in a row",
            "dimension = 2\n[[repeat]]\ncount = 5\noffset = [1, 1]\nbody = { shape = { ball = 1 } }\n\
             joint = { kind = \"weld\", between = [\"self\", \"across\"] }\n"
                .into(),
        ),
        ("turned grid", "dimension = 2\n[[repeat]]\ncount = [5, 5]\noffset = [1, 1]\nturn = 0.1\nbody = { shape = { ball = 1 } }\n".into()),
        ("several faults", plane("mas = 1\nvelocty = [0, 0]\n[[joint]]\nkind = \"hing\"\nbetween = [\"cue\"]\n")),
    ]
}

#[test]
fn messages_are_as_recorded() {
    let mut said = String::new();
    for (name, text) in cases() {
        let errors = from_toml_all(&text, "scene.toml").err().unwrap_or_else(|| panic!("{name}: no error"));
        said.push_str(&format!("# {name}\n{errors}\n\n"));
        for error in errors.iter() {
            assert!(error.span.start <= error.span.end && error.span.end <= text.len(), "{name}: {:?}", error.span);
            let line = text.lines().nth(error.line - 1).unwrap_or("");
            assert!(error.column <= line.chars().count() + 1, "{name}: column {} of {line:?}", error.column);
        }
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/suite/messages.txt");
    if std::env::var_os("CAROM_BLESS").is_some() {
        std::fs::write(&path, &said).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    for (now, then) in said.split("\n\n").zip(recorded.split("\n\n")) {
        assert_eq!(now, then);
    }
    assert_eq!(said.len(), recorded.len(), "a case came or went: record again with CAROM_BLESS=1");
}

#[test]
fn the_brief_form_of_an_error() {
    let text = "dimension = 2\n\n[[body]]\nname = \"cue\"\n  mas = 1\n";
    let error = carom_scene::from_toml(text, "scene.toml").unwrap_err();
    assert!(
        error.to_string().starts_with(
            "scene.toml:5:3: body \"cue\", key \"mas\": unknown key; did you mean \"mass\"? allowed: name, kind, shape, mass, "
        )
    );
    assert_eq!(&text[error.span.clone()], "mas");
    assert_eq!((error.part.as_str(), error.key.as_str(), error.nearest.as_deref()), ("body \"cue\"", "mas", Some("mass")));
}

#[test]
fn a_missing_file_is_an_error_that_names_it() {
    let error = carom_scene::load("/no/such/scene.toml").unwrap_err();
    assert!(error.to_string().starts_with("/no/such/scene.toml:1:1: scene: cannot be read"), "{error}");
}
