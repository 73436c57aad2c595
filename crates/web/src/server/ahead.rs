//! A look ahead: where a scene will go in its first seconds, so that the camera can stand where all of it is seen.

use super::act::Act;
use super::message::Report;
use super::runner::Outlet;
use serde_json::json;
use std::time::{Duration, Instant};

/// Time that a look may take: a page waits for its picture no longer than this.
const PATIENCE: Duration = Duration::from_millis(220);
/// Simulated time of a look \[s\].
const FAR: f64 = 5.0;
/// States that are sent at most, and numbers in all of them together.
const STATES: usize = 32;
const NUMBERS: usize = 120_000;

/// Looks ahead on another thread and tells the page some states that the scene will come to if nobody disturbs it.
pub fn look(mut act: Box<dyn Act>, generation: u32, outlet: Outlet) {
    act.heed(&outlet.over);
    std::thread::spawn(move || {
        let seen = states(&mut *act, &outlet);
        outlet.tell(Report::json(&json!({ "is": "ahead", "generation": generation, "time": act.time(), "states": seen })));
    });
}

fn states(act: &mut dyn Act, outlet: &Outlet) -> Vec<Vec<f32>> {
    let (start, first) = (Instant::now(), act.time());
    let most = (NUMBERS / act.poses().len().max(1)).clamp(2, STATES);
    let mut seen: Vec<Vec<f32>> = Vec::new();
    let (mut stride, mut since) = (1, 0);
    while act.time() - first < FAR.min(act.duration().max(1.0)) && start.elapsed() < PATIENCE && !outlet.over.raised() {
        if act.step().is_err() {
            break;
        }
        since += 1;
        if since == stride {
            since = 0;
            seen.push(act.poses().to_vec());
            // Too many: every second goes, and from here on half as many come.
            if seen.len() > most {
                seen = seen.into_iter().skip(1).step_by(2).collect();
                stride *= 2;
            }
        }
    }
    seen
}
