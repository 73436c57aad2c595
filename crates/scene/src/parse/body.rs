//! `[[body]]`.

use super::{choice, shape};
use crate::error::Fault;
use crate::keys::{self, Bound};
use crate::read::{Node, Part, Reader, array, fixed, number, span};
use crate::tree::{BodyTree, CombineTree};
use carom_dynamics::{BodyKind, Coefficients, Resistances};

/// Reads a body.
pub fn body<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: Part) -> Option<BodyTree> {
    let f = r.table(&keys::BODY, part, node, &[])?;
    let kind: BodyKind = f.chosen("kind");
    if f.has("mass") && f.has("density") {
        r.sink.push(f.fault("density", "does not go with \"mass\"").allowed("one of the two"));
    }
    let zero = [0.0; 3];
    let (velocity, spin) = (f.vector("velocity").unwrap_or(zero), f.vector("spin").unwrap_or(zero));
    for (key, value) in [("velocity", velocity), ("spin", spin)] {
        if kind == BodyKind::Static && value != zero {
            let fault = f.fault(key, "a static body does not move").quoted();
            r.sink.push(fault.allowed("kind = \"kinematic\", which moves with its velocity and spin"));
        }
    }
    if let Some(name) = f.text("name").filter(|name| ["world", "self", "next", "across"].contains(&name.as_str())) {
        r.sink.push(f.fault("name", format!("\"{name}\" has a meaning of its own")).allowed("any other name"));
    }
    let locked = f.names("locked").unwrap_or_default();
    let holds = |word: &str| locked.iter().any(|w| w.value == word);
    let shapes = f.raw("shape").map_or_else(Vec::new, |node| shape::shapes(r, node, &f.part, kind));
    let inertia = f.raw("inertia").and_then(|node| inertia(r, &f.part, node));
    let combine = f.raw("combine").map_or_else(CombineTree::default, |node| choice::combine(r, &f.part, node));
    Some(BodyTree {
        name: f.text_at("name"),
        kind,
        shapes,
        mass: f.number("mass"),
        density: f.number("density"),
        inertia,
        centre: f.vector("centre"),
        position: f.vector("position").unwrap_or(zero),
        by_frame: f.text("origin").as_deref() == Some("frame"),
        rotation: shape::rotation(&f, r.dimension),
        velocity,
        spin,
        material: f.text_at("material"),
        surface: Coefficients::by_key(|key| f.number(key)),
        combine,
        group: f.names("group"),
        mask: f.names("mask"),
        resistances: Resistances::by_key(|key| f.number(key).unwrap_or(0.0)),
        locked: ["x", "y", "z"].map(holds),
        locked_rotation: holds("rotation"),
        color: f.color("color"),
        places: f.places(),
    })
}

/// Relative difference of mirrored entries that still counts as symmetric: numbers written to nine digits.
const SYMMETRIC: f64 = 1e-9;

/// Inertia by rows: 1 number in the plane, 9 in space; positive definite, and in space a possible one.
fn inertia<'t>(r: &mut Reader<'t>, part: &Part, node: &Node<'t>) -> Option<Vec<f64>> {
    let (rows, allowed) = if r.dimension == 2 {
        (number(node, Bound::Positive).map(|x| vec![x]), "a number > 0 [kg m^2]")
    } else {
        (space_inertia(node), "[Ix, Iy, Iz] > 0, or a symmetric positive definite [[...], [...], [...]] [kg m^2]")
    };
    match rows {
        Ok(rows) => Some(rows),
        Err(problem) => {
            r.sink.push(Fault::new(span(node), part.name.clone(), format!("{}inertia", part.prefix), problem).quoted().allowed(allowed));
            None
        }
    }
}

fn space_inertia(node: &Node<'_>) -> Result<Vec<f64>, &'static str> {
    let items = array(node)?;
    let Some(first) = items.iter().next() else { return Err("wrong length") };
    if array(first).is_err() {
        let [x, y, z] = fixed::<3>(node, Bound::Positive)?;
        return Ok(vec![x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, z]);
    }
    if items.len() != 3 {
        return Err("wrong length");
    }
    let mut rows = Vec::with_capacity(9);
    for item in items.iter() {
        rows.extend(fixed::<3>(item, Bound::Any)?);
    }
    let size = rows.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        if (rows[3 * i + j] - rows[3 * j + i]).abs() > SYMMETRIC * size {
            return Err("not symmetric");
        }
    }
    Ok(rows)
}
