//! What can be set while a scene runs: parameters by name and controls, as the engine knows them.

use carom_dynamics::gradient::{Names, Parameters, Row};
use carom_dynamics::{Aim, Model, Motor};
use carom_geometry::Geometry;
use carom_math::Vector;
use serde_json::{Value, json};

/// Keys of motors that have a target.
const TARGETS: [&str; 2] = ["joint_motor_velocity", "joint_motor_position"];
/// Parameters that a page may set.
const KEYS: [&str; 6] = ["gravity", "mass", "friction", "restitution", TARGETS[0], TARGETS[1]];

/// Parameters and controls as they are now.
pub fn report<G: Geometry>(model: &Model<G>, controls: &[f64]) -> Value {
    let each = |of: fn(&carom_dynamics::Body<G>) -> f64| model.bodies.iter().map(of).collect::<Vec<f64>>();
    let targets: Vec<Value> = model
        .joints
        .iter()
        .enumerate()
        .filter_map(|(joint, about)| match about.motor? {
            Motor::Velocity { velocity, .. } => Some(json!({ "joint": joint, "key": TARGETS[0], "value": velocity })),
            Motor::Position { position, .. } => Some(json!({ "joint": joint, "key": TARGETS[1], "value": position })),
            Motor::Servo { aim, target, control: false, .. } => {
                Some(json!({ "joint": joint, "key": TARGETS[usize::from(aim == Aim::Position)], "value": target }))
            }
            Motor::Control { .. } | Motor::Sprung { .. } | Motor::Servo { .. } => None,
        })
        .collect();
    let motors = model.joints.iter().enumerate().filter(|(_, joint)| joint.is_controlled()).map(|(index, joint)| {
        let max = joint.motor.as_ref().map(Motor::max).filter(|max| max.is_finite());
        (joint.name.clone(), Some(index), max)
    });
    let forces = model.forces.iter().filter(|f| f.control).map(|f| (format!("force on {}", model.bodies[f.body].name), None, None));
    let controls: Vec<Value> = motors
        .chain(forces)
        .zip(controls)
        .map(|((name, joint, max), value)| json!({ "name": name, "joint": joint, "max": max, "value": value }))
        .collect();
    json!({
        "gravity": model.gravity.as_slice(), "mass": each(|b| b.mass), "friction": each(|b| b.surface.friction),
        "restitution": each(|b| b.surface.restitution), "targets": targets, "controls": controls,
    })
}

/// The model with a parameter of one body, joint or axis set, or of all.
///
/// # Errors
/// A parameter that pages do not set, one that the model does not have, and a number out of its range, in words.
pub fn set<G: Geometry>(names: &mut Names<G>, model: &Model<G>, key: &str, index: Option<usize>, value: f64) -> Result<Model<G>, String> {
    if !KEYS.contains(&key) {
        return Err(format!("{key} is not set while a scene runs"));
    }
    let words = |error: carom_dynamics::gradient::NameError| error.to_string();
    let layout = Parameters::of(model);
    let mut values = names.get(model, &layout, key).map_err(words)?;
    let mut found = false;
    for (place, number) in values.values.iter_mut().enumerate() {
        let whose = match values.rows.get(place / values.components.len()) {
            Some(Row::Body(body)) => *body,
            Some(Row::Joint(joint)) => *joint,
            // Gravity is one row: its entries are the axes.
            _ => place,
        };
        // What cannot move has no mass to be set.
        if index.is_none_or(|index| index == whose) && number.is_finite() {
            *number = value;
            found = true;
        }
    }
    if !found {
        return Err(format!("{key}: nothing of that number"));
    }
    let mut next = names.set(model, key, &values.values).map_err(words)?;
    match key {
        // A body of the same shape: its inertia goes with its mass.
        "mass" => {
            let mut inertia = names.get(&next, &layout, "inertia").map_err(words)?;
            let each = inertia.components.len();
            for (place, number) in inertia.values.iter_mut().enumerate() {
                if let Some(Row::Body(body)) = inertia.rows.get(place / each)
                    && number.is_finite()
                {
                    *number *= next.bodies[*body].mass / model.bodies[*body].mass;
                }
            }
            next = names.set(&next, "inertia", &inertia.values).map_err(words)?;
        }
        // Where pairs have their own coefficient, all means theirs too.
        "friction" | "restitution" if index.is_none() => {
            let pair = format!("pair_{key}");
            if let Ok(rules) = names.get(&next, &Parameters::of(&next), &pair) {
                next = names.set(&next, &pair, &vec![value; rules.values.len()]).map_err(words)?;
            }
        }
        _ => {}
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_math::Planar;
    use carom_scene::{Scene, SceneOf, from_toml, scene};

    fn planar(text: &str) -> (SceneOf<Planar>, Names<Planar>) {
        let Scene::Planar(scene) = from_toml(text, "x").unwrap() else { panic!("a plane") };
        let names = Names::new(&scene.model, &scene.joints, &scene.state).unwrap();
        (scene, names)
    }

    #[test]
    fn one_or_all_are_set_and_inertia_goes_with_mass() {
        let (scene, mut names) = planar(carom_scene::scene("pile_in_bin").unwrap().text);
        let model = set(&mut names, &scene.model, "mass", Some(1), 7.0).unwrap();
        let ratio = 7.0 / scene.model.bodies[1].mass;
        assert_eq!((model.bodies[1].mass, model.bodies[2].mass), (7.0, scene.model.bodies[2].mass));
        assert!((model.bodies[1].inertia[0] / scene.model.bodies[1].inertia[0] - ratio).abs() < 1e-12);
        let model = set(&mut names, &model, "friction", None, 0.125).unwrap();
        assert!(model.bodies.iter().all(|b| b.surface.friction == 0.125));
        let model = set(&mut names, &model, "gravity", Some(1), -1.5).unwrap();
        assert_eq!(model.gravity.as_slice(), [0.0, -1.5]);
    }

    #[test]
    fn what_is_wrong_is_said_and_changes_nothing() {
        let (scene, mut names) = planar(carom_scene::scene("ball_drop").unwrap().text);
        for (key, index, value) in
            [("step", None, 1.0), ("mass", Some(1), -1.0), ("restitution", None, 2.0), ("friction", Some(9), 0.5), ("mass", Some(0), 1.0)]
        {
            let error = set(&mut names, &scene.model, key, index, value).unwrap_err();
            assert!(error.contains(key), "{error}");
        }
    }

    #[test]
    fn targets_and_controls_are_listed() {
        let (scene, mut names) = planar(scene("motor_crank").unwrap().text);
        let report = report(&scene.model, &vec![0.5; scene.model.control_count()]);
        let target = &report["targets"][0];
        assert_eq!(target["key"], TARGETS[0]);
        let joint = target["joint"].as_u64().unwrap() as usize;
        let model = set(&mut names, &scene.model, TARGETS[0], Some(joint), 1.25).unwrap();
        assert!(matches!(model.joints[joint].motor, Some(Motor::Velocity { velocity: 1.25, .. })));
    }
}
