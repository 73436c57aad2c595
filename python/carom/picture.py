"""Pictures of a world in plain numpy: every shape by its signed distance, so that edges are smooth at any size."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ._carom import ModelError
from ._check import count, numbers
from .world import Shape, World

__all__ = ["Picture"]

BACKGROUND = np.array([250.0, 250.0, 248.0])
GRID = np.array([228.0, 228.0, 224.0])
"""Lines of the grid, one every metre or every power of ten of it."""
LINE = 1.2
"""Width of an outline [pixels]."""
EDGE = 0.55
"""An outline is its filling times this."""
WALL = 1.5
"""Half the width of a segment, which has none of its own [pixels]."""
GRID_LINES = 40
"""More grid lines than these across a picture and the grid is coarser."""
ROUND_POINTS = 24
"""Points of a disc of a cylinder or cone."""
MOST_PIXELS = 2**14
"""Pixels of a side."""
MARGIN = 0.1
"""Air around the bodies of a view that is not given, as a part of its size."""


def turned(points: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Points of a body (k, dim) in the world, at a pose (3,) or (7,)."""
    if pose.size == 3:
        c, s = np.cos(pose[2]), np.sin(pose[2])
        return points @ np.array([[c, s], [-s, c]]) + pose[:2]
    w, axis = pose[3], pose[4:]
    across = 2.0 * np.cross(axis, points)
    return points + w * across + np.cross(axis, across) + pose[:3]


def hull(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points of the plane, counter-clockwise."""
    order = points[np.lexsort((points[:, 1], points[:, 0]))]

    def left(a: np.ndarray, b: np.ndarray) -> float:
        return a[0] * b[1] - a[1] * b[0]

    def chain(ordered: np.ndarray) -> list:
        kept: list = []
        for p in ordered:
            while len(kept) > 1 and left(kept[-1] - kept[-2], p - kept[-2]) <= 0.0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    found = chain(order) + chain(order[::-1])
    return np.array(found) if found else order[:1]


def distance(pixels: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Signed distance of pixels (..., 2) from a point, a segment or a convex polygon, counter-clockwise; negative inside."""
    if len(corners) == 1:
        return np.hypot(*np.moveaxis(pixels - corners[0], -1, 0))
    ends = np.roll(corners, -1, axis=0)
    away, inside = np.full(pixels.shape[:-1], np.inf), np.full(pixels.shape[:-1], -np.inf)
    for a, b in zip(corners, ends):
        side, arm = b - a, pixels - a
        length = float(side @ side)
        along = np.clip(arm @ side / length, 0.0, 1.0) if length > 0.0 else np.zeros(arm.shape[:-1])
        away = np.minimum(away, np.hypot(*np.moveaxis(arm - along[..., None] * side, -1, 0)))
        if length > 0.0:
            inside = np.maximum(inside, (arm[..., 0] * side[1] - arm[..., 1] * side[0]) / np.sqrt(length))
    return np.where(inside < 0.0, inside, away) if len(corners) > 2 else away


class Picture:
    """Draws a world into an array (height, width, 3) of bytes.

    A world of the plane is drawn as it is, one of space from the front: x to the right, z up, what has the smaller y in front.
    """

    def __init__(self, world: World, width: int = 480, height: int = 320) -> None:
        if not isinstance(world, World):
            raise ModelError(f"world: needs a carom.World, found {type(world).__name__}")
        self.width = count("width", width, error=ModelError, least=1, most=MOST_PIXELS)
        self.height = count("height", height, error=ModelError, least=1, most=MOST_PIXELS)
        self._shapes, self._dimension = world.shapes(), world.dimension
        places = {name: i for i, name in enumerate(world.bodies)}
        self._places = [places[shape.body] for shape in self._shapes]

    def draw(self, q: Any, view: Sequence[float] | None = None, marks: Sequence[tuple[Sequence[float], str]] = ()) -> np.ndarray:
        """The picture of poses (n, 3 or 7).

        ``view`` is the centre and the width of what is seen [m]; None shows all bodies. ``marks`` are points with a colour, drawn as crosses.
        """
        poses = numbers("q", q, (None, 3 if self._dimension == 2 else 7), error=ModelError)
        if self._places and max(self._places) >= len(poses):
            raise ModelError(f"q: found {len(poses)} poses, needs one per body")
        x, y, across = self._view(poses) if view is None else numbers("view", view, (3,), error=ModelError)
        if not across > 0.0:
            raise ModelError(f"view: found a width of {across:g}, needs one above 0")
        pixel = across / self.width
        columns = x + (np.arange(self.width) + 0.5 - self.width / 2.0) * pixel
        rows = y - (np.arange(self.height) + 0.5 - self.height / 2.0) * pixel
        image = np.broadcast_to(BACKGROUND, (self.height, self.width, 3)).copy()
        self._grid(image, columns, rows, pixel)
        order = list(range(len(self._shapes)))
        if self._dimension == 3:
            order.sort(key=lambda i: -poses[self._places[i], 1])
        # Half-spaces lie behind everything.
        for i in sorted(order, key=lambda i: self._shapes[i].kind != "half_space"):
            self._shape(image, columns, rows, pixel, self._shapes[i], poses[self._places[i]])
        for point, color in marks:
            self._mark(image, columns, rows, pixel, numbers("marks", point, (2,), error=ModelError), color)
        return np.clip(image + 0.5, 0.0, 255.0).astype(np.uint8)

    def _flat(self, points: np.ndarray) -> np.ndarray:
        """What is seen of points: the plane, or x and z."""
        return points if self._dimension == 2 else points[:, ::2]

    def _outline(self, shape: Shape, pose: np.ndarray) -> tuple[np.ndarray, float]:
        """Corners and radius of a shape as it is seen."""
        points = turned(shape.points, pose)
        if shape.kind in ("cylinder", "cone"):
            axis = points[1] - points[0]
            axis /= np.linalg.norm(axis)
            one = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
            one /= np.linalg.norm(one)
            angles = np.linspace(0.0, 2.0 * np.pi, ROUND_POINTS, endpoint=False)[:, None]
            disc = shape.radius * (np.cos(angles) * one + np.sin(angles) * np.cross(axis, one))
            points = np.concatenate([points[0] + disc, points[1] + disc if shape.kind == "cylinder" else points[1:]])
            return hull(self._flat(points)), 0.0
        flat = self._flat(points)
        return (hull(flat) if len(flat) > 2 else flat), shape.radius

    def _view(self, poses: np.ndarray) -> tuple[float, float, float]:
        """All that is not a half-space, with some air."""
        found = [np.zeros((1, 2))] if not self._shapes else []
        for shape, place in zip(self._shapes, self._places):
            points = self._flat(turned(shape.points, poses[place]))
            if shape.kind == "half_space":
                points = points[:1]
            found += [points - shape.radius, points + shape.radius]
        low, high = np.concatenate(found).min(axis=0), np.concatenate(found).max(axis=0)
        across = max(high[0] - low[0], (high[1] - low[1]) * self.width / self.height) * (1.0 + 2.0 * MARGIN)
        return (low[0] + high[0]) / 2.0, (low[1] + high[1]) / 2.0, across if across > 0.0 else 1.0

    def _grid(self, image: np.ndarray, columns: np.ndarray, rows: np.ndarray, pixel: float) -> None:
        metres = 1.0
        while self.width * pixel / metres > GRID_LINES:
            metres *= 10.0
        for values, target in ((columns, image.swapaxes(0, 1)), (rows, image)):
            off = np.abs(values / metres - np.round(values / metres)) * metres / pixel
            cover = np.clip(1.0 - off, 0.0, 1.0)[:, None, None]
            target += cover * (GRID - target)

    def _window(self, columns: np.ndarray, rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[slice, slice]:
        """Rows and columns of the pixels between two corners."""
        left, right = np.searchsorted(columns, [low[0], high[0]])
        top, bottom = np.searchsorted(-rows, [-high[1], -low[1]])
        return slice(int(top), int(bottom)), slice(int(left), int(right))

    def _shape(self, image: np.ndarray, columns: np.ndarray, rows: np.ndarray, pixel: float, shape: Shape, pose: np.ndarray) -> None:
        color = np.array([int(shape.color[i:i + 2], 16) for i in (1, 3, 5)], dtype=float)
        everywhere = (slice(0, self.height), slice(0, self.width))
        if shape.kind == "half_space":
            a, tip = turned(shape.points, pose)
            normal = (tip - a) if self._dimension == 2 else (tip - a)[::2]
            if self._dimension == 3 and np.linalg.norm(normal) < 1.0 / 2.0:
                return  # seen from the front or from behind
            base = self._flat(a[None])[0]
            field = (columns[None, :] - base[0]) * normal[0] + (rows[:, None] - base[1]) * normal[1]
            self._paint(image, everywhere, field, color, pixel)
            return
        if shape.kind == "heightfield" and self._dimension == 2:
            line = turned(shape.points, pose)
            field = rows[:, None] - np.interp(columns, line[:, 0], line[:, 1])[None, :]
            self._paint(image, everywhere, field, color, pixel)
            return
        corners, radius = self._outline(shape, pose)
        radius = max(radius, WALL * pixel) if len(corners) < 3 else radius
        reach = radius + 2.0 * LINE * pixel
        window = self._window(columns, rows, corners.min(axis=0) - reach, corners.max(axis=0) + reach)
        pixels = np.stack(np.broadcast_arrays(columns[None, window[1]], rows[window[0], None]), axis=-1)
        if pixels.size == 0:
            return
        self._paint(image, window, distance(pixels, corners) - radius, color, pixel)
        if shape.kind == "ball" and self._dimension == 2:
            # A spoke shows how it turns.
            spoke = turned(np.array([[0.0, 0.0], [shape.radius, 0.0]]) + shape.points[0], pose)
            self._cover(image, window, distance(pixels, spoke) - LINE / 2.0 * pixel, color * EDGE, pixel)

    def _paint(self, image: np.ndarray, window: tuple, field: np.ndarray, color: np.ndarray, pixel: float) -> None:
        self._cover(image, window, field, color, pixel)
        self._cover(image, window, np.abs(field + LINE / 2.0 * pixel) - LINE / 2.0 * pixel, color * EDGE, pixel)

    @staticmethod
    def _cover(image: np.ndarray, window: tuple, field: np.ndarray, color: np.ndarray, pixel: float) -> None:
        part = image[window]
        part += np.clip(0.5 - field / pixel, 0.0, 1.0)[..., None] * (color - part)

    def _mark(self, image: np.ndarray, columns: np.ndarray, rows: np.ndarray, pixel: float, at: np.ndarray, color: str) -> None:
        arm = 6.0 * pixel
        shade = np.array([int(color[i:i + 2], 16) for i in (1, 3, 5)], dtype=float)
        window = self._window(columns, rows, at - 2.0 * arm, at + 2.0 * arm)
        pixels = np.stack(np.broadcast_arrays(columns[None, window[1]], rows[window[0], None]), axis=-1)
        for tip in (np.array([arm, arm]), np.array([arm, -arm])):
            if pixels.size:
                self._cover(image, window, distance(pixels, np.stack([at - tip, at + tip])) - LINE * pixel, shade, pixel)
