//! What is wrong with a scene, where it stands and what would be right.

use std::fmt;
use std::ops::Range;

/// Bytes of the scene text.
pub type Span = Range<usize>;

/// Errors kept from one text; a broken file repeats itself, and the first few say it all.
const MAX_ERRORS: usize = 50;
/// Letters of the scene text quoted in a message.
const MAX_QUOTE: usize = 40;
/// Allowed words spelled out in a message before it is cut short: more than any table has keys.
const MAX_ALLOWED: usize = 24;

/// One fault of a scene: the place, the key, what was found, what is allowed; its fields are those of [`Details`].
///
/// Boxed, so that a result that carries it stays small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneError(Box<Details>);

impl std::ops::Deref for SceneError {
    type Target = Details;
    fn deref(&self) -> &Details {
        &self.0
    }
}

/// What a [`SceneError`] knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// File, or the name given with the text.
    pub file: String,
    /// Bytes of the text that are at fault.
    pub span: Span,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Which part of the scene: `body "cue"`, `joint "hip"`, `scene`.
    pub part: String,
    /// Path of the key within the part (`motor.max`); empty when the part as a whole is at fault.
    pub key: String,
    /// What is wrong, in a few words.
    pub problem: String,
    /// What stands there.
    pub found: Option<String>,
    /// What may stand there.
    pub allowed: Vec<String>,
    /// The valid word nearest to the one found.
    pub nearest: Option<String>,
}

impl From<Details> for SceneError {
    fn from(details: Details) -> Self {
        SceneError(Box::new(details))
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.part)?;
        if !self.key.is_empty() {
            write!(f, ", key \"{}\"", self.key)?;
        }
        write!(f, ": {}", self.problem)?;
        if let Some(found) = &self.found {
            write!(f, " (found {found})")?;
        }
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean \"{nearest}\"?")?;
        }
        if !self.allowed.is_empty() {
            let mark = if self.nearest.is_some() { "" } else { ";" };
            let shown = &self.allowed[..self.allowed.len().min(MAX_ALLOWED)];
            let rest = if shown.len() < self.allowed.len() { ", ..." } else { "" };
            write!(f, "{mark} allowed: {}{rest}", shown.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for SceneError {}

/// All faults of a scene, never empty, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneErrors(Vec<SceneError>);

impl SceneErrors {
    /// The faults in this order; `None` when there are none.
    pub fn new(errors: Vec<SceneError>) -> Option<Self> {
        (!errors.is_empty()).then_some(SceneErrors(errors))
    }
    /// The first fault.
    pub fn first(&self) -> &SceneError {
        &self.0[0]
    }
    /// The faults in the order of the text.
    pub fn iter(&self) -> std::slice::Iter<'_, SceneError> {
        self.0.iter()
    }
    /// The first fault by value.
    pub fn into_first(mut self) -> SceneError {
        self.0.swap_remove(0)
    }
}

impl fmt::Display for SceneErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for SceneErrors {}

impl From<SceneError> for SceneErrors {
    fn from(error: SceneError) -> Self {
        SceneErrors(vec![error])
    }
}

/// A fault before its place is turned into line and column.
#[derive(Debug)]
#[must_use]
pub(crate) struct Fault {
    span: Span,
    part: String,
    key: String,
    problem: String,
    found: Option<String>,
    allowed: Vec<String>,
    nearest: Option<String>,
    quote: bool,
}

impl Fault {
    /// A fault of a key of a part.
    pub fn new(span: Span, part: impl Into<String>, key: impl Into<String>, problem: impl Into<String>) -> Self {
        Fault {
            span,
            part: part.into(),
            key: key.into(),
            problem: problem.into(),
            found: None,
            allowed: Vec::new(),
            nearest: None,
            quote: false,
        }
    }
    /// Quotes the text at fault.
    pub fn quoted(mut self) -> Self {
        self.quote = true;
        self
    }
    /// Says what stands there.
    pub fn found(mut self, found: impl fmt::Display) -> Self {
        self.found = Some(found.to_string());
        self
    }
    /// Says what may stand there, as one phrase.
    pub fn allowed(mut self, allowed: impl Into<String>) -> Self {
        self.allowed = vec![allowed.into()];
        self
    }
    /// The same fault of another part, elsewhere.
    pub fn at(mut self, span: Span, part: impl Into<String>) -> Self {
        (self.span, self.part) = (span, part.into());
        self
    }
    /// Lists the keys that may stand there and picks the nearest to `word`.
    pub fn keys<'a>(mut self, word: &str, keys: impl IntoIterator<Item = &'a str> + Clone) -> Self {
        self.nearest = nearest(word, keys.clone()).map(str::to_string);
        self.allowed = keys.into_iter().take(MAX_ALLOWED + 1).map(str::to_string).collect();
        self
    }
    /// Lists the values that may stand there, in quotes, and picks the nearest to `word`.
    pub fn words<'a>(self, word: &str, words: impl IntoIterator<Item = &'a str> + Clone) -> Self {
        let mut fault = self.keys(word, words);
        fault.allowed.iter_mut().for_each(|word| *word = format!("\"{word}\""));
        fault
    }
}

/// Collects the faults of one text.
#[derive(Debug)]
pub(crate) struct Sink<'t> {
    file: String,
    text: &'t str,
    errors: Vec<SceneError>,
    graft: Option<Graft>,
}

/// Text of included files that stands behind the scene's own: its first byte, and from which byte on it belongs to which `include`.
#[derive(Debug)]
struct Graft {
    start: usize,
    text: String,
    pieces: Vec<(usize, Span)>,
}

impl Graft {
    /// The place of the `include` that wrote a byte.
    fn place(&self, byte: usize) -> Option<&Span> {
        self.pieces.iter().rev().find(|(start, _)| *start <= byte).map(|(_, place)| place)
    }
}

impl<'t> Sink<'t> {
    /// A sink for a text; `file` appears in messages.
    pub fn new(file: &str, text: &'t str) -> Self {
        Sink { file: file.to_string(), text, errors: Vec::new(), graft: None }
    }
    /// The one error of a text that gave neither a tree nor a fault: never seen, and still not a panic.
    pub fn fallback(file: &str) -> SceneErrors {
        let mut sink = Sink::new(file, "");
        sink.push(Fault::new(0..0, "scene", "", "cannot be read"));
        SceneErrors(sink.errors)
    }
    /// The text.
    pub fn text(&self) -> &'t str {
        self.text
    }
    /// From now on faults of bytes from `start` on are faults of the `include` that wrote them: those of `pieces`, in order.
    pub fn graft(&mut self, pieces: Vec<(usize, Span)>, start: usize, text: String) {
        self.graft = Some(Graft { start, text, pieces });
    }
    /// Keeps the faults of another file as they are.
    pub fn adopt(&mut self, errors: &SceneErrors) {
        let room = MAX_ERRORS.saturating_sub(self.errors.len());
        self.errors.extend(errors.iter().take(room).cloned());
    }
    /// Keeps a fault.
    pub fn push(&mut self, mut fault: Fault) {
        if self.errors.len() >= MAX_ERRORS {
            return;
        }
        if let Some(graft) = self.graft.as_ref().filter(|graft| fault.span.start >= graft.start)
            && let Some(place) = graft.place(fault.span.start)
        {
            if std::mem::take(&mut fault.quote) {
                let bytes = fault.span.start - graft.start..fault.span.end.saturating_sub(graft.start);
                fault.found = Some(quote(&graft.text, &bytes));
            }
            fault.span = place.clone();
        }
        let (line, column) = place(self.text, fault.span.start);
        let found = if fault.quote { Some(quote(self.text, &fault.span)) } else { fault.found };
        self.errors.push(SceneError(Box::new(Details {
            file: self.file.clone(),
            span: fault.span,
            line,
            column,
            part: fault.part,
            key: fault.key,
            problem: fault.problem,
            found,
            allowed: fault.allowed,
            nearest: fault.nearest,
        })));
    }
    /// Whether nothing is wrong so far.
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }
    /// All faults in the order of the text; `None` when there are none.
    pub fn into_errors(mut self) -> Option<SceneErrors> {
        // Stable: faults at one place stay in the order they were seen.
        self.errors.sort_by_key(|e| e.span.start);
        (!self.errors.is_empty()).then_some(SceneErrors(self.errors))
    }
}

/// Line and column of a byte, both from 1.
fn place(text: &str, byte: usize) -> (usize, usize) {
    let mut end = byte.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// The text of a span on one line, cut short.
fn quote(text: &str, span: &Span) -> String {
    let raw = text.get(span.clone()).unwrap_or("");
    let mut words = raw.split_whitespace();
    let mut line = words.next().unwrap_or("").to_string();
    for word in words {
        if line.len() > MAX_QUOTE {
            break;
        }
        line.push(' ');
        line.push_str(word);
    }
    if line.chars().count() > MAX_QUOTE {
        line = line.chars().take(MAX_QUOTE).collect::<String>() + "...";
    }
    if line.is_empty() { "nothing".to_string() } else { line }
}

/// Words of other engines and of plain speech, and what they are called here.
const ALIASES: [(&str, &str); 41] = [
    ("type", "kind"),
    ("pos", "position"),
    ("translation", "position"),
    ("orientation", "rotation"),
    ("quaternion", "rotation"),
    ("vel", "velocity"),
    ("linvel", "velocity"),
    ("linear_velocity", "velocity"),
    ("angvel", "spin"),
    ("angular_velocity", "spin"),
    ("omega", "spin"),
    ("mu", "friction"),
    ("bounce", "restitution"),
    ("colour", "color"),
    ("dt", "step"),
    ("timestep", "step"),
    ("time_step", "step"),
    ("time", "duration"),
    ("bodies", "body"),
    ("joints", "joint"),
    ("forces", "force"),
    ("points", "point"),
    ("site", "point"),
    ("sites", "point"),
    ("pairs", "pair"),
    ("material", "materials"),
    ("dim", "dimension"),
    ("circle", "ball"),
    ("sphere", "ball"),
    ("rectangle", "box"),
    ("cuboid", "box"),
    ("polygon", "convex"),
    ("plane", "half_space"),
    ("halfspace", "half_space"),
    ("revolute", "hinge"),
    ("pin", "hinge"),
    ("prismatic", "slider"),
    ("fixed", "weld"),
    ("spherical", "ball"),
    ("pivot", "anchor"),
    ("linear_damping", "damping"),
];

/// The candidate nearest to a word: a known alias, a completion, or a few typing errors away.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let alias = ALIASES.iter().filter(|(from, _)| *from == lower).map(|(_, to)| *to);
    let alias: Vec<&str> = alias.collect();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if alias.contains(&candidate) {
            return Some(candidate);
        }
        // One error in a short word, two in a longer one, a third of a long one: beyond it a guess misleads.
        let limit = (lower.chars().count().max(candidate.chars().count()) / 3).max(1);
        let distance = if lower.len() > 1 && candidate.starts_with(&lower) { 1 } else { edit_distance(&lower, candidate, limit) };
        if distance <= limit && distance < candidate.chars().count() && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`; `limit + 1` when more are needed.
fn edit_distance(a: &str, b: &str, limit: usize) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect(), vec![0; b.len() + 1]];
    for i in 1..=a.len() {
        let [before, last, row] = &mut rows;
        row[0] = i;
        for j in 1..=b.len() {
            let differ = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + differ);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_counts_single_errors() {
        for (a, b, wanted) in
            [("mass", "mass", 0), ("mas", "mass", 1), ("amss", "mass", 1), ("mess", "mass", 1), ("moss", "mess", 1), ("ab", "cd", 2)]
        {
            assert_eq!(edit_distance(a, b, 9), wanted, "{a} {b}");
            assert_eq!(edit_distance(b, a, 9), wanted, "{b} {a}");
        }
    }

    #[test]
    fn nearest_knows_typing_errors_aliases_and_completions_and_does_not_guess_wildly() {
        let keys = ["mass", "density", "position", "velocity", "kind", "rotation"];
        assert_eq!(nearest("mas", keys), Some("mass"));
        assert_eq!(nearest("Postion", keys), Some("position"));
        assert_eq!(nearest("type", keys), Some("kind"));
        assert_eq!(nearest("rot", keys), Some("rotation"));
        assert_eq!(nearest("banana", keys), None);
        assert_eq!(nearest("", keys), None);
    }

    #[test]
    fn places_count_characters_and_survive_any_byte() {
        let text = "a = 1\nä = 2\n";
        assert_eq!(place(text, 0), (1, 1));
        assert_eq!(place(text, 6), (2, 1));
        assert_eq!(place(text, 9), (2, 3));
        assert_eq!(place(text, 7), (2, 1));
        assert_eq!(place(text, 1000), (3, 1));
    }
}
