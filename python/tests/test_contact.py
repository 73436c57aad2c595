"""The contact kernel: problems that nobody here made, gradients against differences, arguments that are none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import carom
from carom import kernels as k

PROBLEMS = sorted((Path(__file__).resolve().parents[2] / "tests" / "problems").glob("*.npz"))
FACTORISATIONS = 80
"""More than any of the problems takes from nothing; the solver's own budget is above 250."""


class Rows:
    """Compressed rows as scipy has them, for tests without it."""

    format = "csr"

    def __init__(self, parts, shape):
        (self.data, self.indices, self.indptr), self.shape = parts, shape

    def tocsr(self):
        return self

    def toarray(self):
        out = np.zeros(self.shape)
        for i in range(self.shape[0]):
            for j in range(self.indptr[i], self.indptr[i + 1]):
                out[i, self.indices[j]] += self.data[j]
        return out


def rows(dense):
    dense = np.asarray(dense, dtype=float)
    indptr = np.concatenate([[0], np.cumsum((dense != 0.0).sum(axis=1))]).astype(np.int32)
    return Rows((dense[dense != 0.0], np.nonzero(dense)[1].astype(np.int32), indptr), dense.shape)


def problem(path):
    with np.load(path) as file:
        n = len(file["q"])
        return Rows((file["data"], file["indices"], file["indptr"]), (n, n)), file["q"], file["mu"]


def miss(matrix, free, friction, l):
    """The largest miss of Coulomb's law over the largest free velocity, written down a second time."""
    w = matrix @ l + free
    a = np.diag(matrix)
    d = len(free) // len(friction)
    worst = 0.0
    for c, mu in enumerate(friction):
        s = slice(c * d, (c + 1) * d)
        (ln, *lt), (wn, *wt), own = l[s], w[s], a[s]
        worst = max(worst, abs(min(own[0] * ln, wn)))
        mean = own[1:].mean()
        moved = mean * np.array(lt) - np.array(wt)
        reach = mean * mu * max(ln, 0.0)
        length = np.linalg.norm(moved)
        nearest = moved if length <= reach else moved * (reach / length)
        worst = max(worst, np.linalg.norm(mean * np.array(lt) - nearest))
    return worst / np.abs(free).max()


def test_there_are_problems():
    assert len(PROBLEMS) == 24


@pytest.mark.parametrize("path", PROBLEMS, ids=[path.stem for path in PROBLEMS])
def test_public_problems(path):
    matrix, free, friction = problem(path)
    out = k.contact(matrix, free, friction)
    assert out.status == "solved" and out.residual <= 1e-8
    assert out.factorisations <= FACTORISATIONS <= out.iterations + FACTORISATIONS
    dense = matrix.toarray()
    assert miss(dense, free, friction, out.impulses) <= 1.001e-8
    assert np.allclose(out.velocity, dense @ out.impulses + free, rtol=0, atol=1e-12 * (1 + np.abs(out.velocity).max()))
    # Begun at the solution it has little left to do; the dense matrix gives the same bits.
    warm = k.contact(matrix, free, friction, warm=out.impulses)
    assert warm.status == "solved" and warm.factorisations <= 3
    if len(free) <= 200:
        assert np.array_equal(k.contact(dense, free, friction).impulses, out.impulses)
    # A derivative there is too, in the same pattern.
    bar = out.backward(dense @ np.ones(len(free)))
    assert bar["matrix"].data.shape == matrix.data.shape and np.isfinite(bar["matrix"].data).all()
    assert bar["free"].shape == free.shape and bar["friction"].shape == friction.shape and np.isfinite(bar["free"]).all()


def random_problem(seed, contacts, tangents, bodies):
    """Contacts of bodies that are pressed together, with as many freedoms as keep the impulses unique."""
    rng = np.random.default_rng(seed)
    n = contacts * (1 + tangents)
    jacobian = rng.normal(size=(n, max(n, 6 * bodies)))
    matrix = jacobian @ jacobian.T / n
    free = rng.normal(size=n)
    free[:: 1 + tangents] -= 1.0
    return matrix, free, rng.uniform(0.1, 0.9, size=contacts)


@pytest.mark.parametrize("tangents", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
def test_gradients_against_differences(tangents, sparse):
    compared, slid = 0, 0
    for seed in range(12):
        matrix, free, friction = random_problem(seed, 4, tangents, 2)
        rng = np.random.default_rng(100 + seed)
        bar = rng.normal(size=len(free))
        store = rows if sparse else np.array
        solve = lambda m, u, mu: k.contact(store(m), u, mu, tolerance=1e-12)
        out = solve(matrix, free, friction)
        assert out.status == "solved"
        gradient = out.backward(bar)
        found = gradient["matrix"].toarray() if sparse else gradient["matrix"]
        assert np.array_equal(found, found.T)
        turn = rng.normal(size=matrix.shape)
        changes = {"matrix": turn + turn.T, "free": rng.normal(size=len(free)), "friction": rng.normal(size=len(friction))}
        for name, change in changes.items():
            moved = lambda h: solve(*(x + h * change if key == name else x for key, x in
                                      (("matrix", matrix), ("free", free), ("friction", friction)))).impulses @ bar
            best = min(abs((moved(h) - moved(-h)) / (2 * h) - np.sum((found if name == "matrix" else gradient[name]) * change))
                       / (1 + abs(np.sum((found if name == "matrix" else gradient[name]) * change))) for h in (1e-4, 1e-5, 1e-6))
            assert best < 1e-6, (seed, name, best)
            compared += 1
        slid += np.abs(gradient["friction"]).max() > 1e-3
    assert compared == 36 and slid >= 6


def test_redundant_contacts_have_the_gradient_of_their_velocity():
    """A unit box in the plane on three contacts in a row, two of which would do; pressed down and pulled along until it slides."""
    jacobian = np.array([row for x in (-0.5, 0.0, 0.5) for row in ([0, 1, x], [1, 0, 0.5])], dtype=float)
    inverse = np.diag([1.0, 1.0, 6.0])
    friction = np.full(3, 0.3)
    v = np.array([2.0, -1.0, 0.0])
    out = k.contact(jacobian @ inverse @ jacobian.T, jacobian @ v, friction, tolerance=1e-12)
    after = v + inverse @ jacobian.T @ out.impulses
    assert out.status == "solved" and abs(after[0] - (2.0 - 0.3)) < 1e-10, "sliding, braked by mu times the fall"
    # The speed along the ground by the fall, the pull and the friction of all contacts together.
    bar = out.backward(jacobian @ inverse @ [1.0, 0.0, 0.0])
    by_v = np.array([1.0, 0.0, 0.0]) + jacobian.T @ bar["free"]
    assert np.allclose(by_v, [1.0, 0.3, 0.0], atol=1e-8)
    assert abs(bar["friction"].sum() + 1.0) < 1e-8


def test_closed_forms():
    out = k.contact(np.eye(2), [-1.0, 0.8], [0.3])
    assert np.allclose(out.impulses, [1.0, -0.3], atol=1e-8) and np.allclose(out.velocity, [0.0, 0.5], atol=1e-8)
    bar = out.backward([0.0, 1.0])
    assert np.allclose(bar["friction"], [-1.0]) and np.allclose(bar["free"], [0.3, 0.0])
    apart = k.contact(np.eye(3), [1.0, 2.0, 3.0], [0.5])
    assert not apart.impulses.any() and apart.method == "none" and apart.residual == 0.0
    assert not apart.backward([1.0, 1.0, 1.0])["free"].any()
    nothing = k.contact(np.zeros((0, 0)), [], [])
    assert nothing.status == "solved" and nothing.impulses.shape == (0,) and nothing.backward([])["matrix"].shape == (0, 0)


def test_the_tolerance_is_relative():
    matrix, free, friction = problem(next(path for path in PROBLEMS if path.stem == "NESpheres_30_1"))
    for scale in (1e-9, 1.0, 1e9):
        out = k.contact(matrix, scale * free, friction)
        assert out.status == "solved" and miss(matrix.toarray(), scale * free, friction, out.impulses) <= 1.001e-8
    rough = k.contact(matrix, free, friction, tolerance=1e-2)
    assert rough.status == "solved" and rough.residual <= 1e-2 and rough.factorisations <= k.contact(matrix, free, friction).factorisations


def test_a_long_column_needs_no_square():
    """Unit balls on one another, one step into the fall; each contact carries what lies above it. A dense matrix would take 288 MB."""
    count = 2000
    indptr, indices, data = [0], [], []
    for c in range(count):
        for row in range(3):
            for other, value in ((c - 1, -1.0), (c, 2.0 if c else 1.0), (c + 1, -1.0)):
                if 0 <= other < count:
                    indices.append(3 * other + row)
                    data.append(value)
            indptr.append(len(indices))
    matrix = Rows((np.array(data), np.array(indices), np.array(indptr)), (3 * count, 3 * count))
    free = np.zeros(3 * count)
    free[0] = -0.05
    out = k.contact(matrix, free, np.full(count, 0.5), tolerance=1e-10)
    above = count - np.arange(count)
    assert out.status == "solved" and np.allclose(out.impulses[::3], 0.05 * above, rtol=1e-6)
    bar = np.zeros(3 * count)
    bar[0] = 1.0
    gradient = out.backward(bar)
    assert np.allclose(gradient["free"][::3], -above, rtol=1e-6, atol=1e-6) and gradient["matrix"].data.shape == (len(data),)


GOOD = {"matrix": np.eye(4), "free": [-1.0, 0.0, -1.0, 0.0], "friction": [0.5, 0.5]}
NAN = float("nan")


def entry(i, j, value):
    matrix = np.eye(4)
    matrix[i, j] = value
    return matrix


@pytest.mark.parametrize("change, words", [
    ({"matrix": entry(1, 2, 1e-6)}, ("matrix", "(1, 2)", "symmetric")),
    ({"matrix": rows(entry(1, 2, 1e-6))}, ("matrix", "(1, 2)", "symmetric")),
    ({"matrix": entry(3, 3, -1e-6)}, ("matrix", "(3, 3)", "diagonal")),
    ({"matrix": rows(entry(3, 3, -1e-6))}, ("matrix", "(3, 3)", "diagonal")),
    ({"matrix": entry(2, 1, NAN)}, ("matrix", "(2, 1)", "finite")),
    ({"matrix": rows(entry(2, 1, NAN))}, ("matrix", "(2, 1)", "finite")),
    ({"matrix": np.eye(3)}, ("matrix", "(3, 3)", "(4, 4)")),
    ({"matrix": np.ones(4)}, ("matrix", "shape")),
    ({"matrix": Rows((np.ones(4), np.array([0, 1, 2, 9]), np.arange(5)), (4, 4))}, ("matrix", "row 3")),
    ({"matrix": Rows((np.ones(4), np.array([0, 1, 2, -1]), np.arange(5)), (4, 4))}, ("matrix", "row 3")),
    ({"matrix": Rows((np.ones(4), np.arange(4), np.array([0, 3, 2, 3, 4])), (4, 4))}, ("matrix", "row 1")),
    ({"matrix": Rows((np.ones(4), np.arange(4), np.arange(4)), (4, 4))}, ("matrix", "indptr")),
    ({"matrix": Rows((np.ones(4), np.arange(4.0), np.arange(5)), (4, 4))}, ("matrix", "indices")),
    ({"matrix": "x"}, ("matrix",)),
    ({"free": [-1.0, 0.0, NAN, 0.0]}, ("free", "2")),
    ({"free": [-1.0, 0.0, 1.0], "matrix": np.eye(3)}, ("free", "3 rows", "2 contacts")),
    ({"friction": [0.5, -0.1]}, ("friction", "contact 1", "-0.1")),
    ({"friction": [NAN, 0.1]}, ("friction", "0")),
    ({"friction": 0.5}, ("friction", "shape")),
    ({"friction": [0.5, 0.5, 0.5]}, ("3 contacts",)),
    ({"tolerance": 0.0}, ("tolerance",)),
    ({"tolerance": NAN}, ("tolerance",)),
    ({"warm": [1.0]}, ("warm",)),
    ({"warm": [1.0, 0.0, NAN, 0.0]}, ("warm", "2")),
])
def test_wrong_arguments_are_named(change, words):
    with pytest.raises(carom.SolveError) as caught:
        k.contact(**{**GOOD, **change})
    assert all(word in str(caught.value) for word in words), caught.value
    with pytest.raises(carom.SolveError, match="impulses_bar"):
        k.contact(**GOOD).backward([1.0])
    with pytest.raises(carom.SolveError, match="impulses_bar"):
        k.contact(**GOOD).backward([NAN] * 4)


def test_symmetry_is_asked_to_a_part_of_the_largest_entry():
    assert k.contact(**{**GOOD, "matrix": entry(1, 2, 1e-10)}).status == "solved"


def test_scipy_rows_come_back_as_they_went():
    sparse = pytest.importorskip("scipy.sparse")
    matrix, free, friction = random_problem(3, 5, 2, 2)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        stored = kind(matrix)
        out = k.contact(stored, free, friction)
        bar = out.backward(np.ones(len(free)))["matrix"]
        assert type(bar) is type(stored) and np.array_equal(bar.indptr, stored.indptr) and np.array_equal(bar.indices, stored.indices)
        assert np.allclose(bar.toarray(), k.contact(matrix, free, friction).backward(np.ones(len(free)))["matrix"], rtol=1e-9, atol=1e-12)
    with pytest.raises(carom.SolveError, match="csc"):
        k.contact(sparse.csc_matrix(matrix), free, friction)


def test_scipy_is_not_imported():
    code = "import sys, carom, numpy; carom.kernels.contact(numpy.eye(2), [-1.0, 0.5], [0.3]).backward([1, 0]); print('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
