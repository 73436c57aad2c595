//! The viewer: what a browser is given to draw, as one file that needs nothing else, or live over a socket.
//!
//! [`Picture`] says what never changes (bodies, shapes, joints), a [`Shot`] where everything is after one step, and a [`Recorder`] packs
//! the shots of a run into a page that opens from a file:
//!
//! ```
//! use carom_web::{About, Recorder};
//! use carom_dynamics::World;
//!
//! let text = carom_scene::scene("newton_cradle").unwrap().text;
//! let carom_scene::Scene::Planar(scene) = carom_scene::from_toml(text, "newton_cradle")? else { panic!("a plane") };
//! let about = About { name: &scene.name, description: &scene.description, duration: scene.duration };
//! let mut world = World::new(scene.model, scene.state)?;
//! let mut recorder = Recorder::new(&world, &about, 100);
//! for _ in 0..100 {
//!     world.step()?;
//!     recorder.record(&world);
//! }
//! let page = recorder.html();
//! assert!(page.starts_with("<!doctype html>") && page.len() < 2_000_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The page itself is written in TypeScript under `page/` and built into `bundle/index.html`, which is part of the source: a build
//! needs no node. `docs/viewer.md` tells what the page can do.

mod base64;
mod bundle;
mod pack;
mod picture;
mod recorder;
#[cfg(feature = "server")]
pub mod server;
mod shot;

pub use bundle::{live_page, replay_page};
pub use picture::{About, Picture};
pub use recorder::Recorder;
pub use shot::{Shot, Touch, books};
