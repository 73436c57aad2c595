//! Planted truth: scenes whose parameters are known, fitted as if they were measured. Ends with 1 where a figure is not what it must be.

use carom::dynamics::Interrupt;
use carom_validate::{planted, section};
use std::process::ExitCode;

fn main() -> ExitCode {
    match planted::run(&Interrupt::NEVER) {
        Ok(found) => {
            println!("{}", section(&found, "pictures"));
            found.timings.iter().for_each(|line| println!("{line}"));
            if found.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("planted: {error}");
            ExitCode::FAILURE
        }
    }
}
