//! The joints between a link and its parent, as joints of the engine.
//!
//! One joint is one joint. Joints in a row have bodies between them that the model gives no mass; `split.rs` gives them a share of their
//! neighbours'. Where nothing acts on the coordinates, a kind with the same freedom stands for all of them: three hinges through one point are a
//! ball, two slides and the hinge across them are a planar joint, three slides and a ball are no joint at all.

use crate::robot::{Axis, Freedom, Link, Start};
use crate::text::Fault;
use nalgebra::{Isometry3, Translation3, Vector3};

/// Sine below which two directions are parallel, and distance \[m\] below which two points are one.
const PARALLEL: f64 = 1e-6;
/// Distance from 1 of a cosine that is that of a world axis.
const ALIGNED: f64 = 1e-12;

/// How the joints of a link become those of the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// No joint: nothing is held.
    Free,
    /// World axes and the turn are held.
    Locked([bool; 3]),
    /// One joint after the other, with bodies between them.
    Serial,
    /// One ball for all.
    Ball,
    /// One planar joint for all, by the index of the hinge.
    Planar(usize),
}

/// Joints of a link as placed at the start.
#[derive(Debug)]
pub struct Placed {
    /// World anchors \[m\].
    pub anchors: Vec<Vector3<f64>>,
    /// World axes.
    pub axes: Vec<Vector3<f64>>,
    /// World frames after each joint; the last is that of the link.
    pub frames: Vec<Isometry3<f64>>,
}

/// Anchors, axes and frames at the start; `parent` is the parent's frame.
pub fn place(link: &Link, parent: &Isometry3<f64>) -> Placed {
    let zero = parent * link.place;
    let mut moved = Isometry3::identity();
    let mut out = Placed { anchors: Vec::new(), axes: Vec::new(), frames: Vec::new() };
    for joint in &link.joints {
        let anchor = zero * nalgebra::Point3::from(joint.anchor);
        let axis = zero.rotation * joint.axis;
        out.anchors.push((moved * anchor).coords);
        out.axes.push(moved.rotation * axis);
        let motion = match (joint.freedom, joint.start) {
            (Freedom::Slide, Start::Scalar(x)) => Isometry3::from(Translation3::from(axis * x)),
            (Freedom::Hinge, Start::Scalar(x)) => about(anchor.coords, nalgebra::UnitQuaternion::from_scaled_axis(axis * x)),
            (Freedom::Ball, Start::Turn(turn)) => about(anchor.coords, zero.rotation * turn * zero.rotation.inverse()),
            (Freedom::Free, Start::Pose(pose)) => pose * zero.inverse(),
            _ => Isometry3::identity(),
        };
        moved *= motion;
        out.frames.push(moved * zero);
    }
    out
}

fn about(anchor: Vector3<f64>, turn: nalgebra::UnitQuaternion<f64>) -> Isometry3<f64> {
    Isometry3::from_parts(Translation3::from(anchor - turn * anchor), turn)
}

/// Which joints of the engine the joints of a link become.
pub fn plan(link: &Link, placed: &Placed) -> Result<Plan, Fault> {
    let joints = &link.joints;
    let of = |freedom: Freedom| (0..joints.len()).filter(|&i| joints[i].freedom == freedom).collect::<Vec<_>>();
    let (slides, hinges, balls) = (of(Freedom::Slide), of(Freedom::Hinge), of(Freedom::Ball));
    if let Some(free) = joints.iter().find(|j| j.freedom == Freedom::Free) {
        if joints.len() > 1 || link.parent.is_some() {
            let part = format!("joint \"{}\"", free.name);
            return Err(Fault::new(free.span.clone(), part, "", "a free joint stands alone, on a body of the world"));
        }
        return Ok(Plan::Free);
    }
    if !independent(&slides.iter().map(|&i| placed.axes[i]).collect::<Vec<_>>()) {
        let words = joints.iter().map(|j| j.freedom.word()).collect::<Vec<_>>().join(", ");
        let span = joints.last().map_or_else(|| link.span.clone(), |j| j.span.clone());
        let problem = format!("the axes of its slides ({words}) are not independent");
        return Err(Fault::new(span, format!("body \"{}\"", link.name), "joint", problem));
    }
    // What acts on a coordinate needs the coordinate: then every joint is one of its own.
    let other = joints.len() > slides.len() + hinges.len() + balls.len();
    if joints.len() == 1 || other || joints.iter().any(Axis::is_driven) {
        return Ok(Plan::Serial);
    }
    let turns_freely = balls.len() == 1 && hinges.is_empty()
        || balls.is_empty() && hinges.len() == 3 && independent(&hinges.iter().map(|&i| placed.axes[i]).collect::<Vec<_>>());
    let across = |hinge: usize| slides.iter().all(|&s| placed.axes[s].dot(&placed.axes[hinge]).abs() < PARALLEL);
    Ok(match (slides.len(), hinges.as_slice()) {
        (3, _) if turns_freely && link.parent.is_none() => Plan::Free,
        (2, &[hinge]) if balls.is_empty() && across(hinge) => Plan::Planar(hinge),
        (0, &[a, b, c]) if turns_freely => {
            let apart = (placed.anchors[a] - placed.anchors[b]).norm().max((placed.anchors[a] - placed.anchors[c]).norm());
            if apart < PARALLEL { Plan::Ball } else { Plan::Serial }
        }
        (3, []) if balls.is_empty() && link.parent.is_none() => Plan::Locked([false; 3]),
        (2, []) if balls.is_empty() && link.parent.is_none() => {
            let normal = placed.axes[slides[0]].cross(&placed.axes[slides[1]]).normalize();
            let held = [0, 1, 2].map(|k| normal[k].abs() > 1.0 - ALIGNED);
            if held.contains(&true) { Plan::Locked(held) } else { Plan::Serial }
        }
        _ => Plan::Serial,
    })
}

/// Whether directions span as many dimensions as there are of them.
fn independent(axes: &[Vector3<f64>]) -> bool {
    match axes {
        [] | [_] => true,
        [a, b] => a.cross(b).norm() > PARALLEL,
        [a, b, c] => a.cross(b).dot(c).abs() > PARALLEL,
        _ => false,
    }
}

/// The share of joint names that a combined joint goes by.
pub fn joined_name(joints: &[Axis]) -> String {
    joints.iter().map(|j| j.name.as_str()).collect::<Vec<_>>().join("+")
}
