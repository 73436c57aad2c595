//! `[[joint]]` and its motor.

use crate::keys::{self, JointRule};
use crate::parse::exactly_one;
use crate::read::{Node, Part, Reader};
use crate::tree::JointTree;
use carom_dynamics::{JointKind, Motor};

/// Keys every kind of joint takes.
const COMMON: [&str; 4] = ["name", "kind", "between", "collide"];

/// Reads a joint. In a repeat `self`, `next` and `across` may stand for bodies.
pub fn joint<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: Part, in_repeat: bool) -> Option<JointTree> {
    let f = r.table(&keys::JOINT, part, node, &["kind", "between"])?;
    let dimension = r.dimension;
    let word = f.text("kind")?;
    let (kind, rule) = (JointKind::parse(&word)?, JointRule::of(&word)?);
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
        length: f.number("length"),
        lead: f.number("lead"),
        rest: f.number("rest"),
        stiffness: f.number("stiffness").unwrap_or(0.0),
        damping: f.number("damping").unwrap_or(0.0),
        limits: f.pair("limits"),
        motor,
        friction: f.number("friction").unwrap_or(0.0),
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
