"""A five-bar robot, two cranks and two rods closed into a loop: its tip is led round a circle by inverse kinematics, then by torques.

    python examples/python/five_bar_reach.py
"""

import numpy as np

import carom

CRANK, ROD, FRAME, STEP = 0.5, 0.8, 0.4, 0.005
CENTRE, RADIUS, POINTS = np.array([0.2, 0.85]), 0.15, 48


def rod(scene, name, p, q):
    """A thin rod between two points."""
    p, q = np.array(p), np.array(q)
    length, along = np.linalg.norm(q - p), q - p
    scene.body(name, shape={"capsule": [length, 0.01]}, mass=length, position=(p + q) / 2, angle=np.arctan2(along[1], along[0]), mask=[])


def five_bar():
    """Left crank, left rod, right crank, right rod; the rods meet in the tip, which closes the loop."""
    left, right = np.array([-0.2, 0.4]), np.array([0.6, 0.4])
    tip = np.array([0.2, 0.4 + np.sqrt(ROD**2 - 0.4**2)])
    scene = carom.Scene(2, step=STEP, gravity=[0, 0])
    rod(scene, "left", [0, 0], [left[0], left[1]])
    rod(scene, "left_rod", left, tip)
    rod(scene, "right", [FRAME, 0], right)
    rod(scene, "right_rod", right, tip)
    for name, between, anchor in [("a", ["left", "world"], [0, 0]), ("left_knee", ["left_rod", "left"], left), ("b", ["right", "world"], [FRAME, 0]),
                                  ("right_knee", ["right_rod", "right"], right), ("tip", ["left_rod", "right_rod"], tip)]:
        motor = {"motor": {"control": True}} if name in "ab" else {}
        scene.joint(name, kind="hinge", between=between, anchor=anchor, **motor)
    return scene.world()


def law_of_cosines(target):
    """The angle of the left crank by closed form, elbow out."""
    distance, crank = np.linalg.norm(target), np.hypot(0.2, 0.4)
    return np.arctan2(target[1], target[0]) + np.arccos((crank**2 + distance**2 - ROD**2) / (2 * crank * distance))


def main():
    world = five_bar()
    start = np.arctan2(0.4, -0.2)
    end = [ROD / 2, 0.0]
    circle = CENTRE + RADIUS * np.stack([np.cos(t := np.linspace(0, 2 * np.pi, POINTS + 1)), np.sin(t)], axis=1)
    path, miss, off = [], 0.0, 0.0
    for target in circle:
        reach = world.inverse_kinematics({"left_rod": {"point": end, "position": target}})
        assert reach.converged
        world.q = reach.q
        path.append(reach.joint_q)
        miss = max(miss, np.linalg.norm(world.body("left_rod").point(end) - target))
        off = max(off, abs(start + reach.joint_q[0] - law_of_cosines(target)))
    print(f"{POINTS} points of a circle: tip off by {miss:.1e} m at most, crank by {off:.1e} rad from the law of cosines")
    # Round once more in five seconds, by torques on the two cranks: those of inverse dynamics, shifted there through the loop, and a correction.
    path = np.array(path)
    hold, steps = 20, POINTS * 20
    wanted = np.stack([np.interp(np.arange(steps + 1), np.arange(POINTS + 1) * hold, column) for column in path.T], axis=1)
    world.set_joints(dict(zip(world.joint_names, path[0])))
    cranks = [world.joint_names.index(name) for name in "ab"]
    worst = 0.0
    for k in range(steps):
        rate = (wanted[k + 1] - wanted[k]) / STEP
        torque = world.inverse_dynamics(200 * (wanted[k] - world.joint_q) + 28 * (rate - world.joint_v))
        free = np.linalg.svd(world.loop_jacobian())[2][2:]                       # motions that keep the loop closed
        world.step(controls=np.linalg.solve(free[:, cranks], free @ torque))     # the same power by the cranks alone
        worst = max(worst, np.linalg.norm(world.joint_q - wanted[k + 1]))
    print(f"led by torques in {steps * STEP:.2f} s: coordinates off by {worst:.3f} rad at most, loop open by {abs(world.loop_jacobian() @ world.joint_v).max():.1e} m/s")
    assert miss < 1e-9 and off < 1e-8 and worst < 0.05


if __name__ == "__main__":
    main()
