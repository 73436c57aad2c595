//! The kinds of joints: their names, what each needs to be given, the rows it is made of, and what is free. A new kind is a word and an arm of each
//! match here; rows that no other kind has are a group in `group.rs`.

use super::group::Group;
use super::parameter::JointParameter;
use crate::keyed::worded;
use carom_math::Space;

worded! {
    /// The kinds of joints.
    JointKind {
        /// Turns about an anchor (plane) or an axis through it (space).
        Hinge = "hinge",
        /// A point in common (space; in the plane the same as a hinge).
        Ball = "ball",
        /// Slides along an axis without turning.
        Slider = "slider",
        /// Nothing moves.
        Weld = "weld",
        /// A point in common and two axes that stay perpendicular (space).
        Universal = "universal",
        /// Two points at a fixed distance.
        Distance = "distance",
        /// Two points at most a length apart.
        Rope = "rope",
        /// Slides along and turns about an axis (space).
        Cylindrical = "cylindrical",
        /// Slides in a plane and turns about its normal (space).
        Planar = "planar",
        /// Two points pulled together by a spring with a damper; no equality rows.
        Spring = "spring",
        /// Turns about an axis and advances along it by a lead per turn (space).
        Screw = "screw",
    }
}

impl JointKind {
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
    /// Whether that coordinate is an angle.
    pub(super) fn is_angular<S: Space>(self) -> bool {
        matches!(self, JointKind::Hinge | JointKind::Ball | JointKind::Screw) && self.has_coordinate::<S>()
    }
    /// Whether an angle in space counts its turns: by the advance.
    pub(crate) fn counts_turns(self) -> bool {
        self == JointKind::Screw
    }
    /// Whether its rows have mean rows, theory (13.4): those that are products of directions.
    pub fn has_mean_rows(self) -> bool {
        self != JointKind::Screw
    }
    /// Number of coordinates of a joint of a tree; `None` for kinds that tie no body to another.
    pub(crate) fn freedoms<S: Space>(self) -> Option<usize> {
        match self {
            JointKind::Hinge | JointKind::Slider | JointKind::Screw => Some(1),
            JointKind::Ball => Some(S::ANG),
            JointKind::Weld => Some(0),
            JointKind::Universal | JointKind::Cylindrical => Some(2),
            JointKind::Planar => Some(3),
            JointKind::Distance | JointKind::Rope | JointKind::Spring => None,
        }
    }
    /// The groups of equality rows a kind is made of, in the order of its rows.
    pub(super) fn groups(self) -> &'static [Group] {
        match self {
            JointKind::Hinge => &[Group::Point, Group::Parallel],
            JointKind::Ball => &[Group::Point],
            JointKind::Slider => &[Group::OnAxis, Group::Rotation],
            JointKind::Weld => &[Group::Point, Group::Rotation],
            JointKind::Universal => &[Group::Point, Group::Perpendicular],
            JointKind::Distance => &[Group::Distance],
            JointKind::Cylindrical => &[Group::OnAxis, Group::Parallel],
            JointKind::Planar => &[Group::InPlane, Group::Parallel],
            JointKind::Screw => &[Group::OnAxis, Group::Parallel, Group::Screw],
            JointKind::Rope | JointKind::Spring => &[],
        }
    }
    /// Whether the rows read the axis of a side.
    pub(super) fn reads_axis<S: Space>(self, side: usize) -> bool {
        match self {
            JointKind::Hinge => S::DIM > 2,
            JointKind::Universal | JointKind::Cylindrical | JointKind::Planar | JointKind::Screw => true,
            // A slider is guided along the axis of a; its rotation rows make that of b follow.
            JointKind::Slider => side == 0,
            _ => false,
        }
    }
    /// Whether the rows or the coordinate read the reference orientation.
    pub(super) fn reads_reference<S: Space>(self) -> bool {
        match self {
            JointKind::Hinge | JointKind::Slider | JointKind::Weld | JointKind::Screw => true,
            JointKind::Ball => S::DIM == 2,
            _ => false,
        }
    }
    /// The numbers of its own that a gradient is taken with respect to.
    pub(super) fn numbers(self) -> &'static [JointParameter] {
        match self {
            JointKind::Distance | JointKind::Rope => &[JointParameter::Length],
            JointKind::Screw => &[JointParameter::Lead],
            JointKind::Spring => &[JointParameter::Rest, JointParameter::Stiffness, JointParameter::Damping],
            _ => &[],
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
