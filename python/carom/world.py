"""A scene in motion."""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, replace
from typing import Any, Iterable

import numpy as np

from ._carom import ModelError, SceneError, StepError, Worlds, scenes
from ._check import Result, count, flag, flat, number, numbers, table
from ._cotangents import kept_states
from ._derivatives import Jacobian, Linearised, jacobian, linearise
from ._senses import Senses
from ._words import Words, row_of
from .replay import Replay
from .rollout import Rollout, at_switches

__all__ = ["Contact", "Ledger", "Parameters", "Shape", "World"]


@dataclass(frozen=True, eq=False, repr=False)
class Contact(Result):
    """A contact of the last step.

    ``bodies`` are the names of a and b, ``point`` [m] the midpoint of the witnesses, ``normal`` the unit vector from b to a, ``gap`` [m]
    that at the end of the step, ``impulse`` [N s] the world vector on a summed over all impacts and substeps.
    """

    bodies: tuple[str, str]
    point: np.ndarray
    normal: np.ndarray
    gap: float
    impulse: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Ledger(Result):
    """Where the energy is and went [J], cumulative since reset; ``drift`` is the integrator's own error."""

    kinetic: float
    potential: float
    elastic: float
    work_in: float
    friction_loss: float
    impact_loss: float
    contact_loss: float
    damping_loss: float
    joint_work: float
    projection: float
    drift: float
    momentum: np.ndarray
    angular_momentum: Any


@dataclass(frozen=True, eq=False, repr=False)
class Shape(Result):
    """A shape of a body, to draw it: all that lies within ``radius`` [m] of the hull of its ``points`` (k, dim) [m], in the body's frame.

    ``kind`` is the word of the scene file. A ``"half_space"`` has two points, one of its face and that plus the outward normal; a
    ``"cylinder"`` the ends of its axis, a ``"cone"`` the centre of its base and its apex, both with the ``radius`` of the disc; a
    ``"heightfield"`` of the plane is a polyline; meshes have ``faces`` (m, 3), numbers of points. ``color`` is ``"#rrggbb"``.
    """

    body: str
    kind: str
    points: np.ndarray
    radius: float
    faces: np.ndarray
    color: str


def drive(name: str, value: Any, shapes: tuple, error: type = StepError) -> np.ndarray | None:
    """Controls of one of these shapes; None is idle."""
    return None if value is None else numbers(name, value, *shapes, error=error)


def rows_of_all(native: Worlds, name: str, value: Any, shape: tuple[int, int], count: int | None = None) -> np.ndarray:
    """``q`` or ``v`` of all bodies, (n, width), flat; of ``count`` worlds, or of one. Bodies that obey no forces may be left out: they stay as they are."""
    lead: tuple = () if count is None else (count,)
    full = {lead + shape, shape}
    found = numbers(name, value, None, error=ModelError)
    if found.shape not in full:
        moving = np.isfinite(native.parameter("mass")[0])
        some = (int(moving.sum()), shape[1])
        found = numbers(name, found, *dict.fromkeys((lead + shape, shape, lead + some, some)), error=ModelError)
        now = np.array(native.q() if name == "q" else native.v())
        now[:, moving] = found
        found = now
    return flat(np.broadcast_to(found, lead + shape) if count is not None else found)


class Parameters(MutableMapping):
    """Parameters by name: ``world.params["mass"]`` reads a read-only copy, ``world.params["mass"] = array`` sets it whole.

    ``"mass[box]"`` is the row of the box alone.
    """

    __slots__ = ("_batch", "_native")

    def __init__(self, native: Worlds, batch: int | None) -> None:
        self._native, self._batch = native, batch

    def __getitem__(self, name: str) -> np.ndarray:
        if not isinstance(name, str):
            raise ModelError(f"params: names are strings, found {name!r}")
        row = row_of(self._native, name)
        found = self._native.parameter(name if row is None else row[0])
        if row is not None:
            found = found[:, row[1]]
        return found if self._batch is not None else found[0]

    def __setitem__(self, name: str, value: Any) -> None:
        now = self[name]
        if self._batch is None:
            shapes: tuple = (now.shape,)
        else:
            shapes = (now.shape, now.shape[1:])
        new = numbers(f'params["{name}"]', value, *shapes, error=ModelError, finite=False)
        if np.isnan(new).any():
            raise ModelError(f'params["{name}"]: needs numbers, found NaN')
        row = row_of(self._native, name)
        if row is None:
            self._native.set_parameter(name, flat(np.broadcast_to(new, now.shape)))
            return
        whole = np.array(self._native.parameter(row[0]))
        whole[:, row[1]] = new
        self._native.set_parameter(row[0], flat(whole))

    def __delitem__(self, name: str) -> None:
        raise ModelError(f'params: "{name}" cannot be removed')

    def __contains__(self, name: object) -> bool:
        return name in self._native.keys()

    def get(self, name: str, default: Any = None) -> Any:
        """The array of a name, or the default."""
        return self[name] if name in self else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.keys())

    def __len__(self) -> int:
        return len(self._native.keys())

    def _repr_html_(self) -> str:
        return table("Parameters", dict(self))

    def __repr__(self) -> str:
        return f"Parameters({', '.join(f'{name}: {self[name].shape}' for name in self)})"


#: Options of every model: how it is read and how it stands in the world.
_STANDS = ("strict", "base", "ground", "drop", "hold")


def _path(path: Any) -> str:
    """A path as text."""
    try:
        name = os.fspath(path)
    except TypeError as cause:
        raise SceneError(f"path: needs a path, found {path!r}") from cause
    if not isinstance(name, str) or "\0" in name:
        raise SceneError(f"path: needs a path, found {path!r}")
    return name


class World(Words, Senses):
    """A model with its state: load a scene, take steps, read arrays, take gradients.

    ``q`` is (n, 3) in the plane as (x, y, angle), (n, 7) in space as (x, y, z, qw, qx, qy, qz); ``v`` is (n, 3) as (vx, vy, spin), (n, 6)
    as (vx, vy, vz, wx, wy, wz), world axes, at the centre of mass. Static bodies are included. What is returned is a read-only copy;
    assign whole arrays.
    """

    __slots__ = ("__weakref__", "_dimension", "_native", "_names", "_notes", "_sizes")

    _native: Worlds
    _dimension: int
    _sizes: tuple[int, int, int, int]
    _names: list[list[str]]
    _notes: tuple[str, ...]

    def __init__(self, *_: Any, **__: Any) -> None:
        raise SceneError("World: use World.load(path), World.from_toml(text) or World.scene(name)")

    @classmethod
    def _of(cls, native: Worlds) -> World:
        world = object.__new__(cls)
        world._native = native
        world._dimension, *_ = sizes = native.sizes()
        world._sizes = sizes[1:]
        world._names = native.names()
        world._notes = ()
        return world

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> World:
        """Loads a scene file; meshes, scenes and models that it names are found beside it. ``world.notes`` lists what was left out of models."""
        return cls._noted(*Worlds.load(_path(path)))

    @classmethod
    def _noted(cls, native: Worlds, notes: list[str]) -> World:
        """A world of models, of which something was left out."""
        world = cls._of(native)
        world._notes = tuple(notes)
        if notes:
            warnings.warn(f"{len(notes)} not supported:\n" + "\n".join(notes), stacklevel=4)
        return world

    @classmethod
    def from_toml(cls, text: str) -> World:
        """Reads a scene from text."""
        if not isinstance(text, str):
            raise SceneError(f"text: needs a string, found {type(text).__name__}")
        if text.endswith(".toml") and "\n" not in text:
            raise SceneError(f"text: found what looks like a path, {text!r}; World.load reads files")
        return cls._of(Worlds.from_toml(text))

    @classmethod
    def scene(cls, name: str) -> World:
        """Builds an embedded classic; :func:`carom.scenes` names them."""
        if not isinstance(name, str):
            raise SceneError(f"name: needs a string, found {type(name).__name__}")
        if name not in scenes() and (near := difflib.get_close_matches(name, scenes(), 1)):
            raise SceneError(f'name: no scene "{name}"; did you mean "{near[0]}"? carom.scenes() names those there are')
        return cls._of(Worlds.scene(name))

    @classmethod
    def from_urdf(cls, path: str | os.PathLike[str], **options: Any) -> World:
        """Loads a URDF model; meshes are found beside it and in ``packages``.

        ``strict`` (False) raises :class:`carom.SceneError` for what is not supported instead of warning; ``base`` ("auto", "fixed", "free") says
        how the root stands in the world; ``ground`` (False) puts a ground at z = 0 under it, and a model with a free root down on it; ``drop`` is the height of
        its lowest point above z = 0 [m]; ``hold`` (False) holds every joint where it starts, by servos; ``controls`` (True) drives joints with an effort limit; ``contacts`` (True) and ``self_contact``
        (False) say what touches; ``limits`` (True) whether joints have any; ``pose`` maps joints to start coordinates [rad or m]; ``packages`` lists folders of ``package://`` names.
        ``meshes`` ("hull") says what meshes touch with, their convex hulls or, "parts", convex parts of those that are hollow; ``mesh_cache`` is a folder that keeps
        these parts. ``world.notes`` lists what was left out.
        """
        return cls._import(path, "urdf", options, (*_STANDS, "controls", "contacts", "limits", "self_contact", "pose", "packages", "meshes", "mesh_cache"))

    @classmethod
    def from_mjcf(cls, path: str | os.PathLike[str], **options: Any) -> World:
        """Loads an MJCF model; meshes and included files are found beside it.

        ``strict`` (False) raises :class:`carom.SceneError` for what is not supported instead of warning; ``base`` "fixed" holds free joints;
        ``ground``, ``drop`` and ``hold`` as in :meth:`from_urdf`, but joints with a servo of their own keep it; ``controls`` (True) keeps actuators; ``actuators``
        ("servo") says what position and velocity actuators are, servos whose control is the target or, "force", controls of force beside a spring;
        ``contacts`` and ``limits`` (True) say whether anything touches and joints have limits; ``keyframe`` is the name or number of the
        keyframe to start from; ``pose`` maps joints to start coordinates [rad or m]. ``world.notes`` lists what was left out.
        """
        return cls._import(path, "mjcf", options, (*_STANDS, "controls", "actuators", "contacts", "limits", "keyframe", "pose"))

    @classmethod
    def from_sdf(cls, path: str | os.PathLike[str], **options: Any) -> World:
        """Loads an SDF model or world; included models and meshes are found beside it, in the folders above it and in ``packages``.

        Options as in :meth:`from_urdf`; ``self_contact`` (False) is added to what ``self_collide`` says.
        """
        return cls._import(path, "sdf", options, (*_STANDS, "controls", "contacts", "limits", "self_contact", "pose", "packages", "meshes", "mesh_cache"))

    @classmethod
    def _import(cls, path: Any, form: str, options: dict[str, Any], known: tuple[str, ...]) -> World:
        name = _path(path)
        for key in options:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                raise SceneError(f"{key}: unknown option{f'; did you mean {near[0]}?' if near else ''}; allowed: {', '.join(known)}")
        base, keyframe = options.get("base", "auto"), options.get("keyframe")
        if base not in ("auto", "fixed", "free"):
            raise SceneError(f'base: needs "auto", "fixed" or "free", found {base!r}')
        if keyframe is not None and not isinstance(keyframe, (str, int)):
            raise SceneError(f"keyframe: needs a name or a number, found {keyframe!r}")
        flags = [flag(key, options.get(key, default), error=SceneError) for key, default in (("controls", True), ("contacts", True), ("limits", True), ("self_contact", False), ("ground", False), ("hold", False))]
        drop = options.get("drop")
        height = None if drop is None else number("drop", drop, error=SceneError)
        actuators = options.get("actuators", "servo")
        if actuators not in ("servo", "force"):
            raise SceneError(f'actuators: needs "servo" or "force", found {actuators!r}')
        meshes, kept = options.get("meshes", "hull"), options.get("mesh_cache")
        if meshes not in ("hull", "parts"):
            raise SceneError(f'meshes: needs "hull" or "parts", found {meshes!r}')
        flags += [actuators == "servo", meshes == "parts"]
        pose = options.get("pose") or {}
        try:
            start = [(str(joint), float(value)) for joint, value in pose.items()]
            packages = [_path(folder) for folder in options.get("packages") or ()]
        except (AttributeError, TypeError, ValueError) as cause:
            raise SceneError(f"pose: needs joint names and numbers; packages: needs folders; found {cause}") from cause
        strict = flag("strict", options.get("strict", False), error=SceneError)
        return cls._noted(*Worlds.from_model(name, form, strict, base, flags, height, None if keyframe is None else str(keyframe), start, packages,
                                            None if kept is None else _path(kept)))

    @property
    def notes(self) -> tuple[str, ...]:
        """What an imported model has and the engine has not, by name with file and line; then what was wrong with the state as it was last set.

        Joints and ropes beyond their limits, joints that are open and bodies that overlap are put right before the next step, without a change of
        velocity; the energy this takes is booked as ``projection``.
        """
        return self._notes + tuple(self._native.notes()[0])

    @property
    def name(self) -> str:
        """Name of the scene."""
        return self._native.about()[0]

    @property
    def duration(self) -> float:
        """Simulated time of a plain run of the scene [s]."""
        return self._native.about()[1]

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return self._dimension

    @property
    def step_size(self) -> float:
        """Time step [s]; ``params["step"]`` sets it."""
        return self._native.clock()[1]

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self._native.clock()[0]

    @property
    def bodies(self) -> list[str]:
        """Names of the bodies, in order."""
        return list(self._names[0])

    @property
    def joints(self) -> list[str]:
        """Names of the joints, in order."""
        return list(self._names[1])

    @property
    def controls(self) -> list[str]:
        """Names of the controls, in order: joints with a controlled motor, then controlled forces by their place in the file."""
        return list(self._names[2])

    @property
    def q(self) -> np.ndarray:
        """Poses (n, 3 or 7)."""
        return self._native.q()[0]

    @q.setter
    def q(self, value: Any) -> None:
        bodies, _, coords, _ = self._sizes
        self._native.set_state(rows_of_all(self._native, "q", value, (bodies, coords)), None)

    @property
    def v(self) -> np.ndarray:
        """Velocities (n, 3 or 6)."""
        return self._native.v()[0]

    @v.setter
    def v(self, value: Any) -> None:
        bodies, _, _, dof = self._sizes
        self._native.set_state(None, rows_of_all(self._native, "v", value, (bodies, dof)))

    @property
    def params(self) -> Parameters:
        """Parameters by name: ``mass``, ``inertia``, ``centre``, ``friction``, ``restitution``, ``gravity``, ``step``, ..."""
        return Parameters(self._native, None)

    def step(self, n: int = 1, controls: Any = None) -> None:
        """Takes n steps; ``controls`` is (nu,) for all of them or (n, nu). After an error the state is that before the failed step."""
        if controls is None:
            self._native.step(n if n.__class__ is int and 0 <= n < 2**31 else count("n", n, error=StepError), 0, None, True)
            return
        n = count("n", n, error=StepError)
        nu = self._sizes[1]
        given = numbers("controls", controls, (nu,), (n, nu), error=StepError)
        self._native.step(n, 0 if nu == 0 else 1 if given.ndim == 1 or n == 1 else n, flat(given), True)

    def reset(self) -> None:
        """Back to the start, with empty books."""
        self._native.reset()

    def copy(self) -> World:
        """The same world once more: model, state, memory of contacts and books."""
        other = object.__new__(World)
        other._native, other._notes = self._native.copy(), self._notes
        other._dimension, other._sizes, other._names = self._dimension, self._sizes, self._names
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> World:
        return self.copy()

    def __reduce__(self) -> tuple:
        return _unpacked, (*self._native.pack(), self._notes)

    def hash(self) -> str:
        """16 hex digits of the state's bits."""
        return self._native.hashes()[0]

    def contacts(self) -> list[Contact]:
        """Contacts of the last step."""
        names = self._names[0]
        rows = self._native.contacts()
        return [Contact((names[a], names[b]), point, normal, gap, impulse) for a, b, point, normal, gap, impulse in rows]

    def shapes(self) -> list[Shape]:
        """Shapes of all bodies, in order, each in the frame of its body: what is needed to draw the world."""
        names = self._names[0]
        rows = self._native.shapes()
        corners = [np.array(faces, dtype=np.int64).reshape(-1, 3) for _, _, _, _, faces, _ in rows]
        return [Shape(names[body], kind, points, radius, faces, f"#{color:06x}")
                for (body, kind, points, radius, _, color), faces in zip(rows, corners)]

    def picture(self, width: int = 480, height: int = 320, view: Any = None) -> np.ndarray:
        """A picture (height, width, 3) of bytes; ``view`` is the centre and the width of what is seen [m], None shows all bodies."""
        from .picture import Picture

        return Picture(self, width, height).draw(self.q, view)

    def ledger(self) -> Ledger:
        """Where the energy is and went since reset."""
        return Ledger(**self._native.ledger())

    def rollout(
        self, steps: int, controls: Any = None, *, tape: bool = True, checkpoint: int | None = None, every: int = 1, bodies: Any = None
    ) -> Rollout:
        """Takes steps from the present state without moving the world.

        ``controls``: (steps, nu). ``tape=False`` keeps nothing for a gradient; ``checkpoint`` stores the state every so many steps and
        steps again in between: less memory, the same gradient. ``every``: hands out states 0, every, 2 every, ... and the last; ``bodies``:
        hands out these bodies alone. Cotangents have the shapes of what is handed out; the run is the same.
        """
        steps = count("steps", steps, error=StepError)
        given = drive("controls", controls, ((steps, self._sizes[1]),))
        if checkpoint is not None:
            checkpoint = count("checkpoint", checkpoint, error=StepError, least=1)
        kept = kept_states(steps, count("every", every, error=StepError, least=1), bodies, self._names[0])
        run = self._rollout(steps, given, flag("tape", tape, error=StepError), checkpoint)
        return run if kept is None else replace(run, _kept=kept)

    def _rollout(
        self, steps: int, controls: np.ndarray | None, tape: bool, checkpoint: int | None = None, q: np.ndarray | None = None,
        v: np.ndarray | None = None,
    ) -> Rollout:
        """A rollout from the present state or another, of arguments whose shapes are right."""
        native = self._native.rollout([steps], flat(controls), True, tape, checkpoint, flat(q), flat(v))
        return Rollout(native, steps, self._sizes, None, tuple(self._names[0]))

    def jacobian(
        self, wrt: Iterable[str] = ("q", "v"), *, weak: str | None = None, kappa: float | None = None
    ) -> Jacobian:
        """Dense Jacobians of one step without controls: rows are the tangent state, q of all bodies, then v of all.

        ``wrt`` names ``q``, ``v``, ``controls`` and keys of ``params``; the columns of a parameter are its entries in order. ``weak`` and
        ``kappa`` as in :meth:`Rollout.backward`; the result's ``weak`` says which they are and ``flags`` counts what is at a switch.
        """
        return jacobian(self._native, wrt, at_switches(weak, kappa), True)

    def linearise(self, controls: Any = None, *, weak: str | None = None, kappa: float | None = None) -> Linearised:
        """(A, B) of one step in joint coordinates: x' = A x + B u, (2 nc, 2 nc) and (2 nc, nu); the world does not move.

        x are the changes of ``joint_q``, then those of ``joint_v``, in the order of ``joint_names``; a free root's are position and rotation vector, world
        axes (q <- exp(d) q), a ball's turn likewise in the axes of its second body. ``controls`` (nu,) are those the step is taken under, 0 by default.
        Where joints close loops it holds for x with ``loop_jacobian() @ x = 0``. ``weak`` and ``kappa`` as in :meth:`Rollout.backward`.
        """
        nu = self._sizes[1]
        given = None if controls is None else flat(numbers("controls", controls, (nu,), error=StepError))
        return linearise(self._native, given, at_switches(weak, kappa), True)

    def _repr_html_(self) -> str:
        bodies, nu, _, _ = self._sizes
        facts = {"dimension": self._dimension, "bodies": bodies, "joints": len(self._names[1]), "controls": nu,
                 "time": f"{self.time:.6g} s", "step": f"{self.step_size:.6g} s", "hash": self.hash()}
        return table(f"World {self.name}", facts)

    def show(self, seconds: float | None = None) -> Replay:
        """What would follow without controls, as a page: shown in place by a notebook, or saved with ``.save("run.html")``.

        ``seconds`` of simulated time from the present state; those of a plain run of the scene by default. The world does not move.
        """
        span = self._native.about()[1] if seconds is None else number("seconds", seconds, error=StepError, least=0.0)
        return Replay(self._native.replay(count("seconds", round(span / self.step_size), error=StepError)))

    def __repr__(self) -> str:
        bodies, nu, _, _ = self._sizes
        return (f"World({self.name!r}, dimension={self._dimension}, bodies={bodies}, joints={len(self._names[1])}, controls={nu}, "
                f"time={self.time:.6g})")


def _unpacked(text: str, edits: list, snapshot: bytes, notes: tuple[str, ...] = ()) -> World:
    world = World._of(Worlds.unpack(text, edits, snapshot))
    world._notes = notes
    return world
