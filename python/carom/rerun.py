"""Runs in Rerun's viewer (https://rerun.io): bodies, poses, energies and contacts on the timeline ``time``.

>>> import rerun as rr
>>> rr.init("cradle", spawn=True)            # or rr.save("cradle.rrd") afterwards
>>> carom.rerun.log(world.rollout(400))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._carom import Error
from ._check import word
from .rollout import Rollout

__all__ = ["log"]


def _quaternions(q: np.ndarray) -> np.ndarray:
    """Rotations of poses (..., 3 or 7) as (x, y, z, w)."""
    if q.shape[-1] == 7:
        return np.concatenate([q[..., 4:], q[..., 3:4]], axis=-1)
    half = q[..., 2] / 2.0
    zero = np.zeros_like(half)
    return np.stack([zero, zero, np.sin(half), np.cos(half)], axis=-1)


def log(rollout: Rollout, entity: str = "world", *, recording: Any = None, theme: str = "light") -> None:
    """Logs a rollout to Rerun (needs ``pip install rerun-sdk``); where it goes is what ``rerun.init``, ``save`` or ``spawn`` said.

    Under ``entity`` every body is a child with a mesh and a transform at each step; ``entity/energy`` and ``entity/contacts`` are scalars.
    Space has z upwards, the plane y; bodies of the plane are slabs. ``recording``: a ``rerun.RecordingStream``, by default the active one.
    """
    if not isinstance(rollout, Rollout):
        raise Error(f"rollout: needs a carom.Rollout, found {type(rollout).__name__}")
    rollout._alone("rerun.log")
    try:
        import rerun as rr
    except ImportError as cause:
        raise Error("rerun.log: needs Rerun's package (pip install rerun-sdk)") from cause
    planar = rollout.q.shape[-1] == 3
    up = rr.ViewCoordinates.RIGHT_HAND_Y_UP if planar else rr.ViewCoordinates.RIGHT_HAND_Z_UP
    rr.log(entity, up, static=True, recording=recording)
    times = rr.TimeColumn("time", duration=rollout.time)
    position = rollout.q[..., :2] if planar else rollout.q[..., :3]
    if planar:
        position = np.concatenate([position, np.zeros_like(position[..., :1])], axis=-1)
    quaternion = _quaternions(rollout.q)
    meshes = rollout._native.meshes(word("theme", theme, ("light", "dark")))
    for i, (body, (points, normals, colors, triangles)) in enumerate(zip(rollout._bodies, meshes)):
        path = f"{entity}/{rr.escape_entity_path_part(body)}"
        if triangles:
            mesh = rr.Mesh3D(vertex_positions=points, vertex_normals=normals, vertex_colors=np.array(colors), triangle_indices=triangles)
            rr.log(path, mesh, static=True, recording=recording)
        columns = rr.Transform3D.columns(translation=position[:, i], quaternion=quaternion[:, i])
        rr.send_columns(path, [times], columns, recording=recording)
    rr.send_columns(f"{entity}/energy", [times], rr.Scalars.columns(scalars=rollout.energy), recording=recording)
    steps = rr.TimeColumn("time", duration=rollout.time[1:])
    rr.send_columns(f"{entity}/contacts", [steps], rr.Scalars.columns(scalars=rollout.contacts.astype(float)), recording=recording)
