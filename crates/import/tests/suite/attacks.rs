//! Models meant to break the import: every one is a named fault at its line, or the model that is meant.

use carom_dynamics::BodyKind;
use carom_import::{Import, Options, load};
use carom_scene::{Scene, SceneErrors};
use std::path::PathBuf;

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("carom_import_{name}_{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
    fn load(&self, name: &str, text: impl AsRef<[u8]>) -> Result<Import, SceneErrors> {
        load(self.write(name, text), &Options::default())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const ARM: &str = r#"<worldbody><body name="a" pos="0 0 1"><joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size="0.1"/></body></worldbody>"#;

fn mass(import: &Import) -> f64 {
    let Scene::Spatial(scene) = &import.scene else { panic!("models are spatial") };
    scene.model.bodies.iter().filter(|b| b.kind == BodyKind::Dynamic).map(|b| b.mass).sum()
}

#[test]
fn texts_and_includes() {
    let folder = Folder::new("texts");
    let model = format!("<mujoco>\n{ARM}\n</mujoco>");
    for text in
        [format!("\u{feff}{model}"), format!("\u{feff}<?xml version=\"1.0\"?>{model}"), format!("\n <?xml version=\"1.0\"?>{model}\0\0")]
    {
        assert!((mass(&folder.load("m.xml", text).unwrap()) - 35.604_716_740_684_3).abs() < 1e-9);
    }
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(model.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert!(folder.load("m.xml", wide).unwrap_err().to_string().contains("UTF-16"));
    folder.write("b.xml", "<mujocoinclude>\n\n<include file=\"a.xml\"/></mujocoinclude>");
    folder.write("part.xml", format!("<mujocoinclude>{ARM}</mujocoinclude>"));
    folder.write("bad.xml", "<mujocoinclude>\n<worldbody>\n</mujocoinclude>");
    for (text, file, line, wanted) in [
        ("", "a.xml", 1, "root node"),
        ("<!DOCTYPE a [<!ENTITY b \"c\">]>\n<mujoco/>", "a.xml", 1, "DTD"),
        ("<mujoco>\n<include file=\"b.xml\"/></mujoco>", "b.xml", 3, "already"),
        ("<mujoco>\n<include file=\"part.xml\"/>\n<include file=\"part.xml\"/></mujoco>", "a.xml", 3, "already"),
        ("<mujoco>\n<include file=\"none.xml\"/></mujoco>", "a.xml", 2, "cannot be opened"),
        ("<mujoco>\n<include file=\".\"/></mujoco>", "a.xml", 2, "not a file"),
        ("<mujoco>\n<include/></mujoco>", "a.xml", 2, "missing"),
        ("<mujoco>\n<include file=\"bad.xml\"/></mujoco>", "bad.xml", 3, "not well-formed"),
    ] {
        let errors = folder.load("a.xml", text).unwrap_err();
        assert!(errors.first().file.ends_with(file) && errors.first().line == line, "{errors}");
        assert!(errors.to_string().contains(wanted), "{errors}");
    }
}

#[test]
fn faults_of_mjcf() {
    let folder = Folder::new("mjcf");
    let body = |inside: &str| format!("<worldbody>\n<body>{inside}</body></worldbody>");
    let sphere = |attributes: &str| body(&format!("<freejoint/><geom {attributes}/>"));
    for (text, line, wanted) in [
        ("<default><default class=\"a\">\n<default class=\"a\"/></default></default>".to_string(), 3, "another default class"),
        ("<default>\n<default class=\"main\"/></default>".to_string(), 3, "another default class"),
        ("<default>\n<default/></default>".to_string(), 3, "has a name"),
        (body("<geom class=\"no\" size=\"1\"/>"), 3, "no default class"),
        (body("<geom size=\"nan\"/>"), 3, "not a finite number"),
        (body("<geom size=\"1e300\"/>"), 3, "beyond"),
        (body("<geom size=\"0,1\"/>"), 3, "not a number"),
        (body("<geom size=\"0\"/>"), 3, "above 0"),
        (sphere("type=\"capsule\" fromto=\"1 0 0 1 0 0\" size=\"0.1\""), 3, "one point"),
        (sphere("type=\"cone\" size=\"1\""), 3, "no such geom"),
        (sphere("type=\"mesh\" mesh=\"no\""), 3, "no mesh of this name"),
        (body("<joint limited=\"true\"/><geom size=\"1\"/>"), 3, "limited"),
        (body("<joint range=\"1 1\"/><geom size=\"1\"/>"), 3, "lower number first"),
        (body("<joint axis=\"0 0 0\"/><geom size=\"1\"/>"), 3, "no direction"),
        (body("<joint/><inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"-1 1 1\"/>"), 3, "not positive"),
        (
            body("<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/><inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/>"),
            3,
            "second inertial",
        ),
        ("<compiler eulerseq=\"xyw\"/>".to_string(), 2, "three of"),
        ("<compiler angle=\"grad\"/>".to_string(), 2, "degree or radian"),
        ("<compiler autolimits=\"maybe\"/>".to_string(), 2, "true, false or auto"),
        ("<option timestep=\"0\"/>".to_string(), 2, "not above 0"),
        (
            "<worldbody>\n<replicate count=\"1000\"><replicate count=\"1000\"><geom size=\"1\"/></replicate></replicate></worldbody>"
                .to_string(),
            3,
            "at most",
        ),
        ("<worldbody>\n<replicate count=\"-1\"/></worldbody>".to_string(), 3, "whole number"),
        ("<worldbody>\n<joint/></worldbody>".to_string(), 3, "no joints"),
        (format!("{ARM}\n<tendon><fixed stiffness=\"-1\"><joint joint=\"j\" coef=\"1\"/></fixed></tendon>"), 3, "below 0"),
        (format!("{ARM}\n<tendon><fixed stiffness=\"1\"><joint joint=\"no\" coef=\"1\"/></fixed></tendon>"), 3, "no joint"),
        (format!("{ARM}\n<equality><joint joint1=\"no\"/></equality>"), 3, "no joint"),
    ] {
        let errors = folder.load("m.xml", format!("<mujoco>\n{text}\n</mujoco>")).expect_err(&text);
        assert!(errors.first().file.ends_with("m.xml") && errors.first().line == line, "{errors}");
        assert!(errors.to_string().contains(wanted), "{errors}");
    }
    // What is written wrongly is named, not passed over.
    let text = "<mujoco>\n<compiler angel=\"radian\"/>\n<option gravitation=\"0 0 0\"/>\n<worldbody>\n<body colour=\"red\">\n<joint dampning=\"1\"/>\n<geom sise=\"1\" size=\"1\"/>\n</body></worldbody></mujoco>";
    let import = folder.load("m.xml", text).unwrap();
    let found: Vec<(usize, &str)> = import.notes.iter().map(|n| (n.line, n.key.as_str())).collect();
    assert_eq!(found, [(2, "angel"), (3, "gravitation"), (5, "colour"), (6, "dampning"), (7, "sise")]);
}

#[test]
fn copies_are_those_of_mujoco() {
    let folder = Folder::new("copies");
    let text = r#"<mujoco><worldbody><replicate count="2" offset="0 0 1"><replicate count="12" offset="1 0 0" euler="0 0 30" sep="-">
      <body name="b" pos="0.5 0 0"><freejoint/><geom size="0.1"/></body></replicate></replicate></worldbody></mujoco>"#;
    let import = folder.load("m.xml", text).unwrap();
    let Scene::Spatial(scene) = &import.scene else { panic!("models are spatial") };
    assert_eq!(scene.model.bodies.len(), 24);
    let at = |name: &str| scene.state.poses[scene.model.body(name).unwrap()].position;
    let wanted = nalgebra::Vector3::new(2.116_025_403_784_438, 0.933_012_701_892_219_3, 1.0);
    assert!((at("b-021") - wanted).norm() < 1e-14, "{:?}", at("b-021"));
}

#[test]
fn meshes() {
    let folder = Folder::new("meshes");
    let corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n";
    let closed = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    for (name, text) in [
        ("good", format!("{corners}{closed}")),
        ("inside", format!("{corners}f 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n")),
        ("twisted", format!("{corners}f 1 3 2\nf 1 4 2\nf 1 4 3\nf 2 3 4\n")),
        ("open", format!("{corners}f 1 3 2\nf 1 2 4\n")),
        ("flat", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n".to_string()),
        ("wrong", format!("{corners}f 1 2 9\n")),
        ("far", format!("v 1e200 0 0\n{corners}{closed}")),
        ("nan", format!("v nan 0 0\n{corners}{closed}")),
        ("empty", String::new()),
    ] {
        folder.write(&format!("{name}.obj"), text);
    }
    folder.write("cut.stl", [0_u8; 100]);
    let weigh = |file: &str, more: &str| {
        let text = format!(
            "<mujoco><asset>\n<mesh name=\"m\" file=\"{file}\" {more}/></asset><worldbody>\n<body><freejoint/><geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>"
        );
        folder.load("m.xml", text).map(|import| mass(&import))
    };
    // Numbers of MuJoCo 4.0: it takes every tetrahedron alike, so faces may look either way and even be missing.
    let sixth = 1000.0 / 6.0;
    for (file, more, wanted) in [
        ("good.obj", "", sixth),
        ("inside.obj", "", sixth),
        ("twisted.obj", "", sixth),
        ("open.obj", "", sixth / 3.0),
        ("open.obj", "inertia=\"convex\"", sixth),
        ("good.obj", "scale=\"-1 1 1\" inertia=\"exact\"", sixth),
        ("good.obj", "scale=\"-1 -2 -1\"", 2.0 * sixth),
    ] {
        let found = weigh(file, more).unwrap();
        assert!((found - wanted).abs() < 1e-9, "{file} {more}: {found}");
    }
    for (file, more, wanted) in [
        ("inside.obj", "inertia=\"exact\"", "no volume"),
        ("good.obj", "scale=\"0 1 1\"", "points"),
        ("flat.obj", "", "plane"),
        ("wrong.obj", "", "line 5"),
        ("far.obj", "", "beyond"),
        ("nan.obj", "", "finite"),
        ("empty.obj", "", "no faces"),
        ("none.obj", "", "cannot be opened"),
        ("cut.stl", "", "neither"),
        ("mesh.dae", "", ".obj and .stl"),
        ("/dev/zero", "", ".obj and .stl"),
    ] {
        let errors = weigh(file, more).unwrap_err();
        assert!(errors.first().line == 3 && errors.to_string().contains(wanted), "{file}: {errors}");
    }
    // URDF: a mesh that cannot be had is left out and named; packages are looked for above the file.
    let robot = |file: &str| {
        format!(
            "<robot name=\"r\">\n<link name=\"l\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial>\n<collision><geometry><mesh filename=\"{file}\"/></geometry></collision></link></robot>"
        )
    };
    let absolute = folder.0.join("good.obj").display().to_string();
    for (file, notes) in [
        ("package://any/good.obj", 0),
        ("model://any/good.obj", 0),
        (absolute.as_str(), 0),
        (&format!("file://{absolute}"), 0),
        ("package://any/none.obj", 1),
        ("http://any/good.obj", 1),
        ("flat.obj", 1),
        ("package://", 1),
    ] {
        let import = folder.load("r.urdf", robot(file)).unwrap();
        assert_eq!(import.notes.len(), notes, "{file}: {:?}", import.notes);
        assert!(import.notes.iter().all(|n| n.line == 3));
    }
}

#[test]
fn faults_of_urdf() {
    let folder = Folder::new("urdf");
    let link = |name: &str| {
        format!("<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial></link>")
    };
    let joint = |name: &str, kind: &str, parent: &str, child: &str, inside: &str| {
        format!("\n<joint name=\"{name}\" type=\"{kind}\"><parent link=\"{parent}\"/><child link=\"{child}\"/>{inside}</joint>")
    };
    let two = link("a") + &link("b");
    for (text, line, wanted) in [
        (String::new(), 1, "no links"),
        (two.clone() + &joint("x", "continuous", "a", "b", "") + &joint("y", "continuous", "b", "a", ""), 1, "no root"),
        (link("r") + &two + &joint("x", "continuous", "a", "b", "") + &joint("y", "continuous", "b", "a", ""), 2, "circle"),
        (link("a") + &joint("x", "continuous", "a", "a", ""), 1, "no root"),
        (two.clone(), 2, "second root"),
        (two.clone() + &joint("x", "continuous", "a", "c", ""), 3, "no link of this name"),
        (two.clone() + &joint("x", "screw", "a", "b", ""), 3, "no such joint"),
        (two.clone() + &joint("x", "revolute", "a", "b", "<axis xyz=\"0 0 0\"/>"), 3, "no direction"),
        (two.clone() + &joint("x", "revolute", "a", "b", "<axis xyz=\"0 nan 0\"/>"), 3, "not a finite number"),
        (two.clone() + &joint("x", "continuous", "a", "b", "<mimic/>"), 3, "missing"),
        ("<link name=\"a\"><inertial><mass value=\"${m}\"/></inertial></link>".to_string(), 2, "not a number"),
        ("<link name=\"a\"><inertial><mass value=\"-1\"/></inertial></link>".to_string(), 2, "below 0"),
        ("<link name=\"a\"><inertial/><inertial/></link>".to_string(), 2, "second inertial"),
        ("<link name=\"a\"><inertial><mass value=\"1\"/></inertial></link>".to_string(), 2, "not positive"),
        (link("a") + &link("a"), 2, "another link"),
        ("<xacro:property name=\"a\"/>".to_string(), 2, "namespace"),
    ] {
        let errors = folder.load("r.urdf", format!("<robot name=\"r\">\n{text}\n</robot>")).expect_err(&text);
        assert!(errors.first().file.ends_with("r.urdf") && errors.first().line == line, "{errors}");
        assert!(errors.to_string().contains(wanted), "{errors}");
    }
}
