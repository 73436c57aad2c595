//! `carom completions` and `carom man`: from the same description as the help.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use crate::{print, source};
use clap::CommandFactory;
use serde_json::json;
use std::io::Write;

/// The name of the command.
const NAME: &str = "carom";

/// Prints a script for a shell.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut text);
    if args.json {
        return Ok(print::json(&json!({ "ok": true, "shell": args.shell.to_string(), "text": String::from_utf8_lossy(&text) }))?);
    }
    Ok(raw(&text)?)
}

/// Prints the manual page of the program or of one command.
pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let mut whole = Cli::command();
    whole.build();
    let page = match &args.command {
        None => whole,
        Some(name) => {
            let known: Vec<String> = whole.get_subcommands().map(|c| c.get_name().to_string()).collect();
            let Some(found) = whole.find_subcommand(name) else {
                let listing = format!("commands: {}", known.join(", "));
                return Err(source::unknown(format!("no command \"{name}\""), name, known.iter().map(String::as_str), &listing));
            };
            found.clone()
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    if args.json {
        return Ok(print::json(&json!({ "ok": true, "text": String::from_utf8_lossy(&text) }))?);
    }
    Ok(raw(&text)?)
}

/// Writes bytes to standard output as they are.
fn raw(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
