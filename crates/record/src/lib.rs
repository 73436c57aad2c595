//! Runs on disk: exact, resumable, exportable.
//!
//! A [`LogWriter`] writes a `.caromlog` while a world runs: a header with the scene, then chunks of frames bit for bit, and with each
//! chunk a mark from which the run can go on as if it had never stopped. A [`Log`] reads it back, whole or as far as it was written.
//! [`export`](fn@export::export) turns a log into `.csv`, `.npz`, `.parquet` or `.mcap`; [`read`] reads any of them back.
//!
//! ```
//! use carom_dynamics::{Body, BodyKind, Model, State, World};
//! use carom_math::{Planar, Pose, Space, Twist};
//! use carom_record::{Ending, Header, Log, LogWriter};
//!
//! let mut model = Model::<Planar>::new("fall");
//! model.bodies.push(Body::new("stone", BodyKind::Dynamic, 1.0, Planar::inertia_from_moments(&[1.0])));
//! let mut state = State::empty();
//! state.push(Pose::identity(), Twist::zero());
//! let mut world = World::new(model, state)?;
//!
//! let folder = std::env::temp_dir().join("carom-record-example");
//! std::fs::create_dir_all(&folder)?;
//! let path = folder.join("fall.caromlog");
//! let mut log = LogWriter::create(&path, &Header::of(world.model(), "", ""))?;
//! log.record(&world)?;
//! for _ in 0..100 {
//!     world.step()?;
//!     log.record(&world)?;
//! }
//! log.finish(&world, Ending::Finished)?;
//!
//! let log = Log::open(&path)?;
//! let last = log.frame(100)?;
//! assert_eq!(last.time, world.state().time);
//! assert_eq!(last.q[1], world.state().poses[0].position[1]);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atomic;
mod bytes;
mod checksum;
pub mod columns;
mod csv;
pub mod error;
pub mod export;
mod mcap;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
mod read;
pub mod replay;
pub mod trajectory;
mod zip;

#[cfg(test)]
mod tests;

pub use atomic::{AtomicFile, partial_path};
pub use error::RecordError;
pub use export::{Export, Format, export};
pub use npz::{Arrays, arrays_of, read_arrays};
pub use read::read;
pub use replay::{Log, Trajectory};
pub use trajectory::{Ending, Frame, Header, LogWriter};
