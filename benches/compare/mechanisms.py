"""Chains and loops: no contact, how fast and how exact."""

from __future__ import annotations

import math

import numpy as np

from case import Case, Entry

L, M, G, H = 0.1, 0.1, 9.81, 1e-3
IYY, IXX = M * L * L / 12, M * 0.02**2 / 6


def chain_toml(n: int) -> str:
    """n thin rods in a row along x, hinged about y, the first to the world."""
    return f"""
dimension = 3
step = {H}
[[repeat]]
count = {n}
offset = [{L}, 0, 0]
body = {{ name = "rod", mass = {M}, inertia = [{IXX}, {IYY}, {IYY}], position = [{L / 2}, 0, 0] }}
joint = {{ name = "pin", kind = "hinge", between = ["self", "next"], anchor = [{L}, 0, 0], axis = [0, 1, 0] }}
[[joint]]
name = "hook"
kind = "hinge"
between = ["rod_0", "world"]
anchor = [0, 0, 0]
axis = [0, 1, 0]
"""


def energy(q: np.ndarray, v: np.ndarray) -> float:
    """Of the chain from its joint angles."""
    a, w = np.cumsum(q), np.cumsum(v)
    x, z = np.cos(a), -np.sin(a)
    vx, vz = -np.sin(a) * w, -np.cos(a) * w
    cz = np.cumsum(L * z) - L / 2 * z
    cvx, cvz = np.cumsum(L * vx) - L / 2 * vx, np.cumsum(L * vz) - L / 2 * vz
    return float((0.5 * M * (cvx**2 + cvz**2) + 0.5 * IYY * w**2 + M * G * cz).sum())


def _scale(n: int) -> float:
    return M * n * G * L * n / 2


def chain_carom(n: int, steps: int) -> Entry:
    import carom

    world = carom.World.from_toml(chain_toml(n))

    def block() -> None:
        world.reset()
        world.step(steps)

    def accuracy() -> dict[str, float]:
        ledger = world.ledger()
        q, v = world.joint_q, world.joint_v
        order = [i for i, name in enumerate(world.joint_names) if name == "hook"] + [i for i, name in enumerate(world.joint_names) if name != "hook"]
        signs = np.where(np.arange(n) == 0, 1.0, -1.0)
        # `between` of the pins is (self, next): the angle of self against next.
        own = energy(signs * q[order], signs * v[order])
        return {"energy error": abs(own) / _scale(n), "joint gap [m]": float(np.abs(_gaps(world, n)).max()), "ledger drift": abs(ledger.drift) / _scale(n)}

    return Entry("carom", block, steps, accuracy)


def _gaps(world, n: int) -> np.ndarray:
    q = world.q
    ends = []
    for sign in (-1, 1):
        w, x, y, z = q[:, 3], q[:, 4], q[:, 5], q[:, 6]
        ax = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=1)
        ends.append(q[:, :3] + sign * L / 2 * ax)
    return np.concatenate([ends[0][:1], ends[0][1:] - ends[1][:-1]])


def chain_mujoco(n: int, steps: int, integrator: str) -> Entry:
    import mujoco

    spec = mujoco.MjSpec()
    spec.option.timestep = H
    spec.option.integrator = getattr(mujoco.mjtIntegrator, "mjINT_" + integrator)
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    parent = spec.worldbody
    for i in range(n):
        body = parent.add_body(pos=[L if i else 0, 0, 0], mass=M, ipos=[L / 2, 0, 0], inertia=[IXX, IYY, IYY])
        body.explicitinertial = True
        body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
        parent = body
    model = spec.compile()
    data = mujoco.MjData(model)

    def block() -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, steps)

    return Entry(f"MuJoCo {integrator}", block, steps, lambda: {"energy error": abs(energy(data.qpos, data.qvel)) / _scale(n), "joint gap [m]": 0.0})


def chain_pinocchio(n: int, steps: int) -> Entry:
    import pinocchio as pin

    model = pin.Model()
    parent = 0
    for i in range(n):
        place = pin.SE3(np.eye(3), np.array([L if i else 0.0, 0, 0]))
        parent = model.addJoint(parent, pin.JointModelRY(), place, f"j{i}")
        model.appendBodyToJoint(parent, pin.Inertia(M, np.array([L / 2, 0, 0]), np.diag([IXX, IYY, IYY])), pin.SE3.Identity())
    model.gravity.linear = np.array([0, 0, -G])
    data, tau = model.createData(), np.zeros(n)
    state = [np.zeros(n), np.zeros(n)]

    def block() -> None:
        q, v = np.zeros(n), np.zeros(n)
        for _ in range(steps):
            v += H * pin.aba(model, data, q, v, tau)
            q += H * v
        state[:] = [q, v]

    return Entry("Pinocchio", block, steps, lambda: {"energy error": abs(energy(*state)) / _scale(n), "joint gap [m]": 0.0})


def chain(n: int, steps: int) -> Case:
    """n hinged rods let go from the level."""
    makers = {
        "carom": lambda: chain_carom(n, steps),
        "MuJoCo": lambda: chain_mujoco(n, steps, "EULER"),
        "MuJoCo RK4": lambda: chain_mujoco(n, steps, "RK4"),
        "Pinocchio": lambda: chain_pinocchio(n, steps),
    }
    if n > 100:
        del makers["MuJoCo RK4"]  # seconds a step
    return Case(f"chain of {n} hinges in space", "step", makers)


FOUR_BAR = [(0.0, 0.0), (0.0, 0.5), (1.8, 1.3717797887081348), (2.0, 0.0)]
"""Pins: crank at the origin, knee, top, foot."""


def _rods() -> list[tuple[np.ndarray, np.ndarray, float]]:
    points = [np.array(p) for p in FOUR_BAR]
    return [(a, b, float(np.hypot(*(b - a)))) for a, b in zip(points, points[1:])]


def loop_carom(steps: int) -> Entry:
    import carom

    bodies, joints = [], []
    names = ["crank", "coupler", "rocker"]
    for name, (a, b, length) in zip(names, _rods()):
        middle, angle = (a + b) / 2, math.atan2(*(b - a)[::-1])
        bodies.append(f'{{ name = "{name}", mass = {length}, inertia = {length**3 / 12}, position = {middle.tolist()}, angle = {angle} }}')
    for k, (name, between) in enumerate([("motor", '["crank", "world"]'), ("knee", '["coupler", "crank"]'), ("top", '["rocker", "coupler"]'), ("foot", '["rocker", "world"]')]):
        joints.append(f'{{ name = "{name}", kind = "hinge", between = {between}, anchor = {list(FOUR_BAR[k])} }}')
    text = f"dimension = 2\nstep = {H}\nbody = [{', '.join(bodies)}]\njoint = [{', '.join(joints)}]\n"
    world = carom.World.from_toml(text)

    def block() -> None:
        world.reset()
        world.step(steps)

    def accuracy() -> dict[str, float]:
        q, gap = world.q, 0.0
        ends = []
        for (_, _, length), (x, y, angle) in zip(_rods(), q):
            half = length / 2 * np.array([math.cos(angle), math.sin(angle)])
            ends.append((np.array([x, y]) - half, np.array([x, y]) + half))
        fixed = [np.array(FOUR_BAR[0]), np.array(FOUR_BAR[3])]
        for a, b in [(ends[0][0], fixed[0]), (ends[0][1], ends[1][0]), (ends[1][1], ends[2][0]), (ends[2][1], fixed[1])]:
            gap = max(gap, float(np.abs(a - b).max()))
        return {"joint gap [m]": gap, "energy error": abs(world.ledger().drift) / 10.0}

    return Entry("carom", block, steps, accuracy)


def loop_mujoco(steps: int) -> Entry:
    import mujoco

    spec = mujoco.MjSpec()
    spec.option.timestep = H
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    parent, last = spec.worldbody, np.zeros(2)
    for k, (a, b, length) in enumerate(_rods()):
        turn = math.atan2(*(b - a)[::-1])
        body = parent.add_body(name=f"b{k}", pos=[*(a - last)[:1], 0, *(a - last)[1:]])
        body.mass, body.explicitinertial = length, True
        middle = (b - a) / 2
        body.ipos, body.inertia = [middle[0], 0, middle[1]], [length**3 / 12] * 3
        body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, -1, 0])
        parent, last = body, a
        del turn
    a, b, _ = _rods()[2]
    spec.worldbody.add_site(name="foot", pos=[b[0], 0, b[1]])
    parent.add_site(name="tip", pos=[*(b - a)[:1], 0, *(b - a)[1:]])
    spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE, name1="tip", name2="foot")
    model = spec.compile()
    data = mujoco.MjData(model)

    def block() -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, steps)

    def accuracy() -> dict[str, float]:
        return {"joint gap [m]": float(np.abs(data.site_xpos[0] - data.site_xpos[1]).max())}

    return Entry("MuJoCo", block, steps, accuracy)


def loop() -> Case:
    """A four-bar linkage that falls."""
    return Case("four-bar loop", "step", {"carom": lambda: loop_carom(2000), "MuJoCo": lambda: loop_mujoco(2000)})
