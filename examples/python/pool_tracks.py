"""Learn friction and restitution of balls and cushions from noisy tracks of a few pool shots.

Eight shots on a table with three balls, filmed from above with a millimetre of noise. Four numbers are hidden: restitution and friction of
the balls and of the cushions (a pair takes the mean). One batch rolls all shots and gives the gradient of the squared distance to the
tracks; L-BFGS follows it.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.optimize import minimize

import carom

SCENE = """
dimension = 2
gravity = [0, 0]
step = 0.01
""" + "".join(f"""
[[body]]
name = "cushion{i}"
kind = "static"
shape = {{ half_space = [{-x}, {-y}] }}
position = [{x}, {0.5 * y}]
""" for i, (x, y) in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)])) + "".join(f"""
[[body]]
name = "ball{i}"
shape = {{ ball = 0.03 }}
mass = 0.17
position = [{x}, {y}]
damping = 0.3
""" for i, (x, y) in enumerate([(-0.6, 0.0), (0.2, 0.05), (0.3, -0.06)]))
CUE = 4
STEPS = 100
NOISE = 1e-3
"""Of the camera [m]."""
TRUE = np.array([0.93, 0.72, 0.08, 0.22])
"""Restitution of balls and cushions, friction of balls and cushions: hidden from what follows."""
FIRST = np.array([0.7, 0.9, 0.2, 0.1])
SHOTS = 8
WANTED = 0.02
"""Largest error that is asked for, of coefficients between 0 and 1."""


def main() -> int:
    world = carom.World.from_toml(SCENE)
    rng = np.random.default_rng(1)
    batch = carom.Batch(world, SHOTS)
    v = np.array(batch.v)
    angles, speeds = rng.uniform(-0.16, 0.16, SHOTS), rng.uniform(2.0, 3.0, SHOTS)
    v[:, CUE] = np.stack([speeds * np.cos(angles), speeds * np.sin(angles), rng.uniform(-20.0, 20.0, SHOTS)], axis=1)
    batch.v = v
    ball = np.arange(len(world.bodies)) >= CUE

    def rolled(x: np.ndarray) -> carom.Rollout:
        batch.params["restitution"] = np.where(ball, x[0], x[1])
        batch.params["friction"] = np.where(ball, x[2], x[3])
        return batch.rollout(STEPS)

    film = rolled(TRUE).q[:, :, CUE:, :2]
    film = film + NOISE * rng.normal(size=film.shape)
    rolls = 0

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal rolls
        rolls += 1
        run = rolled(x)
        miss = run.q[:, :, CUE:, :2] - film
        dq = np.zeros(run.v.shape)
        dq[:, :, CUE:, :2] = 2.0 * miss / miss[..., 0].size
        gradient = run.backward(dq=dq)
        restitution, friction = gradient["restitution"].sum(axis=0), gradient["friction"].sum(axis=0)
        slopes = [restitution[ball].sum(), restitution[~ball].sum(), friction[ball].sum(), friction[~ball].sum()]
        return float((miss**2).sum() / miss[..., 0].size), np.array(slopes)

    begun = time.perf_counter()
    # In units of the noise the loss is near 1 at the truth, and the search knows when to stop.
    scaled = lambda x: tuple(part / NOISE**2 for part in loss(x))
    found = minimize(scaled, FIRST, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * 2 + [(0.0, 0.6)] * 2, options={"maxiter": 200}).x
    seconds = time.perf_counter() - begun
    for name, got, true, first in zip(("restitution of balls", "restitution of cushions", "friction of balls", "friction of cushions"), found, TRUE, FIRST):
        print(f"{name:<24} {got:.4f}  (true {true}, start {first})")
    error = float(np.abs(found - TRUE).max())
    print(f"largest error {error:.4f} after {rolls} rollouts of {SHOTS} shots in {seconds:.2f} s, asked for {WANTED}")
    return int(error > WANTED)


if __name__ == "__main__":
    sys.exit(main())
