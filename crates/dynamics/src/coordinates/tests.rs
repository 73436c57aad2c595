//! Coordinates against closed forms, differences, energies and the step itself.

use super::*;
use crate::constraints::{Joint, JointKind, JointSpec, Motor};
use crate::model::{Body, BodyKind, Model};
use crate::state::State;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Planar, Pose, Space, Spatial, Twist, Vector};
use nalgebra::DVector;

/// Numbers between -1 and 1, the same every time.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    pub(crate) fn vector<V: Vector>(&mut self) -> V {
        V::from_slice(&[self.roll(), self.roll(), self.roll()])
    }
    fn many(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.roll()).collect()
    }
}

/// Adds a body of some mass somewhere.
fn add_body<G: Geometry>(model: &mut Model<G>, state: &mut State<G>, dice: &mut Dice) -> usize {
    let moments: Vec<f64> = (0..G::ANG).map(|i| 0.3 + 0.05 * i as f64 + 0.02 * dice.roll()).collect();
    let name = format!("body{}", model.bodies.len());
    model.bodies.push(Body::new(name, BodyKind::Dynamic, 1.5 + dice.roll(), G::inertia_from_moments(&moments)));
    state.push(Pose { position: dice.vector::<G::Lin>(), rotation: G::exp(dice.vector::<G::Ang>()) }, Twist::zero());
    model.bodies.len() - 1
}

/// Adds a joint of a kind between two bodies somewhere near them.
fn add_joint<G: Geometry>(model: &mut Model<G>, state: &State<G>, kind: JointKind, bodies: [Option<usize>; 2], dice: &mut Dice) {
    let mut spec = JointSpec::new(format!("joint{}", model.joints.len()), kind, bodies);
    let keys = kind.keys::<G>();
    let axis: G::Lin = dice.vector::<G::Lin>().unit();
    spec.anchor = keys.contains(&"anchor").then(|| dice.vector());
    spec.axis = keys.contains(&"axis").then_some(axis);
    spec.axes = keys.contains(&"axes").then(|| [axis, G::tangents(axis)[0]]);
    spec.anchors = keys.contains(&"anchors").then(|| [dice.vector(), dice.vector()]);
    spec.measures.lead = keys.contains(&"lead").then_some(3.0);
    let pose = |body: Option<usize>| body.map_or_else(Pose::identity, |body| state.poses[body]);
    let joint = Joint::new(spec, &pose(bodies[0]), &pose(bodies[1])).unwrap();
    model.joints.push(joint);
}

/// Every kind that a tree may have.
pub(crate) fn kinds<G: Geometry>() -> Vec<JointKind> {
    JointKind::ALL.into_iter().filter(|kind| kind.exists_in::<G>() && kind.freedoms::<G>().is_some()).collect()
}

/// Every kind in a tree, on either side, from the world or from a free root; `loops` closes two loops by a ball joint and a distance.
pub(crate) fn mechanism<G: Geometry>(kinds: &[JointKind], free: bool, loops: bool, seed: u64) -> World<G> {
    let mut dice = Dice(seed);
    let (mut model, mut state) = (Model::<G>::new("mechanism"), State::empty());
    let mut bodies = Vec::new();
    if free {
        bodies.push(add_body(&mut model, &mut state, &mut dice));
    }
    for (i, &kind) in kinds.iter().chain(kinds).enumerate() {
        let parent = bodies.len().checked_sub(1 + i % 2).map(|place| bodies[place]);
        let body = add_body(&mut model, &mut state, &mut dice);
        bodies.push(body);
        let pair = if dice.roll() > 0.0 { [Some(body), parent] } else { [parent, Some(body)] };
        add_joint(&mut model, &state, kind, pair, &mut dice);
    }
    if loops {
        let last = bodies.len() - 1;
        add_joint(&mut model, &state, JointKind::Ball, [Some(bodies[last]), Some(bodies[1])], &mut dice);
        add_joint(&mut model, &state, JointKind::Distance, [Some(bodies[last - 3]), None], &mut dice);
    }
    World::new(model, state).unwrap()
}

fn worst(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0f64, |worst, (a, b)| worst.max((a - b).abs()))
}

/// Gives random coordinates and rates.
fn stir<G: Geometry>(world: &mut World<G>, size: f64, seed: u64) {
    let mut dice = Dice(seed);
    let names = world.joint_names();
    let values = dice.many(names.len());
    let speeds = dice.many(names.len());
    let given: Vec<(&str, f64)> = names.iter().zip(&values).map(|(name, x)| (&**name, size * x)).collect();
    let rates: Vec<(&str, f64)> = names.iter().zip(&speeds).map(|(name, x)| (&**name, *x)).collect();
    world.set_joints(&given, &rates).unwrap();
}

pub(crate) fn trees<G: Geometry>(kinds: &[JointKind]) -> Vec<World<G>> {
    let build = |free: bool, seed: u64| {
        let mut world = mechanism(kinds, free, false, seed);
        stir(&mut world, 1.5, seed + 50);
        world
    };
    (0..3).flat_map(|seed| [build(false, seed), build(true, seed)]).collect()
}

/// What is checked in both spaces.
macro_rules! in_both {
    ($($name:ident => $check:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            trees::<Planar>(&kinds::<Planar>()).iter().for_each($check);
            trees::<Spatial>(&kinds::<Spatial>()).iter().for_each($check);
        })*
    };
}

in_both! {
    what_is_set_is_read => round_trip,
    twists_are_the_tangent_map_of_rates => tangent,
    accelerations_are_differences_of_twists => curvature,
    energy_is_half_the_square_of_rates => kinetic,
    forces_give_the_accelerations_they_were_asked_for => there_and_back,
    forward_dynamics_is_what_a_short_step_does => short_step,
}

fn round_trip<G: Geometry>(world: &World<G>) {
    let (names, mut other) = (world.joint_names(), world.copy());
    let mut dice = Dice(7);
    let (q, v) = (dice.many(names.len()), dice.many(names.len()));
    let [values, rates] = [&q, &v].map(|x| names.iter().map(|name| &**name).zip(x.iter().copied()).collect::<Vec<(&str, f64)>>());
    other.set_joints(&values, &rates).unwrap();
    assert!(worst(&other.joint_q(), &q) < 1e-12, "{:?}\n{:?}\n{:?}", names, other.joint_q(), q);
    assert!(worst(&other.joint_v(), &v) < 1e-12);
    assert!(other.joint_error() < 1e-12, "joints stay closed");
    assert!(other.joint_q() != world.joint_q());
    // One alone moves nothing else.
    let mut third = other.copy();
    third.set_joints(&[(&*names[0], 0.125)], &[]).unwrap();
    assert!((third.joint_q()[0] - 0.125).abs() < 1e-14 && worst(&third.joint_q()[1..], &q[1..]) < 1e-12);
}

/// The world moved along rates for a time, by coordinates.
fn along<G: Geometry>(world: &World<G>, rates: &[f64], time: f64) -> World<G> {
    let tree = world.tree();
    let change: Vec<f64> = rates.iter().map(|rate| rate * time).collect();
    let q = tree.advanced(world.model(), &world.joint_q(), &change);
    let mut state = world.state().clone();
    let all = vec![true; state.poses.len()];
    tree.place(world.model(), &q, &all, &mut state.poses);
    tree.drive(world.model(), &state.poses.clone(), rates, &all, &mut state.twists);
    let mut other = world.copy();
    other.set_state(state).unwrap();
    other
}

fn tangent<G: Geometry>(world: &World<G>) {
    let rates = world.joint_v();
    let dense = world.tangent_map().dense() * DVector::from_column_slice(&rates);
    let [before, after] = [-1e-5, 1e-5].map(|time| along(world, &rates, time));
    for (body, twist) in world.state().twists.iter().enumerate() {
        let mapped: Vec<f64> = dense.rows(body * G::DOF, G::DOF).iter().copied().collect();
        assert!(worst(&mapped[..G::DIM], twist.lin.as_slice()) < 1e-12 && worst(&mapped[G::DIM..], twist.ang.as_slice()) < 1e-12);
        let [from, to] = [&before, &after].map(|world| world.state().poses[body]);
        let lin = (to.position - from.position) * 0.5e5;
        let ang = G::log(G::compose(to.rotation, G::inverse(from.rotation))) * 0.5e5;
        assert!(worst(lin.as_slice(), twist.lin.as_slice()) < 1e-7, "body {body}: {lin:?} {:?}", twist.lin);
        assert!(worst(ang.as_slice(), twist.ang.as_slice()) < 1e-7, "body {body}: {ang:?} {:?}", twist.ang);
    }
    assert!(rates.iter().any(|rate| rate.abs() > 0.1));
    let point = G::Lin::from_slice(&[0.3, -0.2, 0.5]);
    let body = world.state().poses.len() - 1;
    let speed = world.point_jacobian(body, point).unwrap() * DVector::from_column_slice(&rates);
    let wanted = world.state().twists[body].at(world.state().poses[body].direction(point));
    assert!(worst(speed.as_slice(), wanted.as_slice()) < 1e-12);
}

fn curvature<G: Geometry>(world: &World<G>) {
    let rates = world.joint_v();
    let curved = world.tree().curved(world.model(), &world.state().poses, &world.state().twists, &rates);
    let [before, after] = [-1e-5, 1e-5].map(|time| along(world, &rates, time));
    for (body, acceleration) in curved.iter().enumerate() {
        let [from, to] = [&before, &after].map(|world| world.state().twists[body]);
        let (lin, ang) = ((to.lin - from.lin) * 0.5e5, (to.ang - from.ang) * 0.5e5);
        assert!(worst(lin.as_slice(), acceleration.lin.as_slice()) < 1e-6, "body {body}: {lin:?} {acceleration:?}");
        assert!(worst(ang.as_slice(), acceleration.ang.as_slice()) < 1e-6, "body {body}: {ang:?} {acceleration:?}");
    }
    assert!(curved.iter().any(|acceleration| acceleration.lin.norm() > 0.1));
}

fn kinetic<G: Geometry>(world: &World<G>) {
    let rates = DVector::from_vec(world.joint_v());
    let matrix = world.mass_matrix();
    let energy = 0.5 * (rates.transpose() * &matrix * &rates)[0];
    assert!((energy - world.energies().0).abs() < 1e-12 * energy, "{energy}");
    assert!((&matrix - matrix.transpose()).amax() == 0.0);
}

fn there_and_back<G: Geometry>(world: &World<G>) {
    let wanted = Dice(3).many(world.joint_names().len());
    let force = world.inverse_dynamics(&wanted, Contacts::Hold).unwrap();
    let found = world.forward_dynamics(&[], &force, Contacts::Hold).unwrap();
    assert!(worst(&found, &wanted) < 1e-9, "{:e}", worst(&found, &wanted));
    assert!(force.iter().any(|f| f.abs() > 0.1));
}

/// The step knows nothing of coordinates: what it does to rates in a short time is their acceleration.
fn short_step<G: Geometry>(world: &World<G>) {
    let wanted = world.forward_dynamics(&[], &vec![0.0; world.joint_names().len()], Contacts::Hold).unwrap();
    let error = |step: f64| {
        let mut model = world.model().clone();
        model.step = step;
        let mut short = World::new(model, world.state().clone()).unwrap();
        short.step().unwrap();
        let found: Vec<f64> = short.joint_v().iter().zip(world.joint_v()).map(|(after, before)| (after - before) / step).collect();
        worst(&found, &wanted)
    };
    let size = wanted.iter().fold(1.0f64, |size, x| size.max(x.abs()));
    let [coarse, fine] = [error(1e-4), error(5e-5)];
    assert!(fine < 0.05 * size && fine < 0.6 * coarse, "{coarse:e} {fine:e} of {size:e}");
}

/// A mechanism with loops, bent and moving.
fn looped<G: Geometry>(kinds: &[JointKind], seed: u64) -> World<G> {
    let mut world = mechanism::<G>(kinds, seed.is_multiple_of(2), true, seed);
    let names = world.joint_names();
    // Some coordinates have nowhere to go: a loop may hold them where they are.
    let moved = names.iter().any(|name| world.set_joints(&[(&**name, 0.1)], &[(&**name, 0.4)]).is_ok());
    assert!(moved, "no coordinate of {names:?} can be moved");
    world
}

fn loops<G: Geometry>(world: &World<G>) {
    assert!(world.joint_error() < 1e-12, "{:e}", world.joint_error());
    let (matrix, rates) = (world.loop_jacobian(), DVector::from_vec(world.joint_v()));
    assert!((&matrix * &rates).amax() < 1e-9 && rates.amax() > 0.1);
    // Rows against differences of the gaps they are rows of.
    let (tree, all) = (world.tree(), vec![true; world.state().poses.len()]);
    let way = Dice(9).many(tree.len());
    let gaps = |time: f64| tree.loop_errors(world.model(), &along(world, &way, time).state().poses, &world.state().poses, &all);
    let slope: Vec<f64> = gaps(1e-6).iter().zip(gaps(-1e-6)).map(|(to, from)| (to - from) * 0.5e6).collect();
    assert!(worst((&matrix * DVector::from_vec(way)).as_slice(), &slope) < 1e-7);
    short_step(world);
}

#[test]
fn loops_are_closed_and_stay_closed() {
    (0..4).for_each(|seed| loops(&looped::<Planar>(&kinds::<Planar>(), seed)));
    (0..4).for_each(|seed| loops(&looped::<Spatial>(&kinds::<Spatial>(), seed)));
}

/// The four-bar of docs/mechanisms.md: crank, coupler, rocker, frame.
fn four_bar() -> World<Planar> {
    let (mut model, mut state) = (Model::<Planar>::new("four-bar"), State::empty());
    let lin = |x: f64, y: f64| <Planar as Space>::Lin::from_slice(&[x, y]);
    let pins = [lin(0.0, 0.0), lin(0.0, 0.5), lin(1.8, 1.371_779_788_708_134_8), lin(2.0, 0.0)];
    for (i, name) in ["crank", "coupler", "rocker"].into_iter().enumerate() {
        let along = pins[i + 1] - pins[i];
        let mass = along.norm();
        model.bodies.push(Body::new(name, BodyKind::Dynamic, mass, Planar::inertia_from_moments(&[mass.powi(3) / 12.0])));
        let rotation = <Planar as Space>::exp(Vector::from_slice(&[along[1].atan2(along[0])]));
        state.push(Pose { position: (pins[i] + pins[i + 1]) * 0.5, rotation }, Twist::zero());
    }
    let names = [("motor", Some(0), None), ("knee", Some(1), Some(0)), ("top", Some(2), Some(1)), ("foot", Some(2), None)];
    for (pin, (name, a, b)) in pins.into_iter().zip(names) {
        let mut spec = JointSpec::new(name, JointKind::Hinge, [a, b]);
        spec.anchor = Some(pin);
        let pose = |body: Option<usize>| body.map_or_else(Pose::identity, |body: usize| state.poses[body]);
        model.joints.push(Joint::new(spec, &pose(a), &pose(b)).unwrap());
    }
    World::new(model, state).unwrap()
}

#[test]
fn a_four_bar_follows_its_closed_form() {
    let mut world = four_bar();
    assert_eq!(world.joint_names(), ["motor", "knee", "top"]);
    assert_eq!(world.tree().loop_joints(), [3]);
    let start = std::f64::consts::FRAC_PI_2;
    for turn in [0.3, 1.0, 2.5, -2.0, 3.0, 0.0] {
        world.set_joints(&[("motor", turn)], &[("motor", 2.0)]).unwrap();
        // The rocker's pin by the law of cosines: 2 m from the crank's pin and 1.386 m from the foot.
        let rocker = (0.04f64 + 1.371_779_788_708_134_8f64.powi(2)).sqrt();
        let crank = |angle: f64| (0.5 * angle.cos(), 0.5 * angle.sin());
        let pin = |angle: f64| {
            let (x, y) = crank(angle);
            let (dx, dy) = (2.0 - x, -y);
            let d = dx.hypot(dy);
            let coupler = (1.8f64.powi(2) + 0.871_779_788_708_134_8f64.powi(2)).sqrt();
            let along = (coupler * coupler - rocker * rocker + d * d) / (2.0 * d);
            let across = (coupler * coupler - along * along).sqrt();
            ((dx * along - dy * across) / d + x, (dy * along + dx * across) / d + y)
        };
        let at = |angle: f64| {
            let ((x, y), (a, b)) = (crank(angle), pin(angle));
            (b - y).atan2(a - x)
        };
        let here = start + turn;
        let knee = at(here) - at(start) - turn;
        assert!((world.joint_q()[1] - knee).abs() < 1e-12, "turn {turn}: {} {knee}", world.joint_q()[1]);
        let rate = 2.0 * (at(here + 1e-5) - at(here - 1e-5)) / 2e-5 - 2.0;
        assert!((world.joint_v()[1] - rate).abs() < 1e-8, "turn {turn}: {} {rate}", world.joint_v()[1]);
        // One coordinate is free: what the loop lets move.
        assert!((world.loop_jacobian() * DVector::from_vec(world.joint_v())).amax() < 1e-12);
        // The energy of the free mechanism stays, so its power is none: d/dt (kinetic + potential) = 0.
        let a = DVector::from_vec(world.forward_dynamics(&[], &[0.0; 3], Contacts::Hold).unwrap());
        let v = DVector::from_vec(world.joint_v());
        let later = along(&world, (&v + &a * 5e-6).as_slice(), 1e-5);
        let power = v.dot(&(world.mass_matrix() * &a)) + v.dot(&DVector::from_vec(world.bias().unwrap()));
        assert!(power.abs() < 1e-9, "{power}");
        assert!(later.joint_error() < 1e-9, "the loop stays closed to second order: {:e}", later.joint_error());
    }
}

#[test]
fn a_loop_that_cannot_be_closed_names_its_gap() {
    let mut world = four_bar();
    let before = world.state().clone();
    let error = world.set_joints(&[("motor", 0.0), ("knee", 0.5)], &[]).unwrap_err().to_string();
    assert!(error.contains("\"foot\" stays open by") || error.contains("\"top\" stays open by"), "{error}");
    let error = world.set_joints(&[], &[("motor", 1.0), ("knee", 1.0)]).unwrap_err().to_string();
    assert!(error.contains("would open at"), "{error}");
    assert_eq!(*world.state(), before);
    let error = world.set_joints(&[("moter", 0.0)], &[]).unwrap_err().to_string();
    assert!(error.contains("did you mean \"motor\"?"), "{error}");
    let error = world.set_joints(&[("foot", 0.0)], &[]).unwrap_err().to_string();
    assert!(error.contains("closes a loop"), "{error}");
    assert!(world.set_joints(&[("motor", f64::NAN)], &[]).is_err());
}

#[test]
fn a_double_pendulum_has_the_matrices_of_the_book() {
    let (mut model, mut state) = (Model::<Planar>::new("pendulum"), State::empty());
    let (m, l) = ([1.3, 0.7], [0.8, 0.6]);
    let lin = |x: f64, y: f64| <Planar as Space>::Lin::from_slice(&[x, y]);
    for i in 0..2 {
        model.bodies.push(Body::new(
            ["upper", "lower"][i],
            BodyKind::Dynamic,
            m[i],
            Planar::inertia_from_moments(&[m[i] * l[i] * l[i] / 12.0]),
        ));
    }
    state.push(Pose { position: lin(0.0, -0.4), ..Pose::identity() }, Twist::zero());
    state.push(Pose { position: lin(0.0, -1.1), ..Pose::identity() }, Twist::zero());
    for (name, bodies, y) in [("shoulder", [Some(0), None], 0.0), ("elbow", [Some(1), Some(0)], -0.8)] {
        let mut spec = JointSpec::new(name, JointKind::Hinge, bodies);
        spec.anchor = Some(lin(0.0, y));
        if name == "elbow" {
            spec.motor = Some(Motor::Position { position: 0.2, stiffness: 4.0, damping: 0.5, max: 100.0 });
        }
        let pose = |body: Option<usize>| body.map_or_else(Pose::identity, |body: usize| state.poses[body]);
        model.joints.push(Joint::new(spec, &pose(bodies[0]), &pose(bodies[1])).unwrap());
    }
    let mut world = World::new(model, state).unwrap();
    let (q, v) = ([0.7, -1.1], [1.9, -0.6]);
    world.set_joints(&[("shoulder", q[0]), ("elbow", q[1])], &[("shoulder", v[0]), ("elbow", v[1])]).unwrap();
    // Uniform rods, angles from straight down, the second relative to the first.
    let (half, i) = ([0.5 * l[0], 0.5 * l[1]], [m[0] * l[0] * l[0] / 12.0, m[1] * l[1] * l[1] / 12.0]);
    let (c, s) = (q[1].cos(), q[1].sin());
    let d = i[1] + m[1] * half[1] * half[1];
    let coupled = m[1] * l[0] * half[1];
    let matrix = [i[0] + m[0] * half[0] * half[0] + m[1] * l[0] * l[0] + d + 2.0 * coupled * c, d + coupled * c, d];
    let found = world.mass_matrix();
    assert!(worst(&[found[(0, 0)], found[(0, 1)], found[(1, 1)]], &matrix) < 1e-14);
    let g = 9.81;
    let lower = m[1] * g * half[1] * (q[0] + q[1]).sin();
    let bias = [
        -coupled * s * (2.0 * v[0] * v[1] + v[1] * v[1]) + (m[0] * half[0] + m[1] * l[0]) * g * q[0].sin() + lower,
        coupled * s * v[0] * v[0] + lower,
    ];
    assert!(worst(&world.bias().unwrap(), &bias) < 1e-13);
    let servo = 4.0 * (0.2 - q[1]) - 0.5 * v[1];
    let determinant = matrix[0] * matrix[2] - matrix[1] * matrix[1];
    let free = [-bias[0], servo - bias[1]];
    let wanted = [(matrix[2] * free[0] - matrix[1] * free[1]) / determinant, (matrix[0] * free[1] - matrix[1] * free[0]) / determinant];
    assert!(worst(&world.forward_dynamics(&[], &[0.0; 2], Contacts::Hold).unwrap(), &wanted) < 1e-12);
    there_and_back(&world);
}

#[test]
fn a_reach_ends_at_its_target_or_says_how_far_it_is() {
    let mut world = four_bar();
    let body = 1;
    let point = <Planar as Space>::Lin::from_slice(&[0.4, 0.2]);
    world.set_joints(&[("motor", 1.2)], &[]).unwrap();
    let position = world.state().poses[body].point(point);
    world.set_joints(&[("motor", 0.2)], &[]).unwrap();
    let goal = Goal { body, point, position: Some(position), rotation: None };
    let reach = world.inverse_kinematics(&[goal], &ReachOptions::default()).unwrap();
    assert!(reach.converged && (reach.q[0] - 1.2).abs() < 1e-8, "{reach:?}");
    assert!((reach.poses[body].point(point) - position).norm() < 1e-9);
    let far = Goal { position: Some(position * 10.0), ..goal };
    let reach = world.inverse_kinematics(&[far], &ReachOptions::default()).unwrap();
    assert!(!reach.converged && reach.miss > 1.0);
    let held = ReachOptions { fixed: vec![0], ..ReachOptions::default() };
    assert!(!world.inverse_kinematics(&[goal], &held).unwrap().converged);
    // An arm in space: place and turn at once.
    let mut arm = mechanism::<Spatial>(&[JointKind::Hinge, JointKind::Ball, JointKind::Slider], false, false, 5);
    let last = arm.model().bodies.len() - 1;
    stir(&mut arm, 0.6, 11);
    let wanted = arm.state().poses[last];
    stir(&mut arm, 0.2, 12);
    let goal = Goal { body: last, point: Vector::zero(), position: Some(wanted.position), rotation: Some(wanted.rotation) };
    let reach = arm.inverse_kinematics(&[goal], &ReachOptions::default()).unwrap();
    assert!(reach.converged && (reach.poses[last].position - wanted.position).norm() < 1e-9, "{reach:?}");
}

#[test]
fn a_reach_stays_within_limits() {
    let mut world = four_bar();
    let mut model = world.model().clone();
    model.joints[0].limits = Some([-0.5, 0.7]);
    let start = world.state().clone();
    let point = <Planar as Space>::Lin::from_slice(&[0.4, 0.2]);
    world.set_joints(&[("motor", 1.2)], &[]).unwrap();
    let position = Some(world.state().poses[1].point(point));
    let world = World::new(model, start).unwrap();
    let goal = Goal { body: 1, point, position, rotation: None };
    let reach = world.inverse_kinematics(&[goal], &ReachOptions::default()).unwrap();
    assert!(!reach.converged && reach.q[0] <= 0.7 && reach.q[0] > 0.699, "{reach:?}");
    let free = ReachOptions { limits: false, ..ReachOptions::default() };
    assert!(world.inverse_kinematics(&[goal], &free).unwrap().converged);
}
