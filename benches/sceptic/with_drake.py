"""Drake: the discrete plant with the SAP solver, hydroelastic contact where it can."""

from __future__ import annotations

import math

import numpy as np

from pydrake import all as drake
from scene import Body, Lacks, Scene

NAME = "Drake"
SETTINGS = "SAP, hydroelastic contact of 1e7 Pa"
MODULUS = 1e7
DISSIPATION = 10.0
"""s/m."""


def version() -> str:
    """Of the package."""
    from importlib.metadata import version as of

    return of("drake")


def _material(scene: Scene, size: float, fixed: bool) -> drake.ProximityProperties:
    """Contact properties of a shape."""
    material = drake.ProximityProperties()
    drake.AddContactMaterial(dissipation=DISSIPATION, friction=drake.CoulombFriction(scene.friction, scene.friction), properties=material)
    if fixed:
        drake.AddRigidHydroelasticProperties(size, material)
    else:
        drake.AddCompliantHydroelasticProperties(size, MODULUS, material)
    return material


def _pose(at: tuple[float, float], angle: float = 0.0) -> drake.RigidTransform:
    """In x and z, turned from x to z."""
    return drake.RigidTransform(drake.RotationMatrix.MakeYRotation(-angle), [at[0], 0, at[1]])


def _shape(given: Body) -> drake.Shape:
    return drake.Sphere(given.size) if given.round else drake.Box(given.size[0], given.depth, given.size[1])


def roll(scene: Scene, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses and velocities (T+1, n, 3), of x and z and the turn from x to z."""
    if scene.restitution:
        raise Lacks("no restitution")
    builder = drake.DiagramBuilder()
    plant, _ = drake.AddMultibodyPlant(drake.MultibodyPlantConfig(
        time_step=scene.step, contact_model="hydroelastic_with_fallback", discrete_contact_approximation="sap"), builder)
    plant.mutable_gravity_field().set_gravity_vector([scene.gravity[0], 0, scene.gravity[1]])
    bodies = []
    for i, given in enumerate(scene.bodies):
        if given.fixed:
            body = plant.world_body()
        else:
            size = (given.size, 0.0) if given.round else given.size
            unit = drake.UnitInertia.SolidSphere(given.size) if given.round else drake.UnitInertia.SolidBox(size[0], size[0], size[1])
            body = plant.AddRigidBody(f"b{i}", drake.SpatialInertia(given.mass, [0, 0, 0], unit))
        bodies.append(body)
        if not given.ghost:
            least = given.size if given.round else min(given.size)
            plant.RegisterCollisionGeometry(body, _pose(given.at, given.angle) if given.fixed else _pose((0, 0)), _shape(given), f"g{i}",
                                            _material(scene, least, given.fixed))
    held: set[int] = set()
    for k, pin in enumerate(scene.pins):
        def local(body: int | None) -> np.ndarray:
            if body is None:
                return np.array([pin.at[0], 0, pin.at[1]])
            return _pose(scene.bodies[body].at, scene.bodies[body].angle).inverse().multiply([pin.at[0], 0, pin.at[1]])

        parent = plant.world_body() if pin.a is None else bodies[pin.a]
        if pin.b in held:
            # A ball constraint that closes it ends the process with a segmentation fault (1.51).
            raise Lacks("not asked")
        held.add(pin.b)
        turn = scene.bodies[pin.b].angle - (0.0 if pin.a is None else scene.bodies[pin.a].angle)
        frame = drake.RigidTransform(drake.RotationMatrix.MakeYRotation(-turn), local(pin.a))
        plant.AddJoint(drake.RevoluteJoint(f"p{k}", plant.AddFrame(drake.FixedOffsetFrame(f"f{k}", parent.body_frame(), frame)),
                                           plant.AddFrame(drake.FixedOffsetFrame(f"h{k}", bodies[pin.b].body_frame(), drake.RigidTransform(local(pin.b)))),
                                           [0, -1, 0]))
    plant.Finalize()
    simulator = drake.Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    for i, given in enumerate(scene.bodies):
        if not given.fixed and i not in held:
            plant.SetFreeBodyPose(context, bodies[i], _pose(given.at, given.angle))
            plant.SetFreeBodySpatialVelocity(context, bodies[i], drake.SpatialVelocity([0, -given.spin, 0], [given.velocity[0], 0, given.velocity[1]]))
    simulator.Initialize()
    q, v = np.zeros((2, steps + 1, len(bodies), 3))
    for t in range(steps + 1):
        simulator.AdvanceTo(t * scene.step)
        for i, given in enumerate(scene.bodies):
            if given.fixed:
                q[t, i] = *given.at, given.angle
                continue
            pose, motion = plant.EvalBodyPoseInWorld(context, bodies[i]), plant.EvalBodySpatialVelocityInWorld(context, bodies[i])
            along = pose.rotation().matrix()[:, 0]
            place, velocity = pose.translation(), motion.translational()
            q[t, i] = place[0], place[2], math.atan2(along[2], along[0])
            v[t, i] = velocity[0], velocity[2], -motion.rotational()[1]
    return q, v
