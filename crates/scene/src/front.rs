//! From a scene to a world of its dimension, without a match on the dimension where the program knows it.

use crate::{Scene, SceneOf};
use carom_dynamics::{ModelError, World};
use carom_geometry::Geometry;
use carom_math::{Planar, Spatial};

/// The fault of a scene whose dimension is not the one asked for.
fn wrong_dimension(scene: &Scene, wanted: usize) -> ModelError {
    let (found, space) = (scene.dimension(), if wanted == 2 { "Planar" } else { "Spatial" });
    let other = if wanted == 2 { "Spatial" } else { "Planar" };
    ModelError::new(
        format!("scene \"{}\"", scene.name()),
        "dimension",
        format!("is {found}, but World::<{space}> takes {wanted}; use World::<{other}>, or match on the scene"),
    )
}

impl TryFrom<Scene> for SceneOf<Planar> {
    type Error = ModelError;
    fn try_from(scene: Scene) -> Result<Self, ModelError> {
        match scene {
            Scene::Planar(scene) => Ok(scene),
            Scene::Spatial(_) => Err(wrong_dimension(&scene, 2)),
        }
    }
}

impl TryFrom<Scene> for SceneOf<Spatial> {
    type Error = ModelError;
    fn try_from(scene: Scene) -> Result<Self, ModelError> {
        match scene {
            Scene::Spatial(scene) => Ok(scene),
            Scene::Planar(_) => Err(wrong_dimension(&scene, 3)),
        }
    }
}

/// Worlds made from scenes.
///
/// ```
/// use carom_dynamics::World;
/// use carom_math::{Planar, Spatial};
/// use carom_scene::FromScene;
///
/// let scene = carom_scene::from_toml("dimension = 2\n[[body]]\nshape = { ball = 0.1 }", "one.toml")?;
/// let mut world = World::<Planar>::from_scene(scene.clone())?;
/// world.step()?;
///
/// let error = World::<Spatial>::from_scene(scene).err().unwrap();
/// assert_eq!(error.key, "dimension");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait FromScene: Sized {
    /// The world of a scene at its start.
    ///
    /// # Errors
    /// A scene of the other dimension, or a model that cannot be built.
    fn from_scene(scene: Scene) -> Result<Self, ModelError>;
}

impl<G: Geometry> FromScene for World<G>
where
    SceneOf<G>: TryFrom<Scene, Error = ModelError>,
{
    fn from_scene(scene: Scene) -> Result<Self, ModelError> {
        let scene = SceneOf::<G>::try_from(scene)?;
        World::new(scene.model, scene.state)
    }
}
