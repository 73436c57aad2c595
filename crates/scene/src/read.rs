//! Reads one table against its list of keys: unknown words, wrong types, wrong lengths and numbers out of range all end here.

use crate::error::{Fault, Sink, Span};
use crate::keys::{Bound, Key, Kind, NOT_YET, Table};
use crate::tree::{At, Places, Triple};
use carom_dynamics::Worded;
use serde_spanned::Spanned;
use toml::de::{DeArray, DeValue};

/// Longest name of a body, joint, material or group, in bytes.
const MAX_NAME: usize = 200;
/// Largest magnitude of any number of a scene, given or derived: its fifth power, the inertia of a length, is still a number.
pub(crate) const MAX_NUMBER: f64 = 1e50;

/// A value of the text with its place.
pub(crate) type Node<'t> = Spanned<DeValue<'t>>;

/// A value that passed its key's checks.
#[derive(Debug)]
pub(crate) enum Value<'a, 't> {
    /// Text, name, choice.
    Text(String),
    /// Number.
    Number(f64),
    /// Whole number.
    Whole(u64),
    /// Flag or colour.
    Flag(bool),
    /// Colour.
    Color(u32),
    /// Vector, direction, extents, rate.
    Vector(Triple),
    /// Quaternion.
    Quaternion([f64; 4]),
    /// Two points or directions.
    Two([Triple; 2]),
    /// Points.
    Points(Vec<Triple>),
    /// Two numbers.
    Pair([f64; 2]),
    /// Names or choices.
    Names(Vec<At<String>>),
    /// To be read by its own function.
    Raw(&'a Node<'t>),
}

/// The part of the scene that is being read, for messages.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// `body "cue"`.
    pub name: String,
    /// Path of keys down to the table, ending in a dot; empty at the part itself.
    pub prefix: String,
}

impl Part {
    /// A part.
    pub fn new(name: impl Into<String>) -> Self {
        Part { name: name.into(), prefix: String::new() }
    }
    /// A table within a part.
    pub fn inner(&self, key: &str) -> Self {
        Part { name: self.name.clone(), prefix: format!("{}{key}.", self.prefix) }
    }
    /// A fault of a key of this part.
    pub fn fault(&self, span: Span, key: &str, problem: impl Into<String>) -> Fault {
        Fault::new(span, self.name.clone(), format!("{}{key}", self.prefix), problem)
    }
}

/// The keys of one table that passed.
#[derive(Debug)]
pub(crate) struct Fields<'a, 't> {
    /// Which part.
    pub part: Part,
    /// The whole table.
    pub span: Span,
    entries: Vec<(&'static Key, Span, Value<'a, 't>)>,
}

macro_rules! getter {
    ($name:ident, $variant:ident, $type:ty, $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&self, key: &str) -> Option<$type> {
            self.find(key).and_then(|(_, value)| match value {
                Value::$variant(x) => Some(x.clone()),
                _ => None,
            })
        }
    };
}

impl<'a, 't> Fields<'a, 't> {
    fn find(&self, key: &str) -> Option<(&Span, &Value<'a, 't>)> {
        self.entries.iter().find(|(k, _, _)| k.name == key).map(|(_, span, value)| (span, value))
    }
    getter!(text, Text, String, "A text.");
    getter!(number, Number, f64, "A number.");
    getter!(whole, Whole, u64, "A whole number.");
    getter!(flag, Flag, bool, "A flag.");
    getter!(color, Color, u32, "A colour.");
    getter!(vector, Vector, Triple, "A vector.");
    getter!(quaternion, Quaternion, [f64; 4], "A quaternion.");
    getter!(two, Two, [Triple; 2], "Two points.");
    getter!(points, Points, Vec<Triple>, "Points.");
    getter!(pair, Pair, [f64; 2], "Two numbers.");
    getter!(names, Names, Vec<At<String>>, "Names.");
    /// The choice of a word; the default where it is not written.
    pub fn chosen<T: Worded + Default>(&self, key: &str) -> T {
        self.text(key).as_deref().and_then(T::of_word).unwrap_or_default()
    }
    /// A text with its place.
    pub fn text_at(&self, key: &str) -> Option<At<String>> {
        self.text(key).map(|text| At::new(text, self.span_of(key)))
    }
    /// Two names.
    pub fn two_names(&self, key: &str) -> Option<[At<String>; 2]> {
        self.names(key).and_then(|names| names.try_into().ok())
    }
    /// A value with a grammar of its own.
    pub fn raw(&self, key: &str) -> Option<&'a Node<'t>> {
        self.find(key).and_then(|(_, value)| match value {
            Value::Raw(node) => Some(*node),
            _ => None,
        })
    }
    /// Whether a key was written (and passed).
    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }
    /// The place of a key's value, or of the table.
    pub fn span_of(&self, key: &str) -> Span {
        self.find(key).map_or_else(|| self.span.clone(), |(span, _)| span.clone())
    }
    /// The keys that were written, in the order of the table's list.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.entries.iter().map(|(key, _, _)| *key)
    }
    /// Where everything stands.
    pub fn places(&self) -> Places {
        Places { whole: self.span.clone(), keys: self.entries.iter().map(|(k, span, _)| (k.name, span.clone())).collect() }
    }
    /// A fault of a key of this table, at its value.
    pub fn fault(&self, key: &str, problem: impl Into<String>) -> Fault {
        self.part.fault(self.span_of(key), key, problem)
    }
}

/// The bytes of a node.
pub(crate) fn span(node: &Node<'_>) -> Span {
    node.span()
}

/// Reads values and keeps their faults.
#[derive(Debug)]
pub(crate) struct Reader<'t> {
    /// Faults so far.
    pub sink: Sink<'t>,
    /// 2 or 3.
    pub dimension: usize,
}

impl<'t> Reader<'t> {
    /// Reads a table: every key that passes its checks. `None` when it is no table. `required` keys must be there.
    pub fn table<'a>(&mut self, table: &'static Table, part: Part, node: &'a Node<'t>, required: &[&str]) -> Option<Fields<'a, 't>> {
        let DeValue::Table(entries) = node.get_ref() else {
            let key = part.prefix.trim_end_matches('.').to_string();
            self.sink.push(Fault::new(span(node), part.name, key, "wrong type").quoted().allowed("a table of keys"));
            return None;
        };
        let mut written = Vec::new();
        for (name, value) in entries.iter() {
            let word: &str = name.get_ref();
            match table.key(word) {
                Some(key) if key.space.holds(self.dimension) => {
                    if let Some(read) = self.value(key, &part, value) {
                        written.push((key, span(value), read));
                    }
                }
                Some(_) => {
                    let (here, there) = if self.dimension == 2 { ("plane", "space") } else { ("space", "the plane") };
                    let mut fault = part.fault(name.span(), word, format!("exists only in {there}")).keys(word, self.names(table));
                    if let ("rotation", "plane") | ("angle", "space") = (word, here) {
                        let other = if word == "rotation" { "angle" } else { "rotation" };
                        fault = part.fault(name.span(), word, format!("exists only in {there}")).allowed(format!("\"{other}\""));
                    }
                    self.sink.push(fault);
                }
                None => self.sink.push(part.fault(name.span(), word, "unknown key").keys(word, self.names(table))),
            }
        }
        // The text's map is sorted by letters; the reference's order is the one that is kept.
        written.sort_by_key(|(key, _, _)| table.keys.iter().position(|k| k.name == key.name));
        for key in required {
            if !entries.keys().any(|k| k.get_ref().as_ref() == *key) {
                self.sink.push(part.fault(span(node), key, "missing").allowed(table.key(key).map_or(String::new(), |k| self.describe(k))));
            }
        }
        Some(Fields { part, span: span(node), entries: written })
    }

    /// The keys of a table that exist in this dimension.
    fn names(&self, table: &'static Table) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let dimension = self.dimension;
        table.keys.iter().filter(move |k| k.space.holds(dimension)).map(|k| k.name)
    }

    /// Reads the value of a key.
    fn value<'a>(&mut self, key: &'static Key, part: &Part, node: &'a Node<'t>) -> Option<Value<'a, 't>> {
        let wrong = |r: &Self, problem: &str| part.fault(span(node), key.name, problem).quoted().allowed(r.describe(key));
        let read = match key.kind {
            Kind::Special(_) => Ok(Value::Raw(node)),
            Kind::Text => text(node).map(|t| Value::Text(t.to_string())),
            Kind::Name => text(node).and_then(|t| if is_name(t) { Ok(Value::Text(t.to_string())) } else { Err("not a name") }),
            Kind::Number(bound) => number(node, bound).map(Value::Number),
            Kind::Until => match number_or_inf(node) {
                Ok(x) if x >= 0.0 => Ok(Value::Number(x)),
                Ok(_) => Err("out of range"),
                Err(problem) => Err(problem),
            },
            Kind::Whole(low, high) => whole(node, low, high).map(Value::Whole),
            Kind::Flag => match node.get_ref() {
                DeValue::Boolean(b) => Ok(Value::Flag(*b)),
                _ => Err("wrong type"),
            },
            Kind::Vector => self.triple(node, Bound::Any).map(Value::Vector),
            Kind::Direction => self.triple(node, Bound::Any).and_then(direction).map(Value::Vector),
            Kind::Extents => self.triple(node, Bound::Positive).map(Value::Vector),
            Kind::Rate => if self.dimension == 2 { number(node, Bound::Any).map(|x| [x, 0.0, 0.0]) } else { self.triple(node, Bound::Any) }
                .map(Value::Vector),
            Kind::Quaternion => fixed::<4>(node, Bound::Any).and_then(|q| {
                if q.iter().all(|x| *x == 0.0) { Err("a quaternion of zeros turns nowhere") } else { Ok(Value::Quaternion(q)) }
            }),
            Kind::TwoPoints => self.triples(node).and_then(two).map(Value::Two),
            Kind::TwoDirections => self.triples(node).and_then(two).and_then(|[a, b]| Ok(Value::Two([direction(a)?, direction(b)?]))),
            Kind::Points => self.triples(node).map(Value::Points),
            Kind::Limits => fixed::<2>(node, Bound::Any)
                .and_then(|[low, high]| if low <= high { Ok(Value::Pair([low, high])) } else { Err("the lower limit comes first") }),
            Kind::LengthRadius => fixed::<2>(node, Bound::Positive).map(Value::Pair),
            Kind::Color => text(node).and_then(color).map(Value::Color),
            Kind::Choice(words) => return self.choice(key, part, node, words).map(Value::Text),
            Kind::Choices(words) => return self.choices(key, part, node, words).map(Value::Names),
            Kind::Names => names(node).map(Value::Names),
            Kind::TwoNames => names(node).and_then(|n| if n.len() == 2 { Ok(Value::Names(n)) } else { Err("wrong length") }),
        };
        match read {
            Ok(value) => Some(value),
            Err(problem) => {
                self.sink.push(wrong(self, problem));
                None
            }
        }
    }

    /// One of some words.
    pub fn choice(&mut self, key: &Key, part: &Part, node: &Node<'t>, words: &'static [&'static str]) -> Option<String> {
        let fault = match text(node) {
            Ok(word) if words.contains(&word) => return Some(word.to_string()),
            Ok(word) if NOT_YET.contains(&(key.name, word)) => {
                part.fault(span(node), key.name, "not available yet").quoted().allowed(self.describe(key))
            }
            Ok(word) => part.fault(span(node), key.name, "unknown word").quoted().words(word, words.iter().copied()),
            Err(problem) => part.fault(span(node), key.name, problem).quoted().allowed(self.describe(key)),
        };
        self.sink.push(fault);
        None
    }

    /// Any of some words.
    fn choices(&mut self, key: &Key, part: &Part, node: &Node<'t>, words: &'static [&'static str]) -> Option<Vec<At<String>>> {
        let listed = match names(node) {
            Ok(listed) => listed,
            Err(problem) => {
                self.sink.push(part.fault(span(node), key.name, problem).quoted().allowed(self.describe(key)));
                return None;
            }
        };
        let words = words.iter().copied().filter(|w| self.dimension == 3 || *w != "z");
        for word in &listed {
            if !words.clone().any(|w| w == word.value) {
                self.sink.push(part.fault(word.span.clone(), key.name, "unknown word").quoted().words(&word.value, words));
                return None;
            }
        }
        Some(listed)
    }

    /// As many numbers as there are dimensions.
    pub fn triple(&self, node: &Node<'t>, bound: Bound) -> Result<Triple, &'static str> {
        let items = array(node)?;
        if items.len() != self.dimension {
            return Err("wrong length");
        }
        let mut out = [0.0; 3];
        for (x, item) in out.iter_mut().zip(items.iter()) {
            *x = number(item, bound)?;
        }
        Ok(out)
    }

    /// A list of points.
    pub fn triples(&self, node: &Node<'t>) -> Result<Vec<Triple>, &'static str> {
        array(node)?.iter().map(|item| self.triple(item, Bound::Any)).collect()
    }

    /// What a key allows, in words.
    pub fn describe(&self, key: &Key) -> String {
        let vector = if self.dimension == 2 { "[x, y]" } else { "[x, y, z]" };
        let words = match key.kind {
            Kind::Text => "text in quotes".to_string(),
            Kind::Name => format!("a name in quotes, 1 to {MAX_NAME} bytes without control characters"),
            Kind::Number(Bound::Any) => "a finite number".to_string(),
            Kind::Number(bound) => format!("a number {}", bound.words()),
            Kind::Until => "a number >= 0, or inf".to_string(),
            Kind::Whole(low, high) if high == u64::MAX => format!("a whole number >= {low}"),
            Kind::Whole(low, high) => format!("a whole number from {low} to {high}"),
            Kind::Flag => "true or false".to_string(),
            Kind::Vector => format!("{vector}, {} finite numbers", self.dimension),
            Kind::Direction => format!("{vector}, {} finite numbers, not all 0", self.dimension),
            Kind::Extents => format!("{}, {} numbers > 0", if self.dimension == 2 { "[w, h]" } else { "[w, h, d]" }, self.dimension),
            Kind::Rate if self.dimension == 2 => "a finite number".to_string(),
            Kind::Rate => format!("{vector}, 3 finite numbers"),
            Kind::Quaternion => "[w, x, y, z], 4 finite numbers, not all 0".to_string(),
            Kind::TwoPoints => format!("[p, q], two points {vector}"),
            Kind::TwoDirections => format!("[a, b], two directions {vector}, not 0"),
            Kind::Points => format!("a list of points {vector}"),
            Kind::Limits => "[lo, hi], two finite numbers with lo <= hi".to_string(),
            Kind::LengthRadius => "[length, radius], two numbers > 0".to_string(),
            Kind::Choice(words) => words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", "),
            Kind::Choices(words) => {
                let words = words.iter().filter(|w| self.dimension == 3 || **w != "z");
                format!("a list of {}", words.map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", "))
            }
            Kind::Names => "a list of names".to_string(),
            Kind::TwoNames => "[\"a\", \"b\"], two names".to_string(),
            Kind::Color => "\"#rrggbb\", six hexadecimal digits".to_string(),
            Kind::Special(_) => key.meaning.trim_end_matches('.').to_string(),
        };
        if key.unit.is_empty() || matches!(key.kind, Kind::Special(_)) { words } else { format!("{words} [{}]", key.unit) }
    }
}

/// A text.
pub(crate) fn text<'a>(node: &'a Node<'_>) -> Result<&'a str, &'static str> {
    match node.get_ref() {
        DeValue::String(s) => Ok(s),
        _ => Err("wrong type"),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME && !text.chars().any(char::is_control)
}

/// An array.
pub(crate) fn array<'a, 't>(node: &'a Node<'t>) -> Result<&'a DeArray<'t>, &'static str> {
    match node.get_ref() {
        DeValue::Array(items) => Ok(items),
        _ => Err("wrong type"),
    }
}

fn number_or_inf(node: &Node<'_>) -> Result<f64, &'static str> {
    match node.get_ref() {
        DeValue::Float(x) => x.as_str().parse().map_err(|_| "not a number"),
        DeValue::Integer(x) if x.radix() == 10 => x.as_str().parse().map_err(|_| "not a number"),
        // An integer in base 2, 8 or 16 that does not fit is far outside any range.
        DeValue::Integer(x) => i64::from_str_radix(x.as_str(), x.radix()).map(|i| i as f64).map_err(|_| "out of range"),
        _ => Err("wrong type"),
    }
}

/// A finite number within a bound.
pub(crate) fn number(node: &Node<'_>, bound: Bound) -> Result<f64, &'static str> {
    let x = number_or_inf(node)?;
    if !x.is_finite() {
        Err("not a finite number")
    } else if !bound.holds(x) || x.abs() > MAX_NUMBER {
        Err("out of range")
    } else {
        Ok(x)
    }
}

/// A whole number within a range.
pub(crate) fn whole(node: &Node<'_>, low: u64, high: u64) -> Result<u64, &'static str> {
    let DeValue::Integer(x) = node.get_ref() else {
        return Err("wrong type");
    };
    match u64::from_str_radix(x.as_str().trim_start_matches('+'), x.radix()) {
        Ok(i) if (low..=high).contains(&i) => Ok(i),
        _ => Err("out of range"),
    }
}

/// A fixed number of numbers.
pub(crate) fn fixed<const N: usize>(node: &Node<'_>, bound: Bound) -> Result<[f64; N], &'static str> {
    let items = array(node)?;
    if items.len() != N {
        return Err("wrong length");
    }
    let mut out = [0.0; N];
    for (x, item) in out.iter_mut().zip(items.iter()) {
        *x = number(item, bound)?;
    }
    Ok(out)
}

fn direction(v: Triple) -> Result<Triple, &'static str> {
    let size = v.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    if size > 1.0 / MAX_NUMBER { Ok(v) } else { Err("a vector of zeros has no direction") }
}

fn two(points: Vec<Triple>) -> Result<[Triple; 2], &'static str> {
    points.try_into().map_err(|_| "wrong length")
}

fn color(text: &str) -> Result<u32, &'static str> {
    /// Letters of `#rrggbb`.
    const LETTERS: usize = 7;
    match text.strip_prefix('#') {
        Some(digits) if text.len() == LETTERS && digits.bytes().all(|b| b.is_ascii_hexdigit()) => {
            u32::from_str_radix(digits, 16).map_err(|_| "not a colour")
        }
        _ => Err("not a colour"),
    }
}

fn names(node: &Node<'_>) -> Result<Vec<At<String>>, &'static str> {
    array(node)?
        .iter()
        .map(|item| text(item).and_then(|t| if is_name(t) { Ok(At::new(t.to_string(), span(item))) } else { Err("not a name") }))
        .collect()
}
