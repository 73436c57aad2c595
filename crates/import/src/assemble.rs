//! Links to bodies and joints of the engine, at the start pose, in world coordinates.

use crate::chain::{self, Plan};
use crate::mass::Mass;
use crate::robot::{Axis, Filter, Freedom, Geom, Notes, Robot, Servo, TieKind};
use crate::split::{self, Hold};
use crate::text::Fault;
use crate::tree::{self, Fate};
use carom_dynamics::JointKind;
use carom_scene::error::Span;
use nalgebra::{Isometry3, Vector3};
use std::f64::consts::{PI, TAU};

/// A body of the engine.
#[derive(Debug)]
pub struct Body {
    /// Name.
    pub name: String,
    /// Place of its element.
    pub span: Span,
    /// World frame.
    pub frame: Isometry3<f64>,
    /// Mass in world coordinates.
    pub mass: Mass,
    /// Shapes in the body's frame.
    pub geoms: Vec<Geom>,
    /// World axes held, and the turn.
    pub locked: Option<[bool; 3]>,
    /// Linear damping [1/s].
    pub damping: f64,
}

/// A joint of the engine.
#[derive(Debug)]
pub struct Joint {
    /// Name.
    pub name: String,
    /// Place of its element.
    pub span: Span,
    /// Kind.
    pub kind: JointKind,
    /// Bodies, the child first; `None` is the world.
    pub between: [Option<usize>; 2],
    /// World anchor \[m\].
    pub anchor: Vector3<f64>,
    /// World axis; unused by a ball or weld.
    pub axis: Vector3<f64>,
    /// Least and greatest coordinate from the start.
    pub limits: Option<[f64; 2]>,
    /// Dry friction \[N m or N\].
    pub friction: f64,
    /// Inertia of its rotor [kg m^2 or kg].
    pub armature: f64,
    /// Control of at most so much.
    pub control: Option<f64>,
    /// Follows a target.
    pub servo: Option<Servo>,
    /// Spring and damper: rest coordinate from the start, stiffness, damping.
    pub spring: Option<[f64; 3]>,
    /// Whether the bodies may touch.
    pub collide: bool,
}

/// A spring or rope of the engine.
#[derive(Debug)]
pub struct Line {
    /// Name.
    pub name: String,
    /// Place of its element.
    pub span: Span,
    /// Bodies; `None` is the world.
    pub between: [Option<usize>; 2],
    /// World points \[m\].
    pub anchors: [Vector3<f64>; 2],
    /// What it is.
    pub kind: TieKind,
}

/// A named point of a body.
#[derive(Debug)]
pub struct Point {
    /// Name.
    pub name: String,
    /// Place of its element.
    pub span: Span,
    /// The body; `None` is the world.
    pub body: Option<usize>,
    /// World frame.
    pub frame: Isometry3<f64>,
}

/// What a scene is made of.
#[derive(Debug, Default)]
pub struct Assembly {
    /// Bodies, parents first.
    pub bodies: Vec<Body>,
    /// Joints in order.
    pub joints: Vec<Joint>,
    /// Springs and ropes in order.
    pub ties: Vec<Line>,
    /// Named points.
    pub points: Vec<Point>,
    /// Pairs of bodies that do not touch.
    pub apart: Vec<([usize; 2], Span)>,
}

/// Builds bodies and joints; `fate` says where the links of the file have gone.
pub fn assemble(robot: &Robot, fate: &Fate, notes: &mut Notes) -> Result<Assembly, Fault> {
    let mut out = Assembly::default();
    // The body and the frame of every link.
    let mut at: Vec<(usize, Isometry3<f64>)> = Vec::with_capacity(robot.links.len());
    let mut splits: Vec<(usize, Vec<Hold>, Option<usize>)> = Vec::new();
    for link in &robot.links {
        let parent = link.parent.and_then(|p| at.get(p).copied());
        let parent_frame = parent.map_or_else(Isometry3::identity, |(_, frame)| frame);
        let placed = chain::place(link, &parent_frame);
        let plan = chain::plan(link, &placed)?;
        let frame = placed.frames.last().copied().unwrap_or(parent_frame * link.place);
        let mass = link.mass.moved(&frame);
        if !mass.is_solid() {
            let problem = format!(
                "moves, and its inertia is not positive: principal moments from {:e} to {:e} kg m^2",
                mass.moments()[0],
                mass.moments()[1]
            );
            return Err(
                Fault::new(link.span.clone(), format!("body \"{}\"", link.name), "inertia", problem).allowed("a positive definite inertia")
            );
        }
        let parent = parent.map(|(body, _)| body);
        let mut body =
            Body { name: link.name.clone(), span: link.span.clone(), frame, mass, geoms: link.geoms.clone(), locked: None, damping: 0.0 };
        let name = chain::joined_name(&link.joints);
        let first = link.joints.first();
        let span = first.map_or_else(|| link.span.clone(), |j| j.span.clone());
        let whole = |kind: JointKind, index: usize, child: usize| Joint {
            name: name.clone(),
            span: span.clone(),
            kind,
            between: [Some(child), parent],
            anchor: placed.anchors[index],
            axis: placed.axes[index],
            limits: None,
            friction: 0.0,
            armature: 0.0,
            control: None,
            servo: None,
            spring: None,
            collide: false,
        };
        match plan {
            Plan::Free => lost(&link.joints, "a joint that holds nothing", notes),
            Plan::Locked(axes) => {
                body.locked = Some(axes);
                lost(&link.joints, "a body with locked axes", notes);
            }
            Plan::Ball => {
                lost(&link.joints, "three hinges through one point, which are one ball here", notes);
                out.joints.push(whole(JointKind::Ball, 0, out.bodies.len()));
            }
            Plan::Planar(hinge) => {
                lost(&link.joints, "two slides and the hinge across them, which are one planar joint here", notes);
                out.joints.push(whole(JointKind::Planar, hinge, out.bodies.len()));
            }
            Plan::Serial => {
                let count = link.joints.len();
                let mut below = parent;
                for (i, joint) in link.joints.iter().enumerate() {
                    let last = i + 1 == count;
                    let child = out.bodies.len();
                    out.joints.push(single(joint, placed.anchors[i], placed.axes[i], [Some(child), below], notes));
                    if !last {
                        out.bodies.push(Body {
                            name: format!("{}:{}", link.name, joint.name),
                            span: joint.span.clone(),
                            frame: placed.frames[i],
                            mass: Mass::zero(),
                            geoms: Vec::new(),
                            locked: None,
                            damping: 0.0,
                        });
                    }
                    below = Some(child);
                }
                if count > 1 {
                    let hold = |k: usize| Hold { freedom: link.joints[k].freedom, anchor: placed.anchors[k], axis: placed.axes[k] };
                    splits.push((out.bodies.len() + 1 - count, (0..count).map(hold).collect(), parent));
                    out.apart.extend(parent.map(|parent| ([parent, out.bodies.len()], span.clone())));
                }
            }
        }
        at.push((out.bodies.len(), frame));
        out.bodies.push(body);
    }
    for (first, holds, parent) in splits {
        share(&mut out.bodies, first, &holds, parent)?;
    }
    loops(robot, fate, &at, &mut out);
    for named in &robot.frames {
        let (body, frame) = placed_at(named.link, fate, &at);
        // A link that is a body of its own has its name already.
        let known = out.bodies.iter().map(|body| &body.name).chain(out.points.iter().map(|point| &point.name));
        if known.clone().all(|name| *name != named.name) {
            out.points.push(Point { name: named.name.clone(), span: named.span.clone(), body, frame: frame * named.frame });
        }
    }
    for (links, span) in &robot.apart {
        if let [Some(a), Some(b)] = links.map(|l| fate.of(l).0.map(|t| at[t].0))
            && a != b
        {
            out.apart.push(([a, b], span.clone()));
        }
    }
    Ok(out)
}

/// Gives the bodies between joints in a row, from `first` on and before the link itself, their share.
fn share(bodies: &mut [Body], first: usize, holds: &[Hold], parent: Option<usize>) -> Result<(), Fault> {
    let child = first + holds.len() - 1;
    let (mut own, mut above) = (bodies[child].mass, parent.map(|p| bodies[p].mass));
    let Some(between) = split::split(above.as_mut(), &mut own, holds) else {
        let body = &bodies[first];
        let words = holds.iter().map(|hold| hold.freedom.word()).collect::<Vec<_>>().join(", ");
        let problem = format!(
            "no share of its neighbours' mass makes the bodies between its joints ({words}) ones that can move: two of them move along or about one line"
        );
        return Err(Fault::new(body.span.clone(), format!("body \"{}\"", bodies[child].name), "joint", problem));
    };
    for (body, mass) in bodies[first..child].iter_mut().zip(between) {
        body.mass = mass;
    }
    bodies[child].mass = own;
    if let (Some(p), Some(above)) = (parent, above) {
        bodies[p].mass = above;
    }
    Ok(())
}

/// One joint with everything on it.
fn single(joint: &Axis, anchor: Vector3<f64>, axis: Vector3<f64>, between: [Option<usize>; 2], notes: &mut Notes) -> Joint {
    let part = format!("joint \"{}\"", joint.name);
    let start = joint.scalar();
    let kind = match joint.freedom {
        Freedom::Hinge => JointKind::Hinge,
        Freedom::Slide => JointKind::Slider,
        Freedom::Planar => JointKind::Planar,
        Freedom::Ball | Freedom::Free => JointKind::Ball,
    };
    let mut out = Joint {
        name: joint.name.clone(),
        span: joint.span.clone(),
        kind,
        between,
        anchor,
        axis,
        limits: None,
        friction: 0.0,
        armature: 0.0,
        control: None,
        servo: None,
        spring: None,
        collide: false,
    };
    if !matches!(joint.freedom, Freedom::Hinge | Freedom::Slide) {
        lost(std::slice::from_ref(joint), "a joint without a single coordinate", notes);
        return out;
    }
    out.friction = joint.friction;
    out.armature = joint.armature;
    out.control = joint.control;
    if let Some(servo) = joint.servo {
        out.servo = Some(Servo { damping: servo.damping + joint.damping, ..servo });
        if joint.stiffness > 0.0 {
            notes.add(Fault::new(joint.span.clone(), part.clone(), "stiffness", "not supported beside a servo"));
        }
    } else if joint.stiffness > 0.0 || joint.damping > 0.0 {
        let rest = if joint.stiffness > 0.0 { joint.preload / joint.stiffness } else { start };
        out.spring = Some([rest - start, joint.stiffness, joint.damping]);
    }
    out.limits = joint.limits.map(|[low, high]| [low - start, high - start]);
    if let (Some([low, high]), Freedom::Hinge) = (out.limits, joint.freedom) {
        // The middle may lie a turn away; the angle itself does not count turns.
        let turns = (0.5 * (low + high) / TAU).round() * TAU;
        let (low, high) = (low - turns, high - turns);
        out.limits = (high - low < TAU && (0.5 * (low + high)).abs() <= PI).then_some([low, high]);
        if out.limits.is_none() {
            notes.add(Fault::new(
                joint.span.clone(),
                part,
                "limits",
                "not supported: a hinge does not count turns, and these span a turn or more",
            ));
        }
    }
    out
}

/// Names what acts on coordinates that are not there.
fn lost(joints: &[Axis], whose: &str, notes: &mut Notes) {
    for joint in joints {
        for name in joint.acting() {
            let problem = format!("not supported on {whose}");
            notes.add(Fault::new(joint.span.clone(), format!("joint \"{}\"", joint.name), name, problem));
        }
    }
}

/// The body of a link of the file, `None` for the world, and the link's world frame at the start.
fn placed_at(link: Option<usize>, fate: &Fate, at: &[(usize, Isometry3<f64>)]) -> (Option<usize>, Isometry3<f64>) {
    match link.map(|l| fate.of(l)) {
        Some((Some(target), frame)) => (Some(at[target].0), at[target].1 * frame),
        Some((None, frame)) => (None, frame),
        None => (None, Isometry3::identity()),
    }
}

/// Springs and ropes, and joints that close loops, at the start pose.
fn loops(robot: &Robot, fate: &Fate, at: &[(usize, Isometry3<f64>)], out: &mut Assembly) {
    for tie in &robot.ties {
        let ends = tie.ends.map(|(link, point)| (placed_at(link, fate, at), point));
        let [a, b] = ends.map(|((body, _), _)| body);
        if a != b {
            let anchors = ends.map(|((_, frame), point)| tree::at(&frame, point));
            out.ties.push(Line { name: tie.name.clone(), span: tie.span.clone(), between: [a, b], anchors, kind: tie.kind });
        }
    }
    for closing in &robot.loops {
        let ((a, frame), (b, _)) = (placed_at(closing.links[0], fate, at), placed_at(closing.links[1], fate, at));
        if a == b {
            continue;
        }
        let anchor = tree::at(&frame, closing.point.unwrap_or_else(Vector3::zeros));
        out.joints.push(Joint {
            name: closing.name.clone(),
            span: closing.span.clone(),
            kind: if closing.point.is_some() { JointKind::Ball } else { JointKind::Weld },
            between: [a, b],
            anchor,
            axis: Vector3::z(),
            limits: None,
            friction: 0.0,
            armature: 0.0,
            control: None,
            servo: None,
            spring: None,
            collide: true,
        });
    }
}

/// The filter of a body: what its geoms that touch anything say together; and whether they say different things.
pub fn filter(geoms: &[Geom]) -> (Filter, bool) {
    let mut touching = geoms.iter().map(|g| g.filter).filter(|f| *f != Filter::NONE);
    let Some(first) = touching.next() else { return (Filter::NONE, false) };
    touching.fold((first, false), |(sum, mixed), f| {
        (Filter { kind: sum.kind | f.kind, affinity: sum.affinity | f.affinity }, mixed || f != first)
    })
}
