"""Swing a pole up by trajectory optimisation, through the gradient and without it, with the same number of simulated steps.

The cart of 1 kg has 3 s and 10 N to bring the pole from hanging to standing, at rest, in the middle. The 150 pushes are found once with Adam on
the exact gradient of the last state, once by an evolution strategy (CMA-ES with a diagonal covariance) that only sees the loss. A backward
pass is counted as two forward ones.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import carom

SCENE = """
dimension = 2
step = 0.02
[[body]]
name = "cart"
shape = { box = [0.4, 0.2] }
mass = 1.0
mask = []
[[body]]
name = "pole"
shape = { capsule = [1.0, 0.03] }
mass = 0.2
position = [0, -0.5]
angle = -1.5707963267948966
mask = []
[[joint]]
name = "rail"
kind = "slider"
between = ["cart", "world"]
anchor = [0, 0]
axis = [1, 0]
motor = { control = true, max = 10 }
[[joint]]
name = "hinge"
kind = "hinge"
between = ["pole", "cart"]
anchor = [0, 0]
"""
STEPS = 150
CART, POLE = 0, 1
ROUNDS = 300
"""Rollouts with gradients: three units of STEPS each."""
LEAN = 0.05
"""Largest lean at the end that is asked for [rad]."""


def scene_step():
    return 0.02


def task():
    """The same for carom.optimise, which needs no cost of the controls."""
    loss = "4 * (1 - sin(pole.angle)) + 0.2 * pole.spin^2 + 0.5 * cart.x^2 + 0.2 * cart.vx^2"
    return {"world": carom.World.from_toml(SCENE), "loss": loss, "controls": [0.1], "steps": STEPS, "limits": (-10, 10)}


def solved(found):
    end = found.rollout.q[-1, POLE, 2] - np.pi / 2.0
    return abs((end + np.pi) % (2.0 * np.pi) - np.pi) < LEAN and found.loss < 0.05


def cost(run: carom.Rollout, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Loss of rollouts (worlds,), with its cotangents by poses and velocities of the last state."""
    q, v = run.q[:, -1], run.v[:, -1]
    dq, dv = np.zeros(v.shape), np.zeros(v.shape)
    lean = q[:, POLE, 2] - np.pi / 2.0
    loss = 4.0 * (1.0 - np.cos(lean)) + 0.2 * v[:, POLE, 2] ** 2 + 0.5 * q[:, CART, 0] ** 2 + 0.2 * v[:, CART, 0] ** 2
    dq[:, POLE, 2], dq[:, CART, 0] = 4.0 * np.sin(lean), q[:, CART, 0]
    dv[:, POLE, 2], dv[:, CART, 0] = 0.4 * v[:, POLE, 2], 0.4 * v[:, CART, 0]
    return loss + 1e-5 * (u**2).sum(axis=1), dq, dv


def lean_of(world: carom.World, u: np.ndarray) -> float:
    end = world.rollout(STEPS, u[:, None], tape=False).q[-1, POLE, 2] - np.pi / 2.0
    return float(abs((end + np.pi) % (2.0 * np.pi) - np.pi))


def by_gradient(world: carom.World) -> tuple[np.ndarray, float, int]:
    rng = np.random.default_rng(0)
    u = rng.normal(size=(1, STEPS))
    first, second = np.zeros(u.shape), np.zeros(u.shape)
    best, best_u = np.inf, u
    batch = carom.Batch(world, 1)
    for k in range(1, ROUNDS + 1):
        run = batch.rollout(STEPS, u[:, :, None])
        loss, dq, dv = cost(run, u)
        if loss[0] < best:
            best, best_u = float(loss[0]), u[0].copy()
        slope = run.backward(dq=dq, dv=dv).controls[:, :, 0] + 2e-5 * u
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        rate = 0.4 * (1.0 - (k - 1) / ROUNDS)
        u = np.clip(u - rate * (first / (1.0 - 0.9**k)) / (np.sqrt(second / (1.0 - 0.99**k)) + 1e-9), -10.0, 10.0)
    return best_u, best, 3 * ROUNDS * STEPS


def by_evolution(world: carom.World, budget: int) -> tuple[np.ndarray, float, int]:
    rng = np.random.default_rng(0)
    people, parents = 20, 10
    weights = np.log(parents + 0.5) - np.log(np.arange(1, parents + 1))
    weights /= weights.sum()
    power = 1.0 / (weights**2).sum()
    path_rate, size_damp = (power + 2.0) / (STEPS + power + 5.0), 1.0
    learn = 2.0 / ((STEPS + 1.3) ** 2 + power) * (STEPS + 2.0) / 3.0
    many = min(1.0 - learn, 2.0 * (power - 2.0 + 1.0 / power) / ((STEPS + 2.0) ** 2 + power) * (STEPS + 2.0) / 3.0)
    normal = np.sqrt(STEPS) * (1.0 - 1.0 / (4.0 * STEPS) + 1.0 / (21.0 * STEPS**2))
    mean, size, spread = np.zeros(STEPS), 3.0, np.ones(STEPS)
    path, drift = np.zeros(STEPS), np.zeros(STEPS)
    best, best_u, used = np.inf, mean, 0
    batch = carom.Batch(world, people)
    while used + people * STEPS <= budget:
        z = rng.normal(size=(people, STEPS))
        u = np.clip(mean + size * np.sqrt(spread) * z, -10.0, 10.0)
        loss, _, _ = cost(batch.rollout(STEPS, u[:, :, None], tape=False), u)
        used += people * STEPS
        order = np.argsort(loss)[:parents]
        if loss[order[0]] < best:
            best, best_u = float(loss[order[0]]), u[order[0]]
        step = (weights[:, None] * z[order]).sum(axis=0)
        mean = mean + size * np.sqrt(spread) * step
        path = (1.0 - path_rate) * path + np.sqrt(path_rate * (2.0 - path_rate) * power) * step
        drift = (1.0 - 4.0 / (STEPS + 4.0)) * drift + np.sqrt(4.0 / (STEPS + 4.0) * (2.0 - 4.0 / (STEPS + 4.0)) * power) * np.sqrt(spread) * step
        spread = (1.0 - learn - many) * spread + learn * drift**2 + many * spread * (weights[:, None] * z[order] ** 2).sum(axis=0)
        size *= np.exp(path_rate / size_damp * (np.linalg.norm(path) / normal - 1.0))
    return best_u, best, used


def main() -> int:
    world = carom.World.from_toml(SCENE)
    begun = time.perf_counter()
    u, loss, used = by_gradient(world)
    middle = time.perf_counter()
    other_u, other, other_used = by_evolution(world, used)
    lean, other_lean = lean_of(world, u), lean_of(world, other_u)
    print(f"by gradient:  loss {loss:.4f}, lean at the end {lean:.4f} rad, {used} steps, {middle - begun:.2f} s")
    print(f"by evolution: loss {other:.4f}, lean at the end {other_lean:.4f} rad, {other_used} steps, {time.perf_counter() - middle:.2f} s")
    print(f"the loss through the gradient is {other / loss:.1f} times smaller; lean asked for {LEAN} rad")
    return int(lean > LEAN or loss >= other)


if __name__ == "__main__":
    sys.exit(main())
