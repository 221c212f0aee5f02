"""rho="auto" of a simulation's solver, on a copy of the state [Wang 2015, Sec. 5.1]."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from pdgpu.errors import DivergenceError
from pdgpu.linear.chebyshev_search import floor_of, search, search_iterations, settle
from pdgpu.linear.linear import System
from pdgpu.linear.linear_solvers import chebyshev_settings
from pdgpu.results.records import COLUMNS

__all__ = ["AutomaticRho"]


class _SeenEnough(Exception):
    """A run of the search is as long as it need be."""


class _NothingToSearch(Exception):
    """A run that says nothing about rho."""


def search_inner(simulation):
    """On the first global step: A d = -dG/dx at the present state."""
    free = simulation._fixed == 0
    residual = simulation._backend.gradient(None)[free]
    if not residual.any():  # at rest: any direction will do
        residual = np.random.default_rng(0).normal(size=residual.shape).astype(simulation.dtype)
    if getattr(simulation.solver.linear, "suppression", None) == "bending":
        raise ValueError("rho: 'auto' cannot be searched with suppression='bending': give a number")
    linear = replace(simulation.solver.linear, iterations=None, tolerance=0.0)
    if hasattr(linear, "weight"):  # the one that is used, which has been warned of where it is another one
        linear = replace(linear, weight=simulation._numbers.weight)
    options = {"dtype": simulation.dtype, "device": "cpu", "threads": simulation.threads}
    system = System(simulation.system_matrix(free=True), linear, columns=3, **options)
    return system.solve(residual, record=False).parameters["rho"]


def search_outer(simulation, end):
    """rho of the step that ends at a time, s. None where it ends before the acceleration would set in, or moves nothing: a later one tells
    more."""
    solver, core = simulation.solver, simulation._backend
    if solver.iterations <= solver.chebyshev.start:
        return 0.0  # which has been warned of
    state, steps, targets, doublings = core.state(), core.steps(), simulation._targets(end), core.doublings()
    least = 16.0 * float(np.finfo(simulation.dtype).eps) * float(np.linalg.norm(state["positions"].astype(np.float64)))

    iterations, longest = solver.iterations, search_iterations(solver.iterations, solver.chebyshev.start)

    def run(rho, length=longest):
        def stop(row):
            if row["iteration"] == length:
                raise _SeenEnough

        rows = np.zeros((iterations + 1, len(COLUMNS)))
        norms, moves = rows[:, COLUMNS.index("gradient_norm")], rows[:, COLUMNS.index("step_norm")]
        core.set_chebyshev(None if rho is None else chebyshev_settings(solver.chebyshev, rho))
        try:
            count = core.step(targets, rows, None, stop if length < iterations else None, False)["rows"]
        except _SeenEnough:
            count = length + 1
        except DivergenceError as error:
            return np.append(norms[: max(getattr(error, "rows", 1), 1)], np.inf)
        finally:
            core.set_state(**state)
            core.set_steps(steps)
            core.set_doublings(*doublings)
        if rho is None and (count - 1 <= solver.chebyshev.start or moves[1:count].max() <= least):
            raise _NothingToSearch
        return norms[:count]

    floor = floor_of(simulation.dtype)
    try:
        rho = search(run, floor)[0]
        return settle(rho, lambda rho: run(rho, iterations), longest, floor) if longest < iterations else rho
    except _NothingToSearch:
        return None
    finally:
        core.set_chebyshev(None)


class AutomaticRho:
    """The part of `Simulation` that finds what its solver leaves to a search, and keeps it."""

    def _search(self, at=None):
        """rho="auto", once, on a copy of the state [Wang 2015, Sec. 5.1]; put off while a step has nothing to accelerate. `at`: the
        time of a quasi-static step, s."""
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
            self._set_rho(search_outer(self, self._end(at)))
        self._setup_seconds += time.perf_counter() - start

    def _set_rho(self, rho):
        """rho of the outer iteration; None: not found yet, and no acceleration."""
        self._rho = rho
        self._backend.set_chebyshev(None if rho is None else chebyshev_settings(self.solver.chebyshev, rho))

    def _keep_searched(self, rho, numbers):
        """What rho="auto" has found is not searched for again."""
        if rho is not None:
            self._set_rho(rho)
        inner = getattr(getattr(self.solver, "linear", None), "chebyshev", None)
        if inner is not None and inner.rho == "auto" and numbers is not None and numbers.rho is not None:
            self._numbers.rho, self._numbers.composed_rho = numbers.rho, numbers.composed_rho
            self._numbers.apply(self.solver.linear, self._backend.set_linear)
