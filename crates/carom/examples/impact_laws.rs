//! The same scenes under every impact law: energy, symmetry, iterations. Prints the tables of `docs/impact-laws.md`:
//!
//! ```text
//! cargo run --release -p carom --example impact_laws
//! ```

use carom::prelude::*;

/// Five equal balls, all but the first touching; the first flies in at 1 m/s.
const CRADLE: &str = r#"
    dimension = 2
    gravity = [0, 0]
    [materials.steel]
    restitution = 1
    friction = 0
    [[body]]
    shape = { ball = 0.5 }
    mass = 1
    position = [-1.125, 0]
    velocity = [1, 0]
    material = "steel"
    [[repeat]]
    count = 4
    offset = [1, 0]
    body = { name = "ball", shape = { ball = 0.5 }, mass = 1, material = "steel" }
"#;

/// A ball in the corner of a wedge of 0.01 rad, thrown further in.
const WEDGE: &str = r#"
    dimension = 2
    gravity = [0, 0]
    [materials.steel]
    restitution = 1
    friction = 0
    [[body]]
    kind = "static"
    shape = { half_space = [0, 1] }
    material = "steel"
    [[body]]
    kind = "static"
    shape = { half_space = [0.009999833334166664, -0.9999500004166653] }
    material = "steel"
    [[body]]
    shape = { ball = 0.05 }
    mass = 1
    position = [9.999916666083333, 0.05]
    velocity = [-1, -0.0005]
    material = "steel"
"#;

/// A thin rod that falls on its lower end.
const ROD: &str = r#"
    dimension = 2
    gravity = [0, 0]
    [materials.oak]
    restitution = 1
    friction = 0.5
    [[body]]
    kind = "static"
    shape = { half_space = [0, 1] }
    material = "oak"
    [[body]]
    shape = { capsule = [1, 0.01] }
    mass = 1
    inertia = 0.08333333333333333
    position = [0, 0.5]
    angle = 0.9599310885968813  # 55 degrees
    velocity = [0.5, -1]
    material = "oak"
"#;

const LAWS: [(&str, ImpactLaw); 8] = [
    ("`auto`", ImpactLaw::Auto),
    ("`reflections`", ImpactLaw::Reflections),
    ("`gauss-seidel`, lexicographic", ImpactLaw::GaussSeidel(Order::Lexicographic)),
    ("`gauss-seidel`, cyclic", ImpactLaw::GaussSeidel(Order::Cyclic)),
    ("`gauss-seidel`, random", ImpactLaw::GaussSeidel(Order::Random(1))),
    ("`gauss-seidel`, worst", ImpactLaw::GaussSeidel(Order::Worst)),
    ("`stronge`", ImpactLaw::Stronge),
    ("`newton`", ImpactLaw::Newton),
];

/// Simulated time of the heap \[s\]: by then it lies still.
const HEAP_TIME: f64 = 2.0;

type Failure = Box<dyn std::error::Error>;

/// A planar scene under a law.
/// The text of a scene that comes with the engine.
fn embedded(name: &str) -> Result<&'static str, Failure> {
    Ok(carom::scene::scene(name).ok_or("an embedded scene")?.text)
}

fn build(text: &str, law: ImpactLaw) -> Result<World<Planar>, Failure> {
    let Scene::Planar(mut scene) = carom::from_toml(text, "table.toml")? else { return Err("a planar scene".into()) };
    scene.model.options.impact = law;
    Ok(World::new(scene.model, scene.state)?)
}

/// Steps until the first strike, at most a second; the report of that step.
fn first_strike(world: &mut World<Planar>) -> Result<StepReport, Failure> {
    while world.state().time < 1.0 {
        let report = world.step()?;
        if report.impacts > 0 {
            return Ok(report);
        }
    }
    Err("nothing strikes".into())
}

/// How an impact problem ended.
fn end(capped: bool) -> &'static str {
    if capped { "capped" } else { "yes" }
}

fn main() -> Result<(), Failure> {
    println!("### Cradle of five, e = 1\n\n| law | velocities after [m/s] | energy | iterations | ends |\n|---|---|---|---|---|");
    for (name, law) in LAWS {
        let mut world = build(CRADLE, law)?;
        let report = first_strike(&mut world)?;
        let velocities: Vec<String> = world.state().twists.iter().map(|t| format!("{:.1}", t.lin.x + 0.0)).collect();
        let energy = world.energies().0 / 0.5;
        println!("| {name} | {} | {energy:.12} | {} | {} |", velocities.join(", "), report.impact_iterations, end(report.impact_capped));
    }

    println!(
        "\n### Pool break, e = 1 (`crates/scene/scenes/pool_break.toml`)\n\n| law | energy | asymmetry / cue speed | iterations | ends |\n|---|---|---|---|---|"
    );
    for (name, law) in LAWS {
        let mut world = build(embedded("pool_break")?, law)?;
        let start = world.state().clone();
        let before = world.energies().0;
        let report = first_strike(&mut world)?;
        let skew = asymmetry(&start, world.state()) / start.twists[0].lin.norm();
        println!(
            "| {name} | {:.12} | {skew:.1e} | {} | {} |",
            world.energies().0 / before,
            report.impact_iterations,
            end(report.impact_capped)
        );
    }

    println!("\n### Wedge of 0.01 rad, e = 1\n\n| law | energy | iterations (bound 315) | ends |\n|---|---|---|---|");
    for (name, law) in LAWS {
        let mut world = build(WEDGE, law)?;
        let before = world.energies().0;
        let report = first_strike(&mut world)?;
        println!("| {name} | {:.12} | {} | {} |", world.energies().0 / before, report.impact_iterations, end(report.impact_capped));
    }

    println!("\n### Oblique rod, e = 1, friction 0.5\n\n| law | velocity after [m/s] | spin [rad/s] | energy |\n|---|---|---|---|");
    for (name, law) in LAWS {
        let mut world = build(ROD, law)?;
        let before = world.energies().0;
        let _ = first_strike(&mut world)?;
        let twist = world.state().twists[1];
        println!("| {name} | ({:.4}, {:.4}) | {:.4} | {:.4} |", twist.lin.x, twist.lin.y, twist.ang.x, world.energies().0 / before);
    }

    println!(
        "\n### Heap of thirty, 2 s (`crates/scene/scenes/pile_in_bin.toml`)\n\n| law | impact problems | iterations | capped steps | largest gain in a \
         strike [J] | deepest overlap [m] |\n|---|---|---|---|---|---|"
    );
    for (name, law) in LAWS {
        let mut world = build(embedded("pile_in_bin")?, law)?;
        let (mut total, mut capped, mut gain, mut deepest) = (StepReport::default(), 0, 0.0f64, 0.0f64);
        while world.state().time < HEAP_TIME {
            let lost = world.ledger().flow.impact_loss;
            let report = world.step()?;
            gain = gain.max(lost - world.ledger().flow.impact_loss);
            deepest = deepest.min(world.deepest());
            capped += usize::from(report.impact_capped);
            total.merge(&report);
        }
        println!("| {name} | {} | {} | {capped} | {gain:.1e} | {:.1e} |", total.impacts, total.impact_iterations, -deepest);
    }
    Ok(())
}

/// Largest difference between a velocity and the mirror image, across the x axis, of its partner's: bodies are partners by where they
/// started.
fn asymmetry(start: &State<Planar>, after: &State<Planar>) -> f64 {
    let mut worst = 0.0f64;
    for (i, pose) in start.poses.iter().enumerate() {
        let apart = |j: usize| (start.poses[j].position.x - pose.position.x).hypot(start.poses[j].position.y + pose.position.y);
        let partner = (0..start.poses.len()).min_by(|&a, &b| apart(a).total_cmp(&apart(b))).unwrap_or(i);
        let (v, w) = (after.twists[i].lin, after.twists[partner].lin);
        worst = worst.max((v.x - w.x).abs()).max((v.y + w.y).abs());
    }
    worst
}
