"""Accelerations and forces with contacts that hold: the step is the judge, and one undoes the other."""

from __future__ import annotations

import numpy as np
import pytest

import carom


def grounded(shape, friction, *, gravity=(0, 0, -9.81), position=(0, 0, 0), step=1e-3, **keys):
    scene = carom.Scene(3, step=step, gravity=list(gravity))
    scene.body("ground", kind="static", shape={"half_space": [0, 0, 1]}, friction=friction, restitution=0)
    scene.body("body", shape=shape, mass=2.0, position=list(position), friction=friction, restitution=0, **keys)
    return scene.world()


def step_acceleration(world, controls=None):
    """What one short step does to the rates."""
    short = world.copy()
    before = short.joint_v
    short.step(controls=controls)
    return (short.joint_v - before) / short.step_size


def agrees(world, within, controls=None):
    found = world.forward_dynamics(controls)
    np.testing.assert_allclose(found, step_acceleration(world, controls), atol=within)
    return found


def test_a_box_at_rest_stays_and_needs_nothing():
    world = grounded({"box": [0.4, 0.3, 0.2]}, 0.5, position=(0, 0, 0.1))
    world.step(20)
    assert np.abs(world.forward_dynamics()).max() < 1e-9
    assert np.abs(world.inverse_dynamics(np.zeros(6))).max() < 1e-9
    assert world.forward_dynamics(contacts="none")[2] == pytest.approx(-9.81)
    assert world.inverse_dynamics(np.zeros(6), contacts="none")[2] == pytest.approx(2 * 9.81)


@pytest.mark.parametrize("push", [5.0, 15.0])
def test_a_push_within_and_beyond_friction(push):
    """mu m g is 9.81 N: 5 N holds, 15 N slides off with (15 - 9.81) / 2."""
    world = grounded({"box": [0.4, 0.3, 0.2]}, 0.5, position=(0, 0, 0.1))
    world.step(20)
    force = np.array([push, 0, 0, 0, 0, 0])
    found = world.forward_dynamics(force=force)
    assert found[0] == pytest.approx(max(0.0, (push - 9.81) / 2), abs=1e-7)
    assert np.abs(found[1:]).max() < 1e-7


def test_a_box_that_slides_is_braked():
    world = grounded({"box": [0.4, 0.3, 0.2]}, 0.3, position=(0, 0, 0.1), velocity=[1.5, 0.8, 0])
    world.step(20)
    found = agrees(world, 1e-6)
    along = world.v[1, :2] / np.linalg.norm(world.v[1, :2])
    np.testing.assert_allclose(found[:2], -0.3 * 9.81 * along, atol=1e-8)


@pytest.mark.parametrize("spin", [[0, 15.0, 0], [0, 0, 0]])
def test_a_ball_rolls_or_slides(spin):
    """A point that rolls on has no centripetal share: without the wandering of the contact the ball would be lifted by r w^2."""
    world = grounded({"ball": 0.1}, 0.4, position=(0, 0, 0.1), velocity=[1.5, 0, 0], spin=spin)
    world.step(5)
    found = agrees(world, 1e-6)
    assert abs(found[2]) < 1e-8
    assert found[0] == pytest.approx(0.0 if spin[1] else -0.4 * 9.81, abs=1e-8)


def test_a_ball_rolls_over_a_ball():
    """Over the top of a fixed ball the centre goes round a circle of both radii."""
    scene = carom.Scene(3, step=1e-5)
    scene.body("big", kind="static", shape={"ball": 1.0}, friction=0, restitution=0)
    scene.body("body", shape={"ball": 0.25}, mass=1.0, position=[0, 0, 1.25], velocity=[1.0, 0, 0], friction=0, restitution=0)
    world = scene.world()
    world.step(10)
    found = world.forward_dynamics()
    speed, place = np.linalg.norm(world.v[1, :3]), world.q[1, :3]
    radial = place / np.linalg.norm(place)
    assert found[:3] @ radial == pytest.approx(-speed**2 / 1.25, abs=1e-6)


def quadruped():
    world = carom.World.scene("quadruped")
    world.step(400)
    return world


def test_forward_undoes_inverse_on_feet():
    world = quadruped()
    names = world.joint_names
    at_rest = np.zeros(len(names))
    force = world.inverse_dynamics(at_rest)
    assert np.abs(force[:6]).max() < 1e-9 and np.abs(force[6:]).max() < 60
    assert np.abs(world.forward_dynamics(force=force) - at_rest).max() < 1e-9
    # The torso goes, the feet stay: accelerations in the kernel of what the contacts hold.
    feet = [f"{leg}_shank" for leg in ("fl", "fr", "bl", "br")]
    held = np.concatenate([world.point_jacobian(foot, foot_point(world, foot)) for foot in feet])
    rng = np.random.default_rng(0)
    _, sizes, vectors = np.linalg.svd(held)
    free = vectors[(sizes > 1e-9 * sizes[0]).sum():]
    for _ in range(5):
        a = free.T @ rng.normal(size=len(free))
        a *= 0.5 / np.abs(a).max()
        force = world.inverse_dynamics(a)
        assert np.abs(force[:6]).max() < 1e-9
        assert np.abs(world.forward_dynamics(force=force) - a).max() < 1e-9


def foot_point(world, foot):
    """The point of the foot that touches, in its frame."""
    contact = next(c for c in world.contacts() if foot in c.bodies and np.any(c.impulse))
    body = world.body(foot)
    return body.matrix.T @ (contact.point - body.position)


def test_what_cannot_be_carried_stays_on_the_root():
    """On ice nothing holds it sideways."""
    world = grounded({"box": [0.4, 0.3, 0.2]}, 0.0, position=(0, 0, 0.1))
    world.step(20)
    force = world.inverse_dynamics([1.0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(force, [2.0, 0, 0, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(world.forward_dynamics(force=force), [1.0, 0, 0, 0, 0, 0], atol=1e-9)


def test_forces_within_their_cones():
    """A box between two steep walls is carried by friction; least forces alone would leave the cones."""
    scene = carom.Scene(2, step=1e-3)
    for name, sign in (("left", 1.0), ("right", -1.0)):
        scene.body(name, kind="static", shape={"half_space": [sign * np.cos(0.3), np.sin(0.3)]}, friction=0.3, restitution=0)
    scene.body("ball", shape={"ball": 0.2}, mass=1.0, position=[0, 0.2 / np.sin(0.3)], friction=0.3, restitution=0)
    world = scene.world()
    world.step(50)
    force = world.inverse_dynamics(np.zeros(3))
    assert np.abs(force).max() < 1e-8
    assert np.abs(world.forward_dynamics(force=force)).max() < 1e-8


def test_a_struck_ball_is_let_go():
    world = grounded({"ball": 0.1}, 0.4, position=(0, 0, 0.2), step=0.01)
    world.params["restitution"] = [0.8, 0.8]
    while not world.contacts() or not np.any(world.contacts()[0].impulse):
        world.step()
    assert world.v[1, 2] > 0.1
    assert world.forward_dynamics()[2] == pytest.approx(-9.81)


def test_an_unknown_word():
    with pytest.raises(carom.ModelError, match="contacts: found 'held'"):
        quadruped().forward_dynamics(contacts="held")
