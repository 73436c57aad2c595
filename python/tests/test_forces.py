"""Forces of contacts along runs: those of the steps, and losses of them against differences, by states, controls, parameters and in both frameworks."""

from __future__ import annotations

import numpy as np
import pytest

import carom

SLED = """
dimension = 2
step = 0.01
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 1] }
friction = 0.4
restitution = 0
[[body]]
name = "sled"
shape = { box = [0.6, 0.2] }
mass = 1.3
position = [0, 0.1]
velocity = [0.8, 0]
friction = 0.3
restitution = 0
[[body]]
name = "mast"
shape = { capsule = [0.4, 0.02] }
angle = 1.4
position = [0.1, 0.4]
mass = 0.4
mask = []
[[joint]]
name = "foot"
kind = "hinge"
between = ["mast", "sled"]
anchor = [0.07, 0.2]
motor = { control = true, max = 20 }
"""

STANDING = """
dimension = 3
step = 0.01
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 0, 1] }
friction = 0.6
restitution = 0
[[body]]
name = "low"
shape = { box = [0.5, 0.4, 0.2] }
mass = 2
position = [0, 0, 0.1]
friction = 0.5
restitution = 0
[[body]]
name = "high"
shape = { ball = 0.15 }
mass = 0.7
position = [0.03, 0.02, 0.36]
friction = 0.5
restitution = 0.2
[[force]]
body = "low"
force = [1, 0.2, 0]
control = true
"""


def change(world, controls, text):
    """The gradient of a loss of a run by its controls."""
    run = world.rollout(len(controls), controls)
    loss = world.loss(text, run)
    return loss, run.backward(loss.dq, loss.dv, forces=loss.forces)


def fourth(at, base, place, size):
    def moved(by):
        x = np.array(base, dtype=float)
        x[place] += by
        return at(x)

    return (8 * (moved(size) - moved(-size)) - (moved(2 * size) - moved(-2 * size))) / (12 * size)


@pytest.mark.parametrize("text", [SLED, STANDING], ids=["plane", "space"])
def test_they_are_those_of_the_steps(text):
    world = carom.World.from_toml(text)
    controls = np.full((30, 1), 1.5)
    dimension = world.dimension
    last = world.bodies[-1] if dimension == 3 else "sled"
    run = world.rollout(30, controls)
    forces = run.forces(["ground", (last, world.bodies[1] if dimension == 3 else "ground")])
    assert forces.shape == (30, 2, dimension)
    seen = world.copy()
    for k in range(30):
        seen.step(controls=controls[k])
        np.testing.assert_allclose(forces[k, 0], seen.contact_force("ground")[:dimension], atol=1e-9)
        np.testing.assert_allclose(forces[k, 1], seen.contact_force(last, world.bodies[1] if dimension == 3 else "ground")[:dimension], atol=1e-9)
    assert np.abs(forces).max() > 5
    half = world.rollout(30, controls, checkpoint=7).forces("ground")
    np.testing.assert_array_equal(half[:, 0], forces[:, 0])


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        (SLED, "mean((sled.contact.fx + 1)^2) + 0.01 * sled.contact(ground).fy^2 + sled.x"),
        (SLED, "sum(ground.contact.fy * foot.rate)"),
        (STANDING, "mean(low.contact(ground).fz^2 + 3 * low.contact.fx) + high.contact(low).fz"),
        (STANDING, "sum((ground.contact.fx - 0.5)^2) + high.x^2"),
    ],
    ids=["plane", "plane-joint", "space", "space-slip"],
)
def test_gradients_are_differences(text, loss):
    world = carom.World.from_toml(text)
    controls = 2.0 + np.sin(np.arange(12))[:, None]
    valued, gradient = change(world, controls, loss)
    scale = max(1.0, np.abs(gradient.controls).max())

    def by_controls(u):
        return world.loss(loss, world.rollout(len(u), u)).value

    for k in (0, 5, 11):
        assert abs(fourth(by_controls, controls, (k, 0), 1e-3) - gradient.controls[k, 0]) < 1e-6 * scale, k

    def by_mass(mass):
        other = world.copy()
        other.params["mass"] = mass
        return other.loss(loss, other.rollout(len(controls), controls)).value

    mass = np.array(world.params["mass"])
    found, slope = fourth(by_mass, mass, 1, 1e-3), gradient["mass"][1]
    assert abs(found - slope) < 1e-6 * max(1.0, abs(found)), (found, slope)

    def by_velocity(v):
        other = world.copy()
        other.v = v
        return other.loss(loss, other.rollout(len(controls), controls)).value

    found, slope = fourth(by_velocity, world.v, (1, 0), 1e-4), gradient.v0[1, 0]
    assert abs(found - slope) < 1e-5 * max(1.0, abs(found)), (found, slope)


def test_a_strike_is_part_of_it():
    """A ball that falls on the ground: the impulse is m v (1 + e), over the step."""
    world = carom.World.from_toml("""
dimension = 2
step = 0.01
gravity = [0, 0]
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 1] }
restitution = 0.5
[[body]]
name = "ball"
shape = { ball = 0.1 }
mass = 2
position = [0, 0.185]
velocity = [0, -3]
restitution = 0.5
""")
    run = world.rollout(10)
    forces = run.forces([("ball", "ground")])[:, 0, 1]
    assert forces.sum() * 0.01 == pytest.approx(2 * 3 * 1.5)
    loss = world.loss("sum(ball.contact(ground).fy)", run)
    gradient = run.backward(loss.dq, loss.dv, forces=loss.forces)
    assert gradient.v0[1, 1] == pytest.approx(-2 * 1.5 / 0.01)
    assert gradient["mass"][1] == pytest.approx(3 * 1.5 / 0.01)
    assert gradient["restitution"][1] == pytest.approx(2 * 3 * 0.5 / 0.01)
    assert gradient["step"] == pytest.approx(-2 * 3 * 1.5 / 0.01**2)


def test_frameworks():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    world = carom.World.from_toml(SLED)
    controls = np.linspace(1, 3, 8)[:, None]
    pairs = ["sled", ("sled", "ground")]
    plain = change(world, controls, "sum(sled.contact(ground).fy^2) + sled.x")[1].controls

    def loss(q, f):
        return (f[:, 1, 1] ** 2).sum() + q[-1, 1, 0]

    given = torch.tensor(controls, requires_grad=True)
    q, v, f = carom.torch.rollout(world, 8, controls=given, forces=pairs)
    loss(q, f).backward()
    np.testing.assert_allclose(given.grad.numpy(), plain, rtol=1e-10)
    mapped = torch.func.vmap(torch.func.grad(lambda u: loss(*[carom.torch.rollout(world, 8, controls=u, forces=pairs)[i] for i in (0, 2)])))
    np.testing.assert_allclose(mapped(torch.tensor(np.stack([controls, controls])))[1].numpy(), plain, rtol=1e-10)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        found = jax.grad(lambda u: loss(*[carom.jax.rollout(world, 8, controls=u, forces=pairs)[i] for i in (0, 2)]))(controls)
        np.testing.assert_allclose(np.asarray(found), plain, rtol=1e-10)
    with pytest.raises(carom.SolveError, match="belong to a run"):
        carom.torch.loss(world, "sled.contact.fy", q, v)


def test_what_is_wrong_is_named():
    world = carom.World.from_toml(SLED)
    run = world.rollout(3)
    for bad, said in [("slad", "sled"), ([("sled", "sled")], "touch itself"), (3, "names"), ([3], "pair of names")]:
        with pytest.raises(carom.Error, match=said):
            run.forces(bad)
    with pytest.raises(carom.Error, match="forces"):
        run.backward(forces={"sled": np.zeros((2, 2))})
    with pytest.raises(carom.Error, match="tape"):
        world.rollout(3, tape=False).forces("sled")
    with pytest.raises(carom.Error, match="not forces of contacts"):
        carom.optimise(world, "sled.contact.fy", None, 3)
    with pytest.raises(carom.Error, match='did you mean "sled"'):
        world.loss("slad.contact.fy", run)
    middle = carom.World.from_toml(SLED.replace("step = 0.01", 'step = 0.01\nintegrator = "energy-momentum"'))
    with pytest.raises(carom.Error, match="verlet"):
        middle.rollout(2).forces("sled")


def test_parts_of_runs():
    """Some states and bodies, few cotangents, runs of several lengths."""
    world = carom.World.from_toml(SLED)
    controls = np.linspace(1, 3, 10)[:, None]
    whole, some = world.rollout(10, controls), world.rollout(10, controls, every=4, bodies=["mast", "sled"])
    np.testing.assert_array_equal(some.q, whole.q[[0, 4, 8, 10]][:, [2, 1]])
    np.testing.assert_array_equal(some.time, whole.time[[0, 4, 8, 10]])
    assert some.bodies == ["mast", "sled"] and some.energy.shape == (4,)
    rows = np.random.default_rng(0).normal(size=some.v.shape)
    full = np.zeros(whole.v.shape)
    full[np.ix_([0, 4, 8, 10], [2, 1])] = rows
    one, two = some.backward(dq=rows, dv=rows), whole.backward(dq=full, dv=full)
    three = whole.backward(*[{(step, body): rows[i, j] for i, step in enumerate([0, 4, 8, -1]) for j, body in enumerate(["mast", 1])}] * 2)
    np.testing.assert_array_equal(one.controls, two.controls)
    np.testing.assert_array_equal(three.controls, two.controls)
    assert two.exact_until == pytest.approx(world.time + 0.1) or two.status[round(two.exact_until / 0.01)] != "exact"
    for bad in ({(11, 0): rows[0, 0]}, {(0, "mist"): rows[0, 0]}, {0: rows[0, 0]}, {(0, 0): [1.0]}):
        with pytest.raises(carom.SolveError, match="dq"):
            whole.backward(dq=bad)


def test_a_batch_of_several_lengths():
    world = carom.World.from_toml(SLED)
    controls = np.linspace(1, 3, 10)[:, None]
    batch = carom.Batch(world, 3)
    run = batch.rollout([10, 4, 0], controls)
    alone = world.rollout(4, controls[:4])
    np.testing.assert_array_equal(run.q[1, :5], alone.q)
    assert (run.q[1, 5:] == alone.q[-1]).all() and (run.q[2] == world.q).all() and (run.contacts[1, 4:] == 0).all()
    assert run.time[1, -1] == pytest.approx(0.04)
    dq = np.random.default_rng(0).normal(size=run.v.shape)
    own = dq[1, :5].copy()
    own[-1] += dq[1, 5:].sum(axis=0)
    found = run.backward(dq=dq)
    np.testing.assert_allclose(found.controls[1, :4], alone.backward(dq=own).controls, rtol=1e-12)
    assert (found.controls[1, 4:] == 0).all() and (found.q0[2] == dq[2].sum(axis=0)).all()
    assert found.exact_until.shape == (3,)
    with pytest.raises(carom.SolveError, match="several lengths"):
        run.jacobians()
    for bad in ([1, 2], [1.5, 2.0, 3.0], [1, 2, -1]):
        with pytest.raises(carom.StepError, match="steps"):
            batch.rollout(bad)
