"""Controls that make a loss small: differential dynamic programming on the exact derivatives of the steps, through contact."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ._carom import SolveError, StepError
from ._check import Result, count, number, numbers
from ._plan_loss import Curvature, LossOf, Slopes, Traced, read_loss
from ._plan_step import best_change
from ._tangent import add, subtract
from .rollout import Rollout
from .world import World

__all__ = ["Optimised", "Touch", "Traced", "optimise"]

WEIGHTS = (1e-9, 1e-6, 1e12)
"""Cost of a change of the controls, over the square of their scale and the loss: the least, the first and the most that is tried."""
PARTS = [1.0, 0.5, 0.25, 0.1, 0.03, 0.01]
"""Parts of a change that are tried in turn."""
PROMISE = 1e-3
"""Least part of the promised decrease that a change has to keep."""
EFFORTS = (1e-1, 1e-2, 1e-3)
"""Parts of the first loss that controls as large as their scale cost at first; then they cost nothing."""
ROUGHLY = 1e-3
"""The part of the loss that a round has to gain while controls cost something or contacts are smoothed."""
SMOOTHER = 0.1
"""What the smoothing of contacts falls to when a search with it has ended."""
SHARPEST = 1e-9
"""Smoothing [J] below which derivatives are exact."""
HOP = 0.5
"""How far a hop moves controls, as a part of a random start."""
CLOSED = 1e-8
"""Largest miss between two windows at which they count as joined."""


@dataclass(frozen=True, eq=False, repr=False)
class Touch(Result):
    """Two bodies that touched: from when until when [s], and the impulse on the first [N s]."""

    bodies: tuple[str, str]
    begins: float
    ends: float
    impulse: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Optimised(Result):
    """The best controls found, their run and loss; ``converged`` only where no small change of the controls makes the loss smaller."""

    controls: np.ndarray
    """(T, nu)."""
    rollout: Rollout
    loss: float
    history: np.ndarray
    """The loss after every round of the search that found them."""
    converged: bool
    reason: str
    """Why the best start ended."""
    losses: np.ndarray
    """The loss that each start came to, with its hops."""
    contacts: list[Touch] = field(default_factory=list)
    """Who touched whom in the run, in the order in which it began."""


@dataclass(frozen=True, eq=False)
class _Plan:
    """Controls and the run they make, in windows that may not meet yet."""

    controls: np.ndarray
    runs: list[Rollout]
    q: np.ndarray
    v: np.ndarray
    slopes: Slopes
    misses: np.ndarray

    def merit(self, price: float) -> float:
        return self.slopes.value + price * float(np.abs(self.misses).sum())


class _Search:
    def __init__(self, world: World, loss: LossOf, steps: int, low: np.ndarray, high: np.ndarray, windows: int) -> None:
        self.world, self.loss, self.steps, self.low, self.high = world, loss, steps, low, high
        self.bounds = np.linspace(0, steps, windows + 1).astype(int)
        bodies, self.nu, _, self.dof = world._sizes
        mass = np.asarray(world.params["mass"], dtype=float)
        self.moving = np.tile(np.repeat(np.isfinite(mass), self.dof), 2)
        self.bodies = bodies
        self.effort: np.ndarray | None = None

    def plan(self, controls: np.ndarray, nodes: list[tuple[np.ndarray, np.ndarray]]) -> _Plan:
        """Runs every window from its node."""
        runs: list[Rollout] = []
        misses: list[np.ndarray] = []
        q: list[np.ndarray] = []
        v: list[np.ndarray] = []
        for i, (first, last) in enumerate(zip(self.bounds[:-1], self.bounds[1:])):
            start = (None, None) if i == 0 else nodes[i - 1]
            run = self.world._rollout(int(last - first), np.ascontiguousarray(controls[first:last]), True, None, *start)
            if i > 0:
                misses.append(subtract(*nodes[i - 1], q[-1][-1], v[-1][-1]))
            runs.append(run)
            q.append(np.array(run.q))
            v.append(np.array(run.v))
        # A node stands for the end of the window before it.
        whole_q = np.concatenate([*(x[:-1] for x in q), q[-1][-1:]])
        whole_v = np.concatenate([*(x[:-1] for x in v), v[-1][-1:]])
        missed = np.array(misses).reshape(len(misses), 2 * self.bodies * self.dof)
        return _Plan(controls, runs, whole_q, whole_v, self._with_effort(self.loss.slopes(whole_q, whole_v, controls), controls), missed)

    def derivatives(self, plan: _Plan, kappa: float | None) -> tuple[np.ndarray, np.ndarray]:
        """A (T, nx, nx) and B (T, nx, nu) of all steps."""
        parts = [run.jacobians(("q", "v", "controls"), kappa=kappa) for run in plan.runs]
        a = np.concatenate([np.concatenate([part["q"], part["v"]], axis=2) for part in parts])
        b = np.concatenate([part["controls"] for part in parts])
        return a, b

    def along(self, plan: _Plan, change: Any, part: float) -> _Plan | None:
        """The plan after a part of a change; None where a step of it fails."""
        try:
            if len(self.bounds) == 2:
                return self.plan(self._steered(plan, change, part), [])
            x, nodes, controls = np.zeros(plan.slopes.states.shape[1]), [], plan.controls.copy()
            joins = {int(at): i for i, at in enumerate(self.bounds[1:-1])}
            for t in range(self.steps):
                if t in joins:
                    i = joins[t]
                    x = x - plan.misses[i]
                    nodes.append(add(plan.q[t], plan.v[t], part * x))
                step = np.clip(change.controls[t] + change.gains[t] @ x, self.low - plan.controls[t], self.high - plan.controls[t])
                controls[t] += part * step
                x = self.a[t] @ x + self.b[t] @ step
            return self.plan(controls, nodes)
        except StepError:
            return None

    def _steered(self, plan: _Plan, change: Any, part: float) -> np.ndarray:
        """Controls of a run that is steered by the gains of a change."""
        world, controls = self.world.copy(), plan.controls.copy()
        for t in range(self.steps):
            x = subtract(world.q, world.v, plan.q[t], plan.v[t])
            controls[t] = np.clip(plan.controls[t] + part * change.controls[t] + change.gains[t] @ x, self.low, self.high)
            world.step(controls=controls[t])
        return controls

    def descend(self, controls: np.ndarray, kappa: float | None, rounds: int, tolerance: float) -> tuple[_Plan, list[float], bool, str]:
        """Rounds until nothing is gained any more."""
        scale = np.where(np.isfinite(self.high - self.low), 0.5 * (self.high - self.low), np.maximum(1.0, np.abs(controls).max(axis=0, initial=0.0)))
        plan = self.plan(controls, []) if len(self.bounds) == 2 else self._cut(controls)
        history = [plan.slopes.value]
        efforts = [part * abs(plan.slopes.value) / self.steps / scale**2 for part in EFFORTS]
        weight, converged, reason = WEIGHTS[1], False, f"{rounds} rounds were not enough"
        price = 1.0
        smoothings: list[float | None] = [*_smoothings(kappa)]
        smoothings += [None] * max(len(efforts) - len(smoothings), 0)
        phases = [*itertools.zip_longest(smoothings, efforts), (None, None)]
        phase, least = 0, 0
        plan = self._eased(plan, phases[0][1])
        for _ in range(rounds):
            # What is on the way only is not looked for to the last digit.
            enough = max(tolerance, ROUGHLY) if phase + 1 < len(phases) else tolerance
            self.a, self.b = self.derivatives(plan, phases[phase][0])
            curvature = self._curvature(plan)
            defects = np.zeros_like(plan.slopes.states[:-1])
            for i, at in enumerate(self.bounds[1:-1]):
                defects[at - 1] = -plan.misses[i]
            room = (self.low - plan.controls, self.high - plan.controls)
            taken, gained, small = None, 0.0, False
            unit = max(abs(plan.slopes.value), 1e-12)
            while taken is None and weight <= WEIGHTS[2]:
                # One weight for all controls, in units in which each has the scale 1.
                change = best_change(self.a, self.b * scale, _scaled(plan.slopes, scale), _rescaled(curvature, scale, self.a.shape[1]), defects,
                                     (room[0] / scale, room[1] / scale), weight * unit)
                if change is not None:
                    change = _unscaled(change, scale)
                    promised = -(change.slope + 0.5 * change.bend)
                    closing = float(np.abs(plan.misses).sum())
                    small = promised <= enough * unit and closing <= CLOSED * self.steps
                    if small:
                        break
                    price = max(price, 2.0 * abs(change.slope) / closing) if closing > CLOSED else price
                    for part in PARTS:
                        trial = self.along(plan, change, part)
                        wanted = PROMISE * -(part * change.slope + 0.5 * part * part * change.bend) if closing <= CLOSED else 0.0
                        if trial is not None and plan.merit(price) - trial.merit(price) > max(wanted, 0.0):
                            taken, gained = trial, plan.merit(price) - trial.merit(price)
                            break
                if taken is None:
                    weight = max(weight, WEIGHTS[1]) * 10.0
            if taken is not None:
                plan = taken
                history.append(plan.slopes.value - self._cost(plan.controls))
                weight = max(WEIGHTS[0], weight * (0.2 if part >= 0.5 else 1.0))
                least = least + 1 if gained <= enough * unit else 0
            if taken is None or least >= 2:
                joined = float(np.abs(plan.misses).max(initial=0.0)) <= CLOSED
                if phase + 1 < len(phases):
                    phase, weight, least = phase + 1, WEIGHTS[1], 0
                    plan = self._eased(plan, phases[phase][1])
                    continue
                converged = joined and (small or least >= 2)
                reason = ("no small change of the controls gains more than the tolerance" if converged
                          else "the windows could not be joined" if not joined else "no change along the model makes the loss smaller: it may be at a kink of a contact")
                break
        return plan, history, converged, reason

    def explore(
        self, controls: np.ndarray, kappa: float | None, rounds: int, tolerance: float, hops: int, chance: np.random.Generator
    ) -> tuple[_Plan, list[float], bool, str]:
        """A search, and as many more from places near the best end so far, until there is nothing left to gain."""
        best = self.descend(controls, kappa, rounds, tolerance)
        nothing = tolerance * max(abs(best[1][0]), 1e-12)
        for _ in range(hops):
            if best[0].slopes.value <= nothing:
                break
            moved = np.clip(_moved(best[0].controls, self.low, self.high, chance, HOP), self.low, self.high)
            try:
                other = self.descend(moved, kappa, rounds, tolerance)
            except StepError:  # a place from which the run cannot be made
                continue
            if other[0].slopes.value < best[0].slopes.value:
                best = other
        return best

    def _eased(self, plan: _Plan, effort: np.ndarray | None) -> _Plan:
        """The same plan where controls cost something, or no longer do."""
        bare = self._bare(plan)
        self.effort = effort
        return replace(plan, slopes=self._with_effort(bare, plan.controls))

    def _cost(self, controls: np.ndarray) -> float:
        return 0.0 if self.effort is None else float((self.effort * controls**2).sum())

    def _with_effort(self, slopes: Slopes, controls: np.ndarray) -> Slopes:
        if self.effort is None:
            return slopes
        return Slopes(slopes.value + self._cost(controls), slopes.states, slopes.controls + 2.0 * self.effort * controls)

    def _curvature(self, plan: _Plan) -> Curvature:
        """That of the loss and of what controls cost."""
        found = self.loss.curvature(plan.q, plan.v, plan.controls, self._bare(plan), self.moving)
        if self.effort is None:
            return found
        nx = plan.slopes.states.shape[1]
        active = np.union1d(found.active, np.arange(nx, nx + self.nu)).astype(int)
        blocks = np.zeros((len(found.blocks), len(active), len(active)))
        at = np.searchsorted(active, found.active)
        blocks[:, at[:, None], at] = found.blocks
        own = np.searchsorted(active, np.arange(nx, nx + self.nu))
        blocks[:, own, own] += 2.0 * self.effort
        return Curvature(active, blocks)

    def _bare(self, plan: _Plan) -> Slopes:
        """The slopes of the loss alone."""
        if self.effort is None:
            return plan.slopes
        return Slopes(plan.slopes.value - self._cost(plan.controls), plan.slopes.states, plan.slopes.controls - 2.0 * self.effort * plan.controls)

    def _cut(self, controls: np.ndarray) -> _Plan:
        """A plan in windows, begun where the whole run is at their times."""
        whole = self.world._rollout(self.steps, controls, False)
        return self.plan(controls, [(np.array(whole.q[at]), np.array(whole.v[at])) for at in self.bounds[1:-1]])


def _smoothings(kappa: float | None) -> list[float]:
    out = []
    while kappa is not None and kappa > SHARPEST:
        out.append(kappa)
        kappa *= SMOOTHER
    return out[:4]


def _scaled(slopes: Slopes, scale: np.ndarray) -> Slopes:
    return Slopes(slopes.value, slopes.states, slopes.controls * scale)


def _rescaled(curvature: Any, scale: np.ndarray, nx: int) -> Any:
    factor = np.array([scale[i - nx] if i >= nx else 1.0 for i in curvature.active])
    return type(curvature)(curvature.active, curvature.blocks * factor[:, None] * factor[None, :] if len(factor) else curvature.blocks)


def _unscaled(change: Any, scale: np.ndarray) -> Any:
    return type(change)(change.controls * scale, change.gains * scale[:, None], change.slope, change.bend)


def _limits(limits: Any, nu: int) -> tuple[np.ndarray, np.ndarray]:
    if limits is None:
        return np.full(nu, -np.inf), np.full(nu, np.inf)
    try:
        low, high = limits
    except (TypeError, ValueError) as cause:
        raise SolveError(f"limits: needs (lowest, highest), each a number or ({nu},), found {limits!r}") from cause
    low, high = (np.broadcast_to(numbers("limits", x, (), (nu,), finite=False), (nu,)).astype(float) for x in (low, high))
    if np.isnan(low).any() or np.isnan(high).any() or (low >= high).any():
        raise SolveError("limits: every lowest control has to be below the highest")
    return low, high


def _touches(world: World, controls: np.ndarray) -> list[Touch]:
    """Who touched whom while the controls ran."""
    world = world.copy()
    open_: dict[tuple[str, str], Touch] = {}
    done = []
    for row in controls:
        begun = world.time
        world.step(controls=row)
        now: dict[tuple[str, str], np.ndarray] = {}
        for contact in world.contacts():
            if np.any(contact.impulse != 0.0):
                now[contact.bodies] = now.get(contact.bodies, 0.0) + contact.impulse
        for pair in [pair for pair in open_ if pair not in now]:
            done.append(open_.pop(pair))
        for pair, impulse in now.items():
            before = open_.get(pair)
            open_[pair] = Touch(pair, begun if before is None else before.begins, world.time, impulse if before is None else before.impulse + impulse)
    return sorted([*done, *open_.values()], key=lambda touch: touch.begins)


def optimise(
    world: World,
    loss: Any,
    controls: Any,
    steps: int,
    *,
    limits: Any = None,
    shooting: int | None = None,
    kappa: float | None = None,
    starts: int = 1,
    rounds: int = 200,
    tolerance: float = 1e-7,
    seed: int = 0,
    hops: int = 0,
) -> Optimised:
    """Finds controls (steps, nu) that make a loss of the run small, from the world's present state; the world does not move.

    ``loss``: an expression as in ``carom grad --loss``, or a function of a :class:`Traced` run (``run.q``, ``run.v``, ``run.controls`` as PyTorch or JAX arrays,
    ``run.time``, ``run.bodies``) that returns one number. ``controls``: where the search starts, (steps, nu), (nu,) or None for none.

    ``limits``: (lowest, highest), each a number or (nu,). ``shooting``: cuts the run into so many windows that are joined as the search goes, for motions that
    are too sensitive as a whole. ``kappa``: smooths the derivatives of contacts with this product of impulse and speed [J] at first, tightened to the exact
    ones; the motion itself is never smoothed. At first large controls cost a part of the loss, which falls to nothing as the search goes. ``starts``: searches from so many starts, the first as given, the others moved at random (``seed``); the best counts.
    ``hops``: where a start has ended with something left to gain, its best controls are moved by half as much as a random start and searched from again, so
    often; contacts make many minima near one another. ``rounds`` and ``tolerance``: rounds of one search at most, and the part of the loss that a round has to gain.
    """
    if not isinstance(world, World):
        raise SolveError(f"world: needs a carom.World, found {type(world).__name__}")
    steps = count("steps", steps, error=StepError, least=1)
    nu = world._sizes[1]
    if nu == 0:
        raise SolveError("world: has no controls; give a joint `motor = { control = true }`, or a force `control = true`")
    given = np.zeros((steps, nu)) if controls is None else np.array(np.broadcast_to(numbers("controls", controls, (nu,), (steps, nu)), (steps, nu)))
    low, high = _limits(limits, nu)
    windows = 1 if shooting is None else count("shooting", shooting, least=1, most=steps)
    if kappa is not None and number("kappa", kappa) <= 0.0:
        raise SolveError(f"kappa: found {kappa:g}, needs a product of impulse and speed above 0 [J]")
    starts = count("starts", starts, least=1)
    rounds, tolerance = count("rounds", rounds, least=1), number("tolerance", tolerance, least=0.0)
    hops = count("hops", hops)
    read = read_loss(world, loss, steps)
    chance = np.random.default_rng(count("seed", seed))
    best: tuple | None = None
    losses = []
    failure: StepError | None = None
    for start in range(starts):
        first = np.clip(given if start == 0 else _moved(given, low, high, chance), low, high)
        near = np.random.default_rng((seed, start))
        try:
            if windows == 1:
                plan, history, converged, reason = _Search(world, read, steps, low, high, 1).explore(first, kappa, rounds, tolerance, hops, near)
            else:  # the last word has the run as a whole
                joined, before, _, _ = _Search(world, read, steps, low, high, windows).descend(first, kappa, rounds, tolerance)
                plan, more, converged, reason = _Search(world, read, steps, low, high, 1).explore(joined.controls, None, rounds, tolerance, hops, near)
                history = before + more
        except StepError as error:  # a start from which the run cannot even be made
            losses.append(np.inf)
            failure = error
            continue
        losses.append(plan.slopes.value)
        if best is None or plan.slopes.value < best[0].slopes.value:
            best = plan, history, converged, reason
    if best is None:
        raise failure if failure is not None else SolveError("optimise: no start could be run")
    plan, history, converged, reason = best
    return Optimised(plan.controls, plan.runs[0], plan.slopes.value, np.array(history), converged, reason, np.array(losses), _touches(world, plan.controls))


def _moved(given: np.ndarray, low: np.ndarray, high: np.ndarray, chance: np.random.Generator, part: float = 1.0) -> np.ndarray:
    """Controls moved by a few slow waves, a part of a third of the limits high, or of the controls where there are none."""
    steps, nu = given.shape
    span = np.where(np.isfinite(high - low), (high - low) / 3.0, np.maximum(1.0, np.abs(given).max(axis=0)))
    waves = np.arange(1, 5)
    phase = np.pi * waves[:, None] * np.linspace(0.0, 1.0, steps)
    size = chance.normal(size=(len(waves) + 1, nu)) / np.concatenate([[1.0], waves])[:, None]
    return given + part * span * (size[0] + np.cos(phase).T @ size[1:]) / 2.0
