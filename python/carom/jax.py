"""Rollouts under ``jax.grad``, ``jax.jit`` and ``jax.vmap``. JAX is imported on first use; turn on ``jax_enable_x64`` for double precision."""

from __future__ import annotations

import math
from typing import Any, Mapping

import numpy as np

from ._bridge import STATE, Rolled, called, check_params, check_shapes, check_states, check_world, loss_slopes, roll, shapes
from ._carom import ModelError, StepError
from ._check import count, numbers
from ._cotangents import named_pairs
from .rollout import at_switches
from .world import World

__all__ = ["loss", "rollout"]


def _array(name: str, value: Any) -> Any:
    """An argument as an array of real numbers."""
    import jax
    import jax.numpy as jnp

    found = jnp.asarray(value if isinstance(value, jax.Array) else numbers(name, value, None, error=ModelError, finite=False))
    if jnp.iscomplexobj(found):
        raise ModelError(f"{name}: needs real numbers, found an array of {found.dtype}")
    return found


def loss(world: World, text: str, q: Any, v: Any) -> Any:
    """A loss written as text (``"elbow.position^2 + hand.at(0.1, 0, 0).z"``, as in ``carom grad --loss``) on states of a rollout, as a number that carries
    gradients to ``q`` (T+1, n, ...) and ``v``. Works under ``jit``."""
    import jax
    import jax.numpy as jnp

    check_world(world)
    q, v = check_states(world, _array("q", q), _array("v", v))
    held, kind = world.copy(), jnp.result_type(float)
    forms = tuple(jax.ShapeDtypeStruct(x.shape, kind) for x in (q, v))

    def run(q: Any, v: Any) -> Any:
        found = loss_slopes(held, text, np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64))
        return tuple(np.asarray(x, dtype=kind) for x in found)

    @jax.custom_vjp
    def valued(q: Any, v: Any) -> Any:
        return forward(q, v)[0]

    def forward(q: Any, v: Any) -> Any:
        value, *slopes = jax.pure_callback(run, (jax.ShapeDtypeStruct((), kind), *forms), q, v, vmap_method="sequential")
        return value, tuple(slopes)

    def backward(slopes: tuple, bar: Any) -> Any:
        return tuple((bar * slope).astype(x.dtype) for slope, x in zip(slopes, (q, v)))

    valued.defvjp(forward, backward)
    return valued(q, v)


def rollout(
    world: World, steps: int, q0: Any = None, v0: Any = None, controls: Any = None, params: Mapping[str, Any] | None = None, *,
    forces: Any = None, weak: str | None = None, kappa: float | None = None,
) -> tuple[Any, ...]:
    """``(q, v)`` of a rollout as arrays (T+1, n, ...) that carry gradients to q0, v0, controls and params.

    With ``forces=["foot", ("hand", "cup")]`` it is ``(q, v, f)``, f (T, pairs, dim) the forces of contacts in every step as in :meth:`Rollout.forces`.

    The world is not moved; None keeps its present state, no controls, its own parameters. Works under ``jit`` (by a callback); the
    backward pass takes the steps once more to record them. Under ``vmap`` the rollouts of all worlds run as one batch on all cores.
    What ``jit`` compiles keeps the world as it was when it was traced: give what changes as an argument. ``weak`` and ``kappa`` choose what
    gradients are at contacts that stand at a switch, as in :meth:`Rollout.backward`. There is no forward mode and there are no second
    derivatives: JAX says so.
    """
    import jax
    import jax.numpy as jnp

    check_world(world)
    steps = count("steps", steps, error=StepError)
    named = check_params(params)
    wanted = shapes(world, steps, tuple(named))
    side = at_switches(weak, kappa)
    pairs = [] if forces is None else named_pairs(forces, world.bodies)
    held = world.copy()  # what the trace sees does not change when the caller's world moves on
    values = {**dict(zip(STATE, (q0, v0, controls))), **{f"params.{name}": x for name, x in named.items()}}
    given = {name: _array(called(name), x) for name, x in values.items() if x is not None}
    check_shapes(given, wanted)
    for name, x in given.items():
        # What is known already is an error of this call; what is traced, one of the run (jax.errors.JaxRuntimeError with the same message).
        if not isinstance(x, jax.core.Tracer):
            numbers(called(name), x, wanted[name], error=ModelError, finite=name in STATE)
            if name not in STATE:
                held.params[name.removeprefix("params.")] = x
    names = tuple(given)
    kind = jnp.result_type(float)
    bodies, _, coords, dof = world._sizes
    forms = [(steps + 1, bodies, width) for width in (coords, dof)] + [(steps, len(pairs), world.dimension)] * bool(pairs)
    states = tuple(jax.ShapeDtypeStruct(form, kind) for form in forms)

    def run(values: tuple, tape: bool) -> Rolled:
        at = {name: np.asarray(value, dtype=np.float64) for name, value in zip(names, values)}
        # vmap gives every array its leading axes, of length 1 where it does not vary.
        lead = np.broadcast_shapes(*(x.shape[:x.ndim - len(wanted[name])] for name, x in at.items()))
        return roll(held, steps, at, lead, tape, side, pairs)

    def ahead(*values: Any) -> Any:
        return tuple(x.astype(kind) for x in run(values, False).states())

    def behind(*given: Any) -> Any:
        bars, values = [np.asarray(x, dtype=np.float64) for x in given[:len(states)]], given[len(states):]
        rolled = run(values, True)
        lead = np.broadcast_shapes(rolled.lead, *(x.shape[:x.ndim - 3] for x in bars))
        bars = [np.broadcast_to(x, lead + x.shape[x.ndim - 3:]) for x in bars]
        index = np.broadcast_to(np.arange(math.prod(rolled.lead)).reshape(rolled.lead), lead)
        found = rolled.pull(index, bars, names)
        return tuple(found[name].astype(value.dtype) for name, value in zip(names, values))

    @jax.custom_vjp
    def rolled(*values: Any) -> Any:
        return jax.pure_callback(ahead, states, *values, vmap_method="expand_dims")

    def forward(*values: Any) -> Any:
        return rolled(*values), values

    def backward(values: tuple, cotangents: tuple) -> Any:
        structure = tuple(jax.ShapeDtypeStruct(value.shape, value.dtype) for value in values)
        return jax.pure_callback(behind, structure, *cotangents, *values, vmap_method="expand_dims")

    rolled.defvjp(forward, backward)
    return rolled(*given.values())
