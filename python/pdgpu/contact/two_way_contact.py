"""Contact after any solver, by the two-way interior point method."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import choice, integer, number
from pdgpu._internal.deprecated import settings_by_keyword
from pdgpu._internal.made import made_by
from pdgpu.contact.barrier_contact import BarrierContact, PairTable
from pdgpu.linear.linear_solvers import keep

if TYPE_CHECKING:
    from pdgpu.types import Floats

__all__ = ["ContactUpdate", "TwoWayContact"]

MULTIPLIERS = (
    "gauss_seidel",
    "jacobi",
    "linear",
    "augmented_lagrangian",
    "barrier",
)  # PD_TWO_WAY_GAUSS_SEIDEL, .. of csrc/contact/potential/contact.h
LENGTHS = ("distances", "impact", "impacts")  # PD_TWO_WAY_DISTANCES, ..
FRICTION_IN = ("sweeps", "filter")
RECOVERY = 0.1  # s, in which a pair that begins a step nearer than the distance gains its deficit
PASSES = 32  # of "auto"


@settings_by_keyword(("distance", "separation"))
@dataclass(frozen=True)
class TwoWayContact:
    """Contact after any solver, without penetrations [Wang et al. 2023, A Two-Way Interior Point Method for Collision Handling in
    Deformable Body Simulation, Algorithm 1].

    The iterate of the solver is the target of an update, which starts from the intersection-free state. A backward step moves the target,
    with the least change in the metric of the masses, to positions where near pairs keep `distance`: by sweeps of projected Gauss-Seidel
    over linear constraints [Eqs. 9-13]. A forward step moves every vertex towards it by its own length, towards a near surface by less than
    half of the gap [Eqs. 18-20, except for sliding or separating pairs], without continuous collision detection. Both alternate until the
    state is within a tenth of `distance` of its target. An update may end at any step: every state, and the path between two of them, is
    free of intersections.

    Parameters
    ----------
    distance : float
        delta, m: the required distance of pairs that the solver would bring nearer. Within a body at most nine tenths of the rest distance.
    separation : float or "auto"
        dmin, m: lower bound of all distances. "auto": a hundredth of `distance`. In float32 at least 64 roundings of the scene's
        coordinates.
    sweeps : int
        Of a backward step.
    patience : int
        Steps of an update after which the sweeps of a backward step double, at most six times, and the added metric against oscillations
        grows by a quarter. 0: constant, as printed.
    steps : int
        Maximum of an update, which then ends at its state.
    edge_limit : float or None
        sigma: maximum length of an edge of a shell or a rod, relative to rest [Eq. 17]. It holds everywhere, as a limit of the material's
        stretch, since a target moved by contact contains no other elasticity. None: no limit. Tets have none.
    multipliers : "gauss_seidel", "jacobi", "linear", "augmented_lagrangian" or "barrier"
        The solver of a backward step. "gauss_seidel": projected Gauss-Seidel. "jacobi": projected Jacobi [Sec. 4.2.2], with each row
        relaxed by the number of rows at its vertices. "linear": Gauss-Seidel on the linear system, with multipliers of any sign [Harmon et
        al. 2008, Robust Treatment of Simultaneous Collisions, in the form of Sec. 4.3.1]. "augmented_lagrangian": `sweeps` steps of
        gradient descent on an augmented Lagrangian, each with one of its multipliers [Tang et al. 2018, I-Cloth, in the form of Sec.
        4.3.2]. "barrier": no multipliers, but a step of gradient descent, scaled by the diagonal, on the distance from the solver's target
        and a log-barrier of the gap above `separation` [Eqs. 7, 8]; `edge_limit` must be None. All but the first are for comparison, and
        support neither friction nor repulsion. With "linear" a target may diverge, which raises DivergenceError in the next step.
    lengths : "distances", "impact" or "impacts"
        The length of a forward step. "distances": per vertex, by the distances of its pairs. The others are for comparison, by continuous
        collision detection with certified times of impact of all pairs whose boxes overlap along the path. "impact": one fraction for all,
        up to the earliest. "impacts": per vertex, by the times of its own pairs, each evaluated fully [Sec. 5.1], and repeated with the
        shorter paths until none meets.
    friction : float or dict
        Coefficient of friction mu >= 0 of all pairs, or of pairs of bodies and obstacles by their names, as in `BarrierContact`. It reverts
        the slip since the begin of the step, by at most mu times the normal impulse. Sticking pairs do not creep.
    friction_in : "sweeps" or "filter"
        The place of friction. "sweeps": in every sweep, with the impulses found there. "filter": as printed [Sec. 6.3], only in the target
        before the first backward step with pairs, by mu times the impulses of `sweeps` sweeps. As printed the impulses of collisions also
        stay in the target, which deflects pairs that meet obliquely; here only those of friction do.
    repulsion : float
        k >= 0, N/m, of a force between pairs nearer than twice the `distance` [Sec. 6.2; Bridson et al. 2002, Robust Treatment of
        Collisions, Contact and Friction for Cloth Animation, Sec. 7.2]. With o = 2 `distance` - `separation` minus the gap, the impulse is
        dt k o, but it separates a pair by at most o/10 in the step. So a pair with the reduced mass m gains at most the energy m (o/(10
        dt))^2/2 in each. 0: no repulsion.
    strength : float
        k > 0, kg/s^2, of the log-barrier; only for multipliers="barrier" [Fig. 6].
    passes : int or "auto"
        Maximum of solves in a step. After each solve but the last, the impulses of the update become forces of the next solve. The passes
        end when the forces of no vertex change by more than M/dt^2 times a fiftieth of `distance`. 1: a solver without contact, as printed.
        "auto": 32, and 1 with `every`, with `repulsion`, with friction_in="filter" and with other multipliers than "gauss_seidel", which
        support no more.
    every : int
        Iterations of the solver between two updates, after which the solver continues from the state [Sec. 6.1]; 0: one update at the end
        of the step.

    Raises
    ------
    TypeError, ValueError
        An argument of another type or out of range, or a combination that is not supported; the message names it.

    Warns
    -----
    RuntimeWarning
        Once in a run, for a step that ends with more energy than its start, loads, pins and obstacles explain
        (`ContactUpdate.energy_gain`). The text names the longest `dt` that resolves the elements.

    Notes
    -----
    With passes=1 the solver's target is inside of obstacles, and an update moves vertices of the surface only. It compresses the elements
    next to them, which push back in the next step. At rest this bias grows with dt^2, and an impact may multiply the energy. A `dt` of at
    most sqrt(m/k) resolves it, with m the mass of a vertex and k its stiffness. More passes remove the bias: the forces of contact are
    those of the minimum of the incremental potential under the constraints of contact. The iteration is projected gradient ascent on its
    dual problem, in the metric of the masses. A part of the bias remains for solvers that end far from their minimum, and for forces of
    contact far above M `distance`/dt^2.

    With more than one pass every row is the distance of its pair. A volume would also stretch the sides of the pair. A pair that begins a
    step nearer than `distance` gains its deficit within 0.1 s, so that it is not thrown apart. With passes=1 it gains all of it in the
    step.

    As printed, a gap may shrink tenfold in every step, until it underflows and surfaces intersect; here `separation` is a lower bound. The
    printed end of an update, by a clock of each vertex, may come while the state is far from its target; here it depends on the remaining
    path. The last backward step conserves momentum. A forward step that limits one side of a pair does not, and a converged update has lost
    at most that of moves below a tenth of `distance`. An update that ended before may lose any part of it. Pinned vertices and obstacles
    lag behind their targets if contact holds them back (`StepRecord.behind`); an obstacle moves as a whole.

    A record has the solver's iterations, which do not include contact and may intersect; `StepRecord.update` has those of contact.

    Examples
    --------
    >>> contact = pdgpu.TwoWayContact(distance=2e-3)
    >>> contact.lengths, contact.multipliers
    ('distances', 'gauss_seidel')
    """

    distance: float
    separation: float | str = field(default="auto", kw_only=True)
    sweeps: int = field(default=4, kw_only=True)
    patience: int = field(default=16, kw_only=True)
    steps: int = field(default=512, kw_only=True)
    edge_limit: float | None = field(default=1.1, kw_only=True)
    multipliers: Literal["gauss_seidel", "jacobi", "linear", "augmented_lagrangian", "barrier"] = field(
        default="gauss_seidel", kw_only=True
    )
    lengths: Literal["distances", "impact", "impacts"] = field(default="distances", kw_only=True)
    friction: float | Mapping = field(default=0.0, kw_only=True)
    friction_in: Literal["sweeps", "filter"] = field(default="sweeps", kw_only=True)
    repulsion: float = field(default=0.0, kw_only=True)
    strength: float = field(default=20.0, kw_only=True)
    passes: int | str = field(default="auto", kw_only=True)
    every: int = field(default=0, kw_only=True)

    def __post_init__(self):
        keep(self, distance=number("distance", self.distance, above=0.0))
        if isinstance(self.separation, str):
            if self.separation != "auto":
                raise ValueError(f"separation: expected a number or 'auto', got {self.separation!r}")
            keep(self, separation=0.01 * self.distance)
        keep(self, separation=number("separation", self.separation, above=0.0))
        if self.separation >= self.distance:
            raise ValueError(f"separation: expected less than the distance {self.distance:g} m, got {self.separation:g} m")
        keep(self, sweeps=integer("sweeps", self.sweeps, 1, 10**6), steps=integer("steps", self.steps, 1, 10**9))
        keep(self, patience=integer("patience", self.patience, 0, 10**9))
        if self.edge_limit is not None:
            keep(self, edge_limit=number("edge_limit", self.edge_limit, minimum=1.0))
        if isinstance(self.friction, Mapping):
            keep(self, friction=PairTable("friction", self.friction))
        else:
            keep(self, friction=number("friction", self.friction, minimum=0.0))
        for name, known in (("multipliers", MULTIPLIERS), ("lengths", LENGTHS), ("friction_in", FRICTION_IN)):
            choice(name, getattr(self, name), known)
        keep(self, repulsion=number("repulsion", self.repulsion, minimum=0.0), strength=number("strength", self.strength, above=0.0))
        friction = self.friction if isinstance(self.friction, float) else max(self.friction.values(), default=0.0)
        for name, value in (("friction", friction), ("repulsion", self.repulsion)):
            if self.multipliers != "gauss_seidel" and value > 0.0:
                raise ValueError(f"{name}: expected 0 with multipliers={self.multipliers!r}, got {getattr(self, name)!r}")
        if self.multipliers == "barrier" and self.edge_limit is not None:
            raise ValueError(f"edge_limit: expected None with multipliers='barrier', got {self.edge_limit:g}")
        keep(self, every=integer("every", self.every, 0, 10**9))
        if isinstance(self.passes, str):
            if self.passes != "auto":
                raise ValueError(f"passes: expected a number or 'auto', got {self.passes!r}")
            return
        keep(self, passes=integer("passes", self.passes, 1, 10**6))
        if self.passes > 1 and (alone := alone_by(self)):
            raise ValueError(f"passes: expected 1 with {alone}={getattr(self, alone)!r}, got {self.passes}")


def alone_by(contact):
    """The setting of a TwoWayContact that requires solves without contact, or None."""
    given = {
        "multipliers": contact.multipliers != "gauss_seidel",
        "friction_in": contact.friction_in == "filter",
        "repulsion": contact.repulsion > 0.0,
        "every": contact.every > 0,
    }
    return next((name for name, alone in given.items() if alone), None)


def passes_of(contact):
    """Maximum of solves in a step under any contact."""
    if not isinstance(contact, TwoWayContact):
        return 1
    return contact.passes if isinstance(contact.passes, int) else 1 if alone_by(contact) else PASSES


def two_way_law(contact):
    """The potential that finds the pairs; its energy does not act."""
    return BarrierContact(contact.distance - contact.separation, stiffness=1.0, separation=contact.separation, area_weighted=False)


def two_way_description(contact, touching, dtype, dt):
    """The description of this contact for the core's simulation; touching: ContactScene, dt in s."""
    edges, lengths = touching.stretching() if contact.edge_limit is not None else (np.zeros((0, 2), np.int32), np.zeros(0))
    own = {
        "steps": contact.steps,
        "sweeps": contact.sweeps,
        "patience": contact.patience,
        "every": contact.every,
        "passes": passes_of(contact),
        "edge_limit": contact.edge_limit or 1.0,
        "multipliers": MULTIPLIERS.index(contact.multipliers),
        "lengths_by": LENGTHS.index(contact.lengths),
        "filtered": FRICTION_IN.index(contact.friction_in),
        **_in_a_step(contact, dt),
        "farthest": 0.125 * touching.mean_edge(),
        "edges": np.ascontiguousarray(edges, np.int32),
        "lengths": np.ascontiguousarray(lengths, dtype),
    }
    _check_precision(contact, touching.relative_rest(), dtype)
    return {"two_way": own}


def _in_a_step(contact, dt):
    """The strength of repulsion and of the barrier in a step of dt s, kg."""
    for name, used in (("repulsion", contact.repulsion > 0.0), ("strength", contact.multipliers == "barrier")):
        if used and dt is None:
            raise ValueError(f"{name}: a force needs a time step, got dt=None; give dt, or leave it out")
    recovery = 1.0 if dt is None or passes_of(contact) == 1 else min(1.0, dt / RECOVERY)
    return {name: getattr(contact, name) * (dt or 0.0) ** 2 for name in ("strength", "repulsion")} | {"recovery": recovery}


def _check_precision(contact, points, dtype):
    least = 32.0 * float(np.finfo(dtype).eps) * float(np.abs(points).max(initial=0.0))
    if contact.separation < least:
        raise ValueError(
            f"separation: {contact.separation:g} m is too small for {np.dtype(dtype).name} and coordinates up to "
            f"{np.abs(points).max():g} m; give at least {least:g}, or dtype='float64'"
        )


def warn_of_energy(core, update, stacklevel):
    """Warns if the last step of a simulation, by its core, gained energy without a source. Returns whether it did."""
    if update.energy_gain <= update.energy_room:
        return False
    contact, dt = core.contact, core.dt
    stiffness = np.maximum(core.stiffness_of_vertices() - core.masses / dt**2, 0.0)
    stiffest = np.max(stiffness / core.masses, where=~core.fixed.astype(bool), initial=0.0)
    resolved = f"dt <= {1.0 / np.sqrt(stiffest):.2g} s resolves the elements" if stiffest > 0.0 else "take a shorter dt"
    passes = passes_of(contact)
    more = "passes > 1 or a shorter dt" if passes == 1 else "more iterations of the solver or a shorter dt"
    warnings.warn(
        f"contact: the step to {core.time:g} s ended with {update.energy_gain:.3g} J more than its start, loads, pins and obstacles "
        f"explain: elements next to a contact were compressed by it (TwoWayContact, passes={passes}, dt={dt:g} s); "
        f"take {more}; {resolved}",
        RuntimeWarning,
        stacklevel=stacklevel + 1,
    )
    return True


@made_by("a step with TwoWayContact, as StepRecord.update")
@dataclass(frozen=True, kw_only=True)
class ContactUpdate:
    """The result of the updates of a step with `TwoWayContact`.

    Attributes
    ----------
    status : str
        The end of the last update. "converged": the state is within a tenth of the distance of its target. "iteration_cap": all steps ran.
        "stalled": nothing moved, before the state was at its target, as when a prescribed motion presses a body against another.
        "contradictory": rows contradict each other, such as limits of edges and an obstacle that presses through between them. No
        multipliers satisfy them, so that these grow in proportion to themselves. The update ends at its state, without intersections. A
        fast obstacle that presses a light cloth into a heavy body may do the same. A larger `edge_limit`, None, or a shorter `dt` helps.
    updates : int
        In the step.
    steps : int
        Of all updates, each a backward and a forward step.
    searches : int
        Of the broad phase.
    rows, colours : int
        Maximum of constraints of pairs in a step, and of their colours.
    residual : float
        max |y - x| before the last forward step, m, where y has the forces of the last multipliers in the metric of the masses alone. For
        strong forces of edges or pairs it is far larger than any move.
    energy_gain : float
        Kinetic and elastic energy at the end of the step minus those of its start and the work of loads, pins and obstacles, J. Contact and
        implicit Euler remove energy, so that it is at most 0 in an exact step. 0 without rows of contact, and with `every` and `repulsion`.
    energy_room : float
        J; a larger gain causes a warning: a tenth of the energies above, the work of the load over two distances, and a motion by the
        distance in 0.1 s.
    seconds : float
        Of all updates; not part of `StepRecord.solve_seconds`.
    parts : dict
        The seconds of each part, without recording: "pairs" (searches and distances), "rows" (the constraints, with the multipliers of
        those before), "colours" (of constraints), "backward" (constraints linearised and swept), "forward" (lengths, and the move).
    columns : dict of ndarray
        With a record: a number for every step, and one for the state at the end of an update. "step" (from 0 in each update), "residual"
        (m), "smallest_distance" (of listed pairs, m, separation not subtracted; infinite without pairs), "searched" (D: all pairs nearer
        than this are known, m), "listed" (all nearer than this are evaluated), "pairs" (evaluated), "rows", "colours", "search" (1: a
        search).
    path : ndarray or None
        With ``record="positions"``: the states of all updates, (steps and ends, points, 3) m: the vertices, then the points of obstacles.
        The motion between two of them is straight.
    """

    status: str
    updates: int
    steps: int
    searches: int
    rows: int
    colours: int
    residual: float
    energy_gain: float
    energy_room: float
    seconds: float
    parts: dict[str, float]
    columns: dict[str, Floats]
    path: Floats | None


def contact_update(result):
    """The ContactUpdate of the core's step; None without an update."""
    if result is None:
        return None
    columns = dict(zip(_host.UPDATE_COLUMNS, result["columns"].T.copy(), strict=True)) if len(result["columns"]) else {}
    return ContactUpdate(**result | {"columns": columns})
