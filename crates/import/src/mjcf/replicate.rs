//! `replicate`: copies of what is inside, each moved and turned on from the one before, with the number of the copy after every name.

use super::compiler::Compiler;
use super::defaults::Defaults;
use crate::element::{Attribute, Element};
use crate::text::Fault;
use nalgebra::{Isometry3, Translation3, Vector3};

/// Most elements that copies may make of one model.
const MAX_COPIES: usize = 20_000;

/// Writes out every `replicate` below an element as frames; `made` counts the elements so far.
pub fn expand(element: &mut Element, defaults: &Defaults, compiler: &Compiler, made: &mut usize) -> Result<(), Fault> {
    let mut children = Vec::with_capacity(element.children.len());
    for mut child in std::mem::take(&mut element.children) {
        // The inner copies first: their numbers come first in the names.
        expand(&mut child, defaults, compiler, made)?;
        if child.tag == "replicate" {
            children.extend(copies(&child, defaults, compiler, made)?);
        } else {
            children.push(child);
        }
    }
    element.children = children;
    Ok(())
}

fn copies(element: &Element, defaults: &Defaults, compiler: &Compiler, made: &mut usize) -> Result<Vec<Element>, Fault> {
    let item = defaults.resolve(element, &[], None)?;
    let count = item.whole("count")?.ok_or_else(|| item.fault("count", "missing"))? as usize;
    let size: usize = 1 + element.children.iter().map(Element::size).sum::<usize>();
    *made = made.saturating_add(size.saturating_mul(count));
    if *made > MAX_COPIES {
        return Err(item.fault("count", format!("makes {made} elements of this model")).allowed(format!("at most {MAX_COPIES}")));
    }
    let offset = item.vector("offset")?.unwrap_or_else(Vector3::zeros);
    let step = Isometry3::from_parts(Translation3::from(offset), compiler.turn(&item)?);
    let separator = item.value("sep").unwrap_or("");
    let digits = count.to_string().len();
    let mut frame = Isometry3::<f64>::identity();
    let mut out = Vec::with_capacity(count);
    for k in 0..count {
        let suffix = format!("{separator}{k:0digits$}");
        let (at, q) = (frame.translation.vector, frame.rotation.quaternion());
        let attribute = |name: &str, value: String| Attribute { name: name.to_string(), value, span: element.span.clone() };
        let mut children = element.children.clone();
        children.iter_mut().for_each(|child| rename(child, &suffix));
        out.push(Element {
            tag: "frame".to_string(),
            attributes: vec![
                attribute("pos", format!("{:e} {:e} {:e}", at.x, at.y, at.z)),
                attribute("quat", format!("{:e} {:e} {:e} {:e}", q.w, q.i, q.j, q.k)),
            ],
            children,
            text: String::new(),
            span: element.span.clone(),
        });
        frame *= step;
    }
    Ok(out)
}

/// Adds to the names of an element and of everything in it.
fn rename(element: &mut Element, suffix: &str) {
    for attribute in element.attributes.iter_mut().filter(|a| a.name == "name") {
        attribute.value += suffix;
    }
    element.children.iter_mut().for_each(|child| rename(child, suffix));
}
