//! Rooms that are used again leave no trace in what is worked out in them.

use super::flight::heap;
use crate::error::Cause;
use crate::gradient::{Cotangents, Gradient, GradientError, Tape, Weak, Wrt};
use crate::world::World;
use carom_math::Planar;
use carom_solve::interrupt::Interrupt;
use std::sync::atomic::{AtomicUsize, Ordering};

const STEPS: usize = 60;

/// The gradient of the sum of the last positions and its states, bit by bit.
fn gradient(world: &World<Planar>) -> (Gradient, Vec<u64>) {
    let rollout = world.rollout(STEPS, &[], Tape::Full).expect("balls move");
    let size = world.model().bodies.len() * 3;
    let found = rollout.backward(&Cotangents { poses: vec![1.0; size], twists: vec![0.5; size] }).expect("a tape");
    let bits = rollout.states.iter().flat_map(|state| &state.poses).map(|pose| pose.position.x.to_bits()).collect();
    (found, bits)
}

#[test]
fn rooms_used_again_change_no_bit() {
    let world = heap();
    let first = gradient(&world);
    assert_eq!(first, gradient(&world));
    assert_eq!(first, gradient(&world.copy()));
}

#[test]
fn rooms_of_one_model_serve_another() {
    let world = heap();
    let first = gradient(&world);
    let mut model = world.model().clone();
    for body in &mut model.bodies {
        body.mass *= 1.5;
        for collider in &mut body.colliders {
            if let carom_geometry::planar::Shape::Ball { radius } = &mut collider.shape {
                *radius *= 0.9;
            }
        }
    }
    let altered = world.altered(model.clone(), world.state().clone()).expect("a sound world");
    let fresh = World::new(model, world.state().clone()).expect("a sound world");
    let found = gradient(&altered);
    assert_eq!(found, gradient(&fresh));
    assert_ne!(found.1, first.1);
}

/// A token that is found raised after so many looks.
fn raised_after(looks: usize) -> Interrupt {
    let asked = AtomicUsize::new(0);
    Interrupt::asking(move || asked.fetch_add(1, Ordering::Relaxed) == looks)
}

#[test]
fn a_run_that_is_stopped_says_so_and_leaves_no_trace() {
    let world = heap();
    let first = gradient(&world);
    let size = world.model().bodies.len() * 3;
    let cotangents = Cotangents { poses: vec![1.0; size], twists: vec![0.5; size] };
    for tape in [Tape::Full, Tape::Every(7)] {
        let error = world.rollout_unless(STEPS, &[], tape, &raised_after(STEPS / 2)).expect_err("stopped half-way");
        assert_eq!(error.cause, Cause::Stopped);
        let rollout = world.rollout(STEPS, &[], tape).expect("balls move");
        for looks in [0, STEPS / 2] {
            let interrupt = raised_after(looks);
            let error = rollout.backward_unless(&cotangents, Wrt::Everything, Weak::AsSolved, &interrupt).expect_err("stopped");
            assert_eq!(error, GradientError::Stopped);
        }
        assert_eq!(first.0, rollout.backward(&cotangents).expect("a tape"));
    }
    assert_eq!(first, gradient(&world));
}

#[test]
fn a_run_that_no_memory_holds_is_refused() {
    let error = heap().rollout(usize::MAX / 2, &[], Tape::Off).expect_err("too long");
    assert_eq!(error.cause, Cause::TooManySteps { steps: usize::MAX / 2 });
}
