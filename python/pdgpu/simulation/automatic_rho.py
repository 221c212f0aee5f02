"""rho="auto" of a simulation's solver, on a copy of the state [Wang 2015, Sec. 5.1]."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from pdgpu.errors import DivergenceError
from pdgpu.linear.chebyshev_search import floor_of, search, search_iterations, settle
from pdgpu.linear.linear import System
from pdgpu.linear.linear_solvers import chebyshev_of, chebyshev_settings
from pdgpu.results.records import COLUMNS
from pdgpu.simulation.targets import pin_targets

__all__ = ["keep_searched", "search_rho"]


class _SeenEnough(Exception):
    """The run of the search is long enough."""


class _NothingToSearch(Exception):
    """The run gives no information about rho."""


def search_inner(core):
    """Search on the first global step: A d = -dG/dx at the present state."""
    free = core.fixed == 0
    residual = core.backend.gradient(None)[free]
    if not residual.any():  # at rest: any direction is suitable
        residual = np.random.default_rng(0).normal(size=residual.shape).astype(core.dtype)
    if getattr(core.solver.linear, "suppression", None) == "bending":
        raise ValueError("rho: 'auto' cannot be searched with suppression='bending': give a number")
    linear = replace(core.solver.linear, iterations=None, tolerance=0.0)
    if hasattr(linear, "weight"):  # the weight in use; a replaced weight has already caused a warning
        linear = replace(linear, weight=core.numbers.weight)
    options = {"dtype": core.dtype, "device": "cpu", "threads": core.threads}
    system = System(core.system_matrix(free=True), linear, columns=3, **options)
    return system.solve(residual, record=False).parameters["rho"]


def search_outer(core, end):
    """rho of the step that ends at a time, s. None where it ends before the acceleration would set in, or moves nothing: a later one tells
    more."""
    solver, model, chebyshev = core.solver, core.backend, chebyshev_of(core.solver)
    if solver.iterations <= chebyshev.start:
        return 0.0  # which has been warned of
    state, steps, targets, doublings = model.state(), model.steps(), pin_targets(core, end), model.doublings()
    least = 16.0 * float(np.finfo(core.dtype).eps) * float(np.linalg.norm(state["positions"].astype(np.float64)))

    iterations, longest = solver.iterations, search_iterations(solver.iterations, chebyshev.start)

    def run(rho, length=longest):
        def stop(row):
            if row["iteration"] == length:
                raise _SeenEnough

        rows = np.zeros((core.most_iterations + 1, len(COLUMNS)))
        norms, moves = rows[:, COLUMNS.index("gradient_norm")], rows[:, COLUMNS.index("step_norm")]
        model.set_chebyshev(None if rho is None else chebyshev_settings(chebyshev, rho))
        try:
            count = model.step(targets, rows, None, stop if length < core.most_iterations else None, False)["rows"]
        except _SeenEnough:
            count = length + 1
        except DivergenceError as error:
            return np.append(norms[: max(getattr(error, "rows", 1), 1)], np.inf)
        finally:
            model.set_state(**state)
            model.set_steps(steps)
            model.set_doublings(*doublings)
        if rho is None and (count - 1 <= chebyshev.start or moves[1:count].max() <= least):
            raise _NothingToSearch
        return norms[:count]

    floor = floor_of(core.dtype)
    try:
        rho = search(run, floor)[0]
        return settle(rho, lambda rho: run(rho, iterations), longest, floor) if longest < iterations else rho
    except _NothingToSearch:
        return None
    finally:
        model.set_chebyshev(None)


def _inner_of(solver):
    """The Chebyshev acceleration of the linear solver that leaves rho to a search, or None."""
    inner = chebyshev_of(getattr(solver, "linear", None))
    return inner if inner is not None and inner.rho == "auto" else None


def search_rho(core, at):
    """rho="auto", once, on a copy of the state [Wang 2015, Sec. 5.1]; put off while a step has nothing to accelerate. `at`: the time of a
    quasi-static step, s."""
    outer = chebyshev_of(core.solver)
    inner_open = _inner_of(core.solver) is not None and core.numbers.rho is None
    outer_open = outer is not None and outer.rho == "auto" and core.rho is None
    if not inner_open and not outer_open:
        return
    start = time.perf_counter()
    if inner_open:
        rho = search_inner(core)
        core.numbers.rho = rho
        core.numbers.composed_rho = rho or core.numbers.composed_rho
        core.numbers.apply(core.solver.linear, core.backend.set_linear)
    if outer_open:
        core.set_rho(search_outer(core, core.end(at)))
    core.memory.setup_seconds += time.perf_counter() - start


def keep_searched(core, rho, numbers):
    """Store rho and the numbers of the linear solver, so that rho="auto" does not search again."""
    if rho is not None:
        core.set_rho(rho)
    if _inner_of(core.solver) is not None and numbers is not None and numbers.rho is not None:
        core.numbers.rho, core.numbers.composed_rho = numbers.rho, numbers.composed_rho
        core.numbers.apply(core.solver.linear, core.backend.set_linear)
