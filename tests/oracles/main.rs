//! Reference trajectories of `integration.json`: exact solutions against which the error and its order in the step are measured.

mod bouncing;
mod painleve;
mod pendulums;
mod sliding;
mod tops;

use carom_dynamics::options::Integrator;
use carom_tests::figures::{figure, order};
use serde_json::Value;

/// The integrators with the order each must show.
const INTEGRATORS: [(Integrator, f64); 3] = [(Integrator::Verlet, 2.0), (Integrator::Euler, 1.0), (Integrator::EnergyMomentum, 2.0)];

/// Errors below this are rounding and have no order.
const ROUNDING: f64 = 1e-10;

/// Cases of one kind.
fn cases(kind: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/oracles/integration.json");
    let text = std::fs::read_to_string(path).expect("the reference file");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    let all = file["cases"].as_array().expect("cases");
    let found: Vec<Value> = all.iter().filter(|case| case["kind"] == kind).cloned().collect();
    assert!(!found.is_empty(), "there are cases of {kind}");
    found
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, found {value}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("a list, found {value}")).iter().map(number).collect()
}

/// Measures errors at a step and its halves. The last two must show the order and the last must be below `finest`; returns whether.
#[must_use]
fn converges(name: &str, steps: [f64; 3], wanted: f64, finest: f64, mut error: impl FnMut(f64) -> f64) -> bool {
    let errors = steps.map(&mut error);
    if errors.iter().all(|&e| e < ROUNDING) {
        figure(&format!("{name}: exact, error"), errors[2]);
        return true;
    }
    let observed = [order(errors[0], errors[1]), order(errors[1], errors[2])];
    let good = errors[2] <= finest && (observed[1] - wanted).abs() < ORDER_SLACK * wanted;
    let verdict = if good { "" } else { "  FAILS" };
    println!(
        "{name}: errors {:.2e} {:.2e} {:.2e}, orders {:.2} {:.2} (wanted {wanted}, finest {finest:.0e}){verdict}",
        errors[0], errors[1], errors[2], observed[0], observed[1]
    );
    figure(&format!("{name}: order"), observed[1]);
    figure(&format!("{name}: error at the finest step"), errors[2]);
    good
}

/// How far an observed order may lie from the theoretical one, relative.
const ORDER_SLACK: f64 = 0.15;
