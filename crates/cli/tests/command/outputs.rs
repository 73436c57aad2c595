//! Every scene to every ending; colours, pipes, full disks and signals.

use super::folder::{Folder, wait_for};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn full() -> bool {
    std::env::var_os("CAROM_FULL").is_some_and(|v| v == "1")
}

/// Files of a run and how they begin.
const ENDINGS: [(&str, &[u8]); 9] = [
    ("a.caromlog", b"\x89CAROM\r\n"),
    ("a.csv", b"time,body,x,"),
    ("a.npz", b"PK\x03\x04"),
    ("a.parquet", b"PAR1"),
    ("a.energy.parquet", b"PAR1"),
    ("a.mcap", b"\x89MCAP0\r\n"),
    ("a.gif", b"GIF89a"),
    ("a.png", b"\x89PNG\r\n"),
    ("a.svg", b"<svg "),
];

#[test]
fn every_scene_can_be_saved_to_every_ending() {
    /// Steps of the short form: a start, a few steps, an end.
    const STEPS: &str = "4";
    let folder = Folder::unasked("every");
    let scenes: Value = serde_json::from_slice(&folder.carom(&["scenes", "--json"]).stdout).unwrap();
    let scenes = scenes["scenes"].as_array().unwrap().clone();
    assert!(scenes.len() > 50);
    for scene in &scenes {
        let name = scene["name"].as_str().unwrap();
        // The longest chain takes minutes in tables; the short form takes it through all the same.
        let short = !full() || name == "chain_10000";
        let mut args = vec!["run", name, "--json", "--size", "64", "--out"];
        args.extend(ENDINGS.iter().map(|(file, _)| *file).filter(|file| *file != "a.energy.parquet"));
        if short {
            args.extend(["--steps", STEPS]);
        }
        let output = folder.carom(&args);
        assert!(output.status.success(), "{name}: {}", err(&output));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["files"].as_array().unwrap().len(), ENDINGS.len(), "{name}");
        for (file, start) in ENDINGS {
            let bytes = fs::read(folder.file(file)).unwrap();
            assert!(bytes.starts_with(start), "{name}: {file}");
        }
        assert!(fs::read_to_string(folder.file("a.svg")).unwrap().ends_with("</svg>\n"), "{name}");
        assert_eq!(fs::read(folder.file("a.gif")).unwrap().last(), Some(&b';'), "{name}");
        assert_eq!(folder.names().len(), ENDINGS.len(), "{name}: {:?}", folder.names());
    }
}

#[test]
fn a_log_becomes_a_picture_afterwards() {
    let folder = Folder::unasked("convert");
    assert!(folder.carom(&["run", "newton_cradle", "--time", "0.2", "-q", "--out", "a.caromlog", "a.png"]).status.success());
    let output = folder.carom(&["convert", "a.caromlog", "b.png", "--json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["ok"], &answer["files"][0]), (&true.into(), &"b.png".into()));
    assert_eq!(fs::read(folder.file("a.png")).unwrap(), fs::read(folder.file("b.png")).unwrap());
    for bad in [&["--size", "0"][..], &["--frames", "0"], &["--fps", "1000"], &["--speed", "-1"], &["--theme", "pink"]] {
        let output = folder.carom(&[&["convert", "a.caromlog", "c.png"], bad].concat());
        assert_eq!(output.status.code(), Some(2), "{bad:?}");
    }
    assert_eq!(folder.names(), ["a.caromlog", "a.png", "b.png"]);
}

#[test]
fn json_is_one_object_even_for_bad_arguments() {
    let folder = Folder::unasked("json");
    for args in [
        &["scenes", "--json"][..],
        &["scenes", "ball_drop", "--json"],
        &["schema", "--json"],
        &["check", "ball_drop", "--json"],
        &["check", "no_such_scene", "--json"],
        &["man", "run", "--json"],
        &["man", "rn", "--json"],
        &["completions", "fish", "--json"],
        &["bench", "ball_drop", "corner", "--seconds", "0.01", "--json"],
        &["bench", "no_such_scene", "--json"],
        &["run", "ball_drop", "--no-out", "--steps", "3", "--json"],
        &["run", "ball_drop", "--no-such-option", "--json"],
        &["convert", "absent.caromlog", "a.csv", "--json"],
    ] {
        let output = folder.command(args).env("CLICOLOR_FORCE", "1").output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}"));
        assert!(answer.is_object(), "{args:?}");
        if args[0] != "schema" {
            assert_eq!(answer["ok"].as_bool(), Some(output.status.success()), "{args:?}");
        }
    }
}

#[test]
fn a_bench_has_time_and_accuracy() {
    let folder = Folder::unasked("bench");
    let output = folder.carom(&["bench", "pool_break", "four_bar", "--seconds", "0.05", "--json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let scenes = answer["scenes"].as_array().unwrap();
    assert_eq!((scenes.len(), &answer["complete"]), (2, &true.into()));
    for scene in scenes {
        assert!(scene["us_least"].as_f64().unwrap() > 0.0 && scene["us_middle"].as_f64() >= scene["us_least"].as_f64());
        assert!(scene["residual"].as_f64().unwrap() < 1e-6 && scene["joint_error"].as_f64().unwrap() < 1e-9);
    }
    let text = String::from_utf8(folder.carom(&["bench", "ball_drop", "--seconds", "0.01"]).stdout).unwrap();
    assert!(text.contains("us/step") && text.contains("ball_drop") && text.contains("drift"), "{text}");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let folder = Folder::unasked("manual");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = String::from_utf8(folder.carom(&["completions", shell]).stdout).unwrap();
        assert!(text.contains("convert") && text.contains("prove"), "{shell}");
    }
    let text = String::from_utf8(folder.carom(&["man"]).stdout).unwrap();
    assert!(text.contains(".TH carom 1") && text.contains("bench"), "{text}");
    let text = String::from_utf8(folder.carom(&["man", "run"]).stdout).unwrap();
    assert!(text.contains("resume") && text.contains("trails"));
}

#[test]
fn completions_know_the_embedded_scenes() {
    let folder = Folder::unasked("completions");
    for shell in ["bash", "zsh", "fish"] {
        let text = String::from_utf8(folder.carom(&["completions", shell]).stdout).unwrap();
        assert!(text.contains("pool_break strandbeest") || text.contains("pool_break pool_break_real"), "{shell}");
        std::fs::write(folder.file(shell), text).unwrap();
    }
    let zsh = std::fs::read_to_string(folder.file("zsh")).unwrap();
    assert!(zsh.contains("_files") && zsh.contains("standard input:_carom_scene'"), "files are offered beside names");
    // As the shell itself asks for them; a word that is no name is left to the completion of files.
    let ask = |words: &str, at: u32| {
        let script = format!(
            "source ./bash; COMP_WORDS=({words}); COMP_CWORD={at}; _carom carom \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{at}-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        std::process::Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder.file("."))
            .output()
            .map(|o| String::from_utf8(o.stdout).unwrap())
    };
    let Ok(found) = ask("carom run pool", 2) else { return };
    assert_eq!(found.trim(), "pool_break pool_break_real");
    assert_eq!(ask("carom view newt", 2).unwrap().trim(), "newton_cradle");
    assert_eq!(ask("carom run ./mine", 2).unwrap().trim(), "");
}

#[test]
fn colours_come_only_where_they_are_wanted() {
    let folder = Folder::unasked("color");
    let escapes = |set: &[(&str, &str)], args: &[&str]| {
        let output = folder.command(args).envs(set.iter().copied()).output().unwrap();
        output.stdout.contains(&0x1b) || output.stderr.contains(&0x1b)
    };
    for args in [&["scenes"][..], &["check", "no_such_scene"], &["bench", "ball_drop", "--seconds", "0.01"]] {
        assert!(!escapes(&[], args), "{args:?} to a pipe");
        assert!(escapes(&[("CLICOLOR_FORCE", "1")], args), "{args:?} forced");
        assert!(!escapes(&[("NO_COLOR", "1")], args), "{args:?} refused");
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::process::Child;

    /// Whether a process listens for SIGINT.
    fn listens(child: &Child) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let mask = status.lines().find_map(|l| l.strip_prefix("SigCgt:")).map_or(0, |m| u64::from_str_radix(m.trim(), 16).unwrap_or(0));
        mask & 2 != 0
    }

    fn interrupt(child: &Child) {
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    }

    #[test]
    fn ctrl_c_ends_every_long_command_with_what_it_has() {
        let folder = Folder::unasked("ctrl-c");
        assert!(folder.carom(&["run", "chain_100", "--time", "1", "-q", "--out", "seen.csv"]).status.success());
        for args in [
            &["bench", "--seconds", "20", "--json"][..],
            &["prove", "--json"],
            &["grad", "chain_100", "--loss", "link_50.y", "--wrt", "mass", "--time", "1", "--json"],
            &["fit", "chain_100", "--data", "seen.csv", "--params", "mass[link_3]", "--start", "mass[link_3]=2", "--json"],
        ] {
            let child = folder.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            wait_for(|| listens(&child));
            interrupt(&child);
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(130), "{args:?}: {}", err(&output));
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}"));
            assert_eq!(answer["ok"], false, "{args:?}");
        }
    }

    #[test]
    fn ctrl_c_while_drawing_keeps_the_run() {
        let folder = Folder::unasked("drawing");
        fs::write(folder.file("run.gif"), "earlier").unwrap();
        // Far more frames than are drawn before the signal comes: it comes when the log is finished.
        let args = ["run", "trike", "--time", "2", "--fps", "50", "--size", "1600", "--json", "--out", "run.gif"];
        let child = folder.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(|| folder.file("run.gif.caromlog").exists());
        interrupt(&child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", err(&output));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&answer["ending"], &answer["files"][0]), (&"finished".into(), &"run.gif.caromlog".into()));
        assert_eq!(folder.names(), ["run.gif", "run.gif.caromlog"]);
        assert_eq!(fs::read_to_string(folder.file("run.gif")).unwrap(), "earlier");
    }

    #[test]
    fn a_killed_run_leaves_earlier_files_as_they_were() {
        let folder = Folder::unasked("killed");
        for file in ["run.gif", "run.csv"] {
            fs::write(folder.file(file), "earlier").unwrap();
        }
        let args = ["run", "double_pendulum", "--time", "1e6", "--out", "run.gif", "run.csv"];
        let mut child = folder.command(&args).stderr(Stdio::null()).spawn().unwrap();
        wait_for(|| fs::metadata(folder.file("run.gif.caromlog.part")).is_ok_and(|m| m.len() > 100_000));
        child.kill().unwrap();
        child.wait().unwrap();
        for file in ["run.gif", "run.csv"] {
            assert_eq!(fs::read_to_string(folder.file(file)).unwrap(), "earlier");
        }
    }

    #[test]
    fn a_reader_that_leaves_is_no_failure() {
        let folder = Folder::unasked("pipe");
        for args in [&["scenes"][..], &["man"], &["completions", "zsh"], &["scenes", "strandbeest"]] {
            let mut child = folder.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let status = child.wait().unwrap();
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            assert!(status.success() && said.is_empty(), "{args:?}: {status} {said}");
        }
    }

    #[test]
    fn a_full_device_is_told() {
        let folder = Folder::unasked("full");
        for args in [&["scenes"][..], &["schema"], &["man"], &["run", "ball_drop", "--no-out", "--steps", "3"]] {
            let sink = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let output = folder.command(args).stdout(sink).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{args:?}");
            assert!(err(&output).contains("No space left"), "{args:?}: {}", err(&output));
        }
        // A device is no place for a file that is renamed into place.
        std::os::unix::fs::symlink("/dev/full", folder.file("a.csv")).unwrap();
        let output = folder.carom(&["run", "ball_drop", "--time", "1e9", "--out", "a.csv"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(err(&output).contains("not a regular file"), "{}", err(&output));
    }

    /// A file system of a few pages; none where we may not mount.
    struct Tiny(PathBuf);

    impl Tiny {
        fn mount(folder: &Folder, size: &str) -> Option<Tiny> {
            let path = folder.file("tiny");
            fs::create_dir_all(&path).unwrap();
            let option = format!("size={size}");
            let mounted =
                Command::new("mount").args(["-t", "tmpfs", "-o", &option, "carom-tiny"]).arg(&path).stderr(Stdio::null()).status();
            mounted.is_ok_and(|s| s.success()).then_some(Tiny(path))
        }
    }

    impl Drop for Tiny {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(&self.0).status();
        }
    }

    #[test]
    fn a_full_disk_leaves_no_half_files() {
        let folder = Folder::unasked("disk");
        // Too small for the log; then large enough for the log but not for what is made of it.
        for (size, time) in [("32k", "20"), ("160k", "1")] {
            let Some(tiny) = Tiny::mount(&folder, size) else {
                eprintln!("not allowed to mount: the full disk is not tested");
                return;
            };
            fs::write(tiny.0.join("a.csv"), "earlier").unwrap();
            let args = ["run", "chain_10", "--time", time, "--out", "tiny/a.caromlog", "tiny/a.csv", "tiny/a.gif", "--size", "600"];
            let output = folder.carom(&args);
            assert_eq!(output.status.code(), Some(1), "{size}: {}", err(&output));
            assert!(err(&output).contains("No space left"), "{size}: {}", err(&output));
            let mut names: Vec<String> = fs::read_dir(&tiny.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            assert!(names.iter().all(|n| n.starts_with("a.caromlog") || n == "a.csv"), "{size}: {names:?}");
            assert_eq!(fs::read_to_string(tiny.0.join("a.csv")).unwrap(), "earlier", "{size}");
        }
    }
}
