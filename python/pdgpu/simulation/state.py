"""The state of a simulation: positions, velocities, time, and what is added to gravity."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import real_array
from pdgpu._internal.motion_calls import asking
from pdgpu._internal.relative_core import moved_origin
from pdgpu.materials.shape_target import place_of_target
from pdgpu.simulation.rigid_state import RigidState, add_rigid_load, check_rigid_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.scene.bodies import Body, Obstacle
    from pdgpu.types import BodyName, Floats

__all__ = ["State"]


class State:
    """The part of `Simulation` that gives its state out and takes another one in."""

    def _cast(self, array):
        return np.ascontiguousarray(array, dtype=self.dtype)

    def _cast_positions(self, array):
        """As the core takes them: far from the origin of the coordinates float64, from which a RelativeCore subtracts `origin`."""
        return np.ascontiguousarray(array, dtype=np.float64 if self._origin.any() else self.dtype)

    @property
    def positions(self) -> Floats:
        """(n, 3) m, a fresh copy in the simulation's dtype; float64 where `origin` is not 0."""
        return self._backend.positions()

    @property
    def origin(self) -> Floats:
        """(3,) m: the simulation computes with positions relative to it.

        0 for a scene whose middle is at most 640 m from 0 along each axis, else the multiple of 1024 m next to it. It moves with the scene,
        before a step and in `set_state`, and is looked at every 32 steps. A float32 coordinate then has the spacing of a distance from
        the origin, not of the coordinate itself. Files, copies and pickles keep it. `device_positions` are relative to it.
        """
        return self._origin.copy()

    def _follow(self, positions):
        """Moves the origin where positions (n, 3) m have left it: a simulation of the same state relative to another origin."""
        origin = moved_origin(np.asarray(positions, np.float64)[self._fixed == 0], self._origin)
        if (origin == self._origin).all():
            return
        names = (
            "last_step",
            "_setup_seconds",
            "_lag",
            "_refusal_is_said",
            "_rounding_is_said",
            "_energy_is_said",
            "_start_is_checked",
            "_inverted",
        )
        kept = {name: self.__dict__[name] for name in names}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say of the scene was said when the simulation was made
            moved = self._resumed(*self._resumption()[:-1], origin)
        self.__dict__.update(moved.__dict__)
        self.__dict__.update(kept)

    @property
    def velocities(self) -> Floats:
        """(n, 3) m/s, a fresh copy."""
        return self._backend.velocities()

    @property
    def device_positions(self) -> Any:
        """The positions where the simulation keeps them, for other libraries to read and write in place without a copy.

        An object for ``cupy.from_dlpack``, ``torch.from_dlpack``, ``warp.from_dlpack`` or, with device="cpu", ``numpy.from_dlpack``:
        it speaks DLPack (``__dlpack__``, versioned or not), on a GPU the CUDA array interface and on the CPU NumPy's. Shape
        (n, 3), m, in the simulation's dtype.

        - Contents change with `step`. What was taken stays valid as long as somebody keeps it; once the simulation is cut it moves no
          more, and the cut simulation has other memory: ask anew.
        - It may be written between steps, which does what ``set_state(positions=...)`` does without its checks: the next step
          starts from what it finds. Two things differ: initialization="adaptive" keeps the acceleration of the step before, and a contact
          stiffness "auto" stays as it is.
        - Who reads or writes on a stream of his own must be done before the next call of this simulation. `step` returns when the device
          is done, once this was asked for.

        Raises
        ------
        RuntimeError
            Called while a step is running.
        """
        return self._backend.device_positions()

    @property
    def device_velocities(self) -> Any:
        """The velocities where the simulation keeps them, (n, 3) m/s; see `device_positions`."""
        return self._backend.device_velocities()

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies as the simulation has them, a tuple of Body: after `cut` with other meshes and slices than those of the scene.
        Copies that refuse to be changed: what holds a body is read when the simulation is made."""
        return tuple(body._shown() for body in self._scene.bodies)

    @property
    def masses(self) -> Floats:
        """Lumped masses, (n,) float64, kg."""
        return self._masses.copy()

    @property
    def rigid(self) -> RigidState:
        """Centres, rotations, velocities and spins of the rigid bodies as they are now."""
        return RigidState(self)

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """The obstacles of the scene, a tuple of Obstacle: what a simulation with `contact` keeps away from."""
        return self._scene.obstacles

    @property
    def time(self) -> float:
        """s; the start time plus the number of steps times dt. With dt=None the time of the last step, as it was given."""
        return self._start_time + self._core.steps() * (self.dt or 0.0)

    def set_state(self, *, positions: ArrayLike | None = None, velocities: ArrayLike | None = None) -> None:
        """Put the vertices somewhere, e.g. to start from a stretched pose; pinned ones too.

        Parameters
        ----------
        positions, velocities : array_like, shape (n, 3), optional
            m, m/s. What is left out stays. The adaptive first guess starts anew. With contact the next step raises a ValueError where
            something meets. With positions a contact stiffness "auto" goes back to its start value.
        """
        n = len(self._masses)
        given = {
            name: real_array(name, value, (n, 3))
            for name, value in (("positions", positions), ("velocities", velocities))
            if value is not None
        }
        for name, array in given.items():
            self._in_range(name, array)
        if positions is not None:
            self._follow(given["positions"])
        arrays = [
            cast(given[name]) if name in given else None for name, cast in (("positions", self._cast_positions), ("velocities", self._cast))
        ]
        # a state that was rounded to float32 is as far off as float32 allows, also in a simulation in float64
        single = any(getattr(value, "dtype", None) == np.float32 for value in (positions, velocities))
        check_rigid_state(self._scene, *arrays, np.dtype(np.float32) if single else self.dtype)
        self._backend.set_state(*arrays, None)
        self._start_is_checked = positions is None and self._start_is_checked

    def set_shape_targets(self, body: BodyName, targets: ArrayLike | Callable[[float], ArrayLike]) -> None:
        """Give a body with the material ShapeTarget other targets, from the next step on; nothing is factorised anew.

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
        body = self._scene.find(body)
        place = place_of_target(body.materials)
        if place is None:
            raise ValueError(f"body: {body.name!r} has no ShapeTarget, its materials are {list(body.materials)}")
        with asking(self):
            found = self._retargeted(body, place, body.materials[place].seeking(targets, self.time))
        self._retarget(*found)

    def _shapes_at(self, time):
        """What `_retarget` takes, of each body whose targets are scripted and change by a time, s."""
        found = []
        for body in self._scene.bodies:
            place = place_of_target(body.materials)
            material = None if place is None else body.materials[place]
            if material is not None and (now := material.at(time)) is not material:
                found.append(self._retargeted(body, place, now))
        return found

    def _retargeted(self, body, place, material):
        """What `_retarget` takes where the material of this place is another ShapeTarget, whose targets alone differ."""
        kind = material.kinds[4]
        before = self._scene.bodies[: self._scene.bodies.index(body)]
        first = sum(len(group[1]) for other in before for group in other.groups if group[0] == kind)
        changed = [material.retargeted(group) if group[0] == kind else group for group in body.groups]
        parameters = next(group[3] for group in changed if group[0] == kind)
        targets = self._cast(self._in_range("targets", parameters[:, 1:]))
        materials = (*body.materials[:place], material, *body.materials[place + 1 :])
        return body, first, targets, {"materials": materials, "groups": tuple(changed)}

    def _retarget(self, body, first, targets, changed):
        self._backend.set_targets(first, targets)
        body._keep(**changed)

    def _in_range(self, name, array):
        """Refuse what becomes infinite in float32."""
        limit = float(np.finfo(self.dtype).max)
        bad = np.abs(array) > limit
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(f"{name}: value {array[index]} at {index} is out of range for {self.dtype.name}")
        return array

    @property
    def external_forces(self) -> Floats | None:
        """(n, 3) N, added to gravity until changed; None: none. On a rigid body those of all its vertices act together, as their sum
        and their torque about its centre, of each step anew; in the step the torque turns with the body."""
        return None if self._external_forces is None else self._external_forces.copy()

    @external_forces.setter
    def external_forces(self, forces: ArrayLike | None) -> None:
        n = len(self._masses)
        forces = None if forces is None else real_array("external_forces", forces, (n, 3))
        self._backend.set_load(self._load_of(forces))
        self._external_forces = forces

    def _turn_forces(self):
        """Torques on rigid bodies, whose inertia turns with them, as accelerations of the step about to be solved."""
        if self._external_forces is not None and self._rigid is not None:
            self._backend.set_load(self._load_of(self._external_forces))

    def _load_of(self, forces):
        """Acceleration by gravity and external forces, (n, 3) m/s^2."""
        load = self._in_range("gravity", np.broadcast_to(self._gravity, self._rest.shape))
        if forces is not None:
            with np.errstate(over="ignore"):
                massive = np.where(self._masses > 0.0, self._masses, np.inf)[:, None]  # points of rigid bodies have no mass
                if self._rigid is None:
                    load = load + forces / massive
                else:
                    deformable = ~np.isin(np.arange(len(forces)), self._rigid_rows)[:, None]
                    load = add_rigid_load(self._scene, self._state64()[0], forces, load + forces / massive * deformable)
                load = self._in_range("external_forces", load)
        return self._cast(load)
