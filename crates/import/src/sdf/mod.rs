//! SDF: models of links and joints, alone or in a world, with poses in frames.

mod frames;
mod include;
mod matter;

pub use include::expand;

use crate::element::Element;
use crate::mass::Mass;
use crate::mesh;
use crate::parts::{self, Touching};
use crate::robot::{Axis, Filter, Freedom, FrictionRule, Geom, Link, Loop, Notes, Placed, Robot, Start};
use crate::text::Fault;
use crate::urdf::rgb;
use crate::{Base, Options};
use carom_scene::tree::Solid;
use frames::{Frames, pose, read_numbers, vector};
use matter::{color, mass};
use nalgebra::{Isometry3, Matrix3, Vector3};
use std::collections::BTreeMap;
use std::path::Path;

/// Friction of a surface that does not say, as in SDF.
const FRICTION: f64 = 1.0;
/// Models that touch each other and not themselves: one bit each, and one for what is outside.
const MAX_MODELS: u32 = 31;
/// Limits beyond this are none \[rad or m\].
const NO_LIMIT: f64 = 1e15;
/// The version from which axes stand in the frame of their joint instead of that of the model.
const AXIS_IN_JOINT: f64 = 1.45;
/// Children of a model or world that say nothing about the motion.
const SILENT: [&str; 14] = [
    "pose",
    "static",
    "self_collide",
    "allow_auto_disable",
    "enable_wind",
    "light",
    "scene",
    "gui",
    "audio",
    "atmosphere",
    "magnetic_field",
    "state",
    "frame",
    "visual",
];

/// What is read beside the elements.
struct Reader<'a> {
    folder: Option<&'a Path>,
    options: &'a Options,
    notes: &'a mut Notes,
    touching: BTreeMap<String, Result<Touching, String>>,
    links: Vec<Link>,
    loops: Vec<Loop>,
    /// Whether axes stand in the frame of the model.
    old_axes: bool,
    models: u32,
}

/// What a model is, for those within it.
struct Place {
    prefix: String,
    /// In the world.
    frame: Isometry3<f64>,
    fixed: bool,
    filter: Filter,
}

/// A number of a child's text.
fn number(element: &Element, tag: &str) -> Result<Option<f64>, Fault> {
    element.child(tag).map(|child| Ok(read_numbers(child, 1, 1)?[0])).transpose()
}

/// A number above 0 that must be there.
fn extent(element: &Element, tag: &str) -> Result<f64, Fault> {
    match number(element, tag)? {
        Some(x) if x > 0.0 => Ok(x),
        Some(_) => Err(element.fault(tag, "not above 0")),
        None => Err(element.fault(tag, "missing")),
    }
}

fn truth(element: &Element, tag: &str) -> bool {
    element.child(tag).is_some_and(|child| ["true", "1"].contains(&child.text.as_str()))
}

/// Reads a file whose includes stand in their places already.
pub fn read(root: &Element, folder: Option<&Path>, stem: &str, options: &Options, notes: &mut Notes) -> Result<Robot, Fault> {
    let version: f64 = root.value("version").and_then(|v| v.parse().ok()).unwrap_or(f64::INFINITY);
    let mut reader = Reader {
        folder,
        options,
        notes,
        touching: BTreeMap::new(),
        links: Vec::new(),
        loops: Vec::new(),
        old_axes: version < AXIS_IN_JOINT,
        models: 0,
    };
    let world = root.child("world");
    let home = world.unwrap_or(root);
    let several = home.all("model").count() > 1;
    let (mut gravity, mut step, mut found) = (None, None, None);
    for child in &home.children {
        match child.tag.as_str() {
            "model" => {
                let name = child.name("name")?;
                let prefix = if several { format!("{name}.") } else { String::new() };
                found.get_or_insert(name);
                reader.model(child, prefix, &Isometry3::identity(), None)?;
            }
            "gravity" => gravity = Some(vector(child)?),
            "physics" => {
                if let Some(size) = number(child, "max_step_size")?.filter(|size| *size > 0.0) {
                    step = Some(size);
                }
                if let Some(own) = child.child("gravity") {
                    gravity = Some(vector(own)?);
                }
            }
            tag if SILENT.contains(&tag) => {}
            tag => reader.notes.add(Fault::new(child.span.clone(), tag, "", "not supported")),
        }
    }
    let Some(found) = found else {
        return Err(Fault::new(root.span.clone(), "sdf", "model", "missing").allowed("a <model>, alone or in a <world>"));
    };
    let name = world
        .and_then(|w| w.value("name"))
        .filter(|n| !n.is_empty())
        .map_or(if several { stem.to_string() } else { found }, str::to_string);
    let (mut links, loops) = (reader.links, reader.loops);
    start(root, &mut links, options)?;
    Ok(Robot {
        name,
        span: root.span.clone(),
        gravity,
        step,
        links,
        fixtures: Vec::new(),
        loops,
        ties: Vec::new(),
        gears: Vec::new(),
        strands: Vec::new(),
        frames: Vec::new(),
        apart: Vec::new(),
        friction: FrictionRule::Mean,
    })
}

/// Start coordinates of the options.
fn start(root: &Element, links: &mut [Link], options: &Options) -> Result<(), Fault> {
    for (name, value) in &options.pose {
        let joint = links.iter_mut().flat_map(|l| &mut l.joints).find(|j| j.name == *name);
        let Some(joint) = joint.filter(|j| matches!(j.start, Start::Scalar(_)) && j.freedom != Freedom::Free && value.is_finite()) else {
            let fault = Fault::new(root.span.clone(), "pose", name.clone(), "no joint of this name has one coordinate");
            return Err(fault.allowed("finite numbers by joint"));
        };
        joint.start = Start::Scalar(*value);
    }
    Ok(())
}

impl Reader<'_> {
    /// A model at a place; `outer` is the one it stands in.
    fn model(&mut self, model: &Element, prefix: String, at: &Isometry3<f64>, outer: Option<&Place>) -> Result<(), Fault> {
        let own = if outer.is_some() { Isometry3::identity() } else { pose(model)?.0 };
        let filter = match outer {
            Some(outer) => outer.filter,
            None => {
                self.models += 1;
                let kind = 1 << self.models.min(MAX_MODELS);
                let alone = !(truth(model, "self_collide") || self.options.self_contact);
                Filter { kind, affinity: if alone { !kind } else { u32::MAX } }
            }
        };
        let fixed = truth(model, "static") || outer.is_some_and(|outer| outer.fixed);
        let place = Place { prefix, frame: at * own, fixed, filter };
        let mut frames = Frames::of(model)?;
        let first = self.links.len();
        let mut index: BTreeMap<String, usize> = BTreeMap::new();
        for child in &model.children {
            match child.tag.as_str() {
                "link" => {
                    let name = child.name("name")?;
                    let frame = place.frame * frames.get(&name, child)?;
                    let link = self.link(child, &place, frame)?;
                    if index.insert(name, self.links.len()).is_some() {
                        return Err(child.fault("name", "another link has this name"));
                    }
                    self.links.push(link);
                }
                "model" => {
                    let name = child.name("name")?;
                    let inner = place.frame * frames.get(&name, child)?;
                    let start = self.links.len();
                    let prefix = format!("{}{name}.", place.prefix);
                    self.model(child, prefix.clone(), &inner, Some(&place))?;
                    for (i, link) in self.links.iter().enumerate().skip(start) {
                        let local = link.name.strip_prefix(&prefix).unwrap_or(&link.name);
                        index.insert(format!("{name}::{}", local.replace('.', "::")), i);
                    }
                }
                "joint" => {}
                tag if SILENT.contains(&tag) => {}
                tag => self.notes.add(Fault::new(child.span.clone(), format!("{tag} of a model"), "", "not supported")),
            }
        }
        let mut seen = BTreeMap::new();
        for joint in model.all("joint") {
            if seen.insert(joint.name("name")?, ()).is_some() {
                return Err(joint.fault("name", "another joint has this name"));
            }
            if !place.fixed {
                self.joint(joint, &place, &mut frames, &index)?;
            }
        }
        if outer.is_none() {
            self.order(first, place.fixed, model)?;
        }
        Ok(())
    }

    /// Puts parents before children, places links in their parents, and frees the roots.
    fn order(&mut self, first: usize, fixed: bool, model: &Element) -> Result<(), Fault> {
        let links = self.links.split_off(first);
        let count = links.len();
        let mut order: Vec<usize> = (0..count).filter(|&i| links[i].parent.is_none()).collect();
        let mut next = 0;
        while let Some(&parent) = order.get(next) {
            order.extend((0..count).filter(|&i| links[i].parent == Some(first + parent)));
            next += 1;
        }
        if order.len() < count {
            return Err(model.fault("joint", "its joints form a circle of parents"));
        }
        let mut place = vec![0; count];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = first + new);
        let frames: Vec<Isometry3<f64>> = links.iter().map(|link| link.place).collect();
        for &old in &order {
            let mut link = links[old].clone();
            if let Some(parent) = link.parent {
                link.place = frames[parent - first].inverse() * link.place;
                link.parent = Some(place[parent - first]);
            } else if link.joints.is_empty() && !fixed && self.options.base != Base::Fixed && !link.name.ends_with(WORLD_LINK) {
                let name = format!("{}:free", link.name);
                link.joints.push(Axis::new(name, link.span.clone(), Freedom::Free, Vector3::zeros(), Vector3::z()));
            }
            link.name = link.name.trim_end_matches(WORLD_LINK).to_string();
            self.links.push(link);
        }
        for end in self.loops.iter_mut().flat_map(|l| &mut l.links) {
            *end = end.map(|old| if old >= first { place[old - first] } else { old });
        }
        Ok(())
    }

    fn link(&mut self, element: &Element, place: &Place, frame: Isometry3<f64>) -> Result<Link, Fault> {
        let name = format!("{}{}", place.prefix, element.name("name")?);
        let color = element.child("visual").and_then(color);
        let mut geoms = Vec::new();
        for collision in element.all("collision") {
            let Some((solids, turn)) = self.solids(collision)? else { continue };
            for solid in solids {
                let surface = collision.child("surface");
                let friction = surface.and_then(|s| s.child("friction"));
                let ode = friction.and_then(|f| f.child("ode").or(f.child("bullet")).or(f.child("dart")));
                let mu =
                    ode.map(|o| Ok::<_, Fault>(number(o, "mu")?.or(number(o, "friction")?))).transpose()?.flatten().unwrap_or(FRICTION);
                let bounce = surface.and_then(|s| s.child("bounce"));
                let restitution = bounce.map(|b| number(b, "restitution_coefficient")).transpose()?.flatten().unwrap_or(0.0);
                if mu < 0.0 || restitution < 0.0 {
                    return Err(collision.fault("surface", "friction or restitution below 0"));
                }
                let frame = pose(collision)?.0 * turn;
                let name = collision.value("name").map(|n| format!("{name}.{n}"));
                let span = collision.span.clone();
                let restitution = restitution.min(1.0);
                geoms.push(Geom {
                    name,
                    span,
                    solid,
                    frame,
                    friction: mu.min(NO_LIMIT),
                    restitution,
                    rough: true,
                    filter: place.filter,
                    color,
                });
            }
        }
        let mass = mass(element)?;
        for child in &element.children {
            let known = [
                "pose",
                "inertial",
                "collision",
                "visual",
                "self_collide",
                "kinematic",
                "gravity",
                "velocity_decay",
                "enable_wind",
                "light",
                "must_be_base_link",
            ];
            if !known.contains(&child.tag.as_str()) {
                self.notes.add(Fault::new(child.span.clone(), format!("{} of a link", child.tag), "", "not supported"));
            }
        }
        if element.child("gravity").is_some_and(|g| ["false", "0"].contains(&g.text.as_str())) {
            self.notes.add(Fault::new(element.span.clone(), element.part(), "gravity", "not supported: gravity pulls every body"));
        }
        Ok(Link { name, span: element.span.clone(), parent: None, place: frame, joints: Vec::new(), mass, geoms })
    }

    /// Reads a joint: it becomes the joint above its child, or closes a loop.
    fn joint(&mut self, element: &Element, place: &Place, frames: &mut Frames<'_>, index: &BTreeMap<String, usize>) -> Result<(), Fault> {
        let mut ends = [None; 2];
        for (end, tag) in ends.iter_mut().zip(["parent", "child"]) {
            let name = element.child(tag).ok_or_else(|| element.fault(tag, "missing"))?;
            if name.text == "world" {
                continue;
            }
            let Some(found) = index.get(&name.text) else {
                let fault = name.fault("", format!("no link is called \"{}\"", name.text.escape_debug()));
                return Err(fault.instead(&name.text, index.keys().map(String::as_str)));
            };
            *end = Some(*found);
        }
        let kind = element.required("type")?.value.as_str();
        let mut axes = Vec::new();
        match kind {
            "fixed" => {}
            "revolute" | "continuous" => axes.push(("axis", Freedom::Hinge)),
            "prismatic" => axes.push(("axis", Freedom::Slide)),
            "ball" => axes.push(("", Freedom::Ball)),
            "universal" | "revolute2" => axes.extend([("axis", Freedom::Hinge), ("axis2", Freedom::Hinge)]),
            _ => {
                return Err(element
                    .fault("type", "no such joint here")
                    .allowed("revolute, continuous, prismatic, ball, universal, revolute2, fixed"));
            }
        }
        let name = element.name("name")?;
        let at = place.frame * frames.place(element, &element.child("child").map_or_else(String::new, |c| c.text.clone()))?;
        // A child that is the world stands below its parent, turned about.
        let (parent, child) = match ends {
            [parent, Some(child)] => (parent, child),
            [Some(parent), None] => (None, parent),
            [None, None] => return Err(element.fault("parent", "joins the world to itself")),
        };
        let child_frame = self.links[child].place;
        let anchor = child_frame.inverse() * nalgebra::Point3::from(at.translation.vector);
        let taken =
            self.links[child].parent.is_some() || !self.links[child].joints.is_empty() || self.links[child].name.ends_with(WORLD_LINK);
        if taken {
            if !["ball", "fixed"].contains(&kind) {
                self.notes.add(element.fault("type", "not supported where it closes a loop: only ball and fixed joints do"));
                return Ok(());
            }
            let point = (kind == "ball").then_some(anchor.coords);
            let span = element.span.clone();
            self.loops.push(Loop { name: format!("{}{name}", place.prefix), span, links: [Some(child), parent], point });
            return Ok(());
        }
        for (k, (tag, freedom)) in axes.iter().enumerate() {
            let axis = element.child(tag);
            let direction = match axis.and_then(|axis| axis.child("xyz")) {
                Some(xyz) => {
                    let direction = vector(xyz)?;
                    let old = self.old_axes || axis.is_some_and(|axis| truth(axis, "use_parent_model_frame"));
                    let turn = match xyz.value("expressed_in").filter(|f| !f.is_empty()) {
                        Some(frame) => place.frame * frames.get(frame, xyz)?,
                        None if old => place.frame,
                        None => at,
                    };
                    turn.rotation * direction
                }
                None => at.rotation * Vector3::z(),
            };
            let Some(direction) = direction.try_normalize(f64::MIN_POSITIVE) else { return Err(element.fault("axis", "has no direction")) };
            let name = if k == 0 { format!("{}{name}", place.prefix) } else { format!("{}{name}_2", place.prefix) };
            let local = child_frame.rotation.inverse() * direction;
            let mut joint = Axis::new(name, element.span.clone(), *freedom, anchor.coords, local);
            if let Some(axis) = axis {
                self.acts(axis, kind, &mut joint)?;
            }
            self.links[child].joints.push(joint);
        }
        self.links[child].parent = parent;
        if parent.is_none() && axes.is_empty() {
            self.links[child].name.push_str(WORLD_LINK);
        }
        for child in &element.children {
            if !["parent", "child", "pose", "axis", "axis2"].contains(&child.tag.as_str()) {
                self.notes.add(Fault::new(child.span.clone(), format!("{} of a joint", child.tag), "", "not supported"));
            }
        }
        Ok(())
    }

    /// Limits, springs, dampers and controls of an axis.
    fn acts(&mut self, axis: &Element, kind: &str, joint: &mut Axis) -> Result<(), Fault> {
        let mut effort = None;
        if let Some(limit) = axis.child("limit") {
            let [low, high] = [number(limit, "lower")?, number(limit, "upper")?].map(|x| x.filter(|x| x.abs() < NO_LIMIT));
            effort = number(limit, "effort")?.filter(|effort| *effort >= 0.0);
            match (low, high) {
                (Some(low), Some(high)) if low <= high && kind != "continuous" => joint.limits = Some([low, high]),
                (Some(_), Some(_)) if kind != "continuous" => {
                    self.notes.add(Fault::new(limit.span.clone(), "joint", "limit", "lower above upper: taken as none"));
                }
                (None, None) => {}
                _ => self.notes.add(Fault::new(limit.span.clone(), "joint", "limit", "not supported on one side alone: taken as none")),
            }
        }
        if let Some(dynamics) = axis.child("dynamics") {
            let positive = |tag: &str| Ok::<_, Fault>(number(dynamics, tag)?.unwrap_or(0.0).max(0.0));
            (joint.damping, joint.friction) = (positive("damping")?, positive("friction")?);
            joint.stiffness = positive("spring_stiffness")?;
            joint.preload = joint.stiffness * number(dynamics, "spring_reference")?.unwrap_or(0.0);
        }
        if let Some(start) = number(axis, "initial_position")? {
            joint.start = Start::Scalar(start);
        }
        if self.options.controls {
            joint.control = match effort {
                Some(0.0) => None,
                Some(most) => Some(most),
                None => Some(f64::INFINITY),
            };
        }
        if let Some(mimic) = axis.child("mimic") {
            self.notes.add(Fault::new(mimic.span.clone(), "mimic of a joint", "", "not supported: the joint moves on its own"));
        }
        Ok(())
    }
}

/// The end of the name of a link that is held fast to the world, while its model is read.
const WORLD_LINK: &str = "\u{1}world";
