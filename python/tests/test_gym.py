"""The environments: Gymnasium's own checks, seeds, the vector form bit for bit, pictures, and that the tasks can be done."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import carom  # noqa: E402
import carom.gym  # noqa: E402

NAMES = list(carom.gym.TASKS)


def played(env, seed, actions):
    """Everything an environment says about these actions, started anew when it is over."""
    said = [env.reset(seed=seed)[0]]
    for action in actions:
        seen, reward, terminated, truncated, _ = env.step(action)
        said += [seen, reward, terminated, truncated]
        if terminated or truncated:
            said.append(env.reset()[0])
    return np.concatenate([np.ravel(x).astype(float) for x in said])


def test_registered_and_lazy():
    assert set(NAMES) <= set(gymnasium.registry)
    for name in NAMES:
        made = gymnasium.make(name)
        assert made.spec.max_episode_steps == carom.gym.TASKS[name].horizon
        assert carom.gym.TASKS[name].__doc__


@pytest.mark.parametrize("name", NAMES)
def test_check_env(name):
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*infinity.*")
        check_env(carom.gym.make(name, render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_seeds(name):
    env = carom.gym.make(name)
    env.action_space.seed(4)
    actions = [env.action_space.sample() for _ in range(3 if "Bank" in name else 25)]
    a, b, c = played(env, 1, actions), played(carom.gym.make(name), 1, actions), played(env, 2, actions)
    np.testing.assert_array_equal(a, b)
    assert a.shape != c.shape or (a != c).any()
    seen = env.reset(seed=5)[0]
    assert len(seen) == len(carom.gym.TASKS[name].observations) and np.isfinite(seen).all()


@pytest.mark.parametrize("name", NAMES)
def test_vector_form_has_the_same_bits(name):
    count, limit = 3, 4 if "Bank" in name else 30
    envs = gymnasium.make_vec(name, num_envs=count, vectorization_mode="vector_entry_point", max_episode_steps=limit)
    assert isinstance(envs.unwrapped, carom.gym.VectorEnvironment)
    envs.action_space.seed(9)
    singles = [carom.gym.make(name, max_episode_steps=limit) for _ in range(count)]
    seen, _ = envs.reset(seed=11)
    assert seen in envs.observation_space
    for i, env in enumerate(singles):
        np.testing.assert_array_equal(env.reset(seed=11 + i)[0], seen[i])
    over = np.zeros(count, dtype=bool)
    ends = 0
    for _ in range(limit + 3):
        actions = envs.action_space.sample()
        seen, reward, terminated, truncated, _ = envs.step(actions)
        for i, env in enumerate(singles):
            one = (env.reset()[0], 0.0, False, False) if over[i] else env.step(actions[i])[:4]
            np.testing.assert_array_equal(one[0], seen[i])
            assert one[1:] == (reward[i], terminated[i], truncated[i])
        over = terminated | truncated
        ends += over.sum()
    assert ends >= count, "episodes must have ended and begun anew"
    np.testing.assert_array_equal(envs.reset(seed=[11, 12, 13])[0][1], singles[1].reset(seed=12)[0])


@pytest.mark.parametrize("name", NAMES)
def test_pictures(name):
    env = carom.gym.make(name, render_mode="rgb_array", width=160, height=120)
    env.reset(seed=0)
    first = env.render()
    assert first.shape == (120, 160, 3) and first.dtype == np.uint8
    env.action_space.seed(1)
    for _ in range(1 if "Bank" in name else 12):
        env.step(env.action_space.sample())
    assert (env.render() != first).any(), "what moves is seen"
    assert carom.gym.make(name).unwrapped.render() is None
    envs = carom.gym.make_vec(name, num_envs=2, render_mode="rgb_array")
    envs.reset(seed=0)
    assert len(envs.render()) == 2


def total(env, policy, seed):
    seen, _ = env.reset(seed=seed)
    gained, over = 0.0, False
    while not over:
        seen, reward, terminated, truncated, _ = env.step(policy(seen))
        gained, over = gained + reward, terminated or truncated
    return gained


def test_cart_pole_can_be_balanced():
    env = carom.gym.make("carom/CartPole-v0", max_episode_steps=300)
    # A linear rule: against the lean, and slowly back to the middle. A lean to the left (sine above 0) wants a push to the left.
    gained = total(env, lambda s: np.clip([-3.0 * s[3] - 0.6 * s[4] + 0.12 * s[0] + 0.2 * s[1]], -1, 1), 0)
    assert gained > 270.0
    assert total(env, lambda s: [0.0], 0) < 150.0


def test_throw_can_be_aimed():
    env = carom.gym.make("carom/Throw-v0").unwrapped
    landed = {}
    for hold in range(5, 9):
        env.reset(seed=0)
        for n in range(125):
            seen, reward, over, _, _ = env.step([-0.5 if n < hold else 1.0])
            if over:
                break
        assert over
        landed[hold] = seen[3]
        assert reward == pytest.approx(np.exp(-abs(seen[8])) - 1e-3)
    assert np.ptp(list(landed.values())) > 1.0, "how long it pushes decides where the ball lands"


def test_strandbeest_walks():
    env = carom.gym.make("carom/Strandbeest-v0", max_episode_steps=90)
    assert total(env, lambda s: [-0.5], 1) > 10.0
    assert total(env, lambda s: [0.5], 1) < -10.0


def test_bank_shot_can_be_made():
    envs = carom.gym.make_vec("carom/BankShot-v0", num_envs=64)
    envs.action_space.seed(0)
    envs.reset(seed=[7] * 64)
    best = max(envs.step(envs.action_space.sample())[1].max() for _ in range(2))
    assert best > 0.05


def test_wrong_arguments():
    gym = carom.gym
    env = gym.make("carom/Throw-v0").unwrapped
    env.reset(seed=0)
    envs = gym.make_vec("carom/Throw-v0", num_envs=2)
    envs.reset(seed=0)
    for name, call in (
        ("task", lambda: gym.Environment("Throw")),
        ("task", lambda: gym.VectorEnvironment(int)),
        ("render_mode", lambda: gym.Environment(gym.Throw, render_mode="human")),
        ("render_mode", lambda: gym.VectorEnvironment(gym.Throw, render_mode="human")),
        ("width", lambda: gym.Environment(gym.Throw, width=0)),
        ("height", lambda: gym.Environment(gym.Throw, height="tall")),
        ("num_envs", lambda: gym.VectorEnvironment(gym.Throw, 0)),
        ("max_episode_steps", lambda: gym.VectorEnvironment(gym.Throw, 1, max_episode_steps=0)),
        ("threads", lambda: gym.VectorEnvironment(gym.Throw, 1, threads=0)),
        ("action", lambda: env.step([1.0, 2.0])),
        ("action", lambda: env.step([np.nan])),
        ("actions", lambda: envs.step([1.0])),
        ("seed", lambda: envs.reset(seed=[1, 2, 3])),
    ):
        with pytest.raises(carom.ModelError, match=name):
            call()
    with pytest.raises(gymnasium.error.NameNotFound):
        gym.make("carom/Trow-v0")


@pytest.mark.parametrize("name", NAMES)
def test_the_specification_is_text(name):
    spec = carom.gym.make(name).spec
    made = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()))
    assert type(made.unwrapped.task) is carom.gym.TASKS[name]
    with pytest.raises(carom.ModelError, match="task"):
        carom.gym.Environment("carom/Hoper-v0")


def test_many_worlds_need_a_reset_and_whole_seeds():
    envs = carom.gym.make_vec("carom/CartPole-v0", num_envs=2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(envs.action_space.sample())
    for seed in (1.5, "a", -1, [1, 2.5]):
        with pytest.raises(carom.ModelError, match="seed"):
            envs.reset(seed=seed)
    seen, _ = envs.reset(seed=2**63 + 1)
    other = copy.deepcopy(envs.unwrapped)
    actions = envs.action_space.sample()
    np.testing.assert_array_equal(envs.step(actions)[0], other.step(actions)[0])
