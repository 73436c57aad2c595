"""Rollouts under ``torch.autograd`` and ``torch.func``. PyTorch is imported on first use."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Mapping

import numpy as np

from ._bridge import STATE, Rolled, check_params, check_shapes, check_world, roll, shapes
from ._carom import StepError
from ._check import count
from .world import World

__all__ = ["rollout"]


class _Held:
    """Where a forward pass leaves what its backward pass needs."""

    rolled: Rolled


@cache
def _functions() -> Any:
    import torch

    def front(x: Any, axis: int | None, size: int) -> Any:
        """The batched axis first; a tensor without one is the same for all."""
        return x.expand(size, *x.shape) if axis is None else x.movedim(axis, 0)

    class Pull(torch.autograd.Function):
        """Cotangents of the arguments. ``index`` says which world a cotangent belongs to; its axes come first everywhere."""

        @staticmethod
        def forward(held: _Held, names: tuple, index: Any, dq: Any, dv: Any) -> Any:
            found = held.rolled.pull(index.numpy(), dq.numpy(), dv.numpy(), names)
            return tuple(torch.from_numpy(np.array(found[name])) for name in names)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, held: _Held, names: tuple, *tensors: Any) -> Any:
            moved = [front(x, axis, info.batch_size) for x, axis in zip(tensors, in_dims[2:])]
            return Pull.apply(held, names, *moved), (0,) * len(names)

    class Roll(torch.autograd.Function):
        """Poses and velocities, and the number of the world each belongs to; ``lead`` are the leading axes of all tensors."""

        @staticmethod
        def forward(world: World, steps: int, names: tuple, held: _Held, tape: bool, lead: tuple, *tensors: Any) -> Any:
            given = {name: x.detach().cpu().numpy().astype(np.float64, copy=False) for name, x in zip(names, tensors)}
            held.rolled = roll(world, steps, given, lead, tape)
            q, v = held.rolled.states()
            index = torch.arange(math.prod(lead), dtype=torch.int64).reshape(lead)
            return torch.from_numpy(np.array(q)), torch.from_numpy(np.array(v)), index

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.names, ctx.held = inputs[2], inputs[3]
            ctx.mark_non_differentiable(output[2])
            ctx.save_for_backward(output[2])

        @staticmethod
        def backward(ctx: Any, dq: Any, dv: Any, _: Any) -> Any:
            wanted = ctx.needs_input_grad[6:]
            names = tuple(name for name, want in zip(ctx.names, wanted) if want)
            found = dict(zip(names, Pull.apply(ctx.held, names, *ctx.saved_tensors, dq, dv)))
            return (None,) * 6 + tuple(found.get(name) for name in ctx.names)

        @staticmethod
        def vmap(info: Any, in_dims: Any, world: World, steps: int, names: tuple, held: _Held, tape: bool, lead: tuple,
                 *tensors: Any) -> Any:
            moved = [front(x, axis, info.batch_size) for x, axis in zip(tensors, in_dims[6:])]
            return Roll.apply(world, steps, names, held, tape, (info.batch_size, *lead), *moved), (0, 0, 0)

    return Roll


def rollout(
    world: World, steps: int, q0: Any = None, v0: Any = None, controls: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[Any, Any]:
    """``(q, v)`` of a rollout as float64 tensors (T+1, n, ...) that carry gradients to q0, v0, controls and params.

    The world is not moved; None keeps its present state, no controls, its own parameters. Under ``torch.func.vmap`` the rollouts of all
    worlds run as one batch on all cores.
    """
    import torch

    check_world(world)
    steps = count("steps", steps, error=StepError)
    named = check_params(params)
    wanted = shapes(world, steps, tuple(named))
    values = {**dict(zip(STATE, (q0, v0, controls))), **{f"params.{name}": x for name, x in named.items()}}
    given = {name: torch.as_tensor(x, dtype=torch.float64) for name, x in values.items() if x is not None}
    check_shapes(given, wanted)
    # A wrapped tensor of torch.func does not always say that it is differentiated.
    wrapped = any(torch._C._functorch.is_functorch_wrapped_tensor(x) for x in given.values())
    tape = torch.is_grad_enabled() and (wrapped or any(x.requires_grad for x in given.values()))
    q, v, _ = _functions().apply(world, steps, tuple(given), _Held(), tape, (), *given.values())
    return q, v
