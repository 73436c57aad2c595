//! Bars on standard error, and only where somebody watches.

use crate::print;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::IsTerminal;

/// Times a bar is drawn per second.
const DRAWS: u8 = 10;

/// A bar for so many of a unit, with its rate and the time left; hidden where it is not wanted or standard error is no terminal.
pub fn bar(quiet: bool, name: &str, count: u64, unit: &str) -> ProgressBar {
    drawn(quiet, name, count, &format!("{{prefix}} {{wide_bar}} {{pos}}/{{len}} {unit}, {{rate}}, {{eta}} left"))
}

/// The same with words of its own in place of rate and time.
pub fn told(quiet: bool, name: &str, count: u64, unit: &str) -> ProgressBar {
    drawn(quiet, name, count, &format!("{{prefix}} {{wide_bar}} {{pos}}/{{len}} {unit} {{msg}}"))
}

fn drawn(quiet: bool, name: &str, count: u64, template: &str) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr_with_hz(DRAWS));
    // A template that does not parse would only cost its looks.
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        // A line that cannot be written is not drawn.
        .with_key("rate", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{}/s", print::rough(state.per_sec()));
        });
    bar.with_style(style).with_prefix(name.to_string())
}
