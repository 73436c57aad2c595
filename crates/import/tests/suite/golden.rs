//! The models of `tests/models` against MuJoCo: mass, centre of mass, joints, and a passive swing of one second (`tests/imports/reference.py`).
//!
//! Springs and dampers are implicit and of first order here, so positions are extrapolated from two steps.

use carom_dynamics::{BodyKind, World};
use carom_import::{Base, Options, load};
use carom_math::Spatial;
use carom_scene::{Scene, SceneOf};
use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion, Vector3};
use serde_json::Value;
use std::path::PathBuf;

/// The two steps \[s\].
const STEPS: [f64; 2] = [2e-4, 1e-4];
/// Duration of the swing \[s\].
const TIME: f64 = 1.0;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

fn reference() -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join("imports/reference.json")).unwrap()).unwrap()
}

fn import(model: &str, options: &Options) -> SceneOf<Spatial> {
    let import = load(folder().join("models").join(model), options).unwrap();
    let Scene::Spatial(scene) = import.scene else { panic!("models are spatial") };
    scene
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn frame(value: &Value) -> Isometry3<f64> {
    let x = numbers(value);
    Isometry3::from_parts(Translation3::new(x[0], x[1], x[2]), UnitQuaternion::from_quaternion(Quaternion::new(x[3], x[4], x[5], x[6])))
}

#[test]
fn masses_centres_and_joints_are_those_of_mujoco() {
    for (model, facts) in reference().as_object().unwrap() {
        let scene = import(model, &Options::default());
        let moving = || scene.model.bodies.iter().zip(&scene.state.poses).filter(|(b, _)| b.kind == BodyKind::Dynamic);
        let mass: f64 = moving().map(|(b, _)| b.mass).sum();
        let centre = moving().map(|(b, pose)| pose.position * b.mass).sum::<Vector3<f64>>() / mass;
        let wanted = facts["mass"].as_f64().unwrap();
        // MuJoCo keeps the vertices of meshes in single precision.
        assert!((mass - wanted).abs() < 1e-7 * wanted, "{model}: {mass} {wanted}");
        let at = numbers(&facts["centre"]);
        assert!((centre - Vector3::new(at[0], at[1], at[2])).norm() < 1e-7, "{model}: {centre:?} {at:?}");
        // Combined joints go by the names of all of them; a free one is no joint of the engine.
        let joints: usize = scene.model.joints.iter().map(|j| j.name.split('+').count()).sum();
        let free = usize::from(model == "masses.xml");
        assert_eq!(joints + free, facts["joints"].as_u64().unwrap() as usize, "{model}");
    }
}

/// Centres of mass of all bodies by name, at the start and after the swing.
fn swing(model: &str, facts: &Value, step: f64) -> Vec<(String, Vector3<f64>, Vector3<f64>)> {
    let pose = facts["pose"].as_object().unwrap().iter().map(|(name, x)| (name.clone(), x.as_f64().unwrap())).collect();
    let options = Options { base: Base::Fixed, contacts: false, controls: false, limits: false, pose, ..Options::default() };
    let scene = import(model, &options);
    let mut model = scene.model;
    model.step = step;
    model.gravity = Vector3::new(1.0, 2.0, -9.0);
    let mut world = World::new(model, scene.state.clone()).unwrap();
    for _ in 0..(TIME / step).round() as usize {
        world.step().unwrap();
    }
    let ends = scene.state.poses.iter().zip(&world.state().poses);
    world.model().bodies.iter().zip(ends).map(|(b, (start, end))| (b.name.clone(), start.position, end.position)).collect()
}

#[test]
fn a_passive_swing_is_that_of_mujoco() {
    for (model, facts) in reference().as_object().unwrap() {
        let [coarse, fine] = STEPS.map(|step| swing(model, facts, step));
        let (mut compared, mut moved) = (0, 0.0_f64);
        for ((name, start, rough), (_, _, better)) in coarse.iter().zip(&fine) {
            let Some(place) = facts["start"].get(name) else { continue };
            let local = frame(place).inverse_transform_point(&(*start).into());
            let wanted = frame(&facts["end"][name]).transform_point(&local).coords;
            let found = better + (better - rough) / 3.0;
            assert!((found - wanted).norm() < 1e-4, "{model}, {name}: {found:?} {wanted:?}");
            (compared, moved) = (compared + 1, moved.max((found - start).norm()));
        }
        assert!(compared >= 2 && moved > 1e-3, "{model}: {compared} bodies, {moved} m");
    }
}
