//! The choices of the scheme of de Avila Belbute-Peres et al. 2018: what takes back the drift of joints (A.7), and steps that are halved as printed (A.1).

use carom_dynamics::gradient::{Cotangents, GradientError, Tape};
use carom_dynamics::options::{ImpactLaw, Integrator, Options, Stabilisation, TimeOfImpact};
use carom_dynamics::{JointKind, JointSpec, Model, State, World};
use carom_math::{Planar, Pose, Spatial, Vector};
use carom_tests::{Scene, Stage, in_both_spaces};

fn source() -> Options {
    Options { integrator: Integrator::Euler, impact: ImpactLaw::Newton, time_of_impact: TimeOfImpact::Halving, ..Options::default() }
}

/// A body of 1 kg and 0.1 kg m^2, hinged at 1 m from its centre, released level: the pendulum of the published figures.
fn pendulum<G: Stage>(options: Options) -> World<G> {
    let mut scene = Scene::<G>::new(0.01);
    scene.model.options = options;
    scene.model.gravity = G::at(0.0, -9.8);
    let body = scene.particle(1.0, G::inertia_from_moments(&[0.1; 3][..G::ANG]), Pose { position: G::at(1.0, 0.0), ..Pose::identity() });
    let mut spec = JointSpec::new("hinge", JointKind::Hinge, [Some(body), None]);
    (spec.anchor, spec.axis) = (Some(G::Lin::zero()), (G::DIM == 3).then(|| G::deep(0.0, 1.0, 0.0)));
    let joint = carom_dynamics::Joint::new(spec, &scene.state.poses[body], &Pose::identity()).unwrap();
    scene.model.joints.push(joint);
    World::new(scene.model, scene.state).unwrap()
}

/// Distance of the centre from the hinge after 10 s, and the largest joint error that was told.
fn radius<G: Stage>(stabilisation: Stabilisation) -> (f64, f64) {
    let mut world = pendulum::<G>(Options { stabilisation, ..source() });
    let mut told = 0.0f64;
    for _ in 0..1000 {
        let report = world.step().unwrap();
        assert_eq!(report.substeps, 1);
        told = told.max(report.joint_error);
    }
    (world.state().poses[0].position.norm(), told)
}

fn the_published_drifts_are_the_engines<G: Stage>() {
    let (literal, told) = radius::<G>(Stabilisation::VelocityLiteral);
    println!("{}: as printed {literal}, told {told}", G::NAME);
    assert!((literal - 0.7660).abs() < 5e-5, "as printed: {literal}");
    assert!(told > 0.1, "a joint that is open is told: {told}");
    let (halved, _) = radius::<G>(Stabilisation::Velocity);
    println!("{}: halved {halved}", G::NAME);
    assert!((halved - 0.99998).abs() < 5e-6, "halved: {halved}");
    let (position, _) = radius::<G>(Stabilisation::Position);
    println!("{}: by position {position}", G::NAME);
    assert!((position - 1.0).abs() < 1e-11, "by position: {position}");
}
in_both_spaces!(the_published_drifts_are_the_engines);

/// The centre's recurrence written out: one solve with the rows at the start, then the correction of (2.37). The engine follows it step by step.
#[test]
fn every_step_is_the_recurrence() {
    use nalgebra::{Matrix2, Vector2};
    for (stabilisation, share) in [(Stabilisation::Velocity, 0.5), (Stabilisation::VelocityLiteral, 1.0)] {
        let mut world = pendulum::<Planar>(Options { stabilisation, ..source() });
        let (mut angle, mut centre, mut v) = (0.0f64, Vector2::new(1.0, 0.0), [0.0f64; 3]);
        for step in 0..300 {
            // (x, y, w) that must change for the hinge's material point to stand.
            let correct = |angle: f64, v: &[f64; 3]| {
                let r = -Vector2::new(angle.cos(), angle.sin());
                let drift = Vector2::new(v[0] - v[2] * r.y, v[1] + v[2] * r.x);
                let a = Matrix2::new(r.y * r.y / 0.1 + 1.0, -r.x * r.y / 0.1, -r.x * r.y / 0.1, r.x * r.x / 0.1 + 1.0);
                let l = a.try_inverse().unwrap() * drift;
                [-l.x, -l.y, -(r.x * l.y - r.y * l.x) / 0.1]
            };
            v[1] -= 0.01 * 9.8;
            let change = correct(angle, &v);
            (0..3).for_each(|i| v[i] += change[i]);
            centre += Vector2::new(v[0], v[1]) * 0.01;
            angle += 0.01 * v[2];
            let change = correct(angle, &v);
            centre += Vector2::new(change[0], change[1]) * (share * 0.01);
            angle += share * 0.01 * change[2];
            world.step().unwrap();
            let (pose, twist) = (&world.state().poses[0], &world.state().twists[0]);
            assert!((pose.position - centre).norm() < 1e-10, "{stabilisation:?}, step {step}");
            assert!(
                (twist.lin.x - v[0]).abs() + (twist.lin.y - v[1]).abs() + (twist.ang.x - v[2]).abs() < 1e-9,
                "{stabilisation:?}, step {step}"
            );
        }
    }
}

/// Two balls on a rod that roll on the ground: the correction pushes neither into it.
#[test]
fn what_touches_stays_apart() {
    for stabilisation in [Stabilisation::Velocity, Stabilisation::VelocityLiteral] {
        let mut scene = Scene::<Planar>::new(0.005);
        scene.model.options = Options { stabilisation, ..source() };
        scene.ground(0.5, 0.0);
        let [a, b] =
            [0.0, 0.7].map(|x| scene.body(Planar::ball(0.2), 1.0, Pose { position: Planar::at(x, 0.2), ..Pose::identity() }, 0.5, 0.0));
        let mut spec = JointSpec::new("rod", JointKind::Distance, [Some(a), Some(b)]);
        spec.anchors = Some([a, b].map(|body| scene.state.poses[body].position));
        scene.model.joints.push(carom_dynamics::Joint::new(spec, &scene.state.poses[a], &scene.state.poses[b]).unwrap());
        [a, b].into_iter().for_each(|body| scene.state.twists[body].lin.x = 1.0);
        let mut world = World::new(scene.model, scene.state).unwrap();
        for _ in 0..400 {
            world.step().unwrap();
        }
        for body in [a, b] {
            assert!(
                (world.state().poses[body].position.y - 0.2).abs() < 1e-6,
                "{stabilisation:?}: {}",
                world.state().poses[body].position.y
            );
        }
    }
}

/// The fastest speed at which an elastic ball that falls 1 m in steps of 0.1 s is seen, going down or up [m/s].
fn fall(time_of_impact: TimeOfImpact) -> f64 {
    let mut scene = Scene::<Planar>::new(0.1);
    scene.model.options = Options { time_of_impact, ..source() };
    scene.model.tolerances.max_halvings = 30;
    scene.ground(0.0, 1.0);
    let ball = scene.body(Planar::ball(0.1), 1.0, Pose { position: Planar::at(0.0, 1.1), ..Pose::identity() }, 0.0, 1.0);
    let mut world = World::new(scene.model, scene.state).unwrap();
    let mut fastest = 0.0f64;
    for _ in 0..6 {
        world.step().unwrap();
        fastest = fastest.max(world.state().twists[ball].lin.y.abs());
    }
    fastest
}

#[test]
fn halving_as_printed_keeps_the_velocity_of_the_whole_step() {
    // Four steps end above the floor, at speeds g h, 2 g h, ...; within the fifth the ball arrives.
    let solved = fall(TimeOfImpact::Halving);
    let kept = fall(TimeOfImpact::HalvingLiteral);
    println!("speeds at the floor: solved anew {solved}, kept {kept}, free fall {}", (2.0 * 9.81f64).sqrt());
    assert!(kept > solved + 0.1, "loads act for longer than the move: {kept} and {solved}");
}

#[test]
fn a_step_that_is_not_halved_is_the_same_under_both() {
    let run = |time_of_impact: TimeOfImpact| {
        let mut scene = Scene::<Spatial>::new(0.005);
        scene.model.options = Options { time_of_impact, ..source() };
        scene.ground(0.4, 0.0);
        let ball = scene.body(Spatial::ball(0.2), 1.0, Pose { position: Spatial::at(0.0, 0.2), ..Pose::identity() }, 0.4, 0.0);
        scene.state.twists[ball].lin.x = 2.0;
        let mut world = World::new(scene.model, scene.state).unwrap();
        for _ in 0..100 {
            world.step().unwrap();
        }
        world.state().hash()
    };
    assert_eq!(run(TimeOfImpact::Halving), run(TimeOfImpact::HalvingLiteral));
}

#[test]
fn choices_that_make_no_sense_are_refused_with_their_reason() {
    let refused = |options: Options| {
        let mut model = Model::<Planar>::new("empty");
        model.options = options;
        let error = World::new(model, State::empty()).expect_err("does not mix");
        (error.key.clone(), error.to_string())
    };
    for stabilisation in [Stabilisation::Velocity, Stabilisation::VelocityLiteral] {
        for options in [
            Options { stabilisation, ..Options::default() },
            Options { stabilisation, integrator: Integrator::Euler, ..Options::default() },
            Options { stabilisation, integrator: Integrator::EnergyMomentum, ..Options::default() },
            Options { stabilisation, time_of_impact: TimeOfImpact::Off, ..source() },
            Options { stabilisation, impact: ImpactLaw::Stronge, ..source() },
        ] {
            let (key, words) = refused(options);
            assert_eq!(key, "stabilisation");
            assert!(words.contains("leaves no drift") && words.contains("\"position\""), "{words}");
        }
    }
    for options in [
        Options { time_of_impact: TimeOfImpact::HalvingLiteral, ..Options::default() },
        Options { time_of_impact: TimeOfImpact::HalvingLiteral, integrator: Integrator::Euler, ..Options::default() },
        Options { integrator: Integrator::Verlet, time_of_impact: TimeOfImpact::HalvingLiteral, ..source() },
    ] {
        let (key, words) = refused(options);
        assert_eq!(key, "time_of_impact");
        assert!(words.contains("keeps the velocity"), "{words}");
    }
}

#[test]
fn they_have_no_derivative_and_say_so() {
    for (options, wanted) in [
        (Options { stabilisation: Stabilisation::Velocity, ..source() }, "stabilisation"),
        (Options { stabilisation: Stabilisation::VelocityLiteral, ..source() }, "stabilisation"),
        (Options { time_of_impact: TimeOfImpact::HalvingLiteral, ..source() }, "time_of_impact"),
    ] {
        let world = pendulum::<Planar>(options);
        let rollout = world.rollout(3, &[], Tape::Full).unwrap();
        let bar = Cotangents { poses: vec![0.0; 3], twists: vec![1.0; 3] };
        match rollout.backward(&bar) {
            Err(GradientError::Choice { key, .. }) => assert_eq!(key, wanted),
            other => panic!("{wanted}: {:?}", other.map(|_| ())),
        }
    }
    assert!(
        pendulum::<Planar>(source())
            .rollout(3, &[], Tape::Full)
            .unwrap()
            .backward(&Cotangents { poses: vec![0.0; 3], twists: vec![1.0; 3] })
            .is_ok()
    );
}
