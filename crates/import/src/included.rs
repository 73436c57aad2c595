//! Scenes that include models: the reader of models that `carom-scene` asks.

use crate::{Base, Format, Import, Options, load};
use carom_scene::include::{self, Models, Wish};
use carom_scene::{Scene, SceneError, SceneErrors};
use std::path::Path;

/// Reads the models that a scene includes and keeps what was left out of them.
#[derive(Clone, Debug, Default)]
pub struct Included {
    /// What to make of the models, besides what each `include` says.
    pub options: Options,
    /// What is not supported, by name and line, in the order in which it was met.
    pub notes: Vec<SceneError>,
}

impl Models for Included {
    fn read(&mut self, path: &Path, wish: Wish) -> Option<Result<Scene, SceneErrors>> {
        Format::of(path)?;
        let base = match wish.base {
            None => self.options.base,
            Some(include::Base::Fixed) => Base::Fixed,
            Some(include::Base::Free) => Base::Free,
        };
        let options = Options { base, hold: self.options.hold || wish.hold, ..self.options.clone() };
        Some(load(path, &options).map(|import| {
            self.notes.extend(import.notes);
            import.scene
        }))
    }
}

/// Loads a scene file and the scenes and models that it includes.
///
/// # Errors
/// Every fault of the file in the order of the text, and those of the files it includes.
pub fn load_scene(path: impl AsRef<Path>) -> Result<Import, SceneErrors> {
    let mut models = Included::default();
    let scene = carom_scene::load_with(path, &mut models)?;
    Ok(Import { scene, notes: models.notes })
}

/// Reads a scene from text, whose files are found in a folder.
///
/// # Errors
/// As [`load_scene`].
pub fn from_toml_beside(text: &str, name: &str, folder: &Path) -> Result<Import, SceneErrors> {
    let mut models = Included::default();
    let scene = carom_scene::from_toml_beside_with(text, name, folder, &mut models)?;
    Ok(Import { scene, notes: models.notes })
}
