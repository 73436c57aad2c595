"""The search for controls, and losses by name in every framework."""

import numpy as np
import pytest

import carom

CART = """
dimension = 2
step = 0.02
[[body]]
name = "cart"
shape = { box = [0.4, 0.2] }
mass = 1
[[body]]
name = "pole"
shape = { capsule = [1.0, 0.02] }
angle = -1.5707963267948966
position = [0, -0.5]
mass = 0.2
[[joint]]
kind = "slider"
name = "rail"
between = ["world", "cart"]
anchor = [0, 0]
axis = [1, 0]
motor = { control = true, max = 20 }
[[joint]]
kind = "hinge"
name = "pivot"
between = ["cart", "pole"]
anchor = [0, 0]
"""

PUSH = """
dimension = 2
step = 0.01
[[body]]
kind = "static"
shape = { half_space = [0, 1] }
friction = 0.4
[[body]]
name = "box"
shape = { box = [0.4, 0.2] }
position = [0, 0.1]
mass = 1
friction = 0.4
[[force]]
body = "box"
force = [1, 0]
control = true
"""


def upright(run):
    import torch

    q, v = run.q[-1], run.v[-1]
    last = q[0, 0] ** 2 + (q[1, 2] - np.pi / 2) ** 2 + 0.1 * v[0, 0] ** 2 + 0.1 * v[1, 2] ** 2
    return 10 * last + 1e-4 * torch.sum(run.controls**2)


@pytest.mark.parametrize("shooting", [None, 4])
def test_a_pole_is_swung_up(shooting):
    pytest.importorskip("torch")
    world = carom.World.from_toml(CART)
    before = world.hash()
    found = carom.optimise(world, upright, np.full(1, 0.1), 100, limits=(-15, 15), shooting=shooting)
    assert found.converged and found.loss < 0.5, found
    assert abs(found.rollout.q[-1, 1, 2] - np.pi / 2) < 0.05
    assert np.abs(found.controls).max() <= 15
    assert world.hash() == before
    again = world.rollout(100, found.controls)
    assert (again.q == found.rollout.q).all()


def test_a_box_is_pushed_to_a_mark_through_sticking_and_sliding():
    world = carom.World.from_toml(PUSH)
    # Below 4 N it sticks and nothing depends on the force: the search starts above.
    found = carom.optimise(world, "100 * (box.x - 0.5)^2 + box.vx^2", [6.0], 100, limits=(-20, 20))
    assert found.loss < 1e-6, found
    assert abs(found.rollout.q[-1, 1, 0] - 0.5) < 1e-3
    assert [touch.bodies for touch in found.contacts] and found.contacts[0].ends == pytest.approx(1.0)


def test_random_starts_do_not_end_on_their_limits():
    world = carom.World.from_toml(CART)
    loss = "4 * (1 - sin(pole.angle)) + 0.2 * pole.spin^2 + 0.5 * cart.x^2 + 0.2 * cart.vx^2"
    found = carom.optimise(world, loss, [0.1], 120, limits=(-12, 12), starts=4, seed=3)
    assert (found.losses < 1e-6).all(), found.losses
    assert found.history[-1] == found.loss and found.loss == found.losses.min()


def test_hops_leave_a_minimum_that_is_not_the_least():
    world = carom.World.from_toml("""
dimension = 2
step = 0.02
gravity = [0, 0]
body = [{ name = "puck", mass = 1, inertia = 1 }]
force = [{ body = "puck", force = [1, 0], control = true }]
""")
    # Two wells, the one on the left deeper; the controls begin in the one on the right.
    text, begin = "(puck.x^2 - 1)^2 + 0.3 * puck.x", np.full((50, 1), 2.0)
    there = carom.optimise(world, text, begin, 50, limits=(-10, 10))
    assert there.converged and there.rollout.q[-1, 0, 0] > 0.9
    found = carom.optimise(world, text, begin, 50, limits=(-10, 10), hops=8)
    assert found.rollout.q[-1, 0, 0] < -1.0 and found.loss < there.loss and found.losses[0] == found.loss
    again = carom.optimise(world, text, begin, 50, limits=(-10, 10), hops=8)
    assert (again.controls == found.controls).all()
    # Where nothing is left to gain there is no hop.
    reach = carom.optimise(world, "(puck.x - 1)^2", begin, 50, limits=(-10, 10), hops=8)
    assert (reach.controls == carom.optimise(world, "(puck.x - 1)^2", begin, 50, limits=(-10, 10)).controls).all()


def test_what_is_walked_over_is_what_controls_reach():
    from carom._plan_step import reached

    world = carom.World.from_toml(CART)
    run = world.rollout(12, np.linspace(1, 2, 12)[:, None])
    parts = run.jacobians(("q", "v", "controls"))
    a, b = np.concatenate([parts["q"], parts["v"]], axis=2), parts["controls"]
    bases = reached(a, b, np.zeros(a.shape[:2]))
    # Two coordinates and their rates.
    assert [base.shape[1] for base in bases[:2]] == [0, 1] and bases[-1].shape[1] == 4
    for t in range(12):
        inside = bases[t + 1] @ bases[t + 1].T
        for part in (a[t] @ bases[t], b[t]):
            assert np.abs(inside @ part - part).max(initial=0.0) < 1e-9 * max(1.0, np.abs(part).max(initial=0.0))


def test_losses_follow_paths_in_time():
    world = carom.World.from_toml(PUSH)
    found = carom.optimise(world, "mean((box.x - 0.3 * sin(pi * time)^2)^2)", [6.0], 60, limits=(-40, 40))
    wanted = 0.3 * np.sin(np.pi * found.rollout.time) ** 2
    assert np.abs(found.rollout.q[:, 1, 0] - wanted).max() < 0.02
    run = world.rollout(10, np.full((10, 1), 6.0))
    moved = world.copy()
    moved.step(3)
    # The clock is that of the run, whatever the world did since.
    assert moved.loss("mean(time * box.x)", run).value == world.loss("mean(time * box.x)", run).value


def test_losses_by_joint_name_have_slopes_in_every_framework():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    world = carom.World.from_toml(CART)
    text = "pivot.position^2 + rail.rate + pole.at(0.5, 0).y * pole.at(0.5, 0).vx"
    controls = np.linspace(1, 3, 20)[:, None]
    run = world.rollout(20, controls)
    slope = world.loss(text, run)
    plain = run.backward(slope.dq, slope.dv).controls
    given = torch.tensor(controls, requires_grad=True)
    value = carom.torch.loss(world, text, *carom.torch.rollout(world, 20, controls=given))
    value.backward()
    np.testing.assert_allclose(given.grad.numpy(), plain, rtol=1e-12)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        found = jax.grad(lambda u: carom.jax.loss(world, text, *carom.jax.rollout(world, 20, controls=u)))(controls)
        np.testing.assert_allclose(np.asarray(found), plain, rtol=1e-12)

    def at(u):
        return world.loss(text, world.rollout(20, u)).value

    for k in (0, 7, 19):
        e = np.zeros_like(controls)
        e[k] = 1e-4
        fourth = (8 * (at(controls + e) - at(controls - e)) - (at(controls + 2 * e) - at(controls - 2 * e))) / (12e-4)
        assert abs(fourth - plain[k, 0]) < 1e-7 * max(1.0, abs(plain).max())


def test_wrong_arguments_are_named():
    world = carom.World.from_toml(CART)
    for kwargs, name in [
        ({"limits": (1, -1)}, "limits"), ({"limits": 3}, "limits"), ({"shooting": 0}, "shooting"), ({"kappa": -1.0}, "kappa"), ({"starts": 0}, "starts"), ({"hops": -1}, "hops"),
    ]:
        with pytest.raises(carom.Error, match=name):
            carom.optimise(world, "energy", None, 5, **kwargs)
    with pytest.raises(carom.Error, match="controls"):
        carom.optimise(world, "energy", np.zeros((4, 1)), 5)
    with pytest.raises(carom.Error, match="no body, joint or point"):
        carom.optimise(world, "pivott.rate", None, 5)
    with pytest.raises(carom.Error, match="loss"):
        carom.optimise(world, 3, None, 5)
    with pytest.raises(carom.Error, match="no controls"):
        carom.optimise(carom.World.scene("ball_drop"), "energy", None, 5)
