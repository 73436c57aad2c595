//! What both formats describe: links in a tree, each placed in its parent and joined to it by joints in a row, with mass and shapes.

use crate::mass::Mass;
use crate::text::Fault;
use carom_dynamics::{Aim, Tendon};
use carom_scene::error::Span;
use carom_scene::tree::Solid;
use nalgebra::{Isometry3, UnitQuaternion, Vector3};

/// A whole model, before any joint has become one of the engine's.
#[derive(Debug)]
pub struct Robot {
    /// Name.
    pub name: String,
    /// Place of the root element.
    pub span: Span,
    /// Gravity, if given [m/s^2].
    pub gravity: Option<Vector3<f64>>,
    /// Time step, if given \[s\].
    pub step: Option<f64>,
    /// Links, parents before children.
    pub links: Vec<Link>,
    /// Shapes fixed to the world, in its frame.
    pub fixtures: Vec<Geom>,
    /// Joints that close loops.
    pub loops: Vec<Loop>,
    /// Springs and ropes between points.
    pub ties: Vec<Tie>,
    /// Joints that follow others.
    pub gears: Vec<Gear>,
    /// Tendons over several joints.
    pub strands: Vec<Strand>,
    /// Named points.
    pub frames: Vec<NamedFrame>,
    /// Pairs of links that do not touch.
    pub apart: Vec<([usize; 2], Span)>,
    /// How the friction of a pair follows from its two geoms.
    pub friction: FrictionRule,
}

impl Robot {
    /// Holds the only joint of a link at a coordinate, from the pose as written: the link is part of its parent there. False when the joint is
    /// one of several, or has not one coordinate.
    pub fn hold(&mut self, name: &str, at: f64) -> bool {
        let Some(link) = self.links.iter_mut().find(|l| l.joints.iter().any(|j| j.name == name)) else { return false };
        let [joint] = &mut link.joints[..] else { return false };
        if !matches!(joint.freedom, Freedom::Hinge | Freedom::Slide) {
            return false;
        }
        joint.start = Start::Scalar(at);
        let placed = crate::chain::place(link, &Isometry3::identity());
        link.place = placed.frames.last().copied().unwrap_or(link.place);
        link.joints.clear();
        true
    }
}

/// How the friction of a pair follows from that of its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrictionRule {
    /// The mean, as everywhere in the engine.
    Mean,
    /// The greater one, and none where both sides have contacts of one dimension.
    Greatest,
}

/// A named point of a link, with axes of its own.
#[derive(Clone, Debug)]
pub struct NamedFrame {
    /// Name.
    pub name: String,
    /// Place of its element.
    pub span: Span,
    /// The link; `None` is the world.
    pub link: Option<usize>,
    /// Its frame in the link's.
    pub frame: Isometry3<f64>,
}

/// A link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Name.
    pub name: String,
    /// Place of its element.
    pub span: Span,
    /// Its parent; `None` is the world.
    pub parent: Option<usize>,
    /// Its frame in the parent's, with every joint at 0.
    pub place: Isometry3<f64>,
    /// Joints from the parent to it; none holds it fast.
    pub joints: Vec<Axis>,
    /// Mass in its frame.
    pub mass: Mass,
    /// Shapes in its frame.
    pub geoms: Vec<Geom>,
}

/// What a joint lets free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freedom {
    /// Everything.
    Free,
    /// Turns about a point.
    Ball,
    /// Turns about an axis.
    Hinge,
    /// Slides along an axis.
    Slide,
    /// Slides in a plane and turns about its normal.
    Planar,
}

impl Freedom {
    /// The word for messages.
    pub fn word(self) -> &'static str {
        match self {
            Freedom::Free => "free",
            Freedom::Ball => "ball",
            Freedom::Hinge => "hinge",
            Freedom::Slide => "slide",
            Freedom::Planar => "planar",
        }
    }
}

/// Where a joint starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Angle \[rad\] or way \[m\] from the pose in which the model is written.
    Scalar(f64),
    /// Turn of a ball.
    Turn(UnitQuaternion<f64>),
    /// World pose of a free link.
    Pose(Isometry3<f64>),
}

/// A joint; anchor and axis in the frame of its link, with every joint at 0.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Name.
    pub name: String,
    /// Place of its element.
    pub span: Span,
    /// What it lets free.
    pub freedom: Freedom,
    /// Point on the axis \[m\].
    pub anchor: Vector3<f64>,
    /// Unit direction.
    pub axis: Vector3<f64>,
    /// Where it starts.
    pub start: Start,
    /// The model's own number for the coordinate in the pose as written \[rad or m\].
    pub reference: f64,
    /// Least and greatest coordinate \[rad or m\].
    pub limits: Option<[f64; 2]>,
    /// Stiffness [N m/rad or N/m].
    pub stiffness: f64,
    /// Stiffness times rest coordinate, summed over all springs \[N m or N\].
    pub preload: f64,
    /// Damping [N m s/rad or N s/m].
    pub damping: f64,
    /// Greatest dry friction \[N m or N\].
    pub friction: f64,
    /// Inertia of the joint itself [kg m^2 or kg].
    pub armature: f64,
    /// Driven by a control of at most so much \[N m or N\]; infinite for no clamp.
    pub control: Option<f64>,
    /// Follows a target.
    pub servo: Option<Servo>,
    /// Follows another joint, or is followed.
    pub geared: bool,
}

/// A joint that follows another: its coordinate is offset + ratio times the other's, both from the pose as written.
#[derive(Clone, Debug)]
pub struct Gear {
    /// Name.
    pub name: String,
    /// Place of its element.
    pub span: Span,
    /// The joint that follows and the one that leads.
    pub joints: [String; 2],
    /// Ratio.
    pub ratio: f64,
    /// Offset \[rad or m\].
    pub offset: f64,
}

/// A fixed tendon: a sum of coefficients times coordinates, each from the pose as written, with what acts on it.
#[derive(Clone, Debug)]
pub struct Strand {
    /// Name.
    pub name: String,
    /// Place of its element.
    pub span: Span,
    /// Joints with their coefficients.
    pub terms: Vec<(String, f64)>,
    /// Where its spring rests.
    pub rest: f64,
    /// What acts on it.
    pub tendon: Tendon,
}

/// What makes a joint follow a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Servo {
    /// What the target is.
    pub aim: Aim,
    /// Stiffness [N m/rad or N/m].
    pub stiffness: f64,
    /// Damping [N m s/rad or N s/m].
    pub damping: f64,
    /// Greatest torque or force; infinite for no clamp.
    pub max: f64,
    /// Whether a control is the target; otherwise it is where the joint starts.
    pub control: bool,
}

impl Robot {
    /// Names of all joints.
    pub fn joint_names(&self) -> impl Iterator<Item = &str> {
        self.links.iter().flat_map(|link| &link.joints).map(|joint| joint.name.as_str())
    }
    /// Names of all links.
    pub fn link_names(&self) -> impl Iterator<Item = &str> {
        self.links.iter().map(|link| link.name.as_str())
    }
}

impl Axis {
    /// A joint that does nothing but move.
    pub fn new(name: String, span: Span, freedom: Freedom, anchor: Vector3<f64>, axis: Vector3<f64>) -> Self {
        let start = match freedom {
            Freedom::Ball => Start::Turn(UnitQuaternion::identity()),
            _ => Start::Scalar(0.0),
        };
        Axis {
            name,
            span,
            freedom,
            anchor,
            axis,
            start,
            reference: 0.0,
            limits: None,
            stiffness: 0.0,
            preload: 0.0,
            damping: 0.0,
            friction: 0.0,
            armature: 0.0,
            control: None,
            servo: None,
            geared: false,
        }
    }
    /// The start of a joint with one coordinate.
    pub fn scalar(&self) -> f64 {
        if let Start::Scalar(x) = self.start { x } else { 0.0 }
    }
    /// Seen from the frame in which `frame` places that of its link.
    pub fn moved(&self, frame: &Isometry3<f64>) -> Self {
        let mut out = self.clone();
        out.anchor = frame.transform_point(&self.anchor.into()).coords;
        out.axis = frame.rotation * self.axis;
        out
    }
    /// Whether anything acts on its one coordinate.
    pub fn is_driven(&self) -> bool {
        !self.acting().is_empty()
    }
    /// What acts on the coordinates, by name.
    pub fn acting(&self) -> Vec<&'static str> {
        [
            ("limits", self.limits.is_some()),
            ("stiffness", self.stiffness != 0.0),
            ("damping", self.damping != 0.0),
            ("friction", self.friction != 0.0),
            ("armature", self.armature != 0.0),
            ("actuator", self.control.is_some() || self.servo.is_some()),
            ("coupling", self.geared),
        ]
        .into_iter()
        .filter_map(|(name, there)| there.then_some(name))
        .collect()
    }
}

/// Solids and the frame in which they are given; `None` where they were left out, with a note.
pub type Placed = Option<(Vec<Solid>, Isometry3<f64>)>;

/// A shape on a link.
#[derive(Clone, Debug)]
pub struct Geom {
    /// Name, if any.
    pub name: Option<String>,
    /// Place of its element.
    pub span: Span,
    /// The solid.
    pub solid: Solid,
    /// Its frame in the link's.
    pub frame: Isometry3<f64>,
    /// Friction coefficient.
    pub friction: f64,
    /// Restitution.
    pub restitution: f64,
    /// Whether its contacts have friction.
    pub rough: bool,
    /// Bits of its type and of the types it meets: two geoms touch when the type of one meets the affinity of the other.
    pub filter: Filter,
    /// Colour, if any.
    pub color: Option<u32>,
}

/// Bits that say which geoms touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Filter {
    /// Bits of its own.
    pub kind: u32,
    /// Bits it meets.
    pub affinity: u32,
}

impl Filter {
    /// Touches everything that is not told otherwise.
    pub const ALL: Filter = Filter { kind: 1, affinity: 1 };
    /// Touches others of [`Filter::ALL`], not its own.
    pub const OTHERS: Filter = Filter { kind: 1, affinity: 0 };
    /// Touches nothing.
    pub const NONE: Filter = Filter { kind: 0, affinity: 0 };
    /// Whether two geoms touch.
    pub fn meets(self, other: Filter) -> bool {
        self.kind & other.affinity != 0 || other.kind & self.affinity != 0
    }
}

/// A joint that closes a loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Name.
    pub name: String,
    /// Place of its element.
    pub span: Span,
    /// The links; `None` is the world.
    pub links: [Option<usize>; 2],
    /// Held: a point of the first link in its frame, or everything.
    pub point: Option<Vector3<f64>>,
}

/// What acts along the line between two points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TieKind {
    /// A spring with a damper.
    Spring {
        /// Rest length \[m\].
        rest: f64,
        /// Stiffness [N/m].
        stiffness: f64,
        /// Damping [N s/m].
        damping: f64,
    },
    /// At most a length.
    Rope {
        /// Greatest length \[m\].
        length: f64,
    },
}

/// A spring or rope between points of two links.
#[derive(Clone, Debug)]
pub struct Tie {
    /// Name.
    pub name: String,
    /// Place of its element.
    pub span: Span,
    /// Links, `None` for the world, and points in their frames \[m\].
    pub ends: [(Option<usize>, Vector3<f64>); 2],
    /// What it is.
    pub kind: TieKind,
}

/// What was left out: faults of one kind are one note, with the lines of all.
#[derive(Debug, Default)]
pub struct Notes(Vec<(Fault, Vec<Span>)>);

impl Notes {
    /// Keeps a note.
    pub fn add(&mut self, fault: Fault) {
        fn kind(part: &str) -> &str {
            part.split(' ').next().unwrap_or(part)
        }
        let same =
            |(f, _): &&mut (Fault, Vec<Span>)| kind(&f.part) == kind(&fault.part) && f.key == fault.key && f.problem == fault.problem;
        match self.0.iter_mut().find(same) {
            Some((_, more)) => more.push(fault.span),
            None => self.0.push((fault, Vec::new())),
        }
    }
    /// The notes in the order in which they were met, with the places of their repetitions.
    pub fn into_vec(self) -> Vec<(Fault, Vec<Span>)> {
        self.0
    }
}
