//! The tables of `docs/scene-format.md`, printed from the lists of keys.

use crate::keys::{Bound, JOINT_RULES, Key, Kind, Special, TABLES, Table, Where};

/// One table of the reference in Markdown: key, value, unit, default, meaning.
pub fn table(table: &Table) -> String {
    let mut out = String::from("| key | value | unit | default | meaning |\n|---|---|---|---|---|\n");
    for key in table.keys {
        let place = match key.space {
            Where::Both => "",
            Where::Plane => " (plane)",
            Where::Space => " (space)",
        };
        let default = if key.default.is_empty() { "-" } else { key.default };
        let unit = if key.unit.is_empty() { "-" } else { key.unit };
        out.push_str(&format!("| `{}`{place} | {} | {unit} | {default} | {} |\n", key.name, value(key), key.meaning));
    }
    out
}

/// The table of the kinds of joints in Markdown.
pub fn joints() -> String {
    let mut out = String::from("| kind | needs | takes | meaning |\n|---|---|---|---|\n");
    let list = |keys: &[&str]| {
        if keys.is_empty() { "-".to_string() } else { keys.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ") }
    };
    for rule in JOINT_RULES {
        let both = |plane: &[&str], space: &[&str]| match rule.space {
            Where::Both if plane == space => list(space),
            Where::Both => format!("plane: {}; space: {}", list(plane), list(space)),
            _ => list(space),
        };
        let place = if rule.space == Where::Space { " (space)" } else { "" };
        let (needs, takes) = (both(rule.needs_plane, rule.needs_space), both(rule.takes_plane, rule.takes_space));
        out.push_str(&format!("| `{}`{place} | {needs} | {takes} | {} |\n", rule.kind, rule.about));
    }
    out
}

/// Every generated table with its heading, in order: (heading, Markdown).
pub fn tables() -> Vec<(&'static str, String)> {
    let mut out: Vec<(&'static str, String)> = TABLES.iter().map(|t| (t.heading, table(t))).collect();
    out.push(("Kinds of joints", joints()));
    out
}

fn value(key: &Key) -> String {
    let words = |list: &[&str]| list.iter().map(|w| format!("`\"{w}\"`")).collect::<Vec<_>>().join(", ");
    match key.kind {
        Kind::Text => "text".to_string(),
        Kind::Name => "name".to_string(),
        Kind::Number(Bound::Any) => "number".to_string(),
        Kind::Number(bound) => format!("number {}", bound.words()),
        Kind::Until => "number >= 0, `inf`".to_string(),
        Kind::Whole(low, u64::MAX) => format!("whole number >= {low}"),
        Kind::Whole(low, high) => format!("whole number, {low} to {high}"),
        Kind::Flag => "`true`, `false`".to_string(),
        Kind::Vector => "vector".to_string(),
        Kind::Direction => "vector, not 0".to_string(),
        Kind::Extents => "vector > 0".to_string(),
        Kind::Rate => "number (plane), vector (space)".to_string(),
        Kind::Quaternion => "4 numbers, not all 0".to_string(),
        Kind::TwoPoints => "two vectors".to_string(),
        Kind::TwoDirections => "two vectors, not 0".to_string(),
        Kind::Points => "list of vectors".to_string(),
        Kind::Limits => "`[lo, hi]`, lo <= hi".to_string(),
        Kind::LengthRadius => "two numbers > 0".to_string(),
        Kind::Choice(list) => words(list),
        Kind::Choices(list) => format!("list of {}", words(list)),
        Kind::Names => "list of names".to_string(),
        Kind::TwoNames => "two names".to_string(),
        Kind::Color => "`\"#rrggbb\"`".to_string(),
        Kind::Special(special) => match special {
            Special::Dimension => "`2`, `3`".to_string(),
            Special::Shape => "a shape, or a list of shapes".to_string(),
            Special::Inertia => "number > 0; `[Ix, Iy, Iz]` > 0 or 3 x 3".to_string(),
            Special::Impact => format!("{}, or a table", words(crate::keys::LAWS)),
            Special::Cone => "`\"cone\"`, even number >= 4".to_string(),
            Special::Count => "whole number >= 1, or a list of them".to_string(),
            Special::Offset => "vector, or a list of vectors".to_string(),
            Special::Mesh => "file name, or a table".to_string(),
            Special::Heights => "list, or list of rows".to_string(),
            Special::Spacing => "number > 0, or two".to_string(),
            Special::Faces => "list of three whole numbers each".to_string(),
            Special::Coefficients => "a table of numbers".to_string(),
            Special::Joint => "a table, or a list of tables".to_string(),
            Special::Includes => "a list of tables".to_string(),
            Special::Combine | Special::Motor | Special::Body | Special::Heightfield | Special::Tolerances => "a table".to_string(),
            Special::Materials => "`[materials.NAME]` tables".to_string(),
            Special::Bodies | Special::Joints | Special::Pairs | Special::Forces | Special::Points | Special::Repeats => {
                format!("`[[{}]]` tables", key.name)
            }
        },
    }
}
