//! Help, runs, faults, files, exit codes.

use super::folder::{Folder, code, err, out, wait_for};
use carom::record::{Ending, Log};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};

/// A ball that bounces and a box that tumbles to rest: impacts, sliding, resting contacts.
const DROP: &str = r#"
dimension = 2
duration = 1.5
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 1] }
restitution = 0.6
[[body]]
name = "ball"
shape = { ball = 0.1 }
position = [0, 0.5]
velocity = [0.4, 0]
restitution = 0.6
[[body]]
name = "box"
shape = { box = [0.2, 0.1] }
position = [1, 0.3]
spin = 2
"#;

#[test]
fn help_and_version_name_every_command() {
    let folder = Folder::new("help");
    let help = folder.carom(&["--help"]);
    assert_eq!(code(&help), 0);
    for command in
        ["run", "check", "scenes", "schema", "prove", "reproduce", "validate", "grad", "fit", "bench", "convert", "completions", "man"]
    {
        assert!(out(&help).contains(command), "{command}");
    }
    assert!(out(&folder.carom(&["run", "--help"])).contains("--resume"));
    assert!(out(&folder.carom(&["--version"])).starts_with("carom "));
    let unknown = folder.carom(&["chek"]);
    assert_eq!(code(&unknown), 2);
    assert!(err(&unknown).contains("check"), "{}", err(&unknown));
}

#[test]
fn without_arguments_the_pool_break_runs_and_is_saved() {
    let folder = Folder::new("plain");
    let output = folder.carom(&[]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    for line in [
        "pool_break: finished at t = 2 s",
        "steps/s",
        "x real time",
        "worst residual",
        "deepest overlap",
        "impact loss",
        "drift",
        "state hash",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(err(&output).is_empty(), "no bar where nobody watches: {}", err(&output));
    assert_eq!(folder.names(), ["pool_break.caromlog"]);
    let log = Log::open(&folder.file("pool_break.caromlog")).unwrap();
    assert_eq!((log.ending(), log.len()), (&Ending::Finished, 401));
    assert!(log.header().scene.contains("cue"));
}

#[test]
fn a_run_says_in_json_what_it_did() {
    let folder = Folder::new("json");
    folder.write("drop.toml", DROP);
    let answer = folder.json(&["run", "drop.toml", "--json", "--no-out"]);
    assert_eq!((&answer["steps"], &answer["ending"], &answer["bodies"]), (&300.into(), &"finished".into(), &3.into()));
    assert!(answer["impacts"].as_u64().unwrap() > 0, "the ball bounced");
    let ledger = &answer["ledger"];
    assert!(ledger["impact_loss"].as_f64().unwrap() > 0.0);
    assert!(ledger["drift_fraction"].as_f64().unwrap().abs() < 1e-2);
    let again = folder.json(&["run", "drop.toml", "--json", "--no-out"]);
    assert_eq!(answer["hash"], again["hash"]);
    assert_eq!(folder.names(), ["drop.toml"]);
    let short = folder.json(&["run", "drop.toml", "--json", "--no-out", "--time", "0.1"]);
    assert_eq!((&short["steps"], short["time"].as_f64().map(|t| (t * 1e9).round())), (&20.into(), Some(1e8)));
    let fine = folder.json(&["run", "drop.toml", "--json", "--no-out", "--time", "0.1", "--step", "0.001"]);
    assert_eq!(fine["steps"], 100);
}

#[test]
fn a_law_can_be_chosen_and_changes_the_outcome() {
    let folder = Folder::new("law");
    let hash = |law: &str| folder.json(&["run", "newton_cradle", "--time", "1", "--json", "--no-out", "--impact", law])["hash"].clone();
    assert_eq!(hash("auto"), hash("reflections"));
    assert_ne!(hash("auto"), hash("stronge"));
    let output = folder.carom(&["run", "--impact", "neuton"]);
    assert_eq!(code(&output), 2);
    assert!(err(&output).contains("newton"), "{}", err(&output));
}

#[test]
fn a_faulty_scene_ends_with_code_2_and_every_fault_underlined() {
    let folder = Folder::new("faulty");
    folder.write("bad.toml", "dimension = 2\ngravty = [0, -1]\n[[body]]\nname = \"a\"\nshape = { ball = 1 }\nmass = -3\n");
    for command in ["run", "check"] {
        let output = folder.carom(&[command, "bad.toml"]);
        assert_eq!(code(&output), 2);
        let text = err(&output);
        for part in ["bad.toml:2:1", "gravty", "did you mean \"gravity\"", "bad.toml:6:8", "mass", "found -3", "a number > 0"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "NO_COLOR is respected");
    }
    let output = folder.carom(&["check", "bad.toml", "--json"]);
    assert_eq!(code(&output), 2);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["ok"], &answer["errors"][0]["line"], &answer["errors"][1]["key"]), (&false.into(), &2.into(), &"mass".into()));
    assert_eq!(folder.names(), ["bad.toml"], "nothing was written");
}

#[test]
fn unknown_scenes_and_promises_suggest_the_nearest() {
    let folder = Folder::new("unknown");
    for args in [&["run", "pool_brake"][..], &["check", "pool_brake"], &["scenes", "pool_brake"]] {
        let output = folder.carom(args);
        assert_eq!(code(&output), 2);
        assert!(err(&output).contains("did you mean \"pool_break\""), "{}", err(&output));
    }
    let output = folder.carom(&["prove", "rebond"]);
    assert_eq!(code(&output), 2);
    assert!(err(&output).contains("did you mean \"rebound\""));
}

#[test]
fn check_scenes_and_schema_answer() {
    let folder = Folder::new("answers");
    assert!(out(&folder.carom(&["check", "four_bar"])).contains("4 joints"));
    assert_eq!(folder.json(&["check", "four_bar", "--json"])["bodies"], 3);
    let list = folder.json(&["scenes", "--json"])["scenes"].take();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"pool_break"));
    for name in &names {
        let output = folder.carom(&["check", name]);
        assert_eq!(code(&output), 0, "{name}: {}", err(&output));
    }
    assert_eq!(out(&folder.carom(&["scenes"])).lines().count(), names.len());
    let text = out(&folder.carom(&["scenes", "pool_break"]));
    folder.write("mine.toml", &text);
    let hash = |scene: &str| folder.json(&["run", scene, "--steps", "200", "--no-out", "--json"])["hash"].clone();
    assert_eq!(hash("mine.toml"), hash("pool_break"));
    let schema: Value = serde_json::from_slice(&folder.carom(&["schema"]).stdout).unwrap();
    assert!(schema["properties"]["gravity"].is_object());
}

#[test]
fn a_scene_can_come_from_standard_input() {
    let folder = Folder::new("stdin");
    folder.write("drop.toml", DROP);
    let input = fs::File::open(folder.file("drop.toml")).unwrap();
    let output = folder.command(&["check", "-"]).stdin(input).output().unwrap();
    assert_eq!(code(&output), 0);
    assert!(out(&output).contains("3 bodies"));
}

#[test]
fn a_run_stopped_and_resumed_ends_in_the_same_bits() {
    let folder = Folder::new("resume");
    folder.write("drop.toml", DROP);
    let whole = folder.json(&["run", "drop.toml", "--json", "--out", "whole.caromlog"]);
    for stop in ["0", "1", "63", "150", "299", "300"] {
        folder.json(&["run", "drop.toml", "--json", "--out", "part.caromlog", "--steps", stop]);
        let resumed = folder.json(&["run", "--resume", "part.caromlog", "--json", "--steps", "300"]);
        assert_eq!(resumed["hash"], whole["hash"], "stopped after {stop}");
        assert_eq!(resumed["ledger"], whole["ledger"], "stopped after {stop}");
        assert_eq!((&resumed["total_steps"], &resumed["files"][0]), (&300.into(), &"part.caromlog".into()));
        let (a, b) = (Log::open(&folder.file("whole.caromlog")).unwrap(), Log::open(&folder.file("part.caromlog")).unwrap());
        assert_eq!(a.trajectory().unwrap().q, b.trajectory().unwrap().q);
    }
    // Into another file: the first stays as it was.
    folder.json(&["run", "drop.toml", "--json", "--out", "part.caromlog", "--steps", "100"]);
    let before = fs::read(folder.file("part.caromlog")).unwrap();
    let other = folder.json(&["run", "--resume", "part.caromlog", "--json", "--time", "1.5", "--out", "other.caromlog", "other.csv"]);
    assert_eq!(other["hash"], whole["hash"]);
    assert_eq!(before, fs::read(folder.file("part.caromlog")).unwrap());
    assert_eq!(fs::read_to_string(folder.file("other.csv")).unwrap().lines().count(), 1 + 301 * 3);
    // Changes made on the command line are part of the log.
    let changed = folder.json(&["run", "drop.toml", "--json", "--out", "whole.caromlog", "--step", "0.003", "--impact", "stronge"]);
    folder.json(&["run", "drop.toml", "--json", "--out", "part.caromlog", "--step", "0.003", "--impact", "stronge", "--steps", "200"]);
    let resumed = folder.json(&["run", "--resume", "part.caromlog", "--json", "--time", "1.5"]);
    assert_eq!(resumed["hash"], changed["hash"]);
}

#[test]
fn every_output_is_written_and_readable() {
    let folder = Folder::new("outputs");
    folder.write("drop.toml", DROP);
    let answer = folder.json(&["run", "drop.toml", "--steps", "20", "--json", "--out", "a.csv", "a.npz", "a.parquet"]);
    assert_eq!(folder.names(), ["a.csv", "a.energy.parquet", "a.npz", "a.parquet", "drop.toml"], "and no log that nobody asked for");
    assert_eq!(answer["files"].as_array().unwrap().len(), 4);
    let csv = fs::read_to_string(folder.file("a.csv")).unwrap();
    assert_eq!(csv.lines().next(), Some("time,body,x,y,angle,vx,vy,spin"));
    assert_eq!(csv.lines().count(), 1 + 21 * 3);
    assert!(fs::read(folder.file("a.npz")).unwrap().starts_with(b"PK\x03\x04"));
    let parquet = fs::read(folder.file("a.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    folder.json(&["run", "drop.toml", "--steps", "20", "--json", "--out", "b.caromlog"]);
    assert_eq!(code(&folder.carom(&["convert", "b.caromlog", "b.csv"])), 0);
    assert_eq!(csv, fs::read_to_string(folder.file("b.csv")).unwrap());
    assert_eq!(code(&folder.carom(&["convert", "b.caromlog", "b.toml"])), 0);
    let again = folder.json(&["run", "b.toml", "--steps", "20", "--json", "--no-out"]);
    assert_eq!(again["hash"], answer["hash"]);
}

#[test]
fn a_page_replays_a_run_and_is_the_same_however_it_was_made() {
    let folder = Folder::new("page");
    folder.write("drop.toml", DROP);
    let answer = folder.json(&["run", "drop.toml", "--steps", "40", "--json", "--out", "a.html", "a.caromlog"]);
    assert_eq!(answer["files"].as_array().map(Vec::len), Some(2), "{answer}");
    let page = fs::read_to_string(folder.file("a.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("id=\"carom-run\""));
    assert_eq!(code(&folder.carom(&["convert", "a.caromlog", "b.html"])), 0);
    assert!(page == fs::read_to_string(folder.file("b.html")).unwrap(), "the steps are taken again to the same bits");
    folder.json(&["run", "drop.toml", "--steps", "15", "--json", "--out", "c.caromlog"]);
    folder.json(&["run", "--resume", "c.caromlog", "--steps", "40", "--json", "--out", "c.html"]);
    assert!(page == fs::read_to_string(folder.file("c.html")).unwrap(), "a resumed run shows its past too");
}

#[test]
fn paths_that_cannot_be_written_are_told_before_the_run() {
    let folder = Folder::new("unwritable");
    folder.write("drop.toml", DROP);
    for (path, expected) in [("no/such/folder/a.csv", 1), ("a.xlsx", 2), ("a", 2), ("no/such/folder/a.html", 1)] {
        let output = folder.carom(&["run", "drop.toml", "--time", "1e9", "--out", path]);
        assert_eq!(code(&output), expected, "{path}");
        assert!(err(&output).contains(path), "{}", err(&output));
    }
    fs::create_dir(folder.file("folder.csv")).unwrap();
    assert_eq!(code(&folder.carom(&["run", "drop.toml", "--time", "1e9", "--out", "folder.csv"])), 1);
    assert_eq!(code(&folder.carom(&["run", "drop.toml", "--out", "b.csv", "b.csv"])), 2);
    assert_eq!(folder.names(), ["drop.toml", "folder.csv"], "not even a part is left");
}

/// A log of the engine's first physics: twelve steps of a ball that falls on a floor.
const OLD_LOG: &[u8] = include_bytes!("data/physics_1.caromlog");

#[test]
fn an_old_log_is_replayed_and_refused_for_resuming_with_the_reason() {
    let folder = Folder::new("old");
    fs::write(folder.file("old.caromlog"), OLD_LOG).unwrap();
    folder.json(&["convert", "old.caromlog", "old.csv", "--json"]);
    let table = fs::read_to_string(folder.file("old.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 13 * 2, "thirteen frames of two bodies");
    folder.json(&["convert", "old.caromlog", "old.svg", "--json"]);
    for out in [&[][..], &["--out", "new.caromlog"]] {
        let output = folder.carom(&[&["run", "--resume", "old.caromlog", "--steps", "20"], out].concat());
        assert_eq!(code(&output), 2);
        assert!(err(&output).contains("version 1 of the physics") && err(&output).contains("not resumed"), "{}", err(&output));
    }
    assert_eq!(fs::read(folder.file("old.caromlog")).unwrap(), OLD_LOG, "it is as it was");
    assert!(!folder.file("new.caromlog").exists());
}

#[test]
fn a_start_that_is_wrong_is_named_and_put_right() {
    let folder = Folder::new("wrong");
    let text = "dimension = 2\nstep = 0.01\n[[body]]\nname = \"arm\"\nshape = { box = [1, 0.1] }\n[[joint]]\nname = \"elbow\"\nkind = \"hinge\"\n\
                between = [\"arm\", \"world\"]\nanchor = [-0.5, 0]\nlimits = [0.5, 1.2]\n[[body]]\nname = \"ball\"\nshape = { ball = 0.1 }\n\
                position = [3, 0]\n[[body]]\nname = \"other\"\nshape = { ball = 0.1 }\nposition = [3.15, 0]\n";
    folder.write("wrong.toml", text);
    let said = out(&folder.carom(&["check", "wrong.toml"]));
    for words in ["\"elbow\" at 0 rad is beyond its limits [0.5, 1.2] by 0.5 rad", "\"ball\" and \"other\" overlap by 0.05 m", "put right"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let facts = folder.json(&["check", "wrong.toml", "--json"]);
    assert_eq!(facts["start_notes"].as_array().unwrap().len(), 3);
    // The arm is turned by 0.5 rad about its end: up by sin(0.5)/2 of its mass, a tenth of the density of 1000.
    let lifted = 100.0 * 9.81 * 0.5 * 0.5f64.sin();
    assert!((facts["start_energy"].as_f64().unwrap() - lifted).abs() < 1e-6 * lifted, "{facts}");
    assert!((facts["start_turn"].as_f64().unwrap() - 0.5).abs() < 1e-9, "{facts}");
    let summary = folder.json(&["run", "wrong.toml", "--steps", "5", "--no-out", "--json"]);
    assert!(summary["start_notes"][0].as_str().unwrap().contains("elbow"), "{summary}");
    assert!(summary["flags"].as_array().unwrap().iter().any(|flag| flag == "the start was put right"), "{summary}");
    assert!(out(&folder.carom(&["run", "wrong.toml", "--steps", "5", "--no-out"])).contains("is beyond its limits"));
    // Welded to the world besides, nothing brings it there.
    folder.write("stuck.toml", &(text.to_string() + "[[joint]]\nname = \"splint\"\nkind = \"weld\"\nbetween = [\"arm\", \"world\"]\n"));
    let output = folder.carom(&["check", "stuck.toml"]);
    assert_eq!(code(&output), 2);
    assert!(err(&output).contains("elbow") && err(&output).contains("cannot be"), "{}", err(&output));
}

#[test]
fn a_damaged_log_is_refused_or_read_as_far_as_it_goes() {
    let folder = Folder::new("damaged");
    folder.write("drop.toml", DROP);
    let whole = folder.json(&["run", "drop.toml", "--json", "--out", "a.caromlog"]);
    let bytes = fs::read(folder.file("a.caromlog")).unwrap();
    fs::write(folder.file("cut.caromlog"), &bytes[..bytes.len() - 40]).unwrap();
    let resumed = folder.json(&["run", "--resume", "cut.caromlog", "--json"]);
    assert_eq!(resumed["hash"], whole["hash"]);
    assert!(resumed["steps"].as_u64().unwrap() < 300, "most of it was there");
    for (length, what) in [(0, "not a carom log"), (10, "cut short"), (60, "damaged")] {
        fs::write(folder.file("cut.caromlog"), &bytes[..length]).unwrap();
        let output = folder.carom(&["run", "--resume", "cut.caromlog"]);
        assert_eq!(code(&output), 2);
        assert!(err(&output).contains(what), "{length}: {}", err(&output));
    }
    assert_eq!(code(&folder.carom(&["run", "--resume", "absent.caromlog"])), 2);
    assert_eq!(code(&folder.carom(&["run", "--resume", "drop.toml"])), 2);
}

#[test]
fn a_promise_is_kept_and_told() {
    let folder = Folder::new("prove");
    let output = folder.carom(&["prove", "rebound"]);
    assert_eq!(code(&output), 0, "{}", out(&output));
    assert!(out(&output).contains("0.49") && out(&output).contains("yes"));
    let answer = folder.json(&["prove", "cradle", "--json"]);
    assert_eq!((&answer["ok"], &answer["promises"][0]["pass"]), (&true.into(), &true.into()));
}

#[test]
fn every_promise_is_kept() {
    let output = Folder::new("prove-all").carom(&["prove"]);
    assert_eq!(code(&output), 0, "{}", out(&output));
}

#[cfg(unix)]
mod signals {
    use super::*;
    use std::io::{BufRead, BufReader, Read};

    fn signal(name: &str, pid: u32) {
        assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
    }

    /// Waits until the part of a log holds something worth stopping for.
    fn wait_for_part(folder: &Folder) {
        let part = folder.file("run.caromlog.part");
        wait_for(|| Log::open(&part).is_ok_and(|log| log.resumable_at().is_some_and(|s| s > 1000)));
    }

    #[test]
    fn ctrl_c_saves_what_was_computed_and_it_can_be_resumed() {
        let folder = Folder::new("ctrl-c");
        let args = ["run", "double_pendulum", "--time", "1e6", "--json", "--out", "run.caromlog", "run.csv"];
        let child = folder.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_part(&folder);
        signal("-INT", child.id());
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{}", err(&output));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["ending"], "stopped");
        let steps = answer["total_steps"].as_u64().unwrap();
        assert_eq!(folder.names(), ["run.caromlog", "run.csv"]);
        let log = Log::open(&folder.file("run.caromlog")).unwrap();
        assert_eq!((log.ending(), log.len(), log.resumable_at()), (&Ending::Stopped, steps + 1, Some(steps)));
        let more = (steps + 100).to_string();
        let resumed = folder.json(&["run", "--resume", "run.caromlog", "--steps", &more, "--json"]);
        let whole = folder.json(&["run", "double_pendulum", "--steps", &more, "--json", "--no-out"]);
        assert_eq!(resumed["hash"], whole["hash"]);
    }

    #[test]
    fn a_killed_run_leaves_a_part_that_can_be_resumed() {
        let folder = Folder::new("killed");
        let mut child = folder.command(&["run", "double_pendulum", "--time", "1e6", "--out", "run.caromlog"]).spawn().unwrap();
        wait_for_part(&folder);
        signal("-KILL", child.id());
        child.wait().unwrap();
        assert_eq!(folder.names(), ["run.caromlog.part"]);
        let steps = Log::open(&folder.file("run.caromlog.part")).unwrap().resumable_at().unwrap() + 10;
        let resumed = folder.json(&["run", "--resume", "run.caromlog.part", "--steps", &steps.to_string(), "--json"]);
        assert_eq!(folder.names(), ["run.caromlog"]);
        let whole = folder.json(&["run", "double_pendulum", "--steps", &steps.to_string(), "--json", "--no-out"]);
        assert_eq!(resumed["hash"], whole["hash"]);
    }

    #[test]
    fn two_runs_do_not_write_one_file() {
        let folder = Folder::new("busy");
        let mut child = folder.command(&["run", "double_pendulum", "--time", "1e6", "--quiet", "--out", "run.caromlog"]).spawn().unwrap();
        wait_for_part(&folder);
        let second = folder.carom(&["run", "double_pendulum", "--out", "run.caromlog"]);
        assert_eq!(code(&second), 1);
        assert!(err(&second).contains("another run is writing it"));
        signal("-TERM", child.id());
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_reader_that_leaves_does_no_harm() {
        let folder = Folder::new("pipe");
        let mut child = folder.command(&["schema"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let status = child.wait().unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(status.success() && said.is_empty(), "{status} {said}");
    }
}
