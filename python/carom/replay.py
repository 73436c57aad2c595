"""A run as a page of its own."""

from __future__ import annotations

import html
import os
from pathlib import Path

__all__ = ["Replay"]

_HEIGHT = 620  #: Height of the frame in a notebook [pixels]: the scene, the transport and one row of plots.


class Replay:
    """A page that replays a run: shown in place by a notebook; :meth:`save` writes it to a file that needs nothing else."""

    def __init__(self, page: str) -> None:
        self._page = page

    @property
    def html(self) -> str:
        """The page itself."""
        return self._page

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page to a file; returns its path."""
        target = Path(path)
        target.write_text(self._page, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        """The page in a frame, so that its styles stay its own."""
        return (f'<iframe srcdoc="{html.escape(self._page, quote=True)}" title="carom replay" '
                f'style="width:100%;height:{_HEIGHT}px;border:0;border-radius:8px"></iframe>')

    def __repr__(self) -> str:
        return f"Replay({len(self._page) / 1e6:.2f} MB; .save(\"run.html\"), or let a notebook show it)"
