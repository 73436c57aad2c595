"""Named points: of scenes, of models, as targets; and meshes that touch as parts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import carom

URDF = """<robot name="arm">
  <link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="1"/><inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="1"/></joint>
  <link name="fore"><inertial><origin xyz="0.2 0 0"/><mass value="0.5"/><inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.6 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="1"/></joint>
  <link name="flange"/>
  <joint name="mount" type="fixed"><parent link="fore"/><child link="flange"/><origin xyz="0.4 0 0"/></joint>
  <link name="tool0"/>
  <joint name="tip" type="fixed"><parent link="flange"/><child link="tool0"/><origin xyz="0.05 0 0.1" rpy="0 1.5707963267948966 0"/></joint>
</robot>"""

MJCF = """<mujoco><worldbody>
  <site name="home" pos="1 2 3"/>
  <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.05"/>
    <body name="hand" pos="0.5 0 0"><geom type="sphere" size="0.05"/><site name="grip" pos="0.1 0 0.02" euler="0 0 90"/></body></body>
</worldbody></mujoco>"""

ELL = "\n".join(
    [f"v {x} {y} {z}" for z in (0, 1) for x, y in [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]]
    + [f"f {a} {c} {b}\nf {a + 6} {b + 6} {c + 6}" for a, b, c in [(1, 2, 3), (1, 3, 4), (1, 4, 5), (1, 5, 6)]]
    + [f"f {i} {j} {j + 6}\nf {i} {j + 6} {i + 6}" for i, j in [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 1)]]
)


def model(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_points_of_a_scene():
    scene = carom.Scene(2).body("arm", shape={"box": [1, 0.1]}, position=[0.5, 0]).point("tip", body="arm", at=[0.5, 0], angle=0.2)
    scene.joint("pivot", kind="hinge", between=["arm", "world"], anchor=[0, 0]).point("mark", body="world", at=[0, 1])
    world = scene.world()
    assert world.points == ["tip", "mark"]
    world.set_joints({"pivot": 0.7}, rates={"pivot": 2.0})
    tip = world.point("tip")
    np.testing.assert_allclose(tip.position, [np.cos(0.7), np.sin(0.7)])
    np.testing.assert_allclose(tip.velocity, tip.jacobian() @ world.joint_v)
    np.testing.assert_allclose(tip.matrix[:, 0], [np.cos(0.9), np.sin(0.9)])
    np.testing.assert_allclose(world.point("mark").position, [0, 1])
    assert carom.World.from_toml(scene.to_toml()).points == world.points
    assert repr(tip).startswith("Point('tip', body='arm'")
    for text, said in [
        ("[[point]]\nname = 'a'\nbody = 'arn'\n", "did you mean"), ("[[point]]\nname = 'a'\n", "body"), ("[[point]]\nname = 'a'\nbody = 'world'\nplace = 1\n", "place"),
        ("[[point]]\nname = 'a'\nbody = 'world'\n[[point]]\nname = 'a'\nbody = 'world'\n", "another"),
    ]:
        with pytest.raises(carom.SceneError, match=said):
            carom.World.from_toml("dimension = 2\n[[body]]\nname = 'arm'\nshape = { ball = 1 }\n" + text)
    with pytest.raises(carom.ModelError, match='did you mean "tip"|tip'):
        world.point("tpi")


def test_links_that_are_fixed_keep_their_names(tmp_path):
    path = model(tmp_path, URDF, "arm.urdf")
    world = carom.World.from_urdf(path, base="fixed")
    assert {"flange", "tool0"} <= set(world.points)
    np.testing.assert_allclose(world.point("tool0").position, [1.05, 0, 0.6], atol=1e-12)
    np.testing.assert_allclose(world.point("tool0").matrix @ [1, 0, 0], [0, 0, -1], atol=1e-12)
    world.set_joints({"shoulder": 0.3, "elbow": -0.8})
    there = world.point("tool0").position
    other = carom.World.from_urdf(path, base="fixed")
    reach = other.inverse_kinematics({"tool0": there})
    assert reach.converged
    other.q = reach.q
    np.testing.assert_allclose(other.point("tool0").position, there, atol=1e-8)
    with pytest.raises(carom.ModelError, match="a place"):
        other.inverse_kinematics({"tool0": {"position": there}})
    # Within another scene, placed and prefixed.
    placed = carom.Scene(3).add(path, "left", position=[0, 5, 0]).world()
    np.testing.assert_allclose(placed.point("left.tool0").position, [1.05, 5, 0.6], atol=1e-12)
    made = carom.Scene(3).world()
    made.add(path, name="right")
    assert "right.tool0" in made.points
    made.remove("right")
    assert made.points == []


def test_sites(tmp_path):
    world = carom.World.from_mjcf(model(tmp_path, MJCF, "arm.xml"))
    np.testing.assert_allclose(world.point("home").position, [1, 2, 3])
    np.testing.assert_allclose(world.point("grip").position, [0.6, 0, 1.02], atol=1e-12)
    np.testing.assert_allclose(world.point("grip").matrix[:, 0], [0, 1, 0], atol=1e-12)
    assert world.point("hand").body == "arm"
    copy = world.copy()
    assert copy.points == world.points and carom.Batch(world, 2)[1].points == world.points


def test_meshes_as_parts(tmp_path):
    """A ball falls into the notch of an L: onto its hull it would not."""
    (tmp_path / "ell.obj").write_text(ELL)
    text = """<robot name="ell"><link name="ell"><inertial><origin xyz="0.8 0.8 0.5"/><mass value="3"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><mesh filename="ell.obj"/></geometry></collision></link></robot>"""
    path = model(tmp_path, text, "ell.urdf")

    def gap(**options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            world = carom.World.from_urdf(path, base="free", **options)
        world.add(carom.Scene(3).body("ball", shape={"ball": 0.1}, position=[1.6, 1.6, 0.5]))
        return world.distance("ell", "ball"), world.notes

    hull, _ = gap()
    parts, notes = gap(meshes="parts", mesh_cache=tmp_path)
    assert hull < 0.1 and parts == pytest.approx(0.5, abs=1e-6)
    assert any("convex parts" in note and "its convex hull has +16.7 %" in note for note in notes), notes
    assert len(list(tmp_path.glob("*.parts"))) == 1 and gap(meshes="parts", mesh_cache=tmp_path)[0] == parts
    with pytest.raises(carom.SceneError, match="meshes"):
        gap(meshes="bricks")
