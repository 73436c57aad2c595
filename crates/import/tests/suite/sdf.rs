//! SDF models and worlds, heights of MJCF, and templates of xacro: what they become and how they are refused.

use carom_dynamics::{BodyKind, JointKind, World};
use carom_import::{Base, Options, from_mjcf, from_sdf, from_urdf, load};
use carom_math::Spatial;
use carom_scene::{Scene, SceneOf};

const ARM: &str = r#"<?xml version="1.0"?>
<sdf version="1.9"><world name="cell">
  <physics type="ode"><max_step_size>0.002</max_step_size></physics>
  <gravity>0 0 -9</gravity>
  <model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>
  <model name="arm"><pose>1 0 0.5 0 0 1.5707963267948966</pose>
    <frame name="shoulder" attached_to="base"><pose>0 0 0.2 0 0 0</pose></frame>
    <link name="base"><inertial><mass>3</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
      <collision name="box"><geometry><box><size>0.2 0.2 0.4</size></box></geometry></collision></link>
    <link name="rod"><pose relative_to="shoulder">0.3 0 0 0 0 0</pose>
      <inertial><pose>0.1 0 0 0 0 0</pose><mass>1</mass><inertia><ixx>0.01</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial>
      <collision name="c"><pose>0.1 0 0 0 1.5707963267948966 0</pose><geometry><cylinder><radius>0.05</radius><length>0.4</length></cylinder></geometry>
        <surface><friction><ode><mu>0.7</mu></ode></friction></surface></collision></link>
    <joint name="root" type="fixed"><parent>world</parent><child>base</child></joint>
    <joint name="hinge" type="revolute"><pose relative_to="shoulder"/><parent>base</parent><child>rod</child>
      <axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1.5</upper><effort>20</effort></limit><dynamics><damping>0.3</damping></dynamics></axis></joint>
  </model>
</world></sdf>"#;

fn scene(text: &str) -> SceneOf<Spatial> {
    match from_sdf(text, "arm.sdf", &Options::default()).unwrap_or_else(|e| panic!("{e}")).scene {
        Scene::Spatial(scene) => scene,
        Scene::Planar(_) => panic!("models are spatial"),
    }
}

#[test]
fn a_world_of_models_has_links_joints_and_poses_in_frames() {
    let scene = scene(ARM);
    assert_eq!((scene.model.step, scene.model.gravity.z), (0.002, -9.0));
    let rod = scene.model.bodies.iter().position(|b| b.name == "arm.rod").unwrap();
    // The model is turned by a quarter about z: x of the model is y of the world. The rod's centre of mass lies 0.4 along, 0.2 up.
    let at = scene.state.poses[rod].position;
    for (found, wanted) in at.iter().zip([1.0, 0.4, 0.7]) {
        assert!((found - wanted).abs() < 1e-12, "{at:?}");
    }
    let [joint] = &scene.joints[..] else { panic!("one joint moves: {:?}", scene.joints) };
    assert_eq!((joint.name.as_str(), joint.kind, joint.limits), ("arm.hinge", JointKind::Hinge, Some([-1.0, 1.5])));
    let (anchor, axis) = (joint.anchor.unwrap(), joint.axis.unwrap());
    for (found, wanted) in anchor.iter().chain(axis.iter()).zip([1.0, 0.0, 0.7, -1.0, 0.0, 0.0]) {
        assert!((found - wanted).abs() < 1e-12, "{anchor:?} {axis:?}");
    }
    assert_eq!(scene.model.bodies[rod].surface.friction, 0.7);
    assert_eq!(scene.model.bodies.iter().filter(|b| b.kind == BodyKind::Static).count(), 2, "the ground and the base");
    // It swings as the closed form says: the inertia about the hinge is iyy + m r^2.
    let mut world = World::new(scene.model, scene.state).unwrap();
    world.step().unwrap();
    let (h, g) = (0.002, 9.0);
    let wanted = h * 0.4 * g / (0.02 + 0.16 + 0.3 * h / 2.0);
    assert!((world.joint_v().last().unwrap().abs() - wanted).abs() < 1e-3 * wanted, "{:?} for {wanted}", world.joint_v());
}

#[test]
fn a_model_alone_is_free_and_may_be_included_several_times() {
    let folder = std::env::temp_dir().join(format!("carom-sdf-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("ball")).unwrap();
    let ball = "<sdf version='1.6'><model name='ball'><link name='body'><inertial><mass>2</mass></inertial><collision name='c'><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link></model></sdf>";
    std::fs::write(folder.join("ball/model.sdf"), ball).unwrap();
    let world = "<sdf version='1.6'><world name='w'><include><uri>model://ball</uri><name>a</name><pose>0 0 1 0 0 0</pose></include>\n\
                 <include><uri>model://ball</uri><name>b</name><pose>0 0 2 0 0 0</pose></include></world></sdf>";
    std::fs::write(folder.join("world.sdf"), world).unwrap();
    std::fs::write(folder.join("self.sdf"), "<sdf version='1.6'><world name='w'>\n<include><uri>self.sdf</uri></include></world></sdf>")
        .unwrap();
    let Scene::Spatial(scene) = load(folder.join("world.sdf"), &Options::default()).unwrap().scene else { panic!("space") };
    let names: Vec<&str> = scene.model.bodies.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["a.body", "b.body"]);
    assert_eq!(scene.state.poses[1].position.z, 2.0);
    let [a, b] = [&scene.model.bodies[0], &scene.model.bodies[1]];
    assert!(a.group & b.mask != 0 && b.group & a.mask != 0, "models touch each other");
    let error = load(folder.join("self.sdf"), &Options::default()).unwrap_err().into_first();
    assert!(error.line == 2 && error.to_string().contains("uri"), "{error}");
    let Scene::Spatial(fixed) = load(folder.join("ball/model.sdf"), &Options { base: Base::Fixed, ..Options::default() }).unwrap().scene
    else {
        panic!("space")
    };
    assert_eq!(fixed.model.bodies[0].kind, BodyKind::Static);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn faults_of_sdf_name_the_thing_and_its_line() {
    let told = |from: &str, to: &str, line: usize, words: &str| {
        assert!(ARM.contains(from), "{from}");
        let error = from_sdf(&ARM.replace(from, to), "arm.sdf", &Options::default()).unwrap_err().into_first();
        assert!(error.line == line && error.to_string().contains(words), "{error}");
    };
    told("<child>rod</child>", "<child>rodd</child>", 15, "did you mean \"rod\"");
    told("relative_to=\"shoulder\">0.3", "relative_to=\"sholder\">0.3", 10, "did you mean \"shoulder\"");
    told("type=\"revolute\"", "type=\"screw\"", 15, "no such joint here");
    told("<iyy>0.02</iyy>", "<iyy>-0.02</iyy>", 10, "inertia is not positive");
    told("<radius>0.05</radius>", "<radius>0</radius>", 12, "not above 0");
    told("attached_to=\"base\"", "attached_to=\"shoulder\"", 7, "given in itself");
    told("<mass>1</mass>", "<mass>one</mass>", 11, "not a number");
}

#[test]
fn heights_of_mjcf_are_ground() {
    let text = r#"<mujoco><asset><hfield name="hills" nrow="2" ncol="3" size="2 1 0.5 0.1" elevation="0 1 2 0 1 2"/></asset>
<worldbody><geom type="hfield" hfield="hills" pos="0 0 1"/><body pos="0 0 3"><freejoint/><geom type="sphere" size="0.1"/></body></worldbody></mujoco>"#;
    let import = from_mjcf(text, "hills.xml", &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(import.notes.is_empty(), "{:?}", import.notes);
    let Scene::Spatial(scene) = import.scene else { panic!("space") };
    let world = World::new(scene.model, scene.state).unwrap();
    // The slope rises from 0 to 0.5 over 4 m, on a body at height 1.
    for (x, height) in [(-2.0, 1.0), (0.0, 1.25), (1.0, 1.375)] {
        let hit = world.ray(nalgebra::Vector3::new(x + 1e-9, 0.1, 9.0), -nalgebra::Vector3::z(), &[1]).expect("ground");
        assert!((hit.point.z - height).abs() < 1e-6, "{x}: {:?}", hit.point);
    }
    let error = from_mjcf(&text.replace("hfield=\"hills\"", "hfield=\"hill\""), "hills.xml", &Options::default()).unwrap_err().into_first();
    assert!(error.to_string().contains("did you mean \"hills\""), "{error}");
    let error = from_mjcf(&text.replace("nrow=\"2\"", "nrow=\"4\""), "hills.xml", &Options::default()).unwrap_err().into_first();
    assert!(error.to_string().contains("4 rows of 3 heights, and 6 heights"), "{error}");
}

#[test]
fn templates_of_xacro_are_named_as_what_they_are() {
    let text = "<robot name='r'><link name='a'/>\n<joint name='j' type='fixed'><parent link='a'/><child link='b'/><origin xyz='$(arg x) 0 0'/></joint><link name='b'/></robot>";
    let error = from_urdf(text, "r.urdf", &Options::default()).unwrap_err().into_first();
    assert!(error.line == 2 && error.problem.contains("xacro"), "{error}");
    let text = "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>\n<xacro:property name='x' value='1'/><link name='a'/></robot>";
    let error = from_urdf(text, "r.urdf", &Options::default()).unwrap_err().into_first();
    assert!(error.line == 2 && error.problem.contains("run xacro"), "{error}");
}

#[test]
fn broken_sdf_is_a_scene_or_an_error_with_a_line() {
    // A small generator of edits: cut, double, swap a byte.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let (mut read, mut refused) = (0, 0);
    for _ in 0..2000 {
        let mut bytes = ARM.as_bytes().to_vec();
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            match random(4) {
                0 => drop(bytes.drain(at..(at + random(12)).min(bytes.len()))),
                1 => bytes[at] = b"0123456789.-<>/\" abcxyz"[random(22)],
                2 => {
                    let piece = bytes[at..(at + random(40)).min(ARM.len()).min(bytes.len())].to_vec();
                    let to = random(bytes.len());
                    bytes.splice(to..to, piece);
                }
                _ => {
                    let other = random(bytes.len());
                    bytes.swap(at, other);
                }
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match from_sdf(&text, "arm.sdf", &Options::default()) {
            Ok(import) => {
                read += 1;
                let Scene::Spatial(scene) = import.scene else { panic!("space") };
                if let Ok(mut world) = World::new(scene.model, scene.state) {
                    let _ = (0..2).try_for_each(|_| world.step().map(|_| ()));
                }
            }
            Err(errors) => {
                refused += 1;
                assert!(errors.iter().all(|e| e.file == "arm.sdf" && e.line >= 1 && e.line <= text.lines().count() + 1), "{errors}");
            }
        }
    }
    assert!(read > 50 && refused > 50, "{read} read, {refused} refused");
}
