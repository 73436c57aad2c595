//! The derivative of a contact by both poses: one frame moves against the other, and both as one rigid body, theory (14.3) and (14.9)-(14.10).

use crate::contact::{Contact, Geometry};
use crate::contact_tangent::ContactTangent;
use carom_math::{Pose, Twist, Vector, Wrench};

/// What a contact does while one frame moves and the other rests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Moved<G: Geometry> {
    /// A column for each direction of the frame, translations along the world axes first.
    Columns(G::Columns),
    /// A point of the frame moves over a face of the other.
    Point {
        /// From the origin of the frame to the point.
        arm: G::Lin,
        /// Where the point is a cut: its edge, and the normal of the side that cuts over its product with the edge.
        slide: Option<[G::Lin; 2]>,
    },
}

/// The derivative of a contact by both poses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactJacobian<G: Geometry> {
    moved: Moved<G>,
    /// Which frame moves against the other: 0 that of a, 1 that of b.
    side: usize,
    /// From the origin of the other frame to that of this one.
    between: G::Lin,
    /// From the origin of the other frame to the witness points.
    arms: [G::Lin; 2],
    normal: G::Lin,
    /// Whether the contact has this derivative.
    pub regular: bool,
}

impl<G: Geometry> ContactJacobian<G> {
    /// From what one frame does against the other: moving the other is moving both as one rigid body and the one back again, theory (14.3).
    pub(crate) fn relative(contact: &Contact<G>, poses: [&Pose<G>; 2], side: usize, moved: Moved<G>, regular: bool) -> Self {
        let origin = poses[1 - side].position;
        ContactJacobian {
            moved,
            side,
            between: poses[side].position - origin,
            arms: [contact.point_a - origin, contact.point_b - origin],
            normal: contact.normal,
            regular,
        }
    }

    /// From the columns of the frame of a.
    pub(crate) fn of_columns(contact: &Contact<G>, poses: [&Pose<G>; 2], columns: G::Columns) -> Self {
        let regular = columns.as_ref().iter().all(|column| column.regular);
        Self::relative(contact, poses, 0, Moved::Columns(columns), regular)
    }

    /// 1 where the frame that moves is that of a, -1 where it is that of b: the normal points to a.
    fn sign(&self) -> f64 {
        if self.side == 0 { 1.0 } else { -1.0 }
    }

    /// The derivative along twists of the frames, theory (14.1), (14.9).
    pub fn apply(&self, pose_a: &Twist<G>, pose_b: &Twist<G>) -> ContactTangent<G> {
        let (own, other) = if self.side == 0 { (pose_a, pose_b) } else { (pose_b, pose_a) };
        let against: Twist<G> = Twist { lin: own.lin - other.at(self.between), ang: own.ang - other.ang };
        let mut sum = ContactTangent { regular: self.regular, ..ContactTangent::zero() };
        match &self.moved {
            Moved::Columns(columns) => {
                for (k, column) in columns.as_ref().iter().enumerate() {
                    sum = sum.plus(if k < G::DIM { against.lin[k] } else { against.ang[k - G::DIM] }, column);
                }
            }
            Moved::Point { arm, slide } => {
                let mut point = against.at(*arm);
                if let Some([edge, cut]) = slide {
                    point -= *edge * cut.dot(point);
                }
                let across = self.normal.dot(point);
                let foot = point - self.normal * across;
                sum.gap = self.sign() * across;
                (sum.point_a, sum.point_b) = if self.side == 0 { (point, foot) } else { (foot, point) };
            }
        }
        sum.normal += G::spin(other.ang, self.normal);
        sum.point_a += other.at(self.arms[0]);
        sum.point_b += other.at(self.arms[1]);
        sum
    }

    /// The wrenches on the frames of a and b that a gradient with respect to the contact makes, theory (14.4), (14.10).
    #[inline]
    pub fn transpose(&self, bar: &ContactTangent<G>) -> (Wrench<G>, Wrench<G>) {
        let own = match &self.moved {
            Moved::Columns(columns) => {
                let mut wrench = Wrench::<G>::zero();
                for (k, column) in columns.as_ref().iter().enumerate() {
                    let entry = column.dot(bar);
                    if k < G::DIM { wrench.lin[k] = entry } else { wrench.ang[k - G::DIM] = entry }
                }
                wrench
            }
            Moved::Point { arm, slide } => {
                let foot = if self.side == 0 { bar.point_b } else { bar.point_a };
                let mut force = bar.point_a + bar.point_b + self.normal * (self.sign() * bar.gap - self.normal.dot(foot));
                if let Some([edge, cut]) = slide {
                    force -= *cut * edge.dot(force);
                }
                Wrench::along(force, *arm)
            }
        };
        let together = G::torque(self.normal, bar.normal) + G::torque(self.arms[0], bar.point_a) + G::torque(self.arms[1], bar.point_b);
        let other = Wrench { lin: bar.point_a + bar.point_b - own.lin, ang: together - own.ang - G::torque(self.between, own.lin) };
        if self.side == 0 { (own, other) } else { (other, own) }
    }

    /// Whether every number is finite.
    #[cfg(test)]
    pub(crate) fn is_finite(&self) -> bool {
        self.columns().iter().flatten().all(ContactTangent::is_finite)
    }

    /// The derivatives by each direction of the frames of a and b.
    #[cfg(test)]
    pub(crate) fn columns(&self) -> [Vec<ContactTangent<G>>; 2] {
        use crate::contact_tangent::unit_twist;
        let still = Twist::zero();
        let column = |side: usize, k: usize| {
            if side == 0 { self.apply(&unit_twist(k), &still) } else { self.apply(&still, &unit_twist(k)) }
        };
        [0, 1].map(|side| (0..G::DOF).map(|k| column(side, k)).collect())
    }
}
