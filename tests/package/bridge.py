"""The bridge to PyTorch: the same gradient as without it. The argument is the folder in which torch lies."""

import sys

sys.path.append(sys.argv[1])

import carom
import torch

world = carom.World.scene("ball_drop")
start = torch.tensor(world.q, dtype=torch.float64, requires_grad=True)
q, _ = carom.torch.rollout(world, 160, q0=start)
q[-1, 1, 1].backward()
plain = world.rollout(160).backward(dq=[[0, 0, 0], [0, 1, 0]])
assert abs(start.grad[1, 1].item() - plain.q0[1, 1]) < 1e-12
print(f"torch {torch.__version__}: gradient {start.grad[1, 1].item():.6f}")
