//! What the shipped set gives now is what the page says, and its figures are those that must come out.

use carom::dynamics::Interrupt;
use carom_validate::{SETS, Trouble, cube, run, section};
use std::path::Path;

fn docs() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn the_cube_gives_what_the_page_says() {
    let found = run("cube", None, &Interrupt::NEVER).unwrap();
    assert!(found.holds(), "{:?}", found.targets);
    let page = std::fs::read_to_string(docs().join("validation.md")).unwrap();
    let wanted = section(&found, "pictures/validation");
    for line in wanted.lines().filter(|line| !line.is_empty()) {
        assert!(page.contains(line), "the page does not say\n{line}\nmake it again as it says at its top");
    }
    for picture in &found.pictures {
        let drawn = std::fs::read_to_string(docs().join(format!("pictures/validation/{}.svg", picture.stem))).unwrap();
        assert_eq!(drawn, picture.svg, "{} is old", picture.stem);
    }
}

#[test]
fn friction_that_is_wrong_shows() {
    // Every tenth toss is enough to tell the friction of the tilt test from half of it.
    let tosses: Vec<_> = carom_validate::Tosses::shipped().unwrap().all.into_iter().step_by(10).collect();
    let error = |mu: f64| cube::Setup::auto(mu, 0.2).run(&tosses, &Interrupt::NEVER).unwrap().table()[0][0];
    let (right, wrong) = (error(0.179), error(0.09));
    assert!(right < 15.0 && wrong > 2.0 * right, "{right} and {wrong}");
}

#[test]
fn the_shipped_tosses_are_those_of_the_set() {
    let tosses = carom_validate::Tosses::shipped().unwrap().all;
    assert_eq!(tosses.len(), 445);
    assert!(tosses.iter().all(|t| (85..=139).contains(&t.poses.len())));
    // At rest the centre lies at 0.9779 of half the width: the trap of the data.
    let last: Vec<f64> = tosses.iter().map(|t| t.poses.last().unwrap().position[2] / (0.1048 / 2.0)).collect();
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    assert!((mean - 0.978).abs() < 0.01, "{mean}");
}

#[test]
fn sets_without_data_say_so() {
    for set in &SETS[1..] {
        assert!(matches!(run(set, None, &Interrupt::NEVER), Err(Trouble::NoData(_))), "{set}");
    }
}

/// The tosses as tables, from the published start on; velocities stand in the first row alone.
fn tables() -> Vec<carom_fit::Table> {
    let folder = std::env::temp_dir().join(format!("carom-cube-{}", std::process::id()));
    carom_validate::export("cube", None, &folder).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(folder.join("tosses")).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let table = |path: &std::path::PathBuf| {
        let found = carom::record::read(path).unwrap();
        carom_fit::Table {
            name: path.display().to_string(),
            time: found.time,
            bodies: found.header.bodies,
            q: found.q,
            v: found.v,
            ..Default::default()
        }
    };
    let out = files.iter().map(table).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    out
}

/// The fit of friction and restitution from a start: values, and intervals.
fn fitted(start: [f64; 2]) -> [(f64, [f64; 2]); 2] {
    let carom::Scene::Spatial(scene) = carom::from_toml(&cube::Setup::auto(0.3, 0.3).scene(), "cube").unwrap() else { panic!("spatial") };
    let begin = carom_fit::Start::new(scene.model, &scene.joints, scene.state).unwrap();
    let names = ["pair_friction[cube, table]", "pair_restitution[cube, table]"];
    let ask = carom_fit::Ask {
        parameters: names.map(String::from).to_vec(),
        start: names.map(String::from).into_iter().zip(start).collect(),
        robust: Some("huber".to_string()),
        ..Default::default()
    };
    let found = carom_fit::fit(begin, &tables(), &ask, &Interrupt::NEVER, &mut |_, _, _| {}).unwrap();
    assert!(
        !found.converged && found.warnings.iter().any(|w| w.contains("times the noise")),
        "one search is not believed: {}",
        found.status
    );
    [0, 1].map(|k| (found.parameters[k].value, found.parameters[k].interval.map(Option::unwrap)))
}

#[test]
#[ignore = "half a minute of one core for each start"]
fn the_fit_finds_friction_and_restitution_from_both_starts() {
    for start in [[0.3, 0.3], [0.05, 0.5]] {
        let [(mu, _), (e, [low, high])] = fitted(start);
        assert!(
            (mu - 0.18).abs() < 0.01 && (0.1..0.25).contains(&e) && low < e && e < high,
            "from {start:?}: {mu}, {e} in {low} to {high}"
        );
    }
}
