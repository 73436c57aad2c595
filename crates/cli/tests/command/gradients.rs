//! `carom grad` and `carom fit` as people and scripts meet them.

use super::folder::{Folder, err, out};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// The row of a parameter.
fn row<'a>(answer: &'a Value, list: &str, name: &str) -> &'a Value {
    answer[list].as_array().unwrap().iter().find(|row| row["parameter"] == name).unwrap_or_else(|| panic!("{name} in {answer:#}"))
}

#[test]
fn a_gradient_stands_beside_its_difference() {
    let folder = Folder::new("beside");
    let output = folder.carom(&[
        "grad",
        "chain_10",
        "--loss",
        "link_9.x^2 + link_9.y",
        "--wrt",
        "mass[link_3],gravity",
        "q[link_9].x",
        "--time",
        "0.2",
    ]);
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    for words in [
        "link_9.x^2 + link_9.y = ",
        "after 0.2 s (40 steps)",
        "central difference",
        "mass[link_3]",
        "gravity.x",
        "gravity.y",
        "q[link_9].x",
        "exact: none",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    let answer =
        folder.json(&["grad", "chain_10", "--loss", "link_9.y", "--wrt", "mass", "joint_anchor", "step", "--steps", "20", "--json"]);
    assert_eq!((&answer["exact"], &answer["steps"]), (&Value::Bool(true), &Value::from(20)));
    assert_eq!(answer["gradients"].as_array().unwrap().len(), 10 + 20 + 1);
    for row in answer["gradients"].as_array().unwrap() {
        let off = (row["gradient"].as_f64().unwrap() - row["difference"].as_f64().unwrap()).abs();
        assert!(row["relative_error"].as_f64().unwrap() < 1e-5 || off < 1e-10, "{row:#}");
    }
    let alone = folder.json(&["grad", "chain_10", "--loss", "link_9.y", "--wrt", "step", "--steps", "5", "--no-differences", "--json"]);
    assert!(alone["gradients"][0]["gradient"].is_number() && alone["gradients"][0].get("difference").is_none());
}

#[test]
fn gradients_pass_through_a_bounce() {
    let folder = Folder::new("bounce");
    // y + vy^2/(2 g) is the height of the rebound: e^2 of the drop, and 2 e h by the restitution, half of it through each body.
    let loss = "ball.y + ball.vy^2 / (2 * 9.81)";
    let answer = folder.json(&["grad", "ball_drop", "--loss", loss, "--wrt", "q[ball].y", "restitution", "--time", "0.7", "--json"]);
    for (name, wanted) in [("q[ball].y", 0.49), ("restitution[ball]", 0.7), ("restitution[ground]", 0.7)] {
        let found = row(&answer, "gradients", name)["gradient"].as_f64().unwrap();
        assert!((found - wanted).abs() < 1e-9, "{name}: {found}");
    }
}

#[test]
fn steps_at_a_switch_are_told() {
    let folder = Folder::new("switch");
    // A box that rests without load on its side: a touch that could open or close.
    folder.write(
        "touch.toml",
        "dimension = 2\ngravity = [0, 0]\n[[body]]\nkind = \"static\"\nshape = { half_space = [0, 1] }\n[[body]]\nname = \"box\"\nshape = { box = [0.2, 0.2] }\nposition = [0, 0.1]\n",
    );
    let args = ["grad", "touch.toml", "--loss", "box.y", "--wrt", "v[box].y", "--steps", "10"];
    let text = out(&folder.carom(&args));
    assert!(text.contains("one-sided") && text.contains("weak: ") && text.contains("left 0, right"), "{text}");
    let answer = folder.json(&[&args[..], &["--json"]].concat());
    assert_eq!(answer["exact"], Value::Bool(false));
    assert!(answer["switches"]["weak"]["count"].as_u64().unwrap() > 0);
    let row = &answer["gradients"][0];
    assert!(row["left_difference"].as_f64().unwrap().abs() < 1e-9 && row["right_difference"].as_f64().unwrap() > 0.01, "{row:#}");
}

#[test]
fn a_choice_at_a_switch_is_obeyed_and_named() {
    let folder = Folder::new("sides");
    folder.write(
        "touch.toml",
        "dimension = 2\ngravity = [0, 0]\nstep = 0.01\n[[body]]\nkind = \"static\"\nshape = { half_space = [0, 1] }\n[[body]]\nname = \"box\"\nshape = { box = [0.2, 0.2] }\nposition = [0, 0.1]\n",
    );
    let args = ["grad", "touch.toml", "--loss", "box.y", "--wrt", "v[box].y", "--steps", "5", "--no-differences"];
    let with = |more: &[&str]| folder.json(&[&args[..], more, &["--json"]].concat());
    for (side, wanted) in [("as-solved", 0.05), ("active", 0.0), ("inactive", 0.05), ("average", 0.025)] {
        let answer = with(&["--weak", side]);
        assert_eq!((answer["weak"].as_str(), &answer["kappa"]), (Some(side), &Value::Null));
        let found = answer["gradients"][0]["gradient"].as_f64().unwrap();
        assert!((found - wanted).abs() < 1e-12, "{side}: {found}");
    }
    let answer = with(&["--kappa", "1e-5"]);
    assert_eq!((answer["weak"].as_str(), answer["kappa"].as_f64()), (Some("smoothed"), Some(1e-5)));
    assert_eq!(answer["exact"], Value::Bool(false));
    let text = out(&folder.carom(&[&args[..], &["--kappa", "1e-5"]].concat()));
    assert!(text.contains("smoothed, kappa = 1e-5 J: ") && !text.contains("exact:"), "{text}");
    let text = out(&folder.carom(&[&args[..], &["--weak", "minnorm"]].concat()));
    assert!(text.contains("weak contacts by least squares: 20 rows at a switch"), "{text}");
    for bad in [&["--kappa", "0"][..], &["--kappa", "x"], &["--weak", "both"], &["--kappa", "1", "--weak", "active"]] {
        let refused = folder.carom(&[&args[..], bad].concat());
        assert_eq!(refused.status.code(), Some(2), "{bad:?}");
    }
}

#[test]
fn a_fit_with_smoothed_derivatives_says_so() {
    let folder = Folder::new("smoothed_fit");
    let run = folder.carom(&["run", "slip_angle_above", "--time", "0.5", "--quiet", "--out", "slide.csv"]);
    assert!(run.status.success());
    let args = ["fit", "slip_angle_above", "--data", "slide.csv", "--params", "friction[block]", "--start", "friction[block]=0.45"];
    for (more, words) in
        [(["--kappa", "1e-7"], "derivatives: smoothed, kappa = 1e-7 J"), (["--weak", "average"], "derivatives: weak contacts averaged")]
    {
        let text = out(&folder.carom(&[&args[..], &more].concat()));
        assert!(text.contains(words) && text.contains("converged"), "{text}");
        let answer = folder.json(&[&args[..], &more, &["--json"]].concat());
        assert!((answer["parameters"][0]["value"].as_f64().unwrap() - 0.5).abs() < 1e-4, "{answer:#}");
    }
}

#[test]
fn substeps_that_are_halved_are_told() {
    let folder = Folder::new("halved");
    let text = fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../scene/scenes/ball_drop.toml")).unwrap();
    folder.write("halving.toml", &format!("time_of_impact = \"halving\"\n{text}"));
    let args = ["grad", "halving.toml", "--loss", "ball.y", "--wrt", "q[ball].y", "--time", "0.7"];
    assert!(out(&folder.carom(&args)).contains("biased at impacts"));
    let answer = folder.json(&[&args[..], &["--json"]].concat());
    assert_eq!((&answer["frozen_step"], &answer["exact"]), (&Value::Bool(true), &Value::Bool(false)));
}

#[test]
fn energy_momentum_agrees_with_its_differences() {
    let folder = Folder::new("choices");
    let text = fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../scene/scenes/chain_10.toml")).unwrap();
    folder.write("em.toml", &format!("integrator = \"energy-momentum\"\n{text}"));
    let answer = folder.json(&["grad", "em.toml", "--loss", "link_1.x", "--wrt", "mass[link_1]", "--steps", "5", "--json"]);
    assert_eq!(answer["exact"], Value::Bool(true), "{answer}");
}

#[test]
fn bad_input_is_pointed_at() {
    let folder = Folder::new("bad");
    for (args, words) in [
        (&["--loss", "link_9.x +", "--wrt", "mass"][..], "loss, column 11: ends too early"),
        (&["--loss", "link_9.q", "--wrt", "mass"], "loss, column 8: unknown component \"q\""),
        (&["--loss", "link_99.x", "--wrt", "mass"], "did you mean \"link_9\"?"),
        (&["--loss", "link_9.x", "--wrt", "mas"], "did you mean \"mass\"?"),
        (&["--loss", "link_9.x", "--wrt", "mass[link9]"], "did you mean mass[link_9]?"),
        (&["--loss", "link_9.x", "--wrt", "controls"], "the scene has no controls"),
        (&["--loss", "link_9.x"], "--wrt"),
    ] {
        let output = folder.carom(&[&["grad", "chain_10"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(err(&output).contains(words), "{args:?}: {}", err(&output));
    }
    let output = folder.carom(&["grad", "chain_10", "--loss", "log(link_9.y)", "--wrt", "mass", "--steps", "0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("no finite slope"), "{}", err(&output));
    let answer: Value =
        serde_json::from_slice(&folder.carom(&["grad", "chain_10", "--loss", "x", "--wrt", "mass", "--json"]).stdout).unwrap();
    assert_eq!(answer["ok"], Value::Bool(false));
}

#[test]
fn the_mass_of_a_link_is_found_from_every_format() {
    let folder = Folder::new("mass");
    let files = ["swing.csv", "swing.npz", "swing.parquet", "swing.caromlog"];
    let run = folder.carom(&[&["run", "chain_10", "--time", "1", "--quiet", "--out"], &files[..]].concat());
    assert!(run.status.success(), "{}", err(&run));
    for file in files {
        let args = ["fit", "chain_10", "--data", file, "--params", "mass[link_3]", "--start", "mass[link_3]=0.2", "--json"];
        let answer = folder.json(&args);
        let found = row(&answer, "parameters", "mass[link_3]");
        assert!((found["value"].as_f64().unwrap() - 0.05).abs() < 1e-6, "{file}: {found:#}");
        assert!(answer["iterations"].as_u64().unwrap() < 30, "{answer:#}");
    }
    // Positions alone, velocities and rotations too, the first half of the data.
    for more in [&["--velocities"][..], &["--rotations", "--velocities"], &["--time", "0.5"]] {
        let args = ["fit", "chain_10", "--data", "swing.csv", "--params", "mass[link_3],mass[link_7]", "--start", "mass=0.1", "--json"];
        let answer = folder.json(&[&args[..], more].concat());
        for name in ["mass[link_3]", "mass[link_7]"] {
            assert!((row(&answer, "parameters", name)["value"].as_f64().unwrap() - 0.05).abs() < 1e-6, "{more:?} {answer:#}");
        }
    }
}

#[test]
fn a_fit_from_afar_comes_back_right() {
    let folder = Folder::new("afar");
    assert!(folder.carom(&["run", "chain_10", "--time", "1", "--quiet", "--out", "swing.csv"]).status.success());
    for start in ["mass[link_3]=0.1", "mass[link_3]=2"] {
        let answer = folder.json(&["fit", "chain_10", "--data", "swing.csv", "--params", "mass[link_3]", "--start", start, "--json"]);
        assert!((row(&answer, "parameters", "mass[link_3]")["value"].as_f64().unwrap() - 0.05).abs() < 1e-6, "{start}: {answer:#}");
    }
}

#[test]
fn many_motions_and_what_they_do_not_tell() {
    let folder = Folder::new("many");
    assert!(folder.carom(&["run", "slip_angle_above", "--time", "1", "--quiet", "--out", "a.csv"]).status.success());
    assert!(folder.carom(&["run", "slip_angle_above", "--time", "0.5", "--quiet", "--out", "b.csv"]).status.success());
    // Only the mean of both coefficients acts: the pair has one of its own, the bodies' are not told apart.
    let args = ["fit", "slip_angle_above", "--data", "a.csv", "b.csv", "--json", "--params"];
    let answer = folder.json(&[&args[..], &["pair_friction[block, incline]", "--start", "pair_friction[block, incline]=0.3"]].concat());
    let pair = &answer["parameters"][0];
    assert!((pair["value"].as_f64().unwrap() - 0.5).abs() < 1e-9 && answer["converged"] == true, "{answer:#}");
    let answer = folder.json(&[&args[..], &["friction", "--start", "friction[block]=0.3"]].concat());
    let words = answer["undetermined"][0]["words"].as_str().unwrap();
    assert_eq!(words, "only friction[incline] + friction[block] is determined");
    assert!(answer["parameters"][0]["half_width_95"].is_null(), "{answer:#}");
}

#[test]
fn a_noisy_slide_gives_friction_with_an_interval() {
    let folder = Folder::new("slide");
    let run = folder.carom(&["run", "slip_angle_above", "--time", "2", "--quiet", "--out", "slide.csv"]);
    assert!(run.status.success(), "{}", err(&run));
    // A camera that is off by up to a millimetre, by a fixed rule.
    let text = fs::read_to_string(folder.file("slide.csv")).unwrap();
    let mut noise = 1u64;
    let mut seen = String::from("time,body,x,y\n");
    for line in text.lines().skip(1).filter(|l| l.contains(",block,")) {
        let fields: Vec<&str> = line.split(',').collect();
        let mut off = || {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((noise >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 2e-3
        };
        let (x, y): (f64, f64) = (fields[2].parse().unwrap(), fields[3].parse().unwrap());
        seen += &format!("{},block,{},{}\n", fields[0], x + off(), y + off());
    }
    folder.write("seen.csv", &seen);
    let args = ["fit", "slip_angle_above", "--data", "seen.csv", "--params", "friction[block]", "--start", "friction[block]=0.3"];
    let answer = folder.json(&[&args[..], &["--json"]].concat());
    let found = row(&answer, "parameters", "friction[block]");
    let (value, width) = (found["value"].as_f64().unwrap(), found["half_width_95"].as_f64().unwrap());
    assert!(width > 1e-6 && width < 1e-3, "{width}");
    assert!((value - 0.5).abs() < 2.0 * width, "{value} ± {width}");
    let text = out(&folder.carom(&args));
    for words in ["   0  misfit", "friction[block] = 0.3", "fitted", "95 %", "± ", "converged"] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
}

#[test]
fn a_bank_shot_and_a_throw_find_their_targets() {
    let folder = Folder::new("aim");
    folder.write("spot.csv", "time,body,x,y\n2,cue,0.5,0\n");
    let answer = folder.json(&["fit", "bank_shot", "--data", "spot.csv", "--params", "v[cue].x", "v[cue].y", "--json"]);
    assert!(answer["misfit"].as_f64().unwrap() < 1e-9, "{answer:#}");
    folder.write("basket.csv", "time,body,x,y\n1,ball,2,0.6\n");
    let answer = folder.json(&["fit", "ball_drop", "--data", "basket.csv", "--params", "v[ball].x,v[ball].y", "--json"]);
    assert!(answer["misfit"].as_f64().unwrap() < 1e-9, "{answer:#}");
}

#[test]
fn a_fit_that_cannot_succeed_says_so() {
    let folder = Folder::new("failed");
    folder.carom(&["run", "chain_10", "--quiet", "--time", "0.3", "--out", "swing.csv"]);
    let fit = |more: &[&str]| folder.carom(&[&["fit", "chain_10", "--data", "swing.csv"], more].concat());
    // A bound that keeps the answer out: the best within it, marked.
    let output = fit(&["--params", "mass[link_3]", "--bounds", "mass[link_3]=0.06:1", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", out(&output));
    assert!(out(&output).contains("at its bound"), "{}", out(&output));
    // Friction moves nothing where nothing touches.
    let output = fit(&["--params", "friction[link_3]"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("the data do not depend on friction[link_3]"), "{}", out(&output));
    let output = fit(&["--params", "mass[link_3]", "--start", "mass[link_3]=0.5", "--iterations", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", out(&output));
    for (more, words) in [
        (&["--params", "step"][..], "the step cannot be fitted"),
        (&["--params", "mass[link_3],mass[link_3]"], "named twice"),
        (&["--params", "mass[link_3]", "--bounds", "mass[link_4]=0:1"], "not among the parameters"),
        (&["--params", "mass[link_3]", "--bounds", "mass[link_3]=1:0"], "the lower one comes first"),
        (&["--params", "mass[link_3]", "--start", "mass[link_3]=much"], "\"much\" is not a number"),
    ] {
        let output = fit(more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(err(&output).contains(words), "{more:?}: {}", err(&output));
    }
    for (text, words) in [
        ("time,body,x\n0.0025,link_1,1\n", "time 0.0025 s is not the end of a step"),
        ("time,body,x\n0.01,link_10,1\n", "no body \"link_10\" in the scene"),
        ("time,body,x\n0.01,link_1,\n", "holds nothing to compare"),
        ("time,body,z\n0.01,link_1,1\n", "is of dimension 3, the scene of 2"),
    ] {
        folder.write("odd.csv", text);
        let output = folder.carom(&["fit", "chain_10", "--data", "odd.csv", "--params", "mass[link_3]"]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(err(&output).contains(words), "{text}: {}", err(&output));
    }
}
