"""One scene in several engines, timed by turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class Lacks(Exception):
    """An engine that cannot take part, and why."""


@dataclass
class Entry:
    """An engine on a scene: ``block`` does ``count`` units of work from the start; ``accuracy`` says how exact it was.

    What one thread does is timed by the processor, so that other work on the machine counts little; what several do, by the clock on the wall.
    """

    engine: str
    block: Callable[[], Any]
    count: int
    accuracy: Callable[[], dict[str, float]] = dict
    threads: int = 1
    times: list[float] = field(default_factory=list)
    told: list[float] | None = None
    """Times that an engine outside this process says of itself [us], one for each block."""


@dataclass
class Case:
    """A scene: its name, what is timed, and the engines by name with what makes their entry."""

    name: str
    unit: str
    makers: dict[str, Callable[[], Entry]]


def run(case: Case, rounds: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Times all engines of a case by turns; the least and the median time of a unit [us], with what is lacking said."""
    entries: list[Entry] = []
    missing: dict[str, str] = {}
    for engine, make in case.makers.items():
        try:
            entries.append(make())
        except ImportError as error:
            missing[engine] = f"not installed ({error.name or error})"
        except Lacks as lack:
            missing[engine] = str(lack)
    for entry in entries:
        entry.block()
    for _ in range(rounds):
        for entry in entries:
            clock = time.process_time if entry.threads == 1 else time.perf_counter
            begun = clock()
            entry.block()
            entry.times.append(entry.told[-1] if entry.told else (clock() - begun) / entry.count * 1e6)
    found: dict[str, Any] = {}
    for entry in entries:
        found[entry.engine] = {"min": min(entry.times), "median": statistics.median(entry.times), **entry.accuracy()}
        say(f"{case.name:<34} {entry.engine:<12} {found[entry.engine]['min']:>11.2f} us")
    return {"unit": case.unit, "engines": found, "missing": missing}
