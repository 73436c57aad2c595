//! Runs that SIGTERM ends at any moment: at once, with a log from which they go on to the bits of a run that was never stopped.

use super::folder::{Folder, code, err, wait_for};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time from the signal to the end of the process.
const PROMPT: Duration = Duration::from_millis(200);
/// The same where others want the processor as well.
const CROWDED: Duration = Duration::from_secs(2);
/// Signals per scene, and with `CAROM_FULL=1`.
const STOPS: [usize; 2] = [2, 17];

/// Boxes that fall into a bin in space, the hardest steps there are.
const BOXES: &str = r#"
dimension = 3
duration = 1

[[body]]
name = "bin"
kind = "static"
shape = [
  { half_space = [0, 0, 1] },
  { half_space = [1, 0, 0], at = [-0.3, 0, 0] },
  { half_space = [-1, 0, 0], at = [0.3, 0, 0] },
  { half_space = [0, 1, 0], at = [0, -0.3, 0] },
  { half_space = [0, -1, 0], at = [0, 0.3, 0] },
]

[[repeat]]
count = [2, 2, 2]
offset = [[0.25, 0.01, 0.02], [0.02, 0.25, 0.01], [0.01, -0.02, 0.25]]
body = { name = "box", shape = { box = [0.16, 0.16, 0.16] }, position = [-0.13, -0.13, 0.12], mass = 1, restitution = 0.05 }
"#;

/// Fast and slow ones, with the steps of a whole run.
const RUNS: [(&str, &str); 6] =
    [("ragdoll", "400"), ("net", "200"), ("pile_in_bin", "300"), ("pool_break", "2000"), ("chain_10000", "60"), ("boxes.toml", "70")];

/// Whether a process listens for SIGTERM.
fn listens(child: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigCgt:")).map_or(0, |m| u64::from_str_radix(m.trim(), 16).unwrap_or(0));
    mask & (1 << 14) != 0
}

/// Numbers in [0, 1), spread evenly.
fn spread(k: usize) -> f64 {
    (0.5 + 0.618_033_988_749_895 * k as f64).fract()
}

#[test]
fn runs_stopped_at_any_moment_end_at_once_and_go_on_to_the_same_bits() {
    let full = std::env::var("CAROM_FULL").is_ok_and(|v| v == "1");
    let folder = Folder::new("stopped");
    folder.write("boxes.toml", BOXES);
    let (mut stopped, mut slowest) = (0, Duration::ZERO);
    let mut number = 0;
    for (scene, steps) in RUNS {
        let begun = Instant::now();
        let whole = folder.json(&["run", scene, "--steps", steps, "--json", "--no-out"]);
        let whole_time = begun.elapsed();
        for _ in 0..STOPS[usize::from(full)] {
            number += 1;
            let args = ["run", scene, "--steps", steps, "--json", "--out", "run.caromlog"];
            let child = folder.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            wait_for(|| listens(&child));
            std::thread::sleep(whole_time.mul_f64(0.8 * spread(number)));
            let signalled = Instant::now();
            assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
            let output = child.wait_with_output().unwrap();
            let waited = signalled.elapsed();
            assert_eq!(code(&output), 0, "{scene}: {}", err(&output));
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(waited < if full { PROMPT } else { CROWDED }, "{scene}: ended after {waited:?}, at step {}", answer["total_steps"]);
            slowest = slowest.max(waited);
            if answer["ending"] == "stopped" {
                stopped += 1;
                assert_eq!(answer["resume"], "run.caromlog", "a stopped run says where it goes on");
                let resumed = folder.json(&["run", "--resume", "run.caromlog", "--json"]);
                assert_eq!(resumed["total_steps"], whole["total_steps"]);
                assert_eq!(
                    (&resumed["hash"], &resumed["ledger"]),
                    (&whole["hash"], &whole["ledger"]),
                    "{scene}, stopped at {}",
                    answer["total_steps"]
                );
            }
        }
    }
    println!("{stopped} of {number} runs stopped before their end, the slowest within {slowest:?}");
    assert!(2 * stopped > number, "only {stopped} of {number} were stopped");
}
