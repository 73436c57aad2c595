"""Golden data and small scenes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

LARGE = ("furo", "gymnasium", "imageio_ffmpeg", "jax", "mujoco", "nbclient", "pxr", "pygltflib", "ray", "rerun", "torch")
"""Packages that the core checks do without, also where they are installed."""

if os.environ.get("CAROM_CORE") == "1":
    sys.modules.update(dict.fromkeys(LARGE))  # an import of None fails
    _importorskip = pytest.importorskip

    def _skipped(name: str, *arguments, **options):
        if name.partition(".")[0] in LARGE:
            pytest.skip(f"{name} is left to ./check --all", allow_module_level=True)
        return _importorskip(name, *arguments, **options)

    pytest.importorskip = _skipped

ORACLES = Path(__file__).resolve().parents[2] / "tests" / "oracles"


def cases(family: str) -> list:
    """The cases of a golden file."""
    return json.loads((ORACLES / f"{family}.json").read_text())["cases"]


THROW = """
dimension = 2
step = 0.01
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 1] }
restitution = 0.6
friction = 0.4
[[body]]
name = "ball"
shape = { ball = 0.2 }
position = [0, 1.0]
velocity = [1.5, -0.5]
spin = 0.7
restitution = 0.5
friction = 0.3
[[force]]
body = "ball"
force = [1, 0.5]
torque = 0.2
control = true
"""

ARM = """
dimension = 3
step = 0.01
[[body]]
name = "arm"
shape = { box = [0.5, 0.05, 0.08] }
position = [0.5, 0, 0]
velocity = [0, 0, 0]
[[joint]]
name = "hip"
kind = "hinge"
between = ["world", "arm"]
anchor = [0, 0, 0]
axis = [0, 1, 0]
motor = { control = true }
[[body]]
name = "stone"
shape = { ball = 0.1 }
position = [2, 0, 1]
velocity = [0.3, 0.1, 0]
spin = [0.5, -0.4, 0.2]
"""


@pytest.fixture
def throw():
    import carom

    return carom.World.from_toml(THROW)


@pytest.fixture
def arm():
    import carom

    return carom.World.from_toml(ARM)
