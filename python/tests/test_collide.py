"""collide: reference data, paths, fixed steps, other laws, many at once, and derivatives against differences."""

import json
from pathlib import Path

import numpy as np
import pytest

import carom
from carom import kernels as k

ORACLES = Path(__file__).parents[2] / "tests" / "oracles"


def sides(case):
    given = case["input"]

    def side(name):
        return k.Side(given[f"m{name}"], given[f"I{name}"], given[f"r{name}"], given[f"v{name}"], given[f"w{name}"])

    return side("A"), side("B"), given["f"], given["e"], given["mu"]


def cases(dimension):
    return json.loads((ORACLES / f"collision{dimension}d.json").read_text())["cases"]


@pytest.mark.parametrize("dimension", [2, 3])
def test_reference_data_and_their_paths(dimension):
    chosen = cases(dimension)[:: 5 if dimension == 2 else 3]
    assert len(chosen) > 60
    traced = 0
    for case in chosen:
        a, b, normal, e, mu = sides(case)
        end = k.collide(a, b, normal, e, mu, trace=True)
        want, tol = case["expected"], 10 * case["tol"]
        assert end.status == "resolved"
        for name, found in (("vA", end.velocity_a), ("wA", end.spin_a), ("vB", end.velocity_b), ("wB", end.spin_b)):
            assert np.abs(found - np.array(want[name])).max() <= tol * max(1.0, np.abs(want[name]).max()), case["name"]
        if end.branch == "separating":
            assert len(end.path) == 0
            continue
        traced += 1
        path, n = end.path, np.array(normal)
        assert path.dtype.names == ("p_z", "u", "works", "mode")
        assert np.allclose(path["u"][0], want["u0"], atol=1e-12 * (1 + np.abs(want["u0"]).max()))
        assert np.allclose(path["u"][-1], want["u1"], atol=1e-6 * (1 + np.abs(want["u0"]).max()))
        assert abs(path["p_z"][-1] - n @ want["p"]) <= 1e-7 * abs(n @ np.array(want["p"]))
        assert (np.diff(path["p_z"]) >= 0).all()
        scale = abs(want["Wc"])
        assert abs(path["works"][-1, 0] - want["Wc"]) <= 1e-7 * scale and abs(path["works"][-1, 1] - want["Wd"]) <= 1e-7 * scale
        assert path["mode"][-1] == end.mode
    assert traced > 50


def body(rng, dimension, approach, immovable=False):
    inertia = float(rng.uniform(0.2, 1.0)) if dimension == 2 else np.eye(3) * 0.5 + 0.2 * (lambda m: m @ m.T)(rng.normal(size=(3, 3)))
    spin = float(rng.normal()) if dimension == 2 else rng.normal(size=3)
    velocity = rng.normal(size=dimension)
    velocity[-1] += approach
    return k.Side(None if immovable else float(rng.uniform(0.5, 2.0)), None if immovable else inertia, rng.normal(size=dimension), velocity, spin)


def unit(x):
    x = np.asarray(x, dtype=float)
    return x / np.linalg.norm(x)


def test_the_example_of_two_compressions():
    inverse = np.array([[9.0, 6, -6], [6, 6, -2], [-6, -2, 9]])
    inertia = np.linalg.inv(inverse)
    a = k.Side(1.0, (inertia + inertia.T) / 2, [1, 1, 1], [630, -780, -0.22], [0, 0, 0])
    ground = k.Side(None, None, [0, 0, 0], [0, 0, 0], [0, 0, 0])
    end = k.collide(a, ground, [0, 0, 1], 0.9, 0.5, trace=True)
    zeros = end.path["p_z"][np.abs(end.path["u"][:, 2]) < 1e-9]
    assert np.allclose(zeros, [14.596, 29.831, 55.981], atol=1e-3) and end.phases == 4
    # The fixed step is of first order: ten times the steps, about a tenth of the error.
    error = [np.linalg.norm(k.collide(a, ground, [0, 0, 1], 0.9, 0.5, method="euler", steps=n).impulse - end.impulse) for n in (6_000, 60_000)]
    assert 5 < error[0] / error[1] < 20
    assert k.collide(a, ground, [0, 0, 1], 0.9, 0.5, method="euler", steps=6_000).phases == 4


def test_laws_end_where_they_say_and_agree_without_friction():
    rng = np.random.default_rng(3)
    used = 0
    for number in range(40):
        a, b = body(rng, 3, -4.0), body(rng, 3, 1.0)
        e, mu, n = rng.uniform(), rng.uniform(0.1, 1.0), np.array([0.0, 0.0, 1.0])
        if k.collide(a, b, n, e, mu).mode == "none":
            continue
        used += 1
        free = [k.collide(a, b, n, e, 0.0, law=law).impulse for law in ("energy", "newton", "poisson")]
        assert np.allclose(free[0], free[1]) and np.allclose(free[0], free[2])
        newton = k.collide(a, b, n, e, mu, law="newton", trace=True).path["u"][:, 2]
        assert newton[-1] == pytest.approx(-e * newton[0], rel=1e-8)
        path = k.collide(a, b, n, e, mu, law="poisson", trace=True).path
        middle = (path["u"][1:, 2] + path["u"][:-1, 2]) / 2
        compression = np.diff(path["p_z"])[middle < 0].sum()
        assert path["p_z"][-1] == pytest.approx((1 + e) * compression, rel=1e-6)
    assert used > 20


@pytest.mark.parametrize("dimension", [2, 3])
def test_many_at_once_are_the_same_as_one_by_one(dimension):
    rng = np.random.default_rng(dimension)
    alone = [(body(rng, dimension, -3.0), body(rng, dimension, 1.0)) for _ in range(6)]
    stack = lambda i: k.Side(*(np.array([getattr(pair[i], key) for pair in alone]) for key in ("mass", "inertia", "arm", "velocity", "spin")))
    normal, friction = unit([0.1, 0.2, 1.0][-dimension:]), np.array([[0.1], [0.7]])
    many = k.collide(stack(0), stack(1), normal, 0.4, friction)
    assert many.velocity_a.shape == (2, 6, dimension) and many.status.shape == (2, 6) and many.path is None
    traced = k.collide(stack(0), stack(1), normal, 0.4, friction, trace=True)
    assert len(traced.path) == 12 and np.allclose(traced.velocity_a, many.velocity_a, rtol=0, atol=1e-8)
    for i in range(2):
        for j, (a, b) in enumerate(alone):
            one = k.collide(a, b, normal, 0.4, float(friction[i, 0]))
            assert np.array_equal(many.velocity_a[i, j], one.velocity_a) and many.branch[i, j] == one.branch
    bars = rng.normal(size=(2, 6, dimension))
    grad = many.backward(velocity_a_bar=bars)
    assert grad["friction"].shape == (2, 1) and grad["mass_a"].shape == (6,) and isinstance(grad["restitution"], float)
    each = [[k.collide(a, b, normal, 0.4, float(friction[i, 0])).backward(bars[i, j]) for j, (a, b) in enumerate(alone)] for i in range(2)]
    assert np.allclose(grad["friction"][:, 0], [sum(g["friction"] for g in row) for row in each])
    assert np.allclose(grad["mass_a"], [each[0][j]["mass_a"] + each[1][j]["mass_a"] for j in range(6)])
    assert np.allclose(grad["normal"], sum(g["normal"] for row in each for g in row))


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("law", ["energy", "newton", "poisson"])
def test_derivatives_are_those_of_differences(dimension, law):
    rng = np.random.default_rng(10 * dimension + len(law))
    spins = () if dimension == 2 else (3,)
    for number in range(6):
        a, b = body(rng, dimension, -4.0), body(rng, dimension, 1.0, immovable=number == 0)
        given = {"normal": unit([0.2, -0.1, 1.0][-dimension:]), "restitution": rng.uniform(0.2, 0.8), "friction": rng.uniform(0.1, 0.8)}
        for name, side in (("a", a), ("b", b)):
            given.update({f"{key}_{name}": getattr(side, key) for key in ("mass", "inertia", "arm", "velocity", "spin")})
        bars = (rng.normal(size=dimension), rng.normal(size=spins), rng.normal(size=dimension), rng.normal(size=spins))

        def run(changed):
            side = lambda name: k.Side(*(changed[f"{key}_{name}"] for key in ("mass", "inertia", "arm", "velocity", "spin")))
            return k.collide(side("a"), side("b"), unit(changed["normal"]), changed["restitution"], changed["friction"], law=law, tolerance=1e-12)

        def value(changed):
            end = run(changed)
            return sum(np.sum(x * y) for x, y in zip(bars, (end.velocity_a, end.spin_a, end.velocity_b, end.spin_b)))

        grad = run(given).backward(*bars)
        assert set(grad) == set(given)
        for key, x in given.items():
            if x is None:
                assert grad[key] is None
                continue
            found, h = np.asarray(grad[key], dtype=float), 1e-5
            x = np.asarray(x, dtype=float)
            for index in np.ndindex(x.shape):
                move = np.zeros(x.shape)
                move[index] += h
                if key.startswith("inertia") and x.ndim == 2:
                    move = (move + move.T) / 2
                wanted = (value({**given, key: x + move}) - value({**given, key: x - move})) / (2 * h)
                assert found[index] == pytest.approx(wanted, rel=2e-5, abs=2e-5), (key, index, number)


def test_wrong_arguments_are_named():
    rng = np.random.default_rng(1)
    a, b = body(rng, 3, -3.0), body(rng, 3, 1.0)
    for name, call in (
        ("law", lambda: k.collide(a, b, [0, 0, 1], 0.5, 0.5, law="stronge")),
        ("method", lambda: k.collide(a, b, [0, 0, 1], 0.5, 0.5, method="rk4")),
        ("steps", lambda: k.collide(a, b, [0, 0, 1], 0.5, 0.5, method="euler", steps=0)),
        ("trace", lambda: k.collide(a, b, [0, 0, 1], 0.5, 0.5, trace=1)),
        ("broadcast", lambda: k.collide(a, b, [0, 0, 1], [0.1, 0.2], [0.1, 0.2, 0.3])),
        ("velocity_a_bar", lambda: k.collide(a, b, [0, 0, 1], 0.5, 0.5).backward([1.0, 2.0])),
        ("row 1", lambda: k.collide(a, b, [[0, 0, 1], [0, 0, 2]], 0.5, 0.5)),
    ):
        with pytest.raises(carom.SolveError, match=name):
            call()
