"""What a researcher does with a world: assigns states, leaves out what stands still, names the friction of a pair, starts inside something."""

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
mass = 2
position = [0, 0.05]
velocity = [2, 0]
friction = 0.3
"""


@pytest.fixture
def world() -> carom.World:
    return carom.World.from_toml(SLIDE)


def test_the_drift_starts_anew_where_a_state_is_assigned(world):
    world.step(20)
    before, loss = world.ledger().drift, world.ledger().friction_loss
    assert abs(before) < 1e-12 and loss > 0.1
    q, v = np.array(world.q), np.array(world.v)
    q[1, 1] += 1.0
    world.q = q
    assert abs(world.ledger().drift) < 1e-12 and world.ledger().friction_loss == loss, "the books go on"
    v[1] = [5, 0, 0]
    world.v = v
    world.step(5)
    assert abs(world.ledger().drift) < 1e-10
    # A state that starts inside the table is put right, said and booked, and leaves no drift.
    q[1, 1] = 0.03
    world.q, world.v = q, np.zeros((2, 3))
    world.step(1)
    assert any("overlap by 0.02 m" in note for note in world.notes), world.notes
    assert world.ledger().projection == pytest.approx(2 * 9.81 * 0.02, rel=1e-3) and abs(world.ledger().drift) < 1e-10
    world.reset()
    assert world.ledger().drift == 0.0 and world.ledger().friction_loss == 0.0


def test_bodies_that_stand_still_may_be_left_out(world):
    world.q, world.v = [[0.5, 0.05, 0.0]], [[1.0, 0.0, 0.0]]
    assert np.array_equal(world.q, [[0, 0, 0], [0.5, 0.05, 0]]) and np.array_equal(world.v[1], [1, 0, 0])
    batch = carom.Batch(world, 3)
    batch.v = [[[1.0, 0, 0]], [[2.0, 0, 0]], [[3.0, 0, 0]]]
    batch.q = [[0.1, 0.05, 0.0]]
    assert np.array_equal(batch.v[:, 1, 0], [1, 2, 3]) and np.array_equal(batch.q[:, 1, 0], [0.1] * 3)
    with pytest.raises(carom.ModelError, match=r"q: found shape \(3, 3\), needs"):
        world.q = np.zeros((3, 3))


def test_the_friction_of_a_pair_without_a_rule(world):
    with pytest.raises(carom.ModelError, match=r'bodies do; world.add\('):
        world.params["pair_friction[block, table]"]
    world.add('dimension = 2\n[[pair]]\nbetween = ["block", "table"]\nfriction = 0.3\n')
    assert world.params["pair_friction[block, table]"] == world.params["pair_friction[table, block]"] == 0.3
    gradient = world.rollout(20).backward(dq={(-1, "block"): [1, 0, 0]})
    other = world.copy()
    other.params["pair_friction"] = [0.3 + 1e-6]
    slope = (other.rollout(20).q[-1, 1, 0] - world.rollout(20).q[-1, 1, 0]) / 1e-6
    assert gradient["pair_friction"][0] == pytest.approx(slope, rel=1e-4)


def test_few_states_of_few_bodies(world):
    some, all_ = world.rollout(30, every=7, bodies=["block"]), world.rollout(30)
    assert some.q.shape == (6, 1, 3) and np.allclose(some.time, [0, 0.07, 0.14, 0.21, 0.28, 0.3])
    ends = [run.backward(dq={(-1, "block"): [1, 0, 0]}) for run in (some, all_)]
    assert np.array_equal(ends[0]["friction"], ends[1]["friction"]) and ends[0].exact_until == pytest.approx(0.3)
    assert carom.Batch(world, 3).rollout([10, 30, 5]).q.shape == (3, 31, 2, 3)
