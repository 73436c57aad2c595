//! The scenes of the situations: each stands here once, for every integrator and choice that is tried on it.

/// A damped box of the plane under a force.
pub const FLIGHT_IN_PLANE: &str = r#"
dimension = 2
[[body]]
name = "a"
shape = { box = [0.3, 0.2] }
position = [0, 5]
velocity = [1, 2]
spin = 3
damping = 0.1
spin_damping = 0.2
[[force]]
body = "a"
force = [1, 2]
at = [0.1, 0.05]
torque = 0.3
"#;

/// A damped box in space under a force, whose table is the last.
pub const FLIGHT_IN_SPACE: &str = r#"
dimension = 3
[[body]]
name = "a"
shape = { box = [0.3, 0.2, 0.1] }
position = [0, 0, 5]
velocity = [1, 2, 0]
spin = [3, 1, -2]
damping = 0.1
spin_damping = 0.2
[[force]]
body = "a"
force = [1, 2, 20]
at = [0.1, 0.05, 0]
"#;

/// Every joint in space, between a first body and what it is held by.
pub const JOINTS_IN_SPACE: [&str; 11] = [
    "kind = \"hinge\"\nanchor = [0, 0, 0]\naxis = [0.3, 1, 0.2]",
    "kind = \"ball\"\nanchor = [0, 0, 0]",
    "kind = \"slider\"\nanchor = [0, 0, 0]\naxis = [0.3, 1, 0.2]",
    "kind = \"weld\"",
    "kind = \"universal\"\nanchor = [0, 0, 0]\naxes = [[1, 0, 0], [0, 1, 0]]",
    "kind = \"cylindrical\"\nanchor = [0, 0, 0]\naxis = [0.3, 1, 0.2]",
    "kind = \"planar\"\nanchor = [0, 0, 0]\naxis = [0.3, 1, 0.2]",
    "kind = \"distance\"\nanchors = [[0.1, 0, 0.1], [0, -0.1, 0.8]]",
    "kind = \"spring\"\nanchors = [[0.1, 0, 0.1], [0, -0.1, 0.8]]\nstiffness = 50\ndamping = 1\nrest = 0.6",
    "kind = \"spring\"\nanchors = [[0.1, 0, 0.1], [0, -0.1, 0.8]]\nstiffness = 5e6\ndamping = 1\nrest = 0.6",
    "kind = \"rope\"\nanchors = [[0.1, 0, 0.1], [0, -0.1, 0.8]]",
];

/// Two boxes in space tied by a ball joint, the first held by a joint.
pub fn held_pair(joint: &str) -> String {
    format!(
        r#"
dimension = 3
[[body]]
name = "a"
shape = {{ box = [0.3, 0.2, 0.1] }}
position = [0.2, 0, 0]
velocity = [0, 0, -0.1]
spin = [0.5, 1, -0.4]
[[body]]
name = "b"
shape = {{ box = [0.1, 0.2, 0.1] }}
position = [0.2, -0.3, 0.3]
spin = [0.2, 1, 0]
[[joint]]
between = ["a", "world"]
{joint}
[[joint]]
kind = "ball"
between = ["a", "b"]
anchor = [0.2, -0.2, 0.2]
"#
    )
}

/// Motors within and beyond their strength, and a stop.
pub const MOTORS_AND_LIMITS: [&str; 7] = [
    "motor = { velocity = 2.0, max = 50.0 }",
    "motor = { velocity = 2.0, max = 0.5 }",
    "motor = { position = 0.5, stiffness = 30.0, damping = 1.0, max = 50.0 }",
    "motor = { position = 0.5, stiffness = 30.0, damping = 1.0, max = 0.3 }",
    "motor = { control = true, max = 10.0 }",
    "motor = { control = true, position = 0.2, stiffness = 25.0, damping = 0.8, max = 10.0 }",
    "limits = [-0.05, 1.0]",
];

/// A bar of the plane on a hinge with keys of its own.
pub fn hinged(joint: &str) -> String {
    format!(
        r#"
dimension = 2
[[body]]
name = "a"
shape = {{ box = [0.3, 0.1] }}
position = [0.15, 0]
spin = -0.3
mass = 1.0
[[joint]]
kind = "hinge"
between = ["a", "world"]
anchor = [0, 0]
{joint}
"#
    )
}

/// A box on a slope of the plane of 1 in 2.
pub fn incline(friction: &str, velocity: &str) -> String {
    format!(
        r#"
dimension = 2
[materials.rough]
friction = {friction}
[[body]]
name = "floor"
kind = "static"
shape = {{ half_space = [-0.5, 1] }}
material = "rough"
[[body]]
name = "a"
shape = {{ box = [0.4, 0.2] }}
position = [-0.0447213595499958, 0.0894427190999916]
angle = 0.4636476090008061
velocity = {velocity}
material = "rough"
"#
    )
}

/// A ball on a slope in space.
pub fn ball_on_slope(friction: &str, spin: &str) -> String {
    format!(
        r#"
dimension = 3
[materials.rough]
friction = {friction}
[[body]]
name = "floor"
kind = "static"
shape = {{ half_space = [0.1, 0.2, 1] }}
material = "rough"
[[body]]
name = "a"
shape = {{ ball = 0.1 }}
position = [0.00975900072948533, 0.01951800145897066, 0.0975900072948533]
velocity = [0.5, 0.2, -0.09]
spin = {spin}
material = "rough"
"#
    )
}

/// A box on the same slope.
pub fn box_on_slope(friction: &str, velocity: &str) -> String {
    format!(
        r#"
dimension = 3
[materials.rough]
friction = {friction}
[[body]]
name = "floor"
kind = "static"
shape = {{ half_space = [0.1, 0.2, 1] }}
material = "rough"
[[body]]
name = "a"
shape = {{ box = [0.4, 0.3, 0.2] }}
position = [0.00975900072948533, 0.01951800145897066, 0.0975900072948533]
rotation = [0.99395675784928716, -0.098183353072640228, 0.049091676536320114, 0]
velocity = {velocity}
material = "rough"
"#
    )
}

/// A spinning ball falls on a slope of the plane.
pub const FALLING_BALL: &str = r#"
dimension = 2
[materials.m]
friction = 0.3
restitution = 0.7
[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0.1, 1] }
material = "m"
[[body]]
name = "a"
shape = { ball = 0.1 }
position = [0, 0.15]
velocity = [1, -1]
spin = 2
material = "m"
"#;

/// The same in space.
pub fn falling_ball_in_space() -> String {
    FALLING_BALL
        .replace("dimension = 2", "dimension = 3")
        .replace("half_space = [0.1, 1]", "half_space = [0.1, 0.05, 1]")
        .replace("position = [0, 0.15]", "position = [0, 0, 0.15]")
        .replace("velocity = [1, -1]", "velocity = [1, 0.4, -1]")
        .replace("spin = 2", "spin = [2, -1, 3]")
}

/// A box of the plane falls on one of its corners.
pub const FALLING_BOX: &str = r#"
dimension = 2
[materials.m]
friction = 0.3
restitution = 0.4
[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0, 1] }
material = "m"
[[body]]
name = "a"
shape = { box = [0.4, 0.2] }
position = [0, 0.3]
angle = 0.5
velocity = [0.5, -1]
spin = 1
material = "m"
"#;

/// A box in space falls on a slope.
pub fn falling_box_in_space() -> String {
    FALLING_BOX
        .replace("dimension = 2", "dimension = 3")
        .replace("half_space = [0, 1]", "half_space = [0.1, 0.05, 1]")
        .replace("box = [0.4, 0.2]", "box = [0.4, 0.3, 0.2]")
        .replace("position = [0, 0.3]", "position = [0, 0, 0.35]")
        .replace("angle = 0.5", "rotation = [0.9, 0.3, 0.2, 0.1]")
        .replace("velocity = [0.5, -1]", "velocity = [0.5, 0.2, -1]")
        .replace("spin = 1", "spin = [2, -3, 1]")
}

/// An arm of two bars falls to the ground.
pub const FALLING_ARM: &str = r#"
dimension = 2
[materials.m]
friction = 0.3
restitution = 0.5
[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0, 1] }
material = "m"
[[body]]
name = "a"
shape = { box = [0.4, 0.1] }
position = [0.2, 0.35]
mass = 1
[[body]]
name = "b"
shape = { box = [0.4, 0.1] }
position = [0.6, 0.35]
mass = 1
material = "m"
[[joint]]
kind = "hinge"
between = ["a", "world"]
anchor = [0, 0.35]
[[joint]]
kind = "hinge"
between = ["b", "a"]
anchor = [0.4, 0.35]
"#;
