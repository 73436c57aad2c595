//! Arrays of shapes: `shape_ball`, `shape_box`, ... in the order of the bodies, and where they sit: `shape_at`, `shape_angle`, `shape_rotation`.

use super::error::NameError;
use super::parameters::Parameters;
use super::quantity::{Change, Quantity, Row, axes};
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::Vector;

/// Keys of shapes that have sizes, in the order of the scene format.
const KEYS: [&str; 8] = ["ball", "box", "capsule", "convex", "half_space", "segment", "cylinder", "cone"];
/// Numbers of a quaternion.
const QUATERNION: [&str; 4] = ["w", "x", "y", "z"];

/// The key of a shape's turn.
fn turn<G: Geometry>() -> &'static str {
    if G::ANG == 1 { "angle" } else { "rotation" }
}

/// The names of this file that a model has.
pub(super) fn keys<G: Geometry>(model: &Model<G>) -> Vec<String> {
    let has = |key: &str| model.bodies.iter().any(|b| b.colliders.iter().any(|c| G::shape_key(&c.shape) == key));
    let mut keys: Vec<String> = KEYS.iter().filter(|key| has(key)).map(|key| format!("shape_{key}")).collect();
    if model.bodies.iter().any(|b| !b.colliders.is_empty()) {
        keys.push("shape_at".to_string());
        keys.push(format!("shape_{}", turn::<G>()));
    }
    keys
}

/// The array of a key without its prefix.
pub(super) fn quantity<G: Geometry>(model: &Model<G>, layout: &Parameters, key: &str) -> Option<Quantity> {
    if key != "at" && key != turn::<G>() && !KEYS.contains(&key) {
        return None;
    }
    let mut out = match key {
        "at" | "half_space" => Quantity::vectors(G::DIM),
        "box" => Quantity::new(axes(G::DIM), &[G::DIM]),
        "capsule" => Quantity::new(vec!["length", "radius"], &[2]),
        "cylinder" | "cone" => Quantity::new(vec!["height", "radius"], &[2]),
        "rotation" => Quantity::new(QUATERNION.to_vec(), &[QUATERNION.len()]),
        // One row per vertex; the shape of the array is mended below.
        "convex" | "segment" => Quantity::vectors(G::DIM),
        _ => Quantity::numbers(),
    };
    let mut vertices = Vec::new();
    for (b, (body, slots)) in model.bodies.iter().zip(&layout.bodies).enumerate() {
        for (c, (collider, slots)) in body.colliders.iter().zip(&slots.colliders).enumerate() {
            let row = Row::Shape(b, c);
            if key == "at" {
                out.row(row);
                let slots = slots.placement.clone();
                collider.local.position.as_slice().iter().zip(slots).for_each(|(x, slot)| out.entry(*x, [(slot, 1.0)]));
            } else if key == turn::<G>() {
                out.row(row);
                turns::<G>(&mut out, collider.local.rotation, slots.placement.start + G::DIM);
            } else if G::shape_key(&collider.shape) == key {
                let sizes = G::shape_parameters(&collider.shape);
                let pointed = matches!(key, "convex" | "segment");
                if pointed {
                    vertices.push(sizes.len() / G::DIM);
                } else {
                    out.row(row);
                }
                for (k, (size, slot)) in sizes.iter().zip(slots.shape.clone()).enumerate() {
                    if pointed && k % G::DIM == 0 {
                        out.row(Row::Vertex(b, c, k / G::DIM));
                    }
                    out.entry(*size, [(slot, 1.0)]);
                }
            }
        }
    }
    // One row per shape where all have the same number of vertices, otherwise vertex after vertex.
    if let Some(first) = vertices.first()
        && vertices.iter().all(|n| n == first)
    {
        out.shape = vec![vertices.len(), *first, G::DIM];
    }
    Some(out)
}

/// The turn of a placement: an angle, or the numbers of a quaternion that is scaled to one, d = 2 dq conj(q).
fn turns<G: Geometry>(out: &mut Quantity, rotation: G::Rot, first: usize) {
    let mut q = [0.0; QUATERNION.len()];
    G::write_rotation(rotation, &mut q);
    if G::ANG == 1 {
        out.entry(q[0], [(first, 1.0)]);
        return;
    }
    let [w, x, y, z] = q;
    // Vector parts of 2 e_k conj(q) for the units e_k = 1, i, j, k.
    let columns = [[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]];
    for (value, column) in q.into_iter().zip(columns) {
        out.entry(value, column.into_iter().enumerate().map(|(k, d)| (first + k, 2.0 * d)));
    }
}

/// Sets the rows that change; the vertices of a shape together, since one alone may not bound a convex solid.
pub(super) fn set<G: Geometry>(model: &mut Model<G>, key: &str, change: &Change<'_>) -> Result<(), NameError> {
    let mut pending: Option<(Row, Vec<f64>)> = None;
    for (row, _, new) in change.rows() {
        match row {
            Row::Shape(b, c) if key == "at" => model.bodies[b].colliders[c].local.position = G::Lin::from_slice(new),
            Row::Shape(b, c) if key == turn::<G>() => match G::read_rotation(new) {
                Some(rotation) => model.bodies[b].colliders[c].local.rotation = rotation,
                None => return Err(change.fault(model, row, "a quaternion of zeros turns nowhere")),
            },
            Row::Shape(..) => resize(model, change, row, new)?,
            Row::Vertex(b, c, v) => {
                let shape = Row::Shape(b, c);
                if let Some((other, sizes)) = pending.take_if(|(other, _)| *other != shape) {
                    resize(model, change, other, &sizes)?;
                }
                let (_, sizes) = pending.get_or_insert_with(|| (shape, G::shape_parameters(&model.bodies[b].colliders[c].shape)));
                sizes[v * G::DIM..(v + 1) * G::DIM].copy_from_slice(new);
            }
            _ => (),
        }
    }
    match pending {
        Some((row, sizes)) => resize(model, change, row, &sizes),
        None => Ok(()),
    }
}

fn resize<G: Geometry>(model: &mut Model<G>, change: &Change<'_>, row: Row, sizes: &[f64]) -> Result<(), NameError> {
    let Row::Shape(b, c) = row else { return Ok(()) };
    match G::with_shape_parameters(&model.bodies[b].colliders[c].shape, sizes) {
        Ok(shape) => model.bodies[b].colliders[c].shape = shape,
        Err(error) => return Err(change.fault(model, row, error.to_string())),
    }
    Ok(())
}
