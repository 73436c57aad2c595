//! `docs/reproduction.md` from what was found.

use crate::{Entry, Report, SOURCES, Verdict};
use std::fmt::Write as _;

/// The whole page; `pictures` is the folder of the pictures as seen from it. Times are not on it: they belong to a machine.
pub fn page(found: &[(Entry, Report)], pictures: &str) -> String {
    let numbers: usize = found.iter().map(|(_, r)| r.numbers_checked()).sum();
    let count = |wanted: &str| found.iter().filter(|(_, r)| r.verdict().to_string() == wanted).count();
    let mut out = format!(
        "# The sources, run again\n\n\
         Every algorithm, worked example, figure and number of the four sources, as printed and as corrected. The page and its pictures are made by\n\n    \
         carom reproduce --all --page docs/reproduction.md --out docs/{pictures}\n\n\
         and a test compares them with what the entries give now. `carom reproduce NAME` runs one, prints the same table and how long things took, and writes\n\
         the picture and its points as `.csv`; `--list` names them all.\n\n\
         {} entries with {numbers} numbers of the sources: {} `reproduced`, {} `differs` (in at least one claim, for a reason that stands in\n\
         chapter 11 of [theory.md](theory.md) at the words quoted), {} `not claimed by a number`.\n",
        found.len(),
        count("reproduced"),
        count("differs"),
        count("not claimed by a number"),
    );
    for (key, title) in SOURCES {
        let _ = write!(out, "\n## {title}\n");
        for (entry, report) in found.iter().filter(|(e, _)| e.source() == key) {
            out.push('\n');
            out.push_str(&section(entry, report, pictures));
        }
    }
    out
}

/// One entry as it stands on the page.
pub fn section(entry: &Entry, report: &Report, pictures: &str) -> String {
    let mut out = format!("### `{}`: {}\n\n{}\n\n", entry.name, report.verdict(), entry.about);
    out.push_str("| | the source | measured | verdict |\n|---|---|---|---|\n");
    for claim in &report.claims {
        let verdict = match claim.verdict {
            Verdict::Differs(errata) => format!("differs: \"{errata}\""),
            verdict => verdict.to_string(),
        };
        let cell = |text: &str| text.replace('|', "\\|");
        let _ = writeln!(out, "| {} | {} | {} | {} |", cell(&claim.what), cell(&claim.printed), cell(&claim.measured), cell(&verdict));
    }
    let _ = write!(out, "\n![{}]({pictures}/{}.svg)\n", report.chart.title, report.stem());
    out
}
