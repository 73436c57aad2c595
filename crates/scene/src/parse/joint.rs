//! `[[joint]]` and its motor.

use crate::keys::{self, Bound, JointRule};
use crate::parse::exactly_one;
use crate::read::{Fields, Node, Part, Reader, number, span, text};
use crate::tree::{At, CouplingTree, JointTree};
use carom_dynamics::constraints::Measures;
use carom_dynamics::{Aim, JointKind, Motor, Tendon};

/// Keys every kind of joint takes.
const COMMON: [&str; 4] = ["name", "kind", "between", "collide"];

/// Reads a joint. In a repeat `self`, `next` and `across` may stand for bodies.
pub fn joint<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: Part, in_repeat: bool) -> Option<JointTree> {
    let f = r.table(&keys::JOINT, part, node, &["kind", "between"])?;
    let dimension = r.dimension;
    let word = f.text("kind")?;
    if word == "coupling" {
        r.sink.push(f.fault("kind", "stands in a [[joint]] of the scene only"));
        return None;
    }
    let (kind, rule) = (JointKind::named(&word)?, JointRule::of(&word)?);
    if !rule.space.holds(dimension) {
        let there = keys::JOINT_RULES.iter().filter(|rule| rule.space.holds(dimension)).map(|rule| rule.kind);
        r.sink.push(f.fault("kind", "exists only in space").quoted().words(&word, there));
        return None;
    }
    let (needs, takes) = (rule.needs(dimension), rule.takes(dimension));
    for key in f.keys().map(|k| k.name) {
        if !COMMON.contains(&key) && !needs.contains(&key) && !takes.contains(&key) {
            let list: Vec<&str> = needs.iter().chain(takes).copied().collect();
            let list = if list.is_empty() { "no keys of its own".to_string() } else { list.join(", ") };
            r.sink.push(f.fault(key, format!("a {word} does not take it")).allowed(list));
        }
    }
    for key in needs {
        // A key that is there but failed its own check has been reported already.
        if !f.has(key) && !is_written(node, key) {
            let allowed = keys::JOINT.key(key).map_or(String::new(), |k| r.describe(k));
            r.sink.push(f.part.fault(f.span.clone(), key, format!("missing: a {word} needs it")).allowed(allowed));
        }
    }
    let between = f.two_names("between")?;
    for name in &between {
        if !in_repeat && ["self", "next", "across"].contains(&name.value.as_str()) {
            let fault = f.part.fault(name.span.clone(), "between", "exists only in the joint of a [[repeat]]");
            r.sink.push(fault.quoted().allowed("the name of a body, or \"world\""));
        }
    }
    if between[0].value == between[1].value {
        r.sink.push(f.fault("between", "joins a body to itself").quoted().allowed("two different bodies, or one and \"world\""));
    }
    let motor = f.raw("motor").and_then(|node| motor(r, node, f.part.inner("motor")));
    Some(JointTree {
        name: f.text_at("name"),
        kind,
        between,
        anchor: f.vector("anchor"),
        anchors: f.two("anchors"),
        axis: f.vector("axis"),
        axes: f.two("axes"),
        measures: Measures::by_key(|key| f.number(key)),
        limits: f.pair("limits"),
        motor,
        friction: f.number("friction").unwrap_or(0.0),
        armature: f.number("armature").unwrap_or(0.0),
        collide: f.flag("collide").unwrap_or(false),
        places: f.places(),
    })
}

fn is_written(node: &Node<'_>, key: &str) -> bool {
    match node.get_ref() {
        toml::de::DeValue::Table(entries) => entries.keys().any(|k| k.get_ref().as_ref() == key),
        _ => false,
    }
}

fn motor<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: Part) -> Option<Motor> {
    let f = r.table(&keys::MOTOR, part, node, &[])?;
    if is_written(node, "servo") {
        return servo(r, &f);
    }
    if f.has("target") {
        r.sink.push(f.fault("target", "goes with \"servo\" only"));
        return None;
    }
    // A control may have a spring beside it.
    let words: &[&str] = if f.has("control") { &["velocity", "control"] } else { &["velocity", "position", "control"] };
    let mode = exactly_one(r, &f, &keys::MOTOR, node, words)?;
    for key in ["stiffness", "damping"] {
        if f.has(key) && mode == "velocity" {
            r.sink.push(f.fault(key, "goes with \"position\" or \"control\" only"));
            return None;
        }
    }
    let [position, stiffness, damping] = ["position", "stiffness", "damping"].map(|key| f.number(key).unwrap_or(0.0));
    if mode == "control" && f.has("position") && stiffness == 0.0 {
        r.sink.push(f.fault("position", "says where the spring beside a control rests, and there is none").allowed("a stiffness above 0"));
        return None;
    }
    if mode != "control" && !f.has("max") {
        if !is_written(node, "max") {
            let fault = f.part.fault(f.span.clone(), "max", "missing: only a control may be without a limit");
            r.sink.push(fault.allowed("a number >= 0 [N m or N]"));
        }
        return None;
    }
    let max = f.number("max").unwrap_or(f64::INFINITY);
    match mode {
        "velocity" => Some(Motor::Velocity { velocity: f.number("velocity")?, max }),
        "position" => Some(Motor::Position { position: f.number("position")?, stiffness, damping, max }),
        _ if f.flag("control")? => {
            let sprung = [stiffness, damping] != [0.0; 2];
            Some(if sprung { Motor::Sprung { position, stiffness, damping, max } } else { Motor::Control { max } })
        }
        _ => None,
    }
}

/// A motor with a target.
fn servo(r: &mut Reader<'_>, f: &Fields<'_, '_>) -> Option<Motor> {
    let aim = if f.text("servo")? == "position" { Aim::Position } else { Aim::Velocity };
    if let Some(key) = ["velocity", "position"].into_iter().find(|key| f.has(key)) {
        r.sink.push(f.fault(key, "a servo has a target instead").allowed("target, or control = true"));
        return None;
    }
    let control = f.flag("control").unwrap_or(false);
    if control && f.has("target") {
        r.sink.push(f.fault("target", "the control is the target"));
        return None;
    }
    let [target, stiffness, damping] = ["target", "stiffness", "damping"].map(|key| f.number(key).unwrap_or(0.0));
    if aim == Aim::Velocity && f.has("stiffness") {
        r.sink.push(f.fault("stiffness", "a velocity servo has none: it pulls by its damping"));
        return None;
    }
    if stiffness == 0.0 && (damping == 0.0 || aim == Aim::Position) {
        let (key, wanted) = if aim == Aim::Position { ("stiffness", "a stiffness above 0") } else { ("damping", "a damping above 0") };
        r.sink.push(f.part.fault(f.span.clone(), key, "missing or 0: nothing pulls the servo to its target").allowed(wanted));
        return None;
    }
    Some(Motor::Servo { aim, target, stiffness, damping, max: f.number("max").unwrap_or(f64::INFINITY), control })
}

/// Whether a joint is a coupling of others.
pub fn is_coupling(node: &Node<'_>) -> bool {
    let toml::de::DeValue::Table(entries) = node.get_ref() else { return false };
    entries.iter().any(|(key, value)| key.get_ref().as_ref() == "kind" && text(value) == Ok("coupling"))
}

/// Reads a coupling.
pub fn coupling<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: Part) -> Option<CouplingTree> {
    let f = r.table(&keys::JOINT, part, node, &["kind", "joints"])?;
    for key in f.keys().map(|k| k.name).filter(|key| !["name", "kind", "joints", "offset", "limits", "stiffness", "damping"].contains(key))
    {
        r.sink.push(f.fault(key, "a coupling does not take it").allowed("joints, offset, limits, stiffness, damping"));
    }
    let joints = f.raw("joints")?;
    let toml::de::DeValue::Table(entries) = joints.get_ref() else {
        r.sink.push(f.fault("joints", "wrong type").quoted().allowed("a table of joints with their coefficients"));
        return None;
    };
    let mut terms = Vec::new();
    for (name, value) in entries {
        match number(value, Bound::Any) {
            Ok(coefficient) if coefficient != 0.0 => terms.push((At::new(name.get_ref().to_string(), name.span()), coefficient)),
            Ok(_) => r.sink.push(f.part.fault(span(value), "joints", "a coefficient of 0 couples nothing").quoted()),
            Err(problem) => r.sink.push(f.part.fault(span(value), "joints", problem).quoted().allowed("a number")),
        }
    }
    if terms.is_empty() {
        r.sink.push(f.fault("joints", "empty").allowed("at least one joint with its coefficient"));
        return None;
    }
    let slack = ["limits", "stiffness", "damping"].iter().any(|key| f.has(key));
    let tendon = slack.then(|| Tendon {
        limits: f.pair("limits"),
        stiffness: f.number("stiffness").unwrap_or(0.0),
        damping: f.number("damping").unwrap_or(0.0),
    });
    Some(CouplingTree { name: f.text_at("name"), terms, offset: f.number("offset").unwrap_or(0.0), tendon, places: f.places() })
}
