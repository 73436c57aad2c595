"""Every name that scripts may count on is there, with the arguments it promises; more may be added, behind them."""

from __future__ import annotations

import inspect
import pathlib
import re

import numpy as np
import pytest

import carom
import carom.plans
from carom import kernels

DOCS = pathlib.Path(__file__).parents[2] / "docs"

PROMISED = {
    # Kernels.
    "kernels.Side": "mass inertia arm velocity spin",
    "kernels.collide": "a b normal restitution friction *tolerance *trace *method *law *steps",
    "kernels.impacts": "mass normals velocity *law *order *seed *restitution *friction *tangents *tolerance *lineality *max_iterations",
    "kernels.lineality": "normals mass *tolerance",
    "kernels.dynamics": "mass velocity force step *joints *contacts *tangents *friction *restitution *bias *tolerance",
    "kernels.split": "n",
    "kernels.InsertedFactor": "matrix *order",
    "kernels.InsertedFactor.solve": "self b",
    "kernels.InsertedFactor.insert": "self columns rows corner",
    "kernels.contact": "matrix free friction *tolerance *warm",
    "kernels.Collision.backward": "self velocity_a_bar spin_a_bar velocity_b_bar spin_b_bar",
    "kernels.Dynamics.backward": "self velocity_bar",
    "kernels.ContactSolution.backward": "self impulses_bar",
    # Worlds.
    "scenes": "",
    "World.load": "path", "World.from_toml": "text", "World.scene": "name",
    "World.from_urdf": "path **options", "World.from_mjcf": "path **options", "World.from_sdf": "path **options",
    "World.step": "self n controls", "World.reset": "self", "World.copy": "self", "World.hash": "self",
    "World.contacts": "self", "World.ledger": "self",
    "World.rollout": "self steps controls *tape *checkpoint *every *bodies",
    "World.jacobian": "self wrt",
    "Rollout.backward": "self dq dv", "Rollout.jacobians": "self wrt", "Rollout.film": "self path",
    "Batch": "world count *threads", "Batch.step": "self n controls", "Batch.rollout": "self steps controls", "Batch.backward": "self dq dv",
    "Batch.jacobian": "self wrt",
    "torch.rollout": "world steps q0 v0 controls params", "jax.rollout": "world steps q0 v0 controls params",
    # Words.
    "World.body": "self name", "World.joint": "self name",
    "Body.point": "self p", "Body.apply": "self force torque at",
    "World.set_joints": "self values rates",
    "World.contact_force": "self a b",
    "World.mass_matrix": "self", "World.bias": "self", "World.forward_dynamics": "self controls *force",
    "World.inverse_dynamics": "self acceleration contacts", "World.point_jacobian": "self body point", "World.inverse_kinematics": "self targets",
    "World.centre_of_mass": "self", "World.linearise": "self", "World.loop_jacobian": "self",
    "World.ray": "self origin direction", "World.distance": "self a b", "World.events": "self", "World.add": "self scene", "World.remove": "self name",
    "lqr": "A B Q R",
    "Scene": "dimension **top", "Scene.material": "self name", "Scene.body": "self name", "Scene.joint": "self name", "Scene.pair": "self",
    "Scene.force": "self", "Scene.repeat": "self", "Scene.add": "self path name position rotation", "Scene.to_toml": "self", "Scene.save": "self path",
    "Scene.world": "self",
    "optimise": "world loss controls steps *limits *shooting *kappa *starts",
    "fit": "world motions parameters *log *per_motion *initial *weights *bounds *starts *shooting *robust *ray *path",
    "rerun.log": "rollout",
    "sweep": "",
}

ATTRIBUTES = {
    "World": "dimension step_size time bodies joints controls q v params joint_names joint_q joint_v joint_force notes",
    "Rollout": "q v time contacts status energy",
    "Gradient": "q0 v0 controls exact_until",
    "Batch": "q v params",
    "Body": "position rotation velocity spin v_body",
    "Joint": "kind position rate force limit_force friction_force reaction limits target",
}

FIELDS = {
    "Contact": "bodies point normal gap impulse",
    "Ledger": "kinetic potential elastic work_in friction_loss impact_loss contact_loss damping_loss joint_work projection drift momentum angular_momentum",
    "Optimised": "controls rollout loss history converged",
    "Fit": "values intervals undetermined minima converged misfit noise",
    "kernels.Collision": "velocity_a spin_a velocity_b spin_b impulse work_compression work_restitution phases branch mode status",
    "kernels.Impact": "velocity impulses iterations locked energy_before energy_after status",
    "kernels.Lineality": "dimension basis projector implicit",
    "kernels.Dynamics": "velocity joint_impulse contact_impulse friction_impulse residual iterations status",
    "kernels.ContactSolution": "impulses velocity residual status method iterations factorisations",
    "kernels.Split": "inner_parts inner_constraints parts entries",
}


def found(path):
    thing = carom
    for name in path.split("."):
        if thing is carom and name in ("torch", "jax", "rerun"):
            pytest.importorskip(name if name != "rerun" else "rerun")
        thing = next((getattr(home, name) for home in (thing, carom.plans, carom.rollout, carom.body, carom.world, carom._fit) if hasattr(home, name)), None)
        assert thing is not None, f"no {path}"
    return thing


@pytest.mark.parametrize("path", PROMISED)
def test_arguments(path):
    parameters = list(inspect.signature(found(path)).parameters.values())
    kinds = {inspect.Parameter.KEYWORD_ONLY: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    have = [kinds.get(p.kind, "") + p.name for p in parameters]
    wanted = PROMISED[path].split()
    assert [name for name in wanted if name[0] != "*"] == [name for name in have if name[0] != "*"][: sum(name[0] != "*" for name in wanted)]
    # What may be given by name alone may also be given by place.
    assert all(name in have or name.lstrip("*") in have for name in wanted), have


@pytest.mark.parametrize("path", ATTRIBUTES)
def test_attributes(path):
    made = found(path)
    assert [name for name in ATTRIBUTES[path].split() if not hasattr(made, name)] == []


@pytest.mark.parametrize("path", FIELDS)
def test_fields(path):
    made = found(path)
    names = {*getattr(made, "__dataclass_fields__", {}), *dir(made)}
    assert [name for name in FIELDS[path].split() if name not in names] == []


@pytest.mark.parametrize("name", sorted({path.rpartition(".")[2] for path in PROMISED} | {name for names in [*ATTRIBUTES.values(), *FIELDS.values()] for name in names.split()}))
def test_names_stand_in_the_documents(name):
    pages = [(DOCS / page).read_text() for page in ("python.md", "gradients.md", "outputs.md", "imports.md")]
    assert any(re.search(rf"\b{name}\b", page) for page in pages), name


def test_errors():
    for name in ("SceneError", "ModelError", "StepError", "SolveError"):
        assert issubclass(getattr(carom, name), carom.Error)
    assert issubclass(carom.Error, ValueError)


def test_keys_of_parameters():
    text = "dimension = 2\nbody = [{ name = 'a', shape = { ball = 1 } }, { name = 'b', shape = { ball = 1 }, position = [3, 0] }]\n"
    world = carom.World.from_toml(text + "[[pair]]\nbetween = ['a', 'b']\nfriction = 0.3\nrestitution = 0.1\n")
    wanted = ("mass", "inertia", "centre", "friction", "restitution", "gravity", "step", "pair_friction", "pair_restitution")
    assert [name for name in wanted if name not in world.params] == []


def test_kernels_are_those_of_the_package():
    assert carom.kernels is kernels and isinstance(np.asarray(kernels.split(3).inner_parts), np.ndarray)
