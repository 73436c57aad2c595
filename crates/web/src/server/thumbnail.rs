//! Small pictures of the embedded scenes at their start, drawn once when they are first asked for.

use carom_dynamics::{State, World};
use carom_render::{Draw, Kind, Options, Theme, render_states};
use carom_scene::{Scene, SceneOf, from_toml, scene};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Size of a picture \[pixels\]: that of the list, twice for fine screens.
const SIZE: [usize; 2] = [168, 112];

/// The camera looks ahead for so many steps, no longer than this, and not where there are more bodies: their steps may be long.
const STEPS: usize = 200;
const PATIENCE: Duration = Duration::from_millis(60);
const MOST_BODIES: usize = 64;

/// Pictures drawn so far, by scene and paper.
#[derive(Debug, Default)]
pub struct Thumbnails(Mutex<Drawn>);

/// A picture by scene and theme.
type Drawn = BTreeMap<(String, bool), Arc<[u8]>>;

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
    let (width, height) = (Some(SIZE[0]), Some(SIZE[1]));
    let options = Options { width, height, theme, clock: false, follow: Some(false), ..Options::default() };
    let mut png = Vec::new();
    render_states((&backwards(scene), &scene.name), &scene.model, Kind::Png, &options, &mut png, &mut |_, _| true).ok()?;
    Some(png)
}

/// What follows and then the start: a picture of the end of these has the camera that sees where things fall.
fn backwards<G: Draw>(scene: &SceneOf<G>) -> Vec<State<G>> {
    let mut states = vec![scene.state.clone()];
    if scene.model.bodies.len() <= MOST_BODIES
        && let Ok(mut world) = World::new(scene.model.clone(), scene.state.clone())
    {
        let begun = Instant::now();
        while states.len() <= STEPS && begun.elapsed() < PATIENCE && world.step().is_ok() {
            states.push(world.state().clone());
        }
    }
    states.reverse();
    for (k, state) in states.iter_mut().enumerate() {
        state.time = k as f64;
    }
    states
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
