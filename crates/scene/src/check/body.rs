//! Bodies: names and groups, shapes and their centroid, mass and inertia.

use super::{default_surface, in_range, lin, over};
use crate::error::{Fault, Sink};
use crate::mesh;
use crate::repeat::{Copy, Expanded};
use crate::solid::{SceneSpace, is_convex};
use crate::tree::{At, BodyTree, MaterialTree, SceneTree, ShapeTree, Solid};
use carom_dynamics::{Body, BodyKind, Collider, Combination, Model, State};
use carom_geometry::MassProperties;
use carom_math::{Pose, Space, Twist, Vector};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Density when neither mass nor density is given [kg/m^3, in the plane kg/m^2]: water.
const DEFAULT_DENSITY: f64 = 1000.0;
/// A centroid closer to the origin than this fraction of the body's reach is there already; a written scene reads back unchanged.
const CENTRED: f64 = 1e-13;
/// Shifts until the centroid is there: the first leaves the rounding of its size, the second that of the body's.
const CENTRE_ROUNDS: usize = 4;
/// Names of groups, one bit each.
const MAX_GROUPS: usize = 64;
/// Colours of bodies that name none, in turn: even in lightness, told apart by most eyes.
pub const PALETTE: [u32; 12] =
    [0x4e79a7, 0xf28e2b, 0x59a14f, 0xe15759, 0x76b7b2, 0xedc948, 0xb07aa1, 0xff9da7, 0x9c755f, 0x86bcb6, 0xd37295, 0xa0cbe8];

/// The names of all groups, sorted; their place is their bit.
pub fn groups(expanded: &Expanded<'_>, sink: &mut Sink<'_>) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut last = usize::MAX;
    for body in &expanded.bodies {
        if body.written == last {
            continue;
        }
        last = body.written;
        for name in body.tree.group.iter().chain(&body.tree.mask).flatten() {
            seen.insert(name.value.clone());
            if seen.len() > MAX_GROUPS {
                let fault = Fault::new(name.span.clone(), format!("body \"{}\"", body.name), "group", "too many groups");
                sink.push(fault.allowed(format!("at most {MAX_GROUPS} different names in a scene")));
                return None;
            }
        }
    }
    Some(seen.into_iter().collect())
}

/// The end of the name of a group of everything that is not of one part of the scene: `arm.outside` holds the bodies whose names do not begin with
/// `arm.`. So the parts of an included model meet what is around them, whatever groups that is in.
const OUTSIDE: &str = ".outside";

/// The groups that a body of explicit ones is in because it is no part of what they leave out.
fn outside(name: &str, groups: &[String]) -> u64 {
    let holds = |group: &String| {
        let part = group.strip_suffix(OUTSIDE)?;
        Some(!name.strip_prefix(part).is_some_and(|rest| rest.starts_with('.')))
    };
    groups.iter().enumerate().filter(|(_, group)| holds(group) == Some(true)).fold(0, |bits, (i, _)| bits | 1 << i)
}

fn bits(list: &Option<Vec<At<String>>>, groups: &[String]) -> u64 {
    let Some(list) = list else { return u64::MAX };
    list.iter().filter_map(|name| groups.binary_search(&name.value).ok()).fold(0, |bits, i| bits | 1 << i)
}

/// Index of every body by name; two of one name are a fault.
pub fn names(expanded: &Expanded<'_>, sink: &mut Sink<'_>) -> BTreeMap<String, usize> {
    let mut index = BTreeMap::new();
    for (i, body) in expanded.bodies.iter().enumerate() {
        if index.insert(body.name.clone(), i).is_some() {
            let fault = Fault::new(body.tree.places.of("name"), format!("body \"{}\"", body.name), "name", "another body has this name");
            sink.push(fault.allowed("a name of its own"));
        }
    }
    index
}

/// A body, and its centre of mass in the frame in which its shapes are written.
type Weighed<G> = (Body<G>, <G as Space>::Lin);

/// Adds every body to the model and its start to the state.
pub fn bodies<G: SceneSpace>(
    tree: &SceneTree,
    expanded: &Expanded<'_>,
    groups: &[String],
    sink: &mut Sink<'_>,
    folder: Option<&Path>,
    model: &mut Model<G>,
    state: &mut State<G>,
) {
    // Copies share the body that was written: it is weighed once.
    let mut last: Option<(usize, Option<Weighed<G>>)> = None;
    for (i, copy) in expanded.bodies.iter().enumerate() {
        if last.as_ref().is_none_or(|(written, _)| *written != copy.written) {
            let made = body::<G>(copy, &tree.materials, tree.combine.over(Combination::default()), groups, sink, folder);
            last = Some((copy.written, made));
        }
        let Some((_, Some((made, centre)))) = &last else { continue };
        let mut body = made.clone();
        body.name = copy.name.clone();
        body.color = copy.tree.color.unwrap_or(PALETTE[i % PALETTE.len()]);
        body.group |= outside(&body.name, groups);
        let centre = *centre;
        model.bodies.push(body);
        let Some(rotation) = G::read_rotation(&copy.placing.rotation(G::DIM, copy.tree.rotation)) else {
            let key = if G::DIM == 2 { "angle" } else { "rotation" };
            sink.push(Fault::new(
                copy.tree.places.of(key),
                format!("body \"{}\"", copy.name),
                key,
                "has no direction that numbers can hold",
            ));
            return;
        };
        let placed = lin::<G>(&copy.placing.point(copy.tree.position));
        let position = if copy.tree.by_frame { placed + G::rotate(rotation, centre) } else { placed };
        if !in_range(position.as_slice()) {
            sink.push(Fault::new(copy.tree.places.of("position"), format!("body \"{}\"", copy.name), "position", "too far away"));
            return;
        }
        let spin = if G::DIM == 2 { copy.tree.spin } else { copy.placing.direction(copy.tree.spin) };
        let twist = Twist { lin: lin::<G>(&copy.placing.direction(copy.tree.velocity)), ang: G::Ang::from_slice(&spin) };
        state.push(Pose { position, rotation }, twist);
    }
}

/// A body, and its centre of mass in the frame in which its shapes are written.
fn body<G: SceneSpace>(
    copy: &Copy<'_>,
    materials: &[MaterialTree],
    combine: Combination,
    groups: &[String],
    sink: &mut Sink<'_>,
    folder: Option<&Path>,
) -> Option<Weighed<G>> {
    let tree = copy.tree;
    let part = format!("body \"{}\"", copy.name);
    let mut body = Body::<G>::new(copy.name.clone(), tree.kind, f64::INFINITY, G::inertia_zero());
    body.surface = default_surface();
    body.combine = combine;
    if let Some(name) = &tree.material {
        let Some(material) = materials.iter().find(|m| m.name == name.value) else {
            let fault = Fault::new(name.span.clone(), part, "material", "unknown material").quoted();
            sink.push(match materials {
                [] => fault.allowed(format!("a material of the scene, and it has none: add [materials.{}]", name.value.escape_debug())),
                _ => fault.words(&name.value, materials.iter().map(|m| m.name.as_str())),
            });
            return None;
        };
        body.surface = material.surface;
        body.combine = material.combine.over(body.combine);
    }
    body.surface = over(tree.surface, body.surface);
    body.combine = tree.combine.over(body.combine);
    body.group = bits(&tree.group, groups);
    body.mask = bits(&tree.mask, groups);
    body.resistances = tree.resistances;
    for k in 0..G::DIM {
        body.locked[k] = f64::from(u8::from(tree.locked[k]));
    }
    body.locked_rotation = tree.locked_rotation;
    for shape in &tree.shapes {
        body.colliders.push(collider::<G>(shape, tree.kind, &part, sink, folder)?);
    }
    let before = body.colliders.first().map(|collider| collider.local.position);
    let solid = match &tree.centre {
        None => centre(&mut body),
        Some(at) => {
            for collider in &mut body.colliders {
                collider.local.position -= lin::<G>(at);
            }
            solid(&body)
        }
    };
    let held = |c: &Collider<G>| in_range(c.local.position.as_slice());
    if !(body.colliders.iter().all(held) && solid.is_none_or(|s| s.mass > 0.0 && s.mass.is_finite())) {
        let fault = Fault::new(tree.places.of("shape"), part, "shape", "too large or too small for numbers to hold its volume");
        sink.push(fault.quoted().allowed("lengths whose volume is a positive number"));
        return None;
    }
    if tree.kind == BodyKind::Dynamic {
        weigh(&mut body, tree, solid, &part, sink)?;
    }
    // Shapes were moved so that the centre of mass is the origin: it was where they went from.
    let shift = |collider: &Collider<G>| before.map(|before| before - collider.local.position);
    let centre = tree.centre.map_or_else(|| body.colliders.first().and_then(shift).unwrap_or_else(G::Lin::zero), |at| lin::<G>(&at));
    Some((body, centre))
}

fn collider<G: SceneSpace>(
    shape: &ShapeTree,
    kind: BodyKind,
    part: &str,
    sink: &mut Sink<'_>,
    folder: Option<&Path>,
) -> Option<Collider<G>> {
    let key = format!("shape.{}", shape.key);
    let fault = |problem: String| Fault::new(shape.span.clone(), part, key.clone(), problem);
    let read = match (&shape.solid, folder) {
        (Solid::MeshFile(file), Some(folder)) => match mesh::load(folder, file) {
            Ok(solid) => Some(solid),
            Err(problem) => {
                sink.push(fault(problem).quoted());
                return None;
            }
        },
        (Solid::MeshFile(_), None) => {
            let fault = fault("a file, and the scene was given as text".to_string()).quoted();
            sink.push(fault.allowed("a scene loaded from a file, or mesh = { points, faces }"));
            return None;
        }
        _ => None,
    };
    let mut solid = read.as_ref().unwrap_or(&shape.solid).clone();
    if let (Solid::Mesh(points, faces), BodyKind::Dynamic) = (&solid, kind) {
        if !is_convex(points, faces) {
            sink.push(
                fault("a mesh that is not convex cannot move".to_string())
                    .allowed("kind = \"static\" or \"kinematic\", or several convex shapes"),
            );
            return None;
        }
        solid = Solid::Convex(points.clone());
    }
    let made = match G::shape(&solid) {
        Ok(made) => made,
        Err(problem) => {
            sink.push(fault(problem).quoted());
            return None;
        }
    };
    let Some(rotation) = G::read_rotation(&shape.rotation) else {
        sink.push(fault("is turned by a quaternion too small for numbers to hold".to_string()));
        return None;
    };
    Some(Collider { shape: made, local: Pose { position: lin::<G>(&shape.at), rotation } })
}

/// Mass properties of all shapes with volume at unit density.
fn solid<G: SceneSpace>(body: &Body<G>) -> Option<MassProperties<G>> {
    let parts = body.colliders.iter().filter_map(|c| G::mass_properties(&c.shape).map(|p| p.placed(&c.local)));
    parts.reduce(|total, part| total.plus(&part))
}

/// Whether the shapes stay where they are when they are centred: their centroid is the origin, or none has volume.
pub fn is_centred<G: SceneSpace>(body: &Body<G>) -> bool {
    solid(body).is_none_or(|total| total.centre.norm() <= CENTRED * reach(body))
}

/// Farthest point of the shapes from the origin \[m\], of those that end.
fn reach<G: SceneSpace>(body: &Body<G>) -> f64 {
    body.colliders.iter().fold(0.0_f64, |m, c| {
        let r = G::reach(&c.shape, c.local.inverse().position);
        if r.is_finite() { m.max(r) } else { m }
    })
}

/// Shifts the shapes until their common centroid is the origin; the mass properties about it at unit density.
fn centre<G: SceneSpace>(body: &mut Body<G>) -> Option<MassProperties<G>> {
    let mut total = solid(body)?;
    for _ in 0..CENTRE_ROUNDS {
        if total.centre.norm() <= CENTRED * reach(body) {
            break;
        }
        for collider in &mut body.colliders {
            collider.local.position -= total.centre;
        }
        total = solid(body)?;
    }
    Some(total)
}

/// Mass and inertia of a dynamic body.
fn weigh<G: SceneSpace>(
    body: &mut Body<G>,
    tree: &BodyTree,
    solid: Option<MassProperties<G>>,
    part: &str,
    sink: &mut Sink<'_>,
) -> Option<()> {
    let mut missing = |key: &str, problem: &str, allowed: &str| {
        sink.push(Fault::new(tree.places.of(key), part, key, problem).allowed(allowed));
    };
    let given = tree.mass;
    match (&solid, given) {
        (Some(solid), None) => body.mass = tree.density.unwrap_or(DEFAULT_DENSITY) * solid.mass,
        (_, Some(mass)) => body.mass = mass,
        (None, None) if tree.density.is_some() => {
            missing("density", "no shape has volume to weigh", "mass, a number > 0 [kg]");
            return None;
        }
        (None, None) => {
            missing("mass", "missing: no shape has volume to weigh", "a number > 0 [kg]");
            return None;
        }
    }
    if tree.centre.is_some() && tree.inertia.is_none() && solid.is_some() {
        missing("centre", "the shapes alone do not say the inertia about it", "together with inertia [kg m^2]");
        return None;
    }
    match (&tree.inertia, &solid) {
        (Some(rows), _) => body.inertia = G::inertia_from_rows(rows),
        (None, Some(solid)) => body.inertia = G::inertia_scale(solid.inertia, body.mass / solid.mass),
        (None, None) if body.locked_rotation => {}
        (None, None) => {
            missing("inertia", "missing: no shape has volume to weigh", "the inertia [kg m^2], or locked = [\"rotation\"]");
            return None;
        }
    }
    if !(body.mass > 0.0 && in_range(&[body.mass]) && in_range(&G::inertia_rows(body.inertia))) {
        missing("shape", "too large or too small to weigh", "lengths and densities whose mass and inertia are positive numbers");
        return None;
    }
    Some(())
}
