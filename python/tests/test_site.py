"""The pages of the documentation: their blocks run in the order in which they stand, and none is left out without a reason."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import carom

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("CAROM", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "carom"))
BLOCK = re.compile(r"(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?^```(?P<language>[a-z]+)\n(?P<text>.*?)^```$", re.M | re.S)
RUN = ["docs/install.md", "docs/first-hour.md", "docs/outputs.md", "docs/viewer.md", "docs/mechanisms.md", "docs/imports.md",
       "docs/impact-laws.md", "docs/comparison.md", "docs/support.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs/guides").glob("*.md"))]
ELSEWHERE = {
    "docs/gradients.md": "crates/cli/tests/command/documents.rs",  # and as a doc test
    "docs/scene-format.md": "crates/scene/tests/suite/reference.rs",
    "docs/python.md": "python/tests/test_documents.py",
}
QUIET = ("text",)


def named(text: str) -> str | None:
    """The file that a block says it is: ``# first.toml`` or ``<!-- arm.urdf -->`` in its first line."""
    found = re.match(r"(?:#|<!--) ([\w.-]+\.\w+)(?: -->)?\n", text)
    return found and found[1]


def command(line: str, folder: Path) -> None:
    """Runs a line of a shell; a viewer is asked for its page and ended."""
    environment = {**os.environ, "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    if line.startswith("carom view"):
        server = subprocess.Popen(["bash", "-c", f"exec {line} --no-open"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert "http://127.0.0.1" in server.stdout.readline(), line
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=30)
        return
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", RUN)
def test_page(page, tmp_path, monkeypatch):
    if not COMMAND.is_file():
        pytest.skip(f"{COMMAND} is not built; cargo build builds it")
    monkeypatch.chdir(tmp_path)
    names: dict = {"carom": carom}
    for block in BLOCK.finditer((ROOT / page).read_text()):
        language, text = block["language"], block["text"]
        if block["reason"] or language in QUIET:
            continue
        if language == "python":
            exec(compile(text, page, "exec"), names)
        elif language == "sh":
            for line in text.splitlines():
                if line.split("#")[0].strip():
                    command(line, tmp_path)
        elif language in ("toml", "xml"):
            file = named(text)
            if file:
                (tmp_path / file).write_text(text)
            else:
                carom.World.from_toml(text)
        else:
            pytest.fail(f"{page}: nobody runs blocks of {language}")


def test_every_page_is_run():
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    for page in pages - set(RUN) - set(ELSEWHERE):
        found = [block["language"] for block in BLOCK.finditer((ROOT / page).read_text()) if not block["reason"]]
        assert set(found) <= set(QUIET), f"{page} has blocks that nothing runs: {found}"
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (ROOT / test).read_text(), f"{test} does not read {page}"


def test_every_page_is_reached():
    """From the index, by its lists; what they name exists."""
    listed = re.findall(r"^[a-z/-]+$", (ROOT / "docs" / "index.md").read_text(), re.M)
    pages = {str(path.relative_to(ROOT / "docs").with_suffix("")) for path in (ROOT / "docs").rglob("*.md")}
    assert set(listed) == pages - {"index"}


def test_links_within_the_pages_lead_somewhere():
    wrong = []
    for path in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "ARCHITECTURE.md"]:
        for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
            if not re.match(r"[a-z]+:|#", target) and not (path.parent / target.split("#")[0]).exists():
                wrong.append(f"{path.relative_to(ROOT)}: {target}")
    assert not wrong

