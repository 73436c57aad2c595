"""What a sweep leaves on disk and on the screen: its results file and its line of progress."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Sequence

import numpy as np

from ._carom import ModelError
from ._check import flag

__all__ = ["Bar", "Book"]

SAVE_EVERY = 2.0
"""Time between two writes of the results file [s]."""
FORMAT = 1
"""Version of the results file."""


def checked(metrics: Any) -> dict[str, Any] | None:
    """The metrics of a point as the file holds them: numbers by name, or None."""
    if metrics is not None:
        for value in dict(metrics).values():
            np.asarray(value, dtype=np.float64)
    return metrics


class Book:
    """The results file: JSON, replaced as a whole so that it is never half written. Numbers are in their shortest exact form."""

    def __init__(self, path: Any, fingerprint: str, points: int) -> None:
        self.fingerprint, self.points = fingerprint, points
        self.found: dict[int, tuple[dict[str, Any] | None, str]] = {}
        self.saved, self.fresh = time.monotonic(), False
        try:
            self.path = None if path is None else os.fspath(path)
        except TypeError as cause:
            raise ModelError(f"path: needs a path, found {path!r}") from cause
        if self.path is None:
            return
        if os.path.exists(self.path):
            self.read()
        elif not os.path.isdir(folder := os.path.dirname(os.path.abspath(self.path))):
            raise ModelError(f"path: {self.path!r} cannot be written: there is no folder {folder!r}")

    def read(self) -> None:
        try:
            with open(self.path or "", encoding="utf-8") as file:
                held = json.load(file)
            mark, rows = held["fingerprint"], held["results"]
            found = {int(i): (checked(row[0]), str(row[1])) for i, row in rows.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as cause:
            raise ModelError(f"path: {self.path!r} holds no results of a sweep: {cause}") from cause
        if held.get("format") != FORMAT or mark != self.fingerprint or not all(0 <= i < self.points for i in found):
            raise ModelError(f"path: {self.path!r} holds the results of another sweep (other world, points, steps or metric)")
        self.found = found

    def add(self, places: Sequence[int], results: Sequence[tuple[dict[str, Any] | None, str]]) -> None:
        self.found.update(zip(places, results))
        self.fresh = True
        if time.monotonic() - self.saved >= SAVE_EVERY:
            self.write()

    def write(self) -> None:
        if self.path is None or not self.fresh:
            return
        held = {"format": FORMAT, "fingerprint": self.fingerprint, "points": self.points,
                "results": {str(i): self.found[i] for i in sorted(self.found)}}
        draft = f"{self.path}.{os.getpid()}.part"
        try:
            with open(draft, "w", encoding="utf-8") as file:
                json.dump(held, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except OSError as cause:
            if os.path.exists(draft):
                os.remove(draft)
            raise ModelError(f"path: {self.path!r} cannot be written: {cause}") from cause
        self.saved, self.fresh = time.monotonic(), False

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: Any) -> None:
        self.write()  # also when the sweep is interrupted or fails


class Bar:
    """A line of progress: tqdm's where there is one, else a small one of its own; by default only on a terminal."""

    WIDTH = 30

    def __init__(self, total: int, done: int, wanted: Any) -> None:
        self.wanted = sys.stderr.isatty() if wanted is None else flag("progress", wanted, error=ModelError)
        self.total, self.done, self.begun, self.first = total, done, time.monotonic(), done
        self.line: Any = None
        if self.wanted:
            try:
                from tqdm import tqdm
            except ImportError:
                pass
            else:
                self.line = tqdm(total=total, initial=done, desc="sweep", unit="run")

    def advance(self, by: int) -> None:
        self.done += by
        if self.line is not None:
            self.line.update(by)
        elif self.wanted:
            full = self.WIDTH * self.done // self.total
            rate = (self.done - self.first) / max(time.monotonic() - self.begun, 1e-9)
            sys.stderr.write(f"\rsweep |{'#' * full}{'.' * (self.WIDTH - full)}| {self.done}/{self.total}, {rate:.0f} runs/s")
            sys.stderr.flush()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.line is not None:
            self.line.close()
        elif self.wanted:
            sys.stderr.write("\n")
