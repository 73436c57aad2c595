"""An arm read from URDF throws the ball that lies in its cup into a bin, by torques found through the contact that the ball leaves.

    python examples/python/throw_into_bin.py
"""

import pathlib
import tempfile
import time

import numpy as np

import carom

STEP, STEPS, BIN = 0.01, 70, (1.6, 0.3)
"""The run ends as the ball falls through the mouth of the bin: its middle, and how high it stands [m]."""

CUP = [("-0.1 0 -0.045", "0.12 0.12 0.01"), ("-0.165 0 -0.02", "0.01 0.12 0.06"), ("-0.035 0 -0.02", "0.01 0.12 0.06")]


#: Links with their joints and where they stand in the link before, centres of mass, masses, inertias across, and bounds of torques.
PARTS = [("upper", "shoulder", "0 0 0.7", -0.2, 1.5, 0.02, 60), ("fore", "elbow", "-0.4 0 0", -0.15, 0.8, 0.008, 30), ("hand", "wrist", "-0.3 0 0", -0.1, 0.3, 0.002, 8)]
RANGES = {"shoulder": (-0.5, 2.5), "elbow": (-0.5, 1.5), "wrist": (-1.0, 1.0)}


def arm():
    """Three links on one line, the cup below it, so that the ball lies at its height."""
    boxes = "".join(f'<collision><origin xyz="{at}"/><geometry><box size="{size}"/></geometry></collision>' for at, size in CUP)
    text, parent = "", "world"
    for name, joint, at, centre, mass, inertia, most in PARTS:
        low, high = RANGES[joint]
        text += (f'<link name="{name}"><inertial><origin xyz="{centre} 0 0"/><mass value="{mass}"/>'
                 f'<inertia ixx="1e-3" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial>{boxes if name == "hand" else ""}</link>'
                 f'<joint name="{joint}" type="revolute"><parent link="{parent}"/><child link="{name}"/><origin xyz="{at}"/><axis xyz="0 1 0"/>'
                 f'<limit lower="{low}" upper="{high}" effort="{most}" velocity="20"/></joint>')
        parent = name
    return f'<robot name="arm"><link name="world"/>{text}</robot>'


def scene():
    made = carom.Scene(3, step=STEP)
    made.material("felt", friction=0.6, restitution=0)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "arm.urdf")
        path.write_text(arm())
        made.add(path)
    made.body("ground", kind="static", shape={"half_space": [0, 0, 1]}, material="felt")
    walls = [{"box": [0.02, 0.4, BIN[1]], "at": [x, 0, 0]} for x in (-0.2, 0.2)] + [{"box": [0.4, 0.02, BIN[1]], "at": [0, y, 0]} for y in (-0.2, 0.2)]
    made.body("bin", kind="static", shape=walls, position=[BIN[0], 0, BIN[1] / 2], material="felt")
    made.body("ball", shape={"ball": 0.04}, mass=0.1, position=[-0.8, 0, 0.7], material="felt")
    return made.world()


def solved(found):
    """The ball lies in the bin a second later."""
    world, run = scene(), found.rollout
    world.q, world.v = run.q[-1], run.v[-1]
    world.step(100, controls=[0, 0, 0])
    x, y, z = world.body("ball").position
    return abs(x - BIN[0]) < 0.2 and abs(y) < 0.2 and z < BIN[1]


def task():
    world = scene()
    # Through the mouth, on the way down.
    loss = f"10 * (ball.x - {BIN[0]})^2 + 10 * (ball.z - {BIN[1] + 0.05})^2 + 0.02 * (ball.vx - 1)^2"
    # What holds the arm, and more. From there the ball leaves the cup too early to be caught again: hops find another throw.
    hold = world.inverse_dynamics(np.zeros(len(world.joint_names)), contacts="none")[:3]
    return {"world": world, "loss": loss, "controls": 2.0 * hold, "steps": STEPS, "limits": (-np.array([60, 30, 8]), np.array([60, 30, 8])), "hops": 4}


def main():
    begun = time.process_time()
    given = task()
    # From what holds the arm alone.
    found = carom.optimise(**{**given, "controls": 0.5 * given["controls"]})
    took = time.process_time() - begun
    left = [touch for touch in found.contacts if set(touch.bodies) == {"ball", "hand"}]
    print(f"ball leaves the cup at {left[-1].ends:.2f} s and passes {found.rollout.q[-1, -1, 0]:.3f} m at {found.rollout.q[-1, -1, 2]:.3f} m, {took:.1f} s")
    assert solved(found)


if __name__ == "__main__":
    main()
