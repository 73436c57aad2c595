//! A scene under construction: a model and its start state, filled in step by step.

use crate::stage::Stage;
use carom_dynamics::{Body, BodyKind, Collider, Joint, JointKind, JointSpec, Model, State, World};
use carom_math::{Pose, Space, Twist, Vector};

/// A model and its start.
#[derive(Clone, Debug)]
pub struct Scene<G: Stage> {
    /// What never changes.
    pub model: Model<G>,
    /// Where it starts.
    pub state: State<G>,
}

impl<G: Stage> Scene<G> {
    /// Nothing but gravity, with a step \[s\].
    pub fn new(step: f64) -> Self {
        let mut model = Model::new("scene");
        model.step = step;
        Scene { model, state: State::empty() }
    }
    /// The same without gravity.
    pub fn weightless(step: f64) -> Self {
        let mut scene = Scene::new(step);
        scene.model.gravity = G::Lin::zero();
        scene
    }

    fn push(&mut self, mut body: Body<G>, pose: Pose<G>, friction: f64, restitution: f64) -> usize {
        body.surface.friction = friction;
        body.surface.restitution = restitution;
        self.model.bodies.push(body);
        self.state.push(pose, Twist::zero());
        self.model.bodies.len() - 1
    }
    /// A static body.
    pub fn fixed(&mut self, collider: Collider<G>, pose: Pose<G>, friction: f64, restitution: f64) -> usize {
        let mut body = Body::new(format!("fixed {}", self.model.bodies.len()), BodyKind::Static, 0.0, G::inertia_zero());
        body.colliders.push(collider);
        self.push(body, pose, friction, restitution)
    }
    /// Level ground at height 0.
    pub fn ground(&mut self, friction: f64, restitution: f64) -> usize {
        self.slope(0.0, friction, restitution)
    }
    /// A plane through the origin that rises with x at an angle \[rad\].
    pub fn slope(&mut self, angle: f64, friction: f64, restitution: f64) -> usize {
        self.fixed(G::half_space(G::at(-angle.sin(), angle.cos())), Pose::identity(), friction, restitution)
    }
    /// A dynamic body with the mass properties of its shape, at rest.
    pub fn body(&mut self, collider: Collider<G>, mass: f64, pose: Pose<G>, friction: f64, restitution: f64) -> usize {
        let mut body = Body::new(format!("body {}", self.model.bodies.len()), BodyKind::Dynamic, mass, G::inertia_zero());
        body.colliders.push(collider);
        let unit = body.centre_shapes().expect("the shape has volume");
        body.inertia = unit.scaled(mass / unit.mass).inertia;
        self.push(body, pose, friction, restitution)
    }
    /// A body without shape.
    pub fn particle(&mut self, mass: f64, inertia: G::Inertia, pose: Pose<G>) -> usize {
        let body = Body::new(format!("body {}", self.model.bodies.len()), BodyKind::Dynamic, mass, inertia);
        self.push(body, pose, 0.0, 0.0)
    }
    /// Sets the velocity of a body.
    pub fn moving(&mut self, body: usize, lin: G::Lin, ang: G::Ang) {
        self.state.twists[body] = Twist { lin, ang };
    }
    /// Adds a joint of which `fill` says the rest.
    pub fn joint(&mut self, kind: JointKind, bodies: [Option<usize>; 2], fill: impl FnOnce(&mut JointSpec<G>)) -> usize {
        let mut spec = JointSpec::new(format!("joint {}", self.model.joints.len()), kind, bodies);
        fill(&mut spec);
        let pose = |side: usize| bodies[side].map_or_else(Pose::identity, |b| self.state.poses[b]);
        let joint = Joint::new(spec, &pose(0), &pose(1)).expect("a joint that makes sense");
        self.model.joints.push(joint);
        self.model.joints.len() - 1
    }
    /// A hinge in the vertical plane at a world point.
    pub fn hinge(&mut self, a: usize, b: Option<usize>, anchor: G::Lin) -> usize {
        self.joint(JointKind::Hinge, [Some(a), b], |spec| {
            spec.anchor = Some(anchor);
            if G::DIM > 2 {
                spec.axis = Some(G::deep(0.0, 1.0, 0.0));
            }
        })
    }
    /// The scene in motion.
    pub fn world(self) -> World<G> {
        World::new(self.model, self.state).expect("a scene that makes sense")
    }
}

/// A pose in the vertical plane.
pub fn pose<G: Stage>(x: f64, up: f64, angle: f64) -> Pose<G> {
    Pose { position: G::at(x, up), rotation: G::turned(angle) }
}

/// Steps to a time, which must be a whole number of steps away.
pub fn run<G: Stage>(world: &mut World<G>, time: f64) {
    let steps = ((time - world.state().time) / world.model().step).round() as usize;
    for _ in 0..steps {
        world.step().unwrap_or_else(|error| panic!("{error}"));
    }
    let left = (world.state().time - time).abs();
    assert!(left < 1e-6 * world.model().step.max(time * 1e-6), "time {time} is no multiple of the step: {left} s are left");
}

/// Largest distance of a dynamic body from where it was, and largest speed [m, m/s].
pub fn stirred<S: Space>(before: &State<S>, after: &State<S>) -> (f64, f64) {
    let mut worst = (0.0f64, 0.0f64);
    for body in 0..before.poses.len() {
        worst.0 = worst.0.max((after.poses[body].position - before.poses[body].position).norm());
        worst.1 = worst.1.max(after.twists[body].lin.norm()).max(after.twists[body].ang.norm());
    }
    worst
}
