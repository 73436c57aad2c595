//! Which keys each kind of joint needs and takes.

use super::Where;

/// Which keys a kind of joint needs and which it takes besides `name`, `kind`, `between` and `collide`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointRule {
    /// The kind.
    pub kind: &'static str,
    /// Where it exists.
    pub space: Where,
    /// Keys it needs in the plane.
    pub needs_plane: &'static [&'static str],
    /// Keys it needs in space.
    pub needs_space: &'static [&'static str],
    /// Keys it takes in the plane besides.
    pub takes_plane: &'static [&'static str],
    /// Keys it takes in space besides.
    pub takes_space: &'static [&'static str],
    /// One sentence.
    pub about: &'static str,
}

const DRIVEN: &[&str] = &["limits", "motor", "friction", "armature"];

/// The rules of the kinds, in the order of [`super::JOINT_KINDS`].
pub const JOINT_RULES: &[JointRule] = &[
    JointRule {
        kind: "hinge",
        space: Where::Both,
        needs_plane: &["anchor"],
        needs_space: &["anchor", "axis"],
        takes_plane: DRIVEN,
        takes_space: DRIVEN,
        about: "Turns about the anchor, in space about the axis through it.",
    },
    JointRule {
        kind: "ball",
        space: Where::Both,
        needs_plane: &["anchor"],
        needs_space: &["anchor"],
        takes_plane: DRIVEN,
        takes_space: &[],
        about: "A point in common; in the plane the same as a hinge.",
    },
    JointRule {
        kind: "slider",
        space: Where::Both,
        needs_plane: &["anchor", "axis"],
        needs_space: &["anchor", "axis"],
        takes_plane: DRIVEN,
        takes_space: DRIVEN,
        about: "Slides along the axis without turning.",
    },
    JointRule {
        kind: "weld",
        space: Where::Both,
        needs_plane: &[],
        needs_space: &[],
        takes_plane: &["anchor"],
        takes_space: &["anchor"],
        about: "Nothing moves.",
    },
    JointRule {
        kind: "universal",
        space: Where::Space,
        needs_plane: &[],
        needs_space: &["anchor", "axes"],
        takes_plane: &[],
        takes_space: &[],
        about: "A point in common and two axes that stay perpendicular.",
    },
    JointRule {
        kind: "distance",
        space: Where::Both,
        needs_plane: &["anchors"],
        needs_space: &["anchors"],
        takes_plane: &["length"],
        takes_space: &["length"],
        about: "Two points at a fixed distance.",
    },
    JointRule {
        kind: "rope",
        space: Where::Both,
        needs_plane: &["anchors"],
        needs_space: &["anchors"],
        takes_plane: &["length"],
        takes_space: &["length"],
        about: "Two points at most a length apart.",
    },
    JointRule {
        kind: "cylindrical",
        space: Where::Space,
        needs_plane: &[],
        needs_space: &["anchor", "axis"],
        takes_plane: &[],
        takes_space: DRIVEN,
        about: "Slides along and turns about the axis; the slide is the free coordinate.",
    },
    JointRule {
        kind: "planar",
        space: Where::Space,
        needs_plane: &[],
        needs_space: &["anchor", "axis"],
        takes_plane: &[],
        takes_space: &[],
        about: "Slides in the plane whose normal is the axis and turns about it.",
    },
    JointRule {
        kind: "spring",
        space: Where::Both,
        needs_plane: &["anchors"],
        needs_space: &["anchors"],
        takes_plane: &["rest", "stiffness", "damping"],
        takes_space: &["rest", "stiffness", "damping"],
        about: "Two points pulled together by a spring with a damper.",
    },
    JointRule {
        kind: "screw",
        space: Where::Space,
        needs_plane: &[],
        needs_space: &["anchor", "axis", "lead"],
        takes_plane: &[],
        takes_space: &["limits", "motor", "friction"],
        about: "Turns about the axis and advances along it by the lead per turn; the turn is the free coordinate, counted by the advance.",
    },
    JointRule {
        kind: "coupling",
        space: Where::Both,
        needs_plane: &["joints"],
        needs_space: &["joints"],
        takes_plane: &["offset", "limits", "stiffness", "damping"],
        takes_space: &["offset", "limits", "stiffness", "damping"],
        about: "Not between bodies: the sum of coefficient times coordinate of joints is the offset. Gears, mimic joints, racks, differentials. With `limits`, `stiffness` or `damping` it is a fixed tendon instead, which only bounds the sum and pulls it back to the offset.",
    },
];

impl JointRule {
    /// The rule of a kind.
    pub fn of(kind: &str) -> Option<&'static JointRule> {
        JOINT_RULES.iter().find(|r| r.kind == kind)
    }
    /// Keys it needs in this many dimensions.
    pub fn needs(&self, dimension: usize) -> &'static [&'static str] {
        if dimension == 2 { self.needs_plane } else { self.needs_space }
    }
    /// Keys it takes besides in this many dimensions.
    pub fn takes(&self, dimension: usize) -> &'static [&'static str] {
        if dimension == 2 { self.takes_plane } else { self.takes_space }
    }
}
