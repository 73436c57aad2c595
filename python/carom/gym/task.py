"""What an environment is apart from its stepping: a scene, its starts, what is seen, what is paid. Written once for one world and for many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Sequence

import numpy as np
from gymnasium import spaces

from ..world import World

__all__ = ["Start", "Task"]


@dataclass(frozen=True)
class Start:
    """Where an episode begins: poses, velocities, and numbers that stay for the episode (a target)."""

    q: np.ndarray
    v: np.ndarray
    goal: np.ndarray = field(default_factory=lambda: np.zeros(0))


class Task:
    """A scene as a task. Arrays have the axis of worlds first, so that one text serves one world and a batch.

    A subclass sets the scene and the numbers below and writes :meth:`start`, :meth:`observe` and :meth:`judge`; :meth:`view` and
    :meth:`marks` if it is drawn. ``self.world`` is the scene at its start, ``self.index`` the number of a body by its name.
    """

    scene: str = ""
    """The scene as text."""
    steps: int = 1
    """Steps of the engine per action."""
    horizon: int = 1000
    """Actions after which an episode is cut off."""
    strength: Sequence[float] = ()
    """What an action of 1 is, per control [N or N m]."""
    goal: int = 0
    """Numbers that stay for an episode."""
    observations: Sequence[str] = ()
    """What is seen, by name."""

    def __init__(self) -> None:
        self.world = self.build()
        self.index = {name: i for i, name in enumerate(self.world.bodies)}
        bound = np.full(len(self.observations), np.inf)
        self.observation_space = spaces.Box(-bound, bound, dtype=np.float64)
        self.action_space = self.actions()

    def build(self) -> World:
        """The world at its start."""
        return World.from_toml(self.scene)

    def actions(self) -> spaces.Box:
        """One number from -1 to 1 per control."""
        return spaces.Box(-1.0, 1.0, (len(self.strength),), dtype=np.float64)

    @property
    def frame(self) -> float:
        """Time between actions [s]."""
        return self.steps * self.world.step_size

    def start(self, rng: np.random.Generator) -> Start:
        """A random start."""
        raise NotImplementedError

    def strike(self, q: np.ndarray, v: np.ndarray, action: np.ndarray) -> np.ndarray | None:
        """Velocities (worlds, n, 3) that an action sets outright, or None."""
        return None

    def controls(self, action: np.ndarray) -> np.ndarray | None:
        """Controls (worlds, nu) of actions (worlds, a)."""
        return np.clip(action, -1.0, 1.0) * np.asarray(self.strength)

    def observe(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """What is seen (worlds, len(observations))."""
        raise NotImplementedError

    def judge(self, q0: np.ndarray, q: np.ndarray, v: np.ndarray, action: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Reward and whether the episode is over (worlds,) of a move from poses q0 to q."""
        raise NotImplementedError

    def view(self, q: np.ndarray) -> Sequence[float] | None:
        """Centre and width of what a picture of poses (n, 3 or 7) shows [m]; None shows all bodies."""
        return None

    def marks(self, goal: np.ndarray) -> list[tuple[Any, str]]:
        """Points of a picture, with their colour."""
        return []
