//! Measured figures: printed, and appended to the file named by `CAROM_FIGURES` where there is one.

use std::io::Write;

/// Whether the large counts were asked for: `CAROM_FULL=1`.
pub fn full() -> bool {
    std::env::var("CAROM_FULL").is_ok_and(|value| !value.is_empty() && value != "0")
}

/// Prints a measured figure.
pub fn figure(what: &str, value: f64) {
    write(&format!("{what}: {value:.6e}"));
}

/// Prints a measured figure beside its bound and tells whether it is below it; a figure that is not a number is not.
#[must_use]
pub fn holds(what: &str, value: f64, bound: f64) -> bool {
    let good = value <= bound;
    write(&format!("{what}: {value:.3e} (bound {bound:.1e}){}", if good { "" } else { "  FAILS" }));
    good
}

/// Observed order of an error when the step is halved.
pub fn order(coarse: f64, fine: f64) -> f64 {
    (coarse / fine).log2()
}

fn write(line: &str) {
    println!("{line}");
    if let Ok(path) = std::env::var("CAROM_FIGURES")
        && let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path)
    {
        // One write per line, so that tests running side by side do not mix.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}
