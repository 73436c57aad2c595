//! Data that can hardly be are doubted, with the column and the row.

use carom_dynamics::{Interrupt, State, World};
use carom_fit::{Ask, Fit, Start, Table, fit};
use carom_math::{Planar, Space, Spatial, Vector};
use carom_scene::{Scene, from_toml};

const TOP: &str = "dimension = 3\nstep = 0.01\n[[body]]\nname = \"top\"\nmass = 1\ninertia = [0.02, 0.03, 0.04]\nspin = [3, -4, 5]\n\
    velocity = [1, 2, 3]\nmask = []\ndamping = 0.4\n";
const BALL: &str = "dimension = 2\nstep = 0.01\n[[body]]\nname = \"ball\"\nmass = 1\ninertia = 0.1\nvelocity = [2, 1]\nspin = 3\nmask = []\ndamping = 0.4\n";

fn space() -> Start<Spatial> {
    let Ok(Scene::Spatial(scene)) = from_toml(TOP, "t") else { panic!("a scene of space") };
    Start::new(scene.model, &scene.joints, scene.state).unwrap()
}

fn plane() -> Start<Planar> {
    let Ok(Scene::Planar(scene)) = from_toml(BALL, "t") else { panic!("a scene of the plane") };
    Start::new(scene.model, &scene.joints, scene.state).unwrap()
}

/// A second of the scene, exactly as it runs.
fn seen<G: carom_geometry::Geometry>(mut world: World<G>, body: &str) -> Table {
    let mut out = Table { name: "seen".to_string(), bodies: vec![body.to_string()], ..Table::default() };
    for row in 0..=100 {
        if row > 0 {
            world.step().unwrap();
        }
        let state: &State<G> = world.state();
        let (mut q, mut v) = (vec![0.0; G::COORDS], vec![0.0; G::DOF]);
        state.write_pose(0, &mut q);
        state.write_twist(0, &mut v);
        out.time.push(row as f64 * 0.01);
        out.q.extend(q);
        out.v.extend(v);
    }
    out
}

fn top() -> Table {
    seen(space().world, "top")
}

fn ask(parameter: &str) -> Ask {
    Ask { parameters: vec![parameter.to_string()], ..Ask::default() }
}

fn of_top(table: Table) -> Result<Fit, String> {
    fit(space(), &[table], &ask("damping[top]"), &Interrupt::NEVER, &mut |_, _, _| {}).map_err(|e| e.to_string())
}

fn of_ball(table: Table) -> Result<Fit, String> {
    fit(plane(), &[table], &ask("damping[ball]"), &Interrupt::NEVER, &mut |_, _, _| {}).map_err(|e| e.to_string())
}

#[test]
fn good_data_are_not_doubted() {
    for found in [of_top(top()).unwrap(), of_ball(seen(plane().world, "ball")).unwrap()] {
        assert!(found.warnings.is_empty() && found.converged, "{:?}", found.warnings);
    }
}

#[test]
fn what_can_hardly_be_is_doubted_with_its_column() {
    let doubted = |words: &[&str], change: &dyn Fn(&mut Table)| {
        let mut table = top();
        change(&mut table);
        // Nothing that is wrong in this way may pass without a word, whether it can be fitted or not.
        let said = of_top(table).map_or_else(|refused| refused, |found| found.warnings.join("\n"));
        words.iter().for_each(|word| assert!(said.contains(word), "\"{word}\" in \"{said}\""));
    };
    doubted(&["q, column top.x", "millimetres"], &|t| t.q.chunks_exact_mut(7).for_each(|q| q[..3].iter_mut().for_each(|x| *x *= 1e3)));
    doubted(&["q, column top.y", "the other sign"], &|t| t.q.chunks_exact_mut(7).for_each(|q| q[1] = -q[1]));
    doubted(&["quaternions in the order x, y, z, w: columns qw to qz"], &|t| t.q.chunks_exact_mut(7).for_each(|q| q[3..].rotate_left(1)));
    doubted(&["quaternions of the inverse rotation"], &|t| t.q.chunks_exact_mut(7).for_each(|q| q[4..].iter_mut().for_each(|x| *x = -*x)));
    doubted(&["rates in the frame of the body", "wx to wz"], &|t| {
        for (q, v) in t.q.chunks_exact(7).zip(t.v.chunks_exact_mut(6)) {
            let rotation = Spatial::read_rotation(&q[3..]).unwrap();
            let local = Spatial::rotate_rate(Spatial::inverse(rotation), Vector::from_slice(&v[3..]));
            v[3..].copy_from_slice(local.as_slice());
        }
    });
    doubted(&["rates in degrees", "wx to wz"], &|t| {
        t.v.chunks_exact_mut(6).for_each(|v| v[3..].iter_mut().for_each(|x| *x = x.to_degrees()))
    });
    doubted(&["q, column top.z", "2 holes, the first in row 5"], &|t| [5, 8].iter().for_each(|row| t.q[row * 7 + 2] = f64::NAN));
    // A whole row of a quaternion of the other sign is the same rotation: nothing to be said.
    let mut turned = top();
    turned.q[30 * 7 + 3..30 * 7 + 7].iter_mut().for_each(|x| *x = -*x);
    let found = of_top(turned).unwrap();
    assert!(found.warnings.is_empty() && (found.parameters[0].value - 0.4).abs() < 1e-9, "{found:?}");
    let mut degrees = seen(plane().world, "ball");
    degrees.q.chunks_exact_mut(3).for_each(|q| q[2] = q[2].to_degrees());
    let said = of_ball(degrees).unwrap().warnings.join("\n");
    assert!(said.contains("column ball.angle") && said.contains("degrees"), "{said}");
}
