//! Impulses along the rows of joints for several right-hand sides at once.

use super::{JointRows, WHOLE};
use carom_geometry::Geometry;
use carom_math::{Vector, widened};

impl<G: Geometry> JointRows<G> {
    /// Adds J' l for several impulses side by side to the wrenches of the bodies, component by component.
    pub fn add_wrenches<const L: usize>(&self, impulses: &[[f64; L]], out: &mut [[[f64; L]; 6]]) {
        add_wrenches(self, impulses, out);
    }
}

widened! {
    /// [`JointRows::add_wrenches`].
    fn add_wrenches = add_wrenches_wide / add_wrenches_plain [G: Geometry, const L: usize] (rows: &JointRows<G>, impulses: &[[f64; L]], out: &mut [[[f64; L]; 6]]);
}

/// sum += s x, lane by lane.
#[inline(always)]
fn add_lanes<const L: usize>(sum: &mut [f64; L], s: f64, x: &[f64; L]) {
    for lane in 0..L {
        sum[lane] += s * x[lane];
    }
}

#[inline(always)]
fn add_wrenches_plain<G: Geometry, const L: usize>(rows: &JointRows<G>, impulses: &[[f64; L]], out: &mut [[[f64; L]; 6]]) {
    for span in &rows.spans {
        let own = &impulses[span.first as usize..][..span.rows as usize];
        let mut sides = [[[0.0; L]; 6]; 2];
        if span.pin != WHOLE {
            let arms = &rows.now.pins[span.pin as usize];
            let (pinned, turned) = own.split_at(G::DIM);
            for (side, sum) in sides.iter_mut().enumerate() {
                let sign = [1.0, -1.0][side];
                for (r, y) in pinned.iter().enumerate() {
                    let mut along = G::Lin::zero();
                    along[r] = sign;
                    let torque = G::torque(arms[side], along);
                    add_lanes(&mut sum[r], sign, y);
                    for c in 0..G::ANG {
                        // Nothing turns a body about its own direction.
                        if G::ANG == 1 || c != r {
                            add_lanes(&mut sum[G::DIM + c], torque[c], y);
                        }
                    }
                }
                for (w, y) in rows.now.turns[span.at as usize..].iter().zip(turned) {
                    for c in 0..G::ANG {
                        add_lanes(&mut sum[G::DIM + c], sign * w[c], y);
                    }
                }
            }
        } else {
            for (row, y) in rows.now.whole[span.at as usize..].iter().zip(own) {
                for (side, sum) in sides.iter_mut().enumerate() {
                    for c in 0..G::DIM {
                        add_lanes(&mut sum[c], [1.0, -1.0][side] * row.lin[c], y);
                    }
                    for c in 0..G::ANG {
                        add_lanes(&mut sum[G::DIM + c], row.ang[side][c], y);
                    }
                }
            }
        }
        for (&body, side) in span.bodies.iter().zip(&sides) {
            out[body as usize][..G::DOF].iter_mut().zip(side).for_each(|(sum, x)| add_lanes(sum, 1.0, x));
        }
    }
    rows.ties.sides(|row, body, wrench| {
        for c in 0..G::DIM {
            add_lanes(&mut out[body][c], wrench.lin[c], &impulses[row]);
        }
        for c in 0..G::ANG {
            add_lanes(&mut out[body][G::DIM + c], wrench.ang[c], &impulses[row]);
        }
    });
}
