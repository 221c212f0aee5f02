"""The barrier of incremental potential contact, and the tables of friction coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from pdgpu._internal.arguments import choice, flag, integer, number
from pdgpu._internal.deprecated import settings_by_keyword
from pdgpu.linear.linear_solvers import keep

if TYPE_CHECKING:
    pass

__all__ = ["BarrierContact"]

WEIGHTINGS = ("sum", "harmonic")  # PD_WEIGHTING_... of csrc/loops/contact_loops.h
LIMITERS = ("impact", "reach")  # PD_GUARD_... of csrc/contact/potential/contact.h
POTENTIALS = ("BarrierContact",)  # PD_BARRIER, .. of csrc/elements/contact/table.h


class PairTable(Mapping):
    """A number for pairs of names in any order: {("cloth", "floor"): 0.3}. Immutable.

    Raises
    ------
    TypeError, ValueError
        A key that is no pair of two names, a pair that is given twice, a number that is negative or not finite.
    """

    def __init__(self, name, values):
        self._values = {}
        for pair, value in values.items():
            if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
                raise TypeError(f"{name}: expected pairs of names as keys, such as ('cloth', 'floor'), got {pair!r}")
            value = number(f"{name}[{pair!r}]", value, minimum=0.0)
            if tuple(sorted(pair)) in self._values:
                raise ValueError(f"{name}: the pair {pair!r} is given twice; give it once, in any order")
            self._values[tuple(sorted(pair))] = value

    def __getitem__(self, pair):
        return self._values[tuple(sorted(pair))]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __repr__(self):
        return repr(self._values)

    def __hash__(self):
        return hash(frozenset(self._values.items()))


@settings_by_keyword(("distance", "stiffness", "separation", "area_weighted", "guard", "friction", "friction_velocity", "friction_lags"))
@dataclass(frozen=True)
class BarrierContact:
    """A barrier between all pairs of primitives: no distance falls below `separation` [Li et al. 2020, Incremental Potential Contact].

    b(D) = -(D - s)^2 ln(D/s) for D < s, else 0, with D = d^2 - separation^2 and s = distance (2 separation + distance). It is infinite at
    the separation, zero from ``separation + distance`` on, and has two continuous derivatives. For pairs of edges it is multiplied by a
    factor that vanishes for parallel ones (`pdgpu.geometry.edge_edge_mollifier`).

    Parameters
    ----------
    distance : float
        The activation distance, measured from the separation, m.
    stiffness : float or "auto"
        With `area_weighted` in Pa: a pair has the energy area x stiffness x distance x b/s^2. Without it in J/m^4: a pair has the
        energy stiffness x b. "auto" is computed from masses, time step and moduli, so it needs a scene; the functions of this module
        need a number. "auto" adapts between steps, see the notes; a number never changes.
    separation : float
        Lower bound of all distances (the thickness of the material), m.
    area_weighted : bool
        Weight every pair with its area, so that a finer mesh is not stiffer [Li et al. 2023, Convergent IPC]. Areas are those at rest; a
        vertex or an edge has a third of each of its triangles. `weighting` and the notes have the formulas.
    guard : "impact" or "reach"
        The step limiter of an iteration. "impact": nine tenths of the path to the first contact, common to all vertices. "reach": the
        displacement bound of each vertex, its share of the distance to its neighbours. VertexBlockDescent, BlockJacobi and GradientDescent,
        whose vertices do not depend on each other's moves, use displacement bounds with both. With "impact" a vertex without neighbours
        within two activation distances has no bound, and all vertices share the limit by the first contact only if such a vertex moved
        farther. With "reach" there are no times of impact: such a vertex moves at most 1.8 activation distances per iteration, and pairs
        are listed up to four.
    friction : float or dict
        Coefficient of friction mu >= 0 of all pairs, or of pairs of bodies and obstacles by their names in any order: {("cloth", "floor"):
        0.3}, ("cloth", "cloth") for a body with itself. Other pairs have no friction.
    friction_velocity : float
        eps_v, m/s: surfaces with a slower slip stick, with a slow creep. On an incline of angle a below the cone of friction, the creep is
        eps_v (1 - sqrt(1 - tan a/mu)).
    friction_lags : int
        Passes of a step. Each pass but the first takes normal forces, tangent planes and closest points from the end of the previous one,
        and has its own iterations of the solver. A record counts all iterations, and its incremental potential is that of the pass [Li et
        al. 2020, Sec. 5.5]. With more passes, |friction force| approaches mu x normal force at the end of the step.
    weighting : "harmonic" or "sum"
        The weights of pairs with `area_weighted` in a simulation. "harmonic": two edges with areas A1 and A2 weigh A1 A2/(A1 + A2), half
        the harmonic mean. It is at most the smaller area, so that a coarse side makes no stiff pairs. "sum": they weigh (A1 + A2)/4, as in
        ipctk. Both are A/2 for A1 = A2 = A. The notes have the other pairs. The functions of this module have their own `weighting`.

    Raises
    ------
    TypeError, ValueError
        An argument of another type or out of range; the message names it.

    Notes
    -----
    The weight of a pair, with the area of each primitive at rest:

    ==============================  ==============================================================================
    vertex and triangle             a quarter of the vertex's area; except with "sum" at most the triangle's area
    edge and edge                   see `weighting`
    vertex and plane                the vertex's area
    sphere and triangle             the triangle's area; 1 m^2 with "sum". The end of a capsule is such a sphere.
    capsule and edge                the edge's area; 1 m^2 with "sum"
    pair with a rod or a particle   1 m^2
    ==============================  ==============================================================================

    So a sheet has about the same stiffness per area against a plane, a large sphere, a large capsule and another mesh: a plane and a sphere
    have one pair per primitive, two meshes have four.

    Friction is Coulomb's, smoothed and lagged [Li et al. 2020, Incremental Potential Contact, Sec. 5]: a term sum mu lambda f0(|u|) of the
    incremental potential. The normal forces lambda, the tangent planes and the closest points are those at the begin of the step. The slip
    u is measured from there, relative to the motion of obstacles. f0 and its slope, which grows from 0 to 1 within eps_v dt, are those of
    ipctk. Nearly parallel edges have the friction of their mollified force. The rotation of a sphere or capsule about itself causes no
    friction: only the motion of its centre or axis counts. The functions of this module have no step, and leave friction out.

    **stiffness="auto"** doubles for the next step if a step ends with a gap below 0.01 of the activation distance of its pair, at most ten
    times [after Li et al. 2020, supplement, adaptive barrier stiffness]. All pairs count. The stiffness is constant within a step and a
    `compare`, and it never decreases. The count of doublings is a part of the state: files, copies, pickles and snapshots keep it, and
    `set_state` with positions sets it to zero. `Simulation.parameters` has the stiffness of the next step, `StepRecord.stiffness` that of
    the last one. A run without such a gap has bitwise the same results as with the initial number of "auto".

    With "auto", friction takes the normal force of a gap below 0.01 of the activation distance as that of a gap of 0.01. Thus lambda is at
    most 200.3 x stiffness x area with `area_weighted` and without a separation, or 200.3 x stiffness x distance^3 without weights. Such a
    gap is no measure of the load, since the force grows as 1/gap. Once the stiffness has doubled often enough for the load, the limit is
    not reached. A given number has no such limit: it does not adapt, and a heavy load would lose its friction permanently.

    Examples
    --------
    >>> contact = pdgpu.BarrierContact(distance=1e-3, friction={("cloth", "floor"): 0.3})
    >>> contact.friction["floor", "cloth"]
    0.3
    """

    distance: float
    _: KW_ONLY
    stiffness: float | str = "auto"
    separation: float = 0.0
    area_weighted: bool = True
    guard: str = "impact"
    friction: float | Mapping = field(default=0.0, metadata={"written": "where set"})
    friction_velocity: float = field(default=1e-3, metadata={"written": "where set"})
    friction_lags: int = field(default=1, metadata={"written": "where set"})
    weighting: str = field(default="harmonic", metadata={"absent": "sum"})  # descriptions stored without it meant "sum"

    def __post_init__(self):
        keep(self, distance=number("distance", self.distance, above=0.0), separation=number("separation", self.separation, minimum=0.0))
        if isinstance(self.stiffness, str):
            if self.stiffness != "auto":
                raise ValueError(f"stiffness: expected a number or 'auto', got {self.stiffness!r}")
        else:
            keep(self, stiffness=number("stiffness", self.stiffness, above=0.0))
        keep(self, area_weighted=flag("area_weighted", self.area_weighted))
        choice("guard", self.guard, LIMITERS)
        if isinstance(self.friction, Mapping):
            keep(self, friction=PairTable("friction", self.friction))
        else:
            keep(self, friction=number("friction", self.friction, minimum=0.0))
        keep(self, friction_velocity=number("friction_velocity", self.friction_velocity, above=0.0))
        keep(self, friction_lags=integer("friction_lags", self.friction_lags, 1, 1000))
        choice("weighting", self.weighting, WEIGHTINGS)

    def __setstate__(self, state):
        """From a pickle; one without `weighting` is from a version that had "sum" only."""
        self.__dict__.update({"weighting": "sum"} | state)
