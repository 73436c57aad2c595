"""``python -m carom.validate``: measured motions beside the engine, and beside MuJoCo where it is installed.

The same sets, protocols and figures as the command ``carom validate``; the tosses of the cube also get rows of MuJoCo, from the same starts and judged by the
same errors, with the friction pyramid that others used and with the elliptic cone. Ends with 0 where every figure is what it must be, with 1 where one is not,
with 2 where a set that was asked for by name has no data or an argument is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from . import _carom
from ._carom import Error

SETS = ("cube", "elbow", "ellipse", "problems")
"""The sets, in the order in which they are run."""
MASS, INERTIA, GRAVITY = 0.37, 8.1e-4, 9.81


@dataclass(frozen=True)
class Peer:
    """A way in which MuJoCo simulates the cube: its cone, friction, and the stiffness and damping of a contact (``solref``, both negated there)."""

    cone: str
    friction: float
    stiffness: float
    damping: float

    def model(self, rate: float, width: float) -> str:
        """The cube on a plane; one step is one frame."""
        contact = f'friction="{self.friction} 0.005 0.0001" solref="{-self.stiffness} {-self.damping}" condim="3"'
        half = width / 2
        return (
            f'<mujoco><option timestep="{1 / rate}" gravity="0 0 {-GRAVITY}" cone="{self.cone}"><flag refsafe="disable"/></option><worldbody>'
            f'<geom type="plane" size="5 5 1" {contact}/>'
            f'<body pos="0 0 1"><freejoint/><inertial pos="0 0 0" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>'
            f'<geom type="box" size="{half} {half} {half}" {contact}/></body></worldbody></mujoco>'
        )


PEERS = (Peer("pyramidal", 0.214, 9900.0, 126.0), Peer("elliptic", 0.18, 3000.0, 120.0))
"""Fitted to the tosses of the package by the sum of both errors, as the published rows were to all."""
KEPT = ", run here"
"""How the names of rows end that the package keeps of an earlier run of MuJoCo."""


@dataclass(frozen=True)
class Tosses:
    """Measured tosses of the cube from the start of a simulation on: poses (T, 7) and the velocity (6,) there, world axes."""

    rate: float
    width: float
    poses: list[np.ndarray]
    velocities: list[np.ndarray]

    @staticmethod
    def load(data: str | None = None, start: str = "paper") -> "Tosses":
        """Those of a folder where it has any, otherwise those of the package; ``start`` is ``"paper"`` or ``"first"``."""
        if start not in ("paper", "first"):
            raise Error(f"start: found {start!r}, needs \"paper\" or \"first\"")
        rate, width, rows = _carom.cube_tosses(data, start == "first")
        return Tosses(rate, width, [np.array(q).reshape(-1, 7) for _, q, _ in rows], [np.array(v) for _, _, v in rows])

    def errors(self, found: Sequence[np.ndarray]) -> np.ndarray:
        """Per toss the mean over its frames of the distance [% of the width] and of the angle [degrees] between measured and simulated poses: (n, 2)."""
        out = np.empty((len(found), 2))
        for k, (there, wanted) in enumerate(zip(found, self.poses)):
            out[k, 0] = 100 * np.linalg.norm(there[:, :3] - wanted[:, :3], axis=1).mean() / self.width
            cosines = np.abs((there[:, 3:] * wanted[:, 3:]).sum(1)) / (np.linalg.norm(there[:, 3:], axis=1) * np.linalg.norm(wanted[:, 3:], axis=1))
            out[k, 1] = np.degrees(2 * np.arccos(np.minimum(cosines, 1.0))).mean()
        return out


def simulate(tosses: Tosses, peer: Peer) -> list[np.ndarray]:
    """Every toss by MuJoCo, frame by frame."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(peer.model(tosses.rate, tosses.width))
    data = mujoco.MjData(model)
    out = []
    for wanted, velocity in zip(tosses.poses, tosses.velocities):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:3] = wanted[0], velocity[:3]
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, wanted[0, 3:])
        data.qvel[3:] = turn.reshape(3, 3).T @ velocity[3:]  # a free joint has its rate in the frame of the body
        found = np.empty(wanted.shape)
        found[0] = wanted[0]
        for row in found[1:]:
            mujoco.mj_step(model, data)
            row[:] = data.qpos
        out.append(found)
    return out


def peer_rows(data: str | None) -> tuple[list[list[str]], str]:
    """Rows of MuJoCo for the table of the cube, and what was timed; no rows where it is not installed."""
    try:
        import mujoco
    except ImportError:
        return [], "MuJoCo is not installed (pip install mujoco): no rows of it"
    tosses, rows, clock = Tosses.load(data), [], time.perf_counter()
    for peer in PEERS:
        errors = tosses.errors(simulate(tosses, peer))
        (position, rotation), (spread, turned) = errors.mean(0), errors.std(0)
        name = f"MuJoCo {mujoco.__version__}, {'elliptic cone' if peer.cone == 'elliptic' else 'friction pyramid'}"
        fitted = f"mu {peer.friction:g}, k {peer.stiffness:g}, b {peer.damping:g}"
        rows.append([name, str(len(errors)), "paper", fitted, f"{position:.1f} ± {spread:.1f}", f"{rotation:.1f} ± {turned:.1f}"])
    count = len(PEERS) * len(tosses.poses)
    return rows, f"MuJoCo: {count} tosses in {time.perf_counter() - clock:.1f} s"


def run(name: str, data: str | None = None, folder: str | None = None) -> dict[str, Any]:
    """One set: ``tables``, ``targets`` with whether they hold, ``pictures``, ``timings``. FileNotFoundError where there is no data for it."""
    found = dict(json.loads(_carom.validate(name, data, folder)))
    if name == "cube":
        rows, timing = peer_rows(data)
        table = found["tables"][0]
        if rows:
            # What was kept of such a run gives way to the run itself.
            table["rows"] = [row for row in table["rows"] if not row[0].endswith(KEPT)]
        table["rows"] += rows
        found["timings"].append(timing)
    return found


def _columns(rows: list[list[str]]) -> str:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def _show(found: dict[str, Any]) -> str:
    lines = [f"{found['title']}  ({found['seconds']:.1f} s)"]
    for table in found["tables"]:
        lines += [_columns([table["head"], *table["rows"]])]
    for target in found["targets"]:
        lines.append(f"{target['what']}: {target['found']:.3f}, wanted {target['least']} to {target['most']}: {'holds' if target['holds'] else 'DOES NOT HOLD'}")
    return "\n".join(lines + found["timings"]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m carom.validate", description="Measured motions beside the engine, and beside MuJoCo where it is installed.")
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"{', '.join(SETS)}; the cube unless said otherwise")
    parser.add_argument("--all", action="store_true", help="every set; those without data are named")
    parser.add_argument("--data", metavar="DIR", help="folder of the .npz files")
    parser.add_argument("--out", metavar="DIR", default="validation", help="folder of the pictures (validation)")
    parser.add_argument("--json", action="store_true", help="one object for programs")
    asked = parser.parse_args(arguments)
    for name in asked.sets:
        if name not in SETS:
            parser.error(f"no set {name!r}; there are {', '.join(SETS)}")
    if asked.data is not None and not os.path.isdir(asked.data):
        parser.error(f"--data: {asked.data} is no folder")
    wanted = [s for s in SETS if asked.all or s in (asked.sets or SETS[:1])]
    done, missing = [], []
    for name in wanted:
        try:
            done.append(run(name, asked.data, asked.out))
        except FileNotFoundError as cause:
            missing.append({"name": name, "status": "not run: no data", "wanted": str(cause)})
        except Error as cause:
            print(f"{name}: {cause}", file=sys.stderr)
            return 1
        else:
            if not asked.json:
                print(_show(done[-1]), flush=True)
    holds = all(target["holds"] for found in done for target in found["targets"])
    if asked.json:
        print(json.dumps({"ok": holds, "sets": done, "missing": missing}, ensure_ascii=False))
    else:
        for one in missing:
            print(f"{one['name']}: {one['wanted']}")
    if missing and not asked.all:
        return 2
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
