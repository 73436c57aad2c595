//! Broken models: cut, doubled, swapped, blown up; every one is a scene that reads back, or an error with its file and line.

use carom_dynamics::World;
use carom_import::{Options, from_mjcf, from_toml_beside, from_urdf};
use carom_scene::{Scene, from_toml, to_toml};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Mutations per model; more with `CAROM_FULL=1`.
fn rounds() -> u64 {
    if std::env::var_os("CAROM_FULL").is_some() { 20_000 } else { 400 }
}

/// Longest time of all rounds, and of one \[s\]: reading never hangs.
fn patience() -> Duration {
    Duration::from_secs(if std::env::var_os("CAROM_FULL").is_some() { 300 } else { 10 })
}
/// Longest time to read one of these models, on a machine that is busy with other things \[s\].
const ONE: Duration = Duration::from_secs(5);
/// Steps that every model is moved: an error is an answer, a panic is none.
const STEPS: usize = 2;

/// A small generator (xorshift): the same texts on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

fn model(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/models").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Byte ranges of attribute values.
fn values(text: &str) -> Vec<std::ops::Range<usize>> {
    let quotes: Vec<usize> = text.match_indices('"').map(|(i, _)| i).collect();
    quotes.chunks_exact(2).map(|q| q[0] + 1..q[1]).collect()
}

fn mutate(text: &str, random: &mut Random) -> String {
    const WORDS: [&str; 18] = [
        "",
        "0",
        "-1",
        "1e300",
        "-1e300",
        "nan",
        "inf",
        "1e-300",
        "1 2",
        "0 0 0",
        "1 1e11 1",
        "world",
        "free",
        "\u{e9}\u{4e2d}",
        "0 0 0 0",
        "true",
        "auto",
        "4000000000",
    ];
    const TAGS: [&str; 19] = [
        "body",
        "frame",
        "replicate count=\"3\"",
        "replicate count=\"100000\"",
        "joint",
        "freejoint",
        "geom",
        "inertial",
        "site",
        "default",
        "default class=\"main\"",
        "equality",
        "tendon",
        "fixed",
        "compiler angle=\"radian\"",
        "include file=\"x\"",
        "link",
        "mimic",
        "\u{feff}mesh",
    ];
    let mut text = text.to_string();
    for _ in 0..1 + random.next(3) {
        let lines: Vec<&str> = text.lines().collect();
        let places = values(&text);
        let pick = |random: &mut Random| places.get(random.next(places.len())).cloned().unwrap_or(0..0);
        text = match random.next(9) {
            0 => {
                let mut cut = random.next(text.len());
                while !text.is_char_boundary(cut) {
                    cut -= 1;
                }
                text[..cut].to_string()
            }
            1 => {
                let i = random.next(lines.len());
                [&lines[..i], &lines[i.min(lines.len() - 1)..]].concat().join("\n")
            }
            2 => {
                let i = random.next(lines.len());
                [&lines[..i], &lines[(i + 1).min(lines.len())..]].concat().join("\n")
            }
            3 | 4 => {
                let mut out = text.clone();
                out.replace_range(pick(random), WORDS[random.next(WORDS.len())]);
                out
            }
            5 => {
                let (a, b) = (pick(random), pick(random));
                let word = text[b].to_string();
                let mut out = text.clone();
                out.replace_range(a, &word);
                out
            }
            6 => {
                // Another element around a line, or instead of its name.
                let (i, tag) = (random.next(lines.len()), TAGS[random.next(TAGS.len())]);
                let around = format!("<{tag}>{}</{}>", lines.get(i).unwrap_or(&""), tag.split(' ').next().unwrap_or(tag));
                let mut lines = lines.clone();
                if let Some(line) = lines.get_mut(i) {
                    *line = &around;
                }
                lines.join("\n")
            }
            7 => {
                let (a, b) = (TAGS[random.next(TAGS.len())], TAGS[random.next(TAGS.len())]);
                let word = |tag: &'static str| tag.split(' ').next().unwrap_or(tag);
                text.replace(&format!("<{} ", word(a)), &format!("<{} ", word(b)))
            }
            _ => {
                let (i, j) = (random.next(lines.len()), random.next(lines.len()));
                let mut lines = lines.clone();
                lines.swap(i, j);
                lines.join("\n")
            }
        };
        if text.is_empty() {
            break;
        }
    }
    text
}

#[test]
fn broken_models_are_scenes_or_errors_with_a_line() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut refused) = (0, 0);
    let models = [
        ("arm.urdf", true),
        ("chains.xml", false),
        ("masses.xml", false),
        ("four_bar.xml", false),
        ("hips.xml", false),
        ("tendons.xml", false),
        ("gripper.urdf", true),
    ];
    let start = Instant::now();
    let originals = models.map(|(name, _)| model(name));
    for round in 0..rounds() {
        for ((name, urdf), original) in models.into_iter().zip(&originals) {
            if start.elapsed() > patience() {
                break;
            }
            let text = mutate(original, &mut random);
            let begun = Instant::now();
            let made = if urdf { from_urdf(&text, name, &Options::default()) } else { from_mjcf(&text, name, &Options::default()) };
            assert!(begun.elapsed() < ONE, "{name} {round}: {:?}\n{text}", begun.elapsed());
            match made {
                Ok(import) => {
                    read += 1;
                    let written = to_toml(&import.scene);
                    let again = from_toml(&written, name).unwrap_or_else(|e| panic!("{name} {round}: {e}\n{text}\n{written}"));
                    assert_eq!(to_toml(&again), written, "{name} {round}");
                    assert!(import.notes.iter().all(|note| note.file == name && note.line >= 1));
                    let Scene::Spatial(scene) = import.scene else { panic!("models are spatial") };
                    if let Ok(mut world) = World::new(scene.model, scene.state) {
                        let _ = (0..STEPS).try_for_each(|_| world.step().map(|_| ()));
                    }
                }
                Err(errors) => {
                    refused += 1;
                    assert!(
                        errors.iter().all(|e| e.file == name && e.line >= 1 && e.line <= text.lines().count().max(1) + 1),
                        "{name} {round}: {errors}"
                    );
                }
            }
        }
    }
    assert!(read > 50 && refused > 50, "{read} read, {refused} refused");
}

/// Worlds of several files, with couplings and tendons over the joints of more than one: every broken one is a scene that reads back, or an error with its line.
#[test]
fn broken_worlds_of_files_are_scenes_or_errors_with_a_line() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/models");
    let original = "dimension = 3\n\
        include = [{ file = \"gripper.urdf\", name = \"left\" }, { file = \"gripper.urdf\", name = \"right\", position = [1, 0, 0], base = \"free\", hold = true }]\n\
        [[body]]\nname = \"wheel\"\nmass = 1\ninertia = [0.1, 0.1, 0.1]\nposition = [0, 2, 1]\n\
        [[joint]]\nname = \"axle\"\nkind = \"hinge\"\nbetween = [\"wheel\", \"world\"]\nanchor = [0, 2, 1]\naxis = [0, 0, 1]\n\
        [[joint]]\nname = \"gear\"\nkind = \"coupling\"\njoints = { \"left.finger\" = 1, \"axle\" = -0.1 }\noffset = \"0\"\n\
        [[joint]]\nname = \"cord\"\nkind = \"coupling\"\njoints = { \"right.finger\" = 1, \"axle.0\" = 0.1 }\nlimits = [-1, 1]\nstiffness = 3\n";
    // Numbers stand in quotes too while they are mutated, where `values` finds them.
    let tidy = |text: &str| text.replace("offset = \"0\"", "offset = 0");
    from_toml_beside(&tidy(original), "world.toml", &folder).unwrap_or_else(|e| panic!("{e}"));
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut read, mut refused) = (0, 0);
    let start = Instant::now();
    for round in 0..rounds() {
        if start.elapsed() > patience() {
            break;
        }
        let text = tidy(&mutate(original, &mut random));
        let begun = Instant::now();
        let made = from_toml_beside(&text, "world.toml", &folder);
        assert!(begun.elapsed() < ONE, "{round}: {:?}\n{text}", begun.elapsed());
        match made {
            Ok(import) => {
                read += 1;
                let written = to_toml(&import.scene);
                let again = from_toml(&written, "world").unwrap_or_else(|e| panic!("{round}: {e}\n{text}\n{written}"));
                assert_eq!(to_toml(&again), written, "{round}");
                if let Scene::Spatial(scene) = import.scene
                    && let Ok(mut world) = World::new(scene.model, scene.state)
                {
                    let _ = (0..STEPS).try_for_each(|_| world.step().map(|_| ()));
                }
            }
            Err(errors) => {
                refused += 1;
                assert!(errors.iter().all(|e| e.line >= 1), "{round}: {errors}");
            }
        }
    }
    assert!(read > 10 && refused > 50, "{read} read, {refused} refused");
}
