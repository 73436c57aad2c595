//! Binary glTF 2.0 (<https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html>): a node with a mesh for every body, and one animation.
//!
//! A file is a header, a chunk of JSON and a chunk of numbers, little-endian, each part of them a multiple of four bytes long. glTF has y
//! upwards: a root node turns scenes in space, which have z upwards; those of the plane stand as they are.

use crate::draw::Draw;
use crate::error::RenderError;
use crate::film::Film;
use crate::mesh::{Mesh, meshes, room};
use crate::options::{Kind, MOST_VIDEO_FRAMES, Options};
use crate::reel::Progress;
use carom_math::{Pose, Spatial};
use serde_json::{Value, json};
use std::io::Write;

/// First word of a file, the version, and the names of its chunks.
const MAGIC: &[u8; 4] = b"glTF";
const VERSION: u32 = 2;
const JSON: &[u8; 4] = b"JSON";
const BIN: &[u8; 4] = b"BIN\0";
/// Types of numbers.
const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
/// What a view of numbers is for: corners, and which of them make triangles.
const ARRAY: u32 = 34962;
const ELEMENT_ARRAY: u32 = 34963;

/// The numbers of a file with their table of contents.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Buffer {
    /// Appends numbers of four bytes; returns the number of their accessor.
    fn put(&mut self, numbers: impl Iterator<Item = [u8; 4]>, count: usize, mut accessor: Value, target: Option<u32>) -> usize {
        let offset = self.bytes.len();
        self.bytes.extend(numbers.flatten());
        let mut view = json!({ "buffer": 0, "byteOffset": offset, "byteLength": self.bytes.len() - offset });
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        accessor["bufferView"] = json!(self.views.len());
        accessor["count"] = json!(count);
        self.views.push(view);
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }
    fn vectors(&mut self, rows: &[[f32; 3]], bounds: Option<[[f32; 3]; 2]>) -> usize {
        let mut accessor = json!({ "componentType": FLOAT, "type": "VEC3" });
        if let Some([min, max]) = bounds {
            (accessor["min"], accessor["max"]) = (json!(min), json!(max));
        }
        self.put(rows.iter().flatten().map(|x| x.to_le_bytes()), rows.len(), accessor, Some(ARRAY))
    }
    fn mesh(&mut self, name: &str, mesh: &Mesh) -> Value {
        let position = self.vectors(&mesh.points, Some(mesh.bounds()));
        let normal = self.vectors(&mesh.normals, None);
        let color = self.vectors(&mesh.linear(), None);
        let corners = json!({ "componentType": UNSIGNED_INT, "type": "SCALAR" });
        let numbers = mesh.triangles.iter().flatten().map(|k| k.to_le_bytes());
        let indices = self.put(numbers, 3 * mesh.triangles.len(), corners, Some(ELEMENT_ARRAY));
        let attributes = json!({ "POSITION": position, "NORMAL": normal, "COLOR_0": color });
        json!({ "name": name, "primitives": [{ "attributes": attributes, "indices": indices, "material": 0 }] })
    }
}

/// Position and quaternion (x, y, z, w) of a pose.
fn numbers(pose: &Pose<Spatial>) -> ([f32; 3], [f32; 4]) {
    let [p, q] = [pose.position, pose.rotation.imag()].map(|v| [v.x as f32, v.y as f32, v.z as f32]);
    (p, [q[0], q[1], q[2], pose.rotation.w as f32])
}

/// Poses in space at the frames of a film, body by body; signs of quaternions follow each other, so that readers turn the shorter way.
pub fn tracks<G: Draw>(film: &Film<'_, G>, times: &[f64], progress: &mut Progress<'_>) -> Result<Vec<Vec<Pose<Spatial>>>, RenderError> {
    let mut poses = Vec::new();
    let mut tracks: Vec<Vec<Pose<Spatial>>> = vec![Vec::with_capacity(times.len()); film.model.bodies.len()];
    for (k, time) in times.iter().enumerate() {
        if !progress(k, times.len()) {
            return Err(RenderError::Stopped);
        }
        film.poses(*time, &mut poses)?;
        for (track, pose) in tracks.iter_mut().zip(&poses) {
            let mut pose = G::in_space(pose);
            if track.last().is_some_and(|last| last.rotation.coords.dot(&pose.rotation.coords) < 0.0) {
                pose.rotation = nalgebra::Unit::new_unchecked(-pose.rotation.into_inner());
            }
            track.push(pose);
        }
    }
    Ok(tracks)
}

/// Writes a film; returns its number of frames.
pub fn write<G: Draw>(
    film: &Film<'_, G>,
    name: &str,
    options: &Options,
    out: &mut dyn Write,
    progress: &mut Progress<'_>,
) -> Result<usize, RenderError> {
    let times = film.frames(options.rate_for(Kind::Glb), options.speed, MOST_VIDEO_FRAMES);
    let tracks = tracks(film, &times, progress)?;
    let mut buffer = Buffer::default();
    let shown: Vec<f32> = times.iter().map(|t| ((t - film.start) / options.speed) as f32).collect();
    let clock = json!({ "componentType": FLOAT, "type": "SCALAR", "min": [shown[0]], "max": [shown[shown.len() - 1]] });
    let clock = buffer.put(shown.iter().map(|t| t.to_le_bytes()), shown.len(), clock, None);
    let (mut nodes, mut shapes, mut samplers, mut channels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (half, up) = (std::f64::consts::FRAC_1_SQRT_2, if G::DIM == 3 { -1.0 } else { 0.0 });
    let turn = if up == 0.0 { [0.0, 0.0, 0.0, 1.0] } else { [up * half, 0.0, 0.0, half] };
    let children: Vec<usize> = (1..=tracks.len()).collect();
    nodes.push(json!({ "name": name, "rotation": turn, "children": children }));
    for ((body, track), mesh) in film.model.bodies.iter().zip(&tracks).zip(meshes(film.model, &room(film)?, options.theme)) {
        let (position, rotation) = numbers(&track[0]);
        let mut node = json!({ "name": body.name, "translation": position, "rotation": rotation });
        if !mesh.triangles.is_empty() {
            node["mesh"] = json!(shapes.len());
            shapes.push(buffer.mesh(&body.name, &mesh));
        }
        nodes.push(node);
        if track.iter().any(|pose| pose != &track[0]) {
            let rows: Vec<_> = track.iter().map(numbers).collect();
            let positions = rows.iter().flat_map(|(p, _)| p.map(f32::to_le_bytes));
            let positions = buffer.put(positions, rows.len(), json!({ "componentType": FLOAT, "type": "VEC3" }), None);
            let turns = rows.iter().flat_map(|(_, q)| q.map(f32::to_le_bytes));
            let turns = buffer.put(turns, rows.len(), json!({ "componentType": FLOAT, "type": "VEC4" }), None);
            for (path, output) in [("translation", positions), ("rotation", turns)] {
                channels.push(json!({ "sampler": samplers.len(), "target": { "node": nodes.len() - 1, "path": path } }));
                samplers.push(json!({ "input": clock, "output": output, "interpolation": "LINEAR" }));
            }
        }
    }
    let mut document = json!({
        "asset": { "version": "2.0", "generator": concat!("carom ", env!("CARGO_PKG_VERSION")) },
        "scene": 0, "scenes": [{ "name": name, "nodes": [0] }], "nodes": nodes,
        "materials": [{ "name": "body", "doubleSided": true, "pbrMetallicRoughness": { "metallicFactor": 0.0, "roughnessFactor": 0.7 } }],
        "accessors": buffer.accessors, "bufferViews": buffer.views, "buffers": [{ "byteLength": buffer.bytes.len() }],
    });
    // Lists may not be empty in this format.
    for (key, list) in [("meshes", shapes), ("animations", vec![json!({ "name": name, "samplers": samplers, "channels": channels })])] {
        if !(list.is_empty() || key == "animations" && channels.is_empty()) {
            document[key] = json!(list);
        }
    }
    put(document.to_string().into_bytes(), buffer.bytes, out)?;
    progress(times.len(), times.len());
    Ok(times.len())
}

/// The two chunks behind their header.
fn put(mut text: Vec<u8>, mut numbers: Vec<u8>, out: &mut dyn Write) -> Result<(), RenderError> {
    text.resize(text.len().next_multiple_of(4), b' ');
    numbers.resize(numbers.len().next_multiple_of(4), 0);
    let word = |n: usize| u32::try_from(n).map(u32::to_le_bytes).map_err(|_| RenderError::Encode("more than 4 GB".to_string()));
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(&word(12 + 8 + text.len() + 8 + numbers.len())?)?;
    for (kind, chunk) in [(JSON, text), (BIN, numbers)] {
        out.write_all(&word(chunk.len())?)?;
        out.write_all(kind)?;
        out.write_all(&chunk)?;
    }
    Ok(())
}
