//! The words of the scene file, once: the parser checks against these tables, and the schema and the reference are printed from them.

mod joint_rules;
mod tables;

pub use joint_rules::{JOINT_RULES, JointRule};
pub use tables::*;

/// Which numbers a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Any finite number.
    Any,
    /// Finite and above 0.
    Positive,
    /// Finite and not below 0.
    NotNegative,
    /// From 0 to 1.
    Unit,
}

impl Bound {
    /// Whether a number is allowed.
    pub fn holds(self, x: f64) -> bool {
        x.is_finite()
            && match self {
                Bound::Any => true,
                Bound::Positive => x > 0.0,
                Bound::NotNegative => x >= 0.0,
                Bound::Unit => (0.0..=1.0).contains(&x),
            }
    }
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Bound::Any => "finite",
            Bound::Positive => "> 0",
            Bound::NotNegative => ">= 0",
            Bound::Unit => "from 0 to 1",
        }
    }
}

/// What may stand after a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A name: text that is not empty and has no control characters.
    Name,
    /// A number.
    Number(Bound),
    /// A number >= 0, or `inf`.
    Until,
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// `true` or `false`.
    Flag,
    /// Two numbers in the plane, three in space.
    Vector,
    /// A vector that is not zero; its length does not matter.
    Direction,
    /// Positive extents, one per axis.
    Extents,
    /// A number in the plane, three in space.
    Rate,
    /// Four numbers w, x, y, z, not all zero; normalised.
    Quaternion,
    /// Two points.
    TwoPoints,
    /// Two directions.
    TwoDirections,
    /// Any number of points.
    Points,
    /// `[lo, hi]` with lo <= hi.
    Limits,
    /// Length and radius, both positive.
    LengthRadius,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any of these words.
    Choices(&'static [&'static str]),
    /// A list of names.
    Names,
    /// Two names.
    TwoNames,
    /// `#rrggbb`.
    Color,
    /// Read by a function of its own.
    Special(Special),
}

/// Values with a grammar of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// One shape or an array of placed shapes.
    Shape,
    /// Moment of inertia.
    Inertia,
    /// Impact law.
    Impact,
    /// Friction cone.
    Cone,
    /// Rules by which two bodies combine their coefficients.
    Combine,
    /// Motor table.
    Motor,
    /// Joints with coefficients.
    Coefficients,
    /// Count of a repeat.
    Count,
    /// Offset of a repeat.
    Offset,
    /// A `[body]` table inside a repeat.
    Body,
    /// A `[joint]` table inside a repeat.
    Joint,
    /// A mesh.
    Mesh,
    /// Heights of a heightfield.
    Heightfield,
    /// Heights: a list in the plane, rows in space.
    Heights,
    /// Spacing: a number in the plane, two in space.
    Spacing,
    /// Triangles of a mesh.
    Faces,
    /// The materials.
    Materials,
    /// The tolerances.
    Tolerances,
    /// `[[body]]`.
    Bodies,
    /// `[[joint]]`.
    Joints,
    /// `[[pair]]`.
    Pairs,
    /// `[[force]]`.
    Forces,
    /// `[[point]]`.
    Points,
    /// `[[repeat]]`.
    Repeats,
    /// Included files.
    Includes,
    /// 2 or 3.
    Dimension,
}

/// Where a key exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// In the plane and in space.
    Both,
    /// In the plane only.
    Plane,
    /// In space only.
    Space,
}

impl Where {
    /// Whether a key exists in this many dimensions.
    pub fn holds(self, dimension: usize) -> bool {
        match self {
            Where::Both => true,
            Where::Plane => dimension == 2,
            Where::Space => dimension == 3,
        }
    }
}

/// One key: its value, unit, default and meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// The word.
    pub name: &'static str,
    /// What may stand after it.
    pub kind: Kind,
    /// Where it exists.
    pub space: Where,
    /// Unit, empty without one.
    pub unit: &'static str,
    /// Default in words; `required` when there is none.
    pub default: &'static str,
    /// One sentence.
    pub meaning: &'static str,
}

/// A table of the scene file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Table {
    /// Its heading, as in the file.
    pub heading: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Its keys in the order of the reference.
    pub keys: &'static [Key],
}

impl Table {
    /// The key of a name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }
}
