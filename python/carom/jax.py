"""Rollouts under ``jax.grad``. JAX is imported on first use; turn on ``jax_enable_x64`` for double precision."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from ._bridge import check_params, check_world, pull, roll
from ._check import count
from ._carom import StepError
from .rollout import at_switches
from .world import World

__all__ = ["rollout"]


def rollout(
    world: World, steps: int, q0: Any = None, v0: Any = None, controls: Any = None, params: Mapping[str, Any] | None = None, *,
    weak: str | None = None, kappa: float | None = None,
) -> tuple[Any, Any]:
    """``(q, v)`` of a rollout as arrays (T+1, n, ...) that carry gradients to q0, v0, controls and params.

    The world is not moved; None keeps its present state, no controls, its own parameters. Works under ``jit`` (by a callback); the
    backward pass takes the steps once more to record them. ``weak`` and ``kappa`` choose what gradients are at contacts that stand at a
    switch, as in :meth:`Rollout.backward`.
    """
    import jax
    import jax.numpy as jnp

    check_world(world)
    steps = count("steps", steps, error=StepError)
    named = check_params(params)
    names = tuple(named)
    side = at_switches(weak, kappa)
    held = world.copy()  # what the trace sees does not change when the caller's world moves on
    given = {key: jnp.asarray(x) for key, x in (("q0", q0), ("v0", v0), ("controls", controls)) if x is not None}
    given.update({f"params.{name}": jnp.asarray(x) for name, x in named.items()})
    keys = tuple(given)
    bodies, _, coords, dof = world._sizes
    kind = jnp.result_type(float)
    shapes = (jax.ShapeDtypeStruct((steps + 1, bodies, coords), kind), jax.ShapeDtypeStruct((steps + 1, bodies, dof), kind))

    def run(values: tuple, tape: bool) -> Any:
        at = {key: np.asarray(value, dtype=np.float64) for key, value in zip(keys, values)}
        parameters = {name: at[f"params.{name}"] for name in names}
        return roll(held, steps, at.get("q0"), at.get("v0"), at.get("controls"), parameters, tape), at

    def ahead(*values: Any) -> Any:
        rolled, _ = run(values, False)
        return rolled.q.astype(kind), rolled.v.astype(kind)

    def behind(dq: Any, dv: Any, *values: Any) -> Any:
        rolled, at = run(values, True)
        found = pull(rolled, at.get("q0"), np.asarray(dq, dtype=np.float64), np.asarray(dv, dtype=np.float64), names, side)
        by_key = dict(zip(("q0", "v0", "controls", *(f"params.{name}" for name in names)), found))
        return tuple(np.asarray(by_key[key]).astype(value.dtype).reshape(value.shape) for key, value in zip(keys, values))

    @jax.custom_vjp
    def rolled(*values: Any) -> Any:
        return jax.pure_callback(ahead, shapes, *values, vmap_method="sequential")

    def forward(*values: Any) -> Any:
        return rolled(*values), values

    def backward(values: tuple, cotangents: tuple) -> Any:
        structure = tuple(jax.ShapeDtypeStruct(value.shape, value.dtype) for value in values)
        return jax.pure_callback(behind, structure, *cotangents, *values, vmap_method="sequential")

    rolled.defvjp(forward, backward)
    return rolled(*given.values())
