"""Contacts as sensors feel them, bodies that come and go, worlds of several files, models that stand."""

import pickle

import numpy as np
import pytest

import carom

PILE = """
dimension = 3
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 0, 1] }
[[body]]
name = "lower"
shape = { box = [1, 1, 0.5] }
mass = 7
position = [0, 0, 0.25]
[[body]]
name = "upper"
shape = { box = [0.4, 0.4, 0.4] }
mass = 2
position = [0.1, 0, 0.7]
"""

ARM = """<robot name="arm">
  <link name="base"><inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <link name="rod"><inertial><origin xyz="0 0 0.25"/><mass value="1"/><inertia ixx="0.02" iyy="0.02" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.25"/><geometry><box size="0.05 0.05 0.5"/></geometry></collision></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="rod"/><origin xyz="0.3 0 0.1" rpy="0 1.2 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="30" velocity="1"/></joint>
</robot>"""

SDF = """<sdf version="1.9"><model name="ball"><link name="body"><pose>0 0 2 0 0 0</pose><inertial><mass>3</mass></inertial>
<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link></model></sdf>"""


def test_forces_at_rest_are_weights():
    world = carom.World.from_toml(PILE)
    world.step(400)
    np.testing.assert_allclose(world.contact_force("upper"), [0, 0, 2 * 9.81, 0, 0, 0], atol=1e-8 * 20)
    np.testing.assert_allclose(world.contact_force("lower", "ground")[2], 9 * 9.81, rtol=1e-8)
    np.testing.assert_allclose(world.contact_force("lower", "upper")[2], -2 * 9.81, rtol=1e-8)
    assert world.events() == []
    assert abs(world.distance("upper", "lower")) < 1e-6 and world.distance("upper", "ground") == pytest.approx(0.5, abs=1e-6)
    hit = world.ray([0.1, 0, 5], [0, 0, -2])
    assert hit.body == "upper" and hit.distance == pytest.approx(4.1, abs=1e-6)
    assert world.ray([0.1, 0, 5], [0, 0, -1], ignore="upper").body == "lower"
    assert world.ray([0.1, 0, 5], [0, 0, 1]) is None


def test_wrong_names_are_named():
    world = carom.World.from_toml(PILE)
    for call in (lambda: world.contact_force("uper"), lambda: world.distance("lower", "uper"), lambda: world.ray([0, 0, 1], [0, 0, 1], ignore=["uper"]),
                 lambda: world.remove("uper")):
        with pytest.raises(carom.ModelError, match='did you mean "upper"'):
            call()
    with pytest.raises(carom.ModelError, match="direction"):
        world.ray([0, 0, 0], [0, 0, 0])
    with pytest.raises(carom.SceneError, match="another body has this name"):
        world.add('dimension = 3\n[[body]]\nname = "lower"\nshape = { ball = 1 }\n')
    assert world.bodies == ["ground", "lower", "upper"]


def test_bodies_come_and_go_and_pickles_follow():
    world, other = carom.World.from_toml(PILE), carom.World.from_toml(PILE)
    upper = world.body("upper")
    world.step(20)
    other.step(20)
    world.add(carom.Scene(3).body("ball", shape={"ball": 0.1}, position=[9, 0, 3]))
    world.step(100)
    other.step(100)
    assert (world.q[:3] == other.q).all() and world.time == other.time
    kinds = set()
    for _ in range(100):
        world.step()
        kinds |= {event.kind for event in world.events()}
    assert "struck" in kinds or "began" in kinds
    assert abs(world.ledger().drift) < 1e-6 * abs(world.ledger().potential)
    copy = pickle.loads(pickle.dumps(world))
    world.remove("lower")
    before = upper.position
    assert world.bodies == ["ground", "upper", "ball"] and before[2] == pytest.approx(0.7, abs=1e-6)
    again = pickle.loads(pickle.dumps(world))
    for one in (world, again):
        one.step(50)
    assert world.hash() == again.hash() and copy.bodies == ["ground", "lower", "upper", "ball"]
    gradient = world.rollout(5).backward(dq=np.ones((3, 6)))
    assert gradient.q0.shape == (3, 6) and np.isfinite(gradient["mass"]).all()
    world.remove("upper")
    with pytest.raises(carom.ModelError, match="upper"):
        _ = upper.position


def test_models_stand_and_worlds_have_several_files(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "ball.sdf").write_text(SDF)
    (tmp_path / "cell.toml").write_text(
        'dimension = 3\ninclude = [{ file = "arm.urdf", name = "a", base = "fixed" }, { file = "ball.sdf", position = [2, 0, 0] }]\n')
    world = carom.World.load(tmp_path / "cell.toml")
    assert world.bodies == ["a.base", "a.rod", "ball.body"] and world.joints == ["a.elbow"]
    np.testing.assert_allclose(world.q[2, :3], [2, 0, 2])
    with pytest.raises(carom.SceneError, match="given as text"):
        carom.World.from_toml((tmp_path / "cell.toml").read_text())
    held = carom.World.from_urdf(tmp_path / "arm.urdf", ground=True, drop=0.1, hold=True)
    assert held.q[0, 2] == pytest.approx(0.2) and held.controls == []
    held.step(600)
    assert held.contact_force("ground")[2] == pytest.approx(-3 * 9.81, rel=1e-6)
    sdf = carom.World.from_sdf(tmp_path / "ball.sdf", ground=True)
    assert sdf.q[0, 2] == pytest.approx(0.1)
    with pytest.raises(carom.SceneError, match="did you mean ground"):
        carom.World.from_sdf(tmp_path / "ball.sdf", grund=True)
    world.add(tmp_path / "arm.urdf", name="b", position=[0, 3, 0])
    assert "b.rod" in world.bodies and world.controls == ["a.elbow", "b.elbow"]
