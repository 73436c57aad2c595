//! How large a step may be: `verlet` beside semi-implicit Euler, both against a fine run of `verlet`.

use crate::lab::places;
use carom_dynamics::options::Integrator;
use carom_tests::{figure, full, holds};

/// How many times longer the step of `verlet` is.
const TIMES: f64 = 6.0;
/// Steps of `verlet` in a second.
const RATE: f64 = 60.0;

/// Largest distance of a coordinate from the reference [m].
fn apart(reference: &[f64], places: &[f64]) -> f64 {
    reference.iter().zip(places).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()))
}

/// At six times the step `verlet` is at least as near to the truth. With `CAROM_FULL=1` the whole table.
fn six_times_larger(name: &str) {
    let mut good = true;
    for seconds in if full() { &[1.0, 2.0, 4.0][..] } else { &[1.0] } {
        let reference = places(name, 1.0 / if full() { 7680.0 } else { 1920.0 }, *seconds, Integrator::Verlet);
        let error = |rate: f64, integrator: Integrator| apart(&reference, &places(name, 1.0 / rate, *seconds, integrator));
        let euler = error(TIMES * RATE, Integrator::Euler);
        good &= holds(
            &format!("{name}, {seconds} s: error of verlet at 1/60 s, bound that of euler at 1/360 s [m]"),
            error(RATE, Integrator::Verlet),
            euler,
        );
        for rate in if full() { &[30.0, 60.0, 120.0, 240.0, 360.0, 720.0, 1440.0][..] } else { &[] } {
            for integrator in [Integrator::Verlet, Integrator::Euler] {
                figure(&format!("{name}, {seconds} s, {integrator:?} at 1/{rate} s: error [m]"), error(*rate, integrator));
            }
        }
    }
    assert!(good);
}

#[test]
fn trike() {
    six_times_larger("trike");
}

#[test]
fn strandbeest() {
    six_times_larger("strandbeest");
}
