//! From a drawing to SVG text.

use crate::color::{Rgb, bytes, hex, mix, scaled};
use crate::drawing::{Drawing, Fill, Form, Item, Move};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Coordinates are written to this part of a pixel.
const FINE: f64 = 100.0;
/// Coordinates beyond this many pixels are written there: no paper reaches so far.
const FAR: f64 = 1e5;
/// Colours of a lit ball: at the lit point, half way, at the rim, as parts of the way to white or as factors.
const LIT: f64 = 0.45;
const RIM: f64 = 0.55;

/// A number in the fewest digits that show.
fn number(x: f64) -> String {
    let x = (x.clamp(-FAR, FAR) * FINE).round() / FINE;
    // Without the sign of a negative zero.
    if x == 0.0 { "0".to_string() } else { x.to_string() }
}

/// A file of several drawings, each in its own window.
pub struct Sheet {
    width: usize,
    height: usize,
    paper: Rgb,
    balls: BTreeSet<[u8; 3]>,
    body: String,
}

impl Sheet {
    /// An empty sheet.
    pub fn new(width: usize, height: usize, paper: Rgb) -> Self {
        Sheet { width, height, paper, balls: BTreeSet::new(), body: String::new() }
    }
    /// Puts a drawing at a place; what reaches beyond its own size is cut off.
    pub fn panel(&mut self, drawing: &Drawing, left: usize, top: usize) {
        let [width, height] = drawing.size.map(number);
        self.balls.extend(drawing.items.iter().filter_map(|i| if let Some(Fill::Ball(c)) = i.fill { Some(bytes(c)) } else { None }));
        // Writing to a string cannot fail, here and below.
        let _ =
            writeln!(self.body, "<svg x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">");
        let _ = writeln!(self.body, "<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>", hex(drawing.paper));
        for item in &drawing.items {
            put(&mut self.body, item);
        }
        self.body += "</svg>\n";
    }
    /// The complete file; `title` is what readers hear of it.
    pub fn finish(self, title: &str) -> String {
        let (width, height) = (self.width, self.height);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             stroke-linejoin=\"round\" stroke-linecap=\"round\">\n<title>{}</title>\n",
            escaped(title)
        );
        if !self.balls.is_empty() {
            out += "<defs>\n";
            for color in self.balls {
                let rgb = color.map(|c| f64::from(c) / f64::from(u8::MAX));
                let stops = [(0.0, mix(rgb, [1.0; 3], LIT)), (0.5, rgb), (1.0, scaled(rgb, RIM))];
                let _ = write!(out, "<radialGradient id=\"{}\" cx=\"0.38\" cy=\"0.3\" r=\"0.75\">", ball_id(rgb));
                for (at, color) in stops {
                    let _ = write!(out, "<stop offset=\"{at}\" stop-color=\"{}\"/>", hex(color));
                }
                out += "</radialGradient>\n";
            }
            out += "</defs>\n";
        }
        let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>", hex(self.paper));
        out + &self.body + "</svg>\n"
    }
}

fn ball_id(color: Rgb) -> String {
    format!("ball{}", &hex(color)[1..])
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn put(out: &mut String, item: &Item) {
    let mut style = match item.fill {
        None => " fill=\"none\"".to_string(),
        Some(Fill::Flat(color)) => format!(" fill=\"{}\"", hex(color)),
        Some(Fill::Ball(color)) => format!(" fill=\"url(#{})\"", ball_id(color)),
    };
    if let Some(stroke) = item.stroke {
        let _ = write!(style, " stroke=\"{}\" stroke-width=\"{}\"", hex(stroke.color), number(stroke.width));
    }
    if item.opacity < 1.0 {
        let _ = write!(style, " opacity=\"{}\"", number(item.opacity));
    }
    let _ = match &item.form {
        Form::Path(moves) => writeln!(out, "<path d=\"{}\"{style}/>", pen(moves)),
        Form::Circle { centre: [x, y], radius } => {
            writeln!(out, "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{style}/>", number(*x), number(*y), number(*radius))
        }
        Form::Text { at: [x, y], size, text } => {
            /// Height of a digit as a part of the size of a font.
            const DIGIT: f64 = 0.72;
            let size = number(size / DIGIT);
            writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{size}\"{style}>{}</text>",
                number(*x),
                number(*y),
                escaped(text)
            )
        }
    };
}

fn pen(moves: &[Move]) -> String {
    let mut out = String::new();
    let point = |[x, y]: [f64; 2]| format!("{} {}", number(x), number(y));
    for m in moves {
        match m {
            Move::To(p) => out += &format!("M{}", point(*p)),
            Move::Line(p) => out += &format!("L{}", point(*p)),
            Move::Cubic(a, b, c) => out += &format!("C{} {} {}", point(*a), point(*b), point(*c)),
            Move::Close => out.push('Z'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_and_short() {
        let mut drawing = Drawing::new(20, 10, [1.0; 3]);
        drawing.add(Form::Circle { centre: [1.0 / 3.0, 2.0], radius: 5.0 }, Some(Fill::Ball([1.0, 0.0, 0.0])), None);
        drawing.line(&[[0.0, -0.0001], [f64::INFINITY, 4.0]], [0.0; 3], 1.0, 0.5);
        let mut sheet = Sheet::new(20, 10, [1.0; 3]);
        sheet.panel(&drawing, 0, 0);
        let text = sheet.finish("a < b");
        for part in ["viewBox=\"0 0 20 10\"", "a &lt; b", "cx=\"0.33\"", "url(#ballff0000)", "M0 0L100000 4", "opacity=\"0.5\"", "</svg>"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert_eq!(text.matches('<').count(), text.matches('>').count());
    }
}
