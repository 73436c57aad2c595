"""carom, with its defaults but for the integrator of mechanisms (docs/integrators.md)."""

from __future__ import annotations

import numpy as np

import carom
from scene import Scene

NAME = "carom"
SETTINGS = "defaults; the energy-momentum integrator where pins swing"


def version() -> str:
    """Of the package."""
    return carom.__version__


def _world(scene: Scene) -> carom.World:
    """The scene in the plane."""
    text = [f"dimension = 2\ngravity = {list(scene.gravity)}\nstep = {scene.step!r}"]
    if scene.pins:
        text.append('integrator = "energy-momentum"')
    for i, body in enumerate(scene.bodies):
        shape = f"{{ ball = {body.size!r} }}" if body.round else f"{{ box = {list(body.size)} }}"
        text.append(
            f'[[body]]\nname = "b{i}"\nkind = "{"static" if body.fixed else "dynamic"}"\nshape = {shape}\nposition = {list(body.at)}\n'
            f"angle = {body.angle!r}\nvelocity = {list(body.velocity)}\nspin = {body.spin!r}\n"
            f"friction = {scene.friction!r}\nrestitution = {scene.restitution!r}"
        )
        if not body.fixed:
            text.append(f"mass = {body.mass!r}")
        if body.ghost:
            text.append("mask = []")
    for i, pin in enumerate(scene.pins):
        other = "world" if pin.a is None else f"b{pin.a}"
        text.append(f'[[joint]]\nname = "p{i}"\nkind = "hinge"\nbetween = ["b{pin.b}", "{other}"]\nanchor = {list(pin.at)}')
    return carom.World.from_toml("\n".join(text))


def roll(scene: Scene, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses and velocities (T+1, n, 3)."""
    run = _world(scene).rollout(steps, tape=False)
    return run.q, run.v


def slope(scene: Scene, steps: int, read: tuple[str, int, int], by: tuple[str, int, int]) -> float:
    """The derivative of an entry of the last state by a number of the scene: one backward pass."""
    what, body, axis = read
    cotangent = np.zeros((len(scene.bodies), 3))
    cotangent[body, axis] = 1.0
    gradient = _world(scene).rollout(steps).backward(**{what: cotangent})
    name, body, axis = by
    if name in ("friction", "restitution"):
        return float(gradient[name].sum())
    return float((gradient.q0 if name == "at" else gradient.v0)[body, axis])
