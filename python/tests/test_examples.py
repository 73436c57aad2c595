"""The examples reach the figures they print: each ends with a number and fails when it misses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "python").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    if "scipy" in path.read_text():
        pytest.importorskip("scipy")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert any(c.isdigit() for c in done.stdout.splitlines()[-1])


def test_there_are_examples():
    assert len(EXAMPLES) >= 4
