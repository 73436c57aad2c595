"""One round of differential dynamic programming: the best small change of the controls for a quadratic model of the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._plan_loss import Curvature, Slopes

__all__ = ["Change", "best_change", "box_minimum"]

ROUNDS = 30
"""Newton steps of one problem with bounds."""
REACHED = 1e-10
"""Directions of a state that controls reach with less than this part are rounding."""


@dataclass(frozen=True, eq=False)
class Change:
    """Changes of the controls (T, nu), gains on the tangent state (T, nu, nx), and what they promise: slope and curvature of the loss along them."""

    controls: np.ndarray
    gains: np.ndarray
    slope: float
    bend: float


def box_minimum(matrix: np.ndarray, right: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least x'Hx/2 + g'x between bounds, by projected Newton steps; returns it and which entries are free."""
    x = np.clip(np.zeros_like(right), low, high)
    free = np.ones(len(right), dtype=bool)
    for _ in range(ROUNDS):
        slope = matrix @ x + right
        free = ~(((x <= low) & (slope > 0.0)) | ((x >= high) & (slope < 0.0)))
        if not free.any():
            break
        step = np.zeros_like(x)
        step[free] = -np.linalg.solve(matrix[np.ix_(free, free)], slope[free])
        if np.abs(step).max() <= 1e-12 * (1.0 + np.abs(x).max()):
            break
        value, part = 0.5 * x @ matrix @ x + right @ x, 1.0
        while part > 1e-8:
            trial = np.clip(x + part * step, low, high)
            if 0.5 * trial @ matrix @ trial + right @ trial < value:
                break
            part *= 0.5
        else:
            break
        x = trial
    return x, free


def reached(a: np.ndarray, b: np.ndarray, defects: np.ndarray) -> list[np.ndarray]:
    """Orthonormal bases (nx, k) of the tangent states that controls and defects can reach: of jointed bodies few, for their joints stay closed."""
    out = [np.zeros((a.shape[1], 0))]
    for t in range(len(b)):
        parts = [a[t] @ out[-1], b[t]] + ([defects[t][:, None]] if defects[t].any() else [])
        span = np.concatenate(parts, axis=1)
        # In units of each column: a weak control reaches as far as a strong one.
        size = np.linalg.norm(span, axis=0)
        left, values, _ = np.linalg.svd(span[:, size > 0.0] / size[size > 0.0], full_matrices=False)
        out.append(np.ascontiguousarray(left[:, values > REACHED * values.max(initial=0.0)]))
    return out


def best_change(
    a: np.ndarray, b: np.ndarray, slopes: Slopes, curvature: Curvature, defects: np.ndarray, room: tuple[np.ndarray, np.ndarray], weight: float
) -> Change | None:
    """Walks back over the steps x' = A x + B u + c of the tangent states, c the ``defects`` (T, nx) that are to be closed.

    ``room`` is how far the controls may change down and up (T, nu); ``weight`` is what a change of a control costs beside the loss. None where the
    model is not convex enough: a larger weight mends that.
    """
    steps, nx, nu = b.shape
    bases = reached(a, b, defects)
    active = curvature.active
    states, acts = active < nx, active >= nx
    x_at, u_at = active[states], active[acts] - nx

    def bend(t: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Curvatures of the loss of a state, along what can be reached of it."""
        seen = bases[t].shape[1]
        xx, uu, ux = np.zeros((seen, seen)), np.zeros((nu, nu)), np.zeros((nu, seen))
        if len(active):
            block, rows = curvature.blocks[t], bases[t][x_at]
            xx = rows.T @ block[np.ix_(states, states)] @ rows
            uu[np.ix_(u_at, u_at)] = block[np.ix_(acts, acts)]
            ux[u_at] = block[np.ix_(acts, states)] @ rows
        return xx, uu, ux

    value_x, value_xx = bases[steps].T @ slopes.states[steps], bend(steps)[0]
    controls, gains = np.zeros((steps, nu)), np.zeros((steps, nu, nx))
    slope = bent = 0.0
    for t in range(steps - 1, -1, -1):
        xx, uu, ux = bend(t)
        ahead, back = bases[t + 1].T, bases[t]
        move, push, miss = ahead @ a[t] @ back, ahead @ b[t], ahead @ defects[t]
        pull = value_x + value_xx @ miss
        right_x, right_u = back.T @ slopes.states[t] + move.T @ pull, slopes.controls[t] + push.T @ pull
        value_b = value_xx @ push
        q_uu, q_ux, q_xx = uu + push.T @ value_b, ux + value_b.T @ move, xx + move.T @ value_xx @ move
        q_uu = 0.5 * (q_uu + q_uu.T)
        firm = q_uu + weight * np.eye(nu)
        try:
            np.linalg.cholesky(firm)
            change, free = box_minimum(firm, right_u, room[0][t], room[1][t])
            gain = np.zeros((nu, back.shape[1]))
            if free.any():
                gain[free] = -np.linalg.solve(firm[np.ix_(free, free)], q_ux[free])
        except np.linalg.LinAlgError:
            return None
        controls[t], gains[t] = change, gain @ back.T
        slope += change @ right_u
        bent += change @ q_uu @ change
        value_x = right_x + gain.T @ (q_uu @ change + right_u) + q_ux.T @ change
        value_xx = q_xx + gain.T @ q_uu @ gain + gain.T @ q_ux + q_ux.T @ gain
        value_xx = 0.5 * (value_xx + value_xx.T)
        if not (np.isfinite(value_x).all() and np.isfinite(value_xx).all()):
            return None
    return Change(controls, gains, slope, bent)
