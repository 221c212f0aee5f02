"""The state of a simulation: positions, velocities, time, and what is added to gravity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import number, real_array
from pdgpu._internal.attributes import read_only
from pdgpu._internal.motion_calls import asking
from pdgpu._internal.parts import Part
from pdgpu.materials.shape_target import place_of_target
from pdgpu.scene.bodies import shown
from pdgpu.simulation.resume import with_state
from pdgpu.simulation.rigid_state import RigidState, positions_in_model, shape_tolerance, velocities_in_model
from pdgpu.simulation.targets import retarget, retargeted

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.scene.bodies import Body, Obstacle
    from pdgpu.types import BodyName, Floats

__all__ = ["State"]


class State(Part):
    """The part of `Simulation` that gives its state out and takes another one in."""

    @property
    def positions(self) -> Floats:
        """(n, 3) m, a fresh copy in the simulation's dtype; float64 where `origin` is not 0."""
        return self._core.rows.of(self._core.backend.positions())

    @property
    def origin(self) -> Floats:
        """(3,) m: the simulation computes with positions relative to it.

        0 for a scene whose middle is at most 640 m from 0 along each axis, else the multiple of 1024 m next to it. It moves with the scene,
        before a step and in `set_state`, and is looked at every 32 steps. A float32 coordinate then has the spacing of a distance from
        the origin, not of the coordinate itself. Files, copies and pickles keep it. `device_positions` are relative to it.
        """
        return self._core.origin.copy()

    @property
    def velocities(self) -> Floats:
        """(n, 3) m/s, a fresh copy."""
        return self._core.rows.of(self._core.backend.velocities())

    @property
    def device_positions(self) -> Any:
        """The positions where the simulation keeps them, for other libraries to read and write in place without a copy.

        An object for ``cupy.from_dlpack``, ``torch.from_dlpack``, ``warp.from_dlpack`` or, with device="cpu", ``numpy.from_dlpack``:
        it speaks DLPack (``__dlpack__``, versioned or not), on a GPU the CUDA array interface and on the CPU NumPy's. Shape
        (n, 3), m, in the simulation's dtype. With rigid bodies it has further rows: `device_rows` has those of the vertices.
        ``numpy.from_dlpack`` of NumPy 2.0 gives a read-only array, ``numpy.asarray`` does not.

        - Contents change with `step`. What was taken stays valid as long as somebody keeps it; once the simulation is cut it moves no
          more, and the cut simulation has other memory: ask again.
        - It may be written between steps, which does what ``set_state(positions=...)`` does without its checks: the next step
          starts from what it finds. Two things differ: initialization="adaptive" keeps the acceleration of the step before, and a contact
          stiffness "auto" stays as it is. A rigid body must be moved with all of its rows.
        - Who reads or writes on a stream of his own must be done before the next call of this simulation. `step` returns when the device
          is done, once this was asked for.

        Raises
        ------
        RuntimeError
            Called while a step is running.
        """
        return self._core.backend.device_positions()

    @property
    def device_velocities(self) -> Any:
        """The velocities where the simulation keeps them, (n, 3) m/s; see `device_positions`."""
        return self._core.backend.device_velocities()

    @property
    def device_rows(self) -> Any:
        """The row of each vertex in `device_positions` and `device_velocities`, int64 of shape (n,): ``device_array[device_rows]`` are
        `positions`. Without rigid bodies 0, 1, .. n - 1. The others are points of joints and of the mass of rigid bodies."""
        rows = self._core.rows
        return np.arange(rows.n) if rows.rows is None else rows.rows.copy()

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies as the simulation has them, a tuple of Body: after `cut` with other meshes and slices than those of the scene.
        Copies that refuse to be changed: what holds a body is read when the simulation is made."""
        return tuple(shown(body) for body in self._core.public_scene.bodies)

    @property
    def masses(self) -> Floats:
        """Masses of the vertices, (n,) float64, kg; those of a rigid body are `RigidBody.masses`.

        Read-only: a write raises a ValueError. Give `masses=` where the body is added, or set `Body.masses` of the scene."""
        return read_only(self._core.public_scene.masses())

    @property
    def rigid(self) -> RigidState:
        """Centres, rotations, velocities and spins of the rigid bodies as they are now."""
        return RigidState(self._core, lambda: self._core.gradient(None))

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """The obstacles of the scene, a tuple of Obstacle: what a simulation with `contact` keeps away from."""
        return self._core.scene.obstacles

    @property
    def time(self) -> float:
        """s; the start time plus the number of steps times dt. With dt=None the time of the last step, as it was given."""
        return self._core.time

    def set_state(self, *, positions: ArrayLike | None = None, velocities: ArrayLike | None = None, time: float | None = None) -> None:
        """Put the vertices somewhere, e.g. to start from a stretched pose; pinned ones too. Or set the time.

        Parameters
        ----------
        positions, velocities : array_like, shape (n, 3), optional
            m, m/s. What is left out stays. The adaptive first guess starts again from no acceleration. With contact the next step raises
            a ValueError where something meets. With positions a contact stiffness "auto" goes back to its start value. The vertices of a
            rigid body are its pose: centre + arms @ rotation.T with `RigidBody.arms`, and their velocities those of a turning body. Such
            a body goes on from there to rounding; copies, pickles and files keep its bits.
        time : float, optional
            s. Steps are counted from here, and obstacles are at the places of their motions at this time. A scripted pin goes from its
            present place to its target in the next step. With contact the next step raises a ValueError where something meets.

        Raises
        ------
        ValueError
            Another shape; values that are not finite, or out of range for the dtype; vertices of a rigid body that no rotation and
            translation put there, to 1e-8 of its size and coordinates, and to 1e-4 of them in float32.
        """
        if time is not None:
            time = number("time", time)
        n = self._core.rows.n
        given = {
            name: real_array(name, value, (n, 3))
            for name, value in (("positions", positions), ("velocities", velocities))
            if value is not None
        }
        for name, array in given.items():
            self._core.in_range(name, array)
        tolerance = shape_tolerance(self._core, positions, velocities)
        if positions is not None:
            given["positions"] = positions_in_model(self._core, "positions", given["positions"], tolerance)
        if velocities is not None:
            given["velocities"] = velocities_in_model(self._core, given["velocities"], tolerance)
        self._core = with_state(self._core, given.get("positions"), given.get("velocities"), time)

    def set_shape_targets(self, body: BodyName, targets: ArrayLike | Callable[[float], ArrayLike]) -> None:
        """Give a body with the material ShapeTarget other targets, from the next step on; nothing is factorised again.

        Files, copies and `bodies` have the targets as they are; `load` asks for a callable again.

        Parameters
        ----------
        body : Body or str
        targets : array_like, shape (3, 3) or (tets, 3, 3), or callable(time) -> one of these
            As for `ShapeTarget`: a callable is asked for those of the end of every step.

        Raises
        ------
        ValueError
            A body without a ShapeTarget, another shape, a determinant that is not positive. The targets stay as they were; what a callable
            returns later is an error of the step.
        RuntimeError
            Called while a step is running.
        """
        body = self._core.scene.find(body)
        place = place_of_target(body.materials)
        if place is None:
            raise ValueError(f"body: {body.name!r} has no ShapeTarget, its materials are {list(body.materials)}")
        with asking(self._core):
            target: Any = body.materials[place]
            found = retargeted(self._core, body, place, target.seeking(targets, self.time))
        retarget(self._core, *found)

    @property
    def external_forces(self) -> Floats | None:
        """(n, 3) N, added to gravity until changed; None: none. On a rigid body those of all its vertices act together, as their sum
        and their torque about its centre, which is constant within each step."""
        forces = self._core.external_forces
        return None if forces is None else self._core.rows.of(forces).copy()

    @external_forces.setter
    def external_forces(self, forces: ArrayLike | None) -> None:
        core = self._core
        core.set_external_forces(None if forces is None else core.rows.spread(real_array("external_forces", forces, (core.rows.n, 3))))
