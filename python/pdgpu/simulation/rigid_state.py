"""The state of the rigid bodies of a simulation, and its checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.made import made_by
from pdgpu.scene.held_parts import CARRIERS, selectable_points
from pdgpu.scene.rigid_bodies import RigidBody, check_rigid_motion, pose_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pdgpu.simulation.core import SimulationCore
    from pdgpu.types import Floats

__all__ = ["RigidState"]

ROUNDINGS = 16.0  # of positions: the largest error of velocities, times dt
EXACT, ROUNDED = 1e-8, 1e-4  # largest relative deviation of a body from its shape, in float64 and after rounding to float32


@made_by("Simulation.rigid")
class RigidState:
    """The rigid bodies of a simulation in their present state, in the order of the scene; `Simulation.rigid`.

    Attributes
    ----------
    names : tuple of str
    masses : ndarray, shape (r,)
        kg.
    centres : ndarray, shape (r, 3)
        Of mass, m.
    rotations : ndarray, shape (r, 3, 3)
        From rest.
    quaternions : ndarray, shape (r, 4)
        The same as unit quaternions (x, y, z, w), w >= 0, in the order of scipy.spatial.transform.Rotation.
    velocities : ndarray, shape (r, 3)
        Of the centres, m/s.
    spins : ndarray, shape (r, 3)
        Angular velocities, rad/s: the inverse inertia tensor times the angular momentum about the centre.
    """

    def __init__(self, core: SimulationCore, gradient: Callable[[], Floats]) -> None:
        self._gradient = gradient  # of the vertices, (n, 3) N, in the next step
        self._bodies = _rigid_bodies(core.scene)
        self.names = tuple(body.name for body in self._bodies)
        self.masses = np.array([body.mass for body in self._bodies])
        x, v = core.state64()
        self.centres, self.velocities, self.spins = np.zeros((3, len(self._bodies), 3))
        self.rotations = np.zeros((len(self._bodies), 3, 3))
        for k, body in enumerate(self._bodies):
            arms = body.arms[-CARRIERS:]
            self.centres[k], self.rotations[k] = pose_of(body, x[body.slice])
            carried = v[body.slice][-CARRIERS:]
            self.velocities[k] = carried.mean(axis=0)
            change = (carried - self.velocities[k]).T @ arms @ np.linalg.inv(arms.T @ arms)
            turning = change @ self.rotations[k].T
            self.spins[k] = 0.5 * (turning - turning.T)[[2, 0, 1], [1, 2, 0]]

    def __len__(self) -> int:
        return len(self._bodies)

    def __repr__(self) -> str:
        return f"<RigidState: {len(self)} rigid bodies {list(self.names)}>"

    @property
    def quaternions(self) -> Floats:
        """Rotations from rest as unit quaternions (x, y, z, w), w >= 0, shape (r, 4), as SciPy orders them."""

        from scipy.spatial.transform import Rotation

        found = Rotation.from_matrix(self.rotations).as_quat() if len(self) else np.zeros((0, 4))
        return np.where(found[:, 3:] < 0.0, -found, found)

    @property
    def gradient(self) -> Floats:
        """dG by the translation and the rotation vector of each body in the next step, (r, 6) N and N m: minus the unbalanced force and
        torque. About the centre, or about the pivot of a held body, whose force is 0.
        """
        gradient = self._gradient().astype(np.float64)
        result = np.zeros((len(self), 6))
        for k, body in enumerate(self._bodies):
            rows = gradient[body.slice][-CARRIERS:]
            radius = np.sqrt((body.arms[-CARRIERS:] ** 2).sum() / CARRIERS)
            result[k] = [*rows[0], *(rows[1] * radius)]
        return result


def shape_tolerance(core: SimulationCore, *arrays: Any) -> float:
    """Return the largest accepted deviation of a rigid body from its shape, relative to its size. A state rounded to float32 has the
    deviation of float32, also in a simulation in float64.
    """
    single = core.dtype == np.float32 or any(getattr(array, "dtype", None) == np.float32 for array in arrays)
    return ROUNDED if single else EXACT


def positions_in_model(core: SimulationCore, name: str, given: Floats, tolerance: float) -> Floats:
    """Return positions (n, 3) m of the vertices, as rows of the model; ValueError for positions that are no rigid motion of a body. Hidden
    rows are those of the closest pose; for an unchanged body they keep their bits.
    """
    if core.rows.rows is None:
        return given
    rows, now = core.rows.spread(given), core.backend.positions()
    for body in _rigid_bodies(core.scene):
        here, n = body.slice, len(body.public.points)
        x = rows[here][:n]
        hidden, moved = body.hidden_at(x)
        check_rigid_motion(moved, x, body, name, tolerance)
        same = np.array_equal(core.cast_positions(x), now[here][:n])
        rows[here][n:] = now[here][n:] if same else hidden
    return rows


def velocities_in_model(core: SimulationCore, given: Floats, tolerance: float) -> Floats:
    """Return velocities (n, 3) m/s of the vertices, likewise."""
    if core.rows.rows is None:
        return given
    rows, now, now_at = core.rows.spread(given), core.backend.velocities(), core.backend.positions()
    for body in _rigid_bodies(core.scene):
        here, n = body.slice, len(body.public.points)
        v = rows[here][:n]
        hidden, moved = body.hidden_velocities_at(v)
        off = np.abs(moved - v).max()
        # the quotient of a step by dt is rounded
        rounding = ROUNDINGS * np.finfo(np.float32 if tolerance == ROUNDED else np.float64).eps * np.abs(now_at[here] - core.origin).max()
        if not off <= tolerance * np.abs(v).max() + rounding / core.dt:
            raise ValueError(f"velocities: vertices of the rigid body {body.name!r} are {off:g} m/s off those of a rotating body")
        same = np.array_equal(core.cast(v), now[here][:n])
        rows[here][n:] = now[here][n:] if same else hidden
    return rows


def _rigid_bodies(scene: Any) -> list[Any]:
    return [body for body in scene.bodies if isinstance(body, RigidBody)]


def follow_pins(scene: Any, targets: Any, dtype: Any) -> None:
    """Write the targets of the vertices of bodies that are held as a whole, whose pinned ones are at their targets (n, 3) already;
    ValueError if the motion of pins would deform a body.
    """
    tolerance = EXACT if dtype == np.float64 else ROUNDED
    for body in scene.bodies:
        if not isinstance(body, RigidBody) or all(motion is None for _, motion in body.pins):
            continue
        pinned, hinges, rows = body.pinned(), body.hinges(), targets[body.slice]
        goals = rows[pinned].astype(np.float64)
        if hinges is None:
            rows[:] = body.moved_to(pinned, goals, f"motion of {body.name!r}", tolerance)
        elif hinges[1] >= 0:
            length, rest = (float(np.linalg.norm(ends[hinges[1]] - ends[hinges[0]])) for ends in (rows.astype(np.float64), body.points))
            if abs(length - rest) > tolerance * (np.abs(goals).max() + rest):
                raise ValueError(
                    f"motion of {body.name!r}: its two pins are {rest:g} m apart, and their targets {length:g} m; keep the distance"
                )


def add_rigid_load(scene: Any, x: Floats, forces: Floats, load: Floats) -> Floats:
    """Add to load (n, 3) m/s^2 the accelerations by forces (n, 3) N at the vertices of rigid bodies, at x: F/m + alpha x r, alpha the
    angular acceleration by their torque about the centre.
    """
    for body in scene.bodies:
        if not isinstance(body, RigidBody):
            continue
        pushed, here = forces[body.slice], x[body.slice]
        if not pushed.any():
            continue
        _, rotation = pose_of(body, here)
        r = body.arms @ rotation.T
        moments = rotation @ body.second_moments @ rotation.T
        torque = np.cross(r, pushed).sum(axis=0)
        angular = np.linalg.solve(np.trace(moments) * np.eye(3) - moments, torque)
        load[body.slice] += pushed.sum(axis=0) / body.mass + np.cross(angular, r)
    return load


def add_rigid_inertia(scene: Any, dt: Any, fixed: Any, stiffness: Floats) -> Floats:
    """Add to stiffness (n,) N/m that of the free surface vertices of rigid bodies: their effective mass over dt^2, 3/(dt^2 tr W) with the
    inverse W = 1/m + [r]^T I^-1 [r] of the effective mass at r: that of the body, not of a share, since one vertex may carry it.
    """
    for body in scene.bodies:
        if not isinstance(body, RigidBody):
            continue
        arms = body.arms[: len(selectable_points(body))]
        inertia = np.trace(body.second_moments) * np.eye(3) - body.second_moments
        crosses = np.cross(arms[:, None, :], np.eye(3))  # rows r x e
        inverse = 3.0 / body.mass + np.einsum("kai,ij,kaj->k", crosses, np.linalg.inv(inertia), crosses)
        rows = np.arange(body.slice.start, body.slice.start + len(arms))
        stiffness[rows] = np.where(fixed[rows] == 0, 3.0 / (inverse * dt**2), 0.0)
    return stiffness
