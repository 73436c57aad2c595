"""Signals, forks and threads: a long call ends when it is asked to, and the child of a fork gets threads of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest
from conftest import THROW

import carom

FOREVER = 10**7
PATIENCE = 5.0
"""Time in which Ctrl-C is heard [s], many times what it takes: the machine may be busy."""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals and forks")


@pytest.fixture(autouse=True)
def heard():
    """A process that a shell put into the background is born deaf to Ctrl-C; these tests hear it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(call):
    """Seconds from Ctrl-C to KeyboardInterrupt."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.2, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.monotonic() - sent[0]
    finally:
        timer.join()


def long_backward(world):
    run = world.rollout(20000, checkpoint=1000)

    def call():
        for _ in range(1000):
            run.backward(dq=np.ones((2, 3)))

    return call


CALLS = {
    "step": lambda world: lambda: world.step(FOREVER),
    "rollout": lambda world: lambda: world.rollout(FOREVER, tape=False),
    "backward": long_backward,
    "show": lambda world: lambda: world.show(1e5),
    "batch.step": lambda world: lambda: carom.Batch(world, 3).step(FOREVER),
    "batch.rollout": lambda world: lambda: carom.Batch(world, 3).rollout(FOREVER // 4, tape=False),
    "threads": lambda world: lambda: carom.Batch(world, 3, threads=2).rollout(FOREVER // 4, tape=False),
    "sweep": lambda world: lambda: carom.sweep(world, {"restitution": [0.1, 0.2]}, len, steps=FOREVER // 4),
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c(throw, name):
    assert interrupted(CALLS[name](throw)) < PATIENCE


BOXES = """
dimension = 3

[[body]]
name = "bin"
kind = "static"
shape = [
  { half_space = [0, 0, 1] },
  { half_space = [1, 0, 0], at = [-0.4, 0, 0] },
  { half_space = [-1, 0, 0], at = [0.4, 0, 0] },
  { half_space = [0, 1, 0], at = [0, -0.4, 0] },
  { half_space = [0, -1, 0], at = [0, 0.4, 0] },
]

[[repeat]]
count = [3, 3, 3]
offset = [[0.25, 0.01, 0.02], [0.02, 0.25, 0.01], [0.01, -0.02, 0.25]]
body = { name = "box", shape = { box = [0.16, 0.16, 0.16] }, position = [-0.26, -0.25, 0.12], mass = 1, restitution = 0.05 }
"""
"""Boxes in a bin: steps that may take long."""


def test_a_step_that_takes_long_is_interrupted():
    world = carom.World.from_toml(BOXES)
    assert interrupted(lambda: world.step(FOREVER)) < PATIENCE
    taken = round(world.time / world.step_size)
    other = carom.World.from_toml(BOXES)
    other.step(taken)
    assert taken > 0 and world.hash() == other.hash()


def test_a_world_that_was_interrupted_goes_on(throw):
    interrupted(lambda: throw.step(FOREVER))
    taken = round(throw.time / throw.step_size)
    other = carom.World.from_toml(THROW)
    other.step(taken)
    throw.step(3)
    other.step(3)
    assert taken > 0 and throw.hash() == other.hash()


def test_the_handler_of_a_signal_may_look_at_the_world(throw):
    times = []
    before = signal.signal(signal.SIGALRM, lambda *_: times.append((throw.time, batch.q.shape)))
    batch = carom.Batch(throw, 3)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        for stepped in (throw, batch):
            begun = len(times)
            while len(times) == begun:
                stepped.step(2000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert times[-1][1] == (3, 2, 3)


SHARED: dict = {}


def child(name, send):
    try:
        world, batch, own = SHARED["world"], SHARED["batch"], SHARED["own"]
        found = {
            "batch": lambda: carom.Batch(world, 4).rollout(30).q[:, -1],
            "the parent's batch": lambda: batch.rollout(30).q[:, -1],
            "the parent's threads": lambda: (own.step(30), own.q)[1],
            "gradient": lambda: batch.rollout(30).backward(dq=np.ones((4, 2, 3))).q0,
            "jacobian": lambda: world.jacobian()["q"],
            "many islands": lambda: (SHARED["many"].step(3), SHARED["many"].q)[1],
        }[name]()
        send.send(np.array(found))
    except BaseException as error:
        send.send(error)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["batch", "the parent's batch", "the parent's threads", "gradient", "jacobian", "many islands"])
def test_fork(throw, name):
    many = THROW + "\n".join(f'[[body]]\nshape = {{ ball = 0.1 }}\nposition = [{k}, 20]' for k in range(300))
    SHARED.update(world=throw, batch=carom.Batch(throw, 4), own=carom.Batch(throw, 4, threads=2), many=carom.World.from_toml(many))
    SHARED["batch"].step(1)
    SHARED["own"].step(1)
    SHARED["many"].step(1)
    receive, send = multiprocessing.get_context("fork").Pipe(False)
    process = multiprocessing.get_context("fork").Process(target=child, args=(name, send))
    process.start()
    try:
        assert receive.poll(60.0), "the child hangs"
        found = receive.recv()
    finally:
        process.kill()
        process.join()
    into, back = multiprocessing.Pipe(False)
    child(name, back)
    np.testing.assert_array_equal(found, into.recv())


def test_threads_share_a_world(throw):
    threads = [threading.Thread(target=lambda: [throw.step(10) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other = carom.World.from_toml(THROW)
    other.step(800)
    assert throw.hash() == other.hash()
