//! A scene put into a world that runs: its bodies stand beside those of the world, its joints, pairs and forces may name bodies of either.

use crate::check;
use crate::error::{Fault, SceneErrors, Sink};
use crate::include::{self, Files, Models};
use crate::solid::SceneSpace;
use crate::tree::{At, BodyTree};
use crate::write::{numbers, parts_from, quoted};
use crate::{NamedPoint, SceneOf, parse};
use carom_dynamics::{Addition, World};
use std::fmt::Write;
use std::path::Path;

/// What a scene adds to a world.
#[derive(Clone, Debug, PartialEq)]
pub struct Added<G: SceneSpace> {
    /// For [`World::add`].
    pub addition: Addition<G>,
    /// Names of all groups from then on.
    pub groups: Vec<String>,
    /// Named points that come.
    pub points: Vec<NamedPoint<G>>,
    /// The same as a text without files, which adds the same bits to the same world.
    pub text: String,
}

/// What a scene text adds to a world. Anchors and axes of its joints are world coordinates at
/// the present poses; gravity, step and choices of the text are left behind. `groups` names those of the world; `folder` is where files are found, without
/// it they are refused.
///
/// # Errors
/// Every fault of the text in order: a name that the world has already is one.
pub fn addition<G: SceneSpace>(
    world: &World<G>,
    groups: &[String],
    text: &str,
    name: &str,
    folder: Option<&Path>,
    models: &mut dyn Models,
) -> Result<Added<G>, SceneErrors> {
    let mut sink = Sink::new(name, text);
    let scene = combined(world, groups, text, &mut sink, folder, models);
    match (scene, sink.into_errors()) {
        (_, Some(errors)) => Err(errors),
        (None, None) => Err(Sink::fallback(name)),
        (Some(scene), None) => {
            let count = world.model().bodies.len();
            let text = format!("dimension = {}\n{}", G::DIM, parts_from(&scene, count));
            let filters = scene.model.bodies[..count].iter().map(|body| (body.group, body.mask)).collect();
            let added = scene.model.bodies.into_iter().zip(scene.state.poses).zip(scene.state.twists).skip(count);
            let bodies = added.map(|((body, pose), twist)| (body, pose, twist)).collect();
            let (joints, pairs, forces) = (scene.model.joints, scene.model.pairs, scene.model.forces);
            // Its couplings count its joints behind those of the world.
            let (known, mut couplings) = (world.model().joints.len(), scene.model.couplings);
            couplings.iter_mut().flat_map(|coupling| &mut coupling.terms).for_each(|(joint, _)| *joint += known);
            let addition = Addition { bodies, joints, couplings, pairs, forces, filters };
            Ok(Added { addition, groups: scene.groups, points: scene.points, text })
        }
    }
}

/// The bodies of the world, as much of them as joints and filters see, and the scene behind them.
fn combined<'t, G: SceneSpace>(
    world: &World<G>,
    groups: &[String],
    text: &'t str,
    sink: &mut Sink<'t>,
    folder: Option<&Path>,
    models: &mut dyn Models,
) -> Option<SceneOf<G>> {
    let tree = parse::parse_into(sink, text).filter(|_| sink.is_clean())?;
    if tree.dimension != G::DIM {
        sink.push(
            Fault::new(tree.places.of("dimension"), "scene", "dimension", "the world has another one").quoted().allowed(G::DIM.to_string()),
        );
        return None;
    }
    let mut tree = include::splice(tree, sink, folder, &mut Files::new(models, None))?;
    let joints = &world.model().joints;
    for (i, joint) in tree.joints.iter_mut().enumerate() {
        let unnamed = || At::new(format!("joint{}", joints.len() + i), joint.places.whole.clone());
        let name = joint.name.get_or_insert_with(unnamed);
        if joints.iter().any(|other| other.name == name.value) {
            let fault = Fault::new(name.span.clone(), format!("joint \"{}\"", name.value), "name", "a joint of the world has this name");
            sink.push(fault.allowed("a name of its own"));
        }
    }
    let couplings = &world.model().couplings;
    for (i, coupling) in tree.couplings.iter_mut().enumerate() {
        let unnamed = || At::new(format!("coupling{}", couplings.len() + i), coupling.places.whole.clone());
        let name = coupling.name.get_or_insert_with(unnamed);
        if joints.iter().map(|j| &j.name).chain(couplings.iter().map(|c| &c.name)).any(|other| *other == name.value) {
            let fault = Fault::new(name.span.clone(), format!("joint \"{}\"", name.value), "name", "a joint of the world has this name");
            sink.push(fault.allowed("a name of its own"));
        }
    }
    tree.bodies = standing(world, groups)?.into_iter().chain(std::mem::take(&mut tree.bodies)).collect();
    check::scene(&tree, sink, folder, "scene")
}

/// The bodies of a world without shapes, where they are.
fn standing<G: SceneSpace>(world: &World<G>, groups: &[String]) -> Option<Vec<BodyTree>> {
    let mut text = format!("dimension = {}\n", G::DIM);
    let mut coords = [0.0; 7];
    for (i, body) in world.model().bodies.iter().enumerate() {
        world.state().write_pose(i, &mut coords);
        let (position, rotation) = coords[..G::COORDS].split_at(G::DIM);
        let kind = body.kind.name();
        let (inertia, turn) = if G::DIM == 2 {
            ("1.0".to_string(), format!("angle = {:?}", rotation[0]))
        } else {
            ("[1.0, 1.0, 1.0]".to_string(), format!("rotation = {}", numbers(rotation)))
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "[[body]]\nname = {}\nkind = \"{kind}\"\nmass = 1.0\ninertia = {inertia}\n", quoted(&body.name));
        let _ = write!(text, "position = {}\n{turn}\n", numbers(position));
        for (key, bits) in [("group", body.group), ("mask", body.mask)] {
            if bits != u64::MAX {
                let names = groups.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, name)| quoted(name));
                let _ = writeln!(text, "{key} = [{}]", names.collect::<Vec<_>>().join(", "));
            }
        }
    }
    let mut faults = Sink::new("world", &text);
    let mut bodies = parse::parse_into(&mut faults, &text)?.bodies;
    // Their places are none of the text that is added.
    bodies.iter_mut().for_each(|body| (body.places.whole, body.places.keys) = (0..0, Vec::new()));
    (bodies.len() == world.model().bodies.len()).then_some(bodies)
}
