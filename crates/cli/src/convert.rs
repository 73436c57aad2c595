//! `carom convert`: logs to tables, scenes to plain TOML.

use crate::args::ConvertArgs;
use crate::failure::{Failure, Fault};
use crate::interrupt;
use crate::outputs::endings;
use crate::page;
use crate::pictures::Picture;
use crate::print;
use crate::source::{find_with, foreign};
use carom::Scene;
use carom::import::Format as Model;
use carom::record::{AtomicFile, Ending, Format, Log, export};
use carom::scene::{from_toml_all, scene as embedded, to_toml};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Reads IN, writes OUT.
pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let toml = args.output.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    if toml {
        return scene(args);
    }
    if Picture::is_named(&args.output) {
        return picture(args);
    }
    let page = page::is_page(&args.output);
    if !page && Format::of(&args.output).is_err() {
        let what = foreign(&args.output).map_or("unknown ending".to_string(), |kind| format!("{kind}, which is not written"));
        let help = format!("allowed: {} for a log, .toml for a scene", endings().join(", "));
        return Err(Failure::bad_input(Fault::new(format!("{}: {what}", args.output.display())).help(help)));
    }
    let log = recorded(&args.input, &args.output)?;
    if let Ending::Damaged { offset } = log.ending() {
        let note = format!("note: {} is damaged from byte {offset} on; the {} frames before it are converted", args.input, log.len());
        // A note that nobody hears changes nothing.
        let _ = writeln!(std::io::stderr(), "{note}");
    }
    let written = if page { vec![page::of_log(&log, &args.output)?] } else { export(&log, &args.output)? };
    let written: Vec<String> = written.iter().map(|p| p.display().to_string()).collect();
    told(args, log.len(), &written)
}

/// Opens a log; a scene has none before it has run.
fn recorded(input: &str, output: &Path) -> Result<Log, Failure> {
    let path = Path::new(input);
    if embedded(input).is_some() || path.extension().is_some_and(|e| e == "toml") || Model::of(path).is_some() {
        let help = format!("`carom run {input} --out {}` runs it and writes that", output.display());
        return Err(Failure::bad_input(Fault::new(format!("{input}: a scene, not the log of a run")).help(help)));
    }
    Ok(Log::open(path)?)
}

/// Says what was written.
fn told(args: &ConvertArgs, frames: u64, files: &[String]) -> Result<(), Failure> {
    if args.json {
        return Ok(print::json(&json!({ "ok": true, "input": args.input, "frames": frames, "files": files }))?);
    }
    Ok(print::line(&format!("{frames} frames to {}", files.join(", ")))?)
}

/// Draws a log.
fn picture(args: &ConvertArgs) -> Result<(), Failure> {
    let log = recorded(&args.input, &args.output)?;
    let header = log.header();
    if header.scene.is_empty() {
        return Err(Failure::bad_input(Fault::new(format!("{}: holds no scene, so it cannot be drawn", args.input))));
    }
    let scene = from_toml_all(&header.scene, &header.name).map_err(|errors| Failure::scene(&errors, &header.scene))?;
    let Some(picture) = Picture::create(&args.output, &args.picture)? else { return Ok(()) };
    let interrupt = interrupt::listen();
    let path = match &scene {
        Scene::Planar(scene) => picture.write(&log, &scene.model, &interrupt, false)?,
        Scene::Spatial(scene) => picture.write(&log, &scene.model, &interrupt, false)?,
    };
    told(args, log.len(), &[path.display().to_string()])
}

/// Writes a scene, or the scene of a log, as TOML with every repeat and default written out, exact to the bit.
fn scene(args: &ConvertArgs) -> Result<(), Failure> {
    let (input, output) = (args.input.as_str(), args.output.as_path());
    let log = Path::new(input).extension().is_some_and(|e| e == "caromlog");
    let text = if log { Log::open(Path::new(input))?.header().scene.clone() } else { to_toml(&find_with(input, &args.import)?.scene) };
    let mut file = AtomicFile::create(output)?;
    if let Err(error) = file.write_all(text.as_bytes()) {
        return Err(Failure::Failed(vec![Fault::new(format!("{}: cannot write: {error}", output.display()))]));
    }
    file.commit()?;
    if args.json {
        return Ok(print::json(&json!({ "ok": true, "input": input, "files": [output.display().to_string()] }))?);
    }
    Ok(print::line(&format!("{input} to {}", output.display()))?)
}
