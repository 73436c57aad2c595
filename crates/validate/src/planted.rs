//! Motions of scenes whose parameters are known, with noise, fitted as if they were measured: how often do the intervals hold the truth, and is every
//! direction that the motions leave open named?

use crate::Trouble;
use crate::section::{Picture, Section, Table, Target};
use carom::dynamics::{BodyKind, Interrupt, State, World};
use carom::geometry::Geometry;
use carom::math::{Pose, Twist, Vector};
use carom::scene::{Scene, SceneOf, from_toml};
use carom_fit::{Ask, Fit, Start, fit};
use carom_reproduce::{Chart, Random, Style};
use rayon::prelude::*;
use std::time::Instant;

/// Rounds over the families.
pub const ROUNDS: u64 = 11;
/// Noise of positions \[m\], of rotations and joint angles \[rad\].
const NOISE: [f64; 2] = [5e-4, 1e-3];
/// A search starts within this factor of the truth.
const AWAY: f64 = 1.6;
/// Of 95 % intervals so many hold the truth, in %.
const COVERED: [f64; 2] = [91.0, 98.0];
/// Parameters that must be looked at.
const LEAST: f64 = 200.0;

/// A family of problems: a scene with numbers to be found.
struct Family {
    name: &'static str,
    /// The scene, given the numbers.
    scene: fn(&[f64]) -> String,
    /// Names of the numbers, and the range each is drawn from.
    planted: &'static [(&'static str, [f64; 2])],
    /// Of the motions: steps, spread of positions, angles, velocities and rates.
    motion: Motion,
    /// Words that must be said about what is left open; none where everything is determined.
    open: &'static [&'static str],
}

/// How motions of a family start, and how long they last.
struct Motion {
    steps: [usize; 2],
    position: f64,
    angle: f64,
    velocity: f64,
    rate: f64,
}

/// Every family once; what is in play in each stands in its scene.
const FAMILIES: [Family; 11] = [
    Family {
        name: "arm of two links",
        scene: |x| {
            format!(
                "dimension = 2\nstep = 0.01\n[[body]]\nname = \"upper\"\nmass = 1\ninertia = 0.04\nposition = [0, -0.3]\nmask = []\n\
                 [[body]]\nname = \"lower\"\nmass = {}\ninertia = {}\nposition = [0, -0.9]\nmask = []\n\
                 [[joint]]\nname = \"shoulder\"\nkind = \"hinge\"\nbetween = [\"upper\", \"world\"]\nanchor = [0, 0]\narmature = {}\n\
                 [[joint]]\nname = \"elbow\"\nkind = \"hinge\"\nbetween = [\"lower\", \"upper\"]\nanchor = [0, -0.6]\nfriction = {}\n",
                x[0], x[1], x[2], x[3]
            )
        },
        planted: &[
            ("mass[lower]", [0.3, 2.0]),
            ("inertia[lower]", [0.02, 0.08]),
            ("joint_armature[shoulder]", [0.02, 0.1]),
            ("joint_friction[elbow]", [0.05, 0.3]),
        ],
        motion: Motion { steps: [30, 60], position: 0.0, angle: 1.2, velocity: 0.0, rate: 3.0 },
        open: &[],
    },
    Family {
        name: "ball that bounces",
        scene: |x| {
            format!(
                "dimension = 2\nstep = 0.01\n[[body]]\nname = \"floor\"\nkind = \"static\"\nshape = {{ half_space = [0, 1] }}\n\
                 [[body]]\nname = \"ball\"\nshape = {{ ball = 0.1 }}\nmass = 1\ninertia = {}\nposition = [0, 0.5]\nvelocity = [1, -1]\ndrag = {}\n\
                 [[pair]]\nbetween = [\"ball\", \"floor\"]\nfriction = {}\nrestitution = {}\n",
                x[0], x[1], x[2], x[3]
            )
        },
        planted: &[
            ("inertia[ball]", [0.002, 0.008]),
            ("drag[ball]", [0.1, 0.5]),
            ("pair_friction[ball, floor]", [0.03, 0.09]),
            ("pair_restitution[ball, floor]", [0.3, 0.8]),
        ],
        motion: Motion { steps: [40, 70], position: 0.2, angle: 3.0, velocity: 1.0, rate: 20.0 },
        open: &[],
    },
    Family {
        name: "body on a spring",
        scene: |x| {
            format!(
                "dimension = 3\nstep = 0.01\n[[body]]\nname = \"body\"\nmass = 1\ninertia = [{}, {}, {}]\nposition = [0, 0, 0]\nmask = []\nspin = [2, 3, 1]\n\
                 [[joint]]\nname = \"spring\"\nkind = \"spring\"\nbetween = [\"body\", \"world\"]\nanchors = [[0.2, 0.1, 0.15], [0.2, 0.1, 1.0]]\n\
                 rest = 0.6\nstiffness = {}\ndamping = {}\n",
                x[0], x[1], x[2], x[3], x[4]
            )
        },
        planted: &[
            ("inertia[body].x", [0.02, 0.03]),
            ("inertia[body].y", [0.025, 0.035]),
            ("inertia[body].z", [0.03, 0.04]),
            ("joint_stiffness[spring]", [20.0, 60.0]),
            ("joint_damping[spring]", [0.3, 1.5]),
        ],
        motion: Motion { steps: [30, 60], position: 0.1, angle: 0.4, velocity: 0.5, rate: 2.0 },
        open: &[],
    },
    Family {
        name: "cart on a rail",
        scene: |x| {
            format!(
                "dimension = 2\nstep = 0.01\n[[body]]\nname = \"cart\"\nmass = {}\ninertia = 1\ndamping = {}\nmask = []\n\
                 [[joint]]\nname = \"rail\"\nkind = \"slider\"\nbetween = [\"cart\", \"world\"]\nanchor = [0, 0]\naxis = [1, 0]\nfriction = {}\n\
                 [[force]]\nbody = \"cart\"\nforce = [4, 0]\n",
                x[0], x[1], x[2]
            )
        },
        planted: &[("mass[cart]", [0.5, 3.0]), ("damping[cart]", [0.3, 2.0]), ("joint_friction[rail]", [0.5, 2.0])],
        motion: Motion { steps: [40, 80], position: 0.5, angle: 0.5, velocity: 3.0, rate: 3.0 },
        open: &[],
    },
    Family {
        name: "flywheel",
        scene: |x| {
            format!(
                "dimension = 3\nstep = 0.01\n[[body]]\nname = \"wheel\"\nmass = 2\ninertia = [0.1, 0.1, {}]\nspin_damping = {}\nmask = []\n\
                 [[joint]]\nname = \"axle\"\nkind = \"hinge\"\nbetween = [\"wheel\", \"world\"]\nanchor = [0, 0, 0]\naxis = [0, 0, 1]\nfriction = {}\n\
                 [[force]]\nbody = \"wheel\"\ntorque = [0, 0, 0.5]\n",
                x[0], x[1], x[2]
            )
        },
        planted: &[("inertia[wheel].z", [0.05, 0.15]), ("spin_damping[wheel]", [0.3, 2.0]), ("joint_friction[axle]", [0.05, 0.3])],
        motion: Motion { steps: [40, 80], position: 0.0, angle: 2.0, velocity: 0.0, rate: 5.0 },
        open: &[],
    },
    Family {
        name: "box that is thrown",
        scene: |x| {
            format!(
                "dimension = 3\nstep = 0.005\n[[body]]\nname = \"floor\"\nkind = \"static\"\nshape = {{ half_space = [0, 0, 1] }}\n\
                 [[body]]\nname = \"box\"\nshape = {{ box = [0.2, 0.15, 0.1] }}\nmass = 0.5\nposition = [0, 0, 0.25]\nvelocity = [1.5, 0, -1]\n\
                 [[pair]]\nbetween = [\"box\", \"floor\"]\nfriction = {}\nrestitution = {}\n",
                x[0], x[1]
            )
        },
        planted: &[("pair_friction[box, floor]", [0.1, 0.3]), ("pair_restitution[box, floor]", [0.2, 0.6])],
        motion: Motion { steps: [40, 60], position: 0.03, angle: 0.3, velocity: 0.4, rate: 2.0 },
        open: &[],
    },
    Family {
        name: "arm with a rotor",
        scene: |x| {
            format!(
                "dimension = 2\nstep = 0.01\n[[body]]\nname = \"arm\"\nmass = {}\ninertia = {}\nposition = [0, -0.3]\nmask = []\n\
                 [[joint]]\nname = \"shoulder\"\nkind = \"hinge\"\nbetween = [\"arm\", \"world\"]\nanchor = [0, 0]\narmature = {}\nfriction = {}\n",
                x[0], x[1], x[2], x[3]
            )
        },
        planted: &[
            ("mass[arm]", [0.5, 2.0]),
            ("inertia[arm]", [0.03, 0.08]),
            ("joint_armature[shoulder]", [0.03, 0.08]),
            ("joint_friction[shoulder]", [0.05, 0.3]),
        ],
        motion: Motion { steps: [40, 70], position: 0.0, angle: 1.5, velocity: 0.0, rate: 3.0 },
        open: &["mass[arm]", "inertia[arm]", "joint_armature[shoulder]", "joint_friction[shoulder]"],
    },
    Family {
        name: "pucks that collide",
        scene: |x| {
            format!(
                "dimension = 2\nstep = 0.01\ngravity = [0, 0]\n\
                 [[body]]\nname = \"a\"\nshape = {{ ball = 0.1 }}\nmass = {}\ninertia = 0.005\nposition = [-0.3, 0]\nvelocity = [2, 0]\n\
                 [[body]]\nname = \"b\"\nshape = {{ ball = 0.1 }}\nmass = {}\ninertia = 0.005\nposition = [0.1, 0]\n\
                 [[pair]]\nbetween = [\"a\", \"b\"]\nfriction = 0\nrestitution = {}\n",
                x[0], x[1], x[2]
            )
        },
        planted: &[("mass[a]", [0.5, 2.0]), ("mass[b]", [0.5, 2.0]), ("pair_restitution[a, b]", [0.3, 0.8])],
        motion: Motion { steps: [30, 50], position: 0.03, angle: 1.0, velocity: 0.1, rate: 3.0 },
        open: &["mass[a]", "mass[b]"],
    },
    Family {
        name: "block on a table",
        scene: |x| {
            format!(
                "dimension = 2\nstep = 0.01\n[[body]]\nname = \"table\"\nkind = \"static\"\nshape = {{ half_space = [0, 1] }}\nfriction = {}\n\
                 [[body]]\nname = \"block\"\nshape = {{ box = [0.2, 0.1] }}\nposition = [0, 0.05]\nvelocity = [2, 0]\nfriction = {}\n",
                x[0], x[1]
            )
        },
        planted: &[("friction[table]", [0.2, 0.5]), ("friction[block]", [0.2, 0.5])],
        motion: Motion { steps: [30, 50], position: 0.0, angle: 0.0, velocity: 0.5, rate: 0.0 },
        open: &["friction[table]", "friction[block]"],
    },
    Family {
        name: "mass on a spring",
        scene: |x| {
            format!(
                "dimension = 2\nstep = 0.01\ngravity = [0, 0]\n[[body]]\nname = \"mass\"\nmass = {}\ninertia = 1\nposition = [1.2, 0]\nmask = []\n\
                 [[joint]]\nname = \"spring\"\nkind = \"spring\"\nbetween = [\"mass\", \"world\"]\nanchors = [[1.2, 0], [0, 0]]\nrest = 1\n\
                 stiffness = {}\ndamping = {}\n",
                x[0], x[1], x[2]
            )
        },
        planted: &[("mass[mass]", [0.5, 2.0]), ("joint_stiffness[spring]", [20.0, 60.0]), ("joint_damping[spring]", [0.5, 2.0])],
        motion: Motion { steps: [40, 70], position: 0.1, angle: 1.0, velocity: 0.5, rate: 2.0 },
        open: &["mass[mass]", "joint_stiffness[spring]", "joint_damping[spring]"],
    },
    Family {
        name: "body that tumbles freely",
        scene: |x| {
            format!(
                "dimension = 3\nstep = 0.01\n[[body]]\nname = \"body\"\nmass = 1\ninertia = [{}, {}, {}]\nspin = [3, 2, 1]\nmask = []\n",
                x[0], x[1], x[2]
            )
        },
        planted: &[("inertia[body].x", [0.02, 0.03]), ("inertia[body].y", [0.025, 0.035]), ("inertia[body].z", [0.03, 0.04])],
        motion: Motion { steps: [40, 70], position: 0.1, angle: 1.0, velocity: 1.0, rate: 3.0 },
        open: &["inertia[body].x", "inertia[body].y", "inertia[body].z"],
    },
];

/// A number of a normal distribution.
fn normal(random: &mut Random) -> f64 {
    let (u, v) = (random.between(f64::MIN_POSITIVE, 1.0), random.unit());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// A motion of the true world from a start nearby, with noise; where `exact`, the first row is without noise and has velocities.
fn motion<G: Geometry>(
    world: &World<G>,
    how: &Motion,
    exact: bool,
    number: usize,
    random: &mut Random,
) -> Result<carom_fit::Table, Trouble> {
    let failed = |e: String| Trouble::Failed(format!("planted: {e}"));
    let mut world = world.copy();
    let model = world.model();
    let moving: Vec<usize> = (0..model.bodies.len()).filter(|b| model.bodies[*b].kind == BodyKind::Dynamic).collect();
    let jointed = model.joints.iter().any(|j| j.row_count() > 0);
    let mut any = |most: f64| random.between(-most, most);
    if jointed {
        let names = world.joint_names();
        let along = |name: &String| name.as_str() == "rail";
        let q: Vec<f64> = names.iter().map(|n| any(if along(n) { how.position } else { how.angle })).collect();
        let v: Vec<f64> = names.iter().map(|n| any(if along(n) { how.velocity } else { how.rate })).collect();
        let named = |x: &[f64]| names.iter().map(String::as_str).zip(x.iter().copied()).collect::<Vec<_>>();
        world.set_joints(&named(&q), &named(&v)).map_err(|e| failed(e.to_string()))?;
    } else {
        let mut state = world.state().clone();
        for &body in &moving {
            let mut shift = Twist::<G>::zero();
            (0..G::DIM).for_each(|k| shift.lin[k] = any(how.position));
            (0..G::ANG).for_each(|k| shift.ang[k] = any(how.angle));
            state.poses[body] = state.poses[body].advanced(shift, 1.0);
            (0..G::DIM).for_each(|k| state.twists[body].lin[k] += any(how.velocity));
            (0..G::ANG).for_each(|k| state.twists[body].ang[k] += any(how.rate));
            if !model.pairs.is_empty() && how.position > 0.0 && model.gravity.norm() > 0.0 {
                // Nothing starts inside the floor.
                let up = G::DIM - 1;
                state.poses[body].position[up] = state.poses[body].position[up].max(0.2);
            }
            if how.angle == 0.0 {
                (1..G::DIM).for_each(|k| state.twists[body].lin[k] = 0.0);
            }
        }
        world.set_state(state).map_err(|e| failed(e.to_string()))?;
    }
    let steps = how.steps[0] + random.below(how.steps[1] - how.steps[0]);
    let mut out = carom_fit::Table { name: format!("motion {number}"), ..carom_fit::Table::default() };
    if jointed {
        out.joints = world.joint_names();
    } else {
        out.bodies = moving.iter().map(|b| world.model().bodies[*b].name.clone()).collect();
    }
    for row in 0..=steps {
        if row > 0 {
            world.step().map_err(|e| failed(e.to_string()))?;
        }
        out.time.push(row as f64 * world.model().step);
        let mut add = |size: f64| if exact && row == 0 { 0.0 } else { size * normal(random) };
        let rates = |x: f64| if exact && row == 0 { x } else { f64::NAN };
        if jointed {
            let (q, v) = (world.joint_q(), world.joint_v());
            for (k, name) in out.joints.iter().enumerate() {
                out.joint_q.push(q[k] + add(if name == "rail" { NOISE[0] } else { NOISE[1] }));
                out.joint_v.push(rates(v[k]));
            }
            continue;
        }
        let mut noisy: State<G> = world.state().clone();
        for &body in &moving {
            let pose: &mut Pose<G> = &mut noisy.poses[body];
            let mut shift = Twist::<G>::zero();
            (0..G::DIM).for_each(|k| shift.lin[k] = add(NOISE[0]));
            (0..G::ANG).for_each(|k| shift.ang[k] = add(NOISE[1]));
            *pose = pose.advanced(shift, 1.0);
            let (mut q, mut v) = (vec![0.0; G::COORDS], vec![0.0; G::DOF]);
            noisy.write_pose(body, &mut q);
            noisy.write_twist(body, &mut v);
            out.q.extend(q);
            out.v.extend(v.into_iter().map(rates));
        }
    }
    Ok(out)
}

/// What became of one problem.
struct Found {
    family: usize,
    motions: usize,
    initial: bool,
    truth: Vec<f64>,
    fit: Fit,
}

impl Found {
    /// The truth of a parameter against its estimate in units of half its interval; nothing where the data give none.
    fn miss(&self, k: usize) -> Option<f64> {
        if !self.fit.converged {
            return None;
        }
        let row = &self.fit.parameters[k];
        let [Some(low), Some(high)] = row.interval else { return None };
        let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
        (half > 0.0).then(|| (self.truth[k] - middle) / half)
    }
    /// Whether what the family leaves open was named, and nothing else.
    fn told(&self) -> bool {
        let open = FAMILIES[self.family].open;
        let said: Vec<&str> = self.fit.undetermined.iter().flat_map(|o| o.parameters.iter().map(|p| p.0.as_str())).collect();
        let same = |a: &str, b: &str| a == b || a.replace(", ", "+") == b;
        open.iter().all(|o| said.iter().any(|s| same(o, s))) && (!open.is_empty() || said.is_empty() || !self.fit.converged)
    }
}

fn solve<G: Geometry>(
    scene: SceneOf<G>,
    family: usize,
    truth: Vec<f64>,
    random: &mut Random,
    interrupt: &Interrupt,
) -> Result<Found, Trouble> {
    let one = &FAMILIES[family];
    let failed = |e: String| Trouble::Failed(format!("planted, {}: {e}", one.name));
    let start = Start::new(scene.model, &scene.joints, scene.state).map_err(|e| failed(e.to_string()))?;
    let motions = 5 + random.below(16);
    let initial = random.unit() < 0.5;
    let tables = (0..motions).map(|number| motion(&start.world, &one.motion, !initial, number, random)).collect::<Result<Vec<_>, _>>()?;
    let away = |x: f64, random: &mut Random| x * AWAY.powf(random.between(-1.0, 1.0));
    let ask = Ask {
        parameters: one.planted.iter().map(|p| p.0.to_string()).collect(),
        start: one.planted.iter().zip(&truth).map(|(p, x)| (p.0.to_string(), away(*x, random))).collect(),
        weights: vec![
            ("position".into(), 1.0 / NOISE[0]),
            ("rotation".into(), 1.0 / NOISE[1]),
            ("joint".into(), if one.name == "cart on a rail" { 1.0 / NOISE[0] } else { 1.0 / NOISE[1] }),
        ],
        initial,
        velocities: false,
        iterations: 60,
        ..Ask::default()
    };
    let fit = fit(start, &tables, &ask, interrupt, &mut |_, _, _| {}).map_err(|e| failed(e.to_string()))?;
    if interrupt.raised() {
        return Err(Trouble::Stopped);
    }
    Ok(Found { family, motions, initial, truth, fit })
}

fn problem(number: u64, interrupt: &Interrupt) -> Result<Found, Trouble> {
    let family = (number as usize) % FAMILIES.len();
    let mut random = Random::new(1000 + number);
    let truth: Vec<f64> = FAMILIES[family].planted.iter().map(|(_, [low, high])| random.between(*low, *high)).collect();
    let scene =
        from_toml(&(FAMILIES[family].scene)(&truth), FAMILIES[family].name).map_err(|e| Trouble::Failed(format!("planted: {e}")))?;
    match scene {
        Scene::Planar(scene) => solve(scene, family, truth, &mut random, interrupt),
        Scene::Spatial(scene) => solve(scene, family, truth, &mut random, interrupt),
    }
}

/// Runs the problems of the families whose names contain a word, over so many rounds; all of them where the word is empty.
///
/// # Errors
/// No such family, a scene or a fit that is refused, or the wish to stop.
pub fn run(word: &str, rounds: u64, interrupt: &Interrupt) -> Result<Section, Trouble> {
    let clock = Instant::now();
    // Families whose parameters are all determined come in every round, the others in every third.
    let numbers: Vec<u64> = (0..rounds * FAMILIES.len() as u64)
        .filter(|n| FAMILIES[*n as usize % FAMILIES.len()].name.contains(word))
        .filter(|n| FAMILIES[*n as usize % FAMILIES.len()].open.is_empty() || (n / FAMILIES.len() as u64).is_multiple_of(3))
        .collect();
    if numbers.is_empty() {
        let names: Vec<&str> = FAMILIES.iter().map(|f| f.name).collect();
        return Err(Trouble::Failed(format!("no family \"{word}\"; there are {}", names.join(", "))));
    }
    let found: Vec<Found> = numbers.par_iter().map(|n| problem(*n, interrupt)).collect::<Result<_, _>>()?;
    let mut out = Section::new("planted", "Planted truth");
    out.about.push(format!(
        "{} problems of {} families whose parameters are known: 5 to 20 motions each with noise of {} mm and {} mrad, fitted by `carom_fit` from starts that are off by up to \
         a factor of {AWAY}. In half of them the starts of the motions are noisy too and fitted (`initial`). Covered: of the parameters that have an \
         interval, in fits that call themselves converged, those whose 95 % interval holds the truth. Told: problems in which what the motions leave open is named, and nothing else.",
        found.len(),
        FAMILIES.len(),
        1e3 * NOISE[0],
        1e3 * NOISE[1],
    ));
    let mut table = Table::new(&["family", "problems", "parameters", "covered", "converged", "told", "left open"]);
    let (mut all, mut inside, mut told) = (0, 0, 0);
    let mut misses: Vec<f64> = Vec::new();
    for (k, family) in FAMILIES.iter().enumerate() {
        let of: Vec<&Found> = found.iter().filter(|f| f.family == k).collect();
        let here: Vec<f64> = of.iter().flat_map(|f| (0..f.truth.len()).filter_map(|p| f.miss(p))).collect();
        let covered = here.iter().filter(|m| m.abs() <= 1.0).count();
        let named = of.iter().filter(|f| f.told()).count();
        let converged = of.iter().filter(|f| f.fit.converged).count();
        let words = of.iter().find_map(|f| f.fit.undetermined.first()).map_or("-".to_string(), |o| o.words.clone());
        table.row(vec![
            family.name.into(),
            of.len().to_string(),
            here.len().to_string(),
            covered.to_string(),
            converged.to_string(),
            named.to_string(),
            words,
        ]);
        all += here.len();
        inside += covered;
        told += named;
        misses.extend(here);
    }
    out.tables.push((String::new(), table));
    let percent = 100.0 * inside as f64 / all.max(1) as f64;
    out.targets.push(Target { what: "parameters with an interval".into(), found: all as f64, least: LEAST, most: f64::INFINITY });
    out.targets.push(Target { what: "intervals that hold the truth [%]".into(), found: percent, least: COVERED[0], most: COVERED[1] });
    out.targets.push(Target {
        what: "problems whose open directions are named, and no others [%]".into(),
        found: 100.0 * told as f64 / found.len() as f64,
        least: 100.0,
        most: 100.0,
    });
    misses.iter_mut().for_each(|m| *m = m.abs());
    misses.sort_by(f64::total_cmp);
    let points = misses.iter().enumerate().map(|(k, m)| (*m, 100.0 * (k + 1) as f64 / misses.len() as f64)).filter(|p| p.0 < 3.0);
    let chart =
        Chart::new("How far estimates are from the truth", "distance, in halves of the 95 % interval", "parameters that are closer [%]")
            .with("found", Style::Line, points.collect())
            .with("normal", Style::Dashed, (0..=60).map(|k| 0.05 * f64::from(k)).map(|x| (x, 100.0 * within(1.96 * x))).collect());
    out.pictures.push(Picture::chart("planted-coverage", &chart));
    let seconds = clock.elapsed().as_secs_f64();
    out.timings.push(format!("{} fits in {seconds:.1} s", found.len()));
    for f in &found {
        let open = || f.fit.undetermined.iter().map(|o| o.words.as_str()).collect::<Vec<_>>().join("; ");
        if !f.told() {
            let values: Vec<[f64; 2]> = f.fit.parameters.iter().zip(&f.truth).map(|(r, t)| [r.value, *t]).collect();
            out.timings.push(format!(
                "{}, {} motions, starts {}: left open: \"{}\"; values and truth {values:.4?}, misfit {:.3}, noise {:.3?}; {}",
                FAMILIES[f.family].name,
                f.motions,
                if f.initial { "fitted" } else { "exact" },
                open(),
                f.fit.misfit,
                f.fit.noise,
                f.fit.status
            ));
        }
        for k in 0..f.truth.len() {
            if f.miss(k).is_some_and(|m| m.abs() > 1.5) {
                let row = &f.fit.parameters[k];
                out.timings.push(format!(
                    "{}, {} motions, starts {}: {} {} from {}, truth {}, interval {:?}, misfit {:.3}; {}",
                    FAMILIES[f.family].name,
                    f.motions,
                    if f.initial { "fitted" } else { "exact" },
                    row.parameter,
                    row.value,
                    row.start,
                    f.truth[k],
                    row.interval,
                    f.fit.misfit,
                    f.fit.status
                ));
            }
        }
    }
    Ok(out)
}

/// Part of a normal distribution within so many deviations (Abramowitz and Stegun 7.1.26).
fn within(x: f64) -> f64 {
    let z = x / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let poly = t * (0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    1.0 - poly * (-z * z).exp()
}
