"""One round of differential dynamic programming: the best small change of the controls for a quadratic model of the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._plan_loss import Curvature, Slopes

__all__ = ["Change", "best_change", "box_minimum"]

ROUNDS = 30
"""Newton steps of one problem with bounds."""


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


def best_change(
    a: np.ndarray, b: np.ndarray, slopes: Slopes, curvature: Curvature, defects: np.ndarray, room: tuple[np.ndarray, np.ndarray], weight: float
) -> Change | None:
    """Walks back over the steps x' = A x + B u + c of the tangent states, c the ``defects`` (T, nx) that are to be closed.

    ``room`` is how far the controls may change down and up (T, nu); ``weight`` is what a change of a control costs beside the loss. None where the
    model is not convex enough: a larger weight mends that.
    """
    steps, nx, nu = b.shape
    active = curvature.active
    states, acts = active < nx, active >= nx
    x_at, u_at = active[states], active[acts] - nx

    def bend(t: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        xx, uu, ux = np.zeros((nx, nx)), np.zeros((nu, nu)), np.zeros((nu, nx))
        if len(active):
            block = curvature.blocks[t]
            xx[np.ix_(x_at, x_at)] = block[np.ix_(states, states)]
            uu[np.ix_(u_at, u_at)] = block[np.ix_(acts, acts)]
            ux[np.ix_(u_at, x_at)] = block[np.ix_(acts, states)]
        return xx, uu, ux

    value_x, value_xx = slopes.states[steps].copy(), bend(steps)[0]
    controls, gains = np.zeros((steps, nu)), np.zeros((steps, nu, nx))
    slope = bent = 0.0
    for t in range(steps - 1, -1, -1):
        xx, uu, ux = bend(t)
        ahead = value_x + value_xx @ defects[t]
        right_x, right_u = slopes.states[t] + a[t].T @ ahead, slopes.controls[t] + b[t].T @ ahead
        value_b = value_xx @ b[t]
        q_uu, q_ux, q_xx = uu + b[t].T @ value_b, ux + value_b.T @ a[t], xx + a[t].T @ value_xx @ a[t]
        q_uu = 0.5 * (q_uu + q_uu.T)
        firm = q_uu + weight * np.eye(nu)
        try:
            np.linalg.cholesky(firm)
            change, free = box_minimum(firm, right_u, room[0][t], room[1][t])
            gain = np.zeros((nu, nx))
            if free.any():
                gain[free] = -np.linalg.solve(firm[np.ix_(free, free)], q_ux[free])
        except np.linalg.LinAlgError:
            return None
        controls[t], gains[t] = change, gain
        slope += change @ right_u
        bent += change @ q_uu @ change
        value_x = right_x + gain.T @ (q_uu @ change + right_u) + q_ux.T @ change
        value_xx = q_xx + gain.T @ q_uu @ gain + gain.T @ q_ux + q_ux.T @ gain
        value_xx = 0.5 * (value_xx + value_xx.T)
        if not (np.isfinite(value_x).all() and np.isfinite(value_xx).all()):
            return None
    return Change(controls, gains, slope, bent)
