//! Values of a scene as a program writes them.

use crate::write::{number, quoted};
use std::fmt;

/// What may stand after a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A word or a text.
    Text(String),
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(i64),
    /// `true` or `false`.
    Flag(bool),
    /// A list.
    List(Vec<Value>),
    /// A table of keys.
    Table(Vec<(String, Value)>),
}

impl Value {
    /// A table of keys.
    pub fn table<'a>(keys: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        Value::Table(keys.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
    }
}

/// As the file writes it, on one line.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, open: &str, parts: Vec<String>, close: &str| write!(f, "{open}{}{close}", parts.join(", "));
        match self {
            Value::Text(text) => f.write_str(&quoted(text)),
            // TOML knows inf and nan, and writes them as Rust does but for the capitals.
            Value::Number(x) => f.write_str(&number(*x).to_lowercase()),
            Value::Whole(x) => write!(f, "{x}"),
            Value::Flag(x) => write!(f, "{x}"),
            Value::List(values) => list(f, "[", values.iter().map(ToString::to_string).collect(), "]"),
            Value::Table(keys) => list(f, "{ ", keys.iter().map(|(key, value)| format!("{} = {value}", bare(key))).collect(), " }"),
        }
    }
}

/// A key as TOML takes it: in quotes unless it is a bare word.
pub(super) fn bare(key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-');
    if plain { key.to_string() } else { quoted(key) }
}

macro_rules! from {
    ($($type:ty => $variant:ident),* $(,)?) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Value::$variant(value.into())
            }
        })*
    };
}
from! { &str => Text, String => Text, f64 => Number, f32 => Number, i64 => Whole, i32 => Whole, u32 => Whole, bool => Flag }

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Self {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}
