//! The commands in docs/gradients.md give the answers that stand below them.

use super::folder::Folder;
use std::fs;
use std::path::Path;

/// Numbers agree when they differ by less than this part...
const AGREE: f64 = 1e-4;
/// ...or are both rounding.
const ROUNDING: f64 = 1e-8;

/// A command and what the document says it prints.
struct Example {
    command: String,
    answer: Vec<String>,
}

fn examples(text: &str) -> Vec<Example> {
    let mut out: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            line if inside => match (line.strip_prefix("$ "), out.last_mut()) {
                (Some(command), _) => out.push(Example { command: command.to_string(), answer: Vec::new() }),
                (None, Some(example)) => example.answer.push(line.to_string()),
                (None, None) => panic!("an answer without a question: {line}"),
            },
            _ => {}
        }
    }
    out
}

/// Words of a command: quotes group.
fn words(command: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => out.push(String::new()),
            letter => out.last_mut().unwrap().push(letter),
        }
    }
    out.retain(|w| !w.is_empty());
    out
}

/// Whether two lines say the same; times and rounding may differ.
fn same(said: &str, found: &str) -> bool {
    let (said, found): (Vec<&str>, Vec<&str>) = (said.split_whitespace().collect(), found.split_whitespace().collect());
    let timed = said.contains(&"s,") && said.contains(&"in");
    said.len() == found.len()
        && said.iter().zip(&found).enumerate().all(|(k, (a, b))| {
            let number = |x: &str| x.trim_end_matches([',', ')']).parse::<f64>();
            match (number(a), number(b)) {
                (Ok(x), Ok(y)) => {
                    let took = timed && said.get(k + 1) == Some(&"s,");
                    took || (x - y).abs() <= AGREE * x.abs().max(y.abs()) || (x.abs() < ROUNDING && y.abs() < ROUNDING)
                }
                _ => a == b,
            }
        })
}

/// Lines without the last iterations, in which only rounding is left to lose.
fn telling(lines: &[String]) -> Vec<&str> {
    let settled = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words.as_slice(), [_, "misfit", x, ..] if x.parse::<f64>().is_ok_and(|x| x < ROUNDING))
            || line.contains("iterations in")
            || line.starts_with("converged: ")
    };
    lines.iter().map(String::as_str).filter(|line| !line.is_empty() && !settled(line)).collect()
}

#[test]
fn the_worked_pages_are_what_the_commands_print() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gradients.md");
    let text = fs::read_to_string(document).unwrap();
    let folder = Folder::new("pages");
    let examples = examples(&text);
    assert!(examples.len() >= 8, "the document has lost its commands");
    for Example { command, answer } in &examples {
        let mut words = words(command);
        // `printf TEXT > FILE` makes a small table.
        if words[0] == "printf" {
            folder.write(&words[3], &words[1].replace("\\n", "\n"));
            continue;
        }
        // `cat FILE` shows one that the reader is to write.
        if words[0] == "cat" {
            folder.write(&words[1], &(answer.join("\n") + "\n"));
            continue;
        }
        assert_eq!(words.remove(0), "carom", "{command}");
        let ran = folder.carom(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let found: Vec<String> = String::from_utf8(ran.stdout).unwrap().lines().map(|l| l.trim_end().to_string()).collect();
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
        let (said, found) = (telling(answer), telling(&found));
        assert_eq!(said.len(), found.len(), "{command}\n{}", found.join("\n"));
        for (said, found) in said.iter().zip(&found) {
            assert!(same(said, found), "{command}\nsaid   {said}\nfound  {found}");
        }
    }
}
