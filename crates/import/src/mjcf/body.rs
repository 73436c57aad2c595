//! `worldbody`, `body`, `frame`, `inertial`.

use super::compiler::{Compiler, InertiaFrom};
use super::defaults::{Defaults, Item};
use super::geom::{self, Assets};
use super::{joint, replicate};
use crate::element::Element;
use crate::mass::Mass;
use crate::robot::{Freedom, Geom, Link, NamedFrame, Notes, Start};
use crate::text::Fault;
use crate::{Base, Options};
use carom_scene::error::Span;
use nalgebra::{Isometry3, Matrix3, Vector3};
use std::collections::BTreeSet;

/// Elements that say nothing about the motion.
const SILENT: [&str; 3] = ["camera", "light", "inertial"];

/// Attributes of a body.
const KNOWN: [&str; 13] =
    ["name", "class", "childclass", "pos", "quat", "axisangle", "xyaxes", "zaxis", "euler", "mocap", "gravcomp", "user", "sleep"];
/// Attributes of an `inertial`.
const INERTIAL: [&str; 10] = ["axisangle", "diaginertia", "euler", "fullinertia", "mass", "pos", "quat", "xyaxes", "zaxis", "class"];

/// A named point of a body.
#[derive(Clone, Debug)]
pub struct Site {
    /// Name.
    pub name: String,
    /// The body; `None` is the world.
    pub link: Option<usize>,
    /// Place in the frame of the body \[m\].
    pub at: Vector3<f64>,
    /// The same with its axes.
    pub frame: Isometry3<f64>,
    /// Place of its element.
    pub span: Span,
}

impl Site {
    /// As a named point.
    pub fn named(&self) -> NamedFrame {
        NamedFrame { name: self.name.clone(), span: self.span.clone(), link: self.link, frame: self.frame }
    }
}

/// Walks over the bodies.
pub struct Builder<'a> {
    /// Default classes.
    pub defaults: &'a Defaults,
    /// What the whole model says.
    pub compiler: &'a Compiler,
    /// Meshes.
    pub assets: Assets,
    /// What to make of the model.
    pub options: &'a Options,
    /// Links so far, parents first.
    pub links: Vec<Link>,
    /// Geoms of the world so far.
    pub fixtures: Vec<Geom>,
    /// Named sites so far.
    pub sites: Vec<Site>,
    /// Names of bodies so far.
    pub names: BTreeSet<String>,
    /// Names of joints so far.
    pub joint_names: BTreeSet<String>,
    /// Elements made by copying so far.
    pub copies: usize,
    /// Joints so far, for the names of those without.
    pub joints: usize,
    /// What is left out.
    pub notes: &'a mut Notes,
}

/// Where elements are added.
#[derive(Clone, Copy)]
struct Place<'e> {
    /// The body; `None` is the world.
    link: Option<usize>,
    /// Frame of the `frame` elements around, in the body's.
    frame: Isometry3<f64>,
    /// Class of elements that name none.
    class: Option<&'e str>,
}

impl Builder<'_> {
    /// Reads a `worldbody`.
    pub fn world(&mut self, element: &Element) -> Result<(), Fault> {
        let mut written_out = element.clone();
        replicate::expand(&mut written_out, self.defaults, self.compiler, &mut self.copies)?;
        let element = &written_out;
        let place = Place { link: None, frame: Isometry3::identity(), class: element.value("childclass") };
        self.contents(element, place, &mut Mass::zero())
    }

    /// Elements of a body or frame; geoms add to `mass`.
    fn contents(&mut self, element: &Element, place: Place<'_>, mass: &mut Mass) -> Result<(), Fault> {
        for child in &element.children {
            match child.tag.as_str() {
                "geom" => self.geom(child, place, mass)?,
                "joint" | "freejoint" => self.joint(child, place)?,
                "body" => self.body(child, place)?,
                "site" => self.site(child, place)?,
                "frame" => {
                    let item = self.defaults.resolve(child, &[], place.class)?;
                    let frame = place.frame * self.compiler.frame(&item)?;
                    let class = child.value("childclass").or(place.class);
                    self.contents(child, Place { frame, class, ..place }, mass)?;
                }
                tag if SILENT.contains(&tag) => {}
                tag => self.notes.add(Fault::new(child.span.clone(), tag, "", "not supported")),
            }
        }
        Ok(())
    }

    fn geom(&mut self, element: &Element, place: Place<'_>, mass: &mut Mass) -> Result<(), Fault> {
        let item = self.defaults.resolve(element, &["geom"], place.class)?;
        let read = geom::read(&item, &place.frame, self.compiler, &mut self.assets, self.notes)?;
        *mass = mass.plus(&read.mass);
        match (read.geom, place.link) {
            (Some(geom), Some(link)) => self.links[link].geoms.push(geom),
            (Some(geom), None) => self.fixtures.push(geom),
            (None, _) => {}
        }
        Ok(())
    }

    fn site(&mut self, element: &Element, place: Place<'_>) -> Result<(), Fault> {
        let item = self.defaults.resolve(element, &["site"], place.class)?;
        let Some(name) = item.name()? else { return Ok(()) };
        let at = match item.numbers("fromto", 6, 6)? {
            Some(x) => (Vector3::new(x[0], x[1], x[2]) + Vector3::new(x[3], x[4], x[5])) * 0.5,
            None => item.vector("pos")?.unwrap_or_else(Vector3::zeros),
        };
        let frame = place.frame * Isometry3::from_parts(at.into(), self.compiler.turn(&item)?);
        self.sites.push(Site { name, link: place.link, at: frame.translation.vector, frame, span: element.span.clone() });
        Ok(())
    }

    fn joint(&mut self, element: &Element, place: Place<'_>) -> Result<(), Fault> {
        let tags: &[&str] = if element.tag == "joint" { &["joint"] } else { &[] };
        let item = self.defaults.resolve(element, tags, place.class)?;
        let Some(link) = place.link else { return Err(item.fault("", "the world has no joints")) };
        let joint = joint::read(&item, self.joints, &place.frame, self.compiler, self.notes)?;
        self.joints += 1;
        if !self.joint_names.insert(joint.name.clone()) {
            return Err(item.fault("name", "another joint has this name"));
        }
        self.links[link].joints.push(joint);
        Ok(())
    }

    fn body(&mut self, element: &Element, place: Place<'_>) -> Result<(), Fault> {
        let item = self.defaults.resolve(element, &[], place.class)?;
        let index = self.links.len();
        let name = item.name()?.unwrap_or_else(|| format!("body{index}"));
        if !self.names.insert(name.clone()) {
            return Err(item.fault("name", "another body has this name"));
        }
        item.unknown(&KNOWN, self.notes);
        if let Some(second) = element.all("inertial").nth(1) {
            return Err(second.fault("", "a second inertial of this body"));
        }
        if item.number("gravcomp")?.is_some_and(|x| x != 0.0) {
            self.notes.add(item.fault("gravcomp", "not supported"));
        }
        if item.value("mocap") == Some("true") {
            self.notes.add(item.fault("mocap", "not supported: the body is fixed"));
        }
        let frame = place.frame * self.compiler.frame(&item)?;
        let (parent, class) = (place.link, element.value("childclass").or(place.class));
        self.links.push(Link {
            name,
            span: element.span.clone(),
            parent,
            place: frame,
            joints: Vec::new(),
            mass: Mass::zero(),
            geoms: Vec::new(),
        });
        let mut geoms = Mass::zero();
        let inside = Place { link: Some(index), frame: Isometry3::identity(), class };
        self.contents(element, inside, &mut geoms)?;
        let count = |freedom: Freedom| self.links[index].joints.iter().filter(|j| j.freedom == freedom).count();
        if self.options.base == Base::Fixed && parent.is_none() && (count(Freedom::Free) > 0 || count(Freedom::Slide) > 1) {
            self.links[index].joints.clear();
        }
        for joint in &mut self.links[index].joints {
            // A free body starts where it is written.
            if matches!(joint.start, Start::Pose(_)) {
                joint.start = Start::Pose(frame);
            }
        }
        let given = element.child("inertial").filter(|_| self.compiler.inertia != InertiaFrom::Geoms);
        let mut mass = match given {
            Some(inertial) => self.inertial(&self.defaults.resolve(inertial, &[], None)?)?,
            None if self.compiler.inertia == InertiaFrom::Inertial => Mass::zero(),
            None => geoms,
        };
        self.bound(&mut mass);
        self.links[index].mass = mass;
        Ok(())
    }

    fn inertial(&mut self, item: &Item<'_>) -> Result<Mass, Fault> {
        item.unknown(&INERTIAL, self.notes);
        if item.find("pos").is_none() {
            return Err(item.fault("pos", "missing"));
        }
        let frame = self.compiler.frame(item)?;
        let mass = item.positive("mass")?.ok_or_else(|| item.fault("mass", "missing"))?;
        let inertia = match (item.vector("diaginertia")?, item.numbers("fullinertia", 6, 6)?) {
            (_, Some(x)) => Matrix3::new(x[0], x[3], x[4], x[3], x[1], x[5], x[4], x[5], x[2]),
            (Some(x), None) => Matrix3::from_diagonal(&x),
            (None, None) => return Err(item.fault("diaginertia", "missing")),
        };
        Ok(Mass { mass, centre: Vector3::zeros(), inertia }.moved(&frame))
    }

    /// Least mass and moments, and moments that some body could have.
    fn bound(&self, mass: &mut Mass) {
        let compiler = self.compiler;
        mass.mass = mass.mass.max(compiler.boundmass);
        if compiler.boundinertia <= 0.0 && !compiler.balance {
            return;
        }
        let axes = mass.inertia.symmetric_eigen();
        let mut moments = axes.eigenvalues.map(|x| x.max(compiler.boundinertia));
        let (sum, greatest) = (moments.sum(), moments.max());
        if compiler.balance && sum - greatest < greatest {
            moments = Vector3::repeat(sum / 3.0);
        }
        mass.inertia = axes.eigenvectors * Matrix3::from_diagonal(&moments) * axes.eigenvectors.transpose();
    }
}
