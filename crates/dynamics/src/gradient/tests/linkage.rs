//! Linkages by their own two maps and by the many small ones: two roads to one derivative.

use crate::body_load::Resistances;
use crate::constraints::{Joint, JointKind, JointSpec, Motor};
use crate::gradient::named::parameters::Parameters;
use crate::gradient::schedule::program::Program;
use crate::gradient::tape::step::{StepRecord, Wrt, differentiate};
use crate::gradient::{Cotangents, Direction, Tape, Weak};
use crate::model::{Body, BodyKind, Model};
use crate::state::State;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Planar, Pose, Spatial, Twist, Vector};

/// Numbers in [-1, 1), always the same.
pub(super) fn numbers(count: usize, mut state: u64) -> Vec<f64> {
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// An arm of five links on a base that moves by itself, joined by these kinds in turn, with a spring, a driven joint, damping and a body that flies
/// free; one hinge may be there twice, which makes every row of it redundant.
fn arm<G: Geometry>(kinds: &[JointKind], doubled: bool) -> World<G> {
    const LINK: f64 = 0.4;
    let mut model = Model::new("arm");
    let mut state = State::empty();
    let along = |x: f64| {
        let mut out = G::Lin::zero();
        (out[0], out[1]) = (x, 0.1 * x);
        out
    };
    let moments = [0.012, 0.017, 0.021];
    let base = Body::new("base", BodyKind::Kinematic, 0.0, G::inertia_zero());
    let mut bodies = vec![(base, 0.0)];
    for k in 0..6 {
        let mut body = Body::new(format!("link {k}"), BodyKind::Dynamic, 1.0 + 0.3 * k as f64, G::inertia_from_moments(&moments[..G::ANG]));
        body.resistances = Resistances::by_key(|key| if key == "damping" { 0.05 * k as f64 } else { 0.35 });
        bodies.push((body, LINK * (k as f64 + 0.5)));
    }
    for (k, (body, x)) in bodies.into_iter().enumerate() {
        model.bodies.push(body);
        state.poses.push(Pose { position: along(x), rotation: G::identity() });
        let mut twist = Twist::<G>::zero();
        if k == 0 {
            (twist.lin[1], twist.ang[0]) = (0.3, 0.8);
        } else if k == 6 {
            (twist.lin[0], twist.ang[G::ANG - 1]) = (1.0, 3.0);
        }
        state.twists.push(twist);
    }
    let mut axis = G::Lin::zero();
    axis[G::DIM - 1] = 1.0;
    let mut driven = false;
    for k in 0..5 {
        let kind = kinds[k % kinds.len()];
        let mut spec = JointSpec::<G>::new(format!("joint {k}"), kind, [Some(k + 1), Some(k)]);
        let has = |key: &str| kind.keys::<G>().contains(&key);
        spec.anchor = has("anchor").then(|| along(LINK * k as f64));
        spec.anchors = has("anchors").then(|| [state.poses[k + 1].position, along(LINK * (k as f64 - 0.7))]);
        spec.axis = has("axis").then_some(axis);
        if has("axes") {
            let mut other = G::Lin::zero();
            other[0] = 1.0;
            spec.axes = Some([axis, other]);
        }
        spec.measures.lead = has("lead").then_some(0.3);
        let drives = !driven && k > 0 && kind.has_coordinate::<G>();
        driven |= drives;
        spec.motor = drives.then_some(Motor::Control { max: 5.0 });
        if doubled && k == 1 {
            let mut again = JointSpec::<G>::new("again", kind, [Some(k + 1), Some(k)]);
            (again.anchor, again.axis) = (spec.anchor, spec.axis);
            model.joints.push(Joint::new(again, &state.poses[k + 1], &state.poses[k]).expect("a sound joint"));
        }
        model.joints.push(Joint::new(spec, &state.poses[k + 1], &state.poses[k]).expect("a sound joint"));
    }
    let mut spring = JointSpec::<G>::new("spring", JointKind::Spring, [Some(5), Some(1)]);
    spring.anchors = Some([state.poses[5].position, state.poses[1].position]);
    (spring.measures.stiffness, spring.measures.damping) = (Some(20.0), Some(0.5));
    model.joints.push(Joint::new(spring, &state.poses[5], &state.poses[1]).expect("a sound spring"));
    model.gravity[1] = -9.81;
    World::new(model, state).expect("a sound world")
}

/// A way to the derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Road {
    /// Two maps over a linkage.
    Own,
    /// Many small maps, and a factor by blocks.
    General,
    /// The same with the whole matrix.
    Dense,
}

/// Outputs of a program run forwards from `direction` and gradients of its run backwards from `cotangents`, and how many linkages were factored as such.
fn run<G: Geometry>(world: &World<G>, record: &StepRecord<G>, wrt: Wrt, road: Road, seed: u64) -> (Vec<f64>, Vec<f64>, usize) {
    let (model, layout) = (world.model(), Parameters::of(world.model()));
    let mut program = Program::<G>::default();
    program.general = road != Road::Own;
    program.sparse.refuses = road == Road::Dense;
    let (ends, _) = differentiate(&mut program, model, &layout, record, (wrt, Weak::AsSolved));
    let (inputs, outputs) = ([ends.poses, ends.twists, ends.controls, ends.parameters], [ends.poses_after, ends.twists_after]);
    let mut scratch = Vec::new();
    let mut forward = vec![0.0; program.slots()];
    for (k, block) in inputs.into_iter().enumerate() {
        if !program.is_frozen(block) {
            forward[block.range()].copy_from_slice(&numbers(block.len(), seed + k as u64));
        }
    }
    program.tangent(model, &mut forward, &mut scratch);
    let mut backward = vec![0.0; program.slots()];
    for (k, block) in outputs.into_iter().enumerate() {
        backward[block.range()].copy_from_slice(&numbers(block.len(), seed + 10 + k as u64));
    }
    program.adjoint(model, &mut backward, &mut scratch);
    program.settle(model, &mut backward, &mut scratch);
    let gather = |x: &[f64], blocks: &[crate::gradient::schedule::program::Block]| {
        blocks.iter().flat_map(|b| x[b.range()].to_vec()).collect::<Vec<f64>>()
    };
    (gather(&forward, &outputs), gather(&backward, &inputs), program.plain_linkages())
}

fn both_roads<G: Geometry>(kinds: &[JointKind], doubled: bool) {
    agree(arm::<G>(kinds, doubled), 40, !doubled, &format!("{kinds:?}"));
}

/// The derivative of a step after some is the same by all roads; `plain` where the linkage needs no search for pivots.
pub(super) fn agree<G: Geometry>(mut world: World<G>, steps: usize, plain: bool, name: &str) {
    let controls = vec![1.5; world.model().control_count()];
    for _ in 0..steps {
        world.step_with(&controls).expect("the linkage moves");
    }
    let (_, record) = world.step_recorded(&controls).expect("the linkage moves");
    for wrt in [Wrt::Everything, Wrt::StatesAndControls] {
        let (forward, backward, linkages) = run(&world, &record, wrt, Road::Own, 3);
        assert_eq!(linkages > 0, plain, "{name}: {linkages}");
        // Rows that repeat others share their impulses as each road likes.
        let roads = if plain { &[Road::General, Road::Dense][..] } else { &[Road::General] };
        for &road in roads {
            let (general_forward, general_backward, none) = run(&world, &record, wrt, road, 3);
            assert_eq!(none, 0, "{name}");
            for (one, other) in [(&forward, &general_forward), (&backward, &general_backward)] {
                let size = other.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                assert!(size > 0.1);
                for (a, b) in one.iter().zip(other.iter()) {
                    assert!((a - b).abs() < 1e-11 * size, "{name} {road:?}: {a} {b} of {size}");
                }
            }
        }
    }
}

/// Multiply-adds of the factors of a step of a linkage.
pub(super) fn operations<G: Geometry>(world: &mut World<G>, road: Road) -> u64 {
    let (_, record) = world.step_recorded(&[]).expect("the linkage moves");
    let mut program = Program::<G>::default();
    program.general = road != Road::Own;
    differentiate(&mut program, world.model(), &Parameters::of(world.model()), &record, (Wrt::StatesAndControls, Weak::AsSolved));
    assert_eq!(program.plain_linkages() > 0, road == Road::Own);
    program.linkage_operations() + program.sparse.operations()
}

#[test]
fn linkages_have_one_derivative_by_both_roads_in_the_plane() {
    both_roads::<Planar>(&[JointKind::Hinge], false);
    both_roads::<Planar>(&[JointKind::Slider, JointKind::Hinge, JointKind::Weld, JointKind::Distance], false);
}

#[test]
fn linkages_have_one_derivative_by_both_roads_in_space() {
    both_roads::<Spatial>(&[JointKind::Hinge, JointKind::Ball], false);
    both_roads::<Spatial>(&[JointKind::Weld, JointKind::Universal, JointKind::Hinge, JointKind::Cylindrical, JointKind::Distance], false);
    both_roads::<Spatial>(&[JointKind::Hinge, JointKind::Screw, JointKind::Ball, JointKind::Screw, JointKind::Slider], false);
    both_roads::<Spatial>(&[JointKind::Slider, JointKind::Planar, JointKind::Ball], false);
}

#[test]
fn rows_that_repeat_others_are_left_to_a_search_for_pivots() {
    both_roads::<Planar>(&[JointKind::Hinge], true);
    both_roads::<Spatial>(&[JointKind::Hinge], true);
}

/// Over many steps: what waits in sums comes back, and the transpose identity holds.
#[test]
fn a_rollout_backwards_is_the_transpose_of_the_rollout_forwards() {
    let world = arm::<Spatial>(&[JointKind::Hinge, JointKind::Ball], false);
    let rollout = world.rollout(30, &[], Tape::Full).expect("the arm moves");
    let (size, count) = (rollout.states[0].poses.len() * 6, rollout.layout().len);
    let (poses, twists) = (numbers(size, 5), numbers(size, 6));
    let gradient = rollout.backward(&Cotangents { poses: poses.clone(), twists: twists.clone() }).expect("a tape");
    let direction =
        Direction { poses: numbers(size, 7), twists: numbers(size, 8), controls: numbers(30, 9), parameters: numbers(count, 10) };
    let (moved, sped) = rollout.forward(&direction).expect("a tape");
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let left = dot(&moved, &poses) + dot(&sped, &twists);
    let right = dot(&gradient.poses, &direction.poses)
        + dot(&gradient.twists, &direction.twists)
        + dot(&gradient.controls, &direction.controls)
        + dot(&gradient.parameters, &direction.parameters);
    let parts = dot(&gradient.parameters, &gradient.parameters).sqrt() * dot(&direction.parameters, &direction.parameters).sqrt();
    assert!(parts > 1.0 && (left - right).abs() < 1e-12 * parts, "{left} {right} of {parts}");
}
