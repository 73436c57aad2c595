"""The words of robotics on a world: bodies and joints by name, joint coordinates, and the algorithms on them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, Mapping

import numpy as np

from . import _carom
from ._carom import ModelError, SolveError, StepError, Worlds
from ._check import Result, count, flag, flat, loss_text, number, numbers, place, several, word
from .body import Body, Joint, Point
from .rollout import Rollout

if TYPE_CHECKING:
    from .world import World

__all__ = ["Reach", "Words"]


@dataclass(frozen=True, eq=False, repr=False)
class Valued(Result):
    """A loss and its slopes with respect to the states, ``dq`` tangent, in the order of v, and ``dv``, both (T+1, n, 3 or 6), and the forces of contacts that it reads."""

    value: float
    dq: np.ndarray
    dv: np.ndarray
    forces: dict[Any, np.ndarray]
    """By pair of names, (T, dim)."""


@dataclass(frozen=True, eq=False, repr=False)
class Reach(Result):
    """Where inverse kinematics came to.

    ``joint_q`` are the coordinates in the order of ``world.joint_names``, ``q`` the poses of all bodies, to be assigned to ``world.q``; ``gap`` is the
    largest miss [m or rad], ``converged`` whether it is below the tolerance, ``rounds`` how many there were.
    """

    joint_q: np.ndarray
    q: np.ndarray
    gap: float
    converged: bool
    rounds: int


class Words:
    """What a world says of its bodies and joints by name. Coordinates are those of a spanning tree of the joints.

    ``joint_names`` lists them: free roots first under the name of the body, ``torso.0`` to ``torso.5`` (three in the plane; position and rotation vector,
    world axes), then joints in file order, ``name``, or ``name.0``, ``name.1``, ... where a joint has several. Joints that close loops have none: they give
    the rows of ``loop_jacobian``.
    """

    __slots__ = ()

    _native: Worlds
    _dimension: int
    _sizes: tuple[int, int, int, int]
    _names: list[list[str]]

    def body(self: World, name: str) -> Body:  # type: ignore[misc]
        """A body by name: ``position``, ``rotation``, ``velocity``, ``spin``, ``v_body``, ``point(p)``, ``apply(force, torque, at)``."""
        return Body(self, name, place("body", name, self._names[0], error=ModelError))

    def joint(self: World, name: str) -> Joint:  # type: ignore[misc]
        """A joint by name: ``kind``, ``position``, ``rate``, ``limits``, ``target``, ``force``, ``limit_force``, ``friction_force``, ``reaction``."""
        return Joint(self, name, place("joint", name, self._names[1], error=ModelError))

    @property
    def points(self) -> list[str]:
        """Names of the named points: ``[[point]]`` of scenes, sites of MJCF, links that an import made part of others."""
        return [point[0] for point in _carom.points(self._native)]

    def point(self: World, name: str) -> Point:  # type: ignore[misc]
        """A named point: ``position``, ``matrix``, ``velocity``, ``jacobian()``, ``body``, ``at``."""
        known = _carom.points(self._native)
        _, body, at, rotation = known[place("point", name, [point[0] for point in known], error=ModelError)]
        return Point(self, name, "world" if body is None else self._names[0][body], at, rotation)

    @property
    def joint_names(self) -> list[str]:
        """Names of the joint coordinates, in order."""
        return _carom.joint_names(self._native)

    @property
    def joint_q(self) -> np.ndarray:
        """Joint coordinates (nc,): angles [rad], lengths [m], of free roots position and rotation vector."""
        return _carom.joint_state(self._native)[0]

    @property
    def joint_v(self) -> np.ndarray:
        """Their rates (nc,): of free roots velocity and spin in world axes, of ball joints the rate in the axes of the second body."""
        return _carom.joint_state(self._native)[1]

    @property
    def joint_force(self) -> np.ndarray:
        """What motors and controls did along the coordinates in the last step (nc,) [N or N m]; 0 without a motor and before the first step."""
        return _carom.joint_force(self._native)

    def set_joints(self, values: Mapping[str, Any] | None = None, rates: Mapping[str, Any] | None = None) -> None:
        """Moves joints to coordinates, and gives them rates, by name; ``{"torso": six numbers}`` sets all coordinates of a root or of a joint with several.

        What is not named keeps its coordinate and its rate, unless a loop has to be closed: then the other coordinates of its mechanism follow by the least
        change. A loop that cannot be closed is a :class:`carom.ModelError` with its gap, and nothing is moved.
        """
        _carom.set_joints(self._native, self._by_name("values", values), self._by_name("rates", rates))

    def _by_name(self, what: str, given: Mapping[str, Any] | None) -> list[tuple[str, float]]:
        if given is None:
            return []
        if not isinstance(given, Mapping):
            raise ModelError(f"{what}: needs a mapping of names to numbers, found {type(given).__name__}")
        names, out = self.joint_names, []
        for name, value in given.items():
            parts = [known for known in names if isinstance(name, str) and known.rpartition(".")[0] == name]
            if name not in names and parts:
                row = numbers(f'{what}["{name}"]', value, (len(parts),), error=ModelError)
                out += list(zip(parts, row.tolist()))
            else:
                place(what, name, names + self._closing(), error=ModelError)
                out.append((name, number(f'{what}["{name}"]', value, error=ModelError)))
        return out

    def _closing(self) -> list[str]:
        """Joints that have no coordinate in the tree: the engine says why."""
        return self._names[1]

    def mass_matrix(self) -> np.ndarray:
        """The mass matrix of the joint coordinates (nc, nc)."""
        return _carom.joint_matrix(self._native, "mass")

    def bias(self) -> np.ndarray:
        """The forces on the coordinates that keep their rates (nc,): Coriolis, centrifugal and gyroscopic less gravity, springs, damping and forces.

        Motors and controls are not part of it: ``mass_matrix() @ acceleration + bias()`` is what they and the loops have to bring up.
        """
        return _carom.joint_bias(self._native)

    def forward_dynamics(self, controls: Any = None, *, force: Any = None, contacts: str = "hold") -> np.ndarray:
        """Accelerations of the joint coordinates (nc,) under loads, ``controls`` (nu,), motors that aim at positions and ``force`` (nc,), loops closed.

        ``contacts="hold"``: contacts that pushed in the last step and do not part push as Coulomb's law says; ``"none"``: they do nothing. Limits, dry friction
        in joints, motors that hold a rate and what is about to touch are decided by a step and not part of it.
        """
        nu = self._sizes[1]
        given = np.zeros(nu) if controls is None else numbers("controls", controls, (nu,), error=StepError)
        push = np.zeros(len(self.joint_names)) if force is None else numbers("force", force, (len(self.joint_names),), error=ModelError)
        return _carom.forward_dynamics(self._native, flat(given), flat(push), self._holds(contacts))

    def inverse_dynamics(self, acceleration: Any, contacts: str = "hold") -> np.ndarray:
        """The forces on the joint coordinates (nc,) that give them ``acceleration`` (nc,), beside motors that aim at positions.

        ``contacts="hold"``: contacts that pushed in the last step and do not part carry what free roots need, by the least forces within the cones of friction;
        what they cannot carry stays on the roots. ``"none"``: contacts do nothing. ``forward_dynamics(force=...)`` with the same ``contacts`` gives an
        acceleration back that closes loops and parts from no contact.
        """
        wanted = numbers("acceleration", acceleration, (len(self.joint_names),), error=ModelError)
        return _carom.inverse_dynamics(self._native, flat(wanted), self._holds(contacts))

    @staticmethod
    def _holds(contacts: str) -> bool:
        return word("contacts", contacts, ("hold", "none"), error=ModelError) == "hold"

    def point_jacobian(self, body: str, point: Any = None) -> np.ndarray:
        """How the rates move a point of a body (dim, nc), world axes; ``point`` in the frame of the body, its centre of mass by default."""
        index = place("body", body, self._names[0], error=ModelError)
        local = np.zeros(self._dimension) if point is None else numbers("point", point, (self._dimension,), error=ModelError)
        return _carom.point_jacobian(self._native, index, flat(local))

    def tangent_map(self) -> np.ndarray:
        """T (n * 3 or 6, nc): ``v.ravel() = T @ joint_v``, bodies in order."""
        return _carom.joint_matrix(self._native, "tangent")

    def loop_jacobian(self) -> np.ndarray:
        """What joints that close loops hold, as rows on the rates (rows, nc): ``loop_jacobian() @ joint_v = 0``."""
        return _carom.joint_matrix(self._native, "loop")

    def centre_of_mass(self) -> np.ndarray:
        """The common centre of mass of all dynamic bodies (dim,) [m]."""
        return _carom.centre_of_mass(self._native)

    def inverse_kinematics(
        self, targets: Mapping[str, Any], *, fixed: Iterable[str] = (), limits: bool = True, tolerance: float = 1e-9, rounds: int = 200
    ) -> Reach:
        """Joint coordinates that bring bodies to targets, from where they are, within limits and with loops closed. The world does not move.

        A target of a named point is its place (dim,). One of a body is a place for its centre of mass (dim,), a whole pose (3,) or (7,) as a row of ``q``, or a mapping with ``point`` (a point of the
        body), ``position``, and ``angle`` or ``rotation``. ``fixed`` names coordinates that stay, or roots and joints. Where a target cannot be reached the
        nearest place that was found is returned with ``converged`` False and its ``gap``.
        """
        if not isinstance(targets, Mapping) or not targets:
            raise ModelError(f"targets: needs a mapping of bodies to targets, found {targets!r}")
        goals = [self._goal(name, target) for name, target in targets.items()]
        names, held = self.joint_names, []
        for name in several("fixed", fixed, error=ModelError):
            parts = [i for i, known in enumerate(names) if isinstance(name, str) and known.rpartition(".")[0] == name]
            held += parts if parts and name not in names else [place("fixed", name, names, error=ModelError)]
        found = _carom.inverse_kinematics(
            self._native, goals, held, flag("limits", limits, error=ModelError), number("tolerance", tolerance, error=ModelError, least=0.0),
            count("rounds", rounds, error=ModelError),
        )
        return Reach(*found)

    def _goal(self, name: str, target: Any) -> tuple[int, list[float], list[float], list[float]]:
        dimension, coords = self._dimension, self._sizes[2]
        what = f'targets["{name}"]'
        point: Any = np.zeros(dimension)
        if name not in self._names[0] and name in self.points:
            there = self.point(name)  # type: ignore[misc]
            if isinstance(target, Mapping):
                raise ModelError(f"{what}: is a point, and its target a place ({dimension},)")
            return self._goal(there.body, {"point": there.at, "position": numbers(what, target, (dimension,), error=ModelError)})
        index = place("targets", name, self._names[0] + self.points, error=ModelError)
        if not isinstance(target, Mapping):
            row = numbers(what, target, (dimension,), (coords,), error=ModelError)
            return index, point.tolist(), row[:dimension].tolist(), row[dimension:].tolist()
        turn = "angle" if dimension == 2 else "rotation"
        for key in target:
            place(what, key, ["point", "position", turn], error=ModelError)
        position: Any = np.zeros(0)
        rotation: Any = np.zeros(0)
        if "point" in target:
            point = numbers(f"{what}: point", target["point"], (dimension,), error=ModelError)
        if "position" in target:
            position = numbers(f"{what}: position", target["position"], (dimension,), error=ModelError)
        if turn in target:
            shapes: tuple = ((), (1,)) if dimension == 2 else ((4,),)
            rotation = numbers(f"{what}: {turn}", target[turn], *shapes, error=ModelError)
        if position.size + rotation.size == 0:
            raise ModelError(f'{what}: needs "position" or "{turn}"')
        return index, point.tolist(), position.ravel().tolist(), rotation.ravel().tolist()

    def loss(self: World, text: str, run: Any) -> Valued:  # type: ignore[misc]
        """A loss written as text on a rollout of this world, with its slopes: ``run.backward(loss.dq, loss.dv, forces=loss.forces)`` is its gradient.

        ``"elbow.position^2"``, ``"hand.at(0.1, 0, 0).z"``, ``"foot.contact(ground).fz"``, ``"mean(energy)"``: as in ``carom grad --loss``. It reads all states and
        bodies, also of a run that hands out some of them. What it reads of the parameters by itself (energies
        read masses) is not part of the slopes.
        """
        pairs = _carom.loss_pairs(self._native, loss_text(text))
        if not isinstance(run, Rollout):
            raise SolveError(f"run: needs a rollout of this world, found {type(run).__name__}")
        q, v = (flat(run._one(x)) for x in (run._native.q(), run._native.v()))
        forces = run._one(run._native.forces(pairs)) if pairs else None
        value, (dq, dv, _, bar) = _carom.loss_slope(self._native, text, q, v, flat(forces), float(run.time[0]))
        names = self._names[0]
        called = [names[a] if b is None else (names[a], names[b]) for a, b in pairs]
        bars = bar.reshape(-1, len(pairs), self._dimension) if pairs else bar
        return Valued(value, dq, dv, {pair: bars[:, i] for i, pair in enumerate(called)})


def row_of(native: Worlds, name: str) -> tuple[str, list[int] | int] | None:
    """``mass[box]`` as ``mass`` and the row of the box; several rows as a list; None where the name has no brackets."""
    key, bracket, rest = name.partition("[")
    if not bracket or not rest.endswith("]"):
        return None
    pair = [body.strip() for body in rest[:-1].split(",")] if key.startswith("pair_") else []
    try:
        rows, labels = _carom.rows_called(native, key, rest[:-1])
    except ModelError as cause:
        if len(pair) != 2:
            raise
        rule = f'world.add(\'dimension = ...\\n[[pair]]\\nbetween = ["{pair[0]}", "{pair[1]}"]\\n{key[5:]} = ...\')'
        raise ModelError(
            f'params: "{name}": no [[pair]] of the scene gives it, bodies do; {rule} makes it a parameter, carom.fit and carom grad take it as it is'
        ) from cause
    for called in ("+".join(pair), "+".join(pair[::-1])) if len(pair) == 2 else ():
        # A pair is also called by its bodies with a comma between, in either order.
        rows = rows or _carom.rows_called(native, key, called)[0]
    if not rows:
        near = difflib.get_close_matches(rest[:-1], labels, 1)
        there = f'did you mean "{key}[{near[0]}]"?' if near else f"it has {', '.join(labels[:12]) or 'no rows'}"
        raise ModelError(f'params: "{key}" has no row "{rest[:-1]}"; {there}')
    return key, rows[0] if len(rows) == 1 else rows


def lqr(A: Any, B: Any, Q: Any, R: Any, *, tolerance: float = 1e-12) -> np.ndarray:
    """The gain K (m, n) of the linear-quadratic regulator in discrete time: u = -K x is the cheapest for x' = A x + B u and the cost x'Q x + u'R u.

    The Riccati equation is solved by doubling, then refined; :class:`carom.SolveError` where no gain makes the loop stable.
    """
    a = numbers("A", A, (None, None))
    n = a.shape[0]
    if n != a.shape[1]:
        raise SolveError(f"A: found shape {a.shape}, needs a square matrix")
    b = numbers("B", B, (n, None))
    q, r = numbers("Q", Q, (n, n)), numbers("R", R, (b.shape[1], b.shape[1]))
    for name, matrix in (("Q", q), ("R", r)):
        if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-9 * np.abs(matrix).max(initial=0.0)):
            raise SolveError(f"{name}: needs to be symmetric")
    if np.linalg.eigvalsh(r).min(initial=np.inf) <= 0.0:
        raise SolveError("R: needs to be positive definite")
    if np.linalg.eigvalsh(q).min(initial=0.0) < -1e-9 * np.abs(q).max(initial=0.0):
        raise SolveError("Q: needs to be positive semidefinite")
    # Doubling: after k rounds x is the cost of 2^k steps.
    with np.errstate(all="ignore"):
        f, g, x, one = a.copy(), b @ np.linalg.solve(r, b.T), q.copy(), np.eye(n)
        for _ in range(64):
            try:
                w = np.linalg.solve(one + g @ x, np.hstack([f, g]))
            except np.linalg.LinAlgError:
                break
            before = x
            x = x + f.T @ x @ w[:, :n]
            g = g + f @ w[:, n:] @ f.T
            f = f @ w[:, :n]
            x, g = 0.5 * (x + x.T), 0.5 * (g + g.T)
            if not np.isfinite(x).all() or np.abs(x - before).max(initial=0.0) <= tolerance * max(1.0, np.abs(x).max(initial=0.0)):
                break
    if np.isfinite(x).all():
        gain = np.linalg.solve(r + b.T @ x @ b, b.T @ x @ a)
        if np.abs(np.linalg.eigvals(a - b @ gain)).max(initial=0.0) < 1.0:
            return gain
    raise SolveError("A, B: no gain makes the loop stable; something that grows is not reached by the controls")
