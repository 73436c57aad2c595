"""The notebooks run from the first cell to the last, and say nothing that they did not compute."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path):
    client = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    for module in ("ipykernel", "matplotlib"):
        pytest.importorskip(module)
    notebook = nbformat.read(path, as_version=4)
    client.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()


def test_there_are_four_without_stored_answers():
    assert len(NOTEBOOKS) == 4
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        assert any("assert" in "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"), path.stem
        assert all(not cell.get("outputs") for cell in cells), f"{path.stem}: clear the outputs before it is committed"
