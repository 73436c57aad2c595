//! Embedded scenes as worlds, with the step and the integrator of a test's choice.

use carom_dynamics::options::Integrator;
use carom_dynamics::{Model, State, World};
use carom_geometry::Geometry;
use carom_math::{Planar, Spatial, Vector};
use carom_scene::{Scene, SceneOf, from_toml, scene};

/// The step of a screen that shows sixty pictures a second [s].
pub const FRAME: f64 = 1.0 / 60.0;

/// A planar world.
pub fn planar(name: &str, step: f64) -> World<Planar> {
    match read(name) {
        Scene::Planar(scene) => world(scene, step, Integrator::Verlet),
        Scene::Spatial(_) => panic!("{name} is not planar"),
    }
}

/// An embedded scene.
pub fn read(name: &str) -> Scene {
    let text = scene(name).unwrap_or_else(|| panic!("no scene {name}")).text;
    from_toml(text, name).unwrap_or_else(|error| panic!("{error}"))
}

/// The world of a scene.
pub fn world<G: Geometry>(scene: SceneOf<G>, step: f64, integrator: Integrator) -> World<G> {
    let mut model: Model<G> = scene.model;
    model.step = step;
    model.options.integrator = integrator;
    World::new(model, scene.state).unwrap_or_else(|error| panic!("{error}"))
}

/// Where the bodies are after a time, with a step and an integrator: the coordinates of every centre of mass [m].
pub fn places(name: &str, step: f64, seconds: f64, integrator: Integrator) -> Vec<f64> {
    fn run<G: Geometry>(scene: SceneOf<G>, step: f64, seconds: f64, integrator: Integrator) -> Vec<f64> {
        let mut world = world(scene, step, integrator);
        for _ in 0..(seconds / step).round() as usize {
            world.step().unwrap_or_else(|error| panic!("{error}"));
        }
        let state: &State<G> = world.state();
        state.poses.iter().flat_map(|pose| pose.position.as_slice().to_vec()).collect()
    }
    match read(name) {
        Scene::Planar(scene) => run::<Planar>(scene, step, seconds, integrator),
        Scene::Spatial(scene) => run::<Spatial>(scene, step, seconds, integrator),
    }
}
