"""A cue ball is played off the cushions so that another ball comes to rest on a spot behind a block."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
from gymnasium import spaces

from .task import Start, Task

__all__ = ["BankShot"]

SPEED = 5.0
"""What a full stroke gives the cue ball [m/s]."""
SPOT = 0.06
"""The ball is on the spot when it is this near [m]."""
PRIZE = 1.0
"""For a ball on the spot."""


class BankShot(Task):
    """Play the cue ball, off a cushion or not, so that the red ball comes to rest on a spot of a table of 2 m by 1 m; a block stands between.

    Action (2,): the velocity of the stroke, -1 to 1 for -5 to 5 m/s along x and y; the balls then run for 3 s and are stopped. Observation
    (6,): places (x, y) of the cue ball, the red ball and the spot [m]. Reward: by how much nearer the red ball came to the spot [m], and 1
    more when it rests on it (within 6 cm). Over then; cut off after 8 strokes.
    """

    scene = """
dimension = 2
name = "bank_shot"
gravity = [0, 0]
step = 0.01

[materials.cushion]
restitution = 0.9
friction = 0.1

[[body]]
name = "cushions"
kind = "static"
shape = [
  { box = [2.2, 0.1], at = [0, 0.55] },
  { box = [2.2, 0.1], at = [0, -0.55] },
  { box = [0.1, 1.0], at = [1.05, 0] },
  { box = [0.1, 1.0], at = [-1.05, 0] },
]
material = "cushion"
color = "#6b4f3a"

[[body]]
name = "block"
kind = "static"
shape = { box = [0.08, 0.3] }
material = "cushion"
color = "#6b4f3a"

[[body]]
name = "cue"
shape = { ball = 0.03 }
mass = 0.17
position = [-0.7, 0]
damping = 1.2
spin_damping = 1.2
material = "cushion"
color = "#e8e6df"

[[body]]
name = "red"
shape = { ball = 0.03 }
mass = 0.17
position = [0.4, 0]
damping = 1.2
spin_damping = 1.2
material = "cushion"
color = "#e15759"
"""
    steps = 300
    horizon = 8
    goal = 2
    observations = ("cue x", "cue y", "red x", "red y", "spot x", "spot y")

    def actions(self) -> spaces.Box:
        return spaces.Box(-1.0, 1.0, (2,), dtype=np.float64)

    def controls(self, action: np.ndarray) -> None:
        return None

    def start(self, rng: np.random.Generator) -> Start:
        q = self.world.q.copy()
        q[self.index["cue"], :2] = rng.uniform([-0.9, -0.4], [-0.5, 0.4])
        q[self.index["red"], :2] = rng.uniform([0.2, -0.1], [0.5, 0.1])
        return Start(q, self.world.v, rng.uniform([0.6, -0.4], [0.9, 0.4]))

    def strike(self, q: np.ndarray, v: np.ndarray, action: np.ndarray) -> np.ndarray:
        struck = np.zeros(v.shape)
        struck[:, self.index["cue"], :2] = SPEED * np.clip(action, -1.0, 1.0)
        return struck

    def observe(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        return np.concatenate([q[:, self.index["cue"], :2], q[:, self.index["red"], :2], goal], axis=1)

    def judge(self, q0: np.ndarray, q: np.ndarray, v: np.ndarray, action: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        red = self.index["red"]
        was, now = (np.linalg.norm(x[:, red, :2] - goal, axis=1) for x in (q0, q))
        over = now < SPOT
        return was - now + PRIZE * over, over

    def view(self, q: np.ndarray) -> Sequence[float]:
        return 0.0, 0.0, 2.3

    def marks(self, goal: np.ndarray) -> list[tuple[Any, str]]:
        return [(goal, "#2e7d32")]
