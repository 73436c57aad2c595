//! What an entry found: claims with their verdicts, a picture, a table.

use crate::chart::Chart;
use serde::Serialize;
use std::fmt::{self, Write as _};
use std::io;
use std::path::{Path, PathBuf};

/// Whether a claim of a source holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict", content = "errata")]
pub enum Verdict {
    /// The number printed is the number found.
    Reproduced,
    /// It is not, for the reason that stands in chapter 11 of the theory at these words.
    Differs(&'static str),
    /// The source makes the claim in words; what was measured bears them out.
    NotClaimedByANumber,
    /// What was measured is neither what the source says nor what its errata say: a fault of the engine, or of the entry.
    Unexplained,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Differs(_) => "differs",
            Verdict::NotClaimedByANumber => "not claimed by a number",
            Verdict::Unexplained => "UNEXPLAINED",
        })
    }
}

/// One claim of a source.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// What it is about.
    pub what: String,
    /// What the source prints.
    pub printed: String,
    /// What was found.
    pub measured: String,
    /// How they compare.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Numbers of the source in it.
    pub numbers: usize,
}

/// What an entry found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The entry's name.
    pub name: &'static str,
    /// Where in the source, and what it is.
    pub about: &'static str,
    /// Its claims.
    pub claims: Vec<Claim>,
    /// The picture; its series are the table.
    pub chart: Chart,
    /// What took how long, or how many operations on this machine: said when asked, and never compared.
    pub timings: Vec<String>,
}

/// A number to so many significant digits, without trailing zeros.
pub fn digits(x: f64, count: usize) -> String {
    const PLAIN: std::ops::Range<f64> = 1e-3..1e6;
    let trimmed =
        |text: &str| if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text.to_string() };
    if x == 0.0 {
        "0".to_string()
    } else if PLAIN.contains(&x.abs()) {
        let whole = x.abs().log10().floor() as i32;
        trimmed(&format!("{x:.*}", (count as i32 - 1 - whole).max(0) as usize))
    } else {
        let text = format!("{x:.*e}", count - 1);
        let (head, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{exponent}", trimmed(head))
    }
}

/// Several numbers in brackets.
pub fn list(x: &[f64], count: usize) -> String {
    format!("({})", x.iter().map(|x| digits(*x, count)).collect::<Vec<_>>().join(", "))
}

impl Report {
    pub(crate) fn new(name: &'static str, about: &'static str) -> Self {
        Report { name, about, claims: Vec::new(), chart: Chart::empty(), timings: Vec::new() }
    }

    fn claim(&mut self, what: &str, printed: String, measured: String, verdict: Verdict, numbers: usize) {
        self.claims.push(Claim { what: what.to_string(), printed, measured, verdict, numbers });
    }

    /// A number of the source, right to `half` of its last digit.
    pub(crate) fn number(&mut self, what: &str, printed: f64, half: f64, measured: f64) {
        let verdict = if (measured - printed).abs() <= half { Verdict::Reproduced } else { Verdict::Unexplained };
        self.claim(what, digits(printed, 9), digits(measured, 6), verdict, 1);
    }

    /// Several numbers of the source at once.
    pub(crate) fn numbers(&mut self, what: &str, printed: &[f64], half: f64, measured: &[f64]) {
        let same = printed.len() == measured.len() && printed.iter().zip(measured).all(|(p, m)| (p - m).abs() <= half);
        let verdict = if same { Verdict::Reproduced } else { Verdict::Unexplained };
        self.claim(what, list(printed, 9), list(measured, 6), verdict, printed.len());
    }

    /// A claim with a number in words.
    pub(crate) fn counted(&mut self, what: &str, printed: &str, measured: String, holds: bool) {
        let verdict = if holds { Verdict::Reproduced } else { Verdict::Unexplained };
        self.claim(what, printed.to_string(), measured, verdict, 1);
    }

    /// A claim without a number.
    pub(crate) fn words(&mut self, what: &str, printed: &str, measured: String, holds: bool) {
        let verdict = if holds { Verdict::NotClaimedByANumber } else { Verdict::Unexplained };
        self.claim(what, printed.to_string(), measured, verdict, 0);
    }

    /// A claim that fails as the errata say at the words `errata`; `numbers` of the source are in it, and `holds` says that it does fail so.
    pub(crate) fn differs(&mut self, what: &str, printed: &str, measured: String, errata: &'static str, numbers: usize, holds: bool) {
        let verdict = if holds { Verdict::Differs(errata) } else { Verdict::Unexplained };
        self.claim(what, printed.to_string(), measured, verdict, numbers);
    }

    /// What was timed.
    pub(crate) fn timed(&mut self, text: String) {
        self.timings.push(text);
    }

    /// The verdict on the whole: the worst that is more than words.
    pub fn verdict(&self) -> Verdict {
        let has = |wanted: fn(&Verdict) -> bool| self.claims.iter().map(|c| c.verdict).find(wanted);
        has(|v| *v == Verdict::Unexplained)
            .or_else(|| has(|v| matches!(v, Verdict::Differs(_))))
            .or_else(|| has(|v| *v == Verdict::Reproduced))
            .unwrap_or(Verdict::NotClaimedByANumber)
    }

    /// Numbers of the source that were looked at.
    pub fn numbers_checked(&self) -> usize {
        self.claims.iter().map(|c| c.numbers).sum()
    }

    /// Name of its files, without an ending.
    pub fn stem(&self) -> String {
        self.name.replace('/', "-")
    }

    /// The table: every point of every series.
    pub fn csv(&self) -> String {
        let mut out = format!("series,{},{}\n", field(&self.chart.x_label), field(&self.chart.y_label));
        for series in &self.chart.series {
            for (x, y) in &series.points {
                let _ = writeln!(out, "{},{x:?},{y:?}", field(&series.name));
            }
        }
        out
    }

    /// Writes the picture and the table into a folder and says where.
    ///
    /// # Errors
    /// What kept a file from being written.
    pub fn save(&self, folder: &Path) -> io::Result<[PathBuf; 2]> {
        std::fs::create_dir_all(folder)?;
        let [picture, table] = ["svg", "csv"].map(|ending| folder.join(format!("{}.{ending}", self.stem())));
        std::fs::write(&picture, self.chart.svg())?;
        std::fs::write(&table, self.csv())?;
        Ok([picture, table])
    }
}

/// A field of a table, in quotes where it needs them.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}
