"""A simulation over time: runs with records, momenta, and files of the whole state."""

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
    """Momentum of all bodies together.

    Attributes
    ----------
    linear : ndarray, shape (3,), kg m/s
    angular : ndarray, shape (3,), kg m^2/s
    """

    linear: np.ndarray
    angular: np.ndarray


def history_row(simulation: Any, first: bool) -> dict[str, Any]:
    """Return the row of a History for the present state, and for the step that ended there unless it is the first row."""
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
    """Return distances of the pairs in contact, (k,) m."""
    if core.touching is None:
        return np.zeros(0)
    # not contact_forces, which warns of forces that a history does not contain
    return pair_distances(core) if isinstance(core.contact, TwoWayContact) else forces_of(core).distance


class Motion(Part):
    """The part of `Simulation` for runs, momenta and files."""

    def momentum(self, body: Any = None, *, about: Any = (0.0, 0.0, 0.0)) -> Momentum:
        """Linear and angular momentum, sum m v and sum m (x - about) x v, including pinned vertices.

        A step conserves the linear momentum of free bodies. It conserves the angular momentum of a free rigid body too. The angular
        momentum of all bodies together changes in contact and by springs between bodies: forces act at the end positions, and each body has
        moved by h v since, so a step changes it by up to h v x m v, an error of first order in h.

        Parameters
        ----------
        body : Body or str, optional
            Only of this body; by default of all.
        about : array_like, shape (3,), or "centre"
            The reference point of the angular momentum, m; "centre": the centre of mass.

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
        """Take steps for a time, or quasistatic steps at given times, and record energies, momenta and contacts.

        Parameters
        ----------
        seconds : float
            Simulated time, s; the number of steps is the smallest that reaches it. Not with dt=None.
        times : array_like, shape (k,)
            Only for dt=None, s: the time of each of k quasistatic steps, as in `step(k, time=times)`.
        every : int
            Interval of steps between records and callbacks, also after the last step; it does not affect the steps.
        callback : callable, optional
            Called with the simulation at every recorded row, first before the first step. If it returns True, the run ends.
        max_behind : float, optional
            The largest target lag, m. The run ends after the first step whose `StepRecord.behind` is larger. That step is recorded, and a
            RuntimeWarning names the lagging pins and obstacles. By default no lag ends the run.
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
            As of `step`; its attribute `history` has the rows recorded until then.
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
        """Return the number of steps of a run, and the `time` of each."""
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
        """Write all bodies in their present state, with fields, to a .vtu or .vtk file for ParaView.

        Solids are their tets, shells their triangles, rods their edges, particles points, embedded surfaces triangles; obstacles are not
        written. Fields of the points: "velocity" (m/s), "displacement" from rest (m), "elastic_force" and "contact_force" (N; the latter
        NaN with `TwoWayContact`, which has no forces), "mass" (kg), "pinned", "body" (its number). Fields of the cells: "body", "stress"
        (Cauchy, 9 numbers by rows, Pa) and "von_mises" (Pa), NaN without tets or without a material on them. The file is replaced as a
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
        """The surfaces of the bodies in their present state: triangles of solids, shells and rigid bodies, edges of rods.

        A surface embedded in a solid with `collides` replaces the solid's own. Vertices and elements have the same order in every frame
        until a cut. `Mesh.write` writes it to a file, such as .glb.

        Parameters
        ----------
        obstacles : bool
            Also the obstacle meshes, at their present positions.

        Returns
        -------
        Mesh
            One group for each body, and obstacle, with its name; particles are points of a group.

        Raises
        ------
        ValueError
            A scene of particles only.
        """
        from pdgpu.simulation.surface_files import surface_of

        return surface_of(self, flag("obstacles", obstacles))

    def record(self, path: Path, *, append: bool = False) -> Film | ObjFilm | UsdFilm:
        """Begin a film: a .pvd file for ParaView, with a frame as of `write` for every call of the returned object.

        Films of surfaces only, of bodies and obstacle meshes, are .usda, .usdc and .usd (one file with a sample of the points for every
        frame, also of rods, segments and points; needs usd-core) and .obj (a file for each frame, a group for each body).

        Parameters
        ----------
        path : str or os.PathLike
            Ends in .pvd, with frames NAME_00000.vtu and so on in the same folder. Or in .obj, with frames NAME_00000.obj and so on, or in
            .usda, .usdc, .usd.
        append : bool
            Continue an existing .pvd film from the simulation's time: its frames of later times are replaced.

        Returns
        -------
        callable
            Also a callback for `run`.

        Examples
        --------
        >>> sim.run(5.0, every=10, callback=sim.record("out/fall.pvd"))  # doctest: +SKIP
        """
        from pdgpu.simulation.volume_files import film_of

        return film_of(self, path, flag("append", append))

    def save(self, path: Path) -> None:
        """Write the scene, the solver and the state to a file; `load` resumes with the same bits.

        Motions are functions and are not written: `load` has an argument for them. The file is replaced as a whole: after a failure the old
        file remains, and of two concurrent writers one file remains. The target of a symbolic link is replaced; a replaced file keeps its
        mode.

        Raises
        ------
        FileNotFoundError
            The folder does not exist.
        ValueError
            Positions or velocities that are not finite, written through `device_positions`.
        """
        from pdgpu.simulation.checkpoint import write

        write(path, self._core)

    @classmethod
    def load(cls, path: Path, *, motions: Options | None = None, device: Device | None = None, threads: int = 0) -> Self:
        """Read a file of `save`.

        Parameters
        ----------
        path : str or os.PathLike
        motions : dict, optional
            Name of a body -> list of its motions, one per pin with a motion, then one per moving attachment, then that of its shape
            targets; name of a moving obstacle -> [its motion]. Required if the saved scene had some.
        device : str, optional
            Another device than the saved one. PDGPU_DEVICE and PDGPU_DTYPE have no effect: the file contains both.

        Returns
        -------
        Simulation

        Raises
        ------
        FileNotFoundError
            The file does not exist.
        ValueError
            Another file format, an unknown version, a truncated or damaged file, a header that does not match the content, missing motions.
            The memory for a file is at most its size times a constant.
        """
        from pdgpu.simulation.checkpoint import read

        return cls._of(read(path, motions, device, threads))
