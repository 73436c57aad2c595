"""Theo Jansen's walking machine, driven by the torque on its crank."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Sequence

import numpy as np

from .._carom import Worlds
from ..world import World
from .task import Start, Task

__all__ = ["Strandbeest"]

STARTS = 24
"""Moments of a turn of the crank at which an episode may begin."""
TURN = 2.0 * np.pi / 1.5
"""Time of a turn in the embedded scene [s]."""
LEAN = 0.6
"""Over when the frame leans more [rad]."""
EFFORT = 0.05
"""What a full torque costs per action."""
FEET = tuple(f"{side}{pair}_foot" for pair in range(3) for side in "lr")


class Strandbeest(Task):
    """Walk: six legs on one crank, 38 bodies, eighteen closed loops; the embedded scene ``strandbeest`` with a torque in place of its motor.

    Action (1,): the torque on the crank, -1 to 1 for -25 to 25 N m (negative walks to the right), held for 1/30 s. Observation (20,): height,
    lean, velocity (x, y) and spin of the frame, cosine, sine and rate of the crank against the frame, then place (x, y) of the six feet
    against the frame. Reward: speed of the frame to the right [m/s] - 0.05 action^2. Over when the frame leans more than 0.6 rad; cut off
    after 300 actions (10 s).
    """

    steps = 2
    horizon = 300
    strength = (25.0,)
    observations = ("height", "lean", "vx", "vy", "spin", "crank cosine", "crank sine", "crank rate",
                    *(f"{foot} {axis}" for foot in FEET for axis in "xy"))

    def build(self) -> World:
        text = Worlds.scene("strandbeest").pack()[0]
        changed, found = re.subn(r"motor = \{ velocity = [^}]*\}", f"motor = {{ control = true, max = {self.strength[0]} }}", text)
        assert found == 1, "the embedded scene has one motor"
        return World.from_toml(changed)

    @cached_property
    def moments(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """States of a turn of the crank of the embedded scene, walking, put back to where it began."""
        walking = World.scene("strandbeest")
        every = max(1, round(TURN / STARTS / walking.step_size))
        found = []
        for _ in range(STARTS):
            walking.step(every)
            q = walking.q.copy()
            moving = np.arange(len(q)) != self.index["ground"]
            q[moving, 0] -= q[self.index["frame"], 0]
            found.append((q, walking.v.copy()))
        return found

    def start(self, rng: np.random.Generator) -> Start:
        q, v = self.moments[rng.integers(STARTS)]
        return Start(q, v)

    def observe(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        frame, crank = self.index["frame"], self.index["crank"]
        turn = q[:, crank, 2] - q[:, frame, 2]
        columns = [q[:, frame, 1], q[:, frame, 2], v[:, frame, 0], v[:, frame, 1], v[:, frame, 2], np.cos(turn), np.sin(turn),
                   v[:, crank, 2] - v[:, frame, 2]]
        columns += [q[:, self.index[foot], axis] - q[:, frame, axis] for foot in FEET for axis in (0, 1)]
        return np.stack(columns, axis=1)

    def judge(self, q0: np.ndarray, q: np.ndarray, v: np.ndarray, action: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        frame = self.index["frame"]
        speed = (q[:, frame, 0] - q0[:, frame, 0]) / self.frame
        return speed - EFFORT * np.clip(action[:, 0], -1.0, 1.0) ** 2, np.abs(q[:, frame, 2]) > LEAN

    def view(self, q: np.ndarray) -> Sequence[float]:
        return q[self.index["frame"], 0], 0.7, 3.0
