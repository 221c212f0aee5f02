"""A simulation: a scene, a solver and a state."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import TIME_STEP, number
from pdgpu._internal.attributes import GuardedAttributes
from pdgpu._internal.backends import device_or_default, dtype_or_default
from pdgpu._internal.counted import counted
from pdgpu.linear.linear_solvers import chebyshev_of
from pdgpu.scene.scene import take_note
from pdgpu.simulation.contact_queries import ContactQueries
from pdgpu.simulation.core import SimulationCore, diagnostic_core
from pdgpu.simulation.cutting import Cutting
from pdgpu.simulation.diagnostics import Diagnostics
from pdgpu.simulation.embedded_points import EmbeddedPoints
from pdgpu.simulation.motion import Motion
from pdgpu.simulation.readback import ReadBack
from pdgpu.simulation.recolouring import Recolouring
from pdgpu.simulation.resume import resumed, resumption
from pdgpu.simulation.state import State
from pdgpu.simulation.stepping import Stepping
from pdgpu.simulation.time_step import check_start
from pdgpu.solvers.solver_support import warn_idle_acceleration, warn_slow_factors
from pdgpu.solvers.solvers import XPBD

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.results.records import StepRecord
    from pdgpu.scene.scene import Scene
    from pdgpu.types import Contact, Device, Integrator, Precision, Solver

__all__ = ["Simulation"]


class Simulation(State, Stepping, Motion, Diagnostics, ReadBack, ContactQueries, EmbeddedPoints, Cutting, Recolouring, GuardedAttributes):
    """Time steps of a scene with a solver.

    Parameters
    ----------
    scene : Scene
        Copied now; later changes of the scene have no effect, and warn. Without `contact` obstacles take part only in `contacts` and
        pictures.
    solver : ProjectiveDynamics, Newton, NonlinearCG, QuasiNewton, VertexBlockDescent, BlockJacobi, GradientDescent, ADMM, XPBD or PBD
        By default ProjectiveDynamics, or Newton if that does not support a material, the contact or the rigid bodies of the scene.
    dt : float or None
        Time step h, s; by default 1/100, as in `compare`. None: quasistatic, the inertia term is replaced by -sum (m g + f) . x.
    contact : BarrierContact, PenaltyContact, ProjectiveContact, ProxyContact or TwoWayContact, optional
        Contact of bodies and obstacles; without it they pass through each other. `capabilities` lists the solvers that support it. A
        contact that rejects an intersecting start warns of every obstacle mesh that intersects itself.
    device : "cpu", "cuda" or one of several GPUs such as "cuda:1"; default: PDGPU_DEVICE, else "cpu"
    dtype : "float64" or "float32"; default: PDGPU_DTYPE, else "float64"
    threads : int
        The largest number of threads of a loop; 0: all cores. Results do not depend on it. A loop with little work has one thread, and so
        has every loop of a forked process; there are fewer if the system starts no more.
    start_time : float
        s. `time` begins here, and obstacles start at the positions of their motions at this time.
    positions : array_like, shape (n, 3), optional
        m, in the order of the scene; by default the rest positions. Pinned vertices start here too, and a pin with a motion moves from here
        to its target in the first step. The check for intersections and for the separation uses these positions, not the rest positions.
    velocities : array_like, shape (n, 3), optional
        m/s; by default those of the scene. Not with dt=None.
    integrator : "implicit_euler", "bdf2", "trapezoidal" or "newmark"
        The time integrator. Each is another inertial target y and another time step h in the inertia of the same G, so that every solver
        that minimises G takes it. With positions x, velocities v, and accelerations A by all forces:

        - "implicit_euler": order 1, h = dt.
        - "bdf2": order 2, h = 2 dt/3, x = (4 x_t - x_{t-1})/3 + h v, v = (4 v_t - v_{t-1})/3 + h A [Curtiss and Hirschfelder 1952]. Its
          first step is the theta method with theta = 2/3, which keeps the order.
        - "trapezoidal": order 2, h = dt/2, x = x_t + h (v_t + v), v = v_t + h (A_t + A). It has no numerical damping, and may grow without
          bound with stiff nonlinear forces such as those of contact.
        - "newmark": with beta = 1/4 and gamma = 1/2 [Newmark 1959]; algebraically the trapezoidal rule, and the same bits.

        Damping and friction use the displacement over dt, (x - x_t)/dt, so that their forces have an error of order 1. The history
        (x_{t-1}, v_{t-1} or A_t) is part of the state: copies, pickles, files and snapshots keep it. `set_state` and `cut` discard it, and
        the next step is then a first one, as in a Simulation made from positions and velocities, with another dt for example.
        `device_positions` and `device_velocities` keep it. External forces are constant in a step. Not with dt=None, PBD, XPBD, rigid
        bodies, ProjectiveContact or TwoWayContact.

    Raises
    ------
    TypeError
        A solver that does not support a material of the scene, or the contact; the message names both. An integrator that the solver,
        the contact or a rigid body does not take.
    ValueError
        A scene without vertices, or that starts with an intersection or closer than the separation of `contact`, dt <= 0, a quasistatic
        body that is not held, PBD or XPBD with dt=None; a start_time that is not finite; positions or velocities of another shape, not
        finite, out of range for the dtype, or not those of a rigid body; velocities with dt=None; an unknown integrator, or another than
        "implicit_euler" with dt=None.
    RuntimeError
        A device that is not available; a direct solver that the build does not contain.
    """

    _instead = "make another Simulation, and give it start_time=, positions= and velocities= of this one"
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
        dt: float | None = TIME_STEP,
        contact: Contact | None = None,
        device: Device | None = None,
        dtype: Precision | None = None,
        threads: int = 0,
        start_time: float = 0.0,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        integrator: Integrator = "implicit_euler",
    ) -> None:
        start_time = number("start_time", start_time)
        if dt is None and velocities is not None:
            raise ValueError("velocities: dt=None (quasistatic) has no velocities; leave them out, or give dt")
        device, dtype = device_or_default(device), dtype_or_default(dtype)
        self._core = SimulationCore(
            scene, solver, dt, contact, device, dtype, threads, start_time=start_time, positions=positions, integrator=integrator
        )
        if positions is not None or velocities is not None:
            self.set_state(positions=positions, velocities=velocities)
        core = self._core
        warn_idle_acceleration(core.solver, stacklevel=2)
        warn_slow_factors(core.solver, core.dt, contact, stacklevel=2)
        if scene.obstacles and contact is None:
            names = ", ".join(repr(obstacle.name) for obstacle in scene.obstacles)
            warnings.warn(
                f"obstacles: without contact bodies pass through {names}; give contact=pdgpu.BarrierContact(...), "
                "or walls by Scene.set_world_box; contacts() finds close pairs",
                stacklevel=2,
            )
        core.prepare()
        for fault in check_start(core, stacklevel=2):
            warnings.warn(
                f"contact: {fault}; bodies collide with all of its triangles, and certify reports such pairs separately from those of "
                "bodies, as obstacle_intersections; repair the mesh if this is not intended",
                stacklevel=2,
            )
        take_note(scene, self)

    @classmethod
    def _resumed(cls, *arguments):
        """Return a simulation in the middle of a run. Pickles refer to this method; the arguments are those of `resumed`."""
        return cls._of(resumed(*arguments))

    def __reduce__(self):
        """Support copies and pickles: an independent simulation that continues with the same bits. Pickles need picklable motions."""
        memory = self._core.memory
        return self._resumed, resumption(self._core), {"last_step": memory.last_step, "_setup_seconds": memory.setup_seconds}

    def __setstate__(self, state):
        memory = self._core.memory
        memory.last_step, memory.setup_seconds = state["last_step"], state["_setup_seconds"]

    @property
    def solver(self) -> Solver:
        """The solver, with the numbers that depend on the scene."""
        return self._core.solver

    @property
    def dt(self) -> float | None:
        """Time step, s; None: quasistatic."""
        return self._core.dt

    @property
    def integrator(self) -> Integrator:
        """The time integrator."""
        name: Any = self._core.integrator
        return name

    @property
    def contact(self) -> Contact | None:
        """The contact of bodies and obstacles."""
        return self._core.contact

    @property
    def device(self) -> Device:
        """The device of the computation, such as "cpu"."""
        return self._core.device

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of positions and velocities on the device."""
        return self._core.dtype

    @property
    def threads(self) -> int:
        """The largest number of threads of a loop."""
        return self._core.threads

    @property
    def last_step(self) -> StepRecord:
        """The record of the last step; None before the first."""
        last: Any = self._core.memory.last_step
        return last

    def __repr__(self):
        core = self._core
        dt = "quasistatic" if core.dt is None else f"dt={core.dt:g}"
        dt += "" if core.integrator == "implicit_euler" else f", {core.integrator}"
        size = counted(core.rows.n, "vertex", "vertices")
        return f"<Simulation: {size}, {core.solver!r}, {dt}, {core.device}, {core.dtype.name}, t={core.time:g}>"

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers that the solver takes from the spectrum or from a search: "rho" of the outer iteration; "linear", a dict with those of
        the linear solver ("weight", "omega", "rho"); "colours", the number of colours of a sweep over vertices (VertexBlockDescent) or
        elements (XPBD); "schur", a dict with sizes, bytes and seconds of SchurDirect; "contact", a dict with the "stiffness" of its contact
        potential in the next step. Before the end of a search a value is None.
        """
        core = self._core
        chebyshev = chebyshev_of(core.solver)
        result = {} if chebyshev is None else {"rho": core.rho if isinstance(chebyshev.rho, str) else chebyshev.rho}
        if core.numbers is not None:
            result["linear"] = core.numbers.described(core.solver.linear)
        if schur := core.backend.schur_cost():
            result["schur"] = schur
        if core.colours is not None:
            result["colours"] = int(core.colours.max()) + 1
        elif isinstance(core.solver, XPBD):
            result["colours"] = core.backend.constraint_colours()
        if core.has_law:
            result["contact"] = {"stiffness": core.stiffness(core.backend.doublings()[1])}
        return result


def diagnostic_simulation(
    scene: Scene, dt: float | None, threads: int, contact: Contact | None, integrator: str = "implicit_euler"
) -> Simulation:
    """Return a simulation in float64 on the CPU that evaluates G and makes no steps."""
    return Simulation._of(diagnostic_core(scene, dt, threads, contact, integrator))
