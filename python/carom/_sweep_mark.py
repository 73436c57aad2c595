"""What a metric computes, in words: two that differ in code or in any number they use do not have the same ones."""

from __future__ import annotations

import dis
import functools
import hashlib
import types
from typing import Any, Iterator, Mapping

import numpy as np

from .world import World

__all__ = ["said"]

PLAIN = (bool, bytes, complex, float, int, str, type(None), type(Ellipsis), range, slice)
"""Values whose repr is all there is to them."""


MODULE = 0
"""Where the names of the metric's module are held among what was reported: the number of no object."""


def said(value: Any) -> str:
    """A function by its code, its defaults and what it takes from around it; a value by its contents; an object by its attributes.

    What cannot be looked into, as a compiled function, is reported by its name alone.
    """
    return _said(value, {})


Seen = dict[int, Any]
"""What was told already, by its number; held, so that no other object gets it."""


def _said(value: Any, seen: Seen) -> str:
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, types.CodeType):
        return _code(value, seen)
    if isinstance(value, tuple):
        return f"({', '.join(_said(one, seen) for one in value)})"
    if isinstance(value, (frozenset, set)):
        return f"set [{', '.join(sorted(_said(one, seen) for one in value))}]"
    if id(value) in seen:
        return f"again {type(value).__qualname__}"
    seen[id(value)] = value
    if isinstance(value, types.FunctionType):
        return _function(value, seen)
    if isinstance(value, types.MethodType):
        return f"method {_said(value.__func__, seen)} of {_said(value.__self__, seen)}"
    if isinstance(value, functools.partial):
        return f"partial {_said([value.func, value.args, value.keywords], seen)}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_said(key, seen)}: {_said(one, seen)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_said(one, seen) for one in value)}]"
    if isinstance(value, World):
        return f"World {value.hash()} {_said(dict(value.params), seen)}"
    return _object(value, seen)


def _code(code: types.CodeType, seen: Seen) -> str:
    return f"{code.co_name} {code.co_code.hex()} {code.co_names} {[_said(constant, seen) for constant in code.co_consts]}"


def _function(function: types.FunctionType, seen: Seen) -> str:
    # A module's names are looked into for the functions of one module: what others keep there is theirs, and may change at any time.
    module = function.__globals__
    known = module if seen.setdefault(MODULE, module) is module else {}
    around: dict[str, Any] = {name: known[name] for name in _globals(function.__code__) if name in known}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            around[name] = cell.cell_contents
        except ValueError:
            continue  # not bound yet
    return f"function {_code(function.__code__, seen)} {_said([function.__defaults__, function.__kwdefaults__, around], seen)}"


def _globals(code: types.CodeType) -> Iterator[str]:
    """Names of the module that a function uses, those of functions inside it included."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(_globals(constant))
    return iter(sorted(names))


def _object(value: Any, seen: Seen) -> str:
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    if isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
        return f"{name} {getattr(value, '__name__', '')}"
    if hasattr(value, "__array__"):
        try:
            array = np.asarray(value)
        except Exception:  # whatever it is that an array of another package cannot be turned into
            return name
        if array.dtype != object:
            return f"array {array.dtype} {array.shape} {hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}"
    call = getattr(type(value), "__call__", None)
    return f"{name} {_said([call if isinstance(call, types.FunctionType) else None, getattr(value, '__dict__', {})], seen)}"
