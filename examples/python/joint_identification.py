"""Rotor inertia and dry friction of a joint from the angles of free swings, measured to a tenth of a milliradian.

    python examples/python/joint_identification.py
"""

import numpy as np

import carom

ARMATURE, FRICTION, NOISE = 0.05, 0.12, 1e-4


def pendulum(armature, friction):
    scene = carom.Scene(2, step=0.005)
    scene.body("rod", mass=1.5, inertia=0.04, position=[0.4, 0])
    scene.joint("pivot", kind="hinge", between=["rod", "world"], anchor=[0, 0], armature=armature, friction=friction)
    return scene.world()


def main():
    rng = np.random.default_rng(0)
    motions = []
    for angle in (-0.3, -1.1, 0.4):
        world = pendulum(ARMATURE, FRICTION)
        world.set_joints({"pivot": angle})
        angles = [world.joint_q[0]]
        for _ in range(300):
            world.step()
            angles.append(world.joint_q[0])
        angles = np.array(angles)[:, None]
        # From rest, so that nothing is asked of its rate.
        rates = np.full(angles.shape, np.nan)
        rates[0] = 0.0
        motions.append({"time": 0.005 * np.arange(301), "joint_q": angles + NOISE * rng.standard_normal(angles.shape), "joint_v": rates})
    found = carom.fit(pendulum(0.02, 0.05), motions, {"joint_armature[pivot]": 0.02, "joint_friction[pivot]": 0.05})
    for name, truth in [("joint_armature[pivot]", ARMATURE), ("joint_friction[pivot]", FRICTION)]:
        low, high = found.intervals[name]
        print(f"{name}: {found.values[name]:.6f}, 95 % between {low:.6f} and {high:.6f}; truth {truth}")
        assert abs(found.values[name] - truth) < 1e-3 * truth + 2 * (high - low) and high - low < 0.02 * truth
    assert not found.undetermined


if __name__ == "__main__":
    main()
