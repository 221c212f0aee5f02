"""The reference x* of a comparison: by Newton in float64, given, or the lowest minimum found."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdgpu._internal.arguments import choice
from pdgpu._internal.counted import counted
from pdgpu._internal.parts import core_of
from pdgpu.contact.barrier_contact import BarrierContact
from pdgpu.contact.penalty_contact import PenaltyContact
from pdgpu.linear.linear_solvers import Direct
from pdgpu.simulation.simulation import Simulation
from pdgpu.simulation.time_step import take_step
from pdgpu.solvers.solvers import Newton
from pdgpu.study.evaluator import Evaluator, Lowest, find_pairs_at, integrator_of, place_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdgpu.types import Floats

__all__ = ["USUAL_SOURCE", "Reference", "Step", "chosen_reference", "given_reference", "lower_reference"]

# the tolerance of Newton for the reference, relative to the first gradient norm, unless rounding ends it before
TOLERANCE = 1e-10
LOWER = 1e-9  # of G0 - G*: a G lower by more than this is another minimum, or the reference had not converged
USUAL_SOURCE = "Newton from the first guess"
RUN = {"device": "cpu", "dtype": "float64"}


@dataclass
class Step:
    """The step that all solvers of a comparison solve."""

    scene: Any
    dt: float | None
    start: Any
    initialization: str
    threads: int
    contact: Any
    time: float | None
    evaluator: Evaluator
    rows_per_decade: int | None = None

    def simulation(self, solver: Any, found_at: Floats | None, **run: Any) -> Simulation:
        """Return a simulation at the start of the step; `found_at` (n, 3) m: the positions for the detection of a penalty's pairs."""
        integrator: Any = integrator_of(self.start)
        simulation = Simulation(self.scene, solver, dt=self.dt, contact=self.contact, threads=self.threads, integrator=integrator, **run)
        place_at(simulation, self.start)
        find_pairs_at(simulation, found_at)
        return simulation


@dataclass
class Reference:
    """x* (n, 3) m; G*, J; the positions for the detection of a penalty's pairs, (n, 3) m or None; the origin of x*. Rows of the model."""

    positions: Floats | None = None
    potential: float | None = None
    found_at: Floats | None = None
    source: str = ""


def given_reference(reference: Any, rows_of_model: Callable[[str, Any], Floats]) -> Any:
    """Return the checked argument `reference` of a comparison: None, "newton", a solution (n, 3), or a list of starts of Newton, each
    "newton" (the common first guess) or (n, 3) m, in the rows of the model. `rows_of_model`: that of a SimulationCore.
    """
    if reference is None or isinstance(reference, str):
        if reference is not None:
            choice("reference", reference, ("newton",))
        return reference
    several = isinstance(reference, list | tuple) and any(isinstance(each, str) or np.ndim(each) == 2 for each in reference)
    if not several and np.ndim(reference) != 3:
        return rows_of_model("reference", reference)
    starts = list(reference)
    if not starts:
        raise ValueError("reference: expected one start or more, got none")
    for k, start in enumerate(starts):
        if isinstance(start, str):
            choice(f"reference[{k}]", start, ("newton",))
        else:
            starts[k] = rows_of_model(f"reference[{k}]", start)
    return starts


def chosen_reference(step: Step, given: Any) -> Reference:
    """Return the requested reference, from the result of `given_reference`."""
    if given is None:
        return Reference()
    evaluator, soft = step.evaluator, isinstance(step.contact, PenaltyContact)
    if isinstance(given, np.ndarray):
        found_at = given if soft else None
        find_pairs_at(evaluator.simulation, found_at)
        return Reference(given, evaluator.potential(given), found_at, "as given")
    found_at = _penalised(step) if soft else None
    find_pairs_at(evaluator.simulation, found_at)
    best = Reference(found_at=found_at)
    starts = [given] if isinstance(given, str) else given
    for k, start in enumerate(starts):
        words = "the first guess" if isinstance(start, str) else f"reference[{k}]"
        x, fault = _newton(step, found_at, None if isinstance(start, str) else start)
        if fault:
            rest = "this start is left out" if len(starts) > 1 else (
                "there will be no relative_loss and no relative_error. Give reference= an array or an earlier comparison's .reference, or "
                "None to do without"
            )  # fmt: skip
            where = "" if len(starts) == 1 else f"from {words} "
            warnings.warn(f"reference: {where}{fault}; {rest}", RuntimeWarning, stacklevel=3)
        elif best.potential is None or evaluator.potential(x) < best.potential:
            best = Reference(x, evaluator.potential(x), found_at, f"Newton from {words}")
    return best


def lower_reference(step: Step, reference: Reference, lowest: dict[str, Lowest], first: float) -> Reference | None:
    """Return a reference at the lowest G of the solvers, by the name of each; None: none is below G*. Warns.

    It is Newton's minimum from that iterate, or the iterate itself if Newton does not converge. `first`: G of the common first guess, or
    the first finite one, J.
    """
    if reference.potential is None or not isinstance(step.contact, BarrierContact | PenaltyContact | None):
        return None  # the other contacts are no term of the G of the comparison
    name, best = min(lowest.items(), key=lambda item: item[1].potential)
    drop, scale = reference.potential - best.potential, abs(first - reference.potential)
    if not drop > max(LOWER * scale, 2.0 * step.evaluator.potential_rounding(reference.positions)):
        return None
    try:
        x, fault = _newton(step, reference.found_at, best.positions)
    except ValueError as error:  # there is a contact, or a prescribed point lags its target
        x, fault = None, str(error)
    source = f"{name!r} at iteration {best.iteration}"
    found = best.positions
    if not fault and step.evaluator.potential(x) <= best.potential:
        found, source = x, f"Newton from {source}"
    warnings.warn(
        f"reference: {name!r}, {_start_in_words(step)}, has a lower G at iteration {best.iteration} than the reference "
        f"({reference.source}), by {drop / scale if scale else np.inf:.2g} of G0 - G*: the step has several minima, or the reference had "
        f"not converged. G* and x* are now those of {source}, and all solvers run again. Give reference= several starts to look for a "
        "lower one",
        RuntimeWarning,
        stacklevel=3,
    )
    return Reference(found, step.evaluator.potential(found), reference.found_at, source)


def _start_in_words(step):
    if step.start is None:
        return f'from the rest state and initialization="{step.initialization}"'
    if isinstance(step.start, tuple | list):
        return f'from the given start and initialization="{step.initialization}"'
    return f"from the Snapshot at iteration {step.start.iteration}"


def _penalised(step):
    """Return Newton's result with a penalty whose pairs it detects on its way."""
    simulation = step.simulation(Newton(iterations=100, linear=Direct(), initialization=step.initialization), None, **RUN)
    simulation.step(time=step.time)
    return core_of(simulation).backend.positions()


def _newton(step, found_at, guess):
    """Return x* of the step from a guess (n, 3) m, None: the common first guess; and the reason of a failure, or ""."""
    norms, best = {}, {}

    def observe(row):
        norm = step.evaluator.gradient_norm(row["positions"])
        norms.setdefault("first", norm)
        if row["iteration"] == 0 or norm <= norms["last"]:
            best["x"] = row["positions"]
        norms["last"] = norm

    try:
        simulation = step.simulation(Newton(iterations=500, linear=Direct(), initialization=step.initialization), found_at, **RUN)
        take_step(core_of(simulation), False, observer=observe, keep_diverged=True, guess=guess, time=step.time)
    except RuntimeError as error:
        return None, f"Newton failed: {error}"
    taken, first, last = simulation.last_step, norms["first"], norms["last"]
    if taken.behind > 0.0:
        raise ValueError(
            f"reference: pins or obstacles have a target lag of {taken.behind:g} m after "
            f"{counted(taken.iteration, 'iteration')} of Newton; take a shorter step"
        )
    if taken.at_rounding or (taken.status != "diverged" and last <= TOLERANCE * first):
        return best["x"].astype(np.float64), ""
    return None, (
        f"Newton ended {taken.status} after {counted(taken.iteration, 'iteration')} with gradient norm {last:.3e}, more than "
        f"{TOLERANCE:g} x its first value {first:.3e} and more than rounding leaves"
    )
