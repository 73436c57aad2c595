"""Every golden file through the package."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import cases

import carom
from carom import kernels as k


def near(found, wanted, tol, floor=1.0, scale=None):
    """Within tol of the largest magnitude of the reference (and of ``floor``)."""
    wanted = np.asarray(wanted, dtype=float)
    size = max(floor, np.abs(wanted).max(initial=0.0) if scale is None else scale)
    np.testing.assert_allclose(np.asarray(found, dtype=float), wanted, rtol=0.0, atol=tol * size)


@pytest.mark.parametrize("family", ["collision2d", "collision3d"])
def test_collisions(family):
    modes = set()
    for case in cases(family):
        i, e, tol = case["input"], case["expected"], case["tol"]
        sides = [k.Side(i["m" + s], i["I" + s], i["r" + s], i["v" + s], i["w" + s]) for s in "AB"]
        found = k.collide(*sides, i["f"], i["e"], i["mu"])
        for field, key in (("velocity_a", "vA"), ("spin_a", "wA"), ("velocity_b", "vB"), ("spin_b", "wB")):
            near(getattr(found, field), e[key], tol)
        near(found.impulse, e["p"], tol, 0.0)
        near([found.work_compression, found.work_restitution], [e["Wc"], e["Wd"]], tol, 0.0)
        assert found.work_compression <= 0.0 <= found.work_restitution
        if not case["branch_ambiguous"]:
            assert (found.branch, found.phases) == (e["branch"], e["phases"]), case["name"]
        modes.add(found.mode)
    assert modes <= {"none", "slide", "stick", "diverge"} and len(modes) >= 3


def dense(rows, d):
    out = np.zeros((len(rows), d))
    for row, sparse in zip(out, rows):
        row[sparse["i"]] = sparse["v"]
    return out


def test_impacts():
    compared = 0
    for case in cases("impact"):
        i, e, tol = case["input"], case["expected"], case["tol"]
        normals, qdot = dense(i["N_rows"], i["dof"]), np.array(i["qdot"])
        for law, key in (("gauss-seidel", "gs"), ("reflections", "gr")):
            reference = e[key]
            cap = 20 * max(reference["iterations"], 1000)
            found = k.impacts(i["M_blocks"], normals, qdot, law=law, tolerance=i["eps"], max_iterations=cap)
            if reference["determined"]:
                compared += 1
                assert found.status == "resolved" and found.iterations == reference["iterations"], case["name"]
                near(found.velocity, reference["qdot"], tol)
            if found.status == "capped":
                continue
            near(found.energy_after, e["energy_after"], 1e-7, 0.0)
            assert found.locked == e["lineality_dim"]
            assert (found.impulses >= 0.0).all()
            mass = np.zeros((i["dof"], i["dof"]))
            at = 0
            for block in i["M_blocks"]:
                mass[at:at + len(block), at:at + len(block)] = block
                at += len(block)
            change = mass @ (found.velocity - qdot)
            near(normals.T @ found.impulses, change, 1e-7, scale=np.abs(mass @ qdot).max())
            for conserved in e["conserved"]:
                near(np.dot(conserved["w"], mass @ found.velocity), conserved["value"], 1e-8, scale=max(1.0, np.abs(mass @ qdot).sum()))
    assert compared > 250


def test_lineality():
    for case in cases("lineality"):
        i, e = case["input"], case["expected"]
        tolerance = 1e-9
        close = e.get("near")
        margin = close["margin"] or 0.0 if close else 1.0
        if margin < 100 * tolerance or not i["exact"]:
            continue  # a tolerance decides: the engine's own tests sweep it
        found = k.lineality(np.reshape(i["N"], (-1, i["d"])), tolerance=tolerance)
        assert (found.dimension, list(found.implicit)) == (e["dim"], e["implicit"]), case["name"]
        near(found.projector, e["P"], 1e-8)
        assert found.basis.shape == (i["d"], e["dim"])
        near(found.basis.T @ found.basis, np.eye(e["dim"]), 1e-12)
        if close:
            found = k.lineality(np.reshape(i["N"], (-1, i["d"])), tolerance=min(0.3, 100 * close["margin"]))
            assert found.dimension == close["dim_when_tolerance_exceeds_margin"], case["name"]


def test_lineality_in_a_mass_metric():
    mass = np.array([[2.0, 0.3], [0.3, 1.0]])
    found = k.lineality([[1.0, 0.0], [-2.0, 0.0]], mass)
    near(found.basis.T @ np.linalg.solve(mass, found.basis), np.eye(1), 1e-14)


def problem(i):
    m, d = len(i["mu"]), len(i["v"])
    return dict(
        mass=i["M_diag"], velocity=i["v"], force=i["f"], step=i["dt"], joints=np.reshape(i["Je"], (-1, d)),
        contacts=np.reshape(i["Jc"], (m, d)), tangents=np.reshape(i["Jf"], (m, 2, d)), friction=i["mu"], bias=i["c"],
    )


def test_dynamics():
    for case in cases("lcp"):
        i, e, tol = case["input"], case["expected"], case["tol"]
        found = k.dynamics(**problem(i))
        assert found.status == "solved", case["name"]
        near(found.velocity, e["v"], tol)
        # At the edge of two modes impulses are shared in more than one way.
        if e["multipliers_unique"] and (e["margin"] or 0.0) > tol:
            near(found.contact_impulse, e["lambda_c"], 10 * tol)
            near(found.joint_impulse, e["lambda_e"], 10 * tol)
            near(found.friction_impulse[:, 0] - found.friction_impulse[:, 1], e["friction_net"], 10 * tol)


def test_dynamics_derivatives():
    checked = 0
    for case in cases("lcp"):
        i, e = case["input"], case["expected"]
        slopes = e.get("derivatives")
        if not slopes:
            continue
        checked += 1
        problem_ = problem(i)
        found = k.dynamics(**problem_)
        rows = [found.backward(unit) for unit in np.eye(len(i["v"]))]
        jacobian = {key: np.array([row[key] for row in rows]) for key in ("mass", "force", "velocity", "bias", "friction", "contacts")}
        slope = lambda name: np.array(slopes[name], dtype=float)
        tol = 1e-7
        near(jacobian["mass"], slope("dv_dMdiag"), tol)
        near(jacobian["force"], slope("dv_df"), tol)
        near(jacobian["bias"], slope("dv_dc"), tol)
        near(jacobian["friction"], slope("dv_dmu"), tol)
        near(jacobian["contacts"], slope("dv_dJc"), tol)
        # The reference lets the bias follow the velocity: c = k Jc v.
        follow = np.array(i["k"])[:, None] * np.reshape(i["Jc"], (len(i["mu"]), -1))
        near(jacobian["velocity"] + jacobian["bias"] @ follow, slope("dv_dv"), tol)
    assert checked > 20


def test_splitting():
    for case in cases("splitting"):
        e = case["expected"]
        found = k.split(case["n"])
        assert (found.inner_parts, found.entries) == (e["p"], e["n_M"]), case["n"]
        assert sum(found.parts) == case["n"]
        if e["p"] >= 0:
            assert found.inner_constraints == e["m"], case["n"]


@pytest.mark.parametrize("form", ["dense", "sparse", "given order"])
def test_inserted_rows(form):
    sparse = pytest.importorskip("scipy.sparse") if form == "sparse" else None
    for case in cases("cholesky_insert"):
        i, e = case["input"], case["expected"]
        matrix = np.zeros((i["n"], i["n"]))
        lower = i["A_lower"]
        matrix[lower["i"], lower["j"]] = matrix[lower["j"], lower["i"]] = lower["v"]
        order = i["perm"] if form == "given order" else None
        factor = k.InsertedFactor(sparse.csc_matrix(matrix) if sparse else matrix, order=order)
        if order:
            assert factor.order.tolist() == order
        near(matrix @ factor.solve(i["b1"]), i["b1"], 1e-9)
        x1, x2 = factor.insert(i["A12"], i["A21"], i["A22"]).solve(i["b1"], i["b2"])
        near(x1, e["x1"], case["tol"])
        near(x2, e["x2"], case["tol"])


FREE = """
dimension = 3
gravity = [0, 0, 0]
step = 0.001
[[body]]
name = "top"
mass = 1.0
inertia = {inertia}
rotation = {q0}
spin = {spin}
"""


def test_free_tops():
    """The torque-free tops of integration.json, by the world."""
    tops = [case for case in cases("integration") if case["kind"] == "free_top"]
    assert tops
    for case in tops[:3]:
        i, e = case["input"], case["expected"]
        w, x, y, z = i["q0"]
        turn = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                         [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                         [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])
        spin = turn @ np.array(i["omega0_body"])
        text = FREE.format(inertia=list(i["inertia"]), q0=list(i["q0"]), spin=spin.tolist())
        world = carom.World.from_toml(text)
        horizon = [(t, s) for t, s in zip(i["times"], e["states"]) if t <= 2.0]
        for time, state in horizon:
            steps = round((time - world.time) / world.step_size)
            world.step(steps)
            if abs(world.time - time) < 1e-9:
                sign = np.sign(np.dot(world.q[0, 3:], state["q"]))
                near(sign * world.q[0, 3:], state["q"], 1e-3)
        momentum = world.ledger().angular_momentum
        near(momentum, e["angular_momentum"], 1e-6)  # second order in the step
