"""The present step, in the view of a solver in Python."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import choice, number, real_array
from pdgpu._internal.block_matrices import csr_of_blocks
from pdgpu.solvers.custom_solver import CustomSolver
from pdgpu.solvers.integrators import effective_step

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import scipy

    from pdgpu.simulation.core import SimulationCore
    from pdgpu.types import Floats

__all__ = ["SolverStep", "functions_of"]

FILTERS = ("exact", "clamp")


def functions_of(core: SimulationCore) -> tuple[Callable[[int], None], Callable[[int], None]] | None:
    """Return the functions of the next step, for the compiled simulation; None for a solver without functions."""
    if not isinstance(core.solver, CustomSolver):
        return None
    if core.memory.own_solver is None:
        core.memory.own_solver = copy.copy(core.solver)
    calls = _Calls(core.memory.own_solver)
    step = SolverStep(core, calls)
    return partial(calls.begin, step), partial(calls.iterate, step)


class _Calls:
    """The calls of the methods of a solver in one step, and their common data."""

    def __init__(self, solver):
        self.solver, self.iteration = solver, 0
        self.where = ""  # the method that runs; "": none
        self.arrays = {}  # read-only arrays of the iterate

    def begin(self, step, iteration):
        self.arrays = {}
        self._call("begin", step, iteration)

    def iterate(self, step, iteration):
        self.arrays.pop("x", None)
        self._call("iterate", step, iteration)

    def _call(self, name, step, iteration):
        """Call a method of the solver. Its exceptions get a note with the origin."""
        self.iteration = iteration
        self.where = f"{self.solver.label}.{name}, iteration {iteration}"
        try:
            answer = getattr(self.solver, name)(step)
            if answer is not None:
                raise TypeError(f"{self.where}: expected None, got {type(answer).__name__}; move the iterate by step.move(d)")
        except Exception as error:
            error.add_note(f"in {self.where}")
            raise
        finally:
            self.where = ""


class SolverStep:
    """The step that a `CustomSolver` is solving, the argument of its methods.

    Vectors are arrays (n, 3) in the dtype of the simulation, with the vertices of `Simulation.positions`. Arguments are any array-like.
    Returned arrays belong to the caller, except the read-only `x`, `x_t`, `inertial_target`, `masses` and `fixed`, which keep their values
    when the iterate moves. The object is valid only during the call of the method: later calls, and those of another thread, raise
    RuntimeError.

    `x=None` stands for the iterate. G is the incremental potential of the step, with contact, friction and damping.
    """

    def __init__(self, core: SimulationCore, calls: Any) -> None:
        if not isinstance(calls, _Calls):
            raise TypeError("SolverStep: made by a simulation for its CustomSolver, not by a call of the class")
        self._core, self._calls = core, calls
        self._relative = getattr(core.compiled, "core", core.compiled)  # positions minus the origin of the scene
        self._origin = core.origin if core.origin.any() else None
        self._rng: np.random.Generator | None = None

    def _ask(self, name, question, *arguments):
        """Return a result of the core; its errors name the solver, the iteration and the function."""
        try:
            return question(*arguments)
        except (ValueError, TypeError, RuntimeError) as error:
            raise type(error)(f"{self._named(name)}: {error}") from error

    def _named(self, name):
        if not self._calls.where:
            return f"step.{name}: the step is over, or is another thread's"
        return f"{self._calls.where}: step.{name}"

    def _given(self, name, argument, array, positions=False):
        """Return an argument (n, 3) in the form of the core."""
        if array is None and positions:
            return None
        shape = self._core.rest.shape
        try:
            if positions and self._origin is not None:
                return np.ascontiguousarray(real_array(argument, array, shape) - self._origin, self._core.dtype)
            if type(array) is np.ndarray and array.dtype == self._core.dtype and array.shape == shape and array.flags.c_contiguous:
                return array  # the core checks for values that are not finite
            return np.ascontiguousarray(real_array(argument, array, shape), self._core.dtype)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{self._named(name)}: {error}") from None

    def _kept(self, name, make):
        """Return a read-only array, made once for an iterate."""
        if not self._calls.where:
            raise RuntimeError(self._named(name))
        if name not in self._calls.arrays:
            array = make()
            array.flags.writeable = False
            self._calls.arrays[name] = array
        return self._calls.arrays[name]

    def _positions(self, which):
        found = self._relative.solved_vectors(which)
        return found if self._origin is None else found + self._origin

    # ---- the step ------------------------------------------------------------------------------------------------------------------------

    @property
    def x(self) -> Floats:
        """The iterate, m, read-only. After a move it is another array."""
        return self._kept("x", lambda: self._positions(0))

    @property
    def x_t(self) -> Floats:
        """Positions at the start of the step, m."""
        return self._kept("x_t", lambda: self._positions(1))

    @property
    def inertial_target(self) -> Floats:
        """y, m: with implicit Euler x_t + h v_t + h² (g + f/m)."""
        return self._kept("inertial_target", lambda: self._positions(2))

    @property
    def h(self) -> float:
        """The time step dt, s; 0: quasistatic."""
        return self._core.dt or 0.0

    @property
    def effective_h(self) -> float:
        """The time step of the inertia m/(2h²) |x - y|² in G, s: `h` with implicit Euler, 2h/3 with "bdf2", else h/2."""
        return effective_step(self._core.integrator, self.h)

    @property
    def masses(self) -> Floats:
        """(n,) kg."""
        return self._kept("masses", self._core.masses.copy)

    @property
    def fixed(self) -> Floats:
        """(n,) bool: pinned vertices, which no move changes. Gradients are 0 there."""
        return self._kept("fixed", lambda: self._core.fixed.astype(bool))

    @property
    def iteration(self) -> int:
        """Index of the iteration in the step, from 0."""
        return self._calls.iteration

    @property
    def rng(self) -> np.random.Generator:
        """A generator of random numbers, seeded by the solver's `seed` and the number of the step."""
        if self._rng is None:
            self._rng = np.random.default_rng((self._calls.solver.seed, self._core.compiled.steps()))
        return self._rng

    # ---- the potential -------------------------------------------------------------------------------------------------------------------

    def potential(self, x: Any = None) -> float:
        """The incremental potential G(x), J; infinite if surfaces touch under a barrier.

        Parameters
        ----------
        x : array_like, shape (n, 3), optional
            m; None: the iterate. So in all methods.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            A wrong shape, or a coordinate that is not finite. So in all methods.
        """
        return self._ask("potential", self._relative.solved_potential, self._given("potential", "x", x, True))

    def gradient(self, x: Any = None) -> Floats:
        """dG/dx, (n, 3) N."""
        return self._ask("gradient", self._relative.solved_gradient, self._given("gradient", "x", x, True))

    def hessian(self, x: Any = None, filter: str = "clamp") -> scipy.sparse.csr_matrix:
        """d²G/dx², (3n, 3n) N/m, zero in the rows and columns of pinned vertices.

        Parameters
        ----------
        x : array_like, shape (n, 3), optional
            m; None: the iterate.
        filter : "clamp" or "exact"
            "clamp" makes the Hessian of each element and pair positive semidefinite by setting its negative eigenvalues to 0; "exact" keeps
            them.

        Returns
        -------
        scipy CSR matrix

        Raises
        ------
        ValueError
            An unknown filter; x as for `potential`.
        """
        psd = self._filter("hessian", filter)
        found = self._ask("hessian", self._relative.solved_hessian, self._given("hessian", "x", x, True), psd)
        row_start, columns, blocks = found
        return csr_of_blocks(row_start, columns, blocks, self._core.fixed)

    def hessian_product(self, v: Any, x: Any = None, filter: str = "clamp") -> Floats:
        """The product of `hessian(x, filter)` with v, (n, 3) N for v (n, 3) m; several at the iterate compute one Hessian. Errors as for
        `hessian`.
        """
        name = "hessian_product"
        psd = self._filter(name, filter)
        arguments = self._given(name, "v", v), self._given(name, "x", x, True), psd
        return self._ask(name, self._relative.solved_product, *arguments)

    def diagonal(self, x: Any = None, filter: str = "clamp") -> Floats:
        """The diagonal of the Hessian, (n, 3) N/m; of pinned vertices too, so that a quotient is finite. Parameters and errors as for
        `hessian`.
        """
        psd = self._filter("diagonal", filter)
        return self._ask("diagonal", self._relative.solved_diagonal, self._given("diagonal", "x", x, True), psd)

    def _filter(self, name, given):
        try:
            return choice("filter", given, FILTERS) == "clamp"
        except (ValueError, TypeError) as error:
            raise type(error)(f"{self._named(name)}: {error}") from None

    # ---- Projective Dynamics -------------------------------------------------------------------------------------------------------------

    def local_step(self, x: Any = None) -> Floats:
        """The right-hand side b, (n, 3), of the global step A u = b of Projective Dynamics: projections of all elements at x.

        b = A x - dG/dx at free vertices: without contact M/h² y + Σ w Sᵀ T. Pinned vertices have their positions in x.
        `step.global_solve(step.local_step())` is the iterate of Projective Dynamics. In float32 `x - step.global_solve(step.gradient())` is
        the same with smaller rounding errors.

        Raises
        ------
        TypeError
            A material has no projection; vertices slide on lines or planes; the scene is so far from the origin that its coordinates are
            relative to another one.
        """
        if self._origin is not None:
            raise TypeError(f"{self._named('local_step')}: the scene is far from the origin; take global_solve(gradient()) instead")
        return self._ask("local_step", self._relative.solved_local_step, self._given("local_step", "x", x, True))

    def global_solve(self, b: Any) -> Floats:
        """A⁻¹ b, (n, 3), with the matrix A = M/h² + Σ w SᵀS of `Simulation.system_matrix`, factorised in the first call.

        Rows of pinned vertices are those of the identity: the solution is b there, and enters the other rows. For sliding vertices the
        solution stays in their lines and planes.

        Parameters
        ----------
        b : array_like, shape (n, 3)
            Such as the result of `local_step`, N; m in rows of pinned vertices.

        Returns
        -------
        ndarray, shape (n, 3)
            m.

        Raises
        ------
        RuntimeError
            A singular matrix, or a build without a direct solver.
        """
        return self._ask("global_solve", self._relative.solved_global_solve, self._given("global_solve", "b", b))

    # ---- moves ---------------------------------------------------------------------------------------------------------------------------

    def limit(self, d: Any) -> float:
        """The largest part of the move d (n, 3) m that the step limiter allows, because of contact or of tets that must not invert."""
        return self._ask("limit", self._relative.solved_limit, self._given("limit", "d", d))

    def line_search(self, d: Any) -> float:
        """The fraction of d with a sufficient decrease of G: halved from the step limit, or from 1, as in the solvers of pdgpu.

        The test is Armijo's condition with 1e-4 [Nocedal and Wright 2006, Eq. 3.4], and if rounding hides the decrease the approximate
        Wolfe condition [Hager and Zhang 2005]. 0.0: no decrease was found, or d or the gradient is zero.

        Raises
        ------
        ValueError
            d is no descent direction.
        """
        return self._ask("line_search", self._relative.solved_line_search, self._given("line_search", "d", d))

    def move(self, d: Any, fraction: float = 1.0) -> float:
        """Move the iterate by `fraction` times d (n, 3) m, up to the step limit of contact.

        Pinned vertices stay, and sliding vertices stay in their lines and planes. Results of `limit` or `line_search` for the same d are
        reused.

        Returns
        -------
        float
            The fraction of d that the iterate has moved.

        Raises
        ------
        ValueError
            d or the fraction is not finite, or the fraction is negative.
        """
        try:
            fraction = number("fraction", fraction, minimum=0.0)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{self._named('move')}: {error}") from None
        gone: float = self._ask("move", self._relative.solved_move, self._given("move", "d", d), fraction)
        self._calls.arrays.pop("x", None)
        return gone
