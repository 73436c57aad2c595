//! Two roads to one answer: large groups by sweeps, over bodies and by the interior point over contacts; and the energy of inexact operators.

use super::support::*;
use crate::impact::*;
use carom_solve::impact::cone::ConeSolver;
use carom_solve::impact::driver::Driver;
use carom_solve::impact::reflection::Reflection;
use carom_solve::impact::*;

/// Normal rows with a random velocity.
fn problem(which: usize, side: usize, seed: u64) -> (MassMatrix, SparseRows, Vec<f64>) {
    let (mass, normals) = match which {
        0 => brick_wall(side, side),
        1 => disc_pile(side, side),
        _ => {
            let (mass, normals, _) = ball_packing(side.div_ceil(2));
            (mass, normals)
        }
    };
    let mut random = Random(seed);
    let velocity = (0..mass.dimension()).map(|_| random.within(-1.0, 1.0)).collect();
    (mass, normals, velocity)
}

#[test]
fn over_bodies_and_over_contacts_large_groups_have_one_answer() {
    let mut compared = 0;
    for seed in 0..12 {
        let (mass, normals, velocity) = problem(seed as usize % 3, 10, seed);
        let m = normals.len();
        let white = normals.whitened(&mass);
        let gram = white.gram();
        let mut known = Gram::default();
        known.load(&gram.view(), m);
        let alone = known.clone();
        known.load_roots(&white);
        let everyone: Vec<usize> = (0..m).collect();
        let linear: Vec<f64> = (0..m).map(|i| normals.dot(i, &velocity) * known.inverse_scale(i)).collect();
        for shift in [0.0, 1e-6] {
            // Each road by itself: the interior point over contacts, that over bodies, and what is taken.
            let mut matrix = carom_math::sparse_cholesky::SparseSymmetric { starts: vec![0], ..Default::default() };
            for i in 0..m {
                let (columns, values) = alone.row(i);
                matrix.columns.extend_from_slice(columns);
                matrix.values.extend(columns.iter().zip(values).map(|(&j, a)| if i == j { a + shift } else { *a }));
                matrix.starts.push(matrix.columns.len());
            }
            let (mut old, mut bodies, mut taken) = (vec![0.0; m], vec![0.0; m], vec![0.0; m]);
            let size = linear.iter().fold(0.0f64, |s, b| s.max(b.abs()));
            let report = carom_solve::impact::nnls::sparse::SparseNnls::default().solve(&matrix, &linear, &mut old);
            let exact = report.residual <= 1e-10 * size;
            compared += usize::from(exact);
            let mut solver = carom_solve::impact::nnls::body::BodyNnls::default();
            solver.system.begin(known.roots(), 1);
            (0..m).for_each(|i| solver.system.add_block(known.roots(), i, known.inverse_scale(i)));
            solver.system.analyse();
            let report = solver.solve(&linear, shift, false, &mut bodies);
            assert_eq!(report.status, carom_solve::impact::nnls::NnlsStatus::Solved, "{seed}");
            let mut cone = ConeSolver::default();
            cone.begin(m);
            assert!(cone.solve(&known, &everyone, &linear, shift, &mut taken), "{seed}");
            for i in 0..m {
                let speed = |x: &[f64]| alone.row_dot(i, x) + shift * x[i];
                for (name, x) in [("bodies", &bodies), ("taken", &taken)] {
                    let gap = (speed(x) - speed(&old)).abs();
                    assert!(!exact || gap <= 1e-8 * size, "{seed}, shift {shift}, {name}: {gap:e}");
                    let miss = x[i].min(speed(x) + linear[i]).abs();
                    assert!(x[i] >= 0.0 && miss <= 1e-9 * size, "{seed}, shift {shift}, {name}: {miss:e}");
                }
            }
        }
    }
    assert!(compared > 12, "{compared}");
}

#[test]
fn friction_of_many_contacts_has_one_answer_with_and_without_bodies() {
    for seed in 0..3 {
        let (mass, normals, tangents) = ball_packing(5);
        let m = normals.len();
        let mut rows = normals.clone();
        rows.append(&tangents);
        let white = rows.whitened(&mass);
        let gram = white.gram();
        let mut random = Random(seed + 3);
        let velocity: Vec<f64> = (0..mass.dimension()).map(|_| random.within(-1.0, 1.0)).collect();
        let approach: Vec<f64> = (0..rows.len()).map(|i| rows.dot(i, &velocity)).collect();
        let speed = (2.0 * mass.energy(&velocity)).sqrt();
        let coefficients = vec![0.4; m];
        let run = |rows: Option<&SparseRows>| {
            let space = ContactSpace { contacts: m, gram: gram.view(), rows, approach: &approach, speed };
            let friction = Some(Friction { coefficients: &coefficients, staggered: false });
            let mut work = Workspace::new();
            let report = resolve(&space, Restitution::Uniform(0.0), friction, &Settings::default(), &mut work).unwrap();
            assert!(report.accurate && report.energy_change < 0.0);
            report.energy_change
        };
        let (with, without) = (run(Some(&white)), run(None));
        // Which impulses carry what redundant contacts share is open, and so are their discs.
        assert!((with - without).abs() <= 1e-3 * without.abs(), "{seed}: {with} {without}");
    }
}

/// Reflections whose least squares are off by a part in ten thousand.
#[derive(Default)]
struct Sloppy(Reflection);

impl Operator for Sloppy {
    fn begin(&mut self, contacts: &Contacts<'_>) {
        self.0.begin(contacts);
    }

    fn choose(&mut self, contacts: &Contacts<'_>, approach: &[f64], application: &mut Application) {
        self.0.choose(contacts, approach, application);
        application.impulses.iter_mut().for_each(|l| *l *= 1.0 + 1e-4);
    }
}

#[test]
fn an_inexact_operator_keeps_the_energy() {
    for seed in 0..6 {
        let (mass, normals, velocity) = problem(seed as usize % 2, 6, seed);
        let m = normals.len();
        let mut gram = Gram::default();
        gram.load(&normals.whitened(&mass).gram().view(), m);
        let approach: Vec<f64> = (0..m).map(|i| normals.dot(i, &velocity) * gram.inverse_scale(i)).collect();
        let speed = (2.0 * mass.energy(&velocity)).sqrt();
        let interrupt = carom_solve::interrupt::Interrupt::default();
        let contacts = Contacts {
            gram: &gram,
            approach: &approach,
            restitution: Restitution::Uniform(1.0),
            threshold: 1e-10 * speed,
            max_iterations: 100_000,
            interrupt: &interrupt,
        };
        let mut impulses = Vec::new();
        let outcome = Driver::<Sloppy>::default().resolve(&contacts, &mut impulses, &mut ());
        assert_eq!(outcome.status, Status::Resolved);
        let energy: f64 = (0..m).map(|i| impulses[i] * (approach[i] + gram.row_dot(i, &impulses) / 2.0)).sum();
        assert!(energy.abs() <= 1e-11 * speed * speed, "{seed}: {energy:e} of {:e}", speed * speed);
        assert!(impulses.iter().any(|&l| l > 0.0));
    }
}

#[test]
fn a_tolerance_leaves_as_much_closing_as_it_allows_and_no_more() {
    let (mass, normals, velocity) = problem(1, 8, 5);
    let m = normals.len();
    let gram = normals.whitened(&mass).gram();
    let approach: Vec<f64> = (0..m).map(|i| normals.dot(i, &velocity)).collect();
    let speed = (2.0 * mass.energy(&velocity)).sqrt();
    let space = ContactSpace { contacts: m, gram: gram.view(), rows: None, approach: &approach, speed };
    let run = |tolerance: f64| {
        let settings = Settings { tolerance, ..Settings::default() };
        resolve(&space, Restitution::Uniform(1.0), None, &settings, &mut Workspace::new()).unwrap()
    };
    let (coarse, fine) = (run(1e-2), run(1e-10));
    assert!(fine.residual <= 1e-10 && coarse.residual <= 1e-2 && coarse.residual > 1e-10, "{:e}", coarse.residual);
}
