"""Films and pictures from Python: what is in the files, and what is said where they cannot be made."""

from __future__ import annotations

import struct
import subprocess
import sys

import pytest

import carom


@pytest.fixture(scope="module")
def run():
    return carom.World.scene("newton_cradle").rollout(100, tape=False)


def png_size(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


def test_stills_and_strips(run, tmp_path):
    assert png_size(run.film(tmp_path / "still.png", size=(120, 90))) == (120, 90)
    wide, high = png_size(run.film(tmp_path / "strip.png", size=(120, 90), frames=3))
    assert wide > 3 * 120 and high == 90
    assert run.film(str(tmp_path / "drawn.svg"), theme="dark", trails=True).read_text().startswith("<svg")
    assert png_size(carom.World.scene("box_stack_3d").rollout(5, tape=False).film(tmp_path / "space.png", size=64))[0] == 64


def test_a_gif_lasts_as_long_as_the_run(run, tmp_path):
    data = run.film(tmp_path / "run.gif", size=100, fps=10, speed=0.5).read_bytes()
    assert data[:6] == b"GIF89a"
    # Graphic control extensions carry the delays [1/100 s]; the last frame stands for a while.
    delays = [struct.unpack("<H", data[i + 4:i + 6])[0] for i in range(len(data) - 8) if data[i:i + 3] == b"\x21\xf9\x04" and data[i + 7] == 0]
    assert sum(delays[:-1]) == pytest.approx(100 * run.time[-1] / 0.5, abs=2)


def decoded(path):
    """Size, frames and seconds of a film, by the decoder of imageio-ffmpeg."""
    reader = pytest.importorskip("imageio_ffmpeg").read_frames(str(path))
    meta = next(reader)
    return meta["size"], sum(1 for _ in reader), meta["fps"]


@pytest.mark.parametrize("ending", ["mp4", "webm"])
def test_an_encoded_film_is_read_back(run, tmp_path, ending):
    pytest.importorskip("imageio_ffmpeg")
    path = run.film(tmp_path / f"run.{ending}", size=(121, 90), fps=20)
    size, frames, rate = decoded(path)
    assert size == (122, 90), "an odd side gets a column more"
    assert frames == round(run.time[-1] * 20) + 1 and rate == pytest.approx(20, rel=1e-3)


def test_an_encoder_that_is_missing_is_named(tmp_path):
    code = ("import carom, sys; sys.modules['imageio_ffmpeg'] = None\n"
            f"carom.World.scene('ball_drop').rollout(2).film({str(tmp_path / 'x.mp4')!r})")
    done = subprocess.run([sys.executable, "-c", code], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert "carom.Error" in done.stderr and "ffmpeg" in done.stderr and ".gif" in done.stderr
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


@pytest.mark.parametrize(("options", "named"), [
    ({"path": "run.avi"}, "path"), ({"size": 3}, "size"), ({"size": (100, 100, 100)}, "size"), ({"frames": 0}, "frames"), ({"fps": 60.0}, "fps"),
    ({"fps": -1}, "fps"), ({"speed": 0}, "speed"), ({"theme": "blue"}, "theme"), ({"camera": "left"}, "camera"), ({"trails": 1}, "trails"),
    ({"path": "nowhere/run.gif"}, "nowhere"),
])
def test_what_makes_no_sense_is_named(run, tmp_path, monkeypatch, options, named):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(carom.Error, match=named):
        run.film(**{"path": "run.gif", **options})
    assert list(tmp_path.iterdir()) == []


def test_a_batch_is_filmed_one_by_one(tmp_path):
    batch = carom.Batch(carom.World.scene("ball_drop"), 2).rollout(3, tape=False)
    with pytest.raises(carom.Error, match="film"):
        batch.film(tmp_path / "run.gif")
    assert batch[1].film(tmp_path / "one.png", size=64).is_file()
