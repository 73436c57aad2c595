//! What somebody types wrong in the first hour, and what is said to it.

use super::folder::{Folder, code, err};

/// Words that are wrong, what must be said, and what must not.
#[test]
fn what_is_typed_wrong_is_told_with_what_was_meant() {
    let folder = Folder::new("newcomer");
    folder.write("my.toml", "dimension = 2\n");
    folder.write("table.csv", "time,body,x,y\n");
    for (words, said, unsaid) in [
        (&["bowling"][..], "`carom run bowling`", "Usage"),
        (&["my.toml"], "`carom view my.toml`", "Usage"),
        (&["rn"], "did you mean \"run\"", "Usage"),
        (&["nonsense"], "commands: run, view", "did you mean"),
        (&["man", "nosuch"], "commands: run, view", "did you mean"),
        (&["run", "."], "in it: ./my.toml", "carom scenes"),
        (&["run", "pool_brake"], "did you mean \"pool_break\"", "folder"),
        (&["run", "ball_drop", "--time", "-1"], "a number of seconds >= 0", "tip"),
        (&["run", "ball_drop", "--steps", "1.5"], "a whole number >= 0", "digit"),
        (&["run", "ball_drop", "--out", "x"], "needs an ending", "no ending names"),
        (&["run", "ball_drop", "--out", "no/such/x.csv"], "there is no folder no/such", "os error"),
        (&["run", "ball_drop", "--out", "no/such/x.gif"], "there is no folder no/such", "os error"),
        (&["convert", "ball_drop", "x.gif"], "`carom run ball_drop --out x.gif`", "No such file"),
        (&["convert", "my.toml", "x.csv"], "`carom run my.toml --out x.csv`", "not a carom log"),
        (&["convert", "table.csv", "x.gif"], "not a carom log", "damaged"),
        (&["fit", "ball_drop", "--data", "my.toml", "--params", "mass"], ".csv", ".mcap"),
    ] {
        let output = folder.carom(words);
        let told = err(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(matches!(code(&output), 1 | 2), "{words:?} ended with {}", code(&output));
        assert!(told.contains(said) && !told.contains(unsaid), "{words:?}: {told}");
    }
    assert_eq!(folder.names(), ["my.toml", "table.csv"], "nothing was written");
}

#[test]
fn a_scene_in_place_of_a_command_is_told_to_programs_too() {
    let output = Folder::new("newcomer").carom(&["bowling", "--json"]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((code(&output), &answer["ok"]), (2, &serde_json::Value::Bool(false)));
    assert!(answer["errors"][0]["message"].as_str().unwrap().contains("a scene, not a command"));
}
