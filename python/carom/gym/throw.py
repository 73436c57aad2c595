"""An arm throws a ball that lies in its cup at a mark on the ground."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from .task import Start, Task

__all__ = ["Throw"]

NEAREST, FARTHEST = 1.5, 4.0
"""Where the mark may lie [m]."""
LANDED = 5e-3
"""The ball has landed when it is this near to the ground [m]; ball and ground do not bounce, so it stays."""
EFFORT = 1e-3
"""What a full torque costs per action."""


class Throw(Task):
    """Fling a ball of 0.2 kg from the cup of a hinged arm so that it lands on a mark 1.5 to 4 m away.

    Action (1,): the torque on the arm, -1 to 1 for -40 to 40 N m (negative throws to the right), held for 20 ms. Observation (9,): cosine,
    sine and spin of the arm, place (x, y) and velocity (x, y) of the ball, place of the mark [m], and mark minus ball along x. Reward:
    exp(-miss) at the moment the ball lands, with the miss in metres; -0.001 action^2 at every action. Over when the ball lands; cut off
    after 125 actions (2.5 s).
    """

    scene = """
dimension = 2
name = "throw"
step = 0.005

[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 1] }
friction = 0.8
color = "#c8b99a"

[[body]]
name = "post"
kind = "static"
shape = { box = [0.08, 1.0] }
position = [0, 0.5]
mask = []
color = "#9aa0a6"

[[body]]
name = "arm"
shape = [
  { box = [1.0, 0.04] },
  { box = [0.04, 0.08], at = [-0.48, 0.06] },
  { box = [0.04, 0.06], at = [-0.30, 0.05] },
]
mass = 0.8
inertia = 0.08
position = [-0.45, 1.0]
friction = 0.6
color = "#4e79a7"

[[body]]
name = "ball"
shape = { ball = 0.06 }
mass = 0.2
position = [-0.84, 1.08]
friction = 0.6
color = "#e15759"

[[joint]]
name = "shoulder"
kind = "hinge"
between = ["arm", "world"]
anchor = [0, 1.0]
motor = { control = true, max = 40 }
limits = [-2.4, 0.0]
"""
    steps = 4
    horizon = 125
    strength = (40.0,)
    goal = 1
    observations = ("cosine", "sine", "spin", "ball x", "ball y", "ball vx", "ball vy", "mark", "mark - ball")

    def start(self, rng: np.random.Generator) -> Start:
        return Start(self.world.q, self.world.v, rng.uniform(NEAREST, FARTHEST, 1))

    def observe(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        arm, ball = self.index["arm"], self.index["ball"]
        angle = q[:, arm, 2]
        columns = [np.cos(angle), np.sin(angle), v[:, arm, 2], q[:, ball, 0], q[:, ball, 1], v[:, ball, 0], v[:, ball, 1], goal[:, 0],
                   goal[:, 0] - q[:, ball, 0]]
        return np.stack(columns, axis=1)

    def judge(self, q0: np.ndarray, q: np.ndarray, v: np.ndarray, action: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ball = self.index["ball"]
        landed = q[:, ball, 1] < 0.06 + LANDED
        miss = np.abs(q[:, ball, 0] - goal[:, 0])
        effort = EFFORT * np.clip(action[:, 0], -1.0, 1.0) ** 2
        return np.where(landed, np.exp(-miss), 0.0) - effort, landed

    def view(self, q: np.ndarray) -> Sequence[float]:
        return 1.6, 1.4, 6.4

    def marks(self, goal: np.ndarray) -> list[tuple[Any, str]]:
        return [((goal[0], 0.0), "#2e7d32")]
