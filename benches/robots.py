"""What a step of a robot costs: carom and MuJoCo on the same models in one run.

The half cheetah, ant, hopper, walker and humanoid of Gymnasium, limp, on their ground for 2 s from their start; a1 of pybullet_data, where it is
installed, for carom alone. Each engine takes its own step of the length that the model says, several times by turns; the least time counts, of
the processor on one thread. Needs `pip install mujoco gymnasium`.

    python benches/robots.py [--seconds 2] [--rounds 3]
"""

import argparse
import importlib.util
import pathlib
import re
import subprocess
import time

MODELS = ["half_cheetah", "ant", "hopper", "walker2d", "humanoid"]
ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLE = ["cargo", "run", "--release", "--quiet", "-p", "carom", "--no-default-features", "--example", "robots", "--"]
LINE = re.compile(r"^(\S+) .*?([\d.]+) us a step,\s+([\d.]+) x real time.*?solves ([\d.]+).*?joint gap (\S+), depth (\S+) m, residual (\S+) m/s")


def folder(package: str) -> pathlib.Path | None:
    """Where a package is, without importing it."""
    found = importlib.util.find_spec(package)
    return pathlib.Path(found.origin).parent if found and found.origin else None


def mujoco_step(path: pathlib.Path, seconds: float) -> tuple[float, float]:
    """Microseconds a step, and the deepest overlap [m]."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    steps = round(seconds / model.opt.timestep)
    depth, spent = 0.0, 0.0
    for _ in range(steps):
        start = time.process_time_ns()
        mujoco.mj_step(model, data)
        spent += time.process_time_ns() - start
        if data.ncon:
            depth = max(depth, -float(data.contact.dist.min()))
    # The same calls around nothing.
    start = time.process_time_ns()
    for _ in range(steps):
        time.process_time_ns()
        time.process_time_ns()
    spent -= (time.process_time_ns() - start) / 2
    return spent / steps / 1e3, depth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    gymnasium = folder("gymnasium")
    if gymnasium is None:
        raise SystemExit("the models are those of Gymnasium: pip install gymnasium mujoco")
    assets = gymnasium / "envs" / "mujoco" / "assets"
    paths = [assets / f"{name}.xml" for name in MODELS]
    bullet = folder("pybullet_data")
    if bullet is not None and (bullet / "a1" / "a1.urdf").is_file():
        paths.append(bullet / "a1" / "a1.urdf")
    ours: dict[str, tuple[float, re.Match[str]]] = {}
    theirs: dict[str, tuple[float, float]] = {}
    for _ in range(options.rounds):
        said = subprocess.run([*EXAMPLE, *map(str, paths), str(options.seconds)], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for line in said.splitlines():
            found = LINE.match(line)
            if found and (found[1] not in ours or float(found[2]) < ours[found[1]][0]):
                ours[found[1]] = (float(found[2]), found)
        for path in paths:
            if path.suffix == ".xml":
                cost, depth = mujoco_step(path, options.seconds)
                best = theirs.get(path.stem, (float("inf"), 0.0))[0]
                theirs[path.stem] = (min(best, cost), depth)
    print("| robot | carom [us a step] | x real time | joint gap | depth [m] | residual [m/s] | MuJoCo [us a step] | its depth [m] | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (cost, found) in ours.items():
        peer = theirs.get(name)
        beside = f"{peer[0]:.1f} | {peer[1]:.0e} | {cost / peer[0]:.2f}" if peer else "- | - | -"
        print(f"| {name} | {cost:.1f} | {found[3]} | {found[5]} | {found[6]} | {found[7]} | {beside} |")


if __name__ == "__main__":
    main()
