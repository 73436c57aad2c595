"""Sweeps: the same bits alone, in batches and on Ray; interrupted and resumed; wrong arguments."""

from __future__ import annotations

import functools
import json
import pickle

import numpy as np
import pytest
from conftest import ARM, THROW

import carom

GRID = {"mass[ball]": [0.5, 1.0, 2.0], "v[ball, 0]": [1.0, 2.0], "restitution": [0.2, 0.6]}


def far(run):
    return {"x": run.q[-1, 1, 0], "energy": run.energy[[0, -1]]}


def by_hand(world, steps):
    found = []
    for mass in GRID["mass[ball]"]:
        for vx in GRID["v[ball, 0]"]:
            for e in GRID["restitution"]:
                one = world.copy()
                masses, v = np.array(one.params["mass"]), np.array(one.v)
                masses[1], v[1, 0] = mass, vx
                one.params["mass"], one.params["restitution"], one.v = masses, [e, e], v
                found.append(one.rollout(steps, tape=False))
    return found


def test_grid(throw):
    found = carom.sweep(throw, GRID, far, steps=60, chunk=5)
    assert len(found) == 12 and found.errors == {}
    assert found.points[1] == {"mass[ball]": 0.5, "v[ball, 0]": 1.0, "restitution": 0.6}
    assert found.values["x"].shape == (12,) and found.values["energy"].shape == (12, 2)
    for i, run in enumerate(by_hand(throw, 60)):
        assert found.values["x"][i] == run.q[-1, 1, 0]
        np.testing.assert_array_equal(found.values["energy"][i], run.energy[[0, -1]])
    point, value = found.best("x", largest=True)
    assert value == found.values["x"].max() and point["v[ball, 0]"] == 2.0
    assert throw.time == 0.0 and "Sweep" in repr(found) and "table" in found._repr_html_()


def test_sampler_list_controls_and_gradients(throw):
    def sample(rng):
        return {"controls": rng.normal(size=(20, 1)), "friction": rng.uniform(0.1, 0.9)}

    def slope(run):
        return np.abs(run.backward(dq=run.q[-1] ** 2).controls).sum()

    found = carom.sweep(throw, sample, slope, steps=20, samples=7, seed=3, tape=True, workers=1)
    again = carom.sweep(throw, found.points, slope, steps=20, tape=True)
    np.testing.assert_array_equal(found.values["metric"], again.values["metric"])
    assert np.unique(found.values["metric"]).size == 7
    other = carom.sweep(throw, sample, slope, steps=20, samples=7, seed=4, tape=True)
    assert (other.values["metric"] != found.values["metric"]).all()


def test_resume(throw, tmp_path):
    file = tmp_path / "results.json"
    whole = carom.sweep(throw, GRID, far, steps=40)

    class Told:  # what a class holds does not count as part of the metric
        limit, seen = 7, 0

    def stops(run):
        Told.seen += 1
        if Told.seen > Told.limit:
            raise KeyboardInterrupt
        return far(run)

    with pytest.raises(KeyboardInterrupt):
        carom.sweep(throw, GRID, stops, steps=40, path=file, chunk=3)
    assert len(json.loads(file.read_text())["results"]) == 6, "two batches of three are kept"
    Told.limit, Told.seen = 100, 0
    found = carom.sweep(throw, GRID, stops, steps=40, path=file, chunk=3)
    assert Told.seen == 6, "what was there is not run again"
    for name in whole.values:
        np.testing.assert_array_equal(found.values[name], whole.values[name])
    assert [x.name for x in tmp_path.iterdir()] == ["results.json"]
    with pytest.raises(carom.ModelError, match="another sweep"):
        carom.sweep(throw, GRID, stops, steps=41, path=file)
    file.write_text("[")
    with pytest.raises(carom.ModelError, match="no results"):
        carom.sweep(throw, GRID, stops, steps=40, path=file)


def scaled(run, by):
    return by * run.q[-1, 1, 0]


FACTOR = 2.0


def by_global(run):
    return FACTOR * run.q[-1, 1, 0]


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, run):
        return scaled(run, self.by)


def inside(by):
    return lambda run: [scaled(run, by) for _ in range(1)][0]


def by_default(by):
    return eval("lambda run, by=by: scaled(run, by)", {"by": by, "scaled": scaled})


@pytest.mark.parametrize("make", [inside, by_default, Scale, lambda by: functools.partial(scaled, by=by), lambda by: inside(np.array([by]))],
                         ids=["closure", "default", "object", "partial", "array"])
def test_a_metric_with_other_numbers_is_another(throw, tmp_path, make):
    file = tmp_path / "results.json"
    once = carom.sweep(throw, GRID, make(2.0), steps=10, path=file)
    np.testing.assert_array_equal(once.values["metric"], carom.sweep(throw, GRID, make(2.0), steps=10, path=file).values["metric"])
    with pytest.raises(carom.ModelError, match="another sweep"):
        carom.sweep(throw, GRID, make(3.0), steps=10, path=file)


def test_a_metric_with_another_global_is_another(throw, tmp_path, monkeypatch):
    file = tmp_path / "results.json"
    carom.sweep(throw, GRID, by_global, steps=10, path=file)
    carom.sweep(throw, GRID, by_global, steps=10, path=file)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    with pytest.raises(carom.ModelError, match="another sweep"):
        carom.sweep(throw, GRID, by_global, steps=10, path=file)


@pytest.mark.parametrize("row", [[5, ""], [{"metric": "far"}, ""], [{"metric": 1.0}], "?"])
def test_a_spoilt_file_is_refused(throw, tmp_path, row):
    file = tmp_path / "results.json"
    carom.sweep(throw, GRID, by_global, steps=10, path=file)
    held = json.loads(file.read_text())
    held["results"]["3"] = row
    file.write_text(json.dumps(held))
    with pytest.raises(carom.ModelError, match="no results"):
        carom.sweep(throw, GRID, by_global, steps=10, path=file)


def test_what_cannot_be_kept_is_an_error_at_once(throw, tmp_path):
    calls = []
    with pytest.raises(carom.ModelError, match="path.*no folder"):
        carom.sweep(throw, GRID, calls.append, steps=10, path=tmp_path / "nowhere" / "results.json")
    assert calls == []
    with pytest.raises(carom.SolveError, match="metric: returns None"):
        carom.sweep(throw, GRID, calls.append, steps=10)


def test_a_failing_rollout_is_told(throw):
    # A number the engine cannot step with: the others go on, with the same bits.
    points = [{"v[ball, 0]": 1.0}, {"mass[ball]": 1e-6, "controls": 1e308}, {"v[ball, 0]": 2.0}]
    found = carom.sweep(throw, points, lambda run: run.q[-1, 1, 0], steps=3)
    assert list(found.errors) == [1] and np.isnan(found.values["metric"][1])
    alone = carom.sweep(throw, {"v[ball, 0]": [1.0, 2.0]}, lambda run: run.q[-1, 1, 0], steps=3)
    np.testing.assert_array_equal(found.values["metric"][[0, 2]], alone.values["metric"])


def test_ray(throw):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error", ignore_reinit_error=True)
    try:
        local = carom.sweep(throw, GRID, far, steps=60)
        there = carom.sweep(throw, GRID, far, "ray", steps=60, chunk=2)
        for name in local.values:
            np.testing.assert_array_equal(local.values[name], there.values[name])

        def bad(run):
            raise RuntimeError("no metric")

        with pytest.raises(RuntimeError, match="no metric"):
            carom.sweep(throw, GRID, bad, "ray", steps=5)
    finally:
        ray.shutdown()


def test_ray_is_named_when_missing(throw):
    try:
        import ray  # noqa: F401
    except ImportError:
        with pytest.raises(carom.Error, match="ray"):
            carom.sweep(throw, GRID, far, "ray", steps=2)


def test_progress(throw, capsys):
    carom.sweep(throw, GRID, far, steps=2, progress=True, chunk=4)
    assert "sweep" in capsys.readouterr().err
    carom.sweep(throw, GRID, far, steps=2, progress=False)
    assert capsys.readouterr().err == ""


WRONG = [
    ("world", lambda w: carom.sweep("w", GRID, far)),
    ("metric", lambda w: carom.sweep(w, GRID, 3)),
    ("backend", lambda w: carom.sweep(w, GRID, far, "cloud")),
    ("steps", lambda w: carom.sweep(w, GRID, far, steps=-1)),
    ("chunk", lambda w: carom.sweep(w, GRID, far, steps=1, chunk=0)),
    ("workers", lambda w: carom.sweep(w, GRID, far, steps=1, workers=0)),
    ("seed", lambda w: carom.sweep(w, GRID, far, steps=1, seed=-1)),
    ("tape", lambda w: carom.sweep(w, GRID, far, steps=1, tape="yes")),
    ("progress", lambda w: carom.sweep(w, GRID, far, steps=1, progress="yes")),
    ("samples", lambda w: carom.sweep(w, lambda rng: {}, far, steps=1)),
    ("samples", lambda w: carom.sweep(w, lambda rng: {}, far, steps=1, samples=0)),
    ("grid", lambda w: carom.sweep(w, 3, far, steps=1)),
    ("grid", lambda w: carom.sweep(w, {"mass": []}, far, steps=1)),
    ("grid", lambda w: carom.sweep(w, {"mass": 3}, far, steps=1)),
    ("grid", lambda w: carom.sweep(w, [3], far, steps=1)),
    ("grid", lambda w: carom.sweep(w, {"weight": [3]}, far, steps=1)),
    ("grid", lambda w: carom.sweep(w, {"mass[stone]": [3]}, far, steps=1)),
    ("grid", lambda w: carom.sweep(w, {"gravity[stone]": [3]}, far, steps=1)),
    ("grid", lambda w: carom.sweep(w, {"v[ball, 9]": [3]}, far, steps=1)),
    ("grid", lambda w: carom.sweep(w, {"v[": [3]}, far, steps=1)),
    ("grid", lambda w: carom.sweep(w, {3: [3]}, far, steps=1)),
    ("grid", lambda w: carom.sweep(w, {"mass[ball]": [-3.0]}, far, steps=1)),
    ("grid", lambda w: carom.sweep(w, {"mass[ball]": ["heavy"]}, far, steps=1)),
    ("grid", lambda w: carom.sweep(w, {"v": [np.zeros((5, 3))]}, far, steps=1)),
    ("metric", lambda w: carom.sweep(w, GRID, lambda run: "far", steps=1)),
    ("metric", lambda w: carom.sweep(w, GRID, lambda run: np.zeros(1 + int(run.v[0, 1, 0])), steps=1)),
    ("path", lambda w: carom.sweep(w, GRID, far, steps=1, path=3.0)),
    ("path", lambda w: carom.sweep(w, GRID, far, steps=1, path="no/such/folder/results.json")),
    ("name", lambda w: carom.sweep(w, GRID, far, steps=1).best("y")),
    ("name", lambda w: carom.sweep(w, GRID, far, steps=1).best("energy")),
]


@pytest.mark.parametrize("name, call", WRONG, ids=[f"{i}-{name}" for i, (name, _) in enumerate(WRONG)])
def test_wrong_arguments(throw, name, call):
    with pytest.raises(carom.Error, match=name):
        call(throw)


@pytest.mark.parametrize("text", [THROW, ARM])
def test_pickle(text):
    world = carom.World.from_toml(text)
    world.params["mass"] = world.params["mass"] * 1.7
    world.params["gravity"] = world.params["gravity"] * 0.9
    world.step(45)
    world.params["mass"] = world.params["mass"] * 1.1
    other = pickle.loads(pickle.dumps(world))
    assert other.hash() == world.hash() and other.time == world.time and other.ledger().drift == world.ledger().drift
    world.step(60)
    other.step(60)
    assert other.hash() == world.hash()
    for name in world.params:
        np.testing.assert_array_equal(other.params[name], world.params[name])
    world.reset()
    other.reset()
    assert other.hash() == world.hash()


@pytest.mark.parametrize("name", ["pool_break", "stack_ten", "box_stack_3d", "ragdoll", "terrain_3d", "strandbeest"])
def test_pickle_of_scenes(name):
    world = carom.World.scene(name)
    world.step(20)
    other = pickle.loads(pickle.dumps(world))
    world.step(20)
    other.step(20)
    assert other.hash() == world.hash()
