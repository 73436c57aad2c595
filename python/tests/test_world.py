"""Worlds, rollouts and gradients."""

from __future__ import annotations

import copy
import subprocess
import sys
import threading

import numpy as np
import pytest

import carom


def test_scenes():
    names = carom.scenes()
    assert "pool_break" in names and names == sorted(names)
    assert all(isinstance(name, str) for name in names)


def test_surface(throw, arm):
    assert (throw.dimension, throw.bodies, throw.joints, throw.controls) == (2, ["ground", "ball"], [], ["force0"])
    assert (arm.dimension, arm.bodies, arm.joints, arm.controls) == (3, ["arm", "stone"], ["hip"], ["hip"])
    assert throw.step_size == 0.01 and throw.time == 0.0
    assert throw.q.shape == (2, 3) and throw.v.shape == (2, 3)
    assert arm.q.shape == (2, 7) and arm.v.shape == (2, 6)
    assert throw.q.dtype == np.float64 and throw.q.flags.c_contiguous and not throw.q.flags.writeable
    assert throw.params["mass"][0] == np.inf and throw.params["mass"][1] > 0.0
    assert throw.params["gravity"].shape == (2,) and throw.params["step"].shape == ()
    assert arm.params["inertia"].shape == (2, 3) and "joint_anchor" in arm.params
    assert set(throw.params) == set(throw.params.keys()) and len(throw.params) == len(list(throw.params))
    for thing in (throw, throw.params, throw.ledger(), throw.rollout(2), throw.rollout(2).backward(), carom.Batch(throw, 2)):
        assert len(repr(thing)) > 10


def test_step_reset_copy_hash(throw):
    start = throw.hash()
    assert len(start) == 16 and int(start, 16) >= 0
    other = throw.copy()
    throw.step(50)
    assert throw.time == pytest.approx(0.5) and throw.hash() != start and other.hash() == start
    for _ in range(50):
        other.step()
    assert other.hash() == throw.hash()
    assert copy.deepcopy(throw).hash() == throw.hash()
    throw.reset()
    assert throw.hash() == start and throw.time == 0.0


def test_state_assignment(arm):
    q, v = arm.q.copy(), arm.v.copy()
    q[1, :3] = [3, 1, 2]
    v[1, 0] = 7.0
    arm.q, arm.v = q, v
    np.testing.assert_array_equal(arm.q, q)
    np.testing.assert_array_equal(arm.v, v)
    before = arm.hash()
    arm.q = arm.q
    assert arm.hash() == before


def test_controls(throw):
    a, b = throw.copy(), throw.copy()
    drive = np.linspace(0, 3, 20)[:, None]
    a.step(20, drive)
    run = b.rollout(20, drive)
    np.testing.assert_array_equal(run.q[-1], a.q)
    assert b.time == 0.0
    b.step(20, [1.5])
    c = throw.copy()
    for _ in range(20):
        c.step(controls=[1.5])
    assert b.hash() == c.hash()


def test_bounce_and_contacts(throw):
    throw.params["friction"] = np.zeros(2)
    throw.params["restitution"] = [0.7, 0.7]
    seen = []
    while throw.ledger().impact_loss == 0.0:
        throw.step()
        seen = throw.contacts() or seen
    contact = seen[0]
    assert set(contact.bodies) == {"ball", "ground"}
    sign = 1.0 if contact.bodies[0] == "ball" else -1.0
    np.testing.assert_allclose(sign * contact.normal, [0, 1], atol=1e-12)
    assert sign * contact.impulse[1] > 0.0
    ledger = throw.ledger()
    total = ledger.kinetic + ledger.potential + ledger.elastic
    assert np.isfinite(total) and abs(ledger.drift) < 1e-9
    with pytest.raises(AttributeError):
        ledger.kinetic = 0.0


def test_rollout_matches_steps(arm):
    run = arm.rollout(30)
    assert run.q.shape == (31, 2, 7) and run.v.shape == (31, 2, 6)
    assert run.time.shape == run.energy.shape == (31,) and run.contacts.shape == (30,) and len(run.status) == 30
    assert set(run.status) == {"ok"} and len(run) == 30
    arm.step(30)
    np.testing.assert_array_equal(run.q[-1], arm.q)
    np.testing.assert_array_equal(run.v[-1], arm.v)
    ledger = arm.ledger()
    assert run.energy[-1] == pytest.approx(ledger.kinetic + ledger.potential + ledger.elastic, rel=1e-12)
    kept = run.q
    del run
    assert kept.base is not None and np.isfinite(kept).all()


def turned(q, tangent):
    """q moved by a tangent: positions add, rotations turn about world axes."""
    if q.shape[1] == 3:
        return q + tangent
    out = q.copy()
    out[:, :3] += tangent[:, :3]
    for row, d in zip(out, tangent[:, 3:]):
        angle = np.linalg.norm(d)
        axis = d / angle if angle else d
        s, c = np.sin(angle / 2) * axis, np.cos(angle / 2)
        w, x, y, z = row[3:]
        row[3:] = [c * w - s @ [x, y, z], *(c * np.array([x, y, z]) + w * s + np.cross(s, [x, y, z]))]
    return out


def loss_and_cotangents(run, weights_q, weights_v):
    """A linear loss of the positions and velocities of all states."""
    dim = 2 if run.q.shape[-1] == 3 else 3
    value = (run.q[:, :, :dim] * weights_q).sum() + (run.v * weights_v).sum()
    dq = np.zeros(run.v.shape)
    dq[:, :, :dim] = weights_q
    return value, dq, weights_v


@pytest.mark.parametrize("fixture, steps", [("throw", 70), ("arm", 25)])
@pytest.mark.parametrize("checkpoint", [None, 7])
def test_gradient_against_differences(request, fixture, steps, checkpoint):
    world = request.getfixturevalue(fixture)
    rng = np.random.default_rng(3)
    bodies, nu = len(world.bodies), len(world.controls)
    dim, dof = world.dimension, world.v.shape[1]
    drive = rng.normal(size=(steps, nu))
    wq, wv = rng.normal(size=(steps + 1, bodies, dim)), rng.normal(size=(steps + 1, bodies, dof))
    run = world.rollout(steps, drive, checkpoint=checkpoint)
    _, dq, dv = loss_and_cotangents(run, wq, wv)
    gradient = run.backward(dq, dv)
    assert gradient.q0.shape == gradient.v0.shape == (bodies, dof) and gradient.controls.shape == (steps, nu)

    def value(q=None, v=None, controls=drive, **params):
        other = world.copy()
        for name, array in params.items():
            other.params[name] = array
        if q is not None:
            other.q = q
        if v is not None:
            other.v = v
        return loss_and_cotangents(other.rollout(steps, controls, tape=False), wq, wv)[0]

    h = 1e-6

    def check(slope, at):
        difference = (at(h) - at(-h)) / (2 * h)
        assert slope == pytest.approx(difference, rel=2e-5, abs=2e-5 * max(1.0, np.abs(dq).sum() * 1e-2))

    free = bodies - 1  # the last body is free in both scenes
    for axis in range(dof):
        unit = np.zeros((bodies, dof))
        unit[free, axis] = 1.0
        check(gradient.q0[free, axis], lambda e: value(q=turned(world.q, e * unit)))
        check(gradient.v0[free, axis], lambda e: value(v=world.v + e * unit))
    for step in (0, steps // 2):
        unit = np.zeros((steps, nu))
        unit[step, 0] = 1.0
        check(gradient.controls[step, 0], lambda e: value(controls=drive + e * unit))
    for name in gradient:
        now = world.params[name]
        assert gradient[name].shape == now.shape
        if name in ("mass", "gravity", "friction", "restitution", "step") and (name == "gravity" or (now > 0.0).all()):
            unit = rng.normal(size=now.shape) * np.isfinite(now)
            scale = 1e-2 if name == "step" else 1.0
            check(float((gradient[name] * unit).sum()) * scale, lambda e: value(**{name: now + np.where(np.isfinite(now), e * scale * unit, 0.0)}))
    if fixture == "throw":
        assert np.diff(run.v[:, 1, 1]).max() > 1.0, "the ball must have struck the ground"
        assert gradient["mass"][0] == 0.0 and gradient["restitution"][1] != 0.0


def test_last_state_and_quaternion_cotangents(arm):
    run = arm.rollout(12)
    rng = np.random.default_rng(0)
    last = rng.normal(size=(2, 6))
    every = np.zeros((13, 2, 6))
    every[-1] = last
    a, b = run.backward(dq=last, dv=last), run.backward(dq=every, dv=every)
    np.testing.assert_array_equal(a.q0, b.q0)
    np.testing.assert_array_equal(a["mass"], b["mass"])
    seven = np.zeros((13, 2, 7))
    seven[-1] = rng.normal(size=(2, 7))
    found = run.backward(dq=seven)
    h = 1e-6
    unit = np.zeros((2, 6))
    unit[1, 4] = 1.0

    def value(e):
        other = arm.copy()
        other.q = turned(arm.q, e * unit)
        return (other.rollout(12).q * seven).sum()

    assert found.q0[1, 4] == pytest.approx((value(h) - value(-h)) / (2 * h), rel=1e-6, abs=1e-8)


def test_jacobian(throw):
    throw.step(3)
    found = throw.jacobian(("q", "v", "controls", "gravity"))
    assert {key: x.shape for key, x in found.items()} == {"q": (12, 6), "v": (12, 6), "controls": (12, 1), "gravity": (12, 2)}
    for x in found.values():
        assert (x[:3] == 0.0).all() and (x[6:9] == 0.0).all(), "static rows"
    run = throw.rollout(1)
    dv = np.zeros((2, 3))
    dv[1, 1] = 1.0
    np.testing.assert_array_equal(found["v"][10], run.backward(dv=dv).v0.ravel())
    np.testing.assert_allclose(found["v"][9:, 3:], np.eye(3), atol=1e-12)


def test_batch_is_bit_identical(throw):
    rng = np.random.default_rng(1)
    count, steps = 7, 60
    drive = rng.normal(size=(count, steps, 1))
    v = np.broadcast_to(throw.v, (count, 2, 3)).copy()
    v[:, 1] += rng.normal(size=(count, 3))
    mass = np.broadcast_to(throw.params["mass"], (count, 2)).copy()
    mass[:, 1] *= rng.uniform(0.5, 2.0, size=count)
    cotangent = rng.normal(size=(count, steps + 1, 2, 3))
    found = []
    for threads in (None, 1, 3):
        batch = carom.Batch(throw, count, threads=threads)
        batch.v = v
        batch.params["mass"] = mass
        assert batch.q.shape == (count, 2, 3) and batch.params["mass"].shape == (count, 2) and len(batch) == count
        run = batch.rollout(steps, drive)
        gradient = batch.backward(dq=cotangent)
        assert run.q.shape == (count, steps + 1, 2, 3) and gradient["mass"].shape == (count, 2)
        assert gradient.controls.shape == drive.shape
        batch.step(steps, drive)
        found.append((run, gradient, batch.hash()))
    for i in range(count):
        one = throw.copy()
        one.params["mass"] = mass[i]
        one.v = v[i]
        alone = one.rollout(steps, drive[i])
        slope = alone.backward(dq=cotangent[i])
        one.step(steps, drive[i])
        for run, gradient, hashes in found:
            np.testing.assert_array_equal(run.q[i], alone.q)
            np.testing.assert_array_equal(gradient.q0[i], slope.q0)
            np.testing.assert_array_equal(gradient["mass"][i], slope["mass"])
            assert hashes[i] == one.hash()


def test_threads_share_a_world(throw):
    """The interpreter is released: other threads run, and none of them crashes a world they share."""
    workers = [threading.Thread(target=lambda: throw.step(200)) for _ in range(4)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert throw.time == pytest.approx(8.0)


def test_import_is_light():
    code = (
        "import sys, time; import numpy; t = time.process_time(); import carom; print(time.process_time() - t);"
        "print([m for m in ('torch', 'jax', 'matplotlib', 'pandas', 'pyarrow', 'scipy', 'ray', 'gymnasium', 'tqdm') if m in sys.modules])"
    )
    best = 1.0
    for _ in range(5):
        seconds, loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")[:2]
        assert loaded == "[]"
        best = min(best, float(seconds))
    assert best < 0.15


def test_tables_and_plot(throw):
    run = throw.rollout(5)
    for name, call in (("pandas", run.to_pandas), ("pyarrow", run.to_arrow), ("matplotlib", run.plot)):
        try:
            __import__(name)
        except ImportError:
            with pytest.raises(carom.Error, match=name):
                call()
        else:
            assert call() is not None


def test_jax(throw):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    steps = 40

    def loss(v0, mass, controls):
        q, v = carom.jax.rollout(throw, steps, v0=v0, controls=controls, params={"mass": mass})
        return (q[-1] ** 2).sum() + v[-1, 1, 0]

    v0, mass = np.array(throw.v), np.array(throw.params["mass"])
    drive = np.full((steps, 1), 0.3)
    slopes = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(v0, mass, drive)
    for argument, slope in enumerate(slopes):
        at = [v0, mass, drive]
        index = (1, 0) if argument == 0 else (1,) if argument == 1 else (5, 0)

        def value(e):
            moved = [x.copy() for x in at]
            moved[argument][index] += e
            return float(loss(*moved))

        assert float(slope[index]) == pytest.approx((value(1e-6) - value(-1e-6)) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("fixture", ["throw", "arm"])
def test_torch(request, fixture):
    torch = pytest.importorskip("torch")
    world = request.getfixturevalue(fixture)
    # The free body moves; a velocity written on a static one has no meaning and no gradient.
    free = [torch.tensor(np.array(x[-1:]), requires_grad=True) for x in (world.q, world.v)]
    rest = [torch.tensor(np.array(x[:-1])) for x in (world.q, world.v)]
    steps = 45  # the thrown ball strikes the ground at the 36th
    drive = torch.zeros((steps, len(world.controls)), dtype=torch.float64, requires_grad=True)
    gravity = torch.tensor(np.array(world.params["gravity"]), requires_grad=True)

    def call(q, v, u, g):
        return carom.torch.rollout(world, steps, torch.cat([rest[0], q]), torch.cat([rest[1], v]), u, {"gravity": g})

    assert torch.autograd.gradcheck(call, (*free, drive, gravity), eps=1e-6, atol=1e-5)
