"""One body and one joint of a world, by name: views that read the world as it is when they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _carom
from ._carom import ModelError
from ._check import flat, numbers, place

if TYPE_CHECKING:
    from .world import World

__all__ = ["Body", "Joint", "Point"]


def turned(rotation: np.ndarray) -> np.ndarray:
    """The matrix of an angle (1,) or of a quaternion (4,)."""
    if len(rotation) == 1:
        c, s = np.cos(rotation[0]), np.sin(rotation[0])
        return np.array([[c, -s], [s, c]])
    w, x, y, z = rotation
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


class Body:
    """A body of a world: where it is, how it moves, and a hand on it.

    ``position`` and ``velocity`` are those of its centre of mass; points and ``at`` are measured from there in the frame of the body.
    """

    __slots__ = ("_known", "_place", "_world", "name")

    def __init__(self, world: World, name: str, index: int) -> None:
        self._world, self.name, self._place, self._known = world, name, index, world._names

    @property
    def _index(self) -> int:
        """Its number, which changes when bodies and joints come and go."""
        if self._known is not self._world._names:
            self._place = place("body", self.name, self._world._names[0], error=ModelError)
            self._known = self._world._names
        return self._place

    @property
    def position(self) -> np.ndarray:
        """Centre of mass in the world (dim,) [m]."""
        return self._world.q[self._index, : self._world.dimension]

    @property
    def rotation(self) -> Any:
        """Angle [rad] in the plane, quaternion (w, x, y, z) in space."""
        rotation = self._world.q[self._index, self._world.dimension :]
        return float(rotation[0]) if self._world.dimension == 2 else rotation

    @property
    def velocity(self) -> np.ndarray:
        """Velocity of the centre of mass, world axes (dim,) [m/s]."""
        return self._world.v[self._index, : self._world.dimension]

    @property
    def spin(self) -> Any:
        """Rate [rad/s]: a number in the plane, a vector in world axes in space."""
        spin = self._world.v[self._index, self._world.dimension :]
        return float(spin[0]) if self._world.dimension == 2 else spin

    @property
    def matrix(self) -> np.ndarray:
        """The rotation as a matrix, body to world (dim, dim)."""
        return turned(np.atleast_1d(self.rotation))

    @property
    def v_body(self) -> np.ndarray:
        """Velocity and spin in the frame of the body (3,) or (6,)."""
        turn, velocity = self.matrix.T, self.velocity
        spin = [self.spin] if self._world.dimension == 2 else turn @ self.spin
        return np.concatenate([turn @ velocity, spin])

    def point(self, p: Any) -> np.ndarray:
        """A point of the body in the world [m]."""
        local = numbers("p", p, (self._world.dimension,), error=ModelError)
        return self.position + self.matrix @ local

    def apply(self, force: Any = None, torque: Any = None, at: Any = None) -> None:
        """Pushes the body during the next step, on top of other pushes: ``force`` [N] and ``torque`` [N m] in world axes, ``at`` a point of the body.

        The work is booked as put in. Copies, rollouts and pickles of the world know nothing of it, and only dynamic bodies feel it.
        """
        dimension = self._world.dimension
        turns: tuple = ((), (1,)) if dimension == 2 else ((3,),)
        push = np.zeros(dimension) if force is None else numbers("force", force, (dimension,), error=ModelError)
        turn = np.zeros(2 * dimension - 3) if torque is None else numbers("torque", torque, *turns, error=ModelError)
        arm = None if at is None else flat(numbers("at", at, (dimension,), error=ModelError))
        _carom.apply(self._world._native, self._index, flat(push), flat(turn), arm)

    def __repr__(self) -> str:
        return f"Body({self.name!r}, position={np.array2string(self.position, precision=6, separator=', ')})"


class Point:
    """A named point of a body of a world, with axes of its own: a tool, a sensor, a foot.

    ``body`` is the name of its body (``"world"`` where it stands on the world), ``at`` its place in the frame of the body, from the centre of mass.
    """

    __slots__ = ("_local", "_world", "at", "body", "name")

    def __init__(self, world: World, name: str, body: str, at: Any, rotation: Any) -> None:
        self._world, self.name, self.body, self.at, self._local = world, name, body, np.array(at), np.array(rotation)

    def _frame(self) -> tuple[np.ndarray, np.ndarray]:
        """Place of the centre of mass and rotation of its body."""
        if self.body == "world":
            return np.zeros(self._world.dimension), np.eye(self._world.dimension)
        body = self._world.body(self.body)
        return body.position, body.matrix

    @property
    def position(self) -> np.ndarray:
        """Where it is in the world (dim,) [m]."""
        place, turn = self._frame()
        return place + turn @ self.at

    @property
    def matrix(self) -> np.ndarray:
        """Its axes in the world, as columns (dim, dim)."""
        return self._frame()[1] @ turned(self._local)

    @property
    def velocity(self) -> np.ndarray:
        """How fast it moves, world axes (dim,) [m/s]."""
        if self.body == "world":
            return np.zeros(self._world.dimension)
        body, arm = self._world.body(self.body), self._frame()[1] @ self.at
        spin = np.array([-arm[1], arm[0]]) * body.spin if self._world.dimension == 2 else np.cross(body.spin, arm)
        return body.velocity + spin

    def jacobian(self) -> np.ndarray:
        """How the rates of the joint coordinates move it (dim, nc), world axes."""
        if self.body == "world":
            return np.zeros((self._world.dimension, len(self._world.joint_names)))
        return self._world.point_jacobian(self.body, self.at)

    def __repr__(self) -> str:
        return f"Point({self.name!r}, body={self.body!r}, position={np.array2string(self.position, precision=6, separator=', ')})"


class Joint:
    """A joint of a world: its coordinate, rate, limits and target, and what it did in the last step.

    Forces are the mean over the step [N or N m], 0 before the first one and in copies; impulses of impacts are not part of them, and the integrator
    ``"energy-momentum"`` keeps none.
    """

    __slots__ = ("_known", "_place", "_world", "name")

    def __init__(self, world: World, name: str, index: int) -> None:
        self._world, self.name, self._place, self._known = world, name, index, world._names

    @property
    def _index(self) -> int:
        """Its number, which changes when bodies and joints come and go."""
        if self._known is not self._world._names:
            self._place = place("joint", self.name, self._world._names[1], error=ModelError)
            self._known = self._world._names
        return self._place

    def _facts(self) -> tuple:
        return _carom.joint_facts(self._world._native, self._index)

    def _read(self, which: int) -> Any:
        _, _, first, alone, _, _ = self._facts()
        if first is None:
            return None if alone is None else alone[which]
        values = _carom.joint_state(self._world._native)[which]
        mine = [i for i, name in enumerate(self._world.joint_names) if i >= first and (name == self.name or name.rpartition(".")[0] == self.name)]
        return float(values[first]) if self._world.joint_names[first] == self.name else values[mine]

    @property
    def kind(self) -> str:
        """The word of the scene file."""
        return self._facts()[0]

    @property
    def bodies(self) -> tuple[str, str]:
        """Names of its bodies; ``"world"`` where it stands on the world."""
        a, b = self._facts()[1]
        return a or "world", b or "world"

    @property
    def position(self) -> Any:
        """Angle [rad] or length [m], the first body relative to the second; an array where a joint has several, None where it has none."""
        return self._read(0)

    @property
    def rate(self) -> Any:
        """Its rate [rad/s or m/s]; of a ball joint the rate of the first body relative to the second, in the axes of the second."""
        return self._read(1)

    @property
    def limits(self) -> tuple[float, float] | None:
        """Limits of the coordinate; None where it has none."""
        limits = self._facts()[4]
        return None if limits is None else (limits[0], limits[1])

    @property
    def target(self) -> float | None:
        """Position or rate that its motor aims at; None without such a motor. ``params["joint_motor_position[name]"]`` sets it."""
        return self._facts()[5]

    def _effort(self) -> tuple[list[float], np.ndarray]:
        return _carom.joint_effort(self._world._native, self._index)

    @property
    def force(self) -> float:
        """What the motor, or the control, did along the coordinate in the last step."""
        return self._effort()[0][0]

    @property
    def limit_force(self) -> float:
        """What the limits did along the coordinate; the tension of a rope."""
        return self._effort()[0][1]

    @property
    def friction_force(self) -> float:
        """What dry friction did along the coordinate."""
        return self._effort()[0][2]

    @property
    def reaction(self) -> np.ndarray:
        """What holds the joint together, as a wrench on the second body (3,) or (6,): at its centre of mass, or the origin of the world; world axes."""
        return self._effort()[1]

    def __repr__(self) -> str:
        return f"Joint({self.name!r}, kind={self.kind!r}, position={self.position!r}, rate={self.rate!r})"
