//! What never changes during a run: bodies, joints, pairs, forces, choices, tolerances.

use crate::body_load::Resistances;
use crate::combine::{Coefficients, Combination};
use crate::constraints::Joint;
use crate::coupling::Coupling;
use crate::error::ModelError;
use crate::keyed::worded;
use crate::options::{FrictionCone, Gyroscopic, ImpactLaw, Options, SolverChoice, Stabilisation, TimeOfImpact};
use crate::tolerances::Tolerances;
use carom_geometry::{Geometry, MassProperties};
use carom_math::{Pose, Vector};

worded! {
    /// How a body answers to forces.
    #[derive(Default)]
    BodyKind {
        /// Moves by its dynamics.
        #[default]
        Dynamic = "dynamic",
        /// Never moves.
        Static = "static",
        /// Moves with its velocity, whatever pushes it.
        Kinematic = "kinematic",
    }
}

/// A shape placed in its body, whose origin is the centre of mass.
#[derive(Clone, Debug, PartialEq)]
pub struct Collider<G: Geometry> {
    /// The solid.
    pub shape: G::Shape,
    /// Its frame in the body's.
    pub local: Pose<G>,
}

/// A rigid body.
#[derive(Clone, Debug, PartialEq)]
pub struct Body<G: Geometry> {
    /// Unique name.
    pub name: String,
    /// Dynamic, static or kinematic.
    pub kind: BodyKind,
    /// Mass \[kg\]; ignored unless dynamic.
    pub mass: f64,
    /// Inertia about the centre of mass in the body frame [kg m^2]; ignored unless dynamic.
    pub inertia: G::Inertia,
    /// Its shapes; none for a point mass.
    pub colliders: Vec<Collider<G>>,
    /// What it brings to a contact.
    pub surface: Coefficients,
    /// How a pair combines them with those of the other body.
    pub combine: Combination,
    /// Groups it belongs to, one bit each.
    pub group: u64,
    /// Groups it collides with, one bit each.
    pub mask: u64,
    /// What resists its motion.
    pub resistances: Resistances,
    /// World axes along which it is held.
    pub locked: G::Lin,
    /// Whether its rotation is held.
    pub locked_rotation: bool,
    /// Colour for people, 0xrrggbb.
    pub color: u32,
}

impl<G: Geometry> Body<G> {
    /// A body with these mass properties and nothing else: no shapes, friction 0.5, restitution 0, in every group.
    pub fn new(name: impl Into<String>, kind: BodyKind, mass: f64, inertia: G::Inertia) -> Self {
        Body {
            name: name.into(),
            kind,
            mass,
            inertia,
            colliders: Vec::new(),
            surface: Coefficients { friction: 0.5, ..Coefficients::default() },
            combine: Combination::default(),
            group: u64::MAX,
            mask: u64::MAX,
            resistances: Resistances::default(),
            locked: G::Lin::zero(),
            locked_rotation: false,
            color: 0x0088_8888,
        }
    }
    /// Largest extent over its shapes \[m\]; 0 without shapes.
    pub fn extent(&self) -> f64 {
        self.colliders.iter().fold(0.0, |m, c| m.max(G::extent(&c.shape)))
    }
    /// Moves the origin of the shapes to their common centroid: returns the mass properties at unit density about it, and
    /// `None` when no shape has volume.
    pub fn centre_shapes(&mut self) -> Option<MassProperties<G>> {
        let mut total: Option<MassProperties<G>> = None;
        for collider in &self.colliders {
            if let Some(part) = G::mass_properties(&collider.shape) {
                let part = part.placed(&collider.local);
                total = Some(total.map_or(part, |t| t.plus(&part)));
            }
        }
        let total = total?;
        for collider in &mut self.colliders {
            collider.local.position -= total.centre;
        }
        Some(total)
    }
}

/// What two bodies do together, where it is not combined from what they do alone.
#[derive(Clone, Debug, PartialEq)]
pub struct PairRule {
    /// The two bodies.
    pub bodies: [usize; 2],
    /// Coefficients, where they are given.
    pub coefficients: Coefficients<Option<f64>>,
    /// Impact law, if given.
    pub impact: Option<ImpactLaw>,
    /// Whether they collide, if given.
    pub collide: Option<bool>,
}

/// A force or torque on a body, constant in world axes, or scaled by a control.
#[derive(Clone, Debug, PartialEq)]
pub struct Force<G: Geometry> {
    /// The body.
    pub body: usize,
    /// Force \[N\], world axes.
    pub force: G::Lin,
    /// Torque \[N m\], world axes.
    pub torque: G::Ang,
    /// Where it acts, body frame, from the centre of mass \[m\].
    pub at: G::Lin,
    /// First moment it acts \[s\].
    pub from: f64,
    /// Last moment it acts \[s\].
    pub until: f64,
    /// Whether a control scales it.
    pub control: bool,
}

/// A whole scene, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Model<G: Geometry> {
    /// For people.
    pub name: String,
    /// Bodies in order.
    pub bodies: Vec<Body<G>>,
    /// Joints in order.
    pub joints: Vec<Joint<G>>,
    /// Couplings of joint coordinates in order.
    pub couplings: Vec<Coupling>,
    /// Rules of pairs.
    pub pairs: Vec<PairRule>,
    /// Forces in order.
    pub forces: Vec<Force<G>>,
    /// Gravity [m/s^2].
    pub gravity: G::Lin,
    /// Time step \[s\].
    pub step: f64,
    /// Choices.
    pub options: Options,
    /// Tolerances.
    pub tolerances: Tolerances,
}

impl<G: Geometry> Model<G> {
    /// An empty scene with default gravity (9.81 downwards along the last axis), step 5 ms and default choices.
    pub fn new(name: impl Into<String>) -> Self {
        let mut gravity = G::Lin::zero();
        gravity[G::DIM - 1] = -9.81;
        Model {
            name: name.into(),
            bodies: Vec::new(),
            joints: Vec::new(),
            couplings: Vec::new(),
            pairs: Vec::new(),
            forces: Vec::new(),
            gravity,
            step: 0.005,
            options: Options::default(),
            tolerances: Tolerances::default(),
        }
    }

    /// Number of controls: motors with `control`, then forces with `control`.
    pub fn control_count(&self) -> usize {
        self.joints.iter().filter(|j| j.is_controlled()).count() + self.forces.iter().filter(|f| f.control).count()
    }

    /// Checks everything a step relies on; the first fault is named.
    pub fn check(&self, state: &crate::state::State<G>) -> Result<(), ModelError> {
        if !(self.step.is_finite() && self.step > 0.0) {
            return Err(ModelError::new("scene", "step", format!("found {}, needs a positive number of seconds", self.step)));
        }
        if !self.gravity.is_finite() {
            return Err(ModelError::new("scene", "gravity", "needs finite numbers"));
        }
        if let Some((name, value, allowed)) = self.tolerances.fault() {
            return Err(ModelError::new("tolerances", name, format!("found {value}, needs {allowed}")));
        }
        if state.poses.len() != self.bodies.len() || state.twists.len() != self.bodies.len() {
            return Err(ModelError::new(
                "state",
                "",
                format!("has {} poses and {} velocities for {} bodies", state.poses.len(), state.twists.len(), self.bodies.len()),
            ));
        }
        for (i, body) in self.bodies.iter().enumerate() {
            let part = || format!("body \"{}\"", body.name);
            if body.kind == BodyKind::Dynamic {
                if !(body.mass.is_finite() && body.mass > 0.0) {
                    return Err(ModelError::new(part(), "mass", format!("found {}, needs a positive number of kilograms", body.mass)));
                }
                if G::inertia_invert(body.inertia).is_none() && !body.locked_rotation {
                    return Err(ModelError::new(part(), "inertia", "needs to be positive definite"));
                }
            }
            let coefficients = Coefficients::KEYS.iter().zip(body.surface.list());
            for (key, value) in coefficients.chain(Resistances::KEYS.iter().zip(body.resistances.list())) {
                within(key, value).map_err(|fault| ModelError::new(part(), *key, fault))?;
            }
            if !state.poses[i].is_finite() {
                return Err(ModelError::new(part(), "position", "needs finite numbers"));
            }
            if !state.twists[i].is_finite() {
                return Err(ModelError::new(part(), "velocity", "needs finite numbers"));
            }
        }
        let count = self.bodies.len();
        let inside = self.options.impact == ImpactLaw::Newton && self.options.time_of_impact != TimeOfImpact::Event;
        let scheme = self.options.scheme();
        if inside && scheme.by_means() {
            let reason = "\"energy-momentum\" does not mix with impact \"newton\" unless time_of_impact is \"event\": restitution would be part of \
                          the solve, and a mean velocity has no rebound";
            return Err(ModelError::new("scene", "integrator", reason));
        }
        let Options { impact, time_of_impact, stabilisation, .. } = self.options;
        if time_of_impact == TimeOfImpact::HalvingLiteral && !(scheme.one_solve() && impact == ImpactLaw::Newton) {
            let reason = "\"halving-literal\" keeps the velocity of the whole step while the step shrinks; that is a choice of integrator \"euler\" with \
                          impact \"newton\", whose velocity comes from one solve";
            return Err(ModelError::new("scene", "time_of_impact", reason));
        }
        if stabilisation != Stabilisation::Position && !self.options.start_pose_only() {
            let reason = "is a choice of integrator \"euler\" with impact \"newton\" and time_of_impact \"halving\" or \"halving-literal\"; every other \
                          move closes its joints itself and leaves no drift; allowed: \"position\"";
            return Err(ModelError::new("scene", "stabilisation", reason));
        }
        let pyramid = G::TANGENTS > 1 && self.options.friction_cone != FrictionCone::Round;
        if pyramid && self.options.solver == SolverChoice::Articulated {
            let reason = "\"articulated\" inserts contacts one by one, each solved on the round cone; with a pyramid in space allowed: \"auto\", \
                          \"interior-point\"";
            return Err(ModelError::new("scene", "solver", reason));
        }
        if self.options.gyroscopic == Gyroscopic::Forward && !scheme.kicks_again() {
            return Err(ModelError::new("scene", "gyroscopic", "\"forward\" is a choice of integrator \"verlet\" alone"));
        }
        if inside && self.pairs.iter().any(|rule| rule.impact.is_some_and(|law| law != ImpactLaw::Newton)) {
            let reason =
                "names another law than the scene's \"newton\", whose restitution is part of the solve unless time_of_impact is \"event\"";
            return Err(ModelError::new("pair", "impact", reason));
        }
        for rule in &self.pairs {
            if rule.bodies.iter().any(|&b| b >= count) || rule.bodies[0] == rule.bodies[1] {
                return Err(ModelError::new("pair", "between", "needs two different bodies of the scene"));
            }
            for (key, value) in Coefficients::KEYS.iter().zip(rule.coefficients.list()) {
                value.map_or(Ok(()), |value| within(key, value)).map_err(|fault| ModelError::new("pair", *key, fault))?;
            }
        }
        for force in &self.forces {
            if force.body >= count {
                return Err(ModelError::new("force", "body", "needs a body of the scene"));
            }
        }
        for joint in &self.joints {
            if !joint.kind.has_mean_rows() && scheme.by_means() {
                let kind = joint.kind.name();
                let reason = format!(
                    "\"energy-momentum\" has no mean row for a {kind}: its rows are no products of directions; use \"verlet\" or \"euler\""
                );
                return Err(ModelError::new(format!("joint \"{}\"", joint.name), "kind", reason));
            }
            for body in joint.bodies.iter().flatten() {
                if *body >= count {
                    return Err(ModelError::new(format!("joint \"{}\"", joint.name), "between", "needs bodies of the scene"));
                }
            }
            if joint.has_rotor() && !joint.is_angular() && scheme.by_means() {
                let reason = "a rotor that turns with a slide is not kept by \"energy-momentum\": its rate would be state of its own; \
                              integrator \"verlet\" takes it";
                return Err(ModelError::new(format!("joint \"{}\"", joint.name), "armature", reason));
            }
        }
        Coupling::check_all(self)
    }

    /// Index of a body by name.
    pub fn body(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|b| b.name == name)
    }
}

/// Least and greatest value of a coefficient or a resistance, whose keys may begin with `pair_`; `None` for other keys.
pub fn bounds(key: &str) -> Option<[f64; 2]> {
    match key.strip_prefix("pair_").unwrap_or(key) {
        "restitution" => Some([0.0, 1.0]),
        key if Coefficients::KEYS.contains(&key) || Resistances::KEYS.contains(&key) => Some([0.0, f64::INFINITY]),
        _ => None,
    }
}

/// Refuses a value out of the bounds of its key, or one that is not finite.
pub(crate) fn within(key: &str, value: f64) -> Result<(), String> {
    match bounds(key) {
        Some([least, greatest]) if !(value.is_finite() && (least..=greatest).contains(&value)) => {
            let needs = if greatest.is_finite() { "a number from 0 to 1" } else { "a number >= 0" };
            Err(format!("found {value}, needs {needs}"))
        }
        _ => Ok(()),
    }
}
