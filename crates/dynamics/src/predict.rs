//! Stage 3: loads, and the accelerations they give, theory (2.2)-(2.3).

use crate::body_load::{BodyLoad, RESISTANCES};
use crate::constraints::{Joint, JointKind, Row};
use crate::island::parts::{Links, Loading, Members, Motion, System};
use crate::island::{Context, Island, Loads};
use crate::model::Model;
use crate::options::Options;
use crate::tendon::{self, least_inertia};
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};

/// Gravity, springs, damping, forces and controls at given poses and velocities; the gyroscopic torque is not a load.
pub(crate) fn loads<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, at: Instant, time: f64) {
    let model = ctx.model;
    let Island {
        members: Members { bodies, .. },
        motion: Motion { poses, twists, half, .. },
        loading: Loading { loads, worked, weight_alone, falling, forces },
        links: Links { joints, acting, tendons, .. },
        system: System { assembly, .. },
        ..
    } = island;
    // After the move the poses of the island are already q'; the velocity is then that of the move.
    let (poses, twists): (&[Pose<G>], &[Twist<G>]) = match at {
        Instant::Start => (poses, twists),
        Instant::End => (poses, half),
    };
    if *weight_alone && ctx.pushes.is_empty() {
        return;
    }
    *falling = false;
    loads.clear();
    *worked = !(acting.is_empty() && tendons.is_empty() && forces.is_empty());
    for (local, twist) in bodies.iter().zip(twists) {
        let mut load = Loads::zero();
        if local.dynamic {
            let own = BodyLoad {
                gravity: model.gravity,
                mass: local.mass,
                inertia: local.inertia,
                resistances: if local.damped { model.bodies[local.index].resistances.list() } else { [0.0; RESISTANCES] },
                gyroscopic: false,
                twist: *twist,
            };
            if local.damped {
                load.damping = own.resisting();
                *worked = true;
            }
            load.total = own.value();
            if let Some(push) = ctx.pushes.get(local.index) {
                load.total = load.total.plus(1.0, *push);
                load.driving = *push;
                *worked = true;
            }
        }
        loads.push(load);
    }
    for &joint in acting.iter() {
        let joint = &joints[joint];
        let spec = &model.joints[joint.index];
        let [a, b] = joint.bodies;
        if let Some(spring) = spec.spring(&poses[a], &poses[b])
            && !soft_spring(model.step, [spring.stiffness, spring.damping], effective_mass(bodies, joint.bodies))
        {
            let pull = -spring.stiffness * (spring.length - spring.rest);
            let drag = -spring.damping * spring.row.speed(&twists[a], &twists[b]);
            for (body, block) in [(a, spring.row.a), (b, spring.row.b)] {
                loads[body].total = loads[body].total.plus(pull + drag, block);
                loads[body].damping = loads[body].damping.plus(drag, block);
            }
        }
        if joint.slow_pull
            && let Some((force, row)) = slow_pull(spec, ctx.asked(joint), at, [(&poses[a], &twists[a]), (&poses[b], &twists[b])])
        {
            for (body, block) in [(a, row.a), (b, row.b)] {
                loads[body].total = loads[body].total.plus(force, block);
                loads[body].driving = loads[body].driving.plus(force, block);
            }
        }
        if let (Some(max), Some(control)) = (spec.motor.and_then(|motor| motor.control()), joint.control) {
            let torque = ctx.controls.get(control).copied().unwrap_or(0.0).clamp(-max, max);
            let row = spec.coordinate_row(&poses[a], &poses[b]);
            for (body, block) in [(a, row.a), (b, row.b)] {
                loads[body].total = loads[body].total.plus(torque, block);
                loads[body].driving = loads[body].driving.plus(torque, block);
            }
        }
    }
    tendon::pulls(&assembly.equalities, tendons, model, at, (poses, twists), |body, pull, drag| {
        loads[body].total = loads[body].total.plus(1.0, pull);
        loads[body].damping = loads[body].damping.plus(1.0, drag);
    });
    for &(index, local, control) in forces.iter() {
        let force = &model.forces[index];
        if time < force.from || time > force.until {
            continue;
        }
        let scale = control.map_or(1.0, |c| ctx.controls.get(c).copied().unwrap_or(0.0));
        let arm = poses[local].direction(force.at);
        let wrench = Wrench { lin: force.force, ang: G::torque(arm, force.force) + force.torque };
        loads[local].total = loads[local].total.plus(scale, wrench);
        loads[local].driving = loads[local].driving.plus(scale, wrench);
    }
    *weight_alone = !*worked;
}

/// Whether the motor of a joint pulls so slowly that `verlet` takes it at both ends of a move and not ahead of it: then it is exact to second order,
/// theory (21.9). The inertia that it is measured against is the least that the coordinate may have: that of its two bodies alone, at any pose.
pub(crate) fn pulls_slowly<G: Geometry>(model: &Model<G>, joint: &Joint<G>) -> bool {
    let Some(pull) = joint.motor.and_then(|motor| motor.pull(0.0)) else { return false };
    if !model.options.scheme().kicks_again() {
        return false;
    }
    model.step * (model.step * pull.stiffness + pull.damping) <= least_inertia(model, joint)
}

/// The force of a motor that pulls slowly, as a load: at the end of a move its damper is a row and only a spring alone is one.
pub(crate) fn slow_pull<G: Geometry>(
    joint: &Joint<G>,
    asked: f64,
    at: Instant,
    [a, b]: [(&Pose<G>, &Twist<G>); 2],
) -> Option<(f64, Row<G>)> {
    let motor = joint.motor?;
    let pull = motor.pull(asked)?;
    if at == Instant::End && pull.damping > 0.0 {
        return None;
    }
    let (coordinate, row) = joint.coordinate_and_row(a.0, b.0);
    let max = motor.row_max().unwrap_or(f64::INFINITY);
    let way = pull.position - joint.as_motor_measures(&pull, coordinate);
    let force = pull.stiffness * way + pull.damping * (pull.rate - row.speed(a.1, b.1));
    Some((force.clamp(-max, max), row))
}

/// Which end of a move the loads are wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instant {
    /// At q with v.
    Start,
    /// At q' with v1/2.
    End,
}

/// Whether a spring is too stiff or too strongly damped to be an explicit force at this step, theory (2.8).
pub(crate) fn soft_spring(step: f64, [stiffness, damping]: [f64; 2], mass: f64) -> bool {
    mass > 0.0 && step * (step * stiffness + damping) > mass
}

/// The smaller mass of two joined bodies \[kg\], infinite for immovable ones.
pub(crate) fn effective_mass<G: Geometry>(bodies: &[crate::island::LocalBody<G>], pair: [usize; 2]) -> f64 {
    pair.iter().map(|&b| if bodies[b].dynamic { bodies[b].mass } else { f64::INFINITY }).fold(f64::INFINITY, f64::min)
}

/// Accelerations under the loads alone, gyroscopic torque included: M^-1 (f - w x I w), theory (2.2).
pub(crate) fn accelerate<G: Geometry>(island: &mut Island<G>) {
    let Island {
        members: Members { bodies, .. },
        motion: Motion { twists, free, .. },
        loading: Loading { loads, weight_alone, falling, .. },
        ..
    } = island;
    if std::mem::replace(falling, *weight_alone && G::ANG == 1) {
        return;
    }
    free.clear();
    for ((body, twist), load) in bodies.iter().zip(twists.iter()).zip(loads.iter()) {
        if !body.dynamic {
            free.push(Twist::zero());
            continue;
        }
        let wrench = Wrench { lin: load.total.lin, ang: load.total.ang - G::gyroscopic(body.inertia, twist.ang) };
        free.push(body.response(&wrench));
    }
}

/// v + s t a for one body, theory (2.3): its velocity before rows act in a move of length t. Under `euler` the gyroscopic torque is implicit,
/// theory (2.32).
pub(crate) fn kick<G: Geometry>(island: &Island<G>, body: usize, options: &Options, t: f64) -> Twist<G> {
    kick_found(island, body, options, t).0
}

/// The same, and whether the implicit torque was found; where it was not it is explicit.
pub(crate) fn kick_found<G: Geometry>(island: &Island<G>, body: usize, options: &Options, t: f64) -> (Twist<G>, bool) {
    let scheme = options.scheme();
    let twist = island.motion.twists[body];
    let mut kicked = twist.plus(scheme.share * t, island.motion.free[body]);
    let mut found = true;
    let local = &island.members.bodies[body];
    if options.forward() && local.dynamic {
        kicked.ang -= forward_gyroscopic(island, body, t);
    }
    if scheme.one_solve() && G::ANG > 1 && local.dynamic {
        let momentum = G::inertia_apply(local.inertia, twist.ang) + island.loading.loads[body].total.ang * t;
        let turns = G::inertia_apply(local.inv_inertia, momentum).norm() > 0.0;
        match if turns { G::implicit_rate(local.inertia, t, momentum, twist.ang) } else { Some(kicked.ang) } {
            Some(rate) => kicked.ang = rate,
            None => found = false,
        }
    }
    (kicked, found)
}

/// How much the gyroscopic torque of half a move of length t slows a body more at the velocity after the torques of the loads than before them,
/// theory (13.1) [rad/s].
pub(crate) fn forward_gyroscopic<G: Geometry>(island: &Island<G>, body: usize, t: f64) -> G::Ang {
    let local = &island.members.bodies[body];
    let before = island.motion.twists[body].ang;
    let after = before + G::inertia_apply(local.inv_inertia, island.loading.loads[body].total.ang) * (0.5 * t);
    let torque = G::gyroscopic(local.inertia, after) - G::gyroscopic(local.inertia, before);
    G::inertia_apply(local.inv_inertia, torque) * (0.5 * t)
}

/// Largest turn \[rad\] in a move of length t of a jointed body, or of the line between the anchors of a distance joint: a short rod between
/// slow bodies turns fast, and start-pose impulses along it go astray just as much, theory (2.9).
pub(crate) fn largest_turn<G: Geometry>(island: &Island<G>, ctx: &Context<G>, twists: &[Twist<G>], t: f64) -> f64 {
    let fold = |most: f64, v: &Twist<G>| most.max(v.ang.dot(v.ang));
    let most = if island.members.loose {
        island.members.bodies.iter().zip(twists).filter(|(b, _)| b.jointed).fold(0.0f64, |m, (_, v)| fold(m, v))
    } else {
        // What does not move does not turn.
        twists.iter().fold(0.0f64, fold)
    };
    let mut fastest = most.sqrt();
    for &joint in &island.links.acting {
        let joint = &island.links.joints[joint];
        let spec = &ctx.model.joints[joint.index];
        if spec.kind == JointKind::Distance {
            let [a, b] = joint.bodies;
            let [pa, pb] = spec.points(&island.motion.poses[a], &island.motion.poses[b]);
            let speed = twists[a].at(pa - island.motion.poses[a].position) - twists[b].at(pb - island.motion.poses[b].position);
            fastest = fastest.max(speed.norm() / spec.measures.length);
        }
    }
    fastest * t
}
