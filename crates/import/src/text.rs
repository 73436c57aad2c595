//! The texts a model is made of: the file itself and what it includes, one after the other, so that one number names a place in any of them.

use carom_scene::SceneError;
use carom_scene::error::{Details, Span};
use std::path::{Path, PathBuf};

/// Largest model file \[bytes\].
const MAX_FILE: u64 = 64 << 20;
/// Most files of one model.
const MAX_FILES: usize = 256;
/// Letters of the text quoted in a message.
const MAX_QUOTE: usize = 40;

/// One file.
#[derive(Debug)]
struct File {
    name: String,
    path: Option<PathBuf>,
    text: String,
    /// Place of its first byte among all texts.
    start: usize,
}

/// All texts of a model.
#[derive(Debug, Default)]
pub struct Texts {
    files: Vec<File>,
}

/// What is wrong or missing at a place of the texts.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Fault {
    /// Bytes among all texts.
    pub span: Span,
    /// Which part: `joint "knee"`.
    pub part: String,
    /// Attribute; empty for the element itself.
    pub key: Box<str>,
    /// What is wrong.
    pub problem: String,
    /// What may stand there.
    pub allowed: Option<Box<str>>,
    /// Whether the text at the place is quoted.
    pub quote: bool,
    /// The valid word nearest to the one found.
    pub nearest: Option<Box<str>>,
}

impl Fault {
    /// A fault of an attribute of a part.
    pub fn new(span: Span, part: impl Into<String>, key: impl Into<String>, problem: impl Into<String>) -> Self {
        Fault { span, part: part.into(), key: key.into().into(), problem: problem.into(), allowed: None, quote: false, nearest: None }
    }
    /// Says what may stand there.
    pub fn allowed(mut self, allowed: impl Into<String>) -> Self {
        self.allowed = Some(allowed.into().into());
        self
    }
    /// Names the word that may have been meant.
    pub fn instead<'w>(mut self, found: &str, words: impl IntoIterator<Item = &'w str>) -> Self {
        self.nearest = carom_scene::error::nearest(found, words).map(Box::from);
        self
    }
    /// Quotes what stands there.
    pub fn quoted(mut self) -> Self {
        self.quote = true;
        self
    }
}

impl Texts {
    /// Adds a text; its place among all texts.
    pub fn add(&mut self, name: &str, path: Option<PathBuf>, text: String) -> usize {
        let start = self.files.last().map_or(0, |f| f.start + f.text.len() + 1);
        self.files.push(File { name: name.to_string(), path, text, start });
        start
    }
    /// Reads a file and adds it; its place, or what is wrong.
    pub fn read(&mut self, path: &Path) -> Result<usize, String> {
        let about = std::fs::metadata(path).map_err(|e| format!("cannot be opened: {e}"))?;
        if !about.is_file() {
            return Err("is not a file".to_string());
        }
        if about.len() > MAX_FILE {
            return Err(format!("has {} bytes, and at most {MAX_FILE} are read", about.len()));
        }
        let real = path.canonicalize().map_err(|e| format!("cannot be opened: {e}"))?;
        if self.files.iter().any(|f| f.path.as_ref() == Some(&real)) {
            return Err("is part of this model already".to_string());
        }
        if self.files.len() >= MAX_FILES {
            return Err(format!("is one file too many: a model has at most {MAX_FILES}"));
        }
        let bytes = std::fs::read(path).map_err(|e| format!("cannot be read: {e}"))?;
        if [[0xff, 0xfe], [0xfe, 0xff]].iter().any(|mark| bytes.starts_with(mark)) {
            return Err("is UTF-16: models are read as UTF-8".to_string());
        }
        let text = tidy(&String::from_utf8_lossy(&bytes));
        Ok(self.add(&path.display().to_string(), Some(real), text))
    }
    /// The text that starts at a place; empty for any other.
    pub fn text(&self, start: usize) -> &str {
        self.files.iter().find(|f| f.start == start).map_or("", |f| &f.text)
    }
    fn file(&self, at: usize) -> Option<&File> {
        self.files.iter().rev().find(|f| f.start <= at)
    }
    /// All texts in a row, as the places count them.
    pub fn all(&self) -> String {
        self.files.iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join("\n")
    }
    /// File, line, column and local bytes of a place.
    fn place(&self, span: &Span) -> (String, usize, usize, Span, &str) {
        let Some(file) = self.file(span.start) else { return (String::new(), 1, 1, 0..0, "") };
        let local = |at: usize| {
            let mut at = at.saturating_sub(file.start).min(file.text.len());
            while !file.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let bytes = local(span.start)..local(span.end.max(span.start));
        let before = &file.text[..bytes.start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        (file.name.clone(), line, column, bytes.clone(), &file.text[bytes])
    }
    /// Line of a place in its file, from 1.
    pub fn line(&self, span: &Span) -> usize {
        self.place(span).1
    }
    /// A fault with its file, line and column.
    pub fn error(&self, fault: Fault) -> SceneError {
        let (file, line, column, span, text) = self.place(&fault.span);
        let found = fault.quote.then(|| quote(text));
        let allowed = fault.allowed.into_iter().map(String::from).collect();
        Details {
            file,
            span,
            line,
            column,
            part: fault.part,
            key: fault.key.into(),
            problem: fault.problem,
            found,
            allowed,
            nearest: fault.nearest.map(String::from),
        }
        .into()
    }
    /// An error of the whole row of texts, as an error of the file it is in.
    pub fn relocate(&self, error: &SceneError) -> SceneError {
        let (file, line, column, span, _) = self.place(&error.span);
        Details { file, line, column, span, ..(**error).clone() }.into()
    }
}

/// The text without what some writers leave around it, byte for byte in place: a declaration after blanks becomes blanks, zeros at the end go.
fn tidy(text: &str) -> String {
    let text = text.trim_end_matches('\0');
    let blanks = text.len() - text.trim_start().len();
    match text[blanks..].find("?>").filter(|_| blanks > 0 && text[blanks..].starts_with("<?xml")) {
        Some(end) => {
            let end = blanks + end + "?>".len();
            let blank = text[blanks..end].replace(|c: char| c.is_ascii() && c != '\n', " ");
            format!("{}{blank}{}", &text[..blanks], &text[end..])
        }
        None => text.to_string(),
    }
}

/// The text at a place on one line, cut short.
fn quote(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_QUOTE) {
        Some((cut, _)) => format!("{}...", &words[..cut]),
        None if words.is_empty() => "nothing".to_string(),
        None => words,
    }
}
