"""Models nobody here wrote, against the engines they were written for.

The MJCF models of gymnasium and the URDF models of pybullet_data, where those packages and MuJoCo are installed: mass, centre of mass and
joints, and a passive swing of one second with roots held. `tests/imports/reference.py` says how MuJoCo is set up.
"""

import importlib.util
import pathlib
import re
import typing
import warnings
import xml.etree.ElementTree

import numpy as np
import pytest

import carom

ROOT = pathlib.Path(__file__).parents[2]
MODELS = ROOT / "tests" / "models"
STEPS = (2e-4, 1e-4)
TOLERANCE = 1e-4


def reference():
    """The script that makes the golden numbers, as a module."""
    pytest.importorskip("mujoco")
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tests" / "imports" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folder(package, *parts):
    """A folder of an installed package, or None; the package is not imported."""
    found = importlib.util.find_spec(package)
    return None if found is None or not found.origin else pathlib.Path(found.origin).parent.joinpath(*parts)


def listed(place, pattern):
    return sorted(place.glob(pattern)) if place and place.is_dir() else []


GYMNASIUM = listed(folder("gymnasium", "envs", "mujoco", "assets"), "*.xml")
BULLET = [path for path in listed(folder("pybullet_data"), "**/*.urdf") if "random_urdfs" not in path.parts]
RANDOM = listed(folder("pybullet_data", "random_urdfs"), "0[0-9]0/*.urdf")
# What these files lack, precisely: not XML, not numbers, or inertias that no body has.
REFUSED = {
    "biped2d_pybullet.urdf": "not a number", "bike.urdf": "not a number", "husky.urdf": "not a number", "microtaur.urdf": "more than 3 numbers",
    "racecar_differential.urdf": "more than 3 numbers", "torus_deform.urdf": "no links", "cube_no_rotation.urdf": "not positive",
}


def load(path, **options):
    make = carom.World.from_urdf if path.suffix == ".urdf" else carom.World.from_mjcf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(path, **options)


def weight(world):
    """Mass, centre of mass and joints of what moves."""
    mass = world.params["mass"]
    moves = np.isfinite(mass)
    joints = sum(len(name.split("+")) for name in world.joints)
    return mass[moves].sum(), mass[moves] @ world.q[moves, :3] / mass[moves].sum(), joints


def turned(quaternion, vector):
    w, u = quaternion[0], np.asarray(quaternion[1:])
    return vector + 2 * np.cross(u, np.cross(u, vector) + w * vector)


def swing(path, facts):
    """Worst distance of the bodies' centres from where MuJoCo has them, and the way they moved."""
    pose, start, end = facts
    ends = []
    for step in STEPS:
        world = load(path, base="fixed", contacts=False, controls=False, limits=False, pose=pose)
        world.params["step"] = step
        world.params["gravity"] = [1.0, 2.0, -9.0]
        if "joint_friction" in world.params:
            world.params["joint_friction"] = 0 * world.params["joint_friction"]
        first = world.q
        world.step(round(1 / step))
        ends.append(world.q[:, :3])
    last = 2 * ends[1] - ends[0]
    worst = moved = 0.0
    for i, name in enumerate(world.bodies):
        if name not in start:
            continue
        x, q = np.array(start[name][:3]), np.array(start[name][3:])
        local = turned(q * [1, -1, -1, -1], first[i, :3] - x)
        wanted = np.array(end[name][:3]) + turned(np.array(end[name][3:]), local)
        worst, moved = max(worst, np.linalg.norm(last[i] - wanted)), max(moved, np.linalg.norm(last[i] - first[i, :3]))
    return worst, moved


def without_shapes(path):
    """A URDF text for MuJoCo: no shapes, and inertias as they are."""
    text = re.sub(r"<(visual|collision)\b(?:[^>]*/>|.*?</\1>)", "", path.read_text(errors="replace"), flags=re.S)
    text = text.replace("\0", "").strip()
    flags = '<mujoco><compiler discardvisual="true" inertiafromgeom="false" fusestatic="false" balanceinertia="false"/></mujoco>'
    return re.sub(r"(<robot\b[^>]*>)", r"\1" + flags, text, count=1)


def matrix(element):
    """The frame of an origin: 4 x 4, roll about x first."""
    out = np.eye(4)
    if element is None:
        return out
    out[:3, 3] = [float(x) for x in element.get("xyz", "0 0 0").split()]
    for axis, angle in enumerate(float(x) for x in element.get("rpy", "0 0 0").split()):
        turn, (i, j) = np.eye(4), [(1, 2), (2, 0), (0, 1)][axis]
        turn[[i, i, j, j], [i, j, i, j]] = [np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)]
        out[:3, :3] = turn[:3, :3] @ out[:3, :3]
    return out


def urdf_weight(path):
    """Mass, centre of mass and joints of what moves on a fixed root, from the text alone."""
    robot = xml.etree.ElementTree.fromstring(without_shapes(path))
    links = {link.get("name"): link for link in robot.iter("link")}
    above = {joint.find("child").get("link"): joint for joint in robot.findall("joint")}
    at = {}

    def place(name):
        """Frame of a link at 0, and whether it moves."""
        if name not in at:
            joint = above.get(name)
            frame, moves = (np.eye(4), False) if joint is None else place(joint.find("parent").get("link"))
            at[name] = (frame, moves) if joint is None else (frame @ matrix(joint.find("origin")), moves or joint.get("type") != "fixed")
        return at[name]

    total, first = 0.0, np.zeros(3)
    for name, link in links.items():
        frame, moves = place(name)
        inertial = link.find("inertial")
        if moves and inertial is not None and inertial.find("mass") is not None:
            mass = float(inertial.find("mass").get("value"))
            total, first = total + mass, first + mass * (frame @ matrix(inertial.find("origin")))[:3, 3]
    joints = sum(joint.get("type") != "fixed" for joint in above.values())
    return total, first / total if total > 0 else first, joints


class Facts(typing.NamedTuple):
    """What a model weighs, its joints, the base that goes with it, and MuJoCo's model of the swing, None where it refuses."""

    mass: float
    centre: np.ndarray
    joints: int
    base: str
    model: object


def facts(path):
    """What MuJoCo says of a model; of a URDF that it refuses, what the text says."""
    module = reference()
    import mujoco

    if path.suffix == ".xml":
        mass, centre, joints = module.weight(mujoco.MjModel.from_xml_path(str(path)))
        spec = mujoco.MjSpec.from_file(str(path))
        module.hold(spec)
        return Facts(mass, centre, joints, "auto", spec.compile())
    try:
        spec = mujoco.MjSpec.from_string(without_shapes(path))
        spec.compiler.fusestatic = False
        model = spec.compile()
    except ValueError:
        return Facts(*urdf_weight(path), "fixed", None)
    # MuJoCo fixes every root; ours says so when asked.
    mass, centre, joints = module.weight(model) if model.njnt else (0.0, np.zeros(3), 0)
    return Facts(mass, centre, joints, "fixed", model)


# Bodies on free joints, or held by locked axes, have no joint here.
LOOSE = {"ant.xml": 1, "humanoid.xml": 1, "humanoidstandup.xml": 1}

@pytest.mark.parametrize("path", GYMNASIUM + BULLET + RANDOM, ids=lambda p: "/".join(p.parts[-2:]))
def test_models_weigh_and_swing_as_in_mujoco(path):
    if path.name in REFUSED:
        with pytest.raises(carom.SceneError, match=REFUSED[path.name]):
            load(path)
        return
    world = load(path)
    # What was left out has a place in the file; what starts wrong has a name.
    assert all(re.search(r":\d+:\d+: | is beyond its limits |\" overlap by |^put right before", note) for note in world.notes)
    wanted = facts(path)
    if not wanted.joints:
        return
    found = weight(load(path, base=wanted.base))
    assert found[0] == pytest.approx(wanted.mass, rel=1e-9)
    assert found[1] == pytest.approx(wanted.centre, abs=1e-9)
    assert found[2] == wanted.joints - LOOSE.get(path.name, 0)
    # MuJoCo leaves out that a joint of a URDF model follows another.
    if wanted.model is not None and "<mimic" not in path.read_text(errors="ignore"):
        worst, _ = swing(path, reference().swing(wanted.model))
        assert worst < TOLERANCE


@pytest.mark.parametrize("name, joints", [("ant.xml", ["ankle_1", "ankle_2", "ankle_3", "ankle_4"]), ("humanoid.xml", ["right_knee", "left_knee"])])
def test_models_that_start_beyond_their_limits_are_put_right(name, joints):
    path = next((path for path in GYMNASIUM if path.name == name), None)
    if path is None:
        pytest.skip("gymnasium is not installed")
    world = load(path)
    started = [note for note in world.notes if not re.search(r":\d+:\d+: ", note)]
    assert all(any(f'"{joint}"' in note and "beyond its limits" in note for note in started) for joint in joints), started
    assert started[-1].startswith("put right before the first step")
    root = world.q[:, 2].max()
    run = world.rollout(20)
    assert all(joint in run.status[0] for joint in joints) and "put right" not in run.status[1]
    world.step()
    # In the air a projection leaves the centre of mass where it is: it gains no energy.
    assert world.ledger().projection == pytest.approx(0, abs=1e-9)
    assert run.q[:, :, 2].max() < root + 0.5, "nothing is thrown"
    aside = world.q.copy()
    aside[:, 0] += 0.1
    world.q = aside  # where it was right it is right elsewhere
    assert [note for note in world.notes if not re.search(r":\d+:\d+: ", note)] == []


def test_options_notes_and_strict():
    with pytest.warns(UserWarning, match="ellipsoid"):
        world = carom.World.from_mjcf(MODELS / "chains.xml")
    # What the importer left out first, then what starts wrong: two of its chains do.
    assert "chains.xml:29" in world.notes[0] and not any("chains.xml" in note for note in world.notes[1:])
    with pytest.raises(carom.SceneError, match="ellipsoid"):
        carom.World.from_mjcf(MODELS / "chains.xml", strict=True)
    arm = carom.World.from_urdf(MODELS / "arm.urdf", strict=True)
    assert arm.notes == () and arm.controls == ["yaw", "lift", "reach"]
    assert carom.World.from_urdf(MODELS / "arm.urdf", controls=False).controls == []
    bent = carom.World.from_urdf(MODELS / "arm.urdf", pose={"lift": 0.5})
    assert np.abs(bent.q - arm.q).max() > 0.05
    with pytest.raises(carom.SceneError, match="no joint of this name"):
        carom.World.from_urdf(MODELS / "arm.urdf", pose={"knee": 0.5})
    with pytest.raises(carom.SceneError, match="not the root of this format"):
        carom.World.from_mjcf(MODELS / "arm.urdf")
