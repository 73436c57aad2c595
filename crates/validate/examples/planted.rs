//! Planted truth: scenes whose parameters are known, fitted as if they were measured. Ends with 1 where a figure is not what it must be.
//! `planted cart 40` takes the families whose names contain a word alone, and so many rounds over them.

use carom::dynamics::Interrupt;
use carom_validate::{planted, section};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let word = words.next().unwrap_or_default();
    let rounds = words.next().map_or(Ok(planted::ROUNDS), |n| n.parse());
    let Ok(rounds) = rounds else {
        eprintln!("planted: the second argument is a number of rounds");
        return ExitCode::FAILURE;
    };
    match planted::run(&word, rounds, &Interrupt::NEVER) {
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
