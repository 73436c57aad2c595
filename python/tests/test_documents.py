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


def test_every_flag_is_explained():
    module = (ROOT / "crates" / "py" / "src" / "rollouts.rs").read_text()
    counts = (ROOT / "crates" / "dynamics" / "src" / "gradient" / "schedule" / "stage.rs").read_text()
    of_steps = re.findall(r'"([^"]+)"', re.findall(r"let flags = \[(.*?)\];", module, re.DOTALL)[0])
    declared = re.findall(r"Switches of usize \{(.*?)\n    \}", re.sub(r"///.*", "", counts), re.DOTALL)[0]
    of_gradients = re.findall(r"\b([a-z]+),", declared)
    assert len(of_steps) >= 6 and len(of_gradients) >= 10, (of_steps, of_gradients)
    outputs, page = (ROOT / "docs" / "outputs.md").read_text(), (ROOT / "docs" / "gradients.md").read_text()
    assert all(f"| `{flag}` |" in outputs for flag in of_steps), of_steps
    assert all(f"`{flag}`" in page for flag in of_gradients), of_gradients
