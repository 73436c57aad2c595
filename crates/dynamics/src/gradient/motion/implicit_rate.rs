//! The rate at the end of the gyroscopic torque, which is given by an equation, theory (17.7).

use super::{MassBlocks, add, changed, changed_transpose, turned, turned_transpose};
use crate::gradient::schedule::program::{Block, Program, Wires};
use crate::gradient::slots::cross;
use crate::island::LocalBody;
use carom_geometry::Geometry;
use carom_math::{Pose, Vector};

/// The rate y of I (y - w) + s y x I y = p, with its Jacobian, theory (17.7): what the gyroscopic torque over `s` and an angular impulse p
/// make of a rate w.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImplicitRate<G: Geometry> {
    /// Rate before.
    pub before: G::Ang,
    /// Rate after.
    pub after: G::Ang,
    /// Duration of the gyroscopic torque \[s\].
    pub duration: f64,
}

/// The inverse of dF/dy by rows; the identity's place is taken by zero where there is none.
pub(crate) type Unfolded = [[f64; 3]; 3];

/// A d.
#[inline]
fn apply<G: Geometry>(matrix: &Unfolded, d: G::Ang) -> G::Ang {
    let mut out = G::Ang::zero();
    for i in 0..G::ANG {
        out[i] = (0..G::ANG).map(|j| matrix[i][j] * d[j]).sum();
    }
    out
}

/// A' d.
#[inline]
fn apply_transpose<G: Geometry>(matrix: &Unfolded, d: G::Ang) -> G::Ang {
    let mut out = G::Ang::zero();
    for i in 0..G::ANG {
        out[i] = (0..G::ANG).map(|j| matrix[j][i] * d[j]).sum();
    }
    out
}

impl<G: Geometry> ImplicitRate<G> {
    /// dF/dy by rows, with dF/dy d = I d + s (d x I y + y x I d).
    pub fn folded(&self, inertia: G::Inertia) -> Unfolded {
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
        matrix
    }

    /// (dF/dy)^-1.
    pub fn unfolded(&self, inertia: G::Inertia) -> Unfolded {
        let n = G::ANG;
        let matrix = self.folded(inertia);
        let mut out = [[0.0; 3]; 3];
        if n == 1 {
            out[0][0] = 1.0 / matrix[0][0];
            return out;
        }
        // Cramer's rule: the matrix is near I, far from singular.
        let minor = |i: usize, j: usize| {
            let [(a, b), (c, d)] = [i, j].map(|k| ((k + 1) % 3, (k + 2) % 3));
            matrix[a][c] * matrix[b][d] - matrix[a][d] * matrix[b][c]
        };
        let determinant = (0..3).map(|j| matrix[0][j] * minor(0, j)).sum::<f64>();
        if determinant != 0.0 {
            let divided = 1.0 / determinant;
            for i in 0..n {
                for j in 0..n {
                    out[i][j] = minor(j, i) * divided;
                }
            }
        }
        out
    }

    /// out += dy for tangents of the rate before, the impulse, the pose, the inertia and the duration (scaled by `share` of a time).
    pub fn linearise(
        &self,
        program: &mut Program<G>,
        unfolded: &Unfolded,
        out: Block,
        before: Block,
        impulse: Block,
        pose: (Block, &Pose<G>),
        body: &LocalBody<G>,
        mass: MassBlocks,
        time: (Block, f64),
    ) {
        let map = RateMap {
            out,
            before: Some(before),
            impulse,
            turn: (G::ANG > 1).then(|| pose.0.part(G::DIM, G::ANG)),
            time: if G::ANG > 1 { program.free(time.0) } else { None },
            inertia: program.free(mass.inertia),
            rate: *self,
            share: time.1,
            world: body.inertia,
            rotation: pose.1.rotation,
            unfolded: *unfolded,
        };
        program.rate(map);
    }

    /// out += (dF/dy)^-1 p for an angular impulse p alone.
    pub fn respond(&self, program: &mut Program<G>, unfolded: &Unfolded, out: Block, impulse: Block) {
        let map = RateMap {
            out,
            before: None,
            impulse,
            turn: None,
            time: None,
            inertia: None,
            rate: *self,
            share: 0.0,
            world: G::inertia_zero(),
            rotation: G::identity(),
            unfolded: *unfolded,
        };
        program.rate(map);
    }

    /// (dF/dy)^-1 r.
    pub fn unfold(unfolded: &Unfolded, residual: G::Ang) -> G::Ang {
        apply::<G>(unfolded, residual)
    }
}

/// The derivative of an implicit rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateMap<G: Geometry> {
    out: Block,
    before: Option<Block>,
    impulse: Block,
    turn: Option<Block>,
    time: Option<Block>,
    inertia: Option<Block>,
    rate: ImplicitRate<G>,
    share: f64,
    world: G::Inertia,
    rotation: G::Rot,
    unfolded: Unfolded,
}

impl<G: Geometry> RateMap<G> {
    /// The slots it stands between.
    pub fn wires(&self, wires: &mut Wires) {
        wires.reads([self.impulse].into_iter().chain(self.before).chain(self.turn).chain(self.time).chain(self.inertia));
        wires.writes([self.out]);
    }
    /// The tangent.
    pub fn tangent(&self, x: &mut [f64]) {
        let ImplicitRate { before, after, duration } = self.rate;
        let gained = after - before;
        let mut residual = G::Ang::from_slice(&x[self.impulse.range()]);
        if let Some(block) = self.before {
            residual += G::inertia_apply(self.world, G::Ang::from_slice(&x[block.range()]));
        }
        let both = |change: &dyn Fn(G::Ang) -> G::Ang| change(gained) + cross::<G>(after, change(after)) * duration;
        if let Some(block) = self.turn {
            let xi = G::Ang::from_slice(&x[block.range()]);
            residual -= both(&|rate| turned::<G>(self.world, xi, rate));
        }
        if let Some(block) = self.time {
            residual -= G::gyroscopic(self.world, after) * (self.share * x[block.range().start]);
        }
        if let Some(block) = self.inertia {
            residual -= both(&|rate| changed::<G>(self.rotation, &x[block.range()], rate));
        }
        add(x, self.out, apply::<G>(&self.unfolded, residual).as_slice());
    }
    /// The adjoint.
    pub fn adjoint(&self, x: &mut [f64]) {
        let ImplicitRate { before, after, duration } = self.rate;
        let gained = after - before;
        let r = apply_transpose::<G>(&self.unfolded, G::Ang::from_slice(&x[self.out.range()]));
        add(x, self.impulse, r.as_slice());
        if let Some(block) = self.before {
            add(x, block, G::inertia_apply(self.world, r).as_slice());
        }
        // r . (y x z) = (r x y) . z.
        let bent = cross::<G>(r, after) * duration;
        if let Some(block) = self.turn {
            let sum = turned_transpose::<G>(self.world, r, gained) + turned_transpose::<G>(self.world, bent, after);
            add(x, block, (-sum).as_slice());
        }
        if let Some(block) = self.time {
            x[block.range().start] -= self.share * r.dot(G::gyroscopic(self.world, after));
        }
        if let Some(block) = self.inertia {
            changed_transpose::<G>(self.rotation, r, gained, -1.0, &mut x[block.range()]);
            changed_transpose::<G>(self.rotation, bent, after, -1.0, &mut x[block.range()]);
        }
    }
}
