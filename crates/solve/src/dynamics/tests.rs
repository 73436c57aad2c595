//! The kernel against reference solutions, closed forms and refusals.

use super::*;
use crate::status::RESIDUAL_WANTED;

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().flat_map(|x| if x.is_array() { numbers(x) } else { vec![x.as_f64().unwrap()] }).collect()
}

fn largest_miss(found: &[f64], expected: &[f64], floor: f64) -> f64 {
    let scale = max_abs(expected).max(floor);
    let miss = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    if scale > 0.0 { miss / scale } else { miss }
}

#[test]
fn reference_solutions_are_met() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/lcp.json");
    let data: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = data["cases"].as_array().unwrap();
    assert!(cases.len() > 50);
    let mut worst = (0.0, String::new());
    let mut compared = 0;
    for case in cases {
        let (given, expected) = (&case["input"], &case["expected"]);
        let name = case["name"].as_str().unwrap();
        let tolerance = case["tol"].as_f64().unwrap();
        let field = |key: &str| numbers(&given[key]);
        let (mass, velocity, force) = (field("M_diag"), field("v"), field("f"));
        let (joints, contacts, tangents) = (field("Je"), field("Jc"), field("Jf"));
        let (friction, bias) = (field("mu"), field("c"));
        let input = DynamicsInput {
            mass: Mass::Diagonal(&mass),
            velocity: &velocity,
            force: &force,
            step: given["dt"].as_f64().unwrap(),
            joints: &joints,
            contacts: &contacts,
            tangents: &tangents,
            friction: &friction,
            restitution: &[],
            bias: &bias,
            tolerance: RESIDUAL_WANTED,
        };
        let output = dynamics(&input).unwrap();
        assert_eq!(output.status, Status::Solved, "{name}: residual {}", output.residual);
        let mut check = |what: &str, found: &[f64], wanted: &[f64], floor: f64| {
            let miss = largest_miss(found, wanted, floor);
            if miss > worst.0 {
                worst = (miss, format!("{name}, {what}"));
            }
            assert!(miss <= tolerance, "{name}: {what} misses by {miss:e}\n{found:?}\n{wanted:?}");
        };
        check("velocity", &output.velocity, &numbers(&expected["v"]), 1.0);
        // At the edge of two modes (a contact at its friction limit that does not slip) impulses are shared in more than one way.
        if expected["multipliers_unique"].as_bool().unwrap() && expected["margin"].as_f64().unwrap_or(0.0) > tolerance {
            compared += 1;
            check("joint impulse", &output.joint_impulse, &numbers(&expected["lambda_e"]), 0.0);
            check("contact impulse", &output.contact_impulse, &numbers(&expected["lambda_c"]), 0.0);
            let net: Vec<f64> = output.friction_impulse.chunks_exact(2).map(|f| f[0] - f[1]).collect();
            check("friction impulse", &net, &numbers(&expected["friction_net"]), 0.0);
        }
    }
    assert!(compared > 30, "impulses compared in {compared} cases only");
    println!("worst of {} cases: {worst:?}", cases.len());
}
