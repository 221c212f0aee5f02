"""A simulation: a scene, a solver, a state, and the step."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse

from pdgpu.arguments import integer, number, real_array
from pdgpu.attributes import GuardedAttributes
from pdgpu.automatic import resolve
from pdgpu.automatic_rho import search_inner, search_outer
from pdgpu.backends import backend, thread_count
from pdgpu.contact_forces import forces_of
from pdgpu.contact_scene import ContactScene
from pdgpu.contact_start import check_contact_start
from pdgpu.contacts import find_contacts
from pdgpu.cutting import cut_scene
from pdgpu.diagnostics import Diagnostics
from pdgpu.errors import DivergenceError
from pdgpu.linear_solvers import chebyshev_settings
from pdgpu.materials import MATERIAL_OF_KIND
from pdgpu.motion import Motion
from pdgpu.penalty_contact import PenaltyContact
from pdgpu.projective_contact import ProjectiveContact
from pdgpu.readback import ReadBack
from pdgpu.records import COLUMNS, StepRecord
from pdgpu.scene import Scene, vertex_colours
from pdgpu.snapshots import Snapshot, snapshot_of
from pdgpu.solvers import XPBD, Newton, ProjectiveDynamics, check_contact, check_slides, check_support, settings_of, warn_idle_acceleration
from pdgpu.tables import scene_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal, Self

    from numpy.typing import ArrayLike

    from pdgpu.bodies import Body, Obstacle
    from pdgpu.contact_forces import ContactForces
    from pdgpu.contacts import Contacts
    from pdgpu.cutting import Cut
    from pdgpu.types import BodyName, Contact, Device, Floats, Options, Owner, Path, Precision, Solver

__all__ = ["Simulation"]


class Simulation(Diagnostics, Motion, ReadBack, GuardedAttributes):
    """Steps a scene in time with a solver.

    Parameters
    ----------
    scene : Scene
        Read once, now; later changes of the scene have no effect, which a warning says. Without `contact` obstacles take part in
        `contacts` and in pictures only.
    solver : ProjectiveDynamics, Newton, NonlinearCG, QuasiNewton, VertexBlockDescent, BlockJacobi, GradientDescent, ADMM, XPBD or PBD
    dt : float or None
        Time step h, s. None: quasistatic, the inertia term is replaced by -sum (m g + f) . x.
    contact : BarrierContact, PenaltyContact or ProjectiveContact, optional
        What keeps bodies and obstacles apart; without it nothing touches. `capabilities` tells which solvers take it.
    device : "cpu" or "cuda"
    dtype : "float64" or "float32"
    threads : int
        0: all cores. Results do not depend on it. It is the most a loop gets: one with little work has one thread, so has every loop
        of a forked process, and there are fewer where the system starts no more.

    Raises
    ------
    TypeError
        A solver that cannot treat a material of the scene, or the contact; both are named.
    ValueError
        A scene without vertices, or that starts intersecting or closer than the separation of `contact`, dt <= 0,
        a quasistatic body that is not held, PBD or XPBD with dt=None.
    RuntimeError
        A device that is not there; a direct solver that the build left out.
    """

    solver: Solver
    dt: float | None
    threads: int
    contact: Contact | None
    device: Device
    dtype: np.dtype[Any]
    last_step: StepRecord  # None before the first step

    _instead = "make another Simulation, and give it positions and velocities by set_state"
    _instead_of = {
        "positions": "set_state(positions=...) puts the vertices somewhere",
        "velocities": "set_state(velocities=...) changes them",
        "device_positions": "it is written to in place",
        "device_velocities": "it is written to in place",
    }

    def __init__(
        self,
        scene: Scene,
        solver: Solver | None = None,
        *,
        dt: float | None = 1 / 100,
        contact: Contact | None = None,
        device: Device = "cpu",
        dtype: Precision = "float64",
        threads: int = 0,
    ) -> None:
        self._build(scene, solver, dt, contact, device, dtype, threads)
        warn_idle_acceleration(self.solver, stacklevel=2)
        if scene.obstacles and contact is None:
            names = ", ".join(repr(obstacle.name) for obstacle in scene.obstacles)
            warnings.warn(
                f"obstacles: nothing responds to {names} without contact, and bodies pass through; give contact=pdgpu.BarrierContact(...), "
                "or walls that push back by Scene.set_world_box; contacts() finds what is near",
                stacklevel=2,
            )
        self._prepare()
        self._check_start()
        scene._take_note(self)

    def __reduce__(self):
        """Copies and pickles: a simulation of its own that goes on with the same bits. Scripted motions must be picklable to be pickled."""
        rebuilt = (self._scene, self.solver, self.dt, self.contact, self.device, self.dtype.name, self.threads, self._colours)
        run = (self._backend.steps(), self._start_time, self._backend.state(), self._external_forces, self._rho, self._numbers)
        run += (self._backend.driven(),)
        return type(self)._resumed, (*rebuilt, *run), {"last_step": self.last_step, "_setup_seconds": self._setup_seconds}

    def _prepare(self):
        """What is computed once, before the first step, and counts as setup."""
        start = time.perf_counter()
        if isinstance(self.solver, ProjectiveDynamics):
            self._numbers = resolve(
                self.solver.linear,
                self._backend.linear_weight(),
                lambda: self.system_matrix(free=True),
                outer=self.solver.chebyshev,
                stacklevel=5,
            )
            self._numbers.apply(self.solver.linear, self._backend.set_linear)
        self._backend.prepare()
        self._setup_seconds += time.perf_counter() - start

    @classmethod
    def _for_diagnostics(cls, scene, dt, threads, contact=None):
        """A float64 simulation on the CPU that evaluates G but is never stepped: nothing is factorised."""
        self = cls.__new__(cls)
        self._build(scene, Newton(), dt, contact, "cpu", "float64", threads)  # it takes every material and every contact
        return self

    @classmethod
    def _resumed(
        cls,
        scene,
        solver,
        dt,
        contact,
        device,
        dtype,
        threads,
        colours,
        steps,
        start_time,
        state,
        forces,
        rho=None,
        numbers=None,
        driven=None,
    ):
        """A simulation in the midst of a run: `state` and the places `driven` of obstacles as the backend has them; `colours` (n,) or None:
        coloured anew; `rho` and `numbers` as an earlier search found them: another one, from this state, would find something else."""
        self = cls.__new__(cls)
        self._build(scene, solver, dt, contact, device, dtype, threads, colours)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say of the weights was said when the run began
            self._prepare()
        self.external_forces = forces
        self._backend.set_state(**{name: None if array is None else self._cast(array) for name, array in state.items()})
        self._backend.set_steps(steps)
        self._start_time, self._start_is_checked = start_time, True
        if driven is not None and len(driven):
            self._backend.set_driven(self._cast(driven), None)
        if rho is not None:
            self._set_rho(rho)
        if numbers is not None:
            self._numbers = replace(numbers)
            self._numbers.apply(self.solver.linear, self._backend.set_linear)
        return self

    def _build(self, scene, solver, dt, contact, device, dtype, threads, colours=None):
        if not isinstance(scene, Scene):
            raise TypeError(f"scene: expected a pdgpu.Scene, got {scene!r}")
        if not scene.n_vertices:
            raise ValueError("scene: it has no bodies")
        solver = ProjectiveDynamics() if solver is None else solver
        check_contact(solver, contact, dt)
        self._keep(
            solver=solver,
            dt=None if dt is None else number("dt", dt, above=0.0),
            threads=thread_count(threads),
            contact=contact,
            last_step=None,
        )
        module = backend(device, dtype)
        self._keep(device=device, dtype=np.dtype(dtype))
        # a copy of its own: what happens to the scene from now on has no effect
        self._scene = scene = scene._checked_copy()
        groups = scene.element_groups()
        check_support(self.solver, device, {MATERIAL_OF_KIND[kind] for kind in groups})

        self._kinds = list(module.KINDS)
        self._masses = scene.masses()
        self._fixed = scene.fixed()
        self._gravity = scene.gravity.copy()
        self._rest = scene.rest_positions()
        self._motions = scene.motions()
        self._subspace = scene.subspace()
        check_slides(self.solver, self._subspace)
        self._colours = colours
        if colours is None and hasattr(self.solver, "colouring"):
            self._colours = vertex_colours([group[0] for group in groups.values()], len(self._masses), self.solver.colouring)
        self._materials = {MATERIAL_OF_KIND[kind] for kind in groups} | {type(m).__name__ for body in scene.bodies for m in body.materials}
        if self.dt is None:
            _check_held(scene, groups, self._fixed)
        settings = settings_of(self.solver, device)
        if self._colours is not None:
            settings["colours"] = self._colours
        elements = [(module.KINDS[kind][0], *groups[kind]) for kind in self._kinds if kind in groups]
        self._touching = description = None
        if contact is not None:
            if self.dt is None and contact.friction:
                raise ValueError(
                    "contact: dt=None (quasistatic) with friction, which depends on how far things slide in a time step; give dt"
                )
            self._touching = ContactScene(scene, contact, self._fixed.astype(bool))
            projective = isinstance(contact, ProjectiveContact)
            self._law = contact._law() if projective else contact
            if self._law.stiffness == "auto":
                self._law = self._touching.with_stiffness(contact, self._stiffness_of_vertices())
            description = self._touching.description(self._law, self.dtype, self.dt)
            if projective:  # friction is its own
                description |= {"projective": contact._settings(self.dt, self._gravity), "slip": 0.0}
        self._backend = module.Simulation(
            self._masses,
            self._fixed,
            elements,
            self.dt or 0.0,
            type(self.solver).__name__,
            settings,
            threads=self.threads,
            subspace=self._subspace,
            contact=description,
        )
        self._said = scene_numbers(self, sum(len(group[0]) for group in groups.values()))  # by every record
        self._setup_seconds = 0.0
        self._numbers = None  # of the linear solver
        self._rho = None  # of the outer iteration, once found
        self._start_time = 0.0
        self._start_is_checked = False
        self._external_forces = None
        self._proximity = {}  # selection -> ContactSearch
        self._backend.set_load(self._load_of(None))
        self._backend.set_state(
            self._cast(self._in_range("points", self._rest)), self._cast(self._in_range("velocity", scene.initial_velocities())), None
        )

    def _stiffness_of_vertices(self):
        """N/m, (n,): a third of the trace of the blocks on the diagonal of G's Hessian at rest; 0 for fixed vertices."""
        rest = self._for_diagnostics(self._scene, self.dt, self.threads)
        return rest.hessian(self._rest, psd=True).diagonal().reshape(-1, 3).mean(axis=1)

    def _aim(self):
        """Tells the core where obstacles go in the step about to be solved."""
        if self._touching is not None and self._touching.n_driven:
            targets = self._touching.driven(self.time + (self.dt or 0.0))
            self._backend.set_driven(None, self._cast(self._in_range("motion", targets)))

    def __repr__(self):
        dt = "quasistatic" if self.dt is None else f"dt={self.dt:g}"
        return f"<Simulation: {len(self._masses)} vertices, {self.solver!r}, {dt}, {self.device}, {self.dtype.name}, t={self.time:g}>"

    def _cast(self, array):
        return np.ascontiguousarray(array, dtype=self.dtype)

    # ---- state ----------------------------------------------------------------------------------------------------------

    @property
    def positions(self) -> Floats:
        """(n, 3) m, a fresh copy in the simulation's dtype."""
        return self._backend.positions()

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
          starts from what it finds. One thing differs: initialization="adaptive" keeps the acceleration of the step before.
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
    def obstacles(self) -> tuple[Obstacle, ...]:
        """The obstacles of the scene, a tuple of Obstacle: what a simulation with `contact` keeps away from."""
        return self._scene.obstacles

    @property
    def time(self) -> float:
        """s; the number of steps times dt."""
        return self._start_time + self._backend.steps() * (self.dt or 0.0)

    def set_state(self, *, positions: ArrayLike | None = None, velocities: ArrayLike | None = None) -> None:
        """Put the vertices somewhere, e.g. to start from a stretched pose; pinned ones too.

        Parameters
        ----------
        positions, velocities : array_like, shape (n, 3), optional
            m, m/s. What is left out stays. The adaptive first guess starts anew. With contact the next step raises a ValueError where
            something meets.
        """
        n = len(self._masses)
        arrays = [
            None if value is None else self._cast(self._in_range(name, real_array(name, value, (n, 3))))
            for name, value in (("positions", positions), ("velocities", velocities))
        ]
        self._backend.set_state(*arrays, None)
        self._start_is_checked = positions is None and self._start_is_checked

    def _check_start(self):
        """With contact: nothing meets anything, and nothing is nearer than the separation. Once for every state that is set; not once a
        shell is cut, whose copies of a vertex meet."""
        soft = isinstance(self.contact, PenaltyContact)  # which may start anywhere
        if self.contact is None or soft or self._start_is_checked or any(body.parents is not None for body in self._scene.bodies):
            return
        check_contact_start(self._scene, self.positions, self.time, self.contact.separation, threads=self.threads)
        self._start_is_checked = True

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
        """(n, 3) N, added to gravity until changed; None: none."""
        return None if self._external_forces is None else self._external_forces.copy()

    @external_forces.setter
    def external_forces(self, forces: ArrayLike | None) -> None:
        n = len(self._masses)
        forces = None if forces is None else real_array("external_forces", forces, (n, 3))
        self._backend.set_load(self._load_of(forces))
        self._external_forces = forces

    def _load_of(self, forces):
        """Acceleration by gravity and external forces, (n, 3) m/s^2."""
        load = self._in_range("gravity", np.broadcast_to(self._gravity, self._rest.shape))
        if forces is not None:
            with np.errstate(over="ignore"):
                load = self._in_range("external_forces", load + forces / self._masses[:, None])
        return self._cast(load)

    # ---- stepping -------------------------------------------------------------------------------------------------------

    def step(self, n: int = 1, *, record: bool | Literal["positions"] = False, progress: bool = False) -> None:
        """Take n time steps.

        Parameters
        ----------
        n : int
        record : False, True or "positions"
            Fill `last_step` (of the last of the n steps); "positions" keeps the iterates too.
        progress : bool
            Show a bar.

        Raises
        ------
        DivergenceError
            The state stays at the start of the step that failed. Every eighth step it is also raised where the kinetic energy has come to
            more than a hundred times what the state that was set, load and pins since then allow (csrc/dynamics/energy.c): a blow-up over
            many steps, each of which kept to its iterations. Not with PBD, dt=None, or once `device_positions` or `device_velocities`
            has been asked for, whose writers may give it any energy.
        KeyboardInterrupt
            Ctrl-C, between two iterations; the state likewise.
        """
        n = integer("n", n, 1)
        if not isinstance(record, bool | np.bool_) and not (isinstance(record, str) and record == "positions"):
            error = ValueError if isinstance(record, str) else TypeError
            raise error(f"record: expected False, True or 'positions', got {record!r}")
        steps = range(n)
        if progress:
            from tqdm.auto import tqdm

            steps = tqdm(steps, unit="step")
        for k in steps:
            self._step(record if k == n - 1 else False)

    def snapshot(self, iterations: int = 0) -> Snapshot:
        """The step about to be solved as it is after some iterations, for other solvers to go on from: `compare` takes it as `start`.

        Parameters
        ----------
        iterations : int
            Of this simulation's solver, fewer than it takes in the step; 0: at its first guess. The simulation stays where it is.

        Raises
        ------
        ValueError
            A simulation with contact, which wants a path from the state to every iterate, or with external forces, which `compare` does not
            know; a step that ends before so many iterations.
        DivergenceError
            The step diverges before.
        """
        return snapshot_of(self, iterations)

    def _targets(self):
        """Where the pinned vertices go in this step, or None where no pin is scripted."""
        if not self._motions:
            return None
        targets = self.positions
        time = self.time + (self.dt or 0.0)
        for body, indices, motion in self._motions:
            # copies of a vertex, made by a cut, go where it goes
            asked, place = np.unique(indices if body.parents is None else body.parents[indices], return_inverse=True)
            moved = real_array(f"motion of {body.name!r}", motion(time, body.points[asked].copy()), (len(asked), 3))
            targets[body.slice.start + indices] = self._in_range("motion", moved)[place]
        return targets

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers that the solver left to the spectrum or to a search: "rho" of the outer iteration; "linear", a dict with those of the
        linear solver ("weight", "omega", "rho"); "colours", how many a sweep over vertices (VertexBlockDescent) or elements (XPBD) takes in
        turn; "contact", a dict with the "stiffness" of its law. What a search has not found yet is None."""
        chebyshev = getattr(self.solver, "chebyshev", None)
        result = {} if chebyshev is None else {"rho": self._rho if isinstance(chebyshev.rho, str) else chebyshev.rho}
        if self._numbers is not None:
            result["linear"] = self._numbers.described(self.solver.linear)
        if self._colours is not None:
            result["colours"] = int(self._colours.max()) + 1
        elif isinstance(self.solver, XPBD):
            result["colours"] = self._backend.constraint_colours()
        if self.contact is not None and not isinstance(self.contact, ProjectiveContact):
            result["contact"] = {"stiffness": self._law.stiffness}
        return result

    def _search(self):
        """rho="auto", once, on a copy of the state [Wang 2015, Sec. 5.1]; put off while a step has nothing to accelerate."""
        inner = getattr(getattr(self.solver, "linear", None), "chebyshev", None)
        outer = getattr(self.solver, "chebyshev", None)
        inner_open = inner is not None and inner.rho == "auto" and self._numbers.rho is None
        outer_open = outer is not None and outer.rho == "auto" and self._rho is None
        if not inner_open and not outer_open:
            return
        start = time.perf_counter()
        if inner_open:
            rho = search_inner(self)
            self._numbers.rho = rho
            self._numbers.composed_rho = rho or self._numbers.composed_rho
            self._numbers.apply(self.solver.linear, self._backend.set_linear)
        if outer_open:
            self._set_rho(search_outer(self))
        self._setup_seconds += time.perf_counter() - start

    def _set_rho(self, rho):
        """rho of the outer iteration; None: not found yet, and no acceleration."""
        self._rho = rho
        self._backend.set_chebyshev(None if rho is None else chebyshev_settings(self.solver.chebyshev, rho))

    def _step(self, record, observer=None, keep_diverged=False, guess=None):
        """One step; `guess` (n, 3): where the iterations begin, but for pinned vertices, which begin at their targets."""
        self._check_start()
        self._search()
        most = self.solver.iterations
        if self._touching is not None and self._touching.coefficients.any():
            most *= getattr(self.contact, "friction_lags", 1)
        rows = np.zeros((most + 1, len(COLUMNS))) if record else None
        iterates = None
        if record == "positions":
            iterates = np.empty((most + 1, len(self._masses), 3), dtype=self.dtype)

        def recorded(count, **state):
            columns = {} if rows is None else dict(zip(COLUMNS, rows[:count].T.copy(), strict=True))
            kept = None if iterates is None else iterates[:count].copy()
            return StepRecord(columns, setup_seconds=self._setup_seconds, positions=kept, numbers=self._said, **state)

        self._aim()
        try:
            targets = self._targets()
            if guess is not None:
                pinned, guess = self._fixed.astype(bool), self._cast(guess).copy()
                guess[pinned] = (self.positions if targets is None else self._cast(targets))[pinned]
            result = self._backend.step(targets, rows, iterates, observer, keep_diverged, guess)
        except DivergenceError as error:
            error.solver = self.solver
            count = getattr(error, "rows", 0)
            seconds = 0.0 if rows is None else float(rows[max(count - 1, 0), COLUMNS.index("seconds")])
            error.records = recorded(count, status="diverged", iteration=error.iteration, solve_seconds=seconds)
            raise
        self._keep(last_step=recorded(result.pop("rows"), **result))

    # ---- tearing ----------------------------------------------------------------------------------------------------------

    def cut(self, body: BodyName, edges: ArrayLike) -> Cut:
        """Cut a shell along edges, between two steps, and build the model anew.

        Around each vertex of a cut edge every fan of triangles but the first gets a copy of the vertex, with its position and
        velocity [Chen et al. 2024, VBD, Sec. 4]. Copies are appended to the vertices of the body, so later bodies move up in all
        arrays: `bodies` has the slices. Masses are lumped anew, and external forces and attachments of a vertex are shared out by
        mass; the springs of an edge that came apart share its stiffness. So mass, momentum and stretch energy stay the same. Hinges
        across the cut are gone. Copies of vertices that are pinned or slide do the same, a scripted motion is asked as before, for the
        vertices the body had when it was added, and the world box acts on every copy. A rho="auto" that was found stays; the scene
        the simulation was made from is not touched.

        Parameters
        ----------
        body : Body or str
            A shell, or its name.
        edges : array_like of int, shape (m, 2)
            Inner edges as pairs of vertices of the body, numbered as in `bodies`. The inner edges of a mesh are
            ``mesh.hinges[:, :2]``. A cut that no vertex comes apart by, such as a single edge away from the boundary, changes nothing:
            edges are not remembered, so give it again together with its neighbours.

        Returns
        -------
        Cut
            body, new_vertices, parents, joined (the number of edges that did not come apart).

        Raises
        ------
        TypeError
            Indices given as floats.
        ValueError
            A body that is no shell; edges that are not in its mesh, lie on its boundary or are given twice; dt=None and a part that is
            no longer held. The simulation stays as it was.
        RuntimeError
            Called while a step is running.
        """
        state, steps = self._backend.state(), self._backend.steps()
        scene, result, origin = cut_scene(self._scene, body, edges)
        if not len(result.new_vertices):
            return result
        torn = self._resumed(
            scene,
            self.solver,
            self.dt,
            self.contact,
            self.device,
            self.dtype,
            self.threads,
            None if self._colours is None else self._colours[origin.rows],
            steps,
            self._start_time,
            {name: None if array is None else array[origin.rows] for name, array in state.items()},
            None if self._external_forces is None else self._external_forces[origin.rows] * origin.share[:, None],
            driven=self._backend.driven(),
        )
        torn._keep(last_step=self.last_step)
        torn._setup_seconds += self._setup_seconds
        torn._keep_searched(self._rho, self._numbers)
        self.__dict__.update(torn.__dict__)
        return result

    def _keep_searched(self, rho, numbers):
        """What rho="auto" has found is not searched for again."""
        if rho is not None:
            self._set_rho(rho)
        inner = getattr(getattr(self.solver, "linear", None), "chebyshev", None)
        if inner is not None and inner.rho == "auto" and numbers is not None and numbers.rho is not None:
            self._numbers.rho, self._numbers.composed_rho = numbers.rho, numbers.composed_rho
            self._numbers.apply(self.solver.linear, self._backend.set_linear)

    # ---- proximity ----------------------------------------------------------------------------------------------------------

    def contacts(
        self, distance: float | None = None, *, bodies: Sequence[Owner] | None = None, self_collision: bool = True, unique: bool = True
    ) -> Contacts:
        """What is near what at the present positions, obstacles where they are at the present time.

        A query: nothing in a step depends on it.

        Parameters
        ----------
        distance : float, optional
            Pairs that are at most this far from each other, m. Left out: a thousandth of the diagonal of the box around the bodies as they
            were added, where barriers usually set in [Li et al. 2020, IPC].
        bodies : list of Body, Obstacle or str, optional
            Only pairs of two of these, or of one with itself; all bodies and obstacles where it is left out.
        self_collision : bool
            Whether a body is looked at for pairs with itself.
        unique : bool
            Name each pair of nearest features (vertex, edge, triangle) once, though several pairs of a vertex and a triangle, and of two
            edges, have it: a vertex nearest to an edge of two triangles is one contact then [as Wang et al. 2023, two-way interior point
            method, choose their constraints]. False: every pair.

        Returns
        -------
        Contacts

        Raises
        ------
        TypeError, ValueError
            A distance that is negative or not finite, a name that no body and no obstacle has, a motion of an obstacle that returns
            something else than it should.

        Notes
        -----
        Surfaces of solids, triangles of shells, edges of rods, particles and obstacle meshes are tested with each other, vertices with
        triangles and edges with edges, but for those that share a vertex and for those that are pinned throughout. Particles are not tested
        with edges nor with each other, and no distance of two meshes is negative. All vertices are tested with the other obstacles, inside
        which the distance is negative. The pairs come from a broad phase that is kept and refitted from call to call, on the
        simulation's device; the positions go through the host.
        """
        return find_contacts(self, distance, bodies, self_collision, unique)

    def contact_forces(self) -> ContactForces:
        """The pairs that push each other apart at the present positions, which are those of the end of the last step, and how hard.

        Returns
        -------
        ContactForces

        Raises
        ------
        ValueError
            A simulation without contact, or with ProjectiveContact.

        Notes
        -----
        Friction and slip are those of the last step at the present positions: before the first step, and after `set_state`, `load` and
        `cut`, zero.
        """
        if self.contact is None:
            raise ValueError("contact: this simulation has none; give Simulation one, such as pdgpu.BarrierContact(1e-3)")
        if isinstance(self.contact, ProjectiveContact):
            raise ValueError("contact: ProjectiveContact has forces in the rounds of a step alone; its record says what energy they have")
        return forces_of(self)

    # ---- save and load ------------------------------------------------------------------------------------------------------

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
        from pdgpu.checkpoint import write

        write(path, self)

    @classmethod
    def load(cls, path: Path, *, motions: Options | None = None, device: Device | None = None, threads: int = 0) -> Self:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or os.PathLike
        motions : dict, optional
            Name of a body -> list of its motions, one per scripted pin, and of an obstacle that moves -> [its motion], where the saved
            scene had some.
        device : str, optional
            Another device than the saved one.

        Raises
        ------
        FileNotFoundError
        ValueError
            No such file format, a version this one does not know, a truncated or damaged file, one that claims what it does not hold or
            holds what it does not name, motions that are missing. Nothing of a file takes more memory than its size times a constant.
        """
        from pdgpu.checkpoint import read

        return read(cls, path, motions, device, threads)


def _check_held(scene, groups, fixed):
    """Quasistatic: every connected part needs a pin or an attachment, or its position is not determined."""
    held = fixed.astype(bool)
    n = len(fixed)
    rows, columns = [np.arange(n)], [np.arange(n)]
    for kind, (vertices, *_) in groups.items():
        if kind == "attachment":
            held[vertices[:, 0]] = True
        for k in range(1, vertices.shape[1]):
            rows.append(vertices[:, 0])
            columns.append(vertices[:, k])
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    graph = scipy.sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    count, labels = scipy.sparse.csgraph.connected_components(graph, directed=False)
    free = np.ones(count, dtype=bool)
    free[labels[held]] = False
    if free.any():
        vertex = int(np.argmax(free[labels]))
        body = next(body for body in scene.bodies if body.slice.start <= vertex < body.slice.stop)
        raise ValueError(
            f"dt: None (quasistatic), but body {body.name!r} is not held: no pin and no attachment on the part with vertex "
            f"{vertex - body.slice.start}"
        )
