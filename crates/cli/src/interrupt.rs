//! Ctrl-C: the first asks for an orderly end, the second does not wait for it.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of a process that SIGINT ended, as shells know it.
const KILLED: i32 = 130;

/// Tells whether the user asked to stop.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on. Where no handler can be set the system's own stays: then Ctrl-C ends at once.
    pub fn listen() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = flag.clone();
        // A log keeps its part, so that even the second Ctrl-C leaves something to resume from.
        let _ = ctrlc::set_handler(move || {
            if seen.swap(true, Ordering::SeqCst) {
                std::process::exit(KILLED);
            }
            if std::io::stderr().is_terminal() {
                let _ = writeln!(std::io::stderr(), "stopping after this step; again to leave at once");
            }
        });
        Interrupt(flag)
    }
    /// Whether it came.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
