//! Files that a scene includes: each is read as a scene of its own, placed, and its parts written out among those of the scene, under its name.

use crate::builder::{Placement, placed_text};
use crate::error::{Fault, SceneErrors, Sink, Span};
use crate::keys::MAX_BODIES;
use crate::tree::{IncludeTree, SceneTree};
use crate::{Scene, parse};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Files within files within files, at most.
const MAX_DEPTH: usize = 16;
/// Files that one scene is made of, at most.
const MAX_FILES: usize = 1000;

/// How the root of an included model stands in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Base {
    /// Held.
    Fixed,
    /// Free to move.
    Free,
}

/// What an `include` asks of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wish {
    /// How its root stands in the world; as the model says where nothing is said.
    pub base: Option<Base>,
    /// Whether its joints are held where they start.
    pub hold: bool,
}

/// Reads the files of other formats that scenes include.
pub trait Models {
    /// The scene of a model; `None` for a file that is no model, which is then read as a scene.
    fn read(&mut self, path: &Path, wish: Wish) -> Option<Result<Scene, SceneErrors>>;
}

/// Reads scene files alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScenesOnly;

impl Models for ScenesOnly {
    fn read(&mut self, path: &Path, _wish: Wish) -> Option<Result<Scene, SceneErrors>> {
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        ["urdf", "xml", "mjcf", "sdf"].contains(&ending.as_str()).then(|| {
            let file = path.display().to_string();
            let mut sink = Sink::new(&file, "");
            sink.push(Fault::new(0..0, "model", "", "a model, and only scene files are read here").allowed("the loader of carom-import"));
            Err(sink.into_errors().unwrap_or_else(|| Sink::fallback(&file)))
        })
    }
}

/// The files that are being read, and those that were.
pub(crate) struct Files<'m> {
    models: &'m mut dyn Models,
    /// From the scene itself down to the file that is being read.
    open: Vec<PathBuf>,
    /// What was read already, by file and wish.
    read: BTreeMap<(PathBuf, Wish), Scene>,
}

impl<'m> Files<'m> {
    /// No file yet; `first` is the scene itself, if it is one.
    pub fn new(models: &'m mut dyn Models, first: Option<&Path>) -> Self {
        Files { models, open: first.and_then(|path| path.canonicalize().ok()).into_iter().collect(), read: BTreeMap::new() }
    }

    /// The scene of an included file; `None` with faults in the sink.
    fn scene(&mut self, include: &IncludeTree, part: &str, path: &Path, sink: &mut Sink<'_>) -> Option<Scene> {
        let fault = |problem: String| Fault::new(include.file.span.clone(), part, "file", problem).quoted();
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) => {
                sink.push(fault(format!("cannot be opened: {error}")));
                return None;
            }
        };
        if let Some(start) = self.open.iter().position(|file| *file == real) {
            let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let circle: Vec<String> = self.open[start..].iter().chain([&real]).map(name).collect();
            sink.push(fault(format!("includes itself: {}", circle.join(" -> "))));
            return None;
        }
        if let Some(found) = self.read.get(&(real.clone(), include.wish)) {
            return Some(found.clone());
        }
        if self.open.len() >= MAX_DEPTH || self.read.len() >= MAX_FILES {
            sink.push(fault("one file too many".to_string()).allowed(format!("at most {MAX_DEPTH} within each other, {MAX_FILES} in all")));
            return None;
        }
        let made = match self.models.read(path, include.wish) {
            Some(made) => made,
            None if include.wish != Wish::default() => {
                let key = if include.wish.hold { "hold" } else { "base" };
                let fault =
                    Fault::new(include.places.of(key), part, key, "goes with models: a scene file says itself how its bodies stand");
                sink.push(fault.allowed("an include of a URDF, MJCF or SDF file"));
                return None;
            }
            None => self.nested(path, real.clone()),
        };
        match made {
            Ok(scene) => {
                self.read.insert((real, include.wish), scene.clone());
                Some(scene)
            }
            Err(errors) => {
                sink.adopt(&errors);
                None
            }
        }
    }

    fn nested(&mut self, path: &Path, real: PathBuf) -> Result<Scene, SceneErrors> {
        self.open.push(real);
        let scene = crate::load_within(path, self);
        self.open.pop();
        scene
    }
}

/// Puts the parts of every included file behind those of the scene; `None` with faults in the sink. `folder` is where the files are; without it they are
/// refused.
pub(crate) fn splice(mut tree: SceneTree, sink: &mut Sink<'_>, folder: Option<&Path>, files: &mut Files<'_>) -> Option<SceneTree> {
    let includes = std::mem::take(&mut tree.includes);
    if includes.is_empty() {
        return Some(tree);
    }
    let mut text = format!("dimension = {}\n", tree.dimension);
    let mut pieces: Vec<(usize, Span)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (i, include) in includes.iter().enumerate() {
        let part = format!("include {i}");
        let Some(folder) = folder else {
            let fault = Fault::new(include.file.span.clone(), part, "file", "a file, and the scene was given as text").quoted();
            sink.push(fault.allowed("a scene loaded from a file: included files are found beside it"));
            continue;
        };
        let path = folder.join(&include.file.value);
        let stem = path.file_stem().map_or_else(|| "part".to_string(), |s| s.to_string_lossy().into_owned());
        let name = include.name.as_ref().map_or(stem, |name| name.value.clone());
        if !seen.insert(name.clone()) {
            let fault = Fault::new(include.places.of("name"), part, "name", format!("another include is called \"{name}\" too"));
            sink.push(fault.allowed("a name of its own"));
            continue;
        }
        let Some(scene) = files.scene(include, &part, &path, sink) else { continue };
        if scene.dimension() != tree.dimension {
            let fault = Fault::new(include.file.span.clone(), part, "file", "is a scene of another dimension");
            sink.push(fault.found(scene.dimension()).allowed(tree.dimension.to_string()));
            continue;
        }
        let turn = if tree.dimension == 2 { 1 } else { 4 };
        let placement = Placement { position: include.position[..tree.dimension].to_vec(), rotation: include.rotation[..turn].to_vec() };
        match placed_text(&scene, Some(&name), &placement) {
            Ok(piece) => {
                pieces.push((text.len(), include.places.whole.clone()));
                text.push_str(&piece);
            }
            Err(fault) => sink.push(fault.at(include.places.whole.clone(), part)),
        }
    }
    if !sink.is_clean() {
        return None;
    }
    // Behind the scene's own bytes, so that every place stays one number; the sink knows which include it belongs to.
    let offset = sink.text().len() + 1;
    let pieces = pieces.into_iter().map(|(start, place)| (offset + start, place)).collect();
    let padded = " ".repeat(offset) + &text;
    let mut faults = Sink::new("", &padded);
    let added = parse::parse_into(&mut faults, &padded);
    let errors = faults.into_errors();
    sink.graft(pieces, offset, text);
    for error in errors.iter().flat_map(SceneErrors::iter) {
        sink.push(Fault::new(error.span.clone(), error.part.clone(), error.key.clone(), error.problem.clone()));
    }
    let added = added.filter(|_| sink.is_clean())?;
    tree.bodies.extend(added.bodies);
    tree.joints.extend(added.joints);
    tree.couplings.extend(added.couplings);
    tree.pairs.extend(added.pairs);
    tree.forces.extend(added.forces);
    tree.points.extend(added.points);
    if tree.bodies.len() > MAX_BODIES {
        let fault = Fault::new(tree.places.of("include"), "scene", "include", "too many bodies").found(tree.bodies.len());
        sink.push(fault.allowed(format!("at most {MAX_BODIES} bodies in a scene")));
        return None;
    }
    Some(tree)
}
