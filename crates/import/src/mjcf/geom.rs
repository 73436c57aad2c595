//! `geom` and `mesh`: shapes, what they weigh and what they touch.

use super::compiler::{Compiler, along};
use super::defaults::{Defaults, Item};
use super::hfield;
use crate::element::Element;
use crate::mass::{self, Mass, Volume};
use crate::mesh::{self, Convex, Mesh};
use crate::robot::{Filter, Geom, Notes};
use crate::text::Fault;
use crate::urdf::rgb;
use carom_scene::tree::Solid;
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};
use std::collections::BTreeMap;
use std::path::Path;

/// Density of a geom that does not say [kg/m^3].
const DENSITY: f64 = 1000.0;
/// Sliding friction of a geom that does not say.
const FRICTION: f64 = 1.0;
/// Dimension of the contacts of a geom that does not say: with sliding friction.
const CONDIM: u32 = 3;
/// Largest dimension that has no more than sliding friction.
const SLIDING: u32 = 3;
/// Circles of latitude, and points of each, of the polyhedron that stands for an ellipsoid.
const RINGS: usize = 8;
/// Points of a circle.
const RING: usize = 16;

/// Attributes of a geom.
const KNOWN: [&str; 36] = [
    "name",
    "class",
    "adhesion",
    "axisangle",
    "castshadow",
    "conaffinity",
    "condim",
    "contype",
    "density",
    "euler",
    "fitscale",
    "fluidcoef",
    "fluidshape",
    "friction",
    "fromto",
    "gap",
    "group",
    "hfield",
    "margin",
    "mass",
    "material",
    "mesh",
    "pos",
    "priority",
    "quat",
    "rgba",
    "shellinertia",
    "size",
    "solimp",
    "solmix",
    "solref",
    "surfacevel",
    "type",
    "user",
    "xyaxes",
    "zaxis",
];

/// A mesh of the assets.
#[derive(Debug)]
struct Asset {
    mesh: Result<Mesh, String>,
    convex: Option<Result<Convex, String>>,
    hull_mass: bool,
    volume: Volume,
}

/// Meshes by name.
#[derive(Debug, Default)]
pub struct Assets {
    meshes: BTreeMap<String, Asset>,
    fields: BTreeMap<String, Result<Solid, String>>,
}

impl Assets {
    /// Reads every `mesh` of a model; one that cannot be read is a fault only where it is used.
    pub fn read(root: &Element, defaults: &Defaults, compiler: &Compiler, folder: Option<&Path>, notes: &mut Notes) -> Result<Self, Fault> {
        let mut out = Assets::default();
        for element in root.all("asset").flat_map(|a| a.all("mesh")) {
            let item = defaults.resolve(element, &["mesh"], None)?;
            let file = item.value("file").map(str::to_string);
            let stem = file.as_ref().and_then(|f| Path::new(f).file_stem()).map(|s| s.to_string_lossy().into_owned());
            let Some(name) = item.name()?.or(stem) else { return Err(item.fault("name", "missing")) };
            let scale = item.vector("scale")?.unwrap_or_else(|| Vector3::repeat(1.0));
            let at = item.vector("refpos")?.unwrap_or_else(Vector3::zeros);
            let turn = match item.numbers("refquat", 4, 4)? {
                Some(q) => UnitQuaternion::try_new(nalgebra::Quaternion::new(q[0], q[1], q[2], q[3]), f64::MIN_POSITIVE)
                    .ok_or_else(|| item.fault("refquat", "has no direction"))?,
                None => UnitQuaternion::identity(),
            };
            let reference = Isometry3::from_parts(Translation3::from(at), turn).inverse();
            let mesh = match (&file, item.find("vertex")) {
                (Some(file), _) => read_file(file, compiler, folder),
                (None, Some(_)) => inline(&item)?,
                (None, None) => Err("neither a file nor vertices".to_string()),
            };
            let mesh = mesh.map(|mesh| {
                let mut mesh = mesh.scaled(scale);
                mesh.points.iter_mut().for_each(|p| *p = (reference * nalgebra::Point3::from(*p)).coords);
                mesh
            });
            match item.value("inertia") {
                None | Some("legacy" | "exact" | "convex") => {}
                Some(_) => notes.add(item.fault("inertia", "not supported: the volume is taken")),
            }
            let hull_mass = item.value("inertia") == Some("convex") || mesh.as_ref().is_ok_and(|m| m.faces.is_empty());
            let volume = if item.value("inertia") == Some("exact") { Volume::Signed } else { Volume::Absolute };
            out.meshes.insert(name, Asset { mesh, convex: None, hull_mass, volume });
        }
        for element in root.all("asset").flat_map(|a| a.all("hfield")) {
            let item = defaults.resolve(element, &[], None)?;
            let stem = item.value("file").and_then(|f| Path::new(f).file_stem()).map(|s| s.to_string_lossy().into_owned());
            let Some(name) = item.name()?.or(stem) else { return Err(item.fault("name", "missing")) };
            let field = hfield::read(&item, compiler, folder)?;
            out.fields.insert(name, field);
        }
        Ok(out)
    }

    fn convex(&mut self, name: &str) -> Result<(Convex, Mass), String> {
        let asset = self.meshes.get_mut(name).ok_or("no mesh of this name")?;
        let mesh = asset.mesh.as_ref().map_err(Clone::clone)?;
        let convex = asset.convex.get_or_insert_with(|| mesh.hull()).clone()?;
        let solid = if asset.hull_mass { &convex.mesh } else { mesh };
        let mass = mass::mesh(&solid.points, &solid.faces, asset.volume);
        if mass.mass <= 0.0 {
            return Err("has no volume: its faces look inward, or it is open".to_string());
        }
        Ok((convex.clone(), mass))
    }
}

fn read_file(file: &str, compiler: &Compiler, folder: Option<&Path>) -> Result<Mesh, String> {
    let folder = folder.ok_or("a file, and the model was given as text")?;
    let name = if compiler.strippath { Path::new(file).file_name().map_or(file.into(), |n| n.to_string_lossy()) } else { file.into() };
    mesh::load(&folder.join(&compiler.meshdir).join(name.as_ref())).map_err(|problem| format!("file \"{}\" {problem}", name.escape_debug()))
}

/// A mesh written in the model.
fn inline(item: &Item<'_>) -> Result<Result<Mesh, String>, Fault> {
    let x = item.numbers("vertex", 3, usize::MAX)?.unwrap_or_default();
    if x.len() % 3 != 0 {
        return Err(item.fault("vertex", "needs three numbers per vertex"));
    }
    let points: Vec<Vector3<f64>> = x.chunks_exact(3).map(|p| Vector3::new(p[0], p[1], p[2])).collect();
    let Some(faces) = item.numbers("face", 0, usize::MAX)? else { return Ok(Ok(Mesh { points, faces: Vec::new() })) };
    let index = |x: &f64| (*x >= 0.0 && x.fract() == 0.0 && *x < points.len() as f64).then_some(*x as usize);
    let corners: Option<Vec<usize>> = faces.iter().map(index).collect();
    match corners {
        Some(corners) if corners.len() % 3 == 0 => {
            Ok(Ok(Mesh { points, faces: corners.chunks_exact(3).map(|f| [f[0], f[1], f[2]]).collect() }))
        }
        _ => Err(item.fault("face", "needs three indices of vertices per triangle")),
    }
}

/// A geom as read: its shape, if it has one here, and its mass in the frame of its body.
pub struct Read {
    /// The shape.
    pub geom: Option<Geom>,
    /// What it weighs.
    pub mass: Mass,
}

/// Reads a geom; its frame is that in its body, `frame` that of the `frame` elements around it.
pub fn read(item: &Item<'_>, frame: &Isometry3<f64>, compiler: &Compiler, assets: &mut Assets, notes: &mut Notes) -> Result<Read, Fault> {
    item.unknown(&KNOWN, notes);
    let kind = item.value("type").unwrap_or(if item.find("mesh").is_some() { "mesh" } else { "sphere" });
    let size = item.numbers("size", 1, 3)?.unwrap_or_default();
    let mut local = compiler.frame(item)?;
    let mut half_length = None;
    if let Some(x) = item.numbers("fromto", 6, 6)?.filter(|_| matches!(kind, "capsule" | "cylinder" | "box" | "ellipsoid")) {
        let (from, to) = (Vector3::new(x[0], x[1], x[2]), Vector3::new(x[3], x[4], x[5]));
        let turn = along(from - to).ok_or_else(|| item.fault("fromto", "two ends at one point"))?;
        local = Isometry3::from_parts(Translation3::from((from + to) * 0.5), turn);
        half_length = Some((from - to).norm() * 0.5);
    }
    let extent = |i: usize| match size.get(i) {
        Some(x) if *x > 0.0 => Ok(*x),
        _ => Err(item.fault("size", format!("a {kind} needs number {} above 0", i + 1))),
    };
    let (solid, unit) = match kind {
        "plane" => (Some(Solid::HalfSpace([0.0, 0.0, 1.0])), Mass::zero()),
        "sphere" => (Some(Solid::Ball(extent(0)?)), mass::ball(extent(0)?)),
        "capsule" | "cylinder" => {
            let radius = extent(0)?;
            let half = half_length.map_or_else(|| extent(1), Ok)?;
            if kind == "capsule" {
                (Some(Solid::Capsule(2.0 * half, radius)), mass::capsule(radius, half))
            } else {
                (Some(Solid::Cylinder(2.0 * half, radius)), mass::cylinder(radius, half))
            }
        }
        "box" | "ellipsoid" => {
            let half = match half_length {
                Some(half) => Vector3::new(extent(0)?, extent(0)?, half),
                None => Vector3::new(extent(0)?, extent(1)?, extent(2)?),
            };
            if kind == "box" {
                (Some(Solid::Box([2.0 * half.x, 2.0 * half.y, 2.0 * half.z])), mass::cuboid(half))
            } else {
                notes.add(item.fault("type", "not supported: an ellipsoid touches as the convex hull of some of its points"));
                (Some(Solid::Convex(ellipsoid(half))), mass::ellipsoid(half))
            }
        }
        "mesh" => {
            let Some(name) = item.value("mesh") else { return Err(item.fault("mesh", "missing")) };
            let (convex, weight) = assets.convex(name).map_err(|problem| item.fault("mesh", problem))?;
            if convex.thinned {
                notes.add(item.fault("mesh", "its hull has too many vertices: the outermost in many directions are taken"));
            }
            (Some(Solid::Convex(convex.points.iter().map(|p| [p.x, p.y, p.z]).collect())), weight)
        }
        "hfield" => {
            let Some(name) = item.value("hfield") else { return Err(item.fault("hfield", "missing")) };
            match assets.fields.get(name) {
                None => {
                    let fault = item.fault("hfield", "no hfield of this name");
                    return Err(fault.instead(name, assets.fields.keys().map(String::as_str)));
                }
                Some(Ok(field)) => (Some(field.clone()), Mass::zero()),
                Some(Err(problem)) => {
                    notes.add(item.fault("hfield", format!("left out: {problem}")));
                    (None, Mass::zero())
                }
            }
        }
        "sdf" => {
            notes.add(item.fault("type", "not supported: the shape is left out"));
            (None, Mass::zero())
        }
        _ => return Err(item.fault("type", "no such geom").allowed("plane, sphere, capsule, ellipsoid, cylinder, box, mesh")),
    };
    if kind != "mesh" && item.find("mesh").is_some() {
        notes.add(item.fault("mesh", "not supported: fitting a primitive to a mesh"));
    }
    let local = frame * local;
    let mass = match item.positive("mass")? {
        Some(0.0) => Mass::zero(),
        Some(mass) if unit.mass > 0.0 => unit.scaled(mass / unit.mass),
        Some(_) => return Err(item.fault("mass", "a geom without volume cannot have it")),
        None => unit.scaled(item.positive("density")?.unwrap_or(DENSITY)),
    };
    let group = item.number("group")?.unwrap_or(0.0);
    let weighs = compiler.groups[0] <= group && group <= compiler.groups[1];
    softness(item, notes)?;
    let condim = item.whole("condim")?.unwrap_or(CONDIM);
    if condim > SLIDING {
        notes.add(item.fault("condim", "not supported: contacts slide with friction, they do not resist spinning and rolling"));
    }
    let friction = item.numbers("friction", 1, 3)?.map_or(FRICTION, |x| x[0]);
    if friction < 0.0 {
        return Err(item.fault("friction", "below 0"));
    }
    let filter = Filter { kind: item.whole("contype")?.unwrap_or(1), affinity: item.whole("conaffinity")?.unwrap_or(1) };
    let color = item.numbers("rgba", 3, 4)?.and_then(|x| rgb(&x));
    let geom = match solid {
        None => None,
        Some(solid) => {
            let (name, rough) = (item.name()?, condim > 1);
            Some(Geom { name, span: item.span(), solid, frame: local, friction, restitution: 0.0, rough, filter, color })
        }
    };
    Ok(Read { geom, mass: if weighs { mass.moved(&local) } else { Mass::zero() } })
}

/// Contacts are hard here: what softens them is named.
fn softness(item: &Item<'_>, notes: &mut Notes) -> Result<(), Fault> {
    for key in ["margin", "gap"] {
        if item.number(key)?.is_some_and(|x| x != 0.0) {
            notes.add(item.fault(key, "not supported: contacts are hard and act where bodies touch"));
        }
    }
    for key in ["solref", "solimp", "solmix", "priority"] {
        if item.find(key).is_some() {
            notes.add(item.fault(key, "not supported: contacts are hard"));
        }
    }
    if item.find("shellinertia").is_some_and(|a| a.value == "true") {
        notes.add(item.fault("shellinertia", "not supported: the volume is taken"));
    }
    Ok(())
}

/// Points of an ellipsoid: poles and rings.
fn ellipsoid(half: Vector3<f64>) -> Vec<[f64; 3]> {
    let mut out = vec![[0.0, 0.0, half.z], [0.0, 0.0, -half.z]];
    for i in 1..RINGS {
        let (sin, cos) = (std::f64::consts::PI * i as f64 / RINGS as f64).sin_cos();
        for k in 0..RING {
            let (y, x) = (std::f64::consts::TAU * k as f64 / RING as f64).sin_cos();
            out.push([half.x * sin * x, half.y * sin * y, half.z * cos]);
        }
    }
    out
}
