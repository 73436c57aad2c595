//! What a run says while it goes on, on standard error: how fast the last second was, how many contacts there are, which step was the slowest
//! and, when a step takes long, what it is about. On a terminal it is a bar; elsewhere a line now and then.

use crate::print;
use crate::progress;
use carom::dynamics::StepReport;
use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time from one look to the next.
const LOOK: Duration = Duration::from_millis(100);
/// Over how much time the rate is measured.
const MEASURED: Duration = Duration::from_secs(1);
/// Where nobody watches, time from one line to the next.
const LINES: Duration = Duration::from_secs(10);
/// A step that takes longer is told of; where nobody watches, again whenever the time has doubled.
const LONG: Duration = Duration::from_secs(1);

/// What is known from outside, also while a step is being taken.
#[derive(Clone, Debug)]
struct Seen {
    steps: u64,
    stepping: Option<Instant>,
    last: StepReport,
    slowest: (Duration, u64),
}

/// A run that is watched.
#[derive(Debug)]
pub struct Watch {
    seen: Option<Arc<Mutex<Seen>>>,
    bar: ProgressBar,
    end: Option<Sender<()>>,
    ticker: Option<JoinHandle<()>>,
}

fn look(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Watches a run from a step to another; where that is not wanted nothing is said.
    pub fn new(quiet: bool, name: &str, from: u64, target: u64) -> Self {
        let bar = progress::told(quiet, name, target, "steps").with_position(from);
        if quiet {
            return Watch { seen: None, bar, end: None, ticker: None };
        }
        let start = Seen { steps: from, stepping: None, last: StepReport::default(), slowest: (Duration::ZERO, 0) };
        let seen = Arc::new(Mutex::new(start));
        let (end, ended) = channel();
        let mut teller = Teller {
            name: name.to_string(),
            target,
            bar: std::io::stderr().is_terminal().then(|| bar.clone()),
            rates: vec![(Instant::now(), from)],
            line: Instant::now(),
            told: LONG,
        };
        let shared = seen.clone();
        let ticker = std::thread::spawn(move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let now = look(&shared).clone();
                teller.tell(&now);
            }
        });
        Watch { seen: Some(seen), bar, end: Some(end), ticker: Some(ticker) }
    }
    /// A step begins.
    pub fn begin(&self, at: Instant) {
        if let Some(seen) = &self.seen {
            look(seen).stepping = Some(at);
        }
    }
    /// A step is done: so many are taken, this one took so long.
    pub fn end(&self, steps: u64, took: Duration, report: &StepReport) {
        if let Some(seen) = &self.seen {
            let mut seen = look(seen);
            (seen.steps, seen.stepping, seen.last) = (steps, None, *report);
            if took > seen.slowest.0 {
                seen.slowest = (took, steps);
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(ticker) = self.ticker.take() {
            // A teller that failed has only its line to lose.
            let _ = ticker.join();
        }
        self.bar.finish_and_clear();
    }
}

/// The one that speaks.
struct Teller {
    name: String,
    target: u64,
    /// None where nobody watches.
    bar: Option<ProgressBar>,
    rates: Vec<(Instant, u64)>,
    line: Instant,
    /// The next time of a single step that is worth a line.
    told: Duration,
}

impl Teller {
    fn tell(&mut self, seen: &Seen) {
        let now = Instant::now();
        self.rates.push((now, seen.steps));
        // The oldest that is kept is a second old, or the first of all.
        while self.rates.len() > 2 && now - self.rates[1].0 >= MEASURED {
            self.rates.remove(0);
        }
        let (then, steps) = self.rates[0];
        let rate = (seen.steps - steps) as f64 / (now - then).as_secs_f64().max(f64::MIN_POSITIVE);
        let stepping = seen.stepping.map_or(Duration::ZERO, |since| since.elapsed());
        let words = words(seen, rate, self.target, stepping);
        match &self.bar {
            Some(bar) => {
                bar.set_position(seen.steps);
                bar.set_message(words);
            }
            None => {
                let long = stepping >= self.told;
                if stepping < LONG {
                    self.told = LONG;
                }
                if long || now - self.line >= LINES {
                    self.line = now;
                    if long {
                        self.told = 2 * stepping;
                    }
                    print::note(&format!("{}: {} of {} steps, {words}", self.name, print::count(seen.steps), print::count(self.target)));
                }
            }
        }
    }
}

/// A time for people.
fn seconds(time: Duration) -> String {
    let s = time.as_secs_f64();
    if s < 1.0 { format!("{} ms", print::digits(1e3 * s, 2)) } else { format!("{s:.1} s") }
}

/// Rate, contacts, slowest step and what is left; or, of a step that takes long, what is known of it.
fn words(seen: &Seen, rate: f64, target: u64, stepping: Duration) -> String {
    if stepping >= LONG {
        let before =
            if seen.last == StepReport::default() { String::new() } else { format!("; the one before had {}", seen.last.effort()) };
        return format!("step {} takes {} so far{before}", print::count(seen.steps + 1), seconds(stepping));
    }
    let mut out = format!("{}/s, {}", print::rough(rate), print::plural(seen.last.contacts, "contact"));
    if seen.slowest.1 > 0 {
        out += &format!(", slowest {} (step {})", seconds(seen.slowest.0), print::count(seen.slowest.1));
    }
    if rate > 0.0 {
        let left = target.saturating_sub(seen.steps) as f64 / rate;
        out += &format!(", {} left", if left < 1.0 { "under 1 s".to_string() } else { format!("{} s", print::count(left.ceil() as u64)) });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        let last = StepReport { contacts: 412, substeps: 3, solves: 3, iterations: 900, ..StepReport::default() };
        Seen { steps: 1200, stepping: None, last, slowest: (Duration::from_millis(230), 1034) }
    }

    #[test]
    fn a_run_tells_its_rate_its_contacts_and_its_slowest_step() {
        let text = words(&seen(), 95.0, 2000, Duration::ZERO);
        for part in ["95.0/s", "412 contacts", "slowest 230 ms (step 1 034)", "9 s left"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_step_that_takes_long_tells_what_the_one_before_did() {
        let text = words(&seen(), 0.0, 2000, Duration::from_millis(3200));
        assert_eq!(text, "step 1 201 takes 3.2 s so far; the one before had 412 contacts, 3 substeps, 3 solves of 900 iterations");
        let first = Seen { steps: 0, last: StepReport::default(), ..seen() };
        assert_eq!(words(&first, 0.0, 10, LONG), "step 1 takes 1.0 s so far");
    }

    #[test]
    fn the_rate_is_that_of_the_last_second() {
        let mut teller = Teller {
            name: "x".to_string(),
            target: 10_000,
            bar: Some(ProgressBar::hidden()),
            rates: Vec::new(),
            line: Instant::now(),
            told: LONG,
        };
        let now = Instant::now();
        let ago = |ms: u64| now.checked_sub(Duration::from_millis(ms)).unwrap();
        // Fast long ago, slow of late.
        teller.rates = vec![(ago(5000), 0), (ago(2000), 5000), (ago(1000), 5000), (ago(500), 5010)];
        teller.tell(&Seen { steps: 5020, ..seen() });
        let text = teller.bar.unwrap().message();
        assert!(text.starts_with("20.") || text.starts_with("19."), "{text}");
    }
}
