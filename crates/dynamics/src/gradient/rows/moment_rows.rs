//! Rolling and torsional friction as residuals: a moment that holds lets nothing turn, one at its bound acts against the rate with all it has,
//! theory (17.51)-(17.52).

use super::contact_point::ContactPoint;
use super::friction_mode::{AT_THE_BOUND, NEAR_THE_BOUND};
use super::friction_rows::Speed;
use crate::combine::Coefficient;
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::{Stage, Switches};
use crate::gradient::system::{Residual, Sides, System, nothing};
use crate::gradient::tape::record::{Pushed, RowSource};
use crate::moments::axes;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// How an axis of the moments turns with the normal; that of the plane does not.
fn turned<G: Geometry>(point: &ContactPoint<G>, k: usize, change: G::Lin) -> G::Ang {
    if G::ANG == 1 {
        return G::Ang::zero();
    }
    let turned = if k < G::TANGENTS { point.turned(k, change) } else { change };
    G::Ang::from_slice(turned.as_slice())
}

/// The unit moment about each axis on both bodies.
fn columns<G: Geometry>(point: &ContactPoint<G>) -> [Sides<G>; 3] {
    let sides = |axis: G::Ang| [(point.bodies[0], Wrench::turning(axis)), (point.bodies[1], Wrench::turning(-axis))];
    axes::<G>(point.contact.normal, point.tangents()).map(sides)
}

/// The moments of a contact on its two bodies as its normal turns; their values are added to `total`.
pub(crate) fn impulse<G: Geometry>(
    program: &mut Program<G>,
    point: &ContactPoint<G>,
    moments: &[f64; 3],
    out: &[Option<Block>],
    total: &mut [Wrench<G>],
) {
    for (k, column) in columns(point).iter().enumerate().take(G::ANG) {
        for (body, row) in column {
            total[*body] = total[*body].plus(moments[k], *row);
        }
    }
    if G::ANG == 1 {
        return;
    }
    for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
        let Some(block) = out[point.bodies[side]] else { continue };
        program.linear(block.part(G::DIM, G::ANG), point.block.part(0, G::DIM), |x, y| {
            let dn = G::Lin::from_slice(x);
            let sum = (0..G::ANG).fold(G::Ang::zero(), |sum, k| sum + turned(point, k, dn) * (sign * moments[k]));
            y.copy_from_slice(sum.as_slice());
        });
    }
}

/// Rows of the moments of the contact whose normal row is `normal`, at velocities with their slots.
pub(crate) fn rows<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    group: &Pushed<G>,
    normal: usize,
    point: &ContactPoint<G>,
    (twists, velocity): (&[Twist<G>], &[Option<Block>]),
    system: &mut System<G>,
    switches: &mut Switches,
) {
    let RowSource::Moment { bodies, arms, pushed } = group.source else { return };
    let columns = columns(point);
    let rate = twists[point.bodies[0]].ang - twists[point.bodies[1]].ang;
    let axes = axes::<G>(point.contact.normal, point.tangents());
    let speed = |program: &mut Program<G>, k: usize| {
        let block = program.fresh(1);
        for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
            if let Some(velocity) = velocity[point.bodies[side]] {
                let row = axes[k] * sign;
                program.matrix(block, velocity.part(G::DIM, G::ANG), row.as_slice());
            }
        }
        if G::ANG > 1 {
            program.linear(block, point.block.part(0, G::DIM), |x, y| y[0] = turned(point, k, G::Lin::from_slice(x)).dot(rate));
        }
        Speed { block, value: axes[k].dot(rate), row: Residual { velocity: columns[k], pose: nothing(), time: 0.0 } }
    };
    let speeds: Vec<Speed<G>> = (0..G::ANG).map(|k| speed(program, k)).collect();
    let discs = [(0..G::TANGENTS, arms[0], Coefficient::Rolling), (G::TANGENTS..G::ANG, arms[1], Coefficient::Torsional)];
    for (part, arm, which) in discs.into_iter().filter(|(part, ..)| !part.is_empty()) {
        let first = system.count();
        let (moments, speeds) = (&group.impulses[part.clone()], &speeds[part.clone()]);
        let length = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
        let (size, fast, bound) = (length(&mut moments.iter().copied()), length(&mut speeds.iter().map(|s| s.value)), arm * pushed);
        let slides = size >= bound * (1.0 - AT_THE_BOUND);
        let slow = NEAR_THE_BOUND * stage.model.tolerances.rest_speed;
        switches.friction += usize::from(arm > 0.0 && size >= bound * (1.0 - NEAR_THE_BOUND) && arm * fast <= slow);
        // Against the moment, or where there is none along the rate.
        let toward = |k: usize| match (size > 0.0, fast > 0.0) {
            (true, _) => -moments[k] / size,
            (false, true) => speeds[k].value / fast,
            _ => 0.0,
        };
        for k in 0..part.len() {
            let out = system.next();
            let mut row = Residual::zero();
            if slides {
                // M_k + c l_n e_k = 0 with the direction e of the rate.
                system.entry(first + k, first + k, 1.0);
                system.entry(first + k, normal, arm * toward(k));
                for (block, weight) in stage.coefficient(bodies, which) {
                    program.scaled(out, block, weight * pushed * toward(k));
                }
                if part.len() > 1 && fast > 0.0 {
                    for (i, other) in speeds.iter().enumerate() {
                        let factor = bound * (f64::from(u8::from(i == k)) - toward(k) * toward(i)) / fast;
                        program.scaled(out, other.block, factor);
                        row.add(factor, &other.row);
                    }
                }
            } else {
                program.copy(out, speeds[k].block);
                row = speeds[k].row;
            }
            system.push(row, columns[part.start + k]);
        }
    }
}
