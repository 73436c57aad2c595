"""Exports read back by the packages of those who made the formats: every pose, every mesh."""

from __future__ import annotations

import numpy as np
import pytest

import carom

SCENES = ["bowling", "slider_crank", "double_pendulum"]
FPS = 20.0


def quaternions(q):
    """(x, y, z, w) of poses."""
    if q.shape[-1] == 7:
        return np.concatenate([q[..., 4:], q[..., 3:4]], axis=-1)
    return np.stack([0 * q[..., 2], 0 * q[..., 2], np.sin(q[..., 2] / 2), np.cos(q[..., 2] / 2)], axis=-1)


def positions(q):
    return q[..., :3] if q.shape[-1] == 7 else np.concatenate([q[..., :2], 0 * q[..., :1]], axis=-1)


def same_turn(a, b):
    """Whether quaternions are the same rotation, whichever sign they have."""
    return np.abs(np.abs((a * b).sum(axis=-1)) - 1.0).max() < 1e-6


@pytest.fixture(params=SCENES)
def run(request):
    """A run of half a second whose recorded states are ten times as dense as the frames of an export."""
    world = carom.World.scene(request.param)
    world.params["step"] = np.array(1.0 / 200.0)
    return world, world.rollout(100, tape=False)


def test_gltf(run, tmp_path):
    gltf = pytest.importorskip("pygltflib")
    world, rollout = run
    document = gltf.GLTF2().load(str(rollout.film(tmp_path / "run.glb", fps=FPS)))

    def numbers(index):
        accessor = document.accessors[index]
        view = document.bufferViews[accessor.bufferView]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor.type]
        kind = {gltf.FLOAT: np.float32, gltf.UNSIGNED_INT: np.uint32}[accessor.componentType]
        raw = document.binary_blob()[view.byteOffset:view.byteOffset + view.byteLength]
        return np.frombuffer(raw, dtype=kind).reshape(accessor.count, width)

    root = document.nodes[document.scenes[0].nodes[0]]
    assert [document.nodes[i].name for i in root.children] == list(world.bodies)
    # z upwards becomes y upwards; the plane has y upwards already.
    wanted = [-np.sqrt(0.5), 0, 0, np.sqrt(0.5)] if world.dimension == 3 else [0, 0, 0, 1]
    np.testing.assert_allclose(root.rotation, wanted, atol=1e-6)
    moved = {channel.target.node for channel in document.animations[0].channels}
    assert moved, "something moves"
    for channel in document.animations[0].channels:
        sampler = document.animations[0].samplers[channel.sampler]
        time, values = numbers(sampler.input)[:, 0], numbers(sampler.output)
        np.testing.assert_allclose(time, rollout.time[::10] - rollout.time[0], atol=1e-6)
        q = rollout.q[::10, root.children.index(channel.target.node)]
        if channel.target.path == "translation":
            np.testing.assert_allclose(values, positions(q), atol=1e-5)
        else:
            assert same_turn(values, quaternions(q)) and ((values[1:] * values[:-1]).sum(axis=-1) > 0).all()
    for mesh in document.meshes:
        part = mesh.primitives[0]
        points, corners = numbers(part.attributes.POSITION), numbers(part.indices)[:, 0]
        assert corners.max() < len(points) and len(numbers(part.attributes.NORMAL)) == len(points) == len(numbers(part.attributes.COLOR_0))
        accessor = document.accessors[part.attributes.POSITION]
        np.testing.assert_allclose([accessor.min, accessor.max], [points.min(axis=0), points.max(axis=0)], atol=1e-6)


def test_usd(run, tmp_path):
    usd = pytest.importorskip("pxr.Usd")
    geometry = pytest.importorskip("pxr.UsdGeom")
    world, rollout = run
    stage = usd.Stage.Open(str(rollout.film(tmp_path / "run.usda", fps=FPS)))
    assert geometry.GetStageUpAxis(stage) == ("Z" if world.dimension == 3 else "Y") and geometry.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == pytest.approx(FPS) and stage.GetEndTimeCode() == 10
    bodies = stage.GetDefaultPrim().GetChildren()
    assert [body.GetDisplayName() for body in bodies] == list(world.bodies)
    for i, body in enumerate(bodies):
        place = geometry.Xformable(body)
        for code in (0, 4, 10):
            matrix = np.array(place.ComputeLocalToWorldTransform(code))  # rows are images of the axes
            q = rollout.q[10 * code, i]
            np.testing.assert_allclose(matrix[3, :3], positions(q), atol=1e-9)
            x, y, z, w = quaternions(q)
            np.testing.assert_allclose(matrix[0, :3], [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)], atol=1e-9)
        mesh = geometry.Mesh(body.GetChild("shape"))
        points, corners = mesh.GetPointsAttr().Get(), mesh.GetFaceVertexIndicesAttr().Get()
        valid, why = geometry.Mesh.ValidateTopology(corners, mesh.GetFaceVertexCountsAttr().Get(), len(points))
        assert valid, why
        assert len(mesh.GetDisplayColorPrimvar().Get()) == len(points)


def test_meshes_have_the_size_of_their_bodies():
    rollout = carom.World.from_toml("""
dimension = 3
[[body]]
name = "block"
shape = { box = [0.4, 0.6, 0.8] }
[[body]]
name = "ball"
shape = { ball = 0.5 }
position = [3, 0, 0]
""").rollout(1, tape=False)
    for (points, normals, colors, triangles), half in zip(rollout._native.meshes("light"), ([0.2, 0.3, 0.4], [0.5, 0.5, 0.5])):
        points, triangles = np.array(points), np.array(triangles)
        np.testing.assert_allclose(np.abs(points).max(axis=0), half, rtol=1e-2)
        assert len(points) == len(normals) == len(colors)
        # Faces look outwards: the volume behind them is positive.
        a, b, c = points[triangles].transpose(1, 0, 2)
        volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
        wanted = 8 * np.prod(half) if half[0] != 0.5 else 4 / 3 * np.pi * 0.125
        assert volume == pytest.approx(wanted, rel=0.03)


def test_rerun(run, tmp_path):
    rr = pytest.importorskip("rerun")
    world, rollout = run
    path = tmp_path / "run.rrd"
    recording = rr.RecordingStream("carom")
    recording.save(str(path))
    carom.rerun.log(rollout, recording=recording)
    recording.flush()
    recording.disconnect()
    logged = {}
    for piece in pytest.importorskip("rerun.chunk").RrdReader(str(path)).stream():
        batch = piece.to_record_batch()
        for name in batch.schema.names:
            logged[piece.entity_path, name] = batch.column(name)
    for i, body in enumerate(world.bodies):
        place = f"/world/{rr.escape_entity_path_part(body)}"
        time = np.array(logged[place, "time"].cast("int64").to_pylist()) * 1e-9
        np.testing.assert_allclose(time, rollout.time, atol=1e-8)
        found = [np.array([row[0] for row in logged[place, f"Transform3D:{name}"].to_pylist()]) for name in ("translation", "quaternion")]
        np.testing.assert_allclose(found[0], positions(rollout.q[:, i]), atol=1e-5)
        assert same_turn(found[1], quaternions(rollout.q[:, i]))
        assert (place, "Mesh3D:vertex_positions") in logged
    energy = [row[0] for row in logged["/world/energy", "Scalars:scalars"].to_pylist()]
    np.testing.assert_allclose(energy, rollout.energy, rtol=1e-12)
    contacts = [row[0] for row in logged["/world/contacts", "Scalars:scalars"].to_pylist()]
    np.testing.assert_array_equal(contacts, rollout.contacts)


def test_rerun_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rerun", None)
    with pytest.raises(carom.Error, match="rerun-sdk"):
        carom.rerun.log(carom.World.scene("ball_drop").rollout(1))
    with pytest.raises(carom.Error, match="rollout"):
        carom.rerun.log("run")
