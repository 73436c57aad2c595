"""Parameters of a world from many measured motions, with what the data determine and what they do not."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy as np

from . import _carom
from ._carom import Error, SolveError
from ._check import Result, count, flag, number, numbers
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


def _ask(world: World, asked: tuple, some: tuple[int, int] | None, file: Any) -> dict[str, Any]:
    """A fit, or some of its searches: the first of them and how many."""
    rows, names, numbers_, ranges, initial, searches, shooting, robust = asked
    return dict(json.loads(_carom.fit(world._native, rows, names, numbers_, ranges, (initial, searches, some, ITERATIONS), shooting, robust, file)))


def _one(job: tuple[World, tuple], number: int, known: str) -> dict[str, Any]:
    """What a worker does: one search, given the file of those that are done; the search as it stands in such a file."""
    world, asked = job
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "searches.json")
        with open(file, "w", encoding="utf-8") as out:
            out.write(known)
        _ask(world, asked, (number, 1), file)
        with open(file, encoding="utf-8") as back:
            return next(search for search in json.load(back)["searches"] if search["number"] == number)


def _shared_out(world: World, asked: tuple, path: Any) -> dict[str, Any]:
    """A fit whose searches are tasks of a Ray cluster. The first one runs here: it decides how differences count, for all of them."""
    try:
        import ray
    except ImportError as cause:
        raise Error("ray: needs ray (pip install ray)") from cause
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "searches.json") if path is None else os.fspath(path)
        _ask(world, asked, (0, 1), file)
        with open(file, encoding="utf-8") as back:
            known = back.read()
        kept = json.loads(known)
        done = {search["number"] for search in kept["searches"]}
        task, one = ray.remote(_one), ray.put((world, asked))
        running = [task.remote(one, number, known) for number in range(1, asked[5]) if number not in done]
        while running:
            ended, running = ray.wait(running, num_returns=1)
            try:
                kept["searches"] += ray.get(ended)
            except ray.exceptions.RayTaskError as error:
                raise (error.cause if isinstance(getattr(error, "cause", None), Exception) else error) from None
            with open(f"{file}.part", "w", encoding="utf-8") as out:
                json.dump(kept, out)
            os.replace(f"{file}.part", file)
        # All searches are known now: what is left is to judge them.
        return _ask(world, asked, None, file)


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
    ``ray``: searches from different starts as tasks of a Ray cluster (a local one is started if none is there), to the same end; ``path``: a file that keeps finished searches, so that a fit goes on where it was stopped.
    """
    several = list(motions) if isinstance(motions, (list, tuple)) else [motions]
    rows = [_row(world, f"motions[{i}]", motion) for i, motion in enumerate(several)]
    names = [parameters] if isinstance(parameters, str) else list(parameters)
    begin = [(k, number(f'parameters["{k}"]', x)) for k, x in parameters.items()] if isinstance(parameters, Mapping) else []
    ranges = []
    for name, pair in (bounds or {}).items():
        try:
            low, high = pair
        except (TypeError, ValueError) as cause:
            raise SolveError(f'bounds["{name}"]: needs (least, most), either None for none, found {pair!r}') from cause
        ends = [open_end if x is None else float(numbers(f'bounds["{name}"]', x, (), finite=False)) for x, open_end in ((low, -np.inf), (high, np.inf))]
        ranges.append((name, ends[0], ends[1]))
    searches = count("starts", starts, least=1)

    asked = (
        rows, (names, list(log), list(per_motion)), (begin, [(k, number(f'weights["{k}"]', x)) for k, x in (weights or {}).items()]), ranges, flag("initial", initial), searches,
        shooting, robust,
    )
    found = _shared_out(world, asked, path) if flag("ray", ray) and searches > 1 else _ask(world, asked, None, path)
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
