"""A hopper jumps to a height that its leg alone cannot reach, by controls found through contact.

    python examples/python/hopper_jump.py
"""

import time

import carom

STEP, STEPS, STARTS, HEIGHT = 0.01, 60, 10, 0.95


def hopper():
    """A torso over a foot on a vertical leg that pushes with up to 150 N; its stroke is 0.2 m to either side."""
    scene = carom.Scene(2, step=STEP)
    scene.body("ground", kind="static", shape={"half_space": [0, 1]}, friction=0.8, restitution=0)
    scene.body("torso", shape={"box": [0.3, 0.2]}, mass=4.0, position=[0, 0.55], locked=["x", "rotation"], mask=[])
    scene.body("foot", shape={"ball": 0.05}, mass=0.5, position=[0, 0.05], friction=0.8, restitution=0)
    scene.joint("leg", kind="slider", between=["torso", "foot"], anchor=[0, 0.3], axis=[0, 1], limits=[-0.2, 0.2], motor={"control": True, "max": 150})
    return scene.world()


def task():
    # At the top of its flight at the end of the run. Smoothing feels the ground and the ends of the stroke where the leg does not push on them.
    return {"world": hopper(), "loss": f"100 * (torso.y - {HEIGHT})^2 + torso.vy^2", "controls": [60.0], "steps": STEPS, "limits": (-150, 150), "kappa": 0.1, "hops": 3}


def solved(found):
    return abs(found.rollout.q[-1, 1, 1] - HEIGHT) < 5e-3


def main():
    begun = time.process_time()
    found = carom.optimise(**task(), starts=STARTS)
    took = time.process_time() - begun
    there = int((found.losses < 1e-3).sum())
    flight = [touch for touch in found.contacts if set(touch.bodies) == {"foot", "ground"}]
    print(f"torso at {found.rollout.q[-1, 1, 1]:.4f} m, its foot left the ground at {flight[0].ends:.2f} s; {there} of {STARTS} starts solve it, {took:.1f} s")
    assert solved(found) and flight[0].ends < STEPS * STEP and there > 0


if __name__ == "__main__":
    main()
