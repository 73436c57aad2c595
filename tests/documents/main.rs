//! The documents keep their word: every equation the code cites exists, every folder the map names exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).expect("folder of the project").map(|e| e.expect("entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Numbers (chapter.equation) in a text, as written in parentheses.
fn numbers(text: &str) -> BTreeSet<(u32, u32)> {
    let mut found = BTreeSet::new();
    // In the theory an equation carries its number as `(2.4)` or, inside a formula, as `\\tag{2.4}`.
    for piece in text.split(['(', '{']).skip(1) {
        let Some(inside) = piece.split([')', '}']).next() else { continue };
        let mut parts = inside.split('.');
        if let (Some(chapter), Some(number), None) = (parts.next(), parts.next(), parts.next())
            && let (Ok(chapter), Ok(number)) = (chapter.parse(), number.parse())
        {
            found.insert((chapter, number));
        }
    }
    found
}

#[test]
fn every_cited_equation_exists() {
    let theory = numbers(&read(&root().join("docs/theory.md")));
    assert!(theory.len() > 100, "the theory has lost its equations");
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut cited = 0;
    let mut missing = Vec::new();
    for file in files {
        for line in read(&file).lines().filter(|l| l.trim_start().starts_with("//") && l.contains("theory (")) {
            let after = &line[line.find("theory (").unwrap_or(0)..];
            for number in numbers(after) {
                cited += 1;
                if !theory.contains(&number) {
                    missing.push(format!("{}: ({}.{})", file.display(), number.0, number.1));
                }
            }
        }
    }
    assert!(cited > 100, "only {cited} citations found");
    assert!(missing.is_empty(), "cited but not in docs/theory.md:\n{}", missing.join("\n"));
}

#[test]
fn every_folder_of_the_map_exists() {
    let map = read(&root().join("ARCHITECTURE.md"));
    let folders: Vec<_> = map.lines().filter_map(|l| l.strip_prefix("| `")).filter_map(|l| l.split('`').next()).collect();
    assert!(folders.len() > 8, "the map has lost its folders");
    for folder in folders {
        assert!(root().join(folder).is_dir(), "ARCHITECTURE.md names {folder}, which is gone");
    }
}

#[test]
fn every_test_that_backs_a_gradient_exists() {
    let page = read(&root().join("docs/gradients.md"));
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    sources(&root().join("tests"), &mut files);
    let code: String = files.iter().map(|file| read(file)).collect();
    let mut named = 0;
    for row in page.lines().filter(|line| line.starts_with('|') && line.matches('|').count() == 6) {
        // The last cell lists tests; the first two rows are the heading and its rule.
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or("").trim();
        if cell == "test" || cell.starts_with("--") {
            continue;
        }
        let tests: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "no test backs: {row}");
        for test in tests {
            named += 1;
            assert!(code.contains(&format!("fn {test}()")), "docs/gradients.md names {test}, which is gone");
        }
    }
    assert!(named > 15, "the table has lost its tests");
}

#[test]
fn every_chapter_of_the_theory_says_what_it_is_for() {
    let theory = read(&root().join("docs/theory.md"));
    let chapters: Vec<&str> = theory.split("\n## ").skip(1).collect();
    assert!(chapters.len() > 20, "the theory has lost its chapters");
    for chapter in chapters {
        let mut lines = chapter.lines();
        let heading = lines.next().unwrap_or("");
        let opening = lines.find(|line| !line.is_empty()).unwrap_or("");
        assert!(opening.starts_with("*For:* "), "chapter {heading} does not begin by saying what it is for");
    }
}

#[test]
fn equations_and_chapters_of_the_theory_ascend() {
    let theory = read(&root().join("docs/theory.md"));
    let number = |text: &str| -> Option<(u32, u32)> {
        let (a, b) = text.split_once('.')?;
        Some((a.parse().ok()?, b.parse().ok()?))
    };
    let (mut chapter, mut last, mut seen) = (0, 0, 0);
    for line in theory.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let found: u32 = heading.split('.').next().and_then(|n| n.parse().ok()).expect("a chapter has a number");
            assert_eq!(found, chapter + 1, "chapters ascend: {heading}");
            (chapter, last) = (found, 0);
        }
        // A number stands at the beginning of its line, in a tag, or at the end after some space.
        let begins = line.strip_prefix('(').and_then(|rest| rest.split_once(")  ")).map(|(n, _)| n);
        let tag = line.split_once("\\tag{").and_then(|(_, rest)| rest.split_once('}')).map(|(n, _)| n);
        let ends = line.strip_suffix(')').and_then(|rest| rest.rsplit_once("  (")).map(|(_, n)| n);
        if let Some((of, found)) = begins.or(tag).or(ends).and_then(number) {
            assert_eq!((of, found > last), (chapter, true), "equations ascend: ({of}.{found}) after ({chapter}.{last})");
            (last, seen) = (found, seen + 1);
        }
    }
    assert!(seen > 300, "only {seen} equations found");
}

/// Production code of a folder, tests left out, by file.
fn production(folder: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    sources(&root().join(folder), &mut files);
    let name = |file: &Path| file.strip_prefix(root()).expect("a file of the project").to_string_lossy().replace('\\', "/");
    let is_test = |name: &str| name.contains("tests/") || name.ends_with("tests.rs");
    let code = |file: &PathBuf| read(file).split("#[cfg(test)]\nmod tests {").next().unwrap_or("").to_string();
    files.iter().map(|file| (name(file), code(file))).filter(|(name, _)| !is_test(name)).collect()
}

/// Files of a folder, but for those named, with lines of code that say a word.
fn lines_that_say(word: &str, folder: &str, but: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, code) in production(folder).into_iter().filter(|(name, _)| !but.iter().any(|home| name.contains(home))) {
        let says = |line: &&str| line.contains(word) && !line.trim_start().starts_with("//");
        found.extend(code.lines().filter(says).map(|line| format!("{name}: {}", line.trim())));
    }
    found
}

#[test]
fn integrators_are_told_apart_in_one_file() {
    let found = lines_that_say("Integrator::", "crates", &["dynamics/src/scheme.rs", "dynamics/src/options.rs"]);
    assert!(found.is_empty(), "ask the scheme instead:\n{}", found.join("\n"));
}

#[test]
fn laws_of_contact_are_told_apart_where_they_are_written() {
    // The methods for few rows write out what each law asks of them; so does the residual.
    let homes = ["solve/src/contact/law", "solve/src/contact/problem.rs", "solve/src/contact/dense", "solve/src/status.rs"];
    let found = lines_that_say("Block::Contact", "crates", &homes);
    assert!(found.is_empty(), "ask the block or its law instead:\n{}", found.join("\n"));
}

#[test]
fn the_step_knows_nothing_of_gradients() {
    let homes = ["dynamics/src/gradient/", "dynamics/src/lib.rs", "dynamics/src/instances.rs"];
    let found = lines_that_say("crate::gradient", "crates/dynamics/src", &homes);
    assert!(found.is_empty(), "what a step decides is returned or heard by an observer:\n{}", found.join("\n"));
}

#[test]
fn files_are_short() {
    const MOST: usize = 500;
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    sources(&root().join("tests"), &mut files);
    let length = |file: &PathBuf| (read(file).lines().count(), file.display().to_string());
    let long: Vec<_> = files.iter().map(length).filter(|(lines, _)| *lines > MOST).collect();
    assert!(long.is_empty(), "files above {MOST} lines: {long:?}");
}

#[test]
fn structs_of_the_engine_are_small() {
    const MOST: usize = 15;
    // Descriptions that users write, the report they read, and scratch that waits to be parted.
    const LARGER: [&str; 7] = ["Joint", "JointSpec", "IslandReport", "Solve", "ImpactScratch", "Assembly", "Linkage"];
    let mut large = Vec::new();
    for (name, code) in production("crates/dynamics/src") {
        let (mut of, mut fields) = (String::new(), 0);
        for line in code.lines() {
            let word = line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ").trim_start_matches("pub ");
            if let Some(rest) = word.strip_prefix("struct ") {
                (of, fields) = (rest.split(['<', ' ', '(']).next().unwrap_or("").to_string(), 0);
            } else if line == "}" && !of.is_empty() {
                if fields > MOST && !LARGER.contains(&of.as_str()) {
                    large.push(format!("{name}: {of} has {fields}"));
                }
                of.clear();
            }
            // A field stands four spaces in: a name and a colon.
            let field = line.strip_prefix("    ").filter(|rest| !rest.starts_with([' ', '/', '#', '}']));
            let field = field.map(|rest| rest.rsplit_once("pub ").map_or(rest, |(_, rest)| rest).split(": ").next().unwrap_or(""));
            let is_name =
                |name: &str| name.rsplit(' ').next().is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_alphanumeric() || c == '_'));
            fields += usize::from(!of.is_empty() && line.contains(": ") && field.is_some_and(is_name));
        }
    }
    assert!(large.is_empty(), "structs with more than {MOST} fields:\n{}", large.join("\n"));
}

/// What could be a link in a comment that documents: `[m]`, neither escaped, nor code, nor with a target behind it.
fn could_be_links(line: &str) -> Vec<&str> {
    let code: Vec<&str> = line.split('`').step_by(2).collect();
    let mut found = Vec::new();
    for text in code {
        for (at, _) in text.match_indices('[') {
            let Some(inside) = text[at + 1..].split(']').next() else { continue };
            let closed = text[at + 1..].contains(']') && !inside.is_empty() && !inside.contains('[');
            let escaped = text[..at].ends_with(['\\', '[']) || inside.ends_with('\\');
            let behind = text[at + 1..].get(inside.len() + 1..).and_then(|rest| rest.chars().next());
            let path = inside.chars().all(|c| c.is_alphanumeric() || ":_<>, !*&;@()".contains(c));
            if closed && path && !escaped && !matches!(behind, Some('(' | '[')) {
                found.push(inside);
            }
        }
    }
    found
}

#[test]
fn units_are_no_links() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    sources(&root().join("tests/src"), &mut files);
    let mut missing = Vec::new();
    // Help texts and what Python shows are printed as they stand.
    for file in files.iter().filter(|file| !["cli", "py"].iter().any(|shown| file.starts_with(root().join("crates").join(shown)))) {
        let mut fenced = false;
        for line in read(file).lines() {
            let Some(text) = ["///", "//!"].iter().find_map(|mark| line.trim_start().strip_prefix(mark)) else {
                fenced = false;
                continue;
            };
            fenced ^= text.trim_start().starts_with("```");
            if !fenced {
                missing.extend(could_be_links(text).into_iter().map(|inside| format!("{}: [{inside}]", file.display())));
            }
        }
    }
    assert!(missing.is_empty(), "escape what is no link, as in \\[m\\]:\n{}", missing.join("\n"));
}
