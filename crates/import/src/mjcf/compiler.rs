//! `compiler` and `option`: how numbers are meant, where files are, what the world is like.

use super::defaults::{Defaults, Item};
use crate::element::Element;
use crate::robot::Notes;
use crate::text::Fault;
use nalgebra::{Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion, Vector3};
use std::path::PathBuf;

/// Gravity of a model that does not say [m/s^2].
const GRAVITY: f64 = -9.81;
/// Time step of a model that does not say \[s\].
const TIMESTEP: f64 = 0.002;

/// Attributes of a `compiler`, of this and earlier versions of MuJoCo.
const COMPILER: [&str; 26] = [
    "alignfree",
    "angle",
    "assetdir",
    "autolimits",
    "balanceinertia",
    "boundinertia",
    "boundmass",
    "conflict",
    "convexhull",
    "coordinate",
    "discardvisual",
    "eulerseq",
    "exactmeshinertia",
    "fitaabb",
    "fusestatic",
    "inertiafromgeom",
    "inertiagrouprange",
    "meshdir",
    "passthrough",
    "savecanonical",
    "savecompiled",
    "saveinertial",
    "settotalmass",
    "strippath",
    "texturedir",
    "usethread",
];
/// Attributes of an `option`.
const OPTION: [&str; 31] = [
    "actuatorgroupdisable",
    "apirate",
    "ccd_iterations",
    "ccd_tolerance",
    "collision",
    "cone",
    "density",
    "gravity",
    "impratio",
    "integrator",
    "iterations",
    "jacobian",
    "ls_iterations",
    "ls_tolerance",
    "magnetic",
    "mpr_iterations",
    "mpr_tolerance",
    "noslip_iterations",
    "noslip_tolerance",
    "o_friction",
    "o_margin",
    "o_solimp",
    "o_solref",
    "sdf_initpoints",
    "sdf_iterations",
    "sleep_tolerance",
    "solver",
    "timestep",
    "tolerance",
    "viscosity",
    "wind",
];

/// Where masses come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InertiaFrom {
    /// From the geoms where there is no `inertial`.
    Auto,
    /// Always from the geoms.
    Geoms,
    /// Never from the geoms.
    Inertial,
}

/// What the whole model says.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// Whether angles are degrees.
    pub degree: bool,
    /// Order of Euler angles: axis and whether it turns with the frame.
    pub euler: [(usize, bool); 3],
    /// Whether a range alone limits.
    pub autolimits: bool,
    /// Folder of meshes, from the model's.
    pub meshdir: PathBuf,
    /// Whether folders in file names are dropped.
    pub strippath: bool,
    /// Where masses come from.
    pub inertia: InertiaFrom,
    /// Least mass \[kg\].
    pub boundmass: f64,
    /// Least moment [kg m^2].
    pub boundinertia: f64,
    /// Whether moments that no body has are made equal.
    pub balance: bool,
    /// Total mass, if given \[kg\].
    pub total: Option<f64>,
    /// Geom groups that weigh.
    pub groups: [f64; 2],
    /// Gravity [m/s^2].
    pub gravity: Vector3<f64>,
    /// Time step \[s\].
    pub timestep: f64,
    /// Flags that are off.
    pub off: Vec<String>,
}

impl Compiler {
    /// Reads every `compiler` and `option` of a model.
    pub fn read(root: &Element, defaults: &Defaults, notes: &mut Notes) -> Result<Self, Fault> {
        let mut out = Compiler {
            degree: true,
            euler: [(0, true), (1, true), (2, true)],
            autolimits: true,
            meshdir: PathBuf::new(),
            strippath: false,
            inertia: InertiaFrom::Auto,
            boundmass: 0.0,
            boundinertia: 0.0,
            balance: false,
            total: None,
            groups: [f64::NEG_INFINITY, f64::INFINITY],
            gravity: Vector3::new(0.0, 0.0, GRAVITY),
            timestep: TIMESTEP,
            off: Vec::new(),
        };
        for element in root.all("compiler") {
            out.compiler(&defaults.resolve(element, &[], None)?, notes)?;
        }
        for element in root.all("option") {
            out.option(&defaults.resolve(element, &[], None)?, notes)?;
        }
        Ok(out)
    }

    fn compiler(&mut self, item: &Item<'_>, notes: &mut Notes) -> Result<(), Fault> {
        item.unknown(&COMPILER, notes);
        match item.value("angle") {
            None => {}
            Some("degree") => self.degree = true,
            Some("radian") => self.degree = false,
            Some(_) => return Err(item.fault("angle", "needs degree or radian")),
        }
        if item.value("coordinate").is_some_and(|c| c != "local") {
            return Err(item.fault("coordinate", "not supported, nor by MuJoCo since 2.3.4").allowed("local"));
        }
        if let Some(sequence) = item.value("eulerseq") {
            let axes: Vec<(usize, bool)> =
                sequence.chars().filter_map(|c| "xyz".find(c.to_ascii_lowercase()).map(|axis| (axis, c.is_ascii_lowercase()))).collect();
            match axes.as_slice() {
                &[a, b, c] if sequence.chars().count() == 3 => self.euler = [a, b, c],
                _ => return Err(item.fault("eulerseq", "needs three of x, y, z, X, Y, Z")),
            }
        }
        let truth = |key: &str, now: bool| Ok(item.choice(key)?.unwrap_or(now));
        self.autolimits = truth("autolimits", self.autolimits)?;
        self.balance = truth("balanceinertia", self.balance)?;
        self.strippath = truth("strippath", self.strippath)?;
        if let Some(folder) = item.value("meshdir").or(item.value("assetdir")) {
            self.meshdir = PathBuf::from(folder);
        }
        self.inertia = match item.choice("inertiafromgeom")? {
            Some(true) => InertiaFrom::Geoms,
            Some(false) => InertiaFrom::Inertial,
            None if item.find("inertiafromgeom").is_some() => InertiaFrom::Auto,
            None => self.inertia,
        };
        self.boundmass = item.positive("boundmass")?.unwrap_or(self.boundmass);
        self.boundinertia = item.positive("boundinertia")?.unwrap_or(self.boundinertia);
        if let Some(total) = item.number("settotalmass")? {
            self.total = (total > 0.0).then_some(total);
        }
        if let Some(range) = item.numbers("inertiagrouprange", 2, 2)? {
            self.groups = [range[0], range[1]];
        }
        for key in ["fitaabb", "exactmeshinertia", "alignfree"] {
            if item.choice(key)? == Some(true) {
                notes.add(item.fault(key, "not supported"));
            }
        }
        Ok(())
    }

    fn option(&mut self, item: &Item<'_>, notes: &mut Notes) -> Result<(), Fault> {
        item.unknown(&OPTION, notes);
        self.gravity = item.vector("gravity")?.unwrap_or(self.gravity);
        if let Some(step) = item.number("timestep")? {
            if step <= 0.0 {
                return Err(item.fault("timestep", "not above 0"));
            }
            self.timestep = step;
        }
        for key in ["density", "viscosity", "wind"] {
            if item.numbers(key, 1, 3)?.is_some_and(|x| x.iter().any(|x| *x != 0.0)) {
                notes.add(item.fault(key, "not supported: the engine has no medium"));
            }
        }
        for flag in item.element.all("flag") {
            self.off.extend(flag.attributes.iter().filter(|a| a.value == "disable").map(|a| a.name.clone()));
        }
        Ok(())
    }

    /// Whether a flag of `option` is off.
    pub fn is_off(&self, flag: &str) -> bool {
        self.off.iter().any(|f| f == flag)
    }
    /// An angle of the model \[rad\].
    pub fn angle(&self, x: f64) -> f64 {
        if self.degree { x.to_radians() } else { x }
    }

    /// The orientation an element gives in one of five ways.
    pub fn turn(&self, item: &Item<'_>) -> Result<UnitQuaternion<f64>, Fault> {
        let zero = |key: &str| item.fault(key, "has no direction");
        if let Some(q) = item.numbers("quat", 4, 4)? {
            let q = nalgebra::Quaternion::new(q[0], q[1], q[2], q[3]);
            return UnitQuaternion::try_new(q, f64::MIN_POSITIVE).ok_or_else(|| zero("quat"));
        }
        if let Some(x) = item.numbers("axisangle", 4, 4)? {
            let axis = nalgebra::Unit::try_new(Vector3::new(x[0], x[1], x[2]), f64::MIN_POSITIVE).ok_or_else(|| zero("axisangle"))?;
            return Ok(UnitQuaternion::from_axis_angle(&axis, self.angle(x[3])));
        }
        if let Some(angles) = item.vector("euler")? {
            let mut out = UnitQuaternion::identity();
            for ((axis, turns_along), angle) in self.euler.iter().zip(angles.iter()) {
                let mut unit = Vector3::zeros();
                unit[*axis] = 1.0;
                let turn = UnitQuaternion::from_scaled_axis(unit * self.angle(*angle));
                out = if *turns_along { out * turn } else { turn * out };
            }
            return Ok(out);
        }
        if let Some(x) = item.numbers("xyaxes", 6, 6)? {
            let first = Vector3::new(x[0], x[1], x[2]).try_normalize(f64::MIN_POSITIVE).ok_or_else(|| zero("xyaxes"))?;
            let second = Vector3::new(x[3], x[4], x[5]);
            let second = (second - first * first.dot(&second)).try_normalize(f64::MIN_POSITIVE).ok_or_else(|| zero("xyaxes"))?;
            let axes = Matrix3::from_columns(&[first, second, first.cross(&second)]);
            return Ok(UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(axes)));
        }
        if let Some(z) = item.vector("zaxis")? {
            return along(z).ok_or_else(|| zero("zaxis"));
        }
        Ok(UnitQuaternion::identity())
    }

    /// The frame of an element.
    pub fn frame(&self, item: &Item<'_>) -> Result<Isometry3<f64>, Fault> {
        let at = item.vector("pos")?.unwrap_or_else(Vector3::zeros);
        Ok(Isometry3::from_parts(Translation3::from(at), self.turn(item)?))
    }
}

/// The least turn that brings z to a direction; half a turn about x where that is -z.
pub fn along(direction: Vector3<f64>) -> Option<UnitQuaternion<f64>> {
    let direction = direction.try_normalize(f64::MIN_POSITIVE)?;
    let half_turn = || UnitQuaternion::from_scaled_axis(Vector3::x() * std::f64::consts::PI);
    Some(UnitQuaternion::rotation_between(&Vector3::z(), &direction).unwrap_or_else(half_turn))
}
