"""A simulation over time: runs that are recorded, momenta, and files of the whole state."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdgpu._internal.arguments import flag, integer, number, real_array
from pdgpu._internal.made import made_by
from pdgpu._internal.parts import Part, core_of
from pdgpu.contact.two_way_contact import TwoWayContact
from pdgpu.errors import DivergenceError
from pdgpu.results.histories import History
from pdgpu.simulation.contact_forces import forces_of, pair_distances
from pdgpu.simulation.stepping import times_of_steps
from pdgpu.simulation.targets import lagging

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from pdgpu.mesh.mesh import Mesh
    from pdgpu.simulation.surface_files import ObjFilm, UsdFilm
    from pdgpu.simulation.volume_files import Film
    from pdgpu.types import Device, Options, Path

__all__ = ["Momentum", "Motion"]


@made_by("Simulation.momentum")
class Momentum(NamedTuple):
    """Of all bodies together.

    Attributes
    ----------
    linear : ndarray, shape (3,), kg m/s
    angular : ndarray, shape (3,), kg m^2/s
    """

    linear: np.ndarray
    angular: np.ndarray


def history_row(simulation: Any, first: bool) -> dict[str, Any]:
    """What a History says of the present state, and of the step that ended there unless it is the first row."""
    core = core_of(simulation)
    energies = simulation.energies()
    elastic = energies.pop("elastic")
    momentum = simulation.momentum()
    row: dict[str, Any] = {"step": core.backend.steps(), "time": core.time, **energies}
    row |= {f"elastic_{name}": energy for name, energy in elastic.items()}
    row |= {f"momentum_{axis}": float(value) for axis, value in zip("xyz", momentum.linear, strict=True)}
    row |= {f"angular_momentum_{axis}": float(value) for axis, value in zip("xyz", momentum.angular, strict=True)}
    distances = _distances(core)
    row["contacts"], row["smallest_distance"] = len(distances), float(distances.min(initial=math.inf))
    if core.springs is not None:
        row["contacts"] = int(simulation.proxies().active.sum())
    last = core.memory.last_step
    row |= {"iterations": 0, "status": "", "solve_seconds": 0.0, "behind": 0.0, "stiffness": math.nan}
    if not first and last is not None:
        row |= {"iterations": last.iteration, "status": last.status, "solve_seconds": last.solve_seconds, "behind": last.behind}
        row["stiffness"] = math.nan if last.stiffness is None else last.stiffness
    row["inverted_tets"] = len(core.inverted.at(core.backend.positions()))
    return row


def _distances(core):
    """Of the pairs in contact, (k,) m."""
    if core.touching is None:
        return np.zeros(0)
    # not contact_forces, which warns of forces that a history has not
    return pair_distances(core) if isinstance(core.contact, TwoWayContact) else forces_of(core).distance


class Motion(Part):
    """The part of `Simulation` that runs, measures and writes."""

    def momentum(self, body: Any = None, *, about: Any = (0.0, 0.0, 0.0)) -> Momentum:
        """Linear and angular momentum, sum m v and sum m (x - about) x v, pinned vertices included.

        A step keeps the linear momentum of what nothing holds. The angular momentum of a free rigid body is kept too, while that of all
        bodies together changes in contact and by springs between bodies: forces act where the bodies end, and each body has gone h v
        since, so that a step changes it by up to h v x m v. Two balls that glance off each other at 5 m/s have 1.24 of it with h = 1/60 s,
        1.15 with 1/100 s, 1.02 with 1e-3 s and 1.003 with 1e-4 s: an error of first order in h.

        Parameters
        ----------
        body : Body or str, optional
            Only of this body; by default of all.
        about : array_like, shape (3,), or "centre"
            The point that the angular momentum is about, m; "centre": the centre of mass.

        Returns
        -------
        Momentum
        """
        at = slice(None) if body is None else self._core.scene.find(body).slice
        x, v = (array[at] for array in self._core.state64())
        masses = self._core.masses[at]
        if isinstance(about, str):
            if about != "centre":
                raise ValueError(f"about: expected a point or 'centre', got {about!r}")
            about = np.einsum("i,ij->j", masses, x) / masses.sum()
        else:
            about = real_array("about", about, (3,))
        return Momentum(np.einsum("i,ij->j", masses, v), np.einsum("i,ij->j", masses, np.cross(x - about, v)))

    def run(
        self,
        seconds: float | None = None,
        *,
        times: ArrayLike | None = None,
        every: int = 1,
        callback: Callable[[Self], Any] | None = None,
        max_behind: float | None = None,
        progress: bool = False,
    ) -> History:
        """Take steps for a time, or quasi-static steps at given times, and record energies, momenta and contacts.

        Parameters
        ----------
        seconds : float
            How long, s; as many steps as it takes to reach it. Not with dt=None.
        times : array_like, shape (k,)
            For dt=None only, s: the time of each of k quasi-static steps, as `step(k, time=times)` takes them.
        every : int
            Record and call back after every so many steps, and after the last; the steps themselves do not depend on it.
        callback : callable, optional
            Called with the simulation where a row is recorded, for the first time before the first step. When it returns True, the run
            ends there.
        max_behind : float, optional
            The largest target lag, m. The run ends after the first step whose `StepRecord.behind` is larger. That step is recorded, and a
            RuntimeWarning names the pins and obstacles that lag. By default no lag ends the run.
        progress : bool
            Show a bar.

        Returns
        -------
        History

        Raises
        ------
        ValueError
            `seconds` with dt=None, `times` with a time step.
        DivergenceError
            As of `step`; its attribute `history` has what was recorded until then.
        """
        every = integer("every", every, 1)
        progress = flag("progress", progress)
        if max_behind is not None:
            max_behind = number("max_behind", max_behind, minimum=0.0)
        if callback is not None and not callable(callback):
            raise TypeError(f"callback: expected a callable, got {callback!r}")
        simulation: Any = self
        n, steps = self._times_of_run(seconds, times)
        rows = [history_row(self, first=True)]
        history = History(rows=rows)
        if callback is not None and callback(self) is True:
            return history
        bar = None
        if progress:
            from tqdm.auto import tqdm

            bar = tqdm(total=n, unit="step")
        try:
            for k, time in enumerate(steps, 1):
                simulation.step(time=time)
                if bar is not None:
                    bar.update(1)
                record = self._core.memory.last_step
                late = max_behind is not None and record is not None and record.behind > max_behind
                if k % every == 0 or k == n or late:
                    rows.append(history_row(self, first=False))
                    if callback is not None and callback(self) is True:
                        break
                if late:
                    self._warn_of_end(max_behind)
                    break
        except DivergenceError as error:
            error.history = history
            raise
        finally:
            if bar is not None:
                bar.close()
        return history

    def _times_of_run(self, seconds, times):
        """The number of steps of a run, and the `time` of each."""
        if self._core.dt is not None:
            times_of_steps(self._core.scene, self._core.dt, 1, times, "times")
            seconds = number("seconds", seconds, above=0.0)
            n = seconds / self._core.dt
            if n > 2**31:
                raise ValueError(f"seconds: {seconds:g} s are {n:.3g} steps of {self._core.dt:g} s, more than can be counted")
            n = max(math.ceil(n - 1e-6), 1)
            return n, repeat(None, n)
        if seconds is not None or times is None:
            raise ValueError(
                f"seconds: dt=None (quasistatic) has no time step, got {seconds!r}; give times=, the time of each step, "
                "or take steps with step()"
            )
        times = times_of_steps(self._core.scene, self._core.dt, None, times, "times")
        if not times:
            raise ValueError("times: expected the time of one step or more, got none")
        return len(times), times

    def _warn_of_end(self, max_behind):
        warnings.warn(
            f"max_behind: the run ends at {self._core.time:g} s, where {lagging(self._core)}, more than {max_behind:g} m",
            RuntimeWarning,
            stacklevel=3,
        )

    def write(self, path: Path) -> None:
        """Write all bodies as they are now, with fields, to a .vtu or .vtk file for ParaView.

        Solids are their tets, shells their triangles, rods their edges, particles points, embedded surfaces triangles; obstacles are not
        written. Fields of the points: "velocity" (m/s), "displacement" from rest (m), "elastic_force" and "contact_force" (N; the latter
        NaN with `TwoWayContact`, which acts by no force), "mass" (kg), "pinned", "body" (its number). Fields of the cells: "body", "stress"
        (Cauchy, 9 numbers by rows, Pa) and "von_mises" (Pa), NaN where there are no tets or no material on them. The file is put in place
        whole.

        Raises
        ------
        ValueError
            Another end of the path.
        FileNotFoundError
            The folder does not exist.
        """
        from pdgpu.simulation.volume_files import write_state

        write_state(self, path)

    def surface(self, *, obstacles: bool = False) -> Mesh:
        """The surfaces of the bodies where they are now: triangles of solids, shells and rigid bodies, edges of rods.

        A surface that is embedded in a solid with `collides` stands for the solid's own. Vertices and elements have the same order in every
        frame until a cut. `Mesh.write` puts it into a file, such as .glb.

        Parameters
        ----------
        obstacles : bool
            Also the obstacles that are meshes, where they are now.

        Returns
        -------
        Mesh
            One group for each body, and obstacle, under its name; particles are points of a group.

        Raises
        ------
        ValueError
            A scene of particles alone.
        """
        from pdgpu.simulation.surface_files import surface_of

        return surface_of(self, flag("obstacles", obstacles))

    def record(self, path: Path, *, append: bool = False) -> Film | ObjFilm | UsdFilm:
        """Begin a film: a .pvd file, which ParaView opens, with a frame as `write` has it for every call of what is returned.

        Films of the surfaces alone, of bodies and obstacle meshes, are .usda, .usdc and .usd (one file with a sample of the points for
        every frame; needs usd-core) and .obj (a file for each frame, a group for each body).

        Parameters
        ----------
        path : str or os.PathLike
            Ends in .pvd; frames are put beside it as NAME_00000.vtu and so on. Or in .obj, whose frames are NAME_00000.obj and so on, or
            in .usda, .usdc, .usd.
        append : bool
            Go on with a .pvd film that is there, from the simulation's time on: its frames of later times are replaced.

        Examples
        --------
        >>> sim.run(5.0, every=10, callback=sim.record("out/fall.pvd"))  # doctest: +SKIP
        """
        from pdgpu.simulation.volume_files import film_of

        return film_of(self, path, flag("append", append))

    def save(self, path: Path) -> None:
        """Write the scene, the solver and the state to a file; `load` resumes with the same bits.

        Scripted motions are functions and are not written: `load` asks for them. The file is put in place whole: where writing fails the
        one before it stays, and of two that are written to one path at once one is left. A link is followed; a file that is replaced
        keeps its mode.

        Raises
        ------
        FileNotFoundError
            The folder does not exist.
        ValueError
            Positions or velocities that are not finite, written by way of `device_positions`.
        """
        from pdgpu.simulation.checkpoint import write

        write(path, self._core)

    @classmethod
    def load(cls, path: Path, *, motions: Options | None = None, device: Device | None = None, threads: int = 0) -> Self:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or os.PathLike
        motions : dict, optional
            Name of a body -> list of its motions, one per scripted pin, then one per attachment that moves, then that of its shape
            targets, and of an obstacle that moves -> [its motion], where the saved scene had some.
        device : str, optional
            Another device than the saved one. PDGPU_DEVICE has no effect here, nor has PDGPU_DTYPE: the file says both.

        Raises
        ------
        FileNotFoundError
        ValueError
            No such file format, a version this one does not know, a truncated or damaged file, one that claims what it does not hold or
            holds what it does not name, motions that are missing. Nothing of a file takes more memory than its size times a constant.
        """
        from pdgpu.simulation.checkpoint import read

        return cls._of(read(path, motions, device, threads))
