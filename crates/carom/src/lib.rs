//! Rigid-body dynamics in the plane and in space, in one text: hard contact, dry friction, impacts that provably end, joints without
//! drift, an energy ledger that balances, and the same bits on every run.
//!
//! A scene from text:
//!
//! ```
//! use carom::prelude::*;
//!
//! let text = r#"
//!     dimension = 2
//!     [[body]]
//!     kind = "static"
//!     shape = { half_space = [0, 1] }
//!     restitution = 0.7
//!     [[body]]
//!     name = "ball"
//!     shape = { ball = 0.1 }
//!     position = [0, 1.1]      # the lowest point is 1 m up
//!     restitution = 0.7
//! "#;
//! let mut world = World::<Planar>::from_scene(carom::from_toml(text, "drop.toml")?)?;
//! while world.ledger().flow.impact_loss == 0.0 {
//!     world.step()?;
//! }
//! let (pose, twist) = (world.state().poses[1], world.state().twists[1]);
//! let apex = pose.position.y - 0.1 + twist.lin.y.powi(2) / (2.0 * 9.81);
//! assert!((apex - 0.49).abs() < 1e-9, "e = 0.7 rebounds to 0.49 of the height");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The same built in code, here two balls that meet head on:
//!
//! ```
//! use carom::prelude::*;
//!
//! let mut model = Model::<Planar>::new("two balls");
//! model.gravity = Vector::zero();
//! let mut state = State::empty();
//! for (name, x, speed) in [("a", -1.0, 2.0), ("b", 1.0, 0.0)] {
//!     let mut ball = Body::new(name, BodyKind::Dynamic, 1.0, Planar::inertia_from_moments(&[0.5]));
//!     ball.colliders.push(Collider { shape: planar::Shape::ball(0.5)?, local: Pose::identity() });
//!     ball.surface.restitution = 1.0;
//!     model.bodies.push(ball);
//!     let pose = Pose { position: Vector::from_slice(&[x, 0.0]), ..Pose::identity() };
//!     state.push(pose, Twist { lin: Vector::from_slice(&[speed, 0.0]), ..Twist::zero() });
//! }
//! let mut world = World::new(model, state)?;
//! for _ in 0..200 {
//!     world.step()?;
//! }
//! let speeds: Vec<f64> = world.state().twists.iter().map(|t| t.lin.x).collect();
//! assert!(speeds[0].abs() < 1e-12 && (speeds[1] - 2.0).abs() < 1e-12, "equal masses swap their velocities");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `World::<Spatial>` is the same in space. The parts stand on their own as [`math`], [`geometry`], [`solve`], [`kernels`], [`dynamics`], [`scene`],
//! [`import`] (URDF, MJCF and SDF) and [`record`]; equations cited as (n.m) stand in `docs/theory.md`.

pub use carom_dynamics as dynamics;
pub use carom_geometry as geometry;
pub use carom_import as import;
pub use carom_kernels as kernels;
pub use carom_math as math;
pub use carom_record as record;
pub use carom_scene as scene;
pub use carom_solve as solve;

pub use carom_dynamics::{ModelError, StepError, World};
pub use carom_record::RecordError;
pub use carom_scene::{FromScene, Scene, SceneBuilder, SceneError, from_toml, scenes};

/// Loads a scene file, with the meshes, scenes and URDF, MJCF or SDF models that it names; [`import::load_scene`] also says what was left out of models.
///
/// # Errors
/// The first fault, with file, line, column, key, what was found and what is allowed.
pub fn load(path: impl AsRef<std::path::Path>) -> Result<Scene, SceneError> {
    carom_import::load_scene(path).map(|import| import.scene).map_err(carom_scene::SceneErrors::into_first)
}

/// What most programs need, by one `use carom::prelude::*`.
pub mod prelude {
    pub use carom_dynamics::gradient::{Cotangents, Direction, Gradient, GradientError, Names, Rollout, Tape};
    pub use carom_dynamics::options::{
        FrictionCone, Gyroscopic, ImpactFriction, ImpactLaw, Integrator, Options, Order, SolverChoice, TimeOfImpact,
    };
    pub use carom_dynamics::{Body, BodyKind, Collider, Force, Joint, JointKind, JointSpec, Model, Motor, PairRule, State, Tolerances};
    pub use carom_dynamics::{ContactReport, Interrupt, Ledger, ModelError, Snapshot, StepError, StepReport, World};
    pub use carom_geometry::{Geometry, planar, spatial};
    pub use carom_math::{Planar, Pose, Space, Spatial, Twist, Vector, Wrench};
    pub use carom_record::{Ending, Frame, Header, Log, LogWriter, RecordError, Trajectory};
    pub use carom_scene::{FromScene, Scene, SceneBuilder, SceneError, SceneErrors, SceneOf, Value};
}

/// The snippets of the README, compiled and run like any other example.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct ReadmeSnippets;

/// The snippets of the page on gradients.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/gradients.md")]
pub struct GradientSnippets;
