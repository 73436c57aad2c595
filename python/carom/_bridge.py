"""What ``carom.torch`` and ``carom.jax`` share: numpy in and numpy out, with any number of leading axes of worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy as np

from ._carom import ModelError
from ._check import describe
from .batch import Batch
from .rollout import Rollout, from_tangent
from .world import World

__all__ = ["Rolled", "check_params", "check_shapes", "check_world", "roll", "shapes"]

STATE = ("q0", "v0", "controls")
"""Arguments that come before the parameters."""


def shapes(world: World, steps: int, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Shapes of the arguments of one world, by name."""
    bodies, nu, coords, dof = world._sizes
    state = dict(zip(STATE, ((bodies, coords), (bodies, dof), (steps, nu))))
    return {**state, **{f"params.{name}": world.params[name].shape for name in names}}


@dataclass(frozen=True)
class Rolled:
    """A rollout of one world or of a batch, the poses it was given, with the axis of worlds first, and the choice at switches."""

    run: Rollout
    lead: tuple[int, ...]
    q0: np.ndarray | None
    side: tuple[str | None, float | None]

    def states(self) -> tuple[np.ndarray, np.ndarray]:
        """Poses and velocities with the leading axes first."""
        q, v = self.run.q, self.run.v
        return (q.reshape(self.lead + q.shape[1:]), v.reshape(self.lead + v.shape[1:])) if self.lead else (q, v)

    def pull(self, index: np.ndarray, dq: np.ndarray, dv: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Cotangents of the named arguments, with the axes of ``index`` first.

        ``index`` says for every cotangent which world it belongs to; ``dq`` and ``dv`` have its axes first.
        """
        alone = not self.lead and index.ndim == 0
        places = index.ravel().tolist()
        weak, kappa = self.side
        if alone:
            gradient = self.run.backward(dq, dv, weak=weak, kappa=kappa)
        else:
            dq, dv = (x.reshape(-1, *x.shape[index.ndim:]) for x in (dq, dv))
            gradient = self._at(places).backward(dq, dv, weak=weak, kappa=kappa)
        found = {}
        for name in names:
            slope = np.asarray(getattr(gradient, name) if name in STATE else gradient[name.removeprefix("params.")])
            if name == "q0" and self.q0 is not None and self.q0.shape[-1] != slope.shape[-1]:
                slope = from_tangent(self.q0[0] if alone else self.q0[places], slope)
            found[name] = slope if alone else slope.reshape(index.shape + slope.shape[1:])
        return found

    def _at(self, places: list[int]) -> Rollout:
        """The runs of these worlds as a batch."""
        run = self.run
        if run._batch == len(places) and places == list(range(len(places))):
            return run
        return Rollout(run._native.take(places), run._steps, run._sizes, len(places), run._bodies)


def roll(
    world: World, steps: int, given: Mapping[str, np.ndarray], lead: tuple[int, ...], tape: bool, side: tuple[str | None, float | None]
) -> Rolled:
    """A rollout of copies of the world, one for each place of the leading axes, with another start and other parameters.

    ``given`` holds arrays whose leading axes broadcast to ``lead``; what it does not name stays as it is. Without leading axes there is one
    world, else a batch.
    """
    count = math.prod(lead)
    copies: Any = Batch(world, count) if lead else world.copy()

    def spread(value: np.ndarray) -> np.ndarray:
        tail = value.shape[len(lead):]
        return np.broadcast_to(value, lead + tail).reshape(count, *tail) if lead else value

    for name, value in given.items():
        if name.startswith("params."):
            copies.params[name.removeprefix("params.")] = spread(value)
    for key, name in (("q0", "q"), ("v0", "v")):
        if key in given:
            setattr(copies, name, spread(given[key]))
    controls = given.get("controls")
    run = copies.rollout(steps, None if controls is None else spread(controls), tape=tape)
    q0 = given.get("q0")
    return Rolled(run, lead, None if q0 is None else spread(q0).reshape(count, *q0.shape[-2:]), side)


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


def check_shapes(given: Mapping[str, Any], wanted: Mapping[str, tuple[int, ...]]) -> None:
    """Arrays or tensors of the shapes of one world."""
    for name, value in given.items():
        if tuple(value.shape) != wanted[name]:
            said = f'params["{name.removeprefix("params.")}"]' if name.startswith("params.") else name
            raise ModelError(f"{said}: found shape {describe(tuple(value.shape))}, needs {describe(wanted[name])}")
