"""What ``carom.torch`` and ``carom.jax`` share: numpy in and numpy out, with any number of leading axes of worlds."""

from __future__ import annotations

import math
from typing import Any, Mapping, Sequence

import numpy as np

from . import _carom
from ._carom import ModelError, SolveError
from ._check import describe, flat, loss_text
from .batch import Batch
from .rollout import Gradient, Rollout, from_tangent
from .world import World

__all__ = ["Rolled", "called", "check_params", "check_shapes", "check_states", "check_world", "loss_slopes", "roll", "roll_one", "shapes"]

STATE = ("q0", "v0", "controls")
"""Arguments that come before the parameters."""


def shapes(world: World, steps: int, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Shapes of the arguments of one world, by name."""
    bodies, nu, coords, dof = world._sizes
    state = dict(zip(STATE, ((bodies, coords), (bodies, dof), (steps, nu))))
    return {**state, **{f"params.{name}": world.params[name].shape for name in names}}


class Rolled:
    """A rollout of one world or of a batch, the poses it was given, with the axis of worlds first, the choice at switches, and whose contact forces are asked."""

    __slots__ = ("lead", "pairs", "q0", "run", "side")

    def __init__(
        self, run: Rollout, lead: tuple[int, ...], q0: np.ndarray | None, side: tuple[str | None, float | None], pairs: Sequence[Any]
    ) -> None:
        self.run, self.lead, self.q0, self.side, self.pairs = run, lead, q0, side, list(pairs)

    def states(self) -> tuple[np.ndarray, ...]:
        """Poses, velocities and the forces that are asked with the leading axes first, for the caller to keep."""
        felt = [self.run._native.forces(self.pairs)] if self.pairs else []
        if not self.lead:
            q, v = self.run._native.states()
            return q, v, *(x[0] for x in felt)
        return tuple(x.reshape(self.lead + x.shape[1:]) for x in (np.array(self.run.q), np.array(self.run.v), *felt))

    def pull_one(
        self, dq: np.ndarray | None, dv: np.ndarray | None, names: Sequence[str], df: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """Cotangents of the named arguments of one world, from those of all its states and of its forces; None is zero."""
        felt = None if df is None else (self.pairs, df)
        gradient = self.run._pull(dq, dv, self.side, parameters=any(name not in STATE for name in names), felt=felt)
        q0 = None if self.q0 is None else self.q0[0]
        return {name: self._slope(gradient, name, q0) for name in names}

    def pull(self, index: np.ndarray, bars: Sequence[np.ndarray], names: Sequence[str]) -> dict[str, np.ndarray]:
        """Cotangents of the named arguments, with the axes of ``index`` first.

        ``index`` says for every cotangent which world it belongs to; ``bars`` are those of what :meth:`states` hands out, with its axes first.
        """
        if not self.lead and index.ndim == 0:
            return self.pull_one(bars[0], bars[1], names, *bars[2:])
        places = index.ravel().tolist()
        dq, dv, *df = (x.reshape(-1, *x.shape[index.ndim:]) for x in bars)
        felt = (self.pairs, df[0]) if df else None
        gradient = self._at(places)._pull(dq, dv, self.side, parameters=any(name not in STATE for name in names), felt=felt)
        slopes = {name: self._slope(gradient, name, None if self.q0 is None else self.q0[places]) for name in names}
        return {name: slope.reshape(index.shape + slope.shape[1:]) for name, slope in slopes.items()}

    @staticmethod
    def _slope(gradient: Gradient, name: str, q0: np.ndarray | None) -> np.ndarray:
        """The gradient with respect to an argument in the shape of that argument, at the poses of the start."""
        slope = getattr(gradient, name) if name in STATE else gradient[name.removeprefix("params.")]
        return from_tangent(q0, slope) if name == "q0" and q0 is not None and q0.shape[-1] != slope.shape[-1] else slope

    def _at(self, places: list[int]) -> Rollout:
        """The runs of these worlds as a batch."""
        run = self.run
        if run._batch == len(places) and places == list(range(len(places))):
            return run
        return Rollout(run._native.take(places), run._steps, run._sizes, len(places), run._bodies)


def roll(
    world: World, steps: int, given: Mapping[str, np.ndarray], lead: tuple[int, ...], tape: bool, side: tuple[str | None, float | None],
    pairs: Sequence[Any] = (),
) -> Rolled:
    """A rollout of copies of the world, one for each place of the leading axes, with another start and other parameters.

    ``given`` holds arrays whose leading axes broadcast to ``lead``; what it does not name stays as it is. Without leading axes there is one
    world, else a batch.
    """
    if not lead:
        return roll_one(world, steps, given, tape, side, pairs)
    q0, v0, controls = (given.get(name) for name in STATE)
    params = {name.removeprefix("params."): value for name, value in given.items() if name not in STATE}
    count = math.prod(lead)
    copies = Batch(world, count)

    def spread(value: np.ndarray) -> np.ndarray:
        tail = value.shape[len(lead):]
        return np.broadcast_to(value, lead + tail).reshape(count, *tail)

    for name, value in params.items():
        copies.params[name] = spread(value)
    for name, start in (("q", q0), ("v", v0)):
        if start is not None:
            setattr(copies, name, spread(start))
    run = copies.rollout(steps, None if controls is None else spread(controls), tape=tape or bool(pairs))
    return Rolled(run, lead, None if q0 is None else spread(q0), side, pairs)


def roll_one(
    world: World, steps: int, given: Mapping[str, np.ndarray], tape: bool, side: tuple[str | None, float | None],
    pairs: Sequence[Any] = (),
) -> Rolled:
    """A rollout of one world with another start and other parameters."""
    held = world
    for name, value in given.items():
        if name not in STATE:
            held = world.copy() if held is world else held
            held.params[name.removeprefix("params.")] = value
    q0 = given.get("q0")
    try:
        run = held._rollout(steps, given.get("controls"), tape or bool(pairs), None, q0, given.get("v0"))
    except ModelError as error:
        said = str(error)  # of the state, which is called q and v by the engine
        raise ModelError(f"{said[0]}0{said[1:]}" if said[:2] in ("q,", "v,") else said) from None
    return Rolled(run, (), None if q0 is None else q0[np.newaxis], side, pairs)


def check_world(world: Any) -> None:
    """The first argument of both modules."""
    if not isinstance(world, World):
        raise ModelError(f"world: needs a carom.World, found {type(world).__name__}")


def check_params(params: Any) -> dict[str, Any]:
    """Parameters by name."""
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise ModelError(f"params: needs a mapping of names to arrays, found {type(params).__name__}")
    return dict(params)


def called(name: str) -> str:
    """An argument as the caller writes it."""
    return f'params["{name.removeprefix("params.")}"]' if name.startswith("params.") else name


def check_shapes(given: Mapping[str, Any], wanted: Mapping[str, tuple[int, ...]]) -> None:
    """Arrays or tensors of the shapes of one world."""
    for name, value in given.items():
        if tuple(value.shape) != wanted[name]:
            raise ModelError(f"{called(name)}: found shape {describe(tuple(value.shape))}, needs {describe(wanted[name])}")


def check_states(world: World, q: Any, v: Any) -> tuple[Any, Any]:
    """Poses and velocities of states (count, n, ...) of a world, or of one state."""
    bodies, _, coords, dof = world._sizes
    for name, x, width in (("q", q, coords), ("v", v, dof)):
        if tuple(x.shape[-2:]) != (bodies, width) or x.ndim > 3 or x.ndim != v.ndim or x.ndim == 3 and len(x) != len(v):
            raise ModelError(f"{name}: found shape {describe(x.shape)}, needs {describe((None, bodies, width))}, as many states as the other")
    return q, v


def loss_slopes(world: World, text: str, q: np.ndarray, v: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """A loss as text on states, and its slopes with respect to q and v in their own shapes."""
    loss_text(text)
    if _carom.loss_pairs(world._native, text):
        raise SolveError("loss: forces of contacts belong to a run, not to its states; ask rollout(..., forces=[...]) for them and write the loss on what it returns")
    value, (dq, dv, _, _) = _carom.loss_slope(world._native, text, flat(q), flat(v), None)
    dq, dv = dq.reshape(v.shape), dv.reshape(v.shape)
    return value, dq if q.shape == v.shape else from_tangent(q, dq), dv
