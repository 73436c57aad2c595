"""Writes the table of docs/imports.md: every MJCF model of gymnasium and every URDF model of pybullet_data, against MuJoCo.

Needs what ./check installs. Models without joints are counted, not listed.

    .venv/bin/python tests/imports/table.py
"""

import pathlib
import re
import sys
import warnings

import mujoco
import numpy as np

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))
import test_import as models  # noqa: E402

import carom  # noqa: E402

PAGE = ROOT / "docs" / "imports.md"
BEGIN, END = "<!-- table of models: tests/imports/table.py -->", "<!-- end -->"
# Notes that say contacts and limits are hard here, which holds for every model.
HARD = ("margin", "gap", "solref", "solimp", "solreflimit", "solimplimit", "condim")
# Notes of what was put right before the first step.
STARTS = ("beyond its limits", "overlap by", "put right before")
HEAD = "| model | joints | mass, centre | swing | way | left out |\n|---|---|---|---|---|---|\n"


def left_out(notes):
    """What is missing, in a few words: the key or element of every note, with how often."""
    words = []
    for note in notes:
        found = re.search(r':\d+:\d+: ([^:]*?)(?:, key "([^"]*)")?: ', note)
        part, key = found.groups() if found else (note, None)
        part = re.sub(r' "[^"]*"', "", part)
        times = re.search(r"; (\d+) in all", note)
        # How a model starts is not what is missing of it.
        if key in HARD or any(word in note for word in STARTS):
            continue
        what = f"{part} {key}" if key and part not in (key,) else part
        if "without mass" in note:
            what = "joints without mass"
        words.append(f"{what} ({times.group(1)})" if times else what)
    return ", ".join(dict.fromkeys(words)) or "-"


def row(path):
    """Name, and the cells; no cells for a model without joints."""
    name = path.name if path.suffix == ".xml" else "/".join(path.parts[-2:]).replace("pybullet_data/", "")
    try:
        world = models.load(path)
    except carom.SceneError as cause:
        return name, ["-", "-", "-", "-", "refused: " + re.sub(r"^.*?:\d+:\d+: ", "", str(cause).splitlines()[0]).replace("|", "\\|")]
    facts = models.facts(path)
    if not facts.joints:
        return name, None
    found = models.weight(models.load(path, base=facts.base))
    agree = abs(found[0] - facts.mass) <= 1e-9 * facts.mass and np.allclose(found[1], facts.centre, rtol=0, atol=1e-9)
    # MuJoCo's reader of URDF lets mimic joints run free.
    mimics = path.suffix == ".urdf" and "<mimic" in path.read_text(errors="ignore")
    worst, moved = (None, None) if facts.model is None or mimics else models.swing(path, models.reference().swing(facts.model))
    swing = ["-", "-"] if worst is None else [f"{worst:.0e}", f"{moved:.0e}"]
    return name, [str(facts.joints), "agree" if agree else "differ", *swing, left_out(world.notes)]


def main():
    """Writes the table into the page."""
    warnings.simplefilter("ignore")
    lines, single = [], 0
    for path in models.GYMNASIUM + models.BULLET:
        name, cells = row(path)
        if cells is None:
            single += 1
            continue
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    said = f"\nBesides these, {single} URDF models of one body or none load."
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END, 1)[1]
    PAGE.write_text(before + BEGIN + "\n" + HEAD + "\n".join(lines) + "\n" + said + "\n" + END + after)


if __name__ == "__main__":
    main()
