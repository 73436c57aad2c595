"""Losses of a run for :func:`carom.optimise`: their value, their gradient with respect to states and controls, and their curvature."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Callable

import numpy as np

from . import _carom
from ._carom import SolveError
from ._check import flat
from ._tangent import add
from .rollout import to_tangent
from .world import World

__all__ = ["Curvature", "LossOf", "Slopes", "Traced", "read_loss"]

STEP = 1e-5
"""How far states and controls are moved to see how a gradient changes."""


@dataclass(frozen=True, eq=False)
class Traced:
    """A run as a loss sees it: ``q`` (T+1, n, ...), ``v`` (T+1, n, ...) and ``controls`` (T, nu) as tensors, ``time`` (T+1,) and the names of ``bodies``."""

    q: Any
    v: Any
    controls: Any
    time: np.ndarray
    bodies: list[str]


@dataclass(frozen=True, eq=False)
class Slopes:
    """A loss and its gradient: by the tangent states (T+1, 2 n dof), q first, and by the controls (T, nu)."""

    value: float
    states: np.ndarray
    controls: np.ndarray


@dataclass(frozen=True, eq=False)
class Curvature:
    """Second derivatives of a loss, state by state: only the coordinates ``active`` of x = (state, control) have any."""

    active: np.ndarray
    blocks: np.ndarray


class LossOf:
    """A loss of the runs of one world. ``grad(q, v, controls)`` is its value and its gradients with respect to these arrays."""

    def __init__(self, world: World, grad: Callable[..., tuple[float, np.ndarray, np.ndarray, np.ndarray]]) -> None:
        self._grad, self._sizes = grad, world._sizes

    def slopes(self, q: np.ndarray, v: np.ndarray, controls: np.ndarray) -> Slopes:
        """Value and gradient at a run."""
        value, dq, dv, du = self._grad(q, v, controls)
        if dq.shape[-1] != self._sizes[3]:
            dq = to_tangent(q, dq)
        states = np.concatenate([dq.reshape(len(q), -1), dv.reshape(len(v), -1)], axis=1)
        if not (np.isfinite(value) and np.isfinite(states).all() and np.isfinite(du).all()):
            raise SolveError("loss: its value or its gradient is no finite number")
        return Slopes(float(value), states, du)

    def curvature(self, q: np.ndarray, v: np.ndarray, controls: np.ndarray, base: Slopes, moving: np.ndarray) -> Curvature:
        """How the gradient changes with the coordinates ``moving`` of the states and with the controls, every state by itself; made positive.

        All states are moved at once, so a loss is taken as a sum over its states. Where it is not, this is a model of it, and the search looks at the loss itself.
        """
        nx, nu = base.states.shape[1], controls.shape[1]
        columns = [*np.flatnonzero(moving), *range(nx, nx + nu)]
        last = np.zeros((1, nu))
        found = {}
        for column in columns:
            step = np.zeros((1, nx))
            at = controls
            if column < nx:
                step[0, column] = STEP
            else:
                at = controls.copy()
                at[:, column - nx] += STEP
            there = self.slopes(*add(q, v, np.broadcast_to(step, base.states.shape)), at)
            change = np.concatenate([(there.states - base.states), np.concatenate([there.controls - base.controls, last])], axis=1) / STEP
            # Below the rounding of the difference there is no curvature.
            if np.abs(change).max(initial=0.0) > 1e-7 * (1.0 + np.abs(base.states).max(initial=0.0)):
                found[column] = change
        active = np.array(sorted(found), dtype=int)
        if not len(active):
            return Curvature(active, np.zeros((len(q), 0, 0)))
        blocks = np.stack([found[column][:, active] for column in active], axis=2)
        blocks = 0.5 * (blocks + blocks.transpose(0, 2, 1))
        values, vectors = np.linalg.eigh(blocks)
        return Curvature(active, np.einsum("tij,tj,tkj->tik", vectors, np.maximum(values, 0.0), vectors))


def _modules(loss: Any) -> set[str]:
    """Names of the packages that a function mentions."""
    inner = getattr(loss, "__wrapped__", loss)
    inner = getattr(inner, "func", inner)
    inner = inner if hasattr(inner, "__code__") else getattr(type(inner), "__call__", inner)
    code, known = getattr(inner, "__code__", None), getattr(inner, "__globals__", {})
    if code is None:
        return set()
    cells = dict(zip(code.co_freevars, getattr(inner, "__closure__", None) or ()))
    out = set()
    for name in {*code.co_names, *code.co_freevars}:
        try:
            value = cells[name].cell_contents if name in cells else known.get(name)
        except ValueError:  # a cell that is still empty
            continue
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        out.add((home if isinstance(home, str) else name).partition(".")[0])
    return out


def _by_torch(loss: Callable[[Traced], Any], time: np.ndarray, bodies: list[str]) -> Callable[..., Any]:
    import torch

    def grad(q: np.ndarray, v: np.ndarray, controls: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        given = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (q, v, controls)]
        value = loss(Traced(given[0], given[1], given[2], time, bodies))
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            raise SolveError(f"loss: needs to return one number as a tensor, found {type(value).__name__}")
        slopes = torch.autograd.grad(value.reshape(()), given, allow_unused=True) if value.requires_grad else (None,) * 3
        return float(value.detach()), *(np.zeros_like(x) if s is None else s.numpy() for x, s in zip((q, v, controls), slopes))  # type: ignore[return-value]

    return grad


def _doubles(jax: Any) -> Any:
    """Double precision for as long as it is entered; its name moved out of `experimental` in newer versions."""
    return jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()


def _by_jax(loss: Callable[[Traced], Any], time: np.ndarray, bodies: list[str]) -> Callable[..., Any]:
    import jax

    def value(q: Any, v: Any, controls: Any) -> Any:
        return loss(Traced(q, v, controls, time, bodies))

    def grad(q: np.ndarray, v: np.ndarray, controls: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        with _doubles(jax):
            found, slopes = jax.value_and_grad(value, argnums=(0, 1, 2))(q, v, controls)
            return float(found), *(np.asarray(s, dtype=np.float64) for s in slopes)  # type: ignore[return-value]

    return grad


def _by_text(world: World, text: str) -> Callable[..., Any]:
    native = world._native
    if _carom.loss_pairs(native, text):
        raise SolveError("loss: a search by the Jacobians of the steps reads states, not forces of contacts; Rollout.backward takes losses of them")

    def grad(q: np.ndarray, v: np.ndarray, controls: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        value, (dq, dv, _, _) = _carom.loss_slope(native, text, flat(q), flat(v), None)
        return value, dq, dv, np.zeros_like(controls)

    return grad


def read_loss(world: World, loss: Any, steps: int) -> LossOf:
    """A loss from an expression as in ``carom grad --loss``, or from a function of a :class:`Traced` run that uses PyTorch or JAX."""
    if isinstance(loss, str):
        return LossOf(world, _by_text(world, loss))
    if not callable(loss):
        raise SolveError(f"loss: needs an expression or a function of the run, found {type(loss).__name__}")
    time, bodies = world.time + world.step_size * np.arange(steps + 1), world.bodies
    mentioned = _modules(loss)
    makers = {"torch": _by_torch, "jax": _by_jax}
    there = [name for name in makers if importlib.util.find_spec(name) is not None]
    chosen = [name for name in there if name in mentioned] or there
    if not chosen:
        raise SolveError("loss: a function needs PyTorch or JAX (pip install torch, or jax); an expression as text needs neither")
    return LossOf(world, makers[chosen[0]](loss, time, bodies))
