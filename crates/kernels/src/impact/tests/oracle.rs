//! Every case of the reference file: velocities, iteration counts, implicit equalities and invariants.

use super::support::*;
use crate::impact::*;
use carom_solve::impact::*;
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn load() -> Vec<Value> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/impact.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn problem(input: &Value) -> (MassMatrix, SparseRows, Vec<f64>) {
    let blocks: Vec<(Vec<f64>, usize)> = input["M_blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| {
            let rows = b.as_array().unwrap();
            (rows.iter().flat_map(numbers).collect(), rows.len())
        })
        .collect();
    let mass = MassMatrix::blocks(blocks.iter().map(|(b, n)| (b.as_slice(), *n))).unwrap();
    let mut normals = SparseRows::new(input["dof"].as_u64().unwrap() as usize);
    for row in input["N_rows"].as_array().unwrap() {
        let mut entries: Vec<(usize, f64)> =
            row["i"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap() as usize).zip(numbers(&row["v"])).collect();
        entries.sort_by_key(|e| e.0);
        let (columns, values): (Vec<usize>, Vec<f64>) = entries.into_iter().unzip();
        normals.push(&columns, &values).unwrap();
    }
    (mass, normals, numbers(&input["qdot"]))
}

#[test]
fn every_case_of_the_reference_file() {
    let mut checked = 0;
    for case in load() {
        let name = case["name"].as_str().unwrap();
        let (mass, normals, velocity) = problem(&case["input"]);
        let expected = &case["expected"];
        let tolerance = case["tol"].as_f64().unwrap();
        for (key, law) in [("gr", Law::Reflections), ("gs", Law::GaussSeidel { order: Order::Lexicographic, seed: 0 })] {
            let options = ImpactOptions { law, tolerance: case["input"]["eps"].as_f64().unwrap(), ..ImpactOptions::default() };
            let impact = impacts(&mass, &normals, &velocity, &options).unwrap();
            assert_eq!(impact.status, Status::Resolved, "{name} {key}");
            assert_eq!(impact.locked as u64, expected["lineality_dim"].as_u64().unwrap(), "{name} {key}: locked");
            let answer = &expected[key];
            if answer["determined"].as_bool().unwrap() {
                let reference = numbers(&answer["qdot"]);
                let error = difference(&impact.velocity, &reference) / largest(&reference).max(1.0);
                assert!(error <= tolerance, "{name} {key}: {error:e}");
                assert_eq!(impact.iterations as u64, answer["iterations"].as_u64().unwrap(), "{name} {key}: iterations");
                checked += 1;
            }
            // Invariants hold for every operator.
            let energy = expected["energy_after"].as_f64().unwrap();
            assert!((impact.energy_after - energy).abs() <= tolerance * energy, "{name} {key}: energy");
            let gap = momentum_gap(&mass, &normals, &velocity, &impact, None);
            assert!(gap <= tolerance, "{name} {key}: momentum {gap:e}");
            assert!(impact.impulses.iter().all(|&l| l >= 0.0), "{name} {key}: an impulse pulls");
            for entry in expected["conserved"].as_array().unwrap() {
                let w = numbers(&entry["w"]);
                let value = entry["value"].as_f64().unwrap();
                let mut momentum = impact.velocity.clone();
                mass.momentum(&mut momentum);
                let now: f64 = w.iter().zip(&momentum).map(|(a, b)| a * b).sum();
                let scale: f64 = w.iter().zip(&momentum).map(|(a, b)| (a * b).abs()).sum();
                assert!((now - value).abs() <= tolerance * scale.max(1.0), "{name} {key}: conserved {now} {value}");
            }
        }
    }
    assert!(checked > 300, "the file must hold its cases: {checked}");
}

#[test]
fn contact_space_agrees_with_arrays() {
    let mut work = Workspace::new();
    let mut locked = 0;
    for case in load() {
        let name = case["name"].as_str().unwrap();
        let (mass, normals, velocity) = problem(&case["input"]);
        let m = normals.len();
        let gram = normals.whitened(&mass).gram();
        let dense: Vec<f64> = (0..m * m).map(|k| gram.view().entry(m, k / m, k % m)).collect();
        let approach: Vec<f64> = (0..m).map(|i| normals.dot(i, &velocity)).collect();
        let speed = (2.0 * mass.energy(&velocity)).sqrt();
        let space = ContactSpace { contacts: m, gram: GramView::Dense(&dense), rows: None, approach: &approach, speed };
        let answer = &case["expected"]["gr"];
        let report = resolve(&space, Restitution::Uniform(1.0), None, &Settings::default(), &mut work).unwrap();
        assert_eq!(report.status, Status::Resolved, "{name}");
        assert_eq!(report.locked as u64, case["expected"]["lineality_dim"].as_u64().unwrap(), "{name}: locked");
        assert!(work.impulses().iter().all(|&l| l >= 0.0), "{name}: an impulse pulls");
        if report.locked > 0 {
            locked += 1;
        }
        if answer["determined"].as_bool().unwrap() {
            let mut change = vec![0.0; velocity.len()];
            work.impulses().iter().enumerate().for_each(|(i, &l)| normals.add(i, l, &mut change));
            mass.whiten(&mut change);
            mass.whiten_transposed(&mut change);
            let after: Vec<f64> = velocity.iter().zip(&change).map(|(a, b)| a + b).collect();
            let reference = numbers(&answer["qdot"]);
            let error = difference(&after, &reference) / largest(&reference).max(1.0);
            assert!(error <= 1e-9, "{name}: {error:e}");
            assert_eq!(report.iterations as u64, answer["iterations"].as_u64().unwrap(), "{name}: iterations");
        }
    }
    assert!(locked > 10);
}
