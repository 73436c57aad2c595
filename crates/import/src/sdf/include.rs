//! `include` of SDF: another model in its place, under its name and at its pose. Several of one model are copies.

use crate::element::{self, Element};
use crate::text::{Fault, Texts};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folders above the file in which a model may lie.
const MAX_ABOVE: usize = 8;
/// Models within models, at most.
const MAX_DEPTH: usize = 16;
/// Elements after all includes, at most.
const MAX_ELEMENTS: usize = 2_000_000;

/// What was read already, by file.
#[derive(Default)]
struct Library {
    read: BTreeMap<PathBuf, Element>,
    elements: usize,
}

/// Puts every included model in the place of its `include`; `folder` is where files are, without it there are none.
pub fn expand(texts: &mut Texts, root: &mut Element, folder: Option<&Path>, packages: &[PathBuf]) -> Result<(), Fault> {
    within(texts, root, folder, packages, &mut Library::default(), &mut Vec::new())
}

fn within(
    texts: &mut Texts,
    element: &mut Element,
    folder: Option<&Path>,
    packages: &[PathBuf],
    library: &mut Library,
    open: &mut Vec<PathBuf>,
) -> Result<(), Fault> {
    let mut children = Vec::with_capacity(element.children.len());
    for mut child in std::mem::take(&mut element.children) {
        if child.tag != "include" {
            if ["model", "world"].contains(&child.tag.as_str()) {
                within(texts, &mut child, folder, packages, library, open)?;
            }
            children.push(child);
            continue;
        }
        let uri = child.child("uri").ok_or_else(|| child.fault("uri", "missing"))?.clone();
        let fault = |problem: String| Fault::new(uri.span.clone(), "include", "uri", problem);
        let folder = folder.ok_or_else(|| fault("a file, and the model was given as text".to_string()))?;
        let path = find(&uri.text, folder, packages).ok_or_else(|| fault(format!("\"{}\" is not found", uri.text.escape_debug())))?;
        let real = path.canonicalize().map_err(|e| fault(format!("cannot be opened: {e}")))?;
        if open.contains(&real) || open.len() >= MAX_DEPTH {
            return Err(fault(format!("\"{}\" includes itself, or more than {MAX_DEPTH} within each other", uri.text.escape_debug())));
        }
        if !library.read.contains_key(&real) {
            let start = texts.read(&path).map_err(fault)?;
            let mut root = element::parse(texts, start, None)?;
            open.push(real.clone());
            within(texts, &mut root, path.parent(), packages, library, open)?;
            open.pop();
            let model = root.child("model").cloned().ok_or_else(|| fault("holds no <model>".to_string()))?;
            library.read.insert(real.clone(), model);
        }
        let Some(model) = library.read.get(&real) else { continue };
        let mut model = model.clone();
        library.elements += model.size();
        if library.elements > MAX_ELEMENTS {
            return Err(fault("makes too many elements".to_string()));
        }
        if let Some(name) = child.child("name")
            && let Some(own) = model.attributes.iter_mut().find(|a| a.name == "name")
        {
            own.value.clone_from(&name.text);
        }
        for tag in ["pose", "static"] {
            if let Some(given) = child.child(tag) {
                model.children.retain(|c| c.tag != tag);
                model.children.push(given.clone());
            }
        }
        children.push(model);
    }
    element.children = children;
    Ok(())
}

/// The file of a name: beside the model, in the folders above it, in the packages; of a folder its `model.sdf`.
pub fn find(name: &str, folder: &Path, packages: &[PathBuf]) -> Option<PathBuf> {
    let plain = name.strip_prefix("file://").unwrap_or(name);
    let inside = ["model://", "package://"].iter().find_map(|p| plain.strip_prefix(p)).unwrap_or(plain);
    let without = inside.split_once('/').map_or(inside, |(_, rest)| rest);
    let folders = folder.ancestors().take(MAX_ABOVE).chain(packages.iter().map(PathBuf::as_path));
    for folder in folders {
        for tail in [inside, without] {
            let path = folder.join(tail);
            let model = path.join("model.sdf");
            if path.is_file() {
                return Some(path);
            }
            if model.is_file() {
                return Some(model);
            }
        }
    }
    None
}
