//! Entries run, explain themselves, and say what the page says.

use carom_reproduce::{Verdict, entries, section};
use std::path::Path;

/// Numbers agree when they differ by less than this part...
const AGREE: f64 = 2e-4;
/// ...or are both rounding.
const ROUNDING: f64 = 1e-9;
/// Numbers of the sources that must be looked at, in all.
const NUMBERS: usize = 60;

fn document(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap()
}

/// Text with every run of blanks as one.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Numbers of a text, and what stands between them.
fn parts(text: &str) -> (Vec<f64>, Vec<String>) {
    let (mut numbers, mut words, mut word, mut number) = (Vec::new(), Vec::new(), String::new(), String::new());
    let mut close = |number: &mut String, word: &mut String| {
        if !number.is_empty() {
            match number.trim_end_matches('.').parse::<f64>() {
                Ok(x) => {
                    numbers.push(x);
                    words.push(std::mem::take(word));
                }
                Err(_) => word.push_str(number),
            }
            number.clear();
        }
    };
    let letters: Vec<char> = text.chars().collect();
    for (i, &c) in letters.iter().enumerate() {
        let exponent = c == 'e' && !number.is_empty() && letters.get(i + 1).is_some_and(|n| n.is_ascii_digit() || *n == '-');
        let sign = c == '-' && letters.get(i + 1).is_some_and(char::is_ascii_digit) && (number.is_empty() || number.ends_with('e'));
        if c.is_ascii_digit() || (c == '.' && !number.is_empty()) || exponent || sign {
            number.push(c);
        } else {
            close(&mut number, &mut word);
            word.push(c);
        }
    }
    close(&mut number, &mut word);
    words.push(word);
    (numbers, words)
}

/// Whether two texts say the same, up to rounding in their numbers.
fn same(said: &str, found: &str) -> bool {
    let ((a, between_a), (b, between_b)) = (parts(said), parts(found));
    between_a == between_b
        && a.len() == b.len()
        && a.iter().zip(&b).all(|(x, y)| (x - y).abs() <= AGREE * x.abs().max(y.abs()) || (x.abs() < ROUNDING && y.abs() < ROUNDING))
}

#[test]
fn numbers_are_compared_with_a_tolerance_and_words_without() {
    assert!(same("u = 1.00000 at -3e-12 m", "u = 1.00001 at 4e-13 m"));
    assert!(!same("u = 1.0 m", "u = 1.1 m"));
    assert!(!same("u = 1.0 m", "v = 1.0 m"));
    assert!(!same("u = -1.0 m", "u = 1.0 m"));
}

#[test]
fn quick_entries_are_explained_and_stand_on_the_page() {
    let page = document("reproduction.md");
    let theory = document("theory.md");
    let errata = plain(&theory[theory.find("## 11. ").unwrap()..theory.find("## 12. ").unwrap()]);
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures/reproduction");
    let mut numbers = 0;
    for entry in entries().iter().filter(|e| e.quick) {
        let report = entry.run().unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert!(!report.claims.is_empty() && report.chart.series.iter().any(|s| s.points.len() > 1), "{} shows nothing", entry.name);
        assert!(!report.chart.x_label.is_empty() && !report.chart.y_label.is_empty(), "{}: axes without labels", entry.name);
        for claim in &report.claims {
            assert_ne!(claim.verdict, Verdict::Unexplained, "{}: {claim:?}", entry.name);
            if let Verdict::Differs(words) = claim.verdict {
                assert!(errata.contains(&plain(words)), "{}: \"{words}\" does not stand in chapter 11 of the theory", entry.name);
            }
        }
        numbers += report.numbers_checked();
        let wanted = section(entry, &report, "pictures/reproduction");
        let start = page.find(&format!("### `{}`", entry.name)).unwrap_or_else(|| panic!("{} does not stand on the page", entry.name));
        let rest = &page[start..];
        let end = rest[4..].find("\n### ").into_iter().chain(rest[4..].find("\n## ")).min().map_or(rest.len(), |i| i + 4);
        for (said, found) in rest[..end].lines().filter(|l| !l.is_empty()).zip(wanted.lines().filter(|l| !l.is_empty())) {
            assert!(same(said, found), "{}\npage says {said}\nit gives  {found}\nmake the page again as it says at its top", entry.name);
        }
        let drawn =
            std::fs::read_to_string(pictures.join(format!("{}.svg", report.stem()))).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        assert_eq!(drawn.lines().count(), report.chart.svg().lines().count(), "{}: its picture is old", entry.name);
    }
    assert!(numbers >= NUMBERS, "{numbers} numbers of the sources");
}

#[test]
fn names_say_their_source_and_are_unique() {
    let all = entries();
    for (i, entry) in all.iter().enumerate() {
        assert!(carom_reproduce::SOURCES.iter().any(|s| s.0 == entry.source()), "{}", entry.name);
        assert!(all[..i].iter().all(|other| other.name != entry.name), "{} twice", entry.name);
    }
    for (source, _) in carom_reproduce::SOURCES {
        assert!(all.iter().filter(|e| e.source() == source).count() >= 8, "{source}");
    }
}
