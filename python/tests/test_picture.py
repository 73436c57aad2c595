"""Shapes and pictures of worlds, and what notebooks show."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ARM

import carom
from carom.picture import Picture, distance, hull

SHAPES = """
dimension = 2
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 1] }
color = "#00ff00"
[[body]]
name = "ball"
shape = { ball = 0.5 }
position = [0, 2]
color = "#ff0000"
[[body]]
name = "rod"
shape = { capsule = [1.0, 0.1] }
position = [2, 1]
angle = 1.5707963267948966
color = "#0000ff"
[[body]]
name = "tile"
shape = [{ box = [0.4, 0.2], at = [0.3, 0] }, { box = [0.4, 0.2], at = [-0.3, 0] }]
position = [-2, 1]
[[body]]
name = "wedge"
shape = { convex = [[0, 0], [1, 0], [0, 1]] }
position = [4, 1]
[[body]]
name = "wall"
kind = "static"
shape = { segment = [[0, 0], [0, 1]] }
position = [-4, 1]
"""


def test_shapes():
    world = carom.World.from_toml(SHAPES)
    shapes = world.shapes()
    assert [(s.body, s.kind, len(s.points)) for s in shapes] == [
        ("ground", "half_space", 2), ("ball", "ball", 1), ("rod", "capsule", 2), ("tile", "box", 4), ("tile", "box", 4), ("wedge", "convex", 3),
        ("wall", "segment", 2)]
    ground, ball, rod, tile = shapes[:4]
    np.testing.assert_allclose(ground.points, [[0, 0], [0, 1]])
    assert ball.radius == 0.5 and ball.color == "#ff0000" and rod.radius == 0.1
    np.testing.assert_allclose(rod.points, [[-0.5, 0], [0.5, 0]])
    np.testing.assert_allclose(tile.points.mean(axis=0), [0.3, 0], atol=1e-12)
    assert not ball.points.flags.writeable and "Shape" in repr(ball)
    solids = carom.World.from_toml(ARM).shapes()
    assert [(s.kind, s.points.shape) for s in solids] == [("box", (8, 3)), ("ball", (1, 3))]
    np.testing.assert_allclose(np.abs(solids[0].points), np.broadcast_to([0.25, 0.025, 0.04], (8, 3)))
    terrain = carom.World.scene("terrain_3d").shapes()
    assert any(len(s.faces) for s in terrain)


def test_picture_is_where_the_bodies_are():
    world = carom.World.from_toml(SHAPES)
    image = world.picture(400, 200, view=(0.0, 1.0, 10.0))  # 2.5 cm a pixel
    at = lambda x, y: image[int((1.0 + 2.5 - y) / 0.025), int((x + 5.0) / 0.025)]
    np.testing.assert_array_equal(at(0.02, 2.2), [255, 0, 0])
    np.testing.assert_array_equal(at(2.02, 1.4), [0, 0, 255])
    np.testing.assert_array_equal(at(3.0, -1.0), [0, 255, 0])
    assert (at(1.02, 2.02) > 200).all(), "nothing is there"
    near = image[:100, 140:260].astype(int)  # the ball alone
    area = (np.abs(near - [255, 0, 0]).sum(axis=2) < 300).sum() * 0.025**2
    assert area == pytest.approx(np.pi * 0.25, rel=0.1)
    whole = world.picture()
    assert whole.shape == (320, 480, 3) and np.unique(whole.reshape(-1, 3), axis=0).shape[0] > 10


@pytest.mark.parametrize("name", ["terrain_3d", "bowling", "spinning_top", "ragdoll", "geyser", "galton_board", "marble_run"])
def test_every_kind_is_drawn(name):
    world = carom.World.scene(name)
    before = world.picture(120, 90)
    assert before.std() > 1.0


def test_distance():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    points = np.array([[0.5, 0.5], [2.0, 0.5], [2.0, 2.0], [0.5, 0.9]])
    np.testing.assert_allclose(distance(points, square), [-0.5, 1.0, np.sqrt(2.0), -0.1])
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(40, 2))
    corners = hull(cloud)
    assert (distance(cloud, corners) < 1e-12).all() and len(corners) < 20


def test_wrong_arguments(throw):
    for name, call in (
        ("world", lambda: Picture("world")),
        ("width", lambda: throw.picture(0)),
        ("height", lambda: throw.picture(10, 2.5)),
        ("view", lambda: throw.picture(10, 10, view=(0, 0))),
        ("view", lambda: throw.picture(10, 10, view=(0, 0, -1))),
        ("q", lambda: Picture(throw).draw(np.zeros((2, 7)))),
        ("q", lambda: Picture(throw).draw(np.zeros((1, 3)))),
        ("marks", lambda: Picture(throw).draw(throw.q, None, [((1, 2, 3), "#000000")])),
    ):
        with pytest.raises(carom.ModelError, match=name):
            call()


def test_notebook(throw):
    run, batch = throw.rollout(5), carom.Batch(throw, 2)
    for thing in (throw, throw.params, run, run.backward(), batch, batch.rollout(3), throw.ledger(), throw.shapes()[0]):
        html = thing._repr_html_()
        assert html.startswith("<table>") and html.endswith("</table>")
    named = carom.World.from_toml(SHAPES.replace('"ball"', '"<b>"'))
    assert "<b>" not in named.shapes()[1]._repr_html_()


def test_rollouts_of_a_batch(throw):
    batch = carom.Batch(throw, 3)
    v = np.array(batch.v)
    v[:, 1, 0] = [1.0, 2.0, 3.0]
    batch.v = v
    run = batch.rollout(10)
    for i, one in enumerate(run):
        np.testing.assert_array_equal(one.q, run.q[i])
        np.testing.assert_array_equal(one.backward(dq=np.ones((2, 3))).v0, run.backward(dq=np.ones((3, 2, 3))).v0[i])
        assert one.energy.shape == (11,) and run[-3 + i].q.shape == (11, 2, 3)
    with pytest.raises(IndexError):
        run[3]
    with pytest.raises(carom.SolveError):
        throw.rollout(2)[0]


def test_reset_of_some(throw):
    batch = carom.Batch(throw, 4)
    start = batch.hash()
    batch.step(50)
    after = batch.hash()
    batch.reset([1])
    assert batch.hash() == [after[0], start[1], after[2], after[3]]
    batch.reset([True, False, False, False])
    assert batch.hash() == [start[0], start[1], after[2], after[3]]
    batch.reset([2, 3], v=np.stack([throw.v, throw.v * 2.0]))
    assert batch.hash()[2] == start[2] and batch.hash()[3] != start[3]
    batch.step(1)
    one = throw.copy()
    one.step(1)
    assert batch.hash()[2] == one.hash()
    held = batch.hash()
    for name, call in (
        ("which", lambda: batch.reset([4])),
        ("which", lambda: batch.reset([1, 1])),
        ("which", lambda: batch.reset([True, False])),
        ("which", lambda: batch.reset("all")),
        ("q", lambda: batch.reset([0], q=np.zeros((2, 2, 3)))),
        ("v", lambda: batch.reset([0], v=np.full((2, 3), np.nan))),
    ):
        with pytest.raises(carom.ModelError, match=name):
            call()
    assert batch.hash() == held
