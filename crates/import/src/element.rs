//! Elements of the model text, owned and with the place of every attribute; included files stand where they were included.

use crate::text::{Fault, Texts};
use carom_scene::error::Span;
use nalgebra::Vector3;
use roxmltree::{Document, Node, ParsingOptions};
use std::path::{Path, PathBuf};

/// Deepest nesting of elements: no robot has a chain this long, and every walk over the tree is a recursion.
const MAX_DEPTH: usize = 256;
/// Most elements and attributes of one file.
const MAX_NODES: u32 = 2_000_000;
/// Largest magnitude of a number: lengths whose fifth power, an inertia, is still one.
pub const MAX_NUMBER: f64 = 1e12;
/// Longest name \[bytes\].
const MAX_NAME: usize = 150;

/// An attribute and where its value stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
    /// Place of the value.
    pub span: Span,
}

/// An element.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Tag.
    pub tag: String,
    /// Attributes in order.
    pub attributes: Vec<Attribute>,
    /// Elements inside, in order.
    pub children: Vec<Element>,
    /// Text inside, trimmed.
    pub text: String,
    /// Place of the opening tag.
    pub span: Span,
}

/// Reads the file at `path` and everything it includes.
pub fn load(texts: &mut Texts, path: &Path) -> Result<Element, Fault> {
    let part = "model";
    let start = texts.read(path).map_err(|problem| {
        let start = texts.add(&path.display().to_string(), None, String::new());
        Fault::new(start..start, part, "", problem)
    })?;
    let folder = path.parent().unwrap_or(Path::new(".")).to_path_buf();
    parse(texts, start, Some(&folder))
}

/// Reads the text at a place; `folder` is where included files are, without it there are none.
pub fn parse(texts: &mut Texts, start: usize, folder: Option<&PathBuf>) -> Result<Element, Fault> {
    let mut root = parse_one(texts.text(start), start)?;
    // Includes of SDF are models of their own, with names and poses.
    if root.tag != "sdf" {
        splice(texts, &mut root, folder)?;
    }
    Ok(root)
}

fn parse_one(text: &str, start: usize) -> Result<Element, Fault> {
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let position = error.pos();
        // The first bytes of the line, then so many characters.
        let line = text.split_inclusive('\n').take(position.row.saturating_sub(1) as usize).map(str::len).sum::<usize>();
        let rest = text.get(line..).unwrap_or("");
        let column = rest.char_indices().nth(position.col.saturating_sub(1) as usize).map_or(rest.len(), |(i, _)| i);
        let at = start + line + column;
        Fault::new(at..at, "model", "", format!("not well-formed XML: {error}"))
    })?;
    owned(document.root_element(), start, 0)
}

fn owned(node: Node<'_, '_>, start: usize, depth: usize) -> Result<Element, Fault> {
    let range = node.range();
    // The opening tag alone: the element may run to the end of the file.
    let source = node.document().input_text();
    let head = source.get(range.clone()).and_then(|text| text.find('>')).map_or(range.end, |end| range.start + end + 1);
    let span = start + range.start..start + head;
    if depth > MAX_DEPTH {
        return Err(Fault::new(span, node.tag_name().name(), "", format!("nested more than {MAX_DEPTH} deep")));
    }
    let attributes = node
        .attributes()
        .map(|a| {
            let value = a.range_value();
            Attribute { name: a.name().to_string(), value: a.value().to_string(), span: start + value.start..start + value.end }
        })
        .collect();
    let children: Result<Vec<Element>, Fault> =
        node.children().filter(Node::is_element).map(|child| owned(child, start, depth + 1)).collect();
    let text = node.text().unwrap_or("").trim().to_string();
    let template = node.tag_name().namespace().is_some_and(|space| space.contains("xacro"));
    let prefix = if template { "xacro:" } else { "" };
    Ok(Element { tag: format!("{prefix}{}", node.tag_name().name()), attributes, children: children?, text, span })
}

/// Puts the children of every included file in the place of its `include`.
fn splice(texts: &mut Texts, element: &mut Element, folder: Option<&PathBuf>) -> Result<(), Fault> {
    let mut children = Vec::with_capacity(element.children.len());
    for mut child in std::mem::take(&mut element.children) {
        if child.tag != "include" {
            splice(texts, &mut child, folder)?;
            children.push(child);
            continue;
        }
        let Some(file) = child.find("file") else {
            return Err(Fault::new(child.span.clone(), "include", "file", "missing").allowed("the name of a file"));
        };
        let fault = |problem: String| Fault::new(file.span.clone(), "include", "file", problem).quoted();
        let Some(folder) = folder else { return Err(fault("a file, and the model was given as text".to_string())) };
        let start = texts.read(&folder.join(&file.value)).map_err(fault)?;
        let mut included = parse_one(texts.text(start), start)?;
        splice(texts, &mut included, Some(folder))?;
        children.extend(included.children);
    }
    element.children = children;
    Ok(())
}

impl Element {
    /// An attribute.
    pub fn find(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }
    /// The value of an attribute.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.find(name).map(|a| a.value.as_str())
    }
    /// The first element inside with a tag.
    pub fn child(&self, tag: &str) -> Option<&Element> {
        self.children.iter().find(|c| c.tag == tag)
    }
    /// The elements inside with a tag.
    pub fn all<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |c| c.tag == tag)
    }
    /// How many elements it is, with all inside.
    pub fn size(&self) -> usize {
        1 + self.children.iter().map(Element::size).sum::<usize>()
    }
    /// What the element is called in messages.
    pub fn part(&self) -> String {
        match self.value("name").filter(|name| !name.is_empty()) {
            Some(name) => format!("{} \"{}\"", self.tag, name.escape_debug()),
            None => self.tag.clone(),
        }
    }
    /// A fault of an attribute, at its value or at the element.
    pub fn fault(&self, key: &str, problem: impl Into<String>) -> Fault {
        let attribute = self.find(key);
        let span = attribute.map_or_else(|| self.span.clone(), |a| a.span.clone());
        let fault = Fault::new(span, self.part(), key, problem);
        if attribute.is_some() { fault.quoted() } else { fault }
    }
    /// An attribute that must be there.
    pub fn required(&self, key: &str) -> Result<&Attribute, Fault> {
        self.find(key).ok_or_else(|| self.fault(key, "missing"))
    }
    /// A name that must be there.
    pub fn name(&self, key: &str) -> Result<String, Fault> {
        let attribute = self.required(key)?;
        checked_name(&attribute.value).map_err(|problem| self.fault(key, problem))?;
        Ok(attribute.value.clone())
    }
}

/// Whether a scene can hold the name.
pub fn checked_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("an empty name".to_string());
    }
    if name.len() > MAX_NAME {
        return Err(format!("a name of more than {MAX_NAME} bytes"));
    }
    Ok(())
}

/// What an expression of a template is.
pub const XACRO: &str = "an expression of xacro, not a number: run xacro to make a model of the template";

/// Numbers between blanks: as many as allowed, finite and within [`MAX_NUMBER`].
pub fn numbers(text: &str, least: usize, most: usize) -> Result<Vec<f64>, String> {
    let mut out = Vec::new();
    for word in text.split_whitespace() {
        if out.len() == most {
            return Err(format!("more than {most} numbers"));
        }
        let x: f64 =
            word.parse().map_err(|_| if text.contains("$(") || text.contains("${") { XACRO } else { "not a number" }.to_string())?;
        if !x.is_finite() {
            return Err("not a finite number".to_string());
        }
        if x.abs() > MAX_NUMBER {
            return Err(format!("a number beyond {MAX_NUMBER:e}"));
        }
        out.push(x);
    }
    if out.len() < least {
        return Err(format!("{} numbers, and at least {least} are needed", out.len()));
    }
    Ok(out)
}

/// Three numbers as a vector.
pub fn vector(text: &str) -> Result<Vector3<f64>, String> {
    numbers(text, 3, 3).map(|x| Vector3::new(x[0], x[1], x[2]))
}
