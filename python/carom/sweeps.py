"""Many rollouts of one world with other numbers: on all cores, or on a Ray cluster, with the same bits; stopped and resumed at will."""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import sys
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from ._carom import Error, ModelError, SolveError, StepError
from ._check import Result, count, flag, word
from ._sweep_book import Bar, Book
from ._sweep_job import Job, Metric, Point
from .world import World

__all__ = ["Sweep", "sweep"]

BACKENDS = ("local", "ray")
CHUNK = 64
"""Rollouts of a batch: enough for every core, few enough to stop often."""


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Result):
    """The results of a sweep, in the order of its points.

    ``points`` is what each rollout was given; ``values`` the metric by name (``"metric"`` for a plain number), an array with one row per
    point, NaN where the rollout failed; ``errors`` why, by the number of the point.
    """

    points: list[dict[str, Any]]
    values: dict[str, np.ndarray]
    errors: dict[int, str]

    def __len__(self) -> int:
        return len(self.points)

    def best(self, name: str = "metric", *, largest: bool = False) -> tuple[dict[str, Any], float]:
        """The point with the smallest (or largest) value of a metric, and that value."""
        if name not in self.values:
            raise SolveError(f"name: found {name!r}, needs one of {', '.join(map(repr, self.values))}")
        value = self.values[name]
        if value.ndim != 1 or np.isnan(value).all():
            raise SolveError(f"name: {name!r} has no single number that could be compared")
        i = int(np.nanargmax(value) if largest else np.nanargmin(value))
        return self.points[i], float(value[i])

    def to_pandas(self) -> Any:
        """A table with one row per point: what was given, then the metrics (needs pandas)."""
        try:
            import pandas
        except ImportError as cause:
            raise Error("to_pandas: needs pandas (pip install pandas)") from cause
        metrics = {name: list(value) if value.ndim > 1 else value for name, value in self.values.items()}
        return pandas.concat([pandas.DataFrame(self.points), pandas.DataFrame(metrics)], axis=1)


def sweep(
    world: World,
    grid: Any,
    metric: Metric,
    backend: str = "local",
    *,
    steps: int | None = None,
    samples: int | None = None,
    seed: int = 0,
    tape: bool = False,
    path: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    chunk: int = CHUNK,
    progress: bool | None = None,
) -> Sweep:
    """Takes a rollout of the world at every point and measures it.

    ``grid`` says what differs: a mapping of names to lists of values (all their combinations, the last name fastest), a list of points
    (each a mapping of names to values), or a sampler, a function of a ``numpy.random.Generator`` that returns a point, called for
    ``samples`` points; point i has a generator of its own, made from ``(seed, i)``. A name is ``q``, ``v``, ``controls`` or one of
    ``world.params``; ``mass[ball]`` is the row of a body and ``v[ball, 0]`` a number of it. A number for a whole array goes to every
    entry, but leaves those that are infinite.

    ``metric`` takes the :class:`Rollout` (with a tape if ``tape``, so that it may ask for gradients) and returns a number, an array, or a
    mapping of names to them. ``steps`` is the length of a rollout, by default the scene's duration. A rollout that fails is NaN and its
    reason stands in ``errors``; what the metric raises stops the sweep.

    ``backend="local"`` runs batches on all cores, ``"ray"`` gives them to the workers of a Ray cluster (a local one is started if none is
    there); the results have the same bits. With ``path`` they are written there, whole or not at all, while the sweep runs, and a sweep
    that was interrupted goes on from there. ``workers`` is the number of threads, or of batches under way on Ray.
    """
    if not isinstance(world, World):
        raise ModelError(f"world: needs a carom.World, found {type(world).__name__}")
    if not callable(metric):
        raise ModelError(f"metric: needs a function of a rollout, found {type(metric).__name__}")
    word("backend", backend, BACKENDS, error=ModelError)
    length = round(world.duration / world.step_size) if steps is None else count("steps", steps, error=StepError)
    chunk = count("chunk", chunk, error=ModelError, least=1)
    workers = None if workers is None else count("workers", workers, error=ModelError, least=1)
    job = Job(world.copy(), length, metric, flag("tape", tape, error=ModelError), workers if backend == "local" else None)
    points = list(_points(grid, samples, count("seed", seed, error=ModelError)))
    if not points:
        raise ModelError("grid: has no points")
    for point in points:
        job.check(point)
    book = Book(path, job.fingerprint(points), len(points))
    waiting = [i for i in range(len(points)) if i not in book.found]
    parts = [waiting[i:i + chunk] for i in range(0, len(waiting), chunk)]
    runner = _ray if backend == "ray" else _local
    with book, Bar(len(points), len(book.found), progress) as bar:
        for places, results in runner(job, points, parts, workers):
            book.add(places, results)
            bar.advance(len(places))
    return _gather(points, [book.found[i] for i in range(len(points))])


def _points(grid: Any, samples: int | None, seed: int) -> Iterator[dict[str, Any]]:
    """The points of a grid, a list or a sampler."""
    if isinstance(grid, Mapping):
        try:
            lists = [list(values) for values in grid.values()]
        except TypeError as cause:
            raise ModelError("grid: needs a list of values for every name") from cause
        for values in itertools.product(*lists):
            yield dict(zip(grid, values))
        return
    if callable(grid):
        if samples is None:
            raise ModelError("samples: a sampler needs the number of points")
        drawn = [grid(np.random.default_rng((seed, i))) for i in range(count("samples", samples, error=ModelError, least=1))]
    else:
        try:
            drawn = list(grid)
        except TypeError as cause:
            raise ModelError(f"grid: needs a mapping, a list of points or a function, found {type(grid).__name__}") from cause
    for point in drawn:
        if not isinstance(point, Mapping):
            raise ModelError(f"grid: a point needs to be a mapping of names to values, found {type(point).__name__}")
        yield dict(point)


def _local(job: Job, points: Sequence[Point], parts: Sequence[list[int]], workers: int | None) -> Iterator[tuple[list[int], list]]:
    """Batch after batch; each of them uses all cores."""
    for places in parts:
        yield places, job.run([points[i] for i in places])


def _ray(job: Job, points: Sequence[Point], parts: Sequence[list[int]], workers: int | None) -> Iterator[tuple[list[int], list]]:
    """Batches as tasks of a Ray cluster, each on one core of a worker; a few are under way at any time."""
    try:
        import ray
    except ImportError as cause:
        raise Error("backend: needs ray (pip install ray)") from cause
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    task = ray.remote(_work)
    shared = ray.put(_carried(ray.cloudpickle, Job(job.world, job.steps, job.metric, job.tape, 1)))
    most = workers or 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting = list(reversed(parts))
    running: dict[Any, list[int]] = {}
    # What is under way when a metric fails ends by itself: cancelling a task that is just ending aborts the process (Ray 2).
    while waiting or running:
        while waiting and len(running) < most:
            places = waiting.pop()
            running[task.remote(shared, [points[i] for i in places])] = places
        done, _ = ray.wait(list(running), num_returns=1)
        for one in done:
            try:
                results = ray.get(one)
            except ray.exceptions.RayTaskError as error:
                raise (error.cause if isinstance(getattr(error, "cause", None), Exception) else error) from None
            yield running.pop(one), results


def _carried(cloudpickle: Any, job: Job) -> bytes:
    """The job in bytes, the code of its metric included: a worker need not find the script it comes from."""
    module = sys.modules.get(getattr(job.metric, "__module__", None) or "")
    outside = module is not None and module.__name__ != "__main__" and not module.__name__.startswith(f"{__package__}.")
    if outside:
        cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(job)
    finally:
        if outside:
            cloudpickle.unregister_pickle_by_value(module)


def _work(job: bytes, points: Sequence[Point]) -> list:
    """What a worker does."""
    return pickle.loads(job).run(points)


def _gather(points: list[dict[str, Any]], results: Sequence[tuple[dict[str, Any] | None, str]]) -> Sweep:
    """The results as arrays; where there is none, NaN."""
    good = [found for found, _ in results if found is not None]
    names = list(good[0]) if good else ["metric"]
    values = {}
    for name in names:
        shapes = {np.shape(found.get(name, ())) for found in good}
        if len(shapes) > 1 or any(name not in found or len(found) != len(names) for found in good):
            raise SolveError(f"metric: needs to return the same names and shapes at every point; {name!r} differs")
        blank = np.full(shapes.pop() if shapes else (), np.nan)
        values[name] = np.array([blank if found is None else found[name] for found, _ in results], dtype=np.float64)
    return Sweep(points, values, {i: said for i, (found, said) in enumerate(results) if found is None})
