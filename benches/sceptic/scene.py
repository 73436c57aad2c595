"""A scene in the plane that every engine can build: blocks and balls, pins between them, one friction and one restitution for all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

GRAVITY = 9.81
"""m/s^2."""


@dataclass(frozen=True)
class Body:
    """A ball (``size`` is its radius) or a block (width and height), uniform; engines in space use x and z."""

    size: float | tuple[float, float]
    at: tuple[float, float]
    velocity: tuple[float, float] = (0.0, 0.0)
    angle: float = 0.0
    spin: float = 0.0
    mass: float = 1.0
    fixed: bool = False
    ghost: bool = False
    """Touches nothing."""

    @property
    def round(self) -> bool:
        """Whether it is a ball."""
        return isinstance(self.size, float)

    @property
    def depth(self) -> float:
        """Of a block, for engines in space: square from above; what is fixed is as deep as it is long."""
        width, height = self.size
        return max(width, height) if self.fixed else width

    @property
    def inertia(self) -> float:
        """About the axis out of the plane: a ball in space has 2/5 m r^2, a disk 1/2 m r^2; no question turns a ball."""
        if isinstance(self.size, float):
            return 0.4 * self.mass * self.size**2
        return self.mass * (self.size[0] ** 2 + self.size[1] ** 2) / 12


@dataclass(frozen=True)
class Pin:
    """A hinge between two bodies, or a body and the world (None)."""

    a: int | None
    b: int
    at: tuple[float, float]


@dataclass(frozen=True)
class Scene:
    """What an engine is given."""

    bodies: tuple[Body, ...]
    pins: tuple[Pin, ...] = ()
    gravity: tuple[float, float] = (0.0, -GRAVITY)
    friction: float = 0.0
    restitution: float = 0.0
    step: float = 1e-3

    def steps(self, seconds: float) -> int:
        """How many steps that is."""
        return round(seconds / self.step)

    def moved(self, name: str, by: float, body: int = 0, axis: int = 0) -> Scene:
        """The scene with one number changed: ``friction``, ``restitution``, or ``at`` or ``velocity`` of a body."""
        if name in ("friction", "restitution"):
            return replace(self, **{name: getattr(self, name) + by})
        bodies = list(self.bodies)
        value = list(getattr(bodies[body], name))
        value[axis] += by
        bodies[body] = replace(bodies[body], **{name: tuple(value)})
        return replace(self, bodies=tuple(bodies))

    def energy(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Kinetic and potential energy of states (..., n, 3)."""
        mass = np.array([0.0 if b.fixed else b.mass for b in self.bodies])
        inertia = np.array([0.0 if b.fixed else b.inertia for b in self.bodies])
        kinetic = (mass * (v[..., :2] ** 2).sum(-1) + inertia * v[..., 2] ** 2).sum(-1) / 2
        return kinetic - (mass * (q[..., :2] @ np.array(self.gravity))).sum(-1)

    def gap(self, q: np.ndarray) -> float:
        """The largest distance between the two ends of a pin over states (T, n, 3), in metres."""

        def end(body: int | None, at: tuple[float, float]) -> np.ndarray:
            if body is None:
                return np.array(at)
            arm = np.array(at) - np.array(self.bodies[body].at)
            turn = q[:, body, 2] - self.bodies[body].angle
            return q[:, body, :2] + np.stack([np.cos(turn) * arm[0] - np.sin(turn) * arm[1], np.sin(turn) * arm[0] + np.cos(turn) * arm[1]], -1)

        return max(float(np.linalg.norm(end(pin.a, pin.at) - end(pin.b, pin.at), axis=-1).max()) for pin in self.pins)


class Lacks(Exception):
    """The engine has no means to answer, in a few words."""
