//! Pictures of recorded runs without a browser or a graphics card: films (`.gif`; `.mp4` and `.webm` where an encoder is found), stills
//! and strips (`.png`, `.svg`), and bodies with their motion for programs that draw themselves (`.glb`, `.usda`).
//!
//! ```
//! use carom_dynamics::World;
//! use carom_record::{Ending, Header, Log, LogWriter};
//! use carom_render::{Kind, Options, render};
//! use carom_scene::{Scene, from_toml, scene};
//!
//! let Scene::Planar(scene) = from_toml(scene("newton_cradle").unwrap().text, "newton_cradle")? else { unreachable!() };
//! let model = scene.model.clone();
//! let mut world = World::new(scene.model, scene.state)?;
//! let folder = std::env::temp_dir().join("carom-render-example");
//! std::fs::create_dir_all(&folder)?;
//! let path = folder.join("cradle.caromlog");
//! let mut log = LogWriter::create(&path, &Header::of(&model, "cradle", ""))?;
//! log.record(&world)?;
//! for _ in 0..50 {
//!     world.step()?;
//!     log.record(&world)?;
//! }
//! log.finish(&world, Ending::Finished)?;
//!
//! let mut svg = Vec::new();
//! let made = render(&Log::open(&path)?, &model, Kind::Svg, &Options::default(), &mut svg, &mut |_, _| true)?;
//! assert_eq!((made.frames, svg.starts_with(b"<svg")), (1, true));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A picture of the plane is a [`drawing`] that is either written as SVG or painted. A picture of space is drawn triangle by triangle into
//! a depth buffer, lit by one lamp whose own depth buffer gives the shadows; as SVG its faces are put in order from the back.
//! The camera is chosen from the whole run: see [`framing`].

pub mod canvas;
pub mod color;
pub mod draw;
pub mod drawing;
pub mod encode;
pub mod error;
pub mod film;
pub mod framing;
mod glb;
mod glyphs;
mod links;
pub mod mesh;
pub mod options;
mod paint;
pub mod plane;
mod reel;
pub mod space;
mod svg;
mod usda;

pub use color::Theme;
pub use draw::Draw;
pub use encode::video::encoder;
pub use error::RenderError;
pub use options::{Kind, Options};
pub use reel::{Rendered, render, render_states, still};
