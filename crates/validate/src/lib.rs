//! The engine beside the real world: motions that others measured, and contact problems that others posed, by their published protocols.
//! `carom validate` prints it, `docs/validation.md` keeps it.
//!
//! A set of 445 measured tosses of a cube is part of the package; the other sets are read from a folder that the user names.

mod chart;
pub mod cube;
pub mod elbow;
mod ellipse;
mod export;
mod page;
pub mod planted;
mod problems;
mod reading;
mod section;
mod strip;
mod toss;

pub use export::export;
pub use page::{page, section};
pub use section::{Picture, Section, Table, Target};
pub use toss::{RATE, Start, Toss, Tosses, WIDTH};

use carom::dynamics::Interrupt;
use std::fmt;
use std::path::Path;

/// The sets, in the order in which they are run.
pub const SETS: [&str; 4] = ["cube", "elbow", "ellipse", "problems"];

/// Why a set was not run to its end.
#[derive(Debug)]
pub enum Trouble {
    /// There is no data for it; says where it was looked for.
    NoData(String),
    /// The data cannot be used, or the engine refused a run; says which.
    Failed(String),
    /// The user stopped it.
    Stopped,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::NoData(wanted) => write!(f, "not run: no data ({wanted})"),
            Trouble::Failed(what) => f.write_str(what),
            Trouble::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Trouble {}

/// Runs one set by name, with the data of a folder where it needs more than what is shipped.
///
/// # Errors
/// No data, data that make no sense, a run that the engine refuses, or the wish to stop.
pub fn run(set: &str, data: Option<&Path>, interrupt: &Interrupt) -> Result<Section, Trouble> {
    match set {
        "cube" => cube::run(data, interrupt),
        "elbow" => elbow::run(data, interrupt),
        "ellipse" => ellipse::run(data),
        "problems" => problems::run(data, interrupt),
        _ => Err(Trouble::Failed(format!("no set \"{set}\"; there are {}", SETS.join(", ")))),
    }
}

/// Mean and standard deviation.
fn spread(values: &[f64]) -> [f64; 2] {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    [mean, square.sqrt()]
}

/// The middle of the values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
