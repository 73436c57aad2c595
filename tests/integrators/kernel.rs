//! The scheme of de Avila Belbute-Peres et al. 2018 as an engine: where a step of `euler` with `newton` and `halving` is not halved, its velocity is the solution
//! of the dynamics problem (4.25), its gradient that problem's adjoint. Rows are built here from where the shapes touch.

use carom_dynamics::constraints::{MAX_ROWS, Row};
use carom_dynamics::gradient::{Cotangents, Tape};
use carom_dynamics::options::{FrictionCone, ImpactLaw, Integrator, TimeOfImpact};
use carom_dynamics::{Joint, JointKind, JointSpec, World};
use carom_kernels::dynamics::{DynamicsInput, DynamicsOutput, Mass, MassChange, backward, dynamics};
use carom_math::{Planar, Pose, Spatial, Twist, Vector};
use carom_solve::status::Status;
use carom_tests::{Random, Scene, Stage};
use nalgebra::{DMatrix, DVector};

/// Worlds in each space.
const WORLDS: u64 = 250;

/// Where two bodies touch: bodies a and b, the point, the normal from b to a.
struct Touch<G: Stage> {
    bodies: [usize; 2],
    point: G::Lin,
    normal: G::Lin,
}

/// A world on level ground: columns of one to three balls or a cube, some joined to their neighbours, the first perhaps to the world.
struct Setting<G: Stage> {
    scene: Scene<G>,
    touches: Vec<Touch<G>>,
    edges: usize,
}

fn setting<G: Stage>(number: u64) -> Setting<G> {
    let random = &mut Random::new(number);
    let mut scene = Scene::<G>::new(0.005);
    let edges = random.pick(&[4, 8, 12]);
    let options = &mut scene.model.options;
    (options.integrator, options.impact, options.time_of_impact) = (Integrator::Euler, ImpactLaw::Newton, TimeOfImpact::Halving);
    options.friction_cone = FrictionCone::Polyhedral(edges);
    // The problem knows no rest speed: whatever closes rebounds.
    (scene.model.tolerances.rest_speed, scene.model.tolerances.rest_steps) = (1e-9, 0.0);
    let coefficients = |random: &mut Random| (random.range(0.05, 0.7), random.pick(&[0.0, 0.0, 0.3, 0.8]));
    let (friction, restitution) = coefficients(random);
    let ground = scene.ground(friction, restitution);
    let (mut touches, mut columns) = (Vec::new(), Vec::new());
    let up = G::at(0.0, 1.0);
    for column in 0..2 + random.below(3) {
        let (x, mut height, mut below, mut bodies) = (1.5 * column as f64, 0.0, ground, Vec::new());
        let cube = random.below(3) == 0;
        for _ in 0..if cube { 1 } else { 1 + random.below(3) } {
            let size = random.range(0.2, 0.5);
            let (friction, restitution) = coefficients(random);
            let collider = if cube { G::cuboid(2.0 * size, 2.0 * size) } else { G::ball(size) };
            let pose = Pose { position: G::at(x, height + size), ..Pose::identity() };
            let body = scene.body(collider, random.range(0.5, 3.0), pose, friction, restitution);
            let sides: &[f64] = if cube { &[-1.0, 1.0] } else { &[0.0] };
            let depths: &[f64] = if cube && G::DIM == 3 { &[-1.0, 1.0] } else { &[0.0] };
            for side in sides {
                for depth in depths {
                    touches.push(Touch { bodies: [body, below], point: G::deep(x + side * size, depth * size, height), normal: up });
                }
            }
            let mut draw = |most: f64| random.range(-most, most);
            scene.state.twists[body] =
                Twist { lin: G::deep(draw(1.0), draw(1.0), draw(1.0)), ang: G::rates(draw(2.0), draw(2.0), draw(2.0)) };
            bodies.push(body);
            (below, height) = (body, height + 2.0 * size);
        }
        columns.push(bodies);
    }
    let kinds: &[JointKind] = if G::DIM == 2 {
        &[JointKind::Hinge, JointKind::Distance, JointKind::Slider, JointKind::Weld]
    } else {
        &[JointKind::Hinge, JointKind::Ball, JointKind::Distance, JointKind::Universal, JointKind::Slider]
    };
    for column in 0..columns.len() {
        if random.below(3) == 0 {
            continue;
        }
        let a = columns[column][random.below(columns[column].len())];
        let b = if column == 0 { None } else { Some(columns[column - 1][0]) };
        let place =
            |body: Option<usize>| body.map_or_else(|| Pose { position: G::at(-1.0, 0.8), ..Pose::identity() }, |b| scene.state.poses[b]);
        let (at_a, at_b) = (place(Some(a)).position, place(b).position);
        // What is held by the world may have no way to rebound.
        let kind = if b.is_none() && random.below(4) > 0 { JointKind::Distance } else { random.pick(kinds) };
        let mut spec = JointSpec::new(format!("joint {column}"), kind, [Some(a), b]);
        let axis = G::deep(0.4, 0.7, random.range(0.2, 1.0));
        match kind {
            JointKind::Distance => spec.anchors = Some([at_a, at_b]),
            JointKind::Universal => {
                let [first, second] = G::tangents(axis.unit());
                (spec.anchor, spec.axes) = (Some((at_a + at_b) * 0.5), Some([first, second]));
            }
            JointKind::Slider => (spec.anchor, spec.axis) = (Some((at_a + at_b) * 0.5), Some(axis)),
            JointKind::Hinge if G::DIM == 3 => (spec.anchor, spec.axis) = (Some((at_a + at_b) * 0.5), Some(axis)),
            _ => spec.anchor = Some((at_a + at_b) * 0.5),
        }
        let pose = |body: Option<usize>| body.map_or_else(Pose::identity, |b| scene.state.poses[b]);
        let joint = Joint::new(spec, &pose(Some(a)), &pose(b)).unwrap_or_else(|e| panic!("{number}: {e}"));
        scene.model.joints.push(joint);
    }
    Setting { scene, touches, edges }
}

/// The arrays of the dynamics problem.
struct Arrays {
    mass: Vec<Vec<f64>>,
    velocity: Vec<f64>,
    force: Vec<f64>,
    joints: Vec<f64>,
    contacts: Vec<f64>,
    tangents: Vec<f64>,
    friction: Vec<f64>,
    restitution: Vec<f64>,
}

impl Arrays {
    fn of<G: Stage>(setting: &Setting<G>) -> Self {
        let Setting { scene, touches, edges } = setting;
        let (model, state) = (&scene.model, &scene.state);
        let bodies = model.bodies.len() - 1;
        let d = bodies * G::DOF;
        // The ground is body 0.
        let place = |body: usize| (body - 1) * G::DOF;
        let velocity_row = |touch: &Touch<G>, along: G::Lin| {
            let mut row = vec![0.0; d];
            for (body, sign) in touch.bodies.into_iter().zip([1.0, -1.0]).filter(|(body, _)| *body > 0) {
                for k in 0..G::DOF {
                    let mut unit = Twist::<G>::zero();
                    if k < G::DIM {
                        unit.lin[k] = 1.0
                    } else {
                        unit.ang[k - G::DIM] = 1.0
                    }
                    row[place(body) + k] = sign * along.dot(unit.at(touch.point - state.poses[body].position));
                }
            }
            row
        };
        let mut out = Arrays {
            mass: Vec::new(),
            velocity: Vec::new(),
            force: Vec::new(),
            joints: Vec::new(),
            contacts: Vec::new(),
            tangents: Vec::new(),
            friction: Vec::new(),
            restitution: Vec::new(),
        };
        for (body, twist) in model.bodies.iter().zip(&state.twists).skip(1) {
            let mut block = vec![0.0; G::DOF * G::DOF];
            for k in 0..G::DIM {
                block[k * G::DOF + k] = body.mass;
            }
            let rows = G::inertia_rows(body.inertia);
            for i in 0..G::ANG {
                for j in 0..G::ANG {
                    block[(G::DIM + i) * G::DOF + G::DIM + j] = rows[i * G::ANG + j];
                }
            }
            out.mass.push(block);
            out.velocity.extend(twist.lin.as_slice().iter().chain(twist.ang.as_slice()));
            out.force.extend((model.gravity * body.mass).as_slice());
            out.force.extend(std::iter::repeat_n(0.0, G::ANG));
        }
        for joint in &model.joints {
            let pose = |body: Option<usize>| body.map_or_else(Pose::identity, |b| state.poses[b]);
            let mut rows = [Row::<G>::zero(); MAX_ROWS];
            joint.rows(&pose(joint.bodies[0]), &pose(joint.bodies[1]), &mut rows);
            for row in &rows[..joint.row_count()] {
                let mut line = vec![0.0; d];
                for (body, wrench) in joint.bodies.into_iter().zip([row.a, row.b]) {
                    if let Some(body) = body {
                        let numbers = wrench.lin.as_slice().iter().chain(wrench.ang.as_slice());
                        line[place(body)..place(body) + G::DOF].iter_mut().zip(numbers).for_each(|(x, y)| *x = *y);
                    }
                }
                out.joints.extend(line);
            }
        }
        for touch in touches {
            let [a, b] = touch.bodies.map(|body| &model.bodies[body]);
            out.contacts.extend(velocity_row(touch, touch.normal));
            let tangents = G::tangents(touch.normal);
            let count = if G::TANGENTS == 1 { 2 } else { *edges };
            for k in 0..count {
                let (sin, cos) = (k as f64 * std::f64::consts::TAU / count as f64).sin_cos();
                let along = if G::TANGENTS == 1 { tangents[0] * cos } else { tangents[0] * cos + tangents[1] * sin };
                out.tangents.extend(velocity_row(touch, along));
            }
            out.friction.push(0.5 * (a.surface.friction + b.surface.friction));
            out.restitution.push(0.5 * (a.surface.restitution + b.surface.restitution));
        }
        out
    }
    fn input(&self, step: f64) -> DynamicsInput<'_> {
        DynamicsInput {
            mass: Mass::Blocks(&self.mass),
            velocity: &self.velocity,
            force: &self.force,
            step,
            joints: &self.joints,
            contacts: &self.contacts,
            tangents: &self.tangents,
            friction: &self.friction,
            restitution: &self.restitution,
            bias: &[],
            tolerance: 1e-12,
        }
    }
}

fn largest<'a>(pairs: impl IntoIterator<Item = (&'a f64, &'a f64)>) -> f64 {
    pairs.into_iter().fold(0.0, |m: f64, (a, b)| m.max((a - b).abs() / (1.0 + b.abs())))
}

/// How far gradients are off, by velocities, gravity, coefficients, masses and inertias; `None` at a switch.
fn gradient_miss<G: Stage>(
    setting: &Setting<G>,
    world: &World<G>,
    input: &DynamicsInput,
    output: &DynamicsOutput,
    random: &mut Random,
) -> Option<f64> {
    let bar: Vec<f64> = (0..output.velocity.len()).map(|_| random.range(-1.0, 1.0)).collect();
    let size = world.model().bodies.len() * G::DOF;
    let mut twists = vec![0.0; G::DOF];
    twists.extend(&bar);
    let rollout = world.rollout(1, &[], Tape::Full).unwrap();
    let found = rollout.backward(&Cotangents { poses: vec![0.0; size], twists }).unwrap();
    let switches = &found.switches[0];
    if switches.weak + switches.friction + switches.irregular + switches.unconverged > 0 {
        return None;
    }
    let wanted = backward(input, output, &bar).unwrap();
    let MassChange::Blocks(masses) = &wanted.mass else { panic!("blocks") };
    let model = world.model();
    let layout = &rollout.layout().bodies;
    let mut miss = largest(found.twists[G::DOF..].iter().zip(&wanted.velocity));
    let mut compare = |what: &str, found: f64, wanted: f64| {
        let off = (found - wanted).abs() / (1.0 + wanted.abs());
        if off > 1e-8 {
            println!("{what}: {found} for {wanted}");
        }
        miss = miss.max(off);
    };
    for k in 0..G::DIM {
        let by: f64 = (1..model.bodies.len()).map(|b| model.bodies[b].mass * wanted.force[(b - 1) * G::DOF + k]).sum();
        compare("gravity", found.parameters[rollout.layout().gravity.start + k], by);
    }
    for (index, slots) in layout.iter().enumerate() {
        let own = |values: &[f64]| -> f64 {
            setting.touches.iter().zip(values).filter(|(touch, _)| touch.bodies.contains(&index)).map(|(_, value)| 0.5 * value).sum()
        };
        compare("friction", found.parameters[slots.surface.friction], own(&wanted.friction));
        // Redundant contacts that all close without a rebound close in more ways than one with a little of it.
        if setting.touches.iter().zip(input.restitution).all(|(touch, k)| *k > 0.0 || !touch.bodies.contains(&index)) {
            compare("restitution", found.parameters[slots.surface.restitution], own(&wanted.restitution));
        }
        if index > 0 {
            let (block, force) = (&masses[index - 1], &wanted.force[(index - 1) * G::DOF..]);
            let by: f64 = (0..G::DIM).map(|k| block[k * G::DOF + k] + model.gravity[k] * force[k]).sum();
            compare("mass", found.parameters[slots.mass], by);
            if G::ANG == 1 {
                compare("inertia", found.parameters[slots.inertia.start], block[G::DIM * G::DOF + G::DIM]);
            }
        }
    }
    Some(miss)
}

/// How far the engine's own velocities and impulses miss (4.25)-(4.27): where a problem has more than one solution, both may be right.
fn miss_of_the_laws<G: Stage>(setting: &Setting<G>, world: &World<G>, arrays: &Arrays, after: &[f64]) -> f64 {
    let d = after.len();
    let step = world.model().step;
    let dot = |row: &[f64], v: &[f64]| row.iter().zip(v).map(|(a, b)| a * b).sum::<f64>();
    // M (v' - v) - h f - Jc' l is left to the joints.
    let mut left = DVector::<f64>::zeros(d);
    for (body, block) in arrays.mass.iter().enumerate() {
        for i in 0..G::DOF {
            let row = body * G::DOF + i;
            left[row] =
                (0..G::DOF).map(|j| block[i * G::DOF + j] * (after[body * G::DOF + j] - arrays.velocity[body * G::DOF + j])).sum::<f64>()
                    - step * arrays.force[row];
        }
    }
    let (mut miss, reports) = (0.0f64, world.contacts());
    let count = arrays.tangents.len() / arrays.contacts.len();
    for (i, touch) in setting.touches.iter().enumerate() {
        let here = |report: &&carom_dynamics::ContactReport<G>| {
            report.bodies == touch.bodies || report.bodies == [touch.bodies[1], touch.bodies[0]]
        };
        let near = |report: &carom_dynamics::ContactReport<G>| (report.point - touch.point).norm();
        let report = reports.iter().filter(here).min_by(|a, b| near(a).total_cmp(&near(b)));
        let push = report.map_or_else(G::Lin::zero, |r| if r.bodies == touch.bodies { r.impulse } else { r.impulse * -1.0 });
        for body in 0..arrays.mass.len() {
            for k in 0..G::DOF {
                let column = body * G::DOF + k;
                // The push in axes: the normal and its tangents span it.
                let tangents = G::tangents(touch.normal);
                let mut sum = touch.normal.dot(push) * arrays.contacts[i * d + column];
                for (t, tangent) in tangents[..G::TANGENTS].iter().enumerate() {
                    let quarter = count * t / 4;
                    sum += tangent.dot(push) * row_of_tangent(arrays, (i, count, d), quarter, column);
                }
                left[column] -= sum;
            }
        }
        let (normal, bound) = (touch.normal.dot(push), arrays.friction[i] * touch.normal.dot(push));
        let before = dot(&arrays.contacts[i * d..(i + 1) * d], &arrays.velocity).min(0.0);
        let slack = dot(&arrays.contacts[i * d..(i + 1) * d], after) + arrays.restitution[i] * before;
        miss = miss.max(-normal).max(-slack).max(normal.min(slack));
        // Friction within its pyramid, taking out of the motion all it can.
        let slips: Vec<f64> = (0..count).map(|k| dot(&arrays.tangents[(i * count + k) * d..(i * count + k + 1) * d], after)).collect();
        let fastest = slips.iter().fold(0.0f64, |m, s| m.max(-s));
        let slip: f64 =
            G::tangents(touch.normal)[..G::TANGENTS].iter().enumerate().map(|(t, tangent)| tangent.dot(push) * slips[count * t / 4]).sum();
        miss = miss.max((slip + bound * fastest).abs());
    }
    let rows = arrays.joints.len() / d;
    if rows > 0 {
        let joints = DMatrix::from_row_slice(rows, d, &arrays.joints).transpose();
        let svd = joints.clone().svd(true, true);
        let impulses = svd.solve(&left, 1e-12).expect("least squares");
        left -= joints * impulses;
        miss = (0..rows).fold(miss, |m, r| m.max(dot(&arrays.joints[r * d..(r + 1) * d], after).abs()));
    }
    miss.max(left.amax())
}

/// An entry of the row along a tangent: direction 0 of the plane's two; directions 0 and a quarter round in space, where that is one of them.
fn row_of_tangent(arrays: &Arrays, (contact, count, d): (usize, usize, usize), direction: usize, column: usize) -> f64 {
    arrays.tangents[(contact * count + direction) * d + column]
}

fn a_step_is_the_dynamics_problem<G: Stage>() {
    let (mut worst, mut worst_gradient, mut whole, mut smooth, mut several) = (0.0f64, 0.0f64, 0, 0, 0);
    let (mut joints, mut contacts, mut slides, mut unsolvable) = (0, 0, 0, 0);
    let mut number = 0;
    while whole < WORLDS && number < 3 * WORLDS {
        number += 1;
        let setting = setting::<G>(number);
        let mut world = World::new(setting.scene.model.clone(), setting.scene.state.clone()).unwrap_or_else(|e| panic!("{number}: {e}"));
        let start = World::new(setting.scene.model.clone(), setting.scene.state.clone()).unwrap();
        let arrays = Arrays::of(&setting);
        let input = arrays.input(setting.scene.model.step);
        let output = dynamics(&input).unwrap();
        let report = match world.step() {
            Ok(report) => report,
            Err(error) => {
                // A contact that joints hold still and that should rebound: neither finds what is not there.
                assert_ne!(output.status, Status::Solved, "{} {number}: {error}", G::NAME);
                unsolvable += 1;
                continue;
            }
        };
        assert!(!report.placed, "{number}: the start is right");
        if report.substeps != 1 {
            continue;
        }
        let found: Vec<f64> = world.state().twists[1..]
            .iter()
            .flat_map(|t| t.lin.as_slice().iter().chain(t.ang.as_slice()).copied().collect::<Vec<_>>())
            .collect();
        let miss = largest(found.iter().zip(&output.velocity));
        if output.status != Status::Solved {
            // The engine says so as well, unless joints lock a contact, which it then leaves out.
            let welded = setting.scene.model.joints.iter().any(|j| j.kind == JointKind::Weld && j.bodies[1].is_none());
            assert!(
                report.inaccurate || welded,
                "{} {number}: only the kernel sees that there is no solution, {:?}",
                G::NAME,
                output.status
            );
            unsolvable += 1;
            continue;
        }
        whole += 1;
        joints += setting.scene.model.joints.len();
        contacts += output.contact_impulse.iter().filter(|l| **l > 0.0).count();
        slides += output.slip.iter().filter(|s| **s > 0.0).count();
        if miss > 1e-6 {
            // More than one solution: friction makes the problem unmonotone. The engine's must be one of them.
            let laws = miss_of_the_laws(&setting, &world, &arrays, &found);
            println!("{} {number}: velocities differ by {miss:.1e}; the engine's miss the laws by {laws:.1e}", G::NAME);
            assert!(laws < 1e-9, "{} {number}: {laws:e}", G::NAME);
            several += 1;
            continue;
        }
        if miss > 1e-9 {
            println!(
                "{} {number}: velocity off by {miss:e}, engine {:e}, kernel {:e}, {} edges",
                G::NAME,
                report.residual,
                output.residual,
                setting.edges
            );
        }
        worst = worst.max(miss);
        if let Some(miss) = gradient_miss(&setting, &start, &input, &output, &mut Random::new(number ^ 0x5555)) {
            if miss > 1e-8 {
                println!("{} {number}: gradient off by {miss:e}", G::NAME);
            }
            worst_gradient = worst_gradient.max(miss);
            smooth += 1;
        }
    }
    println!(
        "{}: {whole} worlds, {joints} joints, {contacts} loaded contacts, {slides} slide, {several} with two solutions, {unsolvable} without; velocity {worst:.1e}; \
         {smooth} gradients {worst_gradient:.1e}",
        G::NAME
    );
    assert!(
        whole == WORLDS && smooth >= WORLDS * 7 / 10 && several <= WORLDS / 10,
        "{whole} whole, {smooth} smooth, {several} of several solutions"
    );
    assert!(joints as u64 > WORLDS && contacts as u64 > 2 * WORLDS && slides as u64 > WORLDS, "worlds with joints, contacts and friction");
    assert!(worst < 1e-9, "{worst:e}");
    assert!(worst_gradient < 1e-8, "{worst_gradient:e}");
}

/// A ball that lands without a rebound at speed u: with k of its own a pair has half of it, and leaves at k u/2.
#[test]
fn a_coefficient_of_nought_has_its_slope() {
    let mut scene = Scene::<Planar>::new(0.005);
    let options = &mut scene.model.options;
    (options.integrator, options.impact, options.time_of_impact) = (Integrator::Euler, ImpactLaw::Newton, TimeOfImpact::Halving);
    scene.model.gravity = Planar::at(0.0, 0.0);
    scene.ground(0.0, 0.0);
    let ball = scene.body(Planar::ball(0.2), 1.0, Pose { position: Planar::at(0.0, 0.2), ..Pose::identity() }, 0.0, 0.0);
    scene.state.twists[ball].lin.y = -1.5;
    let world = World::new(scene.model, scene.state).unwrap();
    let rollout = world.rollout(1, &[], Tape::Full).unwrap();
    let mut bar = Cotangents { poses: vec![0.0; 6], twists: vec![0.0; 6] };
    bar.twists[4] = 1.0;
    let slope = rollout.backward(&bar).unwrap().parameters[rollout.layout().bodies[ball].surface.restitution];
    assert!((slope - 0.75).abs() < 1e-12, "{slope}");
}

#[test]
fn a_step_in_the_plane_is_the_dynamics_problem() {
    a_step_is_the_dynamics_problem::<Planar>();
}

#[test]
fn a_step_in_space_with_pyramids_is_the_dynamics_problem() {
    a_step_is_the_dynamics_problem::<Spatial>();
}
