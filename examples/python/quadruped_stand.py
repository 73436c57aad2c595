"""A quadruped stands on four feet, held by springs and dampers of its own in joint coordinates, and takes a push.

    python examples/python/quadruped_stand.py
"""

import numpy as np

import carom

STEP, THIGH, SHANK, SECONDS = 0.002, 0.25, 0.25, 1.5
HIP, KNEE = 0.7, -1.4


def quadruped():
    """A torso on four legs of two hinges each, standing with bent knees; eight controls."""
    scene = carom.Scene(3, step=STEP)
    scene.body("ground", kind="static", shape={"half_space": [0, 0, 1]}, friction=0.8, group=["floor"])
    height = THIGH * np.cos(HIP) + SHANK * np.cos(HIP + KNEE) + 0.02
    scene.body("torso", shape={"box": [0.6, 0.3, 0.12]}, mass=8.0, position=[0, 0, height], mask=[])
    for name, x, y in [("fl", 0.25, 0.18), ("fr", 0.25, -0.18), ("bl", -0.25, 0.18), ("br", -0.25, -0.18)]:
        top = np.array([x, y, height])
        turn = lambda angle: np.array([-np.sin(angle), 0, -np.cos(angle)])  # noqa: E731
        knee = top + THIGH * turn(HIP)
        foot = knee + SHANK * turn(HIP + KNEE)
        for part, a, b, angle, mask in [("thigh", top, knee, HIP, []), ("shank", knee, foot, HIP + KNEE, ["floor"])]:
            half = angle / 2
            scene.body(f"{name}_{part}", shape={"capsule": [float(np.linalg.norm(b - a)), 0.02]}, mass=0.6, position=(a + b) / 2,
                       rotation=[np.cos(half), 0, np.sin(half), 0], mask=mask, friction=0.8)
        for joint, pair, at in [("hip", [f"{name}_thigh", "torso"], top), ("knee", [f"{name}_shank", f"{name}_thigh"], knee)]:
            scene.joint(f"{name}_{joint}", kind="hinge", between=pair, anchor=at, axis=[0, 1, 0], motor={"control": True, "max": 60})
    return scene.world()


def main():
    world = quadruped()
    torso, joints = world.body("torso"), [world.joint_names.index(name) for name in world.controls]
    high, weight = torso.position[2], 9.81 * world.params["mass"][1:].sum()
    lowest = high
    for k in range(round(SECONDS / STEP)):
        q, v = world.joint_q[joints], world.joint_v[joints]
        carried = world.inverse_dynamics(np.zeros(len(world.joint_names)))[joints] if world.contacts() else 0.0
        if 250 <= k < 275:
            torso.apply(force=[0, 0, -150.0])
        world.step(controls=carried - 300 * q - 6 * v)
        lowest = min(lowest, torso.position[2])
    pushed = sum(world.contact_force(f"{leg}_shank", "ground")[2] for leg in ("fl", "fr", "bl", "br"))
    print(f"torso {1e3 * (high - lowest):.1f} mm lower at most, {1e3 * abs(high - torso.position[2]):.2f} mm at the end")
    print(f"four feet carry {pushed:.2f} N of {weight:.2f} N, joints within {np.abs(world.joint_q[joints]).max():.1e} rad")
    assert high - lowest > 1e-3 and abs(high - torso.position[2]) < 2e-3 and abs(pushed - weight) < 0.02 * weight


if __name__ == "__main__":
    main()
