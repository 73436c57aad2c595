"""Gradients at contacts that stand at a switch: sides, their mean, least squares, and smoothed complementarity."""

from __future__ import annotations

import numpy as np
import pytest

import carom

TOUCH = """
dimension = 2
gravity = [0, 0]
step = 0.01
[[body]]
kind = "static"
shape = { half_space = [0, 1] }
[[body]]
name = "box"
shape = { box = [0.2, 0.2] }
position = [0, 0.1]
"""


@pytest.fixture
def touch() -> carom.World:
    return carom.World.from_toml(TOUCH)


def up() -> np.ndarray:
    dq = np.zeros((2, 3))
    dq[1, 1] = 1.0
    return dq


@pytest.mark.parametrize("weak, wanted", [(None, 0.05), ("as-solved", 0.05), ("active", 0.0), ("inactive", 0.05), ("average", 0.025)])
def test_sides(touch, weak, wanted):
    gradient = touch.rollout(5).backward(dq=up(), weak=weak)
    assert gradient.v0[1, 1] == pytest.approx(wanted, abs=1e-12)
    assert len(gradient.status) == 5 and all("weak: 4" in step for step in gradient.status)
    assert gradient.weak in repr(gradient)


def test_minnorm_lies_between(touch):
    gradient = touch.rollout(1).backward(dv=up(), weak="minnorm")
    assert 0.0 < gradient.v0[1, 1] < 1.0
    assert gradient.weak == "weak contacts by least squares"


def test_smoothed_is_labelled_and_feels_what_is_near(touch):
    q = touch.q.copy()
    q[1, 1] += 5e-5  # within the margin of contacts, not touching
    touch.q = q
    run = touch.rollout(1)
    exact = run.backward(dv=up())
    smoothed = run.backward(dv=up(), kappa=1e-5)
    assert exact.v0[1, 1] == 1.0 and exact.status == ["exact"] and exact.weak == "decisions as solved"
    assert 0.0 < smoothed.v0[1, 1] < 0.99
    assert smoothed.weak == "smoothed, kappa = 1e-5 J" and "smoothed: " in smoothed.status[0]
    assert "smoothed, kappa" in repr(smoothed)


def test_jacobian_and_batch(touch):
    found = touch.jacobian(("q", "v"), weak="active")
    assert found.weak == "weak contacts active" and found.flags["weak"] == 4 and "active" in repr(found)
    assert isinstance(found, dict) and set(found) == {"q", "v"}
    assert found["v"][10, 4] == pytest.approx(0.0, abs=1e-12)
    assert touch.jacobian("v")["v"][10, 4] == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(found["v"][10], touch.rollout(1).backward(dv=up(), weak="active").v0.ravel())
    smoothed = touch.jacobian("v", kappa=1e-4)
    assert smoothed.flags["smoothed"] > 0 and smoothed.weak.startswith("smoothed")
    batch = carom.Batch(touch, 2)
    batch.rollout(5)
    gradient = batch.backward(dq=np.stack([up(), up()]), weak="average")
    np.testing.assert_allclose(gradient.v0[:, 1, 1], 0.025, atol=1e-12)
    assert len(gradient.status) == 2


@pytest.mark.parametrize("bad", [{"weak": "both"}, {"weak": 1}, {"kappa": 0.0}, {"kappa": -1.0}, {"kappa": np.nan}, {"kappa": "x"},
                                 {"kappa": [1e-6, 1e-6]}, {"weak": "active", "kappa": 1e-6}])
def test_refused(touch, bad):
    with pytest.raises(carom.SolveError, match="weak|kappa"):
        touch.rollout(1).backward(dq=up(), **bad)
    with pytest.raises(carom.SolveError, match="weak|kappa"):
        touch.jacobian("v", **bad)


def test_jax_takes_the_choice(touch):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from carom import jax as carom_jax

    def height(v0, **side):
        q, _ = carom_jax.rollout(touch, 5, v0=v0, **side)
        return q[-1, 1, 1]

    for side, wanted in (({}, 0.05), ({"weak": "active"}, 0.0), ({"weak": "average"}, 0.025)):
        assert float(jax.grad(lambda v: height(v, **side))(touch.v)[1, 1]) == pytest.approx(wanted, abs=1e-12)


def test_torch_takes_the_choice(touch):
    torch = pytest.importorskip("torch")
    from carom import torch as carom_torch

    for side, wanted in (({}, 0.05), ({"weak": "active"}, 0.0), ({"weak": "average"}, 0.025)):
        v0 = torch.tensor(touch.v, requires_grad=True)
        q, _ = carom_torch.rollout(touch, 5, v0=v0, **side)
        q[-1, 1, 1].backward()
        assert float(v0.grad[1, 1]) == pytest.approx(wanted, abs=1e-12)


def test_what_touches_at_the_start_is_counted():
    """A gradient by poses has a side there, told apart from the flags; a body that flies touches nothing."""
    standing = carom.World.scene("stack_ten").rollout(2).backward(dq=np.zeros((11, 3)))
    assert standing.touching > 0
    assert carom.World.scene("double_pendulum").rollout(2).backward(dq=np.zeros((2, 3))).touching == 0
    batch = carom.Batch(carom.World.scene("stack_ten"), 2)
    assert batch.rollout(2).backward(dq=np.zeros((2, 11, 3))).touching == [standing.touching] * 2
