"""Rigid-body dynamics in the plane and in space: hard contact, dry friction, impacts that provably end, exact gradients.

>>> import carom
>>> world = carom.World.scene("ball_drop")
>>> run = world.rollout(200)
>>> gradient = run.backward(dq=...)          # gradient.q0, gradient.v0, gradient.controls, gradient["mass"], ...
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from . import kernels
from ._carom import Error, ModelError, SceneError, SolveError, StepError, __version__
from ._carom import forked as _forked
from ._carom import scenes as _scenes
from ._senses import Event, Hit
from ._fit import Fit, fit
from ._words import Reach, lqr
from .batch import Batch
from .body import Body, Joint, Point
from .replay import Replay
from .rollout import Gradient, Rollout
from .scene import Scene
from .world import Contact, Ledger, Parameters, Shape, World

__all__ = ["Batch", "Body", "Contact", "Error", "Event", "Fit", "Gradient", "Hit", "Joint", "Ledger", "ModelError", "Optimised", "Parameters", "Point", "Reach", "Replay", "Rollout", "Scene", "SceneError",
           "Shape", "SolveError", "StepError", "Sweep", "World", "__version__", "fit", "gym", "jax", "kernels", "lqr", "optimise", "picture", "rerun", "scenes", "sweep", "torch"]

if TYPE_CHECKING:
    from . import gym, jax, picture, rerun, torch
    from .plans import Optimised, optimise
    from .sweeps import Sweep, sweep

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)  # threads do not follow into the child of a fork: it gets its own

_MODULES = ("gym", "jax", "picture", "rerun", "torch")
_LATE = {"Sweep": ".sweeps", "sweep": ".sweeps", "Optimised": ".plans", "optimise": ".plans"}


def scenes() -> list[str]:
    """Names of the embedded classics, for :meth:`World.scene`."""
    return _scenes()


def __getattr__(name: str) -> Any:
    """``carom.gym``, ``carom.jax``, ``carom.picture``, ``carom.rerun``, ``carom.torch`` the sweeps and the search for controls on first use: ``import carom`` stays light."""
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _LATE:
        return getattr(importlib.import_module(_LATE[name], __name__), name)
    raise AttributeError(f"module 'carom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
