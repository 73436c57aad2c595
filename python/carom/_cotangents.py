"""What a rollout keeps of its states, and cotangents of them as the engine takes them: tangent, dense, of all states and bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._carom import ModelError, SolveError
from ._check import numbers, place, several

__all__ = ["Kept", "dense", "kept_states", "named_pairs", "pair_rows"]


@dataclass(frozen=True, eq=False)
class Kept:
    """The states and the bodies that a rollout hands out, by number."""

    states: np.ndarray
    bodies: np.ndarray

    def of(self, array: np.ndarray) -> np.ndarray:
        """Their part of an array of all states (..., T+1, n, width), read-only."""
        out = np.ascontiguousarray(array[..., self.states[:, None], self.bodies[None, :], :])
        out.flags.writeable = False
        return out

    def spread(self, rows: np.ndarray, steps: int, bodies: int) -> np.ndarray:
        """Rows of these states and bodies, or of the last state alone, among zeros of all."""
        lead, width = rows.shape[:-2], rows.shape[-1]
        if rows.ndim >= 3 and rows.shape[-3] == len(self.states) and rows.shape[-2] == len(self.bodies):
            lead = rows.shape[:-3]
            out = np.zeros((*lead, steps + 1, bodies, width))
            out[..., self.states[:, None], self.bodies[None, :], :] = rows
            return out
        out = np.zeros((*lead, bodies, width))
        out[..., self.bodies, :] = rows
        return out


def kept_states(steps: int, every: int, bodies: Any, names: list[str]) -> Kept | None:
    """States 0, every, 2 every, ... and the last, and bodies by name; None for all of both."""
    if every == 1 and bodies is None:
        return None
    states = np.unique(np.append(np.arange(0, steps + 1, every), steps))
    if bodies is None:
        return Kept(states, np.arange(len(names)))
    wanted = several("bodies", bodies, error=ModelError)
    return Kept(states, np.array([place("bodies", name, names, error=ModelError) for name in wanted], dtype=int))


def dense(name: str, rows: Mapping[Any, Any], shape: tuple[int, int, int], widths: tuple[int, ...], names: list[str], worlds: int | None) -> np.ndarray:
    """Cotangents of single states, ``{(step, body): row}``, of a batch ``{(world, step, body): row}``, among zeros; steps count from the end below 0."""
    states, bodies, _ = shape
    found: dict[tuple[int, ...], np.ndarray] = {}
    keys = 2 if worlds is None else 3
    for key, row in rows.items():
        said = f"{name}[{key!r}]"
        if not isinstance(key, tuple) or len(key) != keys:
            raise SolveError(f"{said}: needs {'(step, body)' if keys == 2 else '(world, step, body)'}")
        world = 0 if worlds is None else _index(f"{said}: world", key[0], worlds)
        body = place(f"{said}: body", key[-1], names, error=SolveError) if isinstance(key[-1], str) else _index(f"{said}: body", key[-1], bodies)
        found[world, _index(f"{said}: step", key[-2], states), body] = numbers(said, row, *((width,) for width in widths))
    width = max((len(row) for row in found.values()), default=widths[0])
    if any(len(row) != width for row in found.values()):
        raise SolveError(f"{name}: its rows have several lengths")
    out = np.zeros((1 if worlds is None else worlds, states, bodies, width))
    for at, row in found.items():
        out[at] += row
    return out[0] if worlds is None else out


def _index(name: str, value: Any, count: int) -> int:
    """A whole number below a count, or one counted from the end."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and -count <= value < count:
        return int(value) % count
    raise SolveError(f"{name}: found {value!r}, needs a whole number below {count}")


def named_pairs(pairs: Any, names: list[str]) -> list[tuple[int, int | None]]:
    """Pairs of bodies by number: ``"foot"`` for all that touches it, ``("foot", "ground")`` for one other."""
    out: list[tuple[int, int | None]] = []
    for pair in several("forces", pairs):
        both = (pair, None) if isinstance(pair, str) else pair
        if not isinstance(both, tuple) or len(both) != 2:
            raise SolveError(f"forces: needs a name or a pair of names, found {pair!r}")
        a, b = both
        one = place("forces", a, names, error=SolveError)
        two = None if b is None else place("forces", b, names, error=SolveError)
        if one == two:
            raise SolveError(f"forces: a body does not touch itself, found {pair!r}")
        out.append((one, two))
    return out


def pair_rows(forces: Mapping[Any, Any], steps: int, dimension: int, names: list[str], worlds: int | None) -> tuple[list[tuple[int, int | None]], np.ndarray]:
    """Cotangents of forces ``{("foot", "ground"): (T, dim)}``: pairs by number, and all of them as the engine takes them."""
    if not isinstance(forces, Mapping):
        raise SolveError(f"forces: needs a mapping of bodies or pairs of bodies to arrays, found {type(forces).__name__}")
    pairs = named_pairs(list(forces), names)
    lead = () if worlds is None else (worlds,)
    rows = [numbers(f"forces[{key!r}]", value, (*lead, steps, dimension)) for key, value in forces.items()]
    return pairs, np.stack(rows, axis=-2) if rows else np.zeros((*lead, steps, 0, dimension))
