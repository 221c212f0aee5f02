"""Linear solvers and their accelerations: plain, printable, picklable descriptions. What they do stands in csrc/linear."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pdgpu._internal.arguments import choice, flag, integer, number
from pdgpu._internal.backends import device_parts
from pdgpu.linear.anderson import Anderson, anderson_settings
from pdgpu.linear.applied_functions import AppliedFunction, check_function, is_operator

__all__ = ["PCG", "SOR", "AJacobi", "Anderson", "Chebyshev", "Direct", "GaussSeidel", "Jacobi", "LinearFunction", "SymmetricGaussSeidel"]

# the order of PD_LINEAR_TABLE in csrc/linear/linear_solver.h
KINDS = ("Direct", "Jacobi", "GaussSeidel", "SymmetricGaussSeidel", "SOR", "PCG", "AJacobi", "SchurDirect", "LinearFunction")
# the order of PD_PRECONDITIONER_TABLE there
PRECONDITIONERS = ("jacobi", "block", "chebyshev", "multilevel", "amg", "function")
# of a field that files of earlier releases do not have
WHERE_SET = {"written": "where set"}
# a standalone solve looks at the residual so often where nothing asks for it
CHECK_EVERY = {"cpu": 1, "cuda": 8}


def keep(description, **options):
    """Store checked options as plain Python numbers."""
    for name, value in options.items():
        object.__setattr__(description, name, value)


@dataclass(frozen=True, kw_only=True)
class Chebyshev:
    """Chebyshev semi-iterative acceleration [Wang 2015, Algorithm 1].

    The update is x_{k+1} = omega (under_relaxation (x^ - x_k) + x_k - x_{k-1}) + x_{k-1}; omega is 1 for k < start, 2/(2 - rho^2) at k =
    start, then 4/(4 - rho^2 omega).

    Parameters
    ----------
    rho : float, "auto" or "lanczos"
        Spectral radius of the accelerated iteration, 0 < rho < 1; around A-Jacobi that of ONE weighted Jacobi step, which A-Jacobi powers
        or composes. "lanczos" computes it from the extreme eigenvalues of the matrix (linear solvers only). "auto" is the pre-simulation of
        [Wang 2015, Section 5.1]: it starts from the ratio of two successive gradient (residual) norms, tries larger and smaller values, and
        keeps the one with the smallest norm, without oscillation. Its runs have at most 100 iterations (or twice `start`, if larger). For a
        solver with more iterations, the result is tried at full length, and 1 - rho doubled until it converges. The search runs once,
        before the first step, on a copy of the state, and counts as setup time. If a step ends before `start`, or does not move, the search
        is postponed to the next step. If no value is better than the plain iteration, rho is 0; if all of them diverge, with a warning. A
        weight with which Jacobi diverges is replaced first.
    start : int
        Iterations before the extrapolation, at least 1.
    under_relaxation : float
        In (0, 1].
    interval : "symmetric" or "positive"
        The interval of the eigenvalues of the iteration: [-rho, rho], or [0, rho] as for symmetric Gauss-Seidel and A-Jacobi of even order;
        the second gains up to sqrt(2) there [Golub and Van Loan 1996, Sec. 10.1.5].

    Raises
    ------
    ValueError, TypeError
        An option out of its range, or of another type.
    """

    rho: float | str = "auto"
    start: int = 10
    under_relaxation: float = 1.0
    interval: str = "symmetric"

    def __post_init__(self):
        if isinstance(self.rho, str):
            choice("rho", self.rho, ("auto", "lanczos"))
        else:
            keep(self, rho=number("rho", self.rho, above=0.0, below=1.0))
        keep(self, start=integer("start", self.start, 1))
        keep(self, under_relaxation=number("under_relaxation", self.under_relaxation, above=0.0, maximum=1.0))
        choice("interval", self.interval, ("symmetric", "positive"))


def check_acceleration(solver):
    """TypeError for what is no acceleration, or none of the solver; ValueError for two."""
    chebyshev, acceleration = getattr(solver, "chebyshev", None), getattr(solver, "acceleration", None)
    if chebyshev is not None and not isinstance(chebyshev, Chebyshev):
        raise TypeError(f"chebyshev: expected pdgpu.Chebyshev or None, got {chebyshev!r}")
    if acceleration is None:
        return
    if isinstance(acceleration, Chebyshev) and "chebyshev" not in solver.__dataclass_fields__:
        raise TypeError(
            f"acceleration: {type(solver).__name__} takes pdgpu.Anderson, not {acceleration!r}: its iteration has no real spectrum in "
            "[-rho, rho]"
        )
    if not isinstance(acceleration, Chebyshev | Anderson):
        raise TypeError(f"acceleration: expected pdgpu.Anderson, pdgpu.Chebyshev or None, got {acceleration!r}")
    if chebyshev is not None:
        raise ValueError(f"acceleration: chebyshev={chebyshev!r} is given too, and {type(solver).__name__} takes one; leave chebyshev out")


def chebyshev_of(solver):
    """The Chebyshev acceleration of a solver, by either of its two names, or None."""
    acceleration = getattr(solver, "acceleration", None)
    return acceleration if isinstance(acceleration, Chebyshev) else getattr(solver, "chebyshev", None)


def _check_iteration(solver):
    if solver.iterations is not None:
        keep(solver, iterations=integer("iterations", solver.iterations, 1, 10**6))
    keep(solver, tolerance=number("tolerance", solver.tolerance, minimum=0.0, below=1.0))
    check_acceleration(solver)


def _check_weight(solver):
    if isinstance(solver.weight, str):
        choice("weight", solver.weight, ("auto", "optimal"))
    else:
        keep(solver, weight=number("weight", solver.weight, above=0.0))


@dataclass(frozen=True, kw_only=True)
class Direct:
    """Sparse Cholesky factorisation, reused until the matrix changes: by CHOLMOD, on "cuda" by cuDSS if it is installed."""


@dataclass(frozen=True, kw_only=True)
class Jacobi:
    """Weighted Jacobi: d <- d + weight D^-1 (r - A d), from d = 0 [Wang 2015, Eq. 20].

    Parameters
    ----------
    weight : float, "auto" or "optimal"
        It converges for 0 < weight < 2/lambda, lambda the largest eigenvalue of D^-1 A: about 0.6 to 0.9 on tet meshes. So plain Jacobi
        (weight 1) diverges there, with a warning before the run. "auto" is 1.8 / lambda, independent of the numbering of rows to rounding;
        "optimal" is 2 / (smallest + largest eigenvalue), which needs both ends of the spectrum.
    iterations : int, optional
        Per global step (1 by default), or of `pdgpu.linear.solve` (1000).
    tolerance : float
        Stop where the residual norm is at most tolerance x the first; 0: run all iterations.
    acceleration : Anderson or Chebyshev, optional
        Inner acceleration, restarted in each global step.
    chebyshev : Chebyshev, optional
        An older name of `acceleration`.
    """

    weight: float | str = "auto"
    iterations: int | None = None
    tolerance: float = 0.0
    chebyshev: Chebyshev | None = None
    acceleration: Anderson | Chebyshev | None = field(default=None, metadata=WHERE_SET)

    def __post_init__(self):
        _check_weight(self)
        _check_iteration(self)


@dataclass(frozen=True, kw_only=True)
class AJacobi:
    """A-Jacobi: `order` Jacobi iterations as one product with a precomputed matrix [Lan et al. 2022, Sec. 5, Eqs. 11-14].

    Without Chebyshev one iteration equals `order` Jacobi iterations. With it, "power" (R^order, as in the paper) gains only the square root
    of `order`; "composed", the Chebyshev polynomial of R with the same nonzeros, gains `order`. The matrix has 3 to 5 (order 2) or 6 to 15
    (order 3) times the nonzeros of A, so on a CPU it has no advantage.

    Parameters
    ----------
    order : int
        1 to 4.
    weight, iterations, tolerance, acceleration, chebyshev
        As for `Jacobi`; iterations counts its own steps.
    variant : "power" or "composed"
    suppression : float, "bending" or None
        Sparsity suppression [Lan et al. 2022, Appendix A, Eq. 16]. A number in (0, 1): couplings below this fraction of the largest in
        their rows are left out. "bending": those of bending are left out (in a simulation; `pdgpu.linear` has the argument `bending=`). The
        truncated series is only a preconditioner, x += (I + R_s + ..) w D^-1 (r - A x), so the solution is the same.
    biased : bool
        Suppress inside R^2 as printed (order 2 only). The missing entries change row sums, so the fixed point moves: by a quarter of the
        distance travelled, for a cloth whose bending is 200 times weaker than its stretching. Only to reproduce the paper.
    """

    order: int = 2
    weight: float | str = "auto"
    variant: str = "power"
    suppression: float | str | None = None
    biased: bool = False
    iterations: int | None = None
    tolerance: float = 0.0
    chebyshev: Chebyshev | None = None
    acceleration: Anderson | Chebyshev | None = field(default=None, metadata=WHERE_SET)

    def __post_init__(self):
        keep(self, order=integer("order", self.order, 1, 4))
        _check_weight(self)
        choice("variant", self.variant, ("power", "composed"))
        if isinstance(self.suppression, str):
            choice("suppression", self.suppression, ("bending",))
        elif self.suppression is not None:
            keep(self, suppression=number("suppression", self.suppression, above=0.0, below=1.0))
        keep(self, biased=flag("biased", self.biased))
        if self.biased and self.order != 2:
            raise ValueError(f"biased: expected order=2, got order={self.order}")
        if self.suppression is not None and self.order < 2:
            raise ValueError(f"suppression: expected None with order=1, got {self.suppression!r}")
        if self.suppression is not None and self.variant == "composed":
            raise ValueError("suppression: works with variant='power' only")
        if self.biased and isinstance(self.acceleration, Anderson):
            raise ValueError("acceleration: biased=True iterates on x itself; give Chebyshev or None")
        _check_iteration(self)


def _check_gauss_seidel(solver):
    choice("order", solver.order, ("colour", "natural"))
    _check_iteration(solver)


@dataclass(frozen=True, kw_only=True)
class GaussSeidel:
    """Forward Gauss-Seidel: a row uses the new values of the rows before it.

    Its iteration matrix has complex eigenvalues in general, so Chebyshev acceleration may diverge: it is accepted with a warning.
    `SymmetricGaussSeidel` is the form to accelerate [Wang 2015, Sec. 5.1].

    Parameters
    ----------
    order : "colour" or "natural"
        Rows by colours, in parallel (greedy colours of the matrix, ascending), or one after the other on one thread, for reference.
    iterations, tolerance, acceleration, chebyshev
        As for `Jacobi`.
    """

    order: str = "colour"
    iterations: int | None = None
    tolerance: float = 0.0
    chebyshev: Chebyshev | None = None
    acceleration: Anderson | Chebyshev | None = field(default=None, metadata=WHERE_SET)

    def __post_init__(self):
        _check_gauss_seidel(self)
        if chebyshev_of(self) is not None:
            warnings.warn(
                "Chebyshev acceleration of one-directional Gauss-Seidel may diverge: its iteration matrix has complex eigenvalues; "
                "take SymmetricGaussSeidel, which has real ones",
                stacklevel=3,
            )


@dataclass(frozen=True, kw_only=True)
class SymmetricGaussSeidel:
    """Symmetric Gauss-Seidel: an iteration is a forward and a backward sweep. Its eigenvalues are real and lie in [0, 1).

    Parameters
    ----------
    order, iterations, tolerance, acceleration, chebyshev
        As for `GaussSeidel`; rho is that of one (double) iteration.
    """

    order: str = "colour"
    iterations: int | None = None
    tolerance: float = 0.0
    chebyshev: Chebyshev | None = None
    acceleration: Anderson | Chebyshev | None = field(default=None, metadata=WHERE_SET)

    def __post_init__(self):
        _check_gauss_seidel(self)


@dataclass(frozen=True, kw_only=True)
class SOR:
    """Successive over-relaxation: Gauss-Seidel with corrections multiplied by omega [Young 1954].

    It has no Chebyshev acceleration: at the best omega all eigenvalues lie on a circle, which no polynomial can shrink.

    Parameters
    ----------
    omega : float or "auto"
        In (0, 2). "auto" is Young's 2 / (1 + sqrt(1 - rho^2)) with the spectral radius rho of plain Jacobi if that converges, else of
        Jacobi at its best weight; optimal for consistently ordered matrices, a good guess otherwise.
    order, iterations, tolerance
        As for `GaussSeidel`.
    acceleration : Anderson, optional
        As for `Jacobi`.
    """

    omega: float | str = "auto"
    order: str = "colour"
    iterations: int | None = None
    tolerance: float = 0.0
    acceleration: Anderson | None = field(default=None, metadata=WHERE_SET)

    def __post_init__(self):
        if isinstance(self.omega, str):
            choice("omega", self.omega, ("auto",))
        else:
            keep(self, omega=number("omega", self.omega, above=0.0, below=2.0))
        _check_gauss_seidel(self)


@dataclass(frozen=True, kw_only=True)
class PCG:
    """Preconditioned conjugate gradients; every right-hand side is an independent system [Golub and Van Loan 1996, Algorithm 10.3.1].

    It needs no eigenvalue and chooses the best combination of its directions, so it has no Chebyshev acceleration.

    Parameters
    ----------
    preconditioner : "jacobi", "block", "chebyshev", "multilevel", "amg", a callable or a scipy LinearOperator
        "jacobi": the inverse diagonal D^-1.

        "block": the inverses of the 3x3 blocks on the diagonal, for a matrix of 3n rows. In Projective Dynamics, where x, y and z share one
        matrix, such a block is a multiple of the identity, and both are the same.

        "chebyshev": a polynomial in D^-1 A times D^-1, D in `Newton` the 3x3 blocks [Saad 2003, Section 12.3.2]. It is the result of
        `degree` Chebyshev-Jacobi iterations from zero on the interval [b/30, b], b the largest eigenvalue of D^-1 A. In `Newton` twelve
        steps of Lanczos' method estimate b before every solve; b is 1.1 times that, and at least 4. An iteration has `degree` products with
        A instead of one, and replaces up to `degree` iterations with D^-1. So it needs about as many products but fewer sums over the
        vectors, each of which synchronises a GPU.

        "multilevel": additive Schwarz on several levels [Wu, Wang and Wang 2022]: the sum of the exact inverses of domains of at most 32
        rows or 16 vertices, and the same on coarser levels, whose rows are the domains before. In `Newton` a domain moves by translation
        and rotation, otherwise by translation. An iteration has one product with A. It is for stiff and uneven bodies in `Newton`
        (docs/theory/solvers.md). The inverses need about as much memory as the Hessian of a tet mesh. In contact the Hessian is assembled
        on the CPU, with all pairs. In `pdgpu.linear` a matrix of full 3x3 blocks has vertices, any other matrix has rows.

        "amg": a V-cycle of smoothed aggregation [Vanek, Mandel and Brezina 1996], with the motions and matrices of "multilevel". An
        iteration has three products with A. Their number hardly grows with size and contrast. It pays from some 30,000 vertices on.

        A callable r -> z, or a `scipy.sparse.linalg.LinearOperator`, applies your own M^-1: an incomplete factor of SciPy, a multigrid
        cycle of pyamg. It must be symmetric, positive definite and the same in every call of a solve. r has the shape of the right-hand
        side: (n, 3) in Projective Dynamics, (3n,) in `Newton`, (n,) or (n, k) in `pdgpu.linear`. It runs on the CPU in Python, in the dtype
        of the solve; rows of pinned vertices are set to 0. Rigid bodies do not support it.
    degree : int
        Iterations in one application of "chebyshev", 1 to 100. The other preconditioners have none.
    iterations, tolerance
        As for `Jacobi`.
    """

    preconditioner: str | Callable[[Any], Any] | Any = "jacobi"
    degree: int = 4
    iterations: int | None = None
    tolerance: float = 0.0

    def __post_init__(self):
        if isinstance(self.preconditioner, str):
            choice("preconditioner", self.preconditioner, PRECONDITIONERS[:-1])
        else:
            check_function("preconditioner", self.preconditioner)
        keep(self, degree=integer("degree", self.degree, minimum=1, maximum=100))
        _check_iteration(self)


@dataclass(frozen=True, kw_only=True)
class LinearFunction:
    """Your own linear solver: x <- x + f(b - A x) with a function f that approximates A^-1 [Saad 2003, Sec. 4.2].

    An argument for a linear solver also accepts the function itself: `ProjectiveDynamics(linear=f)`, `pdgpu.linear.solve(A, b, f)`.

    Parameters
    ----------
    function : callable or scipy LinearOperator
        r -> z, both of the shape of the right-hand side: (n, 3) in Projective Dynamics, (n,) or (n, k) in `pdgpu.linear`. A cycle of pyamg,
        or a factor of SciPy. It runs on the CPU in Python. Rows of pinned vertices are set to 0: f is the inverse of the block of free
        vertices, `Simulation.system_matrix(free=True)`. In contact A has an additional diagonal, which f does not contain.
    iterations, tolerance
        As for `Jacobi`.
    acceleration : Anderson, optional
        As for `Jacobi`.
    """

    function: Callable[[Any], Any] | Any
    iterations: int | None = None
    tolerance: float = 0.0
    acceleration: Anderson | None = field(default=None, metadata=WHERE_SET)

    def __post_init__(self):
        check_function("function", self.function)
        _check_iteration(self)


def as_linear_solver(given):
    """Return a linear solver; for a function or a LinearOperator a `LinearFunction`. Other objects are returned unchanged."""
    described = isinstance(given, type) or hasattr(given, "__dataclass_fields__")
    return LinearFunction(function=given) if not described and (callable(given) or is_operator(given)) else given


def calls_function(solver):
    """Return whether a linear solver calls a function of the user, as the solver or as its preconditioner."""
    return isinstance(solver, LinearFunction) or not isinstance(getattr(solver, "preconditioner", ""), str)


LINEAR_SOLVERS = (Direct, Jacobi, GaussSeidel, SymmetricGaussSeidel, SOR, PCG, AJacobi, LinearFunction)


def without_acceleration(settings):
    """Settings of one plain iteration."""
    return settings | {"iterations": 1, "tolerance": 0.0, "chebyshev": None, "anderson": None}


def chebyshev_settings(chebyshev, rho=None):
    """Return the settings for a backend: None or a dict by name (``pd_chebyshev_options``). Without a number for rho: None."""
    if chebyshev is None:
        return None
    rho = chebyshev.rho if rho is None else rho
    if isinstance(rho, str):
        return None
    return {"rho": float(rho), "start": int(chebyshev.start), "under_relaxation": float(chebyshev.under_relaxation)}


def check_order(solver, device):
    """Raise RuntimeError for a serial order of rows on a device other than the CPU."""
    if device != "cpu" and getattr(solver, "order", None) == "natural":
        raise RuntimeError(f"device: the natural order of {type(solver).__name__} is sequential and runs on 'cpu' only, not on {device!r}")


def linear_settings(solver, *, iterations, device="cpu", blocks=False, factor=1.0):
    """Return the settings by name, as declared by the core (``pd_linear_options``). `set` adds those that depend on the spectrum.

    Parameters
    ----------
    iterations : int
        The default for a solver without a number.
    blocks : bool
        True for a matrix of 3n rows: the block preconditioner uses its blocks.
    factor : float
        The matrix of the core is that of the caller divided by this factor; functions of the user work with the latter.
    """
    chebyshev = chebyshev_of(solver)
    weight, suppression = getattr(solver, "weight", 0.0), getattr(solver, "suppression", None)
    omega = getattr(solver, "omega", 1.0)
    preconditioner = getattr(solver, "preconditioner", "jacobi")
    kind, function = (preconditioner, None) if isinstance(preconditioner, str) else ("function", AppliedFunction(preconditioner))
    if isinstance(solver, LinearFunction):
        kind, function = "function", AppliedFunction(solver.function, "linear", factor)
    return {
        "kind": KINDS.index(type(solver).__name__),
        "iterations": int(getattr(solver, "iterations", 1) or iterations),
        "tolerance": float(getattr(solver, "tolerance", 0.0)),
        "check_every": CHECK_EVERY[device_parts(device)[0]],
        "weight": 0.0 if isinstance(weight, str) else float(weight),
        "omega": 1.0 if isinstance(omega, str) else float(omega),
        "rho": 0.5,  # set later, if it has an effect
        "natural": getattr(solver, "order", None) == "natural",
        "preconditioner": PRECONDITIONERS.index("jacobi" if kind == "block" and not blocks else kind),
        "function": function,
        "degree": getattr(solver, "degree", 1),
        "order": solver.order if isinstance(solver, AJacobi) else 1,
        "composed": getattr(solver, "variant", None) == "composed",
        "suppression": 0 if suppression is None else 2 if suppression == "bending" else 1,
        "biased": bool(getattr(solver, "biased", False)),
        "threshold": 0.0 if suppression is None or isinstance(suppression, str) else float(suppression),
        "positive": chebyshev is not None and chebyshev.interval == "positive",
        "anderson": anderson_settings(getattr(solver, "acceleration", None)),
        "chebyshev": chebyshev_settings(chebyshev),
    }
