"""Runs as pages: what a notebook shows and what a file holds."""

import carom
import pytest


def test_a_world_shows_what_would_follow_and_does_not_move():
    world = carom.World.scene("newton_cradle")
    before = world.hash()
    replay = world.show(seconds=0.5)
    assert world.hash() == before
    assert replay.html.startswith("<!doctype html>")
    assert 'id="carom-run"' in replay.html
    assert len(replay.html) < 2_000_000


def test_a_rollout_shows_itself():
    world = carom.World.scene("bouncing_spheres_3d")
    run = world.rollout(40, tape=False)
    assert 'id="carom-run"' in run.show().html
    assert "Replay(" in repr(run.show())


def test_a_notebook_gets_a_frame_and_a_file_the_page(tmp_path):
    replay = carom.World.scene("ball_drop").show(seconds=0.1)
    frame = replay._repr_html_()
    assert frame.startswith("<iframe srcdoc=") and "<script" not in frame
    path = replay.save(tmp_path / "run.html")
    assert path.read_text(encoding="utf-8") == replay.html


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), "long", 1e30])
def test_a_time_that_makes_no_sense_is_refused(seconds):
    with pytest.raises(carom.Error, match="seconds"):
        carom.World.scene("ball_drop").show(seconds=seconds)


def test_a_batch_has_no_page():
    world = carom.World.scene("ball_drop")
    with pytest.raises(carom.Error, match="show"):
        carom.Batch(world, 2).rollout(3, tape=False).show()
