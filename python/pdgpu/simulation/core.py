"""The core of a simulation: a copy of the scene, its arrays, the compiled model, and functions shared by its parts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import number, real_array
from pdgpu._internal.backends import backend, thread_count
from pdgpu._internal.block_matrices import csr_of_blocks
from pdgpu._internal.motion_calls import asking, refusal
from pdgpu._internal.public_rows import PublicRows
from pdgpu._internal.relative_core import RelativeCore, moved_origin, relative_elements
from pdgpu.contact.contact_potentials import contact_description, has_own_potential, potential_of
from pdgpu.contact.contact_scene import ContactScene
from pdgpu.contact.penalty_contact import PenaltyContact
from pdgpu.contact.proxy_contact import ProxyContact, ProxyScene
from pdgpu.contact.two_way_contact import passes_of
from pdgpu.linear.automatic import resolve
from pdgpu.linear.linear_solvers import chebyshev_of, chebyshev_settings
from pdgpu.materials.custom_material import calls_of_bodies
from pdgpu.materials.material_calls import MaterialCalls, WeakCalls
from pdgpu.materials.materials import MATERIAL_OF_KIND
from pdgpu.mesh.vertex_colours import vertex_colours
from pdgpu.results.tables import scene_numbers
from pdgpu.scene.described_motions import described_motion
from pdgpu.scene.held_parts import check_held
from pdgpu.scene.model_scene import model_scene, public_scene
from pdgpu.scene.prescribed_pairs import prescribed_description
from pdgpu.scene.scene import Scene, checked_copy
from pdgpu.scene.tethers import Tethers
from pdgpu.simulation.inverted_tets import InvertedTets, OrientedTets
from pdgpu.simulation.rigid_state import add_rigid_inertia, add_rigid_load, positions_in_model, shape_tolerance
from pdgpu.simulation.target_lag import TargetLag
from pdgpu.simulation.targets import aim
from pdgpu.solvers.integrators import check_integrator
from pdgpu.solvers.solver_support import (
    check_contact,
    check_embedded,
    check_rigid,
    check_slides,
    check_support,
    default_solver,
    method_of,
    settings_of,
    with_region,
    with_relaxation,
)
from pdgpu.solvers.solvers import Newton, ProjectiveDynamics

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import scipy

    from pdgpu.linear.automatic import Parameters
    from pdgpu.results.records import StepRecord
    from pdgpu.scene.bodies import Body
    from pdgpu.simulation.contacts import ContactSearch
    from pdgpu.types import Contact, Device, Floats, Integers, Motion, Solver

__all__ = ["SimulationCore", "StepMemory", "diagnostic_core"]


@dataclass
class StepMemory:
    """The data that a simulation keeps between steps in addition to its state."""

    last_step: StepRecord | None = None
    setup_seconds: float = 0.0  # s, of all data that are created once
    lag: TargetLag = field(default_factory=TargetLag)
    aimed: tuple[Floats | None, Floats | None] = (None, None)  # targets of pinned vertices and prescribed points, (., 3) m, last step
    driven_before: Floats | None = None  # the second of them in the previous step
    own_solver: Any = None  # the copy of a CustomSolver that runs here
    start_is_checked: bool = False  # the present state has been checked for intersections
    # the warning has been given; it is given once
    refusal_is_said: bool = False
    rounding_is_said: bool = False
    energy_is_said: bool = False
    inverted_is_said: bool = False
    rigid_is_said: set[str] = field(default_factory=set)


class SimulationCore:
    """The data of a simulation that its parts share, and their common functions.

    Parameters
    ----------
    scene, solver, dt, contact, device, dtype, threads, start_time, positions, integrator
        As of `Simulation`. `positions` determine only the origin; `set_state` sets them.
    colours : ndarray of int32, shape (n,), optional
        Of the vertices; by default they are computed.
    origin : ndarray, shape (3,), optional
        m; by default it depends on the positions.
    """

    scene: Scene  # a copy, with the rows of the model; arrays (n, ..) of this class have these rows
    rows: PublicRows  # the vertices of public arrays
    solver: Solver  # with the numbers that depend on the scene
    dt: float | None  # s
    integrator: str
    contact: Contact | None
    device: Device
    dtype: np.dtype[Any]
    threads: int

    masses: Floats  # (n,) kg
    fixed: Any  # (n,) uint8, 1 for a pinned vertex
    rest: Floats  # (n, 3) m
    gravity: Floats  # (3,) m/s^2
    origin: Floats  # (3,) m, of the positions in the compiled model
    motions: list[tuple[Body, Integers, Motion]]  # (body, its vertices, motion) of every pin with a motion
    subspace: Floats | None  # (n, 3, 3), projectors on the lines and planes of sliding vertices
    rigid: Integers | None  # (r, 4), of the movable rigid bodies, see `Scene.rigid`, and
    arms: Floats | None  # (n, 3) m
    rigid_rows: Integers  # vertices of all rigid bodies
    kinds: list[str]  # of elements, in the order of the compiled module
    materials: set[str]
    calls: dict[str, list[MaterialCalls]]  # kind of elements -> functions of CustomMaterials
    colours: Integers | None  # (n,)
    touching: ContactScene | None  # for contact with pairs
    potential: Any  # BarrierContact or PenaltyContact that finds the pairs, or None
    springs: ProxyScene | None  # of ProxyContact
    tethers: Tethers
    inverted: InvertedTets
    oriented: OrientedTets
    said: dict[str, Any]  # what every record says of the simulation

    numbers: Parameters | None  # of the linear solver
    rho: float | None  # of the outer iteration, once it is known
    external_forces: Floats | None  # (n, 3) N
    start_time: float  # s; `time` minus the steps
    searches: dict[Any, ContactSearch]  # of `Simulation.contacts`, by the selection of bodies
    memory: StepMemory
    called_motion: Callable[..., Any] | None
    compiled: Any  # Simulation of a compiled module, or RelativeCore; use `backend` in functions that a motion may call

    def __init__(
        self,
        scene,
        solver,
        dt,
        contact,
        device,
        dtype,
        threads,
        colours=None,
        start_time=0.0,
        positions=None,
        origin=None,
        integrator="implicit_euler",
    ) -> None:
        if not isinstance(scene, Scene):
            raise TypeError(f"scene: expected a pdgpu.Scene, got {scene!r}")
        if not scene.n_vertices:
            raise ValueError("scene: expected one body or more, got none")
        if solver is None:
            solver = default_solver(scene, contact, {MATERIAL_OF_KIND[kind] for kind in model_scene(scene).element_groups()})
        solver = with_region(solver, scene)
        check_contact(solver, contact, dt)
        check_integrator(integrator, solver, scene, dt, contact)
        self.dt = None if dt is None else number("dt", dt, above=0.0)
        self.threads, self.contact, self.integrator = thread_count(threads), contact, integrator
        module = backend(device, dtype)
        named: Any = str(device)
        self.device, self.dtype = named, np.dtype(dtype)
        self.scene = model_scene(checked_copy(scene))
        self.rows = PublicRows(self.scene.bodies)
        groups = self.scene.element_groups()
        check_support(solver, device, {MATERIAL_OF_KIND[kind] for kind in groups}, contact)
        self.fixed = self.scene.fixed()
        self.solver = with_relaxation(solver, groups, self.fixed)
        self.kinds = list(module.KINDS)
        self._read_scene(groups, device, positions, colours, origin)
        self.called_motion = None
        self.compiled = self._compiled(module, groups, device, self._contact_description())
        self.said = scene_numbers(self, sum(len(group[0]) for group in groups.values()))
        self._begin(start_time)

    def _read_scene(self, groups, device, positions, colours, origin):
        """Read the arrays of the scene, with the checks that need them."""
        scene = self.scene
        self.masses = scene.masses()
        scene.check_joints(self.fixed)
        self.gravity = scene.gravity.copy()
        self.rest = scene.rest_positions()
        if origin is None:
            start = self.rest if positions is None else real_array("positions", positions, (self.rows.n, 3))
            origin = moved_origin(start, np.zeros(3))
        self.origin = origin
        self.motions = scene.motions()
        self.subspace = scene.subspace()
        self.rigid, self.arms, self.rigid_rows = scene.rigid()
        check_rigid(self.solver, scene, self.dt, self.contact)
        check_slides(self.solver, self.subspace, self.contact)
        check_embedded(self.solver, scene, self.contact, device)
        if colours is None and hasattr(self.solver, "colouring"):
            colours = vertex_colours([group[0] for group in groups.values()], len(self.masses), self.solver.colouring)
        self.colours = colours
        self.materials = {MATERIAL_OF_KIND[kind] for kind in groups} | {type(m).__name__ for body in scene.bodies for m in body.materials}
        if self.dt is None:
            check_held(scene, groups, self.fixed)
        self.tethers, self.inverted, self.oriented = Tethers(scene), InvertedTets(scene), OrientedTets(scene)

    def _contact_description(self):
        """Return the description of contact between pairs for the compiled model, or None. Sets `touching`, `potential` and `springs`."""
        self.touching = self.springs = self.potential = None
        contact, scene, held = self.contact, self.scene, self.fixed.astype(bool)
        if contact is None:
            return None
        if isinstance(contact, ProxyContact):
            self.springs = ProxyScene(scene, contact, self.solver, self.fixed, self.threads)
            return None
        if self.dt is None and contact.friction:
            raise ValueError("contact: dt=None (quasistatic) with friction, which needs the slip in a time step; give dt")
        self.touching = ContactScene(scene, contact, held, self.origin)
        self.potential = potential_of(contact)
        adaptive = self.potential.stiffness == "auto"
        if adaptive:
            self.potential = self.touching.with_stiffness(contact, self.stiffness_of_vertices())
        description = self.touching.description(self.potential, self.dtype, self.dt, adaptive)
        if not isinstance(contact, PenaltyContact):  # which does not prevent penetrations
            description["prescribed"] = prescribed_description(self.touching, scene, held, self.dtype)
        return description | contact_description(contact, self.touching, self.dtype, self.dt, self.gravity)

    def _compiled(self, module, groups, device, contact):
        """Return the compiled model."""
        settings = settings_of(self.solver, device, len(self.masses), self.integrator)
        if self.colours is not None:
            settings["colours"] = self.colours
        self.calls = {kind: calls_of_bodies(self.scene.bodies, kind) for kind in groups}
        elements = [
            (
                module.KINDS[kind][0],
                *relative_elements(kind, groups[kind], self.origin),
                [calls.entry(WeakCalls(calls)) for calls in self.calls[kind]] or None,
            )
            for kind in self.kinds
            if kind in groups
        ]
        core = module.Simulation(
            self.masses,
            self.fixed,
            elements,
            self.dt or 0.0,
            method_of(self.solver),
            settings,
            threads=self.threads,
            subspace=self.subspace,
            contact=contact,
            proxies=None if self.springs is None else self.springs.description(self.dtype, self.origin),
            rigid=self.rigid,
            arms=self.arms,
        )
        if not self.origin.any():
            return core
        return RelativeCore(core, self.origin, self.dtype, np.zeros((0, 3)) if self.touching is None else self.touching.shifts)

    def _begin(self, start_time):
        """Set the rest state, with the obstacles at the start time, s."""
        self.numbers = self.rho = self.external_forces = None
        self.start_time, self.searches, self.memory = start_time, {}, StepMemory()
        self.backend.set_load(self._load_of(None))
        self.backend.set_state(
            self.cast_positions(self.in_range("points", self.rest)),
            self.cast(self.in_range("velocity", self.scene.initial_velocities())),
            None,
        )
        if self.touching is not None and self.touching.n_driven:  # the initial position of a motion may differ from that of its mesh
            self.backend.set_driven(self.cast_positions(self.in_range("motion", self.touching.driven(start_time))), None)

    @property
    def public_scene(self) -> Scene:
        """The scene with the vertices of the public arrays, in its present state."""
        return public_scene(self.scene)

    def rows_of_model(self, name: str, array: Any) -> Floats:
        """Return positions of the vertices, an argument of this name, (n, 3) m, as rows of the model. ValueError for another shape, and for
        a deformed rigid body.
        """
        given = real_array(name, array, (self.rows.n, 3))
        return positions_in_model(self, name, given, shape_tolerance(self, array))

    def prepare(self) -> None:
        """Compute the data of the setup, before the first step. Warnings refer to the caller of the caller."""
        start = time.perf_counter()
        if isinstance(self.solver, ProjectiveDynamics):
            linear, weight = self.solver.linear, self.backend.linear_weight()
            self.numbers = resolve(linear, weight, lambda: self.system_matrix(free=True), outer=chebyshev_of(self.solver), stacklevel=5)
            self.numbers.apply(linear, self.backend.set_linear)
        self.backend.prepare()
        self.memory.setup_seconds += time.perf_counter() - start

    def restart_at(self, time: float) -> None:
        """Set the time, s: steps are counted from here, and obstacles move to their positions at this time. Bodies stay."""
        driven = None
        if self.touching is not None and self.touching.n_driven:
            with asking(self):  # before any change
                driven = self.cast_positions(self.in_range("motion", self.touching.driven(time)))
        self.backend.set_steps(0)
        self.start_time = time
        if driven is not None:
            self.backend.set_driven(driven, None)
        self.memory.aimed, self.memory.driven_before, self.memory.lag = (None, None), None, TargetLag()
        self.memory.start_is_checked = False

    @property
    def backend(self) -> Any:
        """The compiled model. RuntimeError during a call of a motion of this simulation, as from an observer."""
        if self.called_motion is not None:
            raise refusal(described_motion(self.scene, self.called_motion))
        return self.compiled

    @property
    def time(self) -> float:
        """The time of `Simulation.time`, s."""
        return self.start_time + self.compiled.steps() * (self.dt or 0.0)

    def end(self, time: float | None = None) -> float:
        """The time at the end of the next step, s; `time`: of a quasistatic step, None: the present one."""
        if self.dt is not None:
            return self.time + self.dt
        return self.time if time is None else time

    @property
    def most_iterations(self) -> int:
        """The largest number of iterations of a step, over friction lags and passes of two-way contact: a record has one row more."""
        most = self.solver.iterations
        if self.touching is not None and self.touching.coefficients.any():
            most *= getattr(self.contact, "friction_lags", 1)
        return most * passes_of(self.contact)

    @property
    def has_law(self) -> bool:
        """Return whether contact is a contact potential, or a penalty, with a stiffness."""
        return self.touching is not None and has_own_potential(self.contact)

    def stiffness(self, doublings: int) -> float:
        """The stiffness of the contact potential, in its unit, after this number of doublings."""
        return float(self.potential.stiffness * 2.0**doublings)

    def cast(self, array: Any) -> Floats:
        """Return an array in the dtype of the simulation."""
        return np.ascontiguousarray(array, dtype=self.dtype)

    def cast_positions(self, array: Any) -> Floats:
        """Return positions for the model: far from the coordinate origin float64, from which a RelativeCore subtracts `origin`."""
        return np.ascontiguousarray(array, dtype=np.float64 if self.origin.any() else self.dtype)

    def in_range(self, name: str, array: Floats) -> Floats:
        """Return the array. ValueError for a value that is infinite in the dtype of the simulation."""
        bad = np.abs(array) > float(np.finfo(self.dtype).max)
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(f"{name}: value {array[index]} at {index} is out of range for {self.dtype.name}")
        return array

    def state64(self) -> tuple[Floats, Floats]:
        """Positions, m, and velocities, m/s, (n, 3) float64."""
        state = self.backend.state()
        return state["positions"].astype(np.float64), state["velocities"].astype(np.float64)

    def set_external_forces(self, forces: Any) -> None:
        """Set `Simulation.external_forces`."""
        forces = None if forces is None else real_array("external_forces", forces, self.rest.shape)
        self.backend.set_load(self._load_of(forces))
        self.external_forces = forces

    def turn_forces(self) -> None:
        """Convert torques on rigid bodies, whose inertia rotates, to accelerations of the next step."""
        if self.external_forces is not None and self.rigid is not None:
            self.backend.set_load(self._load_of(self.external_forces))

    def _load_of(self, forces):
        """Return the acceleration by gravity and external forces, (n, 3) m/s^2."""
        load = self.in_range("gravity", np.broadcast_to(self.gravity, self.rest.shape))
        if forces is not None:
            with np.errstate(over="ignore"):
                massive = np.where(self.masses > 0.0, self.masses, np.inf)[:, None]  # some points of rigid bodies have no mass
                if self.rigid is None:
                    load = load + forces / massive
                else:
                    deformable = ~np.isin(np.arange(len(forces)), self.rigid_rows)[:, None]
                    load = add_rigid_load(self.scene, self.state64()[0], forces, load + forces / massive * deformable)
                load = self.in_range("external_forces", load)
        return self.cast(load)

    def set_rho(self, rho: float | None) -> None:
        """Set rho of the outer iteration; None: not yet known, and no acceleration."""
        self.rho = rho
        self.backend.set_chebyshev(None if rho is None else chebyshev_settings(chebyshev_of(self.solver), rho))

    def system_matrix(self, free: bool) -> scipy.sparse.csr_matrix:
        """The matrix of `Simulation.system_matrix`."""
        import scipy

        row_start, columns, values = self.backend.system_matrix()
        n = len(self.masses)
        matrix = scipy.sparse.csr_matrix((values, columns, row_start), shape=(n, n))
        if free:
            keep = np.flatnonzero(self.fixed == 0)
            matrix = matrix[keep][:, keep].tocsr()
            matrix.sort_indices()
        return matrix

    def energies(self, x: Floats | None, ahead: bool) -> Floats:
        """Parts of G, J. `ahead`: obstacles are at their targets in the next step."""
        aim(self, ahead)
        with self.rows.restated():
            return self.backend.energies(x, ahead)

    def incremental_potential(self, x: Floats | None) -> float:
        """G of the next step, J."""
        return float(np.sum(self.energies(x, True)))

    def gradient(self, x: Floats | None) -> Floats:
        """`Simulation.gradient` with the force and the torque of each rigid body, in the form of solvers."""
        aim(self)
        with self.rows.restated():
            return self.backend.gradient(x)

    def hessian_of_rows(self, x: Floats | None, psd: bool, of_bodies: bool = False) -> scipy.sparse.csr_matrix:
        """d2G/dx2 over the rows of the model, with independent rows of rigid bodies. `of_bodies`: in the six numbers of each body, in two
        of its rows (dynamics/rigid/rigid.h).
        """
        aim(self)
        with self.rows.restated():
            row_start, columns, blocks = self.backend.hessian(x, psd, of_bodies)
        return csr_of_blocks(row_start, columns, blocks, np.zeros_like(self.fixed) if of_bodies else self.fixed)

    def stiffness_of_vertices(self) -> Floats:
        """N/m, (n,): a third of the trace of the diagonal blocks of G's Hessian at rest; 0 for fixed vertices. Those of a rigid body have
        the effective mass of the body over dt^2.
        """
        rest = diagnostic_core(self.scene, self.dt, self.threads)
        found = rest.hessian_of_rows(self.rest, True).diagonal().reshape(-1, 3).mean(axis=1)
        return add_rigid_inertia(self.scene, self.dt, self.fixed, found)


def diagnostic_core(
    scene: Scene, dt: float | None, threads: int, contact: Any = None, integrator: str = "implicit_euler"
) -> SimulationCore:
    """Return a core in float64 on the CPU that evaluates G and makes no steps and no factors."""
    solver = Newton()  # it supports every material and every contact
    return SimulationCore(scene, solver, dt, contact, "cpu", "float64", threads, integrator=integrator)
