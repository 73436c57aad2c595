//! Bodies and joints as a scene tree, the same that a scene file becomes.

use crate::Options;
use crate::assemble::{Assembly, Joint, Line, Point, filter};
use crate::robot::{Filter, FrictionRule, Gear, Geom, Notes, Robot, Servo, Strand, TieKind};
use crate::text::Fault;
use carom_dynamics::constraints::Measures;
use carom_dynamics::{BodyKind, Coefficients, JointKind, Motor, Resistances, Tolerances};
use carom_scene::error::Span;
use carom_scene::tree::{
    At, BodyTree, CombineTree, CouplingTree, JointTree, PairTree, Places, PointTree, SceneTree, ShapeTree, Solid, Triple,
};
use nalgebra::{Isometry3, Vector3};
use std::collections::BTreeSet;

/// Greatest torque \[N m\] or force \[N\] of a spring or damper: more than any machine has, and no overflow in any product.
const UNBOUNDED: f64 = 1e15;
/// Simulated time of a plain run \[s\], as of a scene that does not say.
const DURATION: f64 = 10.0;
/// Most classes of bodies that touch different others: one group each, and a scene has 64.
const MAX_CLASSES: usize = 60;
/// Most pairs that are written because their friction is not the mean.
const MAX_PAIRS: usize = 20_000;
/// The group of everything that is added to the scene later.
const OUTSIDE: &str = "outside";

/// A body with what touches.
struct Side {
    name: String,
    span: Span,
    dynamic: bool,
    filter: Filter,
    friction: f64,
    rough: bool,
}

fn triple(v: &Vector3<f64>) -> Triple {
    [v.x, v.y, v.z]
}

fn quaternion(frame: &Isometry3<f64>) -> [f64; 4] {
    let q = frame.rotation.quaternion();
    [q.w, q.i, q.j, q.k]
}

fn key(solid: &Solid) -> &'static str {
    match solid {
        Solid::Ball(_) => "ball",
        Solid::Box(_) => "box",
        Solid::Capsule(..) => "capsule",
        Solid::Convex(_) => "convex",
        Solid::HalfSpace(_) => "half_space",
        Solid::Segment(_) => "segment",
        Solid::Cylinder(..) => "cylinder",
        Solid::Cone(..) => "cone",
        Solid::MeshFile(_) | Solid::Mesh(..) => "mesh",
        Solid::Heightfield(..) => "heightfield",
    }
}

fn shape(geom: &Geom) -> ShapeTree {
    ShapeTree {
        solid: geom.solid.clone(),
        key: key(&geom.solid),
        at: triple(&geom.frame.translation.vector),
        rotation: quaternion(&geom.frame),
        span: geom.span.clone(),
    }
}

fn places(span: &Span) -> Places {
    Places { whole: span.clone(), keys: Vec::new() }
}

/// What a model says of a surface.
pub fn surface(friction: f64, restitution: f64) -> Coefficients<Option<f64>> {
    Coefficients { friction: Some(friction), restitution: Some(restitution), ..Coefficients::default() }
}

/// A body without anything.
pub fn empty(name: &str, span: &Span) -> BodyTree {
    BodyTree {
        name: Some(At::new(name.to_string(), span.clone())),
        kind: BodyKind::Dynamic,
        shapes: Vec::new(),
        mass: None,
        density: None,
        inertia: None,
        centre: None,
        position: [0.0; 3],
        by_frame: false,
        rotation: [1.0, 0.0, 0.0, 0.0],
        velocity: [0.0; 3],
        spin: [0.0; 3],
        material: None,
        surface: Coefficients::default(),
        combine: CombineTree::default(),
        group: None,
        mask: None,
        resistances: Resistances::default(),
        locked: [false; 3],
        locked_rotation: false,
        color: None,
        places: places(span),
    }
}

/// A name that no other body has.
fn unique(wanted: &str, taken: &mut BTreeSet<String>) -> String {
    let reserved = ["world", "self", "next", "across"];
    let mut name = wanted.to_string();
    let mut count = 1;
    while reserved.contains(&name.as_str()) || !taken.insert(name.clone()) {
        count += 1;
        name = format!("{wanted}_{count}");
    }
    name
}

/// The scene tree of a model.
pub fn emit(robot: &Robot, assembly: &Assembly, options: &Options, notes: &mut Notes) -> Result<SceneTree, Fault> {
    let mut taken = BTreeSet::new();
    let (mut bodies, mut sides) = (Vec::new(), Vec::new());
    // Links keep their names; what is fixed to the world takes what is left.
    let names: Vec<String> = assembly.bodies.iter().map(|body| unique(&body.name, &mut taken)).collect();
    for geom in &robot.fixtures {
        let touches = geom.filter != Filter::NONE;
        let fallback = format!("fixture{}", bodies.len());
        let name = unique(geom.name.as_deref().unwrap_or(&fallback), &mut taken);
        let mut body = empty(&name, &geom.span);
        body.kind = BodyKind::Static;
        body.shapes = vec![ShapeTree { at: [0.0; 3], rotation: [1.0, 0.0, 0.0, 0.0], ..shape(geom) }];
        body.centre = Some([0.0; 3]);
        body.position = triple(&geom.frame.translation.vector);
        body.rotation = quaternion(&geom.frame);
        (body.surface, body.color) = (surface(geom.friction, geom.restitution), geom.color);
        sides.push(Side {
            name,
            span: geom.span.clone(),
            dynamic: false,
            filter: if touches { geom.filter } else { Filter::NONE },
            friction: geom.friction,
            rough: geom.rough,
        });
        bodies.push(body);
    }
    for (source, name) in assembly.bodies.iter().zip(&names) {
        let (own, mixed) = filter(&source.geoms);
        if mixed {
            let problem =
                "its shapes meet different others, and filters are those of whole bodies here: all of them meet what any of them does";
            notes.add(Fault::new(source.span.clone(), format!("body \"{}\"", source.name), "contype", problem));
        }
        // Shapes that touch nothing are kept for looks where nothing else is.
        let touching = |g: &&Geom| own == Filter::NONE || g.filter != Filter::NONE;
        let geoms: Vec<&Geom> = source.geoms.iter().filter(touching).collect();
        let mut body = empty(name, &source.span);
        body.shapes = geoms.iter().map(|g| shape(g)).collect();
        let turn = source.frame.rotation.to_rotation_matrix();
        let turn = turn.matrix();
        let inertia = turn.transpose() * source.mass.inertia * turn;
        let inertia = (inertia + inertia.transpose()) * 0.5;
        body.mass = Some(source.mass.mass);
        body.inertia = Some(inertia.transpose().iter().copied().collect());
        body.centre = (!body.shapes.is_empty()).then(|| triple(&source.frame.inverse_transform_point(&source.mass.centre.into()).coords));
        body.position = triple(&source.mass.centre);
        body.rotation = quaternion(&source.frame);
        body.resistances.damping = source.damping;
        if let Some(axes) = source.locked {
            (body.locked, body.locked_rotation) = (axes, true);
        }
        body.color = geoms.iter().find_map(|g| g.color);
        let friction = geoms.iter().map(|g| g.friction).fold(0.0, f64::max);
        if geoms.iter().any(|g| g.friction != friction) {
            let problem = "its shapes have different coefficients, and friction is that of whole bodies here: the greatest is taken";
            notes.add(Fault::new(source.span.clone(), format!("body \"{}\"", source.name), "friction", problem));
        }
        if !geoms.is_empty() {
            body.surface = surface(friction, geoms.iter().map(|g| g.restitution).fold(0.0, f64::max));
        }
        let rough = geoms.iter().any(|g| g.rough);
        sides.push(Side { name: name.clone(), span: source.span.clone(), dynamic: true, filter: own, friction, rough });
        bodies.push(body);
    }
    filters(&mut bodies, &sides, options, robot)?;
    let first = robot.fixtures.len();
    let joints = assembly.joints.iter().map(|j| joint_tree(j, &names)).chain(assembly.ties.iter().map(|tie| line(tie, &names))).collect();
    let joints = named(joints);
    let joints_there: BTreeSet<String> = joints.iter().filter_map(|joint| joint.name.as_ref().map(|name| name.value.clone())).collect();
    let pairs = pairs(robot, assembly, &sides, first, notes);
    Ok(SceneTree {
        dimension: 3,
        name: Some(robot.name.clone()),
        description: String::new(),
        gravity: robot.gravity.as_ref().map(triple),
        step: robot.step,
        duration: DURATION,
        options: carom_dynamics::options::Options::default(),
        combine: CombineTree::default(),
        tolerances: Tolerances::default(),
        materials: Vec::new(),
        bodies,
        joints,
        pairs,
        forces: Vec::new(),
        points: assembly.points.iter().map(|point| point_tree(point, assembly, &names)).collect(),
        repeats: Vec::new(),
        includes: Vec::new(),
        couplings: robot
            .gears
            .iter()
            .filter_map(|gear| coupling(gear, robot, &joints_there))
            .chain(robot.strands.iter().filter_map(|strand| tendon(strand, robot, &joints_there)))
            .collect(),
        places: places(&robot.span),
    })
}

/// A named point, seen from the centre of mass of its body.
fn point_tree(point: &Point, assembly: &Assembly, names: &[String]) -> PointTree {
    let body = point.body.map(|body| (&assembly.bodies[body], &names[body]));
    let frame = body.map_or(point.frame, |(body, _)| {
        let centre = Isometry3::from_parts(body.mass.centre.into(), body.frame.rotation);
        centre.inverse() * point.frame
    });
    PointTree {
        name: At::new(point.name.clone(), point.span.clone()),
        body: At::new(body.map_or_else(|| "world".to_string(), |(_, name)| name.clone()), point.span.clone()),
        at: triple(&frame.translation.vector),
        rotation: quaternion(&frame),
    }
}

/// Groups and masks: bodies of one filter are a group; a body's mask names the groups it meets.
fn filters(bodies: &mut [BodyTree], sides: &[Side], options: &Options, robot: &Robot) -> Result<(), Fault> {
    let classes: BTreeSet<Filter> = sides.iter().map(|s| s.filter).filter(|f| *f != Filter::NONE).collect();
    if classes.len() > MAX_CLASSES {
        let problem = format!("{} different combinations of contype and conaffinity", classes.len());
        return Err(Fault::new(robot.span.clone(), "model", "contype", problem).allowed(format!("at most {MAX_CLASSES}")));
    }
    let group = |f: &Filter| format!("contact {} {}", f.kind, f.affinity);
    for (body, side) in bodies.iter_mut().zip(sides) {
        let names = |list: Vec<String>| Some(list.into_iter().map(|name| At::new(name, side.span.clone())).collect::<Vec<_>>());
        if side.filter == Filter::NONE || !options.contacts {
            body.mask = names(Vec::new());
        } else if classes.iter().any(|f| *f != Filter::ALL) {
            body.group = names(vec![group(&side.filter)]);
            let others = classes.iter().filter(|f| f.meets(side.filter)).map(group);
            body.mask = names(others.chain(side.filter.meets(Filter::ALL).then(|| OUTSIDE.to_string())).collect());
        }
    }
    Ok(())
}

/// A joint with everything that acts on its coordinate.
fn joint_tree(joint: &Joint, names: &[String]) -> JointTree {
    let name = |body: Option<usize>| body.map_or_else(|| "world".to_string(), |b| names[b].clone());
    let servo = joint.servo.map(|Servo { aim, stiffness, damping, max, control }| Motor::Servo {
        aim,
        target: 0.0,
        stiffness,
        damping,
        max,
        control,
    });
    let motor = servo.or(match (joint.control, joint.spring) {
        (Some(max), Some([position, stiffness, damping])) => Some(Motor::Sprung { position, stiffness, damping, max }),
        (Some(max), None) => Some(Motor::Control { max }),
        (None, Some([position, stiffness, damping])) => Some(Motor::Position { position, stiffness, damping, max: UNBOUNDED }),
        (None, None) => None,
    });
    let axial = matches!(joint.kind, JointKind::Hinge | JointKind::Slider | JointKind::Planar | JointKind::Cylindrical);
    JointTree {
        name: Some(At::new(joint.name.clone(), joint.span.clone())),
        kind: joint.kind,
        between: joint.between.map(|b| At::new(name(b), joint.span.clone())),
        anchor: Some(triple(&joint.anchor)),
        anchors: None,
        axis: axial.then(|| triple(&joint.axis)),
        axes: None,
        measures: Measures::default(),
        limits: joint.limits,
        motor,
        friction: joint.friction,
        armature: joint.armature,
        collide: joint.collide,
        places: places(&joint.span),
    }
}

/// A spring or a rope.
fn line(tie: &Line, names: &[String]) -> JointTree {
    let name = |body: Option<usize>| body.map_or_else(|| "world".to_string(), |b| names[b].clone());
    let mut measures = Measures::default();
    let kind = match tie.kind {
        TieKind::Spring { rest, stiffness, damping } => {
            (measures.rest, measures.stiffness, measures.damping) = (Some(rest), Some(stiffness), Some(damping));
            JointKind::Spring
        }
        TieKind::Rope { length } => {
            measures.length = Some(length);
            JointKind::Rope
        }
    };
    JointTree {
        name: Some(At::new(tie.name.clone(), tie.span.clone())),
        kind,
        between: tie.between.map(|b| At::new(name(b), tie.span.clone())),
        anchor: None,
        anchors: Some(tie.anchors.map(|p| triple(&p))),
        axis: None,
        axes: None,
        measures,
        limits: None,
        motor: None,
        friction: 0.0,
        armature: 0.0,
        collide: true,
        places: places(&tie.span),
    }
}

/// A joint that follows another, in the coordinates of the scene, which are 0 at the start; `None` where one of them is gone.
fn coupling(gear: &Gear, robot: &Robot, there: &BTreeSet<String>) -> Option<CouplingTree> {
    let start = |name: &String| start_of(name, robot, there);
    let [follows, leads] = [start(&gear.joints[0])?, start(&gear.joints[1])?];
    let terms = gear.joints.iter().cloned().map(|name| At::new(name, gear.span.clone())).zip([1.0, -gear.ratio]).collect();
    let offset = gear.offset - (follows - gear.ratio * leads);
    let name = Some(At::new(gear.name.clone(), gear.span.clone()));
    Some(CouplingTree { name, terms, offset, tendon: None, places: places(&gear.span) })
}

/// The coordinate from the pose as written at which a joint of the scene starts.
fn start_of(name: &String, robot: &Robot, there: &BTreeSet<String>) -> Option<f64> {
    let mut joints = robot.links.iter().flat_map(|link| &link.joints);
    joints.find(|joint| joint.name == *name).filter(|_| there.contains(name)).map(crate::robot::Axis::scalar)
}

/// A tendon over several joints, likewise.
fn tendon(strand: &Strand, robot: &Robot, there: &BTreeSet<String>) -> Option<CouplingTree> {
    let mut start = 0.0;
    for (name, coefficient) in &strand.terms {
        start += coefficient * start_of(name, robot, there)?;
    }
    let terms = strand.terms.iter().map(|(name, coefficient)| (At::new(name.clone(), strand.span.clone()), *coefficient)).collect();
    let limits = strand.tendon.limits.map(|limits| limits.map(|x| x - start));
    Some(CouplingTree {
        name: Some(At::new(strand.name.clone(), strand.span.clone())),
        terms,
        offset: strand.rest - start,
        tendon: Some(carom_dynamics::Tendon { limits, ..strand.tendon }),
        places: places(&strand.span),
    })
}

/// No two joints of one name.
fn named(mut joints: Vec<JointTree>) -> Vec<JointTree> {
    let mut taken = BTreeSet::new();
    for joint in &mut joints {
        if let Some(name) = &mut joint.name {
            name.value = unique(&name.value, &mut taken);
        }
    }
    joints
}

/// Pairs that do not touch, and pairs whose friction is not the mean.
fn pairs(robot: &Robot, assembly: &Assembly, sides: &[Side], first: usize, notes: &mut Notes) -> Vec<PairTree> {
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    let at = |i: usize, span: &Span| At::new(sides[i].name.clone(), span.clone());
    let pair = |a: usize, b: usize, span: &Span| PairTree {
        between: [at(a, span), at(b, span)],
        coefficients: Coefficients::default(),
        impact: None,
        collide: None,
        places: places(span),
    };
    for ([a, b], span) in &assembly.apart {
        let (a, b) = (first + *a.min(b), first + *a.max(b));
        if seen.insert([a, b]) {
            out.push(PairTree { collide: Some(false), ..pair(a, b, span) });
        }
    }
    if robot.friction == FrictionRule::Mean {
        return out;
    }
    let (all, moving): (Vec<usize>, Vec<usize>) = ((0..sides.len()).collect(), (0..sides.len()).filter(|&i| sides[i].dynamic).collect());
    for b in 0..sides.len() {
        let others = if sides[b].dynamic { &all } else { &moving };
        for &a in others.iter().take_while(|a| **a < b) {
            let (x, y) = (&sides[a], &sides[b]);
            if !x.filter.meets(y.filter) || seen.contains(&[a, b]) {
                continue;
            }
            let friction = if x.rough || y.rough { x.friction.max(y.friction) } else { 0.0 };
            if friction == 0.5 * (x.friction + y.friction) {
                continue;
            }
            if out.len() >= MAX_PAIRS {
                let problem = format!("more than {MAX_PAIRS} pairs whose friction is not the mean of the two: the rest takes the mean");
                notes.add(Fault::new(robot.span.clone(), "model", "friction", problem));
                return out;
            }
            let coefficients = Coefficients { friction: Some(friction), ..Coefficients::default() };
            out.push(PairTree { coefficients, ..pair(a, b, &y.span) });
        }
    }
    out
}
