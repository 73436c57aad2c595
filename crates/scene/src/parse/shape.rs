//! Shapes: one, or an array of placed ones.

use crate::error::Fault;
use crate::keys::{self, Bound};
use crate::parse::exactly_one;
use crate::read::{Fields, Node, Part, Reader, array, fixed, number, span, whole};
use crate::tree::{ShapeTree, Solid};
use carom_dynamics::BodyKind;
use toml::de::DeValue;

/// Shapes of one body.
const MAX_SHAPES: usize = 10_000;

/// The angle (first entry) or quaternion of a table.
pub fn rotation(f: &Fields<'_, '_>, dimension: usize) -> [f64; 4] {
    if dimension == 2 {
        [f.number("angle").unwrap_or(0.0), 0.0, 0.0, 0.0]
    } else {
        f.quaternion("rotation").unwrap_or([1.0, 0.0, 0.0, 0.0])
    }
}

/// Reads `shape`: a table, or an array of tables.
pub fn shapes<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: &Part, kind: BodyKind) -> Vec<ShapeTree> {
    match node.get_ref() {
        DeValue::Array(items) => {
            if items.len() > MAX_SHAPES {
                let fault = part.fault(span(node), "shape", "too many shapes").found(items.len());
                r.sink.push(fault.allowed(format!("at most {MAX_SHAPES}")));
                return Vec::new();
            }
            let inner = |i: usize| part.inner(&format!("shape[{i}]"));
            items.iter().enumerate().filter_map(|(i, item)| shape(r, item, inner(i), kind)).collect()
        }
        _ => shape(r, node, part.inner("shape"), kind).into_iter().collect(),
    }
}

fn shape<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: Part, kind: BodyKind) -> Option<ShapeTree> {
    let f = r.table(&keys::SHAPE, part, node, &[])?;
    let dimension = r.dimension;
    let solids: Vec<&str> =
        keys::SHAPE.keys.iter().filter(|k| k.space.holds(dimension) && !keys::PLACING.contains(&k.name)).map(|k| k.name).collect();
    let key = exactly_one(r, &f, &keys::SHAPE, node, &solids)?;
    if kind == BodyKind::Dynamic && ["half_space", "heightfield"].contains(&key) {
        r.sink.push(f.fault(key, format!("a {key} has no volume to move")).allowed("kind = \"static\" or \"kinematic\""));
        return None;
    }
    let solid = match key {
        "ball" => Solid::Ball(f.number(key)?),
        "box" => Solid::Box(f.vector(key)?),
        "capsule" => f.pair(key).map(|[l, radius]| Solid::Capsule(l, radius))?,
        "convex" => Solid::Convex(f.points(key)?),
        "half_space" => Solid::HalfSpace(f.vector(key)?),
        "segment" => Solid::Segment(f.two(key)?),
        "cylinder" => f.pair(key).map(|[l, radius]| Solid::Cylinder(l, radius))?,
        "cone" => f.pair(key).map(|[l, radius]| Solid::Cone(l, radius))?,
        "mesh" => mesh(r, &f.part, f.raw(key)?)?,
        _ => heightfield(r, &f.part, f.raw(key)?)?,
    };
    let at = f.vector("at").unwrap_or([0.0; 3]);
    Some(ShapeTree { solid, key, at, rotation: rotation(&f, dimension), span: f.span_of(key) })
}

fn mesh<'t>(r: &mut Reader<'t>, part: &Part, node: &Node<'t>) -> Option<Solid> {
    if let DeValue::String(file) = node.get_ref() {
        return Some(Solid::MeshFile(file.to_string()));
    }
    let f = r.table(&keys::MESH, part.inner("mesh"), node, &["points", "faces"])?;
    let points = f.points("points")?;
    let faces = f.raw("faces")?;
    let last = (points.len() as u64).saturating_sub(1);
    let read = || -> Result<Vec<[usize; 3]>, &'static str> {
        let mut out = Vec::new();
        for face in array(faces)?.iter() {
            let corners = array(face)?;
            if corners.len() != 3 {
                return Err("wrong length");
            }
            let mut indices = [0; 3];
            for (index, corner) in indices.iter_mut().zip(corners.iter()) {
                *index = whole(corner, 0, last)? as usize;
            }
            out.push(indices);
        }
        Ok(out)
    };
    match read() {
        Ok(triangles) => Some(Solid::Mesh(points, triangles)),
        Err(problem) => {
            r.sink.push(f.fault("faces", problem).quoted().allowed(format!("triangles of three whole numbers from 0 to {last}")));
            None
        }
    }
}

fn heightfield<'t>(r: &mut Reader<'t>, part: &Part, node: &Node<'t>) -> Option<Solid> {
    let f = r.table(&keys::HEIGHTFIELD, part.inner("heightfield"), node, &["heights", "spacing"])?;
    let plane = r.dimension == 2;
    let (heights, spacing) = (f.raw("heights")?, f.raw("spacing")?);
    let row = |node: &Node<'t>| -> Result<Vec<f64>, &'static str> {
        let out: Result<Vec<f64>, _> = array(node)?.iter().map(|x| number(x, Bound::Any)).collect();
        out.and_then(|x| if x.len() < 2 { Err("wrong length") } else { Ok(x) })
    };
    let rows = if plane {
        row(heights).map(|x| vec![x])
    } else {
        array(heights).and_then(|items| items.iter().map(row).collect::<Result<Vec<_>, _>>()).and_then(|rows| {
            let even = rows.len() > 1 && rows.iter().all(|x| x.len() == rows[0].len());
            if even { Ok(rows) } else { Err("rows of different lengths, or fewer than two") }
        })
    };
    let step = match number(spacing, Bound::Positive) {
        Ok(x) => Ok([x, x]),
        Err("wrong type") if !plane => fixed::<2>(spacing, Bound::Positive),
        Err(problem) => Err(problem),
    };
    let shape = if plane { "a list of at least two numbers" } else { "at least two rows of equal length, each of at least two numbers" };
    let gap = if plane { "a number > 0 [m]" } else { "a number > 0, or [dx, dy] > 0 [m]" };
    let faults: Vec<Fault> = [("heights", rows.as_ref().err(), shape), ("spacing", step.as_ref().err(), gap)]
        .into_iter()
        .filter_map(|(key, problem, allowed)| problem.map(|p| f.fault(key, *p).quoted().allowed(allowed)))
        .collect();
    faults.into_iter().for_each(|fault| r.sink.push(fault));
    Some(Solid::Heightfield(rows.ok()?, step.ok()?))
}
