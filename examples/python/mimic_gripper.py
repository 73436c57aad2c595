"""Two fingers on one motor, the second mimicking the first, lift a block by friction and hold it; how it is held is read off the contacts.

    python examples/python/mimic_gripper.py
"""

import time

import numpy as np

import carom


def main():
    world = carom.World.scene("mimic_gripper")
    block, palm = world.body("block"), world.body("palm")
    fingers = [world.joint("left_slide"), world.joint("right_slide")]
    begun = time.process_time()
    world.step(round(2.0 / world.step_size))
    held = block.position - palm.position
    world.step(round(10.0 / world.step_size))
    took = time.process_time() - begun
    slip = np.linalg.norm(block.position - palm.position - held)
    forces = [world.contact_force("block", finger)[:3] for finger in ("left", "right")]
    apart = abs(fingers[0].position - fingers[1].position)
    print(f"block at {block.position[2]:.4f} m, slip {slip:.1e} m in 10 s, {world.time / took:.0f} times real time")
    print(f"fingers press with {forces[0][0]:.4f} N and {-forces[1][0]:.4f} N, carry {forces[0][2] + forces[1][2]:.4f} N, {apart:.1e} m apart in their slides")
    assert slip < 1e-9 and block.position[2] > 0.3 and took < world.time
    assert abs(forces[0][0] - 25) < 1e-6 and abs(forces[0][2] + forces[1][2] - 9.81) < 1e-3 and apart < 1e-11


if __name__ == "__main__":
    main()
