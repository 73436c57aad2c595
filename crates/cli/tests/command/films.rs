//! Films by an encoder outside, motion for other programs, and files that are not what a command takes.

use super::folder::{Folder, code, err};

const DROP: &str = "dimension = 2\nstep = 0.01\n[[body]]\nkind = \"static\"\nshape = { half_space = [0, 1] }\n\
    [[body]]\nname = \"ball 1\"\nshape = { ball = 0.2 }\nposition = [0, 1]\n";

#[test]
fn a_film_without_an_encoder_is_refused_before_the_first_step() {
    let folder = Folder::new("no-encoder");
    folder.write("drop.toml", DROP);
    let run = folder.command(&["run", "drop.toml", "--out", "drop.mp4"]).env("PATH", "").env_remove("CAROM_FFMPEG").output().unwrap();
    assert_eq!(code(&run), 1);
    assert!(err(&run).contains("ffmpeg") && err(&run).contains(".gif"), "{}", err(&run));
    assert_eq!(folder.names(), ["drop.toml"]);
    let fast = folder.carom(&["run", "drop.toml", "--out", "drop.gif", "--fps", "60"]);
    assert_eq!(code(&fast), 2);
    assert!(err(&fast).contains("at most 50 frames"), "{}", err(&fast));
}

/// An encoder that keeps what it is given: three bytes a pixel, frame after frame.
#[cfg(unix)]
#[test]
fn the_encoder_gets_every_frame() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("encoder");
    folder.write("drop.toml", DROP);
    folder.write("encoder", "#!/bin/sh\nfor last; do :; done\nexec /bin/cat >\"$last\"\n");
    folder.write("broken", "#!/bin/sh\necho 'no such codec' >&2\nexit 3\n");
    for name in ["encoder", "broken"] {
        std::fs::set_permissions(folder.file(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let args = ["run", "drop.toml", "--time", "0.5", "--out", "drop.webm", "--size", "64x48", "--fps", "20", "--speed", "0.5"];
    let run = folder.command(&args).env("CAROM_FFMPEG", folder.file("encoder")).output().unwrap();
    assert_eq!(code(&run), 0, "{}", err(&run));
    // A second of film at 20 frames a second, both ends shown.
    assert_eq!(std::fs::metadata(folder.file("drop.webm")).unwrap().len(), 21 * 64 * 48 * 3);
    let failed = folder.command(&args).env("CAROM_FFMPEG", folder.file("broken")).output().unwrap();
    assert_eq!(code(&failed), 1);
    assert!(err(&failed).contains("no such codec") || err(&failed).contains("cannot encode"), "{}", err(&failed));
}

#[test]
fn motion_is_written_for_other_programs() {
    let folder = Folder::new("motion");
    folder.write("drop.toml", DROP);
    let run = folder.carom(&["run", "drop.toml", "--time", "0.5", "--out", "drop.glb", "drop.usda"]);
    assert_eq!(code(&run), 0, "{}", err(&run));
    let bytes = std::fs::read(folder.file("drop.glb")).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&bytes[..4], word(4), word(8)), (&b"glTF"[..], 2, bytes.len()));
    let text: serde_json::Value = serde_json::from_slice(&bytes[20..20 + word(12)]).unwrap();
    assert_eq!(text["nodes"][2]["name"], "ball 1");
    assert_eq!(text["animations"][0]["channels"].as_array().unwrap().len(), 2, "the ground does not move");
    let stage = std::fs::read_to_string(folder.file("drop.usda")).unwrap();
    for part in ["#usda 1.0\n", "upAxis = \"Y\"", "endTimeCode = 30", "def Xform \"ball_1\"", "displayName = \"ball 1\"", "0: (0, 1, 0),"] {
        assert!(stage.contains(part), "{part}");
    }
}

#[test]
fn files_of_other_programs_are_called_what_they_are() {
    let folder = Folder::new("foreign");
    for (name, word) in
        [("robot.usd", "USD"), ("robot.xacro", "xacro"), ("robot.glb", "glTF"), ("part.stl", "mesh"), ("run.caromlog", "--resume")]
    {
        folder.write(name, "anything");
        let run = folder.carom(&["check", name]);
        assert_eq!(code(&run), 2);
        assert!(err(&run).contains(word) && !err(&run).contains("TOML parse"), "{}", err(&run));
    }
    let out = folder.carom(&["run", "ball_drop", "--out", "run.usdc"]);
    assert_eq!(code(&out), 2);
    assert!(err(&out).contains("binary USD"), "{}", err(&out));
    for ending in [".webm", ".parquet", ".caromlog", ".usda"] {
        assert!(err(&out).contains(ending), "{ending} is cut in two:\n{}", err(&out));
    }
}

/// No line of the help is broken within a word, however narrow the terminal.
#[test]
fn help_wraps_whole_words() {
    let folder = Folder::new("help");
    let wide = folder.command(&["run", "--help"]).env("COLUMNS", "400").output().unwrap();
    let words: std::collections::BTreeSet<String> =
        String::from_utf8(wide.stdout).unwrap().split_whitespace().map(str::to_string).collect();
    for columns in ["40", "60", "80", "100"] {
        let help = folder.command(&["run", "--help"]).env("COLUMNS", columns).output().unwrap();
        for word in String::from_utf8(help.stdout).unwrap().split_whitespace() {
            assert!(words.contains(word), "run --help in {columns} columns breaks \"{word}\"");
        }
    }
}

#[test]
fn notes_of_an_import_name_files_beside_the_model() {
    let folder = Folder::new("notes");
    let model = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models/chains.xml");
    let checked = folder.carom(&["check", &model.display().to_string()]);
    assert_eq!(code(&checked), 0);
    let notes: Vec<String> = err(&checked).lines().filter(|line| line.starts_with("note: ")).map(str::to_string).collect();
    assert!(!notes.is_empty() && notes.iter().all(|note| note.starts_with("note: chains.xml:")), "{notes:?}");
}

#[test]
fn the_rate_of_a_stage_is_a_whole_number_where_it_was_asked_for() {
    let folder = Folder::new("stage");
    folder.write("drop.toml", DROP);
    // The clock of two seconds in steps of 0.01 s is off by some roundings.
    let run = folder.carom(&["run", "drop.toml", "--time", "2", "--out", "drop.usda", "--quiet"]);
    assert_eq!(code(&run), 0, "{}", err(&run));
    let text = std::fs::read_to_string(folder.file("drop.usda")).unwrap();
    assert!(text.contains("timeCodesPerSecond = 60\n") && text.contains("endTimeCode = 120\n"), "{}", &text[..400]);
}
