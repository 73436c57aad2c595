//! The keys of shapes.

use super::*;

/// A shape.
pub const SHAPE: Table = Table {
    heading: "shape = { ... }",
    about: "Exactly one shape key, and where it sits in the body.",
    keys: &[
        key("ball", POSITIVE, "m", "", "Radius."),
        key("box", Kind::Extents, "m", "", "Full extents, `[w, h]` or `[w, h, d]`."),
        key(
            "capsule",
            Kind::LengthRadius,
            "m",
            "",
            "`[length, radius]`: along x in the plane, z in space; the length runs between the cap centres.",
        ),
        key("convex", Kind::Points, "m", "", "Convex hull of the points."),
        key(
            "half_space",
            Kind::Direction,
            "",
            "",
            "Everything behind a plane (a line in the plane) through the position; the direction is its outward normal.",
        ),
        key("segment", Kind::TwoPoints, "m", "", "A line from point to point, without volume."),
        only(Where::Space, key("cylinder", Kind::LengthRadius, "m", "", "`[height, radius]` along z, about its middle.")),
        only(Where::Space, key("cone", Kind::LengthRadius, "m", "", "`[height, radius]` along z, apex up.")),
        only(
            Where::Space,
            key(
                "mesh",
                Kind::Special(Special::Mesh),
                "m",
                "",
                "An OBJ file beside the scene, or `{ points, faces }`; not on a dynamic body unless it is convex.",
            ),
        ),
        key("heightfield", Kind::Special(Special::Heightfield), "m", "", "`{ heights, spacing }`; not on a dynamic body."),
        key(
            "at",
            Kind::Vector,
            "m",
            "the origin",
            "Origin of the shape, in the body's frame as written (before the shift to the centroid).",
        ),
        only(Where::Plane, key("angle", NUMBER, "rad", "0", "Turn of the shape in the body.")),
        only(Where::Space, key("rotation", Kind::Quaternion, "", "`[1, 0, 0, 0]`", "Turn of the shape in the body.")),
    ],
};

/// Keys of [`SHAPE`] that place a shape rather than name one.
pub const PLACING: &[&str] = &["at", "angle", "rotation"];

/// `heightfield = { ... }`.
pub const HEIGHTFIELD: Table = Table {
    heading: "heightfield = { ... }",
    about: "Ground under points on a regular raster centred on the body.",
    keys: &[
        key(
            "heights",
            Kind::Special(Special::Heights),
            "m",
            "required",
            "A list along x in the plane; rows of equal length in space, x along a row, y from row to row.",
        ),
        key(
            "spacing",
            Kind::Special(Special::Spacing),
            "m",
            "required",
            "Distance of neighbouring points: a number in the plane, `[dx, dy]` or a number in space.",
        ),
    ],
};

/// `mesh = { ... }`.
pub const MESH: Table = Table {
    heading: "mesh = { ... }",
    about: "A triangle mesh written out.",
    keys: &[
        key("points", Kind::Points, "m", "required", "The vertices."),
        key(
            "faces",
            Kind::Special(Special::Faces),
            "",
            "required",
            "Triangles: three indices from 0 each, counterclockwise seen from outside.",
        ),
    ],
};
