//! From a description to a joint: what is missing, what is too much, what is out of range.

use super::joint::Joint;
use super::kind::JointKind;
use super::parameter::Measures;
use super::spec::{Aim, JointSpec, Motor};
use crate::error::ModelError;
use carom_math::{Pose, Space, Vector};
use std::f64::consts::{PI, TAU};

/// Largest cosine between the axes of a universal joint that still reads as a right angle: coordinates written to six digits or more
/// pass and are made exact, anything further off is a different joint.
const RIGHT_ANGLE: f64 = 1e-5;

/// An error about a key of the joint.
fn fault<S: Space>(spec: &JointSpec<S>, key: &str, message: impl Into<String>) -> ModelError {
    ModelError::new(format!("joint \"{}\"", spec.name), key, message)
}

/// Words of the kinds that pass, quoted and in order.
fn names(pass: impl Fn(JointKind) -> bool) -> String {
    JointKind::ALL.into_iter().filter(|&kind| pass(kind)).map(|kind| format!("\"{}\"", kind.name())).collect::<Vec<_>>().join(", ")
}

/// A joint from its description at the start poses, theory (3.3)-(3.11).
pub(super) fn build<S: Space>(spec: JointSpec<S>, a: &Pose<S>, b: &Pose<S>) -> Result<Joint<S>, ModelError> {
    let kind = spec.kind;
    if !kind.exists_in::<S>() {
        let message = format!("found \"{}\", which exists only in space; the plane has {}", kind.name(), names(|k| k.exists_in::<S>()));
        return Err(fault(&spec, "kind", message));
    }
    if spec.bodies[0] == spec.bodies[1] {
        return Err(fault(&spec, "between", "needs two different bodies, or one and \"world\""));
    }
    if !a.is_finite() || !b.is_finite() {
        return Err(fault(&spec, "between", "needs bodies with finite positions"));
    }
    check_keys(&spec)?;
    check_coordinate(&spec)?;

    let points = anchors(&spec, a, b)?;
    let axes = axes(&spec)?;
    let apart = points[0] - points[1];
    let distance = apart.norm();
    let measures = measures(&spec, distance)?;
    let mut joint: Joint<S> = Joint {
        name: String::new(),
        kind,
        bodies: spec.bodies,
        anchors: [a.local_point(points[0]), b.local_point(points[1])],
        axes: [a.local_direction(axes[0]), b.local_direction(axes[1])],
        across: S::tangents(a.local_direction(axes[0])),
        reference: S::compose(S::inverse(b.rotation), a.rotation),
        direction: S::Lin::zero(),
        measures,
        limits: spec.limits,
        motor: spec.motor,
        friction: spec.friction,
        armature: spec.armature,
        collide: spec.collide,
    };
    if kind.keys::<S>().contains(&"anchors") {
        let mut direction = apart.unit();
        if direction == S::Lin::zero() {
            direction[0] = 1.0;
        }
        joint.direction = a.local_direction(direction);
    }
    if !(joint.anchors.iter().all(|x| x.is_finite()) && distance.is_finite()) {
        return Err(fault(&spec, kind.keys::<S>()[0], "lies too far away for a number to hold"));
    }
    joint.name = spec.name;
    Ok(joint)
}

/// Every key that places the joint belongs to its kind.
fn check_keys<S: Space>(spec: &JointSpec<S>) -> Result<(), ModelError> {
    let given = [
        ("anchor", spec.anchor.is_some()),
        ("anchors", spec.anchors.is_some()),
        ("axis", spec.axis.is_some()),
        ("axes", spec.axes.is_some()),
    ];
    let measures = spec.measures.pairs().map(|(key, value)| (key, value.is_some()));
    let keys = spec.kind.keys::<S>();
    for (key, present) in given.into_iter().chain(measures) {
        if present && !keys.contains(&key) {
            let place = if S::DIM == 2 { " in the plane" } else { "" };
            let message = format!("a {}{place} does not take it; it takes {}", spec.kind.name(), keys.join(", "));
            return Err(fault(spec, key, message));
        }
    }
    Ok(())
}

/// Limits, motor and friction act on one free coordinate and are in range.
fn check_coordinate<S: Space>(spec: &JointSpec<S>) -> Result<(), ModelError> {
    let kind = spec.kind;
    let given = [
        ("limits", spec.limits.is_some()),
        ("motor", spec.motor.is_some()),
        ("friction", spec.friction != 0.0),
        ("armature", spec.armature != 0.0),
    ];
    for (key, present) in given {
        if present && !kind.has_coordinate::<S>() {
            let allowed = names(|k| k.exists_in::<S>() && k.has_coordinate::<S>());
            let message = format!("a {} has no single free coordinate for it to act on; {allowed} have one", kind.name());
            return Err(fault(spec, key, message));
        }
    }
    if let Some([low, high]) = spec.limits {
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return Err(fault(spec, "limits", format!("found [{low}, {high}], needs two finite numbers, the lower first")));
        }
        // In space turns are not counted: the start must lie on the turn around the middle, and the limits must not overlap on it.
        let angular = matches!(kind, JointKind::Hinge | JointKind::Ball);
        if S::ANG > 1 && angular && !(high - low < TAU && (0.5 * (low + high)).abs() <= PI) {
            let message = format!(
                "found [{low}, {high}]; the angle of a hinge in space does not count turns: limits need to span less than a turn, \
                 with their middle within half a turn of 0"
            );
            return Err(fault(spec, "limits", message));
        }
    }
    if let Some(motor) = spec.motor {
        check_motor(spec, motor)?;
    }
    at_least_zero(spec, "armature", spec.armature)?;
    at_least_zero(spec, "friction", spec.friction)
}

/// The numbers of a motor.
fn check_motor<S: Space>(spec: &JointSpec<S>, motor: Motor) -> Result<(), ModelError> {
    let finite = |key: &str, value: f64| {
        if value.is_finite() { Ok(()) } else { Err(fault(spec, key, format!("found {value}, needs a finite number"))) }
    };
    match motor {
        Motor::Velocity { velocity, max } => {
            finite("motor.velocity", velocity)?;
            at_least_zero(spec, "motor.max", max)
        }
        Motor::Position { position, stiffness, damping, max } => {
            finite("motor.position", position)?;
            at_least_zero(spec, "motor.stiffness", stiffness)?;
            at_least_zero(spec, "motor.damping", damping)?;
            at_least_zero(spec, "motor.max", max)
        }
        // A control needs no clamp: it is a given force, not a solved one.
        Motor::Control { max } => clamp(spec, max),
        Motor::Sprung { position, stiffness, damping, max } => {
            finite("motor.position", position)?;
            at_least_zero(spec, "motor.stiffness", stiffness)?;
            at_least_zero(spec, "motor.damping", damping)?;
            clamp(spec, max)
        }
        Motor::Servo { aim, target, stiffness, damping, max, .. } => {
            finite("motor.target", target)?;
            at_least_zero(spec, "motor.stiffness", stiffness)?;
            at_least_zero(spec, "motor.damping", damping)?;
            if aim == Aim::Velocity && stiffness != 0.0 {
                return Err(fault(spec, "motor.stiffness", "a velocity servo has none: it pulls by its damping"));
            }
            clamp(spec, max)
        }
    }
}

/// The clamp of a control: a number >= 0, or infinity.
fn clamp<S: Space>(spec: &JointSpec<S>, max: f64) -> Result<(), ModelError> {
    if max >= 0.0 { Ok(()) } else { Err(fault(spec, "motor.max", format!("found {max}, needs a number >= 0"))) }
}

/// A finite number >= 0.
fn at_least_zero<S: Space>(spec: &JointSpec<S>, key: &str, value: f64) -> Result<(), ModelError> {
    if value.is_finite() && value >= 0.0 { Ok(()) } else { Err(fault(spec, key, format!("found {value}, needs a finite number >= 0"))) }
}

/// The world anchors of a and b at the start.
fn anchors<S: Space>(spec: &JointSpec<S>, a: &Pose<S>, b: &Pose<S>) -> Result<[S::Lin; 2], ModelError> {
    let finite = |key: &str, points: [S::Lin; 2]| {
        if points.iter().all(|x| x.is_finite()) { Ok(points) } else { Err(fault(spec, key, "needs finite numbers")) }
    };
    if spec.kind.keys::<S>().contains(&"anchors") {
        return match spec.anchors {
            Some(points) => finite("anchors", points),
            None => Err(fault(spec, "anchors", format!("missing: a {} needs a world point on each body", spec.kind.name()))),
        };
    }
    match spec.anchor {
        Some(point) => finite("anchor", [point; 2]),
        // Any point welds; the middle of the bodies keeps both arms short and favours neither.
        None if spec.kind == JointKind::Weld => {
            let point = match spec.bodies {
                [None, _] => b.position,
                [_, None] => a.position,
                _ => a.position * 0.5 + b.position * 0.5,
            };
            Ok([point; 2])
        }
        None => Err(fault(spec, "anchor", format!("missing: a {} needs a world point", spec.kind.name()))),
    }
}

/// The world axes of a and b at the start, of unit length; zero for a kind without.
fn axes<S: Space>(spec: &JointSpec<S>) -> Result<[S::Lin; 2], ModelError> {
    let keys = spec.kind.keys::<S>();
    let unit = |key: &str, axis: S::Lin| {
        let size = axis.max_abs();
        if !axis.is_finite() {
            Err(fault(spec, key, "needs finite numbers"))
        } else if size < f64::MIN_POSITIVE {
            Err(fault(spec, key, "found a zero vector, needs a direction"))
        } else {
            // Scaled first, so that no square over- or underflows.
            Ok((axis * (1.0 / size)).unit())
        }
    };
    if keys.contains(&"axis") {
        let missing = || fault(spec, "axis", format!("missing: a {} needs a world direction", spec.kind.name()));
        let axis = unit("axis", spec.axis.ok_or_else(missing)?)?;
        return Ok([axis; 2]);
    }
    if keys.contains(&"axes") {
        let missing = || fault(spec, "axes", format!("missing: a {} needs a world direction for each body", spec.kind.name()));
        let [x, y] = spec.axes.ok_or_else(missing)?;
        let (x, y) = (unit("axes", x)?, unit("axes", y)?);
        let cosine = x.dot(y);
        if cosine.abs() > RIGHT_ANGLE {
            return Err(fault(spec, "axes", format!("need to be perpendicular, found an angle with cosine {cosine}")));
        }
        return Ok([x, (y - x * cosine).unit()]);
    }
    Ok([S::Lin::zero(); 2])
}

/// The numbers of its kind: given, or for lengths that of the start; zero where the kind has none.
fn measures<S: Space>(spec: &JointSpec<S>, distance: f64) -> Result<Measures, ModelError> {
    let keys = spec.kind.keys::<S>();
    let given = |key: &str, value: Option<f64>, wanted: &str, good: &dyn Fn(f64) -> bool| match value {
        Some(value) if !(value.is_finite() && good(value)) => Err(fault(spec, key, format!("found {value}, needs {wanted}"))),
        _ => Ok(value),
    };
    let Measures { length, lead, rest, stiffness, damping } = spec.measures;
    let mut out = Measures::default();
    if keys.contains(&"length") {
        let missing =
            || fault(spec, "length", "missing, and the anchors coincide at the start: give a length, or join them with a \"ball\"");
        let length = given("length", length, "a positive number of metres", &|x| x > 0.0)?.or((distance > 0.0).then_some(distance));
        out.length = length.ok_or_else(missing)?;
    }
    if keys.contains(&"lead") {
        let lead = given("lead", lead, "a finite number of metres per turn other than 0", &|x| x != 0.0)?;
        out.lead = lead.ok_or_else(|| fault(spec, "lead", format!("missing: a {} needs its advance per turn", spec.kind.name())))?;
    }
    if keys.contains(&"rest") {
        let number = |key: &str, value| given(key, value, "a finite number >= 0", &|x| x >= 0.0);
        (out.stiffness, out.damping) = (number("stiffness", stiffness)?.unwrap_or(0.0), number("damping", damping)?.unwrap_or(0.0));
        if out.stiffness == 0.0 && out.damping == 0.0 {
            return Err(fault(spec, "stiffness", "a spring needs a stiffness or a damping above 0"));
        }
        out.rest = number("rest", rest)?.unwrap_or(distance);
    }
    Ok(out)
}
