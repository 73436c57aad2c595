"""A wrong argument of every public function is a typed error that names it."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import THROW

import carom
from carom import kernels as k

NAN = float("nan")
SIDE = dict(mass=1.0, inertia=0.5, arm=[0, 1], velocity=[0, -1], spin=0.0)
WALL = k.Side(None, None, [0, 0], [0, 0], 0.0)


def side(**changes):
    return k.Side(**{**SIDE, **changes})


def collide(**changes):
    arguments = {"a": side(), "b": WALL, "normal": [0, 1], "restitution": 0.5, "friction": 0.1, **changes}
    return k.collide(**arguments)


def impacts(**changes):
    arguments = {"mass": [1.0, 2.0], "normals": [[1.0, 0.0]], "velocity": [-1.0, 0.0], **changes}
    return k.impacts(**arguments)


def dynamics(**changes):
    arguments = {"mass": [1.0, 2.0], "velocity": [0.0, -1.0], "force": [0.0, 0.0], "step": 0.01, "contacts": [[0.0, 1.0]], **changes}
    return k.dynamics(**arguments)


def factor(matrix=((4.0, 1.0), (1.0, 3.0)), **options):
    return k.InsertedFactor(np.array(matrix, dtype=float), **options)


def inserted():
    return factor().insert([[1.0], [0.0]], [[1.0], [0.0]], [[5.0]])


SOLVE = [
    ("a", lambda: collide(a="x")),
    ("b", lambda: collide(b=None)),
    ("normal", lambda: collide(normal=[0, 2])),
    ("normal", lambda: collide(normal=[0, 1, 0, 0])),
    ("normal", lambda: collide(normal=[0, NAN])),
    ("restitution", lambda: collide(restitution=1.5)),
    ("restitution", lambda: collide(restitution="much")),
    ("friction", lambda: collide(friction=-0.1)),
    ("friction", lambda: collide(friction=None)),
    ("tolerance", lambda: collide(tolerance=0.0)),
    ("a.mass", lambda: collide(a=side(mass=-1.0))),
    ("a.mass", lambda: collide(a=side(mass=NAN))),
    ("a.inertia", lambda: collide(a=side(inertia=None))),
    ("inertia", lambda: collide(a=side(inertia=-0.5))),
    ("a.arm", lambda: collide(a=side(arm=[0, 1, 2]))),
    ("a.velocity", lambda: collide(a=side(velocity=[0, NAN]))),
    ("a.spin", lambda: collide(a=side(spin=[0, NAN, 1]))),
    ("broadcast", lambda: collide(a=side(spin=[0, 0, 1]), friction=[0.1, 0.2])),
    ("immovable", lambda: collide(a=WALL)),
    ("mass", lambda: impacts(mass=[1.0])),
    ("mass", lambda: impacts(mass=[1.0, -2.0])),
    ("mass", lambda: impacts(mass=[[1.0, 2.0], [2.0, 1.0]])),
    ("mass", lambda: impacts(mass=[[[1.0]]])),
    ("mass", lambda: impacts(mass=[[[1.0, 0.0]], [[1.0]]])),
    ("mass", lambda: impacts(mass=None)),
    ("normals", lambda: impacts(normals=[1.0, 0.0])),
    ("normals", lambda: impacts(normals=[[1.0, NAN]])),
    ("velocity", lambda: impacts(velocity=[[1.0, 0.0]])),
    ("velocity", lambda: impacts(velocity=[1.0, np.inf])),
    ("velocity", lambda: impacts(velocity=[1j, 0])),
    ("law", lambda: impacts(law="newton")),
    ("order", lambda: impacts(order="any")),
    ("seed", lambda: impacts(seed=-1)),
    ("seed", lambda: impacts(seed=0.5)),
    ("restitution", lambda: impacts(restitution=-0.1)),
    ("restitution", lambda: impacts(restitution=[0.5, 0.5])),
    ("tangents", lambda: impacts(friction=0.5)),
    ("friction", lambda: impacts(tangents=[[[0.0, 1.0]]])),
    ("friction", lambda: impacts(friction=-0.5, tangents=[[[0.0, 1.0]]])),
    ("tangents", lambda: impacts(friction=0.5, tangents=[[0.0, 1.0]])),
    ("tolerance", lambda: impacts(tolerance=-1.0)),
    ("lineality", lambda: impacts(lineality="yes")),
    ("max_iterations", lambda: impacts(max_iterations=0)),
    ("normals", lambda: k.lineality([1.0, 2.0])),
    ("normals", lambda: k.lineality([[NAN, 1.0]])),
    ("normals", lambda: k.lineality([[1.0], [1.0, 2.0]])),
    ("mass", lambda: k.lineality([[1.0, 0.0]], [1.0])),
    ("tolerance", lambda: k.lineality([[1.0, 0.0]], tolerance=2.0)),
    ("mass", lambda: dynamics(mass=[1.0, 0.0])),
    ("mass", lambda: dynamics(mass=[1.0, np.inf])),
    ("mass", lambda: dynamics(mass=[[1.0, 5.0], [5.0, 1.0]])),
    ("velocity", lambda: dynamics(velocity=[NAN, 0.0])),
    ("force", lambda: dynamics(force=[1.0])),
    ("step", lambda: dynamics(step=-0.1)),
    ("step", lambda: dynamics(step=[0.1])),
    ("joints", lambda: dynamics(joints=[[1.0]])),
    ("contacts", lambda: dynamics(contacts=[0.0, 1.0])),
    ("tangents", lambda: dynamics(tangents=[[1.0, 0.0]], friction=[0.5])),
    ("tangents", lambda: dynamics(friction=[0.5])),
    ("friction", lambda: dynamics(tangents=[[[1.0, 0.0], [-1.0, 0.0]]])),
    ("friction", lambda: dynamics(tangents=[[[1.0, 0.0], [-1.0, 0.0]]], friction=[-0.5])),
    ("restitution", lambda: dynamics(restitution=[0.5, 0.5])),
    ("restitution", lambda: dynamics(restitution=[-0.5])),
    ("bias", lambda: dynamics(bias=[NAN])),
    ("tolerance", lambda: dynamics(tolerance=NAN)),
    ("velocity_bar", lambda: dynamics().backward([1.0])),
    ("n", lambda: k.split(-1)),
    ("n", lambda: k.split(2.5)),
    ("n", lambda: k.split("many")),
    ("rows", lambda: k.split(2**60)),
    ("matrix", lambda: factor([[1.0, 2.0]])),
    ("matrix", lambda: factor([[1.0, 2.0], [0.0, 1.0]])),
    ("matrix", lambda: factor([[1.0, 2.0], [2.0, 1.0]])),
    ("matrix", lambda: factor([[NAN, 0.0], [0.0, 1.0]])),
    ("matrix", lambda: k.InsertedFactor("A")),
    ("order", lambda: factor(order=[0, 0])),
    ("order", lambda: factor(order=[0])),
    ("b", lambda: factor().solve([1.0])),
    ("columns", lambda: factor().insert([[1.0]], [[1.0], [0.0]], [[5.0]])),
    ("rows", lambda: factor().insert([[1.0], [0.0]], [[NAN], [0.0]], [[5.0]])),
    ("corner", lambda: factor().insert([[1.0], [0.0]], [[1.0], [0.0]], [[5.0, 1.0]])),
    ("corner", lambda: factor().insert([[4.0], [1.0]], [[4.0], [1.0]], [[4.0]])),
    ("b1", lambda: inserted().solve([1.0], [1.0])),
    ("b2", lambda: inserted().solve([1.0, 1.0], [NAN])),
]


@pytest.mark.parametrize("name, call", SOLVE, ids=[f"{i}-{name}" for i, (name, _) in enumerate(SOLVE)])
def test_kernels(name, call):
    with pytest.raises(carom.SolveError) as caught:
        call()
    assert name in str(caught.value) and isinstance(caught.value, carom.Error) and isinstance(caught.value, ValueError)


def assign(target, name, value):
    setattr(target, name, value)


def put(target, name, value):
    target.params[name] = value


def batch(world, count=3, **options):
    return carom.Batch(world, count, **options)


WORLD = [
    (carom.SceneError, "World", lambda w: carom.World()),
    (carom.SceneError, "path", lambda w: carom.World.load(3)),
    (carom.SceneError, "cannot be read", lambda w: carom.World.load("no/such/file.toml")),
    (carom.SceneError, "text", lambda w: carom.World.from_toml(b"dimension = 2")),
    (carom.SceneError, "gravty", lambda w: carom.World.from_toml("dimension = 2\ngravty = [0, -1]")),
    (carom.SceneError, "mass", lambda w: carom.World.from_toml(THROW.replace("spin = 0.7", "mass = -1"))),
    (carom.SceneError, "no scene", lambda w: carom.World.scene("pool_brake")),
    (carom.SceneError, "name", lambda w: carom.World.scene(None)),
    (carom.SceneError, "cannot be opened", lambda w: carom.World.from_urdf("no_such.urdf")),
    (carom.SceneError, "cannot be opened", lambda w: carom.World.from_mjcf("no_such.xml")),
    (carom.SceneError, "unknown option", lambda w: carom.World.from_mjcf("no_such.xml", colour="red")),
    (carom.SceneError, "base", lambda w: carom.World.from_urdf("no_such.urdf", base="loose")),
    (carom.ModelError, "q", lambda w: assign(w, "q", np.zeros((3, 3)))),
    (carom.ModelError, "q", lambda w: assign(w, "q", np.full((2, 3), NAN))),
    (carom.ModelError, "q", lambda w: assign(w, "q", "here")),
    (carom.ModelError, "v", lambda w: assign(w, "v", np.zeros(3))),
    (carom.ModelError, "v", lambda w: assign(w, "v", np.full((2, 3), np.inf))),
    (carom.ModelError, "mas", lambda w: w.params["mas"]),
    (carom.ModelError, "params", lambda w: w.params[3]),
    (carom.ModelError, "mas", lambda w: put(w, "mas", [1.0, 1.0])),
    (carom.ModelError, "mass", lambda w: put(w, "mass", [np.inf, -1.0])),
    (carom.ModelError, "mass", lambda w: put(w, "mass", [1.0, 1.0])),
    (carom.ModelError, "mass", lambda w: put(w, "mass", [np.inf, NAN])),
    (carom.ModelError, "mass", lambda w: put(w, "mass", 1.0)),
    (carom.ModelError, "restitution", lambda w: put(w, "restitution", [2.0, 0.0])),
    (carom.ModelError, "friction", lambda w: put(w, "friction", [-2.0, 0.0])),
    (carom.ModelError, "gravity", lambda w: put(w, "gravity", [0.0, 0.0, -9.81])),
    (carom.ModelError, "step", lambda w: put(w, "step", 0.0)),
    (carom.ModelError, "mass", lambda w: w.params.pop("mass")),
    (carom.StepError, "n", lambda w: w.step(-1)),
    (carom.StepError, "n", lambda w: w.step(1.5)),
    (carom.StepError, "n", lambda w: w.step("one")),
    (carom.StepError, "controls", lambda w: w.step(2, [1.0, 2.0])),
    (carom.StepError, "controls", lambda w: w.step(1, [NAN])),
    (carom.StepError, "controls", lambda w: w.step(3, np.zeros((2, 1)))),
    (carom.StepError, "steps", lambda w: w.rollout(-5)),
    (carom.StepError, "steps", lambda w: w.rollout(None)),
    (carom.StepError, "controls", lambda w: w.rollout(5, np.zeros((4, 1)))),
    (carom.StepError, "controls", lambda w: w.rollout(5, np.full((5, 1), NAN))),
    (carom.StepError, "tape", lambda w: w.rollout(5, tape=3)),
    (carom.StepError, "checkpoint", lambda w: w.rollout(5, checkpoint=0)),
    (carom.SolveError, "tape", lambda w: w.rollout(5, tape=False).backward(dq=np.zeros((2, 3)))),
    (carom.SolveError, "dq", lambda w: w.rollout(5).backward(dq=np.zeros((5, 2, 3)))),
    (carom.SolveError, "dv", lambda w: w.rollout(5).backward(dv=np.full((2, 3), NAN))),
    (carom.ModelError, "mas", lambda w: w.rollout(5).backward()["mas"]),
    (carom.ModelError, "gradient", lambda w: w.rollout(5).backward()[0]),
    (carom.ModelError, "wrt", lambda w: w.jacobian(("q", "speed"))),
    (carom.ModelError, "wrt", lambda w: w.jacobian(3)),
    (carom.ModelError, "wrt", lambda w: w.jacobian((3,))),
    (carom.ModelError, "world", lambda w: carom.Batch("pool", 3)),
    (carom.ModelError, "count", lambda w: batch(w, 0)),
    (carom.ModelError, "count", lambda w: batch(w, 1.5)),
    (carom.ModelError, "threads", lambda w: batch(w, threads=0)),
    (carom.ModelError, "q", lambda w: assign(batch(w), "q", np.zeros((2, 2, 3)))),
    (carom.ModelError, "v", lambda w: assign(batch(w), "v", np.full((3, 2, 3), NAN))),
    (carom.ModelError, "mass", lambda w: put(batch(w), "mass", [np.inf, -1.0])),
    (carom.StepError, "n", lambda w: batch(w).step(-1)),
    (carom.StepError, "controls", lambda w: batch(w).step(1, np.zeros((2, 1)))),
    (carom.StepError, "steps", lambda w: batch(w).rollout("x")),
    (carom.StepError, "controls", lambda w: batch(w).rollout(4, np.zeros((2, 4, 1)))),
    (carom.SolveError, "rollout", lambda w: batch(w).backward()),
    (carom.SolveError, "dq", lambda w: batch(w).rollout(4).backward(dq=np.zeros((2, 3)))),
    (carom.SolveError, "plot", lambda w: batch(w).rollout(4).plot()),
]


@pytest.mark.parametrize("kind, name, call", WORLD, ids=[f"{i}-{name}" for i, (_, name, _) in enumerate(WORLD)])
def test_worlds(kind, name, call, throw):
    before = throw.hash()
    with pytest.raises(kind) as caught:
        call(throw)
    assert name in str(caught.value) and isinstance(caught.value, carom.Error)
    assert throw.hash() == before


def test_a_refused_batch_is_left_whole(throw):
    many = batch(throw, 3)
    before = many.hash()
    v = np.array(many.v)
    v[0, 1, 0], v[2, 1, 0] = 9.0, NAN
    with pytest.raises(carom.ModelError):
        many.v = v
    mass = np.array(many.params["mass"])
    mass[0, 1], mass[1, 1] = 7.0, -1.0
    with pytest.raises(carom.ModelError, match="world 1"):
        many.params["mass"] = mass
    assert many.hash() == before and many.params["mass"][0, 1] == throw.params["mass"][1]


def test_frameworks_check_their_arguments(throw):
    jax = pytest.importorskip("jax")
    del jax
    with pytest.raises(carom.ModelError, match="world"):
        carom.jax.rollout("w", 3)
    with pytest.raises(carom.ModelError, match="params"):
        carom.jax.rollout(throw, 3, params=[1])


def test_zero_quaternions(arm):
    q = np.array(arm.q)
    q[1, 3:] = 0.0
    with pytest.raises(carom.ModelError, match="stone"):
        arm.q = q


def test_names():
    assert issubclass(carom.Error, ValueError)
    for kind in (carom.SceneError, carom.ModelError, carom.StepError, carom.SolveError):
        assert issubclass(kind, carom.Error) and kind.__module__ == "carom"
    assert carom.__version__
    with pytest.raises(AttributeError):
        carom.nothing
