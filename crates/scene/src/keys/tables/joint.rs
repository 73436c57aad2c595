//! Joints and their motors.

use super::{JOINT_KINDS, NOT_NEGATIVE, NUMBER, POSITIVE, key, only};
use crate::keys::{Kind, Special, Table, Where};

/// `[[joint]]`.
pub const JOINT: Table = Table {
    heading: "[[joint]]",
    about: "A joint between two bodies, or a body and the world. Anchors and axes are world coordinates at the start; the free coordinate is that of a relative to b, 0 at the start.",
    keys: &[
        key("name", Kind::Name, "", "`joint0`, `joint1`, ...", "Unique."),
        key("kind", Kind::Choice(JOINT_KINDS), "", "required", "What it holds."),
        key("between", Kind::TwoNames, "", "required but for a `coupling`", "`[a, b]`; either may be `world`."),
        key("anchor", Kind::Vector, "m", "see the kinds", "World point in common."),
        key("axis", Kind::Direction, "", "see the kinds", "World direction."),
        key("anchors", Kind::TwoPoints, "m", "see the kinds", "World points on a and on b."),
        only(Where::Space, key("axes", Kind::TwoDirections, "", "see the kinds", "World directions fixed in a and in b, perpendicular.")),
        key("length", POSITIVE, "m", "the distance at the start", "Length (`distance`) or greatest length (`rope`)."),
        only(Where::Space, key("lead", NUMBER, "m", "required", "Advance of a `screw` per turn, not 0; below 0 for a left-handed one.")),
        key("rest", NOT_NEGATIVE, "m", "the distance at the start", "Rest length of a `spring`."),
        key("stiffness", NOT_NEGATIVE, "N/m or N m/rad", "0", "Of a `spring`, or of a `coupling` that is a tendon."),
        key(
            "damping",
            NOT_NEGATIVE,
            "N s/m or N m s/rad",
            "0",
            "Of a `spring`, whose stiffness or damping must be above 0, or of a `coupling` that is a tendon.",
        ),
        key(
            "limits",
            Kind::Limits,
            "rad or m",
            "none",
            "Least and greatest value of the free coordinate, or of the sum of a `coupling` that is a tendon.",
        ),
        key("motor", Kind::Special(Special::Motor), "", "none", "What drives the free coordinate."),
        key("friction", NOT_NEGATIVE, "N m or N", "0", "Greatest friction torque or force on the free coordinate."),
        key("armature", NOT_NEGATIVE, "kg m^2 or kg", "0", "Inertia of a rotor that turns with the free coordinate."),
        key(
            "joints",
            Kind::Special(Special::Coefficients),
            "",
            "see the kinds",
            "Of a `coupling`: joints by name with their coefficients, `{ \"arm.elbow\" = 1, \"arm.wrist\" = -2 }`.",
        ),
        key(
            "offset",
            NUMBER,
            "rad or m",
            "0",
            "Of a `coupling`: what the sum of coefficient times coordinate is, or where a tendon rests.",
        ),
        key("collide", Kind::Flag, "", "false", "Whether the two bodies may touch."),
    ],
};

/// `motor = { ... }`.
pub const MOTOR: Table = Table {
    heading: "motor = { ... }",
    about: "Exactly one of `velocity`, `position`, `control` and `servo`; a control may have a spring and a damper beside it, and the target of a servo may be one.",
    keys: &[
        key(
            "servo",
            Kind::Choice(&["position", "velocity"]),
            "",
            "",
            "Follows `target`: `stiffness` (target - coordinate) - `damping` rate, or `damping` (target - rate); implicit, so any gain is stable.",
        ),
        key("target", NUMBER, "rad or m, or per second", "0", "What a servo aims at, unless `control = true`: then it is the control."),
        key("velocity", NUMBER, "rad/s or m/s", "", "Rate to hold."),
        key(
            "position",
            NUMBER,
            "rad or m",
            "",
            "Coordinate to pull to, with `stiffness` and `damping`; with `control` where its spring rests, 0 by default.",
        ),
        key("control", Kind::Flag, "", "", "`true`: torque or force, or the target of a servo, given by a control, in joint order."),
        key("stiffness", NOT_NEGATIVE, "N m/rad or N/m", "0", "Of the pull, or of the spring beside a control."),
        key("damping", NOT_NEGATIVE, "N m s/rad or N s/m", "0", "Of the pull, or of the damper beside a control."),
        key(
            "max",
            NOT_NEGATIVE,
            "N m or N",
            "required; no limit with `control` or `servo`",
            "Greatest torque or force; with `control` and no servo of the control alone.",
        ),
    ],
};
