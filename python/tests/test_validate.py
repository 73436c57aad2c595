"""python -m carom.validate: the figures of the package, and MuJoCo beside it where it is installed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import carom
from carom import validate

SHIPPED = Path(__file__).parents[2] / "crates" / "validate" / "data" / "cube.npz"


@pytest.fixture
def few(tmp_path: Path) -> str:
    """A folder with the first twelve tosses of the cube."""
    with np.load(SHIPPED) as all_:
        length = all_["length"][:12]
        np.savez(tmp_path / "cube.npz", id=all_["id"][:12], length=length, state=all_["state"][: length.sum()])
    return str(tmp_path)


def test_the_command_judges_the_tosses_of_a_folder(few, tmp_path, capsys):
    assert validate.main(["cube", "--data", few, "--out", str(tmp_path), "--json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    (cube,) = found["sets"]
    rows = [row for row in cube["tables"][0]["rows"] if row[0] == "carom `auto`"]
    assert [row[1] for row in rows] == ["12", "12"] and found["ok"] == all(t["holds"] for t in cube["targets"])
    # The first figure again, by Python's own arithmetic over the same starts.
    scene = 'dimension = 3\nstep = {0}\ngravity = [0, 0, -9.81]\n[[body]]\nname = "table"\nkind = "static"\nshape = {{ half_space = [0, 0, 1] }}\nfriction = 0.179\nrestitution = 0.2\n' + (
        '[[body]]\nname = "cube"\nshape = {{ box = [{1}, {1}, {1}] }}\nmass = 0.37\ninertia = [8.1e-4, 8.1e-4, 8.1e-4]\nposition = [0, 0, 1]\nfriction = 0.179\nrestitution = 0.2\n'
    )
    tosses = validate.Tosses.load(few)
    world = carom.World.from_toml(scene.format(1 / tosses.rate, tosses.width))
    runs = []
    for wanted, velocity in zip(tosses.poses, tosses.velocities):
        one, q, v = world.copy(), np.array(world.q), np.array(world.v)
        q[1], v[1] = wanted[0], velocity
        one.q, one.v = q, v
        runs.append(one.rollout(len(wanted) - 1, tape=False).q[:, 1])
    assert tosses.errors(runs)[:, 0].mean() == pytest.approx(cube["targets"][0]["found"], rel=1e-6)


def test_mujoco_stands_beside_it_once(few, tmp_path):
    pytest.importorskip("mujoco")
    rows = validate.run("cube", few, str(tmp_path))["tables"][0]["rows"]
    beside = [row for row in rows if row[0].startswith("MuJoCo") and not row[0].endswith("published")]
    assert len(beside) == len(validate.PEERS) and not any(row[0].endswith(validate.KEPT) for row in beside), beside
    # The round cone is nearer to what was measured than the pyramid.
    pyramid, round_ = [float(row[4].split(" ")[0]) for row in beside]
    assert 5 < round_ < pyramid < 40, beside
    whole = validate.Tosses.load()
    one = validate.Tosses(whole.rate, whole.width, whole.poses[:1], whole.velocities[:1])
    (run,) = validate.simulate(one, validate.PEERS[1])
    assert run.shape == one.poses[0].shape and np.array_equal(run[0], one.poses[0][0])


def test_a_set_without_data_ends_with_2(tmp_path, capsys):
    assert validate.main(["elbow", "--data", str(tmp_path)]) == 2
    assert "elbow.npz" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        validate.main(["shell"])
    assert ended.value.code == 2
