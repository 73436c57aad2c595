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
