"""A step in joint coordinates, and the Jacobians of many steps at once."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import carom

CART_POLE = """
dimension = 2
step = 0.01
[[body]]
name = "cart"
shape = { box = [0.4, 0.2] }
density = 12
[[body]]
name = "pole"
shape = { box = [0.06, 1.0] }
position = [0, 0.5]
density = 3
[[joint]]
name = "rail"
kind = "slider"
between = ["cart", "world"]
anchor = [0, 0]
axis = [1, 0]
motor = { control = true }
[[joint]]
name = "pivot"
kind = "hinge"
between = ["pole", "cart"]
anchor = [0, 0]
[[pair]]
between = ["cart", "pole"]
collide = false
"""

SLED = """
dimension = 2
step = 0.01
[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0, 1] }
friction = 0.4
[[body]]
name = "sled"
shape = { box = [0.6, 0.2] }
position = [0, 0.1]
velocity = [2, 0]
friction = 0.4
[[body]]
name = "arm"
shape = { box = [0.1, 0.4] }
position = [0, 0.4]
velocity = [2, 0]
[[joint]]
name = "turn"
kind = "hinge"
between = ["arm", "sled"]
anchor = [0, 0.2]
motor = { control = true, damping = 0.1 }
"""


def state(world: carom.World) -> np.ndarray:
    return np.concatenate([world.joint_q, world.joint_v])


def differences(world: carom.World, controls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A and B by fourth-order differences, for coordinates that add up."""
    names, h = world.joint_names, 1e-3

    def after(change: np.ndarray, u: np.ndarray) -> np.ndarray:
        there = world.copy()
        x = state(world) + change
        there.set_joints(dict(zip(names, x[: len(names)])), dict(zip(names, x[len(names) :])))
        there.step(controls=u)
        return state(there)

    def slope(f):
        return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h)

    n, m = 2 * len(names), len(controls)
    A = [slope(lambda d, e=e: after(d * e, controls)) for e in np.eye(n)]
    B = [slope(lambda d, e=e: after(np.zeros(n), controls + d * e)) for e in np.eye(m)]
    return np.array(A).T, np.array(B).T.reshape(n, m)


def test_a_cart_pole_is_linearised():
    world = carom.World.from_toml(CART_POLE)
    world.set_joints({"pivot": 0.4, "rail": 0.2}, {"pivot": -1.3, "rail": 0.7})
    u = np.array([3.0])
    before = world.hash()
    found = world.linearise(u)
    A, B = found
    assert world.hash() == before and found.A is A and found.B is B
    assert A.shape == (4, 4) and B.shape == (4, 1) and found.flags == {}
    by_differences = differences(world, u)
    assert np.abs(A - by_differences[0]).max() < 1e-8 * np.abs(A).max()
    assert np.abs(B - by_differences[1]).max() < 1e-8 * np.abs(A).max()
    gain = carom.lqr(A, B, np.eye(4), np.eye(1))
    assert np.abs(np.linalg.eigvals(A - B @ gain)).max() < 1.0


def test_sliding_on_the_ground():
    world = carom.World.from_toml(SLED)
    world.step(5)
    assert len(world.contacts()) == 2
    A, B = world.linearise()
    nc = len(world.joint_names)
    assert nc == 4 and A.shape == (8, 8) and B.shape == (8, 1)
    by_differences = differences(world, np.zeros(1))
    # Coordinates would lift it off the ground or press it in: rates and controls alone are smooth.
    rates = slice(nc, 2 * nc)
    assert np.abs(A[:, rates] - by_differences[0][:, rates]).max() < 1e-8
    assert np.abs(B - by_differences[1]).max() < 1e-8


def test_batches_and_runs_have_those_of_every_world_and_step():
    world = carom.World.from_toml(SLED)
    world.step(5)
    batch = carom.Batch(world, 3)
    v = batch.v.copy()
    v[1, 1:, 0] += 0.25
    batch.v = v
    every = batch.linearise()
    jacobians = batch.jacobian(("q", "controls", "mass"))
    assert len(every.flags) == 3
    for i in range(3):
        one = batch[i].linearise()
        assert np.array_equal(every.A[i], one.A) and np.array_equal(every.B[i], one.B)
        alone = batch[i].jacobian(("q", "controls", "mass"))
        for key, value in alone.items():
            assert np.array_equal(jacobians[key][i], value)
    assert not np.array_equal(every.A[0], every.A[1])
    per_world = batch.linearise(np.array([[0.0], [1.0], [0.0]]))
    assert np.array_equal(per_world.A[2], every.A[2]) and not np.array_equal(per_world.A[1], every.A[1])

    u = np.array([[0.5], [-0.5], [1.0], [0.0]])
    run = world.rollout(4, controls=u)
    along, whole = run.linearise(), run.jacobians(("q", "v", "controls"))
    assert along.A.shape == (4, 8, 8) and along.B.shape == (4, 8, 1)
    assert whole["q"].shape == (4, 18, 9) and whole["controls"].shape == (4, 18, 1)
    there = world.copy()
    for step in range(4):
        one = there.linearise(u[step])
        assert np.array_equal(along.A[step], one.A) and np.array_equal(along.B[step], one.B)
        there.step(controls=u[step])
    runs = batch.rollout(4, controls=u)
    assert runs.jacobians("q")["q"].shape == (3, 4, 18, 9) and runs.linearise().A.shape == (3, 4, 8, 8)


def test_what_cannot_be_is_told():
    world = carom.World.from_toml(SLED)
    with pytest.raises(carom.StepError, match="controls"):
        world.linearise([1.0, 2.0])
    with pytest.raises(carom.SolveError, match="weak"):
        world.linearise(weak="sometimes")
    with pytest.raises(carom.ModelError, match="wrt"):
        carom.Batch(world, 2).jacobian(("masses",))
    run = world.rollout(3, tape=False)
    with pytest.raises(carom.SolveError):
        run.jacobians()
    with pytest.raises(carom.SolveError):
        world.rollout(4, checkpoint=2).linearise()
    with pytest.raises(carom.SolveError, match="pickled"):
        pickle.loads(pickle.dumps(world.rollout(2))).jacobians()
    found = world.linearise()
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.A, found.A) and again.weak == found.weak and copy.copy(found).flags == found.flags
    empty = world.rollout(0).jacobians("q")
    assert empty["q"].shape[0] == 0
