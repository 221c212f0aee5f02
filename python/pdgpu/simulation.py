"""A simulation: a scene, a solver, a state, and the step."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pdgpu.arguments import integer, number, real_array
from pdgpu.attributes import GuardedAttributes
from pdgpu.automatic import resolve
from pdgpu.automatic_rho import AutomaticRho
from pdgpu.backends import backend, device_or_default, dtype_or_default, thread_count
from pdgpu.contact_queries import ContactQueries
from pdgpu.contact_scene import ContactScene
from pdgpu.contact_start import check_contact_start
from pdgpu.cutting import Cutting
from pdgpu.diagnostics import Diagnostics
from pdgpu.embedding import EmbeddedPoints
from pdgpu.errors import DivergenceError
from pdgpu.held_parts import check_held
from pdgpu.materials import MATERIAL_OF_KIND
from pdgpu.motion import Motion
from pdgpu.motion_calls import ask, asking, refusal
from pdgpu.penalty_contact import PenaltyContact
from pdgpu.proxy_contact import ProxyContact, ProxyScene
from pdgpu.readback import ReadBack
from pdgpu.records import COLUMNS, StepRecord
from pdgpu.rigid_state import add_rigid_inertia, follow_pins, warn_of_turns
from pdgpu.scene import Scene
from pdgpu.snapshots import Snapshot, snapshot_of
from pdgpu.solver_support import (
    check_contact,
    check_embedded,
    check_rigid,
    check_slides,
    check_support,
    settings_of,
    warn_idle_acceleration,
    with_region,
)
from pdgpu.solvers import XPBD, Newton, ProjectiveDynamics
from pdgpu.state import State
from pdgpu.tables import scene_numbers
from pdgpu.target_lag import GROWING_STEPS, TargetLag, describe_lag
from pdgpu.tethers import Tethers
from pdgpu.two_way_contact import ContactUpdate
from pdgpu.vertex_colours import Recolouring, vertex_colours

if TYPE_CHECKING:
    from typing import Any, Literal

    from pdgpu.types import Contact, Device, Precision, Solver

__all__ = ["Simulation"]


class Simulation(
    State, Motion, Diagnostics, ReadBack, ContactQueries, EmbeddedPoints, Cutting, AutomaticRho, GuardedAttributes, Recolouring
):
    """Steps a scene in time with a solver.

    Parameters
    ----------
    scene : Scene
        Read once, now; later changes of the scene have no effect, which a warning says. Without `contact` obstacles take part in
        `contacts` and in pictures only.
    solver : ProjectiveDynamics, Newton, NonlinearCG, QuasiNewton, VertexBlockDescent, BlockJacobi, GradientDescent, ADMM, XPBD or PBD
    dt : float or None
        Time step h, s. None: quasistatic, the inertia term is replaced by -sum (m g + f) . x.
    contact : BarrierContact, PenaltyContact, ProjectiveContact, ProxyContact or TwoWayContact, optional
        What keeps bodies and obstacles apart; without it nothing touches. `capabilities` tells which solvers take it. One that refuses a
        start that intersects warns of every obstacle mesh that intersects itself.
    device : "cpu", "cuda" or one of several GPUs such as "cuda:1"; default: PDGPU_DEVICE, else "cpu"
    dtype : "float64" or "float32"; default: PDGPU_DTYPE, else "float64"
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
    _asked = None  # the motion that a call of this simulation is asking

    def __init__(
        self,
        scene: Scene,
        solver: Solver | None = None,
        *,
        dt: float | None = 1 / 100,
        contact: Contact | None = None,
        device: Device | None = None,
        dtype: Precision | None = None,
        threads: int = 0,
    ) -> None:
        self._build(scene, solver, dt, contact, device_or_default(device), dtype_or_default(dtype), threads)
        warn_idle_acceleration(self.solver, stacklevel=2)
        warn_of_turns(scene, self.dt or 0.0, stacklevel=2)
        if scene.obstacles and contact is None:
            names = ", ".join(repr(obstacle.name) for obstacle in scene.obstacles)
            warnings.warn(
                f"obstacles: nothing responds to {names} without contact, and bodies pass through; give contact=pdgpu.BarrierContact(...), "
                "or walls that push back by Scene.set_world_box; contacts() finds what is near",
                stacklevel=2,
            )
        self._prepare()
        for fault in self._check_start():
            warnings.warn(
                f"contact: {fault}; bodies are kept away from all of its triangles, and certify reports such pairs apart from those of "
                "bodies, as obstacle_intersections; mend the mesh if it is not meant",
                stacklevel=2,
            )
        scene._take_note(self)

    @property
    def _backend(self):
        """The core. RuntimeError while a motion of this simulation is asked, as from an observer."""
        if self._asked is not None:
            raise refusal(self)
        return self._core

    def __reduce__(self):
        """Copies and pickles: a simulation of its own that goes on with the same bits. Scripted motions must be picklable to be pickled."""
        rebuilt = (self._scene, self.solver, self.dt, self.contact, self.device, self.dtype.name, self.threads, self._colours)
        run = (self._backend.steps(), self._start_time, self._backend.state(), self._external_forces, self._rho, self._numbers)
        run += (self._backend.driven(), self._backend.doublings())
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
        doublings=(0, 0),
    ):
        """A simulation in the midst of a run: `state`, the places `driven` of obstacles and the `doublings`
        of an adaptive stiffness as the backend has them; `colours` (n,) or None:
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
        self._backend.set_doublings(*doublings)
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
        solver = with_region(solver, scene)
        check_contact(solver, contact, dt)
        self._keep(
            solver=solver,
            dt=None if dt is None else number("dt", dt, above=0.0),
            threads=thread_count(threads),
            contact=contact,
            last_step=None,
        )
        module = backend(device, dtype)
        self._keep(device=str(device), dtype=np.dtype(dtype))
        # a copy of its own: what happens to the scene from now on has no effect
        self._scene = scene = scene._checked_copy()
        groups = scene.element_groups()
        check_support(self.solver, device, {MATERIAL_OF_KIND[kind] for kind in groups})

        self._kinds = list(module.KINDS)
        self._masses = scene.masses()
        self._fixed = scene.fixed()
        scene.check_joints(self._fixed)
        self._gravity = scene.gravity.copy()
        self._rest = scene.rest_positions()
        self._motions = scene.motions()
        self._subspace = scene.subspace()
        self._rigid, arms, self._rigid_rows = scene.rigid()
        check_rigid(self.solver, scene, self.dt, contact)
        check_slides(self.solver, self._subspace, contact)
        check_embedded(self.solver, scene, contact, device)
        self._colours = colours
        if colours is None and hasattr(self.solver, "colouring"):
            self._colours = vertex_colours([group[0] for group in groups.values()], len(self._masses), self.solver.colouring)
        self._materials = {MATERIAL_OF_KIND[kind] for kind in groups} | {type(m).__name__ for body in scene.bodies for m in body.materials}
        if self.dt is None:
            check_held(scene, groups, self._fixed)
        settings = settings_of(self.solver, device, len(self._masses))
        if self._colours is not None:
            settings["colours"] = self._colours
        elements = [(module.KINDS[kind][0], *groups[kind]) for kind in self._kinds if kind in groups]
        self._touching = self._springs = description = None
        self._tethers = Tethers(scene)
        if isinstance(contact, ProxyContact):
            self._springs = ProxyScene(scene, contact, self.solver, self._fixed, self.threads)
        elif contact is not None:
            if self.dt is None and contact.friction:
                raise ValueError(
                    "contact: dt=None (quasistatic) with friction, which depends on how far things slide in a time step; give dt"
                )
            self._touching = ContactScene(scene, contact, self._fixed.astype(bool))
            driver = hasattr(contact, "_law")  # no law itself
            self._law = contact._law() if driver else contact
            adaptive = self._law.stiffness == "auto"
            if adaptive:
                self._law = self._touching.with_stiffness(contact, self._stiffness_of_vertices())
            description = self._touching.description(self._law, self.dtype, self.dt, adaptive)
            if driver:  # friction is its own
                description |= contact._description(self._touching, self.dtype, self.dt, self._gravity) | {"slip": 0.0}
        self._core = module.Simulation(
            self._masses,
            self._fixed,
            elements,
            self.dt or 0.0,
            type(self.solver).__name__,
            settings,
            threads=self.threads,
            subspace=self._subspace,
            contact=description,
            proxies=None if self._springs is None else self._springs.description(self.dtype),
            rigid=self._rigid,
            arms=arms,
        )
        self._said = scene_numbers(self, sum(len(group[0]) for group in groups.values()))  # by every record
        self._setup_seconds = 0.0
        self._numbers = None  # of the linear solver
        self._rho = None  # of the outer iteration, once found
        self._start_time = 0.0
        self._start_is_checked = self._refusal_is_said = False
        self._external_forces = None
        self._proximity = {}  # selection -> ContactSearch
        self._lag = TargetLag()
        self._aimed = None, None  # where pinned vertices and driven points go in a step
        self._backend.set_load(self._load_of(None))
        self._backend.set_state(
            self._cast(self._in_range("points", self._rest)), self._cast(self._in_range("velocity", scene.initial_velocities())), None
        )
        if self._touching is not None and self._touching.n_driven:  # a motion need not begin where a mesh was made
            self._backend.set_driven(self._cast(self._in_range("motion", self._touching.driven(0.0))), None)

    def _stiffness_of_vertices(self):
        """N/m, (n,): a third of the trace of the blocks on the diagonal of G's Hessian at rest; 0 for fixed vertices. Those of a rigid body
        weigh what they are pushed against."""
        rest = self._for_diagnostics(self._scene, self.dt, self.threads)
        found = rest._hessian_of_vertices(self._rest, True).diagonal().reshape(-1, 3).mean(axis=1)
        return add_rigid_inertia(self._scene, self.dt, self._fixed, found)

    def _aim(self, ahead=True):
        """Tells the core where obstacles go in the step about to be solved. Those of proxies have no state of their own: with `ahead` they
        are there, without where they are now; so are targets of attachments and of shapes."""
        end = self.time + (self.dt or 0.0)
        time = end if ahead else self.time
        driven = placed = None
        with asking(self):  # all motions first: where one of them raises nothing has changed
            targets, shapes = self._tethers.targets(self, time), self._shapes_at(time)
            if self._springs is not None:
                placed = self._springs.placed(self.dtype, time)
            if self._touching is not None and self._touching.n_driven:
                driven = self._cast(self._in_range("motion", self._touching.driven(end)))
        self._tethers.put(self, targets)
        for shape in shapes:
            self._retarget(*shape)
        if placed is not None:
            self._springs.place(self._backend, placed)
        if driven is not None:
            self._aimed = self._aimed[0], driven
            self._backend.set_driven(None, driven)

    def __repr__(self):
        dt = "quasistatic" if self.dt is None else f"dt={self.dt:g}"
        return f"<Simulation: {len(self._masses)} vertices, {self.solver!r}, {dt}, {self.device}, {self.dtype.name}, t={self.time:g}>"

    def _check_start(self):
        """With contact: nothing meets anything, and nothing is nearer than the separation. Once for every state that is set; not once a
        shell is cut, whose copies of a vertex meet. Returns what there is to warn of."""
        soft = isinstance(self.contact, PenaltyContact | ProxyContact)  # which may start anywhere
        if self.contact is None or soft or self._start_is_checked or any(body.parents is not None for body in self._scene.bodies):
            return []
        faults = check_contact_start(self._scene, self.positions, self.time, self.contact.separation, threads=self.threads)
        self._start_is_checked = True
        return faults

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
        RuntimeError
            A motion of a pin, an attachment, an obstacle or of shape targets calls this simulation: it may read `time`, and step and read
            other simulations. Every other call that reads or changes the state is refused, and the error names the call and the motion.
            The state stays at the start of the step. It is also raised where another call is running.

        Warns
        -----
        RuntimeWarning
            The target lag (`StepRecord.behind`) has grown in three consecutive steps. The text names the pinned bodies and obstacles that
            touch something and lag. It comes once, and again only after all of them have arrived.
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
            A step that ends before so many iterations, or in which something driven has not arrived after them; contact by another law than
            BarrierContact, or with several lags of friction: no other solver would have the same objective.
        DivergenceError
            The step diverges before.
        """
        with asking(self):
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
            moved = real_array(f"motion of {body.name!r}", ask(motion, time, body.points[asked].copy()), (len(asked), 3))
            targets[body.slice.start + indices] = self._in_range("motion", moved)[place]
        follow_pins(self._scene, targets, self.dtype)
        return targets

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers that the solver left to the spectrum or to a search: "rho" of the outer iteration; "linear", a dict with those of the
        linear solver ("weight", "omega", "rho"); "colours", how many a sweep over vertices (VertexBlockDescent) or elements (XPBD) takes in
        turn; "schur", a dict with sizes, bytes and seconds of SchurDirect; "contact", a dict with the "stiffness" of its law in the
        next step. What a search has not found yet is None."""
        chebyshev = getattr(self.solver, "chebyshev", None)
        result = {} if chebyshev is None else {"rho": self._rho if isinstance(chebyshev.rho, str) else chebyshev.rho}
        if self._numbers is not None:
            result["linear"] = self._numbers.described(self.solver.linear)
        if schur := self._backend.schur_cost():
            result["schur"] = schur
        if self._colours is not None:
            result["colours"] = int(self._colours.max()) + 1
        elif isinstance(self.solver, XPBD):
            result["colours"] = self._backend.constraint_colours()
        if self._has_law:
            result["contact"] = {"stiffness": self._stiffness(self._backend.doublings()[1])}
        return result

    def _lagging(self):
        """Which pins and obstacles lag at the end of a step."""
        return describe_lag(self, *self._aimed)

    @property
    def _has_law(self):
        """Whether a law, or a penalty, with a stiffness answers contact."""
        return self._touching is not None and not hasattr(self.contact, "_law")

    def _stiffness(self, doublings):
        """Of the law of contact, in its unit, once it has doubled so often."""
        return float(self._law.stiffness * 2.0**doublings)

    def _step(self, record, observer=None, keep_diverged=False, guess=None):
        """One step; `guess` (n, 3): where the iterations begin, but for pinned vertices, which begin at their targets."""
        with asking(self):
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

            targets = self._targets()  # the motions before what they change
            self._aim()
            self._aimed = targets, self._aimed[1]
            self._turn_forces()
            try:
                if guess is not None:
                    pinned, guess = self._fixed.astype(bool), self._cast(guess).copy()
                    guess[pinned] = (self.positions if targets is None else self._cast(targets))[pinned]
                    if self._touching is not None:
                        check_contact_start(self._scene, guess, self.time + (self.dt or 0.0), self.contact.separation, threads=self.threads)
                result = self._backend.step(targets, rows, iterates, observer, keep_diverged, guess)
            except DivergenceError as error:
                error.solver = self.solver
                count = getattr(error, "rows", 0)
                seconds = 0.0 if rows is None else float(rows[max(count - 1, 0), COLUMNS.index("seconds")])
                error.records = recorded(count, status="diverged", iteration=error.iteration, solve_seconds=seconds)
                raise
            result["update"] = ContactUpdate._of(result["update"])
            if self._has_law:
                result["stiffness"] = self._stiffness(self._backend.doublings()[0])
            self._keep(last_step=recorded(result.pop("rows"), **result))
            if self._lag.follow(self.last_step.behind):
                warnings.warn(
                    f"contact: the target lag has grown for {GROWING_STEPS} steps: {self._lagging()}, held back by "
                    "what it pushes; take a shorter dt, more iterations, a larger contact distance or a slower motion; "
                    "run(max_behind=...) ends at a lag",
                    RuntimeWarning,
                    stacklevel=3,
                )
            if (refusal := self._backend.refusal()) and not self._refusal_is_said:
                self._refusal_is_said = True
                warnings.warn(
                    f"a CUDA graph could not be captured; iterations run as single launches, which is slower ({refusal})", stacklevel=3
                )
