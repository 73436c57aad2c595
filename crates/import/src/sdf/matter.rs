//! What links are made of: shapes, masses, colours.

use super::*;

impl Reader<'_> {
    /// The shape of a collision, or the parts of its mesh, and their turn in it; `None`, with a note, where it is left out.
    pub(super) fn solids(&mut self, collision: &Element) -> Result<Placed, Fault> {
        let geometry = collision.child("geometry").ok_or_else(|| collision.fault("geometry", "missing"))?;
        let Some(shape) = geometry.children.first() else { return Err(geometry.fault("", "empty")) };
        let solid = match shape.tag.as_str() {
            "box" => {
                let size = vector(shape.child("size").ok_or_else(|| shape.fault("size", "missing"))?)?;
                if size.min() <= 0.0 {
                    return Err(shape.fault("size", "not above 0"));
                }
                Solid::Box([size.x, size.y, size.z])
            }
            "sphere" => Solid::Ball(extent(shape, "radius")?),
            "cylinder" => Solid::Cylinder(extent(shape, "length")?, extent(shape, "radius")?),
            "capsule" => Solid::Capsule(extent(shape, "length")?, extent(shape, "radius")?),
            "plane" => {
                let normal = shape.child("normal").map(vector).transpose()?.unwrap_or_else(Vector3::z);
                if normal.norm() <= 0.0 {
                    return Err(shape.fault("normal", "has no direction"));
                }
                Solid::HalfSpace([normal.x, normal.y, normal.z])
            }
            "empty" => return Ok(None),
            "mesh" => {
                let uri = shape.child("uri").ok_or_else(|| shape.fault("uri", "missing"))?;
                let scale = shape.child("scale").map(vector).transpose()?.unwrap_or_else(|| Vector3::repeat(1.0));
                match self.touching(&uri.text, scale) {
                    Ok(found) => {
                        if let Some(note) = found.note.filter(|_| !self.options.strict || found.solids.len() == 1) {
                            self.notes.add(Fault::new(uri.span.clone(), "mesh", "uri", note));
                        }
                        return Ok(Some((found.solids.into_iter().map(Solid::Convex).collect(), Isometry3::identity())));
                    }
                    Err(problem) => {
                        self.notes.add(Fault::new(uri.span.clone(), "mesh", "uri", format!("left out: {problem}")));
                        return Ok(None);
                    }
                }
            }
            other => {
                self.notes.add(Fault::new(shape.span.clone(), other.to_string(), "", "not supported: the shape is left out"));
                return Ok(None);
            }
        };
        Ok(Some((vec![solid], Isometry3::identity())))
    }

    pub(super) fn touching(&mut self, file: &str, scale: Vector3<f64>) -> Result<Touching, String> {
        let key = format!("{file} {scale:?}");
        if let Some(found) = self.touching.get(&key) {
            return found.clone();
        }
        let path = self.folder.ok_or_else(|| "a file, and the model was given as text".to_string());
        let path = path.and_then(|folder| include::find(file, folder, &self.options.packages).ok_or_else(|| "not found".to_string()));
        let made = path.and_then(|path| mesh::load(&path));
        let made = made.and_then(|m| parts::touching(&m.scaled(scale), self.options.meshes, self.options.mesh_cache.as_deref()));
        self.touching.insert(key, made.clone());
        made
    }
}

/// Mass of a link: one kilogram and unit moments where nothing is said, as in SDF.
pub(super) fn mass(link: &Element) -> Result<Mass, Fault> {
    let Some(inertial) = link.child("inertial") else {
        return Ok(Mass { mass: 1.0, centre: Vector3::zeros(), inertia: Matrix3::identity() });
    };
    let weight = number(inertial, "mass")?.unwrap_or(1.0);
    if weight < 0.0 {
        return Err(inertial.fault("mass", "below 0"));
    }
    let mut inertia = Matrix3::identity();
    if let Some(element) = inertial.child("inertia") {
        for (key, i, j) in [("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2)] {
            inertia[(i, j)] = number(element, key)?.unwrap_or(if i == j { 1.0 } else { 0.0 });
            inertia[(j, i)] = inertia[(i, j)];
        }
    }
    Ok(Mass { mass: weight, centre: Vector3::zeros(), inertia }.moved(&pose(inertial)?.0))
}

/// Colour of a visual.
pub(super) fn color(visual: &Element) -> Option<u32> {
    let diffuse = visual.child("material")?.child("diffuse")?;
    rgb(&crate::element::numbers(&diffuse.text, 3, 4).ok()?)
}
