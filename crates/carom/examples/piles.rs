//! Time, worst step and accuracy of scenes with many contacts.
//!
//! Run: `cargo run --release -p carom --example piles -- SCENE.toml [SECONDS]`, any number of scenes; steps on one thread.

use carom::prelude::*;
use carom::scene::{Scene, from_toml};
use std::time::Instant;

fn measure<G: carom::geometry::Geometry>(mut world: World<G>, name: &str, seconds: f64) -> Result<(), StepError> {
    let step = world.model().step;
    let steps = (seconds / step).round() as usize;
    // The second half tells what rest costs.
    let mut parts = [(0.0f64, 0usize, 0usize); 2];
    let (mut slowest, mut residual, mut depth, mut inaccurate, mut contacts, mut iterations) = (0.0f64, 0.0f64, 0.0f64, 0, 0, 0);
    for index in 0..steps {
        let start = Instant::now();
        let report = world.step()?;
        let time = start.elapsed().as_secs_f64();
        let part = &mut parts[2 * index / steps];
        part.0 += time;
        part.1 += report.solves;
        part.2 += 1;
        slowest = slowest.max(time);
        residual = residual.max(report.residual);
        inaccurate += usize::from(report.inaccurate);
        contacts = contacts.max(report.contacts);
        iterations += report.iterations;
        depth = depth.max(-world.deepest());
    }
    let ledger = world.ledger();
    let rate = |part: (f64, usize, usize)| part.2 as f64 * step / part.0;
    println!(
        "{name:<14} {:>7.2} x then {:>7.2} x, slowest {:>8.1} ms, solves {:>5.1} then {:>5.1}, iterations {:>6.1}, contacts {contacts}, residual {residual:.0e}, \
         inaccurate {inaccurate}, depth {depth:.0e}, drift {:.0e} of {:.1e} J",
        rate(parts[0]),
        rate(parts[1]),
        slowest * 1e3,
        parts[0].1 as f64 / parts[0].2 as f64,
        parts[1].1 as f64 / parts[1].2 as f64,
        iterations as f64 / steps as f64,
        ledger.drift,
        ledger.exchanged,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    while let Some(path) = arguments.next() {
        let seconds = arguments.next_if(|next| next.parse::<f64>().is_ok()).and_then(|text| text.parse().ok()).unwrap_or(1.0);
        let text = std::fs::read_to_string(&path)?;
        let name = path.rsplit('/').next().unwrap_or(&path).trim_end_matches(".toml");
        match from_toml(&text, &path)? {
            Scene::Planar(scene) => measure(World::new(scene.model, scene.state)?, name, seconds)?,
            Scene::Spatial(scene) => measure(World::new(scene.model, scene.state)?, name, seconds)?,
        }
    }
    Ok(())
}
