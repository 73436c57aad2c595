//! The laws of the crate, tested on both spaces and on random graphs.

mod factor;
mod laws;
mod unsymmetric;

/// Cases per property: few by default, many when the environment asks for the full run.
fn cases(few: u32, many: u32) -> u32 {
    if std::env::var("CAROM_FULL").is_ok_and(|value| value == "1") { many } else { few }
}
