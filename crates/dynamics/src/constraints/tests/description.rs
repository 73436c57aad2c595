//! Descriptions: there and back, and what is refused.

use super::*;
use nalgebra::Vector3;

fn round_trip<S: Space>(random: &mut Random) {
    for kind in kinds::<S>() {
        for world in [None, Some(0), Some(1)] {
            let (mut a, mut b) = (random.pose::<S>(), random.pose::<S>());
            let mut spec = random_spec::<S>(kind, random);
            if let Some(side) = world {
                spec.bodies[side] = None;
                *[&mut a, &mut b][side] = Pose::identity();
            }
            if kind.has_coordinate::<S>() {
                spec.limits = Some([-0.25, 1.5]);
                spec.motor = Some(Motor::Control { max: 3.0 });
                spec.friction = 0.125;
            }
            spec.collide = true;
            let joint = Joint::new(spec.clone(), &a, &b).unwrap();
            assert_eq!(joint.is_controlled(), spec.motor.is_some());
            let back = joint.spec(&a, &b);
            let near = |x: Option<S::Lin>, y: Option<S::Lin>| match (x, y) {
                (Some(x), Some(y)) => (x - y).norm() < 1e-13,
                (None, None) => true,
                _ => false,
            };
            let halves = |pair: Option<[S::Lin; 2]>, i: usize| pair.map(|p| p[i]);
            assert!(near(spec.anchor, back.anchor) && near(spec.axis.map(|x| x.unit()), back.axis), "{kind:?}");
            for i in 0..2 {
                assert!(near(halves(spec.anchors, i), halves(back.anchors, i)), "{kind:?}");
                assert!(near(halves(spec.axes, i).map(|x| x.unit()), halves(back.axes, i)), "{kind:?}");
            }
            // Nothing else changed, but for lengths that are now written out.
            let measures = parameter::Measures { length: back.measures.length, rest: back.measures.rest, ..spec.measures };
            let expected = JointSpec { anchor: back.anchor, anchors: back.anchors, axis: back.axis, axes: back.axes, measures, ..spec };
            assert_eq!(back, expected);
            // Making the joint again gives the same joint to rounding.
            let again = Joint::new(back, &a, &b).unwrap();
            let (x, y) = (a.advanced(random.twist(0.1), 1.0), b.advanced(random.twist(0.1), 1.0));
            for (e, f) in errors(&joint, &x, &y).iter().zip(errors(&again, &x, &y)) {
                assert!((e - f).abs() < 1e-13, "{kind:?}");
            }
            assert_eq!((again.limits, again.motor, again.friction), (joint.limits, joint.motor, joint.friction));
            assert!(
                (again.measures.length - joint.measures.length).abs() < 1e-13 && (again.measures.rest - joint.measures.rest).abs() < 1e-13
            );
        }
    }
}

#[test]
fn spec_is_the_inverse_of_new() {
    round_trip::<Planar>(&mut Random(10));
    round_trip::<Spatial>(&mut Random(10));
}

#[test]
fn weld_without_anchor_sits_between_its_bodies() {
    let random = &mut Random(11);
    let (a, b) = (random.pose::<Spatial>(), random.pose::<Spatial>());
    let joint = Joint::new(JointSpec::new("w", JointKind::Weld, [Some(0), Some(1)]), &a, &b).unwrap();
    assert!((joint.points(&a, &b)[0] - (a.position + b.position) * 0.5).norm() < 1e-14);
    let world = Pose::identity();
    let joint = Joint::new(JointSpec::new("w", JointKind::Weld, [None, Some(1)]), &world, &b).unwrap();
    assert!(joint.anchors[1].norm() == 0.0);
}

#[test]
fn words_name_kinds() {
    for (kind, name) in JointKind::ALL.into_iter().zip(JointKind::NAMES) {
        assert_eq!((kind.name(), JointKind::named(name)), (name, Some(kind)));
    }
    assert_eq!(JointKind::named("revolute"), None);
}

/// The key and message with which a changed description is refused.
fn refused<S: Space>(kind: JointKind, change: impl Fn(&mut JointSpec<S>)) -> (String, String) {
    let mut spec = random_spec::<S>(kind, &mut Random(12));
    let (a, b) = (Pose::identity(), Random(13).pose());
    assert!(Joint::new(spec.clone(), &a, &b).is_ok(), "{kind:?} is refused before it is changed");
    change(&mut spec);
    let error = Joint::new(spec, &a, &b).unwrap_err();
    assert_eq!(error.part, "joint \"j\"");
    (error.key, error.message)
}

#[test]
fn faults_are_named() {
    use JointKind::*;
    // Missing.
    for kind in [Hinge, Ball, Slider, Universal, Cylindrical, JointKind::Planar] {
        assert_eq!(refused::<Spatial>(kind, |s| s.anchor = None).0, "anchor");
    }
    for kind in [Hinge, Slider, Cylindrical, JointKind::Planar] {
        assert_eq!(refused::<Spatial>(kind, |s| s.axis = None).0, "axis");
        assert_eq!(refused::<Spatial>(kind, |s| s.axis = Some(Vector3::zeros())).0, "axis");
        assert_eq!(refused::<Spatial>(kind, |s| s.axis = Some(Vector3::new(1.0, f64::NAN, 0.0))).0, "axis");
    }
    for kind in [Distance, Rope, Spring] {
        assert_eq!(refused::<Spatial>(kind, |s| s.anchors = None).0, "anchors");
        assert_eq!(refused::<carom_math::Planar>(kind, |s| s.anchors = Some([Vector2::new(f64::INFINITY, 0.0); 2])).0, "anchors");
    }
    assert_eq!(refused::<Spatial>(Universal, |s| s.axes = None).0, "axes");
    assert_eq!(refused::<Spatial>(Universal, |s| s.axes = Some([Vector3::x(), Vector3::new(1.0, 1.0, 0.0)])).0, "axes");
    // Too much.
    let (key, message) = refused::<carom_math::Planar>(Hinge, |s| s.axis = Some(Vector2::x()));
    assert_eq!((key.as_str(), message.as_str()), ("axis", "a hinge in the plane does not take it; it takes anchor"));
    assert_eq!(refused::<Spatial>(Weld, |s| s.axes = Some([Vector3::x(); 2])).0, "axes");
    assert_eq!(refused::<Spatial>(Ball, |s| s.anchors = Some([Vector3::x(); 2])).0, "anchors");
    assert_eq!(refused::<Spatial>(Rope, |s| s.anchor = Some(Vector3::x())).0, "anchor");
    assert_eq!(refused::<Spatial>(Ball, |s| s.measures.length = Some(1.0)).0, "length");
    assert_eq!(refused::<Spatial>(Distance, |s| s.measures.rest = Some(1.0)).0, "rest");
    assert_eq!(refused::<Spatial>(Distance, |s| s.measures.stiffness = Some(1.0)).0, "stiffness");
    assert_eq!(refused::<Spatial>(Hinge, |s| s.measures.damping = Some(f64::NAN)).0, "damping");
    let (key, message) = refused::<Spatial>(Ball, |s| s.limits = Some([0.0, 1.0]));
    assert_eq!(key, "limits");
    assert!(message.contains("\"hinge\", \"slider\", \"cylindrical\""), "{message}");
    assert_eq!(refused::<Spatial>(Rope, |s| s.motor = Some(Motor::Control { max: 1.0 })).0, "motor");
    assert_eq!(refused::<Spatial>(Weld, |s| s.friction = 1.0).0, "friction");
    // Out of range.
    assert_eq!(refused::<Spatial>(Slider, |s| s.limits = Some([1.0, 0.0])).0, "limits");
    assert_eq!(refused::<Spatial>(Slider, |s| s.limits = Some([f64::NAN, 0.0])).0, "limits");
    assert_eq!(refused::<Spatial>(Hinge, |s| s.limits = Some([-4.0, 4.0])).0, "limits");
    assert_eq!(refused::<Spatial>(Hinge, |s| s.limits = Some([5.0, 6.0])).0, "limits");
    assert_eq!(refused::<Spatial>(Hinge, |s| s.friction = -1.0).0, "friction");
    assert_eq!(refused::<Spatial>(Hinge, |s| s.motor = Some(Motor::Velocity { velocity: f64::NAN, max: 1.0 })).0, "motor.velocity");
    assert_eq!(refused::<Spatial>(Hinge, |s| s.motor = Some(Motor::Velocity { velocity: 1.0, max: f64::INFINITY })).0, "motor.max");
    assert_eq!(refused::<Spatial>(Hinge, |s| s.motor = Some(Motor::Control { max: -1.0 })).0, "motor.max");
    let servo = Motor::Position { position: 0.0, stiffness: -1.0, damping: 0.0, max: 1.0 };
    assert_eq!(refused::<Spatial>(Hinge, |s| s.motor = Some(servo)).0, "motor.stiffness");
    assert_eq!(refused::<Spatial>(Distance, |s| s.measures.length = Some(0.0)).0, "length");
    assert_eq!(refused::<Spatial>(Rope, |s| s.anchors = Some([Vector3::x(); 2])).0, "length");
    assert_eq!(refused::<Spatial>(Spring, |s| s.measures.stiffness = Some(-1.0)).0, "stiffness");
    assert_eq!(refused::<Spatial>(Spring, |s| (s.measures.stiffness, s.measures.damping) = (Some(0.0), None)).0, "stiffness");
    assert_eq!(refused::<Spatial>(Spring, |s| s.measures.rest = Some(-0.1)).0, "rest");
    assert_eq!(refused::<Spatial>(Weld, |s| s.bodies = [None, None]).0, "between");
    assert_eq!(refused::<Spatial>(Weld, |s| s.bodies = [Some(3), Some(3)]).0, "between");
    assert_eq!(refused::<Spatial>(Distance, |s| s.anchors = Some([Vector3::x() * f64::MAX, Vector3::zeros()])).0, "anchors");
    // Kinds of space in the plane.
    for kind in [Universal, Cylindrical, JointKind::Planar] {
        let spec = JointSpec::<carom_math::Planar>::new("j", kind, [Some(0), None]);
        let error = Joint::new(spec, &Pose::identity(), &Pose::identity()).unwrap_err();
        assert_eq!(error.key, "kind");
        assert!(error.message.contains("exists only in space"), "{error}");
    }
    // In the plane turns are counted, and a ball is a hinge.
    let mut spec = random_spec::<carom_math::Planar>(Ball, &mut Random(14));
    spec.limits = Some([-20.0, 20.0]);
    assert!(Joint::new(spec, &Pose::identity(), &Pose::identity()).is_ok());
}

#[test]
fn tiny_and_huge_axes_are_directions() {
    for size in [1e-300, 1e300] {
        let mut spec = random_spec::<Spatial>(JointKind::Hinge, &mut Random(15));
        spec.axis = Some(Vector3::new(3.0, 0.0, 4.0) * size);
        let joint = Joint::new(spec, &Pose::identity(), &Pose::identity()).unwrap();
        assert!((joint.axes[0] - Vector3::new(0.6, 0.0, 0.8)).norm() < 1e-15);
    }
}
