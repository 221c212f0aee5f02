"""The answer that `compare` measures solvers against: a step by Newton in float64, on the CPU."""

from __future__ import annotations

import warnings

import numpy as np

from pdgpu._internal.parts import core_of
from pdgpu.simulation.simulation import Simulation
from pdgpu.simulation.snapshots import Snapshot, place
from pdgpu.simulation.time_step import take_step
from pdgpu.solvers.solvers import Newton

__all__ = ["find_pairs_at", "newton_reference", "penalised", "put_at"]

# what Newton must reach to serve as the reference, relative to the first gradient norm, where rounding does not end it before
REFERENCE_TOLERANCE = 1e-10
REFERENCE_RUN = {"device": "cpu", "dtype": "float64"}


def put_at(simulation, start):
    """Sets the state: a Snapshot, (positions, velocities), or None for the rest state."""
    if isinstance(start, Snapshot):
        place(simulation, start)
    elif start is not None:
        simulation.set_state(positions=start[0], velocities=start[1])


def find_pairs_at(simulation, x):
    """Holds the pairs of a penalty to those at x; None: there is no penalty."""
    if x is not None:
        core = core_of(simulation)
        core.backend.find_pairs_at(core.cast_positions(x))


def penalised(scene, dt, start, initialization, threads, contact, time):
    """Where Newton comes with a penalty whose pairs it finds on its way."""
    solver = Newton(iterations=100, initialization=initialization)
    simulation = Simulation(scene, solver, dt=dt, contact=contact, **REFERENCE_RUN, threads=threads)
    put_at(simulation, start)
    simulation.step(time=time)
    return simulation.positions


def newton_reference(scene, dt, start, initialization, threads, evaluator, contact, found_at, time):
    """x* of the step, converged to the floor of double precision; None, with a warning, where it is not."""
    solver = Newton(iterations=500, initialization=initialization)
    norms = {}
    best = {}

    def observe(row):
        norm = evaluator.gradient_norm(row["positions"])
        norms.setdefault("first", norm)
        if row["iteration"] == 0 or norm <= norms["last"]:
            best["x"] = row["positions"]
        norms["last"] = norm

    try:
        simulation = Simulation(scene, solver, dt=dt, contact=contact, **REFERENCE_RUN, threads=threads)
        put_at(simulation, start)
        find_pairs_at(simulation, found_at)
        take_step(core_of(simulation), False, observer=observe, keep_diverged=True, time=time)
        step, first, last = simulation.last_step, norms["first"], norms["last"]
        if step.behind > 0.0:
            raise ValueError(
                f"reference: pins or obstacles are still {step.behind:g} m from where they go after {step.iteration} iterations of Newton; "
                "take a shorter step"
            )
        if step.at_rounding or (step.status != "diverged" and last <= REFERENCE_TOLERANCE * first):
            return best["x"].astype(np.float64)
        said = (
            f"Newton ended {step.status} after {step.iteration} iterations with gradient norm {last:.3e}, more than "
            f"{REFERENCE_TOLERANCE:g} x its first value {first:.3e} and more than rounding leaves"
        )
    except RuntimeError as error:
        said = f"Newton failed: {error}"
    warnings.warn(
        f"reference: {said}; there will be no relative_loss and no relative_error. Give reference= an array or an earlier "
        "comparison's .reference, or None to do without",
        RuntimeWarning,
        stacklevel=3,
    )
    return None
