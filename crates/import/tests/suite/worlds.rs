//! Worlds of several files, and models that stand on a ground, are dropped and held.

use carom_dynamics::World;
use carom_import::{Base, Options, from_urdf, load_scene};
use carom_math::Spatial;
use carom_scene::{Scene, SceneOf, from_toml, to_toml};
use std::path::PathBuf;

const ARM: &str = r#"<robot name="arm">
  <link name="base"><inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <link name="rod"><inertial><origin xyz="0 0 0.25"/><mass value="1"/><inertia ixx="0.02" iyy="0.02" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.25"/><geometry><box size="0.05 0.05 0.5"/></geometry></collision></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="rod"/><origin xyz="0.3 0 0.1" rpy="0 1.2 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="30" velocity="1"/></joint>
</robot>"#;

/// A folder of files that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("carom-worlds-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for (file, text) in files {
            std::fs::write(path.join(file), text).unwrap();
        }
        Folder(path)
    }
    fn load(&self, file: &str) -> Result<SceneOf<Spatial>, carom_scene::SceneErrors> {
        match load_scene(self.0.join(file))?.scene {
            Scene::Spatial(scene) => Ok(scene),
            Scene::Planar(_) => panic!("a scene of space"),
        }
    }
    fn refused(&self, file: &str) -> carom_scene::SceneError {
        load_scene(self.0.join(file)).unwrap_err().into_first()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const CELL: &str = r#"
dimension = 3
include = [
  { file = "arm.urdf", name = "left", position = [0, 0, 0.5], base = "fixed" },
  { file = "arm.urdf", name = "right", position = [1, 0, 0.5], rotation = [0, 0, 0, 1], base = "free", hold = true },
  { file = "crate.toml", position = [0, 3, 0] },
]
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 0, 1] }
[[joint]]
name = "tie"
kind = "rope"
between = ["left.rod", "crate.box"]
anchors = [[0.5, 0, 0.5], [0, 3, 0.5]]
length = 9
"#;

const CRATE: &str =
    "dimension = 3\ngravity = [0, 0, 5]\n[[body]]\nname = \"box\"\nshape = { box = [1, 1, 1] }\nposition = [0, 0, 0.5]\nmass = 4\n";

#[test]
fn a_scene_of_several_files_has_their_parts_under_their_names() {
    let folder = Folder::new("cell", &[("arm.urdf", ARM), ("crate.toml", CRATE), ("cell.toml", CELL)]);
    let scene = folder.load("cell.toml").unwrap();
    let names: Vec<&str> = scene.model.bodies.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["ground", "left.base", "left.rod", "right.base", "right.rod", "crate.box"]);
    let joints: Vec<&str> = scene.model.joints.iter().map(|j| j.name.as_str()).collect();
    assert_eq!(joints, ["tie", "left.elbow", "right.elbow"]);
    assert_eq!(scene.model.gravity.z, -9.81, "the gravity of an included file is left behind");
    let at = |i: usize| scene.state.poses[i].position;
    // The same link from the left and, turned by half a turn about z, from the right.
    let (left, right) = (at(2), at(4));
    assert!((left.x + right.x - 1.0).abs() < 1e-12 && (left.z - right.z).abs() < 1e-12, "{left:?} {right:?}");
    assert_eq!(at(5).y, 3.0);
    let motors: Vec<bool> = scene.model.joints.iter().map(|j| j.is_controlled()).collect();
    assert_eq!(motors, [false, true, false], "the held one has no control");
    // Expanded: the text stands alone and reads back to the same.
    let all = Scene::Spatial(scene.clone());
    let text = to_toml(&all);
    assert!(!text.contains("include"));
    let again = from_toml(&text, "cell").unwrap();
    assert_eq!(to_toml(&again), text);
    // Links of one arm do not touch each other; two arms, the crate and the ground do.
    let world = World::new(scene.model, scene.state).unwrap();
    let bodies = &world.model().bodies;
    let meets = |a: usize, b: usize| bodies[a].group & bodies[b].mask != 0 && bodies[b].group & bodies[a].mask != 0;
    assert!(!meets(1, 2) && !meets(3, 4), "within a model");
    assert!(meets(1, 3) && meets(2, 4) && meets(2, 5) && meets(0, 3) && meets(0, 5), "between files");
}

#[test]
fn faults_of_includes_name_the_file_the_line_and_the_reason() {
    let loop_a = "dimension = 3\ninclude = [{ file = \"b.toml\" }]\n";
    let loop_b = "dimension = 3\n\ninclude = [{ file = \"a.toml\" }]\n";
    let clash = "dimension = 3\ninclude = [\n  { file = \"crate.toml\", name = \"c\" },\n  { file = \"crate.toml\", name = \"c\" },\n]\n";
    let body = "dimension = 3\n[[body]]\nname = \"c.box\"\nshape = { ball = 1 }\n[[include]]\nfile = \"crate.toml\"\nname = \"c\"\n";
    let lost = "dimension = 3\n\ninclude = [{ file = \"nothing.toml\" }]\n";
    let flat = "dimension = 2\ninclude = [{ file = \"crate.toml\" }]\n";
    let based = "dimension = 3\ninclude = [{ file = \"crate.toml\", base = \"fixed\" }]\n";
    let inner = "dimension = 3\ninclude = [{ file = \"bad.toml\" }]\n";
    let bad = "dimension = 3\n\n\n[[body]]\nmas = 2\n";
    let typo = "dimension = 3\ninclude = [{ file = \"crate.toml\", nam = \"x\" }]\n";
    let model = "dimension = 3\ninclude = [{ file = \"heavy.urdf\" }]\n";
    let heavy = ARM.replace("ixx=\"0.02\"", "ixx=\"-0.02\"").replace("<collision>", "<nothing>").replace("</collision>", "</nothing>");
    let folder = Folder::new(
        "faults",
        &[
            ("crate.toml", CRATE),
            ("a.toml", loop_a),
            ("b.toml", loop_b),
            ("clash.toml", clash),
            ("body.toml", body),
            ("lost.toml", lost),
            ("flat.toml", flat),
            ("based.toml", based),
            ("inner.toml", inner),
            ("bad.toml", bad),
            ("typo.toml", typo),
            ("model.toml", model),
            ("heavy.urdf", &heavy),
        ],
    );
    let told = |file: &str, at: &str, line: usize, words: &str| {
        let error = folder.refused(file);
        assert!(error.file.ends_with(at) && error.line == line && error.to_string().contains(words), "{file}: {error}");
    };
    told("a.toml", "b.toml", 3, "includes itself: a.toml -> b.toml -> a.toml");
    told("clash.toml", "clash.toml", 4, "another include is called \"c\" too");
    told("body.toml", "body.toml", 5, "body \"c.box\", key \"name\": another body has this name");
    told("lost.toml", "lost.toml", 3, "cannot be opened");
    told("flat.toml", "flat.toml", 2, "another dimension");
    told("based.toml", "based.toml", 2, "goes with models");
    told("inner.toml", "bad.toml", 5, "did you mean \"mass\"");
    told("typo.toml", "typo.toml", 2, "did you mean \"name\"");
    told("model.toml", "heavy.urdf", 2, "inertia");
    let error = from_toml(CELL, "cell").unwrap_err();
    assert!(error.line == 4 && error.to_string().contains("the scene was given as text"), "{error}");
}

#[test]
fn a_hundred_files_of_files_are_read_once_each() {
    // Every file includes the next twice: 2^12 copies of a body, from twelve files.
    let mut files: Vec<(String, String)> = (0..12)
        .map(|i| {
            let next = format!("f{}.toml", i + 1);
            let text = format!("dimension = 3\ninclude = [{{ file = \"{next}\", name = \"a\" }}, {{ file = \"{next}\", name = \"b\", position = [{}, 0, 0] }}]\n", 1 << i);
            (format!("f{i}.toml"), text)
        })
        .collect();
    files.push(("f12.toml".to_string(), CRATE.to_string()));
    let lent: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let folder = Folder::new("many", &lent);
    let scene = folder.load("f0.toml").unwrap();
    assert_eq!(scene.model.bodies.len(), 1 << 12);
    assert_eq!(scene.model.bodies[0].name, "a.a.a.a.a.a.a.a.a.a.a.a.box");
}

fn stood(options: &Options) -> SceneOf<Spatial> {
    match from_urdf(ARM, "arm.urdf", options).unwrap().scene {
        Scene::Spatial(scene) => scene,
        Scene::Planar(_) => panic!("models are spatial"),
    }
}

#[test]
fn models_stand_on_a_ground_are_dropped_and_held() {
    let on_ground = stood(&Options { ground: true, ..Options::default() });
    assert_eq!(on_ground.model.bodies.last().unwrap().name, "ground");
    assert!((on_ground.state.poses[0].position.z - 0.1).abs() < 1e-12, "a free root is set down on it");
    let dropped = stood(&Options { ground: true, drop: Some(0.3), hold: true, ..Options::default() });
    assert!((dropped.state.poses[0].position.z - 0.4).abs() < 1e-12);
    assert!((dropped.joints[0].anchor.unwrap().z - 0.5).abs() < 1e-12, "joints move along");
    let fixed = stood(&Options { ground: true, base: Base::Fixed, ..Options::default() });
    assert_eq!(fixed.state.poses[0].position.z, 0.0, "a fixed root stays where the model puts it");
    let fixed_up = stood(&Options { drop: Some(0.3), base: Base::Fixed, ..Options::default() });
    assert!((fixed_up.state.poses[0].position.z - 0.4).abs() < 1e-12, "unless a height is asked for");

    let mut world = World::new(dropped.model, dropped.state).unwrap();
    let mut inaccurate = 0;
    for _ in 0..1000 {
        inaccurate += usize::from(world.step().unwrap().inaccurate);
    }
    assert_eq!(inaccurate, 0);
    let weight = world.contact_force(2, None).lin.z;
    assert!((weight + 3.0 * 9.81).abs() < 1e-6, "it lies on the ground with its weight: {weight}");
    // Held: the arm keeps its angle to what the stiffness gives way by.
    let q = world.joint_q();
    assert!(q.last().unwrap().abs() < 0.05, "{q:?}");
    let limp = stood(&Options { ground: true, drop: Some(0.3), ..Options::default() });
    let mut world = World::new(limp.model, limp.state).unwrap();
    for _ in 0..1000 {
        world.step().unwrap();
    }
    assert!(world.joint_q().last().unwrap().abs() > 0.1, "without it the arm falls");
}

#[test]
fn bodies_are_placed_by_their_frame_where_they_say_so() {
    let shapes = "shape = [{ box = [1, 1, 2], at = [0, 0, 1] }, { box = [1, 1, 1], at = [2, 0, 0.5] }]";
    let made = |origin: &str| {
        let text = format!("dimension = 3\n[[body]]\n{shapes}\nposition = [1, 2, 3]\nrotation = [0.5, 0.5, 0.5, 0.5]\n{origin}\n");
        match from_toml(&text, "frame").unwrap() {
            Scene::Spatial(scene) => scene,
            Scene::Planar(_) => panic!("space"),
        }
    };
    let (centre, frame) = (made(""), made("origin = \"frame\""));
    assert_eq!(centre.state.poses[0].position.as_slice(), [1.0, 2.0, 3.0]);
    // Volumes 2 and 1: the centroid lies at (2/3, 0, 5/6) of the frame; the turn takes x to y, y to z and z to x.
    let at = frame.state.poses[0].position;
    for (found, wanted) in at.iter().zip([1.0 + 5.0 / 6.0, 2.0 + 2.0 / 3.0, 3.0]) {
        assert!((found - wanted).abs() < 1e-12, "{at:?}");
    }
    // The first shape is where the frame says.
    let collider = &frame.model.bodies[0].colliders[0];
    let middle = frame.state.poses[0].compose(&collider.local).position;
    for (found, wanted) in middle.iter().zip([2.0, 2.0, 3.0]) {
        assert!((found - wanted).abs() < 1e-12, "{middle:?}");
    }
    let error = from_toml("dimension = 3\n[[body]]\nshape = { ball = 1 }\norigin = \"center\"\n", "frame").unwrap_err();
    assert_eq!((error.line, error.nearest.as_deref()), (4, Some("centre")));
}
