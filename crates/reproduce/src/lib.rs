//! Every algorithm, worked example, figure and number of the four sources, run again: what the source says, what is measured, and whether
//! they agree. `carom reproduce` prints it, `docs/reproduction.md` keeps it.
//!
//! An [`Entry`] runs on the public functions of the engine, or on a few lines that do what the source prints where the engine does something
//! better. Where a source is wrong its claim `differs`, with the place in the errata chapter of the theory that says why.

mod baber_2011;
mod belbute_peres_2018;
mod chart;
mod page;
mod random;
mod report;
mod tomcin_2014;
mod vouga_2017;

pub use chart::{Chart, Scale, Series, Style};
pub use page::{page, section};
pub use random::Random;
pub use report::{Claim, Report, Verdict, digits};

/// Why an entry could not be run.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// One algorithm, example, figure or claim of a source.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Source and place, for example `baber-2011/figure-2`.
    pub name: &'static str,
    /// Where in the source, and what it is.
    pub about: &'static str,
    /// Whether it takes well under a second of unoptimised code; tests run these.
    pub quick: bool,
    run: fn(&mut Report) -> Result<(), Failure>,
}

impl Entry {
    /// Runs it.
    ///
    /// # Errors
    /// What kept it from ending.
    pub fn run(&self) -> Result<Report, Failure> {
        let mut report = Report::new(self.name, self.about);
        (self.run)(&mut report)?;
        Ok(report)
    }

    /// The source: `baber-2011`.
    pub fn source(&self) -> &'static str {
        self.name.split_once('/').map_or(self.name, |(source, _)| source)
    }
}

/// The sources by the first part of an entry's name, with their full names.
pub const SOURCES: [(&str, &str); 4] = [
    (
        "belbute-peres-2018",
        "de Avila Belbute-Peres, Smith, Allen, Tenenbaum and Kolter 2018, *End-to-End Differentiable Physics for Learning and Control*, supplement",
    ),
    ("baber-2011", "Baber 2011, *A Correction To Brian Mirtich's Thesis: \"Impulse-based Dynamic Simulation of Rigid Body Systems\"*"),
    (
        "tomcin-2014",
        "Tomcin, Sibbing and Kobbelt 2014, *Efficient Enforcement of Hard Articulation Constraints in the Presence of Closed Loops and Contacts*, appendices",
    ),
    (
        "vouga-2017",
        "Vouga, Smith, Kaufman, Tamstorf and Grinspun 2017, *All's Well That Ends Well: Guaranteed Resolution of Simultaneous Rigid Body Impact*",
    ),
];

/// All entries, source by source.
pub fn entries() -> Vec<Entry> {
    [belbute_peres_2018::ENTRIES, baber_2011::ENTRIES, tomcin_2014::ENTRIES, vouga_2017::ENTRIES].concat()
}
