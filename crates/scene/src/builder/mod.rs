//! Scenes built by calls instead of text: the same keys, the same checks, the same messages. The place that a message names is the call.

mod placed;
mod value;

pub use placed::Placement;
pub(crate) use placed::text as placed_text;
pub use value::Value;

use crate::error::{Details, Fault, SceneError, SceneErrors, Sink};
use crate::include::{Models, ScenesOnly};
use crate::{Scene, from_toml_beside_with, parse};
use std::panic::Location;
use std::path::Path;

/// Where a call stands: file, line and column of the program that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

impl From<&'static Location<'static>> for Place {
    fn from(location: &'static Location<'static>) -> Self {
        Place { file: location.file().to_string(), line: location.line() as usize, column: location.column() as usize }
    }
}

/// A table of the scene file that can be called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `[[body]]`.
    Body,
    /// `[[joint]]`.
    Joint,
    /// `[[pair]]`.
    Pair,
    /// `[[force]]`.
    Force,
    /// `[[point]]`.
    Point,
    /// `[[repeat]]`.
    Repeat,
}

impl Part {
    fn heading(self) -> &'static str {
        match self {
            Part::Body => "[[body]]",
            Part::Joint => "[[joint]]",
            Part::Pair => "[[pair]]",
            Part::Force => "[[force]]",
            Part::Point => "[[point]]",
            Part::Repeat => "[[repeat]]",
        }
    }
}

/// A call and what it wrote.
#[derive(Clone, Debug, PartialEq)]
struct Call {
    text: String,
    place: Place,
}

/// A scene in the making.
///
/// Every call takes the keys of its table in the scene file. What is wrong with a call by itself is said at once; what is wrong between calls (a joint
/// on a body that does not exist) by [`SceneBuilder::build`]. Either way the message is that of the file, with the place of the call.
///
/// ```
/// use carom_scene::{SceneBuilder, Value};
/// let mut scene = SceneBuilder::new(2);
/// scene.top("step", 0.01)?;
/// scene.body([("name", "ground".into()), ("kind", "static".into()), ("shape", Value::table([("half_space", [0.0, 1.0].into())]))])?;
/// scene.body([("name", "ball".into()), ("shape", Value::table([("ball", 0.1.into())])), ("position", [0.0, 1.0].into())])?;
/// assert_eq!(scene.build()?.dimension(), 2);
///
/// let error = scene.body([("mas", 2.0.into())]).unwrap_err();
/// assert_eq!((error.nearest.as_deref(), error.file.ends_with(".rs")), (Some("mass"), true));
/// # Ok::<(), carom_scene::SceneError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SceneBuilder {
    dimension: usize,
    top: Vec<Call>,
    materials: Vec<Call>,
    parts: Vec<Call>,
}

impl SceneBuilder {
    /// An empty scene of the plane (2) or of space (3); another dimension is a fault of the first call.
    pub fn new(dimension: usize) -> Self {
        SceneBuilder { dimension, top: Vec::new(), materials: Vec::new(), parts: Vec::new() }
    }
    /// A key of the top level; said again, the last one counts.
    ///
    /// # Errors
    /// The first fault of the call, as for a file.
    #[track_caller]
    pub fn top(&mut self, key: &str, value: impl Into<Value>) -> Result<&mut Self, SceneError> {
        self.top_at(key, &value.into(), Location::caller().into())
    }
    /// A material.
    ///
    /// # Errors
    /// The first fault of the call, as for a file.
    #[track_caller]
    pub fn material<'a>(&mut self, name: &str, keys: impl IntoIterator<Item = (&'a str, Value)>) -> Result<&mut Self, SceneError> {
        let keys: Vec<(&str, Value)> = keys.into_iter().collect();
        self.material_at(name, &keys, Location::caller().into())
    }
    /// A body.
    ///
    /// # Errors
    /// The first fault of the call, as for a file.
    #[track_caller]
    pub fn body<'a>(&mut self, keys: impl IntoIterator<Item = (&'a str, Value)>) -> Result<&mut Self, SceneError> {
        self.call(Part::Body, keys, Location::caller())
    }
    /// A joint.
    ///
    /// # Errors
    /// The first fault of the call, as for a file.
    #[track_caller]
    pub fn joint<'a>(&mut self, keys: impl IntoIterator<Item = (&'a str, Value)>) -> Result<&mut Self, SceneError> {
        self.call(Part::Joint, keys, Location::caller())
    }
    /// A rule of a pair.
    ///
    /// # Errors
    /// The first fault of the call, as for a file.
    #[track_caller]
    pub fn pair<'a>(&mut self, keys: impl IntoIterator<Item = (&'a str, Value)>) -> Result<&mut Self, SceneError> {
        self.call(Part::Pair, keys, Location::caller())
    }
    /// A force.
    ///
    /// # Errors
    /// The first fault of the call, as for a file.
    #[track_caller]
    pub fn force<'a>(&mut self, keys: impl IntoIterator<Item = (&'a str, Value)>) -> Result<&mut Self, SceneError> {
        self.call(Part::Force, keys, Location::caller())
    }
    /// A named point.
    ///
    /// # Errors
    /// The first fault of the call, as for a file.
    #[track_caller]
    pub fn point<'a>(&mut self, keys: impl IntoIterator<Item = (&'a str, Value)>) -> Result<&mut Self, SceneError> {
        self.call(Part::Point, keys, Location::caller())
    }
    /// A repeat.
    ///
    /// # Errors
    /// The first fault of the call, as for a file.
    #[track_caller]
    pub fn repeat<'a>(&mut self, keys: impl IntoIterator<Item = (&'a str, Value)>) -> Result<&mut Self, SceneError> {
        self.call(Part::Repeat, keys, Location::caller())
    }
    /// The bodies, joints, pairs and forces of another scene, placed; names become `name.part` where a name is given. Its gravity, step and choices are left
    /// behind.
    ///
    /// # Errors
    /// A scene of the other dimension.
    #[track_caller]
    pub fn add(&mut self, scene: &Scene, name: Option<&str>, placement: &Placement) -> Result<&mut Self, SceneError> {
        self.add_at(scene, name, placement, Location::caller().into())
    }

    fn call<'a>(
        &mut self,
        part: Part,
        keys: impl IntoIterator<Item = (&'a str, Value)>,
        place: &'static Location<'static>,
    ) -> Result<&mut Self, SceneError> {
        let keys: Vec<(&str, Value)> = keys.into_iter().collect();
        self.part_at(part, &keys, place.into())
    }

    /// [`SceneBuilder::top`] with a place of the caller's own.
    ///
    /// # Errors
    /// The same.
    pub fn top_at(&mut self, key: &str, value: &Value, place: Place) -> Result<&mut Self, SceneError> {
        let text = format!("{} = {value}\n", value::bare(key));
        if key == "dimension" {
            let fault = Fault::new(0..0, "scene", key, "is given where the scene is made");
            return Err(at(fault, &place));
        }
        self.check(&text, &place)?;
        let head = format!("{} = ", value::bare(key));
        self.top.retain(|call| !call.text.starts_with(&head));
        self.top.push(Call { text, place });
        Ok(self)
    }
    /// [`SceneBuilder::material`] with a place of the caller's own.
    ///
    /// # Errors
    /// The same.
    pub fn material_at(&mut self, name: &str, keys: &[(&str, Value)], place: Place) -> Result<&mut Self, SceneError> {
        let text = format!("\n[materials.{}]\n{}", value::bare(name), lines(keys));
        let before: String = self.materials.iter().map(|call| &*call.text).collect();
        if before.contains(&format!("\n[materials.{}]\n", value::bare(name))) {
            return Err(at(Fault::new(0..0, format!("material \"{name}\""), "", "is there already"), &place));
        }
        self.check(&text, &place)?;
        self.materials.push(Call { text, place });
        Ok(self)
    }
    /// A body, joint, pair, force or repeat with a place of the caller's own.
    ///
    /// # Errors
    /// The first fault of the call, as for a file.
    pub fn part_at(&mut self, part: Part, keys: &[(&str, Value)], place: Place) -> Result<&mut Self, SceneError> {
        let text = format!("\n{}\n{}", part.heading(), lines(keys));
        self.check(&text, &place)?;
        self.parts.push(Call { text, place });
        Ok(self)
    }
    /// [`SceneBuilder::add`] with a place of the caller's own.
    ///
    /// # Errors
    /// The same.
    pub fn add_at(&mut self, scene: &Scene, name: Option<&str>, placement: &Placement, place: Place) -> Result<&mut Self, SceneError> {
        if scene.dimension() != self.dimension {
            let fault = Fault::new(0..0, "scene", "dimension", "is another one").found(scene.dimension());
            return Err(at(fault.allowed(self.dimension.to_string()), &place));
        }
        let text = placed::text(scene, name, placement).map_err(|fault| at(*fault, &place))?;
        self.parts.push(Call { text, place });
        Ok(self)
    }

    /// The scene as a file would say it, in the order of the calls.
    pub fn to_toml(&self) -> String {
        let calls = self.calls().map(|call| &*call.text);
        std::iter::once(&*format!("dimension = {}\n", self.dimension)).chain(calls).collect()
    }
    /// Writes the scene to a file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        std::fs::write(path, self.to_toml())
    }
    /// The scene, ready to run.
    ///
    /// # Errors
    /// The first fault, with the place of the call it is in.
    pub fn build(&self) -> Result<Scene, SceneError> {
        self.build_with(&mut ScenesOnly)
    }
    /// The same, where `models` reads the files of other formats that the scene includes.
    ///
    /// # Errors
    /// The first fault, with the place of the call it is in.
    pub fn build_with(&self, models: &mut dyn Models) -> Result<Scene, SceneError> {
        let text = self.to_toml();
        // Files are found where the program runs.
        let made = from_toml_beside_with(&text, "scene", Path::new("."), models);
        made.map_err(|errors| {
            let first = errors.into_first();
            // A fault of an included file has its place there.
            if first.file == "scene" { self.relocated(first, &text) } else { first }
        })
    }

    fn calls(&self) -> impl Iterator<Item = &Call> {
        self.top.iter().chain(&self.materials).chain(&self.parts)
    }

    /// A fault of the text with the place of the call that wrote it.
    fn relocated(&self, error: SceneError, text: &str) -> SceneError {
        let mut start = text.len() - self.calls().map(|call| call.text.len()).sum::<usize>();
        for call in self.calls() {
            if (start..start + call.text.len()).contains(&error.span.start) {
                return moved(&error, &call.place);
            }
            start += call.text.len();
        }
        error
    }

    /// What is wrong with a call by itself.
    fn check(&self, text: &str, place: &Place) -> Result<(), SceneError> {
        let alone = format!("dimension = {}\n{text}", self.dimension);
        match parse::parse(&alone, "scene") {
            Ok(_) => Ok(()),
            Err(errors) => Err(moved(&SceneErrors::into_first(errors), place)),
        }
    }
}

/// Keys as lines.
fn lines(keys: &[(&str, Value)]) -> String {
    keys.iter().map(|(key, value)| format!("{} = {value}\n", value::bare(key))).collect()
}

/// An error elsewhere.
fn moved(error: &SceneError, place: &Place) -> SceneError {
    let details: &Details = error;
    Details { file: place.file.clone(), line: place.line, column: place.column, ..details.clone() }.into()
}

/// A fault at the place of a call.
fn at(fault: Fault, place: &Place) -> SceneError {
    let mut sink = Sink::new(&place.file, "");
    sink.push(fault);
    let errors = sink.into_errors().unwrap_or_else(|| Sink::fallback(&place.file));
    moved(errors.first(), place)
}
