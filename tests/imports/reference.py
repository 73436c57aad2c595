"""Makes reference.json: what MuJoCo says of the models in tests/models, and where a passive swing of one second takes their bodies.

Needs `pip install mujoco`. Contacts, limits, equalities, dry friction and actuators are off, gravity is askew, free roots are held, joints start bent, and the integrator is
Runge-Kutta of fourth order at 0.1 ms. What the import leaves out is left out here too: armature, springs and dampers of balls.

    python tests/imports/reference.py
"""

import json
import pathlib

import mujoco
import numpy as np

HERE = pathlib.Path(__file__).parent
MODELS = HERE.parent / "models"
GRAVITY = [1.0, 2.0, -9.0]
STEP = 1e-4
TIME = 1.0
SCALAR = (int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE))


def bend(name: str) -> float:
    """A start angle for a joint, from its name alone: between 0.15 and 0.65."""
    return 0.15 + 0.5 * (sum((i + 1) * ord(c) for i, c in enumerate(name)) * 37 % 101) / 101


def name_of(model, kind, index):
    return mujoco.mj_id2name(model, kind, index)


def weight(model):
    """Mass and centre of mass of what moves, and the number of joints."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    moving = model.body_weldid > 0
    mass = model.body_mass[moving]
    return float(mass.sum()), (mass @ data.xipos[moving] / mass.sum()).tolist(), int(model.njnt)


def hold(spec):
    """Takes the joints of roots that float away."""
    for body in list(spec.worldbody.bodies):
        joints = list(body.joints)
        free = any(j.type == mujoco.mjtJoint.mjJNT_FREE for j in joints)
        if free or sum(j.type == mujoco.mjtJoint.mjJNT_SLIDE for j in joints) > 1:
            for other in [*spec.actuators, *spec.sensors, *spec.tendons, *spec.keys]:
                spec.delete(other)
            for joint in joints:
                spec.delete(joint)


def still(model):
    """What the import leaves out, left out; everything else but motion and gravity off."""
    model.opt.gravity[:] = GRAVITY
    model.opt.density = model.opt.viscosity = 0
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = STEP
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_CONTACT | off.mjDSBL_ACTUATION | off.mjDSBL_LIMIT | off.mjDSBL_EQUALITY)
    # Dry friction is softened there and hard here.
    model.dof_frictionloss[:] = 0
    for joint in range(model.njnt):
        dofs = slice(model.jnt_dofadr[joint], model.jnt_dofadr[joint + 1] if joint + 1 < model.njnt else model.nv)
        if model.jnt_type[joint] not in SCALAR:
            model.dof_armature[dofs] = 0
            model.dof_damping[dofs] = 0
            model.jnt_stiffness[joint] = 0


def swing(model):
    """The start pose by joint, and every body's pose at the start and at the end."""
    still(model)
    data = mujoco.MjData(model)
    pose = {}
    for joint in range(model.njnt):
        if model.jnt_type[joint] in SCALAR:
            name, at = name_of(model, mujoco.mjtObj.mjOBJ_JOINT, joint), model.jnt_qposadr[joint]
            data.qpos[at] += bend(name)
            pose[name] = float(data.qpos[at])
    mujoco.mj_forward(model, data)
    poses = []
    for _ in range(2):
        poses.append({name_of(model, mujoco.mjtObj.mjOBJ_BODY, b): data.xpos[b].tolist() + data.xquat[b].tolist() for b in range(1, model.nbody)})
        if len(poses) < 2:
            for _ in range(round(TIME / STEP)):
                mujoco.mj_step(model, data)
    return pose, poses[0], poses[1]


def facts(path):
    """All of it for one model."""
    mass, centre, joints = weight(mujoco.MjModel.from_xml_path(str(path)))
    spec = mujoco.MjSpec.from_file(str(path))
    hold(spec)
    pose, start, end = swing(spec.compile())
    return {"mass": mass, "centre": centre, "joints": joints, "pose": pose, "start": start, "end": end}


if __name__ == "__main__":
    out = {path: facts(MODELS / path) for path in ["arm.urdf", "chains.xml", "masses.xml", "hips.xml", "tendons.xml"]}
    assert all(np.isfinite(out[path]["mass"]) for path in out)
    (HERE / "reference.json").write_text(json.dumps(out, indent=1) + "\n")
