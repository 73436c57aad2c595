//! Motions a joint leaves free, measured in closed form; limits, ropes, springs.

use super::*;
use nalgebra::Vector3;

/// The pose of a body carried along by a turn about an axis through a point and a shift.
fn carried<S: Space>(pose: &Pose<S>, point: S::Lin, turn: S::Ang, shift: S::Lin) -> Pose<S> {
    let rotation = S::exp(turn);
    Pose { position: point + S::rotate(rotation, pose.position - point) + shift, rotation: S::compose(rotation, pose.rotation) }
}

#[test]
fn hinge_measures_its_angle() {
    let random = &mut Random(6);
    for _ in 0..runs() {
        let angle = 3.1 * random.number();
        // Plane: turns count.
        let (joint, a, b) = random_joint::<Planar>(JointKind::Hinge, random);
        let point = joint.points(&a, &b)[0];
        for turns in [0.0, 2.0, -3.0] {
            let total = angle + turns * std::f64::consts::TAU;
            let moved = carried(&a, point, Vector1::new(total), Vector2::zeros());
            assert!(errors(&joint, &moved, &b).iter().all(|e| e.abs() < 1e-13));
            assert!((joint.coordinate(&moved, &b) - total).abs() < 1e-13);
        }
        // Space: they do not. Turning b back is the same as turning a.
        let (joint, a, b) = random_joint::<Spatial>(JointKind::Hinge, random);
        let point = joint.points(&a, &b)[0];
        let axis = a.direction(joint.axes[0]);
        for turns in [0.0, 1.0, 2.0] {
            let turn = axis * (angle + turns * std::f64::consts::TAU);
            let moved = carried(&a, point, turn, Vector3::zeros());
            assert!(errors(&joint, &moved, &b).iter().all(|e| e.abs() < 1e-13));
            assert!((joint.coordinate(&moved, &b) - angle).abs() < 1e-13);
            assert!((joint.coordinate_near(angle + 7.0, &moved, &b) - angle - std::f64::consts::TAU).abs() < 1e-12);
            assert!((joint.coordinate(&a, &carried(&b, point, -turn, Vector3::zeros())) - angle).abs() < 1e-13);
            // Where the hinge holds the row is the axis.
            let row = joint.coordinate_row(&moved, &b);
            assert!((row.a.ang - axis).norm() < 1e-13 && (row.b.ang + axis).norm() < 1e-13 && row.a.lin.norm() == 0.0);
        }
    }
}

#[test]
fn free_motions_leave_no_error() {
    let random = &mut Random(7);
    for _ in 0..runs() {
        let (slide, angle) = (random.number(), 3.0 * random.number());
        let exact = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        let (joint, a, b) = random_joint::<Planar>(JointKind::Slider, random);
        let moved = carried(&a, a.position, Vector1::zeros(), a.direction(joint.axes[0]) * slide);
        errors(&joint, &moved, &b).iter().for_each(|&e| exact(e, 0.0));
        exact(joint.coordinate(&moved, &b), slide);

        let (joint, a, b) = random_joint::<Spatial>(JointKind::Slider, random);
        let moved = carried(&a, a.position, Vector3::zeros(), a.direction(joint.axes[0]) * slide);
        errors(&joint, &moved, &b).iter().for_each(|&e| exact(e, 0.0));
        exact(joint.coordinate(&moved, &b), slide);

        let (joint, a, b) = random_joint::<Spatial>(JointKind::Cylindrical, random);
        let axis = a.direction(joint.axes[0]);
        let moved = carried(&a, joint.points(&a, &b)[0], axis * angle, axis * slide);
        errors(&joint, &moved, &b).iter().for_each(|&e| exact(e, 0.0));
        exact(joint.coordinate(&moved, &b), slide);

        let (joint, a, b) = random_joint::<Spatial>(JointKind::Planar, random);
        let axis = a.direction(joint.axes[0]);
        let across = Spatial::tangents(axis);
        let moved = carried(&a, joint.points(&a, &b)[0], axis * angle, across[0] * slide + across[1] * random.number());
        errors(&joint, &moved, &b).iter().for_each(|&e| exact(e, 0.0));

        // Both crosses of a universal joint turn, each about its own axis.
        let (joint, a, b) = random_joint::<Spatial>(JointKind::Universal, random);
        let point = joint.points(&a, &b)[0];
        let moved_a = carried(&a, point, a.direction(joint.axes[0]) * angle, Vector3::zeros());
        let moved_b = carried(&b, point, b.direction(joint.axes[1]) * slide, Vector3::zeros());
        errors(&joint, &moved_a, &moved_b).iter().for_each(|&e| exact(e, 0.0));

        let (joint, a, b) = random_joint::<Spatial>(JointKind::Ball, random);
        let moved = carried(&a, joint.points(&a, &b)[0], random.vector(3.0), Vector3::zeros());
        errors(&joint, &moved, &b).iter().for_each(|&e| exact(e, 0.0));

        let (joint, a, b) = random_joint::<Spatial>(JointKind::Distance, random);
        let moved = carried(&a, joint.points(&a, &b)[1], random.vector(3.0), Vector3::zeros());
        errors(&joint, &moved, &b).iter().for_each(|&e| exact(e, 0.0));
    }
}

#[test]
fn weld_error_is_the_angle_to_first_order() {
    let random = &mut Random(8);
    let (joint, a, b) = random_joint::<Spatial>(JointKind::Weld, random);
    let turn: Vector3<f64> = random.vector(1e-4);
    let moved = carried(&a, joint.points(&a, &b)[0], turn, Vector3::zeros());
    let expected = b.local_direction(turn);
    let found = errors(&joint, &moved, &b);
    assert!((Vector3::from_column_slice(&found[3..]) - expected).norm() < 1e-11);
    assert!(turn.norm() > 1e-5);
    // A quaternion and its negative are one orientation: a full turn changes the sign and must not show.
    let axis: Vector3<f64> = random.vector(1.0);
    let around = carried(&moved, joint.points(&a, &b)[0], axis.normalize() * std::f64::consts::TAU, Vector3::zeros());
    assert!(around.rotation.coords.dot(moved.rotation.coords) < 0.0);
    for (x, y) in errors(&joint, &around, &b).iter().zip(found) {
        assert!((x - y).abs() < 1e-14);
    }
    // In the plane it is the angle at any size.
    let (joint, a, b) = random_joint::<Planar>(JointKind::Weld, random);
    let moved = carried(&a, joint.points(&a, &b)[0], Vector1::new(9.0), Vector2::zeros());
    assert!((errors(&joint, &moved, &b)[2] - 9.0).abs() < 1e-13);
}

#[test]
fn limits_and_rope_are_gaps() {
    let random = &mut Random(9);
    // Past half a turn in space: the gap to the upper limit passes 3.5 rad without a jump.
    let (a, b) = (random.pose::<Spatial>(), random.pose::<Spatial>());
    let mut spec = random_spec::<Spatial>(JointKind::Hinge, random);
    spec.limits = Some([-0.5, 4.0]);
    let joint = Joint::new(spec, &a, &b).unwrap();
    assert_eq!(joint.inequality_count(), 2);
    let axis = a.direction(joint.axes[0]);
    for i in 0..=50 {
        let angle = -0.9 + i as f64 * 0.1;
        let moved = carried(&a, joint.points(&a, &b)[0], axis * angle, Vector3::zeros());
        let ((low, up), (high, down)) = (joint.inequality(0, &moved, &b), joint.inequality(1, &moved, &b));
        assert!((low - (angle + 0.5)).abs() < 1e-12 && (high - (4.0 - angle)).abs() < 1e-12);
        assert_eq!(up, down.negated());
    }
    assert_eq!(joint.inequality(2, &a, &b).0, f64::INFINITY);

    let mut spec = JointSpec::<Planar>::new("rope", JointKind::Rope, [Some(0), None]);
    spec.anchors = Some([Vector2::new(3.0, 4.0), Vector2::zeros()]);
    spec.measures.length = Some(6.0);
    let pose = Pose { position: Vector2::new(3.0, 3.0), rotation: Planar::exp(Vector1::new(0.4)) };
    let joint = Joint::new(spec, &pose, &Pose::identity()).unwrap();
    assert_eq!((joint.row_count(), joint.inequality_count()), (0, 1));
    let (gap, row) = joint.inequality(0, &pose, &Pose::identity());
    assert!((gap - 1.0).abs() < 1e-15);
    assert!((row.a.lin - Vector2::new(-0.6, -0.8)).norm() < 1e-15);
}

#[test]
fn coincident_anchors_keep_a_direction() {
    let mut spec = JointSpec::<Spatial>::new("rod", JointKind::Distance, [Some(0), Some(1)]);
    spec.anchors = Some([Vector3::new(0.0, 0.0, 1.0), Vector3::zeros()]);
    let turned = Pose { position: Vector3::new(0.0, 0.0, 1.0), rotation: Spatial::identity() };
    let joint = Joint::new(spec, &turned, &Pose::identity()).unwrap();
    let collapsed = Pose { position: Vector3::new(0.0, 0.0, 1e-12), rotation: Spatial::exp(Vector3::x() * 0.5) };
    let row = rows(&joint, &collapsed, &Pose::identity())[0];
    assert!((row.a.lin - collapsed.direction(Vector3::z())).norm() < 1e-15);
    assert!((errors(&joint, &collapsed, &Pose::identity())[0] + 1.0).abs() < 1e-11);
    // A spring without rest length may start with both ends at one point.
    let mut spec = JointSpec::<Spatial>::new("spring", JointKind::Spring, [Some(0), None]);
    spec.anchors = Some([Vector3::x(), Vector3::x()]);
    spec.measures.stiffness = Some(1.0);
    let spring = Joint::new(spec, &turned, &Pose::identity()).unwrap().spring(&turned, &Pose::identity()).unwrap();
    assert_eq!((spring.length, spring.rest, spring.energy()), (0.0, 0.0, 0.0));
    assert_eq!(spring.row.a.lin.norm(), 1.0);
}
