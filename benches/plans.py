"""Five tasks of trajectory optimisation from ten random starts each: carom on its exact Jacobians, and the same search on differences of MuJoCo's step.

The tasks are those of examples/python: `task()` says what is searched and `solved(found)` whether a start got there, judged on the motion. MuJoCo has the same bodies,
joints, controls, losses, time steps and starts, its own contacts, and Jacobians by central differences (`mjd_transitionFD`, 1e-6); curvatures of its losses are those of
Gauss and Newton. Both use the rounds of carom.optimise, at most 60 where the task says so. Times are of the processor, the median of the starts.
Needs `pip install mujoco`.

    python benches/plans.py [--starts 0 1 ...] [--tasks NAME ...] [--engines carom mujoco]   # notes what it finds in benches/plans.json
    python benches/plans.py --write                                                    # puts what is noted into docs/python.md
"""

import argparse
import fcntl
import importlib.util
import json
import pathlib
import statistics
import time
import warnings

import numpy as np

import carom
from carom._plan_loss import Curvature, Slopes
from carom.plans import _moved, _Plan, _Search, optimise

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "python.md"
NOTES = pathlib.Path(__file__).with_suffix(".json")
BEGIN, END = "<!-- table of plans: benches/plans.py -->", "<!-- end of plans -->"
TASKS = {
    "cart_pole_swing_up": "swing-up of a pole on a cart",
    "hopper_jump": "a hopper's jump to a height",
    "throw_into_bin": "throw into a bin by an imported arm",
    "box_push": "a box pushed to a mark",
    "quadruped_step": "a quadruped's step",
}
STARTS, ROUNDS, EPSILON = 10, 200, 1e-6


def example(name):
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / "python" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Peer:
    """A task in MuJoCo. Residuals are those numbers whose squares are the loss."""

    def __init__(self, xml, residuals, solved, running=False, substeps=1):
        import mujoco

        self.mujoco, self.model = mujoco, mujoco.MjModel.from_xml_string(xml)
        self.data, self.residuals, self.solved, self.running = mujoco.MjData(self.model), residuals, solved, running
        self.substeps = substeps

    def place(self, q, v):
        self.data.qpos[:], self.data.qvel[:] = q, v
        self.mujoco.mj_kinematics(self.model, self.data)
        self.mujoco.mj_comPos(self.model, self.data)
        self.mujoco.mj_comVel(self.model, self.data)

    def at(self, q, v, t, last):
        self.place(q, v)
        return np.array(self.residuals(self.model, self.data, t, last))

    def slope(self, q, v, t, last):
        """Residuals of a state, and their differences by its tangent."""
        nv = self.model.nv
        base, columns = self.at(q, v, t, last), []
        for k in range(2 * nv):
            ends = []
            for side in (EPSILON, -EPSILON):
                p, w = q.copy(), v.copy()
                if k < nv:
                    self.mujoco.mj_integratePos(self.model, p, np.eye(nv)[k], side)
                else:
                    w[k - nv] += side
                ends.append(self.at(p, w, t, last))
            columns.append((ends[0] - ends[1]) / (2 * EPSILON))
        return base, np.array(columns).T

    def span(self, q):
        """The states whose residuals count."""
        end = len(q) - 1
        return [(t, t * self.model.opt.timestep * self.substeps, t == end) for t in range(0 if self.running else end, end + 1)]

    # The loss of a search: a plan that is only tried needs its value alone.
    def slopes(self, q, v, controls):
        value = sum(float((self.at(q[t], v[t], time, last) ** 2).sum()) for t, time, last in self.span(q))
        return Slopes(value, np.zeros((len(q), 2 * self.model.nv)), np.zeros_like(controls))

    def differentiate(self, q, v, states):
        """Fills in the gradient by the states, and keeps the curvature."""
        nx = 2 * self.model.nv
        self.blocks = np.zeros((len(q), nx, nx))
        for t, time, last in self.span(q):
            base, jacobian = self.slope(q[t], v[t], time, last)
            states[t], self.blocks[t] = 2 * jacobian.T @ base, 2 * jacobian.T @ jacobian

    def curvature(self, q, v, controls, base, moving):
        return Curvature(np.arange(2 * self.model.nv), self.blocks)


class PeerSearch(_Search):
    """The search of carom.optimise on another engine's step."""

    def __init__(self, peer, steps, low, high):
        self.peer, self.loss, self.steps, self.low, self.high = peer, peer, steps, low, high
        self.bounds, self.nu, self.moving, self.effort = np.array([0, steps]), peer.model.nu, None, None

    def run(self, choose):
        """Steps from the start with the controls that `choose` says at each."""
        mujoco, model, data = self.peer.mujoco, self.peer.model, self.peer.data
        mujoco.mj_resetData(model, data)
        states, controls = [], []
        for t in range(self.steps):
            states.append((data.qpos.copy(), data.qvel.copy(), data.qacc_warmstart.copy()))
            controls.append(choose(t, data))
            data.ctrl[:] = controls[-1]
            for _ in range(self.peer.substeps):
                mujoco.mj_step(model, data)
        states.append((data.qpos.copy(), data.qvel.copy(), data.qacc_warmstart.copy()))
        q, v, warm = (np.array(x) for x in zip(*states))
        return np.array(controls), q, v, warm

    def finished(self, found):
        controls, q, v, warm = found
        slopes = self._with_effort(self.peer.slopes(q, v, controls), controls)
        return _Plan(controls, [warm], q, v, slopes, np.zeros((0, 2 * self.peer.model.nv)))

    def plan(self, controls, nodes):
        return self.finished(self.run(lambda t, data: controls[t]))

    def derivatives(self, plan, kappa):
        mujoco, model, data = self.peer.mujoco, self.peer.model, self.peer.data
        nx, a, b = 2 * model.nv, [], []
        self.peer.differentiate(plan.q, plan.v, plan.slopes.states)
        for t in range(self.steps):
            data.qpos[:], data.qvel[:], data.ctrl[:], data.qacc_warmstart[:] = plan.q[t], plan.v[t], plan.controls[t], plan.runs[0][t]
            a.append(np.eye(nx))
            b.append(np.zeros((nx, model.nu)))
            for _ in range(self.peer.substeps):
                one, push = np.zeros((nx, nx)), np.zeros((nx, model.nu))
                mujoco.mjd_transitionFD(model, data, EPSILON, True, one, push, None, None)
                a[-1], b[-1] = one @ a[-1], one @ b[-1] + push
                if self.peer.substeps > 1:
                    mujoco.mj_step(model, data)
        return np.array(a), np.array(b)

    def _steered(self, plan, change, part):
        mujoco, model = self.peer.mujoco, self.peer.model

        def choose(t, data):
            dq = np.zeros(model.nv)
            mujoco.mj_differentiatePos(model, dq, 1.0, plan.q[t], data.qpos)
            x = np.concatenate([dq, data.qvel - plan.v[t]])
            return np.clip(plan.controls[t] + part * change.controls[t] + change.gains[t] @ x, self.low, self.high)

        return self.run(choose)

    def along(self, plan, change, part):
        found = self._steered(plan, change, part)
        return self.finished(found) if np.isfinite(found[1]).all() and np.isfinite(found[2]).all() else None


def head(step):
    return (f'<mujoco><compiler angle="radian"/><option timestep="{step}" integrator="implicitfast" cone="elliptic"><flag autoreset="disable"/></option>'
            f'<default><geom condim="3"/></default><worldbody>')


def swing_up(module, given):
    xml = head(module.scene_step()) + """<body name="cart"><joint name="rail" type="slide" axis="1 0 0"/><geom type="box" size=".2 .1 .1" mass="1" contype="0" conaffinity="0"/>
<body name="pole"><joint name="hinge" axis="0 -1 0"/><inertial pos="0 0 -.5" mass="0.2" diaginertia="I I I"/></body></body></worldbody>
<actuator><motor joint="rail"/></actuator></mujoco>""".replace("I", str(given["world"].params["inertia"][1]))

    def residuals(m, d, t, last):
        lean = d.qpos[1] - np.pi
        return np.sqrt(2.0) * np.array([2 * np.sin(lean / 2), np.sqrt(0.1) * d.qvel[1], 0.5 * d.qpos[0], np.sqrt(0.1) * d.qvel[0]])

    return Peer(xml, residuals, lambda peer, plan: abs((plan.q[-1, 1]) % (2 * np.pi) - np.pi) < module.LEAN)


def jump(module, given):
    xml = head(module.STEP) + """<geom type="plane" size="0 0 1" friction=".8"/><body name="torso" pos="0 0 .55"><joint type="slide" axis="0 0 1"/>
<inertial pos="0 0 0" mass="4" diaginertia=".1 .1 .1"/><body name="foot" pos="0 0 -.5"><joint name="leg" type="slide" axis="0 0 -1" limited="true" range="-.2 .2"/>
<geom type="sphere" size=".05" mass=".5" friction=".8"/></body></body></worldbody><actuator><motor joint="leg"/></actuator></mujoco>"""
    return Peer(xml, lambda m, d, t, last: [10 * (d.xpos[1, 2] - module.HEIGHT), d.qvel[0]], lambda peer, plan: abs(plan.q[-1, 0] + 0.55 - module.HEIGHT) < 5e-3)


def push(module, given):
    xml = head(module.STEP) + f"""<geom type="plane" size="0 0 1" friction="{module.GRIP}"/><body name="box" pos="0 0 .1"><joint name="x" type="slide" axis="1 0 0"/>
<joint type="slide" axis="0 0 1"/><joint axis="0 -1 0"/><geom type="box" size=".2 .1 .1" mass="1" friction="{module.GRIP}"/></body></worldbody>
<actuator><motor joint="x"/></actuator></mujoco>"""

    def solved(peer, plan):
        return abs(plan.q[-1, 0] - module.MARK) < 5e-3 and abs(plan.v[-1, 0]) < 0.05

    return Peer(xml, lambda m, d, t, last: [10 * (d.qpos[0] - module.MARK), d.qvel[0]], solved)


def throw(module, given):
    world, felt = given["world"], 'friction=".6"'
    cup = "".join(f'<geom type="box" pos="{at}" size="{" ".join(str(float(x) / 2) for x in size.split())}" {felt} contype="1" conaffinity="2"/>' for at, size in module.CUP)
    far, high = module.BIN
    walls = "".join(f'<geom type="box" pos="{far + x} {y} {high / 2}" size="{w} {h} {high / 2}" {felt} contype="1" conaffinity="2"/>'
                    for x, y, w, h in [(-0.2, 0, 0.01, 0.2), (0.2, 0, 0.01, 0.2), (0, -0.2, 0.2, 0.01), (0, 0.2, 0.2, 0.01)])
    chain, close = "", ""
    for name, joint, at, centre, mass, inertia, most in module.PARTS:
        low, top = module.RANGES[joint]
        chain += (f'<body name="{name}" pos="{at}"><joint name="{joint}" axis="0 1 0" limited="true" range="{low} {top}"/>'
                  f'<inertial pos="{centre} 0 0" mass="{mass}" diaginertia="1e-3 {inertia} {inertia}"/>' + (cup if name == "hand" else ""))
        close += "</body>"
    motors = "".join(f'<motor joint="{joint}"/>' for joint in module.RANGES)
    xml = (head(module.STEP) + f'<geom type="plane" size="0 0 1" {felt} contype="1" conaffinity="2"/>{walls}{chain}{close}'
           f'<body name="ball" pos="{" ".join(str(x) for x in world.body("ball").position)}"><freejoint/><geom type="sphere" size=".04" mass=".1" {felt} contype="2" conaffinity="1"/></body>'
           f"</worldbody><actuator>{motors}</actuator></mujoco>")

    def residuals(m, d, t, last):
        (x, _, z), vx = d.body("ball").xpos, d.qvel[3]
        return [np.sqrt(10) * (x - far), np.sqrt(10) * (z - high - 0.05), np.sqrt(0.02) * (vx - 1)]

    def solved(peer, plan):
        peer.place(plan.q[-1], plan.v[-1])
        peer.data.ctrl[:] = 0
        for _ in range(100):
            peer.mujoco.mj_step(peer.model, peer.data)
        x, y, z = peer.data.body("ball").xpos
        return abs(x - far) < 0.2 and abs(y) < 0.2 and z < high

    return Peer(xml, residuals, solved)


def step(module, given):
    import mujoco

    r, world = module.RADIUS, given["world"]
    height = world.body("torso").position[2]
    shape = dict(zip(world.bodies, world.params["inertia"]))
    legs = ""
    for leg, (x, y) in module.LEGS.items():
        hip, knee = module.HIP, module.HIP + module.KNEE
        quat = lambda angle: f"{np.cos(angle / 2)} 0 {np.sin(angle / 2)} 0"  # noqa: E731
        one = lambda part: " ".join(str(i) for i in shape[f"{leg}_{part}"])  # noqa: E731
        legs += (f'<body name="{leg}_thigh" pos="{x} {y} 0" quat="{quat(hip)}"><joint name="{leg}_hip" axis="0 1 0"/>'
                 f'<inertial pos="0 0 {-module.THIGH / 2}" mass=".6" diaginertia="{one("thigh")}"/>'
                 f'<body name="{leg}_shank" pos="0 0 {-module.THIGH}" quat="{quat(knee - hip)}"><joint name="{leg}_knee" axis="0 1 0"/>'
                 f'<inertial pos="0 0 {-module.SHANK / 2}" mass=".6" diaginertia="{one("shank")}"/>'
                 f'<geom type="capsule" size="{r}" fromto="0 0 0 0 0 {-module.SHANK}" friction=".8" contype="1" conaffinity="2"/></body></body>')
    servos = "".join(f'<general joint="{name}" gaintype="fixed" biastype="affine" gainprm="300" biasprm="0 -300 -6" forcelimited="true" forcerange="-60 60"/>'
                     for name in world.controls)
    # At 10 ms its soft feet hop and creep 5 cm back while it stands; at 2 ms it stands as ours does.
    xml = (head(module.STEP / 5) + f'<geom type="plane" size="0 0 1" friction=".8" contype="2" conaffinity="1"/><body name="torso" pos="0 0 {height}"><freejoint/>'
           f'<inertial pos="0 0 0" mass="8" diaginertia="{" ".join(str(i) for i in shape["torso"])}"/>{legs}</body></worldbody><actuator>{servos}</actuator></mujoco>')
    states = module.STEPS + 1

    def foot(d):
        shank = d.body("fl_shank")
        return shank.xpos + shank.xmat.reshape(3, 3) @ [0, 0, -module.SHANK]

    begin = module.swing(0.0)[0]

    def residuals(m, d, t, last):
        x, z = module.swing(t)
        tip = foot(d)
        out = [np.sqrt(200 / states) * (tip[0] - x), np.sqrt(200 / states) * (tip[2] - z), *(np.sqrt(0.1 / states) * d.qvel[:6])]
        shank = np.zeros(6)
        mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_BODY, d.body("fl_shank").id, shank, 0)
        end = [np.sqrt(20) * (tip[0] - begin - module.FORWARD), *(np.sqrt(20) * d.qpos[4:7]), np.sqrt(20) * (d.qpos[2] - height), *(np.sqrt(0.2) * d.qvel[:6]),
               *(np.sqrt(0.5) * shank[3:])]
        return out + [x if last else 0.0 for x in end]

    def solved(peer, plan):
        tips = []
        for q, v in zip(plan.q, plan.v):
            peer.place(q, v)
            tips.append(foot(peer.data).copy())
        for _ in range(50 * peer.substeps):
            peer.data.ctrl[:] = plan.controls[-1]
            peer.mujoco.mj_step(peer.model, peer.data)
        down, d = foot(peer.data), peer.data
        carries = any(sorted((d.contact[i].geom1, d.contact[i].geom2))[1] == peer.model.body("fl_shank").geomadr[0] for i in range(d.ncon))
        return bool(abs(down[0] - begin - module.FORWARD) < 0.01 and max(tip[2] for tip in tips) > r + 0.5 * module.HIGH and carries
                    and abs(d.qpos[2] - height) < 0.03 and np.abs(d.qvel).max() < 0.05)

    return Peer(xml, residuals, solved, running=True, substeps=5)


PEERS = {"cart_pole_swing_up": swing_up, "hopper_jump": jump, "throw_into_bin": throw, "box_push": push, "quadruped_step": step}


def starts_of(given, count):
    """Random starts about the given one, the same for both engines."""
    nu = len(given["world"].controls)
    base = np.array(np.broadcast_to(given["controls"], (given["steps"], nu)), dtype=float)
    low, high = (np.broadcast_to(np.asarray(x, dtype=float), (nu,)).astype(float) for x in given["limits"])
    chance = np.random.default_rng(1)
    return [np.clip(_moved(base, low, high, chance), low, high) for _ in range(count)], low, high


def ours(module, given, starts):
    for first in starts:
        begun = time.process_time()
        found = optimise(**{**given, "controls": first})
        took = time.process_time() - begun
        yield bool(module.solved(found)), took, len(found.history) - 1, found.loss


def theirs(peer, given, starts, low, high):
    for first in starts:
        begun = time.process_time()
        search, near = PeerSearch(peer, given["steps"], low, high), np.random.default_rng((0, 0))
        plan, history, _, _ = search.explore(first, None, given.get("rounds", ROUNDS), 1e-7, given.get("hops", 0), near)
        took = time.process_time() - begun
        yield bool(peer.solved(peer, plan)), took, len(history) - 1, history[-1]


def noted(name, engine, start, found):
    """Keeps what came of a start of a task."""
    with NOTES.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        notes = json.loads(file.read() or "{}")
        notes.setdefault(name, {}).setdefault(engine, {})[str(start)] = dict(zip(("solved", "seconds", "rounds", "loss"), found))
        file.truncate(0)
        file.write(json.dumps(notes, indent=1, sort_keys=True) + "\n")


def table():
    notes = json.loads(NOTES.read_text())
    rows = ["| task | steps | controls | carom | s | rounds | MuJoCo by differences | s | rounds |", "|---|---|---|---|---|---|---|---|---|"]
    for name, what in TASKS.items():
        given, cells = example(name).task(), []
        for engine in ("carom", "mujoco"):
            found = [*notes.get(name, {}).get(engine, {}).values()]
            middle = [statistics.median(one[key] for one in found) for key in ("seconds", "rounds")] if found else None
            cells += [f"{sum(one['solved'] for one in found)} of {len(found)}", f"{middle[0]:.1f}", f"{middle[1]:.0f}"] if middle else ["-"] * 3
        rows.append(f"| {what} | {given['steps']} | {len(given['world'].controls)} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, nargs="*", default=range(STARTS), help=f"which, of {STARTS}")
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--engines", nargs="*", default=["carom", "mujoco"], choices=["carom", "mujoco"])
    parser.add_argument("--write", action="store_true", help="put what is noted into docs/python.md")
    options = parser.parse_args()
    if options.write:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + BEGIN + "\n" + table() + "\n" + END + rest.split(END, 1)[1])
        return
    warnings.simplefilter("ignore")
    for name in options.tasks:
        module = example(name)
        given = module.task()
        starts, low, high = starts_of(given, STARTS)
        for engine in options.engines:
            chosen = [starts[k] for k in options.starts]
            search = ours(module, given, chosen) if engine == "carom" else theirs(PEERS[name](module, given), given, chosen, low, high)
            for start, one in zip(options.starts, search):
                print(name, engine, start, "solved" if one[0] else "not solved", f"{one[1]:.1f} s, {one[2]} rounds, loss {one[3]:.1e}", flush=True)
                noted(name, engine, start, one)


if __name__ == "__main__":
    main()
