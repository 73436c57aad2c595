"""PyBullet: 50 iterations, no threshold below which restitution is dropped, no damping, no sleep."""

from __future__ import annotations

import math

import numpy as np

import pybullet as bullet
from scene import Lacks, Scene

NAME = "PyBullet"
SETTINGS = "50 iterations, no restitution threshold"
ITERATIONS = 50


def version() -> str:
    """Of the package."""
    from importlib.metadata import version as of

    return of("pybullet")


def _turn(angle: float) -> list[float]:
    """A quaternion from x to z, w last."""
    return [0, -math.sin(angle / 2), 0, math.cos(angle / 2)]


def _shape(given) -> int:
    """A collision shape."""
    if given.ghost:
        return -1
    if given.round:
        return bullet.createCollisionShape(bullet.GEOM_SPHERE, radius=given.size)
    return bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[given.size[0] / 2, given.depth / 2, given.size[1] / 2])


def _free(scene: Scene, given) -> int:
    """A body of its own."""
    body = bullet.createMultiBody(0 if given.fixed else given.mass, _shape(given), basePosition=[given.at[0], 0, given.at[1]],
                                  baseOrientation=_turn(given.angle))
    # It multiplies the coefficients of the two bodies.
    bullet.changeDynamics(body, -1, restitution=math.sqrt(scene.restitution), lateralFriction=math.sqrt(scene.friction), rollingFriction=0,
                          spinningFriction=0, linearDamping=0, angularDamping=0, activationState=bullet.ACTIVATION_STATE_DISABLE_SLEEPING)
    if not given.fixed:
        bullet.resetBaseVelocity(body, [given.velocity[0], 0, given.velocity[1]], [0, -given.spin, 0])
    return body


def _linked(scene: Scene) -> int:
    """All bodies as links of one tree; a pin that closes a loop becomes a constraint."""
    parents: dict = {}
    loops = []
    for pin in scene.pins:
        if pin.b in parents:
            loops.append(pin)
        else:
            parents[pin.b] = pin
    if sorted(parents) != list(range(len(scene.bodies))) or any(pin.a is not None and pin.a >= pin.b for pin in parents.values()):
        raise Lacks("a tree in another order")
    pins = [parents[i] for i in range(len(scene.bodies))]
    origin = [np.zeros(2) if pin.a is None else np.array(pins[pin.a].at) for pin in pins]
    count = len(pins)
    inertias = [[0, -np.sin(b.angle / 2), 0, np.cos(b.angle / 2)] for b in scene.bodies]
    arm = [np.array(b.at) - np.array(pin.at) for b, pin in zip(scene.bodies, pins)]
    tree = bullet.createMultiBody(
        0, -1, linkMasses=[b.mass for b in scene.bodies], linkCollisionShapeIndices=[-1] * count, linkVisualShapeIndices=[-1] * count,
        linkPositions=[[pin.at[0] - o[0], 0, pin.at[1] - o[1]] for pin, o in zip(pins, origin)], linkOrientations=[[0, 0, 0, 1]] * count,
        linkInertialFramePositions=[[a[0], 0, a[1]] for a in arm], linkInertialFrameOrientations=inertias,
        linkParentIndices=[0 if pin.a is None else pin.a + 1 for pin in pins], linkJointTypes=[bullet.JOINT_REVOLUTE] * count,
        linkJointAxis=[[0, -1, 0]] * count)
    for i, given in enumerate(scene.bodies):
        across = given.mass * given.size[0] ** 2 / 6
        bullet.changeDynamics(tree, i, localInertiaDiagonal=[given.inertia, given.inertia, across], linearDamping=0, angularDamping=0,
                              jointDamping=0, maxJointVelocity=1e6)
    bullet.setJointMotorControlArray(tree, list(range(count)), bullet.VELOCITY_CONTROL, forces=[0] * count)
    for pin in loops:
        there = np.array(pin.at) - np.array(scene.bodies[pin.b].at)
        turn = -scene.bodies[pin.b].angle
        local = [np.cos(turn) * there[0] - np.sin(turn) * there[1], 0, np.sin(turn) * there[0] + np.cos(turn) * there[1]]
        if pin.a is not None:
            raise Lacks("a loop between two links")
        rod = bullet.createConstraint(tree, pin.b, -1, -1, bullet.JOINT_POINT2POINT, [0, 0, 0], local, [pin.at[0], 0, pin.at[1]])
        bullet.changeConstraint(rod, maxForce=1e9)
    return tree


def roll(scene: Scene, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses and velocities (T+1, n, 3), of x and z and the turn from x to z."""
    if not bullet.isConnected():
        bullet.connect(bullet.DIRECT)
    bullet.resetSimulation()
    bullet.setGravity(scene.gravity[0], 0, scene.gravity[1])
    bullet.setPhysicsEngineParameter(fixedTimeStep=scene.step, numSolverIterations=ITERATIONS, restitutionVelocityThreshold=0.0)
    tree = _linked(scene) if scene.pins else None
    free = [] if scene.pins else [_free(scene, given) for given in scene.bodies]
    q, v = np.empty((2, steps + 1, len(scene.bodies), 3))
    for t in range(steps + 1):
        if t:
            bullet.stepSimulation()
        for i in range(len(scene.bodies)):
            if tree is None:
                place, turn = bullet.getBasePositionAndOrientation(free[i])
                linear, spin = bullet.getBaseVelocity(free[i])
            else:
                place, turn, *_, linear, spin = bullet.getLinkState(tree, i, computeLinkVelocity=1, computeForwardKinematics=1)
            q[t, i] = place[0], place[2], 2 * math.atan2(-turn[1], turn[3])
            v[t, i] = linear[0], linear[2], -spin[1]
    return q, v
