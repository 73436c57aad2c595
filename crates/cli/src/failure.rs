//! What went wrong, for people (underlined source, help) and for programs (JSON), with the exit code it deserves.

use carom::dynamics::{ModelError, StepError};
use carom::record::RecordError;
use carom::scene::{SceneError, SceneErrors};
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use serde_json::{Value, json};
use std::fmt;
use std::io::{self, ErrorKind, Write};

/// Exit code of a command that could not do what was asked.
const FAILED: u8 = 1;
/// Exit code of an input that makes no sense.
const BAD_INPUT: u8 = 2;
/// Exit code of a command that Ctrl-C stopped before its answer was complete, as shells know it.
const INTERRUPTED: u8 = 130;
/// Allowed words that are listed before the list is cut short.
const MAX_LISTED: usize = 40;

/// Why a command did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The input makes no sense.
    BadInput(Vec<Fault>),
    /// The command failed.
    Failed(Vec<Fault>),
    /// The reader of our output is gone: nothing to say, and nobody to say it to.
    Unheard,
    /// The command said all there is to say; it failed.
    Told,
    /// The user stopped it; what it had, it has said.
    Interrupted,
}

/// One thing that is wrong, with its place where there is one.
#[derive(Debug, Default)]
pub struct Fault {
    message: String,
    help: Option<String>,
    label: Option<LabeledSpan>,
    source: Option<NamedSource<String>>,
    json: Option<Value>,
}

impl Fault {
    /// A fault without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Fault { message: message.into(), ..Fault::default() }
    }
    /// Says what to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// Underlines a part of a text that was typed, `name` saying where.
    pub fn at(mut self, name: &str, text: &str, span: std::ops::Range<usize>, label: impl Into<String>) -> Self {
        self.label = Some(LabeledSpan::new_with_span(Some(label.into()), span));
        self.source = Some(NamedSource::new(name, text.to_string()));
        self
    }
    /// A fault of a scene text.
    fn of_scene(error: &SceneError, text: &str) -> Self {
        let key = if error.key.is_empty() { String::new() } else { format!(", key \"{}\"", error.key) };
        let mut help = Vec::new();
        if let Some(nearest) = &error.nearest {
            help.push(format!("did you mean \"{nearest}\"?"));
        }
        if !error.allowed.is_empty() {
            let rest = if error.allowed.len() > MAX_LISTED { ", ..." } else { "" };
            help.push(format!("allowed: {}{rest}", error.allowed[..error.allowed.len().min(MAX_LISTED)].join(", ")));
        }
        let placed = !text.is_empty();
        let label = error.found.as_ref().map_or_else(|| error.problem.clone(), |found| format!("found {found}"));
        // Without a text to underline the place stands in the message.
        let place = if placed { String::new() } else { format!("{}: ", error.file) };
        Fault {
            message: format!("{place}{}{key}: {}", error.part, error.problem),
            help: (!help.is_empty()).then(|| help.join("\n")),
            label: placed.then(|| LabeledSpan::new_with_span(Some(label), error.span.clone())),
            source: placed.then(|| NamedSource::new(&error.file, text.to_string())),
            json: Some(json!({
                "message": error.to_string(), "file": error.file, "line": error.line, "column": error.column, "part": error.part,
                "key": error.key, "problem": error.problem, "found": error.found, "allowed": error.allowed, "nearest": error.nearest,
            })),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl Diagnostic for Fault {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|s| s as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.label.clone().map(|l| Box::new(std::iter::once(l)) as Box<dyn Iterator<Item = LabeledSpan>>)
    }
}

impl Failure {
    /// One fault of the input.
    pub fn bad_input(fault: Fault) -> Self {
        Failure::BadInput(vec![fault])
    }
    /// All faults of a model made of several files, each underlined in its own.
    pub fn model_text(errors: &SceneErrors) -> Self {
        let of = |error: &SceneError| Fault::of_scene(error, &std::fs::read_to_string(&error.file).unwrap_or_default());
        Failure::BadInput(errors.iter().map(of).collect())
    }
    /// All faults of a scene text.
    pub fn scene(errors: &SceneErrors, text: &str) -> Self {
        Failure::BadInput(errors.iter().map(|e| Fault::of_scene(e, text)).collect())
    }
    /// A model that cannot be built from a scene.
    pub fn model(file: &str, error: &ModelError) -> Self {
        Failure::bad_input(Fault::new(format!("{file}: {error}")))
    }
    /// A step that could not be taken.
    pub fn step(error: &StepError) -> Self {
        Failure::Failed(vec![Fault::new(error.to_string()).help("what was computed before it is saved; try a shorter --step")])
    }
    /// Says what to do about it, where nothing was said yet.
    pub fn with_help(mut self, help: impl Fn() -> String) -> Self {
        if let Failure::BadInput(faults) | Failure::Failed(faults) = &mut self {
            faults.iter_mut().for_each(|fault| {
                fault.help.get_or_insert_with(&help);
            });
        }
        self
    }
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::BadInput(_) => BAD_INPUT,
            Failure::Failed(_) | Failure::Told => FAILED,
            Failure::Unheard => 0,
            Failure::Interrupted => INTERRUPTED,
        }
    }
    /// Prints to standard error, for people.
    pub fn explain(&self) {
        if let Failure::BadInput(faults) | Failure::Failed(faults) = self {
            let color = anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
            // Lines end at blanks alone: the rules of Unicode keep ", .webm" together, and a list of endings would be cut within a word.
            let spaces = textwrap::WordSeparator::AsciiSpace;
            let handler = miette::MietteHandlerOpts::new().color(color).word_separator(spaces).break_words(false).build();
            for fault in faults {
                // Nothing is left to do where not even this can be written.
                let _ = writeln!(io::stderr(), "{}", Shown { fault, handler: &handler });
            }
        }
    }
    /// For programs; `None` where there is nothing to say.
    pub fn json(&self) -> Option<Value> {
        match self {
            Failure::BadInput(faults) | Failure::Failed(faults) => {
                let errors: Vec<Value> =
                    faults.iter().map(|f| f.json.clone().unwrap_or_else(|| json!({ "message": f.message, "help": f.help }))).collect();
                Some(json!({ "ok": false, "errors": errors }))
            }
            Failure::Unheard | Failure::Told | Failure::Interrupted => None,
        }
    }
}

/// A fault as the handler draws it.
struct Shown<'a> {
    fault: &'a Fault,
    handler: &'a miette::MietteHandler,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        miette::ReportHandler::debug(self.handler, self.fault, f)
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        let fault = Fault::new(error.to_string());
        match &error {
            RecordError::Io { action: "read", .. }
            | RecordError::Format { .. }
            | RecordError::NotALog { .. }
            | RecordError::Version { .. }
            | RecordError::Truncated { .. }
            | RecordError::Corrupt { .. }
            | RecordError::Mismatch { .. }
            | RecordError::Content { .. }
            | RecordError::Physics { .. }
            | RecordError::NoMark { .. } => Failure::bad_input(fault),
            _ => Failure::Failed(vec![fault]),
        }
    }
}

impl From<io::Error> for Failure {
    /// Errors of standard output.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Failure::Unheard,
            _ => Failure::Failed(vec![Fault::new(format!("standard output: {error}"))]),
        }
    }
}
