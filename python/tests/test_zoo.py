"""Every model of Gymnasium's collection through every derivative and algorithm of the package."""

import pathlib
import warnings

import numpy as np
import pytest

import carom

gymnasium = pytest.importorskip("gymnasium")
MODELS = sorted((pathlib.Path(gymnasium.__file__).parent / "envs/mujoco/assets").glob("*.xml"))


def test_the_collection_is_there():
    assert len(MODELS) >= 14


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model_answers_every_question(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world = carom.World.from_mjcf(path)
    bodies, count = len(world.bodies), len(world.joint_names)
    for _ in range(2):
        a, b = world.linearise()
        assert a.shape == (2 * count, 2 * count) and b.shape == (2 * count, len(world.controls))
        assert np.isfinite(a).all() and np.isfinite(b).all()
        jacobian = world.jacobian(("q", "v", "controls", "mass"))
        assert all(np.isfinite(block).all() for block in jacobian.values())
        alone = world.jacobian(("v",))["v"]
        batch = carom.Batch(world, 2).jacobian(("v",))["v"]
        assert (batch[1] == alone).all()
        # Parameters take a longer road to the same numbers.
        np.testing.assert_allclose(alone, jacobian["v"], rtol=1e-9, atol=1e-11 * max(1.0, abs(alone).max()))
        assert np.isfinite(world.bias()).all() and np.isfinite(world.forward_dynamics()).all()
        eigenvalues = np.linalg.eigvalsh(world.mass_matrix())
        assert eigenvalues.min() > 0
        # One step backwards is a row of the Jacobian.
        seed = np.zeros((bodies, 6))
        seed[-1, 0] = 1.0
        gradient = world.rollout(1).backward(dv=seed)
        row = 6 * bodies + 6 * (bodies - 1)
        np.testing.assert_allclose(gradient.v0.ravel(), jacobian["v"][row], rtol=1e-8, atol=1e-8 * max(1.0, abs(jacobian["v"][row]).max()))
        world.step(40)
