"""Rollouts under ``torch.autograd`` and ``torch.func``. PyTorch is imported on first use."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Mapping

import numpy as np

from ._bridge import STATE, Rolled, called, check_params, check_shapes, check_states, check_world, loss_slopes, roll, roll_one, shapes
from ._carom import ModelError, SolveError, StepError
from ._check import count, numbers
from ._cotangents import named_pairs
from .rollout import at_switches
from .world import World

__all__ = ["loss", "rollout"]


class _Held:
    """Where a forward pass leaves what its backward pass needs."""

    rolled: Rolled

    def __init__(self, side: tuple[str | None, float | None], pairs: list[Any]) -> None:
        self.side, self.pairs = side, pairs


@cache
def _functions() -> tuple[Any, Any]:
    """A rollout for plain autograd, and one that ``torch.func`` can transform; that one costs a tenth of a millisecond more per call."""
    import torch

    def plain(names: tuple, tensors: Any) -> dict[str, np.ndarray]:
        return {name: x.numpy(force=True) for name, x in zip(names, tensors)}

    def own(x: np.ndarray) -> Any:
        return torch.from_numpy(x if x.flags.writeable else np.array(x))

    def front(x: Any, axis: int | None, size: int) -> Any:
        """The batched axis first; a tensor without one is the same for all."""
        return x.expand(size, *x.shape) if axis is None else x.movedim(axis, 0)

    def no_forward_mode(ctx: Any, *grad_inputs: Any) -> Any:
        raise SolveError("carom.torch.rollout: has no forward mode (jvp, jacfwd, hessian); use backward, grad, vjp or jacrev")

    def no_second(ctx: Any, *grad_outputs: Any) -> Any:
        raise SolveError("carom.torch.rollout: has no second derivatives; take differences of first ones")

    class Once(torch.autograd.Function):
        """The first of some tensors, unchanged; who differentiates them by any of the others is told that it is not possible."""

        @staticmethod
        def forward(ctx: Any, count: int, *tensors: Any) -> Any:
            return tuple(x.view_as(x) for x in tensors[:count])

        backward = staticmethod(no_second)
        jvp = staticmethod(no_forward_mode)

    class Plain(torch.autograd.Function):
        """Poses and velocities of one world, and the forces of contacts that are asked."""

        @staticmethod
        def forward(ctx: Any, world: World, steps: int, names: tuple, side: tuple, pairs: list[Any], *tensors: Any) -> Any:
            # Their values are not used again, so that they may be changed in place after the call.
            ctx.names, ctx.tensors = names, tensors
            ctx.set_materialize_grads(False)
            ctx.rolled = roll_one(world, steps, plain(names, tensors), any(ctx.needs_input_grad), side, pairs)
            return tuple(own(x) for x in ctx.rolled.states())

        @staticmethod
        def backward(ctx: Any, *bars: Any) -> Any:
            names = tuple(name for name, want in zip(ctx.names, ctx.needs_input_grad[5:]) if want)
            dq, dv, *df = (None if x is None else x.numpy(force=True) for x in bars)
            found = ctx.rolled.pull_one(dq, dv, names, *df)
            slopes = [own(found[name]) for name in names]
            if torch.is_grad_enabled():  # with create_graph: a constant would be a wrong second derivative
                slopes = Once.apply(len(slopes), *slopes, *(x for x in (*bars, *ctx.tensors) if x is not None))
            by_name = dict(zip(names, slopes))
            return None, None, None, None, None, *(by_name.get(name) for name in ctx.names)

        jvp = staticmethod(no_forward_mode)

    class Pull(torch.autograd.Function):
        """Cotangents of the arguments. ``index`` says which world a cotangent belongs to; its axes come first everywhere."""

        @staticmethod
        def forward(held: _Held, names: tuple, index: Any, *tensors: Any) -> Any:
            found = held.rolled.pull(index.numpy(), [x.numpy() for x in tensors[:3 if held.pairs else 2]], names)
            return tuple(own(found[name]) for name in names)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, held: _Held, names: tuple, *tensors: Any) -> Any:
            moved = [front(x, axis, info.batch_size) for x, axis in zip(tensors, in_dims[2:])]
            return Pull.apply(held, names, *moved), (0,) * len(names)

        backward = staticmethod(no_second)
        jvp = staticmethod(no_forward_mode)

    class Roll(torch.autograd.Function):
        """Poses and velocities, and the number of the world each belongs to; ``lead`` are the leading axes of all tensors."""

        @staticmethod
        def forward(world: World, steps: int, names: tuple, held: _Held, lead: tuple, *tensors: Any) -> Any:
            held.rolled = roll(world, steps, plain(names, tensors), lead, True, held.side, held.pairs)
            index = torch.arange(math.prod(lead), dtype=torch.int64).reshape(lead)
            return *(own(x) for x in held.rolled.states()), index

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.names, ctx.held = inputs[2], inputs[3]
            ctx.mark_non_differentiable(output[-1])
            ctx.save_for_backward(output[-1], *inputs[5:])

        @staticmethod
        def backward(ctx: Any, *bars: Any) -> Any:
            names = tuple(name for name, want in zip(ctx.names, ctx.needs_input_grad[5:]) if want)
            index, *tensors = ctx.saved_tensors
            found = dict(zip(names, Pull.apply(ctx.held, names, index, *bars[:-1], *tensors)))
            return (None,) * 5 + tuple(found.get(name) for name in ctx.names)

        @staticmethod
        def vmap(info: Any, in_dims: Any, world: World, steps: int, names: tuple, held: _Held, lead: tuple,
                 *tensors: Any) -> Any:
            moved = [front(x, axis, info.batch_size) for x, axis in zip(tensors, in_dims[5:])]
            return Roll.apply(world, steps, names, held, (info.batch_size, *lead), *moved), (0,) * (4 if held.pairs else 3)

        jvp = staticmethod(no_forward_mode)

    return Plain, Roll


@cache
def _valued() -> Any:
    import torch

    class Valued(torch.autograd.Function):
        """A loss as text on poses and velocities."""

        @staticmethod
        def forward(ctx: Any, world: World, text: str, q: Any, v: Any) -> Any:
            value, *ctx.slopes = loss_slopes(world, text, q.numpy(force=True), v.numpy(force=True))
            return torch.tensor(value, dtype=torch.float64)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, bar: Any) -> Any:
            return None, None, *(bar * torch.from_numpy(slope) for slope in ctx.slopes)

    return Valued


def loss(world: World, text: str, q: Any, v: Any) -> Any:
    """A loss written as text (``"elbow.position^2 + hand.at(0.1, 0, 0).z"``, as in ``carom grad --loss``) on states of a rollout, as a number that carries
    gradients to ``q`` (T+1, n, ...) and ``v``."""
    check_world(world)
    q, v = check_states(world, _tensor("q", q), _tensor("v", v))
    return _valued().apply(world, text, q, v)


def _tensor(name: str, value: Any) -> Any:
    """An argument in double precision and in the memory of the processor; a tensor keeps its graph, its gradient comes back to its device."""
    import torch

    if isinstance(value, torch.Tensor):
        if value.is_complex():
            raise ModelError(f"{name}: needs real numbers, found a tensor of {value.dtype}")
        return value.to(device="cpu", dtype=torch.float64)
    return torch.from_numpy(np.array(numbers(name, value, None, error=ModelError, finite=False)))


def rollout(
    world: World, steps: int, q0: Any = None, v0: Any = None, controls: Any = None, params: Mapping[str, Any] | None = None, *,
    forces: Any = None, weak: str | None = None, kappa: float | None = None,
) -> tuple[Any, ...]:
    """``(q, v)`` of a rollout as float64 tensors (T+1, n, ...) that carry gradients to q0, v0, controls and params.

    With ``forces=["foot", ("hand", "cup")]`` it is ``(q, v, f)``, f (T, pairs, dim) the forces of contacts in every step as in :meth:`Rollout.forces`.

    The world is not moved; None keeps its present state, no controls, its own parameters. Under ``torch.func.vmap`` the rollouts of all
    worlds run as one batch on all cores. ``weak`` and ``kappa`` choose what gradients are at contacts that stand at a switch, as in
    :meth:`Rollout.backward`. There are no second derivatives and there is no forward mode: asking for them is an error.
    """
    import torch

    check_world(world)
    steps = count("steps", steps, error=StepError)
    named = check_params(params)
    wanted = shapes(world, steps, tuple(named))
    side = at_switches(weak, kappa)
    pairs = [] if forces is None else named_pairs(forces, world.bodies)
    values = {**dict(zip(STATE, (q0, v0, controls))), **{f"params.{name}": x for name, x in named.items()}}
    given = {name: _tensor(called(name), x) for name, x in values.items() if x is not None}
    check_shapes(given, wanted)
    direct, transformed = _functions()
    if not torch._C._are_functorch_transforms_active():
        return direct.apply(world, steps, tuple(given), side, pairs, *given.values())
    found = transformed.apply(world, steps, tuple(given), _Held(side, pairs), (), *given.values())
    return found[:-1]
