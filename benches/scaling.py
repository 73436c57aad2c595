"""How the cost of a step grows with the size of a scene: chains, trees, ladders, hubs, stacks, islands, batches and gradients.

    python benches/scaling.py [--quick] [--only WORD ...] [--write]

A scene of each family at rising sizes; the least time of several turns, of the processor on one thread. The exponent is the slope of log time over log size by least
squares over the upper half of the sizes. --write puts table and plot into docs/performance.md. Needs carom, numpy, and matplotlib to write.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import time
from collections.abc import Callable

import carom
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
PLOT = ROOT / "docs" / "pictures" / "scaling.svg"
BEGIN, END = "<!-- scaling: made by benches/scaling.py -->", "<!-- end of scaling -->"
HEAD = "dimension = 3\nstep = 0.001\n"
TURNS = 5
STEPS = 20
"""Steps after a start: a mechanism that fell for seconds is another one."""
WORTH = 0.02
"""Processor time of a turn [s], at least."""


def hinge(name: str, one: str, other: str, at: tuple[float, float, float]) -> str:
    return f'[[joint]]\nname = "{name}"\nkind = "hinge"\nbetween = ["{one}", "{other}"]\nanchor = [{at[0]}, {at[1]}, {at[2]}]\naxis = [0, 1, 0]\n'


def rod(name: str, at: tuple[float, float, float]) -> str:
    return f'[[body]]\nname = "{name}"\nmass = 0.1\ninertia = [2e-5, 1e-4, 1e-4]\nposition = [{at[0]}, {at[1]}, {at[2]}]\n'


def chain(n: int) -> str:
    """n hinged rods, the first at the world."""
    pins = "".join(hinge(f"p{i}", f"r{i}", f"r{i - 1}" if i else "world", (0.1 * i, 0.0, 0.0)) for i in range(n))
    return HEAD + "".join(rod(f"r{i}", (0.1 * i + 0.05, 0.0, 0.0)) for i in range(n)) + pins


def tree(n: int) -> str:
    """A binary tree of n rods."""
    out, ends = [HEAD], {-1: (0.0, 0.0, 0.0)}
    for i in range(n):
        parent = (i - 1) // 2 if i else -1
        x, y, z = ends[parent]
        side = 0.0 if i == 0 else (0.02 if i % 2 else -0.02)
        ends[i] = (x + 0.1, y + side, z)
        out += [rod(f"r{i}", (x + 0.05, y + side / 2, z)), hinge(f"p{i}", f"r{i}", f"r{parent}" if i else "world", (x, y, z))]
    return "".join(out)


def ladder(n: int) -> str:
    """Two chains of n rods with a rung between each two pins: loops all along."""
    out = [HEAD]
    for i in range(n):
        for side, y in (("a", 0.0), ("b", 0.2)):
            out += [rod(f"{side}{i}", (0.1 * i + 0.05, y, 0.0)), hinge(f"p{side}{i}", f"{side}{i}", f"{side}{i - 1}" if i else "world", (0.1 * i, y, 0.0))]
        out.append(rod(f"c{i}", (0.1 * i + 0.1, 0.1, 0.0)))
        for side, y in (("a", 0.0), ("b", 0.2)):
            out.append(f'[[joint]]\nname = "rung{side}{i}"\nkind = "ball"\nbetween = ["c{i}", "{side}{i}"]\nanchor = [{0.1 * i + 0.1}, {y}, 0.0]\n')
    return "".join(out)


def hub(n: int) -> str:
    """A body with n rods around it."""
    out = [HEAD, '[[body]]\nname = "hub"\nmass = 1\ninertia = [0.1, 0.1, 0.1]\nposition = [0, 0, 0]\n']
    for i in range(n):
        angle = 2 * np.pi * i / n
        c, s = float(np.cos(angle)), float(np.sin(angle))
        out += [rod(f"r{i}", (0.35 * c, 0.35 * s, 0.0)), hinge(f"p{i}", f"r{i}", "hub", (0.3 * c, 0.3 * s, 0.0))]
    return "".join(out)


GROUND = '[[body]]\nname = "ground"\nkind = "static"\nshape = { half_space = [0, 0, 1] }\n'


def stack(n: int) -> str:
    """n cubes on each other."""
    cubes = "".join(f'[[body]]\nname = "c{i}"\nmass = 1\nshape = {{ box = [0.5, 0.5, 0.5] }}\nposition = [0, 0, {0.25 + 0.5 * i}]\n' for i in range(n))
    return "dimension = 3\nstep = 0.004\n" + GROUND + cubes


def islands(n: int) -> str:
    """n cubes apart from each other on one ground."""
    side = int(np.ceil(np.sqrt(n)))
    cubes = "".join(f'[[body]]\nname = "c{i}"\nmass = 1\nshape = {{ box = [0.5, 0.5, 0.5] }}\nposition = [{2.0 * (i % side)}, {2.0 * (i // side)}, 0.25]\n' for i in range(n))
    return "dimension = 3\nstep = 0.004\n" + GROUND + cubes


def least(work: Callable[[int], object]) -> float:
    """Least time of a unit of work [us]; a turn does as many as it is worth."""
    work(1)
    begun = time.process_time()
    work(1)
    count = max(1, round(WORTH / max(time.process_time() - begun, 1e-6)))
    found = np.inf
    for _ in range(TURNS):
        begun = time.process_time()
        work(count)
        found = min(found, (time.process_time() - begun) / count)
    return found * 1e6


def stepping(text: str) -> float:
    """A step, of the first of a scene."""
    world = carom.World.from_toml(text)

    def first(count: int) -> None:
        for _ in range(count):
            world.reset()
            world.step(STEPS)

    return least(first) / STEPS


def batched(n: int) -> float:
    batch = carom.Batch(carom.World.from_toml(chain(5)), n, threads=1)
    batch.step(5)
    return least(batch.step)


def backward(n: int) -> float:
    """Forward and backward of rollouts of ten steps."""
    world = carom.World.from_toml(chain(n))
    world.step(5)

    def both(count: int) -> None:
        for _ in range(count):
            run = world.rollout(10)
            run.backward(dq=np.ones_like(run.q[-1]))

    return least(both)


FAMILIES: dict[str, tuple[Callable[[int], float], list[int]]] = {
    "chain of n hinges": (lambda n: stepping(chain(n)), [5, 10, 20, 50, 100, 200, 500, 1000]),
    "binary tree of n hinges": (lambda n: stepping(tree(n)), [7, 15, 31, 63, 127, 255, 511]),
    "ladder of n rungs": (lambda n: stepping(ladder(n)), [2, 5, 10, 20, 50, 100]),
    "hub of n arms": (lambda n: stepping(hub(n)), [4, 8, 16, 32, 64, 128]),
    "stack of n cubes": (lambda n: stepping(stack(n)), [2, 5, 10, 20, 40]),
    "n islands of a cube": (lambda n: stepping(islands(n)), [4, 16, 64, 256, 1024]),
    "batch of n worlds": (batched, [1, 4, 16, 64, 256]),
    "gradient of ten steps, chain of n": (backward, [5, 10, 20, 50, 100, 200]),
}


def exponent(sizes: list[int], times: list[float]) -> float:
    """Slope of log time over log size in the upper half."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(times[half:]), 1)[0])


def plot(found: dict[str, tuple[list[int], list[float]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "carom"
    import matplotlib.pyplot as pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for name, (sizes, times) in found.items():
        axes.plot(sizes, times, "o-", markersize=3, label=f"{name}: {exponent(sizes, times):.2f}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("n")
    axes.set_ylabel("least time [us]")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=7, title="exponent")
    figure.tight_layout()
    figure.savefig(PLOT, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without the two largest sizes of each family")
    parser.add_argument("--only", nargs="*", default=[], help="families whose names have one of these words")
    parser.add_argument("--write", action="store_true", help="put table and plot into docs/performance.md")
    given = parser.parse_args()
    found: dict[str, tuple[list[int], list[float]]] = {}
    for name, (time_of, sizes) in FAMILIES.items():
        if given.only and not any(word in name for word in given.only):
            continue
        sizes = sizes[:-2] if given.quick else sizes
        found[name] = (sizes, [time_of(n) for n in sizes])
        print(f"{name}: {exponent(*found[name]):.2f}  " + ", ".join(f"{n}: {x:.1f}" for n, x in zip(*found[name])), flush=True)
    rows = ["| family | n | least [us] | exponent |", "|---|---|---|---|"]
    for name, (sizes, times) in found.items():
        rows.append(f"| {name} | {', '.join(map(str, sizes))} | {', '.join(f'{x:.3g}' for x in times)} | {exponent(sizes, times):.2f} |")
    print("\n" + "\n".join(rows))
    if given.write:
        plot(found)
        before, rest = PAGE.read_text().split(BEGIN)
        _, after = rest.split(END)
        said = f"Load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."
        PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(rows) + f"\n\n{said}\n\n{END}{after}")


if __name__ == "__main__":
    main()
