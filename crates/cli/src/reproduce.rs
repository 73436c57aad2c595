//! `carom reproduce`: the sources run again, beside what they print.

use crate::args::{ReproduceArgs, VERDICTS};
use crate::failure::{Failure, Fault};
use crate::{interrupt, print, progress, source};
use carom_reproduce::{Entry, Report, Verdict, entries, page};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where pictures and tables go unless said otherwise.
const FOLDER: &str = "reproduction";

/// What was found in one entry, and where it went.
struct Done {
    entry: Entry,
    report: Report,
    files: [PathBuf; 2],
    seconds: f64,
}

/// Lists entries, or runs one, those of a source or all.
pub fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    let all = entries();
    if args.list || (args.name.is_none() && !args.all) {
        return list(&all, args.json);
    }
    let wanted: Vec<Entry> = match &args.name {
        None => all.clone(),
        Some(name) => all.iter().copied().filter(|e| e.name == name || e.source() == name).collect(),
    };
    if let Some(name) = args.name.as_ref().filter(|_| wanted.is_empty()) {
        return Err(source::unknown(
            format!("no entry \"{name}\""),
            name,
            all.iter().map(|e| e.name),
            "`carom reproduce --list` names them all",
        ));
    }
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
    let interrupt = interrupt::listen();
    let bar = progress::bar(args.quiet, "reproduce", wanted.len() as u64, "entries");
    let mut done = Vec::new();
    for entry in &wanted {
        if interrupt.raised() {
            break;
        }
        let start = Instant::now();
        let report = entry.run().map_err(|error| Failure::Failed(vec![Fault::new(format!("{}: {error}", entry.name))]))?;
        let seconds = start.elapsed().as_secs_f64();
        let files = report.save(&folder).map_err(|error| unwritable(&folder, &error))?;
        done.push(Done { entry: *entry, report, files, seconds });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let complete = done.len() == wanted.len();
    if let Some(path) = args.page.as_ref().filter(|_| complete) {
        let pictures = pictures_from(path, &folder);
        let found: Vec<(Entry, Report)> = done.iter().map(|d| (d.entry, d.report.clone())).collect();
        std::fs::write(path, page(&found, &pictures)).map_err(|error| unwritable(path, &error))?;
    }
    say(&done, complete, args.json)?;
    let explained = done.iter().all(|d| d.report.verdict() != Verdict::Unexplained);
    match (explained, complete) {
        (false, _) => Err(Failure::Told),
        (true, false) => Err(Failure::Interrupted),
        (true, true) => Ok(()),
    }
}

pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(vec![Fault::new(format!("{}: {error}", path.display()))])
}

/// The folder of the pictures as a page sees it: what is left of the path when that of the page is taken off.
pub(crate) fn pictures_from(page: &Path, folder: &Path) -> String {
    let beside = page.parent().and_then(|parent| folder.strip_prefix(parent).ok()).unwrap_or(folder);
    beside.display().to_string().replace('\\', "/")
}

fn list(all: &[Entry], as_json: bool) -> Result<(), Failure> {
    if as_json {
        let entries: Vec<Value> = all.iter().map(|e| json!({ "name": e.name, "source": e.source(), "about": e.about })).collect();
        return Ok(print::json(&json!({ "ok": true, "entries": entries }))?);
    }
    let rows: Vec<Vec<String>> = all.iter().map(|e| vec![print::head(e.name), e.about.to_string()]).collect();
    print::line(&print::columns(&rows))?;
    Ok(print::line(&format!("{}; `carom reproduce NAME`, or --all", print::plural(all.len(), "entry")))?)
}

/// Tells what was found.
fn say(done: &[Done], complete: bool, as_json: bool) -> Result<(), Failure> {
    let numbers: usize = done.iter().map(|d| d.report.numbers_checked()).sum();
    let tally: Vec<(&str, usize)> =
        VERDICTS.iter().map(|v| (*v, done.iter().filter(|d| d.report.verdict().to_string() == *v).count())).collect();
    if as_json {
        let entries: Vec<Value> = done.iter().map(told).collect();
        let explained = done.iter().all(|d| d.report.verdict() != Verdict::Unexplained);
        return Ok(print::json(&json!({ "ok": explained && complete, "complete": complete, "numbers": numbers, "entries": entries }))?);
    }
    for one in done {
        let verdict = match one.report.verdict() {
            Verdict::Unexplained => print::bad("UNEXPLAINED"),
            verdict => print::good(&verdict.to_string()),
        };
        print::line(&format!("{}  {verdict}  {}", print::head(one.entry.name), print::faint(&format!("{:.2} s", one.seconds))))?;
        print::line(&format!("  {}", one.entry.about))?;
        for claim in &one.report.claims {
            print::line(&format!("  - {}", claim.what))?;
            if !claim.printed.is_empty() {
                print::line(&format!("      source    {}", claim.printed))?;
            }
            print::line(&format!("      measured  {}", claim.measured))?;
            let verdict = match claim.verdict {
                Verdict::Reproduced => print::good("reproduced"),
                Verdict::Differs(errata) => format!("differs: theory, chapter 11, \"{errata}\""),
                Verdict::NotClaimedByANumber => print::faint("not claimed by a number"),
                Verdict::Unexplained => print::bad("UNEXPLAINED: neither the source nor its errata"),
            };
            print::line(&format!("      {verdict}"))?;
        }
        for timing in &one.report.timings {
            print::line(&format!("  {}", print::faint(timing)))?;
        }
        print::line(&format!("  {} and {}\n", one.files[0].display(), one.files[1].display()))?;
    }
    let tally: Vec<String> = tally.iter().filter(|t| t.1 > 0).map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let stopped = if complete { "" } else { "; stopped before the rest" };
    Ok(print::line(&format!(
        "{} with {numbers} numbers of the sources: {}{stopped}",
        print::plural(done.len(), "entry"),
        tally.join(", ")
    ))?)
}

fn told(one: &Done) -> Value {
    json!({
        "name": one.entry.name,
        "about": one.entry.about,
        "verdict": one.report.verdict().to_string(),
        "claims": one.report.claims,
        "numbers": one.report.numbers_checked(),
        "picture": one.files[0],
        "data": one.files[1],
        "timings": one.report.timings,
        "seconds": one.seconds,
    })
}
