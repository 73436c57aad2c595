//! The command line of the carom dynamics engine: `carom run`, `view`, `check`, `scenes`, `schema`, `prove`, `reproduce`, `validate`, `grad`,
//! `fit`, `bench`, `convert`, `completions`, `man`.
//!
//! Thin: it parses arguments, asks the engine, prints. Exit codes: 0, 1 (failed), 2 (bad input), 130 (stopped).

// Documentation of arguments is the help that is printed: brackets stand as they are.
#![allow(rustdoc::broken_intra_doc_links)]

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

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};
use failure::{Failure, Fault};
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
    let json = std::env::args_os().any(|word| word == "--json");
    if let Some(failure) = no_command(error) {
        return report(&failure, json);
    }
    if error.use_stderr() && json {
        let message = error.render().to_string();
        let _ = print::json(&serde_json::json!({ "ok": false, "errors": [{ "message": message.trim_end() }] }));
    }
    // A reader that is gone hears nothing, and that is all right.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}

/// A scene where a command should be, or a command mistyped.
fn no_command(error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    if carom::scene::scene(word).is_some() || std::path::Path::new(word).is_file() {
        let help = format!("`carom run {word}` runs it, `carom view {word}` shows it");
        return Some(Failure::bad_input(Fault::new(format!("{word}: a scene, not a command")).help(help)));
    }
    let command = args::Cli::command();
    let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let listing = format!("commands: {}", known.join(", "));
    Some(source::unknown(format!("no command \"{word}\""), word, known.iter().copied(), &listing))
}

fn report(failure: &Failure, json: bool) -> ExitCode {
    if json && let Some(value) = failure.json() {
        // The reader may be gone; the exit code still says what happened.
        let _ = print::json(&value);
    }
    failure.explain();
    ExitCode::from(failure.code())
}
