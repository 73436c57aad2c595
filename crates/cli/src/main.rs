//! The command line of the carom dynamics engine: `carom run`, `view`, `check`, `scenes`, `schema`, `prove`, `reproduce`, `validate`, `grad`,
//! `fit`, `bench`, `convert`, `completions`, `man`.
//!
//! Thin: it parses arguments, asks the engine, prints. Exit codes: 0, 1 (failed), 2 (bad input), 130 (stopped).

mod args;
mod bench;
mod check;
mod convert;
mod failure;
mod fit;
mod grad;
mod interrupt;
mod manual;
mod outputs;
mod page;
mod pictures;
mod print;
mod progress;
mod prove;
mod reproduce;
mod run;
mod scenes;
mod simulate;
mod source;
mod summary;
mod validate;
mod view;
mod watch;

use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match args::Cli::try_parse() {
        Ok(cli) => cli.command.unwrap_or_else(|| args::Command::Run(args::RunArgs::default())),
        Err(error) => return misread(&error),
    };
    let json = command.wants_json();
    let done = match command {
        args::Command::Run(args) => run::run(&args),
        args::Command::View(args) => view::view(&args),
        args::Command::Check(args) => check::check(&args),
        args::Command::Scenes(args) => scenes::scenes(&args),
        args::Command::Schema(_) => scenes::schema(),
        args::Command::Bench(args) => bench::bench(&args),
        args::Command::Prove(args) => prove::prove(&args),
        args::Command::Reproduce(args) => reproduce::reproduce(&args),
        args::Command::Validate(args) => validate::validate(&args),
        args::Command::Grad(args) => grad::grad(&args),
        args::Command::Fit(args) => fit::fit(&args),
        args::Command::Convert(args) => convert::convert(&args),
        args::Command::Completions(args) => manual::completions(&args),
        args::Command::Man(args) => manual::man(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure, json),
    }
}

/// Arguments that make no sense, or a wish for help: clap has the words and the exit code; programs hear them as JSON too.
fn misread(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let message = error.render().to_string();
        let _ = print::json(&serde_json::json!({ "ok": false, "errors": [{ "message": message.trim_end() }] }));
    }
    // A reader that is gone hears nothing, and that is all right.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}

fn report(failure: &Failure, json: bool) -> ExitCode {
    if json && let Some(value) = failure.json() {
        // The reader may be gone; the exit code still says what happened.
        let _ = print::json(&value);
    }
    failure.explain();
    ExitCode::from(failure.code())
}
