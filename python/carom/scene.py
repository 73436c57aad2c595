"""Scenes built by calls: the keys, checks and messages of the scene file, with the place of the call."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, Literal, Mapping, Sequence, TypedDict, Union

import numpy as np

from ._carom import Builder, SceneError
from ._check import count, numbers
from .world import World, _path

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Scene"]

Numbers = Union[Sequence[float], np.ndarray]
Rows = Union[Sequence[Sequence[float]], np.ndarray]


Rule = Literal["max", "product", "geometric", "min", "mean"]


class CombineKeys(TypedDict, total=False):
    """How the coefficients of two bodies become that of their pair."""

    friction: Rule
    restitution: Rule


class TopKeys(TypedDict, total=False):
    """Keys of the top level."""

    name: str
    description: str
    gravity: Numbers
    step: float
    duration: float
    impact: str | Mapping[str, Any]
    solver: Literal["auto", "interior-point", "articulated"]
    friction_cone: Literal["cone"] | int
    integrator: Literal["verlet", "euler", "energy-momentum"]
    gyroscopic: Literal["exact", "forward"]
    time_of_impact: Literal["event", "halving", "halving-literal", "off"]
    stabilisation: Literal["position", "velocity", "velocity-literal"]
    combine: CombineKeys
    tolerances: Mapping[str, float]
    include: Sequence[Mapping[str, Any]]


class MaterialKeys(TypedDict, total=False):
    """Keys of a material."""

    restitution: float
    friction: float
    rolling: float
    torsional: float
    combine: CombineKeys


class BodyKeys(TypedDict, total=False):
    """Keys of a body, besides its name."""

    kind: Literal["dynamic", "static", "kinematic"]
    shape: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    mass: float
    density: float
    inertia: float | Numbers | Rows
    centre: Numbers
    position: Numbers
    origin: Literal["centre", "frame"]
    angle: float
    rotation: Numbers
    velocity: Numbers
    spin: float | Numbers
    material: str
    restitution: float
    friction: float
    rolling: float
    torsional: float
    combine: CombineKeys
    group: Sequence[str]
    mask: Sequence[str]
    damping: float
    spin_damping: float
    drag: float
    locked: Sequence[Literal["x", "y", "z", "rotation"]]
    color: str


class JointKeys(TypedDict, total=False):
    """Keys of a joint, besides its name."""

    kind: Literal["hinge", "ball", "slider", "weld", "universal", "distance", "rope", "cylindrical", "planar", "spring", "screw", "coupling"]
    between: Sequence[str]
    anchor: Numbers
    axis: Numbers
    anchors: Rows
    axes: Rows
    length: float
    lead: float
    rest: float
    stiffness: float
    damping: float
    limits: Numbers
    motor: Mapping[str, Any]
    friction: float
    armature: float
    joints: Mapping[str, float]
    offset: float
    collide: bool


class PairKeys(TypedDict, total=False):
    """Keys of a rule of a pair."""

    between: Sequence[str]
    restitution: float
    friction: float
    rolling: float
    torsional: float
    impact: str | Mapping[str, Any]
    collide: bool


class ForceKeys(TypedDict, total=False):
    """Keys of a force; ``from``, a word of Python, is written ``from_``."""

    body: str
    force: Numbers
    torque: float | Numbers
    at: Numbers
    from_: float
    until: float
    control: bool


class PointKeys(TypedDict, total=False):
    """Keys of a named point."""

    body: str
    at: Numbers
    angle: float
    rotation: Numbers


class RepeatKeys(TypedDict, total=False):
    """Keys of a repeat."""

    count: int | Sequence[int]
    offset: Numbers | Rows
    turn: float
    pattern: Literal["line", "grid", "triangle"]
    body: Mapping[str, Any]
    joint: Mapping[str, Any] | Sequence[Mapping[str, Any]]


def _plain(value: Any) -> Any:
    """Arrays and their numbers as lists and numbers."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


class Scene:
    """A scene in the making: ``Scene(2, gravity=[0, -9.81])``, then ``body``, ``joint``, ...; every argument is a key of the scene file.

    What is wrong with a call is a :class:`carom.SceneError` at once, with the message of the file and the place of the call; what is wrong between calls, as a
    joint on a body that does not exist, comes from ``world()``. Calls return the scene, so that they can be chained.

    >>> scene = Scene(2)
    >>> _ = scene.body("ground", kind="static", shape={"half_space": [0, 1]}).body("ball", shape={"ball": 0.1}, position=[0, 1])
    >>> scene.world().bodies
    ['ground', 'ball']
    """

    __slots__ = ("_builder", "_dimension", "_notes")

    _notes: tuple[str, ...]

    def __init__(self, dimension: int, **top: Unpack[TopKeys]) -> None:
        self._dimension = count("dimension", dimension, error=SceneError, least=2, most=3)
        self._builder, self._notes = Builder(self._dimension), ()
        self._call("top", "", top)

    def _call(self, table: str, name: str, keys: Mapping[str, Any]) -> Scene:
        caller = sys._getframe(2)
        given = {"from" if key == "from_" else key: _plain(value) for key, value in keys.items() if value is not None}
        self._builder.call(caller.f_code.co_filename, caller.f_lineno, table, name, given)
        return self

    def top(self, **keys: Unpack[TopKeys]) -> Scene:
        """Sets keys of the top level; said again, the last one counts."""
        return self._call("top", "", keys)

    def material(self, name: str, **keys: Unpack[MaterialKeys]) -> Scene:
        """A material that bodies name."""
        if not isinstance(name, str):
            raise SceneError(f"name: needs a string, found {name!r}")
        return self._call("material", name, keys)

    def body(self, name: str | None = None, **keys: Unpack[BodyKeys]) -> Scene:
        """A body; without a name it is called ``body0``, ``body1``, ... by its place."""
        return self._call("body", "", {"name": name, **keys})

    def joint(self, name: str | None = None, **keys: Unpack[JointKeys]) -> Scene:
        """A joint; without a name it is called by its place."""
        return self._call("joint", "", {"name": name, **keys})

    def pair(self, **keys: Unpack[PairKeys]) -> Scene:
        """A rule of a pair of bodies."""
        return self._call("pair", "", keys)

    def force(self, **keys: Unpack[ForceKeys]) -> Scene:
        """A force or torque on a body."""
        return self._call("force", "", keys)

    def point(self, name: str, **keys: Unpack[PointKeys]) -> Scene:
        """A named point of a body, with axes of its own: a tool, a sensor, a foot."""
        return self._call("point", "", {"name": name, **keys})

    def repeat(self, **keys: Unpack[RepeatKeys]) -> Scene:
        """Copies of a body and its joints."""
        return self._call("repeat", "", keys)

    def add(self, path: str | os.PathLike[str], name: str | None = None, position: Any = None, rotation: Any = None) -> Scene:
        """The bodies, joints, pairs and forces of a scene file, or of a URDF, MJCF or SDF model, placed; names become ``name.part`` where a name is given.

        ``rotation`` is an angle [rad] in the plane, (w, x, y, z) in space. Gravity, step and choices of the file are left behind; what of a model is not
        supported is warned of and listed by ``world().notes``.
        """
        if name is not None and not isinstance(name, str):
            raise SceneError(f"name: needs a string, found {name!r}")
        turns: tuple = ((), (1,)) if self._dimension == 2 else ((4,),)
        at = [] if position is None else numbers("position", position, (self._dimension,), error=SceneError).tolist()
        turn = [] if rotation is None else numbers("rotation", rotation, *turns, error=SceneError).ravel().tolist()
        caller = sys._getframe(1)
        notes = self._builder.add(caller.f_code.co_filename, caller.f_lineno, _path(path), name, at, turn)
        if notes:
            warnings.warn(f"{len(notes)} not supported:\n" + "\n".join(notes), stacklevel=2)
        self._notes += tuple(notes)
        return self

    def to_toml(self) -> str:
        """The scene as a file would say it, in the order of the calls."""
        return self._builder.to_toml()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the scene to a file."""
        with open(_path(path), "w", encoding="utf-8") as file:
            file.write(self.to_toml())

    def world(self) -> World:
        """The scene as a world."""
        native, notes = self._builder.world()
        world = World._of(native)
        world._notes = self._notes + tuple(notes)
        return world

    def copy(self) -> Scene:
        """The same calls once more: what is added to one is not in the other."""
        other = object.__new__(Scene)
        other._dimension, other._builder, other._notes = self._dimension, self._builder.copy(), self._notes
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Scene:
        return self.copy()

    def __repr__(self) -> str:
        text = self.to_toml()
        tables = {table: text.count(f"\n[[{table}]]\n") for table in ("body", "joint", "pair", "force", "point", "repeat")}
        return f"Scene({self._dimension}, {', '.join(f'{table}: {number}' for table, number in tables.items() if number)})"
