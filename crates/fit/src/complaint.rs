//! An input that makes no sense, and what to do about it.

use std::fmt;

/// How alike two words must be to be taken for each other.
const ALIKE: f64 = 0.7;

/// What is wrong with an input, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for Complaint {}

pub(crate) fn bad(message: String, help: impl Into<String>) -> Complaint {
    Complaint { message, help: help.into() }
}

/// The nearest of some words; none where nothing is alike.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for candidate in known {
        let alike = strsim::jaro_winkler(&word, &candidate.to_lowercase());
        if alike >= ALIKE && best.is_none_or(|(b, _)| alike > b) {
            best = Some((alike, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// A word that names nothing, with the nearest that does.
pub(crate) fn unknown<'a>(message: String, word: &str, known: impl IntoIterator<Item = &'a str> + Clone, listing: &str) -> Complaint {
    let help = match nearest(word, known) {
        Some(near) => format!("did you mean \"{near}\"? {listing}"),
        None => listing.to_string(),
    };
    bad(message, help)
}
