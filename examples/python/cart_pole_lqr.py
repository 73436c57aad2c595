"""A cart that keeps its pole upright: built by calls, linearised in joint coordinates, held by a linear-quadratic regulator.

    python examples/python/cart_pole_lqr.py
"""

import numpy as np

import carom

STEP, LEAN, SECONDS = 0.01, 0.35, 6.0


def cart_pole():
    """A cart on a rail, pushed by one control, and a pole hinged on it."""
    scene = carom.Scene(2, step=STEP)
    scene.body("cart", shape={"box": [0.4, 0.2]}, mass=1.0, mask=[])
    scene.body("pole", shape={"capsule": [1.0, 0.03]}, mass=0.3, position=[0, 0.5], angle=np.pi / 2, mask=[])
    scene.joint("rail", kind="slider", between=["cart", "world"], anchor=[0, 0], axis=[1, 0], motor={"control": True, "max": 20})
    scene.joint("pin", kind="hinge", between=["pole", "cart"], anchor=[0, 0])
    return scene.world()


def linearised(world):
    """x' = A x + B u of one step at rest, x = (joint_q, joint_v): the Jacobian of the step between tangents of the tree."""
    jacobian = world.jacobian(("q", "v", "controls"))
    T = world.tangent_map()
    back = np.linalg.pinv(T)
    into, out = np.kron(np.eye(2), T), np.kron(np.eye(2), back)
    return out @ np.hstack([jacobian["q"], jacobian["v"]]) @ into, out @ jacobian["controls"]


def main():
    world = cart_pole()
    A, B = linearised(world)
    K = carom.lqr(A, B, Q=np.diag([1, 10, 0.1, 0.1]), R=[[0.01]])
    world.set_joints({"rail": 0.5, "pin": LEAN})
    most = 0.0
    for _ in range(round(SECONDS / STEP)):
        x = np.concatenate([world.joint_q, world.joint_v])
        world.step(controls=-K @ x)
        most = max(most, abs(world.joint("pin").position))
    fastest, slowest = np.abs(np.linalg.eigvals(A)).max(), np.abs(np.linalg.eigvals(A - B @ K)).max()
    left = np.abs(np.concatenate([world.joint_q, world.joint_v])).max()
    print(f"free the pole grows by {fastest:.4f} a step; held, all shrinks by {slowest:.4f}")
    print(f"from {LEAN} rad and half a metre away, leaning {most:.3f} rad at most, after {SECONDS:g} s off by {left:.1e}")
    assert fastest > 1.01 and slowest < 1 and most < 0.6 and left < 1e-3


if __name__ == "__main__":
    main()
