"""Joint coordinates of gymnasium's MJCF models over a second of driven motion, armature on, beside MuJoCo (Runge-Kutta of fourth order, 0.1 ms).

Contacts and limits are off on both sides, media too; every joint with an actuator is driven by the same torque. Prints the worst difference until the time at which MuJoCo
would first have a contact, and over the whole second.

    python tests/imports/angles.py [TORQUE]

Needs mujoco and gymnasium, and cargo for the engine's side (`crates/import/examples/angles.rs`).
"""

import importlib.util
import pathlib
import subprocess
import sys

import mujoco
import numpy as np

ROOT = pathlib.Path(__file__).parents[2]
STEP, TIME = 1e-4, 1.0


def ours(path, torque):
    command = ["cargo", "run", "-q", "-p", "carom-import", "--example", "angles", "--", str(path), str(STEP), str(TIME), str(torque)]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = np.array([[float(x) for x in line.split()] for line in text[2:]])
    return text[0].split(), text[1].split(), rows


def theirs(path, driven, torque, times, contacts):
    """Scalar joints by name: coordinates from the start at times; and the time of the first contact."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = STEP
    model.opt.density = model.opt.viscosity = 0
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT) | (0 if contacts else int(mujoco.mjtDisableBit.mjDSBL_CONTACT))
    data = mujoco.MjData(model)
    scalar = {model.joint(j).name: j for j in range(model.njnt) if model.jnt_type[j] in (2, 3)}
    for name in driven:
        data.qfrc_applied[model.jnt_dofadr[scalar[name]]] = torque
    start, rows, first = data.qpos.copy(), [], None
    for count in range(1, round(TIME / STEP) + 1):
        mujoco.mj_step(model, data)
        if first is None and data.ncon and min(data.contact.dist) < 0:
            first = data.time
            if contacts:
                break
        if len(rows) < len(times) and abs(data.time - times[len(rows)]) < STEP / 2:
            rows.append([(data.qpos - start)[model.jnt_qposadr[j]] for j in scalar.values()])
    return list(scalar), model.jnt_type[list(scalar.values())], np.array(rows), first


def main():
    torque = float(sys.argv[1]) if len(sys.argv) > 1 else 0.2
    folder = pathlib.Path(importlib.util.find_spec("gymnasium").origin).parent / "envs" / "mujoco" / "assets"
    print("| model | joints | first contact [s] | worst until then [rad or m] | worst over 1 s | way |\n|---|---|---|---|---|---|")
    for path in sorted(folder.glob("*.xml")):
        names, driven, rows = ours(path, torque)
        times = rows[:, 0]
        joints, kinds, wanted, _ = theirs(path, driven, torque, times, False)
        first = theirs(path, driven, torque, times, True)[3]
        both = [(names.index(name), k) for k, name in enumerate(joints) if name in names]
        if not both:
            print(f"| {path.name} | 0 of {len(joints)} | - | - | - | - |")
            continue
        mine, yours = rows[:, 1:][:, [a for a, _ in both]], wanted[:, [b for _, b in both]]
        apart = mine - yours
        hinge = kinds[[b for _, b in both]] == 3
        apart[:, hinge] -= 2 * np.pi * np.round(apart[:, hinge] / (2 * np.pi))
        worst = np.abs(apart).max(axis=1)
        until = worst[times <= (first if first is not None else TIME + STEP)]
        shown = "-" if first is None else f"{first:.3f}"
        early = f"{until.max():.0e}" if len(until) else "at the start"
        print(f"| {path.name} | {len(both)} of {len(joints)} | {shown} | {early} | {worst.max():.0e} | {np.abs(yours).max():.1f} |")


if __name__ == "__main__":
    main()
