"""Rigid-body dynamics in the plane and in space: hard contact, dry friction, impacts that provably end, exact gradients.

>>> import carom
>>> world = carom.World.scene("ball_drop")
>>> run = world.rollout(200)
>>> gradient = run.backward(dq=...)          # gradient.q0, gradient.v0, gradient.controls, gradient["mass"], ...
"""

from __future__ import annotations

import importlib
from typing import Any

from . import kernels
from ._carom import Error, ModelError, SceneError, SolveError, StepError, __version__
from ._carom import scenes as _scenes
from .batch import Batch
from .replay import Replay
from .rollout import Gradient, Rollout
from .sweeps import Sweep, sweep
from .world import Contact, Ledger, Parameters, Shape, World

__all__ = ["Batch", "Contact", "Error", "Gradient", "Ledger", "ModelError", "Parameters", "Replay", "Rollout", "SceneError", "Shape",
           "SolveError", "StepError", "Sweep", "World", "__version__", "gym", "jax", "kernels", "picture", "scenes", "sweep", "torch"]

_FRAMEWORKS = ("gym", "jax", "picture", "torch")


def scenes() -> list[str]:
    """Names of the embedded classics, for :meth:`World.scene`."""
    return _scenes()


def __getattr__(name: str) -> Any:
    """``carom.gym``, ``carom.jax``, ``carom.picture`` and ``carom.torch`` on first use."""
    if name in _FRAMEWORKS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'carom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
