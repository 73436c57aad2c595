//! Every case of the reference data, within its tolerance.

use crate::collision::{Collision, Side, Status, collide};
use carom_math::{Planar, Space, Spatial, Vector};
use serde_json::Value;

const PLANAR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/collision2d.json");
const SPATIAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/collision3d.json");

/// A number, a list or a list of lists as one flat list.
fn flat(v: &Value) -> Vec<f64> {
    match v {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        other => vec![other.as_f64().expect("a number")],
    }
}

fn side<S: Space>(input: &Value, name: &str) -> Side<S> {
    let get = |key: &str| &input[format!("{key}{name}")];
    let (arm, velocity, spin) =
        (S::Lin::from_slice(&flat(get("r"))), S::Lin::from_slice(&flat(get("v"))), S::Ang::from_slice(&flat(get("w"))));
    match get("m").as_f64() {
        None => Side::immovable(arm, velocity, spin),
        Some(mass) => Side::body(mass, S::inertia_from_rows(&flat(get("I"))), arm, velocity, spin),
    }
}

/// Error relative to the tolerance; `floor` is 1 for velocities and 0 for impulses and works.
fn deviation(found: &[f64], wanted: &[f64], floor: f64) -> f64 {
    let scale = wanted.iter().fold(floor, |m, x| m.max(x.abs()));
    let error = found.iter().zip(wanted).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    if error == 0.0 { 0.0 } else { error / scale }
}

fn all_cases<S: Space>(path: &str) -> usize {
    let text = std::fs::read_to_string(path).expect("reference data");
    let data: Value = serde_json::from_str(&text).expect("valid JSON");
    let cases = data["cases"].as_array().expect("cases");
    let mut worst = (0.0, String::new());
    for case in cases {
        let (input, expected) = (&case["input"], &case["expected"]);
        let name = case["name"].as_str().expect("name");
        let number = |v: &Value| v.as_f64().expect("a number");
        let (a, b) = (side::<S>(input, "A"), side::<S>(input, "B"));
        let normal = S::Lin::from_slice(&flat(&input["f"]));
        let end: Collision<S> =
            collide(&a, &b, normal, number(&input["e"]), number(&input["mu"]), 1e-10).unwrap_or_else(|e| panic!("{name}: {e}"));
        let tolerance = number(&case["tol"]);
        let u1 = end.velocity_a + S::spin(end.spin_a, a.arm) - end.velocity_b - S::spin(end.spin_b, b.arm);
        let u0 = a.velocity + S::spin(a.spin, a.arm) - b.velocity - S::spin(b.spin, b.arm);
        let checks = [
            ("vA", deviation(end.velocity_a.as_slice(), &flat(&expected["vA"]), 1.0)),
            ("wA", deviation(end.spin_a.as_slice(), &flat(&expected["wA"]), 1.0)),
            ("vB", deviation(end.velocity_b.as_slice(), &flat(&expected["vB"]), 1.0)),
            ("wB", deviation(end.spin_b.as_slice(), &flat(&expected["wB"]), 1.0)),
            ("u0", deviation(u0.as_slice(), &flat(&expected["u0"]), 1.0)),
            ("u1", deviation(u1.as_slice(), &flat(&expected["u1"]), 1.0)),
            ("p", deviation(end.impulse.as_slice(), &flat(&expected["p"]), 0.0)),
            ("Wc", deviation(&[end.work_compression], &flat(&expected["Wc"]), 0.0)),
            ("Wd", deviation(&[end.work_restitution], &flat(&expected["Wd"]), 0.0)),
            // An elastic collision without slip loses nothing: the loss is measured against the work exchanged.
            ("energy", deviation(&[0.5 * (u0 + u1).dot(end.impulse)], &flat(&expected["energy_change"]), end.work_restitution)),
        ];
        for (what, error) in checks {
            assert!(error <= tolerance, "{name}: {what} off by {error:e}, allowed {tolerance:e} ({} steps)", end.steps);
            if error / tolerance > worst.0 {
                worst = (error / tolerance, format!("{name}: {what}"));
            }
        }
        assert_eq!(end.status, Status::Resolved, "{name}");
        assert_eq!(Some(end.phases as u64), expected["phases"].as_u64(), "{name}: phases");
        if case["branch_ambiguous"] == Value::Bool(false) {
            assert_eq!(Some(end.branch.label()), expected["branch"].as_str(), "{name}: branch");
        }
    }
    println!("{} cases, worst at {:.3} of the tolerance: {}", cases.len(), worst.0, worst.1);
    cases.len()
}

#[test]
fn planar_cases() {
    assert!(all_cases::<Planar>(PLANAR) > 400);
}

#[test]
fn spatial_cases() {
    assert!(all_cases::<Spatial>(SPATIAL) > 200);
}
