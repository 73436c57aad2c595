//! Reads a scene of numbers from standard input and writes poses and velocities of all bodies after every step, as little-endian f64.
//!
//! Input, separated by blanks: gravity (2), step, friction, restitution, steps; number of bodies, each as round (0 or 1), size (2), place (2),
//! angle, velocity (2), spin, mass, fixed, ghost; number of pins, each as body a (-1: the world), body b, place (2).

use rapier2d_f64::prelude::*;
use std::io::{Read, Write};

/// Solver iterations, more than the default of 4.
const ITERATIONS: usize = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let mut next = || -> Result<f64, Box<dyn std::error::Error>> { Ok(numbers.next().ok_or("the scene ends early")??) };
    let mut world = PhysicsWorld::default();
    world.gravity = Vector::new(next()?, next()?);
    world.integration_parameters.dt = next()?;
    world.integration_parameters.num_solver_iterations = ITERATIONS;
    let (friction, restitution, steps) = (next()?, next()?, next()? as usize);
    let mut bodies = Vec::new();
    for _ in 0..next()? as usize {
        let (round, size) = (next()? > 0.0, [next()?, next()?]);
        let (place, angle) = (Vector::new(next()?, next()?), next()?);
        let (velocity, spin, mass) = (Vector::new(next()?, next()?), next()?, next()?);
        let (fixed, ghost) = (next()? > 0.0, next()? > 0.0);
        let body = if fixed { RigidBodyBuilder::fixed() } else { RigidBodyBuilder::dynamic() };
        let body = body.translation(place).rotation(angle).linvel(velocity).angvel(spin).can_sleep(false).ccd_enabled(true);
        let shape = if round { ColliderBuilder::ball(size[0]) } else { ColliderBuilder::cuboid(size[0] / 2.0, size[1] / 2.0) };
        let groups = if ghost { InteractionGroups::none() } else { InteractionGroups::all() };
        let shape = shape.mass(mass).friction(friction).restitution(restitution).collision_groups(groups);
        bodies.push(world.insert(body, shape).0);
    }
    let ground = world.insert_body(RigidBodyBuilder::fixed());
    for _ in 0..next()? as usize {
        let (a, b, place) = (next()?, next()? as usize, Vector::new(next()?, next()?));
        let a = if a < 0.0 { ground } else { bodies[a as usize] };
        let local = |body: RigidBodyHandle| world.bodies[body].position().inverse_transform_point(place);
        let joint = RevoluteJointBuilder::new().local_anchor1(local(a)).local_anchor2(local(bodies[b])).contacts_enabled(false);
        world.insert_impulse_joint(a, bodies[b], joint);
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for step in 0..=steps {
        if step > 0 {
            world.step();
        }
        for handle in &bodies {
            let body = &world.bodies[*handle];
            let (place, velocity) = (body.translation(), body.linvel());
            for x in [place.x, place.y, body.rotation().angle(), velocity.x, velocity.y, body.angvel()] {
                out.write_all(&x.to_le_bytes())?;
            }
        }
    }
    Ok(())
}
