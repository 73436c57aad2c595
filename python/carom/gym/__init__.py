"""Gymnasium environments, registered on import: ``carom.gym.make("carom/Throw-v0")``, or ``gymnasium.make`` after ``import carom.gym``.

>>> envs = carom.gym.make_vec("carom/Hopper-v0", num_envs=64)        # one batch on all cores, same bits as one by one
"""

from __future__ import annotations

from typing import Any

try:
    import gymnasium
except ImportError as cause:
    raise ImportError("carom.gym: needs gymnasium (pip install gymnasium)") from cause

from .bank_shot import BankShot
from .cart_pole import CartPole
from .environment import Environment, VectorEnvironment
from .hopper import Hopper
from .strandbeest import Strandbeest
from .task import Start, Task
from .throw import Throw

__all__ = ["BankShot", "CartPole", "Environment", "Hopper", "Start", "Strandbeest", "TASKS", "Task", "Throw", "VectorEnvironment", "make",
           "make_vec"]

TASKS: dict[str, type[Task]] = {
    "carom/BankShot-v0": BankShot,
    "carom/CartPole-v0": CartPole,
    "carom/Hopper-v0": Hopper,
    "carom/Strandbeest-v0": Strandbeest,
    "carom/Throw-v0": Throw,
}
"""The tasks by the names under which they are registered."""

for _name, _task in TASKS.items():
    gymnasium.register(
        id=_name,
        entry_point="carom.gym.environment:Environment",
        vector_entry_point="carom.gym.environment:VectorEnvironment",
        max_episode_steps=_task.horizon,
        kwargs={"task": _name},  # by name, so that the specification can be written as JSON
    )


def make(name: str, **options: Any) -> gymnasium.Env:
    """An environment by name, as ``gymnasium.make``; options are ``render_mode``, ``width``, ``height`` and those of Gymnasium."""
    return gymnasium.make(name, **options)


def make_vec(name: str, num_envs: int = 1, **options: Any) -> gymnasium.vector.VectorEnv:
    """Many environments as one batch, as ``gymnasium.make_vec`` with ``vectorization_mode="vector_entry_point"``; ``threads`` as for a Batch."""
    return gymnasium.make_vec(name, num_envs=num_envs, **{"vectorization_mode": "vector_entry_point", **options})
