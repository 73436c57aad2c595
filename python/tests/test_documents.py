"""The Python of the documents runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import carom

ROOT = Path(__file__).resolve().parents[2]


def blocks():
    """The blocks of Python that claim something."""
    for name in ("README.md", "docs/python.md"):
        for i, block in enumerate(re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.S)):
            if "assert" in block:
                yield pytest.param(block, id=f"{name}-{i}")


@pytest.mark.parametrize("block", list(blocks()))
def test_block(block):
    try:
        exec(compile(block, "document", "exec"), {"carom": carom})
    except ImportError as missing:
        pytest.skip(str(missing))


def test_every_public_name_is_documented():
    for name in carom.__all__:
        if name not in ("gym", "torch", "jax", "__version__"):
            assert getattr(carom, name).__doc__, name
    for name in carom.kernels.__all__:
        assert getattr(carom.kernels, name).__doc__, name
    for kind in (carom.World, carom.Rollout, carom.Gradient, carom.Batch):
        for name, member in vars(kind).items():
            if not name.startswith("_"):
                assert member.__doc__, f"{kind.__name__}.{name}"
