//! Broken models: cut, doubled, swapped, blown up; every one is a scene that reads back, or an error with its file and line.

use carom_import::{Options, from_mjcf, from_urdf};
use carom_scene::{from_toml, to_toml};
use std::path::PathBuf;

/// Mutations per model; more with `CAROM_FULL=1`.
fn rounds() -> u64 {
    if std::env::var_os("CAROM_FULL").is_some() { 20_000 } else { 400 }
}

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
    const WORDS: [&str; 14] =
        ["", "0", "-1", "1e300", "-1e300", "nan", "inf", "1e-300", "1 2", "0 0 0", "1 1e11 1", "world", "free", "\u{e9}\u{4e2d}"];
    let mut text = text.to_string();
    for _ in 0..1 + random.next(3) {
        let lines: Vec<&str> = text.lines().collect();
        let places = values(&text);
        let pick = |random: &mut Random| places.get(random.next(places.len())).cloned().unwrap_or(0..0);
        text = match random.next(7) {
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
    for (name, urdf) in [("arm.urdf", true), ("chains.xml", false), ("masses.xml", false), ("four_bar.xml", false)] {
        let original = model(name);
        for round in 0..rounds() {
            let text = mutate(&original, &mut random);
            let made = if urdf { from_urdf(&text, name, &Options::default()) } else { from_mjcf(&text, name, &Options::default()) };
            match made {
                Ok(import) => {
                    read += 1;
                    let written = to_toml(&import.scene);
                    let again = from_toml(&written, name).unwrap_or_else(|e| panic!("{name} {round}: {e}\n{text}\n{written}"));
                    assert_eq!(to_toml(&again), written, "{name} {round}");
                    assert!(import.notes.iter().all(|note| note.file == name && note.line >= 1));
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
