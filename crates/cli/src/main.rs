//! The command line of the carom dynamics engine: `carom run`, `view`, `check`, `scenes`, `schema`, `prove`, `grad`, `fit`, `convert`.
//!
//! Thin: it parses arguments, asks the engine, prints. Exit codes: 0, 1 (failed), 2 (bad input).

mod args;
mod check;
mod convert;
mod failure;
mod fit;
mod grad;
mod interrupt;
mod outputs;
mod page;
mod print;
mod prove;
mod run;
mod scenes;
mod simulate;
mod source;
mod summary;
mod variable;
mod view;

use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = args::Cli::parse().command.unwrap_or_else(|| args::Command::Run(args::RunArgs::default()));
    let json = command.wants_json();
    let done = match command {
        args::Command::Run(args) => run::run(&args),
        args::Command::View(args) => view::view(&args),
        args::Command::Check(args) => check::check(&args),
        args::Command::Scenes(args) => scenes::scenes(&args),
        args::Command::Schema => scenes::schema(),
        args::Command::Prove(args) => prove::prove(&args),
        args::Command::Grad(args) => grad::grad(&args),
        args::Command::Fit(args) => fit::fit(&args),
        args::Command::Convert(args) => convert::convert(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure, json),
    }
}

fn report(failure: &Failure, json: bool) -> ExitCode {
    if json && let Some(value) = failure.json() {
        // The reader may be gone; the exit code still says what happened.
        let _ = print::json(&value);
    }
    failure.explain();
    ExitCode::from(failure.code())
}
