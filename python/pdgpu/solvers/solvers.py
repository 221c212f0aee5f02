"""Solvers: plain, printable, picklable descriptions. csrc/dynamics and csrc/linear have their algorithms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pdgpu._internal.arguments import choice, integer, number
from pdgpu._internal.backends import DEVICES, direct_library
from pdgpu._internal.text_tables import html_table, text_table
from pdgpu.contact.barrier_contact import POTENTIALS
from pdgpu.linear.linear_solvers import (
    LINEAR_SOLVERS,
    PCG,
    WHERE_SET,
    Anderson,
    Chebyshev,
    Direct,
    keep,
)
from pdgpu.linear.schur import SchurDirect
from pdgpu.solvers.descent_solvers import BlockJacobi, GradientDescent, VertexBlockDescent
from pdgpu.solvers.time_step_solver import (
    AFTER,
    CUSTOM,
    DRIVERS,
    FILTERS,
    HYPERELASTIC,
    ORIENTED,
    PENALTY,
    PRECONDITIONERS,
    PROJECTIVE,
    PROXIES,
    TimeStepSolver,
)

if TYPE_CHECKING:
    from pdgpu.types import LinearSolver

__all__ = [
    "ADMM",
    "PBD",
    "XPBD",
    "BlockJacobi",
    "GradientDescent",
    "Newton",
    "NonlinearCG",
    "ProjectiveDynamics",
    "QuasiNewton",
    "VertexBlockDescent",
    "capabilities",
]


@dataclass(frozen=True, kw_only=True)
class ProjectiveDynamics(TimeStepSolver):
    """Projective Dynamics: local projections and a global linear step with a constant matrix [Bouaziz et al. 2014].

    With `contact` the matrix is A + K, K of the neighbour list at the iterate. The step is halved from the step limit until the incremental
    potential decreases [Li et al. 2020, Algorithm 1, with this matrix instead of the Hessian]. So it decreases in every iteration for any
    `linear`, except with outer Chebyshev. Direct, which then factorises in every iteration, and PCG use the pairs' projected Hessians as K.
    Sweeps use a diagonal upper bound of them, which also resists tangential motion and needs more iterations. docs/solvers_in_contact.md
    has the numbers of iterations. Scenes that converge slowly without contact, such as cloths of springs, also do with contact.

    Parameters
    ----------
    iterations : int
        Local-global iterations of a step.
    linear : Direct, SchurDirect, Jacobi, AJacobi, GaussSeidel, SymmetricGaussSeidel, SOR, PCG, LinearFunction or a function
        Solver of the global step; an iterative one starts from the current iterate and does one iteration unless it says otherwise.
        A function r -> z, or a scipy LinearOperator, approximates the inverse of the matrix (`LinearFunction`).
    acceleration : Anderson or Chebyshev, optional
        Outer acceleration, over the local-global iterations [Peng et al. 2018, Algorithm 1; Wang 2015, Algorithm 1].
    chebyshev : Chebyshev, optional
        An older name of `acceleration`.
    tolerance : float
        Stop if the gradient norm is at most tolerance x its value at the first guess. In contact that value is at most |M (y - x_t)|/h^2 +
        |elastic forces|, since a first guess may press into a barrier. 0: run all iterations, or until no vertex moves or no decrease is
        found (`StepRecord.status`).
    initialization : str
        First guess of a step: "previous", "inertia", "inertial_target" or "adaptive" [Chen et al. 2024, VBD, Eq. 17]. "adaptive" is the
        inertial target with the fraction of gravity and external forces that was not balanced by elasticity in the last step; all of them
        in the first step and after `set_state`.
    check_every : int, optional
        Iterations between two device reads; by default 1 on the CPU, 8 on CUDA.

    Raises
    ------
    TypeError, ValueError
        A setting of another type, or out of its range; by `Simulation`, a scene with an unsupported part.
    """

    linear: LinearSolver | SchurDirect = field(default_factory=Direct)
    chebyshev: Chebyshev | None = None
    acceleration: Anderson | Chebyshev | None = field(default=None, metadata=WHERE_SET)

    linear_solvers = (*LINEAR_SOLVERS, SchurDirect)
    contacts = (*POTENTIALS, PENALTY, *DRIVERS, *AFTER, PROXIES)
    embedded = ("cpu", "cuda")


@dataclass(frozen=True, kw_only=True)
class Newton(TimeStepSolver):
    """Newton's method: the full Hessian (projected if it is not positive definite), with a backtracking line search.

    Parameters
    ----------
    iterations : int
    linear : Direct, PCG or "auto"
        Solver of the linear systems with the Hessian. "auto" chooses in each iteration. A step begins with conjugate gradients,
        preconditioned by 3x3 blocks. They end at the forcing term of Eisenstat and Walker [1996, Choice 2],
        min(0.1, 0.9 (|g_k|/|g_{k-1}|)^2) and at least 1e-3. The Hessian is factorised where they would take more work than that, or are
        slow after half of it. The factor is the preconditioner in the next iterations, until a solve takes half of the work of another
        factor. Work is counted and not timed, so the same input gives the same bits. No factor outlives its step. With a
        `step_tolerance`, which compares exact steps, "auto" is Direct. docs/speed.md has
        its time relative to that of Direct. PCG makes it an inexact Newton
        method: every solve starts from 0 and ends after `PCG.iterations`, by default 1000, or at a residual of `PCG.tolerance` times the
        gradient; tolerance=0 leaves that to the forcing term min(0.01, sqrt(|g|/|g_0|)), which keeps the convergence superlinear [Nocedal
        and Wright 2006, Eq. 7.3]. Its preconditioners "block" and "chebyshev" take the vertices' 3x3 blocks, "multilevel" those of
        domains of vertices, "amg" aggregates of vertices. At negative curvature the solve starts again with projected elements.
    hessian : "auto", "clamp", "absolute", "adaptive" or "exact"
        Filter of the eigenvalues of each element's and contact pair's Hessian. "auto": none, and "clamp" in a system that is not positive
        definite. "clamp": negative ones become 0. "absolute": they become their absolute values [Chen, Liu, Levin, Zheng, Jacobson 2024,
        Stabler Neo-Hookean Simulation]. "adaptive": "clamp" where the actual decrease of the last iteration was within 1 % of that of its
        unfiltered quadratic model, else "absolute" [Chen, Liu, Jacobson, Levin, Zheng 2024, Trust-Region Eigenvalue Filtering]; it costs
        one more Hessian and potential per iteration. "exact": none; DivergenceError where a system is not positive definite.
    line_search : bool
        Halve the step until the incremental potential decreases; close to its rounding, until the gradient norm does. With `BarrierContact`
        a step that decreases it by more than the quadratic model predicts is doubled, if the double step decreases it further.
    step_tolerance : float
        m/s (dt=None: m). Stop if the full Newton step moves no vertex faster [Li et al. 2020, Sec. 4.5] and all prescribed motions have
        arrived; 0: never. A step shortened by a line search or a step limit counts with its full length.
    tolerance, check_every
        As for ProjectiveDynamics.
    initialization : str, optional
        As for ProjectiveDynamics. None: the inertial target. With `BarrierContact` that guess ends before the first impact, and the step
        begins at x_t if the incremental potential there is at most as large. Pins and obstacles are at the same positions in both. With
        rigid bodies held by joints or attachments it begins at x_t + h v or x_t if the potential without contact there is less than a tenth
        of that at the inertial target. `tolerance` refers to the gradient norm at the chosen start.
    """

    iterations: int = 20
    linear: Direct | PCG | str = field(default_factory=Direct)
    hessian: str = field(default="auto", metadata=WHERE_SET)
    line_search: bool = True
    step_tolerance: float = field(default=0.0, metadata={"written": "where set"})
    initialization: str | None = field(default=None, metadata={"written": "where set"})

    materials = PROJECTIVE + HYPERELASTIC + ORIENTED + CUSTOM
    linear_solvers = (Direct, PCG)
    linear_names = ("auto",)
    rigid = True
    contacts = (*POTENTIALS, PENALTY, *AFTER)
    embedded = ("cpu", "cuda")

    def __post_init__(self) -> None:
        super().__post_init__()
        keep(self, step_tolerance=number("step_tolerance", self.step_tolerance, minimum=0.0))
        choice("hessian", self.hessian, FILTERS)


@dataclass(frozen=True, kw_only=True)
class NonlinearCG(TimeStepSolver):
    """Nonlinear preconditioned conjugate gradients [Wang 2015, Algorithm 2].

    p = z + beta p with beta = (z.r)_k / (z.r)_{k-1}, and a step alpha = (p.r) / (p.A p) along it, A the matrix of Projective Dynamics.
    Since A is an upper bound of the Hessian of the incremental potential, the potential decreases in every iteration.

    With `contact` p.A p becomes p.(A + K) p with the projected Hessians K of the neighbour list, which are no bound: the step is halved
    from the step limit until the potential decreases. D and the factor contain K as in ProjectiveDynamics. A `CustomMaterial` has no bound
    either: its weight in A is the median of its stiffnesses at rest, and the step is halved in the same way.

    Parameters
    ----------
    iterations : int
    preconditioner : "jacobi" or "direct"
        z = D^-1 r with the diagonal D of A, or z = A^-1 r with its Cholesky factor.
    tolerance, check_every
        As for ProjectiveDynamics.
    initialization : str, optional
        As for Newton.
    """

    preconditioner: str = "jacobi"
    initialization: str | None = field(default=None, metadata={"written": "where set"})

    materials = PROJECTIVE + CUSTOM
    contacts = (*POTENTIALS, PENALTY, *AFTER)
    embedded = ("cpu", "cuda")

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("preconditioner", self.preconditioner, PRECONDITIONERS)


@dataclass(frozen=True, kw_only=True)
class PBD(TimeStepSolver):
    """Position-based dynamics in Jacobi form: q_i <- q_i + relaxation sum_c dq_{i,c} [Wang 2015, Eq. 22; Müller et al. 2007].

    The moves dq of an element are the mass-weighted smallest ones into its constraint set: a spring to its rest length, an ARAP element to
    its rest shape, a hinge to its rest angle, an attachment to its target. Stiffness and damping have no effect: the apparent stiffness of
    a body depends on the number of iterations. Linear momentum is conserved. Angular momentum is not: the moves of an iteration exert no
    torque about their start positions, but the steps brake rotations, as those of implicit Euler do. An element with a vertex on a line or
    plane (`Body.slide`) is the single constraint |F - T| = 0, with moves along the projected gradient.

    It does not minimise the incremental potential G, but reports G and its gradient like the other solvers. A G that ends above its first
    value is no divergence here, and the gradient norm does not go to 0. Inertia enters only through the first guess: with an
    `initialization` other than "inertial_target" (the default of `compare` is "previous") the body has no inertia, and `dt=None`
    (quasistatic) is an error.

    Parameters
    ----------
    iterations : int
    relaxation : float, optional
        alpha, above 0. By default 1/c, c the largest number of elements that meet in a free vertex; `Simulation.solver` has the number.
        The iteration is I - alpha sum of projections near its limit. It converges for alpha < 2/lambda, lambda the largest eigenvalue of
        the sum, and lambda is at most c. Larger values converge faster or diverge. Wang [2015, Sec. 5.3] takes 0.3 on triangle meshes,
        0.25 with Chebyshev; on tet meshes 0.045, and 0.0025 with Chebyshev. Measured here: 0.3 diverged on cloth with hinges, 0.2 did
        not; on seven tet meshes 0.1 diverged or climbed and 0.06 did not, and 0.045 held with Chebyshev too (rho 0.999).
    acceleration : Anderson or Chebyshev, optional
        Outer acceleration [Wang 2015, Sec. 5.3].
    chebyshev : Chebyshev, optional
        An older name of `acceleration`.
    tolerance, initialization, check_every
        As for ProjectiveDynamics.

    Raises
    ------
    ValueError
        By `Simulation`, with dt=None.
    """

    relaxation: float | None = None
    chebyshev: Chebyshev | None = None
    acceleration: Anderson | Chebyshev | None = field(default=None, metadata=WHERE_SET)

    contacts = AFTER

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relaxation is not None:
            keep(self, relaxation=number("relaxation", self.relaxation, above=0.0))


@dataclass(frozen=True, kw_only=True)
class QuasiNewton(TimeStepSolver):
    """L-BFGS on the incremental potential, initialised with the matrix of Projective Dynamics [Liu et al. 2017, Sec. 4 and 5].

    For a material without a projection w is 2 mu volume (area), the Laplacian of Liu et al. as the initial Hessian.

    With `contact` the initial Hessian is A + K with the projected Hessians K of the neighbour list at the iterate, factorised in every
    iteration. docs/solvers_in_contact.md has the numbers of iterations.

    Parameters
    ----------
    iterations : int
    history : int
        Number of stored pairs of steps and gradient differences within a step, at most 1000; 0: only the matrix, which without line search
        is Projective Dynamics.
    linear : Direct
        Solver of the systems with the constant matrix A = M/h^2 + sum w S^T S.
    line_search : bool
        As for Newton.
    tolerance, check_every
        As for ProjectiveDynamics.
    initialization : str, optional
        As for Newton.
    """

    iterations: int = 20
    history: int = 5
    linear: Direct = field(default_factory=Direct)
    line_search: bool = True
    initialization: str | None = field(default=None, metadata={"written": "where set"})

    materials = PROJECTIVE + HYPERELASTIC + ORIENTED + CUSTOM
    linear_solvers = (Direct,)
    rigid = True
    contacts = (*POTENTIALS, PENALTY, *AFTER)
    embedded = ("cpu", "cuda")

    def __post_init__(self) -> None:
        super().__post_init__()
        keep(self, history=integer("history", self.history, 0, 1000))


@dataclass(frozen=True, kw_only=True)
class XPBD(TimeStepSolver):
    """Extended position-based dynamics: constraints with compliance, Gauss-Seidel over their colours [Macklin et al. 2016, Eq. 18].

    Every element is a constraint C = sqrt(2 E) of compliance 1, E its energy: sqrt(k) (l - L) for a spring, sqrt(2 mu V) |F - R| for an
    ARAP tet. A neo-Hookean tet is two constraints, so that its volume has its own multiplier [Macklin and Müller 2021], but both are zero
    at rest: sqrt(mu V (|F|^2 + J^2 - 4 J)) and sqrt((lam - mu) V) (J - 1). With a multiplier per constraint, zero at the start of a step,
    the stiffness is that of the material for any number of iterations. Elements of a colour share no free vertex. Linear momentum is
    conserved, angular momentum is not (see PBD); damping has no effect.

    It does not minimise the incremental potential G, but reports G and its gradient like the other solvers. A G that ends above its first
    value is no divergence here. Its limit is the solution of the other solvers if the constraints' gradients do not rotate within a step (a
    chain along a line, small steps). Otherwise it differs, since Eq. 18 omits the Hessians of the constraints and keeps the moves along
    their earlier gradients. On stretched bodies the difference is some per cent of the motion at h = 1/30 s, and vanishes with h. A body at
    rest stays at rest. The sweeps always start from the inertial target: `initialization` only sets the start of the record.

    Contact (PenaltyContact) is a set of constraints too, after those of the elements in each iteration. The gap of a pair is at least the
    distance, except for a compliance of 1/stiffness. Friction reverts the slip in the step up to mu times the normal force, without a
    `friction_velocity` below which surfaces creep. All pairs act at once, and the mass of a vertex is divided among its active pairs [Tonge
    et al. 2012, Mass Splitting]. `Simulation.contact_forces` returns the normal forces; its friction, and that of a record, is the smoothed
    friction of the other solvers at this solver's result.

    Parameters
    ----------
    iterations : int
        Sweeps over all constraints of a step.
    acceleration : Anderson, optional
        Over the sweeps, of positions and multipliers; without contact.
    tolerance, initialization, check_every
        As for ProjectiveDynamics.

    Raises
    ------
    ValueError
        By `Simulation`, with dt=None.
    """

    iterations: int = 20
    acceleration: Anderson | None = field(default=None, metadata=WHERE_SET)

    materials = PROJECTIVE + HYPERELASTIC
    contacts = (PENALTY, *AFTER)


@dataclass(frozen=True, kw_only=True)
class ADMM(TimeStepSolver):
    """ADMM: a minimisation for each element and a global linear step with a constant matrix [Overby et al. 2017, ADMM ⊇ PD].

    Each element minimises E(z) + w/2 |z - F(x) - u|^2 independently, damping included: in closed form if E is the squared distance to a
    constraint set, else by at most 20 Newton steps. u, zero at the start of a step, sums up F(x) - z. w is `weight` times the weight of
    Projective Dynamics for materials with a projection, `weight` (2 mu + lam) volume (area) for NeoHookean, StVK and Corotated, and for
    HingeBending `weight` times the largest eigenvalue of the Hessian by F at rest. OrthotropicSolid and OrthotropicShell have `weight`
    times the largest of their normal stiffnesses C_ii.

    A fixed point is a stationary point of the incremental potential G, but on the way G may rise: a G that ends above its first value is no
    divergence here. The weights are those at rest. If elements are inverted at the minimum, or so stretched that E is much stiffer, ADMM
    may cycle about the minimum without a warning. A larger `weight` ends such cycles under large stretch, for more iterations, but not
    always those of inverted elements.

    With `contact` the pairs enter the global step by their gradient and, in the matrix, by their projected Hessians at the iterate. Along
    the move, up to the step limit, the objective of the global step must decrease. G may rise all the same. Crushed elements need larger
    weights too, such as weight=2 for a cube under a body 2000 times as heavy.

    Parameters
    ----------
    iterations : int
        Local-global iterations of a step.
    weight : float
        Factor of the weights of all materials, above 0: a larger one gives smaller steps, and convergence under larger strains.
    linear : Direct
        Solver of the systems with the constant matrix A = M/h^2 + sum w S^T S.
    acceleration : Anderson, optional
        Over the iterations, of positions and duals [Zhang, Peng, Ouyang, Deng 2019].
    tolerance, initialization, check_every
        As for ProjectiveDynamics.
    """

    iterations: int = 20
    weight: float = 1.0
    linear: Direct = field(default_factory=Direct)
    acceleration: Anderson | None = field(default=None, metadata=WHERE_SET)

    materials = PROJECTIVE + HYPERELASTIC
    linear_solvers = (Direct,)
    contacts = (*POTENTIALS, *AFTER)
    embedded = ("cpu", "cuda")

    def __post_init__(self) -> None:
        super().__post_init__()
        keep(self, weight=number("weight", self.weight, above=0.0))


SOLVERS = (
    ProjectiveDynamics,
    Newton,
    NonlinearCG,
    PBD,
    VertexBlockDescent,
    BlockJacobi,
    GradientDescent,
    QuasiNewton,
    XPBD,
    ADMM,
)


class Capabilities(dict[str, Any]):
    """Name of a solver -> its supported features; made by `capabilities`. `repr` and notebooks show a matrix."""

    def __repr__(self) -> str:
        return text_table(*self._cells())

    def _repr_html_(self) -> str:
        return html_table(*self._cells(), caption="What each solver takes")

    def _cells(self) -> Any:
        """Return heads and rows of the matrix: a row for each feature, a column for each solver."""
        sections = ("devices", "materials", "linear", "contacts")
        rows = []
        for section in sections:
            for item in dict.fromkeys(item for entry in self.values() for item in entry[section]):
                rows.append((f"{section}: {item}", *("yes" if item in entry[section] else "" for entry in self.values())))
        rows.append(("rigid bodies", *("yes" if entry["rigid"] else "" for entry in self.values())))
        rows.append(("embedded surfaces on", *(", ".join(entry["embedded"]) for entry in self.values())))
        return ("", *self), rows


def capabilities() -> Capabilities:
    """The materials, linear solvers, contacts and devices that each solver supports, and its support of rigid bodies.

    Returns
    -------
    Capabilities
        A dict, shown as a matrix. Name of the solver -> dict with "materials", "linear", "contacts" and "devices", lists of names; "rigid",
        a bool for all of its devices; "embedded", the devices on which surfaces embedded in solids collide by BarrierContact and, if
        supported, PenaltyContact; "direct", for solvers with Direct, the library that factorises on each available device: "CHOLMOD", or on
        a GPU cuDSS if that is installed.
    """
    libraries = {device: library for device in DEVICES if (library := direct_library(device))}
    return Capabilities(
        {
            solver.__name__: {
                "materials": list(solver.materials),
                "linear": [*solver.linear_names, *(linear.__name__ for linear in solver.linear_solvers)],
                "contacts": list(solver.contacts),
                "devices": list(solver.devices),
                "rigid": solver.rigid,
                "embedded": list(solver.embedded),
                "direct": {device: library for device, library in libraries.items() if Direct in solver.linear_solvers},
            }
            for solver in SOLVERS
        }
    )
