//! Scene files: text to model and state with precise errors, and back.
//!
//! ```
//! let text = r#"
//! dimension = 2
//!
//! [[body]]
//! name = "ground"
//! kind = "static"
//! shape = { half_space = [0, 1] }
//!
//! [[body]]
//! name = "ball"
//! shape = { ball = 0.1 }
//! position = [0, 1]
//! "#;
//! use carom_scene::FromScene;
//! let world = carom_dynamics::World::<carom_math::Planar>::from_scene(carom_scene::from_toml(text, "drop.toml")?)?;
//! assert_eq!(world.model().bodies[1].name, "ball");
//!
//! let error = carom_scene::from_toml("dimension = 2\ngravty = [0, -1]", "drop.toml").unwrap_err();
//! assert_eq!((error.line, error.nearest.as_deref()), (2, Some("gravity")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The keys stand in [`keys`], once for the parser, the JSON schema ([`schema`]) and the reference (`docs/scene-format.md`).

mod addition;
pub mod builder;
mod check;
pub mod error;
mod front;
pub mod include;
pub mod keys;
mod mesh;
pub mod parse;
mod read;
pub mod reference;
mod repeat;
mod scenes;
mod schema;
mod solid;
pub mod tree;
mod write;

pub use addition::{Added, addition};
pub use builder::{Placement, SceneBuilder, Value};
pub use check::PALETTE;
pub use error::{SceneError, SceneErrors, Span};
pub use front::FromScene;
pub use scenes::{Embedded, scene, scenes};
pub use schema::schema;
pub use solid::SceneSpace;
pub use write::to_toml;

use carom_dynamics::{JointSpec, Model, State};
use carom_geometry::Geometry;
use carom_math::{Planar, Spatial};
use error::{Fault, Sink};
use include::{Files, Models, ScenesOnly};
use std::path::Path;

/// A scene of the plane or of space, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub enum Scene {
    /// `dimension = 2`.
    Planar(SceneOf<Planar>),
    /// `dimension = 3`.
    Spatial(SceneOf<Spatial>),
}

/// What a scene file says: the model, the state it starts from and how long to run.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneOf<G: Geometry> {
    /// What never changes.
    pub model: Model<G>,
    /// Where everything starts.
    pub state: State<G>,
    /// Simulated time of a plain run \[s\].
    pub duration: f64,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// The joints as described, in the order of `model.joints`: world anchors and axes at the start.
    pub joints: Vec<JointSpec<G>>,
    /// Names of the collision groups; their place is their bit in `group` and `mask`.
    pub groups: Vec<String>,
    /// Named points of bodies.
    pub points: Vec<NamedPoint<G>>,
}

/// A named point of a body, with axes of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPoint<G: Geometry> {
    /// Name.
    pub name: String,
    /// Name of the body, or `world`.
    pub body: String,
    /// Place in its frame, from its centre of mass \[m\].
    pub at: G::Lin,
    /// Turn in its frame.
    pub rotation: G::Rot,
}

impl Scene {
    /// Name for people.
    pub fn name(&self) -> &str {
        match self {
            Scene::Planar(scene) => &scene.name,
            Scene::Spatial(scene) => &scene.name,
        }
    }
    /// Description for people.
    pub fn description(&self) -> &str {
        match self {
            Scene::Planar(scene) => &scene.description,
            Scene::Spatial(scene) => &scene.description,
        }
    }
    /// Simulated time of a plain run \[s\].
    pub fn duration(&self) -> f64 {
        match self {
            Scene::Planar(scene) => scene.duration,
            Scene::Spatial(scene) => scene.duration,
        }
    }
    /// 2 or 3.
    pub fn dimension(&self) -> usize {
        match self {
            Scene::Planar(_) => 2,
            Scene::Spatial(_) => 3,
        }
    }
}

/// Loads a scene file; mesh files are found beside it.
///
/// # Errors
/// The first fault, with file, line, column, key, what was found and what is allowed.
pub fn load(path: impl AsRef<Path>) -> Result<Scene, SceneError> {
    load_all(path).map_err(SceneErrors::into_first)
}

/// Loads a scene file and returns all its faults.
///
/// # Errors
/// Every fault of the file in the order of the text.
pub fn load_all(path: impl AsRef<Path>) -> Result<Scene, SceneErrors> {
    load_with(path, &mut ScenesOnly)
}

/// Loads a scene file, where `models` reads the files of other formats that it includes, and returns all its faults.
///
/// # Errors
/// Every fault of the file in the order of the text, and those of the files it includes.
pub fn load_with(path: impl AsRef<Path>, models: &mut dyn Models) -> Result<Scene, SceneErrors> {
    let path = path.as_ref();
    load_within(path, &mut Files::new(models, Some(path)))
}

/// Loads a scene file that may be included by others.
fn load_within(path: &Path, files: &mut Files<'_>) -> Result<Scene, SceneErrors> {
    let file = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            let mut sink = Sink::new(&file, "");
            sink.push(Fault::new(0..0, "scene", "", format!("cannot be read: {error}")));
            return Err(sink.into_errors().unwrap_or_else(|| Sink::fallback(&file)));
        }
    };
    build(&text, &file, Some(path.parent().unwrap_or(Path::new("."))), files)
}

/// Reads a scene from text, without touching any file; `name` stands for the file in messages and names the scene if it does not.
///
/// # Errors
/// The first fault, as [`load`].
pub fn from_toml(text: &str, name: &str) -> Result<Scene, SceneError> {
    from_toml_all(text, name).map_err(SceneErrors::into_first)
}

/// Reads a scene from text and returns all its faults.
///
/// # Errors
/// Every fault of the text in order.
pub fn from_toml_all(text: &str, name: &str) -> Result<Scene, SceneErrors> {
    build(text, name, None, &mut Files::new(&mut ScenesOnly, None))
}

/// The scene of a tree that was made from another format; its spans are bytes of `text`, and `file` stands for it in messages.
///
/// # Errors
/// Every fault in the order of the spans. Numbers are taken as they are: whoever makes the tree has checked that they are in range.
pub fn from_tree(tree: &tree::SceneTree, text: &str, file: &str) -> Result<Scene, SceneErrors> {
    let mut sink = Sink::new(file, text);
    let scene = check::check(tree, &mut sink, None, "scene");
    match (scene, sink.into_errors()) {
        (_, Some(errors)) => Err(errors),
        (Some(scene), None) => Ok(scene),
        (None, None) => Err(Sink::fallback(file)),
    }
}

/// Reads a scene from text, whose mesh files and included scenes are found in a folder, and returns all its faults.
///
/// # Errors
/// Every fault of the text in order.
pub fn from_toml_beside(text: &str, name: &str, folder: &Path) -> Result<Scene, SceneErrors> {
    from_toml_beside_with(text, name, folder, &mut ScenesOnly)
}

/// The same, where `models` reads the files of other formats that the scene includes.
///
/// # Errors
/// Every fault of the text in order, and those of the files it includes.
pub fn from_toml_beside_with(text: &str, name: &str, folder: &Path, models: &mut dyn Models) -> Result<Scene, SceneErrors> {
    build(text, name, Some(folder), &mut Files::new(models, None))
}

fn build(text: &str, file: &str, folder: Option<&Path>, files: &mut Files<'_>) -> Result<Scene, SceneErrors> {
    let mut sink = Sink::new(file, text);
    let stem = Path::new(file).file_stem().map_or_else(|| "scene".to_string(), |s| s.to_string_lossy().into_owned());
    let tree = parse::parse_into(&mut sink, text);
    // Names are resolved only in a tree without faults: a body that could not be read would make every joint on it a fault too.
    let tree = tree.filter(|_| sink.is_clean()).and_then(|tree| include::splice(tree, &mut sink, folder, files));
    let scene = tree.and_then(|tree| check::check(&tree, &mut sink, folder, &stem));
    match (scene, sink.into_errors()) {
        (_, Some(errors)) => Err(errors),
        (Some(scene), None) => Ok(scene),
        (None, None) => Err(Sink::fallback(file)),
    }
}
