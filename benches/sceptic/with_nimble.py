"""Nimble: exact derivatives of its step by state; it wants an environment of its own (numpy below 2)."""

from __future__ import annotations

import math

import numpy as np

import nimblephysics as nimble
from scene import Lacks, Scene

NAME = "Nimble"
SETTINGS = "penetration correction on"


def version() -> str:
    """Of the package."""
    from importlib.metadata import version as of

    return of("nimblephysics")


def _world(scene: Scene):
    """Balls move without turning, blocks are free; x and z."""
    if scene.pins:
        raise Lacks("not asked")
    world = nimble.simulation.World()
    world.setGravity(np.array([scene.gravity[0], 0, scene.gravity[1]]))
    world.setTimeStep(scene.step)
    world.setPenetrationCorrectionEnabled(True)
    state, speed = [], []
    for given in scene.bodies:
        skeleton = nimble.dynamics.Skeleton()
        if given.fixed:
            _, body = skeleton.createWeldJointAndBodyNodePair()
        elif given.round:
            _, body = skeleton.createTranslationalJointAndBodyNodePair()
        else:
            _, body = skeleton.createFreeJointAndBodyNodePair()
        shape = nimble.dynamics.SphereShape(given.size) if given.round else nimble.dynamics.BoxShape([given.size[0], given.depth, given.size[1]])
        node = body.createShapeNode(shape)
        node.createVisualAspect()
        node.createCollisionAspect()
        body.setFrictionCoeff(scene.friction)
        # It multiplies the restitutions of the two bodies and takes the smaller friction.
        body.setRestitutionCoeff(math.sqrt(scene.restitution))
        if given.fixed:
            if given.angle:
                raise Lacks("not asked")
            node.setRelativeTranslation([given.at[0], 0, given.at[1]])
        else:
            body.setMass(given.mass)
            if not given.round:
                w = given.size[0]
                turns = [0, -given.angle, 0], [0, -given.spin, 0]
                state += turns[0]
                speed += turns[1]
                # Square from above, so x and y are alike.
                body.setMomentOfInertia(given.inertia, given.inertia, given.mass * w * w / 6)
            state += [given.at[0], 0, given.at[1]]
            speed += [given.velocity[0], 0, given.velocity[1]]
        world.addSkeleton(skeleton)
    world.setState(np.array(state + speed, dtype=float))
    return world


def _places(scene: Scene) -> list[int]:
    """Where the coordinates of each body begin; -1 for fixed ones."""
    places, at = [], 0
    for given in scene.bodies:
        places.append(-1 if given.fixed else at)
        at += 0 if given.fixed else 3 if given.round else 6
    return places


def roll(scene: Scene, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses and velocities (T+1, n, 3), of x and z and the turn from x to z."""
    world, places = _world(scene), _places(scene)
    half = world.getNumDofs()
    q, v = np.zeros((2, steps + 1, len(scene.bodies), 3))
    for t in range(steps + 1):
        if t:
            world.step()
        state = world.getState()
        for i, given in enumerate(scene.bodies):
            if given.fixed:
                q[t, i] = *given.at, given.angle
                continue
            at = places[i] + (0 if given.round else 3)
            turn = (0.0, 0.0) if given.round else (-state[places[i] + 1], -state[half + places[i] + 1])
            q[t, i] = state[at], state[at + 2], turn[0]
            v[t, i] = state[half + at], state[half + at + 2], turn[1]
    return q, v


def slope(scene: Scene, steps: int, read: tuple[str, int, int], by: tuple[str, int, int]) -> float:
    """The product of its exact derivatives of the steps."""
    if by[0] in ("friction", "restitution"):
        raise Lacks(f"no derivative by {by[0]}")
    world, places = _world(scene), _places(scene)
    half = world.getNumDofs()

    def entry(velocity: bool, body: int, axis: int) -> int:
        return half * velocity + places[body] + (0 if scene.bodies[body].round else 3) + 2 * axis

    tangent = np.zeros(2 * half)
    tangent[entry(by[0] == "velocity", *by[1:])] = 1.0
    for _ in range(steps):
        taken = nimble.neural.forwardPass(world, False)
        tangent = taken.getStateJacobian(world) @ tangent
    return float(tangent[entry(read[0] == "dv", *read[1:])])


