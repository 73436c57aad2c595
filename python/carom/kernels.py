"""The algorithms on arrays: collisions, impacts, implicit equalities, the dynamics and the contact problem, body splitting, inserted rows.

Arrays in and arrays out, float64, C order; anything ``numpy.asarray`` takes is an array. An argument that no method can work with is a
:class:`carom.SolveError` that names it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

import numpy as np

from . import _carom
from ._carom import SolveError
from ._check import Result, count, flag, flat, number, numbers, word
from ._collide import Collision, Side, collide
from ._contact import ContactSolution, contact

__all__ = ["Collision", "ContactSolution", "Dynamics", "Impact", "InsertedFactor", "Inserted", "Lineality", "Side", "Split",
           "collide", "contact", "dynamics", "impacts", "lineality", "split"]

SYMMETRY = 1e-12
"""Two entries a_ij and a_ji may differ by this part of the largest entry and still count as one: rounding."""


def _mass(name: str, mass: Any, d: int) -> tuple[bool, list, list]:
    """Whether it is a diagonal, its blocks flat, and the shapes its cotangent has."""
    blocks: list | None = None
    if isinstance(mass, (list, tuple)) and mass and all(np.ndim(block) == 2 for block in mass):
        blocks = [numbers(f"{name}[{i}]", block, (None, None)) for i, block in enumerate(mass)]
    elif isinstance(mass, np.ndarray) and mass.ndim == 3:
        blocks = list(numbers(name, mass, (None, None, None)))
    if blocks is None:
        whole = numbers(name, mass, (d,), (d, d), finite=np.ndim(mass) != 1)
        if whole.ndim == 1:
            if np.isnan(whole).any() or (whole <= 0.0).any():
                raise SolveError(f"{name}: needs positive numbers")
            return True, [whole], [whole.shape]
        blocks = [whole]
    for i, block in enumerate(blocks):
        if block.shape[0] != block.shape[1]:
            raise SolveError(f"{name}: block {i} has shape {block.shape}, needs square blocks")
    if sum(len(block) for block in blocks) != d:
        raise SolveError(f"{name}: has {sum(len(block) for block in blocks)} rows for {d} freedoms")
    return False, [flat(block) for block in blocks], [block.shape for block in blocks]


@dataclass(frozen=True, eq=False, repr=False)
class Impact(Result):
    """The outcome of a simultaneous impact; ``impulses`` (m,) belong to the normals as given."""

    velocity: np.ndarray
    impulses: np.ndarray
    friction_impulses: np.ndarray | None
    iterations: int
    locked: int
    energy_before: float
    energy_after: float
    status: str
    accurate: bool
    """Whether every problem inside was solved: the search for implicit equalities, least squares, friction in turns."""


def impacts(
    mass: Any, normals: Any, velocity: Any, *, law: str = "reflections", order: str = "lexicographic", seed: int = 0,
    restitution: Any = 1.0, friction: Any = None, tangents: Any = None, tolerance: float = 1e-10, lineality: bool = True,
    max_iterations: int = 10_000_000,
) -> Impact:
    """Resolves the impact of many contacts at one instant: M (v' - v) = N' l with l >= 0, and N v' >= 0.

    ``mass``: (d,) diagonal, (d, d), or a list of square blocks. ``normals`` (m, d): row i is the gradient of constraint i. ``law`` is
    ``"reflections"`` or ``"gauss-seidel"``; ``order`` (``"lexicographic"``, ``"cyclic"``, ``"random"`` with ``seed``, ``"worst"``) is that
    of Gauss-Seidel. ``restitution``: a number or (m,). ``friction``: a number or (m,), with ``tangents`` (m, 1 or 2, d), an orthonormal
    basis per contact.
    """
    velocity = numbers("velocity", velocity, (None,))
    d = len(velocity)
    normals = numbers("normals", normals, (None, d))
    m = len(normals)
    diagonal, blocks, _ = _mass("mass", mass, d)
    word("law", law, ("reflections", "gauss-seidel"))
    word("order", order, ("lexicographic", "cyclic", "random", "worst"))
    restitution = numbers("restitution", restitution, (), (m,))
    if ((restitution < 0.0) | (restitution > 1.0)).any():
        raise SolveError("restitution: needs numbers from 0 to 1")
    if restitution.ndim == 1 and m == 0:
        restitution = np.ones(1)
    if (friction is None) != (tangents is None):
        absent = "friction" if friction is None else "tangents"
        raise SolveError(f"{absent}: friction and tangents are given together")
    if friction is not None:
        friction = np.broadcast_to(numbers("friction", friction, (), (m,)), (m,))
        if (friction < 0.0).any():
            raise SolveError("friction: needs numbers >= 0")
        tangents = numbers("tangents", tangents, (m, 1, d), (m, 2, d))
    tolerance = number("tolerance", tolerance)
    if not 0.0 < tolerance < 1.0:
        raise SolveError(f"tolerance: found {tolerance:g}, needs a number between 0 and 1")
    raw = _carom.impacts(
        diagonal, blocks, flat(normals), velocity, law, order, count("seed", seed, most=2**64 - 1), flat(restitution), flat(friction),
        flat(tangents), tolerance, flag("lineality", lineality), count("max_iterations", max_iterations, least=1, most=2**62),
    )
    return Impact(**raw)


@dataclass(frozen=True, eq=False, repr=False)
class Lineality(Result):
    """The implicit equalities of a cone: ``basis`` (d, k) and ``projector`` (d, d) of their span, ``implicit`` their indices."""

    dimension: int
    basis: np.ndarray
    projector: np.ndarray
    implicit: list[int]


def lineality(normals: Any, mass: Any = None, *, tolerance: float = 1e-9) -> Lineality:
    """The rows of ``normals`` (m, d) that no v with normals @ v >= 0 can leave.

    The basis is orthonormal, in the inverse-mass metric if ``mass`` is given. ``tolerance`` is an angle.
    """
    normals = numbers("normals", normals, (None, None))
    d = normals.shape[1]
    metric = None if mass is None else _mass("mass", mass, d)[:2]
    tolerance = number("tolerance", tolerance)
    if not 0.0 < tolerance < 1.0:
        raise SolveError(f"tolerance: found {tolerance:g}, needs a number between 0 and 1")
    return Lineality(**_carom.lineality(flat(normals), d, metric, tolerance))


@dataclass(frozen=True, eq=False, repr=False)
class Dynamics(Result):
    """The solution of a dynamics problem; ``status`` is ``"solved"``, ``"inaccurate"`` or ``"failed"``."""

    velocity: np.ndarray
    joint_impulse: np.ndarray
    contact_impulse: np.ndarray
    friction_impulse: np.ndarray
    residual: float
    iterations: int
    status: str
    _native: Any = field(default=None, repr=False)
    _shapes: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def backward(self, velocity_bar: Any) -> dict[str, Any]:
        """Cotangents of every argument from that of the velocity, each in the argument's shape; None where it was None."""
        bar = numbers("velocity_bar", velocity_bar, self.velocity.shape)
        raw = self._native.backward(bar)
        out: dict[str, Any] = {}
        for key, shape in self._shapes.items():
            if key == "mass":
                blocks = [block.reshape(s) for block, s in zip(raw["mass"], shape[1])]
                out["mass"] = blocks if shape[0] == "blocks" else np.stack(blocks) if shape[0] == "stack" else blocks[0]
            elif key == "step":
                out["step"] = raw["step"]
            else:
                out[key] = None if shape is None else raw[key].reshape(shape)
        return out


def dynamics(
    mass: Any, velocity: Any, force: Any, step: float, *, joints: Any = None, contacts: Any = None, tangents: Any = None,
    friction: Any = None, restitution: Any = None, bias: Any = None, tolerance: float = 1e-10,
) -> Dynamics:
    """One solve of the dynamics problem: M v' = M v + h f + Je' le + Jc' lc + Jf' lf with Je v' = 0 and 0 <= lc _|_ Jc v' + c >= 0.

    ``joints`` (e, d), ``contacts`` (m, d), ``tangents`` (m, t, d) the friction directions per contact (t = 2 in the plane: d and -d),
    ``friction`` (m,), ``restitution`` (m,) giving c = k min(0, Jc v); ``bias`` (m,) is c itself and overrides ``restitution``.
    """
    velocity = numbers("velocity", velocity, (None,))
    d = len(velocity)
    force = numbers("force", force, (d,))
    step = number("step", step, least=0.0)
    diagonal, blocks, shapes = _mass("mass", mass, d)
    if diagonal and np.isinf(blocks[0]).any():
        raise SolveError("mass: needs finite numbers")
    kind = "one" if diagonal or len(np.shape(mass) if not isinstance(mass, (list, tuple)) else ()) == 2 else "blocks"
    if isinstance(mass, np.ndarray) and mass.ndim == 3:
        kind = "stack"
    elif isinstance(mass, (list, tuple)) and np.ndim(mass[0]) != 2:
        kind = "one"
    given: dict[str, Any] = {"joints": joints, "contacts": contacts, "tangents": tangents, "friction": friction,
                             "restitution": restitution, "bias": bias}
    if joints is not None:
        given["joints"] = numbers("joints", joints, (None, d))
    m = 0
    if contacts is not None:
        given["contacts"] = numbers("contacts", contacts, (None, d))
        m = len(given["contacts"])
    if tangents is not None:
        given["tangents"] = numbers("tangents", tangents, (m, None, d))
    for key in ("friction", "restitution", "bias"):
        if given[key] is not None:
            given[key] = numbers(key, given[key], (m,))
            if key != "bias" and (given[key] < 0.0).any():
                raise SolveError(f"{key}: needs numbers >= 0")
    if friction is not None and tangents is None:
        raise SolveError("tangents: friction needs its directions (m, t, d)")
    if tangents is not None and friction is None:
        raise SolveError("friction: tangents need their coefficients (m,)")
    raw, native = _carom.dynamics(
        diagonal, blocks, velocity, force, step, flat(given["joints"]), flat(given["contacts"]), flat(given["tangents"]),
        flat(given["friction"]), flat(given["restitution"]), flat(given["bias"]), number("tolerance", tolerance, least=0.0),
    )
    return Dynamics(
        **raw, _native=native,
        _shapes={"mass": (kind, shapes), "velocity": (d,), "force": (d,), "step": (),
                 **{key: None if x is None else x.shape for key, x in given.items()}},
    )


@dataclass(frozen=True, eq=False, repr=False)
class Split(Result):
    """How a body with many constraints is split into welded parts: ``parts`` holds the constraints of each, ``entries`` is n_M."""

    inner_parts: int
    inner_constraints: int
    parts: list[int]
    entries: int


def split(n: int) -> Split:
    """The split of a body with ``n`` constraint rows that makes its factor smallest; ``inner_parts`` is -1 for no split."""
    return Split(*_carom.split(count("n", n, most=2**62)))


class InsertedFactor:
    """A factored symmetric positive definite matrix, into which rows and columns can be inserted without factoring again.

    ``matrix``: (n, n), dense or scipy sparse. The fill-reducing order is chosen inside, or given as ``order``: ``order[k]`` is the row
    eliminated at place k.
    """

    def __init__(self, matrix: Any, *, order: Any = None) -> None:
        if hasattr(matrix, "tocoo"):
            if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
                raise SolveError(f"matrix: found shape {matrix.shape}, needs (n, n)")
            if matrix.nnz and abs(matrix - matrix.T).max() > SYMMETRY * abs(matrix).max():
                raise SolveError("matrix: needs to be symmetric")
            coo = matrix.tocoo()
            rows, columns, values = np.asarray(coo.row), np.asarray(coo.col), numbers("matrix", coo.data, (None,))
        else:
            dense = numbers("matrix", matrix, (None, None))
            if dense.shape[0] != dense.shape[1]:
                raise SolveError(f"matrix: found shape {dense.shape}, needs (n, n)")
            if dense.size and np.abs(dense - dense.T).max() > SYMMETRY * np.abs(dense).max():
                raise SolveError("matrix: needs to be symmetric")
            rows, columns = np.nonzero(dense)
            values = dense[rows, columns]
        self._size = int(matrix.shape[0] if hasattr(matrix, "tocoo") else dense.shape[0])
        lower = rows >= columns
        if order is not None:
            found = numbers("order", order, (self._size,))
            if sorted(found.tolist()) != list(range(self._size)):
                raise SolveError(f"order: needs every number from 0 to {self._size - 1} once")
            order = [int(k) for k in found]
        try:
            self._native = _carom.InsertedFactor(
                self._size, rows[lower].tolist(), columns[lower].tolist(), np.ascontiguousarray(values[lower], dtype=np.float64), order
            )
        except SolveError as error:
            message = str(error)
            raise SolveError(message if message.startswith("matrix") else f"matrix: {message}") from None

    @property
    def order(self) -> np.ndarray:
        """The order of elimination (n,)."""
        return np.array(self._native.order, dtype=np.int64)

    def solve(self, b: Any) -> np.ndarray:
        """Solves A x = b."""
        return self._native.solve(numbers("b", b, (self._size,)))

    def insert(self, columns: Any, rows: Any, corner: Any) -> Inserted:
        """Inserts a columns and rows: ``columns`` (n, a) is A12, ``rows`` (n, a) is A21 (its transpose is the new row block), ``corner`` is A22."""
        corner = numbers("corner", corner, (None, None))
        a = len(corner)
        if corner.shape != (a, a):
            raise SolveError(f"corner: found shape {corner.shape}, needs (a, a)")
        columns, rows = numbers("columns", columns, (self._size, a)), numbers("rows", rows, (self._size, a))
        try:
            native = self._native.insert(flat(columns), flat(rows), flat(corner))
        except SolveError as error:
            raise SolveError(f"corner: {error}") from None
        return Inserted(native, self._size, a)

    def __repr__(self) -> str:
        return f"InsertedFactor(n={self._size})"


class Inserted:
    """A factored matrix with inserted rows and columns, from :meth:`InsertedFactor.insert`."""

    def __init__(self, native: Any, size: int, inserted: int) -> None:
        self._native, self._size, self._inserted = native, size, inserted

    def solve(self, b1: Any, b2: Any) -> tuple[np.ndarray, np.ndarray]:
        """Solves [[A, A12], [A21', A22]] (x1, x2) = (b1, b2) without factoring."""
        x1, x2, _ = self._native.solve(numbers("b1", b1, (self._size,)), numbers("b2", b2, (self._inserted,)))
        return x1, x2

    def __repr__(self) -> str:
        return f"Inserted(n={self._size}, inserted={self._inserted})"
