//! What elements become.

use carom_dynamics::{Aim, BodyKind, JointKind, Motor};
use carom_import::{Actuators, Base, Format, Import, Options, from_mjcf, from_urdf, load};
use carom_math::Spatial;
use carom_scene::{Scene, SceneOf};
use nalgebra::Vector3;
use std::path::{Path, PathBuf};

fn models() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/models")
}

fn spatial(import: Import) -> SceneOf<Spatial> {
    let Scene::Spatial(scene) = import.scene else { panic!("models are spatial") };
    scene
}

fn mjcf(text: &str) -> Import {
    from_mjcf(text, "model.xml", &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// A model of one arm on the world, with the joints and sections given.
fn arm(joints: &str, sections: &str) -> String {
    format!(
        "<mujoco>\n<compiler angle=\"radian\"/>\n<worldbody>\n<body name=\"arm\">\n{joints}\n<geom type=\"capsule\" fromto=\"0 0 0 1 0 0\" size=\"0.1\"/>\n</body>\n</worldbody>\n{sections}\n</mujoco>"
    )
}

#[test]
fn limits_and_springs_count_from_the_pose_as_written() {
    let text =
        arm(r#"<joint name="j" axis="0 1 0" range="-1 2" ref="0.5" stiffness="4" springref="1.5" damping="3" frictionloss="0.2"/>"#, "");
    let scene = spatial(mjcf(&text));
    let joint = &scene.model.joints[0];
    assert_eq!((joint.kind, joint.limits, joint.friction), (JointKind::Hinge, Some([-1.5, 1.5]), 0.2));
    let Some(Motor::Position { position, stiffness, damping, .. }) = joint.motor else { panic!("{:?}", joint.motor) };
    assert_eq!((position, stiffness, damping), (1.0, 4.0, 3.0));
    // Bent by 0.3, everything counts from there.
    let options = Options { pose: vec![("j".to_string(), 0.8)], ..Options::default() };
    let bent = spatial(from_mjcf(&text, "model.xml", &options).unwrap());
    let [low, high] = bent.model.joints[0].limits.unwrap();
    assert!((low + 1.8).abs() < 1e-15 && (high - 1.2).abs() < 1e-15);
    let end = bent.state.poses[0].position;
    let wanted = Vector3::new(0.5 * 0.3_f64.cos(), 0.0, -0.5 * 0.3_f64.sin());
    assert!((end - wanted).norm() < 1e-15, "{end:?}");
}

#[test]
fn a_servo_follows_its_control() {
    let section = r#"<actuator><position name="servo" joint="j" kp="50" kv="2" gear="3" ctrlrange="-1 1"/></actuator>"#;
    let text = arm(r#"<joint name="j" axis="0 1 0" damping="1"/>"#, section);
    let servo = Motor::Servo { aim: Aim::Position, target: 0.0, stiffness: 450.0, damping: 19.0, max: f64::INFINITY, control: true };
    let import = mjcf(&text);
    assert!(import.notes[0].to_string().contains("ctrlrange"));
    let scene = spatial(import);
    assert_eq!(scene.model.control_count(), 1);
    let [joint] = &scene.model.joints[..] else { panic!("one joint: {:?}", scene.model.joints) };
    assert_eq!((joint.name.as_str(), joint.motor), ("j", Some(servo)));
    // As a force it is a control beside a spring.
    let force = Options { actuators: Actuators::Force, ..Options::default() };
    let scene = spatial(from_mjcf(&text, "model.xml", &force).unwrap());
    assert_eq!(scene.model.joints[0].motor, Some(Motor::Sprung { position: 0.0, stiffness: 450.0, damping: 19.0, max: 150.0 }));
    // A velocity servo that is bounded; beside a damper of its joint it is a force.
    let section = r#"<actuator><velocity joint="j" kv="4" forcerange="-2 2"/></actuator>"#;
    let scene = spatial(mjcf(&arm(r#"<joint name="j" axis="0 1 0"/>"#, section)));
    let wanted = Motor::Servo { aim: Aim::Velocity, target: 0.0, stiffness: 0.0, damping: 4.0, max: 2.0, control: true };
    assert_eq!(scene.model.joints[0].motor, Some(wanted));
    let scene = spatial(mjcf(&arm(r#"<joint name="j" axis="0 1 0" damping="1"/>"#, section)));
    assert!(matches!(scene.model.joints[0].motor, Some(Motor::Sprung { damping: 5.0, .. })));
}

#[test]
fn joints_are_held_where_they_start() {
    let held = Options { hold: true, ..Options::default() };
    let scene = spatial(from_mjcf(&arm(r#"<joint name="j" axis="0 1 0" damping="1"/>"#, ""), "model.xml", &held).unwrap());
    let Some(Motor::Servo { aim: Aim::Position, target: 0.0, stiffness, control: false, .. }) = scene.model.joints[0].motor else {
        panic!("{:?}", scene.model.joints[0].motor)
    };
    let mass: f64 = scene.model.bodies.iter().map(|body| body.mass).filter(|mass| mass.is_finite()).sum();
    assert!((stiffness / mass - 1000.0).abs() < 1e-9);
}

#[test]
fn joints_in_a_row_become_hinges_a_ball_a_plane_or_locks() {
    let hinge = |name: &str, axis: &str| format!("<joint name=\"{name}\" axis=\"{axis}\" range=\"-1 1\"/>\n");
    let slide = |name: &str, axis: &str| format!("<joint name=\"{name}\" type=\"slide\" axis=\"{axis}\"/>\n");
    let kinds = |joints: &str| {
        let import = mjcf(&arm(joints, ""));
        let notes = import.notes.len();
        let scene = spatial(import);
        (scene.model.joints.iter().map(|j| j.kind.name()).collect::<Vec<_>>().join(" "), scene.model.bodies.len(), notes)
    };
    assert_eq!(kinds(&(hinge("a", "1 0 0") + &hinge("b", "0 1 0"))), ("hinge hinge".to_string(), 2, 0));
    assert_eq!(kinds(&(slide("a", "1 0 0") + &hinge("b", "0 1 0"))), ("slider hinge".to_string(), 2, 0));
    // Three hinges are a ball where nothing acts on them, and three hinges where they have limits.
    let three = hinge("a", "1 0 0") + &hinge("b", "0 1 0") + &hinge("c", "0 0 1");
    assert_eq!(kinds(&three), ("hinge hinge hinge".to_string(), 3, 0));
    assert_eq!(kinds(&three.replace(" range=\"-1 1\"", "")), ("ball".to_string(), 1, 0));
    assert_eq!(kinds(&(slide("a", "1 0 0") + &slide("b", "0 0 1") + "<joint name=\"c\" axis=\"0 1 0\"/>")), ("planar".to_string(), 1, 0));
    assert_eq!(kinds(&(slide("a", "1 0 0") + &slide("b", "0 0 1") + &hinge("c", "0 1 0"))), ("slider slider hinge".to_string(), 3, 0));
    assert_eq!(kinds(&(slide("a", "1 0 0") + &slide("b", "0 1 0"))), (String::new(), 1, 0));
    assert_eq!(kinds(&(slide("a", "1 0 0") + &slide("b", "1 1 0") + &hinge("c", "1 0 0"))), ("slider slider hinge".to_string(), 3, 0));
    let text = arm(&(hinge("a", "1 0 0") + &hinge("b", "1 0 0")), "");
    let errors = from_mjcf(&text, "model.xml", &Options::default()).unwrap_err();
    assert!(errors.first().problem.contains("one line"), "{errors}");
    let text = arm(&(slide("a", "1 0 0") + &slide("b", "1 0 0") + &hinge("c", "1 0 0")), "");
    let errors = from_mjcf(&text, "model.xml", &Options::default()).unwrap_err();
    assert_eq!(errors.first().line, 7, "{errors}");
    assert!(errors.first().problem.contains("slide, slide, hinge"), "{errors}");
}

#[test]
fn what_is_not_supported_is_named_with_its_line_and_refused_when_strict() {
    let text = arm(
        "<joint name=\"j\" axis=\"0 1 0\"/>\n<body name=\"next\" pos=\"1 0 0\">\n<joint name=\"k\" axis=\"0 1 0\" armature=\"0.1\"/>\n<geom size=\"0.1\" solref=\"0.1 1\"/>\n</body>",
        "<tendon>\n<fixed name=\"t\" stiffness=\"1\" frictionloss=\"1\"><joint joint=\"j\" coef=\"1\"/><joint joint=\"k\" coef=\"1\"/></fixed>\n</tendon>\n<sensor><jointpos joint=\"j\"/></sensor>",
    );
    let import = mjcf(&text);
    let found: Vec<(usize, String)> = import.notes.iter().map(|n| (n.line, format!("{} {}", n.part, n.key))).collect();
    assert_eq!(
        found,
        [(8, "geom solref".to_string()), (14, "fixed \"t\" of <tendon> ".to_string()), (16, "jointpos of <sensor> ".to_string())]
    );
    let errors = from_mjcf(&text, "model.xml", &Options { strict: true, ..Options::default() }).unwrap_err();
    assert_eq!(errors.iter().count(), 3);
    assert!(mjcf(&arm("<joint name=\"j\" axis=\"0 1 0\" armature=\"0.1\"/>", "")).notes.is_empty());
}

#[test]
fn armature_is_that_of_its_joint() {
    let joints = "<joint name=\"j\" type=\"slide\" axis=\"1 0 0\" armature=\"0.3\"/>\n<body name=\"hand\" pos=\"1 0 0\"><joint name=\"k\" \
                  axis=\"0 1 1\" armature=\"0.1\"/><geom size=\"0.1\" mass=\"1\"/></body>";
    let import = mjcf(&arm(joints, ""));
    assert!(import.notes.is_empty());
    let scene = spatial(import);
    assert_eq!(scene.model.joints.iter().map(|joint| joint.armature).collect::<Vec<_>>(), [0.3, 0.1]);
    let hand = scene.model.body("hand").unwrap();
    assert!((scene.model.bodies[hand].inertia[(1, 1)] - 0.4 * 0.01).abs() < 1e-15, "the inertia is that of the ball alone");
    // A ball has three coordinates and no rotor.
    let ball = mjcf(&arm("<joint name=\"j\" type=\"ball\" armature=\"0.3\"/>", ""));
    assert!(ball.notes[0].to_string().contains("armature"));
}

#[test]
fn tendons_are_springs_and_ropes_or_belong_to_a_joint() {
    let inside = r#"<joint name="j" axis="0 1 0"/><site name="tip" pos="1 0 0"/>"#;
    let tendons =
        |lines: &str| arm(inside, &format!("<tendon>{lines}</tendon>\n<worldbody><site name=\"hook\" pos=\"1 0 2\"/></worldbody>"));
    let ends = r#"<site site="tip"/><site site="hook"/>"#;
    let import = mjcf(&tendons(&format!("<spatial name=\"t\" stiffness=\"5\" damping=\"1\" range=\"0 2.5\">{ends}</spatial>")));
    assert!(import.notes.is_empty(), "{:?}", import.notes);
    let scene = spatial(import);
    let [_, spring, rope] = &scene.model.joints[..] else { panic!("{:?}", scene.model.joints) };
    assert_eq!((spring.kind, spring.measures.rest, spring.measures.stiffness, spring.measures.damping), (JointKind::Spring, 2.0, 5.0, 1.0));
    assert_eq!((rope.kind, rope.measures.length), (JointKind::Rope, 2.5));
    // A length nothing acts on is a measurement; one joint's length is its coordinate.
    assert!(mjcf(&tendons(&format!("<spatial>{ends}</spatial>"))).notes.is_empty());
    let text = tendons(r#"<fixed stiffness="3" springlength="0.5" range="-1 1"><joint joint="j" coef="2"/></fixed>"#);
    let joint = &spatial(mjcf(&text)).model.joints[0];
    assert_eq!(joint.limits, Some([-0.5, 0.5]));
    let Some(Motor::Position { position, stiffness, .. }) = joint.motor else { panic!("{:?}", joint.motor) };
    assert_eq!((position, stiffness), (0.25, 12.0));
    let errors =
        from_mjcf(&tendons(r#"<spatial stiffness="1"><site site="tip"/><site site="no"/></spatial>"#), "model.xml", &Options::default());
    assert!(errors.unwrap_err().to_string().contains("no site of this name"));
}

#[test]
fn a_joint_held_by_an_equality_or_mimic_is_no_joint() {
    let text = arm(
        r#"<joint name="j" axis="0 1 0"/>"#,
        r#"<equality><joint joint1="j" polycoef="0.3 0 0 0 0"/></equality><actuator><motor joint="j"/></actuator>"#,
    );
    let import = mjcf(&text);
    assert!(import.notes.is_empty());
    assert!(spatial(import).model.joints.is_empty());
    let coupled = arm(r#"<joint name="j" axis="0 1 0"/>"#, r#"<equality><joint joint1="j" joint2="j"/></equality>"#);
    assert!(mjcf(&coupled).notes[0].to_string().contains("itself"));
    let second = "<joint name=\"j\" axis=\"0 1 0\"/>\n<body name=\"hand\" pos=\"1 0 0\"><joint name=\"k\" axis=\"0 1 0\"/><geom size=\"0.1\" mass=\"1\"/></body>";
    let linear = mjcf(&arm(second, r#"<equality><joint joint1="k" joint2="j" polycoef="0.2 -3 0 0 0"/></equality>"#));
    assert!(linear.notes.is_empty());
    let linear = spatial(linear).model;
    assert_eq!((linear.couplings.len(), linear.couplings[0].terms.as_slice()), (1, &[(0, 3.0), (1, 1.0)][..]));
    let bent = mjcf(&arm(second, r#"<equality><joint joint1="k" joint2="j" polycoef="0 1 0.5 0 0"/></equality>"#));
    assert!(bent.notes[0].to_string().contains("polynomials") && spatial(bent).model.couplings.is_empty());
    let link = |name: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"0.1\" iyy=\"0.1\" izz=\"0.1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>"
        )
    };
    let joint = |name: &str, child: &str, inside: &str| {
        format!("<joint name=\"{name}\" type=\"continuous\"><parent link=\"world\"/><child link=\"{child}\"/>{inside}</joint>\n")
    };
    let robot = |mimic: &str| {
        format!(
            "<robot name=\"r\"><link name=\"world\"/>{}{}{}{}</robot>",
            link("a"),
            link("b"),
            joint("ja", "a", ""),
            joint("jb", "b", mimic)
        )
    };
    let made = |mimic: &str| from_urdf(&robot(mimic), "r.urdf", &Options::default());
    let held = made("<mimic joint=\"ja\" multiplier=\"0\" offset=\"0.2\"/>").unwrap();
    assert!(held.notes.is_empty());
    assert_eq!(spatial(held).model.joints.len(), 1);
    let follows = made("<mimic joint=\"ja\" multiplier=\"-2\" offset=\"0.1\"/>").unwrap();
    assert!(follows.notes.is_empty());
    let follows = spatial(follows).model;
    // It starts where it follows to: in the coordinates of the scene nothing is left of the offset.
    assert_eq!((follows.couplings[0].terms.as_slice(), follows.couplings[0].offset), (&[(0, 2.0), (1, 1.0)][..], 0.0));
    assert!(made("<mimic joint=\"jc\"/>").unwrap_err().to_string().contains("no other joint"));
}

#[test]
fn a_loop_comes_from_a_connect_and_files_from_includes() {
    let path = models().join("four_bar.xml");
    let scene = spatial(load(&path, &Options::default()).unwrap());
    let closing = scene.model.joints.last().unwrap();
    assert_eq!((closing.name.as_str(), closing.kind), ("closing", JointKind::Ball));
    assert_eq!(scene.model.pairs.iter().filter(|p| p.collide == Some(false)).count(), 1);
    assert_eq!(scene.model.bodies[0].surface.friction, 0.3);
    // 2700 kg/m^3 comes from the included file.
    let volume = std::f64::consts::PI * 0.02_f64.powi(2) * 0.3 + 4.0 / 3.0 * std::f64::consts::PI * 0.02_f64.powi(3);
    assert!((scene.model.bodies[0].mass - 2700.0 * volume).abs() < 1e-12);
    // The damper comes from the included file as well.
    let driven = Motor::Sprung { position: 0.0, stiffness: 0.0, damping: 0.01, max: 40.0 };
    assert_eq!(scene.model.joints[0].motor, Some(driven));
    let bent = load(&path, &Options { keyframe: Some("bent".to_string()), ..Options::default() }).unwrap();
    let bent = spatial(bent);
    assert!((bent.state.poses[0].position - Vector3::new(0.15 * 0.1_f64.sin(), 0.0, 0.15 * 0.1_f64.cos())).norm() < 1e-15);
    let errors = load(&path, &Options { keyframe: Some("none".to_string()), ..Options::default() }).unwrap_err();
    assert!(errors.to_string().contains("keyframe"), "{errors}");
}

#[test]
fn filters_say_who_touches_whom() {
    let text = r#"<mujoco><worldbody>
      <geom name="floor" type="plane" size="1 1 1" conaffinity="1" contype="1"/>
      <body name="a" pos="0 0 1"><freejoint name="fa"/><geom size="0.1" contype="1" conaffinity="0" friction="0.4"/></body>
      <body name="b" pos="0 0 2"><freejoint name="fb"/><geom size="0.1" contype="1" conaffinity="0" friction="0.4"/></body>
      <body name="c" pos="0 0 3"><freejoint name="fc"/><geom size="0.1" contype="0" conaffinity="0"/></body>
    </worldbody></mujoco>"#;
    let scene = spatial(mjcf(text));
    let touch = |a: usize, b: usize| {
        let (a, b) = (&scene.model.bodies[a], &scene.model.bodies[b]);
        a.group & b.mask != 0 && b.group & a.mask != 0
    };
    assert!(touch(0, 1) && touch(0, 2) && !touch(1, 2) && !touch(0, 3) && !touch(1, 3));
    assert_eq!(scene.model.bodies[0].kind, BodyKind::Static);
    // The greater friction of a pair, not the mean.
    let floor: Vec<Option<f64>> = scene.model.pairs.iter().map(|p| p.coefficients.friction).collect();
    assert_eq!(floor, [Some(1.0), Some(1.0)]);
}

#[test]
fn meshes_of_every_format_weigh_the_same() {
    let folder = models();
    let masses: Vec<f64> = ["tetra.obj", "tetra.stl", "tetra_text.stl"]
        .iter()
        .map(|file| {
            let text = format!(
                r#"<mujoco><asset><mesh name="m" file="{file}" scale="2 2 2"/></asset><worldbody><body name="b"><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"#
            );
            let path = std::env::temp_dir().join(format!("carom_import_{}_{file}.xml", std::process::id()));
            let text = text.replace("<mujoco>", &format!("<mujoco><compiler meshdir=\"{}\"/>", folder.display()));
            std::fs::write(&path, text).unwrap();
            let scene = spatial(load(&path, &Options::default()).unwrap());
            std::fs::remove_file(&path).unwrap();
            scene.model.bodies[0].mass
        })
        .collect();
    // A sixth of 0.6 x 0.4 x 0.8 at 1000 kg/m^3.
    assert!(masses.iter().all(|m| (m - 32.0).abs() < 1e-5), "{masses:?}");
}

#[test]
fn urdf_types_base_and_links_without_mass() {
    let joint = |name: &str, kind: &str, parent: &str, child: &str, axis: &str| {
        format!(
            "<joint name=\"{name}\" type=\"{kind}\"><parent link=\"{parent}\"/><child link=\"{child}\"/><axis xyz=\"{axis}\"/></joint>\n"
        )
    };
    let link = |name: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"0.1\" iyy=\"0.1\" izz=\"0.1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>\n"
        )
    };
    // A cross without mass between two hinges is a universal joint, as two hinges on one MJCF body are.
    let cross = format!(
        "<robot name=\"r\">\n<link name=\"base\"/>\n<link name=\"cross\"/>\n{}{}{}<link name=\"tip\"/>\n{}</robot>",
        link("arm"),
        joint("x", "continuous", "base", "cross", "1 0 0"),
        joint("y", "continuous", "cross", "arm", "0 1 0"),
        joint("end", "continuous", "arm", "tip", "0 0 1"),
    );
    let import = from_urdf(&cross, "r.urdf", &Options::default()).unwrap();
    assert_eq!(import.notes.len(), 1, "{:?}", import.notes);
    assert!(import.notes[0].to_string().contains("without mass"));
    let scene = spatial(import);
    assert_eq!(scene.model.joints.iter().map(|j| j.name.as_str()).collect::<Vec<_>>(), ["x", "y"]);
    assert!((scene.model.bodies.iter().map(|b| b.mass).sum::<f64>() - 1.0).abs() < 1e-15);
    for (kind, wanted) in [("planar", "planar"), ("spherical", "ball"), ("prismatic", "slider"), ("revolute", "hinge")] {
        let text = format!("<robot name=\"r\"><link name=\"world\"/>{}{}</robot>", link("arm"), joint("j", kind, "world", "arm", "0 0 1"));
        let scene = spatial(from_urdf(&text, "r.urdf", &Options::default()).unwrap());
        assert_eq!(scene.model.joints[0].kind.name(), wanted);
    }
    let free = format!("<robot name=\"r\">{}</robot>", link("ship"));
    let dynamic = |base: Base| {
        let scene = spatial(from_urdf(&free, "r.urdf", &Options { base, ..Options::default() }).unwrap());
        scene.model.bodies.len()
    };
    assert_eq!([dynamic(Base::Auto), dynamic(Base::Free), dynamic(Base::Fixed)], [1, 1, 0]);
}

#[test]
fn faults_name_file_and_line() {
    for (text, line, wanted) in [
        ("<mujoco>\n<worldbody>\n<body>\n<joint type=\"screw\"/>\n</body></worldbody></mujoco>", 4, "no such joint"),
        ("<mujoco>\n<worldbody>\n<geom class=\"x\"/></worldbody></mujoco>", 3, "no default class"),
        ("<mujoco>\n<include file=\"other.xml\"/></mujoco>", 2, "given as text"),
        ("<mujoco>\n<compiler coordinate=\"global\"/></mujoco>", 2, "not supported"),
        ("<mujoco>\n<worldbody>\n<body>", 1, "not well-formed"),
        ("<robot/>", 1, "not the root"),
        ("<mujoco><worldbody>\n<body name=\"a\"><freejoint/><geom size=\"1e300\"/></body></worldbody></mujoco>", 2, "beyond"),
    ] {
        let errors = from_mjcf(text, "model.xml", &Options::default()).unwrap_err();
        assert_eq!((errors.first().file.as_str(), errors.first().line), ("model.xml", line), "{errors}");
        assert!(errors.first().to_string().contains(wanted), "{errors}");
    }
    let deep = "<body><geom size=\"1\"/>".repeat(5000);
    let errors = from_mjcf(&format!("<mujoco><worldbody>{deep}</worldbody></mujoco>"), "m.xml", &Options::default()).unwrap_err();
    assert_eq!(errors.first().line, 1);
}

#[test]
fn a_file_that_includes_itself_is_refused() {
    let path = std::env::temp_dir().join(format!("carom_import_cycle_{}.xml", std::process::id()));
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    std::fs::write(&path, format!("<mujoco>\n<include file=\"{name}\"/>\n</mujoco>")).unwrap();
    let errors = load(&path, &Options::default()).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(errors.first().line == 2 && errors.to_string().contains("already"), "{errors}");
    assert_eq!(Format::of(Path::new("a.URDF")), Some(Format::Urdf));
    assert_eq!(Format::of(Path::new("a.toml")), None);
}

#[test]
fn a_fixed_tendon_of_several_joints_is_a_coupling_with_slack() {
    let second = "<joint name=\"j\" axis=\"0 1 0\" ref=\"0.3\"/>\n<body name=\"hand\" pos=\"1 0 0\"><joint name=\"k\" axis=\"0 1 0\"/><geom size=\"0.1\" mass=\"1\"/></body>";
    let tendon = |inside: &str, key: &str| {
        arm(
            second,
            &format!(
                "<tendon><fixed name=\"t\" {inside}><joint joint=\"j\" coef=\"2\"/><joint joint=\"{key}\" coef=\"-1\"/></fixed></tendon>"
            ),
        )
    };
    let made = mjcf(&tendon("stiffness=\"5\" damping=\"0.1\" springlength=\"0.4\" range=\"-1 2\"", "k"));
    assert!(made.notes.is_empty());
    let model = spatial(made).model;
    let coupling = &model.couplings[0];
    let found = coupling.tendon.expect("a tendon");
    assert_eq!((coupling.name.as_str(), coupling.terms.as_slice()), ("t", &[(0, 2.0), (1, -1.0)][..]));
    // Its length is 2 (x_j + 0.3) - x_k.
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(near(coupling.offset, 0.4 - 0.6) && near(found.stiffness, 5.0) && near(found.damping, 0.1), "{coupling:?}");
    assert!(found.limits.is_some_and(|[low, high]| near(low, -1.6) && near(high, 1.4)), "{coupling:?}");
    // Without a length of its own its spring rests where the model is written; elsewhere it starts stretched.
    let bent = Options { pose: vec![("j".to_string(), 0.5)], ..Options::default() };
    let started = from_mjcf(&tendon("stiffness=\"5\"", "k"), "model.xml", &bent).unwrap();
    assert!(near(spatial(started).model.couplings[0].offset, -2.0 * (0.5 - 0.3)));
    // One that nothing acts on is a measurement, a wrong name is an error with the nearest.
    assert!(spatial(mjcf(&tendon("", "k"))).model.couplings.is_empty());
    let wrong = arm(
        &second.replace("\"k\"", "\"knuckle\""),
        "<tendon><fixed stiffness=\"1\"><joint joint=\"j\" coef=\"1\"/><joint joint=\"knucle\" coef=\"1\"/></fixed></tendon>",
    );
    let error = from_mjcf(&wrong, "model.xml", &Options::default()).unwrap_err().to_string();
    assert!(error.contains("no joint of this name") && error.contains("knuckle"), "{error}");
}

#[test]
fn wrong_names_come_with_their_line_and_the_nearest() {
    let link = |name: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"0.1\" iyy=\"0.1\" izz=\"0.1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>\n"
        )
    };
    let robot = |inside: &str| format!("<robot name=\"r\">\n{}{}{inside}</robot>", link("upper_arm"), link("hand"));
    let joint = |parent: &str, more: &str| {
        format!("<joint name=\"elbow\" type=\"continuous\">\n<parent link=\"{parent}\"/><child link=\"hand\"/>\n{more}</joint>\n")
    };
    let third = "<link name=\"tool\"/>\n<joint name=\"wrist\" type=\"continuous\"><parent link=\"hand\"/><child link=\"tool\"/>\n<mimic joint=\"elbo\"/></joint>\n";
    let body = r#"<worldbody><body name="forearm"><joint name="elbow" axis="0 1 0"/><geom size="0.1"/></body></worldbody>"#;
    let mjcf = |inside: &str| format!("<mujoco>\n{body}\n{inside}\n</mujoco>");
    for (text, urdf, line, wanted) in [
        (robot(&joint("uper_arm", "")), true, 5, "upper_arm"),
        (robot(&(joint("upper_arm", "") + third)), true, 9, "elbow"),
        (mjcf("<actuator><motor joint=\"elbw\"/></actuator>"), false, 3, "elbow"),
        (mjcf("<equality><weld body1=\"forarm\"/></equality>"), false, 3, "forearm"),
        (mjcf("<tendon><fixed stiffness=\"1\"><joint joint=\"elbov\" coef=\"1\"/></fixed></tendon>"), false, 3, "elbow"),
        (mjcf("<equality><joint joint1=\"elbox\" polycoef=\"0.1 0 0 0 0\"/></equality>"), false, 3, "elbow"),
    ] {
        let options = Options::default();
        let made = if urdf { from_urdf(&text, "model", &options) } else { from_mjcf(&text, "model", &options) };
        let errors = made.map(|_| ()).expect_err("a wrong name");
        let error = errors.iter().next().expect("an error");
        assert_eq!((error.line, error.nearest.as_deref()), (line, Some(wanted)), "{errors}\n{text}");
        assert!(errors.to_string().contains(&format!("did you mean \"{wanted}\"?")), "{errors}");
    }
    // A pose by a wrong name is a fault of the options.
    let options = Options { pose: vec![("elbo".to_string(), 0.1)], ..Options::default() };
    assert!(from_mjcf(&mjcf(""), "model", &options).unwrap_err().to_string().contains("did you mean \"elbow\"?"));
    // Two equalities that say the same couple their joints twice.
    let two = "<worldbody><body name=\"a\"><joint name=\"j\" axis=\"0 1 0\"/><geom size=\"0.1\"/></body><body name=\"b\" pos=\"1 0 0\"><joint name=\"k\" axis=\"0 1 0\"/><geom size=\"0.1\"/></body></worldbody>";
    let text = format!(
        "<mujoco>\n{two}\n<equality>\n<joint name=\"first\" joint1=\"j\" joint2=\"k\"/>\n<joint name=\"again\" joint1=\"k\" joint2=\"j\"/></equality></mujoco>"
    );
    let errors = from_mjcf(&text, "model", &Options::default()).map(|_| ()).expect_err("coupled twice");
    let error = errors.iter().next().expect("an error");
    assert!(error.line == 5 && errors.to_string().contains("again") && errors.to_string().contains("twice"), "{errors}");
}
