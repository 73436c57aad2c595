//! A USD stage as text (<https://openusd.org/release/spec.html>): an `Xform` with a `Mesh` for every body, poses as time samples.
//!
//! Time code k is frame k. The stage is in metres, its y axis upwards in the plane and its z axis in space.

use crate::draw::Draw;
use crate::error::RenderError;
use crate::film::Film;
use crate::glb::tracks;
use crate::mesh::{Mesh, meshes, room};
use crate::options::{Kind, MOST_VIDEO_FRAMES, Options};
use crate::reel::Progress;
use std::collections::BTreeSet;
use std::io::Write;

/// Writes a film; returns its number of frames.
pub fn write<G: Draw>(
    film: &Film<'_, G>,
    name: &str,
    options: &Options,
    out: &mut dyn Write,
    progress: &mut Progress<'_>,
) -> Result<usize, RenderError> {
    let wanted = options.rate_for(Kind::Usda);
    let times = film.frames(wanted, options.speed, MOST_VIDEO_FRAMES);
    let last = times.len() - 1;
    // A run's clock gathers roundings, which are no part of its rate.
    let exact = if last > 0 { last as f64 * options.speed / film.duration() } else { wanted };
    let rate = if (exact - exact.round()).abs() < 1e-9 * exact { exact.round() } else { exact };
    let tracks = tracks(film, &times, progress)?;
    let up = if G::DIM == 3 { "Z" } else { "Y" };
    let made = concat!("carom ", env!("CARGO_PKG_VERSION"));
    writeln!(out, "#usda 1.0\n(\n    doc = {}\n    defaultPrim = \"World\"", quoted(&format!("{name}, {made}")))?;
    writeln!(out, "    startTimeCode = 0\n    endTimeCode = {last}\n    timeCodesPerSecond = {rate}\n    framesPerSecond = {rate}")?;
    writeln!(out, "    metersPerUnit = 1\n    upAxis = \"{up}\"\n)\n\ndef Xform \"World\"\n{{")?;
    let mut taken = BTreeSet::new();
    for ((body, track), mesh) in film.model.bodies.iter().zip(&tracks).zip(meshes(film.model, &room(film)?, options.theme)) {
        let identifier = identifier(&body.name, &mut taken);
        writeln!(out, "    def Xform \"{identifier}\" (\n        displayName = {}\n    )\n    {{", quoted(&body.name))?;
        let moves = track.iter().any(|pose| pose != &track[0]);
        let rows = if moves { &track[..] } else { &track[..1] };
        let positions = rows.iter().map(|pose| format!("({}, {}, {})", pose.position.x, pose.position.y, pose.position.z));
        let turns = rows.iter().map(|pose| {
            let [w, i, j, k] = [pose.rotation.w, pose.rotation.i, pose.rotation.j, pose.rotation.k];
            format!("({w}, {i}, {j}, {k})")
        });
        attribute(out, "double3 xformOp:translate", positions.collect(), moves)?;
        attribute(out, "quatd xformOp:orient", turns.collect(), moves)?;
        writeln!(out, "        uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\"]")?;
        if !mesh.triangles.is_empty() {
            shape(out, &mesh)?;
        }
        writeln!(out, "    }}")?;
    }
    writeln!(out, "}}")?;
    progress(times.len(), times.len());
    Ok(times.len())
}

/// An attribute that stays as it is, or has a sample at every time code.
fn attribute(out: &mut dyn Write, name: &str, values: Vec<String>, moves: bool) -> Result<(), RenderError> {
    if !moves {
        return Ok(writeln!(out, "        {name} = {}", values[0])?);
    }
    writeln!(out, "        {name}.timeSamples = {{")?;
    for (code, value) in values.iter().enumerate() {
        writeln!(out, "            {code}: {value},")?;
    }
    Ok(writeln!(out, "        }}")?)
}

fn shape(out: &mut dyn Write, mesh: &Mesh) -> Result<(), RenderError> {
    let triples = |rows: &[[f32; 3]]| rows.iter().map(|[x, y, z]| format!("({x}, {y}, {z})")).collect::<Vec<_>>().join(", ");
    let corners: Vec<String> = mesh.triangles.iter().flatten().map(u32::to_string).collect();
    let counts = vec!["3"; mesh.triangles.len()].join(", ");
    writeln!(out, "        def Mesh \"shape\"\n        {{")?;
    writeln!(out, "            uniform bool doubleSided = 1\n            uniform token subdivisionScheme = \"none\"")?;
    writeln!(out, "            float3[] extent = [{}]", triples(&mesh.bounds()))?;
    writeln!(out, "            int[] faceVertexCounts = [{counts}]\n            int[] faceVertexIndices = [{}]", corners.join(", "))?;
    writeln!(out, "            point3f[] points = [{}]", triples(&mesh.points))?;
    for (name, rows) in [("normal3f[] normals", &mesh.normals), ("color3f[] primvars:displayColor", &mesh.linear())] {
        writeln!(out, "            {name} = [{}] (\n                interpolation = \"vertex\"\n            )", triples(rows))?;
    }
    Ok(writeln!(out, "        }}")?)
}

/// A name as this format takes it, unlike all before: letters, digits and underscores, no digit first.
fn identifier(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let plain = if plain.starts_with(|c: char| c.is_ascii_digit()) || plain.is_empty() { format!("_{plain}") } else { plain };
    let mut found = plain.clone();
    let mut number = 1;
    while !taken.insert(found.clone()) {
        number += 1;
        found = format!("{plain}_{number}");
    }
    found
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    let inside: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("\"{}\"", inside.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_differ_and_quotes_are_closed() {
        let mut taken = BTreeSet::new();
        let found: Vec<String> = ["ball", "ball.1", "ball 1", "2nd", "球", ""].iter().map(|n| identifier(n, &mut taken)).collect();
        assert_eq!(found, ["ball", "ball_1", "ball_1_2", "_2nd", "_", "__2"].map(str::to_string));
        assert_eq!(quoted("a \"b\" \\\n"), "\"a \\\"b\\\" \\\\ \"");
    }
}
