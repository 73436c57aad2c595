"""Edges of torch and jax: second derivatives, forward mode, kinds of numbers, what is changed between forward and backward."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import carom

STEPS = 12


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def jax():
    return pytest.importorskip("jax")


def total(world, v0):
    return carom.torch.rollout(world, STEPS, v0=v0)[0][-1].sum()


def test_second_derivatives_are_refused_not_zero(torch, throw):
    x = torch.tensor(np.array(throw.v), requires_grad=True)
    for loss in (total(throw, x) + (x**2).sum(), (carom.torch.rollout(throw, STEPS, v0=x)[0] ** 2).sum()):
        (slope,) = torch.autograd.grad(loss, x, create_graph=True)
        assert torch.isfinite(slope).all()
        with pytest.raises(carom.SolveError, match="second derivatives"):
            torch.autograd.grad(slope.sum(), x)
    for nested in (lambda f: torch.func.jacrev(torch.func.jacrev(f)), lambda f: torch.func.grad(lambda y: torch.func.grad(f)(y).sum())):
        with pytest.raises(carom.SolveError, match="second derivatives"):
            nested(lambda y: total(throw, y))(x.detach())


def test_a_graph_of_the_gradient_costs_no_bit(torch, throw):
    x = torch.tensor(np.array(throw.v), requires_grad=True)
    slopes = [torch.autograd.grad(total(throw, x), x, create_graph=graph)[0].detach() for graph in (False, True)]
    slopes.append(torch.func.grad(lambda y: total(throw, y))(x.detach()))
    assert torch.equal(slopes[0], slopes[1]) and torch.equal(slopes[0], slopes[2])


def test_forward_mode_is_refused(torch, throw):
    x = torch.tensor(np.array(throw.v))
    for call in (torch.func.jacfwd, torch.func.hessian, lambda f: lambda y: torch.func.jvp(f, (y,), (y,))):
        with pytest.raises(carom.SolveError, match="forward mode"):
            call(lambda y: total(throw, y))(x)


def test_kinds_of_tensors(torch, throw):
    exact = torch.tensor(np.array(throw.v), requires_grad=True)
    total(throw, exact).backward()
    single = exact.detach().float().requires_grad_()
    total(throw, single).backward()
    assert single.grad.dtype == torch.float32 and torch.allclose(single.grad.double(), exact.grad, rtol=1e-6)
    across = exact.detach().T.contiguous().requires_grad_()
    total(throw, across.T).backward()
    assert torch.equal(across.grad.T, exact.grad)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q, _ = carom.torch.rollout(throw, STEPS, v0=throw.v, params={"restitution": [0.5, 0.5]})
    assert not q.requires_grad
    for name, wrong in {"complex": exact.detach() * 1j, "text": "fast", "torn": [exact, 0]}.items():
        with pytest.raises(carom.ModelError, match="^v0:"):
            carom.torch.rollout(throw, STEPS, v0=wrong)
    with pytest.raises(carom.ModelError, match="^v0,"):
        carom.torch.rollout(throw, STEPS, v0=exact.detach() * float("nan"))
    kept = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    with pytest.raises(carom.ModelError, match="restitution"):  # a list would lose the graph
        carom.torch.rollout(throw, STEPS, params={"restitution": [kept, kept]})


def test_what_changes_after_the_forward_pass(torch, throw):
    x = torch.tensor(np.array(throw.v), requires_grad=True)
    total(throw, x).backward()
    y = x.detach().clone().requires_grad_()
    scaled = y * 1.0
    world = throw.copy()
    loss = total(world, scaled)
    world.step(5)
    world.params["gravity"] = [0.0, 0.0]
    with torch.no_grad():
        scaled += 1.0
    loss.backward(retain_graph=True)
    assert torch.equal(y.grad, x.grad)
    loss.backward()
    assert torch.equal(y.grad, 2 * x.grad)
    with torch.no_grad():
        assert not total(throw, y).requires_grad


def test_jax_refuses_what_it_knows(jax, throw):
    v = np.array(throw.v)
    for name, wrong in {"nan": v * np.nan, "complex": v * 1j, "shape": v[0], "text": "fast"}.items():
        with pytest.raises(carom.ModelError, match="^v0:"):
            carom.jax.rollout(throw, STEPS, v0=wrong)
    with pytest.raises(carom.ModelError, match="mass"):
        carom.jax.rollout(throw, STEPS, params={"mass": [np.inf, -1.0]})
    with pytest.raises(carom.ModelError, match="masss"):
        carom.jax.rollout(throw, STEPS, params={"masss": [np.inf, -1.0]})
    with pytest.raises(Exception, match="needs finite numbers"):
        jax.jit(lambda x: carom.jax.rollout(throw, STEPS, v0=x)[0])(v * np.nan).block_until_ready()
    for call in (jax.jacfwd, jax.hessian, lambda f: jax.grad(lambda y: jax.grad(f)(y).sum())):
        with pytest.raises((TypeError, ValueError)):
            call(lambda x: carom.jax.rollout(throw, STEPS, v0=x)[0][-1].sum())(v)


def test_jax_takes_whole_numbers_and_lists(jax, throw):
    slope = jax.grad(lambda g: carom.jax.rollout(throw, STEPS, v0=[[0, 0, 0], [1, 0, 0]], params={"gravity": g})[0][-1].sum())
    assert np.isfinite(slope(np.array([0.0, -9.81]))).all()
