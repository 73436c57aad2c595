"""carom.fit: many motions in, values with what is known about them out."""

from __future__ import annotations

import numpy as np
import pytest

import carom

SLIDE = """
dimension = 2
step = 0.01
[[body]]
name = "table"
kind = "static"
shape = { half_space = [0, 1] }
friction = 0.3
[[body]]
name = "block"
shape = { box = [0.2, 0.1] }
position = [0, 0.05]
velocity = [2, 0]
friction = 0.3
"""


def motions(world: carom.World, speeds: list[float], noise: float) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    out = []
    for k, speed in enumerate(speeds):
        v = np.array(world.v)
        v[1, 0] = speed
        copy = world.copy()
        copy.v = v
        run = copy.rollout(30 + 5 * k, tape=False)
        q = np.array(run.q[:, 1:])
        q[1:, :, :2] += noise * rng.standard_normal(q[1:, :, :2].shape)
        v1 = np.full(run.v[:, 1:].shape, np.nan)
        v1[0] = run.v[0, 1:]
        out.append({"time": np.array(run.time), "q": q, "v": v1})
    return out


def test_friction_of_a_pair_from_motions_of_different_lengths_and_starts() -> None:
    world = carom.World.from_toml(SLIDE)
    found = carom.fit(world, motions(world, [1.0, 1.5, 2.0], 1e-4), {"pair_friction[block, table]": 0.5}, weights={"position": 1.0, "rotation": 0.1})
    (name,) = found.values
    low, high = found.intervals[name]
    assert abs(found.values[name] - 0.3) < 2e-3 and low < found.values[name] < high and high - low < 0.01, found
    assert found.converged and not found.undetermined, found


def test_what_only_acts_together_is_said() -> None:
    world = carom.World.from_toml(SLIDE)
    found = carom.fit(world, motions(world, [1.0, 2.0], 0.0), {"friction[block]": 0.5, "friction[table]": 0.4})
    assert "friction[block] + friction[table] is determined" in found.undetermined[0]["words"], found
    assert found.intervals["friction[block]"] == (-np.inf, np.inf)


def test_bad_data_are_named_by_column_and_row() -> None:
    world = carom.World.from_toml(SLIDE)

    def fails(words: str, **change: np.ndarray) -> None:
        one = motions(world, [1.0], 0.0)[0] | change
        with pytest.raises(carom.Error, match=words):
            carom.fit(world, [one], ["pair_friction[block, table]"])

    good = motions(world, [1.0], 0.0)[0]
    backwards = good["time"].copy()
    backwards[7] = backwards[5]
    fails("time, row 7", time=backwards)
    infinite = good["q"].copy()
    infinite[4, 0, 1] = np.inf
    fails("row 4, column block.y", q=infinite)
    with pytest.raises(carom.Error, match="did you mean"):
        carom.fit(world, [good], ["pair_friction[blok, table]"])
    run = world.rollout(30, tape=False)
    units = {"time": np.array(run.time), "q": np.array(run.q[:, 1:]) * [1000, 1000, 1], "v": np.array(run.v[:, 1:])}
    said = carom.fit(world, [units], ["pair_friction[block, table]"]).warnings
    assert any("column block.x" in words and "millimetres" in words for words in said), said


def test_searches_are_shared_out_over_a_cluster(tmp_path) -> None:
    ray = pytest.importorskip("ray")
    world = carom.World.from_toml(SLIDE)
    measured = motions(world, [1.0, 1.5, 2.0], 1e-4)
    asked = {"parameters": {"pair_friction[block, table]": 0.5}, "starts": 3, "weights": {"position": 1.0, "rotation": 0.1}}
    here = carom.fit(world, measured, **asked)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error", ignore_reinit_error=True)
    try:
        there = carom.fit(world, measured, **asked, ray=True, path=tmp_path / "searches.json")
        bad = measured + [{"time": [0.0, 0.0], "q": measured[0]["q"][:2]}]
        with pytest.raises(carom.Error, match="row 1"):
            carom.fit(world, bad, **asked, ray=True)
    finally:
        ray.shutdown()
    (name,) = here.values
    assert there.values[name] == pytest.approx(here.values[name], rel=1e-9) and there.intervals[name] == pytest.approx(here.intervals[name], rel=1e-6)
    assert sorted(k for m in there.minima for k in m["searches"]) == [0, 1, 2] and there.converged == here.converged
    # The file has all of them: asked again, without a cluster, nothing is searched for.
    assert carom.fit(world, measured, **asked, path=tmp_path / "searches.json").values == there.values


@pytest.mark.parametrize("more, said", [
    ({"parameters": {"friction[block]": [0.3]}}, 'parameters["friction[block]"]'),
    ({"bounds": {"friction[block]": 1.0}}, 'bounds["friction[block]"]'),
    ({"bounds": {"friction[block]": (0.1, "much")}}, 'bounds["friction[block]"]'),
    ({"weights": {"position": None}}, 'weights["position"]'),
])
def test_what_is_no_number_is_named(more, said):
    world = carom.World.from_toml(SLIDE)
    with pytest.raises(carom.SolveError) as caught:
        carom.fit(world, motions(world, [2.0], 0.0), **{"parameters": {"friction[block]": 0.2}, **more})
    assert said in str(caught.value)
