"""MuJoCo: joint coordinates where pins form a tree, `connect` where they close a loop; elliptic cones, contacts as stiff as the step bears."""

from __future__ import annotations

import math

import numpy as np

import mujoco
from scene import Body, Scene

NAME = "MuJoCo"
SETTINGS = "RK4, elliptic cone, with friction impratio 1000 and 20 no-slip iterations, contact time constant of two steps; restitution by a contact spring (it has no such coefficient)"
STIFF = 0.02
"""Stiffness of the spring that makes a restitution, times the step squared."""
STICKY = 1000.0
"""How much harder friction is than the normal direction."""
NO_SLIP = 20
"""Rounds that take the creep out."""
FULL = 0.9999
"""Impedance: as hard as it may be."""


def version() -> str:
    """Of the package."""
    return str(mujoco.__version__)


def _solref(scene: Scene) -> list[float]:
    """A critically damped contact, or a spring that gives the restitution back."""
    if scene.restitution == 0:
        return [2 * scene.step, 1.0]
    stiffness = STIFF / scene.step**2
    log = math.log(scene.restitution)
    return [-stiffness, -2 * (-log / math.hypot(math.pi, log)) * math.sqrt(stiffness)]


def roll(scene: Scene, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses and velocities (T+1, n, 3), of x and z and the turn from x to z."""
    spec = mujoco.MjSpec()
    spec.option.timestep = scene.step
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    if scene.friction:
        spec.option.impratio = STICKY
        spec.option.noslip_iterations = NO_SLIP
    spec.option.gravity = [scene.gravity[0], 0, scene.gravity[1]]
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    parents = {pin.b: pin for pin in reversed(scene.pins)}
    made: dict[int, mujoco.MjsBody] = {}
    # A turn from x to z is one about -y.
    hinge = dict(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, -1, 0])

    def add(i: int) -> mujoco.MjsBody:
        if i in made:
            return made[i]
        given, pin = scene.bodies[i], parents.get(i)
        if pin is None:
            body = spec.worldbody.add_body(name=f"b{i}", pos=[given.at[0], 0, given.at[1]], quat=_turn(given.angle))
            if not given.fixed:
                body.add_freejoint()
            _shape(scene, given, body, np.zeros(2), 0.0)
        else:
            origin = np.zeros(2) if pin.a is None else np.array(parents[pin.a].at if pin.a in parents else scene.bodies[pin.a].at)
            parent = spec.worldbody if pin.a is None else add(pin.a)
            place = np.array(pin.at) - origin
            body = parent.add_body(name=f"b{i}", pos=[place[0], 0, place[1]])
            body.add_joint(**hinge)
            _shape(scene, given, body, np.array(given.at) - np.array(pin.at), given.angle)
        made[i] = body
        return body

    for i in range(len(scene.bodies)):
        add(i)
    for k, pin in enumerate(scene.pins):
        if parents[pin.b] is pin:
            continue
        for body, tag in ((pin.a, "a"), (pin.b, "b")):
            holder, origin = (spec.worldbody, (0.0, 0.0)) if body is None else (made[body], parents[body].at)
            holder.add_site(name=f"{tag}{k}", pos=[pin.at[0] - origin[0], 0, pin.at[1] - origin[1]])
        spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE, name1=f"a{k}", name2=f"b{k}",
                          solref=[2 * scene.step, 1.0], solimp=[FULL, FULL, 1e-3, 0.5, 2])
    model = spec.compile()
    data = mujoco.MjData(model)
    for i, given in enumerate(scene.bodies):
        if i not in parents and not given.fixed:
            start = model.jnt_dofadr[model.body_jntadr[model.body(f"b{i}").id]]
            data.qvel[start : start + 3] = given.velocity[0], 0, given.velocity[1]
            data.qvel[start + 4] = -given.spin
    order = [model.body(f"b{i}").id for i in range(len(scene.bodies))]
    q, v = np.empty((2, steps + 1, len(order), 3))
    motion = np.empty(6)
    for t in range(steps + 1):
        if t:
            mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        for i, body in enumerate(order):
            geom = model.body_geomadr[body]
            frame = data.geom_xmat[geom].reshape(3, 3)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, body, motion, 0)
            q[t, i] = data.geom_xpos[geom][0], data.geom_xpos[geom][2], math.atan2(frame[2, 0], frame[0, 0])
            v[t, i] = motion[3], motion[5], -motion[1]
    return q, v


def _turn(angle: float) -> list[float]:
    """A quaternion from x to z."""
    return [math.cos(angle / 2), 0, -math.sin(angle / 2), 0]


def _shape(scene: Scene, given: Body, body: mujoco.MjsBody, at: np.ndarray, angle: float) -> None:
    """A geom of the body."""
    kind, size = (mujoco.mjtGeom.mjGEOM_SPHERE, [given.size, 0, 0]) if given.round else (
        mujoco.mjtGeom.mjGEOM_BOX, [given.size[0] / 2, given.depth / 2, given.size[1] / 2])
    touches = {"contype": 0, "conaffinity": 0} if given.ghost else {}
    impedance = {"solimp": [FULL, FULL, 1e-3, 0.5, 2]} if scene.restitution else {}
    body.add_geom(type=kind, size=size, mass=given.mass, pos=[at[0], 0, at[1]], quat=_turn(angle), condim=3 if scene.friction else 1,
                  friction=[scene.friction, 0, 0], solref=_solref(scene), **touches, **impedance)
