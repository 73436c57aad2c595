"""Many worlds at once."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ._carom import ModelError, SolveError, StepError
from ._check import count as whole
from ._check import flag, flat, numbers, table
from ._cotangents import kept_states
from ._derivatives import Jacobian, Linearised, jacobian, linearise
from .rollout import Gradient, Rollout, at_switches
from .world import Parameters, World, rows_of_all

__all__ = ["Batch"]

MOST_WORLDS = 2**24
"""Worlds of a batch: more do not fit a machine."""

MOST_THREADS = 2**12
"""Threads of a batch."""


class Batch:
    """Copies of a world, advanced on all cores (or ``threads``), with the same bits as one by one.

    ``q``, ``v`` and ``params`` have the axis of worlds first; what is assigned without it goes to all worlds.
    """

    __slots__ = ("__weakref__", "_count", "_last", "_names", "_native", "_sizes", "_threads")

    def __init__(self, world: World, count: int, *, threads: int | None = None) -> None:
        if not isinstance(world, World):
            raise ModelError(f"world: needs a carom.World, found {type(world).__name__}")
        self._count = whole("count", count, error=ModelError, least=1, most=MOST_WORLDS)
        if threads is not None:
            threads = whole("threads", threads, error=ModelError, least=1, most=MOST_THREADS)
        self._native, self._threads = world._native.copies(self._count, threads), threads
        self._sizes, self._names = world._sizes, world._names
        self._last: Rollout | None = None

    def __len__(self) -> int:
        return self._count

    def copy(self) -> Batch:
        """The same worlds once more; their last rollout, which never changes, is shared."""
        other = object.__new__(Batch)
        other._native, other._last, other._threads = self._native.copy(), self._last, self._threads
        other._count, other._sizes, other._names = self._count, self._sizes, self._names
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Batch:
        return self.copy()

    def __reduce__(self) -> tuple:
        return _joined, ([self[i] for i in range(self._count)], self._threads)

    def __getitem__(self, index: int) -> World:
        """A copy of one world."""
        try:
            place = range(self._count)[operator.index(index)]
        except (IndexError, TypeError):
            raise IndexError(f"index: found {index!r}, needs a whole number below {self._count}") from None
        return World._of(self._native.pick(place))

    def _set(self, name: str, value: Any, width: int) -> np.ndarray:
        return rows_of_all(self._native, name, value, (self._sizes[0], width), self._count)

    @property
    def q(self) -> np.ndarray:
        """Poses (count, n, 3 or 7)."""
        return self._native.q()

    @q.setter
    def q(self, value: Any) -> None:
        self._native.set_state(self._set("q", value, self._sizes[2]), None)

    @property
    def v(self) -> np.ndarray:
        """Velocities (count, n, 3 or 6)."""
        return self._native.v()

    @v.setter
    def v(self, value: Any) -> None:
        self._native.set_state(None, self._set("v", value, self._sizes[3]))

    @property
    def params(self) -> Parameters:
        """Parameters by name, with the axis of worlds first."""
        return Parameters(self._native, self._count)

    def step(self, n: int = 1, controls: Any = None) -> None:
        """Takes n steps in every world; ``controls`` is (nu,) for all, (count, nu), or (count, n, nu)."""
        n = whole("n", n, error=StepError)
        if controls is None:
            self._native.step(n, 0, None, True)
            return
        nu = self._sizes[1]
        given = numbers("controls", controls, (nu,), (self._count, nu), (self._count, n, nu), error=StepError)
        rows = 0 if nu == 0 else n if given.ndim == 3 else 1
        self._native.step(n, rows, flat(given), given.ndim == 1)

    def reset(self, which: Any = None, *, q: Any = None, v: Any = None) -> None:
        """Every world back to its start, or those that ``which`` names: numbers, or one True or False per world.

        ``q`` (n, 3 or 7), or one per world that goes back, takes the place of the start's poses, ``v`` that of its velocities.
        """
        if which is None and q is None and v is None:
            self._native.reset()
            return
        places = self._places(which)
        bodies, _, coords, dof = self._sizes

        def rows(name: str, value: Any, width: int) -> np.ndarray | None:
            every = (len(places), bodies, width)
            return None if value is None else flat(np.broadcast_to(numbers(name, value, every, every[1:], error=ModelError), every))

        self._native.restart(places, rows("q", q, coords), rows("v", v, dof))

    def _places(self, which: Any) -> list[int]:
        if which is None:
            return list(range(self._count))
        found = np.asarray(which)
        if found.dtype == bool and found.shape == (self._count,):
            return np.flatnonzero(found).tolist()
        if found.ndim == 1 and (found.dtype.kind in "iu" or found.size == 0):
            places = found.astype(np.int64).tolist()
            if all(0 <= place < self._count for place in places) and len(set(places)) == len(places):
                return places
        raise ModelError(f"which: needs different whole numbers below {self._count}, or one True or False per world")

    def hash(self) -> list[str]:
        """16 hex digits of the state's bits of every world."""
        return self._native.hashes()

    def rollout(
        self, steps: Any, controls: Any = None, *, tape: bool = True, checkpoint: int | None = None, every: int = 1, bodies: Any = None
    ) -> Rollout:
        """As :meth:`World.rollout` in every world; ``controls`` is (count, steps, nu), or (steps, nu) for all.

        ``steps``: a number, or one for every world (count,). Arrays are those of the longest; a world that has ended stays at its last state, has no contacts
        there and takes no notice of controls.
        """
        lengths = self._lengths(steps)
        steps = max(lengths)
        nu = self._sizes[1]
        given = None if controls is None else numbers("controls", controls, (self._count, steps, nu), (steps, nu), error=StepError)
        if checkpoint is not None:
            checkpoint = whole("checkpoint", checkpoint, error=StepError, least=1)
        shared = given is None or given.ndim == 2
        kept = kept_states(steps, whole("every", every, error=StepError, least=1), bodies, self._names[0])
        native = self._native.rollout(lengths, flat(given), shared, flag("tape", tape, error=StepError), checkpoint)
        self._last = Rollout(native, steps, self._sizes, self._count, tuple(self._names[0]), kept)
        return self._last

    def _lengths(self, steps: Any) -> list[int]:
        """One number of steps for all, or one for every world."""
        if np.ndim(steps) == 0:
            return [whole("steps", steps, error=StepError)]
        found = np.asarray(steps)
        if found.dtype.kind not in "iu" or found.shape != (self._count,):
            raise StepError(f"steps: needs a whole number, or {self._count} of them, found {steps!r}")
        return [whole("steps", int(x), error=StepError) for x in found]

    def backward(
        self, dq: Any = None, dv: Any = None, *, forces: Any = None, weak: str | None = None, kappa: float | None = None
    ) -> Gradient:
        """The gradient of the last :meth:`rollout`; as :meth:`Rollout.backward` with the axis of worlds first."""
        if self._last is None:
            raise SolveError("backward: there is no rollout yet")
        return self._last.backward(dq, dv, forces=forces, weak=weak, kappa=kappa)

    def jacobian(self, wrt: Iterable[str] = ("q", "v"), *, weak: str | None = None, kappa: float | None = None) -> Jacobian:
        """As :meth:`World.jacobian` in every world: (count, rows, columns) each."""
        return jacobian(self._native, wrt, at_switches(weak, kappa), False)

    def linearise(self, controls: Any = None, *, weak: str | None = None, kappa: float | None = None) -> Linearised:
        """As :meth:`World.linearise` in every world, with their axis first; ``controls`` is (nu,) for all, or (count, nu)."""
        nu = self._sizes[1]
        given = None if controls is None else numbers("controls", controls, (nu,), (self._count, nu), error=StepError)
        if given is not None:
            given = flat(np.broadcast_to(given, (self._count, nu)))
        return linearise(self._native, given, at_switches(weak, kappa), False)

    def __repr__(self) -> str:
        return f"Batch(count={self._count}, bodies={self._sizes[0]}, controls={self._sizes[1]})"

    def _repr_html_(self) -> str:
        return table("Batch", {"worlds": self._count, "bodies": self._sizes[0], "joints": len(self._names[1]), "controls": self._sizes[1]})


def _joined(worlds: list[World], threads: int | None) -> Batch:
    """A batch of these worlds, which come from one."""
    batch = Batch(worlds[0], len(worlds), threads=threads)
    batch._native.put([world._native for world in worlds])
    return batch
