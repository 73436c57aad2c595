//! Fewer links: what is held fast becomes part of its parent, and links without mass hand their joints on.

use crate::robot::{Axis, Link, Notes, Robot};
use crate::text::Fault;
use nalgebra::{Isometry3, Point3};

/// A link weighs nothing when it weighs less than this \[kg\].
const WEIGHTLESS: f64 = 1e-15;

/// Where the links of the file have gone: a link of the result (`None`: the world) and their frame in its.
#[derive(Debug)]
pub struct Fate {
    target: Vec<(Option<usize>, Isometry3<f64>)>,
}

impl Fate {
    /// The link that a link of the file is part of, and its frame there.
    pub fn of(&self, link: usize) -> (Option<usize>, Isometry3<f64>) {
        self.target.get(link).copied().unwrap_or((None, Isometry3::identity()))
    }
}

/// Joins what is held fast and folds away what has no mass.
pub fn reduce(robot: &mut Robot, notes: &mut Notes) -> Result<Fate, Fault> {
    hold_weightless_ends(robot, notes);
    let (moved, mut fate) = merge(robot);
    robot.links = moved;
    fold(robot, &mut fate)?;
    Ok(fate)
}

/// Links that carry something that weighs.
fn carries(links: &[Link]) -> Vec<bool> {
    let mut heavy: Vec<bool> = links.iter().map(|l| l.mass.mass > WEIGHTLESS).collect();
    for i in (0..links.len()).rev() {
        if let Some(parent) = links[i].parent.filter(|_| heavy[i]) {
            heavy[parent] = true;
        }
    }
    heavy
}

/// A joint that moves nothing that weighs has no equation of motion: it is held.
fn hold_weightless_ends(robot: &mut Robot, notes: &mut Notes) {
    let heavy = carries(&robot.links);
    for (link, heavy) in robot.links.iter_mut().zip(heavy) {
        if heavy {
            continue;
        }
        for joint in link.joints.drain(..) {
            let problem = "moves links without mass, which have no equation of motion: held where it starts";
            notes.add(Fault::new(joint.span, format!("joint \"{}\"", joint.name), "", problem));
        }
    }
}

/// Links without joints become part of their parent, or of the world.
fn merge(robot: &mut Robot) -> (Vec<Link>, Fate) {
    let mut kept: Vec<Link> = Vec::new();
    let mut target: Vec<(Option<usize>, Isometry3<f64>)> = Vec::with_capacity(robot.links.len());
    for mut link in std::mem::take(&mut robot.links) {
        // Parents come first, so theirs is known.
        let (parent, frame) = link.parent.and_then(|p| target.get(p).copied()).unwrap_or((None, Isometry3::identity()));
        let place = frame * link.place;
        if !link.joints.is_empty() {
            target.push((Some(kept.len()), Isometry3::identity()));
            link.parent = parent;
            link.place = place;
            kept.push(link);
            continue;
        }
        target.push((parent, place));
        let geoms = link.geoms.into_iter().map(|mut geom| {
            geom.frame = place * geom.frame;
            geom.name = geom.name.or_else(|| parent.is_none().then(|| link.name.clone()));
            geom
        });
        match parent {
            Some(p) => {
                kept[p].geoms.extend(geoms);
                kept[p].mass = kept[p].mass.plus(&link.mass.moved(&place));
            }
            None => robot.fixtures.extend(geoms),
        }
    }
    (kept, Fate { target })
}

/// A link without mass between two joints: its joints become the first joints of its only child.
fn fold(robot: &mut Robot, fate: &mut Fate) -> Result<(), Fault> {
    for i in 0..robot.links.len() {
        if robot.links[i].mass.mass > WEIGHTLESS {
            continue;
        }
        let children: Vec<usize> = (0..robot.links.len()).filter(|&c| robot.links[c].parent == Some(i)).collect();
        let link = robot.links[i].clone();
        let fault = |problem: &str| Fault::new(link.span.clone(), format!("link \"{}\"", link.name), "mass", problem);
        let &[child] = children.as_slice() else {
            return Err(fault("moves, carries several bodies and weighs nothing").allowed("a mass above 0"));
        };
        // Seen from the child at zero.
        let place = robot.links[child].place;
        let back = place.inverse();
        let mut joints: Vec<Axis> = link.joints.iter().map(|joint| joint.moved(&back)).collect();
        joints.append(&mut robot.links[child].joints);
        robot.links[child].joints = joints;
        robot.links[child].place = link.place * place;
        robot.links[child].parent = link.parent;
        robot.links[i].joints.clear();
        fate.target.iter_mut().filter(|(target, _)| *target == Some(i)).for_each(|(target, frame)| {
            *target = Some(child);
            *frame = back * *frame;
        });
    }
    // The folded links go; those that stay keep their order.
    let mut index = Vec::with_capacity(robot.links.len());
    let mut count = 0;
    for link in &robot.links {
        index.push(count);
        count += usize::from(!link.joints.is_empty());
    }
    robot.links.retain(|link| !link.joints.is_empty());
    robot.links.iter_mut().for_each(|link| link.parent = link.parent.map(|p| index[p]));
    fate.target.iter_mut().for_each(|(target, _)| *target = target.map(|t| index[t]));
    Ok(())
}

/// A point moved by a frame.
pub fn at(frame: &Isometry3<f64>, point: nalgebra::Vector3<f64>) -> nalgebra::Vector3<f64> {
    (frame * Point3::from(point)).coords
}
