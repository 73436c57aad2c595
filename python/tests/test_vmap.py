"""Rollouts under torch and jax: gradients against differences in every regime, and vmap as one batch with the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ARM, THROW

import carom

SLIDE = """
dimension = 2
step = 0.01
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 1] }
friction = 0.3
[[body]]
name = "box"
shape = { box = [0.4, 0.2] }
position = [0, 0.1]
velocity = [VX, 0]
friction = 0.3
[[force]]
body = "box"
force = [1, 0.2]
control = true
"""

# Scene, steps and what must have happened. The thrown ball strikes the ground at the 36th step.
REGIMES = {
    "flight": (THROW, 20, lambda run: run.contacts.max() == 0),
    "impact": (THROW, 45, lambda run: np.diff(run.v[:, 1, 1]).max() > 1.0),
    "resting": (SLIDE.replace("VX", "0"), 15, lambda run: run.contacts.min() > 0 and np.abs(run.v[:, 1]).max() < 1e-9),
    "sliding": (SLIDE.replace("VX", "2"), 15, lambda run: run.contacts.min() > 0 and run.v[-1, 1, 0] > 0.5),
    "jointed": (ARM, 25, lambda run: np.abs(run.v[-1, 0]).max() > 0.5),
}


@pytest.fixture(params=list(REGIMES))
def regime(request):
    text, steps, happened = REGIMES[request.param]
    world = carom.World.from_toml(text)
    assert happened(world.rollout(steps)), "the regime must be the one that is named"
    return world, steps, request.param


def drive(world, steps):
    return 0.01 * np.random.default_rng(5).normal(size=(steps, len(world.controls)))


def starts(world, count):
    """Velocities that differ: (count, n, ...); only free bodies in flight, so that the regime stays."""
    v = np.repeat(world.v[None], count, axis=0)
    v[:, -1, 0] += 0.01 * np.arange(count)
    return v


def test_jax_gradients(regime):
    jax = pytest.importorskip("jax")
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    world, steps, name = regime
    gravity, u = np.array(world.params["gravity"]), drive(world, steps)

    # At rest a push to the side meets dry friction and a push down the ground: the one-sided slope is no difference.
    def call(u, gravity):
        return carom.jax.rollout(world, steps, controls=u, params={"gravity": gravity})

    check_grads(call, (u, gravity), order=1, modes=["rev"], eps=1e-6, atol=2e-5, rtol=2e-5)
    if name != "resting":
        free = world.v[-1]

        def moving(v):
            return carom.jax.rollout(world, steps, v0=jax.numpy.asarray(world.v).at[-1].set(v))

        if name != "sliding":  # a sliding box that is lifted or turned leaves the ground on one side of the slope
            check_grads(moving, (free,), order=1, modes=["rev"], eps=1e-6, atol=2e-5, rtol=2e-5)


def test_jax_vmap(regime):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    world, steps, _ = regime
    v0, mass = starts(world, 4), np.array(world.params["mass"])
    weights = np.random.default_rng(1).normal(size=(steps + 1, *world.v.shape))

    def call(v, mass):
        return carom.jax.rollout(world, steps, v0=v, params={"mass": mass})

    def loss(v, mass):
        q, v = call(v, mass)
        return (v * weights).sum() + q[-1].sum()

    q, v = jax.vmap(call, in_axes=(0, None))(v0, mass)
    slopes = jax.jit(jax.vmap(jax.grad(loss, argnums=(0, 1)), in_axes=(0, None)))(v0, mass)
    total = jax.grad(lambda v, m: jax.vmap(loss, in_axes=(0, None))(v, m).sum(), argnums=(0, 1))(v0, mass)
    for i in range(4):
        one = world.copy()
        one.v = v0[i]
        run = one.rollout(steps)
        np.testing.assert_array_equal(q[i], run.q)
        np.testing.assert_array_equal(v[i], run.v)
        alone = jax.grad(loss, argnums=(0, 1))(v0[i], mass)
        for a, b in zip(slopes, alone):
            np.testing.assert_array_equal(a[i], b)
    np.testing.assert_allclose(total[0], slopes[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(total[1], slopes[1].sum(axis=0), rtol=1e-12, atol=1e-12)


def test_jax_jacobian_and_nested_vmap():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    world = carom.World.from_toml(THROW)

    def last(v):
        return carom.jax.rollout(world, 20, v0=v)[1][-1, 1]

    jacobian = jax.jacrev(last)(np.array(world.v))
    np.testing.assert_allclose(jacobian[:, 1], np.eye(3), atol=1e-12)
    grid = np.repeat(starts(world, 3)[None], 2, axis=0)
    grid[1, :, 1, 1] += 0.5
    found = jax.vmap(jax.vmap(last))(grid)
    for i in range(2):
        for j in range(3):
            np.testing.assert_array_equal(found[i, j], last(grid[i, j]))
    both = jax.vmap(jax.jacrev(last))(grid[0])
    np.testing.assert_allclose(both[:, :, 1], np.broadcast_to(np.eye(3), (3, 3, 3)), atol=1e-12)


def test_torch_gradients(regime):
    torch = pytest.importorskip("torch")
    world, steps, name = regime
    u = torch.tensor(drive(world, steps), requires_grad=True)
    gravity = torch.tensor(np.array(world.params["gravity"]), requires_grad=True)

    def call(u, gravity):
        return carom.torch.rollout(world, steps, controls=u, params={"gravity": gravity})

    assert torch.autograd.gradcheck(call, (u, gravity), eps=1e-6, atol=2e-5)
    if name not in ("resting", "sliding"):
        rest, free = torch.tensor(np.array(world.v[:-1])), torch.tensor(np.array(world.v[-1:]), requires_grad=True)
        assert torch.autograd.gradcheck(lambda v: carom.torch.rollout(world, steps, v0=torch.cat([rest, v])), (free,), eps=1e-6, atol=2e-5)


def test_torch_vmap(regime):
    torch = pytest.importorskip("torch")
    world, steps, _ = regime
    v0, mass = torch.tensor(starts(world, 4)), torch.tensor(np.array(world.params["mass"]))
    weights = torch.tensor(np.random.default_rng(1).normal(size=(steps + 1, *world.v.shape)))

    def call(v, mass):
        return carom.torch.rollout(world, steps, v0=v, params={"mass": mass})

    def loss(v, mass):
        q, v = call(v, mass)
        return (v * weights).sum() + q[-1].sum()

    func = torch.func
    q, v = func.vmap(call, in_dims=(0, None))(v0, mass)
    slopes = func.vmap(func.grad(loss, argnums=(0, 1)), in_dims=(0, None))(v0, mass)
    total = func.grad(lambda v, m: func.vmap(loss, in_dims=(0, None))(v, m).sum(), argnums=(0, 1))(v0, mass)
    for i in range(4):
        one = world.copy()
        one.v = v0[i].numpy()
        run = one.rollout(steps)
        np.testing.assert_array_equal(q[i], run.q)
        np.testing.assert_array_equal(v[i], run.v)
        for a, b in zip(slopes, func.grad(loss, argnums=(0, 1))(v0[i], mass)):
            np.testing.assert_array_equal(a[i], b)
    np.testing.assert_allclose(total[0], slopes[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(total[1], slopes[1].sum(0), rtol=1e-12, atol=1e-12)


def test_torch_jacobian_and_nested_vmap():
    torch = pytest.importorskip("torch")
    func = torch.func
    world = carom.World.from_toml(THROW)

    def last(v):
        return carom.torch.rollout(world, 20, v0=v)[1][-1, 1]

    jacobian = func.jacrev(last)(torch.tensor(np.array(world.v)))
    np.testing.assert_allclose(jacobian[:, 1], np.eye(3), atol=1e-12)
    grid = torch.tensor(np.repeat(starts(world, 3)[None], 2, axis=0))
    grid[1, :, 1, 1] += 0.5
    found = func.vmap(func.vmap(last))(grid)
    for i in range(2):
        for j in range(3):
            np.testing.assert_array_equal(found[i, j], last(grid[i, j]))
    # A Jacobian inside a vmap and a vmap inside a Jacobian: the axes of worlds and of cotangents come in either order.
    both = func.vmap(func.jacrev(last))(grid[0])
    np.testing.assert_allclose(both[:, :, 1], np.broadcast_to(np.eye(3), (3, 3, 3)), atol=1e-12)
    other = func.jacrev(func.vmap(last))(grid[0])
    for i in range(3):
        np.testing.assert_array_equal(other[i, :, i], both[i])


@pytest.mark.parametrize("framework", ["jax", "torch"])
def test_wrong_arguments(throw, framework):
    pytest.importorskip(framework)
    module = getattr(carom, framework)
    for name, call in (
        ("world", lambda: module.rollout("world", 3)),
        ("steps", lambda: module.rollout(throw, -1)),
        ("steps", lambda: module.rollout(throw, 2.5)),
        ("q0", lambda: module.rollout(throw, 3, q0=np.zeros((2, 7)))),
        ("v0", lambda: module.rollout(throw, 3, v0=np.zeros(3))),
        ("controls", lambda: module.rollout(throw, 3, controls=np.zeros((4, 1)))),
        ("params", lambda: module.rollout(throw, 3, params=[1.0])),
        ("weight", lambda: module.rollout(throw, 3, params={"weight": np.zeros(2)})),
        ("mass", lambda: module.rollout(throw, 3, params={"mass": np.zeros(3)})),
    ):
        with pytest.raises(carom.Error, match=name):
            call()
