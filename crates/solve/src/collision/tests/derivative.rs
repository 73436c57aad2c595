//! Derivatives of collisions against differences of the law itself, closed forms, and their transpose.

use super::{Random, count};
use crate::collision::{
    CollisionChange, CollisionDerivative, ContactMatrix, Mode, Outcome, collide_contact, differentiate, differentiate_contact,
};
use carom_math::{Planar, Spatial};
use nalgebra::{Matrix3, Vector2, Vector3};

/// Steps of the differences; the best of them counts.
const STEPS: [f64; 5] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7];

#[derive(Clone, Copy)]
struct Case {
    dimension: usize,
    matrix: ContactMatrix,
    friction: f64,
    restitution: f64,
    velocity: [f64; 3],
}

impl Case {
    fn collide(&self, tolerance: f64) -> Outcome<[f64; 3]> {
        let u = self.velocity;
        if self.dimension == 2 {
            collide_contact::<Planar>(&self.matrix, self.friction, self.restitution, Vector2::new(u[0], u[1]), tolerance)
                .unwrap()
                .map(|v| [v.x, v.y, 0.0])
        } else {
            collide_contact::<Spatial>(&self.matrix, self.friction, self.restitution, Vector3::from(u), tolerance)
                .unwrap()
                .map(|v| [v.x, v.y, v.z])
        }
    }

    fn derivative(&self) -> CollisionDerivative {
        differentiate(self.dimension, &self.matrix, self.friction, self.restitution, self.velocity, 1e-10).unwrap()
    }

    fn moved(&self, change: &CollisionChange, s: f64) -> Case {
        let mut case = *self;
        case.friction += s * change.friction;
        case.restitution += s * change.restitution;
        for i in 0..3 {
            case.velocity[i] += s * change.velocity[i];
            for j in 0..3 {
                case.matrix[i][j] += s * change.matrix[i][j];
            }
        }
        case
    }

    /// Best relative error of the slope over the steps, among those that stay on the branch; none if no step does.
    fn error(&self, change: &CollisionChange) -> Option<f64> {
        let tangent = self.derivative().tangent(change);
        let here = self.collide(1e-13);
        let size = tangent.iter().fold(0.0f64, |s, p| s.max(p.abs())) + here.impulse.iter().fold(0.0f64, |s, p| s.max(p.abs()));
        let mut best = None;
        for step in STEPS {
            let ends = [2.0, 1.0, -1.0, -2.0].map(|s| self.moved(change, s * step).collide(1e-13));
            if ends.iter().any(|end| end.branch != here.branch || end.phases != here.phases) {
                continue;
            }
            let slope = |i: usize| {
                let [b, a, c, d] = [0, 1, 2, 3].map(|k: usize| ends[k].impulse[i]);
                (8.0 * (a - c) - (b - d)) / (12.0 * step)
            };
            let error = (0..3).map(|i| (slope(i) - tangent[i]).abs()).fold(0.0, f64::max) / size;
            best = Some(best.map_or(error, |b: f64| b.min(error)));
        }
        best
    }
}

fn random_case(random: &mut Random, dimension: usize) -> (Case, CollisionChange) {
    let full = random.definite3();
    let mut matrix = [[0.0; 3]; 3];
    let mut change = CollisionChange { friction: random.between(-1.0, 1.0), restitution: random.between(-1.0, 1.0), ..Default::default() };
    for i in 0..dimension {
        for j in 0..dimension {
            matrix[i][j] = full[(i, j)];
        }
        change.velocity[i] = random.between(-1.0, 1.0);
        for j in 0..=i {
            change.matrix[i][j] = random.between(-1.0, 1.0) * (full[(i, i)] * full[(j, j)]).sqrt() * 0.1;
            change.matrix[j][i] = change.matrix[i][j];
        }
    }
    let slip = random.decades(-1.5, 0.3);
    let mut velocity = [slip * random.between(-1.0, 1.0), slip * random.between(-1.0, 1.0), 0.0];
    velocity[dimension - 1] = -random.decades(-1.0, 0.0);
    let case = Case { dimension, matrix, friction: random.decades(-1.5, 0.5), restitution: random.between(0.05, 0.95), velocity };
    (case, change)
}

#[test]
fn planar_collisions_move_as_their_differences() {
    let mut random = Random::new(11);
    let (mut compared, mut branches, mut worst) = (0, std::collections::BTreeSet::new(), 0.0f64);
    for _ in 0..count(600, 20_000) {
        let (case, change) = random_case(&mut random, 2);
        let derivative = case.derivative();
        let value = case.collide(1e-10).impulse;
        assert!((0..2).all(|i| (derivative.impulse[i] - value[i]).abs() < 1e-13 * value[1]), "one text, one value");
        let Some(error) = case.error(&change) else { continue };
        if derivative.switches.any() {
            continue;
        }
        compared += 1;
        branches.insert(case.collide(1e-10).branch.label());
        worst = worst.max(error);
        assert!(error < 1e-8, "{error:e} on {}", case.collide(1e-10).branch);
    }
    println!("{compared} planar collisions on {branches:?}, worst {worst:e}");
    assert!(compared > 400 && branches.len() >= 6);
}

#[test]
fn spatial_collisions_move_as_their_differences() {
    let mut random = Random::new(12);
    let (mut compared, mut branches, mut worst, mut again, mut loose) = (0, std::collections::BTreeSet::new(), 0.0f64, 0, 0);
    for trial in 0..count(120, 5_000) {
        let (case, change) = random_case(&mut random, 3);
        let derivative = case.derivative();
        let value = case.collide(1e-10).impulse;
        let size = value.iter().fold(0.0f64, |s, p| s.max(p.abs()));
        assert!((0..3).all(|i| (derivative.impulse[i] - value[i]).abs() < 1e-8 * size), "the value is that of the law");
        let Some(error) = case.error(&change) else { continue };
        if derivative.switches.any() {
            continue;
        }
        compared += 1;
        let outcome = case.collide(1e-10);
        again += usize::from(outcome.phases > 2);
        branches.insert(outcome.branch.label());
        worst = worst.max(error);
        loose += usize::from(error >= 1e-8);
        assert!(error < 1e-6, "trial {trial}: {error:e} on {} with {} phases", outcome.branch, outcome.phases);
    }
    // Paths that run long beside a repelling ray magnify every change, that of rounding in the differences too.
    assert!(loose * 500 <= compared, "{loose} of {compared} above 1e-8");
    println!("{compared} spatial collisions on {branches:?} ({again} with a second compression, {loose} above 1e-8), worst {worst:e}");
    assert!(compared > 80 && branches.len() >= 4);
}

#[test]
fn the_adjoint_is_the_transpose() {
    let mut random = Random::new(13);
    for trial in 0..200 {
        let (case, change) = random_case(&mut random, 2 + trial % 2);
        let derivative = case.derivative();
        let bar = [random.between(-1.0, 1.0), random.between(-1.0, 1.0), if case.dimension == 3 { random.between(-1.0, 1.0) } else { 0.0 }];
        let (forward, back) = (derivative.tangent(&change), derivative.adjoint(bar));
        let (mut right, mut size) = (0.0, 0.0f64);
        let mut add = |x: f64| {
            right += x;
            size += x.abs();
        };
        add(back.friction * change.friction);
        add(back.restitution * change.restitution);
        for i in 0..3 {
            add(back.velocity[i] * change.velocity[i]);
            for j in 0..3 {
                add(back.matrix[i][j] * change.matrix[i][j]);
                assert_eq!(back.matrix[i][j], back.matrix[j][i]);
            }
        }
        let left: f64 = (0..3).map(|i| forward[i] * bar[i]).sum();
        assert!((left - right).abs() <= 1e-13 * (size + 1.0), "{left} against {right}");
    }
}

/// The example of Baber 2011, with the slope in e of its reference value, and beside the jump the flag.
#[test]
fn the_published_example_has_its_slope_and_its_jump() {
    let k: ContactMatrix = [[20.0, -23.0, 4.0], [-23.0, 31.0, -7.0], [4.0, -7.0, 4.0]];
    let matrix = Matrix3::from_fn(|i, j| k[i][j]);
    let at = |e: f64| differentiate_contact::<Spatial>(&k, 0.5, e, Vector3::new(630.0, -780.0, -0.22), 1e-10).unwrap();
    let end = at(0.9);
    let slope = end.tangent(&CollisionChange { restitution: 1.0, ..Default::default() });
    let velocity = matrix * Vector3::from(slope);
    assert!((velocity - Vector3::new(-18.587, 20.452, 5.142)).amax() < 5e-4, "{velocity}");
    let case = Case { dimension: 3, matrix: k, friction: 0.5, restitution: 0.9, velocity: [630.0, -780.0, -0.22] };
    for change in [
        CollisionChange { restitution: 0.1, ..Default::default() },
        CollisionChange { velocity: [1.0, 0.0, 0.0], ..Default::default() },
        CollisionChange { velocity: [0.0, 0.0, 0.01], ..Default::default() },
        CollisionChange { friction: 0.01, ..Default::default() },
    ] {
        assert!(case.error(&change).unwrap() < 1e-8, "{change:?}: {:?}", case.error(&change));
    }
    assert!(!end.switches.any());
    let critical = (0.368_351_f64 / 1.398_318).sqrt();
    let jump = (0..2000).map(|i| critical - 1e-3 + 1e-6 * i as f64).filter(|&e| at(e).switches.critical).count();
    assert!(jump > 0, "the jump is seen");
}

#[test]
fn closed_forms() {
    // Without friction and coupling Newton's rule: p_n = -(1 + e) u_n / d.
    for dimension in [2, 3] {
        let mut matrix = [[0.0; 3]; 3];
        (0..dimension).for_each(|i| matrix[i][i] = 2.0);
        let mut velocity = [0.4, 0.3, 0.0];
        velocity[dimension - 1] = -1.5;
        let n = dimension - 1;
        let case = Case { dimension, matrix, friction: 0.0, restitution: 0.6, velocity };
        let derivative = case.derivative();
        assert!((derivative.impulse[n] - 1.2).abs() < 1e-12);
        let mut bar = [0.0; 3];
        bar[n] = 1.0;
        let back = derivative.adjoint(bar);
        assert!((back.restitution - 0.75).abs() < 1e-10 && (back.velocity[n] + 0.8).abs() < 1e-10, "{back:?}");
        assert!((back.matrix[n][n] + 0.6).abs() < 1e-10 && back.friction.abs() < 1e-10);
        // Friction begins against the slip: p_t = -mu p_n t.
        let slip = if dimension == 3 { [0.8, 0.6] } else { [1.0, 0.0] };
        let start = derivative.adjoint([1.0, 0.0, 0.0]);
        assert!((start.friction + 1.2 * slip[0]).abs() < 1e-9, "{}", start.friction);
        // Nor does it hold what does not slip, theory (16.21): no tangential impulse, whatever moves, and nothing to decide.
        let mut still = case;
        still.velocity[..n].fill(0.0);
        let still = still.derivative();
        assert_eq!(still.adjoint([1.0, 0.0, 0.0]).velocity, [0.0; 3]);
        assert_eq!(still.adjoint([1.0, 0.0, 0.0]).matrix, [[0.0; 3]; 3]);
        assert!((still.adjoint(bar).velocity[n] + 0.8).abs() < 1e-12 && !still.switches.any());
        // e = 0: the slope in e is that of u_n' = e |u_n|.
        let plastic = Case { restitution: 0.0, ..case }.derivative().adjoint(bar);
        assert!((plastic.restitution - 0.75).abs() < 1e-9, "{}", plastic.restitution);
        let sticky = Case { restitution: 0.0, friction: 2.0, ..case };
        assert_eq!(sticky.collide(1e-10).mode, Mode::Stick);
        assert!((sticky.derivative().adjoint(bar).restitution - 0.75).abs() < 1e-9);
    }
    // A start at rest that friction holds: any slip is removed, p_t = -u_t / M, and coupling feeds back on the normal.
    let mut random = Random::new(14);
    for trial in 0..200 {
        let (mut case, mut change) = random_case(&mut random, 2 + trial % 2);
        case.friction = 5.0;
        case.velocity[..case.dimension - 1].fill(0.0);
        if case.collide(1e-10).mode != Mode::Stick || case.derivative().switches.any() {
            continue;
        }
        change.restitution = 0.0;
        let tangent = case.derivative().tangent(&change);
        let (plus, minus) = (case.moved(&change, 1e-6).collide(1e-13), case.moved(&change, -1e-6).collide(1e-13));
        let size = tangent.iter().fold(1e-3f64, |s, p| s.max(p.abs()));
        for i in 0..case.dimension {
            let slope = (plus.impulse[i] - minus.impulse[i]) / 2e-6;
            assert!((slope - tangent[i]).abs() < 2e-5 * size, "trial {trial}, component {i}: {slope} against {}", tangent[i]);
        }
    }
    // What does not collide does not answer.
    let apart = Case {
        dimension: 2,
        matrix: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0; 3]],
        friction: 0.3,
        restitution: 0.5,
        velocity: [1.0, 0.2, 0.0],
    };
    assert_eq!(apart.derivative().adjoint([1.0, 1.0, 0.0]), CollisionChange::default());
    assert!(Case { velocity: [1.0, -1e-9, 0.0], ..apart }.derivative().switches.grazing);
}

/// Figures: microseconds of a collision in space and of its derivative.
#[test]
#[ignore = "prints figures"]
fn figures() {
    let mut random = Random::new(15);
    let cases: Vec<Case> = (0..500).map(|_| random_case(&mut random, 3).0).collect();
    let time = |work: &dyn Fn(&Case)| {
        let start = std::time::Instant::now();
        cases.iter().for_each(work);
        start.elapsed().as_secs_f64() * 1e6 / cases.len() as f64
    };
    let forward = time(&|case| {
        std::hint::black_box(case.collide(1e-10).impulse);
    });
    let derivative = time(&|case| {
        std::hint::black_box(case.derivative().impulse);
    });
    println!("collision {forward:.1} us, with derivative {derivative:.1} us");
}

/// On a ray nothing turns in value, but a change does: a plane in space, struck a little out of the plane.
#[test]
fn a_start_on_a_ray_knows_what_lies_beside_it() {
    let mut random = Random::new(16);
    let mut compared = 0;
    for trial in 0..60 {
        let (mut case, change) = random_case(&mut random, 3);
        // No coupling of the second tangent: the first one and the normal are a plane.
        for k in [0, 2] {
            case.matrix[1][k] = 0.0;
            case.matrix[k][1] = 0.0;
        }
        case.velocity[1] = 0.0;
        if case.derivative().switches.any() {
            continue;
        }
        if let Some(error) = case.error(&change) {
            compared += 1;
            assert!(error < 1e-7, "trial {trial}: {error:e} on {}", case.collide(1e-10).branch);
        }
    }
    assert!(compared > 40, "{compared}");
}
