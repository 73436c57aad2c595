//! Text to loss, by recursive descent; every fault has its column.

use super::place::Place;
use super::{Component, Energy, Expression, Function, Operator, Span};
use carom::dynamics::gradient::Pair;
use carom::record::columns::{coordinates, velocities};
use carom::scene::error::nearest;

/// How deep parentheses and powers may nest: a bound on the stack.
const MAX_DEPTH: usize = 64;
/// How many words and marks a loss may have: sums nest to the left.
const MAX_TOKENS: usize = 4096;
/// The keys of the scene's own numbers.
const ENERGIES: [(&str, Energy); 4] =
    [("energy", Energy::Total), ("kinetic", Energy::Kinetic), ("potential", Energy::Potential), ("elastic", Energy::Elastic)];
const FUNCTIONS: [(&str, Function); 6] = [
    ("sqrt", Function::Sqrt),
    ("abs", Function::Abs),
    ("sin", Function::Sin),
    ("cos", Function::Cos),
    ("exp", Function::Exp),
    ("log", Function::Log),
];
const SPANS: [(&str, Span); 2] = [("sum", Span::Sum), ("mean", Span::Mean)];

/// A loss that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossError {
    /// Bytes of the text at fault.
    pub span: std::ops::Range<usize>,
    /// Column of the first letter at fault, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: String,
    /// What could stand there.
    pub help: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Word(String),
    /// A name in quotes: always a body.
    Quoted(String),
    Mark(char),
}

/// What a loss may name.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// Names of the bodies.
    pub bodies: &'a [&'a str],
    /// Names of the joints, and whether each has a coordinate.
    pub joints: &'a [(&'a str, bool)],
    /// Named points: the body of each, and the place in it.
    pub points: &'a [(String, usize, [f64; 3])],
    /// 2 or 3.
    pub dimension: usize,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, std::ops::Range<usize>)>,
    next: usize,
    depth: usize,
    known: Known<'a>,
    within_span: bool,
    /// Whose forces of contacts are read.
    pairs: Vec<Pair>,
}

pub(super) fn parse(text: &str, known: Known<'_>) -> Result<(Expression, Vec<Pair>), LossError> {
    let mut parser = Parser { text, tokens: Vec::new(), next: 0, depth: 0, known, within_span: false, pairs: Vec::new() };
    parser.tokens = parser.scan()?;
    if let Some((_, span)) = parser.tokens.get(MAX_TOKENS) {
        return Err(parser.fault(span.clone(), "too long", format!("at most {MAX_TOKENS} words and marks")));
    }
    let root = parser.sum()?;
    match parser.peek() {
        None => Ok((root, parser.pairs)),
        Some(_) => Err(parser.unexpected("an operator: + - * / ^")),
    }
}

impl Parser<'_> {
    fn fault(&self, span: std::ops::Range<usize>, problem: impl Into<String>, help: impl Into<String>) -> LossError {
        let column = self.text[..span.start].chars().count() + 1;
        LossError { span, column, problem: problem.into(), help: help.into() }
    }

    fn scan(&self) -> Result<Vec<(Token, std::ops::Range<usize>)>, LossError> {
        let mut out = Vec::new();
        let mut rest = self.text.char_indices().peekable();
        while let Some((start, letter)) = rest.next() {
            let mut end = start + letter.len_utf8();
            let token = if letter.is_whitespace() {
                continue;
            } else if letter == '"' {
                let mut name = String::new();
                loop {
                    match rest.next() {
                        Some((at, '"')) => {
                            end = at + 1;
                            break;
                        }
                        Some((_, letter)) => name.push(letter),
                        None => return Err(self.fault(start..self.text.len(), "a name without a closing quote", "end it with \"")),
                    }
                }
                Token::Quoted(name)
            } else if letter.is_ascii_digit() || (letter == '.' && rest.peek().is_some_and(|(_, l)| l.is_ascii_digit())) {
                end = number_end(&self.text[start..]) + start;
                while rest.next_if(|(at, _)| *at < end).is_some() {}
                match self.text[start..end].parse() {
                    Ok(x) => Token::Number(x),
                    Err(_) => return Err(self.fault(start..end, "not a number", "write it like 1, 0.5 or 1e-3")),
                }
            } else if names(letter) {
                while let Some((at, letter)) = rest.next_if(|(_, l)| names(*l) || l.is_ascii_digit()) {
                    end = at + letter.len_utf8();
                }
                Token::Word(self.text[start..end].to_string())
            } else if "+-*/^().,".contains(letter) {
                Token::Mark(letter)
            } else {
                let help = "allowed: names, numbers, + - * / ^ ( ) and a dot before a component";
                return Err(self.fault(start..end, format!("'{letter}' means nothing here"), help));
            };
            out.push((token, start..end));
        }
        Ok(out)
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(token, _)| token)
    }
    fn span(&self) -> std::ops::Range<usize> {
        self.tokens.get(self.next).map_or(self.text.len()..self.text.len(), |(_, span)| span.clone())
    }
    fn take(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.next += usize::from(found);
        found
    }
    fn unexpected(&self, wanted: &str) -> LossError {
        let problem = match self.peek() {
            None => "ends too early".to_string(),
            Some(_) => format!("found \"{}\"", &self.text[self.span()]),
        };
        self.fault(self.span(), problem, format!("needs {wanted}"))
    }

    fn sum(&mut self) -> Result<Expression, LossError> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some(Token::Mark('+')) => Operator::Plus,
                Some(Token::Mark('-')) => Operator::Minus,
                _ => return Ok(left),
            };
            self.next += 1;
            left = Expression::Join(operator, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expression, LossError> {
        let mut left = self.unary()?;
        loop {
            let operator = match self.peek() {
                Some(Token::Mark('*')) => Operator::Times,
                Some(Token::Mark('/')) => Operator::Over,
                _ => return Ok(left),
            };
            self.next += 1;
            left = Expression::Join(operator, Box::new(left), Box::new(self.unary()?));
        }
    }

    fn unary(&mut self) -> Result<Expression, LossError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(self.span(), "nested too deeply", format!("at most {MAX_DEPTH} levels")));
        }
        let out = if self.take('-') {
            Expression::Apply(Function::Negative, Box::new(self.unary()?))
        } else {
            let base = self.atom()?;
            if self.take('^') { Expression::Join(Operator::Power, Box::new(base), Box::new(self.unary()?)) } else { base }
        };
        self.depth -= 1;
        Ok(out)
    }

    fn atom(&mut self) -> Result<Expression, LossError> {
        const WANTED: &str = "a number, body.component, energy, a function or (";
        let span = self.span();
        let Some((token, _)) = self.tokens.get(self.next).cloned() else { return Err(self.unexpected(WANTED)) };
        match token {
            Token::Number(x) => {
                self.next += 1;
                Ok(Expression::Number(x))
            }
            Token::Quoted(name) => {
                self.next += 1;
                self.component(&name, span)
            }
            Token::Word(word) => {
                self.next += 1;
                match self.peek() {
                    Some(Token::Mark('.')) => self.component(&word, span),
                    Some(Token::Mark('(')) => self.call(&word, span),
                    _ => self.word(&word, span),
                }
            }
            Token::Mark('(') => {
                self.next += 1;
                self.closed()
            }
            Token::Mark(_) => Err(self.unexpected(WANTED)),
        }
    }

    /// What stands between parentheses, the first of which is taken.
    fn closed(&mut self) -> Result<Expression, LossError> {
        let inner = self.sum()?;
        if self.take(')') { Ok(inner) } else { Err(self.unexpected(")")) }
    }

    fn word(&self, word: &str, span: std::ops::Range<usize>) -> Result<Expression, LossError> {
        if word == "pi" {
            return Ok(Expression::Number(std::f64::consts::PI));
        }
        if word == "time" && !self.known.bodies.contains(&word) {
            return Ok(Expression::Time);
        }
        if let Some((_, energy)) = ENERGIES.iter().find(|(name, _)| *name == word) {
            return Ok(Expression::Energy(*energy));
        }
        if self.known.bodies.contains(&word) {
            let help = format!("needs a component: {word}.{}", self.components().join(&format!(", {word}.")));
            return Err(self.fault(span, format!("\"{word}\" is a body, not a number"), help));
        }
        if self.known.joints.iter().any(|(name, _)| *name == word) {
            return Err(self.fault(span, format!("\"{word}\" is a joint, not a number"), format!("needs {word}.position or {word}.rate")));
        }
        let known = ENERGIES.iter().map(|(name, _)| *name).chain(self.names()).chain(["pi", "time"]);
        Err(self.fault(
            span,
            format!("unknown name \"{word}\""),
            suggestion(word, known, "bodies and joints with a component, energy, kinetic, potential, elastic, time, pi"),
        ))
    }

    fn call(&mut self, word: &str, span: std::ops::Range<usize>) -> Result<Expression, LossError> {
        self.next += 1;
        if let Some((_, function)) = FUNCTIONS.iter().find(|(name, _)| *name == word) {
            return Ok(Expression::Apply(*function, Box::new(self.closed()?)));
        }
        if let Some((_, run)) = SPANS.iter().find(|(name, _)| *name == word) {
            if self.within_span {
                return Err(self.fault(span, format!("{word}(...) within another"), "sum and mean cannot be nested"));
            }
            self.within_span = true;
            let inner = self.closed()?;
            self.within_span = false;
            return Ok(Expression::Run(*run, Box::new(inner)));
        }
        let known = FUNCTIONS.iter().map(|(name, _)| *name).chain(SPANS.iter().map(|(name, _)| *name));
        Err(self.fault(span, format!("unknown function \"{word}\""), suggestion(word, known, "sqrt, abs, sin, cos, exp, log, sum, mean")))
    }

    fn components(&self) -> Vec<&'static str> {
        coordinates(self.known.dimension).iter().chain(velocities(self.known.dimension)).copied().collect()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let joints = self.known.joints.iter().map(|(name, _)| *name);
        self.known.bodies.iter().copied().chain(joints).chain(self.known.points.iter().map(|(name, ..)| name.as_str()))
    }

    fn component(&mut self, name: &str, span: std::ops::Range<usize>) -> Result<Expression, LossError> {
        let body = self.known.bodies.iter().position(|b| *b == name);
        let joint = self.known.joints.iter().position(|(joint, _)| *joint == name);
        if let (None, None, Some((_, body, at))) = (body, joint, self.known.points.iter().find(|(point, ..)| point == name)) {
            return self.component_of_point(*body, *at);
        }
        let Some(listing) = self.listing(body, joint) else {
            let help = suggestion(name, self.names(), "the bodies, joints and points of the scene");
            return Err(self.fault(span, format!("no body, joint or point \"{name}\""), help));
        };
        if !self.take('.') {
            return Err(self.unexpected(&format!(". and a component: {}", listing.join(", "))));
        }
        let span = self.span();
        let Some(Token::Word(word)) = self.peek().cloned() else {
            return Err(self.unexpected(&format!("a component: {}", listing.join(", "))));
        };
        self.next += 1;
        if let (Some(joint), "position" | "rate") = (joint, word.as_str()) {
            if !self.known.joints[joint].1 {
                return Err(self.fault(
                    span,
                    format!("joint \"{name}\" has no coordinate"),
                    "hinges, sliders and other joints with one freedom have one",
                ));
            }
            return Ok(Expression::Place(Place::Joint { joint, rate: word == "rate" }));
        }
        if let (Some(body), "at") = (body, word.as_str()) {
            return self.point(body);
        }
        if let (Some(body), "contact") = (body, word.as_str()) {
            return self.force(body);
        }
        match body.and_then(|body| Some((body, self.components().iter().position(|c| *c == word)?))) {
            Some((body, place)) => Ok(Expression::Body(body, self.number_of_body(place))),
            None => {
                let help = suggestion(&word, listing.iter().copied(), &listing.join(", "));
                Err(self.fault(span, format!("unknown component \"{word}\""), help))
            }
        }
    }

    /// What may stand behind a name; `None` where nobody is called that.
    fn listing(&self, body: Option<usize>, joint: Option<usize>) -> Option<Vec<&'static str>> {
        let mut out = if body.is_some() { self.components() } else { Vec::new() };
        if body.is_some() {
            out.extend(["at", "contact"]);
        }
        if joint.is_some() {
            out.extend(["position", "rate"]);
        }
        (!out.is_empty()).then_some(out)
    }

    fn number_of_body(&self, place: usize) -> Component {
        let coordinates = coordinates(self.known.dimension).len();
        if place >= coordinates {
            Component::Twist(place - coordinates)
        } else if place >= self.known.dimension && self.known.dimension > 2 {
            Component::Quaternion(place - self.known.dimension)
        } else {
            Component::Pose(place)
        }
    }

    /// The force of contacts on a body behind `contact`: perhaps from whom, then a component.
    fn force(&mut self, body: usize) -> Result<Expression, LossError> {
        let mut from = None;
        if self.take('(') {
            let span = self.span();
            let name = match self.peek().cloned() {
                Some(Token::Word(name) | Token::Quoted(name)) => name,
                _ => return Err(self.unexpected("a body")),
            };
            self.next += 1;
            let Some(other) = self.known.bodies.iter().position(|b| *b == name) else {
                let help = suggestion(&name, self.known.bodies.iter().copied(), "the bodies of the scene");
                return Err(self.fault(span, format!("no body \"{name}\""), help));
            };
            if other == body {
                return Err(self.fault(span, "a body does not touch itself", "name another body"));
            }
            if !self.take(')') {
                return Err(self.unexpected(") behind a body"));
            }
            from = Some(other);
        }
        let listing = &["fx", "fy", "fz"][..self.known.dimension];
        if !self.take('.') {
            return Err(self.unexpected(&format!(". and a component: {}", listing.join(", "))));
        }
        let span = self.span();
        let Some(Token::Word(word)) = self.peek().cloned() else {
            return Err(self.unexpected(&format!("a component: {}", listing.join(", "))));
        };
        self.next += 1;
        let Some(component) = listing.iter().position(|c| *c == word) else {
            let help = suggestion(&word, listing.iter().copied(), &listing.join(", "));
            return Err(self.fault(span, format!("unknown component \"{word}\" of a force"), help));
        };
        let pair = (body, from);
        let place = self.pairs.iter().position(|known| *known == pair).unwrap_or_else(|| {
            self.pairs.push(pair);
            self.pairs.len() - 1
        });
        Ok(Expression::Force(place, component))
    }

    /// A point of a body behind `at`: its place in the body, then a component of it or of its velocity.
    fn point(&mut self, body: usize) -> Result<Expression, LossError> {
        if !self.take('(') {
            return Err(self.unexpected("( and a point of the body, as in at(0.1, 0)"));
        }
        let mut at = [0.0; 3];
        for k in 0..self.known.dimension {
            if k > 0 && !self.take(',') {
                return Err(self.unexpected(&format!("{} numbers with commas between them", self.known.dimension)));
            }
            let sign = if self.take('-') { -1.0 } else { 1.0 };
            let Some(Token::Number(x)) = self.peek().cloned() else { return Err(self.unexpected("a number")) };
            self.next += 1;
            at[k] = sign * x;
        }
        if !self.take(')') {
            return Err(self.unexpected(&format!(") behind {} numbers", self.known.dimension)));
        }
        self.component_of_point(body, at)
    }

    /// A component of a point of a body or of its velocity.
    fn component_of_point(&mut self, body: usize, at: [f64; 3]) -> Result<Expression, LossError> {
        let dimension = self.known.dimension;
        let (places, speeds) = (&coordinates(dimension)[..dimension], &velocities(dimension)[..dimension]);
        let listing: Vec<&str> = places.iter().chain(speeds).copied().collect();
        if !self.take('.') {
            return Err(self.unexpected(&format!(". and a component: {}", listing.join(", "))));
        }
        let span = self.span();
        let Some(Token::Word(word)) = self.peek().cloned() else {
            return Err(self.unexpected(&format!("a component: {}", listing.join(", "))));
        };
        self.next += 1;
        match listing.iter().position(|c| *c == word) {
            Some(place) => {
                let velocity = place >= dimension;
                Ok(Expression::Place(Place::Point { body, at, component: place % dimension, velocity }))
            }
            None => {
                let help = suggestion(&word, listing.iter().copied(), &listing.join(", "));
                Err(self.fault(span, format!("unknown component \"{word}\" of a point"), help))
            }
        }
    }
}

/// Whether a letter may stand in a name without quotes, of any script: vowel signs and joiners are no letters by themselves.
fn names(letter: char) -> bool {
    const SIGNS: &str = "−×÷·⋅∙≤≥≠“”„«»‘’";
    letter.is_ascii_alphabetic() || letter == '_' || !(letter.is_ascii() || letter.is_whitespace() || SIGNS.contains(letter))
}

/// Bytes of the number at the start of a text.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, listing: &str) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean \"{near}\"? allowed: {listing}"),
        None => format!("allowed: {listing}"),
    }
}
