"""Bodies and joints by name, joint coordinates and the algorithms on them, against MuJoCo and against each other."""

from __future__ import annotations

import pathlib
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest

import carom

MODELS = pathlib.Path(__file__).parents[2] / "tests" / "models"

FOUR_BAR = """
dimension = 2
body = [
  { name = "crank", mass = 0.5, inertia = 0.0104, position = [0, 0.25], angle = 1.5707963267948966 },
  { name = "coupler", mass = 2, inertia = 0.667, position = [0.9, 0.9358898943540674], angle = 0.4510268117962624 },
  { name = "rocker", mass = 1.4, inertia = 0.224, position = [1.9, 0.6858898943540674], angle = 1.715572264616852 },
]
joint = [
  { name = "motor", kind = "hinge", between = ["crank", "world"], anchor = [0, 0], motor = { control = true }, limits = [-2, 2] },
  { name = "knee", kind = "hinge", between = ["coupler", "crank"], anchor = [0, 0.5] },
  { name = "top", kind = "hinge", between = ["rocker", "coupler"], anchor = [1.8, 1.3717797887081348] },
  { name = "foot", kind = "hinge", between = ["rocker", "world"], anchor = [2, 0] },
]
"""

ROBOT = """<mujoco>
  <option gravity="0.3 -0.2 -9.81"/>
  <worldbody>
    <body name="torso" pos="0 0 1">
      <freejoint/>
      <inertial pos="0.02 0.01 -0.03" mass="3" fullinertia="0.05 0.07 0.06 0.004 -0.003 0.002"/>
      <body name="upper" pos="0.2 0 0">
        <joint name="hip" axis="0.3 1 0.2"/>
        <inertial pos="0.05 0 -0.15" mass="1.2" diaginertia="0.02 0.018 0.004"/>
        <body name="lower" pos="0.05 0 -0.3">
          <joint name="knee" axis="0 1 0.1" pos="0.01 0 0"/>
          <inertial pos="0 0.02 -0.2" mass="0.7" diaginertia="0.011 0.012 0.002"/>
        </body>
      </body>
      <body name="arm" pos="-0.2 0.1 0.1">
        <joint name="shoulder" type="ball"/>
        <inertial pos="0 0.1 0" mass="0.9" diaginertia="0.013 0.003 0.012"/>
        <body name="hand" pos="0 0.3 0">
          <joint name="thrust" type="slide" axis="0.2 1 -0.3"/>
          <inertial pos="0.03 0.05 0" mass="0.4" diaginertia="0.002 0.0015 0.001"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>"""


@pytest.fixture
def four_bar():
    return carom.World.from_toml(FOUR_BAR)


def load(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return carom.World.from_mjcf(path) if path.suffix == ".xml" else carom.World.from_urdf(path)


def test_names_of_roots_and_joints(tmp_path, four_bar):
    (tmp_path / "robot.xml").write_text(ROBOT)
    world = load(tmp_path / "robot.xml")
    assert world.joint_names == [f"torso.{i}" for i in range(6)] + ["hip", "knee"] + [f"shoulder.{i}" for i in range(3)] + ["thrust"]
    assert four_bar.joint_names == ["motor", "knee", "top"]
    assert four_bar.loop_jacobian().shape == (2, 3)
    thrown = carom.World.scene("ball_drop")
    assert thrown.joint_names == ["ball.0", "ball.1", "ball.2"]


def test_what_is_set_is_read(tmp_path):
    (tmp_path / "robot.xml").write_text(ROBOT)
    world = load(tmp_path / "robot.xml")
    rng = np.random.default_rng(1)
    q, v = rng.uniform(-1, 1, (2, 12))
    world.set_joints(dict(zip(world.joint_names, q)), rates=dict(zip(world.joint_names, v)))
    assert np.abs(world.joint_q - q).max() < 1e-12 and np.abs(world.joint_v - v).max() < 1e-12
    world.set_joints({"torso": np.arange(6) / 10, "shoulder": [0.1, 0.2, 0.3], "knee": 0.4}, {"knee": -1})
    assert np.abs(world.joint_q[:6] - np.arange(6) / 10).max() < 1e-12
    assert np.abs(world.joint("shoulder").position - [0.1, 0.2, 0.3]).max() < 1e-12
    assert abs(world.joint("knee").position - 0.4) < 1e-12 and abs(world.joint("knee").rate + 1) < 1e-12
    assert np.abs(world.tangent_map() @ world.joint_v - world.v.ravel()).max() < 1e-12


class Peer:
    """The same robot in MuJoCo, at the same state; rates of free and of ball joints are other numbers there, mapped by S."""

    def __init__(self, mujoco, path, world, q, v, armature=False):
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.model.dof_armature[:] *= armature
        self.model.dof_damping[:] = 0
        self.model.dof_frictionloss[:] = 0
        self.model.jnt_stiffness[:] = 0
        self.data = mujoco.MjData(self.model)
        names = world.joint_names
        n = len(names)
        self.S, self.curved = np.zeros((self.model.nv, n)), np.zeros(self.model.nv)
        turns = {}
        for j in range(self.model.njnt):
            name, kind = self.model.joint(j).name, self.model.jnt_type[j]
            at, dof, body = self.model.jnt_qposadr[j], self.model.jnt_dofadr[j], self.model.jnt_bodyid[j]
            if kind == mujoco.mjtJoint.mjJNT_FREE:
                place = names.index(f"{self.model.body(body).name}.0")
                pose = world.q[world.bodies.index(self.model.body(body).name)]
                turns[dof] = (place, body)
                self.free = (place, dof, body, pose)
            elif kind == mujoco.mjtJoint.mjJNT_BALL:
                place = names.index(f"{name}.0")
                quaternion = np.zeros(4)
                angle = np.linalg.norm(q[place : place + 3])
                mujoco.mju_axisAngle2Quat(quaternion, q[place : place + 3] / angle, angle)
                self.data.qpos[at : at + 4] = quaternion
                matrix = np.zeros(9)
                mujoco.mju_quat2Mat(matrix, quaternion)
                self.S[dof : dof + 3, place : place + 3] = matrix.reshape(3, 3).T
            else:
                place = names.index(name)
                self.data.qpos[at] += q[place]
                self.S[dof, place] = 1
        if hasattr(self, "free"):
            place, dof, body, pose = self.free
            at = self.model.jnt_qposadr[self.model.body_jntadr[body]]
            # Frames of bodies: here they are turned to the principal axes of inertia, there they are those of the file.
            turn, back = np.zeros(4), np.zeros(4)
            here = world.body(self.model.body(body).name)
            start = carom_start_rotation(world, here.name)
            mujoco.mju_negQuat(back, start)
            mujoco.mju_mulQuat(turn, pose[3:], back)
            mujoco.mju_mulQuat(turn, turn.copy(), self.data.qpos[at + 3 : at + 7].copy())
            matrix = np.zeros(9)
            mujoco.mju_quat2Mat(matrix, turn)
            matrix = matrix.reshape(3, 3)
            arm = matrix @ self.model.body_ipos[body]
            self.data.qpos[at : at + 3], self.data.qpos[at + 3 : at + 7] = pose[:3] - arm, turn
            cross = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
            self.S[dof : dof + 3, place : place + 3] = np.eye(3)
            self.S[dof : dof + 3, place + 3 : place + 6] = cross
            self.S[dof + 3 : dof + 6, place + 3 : place + 6] = matrix.T
            spin = v[place + 3 : place + 6]
            self.curved[dof : dof + 3] = -np.cross(spin, np.cross(spin, arm))
        self.data.qvel[:] = self.S @ v
        mujoco.mj_forward(self.model, self.data)
        self.mujoco = mujoco

    def matrices(self):
        mass = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(mass, np.eye(self.model.nv)):
            self.mujoco.mj_mulM(self.model, self.data, column, unit)
        return self.S.T @ mass @ self.S, self.S.T @ (self.data.qfrc_bias + mass @ self.curved)

    def jacobian(self, body, point):
        out = np.zeros((3, self.model.nv))
        self.mujoco.mj_jac(self.model, self.data, out, None, point, self.model.body(body).id)
        return out @ self.S


def carom_start_rotation(world, name):
    start = world.copy()
    start.reset()
    return np.array(start.body(name).rotation)


FILES = ["robot.xml", "arm.urdf", "inverted_pendulum.xml", "inverted_double_pendulum.xml"]


def model_path(name, tmp_path):
    """One of our own, or one of gymnasium's where it is installed."""
    if name == "robot.xml":
        (tmp_path / name).write_text(ROBOT)
        return tmp_path / name
    if (MODELS / name).is_file():
        return MODELS / name
    gymnasium = pytest.importorskip("gymnasium")
    return pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / name


@pytest.mark.parametrize("name", FILES)
def test_matrices_are_those_of_mujoco(name, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = model_path(name, tmp_path)
    world = load(path)
    rng = np.random.default_rng(3)
    n = len(world.joint_names)
    q, v = rng.uniform(-0.6, 0.6, n), rng.uniform(-2, 2, n)
    world.set_joints(dict(zip(world.joint_names, q)), dict(zip(world.joint_names, v)))
    peer = Peer(mujoco, path, world, q, v)
    mass, bias = peer.matrices()
    scale = np.abs(mass).max()
    assert np.abs(world.mass_matrix() - mass).max() < 1e-9 * scale
    world.params["gravity"] = peer.model.opt.gravity
    assert np.abs(world.bias() - bias).max() < 1e-9 * max(1.0, np.abs(bias).max())
    body = world.bodies[-1]
    point = world.body(body).point([0.1, -0.2, 0.3])
    assert np.abs(world.point_jacobian(body, [0.1, -0.2, 0.3]) - peer.jacobian(body, point)).max() < 1e-9


@pytest.mark.parametrize("name", ["robot.xml", "ant.xml"])
def test_rotors_are_in_the_matrices_as_in_those_of_mujoco(name, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = model_path(name, tmp_path)
    if name == "robot.xml":
        text = path.read_text()
        for joint, inertia in [("hip", 0.3), ("knee", 0.02), ("thrust", 0.7)]:
            text = text.replace(f'<joint name="{joint}"', f'<joint name="{joint}" armature="{inertia}"')
        path.write_text(text)
    world = load(path)
    rng = np.random.default_rng(6)
    n = len(world.joint_names)
    q, v, force = rng.uniform(-0.6, 0.6, n), rng.uniform(-2, 2, n), rng.uniform(-1, 1, n)
    world.set_joints(dict(zip(world.joint_names, q)), dict(zip(world.joint_names, v)))
    peer = Peer(mujoco, path, world, q, v, armature=True)
    world.params["gravity"] = peer.model.opt.gravity
    mass, bias = peer.matrices()
    assert peer.model.dof_armature.max() > 0.5
    assert np.abs(world.mass_matrix() - mass).max() < 1e-9 * np.abs(mass).max()
    assert np.abs(world.mass_matrix() - Peer(mujoco, path, world, q, v).matrices()[0]).max() > 0.5
    if name == "robot.xml":  # the ant has damping, springs and limits, which are forces here and not part of its bias there
        assert np.abs(world.bias() - bias).max() < 1e-9 * max(1.0, np.abs(bias).max())
        wanted = np.linalg.solve(mass, force - bias)
        assert np.abs(world.forward_dynamics(force=force) - wanted).max() < 1e-9 * np.abs(wanted).max()


def cross(r):
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


URDFS = ["arm.urdf", "kuka_iiwa/model.urdf", "franka_panda/panda.urdf", "a1/a1.urdf", "quadruped/minitaur_single_motor.urdf",
         "cartpole.urdf", "xarm/xarm6_robot.urdf"]


@pytest.mark.parametrize("name", URDFS)
def test_matrices_are_those_of_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    path = MODELS / name
    if not path.is_file():
        data = pytest.importorskip("pybullet_data")
        path = pathlib.Path(data.__file__).parent / name
    world = load(path)
    free = world.joint_names[0].endswith(".0")
    peer = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if free else pin.buildModelFromUrdf(str(path))
    peer.gravity.linear = world.params["gravity"]
    rng = np.random.default_rng(4)
    n = len(world.joint_names)
    assert peer.nv == n
    c, v = rng.uniform(-0.6, 0.6, n), rng.uniform(-2, 2, n)
    # A mimic joint is a coupling: one more coordinate here as there, but one that follows.
    for joint in ElementTree.parse(path).iter("joint"):
        if (mimic := joint.find("mimic")) is not None:
            after, before = world.joint_names.index(joint.get("name")), world.joint_names.index(mimic.get("joint"))
            factor = float(mimic.get("multiplier", 1))
            c[after], v[after] = factor * c[before] + float(mimic.get("offset", 0)), factor * v[before]
    start = None if not free else world.body(world.joint_names[0][:-2]).matrix
    world.set_joints(dict(zip(world.joint_names, c)), dict(zip(world.joint_names, v)))
    # Rates there are S times rates here, and change by `curved` while those here stay.
    S, curved, change = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for i, joint in enumerate(world.joint_names[6 if free else 0 :], 6 if free else 0):
        at = peer.joints[peer.getJointId(joint)].idx_v
        S[at, i], change[at] = 1, c[i]
    q = pin.integrate(peer, pin.neutral(peer), change)
    if free:
        root = world.body(world.joint_names[0][:-2])
        turn = root.matrix @ start.T
        arm = turn @ peer.inertias[1].lever
        q[:3], q[3:7] = root.position - arm, pin.Quaternion(turn).coeffs()
        S[:3, :3], S[:3, 3:6], S[3:6, 3:6] = turn.T, turn.T @ cross(arm), turn.T
        curved[:3] = -turn.T @ np.cross(v[3:6], v[:3])
    data = peer.createData()
    mass = pin.crba(peer, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    bias = pin.nonLinearEffects(peer, data, q, S @ v)
    wanted = S.T @ mass @ S
    assert np.abs(world.mass_matrix() - wanted).max() < 1e-9 * max(1.0, np.abs(wanted).max())
    wanted = S.T @ (bias + mass @ curved)
    assert np.abs(world.bias() - wanted).max() < 1e-9 * max(1.0, np.abs(wanted).max())
    body = world.bodies[-1]
    point = world.body(body).point([0.1, -0.2, 0.3])
    frame = peer.getFrameId(body)
    jacobian = pin.computeFrameJacobian(peer, data, q, frame, pin.LOCAL_WORLD_ALIGNED) @ S
    pin.framesForwardKinematics(peer, data, q)
    wanted = jacobian[:3] - cross(point - data.oMf[frame].translation) @ jacobian[3:]
    assert np.abs(world.point_jacobian(body, [0.1, -0.2, 0.3]) - wanted).max() < 1e-9


def test_forces_give_the_accelerations_they_were_asked_for(tmp_path, four_bar):
    (tmp_path / "robot.xml").write_text(ROBOT)
    world = load(tmp_path / "robot.xml")
    rng = np.random.default_rng(5)
    q, v, a = rng.uniform(-1, 1, (3, 12))
    world.set_joints(dict(zip(world.joint_names, q)), dict(zip(world.joint_names, v)))
    assert np.abs(world.forward_dynamics(force=world.inverse_dynamics(a)) - a).max() < 1e-9
    # With loops: accelerations that keep them closed are what forward dynamics returns.
    four_bar.set_joints({"motor": 0.4}, {"motor": 3.0})
    a = four_bar.forward_dynamics([2.0], force=[1.0, -2.0, 0.5])
    assert np.abs(four_bar.forward_dynamics(force=four_bar.inverse_dynamics(a)) - a).max() < 1e-9
    short = carom.World.from_toml("step = 1e-5\n" + FOUR_BAR)
    short.set_joints({"motor": 0.4}, {"motor": 3.0})
    before = short.joint_v
    short.step(controls=[2.0])
    assert np.abs((short.joint_v - before) / 1e-5 - four_bar.forward_dynamics([2.0])).max() < 2e-3 * np.abs(a).max()


def test_a_reach_on_a_loop(four_bar):
    four_bar.set_joints({"motor": 1.2})
    target = four_bar.body("coupler").point([0.4, 0.2])
    four_bar.set_joints({"motor": 0.1})
    reach = four_bar.inverse_kinematics({"coupler": {"point": [0.4, 0.2], "position": target}})
    assert reach.converged and abs(reach.joint_q[0] - 1.2) < 1e-8
    four_bar.q = reach.q
    assert np.abs(four_bar.joint_q - reach.joint_q).max() < 1e-12
    assert not four_bar.inverse_kinematics({"coupler": [9.0, 9.0]}).converged
    assert not four_bar.inverse_kinematics({"coupler": {"point": [0.4, 0.2], "position": target + 0.1}}, fixed="motor").converged


def test_a_body_is_pushed_for_one_step():
    world = carom.World.from_toml("dimension = 2\ngravity = [0, 0]\nstep = 0.01\nbody = [{ name = 'box', mass = 2, inertia = 0.5, angle = 0.3 }]")
    box = world.body("box")
    box.apply(force=[3.0, 0.0])
    box.apply(force=[1.0, 0.0], torque=0.25)
    world.step(5)
    assert np.allclose(box.velocity, [4.0 * 0.01 / 2, 0]) and np.isclose(box.spin, 0.25 * 0.01 / 0.5)
    box.apply(force=[0.0, 2.0], at=[1.0, 0.0])
    spin = box.spin
    c = np.cos(box.rotation)
    world.step()
    assert np.isclose(box.spin - spin, c * 2.0 * 0.01 / 0.5, rtol=1e-2)
    assert np.allclose(box.v_body[:2], box.matrix.T @ box.velocity) and np.allclose(box.point([0, 0]), box.position)


def test_contact_forces_carry_the_weight():
    world = carom.World.from_toml("""
dimension = 2
step = 0.01
body = [{ name = "ground", kind = "static", shape = { half_space = [0, 1] } }, { name = "box", shape = { box = [1, 1] }, mass = 2, position = [0, 0.5] }]
""")
    world.step(50)
    assert np.allclose(world.contact_force("box"), [0, 2 * 9.81, 0], atol=1e-6)
    assert np.allclose(world.contact_force("ground", "box")[:2], [0, -2 * 9.81], atol=1e-6)
    assert np.abs(world.inverse_dynamics([0, 0, 0])).max() < 1e-6
    assert np.allclose(world.inverse_dynamics([0, 0, 0], contacts="none"), [0, 2 * 9.81, 0])
    assert np.allclose(world.centre_of_mass(), [0, 0.5], atol=1e-6)


LEVERS = """
dimension = 2
step = 0.005
integrator = "%s"
body = [
  { name = "driven", mass = 2, inertia = 0.5, position = [0.5, 0] },
  { name = "stopped", mass = 2, inertia = 0.5, position = [0.5, 3] },
  { name = "dragged", mass = 2, inertia = 0.5, position = [0, 6] },
  { name = "held", mass = 3, inertia = 0.5, position = [0.5, 9] },
  { name = "hung", mass = 1.5, inertia = 0.5, position = [5, 0] },
]
joint = [
  { name = "driver", kind = "hinge", between = ["driven", "world"], anchor = [0, 0], motor = { control = true, max = 30 } },
  { name = "stop", kind = "hinge", between = ["stopped", "world"], anchor = [0, 3], limits = [0, 1] },
  { name = "drag", kind = "slider", between = ["dragged", "world"], anchor = [0, 6], axis = [0, 1], friction = 7 },
  { name = "hold", kind = "weld", between = ["held", "world"] },
  { name = "rope", kind = "rope", between = ["hung", "world"], anchors = [[5, 0], [5, 2]], length = 2 },
]
"""


@pytest.mark.parametrize("integrator", ["verlet", "euler"])
def test_what_joints_did(integrator):
    world = carom.World.from_toml(LEVERS % integrator)
    assert not world.joint_force.any() and world.joint("hold").reaction.tolist() == [0, 0, 0]
    for _ in range(20):
        world.step(controls=[9.81])
    g = 9.81
    assert np.isclose(world.joint("driver").force, 9.81) and np.isclose(world.joint_force[world.joint_names.index("driver")], 9.81)
    assert np.isclose(world.joint("stop").limit_force, 2 * g * 0.5, rtol=1e-6)
    assert np.isclose(world.joint("drag").friction_force, 7.0, rtol=1e-9)
    # The second body is the world: the weight, and its moment about the origin.
    assert np.allclose(world.joint("hold").reaction, [0, -3 * g, -3 * g * 0.5], rtol=1e-9)
    assert np.isclose(world.joint("rope").limit_force, 1.5 * g, rtol=1e-6)
    # A lever driven by its weight's own moment does not move, and its pin carries the weight.
    assert abs(world.joint("driver").position) < 1e-9 and np.allclose(world.joint("driver").reaction[:2], [0, -2 * g], rtol=1e-9)
    world.step(controls=[100.0])
    assert np.isclose(world.joint("driver").force, 30.0), "clamped by max"
    world.v = np.zeros_like(world.v)
    assert not world.joint_force.any(), "nothing is known of a state that was set"


def test_what_joints_did_is_not_kept_by_energy_momentum():
    world = carom.World.from_toml(LEVERS % "energy-momentum")
    world.step()
    with pytest.raises(carom.ModelError, match="energy-momentum"):
        world.joint("driver").force


def test_rows_of_parameters_by_name(four_bar):
    assert four_bar.params["mass[coupler]"] == 2
    four_bar.params["mass[coupler]"] = 3
    assert list(four_bar.params["mass"]) == [0.5, 3, 1.4]
    four_bar.params["joint_anchor[foot]"] = [2, 0]
    with pytest.raises(carom.ModelError, match=r'no row "coupled"; did you mean "mass\[coupler\]"'):
        four_bar.params["mass[coupled]"]
    batch = carom.Batch(four_bar, 2)
    batch.params["mass[crank]"] = [0.6, 0.7]
    assert batch.params["mass"][:, 0].tolist() == [0.6, 0.7] and batch.params["mass[crank]"].tolist() == [0.6, 0.7]


@pytest.mark.parametrize("call, said", [
    (lambda w: w.body("crunk"), 'body: no "crunk"; did you mean "crank"?'),
    (lambda w: w.joint("motr"), 'joint: no "motr"; did you mean "motor"?'),
    (lambda w: w.set_joints({"motr": 1}), 'did you mean "motor"?'),
    (lambda w: w.set_joints({"foot": 1}), "closes a loop"),
    (lambda w: w.set_joints({"motor": "x"}), 'values["motor"]'),
    (lambda w: w.set_joints({"motor": 0.0, "knee": 0.5}), "stays open by"),
    (lambda w: w.set_joints({}, {"motor": 1.0, "knee": 1.0}), "would open at"),
    (lambda w: w.set_joints(3), "values: needs a mapping"),
    (lambda w: w.forward_dynamics([1.0, 2.0]), "controls: found shape (2,), needs (1,)"),
    (lambda w: w.inverse_dynamics([1.0]), "acceleration: found shape (1,), needs (3,)"),
    (lambda w: w.inverse_dynamics([1.0, 2, 3], contacts="held"), "contacts: found 'held'"),
    (lambda w: w.point_jacobian("crank", [1]), "point: found shape (1,), needs (2,)"),
    (lambda w: w.inverse_kinematics({"crank": {"postion": [0, 0]}}), 'did you mean "position"?'),
    (lambda w: w.inverse_kinematics({"crank": {}}), 'needs "position" or "angle"'),
    (lambda w: w.inverse_kinematics({}), "targets: needs a mapping"),
    (lambda w: w.body("crank").apply(force=[1.0]), "force: found shape (1,), needs (2,)"),
    (lambda w: w.contact_force("crank", "nobody"), 'b: no "nobody"'),
    (lambda w: w.inverse_dynamics([1.0, 2, 3], contacts="nonee"), "did you mean 'none'?"),
    (lambda w: w.inverse_kinematics({"crank": [0, 0]}, fixed=3), "fixed: needs a name or a list of names"),
    (lambda w: w.ray([0, 0], [1, 0], ignore=np.array("x")), "ignore: needs a name or a list of names"),
    (lambda w: w.rollout(2, bodies=np.array("x")), "bodies: needs a name or a list of names"),
    (lambda w: w.loss("energy", {"q": 1}), "run: needs a rollout of this world, found dict"),
])
def test_errors_name_the_argument(four_bar, call, said):
    before = four_bar.hash()
    with pytest.raises(carom.Error) as caught:
        call(four_bar)
    assert said in str(caught.value)
    assert four_bar.hash() == before


def test_lqr_solves_the_riccati_equation():
    rng = np.random.default_rng(2)
    for n, m in [(1, 1), (4, 2), (7, 3)]:
        a, b = rng.normal(size=(n, n)), rng.normal(size=(n, m))
        q, r = np.eye(n), 0.5 * np.eye(m)
        gain = carom.lqr(a, b, q, r)
        closed = a - b @ gain
        assert np.abs(np.linalg.eigvals(closed)).max() < 1
        # The cost of the closed loop solves its own equation, and no other gain is cheaper.
        cost = sum(np.linalg.matrix_power(closed.T, k) @ (q + gain.T @ r @ gain) @ np.linalg.matrix_power(closed, k) for k in range(400))
        assert np.allclose(gain, np.linalg.solve(r + b.T @ cost @ b, b.T @ cost @ a), rtol=1e-8, atol=1e-10)
    assert np.isclose(carom.lqr([[1.0]], [[1.0]], [[1.0]], [[1.0]])[0, 0], (np.sqrt(5) - 1) / 2)
    with pytest.raises(carom.SolveError, match="no gain"):
        carom.lqr([[2.0]], [[0.0]], [[1.0]], [[1.0]])
    with pytest.raises(carom.SolveError, match="R: needs to be positive definite"):
        carom.lqr([[2.0]], [[1.0]], [[1.0]], [[0.0]])


def test_random_calls_never_crash(four_bar):
    rng = np.random.default_rng(7)
    odd = [None, 1, "motor", [], {}, np.nan, [1.0, 2.0], {"motor": 1e9}, {"crank": [0.3, 0.2]}, {"knee": [1]}, "crank", object()]
    names = ["body", "joint", "set_joints", "forward_dynamics", "inverse_dynamics", "point_jacobian", "inverse_kinematics", "contact_force"]
    failed = 0
    for _ in range(600):
        call = getattr(four_bar, names[rng.integers(len(names))])
        arguments = [odd[rng.integers(len(odd))] for _ in range(rng.integers(1, 3))]
        try:
            call(*arguments)
        except (carom.Error, TypeError):
            failed += 1
    assert 0 < failed < 600
    four_bar.step()
