"""Models on the ground until they rest, beside MuJoCo: writes the table of docs/imports.md.

The 14 MJCF models of gymnasium, without controls, and twelve URDF models of pybullet_data, whose joints are held where they start (1/240 s). Each runs at its own step.
A height is that of the centre of mass of the root: the first body that moves. MuJoCo has the same model with the same ground and the same servos, in steps of at most
1 ms, implicit in its velocities.

    python tests/imports/rest.py [SECONDS] [NAME ...]

Needs mujoco, gymnasium and the models that tests/imports/bullet_data.py unpacks, and cargo for the engine's side (`crates/carom/examples/rest.rs`). It says which of the
three demands a model misses: no `inaccurate` and no `stepped` step in the second half of the run, five times real time, two hundredths of the height.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import mujoco
import numpy as np

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "imports.md"
BEGIN, END = "<!-- table at rest: tests/imports/rest.py -->", "<!-- end at rest -->"
URDF = {
    "a1/a1.urdf": "free", "aliengo/aliengo.urdf": "free", "laikago/laikago_toes_zup.urdf": "free", "quadruped/minitaur.urdf": "free",
    "quadruped/spirit40.urdf": "free", "quadruped/vision60.urdf": "free", "mini_cheetah/mini_cheetah.urdf": "free", "r2d2.urdf": "free",
    "racecar/racecar.urdf": "free", "kuka_iiwa/model.urdf": "fixed", "franka_panda/panda.urdf": "fixed", "xarm/xarm6_robot.urdf": "fixed",
}
# What the importer holds joints with.
STIFFNESS, TIME, EFFORT = 1000.0, 0.05, 1e6


def folder(package, *parts):
    return pathlib.Path(importlib.util.find_spec(package).origin).parent.joinpath(*parts)


def ours(path, seconds, *words):
    command = ["cargo", "run", "-q", "--release", "-p", "carom", "--example", "rest", "--", str(path), str(seconds), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def theirs(path, seconds, base, start):
    """Heights of the centres of mass at the end, by body."""
    if path.suffix == ".xml":
        model = mujoco.MjModel.from_xml_path(str(path))
        data = mujoco.MjData(model)
    else:
        model, data = held(path, base, start)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.timestep = min(model.opt.timestep, 1e-3)
    mujoco.mj_forward(model, data)
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    return centres(model, data), float(np.abs(data.qvel).max(initial=0.0))


def centres(model, data):
    """Heights of the centres of mass of bodies with all that is fixed to them, by the first of them."""
    found = {}
    for top in np.unique(model.body_weldid[1:]):
        group = model.body_weldid == top
        mass = model.body_mass[group]
        if mass.sum() > 0:
            found[model.body(top).name] = float(mass @ data.xipos[group, 2] / mass.sum())
    return found


def held(path, base, start):
    """A URDF model on a ground with every hinge and slide held where it starts, as the importer's `hold` does."""
    text = re.sub(r"package://[^\"']*?/(?=[^\"']*\.(?:stl|obj|dae))", "", path.read_text(errors="replace"), flags=re.I)
    text = re.sub(r"<visual\b(?:[^>]*/>|.*?</visual>)", "", text.replace("\0", ""), flags=re.S)
    flags = '<mujoco><compiler discardvisual="true" inertiafromgeom="false" fusestatic="false" balanceinertia="true" strippath="false"/></mujoco>'
    text = re.sub(r"(<robot\b[^>]*>)", r"\1" + flags, text, count=1)
    limits = {joint.get("name"): joint.find("limit") for joint in ET.fromstring(text).iter("joint")}
    beside = path.with_name("rest_of_" + path.name)
    beside.write_text(text)
    try:
        spec = mujoco.MjSpec.from_file(str(beside))
    finally:
        beside.unlink()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[1, 0, 0])
    roots = list(spec.worldbody.bodies)
    if base == "free":
        roots[0].add_freejoint()
    mass = spec.copy().compile().body_mass.sum()
    for joint in list(spec.joints):
        if joint.type in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            limit = limits.get(joint.name)
            kp, most = STIFFNESS * mass, EFFORT if limit is None else float(limit.get("effort", EFFORT))
            spec.add_actuator(
                name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT, gaintype=mujoco.mjtGain.mjGAIN_FIXED,
                biastype=mujoco.mjtBias.mjBIAS_AFFINE, gainprm=[kp] + [0] * 9, biasprm=[0, -kp, -kp * TIME] + [0] * 7,
                forcelimited=True, forcerange=[-most, most],
            )
    model = spec.compile()
    # URDF says nothing of what its links do to each other: as the importer has it, nothing.
    model.geom_contype[1:], model.geom_conaffinity[1:] = 1, 2
    model.geom_contype[0], model.geom_conaffinity[0] = 2, 1
    data = mujoco.MjData(model)
    if base == "free":
        mujoco.mj_forward(model, data)
        root = model.body(model.jnt_bodyid[0]).name
        data.qpos[2] += start[root] - centres(model, data)[root]
    return model, data


def row(path, name, seconds, base):
    urdf = path.suffix == ".urdf"
    words = (["0.004166666666666667"] + (["fixed"] if base == "fixed" else []) + ["hold"]) if urdf else []
    try:
        mine = ours(path, seconds, *words)
    except RuntimeError as cause:
        return f"| {name} | failed: {cause} |"
    start = {body: z[0] for body, z in mine["heights"].items()}
    try:
        heights, speed = theirs(path, seconds, base, start)
    except ValueError as cause:
        heights, speed, refused = {}, 0.0, str(cause).splitlines()[0]
        print(name, "MuJoCo:", refused, file=sys.stderr)
    root = next(iter(mine["heights"]))
    z, other = mine["heights"][root][1], heights.get(root)
    misses = []
    if mine["inaccurate_late"] or mine["stepped_late"]:
        misses.append("not at rest exactly")
    if mine["rate"] < 5:
        misses.append("slow")
    if other is not None and abs(z - other) > 0.02 * abs(other):
        misses.append("height")
    if mine["speed"] > 1e-3 or speed > 1e-2:
        misses.append(f"no rest (ours {mine['speed']:.0e}, MuJoCo {speed:.0e})")
    shown = "-" if other is None else f"{other:.4f}"
    return (f"| {name} | {mine['step']:.4g} | {mine['rate']:.1f} | {mine['inaccurate']}, {mine['stepped']} | {mine['inaccurate_late']}, {mine['stepped_late']} | "
            f"{root} | {z:.4f} | {shown} | {', '.join(misses) or '-'} |")


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 6.0
    wanted = sys.argv[2:]
    models = [(path, path.name, "free") for path in sorted(folder("gymnasium", "envs", "mujoco", "assets").glob("*.xml"))]
    models += [(folder("pybullet_data", name), name, base) for name, base in URDF.items()]
    head = ("| model | step [s] | times real time | inaccurate, stepped | at rest | root | height [m] | MuJoCo's | misses |\n"
            "|---|---|---|---|---|---|---|---|---|")
    print(head, flush=True)
    rows = []
    for path, name, base in models:
        if not wanted or any(word in name for word in wanted):
            rows.append(row(path, name, seconds, base))
            print(rows[-1], flush=True)
    if not wanted:
        page = PAGE.read_text()
        before, _, rest = page.partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(before + BEGIN + "\n" + head + "\n" + "\n".join(rows) + "\n" + END + after)


if __name__ == "__main__":
    main()
