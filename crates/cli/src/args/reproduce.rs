//! What can be typed after `carom reproduce`.

use clap::Args;
use std::path::PathBuf;

/// The verdicts, in the order they are counted.
pub const VERDICTS: [&str; 4] = ["reproduced", "differs", "not claimed by a number", "UNEXPLAINED"];

const HELP: &str = "Verdicts: reproduced (the number printed is the number found), differs (it is not, for a reason that stands in chapter 11 of docs/theory.md), \
not claimed by a number (the claim is in words, and what was measured bears it out). docs/reproduction.md keeps them all.";

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct ReproduceArgs {
    /// An entry, as baber-2011/figure-2, or a source, as baber-2011 [default: list them]
    #[arg(value_name = "NAME", conflicts_with_all = ["all", "list"])]
    pub name: Option<String>,
    /// List the entries
    #[arg(long, conflicts_with = "all")]
    pub list: bool,
    /// Run every entry
    #[arg(long)]
    pub all: bool,
    /// Write pictures (.svg) and tables (.csv) here [default: reproduction]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write a page (.md) with all that was run
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}
