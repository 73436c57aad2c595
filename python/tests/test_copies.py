"""Copies and pickles of everything the package hands out."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import carom

URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<gazebo reference="a"/></robot>"""

WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x)), "copy()": lambda x: x.copy()}


@pytest.fixture
def imported(tmp_path):
    file = tmp_path / "one robot é.urdf"
    file.write_text(URDF, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return carom.World.from_urdf(file)


@pytest.mark.parametrize("way", WAYS)
def test_notes_of_a_world(imported, way):
    assert WAYS[way](imported).notes == imported.notes


@pytest.mark.parametrize("way", WAYS)
def test_batches_are_apart(throw, way):
    batch = carom.Batch(throw, 3)
    batch.params["mass"] = [[np.inf, 1.0], [np.inf, 2.0], [np.inf, 3.0]]
    batch.v = batch.v + np.arange(3.0)[:, None, None]
    batch.step(7)
    other = WAYS[way](batch)
    before = batch.hash()
    assert other.hash() == before
    other.step(5)
    assert batch.hash() == before and other.hash() != before
    batch.step(5)
    assert other.hash() == batch.hash()
    np.testing.assert_array_equal(other.params["mass"], batch.params["mass"])


@pytest.mark.parametrize("lead", [(), (3,)])
def test_rollouts(throw, lead):
    made = carom.Batch(throw, 3) if lead else throw
    run = made.rollout(20)
    assert copy.deepcopy(run) is run
    back = pickle.loads(pickle.dumps(run))
    for name in ("q", "v", "time", "energy", "contacts"):
        np.testing.assert_array_equal(getattr(back, name), getattr(run, name))
        assert not getattr(back, name).flags.writeable and not getattr(run, name).flags.writeable
    assert back.status == run.status and repr(back) == repr(run)
    if lead:
        np.testing.assert_array_equal(back[2].q, run[2].q)
    else:
        assert back.to_pandas().equals(run.to_pandas()) if _has("pandas") else True
    with pytest.raises(carom.SolveError, match="pickled"):
        back.backward(dq=np.ones((*lead, 2, 3)))
    gradient = run.backward(dq=np.ones((*lead, 2, 3)))
    again = pickle.loads(pickle.dumps(gradient))
    assert copy.deepcopy(gradient) is gradient and repr(again) == repr(gradient) and again.status == gradient.status
    for name in ("q0", "v0", "controls"):
        np.testing.assert_array_equal(getattr(again, name), getattr(gradient, name))
        with pytest.raises(AttributeError):
            setattr(gradient, name, 0.0)
    for name in gradient:
        np.testing.assert_array_equal(again[name], gradient[name])
    with pytest.raises(carom.ModelError, match="masss"):
        again["masss"]


def _has(package):
    import importlib.util

    return importlib.util.find_spec(package) is not None


def test_a_batch_of_rollouts_is_a_sequence_of_worlds(throw):
    run = carom.Batch(throw, 3).rollout(20)
    assert len(run) == len(list(run)) == len(list(reversed(run))) == 3
    assert len(throw.rollout(20)) == 20 and bool(throw.rollout(0))
    for sequence in (run, carom.Batch(throw, 3)):
        with pytest.raises(IndexError, match="index"):
            sequence[0:2]


def test_near_misses():
    with pytest.raises(carom.SceneError, match='did you mean "ball_drop"'):
        carom.World.scene("ball_dorp")
    with pytest.raises(carom.SceneError, match="World.load"):
        carom.World.from_toml("scenes/ball_drop.toml")


@pytest.mark.parametrize("value", [10**400, "x", [1, [2]], object()])
def test_what_is_no_number_is_typed(throw, value):
    with pytest.raises(carom.ModelError, match="^q:"):
        throw.q = [[0, 0, 0], [0, 0, value]]
