"""Scenes built by calls: the same keys, checks and messages as the file, with the place of the call."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import carom
from carom import scene as builder

ROOT = Path(__file__).resolve().parents[2]


def drop():
    scene = carom.Scene(2, gravity=[0, -1.62], step=0.01)
    scene.material("rubber", restitution=0.8)
    scene.body("ground", kind="static", shape={"half_space": [0, 1]})
    scene.body("ball", shape={"ball": 0.1}, position=np.array([0, 1.0]), material="rubber")
    return scene


def test_a_scene_is_what_its_text_says(tmp_path):
    scene = drop()
    scene.joint("rope", kind="rope", between=["ball", "world"], anchors=[[0, 1], [0, 3]], length=3)
    scene.force(body="ball", force=[1, 0], from_=0.5, control=True).pair(between=["ball", "ground"], friction=0.1)
    scene.repeat(count=3, offset=[0.5, 0], body={"name": "bead", "shape": {"ball": 0.1}, "position": [2, 2]})
    world = scene.world()
    assert world.bodies == ["ground", "ball", "bead_0", "bead_1", "bead_2"] and world.joints == ["rope"] and world.controls == ["force0"]
    assert world.step_size == 0.01 and np.allclose(world.params["gravity"], [0, -1.62])
    other = carom.World.from_toml(scene.to_toml())
    world.step(200, controls=[0.5])
    other.step(200, controls=[0.5])
    assert world.hash() == other.hash()
    scene.save(tmp_path / "drop.toml")
    assert carom.World.load(tmp_path / "drop.toml").bodies == world.bodies
    assert "body: 2" in repr(scene)


def test_faults_of_a_call_are_told_at_the_call():
    scene = drop()
    before = scene.to_toml()
    with pytest.raises(carom.SceneError) as caught:
        scene.body("box", mas=2)  # the place
    line = 1 + next(i for i, text in enumerate(Path(__file__).read_text().splitlines()) if "# the place" in text and "mas=2" in text)
    assert str(caught.value).startswith(f"{__file__}:{line}:1: body \"box\", key \"mas\": unknown key; did you mean \"mass\"?")
    for call, said in [
        (lambda: scene.body("box", mass=-1), "> 0"),
        (lambda: scene.body("box", position=[1, 2, 3]), "position"),
        (lambda: scene.joint("hip", kind="hing", between=["a", "b"]), 'did you mean "hinge"?'),
        (lambda: scene.body("box", mass=float("nan")), "mass"),
        (lambda: scene.body("box", shape={"ball": object()}), "object"),
        (lambda: scene.material("rubber", friction=1), "is there already"),
        (lambda: scene.top(gravty=[0, 0]), 'did you mean "gravity"?'),
        (lambda: carom.Scene(4), "dimension"),
        (lambda: scene.add("nowhere.toml"), "nowhere.toml"),
    ]:
        with pytest.raises(carom.SceneError) as caught:
            call()
        assert said in str(caught.value)
    assert scene.to_toml() == before, "a call that is refused leaves nothing behind"


def test_faults_between_calls_name_the_call():
    scene = drop()
    scene.joint("hip", kind="hinge", between=["ball", "gruond"], anchor=[0, 0])  # to nobody
    line = 1 + next(i for i, text in enumerate(Path(__file__).read_text().splitlines()) if text.endswith("# to nobody"))
    with pytest.raises(carom.SceneError) as caught:
        scene.world()
    assert str(caught.value).startswith(f"{__file__}:{line}:1: joint \"hip\"") and 'did you mean "ground"?' in str(caught.value)


def test_a_model_is_added_and_placed(tmp_path):
    scene = carom.Scene(3)
    path = ROOT / "tests" / "models" / "arm.urdf"
    scene.add(path, name="left", position=[0, 1, 0]).add(path, name="right", position=[0, -1, 0], rotation=[0, 0, 0, 1])
    world, alone = scene.world(), carom.World.from_urdf(path)
    n = len(alone.bodies)
    assert world.bodies == [f"{side}.{body}" for side in ("left", "right") for body in alone.bodies]
    assert np.allclose(world.q[:n, :3], alone.q[:, :3] + [0, 1, 0])
    assert np.allclose(world.q[n:, :3], alone.q[:, :3] * [-1, -1, 1] + [0, -1, 0])
    # Both move as the one that stands alone does.
    world.step(20)
    alone.step(20)
    assert np.allclose(world.joint_q[: len(alone.joint_q)], alone.joint_q, atol=1e-9)
    drop().save(tmp_path / "drop.toml")
    both = carom.Scene(2).add(tmp_path / "drop.toml").add(tmp_path / "drop.toml", name="moved", position=[5, 1], rotation=0.5)
    assert both.world().bodies == ["ground", "ball", "moved.ground", "moved.ball"]
    with pytest.raises(carom.SceneError, match="dimension"):
        carom.Scene(3).add(tmp_path / "drop.toml")
    with pytest.raises(carom.SceneError, match="position"):
        carom.Scene(2).add(tmp_path / "drop.toml", position=[1, 2, 3])


def test_copies_go_their_own_ways():
    scene = drop()
    other = scene.copy()
    other.body("more", mass=1, inertia=1)
    assert len(scene.world().bodies) == 2 and len(other.world().bodies) == 3


def test_every_key_has_a_type():
    home = ROOT / "crates" / "scene" / "src" / "keys"
    text = "".join(path.read_text() for path in [home / "tables.rs", *sorted((home / "tables").glob("*.rs"))])
    tables = {name: re.findall(r'key\(\s*"(\w+)"', inside) for name, inside in re.findall(r"pub const (\w+): Table = Table \{(.*?)\n\};", text, re.S)}
    calls = {"body", "joint", "pair", "force", "point", "repeat", "materials", "dimension"}
    for table, kind in [("SCENE", builder.TopKeys), ("MATERIAL", builder.MaterialKeys), ("BODY", builder.BodyKeys), ("JOINT", builder.JointKeys),
                        ("PAIR", builder.PairKeys), ("FORCE", builder.ForceKeys), ("POINT", builder.PointKeys), ("REPEAT", builder.RepeatKeys)]:
        known = {key.rstrip("_") for key in kind.__annotations__}
        wanted = set(tables[table]) - (calls if table == "SCENE" else {"name"} if table in ("BODY", "JOINT", "POINT") else set())
        assert known == wanted, table


def test_coefficients_combine_by_the_rule_of_the_scene_the_material_or_the_body():
    def way(top, material, body):
        scene = carom.Scene(2, step=0.005, **top)
        scene.material("wood", friction=0.2, **material)
        scene.body("ground", kind="static", shape={"half_space": [0, 1]}, material="wood")
        scene.body("block", shape={"box": [0.4, 0.1]}, position=[0, 0.05], velocity=[2, 0], friction=0.45, **body)
        world = scene.world()
        world.step(40)
        return world, 2 - world.v[1, 0]

    rules = {"max": 0.45, "product": 0.09, "geometric": 0.3, "min": 0.2, "mean": 0.325}
    for rule, friction in rules.items():
        for keys in [({"combine": {"friction": rule}}, {}, {}), ({}, {"combine": {"friction": rule}}, {}), ({}, {}, {"combine": {"friction": rule}})]:
            assert way(*keys)[1] == pytest.approx(friction * 9.81 * 0.2, abs=1e-9), (rule, keys)
    world, slowed = way({"combine": {"friction": "min"}}, {"combine": {"friction": "product"}}, {})
    assert slowed == pytest.approx(0.09 * 9.81 * 0.2, abs=1e-9)  # the first in the list holds
    status = way({"combine": {"friction": "max"}}, {}, {})[0].rollout(5).backward(dq=np.ones((2, 3))).status
    assert list(status) == ["exact"] * 5
    with pytest.raises(carom.SceneError, match='did you mean "geometric"'):
        carom.Scene(2, combine={"friction": "geometrc"})
