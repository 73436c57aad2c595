//! Small pictures of the embedded scenes at their start, drawn once when they are first asked for.

use carom_render::{Draw, Options, Theme, still};
use carom_scene::{Scene, SceneOf, from_toml, scene};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Size of a picture [pixels]: that of the list, twice for fine screens.
const SIZE: [usize; 2] = [168, 112];

/// Pictures drawn so far, by scene and paper.
#[derive(Debug, Default)]
pub struct Thumbnails(Mutex<BTreeMap<(String, bool), Arc<[u8]>>>);

impl Thumbnails {
    /// The picture of a scene as PNG; `None` when there is no such scene.
    pub fn draw(&self, name: &str, dark: bool) -> Option<Arc<[u8]>> {
        let found = scene(name)?;
        let key = (found.name.to_string(), dark);
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(drawn) = known().get(&key) {
            return Some(drawn.clone());
        }
        let drawn: Arc<[u8]> = match from_toml(found.text, found.name).ok()? {
            Scene::Planar(scene) => picture(&scene, dark)?,
            Scene::Spatial(scene) => picture(&scene, dark)?,
        }
        .into();
        known().insert(key, drawn.clone());
        Some(drawn)
    }
}

fn picture<G: Draw>(scene: &SceneOf<G>, dark: bool) -> Option<Vec<u8>> {
    let theme = if dark { Theme::Dark } else { Theme::Light };
    let options = Options { width: Some(SIZE[0]), height: Some(SIZE[1]), theme, ..Options::default() };
    still(&scene.model, &scene.state.poses, &options).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_has_its_picture_and_it_is_drawn_once() {
        let all = Thumbnails::default();
        for name in ["ball_drop", "bowling", "pile_in_bin"] {
            let png = all.draw(name, false).unwrap();
            assert!(png.starts_with(b"\x89PNG") && png.len() > 300, "{name}: {} bytes", png.len());
            assert!(Arc::ptr_eq(&png, &all.draw(name, false).unwrap()));
            assert!(!Arc::ptr_eq(&png, &all.draw(name, true).unwrap()));
        }
        assert!(all.draw("nonsense", false).is_none());
    }
}
