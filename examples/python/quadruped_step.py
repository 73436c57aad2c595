"""A quadruped takes a step: one foot is lifted, set down farther ahead, and carries again. Controls are the targets of its servos.

    python examples/python/quadruped_step.py
"""

import time

import numpy as np

import carom

STEP, STEPS, FORWARD, HIGH = 0.01, 60, 0.06, 0.03
THIGH, SHANK, HIP, KNEE, RADIUS = 0.25, 0.25, 0.7, -1.4, 0.02
LEGS = {"fl": (0.25, 0.18), "fr": (0.25, -0.18), "bl": (-0.25, 0.18), "br": (-0.25, -0.18)}
FOOT = f"fl_shank.at(0, 0, {-SHANK / 2})"


def scene():
    """A torso on four legs of two hinges each, standing on bent legs."""
    made = carom.Scene(3, step=STEP)
    made.body("ground", kind="static", shape={"half_space": [0, 0, 1]}, friction=0.8, group=["floor"])
    height = THIGH * np.cos(HIP) + SHANK * np.cos(HIP + KNEE) + RADIUS
    made.body("torso", shape={"box": [0.6, 0.3, 0.12]}, mass=8.0, position=[0, 0, height], mask=[])
    for leg, (x, y) in LEGS.items():
        at, parent = np.array([x, y, height]), "torso"
        for part, joint, length, angle, mask in [("thigh", "hip", THIGH, HIP, []), ("shank", "knee", SHANK, HIP + KNEE, ["floor"])]:
            along = -np.array([np.sin(angle), 0, np.cos(angle)])
            made.body(f"{leg}_{part}", shape={"capsule": [length, RADIUS]}, mass=0.6, position=at + along * length / 2,
                      rotation=[np.cos(angle / 2), 0, np.sin(angle / 2), 0], mask=mask, friction=0.8)
            made.joint(f"{leg}_{joint}", kind="hinge", between=[f"{leg}_{part}", parent], anchor=at, axis=[0, 1, 0],
                       motor={"servo": "position", "stiffness": 300, "damping": 6, "max": 60, "control": True})
            at, parent = at + along * length, f"{leg}_{part}"
    return made.world()


def swing(at):
    """Where the foot is wanted, forward and up, at a time [s]; as a text where the time is one."""
    begin = LEGS["fl"][0] - THIGH * np.sin(HIP) - SHANK * np.sin(HIP + KNEE)
    if isinstance(at, str):
        return f"({begin} + {FORWARD} / (1 + exp((0.2 - {at}) / 0.03)))", f"({RADIUS} + {HIGH} * exp(-(({at} - 0.2) / 0.07)^2))"
    return begin + FORWARD / (1 + np.exp((0.2 - at) / 0.03)), RADIUS + HIGH * np.exp(-(((at - 0.2) / 0.07) ** 2))


def foot(row):
    """Place of the front left foot in a state."""
    w, i, j, k = row[3:]
    up = np.array([2 * (i * k + w * j), 2 * (j * k - w * i), 1 - 2 * (i * i + j * j)])
    return row[:3] - SHANK / 2 * up


def solved(found):
    """Half a second later the foot stands ahead on the ground, it was lifted on the way, and the torso is where it was."""
    world, run = scene(), found.rollout
    shank, torso = world.bodies.index("fl_shank"), world.bodies.index("torso")
    begin, highest = foot(run.q[0, shank]), max(foot(row)[2] for row in run.q[:, shank])
    high = run.q[0, torso, 2]
    world.q, world.v = run.q[-1], run.v[-1]
    for _ in range(50):
        world.step(controls=found.controls[-1])
    end = foot(world.q[shank])
    stands = abs(world.q[torso, 2] - high) < 0.03 and np.abs(world.v).max() < 0.05
    return bool(abs(end[0] - begin[0] - FORWARD) < 0.01 and highest > RADIUS + 0.5 * HIGH and world.contact_force("fl_shank", "ground")[2] > 0 and stands)


def task():
    world = scene()
    x, z = swing("time")
    end, high = swing(STEP * STEPS)[0], world.body("torso").position[2]
    slow = "(torso.vx^2 + torso.vy^2 + torso.vz^2 + torso.wx^2 + torso.wy^2 + torso.wz^2)"
    loss = (f"mean(200 * ({FOOT}.x - {x})^2 + 200 * ({FOOT}.z - {z})^2 + 0.1 * {slow}) + 20 * ({FOOT}.x - {end})^2 + 20 * (torso.z - {high})^2"
            f" + 20 * torso.qx^2 + 20 * torso.qy^2 + 20 * torso.qz^2 + 0.2 * {slow} + 0.5 * (fl_shank.vx^2 + fl_shank.vy^2 + fl_shank.vz^2)")
    return {"world": world, "loss": loss, "controls": np.zeros(8), "steps": STEPS, "limits": (-0.6, 0.6), "kappa": 1e-3, "rounds": 60}


def main():
    begun = time.process_time()
    given = task()
    found = carom.optimise(**given)
    took = time.process_time() - begun
    shank = given["world"].bodies.index("fl_shank")
    path = np.array([foot(row) for row in found.rollout.q[:, shank]])
    print(f"foot {1e3 * (path[-1, 0] - path[0, 0]):.1f} mm ahead, lifted by {1e3 * (path[:, 2].max() - RADIUS):.1f} mm, {took:.1f} s")
    assert solved(found)


if __name__ == "__main__":
    main()
