//! `carom check`: is a scene sound, and what is in it.

use crate::args::CheckArgs;
use crate::failure::{Failure, Fault};
use crate::print::{self, digits, measure, plural};
use crate::source::find_with;
use carom::Scene;
use carom::dynamics::{BodyKind, Placement, World};
use carom::scene::{SceneOf, SceneSpace};
use serde_json::{Value, json};

/// Pairs that overlap which are printed where nothing moves them apart.
const MOST_PAIRS: usize = 8;

/// Reads a scene, builds its world, says what it holds.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let source = find_with(&args.scene, &args.import)?;
    let (words, mut facts) = match source.scene {
        Scene::Planar(scene) => describe(&source.place, scene)?,
        Scene::Spatial(scene) => describe(&source.place, scene)?,
    };
    facts["notes"] = json!(source.notes);
    if args.json {
        print::json(&facts)?;
    } else {
        print::line(&words)?;
    }
    Ok(())
}

fn describe<G: SceneSpace>(place: &str, scene: SceneOf<G>) -> Result<(String, Value), Failure> {
    let (name, duration) = (scene.name, scene.duration);
    let world = World::new(scene.model, scene.state).map_err(|error| Failure::model(place, &error))?;
    let model = world.model();
    let dynamic = model.bodies.iter().filter(|b| b.kind == BodyKind::Dynamic).count();
    let overlaps = world.overlaps();
    let overlap = overlaps.first().map_or(0.0, |(_, depth)| *depth);
    let mut words = format!(
        "{place}: sound\n  {}D, {} ({dynamic} dynamic), {}, {}, {}\n  {duration} s in steps of {} s",
        G::DIM,
        plural(model.bodies.len(), "body"),
        plural(model.joints.len(), "joint"),
        plural(model.forces.len(), "force"),
        plural(model.control_count(), "control"),
        digits(model.step, 6),
    );
    let start = placement(place, &world)?;
    let start_notes = start.notes(model);
    start_notes.iter().for_each(|note| words += &format!("\n  note: {note}"));
    // What starts wrong names the pairs that overlap by more than is left alone; programs hear of all.
    let pairs: Vec<([&str; 2], f64)> = overlaps.iter().map(|(pair, depth)| (pair.map(|body| &*model.bodies[body].name), *depth)).collect();
    let redundant: Vec<&str> = world.redundant_joints().into_iter().map(|joint| model.joints[joint].name.as_str()).collect();
    if !redundant.is_empty() {
        words += &format!("\n  note: redundant joints, whose rows others hold already: {}", redundant.join(", "));
    }
    let facts = json!({
        "ok": true, "file": place, "name": name, "dimension": G::DIM, "bodies": model.bodies.len(), "dynamic": dynamic,
        "joints": model.joints.len(), "forces": model.forces.len(), "controls": model.control_count(), "step": model.step,
        "duration": duration, "start_overlap": overlap,
        "overlaps": pairs.iter().map(|(bodies, depth)| json!({ "bodies": bodies, "depth": depth })).collect::<Vec<_>>(), "start_joint_error": world.joint_error(), "redundant_joints": redundant,
        "start_notes": start_notes, "start_energy": start.energy, "start_shift": start.shift, "start_turn": start.turn,
    });
    Ok((words, facts))
}

/// What starts wrong and how it is put right; a fault where it cannot be.
fn placement<G: SceneSpace>(place: &str, world: &World<G>) -> Result<Placement, Failure> {
    let refused = |what: String| Failure::bad_input(Fault::new(format!("{place}: {what}")));
    let start = world.foreseen_placement().map_err(|error| refused(format!("the start cannot be put right: {error}")))?;
    match start.left {
        Some(([a, b], depth)) if depth > Placement::OVERLAP_ALLOWED => {
            let [a, b] = [a, b].map(|body| &world.model().bodies[body].name);
            let what = format!("bodies \"{a}\" and \"{b}\" overlap by {} of the smaller one and nothing moves them apart", measure(depth));
            let overlaps = world.overlaps();
            let name = |body: usize| &world.model().bodies[body].name;
            let pair = |([a, b], depth): &([usize; 2], f64)| format!("\"{}\" and \"{}\" by {} m", name(*a), name(*b), measure(*depth));
            let mut list: Vec<String> = overlaps.iter().take(MOST_PAIRS).map(pair).collect();
            if overlaps.len() > MOST_PAIRS {
                list.push(format!("{} more", overlaps.len() - MOST_PAIRS));
            }
            Err(refused(what).with_help(|| format!("overlapping: {}", list.join(", "))))
        }
        _ => Ok(start),
    }
}
