//! Tendons: what a fixed one does to a single joint, and the straight line between two sites, which is a spring or a rope.

use super::body::Site;
use super::compiler::Compiler;
use super::defaults::{Defaults, Item};
use crate::element::Element;
use crate::robot::{Notes, Robot, Strand, Tie, TieKind};
use crate::text::Fault;
use carom_dynamics::Tendon;
use nalgebra::{Isometry3, Point3, Vector3};

/// What acts on the length of a tendon.
struct Acting {
    stiffness: f64,
    damping: f64,
    /// Rest length; `None` is that of the pose as written.
    rest: Option<f64>,
    range: Option<[f64; 2]>,
    friction: f64,
}

impl Acting {
    fn read(item: &Item<'_>, compiler: &Compiler, notes: &mut Notes) -> Result<Self, Fault> {
        let range = item.numbers("range", 2, 2)?.map(|x| [x[0], x[1]]);
        let limited = item.choice("limited")?.unwrap_or(range.is_some() && compiler.autolimits) && !compiler.is_off("limit");
        if let Some([low, high]) = range.filter(|[low, high]| limited && low >= high) {
            return Err(item.fault("range", format!("needs the lower number first, not {low} and {high}")));
        }
        let rest = item.numbers("springlength", 1, 2)?.unwrap_or_default();
        if rest.get(1).is_some_and(|high| *high != rest[0]) {
            notes.add(item.fault("springlength", "not supported: a spring without force between two lengths; the first is taken"));
        }
        if item.number("armature")?.is_some_and(|x| x != 0.0) {
            notes.add(item.fault("armature", "not supported on a tendon"));
        }
        let first = |key: &str| match item.numbers(key, 1, usize::MAX)? {
            Some(x) if x[0] < 0.0 => Err(item.fault(key, "below 0")),
            Some(x) => Ok(x[0]),
            None => Ok(0.0),
        };
        let off = |flag: &str| compiler.is_off(flag) || compiler.is_off("passive");
        Ok(Acting {
            stiffness: if off("spring") { 0.0 } else { first("stiffness")? },
            damping: if off("damper") { 0.0 } else { first("damping")? },
            rest: rest.first().copied().filter(|x| *x >= 0.0),
            range: range.filter(|_| limited),
            friction: item.positive("frictionloss")?.unwrap_or(0.0),
        })
    }
    fn is_idle(&self) -> bool {
        self.stiffness == 0.0 && self.damping == 0.0 && self.range.is_none() && self.friction == 0.0
    }
}

/// Reads the tendons of a section.
pub fn read(
    section: &Element,
    defaults: &Defaults,
    compiler: &Compiler,
    sites: &[Site],
    robot: &mut Robot,
    notes: &mut Notes,
) -> Result<(), Fault> {
    for element in &section.children {
        let item = defaults.resolve(element, &["tendon"], None)?;
        let acting = Acting::read(&item, compiler, notes)?;
        // A length that nothing acts on is a measurement.
        if acting.is_idle() {
            continue;
        }
        let part = format!("{} of <tendon>", element.part());
        let left_out = match element.tag.as_str() {
            "fixed" => fixed(element, &item, &acting, robot)?,
            "spatial" => spatial(element, &acting, sites, robot)?,
            _ => Some("not supported"),
        };
        if let Some(problem) = left_out {
            notes.add(Fault::new(element.span.clone(), part, "", problem));
        }
    }
    Ok(())
}

/// A fixed tendon of one joint acts on its coordinate; of several it would couple them. Says why it is left out, if it is.
fn fixed(element: &Element, item: &Item<'_>, acting: &Acting, robot: &mut Robot) -> Result<Option<&'static str>, Fault> {
    let parts: Vec<&Element> = element.all("joint").collect();
    let [part] = parts[..] else { return strand(element, &parts, acting, robot) };
    let coefficient = crate::element::numbers(part.value("coef").unwrap_or("0"), 1, 1).map_err(|problem| part.fault("coef", problem))?[0];
    let name = &part.required("joint")?.value;
    if !robot.joint_names().any(|joint| joint == name) {
        return Err(part.fault("joint", "no joint of this name").instead(name, robot.joint_names()));
    }
    let mut joints = robot.links.iter_mut().flat_map(|l| &mut l.joints);
    let Some(joint) = joints.find(|j| j.name == *name) else { return Ok(None) };
    if coefficient == 0.0 {
        return Ok(None);
    }
    // The length is c times the model's own number, which is `reference` where ours is 0.
    let square = coefficient * coefficient;
    joint.stiffness += acting.stiffness * square;
    joint.damping += acting.damping * square;
    joint.friction += acting.friction * coefficient.abs();
    let rest = acting.rest.map_or(0.0, |rest| rest / coefficient - joint.reference);
    joint.preload += acting.stiffness * square * rest;
    if let Some([low, high]) = acting.range {
        let [a, b] = [low, high].map(|x| x / coefficient - joint.reference);
        let [low, high] = [a.min(b), a.max(b)];
        let [least, most] = joint.limits.unwrap_or([low, high]);
        let both = [low.max(least), high.min(most)];
        if both[0] > both[1] {
            return Err(item.fault("range", "leaves the joint nowhere to be"));
        }
        joint.limits = Some(both);
    }
    Ok(None)
}

/// A fixed tendon of several joints.
fn strand(element: &Element, parts: &[&Element], acting: &Acting, robot: &mut Robot) -> Result<Option<&'static str>, Fault> {
    let (mut terms, mut reference): (Vec<(String, f64)>, f64) = (Vec::new(), 0.0);
    for part in parts {
        let text = part.value("coef").unwrap_or("0");
        let coefficient = crate::element::numbers(text, 1, 1).map_err(|problem| part.fault("coef", problem))?[0];
        let name = &part.required("joint")?.value;
        let mut joints = robot.links.iter().flat_map(|l| &l.joints);
        let Some(joint) = joints.find(|j| j.name == *name) else {
            return Err(part.fault("joint", "no joint of this name").instead(name, robot.joint_names()));
        };
        if terms.iter().any(|(other, _)| other == name) {
            return Err(part.fault("joint", "the tendon has this joint already"));
        }
        reference += coefficient * joint.reference;
        terms.push((name.clone(), coefficient));
    }
    terms.retain(|(_, coefficient)| *coefficient != 0.0);
    if terms.is_empty() {
        return Ok(None);
    }
    if acting.friction > 0.0 {
        return Ok(Some("not supported with friction on more than one joint"));
    }
    // Its length is a sum of the model's own numbers, which are `reference` where ours are 0.
    let name = element.value("name").map_or_else(|| format!("strand{}", robot.strands.len()), str::to_string);
    let limits = acting.range.map(|range| range.map(|x| x - reference));
    let tendon = Tendon { limits, stiffness: acting.stiffness, damping: acting.damping };
    robot.strands.push(Strand { name, span: element.span.clone(), terms, rest: acting.rest.map_or(0.0, |rest| rest - reference), tendon });
    Ok(None)
}

/// A straight line between two sites.
fn spatial(element: &Element, acting: &Acting, sites: &[Site], robot: &mut Robot) -> Result<Option<&'static str>, Fault> {
    let parts: Vec<&Element> = element.children.iter().collect();
    let [a, b] = parts[..] else { return Ok(Some("not supported over more than two sites")) };
    if [a, b].iter().any(|part| part.tag != "site") {
        return Ok(Some("not supported around geoms and over pulleys"));
    }
    if acting.friction > 0.0 {
        return Ok(Some("not supported with friction"));
    }
    let mut ends = [(None, Vector3::zeros()); 2];
    for (end, part) in ends.iter_mut().zip([a, b]) {
        let name = &part.required("site")?.value;
        let Some(site) = sites.iter().find(|s| s.name == *name) else {
            return Err(part.fault("site", "no site of this name").instead(name, sites.iter().map(|site| site.name.as_str())));
        };
        *end = (site.link, site.at);
    }
    let point = |(link, at): (Option<usize>, Vector3<f64>)| written(robot, link) * Point3::from(at);
    let length = (point(ends[0]) - point(ends[1])).norm();
    let name = element.value("name").map_or_else(|| format!("tendon{}", robot.ties.len()), str::to_string);
    let tie = |suffix: &str, kind: TieKind| Tie { name: format!("{name}{suffix}"), span: element.span.clone(), ends, kind };
    let mut made = Vec::new();
    if acting.stiffness > 0.0 || acting.damping > 0.0 {
        let (rest, stiffness, damping) = (acting.rest.unwrap_or(length), acting.stiffness, acting.damping);
        made.push(tie("", TieKind::Spring { rest, stiffness, damping }));
    }
    let least = acting.range.map(|[low, _]| low);
    if let Some([_, high]) = acting.range {
        made.push(tie(if made.is_empty() { "" } else { ":rope" }, TieKind::Rope { length: high }));
    }
    robot.ties.extend(made);
    Ok(least.filter(|low| *low > 0.0).map(|_| "its least length is not supported: a rope has a greatest one"))
}

/// The frame of a link in the pose as written.
fn written(robot: &Robot, link: Option<usize>) -> Isometry3<f64> {
    let mut frame = Isometry3::identity();
    let mut next = link;
    // Parents have smaller numbers: this ends.
    while let Some(link) = next.and_then(|i| robot.links.get(i)) {
        frame = link.place * frame;
        next = link.parent;
    }
    frame
}
