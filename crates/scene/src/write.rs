//! A scene back to text: numbers in their shortest exact form, repeats written out, so that reading it gives the same bits.

use crate::check::is_centred;
use crate::solid::SceneSpace;
use crate::{Scene, SceneOf};
use carom_dynamics::options::{FrictionCone, ImpactFriction, ImpactLaw, Options, Order};
use carom_dynamics::{Aim, Body, BodyKind, Coefficients, Combination, JointSpec, Motor, Resistances, Tolerances};
use carom_math::Vector;
use std::fmt::Write;

/// The scene as text: [`crate::from_toml`] reads it back to an equal scene. It describes the start; joints keep their start anchors.
pub fn to_toml(scene: &Scene) -> String {
    match scene {
        Scene::Planar(scene) => text(scene),
        Scene::Spatial(scene) => text(scene),
    }
}

/// A number in the fewest digits that read back to the same bits.
pub(crate) fn number(x: f64) -> String {
    format!("{x:?}")
}

/// `[1.0, 2.0]`.
pub(crate) fn numbers(x: &[f64]) -> String {
    format!("[{}]", x.iter().map(|x| number(*x)).collect::<Vec<_>>().join(", "))
}

/// Text in quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn quoted_list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    format!("[{}]", words.into_iter().map(quoted).collect::<Vec<_>>().join(", "))
}

/// Lines `key = value` under an optional heading.
struct Lines(String);

impl Lines {
    fn heading(&mut self, heading: &str) {
        self.0.push('\n');
        self.0.push_str(heading);
        self.0.push('\n');
    }
    fn put(&mut self, key: &str, value: impl AsRef<str>) {
        self.0.push_str(key);
        self.0.push_str(" = ");
        self.0.push_str(value.as_ref());
        self.0.push('\n');
    }
    fn put_if(&mut self, wanted: bool, key: &str, value: impl FnOnce() -> String) {
        if wanted {
            self.put(key, value());
        }
    }
}

fn text<G: SceneSpace>(scene: &SceneOf<G>) -> String {
    let model = &scene.model;
    let mut out = Lines(String::new());
    out.put("dimension", G::DIM.to_string());
    out.put("name", quoted(&scene.name));
    out.put_if(!scene.description.is_empty(), "description", || quoted(&scene.description));
    out.put("gravity", numbers(model.gravity.as_slice()));
    out.put("step", number(model.step));
    out.put("duration", number(scene.duration));
    let options = &model.options;
    out.put("impact", impact_of(options));
    let usual = Options::default();
    out.put_if(options.solver != usual.solver, "solver", || quoted(options.solver.name()));
    if let FrictionCone::Polyhedral(n) = options.friction_cone {
        out.put("friction_cone", n.to_string());
    }
    out.put_if(options.integrator != usual.integrator, "integrator", || quoted(options.integrator.name()));
    out.put_if(options.gyroscopic != usual.gyroscopic, "gyroscopic", || quoted(options.gyroscopic.name()));
    out.put_if(options.time_of_impact != usual.time_of_impact, "time_of_impact", || quoted(options.time_of_impact.name()));
    out.put_if(options.stabilisation != usual.stabilisation, "stabilisation", || quoted(options.stabilisation.name()));
    tolerances(&mut out, &model.tolerances);
    out.0 + &parts(scene)
}

/// Bodies, joints, pairs, forces and points.
pub(crate) fn parts<G: SceneSpace>(scene: &SceneOf<G>) -> String {
    parts_from(scene, 0)
}

/// The same, of the bodies from one on.
pub(crate) fn parts_from<G: SceneSpace>(scene: &SceneOf<G>, first: usize) -> String {
    let model = &scene.model;
    let mut out = Lines(String::new());
    for (i, b) in model.bodies.iter().enumerate().skip(first) {
        body(&mut out, scene, i, b);
    }
    for joint in &scene.joints {
        self::joint(&mut out, scene, joint);
    }
    for coupling in &model.couplings {
        out.heading("[[joint]]");
        out.put("name", quoted(&coupling.name));
        out.put("kind", quoted("coupling"));
        let terms: Vec<String> =
            coupling.terms.iter().map(|(joint, c)| format!("{} = {}", quoted(&model.joints[*joint].name), number(*c))).collect();
        out.put("joints", format!("{{ {} }}", terms.join(", ")));
        out.put("offset", number(coupling.offset));
        if let Some(tendon) = coupling.tendon {
            tendon.limits.iter().for_each(|limits| out.put("limits", numbers(limits)));
            // One of them says that it is a tendon.
            out.put_if(tendon.stiffness != 0.0 || tendon.limits.is_none(), "stiffness", || number(tendon.stiffness));
            out.put_if(tendon.damping != 0.0, "damping", || number(tendon.damping));
        }
    }
    let name = |i: usize| model.bodies[i].name.as_str();
    for pair in &model.pairs {
        out.heading("[[pair]]");
        out.put("between", quoted_list(pair.bodies.map(name)));
        for (key, value) in Coefficients::KEYS.iter().zip(pair.coefficients.list()) {
            value.iter().for_each(|x| out.put(key, number(*x)));
        }
        pair.impact.iter().for_each(|x| out.put("impact", impact(*x)));
        pair.collide.iter().for_each(|x| out.put("collide", x.to_string()));
    }
    for force in &model.forces {
        out.heading("[[force]]");
        out.put("body", quoted(name(force.body)));
        out.put("force", numbers(force.force.as_slice()));
        out.put_if(force.torque != G::Ang::zero(), "torque", || rate::<G>(force.torque));
        out.put_if(force.at != G::Lin::zero(), "at", || numbers(force.at.as_slice()));
        out.put_if(force.from != 0.0, "from", || number(force.from));
        out.put_if(force.until.is_finite(), "until", || number(force.until));
        out.put_if(force.control, "control", || "true".to_string());
    }
    for point in &scene.points {
        out.heading("[[point]]");
        out.put("name", quoted(&point.name));
        out.put("body", quoted(&point.body));
        out.put("at", numbers(point.at.as_slice()));
        let mut keys = Vec::new();
        rotation::<G>(&mut keys, point.rotation);
        keys.iter().for_each(|(key, value)| out.put(key, value));
    }
    out.0
}

fn rate<G: SceneSpace>(rate: G::Ang) -> String {
    if G::ANG == 1 { number(rate[0]) } else { numbers(rate.as_slice()) }
}

fn rotation<G: SceneSpace>(out: &mut Vec<(&'static str, String)>, rotation: G::Rot) {
    let mut values = [0.0; 4];
    G::write_rotation(rotation, &mut values);
    let coords = G::COORDS - G::DIM;
    let pair = if coords == 1 { ("angle", number(values[0])) } else { ("rotation", numbers(&values[..coords])) };
    if rotation != G::identity() || values.iter().any(|x| x.is_sign_negative()) {
        out.push(pair);
    }
}

/// The law with what the scene says about friction and tolerance.
fn impact_of(options: &Options) -> String {
    let mut more = String::new();
    if options.impact_friction == ImpactFriction::Staggered {
        more += ", friction = \"staggered\"";
    }
    if let Some(tolerance) = options.impact_tolerance {
        more += &format!(", tolerance = {}", number(tolerance));
    }
    let law = impact(options.impact);
    match law.strip_suffix(" }") {
        _ if more.is_empty() => law,
        Some(table) => format!("{table}{more} }}"),
        None => format!("{{ law = {law}{more} }}"),
    }
}

fn impact(law: ImpactLaw) -> String {
    let order = |word: &str| format!("{{ law = \"gauss-seidel\", order = \"{word}\" }}");
    match law {
        ImpactLaw::Auto => quoted("auto"),
        ImpactLaw::Reflections => quoted("reflections"),
        ImpactLaw::Stronge => quoted("stronge"),
        ImpactLaw::Newton => quoted("newton"),
        ImpactLaw::GaussSeidel(Order::Lexicographic) => quoted("gauss-seidel"),
        ImpactLaw::GaussSeidel(Order::Cyclic) => order("cyclic"),
        ImpactLaw::GaussSeidel(Order::Worst) => order("worst"),
        ImpactLaw::GaussSeidel(Order::Random(seed)) => format!("{{ law = \"gauss-seidel\", order = \"random\", seed = {seed} }}"),
    }
}

fn tolerances(out: &mut Lines, t: &Tolerances) {
    let d = Tolerances::default();
    if *t == d {
        return;
    }
    out.heading("[tolerances]");
    for (key, value, default) in [
        ("margin", t.margin, d.margin),
        ("touch", t.touch, d.touch),
        ("slop", t.slop, d.slop),
        ("rest_speed", t.rest_speed, d.rest_speed),
        ("rest_steps", t.rest_steps, d.rest_steps),
        ("position", t.position, d.position),
        ("locked", t.locked, d.locked),
        ("turn", t.turn, d.turn),
    ] {
        out.put_if(value != default, key, || number(value));
    }
    if let Some(solve) = t.solve {
        out.put("solve", number(solve));
    }
    for (key, value, default) in [
        ("max_events", t.max_events, d.max_events),
        ("max_rounds", t.max_rounds, d.max_rounds),
        ("max_halvings", t.max_halvings, d.max_halvings),
    ] {
        out.put_if(value != default, key, || value.to_string());
    }
}

fn body<G: SceneSpace>(out: &mut Lines, scene: &SceneOf<G>, index: usize, body: &Body<G>) {
    let (pose, twist) = (&scene.state.poses[index], &scene.state.twists[index]);
    out.heading("[[body]]");
    out.put("name", quoted(&body.name));
    out.put_if(body.kind != BodyKind::Dynamic, "kind", || quoted(body.kind.name()));
    let shapes: Vec<String> = body
        .colliders
        .iter()
        .map(|c| {
            let mut keys = vec![G::shape_text(&c.shape)];
            if c.local.position.as_slice().iter().any(|x| *x != 0.0 || x.is_sign_negative()) {
                keys.push(format!("at = {}", numbers(c.local.position.as_slice())));
            }
            let mut turn = Vec::new();
            rotation::<G>(&mut turn, c.local.rotation);
            keys.extend(turn.into_iter().map(|(key, value)| format!("{key} = {value}")));
            format!("{{ {} }}", keys.join(", "))
        })
        .collect();
    match shapes.as_slice() {
        [] => {}
        [one] => out.put("shape", one),
        several => out.put("shape", format!("[\n  {},\n]", several.join(",\n  "))),
    }
    if body.kind == BodyKind::Dynamic {
        out.put("mass", number(body.mass));
        let rows = G::inertia_rows(body.inertia);
        if rows.iter().any(|x| *x != 0.0) {
            out.put("inertia", inertia(&rows));
        }
    }
    out.put_if(!is_centred(body), "centre", || numbers(G::Lin::zero().as_slice()));
    out.put("position", numbers(pose.position.as_slice()));
    let mut turn = Vec::new();
    rotation::<G>(&mut turn, pose.rotation);
    turn.iter().for_each(|(key, value)| out.put(key, value));
    let moves = |x: &[f64]| x.iter().any(|x| *x != 0.0 || x.is_sign_negative());
    out.put_if(moves(twist.lin.as_slice()), "velocity", || numbers(twist.lin.as_slice()));
    out.put_if(moves(twist.ang.as_slice()), "spin", || rate::<G>(twist.ang));
    for (key, value) in Coefficients::KEYS.iter().zip(body.surface.list()) {
        // A scene has defaults of its own for the first two.
        out.put_if(value != 0.0 || matches!(*key, "friction" | "restitution"), key, || number(value));
    }
    out.put_if(body.combine != Combination::default(), "combine", || {
        let Combination { friction, restitution } = body.combine;
        format!("{{ friction = {}, restitution = {} }}", quoted(friction.name()), quoted(restitution.name()))
    });
    for (key, bits) in [("group", body.group), ("mask", body.mask)] {
        let names = scene.groups.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, name)| name.as_str());
        out.put_if(bits != u64::MAX, key, || quoted_list(names));
    }
    for (key, value) in Resistances::KEYS.iter().zip(body.resistances.list()) {
        out.put_if(value != 0.0, key, || number(value));
    }
    let axes = ["x", "y", "z"].into_iter().zip(body.locked.as_slice()).filter(|(_, held)| **held != 0.0).map(|(axis, _)| axis);
    let locked: Vec<&str> = axes.chain(body.locked_rotation.then_some("rotation")).collect();
    out.put_if(!locked.is_empty(), "locked", || quoted_list(locked.iter().copied()));
    out.put("color", format!("\"#{:06x}\"", body.color));
}

/// A number, three moments, or three rows.
fn inertia(rows: &[f64]) -> String {
    match rows {
        [one] => number(*one),
        [x, a, b, c, y, d, e, f, z] if [a, b, c, d, e, f].iter().all(|x| **x == 0.0) => numbers(&[*x, *y, *z]),
        _ => format!("[{}]", rows.chunks(3).map(numbers).collect::<Vec<_>>().join(", ")),
    }
}

fn joint<G: SceneSpace>(out: &mut Lines, scene: &SceneOf<G>, joint: &JointSpec<G>) {
    let name = |b: Option<usize>| b.map_or("world", |b| scene.model.bodies[b].name.as_str());
    let pair = |[a, b]: [G::Lin; 2]| format!("[{}, {}]", numbers(a.as_slice()), numbers(b.as_slice()));
    out.heading("[[joint]]");
    out.put("name", quoted(&joint.name));
    out.put("kind", quoted(joint.kind.name()));
    out.put("between", quoted_list(joint.bodies.map(name)));
    joint.anchor.iter().for_each(|x| out.put("anchor", numbers(x.as_slice())));
    joint.anchors.iter().for_each(|x| out.put("anchors", pair(*x)));
    joint.axis.iter().for_each(|x| out.put("axis", numbers(x.as_slice())));
    joint.axes.iter().for_each(|x| out.put("axes", pair(*x)));
    joint.measures.pairs().for_each(|(key, value)| value.iter().for_each(|x| out.put(key, number(*x))));
    joint.limits.iter().for_each(|x| out.put("limits", numbers(x)));
    joint.motor.iter().for_each(|m| out.put("motor", motor(m)));
    out.put_if(joint.friction != 0.0, "friction", || number(joint.friction));
    out.put_if(joint.armature != 0.0, "armature", || number(joint.armature));
    out.put_if(joint.collide, "collide", || "true".to_string());
}

fn motor(motor: &Motor) -> String {
    let max = motor.max();
    let max = if max.is_finite() { format!(", max = {}", number(max)) } else { String::new() };
    match motor {
        Motor::Velocity { velocity, .. } => format!("{{ velocity = {}{max} }}", number(*velocity)),
        Motor::Position { position, stiffness, damping, .. } => {
            format!("{{ position = {}, stiffness = {}, damping = {}{max} }}", number(*position), number(*stiffness), number(*damping))
        }
        Motor::Servo { aim, target, stiffness, damping, control, .. } => {
            let target = if *control { "control = true".to_string() } else { format!("target = {}", number(*target)) };
            match aim {
                Aim::Position => {
                    format!("{{ servo = \"position\", {target}, stiffness = {}, damping = {}{max} }}", number(*stiffness), number(*damping))
                }
                Aim::Velocity => format!("{{ servo = \"velocity\", {target}, damping = {}{max} }}", number(*damping)),
            }
        }
        Motor::Control { .. } => format!("{{ control = true{max} }}"),
        Motor::Sprung { position, stiffness, damping, .. } => {
            // A damper alone rests nowhere.
            let spring = if *stiffness == 0.0 {
                String::new()
            } else {
                format!("position = {}, stiffness = {}, ", number(*position), number(*stiffness))
            };
            format!("{{ control = true, {spring}damping = {}{max} }}", number(*damping))
        }
    }
}
