//! Derivatives of impacts against differences of the laws themselves, closed forms, and their transpose.

use super::*;
use crate::contact::chain::ContactSolver;
use crate::contact::problem::{Block, Problem};
use crate::impact::{ContactSpace, Friction, GramView, Law, Order, Restitution, Status, Workspace, resolve_observed};
use carom_math::dense::dot;

/// Steps of the differences; the best of them counts.
const STEPS: [f64; 5] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7];

/// How many times as many impacts are compared with CAROM_FULL=1.
const FULL: u64 = 20;

/// A small deterministic generator of uniform numbers in -1..1.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..10).for_each(|_| {
            random.next();
        });
        random
    }
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() + 1.0) / 2.0
    }
}

/// An impact made of rows and inverse masses, so that K stays J M^-1 J' under changes.
#[derive(Clone, Debug)]
struct Case {
    contacts: usize,
    freedoms: usize,
    rows: Vec<f64>,
    inv_mass: Vec<f64>,
    velocity: Vec<f64>,
    restitution: Vec<f64>,
    friction: Vec<f64>,
    /// Whether a row with an even number is its predecessor's opposite (a plug between walls), changes included.
    opposed: bool,
}

impl Case {
    /// Contacts of discs in a row of bodies (and a wall), each with t tangents; coupled through shared bodies.
    fn random(seed: u64, tangents: usize) -> Self {
        let mut random = Random::new(seed);
        let contacts = 1 + (seed % 5) as usize;
        let (freedoms, width) = (3 * (contacts + 1), 3);
        let mut rows = vec![0.0; contacts * (1 + tangents) * freedoms];
        for i in 0..contacts {
            // Contact i joins bodies i and i + 1, some of them bodies further off.
            let other = if i > 1 && random.next() > 0.3 { i - 1 } else { i + 1 };
            for k in 0..=tangents {
                let row = if k == 0 { i } else { contacts + i * tangents + k - 1 };
                for body in [i, other] {
                    for c in 0..width {
                        rows[row * freedoms + body * width + c] = random.next();
                    }
                }
            }
        }
        let uniform = seed.is_multiple_of(3);
        let e = random.between(0.1, 0.9);
        Case {
            contacts,
            freedoms,
            rows,
            inv_mass: (0..freedoms).map(|_| random.between(0.3, 2.0)).collect(),
            velocity: (0..freedoms).map(|_| random.next()).collect(),
            restitution: (0..contacts).map(|_| if uniform { e } else { random.between(0.05, 0.95) }).collect(),
            friction: (0..contacts).map(|_| random.between(0.05, 0.8)).collect(),
            opposed: false,
        }
    }

    fn rows(&self) -> usize {
        self.rows.len() / self.freedoms
    }

    fn matrix(&self) -> Vec<f64> {
        let (n, d) = (self.rows(), self.freedoms);
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let entry: f64 = (0..d).map(|k| self.rows[i * d + k] * self.inv_mass[k] * self.rows[j * d + k]).sum();
                matrix[i * n + j] = entry;
                matrix[j * n + i] = entry;
            }
        }
        matrix
    }

    fn approach(&self) -> Vec<f64> {
        (0..self.rows()).map(|i| dot(&self.rows[i * self.freedoms..(i + 1) * self.freedoms], &self.velocity)).collect()
    }

    fn moved(&self, seed: u64, s: f64) -> Self {
        let mut random = Random::new(seed ^ 0x5555);
        let mut case = self.clone();
        case.rows.iter_mut().filter(|x| **x != 0.0).for_each(|x| *x += s * random.next());
        if self.opposed {
            let d = self.freedoms;
            for i in (1..self.contacts).step_by(2) {
                for k in 0..d {
                    case.rows[i * d + k] = -case.rows[(i - 1) * d + k];
                }
            }
        }
        case.inv_mass.iter_mut().for_each(|x| *x += s * 0.2 * random.next());
        case.velocity.iter_mut().for_each(|x| *x += s * random.next());
        let uniform = self.restitution.iter().all(|e| *e == self.restitution[0]);
        let common = random.next();
        case.restitution.iter_mut().for_each(|x| *x += s * if uniform { common } else { random.next() });
        case.friction.iter_mut().for_each(|x| *x += s * random.next());
        case
    }

    /// The change per unit step, by differences of polynomials of low degree: exact but for rounding.
    fn change(&self, seed: u64) -> ImpactChange {
        let step = 1e-3;
        let at = |s: f64| {
            let case = self.moved(seed, s * step);
            (case.matrix(), case.approach(), case.restitution, case.friction)
        };
        let (a, b, c, d) = (at(1.0), at(-1.0), at(2.0), at(-2.0));
        let slope = |a: &[f64], b: &[f64], c: &[f64], d: &[f64]| -> Vec<f64> {
            (0..a.len()).map(|i| (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * step)).collect()
        };
        ImpactChange {
            matrix: slope(&a.0, &b.0, &c.0, &d.0),
            approach: slope(&a.1, &b.1, &c.1, &d.1),
            restitution: slope(&a.2, &b.2, &c.2, &d.2),
            friction: slope(&a.3, &b.3, &c.3, &d.3),
        }
    }

    /// Velocities of the bodies after impulses.
    fn after(&self, impulses: &[f64]) -> Vec<f64> {
        let d = self.freedoms;
        (0..d)
            .map(|k| self.velocity[k] + self.inv_mass[k] * impulses.iter().enumerate().map(|(i, l)| l * self.rows[i * d + k]).sum::<f64>())
            .collect()
    }
}

/// A law to be differentiated: what it gives, what its forward solve decided (to be compared), and how its derivative is prepared.
#[derive(Clone, Copy, Debug)]
enum Tested {
    Blend(Law),
    Chain,
    Newton(Cone),
}

/// Impulses, and the decisions as numbers.
fn forward(case: &Case, law: Tested, derivative: Option<&mut ImpactDerivative>) -> Option<(Vec<f64>, Vec<usize>, Switches)> {
    let (m, n) = (case.contacts, case.rows());
    let (matrix, approach) = (case.matrix(), case.approach());
    let input = ImpactInput { contacts: m, matrix: &matrix, approach: &approach, restitution: &case.restitution, friction: &case.friction };
    match law {
        Tested::Blend(law) => {
            let space = ContactSpace { contacts: m, gram: GramView::Dense(&matrix), rows: None, approach: &approach, speed: 0.0 };
            let friction = (n > m).then_some(Friction { coefficients: &case.friction, staggered: false });
            let settings = Settings { law, ..Settings::default() };
            let (mut work, mut record) = (Workspace::new(), Record::new());
            let restitution = Restitution::PerContact(&case.restitution);
            let report = resolve_observed(&space, restitution, friction, &settings, &mut work, &mut record).unwrap();
            let capped = report.status == Status::Capped;
            let mut impulses = work.impulses().to_vec();
            impulses.extend_from_slice(work.friction_impulses());
            let mut decisions: Vec<usize> =
                (0..record.len()).flat_map(|k| record.application(k).0.iter().copied().chain([usize::MAX])).collect();
            decisions.extend(record.implicit());
            decisions.extend(impulses[..m].iter().map(|l| usize::from(*l > 0.0)));
            let mut own = ImpactDerivative::new();
            let derivative = derivative.unwrap_or(&mut own);
            let switches = derivative.prepare_reflections(&input, &settings, &record, capped, &impulses)?;
            decisions.extend(derivative.friction.kinds());
            Some((impulses, decisions, switches))
        }
        Tested::Chain => {
            // As the engine does it: the fastest closing contact first.
            let dimension = n / m;
            let mut speeds = approach.clone();
            let mut impulses = vec![0.0; n];
            let mut sequence = vec![];
            let slowest = 1e-10 * speeds.iter().fold(0.0f64, |s, u| s.max(u.abs()));
            while sequence.len() < 200 {
                let (mut worst, mut speed) = (usize::MAX, -slowest);
                (0..m).for_each(|i| {
                    if speeds[i] < speed {
                        (worst, speed) = (i, speeds[i]);
                    }
                });
                if worst == usize::MAX {
                    break;
                }
                let mut rows = [worst; 3];
                (0..dimension - 1).for_each(|k| rows[k] = m + worst * (dimension - 1) + k);
                let mut k = [[0.0; 3]; 3];
                let mut u = [0.0; 3];
                for i in 0..dimension {
                    u[i] = speeds[rows[i]];
                    (0..dimension).for_each(|j| k[i][j] = matrix[rows[i] * n + rows[j]]);
                }
                let (mu, e) = (case.friction[worst], case.restitution[worst]);
                let p = if dimension == 2 {
                    let p = crate::collision::collide_contact::<carom_math::Planar>(&k, mu, e, nalgebra::Vector2::new(u[0], u[1]), 1e-13);
                    p.ok().map(|p| [p.impulse.x, p.impulse.y, 0.0])?
                } else {
                    let p = crate::collision::collide_contact::<carom_math::Spatial>(&k, mu, e, nalgebra::Vector3::from(u), 1e-13);
                    p.ok().map(|p| [p.impulse.x, p.impulse.y, p.impulse.z])?
                };
                for i in 0..dimension {
                    impulses[rows[i]] += p[i];
                    (0..n).for_each(|row| speeds[row] += matrix[row * n + rows[i]] * p[i]);
                }
                sequence.push((worst, e));
            }
            let decisions = sequence.iter().map(|s| s.0).collect();
            let mut own = ImpactDerivative::new();
            let switches = derivative.unwrap_or(&mut own).prepare_sequence(&input, &sequence, 1e-10)?;
            Some((impulses, decisions, switches))
        }
        Tested::Newton(cone) => {
            let t = n / m - 1;
            let place = |row: usize| if row < m { row * (1 + t) } else { ((row - m) / t) * (1 + t) + 1 + (row - m) % t };
            let (mut packed, mut free) = (vec![0.0; n * n], vec![0.0; n]);
            for i in 0..n {
                free[place(i)] = approach[i];
                (0..n).for_each(|j| packed[place(i) * n + place(j)] = matrix[i * n + j]);
            }
            (0..m).for_each(|i| free[place(i)] += case.restitution[i] * approach[i].min(0.0));
            let blocks: Vec<Block> = case.friction.iter().map(|&friction| Block::Contact { friction }).collect();
            let mut l = vec![0.0; n];
            let problem = Problem { tangents: t, blocks: &blocks, matrix: &packed, free: &free, cone };
            if !ContactSolver::new().solve(&problem, None, &mut l).is_solved() {
                return None;
            }
            let impulses: Vec<f64> = (0..n).map(|i| l[place(i)]).collect();
            let mut own = ImpactDerivative::new();
            let derivative = derivative.unwrap_or(&mut own);
            let switches = derivative.prepare_newton(&input, cone, &impulses)?;
            let kind = |mode: &crate::contact::dense::contact_derivative::Mode| match mode {
                crate::contact::dense::contact_derivative::Mode::Open => 0,
                crate::contact::dense::contact_derivative::Mode::Stick => 1,
                _ => 2,
            };
            let decisions = derivative.newton.modes().iter().map(kind).collect();
            Some((impulses, decisions, switches))
        }
    }
}

/// Compares tangent, differences and adjoint over random impacts; returns how many differences were compared and the worst of them.
fn compare(law: Tested, tangents: usize, count: u64, limit: f64) -> (usize, f64) {
    let (mut compared, mut worst) = (0, 0.0f64);
    let mut derivative = ImpactDerivative::new();
    let count = if std::env::var("CAROM_FULL").is_ok_and(|v| v == "1") { FULL * count } else { count };
    for seed in 0..count {
        let case = Case::random(seed, tangents);
        let Some((impulses, decisions, switches)) = forward(&case, law, Some(&mut derivative)) else { continue };
        if impulses.iter().all(|l| *l == 0.0) {
            continue;
        }
        let change = case.change(seed);
        let mut dl = vec![0.0; impulses.len()];
        derivative.tangent(&change, &mut dl);
        // The transpose.
        let mut random = Random::new(seed + 77);
        let l_bar: Vec<f64> = impulses.iter().map(|_| random.next()).collect();
        let mut bar = ImpactChange::default();
        derivative.adjoint(&l_bar, &mut bar);
        let pairs = [
            (&bar.matrix, &change.matrix),
            (&bar.approach, &change.approach),
            (&bar.restitution, &change.restitution),
            (&bar.friction, &change.friction),
        ];
        let (left, right) = (dot(&l_bar, &dl), pairs.iter().map(|(a, b)| dot(a, b)).sum::<f64>());
        let size: f64 = pairs.iter().map(|(a, b)| a.iter().zip(b.iter()).map(|(x, y)| (x * y).abs()).sum::<f64>()).sum();
        assert!((left - right).abs() <= 1e-12 * (size + left.abs()), "{law:?}, seed {seed}: {left} against {right}");
        let n = impulses.len();
        assert!((0..n).all(|i| (0..n).all(|j| bar.matrix[i * n + j] == bar.matrix[j * n + i])));
        if switches.total() > 0 {
            continue;
        }
        let mut best = None;
        for step in STEPS {
            let ends = [1.0, -1.0, 2.0, -2.0].map(|s| forward(&case.moved(seed, s * step), law, None));
            if ends.iter().any(|end| end.as_ref().is_none_or(|end| end.1 != decisions)) {
                continue;
            }
            let at = |k: usize, i: usize| ends[k].as_ref().map_or(f64::NAN, |end| end.0[i]);
            let error =
                (0..n).map(|i| ((8.0 * (at(0, i) - at(1, i)) - (at(2, i) - at(3, i))) / (12.0 * step) - dl[i]).abs()).fold(0.0, f64::max);
            let error = error / (1.0 + carom_math::dense::max_abs(&dl));
            best = Some(best.map_or(error, |b: f64| b.min(error)));
        }
        let Some(best) = best else { continue };
        compared += 1;
        worst = worst.max(best);
        assert!(best < limit, "{law:?}, seed {seed}: {best:e}, {switches:?}, {decisions:?}");
    }
    println!("{law:?} with {tangents} tangents: {compared} compared, worst {worst:e}");
    (compared, worst)
}

#[test]
fn reflections_move_as_their_differences() {
    for tangents in 0..3 {
        assert!(compare(Tested::Blend(Law::Reflections), tangents, 250, 1e-7).0 > 100);
    }
}

#[test]
fn pairwise_reflections_move_as_their_differences() {
    for (k, order) in [Order::Lexicographic, Order::Cyclic, Order::Random, Order::Worst].into_iter().enumerate() {
        assert!(compare(Tested::Blend(Law::GaussSeidel { order, seed: 5 }), k % 3, 150, 1e-7).0 > 60);
    }
}

#[test]
fn sequences_of_collisions_move_as_their_differences() {
    assert!(compare(Tested::Chain, 1, 150, 1e-7).0 > 60);
    assert!(compare(Tested::Chain, 2, 60, 1e-6).0 > 20);
}

#[test]
fn newton_restitution_moves_as_its_differences() {
    assert!(compare(Tested::Newton(Cone::Round), 1, 150, 1e-6).0 > 60);
    assert!(compare(Tested::Newton(Cone::Round), 2, 150, 1e-6).0 > 60);
    assert!(compare(Tested::Newton(Cone::Polyhedral(6)), 2, 100, 1e-6).0 > 40);
}

/// Balls in a row, all of mass 1: Jacobian of the velocities after the impact.
fn row_of_balls(velocity: &[f64], restitution: f64, law: Law) -> (Vec<Vec<f64>>, Vec<f64>, Vec<f64>, Switches) {
    let d = velocity.len();
    let m = d - 1;
    let mut rows = vec![0.0; m * d];
    for i in 0..m {
        rows[i * d + i] = -1.0;
        rows[i * d + i + 1] = 1.0;
    }
    let case = Case {
        contacts: m,
        freedoms: d,
        rows,
        inv_mass: vec![1.0; d],
        velocity: velocity.to_vec(),
        restitution: vec![restitution; m],
        friction: vec![0.0; m],
        opposed: false,
    };
    let mut derivative = ImpactDerivative::new();
    let (impulses, _, switches) = forward(&case, Tested::Blend(law), Some(&mut derivative)).unwrap();
    let mut jacobian = vec![];
    let mut change = ImpactChange::zero(m, m);
    let mut dl = vec![0.0; m];
    for j in 0..d {
        change.approach = (0..m).map(|i| case.rows[i * d + j]).collect();
        derivative.tangent(&change, &mut dl);
        let mut column: Vec<f64> = (0..d).map(|k| (0..m).map(|i| case.rows[i * d + k] * dl[i]).sum()).collect();
        column[j] += 1.0;
        jacobian.push(column);
    }
    change = ImpactChange::zero(m, m);
    change.restitution.fill(1.0);
    derivative.tangent(&change, &mut dl);
    let slope = (0..d).map(|k| (0..m).map(|i| case.rows[i * d + k] * dl[i]).sum()).collect();
    (jacobian, slope, case.after(&impulses), switches)
}

#[test]
fn closed_forms() {
    // Two equal elastic balls exchange their velocities: the matrix of derivatives is (0, 1; 1, 0).
    let (jacobian, slope, after, switches) = row_of_balls(&[1.0, 0.0], 1.0, Law::Reflections);
    assert!(after[0].abs() < 1e-15 && (after[1] - 1.0).abs() < 1e-15);
    assert!([0.0, 1.0, 1.0, 0.0].iter().zip(jacobian.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-15), "{jacobian:?}");
    // One-sided in e: v = ((1 - e)/2, (1 + e)/2).
    assert!((slope[0] + 0.5).abs() < 1e-15 && (slope[1] - 0.5).abs() < 1e-15);
    assert_eq!((switches.total(), switches.restitution), (0, 1));
    // Inelastic: both leave with the mean; the slope in e is the same, from the other side.
    let (jacobian, slope, ..) = row_of_balls(&[1.0, 0.0], 0.0, Law::Reflections);
    assert!(jacobian.iter().flatten().all(|x| (x - 0.5).abs() < 1e-15));
    assert!((slope[0] + 0.5).abs() < 1e-15 && (slope[1] - 0.5).abs() < 1e-15);
    // In between.
    let (_, slope, ..) = row_of_balls(&[1.0, 0.0], 0.3, Law::Reflections);
    assert!((slope[0] + 0.5).abs() < 1e-15);
    // A cradle passes the velocity of the first ball on to the last, and stands at a switch: the others only touch.
    for law in [Law::Reflections, Law::GaussSeidel { order: Order::Lexicographic, seed: 0 }] {
        let (jacobian, _, after, switches) = row_of_balls(&[1.0, 0.0, 0.0, 0.0, 0.0], 1.0, law);
        assert!((after[4] - 1.0).abs() < 1e-14);
        assert!((0..5).all(|k| (jacobian[0][k] - if k == 4 { 1.0 } else { 0.0 }).abs() < 1e-13), "{jacobian:?}");
        assert!(switches.sequence > 0);
    }
    // Apart from each other they are not at a switch, and equal elastic balls permute their velocities.
    let (jacobian, _, after, switches) = row_of_balls(&[1.0, 0.3, 0.1], 1.0, Law::GaussSeidel { order: Order::Lexicographic, seed: 0 });
    assert!((after[2] - 1.0).abs() < 1e-14 && switches.total() == 0, "{after:?}, {switches:?}");
    assert!((jacobian[0][2] - 1.0).abs() < 1e-14 && (jacobian[2][0] - 1.0).abs() < 1e-14 && (jacobian[1][1] - 1.0).abs() < 1e-14);
}

#[test]
fn locked_contacts_stay_locked() {
    // A ball between two walls that does not fit, struck from the side by a free ball: rows 0 and 1 are opposite.
    let case = Case {
        contacts: 3,
        freedoms: 4,
        rows: vec![1.0, 0.2, 0.0, 0.0, -1.0, -0.2, 0.0, 0.0, -0.3, -1.0, 0.4, 1.0],
        inv_mass: vec![1.0, 1.0, 2.0, 0.7],
        velocity: vec![0.4, 0.5, -0.1, -1.0],
        restitution: vec![0.5, 0.5, 0.8],
        friction: vec![0.0; 3],
        opposed: true,
    };
    let law = Tested::Blend(Law::Reflections);
    let mut derivative = ImpactDerivative::new();
    let (impulses, decisions, _) = forward(&case, law, Some(&mut derivative)).unwrap();
    assert!(decisions.windows(2).any(|w| w == [0, 1]), "the walls lock the ball: {decisions:?}");
    let change = case.change(3);
    let mut dl = vec![0.0; 3];
    derivative.tangent(&change, &mut dl);
    // Velocities have derivatives, impulses between the walls may not.
    let h = 1e-5;
    let shifted = |s: f64| {
        let l: Vec<f64> = impulses.iter().zip(&dl).map(|(l, d)| l + s * d).collect();
        case.moved(3, s).after(&l)
    };
    let real = |s: f64| {
        let case = case.moved(3, s);
        case.after(&forward(&case, law, None).unwrap().0)
    };
    let (a, b, c, d) = (shifted(h), shifted(-h), real(h), real(-h));
    for i in 0..4 {
        assert!(((a[i] - b[i]) - (c[i] - d[i])).abs() / (2.0 * h) < 1e-7, "component {i}: {} against {}", a[i] - b[i], c[i] - d[i]);
    }
}
