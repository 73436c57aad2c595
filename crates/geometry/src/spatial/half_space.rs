//! Contacts and distance of a half-space and everything bounded: its vertices against one face, theory (8.7).

use super::core::{Body, Core};
use super::feature::{Feature, Kind, evaluate};
use super::manifold::{self, MAX_POINTS};
use crate::contact::Contact;
use carom_math::Spatial;
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Appends the vertices of a core within reach of a half-space, at most four. `core_is_a` tells the order of the pair.
pub(super) fn contacts(core: &Core, plane: &Core, core_is_a: bool, origin: V, reach: f64, out: &mut Vec<Contact<Spatial>>) {
    let n = plane.normal(0);
    let start = out.len();
    let lift = n.dot(&(core.pos - plane.pos)) - core.radius;
    let d = core.local(n);
    let push = |v: u32, out: &mut Vec<Contact<Spatial>>| {
        let kind = Kind::PointFace { a: v, b: 0 };
        let raw = evaluate(kind, core, plane);
        out.push(if core_is_a {
            raw.named(Feature { part: 0, kind }, origin)
        } else {
            raw.swapped().named(Feature { part: 0, kind: kind.swapped() }, origin)
        });
    };
    if let Body::Cuboid(half) = &core.body {
        // Nothing is within reach unless the deepest vertex is.
        if lift - d.abs().dot(half) > reach {
            return;
        }
    }
    for v in 0..core.vertex_count() as u32 {
        if lift + d.dot(&core.local_vertex(v)) <= reach {
            push(v, out);
        }
    }
    if out.len() - start > MAX_POINTS {
        // Vertices of other faces came within a long reach: keep to the face that looks down most.
        if let Some(face) = core.face_at(core.support(-n), -n) {
            out.truncate(start);
            for k in 0..core.face_len(face) {
                let v = core.face_vertex(face, k);
                if lift + d.dot(&core.local_vertex(v)) <= reach {
                    push(v, out);
                }
            }
        }
        manifold::reduce(out, start);
    }
}

/// Signed distance of a core from a half-space.
pub(super) fn separation(core: &Core, plane: &Core) -> f64 {
    let n = plane.normal(0);
    n.dot(&(core.vertex(core.support(-n)) - plane.pos)) - core.radius
}
