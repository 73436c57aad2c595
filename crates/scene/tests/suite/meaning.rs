//! What the keys mean: masses, centroids, inertias, names, order, repeats, groups, joints, meshes, checked by hand calculation.

use carom_dynamics::options::{FrictionCone, ImpactFriction, ImpactLaw, Order};
use carom_dynamics::{BodyKind, Motor};
use carom_math::{Planar, Spatial};
use carom_scene::{Scene, SceneOf, from_toml, load};
use std::f64::consts::PI;

fn plane(text: &str) -> SceneOf<Planar> {
    match from_toml(&format!("dimension = 2\n{text}"), "test.toml") {
        Ok(Scene::Planar(scene)) => scene,
        Ok(_) => panic!("a plane"),
        Err(error) => panic!("{error}"),
    }
}

fn space(text: &str) -> SceneOf<Spatial> {
    match from_toml(&format!("dimension = 3\n{text}"), "test.toml") {
        Ok(Scene::Spatial(scene)) => scene,
        Ok(_) => panic!("space"),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} {b}");
}

#[test]
fn defaults_are_those_of_the_reference() {
    let s = plane("[[body]]\nshape = { ball = 1 }\n[[body]]\nkind = \"static\"\n");
    assert_eq!((s.model.gravity.x, s.model.gravity.y, s.model.step, s.duration), (0.0, -9.81, 0.005, 10.0));
    assert_eq!((s.model.bodies[0].surface.restitution, s.model.bodies[0].surface.friction), (0.0, 0.5));
    assert_eq!((s.model.bodies[0].name.as_str(), s.model.bodies[1].name.as_str()), ("body0", "body1"));
    assert_eq!((s.model.bodies[0].group, s.model.bodies[0].mask), (u64::MAX, u64::MAX));
    assert_eq!(s.model.bodies[1].mass, f64::INFINITY);
    close(s.model.bodies[0].mass, 1000.0 * PI);
    close(s.model.bodies[0].inertia.x, 500.0 * PI);
    assert_eq!(space("").model.gravity.z, -9.81);
    assert_ne!(s.model.bodies[0].color, s.model.bodies[1].color);
}

#[test]
fn a_given_mass_scales_the_inertia_of_the_shape() {
    let s = plane("[[body]]\nshape = { box = [3, 4] }\nmass = 12\n[[body]]\nshape = { box = [3, 4] }\ndensity = 1\ninertia = 7\n");
    close(s.model.bodies[0].inertia.x, 25.0);
    assert_eq!(s.model.bodies[1].inertia.x, 7.0);
    close(s.model.bodies[1].mass, 12.0);
    let s = space("[[body]]\nshape = { ball = 2 }\nmass = 5\n[[body]]\nshape = { box = [1, 2, 3] }\nmass = 12\n");
    for k in 0..3 {
        close(s.model.bodies[0].inertia[(k, k)], 8.0);
    }
    for (k, wanted) in [13.0, 10.0, 5.0].into_iter().enumerate() {
        close(s.model.bodies[1].inertia[(k, k)], wanted);
    }
}

#[test]
fn shapes_move_so_that_their_centroid_is_the_position() {
    // Two unit squares side by side, off to the right: the pair is a 2 x 1 box about its middle.
    let s = plane("[[body]]\nshape = [{ box = [1, 1], at = [5, 7] }, { box = [1, 1], at = [6, 7] }]\nmass = 12\nposition = [1, 2]\n");
    let body = &s.model.bodies[0];
    assert_eq!((s.state.poses[0].position.x, s.state.poses[0].position.y), (1.0, 2.0));
    assert_eq!((body.colliders[0].local.position.x, body.colliders[1].local.position.x), (-0.5, 0.5));
    assert_eq!(body.colliders[0].local.position.y, 0.0);
    close(body.inertia.x, 5.0);
    // A triangle's centroid is the mean of its corners; a heavier part pulls in proportion to its area.
    let s = plane(
        "[[body]]\nshape = { convex = [[0, 0], [3, 0], [0, 3]] }\n[[body]]\nshape = [{ box = [1, 1] }, { box = [1, 3], at = [4, 0] }]\n",
    );
    close(s.model.bodies[0].colliders[0].local.position.x, -1.0);
    close(s.model.bodies[1].colliders[0].local.position.x, -3.0);
    // Static bodies obey the same rule; what has no volume stays where it is written.
    let s = plane("[[body]]\nkind = \"static\"\nshape = [{ half_space = [0, 1], at = [0, -1] }, { segment = [[0, 0], [1, 0]] }]\n");
    assert_eq!(s.model.bodies[0].colliders[0].local.position.y, -1.0);
}

#[test]
fn materials_are_named_and_overridden() {
    let s = plane(
        "[materials.ice]\nfriction = 0.01\n[materials.gum]\nrestitution = 0.9\n[[body]]\nshape = { ball = 1 }\nmaterial = \"ice\"\n\
         [[body]]\nshape = { ball = 1 }\nmaterial = \"gum\"\nfriction = 3\n",
    );
    assert_eq!((s.model.bodies[0].surface.restitution, s.model.bodies[0].surface.friction), (0.0, 0.01));
    assert_eq!((s.model.bodies[1].surface.restitution, s.model.bodies[1].surface.friction), (0.9, 3.0));
}

#[test]
fn rules_of_combination_come_from_the_scene_the_material_and_the_body() {
    use carom_dynamics::{Combination, Combine};
    let text = "combine = { friction = \"min\" }\n[materials.ice]\nfriction = 0.01\ncombine = { restitution = \"max\" }\n[[body]]\nshape = { ball = 1 }\n\
                [[body]]\nshape = { ball = 1 }\nmaterial = \"ice\"\n\
                [[body]]\nshape = { ball = 1 }\nmaterial = \"ice\"\ncombine = { friction = \"geometric\" }\n";
    let s = plane(text);
    let rules: Vec<Combination> = s.model.bodies.iter().map(|b| b.combine).collect();
    let of = |friction, restitution| Combination { friction, restitution };
    assert_eq!(rules, [of(Combine::Min, Combine::Mean), of(Combine::Min, Combine::Max), of(Combine::Geometric, Combine::Max)]);
    // What is written back says the same.
    let written = carom_scene::to_toml(&Scene::Planar(s));
    let Ok(Scene::Planar(again)) = from_toml(&written, "again.toml") else { panic!("{written}") };
    assert_eq!(again.model.bodies.iter().map(|b| b.combine).collect::<Vec<_>>(), rules);
    assert_eq!(plane("[[body]]\nshape = { ball = 1 }\n").model.bodies[0].combine, Combination::default());
    assert_eq!(carom_scene::keys::COMBINE_RULES, Combine::ALL.map(Combine::name), "words and engine have the same order");
}

#[test]
fn repeats_come_after_the_rest_with_the_last_index_fastest() {
    let s = plane(
        "[[repeat]]\ncount = [2, 3]\noffset = [[10, 0], [0, 1]]\nbody = { name = \"g\", shape = { ball = 0.1 }, position = [1, 1] }\n\
         [[repeat]]\ncount = 3\noffset = [0, -1]\nbody = { name = \"l\", shape = { ball = 0.1 } }\n\
         joint = { name = \"j\", kind = \"hinge\", between = [\"self\", \"next\"], anchor = [0, -0.5] }\n\
         [[repeat]]\ncount = 3\npattern = \"triangle\"\noffset = [[1, -0.5], [0, 1]]\nbody = { name = \"t\", shape = { ball = 0.1 }, position = [100, 0] }\n\
         joint = { kind = \"weld\", between = [\"self\", \"next\"] }\n\
         [[joint]]\nname = \"top\"\nkind = \"hinge\"\nbetween = [\"world\", \"l_0\"]\nanchor = [0, 0.5]\n\
         [[body]]\nname = \"first\"\nshape = { ball = 0.1 }\n",
    );
    let names: Vec<&str> = s.model.bodies.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "first", "g_0_0", "g_0_1", "g_0_2", "g_1_0", "g_1_1", "g_1_2", "l_0", "l_1", "l_2", "t_0_0", "t_1_0", "t_1_1", "t_2_0",
            "t_2_1", "t_2_2"
        ]
    );
    let at = |i: usize| (s.state.poses[i].position.x, s.state.poses[i].position.y);
    assert_eq!((at(1), at(3), at(6), at(9)), ((1.0, 1.0), (1.0, 3.0), (11.0, 3.0), (0.0, -2.0)));
    assert_eq!((at(11), at(12), at(13), at(15)), ((101.0, -0.5), (101.0, 0.5), (102.0, -1.0), (102.0, 1.0)));
    let joints: Vec<(&str, [Option<usize>; 2])> = s.model.joints.iter().map(|j| (j.name.as_str(), j.bodies)).collect();
    let row = |a: usize| [Some(a), Some(a + 1)];
    assert_eq!(
        joints,
        [("top", [None, Some(7)]), ("j_0", row(7)), ("j_1", row(8)), ("joint3", row(11)), ("joint4", row(13)), ("joint5", row(14))]
    );
    // The anchor of the second copy moves with it: half way between the bodies at y = -1 and y = -2.
    assert_eq!(s.joints[2].anchor.unwrap().y, -1.5);
    assert_eq!(s.model.joints[2].anchors[0].y, -0.5);
}

#[test]
fn a_grid_takes_one_vector_of_steps() {
    let s = space("[[repeat]]\ncount = [2, 2]\noffset = [1, 2, 3]\nbody = { shape = { ball = 0.1 } }\n");
    let at: Vec<_> = s.state.poses.iter().map(|p| (p.position.x, p.position.y, p.position.z)).collect();
    assert_eq!(at, [(0.0, 0.0, 0.0), (0.0, 2.0, 0.0), (1.0, 0.0, 0.0), (1.0, 2.0, 0.0)]);
}

#[test]
fn a_turned_row_is_a_wheel_and_a_list_of_joints_a_lattice() {
    let s = plane(
        "[[repeat]]\ncount = 4\noffset = [10, 0]\nturn = 1.5707963267948966\n\
         body = { name = \"w\", shape = { box = [2, 1] }, position = [3, 0], angle = 0.25, velocity = [0, 1], spin = 1 }\n\
         joint = { kind = \"slider\", between = [\"self\", \"world\"], anchor = [1, 0], axis = [1, 0] }\n\
         [[repeat]]\ncount = [2, 3]\noffset = [[0, 1], [1, 0]]\nbody = { name = \"g\", shape = { ball = 0.1 }, position = [0, 9] }\n\
         joint = [{ name = \"n\", kind = \"distance\", between = [\"self\", \"next\"], anchors = [[0, 9], [1, 9]] }, \
         { name = \"a\", kind = \"distance\", between = [\"across\", \"self\"], anchors = [[0, 10], [0, 9]] }]\n",
    );
    let (pose, twist) = (s.state.poses[1], s.state.twists[1]);
    close(pose.position.x, 10.0);
    close(pose.position.y, 3.0);
    close(pose.rotation.angle, 0.25 + 0.5 * PI);
    close(twist.lin.x, -1.0);
    close(twist.lin.y, 0.0);
    close(twist.ang.x, 1.0);
    let (anchor, axis) = (s.joints[1].anchor.unwrap(), s.joints[1].axis.unwrap());
    close(anchor.x, 10.0);
    close(anchor.y, 1.0);
    close(axis.x, 0.0);
    close(axis.y, 1.0);
    let joints: Vec<(&str, [Option<usize>; 2])> = s.model.joints.iter().skip(4).map(|j| (j.name.as_str(), j.bodies)).collect();
    let of = |a: usize, b: usize| [Some(4 + a), Some(4 + b)];
    let lattice = [
        ("n_0_0", of(0, 1)),
        ("a_0_0", of(3, 0)),
        ("n_0_1", of(1, 2)),
        ("a_0_1", of(4, 1)),
        ("a_0_2", of(5, 2)),
        ("n_1_0", of(3, 4)),
        ("n_1_1", of(4, 5)),
    ];
    assert_eq!(joints, lattice);
    assert!(s.joints.iter().skip(4).all(|j| (j.anchors.unwrap()[0] - j.anchors.unwrap()[1]).norm() == 1.0));
    // In space the turn is about z, and what the body is turned by comes first.
    let s = space(
        "[[repeat]]\ncount = 2\noffset = [0, 0, 5]\nturn = 1.5707963267948966\n\
         body = { shape = { box = [1, 2, 3] }, position = [1, 0, 0], rotation = [0.7071067811865476, 0.7071067811865476, 0, 0], spin = [1, 0, 0] }\n",
    );
    let (pose, twist) = (s.state.poses[1], s.state.twists[1]);
    assert!((pose.position - nalgebra::Vector3::new(0.0, 1.0, 5.0)).norm() < 1e-15, "{:?}", pose.position);
    assert!((twist.ang - nalgebra::Vector3::y()).norm() < 1e-15, "{:?}", twist.ang);
    // Its own y axis points up after its own turn about x, and a turn about z leaves that.
    assert!((pose.rotation * nalgebra::Vector3::y() - nalgebra::Vector3::z()).norm() < 1e-15, "{:?}", pose.rotation);
    assert!((pose.rotation * nalgebra::Vector3::x() - nalgebra::Vector3::y()).norm() < 1e-15, "{:?}", pose.rotation);
}

#[test]
fn choices_arrive_in_the_model() {
    let s = space(
        "impact = { law = \"gauss-seidel\", order = \"random\", seed = 7 }\nfriction_cone = 6\n[tolerances]\nmax_rounds = 3\nslop = 1e-5\n",
    );
    assert_eq!(s.model.options.impact, ImpactLaw::GaussSeidel(Order::Random(7)));
    assert_eq!(s.model.options.friction_cone, FrictionCone::Polyhedral(6));
    assert_eq!((s.model.tolerances.max_rounds, s.model.tolerances.slop), (3, 1e-5));
    for (word, law) in
        [("auto", ImpactLaw::Auto), ("reflections", ImpactLaw::Reflections), ("stronge", ImpactLaw::Stronge), ("newton", ImpactLaw::Newton)]
    {
        assert_eq!(space(&format!("impact = \"{word}\"\n")).model.options.impact, law);
    }
}

#[test]
fn friction_and_tolerance_of_impacts_arrive_in_the_model_and_are_written_again() {
    for law in ["\"auto\"", "\"gauss-seidel\", order = \"worst\""] {
        let s = space(&format!("impact = {{ law = {law}, friction = \"staggered\", tolerance = 1e-7 }}\n"));
        let options = s.model.options;
        assert_eq!((options.impact_friction, options.impact_tolerance), (ImpactFriction::Staggered, Some(1e-7)));
        let text = carom_scene::to_toml(&carom_scene::Scene::Spatial(s));
        let carom_scene::Scene::Spatial(again) = carom_scene::from_toml(&text, "again").unwrap() else { panic!("a scene in space") };
        assert_eq!(again.model.options, options, "{text}");
    }
    let plain = space("impact = { law = \"reflections\", friction = \"one-way\" }\n").model.options;
    assert_eq!((plain.impact_friction, plain.impact_tolerance), (ImpactFriction::OneWay, None));
    for (text, key) in [
        ("impact = { law = \"newton\", tolerance = 1e-7 }", "tolerance"),
        ("impact = { law = \"stronge\", friction = \"staggered\" }", "friction"),
        ("impact = { law = \"auto\", tolerance = 2 }", "below 1"),
        ("impact = { law = \"auto\", friction = \"stagered\" }", "staggered"),
    ] {
        let error = carom_scene::from_toml(&format!("dimension = 3\n{text}\n"), "refused").unwrap_err().to_string();
        assert!(error.contains(key), "{text}: {error}");
    }
}

#[test]
fn joints_motors_pairs_and_forces_arrive_in_the_model() {
    let s = plane(
        "[[body]]\nname = \"a\"\nshape = { ball = 0.1 }\n[[body]]\nname = \"b\"\nshape = { ball = 0.1 }\nposition = [1, 0]\nlocked = [\"y\", \"rotation\"]\n\
         [[joint]]\nkind = \"hinge\"\nbetween = [\"a\", \"world\"]\nanchor = [0, 1]\nmotor = { control = true, max = 10 }\n\
         [[joint]]\nkind = \"distance\"\nbetween = [\"a\", \"b\"]\nanchors = [[0, 0], [1, 0]]\n\
         [[pair]]\nbetween = [\"b\", \"a\"]\ncollide = false\n\
         [[force]]\nbody = \"b\"\nforce = [1, 0]\ncontrol = true\n[[force]]\nbody = \"b\"\ntorque = 2\nuntil = inf\n",
    );
    assert_eq!(s.model.joints[0].motor, Some(Motor::Control { max: 10.0 }));
    assert_eq!(s.model.joints[0].anchors[0].y, 1.0);
    assert_eq!(s.model.joints[1].measures.length, 1.0);
    assert_eq!((s.model.pairs[0].bodies, s.model.pairs[0].collide), ([1, 0], Some(false)));
    assert_eq!((s.model.forces[1].torque.x, s.model.forces[1].until), (2.0, f64::INFINITY));
    assert_eq!(s.model.control_count(), 2);
    assert_eq!((s.model.bodies[1].locked.x, s.model.bodies[1].locked.y, s.model.bodies[1].locked_rotation), (0.0, 1.0, true));
}

#[test]
fn a_point_mass_needs_inertia_or_a_locked_rotation() {
    let s = plane("[[body]]\nmass = 2\nlocked = [\"rotation\"]\n[[body]]\nmass = 2\ninertia = 3\n");
    assert_eq!((s.model.bodies[0].inertia.x, s.model.bodies[1].inertia.x), (0.0, 3.0));
}

#[test]
fn meshes_are_read_beside_the_scene_and_move_only_when_convex() {
    let folder = std::env::temp_dir().join(format!("carom-scene-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // A tetrahedron, faces outward.
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
    std::fs::write(folder.join("tetra.obj"), obj).unwrap();
    let scene = |kind: &str, file: &str| {
        let path = folder.join("scene.toml");
        std::fs::write(&path, format!("dimension = 3\n[[body]]\nkind = \"{kind}\"\nshape = {{ mesh = \"{file}\" }}\nmass = 1\n")).unwrap();
        load(&path)
    };
    let Ok(Scene::Spatial(moving)) = scene("dynamic", "tetra.obj") else { panic!("a convex mesh moves") };
    assert_eq!(moving.model.bodies[0].kind, BodyKind::Dynamic);
    close(moving.model.bodies[0].colliders[0].local.position.x, -0.25);
    let Ok(Scene::Spatial(fixed)) = scene("static", "tetra.obj") else { panic!("a mesh stands") };
    assert_eq!(fixed.model.bodies[0].colliders[0].local.position.x, 0.0);
    assert_eq!(fixed.name, "scene");
    let error = scene("static", "none.obj").unwrap_err();
    assert!(error.problem.starts_with("cannot be opened") && error.key == "shape.mesh", "{error}");
    let error = scene("static", ".").unwrap_err();
    assert!(error.problem.starts_with("is not a file"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_given_centre_takes_the_place_of_the_centroid() {
    let body =
        "[[body]]\nshape = [{ box = [1, 1, 1] }, { ball = 0.5, at = [3, 0, 0] }]\nmass = 2\ninertia = [1, 1, 1]\nposition = [0, 0, 5]\n";
    let s = space(&format!("{body}centre = [1, 0, 0]\n"));
    assert_eq!(s.model.bodies[0].colliders[0].local.position.x, -1.0);
    assert_eq!(s.model.bodies[0].colliders[1].local.position.x, 2.0);
    assert_eq!(s.state.poses[0].position.z, 5.0);
    // Written and read back the shapes stay where they are.
    let written = carom_scene::to_toml(&Scene::Spatial(s.clone()));
    assert!(written.contains("centre = [0.0, 0.0, 0.0]"), "{written}");
    let Ok(Scene::Spatial(again)) = from_toml(&written, "test.toml") else { panic!("reads back") };
    assert_eq!(again.model, s.model);
    // Without it they are centred, and nothing is written.
    assert!(!carom_scene::to_toml(&Scene::Spatial(space(body))).contains("centre"));
    let error = from_toml("dimension = 3\n[[body]]\nshape = { ball = 1 }\ncentre = [1, 0, 0]\n", "test.toml").unwrap_err();
    assert_eq!((error.line, error.key.as_str()), (4, "centre"));
}
