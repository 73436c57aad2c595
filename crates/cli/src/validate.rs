//! `carom validate`: measured motions and public contact problems, beside what others published.

use crate::args::ValidateArgs;
use crate::failure::{Failure, Fault};
use crate::reproduce::{pictures_from, unwritable};
use crate::{interrupt, print, progress, source};
use carom_validate::{SETS, Section, Trouble, page, run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where pictures go unless said otherwise.
const FOLDER: &str = "validation";

/// Runs the sets that are asked for.
pub fn validate(args: &ValidateArgs) -> Result<(), Failure> {
    if let Some(name) = args.sets.iter().find(|name| !SETS.contains(&name.as_str())) {
        return Err(source::unknown(format!("no set \"{name}\""), name, SETS, &format!("sets: {}", SETS.join(", "))));
    }
    if let Some(folder) = args.data.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::bad_input(
            Fault::new(format!("--data: {} is no folder", folder.display())).help("name the folder with the .npz files"),
        ));
    }
    if let Some(folder) = &args.export {
        let set = args.sets.first().map_or(SETS[0], String::as_str);
        let count = carom_validate::export(set, args.data.as_deref(), folder)
            .map_err(|error| Failure::Failed(vec![Fault::new(error.to_string())]))?;
        if args.json {
            return Ok(print::json(&json!({ "ok": true, "motions": count, "folder": folder }))?);
        }
        return Ok(print::line(&format!(
            "{}/{set}.toml and {} in {}/tosses",
            folder.display(),
            print::plural(count, "motion"),
            folder.display()
        ))?);
    }
    let wanted: Vec<&str> = match (args.all, args.sets.is_empty()) {
        (true, _) => SETS.to_vec(),
        (false, true) => vec![SETS[0]],
        (false, false) => SETS.into_iter().filter(|set| args.sets.iter().any(|name| name == set)).collect(),
    };
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
    let interrupt = interrupt::listen();
    let bar = progress::bar(args.quiet, "validate", wanted.len() as u64, "sets");
    let mut done: Vec<(Section, f64)> = Vec::new();
    let mut missing: Vec<(&str, String)> = Vec::new();
    let mut complete = true;
    for set in wanted {
        let clock = Instant::now();
        match run(set, args.data.as_deref(), &interrupt) {
            Ok(section) => {
                section.save(&folder).map_err(|(path, error)| unwritable(&path, &error))?;
                done.push((section, clock.elapsed().as_secs_f64()));
            }
            Err(Trouble::NoData(what)) => missing.push((set, what)),
            Err(Trouble::Failed(what)) => return Err(Failure::Failed(vec![Fault::new(format!("{set}: {what}"))])),
            Err(Trouble::Stopped) => {
                complete = false;
                break;
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(path) = args.page.as_ref().filter(|_| complete) {
        let found: Vec<Section> = done.iter().map(|d| d.0.clone()).collect();
        std::fs::write(path, page(&found, &pictures_from(path, &folder))).map_err(|error| unwritable(path, &error))?;
    }
    let holds = done.iter().all(|d| d.0.holds());
    // A set that was asked for by name and has no data is a fault, of which programs hear one object.
    let asked = missing.first().filter(|_| !args.all && complete);
    if asked.is_none() || !args.json {
        say(&done, &missing, holds && complete, complete, &folder, args.json)?;
    }
    if let Some((set, what)) = asked {
        return Err(Failure::bad_input(Fault::new(format!("{set}: not run: no data")).help(what.clone())));
    }
    if !complete {
        return Err(Failure::Interrupted);
    }
    if holds { Ok(()) } else { Err(Failure::Told) }
}

/// Tells what was found.
fn say(done: &[(Section, f64)], missing: &[(&str, String)], ok: bool, complete: bool, folder: &Path, as_json: bool) -> Result<(), Failure> {
    if as_json {
        let sets: Vec<Value> = done.iter().map(|(section, seconds)| section.told(*seconds, folder)).collect();
        let missing: Vec<Value> =
            missing.iter().map(|(set, what)| json!({ "name": set, "status": "not run: no data", "wanted": what })).collect();
        return Ok(print::json(&json!({ "ok": ok, "complete": complete, "sets": sets, "missing": missing }))?);
    }
    for (section, seconds) in done {
        print::line(&format!("{}  {}", print::head(&section.title), print::faint(&format!("{seconds:.1} s"))))?;
        for (above, table) in &section.tables {
            if !above.is_empty() {
                print::line(above)?;
            }
            let head: Vec<String> = table.head.iter().map(|h| print::head(h)).collect();
            print::line(&print::columns(&std::iter::once(head).chain(table.rows.iter().cloned()).collect::<Vec<_>>()))?;
        }
        for target in &section.targets {
            let verdict = if target.holds() { print::good("holds") } else { print::bad("DOES NOT HOLD") };
            print::line(&format!("{}: {:.3}, wanted {} to {}: {verdict}", target.what, target.found, target.least, target.most))?;
        }
        for timing in &section.timings {
            print::line(&print::faint(timing))?;
        }
        print::line(&format!("{} in {}\n", print::plural(section.pictures.len(), "picture"), folder.display()))?;
    }
    for (set, what) in missing {
        print::line(&format!("{}: not run: no data ({what})", print::head(set)))?;
    }
    Ok(())
}
