"""A scene from the file of another program, with the settings of its simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdgpu._internal.counted import counted
from pdgpu._internal.made import made_by
from pdgpu.simulation.simulation import Simulation
from pdgpu.solvers.solvers import Newton

if TYPE_CHECKING:
    from pdgpu.contact.barrier_contact import BarrierContact
    from pdgpu.scene.scene import Scene
    from pdgpu.simulation.scene_files.notes import SceneNote
    from pdgpu.types import Floats, Integers, Solver

__all__ = ["Load", "LoadedScene"]


class Load(NamedTuple):
    """Forces on vertices of a scene while a time range lasts."""

    vertices: Integers
    forces: Floats  # (k, 3) N
    begin: float  # s, of the begin of a step
    end: float


@made_by("read_scene")
@dataclass(eq=False)
class LoadedScene:
    """A scene of another program with the settings of its simulation; made by `read_scene`.

    Attributes
    ----------
    path : str
    format : str
        "IPC" or "polyfem".
    scene : Scene
        It may be changed before `simulation`.
    dt : float or None
        Time step, s; None: quasistatic, and `times` are those of its steps.
    interval : float
        Time from one step of the file to the next, s: dt, if that is not None.
    duration : float
        s.
    contact : BarrierContact or None
    options : dict
        Other arguments of `Simulation`.
    notes : tuple of SceneNote
        Lines that were ignored, replaced or skipped: `path`, `line`, `keyword`, `status` and `text` of each.
    """

    path: str
    format: str
    scene: Scene
    dt: float | None
    interval: float
    duration: float
    contact: BarrierContact | None
    options: dict[str, Any]
    notes: tuple[SceneNote, ...]
    loads: tuple[Load, ...] = ()

    def __repr__(self):
        dt = "quasistatic" if self.dt is None else f"dt={self.dt:g}"
        parts = [repr(self.scene), dt, counted(self.steps, "step"), repr(self.contact), counted(len(self.notes), "note")]
        return f"<LoadedScene of {self.format}: {', '.join(parts)}>"

    @property
    def steps(self) -> int:
        """Number of steps of the duration."""
        return max(int(np.ceil(self.duration / self.interval - 1e-6)), 1)

    @property
    def times(self) -> Floats:
        """Times of the ends of all steps, (steps,) s: ``sim.run(times=loaded.times)`` runs a quasistatic scene."""
        return self.interval * np.arange(1.0, self.steps + 1.0)

    def external_forces(self, time: float) -> Floats | None:
        """The forces of the file in a step that begins at a time (s), (n, 3) N; None: the file has none."""
        if not self.loads:
            return None
        forces = np.zeros((self.scene.n_vertices, 3))
        for load in self.loads:
            if load.begin <= time < load.end:
                forces[load.vertices] += load.forces
        return forces

    def apply_forces(self, simulation: Simulation) -> None:
        """Set the forces of the file at the time of a simulation; a callback of `Simulation.run`, if they change with time."""
        if self.loads:
            simulation.external_forces = self.external_forces(simulation.time)

    def simulation(self, solver: Solver | None = None, **options: Any) -> Simulation:
        """A simulation of the scene with the time step, the contact and the forces of the file.

        Parameters
        ----------
        solver : as for `Simulation`
            By default ``Newton(iterations=100, tolerance=1e-4)``.
        **options
            Arguments of `Simulation`; they replace those of the file.

        Raises
        ------
        TypeError, ValueError
            As for `Simulation`, also for a scene that starts with an intersection.
        """
        given = {"dt": self.dt, "contact": self.contact} | self.options | options
        simulation = Simulation(self.scene, Newton(iterations=100, tolerance=1e-4) if solver is None else solver, **given)
        self.apply_forces(simulation)
        return simulation
