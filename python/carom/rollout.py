"""A run of steps and its gradient."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ._carom import Error, Gradients, ModelError, Rollouts, SolveError
from ._check import flat, number, numbers, table, word
from ._cotangents import Kept, dense, named_pairs, pair_rows
from ._derivatives import Jacobian, Linearised, along, linearise_along
from ._film import draw
from .replay import Replay

__all__ = ["Gradient", "Jacobian", "Rollout"]


SIDES = ("as-solved", "active", "inactive", "average", "minnorm")
"""What a gradient may be at contacts that stand at a switch."""


def turn_basis(quaternions: np.ndarray) -> np.ndarray:
    """How a quaternion (..., 4) moves when it is turned about each world axis by d: dq/dd = (0, e_k) q / 2, as (..., 3, 4)."""
    w, x, y, z = np.moveaxis(quaternions, -1, 0)
    rows = [(-x, w, -z, y), (-y, z, w, -x), (-z, -y, x, w)]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2) / 2.0


def to_tangent(q: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    """A cotangent of the seven numbers of a pose in space as one of its six freedoms."""
    turned = np.einsum("...ki,...i->...k", turn_basis(q[..., 3:]), cotangent[..., 3:])
    return np.concatenate([cotangent[..., :3], turned], axis=-1)


def from_tangent(q: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    """A cotangent of the six freedoms of a pose as one of its seven numbers, which are normalised when they are read."""
    quaternion = q[..., 3:]
    size = (quaternion**2).sum(axis=-1)[..., None, None]
    lifted = np.einsum("...ki,...k->...i", 4.0 * turn_basis(quaternion) / size, cotangent[..., 3:])
    return np.concatenate([cotangent[..., :3], lifted], axis=-1)


def at_switches(weak: Any, kappa: Any) -> tuple[str | None, float | None]:
    """What a gradient is at contacts that stand at a switch, checked."""
    if weak is not None:
        weak = word("weak", weak, SIDES)
    if kappa is None:
        return weak, None
    product = number("kappa", kappa)
    if product <= 0.0:
        raise SolveError(f"kappa: found {product:g}, needs a product of impulse and speed above 0 [J]")
    return weak, product


class Gradient(Mapping):
    """The gradient of a loss by all that a rollout depends on.

    ``q0`` (n, 3 or 6) is tangent, in the order of v; ``v0`` (n, 3 or 6); ``controls`` (T, nu); ``gradient["mass"]`` and every other key of
    ``world.params`` in its shape. Those of a batch have its axis first. ``weak`` says in words what it is at contacts that stand at a
    switch, ``status`` step by step what it is worth: ``"exact"``, or the flags that were raised.
    """

    _native: Any
    _gradients: Any
    _batch: int | None
    _found: dict[str, np.ndarray]
    _time: np.ndarray

    def __init__(self, native: Rollouts, found: Gradients, batch: int | None, time: np.ndarray) -> None:
        self.__dict__.update(_native=native, _gradients=found, _batch=batch, _found={}, _time=time)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"gradient: is a result, {name!r} cannot be set")

    def __deepcopy__(self, memo: Any) -> Gradient:
        return self

    def __reduce__(self) -> tuple:
        arrays = {name: getattr(self, name) for name in ("q0", "v0", "controls", "weak", "status", "touching")}
        return _gradient, ({**arrays, "_found": dict(self), "_batch": self._batch, "_time": self._time},)

    def _one(self, value: Any) -> Any:
        return value if self._batch is not None else value[0]

    @cached_property
    def q0(self) -> np.ndarray:
        """By the initial poses, as tangents in the order of v."""
        return self._one(self._gradients.q0())

    @cached_property
    def v0(self) -> np.ndarray:
        """By the initial velocities."""
        return self._one(self._gradients.v0())

    @cached_property
    def controls(self) -> np.ndarray:
        """By the controls (T, nu)."""
        return self._one(self._gradients.controls())

    @cached_property
    def weak(self) -> str:
        """What it is at contacts that stand at a switch: ``"decisions as solved"``, ``"smoothed, kappa = 1e-6 J"``, ..."""
        return self._gradients.weak()

    @cached_property
    def status(self) -> list[str]:
        """What each step's derivative is worth: ``"exact"``, or flags with counts, as ``"weak: 2, smoothed: 4"``."""
        return self._one(self._gradients.status())

    @cached_property
    def exact_until(self) -> float | np.ndarray:
        """Time [s] up to which no step raised a flag: that of the last state where all are exact. Of a batch one per world."""
        def until(status: list[str], time: np.ndarray) -> float:
            return float(time[next((i for i, word in enumerate(status) if word != "exact"), len(status))])

        if self._batch is None:
            return until(self.status, self._time)
        worlds: Any = self.status
        return np.array([until(status, time) for status, time in zip(worlds, self._time)])

    @cached_property
    def touching(self) -> int | list[int]:
        """How many contacts, limits and ropes touch and push where the run starts.

        By what moves their gaps (poses, sizes, placements) the gradient is that of the side on which they open; all else is not touched.
        """
        return self._one(self._gradients.touching())

    def __getitem__(self, name: str) -> np.ndarray:
        if not isinstance(name, str):
            raise ModelError(f"gradient: names are strings, found {name!r}")
        if name not in self._found:
            parameters = None if self._gradients is None else flat(self._gradients.parameters())
            self._found[name] = self._one(self._native.named(name, parameters))
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._native.keys()

    def get(self, name: str, default: Any = None) -> Any:
        """The gradient with respect to a name, or the default."""
        return self[name] if name in self else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.keys())

    def __len__(self) -> int:
        return len(self._native.keys())

    def _repr_html_(self) -> str:
        return table("Gradient", {"q0": self.q0, "v0": self.v0, "controls": self.controls, **dict(self)})

    def __repr__(self) -> str:
        return f"Gradient({self.weak}: q0{self.q0.shape}, v0{self.v0.shape}, controls{self.controls.shape}, {', '.join(self)})"


@dataclass(frozen=True, eq=False, repr=False)
class Rollout:
    """States of a run: ``q`` (T+1, n, 3 or 7), ``v`` (T+1, n, 3 or 6), ``time`` and ``energy`` (T+1,), ``contacts`` (T,), ``status``.

    With ``every`` and ``bodies`` states and bodies are those that are kept. A batch's rollout has its axis first. The arrays are read-only; they are built once and keep nothing else alive.
    """

    _native: Rollouts
    _steps: int
    _sizes: tuple
    _batch: int | None
    _bodies: tuple[str, ...]
    _kept: Kept | None = None

    def _one(self, value: Any) -> Any:
        return value if self._batch is not None else value[0]

    def _states(self, value: Any) -> np.ndarray:
        return self._one(value) if self._kept is None else self._kept.of(self._one(value))

    def _moments(self, value: Any) -> np.ndarray:
        return self._one(value) if self._kept is None else self._one(value)[..., self._kept.states]

    @property
    def bodies(self) -> list[str]:
        """Names of the bodies, in order."""
        return list(self._bodies) if self._kept is None else [self._bodies[i] for i in self._kept.bodies]

    @cached_property
    def q(self) -> np.ndarray:
        """Poses of states 0 to T."""
        return self._states(self._native.q())

    @cached_property
    def v(self) -> np.ndarray:
        """Velocities of states 0 to T."""
        return self._states(self._native.v())

    @cached_property
    def time(self) -> np.ndarray:
        """Times of states 0 to T [s]."""
        return self._moments(self._native.time())

    @cached_property
    def contacts(self) -> np.ndarray:
        """Number of contacts at the end of each step."""
        return self._one(self._native.contacts())

    @cached_property
    def status(self) -> list[str]:
        """How each step went: ``"ok"``, or what was out of the ordinary."""
        return self._one(self._native.status())

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic + potential + elastic energy of states 0 to T [J]."""
        return self._moments(self._native.energy())

    def __len__(self) -> int:
        """Number of steps T; of a batch's rollout the number of worlds, over which it is iterated."""
        return self._steps if self._batch is None else self._batch

    def __bool__(self) -> bool:
        return True  # also without steps

    def __deepcopy__(self, memo: Any) -> Rollout:
        return self

    def __reduce__(self) -> tuple:
        kept = {name: getattr(self._native, name)() for name in _Arrays.ARRAYS}
        return _rollout, (kept, self._steps, self._sizes, self._batch, self._bodies, self._kept)

    def __getitem__(self, index: int) -> Rollout:
        """The rollout of one world of a batch; nothing is copied."""
        if self._batch is None:
            raise SolveError("index: is for the rollout of a batch, not of one world")
        try:
            place = range(self._batch)[operator.index(index)]
        except (IndexError, TypeError):
            raise IndexError(f"index: found {index!r}, needs a whole number below {self._batch}") from None
        native = self._native.take([place])
        return Rollout(native, self._steps, self._sizes, None, self._bodies, self._kept)

    def __iter__(self) -> Iterator[Rollout]:
        """The rollouts of a batch, one by one."""
        return iter([self[i] for i in range(self._batch)] if self._batch is not None else [self])

    def _cotangent(self, name: str, value: Any, poses: bool) -> np.ndarray | None:
        if value is None:
            return None
        bodies, _, coords, dof = self._sizes
        lead = () if self._batch is None else (self._batch,)
        widths = (dof, coords) if poses and coords != dof else (dof,)
        if isinstance(value, Mapping):
            return dense(name, value, (self._steps + 1, bodies, dof), widths, list(self._bodies), self._batch)
        states, some = (self._steps + 1, bodies) if self._kept is None else (len(self._kept.states), len(self._kept.bodies))
        shapes = [lead + counts + (some, width) for width in widths for counts in ((states,), ())]
        found = numbers(name, value, *shapes, error=SolveError)
        return found if self._kept is None else self._kept.spread(found, self._steps, bodies)

    def _tangent(self, cotangent: np.ndarray) -> np.ndarray:
        """A cotangent of poses or velocities as the native part takes it: tangent, in one row."""
        if cotangent.shape[-1] != self._sizes[3]:
            q = self._one(self._native.q())
            at = q if cotangent.ndim == q.ndim else q[..., -1, :, :]
            cotangent = to_tangent(at, cotangent)
        return flat(cotangent)

    def forces(self, pairs: Any) -> np.ndarray:
        """Forces of contacts in every step (T, pairs, dim) [N]: impulse over step, impacts among it, world axes.

        ``pairs``: names of bodies, for what all others do to them, and pairs of names ``("foot", "ground")``, for what the second does to the first. Needs a tape.
        """
        return self._one(self._native.forces(named_pairs(pairs, list(self._bodies))))

    def backward(
        self, dq: Any = None, dv: Any = None, *, forces: Any = None, weak: str | None = None, kappa: float | None = None
    ) -> Gradient:
        """The gradient of a loss from its cotangents by the states.

        ``dq`` and ``dv`` are (T+1, n, 3 or 6), or (n, 3 or 6) for the last state alone; ``dq`` is tangent, in the order of v, its rotation
        part in world axes (q <- exp(d) q). In space (T+1, n, 7) is projected. None is zero. Cotangents of few states may be given as
        ``{(step, body): row}``, the body by name or number, steps from the end below 0; of a batch ``{(world, step, body): row}``.

        ``forces``: cotangents of forces of contacts, ``{("foot", "ground"): (T, dim)}``, as :meth:`forces` hands them out.

        ``weak``: what it is at contacts that stand at a switch, ``"as-solved"``, ``"active"``, ``"inactive"``, ``"average"`` or
        ``"minnorm"``. ``kappa``: smooths it with this product of impulse and speed [J] instead, so that near contacts are felt. Neither
        changes the motion; the gradient says which it is.
        """
        side, felt = at_switches(weak, kappa), None
        if forces is not None:
            felt = pair_rows(forces, self._steps, 2 if self._sizes[3] == 3 else 3, list(self._bodies), self._batch)
        return self._pull(self._cotangent("dq", dq, True), self._cotangent("dv", dv, False), side, felt=felt)

    def _pull(
        self, dq: np.ndarray | None, dv: np.ndarray | None, side: tuple[str | None, float | None], parameters: bool = True,
        felt: tuple[list[tuple[int, int | None]], np.ndarray] | None = None,
    ) -> Gradient:
        """The same of cotangents whose shapes are right, with the parameters or without them."""
        poses, rates = None if dq is None else self._tangent(dq), None if dv is None else self._tangent(dv)
        pairs, forces = ([], None) if felt is None else (felt[0], flat(felt[1]))
        found = self._native.backward(poses, rates, *side, parameters, pairs, forces)
        return Gradient(self._native, found, self._batch, self._one(self._native.time()))

    def jacobians(
        self, wrt: Iterable[str] = ("q", "v"), *, weak: str | None = None, kappa: float | None = None
    ) -> Jacobian:
        """Dense Jacobians of every step, (T, rows, columns) each; as :meth:`World.jacobian`, under the controls of the run. Needs the whole tape."""
        return along(self._native, wrt, at_switches(weak, kappa), self._batch is None)

    def linearise(self, *, weak: str | None = None, kappa: float | None = None) -> Linearised:
        """(A, B) of every step, (T, 2 nc, 2 nc) and (T, 2 nc, nu); as :meth:`World.linearise`, under the controls of the run. Needs the whole tape."""
        return linearise_along(self._native, at_switches(weak, kappa), self._batch is None)

    def _alone(self, name: str) -> None:
        if self._batch is not None:
            raise SolveError(f"{name}: is for the rollout of one world, not of a batch")

    def _columns(self) -> dict[str, np.ndarray]:
        """Energy, then pose and velocity of every body, by name."""
        planar = self._sizes[2] == 3
        poses = ("x", "y", "angle") if planar else ("x", "y", "z", "qw", "qx", "qy", "qz")
        rates = ("vx", "vy", "spin") if planar else ("vx", "vy", "vz", "wx", "wy", "wz")
        columns: dict[str, np.ndarray] = {"energy": self.energy}
        for i, body in enumerate(self.bodies):
            columns.update({f"{body}.{key}": self.q[:, i, k] for k, key in enumerate(poses)})
            columns.update({f"{body}.{key}": self.v[:, i, k] for k, key in enumerate(rates)})
        return columns

    def to_pandas(self) -> Any:
        """A table with one row per state: time as the index, energy, then x, y, ... of every body (needs pandas)."""
        self._alone("to_pandas")
        try:
            import pandas
        except ImportError as cause:
            raise Error("to_pandas: needs pandas (pip install pandas)") from cause
        return pandas.DataFrame(self._columns(), index=pandas.Index(self.time, name="time"))

    def to_arrow(self) -> Any:
        """A pyarrow.Table with one row per state: time, energy, then x, y, ... of every body (needs pyarrow)."""
        self._alone("to_arrow")
        try:
            import pyarrow
        except ImportError as cause:
            raise Error("to_arrow: needs pyarrow (pip install pyarrow)") from cause
        return pyarrow.table({"time": self.time, **{name: np.ascontiguousarray(x) for name, x in self._columns().items()}})

    def plot(self, ax: Any = None) -> Any:
        """Draws the energy and the number of contacts over time; returns the axes (needs matplotlib)."""
        self._alone("plot")
        try:
            import matplotlib.pyplot as pyplot
        except ImportError as cause:
            raise Error("plot: needs matplotlib (pip install matplotlib)") from cause
        if ax is None:
            _, ax = pyplot.subplots()
        ax.plot(self.time, self.energy, label="energy")
        ax.set_xlabel("time [s]")
        ax.set_ylabel("energy [J]")
        twin = ax.twinx()
        twin.step(self._one(self._native.time())[1:], self.contacts, where="post", color="tab:gray", alpha=0.5, label="contacts")
        twin.set_ylabel("contacts")
        return ax

    def show(self) -> Replay:
        """The run as a page: shown in place by a notebook, or saved with ``.save("run.html")``. Contacts are not part of a rollout."""
        self._alone("show")
        return Replay(self._native.replay())

    def film(
        self,
        path: str | os.PathLike[str],
        *,
        size: int | tuple[int, int] | None = None,
        frames: int = 1,
        fps: float | None = None,
        speed: float = 1.0,
        trails: bool = False,
        theme: str = "light",
        camera: str = "auto",
        clock: bool = True,
    ) -> Path:
        """Draws the run to a file and returns its path; the ending names the format.

        Films: ``.gif`` always, ``.mp4`` and ``.webm`` with ffmpeg on the path or ``pip install imageio-ffmpeg``. Pictures: ``.png`` and
        ``.svg``, a still of the end or a strip of ``frames`` panels. Motion for other programs: ``.glb`` (Blender, web viewers), ``.usda``.

        ``size``: width or (width, height) [pixels]; ``fps``: frames per second; ``speed``: seconds of the run in one of the film;
        ``trails``: bodies leave a line behind; ``theme``: ``"light"`` or ``"dark"``; ``camera``: ``"auto"``, ``"still"`` or ``"follow"``;
        ``clock``: the time in the corner.
        """
        self._alone("film")
        return draw(self._native, path, size, frames, fps, speed, trails, theme, camera, clock)

    def __repr__(self) -> str:
        lead = "" if self._batch is None else f"worlds={self._batch}, "
        return f"Rollout({lead}steps={self._steps}, bodies={self._sizes[0]}, q{self.q.shape}, v{self.v.shape})"

    def _repr_html_(self) -> str:
        worlds = {} if self._batch is None else {"worlds": self._batch}
        said = [word for one in (self.status if self._batch is not None else [self.status]) for word in one]
        odd = sum(word != "ok" for word in said)
        facts = {**worlds, "steps": self._steps, "bodies": self._sizes[0], "time": f"{np.max(self.time, initial=0.0):.6g} s",
                 "contacts": f"{int(self.contacts.max(initial=0))} at most", "status": "ok" if odd == 0 else f"{odd} steps are not ok"}
        if self._batch is None:
            facts["energy"] = f"{self.energy[0]:.6g} to {self.energy[-1]:.6g} J"
        return table("Rollout", facts)


class _Arrays:
    """What a pickle keeps of a rollout: its arrays. The tape stays where the run was made."""

    ARRAYS = ("q", "v", "time", "energy", "contacts", "status")

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = dict(arrays)
        for value in self._arrays.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __getattr__(self, name: str) -> Any:
        if name in _Arrays.ARRAYS:
            return lambda: self._arrays[name]
        raise SolveError(f"{name}: a rollout that was pickled has its arrays alone, no tape; ask before it is pickled")

    def take(self, which: list[int]) -> _Arrays:
        return _Arrays({name: [x[i] for i in which] if isinstance(x, list) else x[which] for name, x in self._arrays.items()})


def _rollout(
    arrays: Mapping[str, Any], steps: int, sizes: tuple, batch: int | None, bodies: tuple[str, ...], kept: Kept | None = None
) -> Rollout:
    return Rollout(_Arrays(arrays), steps, sizes, batch, bodies, kept)  # type: ignore[arg-type]


class _Keys:
    """Names of the parameters of a gradient that was pickled."""

    def __init__(self, names: Iterator[str]) -> None:
        self._names = list(names)

    def keys(self) -> list[str]:
        return self._names

    def named(self, name: str, _: Any) -> np.ndarray:
        raise ModelError(f'no parameter "{name}" in this gradient; it has {", ".join(self._names)}')


def _gradient(held: dict[str, Any]) -> Gradient:
    gradient = object.__new__(Gradient)
    gradient.__dict__.update(held, _native=_Keys(iter(held["_found"])), _gradients=None)
    return gradient
