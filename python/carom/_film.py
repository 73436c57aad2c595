"""Films and pictures of a run: what is asked for, and where the encoder is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from ._carom import Rollouts, SolveError
from ._check import count, flag, number, word

__all__ = ["draw"]

_ENCODED = (".mp4", ".webm")
_GIF_RATE = 50.0  #: Frames per second beyond which readers slow a .gif down.
_RATE = 240.0  #: Frames per second beyond which no screen follows.
_SIDES = (16, 8192)  #: Pixels along a side.
_PANELS = 100
_CAMERAS = {"auto": None, "still": False, "follow": True}


def _encoder() -> str | None:
    """The encoder of imageio-ffmpeg where there is no ffmpeg on the path; None leaves the search, and the message, to the native part."""
    if os.environ.get("CAROM_FFMPEG") or shutil.which("ffmpeg"):
        return None
    try:
        import imageio_ffmpeg
    except ImportError:
        return None
    return imageio_ffmpeg.get_ffmpeg_exe()


def _size(size: Any) -> tuple[int | None, int | None]:
    sides = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    if len(sides) not in (1, 2):
        raise SolveError(f"size: found {size!r}, needs a width or (width, height) [pixels]")
    found = [None if side is None else count("size", side, least=_SIDES[0], most=_SIDES[1]) for side in sides]
    return found[0], found[1] if len(found) == 2 else None


def _positive(name: str, value: Any, most: float | None = None) -> float:
    found = number(name, value, most=most)
    if found <= 0.0:
        raise SolveError(f"{name}: found {found:g}, needs a number above 0")
    return found


def draw(native: Rollouts, path: Any, size: Any, frames: Any, fps: Any, speed: Any, trails: Any, theme: Any, camera: Any, clock: Any) -> Path:
    """Checks what is asked for and lets the native part draw it."""
    target = Path(path)
    ending = target.suffix.lower()
    panels = count("frames", frames, least=1, most=_PANELS)
    rate = None if fps is None else _positive("fps", fps, _GIF_RATE if ending == ".gif" else _RATE)
    flags = (flag("trails", trails), flag("clock", clock), _CAMERAS[word("camera", camera, tuple(_CAMERAS))])
    paper = word("theme", theme, ("light", "dark"))
    native.film(target, _size(size), panels, (rate, _positive("speed", speed)), flags, paper, _encoder() if ending in _ENCODED else None)
    return target
