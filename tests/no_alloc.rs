//! Nothing allocates after warm-up: a global allocator counts, steady scenes step, the count stays.
#![allow(unsafe_code)]

use carom_dynamics::constraints::{JointFunction, MAX_COLUMNS, MAX_POSE_COLUMNS, MAX_ROWS};
use carom_dynamics::options::{ImpactLaw, Integrator, SolverChoice};
use carom_dynamics::{JointKind, Motor, World};
use carom_math::block_matrix::BlockMatrix;
use carom_math::block_sparse::Pattern;
use carom_math::ldl::{Order, Pivots, Symbolic};
use carom_math::lu::LuFactor;
use carom_math::{Planar, Spatial, Twist};
use carom_tests::crowds::{Solids, pile};
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator with a counter.
struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        trace();
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        trace();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Set while the origin of one allocation is wanted.
static TRACE: AtomicUsize = AtomicUsize::new(0);

/// Prints where the first few allocations after warm-up come from, with `CAROM_TRACE_ALLOC=1`.
fn trace() {
    if TRACE.load(Ordering::Relaxed) > 0 {
        let left = TRACE.swap(0, Ordering::Relaxed);
        eprintln!("{}", std::backtrace::Backtrace::force_capture());
        TRACE.store(left - 1, Ordering::Relaxed);
    }
}

/// Allocations per step after warm-up.
fn per_step<G: Stage>(name: &str, mut world: World<G>, warm_up: usize, steps: usize) -> bool {
    let controls = vec![0.0; world.model().control_count()];
    for _ in 0..warm_up {
        world.step_with(&controls).expect("warm-up");
    }
    if std::env::var("CAROM_TRACE_ALLOC").is_ok() {
        TRACE.store(3, Ordering::Relaxed);
    }
    let before = COUNT.load(Ordering::Relaxed);
    for _ in 0..steps {
        world.step_with(&controls).expect("a steady step");
    }
    let count = COUNT.load(Ordering::Relaxed) - before;
    TRACE.store(0, Ordering::Relaxed);
    println!("{} {name}: {count} allocations in {steps} steps", G::NAME);
    count == 0
}

fn stack<G: Stage>() -> World<G> {
    let mut scene = Scene::<G>::new(1.0 / 240.0);
    scene.ground(0.5, 0.0);
    for level in 0..10 {
        scene.body(G::cuboid(1.0, 1.0), 1.0, pose(0.0, 0.5 + f64::from(level), 0.0), 0.5, 0.0);
    }
    scene.world()
}

fn chain<G: Stage>() -> World<G> {
    let mut scene = Scene::<G>::new(0.001);
    let mut last = None;
    for link in 0..20 {
        let x = 0.1 * f64::from(link);
        let body = scene.particle(0.1, G::inertia_from_moments(&[1e-4, 1e-4, 1e-4]), pose(x + 0.05, 0.0, 0.0));
        scene.hinge(body, last, G::at(x, 0.0));
        last = Some(body);
    }
    scene.world()
}

/// A chain of balls that slides on the ground, solved by insertion into the factor of its joints.
fn inserted<G: Stage>() -> World<G> {
    let mut scene = Scene::<G>::new(0.005);
    scene.model.options.solver = SolverChoice::Articulated;
    scene.ground(0.1, 0.0);
    let mut last = None;
    for link in 0..12 {
        let x = 0.2 * f64::from(link);
        let body = scene.body(G::ball(0.05), 0.1, pose(x, 0.05, 0.0), 0.1, 0.0);
        scene.moving(body, G::at(5.0, 0.0), G::rate(0.0));
        if let Some(last) = last {
            scene.joint(JointKind::Weld, [Some(body), Some(last)], |spec| spec.anchor = Some(G::at(x - 0.1, 0.05)));
        }
        last = Some(body);
    }
    scene.world()
}

fn sliding<G: Stage>() -> World<G> {
    let mut scene = Scene::<G>::new(0.005);
    scene.ground(0.1, 0.0);
    let body = scene.body(G::cuboid(1.0, 0.4), 1.0, pose(0.0, 0.2, 0.0), 0.1, 0.0);
    scene.moving(body, G::at(5.0, 0.0), G::rate(0.0));
    scene.world()
}

fn bouncing<G: Stage>() -> World<G> {
    let mut scene = Scene::<G>::new(0.005);
    scene.ground(0.1, 1.0);
    scene.body(G::ball(0.1), 1.0, pose(0.0, 1.0, 0.0), 0.1, 1.0);
    scene.world()
}

/// A frictionless box that bounces flat for ever: impacts of several contacts.
fn flat_bounces<G: Stage>() -> World<G> {
    let mut scene = Scene::<G>::new(0.005);
    scene.ground(0.0, 1.0);
    scene.body(G::cuboid(0.4, 0.4), 1.0, pose(0.0, 0.5, 0.0), 0.0, 1.0);
    scene.world()
}

/// A pendulum held by a position motor, whose row is soft.
fn motor<G: Stage>() -> World<G> {
    let mut scene = Scene::<G>::new(0.005);
    let body = scene.particle(1.0, G::inertia_from_moments(&[0.1, 0.1, 0.1]), pose(0.5, 0.0, 0.0));
    let joint = scene.hinge(body, None, G::at(0.0, 0.0));
    scene.model.joints[joint].motor = Some(Motor::Position { position: 0.5, stiffness: 100.0, damping: 5.0, max: 50.0 });
    scene.world()
}

/// A spring so stiff at its step that it becomes a soft row.
fn stiff_spring<G: Stage>() -> World<G> {
    let mut scene = Scene::<G>::new(0.01);
    let body = scene.particle(1.0, G::inertia_from_moments(&[0.1, 0.1, 0.1]), pose(1.0, 0.0, 0.0));
    scene.joint(JointKind::Spring, [Some(body), None], |spec| {
        spec.anchors = Some([G::at(1.0, 0.0), G::at(0.0, 0.0)]);
        spec.measures.stiffness = Some(1e6);
        spec.measures.damping = Some(1.0);
    });
    scene.world()
}

/// The bouncing ball under another impact law.
fn bouncing_by<G: Stage>(law: ImpactLaw) -> World<G> {
    let world = flat_bounces::<G>();
    let (mut model, state) = (world.model().clone(), world.state().clone());
    model.options.impact = law;
    World::new(model, state).expect("a scene")
}

/// A scene under the midpoint rule.
fn by_midpoint<G: Stage>(world: World<G>) -> World<G> {
    let (mut model, state) = (world.model().clone(), world.state().clone());
    model.options.integrator = Integrator::EnergyMomentum;
    World::new(model, state).expect("a scene")
}

fn all<G: Stage>() -> bool {
    let mut good = per_step::<G>("stack of ten", stack(), 60, 200);
    good &= per_step::<G>("chain of twenty", chain(), 200, 200);
    good &= per_step::<G>("chain sliding on the ground", inserted(), 60, 100);
    good &= per_step::<G>("sliding box", sliding(), 60, 100);
    good &= per_step::<G>("bouncing ball", bouncing(), 400, 400);
    good &= per_step::<G>("box bouncing flat", flat_bounces(), 400, 400);
    good &= per_step::<G>("position motor", motor(), 200, 200);
    good &= per_step::<G>("stiff spring", stiff_spring(), 200, 200);
    good &= per_step::<G>("stack of ten, energy-momentum", by_midpoint(stack()), 60, 200);
    good &= per_step::<G>("chain of twenty, energy-momentum", by_midpoint(chain()), 200, 200);
    good &= per_step::<G>("bouncing ball, energy-momentum", by_midpoint(bouncing()), 400, 400);
    good &= per_step::<G>("position motor, energy-momentum", by_midpoint(motor()), 200, 200);
    for law in [ImpactLaw::Reflections, ImpactLaw::GaussSeidel(Default::default()), ImpactLaw::Stronge, ImpactLaw::Newton] {
        good &= per_step::<G>(&format!("box bouncing flat, {law:?}"), bouncing_by(law), 400, 400);
    }
    good
}

/// Derivatives of joints, from the first.
fn joint_derivatives<G: Stage>() -> bool {
    let world = motor::<G>();
    let (joint, poses) = (&world.model().joints[0], [carom_math::Pose::identity(); 2]);
    let twists = [Twist::zero(); 2];
    let mut matrix = [0.0; MAX_POSE_COLUMNS * MAX_COLUMNS];
    let before = COUNT.load(Ordering::Relaxed);
    for function in [JointFunction::Equalities, JointFunction::Coordinate] {
        joint.parameter_derivative(function, &poses[0], &poses[1], &mut matrix);
        joint.rate_derivative(function, &poses[0], &poses[1], &twists, &mut matrix);
        joint.wrench_derivative(function, &poses[0], &poses[1], &[1.0; MAX_ROWS], &mut matrix);
    }
    let count = COUNT.load(Ordering::Relaxed) - before;
    println!("{} derivatives of a joint: {count} allocations", G::NAME);
    count == 0
}

/// An unsymmetric chain factored again and again, singular ones too.
fn unsymmetric_factor() -> bool {
    const NODES: usize = 20;
    let edges: Vec<_> = (1..NODES).map(|node| (node - 1, node)).collect();
    let pattern = Arc::new(Pattern::new(&[3; NODES], &edges).expect("a chain"));
    let mut matrix = BlockMatrix::new(Arc::clone(&pattern));
    let mut factor = LuFactor::new(Arc::new(Symbolic::analyse(&pattern, Order::MinimumDegree).expect("an order")));
    let mut x = vec![1.0; pattern.rows()];
    let before = COUNT.load(Ordering::Relaxed);
    for regular in [true, false, true] {
        matrix.clear();
        for node in 0..NODES {
            let diagonal = if regular { 2.0 } else { 0.0 };
            matrix.add_with(node, node, |r, c| if r == c { diagonal } else { 0.0 }).expect("a node");
        }
        factor.factor(&matrix, Pivots::Regularise { relative: 1.0 }).expect("finite");
        factor.solve(&mut x);
        factor.solve_transpose(&mut x);
    }
    let count = COUNT.load(Ordering::Relaxed) - before;
    println!("unsymmetric factor: {count} allocations");
    count == 0
}

/// Solids settled in a bin in space, whose problem is solved over bodies: contacts come and go, and the graph of the bodies with them.
///
/// The steps that are counted were made once before, from the same state, so that the largest problem among them has been met.
fn pile_at_rest(solids: Solids, count: usize, half: f64, settle: usize, steps: usize) -> bool {
    let text = pile(solids, count, half, 1.0 / 240.0, 1);
    let Ok(carom_scene::Scene::Spatial(scene)) = carom_scene::from_toml(&text, "pile") else { panic!("not a spatial scene") };
    let mut world = World::new(scene.model, scene.state).expect("a world");
    for _ in 0..settle {
        world.step().expect("warm-up");
    }
    let state = world.state().clone();
    let count_of = |world: &mut World<Spatial>, traced: bool| {
        world.set_state(state.clone()).expect("its own state");
        if traced && std::env::var("CAROM_TRACE_ALLOC").is_ok() {
            TRACE.store(3, Ordering::Relaxed);
        }
        let before = COUNT.load(Ordering::Relaxed);
        for _ in 0..steps {
            world.step().expect("a steady step");
        }
        let count = COUNT.load(Ordering::Relaxed) - before;
        TRACE.store(0, Ordering::Relaxed);
        count
    };
    let first = count_of(&mut world, false);
    let again = count_of(&mut world, true);
    println!("{count} {solids:?} in a bin: {first} allocations in {steps} steps, then {again}");
    again == 0
}

fn main() {
    assert!(pile_at_rest(Solids::Balls, 64, 0.65, 240, 40), "a pile of balls allocates");
    assert!(pile_at_rest(Solids::Boxes, 27, 0.5, 240, 40), "a pile of boxes allocates");
    let planar = all::<Planar>() & joint_derivatives::<Planar>();
    let spatial = all::<Spatial>() & joint_derivatives::<Spatial>();
    assert!(planar && spatial, "a steady step allocates");
    assert!(unsymmetric_factor(), "a factor allocates");
}
