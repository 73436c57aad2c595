"""pymunk (Chipmunk): a slop of a micrometre, corrections within a step, 50 iterations."""

from __future__ import annotations

import math

import numpy as np

import pymunk
from scene import Scene

NAME = "pymunk"
SETTINGS = "50 iterations, slop 1e-6 m"
ITERATIONS = 50
SLOP = 1e-6


def version() -> str:
    """Of the package."""
    return str(pymunk.version)


def roll(scene: Scene, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses and velocities (T+1, n, 3)."""
    space = pymunk.Space()
    space.gravity = scene.gravity
    space.iterations = ITERATIONS
    space.collision_slop = SLOP
    bodies = []
    for given in scene.bodies:
        body = pymunk.Body(given.mass, given.inertia, pymunk.Body.STATIC if given.fixed else pymunk.Body.DYNAMIC)
        body.position, body.angle = given.at, given.angle
        if not given.fixed:
            body.velocity, body.angular_velocity = given.velocity, given.spin
        shape = pymunk.Circle(body, given.size) if given.round else pymunk.Poly.create_box(body, given.size)
        # It multiplies the coefficients of the two bodies.
        shape.elasticity, shape.friction = math.sqrt(scene.restitution), math.sqrt(scene.friction)
        if given.ghost:
            shape.filter = pymunk.ShapeFilter(mask=0)
        space.add(body, shape)
        bodies.append(body)
    for pin in scene.pins:
        space.add(pymunk.PivotJoint(space.static_body if pin.a is None else bodies[pin.a], bodies[pin.b], pin.at))
    q, v = np.empty((2, steps + 1, len(bodies), 3))
    for t in range(steps + 1):
        if t:
            space.step(scene.step)
        for i, body in enumerate(bodies):
            q[t, i] = *body.position, body.angle
            v[t, i] = *body.velocity, body.angular_velocity
    return q, v
