"""What ``carom.torch`` and ``carom.jax`` share: numpy in and numpy out."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from ._carom import ModelError
from .rollout import Rollout, from_tangent
from .world import World

__all__ = ["pull", "roll"]


def roll(world: World, steps: int, q0: Any, v0: Any, controls: Any, params: Mapping[str, Any], tape: bool) -> Rollout:
    """A rollout of a copy of the world with another start and other parameters; None leaves what is there."""
    world = world.copy()
    for name, value in params.items():
        world.params[name] = value
    if q0 is not None:
        world.q = q0
    if v0 is not None:
        world.v = v0
    return world.rollout(steps, controls, tape=tape)


def pull(
    run: Rollout, q0: np.ndarray | None, dq: np.ndarray, dv: np.ndarray, names: tuple[str, ...], side: tuple[str | None, float | None]
) -> tuple:
    """Cotangents of q0 (in the shape of q), v0, controls and the named parameters."""
    gradient = run.backward(dq, dv, weak=side[0], kappa=side[1])
    start = gradient.q0
    if q0 is not None and q0.shape[-1] != start.shape[-1]:
        start = from_tangent(q0, start)
    return start, gradient.v0, gradient.controls, *(gradient[name] for name in names)


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
