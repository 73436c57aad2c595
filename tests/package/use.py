"""The wheel in use: a run, its gradient against the closed form, a picture."""

import carom

world = carom.World.scene("ball_drop")
run = world.rollout(160)
gradient = run.backward(dq=[[0, 0, 0], [0, 1, 0]])
assert run.q.shape == (161, 2, 3)
assert abs(gradient.q0[1, 1]) > 0.0
assert run.film("drop.png").stat().st_size > 1000
assert (carom.Batch(world, 4).rollout(160).q == run.q).all()
print(f"import carom: {carom.__version__}, gradient by the start height {gradient.q0[1, 1]:.6f}")
