"""A box is pushed over a rough floor to a mark, where it comes to rest: it sticks, slides, is braked by friction and by the force.

    python examples/python/box_push.py
"""

import time

import carom

STEP, STEPS, MARK, GRIP = 0.01, 100, 0.5, 0.4


def scene():
    made = carom.Scene(2, step=STEP)
    made.body("ground", kind="static", shape={"half_space": [0, 1]}, friction=GRIP)
    made.body("box", shape={"box": [0.4, 0.2]}, mass=1, position=[0, 0.1], friction=GRIP)
    made.force(body="box", force=[1, 0], control=True)
    return made.world()


def solved(found):
    run = found.rollout
    return abs(run.q[-1, 1, 0] - MARK) < 5e-3 and abs(run.v[-1, 1, 0]) < 0.05


def task():
    # Below 3.9 N it sticks and nothing depends on the force: the first start is above, and smoothing feels what others do below.
    return {"world": scene(), "loss": f"100 * (box.x - {MARK})^2 + box.vx^2", "controls": [6.0], "steps": STEPS, "limits": (-20, 20), "kappa": 1e-3}


def main():
    begun = time.process_time()
    found = carom.optimise(**task())
    print(f"box at {found.rollout.q[-1, 1, 0]:.5f} m with {1e3 * found.rollout.v[-1, 1, 0]:.3f} mm/s, {time.process_time() - begun:.1f} s")
    assert solved(found)


if __name__ == "__main__":
    main()
