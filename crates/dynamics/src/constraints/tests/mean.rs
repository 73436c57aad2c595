//! Mean rows against the changes they promise, over moves of any size.

use super::*;

/// The pose after the Cayley turn of a mean twist over a unit of time, theory (13.3).
fn moved<S: Space>(pose: &Pose<S>, mean: Twist<S>) -> Pose<S> {
    let x = mean.ang.norm();
    pose.advanced(Twist { lin: mean.lin, ang: mean.ang * (2.0 * (0.5 * x).atan() / x) }, 1.0)
}

fn mean_rows<S: Space>(joint: &Joint<S>, a: [&Pose<S>; 2], b: [&Pose<S>; 2]) -> Vec<Row<S>> {
    let mut out = [Row::zero(); MAX_ROWS];
    joint.mean_rows(&Span { start: a[0], end: a[1] }, &Span { start: b[0], end: b[1] }, &mut out);
    out[..joint.row_count()].to_vec()
}

/// Whether a kind fixes the relative orientation, whose error is no product of directions.
fn turns_together(kind: JointKind) -> bool {
    kind.groups().contains(&group::Group::Rotation) || !kind.has_mean_rows()
}

fn changes_are_exact<S: Space>(random: &mut Random) {
    for kind in kinds::<S>().filter(|kind| S::DIM == 2 || !turns_together(*kind)) {
        for _ in 0..runs() {
            let (joint, a, b) = random_joint::<S>(kind, random);
            // A wheel turns by up to 2 atan(1.7) in the move; the planar orientation of welds and sliders is linear in the angle only.
            let size = if turns_together(kind) { 1e-4 } else { 1.0 };
            let (va, vb) = (random.twist::<S>(size), random.twist::<S>(size));
            let (a1, b1) = (moved(&a, va), moved(&b, vb));
            let (start, end) = (errors(&joint, &a, &b), errors(&joint, &a1, &b1));
            for (i, row) in mean_rows(&joint, [&a, &a1], [&b, &b1]).iter().enumerate() {
                let (change, promised) = (end[i] - start[i], row.speed(&va, &vb));
                assert!((change - promised).abs() < 1e-11, "{kind:?} row {i}: {change} {promised}");
            }
        }
    }
}

#[test]
fn mean_rows_give_changes_exactly() {
    let random = &mut Random(21);
    changes_are_exact::<Planar>(random);
    changes_are_exact::<Spatial>(random);
}

/// The force of a spring over a move does exactly the work that its energy loses.
fn springs_keep_energy<S: Space>(random: &mut Random) {
    for _ in 0..runs() {
        let (mut joint, a, b) = random_joint::<S>(JointKind::Spring, random);
        joint.measures.damping = 0.0;
        let (va, vb) = (random.twist::<S>(1.0), random.twist::<S>(1.0));
        let (a1, b1) = (moved(&a, va), moved(&b, vb));
        let energy = |a: &Pose<S>, b: &Pose<S>| joint.spring(a, b).map_or(0.0, |spring| spring.energy());
        let spring = joint.mean_spring(&Span { start: &a, end: &a1 }, &Span { start: &b, end: &b1 }).unwrap();
        let work = spring.force(0.0) * spring.row.speed(&va, &vb);
        let gained = energy(&a1, &b1) - energy(&a, &b);
        assert!((gained + work).abs() < 1e-11 * (1.0 + gained.abs()), "{gained} {work}");
    }
}

#[test]
fn mean_springs_keep_energy() {
    let random = &mut Random(22);
    springs_keep_energy::<Planar>(random);
    springs_keep_energy::<Spatial>(random);
}

/// Where the relative orientation is held at both ends the two turns are one, and the mean rows do not see it.
#[test]
fn bodies_that_turn_together_do_no_work() {
    let random = &mut Random(23);
    for kind in [JointKind::Slider, JointKind::Weld] {
        for _ in 0..runs() {
            let (joint, a, b) = random_joint::<Spatial>(kind, random);
            let turn = random.twist::<Spatial>(1.0);
            let (a1, b1) = (moved(&a, turn), moved(&b, turn));
            for row in &mean_rows(&joint, [&a, &a1], [&b, &b1])[joint.row_count() - 3..] {
                assert!(row.speed(&turn, &turn).abs() < 1e-14 && row.a.ang.norm() > 0.1);
            }
        }
    }
}

/// The power of mean rows with given weights.
fn power<S: Space>(joint: &Joint<S>, function: JointFunction, poses: &[Pose<S>; 4], y: &[f64], v: &[Twist<S>; 2]) -> f64 {
    let [a, a1, b, b1] = poses;
    let (span_a, span_b) = (Span { start: a, end: a1 }, Span { start: b, end: b1 });
    let rows = match function {
        JointFunction::Coordinate => vec![joint.mean_coordinate_row(&span_a, &span_b)],
        JointFunction::SpringLength => vec![joint.mean_spring(&span_a, &span_b).unwrap().row],
        _ => mean_rows(joint, [a, a1], [b, b1]),
    };
    rows.iter().zip(y).map(|(row, y)| y * row.speed(&v[0], &v[1])).sum()
}

fn gradients_are_exact<S: Space>(random: &mut Random) {
    for kind in kinds::<S>() {
        for function in [JointFunction::Equalities, JointFunction::Coordinate, JointFunction::SpringLength] {
            let (joint, a, b) = random_joint::<S>(kind, random);
            if joint.function_count(function) == 0 {
                continue;
            }
            let (va, vb) = (random.twist::<S>(1.0), random.twist::<S>(1.0));
            let poses = [a, moved(&a, va), b, moved(&b, vb)];
            let y: Vec<f64> = (0..MAX_ROWS).map(|_| random.number()).collect();
            let v = [random.twist::<S>(1.0), random.twist::<S>(1.0)];
            let change: [Twist<S>; 4] = [0; 4].map(|_| random.twist::<S>(1.0));
            let tangent: Vec<f64> = (0..joint.parameter_count()).map(|_| random.number()).collect();
            let ends = [[&poses[0], &poses[2]], [&poses[1], &poses[3]]];
            let [start, end] = joint.mean_power_gradient(
                function,
                &Span { start: ends[0][0], end: ends[1][0] },
                &Span { start: ends[0][1], end: ends[1][1] },
                &y,
                &v,
            );
            let mut exact = 0.0;
            for (gradient, [of_a, of_b]) in [(start, [0, 2]), (end, [1, 3])] {
                exact += gradient.bodies[0].power(&change[of_a]) + gradient.bodies[1].power(&change[of_b]);
                let mut parameters = vec![0.0; tangent.len()];
                gradient.write_parameters(&joint, &mut parameters);
                exact += parameters.iter().zip(&tangent).map(|(g, t)| g * t).sum::<f64>();
            }
            let at = |s: f64| {
                let mut changed = poses;
                changed.iter_mut().zip(&change).for_each(|(pose, by)| *pose = pose.advanced(*by, s));
                let scaled: Vec<f64> = tangent.iter().map(|t| s * t).collect();
                power(&joint.perturbed(&scaled), function, &changed, &y, &v)
            };
            let error = [1e-4, 1e-5, 1e-6].map(|h| ((at(h) - at(-h)) / (2.0 * h) - exact).abs() / (1.0 + exact.abs()));
            let best = error.iter().fold(f64::INFINITY, |m, e| m.min(*e));
            assert!(best < 1e-7, "{kind:?} {function:?}: {best:e}, derivative {exact}");
        }
    }
}

#[test]
fn gradients_of_mean_rows_agree_with_differences() {
    let random = &mut Random(23);
    for _ in 0..runs() {
        gradients_are_exact::<Planar>(random);
        gradients_are_exact::<Spatial>(random);
    }
}
