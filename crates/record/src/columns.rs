//! Names of the numbers of a body, in their order.

/// Coordinates in the plane: m, m, rad.
const PLANAR_Q: &[&str] = &["x", "y", "angle"];
/// Velocities in the plane: m/s, m/s, rad/s.
const PLANAR_V: &[&str] = &["vx", "vy", "spin"];
/// Coordinates in space: m, then a unit quaternion.
const SPATIAL_Q: &[&str] = &["x", "y", "z", "qw", "qx", "qy", "qz"];
/// Velocities in space: m/s, then rad/s, world axes.
const SPATIAL_V: &[&str] = &["vx", "vy", "vz", "wx", "wy", "wz"];

/// Names of the coordinates of a body in the plane (2) or in space (3).
pub fn coordinates(dimension: usize) -> &'static [&'static str] {
    if dimension == 2 { PLANAR_Q } else { SPATIAL_Q }
}

/// Names of the velocity components of a body in the plane (2) or in space (3).
pub fn velocities(dimension: usize) -> &'static [&'static str] {
    if dimension == 2 { PLANAR_V } else { SPATIAL_V }
}
