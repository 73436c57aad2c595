//! Small random scenes: 2 to 6 bodies, ground, perhaps walls, joints; the same scene for the same number on every platform.

use crate::random::Random;
use crate::scene::Scene;
use crate::stage::Stage;
use carom_dynamics::options::{FrictionCone, ImpactLaw, Integrator, Order, TimeOfImpact};
use carom_dynamics::{BodyKind, Joint, JointKind, JointSpec, Motor};
use carom_math::{Pose, Twist, Vector};

/// Least start distance between bodies \[m\].
const CLEARANCE: f64 = 0.02;

/// Scene of a number and its story, without the bodies in `dropped` and their joints. Nothing overlaps at the start.
pub fn random_scene<G: Stage>(number: u64, dropped: &[usize]) -> (Scene<G>, Vec<String>) {
    let mut random = Random::new(number);
    let step = random.pick(&[0.002, 0.005, 0.01]);
    let mut scene = Scene::<G>::new(step);
    let mut story = vec![format!("step {step}")];
    if random.below(4) == 0 {
        scene.model.gravity = G::Lin::zero();
        story.push("no gravity".into());
    }
    let (mu, e) = (random.pick(&[0.0, 0.2, 0.5, 1.0]), random.pick(&[0.0, 0.3, 0.7, 1.0]));
    scene.ground(mu, e);
    story.push(format!("ground mu {mu} e {e}"));
    if random.below(2) == 0 {
        for side in [-1.0, 1.0] {
            scene.fixed(G::half_space(G::at(-side, 0.0)), Pose { position: G::at(2.0 * side, 0.0), rotation: G::identity() }, mu, e);
        }
        story.push("walls at x = -2, 2".into());
    }
    let count = 2 + random.below(5);
    let mut placed: Vec<Option<usize>> = Vec::new();
    for place_number in 0..count {
        let kind = random.below(4);
        let size = random.range(0.15, 0.45);
        let shape = match kind {
            0 => G::ball(size),
            1 => G::cuboid(2.0 * size, random.range(0.5, 2.0) * size),
            2 => G::capsule(random.range(0.5, 2.0) * size, 0.5 * size),
            _ => G::rock(size, &mut || random.unit()),
        };
        let mass = 10f64.powf(random.range(-1.0, 1.0));
        let (mu, e) = (random.range(0.0, 1.0), random.range(0.0, 1.0));
        let lin = G::deep(random.range(-3.0, 3.0), random.range(-1.0, 1.0), random.range(-3.0, 3.0));
        let ang = G::rates(random.range(-6.0, 6.0), random.range(-6.0, 6.0), random.range(-6.0, 6.0));
        // A place of its own: draws until it is clear of everything placed before.
        let mut place = None;
        for _ in 0..200 {
            let position = G::deep(random.range(-1.4, 1.4), random.range(-0.5, 0.5), random.range(0.5, 3.0));
            let rotation = G::exp(G::rates(random.range(-3.0, 3.0), random.range(-2.0, 2.0), random.range(-2.0, 2.0)));
            let pose = Pose { position, rotation };
            let clear = (0..scene.model.bodies.len()).all(|other| {
                let body = &scene.model.bodies[other];
                body.colliders.iter().all(|c| {
                    let there = scene.state.poses[other].compose(&c.local);
                    G::separation(&shape.shape, &pose.compose(&shape.local), &c.shape, &there, f64::INFINITY) > CLEARANCE
                })
            });
            if clear && place.is_none() {
                place = Some(pose);
            }
        }
        match place {
            Some(pose) if !dropped.contains(&place_number) => {
                let body = scene.body(shape, mass, pose, mu, e);
                // The shape's centroid became the origin: put it back where it was found to be clear.
                let moved = scene.model.bodies[body].colliders[0].local;
                let back = pose.direction(shape_shift::<G>(kind, &moved));
                scene.state.poses[body].position += back;
                scene.moving(body, lin, ang);
                story.push(format!(
                    "body {place_number}: {:?} m {mass} at {:?} v {:?} w {:?} mu {mu} e {e}",
                    scene.model.bodies[body].colliders[0].shape,
                    {
                        let mut coordinates = [0.0; 7];
                        scene.state.write_pose(body, &mut coordinates);
                        coordinates[..G::COORDS].to_vec()
                    },
                    lin.as_slice(),
                    ang.as_slice()
                ));
                placed.push(Some(body));
            }
            _ => placed.push(None),
        }
    }
    // Joints between neighbours in the list; velocities of joined bodies are those of one rigid motion, so that the joint agrees.
    for second in 1..count {
        if random.below(3) != 0 {
            continue;
        }
        let kind =
            random.pick(&[JointKind::Hinge, JointKind::Ball, JointKind::Distance, JointKind::Rope, JointKind::Spring, JointKind::Weld]);
        let (Some(a), Some(b)) = (placed[second], placed[second - 1]) else { continue };
        let mut spec = JointSpec::<G>::new(format!("joint {second}"), kind, [Some(a), Some(b)]);
        let (pa, pb) = (scene.state.poses[a], scene.state.poses[b]);
        match kind {
            JointKind::Distance | JointKind::Rope | JointKind::Spring => {
                spec.anchors = Some([pa.position, pb.position]);
                spec.collide = true;
                if kind == JointKind::Spring {
                    spec.measures.stiffness = Some(50.0);
                    spec.measures.damping = Some(0.5);
                }
            }
            _ => {
                spec.anchor = Some((pa.position + pb.position) * 0.5);
                if kind == JointKind::Hinge && G::DIM > 2 {
                    spec.axis = Some(G::deep(0.2, 1.0, 0.1));
                }
            }
        }
        scene.model.joints.push(Joint::new(spec, &pa, &pb).expect("a joint"));
        let lead = scene.state.twists[b];
        let arm = pa.position - pb.position;
        scene.state.twists[a] = Twist { lin: lead.at(arm), ang: lead.ang };
        story.push(format!("{kind:?} between bodies {} and {second}", second - 1));
    }
    (scene, story)
}

/// What the centring of a rock's corners moved it by, in its own frame.
fn shape_shift<G: Stage>(kind: usize, moved: &Pose<G>) -> G::Lin {
    if kind == 3 { -moved.position } else { G::Lin::zero() }
}

/// The same scene made hostile: other choices, heavier and lighter bodies, high speeds, motors, limits, joint friction, a ground that
/// moves. Returns whether the choices promise that nothing overlaps.
pub fn hostile_scene<G: Stage>(number: u64, dropped: &[usize]) -> (Scene<G>, Vec<String>, bool) {
    let (mut scene, mut story) = random_scene::<G>(number, dropped);
    let mut random = Random::new(number ^ 0x00c0_ffee_0000);
    let options = &mut scene.model.options;
    options.impact = random.pick(&[
        ImpactLaw::Auto,
        ImpactLaw::Auto,
        ImpactLaw::Reflections,
        ImpactLaw::GaussSeidel(Order::Lexicographic),
        ImpactLaw::GaussSeidel(Order::Cyclic),
        ImpactLaw::GaussSeidel(Order::Random(5)),
        ImpactLaw::GaussSeidel(Order::Worst),
        ImpactLaw::Stronge,
        ImpactLaw::Newton,
    ]);
    options.integrator = random.pick(&[Integrator::Verlet, Integrator::Verlet, Integrator::Euler]);
    options.time_of_impact = random.pick(&[TimeOfImpact::Event, TimeOfImpact::Event, TimeOfImpact::Halving, TimeOfImpact::Off]);
    options.friction_cone =
        random.pick(&[FrictionCone::Round, FrictionCone::Round, FrictionCone::Polyhedral(4), FrictionCone::Polyhedral(8)]);
    story.push(format!("{options:?}"));
    let tight = options.time_of_impact == TimeOfImpact::Event;
    for (body, twist) in scene.model.bodies.iter_mut().zip(&mut scene.state.twists).filter(|(b, _)| b.kind == BodyKind::Dynamic) {
        let factor = 10f64.powf(random.range(-2.0, 2.0));
        body.mass *= factor;
        body.inertia = G::inertia_scale(body.inertia, factor);
        story.push(format!("{}: mass and inertia times {factor}", body.name));
        if random.below(4) == 0 && !scene.model.joints.iter().any(|j| !j.kind.keys::<G>().is_empty()) {
            twist.lin = twist.lin * 10.0;
            story.push(format!("{}: ten times as fast", body.name));
        }
    }
    for joint in scene.model.joints.iter_mut().filter(|j| j.has_coordinate()) {
        match random.below(4) {
            0 => joint.limits = Some([-0.1, 0.2]),
            1 => joint.motor = Some(Motor::Velocity { velocity: 3.0, max: 5.0 }),
            2 => joint.friction = 1.0,
            _ => joint.motor = Some(Motor::Position { position: 0.5, stiffness: 100.0, damping: 1.0, max: 20.0 }),
        }
        story.push(format!("{}: limits {:?} motor {:?} friction {}", joint.name, joint.limits, joint.motor, joint.friction));
    }
    if random.below(3) == 0 {
        // The ground moves along itself, so that it drags bodies but cannot wedge them.
        scene.model.bodies[0].kind = BodyKind::Kinematic;
        scene.moving(0, G::at(1.5, 0.0), G::rate(0.0));
        story.push("the ground is a belt at 1.5 m/s".into());
    }
    (scene, story, tight)
}
