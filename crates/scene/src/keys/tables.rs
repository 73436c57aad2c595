//! The tables of the scene file, key by key.

mod joint;
mod shape;

pub use joint::{JOINT, MOTOR};
pub use shape::{HEIGHTFIELD, MESH, PLACING, SHAPE};

use super::{Bound, Key, Kind, Special, Table, Where};
use carom_dynamics::options::{Gyroscopic, ImpactFriction, Integrator, SolverChoice, Stabilisation, TimeOfImpact};
use carom_dynamics::{BodyKind, Combine, JointKind, Worded};

const fn key(name: &'static str, kind: Kind, unit: &'static str, default: &'static str, meaning: &'static str) -> Key {
    Key { name, kind, space: Where::Both, unit, default, meaning }
}

const fn only(space: Where, key: Key) -> Key {
    Key { space, ..key }
}

/// Largest number of bodies and of joints of a scene: beyond it the tables alone would fill the memory of a small machine.
pub const MAX_BODIES: usize = 200_000;
/// Largest count along one axis of a repeat.
pub const MAX_COUNT: u64 = MAX_BODIES as u64;
/// Largest number of directions of a friction pyramid: beyond it the round cone is cheaper and exact.
pub const MAX_CONE: u64 = 256;
/// Largest cap in the tolerances.
const MAX_CAP: u64 = 1_000_000;

const NUMBER: Kind = Kind::Number(Bound::Any);
const POSITIVE: Kind = Kind::Number(Bound::Positive);
const NOT_NEGATIVE: Kind = Kind::Number(Bound::NotNegative);
const UNIT: Kind = Kind::Number(Bound::Unit);

/// Impact laws.
pub const LAWS: &[&str] = &["auto", "reflections", "gauss-seidel", "stronge", "newton"];
/// Orders of pairwise reflections.
pub const ORDERS: &[&str] = &["lexicographic", "cyclic", "random", "worst"];
/// Ways in which friction follows the normal impulses of an impact.
pub const IMPACT_FRICTIONS: &[&str] = ImpactFriction::WORDS;
/// Solvers that exist.
pub const SOLVERS: &[&str] = SolverChoice::WORDS;
/// Integrators that exist.
pub const INTEGRATORS: &[&str] = <Integrator as Worded>::WORDS;
/// Places of the gyroscopic torque of `verlet`.
pub const GYROSCOPIC: &[&str] = Gyroscopic::WORDS;
/// Treatments of impacts within the step.
pub const TIMES_OF_IMPACT: &[&str] = TimeOfImpact::WORDS;
/// What takes back the drift of joints.
pub const STABILISATIONS: &[&str] = Stabilisation::WORDS;
/// Rules by which two bodies combine a coefficient, in the order in which they win.
pub const COMBINE_RULES: &[&str] = Combine::WORDS;
/// Choices that are planned and refused by name: (key, choice).
pub const NOT_YET: &[(&str, &str)] = &[];
/// Kinds of bodies.
pub const BODY_KINDS: &[&str] = BodyKind::WORDS;
/// Degrees of freedom that can be held.
pub const LOCKS: &[&str] = &["x", "y", "z", "rotation"];
/// Patterns of a repeat.
pub const PATTERNS: &[&str] = &["line", "grid", "triangle"];
/// What the position of a body places.
pub const ORIGINS: &[&str] = &["centre", "frame"];
/// How the root of an included model may stand.
pub const BASES: &[&str] = &["fixed", "free"];
/// Kinds of joints: those between bodies, then what ties joints.
pub const JOINT_KINDS: &[&str] = &{
    let mut all = ["coupling"; JointKind::NAMES.len() + 1];
    let mut k = 0;
    while k < JointKind::NAMES.len() {
        all[k] = JointKind::NAMES[k];
        k += 1;
    }
    all
};

/// The top level.
pub const SCENE: Table = Table {
    heading: "Top level",
    about: "Keys before the first heading.",
    keys: &[
        key("dimension", Kind::Special(Special::Dimension), "", "required", "2 for the plane, 3 for space (z up)."),
        key("name", Kind::Name, "", "the file's name", "For people."),
        key("description", Kind::Text, "", "empty", "For people: what to look at."),
        key("gravity", Kind::Vector, "m/s^2", "9.81 downwards: `[0, -9.81]`, `[0, 0, -9.81]`", "Acceleration of every dynamic body."),
        key("step", POSITIVE, "s", "0.005", "Time step."),
        key("duration", POSITIVE, "s", "10", "Simulated time of a plain run."),
        key(
            "impact",
            Kind::Special(Special::Impact),
            "",
            "\"auto\"",
            "Impact law: a word, or a table `{ law, order, seed, friction, tolerance }`.",
        ),
        key("solver", Kind::Choice(SOLVERS), "", "\"auto\"", "How the complementarity problem of an island is solved."),
        key(
            "friction_cone",
            Kind::Special(Special::Cone),
            "",
            "\"cone\"",
            "Round, or a pyramid with this many directions, for what rests and slides; what strikes has the round cone, unless the law is `newton`. In the plane friction is exact either way.",
        ),
        key(
            "integrator",
            Kind::Choice(INTEGRATORS),
            "",
            "\"verlet\"",
            "How a step moves the bodies; [docs/integrators.md](integrators.md) says when to use which.",
        ),
        key(
            "gyroscopic",
            Kind::Choice(GYROSCOPIC),
            "",
            "\"exact\"",
            "Where `verlet` takes the gyroscopic torque of the move in space: before or after the torques of the loads.",
        ),
        key("time_of_impact", Kind::Choice(TIMES_OF_IMPACT), "", "\"event\"", "What is done about bodies that would meet within the step."),
        key(
            "stabilisation",
            Kind::Choice(STABILISATIONS),
            "",
            "\"position\"",
            "What takes back the drift of joints under `euler` with `newton` and `halving`.",
        ),
        key(
            "combine",
            Kind::Special(Special::Combine),
            "",
            "`{ friction = \"mean\", restitution = \"mean\" }`",
            "How the coefficients of two bodies become those of their pair, where their materials say nothing else.",
        ),
        key("tolerances", Kind::Special(Special::Tolerances), "", "see below", "Named tolerances."),
        key("materials", Kind::Special(Special::Materials), "", "none", "Named materials."),
        key("body", Kind::Special(Special::Bodies), "", "none", "The bodies, in order."),
        key("joint", Kind::Special(Special::Joints), "", "none", "The joints, in order."),
        key("pair", Kind::Special(Special::Pairs), "", "none", "Rules of single pairs of bodies."),
        key("force", Kind::Special(Special::Forces), "", "none", "Forces and torques, in order."),
        key("point", Kind::Special(Special::Points), "", "none", "Named points of bodies."),
        key("repeat", Kind::Special(Special::Repeats), "", "none", "Rows, grids and racks of bodies and joints."),
        key(
            "include",
            Kind::Special(Special::Includes),
            "",
            "none",
            "Other files: scenes and URDF, MJCF or SDF models, as `{ file, name, ... }`.",
        ),
    ],
};

/// `impact` as a table.
pub const IMPACT: Table = Table {
    heading: "impact = { ... }",
    about: "The impact law with its options; a plain word is the law alone.",
    keys: &[
        key("law", Kind::Choice(LAWS), "", "required", "The law."),
        key("order", Kind::Choice(ORDERS), "", "\"lexicographic\"", "Order of the pairwise reflections; `gauss-seidel` only."),
        key("seed", Kind::Whole(0, u64::MAX), "", "0", "Of the generator; order `random` only."),
        key(
            "friction",
            Kind::Choice(IMPACT_FRICTIONS),
            "",
            "\"one-way\"",
            "Friction of many contacts at once: after the normal impulses, or in turns with them until both agree. Not for `stronge` and `newton`.",
        ),
        key(
            "tolerance",
            POSITIVE,
            "",
            "1e-10",
            "A contact that closes by no more than this share of the speed of all bodies counts as not closing; below 1. Not for `newton`.",
        ),
    ],
};

/// `combine`.
pub const COMBINE: Table = Table {
    heading: "combine = { ... }",
    about: "How the coefficients of two bodies become that of their pair; where the two ask for different rules, the first in the list holds.",
    keys: &[
        key("friction", Kind::Choice(COMBINE_RULES), "", "of the scene; there \"mean\"", "The rule for friction."),
        key("restitution", Kind::Choice(COMBINE_RULES), "", "of the scene; there \"mean\"", "The rule for restitution."),
    ],
};

/// `[tolerances]`.
pub const TOLERANCES: Table = Table {
    heading: "[tolerances]",
    about: "Every number that decides something in a step. Lengths are fractions of the size, the largest extent of the smaller body of a pair; touch <= slop <= margin.",
    keys: &[
        key("margin", POSITIVE, "", "1e-3", "Contacts closer than this fraction of the size are kept as near."),
        key("touch", POSITIVE, "", "1e-9", "A gap below this fraction of the size touches."),
        key("slop", POSITIVE, "", "1e-6", "Overlap up to this fraction of the size is left alone."),
        key("rest_speed", POSITIVE, "m/s", "1e-3", "Contacts that close slower never bounce."),
        key(
            "rest_steps",
            NOT_NEGATIVE,
            "",
            "2",
            "Contacts that close slower than this many steps of their load's acceleration do not bounce.",
        ),
        key("position", POSITIVE, "", "1e-12", "Joint error and active gap at the end of a move, as a fraction of the size."),
        key("locked", POSITIVE, "", "1e-9", "A contact whose inverse mass the joints reduce below this fraction is dropped."),
        key("turn", POSITIVE, "rad", "0.2", "Largest turn of a jointed body in one substep."),
        key(
            "solve",
            POSITIVE,
            "m/s",
            "as exact as the solver goes",
            "Largest miss of a contact law at which a solve may stop: 1e-3 is what game engines give.",
        ),
        key(
            "max_events",
            Kind::Whole(1, MAX_CAP),
            "",
            "64",
            "Events at which a step may be cut, per island; past them the rest of the step is stepped.",
        ),
        key("max_rounds", Kind::Whole(1, MAX_CAP), "", "20", "Rounds of impact at one instant."),
        key(
            "max_halvings",
            Kind::Whole(0, 60),
            "",
            "10",
            "Halvings of a step under `time_of_impact = \"halving\"` and `\"halving-literal\"`.",
        ),
    ],
};

/// `[materials.NAME]`.
pub const MATERIAL: Table = Table {
    heading: "[materials.NAME]",
    about: "What bodies are made of. A pair combines the values of its two bodies by their `combine`, the mean by default, unless a `[[pair]]` says otherwise.",
    keys: &[
        key("restitution", UNIT, "", "0", "0 does not bounce, 1 keeps the energy."),
        key("friction", NOT_NEGATIVE, "", "0.5", "Coulomb coefficient, static and sliding."),
        key(
            "rolling",
            NOT_NEGATIVE,
            "m",
            "0",
            "Arm of rolling friction: contacts resist rolling by a moment of up to this times the normal force; impacts ignore it.",
        ),
        only(Where::Space, key("torsional", NOT_NEGATIVE, "m", "0", "Arm of torsional friction, against spinning about the normal.")),
        key("combine", Kind::Special(Special::Combine), "", "of the scene", "How they combine with those of another body."),
    ],
};

/// `[[body]]`.
pub const BODY: Table = Table {
    heading: "[[body]]",
    about: "A rigid body. Its position is its centre of mass: shapes are shifted so that their common centroid lies there.",
    keys: &[
        key("name", Kind::Name, "", "`body0`, `body1`, ...", "Unique; `world`, `self`, `next` and `across` are taken."),
        key(
            "kind",
            Kind::Choice(BODY_KINDS),
            "",
            "\"dynamic\"",
            "Dynamic bodies obey forces, static ones never move, kinematic ones move with their velocity and spin, constant until assigned.",
        ),
        key(
            "shape",
            Kind::Special(Special::Shape),
            "m",
            "none: a point mass with `mass` and `inertia`",
            "One shape, or an array of placed shapes.",
        ),
        key("mass", POSITIVE, "kg", "from `density`", "Total mass; not together with `density`. Static and kinematic bodies ignore it."),
        key("density", POSITIVE, "kg/m^3 (plane: kg/m^2)", "1000", "Density of every shape; not together with `mass`."),
        key(
            "inertia",
            Kind::Special(Special::Inertia),
            "kg m^2",
            "from the shapes",
            "About the centre of mass, in the body's frame: a number in the plane, `[Ix, Iy, Iz]` or three rows of three in space.",
        ),
        key(
            "centre",
            Kind::Vector,
            "m",
            "the centroid of the shapes",
            "Centre of mass in the frame in which the shapes are written; on a dynamic body together with `inertia`.",
        ),
        key("position", Kind::Vector, "m", "the origin", "Centre of mass at the start, or what `origin` says."),
        key(
            "origin",
            Kind::Choice(ORIGINS),
            "",
            "\"centre\"",
            "What the position places: the centre of mass, or with \"frame\" the origin of the frame in which the shapes are written.",
        ),
        only(Where::Plane, key("angle", NUMBER, "rad", "0", "Orientation at the start, counterclockwise.")),
        only(
            Where::Space,
            key("rotation", Kind::Quaternion, "", "`[1, 0, 0, 0]`", "Orientation at the start, body to world: `[w, x, y, z]`."),
        ),
        key("velocity", Kind::Vector, "m/s", "0", "Of the centre of mass, world axes."),
        key("spin", Kind::Rate, "rad/s", "0", "Angular velocity, world axes: a number in the plane, a vector in space."),
        key("material", Kind::Name, "", "restitution 0, friction 0.5", "A name of `[materials]`."),
        key("restitution", UNIT, "", "of the material", "For this body alone."),
        key("friction", NOT_NEGATIVE, "", "of the material", "For this body alone."),
        key("rolling", NOT_NEGATIVE, "m", "of the material", "For this body alone."),
        only(Where::Space, key("torsional", NOT_NEGATIVE, "m", "of the material", "For this body alone.")),
        key("combine", Kind::Special(Special::Combine), "", "of the material", "For this body alone."),
        key("group", Kind::Names, "", "all groups", "Groups it belongs to (at most 64 names in a scene)."),
        key("mask", Kind::Names, "", "all groups", "Groups it collides with; two bodies touch when each is in the other's mask."),
        key("damping", NOT_NEGATIVE, "1/s", "0", "Linear damping."),
        key("spin_damping", NOT_NEGATIVE, "1/s", "0", "Angular damping."),
        key(
            "drag",
            NOT_NEGATIVE,
            "kg/m",
            "0",
            "Quadratic drag: a force of drag times the square of the speed, against the velocity of the centre of mass.",
        ),
        key(
            "locked",
            Kind::Choices(LOCKS),
            "",
            "none",
            "World axes along which it cannot accelerate, and its rotation (\"z\" in space only).",
        ),
        key("color", Kind::Color, "", "by index", "For pictures, `#rrggbb`."),
    ],
};

/// `[[pair]]`.
pub const PAIR: Table = Table {
    heading: "[[pair]]",
    about: "What two bodies do together, where it is not combined from what they do alone.",
    keys: &[
        key("between", Kind::TwoNames, "", "required", "The two bodies."),
        key("restitution", UNIT, "", "combined from the two", "Restitution of the pair."),
        key("friction", NOT_NEGATIVE, "", "combined from the two", "Friction of the pair."),
        key("rolling", NOT_NEGATIVE, "m", "mean of the two", "Arm of rolling friction of the pair."),
        only(Where::Space, key("torsional", NOT_NEGATIVE, "m", "mean of the two", "Arm of torsional friction of the pair.")),
        key("impact", Kind::Special(Special::Impact), "", "the scene's", "Impact law of the pair."),
        key("collide", Kind::Flag, "", "by group and mask", "Whether they touch at all."),
    ],
};

/// `[[force]]`.
pub const FORCE: Table = Table {
    heading: "[[force]]",
    about: "A force or torque on a dynamic body, in world axes; at least one of the two.",
    keys: &[
        key("body", Kind::Name, "", "required", "The body."),
        key("force", Kind::Vector, "N", "0", "Force."),
        key("torque", Kind::Rate, "N m", "0", "Torque: a number in the plane, a vector in space."),
        key("at", Kind::Vector, "m", "the centre of mass", "Where the force acts, in the body's frame."),
        key("from", NOT_NEGATIVE, "s", "0", "First moment."),
        key("until", Kind::Until, "s", "for ever", "Last moment."),
        key("control", Kind::Flag, "", "false", "A control scales it: one number for force and torque."),
    ],
};

/// `[[point]]`.
pub const POINT: Table = Table {
    heading: "[[point]]",
    about: "A named point of a body, with axes of its own: a tool, a sensor, a foot. It has no mass and touches nothing.",
    keys: &[
        key("name", Kind::Name, "", "required", "Its name, unlike that of any other point."),
        key("body", Kind::Name, "", "required", "The body, or `world`."),
        key(
            "at",
            Kind::Vector,
            "m",
            "the centre of mass",
            "Where it is, in the body's frame from its centre of mass; of the world from the origin.",
        ),
        only(Where::Plane, key("angle", NUMBER, "rad", "0", "How its axes are turned in the body's frame.")),
        only(
            Where::Space,
            key("rotation", Kind::Quaternion, "", "`[1, 0, 0, 0]`", "How its axes are turned in the body's frame: `[w, x, y, z]`."),
        ),
    ],
};

/// `[[repeat]]`.
pub const REPEAT: Table = Table {
    heading: "[[repeat]]",
    about: "Copies of a body, and of a joint, moved by an offset per index. Bodies and joints come after those written singly, the last index fastest.",
    keys: &[
        key("count", Kind::Special(Special::Count), "", "required", "How many: a number, or one per axis of a grid; rows of a triangle."),
        key("offset", Kind::Special(Special::Offset), "m", "required", "From one to the next: a vector, or one vector per index."),
        key(
            "turn",
            Kind::Number(Bound::Any),
            "rad",
            "0",
            "Copy k is turned by k times this about the origin (in space about the z axis), then moved; with one index only.",
        ),
        key(
            "pattern",
            Kind::Choice(PATTERNS),
            "",
            "\"line\" for a number, \"grid\" for a list",
            "`line`: k * offset. `grid`: i * offset[0] + j * offset[1]. `triangle`: the same with j = 0..i, as balls are racked.",
        ),
        key(
            "body",
            Kind::Special(Special::Body),
            "",
            "required",
            "The body to copy; its name gets `_0`, `_1`, ... (`_0_0`, `_0_1`, ... with two indices).",
        ),
        key(
            "joint",
            Kind::Special(Special::Joint),
            "",
            "none",
            "A joint per copy, or a list of them; `between` may say `self`, `next` (along the last index) and `across` (along the first of several), anchors move with the copy.",
        ),
    ],
};

/// `include = [{ ... }]`.
pub const INCLUDE: Table = Table {
    heading: "include = [{ ... }]",
    about: "A file whose bodies, joints, pairs and forces become part of the scene, behind those written singly; names become `name.part`. Its gravity, step and choices are left behind.",
    keys: &[
        key(
            "file",
            Kind::Text,
            "",
            "required",
            "A scene (`.toml`) or a model (`.urdf`, `.xml`, `.mjcf`, `.sdf`), from the folder of this file.",
        ),
        key("name", Kind::Name, "", "the file's name", "What stands before the names of its bodies, joints and groups, with a dot."),
        key("position", Kind::Vector, "m", "the origin", "Where the origin of the file is put."),
        only(Where::Plane, key("angle", NUMBER, "rad", "0", "How the file is turned about its origin, counterclockwise.")),
        only(
            Where::Space,
            key("rotation", Kind::Quaternion, "", "`[1, 0, 0, 0]`", "How the file is turned about its origin: `[w, x, y, z]`."),
        ),
        key("base", Kind::Choice(BASES), "", "as the model says", "How the root of a model stands in the world; not with scenes."),
        key("hold", Kind::Flag, "", "false", "Whether servos hold the joints of a model where they start; not with scenes."),
    ],
};

/// All tables in the order of the reference.
pub const TABLES: &[&Table] = &[
    &SCENE,
    &IMPACT,
    &COMBINE,
    &TOLERANCES,
    &MATERIAL,
    &BODY,
    &SHAPE,
    &HEIGHTFIELD,
    &MESH,
    &JOINT,
    &MOTOR,
    &PAIR,
    &FORCE,
    &POINT,
    &REPEAT,
    &INCLUDE,
];
