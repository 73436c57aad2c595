"""Stacks, piles and strikes: how fast, how deep, how exact."""

from __future__ import annotations

import math
import pathlib
import subprocess

import numpy as np

from case import Case, Entry, Lacks

H = 1 / 240
CUBE = 0.5
"""Side of a cube [m]; its mass is 1 kg."""


def stack_places(count: int) -> list[tuple[float, float, float]]:
    """Cubes on each other."""
    return [(0.0, 0.0, CUBE / 2 + CUBE * i) for i in range(count)]


def wall_places(width: int, height: int) -> list[tuple[float, float, float]]:
    """A wall of cubes, every other row by half a cube aside and one cube shorter."""
    return [(CUBE * 1.02 * (i + 0.5 * (k % 2)), 0.0, CUBE / 2 + CUBE * k) for k in range(height) for i in range(width - k % 2)]


def pile_carom(places: list[tuple[float, float, float]], steps: int) -> Entry:
    import carom

    head = f"""
dimension = 3
step = {H}
[materials.all]
friction = 0.5
[[body]]
name = "ground"
kind = "static"
shape = {{ half_space = [0, 0, 1] }}
material = "all"
"""
    cubes = [
        f'[[body]]\nname = "c{i}"\nshape = {{ box = [{CUBE}, {CUBE}, {CUBE}] }}\nmass = 1\nmaterial = "all"\nposition = {list(place)}\n'
        for i, place in enumerate(places)
    ]
    world = carom.World.from_toml(head + "".join(cubes))
    start = world.q[1:, :3].copy()
    world.step(240)

    def accuracy() -> dict[str, float]:
        moved = np.abs(world.q[1:, :3] - start).max()
        depth = max((-contact.gap for contact in world.contacts()), default=0.0)
        return {"depth [m]": max(depth, 0.0), "moved [m]": float(moved)}

    return Entry("carom", lambda: world.step(steps), steps, accuracy)


def pile_mujoco(places: list[tuple[float, float, float]], steps: int) -> Entry:
    import mujoco

    half = CUBE / 2
    cubes = "".join(f'<body pos="{x} {y} {z}"><freejoint/><geom type="box" size="{half} {half} {half}" mass="1"/></body>' for x, y, z in places)
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{H}"/><default><geom friction="0.5"/></default><worldbody><geom type="plane" size="40 40 1"/>{cubes}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 240)

    def accuracy() -> dict[str, float]:
        now = data.qpos.reshape(-1, 7)[:, :3]
        return {"depth [m]": max(0.0, -float(data.contact.dist.min())) if data.ncon else 0.0, "moved [m]": float(np.abs(now - np.array(places)).max())}

    return Entry("MuJoCo", lambda: mujoco.mj_step(model, data, steps), steps, accuracy)


def pile_bullet(places: list[tuple[float, float, float]], steps: int) -> Entry:
    import pybullet

    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
    pybullet.setPhysicsEngineParameter(fixedTimeStep=H, physicsClientId=client)
    plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client)
    cube = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[CUBE / 2] * 3, physicsClientId=client)
    bodies = [pybullet.createMultiBody(0, plane, physicsClientId=client)]
    bodies += [pybullet.createMultiBody(1, cube, basePosition=place, physicsClientId=client) for place in places]
    for body in bodies:
        pybullet.changeDynamics(
            body, -1, lateralFriction=math.sqrt(0.5), linearDamping=0, angularDamping=0, activationState=pybullet.ACTIVATION_STATE_DISABLE_SLEEPING, physicsClientId=client
        )
    for _ in range(240):
        pybullet.stepSimulation(physicsClientId=client)

    def block() -> None:
        for _ in range(steps):
            pybullet.stepSimulation(physicsClientId=client)

    def accuracy() -> dict[str, float]:
        now = np.array([pybullet.getBasePositionAndOrientation(body, physicsClientId=client)[0] for body in bodies[1:]])
        points = pybullet.getContactPoints(physicsClientId=client)
        depth = max((-point[8] for point in points), default=0.0)
        return {"depth [m]": max(0.0, depth), "moved [m]": float(np.abs(now - np.array(places)).max())}

    return Entry("PyBullet", block, steps, accuracy)


def pile(name: str, places: list[tuple[float, float, float]], steps: int) -> Case:
    """Cubes at rest, nothing asleep."""
    return Case(
        name,
        "step",
        {"carom": lambda: pile_carom(places, steps), "MuJoCo": lambda: pile_mujoco(places, steps), "PyBullet": lambda: pile_bullet(places, steps)},
    )


BALLS, RADIUS = 5, 0.5


def cradle_carom(steps: int) -> Entry:
    import carom

    balls = [
        f'[[body]]\nname = "b{i}"\nshape = {{ ball = {RADIUS} }}\nmass = 1\nrestitution = 1\nposition = [{i - (2.0 if i == 0 else 1.0)}, 0]\nvelocity = [{1 if i == 0 else 0}, 0]\n'
        for i in range(BALLS)
    ]
    world = carom.World.from_toml("dimension = 2\nstep = 0.001\ngravity = [0, 0]\nimpact = \"reflections\"\n" + "".join(balls))

    def block() -> None:
        world.reset()
        world.step(steps)

    return Entry("carom", block, steps, lambda: _swapped(world.v[:, 0]))


def cradle_mujoco(steps: int) -> Entry:
    import mujoco

    balls = "".join(
        f'<body pos="{i - (2.0 if i == 0 else 1.0)} 0 0"><joint type="slide" axis="1 0 0"/><geom type="sphere" size="{RADIUS}" mass="1"/></body>' for i in range(BALLS)
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.001" gravity="0 0 0"/><default><geom solref="-10000 0" condim="1"/></default><worldbody>{balls}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)

    def block() -> None:
        mujoco.mj_resetData(model, data)
        data.qvel[0] = 1
        mujoco.mj_step(model, data, steps)

    return Entry("MuJoCo", block, steps, lambda: _swapped(data.qvel))


def cradle_pymunk(steps: int) -> Entry:
    import pymunk

    space = pymunk.Space()
    space.iterations = 200
    bodies = []
    for _ in range(BALLS):
        body = pymunk.Body(1, 0.5 * RADIUS**2)
        shape = pymunk.Circle(body, RADIUS)
        shape.elasticity, shape.friction = 1.0, 0.0
        space.add(body, shape)
        bodies.append(body)

    def block() -> None:
        for i, body in enumerate(bodies):
            body.position, body.velocity = (i - (2.0 if i == 0 else 1.0), 0.0), (1.0 if i == 0 else 0.0, 0.0)
        for _ in range(steps):
            space.step(0.001)

    return Entry("pymunk", block, steps, lambda: _swapped(np.array([body.velocity[0] for body in bodies])))


def _swapped(v: np.ndarray) -> dict[str, float]:
    wanted = np.array([0.0] * (BALLS - 1) + [1.0])
    return {"error of speeds": float(np.abs(v - wanted).max()), "energy error": abs(float(v @ v) - 1.0)}


def cradle() -> Case:
    """Newton's cradle: one ball strikes four that touch; the last one flies off alone."""
    return Case("Newton's cradle, 1.5 s", "step", {"carom": lambda: cradle_carom(1500), "MuJoCo": lambda: cradle_mujoco(1500), "pymunk": lambda: cradle_pymunk(1500)})


E, MU, VX, VZ = 0.5, 0.3, 3.0, -2.0


def bounced() -> tuple[float, float, float]:
    """Velocity along, up, and spin about y of a solid ball of radius 0.1 after it strikes the ground, by Coulomb's law and Newton's restitution."""
    up = -E * VZ
    pushed = (1 + E) * -VZ
    grip = VX * 2 / 7  # the impulse that stops the slip
    along = min(MU * pushed, grip)
    return VX - along, up, along * 2.5 / 0.1


def bounce_carom() -> Entry:
    import carom

    world = carom.World.from_toml(f"""
dimension = 3
step = 0.001
gravity = [0, 0, 0]
[materials.all]
friction = {MU}
restitution = {E}
[[body]]
name = "ground"
kind = "static"
shape = {{ half_space = [0, 0, 1] }}
material = "all"
[[body]]
name = "ball"
shape = {{ ball = 0.1 }}
mass = 1
material = "all"
position = [0, 0, 0.2003]
velocity = [{VX}, 0, {VZ}]
""")

    def block() -> None:
        world.reset()
        world.step(100)

    return Entry("carom", block, 100, lambda: _bounced(world.v[1, 0], world.v[1, 2], world.v[1, 4]))


def bounce_mujoco() -> Entry:
    import mujoco

    damping = -2 * math.log(E) / math.hypot(math.pi, math.log(E)) * math.sqrt(20000)
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><option timestep="0.001" gravity="0 0 0" cone="elliptic" impratio="100"/>
<default><geom friction="{MU}" solref="-20000 {-damping}"/></default><worldbody><geom type="plane" size="40 40 1"/>
<body pos="0 0 .2003"><freejoint/><geom type="sphere" size=".1" mass="1"/></body></worldbody></mujoco>""")
    data = mujoco.MjData(model)

    def block() -> None:
        mujoco.mj_resetData(model, data)
        data.qvel[:3] = [VX, 0, VZ]
        mujoco.mj_step(model, data, 100)

    return Entry("MuJoCo", block, 100, lambda: _bounced(data.qvel[0], data.qvel[2], data.qvel[4]))


def bounce_bullet() -> Entry:
    import pybullet

    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setPhysicsEngineParameter(fixedTimeStep=0.001, restitutionVelocityThreshold=0.0, physicsClientId=client)
    plane = pybullet.createMultiBody(0, pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client), physicsClientId=client)
    ball = pybullet.createMultiBody(1, pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1, physicsClientId=client), physicsClientId=client)
    for body in (plane, ball):
        pybullet.changeDynamics(body, -1, lateralFriction=math.sqrt(MU), restitution=math.sqrt(E), linearDamping=0, angularDamping=0, physicsClientId=client)

    def block() -> None:
        pybullet.resetBasePositionAndOrientation(ball, [0, 0, 0.2003], [0, 0, 0, 1], physicsClientId=client)
        pybullet.resetBaseVelocity(ball, [VX, 0, VZ], [0, 0, 0], physicsClientId=client)
        for _ in range(100):
            pybullet.stepSimulation(physicsClientId=client)

    def accuracy() -> dict[str, float]:
        lin, ang = pybullet.getBaseVelocity(ball, physicsClientId=client)
        return _bounced(lin[0], lin[2], ang[1])

    return Entry("PyBullet", block, 100, accuracy)


def _bounced(along: float, up: float, spin: float) -> dict[str, float]:
    wanted = bounced()
    return {"error of speeds": max(abs(along - wanted[0]), abs(up - wanted[1]), 0.1 * abs(spin - wanted[2]))}


def bounce() -> Case:
    """A ball strikes the ground aslant and leaves with spin."""
    return Case("oblique bounce of a ball", "step", {"carom": bounce_carom, "MuJoCo": bounce_mujoco, "PyBullet": bounce_bullet})


def flight_carom(count: int) -> Entry:
    import carom

    side = round(count ** (1 / 3))
    world = carom.World.from_toml(f"""
dimension = 3
step = 0.005
[[body]]
name = "ground"
kind = "static"
shape = {{ half_space = [0, 0, 1] }}
[[repeat]]
count = [{side}, {side}, {side}]
offset = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
body = {{ name = "ball", shape = {{ ball = 0.2 }}, position = [0, 0, 50] }}
""")
    if len(world.bodies) != side**3 + 1:
        raise Lacks("the scene has another number of bodies")
    alone = carom.Batch(world, 1, threads=1)
    return Entry("carom", lambda: alone.step(), 1, lambda: {"bodies": float(side**3)})


def flight_rapier(count: int) -> Entry:
    """Rapier times itself, on one thread, behind a small program that cargo compiles."""
    home, target = pathlib.Path(__file__).with_name("rapier"), pathlib.Path(__file__).resolve().parents[2] / "target" / "bench" / "rapier"
    build = ["cargo", "build", "--release", "--quiet", "--manifest-path", str(home / "Cargo.toml"), "--target-dir", str(target)]
    try:
        subprocess.run(build, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Lacks(f"Rapier does not build here: {(getattr(error, 'stderr', None) or str(error)).strip().splitlines()[-1]}") from None
    side, told = round(count ** (1 / 3)), []

    def block() -> None:
        done = subprocess.run([target / "release" / "compare-rapier", str(side), "5", "1"], check=True, capture_output=True, text=True)
        told.append(float(done.stdout))

    return Entry("Rapier", block, 1, lambda: {"bodies": float(side**3)}, told=told)


def flight(count: int) -> Case:
    """Separate balls in flight above one ground."""
    engines = {"carom": lambda: flight_carom(count), "Rapier": lambda: flight_rapier(count)}
    return Case(f"{round(count ** (1 / 3)) ** 3} balls in flight above a ground", "step", engines)
