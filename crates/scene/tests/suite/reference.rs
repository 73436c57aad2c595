//! `docs/scene-format.md`: its tables are those of the parser, its examples load. `CAROM_BLESS=1` prints the tables anew.

use carom_scene::{from_toml_all, keys, reference};
use std::path::PathBuf;

const END: &str = "<!-- end -->";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/scene-format.md")
}

/// The document with every table printed from the lists of keys, and the headings it holds.
fn printed(text: &str) -> (String, Vec<String>) {
    let tables = reference::tables();
    let (mut out, mut seen, mut rest) = (String::new(), Vec::new(), text);
    while let Some(start) = rest.find("<!-- table: ") {
        let (before, mark) = rest.split_at(start);
        let (heading, tail) = mark["<!-- table: ".len()..].split_once(" -->").expect("a table mark ends in -->");
        let (_, after) = tail.split_once(END).expect("a table ends in <!-- end -->");
        let (_, table) = tables.iter().find(|(name, _)| *name == heading).unwrap_or_else(|| panic!("no table {heading}"));
        out.push_str(&format!("{before}<!-- table: {heading} -->\n{table}{END}"));
        seen.push(heading.to_string());
        rest = after;
    }
    out.push_str(rest);
    (out, seen)
}

#[test]
fn the_tables_of_the_document_are_those_of_the_parser() {
    let text = std::fs::read_to_string(path()).unwrap();
    let (wanted, seen) = printed(&text);
    for (heading, _) in reference::tables() {
        assert_eq!(seen.iter().filter(|s| *s == heading).count(), 1, "{heading} stands once in the document");
    }
    if std::env::var_os("CAROM_BLESS").is_some() {
        std::fs::write(path(), &wanted).unwrap();
    } else {
        assert!(text == wanted, "the tables differ: print them with CAROM_BLESS=1");
    }
}

#[test]
fn the_examples_of_the_document_load() {
    let text = std::fs::read_to_string(path()).unwrap();
    let examples: Vec<&str> = text.split("```toml\n").skip(1).filter_map(|piece| piece.split("```").next()).collect();
    assert!(examples.len() >= 6, "{}", examples.len());
    for example in examples {
        if let Err(errors) = from_toml_all(example, "example.toml") {
            panic!("{errors}\n{example}");
        }
    }
}

#[test]
fn the_rules_of_joints_cover_every_kind_and_name_real_keys() {
    let kinds: Vec<&str> = keys::JOINT_RULES.iter().map(|r| r.kind).collect();
    assert_eq!(kinds, keys::JOINT_KINDS);
    let own = [&carom_dynamics::JointKind::NAMES[..], &["coupling"]].concat();
    assert_eq!(kinds, own, "the engine has the same kinds, and couplings of them");
    for rule in keys::JOINT_RULES {
        for key in [rule.needs_plane, rule.needs_space, rule.takes_plane, rule.takes_space].concat() {
            assert!(keys::JOINT.key(key).is_some(), "{}: {key}", rule.kind);
        }
    }
}

#[test]
fn the_defaults_in_the_tables_are_the_engines() {
    let tolerances = carom_dynamics::Tolerances::default();
    let text = format!("{tolerances:?}");
    for key in keys::TOLERANCES.keys {
        if key.name == "solve" {
            // Without a number a solve goes as far as rounding lets it.
            assert!(key.default.parse::<f64>().is_err() && tolerances.solve.is_none());
            continue;
        }
        let value: f64 = key.default.parse().unwrap();
        let at = text.find(&format!("{}: ", key.name)).unwrap_or_else(|| panic!("the engine has no tolerance {}", key.name));
        let engine: f64 = text[at + key.name.len() + 2..].split([',', ' ']).next().unwrap().parse().unwrap();
        assert_eq!(value, engine, "{}", key.name);
    }
    assert_eq!(text.matches(": ").count(), keys::TOLERANCES.keys.len(), "every tolerance of the engine has a key");
}
