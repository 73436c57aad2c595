//! What can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Rigid-body dynamics with hard contact, dry friction and impacts that provably end.
///
/// Without a command the embedded pool break runs and leaves pool_break.caromlog here.
#[derive(Debug, Parser)]
#[command(name = "carom", version, max_term_width = 110, after_help = "Exit codes: 0 done, 1 failed, 2 bad input.")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scene, save the result and print a summary
    Run(RunArgs),
    /// Validate a scene: every fault with its line, key and what is allowed
    Check(CheckArgs),
    /// List the embedded scenes, or print the text of one
    Scenes(ScenesArgs),
    /// Print the JSON schema of scene files, for editors
    Schema,
    /// Run the engine's promises and print what was expected and measured
    Prove(ProveArgs),
    /// Convert a .caromlog to .csv, .npz or .parquet, or a scene to plain TOML with everything written out
    Convert(ConvertArgs),
}

impl Command {
    /// Whether the answer goes to a program.
    pub fn wants_json(&self) -> bool {
        match self {
            Command::Run(args) => args.json,
            Command::Check(args) => args.json,
            Command::Scenes(args) => args.json,
            Command::Prove(args) => args.json,
            Command::Schema | Command::Convert(_) => false,
        }
    }
}

/// An impact law by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Law {
    /// the energy law for one contact, reflections for several
    Auto,
    /// generalised reflections
    Reflections,
    /// pairwise reflections in order of the contacts
    GaussSeidel,
    /// the energy law at one contact after another
    Stronge,
    /// restitution inside the dynamics problem
    Newton,
}

#[derive(Args, Debug, Default)]
pub struct RunArgs {
    /// A scene file, the name of an embedded scene, or - for standard input [default: pool_break]
    #[arg(value_name = "SCENE")]
    pub scene: Option<String>,
    /// Run until this simulated time [s] [default: the scene's duration]
    #[arg(long, value_name = "S", conflicts_with = "steps", value_parser = seconds)]
    pub time: Option<f64>,
    /// Run until so many steps have been taken since the start
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Save to these files, by ending: .caromlog (exact, resumable), .csv, .npz, .parquet [default: NAME.caromlog]
    #[arg(long, short, value_name = "FILE", num_args = 1..)]
    pub out: Vec<PathBuf>,
    /// Save nothing
    #[arg(long, conflicts_with = "out")]
    pub no_out: bool,
    /// Use this impact law instead of the scene's
    #[arg(long, value_name = "LAW", value_enum)]
    pub impact: Option<Law>,
    /// Use this time step [s] instead of the scene's
    #[arg(long, value_name = "H", value_parser = positive_seconds)]
    pub step: Option<f64>,
    /// Go on with a stopped run, to the same bits as if it had never stopped; extends the file unless --out is given
    #[arg(long, value_name = "FILE.caromlog", conflicts_with_all = ["scene", "impact", "step"])]
    pub resume: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar and no summary
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub struct CheckArgs {
    /// A scene file, the name of an embedded scene, or - for standard input
    pub scene: String,
    /// Print the verdict as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ScenesArgs {
    /// Print the text of this scene
    pub name: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ProveArgs {
    /// Only this promise
    pub name: Option<String>,
    /// Print the table as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// A .caromlog, a scene file or the name of an embedded scene
    #[arg(value_name = "IN")]
    pub input: String,
    /// The file to write; its ending names the format
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x >= 0.0 => Ok(x),
        _ => Err("needs a number of seconds >= 0".to_string()),
    }
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    seconds(text).ok().filter(|x| *x > 0.0).ok_or_else(|| "needs a number of seconds > 0".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn seconds_are_finite_and_not_negative() {
        assert_eq!(seconds("0"), Ok(0.0));
        assert_eq!(positive_seconds("1e-3"), Ok(1e-3));
        for text in ["-1", "nan", "inf", "two", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert!(positive_seconds("0").is_err());
    }
}
