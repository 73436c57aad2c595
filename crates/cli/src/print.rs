//! Standard output without panics, and numbers for people.

use anstyle::{AnsiColor, Effects, Style};
use serde::Serialize;
use std::io::{self, Write};

/// Writes a text and a line end to standard output; colours only where they are wanted.
pub fn line(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Writes a value as JSON to standard output, never with colours.
pub fn json(value: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(serde_json::to_string_pretty(value)?.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A remark on standard error; one that nobody hears changes nothing.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// A look of letters.
const HEAD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
const FAINT: Style = Style::new().dimmed();

/// Heads of columns and titles.
pub fn head(text: &str) -> String {
    format!("{HEAD}{text}{HEAD:#}")
}
/// What is as it should be.
pub fn good(text: &str) -> String {
    format!("{GOOD}{text}{GOOD:#}")
}
/// What is not.
pub fn bad(text: &str) -> String {
    format!("{BAD}{text}{BAD:#}")
}
/// What matters less.
pub fn faint(text: &str) -> String {
    format!("{FAINT}{text}{FAINT:#}")
}

/// Characters of a text that take room: all but the codes of its look.
fn visible(text: &str) -> usize {
    let mut count = 0;
    let mut code = false;
    for letter in text.chars() {
        match letter {
            '\u{1b}' => code = true,
            'm' if code => code = false,
            _ if code => {}
            _ => count += 1,
        }
    }
    count
}

/// Columns side by side, two blanks apart, as wide as their widest cell; the last is not padded.
pub fn columns(rows: &[Vec<String>]) -> String {
    const GAP: &str = "  ";
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width: Vec<usize> = (0..count).map(|c| rows.iter().filter_map(|r| r.get(c)).map(|cell| visible(cell)).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut text = String::new();
        for (cell, width) in row.iter().zip(&width) {
            text.push_str(cell);
            text.extend(std::iter::repeat_n(' ', width - visible(cell)));
            text.push_str(GAP);
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out.pop();
    out
}

/// A whole number in groups of three digits.
pub fn count(n: u64) -> String {
    const GROUP: usize = 3;
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(GROUP) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A measured number: plain where that is short, otherwise with an exponent.
pub fn measure(x: f64) -> String {
    const PLAIN: std::ops::Range<f64> = 1e-3..1e6;
    if x == 0.0 {
        // Without the sign of a negative zero.
        "0".to_string()
    } else if PLAIN.contains(&x.abs()) {
        let text = format!("{x:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        format!("{x:.3e}")
    }
}

/// A number to so many significant digits, without trailing zeros.
pub fn digits(x: f64, count: usize) -> String {
    const PLAIN: std::ops::Range<f64> = 1e-3..1e6;
    if x == 0.0 {
        "0".to_string()
    } else if PLAIN.contains(&x.abs()) {
        let whole = x.abs().log10().floor() as i32;
        let text = format!("{x:.*}", (count as i32 - 1 - whole).max(0) as usize);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
    } else {
        let text = format!("{x:.*e}", count - 1);
        match text.split_once('e') {
            Some((head, exponent)) if head.contains('.') => {
                format!("{}e{exponent}", head.trim_end_matches('0').trim_end_matches('.'))
            }
            _ => text,
        }
    }
}

/// A number of which only the size matters: three significant digits.
pub fn rough(x: f64) -> String {
    const SMALL: f64 = 10.0;
    const LARGE: f64 = 100.0;
    match x.abs() {
        size if size >= LARGE => count(x.round() as u64),
        size if size >= SMALL => format!("{x:.1}"),
        size if size >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// `ball` or `balls`.
pub fn plural(n: usize, word: &str) -> String {
    let ending = match (n, word.strip_suffix('y')) {
        (1, _) => return format!("1 {word}"),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{word}s"),
    };
    format!("{} {ending}", count(n as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!((count(0), count(999), count(1000), count(1_234_567)), ("0".into(), "999".into(), "1 000".into(), "1 234 567".into()));
        assert_eq!(
            (measure(0.49), measure(-0.0), measure(1e-12), measure(2.0)),
            ("0.49".into(), "0".into(), "1.000e-12".into(), "2".into())
        );
        assert_eq!(
            (rough(1234.5), rough(12.34), rough(1.234), rough(0.1234)),
            ("1 235".into(), "12.3".into(), "1.23".into(), "0.123".into())
        );
        assert_eq!((plural(1, "body"), plural(2, "body"), plural(0, "joint")), ("1 body".into(), "2 bodies".into(), "0 joints".into()));
    }

    #[test]
    fn significant_digits() {
        assert_eq!((digits(0.1 + 0.2, 9), digits(-1234.5678, 6), digits(2.5e-9, 6)), ("0.3".into(), "-1234.57".into(), "2.5e-9".into()));
        assert_eq!((digits(0.0, 3), digits(1e7, 3), digits(999_999.9, 3)), ("0".into(), "1e7".into(), "1000000".into()));
    }

    #[test]
    fn columns_line_up_whatever_their_look() {
        let rows = [vec![head("a"), "x".to_string()], vec!["long".to_string(), good("y")]];
        let text = columns(&rows);
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), "a     x\nlong  y");
    }

    #[test]
    fn columns_line_up_by_characters() {
        let rows = [vec!["é".to_string(), "x".to_string()], vec!["long".to_string(), "y".to_string()]];
        assert_eq!(columns(&rows), "é     x\nlong  y");
    }
}
