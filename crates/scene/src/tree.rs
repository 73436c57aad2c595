//! A scene as written, typed and checked word by word, with the place of every value; nothing is resolved yet.

use crate::error::Span;
use crate::include::Wish;
use carom_dynamics::constraints::Measures;
use carom_dynamics::options::{ImpactLaw, Options};
use carom_dynamics::{BodyKind, Coefficients, Combination, Combine, JointKind, Motor, Resistances, Tendon, Tolerances};

/// A point, vector or rate; in the plane the last entries stay 0.
pub type Triple = [f64; 3];

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its bytes in the text.
    pub span: Span,
}

impl<T> At<T> {
    /// A value at a place.
    pub fn new(value: T, span: Span) -> Self {
        At { value, span }
    }
}

/// Where the keys of a part stand, so that later faults find them.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    /// The part as a whole.
    pub whole: Span,
    /// Its keys.
    pub keys: Vec<(&'static str, Span)>,
}

impl Places {
    /// The place of a key, or of the whole part; of `motor.max` that of `motor`.
    pub fn of(&self, key: &str) -> Span {
        let head = key.split('.').next().unwrap_or(key);
        self.keys.iter().find(|(name, _)| *name == head).map_or_else(|| self.whole.clone(), |(_, span)| span.clone())
    }
    /// Whether a key was written.
    pub fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|(name, _)| *name == key)
    }
}

/// A whole scene.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneTree {
    /// 2 or 3.
    pub dimension: usize,
    /// Name, if given.
    pub name: Option<String>,
    /// Description.
    pub description: String,
    /// Gravity, if given [m/s^2].
    pub gravity: Option<Triple>,
    /// Time step, if given \[s\].
    pub step: Option<f64>,
    /// Duration of a plain run \[s\].
    pub duration: f64,
    /// Choices.
    pub options: Options,
    /// How coefficients combine.
    pub combine: CombineTree,
    /// Tolerances.
    pub tolerances: Tolerances,
    /// Materials in the order of their names.
    pub materials: Vec<MaterialTree>,
    /// Bodies in file order.
    pub bodies: Vec<BodyTree>,
    /// Joints in file order.
    pub joints: Vec<JointTree>,
    /// Pairs in file order.
    pub pairs: Vec<PairTree>,
    /// Forces in file order.
    pub forces: Vec<ForceTree>,
    /// Named points in file order.
    pub points: Vec<PointTree>,
    /// Repeats in file order.
    pub repeats: Vec<RepeatTree>,
    /// Included files in order; their parts come behind the bodies and joints written singly.
    pub includes: Vec<IncludeTree>,
    /// Couplings of joints.
    pub couplings: Vec<CouplingTree>,
    /// Where its keys stand.
    pub places: Places,
}

/// How coefficients combine, as far as it is said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CombineTree {
    /// Friction.
    pub friction: Option<Combine>,
    /// Restitution.
    pub restitution: Option<Combine>,
}

impl CombineTree {
    /// What is said here, and otherwise what was said before.
    pub fn over(self, before: Combination) -> Combination {
        Combination { friction: self.friction.unwrap_or(before.friction), restitution: self.restitution.unwrap_or(before.restitution) }
    }
}

/// A material.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialTree {
    /// Name.
    pub name: String,
    /// Coefficients.
    pub surface: Coefficients,
    /// How they combine with those of another body.
    pub combine: CombineTree,
}

/// A body.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyTree {
    /// Name, if given.
    pub name: Option<At<String>>,
    /// Kind.
    pub kind: BodyKind,
    /// Shapes.
    pub shapes: Vec<ShapeTree>,
    /// Mass \[kg\].
    pub mass: Option<f64>,
    /// Density.
    pub density: Option<f64>,
    /// Inertia by rows: 1 number or 9.
    pub inertia: Option<Vec<f64>>,
    /// Centre of mass in the frame of the shapes, if given \[m\].
    pub centre: Option<Triple>,
    /// Position \[m\].
    pub position: Triple,
    /// Whether the position places the frame of the shapes instead of the centre of mass.
    pub by_frame: bool,
    /// Angle, or quaternion.
    pub rotation: [f64; 4],
    /// Velocity [m/s].
    pub velocity: Triple,
    /// Spin [rad/s].
    pub spin: Triple,
    /// Material, if named.
    pub material: Option<At<String>>,
    /// Coefficients, if given inline.
    pub surface: Coefficients<Option<f64>>,
    /// How they combine, as far as it is given inline.
    pub combine: CombineTree,
    /// Groups, if given.
    pub group: Option<Vec<At<String>>>,
    /// Mask, if given.
    pub mask: Option<Vec<At<String>>>,
    /// What resists its motion.
    pub resistances: Resistances,
    /// World axes held.
    pub locked: [bool; 3],
    /// Whether the rotation is held.
    pub locked_rotation: bool,
    /// Colour, if given.
    pub color: Option<u32>,
    /// Where its keys stand.
    pub places: Places,
}

/// A shape placed in its body.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeTree {
    /// The solid.
    pub solid: Solid,
    /// The key that names it.
    pub key: &'static str,
    /// Its origin in the body \[m\].
    pub at: Triple,
    /// Its angle, or quaternion, in the body.
    pub rotation: [f64; 4],
    /// Where it stands.
    pub span: Span,
}

/// The solids.
#[derive(Clone, Debug, PartialEq)]
pub enum Solid {
    /// Radius \[m\].
    Ball(f64),
    /// Full extents \[m\].
    Box(Triple),
    /// Length between the cap centres and radius \[m\].
    Capsule(f64, f64),
    /// Points \[m\].
    Convex(Vec<Triple>),
    /// Outward normal.
    HalfSpace(Triple),
    /// Ends \[m\].
    Segment([Triple; 2]),
    /// Height and radius \[m\].
    Cylinder(f64, f64),
    /// Height and radius \[m\].
    Cone(f64, f64),
    /// An OBJ file.
    MeshFile(String),
    /// Vertices \[m\] and triangles.
    Mesh(Vec<Triple>, Vec<[usize; 3]>),
    /// Heights by rows \[m\] (one row in the plane) and spacing \[m\].
    Heightfield(Vec<Vec<f64>>, [f64; 2]),
}

impl Solid {
    /// Numbers it holds, for the limit on the size of a scene.
    pub fn size(&self) -> usize {
        match self {
            Solid::Convex(points) => points.len(),
            Solid::Mesh(points, faces) => points.len() + faces.len(),
            Solid::Heightfield(rows, _) => rows.iter().map(Vec::len).sum(),
            _ => 1,
        }
    }
}

/// A joint.
#[derive(Clone, Debug, PartialEq)]
pub struct JointTree {
    /// Name, if given.
    pub name: Option<At<String>>,
    /// Kind.
    pub kind: JointKind,
    /// The two bodies.
    pub between: [At<String>; 2],
    /// World point \[m\].
    pub anchor: Option<Triple>,
    /// World points \[m\].
    pub anchors: Option<[Triple; 2]>,
    /// World direction.
    pub axis: Option<Triple>,
    /// World directions.
    pub axes: Option<[Triple; 2]>,
    /// The numbers of its kind.
    pub measures: Measures<Option<f64>>,
    /// Limits.
    pub limits: Option<[f64; 2]>,
    /// Motor.
    pub motor: Option<Motor>,
    /// Friction.
    pub friction: f64,
    /// Inertia of the rotor.
    pub armature: f64,
    /// Whether the bodies touch.
    pub collide: bool,
    /// Where its keys stand.
    pub places: Places,
}

/// A coupling of joints.
#[derive(Clone, Debug, PartialEq)]
pub struct CouplingTree {
    /// Name, if given.
    pub name: Option<At<String>>,
    /// Joints by name, with their coefficients.
    pub terms: Vec<(At<String>, f64)>,
    /// What the sum is, or where a tendon rests.
    pub offset: f64,
    /// What a tendon does instead of holding the sum.
    pub tendon: Option<Tendon>,
    /// Where its keys stand.
    pub places: Places,
}

/// A rule of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct PairTree {
    /// The two bodies.
    pub between: [At<String>; 2],
    /// Coefficients, if given.
    pub coefficients: Coefficients<Option<f64>>,
    /// Impact law.
    pub impact: Option<ImpactLaw>,
    /// Whether they touch.
    pub collide: Option<bool>,
    /// Where its keys stand.
    pub places: Places,
}

/// A force.
#[derive(Clone, Debug, PartialEq)]
pub struct ForceTree {
    /// The body.
    pub body: At<String>,
    /// Force \[N\].
    pub force: Triple,
    /// Torque \[N m\].
    pub torque: Triple,
    /// Body point \[m\].
    pub at: Triple,
    /// First moment \[s\].
    pub from: f64,
    /// Last moment \[s\].
    pub until: f64,
    /// Whether a control scales it.
    pub control: bool,
    /// Where its keys stand.
    pub places: Places,
}

/// A named point of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct PointTree {
    /// Name.
    pub name: At<String>,
    /// The body, or `world`.
    pub body: At<String>,
    /// Place in its frame, from its centre of mass \[m\].
    pub at: Triple,
    /// Turn in its frame.
    pub rotation: [f64; 4],
}

/// An included file.
#[derive(Clone, Debug, PartialEq)]
pub struct IncludeTree {
    /// The file, from the scene's folder.
    pub file: At<String>,
    /// What stands before the names of its parts; the stem of the file if nothing is given.
    pub name: Option<At<String>>,
    /// Where its origin is put \[m\].
    pub position: Triple,
    /// How it is turned: angle, or quaternion.
    pub rotation: [f64; 4],
    /// What is asked of a model.
    pub wish: Wish,
    /// Where its keys stand.
    pub places: Places,
}

/// How the copies of a repeat are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One index.
    Line,
    /// One index per axis.
    Grid,
    /// Row i has i + 1 copies.
    Triangle,
}

/// A repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatTree {
    /// Layout.
    pub pattern: Pattern,
    /// Copies per axis; of a triangle the rows.
    pub count: Vec<usize>,
    /// Offset per index \[m\].
    pub offset: Vec<Triple>,
    /// Turn from one copy to the next \[rad\]; with one index only.
    pub turn: f64,
    /// The body to copy.
    pub body: BodyTree,
    /// The joints to copy.
    pub joints: Vec<JointTree>,
    /// Where its keys stand.
    pub places: Places,
}
