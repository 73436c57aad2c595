"""Tangent states: poses moved by small turns and the difference of two states, in the order of v."""

from __future__ import annotations

import numpy as np

__all__ = ["add", "subtract"]


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of quaternions (..., 4)."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack([aw * bw - ax * bx - ay * by - az * bz, aw * bx + ax * bw + ay * bz - az * by,
                     aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw], axis=-1)


def _turn(vector: np.ndarray) -> np.ndarray:
    """The quaternion of a rotation vector (..., 3), world axes."""
    half = 0.5 * np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * vector], axis=-1)


def _vector(quaternion: np.ndarray) -> np.ndarray:
    """The rotation vector (..., 3) of a quaternion, the shorter way."""
    quaternion = np.where(quaternion[..., :1] < 0.0, -quaternion, quaternion)
    size = np.linalg.norm(quaternion[..., 1:], axis=-1, keepdims=True)
    half = np.arctan2(size, quaternion[..., :1])
    return 2.0 * np.where(size > 1e-12, half / np.maximum(size, 1e-300), 1.0) * quaternion[..., 1:]


def add(q: np.ndarray, v: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """States (..., n, .) moved by tangents (..., 2 n dof)."""
    half = v.shape[-1] * v.shape[-2]
    dq, dv = step[..., :half].reshape(v.shape), step[..., half:].reshape(v.shape)
    if q.shape[-1] == v.shape[-1]:
        return q + dq, v + dv
    turned = _product(_turn(dq[..., 3:]), q[..., 3:])
    return np.concatenate([q[..., :3] + dq[..., :3], turned], axis=-1), v + dv


def subtract(q: np.ndarray, v: np.ndarray, q0: np.ndarray, v0: np.ndarray) -> np.ndarray:
    """The tangents (..., 2 n dof) that take one state to another: ``add(q0, v0, subtract(q, v, q0, v0))`` is (q, v)."""
    dq = q - q0
    if q.shape[-1] != v.shape[-1]:
        back = q0[..., 3:] * np.array([1.0, -1.0, -1.0, -1.0])
        dq = np.concatenate([dq[..., :3], _vector(_product(q[..., 3:], back))], axis=-1)
    lead = q.shape[:-2]
    return np.concatenate([dq.reshape(*lead, -1), (v - v0).reshape(*lead, -1)], axis=-1)
