//! Mass for the body between two joints, taken from its neighbours so that no motion changes.
//!
//! Points on the axis of a hinge move alike on both of its bodies, at every pose; so does a point at the centre of a ball. Bodies on a slide
//! turn alike. So mass on the axis, inertia across the axis, and inertia across a slide may be booked on either side: kinetic and potential
//! energy stay what they are. A body between two hinges gets a rod along each axis, which together resist every turn unless the axes are one line.
//! Of two bodies between three hinges through one point, one would gain what the other loses: there a small part of the child does.

use crate::mass::Mass;
use crate::robot::Freedom;
use nalgebra::{Matrix3, Vector3};

/// Share of the giver's least moment that one gift takes at most, for each of its two kinds of inertia.
const SHARE: f64 = 0.25;
/// Share of the giver's mass.
const MASS_SHARE: f64 = 0.125;
/// Share of the child's mass and least moment that a body gets between more than two joints; the motion is off by about as much.
///
/// Against MuJoCo `tests/models/hips.xml` is off by 2 m times this after a second; at 1e-7 and below the solvers begin to lose digits.
const LIGHT: f64 = 1e-5;
/// Least over greatest moment of a body between, below which its joints are too nearly one axis.
const FLAT: f64 = 1e-9;

/// A joint as seen by the split.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// Hinge, slide or ball.
    pub freedom: Freedom,
    /// World anchor \[m\].
    pub anchor: Vector3<f64>,
    /// World axis.
    pub axis: Vector3<f64>,
}

/// Of the points that move alike on both bodies of a joint the one nearest to a point; a slide has none, and any point does.
fn nearest(hold: &Hold, point: Vector3<f64>) -> Vector3<f64> {
    match hold.freedom {
        Freedom::Hinge => hold.anchor + hold.axis * (point - hold.anchor).dot(&hold.axis),
        Freedom::Ball => hold.anchor,
        Freedom::Slide | Freedom::Free | Freedom::Planar => point,
    }
}

/// What a neighbour can give over a joint without anything changing.
fn gift(giver: &Mass, hold: &Hold) -> Mass {
    let least = giver.moments()[0].max(0.0);
    match hold.freedom {
        Freedom::Slide => Mass { mass: 0.0, centre: giver.centre, inertia: Matrix3::identity() * (SHARE * least) },
        Freedom::Hinge | Freedom::Ball => {
            // It costs the giver least there.
            let at = nearest(hold, giver.centre);
            let arm = (giver.centre - at).norm_squared();
            // Taking d from m at an arm r lowers the inertia by m d / (m - d) r^2.
            let reduced = if arm > 0.0 { SHARE * least / arm } else { f64::INFINITY };
            let mass = (MASS_SHARE * giver.mass).min(giver.mass / (1.0 + giver.mass / reduced));
            let across = Matrix3::identity() - hold.axis * hold.axis.transpose();
            let inertia = if hold.freedom == Freedom::Hinge { across * (SHARE * least) } else { Matrix3::zeros() };
            Mass { mass, centre: at, inertia }
        }
        Freedom::Free | Freedom::Planar => Mass::zero(),
    }
}

/// The masses of the bodies between joints in a row, `holds[0]` towards the parent (`None`: the world) and the last towards the child.
///
/// One body between two joints gets what its neighbours can give over the joints, and no motion changes. More of them, or one between two
/// slides, cannot all live on that: each gets [`LIGHT`] of the child besides. `None` when that does not make bodies of them either: two
/// neighbouring joints move along or about one line.
pub fn split(mut parent: Option<&mut Mass>, child: &mut Mass, holds: &[Hold]) -> Option<Vec<Mass>> {
    let count = holds.len().checked_sub(1).filter(|count| *count > 0)?;
    if holds.windows(2).any(|pair| one_line(&pair[0], &pair[1])) {
        return None;
    }
    let mut between = vec![Mass::zero(); count];
    let (mut rest, mut above) = (*child, parent.as_ref().map(|p| **p));
    let from_child = gift(&rest, &holds[count]);
    rest = take(&rest, &from_child);
    let from_parent = match &mut above {
        Some(parent) => {
            // A light body takes no more from a heavy parent than from the child: its moments stay of one size.
            let size = if count > 1 { (child.moments()[0] / parent.moments()[0]).clamp(0.0, 1.0) } else { 1.0 };
            let gift = gift(parent, &holds[0]).scaled(size);
            *parent = take(parent, &gift);
            gift
        }
        None => from_world(&rest, &holds[0], count == 1 && from_child.mass <= 0.0),
    };
    between[0] = between[0].plus(&from_parent);
    between[count - 1] = between[count - 1].plus(&from_child);
    if !between.iter().all(is_body) {
        for (body, hold) in between.iter_mut().zip(holds) {
            let [least, _] = rest.moments();
            let light =
                Mass { mass: LIGHT * rest.mass, centre: nearest(hold, rest.centre), inertia: Matrix3::identity() * (LIGHT * least) };
            rest = take(&rest, &light);
            *body = body.plus(&light);
        }
    }
    if !(between.iter().all(is_body) && above.as_ref().is_none_or(Mass::is_solid) && rest.is_solid()) {
        return None;
    }
    *child = rest;
    if let (Some(parent), Some(rest)) = (parent.as_mut(), above) {
        **parent = rest;
    }
    Some(between)
}

/// Whether two joints move alike: hinges about one line, slides along one direction.
fn one_line(a: &Hold, b: &Hold) -> bool {
    let parallel = a.axis.cross(&b.axis).norm_squared() < FLAT;
    let apart = b.anchor - a.anchor;
    match (a.freedom, b.freedom) {
        (Freedom::Hinge, Freedom::Hinge) => parallel && apart.cross(&a.axis).norm_squared() <= FLAT * apart.norm_squared().max(FLAT),
        (Freedom::Slide, Freedom::Slide) => parallel,
        _ => false,
    }
}

/// What the world gives over a joint: as much as is asked for. Mass on a fixed axis never moves; it is given only where it is `needed`.
fn from_world(child: &Mass, hold: &Hold, needed: bool) -> Mass {
    let size = SHARE * child.moments()[0];
    let inertia = match hold.freedom {
        Freedom::Hinge => (Matrix3::identity() - hold.axis * hold.axis.transpose()) * size,
        Freedom::Slide => Matrix3::identity() * size,
        _ => Matrix3::zeros(),
    };
    let needed = needed && matches!(hold.freedom, Freedom::Hinge | Freedom::Ball);
    Mass { mass: if needed { MASS_SHARE * child.mass } else { 0.0 }, centre: hold.anchor, inertia }
}

/// Whether the engine can move it, and its moments are not too far apart.
fn is_body(mass: &Mass) -> bool {
    let [least, greatest] = mass.moments();
    mass.is_solid() && least > FLAT * greatest
}

/// What is left of a giver.
fn take(giver: &Mass, gift: &Mass) -> Mass {
    if gift.mass > 0.0 { giver.minus(gift) } else { Mass { inertia: giver.inertia - gift.inertia, ..*giver } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mass::{capsule, cuboid};
    use nalgebra::{Isometry3, UnitQuaternion};

    /// Kinetic energy of a mass whose points move with velocity `v` at the origin and spin `w`.
    fn energy(mass: &Mass, v: Vector3<f64>, w: Vector3<f64>) -> f64 {
        let speed = v + w.cross(&mass.centre);
        0.5 * mass.mass * speed.norm_squared() + 0.5 * w.dot(&(mass.inertia * w))
    }

    #[test]
    fn two_hinges_keep_the_energy_of_every_motion_at_every_pose() {
        let parent = cuboid(Vector3::new(0.1, 0.2, 0.15)).moved(&Isometry3::translation(0.3, 0.1, -0.2)).scaled(500.0);
        let child = capsule(0.05, 0.2).moved(&Isometry3::translation(0.1, -0.3, 0.0)).scaled(900.0);
        let anchor = Vector3::new(0.1, 0.05, -0.1);
        let holds = [
            Hold { freedom: Freedom::Hinge, anchor, axis: Vector3::new(1.0, 2.0, 0.5).normalize() },
            Hold { freedom: Freedom::Hinge, anchor: anchor + Vector3::new(0.0, 0.02, 0.0), axis: Vector3::new(0.0, 1.0, -1.0).normalize() },
        ];
        let (mut p, mut c) = (parent, child);
        let between = split(Some(&mut p), &mut c, &holds).expect("the axes cross");
        let [between] = between[..] else { panic!("two joints have one body between them") };
        assert!(between.is_solid() && p.is_solid() && c.is_solid());
        assert!(c.mass < child.mass && p.mass < parent.mass);
        for k in 0..20 {
            let t = f64::from(k);
            // Turn everything behind each hinge by an angle, with rates, then compare the sums.
            let turn = |hold: &Hold, angle: f64| {
                let q = UnitQuaternion::from_scaled_axis(hold.axis * angle);
                Isometry3::from_parts((hold.anchor - q * hold.anchor).into(), q)
            };
            let (first, second) = (turn(&holds[0], 0.3 * t), turn(&holds[1], 1.1 * t));
            let (v, w) = (Vector3::new(0.2, t.sin(), -0.4), Vector3::new(t.cos(), 0.7, 0.1 * t));
            let (r1, r2) = (1.0 + 0.1 * t, -0.5 * t);
            let a1 = holds[0].axis;
            let (w1, v1) = (w + a1 * r1, v - a1.cross(&holds[0].anchor) * r1);
            let a2 = first.rotation * holds[1].axis;
            let at2 = (first * nalgebra::Point3::from(holds[1].anchor)).coords;
            let (w2, v2) = (w1 + a2 * r2, v1 - a2.cross(&at2) * r2);
            let (to1, to2) = (first, first * second);
            let before = energy(&parent, v, w) + energy(&child.moved(&to2), v2, w2);
            let after = energy(&p, v, w) + energy(&between.moved(&to1), v1, w1) + energy(&c.moved(&to2), v2, w2);
            assert!((before - after).abs() < 1e-12 * before, "pose {k}: {before} {after}");
            let weight = |m: &Mass| m.centre.z * m.mass;
            let before = weight(&parent) + weight(&child.moved(&to2));
            let after = weight(&p) + weight(&between.moved(&to1)) + weight(&c.moved(&to2));
            assert!((before - after).abs() < 1e-12, "pose {k}: weight");
        }
    }

    #[test]
    fn two_hinges_about_one_line_have_no_share() {
        let child = capsule(0.05, 0.2);
        let hold = Hold { freedom: Freedom::Hinge, anchor: Vector3::zeros(), axis: Vector3::x() };
        let slide = Hold { freedom: Freedom::Slide, ..hold };
        assert!(split(None, &mut child.clone(), &[hold, hold]).is_none());
        assert!(split(None, &mut child.clone(), &[slide, slide]).is_none());
        assert!(split(None, &mut child.clone(), &[slide, hold]).is_some());
        assert!(split(None, &mut child.clone(), &[hold, slide]).is_some());
    }
}
