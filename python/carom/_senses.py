"""What sensors ask of a world: forces of contacts, events, distances, rays; and bodies that come and go."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable

import numpy as np

from . import _carom
from ._carom import ModelError, SceneError, Worlds
from ._check import Result, flat, numbers, place, several

if TYPE_CHECKING:
    from .scene import Scene
    from .world import World

__all__ = ["Event", "Hit", "Senses"]


@dataclass(frozen=True, eq=False, repr=False)
class Event(Result):
    """A contact of two bodies that ``"began"``, ``"ended"`` or ``"struck"`` in the last step.

    ``bodies`` are the names of a and b; ``point`` [m] and ``normal`` (from b to a) those of its greatest impulse, at the end of the step; ``impulse`` [N s] acts
    on a: of a strike that of its impacts, otherwise all of the step.
    """

    kind: str
    bodies: tuple[str, str]
    point: np.ndarray
    normal: np.ndarray
    impulse: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Hit(Result):
    """What a ray met first: the ``body``, the ``distance`` [m] from its start, the ``point`` [m] and the outward ``normal`` of the surface there."""

    body: str
    distance: float
    point: np.ndarray
    normal: np.ndarray


class Senses:
    """Contacts as sensors feel them, and edits of a world that runs."""

    __slots__ = ()

    _native: Worlds
    _dimension: int
    _sizes: tuple[int, int, int, int]
    _names: list[list[str]]
    _notes: tuple[str, ...]

    def contact_force(self, a: str, b: str | None = None) -> np.ndarray:
        """Force and torque of contacts on body a over the last step (3,) or (6,) [N, N m], from body b or from all.

        It is the impulse over the step, in world axes, the torque about the centre of mass; zeros before the first step.
        """
        body = place("a", a, self._names[0], error=ModelError)
        return _carom.contact_force(self._native, body, None if b is None else place("b", b, self._names[0], error=ModelError))

    def events(self) -> list[Event]:
        """Contacts that began, ended and struck in the last step, by pairs of bodies. A ball that bounces strikes, and neither begins nor ends."""
        names = self._names[0]
        return [Event(kind, (names[a], names[b]), point, normal, impulse) for kind, a, b, point, normal, impulse in _carom.events(self._native)]

    def distance(self, a: str, b: str) -> float:
        """Distance of two bodies [m], whether they may touch or not: minus the depth where they overlap, inf where one has no shape."""
        one, two = (place(key, name, self._names[0], error=ModelError) for key, name in (("a", a), ("b", b)))
        if one == two:
            raise ModelError(f'b: needs another body than a, found "{b}" twice')
        return _carom.distance(self._native, one, two)

    def ray(self, origin: Any, direction: Any, ignore: str | Iterable[str] = ()) -> Hit | None:
        """What a ray from ``origin`` [m] along ``direction`` meets first, but for the bodies to ``ignore``; None where it meets nothing.

        A ray that starts within a solid meets it at once, at distance 0: a sensor ignores the body it sits in.
        """
        start = numbers("origin", origin, (self._dimension,), error=ModelError)
        along = numbers("direction", direction, (self._dimension,), error=ModelError)
        if not along.any():
            raise ModelError("direction: needs a vector that is not 0")
        skipped = [place("ignore", name, self._names[0], error=ModelError) for name in several("ignore", ignore, error=ModelError)]
        found = _carom.ray(self._native, flat(start), flat(along), skipped)
        return None if found is None else Hit(self._names[0][found[0]], *found[1:])

    def add(  # type: ignore[misc]
        self: World, scene: Scene | str | os.PathLike[str], name: str | None = None, position: Any = None, rotation: Any = None
    ) -> None:
        """Puts a scene into the world as it is: a :class:`Scene`, the text of one, or the path of a scene file or of a URDF, MJCF or SDF model.

        Its joints, pairs and forces may name bodies of the world; anchors are world points at the present poses. A file may be placed, and its names become
        ``name.part``. The rest goes on as if nothing had happened, with its time, velocities and memory of contacts; gravity, step and choices of the scene are
        left behind. The energy that comes is booked as ``work_in``, and ``reset`` goes back to this moment. Names that are taken are a
        :class:`carom.SceneError`, and nothing is changed. Arrays of controls, ``q`` and ``params`` have other shapes from now on; copies, batches and rollouts
        of before keep theirs.
        """
        from .scene import Scene

        placed = name is not None or position is not None or rotation is not None
        if isinstance(scene, Scene):
            made = scene
        elif isinstance(scene, str) and ("\n" in scene or "=" in scene):
            made = None
        else:
            made = Scene(self._dimension).add(scene, name, position, rotation)
            placed = False
        if placed:
            raise SceneError("name, position, rotation: place files; a Scene or a text says itself where its bodies are")
        text = str(scene) if made is None else made.to_toml()
        notes = (() if made is None else made._notes) + tuple(_carom.add(self._native, text, "."))
        self._changed()
        self._notes += notes

    def remove(self: World, name: str) -> None:  # type: ignore[misc]
        """Takes a body with its joints and forces out of the world, or a joint, or with ``"arm"`` everything called ``arm.something``.

        The rest goes on as after :meth:`add`; the energy that goes is booked as ``work_in``.
        """
        if not isinstance(name, str):
            raise ModelError(f"name: needs a string, found {name!r}")
        _carom.remove(self._native, name)
        self._changed()

    def _changed(self: World) -> None:  # type: ignore[misc]
        """Takes over names and sizes after an edit."""
        self._sizes = self._native.sizes()[1:]
        self._names = self._native.names()
