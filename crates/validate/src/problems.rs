//! Friction-contact problems that nobody here made: residual, time and success of the contact solver.

use crate::Trouble;
use crate::reading::array;
use crate::section::{Picture, Section, Table};
use carom::dynamics::Interrupt;
use carom::kernels::contact::{ContactKernel, Matrix};
use carom::record::read_arrays;
use carom::solve::status::Status;
use carom_reproduce::{Chart, Scale, Style};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A problem that takes longer counts as not solved \[s\].
const PATIENCE: u64 = 10;
/// The residual that is asked for, of the largest free velocity.
const TOLERANCE: f64 = 1e-8;

/// The problems of a folder, or of its folder `problems`, by name.
fn files(data: Option<&Path>) -> Result<Vec<PathBuf>, Trouble> {
    let Some(folder) = data else { return Err(Trouble::NoData("--data names the folder".to_string())) };
    let beside = folder.parent().map(|p| p.join("problems"));
    for place in [Some(folder.join("problems")), Some(folder.to_path_buf()), beside].into_iter().flatten() {
        let Ok(entries) = std::fs::read_dir(&place) else { continue };
        let mut found: Vec<PathBuf> =
            entries.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| p.extension().is_some_and(|e| e == "npz")).collect();
        found.retain(|path| {
            read_arrays(path).is_ok_and(|arrays| ["mu", "q", "data", "indices", "indptr"].iter().all(|k| arrays.contains_key(*k)))
        });
        found.sort();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(Trouble::NoData(format!("no contact problems (.npz with mu, q, data, indices, indptr) in {}", folder.display())))
}

/// Runs the set.
pub fn run(data: Option<&Path>, interrupt: &Interrupt) -> Result<Section, Trouble> {
    let mut out = Section::new("problems", "Public friction-contact problems");
    let files = files(data)?;
    out.about.push(format!(
        "{} problems from the test data of Siconos (`siconos/siconos`, copyright INRIA and the Siconos authors, Apache License 2.0), symmetrised: u = W r + q with \
         the exact law of Signorini and Coulomb at every contact. Residual: the largest miss of the law over the largest |q|; {TOLERANCE:e} is asked for. Solved: \
         reached within {PATIENCE} s.",
        files.len()
    ));
    let mut table = Table::new(&["problem", "contacts", "residual", "status", "method", "factorisations"]);
    let (mut solved, mut points) = (0, Vec::new());
    for path in &files {
        if interrupt.raised() {
            return Err(Trouble::Stopped);
        }
        let arrays = read_arrays(path).map_err(|error| Trouble::Failed(error.to_string()))?;
        let (_, free) = array(&arrays, path, "q", &[0])?;
        let (_, friction) = array(&arrays, path, "mu", &[0])?;
        let (_, values) = array(&arrays, path, "data", &[0])?;
        let whole = |name: &str| array(&arrays, path, name, &[0]).map(|(_, x)| x.iter().map(|k| *k as usize).collect::<Vec<_>>());
        let (columns, starts) = (whole("indices")?, whole("indptr")?);
        let clock = Instant::now();
        let (until, asked) = (clock + Duration::from_secs(PATIENCE), interrupt.clone());
        let stop = Interrupt::asking(move || asked.raised() || Instant::now() > until);
        let matrix = Matrix::Compressed { starts: &starts, columns: &columns, values: &values };
        let contacts = friction.len();
        let answer = ContactKernel::solve(matrix, free, &friction, TOLERANCE, None, &stop);
        let seconds = clock.elapsed().as_secs_f64();
        let name = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let answer = answer.map_err(|error| Trouble::Failed(format!("{}: {error}", path.display())))?;
        let late = stop.raised();
        let status = match answer.outcome().status {
            _ if late => "not within the time",
            Status::Solved => "solved",
            Status::Inaccurate { .. } => "inaccurate",
            Status::Failed => "failed",
        };
        solved += usize::from(status == "solved");
        let residual = answer.answer().residual;
        points.push((contacts as f64, residual.max(1e-18)));
        let label = if late { String::new() } else { answer.answer().method.label().to_string() };
        let factors = if late { String::new() } else { answer.answer().factors.to_string() };
        // Rounding makes the last digits of a residual: its power of ten is what counts.
        let size = if residual > 0.0 { format!("1e{}", residual.log10().ceil()) } else { "0".to_string() };
        let shown = if late { "-".to_string() } else { format!("below {size}") };
        table.row(vec![name.clone(), contacts.to_string(), shown, status.to_string(), label, factors]);
        out.timings.push(format!("{name}: {:.2} ms", 1e3 * seconds));
    }
    out.about.push(format!("{solved} of {} are solved.", files.len()));
    out.tables.push((String::new(), table));
    let chart = Chart::new("Residuals", "contacts", "residual").scales(Scale::Log, Scale::Log).with("", Style::Dots, points);
    out.pictures.push(Picture::chart("problems-residuals", &chart));
    Ok(out)
}
