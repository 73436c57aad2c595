//! What can be typed.

use carom::dynamics::gradient::Weak;
use carom::dynamics::options::{ImpactLaw, Order};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

mod fit;
mod import;
mod manual;
mod reproduce;
mod validate;

pub use fit::FitArgs;
pub use import::{BaseChoice, ImportArgs, MeshesChoice};
pub use manual::{CompletionsArgs, ManArgs};
pub use reproduce::{ReproduceArgs, VERDICTS};
pub use validate::ValidateArgs;

/// What the shell hears.
const EXIT_CODES: &str = "Exit codes: 0 done (a run stopped by Ctrl-C is saved and done too), 1 failed, 2 bad input, 130 stopped by Ctrl-C \
before the answer was complete. With --json every command prints one JSON object to standard output and nothing else. Colours follow \
NO_COLOR and CLICOLOR_FORCE.";

/// Rigid-body dynamics with hard contact, dry friction and impacts that provably end.
///
/// Without a command the embedded pool break runs and leaves pool_break.caromlog here.
#[derive(Debug, Parser)]
#[command(name = "carom", version, max_term_width = 110, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scene, save the result and print a summary
    Run(RunArgs),
    /// Show a scene in the browser: run it, look into it, push it, edit it
    View(ViewArgs),
    /// Validate a scene: every fault with its line, key and what is allowed
    Check(CheckArgs),
    /// List the embedded scenes, or print the text of one
    Scenes(ScenesArgs),
    /// Print the JSON schema of scene files, for editors
    Schema(SchemaArgs),
    /// Time the steps of scenes and measure how well they keep their promises
    Bench(BenchArgs),
    /// Run the engine's promises and print what was expected and measured
    Prove(ProveArgs),
    /// Run the figures, examples and numbers of the sources again, and say which hold
    Reproduce(ReproduceArgs),
    /// Simulate measured motions and solve public contact problems, beside what others published
    Validate(ValidateArgs),
    /// Take the exact gradient of a loss and print it beside central differences
    Grad(GradArgs),
    /// Find parameters with which a scene repeats a recorded or measured motion
    Fit(FitArgs),
    /// Convert a .caromlog to a page, a table or a picture, or a scene or a URDF, MJCF or SDF model to plain TOML with everything written out
    Convert(ConvertArgs),
    /// Print a script that completes commands and options in a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or that of one command
    Man(ManArgs),
}

impl Command {
    /// Whether the answer goes to a program.
    pub fn wants_json(&self) -> bool {
        match self {
            Command::Run(args) => args.json,
            Command::Check(args) => args.json,
            Command::Scenes(args) => args.json,
            Command::Prove(args) => args.json,
            Command::Reproduce(args) => args.json,
            Command::Validate(args) => args.json,
            Command::Grad(args) => args.json,
            Command::Fit(args) => args.json,
            Command::Schema(args) => args.json,
            Command::Bench(args) => args.json,
            Command::Convert(args) => args.json,
            Command::Completions(args) => args.json,
            Command::Man(args) => args.json,
            Command::View(args) => args.json,
        }
    }
}

/// An impact law: its name, and for `gauss-seidel` the order and the seed after colons.
fn law(text: &str) -> Result<ImpactLaw, String> {
    const LAWS: &str = "auto, reflections, gauss-seidel, stronge, newton";
    const ORDERS: &str = "lexicographic, cyclic, worst, random, random:SEED";
    let (name, order) = text.split_once(':').map_or((text, None), |(name, order)| (name, Some(order)));
    let law = match name {
        "auto" => ImpactLaw::Auto,
        "reflections" => ImpactLaw::Reflections,
        "gauss-seidel" => ImpactLaw::GaussSeidel(Order::default()),
        "stronge" => ImpactLaw::Stronge,
        "newton" => ImpactLaw::Newton,
        _ => return Err(format!("no law is called \"{name}\"; there are {LAWS}")),
    };
    let Some(order) = order else { return Ok(law) };
    if name != "gauss-seidel" {
        return Err(format!("only gauss-seidel has an order, and the law is {name}"));
    }
    let (word, seed) = order.split_once(':').map_or((order, None), |(word, seed)| (word, Some(seed)));
    Ok(ImpactLaw::GaussSeidel(match (word, seed) {
        ("lexicographic", None) => Order::Lexicographic,
        ("cyclic", None) => Order::Cyclic,
        ("worst", None) => Order::Worst,
        ("random", seed) => Order::Random(match seed {
            Some(seed) => seed.parse().map_err(|_| format!("the seed \"{seed}\" is no whole number"))?,
            None => 0,
        }),
        ("lexicographic" | "cyclic" | "worst", Some(_)) => return Err(format!("only the order random has a seed, and it is {word}")),
        _ => return Err(format!("no order is called \"{word}\"; there are {ORDERS}")),
    }))
}

#[derive(Args, Debug, Default)]
pub struct RunArgs {
    /// A scene file, a URDF, MJCF or SDF model, the name of an embedded scene, or - for standard input [default: pool_break]
    #[arg(value_name = "SCENE")]
    pub scene: Option<String>,
    /// Run until this simulated time [s] [default: the scene's duration]
    #[arg(long, value_name = "S", conflicts_with = "steps", value_parser = seconds, allow_negative_numbers = true)]
    pub time: Option<f64>,
    /// Run until so many steps have been taken since the start
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub steps: Option<u64>,
    /// Save to these files, by ending: .html (a page that replays it), .caromlog (exact, resumable), .csv, .npz, .parquet, .mcap, .gif,
    /// .mp4, .webm, .png, .svg, .glb, .usda [default: NAME.caromlog]
    #[arg(long, short, value_name = "FILE", num_args = 1..)]
    pub out: Vec<PathBuf>,
    /// Save nothing
    #[arg(long, conflicts_with = "out")]
    pub no_out: bool,
    /// Use this impact law instead of the scene's: auto, reflections, gauss-seidel (also gauss-seidel:cyclic, :worst, :random, :random:SEED), stronge,
    /// newton
    #[arg(long, value_name = "LAW", value_parser = law)]
    pub impact: Option<ImpactLaw>,
    /// Use this time step [s] instead of the scene's
    #[arg(long, value_name = "H", value_parser = positive_seconds, allow_negative_numbers = true)]
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
    // Their headings reach to the next one: what has none stands before them.
    #[command(flatten)]
    pub import: ImportArgs,
    #[command(flatten)]
    pub picture: PictureArgs,
}

/// The paper of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Paper {
    /// dark lines on warm white
    #[default]
    Light,
    /// light lines on slate
    Dark,
}

/// How the camera of a picture stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CameraChoice {
    /// goes along with what walks away together, otherwise stands still
    #[default]
    Auto,
    /// stands still and sees the whole way
    Still,
    /// goes along with what moves
    Follow,
}

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Pictures (.gif, .mp4, .webm, .png, .svg) and motion (.glb, .usda)")]
pub struct PictureArgs {
    /// Size of a picture [pixels]; the height follows from the scene unless given
    #[arg(long, value_name = "WIDTH[xHEIGHT]", value_parser = size)]
    pub size: Option<[Option<usize>; 2]>,
    /// Panels of a strip from the start to the end, instead of a still of the end (.png, .svg)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    pub frames: Option<u64>,
    /// Frames per second of a film [default: 25 for .gif, 30 for .mp4 and .webm, 60 for .glb and .usda]
    #[arg(long, value_name = "RATE", value_parser = frame_rate, allow_negative_numbers = true)]
    pub fps: Option<f64>,
    /// Seconds of the run shown in a second of the film [default: 1]
    #[arg(long, value_name = "X", value_parser = positive_number, allow_negative_numbers = true)]
    pub speed: Option<f64>,
    /// Bodies leave a line behind
    #[arg(long)]
    pub trails: bool,
    /// The paper [default: light]
    #[arg(long, value_name = "PAPER", value_enum)]
    pub theme: Option<Paper>,
    /// How the camera stands [default: auto]
    #[arg(long, value_name = "HOW", value_enum)]
    pub camera: Option<CameraChoice>,
    /// No time in the corner
    #[arg(long)]
    pub no_clock: bool,
}

#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// The schema is JSON already; accepted so that every command takes it
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Scene files or names of embedded scenes [default: all embedded]
    #[arg(value_name = "NAME")]
    pub scenes: Vec<String>,
    /// Time spent on each scene [s]
    #[arg(long, value_name = "S", default_value_t = 0.4, value_parser = positive_seconds, allow_negative_numbers = true)]
    pub seconds: f64,
    /// Print the table as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub struct ViewArgs {
    /// A scene file, a URDF, MJCF or SDF model, the name of an embedded scene, or - for standard input [default: pool_break]
    #[arg(value_name = "SCENE")]
    pub scene: Option<String>,
    /// Print the address and leave the browser alone
    #[arg(long)]
    pub no_open: bool,
    /// Listen at this port of the loopback address [default: any that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Print the address as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub import: ImportArgs,
}

#[derive(Args, Debug)]
pub struct CheckArgs {
    /// A scene file, a URDF, MJCF or SDF model, the name of an embedded scene, or - for standard input
    pub scene: String,
    /// Print the verdict as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub import: ImportArgs,
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
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}

const PARAMETER_HELP: &str = "Parameters are written mass, mass[ball], gravity.y, joint_anchor[hinge], shape_box[crate].x, q[ball].x (pose at the start), \
v[cue] (velocity at the start), controls[motor]; without a row or component all of them are meant. docs/gradients.md lists every name.";

#[derive(Args, Debug)]
#[command(after_help = PARAMETER_HELP)]
pub struct GradArgs {
    /// A scene file, a URDF, MJCF or SDF model, the name of an embedded scene, or - for standard input
    pub scene: String,
    /// The number to differentiate, at the end of the run: "(ball.x - 1)^2", "energy", "mean(ball.vy)"
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub loss: String,
    /// What to differentiate by; several, or with commas between
    #[arg(long, value_name = "PARAM", num_args = 1.., required = true)]
    pub wrt: Vec<String>,
    /// Run until this simulated time [s] [default: the scene's duration]
    #[arg(long, value_name = "S", conflicts_with = "steps", value_parser = seconds, allow_negative_numbers = true)]
    pub time: Option<f64>,
    /// Run so many steps
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub steps: Option<u64>,
    /// Gradients alone, without the runs that central differences take
    #[arg(long)]
    pub no_differences: bool,
    #[command(flatten)]
    pub at_switches: AtSwitches,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}

/// A side of a switch by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// that on which the solve ended
    AsSolved,
    /// touching, sticking, free within its bounds
    Active,
    /// open, sliding, at its bound
    Inactive,
    /// the mean of active and inactive
    Average,
    /// least squares between active and inactive
    Minnorm,
}

/// What gradients are at contacts that stand at a switch; the motion stays what it is.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct AtSwitches {
    /// Contacts at a switch (neither load nor gap, between sticking and sliding) count as this [default: as-solved]
    #[arg(long, value_name = "SIDE", value_enum)]
    pub weak: Option<Side>,
    /// Smooth the gradient: impulse times speed of every contact is this product, so that near contacts are felt; 1e-4 to 1e-8 [J]
    #[arg(long, value_name = "J", conflicts_with = "weak", value_parser = product, allow_negative_numbers = true)]
    pub kappa: Option<f64>,
}

impl AtSwitches {
    /// As the gradient takes it.
    pub fn weak(&self) -> Weak {
        match (self.kappa, self.weak) {
            (Some(kappa), _) => Weak::Smoothed { kappa },
            (None, Some(Side::Active)) => Weak::Active,
            (None, Some(Side::Inactive)) => Weak::Inactive,
            (None, Some(Side::Average)) => Weak::Average,
            (None, Some(Side::Minnorm)) => Weak::MinNorm,
            (None, None | Some(Side::AsSolved)) => Weak::AsSolved,
        }
    }
}

#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// A .caromlog, a scene file, a URDF or MJCF model, or the name of an embedded scene
    #[arg(value_name = "IN")]
    pub input: String,
    /// The file to write; its ending names the format
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Print what was written as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub import: ImportArgs,
    #[command(flatten)]
    pub picture: PictureArgs,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x >= 0.0 => Ok(x),
        _ => Err("needs a number of seconds >= 0".to_string()),
    }
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "needs a whole number >= 0".to_string())
}

fn product(text: &str) -> Result<f64, String> {
    positive_number(text).map_err(|_| "needs a product of impulse and speed > 0 [J]".to_string())
}

/// Most frames per second: beyond it no screen follows.
const MOST_FPS: f64 = 240.0;

fn frame_rate(text: &str) -> Result<f64, String> {
    positive_number(text).ok().filter(|x| *x <= MOST_FPS).ok_or_else(|| format!("needs a number > 0, at most {MOST_FPS}"))
}

fn positive_number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x > 0.0 => Ok(x),
        _ => Err("needs a number > 0".to_string()),
    }
}

/// Fewest and most pixels along a side.
const SIDES: std::ops::RangeInclusive<usize> = 16..=8192;

fn size(text: &str) -> Result<[Option<usize>; 2], String> {
    let wrong = || format!("needs WIDTH or WIDTHxHEIGHT, each from {} to {}", SIDES.start(), SIDES.end());
    let side = |text: &str| text.parse::<usize>().ok().filter(|n| SIDES.contains(n)).ok_or_else(wrong);
    match text.split_once(['x', 'X']) {
        None => Ok([Some(side(text)?), None]),
        Some((width, height)) => Ok([Some(side(width)?), Some(side(height)?)]),
    }
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    seconds(text).ok().filter(|x| *x > 0.0).ok_or_else(|| "needs a number of seconds > 0".to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_law_is_named_with_its_order() {
        use super::{ImpactLaw, Order, law};
        assert_eq!(law("gauss-seidel:worst"), Ok(ImpactLaw::GaussSeidel(Order::Worst)));
        assert_eq!(law("gauss-seidel:random:7"), Ok(ImpactLaw::GaussSeidel(Order::Random(7))));
        assert_eq!(law("gauss-seidel"), Ok(ImpactLaw::GaussSeidel(Order::Lexicographic)));
        assert_eq!(law("newton"), Ok(ImpactLaw::Newton));
        for (text, part) in [
            ("gauss", "gauss-seidel"),
            ("newton:worst", "only gauss-seidel"),
            ("gauss-seidel:best", "worst"),
            ("gauss-seidel:worst:1", "seed"),
        ] {
            assert!(law(text).is_err_and(|message| message.contains(part)), "{text}");
        }
    }

    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_have_one_or_two_sides() {
        assert_eq!(size("640"), Ok([Some(640), None]));
        assert_eq!(size("640x480"), Ok([Some(640), Some(480)]));
        for text in ["", "x", "640x", "1", "640x9999999", "-5x6"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert!(frame_rate("241").is_err() && frame_rate("0").is_err());
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

    #[test]
    fn a_number_below_zero_is_refused_as_one() {
        for (option, wanted) in
            [("--time", "seconds >= 0"), ("--step", "seconds > 0"), ("--steps", "whole number"), ("--fps", "a number > 0")]
        {
            let error = Cli::try_parse_from(["carom", "run", "ball_drop", option, "-1"]).unwrap_err().to_string();
            assert!(error.contains(wanted) && !error.contains("tip:"), "{error}");
        }
    }

    #[test]
    fn what_is_no_matter_of_models_stands_above_them_in_the_help() {
        for name in ["run", "view", "check", "convert"] {
            let mut command = Cli::command();
            let help = command.find_subcommand_mut(name).unwrap().render_long_help().to_string();
            let (place, models) = (help.find("--json").unwrap(), help.find("Models (").unwrap());
            assert!(place < models, "{help}");
        }
    }
}
