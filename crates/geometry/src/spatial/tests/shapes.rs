//! Shapes alone: boxes, bad numbers; and what contacts cost.

use super::*;

#[test]
fn bounds_hold_the_shape_and_touch_it() {
    let mut random = Random(10);
    for i in 0..600 {
        let shape = match i % 8 {
            6 => Shape::cylinder(random.within(0.1, 1.0), random.within(0.1, 1.0)).unwrap(),
            7 => Shape::cone(random.within(0.1, 1.0), random.within(0.1, 1.0)).unwrap(),
            k => bounded(&mut random, k),
        };
        let pose = random.pose(2.0);
        let bounds = Spatial::bounds(&shape, &pose);
        let far = Spatial::reach(&shape, V::zeros());
        for k in 0..3 {
            assert!(bounds.max[k] - pose.position[k] <= far + 1e-12 && pose.position[k] - bounds.min[k] <= far + 1e-12);
            if supported(&shape, &Shape::half_space(V::z()).unwrap()) {
                let mut n = V::zeros();
                n[k] = 1.0;
                let wall = |n: V| Spatial::separation(&shape, &pose, &Shape::half_space(n).unwrap(), &Pose::identity(), f64::INFINITY);
                assert!((wall(n) - bounds.min[k]).abs() < 1e-12 && (wall(-n) + bounds.max[k]).abs() < 1e-12);
            }
        }
    }
    let ground = Shape::half_space(V::z()).unwrap();
    assert!(Spatial::extent(&ground).is_infinite() && Spatial::reach(&ground, V::zeros()).is_infinite());
    let level = Spatial::bounds(&ground, &at(1.0, 3.0, 2.0));
    assert!(level.max.z == 2.0 && level.min.z == f64::NEG_INFINITY && level.max.x == f64::INFINITY && level.min.y == f64::NEG_INFINITY);
    let tilted = Shape::half_space(V::new(0.1, 0.0, 1.0)).unwrap();
    assert_eq!(Spatial::bounds(&tilted, &at(1.0, 3.0, 2.0)), Aabb::everything());
    assert_eq!(Spatial::extent(&Shape::ball(0.5).unwrap()), 1.0);
    assert_eq!(Spatial::extent(&Shape::cuboid(V::new(1.0, 2.0, 3.0)).unwrap()), 6.0);
}

#[test]
fn bad_shapes_are_refused() {
    use crate::shape_error::ShapeError;
    assert!(matches!(Shape::ball(0.0), Err(ShapeError::NotPositive { .. })));
    assert!(matches!(Shape::ball(f64::NAN), Err(ShapeError::NotFinite { .. })));
    assert!(matches!(Shape::cuboid(V::new(1.0, -1.0, 1.0)), Err(ShapeError::NotPositive { .. })));
    assert!(matches!(Shape::half_space(V::zeros()), Err(ShapeError::Degenerate { .. })));
    assert!(matches!(Shape::segment(V::x(), V::x()), Err(ShapeError::Degenerate { .. })));
    assert!(matches!(Shape::mesh(vec![V::x()], vec![[0, 0, 1]]), Err(ShapeError::OutOfRange { .. })));
    assert!(matches!(Shape::heightfield(vec![0.0; 4], 4, 1, [1.0, 1.0]), Err(ShapeError::TooFewPoints { .. })));
}

/// Time this thread has spent on a processor \[ns\], so that other work on the machine does not count; wall time where unknown.
fn busy() -> f64 {
    let read = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let own = read.and_then(|text| text.split(' ').next().and_then(|x| x.parse().ok()));
    own.unwrap_or_else(|| std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |t| t.as_nanos() as f64))
}

#[test]
#[ignore = "prints times"]
fn speed() {
    let cases: Vec<(&str, Shape, Place, Shape)> = vec![
        ("ball-ball", Shape::ball(0.5).unwrap(), at(0.0, 0.0, 1.0), Shape::ball(0.5).unwrap()),
        ("ball-box", Shape::ball(0.5).unwrap(), at(0.0, 0.0, 1.0), Shape::cuboid(V::repeat(0.5)).unwrap()),
        ("box-half-space", Shape::cuboid(V::repeat(0.5)).unwrap(), at(0.0, 0.0, 0.5), Shape::half_space(V::z()).unwrap()),
        ("box-box face", Shape::cuboid(V::repeat(0.5)).unwrap(), at(0.1, 0.05, 1.0), Shape::cuboid(V::repeat(0.5)).unwrap()),
        ("box-box small gap", Shape::cuboid(V::repeat(0.5)).unwrap(), at(0.1, 0.05, 1.0001), Shape::cuboid(V::repeat(0.5)).unwrap()),
        ("box-box corners", Shape::cuboid(V::repeat(0.5)).unwrap(), at(1.0001, 1.0001, 1.0001), Shape::cuboid(V::repeat(0.5)).unwrap()),
        ("capsule-capsule", Shape::capsule(0.5, 0.5).unwrap(), at(1.0, 0.0, 0.1), Shape::capsule(0.5, 0.5).unwrap()),
        ("capsule-box", Shape::capsule(0.5, 0.5).unwrap(), at(1.0, 0.0, 0.1), Shape::cuboid(V::repeat(0.5)).unwrap()),
    ];
    for (name, a, pa, b) in cases {
        let mut out = Vec::new();
        let n = 200_000;
        let mut sum = 0.0;
        let clock = busy();
        for i in 0..n {
            out.clear();
            let mut p = pa;
            p.position.x += 1e-12 * i as f64;
            Spatial::contacts(&a, &p, &b, &Pose::identity(), 1e-3, &mut out);
            sum += least(&out);
        }
        let each = (busy() - clock) / n as f64;
        let feature = out[0].feature;
        let clock = busy();
        for i in 0..n {
            let mut p = pa;
            p.position.x += 1e-12 * i as f64;
            sum += Spatial::evaluate(feature, &a, &p, &b, &Pose::identity()).gap;
        }
        println!("{name}: contacts {each:.0} ns, {} points, evaluate {:.0} ns ({sum:.1e})", out.len(), (busy() - clock) / n as f64);
    }
}
