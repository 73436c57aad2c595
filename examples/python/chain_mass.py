"""Infer the mass of a link of a chain from how the chain swings.

Ten links hang from a hook and are let go from the horizontal; the fifth weighs seven times the others, and that is what a camera is to find
out from two seconds of motion. The loss is the squared distance to the tracks it saw; its exact derivative by the mass drives a secant
search for the zero of the slope, in the logarithm of the mass. (After the experiment of de Avila Belbute-Peres et al. 2018.)
"""

from __future__ import annotations

import sys
import time

import numpy as np

import carom

SCENE = """
dimension = 2
step = 0.016666666666666666
[[repeat]]
count = 10
offset = [0.5, 0]
body = { name = "link", shape = { box = [0.6, 0.2] }, mass = 1, position = [0.25, 0], mask = [] }
joint = { name = "pin", kind = "hinge", between = ["self", "next"], anchor = [0.5, 0] }
[[joint]]
name = "hook"
kind = "hinge"
between = ["link_0", "world"]
anchor = [0, 0]
"""
LINK, TRUE, FIRST = 4, 7.0, 0.97
STEPS = 120
NOISE = 1e-3
"""Of the camera [m]."""
WANTED = 1e-2
"""Relative error of the mass that is asked for."""


def main() -> int:
    world = carom.World.from_toml(SCENE)

    def rolled(mass: float, tape: bool = True) -> carom.Rollout:
        masses = np.array(world.params["mass"])
        masses[LINK] = mass
        world.params["mass"] = masses
        return world.rollout(STEPS, tape=tape)

    rng = np.random.default_rng(0)
    seen = rolled(TRUE, tape=False).q[:, :, :2]
    seen = seen + NOISE * rng.normal(size=seen.shape)

    def loss_and_slope(log_mass: float) -> tuple[float, float]:
        run = rolled(np.exp(log_mass))
        miss = run.q[:, :, :2] - seen
        dq = np.zeros(run.v.shape)
        dq[:, :, :2] = 2.0 * miss / miss[..., 0].size
        return float((miss**2).sum() / miss[..., 0].size), float(run.backward(dq=dq)["mass"][LINK] * np.exp(log_mass))

    begun = time.perf_counter()
    x = np.log(FIRST)
    loss, slope = loss_and_slope(x)
    step, tries = -np.sign(slope) * 0.5, 1
    while abs(step) > 1e-10 and tries < 40:
        new = x + step
        new_loss, new_slope = loss_and_slope(new)
        tries += 1
        curvature = (new_slope - slope) / step
        if new_loss > loss + 1e-12:
            step *= 0.5  # too far: half of it from where we were
            continue
        x, loss, slope = new, new_loss, new_slope
        newton = -slope / curvature if curvature > 0.0 else np.inf
        step = -np.sign(slope) * min(abs(newton), 1.0)
    found = float(np.exp(x))
    print(f"mass {found:.5f} (true {TRUE}, start {FIRST}) after {tries} rollouts with gradients in {time.perf_counter() - begun:.3f} s; "
          f"loss {loss:.3e} m^2, camera noise {2.0 * NOISE**2:.0e} m^2")
    error = abs(found / TRUE - 1.0)
    print(f"relative error {error:.1e}, asked for {WANTED:.0e}")
    return int(error > WANTED)


if __name__ == "__main__":
    sys.exit(main())
