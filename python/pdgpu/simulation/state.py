"""The state of a simulation: positions, velocities, time, and external forces."""

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
    """The part of `Simulation` for reading and setting its state."""

    @property
    def positions(self) -> Floats:
        """Positions, (n, 3) m, a copy in the simulation's dtype; float64 if `origin` is not 0."""
        return self._core.rows.of(self._core.backend.positions())

    @property
    def origin(self) -> Floats:
        """The reference point of the positions in the compiled model, (3,) m.

        0 for a scene whose middle is at most 640 m from 0 along each axis, else the closest multiple of 1024 m. It follows the scene,
        before a step and in `set_state`, and is checked every 32 steps. A float32 coordinate then has the spacing of a distance from the
        origin, not of the coordinate itself. Files, copies and pickles keep it. `device_positions` are relative to it.
        """
        return self._core.origin.copy()

    @property
    def velocities(self) -> Floats:
        """Velocities, (n, 3) m/s, a copy."""
        return self._core.rows.of(self._core.backend.velocities())

    @property
    def device_positions(self) -> Any:
        """The positions in the simulation's memory, for other libraries to read and write in place without a copy.

        An object for ``cupy.from_dlpack``, ``torch.from_dlpack``, ``warp.from_dlpack`` or, with device="cpu", ``numpy.from_dlpack``: it
        supports DLPack (``__dlpack__``, versioned or not), on a GPU the CUDA array interface and on the CPU NumPy's. Shape (n, 3), m, in
        the simulation's dtype. With rigid bodies it has further rows: `device_rows` has those of the vertices. ``numpy.from_dlpack`` of
        NumPy 2.0 gives a read-only array, ``numpy.asarray`` does not.

        - Contents change with `step`. The memory stays valid as long as a reference exists. After a cut it no longer changes, and the
          simulation has other memory: get the object again.
        - It may be written between steps, like ``set_state(positions=...)`` without its checks: the next step starts from the contents.
          Two things differ: initialization="adaptive" keeps the acceleration of the previous step, and a contact stiffness "auto" is
          unchanged. A rigid body must be moved with all of its rows.
        - Reads and writes on another stream must be complete before the next call of this simulation. After the first use of this property,
          `step` returns when the device has finished.

        Raises
        ------
        RuntimeError
            Called during a step.
        """
        return self._core.backend.device_positions()

    @property
    def device_velocities(self) -> Any:
        """The velocities in the simulation's memory, (n, 3) m/s; see `device_positions`."""
        return self._core.backend.device_velocities()

    @property
    def device_rows(self) -> Any:
        """The row of each vertex in `device_positions` and `device_velocities`, int64 of shape (n,): ``device_array[device_rows]`` are
        `positions`. Without rigid bodies 0, 1, .. n - 1. The other rows are points of joints and of the mass of rigid bodies.
        """
        rows = self._core.rows
        return np.arange(rows.n) if rows.rows is None else rows.rows.copy()

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies of the simulation, a tuple of Body: after `cut` with other meshes and slices than those of the scene. Read-only
        copies: pins, slides and attachments are read when the simulation is made.
        """
        return tuple(shown(body) for body in self._core.public_scene.bodies)

    @property
    def masses(self) -> Floats:
        """Masses of the vertices, (n,) float64, kg; those of a rigid body are `RigidBody.masses`.

        Read-only: a write raises a ValueError. Give `masses=` where the body is added, or set `Body.masses` of the scene."""
        return read_only(self._core.public_scene.masses())

    @property
    def rigid(self) -> RigidState:
        """Centres, rotations, velocities and spins of the rigid bodies in the present state."""
        return RigidState(self._core, lambda: self._core.gradient(None))

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """The obstacles of the scene, a tuple of Obstacle; they act with `contact`."""
        return self._core.scene.obstacles

    @property
    def time(self) -> float:
        """s; the start time plus the number of steps times dt. With dt=None the given time of the last step."""
        return self._core.time

    def set_state(self, *, positions: ArrayLike | None = None, velocities: ArrayLike | None = None, time: float | None = None) -> None:
        """Set positions or velocities, for example to start from a stretched pose, also of pinned vertices. Or set the time.

        Parameters
        ----------
        positions, velocities : array_like, shape (n, 3), optional
            m, m/s. None: unchanged. The adaptive first guess starts again from no acceleration. With contact the next step raises a
            ValueError for an intersection. With positions a contact stiffness "auto" returns to its start value. The vertices of a rigid
            body are its pose: centre + arms @ rotation.T with `RigidBody.arms`, and their velocities those of a rotating body. Such a body
            continues from there to rounding; copies, pickles and files keep its bits.
        time : float, optional
            s. Steps are counted from here, and obstacles move to the positions of their motions at this time. A pin with a motion moves
            from its present position to its target in the next step. With contact the next step raises a ValueError for an intersection.

        Raises
        ------
        ValueError
            Another shape; values that are not finite, or out of range for the dtype; vertices of a rigid body that are no rotation and
            translation of it, to 1e-8 of its size and coordinates, and to 1e-4 of them in float32.
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
        """Set other targets of a body with the material ShapeTarget, from the next step on, without a new factorisation.

        Files, copies and `bodies` have the present targets; `load` needs a callable again.

        Parameters
        ----------
        body : Body or str
        targets : array_like, shape (3, 3) or (tets, 3, 3), or callable(time) -> one of these
            As for `ShapeTarget`: a callable is called for the targets at the end of every step.

        Raises
        ------
        ValueError
            A body without a ShapeTarget, another shape, a determinant that is not positive. The targets are then unchanged; an invalid
            later result of a callable is an error of the step.
        RuntimeError
            Called during a step.
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
        """External forces, (n, 3) N, added to gravity until changed; None: none. On a rigid body the forces at all its vertices act as
        their sum and their torque about its centre, which is constant within each step.
        """
        forces = self._core.external_forces
        return None if forces is None else self._core.rows.of(forces).copy()

    @external_forces.setter
    def external_forces(self, forces: ArrayLike | None) -> None:
        core = self._core
        core.set_external_forces(None if forces is None else core.rows.spread(real_array("external_forces", forces, (core.rows.n, 3))))
