//! Worlds for the promises.

use carom::Scene;
use carom::dynamics::{StepReport, World};
use carom::geometry::Geometry;
use carom::math::{Planar, Spatial};
use carom::scene::{SceneOf, from_toml, scene};

fn read(name: &str, text: &str) -> Result<Scene, String> {
    from_toml(text, name).map_err(|error| error.to_string())
}

fn world<G: Geometry>(scene: SceneOf<G>) -> Result<World<G>, String> {
    World::new(scene.model, scene.state).map_err(|error| error.to_string())
}

/// A planar world from a scene text.
pub fn planar(text: &str) -> Result<World<Planar>, String> {
    match read("promise", text)? {
        Scene::Planar(scene) => world(scene),
        Scene::Spatial(_) => Err("the scene is not planar".to_string()),
    }
}

/// A spatial world from a scene text.
pub fn spatial(text: &str) -> Result<World<Spatial>, String> {
    match read("promise", text)? {
        Scene::Spatial(scene) => world(scene),
        Scene::Planar(_) => Err("the scene is not spatial".to_string()),
    }
}

/// An embedded planar scene: its world and the steps of a plain run.
pub fn embedded(name: &str) -> Result<(World<Planar>, usize), String> {
    let found = scene(name).ok_or_else(|| format!("no embedded scene \"{name}\""))?;
    match read(name, found.text)? {
        Scene::Planar(scene) => {
            let steps = (scene.duration / scene.model.step).round() as usize;
            Ok((world(scene)?, steps))
        }
        Scene::Spatial(_) => Err("the scene is not planar".to_string()),
    }
}

/// An embedded planar scene with another step [s].
pub fn embedded_at(name: &str, step: f64) -> Result<World<Planar>, String> {
    let found = scene(name).ok_or_else(|| format!("no embedded scene \"{name}\""))?;
    match read(name, found.text)? {
        Scene::Planar(mut scene) => {
            scene.model.step = step;
            world(scene)
        }
        Scene::Spatial(_) => Err("the scene is not planar".to_string()),
    }
}

/// An embedded spatial scene.
pub fn embedded_spatial(name: &str) -> Result<World<Spatial>, String> {
    spatial(scene(name).ok_or_else(|| format!("no embedded scene \"{name}\""))?.text)
}

/// One step; a promise that was kept by stepping over its impacts would be none.
pub fn step<G: Geometry>(world: &mut World<G>) -> Result<StepReport, String> {
    let report = world.step().map_err(|error| error.to_string())?;
    if report.stepped > 0 { Err(format!("the step that ended at {} s was stepped", world.state().time)) } else { Ok(report) }
}

/// Many steps; their reports merged.
pub fn steps<G: Geometry>(world: &mut World<G>, count: usize) -> Result<StepReport, String> {
    let mut total = StepReport::default();
    for _ in 0..count {
        total.merge(&step(world)?);
    }
    Ok(total)
}

/// Index of a body by name.
pub fn body<G: Geometry>(world: &World<G>, name: &str) -> Result<usize, String> {
    world.model().body(name).ok_or_else(|| format!("no body \"{name}\""))
}
