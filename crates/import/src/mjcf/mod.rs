//! MJCF: bodies within bodies, joints and geoms on them, defaults, actuators, equalities.

mod actuator;
mod body;
mod compiler;
mod defaults;
mod geom;
mod hfield;
mod joint;
mod replicate;
mod tendon;

use crate::element::Element;
use crate::robot::{FrictionRule, Loop, Notes, Robot, Start};
use crate::text::Fault;
use crate::{Base, Options, robot};
use body::{Builder, Site};
use compiler::Compiler;
use defaults::Defaults;
use geom::Assets;
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};
use std::collections::BTreeSet;
use std::path::Path;

/// Sections that only say how a model looks, or how MuJoCo stores and solves it.
const SILENT: [&str; 5] = ["size", "visual", "statistic", "custom", "asset"];
/// Sections that are read.
const READ: [&str; 8] = ["compiler", "option", "default", "worldbody", "contact", "equality", "actuator", "keyframe"];
/// The pose of a `weld` that means the one at the start: a quaternion of zeros.
const RELPOSE_QUATERNION: std::ops::Range<usize> = 3..7;

/// Reads a model.
pub fn read(root: &Element, folder: Option<&Path>, stem: &str, options: &Options, notes: &mut Notes) -> Result<Robot, Fault> {
    let defaults = Defaults::read(root)?;
    let compiler = Compiler::read(root, &defaults, notes)?;
    let assets = Assets::read(root, &defaults, &compiler, folder, notes)?;
    let mut builder = Builder {
        defaults: &defaults,
        compiler: &compiler,
        assets,
        options,
        links: Vec::new(),
        fixtures: Vec::new(),
        sites: Vec::new(),
        names: BTreeSet::new(),
        joint_names: BTreeSet::new(),
        copies: 0,
        joints: 0,
        notes,
    };
    for world in root.all("worldbody") {
        builder.world(world)?;
    }
    let Builder { links, mut fixtures, sites, .. } = builder;
    let mut robot = Robot {
        name: root.value("model").filter(|n| !n.is_empty()).unwrap_or(stem).to_string(),
        span: root.span.clone(),
        gravity: Some(if compiler.is_off("gravity") { Vector3::zeros() } else { compiler.gravity }),
        step: Some(compiler.timestep),
        links,
        fixtures: Vec::new(),
        loops: Vec::new(),
        ties: Vec::new(),
        gears: Vec::new(),
        strands: Vec::new(),
        frames: sites.iter().map(Site::named).collect(),
        apart: Vec::new(),
        friction: FrictionRule::Greatest,
    };
    let mut held = Vec::new();
    for section in &root.children {
        match section.tag.as_str() {
            "actuator" if options.controls && !compiler.is_off("actuation") => {
                actuator::read(section, &defaults, &compiler, (options.base == Base::Fixed, options.actuators), &mut robot, notes)?;
            }
            "equality" if !compiler.is_off("equality") => equality(section, &defaults, &mut robot, &mut held, notes)?,
            "contact" => contact(section, &mut robot, notes)?,
            "tendon" => tendon::read(section, &defaults, &compiler, &sites, &mut robot, notes)?,
            "sensor" => {
                for child in &section.children {
                    notes.add(Fault::new(child.span.clone(), format!("{} of <{}>", child.tag, section.tag), "", "not supported"));
                }
            }
            tag if SILENT.contains(&tag) || READ.contains(&tag) => {}
            tag => notes.add(Fault::new(section.span.clone(), tag, "", "not supported")),
        }
    }
    weigh(&mut robot, &compiler);
    if compiler.is_off("contact") {
        let geoms = robot.links.iter_mut().flat_map(|l| &mut l.geoms).chain(&mut fixtures);
        geoms.for_each(|g| g.filter = robot::Filter::NONE);
    }
    robot.fixtures = fixtures;
    start(root, options, &mut robot, notes)?;
    for (element, joint, at) in held {
        // Joints of a base that is held are gone.
        let there = robot.links.iter().flat_map(|l| &l.joints).any(|j| j.name == joint);
        if !there && options.base != Base::Fixed {
            return Err(element.fault("joint1", "no joint of this name").instead(joint, robot.joint_names()));
        }
        if there && !robot.hold(joint, at) {
            notes.add(
                element.fault("joint1", "not supported: a joint is held that is one of several of its body, or has not one coordinate"),
            );
        }
    }
    Ok(robot)
}

/// Scales all masses to the total that is asked for.
fn weigh(robot: &mut Robot, compiler: &Compiler) {
    let total: f64 = robot.links.iter().map(|l| l.mass.mass).sum();
    if let Some(wanted) = compiler.total.filter(|_| total > 0.0) {
        robot.links.iter_mut().for_each(|l| l.mass = l.mass.scaled(wanted / total));
    }
}

/// The link of a name; `world` is no link.
fn link(robot: &Robot, element: &Element, key: &str) -> Result<Option<usize>, Fault> {
    let Some(name) = element.value(key) else { return Ok(None) };
    if name == "world" {
        return Ok(None);
    }
    robot
        .links
        .iter()
        .position(|l| l.name == name)
        .map(Some)
        .ok_or_else(|| element.fault(key, "no body of this name").instead(name, robot.link_names()))
}

/// A joint that an equality holds at a coordinate: the equality, the joint, the coordinate from the pose as written.
type Held<'a> = (&'a Element, &'a str, f64);

/// The joint that a `joint` equality holds; `None` where it follows another.
fn constant<'a>(element: &'a Element, item: &defaults::Item<'_>) -> Result<Option<Held<'a>>, Fault> {
    let joint = &element.required("joint1")?.value;
    let given = item.numbers("polycoef", 0, usize::MAX)?.unwrap_or_default();
    let law = [0, 1, 2, 3, 4].map(|i| given.get(i).copied().unwrap_or(if i == 1 { 1.0 } else { 0.0 }));
    let alone = element.find("joint2").is_none() || law[1..].iter().all(|c| *c == 0.0);
    Ok(alone.then_some((element, joint, law[0])))
}

/// The joint that follows another by a `joint` equality; `None` where it does so by a polynomial.
fn gear(element: &Element, item: &defaults::Item<'_>, index: usize) -> Result<Option<robot::Gear>, Fault> {
    let given = item.numbers("polycoef", 0, usize::MAX)?.unwrap_or_default();
    let law = [0, 1, 2, 3, 4].map(|i| given.get(i).copied().unwrap_or(if i == 1 { 1.0 } else { 0.0 }));
    if law[2..].iter().any(|c| *c != 0.0) {
        return Ok(None);
    }
    let joints = [element.required("joint1")?.value.clone(), element.required("joint2")?.value.clone()];
    if joints[0] == joints[1] {
        return Ok(None);
    }
    let name = element.value("name").map_or_else(|| format!("joint_equality{index}"), str::to_string);
    Ok(Some(robot::Gear { name, span: element.span.clone(), joints, ratio: law[1], offset: law[0] }))
}

/// `connect` and `weld` close loops; `joint` may hold one.
fn equality<'a>(
    section: &'a Element,
    defaults: &Defaults,
    robot: &mut Robot,
    held: &mut Vec<Held<'a>>,
    notes: &mut Notes,
) -> Result<(), Fault> {
    for (i, element) in section.children.iter().enumerate() {
        let item = defaults.resolve(element, &["equality"], None)?;
        if item.value("active") == Some("false") {
            continue;
        }
        if element.tag == "joint" {
            match constant(element, &item)? {
                Some(joint) => held.push(joint),
                None => match gear(element, &item, i)? {
                    Some(gear) => robot.gears.push(gear),
                    None => {
                        let problem = "not supported: joints are coupled by sums of coefficients times coordinates, not by polynomials, and none with itself";
                        notes.add(Fault::new(element.span.clone(), format!("{} of <equality>", element.part()), "polycoef", problem));
                    }
                },
            }
            continue;
        }
        let sites = element.find("site1").is_some();
        if !["connect", "weld"].contains(&element.tag.as_str()) || sites {
            let what = if sites { "not supported between sites" } else { "not supported" };
            notes.add(Fault::new(element.span.clone(), format!("{} of <equality>", element.part()), "", what));
            continue;
        }
        element.required("body1")?;
        let links = [link(robot, element, "body1")?, link(robot, element, "body2")?];
        let point = match element.tag.as_str() {
            "connect" => Some(item.vector("anchor")?.ok_or_else(|| element.fault("anchor", "missing"))?),
            _ => None,
        };
        if let Some(pose) = item.numbers("relpose", 7, 7)?
            && pose[RELPOSE_QUATERNION].iter().any(|x| *x != 0.0)
        {
            notes.add(item.fault("relpose", "not supported: the pose at the start is held"));
        }
        for key in ["solref", "solimp"] {
            if item.find(key).is_some() {
                notes.add(item.fault(key, "not supported: joints are hard"));
            }
        }
        let name = element.value("name").map_or_else(|| format!("{}{i}", element.tag), str::to_string);
        robot.loops.push(Loop { name, span: element.span.clone(), links, point });
    }
    Ok(())
}

/// `exclude` keeps two bodies apart.
fn contact(section: &Element, robot: &mut Robot, notes: &mut Notes) -> Result<(), Fault> {
    for element in &section.children {
        if element.tag != "exclude" {
            notes.add(Fault::new(element.span.clone(), format!("{} of <contact>", element.part()), "", "not supported"));
            continue;
        }
        element.required("body1")?;
        element.required("body2")?;
        match [link(robot, element, "body1")?, link(robot, element, "body2")?] {
            [Some(a), Some(b)] => robot.apart.push(([a, b], element.span.clone())),
            _ => notes.add(element.fault("body1", "not supported: the world stands for many bodies here")),
        }
    }
    Ok(())
}

/// Start coordinates: those of a keyframe, then those of the options.
fn start(root: &Element, options: &Options, robot: &mut Robot, notes: &mut Notes) -> Result<(), Fault> {
    if let Some(wanted) = &options.keyframe {
        let mut keys = root.all("keyframe").flat_map(|k| k.all("key")).enumerate();
        let Some((_, key)) = keys.find(|(i, key)| key.value("name") == Some(wanted) || wanted.parse() == Ok(*i)) else {
            return Err(Fault::new(root.span.clone(), "keyframe", wanted.clone(), "no keyframe of this name or number"));
        };
        keyframe(key, robot)?;
        for other in ["qvel", "act", "mpos", "mquat"] {
            if key.find(other).is_some() {
                notes.add(key.fault(other, "not supported: the model starts at rest"));
            }
        }
    }
    for (name, value) in &options.pose {
        let joint = robot.links.iter_mut().flat_map(|l| &mut l.joints).find(|j| j.name == *name);
        let scalar = joint.filter(|j| matches!(j.start, Start::Scalar(_)) && value.is_finite());
        let Some(joint) = scalar else {
            let fault = Fault::new(root.span.clone(), "pose", name.clone(), "no joint of this name has one coordinate");
            let fault = fault.instead(name, robot.joint_names());
            return Err(fault.allowed("finite numbers by joint"));
        };
        joint.start = Start::Scalar(value - joint.reference);
    }
    Ok(())
}

/// Coordinates of a keyframe, in the order of the joints.
fn keyframe(key: &Element, robot: &mut Robot) -> Result<(), Fault> {
    let Some(attribute) = key.find("qpos") else { return Ok(()) };
    let x = crate::element::numbers(&attribute.value, 0, usize::MAX).map_err(|problem| key.fault("qpos", problem))?;
    let mut rest = x.as_slice();
    let mut take = |count: usize| {
        let (head, tail) = rest.split_at_checked(count).ok_or_else(|| key.fault("qpos", "too few numbers for the joints"))?;
        rest = tail;
        Ok(head.to_vec())
    };
    let turn = |q: &[f64]| {
        UnitQuaternion::try_new(nalgebra::Quaternion::new(q[0], q[1], q[2], q[3]), f64::MIN_POSITIVE)
            .ok_or_else(|| key.fault("qpos", "a quaternion of zeros"))
    };
    for joint in robot.links.iter_mut().flat_map(|l| &mut l.joints) {
        joint.start = match joint.start {
            Start::Scalar(_) => Start::Scalar(take(1)?[0] - joint.reference),
            Start::Turn(_) => Start::Turn(turn(&take(4)?)?),
            Start::Pose(_) => {
                let x = take(7)?;
                Start::Pose(Isometry3::from_parts(Translation3::new(x[0], x[1], x[2]), turn(&x[3..])?))
            }
        };
    }
    if rest.is_empty() { Ok(()) } else { Err(key.fault("qpos", "more numbers than the joints have coordinates")) }
}
