"""Rollouts under ``torch.autograd``. PyTorch is imported on first use."""

from __future__ import annotations

from functools import cache
from typing import Any, Mapping

import numpy as np

from ._bridge import check_params, check_world, pull, roll
from .rollout import at_switches
from .world import World

__all__ = ["rollout"]


@cache
def _function() -> Any:
    import torch

    def plain(value: Any) -> Any:
        return None if value is None else value.detach().cpu().numpy().astype(np.float64)

    class Rolled(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: Any, world: World, steps: int, names: tuple, side: tuple, q0: Any, v0: Any, controls: Any, *params: Any
        ) -> Any:
            arrays = [plain(x) for x in (q0, v0, controls, *params)]
            wanted = any(ctx.needs_input_grad)
            run = roll(world, steps, arrays[0], arrays[1], arrays[2], dict(zip(names, arrays[3:])), wanted)
            ctx.run, ctx.names, ctx.side, ctx.q0 = run, names, side, arrays[0]
            return torch.from_numpy(np.array(run.q)), torch.from_numpy(np.array(run.v))

        @staticmethod
        def backward(ctx: Any, dq: Any, dv: Any) -> Any:
            found = pull(ctx.run, ctx.q0, dq.numpy(), dv.numpy(), ctx.names, ctx.side)
            wanted = ctx.needs_input_grad[4:]
            # An array without an axis comes back as a number of numpy.
            return None, None, None, None, *(torch.from_numpy(np.array(x)) if w else None for x, w in zip(found, wanted))

    return Rolled


def rollout(
    world: World, steps: int, q0: Any = None, v0: Any = None, controls: Any = None, params: Mapping[str, Any] | None = None, *,
    weak: str | None = None, kappa: float | None = None,
) -> tuple[Any, Any]:
    """``(q, v)`` of a rollout as float64 tensors (T+1, n, ...) that carry gradients to q0, v0, controls and params.

    The world is not moved; None keeps its present state, no controls, its own parameters. ``weak`` and ``kappa`` choose what gradients
    are at contacts that stand at a switch, as in :meth:`Rollout.backward`.
    """
    import torch

    check_world(world)
    named = check_params(params)
    tensors = [None if x is None else torch.as_tensor(x, dtype=torch.float64) for x in (q0, v0, controls, *named.values())]
    return _function().apply(world, steps, tuple(named), at_switches(weak, kappa), *tensors)
