"""Random calls, 20 000 of them: a result or a typed error, never anything else. CAROM_FULL=1 makes 100 000."""

from __future__ import annotations

import os
import pickle

import numpy as np
from conftest import ARM, THROW

import carom
from carom import kernels as k
from carom.world import _unpacked

CALLS = 100_000 if os.environ.get("CAROM_FULL") else 20_000

WORST = [None, "x", b"", 3, -1, 0, 1.5, float("nan"), float("inf"), -0.0, 1e-308, True, [], [[]], {}, object(), [1, "a"], 1j,
         np.zeros((0, 3)), np.ones(3), np.eye(2), np.eye(3), np.full((2, 3), np.nan), np.arange(6).reshape(2, 3), np.array("x"), range(3)]


def numbers(rng, shape):
    """Numbers of all sizes, some of them none."""
    x = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4)
    if rng.random() < 0.05 and x.size:
        x.flat[rng.integers(x.size)] = rng.choice([np.nan, np.inf, -np.inf, 0.0, 1e300])
    return x


def mild(rng, shape):
    """Numbers a world can live with, now and then one that is none."""
    x = rng.normal(size=shape)
    if rng.random() < 0.05 and x.size:
        x.flat[rng.integers(x.size)] = rng.choice([np.nan, np.inf, -np.inf])
    return x


def gram(rows):
    """The matrix of contacts with these rows at unit masses; what overflows is for the kernel to refuse."""
    with np.errstate(all="ignore"):
        return rows @ rows.T


def odd(rng, value):
    """The value, or now and then something else."""
    return WORST[rng.integers(len(WORST))] if rng.random() < 0.08 else value


def calls(rng, worlds):
    d, m = int(rng.integers(1, 5)), int(rng.integers(0, 5))
    world = worlds[rng.integers(len(worlds))]
    n, nu = len(world.bodies), len(world.controls)
    steps = int(rng.integers(0, 4))
    o = lambda x: odd(rng, x)
    key = lambda x: x if isinstance(found := o(x), (list, dict, np.ndarray)) else found
    mass = lambda: o([np.abs(numbers(rng, d)) + 0.1, np.eye(d) * 2.0, [np.eye(1)] * d][rng.integers(3)])
    dim = int(rng.integers(2, 4))
    inertia = lambda: 0.4 if dim == 2 else np.eye(3) * 0.4
    spin = lambda: float(rng.normal()) if dim == 2 else numbers(rng, 3)
    side = lambda: k.Side(o(rng.choice([1.0, np.inf])), o(inertia()), o(numbers(rng, dim)), o(numbers(rng, dim)), o(spin()))
    normal = np.eye(dim)[rng.integers(dim)]
    name = o(rng.choice(list(world.params)))

    def set_parameter():
        world.params[name] = o(np.array(world.params[name]) * (1.0 + 1e-3 * rng.normal())) if isinstance(name, str) else 1.0

    def set_state():
        q, v = np.array(world.q), np.array(world.v)
        q[-1] += 1e-3 * mild(rng, q.shape[1])  # the last body is free: no joint is torn
        v[-1] += mild(rng, v.shape[1])
        world.q = o(q)
        world.v = o(v)

    return [
        lambda: k.collide(o(side()), o(side()), o(normal), o(rng.random()), o(rng.random())),
        lambda: k.impacts(mass(), o(numbers(rng, (m, d))), o(numbers(rng, d)), law=o(rng.choice(["reflections", "gauss-seidel"])),
                          restitution=o(rng.random()), max_iterations=o(1000), lineality=o(True)),
        lambda: k.lineality(o(numbers(rng, (m, d))), o(None), tolerance=o(1e-9)),
        lambda: k.dynamics(mass(), o(numbers(rng, d)), o(numbers(rng, d)), o(0.01), contacts=o(numbers(rng, (m, d))),
                           restitution=o(rng.random(m))).backward(o(numbers(rng, d))),
        lambda: k.contact(o(gram(numbers(rng, (dim * m, d)))), o(numbers(rng, dim * m)), o(np.abs(rng.normal(size=m))), tolerance=o(1e-8), warm=o(None))
        .backward(o(numbers(rng, dim * m))),
        lambda: k.split(o(int(rng.integers(0, 500)))),
        lambda: k.InsertedFactor(o(np.eye(d) * 2.0), order=o(None)).insert(o(numbers(rng, (d, 1))), o(numbers(rng, (d, 1))), o([[9.0]]))
        .solve(o(numbers(rng, d)), o([1.0])),
        lambda: world.step(o(steps), o(mild(rng, nu))),
        lambda: world.rollout(o(steps), o(mild(rng, (steps, nu))), checkpoint=o(None))
        .backward(o(numbers(rng, (n, world.v.shape[1]))), o(None))[name],
        lambda: world.jacobian(o(("q", "v", name))),
        lambda: world.rollout(o(steps), every=o(2), bodies=o([world.bodies[-1]])).backward({(key(0), key(world.bodies[0])): o(numbers(rng, world.v.shape[1]))}),
        lambda: world.rollout(o(steps)).backward(forces=o({key(world.bodies[-1]): o(numbers(rng, (steps, world.dimension)))})).exact_until,
        lambda: world.loss(o(f"sum({world.bodies[-1]}.contact.fx)"), world.rollout(o(steps), tape=o(True))),
        lambda: world.forward_dynamics(o(mild(rng, nu)), force=o(mild(rng, len(world.joint_names))), contacts=o("hold")),
        lambda: world.inverse_dynamics(o(mild(rng, len(world.joint_names))), contacts=o("hold")),
        lambda: world.point_jacobian(o(world.bodies[-1]), o(mild(rng, world.dimension))),
        lambda: world.inverse_kinematics(o({key(world.bodies[-1]): o(mild(rng, world.dimension))}), fixed=o(()), rounds=o(5)),
        lambda: world.loss(o("energy"), o(world.rollout(1))),
        lambda: carom.optimise(o(world), o("energy"), o(mild(rng, nu)), o(2), limits=o((-1.0, 1.0)), starts=o(1), rounds=o(2), hops=o(1)),
        lambda: carom.lqr(o(np.eye(d)), o(numbers(rng, (d, 1))), o(np.eye(d)), o(np.eye(1))),
        lambda: world.set_joints(o({key(world.joint_names[-1]): o(0.1)}), o({key(world.joint_names[-1]): o(0.1)})),
        lambda: (world.joint(o(world.joint_names[-1].partition(".")[0])), world.body(o(world.bodies[-1])).apply(o([1.0] * world.dimension))),
        lambda: (world.ray(o(mild(rng, world.dimension)), o(mild(rng, world.dimension)), o(())), world.distance(o(world.bodies[0]), o(world.bodies[-1]))),
        lambda: world.point(o("nowhere")),
        set_parameter,
        set_state,
        world.reset,
        lambda: (world.contacts(), world.ledger(), world.hash(), repr(world)),
        lambda: carom.Batch(o(world), o(2), threads=o(None)).rollout(o(steps)).backward(o(numbers(rng, (2, n, world.v.shape[1])))),
        lambda: carom.World.from_toml(o(THROW[: rng.integers(len(THROW))])),
        lambda: carom.World.scene(o("ball_drop")),
        lambda: (world.shapes(), world.picture(o(8), o(6), view=o((0.0, 0.0, 3.0))), world._repr_html_()),
        lambda: pickle.loads(pickle.dumps(world)).step(o(steps)),
        lambda: _unpacked(world._native.pack()[0], [], torn(rng, world._native.pack()[2])),
        lambda: some(carom.Batch(world, 3), o),
        lambda: carom.sweep(o(world), o([{"gravity": o(1.0)}, {"mass": o(2.0)}]), o(lambda run: run.energy[-1]), o("local"), steps=o(steps)),
    ]


def torn(rng, held):
    """Bytes with a few of them changed, or some of them missing."""
    changed = bytearray(held)
    for _ in range(rng.integers(1, 4)):
        changed[rng.integers(len(changed))] = rng.integers(256)
    return bytes(changed[: len(changed) - int(rng.integers(0, 2)) * 8])


def some(batch, o):
    """A batch in which some worlds begin anew, and one of its rollouts."""
    batch.reset(o([0, 2]), q=o(None), v=o(batch.v[:2]))
    try:
        return batch.rollout(o([2, 0, 1]))[o(1)].backward()
    except IndexError:
        return None


def test_random_calls():
    rng = np.random.default_rng(7)
    fresh = lambda: [carom.World.from_toml(text) for text in (THROW, ARM)]
    worlds = fresh()
    errors = 0
    for i in range(CALLS):
        if i % 100 == 0:
            worlds = fresh()
        options = calls(rng, worlds)
        try:
            options[rng.integers(len(options))]()
        except carom.Error as error:
            errors += 1
            assert str(error)
    assert 0.02 < errors / CALLS < 0.9
