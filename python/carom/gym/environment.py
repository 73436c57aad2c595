"""A task as a Gymnasium environment: one world, or many of them as one batch with the same bits."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from .._carom import ModelError
from .._check import count as whole
from .._check import numbers
from ..batch import Batch
from ..picture import Picture
from .task import Start, Task

__all__ = ["Environment", "VectorEnvironment"]

RENDER = ("rgb_array",)

MOST_SEED = 2**128 - 1
"""Seeds of a Generator: numpy mixes numbers of up to 128 bits without loss."""


def check_render(mode: Any) -> str | None:
    """One of the render modes, or None."""
    if mode is not None and mode not in RENDER:
        raise ModelError(f"render_mode: found {mode!r}, needs None or one of {', '.join(map(repr, RENDER))}")
    return mode


def check_task(task: Any) -> Task:
    """A task, a subclass of it to make one of, or the name under which one is registered."""
    if isinstance(task, str):
        from . import TASKS

        if task not in TASKS:
            raise ModelError(f"task: found {task!r}, needs one of {', '.join(map(repr, TASKS))}")
        task = TASKS[task]
    made = task() if isinstance(task, type) and issubclass(task, Task) else task
    if not isinstance(made, Task):
        raise ModelError(f"task: needs a carom.gym.Task, found {type(task).__name__}")
    return made


class Environment(gymnasium.Env):
    """One world with a task. ``reset(seed=...)`` and then the same actions give the same bits."""

    metadata = {"render_modes": list(RENDER), "render_fps": 50}

    def __init__(self, task: Any, render_mode: str | None = None, width: int = 480, height: int = 320) -> None:
        self.task = check_task(task)
        self.world = self.task.world.copy()
        self.observation_space, self.action_space = self.task.observation_space, self.task.action_space
        self.render_mode = check_render(render_mode)
        self.metadata = {**self.metadata, "render_fps": max(1, round(1.0 / self.task.frame))}
        self._picture = Picture(self.world, width, height)
        self._goal = np.zeros((1, self.task.goal))

    def _seen(self) -> np.ndarray:
        return self.task.observe(self.world.q[None], self.world.v[None], self._goal)[0]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """A random start of the task; the seed decides it."""
        super().reset(seed=seed)
        start = self.task.start(self.np_random)
        self.world.reset()
        self.world.q, self.world.v = start.q, start.v
        self._goal = start.goal[None]
        return self._seen(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Takes an action; the time limit is Gymnasium's, by ``make``."""
        given = numbers("action", action, self.action_space.shape or (), error=ModelError)[None]
        before = self.world.q[None]
        struck = self.task.strike(before, self.world.v[None], given)
        if struck is not None:
            self.world.v = struck[0]
        controls = self.task.controls(given)
        self.world.step(self.task.steps, None if controls is None else controls[0])
        reward, over = self.task.judge(before, self.world.q[None], self.world.v[None], given, self._goal)
        return self._seen(), float(reward[0]), bool(over[0]), False, {}

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        """A picture (height, width, 3) of bytes, if the render mode is ``"rgb_array"``."""
        if self.render_mode is None:
            return None
        q = self.world.q
        return self._picture.draw(q, self.task.view(q), self.task.marks(self._goal[0]))


class VectorEnvironment(VectorEnv):
    """Many worlds with one task, advanced on all cores; world i after ``reset(seed=s)`` has the bits of an environment with seed s + i.

    An episode that is over starts anew at the next step, whose action it ignores.
    """

    metadata = {"render_modes": list(RENDER), "render_fps": 50, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, task: Any, num_envs: int = 1, render_mode: str | None = None, max_episode_steps: int | None = None,
                 width: int = 480, height: int = 320, threads: int | None = None) -> None:
        self.task = check_task(task)
        self.num_envs = whole("num_envs", num_envs, error=ModelError, least=1)
        limit = self.task.horizon if max_episode_steps is None else max_episode_steps
        self._limit = whole("max_episode_steps", limit, error=ModelError, least=1)
        self.render_mode = check_render(render_mode)
        self.metadata = {**self.metadata, "render_fps": max(1, round(1.0 / self.task.frame))}
        self.single_observation_space, self.single_action_space = self.task.observation_space, self.task.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.batch = Batch(self.task.world, self.num_envs, threads=threads)
        self._picture = Picture(self.task.world, width, height)
        self._random = [seeding.np_random(None)[0] for _ in range(self.num_envs)]
        self._goal = np.zeros((self.num_envs, self.task.goal))
        self._age = np.zeros(self.num_envs, dtype=np.int64)
        self._over = np.zeros(self.num_envs, dtype=bool)
        self._begun = False

    def _restart(self, which: np.ndarray) -> None:
        """These worlds at a new start."""
        places = np.flatnonzero(which)
        if places.size == 0:
            return
        starts: list[Start] = [self.task.start(self._random[i]) for i in places]
        self.batch.reset(places, q=np.stack([start.q for start in starts]), v=np.stack([start.v for start in starts]))
        self._goal[places] = [start.goal for start in starts]
        self._age[places], self._over[places] = 0, False

    def _seen(self) -> np.ndarray:
        return self.task.observe(self.batch.q, self.batch.v, self._goal)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """New starts of all worlds; ``seed`` is a number s for seeds s, s + 1, ..., or one per world."""
        if seed is not None:
            seed = whole("seed", seed, error=ModelError, most=MOST_SEED) if np.ndim(seed) == 0 else seed
            seeds = [seed + i for i in range(self.num_envs)] if np.ndim(seed) == 0 else list(seed)
            if len(seeds) != self.num_envs:
                raise ModelError(f"seed: found {len(seeds)} seeds, needs {self.num_envs}")
            self._random = [seeding.np_random(None if one is None else whole("seed", one, error=ModelError, most=MOST_SEED))[0] for one in seeds]
        self._restart(np.ones(self.num_envs, dtype=bool))
        self._begun = True
        return self._seen(), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Takes an action in every world."""
        if not self._begun:
            raise gymnasium.error.ResetNeeded("step: call reset first")
        given = numbers("actions", actions, self.action_space.shape or (), error=ModelError)
        fresh = self._over.copy()
        before, rates = self.batch.q, self.batch.v
        struck = self.task.strike(before, rates, given)
        if struck is not None:
            self.batch.v = np.where(fresh[:, None, None], rates, struck)
        self.batch.step(self.task.steps, self.task.controls(given))
        reward, terminated = self.task.judge(before, self.batch.q, self.batch.v, given, self._goal)
        self._age += 1
        # What was over starts anew instead of moving on.
        reward, terminated = np.where(fresh, 0.0, reward), terminated & ~fresh
        self._restart(fresh)
        truncated = (self._age >= self._limit) & ~fresh
        self._over = terminated | truncated
        return self._seen(), reward, terminated, truncated, {}

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture of every world, if the render mode is ``"rgb_array"``."""
        if self.render_mode is None:
            return None
        states = zip(self.batch.q, self._goal)
        return tuple(self._picture.draw(q, self.task.view(q), self.task.marks(goal)) for q, goal in states)
