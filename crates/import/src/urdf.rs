//! URDF: `robot`, `link`, `joint`.

use crate::element::{Element, numbers, vector};
use crate::mass::{self, Mass};
use crate::mesh;
use crate::parts::{self, Touching};
use crate::robot::{Axis, Filter, Freedom, FrictionRule, Gear, Geom, Link, Notes, Placed, Robot, Start};
use crate::text::Fault;
use crate::{Base, Options};
use carom_scene::tree::Solid;
use nalgebra::{Isometry3, Matrix3, Translation3, UnitQuaternion, Vector3};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Friction of a link that does not say: that of a body of a scene.
const FRICTION: f64 = 0.5;
/// Folders above the file in which a package may lie.
const MAX_ABOVE: usize = 8;
/// Moments below this [kg m^2] are those of nothing.
const NO_MOMENT: f64 = 1e-20;

/// What is read beside the elements.
struct Context<'a> {
    folder: Option<&'a Path>,
    options: &'a Options,
    notes: &'a mut Notes,
    touching: BTreeMap<String, Result<Touching, String>>,
    /// Names of all joints.
    joints: BTreeSet<&'a str>,
    /// Joints that a mimic holds, and where.
    held: Vec<(String, f64)>,
    /// Joints that follow others.
    gears: Vec<Gear>,
}

/// Reads a model.
pub fn read(root: &Element, folder: Option<&Path>, stem: &str, options: &Options, notes: &mut Notes) -> Result<Robot, Fault> {
    let joints = root.all("joint").filter_map(|j| j.value("name")).collect();
    let mut context = Context { folder, options, notes, touching: BTreeMap::new(), joints, held: Vec::new(), gears: Vec::new() };
    for child in &root.children {
        if child.tag.starts_with("xacro:") {
            return Err(Fault::new(
                child.span.clone(),
                child.tag.clone(),
                "",
                "an element of xacro: run xacro to make a URDF model of the template",
            ));
        }
        if !["link", "joint", "material"].contains(&child.tag.as_str()) {
            context.notes.add(Fault::new(child.span.clone(), child.tag.clone(), "", "not supported"));
        }
    }
    let elements: Vec<&Element> = root.all("link").collect();
    let mut index = BTreeMap::new();
    for (i, link) in elements.iter().enumerate() {
        if index.insert(link.name("name")?, i).is_some() {
            return Err(link.fault("name", "another link has this name"));
        }
    }
    // Every joint places its child; a link has one parent.
    let mut above: Vec<Option<(usize, &Element)>> = vec![None; elements.len()];
    let mut seen = BTreeMap::new();
    for joint in root.all("joint") {
        if seen.insert(joint.name("name")?, ()).is_some() {
            return Err(joint.fault("name", "another joint has this name"));
        }
        let [parent, child] = ["parent", "child"].map(|end| {
            let element = joint.child(end).ok_or_else(|| joint.fault(end, "missing"))?;
            let name = element.required("link")?;
            index
                .get(&name.value)
                .copied()
                .ok_or_else(|| element.fault("link", "no link of this name").instead(&name.value, index.keys().map(String::as_str)))
        });
        let (parent, child) = (parent?, child?);
        if above[child].is_some() {
            return Err(joint.fault("child", "this link is the child of another joint already: loops are not part of URDF"));
        }
        above[child] = Some((parent, joint));
    }
    let order = order(root, &elements, &above)?;
    let mut place = vec![0; elements.len()];
    let mut links = Vec::with_capacity(elements.len());
    for (k, &i) in order.iter().enumerate() {
        place[i] = k;
        let mut link = context.link(elements[i])?;
        match above[i] {
            Some((parent, joint)) => {
                link.parent = Some(place[parent]);
                link.place = origin(joint)?;
                link.joints = context.joint(joint)?;
            }
            None => link.joints = base(&link, options),
        }
        links.push(link);
    }
    let name = root.value("name").filter(|n| !n.is_empty()).unwrap_or(stem).to_string();
    start(root, &mut links, options)?;
    let mut robot = Robot {
        name,
        span: root.span.clone(),
        gravity: None,
        step: None,
        links,
        fixtures: Vec::new(),
        loops: Vec::new(),
        ties: Vec::new(),
        gears: Vec::new(),
        strands: Vec::new(),
        frames: Vec::new(),
        apart: Vec::new(),
        friction: FrictionRule::Mean,
    };
    robot.gears = std::mem::take(&mut context.gears);
    for (joint, at) in context.held {
        robot.hold(&joint, at);
    }
    Ok(robot)
}

/// Links from the root on, children in the order of their joints' links.
fn order(root: &Element, elements: &[&Element], above: &[Option<(usize, &Element)>]) -> Result<Vec<usize>, Fault> {
    let mut roots = (0..elements.len()).filter(|&i| above[i].is_none());
    let Some(first) = roots.next() else {
        let problem = if elements.is_empty() { "no links" } else { "no root: every link is the child of a joint" };
        return Err(Fault::new(root.span.clone(), "robot", "", problem));
    };
    if let Some(second) = roots.next() {
        return Err(elements[second].fault("name", "a second root: no joint has it as its child"));
    }
    let mut order = vec![first];
    let mut next = 0;
    while let Some(&parent) = order.get(next) {
        order.extend((0..elements.len()).filter(|&i| above[i].is_some_and(|(p, _)| p == parent)));
        next += 1;
    }
    if let Some(lost) = (0..elements.len()).find(|i| order.len() < elements.len() && !order.contains(i)) {
        return Err(elements[lost].fault("name", "does not hang on the root: its joints form a circle"));
    }
    Ok(order)
}

/// The joint of the root: none holds it in the world.
fn base(link: &Link, options: &Options) -> Vec<Axis> {
    let free = match options.base {
        Base::Auto => link.mass.mass > 0.0 && link.name != "world",
        Base::Fixed => false,
        Base::Free => true,
    };
    let joint = || Axis::new(format!("{}:free", link.name), link.span.clone(), Freedom::Free, Vector3::zeros(), Vector3::z());
    if free { vec![joint()] } else { Vec::new() }
}

/// Start coordinates of the options.
fn start(root: &Element, links: &mut [Link], options: &Options) -> Result<(), Fault> {
    for (name, value) in &options.pose {
        let joint = links.iter_mut().flat_map(|l| &mut l.joints).find(|j| j.name == *name);
        match joint.filter(|j| matches!(j.freedom, Freedom::Hinge | Freedom::Slide)) {
            Some(joint) if value.is_finite() => joint.start = Start::Scalar(*value),
            _ => {
                let joints = links.iter().flat_map(|link| &link.joints).map(|joint| joint.name.as_str());
                return Err(Fault::new(root.span.clone(), "pose", name.clone(), "no joint of this name has one coordinate")
                    .instead(name, joints)
                    .allowed("finite numbers by joint"));
            }
        }
    }
    Ok(())
}

/// Numbers of an attribute.
fn read_numbers(element: &Element, key: &str, least: usize, most: usize) -> Result<Option<Vec<f64>>, Fault> {
    element.find(key).map(|a| numbers(&a.value, least, most).map_err(|problem| element.fault(key, problem))).transpose()
}

fn number(element: &Element, key: &str) -> Result<Option<f64>, Fault> {
    Ok(read_numbers(element, key, 1, 1)?.map(|x| x[0]))
}

/// A number of at least 0.
fn positive(element: &Element, key: &str) -> Result<Option<f64>, Fault> {
    let x = number(element, key)?;
    if x.is_some_and(|x| x < 0.0) { Err(element.fault(key, "below 0")) } else { Ok(x) }
}

/// A number above 0 that must be there.
fn extent(element: &Element, key: &str) -> Result<f64, Fault> {
    match number(element, key)? {
        Some(x) if x > 0.0 => Ok(x),
        Some(_) => Err(element.fault(key, "not above 0")),
        None => Err(element.fault(key, "missing")),
    }
}

fn read_vector(element: &Element, key: &str) -> Result<Option<Vector3<f64>>, Fault> {
    element.find(key).map(|a| vector(&a.value).map_err(|problem| element.fault(key, problem))).transpose()
}

/// The frame of an `origin`, the identity without one.
fn origin(element: &Element) -> Result<Isometry3<f64>, Fault> {
    let Some(origin) = element.child("origin") else { return Ok(Isometry3::identity()) };
    let at = read_vector(origin, "xyz")?.unwrap_or_else(Vector3::zeros);
    let rpy = read_vector(origin, "rpy")?.unwrap_or_else(Vector3::zeros);
    Ok(Isometry3::from_parts(Translation3::from(at), UnitQuaternion::from_euler_angles(rpy.x, rpy.y, rpy.z)))
}

impl Context<'_> {
    fn link(&mut self, element: &Element) -> Result<Link, Fault> {
        let name = element.name("name")?;
        let (mut friction, mut restitution) = (FRICTION, 0.0);
        for contact in element.all("contact") {
            for child in &contact.children {
                match child.tag.as_str() {
                    "lateral_friction" => friction = positive(child, "value")?.unwrap_or(friction),
                    "restitution" => restitution = positive(child, "value")?.unwrap_or(restitution).min(1.0),
                    _ => self.notes.add(Fault::new(
                        child.span.clone(),
                        child.tag.clone(),
                        "",
                        "not supported: contacts have friction and restitution",
                    )),
                }
            }
        }
        for child in &element.children {
            if !["inertial", "visual", "collision", "contact"].contains(&child.tag.as_str()) {
                self.notes.add(Fault::new(child.span.clone(), format!("{} of a link", child.tag), "", "not supported"));
            }
        }
        let color = element.child("visual").and_then(color);
        let mut geoms = Vec::new();
        for collision in element.all("collision") {
            let Some((solids, frame)) = self.solids(collision)? else { continue };
            for solid in solids {
                let filter = if self.options.self_contact { Filter::ALL } else { Filter::OTHERS };
                let name = collision.value("name").map(str::to_string);
                geoms.push(Geom { name, span: collision.span.clone(), solid, frame, friction, restitution, rough: true, filter, color });
            }
        }
        if let Some(second) = element.all("inertial").nth(1) {
            return Err(second.fault("", "a second inertial of this link"));
        }
        let mass = match element.child("inertial") {
            Some(inertial) => self.mass(element, inertial, &geoms)?,
            None => Mass::zero(),
        };
        Ok(Link { name, span: element.span.clone(), parent: None, place: Isometry3::identity(), joints: Vec::new(), mass, geoms })
    }

    fn mass(&mut self, link: &Element, inertial: &Element, geoms: &[Geom]) -> Result<Mass, Fault> {
        let frame = origin(inertial)?;
        let weight = inertial.child("mass").map(|m| positive(m, "value")).transpose()?.flatten().unwrap_or(0.0);
        let mut inertia = Matrix3::zeros();
        if let Some(element) = inertial.child("inertia") {
            for (key, i, j) in [("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2)] {
                inertia[(i, j)] = number(element, key)?.unwrap_or(0.0);
                inertia[(j, i)] = inertia[(i, j)];
            }
        }
        let mut mass = Mass { mass: weight, centre: Vector3::zeros(), inertia }.moved(&frame);
        // Inertia without mass is kept: a link fixed to another adds it.
        if weight > 0.0 && mass.moments()[0] <= NO_MOMENT {
            // Bullet's way: the shapes with the mass spread evenly.
            let shapes = geoms.iter().filter_map(|g| solid_mass(&g.solid).map(|m| m.moved(&g.frame)));
            let volume = shapes.fold(Mass::zero(), |sum, m| sum.plus(&m));
            if volume.mass > 0.0 {
                mass.inertia = volume.inertia * (weight / volume.mass);
                let problem = "not positive definite: that of the collision shapes is taken, scaled to the mass";
                self.notes.add(Fault::new(inertial.span.clone(), link.part(), "inertia", problem));
            }
        }
        Ok(mass)
    }

    fn joint(&mut self, element: &Element) -> Result<Vec<Axis>, Fault> {
        let kind = element.required("type")?;
        let freedom = match kind.value.as_str() {
            "fixed" => return Ok(Vec::new()),
            "revolute" | "continuous" => Freedom::Hinge,
            "prismatic" => Freedom::Slide,
            "floating" => Freedom::Free,
            "planar" => Freedom::Planar,
            "spherical" | "ball" => Freedom::Ball,
            _ => {
                let allowed = "revolute, continuous, prismatic, fixed, floating, planar, spherical";
                return Err(element.fault("type", "no such joint").allowed(allowed));
            }
        };
        let mut axis = match element.child("axis") {
            Some(axis) => read_vector(axis, "xyz")?.unwrap_or_else(Vector3::x),
            None => Vector3::x(),
        };
        if axis.norm() <= 0.0 {
            if matches!(freedom, Freedom::Hinge | Freedom::Slide | Freedom::Planar) {
                return Err(element.child("axis").unwrap_or(element).fault("xyz", "has no direction"));
            }
            axis = Vector3::x();
        }
        let mut out = Axis::new(element.name("name")?, element.span.clone(), freedom, Vector3::zeros(), axis.normalize());
        let limited = matches!(kind.value.as_str(), "revolute" | "prismatic");
        let limit = element.child("limit");
        let mut effort = None;
        if let Some(limit) = limit {
            let [low, high] = [number(limit, "lower")?, number(limit, "upper")?].map(|x| x.unwrap_or(0.0));
            effort = positive(limit, "effort")?;
            if limited && low <= high {
                out.limits = Some([low, high]);
            } else if limited {
                self.notes.add(Fault::new(limit.span.clone(), element.part(), "limit", "lower above upper: taken as none"));
            }
        } else if limited {
            self.notes.add(Fault::new(element.span.clone(), element.part(), "limit", "missing: taken as none"));
        }
        if let Some(dynamics) = element.child("dynamics") {
            out.damping = positive(dynamics, "damping")?.unwrap_or(0.0);
            out.friction = positive(dynamics, "friction")?.unwrap_or(0.0);
        }
        if self.options.controls && matches!(freedom, Freedom::Hinge | Freedom::Slide) {
            out.control = match effort {
                Some(0.0) => None,
                Some(most) => Some(most),
                None => Some(f64::INFINITY),
            };
        }
        if let Some(mimic) = element.child("mimic") {
            let name = &mimic.required("joint")?.value;
            if name == &out.name || !self.joints.contains(name.as_str()) {
                let others = self.joints.iter().copied().filter(|joint| *joint != out.name);
                return Err(mimic.fault("joint", "no other joint of this name").instead(name, others));
            }
            let ratio = number(mimic, "multiplier")?.unwrap_or(1.0);
            let offset = number(mimic, "offset")?.unwrap_or(0.0);
            if ratio == 0.0 {
                self.held.push((out.name.clone(), offset));
            } else {
                // Who follows is not driven.
                out.control = None;
                let joints = [out.name.clone(), name.clone()];
                self.gears.push(Gear { name: format!("{}:mimic", out.name), span: mimic.span.clone(), joints, ratio, offset });
            }
        }
        for child in &element.children {
            let known = ["parent", "child", "origin", "axis", "limit", "dynamics", "calibration", "safety_controller", "mimic"];
            if !known.contains(&child.tag.as_str()) {
                self.notes.add(Fault::new(child.span.clone(), format!("{} of {}", child.tag, element.part()), "", "not supported"));
            }
        }
        Ok(vec![out])
    }

    /// The shape of a collision, or the parts of its mesh, and their frame; `None`, with a note, for a mesh that cannot be read.
    fn solids(&mut self, collision: &Element) -> Result<Placed, Fault> {
        let frame = origin(collision)?;
        let Some(geometry) = collision.child("geometry") else { return Err(collision.fault("geometry", "missing")) };
        let Some(shape) = geometry.children.first() else {
            return Err(geometry.fault("", "empty").allowed("box, cylinder, sphere, capsule or mesh"));
        };
        if let Some(second) = geometry.children.get(1) {
            self.notes.add(Fault::new(second.span.clone(), second.tag.clone(), "", "left out: a geometry is one shape, the first"));
        }
        let solid = match shape.tag.as_str() {
            "box" => {
                let size = read_vector(shape, "size")?.ok_or_else(|| shape.fault("size", "missing"))?;
                if size.min() <= 0.0 {
                    return Err(shape.fault("size", "not above 0"));
                }
                Solid::Box([size.x, size.y, size.z])
            }
            "sphere" => Solid::Ball(extent(shape, "radius")?),
            "cylinder" => Solid::Cylinder(extent(shape, "length")?, extent(shape, "radius")?),
            "capsule" => Solid::Capsule(extent(shape, "length")?, extent(shape, "radius")?),
            "mesh" => {
                let file = shape.required("filename")?;
                let scale = read_vector(shape, "scale")?.unwrap_or_else(|| Vector3::repeat(1.0));
                match self.touching(&file.value, scale) {
                    Ok(found) => {
                        // Parts are what was asked for: nothing to refuse.
                        if let Some(note) = found.note.filter(|_| !self.options.strict || found.solids.len() == 1) {
                            self.notes.add(Fault::new(file.span.clone(), "mesh", "filename", note).quoted());
                        }
                        return Ok(Some((found.solids.into_iter().map(Solid::Convex).collect(), frame)));
                    }
                    Err(problem) => {
                        let problem = format!("left out: {problem}");
                        self.notes.add(Fault::new(file.span.clone(), "mesh", "filename", problem).quoted());
                        return Ok(None);
                    }
                }
            }
            "plane" => {
                let normal = read_vector(shape, "normal")?.unwrap_or_else(Vector3::z);
                if normal.norm() <= 0.0 {
                    return Err(shape.fault("normal", "has no direction"));
                }
                Solid::HalfSpace([normal.x, normal.y, normal.z])
            }
            other => {
                self.notes.add(Fault::new(shape.span.clone(), other.to_string(), "", "not supported: the shape is left out"));
                return Ok(None);
            }
        };
        Ok(Some((vec![solid], frame)))
    }

    fn touching(&mut self, file: &str, scale: Vector3<f64>) -> Result<Touching, String> {
        let key = format!("{file} {scale:?}");
        if let Some(found) = self.touching.get(&key) {
            return found.clone();
        }
        let made = self.find(file).and_then(|path| mesh::load(&path));
        let made = made.and_then(|m| parts::touching(&m.scaled(scale), self.options.meshes, self.options.mesh_cache.as_deref()));
        self.touching.insert(key, made.clone());
        made
    }

    /// The file of a name: beside the model, or for a package in the folders above it and in those of the options.
    fn find(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.folder.ok_or("a file, and the model was given as text")?;
        let plain = name.strip_prefix("file://").unwrap_or(name);
        let package = ["package://", "model://"].iter().find_map(|p| plain.strip_prefix(p));
        let Some(inside) = package else {
            return Ok(folder.join(plain));
        };
        let without = inside.split_once('/').map_or(inside, |(_, rest)| rest);
        let folders = folder.ancestors().take(MAX_ABOVE).chain(self.options.packages.iter().map(PathBuf::as_path));
        for folder in folders {
            for tail in [inside, without] {
                let path = folder.join(tail);
                if path.is_file() {
                    return Ok(path);
                }
            }
        }
        Err("not found in the folders above the model, nor in the packages given".to_string())
    }
}

/// Colour of a visual.
fn color(visual: &Element) -> Option<u32> {
    let rgba = visual.child("material")?.child("color")?.value("rgba")?;
    rgb(&numbers(rgba, 3, 4).ok()?)
}

/// `0xrrggbb` of three numbers from 0 to 1.
pub fn rgb(x: &[f64]) -> Option<u32> {
    let byte = |x: f64| (x.clamp(0.0, 1.0) * 255.0).round() as u32;
    let [r, g, b, ..] = *x else { return None };
    Some(byte(r) << 16 | byte(g) << 8 | byte(b))
}

/// Mass of a solid at unit density; `None` without volume.
pub fn solid_mass(solid: &Solid) -> Option<Mass> {
    match solid {
        Solid::Ball(r) => Some(mass::ball(*r)),
        Solid::Box(size) => Some(mass::cuboid(Vector3::from(*size) * 0.5)),
        Solid::Capsule(length, r) => Some(mass::capsule(*r, 0.5 * length)),
        Solid::Cylinder(height, r) => Some(mass::cylinder(*r, 0.5 * height)),
        Solid::Convex(points) => {
            let points: Vec<Vector3<f64>> = points.iter().map(|p| Vector3::from(*p)).collect();
            mesh::hull(&points).ok().map(|h| mass::mesh(&h.mesh.points, &h.mesh.faces, mass::Volume::Signed))
        }
        _ => None,
    }
}
