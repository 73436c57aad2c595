//! Derivatives of errors and rows against differences over five step sizes, and the identities that need no step.

use super::*;

/// Step sizes of the central differences; the best of them counts.
const STEPS: [f64; 5] = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6];
/// Largest relative error of the best step.
const AGREEMENT: f64 = 1e-8;
/// Largest relative error of an identity without a step.
const IDENTITY: f64 = 1e-12;
/// Shortest distance \[m\] at which the curvature 1/length is still small enough for differences.
const SHORTEST: f64 = 0.2;

fn cases() -> usize {
    if std::env::var("CAROM_FULL").is_ok_and(|v| v == "1") { 200 } else { 8 }
}

/// A joint with limits, a motor and friction where the kind takes them, at poses that violate it by the given size.
fn posed<S: Space>(kind: JointKind, violation: f64, random: &mut Random) -> (Joint<S>, Pose<S>, Pose<S>) {
    loop {
        let (mut joint, a, b) = random_joint::<S>(kind, random);
        if joint.has_coordinate() {
            joint.limits = Some([-1.0, 1.5]);
            joint.motor = Some(Motor::Position { position: 0.3, stiffness: 4.0, damping: 2.0, max: 9.0 });
            joint.friction = 0.7;
        }
        let (a, b) = (a.advanced(random.twist(violation), 1.0), b.advanced(random.twist(violation), 1.0));
        if !kind.keys::<S>().contains(&"anchors") || joint.spring_length(&a, &b) > SHORTEST {
            return (joint, a, b);
        }
    }
}

/// Joint and poses moved by a tangent of all columns.
fn moved<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>, tangent: &[f64]) -> (Joint<S>, Pose<S>, Pose<S>) {
    let twist = |at: usize| Twist { lin: S::Lin::from_slice(&tangent[at..]), ang: S::Ang::from_slice(&tangent[at + S::DIM..]) };
    (joint.perturbed(&tangent[2 * S::DOF..]), a.advanced(twist(0), 1.0), b.advanced(twist(S::DOF), 1.0))
}

fn functions<S: Space>(joint: &Joint<S>) -> Vec<JointFunction> {
    [
        JointFunction::Equalities,
        JointFunction::Coordinate,
        JointFunction::Inequality(0),
        JointFunction::Inequality(1),
        JointFunction::SpringLength,
    ]
    .into_iter()
    .filter(|&function| joint.function_count(function) > 0)
    .collect()
}

/// Values of a function; an angle in space is taken on the turn of its limits, so that it does not jump between the poses of a difference.
fn values<S: Space>(joint: &Joint<S>, function: JointFunction, a: &Pose<S>, b: &Pose<S>, near: f64) -> Vec<f64> {
    match function {
        JointFunction::Equalities => errors(joint, a, b),
        JointFunction::Coordinate => vec![joint.coordinate_near(near, a, b)],
        JointFunction::Inequality(i) => vec![joint.inequality(i, a, b).0],
        JointFunction::SpringLength => vec![joint.spring(a, b).unwrap().length],
    }
}

fn rows_of<S: Space>(joint: &Joint<S>, function: JointFunction, a: &Pose<S>, b: &Pose<S>) -> Vec<Row<S>> {
    match function {
        JointFunction::Equalities => rows(joint, a, b),
        JointFunction::Coordinate => vec![joint.coordinate_row(a, b)],
        JointFunction::Inequality(i) => vec![joint.inequality(i, a, b).1],
        JointFunction::SpringLength => vec![joint.spring(a, b).unwrap().row],
    }
}

fn flat<S: Space>(a: &Wrench<S>, b: &Wrench<S>) -> Vec<f64> {
    [a.lin.as_slice(), a.ang.as_slice(), b.lin.as_slice(), b.ang.as_slice()].concat()
}

/// J' y as 2 DOF numbers.
fn wrench<S: Space>(rows: &[Row<S>], y: &[f64]) -> Vec<f64> {
    let sum = rows.iter().zip(y).fold(Row::<S>::zero(), |sum, (row, &y)| Row { a: sum.a.plus(y, row.a), b: sum.b.plus(y, row.b) });
    flat(&sum.a, &sum.b)
}

/// Worst difference between a matrix and central differences of a vector function of the tangent, relative to the larger of 1 and the
/// matrix; each column takes its best step.
fn against_differences(matrix: &[f64], columns: usize, f: impl Fn(&[f64]) -> Vec<f64>) -> f64 {
    let scale = matrix.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
    let mut worst = 0.0_f64;
    for column in 0..columns {
        let mut best = f64::INFINITY;
        for h in STEPS {
            let at = |t: f64| {
                let mut tangent = vec![0.0; columns];
                tangent[column] = t;
                f(&tangent)
            };
            let (p, m, pp, mm) = (at(h), at(-h), at(2.0 * h), at(-2.0 * h));
            let error = (0..p.len()).fold(0.0_f64, |error, k| {
                let slope = (8.0 * (p[k] - m[k]) - (pp[k] - mm[k])) / (12.0 * h);
                error.max((slope - matrix[k * columns + column]).abs() / scale)
            });
            best = best.min(error);
        }
        worst = worst.max(best);
    }
    worst
}

fn weights(count: usize, random: &mut Random) -> Vec<f64> {
    (0..count).map(|_| random.number()).collect()
}

fn compare<S: Space>(violation: f64, random: &mut Random) -> f64 {
    let mut worst = 0.0_f64;
    for kind in kinds::<S>() {
        for _ in 0..cases() {
            let (joint, a, b) = posed::<S>(kind, violation, random);
            let (n, columns) = (2 * S::DOF, joint.column_count());
            assert!(columns <= MAX_COLUMNS && n <= MAX_POSE_COLUMNS && joint.parameter_count() <= MAX_PARAMETERS);
            for function in functions(&joint) {
                let count = joint.function_count(function);
                let y = weights(count, random);
                let v = [random.twist::<S>(1.0), random.twist::<S>(1.0)];
                let near = joint.coordinate(&a, &b);
                let mut check = |what: &str, error: f64| {
                    assert!(error < AGREEMENT, "{kind:?} {function:?} {what}: {error:e}");
                    worst = worst.max(error);
                };

                // [J | dg/dp] from values.
                let mut by_parameter = vec![0.0; count * joint.parameter_count()];
                joint.parameter_derivative(function, &a, &b, &mut by_parameter);
                let jacobian: Vec<f64> = rows_of(&joint, function, &a, &b)
                    .iter()
                    .zip(by_parameter.chunks_exact(joint.parameter_count()))
                    .flat_map(|(row, parameters)| [flat(&row.a, &row.b), parameters.to_vec()].concat())
                    .collect();
                check(
                    "values",
                    against_differences(&jacobian, columns, |t| {
                        let (joint, a, b) = moved(&joint, &a, &b, t);
                        values(&joint, function, &a, &b, near)
                    }),
                );

                let mut rates = vec![0.0; count * columns];
                joint.rate_derivative(function, &a, &b, &v, &mut rates);
                check(
                    "rates",
                    against_differences(&rates, columns, |t| {
                        let (joint, a, b) = moved(&joint, &a, &b, t);
                        rows_of(&joint, function, &a, &b).iter().map(|row| row.speed(&v[0], &v[1])).collect()
                    }),
                );

                let mut wrenches = vec![0.0; n * columns];
                joint.wrench_derivative(function, &a, &b, &y, &mut wrenches);
                check(
                    "wrenches",
                    against_differences(&wrenches, columns, |t| {
                        let (joint, a, b) = moved(&joint, &a, &b, t);
                        wrench(&rows_of(&joint, function, &a, &b), &y)
                    }),
                );
            }
        }
    }
    worst
}

#[test]
fn derivatives_are_those_of_differences() {
    let random = &mut Random(15);
    for violation in [0.0, 0.4] {
        let (plane, space) = (compare::<Planar>(violation, random), compare::<Spatial>(violation, random));
        println!("violation {violation}: worst relative error {plane:.1e} in the plane, {space:.1e} in space");
    }
}

/// y' d(J v) = v' d(J' y) = gradient of the power; the value gradient is J' y; poses commute but for turns of one body.
fn identities<S: Space>(random: &mut Random) {
    let mut moving = 0;
    for kind in kinds::<S>() {
        for _ in 0..runs() {
            let (joint, a, b) = posed::<S>(kind, 0.5, random);
            let (n, columns) = (2 * S::DOF, joint.column_count());
            for function in functions(&joint) {
                let count = joint.function_count(function);
                let y = weights(count, random);
                let v = [random.twist::<S>(1.0), random.twist::<S>(1.0)];
                let flat_v = [v[0].lin.as_slice(), v[0].ang.as_slice(), v[1].lin.as_slice(), v[1].ang.as_slice()].concat();
                let mut rates = vec![0.0; count * columns];
                let mut wrenches = vec![0.0; n * columns];
                let mut power = vec![0.0; columns];
                joint.rate_derivative(function, &a, &b, &v, &mut rates);
                joint.wrench_derivative(function, &a, &b, &y, &mut wrenches);
                joint.power_gradient(function, &a, &b, &y, &v).write(&joint, &mut power);
                let scale = wrenches.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
                moving += usize::from(power.iter().any(|x| x.abs() > 0.01));
                for j in 0..columns {
                    let forward: f64 = (0..count).map(|k| y[k] * rates[k * columns + j]).sum();
                    let adjoint: f64 = (0..n).map(|i| flat_v[i] * wrenches[i * columns + j]).sum();
                    assert!((forward - adjoint).abs() < IDENTITY * scale, "{kind:?} {function:?} column {j}: {forward} {adjoint}");
                    assert!((forward - power[j]).abs() < IDENTITY * scale);
                }
                // The value gradient's pose part is J' y.
                let gradient = joint.value_gradient(function, &a, &b, &y);
                let push = wrench(&rows_of(&joint, function, &a, &b), &y);
                let found = flat(&gradient.bodies[0], &gradient.bodies[1]);
                assert!(
                    push.iter().zip(&found).all(|(x, y)| (x - y).abs() < IDENTITY * scale),
                    "{kind:?} {function:?}: {push:?} {found:?}"
                );
                // H - H' is J of the bracket of the two motions, theory (15.14): zero unless both turn one body.
                for i in 0..n {
                    for j in 0..n {
                        let bend = wrenches[i * columns + j] - wrenches[j * columns + i];
                        let (side, p, q) = (i / S::DOF, i % S::DOF, j % S::DOF);
                        let mut bracket = 0.0;
                        if S::ANG == 3 && side == j / S::DOF && p >= S::DIM && q >= S::DIM && p != q {
                            let (p, q) = (p - S::DIM, q - S::DIM);
                            let sign = if (p + 1) % 3 == q { 1.0 } else { -1.0 };
                            bracket = sign * push[side * S::DOF + S::DIM + (3 - p - q)];
                        }
                        assert!((bend - bracket).abs() < IDENTITY * scale, "{kind:?} {function:?} ({i}, {j}): {bend} {bracket}");
                    }
                }
                // A common translation changes no row.
                for i in 0..n {
                    for j in 0..S::DIM {
                        assert!((wrenches[i * columns + j] + wrenches[i * columns + S::DOF + j]).abs() < IDENTITY * scale);
                    }
                }
            }
        }
    }
    assert!(moving > 0, "some power depends on something");
}

#[test]
fn forward_and_adjoint_are_transposes() {
    identities::<Planar>(&mut Random(16));
    identities::<Spatial>(&mut Random(16));
}

#[test]
fn coinciding_anchors_have_the_slope_of_the_kept_direction() {
    let random = &mut Random(17);
    let (joint, a, _) = random_joint::<Spatial>(JointKind::Spring, random);
    let b = Pose { position: a.point(joint.anchors[0]) - a.direction(joint.anchors[1]), rotation: a.rotation };
    let v = [random.twist::<Spatial>(1.0), random.twist::<Spatial>(1.0)];
    let mut rates = [0.0; MAX_COLUMNS];
    let columns = joint.column_count();
    joint.rate_derivative(JointFunction::SpringLength, &a, &b, &v, &mut rates[..columns]);
    let near = |t: &[f64]| {
        // Turns only: a shift would leave the point where the direction is kept.
        let (_, a, _) = moved(&joint, &a, &b, t);
        vec![
            joint
                .spring(&a, &Pose { position: a.point(joint.anchors[0]) - b.direction(joint.anchors[1]), ..b })
                .unwrap()
                .row
                .speed(&v[0], &v[1]),
        ]
    };
    // Moved with a, the pair stays together: the sum of the columns of a's turn and of b's shift is the slope.
    for axis in 0..3 {
        let mut turn = nalgebra::Vector3::zeros();
        turn[axis] = 1.0;
        let arm = a.direction(joint.anchors[0]);
        let shift = turn.cross(&arm);
        let expected = rates[3 + axis] + (0..3).map(|k| rates[6 + k] * shift[k]).sum::<f64>();
        let h = 1e-5;
        let at = |t: f64| {
            let mut tangent = [0.0; MAX_COLUMNS];
            tangent[3 + axis] = t;
            near(&tangent[..columns])[0]
        };
        assert!(((at(h) - at(-h)) / (2.0 * h) - expected).abs() < 1e-8);
        assert!(rates.iter().all(|x| x.is_finite()));
    }
}

#[test]
fn every_parameter_is_named_once_and_moves_what_it_names() {
    fn check<S: Space>(random: &mut Random) {
        for kind in kinds::<S>() {
            let (joint, _, _) = posed::<S>(kind, 0.0, random);
            let all = joint.parameters();
            assert_eq!(all.len(), joint.parameter_count());
            for (k, &parameter) in all.iter().enumerate() {
                assert_eq!(joint.parameter_index(parameter), Some(k));
                let mut tangent = vec![0.0; all.len()];
                tangent[k] = 1e-3;
                let moved = joint.perturbed(&tangent);
                assert_ne!(moved, joint, "{kind:?} {parameter:?}");
                for &other in &all {
                    let change = moved.parameter_value(other) - joint.parameter_value(other);
                    let coupled = matches!(parameter, JointParameter::Axis { .. } | JointParameter::Reference { .. });
                    let expected = if other == parameter { 1e-3 } else { 0.0 };
                    assert!(coupled || (change - expected).abs() < 1e-12, "{kind:?} {parameter:?} {other:?} {change}");
                }
            }
            assert_eq!(joint.perturbed(&vec![0.0; all.len()]).anchors, joint.anchors);
            let absent = JointParameter::Anchor { side: 0, component: S::DIM };
            assert_eq!(joint.parameter_index(absent), None);
        }
    }
    check::<Planar>(&mut Random(18));
    check::<Spatial>(&mut Random(18));
    let (mut hinge, _, _) = posed::<Spatial>(JointKind::Hinge, 0.0, &mut Random(19));
    let (mut screw, _, _) = posed::<Spatial>(JointKind::Screw, 0.0, &mut Random(19));
    (hinge.armature, screw.armature) = (0.3, 0.3);
    assert_eq!(hinge.parameter_value(JointParameter::Armature), 0.3);
    assert_eq!([hinge.parameter_count() + 1, screw.parameter_count()], [MAX_PARAMETERS; 2]);
    hinge.motor = Some(Motor::Velocity { velocity: 1.0, max: 2.0 });
    assert_eq!(hinge.parameter_value(JointParameter::MotorVelocity), 1.0);
    assert_eq!(hinge.parameter_value(JointParameter::MotorPosition), 0.0);
    hinge.motor = Some(Motor::Control { max: f64::INFINITY });
    assert_eq!(hinge.parameter_value(JointParameter::MotorMax), f64::INFINITY);
    assert_eq!(hinge.parameter_index(JointParameter::MotorVelocity), None);
}
