//! Derivatives of the kernel against the reference data, differences of physical parameters, and their transpose.

use super::*;
use carom_solve::status::RESIDUAL_AIM;

/// Steps of the differences; the best of them counts.
const STEPS: [f64; 5] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7];

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().flat_map(|x| if x.is_array() { numbers(x) } else { vec![x.as_f64().unwrap()] }).collect()
}

/// The numbers of an input, owned, so that they can be changed.
#[derive(Clone, Debug)]
struct Numbers {
    mass: Vec<f64>,
    velocity: Vec<f64>,
    force: Vec<f64>,
    step: f64,
    joints: Vec<f64>,
    contacts: Vec<f64>,
    tangents: Vec<f64>,
    friction: Vec<f64>,
    restitution: Vec<f64>,
    bias: Vec<f64>,
}

impl Numbers {
    fn input(&self) -> DynamicsInput<'_> {
        let d = self.velocity.len();
        DynamicsInput {
            mass: if self.mass.len() == d { Mass::Diagonal(&self.mass) } else { Mass::Dense(&self.mass) },
            velocity: &self.velocity,
            force: &self.force,
            step: self.step,
            joints: &self.joints,
            contacts: &self.contacts,
            tangents: &self.tangents,
            friction: &self.friction,
            restitution: &self.restitution,
            bias: &self.bias,
            tolerance: RESIDUAL_AIM,
        }
    }

    fn moved(&self, change: &DynamicsChange, s: f64) -> Self {
        let sum = |x: &[f64], dx: &[f64]| x.iter().zip(dx).map(|(x, dx)| x + s * dx).collect::<Vec<f64>>();
        Numbers {
            mass: match &change.mass {
                MassChange::Diagonal(m) | MassChange::Dense(m) => sum(&self.mass, m),
                MassChange::Blocks(_) => unreachable!(),
            },
            velocity: sum(&self.velocity, &change.velocity),
            force: sum(&self.force, &change.force),
            step: self.step + s * change.step,
            joints: sum(&self.joints, &change.joints),
            contacts: sum(&self.contacts, &change.contacts),
            tangents: sum(&self.tangents, &change.tangents),
            friction: sum(&self.friction, &change.friction),
            restitution: sum(&self.restitution, &change.restitution),
            bias: sum(&self.bias, &change.bias),
        }
    }
}

fn pairing(a: &DynamicsChange, b: &DynamicsChange) -> (f64, f64) {
    let masses = |m: &MassChange| match m {
        MassChange::Diagonal(m) | MassChange::Dense(m) => m.clone(),
        MassChange::Blocks(b) => b.concat(),
    };
    let lists = |c: &DynamicsChange| {
        [
            masses(&c.mass),
            c.velocity.clone(),
            c.force.clone(),
            vec![c.step],
            c.joints.clone(),
            c.contacts.clone(),
            c.tangents.clone(),
            c.friction.clone(),
            c.restitution.clone(),
            c.bias.clone(),
        ]
        .concat()
    };
    let (a, b) = (lists(a), lists(b));
    (dot(&a, &b), a.iter().zip(&b).map(|(x, y)| (x * y).abs()).sum())
}

#[test]
fn reference_derivatives_are_met() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/lcp.json");
    let data: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let (mut cases, mut entries, mut worst) = (0, 0, (0.0f64, String::new()));
    for case in data["cases"].as_array().unwrap() {
        let (given, derivatives) = (&case["input"], &case["expected"]["derivatives"]);
        if derivatives.is_null() {
            continue;
        }
        cases += 1;
        let name = case["name"].as_str().unwrap();
        let field = |key: &str| numbers(&given[key]);
        let all = Numbers {
            mass: field("M_diag"),
            velocity: field("v"),
            force: field("f"),
            step: given["dt"].as_f64().unwrap(),
            joints: field("Je"),
            contacts: field("Jc"),
            tangents: field("Jf"),
            friction: field("mu"),
            restitution: vec![],
            bias: field("c"),
        };
        let (d, m) = (all.velocity.len(), all.friction.len());
        let k = field("k");
        let input = all.input();
        let output = dynamics(&input).unwrap();
        let mut derivative = DynamicsDerivative::new(&input, &output).unwrap();
        let closing: Vec<f64> = (0..m).map(|i| dot(&all.contacts[i * d..(i + 1) * d], &all.velocity)).collect();
        for r in 0..d {
            let mut unit = vec![0.0; d];
            unit[r] = 1.0;
            let bar = derivative.backward(&unit).unwrap();
            let MassChange::Diagonal(mass_bar) = &bar.mass else { panic!("the mass is diagonal") };
            let row = |key: &str| numbers(&derivatives[key][r]);
            // In the reference c follows v and the normals: c = k Jc v.
            let total_velocity: Vec<f64> =
                (0..d).map(|j| bar.velocity[j] + (0..m).map(|i| bar.bias[i] * k[i] * all.contacts[i * d + j]).sum::<f64>()).collect();
            let restitution: Vec<f64> = (0..m).map(|i| bar.bias[i] * closing[i]).collect();
            let turned: Vec<f64> = (0..m)
                .map(|i| {
                    let contact = &given["contacts"][i];
                    let normal = numbers(&contact["n"]);
                    let tangent = [-normal[1], normal[0]];
                    let row_of = |direction: [f64; 2]| {
                        let mut row = vec![0.0; d];
                        for (body, arm, sign) in [("a", "ra", 1.0), ("b", "rb", -1.0)] {
                            if let Some(body) = contact[body].as_u64() {
                                let arm = numbers(&contact[arm]);
                                let at = 3 * body as usize;
                                row[at] = sign * (arm[0] * direction[1] - arm[1] * direction[0]);
                                row[at + 1] = sign * direction[0];
                                row[at + 2] = sign * direction[1];
                            }
                        }
                        row
                    };
                    let (along, against) = (row_of(tangent), row_of([-normal[0], -normal[1]]));
                    let t = &bar.tangents[2 * i * d..2 * (i + 1) * d];
                    dot(&bar.contacts[i * d..(i + 1) * d], &along) + dot(&t[..d], &against) - dot(&t[d..], &against)
                        + bar.bias[i] * k[i] * dot(&along, &all.velocity)
                })
                .collect();
            for (key, found) in [
                ("dv_dMdiag", mass_bar),
                ("dv_df", &bar.force),
                ("dv_dv", &total_velocity),
                ("dv_dc", &bar.bias),
                ("dv_dmu", &bar.friction),
                ("dv_dk", &restitution),
                ("dv_dphi", &turned),
                ("dv_dJc", &bar.contacts),
            ] {
                if derivatives[key].is_null() {
                    continue;
                }
                let wanted = row(key);
                let scale = max_abs(&numbers(&derivatives[key])).max(1.0);
                assert_eq!(wanted.len(), found.len());
                for (a, b) in found.iter().zip(&wanted) {
                    entries += 1;
                    let miss = (a - b).abs() / scale;
                    if miss > worst.0 {
                        worst = (miss, format!("{name}, {key}"));
                    }
                    assert!(miss <= 1e-9, "{name}, {key}[{r}]: {a} against {b} (scale {scale})");
                }
            }
        }
    }
    println!("{entries} derivatives of {cases} cases, worst {worst:?}");
    assert!(cases > 40 && entries > 5000, "{cases} cases, {entries} entries");
}

/// Random bodies with a joint and contacts, planar or with six friction directions, and a direction in which they change.
fn random_case(seed: u64) -> (Numbers, DynamicsChange) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    for _ in 0..10 {
        random();
    }
    let d = 6;
    let m = 1 + (seed % 3) as usize;
    let e = (seed / 3 % 3) as usize;
    let t = [2, 6][(seed % 2) as usize];
    let dense = seed.is_multiple_of(5);
    // Friction directions around two axes, so that they surround the contact: t = 2 uses one of them.
    let axes: Vec<[Vec<f64>; 2]> = (0..m).map(|_| [0, 1].map(|_| (0..d).map(|_| random()).collect())).collect();
    let axes_dot: Vec<[Vec<f64>; 2]> = (0..m).map(|_| [0, 1].map(|_| (0..d).map(|_| random()).collect())).collect();
    let around = |axes: &[[Vec<f64>; 2]]| -> Vec<f64> {
        let mut rows = vec![];
        for pair in axes {
            for k in 0..t {
                let (sin, cos) = (std::f64::consts::TAU * k as f64 / t as f64).sin_cos();
                let (cos, sin) = if t == 2 { ([1.0, -1.0][k], 0.0) } else { (cos, sin) };
                rows.extend((0..d).map(|j| cos * pair[0][j] + sin * pair[1][j]));
            }
        }
        // Opposite directions are exactly opposite.
        for i in 0..m {
            for k in t / 2..t {
                for j in 0..d {
                    rows[(i * t + k) * d + j] = -rows[(i * t + k - t / 2) * d + j];
                }
            }
        }
        rows
    };
    let mut list = |n: usize, low: f64, high: f64| -> Vec<f64> { (0..n).map(|_| low + (high - low) * (random() + 1.0) / 2.0).collect() };
    let mass = |diagonal: &[f64], couple: f64| {
        if !dense {
            return diagonal.to_vec();
        }
        let mut full = vec![0.0; d * d];
        for i in 0..d {
            full[i * d + i] = diagonal[i];
            if i > 0 {
                full[i * d + i - 1] = couple;
                full[(i - 1) * d + i] = couple;
            }
        }
        full
    };
    let (diagonal, diagonal_dot) = (list(d, 0.5, 2.0), list(d, -1.0, 1.0));
    let biased = seed.is_multiple_of(4);
    let numbers = Numbers {
        mass: mass(&diagonal, 0.1),
        velocity: list(d, -1.0, 1.0),
        force: list(d, -1.0, 1.0),
        step: 0.1,
        joints: list(e * d, -1.0, 1.0),
        contacts: list(m * d, -1.0, 1.0),
        tangents: around(&axes),
        friction: list(m, 0.05, 0.8),
        restitution: if biased { vec![] } else { list(m, 0.1, 0.9) },
        bias: if biased { list(m, -0.5, 0.5) } else { vec![] },
    };
    let change = DynamicsChange {
        mass: if dense { MassChange::Dense(mass(&diagonal_dot, 0.3)) } else { MassChange::Diagonal(diagonal_dot) },
        velocity: list(d, -1.0, 1.0),
        force: list(d, -1.0, 1.0),
        step: 0.7,
        joints: list(e * d, -1.0, 1.0),
        contacts: list(m * d, -1.0, 1.0),
        tangents: around(&axes_dot),
        friction: list(m, -1.0, 1.0),
        restitution: list(numbers.restitution.len(), -1.0, 1.0),
        bias: list(numbers.bias.len(), -1.0, 1.0),
    };
    (numbers, change)
}

#[test]
fn random_problems_move_as_their_differences_and_backwards_is_the_transpose() {
    let (mut compared, mut skipped, mut worst, mut sliding, mut sticking) = (0, 0, 0.0f64, 0, 0);
    for seed in 0..300 {
        let (numbers, change) = random_case(seed);
        let input = numbers.input();
        let output = dynamics(&input).unwrap();
        if output.residual > 1e-11 {
            skipped += 1;
            continue;
        }
        let mut derivative = DynamicsDerivative::new(&input, &output).unwrap();
        let tangent = derivative.tangent(&change).unwrap();
        let bar: Vec<f64> = (0..6).map(|i| ((seed as f64) + 1.7 * i as f64).sin()).collect();
        let cotangent = derivative.backward(&bar).unwrap();
        let (backward, size) = pairing(&cotangent, &change);
        let forward = dot(&bar, &tangent);
        assert!((forward - backward).abs() <= 1e-12 * (size + forward.abs()), "seed {seed}: {forward} against {backward}");
        // A switch inside the difference shows as a jump of the mode, so the smallest error over the steps counts.
        let mut best = f64::INFINITY;
        for step in STEPS {
            let (plus, minus) =
                (dynamics(&numbers.moved(&change, step).input()).unwrap(), dynamics(&numbers.moved(&change, -step).input()).unwrap());
            if plus.residual.max(minus.residual) > 1e-11 {
                continue;
            }
            let error = (0..6).map(|i| ((plus.velocity[i] - minus.velocity[i]) / (2.0 * step) - tangent[i]).abs()).fold(0.0, f64::max);
            best = best.min(error / (1.0 + max_abs(&tangent)));
        }
        if derivative.weak().total() > 0 || best.is_infinite() {
            skipped += 1;
            continue;
        }
        compared += 1;
        sliding += output.slip.iter().filter(|s| **s > 1e-6).count();
        sticking += output.contact_impulse.iter().zip(&output.slip).filter(|(l, s)| **l > 1e-6 && **s < 1e-9).count();
        worst = worst.max(best);
        assert!(best < 1e-6, "seed {seed}: {best:e}");
    }
    println!("{compared} compared ({sliding} sliding, {sticking} sticking contacts), {skipped} skipped, worst {worst:e}");
    assert!(compared > 200 && sliding > 50 && sticking > 30, "{compared} compared, {sliding} sliding, {sticking} sticking");
}

#[test]
fn a_rebound_answers_to_restitution_mass_and_speed() {
    let numbers = Numbers {
        mass: vec![0.1, 2.0, 2.0],
        velocity: vec![0.0, 0.5, -3.0],
        force: vec![0.0, 0.0, -2.0],
        step: 0.01,
        joints: vec![],
        contacts: vec![0.0, 0.0, 1.0],
        tangents: vec![],
        friction: vec![],
        restitution: vec![0.7],
        bias: vec![],
    };
    let input = numbers.input();
    let output = dynamics(&input).unwrap();
    let bar = backward(&input, &output, &[0.0, 0.0, 1.0]).unwrap();
    assert!((bar.restitution[0] - 3.0).abs() < 1e-13, "rebound = k |v|");
    assert!((bar.velocity[2] + 0.7).abs() < 1e-13 && bar.force[2].abs() < 1e-13 && bar.step.abs() < 1e-13);
    let MassChange::Diagonal(mass) = bar.mass else { panic!("the mass is diagonal") };
    assert!(max_abs(&mass) < 1e-13, "nor to its mass");
    assert!(backward(&input, &output, &[1.0]).is_err());
}
