"""Whole derivatives of steps: by bodies and parameters, and in joint coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _carom
from ._carom import ModelError, Rollouts, SolveError, Worlds
from ._check import table

__all__ = ["Jacobian", "Linearised"]


def _flags(flags: Any, one: bool) -> Any:
    said = [dict(step) for step in flags]
    return said[0] if one else said


class Jacobian(dict):
    """Dense Jacobians by name; ``weak`` says in words what they are at contacts that stand at a switch, ``flags`` what was counted.

    Of a batch, and of a rollout, ``flags`` is a list with what was counted in each step, worlds one after the other.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], weak: str, flags: Any) -> None:
        super().__init__(arrays)
        self.weak, self.flags = weak, flags

    def _repr_html_(self) -> str:
        return table("Jacobian", {"at switches": self.weak, **self})

    def __repr__(self) -> str:
        return f"Jacobian({self.weak}: {', '.join(f'{name}{value.shape}' for name, value in self.items())})"


class Linearised(tuple):
    """(A, B) of x' = A x + B u: the changes of the joint coordinates after a step, then of their rates, by those before it and by the controls.

    ``weak`` and ``flags`` as in :class:`Jacobian`.
    """

    weak: str
    flags: Any

    def __new__(cls, A: np.ndarray, B: np.ndarray, weak: str, flags: Any) -> Linearised:
        made = super().__new__(cls, (A, B))
        made.weak, made.flags = weak, flags
        return made

    def __getnewargs__(self) -> tuple:
        return (*self, self.weak, self.flags)

    @property
    def A(self) -> np.ndarray:
        """By the state before (2 nc, 2 nc)."""
        return self[0]

    @property
    def B(self) -> np.ndarray:
        """By the controls (2 nc, nu)."""
        return self[1]

    def __repr__(self) -> str:
        return f"Linearised({self.weak}: A{self.A.shape}, B{self.B.shape})"


def asked(wrt: Any) -> list[str]:
    """Names of what is differentiated by, checked as far as they are names."""
    names = [wrt] if isinstance(wrt, str) else wrt
    try:
        names = list(names)
    except TypeError as cause:
        raise ModelError(f"wrt: needs names, found {wrt!r}") from cause
    if not all(isinstance(name, str) for name in names):
        raise ModelError(f"wrt: needs names, found {wrt!r}")
    return names


def _named(call: Any, native: Any, wrt: Iterable[str], side: tuple[str | None, float | None]) -> tuple:
    try:
        return call(native, asked(wrt), *side)
    except ModelError as error:
        raise ModelError(str(error) if str(error).startswith("wrt:") else f"wrt: {error}") from None


def jacobian(native: Worlds, wrt: Iterable[str], side: tuple[str | None, float | None], one: bool) -> Jacobian:
    """One-step Jacobians of one world, or of all with their axis first."""
    arrays, label, flags = _named(_carom.jacobian, native, wrt, side)
    return Jacobian({name: x[0] if one else x for name, x in arrays.items()}, label, _flags(flags, one))


def linearise(native: Worlds, controls: np.ndarray | None, side: tuple[str | None, float | None], one: bool) -> Linearised:
    """A step of one world in joint coordinates, or of all with their axis first."""
    A, B, label, flags = _carom.linearise(native, controls, *side)
    return Linearised(A[0], B[0], label, _flags(flags, True)) if one else Linearised(A, B, label, _flags(flags, False))


def along(native: Any, wrt: Iterable[str], side: tuple[str | None, float | None], one: bool) -> Jacobian:
    """Jacobians of every step of a rollout, or of all with the axis of worlds first."""
    arrays, label, flags = _named(_carom.rollout_jacobians, _taped(native, "jacobians"), wrt, side)
    return Jacobian({name: x[0] if one else x for name, x in arrays.items()}, label, _flags(flags, False))


def linearise_along(native: Any, side: tuple[str | None, float | None], one: bool) -> Linearised:
    """Every step of a rollout in joint coordinates, or of all with the axis of worlds first."""
    A, B, label, flags = _carom.rollout_linearise(_taped(native, "linearise"), *side)
    return Linearised(A[0] if one else A, B[0] if one else B, label, _flags(flags, False))


def _taped(native: Any, name: str) -> Rollouts:
    if not isinstance(native, Rollouts):
        raise SolveError(f"{name}: a rollout that was pickled has its arrays alone, no tape; ask before it is pickled")
    return native
