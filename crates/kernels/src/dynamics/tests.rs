//! The kernel against reference solutions, closed forms and refusals.

use super::*;
use carom_solve::status::RESIDUAL_WANTED;

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

/// One unit disc between two walls at x = 0 and x = 1, moving right; rows are the walls' normals.
fn wedged(restitution: &[f64]) -> DynamicsOutput {
    dynamics(&DynamicsInput {
        mass: Mass::Diagonal(&[0.5, 1.0, 1.0]),
        velocity: &[0.0, 2.0, 0.0],
        force: &[0.0; 3],
        step: 0.01,
        joints: &[],
        contacts: &[0.0, 1.0, 0.0, 0.0, -1.0, 0.0],
        tangents: &[],
        friction: &[],
        restitution: &[],
        bias: restitution,
        tolerance: RESIDUAL_WANTED,
    })
    .unwrap()
}

#[test]
fn opposing_contacts_that_ask_for_the_impossible_end_in_a_status() {
    // Without bias the disc stops; with both walls asking it to leave there is no solution.
    let stopped = wedged(&[0.0, 0.0]);
    assert_eq!(stopped.status, Status::Solved);
    assert!(max_abs(&stopped.velocity) < 1e-10, "{:?}", stopped.velocity);
    let impossible = wedged(&[-1.0, -1.0]);
    assert_ne!(impossible.status, Status::Solved);
    assert!(impossible.residual > RESIDUAL_WANTED);
}

#[test]
fn a_ball_bounces_with_its_restitution_and_only_when_it_closes() {
    let fall = |speed: f64| {
        let input = DynamicsInput {
            mass: Mass::Diagonal(&[0.1, 2.0, 2.0]),
            velocity: &[0.0, 0.0, speed],
            force: &[0.0; 3],
            step: 0.01,
            joints: &[],
            contacts: &[0.0, 0.0, 1.0],
            tangents: &[],
            friction: &[],
            restitution: &[0.7],
            bias: &[],
            tolerance: RESIDUAL_WANTED,
        };
        dynamics(&input).unwrap().velocity[2]
    };
    assert!((fall(-3.0) - 2.1).abs() < 1e-10);
    assert!((fall(1.0) - 1.0).abs() < 1e-12);
}

#[test]
fn the_three_forms_of_mass_agree_and_redundant_joints_share() {
    let diagonal = [0.2, 1.0, 1.0, 0.3, 2.0, 2.0];
    let mut dense = vec![0.0; 36];
    let mut blocks = vec![vec![0.0; 9], vec![0.0; 9]];
    for i in 0..6 {
        dense[i * 7] = diagonal[i];
        blocks[i / 3][(i % 3) * 4] = diagonal[i];
    }
    // The same hinge between the bodies twice over, and the second body on the ground with friction.
    let hinge = [0.0, 1.0, 0.0, 0.5, -1.0, 0.0, 0.5, 0.0, 1.0, 0.5, 0.0, -1.0];
    let joints = [hinge, hinge].concat();
    let run = |mass: Mass, joints: &[f64]| {
        dynamics(&DynamicsInput {
            mass,
            velocity: &[0.3, 1.0, -1.0, 0.2, 0.5, -2.0],
            force: &[0.0, 0.0, -9.81, 0.0, 0.0, -19.62],
            step: 0.01,
            joints,
            contacts: &[0.0, 0.0, 0.0, 0.1, 0.0, 1.0],
            tangents: &[0.0, 0.0, 0.0, -0.4, -1.0, 0.0, 0.0, 0.0, 0.0, 0.4, 1.0, 0.0],
            friction: &[0.3],
            restitution: &[0.0],
            bias: &[],
            tolerance: RESIDUAL_WANTED,
        })
        .unwrap()
    };
    let reference = run(Mass::Diagonal(&diagonal), &hinge);
    assert_eq!(reference.status, Status::Solved);
    assert!(reference.contact_impulse[0] > 0.1 && reference.slip[0] > 0.0);
    for other in [run(Mass::Dense(&dense), &hinge), run(Mass::Blocks(&blocks), &hinge), run(Mass::Diagonal(&diagonal), &joints)] {
        assert!(largest_miss(&other.velocity, &reference.velocity, 1.0) < 1e-11);
        assert!(largest_miss(&other.contact_impulse, &reference.contact_impulse, 0.0) < 1e-10);
    }
    let shared = run(Mass::Diagonal(&diagonal), &joints).joint_impulse;
    assert!((shared[0] - shared[2]).abs() < 1e-4 * shared[0].abs() && (shared[0] + shared[2] - reference.joint_impulse[0]).abs() < 1e-9);
}

#[test]
fn bad_input_is_refused_by_name() {
    let good = DynamicsInput {
        mass: Mass::Diagonal(&[1.0, 1.0]),
        velocity: &[0.0, -1.0],
        force: &[0.0, 0.0],
        step: 0.1,
        joints: &[],
        contacts: &[0.0, 1.0],
        tangents: &[1.0, 0.0, -1.0, 0.0],
        friction: &[0.5],
        restitution: &[],
        bias: &[],
        tolerance: RESIDUAL_WANTED,
    };
    assert_eq!(dynamics(&good).unwrap().status, Status::Solved);
    let refused = |input: DynamicsInput| dynamics(&input).unwrap_err();
    assert_eq!(refused(DynamicsInput { mass: Mass::Diagonal(&[1.0, -1.0]), ..good }), DynamicsError::Mass);
    assert_eq!(refused(DynamicsInput { mass: Mass::Dense(&[1.0, 2.0, 2.0, 1.0]), ..good }), DynamicsError::Mass);
    assert_eq!(refused(DynamicsInput { mass: Mass::Dense(&[1.0, 0.5, 0.0, 1.0]), ..good }), DynamicsError::Mass);
    assert_eq!(refused(DynamicsInput { friction: &[-0.5], ..good }), DynamicsError::Negative { argument: "friction" });
    assert_eq!(refused(DynamicsInput { step: f64::NAN, ..good }), DynamicsError::NotFinite { argument: "step" });
    assert_eq!(refused(DynamicsInput { force: &[1.0], ..good }), DynamicsError::Shape { argument: "force", expected: 2, found: 1 });
    assert_eq!(
        refused(DynamicsInput { contacts: &[1.0; 3], ..good }),
        DynamicsError::Shape { argument: "contacts", expected: 2, found: 3 }
    );
    assert!(refused(DynamicsInput { bias: &[1.0; 3], ..good }).to_string().contains("bias"));
    // Nothing at all is a problem too.
    let nothing =
        DynamicsInput { mass: Mass::Diagonal(&[]), velocity: &[], force: &[], contacts: &[], tangents: &[], friction: &[], ..good };
    assert!(dynamics(&nothing).unwrap().velocity.is_empty());
}
