//! Default classes: what an element does not say, its class says, or the class around that.

use crate::element::{Attribute, Element, checked_name, numbers, vector};
use crate::robot::Notes;
use crate::text::Fault;
use carom_scene::error::Span;
use nalgebra::Vector3;
use std::collections::BTreeMap;

/// The class of elements that name none.
const MAIN: &str = "main";

/// One class: its parent and the attributes it sets, by element.
#[derive(Debug, Default)]
struct Class {
    parent: Option<String>,
    attributes: Vec<(String, Attribute)>,
}

/// All classes of a model.
#[derive(Debug, Default)]
pub struct Defaults {
    classes: BTreeMap<String, Class>,
}

/// An element with everything its classes say.
#[derive(Debug)]
pub struct Item<'a> {
    /// The element.
    pub element: &'a Element,
    attributes: BTreeMap<&'a str, &'a Attribute>,
}

impl Defaults {
    /// Reads every `default` of a model.
    pub fn read(root: &Element) -> Result<Self, Fault> {
        let mut out = Defaults::default();
        out.classes.insert(MAIN.to_string(), Class::default());
        for element in root.all("default") {
            out.class(element, None)?;
        }
        Ok(out)
    }

    fn class(&mut self, element: &Element, parent: Option<&str>) -> Result<(), Fault> {
        let around = parent.is_some();
        let name = match (element.value("class"), parent) {
            (Some(name), _) => name.to_string(),
            (None, None) => MAIN.to_string(),
            (None, Some(_)) => return Err(element.fault("class", "missing: a default inside another has a name")),
        };
        let parent = parent.map(str::to_string).or_else(|| (name != MAIN).then(|| MAIN.to_string()));
        // The outermost may come in several pieces; any other class is written once.
        if around && self.classes.contains_key(&name) {
            return Err(element.fault("class", "another default class has this name"));
        }
        let class = self.classes.entry(name.clone()).or_default();
        class.parent = parent;
        for child in element.children.iter().filter(|c| c.tag != "default") {
            class.attributes.extend(child.attributes.iter().map(|a| (child.tag.clone(), a.clone())));
        }
        for child in element.all("default") {
            self.class(child, Some(&name))?;
        }
        Ok(())
    }

    /// An element with its defaults; `tags` are those whose defaults it takes, the weaker first, and `around` the class of the bodies around it.
    pub fn resolve<'a>(&'a self, element: &'a Element, tags: &[&str], around: Option<&'a str>) -> Result<Item<'a>, Fault> {
        let mut name = element.value("class").or(around).unwrap_or(MAIN);
        if !self.classes.contains_key(name) {
            return Err(element.fault("class", format!("no default class \"{}\"", name.escape_debug())));
        }
        let mut chain = Vec::new();
        while let Some(class) = self.classes.get(name) {
            chain.push(class);
            match &class.parent {
                // A class redefined inside itself would never end.
                Some(parent) if chain.len() <= self.classes.len() => name = parent,
                _ => break,
            }
        }
        let mut attributes = BTreeMap::new();
        for class in chain.into_iter().rev() {
            for tag in tags {
                let own = class.attributes.iter().filter(|(t, _)| t == tag);
                attributes.extend(own.map(|(_, a)| (a.name.as_str(), a)));
            }
        }
        attributes.extend(element.attributes.iter().map(|a| (a.name.as_str(), a)));
        Ok(Item { element, attributes })
    }
}

impl Item<'_> {
    /// Names the attributes that are not among those `known`: written wrongly, or of another version.
    pub fn unknown(&self, known: &[&str], notes: &mut Notes) {
        for key in self.keys().filter(|key| !known.contains(key)) {
            notes.add(self.fault(key, "not known, and left out"));
        }
    }
    /// What it is called in messages.
    pub fn part(&self) -> String {
        self.element.part()
    }
    /// Place of the element.
    pub fn span(&self) -> Span {
        self.element.span.clone()
    }
    /// An attribute, its own or of its classes.
    pub fn find(&self, key: &str) -> Option<&Attribute> {
        self.attributes.get(key).copied()
    }
    /// The value of an attribute.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.find(key).map(|a| a.value.as_str())
    }
    /// Names of all attributes.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.attributes.keys().copied()
    }
    /// A fault of an attribute.
    pub fn fault(&self, key: &str, problem: impl Into<String>) -> Fault {
        match self.find(key) {
            Some(a) => Fault::new(a.span.clone(), self.part(), key, problem).quoted(),
            None => Fault::new(self.span(), self.part(), key, problem),
        }
    }
    /// Numbers, as many as there may be.
    pub fn numbers(&self, key: &str, least: usize, most: usize) -> Result<Option<Vec<f64>>, Fault> {
        self.find(key).map(|a| numbers(&a.value, least, most).map_err(|problem| self.fault(key, problem))).transpose()
    }
    /// A number.
    pub fn number(&self, key: &str) -> Result<Option<f64>, Fault> {
        Ok(self.numbers(key, 1, 1)?.map(|x| x[0]))
    }
    /// A number of at least 0.
    pub fn positive(&self, key: &str) -> Result<Option<f64>, Fault> {
        let x = self.number(key)?;
        if x.is_some_and(|x| x < 0.0) { Err(self.fault(key, "below 0")) } else { Ok(x) }
    }
    /// A vector.
    pub fn vector(&self, key: &str) -> Result<Option<Vector3<f64>>, Fault> {
        self.find(key).map(|a| vector(&a.value).map_err(|problem| self.fault(key, problem))).transpose()
    }
    /// `true`, `false`, or `auto` as `None`.
    pub fn choice(&self, key: &str) -> Result<Option<bool>, Fault> {
        match self.value(key) {
            None | Some("auto") => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(self.fault(key, "needs true, false or auto")),
        }
    }
    /// A whole number of at least 0.
    pub fn whole(&self, key: &str) -> Result<Option<u32>, Fault> {
        self.find(key).map(|a| a.value.trim().parse::<u32>().map_err(|_| self.fault(key, "needs a whole number of at least 0"))).transpose()
    }
    /// The name, if it has one a scene can hold.
    pub fn name(&self) -> Result<Option<String>, Fault> {
        let Some(name) = self.element.value("name") else { return Ok(None) };
        checked_name(name).map_err(|problem| self.fault("name", problem))?;
        Ok(Some(name.to_string()))
    }
}
