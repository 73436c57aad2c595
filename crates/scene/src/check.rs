//! Tree to model and state: names resolved, masses weighed, shapes centred, joints built; every fault at its place.

mod body;

use crate::error::{Fault, Sink, Span};
use crate::read::MAX_NUMBER;
use crate::repeat::{End, Expanded, Link, expand};
use crate::solid::SceneSpace;
use crate::tree::{At, PairTree, SceneTree, Triple};
use crate::{NamedPoint, Scene, SceneOf};
pub use body::PALETTE;
pub(crate) use body::is_centred;
use body::{bodies, groups, names};
use carom_dynamics::{BodyKind, Coefficients, Coupling, Force, Joint, JointSpec, Model, PairRule, State};
use carom_math::{Planar, Pose, Space, Spatial, Vector};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Coefficients of a body that names no material.
pub(crate) fn default_surface() -> Coefficients {
    Coefficients { friction: 0.5, ..Coefficients::default() }
}

/// The coefficients that are given, and the others as they were before.
pub(crate) fn over(given: Coefficients<Option<f64>>, mut before: Coefficients) -> Coefficients {
    before.list_mut().into_iter().zip(given.list()).for_each(|(value, given)| *value = given.unwrap_or(*value));
    before
}

/// Builds the scene of a tree; `None` with faults in the sink. `folder` is where mesh files are; without it they are refused.
pub(crate) fn check(tree: &SceneTree, sink: &mut Sink<'_>, folder: Option<&Path>, fallback_name: &str) -> Option<Scene> {
    match tree.dimension {
        2 => scene::<Planar>(tree, sink, folder, fallback_name).map(Planar::wrap),
        _ => scene::<Spatial>(tree, sink, folder, fallback_name).map(Spatial::wrap),
    }
}

fn lin<S: Space>(v: &Triple) -> S::Lin {
    S::Lin::from_slice(v)
}

/// Whether derived numbers lie within the range of given ones, so that the scene can be written and read back.
fn in_range(x: &[f64]) -> bool {
    x.iter().all(|x| x.abs() <= MAX_NUMBER)
}

/// The same of a space.
pub(crate) fn scene<G: SceneSpace>(
    tree: &SceneTree,
    sink: &mut Sink<'_>,
    folder: Option<&Path>,
    fallback_name: &str,
) -> Option<SceneOf<G>> {
    let expanded = expand(tree, sink)?;
    let name = tree.name.clone().unwrap_or_else(|| fallback_name.to_string());
    let mut model = Model::<G>::new(name.clone());
    let mut state = State::empty();
    model.gravity = tree.gravity.map_or(model.gravity, |g| lin::<G>(&g));
    model.step = tree.step.unwrap_or(model.step);
    model.options = tree.options;
    model.tolerances = tree.tolerances;

    let groups = groups(&expanded, sink)?;
    let index = names(&expanded, sink);
    bodies(tree, &expanded, &groups, sink, folder, &mut model, &mut state);
    if !sink.is_clean() {
        return None;
    }
    let joints = joints(&expanded, &index, sink, &mut model, &state);
    couplings(tree, sink, &mut model);
    pairs(tree, &index, sink, &mut model);
    forces(tree, &index, sink, &mut model);
    if sink.is_clean()
        && let Err(error) = model.check(&state)
    {
        let body = expanded.bodies.iter().find(|b| error.part == format!("body \"{}\"", b.name));
        let coupling = tree.couplings.iter().zip(&model.couplings).find(|(_, c)| error.part == format!("joint \"{}\"", c.name));
        let whole = || coupling.map_or_else(|| tree.places.of(&error.key), |(c, _)| c.places.of(&error.key));
        let span = body.map_or_else(whole, |b| b.tree.places.of(&error.key));
        sink.push(Fault::new(span, error.part, error.key, error.message));
    }
    let points = points(tree, &index, sink);
    sink.is_clean().then(|| SceneOf {
        model,
        state,
        duration: tree.duration,
        name,
        description: tree.description.clone(),
        joints,
        groups,
        points,
    })
}

/// Index of a named body; `None` with a fault when there is none.
fn find(index: &BTreeMap<String, usize>, name: &At<String>, part: &str, key: &str, sink: &mut Sink<'_>) -> Option<usize> {
    let found = index.get(&name.value).copied();
    if found.is_none() {
        let fault = Fault::new(name.span.clone(), part, key, "unknown body").quoted();
        let world = (key == "between" && part.starts_with("joint")).then_some("world");
        sink.push(fault.words(&name.value, world.into_iter().chain(index.keys().map(String::as_str))));
    }
    found
}

fn joints<G: SceneSpace>(
    expanded: &Expanded<'_>,
    index: &BTreeMap<String, usize>,
    sink: &mut Sink<'_>,
    model: &mut Model<G>,
    state: &State<G>,
) -> Vec<JointSpec<G>> {
    let mut specs = Vec::with_capacity(expanded.joints.len());
    let mut seen = BTreeSet::new();
    for link in &expanded.joints {
        let part = format!("joint \"{}\"", link.name);
        if !seen.insert(link.name.as_str()) {
            let fault = Fault::new(link.tree.places.of("name"), part, "name", "another joint has this name");
            sink.push(fault.allowed("a name of its own"));
            continue;
        }
        let Some(bodies) = ends(link, index, &part, sink) else { continue };
        if bodies[0] == bodies[1] {
            let fault = Fault::new(link.tree.places.of("between"), part, "between", "joins a body to itself");
            sink.push(fault.allowed("two different bodies, or one and \"world\""));
            continue;
        }
        let moves = |b: &Option<usize>| b.is_some_and(|b| model.bodies[b].kind == BodyKind::Dynamic);
        if !bodies.iter().any(moves) {
            let fault = Fault::new(link.tree.places.of("between"), part, "between", "neither end answers to forces");
            sink.push(fault.quoted().allowed("at least one dynamic body"));
            continue;
        }
        let spec = spec::<G>(link, bodies);
        let points = spec.anchor.iter().chain(spec.anchors.iter().flatten());
        if !points.into_iter().all(|p| in_range(p.as_slice())) {
            sink.push(Fault::new(link.tree.places.whole.clone(), part, "anchor", "too far away"));
            continue;
        }
        let pose = |b: Option<usize>| b.map_or_else(Pose::identity, |b| state.poses[b]);
        match Joint::new(spec.clone(), &pose(bodies[0]), &pose(bodies[1])) {
            Ok(joint) => {
                model.joints.push(joint);
                specs.push(spec);
            }
            Err(error) => sink.push(Fault::new(link.tree.places.of(&error.key), part, error.key, error.message)),
        }
    }
    specs
}

/// Couplings, whose joints are found by name.
fn couplings<G: SceneSpace>(tree: &SceneTree, sink: &mut Sink<'_>, model: &mut Model<G>) {
    for (i, coupling) in tree.couplings.iter().enumerate() {
        let name = coupling.name.as_ref().map_or_else(|| format!("coupling{i}"), |name| name.value.clone());
        let part = format!("joint \"{name}\"");
        if model.joints.iter().map(|j| &j.name).chain(model.couplings.iter().map(|c| &c.name)).any(|other| *other == name) {
            sink.push(Fault::new(coupling.places.of("name"), part, "name", "another joint has this name").allowed("a name of its own"));
            continue;
        }
        let mut terms = Vec::new();
        for (joint, coefficient) in &coupling.terms {
            // The first, and only, coordinate of a joint may be named by its number.
            let plain = joint.value.strip_suffix(".0").unwrap_or(&joint.value);
            let found =
                model.joints.iter().position(|j| j.name == joint.value).or_else(|| model.joints.iter().position(|j| j.name == plain));
            match found {
                Some(found) => terms.push((found, *coefficient)),
                None => {
                    let names: Vec<&str> = model.joints.iter().filter(|j| j.has_coordinate()).map(|j| j.name.as_str()).collect();
                    let fault = Fault::new(joint.span.clone(), part.clone(), "joints", "unknown joint").quoted();
                    sink.push(fault.words(&joint.value, names.iter().copied()));
                }
            }
        }
        // A table has no order of its own.
        terms.sort_by_key(|(joint, _)| *joint);
        model.couplings.push(Coupling { name, terms, offset: coupling.offset, tendon: coupling.tendon });
    }
}

fn ends(link: &Link<'_>, index: &BTreeMap<String, usize>, part: &str, sink: &mut Sink<'_>) -> Option<[Option<usize>; 2]> {
    let mut out = [None; 2];
    for (slot, end) in out.iter_mut().zip(&link.ends) {
        *slot = match end {
            End::Index(i) => Some(*i),
            End::Name(name) if name.value == "world" => None,
            End::Name(name) => Some(find(index, name, part, "between", sink)?),
        };
    }
    Some(out)
}

fn spec<G: SceneSpace>(link: &Link<'_>, bodies: [Option<usize>; 2]) -> JointSpec<G> {
    let tree = link.tree;
    let moved = |p: &Triple| lin::<G>(&link.placing.point(*p));
    let turned = |p: &Triple| lin::<G>(&link.placing.direction(*p));
    JointSpec {
        name: link.name.clone(),
        bodies,
        kind: tree.kind,
        anchor: tree.anchor.as_ref().map(moved),
        anchors: tree.anchors.as_ref().map(|[a, b]| [moved(a), moved(b)]),
        axis: tree.axis.as_ref().map(turned),
        axes: tree.axes.as_ref().map(|[a, b]| [turned(a), turned(b)]),
        measures: tree.measures,
        limits: tree.limits,
        motor: tree.motor,
        friction: tree.friction,
        armature: tree.armature,
        collide: tree.collide,
    }
}

fn points<G: SceneSpace>(tree: &SceneTree, index: &BTreeMap<String, usize>, sink: &mut Sink<'_>) -> Vec<NamedPoint<G>> {
    let (mut seen, mut out) = (BTreeSet::new(), Vec::new());
    for point in &tree.points {
        let part = format!("point \"{}\"", point.name.value);
        if !seen.insert(point.name.value.as_str()) {
            let fault = Fault::new(point.name.span.clone(), part, "name", "another [[point]] has this name").quoted();
            sink.push(fault.allowed("a name of its own"));
        } else if point.body.value != "world" && !index.contains_key(&point.body.value) {
            let fault = Fault::new(point.body.span.clone(), part, "body", "unknown body").quoted();
            sink.push(fault.words(&point.body.value, std::iter::once("world").chain(index.keys().map(String::as_str))));
        } else if let Some(rotation) = G::read_rotation(&point.rotation) {
            let (name, body) = (point.name.value.clone(), point.body.value.clone());
            out.push(NamedPoint { name, body, at: lin::<G>(&point.at), rotation });
        }
    }
    out
}

fn pairs<G: SceneSpace>(tree: &SceneTree, index: &BTreeMap<String, usize>, sink: &mut Sink<'_>, model: &mut Model<G>) {
    let mut seen = BTreeSet::new();
    for (i, pair) in tree.pairs.iter().enumerate() {
        let part = format!("pair {i}");
        let [a, b] = [0, 1].map(|k| find(index, &pair.between[k], &part, "between", sink));
        let (Some(a), Some(b)) = (a, b) else { continue };
        let span: Span = pair.places.of("between");
        if a == b {
            sink.push(Fault::new(span, part, "between", "pairs a body with itself").allowed("two different bodies"));
        } else if !seen.insert([a.min(b), a.max(b)]) {
            sink.push(Fault::new(span, part, "between", "another [[pair]] has the same bodies").allowed("one rule for a pair"));
        } else {
            let PairTree { coefficients, impact, collide, .. } = *pair;
            model.pairs.push(PairRule { bodies: [a, b], coefficients, impact, collide });
        }
    }
}

fn forces<G: SceneSpace>(tree: &SceneTree, index: &BTreeMap<String, usize>, sink: &mut Sink<'_>, model: &mut Model<G>) {
    for (i, force) in tree.forces.iter().enumerate() {
        let part = format!("force {i}");
        let Some(body) = find(index, &force.body, &part, "body", sink) else { continue };
        if model.bodies[body].kind != BodyKind::Dynamic {
            let fault = Fault::new(force.body.span.clone(), part, "body", "a force moves only dynamic bodies").quoted();
            sink.push(fault.allowed("a body with kind = \"dynamic\""));
            continue;
        }
        model.forces.push(Force {
            body,
            force: lin::<G>(&force.force),
            torque: G::Ang::from_slice(&force.torque),
            at: lin::<G>(&force.at),
            from: force.from,
            until: force.until,
            control: force.control,
        });
    }
}
