//! Ctrl-C and SIGTERM: the first asks for an orderly end, the second does not wait for it.

use carom::dynamics::Interrupt;
use std::io::{IsTerminal, Write};

/// Exit code of a process that SIGINT ended, as shells know it.
const KILLED: i32 = 130;

/// A token that the user raises, from now on. Where no handler can be set the system's own stays: then Ctrl-C ends at once.
pub fn listen() -> Interrupt {
    let interrupt = Interrupt::new();
    let raised = interrupt.clone();
    // A log keeps its part, so that even the second Ctrl-C leaves something to resume from.
    let _ = ctrlc::set_handler(move || {
        if raised.raise() {
            std::process::exit(KILLED);
        }
        if std::io::stderr().is_terminal() {
            let _ = writeln!(std::io::stderr(), "stopping; again to leave at once");
        }
    });
    interrupt
}
