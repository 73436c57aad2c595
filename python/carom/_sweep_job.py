"""What a worker of a sweep does: a point becomes arrays, arrays a rollout, a rollout the numbers of the metric."""

from __future__ import annotations

import hashlib
import pickle
import re
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np

from ._carom import Error, ModelError, SolveError, StepError
from ._sweep_mark import said
from .batch import Batch
from .rollout import Rollout
from .world import World

__all__ = ["Job", "Metric", "Point"]

PLACE = re.compile(r"(?P<name>\w+)(?:\[(?P<body>.+?)(?:,\s*(?P<axis>\d+))?\])?")
"""``mass``, ``mass[ball]`` or ``v[ball, 0]``."""

Point = Mapping[str, Any]
Metric = Callable[[Rollout], Any]


@dataclass(frozen=True)
class Job:
    """What every worker needs."""

    world: World
    steps: int
    metric: Metric
    tape: bool
    threads: int | None

    def split(self, name: Any) -> tuple[str, int | None, int | None]:
        """Array, body and component of a name."""
        found = PLACE.fullmatch(name) if isinstance(name, str) else None
        if found is None:
            raise ModelError(f'grid: found the name {name!r}, needs one as "mass", "mass[ball]" or "v[ball, 0]"')
        array, body, axis = found["name"], found["body"], found["axis"]
        if array not in ("q", "v", "controls") and array not in self.world.params:
            raise ModelError(f"grid: there is no {array!r}; there are q, v, controls, {', '.join(self.world.params)}")
        if body is None:
            return array, None, None
        rows = {name: i for i, name in enumerate(self.world.bodies)}
        if body not in rows or len(self.now(array)) != len(rows):
            raise ModelError(f"grid: {name!r}: there is no body {body!r}" if body not in rows else f"grid: {name!r}: has no row per body")
        return array, rows[body], None if axis is None else int(axis)

    def now(self, array: str) -> np.ndarray:
        """An array of the world as it stands."""
        if array == "controls":
            return np.zeros((self.steps, len(self.world.controls)))
        return getattr(self.world, array) if array in ("q", "v") else self.world.params[array]

    def arrays(self, point: Point) -> dict[str, np.ndarray]:
        """The arrays of a point, whole."""
        found: dict[str, np.ndarray] = {}
        for name, value in point.items():
            array, row, axis = self.split(name)
            whole = found.get(array, np.array(self.now(array)))
            try:
                given = np.asarray(value, dtype=np.float64)
                if row is None and given.ndim == 0:
                    whole = np.where(np.isfinite(whole), given, whole)
                elif row is None:
                    whole = np.broadcast_to(given, whole.shape)
                elif axis is None:
                    whole[row] = given
                else:
                    whole[row, axis] = given
            except (TypeError, ValueError, IndexError) as cause:
                raise ModelError(f"grid: {name!r}: found {value!r}, needs numbers in the shape of {array}: {cause}") from cause
            found[array] = np.array(whole)
        return found

    def check(self, point: Point) -> None:
        """A point that no world could take is an error before anything runs."""
        world = self.world.copy()
        try:
            self.place(world, self.arrays(point))
        except Error as error:
            said = str(error)
            raise ModelError(said if said.startswith("grid") else f"grid: at {dict(point)!r}: {said}") from None

    @staticmethod
    def place(world: Any, arrays: Mapping[str, np.ndarray]) -> None:
        """Sets parameters, then poses and velocities."""
        for name, value in arrays.items():
            if name not in ("q", "v", "controls"):
                world.params[name] = value
        for name in ("q", "v"):
            if name in arrays:
                setattr(world, name, arrays[name])

    def run(self, points: Sequence[Point]) -> list[tuple[dict[str, Any] | None, str]]:
        """The metric of every point by name, or why it has none. A batch, or one by one if one of them fails: the bits are the same."""
        arrays = [self.arrays(point) for point in points]
        runs: list[Rollout | str]
        try:
            runs = list(self.batch(arrays))
        except StepError:
            runs = [self.alone(one) for one in arrays]
        return [(None, run) if isinstance(run, str) else (self.measured(run), "") for run in runs]

    def batch(self, arrays: Sequence[Mapping[str, np.ndarray]]) -> Iterator[Rollout]:
        """Rollouts of a batch."""
        batch = Batch(self.world, len(arrays), threads=self.threads)
        names = sorted({name for one in arrays for name in one})
        stacked = {name: np.stack([one.get(name, self.now(name)) for one in arrays]) for name in names}
        self.place(batch, stacked)
        return iter(batch.rollout(self.steps, stacked.get("controls"), tape=self.tape))

    def alone(self, arrays: Mapping[str, np.ndarray]) -> Rollout | str:
        """A rollout, or why there is none."""
        world = self.world.copy()
        self.place(world, arrays)
        try:
            return world.rollout(self.steps, arrays.get("controls"), tape=self.tape)
        except StepError as error:
            return str(error)

    def measured(self, run: Rollout) -> dict[str, Any]:
        """The metric as plain numbers and lists."""
        said = self.metric(run)
        named = said if isinstance(said, Mapping) else {"metric": said}
        found = {}
        for name, value in named.items():
            try:
                array = np.asarray(value, dtype=np.float64) if value is not None else None
            except (TypeError, ValueError) as cause:
                raise SolveError(f"metric: needs to return numbers, found {value!r} for {name!r}") from cause
            if array is None:
                raise SolveError(f"metric: returns None for {name!r}, needs to return numbers")
            found[str(name)] = array.tolist()
        return found

    def fingerprint(self, points: Sequence[Point]) -> str:
        """Names the sweep: the same world, points, steps and metric have the same one."""
        text, edits, snapshot = self.world._native.pack()
        digest = hashlib.sha256(pickle.dumps((text, [(key, value.tolist()) for key, value in edits], snapshot, self.steps, self.tape), 4))
        for point in points:
            digest.update(repr([(name, np.asarray(value).tolist()) for name, value in point.items()]).encode())
        digest.update(said(self.metric).encode())
        return digest.hexdigest()
