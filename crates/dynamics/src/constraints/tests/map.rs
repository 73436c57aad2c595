//! The way from a description to the parameters of a joint against differences of joints made from moved descriptions.

use super::*;

/// Largest relative error of fourth-order differences.
const AGREEMENT: f64 = 1e-9;

/// Everything a kind can be told, with lengths given or left to default.
fn full_spec<S: Space>(kind: JointKind, given: bool, random: &mut Random) -> JointSpec<S> {
    let mut spec = random_spec::<S>(kind, random);
    if kind.has_coordinate::<S>() {
        spec.limits = Some([-1.0, 1.5]);
        spec.motor = Some(Motor::Velocity { velocity: 0.3, max: 9.0 });
        spec.friction = 0.7;
    }
    let has = |key: &str| kind.keys::<S>().contains(&key);
    spec.measures.length = (given && has("length")).then_some(1.7);
    spec.measures.rest = (given && has("rest")).then_some(1.2);
    if kind == JointKind::Weld && !given {
        spec.anchor = None;
    }
    spec
}

/// The description with one key moved.
fn told<S: Space>(spec: &JointSpec<S>, key: DescriptionKey, change: f64) -> JointSpec<S> {
    let mut spec = spec.clone();
    match key {
        DescriptionKey::Anchor { component } => spec.anchor.as_mut().unwrap()[component] += change,
        DescriptionKey::Anchors { side, component } => spec.anchors.as_mut().unwrap()[side][component] += change,
        DescriptionKey::Axis { component } => spec.axis.as_mut().unwrap()[component] += change,
        DescriptionKey::Axes { side, component } => spec.axes.as_mut().unwrap()[side][component] += change,
        DescriptionKey::Number(parameter) if JointParameter::MEASURES.contains(&parameter) => {
            let place = JointParameter::MEASURES.iter().position(|known| *known == parameter).unwrap();
            *spec.measures.list_mut()[place].get_or_insert(0.0) += change;
        }
        DescriptionKey::Number(JointParameter::LimitLow) => spec.limits.as_mut().unwrap()[0] += change,
        DescriptionKey::Number(JointParameter::LimitHigh) => spec.limits.as_mut().unwrap()[1] += change,
        DescriptionKey::Number(JointParameter::Friction) => spec.friction += change,
        DescriptionKey::Number(parameter) => match (parameter, spec.motor.as_mut().unwrap()) {
            (JointParameter::MotorVelocity, Motor::Velocity { velocity, .. }) => *velocity += change,
            (JointParameter::MotorMax, Motor::Velocity { max, .. }) => *max += change,
            other => panic!("{other:?} is no key of this joint"),
        },
    }
    spec
}

/// Parameters of a joint as seen from another: the reference by the turn between the two, so that differences are tangents.
fn parameters_from<S: Space>(joint: &Joint<S>, base: &Joint<S>) -> Vec<f64> {
    let turn = S::log(S::compose(joint.reference, S::inverse(base.reference)));
    let value = |&parameter: &JointParameter| match parameter {
        JointParameter::Reference { component } => turn[component],
        other => joint.parameter_value(other),
    };
    base.parameters().iter().map(value).collect()
}

fn check<S: Space>(random: &mut Random) -> f64 {
    let mut worst = 0.0_f64;
    for kind in kinds::<S>() {
        for run in 0..16 {
            let mut spec = full_spec::<S>(kind, run % 2 == 0, random);
            let (mut a, mut b) = (random.pose::<S>(), random.pose::<S>());
            match run / 4 {
                0 => (spec.bodies[0], a) = (None, Pose::identity()),
                1 => (spec.bodies[1], b) = (None, Pose::identity()),
                _ => (),
            }
            let joint = Joint::new(spec.clone(), &a, &b).unwrap();
            let map = DescriptionMap::new(&spec, &joint, &a, &b);
            let (rows, columns) = (map.rows(), map.columns());
            assert_eq!((rows, columns), (joint.parameter_count(), 2 * S::DOF + map.keys().len()));
            let mut lengths_seen = 0;
            for column in 0..columns {
                let at = |t: f64| {
                    if let Some(&key) = column.checked_sub(2 * S::DOF).and_then(|k| map.keys().get(k)) {
                        return parameters_from(&Joint::new(told(&spec, key, t), &a, &b).unwrap(), &joint);
                    }
                    let (side, component) = (column / S::DOF, column % S::DOF);
                    let mut twists = [Twist::<S>::zero(); 2];
                    if component < S::DIM {
                        twists[side].lin[component] = t;
                    } else {
                        twists[side].ang[component - S::DIM] = t;
                    }
                    let moved = Joint::new(spec.clone(), &a.advanced(twists[0], 1.0), &b.advanced(twists[1], 1.0)).unwrap();
                    parameters_from(&moved, &joint)
                };
                let mut unit = vec![0.0; columns];
                unit[column] = 1.0;
                let mut found = vec![0.0; rows];
                map.tangent(&unit, &mut found);
                // The universal joint refuses axes further from a right angle than 1e-5.
                let h =
                    if matches!(map.keys().get(column.wrapping_sub(2 * S::DOF)), Some(DescriptionKey::Axes { .. })) { 2e-6 } else { 1e-3 };
                let (p, m, pp, mm) = (at(h), at(-h), at(2.0 * h), at(-2.0 * h));
                for row in 0..rows {
                    let slope = (8.0 * (p[row] - m[row]) - (pp[row] - mm[row])) / (12.0 * h);
                    let error = (slope - found[row]).abs() / slope.abs().max(1.0);
                    assert!(error < AGREEMENT, "{kind:?} {:?} {row} column {column}: {slope} {}", map.keys(), found[row]);
                    worst = worst.max(error);
                }
                lengths_seen += usize::from(joint.parameter_index(JointParameter::Length).is_some_and(|k| found[k] != 0.0));
            }
            assert!(kind != JointKind::Rope || lengths_seen > 0, "a length that is not given follows the anchors");
            // Gradients are the transpose.
            let (x, y): (Vec<f64>, Vec<f64>) =
                ((0..columns).map(|_| random.number()).collect(), (0..rows).map(|_| random.number()).collect());
            let (mut forward, mut adjoint) = (vec![0.0; rows], vec![0.0; columns]);
            map.tangent(&x, &mut forward);
            map.gradient(&y, &mut adjoint);
            let (left, right): (f64, f64) =
                (forward.iter().zip(&y).map(|(a, b)| a * b).sum(), adjoint.iter().zip(&x).map(|(a, b)| a * b).sum());
            assert!((left - right).abs() < 1e-12 * left.abs().max(1.0));
        }
    }
    worst
}

#[test]
fn parameters_follow_the_description_and_the_start_poses() {
    let random = &mut Random(20);
    let (plane, space) = (check::<Planar>(random), check::<Spatial>(random));
    println!("worst relative error {plane:.1e} in the plane, {space:.1e} in space");
}

#[test]
fn a_joint_moved_as_a_whole_keeps_its_parameters() {
    // Both start poses and the anchor shifted together: nothing in the body frames moves.
    let random = &mut Random(21);
    let spec = full_spec::<Spatial>(JointKind::Hinge, true, random);
    let (a, b) = (random.pose::<Spatial>(), random.pose::<Spatial>());
    let joint = Joint::new(spec.clone(), &a, &b).unwrap();
    let map = DescriptionMap::new(&spec, &joint, &a, &b);
    let mut shift = vec![0.0; map.columns()];
    for at in [0, 6, 12] {
        shift[at..at + 3].copy_from_slice(&[0.3, -0.5, 0.7]);
    }
    let mut change = vec![1.0; map.rows()];
    map.tangent(&shift, &mut change);
    assert!(change.iter().all(|x| x.abs() < 1e-15), "{change:?}");
}
