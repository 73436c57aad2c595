//! Derivatives of what inertia does: the response to impulses, the implicit end rate, the move, theory (17.5)-(17.9).

use super::program::{Block, Program};
use super::slots::{cross, inertia, put, twist};
use crate::island::LocalBody;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};

/// Slots of the mass and the inertia of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MassBlocks {
    /// Mass.
    pub mass: Block,
    /// Inertia in the body frame.
    pub inertia: Block,
}

/// dI w for a turn xi of the body, theory (17.5): xi x I w - I (xi x w).
#[inline]
pub(crate) fn turned<G: Geometry>(inertia: G::Inertia, xi: G::Ang, rate: G::Ang) -> G::Ang {
    cross::<G>(xi, G::inertia_apply(inertia, rate)) - G::inertia_apply(inertia, cross::<G>(xi, rate))
}

/// R dI R' w for a change of the inertia in the body frame.
#[inline]
pub(crate) fn changed<G: Geometry>(rotation: G::Rot, upper: &[f64], rate: G::Ang) -> G::Ang {
    G::rotate_rate(rotation, G::inertia_apply(inertia::<G>(upper), G::unrotate_rate(rotation, rate)))
}

/// out += M^-1 p for an impulse p whose tangent stands in `impulse`; the body's inertia turns with `pose`, theory (17.6).
pub(crate) fn response<G: Geometry>(
    program: &mut Program,
    out: Block,
    impulse: (Block, Wrench<G>),
    pose: (Block, &Pose<G>),
    body: &LocalBody<G>,
    mass: MassBlocks,
) {
    let (block, value) = impulse;
    let result = body.response(&value);
    program.linear(out, block, |x, y| {
        let change = body.response(&super::slots::wrench::<G>(x));
        put::<G>(change.lin, change.ang, y);
    });
    if G::ANG > 1 {
        program.linear(out.part(G::DIM, G::ANG), pose.0.part(G::DIM, G::ANG), |x, y| {
            y.copy_from_slice(turned::<G>(body.inv_inertia, G::Ang::from_slice(x), value.ang).as_slice());
        });
    }
    program.linear(out.part(0, G::DIM), mass.mass, |x, y| {
        y.copy_from_slice((result.lin * (-x[0] / body.mass)).as_slice());
    });
    program.linear(out.part(G::DIM, G::ANG), mass.inertia, |x, y| {
        let change = G::inertia_apply(body.inv_inertia, changed::<G>(pose.1.rotation, x, result.ang));
        y.copy_from_slice((-change).as_slice());
    });
}

/// The rate y of I (y - w) + s y x I y = p, with its Jacobian, theory (17.7): what the gyroscopic torque over `s` and an angular impulse p
/// make of a rate w.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImplicitRate<G: Geometry> {
    /// Rate before.
    pub before: G::Ang,
    /// Rate after.
    pub after: G::Ang,
    /// Duration of the gyroscopic torque [s].
    pub duration: f64,
}

impl<G: Geometry> ImplicitRate<G> {
    /// (dF/dy)^-1 applied to a residual: I d + s (d x I y + y x I d) = r.
    pub fn unfold(&self, inertia: G::Inertia, residual: G::Ang) -> G::Ang {
        let n = G::ANG;
        let mut matrix = [[0.0; 3]; 3];
        let momentum = G::inertia_apply(inertia, self.after);
        for j in 0..n {
            let mut e = G::Ang::zero();
            e[j] = 1.0;
            let pushed = G::inertia_apply(inertia, e);
            let column = pushed + (cross::<G>(e, momentum) + cross::<G>(self.after, pushed)) * self.duration;
            for i in 0..n {
                matrix[i][j] = column[i];
            }
        }
        let mut x = G::Ang::zero();
        if n == 1 {
            x[0] = residual[0] / matrix[0][0];
            return x;
        }
        // Cramer's rule: the matrix is near I, far from singular.
        let m = nalgebra::Matrix3::from_fn(|i, j| matrix[i][j]);
        let r = nalgebra::Vector3::new(residual[0], residual[1], residual[2]);
        if let Some(inverse) = m.try_inverse() {
            let solution = inverse * r;
            for i in 0..n {
                x[i] = solution[i];
            }
        }
        x
    }

    /// out += dy for tangents of the rate before, the impulse, the pose, the inertia and the duration (scaled by `share` of a time).
    pub fn linearise(
        &self,
        program: &mut Program,
        out: Block,
        before: Block,
        impulse: Block,
        pose: (Block, &Pose<G>),
        body: &LocalBody<G>,
        mass: MassBlocks,
        time: (Block, f64),
    ) {
        let world = body.inertia;
        let unfold = |r: G::Ang| self.unfold(world, r);
        program.linear(out, before, |x, y| y.copy_from_slice(unfold(G::inertia_apply(world, G::Ang::from_slice(x))).as_slice()));
        program.linear(out, impulse, |x, y| y.copy_from_slice(unfold(G::Ang::from_slice(x)).as_slice()));
        let gained = self.after - self.before;
        if G::ANG > 1 {
            program.linear(out, pose.0.part(G::DIM, G::ANG), |x, y| {
                let xi = G::Ang::from_slice(x);
                let residual = turned::<G>(world, xi, gained) + cross::<G>(self.after, turned::<G>(world, xi, self.after)) * self.duration;
                y.copy_from_slice((-unfold(residual)).as_slice());
            });
            program.linear(out, time.0, |x, y| {
                let torque = G::gyroscopic(world, self.after) * (time.1 * x[0]);
                y.copy_from_slice((-unfold(torque)).as_slice());
            });
        }
        program.linear(out, mass.inertia, |x, y| {
            let change = |rate: G::Ang| changed::<G>(pose.1.rotation, x, rate);
            let residual = change(gained) + cross::<G>(self.after, change(self.after)) * self.duration;
            y.copy_from_slice((-unfold(residual)).as_slice());
        });
    }
}

/// q' = q moved by a twist for a time, theory (17.8).
pub(crate) fn moved<G: Geometry>(program: &mut Program, out: Block, pose: Block, twists: (Block, &Twist<G>), time: (Block, f64)) {
    let (block, value) = twists;
    let t = time.1;
    let turn = value.ang * t;
    program.copy(out.part(0, G::DIM), pose.part(0, G::DIM));
    if G::ANG == 1 {
        program.copy(out.part(G::DIM, 1), pose.part(G::DIM, 1));
    } else {
        let rotation = G::exp(turn);
        program.linear(out.part(G::DIM, G::ANG), pose.part(G::DIM, G::ANG), |x, y| {
            y.copy_from_slice(G::rotate_rate(rotation, G::Ang::from_slice(x)).as_slice());
        });
    }
    displaced::<G>(program, out, (block, value), t);
    let mut velocity = [0.0; 6];
    put::<G>(value.lin, value.ang, &mut velocity);
    program.column(out, time.0, &velocity[..G::DOF]);
}

/// q' += what a change of the twist does over a time t.
pub(crate) fn displaced<G: Geometry>(program: &mut Program, out: Block, twists: (Block, &Twist<G>), t: f64) {
    let (block, value) = twists;
    if G::ANG == 1 {
        program.scaled(out, block, t);
        return;
    }
    program.scaled(out.part(0, G::DIM), block.part(0, G::DIM), t);
    let turn = value.ang * t;
    program.linear(out.part(G::DIM, G::ANG), block.part(G::DIM, G::ANG), |x, y| {
        y.copy_from_slice(G::exp_derivative(turn, G::Ang::from_slice(x) * t).as_slice());
    });
}

/// The covector on the twist of a covector on q': the transpose of `displaced`.
pub(crate) fn carried<G: Geometry>(covector: Wrench<G>, value: &Twist<G>, t: f64) -> Wrench<G> {
    Wrench { lin: covector.lin * t, ang: G::exp_derivative_transpose(value.ang * t, covector.ang * t) }
}

/// A unit twist of a body along one of its degrees of freedom.
pub(crate) fn unit<G: Geometry>(k: usize) -> Twist<G> {
    let mut x = [0.0; 6];
    x[k] = 1.0;
    twist::<G>(&x)
}
