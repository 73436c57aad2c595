"""Parameters of a world from many measured motions, with what the data determine and what they do not."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy as np

from . import _carom
from ._carom import Error, SolveError
from ._check import Result, count, flag, numbers
from .world import World

ITERATIONS = 100
"""Most iterations of a search."""


@dataclass(frozen=True, repr=False)
class Fit(Result):
    """The outcome of :func:`fit`.

    ``values`` by parameter (an array, one per motion, for those of ``per_motion``); ``intervals`` the ends of the 95 % intervals, infinite where the data
    give none; ``undetermined`` the directions that the data leave open, each with ``words``, ``parameters`` and ``singular``; ``minima`` where searches
    ended, the best first; ``converged`` only where the noise explains the misfit or restarts agree; ``misfit`` and ``noise`` the weighted root mean
    squares; ``initial`` the fitted starts (q, v) of the motions; ``status`` and ``warnings`` in words.
    """

    values: dict[str, Any]
    intervals: dict[str, tuple[float, float]]
    undetermined: list[dict[str, Any]]
    minima: list[dict[str, Any]]
    converged: bool
    misfit: float
    noise: float
    status: str
    warnings: list[str]
    quantities: list[dict[str, Any]]
    singular_values: np.ndarray
    initial: list[tuple[np.ndarray, np.ndarray]]


def _row(world: World, name: str, motion: Any) -> _carom.Motion:
    """A motion as the native part takes it."""
    if isinstance(motion, (str, os.PathLike)):
        dimension, found = _carom.read_motion(motion)
        if dimension != world.dimension:
            raise SolveError(f"{name}: is of dimension {dimension}, the world of {world.dimension}")
        return found
    if not isinstance(motion, Mapping):
        raise SolveError(f"{name}: needs a path or a dict of arrays, found {type(motion).__name__}")
    known = ("time", "q", "v", "joint_q", "joint_v", "bodies", "joints")
    for key in motion:
        if key not in known:
            raise SolveError(f"{name}: no array {key!r}; there are {', '.join(known)}")
    if "time" not in motion:
        raise SolveError(f"{name}: needs \"time\"")
    time = numbers(f"{name}: time", motion["time"], (None,), finite=False)
    moving = [b for b, m in zip(world.bodies, np.asarray(world.params["mass"])) if np.isfinite(m)]
    bodies = list(motion.get("bodies", []))
    widths = {"q": 3 if world.dimension == 2 else 7, "v": 3 if world.dimension == 2 else 6}
    flat: dict[str, list[float]] = {"q": [], "v": [], "joint_q": [], "joint_v": []}
    for key, width in widths.items():
        if motion.get(key) is None:
            continue
        array = numbers(f"{name}: {key}", motion[key], (len(time), None, width), finite=False)
        if not bodies:
            # Bodies that never move may be left out.
            bodies = list(world.bodies) if array.shape[1] == len(world.bodies) else moving
        if array.shape[1] != len(bodies):
            raise SolveError(f"{name}: {key} has {array.shape[1]} bodies, needs {len(world.bodies)} (all) or {len(moving)} (those that move)")
        flat[key] = array.reshape(-1).tolist()
    joints = list(motion.get("joints", world.joint_names if motion.get("joint_q") is not None else []))
    for key in ("joint_q", "joint_v"):
        if motion.get(key) is not None:
            flat[key] = numbers(f"{name}: {key}", motion[key], (len(time), len(joints)), finite=False).reshape(-1).tolist()
    return (name, time.tolist(), bodies, flat["q"], flat["v"], joints, flat["joint_q"], flat["joint_v"])


def fit(
    world: World,
    motions: Any,
    parameters: Sequence[str] | Mapping[str, float] | str,
    *,
    log: Sequence[str] = (),
    per_motion: Sequence[str] = (),
    initial: bool = False,
    weights: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float | None, float | None]] | None = None,
    starts: int = 1,
    shooting: float | None = None,
    robust: str | None = None,
    ray: bool = False,
    path: str | os.PathLike[str] | None = None,
) -> Fit:
    """Finds the parameters with which a world repeats motions, by Gauss-Newton steps with exact derivatives.

    ``motions``: one or several paths (``.csv``, ``.npz``, ``.caromlog``) or dicts of arrays ``time`` (T,), ``q`` (T, n, 3 or 7), ``v``, ``joint_q``, ``joint_v``;
    any of them partial, NaN for holes, bodies that never move left out if you like (or ``bodies`` names them). A run starts at the first row where that is whole.
    ``parameters``: names as ``mass[ball]``, ``pair_friction[a, b]``, ``gravity``, ``v[cue].x``; a dict gives where to start. ``log``: those searched for by their
    logarithm (masses and inertias always are). ``per_motion``: those that every motion has of its own; ``initial``: the starts of the motions too.
    ``weights``: of ``position``, ``rotation``, ``velocity``, ``spin``, ``joint``, ``joint_rate``; by default each weighs by its noise. ``starts``: searches from
    different starts; ``shooting``: length [s] of windows that are joined more and more firmly, for chaotic motions; ``robust``: ``"huber"`` or ``"cauchy"``;
    ``ray``: not there yet; ``path``: a file that keeps finished searches, so that a fit goes on where it was stopped.
    """
    several = list(motions) if isinstance(motions, (list, tuple)) else [motions]
    rows = [_row(world, f"motions[{i}]", motion) for i, motion in enumerate(several)]
    names = [parameters] if isinstance(parameters, str) else list(parameters)
    begin = [(k, float(x)) for k, x in parameters.items()] if isinstance(parameters, Mapping) else []
    ranges = []
    for name, pair in (bounds or {}).items():
        low, high = pair
        ranges.append((name, -np.inf if low is None else float(low), np.inf if high is None else float(high)))
    searches = count("starts", starts, least=1)

    def ask(some: tuple[int, int] | None, file: Any) -> dict[str, Any]:
        text = _carom.fit(
            world._native, rows, (names, list(log), list(per_motion)), (begin, [(k, float(x)) for k, x in (weights or {}).items()]), ranges,
            (flag("initial", initial), searches, some, ITERATIONS), shooting, robust, file,
        )
        return dict(json.loads(text))

    if flag("ray", ray):
        raise Error("ray: starts are not shared out over a cluster yet; leave it out, the cores of this machine are all used")
    found = ask(None, path)
    shape_q, shape_v = (len(world.bodies), -1), (len(world.bodies), -1)
    values: dict[str, Any] = {row["parameter"]: row["value"] for row in found["parameters"]}
    values.update({name: np.array(all_) for name, all_ in found["per_motion"]})
    open_end = (-np.inf, np.inf)
    intervals = {
        row["parameter"]: tuple(open_end[k] if x is None else float(x) for k, x in enumerate(row["interval"])) for row in found["parameters"]
    }
    return Fit(
        values=values,
        intervals=intervals,  # type: ignore[arg-type]
        undetermined=found["undetermined"],
        minima=found["minima"],
        converged=found["converged"],
        misfit=found["misfit"],
        noise=float("nan") if found["noise"] is None else found["noise"],
        status=found["status"],
        warnings=found["warnings"],
        quantities=found["quantities"],
        singular_values=np.array(found["singular_values"]),
        initial=[(np.array(q).reshape(shape_q), np.array(v).reshape(shape_v)) for q, v in found["initial"]],
    )
