"""Rapier in the plane with f64, driven through a small program that cargo compiles (benches/sceptic/rapier)."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import numpy as np

from scene import Scene

NAME = "Rapier"
SETTINGS = "impulse joints, 50 iterations, continuous detection on"
HOME = Path(__file__).with_name("rapier")
TARGET = Path(__file__).parents[2] / "target" / "sceptic"


def version() -> str:
    """Of the crate that was compiled."""
    found = re.search(r'name = "rapier2d-f64"\nversion = "([^"]+)"', (HOME / "Cargo.lock").read_text())
    return found[1] if found else ""


@cache
def _program() -> Path:
    """The compiled program."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "--manifest-path", HOME / "Cargo.toml", "--target-dir", TARGET], check=True)
    return TARGET / "release" / "sceptic-rapier"


_program()


def roll(scene: Scene, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses and velocities (T+1, n, 3)."""
    numbers: list[float] = [*scene.gravity, scene.step, scene.friction, scene.restitution, steps, len(scene.bodies)]
    for body in scene.bodies:
        size = (body.size, 0.0) if body.round else body.size
        numbers += [body.round, *size, *body.at, body.angle, *body.velocity, body.spin, body.mass, body.fixed, body.ghost]
    numbers.append(len(scene.pins))
    for pin in scene.pins:
        numbers += [-1 if pin.a is None else pin.a, pin.b, *pin.at]
    text = " ".join(repr(float(x)) for x in numbers)
    done = subprocess.run([_program()], input=text.encode(), capture_output=True, check=True)
    states = np.frombuffer(done.stdout, dtype="<f8").reshape(steps + 1, len(scene.bodies), 6)
    return states[..., :3], states[..., 3:]
