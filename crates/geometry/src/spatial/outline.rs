//! The spatial shapes as points, a radius and faces.

use super::core::{Body, Core};
use super::mesh::Mesh;
use super::shape::Shape;
use crate::outline::{Faces, Outline};
use carom_math::{Pose, Spatial};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Faces of a box by the numbers of its vertices: below, above, then around. Pictures draw them in this order.
const BOX_FACES: [[u32; 4]; 6] = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [1, 3, 7, 5], [3, 2, 6, 7], [2, 0, 4, 6]];

/// The outline of a shape.
pub(super) fn outline(shape: &Shape) -> Outline<Spatial> {
    match shape {
        Shape::HalfSpace { normal } => Outline::sharp(vec![V::zeros(), *normal]),
        Shape::Cylinder { half_height, radius } | Shape::Cone { half_height, radius } => {
            Outline::round(vec![V::new(0.0, 0.0, -half_height), V::new(0.0, 0.0, *half_height)], *radius)
        }
        Shape::Mesh(mesh) => surface(mesh),
        Shape::Heightfield(field) => surface(field.mesh()),
        Shape::Ball { .. } | Shape::Cuboid { .. } | Shape::Capsule { .. } | Shape::Convex(_) | Shape::Segment { .. } => {
            Core::of(shape, &Pose::identity(), V::zeros()).map_or_else(|| Outline::sharp(Vec::new()), |core| of_core(&core))
        }
    }
}

fn surface(mesh: &Mesh) -> Outline<Spatial> {
    Outline { points: mesh.vertices().to_vec(), radius: 0.0, faces: Faces::Surface(mesh.triangles().to_vec()) }
}

fn of_core(core: &Core) -> Outline<Spatial> {
    let points = (0..core.vertex_count() as u32).map(|v| core.local_vertex(v)).collect();
    let faces = match core.body {
        Body::Cuboid(_) => Faces::Solid(BOX_FACES.map(|face| face.to_vec()).to_vec()),
        Body::Hull(hull) => Faces::Solid((0..hull.normals().len()).map(|face| hull.face(face).to_vec()).collect()),
        _ => Faces::None,
    };
    Outline { points, radius: core.radius, faces }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Volume behind triangles, by the divergence theorem: positive where all look outwards.
    fn volume(outline: &Outline<Spatial>) -> f64 {
        let corner = |k: u32| outline.points[k as usize];
        outline.faces.triangles().iter().map(|[a, b, c]| corner(*a).dot(&corner(*b).cross(&corner(*c))) / 6.0).sum()
    }

    #[test]
    fn faces_close_around_boxes_and_polyhedra() {
        let brick = outline(&Shape::cuboid(V::new(1.0, 2.0, 0.5)).unwrap());
        assert_eq!((brick.points.len(), brick.faces.triangles().len(), volume(&brick)), (8, 12, 8.0));
        let hull = outline(&Shape::convex(&brick.points).unwrap());
        assert_eq!((hull.points.len(), hull.faces.triangles().len()), (8, 12));
        assert!((volume(&hull) - 8.0).abs() < 1e-12);
    }

    #[test]
    fn every_other_shape_is_points_and_a_radius_or_a_surface() {
        let ends = vec![V::new(0.0, 0.0, -0.5), V::new(0.0, 0.0, 0.5)];
        for shape in [Shape::capsule(0.5, 0.2), Shape::cylinder(0.5, 0.2), Shape::cone(0.5, 0.2)] {
            assert_eq!(outline(&shape.unwrap()), Outline::round(ends.clone(), 0.2));
        }
        assert_eq!(outline(&Shape::ball(0.3).unwrap()), Outline::round(vec![V::zeros()], 0.3));
        assert_eq!(outline(&Shape::segment(ends[0], ends[1]).unwrap()), Outline::sharp(ends));
        assert_eq!(outline(&Shape::half_space(V::x()).unwrap()), Outline::sharp(vec![V::zeros(), V::x()]));
        let field = outline(&Shape::heightfield(vec![0.0, 1.0, 2.0, 3.0], 2, 2, [1.0, 1.0]).unwrap());
        assert_eq!((field.points.len(), field.faces.triangles().len()), (4, 2));
    }
}
