//! A collision with two compressions: friction turns the first bounce back into the table. Contact matrix K and velocity are those of
//! the example of Baber 2011; the figures come from an independent integration to six digits.

use carom_dynamics::options::ImpactLaw;
use carom_dynamics::{Body, BodyKind, Collider};
use carom_geometry::spatial;
use carom_math::{Pose, Space, Spatial};
use carom_tests::Scene;
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// Radius of the feet [m].
const FOOT: f64 = 0.05;
/// So short that nothing moves at 1000 m/s [s].
const INSTANT: f64 = 1e-9;
/// Friction of the example.
const FRICTION: f64 = 0.5;
/// Below this restitution the collision ends in its first restitution phase, above it a second compression follows.
const CRITICAL: f64 = 0.51325;

/// From the centre to the contact [m].
fn arm() -> Vector3<f64> {
    Vector3::new(1.0, 1.0, 1.0)
}

fn inverse_inertia() -> Matrix3<f64> {
    Matrix3::new(9.0, 6.0, -6.0, 6.0, 6.0, -2.0, -6.0, -2.0, 9.0)
}

fn placed(shape: spatial::Shape, position: Vector3<f64>) -> Collider<Spatial> {
    Collider { shape, local: Pose { position, rotation: UnitQuaternion::identity() } }
}

/// A foot of a weightless body rests on a table, above its centre of mass. Returns the impulse and the contact velocity after it.
fn struck(e: f64, law: ImpactLaw) -> (Vector3<f64>, Vector3<f64>) {
    let mut scene = Scene::<Spatial>::weightless(INSTANT);
    scene.model.options.impact = law;
    let table = placed(spatial::Shape::cuboid(Vector3::repeat(0.1)).expect("extents"), Vector3::zeros());
    let top = Pose { position: arm() - Vector3::new(0.0, 0.0, 0.1), rotation: UnitQuaternion::identity() };
    scene.fixed(table, top, FRICTION, e);
    let inertia = inverse_inertia().try_inverse().expect("definite");
    let mut body = Body::new("body", BodyKind::Dynamic, 1.0, Spatial::inertia_zero() + inertia);
    body.surface.friction = FRICTION;
    body.surface.restitution = e;
    let foot = arm() + Vector3::new(0.0, 0.0, FOOT);
    for place in [foot, -foot] {
        body.colliders.push(placed(spatial::Shape::ball(FOOT).expect("radius"), place));
    }
    scene.model.bodies.push(body);
    let velocity = Vector3::new(630.0, -780.0, -0.22);
    scene.state.push(Pose::identity(), carom_math::Twist { lin: velocity, ang: Vector3::zeros() });
    let mut world = scene.world();
    let report = world.step().expect("a strike");
    assert_eq!(report.impacts, 1, "it touches and strikes");
    // The mass is 1 kg; the linear velocity keeps in flight what the spin of an uneven body does not.
    let impulse = world.state().twists[1].lin - velocity;
    let cross = arm().cross_matrix();
    let matrix = Matrix3::identity() - cross * inverse_inertia() * cross;
    (impulse, velocity + matrix * impulse)
}

fn near(found: Vector3<f64>, wanted: [f64; 3], tolerance: f64) {
    assert!((found - Vector3::from(wanted)).amax() < tolerance, "found {found:?}, wanted {wanted:?}");
}

/// The published outcome at e = 0.9, and those below the critical restitution.
#[test]
fn outcome_of_the_example() {
    for law in [ImpactLaw::Auto, ImpactLaw::Stronge] {
        let (impulse, after) = struck(0.9, law);
        near(after, [-18.3050, -63.7566, 3.1913], 2e-3);
        assert!((impulse.z - 60.8115).abs() < 1e-4, "{impulse:?}");
        let (impulse, after) = struck(0.5, law);
        near(after, [318.079, -438.017, 0.017615], 2e-3);
        assert!((impulse.z - 27.817).abs() < 1e-3, "{impulse:?}");
        // With e = 0 the foot stays on the table, which then pushes on for the rest of the step.
        near(struck(0.0, law).1, [466.174, -600.616, 0.0], 0.1);
    }
}

/// At the critical restitution the outcome jumps: the work law adds up over all phases, and just above it there is a second one.
#[test]
fn outcome_jumps_at_the_critical_restitution() {
    let (below, above) = (struck(CRITICAL - 1e-5, ImpactLaw::Auto).1, struck(CRITICAL + 1e-5, ImpactLaw::Auto).1);
    near(below, [297.4, -415.3, 0.0017], 3.0);
    near(above, [-8.195, -75.057, 1.366], 0.1);
}

/// Energy falls on both sides of the jump.
#[test]
fn energy_falls_on_both_sides() {
    let cross = arm().cross_matrix();
    let inverse = (Matrix3::identity() - cross * inverse_inertia() * cross).try_inverse().expect("definite");
    let energy = |u: Vector3<f64>| 0.5 * u.dot(&(inverse * u));
    let before = energy(Vector3::new(630.0, -780.0, -0.22));
    for e in [0.0, 0.3, 0.5, 0.513, 0.514, 0.7, 0.9, 1.0] {
        let after = energy(struck(e, ImpactLaw::Auto).1);
        assert!(after < before, "e {e}: {before} to {after}");
    }
    let change = energy(struck(0.9, ImpactLaw::Auto).1) - before;
    assert!((change + 15342.0).abs() < 0.5, "{change}");
}
