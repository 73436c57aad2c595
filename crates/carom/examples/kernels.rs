//! Twelve pieces of work by name, for counting their instructions: `./bench --kernels` runs each under callgrind with two counts and takes the difference.
//!
//! Run: `cargo run --release -p carom --example kernels -- NAME COUNT`; without a name, prints the names.

use carom::dynamics::gradient::{Cotangents, Tape, Weak, Wrt};
use carom::prelude::*;
use carom::scene::{Scene, from_toml, scene};

/// What is done over and over.
#[derive(Clone, Copy)]
enum Work {
    /// A step.
    Step,
    /// Ten steps with a tape and their gradient.
    Backward,
    /// The dense derivative of a step.
    Jacobian,
    /// The derivative of a step in joint coordinates.
    Linearise,
}

const GROUND: &str = "[[body]]\nname = \"ground\"\nkind = \"static\"\nfriction = 0.5\nshape = { half_space = [0, 0, 1] }\n";

fn ball() -> String {
    "dimension = 3\n[[body]]\nname = \"ball\"\nshape = { ball = 0.2 }\nspin = [1, 2, 3]\n".to_string()
}

fn stack() -> String {
    format!(
        "dimension = 3\nstep = 0.004\n{GROUND}[[repeat]]\ncount = 10\noffset = [0, 0, 0.5]\nbody = {{ name = \"box\", shape = {{ box = [0.5, 0.5, 0.5] }}, friction = 0.5, position = [0, 0, 0.25] }}\n"
    )
}

fn chain(links: usize) -> String {
    format!(
        "dimension = 3\nstep = 0.001\n[[repeat]]\ncount = {links}\noffset = [0.1, 0, 0]\nbody = {{ name = \"rod\", mass = 0.1, inertia = [1e-5, 1e-4, 1e-4], position = [0.05, 0, 0] }}\n\
         joint = {{ name = \"pin\", kind = \"hinge\", between = [\"self\", \"next\"], anchor = [0.1, 0, 0], axis = [0, 1, 0] }}\n\
         [[joint]]\nname = \"hook\"\nkind = \"hinge\"\nbetween = [\"rod_0\", \"world\"]\nanchor = [0, 0, 0]\naxis = [0, 1, 0]\n"
    )
}

/// A trunk on two legs, with motors, limits and springs.
fn legs() -> String {
    let mut text = format!(
        "dimension = 3\nstep = 0.004\n{GROUND}[[body]]\nname = \"trunk\"\nshape = {{ box = [0.6, 0.3, 0.2] }}\nposition = [0, 0, 0.8]\nspin = [0.2, -0.4, 0.3]\nfriction = 0.5\n"
    );
    for (name, x) in [("fore", 0.2), ("hind", -0.25)] {
        text += &format!(
            "[[body]]\nname = \"{name}\"\nshape = {{ capsule = [0.6, 0.04] }}\nposition = [{x}, 0, 0.4]\nfriction = 0.5\n[[joint]]\nname = \"{name}_hip\"\nkind = \"hinge\"\n\
             between = [\"{name}\", \"trunk\"]\nanchor = [{x}, 0, 0.7]\naxis = [0, 1, 0]\nlimits = [-0.6, 0.5]\nmotor = {{ control = true, stiffness = 20, damping = 2, max = 30 }}\n"
        );
    }
    text
}

/// Name, scene, steps before it starts, work.
fn kernels() -> Vec<(&'static str, String, usize, Work)> {
    let embedded = |name: &str| scene(name).map_or_else(String::new, |found| found.text.to_string());
    vec![
        ("flight", ball(), 5, Work::Step),
        ("double_pendulum", embedded("double_pendulum"), 20, Work::Step),
        ("chain_10", chain(10), 20, Work::Step),
        ("chain_100", chain(100), 20, Work::Step),
        ("stack", stack(), 100, Work::Step),
        ("cradle", embedded("newton_cradle"), 5, Work::Step),
        ("legs_air", legs(), 2, Work::Step),
        ("legs_ground", legs(), 150, Work::Step),
        ("backward_chain", chain(10), 20, Work::Backward),
        ("backward_stack", stack(), 100, Work::Backward),
        ("jacobian_legs", legs(), 150, Work::Jacobian),
        ("linearise_legs", legs(), 150, Work::Linearise),
    ]
}

fn work<G: carom::geometry::Geometry>(
    mut world: World<G>,
    warm: usize,
    what: Work,
    count: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    for _ in 0..warm {
        world.step()?;
    }
    for _ in 0..count {
        match what {
            Work::Step => {
                world.step()?;
            }
            Work::Backward => {
                let rollout = world.rollout(10, &[], Tape::Full)?;
                let ones = vec![1.0; world.model().bodies.len() * G::DOF];
                rollout.backward(&Cotangents { poses: ones, twists: Vec::new() })?;
            }
            Work::Jacobian => {
                world.rollout(1, &[], Tape::Full)?.jacobian(0, Wrt::StatesAndControls, Weak::AsSolved, &Interrupt::NEVER)?;
            }
            Work::Linearise => {
                world.linearise(&[], Weak::AsSolved, &Interrupt::NEVER)?;
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let all = kernels();
    let Some(name) = arguments.first() else {
        all.iter().for_each(|kernel| println!("{}", kernel.0));
        return Ok(());
    };
    let count = arguments.get(1).map_or(Ok(10), |text| text.parse::<usize>())?;
    let Some((_, text, warm, what)) = all.into_iter().find(|kernel| kernel.0 == name) else {
        return Err(format!("unknown kernel {name:?}").into());
    };
    match from_toml(&text, name)? {
        Scene::Planar(scene) => work(World::new(scene.model, scene.state)?, warm, what, count),
        Scene::Spatial(scene) => work(World::new(scene.model, scene.state)?, warm, what, count),
    }
}
