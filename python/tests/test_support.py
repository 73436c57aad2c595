"""docs/support.md: every cell of its table is what the engine does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import carom

PAGE = Path(__file__).resolve().parents[2] / "docs" / "support.md"
INTEGRATORS = ("verlet", "euler", "energy-momentum")

BALL = """
[[body]]
kind = "static"
shape = { half_space = [0, 1] }
restitution = 0.6
friction = 0.4
[[body]]
name = "ball"
shape = { ball = 0.2 }
position = [0, 0.5]
velocity = [1.5, -0.5]
spin = 0.7
restitution = 0.5
friction = 0.3
"""
BOX = """
[[body]]
kind = "static"
shape = { half_space = [0, 0, 1] }
[[body]]
name = "box"
shape = { box = [0.4, 0.3, 0.2] }
position = [0, 0, 0.1]
velocity = [1, 0.3, 0]
spin = [0, 0, 2]
"""
ARM = """
[[body]]
name = "arm"
shape = { box = [0.5, 0.05] }
position = [0.25, 0]
[[joint]]
kind = "hinge"
between = ["world", "arm"]
anchor = [0, 0]
limits = [-0.5, 0.5]
motor = { velocity = 2, max = 5 }
"""
TIES = """
[[body]]
name = "a"
shape = { ball = 0.1 }
position = [0.5, 0]
[[body]]
name = "b"
shape = { ball = 0.1 }
position = [1, 0]
[[joint]]
kind = "rope"
between = ["world", "a"]
anchors = [[0, 0], [0.5, 0]]
length = 0.6
[[joint]]
kind = "spring"
between = ["a", "b"]
anchors = [[0.5, 0], [1, 0]]
rest = 0.4
stiffness = 50
"""
STEPS = 60


def world(integrator: str, body: str, *top: str, dimension: int = 2) -> carom.World:
    return carom.World.from_toml("\n".join([f"dimension = {dimension}", "step = 0.01", f'integrator = "{integrator}"', *top, body]))


def stepped(*arguments, **options) -> None:
    made = world(*arguments, **options)
    made.step(STEPS)
    ledger = made.ledger()
    energy = abs(ledger.kinetic) + abs(ledger.potential) + 1.0
    assert np.isfinite(made.q).all() and abs(ledger.drift) < 0.2 * energy


def differentiated(integrator: str, body: str, within: float, **options) -> None:
    """The gradient of the last place by the first velocity, against a central difference; smoothed ones are biased."""
    made = world(integrator, body)
    cotangent = np.zeros((len(made.bodies), 3))
    cotangent[-1, 0] = 1.0
    found = made.rollout(STEPS).backward(dq=cotangent, **options).v0[-1, 0]

    def end(change: float) -> float:
        other, v = made.copy(), np.array(made.v)
        v[-1, 0] += change
        other.v = v
        return other.rollout(STEPS, tape=False).q[-1, -1, 0]

    assert found == pytest.approx((end(1e-6) - end(-1e-6)) / 2e-6, abs=within)


def batched(integrator: str) -> None:
    made = world(integrator, BALL)
    assert (carom.Batch(made, 3).rollout(STEPS, tape=False).q == made.rollout(STEPS, tape=False).q).all()


def newton_off(integrator: str) -> None:
    for how in ("halving", "off"):
        stepped(integrator, BALL, 'impact = "newton"', f'time_of_impact = "{how}"')


def literal(integrator: str) -> None:
    made = world(integrator, BALL, 'impact = "newton"', 'time_of_impact = "halving-literal"')
    made.step(STEPS)
    assert np.isfinite(made.q).all()  # its books show what the scheme gains
    with pytest.raises(carom.SolveError, match="halving-literal"):
        made.rollout(2).backward(dq=np.zeros((2, 3)))


def stabilised(integrator: str) -> None:
    for how in ("velocity", "velocity-literal"):
        made = world(integrator, ARM, 'impact = "newton"', 'time_of_impact = "halving"', f'stabilisation = "{how}"')
        made.step(STEPS)
        assert np.isfinite(made.q).all()
        with pytest.raises(carom.SolveError, match="stabilisation"):
            made.rollout(2).backward(dq=np.zeros((1, 3)))


ROWS = {
    "impact law `auto`, one contact": lambda i: stepped(i, BALL),
    **{f"impact law `{law}`": lambda i, law=law: stepped(i, BALL, f'impact = "{law}"') for law in ("reflections", "gauss-seidel", "stronge", "newton")},
    **{f'`time_of_impact = "{how}"`': lambda i, how=how: stepped(i, BALL, f'time_of_impact = "{how}"') for how in ("event", "halving", "off")},
    "`newton` with `halving` or `off`": newton_off,
    "`newton` with `halving-literal`": literal,
    '`stabilisation = "velocity"` or `"velocity-literal"` (with `newton`, `halving`)': stabilised,
    '`gyroscopic = "forward"` (space)': lambda i: stepped(i, BOX, 'gyroscopic = "forward"', dimension=3),
    "`friction_cone = 8` (space)": lambda i: stepped(i, BOX, "friction_cone = 8", dimension=3),
    "joints, limits, motors": lambda i: stepped(i, ARM),
    "springs and ropes": lambda i: stepped(i, TIES),
    "gradients through contact and impact": lambda i: differentiated(i, BALL, 1e-6),
    "gradients of a mechanism": lambda i: differentiated(i, TIES, 1e-5),
    "smoothed gradients (`kappa`)": lambda i: differentiated(i, BALL, 1e-2, kappa=1e-8),
    "batches with the same bits": batched,
}


def cells():
    table = PAGE.read_text().split("<!-- table: support -->")[1].split("<!-- end -->")[0]
    for line in table.splitlines():
        name, *answers = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] if line.startswith("|") else [""]
        if len(answers) == len(INTEGRATORS) and name and not set(name) <= set("-"):
            for integrator, answer in zip(INTEGRATORS, answers):
                yield pytest.param(name, integrator, answer, id=f"{name}-{integrator}")


@pytest.mark.parametrize(("name", "integrator", "answer"), list(cells()))
def test_cell(name, integrator, answer):
    if answer == "yes":
        ROWS[name](integrator)
        return
    assert answer == "refused"
    with pytest.raises(carom.Error):
        ROWS[name](integrator)


def test_the_table_is_whole():
    assert {parameters.values[0] for parameters in cells()} == set(ROWS)
