"""The robots of Gymnasium: steps, derivatives, batches."""

from __future__ import annotations

import importlib.util
import pathlib
import time
import warnings

import numpy as np

from case import Case, Entry, Lacks

ROBOTS = ("half_cheetah", "ant", "hopper", "walker2d", "humanoid")

CART_POLE = """<mujoco><option timestep="0.001"/><worldbody><body name="cart"><joint name="x" type="slide" axis="1 0 0"/>
<geom type="box" size=".2 .1 .1" mass="1" contype="0" conaffinity="0"/><body name="pole"><joint name="th" type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 .6" size=".03" mass=".1" contype="0" conaffinity="0"/></body></body></worldbody>
<actuator><motor joint="x"/></actuator></mujoco>"""

BOX = """<mujoco><option timestep="0.001"/><default><geom condim="3" friction=".5"/></default><worldbody><geom type="plane" size="40 40 1"/>
<body pos="0 0 .25"><freejoint/><geom type="box" size=".25 .25 .25" mass="1"/></body></worldbody></mujoco>"""


def _assets() -> pathlib.Path:
    found = importlib.util.find_spec("gymnasium")
    if found is None or found.origin is None:
        raise Lacks("needs the models of Gymnasium (pip install gymnasium)")
    return pathlib.Path(found.origin).parent / "envs" / "mujoco" / "assets"


def _carom(model: str):
    import carom

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not model.startswith("<"):
            return carom.World.from_mjcf(_assets() / f"{model}.xml")
        path = pathlib.Path(__file__).with_name("model.xml")
        try:
            path.write_text(model)
            return carom.World.from_mjcf(path)
        finally:
            path.unlink(missing_ok=True)


def _mujoco(model: str):
    import mujoco

    made = mujoco.MjModel.from_xml_string(model) if model.startswith("<") else mujoco.MjModel.from_xml_path(str(_assets() / f"{model}.xml"))
    return made, mujoco.MjData(made)


def step_carom(robot: str, seconds: float) -> Entry:
    world = _carom(robot)
    steps = round(seconds / world.step_size)

    def block() -> None:
        world.reset()
        world.step(steps)

    def accuracy() -> dict[str, float]:
        depth = 0.0
        world.reset()
        for _ in range(steps):
            world.step()
            depth = max([depth, *(-contact.gap for contact in world.contacts())])
        return {"depth [m]": depth}

    return Entry("carom", block, steps, accuracy)


def step_mujoco(robot: str, seconds: float) -> Entry:
    import mujoco

    model, data = _mujoco(robot)
    steps = round(seconds / model.opt.timestep)

    def block() -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, steps)

    def accuracy() -> dict[str, float]:
        depth = 0.0
        mujoco.mj_resetData(model, data)
        for _ in range(steps):
            mujoco.mj_step(model, data)
            if data.ncon:
                depth = max(depth, -float(data.contact.dist.min()))
        return {"depth [m]": depth}

    return Entry("MuJoCo", block, steps, accuracy)


def step(robot: str, seconds: float = 2.0) -> Case:
    """A limp robot on its ground from its start."""
    return Case(f"{robot}, {seconds:g} s", "step", {"carom": lambda: step_carom(robot, seconds), "MuJoCo": lambda: step_mujoco(robot, seconds)})


def linearise_carom(model: str, steps: int) -> Entry:
    world = _carom(model)
    if model == CART_POLE:
        world.set_joints({"th": 0.3}, {"th": 0.5, "x": 0.2})
    if model == BOX:
        v = world.v.copy()
        v[-1, 0] = 1.0
        world.v = v
    world.step(steps)

    def block() -> None:
        for _ in range(20):
            world.linearise()

    def accuracy() -> dict[str, float]:
        A = world.linearise().A
        names = world.joint_names
        start = np.concatenate([world.joint_q, world.joint_v])
        nc, h, worst = len(names), 1e-4, 0.0

        def after(k: int, d: float) -> np.ndarray:
            there, x = world.copy(), start.copy()
            x[k] += d
            there.set_joints(dict(zip(names, x[:nc])), dict(zip(names, x[nc:])))
            there.step()
            return np.concatenate([there.joint_q, there.joint_v])

        # Rates alone: coordinates that touch open contacts on one side only, and rotation vectors do not add up.
        for k in range(nc, 2 * nc):
            slope = (8 * (after(k, h) - after(k, -h)) - (after(k, 2 * h) - after(k, -2 * h))) / (12 * h)
            rates = slice(nc, 2 * nc)
            worst = max(worst, float(np.abs(slope[rates] - A[rates, k]).max()))
        return {"error of A": worst / max(1.0, float(np.abs(A).max())), "contacts": float(len(world.contacts()))}

    return Entry("carom", block, 20, accuracy)


def linearise_mujoco(model: str, steps: int) -> Entry:
    import mujoco

    made, data = _mujoco(model)
    if model == CART_POLE:
        data.qpos[1], data.qvel[:] = 0.3, [0.2, 0.5]
    if model == BOX:
        data.qvel[0] = 1.0
    mujoco.mj_step(made, data, steps)
    if made.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
        made.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER  # its differences do without RK4
    A, B = np.zeros((2 * made.nv + made.na, 2 * made.nv + made.na)), np.zeros((2 * made.nv + made.na, made.nu))

    def block() -> None:
        for _ in range(20):
            mujoco.mjd_transitionFD(made, data, 1e-6, 1, A, B if made.nu else None, None, None)

    return Entry("MuJoCo differences", block, 20, lambda: {"contacts": float(data.ncon)})


def linearise(name: str, model: str, steps: int) -> Case:
    """A and B of one step; MuJoCo's by central differences of its own step."""
    return Case(f"linearise: {name}", "derivative", {"carom": lambda: linearise_carom(model, steps), "MuJoCo": lambda: linearise_mujoco(model, steps)})


def batch_carom(robot: str, count: int, steps: int, threads: int) -> Entry:
    import carom

    batch = carom.Batch(_carom(robot), count, threads=threads)

    def block() -> None:
        batch.reset()
        batch.step(steps)

    def work() -> dict[str, float]:
        begun = time.process_time()
        block()
        return {"processor time of all threads [us]": (time.process_time() - begun) / (count * steps) * 1e6}

    # Both by the clock on the wall, beside what all threads together worked: where that is the same for two as for one, two free cores do twice as much.
    return Entry(f"carom, {threads} thread{'s' if threads > 1 else ''}", block, count * steps, work, threads=2)


def batch(robot: str, count: int, steps: int) -> Case:
    """Worlds of one robot at once, on one thread and on two."""
    return Case(
        f"{count} worlds of {robot}",
        "world step",
        {"carom": lambda: batch_carom(robot, count, steps, 1), "carom 2": lambda: batch_carom(robot, count, steps, 2)},
    )
