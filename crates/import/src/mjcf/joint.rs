//! `joint` and `freejoint`.

use super::compiler::Compiler;
use super::defaults::Item;
use crate::robot::{Axis, Freedom, Notes, Start};
use crate::text::Fault;
use nalgebra::{Isometry3, Vector3};

/// Attributes that are read, or that say nothing about the motion.
const KNOWN: [&str; 19] = [
    "name",
    "class",
    "type",
    "group",
    "pos",
    "axis",
    "limited",
    "range",
    "ref",
    "springref",
    "stiffness",
    "damping",
    "armature",
    "frictionloss",
    "actuatorfrcrange",
    "actuatorfrclimited",
    "user",
    "align",
    "margin",
];

/// Reads a joint; `frame` is that of the `frame` elements around it.
pub fn read(item: &Item<'_>, index: usize, frame: &Isometry3<f64>, compiler: &Compiler, notes: &mut Notes) -> Result<Axis, Fault> {
    let free = item.element.tag == "freejoint";
    let freedom = match item.value("type").filter(|_| !free) {
        _ if free => Freedom::Free,
        None | Some("hinge") => Freedom::Hinge,
        Some("slide") => Freedom::Slide,
        Some("ball") => Freedom::Ball,
        Some("free") => Freedom::Free,
        Some(_) => return Err(item.fault("type", "no such joint").allowed("hinge, slide, ball, free")),
    };
    let name = item.name()?.unwrap_or_else(|| format!("joint{index}"));
    let anchor = item.vector("pos")?.unwrap_or_else(Vector3::zeros);
    let axis = item.vector("axis")?.unwrap_or_else(Vector3::z);
    let Some(axis) = axis.try_normalize(f64::MIN_POSITIVE) else { return Err(item.fault("axis", "has no direction")) };
    let mut out = Axis::new(name, item.span(), freedom, anchor, axis).moved(frame);
    if freedom == Freedom::Free {
        out.start = Start::Pose(Isometry3::identity());
    }
    let angular = freedom != Freedom::Slide;
    let angle = |x: f64| if angular { compiler.angle(x) } else { x };
    let reference = angle(item.number("ref")?.unwrap_or(0.0));
    let scalar = matches!(freedom, Freedom::Hinge | Freedom::Slide);
    if !compiler.is_off("limit") {
        out.limits = limits(item, compiler)?.map(|[low, high]| [angle(low) - reference, angle(high) - reference]);
    }
    out.stiffness = first(item, "stiffness", notes)?;
    out.damping = first(item, "damping", notes)?;
    let rest = item.number("springref")?.map_or(0.0, angle);
    out.preload = out.stiffness * (rest - reference);
    out.armature = item.positive("armature")?.unwrap_or(0.0);
    out.friction = item.positive("frictionloss")?.unwrap_or(0.0);
    for (flag, value) in [("spring", &mut out.stiffness), ("damper", &mut out.damping), ("frictionloss", &mut out.friction)] {
        if compiler.is_off(flag) || compiler.is_off("passive") && flag != "frictionloss" {
            *value = 0.0;
        }
    }
    if scalar {
        out.reference = reference;
    } else if reference != 0.0 {
        notes.add(item.fault("ref", "means nothing on this joint"));
    }
    let unknown: Vec<String> = item.keys().filter(|key| !KNOWN.contains(key)).map(str::to_string).collect();
    for key in unknown {
        let soft = key.starts_with("sol");
        notes.add(item.fault(&key, if soft { "not supported: limits and friction are hard" } else { "not supported" }));
    }
    Ok(out)
}

/// The first of the numbers of an attribute; more of them are a nonlinear law.
fn first(item: &Item<'_>, key: &str, notes: &mut Notes) -> Result<f64, Fault> {
    let Some(x) = item.numbers(key, 1, usize::MAX)? else { return Ok(0.0) };
    if x[0] < 0.0 {
        return Err(item.fault(key, "below 0"));
    }
    if x[1..].iter().any(|x| *x != 0.0) {
        notes.add(item.fault(key, "not supported: the first of the numbers is taken, the law is linear here"));
    }
    Ok(x[0])
}

/// The range, if it limits.
fn limits(item: &Item<'_>, compiler: &Compiler) -> Result<Option<[f64; 2]>, Fault> {
    let range = item.numbers("range", 2, 2)?;
    let limited = item.choice("limited")?.unwrap_or(range.is_some() && compiler.autolimits);
    if !limited {
        return Ok(None);
    }
    match range.as_deref() {
        Some(&[low, high]) if low < high => Ok(Some([low, high])),
        Some(_) => Err(item.fault("range", "needs the lower number first")),
        None => Err(item.fault("range", "missing: the joint is limited")),
    }
}
