//! What can be typed after `carom validate`.

use clap::Args;
use std::path::PathBuf;

const HELP: &str = "Sets: cube (tosses of a cube; part of the package), elbow (two hinged blocks), ellipse (impacts in the plane), problems (public \
friction-contact problems). All but the cube need --data. A set without data is `not run: no data`; asked for by name that is exit code 2. \
docs/validation.md keeps what was found.";

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct ValidateArgs {
    /// The sets to run [default: cube]
    #[arg(value_name = "SET", conflicts_with = "all")]
    pub sets: Vec<String>,
    /// Run every set there is data for
    #[arg(long)]
    pub all: bool,
    /// The folder with the data (.npz) that are not part of the package
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Write pictures (.svg) here [default: validation]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write a page (.md) with all that was run
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Write the scene of a set (cube or elbow) and its tosses as tables for `carom fit` here, and run nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["all", "page"])]
    pub export: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}
