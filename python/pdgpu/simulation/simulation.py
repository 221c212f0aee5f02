"""A simulation: a scene, a solver and a state."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import number, real_array
from pdgpu._internal.attributes import GuardedAttributes
from pdgpu._internal.backends import backend, device_or_default, dtype_or_default, thread_count
from pdgpu._internal.motion_calls import refusal
from pdgpu._internal.relative_core import RelativeCore, moved_origin, relative_elements
from pdgpu.contact.contact_scene import ContactScene
from pdgpu.contact.penalty_contact import PenaltyContact
from pdgpu.contact.proxy_contact import ProxyContact, ProxyScene
from pdgpu.linear.automatic import resolve
from pdgpu.materials.materials import MATERIAL_OF_KIND
from pdgpu.mesh.vertex_colours import Recolouring, vertex_colours
from pdgpu.results.tables import scene_numbers
from pdgpu.scene.embedding import EmbeddedPoints
from pdgpu.scene.held_parts import check_held
from pdgpu.scene.prescribed_pairs import prescribed_description
from pdgpu.scene.scene import Scene
from pdgpu.scene.tethers import Tethers
from pdgpu.simulation.automatic_rho import AutomaticRho
from pdgpu.simulation.contact_queries import ContactQueries
from pdgpu.simulation.cutting import Cutting
from pdgpu.simulation.diagnostics import Diagnostics
from pdgpu.simulation.inverted_tets import InvertedTets
from pdgpu.simulation.motion import Motion
from pdgpu.simulation.readback import ReadBack
from pdgpu.simulation.rigid_state import add_rigid_inertia, warn_of_turns
from pdgpu.simulation.state import State
from pdgpu.simulation.stepping import Stepping
from pdgpu.simulation.target_lag import TargetLag
from pdgpu.solvers.solver_support import (
    check_contact,
    check_embedded,
    check_rigid,
    check_slides,
    check_support,
    settings_of,
    warn_idle_acceleration,
    warn_slow_factors,
    with_region,
    with_relaxation,
)
from pdgpu.solvers.solvers import XPBD, Newton, ProjectiveDynamics

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.results.records import StepRecord
    from pdgpu.types import Contact, Device, Precision, Solver

__all__ = ["Simulation"]


class Simulation(
    State, Stepping, Motion, Diagnostics, ReadBack, ContactQueries, EmbeddedPoints, Cutting, AutomaticRho, GuardedAttributes, Recolouring
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
    start_time : float
        s. `time` begins here, and obstacles start where their motions are at this time.
    positions : array_like, shape (n, 3), optional
        m, in the order of the scene; by default the rest positions. Pinned vertices start here too, and a scripted pin goes from here to
        its target in the first step. The check for intersections and for the separation is made here, and not at rest.
    velocities : array_like, shape (n, 3), optional
        m/s; by default those of the scene. Not with dt=None.

    Raises
    ------
    TypeError
        A solver that cannot treat a material of the scene, or the contact; both are named.
    ValueError
        A scene without vertices, or that starts intersecting or closer than the separation of `contact`, dt <= 0,
        a quasistatic body that is not held, PBD or XPBD with dt=None; a start_time that is not finite; positions or velocities of another
        shape, not finite, out of range for the dtype, or not those of a rigid body; velocities with dt=None.
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

    _instead = "make another Simulation, and give it start_time=, positions= and velocities= of this one"
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
        start_time: float = 0.0,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
    ) -> None:
        start_time = number("start_time", start_time)
        if dt is None and velocities is not None:
            raise ValueError("velocities: dt=None (quasistatic) has no velocities; leave them out, or give dt")
        self._build(scene, solver, dt, contact, device_or_default(device), dtype_or_default(dtype), threads, None, start_time, positions)
        if positions is not None or velocities is not None:
            self.set_state(positions=positions, velocities=velocities)
        warn_idle_acceleration(self.solver, stacklevel=2)
        warn_slow_factors(self.solver, self.dt, self.contact, stacklevel=2)
        warn_of_turns(self, stacklevel=2)
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
        return type(self)._resumed, self._resumption(), {"last_step": self.last_step, "_setup_seconds": self._setup_seconds}

    def _resumption(self):
        """The arguments of `_resumed` for a simulation in this state; the last is the origin."""
        rebuilt = (self._scene, self.solver, self.dt, self.contact, self.device, self.dtype.name, self.threads, self._colours)
        run = (self._backend.steps(), self._start_time, self._backend.state(), self._external_forces, self._rho, self._numbers)
        return (*rebuilt, *run, self._backend.driven(), self._backend.doublings(), self._origin)

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
        origin=None,
    ):
        """A simulation in the midst of a run: `state`, the places `driven` of obstacles and the `doublings`
        of an adaptive stiffness as the backend has them; `colours` (n,) or None: found again; `origin` (3,) m, None: that of the rest
        positions; `rho` and `numbers` as an earlier search found them: another one, from this state, would find something else."""
        self = cls.__new__(cls)
        self._build(scene, solver, dt, contact, device, dtype, threads, colours, origin=origin)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say of the weights was said when the run began
            self._prepare()
        self.external_forces = forces
        self._backend.set_state(
            self._cast_positions(state["positions"]),
            self._cast(state["velocities"]),
            None if state["previous_velocities"] is None else self._cast(state["previous_velocities"]),
        )
        self._backend.set_steps(steps)
        self._start_time, self._start_is_checked = start_time, True
        if driven is not None and len(driven):
            self._backend.set_driven(self._cast_positions(driven), None)
        self._backend.set_doublings(*doublings)
        if rho is not None:
            self._set_rho(rho)
        if numbers is not None:
            self._numbers = replace(numbers)
            self._numbers.apply(self.solver.linear, self._backend.set_linear)
        return self

    def _build(self, scene, solver, dt, contact, device, dtype, threads, colours=None, start_time=0.0, positions=None, origin=None):
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
        self._keep(solver=with_relaxation(self.solver, groups, scene.fixed()))

        self._kinds = list(module.KINDS)
        self._masses = scene.masses()
        self._fixed = scene.fixed()
        scene.check_joints(self._fixed)
        self._gravity = scene.gravity.copy()
        self._rest = scene.rest_positions()
        if origin is None:
            start = self._rest if positions is None else real_array("positions", positions, self._rest.shape)
            origin = moved_origin(start, np.zeros(3))
        self._origin = origin
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
        elements = [(module.KINDS[kind][0], *relative_elements(kind, groups[kind], origin)) for kind in self._kinds if kind in groups]
        self._touching = self._springs = description = None
        self._tethers, self._inverted = Tethers(scene), InvertedTets(scene)
        if isinstance(contact, ProxyContact):
            self._springs = ProxyScene(scene, contact, self.solver, self._fixed, self.threads)
        elif contact is not None:
            if self.dt is None and contact.friction:
                raise ValueError(
                    "contact: dt=None (quasistatic) with friction, which depends on how far things slide in a time step; give dt"
                )
            self._touching = ContactScene(scene, contact, self._fixed.astype(bool), origin)
            driver = hasattr(contact, "_law")  # no law itself
            self._law = contact._law() if driver else contact
            adaptive = self._law.stiffness == "auto"
            if adaptive:
                self._law = self._touching.with_stiffness(contact, self._stiffness_of_vertices())
            description = self._touching.description(self._law, self.dtype, self.dt, adaptive)
            if not isinstance(contact, PenaltyContact):  # under which things pass through each other
                description["prescribed"] = prescribed_description(self._touching, scene, self._fixed.astype(bool), self.dtype)
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
            proxies=None if self._springs is None else self._springs.description(self.dtype, origin),
            rigid=self._rigid,
            arms=arms,
        )
        if origin.any():
            shifts = np.zeros((0, 3)) if self._touching is None else self._touching.shifts
            self._core = RelativeCore(self._core, origin, self.dtype, shifts)
        self._said = scene_numbers(self, sum(len(group[0]) for group in groups.values()))  # by every record
        self._setup_seconds = 0.0
        self._numbers = None  # of the linear solver
        self._rho = None  # of the outer iteration, once found
        self._start_time = start_time
        self._start_is_checked = self._refusal_is_said = self._rounding_is_said = self._energy_is_said = False
        self._external_forces = None
        self._proximity = {}  # selection -> ContactSearch
        self._lag = TargetLag()
        self._aimed = None, None  # where pinned vertices and driven points go in a step
        self._driven_before = None  # the second of the step before
        self._backend.set_load(self._load_of(None))
        self._backend.set_state(
            self._cast_positions(self._in_range("points", self._rest)),
            self._cast(self._in_range("velocity", scene.initial_velocities())),
            None,
        )
        if self._touching is not None and self._touching.n_driven:  # a motion need not begin where a mesh was made
            self._backend.set_driven(self._cast_positions(self._in_range("motion", self._touching.driven(start_time))), None)

    def _stiffness_of_vertices(self):
        """N/m, (n,): a third of the trace of the blocks on the diagonal of G's Hessian at rest; 0 for fixed vertices. Those of a rigid body
        weigh what they are pushed against."""
        rest = self._for_diagnostics(self._scene, self.dt, self.threads)
        found = rest._hessian_of_vertices(self._rest, True).diagonal().reshape(-1, 3).mean(axis=1)
        return add_rigid_inertia(self._scene, self.dt, self._fixed, found)

    def __repr__(self):
        dt = "quasistatic" if self.dt is None else f"dt={self.dt:g}"
        return f"<Simulation: {len(self._masses)} vertices, {self.solver!r}, {dt}, {self.device}, {self.dtype.name}, t={self.time:g}>"

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

    @property
    def _has_law(self):
        """Whether a law, or a penalty, with a stiffness answers contact."""
        return self._touching is not None and not hasattr(self.contact, "_law")

    def _stiffness(self, doublings):
        """Of the law of contact, in its unit, once it has doubled so often."""
        return float(self._law.stiffness * 2.0**doublings)
