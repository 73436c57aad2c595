//! `carom prove`: the engine's promises, each measured on a real run.

mod contact;
mod gradient;
mod impact;
mod lab;
mod mechanism;
mod motion;

use crate::args::ProveArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::{print, progress, source};
use serde::Serialize;
use std::time::Instant;

/// A promise and the run that puts it to the test.
struct Promise {
    /// Name, as in `carom prove NAME`.
    name: &'static str,
    /// What is promised.
    claim: &'static str,
    test: fn() -> Result<Finding, String>,
}

/// What a run showed.
struct Finding {
    expected: String,
    measured: String,
    pass: bool,
}

impl Finding {
    /// A measured value that must lie within a tolerance of the expected one.
    fn near(what: &str, expected: f64, measured: f64, tolerance: f64) -> Self {
        Finding {
            expected: format!("{expected} {what} to {tolerance:.0e}").replace("  ", " "),
            measured: format!("{measured:.9}, off by {:.0e}", (measured - expected).abs()),
            pass: (measured - expected).abs() <= tolerance,
        }
    }
    /// A measured error that must not exceed a bound.
    fn below(what: &str, bound: f64, measured: f64) -> Self {
        Finding { expected: format!("{what} <= {bound:.0e}"), measured: format!("{measured:.1e}"), pass: measured <= bound }
    }
    /// Adds what else was seen.
    fn with(mut self, note: impl AsRef<str>) -> Self {
        self.measured = format!("{} {}", self.measured, note.as_ref());
        self
    }
    /// Fails unless something else holds too.
    fn and(mut self, holds: bool, otherwise: &str) -> Self {
        if !holds {
            self.measured = format!("{}; {otherwise}", self.measured);
            self.pass = false;
        }
        self
    }
}

const PROMISES: &[Promise] = &[
    Promise { name: "rebound", claim: "a ball with e = 0.7 rebounds to 0.49 of its height", test: impact::rebound },
    Promise { name: "cradle", claim: "a row of 3 to 20 touching balls passes the velocity on", test: impact::cradle },
    Promise { name: "break", claim: "a symmetric pool break stays symmetric", test: impact::pool_break },
    Promise { name: "plug", claim: "a locked plug of balls between walls terminates", test: impact::plug },
    Promise { name: "oblique", claim: "a skidding disc bounces as friction and restitution say", test: impact::oblique },
    Promise { name: "baber", claim: "a collision with two compressions ends where theory says", test: impact::two_compressions },
    Promise { name: "wedge", claim: "a ball leaves a narrow wedge with all its energy", test: impact::wedge },
    Promise { name: "geyser", claim: "a ball fired at a plug of balls ends its impact and moves them", test: impact::geyser },
    Promise { name: "hold", claim: "a block holds 0.1 degree below the friction angle, without creep", test: contact::hold },
    Promise { name: "slide", claim: "it slides 0.1 degree above it, as far as the closed form", test: contact::slide },
    Promise { name: "stack", claim: "a stack of ten stands still", test: contact::stack },
    Promise { name: "four-bar", claim: "a driven four-bar loop stays closed", test: motion::four_bar },
    Promise { name: "loops", claim: "ten loops on one crank stay closed", test: mechanism::loops },
    Promise { name: "hub", claim: "a hub with 200 spokes stays together at large steps", test: mechanism::hub },
    Promise { name: "chain", claim: "released chains keep their energy at large steps", test: mechanism::chain },
    Promise { name: "strandbeest", claim: "a Strandbeest walks with all its loops closed", test: mechanism::strandbeest },
    Promise { name: "pendulum", claim: "a double pendulum keeps its energy", test: motion::pendulum },
    Promise { name: "exact-chain", claim: "a released chain keeps its energy exactly under energy-momentum", test: motion::chain },
    Promise { name: "adrift", claim: "a mechanism adrift in space keeps energy, momentum and angular momentum", test: motion::adrift },
    Promise { name: "top", claim: "a torque-free top flips like Dzhanibekov's, on time", test: motion::top },
    Promise { name: "gradient", claim: "the collision of two balls has the gradient (1, 0, 1, 0)", test: gradient::two_balls },
    Promise { name: "bounce-slope", claim: "d(bounce height)/d(drop height) is e^2, wherever steps fall", test: gradient::bounce_height },
    Promise { name: "hash", claim: "the same scene gives the same bits twice", test: motion::hash },
    Promise { name: "resume", claim: "a run stopped and resumed ends in the same bits", test: motion::resume },
];

/// One line of the table.
#[derive(Serialize)]
struct Line {
    name: &'static str,
    claim: &'static str,
    expected: String,
    measured: String,
    pass: bool,
    seconds: f64,
}

/// Runs the promises, or the one named.
pub fn prove(args: &ProveArgs) -> Result<(), Failure> {
    if let Some(name) = &args.name
        && !PROMISES.iter().any(|p| p.name == name)
    {
        let listing = format!("promises: {}", PROMISES.iter().map(|p| p.name).collect::<Vec<_>>().join(", "));
        return Err(source::unknown(format!("no promise \"{name}\""), name, PROMISES.iter().map(|p| p.name), &listing));
    }
    let mut lines = Vec::new();
    let wanted: Vec<&Promise> = PROMISES.iter().filter(|p| args.name.as_ref().is_none_or(|n| n == p.name)).collect();
    let interrupt = interrupt::listen();
    let bar = progress::bar(args.quiet, "prove", wanted.len() as u64, "promises");
    for promise in &wanted {
        if interrupt.raised() {
            break;
        }
        let start = Instant::now();
        let finding =
            (promise.test)().unwrap_or_else(|error| Finding { expected: "a run to the end".to_string(), measured: error, pass: false });
        let Finding { expected, measured, pass } = finding;
        lines.push(Line { name: promise.name, claim: promise.claim, expected, measured, pass, seconds: start.elapsed().as_secs_f64() });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let complete = lines.len() == wanted.len();
    let pass = lines.iter().all(|l| l.pass);
    if args.json {
        print::json(&serde_json::json!({ "ok": pass && complete, "complete": complete, "promises": lines }))?;
    } else {
        let mut rows = vec![["promise", "", "expected", "measured", "pass"].map(print::head).to_vec()];
        rows.extend(lines.iter().map(|l| {
            let verdict = if l.pass { print::good("yes") } else { print::bad("NO") };
            vec![l.name.to_string(), l.claim.to_string(), l.expected.clone(), l.measured.clone(), verdict]
        }));
        print::line(&print::columns(&rows))?;
        let kept = lines.iter().filter(|l| l.pass).count();
        let stopped = if complete { String::new() } else { format!("; stopped before the other {}", wanted.len() - lines.len()) };
        print::line(&format!("{kept} of {} kept{stopped}", print::plural(lines.len(), "promise")))?;
    }
    match (pass, complete) {
        (false, _) => Err(Failure::Told),
        (true, false) => Err(Failure::Interrupted),
        (true, true) => Ok(()),
    }
}
