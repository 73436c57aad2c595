//! `carom convert`: logs to tables, scenes to plain TOML.

use crate::args::{ConvertArgs, ImportArgs};
use crate::failure::{Failure, Fault};
use crate::page;
use crate::print;
use crate::source::find_with;
use carom::record::{AtomicFile, Ending, Format, Log, export};
use carom::scene::to_toml;
use std::io::Write;
use std::path::Path;

/// Reads IN, writes OUT.
pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let toml = args.output.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    if toml {
        return scene(&args.input, &args.output, &args.import);
    }
    let input = Path::new(&args.input);
    let page = page::is_page(&args.output);
    if !page && Format::of(&args.output).is_err() {
        let message = format!("{}: unknown ending", args.output.display());
        let help = format!("allowed: {}, .html for a log, .toml for a scene", Format::ENDINGS.join(", "));
        return Err(Failure::bad_input(Fault::new(message).help(help)));
    }
    let log = Log::open(input)?;
    if let Ending::Damaged { offset } = log.ending() {
        let note = format!("note: {} is damaged from byte {offset} on; the {} frames before it are converted", args.input, log.len());
        // A note that nobody hears changes nothing.
        let _ = writeln!(std::io::stderr(), "{note}");
    }
    let written = if page { vec![page::of_log(&log, &args.output)?] } else { export(&log, &args.output)? };
    let written: Vec<String> = written.iter().map(|p| p.display().to_string()).collect();
    Ok(print::line(&format!("{} frames to {}", log.len(), written.join(", ")))?)
}

/// Writes a scene, or the scene of a log, as TOML with every repeat and default written out, exact to the bit.
fn scene(input: &str, output: &Path, import: &ImportArgs) -> Result<(), Failure> {
    let log = Path::new(input).extension().is_some_and(|e| e == "caromlog");
    let text = if log { Log::open(Path::new(input))?.header().scene.clone() } else { to_toml(&find_with(input, import)?.scene) };
    let mut file = AtomicFile::create(output)?;
    if let Err(error) = file.write_all(text.as_bytes()) {
        return Err(Failure::Failed(vec![Fault::new(format!("{}: cannot write: {error}", output.display()))]));
    }
    file.commit()?;
    Ok(print::line(&format!("{input} to {}", output.display()))?)
}
