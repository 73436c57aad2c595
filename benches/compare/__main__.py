"""carom and other engines on the same scenes, by turns in one run: time, accuracy and ratio.

    python benches/compare [--rounds 7] [--only WORD ...] [--quick] [--write]

Called by ./bench, which installs the engines. Writes the table to standard output and everything to target/bench/figures.json; --write also puts the table and
the plot into docs/performance.md. A ratio is the least time of an engine over that of carom: above 1 carom is faster. Engines that are not there are named.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import platform
import sys
from typing import Any

import contacts
import mechanisms
import robots
from case import Case, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "target" / "bench" / "figures.json"
PAGE = ROOT / "docs" / "performance.md"
PLOT = ROOT / "docs" / "pictures" / "performance.svg"
BEGIN, END = "<!-- figures: made by ./bench -->", "<!-- end of figures -->"


def cases(quick: bool) -> list[Case]:
    """All scenes."""
    out = [mechanisms.chain(10, 500), mechanisms.chain(100, 100), mechanisms.loop()]
    if not quick:
        out.append(mechanisms.chain(1000, 5))
    out += [contacts.pile("stack of 10 cubes at rest", contacts.stack_places(10), 50), contacts.pile("wall of 10 x 6 cubes at rest", contacts.wall_places(10, 6), 5)]
    out += [contacts.cradle(), contacts.bounce()]
    out += [robots.step(robot) for robot in robots.ROBOTS]
    out += [
        robots.linearise("cart-pole", robots.CART_POLE, 5),
        robots.linearise("half cheetah in air", "half_cheetah", 2),
        robots.linearise("half cheetah on the ground", "half_cheetah", 150),
        robots.linearise("sliding box", robots.BOX, 50),
        robots.linearise("humanoid on the ground", "humanoid", 500),
    ]
    out.append(robots.batch("half_cheetah", 32, 100))
    if not quick:
        out.append(contacts.flight(100_000))
    return out


def table(found: dict[str, Any]) -> str:
    """A row per scene and engine."""
    rows = ["| scene | engine | least [us] | median [us] | accuracy | ratio |", "|---|---|---|---|---|---|"]
    for name, case in found.items():
        first = next(iter(case["engines"].values()), None)
        for engine, one in case["engines"].items():
            exact = ", ".join(f"{key} {value:.0f}" if key in ("contacts", "bodies") else f"{key} {value:.1e}" for key, value in one.items() if key not in ("min", "median"))
            ratio = f"{one['min'] / first['min']:.2f}" if first else ""
            rows.append(f"| {name}, a {case['unit']} | {engine} | {one['min']:.2f} | {one['median']:.2f} | {exact} | {ratio} |")
        for engine, why in case["missing"].items():
            rows.append(f"| {name}, a {case['unit']} | {engine} | - | - | {why} | - |")
    return "\n".join(rows)


def versions() -> str:
    """Of the engines and the machine, with the day and how busy it was."""
    day = datetime.date.today().isoformat()
    said = [f"{day}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"]
    for module in ("carom", "mujoco", "pinocchio", "pybullet", "pymunk", "pydrake", "nimblephysics"):
        try:
            loaded = __import__(module)
            said.append(f"{module} {getattr(loaded, '__version__', '')}".strip())
        except ImportError:
            said.append(f"{module} not installed")
    return "; ".join(said)


def plot(found: dict[str, Any]) -> None:
    """Least times by scene and engine."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "carom"
    import matplotlib.pyplot as pyplot

    figure, axes = pyplot.subplots(figsize=(9, 0.32 * len(found) + 1.5))
    engines = list(dict.fromkeys(engine for case in found.values() for engine in case["engines"]))
    for engine in engines:
        places = [(case["engines"][engine]["min"], -row) for row, case in enumerate(found.values()) if engine in case["engines"]]
        axes.plot([x for x, _ in places], [y for _, y in places], "o" if engine.startswith("carom") else "s", label=engine, markersize=6 if engine == "carom" else 4)
    axes.set_xscale("log")
    axes.set_yticks([-row for row in range(len(found))], list(found), fontsize=7)
    axes.set_xlabel("least time [us]")
    axes.grid(True, axis="x", alpha=0.3)
    axes.legend(fontsize=7, loc="best")
    figure.tight_layout()
    figure.savefig(PLOT, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="turns of every engine; the least and the median count")
    parser.add_argument("--only", nargs="*", default=[], help="scenes whose names have one of these words")
    parser.add_argument("--quick", action="store_true", help="without the largest scenes")
    parser.add_argument("--write", action="store_true", help="put the table and the plot into docs/performance.md")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for case in cases(given.quick):
        if given.only and not any(word in case.name for word in given.only):
            continue
        found[case.name] = run(case, given.rounds, lambda line: print(line, file=sys.stderr, flush=True))
    if not found:
        parser.error(f"no scene has one of {given.only} in its name")
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps({"versions": versions(), "cases": found}, indent=1) + "\n")
    print(table(found))
    print(f"\n{versions()}")
    if given.write:
        plot(found)
        text = PAGE.read_text()
        before, rest = text.split(BEGIN)
        _, after = rest.split(END)
        PAGE.write_text(f"{before}{BEGIN}\n\n{table(found)}\n\n{versions()}.\n\n{END}{after}")


if __name__ == "__main__":
    main()
