"""A one-legged robot of four bodies hops over the ground."""

from __future__ import annotations

from typing import Sequence

import numpy as np

from .task import Start, Task

__all__ = ["Hopper"]

CHAIN = (("torso", (0.0, 1.25), (0.0, 1.05)), ("thigh", (0.0, 0.825), (0.0, 0.6)), ("shank", (0.0, 0.35), (0.0, 0.1)), ("foot", (0.06, 0.06), None))
"""Bodies from the top, their centres and the joint below each, standing [m]."""
JITTER = 0.03
"""Largest lean of a joint [rad] and its rate [rad/s] at a start."""
LIFT = 0.01
"""The foot starts this far above the ground [m]."""
LOW, LEAN = 0.85, 0.8
"""Over when the torso is lower than this [m] or leans more [rad]."""
EFFORT, ALIVE = 1e-2, 1.0
"""What three full torques cost and what an action upright is worth."""


class Hopper(Task):
    """Hop to the right on one leg: torso, thigh, shank and foot with three motors, 7 kg.

    Action (3,): torques of hip, knee and ankle, -1 to 1 for 80, 80 and 40 N m, held for 20 ms. Observation (11,): height and lean of the
    torso, angles of hip, knee and ankle [rad], velocity of the torso (x, y) and its spin, rates of the three joints. Reward: speed of the
    torso to the right [m/s] + 1 - 0.01 |action|^2. Over when the torso is below 0.85 m or leans more than 0.8 rad; cut off after 500 actions
    (10 s).
    """

    scene = """
dimension = 2
name = "hopper"
step = 0.005

[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 1] }
friction = 0.9
color = "#c8b99a"

[[body]]
name = "torso"
shape = { box = [0.14, 0.4] }
mass = 3.5
position = [0, 1.25]
group = ["robot"]
mask = ["ground"]
friction = 0.9
color = "#4e79a7"

[[body]]
name = "thigh"
shape = [{ capsule = [0.45, 0.05], angle = 1.5707963267948966 }]
mass = 1.5
position = [0, 0.825]
group = ["robot"]
mask = ["ground"]
friction = 0.9
color = "#59a14f"

[[body]]
name = "shank"
shape = [{ capsule = [0.5, 0.04], angle = 1.5707963267948966 }]
mass = 1.2
position = [0, 0.35]
group = ["robot"]
mask = ["ground"]
friction = 0.9
color = "#f28e2b"

[[body]]
name = "foot"
shape = { capsule = [0.26, 0.06] }
mass = 0.8
position = [0.06, 0.06]
group = ["robot"]
mask = ["ground"]
friction = 0.9
color = "#e15759"

[[joint]]
name = "hip"
kind = "hinge"
between = ["thigh", "torso"]
anchor = [0, 1.05]
motor = { control = true, max = 80 }
limits = [-1.6, 0.6]

[[joint]]
name = "knee"
kind = "hinge"
between = ["shank", "thigh"]
anchor = [0, 0.6]
motor = { control = true, max = 80 }
limits = [-1.8, 0.1]

[[joint]]
name = "ankle"
kind = "hinge"
between = ["foot", "shank"]
anchor = [0, 0.1]
motor = { control = true, max = 40 }
limits = [-0.8, 0.8]
"""
    steps = 4
    horizon = 500
    strength = (80.0, 80.0, 40.0)
    observations = ("height", "lean", "hip", "knee", "ankle", "vx", "vy", "spin", "hip rate", "knee rate", "ankle rate")

    def start(self, rng: np.random.Generator) -> Start:
        lean, rate = np.cumsum(rng.uniform(-JITTER, JITTER, (2, len(CHAIN))), axis=1)
        q, v = self.world.q.copy(), np.zeros(self.world.v.shape)
        joint, pace = np.array(CHAIN[0][2]), np.zeros(2)
        # From the hip: the torso hangs on it upwards, the others downwards.
        for k, (name, centre, below) in enumerate(CHAIN):
            above = np.array(CHAIN[k - 1][2]) if k else np.array(below)
            c, s = np.cos(lean[k]), np.sin(lean[k])

            def at(point):  # type: ignore[no-untyped-def]
                arm = np.array([[c, -s], [s, c]]) @ (np.array(point) - above)
                return joint + arm, pace + rate[k] * np.array([-arm[1], arm[0]])

            place, speed = at(centre)
            q[self.index[name]] = [*place, lean[k]]
            v[self.index[name]] = [*speed, rate[k]]
            if k and below is not None:
                joint, pace = at(below)
        # However it leans, the foot does not start inside the ground.
        foot = q[self.index["foot"]]
        lowest = foot[1] - 0.06 - 0.13 * abs(np.sin(foot[2]))
        q[[self.index[name] for name, *_ in CHAIN], 1] += LIFT - lowest
        return Start(q, v)

    def observe(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        torso, thigh, shank, foot = (self.index[name] for name, *_ in CHAIN)
        columns = [q[:, torso, 1], q[:, torso, 2]]
        columns += [q[:, a, 2] - q[:, b, 2] for a, b in ((thigh, torso), (shank, thigh), (foot, shank))]
        columns += [v[:, torso, 0], v[:, torso, 1], v[:, torso, 2]]
        columns += [v[:, a, 2] - v[:, b, 2] for a, b in ((thigh, torso), (shank, thigh), (foot, shank))]
        return np.stack(columns, axis=1)

    def judge(self, q0: np.ndarray, q: np.ndarray, v: np.ndarray, action: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        torso = self.index["torso"]
        speed = (q[:, torso, 0] - q0[:, torso, 0]) / self.frame
        effort = EFFORT * (np.clip(action, -1.0, 1.0) ** 2).sum(axis=1)
        over = (q[:, torso, 1] < LOW) | (np.abs(q[:, torso, 2]) > LEAN)
        return speed + ALIVE - effort, over

    def view(self, q: np.ndarray) -> Sequence[float]:
        return q[self.index["torso"], 0], 0.8, 3.0
