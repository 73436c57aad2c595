"""The contact problem on arrays; public as ``carom.kernels.contact``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

from . import _carom
from ._carom import SolveError
from ._check import Result, describe, flat, number, numbers


@dataclass(frozen=True, eq=False, repr=False)
class ContactSolution(Result):
    """The solution of a contact problem: w = W l + u with Coulomb's law at every contact.

    ``residual`` is the largest miss of the law over the largest abs(free); ``status`` is ``"solved"`` where that is within the tolerance,
    ``"inaccurate"`` below 1e-3, else ``"failed"``. ``method`` found the impulses; ``iterations`` are all factorisations and sweeps made.
    """

    impulses: np.ndarray
    velocity: np.ndarray
    residual: float
    status: str
    method: str
    iterations: int
    factorisations: int
    _native: Any = field(default=None, repr=False)
    _restore: Callable[[np.ndarray], Any] = field(default=lambda values: values, repr=False)

    def backward(self, impulses_bar: Any) -> dict[str, Any]:
        """Cotangents of ``matrix`` (in its own storage and pattern), ``free`` and ``friction`` from that of the impulses.

        That of the matrix is symmetric: its product with a symmetric change is the change of the loss. Where contacts are redundant only the
        velocity has a derivative, and impulses have that of their shortest change; what ``impulses_bar`` asks beyond it is left out.
        """
        raw = self._native.backward(numbers("impulses_bar", impulses_bar, self.impulses.shape, finite=False))
        return {**raw, "matrix": self._restore(raw["matrix"])}


def contact(matrix: Any, free: Any, friction: Any, *, tolerance: float = 1e-8, warm: Any = None) -> ContactSolution:
    """One solve of the contact problem: impulses l and velocities w = W l + u that obey Coulomb's law at every contact.

    ``matrix`` W (n, n): dense or scipy CSR, symmetric positive semidefinite. ``free`` u (n,). ``friction`` (nc,), with n = 2 nc in the plane or
    3 nc in space, the normal row of each contact first: 0 <= l_n, w_n >= 0, l_n w_n = 0, abs(l_t) <= mu l_n, and against the slip where that is an
    equality. ``tolerance`` is the miss of the law, over the largest abs(free), at which the solve may stop; ``warm`` (n,) are impulses to start from.
    """
    free = numbers("free", free, (None,), finite=False)
    friction = numbers("friction", friction, (None,), finite=False)
    n = len(free)
    pattern = None
    if hasattr(matrix, "tocsr"):
        if getattr(matrix, "format", None) != "csr":
            raise SolveError(f"matrix: found sparse format {getattr(matrix, 'format', None)!r}, needs a dense array or 'csr' (matrix.tocsr())")
        shape = tuple(matrix.shape)
        values = numbers("matrix", matrix.data, (None,), finite=False)
        pattern = (_whole("matrix.indptr", matrix.indptr), _whole("matrix.indices", matrix.indices))
        kind, indptr, indices = type(matrix), np.array(matrix.indptr), np.array(matrix.indices)

        def restore(bar: np.ndarray) -> Any:
            return kind((bar, indices.copy(), indptr.copy()), shape=shape)
    else:
        values = numbers("matrix", matrix, (None, None), finite=False)
        shape = values.shape

        def restore(bar: np.ndarray) -> Any:
            return bar.reshape(shape)
    if shape != (n, n):
        raise SolveError(f"matrix: found shape {describe(shape)}, needs {describe((n, n))} as free has {n} rows")
    if warm is not None:
        warm = numbers("warm", warm, (n,), finite=False)
    raw, native = _carom.contact(flat(values), pattern, free, friction, number("tolerance", tolerance), warm)
    return ContactSolution(**raw, _native=native, _restore=restore)


def _whole(name: str, value: Any) -> np.ndarray:
    """Places in a matrix."""
    found = np.asarray(value)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise SolveError(f"{name}: needs whole numbers in one row")
    return np.ascontiguousarray(found, dtype=np.int64)
