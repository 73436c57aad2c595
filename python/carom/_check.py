"""Arguments: to float64 arrays of a known shape, or a typed error that names the argument."""

from __future__ import annotations

import difflib
import operator
from typing import Any, Mapping, Sequence, Type, overload

import numpy as np

from ._carom import Error, SolveError

NUMERIC_KINDS = "fiub"


def describe(shape: Sequence[Any]) -> str:
    """A shape for people: ``(3, d)``; a free axis is a letter or ``any``."""
    inner = ", ".join("any" if s is None else str(s) for s in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def fits(wanted: Sequence[Any], found: Sequence[int]) -> bool:
    """Whether a shape is the one that is wanted, whose free axes are None."""
    return len(wanted) == len(found) and all(w is None or w == s for w, s in zip(wanted, found))


def numbers(name: str, value: Any, *shapes: Sequence[Any] | None, error: Type[Error] = SolveError, finite: bool = True) -> np.ndarray:
    """A C-ordered float64 array of one of the shapes; None in a shape is a free axis, and instead of one any shape."""
    try:
        found = np.asarray(value)
        if found.dtype.kind == "O" and value is not None:
            found = found.astype(np.float64)
    # A RuntimeError is that of a torch tensor that carries a gradient.
    except (OverflowError, RuntimeError, TypeError, ValueError) as cause:
        wanted = "" if None in shapes else f" of shape {' or '.join(describe(shape) for shape in shapes if shape is not None)}"
        raise error(f"{name}: needs numbers in an array{wanted}: {cause}") from cause
    if found.dtype.kind not in NUMERIC_KINDS:
        raise error(f"{name}: needs real numbers, found {type(value).__name__} of dtype {found.dtype}")
    if not any(shape is None or fits(shape, found.shape) for shape in shapes):
        raise error(f"{name}: found shape {describe(found.shape)}, needs {' or '.join(describe(shape) for shape in shapes if shape is not None)}")
    found = np.ascontiguousarray(found, dtype=np.float64).reshape(found.shape)
    if finite and not np.isfinite(found).all():
        raise error(f"{name}: needs finite numbers")
    return found


def number(name: str, value: Any, *, error: Type[Error] = SolveError, least: float | None = None, most: float | None = None) -> float:
    """A finite number within bounds."""
    found = float(numbers(name, value, (), error=error))
    if (least is not None and found < least) or (most is not None and found > most):
        bounds = " and ".join(f"{sign} {bound:g}" for sign, bound in ((">=", least), ("<=", most)) if bound is not None)
        raise error(f"{name}: found {found:g}, needs a number {bounds}")
    return found


def count(name: str, value: Any, *, error: Type[Error] = SolveError, least: int = 0, most: int = 2**31) -> int:
    """A whole number within bounds."""
    try:
        found = operator.index(value)
    except TypeError as cause:
        raise error(f"{name}: needs a whole number, found {value!r}") from cause
    if not least <= found <= most:
        raise error(f"{name}: found {found}, needs a whole number from {least} to {most}")
    return found


def word(name: str, value: Any, allowed: Sequence[str], *, error: Type[Error] = SolveError) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        near = difflib.get_close_matches(value, allowed, 1) if isinstance(value, str) else []
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise error(f"{name}: found {value!r}, needs one of {', '.join(map(repr, allowed))}{hint}")
    return value


def loss_text(value: Any) -> str:
    """A loss as text."""
    if not isinstance(value, str):
        raise SolveError(f"text: needs a loss as text, found {type(value).__name__}")
    return value


def flag(name: str, value: Any, *, error: Type[Error] = SolveError) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise error(f"{name}: needs True or False, found {value!r}")
    return bool(value)


def several(what: str, given: Any, *, error: Type[Error] = SolveError) -> list[Any]:
    """One name, or some, as a list."""
    if isinstance(given, str):
        return [given]
    try:
        return list(given)
    except TypeError as cause:
        raise error(f"{what}: needs a name or a list of names, found {given!r}") from cause


def place(what: str, name: Any, known: Sequence[str], *, error: Type[Error] = SolveError) -> int:
    """The place of a name among those that are known; the nearest one is named where it is none of them."""
    if not isinstance(name, str):
        raise error(f"{what}: needs a name, found {name!r}")
    if name in known:
        return known.index(name)
    near = difflib.get_close_matches(name, known, 1)
    there = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(known[:INLINE])}{', ...' if len(known) > INLINE else ''}" if known else "there are none"
    raise error(f'{what}: no "{name}"; {there}')


@overload
def flat(value: np.ndarray) -> np.ndarray: ...
@overload
def flat(value: None) -> None: ...
def flat(value: np.ndarray | None) -> np.ndarray | None:
    """The numbers in one row, as the native part takes them."""
    return None if value is None else np.ascontiguousarray(value).reshape(-1)


INLINE = 12
"""Arrays of up to this many numbers are printed whole."""


def show(value: Any) -> str:
    """A value in a repr: short arrays whole, long ones by their shape."""
    if isinstance(value, np.ndarray):
        if value.size <= INLINE:
            return np.array2string(value, precision=6, separator=", ").replace("\n", "")
        return f"<array {describe(value.shape)}>"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)) and len(value) > INLINE:
        return f"<{len(value)} entries>"
    return repr(value)


def escape(text: str) -> str:
    """Text as HTML shows it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def table(title: str, facts: Mapping[str, Any]) -> str:
    """A small table for notebooks."""
    rows = "".join(f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">'
                   f"{escape(value if isinstance(value, str) else show(value))}</td></tr>" for name, value in facts.items())
    return f"<table><caption>{escape(title)}</caption><tbody>{rows}</tbody></table>"


class Result:
    """A result with named fields; its repr shows them."""

    def __repr__(self) -> str:
        fields = [name for name in getattr(self, "__dataclass_fields__", {}) if not name.startswith("_")]
        return f"{type(self).__name__}({', '.join(f'{name}={show(getattr(self, name))}' for name in fields)})"

    def _repr_html_(self) -> str:
        fields = [name for name in getattr(self, "__dataclass_fields__", {}) if not name.startswith("_")]
        return table(type(self).__name__, {name: getattr(self, name) for name in fields})
