//! `carom completions` and `carom man`: from the same description as the help.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use crate::{print, source};
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use serde_json::json;
use std::io::Write;

/// The name of the command.
const NAME: &str = "carom";

/// Arguments that take a scene: a file, or the name of an embedded one.
const SCENES: [&str; 3] = ["scene", "scenes", "input"];
/// The argument of `carom validate`.
const VALIDATION_SETS: &str = "sets";
/// The argument of `carom scenes` and `carom reproduce`, which take a name alone.
const SCENE_NAME: &str = "name";

/// Prints a script for a shell.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let text = script(args.shell);
    if args.json {
        return Ok(print::json(&json!({ "ok": true, "shell": args.shell.to_string(), "text": text }))?);
    }
    Ok(raw(text.as_bytes())?)
}

/// The script, which knows the embedded scenes in bash, zsh and fish. The description of the arguments takes any text, since it may be a file; so
/// the names are put in here alone.
fn script(shell: Shell) -> String {
    let names: Vec<&str> = carom::scene::scenes().iter().map(|scene| scene.name).collect();
    let entries: Vec<&str> = carom_reproduce::entries().iter().map(|entry| entry.name).collect();
    let mut command = Cli::command();
    let takes = |sub: &Command| sub.get_arguments().any(|a| SCENES.contains(&a.get_id().as_str()));
    let commands: Vec<String> = command.get_subcommands().filter(|sub| takes(sub)).map(|sub| sub.get_name().to_string()).collect();
    if matches!(shell, Shell::Bash | Shell::Zsh) {
        command = command.mut_subcommands(|sub| {
            let (listing, reproducing) = (sub.get_name() == "scenes", sub.get_name() == "reproduce");
            sub.mut_args(|arg| {
                let id = arg.get_id().as_str();
                let scene = SCENES.contains(&id) || (listing && id == SCENE_NAME);
                if id == VALIDATION_SETS {
                    arg.value_parser(PossibleValuesParser::new(carom_validate::SETS))
                } else if reproducing && id == SCENE_NAME {
                    arg.value_parser(PossibleValuesParser::new(entries.clone()))
                } else if scene {
                    arg.value_parser(PossibleValuesParser::new(names.clone()))
                } else {
                    arg
                }
            })
        });
    }
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, NAME, &mut text);
    let mut text = String::from_utf8_lossy(&text).into_owned();
    let list = names.join(" ");
    match shell {
        // Bash offers files by itself where no name fits; zsh must be told of both.
        Shell::Zsh => {
            let function = format!("_carom_scene() {{\n    _alternative 'scenes:embedded scene:({list})' 'files:file:_files'\n}}\n");
            text = text.replace(&format!(":({list})'"), ":_carom_scene'").replacen("_carom() {", &format!("{function}\n_carom() {{"), 1);
        }
        // The script of fish says nothing of arguments without a dash, and offers files.
        Shell::Fish => {
            for sub in commands {
                text += &format!("complete -c carom -n \"__fish_carom_using_subcommand {sub}\" -a \"{list}\"\n");
            }
            text += &format!("complete -c carom -n \"__fish_carom_using_subcommand scenes\" -f -a \"{list}\"\n");
        }
        _ => {}
    }
    text
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
