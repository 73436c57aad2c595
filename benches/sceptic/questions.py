"""The first things a sceptic asks an engine, each with an answer known in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from scene import GRAVITY, Body, Lacks, Pin, Scene

Roll = Callable[[Scene, int], tuple[np.ndarray, np.ndarray]]

FLOOR = Body((40.0, 1.0), (0.0, -0.5), fixed=True)
MU = 0.5
NUDGE = 1e-4
"""Half the distance of central differences, in the unit of what is changed."""


@dataclass(frozen=True)
class Question:
    """What is asked, the truth, how far off an answer may be, and how an engine is asked."""

    key: str
    text: str
    truth: float
    within: float
    unit: str
    ask: Callable[[Any], float]


def slope(engine: Any, scene: Scene, steps: int, read: tuple[str, int, int], by: tuple[str, int, int]) -> float:
    """The engine's own derivative where it has one, else a central difference of its simulation."""
    if hasattr(engine, "slope"):
        try:
            return engine.slope(scene, steps, read, by)
        except Lacks:
            pass
    what, body, axis = read
    ends = []
    for sign in (1, -1):
        q, v = engine.roll(scene.moved(by[0], sign * NUDGE, *by[1:]), steps)
        ends.append((q if what == "dq" else v)[-1, body, axis])
    return float(ends[0] - ends[1]) / (2 * NUDGE)


def rebound(engine: Any) -> float:
    """How high a ball comes back that falls 1 m."""
    scene = Scene((FLOOR, Body(0.1, (0.0, 1.1))), restitution=0.7)
    height = engine.roll(scene, scene.steps(1.1))[0][:, 1, 1] - 0.1
    strike = int(height[: scene.steps(0.5)].argmin())
    return float(height[strike:].max())


ROW = tuple(Body(0.5, (i - 0.1 * (i == 0), 0.0), (float(i == 0), 0.0)) for i in range(5))
CRADLE = Scene(ROW, gravity=(0.0, 0.0), restitution=1.0)


def cradle(engine: Any) -> float:
    """How far the speeds are from (0, 0, 0, 0, 1) when one ball has struck four that touch."""
    v = engine.roll(CRADLE, CRADLE.steps(1.0))[1][-1, :, 0]
    return float(np.abs(v - np.array([0, 0, 0, 0, 1])).max())


def _rack() -> tuple[Scene, list[int]]:
    """A cue ball on the axis of fifteen, and the mirror image of each."""
    places, mirror = [(-1.1, 0.0)], [0]
    for row in range(5):
        first = len(places)
        for k in range(row + 1):
            places.append((row * math.sqrt(3) / 2, k - row / 2))
            mirror.append(first + row - k)
    return Scene(tuple(Body(0.5, at, (float(i == 0), 0.0)) for i, at in enumerate(places)), gravity=(0.0, 0.0), restitution=1.0), mirror


def rack_energy(engine: Any) -> float:
    """Energy after a break over energy before."""
    scene, _ = _rack()
    q, v = engine.roll(scene, scene.steps(1.0))
    energy = scene.energy(q, v)
    return float(energy[-1] / energy[0])


def rack_symmetry(engine: Any) -> float:
    """How far the speeds of a break on the axis are from their mirror image."""
    scene, mirror = _rack()
    v = engine.roll(scene, scene.steps(1.0))[1][-1, :, :2]
    return float(np.abs(v - v[mirror] * [1, -1]).max())


def rod(engine: Any) -> float:
    """The most that the energy of a rod grows when it strikes the floor askew, of 24 throws."""
    worst = 0.0
    for angle in np.linspace(0.2, 1.4, 6):
        for along in (-1.0, -0.3, 0.3, 1.0):
            low = 0.5 * math.sin(angle) + 0.01 * math.cos(angle)
            scene = Scene((FLOOR, Body((1.0, 0.02), (0.0, low + 0.05), (along, -1.0), angle=float(angle))), gravity=(0.0, 0.0),
                          friction=MU, restitution=1.0)
            energy = scene.energy(*engine.roll(scene, scene.steps(0.15)))
            worst = max(worst, float(energy[-1] / energy[0]))
    return max(worst - 1, 0.0)


def creep(engine: Any) -> float:
    """How far a block slides in 10 s on a slope it must hold, in micrometres; the first second is not counted."""
    slope_of = math.atan(0.9 * MU)
    down = (GRAVITY * math.sin(slope_of), -GRAVITY * math.cos(slope_of))
    scene = Scene((FLOOR, Body((0.5, 0.5), (0.0, 0.25))), gravity=down, friction=MU)
    x = engine.roll(scene, scene.steps(11.0))[0][:, 1, 0]
    return abs(float(x[-1] - x[scene.steps(1.0)])) * 1e6


SLIDE = Scene((FLOOR, Body((0.5, 0.1), (0.0, 0.05), (2.0, 0.0))), friction=MU)
STOP = 2.0**2 / (2 * MU * GRAVITY)


def stop(engine: Any) -> float:
    """Where a sliding block stops."""
    return float(engine.roll(SLIDE, SLIDE.steps(1.0))[0][-1, 1, 0])


def stack(engine: Any) -> float:
    """How far any of ten stacked cubes strays in 10 s, in millimetres."""
    scene = Scene((FLOOR, *(Body((0.5, 0.5), (0.0, 0.25 + 0.5 * i)) for i in range(10))), friction=MU)
    q = engine.roll(scene, scene.steps(10.0))[0][:, 1:, :2]
    return float(np.linalg.norm(q - q[0], axis=-1).max()) * 1e3


def chain(engine: Any) -> float:
    """How much the energy of a swinging chain of ten is off after 10 s, of what the fall frees."""
    bodies = tuple(Body((0.1, 0.01), (0.1 * i + 0.05, 0.0), mass=0.1, ghost=True) for i in range(10))
    pins = tuple(Pin(i - 1 if i else None, i, (0.1 * i, 0.0)) for i in range(10))
    scene = Scene(bodies, pins)
    energy = scene.energy(*engine.roll(scene, scene.steps(10.0)))
    freed = 10 * 0.1 * GRAVITY * 0.5
    return float(np.abs(energy - energy[0]).max() / freed)


def loop(engine: Any) -> float:
    """How far a four-bar loop opens while it swings for 10 s, in micrometres."""
    tip, foot = np.array([0.0, 0.5]), np.array([2.0, 0.0])
    # The coupler of 2 m and the rocker of 1.5 m meet above.
    between = foot - tip
    far = float(np.linalg.norm(between))
    ahead = (2.0**2 - 1.5**2 + far**2) / (2 * far)
    knee = tip + ahead * between / far + math.sqrt(4.0 - ahead**2) * np.array([-between[1], between[0]]) / far

    def point(x: np.ndarray) -> tuple[float, float]:
        return float(x[0]), float(x[1])

    def bar(a: np.ndarray, b: np.ndarray) -> Body:
        length = float(np.linalg.norm(b - a))
        return Body((length, 0.02), point((a + b) / 2), angle=math.atan2(*(b - a)[::-1]), mass=length, ghost=True)

    origin = np.zeros(2)
    scene = Scene((bar(origin, tip), bar(tip, knee), bar(knee, foot)),
                  (Pin(None, 0, (0.0, 0.0)), Pin(0, 1, point(tip)), Pin(1, 2, point(knee)), Pin(None, 2, point(foot))))
    return scene.gap(engine.roll(scene, scene.steps(10.0))[0]) * 1e6


def bullet(engine: Any) -> float:
    """Where a ball at 200 m/s ends that meets a wall of 1 cm."""
    scene = Scene((Body((0.01, 4.0), (5.0, 0.0), fixed=True), Body(0.05, (0.0, 0.0), (200.0, 0.0))), gravity=(0.0, 0.0))
    return float(engine.roll(scene, scene.steps(0.1))[0][-1, 1, 0])


BOUNCE = Scene((FLOOR, Body(0.1, (0.0, 0.1505), (0.0, -1.0))), gravity=(0.0, 0.0), restitution=0.5)
PAIR = Scene((Body(0.1, (-0.5, 0.0), (1.0, 0.0)), Body(0.1, (0.0, 0.0))), gravity=(0.0, 0.0), restitution=1.0)
DROP = Scene((FLOOR, Body(0.1, (0.0, 1.1))), restitution=0.7)
FALL = math.sqrt(2 / GRAVITY)
"""Seconds for one metre."""


def bounce_slope(engine: Any) -> float:
    """The end of a bounce by its start: -e."""
    return slope(engine, BOUNCE, 100, ("dq", 1, 1), ("at", 1, 1))


def pair_slopes(engine: Any) -> float:
    """How far the derivatives of two balls that strike are from (1, 0, 1, 0)."""
    asked = [("dq", "at", 0), ("dq", "at", 1), ("dv", "velocity", 0), ("dv", "velocity", 1)]
    found = [slope(engine, PAIR, 600, (what, 1, 0), (name, body, 0)) for what, name, body in asked]
    return float(np.abs(np.array(found) - [1, 0, 1, 0]).max())


def restitution_slope(engine: Any) -> float:
    """The height of a bouncing ball 0.2 s after it has struck, by the restitution."""
    return slope(engine, DROP, DROP.steps(round(FALL + 0.2, 3)), ("dq", 1, 1), ("restitution", 0, 0))


def stop_slope(engine: Any) -> float:
    """Where a sliding block stops, by the friction."""
    return slope(engine, SLIDE, SLIDE.steps(1.0), ("dq", 1, 0), ("friction", 0, 0))


QUESTIONS = (
    Question("rebound", "a ball of e = 0.7 falls 1 m: it comes back to", 0.49, 0.005, "m", rebound),
    Question("cradle", "one ball strikes four that touch, e = 1: worst error of the speeds", 0.0, 1e-3, "m/s", cradle),
    Question("rack_energy", "a pool break, e = 1: energy after over before", 1.0, 1e-3, "", rack_energy),
    Question("rack_symmetry", "the same break on its axis: worst asymmetry of the speeds", 0.0, 1e-6, "m/s", rack_symmetry),
    Question("rod", "a rod strikes the floor askew with friction, e = 1: largest gain of energy", 0.0, 1e-3, "", rod),
    Question("creep", "a block on a slope it must hold: it slides in 10 s", 0.0, 1.0, "µm", creep),
    Question("stop", "a block sliding at 2 m/s with mu = 0.5 stops after", STOP, 2e-3, "m", stop),
    Question("stack", "ten stacked cubes: the largest move in 10 s", 0.0, 1e-2, "mm", stack),
    Question("bullet", "a ball at 200 m/s meets a wall of 1 cm at 5 m: it ends at", 4.945, 1e-2, "m", bullet),
    Question("chain", "ten hinged links swing for 10 s: error of the energy", 0.0, 1e-2, "", chain),
    Question("loop", "a four-bar loop swings for 10 s: it opens by", 0.0, 1e-3, "µm", loop),
    Question("bounce_slope", "d end / d start of a bounce of e = 0.5", -0.5, 1e-3, "", bounce_slope),
    Question("pair_slopes", "gradient of two balls that strike, (1, 0, 1, 0): worst error", 0.0, 1e-3, "", pair_slopes),
    Question("restitution_slope", "d height / d e, 0.2 s after the bounce", GRAVITY * FALL * (round(FALL + 0.2, 3) - FALL), 1e-2, "m", restitution_slope),
    Question("stop_slope", "d stopping place / d mu", -STOP / MU, 5e-3, "m", stop_slope),
)
