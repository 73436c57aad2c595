"""What PyTorch adds: forward and backward of a rollout of 100 steps through carom.torch beside the same calls of the native module.

    python benches/python_torch.py [--blocks N]

The native figure is one call that rolls out with a tape and one that takes it back by states and controls, as torch asks for it, without
torch and without the checks of arguments: the cost of the engine itself. Both are taken in turns, and the smallest of many is kept. Wants an optimised build.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

import carom

STEPS = 100
MOST = 1.2
"""The goal: at most this many times the cost of the engine."""
SCENES = ("ball_drop", "double_pendulum", "bank_shot", "newton_cradle", "chain_10", "pool_break", "stack_ten", "jansen_leg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--blocks", type=int, default=60)
    blocks = parser.parse_args().blocks
    torch.set_num_threads(1)
    print(f"{'scene':<18}{'bodies':>7}{'engine us':>12}{'torch us':>12}{'times':>8}")
    for name in SCENES:
        world = carom.World.scene(name)
        run = world.rollout(STEPS)
        flat = np.ones(run.v.size)
        v0 = torch.tensor(np.array(world.v), requires_grad=True)
        weights = torch.ones(run.q.shape, dtype=torch.float64), torch.ones(run.v.shape, dtype=torch.float64)

        def engine() -> None:
            world._native.rollout(STEPS, None, True, True, None).backward(flat, flat, None, None, False)

        def wrapped() -> None:
            torch.autograd.grad(carom.torch.rollout(world, STEPS, v0=v0), v0, weights)

        least = [np.inf, np.inf]
        for _ in range(blocks):
            for i, call in enumerate((engine, wrapped)):
                begun = time.perf_counter()
                call()
                least[i] = min(least[i], time.perf_counter() - begun)
        ratio = least[1] / least[0]
        print(f"{name:<18}{len(world.bodies):>7}{least[0] * 1e6:>12.0f}{least[1] * 1e6:>12.0f}{ratio:>8.3f}{'' if ratio <= MOST else '  above ' + str(MOST)}")


if __name__ == "__main__":
    main()
