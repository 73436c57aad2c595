"""Collisions at one point: bodies, results, paths, derivatives; one collision, or many that broadcast."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _carom
from ._carom import SolveError
from ._check import Result, count, describe, flag, number, numbers, word

INERTIA_SYMMETRY = 1e-9
"""Two entries of an inertia may differ by this part of the largest: what turning it into world axes leaves."""

STEPS = 1000
"""Fixed steps of ``method="euler"`` unless said otherwise."""

MODES = ("none", "slide", "stick", "diverge")


@dataclass(frozen=True, eq=False, repr=False)
class Side(Result):
    """One body of a collision, or one of each of many: every field may have leading axes, and they broadcast.

    ``mass`` [kg]: None or inf is immovable; ``inertia`` may then be None, and velocity and spin count but never change. In the plane
    ``inertia`` [kg m^2] and ``spin`` [rad/s] are numbers; in space ``inertia`` is (3, 3) in world axes and ``spin`` (3,). ``arm`` [m]
    runs from the centre of mass to the contact; ``velocity`` [m/s] is that of the centre of mass.
    """

    mass: Any
    inertia: Any
    arm: Any
    velocity: Any
    spin: Any


@dataclass(frozen=True, eq=False, repr=False)
class Collision(Result):
    """Two bodies after a collision at one point; ``impulse`` [N s] acts on a.

    ``status`` is ``"resolved"``, or ``"capped"`` where the steps did not suffice. With ``trace=True``, ``path`` is a structured array with a
    row for each point: ``p_z`` the normal impulse so far [N s], ``u`` the separation velocity of the contact points in world axes [m/s], ``works`` those
    of compression and of restitution so far [J], ``mode`` how the contact moves on the piece that ends there. Of many collisions every field
    has their leading axes, and ``path`` is a list in their order.
    """

    velocity_a: np.ndarray
    spin_a: Any
    velocity_b: np.ndarray
    spin_b: Any
    impulse: np.ndarray
    work_compression: Any
    work_restitution: Any
    phases: Any
    branch: Any
    mode: Any
    status: Any
    path: Any = None
    _native: Any = field(default=None, repr=False)
    _shapes: Any = field(default=None, repr=False)

    def backward(self, velocity_a_bar: Any = None, spin_a_bar: Any = None, velocity_b_bar: Any = None, spin_b_bar: Any = None) -> dict[str, Any]:
        """Cotangents of every argument from those of the velocities and spins after the collision; None is zero.

        The mapping has ``mass_a``, ``inertia_a``, ``arm_a``, ``velocity_a``, ``spin_a``, the same of b, ``normal`` (across itself: its length is one),
        ``restitution`` and ``friction``, each in its argument's shape: what broadcast is summed. The inertia's is symmetric; mass and inertia of an
        immovable body have None where they were None, otherwise 0. Of ``method="euler"`` it is the derivative of the collision that it approximates.
        """
        bars = []
        for name, value, like in (("velocity_a_bar", velocity_a_bar, self.velocity_a), ("spin_a_bar", spin_a_bar, self.spin_a),
                                  ("velocity_b_bar", velocity_b_bar, self.velocity_b), ("spin_b_bar", spin_b_bar, self.spin_b)):
            shape = np.shape(like)
            bars.append(np.zeros(shape).reshape(-1) if value is None else numbers(name, value, shape).reshape(-1))
        raw = self._native.backward(*bars)
        batch = self._shapes["batch"]
        out: dict[str, Any] = {}
        for key, shape in self._shapes["arguments"].items():
            if shape is None:
                out[key] = None
                continue
            own = self._shapes["own"][key]
            rows = raw[key].reshape(batch + own)
            # What was broadcast was used many times: its cotangents add up.
            lead = shape[:len(shape) - len(own)]
            summed = rows.sum(axis=tuple(range(len(batch) - len(lead))))
            axes = tuple(i for i, size in enumerate(lead) if size == 1 and summed.shape[i] != 1)
            found = summed.sum(axis=axes, keepdims=True) if axes else summed
            out[key] = float(found) if found.ndim == 0 else found
        return out


def _field(name: str, value: Any, own: tuple[int, ...], *, finite: bool = True) -> np.ndarray:
    """A field with leading axes."""
    found = numbers(name, value, None, finite=finite)
    if found.shape[found.ndim - len(own):] != own or found.ndim < len(own):
        raise SolveError(f"{name}: found shape {describe(found.shape)}, needs {describe(own)}, with leading axes for many")
    return found


def _side(name: str, side: Any, dim: int) -> tuple[dict[str, np.ndarray | None], dict[str, tuple[int, ...]]]:
    """The fields of a side as arrays, None where they are absent, and the shape each has for one collision."""
    if not isinstance(side, Side):
        raise SolveError(f"{name}: needs a carom.kernels.Side, found {type(side).__name__}")
    angular, square = ((), ()) if dim == 2 else ((3,), (3, 3))
    own: dict[str, tuple[int, ...]] = {"mass": (), "inertia": square, "arm": (dim,), "velocity": (dim,), "spin": angular}
    fields: dict[str, np.ndarray | None] = {"mass": None, "inertia": None}
    if side.mass is not None:
        mass = _field(f"{name}.mass", side.mass, (), finite=False)
        if np.isnan(mass).any() or (mass <= 0.0).any():
            wrong = mass[np.isnan(mass) | ~(mass > 0.0)].flat[0]
            raise SolveError(f"{name}.mass: found {wrong:g}, needs a number above 0 (None or inf is immovable)")
        fields["mass"] = mass
        if side.inertia is None and np.isfinite(mass).any():
            raise SolveError(f"{name}.inertia: needed for a body of finite mass")
    if side.inertia is not None and fields["mass"] is not None:
        tensor = _field(f"{name}.inertia", side.inertia, square)
        if dim == 3:
            scale = np.abs(tensor).max(axis=(-2, -1), initial=0.0)
            if (np.abs(tensor - np.swapaxes(tensor, -1, -2)).max(axis=(-2, -1), initial=0.0) > INERTIA_SYMMETRY * scale).any():
                raise SolveError(f"{name}.inertia: needs a symmetric matrix")
        fields["inertia"] = tensor
    for key in ("arm", "velocity", "spin"):
        fields[key] = _field(f"{name}.{key}", getattr(side, key), own[key])
    return fields, own


def _path(raw: tuple, dim: int) -> np.ndarray:
    """The columns of a path as one structured array."""
    impulse, velocity, works, modes = raw
    width = max(len(mode) for mode in MODES)
    path = np.empty(len(impulse), dtype=[("p_z", np.float64), ("u", np.float64, (dim,)), ("works", np.float64, (2,)), ("mode", f"U{width}")])
    path["p_z"], path["u"], path["works"], path["mode"] = impulse, velocity, works, modes
    return path


def collide(
    a: Side, b: Side, normal: Any, restitution: Any, friction: Any, *, tolerance: float = 1e-10, trace: bool = False,
    method: str = "adaptive", law: str = "energy", steps: int = STEPS,
) -> Collision:
    """The collision of two bodies at one point with Coulomb friction, or many collisions: leading axes of all arguments broadcast.

    ``normal`` is the unit vector along which b pushes a; its last axis decides between the plane and space. ``tolerance`` is the relative
    accuracy of the integration in space; the plane is exact. ``law`` ends the collision: ``"energy"`` (Stronge's, never gains energy), or for
    comparison ``"newton"`` (the normal velocity returns to -e times itself; may gain energy with friction) and ``"poisson"`` (the impulse of restitution
    is e times that of compression). ``method="euler"`` takes the fixed steps of Baber 2011 instead, ``steps`` of them for the
    impulse of the exact collision, some more or fewer where its path ends later or earlier. ``trace`` adds ``path``; in space its
    steps are shorter, so that the end agrees with that of an untraced collision to the tolerance, not to the bit.
    """
    normal = numbers("normal", normal, None)
    if normal.ndim == 0 or normal.shape[-1] not in (2, 3):
        raise SolveError(f"normal: found shape {describe(normal.shape)}, needs (2,) or (3,), with leading axes for many")
    dim = normal.shape[-1]
    word("law", law, ("energy", "newton", "poisson"))
    word("method", method, ("adaptive", "euler"))
    steps = count("steps", steps, least=1, most=10_000_000)
    arguments: dict[str, np.ndarray | None] = {}
    own: dict[str, tuple[int, ...]] = {}
    for name, side in (("a", a), ("b", b)):
        fields, shapes = _side(name, side, dim)
        arguments.update({f"{key}_{name}": value for key, value in fields.items()})
        own.update({f"{key}_{name}": shape for key, shape in shapes.items()})
    restitution = numbers("restitution", restitution, None)
    if ((restitution < 0.0) | (restitution > 1.0)).any():
        raise SolveError("restitution: needs numbers from 0 to 1")
    friction = numbers("friction", friction, None)
    if (friction < 0.0).any():
        raise SolveError("friction: needs numbers >= 0")
    arguments.update({"normal": normal, "restitution": restitution, "friction": friction})
    own.update({"normal": (dim,), "restitution": (), "friction": ()})
    leads = {key: value.shape[:value.ndim - len(own[key])] for key, value in arguments.items() if value is not None}
    try:
        batch = np.broadcast_shapes(*leads.values())
    except ValueError:
        told = ", ".join(f"{key} {describe(lead)}" for key, lead in leads.items() if lead)
        raise SolveError(f"arguments: leading axes do not broadcast: {told}") from None

    def spread(key: str, default: float) -> np.ndarray:
        value = arguments[key]
        if value is None:
            value = np.full(own[key], default)
        return np.ascontiguousarray(np.broadcast_to(value, batch + own[key]), dtype=np.float64).reshape(-1)

    def rows(name: str) -> tuple:
        mass = spread(f"mass_{name}", np.inf)
        return (mass, spread(f"inertia_{name}", 0.0), spread(f"arm_{name}", 0.0), spread(f"velocity_{name}", 0.0), spread(f"spin_{name}", 0.0))

    raw, native = _carom.collide(
        dim, rows("a"), rows("b"), spread("normal", 0.0), spread("restitution", 0.0), spread("friction", 0.0), number("tolerance", tolerance),
        law, steps if method == "euler" else 0, flag("trace", trace),
    )
    shapes = {"velocity_a": (dim,), "velocity_b": (dim,), "impulse": (dim,), "spin_a": own["spin_a"], "spin_b": own["spin_a"],
              "work_compression": (), "work_restitution": ()}
    out: dict[str, Any] = {key: raw[key].reshape(batch + shape) for key, shape in shapes.items()}
    for key in ("phases", "branch", "mode", "status"):
        out[key] = np.array(raw[key]).reshape(batch)
    if not batch:
        for key in ("spin_a", "spin_b", "work_compression", "work_restitution"):
            out[key] = float(out[key]) if out[key].ndim == 0 else out[key]
        out["phases"] = int(out["phases"])
        for key in ("branch", "mode", "status"):
            out[key] = str(out[key])
    paths = [_path(one, dim) for one in raw["path"]] if trace else None
    return Collision(
        **out, path=paths if paths is None or batch else paths[0], _native=native,
        _shapes={"batch": batch, "own": own, "arguments": {key: None if value is None else value.shape for key, value in arguments.items()}},
    )
