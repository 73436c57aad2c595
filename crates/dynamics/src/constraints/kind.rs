//! The kinds of joints, their names, and what each needs to be told.

use carom_math::Space;

/// The kinds of joints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// Turns about an anchor (plane) or an axis through it (space).
    Hinge,
    /// A point in common (space; in the plane the same as a hinge).
    Ball,
    /// Slides along an axis without turning.
    Slider,
    /// Nothing moves.
    Weld,
    /// A point in common and two axes that stay perpendicular (space).
    Universal,
    /// Two points at a fixed distance.
    Distance,
    /// Two points at most a length apart.
    Rope,
    /// Slides along and turns about an axis (space).
    Cylindrical,
    /// Slides in a plane and turns about its normal (space).
    Planar,
    /// Two points pulled together by a spring with a damper; no equality rows.
    Spring,
    /// Turns about an axis and advances along it by a lead per turn (space).
    Screw,
}

impl JointKind {
    /// Every kind, in the order in which they are documented.
    pub const ALL: [JointKind; 11] = [
        JointKind::Hinge,
        JointKind::Ball,
        JointKind::Slider,
        JointKind::Weld,
        JointKind::Universal,
        JointKind::Distance,
        JointKind::Rope,
        JointKind::Cylindrical,
        JointKind::Planar,
        JointKind::Spring,
        JointKind::Screw,
    ];
    /// The word of every kind in a scene, in the order of [`JointKind::ALL`].
    pub const NAMES: [&'static str; 11] =
        ["hinge", "ball", "slider", "weld", "universal", "distance", "rope", "cylindrical", "planar", "spring", "screw"];

    /// The kind of a scene's word; `None` for any other word.
    ///
    /// ```
    /// use carom_dynamics::JointKind;
    /// assert_eq!(JointKind::parse("hinge"), Some(JointKind::Hinge));
    /// assert_eq!(JointKind::parse("Hinge"), None);
    /// ```
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == word)
    }
    /// The scene's word.
    pub fn name(self) -> &'static str {
        match self {
            JointKind::Hinge => "hinge",
            JointKind::Ball => "ball",
            JointKind::Slider => "slider",
            JointKind::Weld => "weld",
            JointKind::Universal => "universal",
            JointKind::Distance => "distance",
            JointKind::Rope => "rope",
            JointKind::Cylindrical => "cylindrical",
            JointKind::Planar => "planar",
            JointKind::Spring => "spring",
            JointKind::Screw => "screw",
        }
    }
    /// Whether the kind exists in this space.
    pub fn exists_in<S: Space>(self) -> bool {
        S::DIM > 2 || !matches!(self, JointKind::Universal | JointKind::Cylindrical | JointKind::Planar | JointKind::Screw)
    }
    /// Whether one coordinate stays free that limits, a motor or friction can act on.
    pub fn has_coordinate<S: Space>(self) -> bool {
        match self {
            JointKind::Hinge | JointKind::Slider | JointKind::Cylindrical | JointKind::Screw => true,
            JointKind::Ball => S::DIM == 2,
            _ => false,
        }
    }
    /// The keys that place the kind, besides those of its free coordinate.
    pub fn keys<S: Space>(self) -> &'static [&'static str] {
        match self {
            JointKind::Hinge if S::DIM > 2 => &["anchor", "axis"],
            JointKind::Hinge | JointKind::Ball | JointKind::Weld => &["anchor"],
            JointKind::Slider | JointKind::Cylindrical | JointKind::Planar => &["anchor", "axis"],
            JointKind::Screw => &["anchor", "axis", "lead"],
            JointKind::Universal => &["anchor", "axes"],
            JointKind::Distance | JointKind::Rope => &["anchors", "length"],
            JointKind::Spring => &["anchors", "rest", "stiffness", "damping"],
        }
    }
}
