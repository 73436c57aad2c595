"""A cart on rails balances a pole between two walls that the pole and the cart strike."""

from __future__ import annotations

from typing import Sequence

import numpy as np

from .task import Start, Task

__all__ = ["CartPole"]

HALF_POLE = 0.5
"""From the hinge to the centre of the pole [m]."""
FALLEN = np.cos(1.0)
"""The episode is over when the pole leans by more than 1 rad."""
EFFORT, AWAY = 0.01, 0.05
"""What a full push and a metre from the middle cost."""


class CartPole(Task):
    """Balance a pole on a cart of 1 kg between walls 2.4 m apart; both may be used to bounce off.

    Action (1,): the push on the cart, -1 to 1 for -15 to 15 N, held for 20 ms. Observation (5,): place of the cart [m], its speed [m/s],
    cosine and sine of the lean of the pole, its spin [rad/s]. Reward: cosine of the lean - 0.05 place^2 - 0.01 action^2. Over when the pole
    leans by more than 1 rad; cut off after 500 actions (10 s).
    """

    scene = """
dimension = 2
name = "cart_pole"
step = 0.01

[materials.rubber]
restitution = 0.6
friction = 0.2

[[body]]
name = "left"
kind = "static"
shape = { box = [0.2, 1.6] }
position = [-1.5, 0.6]
material = "rubber"
color = "#9aa0a6"

[[body]]
name = "right"
kind = "static"
shape = { box = [0.2, 1.6] }
position = [1.5, 0.6]
material = "rubber"
color = "#9aa0a6"

[[body]]
name = "cart"
shape = { box = [0.4, 0.2] }
mass = 1.0
material = "rubber"
color = "#4e79a7"

[[body]]
name = "pole"
shape = { capsule = [1.0, 0.03] }
mass = 0.2
position = [0, 0.5]
angle = 1.5707963267948966
material = "rubber"
color = "#e15759"

[[joint]]
name = "rail"
kind = "slider"
between = ["cart", "world"]
anchor = [0, 0]
axis = [1, 0]
motor = { control = true, max = 15 }

[[joint]]
name = "hinge"
kind = "hinge"
between = ["pole", "cart"]
anchor = [0, 0]
"""
    steps = 2
    horizon = 500
    strength = (15.0,)
    observations = ("place", "speed", "cosine", "sine", "spin")

    def start(self, rng: np.random.Generator) -> Start:
        place, speed, lean, spin = rng.uniform([-0.5, -0.3, -0.1, -0.3], [0.5, 0.3, 0.1, 0.3])
        q, v = self.world.q.copy(), np.zeros(self.world.v.shape)
        cart, pole = self.index["cart"], self.index["pole"]
        # The lean is from the vertical, to the left as angles grow.
        arm = HALF_POLE * np.array([-np.sin(lean), np.cos(lean)])
        q[cart, 0], v[cart, 0] = place, speed
        q[pole] = [place + arm[0], arm[1], np.pi / 2.0 + lean]
        v[pole] = [speed - spin * arm[1], spin * arm[0], spin]
        return Start(q, v)

    def observe(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        cart, pole = self.index["cart"], self.index["pole"]
        lean = q[:, pole, 2] - np.pi / 2.0
        return np.stack([q[:, cart, 0], v[:, cart, 0], np.cos(lean), np.sin(lean), v[:, pole, 2]], axis=1)

    def judge(self, q0: np.ndarray, q: np.ndarray, v: np.ndarray, action: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place, _, upright, _, _ = self.observe(q, v, goal).T
        push = np.clip(action[:, 0], -1.0, 1.0)
        return upright - AWAY * place**2 - EFFORT * push**2, upright < FALLEN

    def view(self, q: np.ndarray) -> Sequence[float]:
        return 0.0, 0.5, 3.6
