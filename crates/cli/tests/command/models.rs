//! URDF and MJCF models by the command: run, check, convert; what is left out is named, and refused when strict.

use std::path::PathBuf;
use std::process::{Command, Output};

fn carom(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_carom")).args(args).env("NO_COLOR", "1").output().unwrap()
}

fn model(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/models").join(name).display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn models_run_check_and_convert_to_the_same_motion() {
    let arm = model("arm.urdf");
    let checked = carom(&["check", &arm]);
    assert!(checked.status.success() && text(&checked.stdout).contains("3 joints") | text(&checked.stdout).contains("sound"));
    let folder = std::env::temp_dir().join(format!("carom-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let toml = folder.join("arm.toml").display().to_string();
    assert!(carom(&["convert", &arm, &toml]).status.success());
    let hash = |scene: &str| {
        let output = carom(&["run", scene, "--steps", "50", "--no-out", "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).split_once("\"hash\"").map(|(_, rest)| rest.chars().take(30).collect::<String>())
    };
    assert_eq!(hash(&arm), hash(&toml));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_left_out_is_named_with_its_line_and_refused_when_strict() {
    let chains = model("chains.xml");
    let checked = carom(&["check", &chains]);
    assert!(checked.status.success());
    assert!(text(&checked.stderr).contains("chains.xml:29:"), "{}", text(&checked.stderr));
    let json = carom(&["check", &chains, "--json"]);
    assert!(text(&json.stdout).contains("chains.xml:29:"), "{}", text(&json.stdout));
    let strict = carom(&["check", &chains, "--strict"]);
    assert_eq!(strict.status.code(), Some(2));
    assert!(text(&strict.stderr).contains("ellipsoid"), "{}", text(&strict.stderr));
}
