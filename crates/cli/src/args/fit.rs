//! What can be typed after `carom fit`.

use super::{AtSwitches, PARAMETER_HELP, seconds};
use clap::Args;
use std::path::PathBuf;

const HELP: &str = "Quantities of --weights: position, rotation, velocity, spin, joint, joint_rate; by default each weighs by its noise, judged from the data. \
A fit is `converged` where the noise explains the misfit or searches from several starts agree; otherwise it says why not and the exit code is 1.";

#[derive(Args, Debug)]
#[command(after_help = format!("{PARAMETER_HELP}\n\n{HELP}"))]
pub struct FitArgs {
    /// A scene file, a URDF or MJCF model, the name of an embedded scene, or - for standard input
    pub scene: String,
    /// The motions to repeat: .csv, .npz, .parquet or .caromlog, or folders of them; tables may leave out bodies, frames and columns
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub data: Vec<PathBuf>,
    /// What may change; several, or with commas between
    #[arg(long, value_name = "PARAM", num_args = 1.., required_unless_present_any = ["per_motion", "initial"])]
    pub params: Vec<String>,
    /// What may change from motion to motion
    #[arg(long, value_name = "PARAM", num_args = 1..)]
    pub per_motion: Vec<String>,
    /// Fit the starts of the motions too
    #[arg(long)]
    pub initial: bool,
    /// Search for these by their logarithm (masses and inertias always are)
    #[arg(long, value_name = "PARAM", num_args = 1..)]
    pub log: Vec<String>,
    /// Bounds, as PARAM=LOW:HIGH; either side may be left out
    #[arg(long, value_name = "PARAM=LOW:HIGH", num_args = 1..)]
    pub bounds: Vec<String>,
    /// Where to start, as PARAM=VALUE [default: the scene's value]
    #[arg(long, value_name = "PARAM=VALUE", num_args = 1..)]
    pub start: Vec<String>,
    /// Weights of quantities, as position=1,rotation=0.1
    #[arg(long, value_name = "QUANTITY=WEIGHT", num_args = 1..)]
    pub weights: Vec<String>,
    /// Searches from different starts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub starts: usize,
    /// Cut motions into windows of this length first, joined more and more firmly [s]
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub shooting: Option<f64>,
    /// Let large differences count less
    #[arg(long, value_name = "LOSS", value_parser = ["huber", "cauchy"])]
    pub robust: Option<String>,
    /// Compare velocities too
    #[arg(long)]
    pub velocities: bool,
    /// Compare rotations too
    #[arg(long)]
    pub rotations: bool,
    /// Use the data up to this time only [s]
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub time: Option<f64>,
    /// Most iterations of a search
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub iterations: usize,
    /// Keep finished searches in this file, and go on from it
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
    #[command(flatten)]
    pub at_switches: AtSwitches,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// No lines while it goes on
    #[arg(long, short)]
    pub quiet: bool,
}
